#include "base/json.h"

#include <string.h>

#include "base/mem.h"

/* jansson 2.14 does not look whether the buffer of its scanner could grow, and then reads and writes past it; other failures
 * of memory it reports as bad syntax. So a parser finds memory until it ends: after the first failure it lives on a reserve
 * that was taken before it began, and is given no more text, a small piece being the most it still works on. */
enum { PIECE = 64, RESERVE = 32 << 10, RESERVE_PER_BYTE = 8 };

struct parse {
    sl_str rest;
    char *reserve;
    size_t used, size;
    bool starved;
};

static _Thread_local struct parse *running;

static void *from_reserve(struct parse *p, size_t n)
{
    size_t need = (n + 15) & ~(size_t)15;
    void *at;

    if (need < n || need > p->size - p->used)
        return NULL;
    at = p->reserve + p->used;
    p->used += need;
    return at;
}

static void *allocate(size_t n)
{
    void *p = running && running->starved ? NULL : sl_malloc(n);

    if (p || !running)
        return p;
    running->starved = true;
    return from_reserve(running, n);
}

static void release(void *p)
{
    const char *at = p;

    if (running && at >= running->reserve && at < running->reserve + running->size)
        return;
    sl_free(p);
}

__attribute__((constructor)) static void use_our_memory(void)
{
    json_set_alloc_funcs(allocate, release);
}

static size_t next_piece(void *buffer, size_t n, void *user)
{
    struct parse *p = user;
    size_t take = n < PIECE ? n : PIECE;

    take = take < p->rest.n ? take : p->rest.n;
    if (p->starved || !take)
        return 0;
    memcpy(buffer, p->rest.p, take);
    p->rest = (sl_str){p->rest.p + take, p->rest.n - take};
    return take;
}

int sl_json_parse(sl_str text, json_t **out, sl_err *err)
{
    struct parse p = {.rest = text};
    json_error_t e;

    *out = NULL;
    if (text.n > (SIZE_MAX - RESERVE) / RESERVE_PER_BYTE)
        return sl_err_nomem(err);
    p.size = RESERVE + text.n * RESERVE_PER_BYTE;
    p.reserve = sl_malloc(p.size);
    if (!p.reserve)
        return sl_err_nomem(err);
    running = &p;
    *out = json_load_callback(next_piece, &p, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (p.starved) { /* what was made may lie in the reserve */
        json_decref(*out);
        *out = NULL;
    }
    running = NULL;
    sl_free(p.reserve);
    if (*out)
        return SL_OK;
    if (p.starved)
        return sl_err_nomem(err);
    return sl_err_set(err, SL_ECORRUPT, "invalid JSON at line %d, column %d: %s", e.line, e.column, e.text);
}

static int append(const char *p, size_t n, void *user)
{
    struct sl_buf *out = user;

    sl_buf_addb(out, p, n);
    return out->failed ? -1 : 0;
}

void sl_json_dump(struct sl_buf *out, const json_t *value, bool pretty)
{
    if (json_dump_callback(value, append, out, JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : JSON_COMPACT)) != 0)
        out->failed = true;
}

void sl_json_put(bool *failed, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        *failed = true;
}

void sl_json_push(bool *failed, json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) != 0)
        *failed = true;
}

json_t *sl_json_member(const json_t *obj, const char *name)
{
    json_t *v = json_object_get(obj, name);

    return v && !json_is_null(v) ? v : NULL;
}

static const char *type_name(const json_t *v)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a fraction", "true", "false", "null"};

    return v ? names[json_typeof(v)] : "nothing";
}

static int wrong_type(const char *name, const char *want, const json_t *v, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "member \"%s\" must be %s, found %s", name, want, type_name(v));
}

int sl_json_str_opt(const json_t *obj, const char *name, sl_str *out, sl_err *err)
{
    const json_t *v = sl_json_member(obj, name);

    if (!v)
        return SL_OK;
    if (!json_is_string(v))
        return wrong_type(name, "a string", v, err);
    *out = (sl_str){json_string_value(v), json_string_length(v)};
    return SL_OK;
}

int sl_json_i64_opt(const json_t *obj, const char *name, int64_t *out, sl_err *err)
{
    const json_t *v = sl_json_member(obj, name);

    if (!v)
        return SL_OK;
    if (!json_is_integer(v))
        return wrong_type(name, "an integer", v, err);
    *out = json_integer_value(v);
    return SL_OK;
}

int sl_json_bool_opt(const json_t *obj, const char *name, bool *out, sl_err *err)
{
    const json_t *v = sl_json_member(obj, name);

    if (!v)
        return SL_OK;
    if (!json_is_boolean(v))
        return wrong_type(name, "true or false", v, err);
    *out = json_is_true(v);
    return SL_OK;
}

static int require(const json_t *obj, const char *name, const char *want, sl_err *err)
{
    if (!json_is_object(obj))
        return sl_err_set(err, SL_ECORRUPT, "a JSON object is needed, found %s", type_name(obj));
    if (!sl_json_member(obj, name))
        return wrong_type(name, want, json_object_get(obj, name), err);
    return SL_OK;
}

int sl_json_str_req(const json_t *obj, const char *name, sl_str *out, sl_err *err)
{
    SL_TRY(require(obj, name, "a string", err));
    return sl_json_str_opt(obj, name, out, err);
}

int sl_json_i64_req(const json_t *obj, const char *name, int64_t *out, sl_err *err)
{
    SL_TRY(require(obj, name, "an integer", err));
    return sl_json_i64_opt(obj, name, out, err);
}

static void add_escaped(struct sl_buf *b, unsigned char c)
{
    switch (c) {
    case '"':
        sl_buf_addc(b, "\\\"");
        break;
    case '\\':
        sl_buf_addc(b, "\\\\");
        break;
    case '\n':
        sl_buf_addc(b, "\\n");
        break;
    case '\r':
        sl_buf_addc(b, "\\r");
        break;
    case '\t':
        sl_buf_addc(b, "\\t");
        break;
    default:
        sl_buf_printf(b, "\\u%04x", c);
    }
}

/* Bytes that are no UTF-8 become U+FFFD, so that what comes out is always JSON. */
void sl_buf_json_string(struct sl_buf *b, sl_str s)
{
    size_t bad = s.n;
    bool valid = sl_utf8_valid(s, &bad);
    size_t from = 0;

    sl_buf_ch(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool replace = !valid && i == bad;

        if (!replace && c >= 0x20 && c != '"' && c != '\\')
            continue;
        sl_buf_add(b, sl_str_sub(s, from, i));
        from = i + 1;
        if (!replace) {
            add_escaped(b, c);
            continue;
        }
        sl_buf_addc(b, "\xEF\xBF\xBD");
        size_t next = 0;
        valid = sl_utf8_valid(sl_str_sub(s, from, s.n), &next);
        bad = from + next;
    }
    sl_buf_add(b, sl_str_sub(s, from, s.n));
    sl_buf_ch(b, '"');
}

char *sl_json_quote(sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_buf_json_string(&b, s);
    return sl_buf_take(&b);
}
