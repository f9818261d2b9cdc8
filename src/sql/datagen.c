/* datagen.c - made-up rows, as SQL over range(). Options: number-of-rows, rows-per-second,
 * fields.<column>.kind = random | sequence, .min, .max, .length, .null-rate, .start, .end. */
#include <stdio.h>
#include <string.h>

#include "sql/source_table.h"

static const char *field_option(const struct sl_source_def *d, const struct sl_field *f,
                                const char *what)
{
    char key[300];

    snprintf(key, sizeof key, "fields.%s.%s", f->name, what);
    return sl_schema_option(&d->schema, key);
}

static int wrong(const struct sl_field *f, const char *what, const char *text, sl_err *err)
{
    return sl_err_set(err, SL_ESQL, "'fields.%s.%s' = '%s' is no number that fits", f->name, what,
                      text);
}

static int number(const struct sl_source_def *d, const struct sl_field *f, const char *what,
                  int64_t *out, bool *given, sl_err *err)
{
    const char *text = field_option(d, f, what);

    *given = text != NULL;
    if (text && !sl_parse_i64(sl_str_c(text), out))
        return wrong(f, what, text, err);
    return SL_OK;
}

static bool is_sequence(const struct sl_source_def *d, const struct sl_field *f)
{
    const char *kind = field_option(d, f, "kind");

    return kind && strcmp(kind, "sequence") == 0;
}

int sl_datagen_rows(const struct sl_source_def *d, int64_t *out, sl_err *err)
{
    const char *text = sl_schema_option(&d->schema, "number-of-rows");

    *out = -1;
    if (text && (!sl_parse_i64(sl_str_c(text), out) || *out < 0))
        return sl_err_set(err, SL_ESQL, "'number-of-rows' = '%s' is no number of rows", text);
    for (size_t i = 0; i < d->schema.nfields; i++) {
        const struct sl_field *f = &d->schema.fields[i];
        int64_t start = 0, end = 0;
        bool has_start, has_end;

        if (!is_sequence(d, f))
            continue;
        SL_TRY(number(d, f, "start", &start, &has_start, err));
        SL_TRY(number(d, f, "end", &end, &has_end, err));
        if (!has_start || !has_end || end < start || end - start > (int64_t)1 << 60)
            return sl_err_set(
                err, SL_ESQL,
                "the sequence of the column \"%s\" needs 'fields.%s.start' and 'fields.%s.end'",
                f->name, f->name, f->name);
        if (*out < 0 || end - start + 1 < *out)
            *out = end - start + 1;
    }
    return SL_OK;
}

static int random_integer(const struct sl_source_def *d, const struct sl_field *f, int64_t least,
                          int64_t most, struct sl_buf *out, sl_err *err)
{
    bool given;

    SL_TRY(number(d, f, "min", &least, &given, err));
    SL_TRY(number(d, f, "max", &most, &given, err));
    if (most < least)
        return sl_err_set(err, SL_ESQL, "'fields.%s.max' is less than the least value", f->name);
    sl_buf_printf(out,
                  "least(%lld::HUGEINT, %lld::HUGEINT + CAST(floor(random() * (%lld::DOUBLE - "
                  "%lld::DOUBLE + 1)) AS HUGEINT))",
                  (long long)most, (long long)least, (long long)most, (long long)least);
    return SL_OK;
}

static int random_fraction(const struct sl_source_def *d, const struct sl_field *f,
                           struct sl_buf *out, sl_err *err)
{
    const char *min = field_option(d, f, "min"), *max = field_option(d, f, "max");
    double low = 0, high = 1;

    if (min && !sl_parse_f64(sl_str_c(min), &low))
        return wrong(f, "min", min, err);
    if (max && !sl_parse_f64(sl_str_c(max), &high))
        return wrong(f, "max", max, err);
    sl_buf_printf(out, "%.17g + random() * (%.17g)", low, high - low);
    return SL_OK;
}

static int random_text(const struct sl_source_def *d, const struct sl_field *f, struct sl_buf *out,
                       sl_err *err)
{
    int64_t length = f->type->length < 100 ? f->type->length : 100;
    bool given;

    SL_TRY(number(d, f, "length", &length, &given, err));
    if (length < 0 || length > 1 << 24 || length > f->type->length)
        return sl_err_set(err, SL_ESQL, "'fields.%s.length' does not fit the column's type",
                          f->name);
    sl_buf_printf(out, "substr(repeat(md5(CAST(random() AS VARCHAR)), %lld), 1, %lld)",
                  (long long)(length + 31) / 32, (long long)length);
    return SL_OK;
}

static int random_value(const struct sl_source_def *d, const struct sl_field *f, struct sl_buf *out,
                        sl_err *err)
{
    switch (f->type->kind) {
    case SL_BOOLEAN:
        sl_buf_addc(out, "random() < 0.5");
        return SL_OK;
    case SL_TINYINT:
        return random_integer(d, f, INT8_MIN, INT8_MAX, out, err);
    case SL_SMALLINT:
        return random_integer(d, f, INT16_MIN, INT16_MAX, out, err);
    case SL_INT:
        return random_integer(d, f, INT32_MIN, INT32_MAX, out, err);
    case SL_BIGINT:
        return random_integer(d, f, INT64_MIN, INT64_MAX, out, err);
    case SL_FLOAT:
    case SL_DOUBLE:
    case SL_DECIMAL:
        return random_fraction(d, f, out, err);
    case SL_CHAR:
    case SL_VARCHAR:
        return random_text(d, f, out, err);
    case SL_DATE:
        sl_buf_addc(out, "current_date");
        return SL_OK;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        sl_buf_addc(out, "now()");
        return SL_OK;
    default:
        break;
    }
    struct sl_buf type = SL_BUF_INIT;
    sl_type_sql(&type, f->type);
    sl_err_set(err, SL_EUNSUPPORTED, "datagen makes no values for the column \"%s\" of type %s",
               f->name, type.p ? type.p : "?");
    sl_buf_release(&type);
    return SL_EUNSUPPORTED;
}

static int column(const struct sl_source_def *d, const struct sl_field *f, struct sl_buf *out,
                  sl_err *err)
{
    const char *kind = field_option(d, f, "kind"), *rate = field_option(d, f, "null-rate");
    double nulls = 0;
    int64_t start = 0;
    bool given;

    if (kind && strcmp(kind, "sequence") != 0 && strcmp(kind, "random") != 0)
        return sl_err_set(err, SL_ESQL,
                          "'fields.%s.kind' = '%s' is neither 'random' nor 'sequence'", f->name,
                          kind);
    if (rate && (!sl_parse_f64(sl_str_c(rate), &nulls) || nulls < 0 || nulls > 1))
        return wrong(f, "null-rate", rate, err);
    sl_buf_addc(out, "CAST(");
    if (nulls > 0)
        sl_buf_printf(out, "CASE WHEN random() >= %.17g THEN ", nulls);
    if (is_sequence(d, f)) {
        SL_TRY(number(d, f, "start", &start, &given, err));
        sl_buf_printf(out, "(i + %lld)", (long long)start);
    } else {
        SL_TRY(random_value(d, f, out, err));
    }
    sl_buf_addc(out, nulls > 0 ? " END AS " : " AS ");
    sl_type_engine_sql(out, f->type);
    sl_buf_addc(out, ") AS ");
    sl_buf_sql_ident(out, sl_str_c(f->name));
    return SL_OK;
}

int sl_datagen_sql(const struct sl_source_def *d, int64_t from, int64_t to, struct sl_buf *out,
                   sl_err *err)
{
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < d->schema.nfields; i++) {
        sl_buf_addc(out, i ? ", " : "");
        SL_TRY(column(d, &d->schema.fields[i], out, err));
    }
    sl_buf_printf(out, " FROM range(%lld, %lld) AS r(i)", (long long)from, (long long)to);
    return sl_buf_ok(out, err);
}
