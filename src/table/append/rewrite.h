/*
 * rewrite.h - UPDATE, DELETE, INSERT OVERWRITE, TRUNCATE, DROP PARTITION: one OVERWRITE snapshot each.
 *
 * UPDATE and DELETE act on the snapshot they read and rewrite only files that hold matching rows; if those were replaced meanwhile they
 * plan again wholly. The others take effect at their commit point, concurrent appends included (P7).
 */
#ifndef SL_TABLE_REWRITE_H
#define SL_TABLE_REWRITE_H

#include "table/append/commit.h"
#include "table/append/plan.h"

struct sl_assignment {
    size_t column;          /* index in t->schema */
    sl_str expr;            /* SQL over the table's columns */
};

struct sl_rewrite_request {
    sl_str alias;           /* the name conditions and expressions may qualify columns with; empty = the table's */
    sl_str where_sql;       /* SQL condition; empty = all rows */
    const struct sl_pred *pred; /* implied by it, for pruning; NULL = nothing known */
    bool partition_only;    /* DELETE: the condition is deterministic and names partition columns only */
    const struct sl_assignment *sets; /* UPDATE */
    size_t nsets;
    bool once;              /* the expressions read other tables as of one snapshot: a conflict is the caller's, who plans these again too */
    sl_str prelude;         /* "WITH ..." to stand before each SELECT; may be empty */
};
struct sl_rewrite_result {
    int64_t snapshot_id;    /* 0: nothing matched */
    int64_t rows_matched;   /* rows updated or deleted; for metadata-only work the physical rows of the files */
    size_t files_removed, files_added;
    int attempts;
};
int sl_append_delete(struct sl_append *t, struct sl_conn *conn, const struct sl_rewrite_request *req, struct sl_rewrite_result *out,
                     sl_err *err) SL_WUR;
int sl_append_update(struct sl_append *t, struct sl_conn *conn, const struct sl_rewrite_request *req, struct sl_rewrite_result *out,
                     sl_err *err) SL_WUR;

/* A partition by some or all of its columns: k = text (NULL = null). */
struct sl_partition_spec {
    const char *const *keys;
    const struct sl_value *values; /* of the partition columns' types */
    size_t n;
};
/* INSERT OVERWRITE with the rows of SELECT_SQL (columns as sl_append_write). SPEC NULL and a partitioned table: the partitions that occur in the rows
 * if option dynamic-partition-overwrite is true (default), else the whole table. With SPEC: the partitions that match it. Rows outside SPEC are an error. */
int sl_append_overwrite(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, const struct sl_partition_spec *spec,
                        struct sl_rewrite_result *out, sl_err *err) SL_WUR;
int sl_append_truncate(struct sl_append *t, struct sl_rewrite_result *out, sl_err *err) SL_WUR;
int sl_append_drop_partition(struct sl_append *t, const struct sl_partition_spec *spec, struct sl_rewrite_result *out, sl_err *err) SL_WUR;

#endif
