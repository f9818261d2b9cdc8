/* ts_schema.c - what a column of a table is in a block, and the schema that travels beside the blocks. */
#include "base/json.h"
#include "format/tsblock_priv.h"

static const char *const type_names[] = {
    [SL_TS_BOOLEAN] = "BOOLEAN", [SL_TS_INT32] = "INT32", [SL_TS_INT64] = "INT64", [SL_TS_FLOAT] = "FLOAT", [SL_TS_DOUBLE] = "DOUBLE",
    [SL_TS_TEXT] = "TEXT", [SL_TS_TIMESTAMP] = "TIMESTAMP", [SL_TS_DATE] = "DATE", [SL_TS_BLOB] = "BLOB", [SL_TS_STRING] = "STRING",
    [SL_TS_OBJECT] = "OBJECT",
};
static const char *const form_names[] = {
    [SL_TS_PLAIN] = "plain", [SL_TS_YYYYMMDD] = "yyyymmdd", [SL_TS_MILLIS] = "millis", [SL_TS_UNSCALED] = "unscaled", [SL_TS_NESTED] = "nested",
};
enum { NTYPES = sizeof type_names / sizeof type_names[0], NFORMS = sizeof form_names / sizeof form_names[0], SCHEMA_VERSION = 1 };

static struct sl_ts_column lossless(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: return (struct sl_ts_column){t, SL_TS_BOOLEAN, SL_TS_PLAIN};
    case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_DATE: return (struct sl_ts_column){t, SL_TS_INT32, SL_TS_PLAIN};
    case SL_BIGINT: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: return (struct sl_ts_column){t, SL_TS_INT64, SL_TS_PLAIN};
    case SL_FLOAT: return (struct sl_ts_column){t, SL_TS_FLOAT, SL_TS_PLAIN};
    case SL_DOUBLE: return (struct sl_ts_column){t, SL_TS_DOUBLE, SL_TS_PLAIN};
    case SL_CHAR: case SL_VARCHAR: return (struct sl_ts_column){t, SL_TS_STRING, SL_TS_PLAIN};
    case SL_BINARY: case SL_VARBINARY: return (struct sl_ts_column){t, SL_TS_BLOB, SL_TS_PLAIN};
    case SL_DECIMAL:
        return (struct sl_ts_column){t, t->precision <= 9 ? SL_TS_INT32 : t->precision <= 18 ? SL_TS_INT64 : SL_TS_BLOB, SL_TS_UNSCALED};
    default: return (struct sl_ts_column){t, SL_TS_BLOB, SL_TS_NESTED};
    }
}

int sl_ts_columns_lossless(const struct sl_field *fields, size_t n, struct sl_ts_column *cols, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        SL_TRY(sl_type_check_readable(fields[i].name, fields[i].type, err));
        cols[i] = lossless(fields[i].type);
    }
    return SL_OK;
}

static int no_such_type(const struct sl_field *f, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_type_sql(&b, f->type);
    sl_err_set(err, SL_EUNSUPPORTED, "column \"%.200s\" of type %.200s has no type of IoTDB", f->name, b.p ? b.p : "");
    sl_buf_release(&b);
    return SL_EUNSUPPORTED;
}

int sl_ts_columns_iotdb(const struct sl_field *fields, size_t n, struct sl_ts_column *cols, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct sl_type *t = fields[i].type;

        SL_TRY(sl_type_check_readable(fields[i].name, t, err));
        cols[i] = lossless(t);
        if (t->kind == SL_TIME || cols[i].form != SL_TS_PLAIN)
            return no_such_type(&fields[i], err);
        if (t->kind == SL_DATE)
            cols[i] = (struct sl_ts_column){t, SL_TS_DATE, SL_TS_YYYYMMDD};
        else if (t->kind == SL_TIMESTAMP || t->kind == SL_TIMESTAMP_LTZ)
            cols[i] = (struct sl_ts_column){t, SL_TS_TIMESTAMP, SL_TS_MILLIS};
    }
    return SL_OK;
}

/* ---- as JSON ---- */

static json_t *columns_to_json(const struct sl_ts_column *cols, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++) {
        json_t *o = json_object();
        int bad = json_object_set_new(o, "tsblock", json_string(type_names[cols[i].ts]));

        bad |= json_object_set_new(o, "form", json_string(form_names[cols[i].form]));
        if (json_array_append_new(list, o) != 0 || bad) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

int sl_ts_schema_write(struct sl_buf *out, const struct sl_field *fields, const struct sl_ts_column *cols, size_t n, sl_err *err)
{
    json_t *doc = json_object();
    int bad = json_object_set_new(doc, "version", json_integer(SCHEMA_VERSION));

    bad |= json_object_set_new(doc, "fields", sl_fields_to_json(fields, n));
    bad |= json_object_set_new(doc, "columns", columns_to_json(cols, n));
    if (bad)
        out->failed = true;
    else
        sl_json_dump(out, doc, false);
    json_decref(doc);
    return sl_buf_ok(out, err);
}

/* The place of TEXT in NAMES; -1. */
static int find(const char *const *names, int n, sl_str text)
{
    for (int i = 0; i < n; i++)
        if (names[i] && sl_str_eqc(text, names[i]))
            return i;
    return -1;
}

/* Does the form hold values of this type, in a column of the block of that type? */
static bool form_holds(const struct sl_ts_column *c)
{
    struct sl_ts_column plain = lossless(c->type);

    switch (c->form) {
    case SL_TS_YYYYMMDD: return c->type->kind == SL_DATE && ts_type_fits(SL_TS_INT32, (int)c->ts);
    case SL_TS_MILLIS:
        return (c->type->kind == SL_TIMESTAMP || c->type->kind == SL_TIMESTAMP_LTZ) && ts_type_fits(SL_TS_INT64, (int)c->ts);
    default: return c->form == plain.form && ts_type_fits(plain.ts, (int)c->ts);
    }
}

static int read_column(const json_t *o, const struct sl_field *f, struct sl_ts_column *out, sl_err *err)
{
    sl_str ts, form;
    int t, m;

    SL_TRY(sl_json_str_req(o, "tsblock", &ts, err));
    SL_TRY(sl_json_str_req(o, "form", &form, err));
    SL_TRY(sl_type_check_readable(f->name, f->type, err));
    t = find(type_names, NTYPES, ts);
    m = find(form_names, NFORMS, form);
    if (t < 0 || m < 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "column \"%.200s\" comes as \"" SL_STRF "\" in the form \"" SL_STRF "\", which is not known here",
                          f->name, (int)(ts.n > 40 ? 40 : ts.n), ts.p, (int)(form.n > 40 ? 40 : form.n), form.p);
    *out = (struct sl_ts_column){f->type, (enum sl_ts_type)t, (enum sl_ts_form)m};
    if (!form_holds(out))
        return sl_err_set(err, SL_ECORRUPT, "column \"%.200s\" comes as %s in the form \"%s\", which does not hold its type", f->name,
                          type_names[t], form_names[m]);
    return SL_OK;
}

static int read_schema(struct sl_arena *a, const json_t *doc, const struct sl_field **fields, const struct sl_ts_column **cols, size_t *n,
                       sl_err *err)
{
    const json_t *list = sl_json_member(doc, "columns");
    int64_t version;

    SL_TRY(sl_json_i64_req(doc, "version", &version, err));
    if (version != SCHEMA_VERSION)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %lld is not supported (%d is)", (long long)version, SCHEMA_VERSION);
    SL_TRY(sl_fields_from_json(a, sl_json_member(doc, "fields"), fields, n, err));
    if (!json_is_array(list) || json_array_size(list) != *n)
        return sl_err_set(err, SL_ECORRUPT, "\"columns\" does not match \"fields\"");
    struct sl_ts_column *c = sl_arena_array(a, *n ? *n : 1, sizeof *c);
    if (!c)
        return sl_err_nomem(err);
    for (size_t i = 0; i < *n; i++)
        SL_TRY(read_column(json_array_get(list, i), &(*fields)[i], &c[i], err));
    *cols = c;
    return SL_OK;
}

int sl_ts_schema_read(struct sl_arena *a, sl_str json, const struct sl_field **fields, const struct sl_ts_column **cols, size_t *n,
                      sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    SL_GO(sl_json_parse(json, &doc, err));
    rc = read_schema(a, doc, fields, cols, n, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the schema of the blocks");
    json_decref(doc);
    return rc;
}
