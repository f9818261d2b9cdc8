/* What a Parquet file's footer says. */
#include <string.h>

#include "engine/engine_priv.h"
#include "engine/parquet.h"

static int text(struct sl_arena *a, const struct sl_result *r, size_t col, size_t row, const char **out, sl_err *err)
{
    *out = sl_arena_strdup(a, sl_result_str(r, col, row));
    return *out ? SL_OK : sl_err_nomem(err);
}

static int32_t number(const struct sl_result *r, size_t col, size_t row, int32_t if_null)
{
    return sl_result_null(r, col, row) ? if_null : (int32_t)sl_result_i64(r, col, row);
}

enum { NAME, PHYSICAL, CONVERTED, LOGICAL, REPETITION, CHILDREN, FIELD_ID, LENGTH, PRECISION, SCALE };
#define SCHEMA_COLUMNS                                                                                                        \
    "SELECT name, type::VARCHAR, converted_type::VARCHAR, logical_type::VARCHAR, repetition_type::VARCHAR, "                  \
    "num_children::BIGINT, field_id::BIGINT, TRY_CAST(type_length AS BIGINT), \"precision\"::BIGINT, \"scale\"::BIGINT "      \
    "FROM parquet_schema("

static int take_node(struct sl_arena *a, const struct sl_result *r, size_t row, struct sl_parquet_node *n, sl_err *err)
{
    SL_TRY(text(a, r, NAME, row, &n->name, err));
    SL_TRY(text(a, r, PHYSICAL, row, &n->physical, err));
    SL_TRY(text(a, r, CONVERTED, row, &n->converted, err));
    SL_TRY(text(a, r, LOGICAL, row, &n->logical, err));
    SL_TRY(text(a, r, REPETITION, row, &n->repetition, err));
    n->nchildren = number(r, CHILDREN, row, 0);
    n->field_id = number(r, FIELD_ID, row, -1);
    n->type_length = number(r, LENGTH, row, 0);
    n->precision = number(r, PRECISION, row, 0);
    n->scale = number(r, SCALE, row, 0);
    return SL_OK;
}

/* From the order and the counts of children: how deep each node is. False if they do not fit. */
static bool set_depths(struct sl_parquet_node *v, size_t n, size_t *at, int32_t depth)
{
    if (*at >= n || depth > 100)
        return false;
    struct sl_parquet_node *node = &v[(*at)++];

    node->depth = depth;
    for (int32_t i = 0; i < node->nchildren; i++)
        if (!set_depths(v, n, at, depth + 1))
            return false;
    return true;
}

static int take_schema(struct sl_conn *c, struct sl_str path, struct sl_parquet_info *out, sl_err *err)
{
    int rc = SL_OK;
    SL_VEC(struct sl_parquet_node) nodes = {NULL, 0, 0};
    struct sl_result *r = NULL;
    struct sl_buf sql = SL_BUF_INIT;
    size_t rows, at = 1;

    sl_buf_addc(&sql, SCHEMA_COLUMNS);
    sl_buf_sql_string(&sql, path);
    sl_buf_ch(&sql, ')');
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(c, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            struct sl_parquet_node *n = sl_vec_push(&nodes);

            if (!n)
                SL_GOTO_NOMEM(err);
            SL_GO(take_node(&out->arena, r, i, n, err));
        }
    }
    while (at < nodes.n)
        if (!set_depths(nodes.v, nodes.n, &at, 0)) {
            rc = sl_err_set(err, SL_ECORRUPT, "the schema in the footer does not fit together");
            goto done;
        }
    out->n = nodes.n ? nodes.n - 1 : 0; /* without the root */
    out->v = sl_arena_array(&out->arena, out->n ? out->n : 1, sizeof *out->v);
    if (!out->v)
        SL_GOTO_NOMEM(err);
    if (out->n)
        memcpy(out->v, nodes.v + 1, out->n * sizeof *out->v);
done:
    sl_result_free(r);
    sl_free(nodes.v);
    sl_buf_release(&sql);
    return rc;
}

static int take_counts(struct sl_conn *c, sl_str path, struct sl_parquet_info *out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *r = NULL;
    struct sl_buf sql = SL_BUF_INIT;
    size_t rows;

    sl_buf_addc(&sql, "SELECT num_rows, num_row_groups, created_by FROM parquet_file_metadata(");
    sl_buf_sql_string(&sql, path);
    sl_buf_ch(&sql, ')');
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(c, sl_buf_view(&sql), &r, err));
    SL_GO(sl_result_next(r, &rows, err));
    if (rows != 1) {
        rc = sl_err_set(err, SL_ECORRUPT, "the footer cannot be read");
        goto done;
    }
    out->rows = (uint64_t)sl_result_i64(r, 0, 0);
    out->row_groups = (uint64_t)sl_result_i64(r, 1, 0);
    rc = text(&out->arena, r, 2, 0, &out->created_by, err);
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

int sl_parquet_columns(struct sl_conn *c, sl_str path, struct sl_parquet_info *out, sl_err *err)
{
    int rc;

    *out = (struct sl_parquet_info)SL_PARQUET_INFO_INIT;
    if (memchr(path.p, '*', path.n) || memchr(path.p, '?', path.n) || memchr(path.p, '[', path.n))
        return sl_err_set(err, SL_EUNSUPPORTED, "a path with *, ? or [ in it cannot be read by itself: \"" SL_STRF "\"", SL_STRV(path));
    rc = take_schema(c, path, out, err);
    if (rc == SL_OK)
        rc = take_counts(c, path, out, err);
    if (rc == SL_EINPUT || rc == SL_EFAIL) { /* DuckDB calls a damaged file an invalid input */
        rc = SL_ECORRUPT;
        if (err)
            err->code = rc;
    }
    if (rc) {
        sl_parquet_info_release(out);
        sl_err_ctx(err, "\"" SL_STRF "\"", SL_STRV(path));
    }
    return rc;
}

void sl_parquet_info_release(struct sl_parquet_info *i)
{
    sl_arena_release(&i->arena);
    *i = (struct sl_parquet_info)SL_PARQUET_INFO_INIT;
}

bool sl_parquet_pattern(struct sl_buf *out, sl_str path)
{
    bool special = false;

    for (size_t i = 0; i < path.n; i++) {
        if (memchr("*?[", path.p[i], 3)) {
            sl_buf_printf(out, "[%c]", path.p[i]);
            special = true;
        } else {
            sl_buf_ch(out, path.p[i]);
        }
    }
    return special;
}
