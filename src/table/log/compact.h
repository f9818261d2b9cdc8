/*
 * compact.h - compaction of a log table: the logs of file slices become new base files.
 *
 * Three steps, which may be taken by different processes. Scheduling writes a plan to the timeline, under the writer lock; from then on
 * writers name logs by the plan's instant, so nobody waits. Work merges what the plan names for one file group into a file of the stage
 * folder, which nothing refers to; it may be done any number of times. Completing, under the lock again, gives the staged files of all
 * groups of a plan their names and publishes the commit. A process that dies at any point leaves a plan that the next one runs again.
 */
#ifndef SL_TABLE_LOG_COMPACT_H
#define SL_TABLE_LOG_COMPACT_H

#include "engine/engine.h"
#include "table/log/lock.h"
#include "table/log/view.h"

/* ---- scheduling ---- */

struct sl_log_schedule_opts {
    bool now;                /* whatever the table's options say about when and how much */
    bool (*wanted)(void *user, const struct sl_view_partition *p); /* NULL: all partitions */
    void *user;
};
struct sl_log_schedule_result {
    int64_t instant;         /* of the plan; 0: none was made */
    int64_t newest;          /* completed write that was seen; 0: the table has none */
    size_t ops;
    size_t waiting;          /* file slices with logs that no pending plan names */
    bool in_the_way;         /* a pending commit of another engine does not allow a plan now */
};
/* Takes the lock, rolls back what died, and plans what is due (decision L1). */
int sl_log_compact_schedule(struct sl_log *t, const struct sl_log_schedule_opts *opts, struct sl_log_schedule_result *out, sl_err *err) SL_WUR;

/* ---- what is planned ---- */

struct sl_compaction_op {           /* one file group of a plan */
    int64_t instant;         /* of the compaction */
    int64_t base_instant;
    sl_str partition, file_id;
    sl_str base;             /* name; p == NULL: none */
    const sl_str *logs;      /* names */
    size_t nlogs;
};
struct sl_compaction_ops {
    struct sl_arena arena;   /* owns the texts */
    SL_VEC(struct sl_compaction_op) v; /* by instant */
};
#define SL_COMPACTION_OPS_INIT {SL_ARENA_INIT, {NULL, 0, 0}}
/* All of the plans that are pending now. */
int sl_log_compact_pending(struct sl_log *t, struct sl_compaction_ops *out, sl_err *err) SL_WUR;
void sl_compaction_ops_release(struct sl_compaction_ops *o);

/* ---- work ---- */

struct sl_log_made {
    const char *staged;      /* name within the stage folder; NULL: nothing was made */
    const char *name;        /* that the base file will have: of this attempt alone, so that what one that is shut out does late hits nothing that counts */
    uint64_t size;
    int64_t rows;
    int64_t inserts, updates, deletes; /* of the logs that came through; rows of the base that are gone */
    int64_t log_records, log_blocks, log_bytes, corrupt_blocks, rollback_blocks;
    int64_t millis;
};
/* Merges what OP names. VIEW, opened after the plan was made, may be shared by threads; NULL: one is opened. Any thread, one a connection.
 * Texts of A. SL_ENOTFOUND: an input is gone. */
int sl_log_compact_work(struct sl_log *t, struct sl_view *view, struct sl_conn *conn, const struct sl_compaction_op *op, struct sl_arena *a,
                        struct sl_log_made *out, sl_err *err) SL_WUR;
/* Removes the staged file, if it is still there. */
void sl_log_made_discard(struct sl_log *t, const struct sl_log_made *m);
bool sl_log_staged_ok(sl_str name, int64_t instant); /* can it be the name of a file that work for INSTANT made? */
bool sl_log_made_name_ok(sl_str name, const struct sl_compaction_op *op); /* is it a name of the base file that OP makes? */
/* Removes staged files of plans that are not pending any more, and those that are a day old. Never fails. */
void sl_log_compact_sweep(struct sl_log *t);

/* ---- completing ---- */

enum sl_log_outcome {
    SL_LOG_DONE,             /* committed now */
    SL_LOG_KNOWN,            /* was committed before */
    SL_LOG_NO_PLAN,          /* there is no such plan (any more): it was rolled back */
    SL_LOG_PARTLY,           /* operations of the plan are missing among those given; nothing was done */
};
struct sl_log_finished {
    const struct sl_compaction_op *op;
    const struct sl_log_made *made;
};
/* The operations of the plan at INSTANT, all of them, in any order, each once. Whatever becomes of it, the staged files are gone afterwards, but
 * for SL_LOG_PARTLY and errors. Takes the lock. With SL_ERR_UNKNOWN_OUTCOME it may be done. */
int sl_log_compact_complete(struct sl_log *t, int64_t instant, const struct sl_log_finished *v, size_t n, enum sl_log_outcome *out,
                            sl_err *err) SL_WUR;

#endif
