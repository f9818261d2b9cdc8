/* write_priv.h - one batch on its way into a log table: what the files that do it share. */
#ifndef SL_TABLE_LOG_WRITE_PRIV_H
#define SL_TABLE_LOG_WRITE_PRIV_H

#include "base/sys.h"
#include "engine/parquet.h"
#include "engine/rows.h"
#include "table/log/blocks.h"
#include "table/log/publish.h"
#include "table/log/write.h"

#define SL_BATCH_TABLE "temp.main.sluice_batch" /* columns c0..cn, kind, seq, k, p, ord */

enum { SL_NO_GROUP = UINT32_MAX };

/* The row that is left of a key. Kinds are those of write.h. */
struct sl_batch_key {
    sl_str key;
    int64_t seq;
    uint32_t part;      /* index in batch->parts */
    uint32_t group;     /* index in batch->groups; SL_NO_GROUP: the key is new */
    uint8_t kind;
    bool removal_first; /* a sure removal came before it in the batch */
    bool insert;        /* the key was not there; of a removal: it waits for rows that are older than it */
    bool dropped;       /* nothing is written for it */
};

struct sl_batch_part {
    sl_str path;        /* partition path */
    size_t from, to;    /* its keys in batch->keys */
};

struct sl_batch_group { /* a file group that keys were found in, or that is new */
    uint32_t part;
    const char *file_id;
    /* under the lock: */
    const struct sl_slice *slice; /* NULL: new */
    bool rewrite;                 /* its base file is written anew with the rows in it (insert.to.log = never) */
    bool log_only;                /* new, and begins with a log */
    bool based;                   /* new, and gets a base file with its rows */
    uint64_t nrows, nremovals;    /* to be written to it */
    uint64_t ninserts;
};

struct sl_log_batch {
    struct sl_log *t;             /* borrowed */
    struct sl_conn *conn;         /* borrowed */
    struct sl_log_write_opts opts;
    struct sl_partitions *partitions; /* owned; NULL: unpartitioned */
    bool staged;                  /* the temporary table is there */
    bool has_removals;
    uint64_t rows;
    struct sl_arena arena;
    SL_VEC(struct sl_batch_key) keys;     /* by part, then key bytewise */
    SL_VEC(struct sl_batch_part) parts;
    SL_VEC(struct sl_batch_group) groups;
    struct sl_map *group_index;   /* "part/file id" -> index + 1 */
    struct sl_view *view;         /* owned; that the keys were looked up in */
    struct sl_lookup_stats lookup;
};

/* ---- keygen.c: keys and partitions of rows, in SQL over the columns c0..cn ---- */
int sl_keygen_key_sql(const struct sl_log *t, struct sl_buf *out, sl_err *err) SL_WUR;
/* sluice_partition(...) of the partition's values; "0" for tables without. */
int sl_keygen_partition_sql(const struct sl_log *t, const struct sl_partitions *p, struct sl_buf *out, sl_err *err) SL_WUR;
/* The path of the values that the ordinal stands for. */
int sl_keygen_path(const struct sl_log *t, const sl_str *values, struct sl_buf *out, sl_err *err) SL_WUR;
/* SL_EUNSUPPORTED, by column: types whose text is not the same everywhere. */
int sl_keygen_check(const struct sl_log *t, sl_err *err) SL_WUR;

/* ---- stage.c ---- */
int sl_batch_stage(struct sl_log_batch *b, sl_str select_sql, sl_err *err) SL_WUR;
ptrdiff_t sl_log_column(const struct sl_log *t, sl_str name); /* -1 if there is none */

/* ---- tag.c ---- */
/* Look up the keys. SINCE NULL: all keys in all sources; else keys without a group in what was written by instants that are completed in VIEW
 * and were not in SINCE. */
int sl_batch_tag(struct sl_log_batch *b, const struct sl_view *view, const struct sl_timeline *since, sl_err *err) SL_WUR;
int sl_batch_group_at(struct sl_log_batch *b, uint32_t part, sl_str file_id, uint32_t *out, sl_err *err) SL_WUR;
int sl_batch_view(struct sl_log_batch *b, struct sl_view **out, sl_err *err) SL_WUR; /* of the batch's partitions, now */

/* ---- place.c: file groups for keys that are new ---- */
int sl_batch_place(struct sl_log_batch *b, const struct sl_view *view, sl_err *err) SL_WUR;

/* ---- emit.c, emit_base.c: files ---- */
struct sl_emit {
    struct sl_log_batch *b;
    const struct sl_view *view;
    struct sl_publish *publish;   /* the delta commit under way */
    int64_t instant;
    char text[18];                /* of it */
    sl_str token;
    struct sl_buf schema;         /* Avro JSON with the meta fields */
    struct sl_log_commit_result *result;
};
int sl_emit_logs(struct sl_emit *e, sl_err *err) SL_WUR;
int sl_emit_bases(struct sl_emit *e, sl_err *err) SL_WUR;

#endif
