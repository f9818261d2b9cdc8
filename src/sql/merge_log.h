/* merge_log.h - what dml_log.c and merge_log.c share: pieces of the query that gives the changed rows
 * of a log table. */
#ifndef SL_SQL_MERGE_LOG_H
#define SL_SQL_MERGE_LOG_H

#include "sql/insert.h"

/* BEFORE "qualifier"."name" AFTER; QUALIFIER NULL: none */
int sl_piece_ident(struct sl_query *q, size_t at, const char *before, const char *qualifier,
                   sl_str name, const char *after, sl_err *err) SL_WUR;
int sl_piece_null(struct sl_query *q, size_t at, const char *before, const struct sl_type *type,
                  sl_err *err) SL_WUR;
int sl_piece_target(struct sl_exec *r, struct sl_query *q, const char *before, sl_err *err) SL_WUR;
int sl_piece_moves(struct sl_log *t, struct sl_query *q, size_t at, const char *removals,
                   const char *rows, sl_err *err) SL_WUR;
struct sl_range sl_name_range(const struct sl_tokens *tokens, const struct sl_table_name *name);

int sl_set_column(const struct sl_log *t, const struct sl_word *key, size_t *out, sl_err *err) SL_WUR;
bool sl_log_is_key(const struct sl_log *t, const char *name);
bool sl_log_names_row(const struct sl_log *t, const char *name); /* a key or partition column */
bool sl_log_moves_row(const struct sl_log *t, const char *name); /* a partition or ordering column */

/* MERGE: columns, kind and sequence of the rows that change. */
int sl_merge_pieces(struct sl_exec *r, struct sl_log *t, struct sl_query *q, sl_err *err) SL_WUR;

#endif
