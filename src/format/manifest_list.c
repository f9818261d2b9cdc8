/* manifest_list.c - manifest lists, and what they say of a manifest's entries. */
#include <string.h>

#include "format/format_priv.h"

enum {
    L_VERSION, L_NAME, L_SIZE, L_ADDED, L_DELETED, L_STATS, L_SCHEMA, L_REQUIRED,
    L_MIN_BUCKET = L_REQUIRED, L_MAX_BUCKET, L_MIN_LEVEL, L_MAX_LEVEL, L_MIN_ROW_ID, L_MAX_ROW_ID, L_COUNT
};
static const char *const list_names[] = {
    "_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS", "_SCHEMA_ID", "_MIN_BUCKET",
    "_MAX_BUCKET", "_MIN_LEVEL", "_MAX_LEVEL", "_MIN_ROW_ID", "_MAX_ROW_ID"};

struct plan {
    struct sl_plan_field *f;
    size_t n;
    struct sl_plan_stats stats;
};

static bool read_meta(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_arena *a, int64_t *version,
                      struct sl_manifest_meta *m)
{
    *m = (struct sl_manifest_meta){.min_bucket = INT32_MIN, .max_bucket = INT32_MIN, .min_level = INT32_MIN, .max_level = INT32_MIN,
                                   .min_row_id = -1, .max_row_id = -1};
    s = sl_avro_branch(c, s);
    if (!s || s->kind != SL_AVRO_RECORD)
        c->bad = true;
    for (size_t i = 0; i < p->n && !c->bad; i++) {
        s = p->f[i].schema;
        switch (p->f[i].target) {
        case L_VERSION: *version = sl_avro_long(c, s, -1); break;
        case L_NAME: m->file_name = sl_avro_bytes(c, s); break;
        case L_SIZE: m->file_size = sl_avro_long(c, s, -1); break;
        case L_ADDED: m->num_added_files = sl_avro_long(c, s, -1); break;
        case L_DELETED: m->num_deleted_files = sl_avro_long(c, s, -1); break;
        case L_STATS:
            if (!sl_stats_read(c, s, &p->stats, a, &m->partition_stats))
                return false;
            break;
        case L_SCHEMA: m->schema_id = sl_avro_long(c, s, -1); break;
        case L_MIN_BUCKET: m->min_bucket = sl_avro_int(c, s, INT32_MIN); break;
        case L_MAX_BUCKET: m->max_bucket = sl_avro_int(c, s, INT32_MIN); break;
        case L_MIN_LEVEL: m->min_level = sl_avro_int(c, s, INT32_MIN); break;
        case L_MAX_LEVEL: m->max_level = sl_avro_int(c, s, INT32_MIN); break;
        case L_MIN_ROW_ID: m->min_row_id = sl_avro_long(c, s, -1); break;
        case L_MAX_ROW_ID: m->max_row_id = sl_avro_long(c, s, -1); break;
        default: sl_avro_skip(c, s);
        }
    }
    return true;
}

/* The block that the strings lie in goes away: they move to the list's arena. */
static bool keep_strings(struct sl_arena *a, struct sl_manifest_meta *m)
{
    m->file_name = sl_arena_str(a, m->file_name);
    m->partition_stats.min = sl_arena_str(a, m->partition_stats.min);
    m->partition_stats.max = sl_arena_str(a, m->partition_stats.max);
    return m->file_name.p && m->partition_stats.min.p && m->partition_stats.max.p;
}

static int check_meta(const struct sl_manifest_meta *m, int64_t version, sl_err *err)
{
    if (version != 2)
        return sl_err_set(err, SL_EUNSUPPORTED, "manifest list version %lld is not supported (2 is)", (long long)version);
    if (!sl_format_is_name(m->file_name))
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest list does not name a file");
    if (m->file_size < 0 || m->num_added_files < 0 || m->num_deleted_files < 0 || m->schema_id < 0)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest list has a negative size, count or schema id");
    return SL_OK;
}

static int read_block(struct sl_cur *c, int64_t count, const struct plan *p, const struct sl_avro_schema *s,
                      struct sl_manifest_list *out, sl_err *err)
{
    for (; count > 0; count--) {
        struct sl_manifest_meta m;
        int64_t version = -1;

        if (!read_meta(c, p, s, &out->arena, &version, &m))
            return sl_err_nomem(err);
        if (c->bad)
            return sl_err_set(err, SL_ECORRUPT, "entry %zu of the manifest list is damaged", out->n);
        SL_TRY(check_meta(&m, version, err));
        struct sl_manifest_meta *slot = keep_strings(&out->arena, &m) ? sl_vec_push(out) : NULL;
        if (!slot)
            return sl_err_nomem(err);
        *slot = m;
    }
    return sl_cur_left(c) ? sl_err_set(err, SL_ECORRUPT, "a block of the manifest list is longer than its entries") : SL_OK;
}

int sl_manifest_list_decode(sl_str bytes, struct sl_manifest_list *out, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_avro_reader *r = NULL;
    struct plan p = {0};
    struct sl_cur c;
    size_t before = out->n;
    int64_t count;
    int rc;

    SL_GO(sl_avro_open(bytes, &r, err));
    SL_GO(sl_plan_record(&arena, sl_avro_reader_schema(r), list_names, L_COUNT, L_REQUIRED, &p.f, &p.n, err));
    for (size_t i = 0; i < p.n; i++)
        if (p.f[i].target == L_STATS)
            SL_GO(sl_plan_stats(&arena, p.f[i].schema, &p.stats, err));
    do {
        SL_GO(sl_avro_next_block(r, &count, &c, err));
        SL_GO(read_block(&c, count, &p, sl_avro_reader_schema(r), out, err));
    } while (count);
done:
    if (rc != SL_OK)
        out->n = before;
    sl_avro_close(r);
    sl_arena_release(&arena);
    return rc;
}

void sl_manifest_list_release(struct sl_manifest_list *l)
{
    sl_arena_release(&l->arena);
    sl_free(l->v);
    *l = (struct sl_manifest_list){0};
}

static const char list_schema[] = SL_RECORD_SCHEMA(
    SL_FIELD_SCHEMA("_VERSION", "\"int\"") "," SL_FIELD_SCHEMA("_FILE_NAME", "\"string\"") "," SL_FIELD_SCHEMA("_FILE_SIZE", "\"long\"") ","
    SL_FIELD_SCHEMA("_NUM_ADDED_FILES", "\"long\"") "," SL_FIELD_SCHEMA("_NUM_DELETED_FILES", "\"long\"") ","
    SL_FIELD_SCHEMA("_PARTITION_STATS", SL_STATS_SCHEMA("record__PARTITION_STATS")) "," SL_FIELD_SCHEMA("_SCHEMA_ID", "\"long\"") ","
    SL_NULLABLE_SCHEMA("_MIN_BUCKET", "\"int\"") "," SL_NULLABLE_SCHEMA("_MAX_BUCKET", "\"int\"") ","
    SL_NULLABLE_SCHEMA("_MIN_LEVEL", "\"int\"") "," SL_NULLABLE_SCHEMA("_MAX_LEVEL", "\"int\"") ","
    SL_NULLABLE_SCHEMA("_MIN_ROW_ID", "\"long\"") "," SL_NULLABLE_SCHEMA("_MAX_ROW_ID", "\"long\""));

static void put_optional(struct sl_buf *b, int64_t v, int64_t absent)
{
    sl_avro_put_long(b, v != absent);
    if (v != absent)
        sl_avro_put_long(b, v);
}

int sl_manifest_list_encode(const struct sl_manifest_meta *v, size_t n, struct sl_buf *out, sl_err *err)
{
    struct sl_avro_writer w;
    struct sl_buf *b = &w.block;
    int rc;

    sl_avro_writer_begin(&w, list_schema);
    for (size_t i = 0; i < n; i++) {
        const struct sl_manifest_meta *m = &v[i];

        sl_avro_put_long(b, 2);
        sl_avro_put_bytes(b, m->file_name);
        sl_avro_put_long(b, m->file_size);
        sl_avro_put_long(b, m->num_added_files);
        sl_avro_put_long(b, m->num_deleted_files);
        sl_stats_put(b, &m->partition_stats);
        sl_avro_put_long(b, m->schema_id);
        put_optional(b, m->min_bucket, INT32_MIN);
        put_optional(b, m->max_bucket, INT32_MIN);
        put_optional(b, m->min_level, INT32_MIN);
        put_optional(b, m->max_level, INT32_MIN);
        put_optional(b, m->min_row_id, -1);
        put_optional(b, m->max_row_id, -1);
        SL_GO(sl_avro_writer_record(&w, err));
    }
    rc = sl_avro_writer_finish(&w, out, err);
done:
    sl_avro_writer_release(&w);
    return rc;
}

/* ---- tally ---- */

struct sl_manifest_tally {
    struct sl_arena arena;
    const struct sl_type *const *types;
    size_t n;
    struct sl_value *min, *max, *now; /* a partition column each */
    int64_t *nulls;
    sl_str last;                      /* partition of the entry before; its values are in NOW */
    int64_t added, deleted, schema_id, min_row_id, max_row_id;
    int32_t min_bucket, max_bucket, min_level, max_level;
    bool all_row_ids;
};

int sl_manifest_tally_new(const struct sl_type *const *types, size_t n, struct sl_manifest_tally **out, sl_err *err)
{
    struct sl_manifest_tally *t = sl_calloc(1, sizeof *t);

    *out = NULL;
    if (!t)
        return sl_err_nomem(err);
    t->types = types;
    t->n = n;
    t->all_row_ids = true;
    t->min = sl_arena_array(&t->arena, n, sizeof *t->min);
    t->max = sl_arena_array(&t->arena, n, sizeof *t->max);
    t->now = sl_arena_array(&t->arena, n, sizeof *t->now);
    t->nulls = sl_arena_array(&t->arena, n, sizeof *t->nulls);
    if (!t->min || !t->max || !t->now || !t->nulls) {
        sl_manifest_tally_free(t);
        return sl_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++)
        t->min[i] = t->max[i] = (struct sl_value){.kind = types[i]->kind, .null = true};
    *out = t;
    return SL_OK;
}

/* A new partition: its bytes are copied, so that bounds may point into them. */
static int add_partition(struct sl_manifest_tally *t, sl_str partition, sl_err *err)
{
    t->last = sl_arena_str(&t->arena, partition);
    if (!t->last.p)
        return sl_err_nomem(err);
    SL_TRY(sl_binrow_decode(t->last, t->types, t->n, t->now, err));
    for (size_t i = 0; i < t->n; i++) {
        if (t->now[i].null)
            continue;
        if (t->min[i].null || sl_value_cmp(&t->now[i], &t->min[i]) < 0)
            t->min[i] = t->now[i];
        if (t->max[i].null || sl_value_cmp(&t->now[i], &t->max[i]) > 0)
            t->max[i] = t->now[i];
    }
    return SL_OK;
}

static void widen(bool first, int32_t v, int32_t *min, int32_t *max)
{
    if (first || v < *min)
        *min = v;
    if (first || v > *max)
        *max = v;
}

int sl_manifest_tally_add(struct sl_manifest_tally *t, const struct sl_manifest_entry *e, sl_err *err)
{
    const struct sl_data_file *f = &e->file;
    bool first = t->added + t->deleted == 0;

    if (!t->last.p || !sl_str_eq(t->last, e->partition))
        SL_TRY(add_partition(t, e->partition, err));
    for (size_t i = 0; i < t->n; i++)
        t->nulls[i] += t->now[i].null;
    widen(first, e->bucket, &t->min_bucket, &t->max_bucket);
    widen(first, f->level, &t->min_level, &t->max_level);
    if (f->schema_id > t->schema_id)
        t->schema_id = f->schema_id;
    if (f->first_row_id < 0) {
        t->all_row_ids = false;
    } else {
        int64_t last = f->first_row_id + (f->row_count > 0 ? f->row_count - 1 : 0);

        if (first || f->first_row_id < t->min_row_id)
            t->min_row_id = f->first_row_id;
        if (first || last > t->max_row_id)
            t->max_row_id = last;
    }
    if (e->kind == SL_FILE_ADD)
        t->added++;
    else
        t->deleted++;
    return SL_OK;
}

static int bounds(struct sl_manifest_tally *t, const struct sl_value *v, struct sl_arena *a, sl_str *out, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    SL_GO(sl_binrow_encode(t->types, v, t->n, &b, err));
    *out = sl_arena_str(a, sl_buf_view(&b));
    if (!out->p)
        SL_GOTO_NOMEM(err);
done:
    sl_buf_release(&b);
    return rc;
}

int sl_manifest_tally_finish(struct sl_manifest_tally *t, struct sl_arena *a, struct sl_manifest_meta *meta, sl_err *err)
{
    int64_t *nulls = sl_arena_array(a, t->n, sizeof *nulls);
    bool rows = t->all_row_ids && t->added + t->deleted > 0;

    if (!nulls)
        return sl_err_nomem(err);
    memcpy(nulls, t->nulls, t->n * sizeof *nulls);
    meta->num_added_files = t->added;
    meta->num_deleted_files = t->deleted;
    meta->schema_id = t->schema_id;
    meta->min_bucket = t->min_bucket;
    meta->max_bucket = t->max_bucket;
    meta->min_level = t->min_level;
    meta->max_level = t->max_level;
    meta->min_row_id = rows ? t->min_row_id : -1;
    meta->max_row_id = rows ? t->max_row_id : -1;
    meta->partition_stats.null_counts = nulls;
    meta->partition_stats.nnull_counts = t->n;
    SL_TRY(bounds(t, t->min, a, &meta->partition_stats.min, err));
    return bounds(t, t->max, a, &meta->partition_stats.max, err);
}

void sl_manifest_tally_free(struct sl_manifest_tally *t)
{
    if (!t)
        return;
    sl_arena_release(&t->arena);
    sl_free(t);
}
