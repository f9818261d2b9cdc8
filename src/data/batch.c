#include "data/batch.h"

#include <string.h>

#include "base/mem.h"
#include "data/value.h"

enum { ROWS_CAP = 2048 }; /* as many as the engine's vectors hold */

struct list_entry {
    uint64_t offset, length;
};

_Static_assert(sizeof(union sl_string_cell) == 16, "cells are 16 bytes");

static bool is_list(const struct sl_vector *v)
{
    return v->type->kind == SL_ARRAY || v->type->kind == SL_MAP;
}

int sl_vector_set_null(struct sl_vector *v, size_t row, sl_err *err)
{
    if (!v->validity)
        SL_TRY(v->ops->make_validity(v, err));
    v->validity[row / 64] &= ~(UINT64_C(1) << (row % 64));
    if (is_list(v))
        ((struct list_entry *)v->data)[row] = (struct list_entry){v->list_used, 0};
    if (v->type->kind == SL_ROW)
        for (size_t i = 0; i < v->nchildren; i++)
            SL_TRY(sl_vector_set_null(&v->children[i], row, err));
    return SL_OK;
}

void sl_vector_set_decimal(struct sl_vector *v, size_t row, sl_i128 value)
{
    if (v->type->precision <= 4)
        ((int16_t *)v->data)[row] = (int16_t)value;
    else if (v->type->precision <= 9)
        ((int32_t *)v->data)[row] = (int32_t)value;
    else if (v->type->precision <= 18)
        ((int64_t *)v->data)[row] = (int64_t)value;
    else
        memcpy((char *)v->data + row * sizeof value, &value, sizeof value); /* the engine aligns them to 8 bytes only */
}

sl_i128 sl_vector_decimal(const struct sl_vector *v, size_t row)
{
    sl_i128 value;

    if (v->type->precision <= 4)
        return ((const int16_t *)v->data)[row];
    if (v->type->precision <= 9)
        return ((const int32_t *)v->data)[row];
    if (v->type->precision <= 18)
        return ((const int64_t *)v->data)[row];
    memcpy(&value, (const char *)v->data + row * sizeof value, sizeof value);
    return value;
}

int sl_vector_put_bytes(struct sl_vector *v, size_t row, sl_str bytes, sl_err *err)
{
    union sl_string_cell *cell = (union sl_string_cell *)v->data + row;
    size_t bad;

    if ((v->type->kind == SL_VARCHAR || v->type->kind == SL_CHAR) && !sl_utf8_valid(bytes, &bad))
        return sl_err_set(err, SL_EINPUT, "text is not UTF-8 at byte %zu of %zu", bad, bytes.n);
    if (bytes.n > sizeof cell->near.bytes)
        return v->ops->put_far(v, row, bytes, err);
    memset(cell, 0, sizeof *cell); /* the engine compares the unused bytes too */
    cell->near.n = (uint32_t)bytes.n;
    if (bytes.n)
        memcpy(cell->near.bytes, bytes.p, bytes.n);
    return SL_OK;
}

void sl_vector_list_begin(struct sl_vector *v, size_t row)
{
    ((struct list_entry *)v->data)[row] = (struct list_entry){v->list_used, 0};
}

int sl_vector_list_put(struct sl_vector *v, size_t *index, sl_err *err)
{
    size_t want;

    if (v->list_used >= v->children[0].cap) {
        want = v->children[0].cap ? v->children[0].cap * 2 : ROWS_CAP;
        SL_TRY(v->ops->reserve(v, want, err));
    }
    *index = v->list_used++;
    return SL_OK;
}

void sl_vector_list_end(struct sl_vector *v, size_t row)
{
    struct list_entry *e = (struct list_entry *)v->data + row;

    e->length = v->list_used - e->offset;
}

bool sl_vector_is_null(const struct sl_vector *v, size_t row)
{
    return v->validity && !(v->validity[row / 64] >> (row % 64) & 1);
}

sl_str sl_vector_bytes(const struct sl_vector *v, size_t row)
{
    const union sl_string_cell *cell = (const union sl_string_cell *)v->data + row;

    return (sl_str){cell->near.n <= sizeof cell->near.bytes ? cell->near.bytes : cell->far.p, cell->near.n};
}

void sl_vector_list_get(const struct sl_vector *v, size_t row, size_t *from, size_t *n)
{
    const struct list_entry *e = (const struct list_entry *)v->data + row;

    *from = e->offset;
    *n = e->length;
}

/* ---- a batch in plain memory ---- */

struct plain {
    struct sl_batch batch;
    struct sl_arena arena;  /* vectors */
    struct sl_arena bytes;  /* of the rows; emptied by reset */
};

static size_t cell_size(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: case SL_TINYINT: return 1;
    case SL_SMALLINT: return 2;
    case SL_INT: case SL_FLOAT: case SL_DATE: return 4;
    case SL_BIGINT: case SL_DOUBLE: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: return 8;
    case SL_DECIMAL: return t->precision <= 4 ? 2 : t->precision <= 9 ? 4 : t->precision <= 18 ? 8 : 16;
    case SL_CHAR: case SL_VARCHAR: case SL_BINARY: case SL_VARBINARY: return sizeof(union sl_string_cell);
    case SL_ARRAY: case SL_MAP: return sizeof(struct list_entry);
    default: return 0;
    }
}

static int plain_put_far(struct sl_vector *v, size_t row, sl_str bytes, sl_err *err)
{
    struct plain *p = v->handle;
    union sl_string_cell *cell = (union sl_string_cell *)v->data + row;
    sl_str copy = sl_arena_str(&p->bytes, bytes);

    if (!copy.p)
        return sl_err_nomem(err);
    if (bytes.n > UINT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a value of %zu bytes is too long", bytes.n);
    cell->near.n = (uint32_t)bytes.n;
    memcpy(cell->far.prefix, copy.p, sizeof cell->far.prefix);
    cell->far.p = copy.p;
    return SL_OK;
}

static int plain_validity(struct sl_vector *v, sl_err *err)
{
    struct plain *p = v->handle;
    size_t bytes = (v->cap + 63) / 64 * 8;

    v->validity = sl_arena_alloc(&p->arena, bytes);
    if (!v->validity)
        return sl_err_nomem(err);
    memset(v->validity, 0xFF, bytes);
    return SL_OK;
}

/* Gives V and, for a ROW, its members room for N rows; keeps what is there. */
static int plain_grow(struct sl_vector *v, size_t n, sl_err *err)
{
    struct plain *p = v->handle;
    size_t size = cell_size(v->type), old = v->cap;
    void *data = size ? sl_arena_array(&p->arena, n, size) : NULL;
    uint64_t *validity = v->validity;

    if (size && !data)
        return sl_err_nomem(err);
    if (size && old)
        memcpy(data, v->data, old * size);
    v->data = data;
    v->cap = n;
    if (validity) {
        SL_TRY(plain_validity(v, err));
        memcpy(v->validity, validity, old / 8);
    }
    if (v->type->kind == SL_ROW)
        for (size_t i = 0; i < v->nchildren; i++)
            SL_TRY(plain_grow(&v->children[i], n, err));
    return SL_OK;
}

static int plain_reserve(struct sl_vector *v, size_t n, sl_err *err)
{
    for (size_t i = 0; i < v->nchildren; i++)
        SL_TRY(plain_grow(&v->children[i], n, err));
    return SL_OK;
}

static const struct sl_vector_ops plain_ops = {plain_put_far, plain_validity, plain_reserve};

static int plain_init(struct plain *p, struct sl_vector *v, const struct sl_type *t, size_t cap, sl_err *err)
{
    const struct sl_type *child[2] = {t->kind == SL_MAP ? t->key : t->element, t->value};

    *v = (struct sl_vector){.type = t, .ops = &plain_ops, .handle = p, .wanted = true};
    v->nchildren = t->kind == SL_ARRAY ? 1 : t->kind == SL_MAP ? 2 : t->kind == SL_ROW ? t->nfields : 0;
    if (v->nchildren && !(v->children = sl_arena_array(&p->arena, v->nchildren, sizeof *v->children)))
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->nchildren; i++)
        SL_TRY(plain_init(p, &v->children[i], t->kind == SL_ROW ? t->fields[i].type : child[i], 0, err));
    return cap ? plain_grow(v, cap, err) : SL_OK;
}

int sl_batch_new(const struct sl_field *fields, size_t n, struct sl_batch **out, sl_err *err)
{
    int rc = SL_OK;
    struct plain *p = sl_calloc(1, sizeof *p);

    if (!p)
        return sl_err_nomem(err);
    p->batch.cap = ROWS_CAP;
    p->batch.ncols = n;
    p->batch.cols = sl_arena_array(&p->arena, n ? n : 1, sizeof *p->batch.cols);
    if (!p->batch.cols)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        SL_GO(plain_init(p, &p->batch.cols[i], fields[i].type, ROWS_CAP, err));
    *out = &p->batch;
    p = NULL;
done:
    sl_batch_free(p ? &p->batch : NULL);
    return rc;
}

static void plain_reset(struct sl_vector *v)
{
    v->validity = NULL;
    v->list_used = 0;
    for (size_t i = 0; i < v->nchildren; i++)
        plain_reset(&v->children[i]);
}

void sl_batch_reset(struct sl_batch *b)
{
    struct plain *p = (struct plain *)b;

    for (size_t i = 0; i < b->ncols; i++)
        plain_reset(&b->cols[i]);
    sl_arena_reset(&p->bytes);
    b->rows = 0;
}

void sl_batch_free(struct sl_batch *b)
{
    struct plain *p = (struct plain *)b;

    if (!p)
        return;
    sl_arena_release(&p->bytes);
    sl_arena_release(&p->arena);
    sl_free(p);
}
