/* entry_json.c - a manifest entry as a JSON object, all of its members but the partition. */
#include <string.h>

#include "compact/task.h"

/* ---- writing; a failed step leaves the object incomplete and *ok false ---- */

static void put(json_t *obj, const char *name, json_t *value, bool *ok)
{
    if (!value || json_object_set_new(obj, name, value) != 0)
        *ok = false;
}

static json_t *json_text(sl_str s)
{
    return json_stringn_nocheck(s.n ? s.p : "", s.n);
}

static json_t *json_bytes(sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;
    json_t *out = NULL;

    sl_buf_base64(&b, s);
    if (!b.failed)
        out = json_text(sl_buf_view(&b));
    sl_buf_release(&b);
    return out;
}

static json_t *json_texts(const sl_str *v, size_t n)
{
    json_t *out = json_array();

    for (size_t i = 0; out && i < n; i++)
        if (json_array_append_new(out, json_text(v[i])) != 0) {
            json_decref(out);
            out = NULL;
        }
    return out;
}

static json_t *json_stats(const struct sl_stats *st)
{
    json_t *out = json_object(), *nulls = json_array();
    bool ok = out && nulls;

    for (size_t i = 0; ok && i < st->nnull_counts; i++)
        ok = json_array_append_new(nulls, st->null_counts[i] < 0 ? json_null() : json_integer(st->null_counts[i])) == 0;
    if (ok) {
        put(out, "min", json_bytes(st->min), &ok);
        put(out, "max", json_bytes(st->max), &ok);
        put(out, "nulls", nulls, &ok);
        nulls = NULL;
    }
    json_decref(nulls);
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static void put_stats(json_t *j, const struct sl_data_file *f, bool *ok)
{
    put(j, "keyStats", json_stats(&f->key_stats), ok);
    put(j, "stats", json_stats(&f->value_stats), ok);
    if (f->has_value_stats_cols)
        put(j, "statsCols", json_texts(f->value_stats_cols, f->nvalue_stats_cols), ok);
}

static void put_optional(json_t *j, const struct sl_data_file *f, bool *ok)
{
    if (!sl_str_eq(f->min_key, SL_BINROW_EMPTY))
        put(j, "minKey", json_bytes(f->min_key), ok);
    if (!sl_str_eq(f->max_key, SL_BINROW_EMPTY))
        put(j, "maxKey", json_bytes(f->max_key), ok);
    if (f->nextra_files)
        put(j, "extraFiles", json_texts(f->extra_files, f->nextra_files), ok);
    if (f->creation_time != INT64_MIN)
        put(j, "created", json_integer(f->creation_time), ok);
    if (f->delete_row_count >= 0)
        put(j, "deletedRows", json_integer(f->delete_row_count), ok);
    if (f->embedded_file_index.p)
        put(j, "index", json_bytes(f->embedded_file_index), ok);
    if (f->file_source >= 0)
        put(j, "source", json_integer(f->file_source), ok);
    if (f->external_path.p)
        put(j, "externalPath", json_text(f->external_path), ok);
    if (f->first_row_id >= 0)
        put(j, "firstRowId", json_integer(f->first_row_id), ok);
    if (f->has_write_cols)
        put(j, "writeCols", json_texts(f->write_cols, f->nwrite_cols), ok);
}

json_t *sl_entry_to_json(const struct sl_manifest_entry *e, bool with_stats)
{
    const struct sl_data_file *f = &e->file;
    json_t *j = json_object();
    bool ok = j != NULL;

    if (!ok)
        return NULL;
    put(j, "file", json_text(f->file_name), &ok);
    put(j, "size", json_integer(f->file_size), &ok);
    put(j, "rows", json_integer(f->row_count), &ok);
    put(j, "schema", json_integer(f->schema_id), &ok);
    put(j, "bucket", json_integer(e->bucket), &ok);
    put(j, "totalBuckets", json_integer(e->total_buckets), &ok);
    put(j, "level", json_integer(f->level), &ok);
    put(j, "minSequence", json_integer(f->min_sequence_number), &ok);
    put(j, "maxSequence", json_integer(f->max_sequence_number), &ok);
    put_optional(j, f, &ok);
    if (with_stats)
        put_stats(j, f, &ok);
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

/* ---- reading ---- */

static int wrong(const char *name, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "member \"%s\" %s", name, why);
}

static int get_text(const json_t *j, const char *name, struct sl_arena *a, sl_str *out, sl_err *err)
{
    sl_str s = {NULL, 0};

    SL_TRY(sl_json_str_opt(j, name, &s, err));
    if (!s.p)
        return SL_OK;
    *out = sl_arena_str(a, s);
    return out->p ? SL_OK : sl_err_nomem(err);
}

static int get_bytes(const json_t *j, const char *name, struct sl_arena *a, sl_str *out, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    sl_str s = {NULL, 0};
    int rc = SL_OK;

    SL_TRY(sl_json_str_opt(j, name, &s, err));
    if (!s.p)
        return SL_OK;
    if (!sl_base64_decode(s, &b))
        rc = wrong(name, "must be base64", err);
    else
        rc = sl_buf_ok(&b, err);
    if (rc == SL_OK) {
        *out = sl_arena_str(a, sl_buf_view(&b));
        if (!out->p)
            rc = sl_err_nomem(err);
    }
    sl_buf_release(&b);
    return rc;
}

static int get_texts(const json_t *j, const char *name, struct sl_arena *a, const sl_str **out, size_t *n, bool *has, sl_err *err)
{
    const json_t *list = sl_json_member(j, name);

    if (!list)
        return SL_OK;
    if (!json_is_array(list))
        return wrong(name, "must be an array", err);
    *n = json_array_size(list);
    if (has)
        *has = true;
    sl_str *v = sl_arena_array(a, *n ? *n : 1, sizeof *v);
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < *n; i++) {
        const json_t *s = json_array_get(list, i);

        if (!json_is_string(s))
            return wrong(name, "must hold strings", err);
        v[i] = sl_arena_str(a, (sl_str){json_string_value(s), json_string_length(s)});
        if (!v[i].p)
            return sl_err_nomem(err);
    }
    *out = v;
    return SL_OK;
}

static int get_stats(const json_t *j, const char *name, struct sl_arena *a, struct sl_stats *out, sl_err *err)
{
    const json_t *obj = sl_json_member(j, name);

    *out = (struct sl_stats){SL_BINROW_EMPTY, SL_BINROW_EMPTY, NULL, 0};
    if (!obj)
        return SL_OK;
    if (!json_is_object(obj))
        return wrong(name, "must be an object", err);
    SL_TRY(get_bytes(obj, "min", a, &out->min, err));
    SL_TRY(get_bytes(obj, "max", a, &out->max, err));
    const json_t *nulls = sl_json_member(obj, "nulls");
    if (!nulls)
        return SL_OK;
    if (!json_is_array(nulls))
        return wrong("nulls", "must be an array", err);
    out->nnull_counts = json_array_size(nulls);
    int64_t *v = sl_arena_array(a, out->nnull_counts ? out->nnull_counts : 1, sizeof *v);
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < out->nnull_counts; i++) {
        const json_t *c = json_array_get(nulls, i);

        if (!json_is_integer(c) && !json_is_null(c))
            return wrong("nulls", "must hold integers and null", err);
        v[i] = json_is_null(c) ? -1 : json_integer_value(c);
        if (v[i] < -1)
            return wrong("nulls", "holds a negative count", err);
    }
    out->null_counts = v;
    return SL_OK;
}

static int get_i32(const json_t *j, const char *name, int32_t *out, sl_err *err)
{
    int64_t v = *out;

    SL_TRY(sl_json_i64_opt(j, name, &v, err));
    if (v < INT32_MIN || v > INT32_MAX)
        return wrong(name, "is out of range", err);
    *out = (int32_t)v;
    return SL_OK;
}

static int get_count(const json_t *j, const char *name, int64_t *out, sl_err *err)
{
    SL_TRY(sl_json_i64_req(j, name, out, err));
    return *out < 0 ? wrong(name, "must not be negative", err) : SL_OK;
}

static int get_required(const json_t *j, struct sl_arena *a, struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_data_file *f = &e->file;

    SL_TRY(sl_json_str_req(j, "file", &f->file_name, err));
    SL_TRY(get_text(j, "file", a, &f->file_name, err));
    /* A name that leaves its folder would make a discard remove something else. */
    if (f->file_name.n == 0 || memchr(f->file_name.p, '/', f->file_name.n) || memchr(f->file_name.p, 0, f->file_name.n) ||
        f->file_name.p[0] == '.')
        return wrong("file", "must be the name of a data file", err);
    SL_TRY(get_count(j, "size", &f->file_size, err));
    SL_TRY(get_count(j, "rows", &f->row_count, err));
    SL_TRY(get_count(j, "schema", &f->schema_id, err));
    SL_TRY(get_i32(j, "bucket", &e->bucket, err));
    SL_TRY(get_i32(j, "totalBuckets", &e->total_buckets, err));
    SL_TRY(get_i32(j, "level", &f->level, err));
    SL_TRY(sl_json_i64_opt(j, "minSequence", &f->min_sequence_number, err));
    return sl_json_i64_opt(j, "maxSequence", &f->max_sequence_number, err);
}

static int get_optional(const json_t *j, struct sl_arena *a, struct sl_data_file *f, sl_err *err)
{
    SL_TRY(get_bytes(j, "minKey", a, &f->min_key, err));
    SL_TRY(get_bytes(j, "maxKey", a, &f->max_key, err));
    SL_TRY(get_texts(j, "extraFiles", a, &f->extra_files, &f->nextra_files, NULL, err));
    SL_TRY(sl_json_i64_opt(j, "created", &f->creation_time, err));
    SL_TRY(sl_json_i64_opt(j, "deletedRows", &f->delete_row_count, err));
    SL_TRY(get_bytes(j, "index", a, &f->embedded_file_index, err));
    SL_TRY(get_i32(j, "source", &f->file_source, err));
    SL_TRY(get_text(j, "externalPath", a, &f->external_path, err));
    SL_TRY(sl_json_i64_opt(j, "firstRowId", &f->first_row_id, err));
    return get_texts(j, "writeCols", a, &f->write_cols, &f->nwrite_cols, &f->has_write_cols, err);
}

int sl_entry_from_json(const json_t *j, struct sl_arena *a, struct sl_manifest_entry *out, sl_err *err)
{
    *out = (struct sl_manifest_entry){.kind = SL_FILE_ADD, .total_buckets = -1};
    struct sl_data_file *f = &out->file;

    if (!json_is_object(j))
        return sl_err_set(err, SL_ECORRUPT, "a file must be a JSON object");
    f->min_key = f->max_key = SL_BINROW_EMPTY;
    f->creation_time = INT64_MIN;
    f->delete_row_count = f->first_row_id = -1;
    f->file_source = -1;
    SL_TRY(get_required(j, a, out, err));
    SL_TRY(get_optional(j, a, f, err));
    SL_TRY(get_stats(j, "keyStats", a, &f->key_stats, err));
    SL_TRY(get_stats(j, "stats", a, &f->value_stats, err));
    SL_TRY(get_texts(j, "statsCols", a, &f->value_stats_cols, &f->nvalue_stats_cols, &f->has_value_stats_cols, err));
    /* Without statistics an entry says so, as Paimon's own does when it drops them. */
    if (!sl_json_member(j, "stats"))
        f->has_value_stats_cols = true;
    return SL_OK;
}
