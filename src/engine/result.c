/* Reading the rows of a query. */
#include <math.h>
#include <string.h>

#include "data/value.h"
#include "engine/engine_priv.h"

size_t sl_result_ncols(const struct sl_result *r)
{
    return r->ncols;
}

const char *sl_result_name(const struct sl_result *r, size_t col)
{
    return r->cols[col].name;
}

const char *sl_result_type_sql(const struct sl_result *r, size_t col)
{
    return r->cols[col].type_sql;
}

bool sl_result_has_rows(const struct sl_result *r)
{
    return r->has_rows;
}

duckdb_vector sl_result__vector(const struct sl_result *r, size_t col)
{
    return r->cols[col].vector;
}

static void bind_column(struct sl_column *col, duckdb_vector vector)
{
    duckdb_logical_type t = duckdb_vector_get_column_type(vector);

    col->vector = vector;
    col->data = duckdb_vector_get_data(vector);
    col->validity = duckdb_vector_get_validity(vector);
    col->type = duckdb_get_type_id(t);
    duckdb_destroy_logical_type(&t);
}

/* The statement has run to its end or failed. */
static void stopped(struct sl_result *r)
{
    if (r->running)
        sl_engine__end(r->conn);
    r->running = false;
}

int sl_result_next(struct sl_result *r, size_t *rows, sl_err *err)
{
    const char *message;

    *rows = 0;
    sl_arena_reset(&r->cells);
    duckdb_destroy_data_chunk(&r->chunk);
    if (!r->open || !r->running)
        return SL_OK;
    do {
        duckdb_destroy_data_chunk(&r->chunk);
        r->chunk = duckdb_fetch_chunk(r->duck);
    } while (r->chunk && duckdb_data_chunk_get_size(r->chunk) == 0 && !sl_cancelled());
    if (sl_cancelled()) {
        stopped(r);
        return sl_cancel_check(err);
    }
    if (!r->chunk) {
        stopped(r);
        message = duckdb_result_error(&r->duck);
        return message && *message ? sl_engine__error(r->conn->engine, message, r->shift, err) : SL_OK;
    }
    for (size_t i = 0; i < r->ncols && i < duckdb_data_chunk_get_column_count(r->chunk); i++)
        bind_column(&r->cols[i], duckdb_data_chunk_get_vector(r->chunk, i));
    *rows = duckdb_data_chunk_get_size(r->chunk);
    return SL_OK;
}

bool sl_result_null(const struct sl_result *r, size_t col, size_t row)
{
    const uint64_t *v = r->cols[col].validity;

    return !r->cols[col].vector || (v && !(v[row / 64] >> (row % 64) & 1));
}

static int64_t clamp(sl_i128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static sl_i128 integer(const struct sl_column *c, size_t row)
{
    sl_i128 wide;

    switch (c->type) {
    case DUCKDB_TYPE_BOOLEAN: case DUCKDB_TYPE_UTINYINT: return ((const uint8_t *)c->data)[row];
    case DUCKDB_TYPE_TINYINT: return ((const int8_t *)c->data)[row];
    case DUCKDB_TYPE_SMALLINT: return ((const int16_t *)c->data)[row];
    case DUCKDB_TYPE_USMALLINT: return ((const uint16_t *)c->data)[row];
    case DUCKDB_TYPE_INTEGER: case DUCKDB_TYPE_DATE: return ((const int32_t *)c->data)[row];
    case DUCKDB_TYPE_UINTEGER: return ((const uint32_t *)c->data)[row];
    case DUCKDB_TYPE_UBIGINT: return ((const uint64_t *)c->data)[row];
    case DUCKDB_TYPE_BIGINT: case DUCKDB_TYPE_TIME: case DUCKDB_TYPE_TIMESTAMP: case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS: case DUCKDB_TYPE_TIMESTAMP_NS: case DUCKDB_TYPE_TIMESTAMP_TZ:
        return ((const int64_t *)c->data)[row];
    case DUCKDB_TYPE_HUGEINT: memcpy(&wide, (const char *)c->data + row * sizeof wide, sizeof wide); return wide; /* aligned to 8 bytes only */
    default: return 0;
    }
}

int64_t sl_result_i64(const struct sl_result *r, size_t col, size_t row)
{
    return sl_result_null(r, col, row) ? 0 : clamp(integer(&r->cols[col], row));
}

double sl_result_f64(const struct sl_result *r, size_t col, size_t row)
{
    const struct sl_column *c = &r->cols[col];

    if (sl_result_null(r, col, row))
        return 0;
    if (c->type == DUCKDB_TYPE_DOUBLE)
        return ((const double *)c->data)[row];
    if (c->type == DUCKDB_TYPE_FLOAT)
        return ((const float *)c->data)[row];
    return (double)integer(c, row);
}

/* For statements that cannot be wrapped into casts: what they give is text, counts and flags. */
static sl_str rendered(const struct sl_result *r, const struct sl_column *c, size_t row)
{
    struct sl_arena *a = (struct sl_arena *)&r->cells; /* a cache, not part of the value */

    if (c->type == DUCKDB_TYPE_BOOLEAN)
        return sl_str_c(integer(c, row) ? "true" : "false");
    if (c->type == DUCKDB_TYPE_DOUBLE || c->type == DUCKDB_TYPE_FLOAT)
        return sl_str_c(sl_arena_printf(a, "%.17g", c->type == DUCKDB_TYPE_DOUBLE ? ((const double *)c->data)[row]
                                                                                 : (double)((const float *)c->data)[row]));
    return sl_str_c(sl_arena_printf(a, "%lld", (long long)clamp(integer(c, row))));
}

sl_str sl_result_str(const struct sl_result *r, size_t col, size_t row)
{
    const struct sl_column *c = &r->cols[col];

    if (sl_result_null(r, col, row))
        return (sl_str){"", 0};
    if (c->type == DUCKDB_TYPE_VARCHAR || c->type == DUCKDB_TYPE_BLOB) {
        const union sl_string_cell *cell = (const union sl_string_cell *)c->data + row;

        return (sl_str){cell->near.n <= sizeof cell->near.bytes ? cell->near.bytes : cell->far.p, cell->near.n};
    }
    return r->text ? rendered(r, c, row) : (sl_str){"", 0};
}

int sl_result_vectors(struct sl_result *r, size_t from, const struct sl_field *fields, size_t n, struct sl_arena *a,
                      struct sl_vector **vectors, sl_err *err)
{
    if (from + n > r->ncols)
        return sl_err_set(err, SL_EBUG, "a query of %zu columns is read as one of %zu", r->ncols, from + n);
    if (!*vectors) {
        struct sl_vector *v = sl_arena_array(a, n ? n : 1, sizeof *v);

        if (!v)
            return sl_err_nomem(err);
        for (size_t i = 0; i < n; i++)
            SL_TRY(sl_engine__vector_init(a, &v[i], fields[i].type, err));
        *vectors = v;
    }
    for (size_t i = 0; i < n; i++)
        sl_engine__vector_view(&(*vectors)[i], r->cols[from + i].vector, duckdb_data_chunk_get_size(r->chunk));
    return SL_OK;
}

void sl_result_free(struct sl_result *r)
{
    if (!r)
        return;
    duckdb_destroy_data_chunk(&r->chunk);
    if (r->open)
        duckdb_destroy_result(&r->duck);
    stopped(r);
    duckdb_destroy_prepare(&r->prepared);
    for (size_t i = 0; i < r->ncols; i++) {
        sl_free(r->cols[i].name);
        sl_free(r->cols[i].type_sql);
    }
    sl_free(r->cols);
    sl_arena_release(&r->cells);
    sl_free(r);
}
