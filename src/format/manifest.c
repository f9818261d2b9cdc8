/* manifest.c - manifests: entries of data files. */
#include <string.h>

#include "format/format_priv.h"

enum { TOP_VERSION, TOP_KIND, TOP_PARTITION, TOP_BUCKET, TOP_TOTAL_BUCKETS, TOP_FILE, TOP_COUNT };
static const char *const top_names[] = {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"};

enum {
    F_NAME, F_SIZE, F_ROWS, F_SCHEMA, F_LEVEL, F_REQUIRED,
    F_MIN_KEY = F_REQUIRED, F_MAX_KEY, F_KEY_STATS, F_VALUE_STATS, F_MIN_SEQUENCE, F_MAX_SEQUENCE, F_EXTRA, F_CREATED, F_DELETED,
    F_INDEX, F_SOURCE, F_STATS_COLS, F_EXTERNAL, F_ROW_ID, F_WRITE_COLS, F_COUNT
};
static const char *const file_names[] = {
    "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_SCHEMA_ID", "_LEVEL", "_MIN_KEY", "_MAX_KEY", "_KEY_STATS", "_VALUE_STATS",
    "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_EXTRA_FILES", "_CREATION_TIME", "_DELETE_ROW_COUNT", "_EMBEDDED_FILE_INDEX",
    "_FILE_SOURCE", "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS"};

struct plan {
    struct sl_plan_field *top, *file;
    size_t ntop, nfile;
    struct sl_plan_stats key_stats, value_stats;
    bool want_stats;
};

static int make_plan(struct sl_arena *a, const struct sl_avro_schema *s, struct plan *p, sl_err *err)
{
    SL_TRY(sl_plan_record(a, s, top_names, TOP_COUNT, TOP_COUNT, &p->top, &p->ntop, err));
    for (size_t i = 0; i < p->ntop; i++)
        if (p->top[i].target == TOP_FILE)
            SL_TRY(sl_plan_record(a, p->top[i].schema, file_names, F_COUNT, F_REQUIRED, &p->file, &p->nfile, err));
    for (size_t i = 0; i < p->nfile; i++) {
        if (p->file[i].target == F_KEY_STATS)
            SL_TRY(sl_plan_stats(a, p->file[i].schema, &p->key_stats, err));
        if (p->file[i].target == F_VALUE_STATS)
            SL_TRY(sl_plan_stats(a, p->file[i].schema, &p->value_stats, err));
    }
    return SL_OK;
}

static bool read_stats(struct sl_cur *c, const struct sl_avro_schema *s, const struct plan *p, const struct sl_plan_stats *sp,
                       struct sl_arena *a, struct sl_stats *out)
{
    if (p->want_stats)
        return sl_stats_read(c, s, sp, a, out);
    sl_avro_skip(c, s);
    return true;
}

static const struct sl_data_file no_file = {
    .min_key = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12}, .max_key = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12},
    .key_stats = {.min = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12}, .max = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12}},
    .value_stats = {.min = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12}, .max = {"\0\0\0\0\0\0\0\0\0\0\0\0", 12}},
    .creation_time = INT64_MIN, .delete_row_count = -1, .file_source = -1, .first_row_id = -1,
};

static bool read_member(struct sl_cur *c, const struct plan *p, const struct sl_plan_field *m, struct sl_arena *a, struct sl_data_file *f)
{
    const struct sl_avro_schema *s = m->schema;
    bool present;

    switch (m->target) {
    case F_NAME: f->file_name = sl_avro_bytes(c, s); break;
    case F_SIZE: f->file_size = sl_avro_long(c, s, -1); break;
    case F_ROWS: f->row_count = sl_avro_long(c, s, -1); break;
    case F_SCHEMA: f->schema_id = sl_avro_long(c, s, -1); break;
    case F_LEVEL: f->level = sl_avro_int(c, s, 0); break;
    case F_MIN_KEY: f->min_key = sl_avro_bytes(c, s); break;
    case F_MAX_KEY: f->max_key = sl_avro_bytes(c, s); break;
    case F_KEY_STATS: return read_stats(c, s, p, &p->key_stats, a, &f->key_stats);
    case F_VALUE_STATS: return read_stats(c, s, p, &p->value_stats, a, &f->value_stats);
    case F_MIN_SEQUENCE: f->min_sequence_number = sl_avro_long(c, s, 0); break;
    case F_MAX_SEQUENCE: f->max_sequence_number = sl_avro_long(c, s, 0); break;
    case F_EXTRA: return sl_strings_read(c, s, a, &f->extra_files, &f->nextra_files, &present);
    case F_CREATED: f->creation_time = sl_avro_long(c, s, INT64_MIN); break;
    case F_DELETED: f->delete_row_count = sl_avro_long(c, s, -1); break;
    case F_INDEX: f->embedded_file_index = sl_avro_bytes(c, s); break;
    case F_SOURCE: f->file_source = sl_avro_int(c, s, -1); break;
    case F_STATS_COLS:
        return sl_strings_read(c, s, a, &f->value_stats_cols, &f->nvalue_stats_cols, &f->has_value_stats_cols);
    case F_EXTERNAL: f->external_path = sl_avro_bytes(c, s); break;
    case F_ROW_ID: f->first_row_id = sl_avro_long(c, s, -1); break;
    case F_WRITE_COLS: return sl_strings_read(c, s, a, &f->write_cols, &f->nwrite_cols, &f->has_write_cols);
    default: sl_avro_skip(c, s);
    }
    return true;
}

static bool read_file(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_arena *a, struct sl_data_file *f)
{
    *f = no_file;
    s = sl_avro_branch(c, s);
    if (!s || s->kind != SL_AVRO_RECORD)
        c->bad = true;
    for (size_t i = 0; i < p->nfile && !c->bad; i++)
        if (!read_member(c, p, &p->file[i], a, f))
            return false;
    return true;
}

/* One entry; false if out of memory. A damaged one makes the cursor bad. */
static bool read_entry(struct sl_cur *c, const struct plan *p, const struct sl_avro_schema *s, struct sl_arena *a, int64_t *version,
                       struct sl_manifest_entry *e)
{
    s = sl_avro_branch(c, s);
    if (!s || s->kind != SL_AVRO_RECORD)
        c->bad = true;
    for (size_t i = 0; i < p->ntop && !c->bad; i++) {
        const struct sl_plan_field *m = &p->top[i];

        switch (m->target) {
        case TOP_VERSION: *version = sl_avro_long(c, m->schema, -1); break;
        case TOP_KIND: e->kind = sl_avro_int(c, m->schema, -1); break;
        case TOP_PARTITION: e->partition = sl_avro_bytes(c, m->schema); break;
        case TOP_BUCKET: e->bucket = sl_avro_int(c, m->schema, 0); break;
        case TOP_TOTAL_BUCKETS: e->total_buckets = sl_avro_int(c, m->schema, 0); break;
        case TOP_FILE:
            if (!read_file(c, p, m->schema, a, &e->file))
                return false;
            break;
        default: sl_avro_skip(c, m->schema);
        }
    }
    return true;
}

static int check_entry(const struct sl_manifest_entry *e, int64_t version, int64_t n, sl_err *err)
{
    const struct sl_data_file *f = &e->file;

    if (version != 2)
        return sl_err_set(err, SL_EUNSUPPORTED, "manifest entry version %lld is not supported (2 is)", (long long)version);
    if (e->kind != SL_FILE_ADD && e->kind != SL_FILE_DELETE)
        return sl_err_set(err, SL_EUNSUPPORTED, "entry %lld of the manifest has the unknown kind %d", (long long)n, e->kind);
    if (!sl_format_is_name(f->file_name) || !e->partition.p)
        return sl_err_set(err, SL_ECORRUPT, "entry %lld of the manifest does not name a file", (long long)n);
    if (f->file_size < 0 || f->row_count < 0 || f->schema_id < 0)
        return sl_err_set(err, SL_ECORRUPT, "entry %lld of the manifest has a negative size, row count or schema id", (long long)n);
    return SL_OK;
}

int sl_manifest_decode(sl_str bytes, bool want_stats, int (*fn)(void *user, const struct sl_manifest_entry *e, sl_err *err), void *user,
                       sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT, lists = SL_ARENA_INIT;
    struct sl_avro_reader *r = NULL;
    struct plan p = {.want_stats = want_stats};
    struct sl_cur c;
    int64_t left, n = 0;
    int rc;

    SL_GO(sl_avro_open(bytes, &r, err));
    SL_GO(make_plan(&arena, sl_avro_reader_schema(r), &p, err));
    for (;;) {
        SL_GO(sl_avro_next_block(r, &left, &c, err));
        if (left == 0)
            break;
        for (; left > 0; left--, n++) {
            struct sl_manifest_entry e = {0};
            int64_t version = -1;

            if (!read_entry(&c, &p, sl_avro_reader_schema(r), &lists, &version, &e))
                SL_GOTO_NOMEM(err);
            if (c.bad) {
                rc = sl_err_set(err, SL_ECORRUPT, "entry %lld of the manifest is damaged", (long long)n);
                goto done;
            }
            SL_GO(check_entry(&e, version, n, err));
            SL_GO(fn(user, &e, err));
            if (lists.used > 1 << 16)
                sl_arena_reset(&lists);
        }
        if (sl_cur_left(&c)) {
            rc = sl_err_set(err, SL_ECORRUPT, "a block of the manifest is longer than its entries");
            goto done;
        }
    }
done:
    sl_avro_close(r);
    sl_arena_release(&arena);
    sl_arena_release(&lists);
    return rc;
}

/* ---- identity, copy ---- */

static void put_sized(struct sl_buf *out, sl_str s)
{
    sl_buf_u32le(out, (uint32_t)s.n);
    sl_buf_add(out, s);
}

void sl_entry_identity(struct sl_buf *out, const struct sl_manifest_entry *e)
{
    const struct sl_data_file *f = &e->file;

    put_sized(out, e->partition);
    sl_buf_u32le(out, (uint32_t)e->bucket);
    sl_buf_u32le(out, (uint32_t)f->level);
    put_sized(out, f->file_name);
    sl_buf_u32le(out, (uint32_t)f->nextra_files);
    for (size_t i = 0; i < f->nextra_files; i++)
        put_sized(out, f->extra_files[i]);
    sl_buf_u8(out, f->embedded_file_index.p != NULL);
    put_sized(out, f->embedded_file_index);
    sl_buf_u8(out, f->external_path.p != NULL);
    put_sized(out, f->external_path);
}

static bool copy_str(struct sl_arena *a, sl_str *s)
{
    if (!s->p)
        return true;
    if (sl_str_eq(*s, SL_BINROW_EMPTY)) { /* most rows of keys are: one is enough */
        *s = SL_BINROW_EMPTY;
        return true;
    }
    *s = sl_arena_str(a, *s);
    return s->p != NULL;
}

static bool copy_strs(struct sl_arena *a, const sl_str **v, size_t n)
{
    sl_str *copy = n ? sl_arena_array(a, n, sizeof *copy) : NULL;

    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = (*v)[i];
        if (!copy_str(a, &copy[i]))
            return false;
    }
    *v = copy;
    return copy || n == 0;
}

static bool copy_stats(struct sl_arena *a, struct sl_stats *st)
{
    int64_t *counts = st->nnull_counts ? sl_arena_array(a, st->nnull_counts, sizeof *counts) : NULL;

    if (!copy_str(a, &st->min) || !copy_str(a, &st->max) || (st->nnull_counts && !counts))
        return false;
    if (counts)
        memcpy(counts, st->null_counts, st->nnull_counts * sizeof *counts);
    st->null_counts = counts;
    return true;
}

bool sl_entry_copy(struct sl_arena *a, const struct sl_manifest_entry *from, struct sl_manifest_entry *to)
{
    struct sl_data_file *f = &to->file;

    *to = *from;
    return copy_str(a, &to->partition) && copy_str(a, &f->file_name) && copy_str(a, &f->min_key) && copy_str(a, &f->max_key) &&
           copy_stats(a, &f->key_stats) && copy_stats(a, &f->value_stats) && copy_strs(a, &f->extra_files, f->nextra_files) &&
           copy_str(a, &f->embedded_file_index) && copy_strs(a, &f->value_stats_cols, f->nvalue_stats_cols) &&
           copy_str(a, &f->external_path) && copy_strs(a, &f->write_cols, f->nwrite_cols);
}

/* ---- writing ---- */

#define STRINGS "{\"type\":\"array\",\"items\":\"string\"}"
#define MILLIS "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}"

static const char manifest_schema[] = SL_RECORD_SCHEMA(
    SL_FIELD_SCHEMA("_VERSION", "\"int\"") "," SL_FIELD_SCHEMA("_KIND", "\"int\"") "," SL_FIELD_SCHEMA("_PARTITION", "\"bytes\"") ","
    SL_FIELD_SCHEMA("_BUCKET", "\"int\"") "," SL_FIELD_SCHEMA("_TOTAL_BUCKETS", "\"int\"") ","
    "{\"name\":\"_FILE\",\"type\":{\"type\":\"record\",\"name\":\"record__FILE\",\"fields\":["
    SL_FIELD_SCHEMA("_FILE_NAME", "\"string\"") "," SL_FIELD_SCHEMA("_FILE_SIZE", "\"long\"") ","
    SL_FIELD_SCHEMA("_ROW_COUNT", "\"long\"") "," SL_FIELD_SCHEMA("_MIN_KEY", "\"bytes\"") ","
    SL_FIELD_SCHEMA("_MAX_KEY", "\"bytes\"") ","
    SL_FIELD_SCHEMA("_KEY_STATS", SL_STATS_SCHEMA("record__FILE__KEY_STATS")) ","
    SL_FIELD_SCHEMA("_VALUE_STATS", SL_STATS_SCHEMA("record__FILE__VALUE_STATS")) ","
    SL_FIELD_SCHEMA("_MIN_SEQUENCE_NUMBER", "\"long\"") "," SL_FIELD_SCHEMA("_MAX_SEQUENCE_NUMBER", "\"long\"") ","
    SL_FIELD_SCHEMA("_SCHEMA_ID", "\"long\"") "," SL_FIELD_SCHEMA("_LEVEL", "\"int\"") ","
    SL_FIELD_SCHEMA("_EXTRA_FILES", STRINGS) "," SL_NULLABLE_SCHEMA("_CREATION_TIME", MILLIS) ","
    SL_NULLABLE_SCHEMA("_DELETE_ROW_COUNT", "\"long\"") "," SL_NULLABLE_SCHEMA("_EMBEDDED_FILE_INDEX", "\"bytes\"") ","
    SL_NULLABLE_SCHEMA("_FILE_SOURCE", "\"int\"") "," SL_NULLABLE_SCHEMA("_VALUE_STATS_COLS", STRINGS) ","
    SL_NULLABLE_SCHEMA("_EXTERNAL_PATH", "\"string\"") "," SL_NULLABLE_SCHEMA("_FIRST_ROW_ID", "\"long\"") ","
    SL_NULLABLE_SCHEMA("_WRITE_COLS", STRINGS) "]}}");

struct sl_manifest_writer {
    struct sl_avro_writer avro;
};

int sl_manifest_writer_new(struct sl_manifest_writer **out, sl_err *err)
{
    *out = sl_calloc(1, sizeof **out);
    if (!*out)
        return sl_err_nomem(err);
    sl_avro_writer_begin(&(*out)->avro, manifest_schema);
    return SL_OK;
}

static void put_strings(struct sl_buf *b, const sl_str *v, size_t n)
{
    if (n)
        sl_avro_put_long(b, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        sl_avro_put_bytes(b, v[i]);
    sl_avro_put_long(b, 0);
}

static void put_optional_long(struct sl_buf *b, int64_t v, int64_t absent)
{
    sl_avro_put_long(b, v != absent);
    if (v != absent)
        sl_avro_put_long(b, v);
}

static void put_optional_bytes(struct sl_buf *b, sl_str s)
{
    sl_avro_put_long(b, s.p != NULL);
    if (s.p)
        sl_avro_put_bytes(b, s);
}

static void put_optional_strings(struct sl_buf *b, bool present, const sl_str *v, size_t n)
{
    sl_avro_put_long(b, present);
    if (present)
        put_strings(b, v, n);
}

static void put_file(struct sl_buf *b, const struct sl_data_file *f)
{
    sl_avro_put_bytes(b, f->file_name);
    sl_avro_put_long(b, f->file_size);
    sl_avro_put_long(b, f->row_count);
    sl_avro_put_bytes(b, f->min_key.p ? f->min_key : SL_BINROW_EMPTY);
    sl_avro_put_bytes(b, f->max_key.p ? f->max_key : SL_BINROW_EMPTY);
    sl_stats_put(b, &f->key_stats);
    sl_stats_put(b, &f->value_stats);
    sl_avro_put_long(b, f->min_sequence_number);
    sl_avro_put_long(b, f->max_sequence_number);
    sl_avro_put_long(b, f->schema_id);
    sl_avro_put_long(b, f->level);
    put_strings(b, f->extra_files, f->nextra_files);
    put_optional_long(b, f->creation_time, INT64_MIN);
    put_optional_long(b, f->delete_row_count < 0 ? -1 : f->delete_row_count, -1);
    put_optional_bytes(b, f->embedded_file_index);
    put_optional_long(b, f->file_source < 0 ? -1 : f->file_source, -1);
    put_optional_strings(b, f->has_value_stats_cols, f->value_stats_cols, f->nvalue_stats_cols);
    put_optional_bytes(b, f->external_path);
    put_optional_long(b, f->first_row_id < 0 ? -1 : f->first_row_id, -1);
    put_optional_strings(b, f->has_write_cols, f->write_cols, f->nwrite_cols);
}

int sl_manifest_writer_add(struct sl_manifest_writer *w, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf *b = &w->avro.block;

    sl_avro_put_long(b, 2);
    sl_avro_put_long(b, e->kind);
    sl_avro_put_bytes(b, e->partition);
    sl_avro_put_long(b, e->bucket);
    sl_avro_put_long(b, e->total_buckets);
    put_file(b, &e->file);
    return sl_avro_writer_record(&w->avro, err);
}

size_t sl_manifest_writer_size(const struct sl_manifest_writer *w)
{
    return w->avro.out.n + w->avro.block.n / 3;
}

int sl_manifest_writer_finish(struct sl_manifest_writer *w, struct sl_buf *out, sl_err *err)
{
    return sl_avro_writer_finish(&w->avro, out, err);
}

void sl_manifest_writer_free(struct sl_manifest_writer *w)
{
    if (!w)
        return;
    sl_avro_writer_release(&w->avro);
    sl_free(w);
}
