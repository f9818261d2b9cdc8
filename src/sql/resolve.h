/* resolve.h - what a name in a query means: a table, one of its system tables, a source table, a
 * file, or something of DuckDB's. */
#ifndef SL_SQL_RESOLVE_H
#define SL_SQL_RESOLVE_H

#include "sql/query.h"

/* Q->scans gets the scan, unless the name is DuckDB's business. TRAVEL may be NULL. */
int sl_resolve(struct sl_query *q, const struct sl_tree_table *name, size_t from, size_t to,
               const struct sl_travel *travel, sl_err *err) SL_WUR;
struct sl_row_source sl_empty_source(const struct sl_field *fields, size_t n);

/* ---- shared by the files that resolve ---- */
/* A new scan of the bytes [from, to); ALIAS is what the name is called in the query. */
int sl_resolve_scan(struct sl_query *q, const struct sl_tree_table *name, sl_str alias, size_t from,
                    size_t to, struct sl_query_scan **out, sl_err *err) SL_WUR;
struct sl_query_table *sl_resolve_known(struct sl_query *q, const char *key); /* NULL if new */
/* The options of a hint, one by one. */
int sl_resolve_hint(struct sl_query *q, const struct sl_travel *travel,
                    int (*option)(struct sl_query *q, const struct sl_pair *o, void *user,
                                  sl_err *err),
                    void *user, sl_err *err) SL_WUR;
/* The value of time travel: milliseconds, or the text of a version (arena; *NUMBER if it is one). */
int sl_resolve_time(struct sl_query *q, const struct sl_travel *travel, int64_t *millis,
                    sl_err *err) SL_WUR;
int sl_resolve_version(struct sl_query *q, const struct sl_travel *travel, sl_str *text,
                       bool *number, sl_err *err) SL_WUR;
/* The text of a time, such as an option has it, in milliseconds; it stands at byte AT. */
int sl_resolve_time_text(struct sl_query *q, size_t at, sl_str text, int64_t *millis,
                         sl_err *err) SL_WUR;

/* resolve_log.c: the scan of a log table. T is taken over. */
int sl_resolve_log(struct sl_query *q, struct sl_log *t, const struct sl_tree_table *name,
                   sl_str alias, size_t from, size_t to, const struct sl_travel *travel,
                   sl_err *err) SL_WUR;

#endif
