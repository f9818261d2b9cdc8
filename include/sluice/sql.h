/*
 * sql.h - run SQL statements over the tables of a warehouse.
 *
 * A session holds what SET and USE say. It is for one thread at a time, except sl_session_interrupt. Several sessions of one
 * sl_env may run at once.
 */
#ifndef SLUICE_SQL_H
#define SLUICE_SQL_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_env; /* env.h */
struct sl_session;

SL_API int sl_session_open(struct sl_env *env, struct sl_session **out, sl_err *err) SL_WUR;
SL_API void sl_session_close(struct sl_session *s); /* NULL is fine; before the sl_env */

struct sl_sql_column {
    const char *name;
    const char *type;       /* DuckDB's text: "INTEGER", "DECIMAL(10,2)", "STRUCT(a INTEGER)[]" */
};

/* What a statement did. */
struct sl_sql_done {
    const char *verb;       /* "SELECT", "INSERT", "CREATE TABLE", ...; static */
    bool has_rows;          /* columns and rows were handed out */
    uint64_t rows;          /* handed out; or inserted, updated, deleted */
    bool counts_rows;       /* ROWS means something */
    int64_t snapshot;       /* id of the snapshot that was made, 0 = none */
    double seconds;
};

/* Who takes the results. Any callback may be NULL. A code other than SL_OK ends the run with it. What is pointed to lives until
 * the callback returns. */
struct sl_sql_sink {
    int (*columns)(void *user, const struct sl_sql_column *columns, size_t n, sl_err *err); /* before the rows, also if there are none */
    int (*row)(void *user, const sl_str *cells, size_t n, sl_err *err); /* texts; p == NULL is NULL */
    int (*done)(void *user, const struct sl_sql_done *done, sl_err *err); /* after each statement */
    void (*progress)(void *user, double percent, double seconds); /* some five times a second while a statement runs; percent -1: not known */
    void *user;
    bool nested_json;       /* cells of STRUCT, LIST and MAP columns are JSON, else DuckDB's text */
    const char *parquet;    /* rows of queries go into this Parquet file instead of to ROW; NULL: they do not */
};

/* Run the statements of TEXT, separated by ';', one after another, until one fails. err->offset is the byte in TEXT that an
 * error speaks of, -1 if none. SL_ECANCELLED after sl_cancel() or sl_session_interrupt(). */
SL_API int sl_session_run(struct sl_session *s, sl_str text, const struct sl_sql_sink *sink, sl_err *err) SL_WUR;
SL_API void sl_session_interrupt(struct sl_session *s); /* any thread */

/* Does TEXT end with a ';' that is not inside of quotes or a comment (or hold nothing at all)? An interactive program reads on until it does. */
SL_API bool sl_sql_complete(sl_str text);

/* For people: the line of TEXT around byte OFFSET and a line with a caret under it. Line and column count from 1, columns in
 * characters. *EXCERPT is terminated and the caller's (sl_free); NULL if out of memory or OFFSET is not in TEXT. */
SL_API char *sl_sql_excerpt(sl_str text, int64_t offset, size_t *line, size_t *column);

/* Words that may stand where PREFIX was typed: keywords, tables, columns of the tables named in TEXT. FN gets each, sorted. */
SL_API int sl_session_completions(struct sl_session *s, sl_str text, sl_str prefix, void (*fn)(void *user, const char *word),
                                  void *user, sl_err *err) SL_WUR;

#ifdef __cplusplus
}
#endif
#endif
