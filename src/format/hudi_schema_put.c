/* hudi_schema_put.c - schemas of tables written, and the meta fields put in and taken out. */
#include <string.h>

#include "base/json.h"
#include "format/hudi_avro_priv.h"

static bool name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Only such names may stand in an Avro schema. */
static bool name_ok(const char *name)
{
    if (!name_start(*name))
        return false;
    for (const char *p = name; *p; p++)
        if (!name_start(*p) && !(*p >= '0' && *p <= '9'))
            return false;
    return true;
}

/* A table's name with "__" for what may not stand in a name, as Hudi does. */
static void put_sane(struct sl_buf *out, sl_str table)
{
    for (size_t i = 0; i < table.n; i++) {
        char c = table.p[i];

        if (name_start(c) || (i > 0 && c >= '0' && c <= '9'))
            sl_buf_ch(out, c);
        else
            sl_buf_addc(out, "__");
    }
}

size_t sl_hudi_decimal_bytes(int32_t precision)
{
    /* 10^p - 1 as two's complement */
    static const uint8_t bytes[39] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};

    return bytes[precision];
}

struct writer {
    struct sl_buf *out;
    const char *column; /* top-level, for messages */
    sl_err *err;
};

static int put_type(struct writer *w, const struct sl_type *t, const char *name, sl_str space);

/* SPACE.NAME; free it with sl_free. */
static char *inner_space(sl_str space, const char *name)
{
    return sl_asprintf(SL_STRF ".%s", SL_STRV(space), name);
}

static void put_logical(struct writer *w, const char *type, const char *logical)
{
    sl_buf_printf(w->out, "{\"type\":\"%s\",\"logicalType\":\"%s\"}", type, logical);
}

static int put_decimal(struct writer *w, const struct sl_type *t, const char *name, sl_str space)
{
    sl_buf_printf(w->out, "{\"type\":\"fixed\",\"name\":\"fixed\",\"namespace\":\"" SL_STRF ".%s\",\"size\":%zu,\"logicalType\":\"decimal\","
                  "\"precision\":%d,\"scale\":%d}", SL_STRV(space), name, sl_hudi_decimal_bytes(t->precision), (int)t->precision, (int)t->scale);
    return SL_OK;
}

static int put_row(struct writer *w, const struct sl_type *t, const char *name, sl_str space)
{
    char *inner = inner_space(space, name);
    int rc = SL_OK;

    if (!inner)
        return sl_err_nomem(w->err);
    sl_buf_printf(w->out, "{\"type\":\"record\",\"name\":\"%s\",\"namespace\":\"" SL_STRF "\",\"fields\":[", name, SL_STRV(space));
    for (size_t i = 0; i < t->nfields; i++) {
        const char *field = t->fields[i].name;

        if (!name_ok(field))
            SL_GO(sl_err_set(w->err, SL_EUNSUPPORTED, "column \"%s\": the name \"%s\" cannot stand in an Avro schema", w->column, field));
        sl_buf_printf(w->out, "%s{\"name\":\"%s\",\"type\":", i ? "," : "", field);
        SL_GO(put_type(w, t->fields[i].type, field, sl_str_c(inner)));
        sl_buf_addc(w->out, ",\"default\":null}");
    }
    sl_buf_addc(w->out, "]}");
done:
    sl_free(inner);
    return rc;
}

static int put_value(struct writer *w, const struct sl_type *t, const char *name, sl_str space)
{
    switch (t->kind) {
    case SL_BOOLEAN:
        sl_buf_addc(w->out, "\"boolean\"");
        return SL_OK;
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
        sl_buf_addc(w->out, "\"int\"");
        return SL_OK;
    case SL_BIGINT:
        sl_buf_addc(w->out, "\"long\"");
        return SL_OK;
    case SL_FLOAT:
        sl_buf_addc(w->out, "\"float\"");
        return SL_OK;
    case SL_DOUBLE:
        sl_buf_addc(w->out, "\"double\"");
        return SL_OK;
    case SL_CHAR:
    case SL_VARCHAR:
        sl_buf_addc(w->out, "\"string\"");
        return SL_OK;
    case SL_BINARY:
    case SL_VARBINARY:
        sl_buf_addc(w->out, "\"bytes\"");
        return SL_OK;
    case SL_DECIMAL:
        return put_decimal(w, t, name, space);
    case SL_DATE:
        put_logical(w, "int", "date");
        return SL_OK;
    case SL_TIME:
        put_logical(w, "long", "time-micros");
        return SL_OK;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        if (t->precision > 6)
            break;
        put_logical(w, "long", "timestamp-micros");
        return SL_OK;
    case SL_ARRAY:
        sl_buf_addc(w->out, "{\"type\":\"array\",\"items\":");
        SL_TRY(put_type(w, t->element, name, space));
        sl_buf_ch(w->out, '}');
        return SL_OK;
    case SL_MAP:
        if (t->key->kind != SL_VARCHAR && t->key->kind != SL_CHAR)
            break;
        sl_buf_addc(w->out, "{\"type\":\"map\",\"values\":");
        SL_TRY(put_type(w, t->value, name, space));
        sl_buf_ch(w->out, '}');
        return SL_OK;
    case SL_ROW:
        return put_row(w, t, name, space);
    default:
        break;
    }
    struct sl_buf text = SL_BUF_INIT;
    sl_type_sql(&text, t);
    sl_err_set(w->err, SL_EUNSUPPORTED, "column \"%s\": the type %s is not supported in log tables", w->column, text.p ? text.p : "?");
    sl_buf_release(&text);
    return SL_EUNSUPPORTED;
}

static int put_type(struct writer *w, const struct sl_type *t, const char *name, sl_str space)
{
    sl_buf_addc(w->out, "[\"null\",");
    SL_TRY(put_value(w, t, name, space));
    sl_buf_ch(w->out, ']');
    return SL_OK;
}

static void put_meta(struct sl_buf *out)
{
    for (int i = 0; i < SL_HUDI_NMETA; i++)
        sl_buf_printf(out, "%s{\"name\":\"%s\",\"type\":[\"null\",\"string\"],\"doc\":\"\",\"default\":null}", i ? "," : "", sl_hudi_meta_fields[i]);
}

int sl_hudi_schema_encode(sl_str table, const struct sl_field *fields, size_t n, bool meta, struct sl_buf *out, sl_err *err)
{
    struct sl_buf space = SL_BUF_INIT;
    struct writer w = {.out = out, .err = err};
    int rc;

    sl_buf_addc(out, "{\"type\":\"record\",\"name\":\"");
    put_sane(out, table);
    sl_buf_addc(out, "_record\",\"namespace\":\"hoodie.");
    put_sane(out, table);
    sl_buf_addc(out, "\",\"fields\":[");
    sl_buf_addc(&space, "hoodie.");
    put_sane(&space, table);
    sl_buf_ch(&space, '.');
    put_sane(&space, table);
    sl_buf_addc(&space, "_record");
    SL_GO(sl_buf_ok(&space, err));
    if (meta)
        put_meta(out);
    for (size_t i = 0; i < n; i++) {
        w.column = fields[i].name;
        if (!name_ok(w.column))
            SL_GO(sl_err_set(err, SL_EUNSUPPORTED, "the column name \"%s\" cannot stand in an Avro schema: letters, digits and '_' only", w.column));
        sl_buf_printf(out, "%s{\"name\":\"%s\",\"type\":", i || meta ? "," : "", w.column);
        SL_GO(put_type(&w, fields[i].type, w.column, sl_buf_view(&space)));
        sl_buf_addc(out, ",\"default\":null}");
    }
    sl_buf_addc(out, "]}");
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&space);
    return rc;
}

/* ---- meta fields in and out ---- */

static bool is_meta_field(const json_t *f)
{
    const char *name = json_string_value(json_object_get(f, "name"));

    return name && sl_hudi_is_meta(sl_str_c(name));
}

/* The document of JSON without meta fields. */
static int without_meta(sl_str json, json_t **out, sl_err *err)
{
    json_t *fields;

    SL_TRY(sl_json_parse(json, out, err));
    fields = json_object_get(*out, "fields");
    if (!json_is_array(fields)) {
        json_decref(*out);
        *out = NULL;
        return sl_err_set(err, SL_ECORRUPT, "the Avro schema of a table is no record");
    }
    for (size_t i = json_array_size(fields); i > 0; i--)
        if (is_meta_field(json_array_get(fields, i - 1)))
            json_array_remove(fields, i - 1);
    return SL_OK;
}

int sl_hudi_schema_add_meta(sl_str json, struct sl_buf *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc, failed = 0;

    SL_GO(without_meta(json, &doc, err));
    json_t *fields = json_object_get(doc, "fields");
    for (int i = 0; i < SL_HUDI_NMETA; i++)
        failed |= json_array_insert_new(fields, (size_t)i, json_pack("{s:s, s:[s,s], s:s, s:n}", "name", sl_hudi_meta_fields[i], "type", "null",
                                                                     "string", "doc", "", "default"));
    if (failed)
        SL_GOTO_NOMEM(err);
    sl_json_dump(out, doc, false);
    rc = sl_buf_ok(out, err);
done:
    json_decref(doc);
    return rc;
}

int sl_hudi_schema_drop_meta(sl_str json, struct sl_buf *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    SL_GO(without_meta(json, &doc, err));
    sl_json_dump(out, doc, false);
    rc = sl_buf_ok(out, err);
done:
    json_decref(doc);
    return rc;
}
