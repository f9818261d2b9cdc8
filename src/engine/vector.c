/* Our vectors over DuckDB's memory. */
#include <string.h>

#include "data/value.h"
#include "engine/engine_priv.h"

_Static_assert(sizeof(duckdb_string_t) == sizeof(union sl_string_cell), "cells lie as DuckDB's");
_Static_assert(offsetof(union sl_string_cell, near.bytes) == 4 && offsetof(union sl_string_cell, far.p) == 8, "cells lie as DuckDB's");

/* Of DuckDB 1.5, and not in the older header: as duckdb_vector_assign_string_element_len, without a second look for UTF-8
 * (which would turn what is not into NULL). */
void duckdb_unsafe_vector_assign_string_element_len(duckdb_vector vector, idx_t index, const char *str, idx_t str_len);

static void rebind(struct sl_vector *v, duckdb_vector duck, size_t cap);

static int put_far(struct sl_vector *v, size_t row, sl_str bytes, sl_err *err)
{
    if (bytes.n > UINT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a value of %zu bytes is too long", bytes.n);
    duckdb_unsafe_vector_assign_string_element_len(v->handle, row, bytes.p, bytes.n);
    return SL_OK;
}

static int make_validity(struct sl_vector *v, sl_err *err)
{
    duckdb_vector_ensure_validity_writable(v->handle);
    v->validity = duckdb_vector_get_validity(v->handle);
    return v->validity ? SL_OK : sl_err_nomem(err);
}

static void rebind_children(struct sl_vector *v, size_t cap)
{
    duckdb_vector entries = duckdb_list_vector_get_child(v->handle);

    if (v->type->kind == SL_ARRAY)
        rebind(&v->children[0], entries, cap);
    for (size_t i = 0; v->type->kind == SL_MAP && i < 2; i++)
        rebind(&v->children[i], duckdb_struct_vector_get_child(entries, i), cap);
}

static int reserve(struct sl_vector *v, size_t n, sl_err *err)
{
    if (duckdb_list_vector_reserve(v->handle, n) != DuckDBSuccess)
        return sl_err_nomem(err);
    rebind_children(v, n);
    return SL_OK;
}

static const struct sl_vector_ops ops = {put_far, make_validity, reserve};

int sl_engine__vector_init(struct sl_arena *a, struct sl_vector *v, const struct sl_type *t, sl_err *err)
{
    const struct sl_type *child[2] = {t->kind == SL_MAP ? t->key : t->element, t->value};

    *v = (struct sl_vector){.type = t, .ops = &ops};
    v->nchildren = t->kind == SL_ARRAY ? 1 : t->kind == SL_MAP ? 2 : t->kind == SL_ROW ? t->nfields : 0;
    if (v->nchildren && !(v->children = sl_arena_array(a, v->nchildren, sizeof *v->children)))
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->nchildren; i++)
        SL_TRY(sl_engine__vector_init(a, &v->children[i], t->kind == SL_ROW ? t->fields[i].type : child[i], err));
    return SL_OK;
}

/* Renew the pointers; what the vector and its lists hold stays. */
static void rebind(struct sl_vector *v, duckdb_vector duck, size_t cap)
{
    v->handle = duck;
    v->wanted = true;
    v->data = duckdb_vector_get_data(duck);
    v->validity = duckdb_vector_get_validity(duck);
    v->cap = cap;
    if (v->type->kind == SL_ROW)
        for (size_t i = 0; i < v->nchildren; i++)
            rebind(&v->children[i], duckdb_struct_vector_get_child(duck, i), cap);
}

static void forget_entries(struct sl_vector *v)
{
    v->list_used = 0;
    for (size_t i = 0; i < v->nchildren; i++) {
        if (v->type->kind != SL_ROW)
            v->children[i].cap = 0; /* bound by the first reserve */
        forget_entries(&v->children[i]);
    }
}

void sl_engine__vector_bind(struct sl_vector *v, duckdb_vector duck, size_t cap)
{
    rebind(v, duck, cap);
    forget_entries(v);
}

void sl_engine__vector_view(struct sl_vector *v, duckdb_vector duck, size_t rows)
{
    duckdb_vector entries;
    size_t n;

    rebind(v, duck, rows);
    for (size_t i = 0; v->type->kind == SL_ROW && i < v->nchildren; i++)
        sl_engine__vector_view(&v->children[i], duckdb_struct_vector_get_child(duck, i), rows);
    if (v->type->kind != SL_ARRAY && v->type->kind != SL_MAP)
        return;
    n = v->list_used = duckdb_list_vector_get_size(duck);
    entries = duckdb_list_vector_get_child(duck);
    if (v->type->kind == SL_ARRAY)
        sl_engine__vector_view(&v->children[0], entries, n);
    for (size_t i = 0; v->type->kind == SL_MAP && i < 2; i++)
        sl_engine__vector_view(&v->children[i], duckdb_struct_vector_get_child(entries, i), n);
}

int sl_engine__vector_finish(struct sl_vector *v, sl_err *err)
{
    bool list = v->type->kind == SL_ARRAY || v->type->kind == SL_MAP;

    if (list && duckdb_list_vector_set_size(v->handle, v->list_used) != DuckDBSuccess)
        return sl_err_nomem(err);
    if (list && v->list_used == 0)
        return SL_OK; /* the children were never bound */
    for (size_t i = 0; i < v->nchildren; i++)
        SL_TRY(sl_engine__vector_finish(&v->children[i], err));
    return SL_OK;
}
