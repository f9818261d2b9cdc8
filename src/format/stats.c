/* stats.c - statistics of columns: reading them, and cutting long bounds. */
#include "format/paimon.h"

#include <string.h>

bool sl_stats_column(const struct sl_stats *st, const struct sl_type *const *types, size_t ntypes, size_t i, struct sl_col_stats *out)
{
    struct sl_value *room;
    bool known = false;

    memset(out, 0, sizeof *out);
    if (i >= ntypes)
        return false;
    if (st->nnull_counts == ntypes && st->null_counts[i] >= 0) {
        out->has_nulls = true;
        out->null_count = st->null_counts[i];
        known = true;
    }
    room = sl_calloc(ntypes, sizeof *room);
    if (!room)
        return known;
    if (sl_binrow_decode(st->min, types, ntypes, room, NULL) == SL_OK && !room[i].null) {
        out->min = room[i];
        if (sl_binrow_decode(st->max, types, ntypes, room, NULL) == SL_OK && !room[i].null) {
            out->max = room[i];
            out->has_bounds = sl_type_atomic(types[i]);
        }
    }
    sl_free(room);
    return known || out->has_bounds;
}

/* Bytes of the first N code points of S; all of it if it has no more. */
static size_t prefix(sl_str s, size_t n)
{
    size_t i = 0;

    for (; i < s.n; i++)
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

static uint32_t code_point(const unsigned char *p, size_t n)
{
    if (n == 1)
        return p[0];
    if (n == 2)
        return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    if (n == 3)
        return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}

static size_t put_code_point(unsigned char *p, uint32_t c)
{
    if (c < 0x80) {
        p[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        p[0] = (unsigned char)(0xc0 | c >> 6);
        p[1] = (unsigned char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        p[0] = (unsigned char)(0xe0 | c >> 12);
        p[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        p[2] = (unsigned char)(0x80 | (c & 0x3f));
        return 3;
    }
    p[0] = (unsigned char)(0xf0 | c >> 18);
    p[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
    p[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    p[3] = (unsigned char)(0x80 | (c & 0x3f));
    return 4;
}

/* The least text above all that start with the N bytes at P, in place; 0 if there is none. Room for 4 more bytes. */
static size_t text_above(unsigned char *p, size_t n)
{
    while (n > 0) {
        size_t start = n - 1;

        while (start > 0 && (p[start] & 0xc0) == 0x80)
            start--;
        uint32_t c = code_point(p + start, n - start) + 1;
        if (c == 0xd800)
            c = 0xe000;
        if (c <= 0x10ffff)
            return start + put_code_point(p + start, c);
        n = start;
    }
    return 0;
}

static size_t bytes_above(unsigned char *p, size_t n)
{
    while (n > 0) {
        if (p[n - 1] != 0xff) {
            p[n - 1]++;
            return n;
        }
        n--;
    }
    return 0;
}

bool sl_stats_truncate(struct sl_arena *a, bool is_text, size_t n, struct sl_value *min, struct sl_value *max)
{
    size_t low = is_text ? prefix(min->u.s, n) : min->u.s.n < n ? min->u.s.n : n;
    size_t high = is_text ? prefix(max->u.s, n) : max->u.s.n < n ? max->u.s.n : n;
    unsigned char *copy;

    min->u.s.n = low;
    if (high == max->u.s.n)
        return true;
    copy = sl_arena_alloc(a, high + 4);
    if (!copy)
        return false;
    memcpy(copy, max->u.s.p, high);
    high = is_text ? text_above(copy, high) : bytes_above(copy, high);
    max->u.s = (sl_str){(const char *)copy, high};
    return high > 0;
}
