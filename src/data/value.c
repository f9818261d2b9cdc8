#include "data/value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

int sl_value_cmp(const struct sl_value *a, const struct sl_value *b)
{
    switch (a->kind) {
    case SL_BOOLEAN:
        return COMPARE(a->u.b, b->u.b);
    case SL_FLOAT:
    case SL_DOUBLE:
        if (isnan(a->u.f) || isnan(b->u.f))
            return !!isnan(a->u.f) - !!isnan(b->u.f);
        return COMPARE(a->u.f, b->u.f);
    case SL_DECIMAL:
        return COMPARE(a->u.d, b->u.d);
    case SL_CHAR:
    case SL_VARCHAR:
    case SL_BINARY:
    case SL_VARBINARY:
        return sl_str_cmp(a->u.s, b->u.s);
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        if (a->u.t.ms != b->u.t.ms)
            return COMPARE(a->u.t.ms, b->u.t.ms);
        return COMPARE(a->u.t.ns, b->u.t.ns);
    default:
        return COMPARE(a->u.i, b->u.i);
    }
}

bool sl_value_eq(const struct sl_value *a, const struct sl_value *b)
{
    if (a->null || b->null)
        return a->null && b->null;
    return a->kind == b->kind && sl_value_cmp(a, b) == 0;
}

/* ---- from text ---- */

static bool digits(sl_str *s, size_t least, size_t most, int64_t *out)
{
    size_t n = 0;

    *out = 0;
    while (n < s->n && n < most && s->p[n] >= '0' && s->p[n] <= '9')
        *out = *out * 10 + (s->p[n++] - '0');
    *s = sl_str_sub(*s, n, s->n);
    return n >= least;
}

static bool take(sl_str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = sl_str_sub(*s, 1, s->n);
    return true;
}

static bool leap(int64_t y)
{
    return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

static bool date(sl_str *s, int64_t *days)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool minus = take(s, '-');
    int64_t y, m, d;

    if (!digits(s, 4, 7, &y) || !take(s, '-') || !digits(s, 2, 2, &m) || !take(s, '-') || !digits(s, 2, 2, &d))
        return false;
    if (sl_str_ends(*s, " (BC)")) {
        y = 1 - y;
        s->n -= 5;
    } else if (minus) {
        y = -y;
    }
    if (m < 1 || m > 12 || d < 1 || d > lengths[m - 1] + (m == 2 && leap(y)))
        return false;
    *days = sl_civil_to_days(y, (int)m, (int)d);
    return true;
}

/* HH:MM[:SS[.fraction]] as nanoseconds of the day. */
static bool time_of_day(sl_str *s, int64_t *nanos)
{
    int64_t h, m, sec = 0, f = 0;

    if (!digits(s, 2, 2, &h) || !take(s, ':') || !digits(s, 2, 2, &m))
        return false;
    if (take(s, ':')) {
        if (!digits(s, 2, 2, &sec))
            return false;
        if (take(s, '.')) {
            size_t before = s->n;

            if (!digits(s, 1, 9, &f))
                return false;
            for (size_t n = before - s->n; n < 9; n++)
                f *= 10;
        }
    }
    if (h > 23 || m > 59 || sec > 59)
        return false;
    *nanos = ((h * 60 + m) * 60 + sec) * 1000000000 + f;
    return true;
}

/* Z, +HH, +HH:MM, +HH:MM:SS, or nothing, in milliseconds. */
static bool zone(sl_str *s, int64_t *millis)
{
    int64_t h, m = 0, sec = 0;
    bool minus = s->n && s->p[0] == '-';

    *millis = 0;
    if (s->n == 0 || take(s, 'Z'))
        return true;
    if (!take(s, '+') && !take(s, '-'))
        return false;
    if (!digits(s, 2, 2, &h) || (take(s, ':') && !digits(s, 2, 2, &m)) || (take(s, ':') && !digits(s, 2, 2, &sec)))
        return false;
    *millis = ((h * 60 + m) * 60 + sec) * (minus ? -1000 : 1000);
    return true;
}

static bool timestamp(sl_str s, bool with_zone, struct sl_value *out)
{
    int64_t days, nanos = 0, offset = 0;
    bool bc = sl_str_ends(s, " (BC)");

    if (bc)
        s.n -= 5;
    if (!date(&s, &days))
        return false;
    if (bc) {
        int64_t y;
        int m, d;

        sl_days_to_civil(days, &y, &m, &d);
        days = sl_civil_to_days(1 - y, m, d);
    }
    if (s.n && ((!take(&s, ' ') && !take(&s, 'T')) || !time_of_day(&s, &nanos)))
        return false;
    if (with_zone && !zone(&s, &offset))
        return false;
    out->u.t.ms = days * 86400000 + nanos / 1000000 - offset;
    out->u.t.ns = (int32_t)(nanos % 1000000);
    return s.n == 0;
}

static bool decimal(sl_str s, const struct sl_type *t, sl_i128 *out)
{
    bool minus = take(&s, '-'), point = false, any = false;
    int32_t scale = 0;
    sl_i128 v = 0, limit = 1;

    if (!minus)
        (void)take(&s, '+');
    for (int i = 0; i < t->precision; i++)
        limit *= 10;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        any = true;
        if (point && scale == t->scale) {
            if (s.p[i] != '0')
                return false;
            continue;
        }
        scale += point;
        v = v * 10 + (s.p[i] - '0');
        if (v >= limit)
            return false;
    }
    for (; scale < t->scale; scale++) {
        v *= 10;
        if (v >= limit)
            return false;
    }
    *out = minus ? -v : v;
    return any;
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex(struct sl_arena *a, sl_str s, sl_str *out)
{
    char *p = s.n % 2 ? NULL : sl_arena_alloc(a, s.n / 2);

    if (!p)
        return false;
    for (size_t i = 0; i < s.n; i += 2) {
        int high = nibble(s.p[i]), low = nibble(s.p[i + 1]);

        if (high < 0 || low < 0)
            return false;
        p[i / 2] = (char)(high * 16 + low);
    }
    *out = (sl_str){p, s.n / 2};
    return true;
}

bool sl_value_from_text(struct sl_arena *a, const struct sl_type *t, sl_str text, struct sl_value *out)
{
    static const int64_t limits[] = {[SL_TINYINT] = INT8_MAX, [SL_SMALLINT] = INT16_MAX, [SL_INT] = INT32_MAX, [SL_BIGINT] = INT64_MAX};
    int64_t nanos;

    *out = (struct sl_value){.kind = t->kind};
    switch (t->kind) {
    case SL_BOOLEAN:
        out->u.b = sl_str_ieqc(text, "true");
        return out->u.b || sl_str_ieqc(text, "false");
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
        return sl_parse_i64(text, &out->u.i) && out->u.i <= limits[t->kind] && out->u.i >= -limits[t->kind] - 1;
    case SL_FLOAT:
    case SL_DOUBLE:
        if (!sl_parse_f64(text, &out->u.f))
            return false;
        if (t->kind == SL_FLOAT) { /* one rounding only, from the text to float */
            char copy[64];

            if (text.n >= sizeof copy || (isfinite(out->u.f) && fabs(out->u.f) > FLT_MAX))
                return false;
            snprintf(copy, sizeof copy, SL_STRF, SL_STRV(text));
            out->u.f = isfinite(out->u.f) ? (double)strtof(copy, NULL) : out->u.f;
        }
        return true;
    case SL_DECIMAL:
        return decimal(text, t, &out->u.d);
    case SL_CHAR:
    case SL_VARCHAR:
        out->u.s = sl_arena_str(a, text);
        return out->u.s.p != NULL;
    case SL_BINARY:
    case SL_VARBINARY:
        return hex(a, text, &out->u.s);
    case SL_DATE:
        return date(&text, &out->u.i) && text.n == 0 && out->u.i >= INT32_MIN && out->u.i <= INT32_MAX;
    case SL_TIME:
        if (!time_of_day(&text, &nanos) || text.n)
            return false;
        out->u.i = nanos / 1000000;
        return true;
    case SL_TIMESTAMP:
        return timestamp(text, false, out);
    case SL_TIMESTAMP_LTZ:
        return timestamp(text, true, out);
    default:
        return false;
    }
}

/* ---- to text ---- */

static void decimal_text(struct sl_buf *out, sl_i128 v, int32_t scale)
{
    char digit[48];
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    int n = 0;

    if (v < 0)
        sl_buf_ch(out, '-');
    while (u || n <= scale) {
        digit[n++] = (char)('0' + (int)(u % 10));
        u /= 10;
    }
    while (n--) {
        sl_buf_ch(out, digit[n]);
        if (n == scale && scale)
            sl_buf_ch(out, '.');
    }
}

static void date_text(struct sl_buf *out, int64_t days)
{
    int64_t y;
    int m, d;

    sl_days_to_civil(days, &y, &m, &d);
    sl_buf_printf(out, "%04lld-%02d-%02d", (long long)(y > 0 ? y : 1 - y), m, d);
}

static bool before_christ(int64_t days)
{
    int64_t y;
    int m, d;

    sl_days_to_civil(days, &y, &m, &d);
    return y <= 0;
}

static void time_text(struct sl_buf *out, int64_t ms, int32_t ns)
{
    int64_t fraction = ms % 1000 * 1000000 + ns;
    char text[16];
    int n = 9;

    sl_buf_printf(out, "%02d:%02d:%02d", (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60));
    if (fraction == 0)
        return;
    snprintf(text, sizeof text, "%09d", (int)fraction);
    while (text[n - 1] == '0')
        n--;
    sl_buf_printf(out, ".%.*s", n, text);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static void timestamp_text(struct sl_buf *out, const struct sl_value *v, const char *zone_text, bool micros)
{
    int64_t days = floor_div(v->u.t.ms, 86400000);

    date_text(out, days);
    sl_buf_ch(out, ' ');
    time_text(out, v->u.t.ms - days * 86400000, micros ? v->u.t.ns / 1000 * 1000 : v->u.t.ns);
    sl_buf_addc(out, zone_text);
    if (before_christ(days))
        sl_buf_addc(out, " (BC)");
}

/* The shortest text that reads back as the same number. */
static void float_text(struct sl_buf *out, double f, bool single)
{
    char text[40];

    if (!isfinite(f)) {
        sl_buf_addc(out, isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
        return;
    }
    for (int n = 1; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*g", n, f);
        if (single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
            break;
    }
    sl_buf_addc(out, text);
}

static void hex_text(struct sl_buf *out, sl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        sl_buf_printf(out, "%02X", (unsigned char)s.p[i]);
}

static void text(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v, bool micros)
{
    switch (v->kind) {
    case SL_BOOLEAN:
        sl_buf_addc(out, v->u.b ? "true" : "false");
        break;
    case SL_FLOAT:
    case SL_DOUBLE:
        float_text(out, v->u.f, v->kind == SL_FLOAT);
        break;
    case SL_DECIMAL:
        decimal_text(out, v->u.d, t->scale);
        break;
    case SL_CHAR:
    case SL_VARCHAR:
        sl_buf_add(out, v->u.s);
        break;
    case SL_BINARY:
    case SL_VARBINARY:
        hex_text(out, v->u.s);
        break;
    case SL_DATE:
        date_text(out, v->u.i);
        if (before_christ(v->u.i))
            sl_buf_addc(out, " (BC)");
        break;
    case SL_TIME:
        time_text(out, v->u.i, 0);
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        timestamp_text(out, v, v->kind == SL_TIMESTAMP_LTZ ? "+00" : "", micros);
        break;
    default:
        sl_buf_printf(out, "%lld", (long long)v->u.i);
    }
}

void sl_value_text(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v)
{
    if (v->null)
        sl_buf_addc(out, "NULL");
    else
        text(out, t, v, false);
}

void sl_value_sql(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v)
{
    struct sl_buf plain = SL_BUF_INIT;

    if (!v->null)
        text(&plain, t, v, t->precision <= 6);
    if (!v->null && (t->kind == SL_CHAR || t->kind == SL_VARCHAR)) {
        sl_buf_sql_string(out, sl_buf_view(&plain));
    } else if (!v->null && (t->kind == SL_BINARY || t->kind == SL_VARBINARY)) {
        sl_buf_printf(out, "unhex('" SL_STRF "')", SL_STRV(sl_buf_view(&plain)));
    } else if (!v->null && t->kind == SL_DATE) {
        sl_buf_printf(out, "DATE '" SL_STRF "'", SL_STRV(sl_buf_view(&plain)));
    } else {
        sl_buf_addc(out, "CAST(");
        if (v->null)
            sl_buf_addc(out, "NULL");
        else
            sl_buf_sql_string(out, sl_buf_view(&plain));
        sl_buf_addc(out, " AS ");
        sl_type_engine_sql(out, t);
        sl_buf_ch(out, ')');
    }
    out->failed |= plain.failed;
    sl_buf_release(&plain);
}

json_t *sl_value_json(const struct sl_type *t, const struct sl_value *v)
{
    struct sl_buf b = SL_BUF_INIT;
    json_t *j;

    if (v->null)
        return json_null();
    if (v->kind == SL_BOOLEAN)
        return json_boolean(v->u.b);
    if (v->kind >= SL_TINYINT && v->kind <= SL_BIGINT)
        return json_integer(v->u.i);
    if ((v->kind == SL_FLOAT || v->kind == SL_DOUBLE) && isfinite(v->u.f))
        return json_real(v->u.f);
    text(&b, t, v, false);
    j = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
    if (!j && !b.failed) { /* text that is no UTF-8 */
        sl_buf_reset(&b);
        hex_text(&b, v->u.s);
        j = b.failed ? NULL : json_stringn(b.p, b.n);
    }
    sl_buf_release(&b);
    return j;
}
