/*
 * engine_priv.h - what the files of engine/ share.
 */
#ifndef SL_ENGINE_ENGINE_PRIV_H
#define SL_ENGINE_ENGINE_PRIV_H

#include <duckdb.h>

#include "base/mem.h"
#include "base/sys.h"
#include "data/batch.h"
#include "engine/engine.h"

/* Errors of callbacks wait here under a ticket while DuckDB carries its text to the end of the query. */
enum { STASH_SIZE = 32 };
struct sl_stashed {
    uint64_t ticket;
    sl_err err;
};

/* What the numbers in sluice_rows(7) and the like stand for. */
enum sl_entry_kind { SL_ENTRY_ROWS, SL_ENTRY_PARTITIONS, SL_ENTRY_FILTER };
struct sl_registered {
    uint64_t id;
    enum sl_entry_kind kind;
    void *object;               /* of the kind's file */
};

struct sl_engine {
    duckdb_database db;
    uint32_t threads;
    uint64_t memory;
    pthread_rwlock_t writes;    /* Parquet writes share it; a wide one has it alone, with `threads` set to 1 */
    pthread_mutex_t extending;
    bool extended;              /* sl_engine_extend is done; under `extending` */
    pthread_mutex_t lock;       /* all below */
    struct sl_stashed stash[STASH_SIZE];
    uint64_t next_ticket;
    SL_VEC(struct sl_registered) registered;
    uint64_t next_id;
    SL_VEC(struct sl_conn *) conns;
    pthread_cond_t wake;        /* the watcher's: a query began, or stop */
    size_t running;             /* queries under way */
    bool stop;
    bool has_watcher;
    pthread_t watcher;          /* passes sl_cancelled() on to DuckDB, which may be deep in one call */
};

struct sl_conn {
    struct sl_engine *engine;   /* borrowed */
    duckdb_connection duck;
    bool running;               /* under engine->lock */
    void (*on_progress)(void *user, double percent);
    void *progress_user;
    int64_t progress_at;        /* sl_mono_nanos of the last call */
};

/* Rows that COPY keeps back before it hands them to the files of their partitions. */
#define SL_PARTITION_ROWS "65536"

/* ---- error.c ---- */
/* Keep ERR for the query's end; TEXT gets what DuckDB is to be told. */
void sl_engine__stash(struct sl_engine *e, const sl_err *err, char *text, size_t size);
/* DuckDB's message to ours. SHIFT is taken off its position (text put before the user's). */
int sl_engine__error(struct sl_engine *e, const char *message, size_t shift, sl_err *err);

/* ---- query.c ---- */
/* As sl_conn_query; positions in errors count from SHIFT. */
int sl_engine__query(struct sl_conn *c, sl_str sql, size_t shift, struct sl_result **out, sl_err *err);

/* ---- registry, engine.c ---- */
int sl_engine__register(struct sl_engine *e, enum sl_entry_kind kind, void *object, uint64_t *id, sl_err *err);
void *sl_engine__unregister(struct sl_engine *e, uint64_t id);   /* the object, or NULL */
void *sl_engine__find(struct sl_engine *e, enum sl_entry_kind kind, uint64_t id);
void sl_engine__begin(struct sl_conn *c);   /* a query runs on C: the watcher looks after it */
void sl_engine__end(struct sl_conn *c);

/* ---- rows.c, functions.c: our functions, at open ---- */
int sl_engine__register_rows(struct sl_engine *e, duckdb_connection c, sl_err *err);
int sl_engine__register_functions(struct sl_engine *e, duckdb_connection c, sl_err *err);

/* ---- type.c ---- */
int sl_engine__type(const struct sl_type *t, duckdb_logical_type *out, sl_err *err);
void sl_engine__type_sql(struct sl_buf *out, duckdb_logical_type t);

/* ---- vector.c: our vectors over DuckDB's ---- */
/* Make the tree of vectors for T once; memory from A. */
int sl_engine__vector_init(struct sl_arena *a, struct sl_vector *v, const struct sl_type *t, sl_err *err);
void sl_engine__vector_bind(struct sl_vector *v, duckdb_vector duck, size_t cap); /* to empty rows */
void sl_engine__vector_view(struct sl_vector *v, duckdb_vector duck, size_t rows); /* to filled rows, entries of lists too */
int sl_engine__vector_finish(struct sl_vector *v, sl_err *err);                  /* after the last row: sizes of lists */

/* ---- result.c ---- */
struct sl_column {
    char *name, *type_sql;      /* owned */
    duckdb_type type, internal; /* internal: of DECIMAL and ENUM */
    duckdb_vector vector;       /* of the current chunk */
    const void *data;
    const uint64_t *validity;
};
struct sl_result {
    struct sl_conn *conn;       /* borrowed */
    duckdb_prepared_statement prepared;
    duckdb_result duck;
    duckdb_data_chunk chunk;
    struct sl_column *cols;
    size_t ncols, shift;
    bool has_rows, open, running, text;
    struct sl_arena cells;      /* texts made for the current rows */
};
/* The vector of column COL in the current rows: for nested values. */
duckdb_vector sl_result__vector(const struct sl_result *r, size_t col);

#endif
