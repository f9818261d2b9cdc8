/* insert.h - from a query to the SELECT that fills a table, and publishing what it wrote. */
#ifndef SL_SQL_INSERT_H
#define SL_SQL_INSERT_H

#include "sql/query.h"
#include "table/append/commit.h"
#include "table/append/rewrite.h"
#include "table/append/write.h"
#include "table/log/write.h"

struct sl_insert_sql {
    struct sl_buf sql;
    size_t shift; /* bytes before the query in it */
};
struct sl_insert_target {
    const struct sl_schema *schema;
    const char *label;
};
/* The SELECT over Q's text that gives the table's columns. R's statement says the columns and the
 * static partition. */
int sl_insert_select(struct sl_exec *r, const struct sl_insert_target *t, struct sl_query *q,
                     struct sl_insert_sql *out, sl_err *err) SL_WUR;
/* An error of running it becomes one of the user's text. Returns the code. */
int sl_insert_error(struct sl_exec *r, struct sl_query *q, const struct sl_insert_sql *sql, int rc,
                    sl_err *err);

/* ---- dml_log.c, merge_log.c: the same statements on log tables. They take T over ---- */
int sl_exec_insert_log(struct sl_exec *r, struct sl_log *t, sl_err *err) SL_WUR;
int sl_exec_rewrite_log(struct sl_exec *r, struct sl_log *t, sl_err *err) SL_WUR; /* UPDATE, DELETE, MERGE */

/* Publishes; an unknown outcome is looked up. What was surely not published is removed. */
int sl_publish_new(struct sl_append *t, struct sl_commit_request *req, struct sl_new_files *files,
                   struct sl_commit_result *out, sl_err *err) SL_WUR;

/* PARTITION (k = v, ...) of the statement. */
int sl_partition_spec_of(const struct sl_statement *st, const struct sl_append *t,
                         struct sl_arena *a, struct sl_partition_spec *out, sl_err *err) SL_WUR;

#endif
