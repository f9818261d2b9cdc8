/*
 * write.h - from a SELECT to one delta commit of a log table.
 *
 * Two steps (decision L2). A batch is read, combined to one row a key, and its keys are looked up, without a lock, while other batches
 * are made and others write. Committing takes the lock, rolls back what died, takes the instant, looks up again what was committed since, places
 * the rows that are new, writes, and completes. What is made by a batch that fails or is never committed is removed.
 */
#ifndef SL_TABLE_LOG_WRITE_H
#define SL_TABLE_LOG_WRITE_H

#include "engine/engine.h"
#include "index/lookup.h"
#include "table/log/lock.h"

enum sl_log_op {
    SL_LOG_UPSERT,
    SL_LOG_INSERT, /* rows whose key is there are left out and counted; hoodie.datasource.insert.dup.policy = fail: an error */
    SL_LOG_DELETE,
};

enum sl_log_kind { /* of a row, in the column for it */
    SL_LOG_ROW,
    SL_LOG_REMOVAL,       /* delete: competes by its ordering value, if it has one */
    SL_LOG_SURE_REMOVAL,  /* delete that wins over all before it, whatever their ordering values */
};

struct sl_log_write_opts {
    enum sl_log_op op;
    bool has_kind;          /* the SELECT has one column more: enum sl_log_kind, an integer; NULL: as OP says */
    bool has_seq;           /* and one more after it: BIGINT, distinct numbers by the order in which the rows came; else the SELECT's order */
    bool trusted;           /* values are of the columns' types and were checked */
    struct sl_log_lock *lock; /* held by the caller, for as long as the batch lives; NULL: commit takes it */
};

struct sl_log_batch;
/* Run SELECT_SQL on CONN; its columns are the table's (t->schema), by position, then those that OPTS names. Values that do not fit are errors that
 * name the column. CONN keeps temporary tables until the batch is freed, and is not used otherwise meanwhile. */
int sl_log_batch_make(struct sl_log *t, struct sl_conn *conn, sl_str select_sql, const struct sl_log_write_opts *opts,
                      struct sl_log_batch **out, sl_err *err) SL_WUR;
void sl_log_batch_free(struct sl_log_batch *b); /* NULL is fine */
uint64_t sl_log_batch_rows(const struct sl_log_batch *b); /* of the SELECT */
/* How many different halves its sequence numbers have: changes, where 2n is the removal and 2n + 1 the row of one. */
int sl_log_batch_changes(struct sl_log_batch *b, int64_t *out, sl_err *err) SL_WUR;

struct sl_log_commit_request {
    const struct sl_hudi_kv *extra; /* for extraMetadata; keys start with "sluice."; an empty value (p == NULL) removes one. The rest is carried forward */
    size_t nextra;
    bool allow_empty;        /* commit even if no row is left */
    /* Asked under the lock before anything is written, for exactly once: may the commit go on? NULL: yes. */
    int (*check)(void *user, const struct sl_hudi_kv *extra, size_t nextra, bool *go_on, sl_err *err);
    void *user;
};
struct sl_log_commit_result {
    int64_t instant;         /* 0: nothing was written */
    uint64_t inserts, updates, deletes;
    uint64_t left_out;       /* op INSERT: rows whose key was there; deletes of keys that were not */
    size_t log_files, base_files, new_groups;
    uint64_t bytes;
    size_t rolled_back;      /* dead delta commits that were in the way */
    struct sl_lookup_stats lookup;
};
/* Error with SL_ERR_UNKNOWN_OUTCOME: it may be committed; sl_log_committed tells. SL_ECONFLICT: a rollback by force has shut this process out. */
int sl_log_batch_commit(struct sl_log_batch *b, const struct sl_log_commit_request *req, struct sl_log_commit_result *out, sl_err *err) SL_WUR;

/* What the newest commit carries of "sluice." entries: memory of A. */
int sl_log_extra(struct sl_log *t, struct sl_arena *a, const struct sl_hudi_kv **extra, size_t *n, sl_err *err) SL_WUR;

/* SL_EINPUT, naming the column, if SELECT_SQL does not fit. */
int sl_log_write_check(struct sl_log *t, struct sl_conn *conn, sl_str select_sql, const struct sl_log_write_opts *opts, sl_err *err) SL_WUR;

#endif
