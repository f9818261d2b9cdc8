/*
 * run_priv.h - one load under way: what the files of ingest/ that run it share.
 */
#ifndef SL_INGEST_RUN_PRIV_H
#define SL_INGEST_RUN_PRIV_H

#include "ingest/worker.h"
#include "table/append/commit.h"
#include "table/append/position.h"
#include "table/append/write.h"
#include "table/log/write.h"
#include "table/env.h"

struct sl_run {
    struct sl_env *env;
    struct sl_ingest_options o;       /* with defaults filled in */
    enum sl_ingest_format format;
    struct sl_append *table;          /* owned; NULL: not there yet, or */
    SL_VEC(struct sl_append *) before; /* owned: the table as it was opened before its schema changed; locks and stores of it are in use */
    atomic_bool renew;                /* its schema has changed */
    struct sl_log *log;               /* owned: a table with keys */
    struct sl_store *log_side;        /* owned: rooted where a log table keeps what is not its data */
    struct sl_source *source;         /* owned */
    struct sl_feed *feed;         /* owned; NULL for Parquet */
    struct sl_bad_rows *bad;          /* owned */
    struct sl_arena arena;            /* the types of o.source_type, the columns for headers */
    const struct sl_field *fields;    /* of the input */
    size_t nfields;
    struct sl_column columns;         /* of them, for headers */
    sl_str op_field;
    struct sl_compactor *compactor;   /* owned; NULL: no compaction */
    char *identity;                   /* owned; NULL: none */
    char *user;                       /* owned: of the commits */
    struct sl_lock *lock;             /* owned: on the identity */
    int64_t start_nanos;
    atomic_uint_fast64_t rows, unknown_fields, commits, files;
    atomic_int at_work;               /* writers that use the engine */
    atomic_int_fast64_t snapshot, shown_nanos;
    struct sl_ingest_report *report;

    pthread_mutex_t publish;          /* all below */
    pthread_cond_t published;
    uint64_t next_ticket;             /* whose turn it is to publish */
    int64_t identifier;               /* of the next commit */
    uint64_t bad_rows_committed;
    bool look_first;
    int rc;                           /* of the first failure */
    sl_err err;
};

/* ---- run.c ---- */
void sl_run_tick(void *run, bool waiting); /* shows the progress now and then */
bool sl_run_stopping(const struct sl_run *r);
/* The SELECT that gives the table's columns, SOURCE being what can stand behind FROM; appended. */
int sl_run_query(const struct sl_run *r, sl_str source, struct sl_buf *out, sl_err *err) SL_WUR;
bool sl_run_schema_changed(struct sl_run *r);
int sl_run_renew(struct sl_run *r, sl_err *err) SL_WUR; /* goes on with the newest schema; between commits, nobody else at work */
/* Commit FILES with the position whose members are POSITION; updates counts. Files are discarded on failure, released by the caller. */
int sl_run_commit(struct sl_run *r, struct sl_new_files *files, sl_str position, sl_err *err) SL_WUR;

/* ---- log.c: the same for log tables ---- */

/* Rows combined and looked up, on a connection of their own. */
struct sl_run_batch {
    struct sl_conn *conn;
    struct sl_log_batch *batch;
};
void sl_run_batch_release(struct sl_run_batch *b); /* all zero is fine */
int sl_run_log_open(struct sl_run *r, sl_err *err) SL_WUR;       /* after r->log: what of the options goes with it */
/* The columns that are read: those of the table, the op field, and behind r->nfields the row's place. */
int sl_run_log_columns(struct sl_run *r, sl_err *err) SL_WUR;
/* SOURCE: what stands in FROM, with those columns and "sl_seq". */
int sl_run_log_stage(struct sl_run *r, sl_str source, struct sl_run_batch *out, sl_err *err) SL_WUR;
int sl_run_log_commit(struct sl_run *r, struct sl_run_batch *b, sl_str position, sl_err *err) SL_WUR; /* under r->publish */
int sl_run_log_position(struct sl_run *r, struct sl_buf *out, bool *found, sl_err *err) SL_WUR;
int sl_run_log_identity(struct sl_run *r, sl_err *err) SL_WUR;   /* its lock */
const struct sl_schema *sl_run_schema(const struct sl_run *r);   /* NULL: no table yet */
const char *sl_run_label(const struct sl_run *r);

/* ---- text.c: NDJSON and CSV ---- */
int sl_run_text(struct sl_run *r, sl_err *err) SL_WUR;
int sl_run_text_dry(struct sl_run *r, sl_err *err) SL_WUR;

/* ---- parquet.c ---- */
int sl_run_parquet(struct sl_run *r, sl_err *err) SL_WUR;

/* ---- create.c: make the table from a sample ---- */
int sl_run_create(struct sl_run *r, sl_err *err) SL_WUR;

#endif
