/* schema_json.c - schema-N. */
#include <string.h>

#include "format/format_priv.h"
#include "format/paimon.h"

bool sl_format_is_name(sl_str s)
{
    return s.n && !memchr(s.p, '/', s.n) && !memchr(s.p, 0, s.n) && !sl_str_eqc(s, ".") && !sl_str_eqc(s, "..");
}

static int names(struct sl_arena *a, const json_t *doc, const char *member, const char *const **out, size_t *n, sl_err *err)
{
    const json_t *list = sl_json_member(doc, member);
    const char **v = sl_arena_array(a, json_array_size(list) + 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    if (list && !json_is_array(list))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" must be an array", member);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *s = json_array_get(list, i);

        if (!json_is_string(s) || strlen(json_string_value(s)) != json_string_length(s))
            return sl_err_set(err, SL_ECORRUPT, "member \"%s\" must hold names", member);
        v[i] = sl_arena_strdup(a, sl_str_c(json_string_value(s)));
        if (!v[i])
            return sl_err_nomem(err);
    }
    *out = v;
    *n = json_array_size(list);
    return SL_OK;
}

int sl_json_options(struct sl_arena *a, const json_t *doc, const char *member, const struct sl_option **out, size_t *n, sl_err *err)
{
    json_t *map = sl_json_member(doc, member);
    struct sl_option *v = sl_arena_array(a, json_object_size(map) + 1, sizeof *v);
    const char *key;
    json_t *value;
    size_t count = 0;

    if (!v)
        return sl_err_nomem(err);
    if (map && !json_is_object(map))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" must be an object", member);
    json_object_foreach(map, key, value) {
        if (json_is_null(value))
            continue;
        if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
            return sl_err_set(err, SL_ECORRUPT, "\"%s\" in \"%s\" must be a text", key, member);
        v[count].key = sl_arena_strdup(a, sl_str_c(key));
        v[count].value = sl_arena_strdup(a, sl_str_c(json_string_value(value)));
        if (!v[count].key || !v[count].value)
            return sl_err_nomem(err);
        count++;
    }
    *out = v;
    *n = count;
    return SL_OK;
}

static int index_partition(struct sl_schema *s, sl_err *err)
{
    size_t *index = sl_arena_array(&s->arena, s->npartition, sizeof *index);

    if (!index)
        return sl_err_nomem(err);
    for (size_t i = 0; i < s->npartition; i++) {
        ptrdiff_t at = sl_schema_index(s, sl_str_c(s->partition_keys[i]));

        if (at < 0)
            return sl_err_set(err, SL_ECORRUPT, "the partition key \"%s\" is no column", s->partition_keys[i]);
        if (!sl_type_atomic(s->fields[at].type))
            return sl_err_set(err, SL_ECORRUPT, "the partition key \"%s\" has a nested type", s->partition_keys[i]);
        for (size_t k = 0; k < i; k++)
            if (index[k] == (size_t)at)
                return sl_err_set(err, SL_ECORRUPT, "the partition key \"%s\" is named twice", s->partition_keys[i]);
        index[i] = (size_t)at;
    }
    s->partition_index = index;
    return SL_OK;
}

static int check_nested(const struct sl_type *t, sl_err *err);

static int check_fields(const struct sl_field *f, size_t n, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            if (strcmp(f[k].name, f[i].name) == 0 || f[k].id == f[i].id)
                return sl_err_set(err, SL_ECORRUPT, "the fields \"%s\" and \"%s\" have one name or one id", f[k].name, f[i].name);
        SL_TRY(check_nested(f[i].type, err));
    }
    return SL_OK;
}

static int check_nested(const struct sl_type *t, sl_err *err)
{
    if (!t)
        return SL_OK;
    SL_TRY(check_fields(t->fields, t->nfields, err));
    SL_TRY(check_nested(t->element, err));
    SL_TRY(check_nested(t->key, err));
    return check_nested(t->value, err);
}

static int decode(const json_t *doc, struct sl_schema *s, sl_err *err)
{
    int64_t version = 1, highest = -1;
    sl_str comment = {NULL, 0};

    SL_TRY(sl_json_i64_req(doc, "id", &s->id, err));
    SL_TRY(sl_json_i64_opt(doc, "version", &version, err));
    if (version < 1 || version > 3)
        return sl_err_set(err, SL_EUNSUPPORTED, "schema version %lld is not supported (1 to 3 are)", (long long)version);
    s->version = (int32_t)version;
    SL_TRY(sl_fields_from_json(&s->arena, sl_json_member(doc, "fields"), &s->fields, &s->nfields, err));
    SL_TRY(sl_json_i64_req(doc, "highestFieldId", &highest, err));
    if (highest < -1 || highest > INT32_MAX || s->id < 0)
        return sl_err_set(err, SL_ECORRUPT, "an id of the schema is out of range");
    s->highest_field_id = (int32_t)highest;
    SL_TRY(check_fields(s->fields, s->nfields, err));
    SL_TRY(names(&s->arena, doc, "partitionKeys", &s->partition_keys, &s->npartition, err));
    SL_TRY(index_partition(s, err));
    SL_TRY(names(&s->arena, doc, "primaryKeys", &s->primary_keys, &s->nprimary, err));
    SL_TRY(sl_json_options(&s->arena, doc, "options", &s->options, &s->noptions, err));
    SL_TRY(sl_json_str_opt(doc, "comment", &comment, err));
    if (comment.p && !(s->comment = sl_arena_strdup(&s->arena, comment)))
        return sl_err_nomem(err);
    return sl_json_i64_opt(doc, "timeMillis", &s->time_millis, err);
}

int sl_paimon_schema_decode(sl_str json, struct sl_schema *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    *out = (struct sl_schema){0};
    SL_GO(sl_json_parse(json, &doc, err));
    SL_GO(decode(doc, out, err));
done:
    json_decref(doc);
    if (rc != SL_OK)
        sl_schema_release(out);
    return rc;
}

static json_t *names_to_json(const char *const *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, json_string(v[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *sl_options_to_json(const struct sl_option *v, size_t n)
{
    json_t *map = json_object();

    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(map, v[i].key, json_string(v[i].value)) != 0) {
            json_decref(map);
            return NULL;
        }
    return map;
}

int sl_paimon_schema_encode(const struct sl_schema *s, struct sl_buf *out, sl_err *err)
{
    json_t *doc = json_object();
    int bad = json_object_set_new(doc, "version", json_integer(3));

    bad |= json_object_set_new(doc, "id", json_integer(s->id));
    bad |= json_object_set_new(doc, "fields", sl_fields_to_json(s->fields, s->nfields));
    bad |= json_object_set_new(doc, "highestFieldId", json_integer(s->highest_field_id));
    bad |= json_object_set_new(doc, "partitionKeys", names_to_json(s->partition_keys, s->npartition));
    bad |= json_object_set_new(doc, "primaryKeys", names_to_json(s->primary_keys, s->nprimary));
    bad |= json_object_set_new(doc, "options", sl_options_to_json(s->options, s->noptions));
    if (s->comment)
        bad |= json_object_set_new(doc, "comment", json_string(s->comment));
    bad |= json_object_set_new(doc, "timeMillis", json_integer(s->time_millis));
    if (!bad)
        sl_json_dump(out, doc, true);
    json_decref(doc);
    return bad ? sl_err_nomem(err) : sl_buf_ok(out, err);
}
