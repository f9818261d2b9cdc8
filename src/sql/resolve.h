/* resolve.h - what a name in a query means: a table, one of its system tables, a source table, a
 * file, or something of DuckDB's. */
#ifndef SL_SQL_RESOLVE_H
#define SL_SQL_RESOLVE_H

#include "sql/query.h"

/* Q->scans gets the scan, unless the name is DuckDB's business. TRAVEL may be NULL. */
int sl_resolve(struct sl_query *q, const struct sl_tree_table *name, size_t from, size_t to,
               const struct sl_travel *travel, sl_err *err) SL_WUR;
struct sl_row_source sl_empty_source(const struct sl_field *fields, size_t n);

#endif
