/* describe.c - any metadata file as JSON for people: every member as it stands in the file, and what it means beside it. */
#include <math.h>
#include <string.h>

#include "format/avro.h"
#include "format/hudi_properties.h"
#include "format/paimon.h"

enum { DEPTH_MAX = 32 };

/* ---- values ---- */

static json_t *hex(sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;
    json_t *j;

    for (size_t i = 0; i < s.n; i++)
        sl_buf_printf(&b, "%02x", (unsigned char)s.p[i]);
    j = b.failed ? NULL : json_stringn(b.n ? b.p : "", b.n);
    sl_buf_release(&b);
    return j;
}

static json_t *text_or_hex(sl_str s)
{
    json_t *j = sl_utf8_valid(s, NULL) ? json_stringn(s.p ? s.p : "", s.n) : NULL;

    return j ? j : hex(s);
}

/* ---- Avro ---- */

static json_t *avro_value(struct sl_cur *c, const struct sl_avro_schema *s, int depth);

static sl_str take_bytes(struct sl_cur *c)
{
    int64_t n = sl_cur_zigzag(c);

    if (n < 0 || (uint64_t)n > sl_cur_left(c)) {
        c->bad = true;
        return (sl_str){"", 0};
    }
    return sl_cur_bytes(c, (size_t)n);
}

static void add_items(struct sl_cur *c, const struct sl_avro_schema *s, int64_t count, json_t *out, int depth)
{
    for (int64_t i = 0; i < count && !c->bad; i++) {
        if (s->kind == SL_AVRO_ARRAY) {
            json_array_append_new(out, avro_value(c, s->types[0], depth + 1));
            continue;
        }
        char *key = sl_str_dup(take_bytes(c));
        json_t *value = avro_value(c, s->types[0], depth + 1);

        if (!key || json_object_set_new(out, key, value) != 0)
            c->bad = true;
        sl_free(key);
    }
}

static json_t *avro_items(struct sl_cur *c, const struct sl_avro_schema *s, int depth)
{
    json_t *out = s->kind == SL_AVRO_ARRAY ? json_array() : json_object();

    for (;;) {
        int64_t count = sl_cur_zigzag(c);

        if (count < 0) { /* the size in bytes follows */
            count = count == INT64_MIN ? 0 : -count;
            sl_cur_zigzag(c);
        }
        if (c->bad || count == 0)
            return out;
        if ((uint64_t)count > sl_cur_left(c)) {
            c->bad = true;
            return out;
        }
        add_items(c, s, count, out, depth);
    }
}

static json_t *avro_record(struct sl_cur *c, const struct sl_avro_schema *s, int depth)
{
    json_t *out = json_object();

    for (size_t i = 0; i < s->n && !c->bad; i++)
        if (json_object_set_new(out, s->names[i], avro_value(c, s->types[i], depth + 1)) != 0)
            c->bad = true;
    return out;
}

/* JSON has no NaN and no infinities. */
static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *avro_number(struct sl_cur *c, const struct sl_avro_schema *s)
{
    uint64_t bits;
    uint32_t half;
    double d;
    float f;

    if (s->kind == SL_AVRO_BOOLEAN)
        return json_boolean(sl_cur_u8(c) != 0);
    if (s->kind == SL_AVRO_FLOAT) {
        half = sl_cur_u32le(c);
        memcpy(&f, &half, sizeof f);
        return real(f);
    }
    if (s->kind == SL_AVRO_DOUBLE) {
        bits = sl_cur_u64le(c);
        memcpy(&d, &bits, sizeof d);
        return real(d);
    }
    return json_integer(sl_cur_zigzag(c));
}

/* Never NULL but when out of memory, which the setters refuse. */
static json_t *avro_value(struct sl_cur *c, const struct sl_avro_schema *s, int depth)
{
    int64_t branch;

    if (depth > DEPTH_MAX) {
        c->bad = true;
        return json_null();
    }
    switch (s->kind) {
    case SL_AVRO_NULL:
        return json_null();
    case SL_AVRO_BYTES:
        return hex(take_bytes(c));
    case SL_AVRO_STRING:
        return text_or_hex(take_bytes(c));
    case SL_AVRO_FIXED:
        return hex(sl_cur_bytes(c, s->size));
    case SL_AVRO_RECORD:
        return avro_record(c, s, depth);
    case SL_AVRO_ARRAY: case SL_AVRO_MAP:
        return avro_items(c, s, depth);
    case SL_AVRO_UNION:
        branch = sl_cur_zigzag(c);
        if (c->bad || branch < 0 || (uint64_t)branch >= s->n) {
            c->bad = true;
            return json_null();
        }
        return avro_value(c, s->types[branch], depth + 1);
    default:
        return avro_number(c, s);
    }
}

static int avro_records(struct sl_avro_reader *r, json_t *out, sl_err *err)
{
    struct sl_cur c;
    int64_t count;

    for (;;) {
        SL_TRY(sl_avro_next_block(r, &count, &c, err));
        if (count == 0)
            return SL_OK;
        for (int64_t i = 0; i < count; i++) {
            json_array_append_new(out, avro_value(&c, sl_avro_reader_schema(r), 0));
            if (c.bad)
                return sl_err_set(err, SL_ECORRUPT, "record %zu is damaged", json_array_size(out) - 1);
        }
    }
}

static bool has_member(const struct sl_avro_schema *s, const char *name)
{
    for (size_t i = 0; s->kind == SL_AVRO_UNION && i < s->n; i++)
        if (s->types[i]->kind == SL_AVRO_RECORD)
            return has_member(s->types[i], name);
    for (size_t i = 0; s->kind == SL_AVRO_RECORD && i < s->n; i++)
        if (strcmp(s->names[i], name) == 0)
            return true;
    return false;
}

/* ---- what the bytes of manifests mean ---- */

struct meaning {
    json_t *records;
    size_t at;
    const struct sl_schema *schema; /* NULL if not known */
};

static json_t *partition_json(const struct sl_schema *s, sl_str row)
{
    const struct sl_type *types[64];
    struct sl_value values[64];
    sl_err quiet = SL_ERR_INIT;

    if (!s || s->npartition > 64)
        return NULL;
    for (size_t i = 0; i < s->npartition; i++)
        types[i] = s->fields[s->partition_index[i]].type;
    if (sl_binrow_decode(row, types, s->npartition, values, &quiet) != SL_OK)
        return NULL;
    json_t *out = json_object();
    for (size_t i = 0; i < s->npartition; i++)
        json_object_set_new(out, s->partition_keys[i], sl_value_json(types[i], &values[i]));
    return out;
}

static json_t *column_json(const struct sl_type *t, const struct sl_col_stats *c)
{
    json_t *out = json_object();

    if (c->has_nulls)
        json_object_set_new(out, "nulls", json_integer(c->null_count));
    if (c->has_bounds) {
        json_object_set_new(out, "min", sl_value_json(t, &c->min));
        json_object_set_new(out, "max", sl_value_json(t, &c->max));
    }
    return out;
}

/* Only of files of the very schema that is known, with statistics of all of its columns. */
static json_t *stats_json(const struct sl_schema *s, const struct sl_data_file *f)
{
    if (!s || f->schema_id != s->id || f->has_value_stats_cols || f->has_write_cols)
        return NULL;
    const struct sl_type **types = sl_calloc(s->nfields + 1, sizeof *types);
    json_t *out = types ? json_object() : NULL;
    for (size_t i = 0; types && i < s->nfields; i++)
        types[i] = s->fields[i].type;
    for (size_t i = 0; types && i < s->nfields; i++) {
        struct sl_col_stats c = {0};

        if (sl_stats_column(&f->value_stats, types, s->nfields, i, &c))
            json_object_set_new(out, s->fields[i].name, column_json(types[i], &c));
    }
    sl_free(types);
    return out;
}

static int explain_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct meaning *m = user;
    json_t *record = json_array_get(m->records, m->at++), *partition = partition_json(m->schema, e->partition);
    json_t *stats = stats_json(m->schema, &e->file);

    (void)err;
    if (record)
        json_object_set_new(record, "kind", json_string(e->kind == SL_FILE_DELETE ? "DELETE" : "ADD"));
    if (record && partition)
        json_object_set(record, "partition", partition);
    if (record && stats)
        json_object_set(record, "stats", stats);
    json_decref(partition);
    json_decref(stats);
    return SL_OK;
}

static int explain_list(struct meaning *m, sl_str bytes, sl_err *err)
{
    struct sl_manifest_list list = {0};
    int rc = sl_manifest_list_decode(bytes, &list, err);

    for (size_t i = 0; rc == SL_OK && i < list.n; i++) {
        json_t *record = json_array_get(m->records, i);
        json_t *min = partition_json(m->schema, list.v[i].partition_stats.min), *max = partition_json(m->schema, list.v[i].partition_stats.max);

        if (min && max && json_object_size(min)) {
            json_object_set(record, "partitionMin", min);
            json_object_set(record, "partitionMax", max);
        }
        json_decref(min);
        json_decref(max);
    }
    sl_manifest_list_release(&list);
    return rc;
}

static int explain_index(struct meaning *m, sl_str bytes, sl_err *err)
{
    struct sl_index_manifest index = {0};
    int rc = sl_index_manifest_decode(bytes, &index, err);

    for (size_t i = 0; rc == SL_OK && i < index.n; i++) {
        json_t *partition = partition_json(m->schema, index.v[i].partition);

        if (partition)
            json_object_set(json_array_get(m->records, i), "partition", partition);
        json_decref(partition);
    }
    sl_index_manifest_release(&index);
    return rc;
}

/* What Sluice itself would refuse is shown, with the reason. */
static void note_problem(json_t *doc, int rc, const sl_err *why)
{
    if (rc != SL_OK)
        json_object_set_new(doc, "problem", text_or_hex(sl_str_c(why->text)));
}

static int describe_avro(sl_str bytes, const struct sl_schema *schema, json_t *doc, sl_err *err)
{
    struct meaning m = {.records = json_array(), .schema = schema};
    struct sl_avro_reader *r = NULL;
    sl_err why = SL_ERR_INIT;
    int rc, meant = SL_OK;

    SL_GO(sl_avro_open(bytes, &r, err));
    const struct sl_avro_schema *s = sl_avro_reader_schema(r);
    bool manifest = has_member(s, "_FILE"), list = has_member(s, "_NUM_ADDED_FILES"), index = has_member(s, "_INDEX_TYPE");
    sl_str codec = sl_avro_reader_meta(r, "avro.codec");
    const char *other = s->kind == SL_AVRO_RECORD && strncmp(s->name, "Hoodie", 6) == 0 ? s->name : "avro";
    json_object_set_new(doc, "type", json_string(manifest ? "manifest" : list ? "manifest-list" : index ? "index-manifest" : other));
    json_object_set_new(doc, "codec", codec.p ? text_or_hex(codec) : json_string("null"));
    json_object_set(doc, "records", m.records);
    SL_GO(avro_records(r, m.records, err));
    if (manifest)
        meant = sl_manifest_decode(bytes, true, explain_entry, &m, &why);
    else if (list)
        meant = explain_list(&m, bytes, &why);
    else if (index)
        meant = explain_index(&m, bytes, &why);
    note_problem(doc, meant, &why);
done:
    sl_avro_close(r);
    json_decref(m.records);
    return rc;
}

/* ---- JSON ---- */

static int describe_json(sl_str bytes, json_t *doc, sl_err *err)
{
    struct sl_snapshot snapshot = {0};
    struct sl_schema schema = {0};
    sl_err why = SL_ERR_INIT;
    json_t *content;
    const char *type = "json";
    int rc = SL_OK;

    SL_TRY(sl_json_parse(bytes, &content, err));
    if (json_object_get(content, "baseManifestList")) {
        type = json_object_get(content, "tagCreateTime") ? "tag" : "snapshot";
        rc = sl_snapshot_decode(bytes, &snapshot, &why);
    } else if (json_object_get(content, "partitionToWriteStats")) {
        type = "HoodieCommitMetadata";
    } else if (json_object_get(content, "fields")) {
        type = "schema";
        rc = sl_paimon_schema_decode(bytes, &schema, &why);
    } else if (json_object_get(content, "colStats") || json_object_get(content, "mergedRecordCount")) {
        type = "statistics";
    } else if (json_object_get(content, "nextSnapshot")) {
        type = "consumer";
    }
    sl_snapshot_release(&snapshot);
    sl_schema_release(&schema);
    json_object_set_new(doc, "type", json_string(type));
    json_object_set_new(doc, "content", content);
    note_problem(doc, rc, &why);
    return rc == SL_ENOMEM ? sl_err_nomem(err) : SL_OK;
}

/* ---- deletion vectors ---- */

static int describe_vectors(sl_str bytes, json_t *doc, sl_err *err)
{
    json_t *list = json_array();
    size_t at = 1;

    json_object_set_new(doc, "type", json_string("deletion-vectors"));
    json_object_set_new(doc, "vectors", list);
    while (at < bytes.n) {
        struct sl_cur c = sl_cur_of(sl_str_sub(bytes, at, bytes.n));
        uint32_t size = sl_cur_u32be(&c);
        struct sl_dv_range range = {.offset = (int64_t)at, .length = size, .cardinality = -1};
        struct sl_dv *dv = NULL;

        /* The other kind counts the size word and the checksum as well. */
        int rc = sl_dv_decode(bytes, &range, &dv, err);
        if (rc == SL_ECORRUPT) {
            range.length += 8;
            sl_err_clear(err);
            rc = sl_dv_decode(bytes, &range, &dv, err);
        }
        SL_TRY(rc);
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "offset", (json_int_t)range.offset, "length", (json_int_t)range.length,
                                              "cardinality", (json_int_t)sl_dv_cardinality(dv)));
        sl_dv_free(dv);
        at += (size_t)size + 8;
    }
    return SL_OK;
}

static int describe_properties(sl_str bytes, json_t *doc, sl_err *err)
{
    struct sl_hudi_properties p;
    json_t *out = json_object();

    json_object_set_new(doc, "type", json_string("properties"));
    json_object_set_new(doc, "properties", out);
    SL_TRY(sl_hudi_properties_parse(bytes, &p, err));
    for (size_t i = 0; i < p.n; i++)
        json_object_set_new(out, p.v[i].key.p, text_or_hex(p.v[i].value));
    sl_hudi_properties_release(&p);
    return SL_OK;
}

static int describe(sl_str name, sl_str bytes, const struct sl_schema *schema, json_t *doc, sl_err *err)
{
    sl_str text = sl_str_trim(bytes);
    int64_t n;

    if (bytes.n >= 4 && memcmp(bytes.p, "Obj\1", 4) == 0)
        return describe_avro(bytes, schema, doc, err);
    if (bytes.n >= 3 && memcmp(bytes.p, "ORC", 3) == 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "an ORC file: not supported");
    if (sl_str_eqc(name, "hoodie.properties") || sl_str_eqc(name, "hoodie.properties.backup") || sl_str_eqc(name, ".hoodie_partition_metadata"))
        return describe_properties(bytes, doc, err);
    if (text.n && (text.p[0] == '{' || text.p[0] == '['))
        return describe_json(bytes, doc, err);
    if (sl_parse_i64(text, &n)) {
        json_object_set_new(doc, "type", json_string("hint"));
        json_object_set_new(doc, "snapshot", json_integer(n));
        return SL_OK;
    }
    if (bytes.n && bytes.p[0] == 1)
        return describe_vectors(bytes, doc, err);
    return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" is none of the files of a table: neither Avro, JSON, a hint nor deletion vectors",
                      SL_STRV(name));
}

int sl_paimon_describe(sl_str file_name, sl_str bytes, const struct sl_schema *schema, json_t **out, sl_err *err)
{
    json_t *doc = json_object();
    int rc;

    *out = NULL;
    if (!doc)
        return sl_err_nomem(err);
    rc = describe(file_name, bytes, schema, doc, err);
    if (rc == SL_OK && json_object_size(doc) == 0)
        rc = sl_err_nomem(err);
    if (rc == SL_OK)
        *out = doc;
    else
        json_decref(doc);
    return rc;
}
