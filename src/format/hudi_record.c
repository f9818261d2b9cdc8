/* hudi_record.c - described structs from JSON and Avro, and to Avro. */
#include "format/hudi_record.h"

#include <string.h>

#include "base/sys.h"
#include "format/avro_value.h"

struct ctx {
    struct sl_arena *a;
    sl_err *err;
};

struct growing {
    char *v;
    size_t n, cap, size;
};

/* Room for one more, zeroed. */
static void *grow(struct ctx *x, struct growing *g)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 4;
        char *v = sl_arena_array(x->a, cap, g->size);

        if (!v)
            return NULL;
        if (g->n)
            memcpy(v, g->v, g->n * g->size);
        g->v = v;
        g->cap = cap;
    }
    return g->v + g->n++ * g->size;
}

static int take_text(struct ctx *x, sl_str s, sl_str *out)
{
    *out = (sl_str){sl_arena_strdup(x->a, s), s.n};
    return out->p ? SL_OK : sl_err_nomem(x->err);
}

static void put_list(const struct sl_member *m, void *to, const struct growing *g)
{
    *(void **)((char *)to + m->offset) = g->v;
    *(size_t *)((char *)to + m->count) = g->n;
}

static const struct sl_member *member_of(const struct sl_record *r, sl_str name)
{
    for (const struct sl_member *m = r->members; m->name; m++)
        if (sl_str_eqc(name, m->name))
            return m;
    return NULL;
}

static bool plain_map(const struct sl_record *r)
{
    return r->members[0].name && r->members[0].name[0] == '\0';
}

/* ---- JSON ---- */

static int json_member(struct ctx *x, const struct sl_member *m, const json_t *j, void *to);

static int json_members(struct ctx *x, const struct sl_record *r, const json_t *j, void *to)
{
    if (!json_is_object(j))
        return sl_err_set(x->err, SL_ECORRUPT, "%s: an object was expected", r->name);
    for (const struct sl_member *m = r->members; m->name; m++) {
        const json_t *v = json_object_get(j, m->name);
        int rc = v && !json_is_null(v) ? json_member(x, m, v, to) : SL_OK;

        if (rc != SL_OK)
            return rc;
    }
    return SL_OK;
}

static int json_texts(struct ctx *x, const struct sl_member *m, const json_t *j, void *to)
{
    struct growing g = {.size = sizeof(sl_str)};

    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *v = json_array_get(j, i);
        sl_str *s = grow(x, &g);

        if (!s)
            return sl_err_nomem(x->err);
        if (!json_is_string(v))
            return sl_err_set(x->err, SL_ECORRUPT, "\"%s\" holds something else than texts", m->name);
        SL_TRY(take_text(x, (sl_str){json_string_value(v), json_string_length(v)}, s));
    }
    put_list(m, to, &g);
    return SL_OK;
}

static int json_element(struct ctx *x, const struct sl_member *m, sl_str key, const json_t *v, struct growing *g)
{
    char *one = grow(x, g);

    if (!one)
        return sl_err_nomem(x->err);
    if (m->kind != SL_M_RECORDS)
        SL_TRY(take_text(x, key, (sl_str *)(void *)one));
    return plain_map(m->inner) ? json_member(x, &m->inner->members[0], v, one) : json_members(x, m->inner, v, one);
}

static int json_list(struct ctx *x, const struct sl_member *m, const json_t *j, void *to)
{
    struct growing g = {.size = m->inner->size};
    void *at = m->kind == SL_M_RECORDS ? NULL : json_object_iter((json_t *)(uintptr_t)j);

    for (size_t i = 0; m->kind == SL_M_RECORDS && i < json_array_size(j); i++)
        SL_TRY(json_element(x, m, (sl_str){NULL, 0}, json_array_get(j, i), &g));
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)j, at)) {
        sl_str key = sl_str_c(json_object_iter_key(at));
        const json_t *v = json_object_iter_value(at);

        if (m->kind == SL_M_MULTIMAP && !json_is_array(v))
            return sl_err_set(x->err, SL_ECORRUPT, "\"%s\" holds something else than arrays", m->name);
        if (m->kind == SL_M_MAP && !json_is_null(v))
            SL_TRY(json_element(x, m, key, v, &g));
        for (size_t i = 0; m->kind == SL_M_MULTIMAP && i < json_array_size(v); i++)
            SL_TRY(json_element(x, m, key, json_array_get(v, i), &g));
    }
    put_list(m, to, &g);
    return SL_OK;
}

static int json_member(struct ctx *x, const struct sl_member *m, const json_t *j, void *to)
{
    void *at = (char *)to + m->offset;
    bool ok = true;

    switch (m->kind) {
    case SL_M_TEXT:
        if ((ok = json_is_string(j)))
            return take_text(x, (sl_str){json_string_value(j), json_string_length(j)}, at);
        break;
    case SL_M_NUMBER:
        if ((ok = json_is_integer(j)))
            *(int64_t *)at = json_integer_value(j);
        break;
    case SL_M_FLAG:
        if ((ok = json_is_boolean(j)))
            *(bool *)at = json_is_true(j);
        break;
    case SL_M_REAL:
        if ((ok = json_is_number(j)))
            *(double *)at = json_number_value(j);
        break;
    case SL_M_TEXTS:
        if ((ok = json_is_array(j)))
            return json_texts(x, m, j, to);
        break;
    case SL_M_RECORD:
        if (m->count)
            *(bool *)((char *)to + m->count) = true;
        return json_members(x, m->inner, j, at);
    case SL_M_RECORDS:
        if ((ok = json_is_array(j)))
            return json_list(x, m, j, to);
        break;
    default:
        if ((ok = json_is_object(j)))
            return json_list(x, m, j, to);
        break;
    }
    return ok ? SL_OK : sl_err_set(x->err, SL_ECORRUPT, "\"%s\" has another type than expected", m->name);
}

/* ---- Avro ---- */

/* Elements without bytes could be many more than the file has bytes. */
static void must_move(struct sl_cur *c, const unsigned char *from)
{
    if (c->p == from)
        c->bad = true;
}

static int avro_member(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, void *to);

static int other_type(struct ctx *x, const char *name)
{
    return sl_err_set(x->err, SL_ECORRUPT, "\"%s\" has another type than expected", name);
}

static int avro_members(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_record *r, void *to)
{
    if (s->kind != SL_AVRO_RECORD)
        return other_type(x, r->name);
    for (size_t i = 0; i < s->n && !c->bad; i++) {
        const struct sl_member *m = member_of(r, sl_str_c(s->names[i]));

        if (m)
            SL_TRY(avro_member(x, c, s->types[i], m, to));
        else
            sl_avro_skip(c, s->types[i]);
    }
    return SL_OK;
}

static int avro_texts(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, void *to)
{
    struct growing g = {.size = sizeof(sl_str)};

    for (int64_t n; (n = sl_avro_items(c)) != 0 && !c->bad;)
        for (; n > 0 && !c->bad; n--) {
            const unsigned char *start = c->p;
            sl_str *text = grow(x, &g);

            if (!text)
                return sl_err_nomem(x->err);
            SL_TRY(take_text(x, sl_avro_bytes(c, s->types[0]), text));
            must_move(c, start);
        }
    put_list(m, to, &g);
    return SL_OK;
}

static int avro_element(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, sl_str key,
                        struct growing *g)
{
    char *one = grow(x, g);

    if (!one)
        return sl_err_nomem(x->err);
    if (m->kind != SL_M_RECORDS)
        SL_TRY(take_text(x, key, (sl_str *)(void *)one));
    if (plain_map(m->inner))
        return avro_member(x, c, s, &m->inner->members[0], one);
    s = sl_avro_branch(c, s);
    return !s || s->kind == SL_AVRO_NULL ? SL_OK : avro_members(x, c, s, m->inner, one);
}

static int avro_elements(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, sl_str key,
                         struct growing *g)
{
    if (s->kind != SL_AVRO_ARRAY)
        return other_type(x, m->name);
    for (int64_t n; (n = sl_avro_items(c)) != 0 && !c->bad;)
        for (; n > 0 && !c->bad; n--) {
            const unsigned char *start = c->p;

            SL_TRY(avro_element(x, c, s->types[0], m, key, g));
            must_move(c, start);
        }
    return SL_OK;
}

static int avro_map(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, struct growing *g)
{
    if (s->kind != SL_AVRO_MAP)
        return other_type(x, m->name);
    for (int64_t n; (n = sl_avro_items(c)) != 0 && !c->bad;)
        for (; n > 0 && !c->bad; n--) {
            sl_str key = sl_avro_get_bytes(c);

            if (c->bad)
                return SL_OK;
            if (m->kind == SL_M_MULTIMAP)
                SL_TRY(avro_elements(x, c, s->types[0], m, key, g));
            else
                SL_TRY(avro_element(x, c, s->types[0], m, key, g));
        }
    return SL_OK;
}

static int avro_text(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, sl_str *to)
{
    if (s->kind != SL_AVRO_STRING && s->kind != SL_AVRO_BYTES)
        return other_type(x, m->name);
    sl_str v = sl_avro_get_bytes(c);
    return take_text(x, c->bad ? (sl_str){"", 0} : v, to);
}

static int avro_number(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, void *to)
{
    uint64_t bits;

    if (m->kind == SL_M_NUMBER && (s->kind == SL_AVRO_LONG || s->kind == SL_AVRO_INT)) {
        *(int64_t *)to = sl_avro_get_long(c);
    } else if (m->kind == SL_M_FLAG && s->kind == SL_AVRO_BOOLEAN) {
        *(bool *)to = sl_cur_u8(c) != 0;
    } else if (m->kind == SL_M_REAL && s->kind == SL_AVRO_DOUBLE) {
        bits = sl_cur_u64le(c);
        memcpy(to, &bits, sizeof bits);
    } else {
        return other_type(x, m->name);
    }
    return SL_OK;
}

static int avro_member(struct ctx *x, struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_member *m, void *to)
{
    struct growing g = {.size = m->inner ? m->inner->size : 0};
    void *at = (char *)to + m->offset;

    s = sl_avro_branch(c, s);
    if (!s || s->kind == SL_AVRO_NULL)
        return SL_OK;
    switch (m->kind) {
    case SL_M_TEXT:
        return avro_text(x, c, s, m, at);
    case SL_M_TEXTS:
        return s->kind == SL_AVRO_ARRAY ? avro_texts(x, c, s, m, to) : other_type(x, m->name);
    case SL_M_RECORD:
        if (m->count)
            *(bool *)((char *)to + m->count) = true;
        return avro_members(x, c, s, m->inner, at);
    case SL_M_RECORDS:
        SL_TRY(avro_elements(x, c, s, m, (sl_str){NULL, 0}, &g));
        put_list(m, to, &g);
        return SL_OK;
    case SL_M_MAP:
    case SL_M_MULTIMAP:
        SL_TRY(avro_map(x, c, s, m, &g));
        put_list(m, to, &g);
        return SL_OK;
    default:
        return avro_number(x, c, s, m, at);
    }
}

static int decode_avro(struct ctx *x, const struct sl_record *r, sl_str bytes, void *to)
{
    struct sl_avro_reader *reader = NULL;
    struct sl_cur c;
    int64_t count;
    int rc;

    SL_GO(sl_avro_open(bytes, &reader, x->err));
    SL_GO(sl_avro_next_block(reader, &count, &c, x->err));
    if (count != 1)
        SL_GO(sl_err_set(x->err, SL_ECORRUPT, "%s: %lld records where one is expected", r->name, (long long)count));
    SL_GO(avro_members(x, &c, sl_avro_reader_schema(reader), r, to));
    if (c.bad || sl_cur_left(&c) != 0)
        rc = sl_err_set(x->err, SL_ECORRUPT, "%s: the record is damaged at byte %zu", r->name, sl_cur_pos(&c));
done:
    sl_avro_close(reader);
    return rc;
}

int sl_record_decode(struct sl_arena *a, const struct sl_record *r, sl_str bytes, void *to, sl_err *err)
{
    struct ctx x = {a, err};
    json_t *doc = NULL;
    int rc;

    memset(to, 0, r->size);
    if (bytes.n >= 4 && memcmp(bytes.p, "Obj\1", 4) == 0)
        return decode_avro(&x, r, bytes, to);
    SL_GO(sl_json_parse(bytes, &doc, err));
    rc = json_members(&x, r, doc, to);
done:
    json_decref(doc);
    return rc;
}

/* ---- writing Avro ---- */

static int put_member(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_member *m, const void *from, sl_err *err);

static int bad_schema(const char *name, sl_err *err)
{
    return sl_err_set(err, SL_EBUG, "the schema of \"%s\" does not fit what is described", name);
}

/* The branch of a union to write, whose number is put: null or the other one. */
static const struct sl_avro_schema *put_branch(struct sl_buf *out, const struct sl_avro_schema *s, bool null)
{
    if (s->kind != SL_AVRO_UNION)
        return null ? NULL : s;
    for (size_t i = 0; i < s->n; i++)
        if ((s->types[i]->kind == SL_AVRO_NULL) == null) {
            sl_avro_put_long(out, (int64_t)i);
            return s->types[i];
        }
    return NULL;
}

static int put_members(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_record *r, const void *from, sl_err *err)
{
    if (s->kind != SL_AVRO_RECORD)
        return bad_schema(r->name, err);
    for (size_t i = 0; i < s->n; i++) {
        const struct sl_member *m = member_of(r, sl_str_c(s->names[i]));

        if (m)
            SL_TRY(put_member(out, s->types[i], m, from, err));
        else if (!put_branch(out, s->types[i], true))
            return bad_schema(s->names[i], err);
    }
    return SL_OK;
}

static int put_value(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_record *r, const void *one, sl_err *err)
{
    if (plain_map(r))
        return put_member(out, s, &r->members[0], one, err);
    s = put_branch(out, s, false);
    return s ? put_members(out, s, r, one, err) : bad_schema(r->name, err);
}

static int put_items(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_member *m, const char *v, size_t n, sl_err *err)
{
    if (m->kind == SL_M_RECORDS ? s->kind != SL_AVRO_ARRAY : s->kind != SL_AVRO_MAP || m->kind == SL_M_MULTIMAP)
        return bad_schema(m->name, err);
    if (n)
        sl_avro_put_long(out, (int64_t)n);
    for (size_t i = 0; i < n; i++, v += m->inner->size) {
        if (m->kind == SL_M_MAP)
            sl_avro_put_bytes(out, *(const sl_str *)(const void *)v);
        SL_TRY(put_value(out, s->types[0], m->inner, v, err));
    }
    sl_avro_put_long(out, 0);
    return SL_OK;
}

static int put_texts(struct sl_buf *out, const struct sl_avro_schema *s, const sl_str *v, size_t n, const char *name, sl_err *err)
{
    if (s->kind != SL_AVRO_ARRAY || s->types[0]->kind != SL_AVRO_STRING)
        return bad_schema(name, err);
    if (n)
        sl_avro_put_long(out, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        sl_avro_put_bytes(out, v[i]);
    sl_avro_put_long(out, 0);
    return SL_OK;
}

static int put_number(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_member *m, const void *at, sl_err *err)
{
    uint64_t bits;

    if (m->kind == SL_M_NUMBER && (s->kind == SL_AVRO_INT || s->kind == SL_AVRO_LONG)) {
        sl_avro_put_long(out, *(const int64_t *)at);
    } else if (m->kind == SL_M_FLAG && s->kind == SL_AVRO_BOOLEAN) {
        sl_buf_u8(out, *(const bool *)at);
    } else if (m->kind == SL_M_REAL && s->kind == SL_AVRO_DOUBLE) {
        memcpy(&bits, at, sizeof bits);
        sl_buf_u64le(out, bits);
    } else {
        return bad_schema(m->name, err);
    }
    return SL_OK;
}

static int put_member(struct sl_buf *out, const struct sl_avro_schema *s, const struct sl_member *m, const void *from, sl_err *err)
{
    const void *at = (const char *)from + m->offset, *list = NULL;
    size_t n = 0;
    bool null = (m->kind == SL_M_TEXT && !((const sl_str *)at)->p) ||
                (m->kind == SL_M_RECORD && m->count && !*(const bool *)((const char *)from + m->count));

    null = null && s->kind == SL_AVRO_UNION; /* a text that must be there is written empty */
    s = put_branch(out, s, null);
    if (!s)
        return bad_schema(m->name, err);
    if (null)
        return SL_OK;
    if (m->kind == SL_M_TEXTS || m->kind >= SL_M_RECORDS) {
        memcpy(&list, at, sizeof list);
        n = *(const size_t *)(const void *)((const char *)from + m->count);
    }
    switch (m->kind) {
    case SL_M_TEXT:
        if (s->kind != SL_AVRO_STRING)
            return bad_schema(m->name, err);
        sl_avro_put_bytes(out, *(const sl_str *)at);
        return SL_OK;
    case SL_M_TEXTS:
        return put_texts(out, s, list, n, m->name, err);
    case SL_M_RECORD:
        return put_members(out, s, m->inner, at, err);
    case SL_M_RECORDS:
    case SL_M_MAP:
    case SL_M_MULTIMAP:
        return put_items(out, s, m, list, n, err);
    default:
        return put_number(out, s, m, at, err);
    }
}

int sl_record_encode(const struct sl_record *r, const char *schema_json, const void *from, struct sl_buf *out, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf record = SL_BUF_INIT;
    const struct sl_avro_schema *s;
    uint64_t sync[2] = {sl_random(), sl_random()};
    char marker[16];
    int rc;

    memcpy(marker, sync, sizeof marker);
    SL_GO(sl_avro_schema_parse(&a, sl_str_c(schema_json), &s, err));
    SL_GO(put_members(&record, s, r, from, err));
    SL_GO(sl_buf_ok(&record, err));
    sl_avro_write_header(out, schema_json, SL_AVRO_CODEC_NULL, marker);
    SL_GO(sl_avro_write_block(out, 1, sl_buf_view(&record), SL_AVRO_CODEC_NULL, marker, err));
done:
    sl_buf_release(&record);
    sl_arena_release(&a);
    return rc;
}
