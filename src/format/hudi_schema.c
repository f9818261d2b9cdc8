/* hudi_schema.c - Avro schemas of Hudi tables as columns, and columns as schemas. */
#include <string.h>

#include "base/json.h"
#include "format/hudi_avro_priv.h"

const char *const sl_hudi_meta_fields[SL_HUDI_NMETA] = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key",
                                                        "_hoodie_partition_path", "_hoodie_file_name"};

bool sl_hudi_is_meta(sl_str name)
{
    for (int i = 0; i < SL_HUDI_NMETA; i++)
        if (sl_str_eqc(name, sl_hudi_meta_fields[i]))
            return true;
    return false;
}

bool sl_hudi_key_is_third(const struct sl_avro_schema *s)
{
    if (s->kind != SL_AVRO_RECORD || s->n < 3 || strcmp(s->names[2], sl_hudi_meta_fields[SL_HUDI_META_KEY]) != 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (s->types[i]->kind != SL_AVRO_UNION || s->types[i]->n != 2 || s->types[i]->types[0]->kind != SL_AVRO_NULL ||
            s->types[i]->types[1]->kind != SL_AVRO_STRING)
            return false;
    return true;
}

/* ---- types ---- */

const struct sl_avro_schema *sl_hudi_avro_value(const struct sl_avro_schema *s, int *null_branch)
{
    *null_branch = -1;
    if (s->kind != SL_AVRO_UNION)
        return s->kind == SL_AVRO_NULL ? NULL : s;
    if (s->n == 1)
        return s->types[0]->kind == SL_AVRO_NULL ? NULL : s->types[0];
    if (s->n != 2 || (s->types[0]->kind == SL_AVRO_NULL) == (s->types[1]->kind == SL_AVRO_NULL))
        return NULL;
    *null_branch = s->types[0]->kind == SL_AVRO_NULL ? 0 : 1;
    return s->types[1 - *null_branch];
}

struct conversion {
    struct sl_arena *a;
    const char *column; /* top-level, for messages */
    int32_t next_id;    /* of nested fields */
    sl_err *err;
};

static bool logical_is(const struct sl_avro_schema *s, const char *name)
{
    return s->logical && strcmp(s->logical, name) == 0;
}

static int decimal(struct conversion *x, const struct sl_avro_schema *s, struct sl_type *t)
{
    t->kind = SL_DECIMAL;
    t->precision = s->precision;
    t->scale = s->scale;
    if (s->precision >= 1 && s->precision <= 38 && s->scale <= s->precision)
        return SL_OK;
    return sl_err_set(x->err, SL_EUNSUPPORTED, "column \"%s\": DECIMAL(%d, %d) is not supported", x->column, (int)s->precision, (int)s->scale);
}

static void timed(struct sl_type *t, enum sl_kind kind, int32_t precision)
{
    t->kind = kind;
    t->precision = precision;
}

static void long_type(const struct sl_avro_schema *s, struct sl_type *t)
{
    t->kind = SL_BIGINT;
    if (logical_is(s, "time-micros"))
        timed(t, SL_TIME, 6);
    else if (logical_is(s, "timestamp-millis"))
        timed(t, SL_TIMESTAMP_LTZ, 3);
    else if (logical_is(s, "timestamp-micros"))
        timed(t, SL_TIMESTAMP_LTZ, 6);
    else if (logical_is(s, "local-timestamp-millis"))
        timed(t, SL_TIMESTAMP, 3);
    else if (logical_is(s, "local-timestamp-micros"))
        timed(t, SL_TIMESTAMP, 6);
}

static int row_type(struct conversion *x, const struct sl_avro_schema *s, struct sl_type *t)
{
    struct sl_field *f = sl_arena_array(x->a, s->n ? s->n : 1, sizeof *f);

    if (!f)
        return sl_err_nomem(x->err);
    t->kind = SL_ROW;
    t->fields = f;
    t->nfields = s->n;
    for (size_t i = 0; i < s->n; i++) {
        f[i].id = x->next_id++;
        f[i].name = s->names[i];
        SL_TRY(sl_hudi_type_of(x->a, x->column, s->types[i], &x->next_id, &f[i].type, x->err));
    }
    return SL_OK;
}

static int map_type(struct conversion *x, const struct sl_avro_schema *s, struct sl_type *t)
{
    struct sl_type *key = sl_arena_alloc(x->a, sizeof *key);

    if (!key)
        return sl_err_nomem(x->err);
    *key = (struct sl_type){.kind = SL_VARCHAR, .length = SL_LENGTH_MAX};
    t->kind = SL_MAP;
    t->key = key;
    return sl_hudi_type_of(x->a, x->column, s->types[0], &x->next_id, &t->value, x->err);
}

static int value_type(struct conversion *x, const struct sl_avro_schema *s, struct sl_type *t)
{
    switch (s->kind) {
    case SL_AVRO_BOOLEAN:
        t->kind = SL_BOOLEAN;
        return SL_OK;
    case SL_AVRO_INT:
        t->kind = logical_is(s, "date") ? SL_DATE : SL_INT;
        if (logical_is(s, "time-millis"))
            timed(t, SL_TIME, 3);
        return SL_OK;
    case SL_AVRO_LONG:
        long_type(s, t);
        return SL_OK;
    case SL_AVRO_FLOAT:
        t->kind = SL_FLOAT;
        return SL_OK;
    case SL_AVRO_DOUBLE:
        t->kind = SL_DOUBLE;
        return SL_OK;
    case SL_AVRO_BYTES:
    case SL_AVRO_FIXED:
        if (logical_is(s, "decimal"))
            return decimal(x, s, t);
        t->kind = s->kind == SL_AVRO_BYTES || s->size == 0 ? SL_VARBINARY : SL_BINARY;
        t->length = t->kind == SL_BINARY ? (int32_t)s->size : SL_LENGTH_MAX;
        return SL_OK;
    case SL_AVRO_STRING:
    case SL_AVRO_ENUM:
        t->kind = SL_VARCHAR;
        t->length = SL_LENGTH_MAX;
        return SL_OK;
    case SL_AVRO_ARRAY:
        t->kind = SL_ARRAY;
        return sl_hudi_type_of(x->a, x->column, s->types[0], &x->next_id, &t->element, x->err);
    case SL_AVRO_MAP:
        return map_type(x, s, t);
    case SL_AVRO_RECORD:
        return row_type(x, s, t);
    default:
        return sl_err_set(x->err, SL_EBUG, "column \"%s\": an Avro type has no form here", x->column);
    }
}

int sl_hudi_type_of(struct sl_arena *a, const char *column, const struct sl_avro_schema *s, int32_t *next_id, const struct sl_type **out,
                    sl_err *err)
{
    struct conversion x = {a, column, *next_id, err};
    struct sl_type *t = sl_arena_alloc(a, sizeof *t);
    int null_branch;

    if (!t)
        return sl_err_nomem(err);
    s = sl_hudi_avro_value(s, &null_branch);
    if (!s)
        return sl_err_set(err, SL_EUNSUPPORTED, "column \"%s\": an Avro union other than of null and one type is not supported", column);
    t->nullable = null_branch >= 0;
    *out = t;
    SL_TRY(value_type(&x, s, t));
    *next_id = x.next_id;
    return SL_OK;
}

/* ---- reading a table's schema ---- */

static int take_aliases(struct sl_hudi_schema *s, const json_t *doc, sl_err *err)
{
    const json_t *fields = json_object_get(doc, "fields");
    size_t total = 0, n = 0;

    for (size_t i = 0; i < json_array_size(fields); i++)
        total += json_array_size(json_object_get(json_array_get(fields, i), "aliases"));
    struct sl_hudi_alias *v = sl_arena_array(&s->arena, total ? total : 1, sizeof *v);
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *aliases = json_object_get(json_array_get(fields, i), "aliases");

        for (size_t k = 0; k < json_array_size(aliases); k++) {
            const char *old = json_string_value(json_array_get(aliases, k));

            if (!old)
                return sl_err_set(err, SL_ECORRUPT, "the Avro schema is damaged: an alias is no text");
            v[n].name = s->avro->names[i];
            v[n].old = sl_arena_strdup(&s->arena, sl_str_c(old));
            if (!v[n++].old)
                return sl_err_nomem(err);
        }
    }
    s->aliases = v;
    s->naliases = n;
    return SL_OK;
}

static int take_columns(struct sl_hudi_schema *s, sl_err *err)
{
    const struct sl_avro_schema *r = s->avro;
    struct sl_field *f = sl_arena_array(&s->arena, r->n ? r->n : 1, sizeof *f);
    int32_t next_id = (int32_t)r->n;

    if (!f)
        return sl_err_nomem(err);
    s->fields = f;
    for (size_t i = 0; i < r->n; i++) {
        if (sl_hudi_is_meta(sl_str_c(r->names[i]))) {
            s->has_meta = true;
            continue;
        }
        f[s->nfields].id = (int32_t)s->nfields;
        f[s->nfields].name = r->names[i];
        SL_TRY(sl_hudi_type_of(&s->arena, r->names[i], r->types[i], &next_id, &f[s->nfields].type, err));
        s->nfields++;
    }
    return SL_OK;
}

int sl_hudi_schema_parse(sl_str json, struct sl_hudi_schema *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    *out = (struct sl_hudi_schema)SL_HUDI_SCHEMA_INIT;
    SL_GO(sl_json_parse(json, &doc, err));
    SL_GO(sl_avro_schema_parse(&out->arena, json, &out->avro, err));
    if (out->avro->kind != SL_AVRO_RECORD)
        SL_GO(sl_err_set(err, SL_ECORRUPT, "the Avro schema of a table is no record"));
    out->name = out->avro->name;
    out->space = out->avro->space;
    out->json = sl_arena_str(&out->arena, json);
    if (!out->json.p)
        SL_GOTO_NOMEM(err);
    SL_GO(take_columns(out, err));
    rc = take_aliases(out, doc, err);
done:
    json_decref(doc);
    if (rc != SL_OK)
        sl_hudi_schema_release(out);
    return rc;
}

void sl_hudi_schema_release(struct sl_hudi_schema *s)
{
    sl_arena_release(&s->arena);
    *s = (struct sl_hudi_schema)SL_HUDI_SCHEMA_INIT;
}

int sl_hudi_cannot(struct sl_hudi_maker *m, const char *what, const struct sl_type *from, const char *done, const struct sl_type *to)
{
    struct sl_buf a = SL_BUF_INIT, b = SL_BUF_INIT;

    sl_type_sql(&a, from);
    sl_type_sql(&b, to);
    sl_err_set(m->err, SL_EUNSUPPORTED, "column \"%s\": %s of type %s cannot be %s as %s", m->column, what, a.p ? a.p : "?", done, b.p ? b.p : "?");
    sl_buf_release(&a);
    sl_buf_release(&b);
    return SL_EUNSUPPORTED;
}
