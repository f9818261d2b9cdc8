/*
 * ingest.h - stream rows from files, folders and standard input into a table, exactly once.
 *
 * A load is cut into commits by rows, bytes and time; each commit carries the position in the input behind its
 * rows, so that a load with an identity goes on exactly there after any kind of end.
 */
#ifndef SLUICE_INGEST_H
#define SLUICE_INGEST_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_env; /* env.h */

enum sl_ingest_format {
    SL_INGEST_AUTO,     /* by the ending of the first file: .csv, .tsv, .parquet, else NDJSON */
    SL_INGEST_NDJSON,
    SL_INGEST_CSV,
    SL_INGEST_PARQUET,
};

enum sl_ingest_on_error {
    SL_INGEST_STOP,       /* the first bad row ends the load; what was committed stays */
    SL_INGEST_SKIP,       /* bad rows are left out and counted */
    SL_INGEST_QUARANTINE, /* as SKIP, and each is appended to a file as one JSON object a line */
};

/* Into a table with a key (a log table). */
enum sl_ingest_op {
    SL_INGEST_UPSERT,   /* the row takes the place of the one with its key, unless that one is newer by the ordering field */
    SL_INGEST_INSERT,   /* only rows whose key is not there */
    SL_INGEST_DELETE,   /* the row with its key goes, unless it is newer */
};

/* How far a load is. Counts are of this run. */
struct sl_ingest_progress {
    uint64_t rows;            /* committed or on their way */
    uint64_t bad_rows;
    uint64_t bytes;           /* of input, read */
    uint64_t total_bytes;     /* of all input, 0 = not known */
    uint64_t lag_bytes;       /* of the followed input, not committed yet */
    uint64_t files;           /* data files committed */
    uint64_t commits;
    int64_t snapshot;         /* newest one made, 0 = none */
    double seconds;
    bool waiting;             /* a follower that has read all there is */
};
/* Called some ten times a second, by one thread at a time, not always the caller's. */
typedef void sl_ingest_progress_fn(void *user, const struct sl_ingest_progress *p);

/* All zero (SL_INGEST_INIT) means the defaults. Views are borrowed until the call returns. */
struct sl_ingest_options {
    sl_str table;             /* "table", "database.table" or the path of a table's folder */
    const sl_str *inputs;     /* files, folders, or "-"; none = standard input */
    size_t ninputs;
    enum sl_ingest_format format;

    uint64_t commit_rows;     /* 0 = 1,000,000 */
    uint64_t commit_bytes;    /* of input; 0 = 256 MiB */
    uint64_t commit_millis;   /* 0 = 60 s, 10 s with FOLLOW */
    uint32_t writers;         /* commits on their way at once; 0 = 1 */
    bool follow;              /* go on with what is added to the file, or to the folder */
    bool compact;             /* compact beside the load */

    sl_str identity;          /* p == NULL: none, so a load of its own that cannot be resumed; FOLLOW derives one */
    sl_str from;              /* p == NULL: where IDENTITY left off, else the start. "start", "end", a byte offset, or a position as reported */

    enum sl_ingest_on_error on_error;
    sl_str quarantine;        /* path of the file */
    uint64_t max_row_bytes;   /* 0 = 512 MiB */
    bool strict_fields;       /* a field that the table does not have makes a row bad; else it is ignored and counted */
    sl_str op_field;          /* field with the row's kind (+I, insert, ...); p == NULL: _row_kind, if the table has no such column */
    enum sl_ingest_op op;     /* tables with a key: what rows without a kind of their own do */

    char delimiter;           /* CSV; 0 = ',' (tab for .tsv) */
    bool no_header;           /* CSV: columns are the table's, in order */
    sl_str null_text;         /* CSV: unquoted text that means NULL; p == NULL: empty */

    bool create;              /* make the table if there is none, from a sample of the input */
    const sl_str *partition_by; /* with CREATE */
    size_t npartition_by;
    bool dry_run;             /* read and check all, write nothing */

    /* For statements of SQL: the columns of the input, as "ROW<a INT, b STRING>", and the SELECT that makes the table's columns of
     * them, in which $source stands where the input is read: "SELECT b, a + 1 FROM $source WHERE a > 0". Empty: the table's own. */
    sl_str source_type;
    sl_str query;

    sl_ingest_progress_fn *progress; /* may be NULL */
    bool (*stop)(void *user); /* asked often, by any thread; true: commit what was read, then end. May be NULL */
    void *user;               /* of both */
};
#define SL_INGEST_INIT {{0, 0}, 0, 0, SL_INGEST_AUTO, 0, 0, 0, 0, false, false, {0, 0}, {0, 0}, SL_INGEST_STOP, {0, 0}, 0, false, \
                        {0, 0}, SL_INGEST_UPSERT, 0, false, {0, 0}, false, 0, 0, false, {0, 0}, {0, 0}, 0, 0, 0}

struct sl_ingest_report {
    uint64_t rows;            /* committed; with dry_run: found good */
    uint64_t bad_rows;
    uint64_t unknown_fields;  /* values of fields that the table does not have */
    uint64_t input_bytes;     /* read in this run */
    uint64_t files, file_bytes; /* data files committed */
    uint64_t commits;
    double seconds;
    int64_t *snapshots;       /* of the commits; the newest 1,000 */
    size_t nsnapshots;
    char *identity;           /* in use; NULL = none */
    char *position;           /* JSON text behind the last commit; NULL = none */
    char *create_sql;         /* with CREATE: the statement of the table that was made; NULL = none was */
    bool resumed;             /* went on where a run before ended */
    bool interrupted;         /* ended by `stop`; all that is reported is committed */
};
#define SL_INGEST_REPORT_INIT {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false}

/* Runs until the input ends, `stop` (SL_OK, with what was read committed), or an error: sl_cancel drops what is not committed.
 * REPORT is filled in every case and released by the caller. SL_EBUSY: another process loads with this identity. */
SL_API int sl_ingest_run(struct sl_env *env, const struct sl_ingest_options *options, struct sl_ingest_report *report,
                         sl_err *err) SL_WUR;
SL_API void sl_ingest_report_release(struct sl_ingest_report *report);

#ifdef __cplusplus
}
#endif
#endif
