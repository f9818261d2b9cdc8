/*
 * rows.h - rows and functions of ours inside DuckDB's SQL.
 *
 * What is registered here is named in SQL by a number: FROM sluice_rows(7), sluice_partition(8, p::VARCHAR),
 * sluice_deleted(9, filename, file_row_number). The callbacks run on DuckDB's threads, several at a time; an error they
 * set becomes the error of the query, code and hint kept. Unregister only after the queries that use it have ended.
 */
#ifndef SL_ENGINE_ROWS_H
#define SL_ENGINE_ROWS_H

#include "data/batch.h"
#include "engine/engine.h"

/* ---- a table made by us ---- */
struct sl_row_source {
    void *self;
    const struct sl_field *fields;  /* names and types of the columns; borrowed until unregistered */
    size_t nfields;
    uint32_t max_threads;           /* 0 or 1: one thread */
    int64_t rows_hint;              /* about how many rows; -1 unknown */
    /* Once for each scan, before its threads begin; what it gives stands in SELF's place in the calls below. NULL: all scans share SELF. */
    int (*scan_open)(void *self, void **scan, sl_err *err);
    void (*scan_close)(void *scan);  /* DuckDB may do so late, when the source is unregistered already */
    /* Once for each thread that takes part, before its first fill; may be NULL. Nothing is opened for a thread that never runs. */
    int (*local_open)(void *self, void **local, sl_err *err);
    void (*local_close)(void *self, void *local);
    /* Put up to out->cap rows into the columns that are `wanted`, set out->rows; 0 rows = this thread has no more.
     * May wait for its input; then it must look at sl_cancelled() while it waits. Call it no more after an error. */
    int (*fill)(void *self, void *local, struct sl_batch *out, sl_err *err);
};
/* The struct is copied. A query that names the source twice runs two scans at once. */
int sl_rows_register(struct sl_engine *e, const struct sl_row_source *src, uint64_t *id, sl_err *err) SL_WUR;
void sl_rows_unregister(struct sl_engine *e, uint64_t id);

/* ---- sluice_partition(id, text, ...) -> INTEGER: a number from 0 for each distinct tuple of texts, NULL counted as a value ---- */
struct sl_partitions;
int sl_partitions_new(struct sl_engine *e, size_t nvalues, struct sl_partitions **out, sl_err *err) SL_WUR;
void sl_partitions_free(struct sl_partitions *p);  /* NULL is fine */
uint64_t sl_partitions_id(const struct sl_partitions *p);
size_t sl_partitions_count(struct sl_partitions *p);
/* The texts of tuple ORDINAL, nvalues of them; p == NULL is NULL. Valid until free. NULL if there is no such tuple. */
const sl_str *sl_partitions_values(struct sl_partitions *p, size_t ordinal);

/* ---- sluice_deleted(id, filename, file_row_number) -> BOOLEAN ---- */
struct sl_row_filter {
    void *self;
    /* For N rows of one file: deleted[i] = is rows[i] gone? */
    int (*deleted)(void *self, sl_str filename, const int64_t *rows, size_t n, bool *deleted, sl_err *err);
};
int sl_row_filter_register(struct sl_engine *e, const struct sl_row_filter *f, uint64_t *id, sl_err *err) SL_WUR;
void sl_row_filter_unregister(struct sl_engine *e, uint64_t id);

/* ---- functions of value -> value ---- */
enum { SL_SCALAR_ARGS_MAX = 8 };
struct sl_scalar {
    const char *name;               /* in SQL */
    const struct sl_type *args[SL_SCALAR_ARGS_MAX];
    size_t nargs;
    const struct sl_type *varargs;  /* type of any further arguments; NULL: none */
    const struct sl_type *ret;
    bool volatile_;                 /* may give other results for the same arguments */
    void *self;                     /* borrowed until the engine is closed */
    /* ROWS rows of NARGS vectors, to read by sl_vector_is_null, `data` and sl_vector_bytes; results by row into OUT. NULL arguments come in too. */
    int (*fn)(void *self, const struct sl_vector *args, size_t nargs, size_t rows, struct sl_vector *out, sl_err *err);
};
/* For all connections, until the engine is closed. The same name with other argument types is another overload. */
int sl_scalar_register(struct sl_engine *e, const struct sl_scalar *f, sl_err *err) SL_WUR;

#endif
