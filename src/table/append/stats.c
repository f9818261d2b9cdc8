/* stats.c - from the statistics of a Parquet writer to those of a manifest entry. */
#include "table/append/stats.h"

#include <string.h>

#include "base/sys.h"

enum mode { MODE_NONE, MODE_COUNTS, MODE_TRUNCATE, MODE_FULL };

static int parse_mode(const char *key, const char *text, enum mode *mode, size_t *length, sl_err *err)
{
    sl_str t = sl_str_trim(sl_str_c(text));
    int64_t n;

    *length = 16;
    if (sl_str_ieqc(t, "none"))
        *mode = MODE_NONE;
    else if (sl_str_ieqc(t, "counts"))
        *mode = MODE_COUNTS;
    else if (sl_str_ieqc(t, "full"))
        *mode = MODE_FULL;
    else if (t.n > 10 && sl_str_ieqc(sl_str_sub(t, 0, 9), "truncate(") && t.p[t.n - 1] == ')' &&
             sl_parse_i64(sl_str_trim(sl_str_sub(t, 9, t.n - 1)), &n) && n > 0 && n < INT32_MAX) {
        *mode = MODE_TRUNCATE;
        *length = (size_t)n;
    } else {
        return sl_err_set(err, SL_EINPUT, "option '%s' = '%s' is none of none, counts, truncate(n), full", key, text);
    }
    return SL_OK;
}

static int mode_of(const struct sl_schema *s, size_t column, enum mode *mode, size_t *length, sl_err *err)
{
    const char *text = NULL, *first = sl_schema_option(s, "metadata.stats-keep-first-n-columns");
    struct sl_buf key = SL_BUF_INIT;
    int64_t keep;
    int rc;

    sl_buf_printf(&key, "fields.%s.stats-mode", s->fields[column].name);
    if (!key.failed)
        text = sl_schema_option(s, key.p);
    if (!text) {
        sl_buf_reset(&key);
        sl_buf_addc(&key, "metadata.stats-mode");
        text = sl_schema_option(s, "metadata.stats-mode");
    }
    rc = sl_buf_ok(&key, err);
    if (rc == SL_OK)
        rc = parse_mode(key.p, text ? text : "truncate(16)", mode, length, err);
    if (rc == SL_OK && first && sl_parse_i64(sl_str_c(first), &keep) && keep >= 0 && column >= (size_t)keep)
        *mode = MODE_NONE;
    sl_buf_release(&key);
    return rc;
}

static const struct sl_parquet_stats *stats_of(const struct sl_parquet_file *f, const char *column)
{
    for (size_t i = 0; i < f->nstats; i++)
        if (!f->stats[i].nested && strcmp(f->stats[i].name, column) == 0)
            return &f->stats[i];
    return NULL;
}

static bool is_text(const struct sl_type *t)
{
    return t->kind == SL_CHAR || t->kind == SL_VARCHAR;
}

static bool is_bytes(const struct sl_type *t)
{
    return t->kind == SL_BINARY || t->kind == SL_VARBINARY;
}

/* Both bounds, or false: better none than a wrong one. */
static bool bounds(const struct sl_type *t, const struct sl_parquet_stats *st, enum mode mode, size_t length, struct sl_arena *a,
                   struct sl_value *min, struct sl_value *max)
{
    size_t bad;

    if (!sl_type_atomic(t) || !st->min.p || !st->max.p || st->has_nan)
        return false;
    if ((t->kind == SL_TIMESTAMP || t->kind == SL_TIMESTAMP_LTZ) && t->precision > 6)
        return false;
    if (is_text(t) && (!sl_utf8_valid(st->min, &bad) || !sl_utf8_valid(st->max, &bad)))
        return false;
    if (!sl_value_from_text(a, t, st->min, min) || !sl_value_from_text(a, t, st->max, max))
        return false;
    if (mode == MODE_TRUNCATE && (is_text(t) || is_bytes(t)))
        return sl_stats_truncate(a, is_text(t), length, min, max);
    return true;
}

int sl_file_stats(const struct sl_schema *s, const struct sl_parquet_file *f, struct sl_arena *a, struct sl_stats *out, sl_err *err)
{
    const struct sl_type **types = sl_arena_array(a, s->nfields + 1, sizeof *types);
    struct sl_value *min = sl_arena_array(a, s->nfields + 1, sizeof *min), *max = sl_arena_array(a, s->nfields + 1, sizeof *max);
    int64_t *counts = sl_arena_array(a, s->nfields + 1, sizeof *counts);
    struct sl_buf low = SL_BUF_INIT, high = SL_BUF_INIT;
    int rc = SL_OK;

    if (!types || !min || !max || !counts)
        return sl_err_nomem(err);
    for (size_t i = 0; i < s->nfields; i++) {
        const struct sl_type *t = types[i] = s->fields[i].type;
        const struct sl_parquet_stats *st = sl_type_atomic(t) ? stats_of(f, s->fields[i].name) : NULL;
        enum mode mode = MODE_NONE;
        size_t length = 0;

        min[i] = max[i] = (struct sl_value){.kind = t->kind, .null = true};
        counts[i] = -1;
        SL_GO(mode_of(s, i, &mode, &length, err));
        if (!st || mode == MODE_NONE)
            continue;
        counts[i] = st->null_count;
        if (mode != MODE_COUNTS && !bounds(t, st, mode, length, a, &min[i], &max[i]))
            min[i] = max[i] = (struct sl_value){.kind = t->kind, .null = true};
    }
    SL_GO(sl_binrow_encode(types, min, s->nfields, &low, err));
    SL_GO(sl_binrow_encode(types, max, s->nfields, &high, err));
    out->min = sl_arena_str(a, sl_buf_view(&low));
    out->max = sl_arena_str(a, sl_buf_view(&high));
    out->null_counts = counts;
    out->nnull_counts = s->nfields;
    if (!out->min.p || !out->max.p)
        rc = sl_err_nomem(err);
done:
    sl_buf_release(&low);
    sl_buf_release(&high);
    return rc;
}

int sl_file_check_nulls(const struct sl_schema *s, const struct sl_parquet_file *f, sl_err *err)
{
    for (size_t i = 0; i < s->nfields; i++) {
        const struct sl_parquet_stats *st;

        if (s->fields[i].type->nullable || !sl_type_atomic(s->fields[i].type))
            continue;
        st = stats_of(f, s->fields[i].name);
        if (!st || st->null_count < 0)
            return sl_err_set(err, SL_EBUG, "column \"%s\" was written without a count of nulls", s->fields[i].name);
        if (st->null_count > 0)
            return sl_err_set(err, SL_EINPUT, "column \"%s\" is NOT NULL, but %lld row%s no value for it", s->fields[i].name,
                              (long long)st->null_count, st->null_count == 1 ? " has" : "s have");
    }
    return SL_OK;
}

/* ---- the shape of the file ---- */

/* Physical type, and what its annotation must contain ("" = any). */
static void wanted_shape(const struct sl_type *t, const char **physical, const char **annotation)
{
    *annotation = "";
    switch (t->kind) {
    case SL_BOOLEAN:
        *physical = "BOOLEAN";
        return;
    case SL_TINYINT:
        *physical = "INT32";
        *annotation = "INT_8";
        return;
    case SL_SMALLINT:
        *physical = "INT32";
        *annotation = "INT_16";
        return;
    case SL_INT:
    case SL_TIME:
        *physical = "INT32";
        return;
    case SL_DATE:
        *physical = "INT32";
        *annotation = "DATE";
        return;
    case SL_BIGINT:
        *physical = "INT64";
        return;
    case SL_FLOAT:
        *physical = "FLOAT";
        return;
    case SL_DOUBLE:
        *physical = "DOUBLE";
        return;
    case SL_CHAR:
    case SL_VARCHAR:
        *annotation = "UTF8";
        *physical = "BYTE_ARRAY";
        return;
    case SL_BINARY:
    case SL_VARBINARY:
        *physical = "BYTE_ARRAY";
        return;
    case SL_DECIMAL:
        *annotation = "DECIMAL";
        *physical = t->precision <= 9 ? "INT32" : t->precision <= 18 ? "INT64" : "FIXED_LEN_BYTE_ARRAY";
        return;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        *physical = "INT64";
        *annotation = t->precision <= 3 ? "TIMESTAMP_MILLIS" : "TIMESTAMP_MICROS";
        return;
    default:
        *physical = "";
    }
}

static bool shape_is(const struct sl_type *t, const struct sl_parquet_node *n)
{
    const char *physical, *annotation;

    wanted_shape(t, &physical, &annotation);
    if (t->kind == SL_DECIMAL && (n->precision != t->precision || n->scale != t->scale))
        return false;
    if (*physical && strcmp(n->physical, physical) != 0)
        return false;
    return !*annotation || strstr(n->converted, annotation) || strstr(n->logical, annotation);
}

int sl_file_check_columns(const struct sl_schema *s, const struct sl_parquet_info *info, sl_err *err)
{
    size_t column = 0;

    for (size_t i = 0; i < info->n; i++) {
        const struct sl_parquet_node *n = &info->v[i];

        if (n->depth != 0)
            continue;
        if (column == s->nfields || strcmp(n->name, s->fields[column].name) != 0)
            return sl_err_set(err, SL_EBUG, "a data file was written with column \"%s\" where the table has \"%s\"", n->name,
                              column < s->nfields ? s->fields[column].name : "none");
        if (!shape_is(s->fields[column].type, n))
            return sl_err_set(err, SL_EBUG, "column \"%s\" was written as Parquet type %s %s %s, which readers of the table do not expect", n->name,
                              n->physical, n->converted, n->logical);
        column++;
    }
    if (column != s->nfields)
        return sl_err_set(err, SL_EBUG, "a data file was written with %zu columns, but the table has %zu", column, s->nfields);
    return SL_OK;
}
