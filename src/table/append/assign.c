/* assign.c - casts that lose nothing. */
#include "table/append/assign.h"

#include <string.h>

/* Type texts without spaces, so that DECIMAL(10, 2) is DECIMAL(10,2). */
static bool same_type_text(sl_str a, sl_str b)
{
    size_t i = 0, j = 0;

    for (;;) {
        while (i < a.n && a.p[i] == ' ')
            i++;
        while (j < b.n && b.p[j] == ' ')
            j++;
        if (i == a.n || j == b.n)
            return i == a.n && j == b.n;
        if (a.p[i++] != b.p[j++])
            return false;
    }
}

static bool is_integer_text(sl_str from)
{
    static const char *const names[] = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
                                        "UHUGEINT", "BOOLEAN"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sl_str_eqc(from, names[i]))
            return true;
    return false;
}

static void cast(struct sl_buf *out, sl_str expr, sl_str type)
{
    sl_buf_printf(out, "CAST(" SL_STRF " AS " SL_STRF ")", SL_STRV(expr), SL_STRV(type));
}

/* error('column "c": value ' || expr || ' ...') */
static void refusal(struct sl_buf *out, const struct sl_field *f, sl_str expr, const char *why)
{
    enum { SHOWN = 100 };
    struct sl_buf text = SL_BUF_INIT;

    sl_buf_printf(&text, "column \"%s\": the value ", f->name);
    sl_buf_addc(out, "error(");
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_printf(out, " || left(CAST(" SL_STRF " AS VARCHAR), %d) || ", SL_STRV(expr), SHOWN);
    sl_buf_reset(&text);
    sl_buf_printf(&text, " %s ", why);
    sl_type_sql(&text, f->type);
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_ch(out, ')');
    out->failed = out->failed || text.failed;
    sl_buf_release(&text);
}

/* CASE WHEN expr IS NULL OR good THEN value ELSE error END */
static void guarded(struct sl_buf *out, const struct sl_field *f, sl_str expr, const struct sl_buf *good, const struct sl_buf *value,
                    const char *why)
{
    sl_buf_printf(out, "CASE WHEN " SL_STRF " IS NULL OR (", SL_STRV(expr));
    sl_buf_add(out, sl_buf_view(good));
    sl_buf_addc(out, ") THEN ");
    sl_buf_add(out, sl_buf_view(value));
    sl_buf_addc(out, " ELSE ");
    refusal(out, f, expr, why);
    sl_buf_addc(out, " END");
    out->failed = out->failed || good->failed || value->failed;
}

/* The value must come back unchanged from the column's type. */
static void round_trip(struct sl_buf *out, const struct sl_field *f, sl_str from, sl_str to, sl_str expr)
{
    struct sl_buf value = SL_BUF_INIT, good = SL_BUF_INIT;

    cast(&value, expr, to);
    cast(&good, sl_buf_view(&value), from);
    sl_buf_printf(&good, " IS NOT DISTINCT FROM " SL_STRF, SL_STRV(expr));
    guarded(out, f, expr, &good, &value, "does not fit exactly into");
    sl_buf_release(&value);
    sl_buf_release(&good);
}

/* Texts are read by the engine, which rounds: what it would round is refused by its form. */
static void number_from_text(struct sl_buf *out, const struct sl_field *f, sl_str to, sl_str expr)
{
    struct sl_buf value = SL_BUF_INIT, good = SL_BUF_INIT;

    cast(&value, expr, to);
    sl_buf_printf(&good, "regexp_full_match(trim(" SL_STRF "), '[+-]?[0-9]*", SL_STRV(expr));
    sl_buf_printf(&good, "([.][0-9]{0,%d}0*)?')", f->type->kind == SL_DECIMAL ? (int)f->type->scale : 0);
    guarded(out, f, expr, &good, &value, "does not fit exactly into");
    sl_buf_release(&value);
    sl_buf_release(&good);
}

static bool decimal_of_less_scale(sl_str from, int32_t scale)
{
    ptrdiff_t comma = sl_str_find(from, SL_LIT(","));
    int64_t s;

    if (!sl_str_starts(from, "DECIMAL(") || comma < 0)
        return false;
    sl_str digits = sl_str_trim(sl_str_sub(from, (size_t)comma + 1, from.n - 1));
    return sl_parse_i64(digits, &s) && s <= scale;
}

static void number(struct sl_buf *out, const struct sl_field *f, sl_str from, sl_str to, sl_str expr)
{
    /* Overflow is an error of the cast itself. */
    if (is_integer_text(from) || (f->type->kind == SL_DECIMAL && decimal_of_less_scale(from, f->type->scale)))
        cast(out, expr, to);
    else if (sl_str_eqc(from, "VARCHAR"))
        number_from_text(out, f, to, expr);
    else
        round_trip(out, f, from, to, expr);
}

static void date(struct sl_buf *out, const struct sl_field *f, sl_str from, sl_str to, sl_str expr)
{
    struct sl_buf time = SL_BUF_INIT;

    if (sl_str_eqc(from, "VARCHAR")) { /* a text may carry a time of day too */
        struct sl_buf value = SL_BUF_INIT, good = SL_BUF_INIT;

        cast(&time, expr, SL_LIT("TIMESTAMP"));
        cast(&value, expr, to);
        cast(&good, sl_buf_view(&value), SL_LIT("TIMESTAMP"));
        sl_buf_printf(&good, " = " SL_STRF, SL_STRV(sl_buf_view(&time)));
        guarded(out, f, expr, &good, &value, "has a time of day, and the column is");
        sl_buf_release(&value);
        sl_buf_release(&good);
    } else {
        round_trip(out, f, from, to, expr);
    }
    sl_buf_release(&time);
}

/* ---- what the column asks beyond its engine type ---- */

static void check_digits(struct sl_buf *out, const struct sl_field *f, sl_str expr)
{
    int64_t unit = 1;
    struct sl_buf good = SL_BUF_INIT, value = SL_BUF_INIT;

    for (int32_t p = f->type->precision; p < 6; p++)
        unit *= 10;
    sl_buf_printf(&good, "NOT isfinite(" SL_STRF ") OR epoch_us(" SL_STRF ") %% %lld = 0", SL_STRV(expr), SL_STRV(expr), (long long)unit);
    sl_buf_add(&value, expr);
    guarded(out, f, expr, &good, &value, "has more digits of a second than");
    sl_buf_release(&good);
    sl_buf_release(&value);
}

/* Years that other engines and the text forms of dates know. */
static void check_year(struct sl_buf *out, const struct sl_field *f, sl_str expr)
{
    struct sl_buf good = SL_BUF_INIT, value = SL_BUF_INIT;

    if (f->type->kind == SL_DATE)
        sl_buf_printf(&good, SL_STRF " BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'", SL_STRV(expr));
    else
        sl_buf_printf(&good, "isfinite(" SL_STRF ") AND epoch_us(" SL_STRF ") BETWEEN -62135596800000000 AND 253402300799999999",
                      SL_STRV(expr), SL_STRV(expr));
    sl_buf_add(&value, expr);
    guarded(out, f, expr, &good, &value, "is not in the years 0001 to 9999 of");
    sl_buf_release(&good);
    sl_buf_release(&value);
}

static void check_length(struct sl_buf *out, const struct sl_field *f, sl_str expr, const char *function)
{
    struct sl_buf good = SL_BUF_INIT, value = SL_BUF_INIT;

    sl_buf_printf(&good, "%s(" SL_STRF ") <= %d", function, SL_STRV(expr), (int)f->type->length);
    sl_buf_add(&value, expr);
    guarded(out, f, expr, &good, &value, "is too long for");
    sl_buf_release(&good);
    sl_buf_release(&value);
}

static void check_present(struct sl_buf *out, const struct sl_field *f, sl_str expr)
{
    struct sl_buf text = SL_BUF_INIT;

    sl_buf_printf(&text, "column \"%s\" is NOT NULL, but a row has no value for it", f->name);
    sl_buf_printf(out, "CASE WHEN " SL_STRF " IS NULL THEN error(", SL_STRV(expr));
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_printf(out, ") ELSE " SL_STRF " END", SL_STRV(expr));
    out->failed = out->failed || text.failed;
    sl_buf_release(&text);
}

static bool is_nested(const struct sl_type *t)
{
    return t->kind == SL_ARRAY || t->kind == SL_MAP || t->kind == SL_ROW;
}

static void convert(struct sl_buf *out, const struct sl_field *f, sl_str from, sl_str expr)
{
    struct sl_buf to = SL_BUF_INIT;

    sl_type_engine_sql(&to, f->type);
    sl_str t = sl_buf_view(&to);
    if (same_type_text(from, t)) {
        sl_buf_add(out, expr);
    } else if (sl_str_eqc(from, "\"NULL\"") || sl_str_eqc(from, "NULL")) {
        cast(out, expr, t);
    } else if (sl_str_eqc(from, "BLOB") && (f->type->kind == SL_CHAR || f->type->kind == SL_VARCHAR)) {
        sl_buf_printf(out, "decode(" SL_STRF ")", SL_STRV(expr)); /* a cast would write bytes out as \xHH */
    } else {
        switch (f->type->kind) {
        case SL_TINYINT:
        case SL_SMALLINT:
        case SL_INT:
        case SL_BIGINT:
        case SL_DECIMAL:
            number(out, f, from, t, expr);
            break;
        case SL_DATE:
            date(out, f, from, t, expr);
            break;
        case SL_ARRAY:
        case SL_MAP:
        case SL_ROW:
            round_trip(out, f, from, t, expr);
            break;
        case SL_TIMESTAMP:
        case SL_TIMESTAMP_LTZ:
            if (sl_str_eqc(from, "TIMESTAMP_NS"))
                round_trip(out, f, from, t, expr);
            else
                cast(out, expr, t);
            break;
        default:
            cast(out, expr, t);
        }
    }
    out->failed = out->failed || to.failed;
    sl_buf_release(&to);
}

void sl_assign_expr(struct sl_buf *out, const struct sl_field *f, const char *from_sql, sl_str expr)
{
    const struct sl_type *t = f->type;
    struct sl_buf value = SL_BUF_INIT, dated = SL_BUF_INIT;

    convert(&value, f, sl_str_c(from_sql), expr);
    sl_str v = sl_buf_view(&value);
    if (t->kind == SL_DATE || t->kind == SL_TIMESTAMP || t->kind == SL_TIMESTAMP_LTZ) {
        check_year(&dated, f, v);
        v = sl_buf_view(&dated);
    }
    if ((t->kind == SL_TIMESTAMP || t->kind == SL_TIMESTAMP_LTZ) && t->precision < 6)
        check_digits(out, f, v);
    else if ((t->kind == SL_CHAR || t->kind == SL_VARCHAR) && t->length != SL_LENGTH_MAX)
        check_length(out, f, v, "length");
    else if ((t->kind == SL_BINARY || t->kind == SL_VARBINARY) && t->length != SL_LENGTH_MAX)
        check_length(out, f, v, "octet_length");
    else if (is_nested(t) && !t->nullable) /* others are seen by the count of nulls of the file */
        check_present(out, f, v);
    else
        sl_buf_add(out, v);
    out->failed = out->failed || value.failed || dated.failed;
    sl_buf_release(&dated);
    sl_buf_release(&value);
}
