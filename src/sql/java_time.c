#include "sql/java_time.h"

#include <stdio.h>
#include <string.h>

#include "base/sys.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};

/* Letters with the most times that each may stand, and as what strftime knows it by that count (1,
 * 2, 3, 4). */
static const struct letter {
    char letter;
    uint8_t most;
    const char *native[5];
} letters[] = {
    {'y', 9, {NULL, NULL, "%y", NULL, "%Y"}},  {'u', 9, {NULL, NULL, "%y", NULL, "%Y"}},
    {'M', 4, {NULL, "%-m", "%m", "%b", "%B"}}, {'L', 4, {NULL, "%-m", "%m", "%b", "%B"}},
    {'d', 2, {NULL, "%-d", "%d", NULL, NULL}}, {'D', 3, {NULL, "%-j", NULL, "%j", NULL}},
    {'H', 2, {NULL, "%-H", "%H", NULL, NULL}}, {'k', 2, {NULL, NULL, NULL, NULL, NULL}},
    {'h', 2, {NULL, "%-I", "%I", NULL, NULL}}, {'K', 2, {NULL, NULL, NULL, NULL, NULL}},
    {'m', 2, {NULL, "%-M", "%M", NULL, NULL}}, {'s', 2, {NULL, "%-S", "%S", NULL, NULL}},
    {'S', 9, {NULL, NULL, NULL, "%g", NULL}},  {'a', 1, {NULL, "%p", NULL, NULL, NULL}},
    {'E', 4, {NULL, "%a", "%a", "%a", "%A"}},  {'Q', 2, {NULL, NULL, NULL, NULL, NULL}},
};

static const struct letter *find_letter(char c)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == c)
            return &letters[i];
    return NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_text(const struct sl_java_item *it)
{
    return it->letter == 'a' || it->letter == 'E' ||
           ((it->letter == 'M' || it->letter == 'L') && it->count > 2);
}

static bool is_number(const struct sl_java_item *it)
{
    return it->letter && !is_text(it);
}

/* ---- the pattern ---- */

static int pattern_error(sl_str pattern, size_t at, sl_err *err, const char *what)
{
    sl_err_set(err, SL_EINPUT, "in the pattern '" SL_STRF "' %s", SL_STRV(pattern), what);
    sl_err_hint(err, "letters are y u M L d D H k h K a m s S E Q, other text stands in quotes, as "
                     "in 'yyyy-MM-dd''T''HH:mm'");
    sl_err_at(err, (int64_t)at);
    return SL_EINPUT;
}

static int add_item(struct sl_java_pattern *out, char letter, size_t count, char byte,
                    sl_str pattern, size_t at, sl_err *err)
{
    if (out->n == SL_JAVA_ITEMS)
        return pattern_error(pattern, at, err, "there is too much text");
    out->v[out->n++] = (struct sl_java_item){letter, (uint8_t)count, byte};
    return SL_OK;
}

/* 'text' from the quote at *I on; '' is a quote itself. */
static int add_quoted(sl_str pattern, size_t *i, struct sl_java_pattern *out, sl_err *err)
{
    const size_t start = *i;
    size_t k = start + 1;

    if (k < pattern.n && pattern.p[k] == '\'') {
        *i = k + 1;
        return add_item(out, 0, 0, '\'', pattern, start, err);
    }
    for (; k < pattern.n; k++) {
        if (pattern.p[k] == '\'') {
            if (k + 1 == pattern.n || pattern.p[k + 1] != '\'') {
                *i = k + 1;
                return SL_OK;
            }
            k++;
        }
        SL_TRY(add_item(out, 0, 0, pattern.p[k], pattern, k, err));
    }
    return pattern_error(pattern, start, err, "a quote is not closed");
}

int sl_java_pattern_parse(sl_str pattern, struct sl_java_pattern *out, sl_err *err)
{
    size_t i = 0;

    out->n = 0;
    while (i < pattern.n) {
        const char c = pattern.p[i];
        size_t run = 1;

        if (c == '\'') {
            SL_TRY(add_quoted(pattern, &i, out, err));
            continue;
        }
        if (!is_letter(c)) {
            if (memchr("[]{}#", c, 5))
                return pattern_error(pattern, i, err, "brackets and # are not supported");
            SL_TRY(add_item(out, 0, 0, c, pattern, i, err));
            i++;
            continue;
        }
        while (i + run < pattern.n && pattern.p[i + run] == c)
            run++;
        const struct letter *l = find_letter(c);
        if (!l || run > l->most) {
            char what[80];

            snprintf(what, sizeof what,
                     l ? "the letter %c stands more than %d times"
                       : "the letter %c is not supported",
                     c, l ? l->most : 0);
            return pattern_error(pattern, i, err, what);
        }
        SL_TRY(add_item(out, c, run, 0, pattern, i, err));
        i += run;
    }
    return SL_OK;
}

bool sl_java_pattern_native(const struct sl_java_pattern *p, struct sl_buf *out)
{
    const size_t before = out->n;

    for (size_t i = 0; i < p->n; i++) {
        const struct sl_java_item *it = &p->v[i];
        const char *native = NULL;

        if (!it->letter) {
            sl_buf_ch(out, it->byte);
            if (it->byte == '%')
                sl_buf_ch(out, '%');
            continue;
        }
        if (it->letter == 'S' && it->count == 6)
            native = "%f";
        else if (it->count <= 4)
            native = find_letter(it->letter)->native[it->count];
        if (!native) {
            out->n = before;
            return false;
        }
        sl_buf_addc(out, native);
    }
    return true;
}

/* ---- out ---- */

struct moment {
    int64_t year, days;
    int month, day, hour, minute, second;
    int64_t micros;
};

static void split(int64_t micros, struct moment *m)
{
    int64_t days = micros / 86400000000, rest = micros % 86400000000;

    if (rest < 0) {
        rest += 86400000000;
        days--;
    }
    m->days = days;
    sl_days_to_civil(days, &m->year, &m->month, &m->day);
    m->hour = (int)(rest / 3600000000);
    m->minute = (int)(rest / 60000000 % 60);
    m->second = (int)(rest / 1000000 % 60);
    m->micros = rest % 1000000;
}

static int weekday_of(int64_t days) /* 0 = Monday */
{
    return (int)(((days + 3) % 7 + 7) % 7);
}

static void put_year(struct sl_buf *out, int64_t year, int count)
{
    if (count == 2)
        sl_buf_printf(out, "%02d", (int)((year < 0 ? -year : year) % 100));
    else if (year < 0) /* as strftime, so that both ways agree */
        sl_buf_printf(out, "%lld", (long long)year);
    else
        sl_buf_printf(out, "%0*lld", count, (long long)year);
}

static void put_name(struct sl_buf *out, const char *name, bool whole)
{
    sl_buf_add(out, whole ? sl_str_c(name) : sl_str_sub(sl_str_c(name), 0, 3));
}

static void put_fraction(struct sl_buf *out, int64_t micros, int count)
{
    char digits[16];

    snprintf(digits, sizeof digits, "%06d000", (int)micros);
    sl_buf_addb(out, digits, (size_t)count);
}

static void put_item(struct sl_buf *out, const struct sl_java_item *it, const struct moment *m)
{
    int64_t v = 0;

    switch (it->letter) {
    case 0:
        sl_buf_ch(out, it->byte);
        return;
    case 'y':
    case 'u':
        put_year(out, m->year, it->count);
        return;
    case 'M':
    case 'L':
        if (it->count > 2) {
            put_name(out, months[m->month - 1], it->count == 4);
            return;
        }
        v = m->month;
        break;
    case 'E':
        put_name(out, weekdays[weekday_of(m->days)], it->count == 4);
        return;
    case 'a':
        sl_buf_addc(out, m->hour < 12 ? "AM" : "PM");
        return;
    case 'S':
        put_fraction(out, m->micros, it->count);
        return;
    case 'd':
        v = m->day;
        break;
    case 'D':
        v = m->days - sl_civil_to_days(m->year, 1, 1) + 1;
        break;
    case 'H':
        v = m->hour;
        break;
    case 'k':
        v = m->hour == 0 ? 24 : m->hour;
        break;
    case 'h':
        v = m->hour % 12 == 0 ? 12 : m->hour % 12;
        break;
    case 'K':
        v = m->hour % 12;
        break;
    case 'm':
        v = m->minute;
        break;
    case 's':
        v = m->second;
        break;
    case 'Q':
        v = (m->month + 2) / 3;
        break;
    }
    sl_buf_printf(out, "%0*lld", it->count, (long long)v);
}

void sl_java_format(const struct sl_java_pattern *p, int64_t micros, struct sl_buf *out)
{
    struct moment m;

    if (micros == INT64_MAX || micros == -INT64_MAX) {
        sl_buf_addc(out, micros > 0 ? "infinity" : "-infinity");
        return;
    }
    split(micros, &m);
    for (size_t i = 0; i < p->n; i++)
        put_item(out, &p->v[i], &m);
}

/* ---- in ---- */

struct parsed {
    int64_t year, month, day, day_of_year, hour, half_hour, half, minute, second, micros, weekday;
};

static size_t digits_at(sl_str s, size_t i)
{
    size_t n = 0;

    while (i + n < s.n && s.p[i + n] >= '0' && s.p[i + n] <= '9')
        n++;
    return n;
}

/* How many digits item I takes: a single letter takes what the numbers right behind it leave. */
static size_t width_of(const struct sl_java_pattern *p, size_t i, size_t available)
{
    const struct sl_java_item *it = &p->v[i];
    size_t behind = 0, most = it->count;

    if (it->letter == 'S' || (it->count == 2 && strchr("yu", it->letter)))
        return it->count;
    for (size_t k = i + 1; k < p->n && is_number(&p->v[k]); k++)
        behind += p->v[k].count;
    if (strchr("yu", it->letter))
        most = 6;
    else if (it->count == 1)
        most = it->letter == 'D' ? 3 : 2;
    size_t n = available > behind ? available - behind : 0;
    if (behind > 0 && it->count > 1)
        n = it->count;
    if (n > most)
        n = most;
    return n < it->count ? it->count : n;
}

static bool match_name(sl_str text, size_t *at, const char *name, bool whole)
{
    sl_str want = whole ? sl_str_c(name) : sl_str_sub(sl_str_c(name), 0, 3);
    char buffer[16];

    memcpy(buffer, want.p, want.n);
    buffer[want.n] = '\0';
    if (text.n - *at < want.n || !sl_str_ieqc(sl_str_sub(text, *at, *at + want.n), buffer))
        return false;
    *at += want.n;
    return true;
}

static bool take_text(const struct sl_java_item *it, sl_str text, size_t *at, struct parsed *out)
{
    if (it->letter == 'a') {
        out->half = match_name(text, at, "AM", true)   ? 0
                    : match_name(text, at, "PM", true) ? 1
                                                       : -1;
        return out->half >= 0;
    }
    const bool month = it->letter != 'E';
    for (int i = 0; i < (month ? 12 : 7); i++) {
        if (!match_name(text, at, month ? months[i] : weekdays[i], it->count == 4))
            continue;
        if (month)
            out->month = i + 1;
        else
            out->weekday = i;
        return true;
    }
    return false;
}

static bool in_range(int64_t v, int64_t least, int64_t most)
{
    return v >= least && v <= most;
}

static bool store(const struct sl_java_item *it, int64_t v, struct parsed *out)
{
    switch (it->letter) {
    case 'y':
    case 'u':
        out->year = it->count == 2 ? 2000 + v : v;
        return true;
    case 'M':
    case 'L':
        out->month = v;
        return in_range(v, 1, 12);
    case 'Q':
        out->month = 3 * v - 2;
        return in_range(v, 1, 4);
    case 'd':
        out->day = v;
        return in_range(v, 1, 31);
    case 'D':
        out->day_of_year = v;
        return in_range(v, 1, 366);
    case 'H':
        out->hour = v;
        return in_range(v, 0, 23);
    case 'k':
        out->hour = v % 24;
        return in_range(v, 1, 24);
    case 'h':
        out->half_hour = v % 12;
        return in_range(v, 1, 12);
    case 'K':
        out->half_hour = v;
        return in_range(v, 0, 11);
    case 'm':
        out->minute = v;
        return in_range(v, 0, 59);
    case 's':
        out->second = v;
        return in_range(v, 0, 59);
    }
    return false;
}

static bool take_number(const struct sl_java_pattern *p, size_t i, sl_str text, size_t *at,
                        struct parsed *out)
{
    const struct sl_java_item *it = &p->v[i];
    const bool minus = strchr("yu", it->letter) && *at < text.n && text.p[*at] == '-';
    size_t available, width;
    int64_t v = 0;

    *at += minus;
    available = digits_at(text, *at);
    width = width_of(p, i, available);
    if (available < width)
        return false;
    for (size_t k = 0; k < width; k++)
        v = v * 10 + (text.p[*at + k] - '0');
    *at += width;
    if (it->letter == 'S') {
        for (size_t k = width; k < 9; k++)
            v *= 10;
        out->micros = v / 1000;
        return v % 1000 == 0;
    }
    return store(it, minus ? -v : v, out);
}

static bool assemble(const struct parsed *in, int64_t *micros)
{
    int64_t y, days;
    int m, d;

    if (in->day_of_year > 0) {
        days = sl_civil_to_days(in->year, 1, 1) + in->day_of_year - 1;
        sl_days_to_civil(days, &y, &m, &d);
        if (y != in->year)
            return false;
    } else {
        days = sl_civil_to_days(in->year, (int)in->month, (int)in->day);
        sl_days_to_civil(days, &y, &m, &d);
        if (m != in->month || d != in->day)
            return false;
    }
    if (in->weekday >= 0 && in->weekday != weekday_of(days))
        return false;
    int64_t hour = in->hour >= 0 ? in->hour : 0;
    if (in->half_hour >= 0)
        hour = in->half_hour + 12 * (in->half > 0);
    else if (in->half >= 0 && in->hour >= 0 && (in->hour >= 12) != (in->half == 1))
        return false;
    if (days > 106751990 || days < -106751990) /* what 64 bits of microseconds hold */
        return false;
    *micros =
        days * 86400000000 + ((hour * 60 + in->minute) * 60 + in->second) * 1000000 + in->micros;
    return true;
}

int sl_java_parse(const struct sl_java_pattern *p, sl_str text, int64_t *micros, sl_err *err)
{
    struct parsed parts = {
        .year = 1970, .month = 1, .day = 1, .hour = -1, .half_hour = -1, .half = -1, .weekday = -1};
    size_t at = 0;
    bool ok = true;

    for (size_t i = 0; i < p->n && ok; i++) {
        const struct sl_java_item *it = &p->v[i];

        if (!it->letter)
            ok = at < text.n && text.p[at++] == it->byte;
        else if (is_text(it))
            ok = take_text(it, text, &at, &parts);
        else
            ok = take_number(p, i, text, &at, &parts);
    }
    if (ok && at == text.n && assemble(&parts, micros))
        return SL_OK;
    sl_err_set(err, SL_EINPUT, "the text '" SL_STRF "' is no time by the pattern",
               (int)(text.n > 80 ? 80 : text.n), text.p);
    return SL_EINPUT;
}
