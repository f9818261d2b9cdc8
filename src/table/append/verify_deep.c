/* verify_deep.c - every row of a data file: real least and greatest values and null counts against the statistics. */
#include "table/append/verify_priv.h"

#include <stdio.h>
#include <string.h>

#include "engine/parquet.h"

enum shape { SHAPE_NONE, SHAPE_INT, SHAPE_FLOAT, SHAPE_TEXT, SHAPE_BYTES, SHAPE_DECIMAL, SHAPE_MICROS };

/* How least and greatest values of a type are asked for; NONE: only nulls are counted, and the values are read. */
static enum shape shape_of(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_BIGINT: case SL_DATE:
        return SHAPE_INT;
    case SL_FLOAT: case SL_DOUBLE:
        return SHAPE_FLOAT;
    case SL_CHAR: case SL_VARCHAR:
        return SHAPE_TEXT;
    case SL_BINARY: case SL_VARBINARY:
        return SHAPE_BYTES;
    case SL_DECIMAL:
        return SHAPE_DECIMAL;
    case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ:
        return t->precision <= 6 ? SHAPE_MICROS : SHAPE_NONE;
    default:
        return SHAPE_NONE;
    }
}

/* Three columns of the result for each column of the file: count, least, greatest. */
static void select_column(struct sl_buf *sql, const char *name, const struct sl_type *t)
{
    struct sl_buf column = SL_BUF_INIT;
    const char *c;

    sl_buf_sql_ident(&column, sl_str_c(name));
    c = column.failed ? "" : column.p;
    sl_buf_printf(sql, ", count(%s)", c);
    switch (shape_of(t)) {
    case SHAPE_INT:
        if (t->kind == SL_DATE)
            sl_buf_printf(sql, ", min(%s), max(%s)", c, c);
        else
            sl_buf_printf(sql, ", min(%s)::BIGINT, max(%s)::BIGINT", c, c);
        break;
    case SHAPE_FLOAT:
        sl_buf_printf(sql, ", (min(%s) FILTER (NOT isnan(%s)))::DOUBLE, (max(%s) FILTER (NOT isnan(%s)))::DOUBLE", c, c, c, c);
        break;
    case SHAPE_TEXT:
        sl_buf_printf(sql, ", min(%s::VARCHAR), max(%s::VARCHAR)", c, c);
        break;
    case SHAPE_BYTES:
        sl_buf_printf(sql, ", min(%s::BLOB), max(%s::BLOB)", c, c);
        break;
    case SHAPE_DECIMAL:
        sl_buf_printf(sql, ", min(%s)::VARCHAR, max(%s)::VARCHAR", c, c);
        break;
    case SHAPE_MICROS:
        sl_buf_printf(sql, ", epoch_us(min(%s)), epoch_us(max(%s))", c, c);
        break;
    case SHAPE_NONE:
        sl_buf_printf(sql, ", bit_xor(hash(%s)) = 0, NULL", c);
        break;
    }
    if (column.failed)
        sql->failed = true;
    sl_buf_release(&column);
}

static bool real_value(struct sl_verify *v, const struct sl_result *r, size_t col, const struct sl_type *t, struct sl_value *out)
{
    *out = (struct sl_value){.kind = t->kind, .null = sl_result_null(r, col, 0)};
    if (out->null)
        return false;
    switch (shape_of(t)) {
    case SHAPE_INT:
        if (t->kind == SL_BOOLEAN)
            out->u.b = sl_result_i64(r, col, 0) != 0;
        else
            out->u.i = sl_result_i64(r, col, 0);
        return true;
    case SHAPE_FLOAT:
        out->u.f = sl_result_f64(r, col, 0);
        return true;
    case SHAPE_TEXT: case SHAPE_BYTES:
        out->u.s = sl_result_str(r, col, 0);
        return true;
    case SHAPE_DECIMAL:
        return sl_value_from_text(&v->arena, t, sl_result_str(r, col, 0), out);
    case SHAPE_MICROS: {
        int64_t us = sl_result_i64(r, col, 0), ms = us / 1000 - (us % 1000 < 0);

        out->u.t.ms = ms;
        out->u.t.ns = (int32_t)(us - ms * 1000) * 1000;
        return true;
    }
    case SHAPE_NONE:
        return false;
    }
    return false;
}

static void shown(const struct sl_type *t, const struct sl_value *v, char out[100])
{
    struct sl_buf text = SL_BUF_INIT;

    sl_value_text(&text, t, v);
    snprintf(out, 100, "%.60s%s", text.p ? text.p : "?", text.n > 60 ? "..." : "");
    sl_buf_release(&text);
}

struct column {
    const char *name;
    const struct sl_type *type;
    int64_t rows, count;
    struct sl_value min, max;
    bool has_min, has_max;
};

static int compare_stats(struct sl_verify *v, const struct vfile *f, const struct column *c, const struct sl_col_stats *s)
{
    char said[100], real[100];

    if (s->has_nulls && s->null_count != c->rows - c->count)
        SL_TRY(sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "column \"%s\" has %lld nulls, where its statistics say %lld",
                                c->name, (long long)(c->rows - c->count), (long long)s->null_count));
    if (!s->has_bounds)
        return SL_OK;
    if (c->has_min && sl_value_cmp(&s->min, &c->min) > 0) {
        shown(c->type, &s->min, said);
        shown(c->type, &c->min, real);
        SL_TRY(sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "column \"%s\" goes down to %s, where its statistics say %s",
                                c->name, real, said));
    }
    if (c->has_max && sl_value_cmp(&s->max, &c->max) < 0) {
        shown(c->type, &s->max, said);
        shown(c->type, &c->max, real);
        SL_TRY(sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "column \"%s\" goes up to %s, where its statistics say %s",
                                c->name, real, said));
    }
    return SL_OK;
}

/* A partition column must hold nothing but the partition's value. */
static int compare_partition(struct sl_verify *v, const struct vfile *f, const struct column *c, const struct sl_value *want)
{
    char said[100], real[100] = "NULL";
    bool same = want->null ? c->count == 0
                           : c->count == c->rows && c->has_min && c->has_max && sl_value_cmp(&c->min, want) == 0 &&
                                 sl_value_cmp(&c->max, want) == 0;

    if (same || c->rows == 0 || shape_of(c->type) == SHAPE_NONE)
        return SL_OK;
    shown(c->type, want, said);
    if (c->has_min)
        shown(c->type, sl_value_cmp(&c->min, want) == 0 && c->has_max ? &c->max : &c->min, real);
    return sl_verify__found(v, SL_VERIFY_PARTITION_VALUE, f->path, NULL, "column \"%s\" holds %s in a file of the partition %s",
                            c->name, real, said);
}

static const struct sl_value *partition_value(const struct sl_append *t, const struct sl_value *values, const char *name)
{
    for (size_t i = 0; i < t->schema->npartition; i++)
        if (strcmp(t->schema->partition_keys[i], name) == 0)
            return &values[i];
    return NULL;
}

struct deep {
    struct sl_verify *v;
    const struct vfile *f;
    const char **names;
    const struct sl_type **types;
    size_t n;
    const char **stats_names;     /* the columns with statistics */
    const struct sl_type **stats_types;
    size_t nstats;
};

static bool stats_of(const struct deep *d, const char *name, struct sl_col_stats *out)
{
    for (size_t i = 0; i < d->nstats; i++)
        if (strcmp(d->stats_names[i], name) == 0)
            return sl_stats_column(&d->f->entry.file.value_stats, d->stats_types, d->nstats, i, out);
    return false;
}

static int compare(struct deep *d, const struct sl_result *r, sl_err *err)
{
    struct sl_value partition[64];
    int64_t rows = sl_result_i64(r, 0, 0);

    if (rows != d->f->entry.file.row_count)
        SL_TRY(sl_verify__found(d->v, SL_VERIFY_ROWS, d->f->path, NULL, "it has %lld rows, where its entry says %lld",
                                (long long)rows, (long long)d->f->entry.file.row_count));
    if (d->v->t->npartition > 64)
        return SL_OK;
    SL_TRY(sl_append_partition(d->v->t, d->f->entry.partition, partition, err));
    for (size_t i = 0; i < d->n; i++) {
        struct column c = {.name = d->names[i], .type = d->types[i], .rows = rows, .count = sl_result_i64(r, 1 + i * 3, 0)};
        const struct sl_value *want = partition_value(d->v->t, partition, c.name);
        struct sl_col_stats s = {0};

        c.has_min = real_value(d->v, r, 2 + i * 3, c.type, &c.min);
        c.has_max = real_value(d->v, r, 3 + i * 3, c.type, &c.max);
        if (stats_of(d, c.name, &s))
            SL_TRY(compare_stats(d->v, d->f, &c, &s));
        if (want)
            SL_TRY(compare_partition(d->v, d->f, &c, want));
    }
    return SL_OK;
}

/* Every reader finds columns by their exact names; a file without one is none of this schema. */
static int need_columns(struct deep *d, sl_str path, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    int rc = sl_parquet_columns(d->v->conn, path, &info, err);

    for (size_t i = 0; i < d->n && rc == SL_OK; i++) {
        bool present = false;

        for (size_t j = 0; j < info.n; j++)
            present = present || (info.v[j].depth == 0 && strcmp(info.v[j].name, d->names[i]) == 0);
        if (!present)
            rc = sl_err_set(err, SL_ECORRUPT, "it has no column \"%s\"", d->names[i]);
    }
    sl_parquet_info_release(&info);
    return rc;
}

static int query(struct deep *d, sl_str path, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *result = NULL;
    size_t rows;
    int rc;

    SL_GO(need_columns(d, path, err));
    sl_buf_addc(&sql, "SELECT count(*)");
    for (size_t i = 0; i < d->n; i++)
        select_column(&sql, d->names[i], d->types[i]);
    sl_buf_addc(&sql, " FROM read_parquet(");
    sl_buf_sql_string(&sql, path);
    sl_buf_addc(&sql, ", hive_partitioning = false)");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(d->v->conn, sl_buf_view(&sql), &result, err));
    SL_GO(sl_result_next(result, &rows, err));
    if (rows == 1)
        SL_GO(compare(d, result, err));
done:
    sl_result_free(result);
    sl_buf_release(&sql);
    return rc;
}

int sl_verify__deep(struct sl_verify *v, const struct vfile *f, sl_err *err)
{
    struct deep d = {.v = v, .f = f};
    struct sl_buf full = SL_BUF_INIT;
    sl_err why = SL_ERR_INIT;
    int rc;

    if (!f->table)
        return SL_OK;
    rc = sl_verify__columns(v, f, false, &d.names, &d.types, &d.n, &why);
    if (rc == SL_OK)
        rc = sl_verify__columns(v, f, true, &d.stats_names, &d.stats_types, &d.nstats, &why);
    if (rc != SL_OK && sl_verify__is_finding(rc))
        return SL_OK; /* reported with the statistics */
    if (rc == SL_OK)
        rc = sl_append_file_full(v->t, &f->entry, &full, &why);
    if (rc == SL_OK)
        rc = query(&d, sl_buf_view(&full), &why);
    sl_buf_release(&full);
    if (rc == SL_OK)
        return SL_OK;
    if (sl_verify__is_finding(rc))
        return sl_verify__found(v, SL_VERIFY_BAD_FILE, f->path, NULL, "%s", why.text);
    if (err)
        *err = why;
    return rc;
}
