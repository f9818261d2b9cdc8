/* hudi_properties.c - the syntax of Java properties files. */
#include "format/hudi_properties.h"

#include <string.h>

#include "base/sys.h"
#include "format/format_priv.h"

/* ---- reading ---- */

struct reader {
    const char *p, *end;
    bool latin1;          /* bytes above 0x7f are characters of ISO 8859-1 */
    struct sl_buf text;   /* of the key or value that is read */
    sl_err *err;
    size_t line;
};

static int bad_line(struct reader *r, const char *what)
{
    return sl_err_set(r->err, SL_ECORRUPT, "the properties are damaged at line %zu: %s", r->line, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool at_line_end(const struct reader *r)
{
    return r->p == r->end || *r->p == '\n' || *r->p == '\r';
}

static void next_line(struct reader *r)
{
    if (r->p < r->end && *r->p == '\r')
        r->p++;
    if (r->p < r->end && *r->p == '\n')
        r->p++;
    r->line++;
}

static void put_code_point(struct sl_buf *out, uint32_t c)
{
    if (c < 0x80) {
        sl_buf_ch(out, (char)c);
    } else if (c < 0x800) {
        sl_buf_ch(out, (char)(0xc0 | c >> 6));
        sl_buf_ch(out, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        sl_buf_ch(out, (char)(0xe0 | c >> 12));
        sl_buf_ch(out, (char)(0x80 | (c >> 6 & 0x3f)));
        sl_buf_ch(out, (char)(0x80 | (c & 0x3f)));
    } else {
        sl_buf_ch(out, (char)(0xf0 | c >> 18));
        sl_buf_ch(out, (char)(0x80 | (c >> 12 & 0x3f)));
        sl_buf_ch(out, (char)(0x80 | (c >> 6 & 0x3f)));
        sl_buf_ch(out, (char)(0x80 | (c & 0x3f)));
    }
}

/* A byte of the file. */
static void put_char(struct reader *r, char c)
{
    if ((unsigned char)c >= 0x80 && r->latin1)
        put_code_point(&r->text, (unsigned char)c);
    else
        sl_buf_ch(&r->text, c);
}

/* Four digits after "\u", at p. */
static int hex4(struct reader *r, uint32_t *out)
{
    *out = 0;
    if (r->end - r->p < 4)
        return bad_line(r, "an escape \\uXXXX is cut off");
    for (int i = 0; i < 4; i++) {
        char c = *r->p++;
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

        if (d < 0)
            return bad_line(r, "an escape \\uXXXX has a letter that is no digit");
        *out = *out * 16 + (uint32_t)d;
    }
    return SL_OK;
}

static int unicode(struct reader *r)
{
    uint32_t c, low;

    SL_TRY(hex4(r, &c));
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'u') {
        r->p += 2;
        SL_TRY(hex4(r, &low));
        if (low < 0xdc00 || low > 0xdfff)
            return bad_line(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000))
        return bad_line(r, c ? "half of a surrogate pair" : "a zero character");
    put_code_point(&r->text, c);
    return SL_OK;
}

/* After a backslash. */
static int escape(struct reader *r)
{
    if (r->p == r->end)
        return SL_OK;
    if (at_line_end(r)) { /* the line goes on */
        next_line(r);
        while (r->p < r->end && is_blank(*r->p))
            r->p++;
        return SL_OK;
    }
    char c = *r->p++;
    if (c == 'u')
        return unicode(r);
    if (c == '\0')
        return bad_line(r, "a zero byte");
    put_char(r, c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c);
    return SL_OK;
}

/* A key (up to '=', ':' or a blank) or a value (up to the end of the line) into text. */
static int take(struct reader *r, bool key)
{
    sl_buf_reset(&r->text);
    while (!at_line_end(r)) {
        unsigned char c = (unsigned char)*r->p;

        if (key && (c == '=' || c == ':' || is_blank((char)c)))
            break;
        r->p++;
        if (c == 0)
            return bad_line(r, "a zero byte");
        if (c == '\\')
            SL_TRY(escape(r));
        else
            put_char(r, (char)c);
    }
    return sl_buf_ok(&r->text, r->err);
}

static int one_line(struct reader *r, struct sl_hudi_properties *out)
{
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    if (r->p < r->end && (*r->p == '#' || *r->p == '!'))
        while (!at_line_end(r))
            r->p++;
    if (at_line_end(r))
        return SL_OK;
    SL_TRY(take(r, true));
    char *key = sl_str_dup(sl_buf_view(&r->text));
    size_t n = r->text.n;
    if (!key)
        return sl_err_nomem(r->err);
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    if (r->p < r->end && (*r->p == '=' || *r->p == ':'))
        r->p++;
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    int rc = take(r, false);
    if (rc == SL_OK)
        rc = sl_hudi_properties_set(out, (sl_str){key, n}, sl_buf_view(&r->text), r->err);
    sl_free(key);
    return rc;
}

int sl_hudi_properties_parse(sl_str bytes, struct sl_hudi_properties *out, sl_err *err)
{
    struct reader r = {.p = bytes.p, .end = bytes.n ? bytes.p + bytes.n : bytes.p, .latin1 = !sl_utf8_valid(bytes, NULL), .err = err, .line = 1};
    int rc = SL_OK;

    *out = (struct sl_hudi_properties)SL_HUDI_PROPERTIES_INIT;
    while (rc == SL_OK && r.p < r.end) {
        rc = one_line(&r, out);
        if (rc == SL_OK)
            next_line(&r);
    }
    sl_buf_release(&r.text);
    if (rc != SL_OK)
        sl_hudi_properties_release(out);
    return rc;
}

void sl_hudi_properties_release(struct sl_hudi_properties *p)
{
    sl_arena_release(&p->arena);
    sl_free(p->v);
    *p = (struct sl_hudi_properties)SL_HUDI_PROPERTIES_INIT;
}

static ptrdiff_t find(const struct sl_hudi_properties *p, sl_str key)
{
    for (size_t i = 0; i < p->n; i++)
        if (sl_str_eq(p->v[i].key, key))
            return (ptrdiff_t)i;
    return -1;
}

sl_str sl_hudi_properties_get(const struct sl_hudi_properties *p, const char *key)
{
    ptrdiff_t i = find(p, sl_str_c(key));

    return i < 0 ? (sl_str){NULL, 0} : p->v[i].value;
}

int sl_hudi_properties_set(struct sl_hudi_properties *p, sl_str key, sl_str value, sl_err *err)
{
    sl_str copy = {sl_arena_strdup(&p->arena, value), value.n};
    ptrdiff_t i = find(p, key);

    if (!copy.p)
        return sl_err_nomem(err);
    if (i < 0) {
        sl_str name = {sl_arena_strdup(&p->arena, key), key.n};
        struct sl_hudi_kv *kv = name.p ? sl_vec_push(p) : NULL;

        if (!kv)
            return sl_err_nomem(err);
        kv->key = name;
        i = (ptrdiff_t)p->n - 1;
    }
    p->v[i].value = copy;
    return SL_OK;
}

void sl_hudi_properties_unset(struct sl_hudi_properties *p, const char *key)
{
    ptrdiff_t i = find(p, sl_str_c(key));

    if (i >= 0) {
        memmove(&p->v[i], &p->v[i + 1], (p->n - (size_t)i - 1) * sizeof *p->v);
        p->n--;
    }
}

/* ---- writing ---- */

void sl_hudi_date_comment(struct sl_buf *out, int64_t now_millis)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t day = now_millis / 86400000 - (now_millis % 86400000 < 0), second = (now_millis - day * 86400000) / 1000, y;
    int m, d;

    sl_days_to_civil(day, &y, &m, &d);
    sl_buf_printf(out, "#%s %s %02d %02d:%02d:%02d UTC %lld\n", days[((day % 7) + 7) % 7], months[m - 1], d, (int)(second / 3600),
                  (int)(second / 60 % 60), (int)(second % 60), (long long)y);
}

static void put_unit(struct sl_buf *out, uint32_t c)
{
    sl_buf_printf(out, "\\u%04X", (unsigned)c);
}

/* One character of UTF-8 at *P, which is moved on; text here was checked when it came in. */
static uint32_t code_point(const unsigned char **p, const unsigned char *end)
{
    unsigned char c = *(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    uint32_t v = more == 3 ? c & 7U : more == 2 ? c & 15U : more == 1 ? c & 31U : c;

    for (; more > 0 && *p < end; more--)
        v = v << 6 | (*(*p)++ & 0x3fU);
    return v;
}

static void put_escaped(struct sl_buf *out, sl_str s, bool key)
{
    const unsigned char *start = (const unsigned char *)s.p, *p = start, *end = s.n ? start + s.n : start;

    while (p < end) {
        bool first = p == start;
        uint32_t c = code_point(&p, end);

        if (c == '\t' || c == '\n' || c == '\r' || c == '\f') {
            sl_buf_ch(out, '\\');
            sl_buf_ch(out, c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : 'f');
        } else if (c >= 0x10000) {
            put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
            put_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
        } else if (c < 0x20 || c > 0x7e) {
            put_unit(out, c);
        } else {
            if (c == '\\' || c == ':' || c == '=' || c == '#' || c == '!' || (c == ' ' && (key || first)))
                sl_buf_ch(out, '\\');
            sl_buf_ch(out, (char)c);
        }
    }
}

int sl_hudi_properties_encode(const struct sl_hudi_properties *p, int64_t now_millis, struct sl_buf *out, sl_err *err)
{
    sl_str name = sl_hudi_properties_get(p, "hoodie.table.name"), database = sl_hudi_properties_get(p, "hoodie.database.name");
    int64_t day = now_millis / 86400000 - (now_millis % 86400000 < 0), ms = now_millis - day * 86400000, y;
    int m, d;

    sl_days_to_civil(day, &y, &m, &d);
    sl_buf_printf(out, "#Properties saved on %04lld-%02d-%02dT%02d:%02d:%02d.%03dZ\n", (long long)y, m, d, (int)(ms / 3600000),
                  (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
    sl_hudi_date_comment(out, now_millis);
    for (size_t i = 0; i < p->n; i++) {
        if (sl_str_eqc(p->v[i].key, "hoodie.table.checksum"))
            continue;
        put_escaped(out, p->v[i].key, true);
        sl_buf_ch(out, '=');
        put_escaped(out, p->v[i].value, false);
        sl_buf_ch(out, '\n');
    }
    sl_buf_printf(out, "hoodie.table.checksum=%u\n", sl_hudi_checksum(database, name));
    return sl_buf_ok(out, err);
}

uint32_t sl_hudi_checksum(sl_str database, sl_str table)
{
    uint32_t crc = sl_crc32(sl_crc32(0, database), SL_LIT("."));

    return sl_crc32(crc, table);
}
