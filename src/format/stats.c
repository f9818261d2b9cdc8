/* stats.c - what the statistics of a file say of a column. */
#include <math.h>
#include <string.h>

#include "format/format_priv.h"
#include "format/paimon.h"

static bool is_nan(const struct sl_value *v)
{
    return (v->kind == SL_FLOAT || v->kind == SL_DOUBLE) && isnan(v->u.f);
}

bool sl_stats_column(const struct sl_stats *st, const struct sl_type *const *types, size_t ntypes, size_t i, struct sl_col_stats *out)
{
    *out = (struct sl_col_stats){0};
    if (i >= ntypes)
        return false;
    if (st->nnull_counts == ntypes && st->null_counts[i] >= 0) {
        out->has_nulls = true;
        out->null_count = st->null_counts[i];
    }
    if (sl_binrow_column(st->min, types, ntypes, i, &out->min) && sl_binrow_column(st->max, types, ntypes, i, &out->max) &&
        !out->min.null && !out->max.null && !is_nan(&out->min) && !is_nan(&out->max))
        out->has_bounds = sl_value_cmp(&out->min, &out->max) <= 0;
    return out->has_nulls || out->has_bounds;
}

static size_t code_point_size(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static uint32_t code_point(const char *p, size_t n)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)p[0] & masks[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

static size_t put_code_point(char *p, uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n; i-- > 1; c >>= 6)
        p[i] = (char)(0x80 | (c & 0x3f));
    p[0] = (char)(lead[n] | c);
    return n;
}

/* Bytes of the first N code points (bytes) of S. */
static size_t cut(sl_str s, bool is_text, size_t n)
{
    size_t at = 0;

    if (!is_text)
        return s.n < n ? s.n : n;
    for (; n > 0 && at < s.n; n--)
        at += code_point_size((unsigned char)s.p[at]);
    return at;
}

/* P becomes the least value of at most its length that is above all values that start with it. */
static bool raise_bound(char *p, size_t *n, bool is_text)
{
    while (*n > 0) {
        size_t last = *n - 1;

        if (!is_text) {
            *n = last;
            if ((unsigned char)p[last] != 0xff) {
                p[last]++;
                *n = last + 1;
                return true;
            }
            continue;
        }
        while (last > 0 && ((unsigned char)p[last] & 0xc0) == 0x80)
            last--;
        uint32_t c = code_point(p + last, *n - last) + 1;
        *n = last;
        if (c == 0xd800)
            c = 0xe000;
        if (c <= 0x10ffff) {
            *n += put_code_point(p + last, c);
            return true;
        }
    }
    return false;
}

bool sl_stats_truncate(struct sl_arena *a, bool is_text, size_t n, struct sl_value *min, struct sl_value *max)
{
    if (is_text && (!sl_utf8_valid(min->u.s, NULL) || !sl_utf8_valid(max->u.s, NULL)))
        return false;
    min->u.s.n = cut(min->u.s, is_text, n);
    size_t kept = cut(max->u.s, is_text, n);
    if (kept == max->u.s.n)
        return true;
    char *p = sl_arena_alloc(a, kept + 4); /* the next code point may be one byte longer */
    if (!p)
        return false;
    memcpy(p, max->u.s.p, kept);
    if (!raise_bound(p, &kept, is_text))
        return false;
    max->u.s = (sl_str){p, kept};
    return true;
}
