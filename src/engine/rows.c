/* sluice_rows(id): tables made by row sources. */
#include "engine/rows.h"

#include <string.h>

#include "engine/engine_priv.h"

/* One scan: which columns of the source stand where in DuckDB's chunk. */
struct scan {
    struct sl_engine *engine;
    const struct sl_row_source *src;
    void *self;                 /* of the scan, else of the source */
    void (*close)(void *scan);  /* NULL: nothing to close. Kept here, since the source may be gone by then */
    size_t n;
    size_t column[];            /* of the source */
};

/* One thread's part of a scan. */
struct part {
    const struct sl_row_source *src;
    struct sl_arena arena;
    struct sl_batch batch;
    void *self;                 /* as the scan's */
    void *local;
    bool opened;
    void (*close)(void *self, void *local); /* as the scan's */
};

int sl_rows_register(struct sl_engine *e, const struct sl_row_source *src, uint64_t *id, sl_err *err)
{
    struct sl_row_source *copy = sl_malloc(sizeof *copy);
    int rc;

    if (!copy)
        return sl_err_nomem(err);
    *copy = *src;
    rc = sl_engine__register(e, SL_ENTRY_ROWS, copy, id, err);
    if (rc)
        sl_free(copy);
    return rc;
}

void sl_rows_unregister(struct sl_engine *e, uint64_t id)
{
    sl_free(sl_engine__unregister(e, id));
}

static void bind_rows(duckdb_bind_info info)
{
    struct sl_engine *e = duckdb_bind_get_extra_info(info);
    duckdb_value v = duckdb_bind_get_parameter(info, 0);
    uint64_t id = (uint64_t)duckdb_get_int64(v);
    struct sl_row_source *src = sl_engine__find(e, SL_ENTRY_ROWS, id);
    char text[300];

    duckdb_destroy_value(&v);
    if (!src) {
        snprintf(text, sizeof text, "there is no row source %llu", (unsigned long long)id);
        duckdb_bind_set_error(info, text);
        return;
    }
    for (size_t i = 0; i < src->nfields; i++) {
        sl_err err = SL_ERR_INIT;
        duckdb_logical_type t = NULL;

        if (sl_engine__type(src->fields[i].type, &t, &err) != SL_OK) {
            sl_engine__stash(e, &err, text, sizeof text);
            duckdb_bind_set_error(info, text);
            return;
        }
        duckdb_bind_add_result_column(info, src->fields[i].name, t);
        duckdb_destroy_logical_type(&t);
    }
    if (src->rows_hint >= 0)
        duckdb_bind_set_cardinality(info, (idx_t)src->rows_hint, false);
    duckdb_bind_set_bind_data(info, src, NULL);
}

static void scan_free(void *user)
{
    struct scan *s = user;

    if (s->close)
        s->close(s->self);
    sl_free(s);
}

static int scan_begin(struct scan *s, sl_err *err)
{
    s->self = s->src->self;
    if (!s->src->scan_open)
        return SL_OK;
    SL_TRY(s->src->scan_open(s->src->self, &s->self, err));
    s->close = s->src->scan_close;
    return SL_OK;
}

static void init(duckdb_init_info info)
{
    const struct sl_row_source *src = duckdb_init_get_bind_data(info);
    size_t n = duckdb_init_get_column_count(info);
    struct scan *s = sl_calloc(1, sizeof *s + n * sizeof s->column[0]);
    sl_err err = SL_ERR_INIT;
    char text[300];

    if (!s) {
        duckdb_init_set_error(info, "Out of Memory");
        return;
    }
    s->engine = duckdb_init_get_extra_info(info);
    s->src = src;
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->column[i] = duckdb_init_get_column_index(info, i);
    if (scan_begin(s, &err) != SL_OK) {
        sl_engine__stash(s->engine, &err, text, sizeof text);
        duckdb_init_set_error(info, text);
        sl_free(s);
        return;
    }
    duckdb_init_set_init_data(info, s, scan_free);
    duckdb_init_set_max_threads(info, src->max_threads ? src->max_threads : 1);
}

static void part_free(void *user)
{
    struct part *p = user;

    if (p->close)
        p->close(p->self, p->local);
    sl_arena_release(&p->arena);
    sl_free(p);
}

static void local_init(duckdb_init_info info)
{
    const struct sl_row_source *src = duckdb_init_get_bind_data(info);
    struct sl_engine *e = duckdb_init_get_extra_info(info);
    struct part *p = sl_calloc(1, sizeof *p);
    sl_err err = SL_ERR_INIT;
    int rc = SL_OK;

    if (!p)
        SL_GOTO_NOMEM(&err);
    p->src = src;
    p->batch.ncols = src->nfields;
    p->batch.cols = sl_arena_array(&p->arena, src->nfields, sizeof *p->batch.cols);
    if (!p->batch.cols && src->nfields)
        SL_GOTO_NOMEM(&err);
    for (size_t i = 0; i < src->nfields; i++)
        SL_GO(sl_engine__vector_init(&p->arena, &p->batch.cols[i], src->fields[i].type, &err));
done:
    if (rc) {
        char text[300];

        sl_engine__stash(e, &err, text, sizeof text);
        duckdb_init_set_error(info, text);
        if (p)
            part_free(p);
        return;
    }
    duckdb_init_set_init_data(info, p, part_free);
}

static int fill(const struct scan *s, struct part *p, duckdb_data_chunk out, sl_err *err)
{
    size_t cap = duckdb_vector_size();

    if (!p->opened) {
        p->self = s->self;
        if (s->src->local_open)
            SL_TRY(s->src->local_open(p->self, &p->local, err));
        p->close = s->src->local_close;
        p->opened = true;
    }
    p->batch.cap = cap;
    p->batch.rows = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->column[i] < p->batch.ncols)
            sl_engine__vector_bind(&p->batch.cols[s->column[i]], duckdb_data_chunk_get_vector(out, i), cap);
    SL_TRY(s->src->fill(p->self, p->local, &p->batch, err));
    if (p->batch.rows > cap)
        return sl_err_set(err, SL_EBUG, "a row source gave %zu rows where %zu fit", p->batch.rows, cap);
    for (size_t i = 0; i < s->n; i++)
        if (s->column[i] < p->batch.ncols)
            SL_TRY(sl_engine__vector_finish(&p->batch.cols[s->column[i]], err));
    duckdb_data_chunk_set_size(out, p->batch.rows);
    return SL_OK;
}

static void produce(duckdb_function_info info, duckdb_data_chunk out)
{
    const struct scan *s = duckdb_function_get_init_data(info);
    struct part *p = duckdb_function_get_local_init_data(info);
    sl_err err = SL_ERR_INIT;
    char text[sizeof err.text + 64];

    if (fill(s, p, out, &err) == SL_OK)
        return;
    duckdb_data_chunk_set_size(out, 0);
    sl_engine__stash(s->engine, &err, text, sizeof text);
    duckdb_function_set_error(info, text);
}

int sl_engine__register_rows(struct sl_engine *e, duckdb_connection c, sl_err *err)
{
    duckdb_table_function f = duckdb_create_table_function();
    duckdb_logical_type bigint = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
    duckdb_state state;

    duckdb_table_function_set_name(f, "sluice_rows");
    duckdb_table_function_add_parameter(f, bigint);
    duckdb_table_function_set_extra_info(f, e, NULL);
    duckdb_table_function_set_bind(f, bind_rows);
    duckdb_table_function_set_init(f, init);
    duckdb_table_function_set_local_init(f, local_init);
    duckdb_table_function_set_function(f, produce);
    duckdb_table_function_supports_projection_pushdown(f, true);
    state = duckdb_register_table_function(c, f);
    duckdb_destroy_logical_type(&bigint);
    duckdb_destroy_table_function(&f);
    return state == DuckDBSuccess ? SL_OK : sl_err_set(err, SL_EBUG, "DuckDB does not take the function sluice_rows");
}
