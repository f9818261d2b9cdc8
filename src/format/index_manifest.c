/* index_manifest.c - index manifests: the index files of a snapshot, deletion vectors among them. */
#include <string.h>

#include "format/format_priv.h"

enum {
    I_VERSION, I_KIND, I_PARTITION, I_BUCKET, I_TYPE, I_NAME, I_SIZE, I_ROWS, I_REQUIRED,
    I_RANGES = I_REQUIRED, I_EXTERNAL, I_GLOBAL, I_COUNT
};
static const char *const index_names[] = {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME", "_FILE_SIZE",
                                          "_ROW_COUNT", "_DELETIONS_VECTORS_RANGES", "_EXTERNAL_PATH", "_GLOBAL_INDEX"};
static const char *const range_names[] = {"f0", "f1", "f2", "_CARDINALITY"};

struct plan {
    struct sl_plan_field *f, *range;
    size_t n, nrange;
};

/* The items of the array behind S, however it is wrapped. */
static const struct sl_avro_schema *items_of(const struct sl_avro_schema *s)
{
    if (s->kind == SL_AVRO_UNION)
        for (size_t i = 0; i < s->n; i++)
            if (s->types[i]->kind == SL_AVRO_ARRAY)
                return s->types[i]->types[0];
    return s->kind == SL_AVRO_ARRAY ? s->types[0] : NULL;
}

static int make_plan(struct sl_arena *a, const struct sl_avro_schema *s, struct plan *p, sl_err *err)
{
    SL_TRY(sl_plan_record(a, s, index_names, I_COUNT, I_REQUIRED, &p->f, &p->n, err));
    for (size_t i = 0; i < p->n; i++) {
        const struct sl_avro_schema *items = p->f[i].target == I_RANGES ? items_of(p->f[i].schema) : NULL;

        if (items)
            SL_TRY(sl_plan_record(a, items, range_names, 4, 3, &p->range, &p->nrange, err));
    }
    return SL_OK;
}

static void read_range(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_dv_range *r)
{
    r->cardinality = -1;
    s = sl_avro_branch(c, s);
    if (!s || s->kind != SL_AVRO_RECORD)
        c->bad = true;
    for (size_t i = 0; i < p->nrange && !c->bad; i++) {
        s = p->range[i].schema;
        switch (p->range[i].target) {
        case 0: r->data_file = sl_avro_bytes(c, s); break;
        case 1: r->offset = sl_avro_long(c, s, -1); break;
        case 2: r->length = sl_avro_long(c, s, -1); break;
        case 3: r->cardinality = sl_avro_long(c, s, -1); break;
        default: sl_avro_skip(c, s);
        }
    }
    if (!c->bad && (!sl_format_is_name(r->data_file) || r->offset < 0 || r->length < 0 || r->cardinality < -1))
        c->bad = true;
}

static bool read_ranges(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_arena *a,
                        struct sl_index_entry *e)
{
    struct sl_dv_range *v = NULL;
    size_t used = 0;

    s = sl_avro_branch(c, s);
    if (!s || s->kind == SL_AVRO_NULL)
        return true;
    if (s->kind != SL_AVRO_ARRAY)
        c->bad = true;
    for (int64_t n; !c->bad && (n = sl_avro_items(c)) != 0;) {
        struct sl_dv_range *more = sl_arena_array(a, used + (size_t)n, sizeof *more);

        if (!more)
            return false;
        if (used)
            memcpy(more, v, used * sizeof *v);
        v = more;
        for (; n > 0 && !c->bad; n--)
            read_range(c, p, s->types[0], &v[used++]);
    }
    e->dvs = v;
    e->ndvs = used;
    return true;
}

static void read_global(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_index_entry *e)
{
    s = sl_avro_branch(c, s);
    if (!s)
        return;
    e->has_global_index = s->kind != SL_AVRO_NULL;
    sl_avro_skip(c, s);
}

static bool read_entry(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_arena *a, int64_t *version,
                       struct sl_index_entry *e)
{
    s = sl_avro_branch(c, s);
    if (!s || s->kind != SL_AVRO_RECORD)
        c->bad = true;
    for (size_t i = 0; i < p->n && !c->bad; i++) {
        s = p->f[i].schema;
        switch (p->f[i].target) {
        case I_VERSION: *version = sl_avro_long(c, s, -1); break;
        case I_KIND: e->kind = sl_avro_int(c, s, -1); break;
        case I_PARTITION: e->partition = sl_avro_bytes(c, s); break;
        case I_BUCKET: e->bucket = sl_avro_int(c, s, 0); break;
        case I_TYPE: e->index_type = sl_avro_bytes(c, s); break;
        case I_NAME: e->file_name = sl_avro_bytes(c, s); break;
        case I_SIZE: e->file_size = sl_avro_long(c, s, -1); break;
        case I_ROWS: e->row_count = sl_avro_long(c, s, -1); break;
        case I_RANGES:
            if (!read_ranges(c, p, s, a, e))
                return false;
            break;
        case I_EXTERNAL: e->external_path = sl_avro_bytes(c, s); break;
        case I_GLOBAL: read_global(c, s, e); break;
        default: sl_avro_skip(c, s);
        }
    }
    return true;
}

static bool keep(struct sl_arena *a, sl_str *s)
{
    if (!s->p)
        return true;
    *s = sl_arena_str(a, *s);
    return s->p != NULL;
}

static bool keep_strings(struct sl_arena *a, struct sl_index_entry *e)
{
    struct sl_dv_range *dvs = (struct sl_dv_range *)(uintptr_t)e->dvs; /* made by read_ranges in A */

    for (size_t i = 0; i < e->ndvs; i++)
        if (!keep(a, &dvs[i].data_file))
            return false;
    return keep(a, &e->partition) && keep(a, &e->index_type) && keep(a, &e->file_name) && keep(a, &e->external_path);
}

static int check(const struct sl_index_entry *e, int64_t version, sl_err *err)
{
    if (version != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "index manifest version %lld is not supported (1 is)", (long long)version);
    if (e->kind != SL_FILE_ADD && e->kind != SL_FILE_DELETE)
        return sl_err_set(err, SL_EUNSUPPORTED, "an entry of the index manifest has the unknown kind %d", e->kind);
    if (!sl_format_is_name(e->file_name) || !e->partition.p || !e->index_type.p)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the index manifest does not name a file");
    if (e->file_size < 0 || e->row_count < 0)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the index manifest has a negative size or count");
    return SL_OK;
}

static int read_block(struct sl_cur *c, int64_t count, const struct plan *p, const struct sl_avro_schema *s,
                      struct sl_index_manifest *out, sl_err *err)
{
    for (; count > 0; count--) {
        struct sl_index_entry e = {0};
        int64_t version = -1;

        if (!read_entry(c, p, s, &out->arena, &version, &e))
            return sl_err_nomem(err);
        if (c->bad)
            return sl_err_set(err, SL_ECORRUPT, "entry %zu of the index manifest is damaged", out->n);
        SL_TRY(check(&e, version, err));
        struct sl_index_entry *slot = keep_strings(&out->arena, &e) ? sl_vec_push(out) : NULL;
        if (!slot)
            return sl_err_nomem(err);
        *slot = e;
    }
    return sl_cur_left(c) ? sl_err_set(err, SL_ECORRUPT, "a block of the index manifest is longer than its entries") : SL_OK;
}

int sl_index_manifest_decode(sl_str bytes, struct sl_index_manifest *out, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_avro_reader *r = NULL;
    struct plan p = {0};
    struct sl_cur c;
    int64_t count;
    int rc;

    *out = (struct sl_index_manifest){0};
    SL_GO(sl_avro_open(bytes, &r, err));
    SL_GO(make_plan(&arena, sl_avro_reader_schema(r), &p, err));
    do {
        SL_GO(sl_avro_next_block(r, &count, &c, err));
        SL_GO(read_block(&c, count, &p, sl_avro_reader_schema(r), out, err));
    } while (count);
done:
    if (rc != SL_OK)
        sl_index_manifest_release(out);
    sl_avro_close(r);
    sl_arena_release(&arena);
    return rc;
}

void sl_index_manifest_release(struct sl_index_manifest *m)
{
    sl_arena_release(&m->arena);
    sl_free(m->v);
    *m = (struct sl_index_manifest){0};
}

#define RANGES                                                                                                     \
    "{\"type\":\"array\",\"items\":[\"null\",{\"type\":\"record\",\"name\":\"record__DELETIONS_VECTORS_RANGES\",\"fields\":[" \
    SL_FIELD_SCHEMA("f0", "\"string\"") "," SL_FIELD_SCHEMA("f1", "\"int\"") "," SL_FIELD_SCHEMA("f2", "\"int\"") ","         \
    SL_NULLABLE_SCHEMA("_CARDINALITY", "\"long\"") "]}]}"

static const char index_schema[] = SL_RECORD_SCHEMA(
    SL_FIELD_SCHEMA("_VERSION", "\"int\"") "," SL_FIELD_SCHEMA("_KIND", "\"int\"") "," SL_FIELD_SCHEMA("_PARTITION", "\"bytes\"") ","
    SL_FIELD_SCHEMA("_BUCKET", "\"int\"") "," SL_FIELD_SCHEMA("_INDEX_TYPE", "\"string\"") ","
    SL_FIELD_SCHEMA("_FILE_NAME", "\"string\"") "," SL_FIELD_SCHEMA("_FILE_SIZE", "\"long\"") ","
    SL_FIELD_SCHEMA("_ROW_COUNT", "\"long\"") "," SL_NULLABLE_SCHEMA("_DELETIONS_VECTORS_RANGES", RANGES) ","
    SL_NULLABLE_SCHEMA("_EXTERNAL_PATH", "\"string\""));

static int put_ranges(struct sl_buf *b, const struct sl_index_entry *e, sl_err *err)
{
    sl_avro_put_long(b, e->dvs != NULL);
    if (!e->dvs)
        return SL_OK;
    if (e->ndvs)
        sl_avro_put_long(b, (int64_t)e->ndvs);
    for (size_t i = 0; i < e->ndvs; i++) {
        const struct sl_dv_range *r = &e->dvs[i];

        if (r->offset > INT32_MAX || r->length > INT32_MAX)
            return sl_err_set(err, SL_EUNSUPPORTED, "an index file larger than 2 GiB is not supported");
        sl_avro_put_long(b, 1);
        sl_avro_put_bytes(b, r->data_file);
        sl_avro_put_long(b, r->offset);
        sl_avro_put_long(b, r->length);
        sl_avro_put_long(b, r->cardinality >= 0);
        if (r->cardinality >= 0)
            sl_avro_put_long(b, r->cardinality);
    }
    sl_avro_put_long(b, 0);
    return SL_OK;
}

int sl_index_manifest_encode(const struct sl_index_entry *v, size_t n, struct sl_buf *out, sl_err *err)
{
    struct sl_avro_writer w;
    struct sl_buf *b = &w.block;
    int rc;

    sl_avro_writer_begin(&w, index_schema);
    for (size_t i = 0; i < n; i++) {
        const struct sl_index_entry *e = &v[i];

        if (e->has_global_index) {
            rc = sl_err_set(err, SL_EUNSUPPORTED, "writing an index manifest with a global index is not supported");
            goto done;
        }
        sl_avro_put_long(b, 1);
        sl_avro_put_long(b, e->kind);
        sl_avro_put_bytes(b, e->partition);
        sl_avro_put_long(b, e->bucket);
        sl_avro_put_bytes(b, e->index_type);
        sl_avro_put_bytes(b, e->file_name);
        sl_avro_put_long(b, e->file_size);
        sl_avro_put_long(b, e->row_count);
        SL_GO(put_ranges(b, e, err));
        sl_avro_put_long(b, e->external_path.p != NULL);
        if (e->external_path.p)
            sl_avro_put_bytes(b, e->external_path);
        SL_GO(sl_avro_writer_record(&w, err));
    }
    rc = sl_avro_writer_finish(&w, out, err);
done:
    sl_avro_writer_release(&w);
    return rc;
}
