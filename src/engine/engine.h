/*
 * engine.h - the one door to DuckDB: open the database, run SQL, read results.
 *
 * One engine a process; a connection a query or a thread (4 us to open). A connection and its results are for one
 * thread at a time, except sl_conn_interrupt and sl_conn_progress, which any thread may call.
 *
 * Every call that runs SQL ends early with SL_ECANCELLED when sl_cancelled(). Errors are DuckDB's in one sentence:
 *   SL_ESQL       the statement is wrong (syntax, unknown names, types); err->offset is the byte in the SQL text, if known
 *   SL_EINPUT     a value does not fit (conversion, out of range, division, constraint)
 *   SL_ENOMEM, SL_ENOSPC, SL_EIO, SL_ENOTFOUND, SL_ECANCELLED as their names say; SL_EUNSUPPORTED "not implemented"
 *   and what a row source or a function of ours set, unchanged.
 *
 * Rows keep no order without ORDER BY. SQL that reads Parquet files always passes hive_partitioning = false, or folders
 * named k=v add columns; '*', '?' and '[' in paths are patterns to DuckDB.
 */
#ifndef SL_ENGINE_ENGINE_H
#define SL_ENGINE_ENGINE_H

#include "base/str.h"

struct sl_arena;
struct sl_conn;
struct sl_engine;
struct sl_field;
struct sl_result;
struct sl_vector;

struct sl_engine_opts {
    uint32_t threads;       /* 0: as many as there are processors */
    uint64_t memory_bytes;  /* peak resident memory of the process that is wanted; 0: 80 % of the machine's. DuckDB gets a part of it */
    const char *temp_dir;   /* where big sorts and joins spill; NULL: no spilling. Made when first needed */
};

/* Opens an in-memory database. SL_EUNSUPPORTED, naming both versions, unless the library is the one that Sluice is made for. */
int sl_engine_open(const struct sl_engine_opts *opts, struct sl_engine **out, sl_err *err) SL_WUR;
/* Run FN on this engine unless it once succeeded: for functions that a module above registers. One FN for an engine; any thread, others wait. */
int sl_engine_extend(struct sl_engine *e, int (*fn)(struct sl_engine *e, sl_err *err), sl_err *err) SL_WUR;
void sl_engine_close(struct sl_engine *e);                  /* after its connections; NULL is fine */
const char *sl_engine_version(void);                        /* "v1.5.6": of the library that is loaded; static */
const char *sl_engine_version_wanted(void);                 /* static */
uint32_t sl_engine_threads(const struct sl_engine *e);
uint64_t sl_engine_memory(const struct sl_engine *e);       /* memory_bytes, with the default filled in */

int sl_conn_open(struct sl_engine *e, struct sl_conn **out, sl_err *err) SL_WUR;
void sl_conn_close(struct sl_conn *c);                      /* after its results; NULL is fine */
struct sl_engine *sl_conn_engine(struct sl_conn *c);

void sl_conn_interrupt(struct sl_conn *c);                  /* any thread: what runs on C ends with SL_ECANCELLED */
/* Percent done of what runs, -1 if unknown: counted only after sl_conn_on_progress. Any thread. Row sources always count as 0. */
double sl_conn_progress(struct sl_conn *c);
/* FN is called about five times a second by the thread that waits for a query of C; NULL switches it off. */
void sl_conn_on_progress(struct sl_conn *c, void (*fn)(void *user, double percent), void *user);

/* Run one or more statements; rows are dropped. */
int sl_conn_exec(struct sl_conn *c, sl_str sql, sl_err *err) SL_WUR;
int sl_conn_execf(struct sl_conn *c, sl_err *err, const char *fmt, ...) SL_PRINTF(3, 4) SL_WUR; /* short ones, made by printf */

/* SET VARIABLE name = [..]: a list of texts for SQL such as read_parquet(getvariable('name')). The texts are copied. */
int sl_conn_set_list(struct sl_conn *c, const char *name, const sl_str *v, size_t n, sl_err *err) SL_WUR;
int sl_conn_unset(struct sl_conn *c, const char *name, sl_err *err) SL_WUR;

/* Run one statement; its rows come as a stream, so that a big result costs no memory. Only one open result a connection. */
int sl_conn_query(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err) SL_WUR;
/* The same with each value cast to text by DuckDB (sl_result_str); sl_result_type_sql still tells the real types. */
int sl_conn_query_text(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err) SL_WUR;
/* Does the text parse and bind? Runs nothing. The columns of the result stay readable in OUT (no rows) if OUT is not NULL. */
int sl_conn_prepare(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err) SL_WUR;

size_t sl_result_ncols(const struct sl_result *r);
const char *sl_result_name(const struct sl_result *r, size_t col);      /* borrowed from R */
const char *sl_result_type_sql(const struct sl_result *r, size_t col);  /* DuckDB's text: "DECIMAL(10,2)", "STRUCT(a INTEGER)" */
bool sl_result_has_rows(const struct sl_result *r);   /* false for statements that give none (SET, CREATE, ...) */

/* The next rows; *rows = 0 at the end. Cells of the rows before are gone then. */
int sl_result_next(struct sl_result *r, size_t *rows, sl_err *err) SL_WUR;
/* Cells of the current rows. A cell read as what it is not gives 0 or an empty view, as NULL does. */
bool sl_result_null(const struct sl_result *r, size_t col, size_t row);
int64_t sl_result_i64(const struct sl_result *r, size_t col, size_t row);   /* integers (clamped), BOOLEAN, DATE days, TIME and TIMESTAMP raw */
double sl_result_f64(const struct sl_result *r, size_t col, size_t row);    /* FLOAT, DOUBLE, integers */
sl_str sl_result_str(const struct sl_result *r, size_t col, size_t row);    /* VARCHAR, BLOB */
/* The current rows as vectors, for values that have no call of their own: columns [from, from + n) as FIELDS say, whose types must be
 * the result's. VECTORS (n of them, memory from A) are made by the first call, with *VECTORS NULL, and renewed by the later ones. */
int sl_result_vectors(struct sl_result *r, size_t from, const struct sl_field *fields, size_t n, struct sl_arena *a,
                      struct sl_vector **vectors, sl_err *err) SL_WUR;
void sl_result_free(struct sl_result *r);                                   /* NULL is fine; stops what still runs */

/* Queries of one value. SL_ENOTFOUND if there is no row; NULL gives 0 or an empty text (sl_free). */
int sl_conn_query_i64(struct sl_conn *c, sl_str sql, int64_t *out, sl_err *err) SL_WUR;
int sl_conn_query_str(struct sl_conn *c, sl_str sql, char **out, sl_err *err) SL_WUR;

#endif
