#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- views ---- */

sl_str sl_str_c(const char *s)
{
    return (sl_str){s ? s : "", s ? strlen(s) : 0};
}

bool sl_str_eq(sl_str a, sl_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool sl_str_eqc(sl_str a, const char *b)
{
    return sl_str_eq(a, sl_str_c(b));
}

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool sl_str_ieqc(sl_str a, const char *b)
{
    if (strlen(b) != a.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (fold(a.p[i]) != fold(b[i]))
            return false;
    return true;
}

int sl_str_cmp(sl_str a, sl_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

bool sl_str_starts(sl_str s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool sl_str_ends(sl_str s, const char *suffix)
{
    size_t n = strlen(suffix);

    return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

sl_str sl_str_sub(sl_str s, size_t from, size_t to)
{
    if (to > s.n)
        to = s.n;
    if (from > to)
        from = to;
    return (sl_str){s.p ? s.p + from : NULL, to - from};
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

sl_str sl_str_trim(sl_str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

ptrdiff_t sl_str_find(sl_str s, sl_str needle)
{
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return -1;
    const char *at = memmem(s.p, s.n, needle.p, needle.n);
    return at ? at - s.p : -1;
}

/* Length of the well-formed sequence at P (Unicode 15, table 3-7), 0 if there is none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char c = p[0], low = 0x80, high = 0xBF;
    size_t n;

    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c <= 0xDF)
        n = 2;
    else if (c >= 0xE0 && c <= 0xEF)
        n = 3;
    else if (c >= 0xF0 && c <= 0xF4)
        n = 4;
    else
        return 0;
    if (left < n)
        return 0;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

bool sl_utf8_valid(sl_str s, size_t *bad_at)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;

    while (i < s.n) {
        uint64_t word;

        while (s.n - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if (word & 0x8080808080808080u)
                break;
            i += sizeof word;
        }
        if (i == s.n)
            break;
        size_t n = utf8_sequence(p + i, s.n - i);
        if (n == 0) {
            if (bad_at)
                *bad_at = i;
            return false;
        }
        i += n;
    }
    return true;
}

/* ---- owned bytes ---- */

char *sl_buf_room(struct sl_buf *b, size_t n)
{
    size_t need, cap;

    if (b->failed)
        return NULL;
    if (!sl_size_add(b->n, n, &need) || !sl_size_add(need, 1, &need)) {
        b->failed = true;
        return NULL;
    }
    if (need > b->cap) {
        cap = b->cap + b->cap / 2;
        if (cap < need)
            cap = need;
        if (cap < 64)
            cap = 64;
        char *p = sl_realloc(b->p, cap);
        if (!p) {
            b->failed = true;
            return NULL;
        }
        b->p = p;
        b->cap = cap;
    }
    b->p[b->n] = '\0';
    return b->p + b->n;
}

void sl_buf_addb(struct sl_buf *b, const void *p, size_t n)
{
    char *to = sl_buf_room(b, n);

    if (!to)
        return;
    if (n)
        memcpy(to, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void sl_buf_add(struct sl_buf *b, sl_str s)
{
    sl_buf_addb(b, s.p, s.n);
}

void sl_buf_addc(struct sl_buf *b, const char *s)
{
    sl_buf_addb(b, s, strlen(s));
}

void sl_buf_ch(struct sl_buf *b, char c)
{
    sl_buf_addb(b, &c, 1);
}

void sl_buf_vprintf(struct sl_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    char *to = sl_buf_room(b, 128);

    if (!to)
        return;
    va_copy(again, ap);
    int n = vsnprintf(to, b->cap - b->n, fmt, ap);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t)n < b->cap - b->n) {
        b->n += (size_t)n;
    } else if ((to = sl_buf_room(b, (size_t)n)) != NULL) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    if (b->p)
        b->p[b->n] = '\0';
    va_end(again);
}

void sl_buf_printf(struct sl_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    sl_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

static void add_quoted(struct sl_buf *b, sl_str s, char quote)
{
    sl_buf_ch(b, quote);
    while (s.n) {
        const char *at = memchr(s.p, quote, s.n);
        size_t n = at ? (size_t)(at - s.p) + 1 : s.n;

        sl_buf_addb(b, s.p, n);
        if (at)
            sl_buf_ch(b, quote);
        s = sl_str_sub(s, n, s.n);
    }
    sl_buf_ch(b, quote);
}

void sl_buf_sql_ident(struct sl_buf *b, sl_str name)
{
    add_quoted(b, name, '"');
}

void sl_buf_sql_string(struct sl_buf *b, sl_str text)
{
    add_quoted(b, text, '\'');
}

void sl_buf_u8(struct sl_buf *b, uint8_t v)
{
    sl_buf_addb(b, &v, 1);
}

void sl_buf_u32be(struct sl_buf *b, uint32_t v)
{
    unsigned char x[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                          (unsigned char)v};

    sl_buf_addb(b, x, sizeof x);
}

void sl_buf_u32le(struct sl_buf *b, uint32_t v)
{
    unsigned char x[4] = {(unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 24)};

    sl_buf_addb(b, x, sizeof x);
}

void sl_buf_u64le(struct sl_buf *b, uint64_t v)
{
    sl_buf_u32le(b, (uint32_t)v);
    sl_buf_u32le(b, (uint32_t)(v >> 32));
}

int sl_buf_ok(const struct sl_buf *b, sl_err *err)
{
    return b->failed ? sl_err_nomem(err) : SL_OK;
}

sl_str sl_buf_view(const struct sl_buf *b)
{
    return (sl_str){b->p ? b->p : "", b->n};
}

void sl_buf_reset(struct sl_buf *b)
{
    b->n = 0;
    b->failed = false;
    if (b->p)
        b->p[0] = '\0';
}

void sl_buf_release(struct sl_buf *b)
{
    sl_free(b->p);
    *b = (struct sl_buf)SL_BUF_INIT;
}

char *sl_buf_take(struct sl_buf *b)
{
    char *p = NULL;

    if (sl_buf_room(b, 0)) {
        p = b->p;
        b->p = NULL;
    }
    sl_buf_release(b);
    return p;
}

/* ---- reader ---- */

struct sl_cur sl_cur_of(sl_str s)
{
    const unsigned char *p = (const unsigned char *)(s.p ? s.p : "");

    return (struct sl_cur){p, p, p + s.n, false};
}

size_t sl_cur_left(const struct sl_cur *c)
{
    return (size_t)(c->end - c->p);
}

size_t sl_cur_pos(const struct sl_cur *c)
{
    return (size_t)(c->p - c->start);
}

sl_str sl_cur_bytes(struct sl_cur *c, size_t n)
{
    if (c->bad || sl_cur_left(c) < n) {
        c->bad = true;
        return (sl_str){"", 0};
    }
    sl_str s = {(const char *)c->p, n};
    c->p += n;
    return s;
}

uint8_t sl_cur_u8(struct sl_cur *c)
{
    if (c->bad || c->p == c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}

uint32_t sl_cur_u32be(struct sl_cur *c)
{
    sl_str s = sl_cur_bytes(c, 4);
    const unsigned char *p = (const unsigned char *)s.p;

    return s.n ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

uint32_t sl_cur_u32le(struct sl_cur *c)
{
    sl_str s = sl_cur_bytes(c, 4);
    const unsigned char *p = (const unsigned char *)s.p;

    return s.n ? (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0] : 0;
}

uint64_t sl_cur_u64le(struct sl_cur *c)
{
    sl_str s = sl_cur_bytes(c, 8);
    struct sl_cur both = sl_cur_of(s);

    if (!s.n)
        return 0;
    uint64_t low = sl_cur_u32le(&both);
    return low | (uint64_t)sl_cur_u32le(&both) << 32;
}

int64_t sl_cur_zigzag(struct sl_cur *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = sl_cur_u8(c);

        if (c->bad)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return (int64_t)(v >> 1 ^ (0 - (v & 1)));
    }
    c->bad = true;
    return 0;
}

/* ---- growable arrays ---- */

bool sl_vec_grow(void **v, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t more = *cap ? *cap + *cap / 2 + 1 : 8;
        void *p = sl_reallocarray(*v, more, size);

        if (!p)
            return false;
        *v = p;
        *cap = more;
    }
    memset((char *)*v + *n * size, 0, size);
    (*n)++;
    return true;
}
