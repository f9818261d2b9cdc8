/*
 * system.h - what a table knows of itself, as rows: t$snapshots, t$files, t$manifests, t$partitions, t$options, t$schemas, t$tags,
 * t$branches, t$consumers. Names and columns are Paimon's system tables'.
 */
#ifndef SL_TABLE_APPEND_SYSTEM_H
#define SL_TABLE_APPEND_SYSTEM_H

#include "engine/rows.h"
#include "table/append/snapshots.h"

/* The names, ended by NULL: "snapshots", "files", ... */
extern const char *const sl_system_tables[];

/* Reads the rows of WHICH as of SEL (NULL = latest; only files, manifests and partitions look at it). SL_ENOTFOUND for another name, with
 * the nearest in the hint. The table may be closed afterwards. */
struct sl_system_rows;
int sl_system_rows_open(struct sl_append *t, sl_str which, const struct sl_selector *sel, struct sl_system_rows **out,
                        sl_err *err) SL_WUR;
void sl_system_rows_free(struct sl_system_rows *s); /* NULL is fine */

/* A source for sl_rows_register, valid while S is; any number of scans. */
struct sl_row_source sl_system_rows_source(struct sl_system_rows *s);

#endif
