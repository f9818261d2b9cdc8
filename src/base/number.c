#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool sl_parse_u64(sl_str s, uint64_t *out)
{
    uint64_t v = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]) || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

bool sl_parse_i64(sl_str s, int64_t *out)
{
    bool negative = s.n && s.p[0] == '-';
    uint64_t v;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = sl_str_sub(s, 1, s.n);
    if (!sl_parse_u64(s, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod takes more than we want (hex, leading space, nan(x)), so the characters are checked first. */
static bool is_decimal(sl_str s)
{
    size_t i = 0, digits = 0;

    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
        i++;
    for (; i < s.n && is_digit(s.p[i]); i++)
        digits++;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && is_digit(s.p[i]); i++)
            digits++;
    if (digits == 0)
        return false;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
            i++;
        if (i == s.n)
            return false;
        while (i < s.n && is_digit(s.p[i]))
            i++;
    }
    return i == s.n;
}

static bool parse_special(sl_str s, double *out)
{
    bool negative = s.n && s.p[0] == '-';

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = sl_str_sub(s, 1, s.n);
    if (sl_str_ieqc(s, "inf") || sl_str_ieqc(s, "infinity"))
        *out = negative ? -__builtin_inf() : __builtin_inf();
    else if (sl_str_ieqc(s, "nan"))
        *out = __builtin_nan("");
    else
        return false;
    return true;
}

bool sl_parse_f64(sl_str s, double *out)
{
    char small[64], *text = small;

    if (!is_decimal(s))
        return parse_special(s, out);
    pthread_once(&c_locale_once, make_c_locale);
    if (s.n >= sizeof small && !(text = sl_malloc(s.n + 1)))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    double v = c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
    if (text != small)
        sl_free(text);
    if (__builtin_isinf(v))
        return false;
    *out = v;
    return true;
}

/* Digits, plain or in groups of three ("4,194,304"), at the start of S; returns how many characters. */
static size_t leading_number(sl_str s, uint64_t *out)
{
    char digits[32];
    size_t n = 0, i = 0, since_comma = 0;
    bool commas = false;

    for (; i < s.n && n < sizeof digits; i++) {
        if (is_digit(s.p[i])) {
            digits[n++] = s.p[i];
            since_comma++;
        } else if (s.p[i] == ',' && n > 0 && (commas ? since_comma == 3 : since_comma <= 3)) {
            commas = true;
            since_comma = 0;
        } else {
            break;
        }
    }
    if ((commas && since_comma != 3) || !sl_parse_u64((sl_str){digits, n}, out))
        return 0;
    return i;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static bool parse_with_unit(sl_str s, const struct unit *units, uint64_t *out)
{
    uint64_t v;
    size_t n;

    s = sl_str_trim(s);
    n = leading_number(s, &v);
    if (n == 0)
        return false;
    s = sl_str_trim(sl_str_sub(s, n, s.n));
    for (; units->name; units++)
        if (sl_str_ieqc(s, units->name))
            return !__builtin_mul_overflow(v, units->factor, out);
    return false;
}

bool sl_parse_bytes(sl_str s, uint64_t *out)
{
    static const struct unit units[] = {
        {"", 1}, {"b", 1}, {"byte", 1}, {"bytes", 1},
        {"k", 1ull << 10}, {"kb", 1ull << 10}, {"kib", 1ull << 10},
        {"m", 1ull << 20}, {"mb", 1ull << 20}, {"mib", 1ull << 20},
        {"g", 1ull << 30}, {"gb", 1ull << 30}, {"gib", 1ull << 30},
        {"t", 1ull << 40}, {"tb", 1ull << 40}, {"tib", 1ull << 40},
        {NULL, 0},
    };

    return parse_with_unit(s, units, out);
}

bool sl_parse_millis(sl_str s, uint64_t *out)
{
    static const struct unit units[] = {
        {"", 1000}, {"ms", 1}, {"millis", 1}, {"millisecond", 1}, {"milliseconds", 1},
        {"s", 1000}, {"sec", 1000}, {"secs", 1000}, {"second", 1000}, {"seconds", 1000},
        {"m", 60000}, {"min", 60000}, {"mins", 60000}, {"minute", 60000}, {"minutes", 60000},
        {"h", 3600000}, {"hour", 3600000}, {"hours", 3600000},
        {"d", 86400000}, {"day", 86400000}, {"days", 86400000},
        {NULL, 0},
    };

    return parse_with_unit(s, units, out);
}
