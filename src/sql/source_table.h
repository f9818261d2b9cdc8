/*
 * source_table.h - tables that are only read: files in a folder, or made-up rows. CREATE TABLE ...
 * WITH ('connector' = ...).
 *
 * Their definitions stand in <warehouse>/.sluice/sources/<db>.<name>.json, never in a schema file,
 * so no other engine takes them for tables.
 */
#ifndef SL_SQL_SOURCE_TABLE_H
#define SL_SQL_SOURCE_TABLE_H

#include "sql/query.h"

struct sl_source_def {
    struct sl_schema schema; /* columns and options */
    bool datagen;            /* else filesystem */
    bool endless;
};

bool sl_source_is(const struct sl_statement *st); /* CREATE TABLE with a connector of ours */
int sl_source_exists(struct sl_session *s, sl_str db, sl_str name, bool *out, sl_err *err) SL_WUR;
int sl_source_create(struct sl_session *s, sl_str db, const struct sl_statement *st,
                     sl_err *err) SL_WUR;
int sl_source_drop(struct sl_session *s, sl_str db, sl_str name, sl_err *err) SL_WUR;
int sl_source_load(struct sl_session *s, sl_str db, sl_str name, struct sl_source_def *out,
                   sl_err *err) SL_WUR; /* SL_ENOTFOUND */
int sl_source_names(struct sl_session *s, sl_str db, struct sl_names *out, sl_err *err) SL_WUR;
void sl_source_def_release(struct sl_source_def *d);

/* The rows of a bounded source as something to stand in FROM: appended to SQL. */
struct sl_source_scan;
int sl_source_scan_open(struct sl_query *q, sl_str db, sl_str name, struct sl_source_scan **out,
                        struct sl_buf *sql, sl_err *err) SL_WUR;
void sl_source_scan_free(struct sl_source_scan *s); /* NULL is fine */
const struct sl_source_def *sl_source_scan_def(const struct sl_source_scan *s);
uint64_t sl_source_scan_id(
    const struct sl_source_scan *s); /* of an endless source: sluice_rows(id) stands for it */

/* INSERT ... SELECT from Q->endless: a commit every interval, until it is stopped; goes on where it
 * was. SQL fills the table's columns. */
struct sl_insert_sql;
int sl_source_stream(struct sl_exec *x, struct sl_append *t, struct sl_query *q,
                     const struct sl_insert_sql *sql, sl_err *err) SL_WUR;

/* ---- datagen.c ---- */
/* Rows [from, to) of made-up data: a SELECT, appended. */
int sl_datagen_sql(const struct sl_source_def *d, int64_t from, int64_t to, struct sl_buf *out,
                   sl_err *err) SL_WUR;
/* How many rows it has, -1: it never ends. */
int sl_datagen_rows(const struct sl_source_def *d, int64_t *out, sl_err *err) SL_WUR;

/* ---- source_files.c ---- */
/* The files of a filesystem source as a row source, or as SQL over read_parquet. */
struct sl_source_files;
int sl_source_files_open(struct sl_query *q, const struct sl_source_def *d,
                         struct sl_source_files **out, struct sl_buf *sql, sl_err *err) SL_WUR;
void sl_source_files_close(struct sl_source_files *f); /* NULL is fine */
sl_str
sl_source_path(const struct sl_source_def *d); /* of a filesystem source, without "file://" */

#endif
