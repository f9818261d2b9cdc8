/* partition_path.c - the folder of a partition: "dt=2024-01-02/region=eu". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "format/format_priv.h"

void sl_format_escape_path(struct sl_buf *out, sl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c < 0x20 || c == 0x7f || strchr("\"#%'*/:=?\\{}[]^", c))
            sl_buf_printf(out, "%%%02X", c);
        else
            sl_buf_ch(out, (char)c);
    }
}

/* Is S empty or made of what Java calls white space? */
static bool blank(sl_str s)
{
    static const char *const wide[] = {"\xe1\x9a\x80",     "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
                                       "\xe2\x80\x84",     "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x88", "\xe2\x80\x89",
                                       "\xe2\x80\x8a",     "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x81\x9f", "\xe3\x80\x80"};

    while (s.n) {
        unsigned char c = (unsigned char)s.p[0];
        size_t n = c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) ? 1 : 0;

        for (size_t i = 0; n == 0 && i < sizeof wide / sizeof *wide; i++)
            if (sl_str_starts(s, wide[i]))
                n = 3;
        if (n == 0)
            return false;
        s = sl_str_sub(s, n, s.n);
    }
    return true;
}

static void add_time(struct sl_buf *out, int64_t ms_of_day, int32_t ns, bool iso, int32_t precision)
{
    int64_t fraction = ms_of_day % 1000 * 1000000 + ns;
    int seconds = (int)(ms_of_day / 1000 % 60);
    char digits[16];

    sl_buf_printf(out, "%02d:%02d", (int)(ms_of_day / 3600000), (int)(ms_of_day / 60000 % 60));
    if (iso && seconds == 0 && fraction == 0)
        return;
    sl_buf_printf(out, ":%02d", seconds);
    if (iso) /* groups of three digits, as many as needed */
        precision = fraction == 0 ? 0 : fraction % 1000000 == 0 ? 3 : fraction % 1000 == 0 ? 6 : 9;
    snprintf(digits, sizeof digits, "%09d", (int)fraction);
    if (precision > 0)
        sl_buf_printf(out, ".%.*s", (int)precision, digits);
}

static void add_date(struct sl_buf *out, int64_t days)
{
    int64_t y;
    int m, d;

    sl_days_to_civil(days, &y, &m, &d);
    sl_buf_printf(out, y > 9999 ? "+%lld-%02d-%02d" : y < 0 ? "%05lld-%02d-%02d" : "%04lld-%02d-%02d", (long long)y, m, d);
}

/* Java's text of a floating number: at least one digit after the point, and E outside of [10^-3, 10^7). */
static void add_float(struct sl_buf *out, double f, bool single)
{
    char text[40], digits[24];
    int n, exponent, count = 0;

    if (!isfinite(f)) {
        sl_buf_addc(out, isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
        return;
    }
    if (signbit(f))
        sl_buf_ch(out, '-');
    f = fabs(f);
    if (f == 0) {
        sl_buf_addc(out, "0.0");
        return;
    }
    for (n = 0; n < 17; n++) { /* the fewest digits that read back as the same number */
        snprintf(text, sizeof text, "%.*e", n, f);
        if (single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
            break;
    }
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.')
            digits[count++] = *p;
    int point = exponent >= -3 && exponent < 7 ? exponent + 1 : 1; /* digits before the point */
    if (point <= 0)
        sl_buf_printf(out, "0.%.*s%.*s", -point, "00", count, digits);
    for (int i = 0; point > 0 && i < (count > point ? count : point + 1); i++) {
        if (i == point)
            sl_buf_ch(out, '.');
        sl_buf_ch(out, i < count ? digits[i] : '0');
    }
    if (exponent < -3 || exponent >= 7)
        sl_buf_printf(out, "E%d", exponent);
}

static int unsupported(const struct sl_field *f, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_EUNSUPPORTED, "the partition column \"%s\" is not supported: %s", f->name, why);
}

static int timestamp(const struct sl_field *f, const struct sl_value *v, bool legacy, struct sl_buf *out, sl_err *err)
{
    int64_t days = v->u.t.ms / 86400000 - (v->u.t.ms % 86400000 < 0);

    if (!legacy && v->kind == SL_TIMESTAMP_LTZ)
        return unsupported(f, "its folder depends on the time zone of the writer (partition.legacy-name = false)", err);
    add_date(out, days);
    sl_buf_ch(out, legacy ? 'T' : ' ');
    add_time(out, v->u.t.ms - days * 86400000, v->u.t.ns, legacy, f->type->precision);
    return SL_OK;
}

static int value_text(const struct sl_field *f, const struct sl_value *v, bool legacy, struct sl_buf *out, sl_err *err)
{
    switch (v->kind) {
    case SL_FLOAT:
    case SL_DOUBLE:
        add_float(out, v->u.f, v->kind == SL_FLOAT);
        return SL_OK;
    case SL_BINARY:
    case SL_VARBINARY:
        return unsupported(f, "bytes do not make a folder's name", err);
    case SL_DATE:
        if (legacy)
            sl_buf_printf(out, "%lld", (long long)v->u.i);
        else
            add_date(out, v->u.i);
        return SL_OK;
    case SL_TIME:
        if (legacy)
            sl_buf_printf(out, "%lld", (long long)v->u.i);
        else
            add_time(out, v->u.i, 0, false, f->type->precision);
        return SL_OK;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        return timestamp(f, v, legacy, out, err);
    default:
        sl_value_text(out, f->type, v);
        return SL_OK;
    }
}

int sl_partition_path(const struct sl_schema *s, const struct sl_value *values, struct sl_buf *out, sl_err *err)
{
    const char *none = sl_schema_option(s, "partition.default-name");
    struct sl_buf text = SL_BUF_INIT;
    bool legacy;
    int rc;

    SL_GO(sl_schema_option_bool(s, "partition.legacy-name", true, &legacy, err));
    for (size_t i = 0; i < s->npartition; i++) {
        const struct sl_field *f = &s->fields[s->partition_index[i]];

        sl_buf_reset(&text);
        if (!values[i].null)
            SL_GO(value_text(f, &values[i], legacy, &text, err));
        SL_GO(sl_buf_ok(&text, err));
        if (i)
            sl_buf_ch(out, '/');
        sl_format_escape_path(out, sl_str_c(f->name));
        sl_buf_ch(out, '=');
        if (blank(sl_buf_view(&text)))
            sl_format_escape_path(out, sl_str_c(none ? none : "__DEFAULT_PARTITION__"));
        else
            sl_format_escape_path(out, sl_buf_view(&text));
    }
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&text);
    return rc;
}
