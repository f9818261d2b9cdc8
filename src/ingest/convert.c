/* convert.c - text of one value to the value, exactly or not at all. */
#include "ingest/convert.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

static bool fail(const char **why, const char *text)
{
    *why = text;
    return false;
}

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static const char *digits_end(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

/* ---- numbers ---- */

const char *sl_number_end(const char *start, const char *end, enum sl_number_form form, bool *whole)
{
    const char *p = start, *first, *last;
    size_t digits;

    *whole = true;
    if (p < end && (*p == '-' || (*p == '+' && form == SL_NUMBER_LOOSE)))
        p++;
    first = p;
    p = digits_end(p, end);
    digits = (size_t)(p - first);
    if (form == SL_NUMBER_JSON && (digits == 0 || (digits > 1 && *first == '0')))
        return start;
    last = p;
    if (p < end && *p == '.') {
        const char *fraction = p + 1;

        p = digits_end(fraction, end);
        if (p == fraction && (form == SL_NUMBER_JSON || digits == 0))
            return start;
        digits += (size_t)(p - fraction);
    }
    if (digits == 0)
        return start;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *exponent = p + 1;

        if (exponent < end && (*exponent == '-' || *exponent == '+'))
            exponent++;
        p = digits_end(exponent, end);
        if (p == exponent)
            return start;
    }
    *whole = p == last;
    return p;
}

/* The parts of a number: its digits (those of the fraction included) are DIGITS x 10^exponent. */
struct parts {
    bool negative;
    const char *p, *end; /* digits, with perhaps one point among them */
    int64_t exponent;    /* of the last digit */
};

enum { EXPONENT_MAX = 100000000 }; /* clamped there: beyond all that any type holds */

static struct parts split_number(sl_str text)
{
    struct parts r = {0};
    const char *p = text.p, *end = text.p + text.n, *e;
    const char *point;

    if (p < end && (*p == '-' || *p == '+'))
        r.negative = *p++ == '-';
    e = p;
    while (e < end && *e != 'e' && *e != 'E')
        e++;
    r.p = p;
    r.end = e;
    if (e < end) {
        bool negative = false;

        e++;
        if (e < end && (*e == '-' || *e == '+'))
            negative = *e++ == '-';
        for (; e < end; e++)
            if (r.exponent < EXPONENT_MAX)
                r.exponent = r.exponent * 10 + (*e - '0');
        if (negative)
            r.exponent = -r.exponent;
    }
    point = memchr(r.p, '.', (size_t)(r.end - r.p));
    if (point)
        r.exponent -= r.end - point - 1;
    return r;
}

static const uint64_t pow10_u64[20] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
    100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u,
    100000000000000000u, 1000000000000000000u, 10000000000000000000u,
};

static unsigned __int128 pow10_u128(int n)
{
    return n < 20 ? pow10_u64[n] : (unsigned __int128)pow10_u64[19] * pow10_u64[n - 19];
}

/* The number x 10^scale as an integer of at most 38 digits. SMALL tells digits that do not fit below the scale from a value too big. */
static bool scaled(struct parts n, int64_t scale, unsigned __int128 *out, bool *too_small)
{
    unsigned __int128 v = 0;
    int significant = 0;
    int64_t zeros = 0; /* seen behind V, not yet in it */
    int64_t shift = n.exponent + scale;

    *too_small = false;
    for (const char *p = n.p; p < n.end; p++) {
        if (*p == '.')
            continue;
        if (*p == '0') {
            if (v)
                zeros++;
            continue;
        }
        if (significant + zeros + 1 > 38) {
            /* The last of these digits stands at 10^0 or above, or below it: then digits would be lost. */
            int64_t behind = n.end - p - 1 - (memchr(p, '.', (size_t)(n.end - p)) ? 1 : 0);

            *too_small = shift + behind < 0;
            return false;
        }
        v = v * pow10_u128((int)zeros + 1) + (unsigned)(*p - '0');
        significant += (int)zeros + 1;
        zeros = 0;
    }
    *out = v;
    if (v == 0)
        return true;
    shift += zeros;
    if (shift < 0) {
        *too_small = true;
        return false;
    }
    if (shift + significant > 38)
        return false;
    *out = v * pow10_u128((int)shift);
    return true;
}

bool sl_number_to_i64(sl_str text, int64_t min, int64_t max, int64_t *out, const char **why)
{
    unsigned __int128 v;
    bool too_small;
    struct parts n = split_number(text);

    if (!scaled(n, 0, &v, &too_small))
        return fail(why, too_small ? "is not a whole number" : "is out of range");
    if (v > (uint64_t)INT64_MAX + n.negative)
        return fail(why, "is out of range");
    *out = n.negative ? (int64_t)(0 - (uint64_t)v) : (int64_t)v;
    if (*out < min || *out > max)
        return fail(why, "is out of range");
    return true;
}

bool sl_number_to_decimal(sl_str text, int32_t precision, int32_t scale, sl_i128 *out, const char **why)
{
    unsigned __int128 v;
    bool too_small;
    struct parts n = split_number(text);

    if (!scaled(n, scale, &v, &too_small))
        return fail(why, too_small ? "has more digits after the point than the type" : "is too big for the type");
    if (v >= pow10_u128(precision))
        return fail(why, "is too big for the type");
    *out = n.negative ? -(sl_i128)v : (sl_i128)v;
    return true;
}

/* Up to 19 digits and a small power of ten: both exact in a double, so one operation rounds right. */
static bool simple_double(sl_str text, uint64_t mantissa_max, int exponent_max, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct parts n = split_number(text);
    uint64_t v = 0;

    if (n.end - n.p > 18 || n.exponent < -exponent_max || n.exponent > exponent_max)
        return false;
    for (const char *p = n.p; p < n.end; p++)
        if (*p != '.')
            v = v * 10 + (unsigned)(*p - '0');
    if (v > mantissa_max)
        return false;
    double d = (double)v;
    d = n.exponent < 0 ? d / powers[-n.exponent] : d * powers[n.exponent];
    *out = n.negative ? -d : d;
    return true;
}

bool sl_number_to_double(sl_str text, double *out, const char **why)
{
    if (simple_double(text, (uint64_t)1 << 53, 22, out))
        return true;
    return sl_parse_f64(text, out) || fail(why, "is out of range");
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Not by way of a double, which would round twice. */
bool sl_number_to_float(sl_str text, float *out, const char **why)
{
    char digits[512];
    double d;

    if (simple_double(text, (uint64_t)1 << 24, 10, &d)) {
        *out = (float)d;
        return true;
    }
    if (text.n >= sizeof digits) {
        if (!sl_parse_f64(text, &d))
            return fail(why, "is out of range");
        *out = (float)d;
    } else {
        pthread_once(&c_locale_once, make_c_locale);
        memcpy(digits, text.p, text.n);
        digits[text.n] = '\0';
        *out = c_locale ? strtof_l(digits, NULL, c_locale) : strtof(digits, NULL);
    }
    return !isinf(*out) || fail(why, "is out of range");
}

/* ---- dates and times ---- */

/* N digits at *P, which moves behind them. */
static bool take_digits(const char **p, const char *end, int n, int *out)
{
    int v = 0;

    if (end - *p < n)
        return false;
    for (int i = 0; i < n; i++, (*p)++) {
        if (!is_digit(**p))
            return false;
        v = v * 10 + (**p - '0');
    }
    *out = v;
    return true;
}

static bool take(const char **p, const char *end, char c)
{
    if (*p >= end || **p != c)
        return false;
    (*p)++;
    return true;
}

static int days_of_month(int y, int m)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return m == 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0) ? 29 : days[m - 1];
}

static bool take_date(const char **p, const char *end, int64_t *days)
{
    int y, m, d;

    if (!take_digits(p, end, 4, &y) || !take(p, end, '-') || !take_digits(p, end, 2, &m) || !take(p, end, '-') ||
        !take_digits(p, end, 2, &d))
        return false;
    if (y < 1 || m < 1 || m > 12 || d < 1 || d > days_of_month(y, m))
        return false;
    *days = sl_civil_to_days(y, m, d);
    return true;
}

/* HH:MM:SS[.fraction] as nanoseconds; *DIGITS of the fraction up to the last that is not zero. */
static bool take_time(const char **p, const char *end, int64_t *nanos, int *digits)
{
    int h, m, s, n = 0;
    int64_t fraction = 0, unit = 100000000;

    *digits = 0;
    if (!take_digits(p, end, 2, &h) || !take(p, end, ':') || !take_digits(p, end, 2, &m) || !take(p, end, ':') ||
        !take_digits(p, end, 2, &s) || h > 23 || m > 59 || s > 59)
        return false;
    if (take(p, end, '.')) {
        for (; *p < end && is_digit(**p); (*p)++, unit /= 10) {
            n++;
            fraction += (**p - '0') * unit;
            if (**p != '0')
                *digits = n;
        }
        if (n == 0)
            return false;
    }
    *nanos = ((h * 60 + m) * 60 + s) * INT64_C(1000000000) + fraction;
    return true;
}

bool sl_text_to_date(sl_str text, int32_t *days, const char **why)
{
    const char *p = text.p, *end = text.p + text.n;
    int64_t v;

    if (!take_date(&p, end, &v) || p != end)
        return fail(why, "is not a date of the form YYYY-MM-DD");
    *days = (int32_t)v;
    return true;
}

bool sl_text_to_time(sl_str text, int32_t precision, int64_t *micros, const char **why)
{
    const char *p = text.p, *end = text.p + text.n;
    int64_t nanos;
    int digits;

    if (!take_time(&p, end, &nanos, &digits) || p != end)
        return fail(why, "is not a time of the form HH:MM:SS[.fraction]");
    if (digits > precision || digits > 6)
        return fail(why, "has more digits of a second than the type");
    *micros = nanos / 1000;
    return true;
}

/* Z, +HH, +HHMM, +HH:MM: seconds east of UTC. */
static bool take_zone(const char **p, const char *end, int *seconds)
{
    int h, m = 0;
    bool west;

    if (take(p, end, 'Z') || take(p, end, 'z')) {
        *seconds = 0;
        return true;
    }
    if (*p >= end || (**p != '+' && **p != '-'))
        return false;
    west = *(*p)++ == '-';
    if (!take_digits(p, end, 2, &h))
        return false;
    if (*p < end) {
        take(p, end, ':');
        if (!take_digits(p, end, 2, &m))
            return false;
    }
    if (h > 18 || m > 59)
        return false;
    *seconds = (h * 60 + m) * 60 * (west ? -1 : 1);
    return true;
}

bool sl_text_to_timestamp(sl_str text, bool zoned, int32_t precision, int64_t *out, const char **why)
{
    const char *p = text.p, *end = text.p + text.n;
    const char *form = zoned ? "is not a timestamp of the form YYYY-MM-DD HH:MM:SS[.fraction] with Z or +HH:MM at its end"
                             : "is not a timestamp of the form YYYY-MM-DD HH:MM:SS[.fraction]";
    int64_t days, nanos;
    int digits, zone = 0;
    bool zone_there;

    if (!take_date(&p, end, &days) || (!take(&p, end, 'T') && !take(&p, end, ' ')) ||
        !take_time(&p, end, &nanos, &digits))
        return fail(why, form);
    if (p < end && zoned)
        take(&p, end, ' ');
    zone_there = p < end;
    if ((zone_there && !take_zone(&p, end, &zone)) || p != end)
        return fail(why, form);
    if (zone_there && !zoned)
        return fail(why, "has a time zone, which TIMESTAMP cannot keep");
    if (!zone_there && zoned)
        return fail(why, "has no time zone (Z or +HH:MM), which TIMESTAMP_LTZ needs");
    if (digits > precision || digits > 9)
        return fail(why, "has more digits of a second than the type");
    if (precision > 6) {
        int64_t seconds = days * 86400 - zone;

        if (__builtin_mul_overflow(seconds, INT64_C(1000000000), out) || __builtin_add_overflow(*out, nanos, out))
            return fail(why, "is out of range");
        return true;
    }
    *out = (days * 86400 - zone) * INT64_C(1000000) + nanos / 1000;
    return true;
}

/* ---- bytes and texts ---- */

static int base64_value(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool sl_text_from_base64(sl_str text, struct sl_buf *out, const char **why)
{
    static const char *const form = "is not base64 (standard alphabet, padded with =)";
    size_t pad = 0;

    sl_buf_reset(out);
    if (text.n % 4 != 0)
        return fail(why, form);
    while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
        pad++;
    if (!sl_buf_room(out, text.n / 4 * 3))
        return fail(why, "does not fit in memory");
    for (size_t i = 0; i < text.n; i += 4) {
        size_t chars = i + 4 == text.n ? 4 - pad : 4;
        uint32_t bits = 0;

        for (size_t j = 0; j < 4; j++) {
            int v = j < chars ? base64_value((unsigned char)text.p[i + j]) : 0;

            if (v < 0)
                return fail(why, form);
            bits = bits << 6 | (uint32_t)v;
        }
        /* Bits behind the last byte must be zero, or two texts would mean the same bytes. */
        if ((chars == 2 && (bits & 0xffff)) || (chars == 3 && (bits & 0xff)))
            return fail(why, form);
        for (size_t j = 0; j + 1 < chars; j++)
            out->p[out->n++] = (char)(bits >> (16 - 8 * j));
    }
    return true;
}

size_t sl_utf8_count(sl_str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}
