/*
 * compact.h - keep the files of a table large: plan tasks, work on them, apply the results in one commit.
 *
 * TABLE is "table", "database.table", or the path of a table's folder (with a '/' in it). Tasks and results are one JSON
 * object a line, versioned and self-contained (docs/format/tasks.md), so the three steps may run in one process
 * (sl_compact_run), in a shell pipe, or on other machines that see the same files. A result whose inputs have changed
 * meanwhile is dropped and its files are planned again later; that is no failure, and an appender never waits for it.
 *
 * Of a log table the logs are turned into base files. Its plans stand on its own timeline: planning writes one, if the table's options say that
 * it is time, each pass works off all that are pending, those of a process that died too, and a plan is committed when all of it is done.
 * The figures of the report are then: snapshots = instants, tasks = file groups, files_waiting = file groups with logs that are not planned.
 */
#ifndef SLUICE_COMPACT_H
#define SLUICE_COMPACT_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_env; /* env.h */

/* What was done; filled also when a call fails half way. */
struct sl_compact_report {
    int64_t snapshot;          /* the newest one published, 0 = none */
    int64_t seen;              /* the newest one looked at, 0 = the table has none */
    uint64_t rounds;           /* times that tasks were looked for */
    uint64_t tasks_planned, tasks_done; /* done = committed */
    uint64_t tasks_again;      /* dropped because their inputs had changed; planned again */
    uint64_t tasks_known;      /* results that had been committed before */
    uint64_t tasks_failed;     /* the work failed; the first reason is in FAILURE */
    uint64_t snapshots;        /* published */
    uint64_t files_in, files_out, bytes_in, bytes_out, rows_out;
    uint64_t rows_deleted;     /* rows that deletion vectors named, left out now */
    uint64_t files_live;       /* in the newest snapshot at a full scan */
    uint64_t files_waiting;    /* small ones that wait for more of their kind */
    uint64_t full_scans;       /* of all manifests; else only what each snapshot changed is read */
    uint64_t snapshots_expired;
    char failure[256];
    int failure_code;          /* of the same task */
};

/* Starts as all zero, which means the defaults. */
struct sl_compact_options {
    uint32_t workers;          /* tasks at work at a time; 0 = 1 */
    bool full;                 /* everything below the target size, and what has deletion vectors, however few files */
    bool all_logs;             /* log tables: every file slice that has logs, whatever the table's options say about when and how much */
    const sl_str *partition;   /* only these partitions: "key=value" texts, all of which must hold; partition.default-name is NULL */
    size_t npartition;
    bool watch;                /* go on until sl_cancelled(), following each new snapshot */
    bool no_expire;            /* watch: do not expire snapshots by the table's options */
    int64_t interval_millis;   /* watch: pause between rounds that find nothing; 0 = continuous.discovery-interval (10 s) */
    uint64_t watch_rounds;     /* watch: end after so many rounds; 0 = never */
    /* Called from the calling thread, often; DOING is a few words. May be NULL. */
    void (*progress)(void *user, const struct sl_compact_report *now, const char *doing);
    void *user;
};

/* Plan, work and apply in this process: one pass over the latest snapshot and one COMPACT snapshot, or with `watch` for ever.
 * Cancelling a watch is its ordinary end (SL_OK); one pass that is cancelled gives SL_ECANCELLED. A second watch over the same table
 * is SL_EBUSY. Failed tasks do not end a watch; after one pass they are SL_EFAIL, with what succeeded committed. */
SL_API int sl_compact_run(struct sl_env *env, sl_str table, const struct sl_compact_options *options,
                          struct sl_compact_report *report, sl_err *err) SL_WUR;

/* A line without its line feed. A code other than SL_OK ends the call with it. */
typedef int sl_compact_line_fn(void *user, sl_str line, sl_err *err);

/* Print the tasks for the latest snapshot; changes nothing (log tables: makes a plan, and prints all that is pending). Of the options full and partition count. */
SL_API int sl_compact_plan(struct sl_env *env, sl_str table, const struct sl_compact_options *options,
                           sl_compact_line_fn *emit, void *user, struct sl_compact_report *report, sl_err *err) SL_WUR;

/* Work on one task; *RESULT is a terminated line without line feed, the caller's (sl_free). A task that cannot be done (an input is
 * gone, the disk is full) gives SL_OK and a result that carries the error; an error of this call means that LINE is no task.
 * TABLE empty: the table at the path that the task names; else that table, for another place in the tree of files. Any thread. */
SL_API int sl_compact_work(struct sl_env *env, sl_str table, sl_str line, char **result, sl_err *err) SL_WUR;

/* Commit the results that NEXT gives, all of one table, as one COMPACT snapshot. NEXT sets *LINE, whose memory lives until the next
 * call, and returns SL_OK; p == NULL is the end. Applying the same results again is harmless. TABLE as in sl_compact_work.
 * SL_EFAIL if a result carries an error, with the others committed. */
SL_API int sl_compact_apply(struct sl_env *env, sl_str table, int (*next)(void *user, sl_str *line, sl_err *err), void *user,
                            struct sl_compact_report *report, sl_err *err) SL_WUR;

#ifdef __cplusplus
}
#endif
#endif
