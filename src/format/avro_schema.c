/* avro_schema.c - writer schemas, and skipping values by them. */
#include <string.h>

#include "format/avro.h"
#include "format/avro_value.h"

enum { DEPTH_MAX = 64, WEIGHT_MAX = 100000 };

struct names {
    struct sl_arena *a;
    sl_err *err;
    SL_VEC(const struct sl_avro_schema *) named;
    const char *space; /* namespace of what is parsed */
};

static int parse(struct names *p, const json_t *j, int depth, const struct sl_avro_schema **out);

static const char *const primitives[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"};

static int damaged(struct names *p, const char *what)
{
    return sl_err_set(p->err, SL_ECORRUPT, "the Avro schema is damaged: %s", what);
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

/* The type of this name: with the namespace that it says, or the one around it; else of whatever namespace. */
static const struct sl_avro_schema *named_type(const struct names *p, const char *name)
{
    const char *last = last_part(name);
    sl_str space = last == name ? sl_str_c(p->space) : (sl_str){name, (size_t)(last - name) - 1};

    for (size_t i = 0; i < p->named.n; i++)
        if (strcmp(last, p->named.v[i]->name) == 0 && sl_str_eqc(space, p->named.v[i]->space))
            return p->named.v[i];
    for (size_t i = 0; i < p->named.n; i++)
        if (strcmp(last, p->named.v[i]->name) == 0)
            return p->named.v[i];
    return NULL;
}

static int parse_name(struct names *p, const char *name, struct sl_avro_schema *s, const struct sl_avro_schema **out)
{
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (strcmp(name, primitives[i]) == 0) {
            s->kind = (enum sl_avro_kind)i;
            *out = s;
            return SL_OK;
        }
    *out = named_type(p, name);
    if (*out)
        return SL_OK;
    return sl_err_set(p->err, SL_ECORRUPT, "the Avro schema names the type \"%.100s\", which it does not define before", name);
}

static int copy_name(struct names *p, const json_t *j, const char **out)
{
    if (!json_is_string(j) || strlen(json_string_value(j)) != json_string_length(j) || json_string_length(j) == 0)
        return damaged(p, "a name is missing");
    *out = sl_arena_strdup(p->a, sl_str_c(last_part(json_string_value(j))));
    return *out ? SL_OK : sl_err_nomem(p->err);
}

/* Name and namespace of a type that is defined. */
static int define_name(struct names *p, const json_t *j, struct sl_avro_schema *s)
{
    const json_t *name = json_object_get(j, "name"), *space = json_object_get(j, "namespace");

    SL_TRY(copy_name(p, name, &s->name));
    const char *full = json_string_value(name), *last = last_part(full);
    if (last != full)
        s->space = sl_arena_strdup(p->a, (sl_str){full, (size_t)(last - full) - 1});
    else if (json_is_string(space))
        s->space = sl_arena_strdup(p->a, sl_str_c(json_string_value(space)));
    else
        s->space = p->space;
    return s->space ? SL_OK : sl_err_nomem(p->err);
}

static int make_room(struct names *p, struct sl_avro_schema *s, size_t n, bool types)
{
    s->n = n;
    s->names = sl_arena_array(p->a, n, sizeof *s->names);
    s->types = types ? sl_arena_array(p->a, n, sizeof *s->types) : NULL;
    return s->names && (s->types || !types) ? SL_OK : sl_err_nomem(p->err);
}

static int add_weight(struct names *p, struct sl_avro_schema *s, const struct sl_avro_schema *inner)
{
    s->weight += inner->weight;
    return s->weight <= WEIGHT_MAX ? SL_OK : damaged(p, "it is too large");
}

static int parse_record(struct names *p, const json_t *j, int depth, struct sl_avro_schema *s)
{
    const json_t *fields = json_object_get(j, "fields");
    const char *around = p->space;

    if (!json_is_array(fields))
        return damaged(p, "a record has no fields");
    p->space = s->space;
    SL_TRY(make_room(p, s, json_array_size(fields), true));
    for (size_t i = 0; i < s->n; i++) {
        const json_t *f = json_array_get(fields, i);

        SL_TRY(copy_name(p, json_object_get(f, "name"), &s->names[i]));
        SL_TRY(parse(p, json_object_get(f, "type"), depth + 1, &s->types[i]));
        SL_TRY(add_weight(p, s, s->types[i]));
    }
    p->space = around;
    return SL_OK;
}

static int parse_union(struct names *p, const json_t *j, int depth, struct sl_avro_schema *s)
{
    s->kind = SL_AVRO_UNION;
    SL_TRY(make_room(p, s, json_array_size(j), true));
    if (s->n == 0)
        return damaged(p, "a union has no branch");
    for (size_t i = 0; i < s->n; i++) {
        SL_TRY(parse(p, json_array_get(j, i), depth + 1, &s->types[i]));
        if (s->types[i]->kind == SL_AVRO_UNION)
            return damaged(p, "a union stands in a union");
        SL_TRY(add_weight(p, s, s->types[i]));
    }
    return SL_OK;
}

static int parse_items(struct names *p, const json_t *items, int depth, struct sl_avro_schema *s)
{
    SL_TRY(make_room(p, s, 1, true));
    SL_TRY(parse(p, items, depth + 1, &s->types[0]));
    return add_weight(p, s, s->types[0]);
}

static int32_t small_number(const json_t *j)
{
    json_int_t v = json_integer_value(j);

    return v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

static int parse_object(struct names *p, const json_t *j, int depth, struct sl_avro_schema *s, const struct sl_avro_schema **out)
{
    const json_t *type = json_object_get(j, "type"), *logical = json_object_get(j, "logicalType");
    const char *t = json_string_value(type);
    int64_t size = 0;

    *out = s;
    if (!t) /* {"type": {...}}, {"type": [...]} */
        return type ? parse(p, type, depth + 1, out) : damaged(p, "a type is missing");
    s->precision = small_number(json_object_get(j, "precision"));
    s->scale = small_number(json_object_get(j, "scale"));
    if (json_is_string(logical) && !(s->logical = sl_arena_strdup(p->a, sl_str_c(json_string_value(logical)))))
        return sl_err_nomem(p->err);
    if (strcmp(t, "array") == 0 || strcmp(t, "map") == 0) {
        s->kind = *t == 'a' ? SL_AVRO_ARRAY : SL_AVRO_MAP;
        return parse_items(p, json_object_get(j, *t == 'a' ? "items" : "values"), depth, s);
    }
    bool record = strcmp(t, "record") == 0 || strcmp(t, "error") == 0;
    if (!record && strcmp(t, "enum") != 0 && strcmp(t, "fixed") != 0)
        return parse_name(p, t, s, out);
    SL_TRY(define_name(p, j, s));
    s->kind = record ? SL_AVRO_RECORD : *t == 'e' ? SL_AVRO_ENUM : SL_AVRO_FIXED;
    if (record) {
        SL_TRY(parse_record(p, j, depth, s));
    } else if (s->kind == SL_AVRO_ENUM) {
        const json_t *symbols = json_object_get(j, "symbols");

        SL_TRY(make_room(p, s, json_array_size(symbols), false));
        for (size_t i = 0; i < s->n; i++)
            SL_TRY(copy_name(p, json_array_get(symbols, i), &s->names[i]));
    } else {
        SL_TRY(sl_json_i64_req(j, "size", &size, p->err));
        if (size < 0 || size > INT32_MAX)
            return damaged(p, "a size is out of range");
        s->size = (size_t)size;
    }
    /* Known from here on, so a type cannot hold itself. */
    const struct sl_avro_schema **slot = sl_vec_push(&p->named);
    if (!slot)
        return sl_err_nomem(p->err);
    *slot = s;
    return SL_OK;
}

static int parse(struct names *p, const json_t *j, int depth, const struct sl_avro_schema **out)
{
    struct sl_avro_schema *s = sl_arena_alloc(p->a, sizeof *s);

    if (!s)
        return sl_err_nomem(p->err);
    if (depth > DEPTH_MAX)
        return damaged(p, "it is nested too deep");
    s->weight = 1;
    *out = s;
    if (json_is_string(j))
        return parse_name(p, json_string_value(j), s, out);
    if (json_is_array(j))
        return parse_union(p, j, depth, s);
    if (json_is_object(j))
        return parse_object(p, j, depth, s, out);
    return damaged(p, "a type is missing");
}

int sl_avro_schema_parse(struct sl_arena *a, sl_str json, const struct sl_avro_schema **out, sl_err *err)
{
    struct names p = {.a = a, .err = err, .space = ""};
    json_t *doc = NULL;
    int rc;

    SL_GO(sl_json_parse(json, &doc, err));
    SL_GO(parse(&p, doc, 0, out));
done:
    sl_free(p.named.v);
    json_decref(doc);
    return rc;
}

static void skip_items(struct sl_cur *c, const struct sl_avro_schema *s)
{
    for (int64_t n; (n = sl_avro_items(c)) != 0 && !c->bad;)
        for (; n > 0 && !c->bad; n--) {
            if (s->kind == SL_AVRO_MAP)
                (void)sl_avro_get_bytes(c);
            sl_avro_skip(c, s->types[0]);
        }
}

void sl_avro_skip(struct sl_cur *c, const struct sl_avro_schema *s)
{
    switch (s->kind) {
    case SL_AVRO_NULL:
        break;
    case SL_AVRO_BOOLEAN:
        (void)sl_cur_u8(c);
        break;
    case SL_AVRO_INT:
    case SL_AVRO_LONG:
    case SL_AVRO_ENUM:
        (void)sl_avro_get_long(c);
        break;
    case SL_AVRO_FLOAT:
        (void)sl_cur_u32le(c);
        break;
    case SL_AVRO_DOUBLE:
        (void)sl_cur_u64le(c);
        break;
    case SL_AVRO_BYTES:
    case SL_AVRO_STRING:
        (void)sl_avro_get_bytes(c);
        break;
    case SL_AVRO_FIXED:
        (void)sl_cur_bytes(c, s->size);
        break;
    case SL_AVRO_RECORD:
        for (size_t i = 0; i < s->n && !c->bad; i++)
            sl_avro_skip(c, s->types[i]);
        break;
    case SL_AVRO_ARRAY:
    case SL_AVRO_MAP:
        skip_items(c, s);
        break;
    case SL_AVRO_UNION:
        s = sl_avro_branch(c, s);
        if (s)
            sl_avro_skip(c, s);
        break;
    }
}
