/* emit.h - what emit.c, emit_base.c and emit_file.c share: the order in which rows are written, and files on their way to disk. */
#ifndef SL_TABLE_LOG_EMIT_H
#define SL_TABLE_LOG_EMIT_H

#include "table/log/write_priv.h"

/* ---- emit_rows.c: the batch's rows in the order of their groups ---- */

/* Keys that are written, by group, then key: indexes into batch->keys. */
struct sl_emit_order {
    uint32_t *v;  /* owned */
    size_t n;
};
int sl_emit_order_make(const struct sl_log_batch *b, struct sl_emit_order *out, sl_err *err) SL_WUR;
size_t sl_emit_group_end(const struct sl_log_batch *b, const struct sl_emit_order *o, size_t from); /* of the group at FROM */

/* A table in SQL, sluice_rows(id): columns seq BIGINT and i BIGINT, the places [from, to) of the order, those alone that WANTED takes. */
struct sl_emit_rows {
    const struct sl_log_batch *b;
    const struct sl_emit_order *order;
    size_t from, to;
    bool (*wanted)(const struct sl_batch_key *k); /* NULL: all */
    atomic_size_t next;
    uint64_t id;
    bool registered;
};
int sl_emit_rows_open(struct sl_emit_rows *r, sl_err *err) SL_WUR;
void sl_emit_rows_close(struct sl_emit_rows *r);

/* ---- emit_file.c: log files, written some at a time ---- */
struct sl_emit_file {
    sl_str dir, name;          /* of the batch's arena */
    struct sl_buf bytes;
};
struct sl_emit_files {
    struct sl_emit *e;
    SL_VEC(struct sl_emit_file) v;
    size_t bytes;
    SL_VEC(sl_str) dirs;       /* to be synced at the end */
};
/* BYTES are taken over. Marks the file; writes when much is waiting. */
int sl_emit_file_add(struct sl_emit_files *f, sl_str dir, sl_str name, struct sl_buf *bytes, sl_err *err) SL_WUR;
/* Everything is on disk under its name, folders too. */
int sl_emit_files_end(struct sl_emit_files *f, sl_err *err) SL_WUR;
void sl_emit_files_release(struct sl_emit_files *f);

/* ---- emit_ordering.c ---- */
/* The ordering value of row ROW of column V for a delete block. */
int sl_emit_ordering(const struct sl_vector *v, size_t row, struct sl_arena *a, struct sl_hudi_ordering *out, sl_err *err) SL_WUR;

/* ---- emit_base.c ---- */
/* The rows [from, to) of the order as columns of a Parquet file: SELECT, appended. FILE_NAME for the meta column. */
int sl_emit_select(struct sl_emit *e, const struct sl_emit_rows *rows, sl_str path, sl_str file_name, struct sl_buf *out, sl_err *err) SL_WUR;
/* Keys of rows (not of removals) at [from, to): views into the batch. */
int sl_emit_keys(const struct sl_log_batch *b, const struct sl_emit_order *o, size_t from, size_t to, const sl_str **out, size_t *n,
                 struct sl_arena *a, sl_err *err) SL_WUR;
/* The same rows as the bytes of a Parquet file, for a block. */
int sl_emit_parquet(struct sl_emit *e, const struct sl_emit_rows *rows, sl_str path, sl_str file_id, const struct sl_hudi_kv *kv, size_t nkv,
                    struct sl_buf *out, sl_err *err) SL_WUR;
const char *sl_emit_codec(const struct sl_log *t); /* of base files, as sl_parquet_spec */
int sl_emit_fpp(const struct sl_log *t, const char *key, double *out, sl_err *err) SL_WUR;

#define SL_EMIT_STAGE SL_LOG_SIDE_DIR "/stage"

#endif
