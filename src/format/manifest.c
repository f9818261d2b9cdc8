/* manifest.c - manifests, manifest lists and index manifests: Avro records to structs and back. */
#include "format/paimon.h"

#include <string.h>

#include "base/sys.h"
#include "format/avro.h"

/* ---- reading records by field name ---- */

/* What a field of a record means to us; fields of other names are skipped. */
struct layout {
    const struct sl_avro_schema *schema; /* of the record */
    const int *which;                    /* of each field, its index in NAMES, or -1 */
};

static const struct sl_avro_schema *unwrapped(const struct sl_avro_schema *s)
{
    for (size_t i = 0; s->kind == SL_AVRO_UNION && i < s->n; i++)
        if (s->types[i]->kind != SL_AVRO_NULL)
            return s->types[i];
    return s;
}

static int make_layout(struct sl_arena *a, const struct sl_avro_schema *s, const char *const *names, size_t n, size_t required,
                       struct layout *out, sl_err *err)
{
    int *which;

    out->schema = unwrapped(s);
    if (out->schema->kind != SL_AVRO_RECORD)
        return sl_err_set(err, SL_ECORRUPT, "the Avro schema has no record where one is expected");
    which = sl_arena_array(a, out->schema->n + 1, sizeof *which);
    if (!which)
        return sl_err_nomem(err);
    for (size_t i = 0; i < out->schema->n; i++) {
        which[i] = -1;
        for (size_t k = 0; k < n; k++)
            if (strcmp(out->schema->names[i], names[k]) == 0)
                which[i] = (int)k;
    }
    for (size_t k = 0; k < required; k++) {
        bool found = false;

        for (size_t i = 0; i < out->schema->n; i++)
            found = found || which[i] == (int)k;
        if (!found)
            return sl_err_set(err, SL_ECORRUPT, "the Avro schema has no field \"%s\"", names[k]);
    }
    out->which = which;
    return SL_OK;
}

/* The branch of a union that follows; what is no union is itself. */
static const struct sl_avro_schema *branch(struct sl_cur *c, const struct sl_avro_schema *s)
{
    static const struct sl_avro_schema null = {.kind = SL_AVRO_NULL};

    while (s->kind == SL_AVRO_UNION) {
        int64_t n = sl_cur_zigzag(c);

        if (n < 0 || (uint64_t)n >= s->n) {
            c->bad = true;
            return &null;
        }
        s = s->types[n];
    }
    return s;
}

static int64_t get_long(struct sl_cur *c, const struct sl_avro_schema *s, int64_t if_null)
{
    s = branch(c, s);
    if (s->kind == SL_AVRO_NULL)
        return if_null;
    if (s->kind != SL_AVRO_INT && s->kind != SL_AVRO_LONG) {
        c->bad = true;
        return 0;
    }
    return sl_cur_zigzag(c);
}

static int32_t get_int(struct sl_cur *c, const struct sl_avro_schema *s, int32_t if_null)
{
    int64_t v = get_long(c, s, if_null);

    if (v < INT32_MIN || v > INT32_MAX)
        c->bad = true;
    return (int32_t)v;
}

/* p == NULL is null. */
static sl_str get_str(struct sl_cur *c, const struct sl_avro_schema *s)
{
    sl_str none = {NULL, 0};
    int64_t n;

    s = branch(c, s);
    if (s->kind == SL_AVRO_NULL)
        return none;
    if (s->kind != SL_AVRO_STRING && s->kind != SL_AVRO_BYTES) {
        c->bad = true;
        return none;
    }
    n = sl_cur_zigzag(c);
    if (n < 0 || (uint64_t)n > sl_cur_left(c)) {
        c->bad = true;
        return none;
    }
    return sl_cur_bytes(c, (size_t)n);
}

static sl_str get_text(struct sl_cur *c, const struct sl_avro_schema *s)
{
    sl_str v = get_str(c, s);

    return v.p ? v : (sl_str){"", 0};
}

/* An array: ONE is called for each item. False if the array is null. */
static bool get_array(struct sl_cur *c, const struct sl_avro_schema *s, bool (*one)(void *user, struct sl_cur *c, const struct sl_avro_schema *item),
                      void *user)
{
    s = branch(c, s);
    if (s->kind == SL_AVRO_NULL)
        return false;
    if (s->kind != SL_AVRO_ARRAY) {
        c->bad = true;
        return false;
    }
    for (int64_t n; !c->bad && (n = sl_cur_zigzag(c)) != 0;) {
        if (n < 0) {
            (void)sl_cur_zigzag(c);
            n = n == INT64_MIN ? INT64_MAX : -n;
        }
        if ((uint64_t)n > sl_cur_left(c))
            c->bad = true;
        for (; n > 0 && !c->bad; n--)
            if (!one(user, c, s->types[0]))
                c->bad = true;
    }
    return true;
}

struct longs {
    SL_VEC(int64_t) v;
};
struct strs {
    SL_VEC(sl_str) v;
};

static bool one_long(void *user, struct sl_cur *c, const struct sl_avro_schema *item)
{
    int64_t *to = sl_vec_push(&((struct longs *)user)->v);

    if (to)
        *to = get_long(c, item, -1);
    return to != NULL;
}

static bool one_str(void *user, struct sl_cur *c, const struct sl_avro_schema *item)
{
    sl_str *to = sl_vec_push(&((struct strs *)user)->v);

    if (to)
        *to = get_text(c, item);
    return to != NULL;
}

static const int64_t *get_longs(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, size_t *n)
{
    struct longs l = {{0}};
    int64_t *copy = NULL;

    *n = 0;
    if (get_array(c, s, one_long, &l) && !c->bad) {
        copy = sl_arena_array(a, l.v.n + 1, sizeof *copy);
        if (copy && l.v.n)
            memcpy(copy, l.v.v, l.v.n * sizeof *copy);
        *n = copy ? l.v.n : 0;
        c->bad = c->bad || !copy;
    }
    sl_free(l.v.v);
    return copy;
}

/* NULL if the array is null. */
static const sl_str *get_strs(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, size_t *n)
{
    struct strs l = {{0}};
    sl_str *copy = NULL;

    *n = 0;
    if (get_array(c, s, one_str, &l) && !c->bad) {
        copy = sl_arena_array(a, l.v.n + 1, sizeof *copy);
        if (copy && l.v.n)
            memcpy(copy, l.v.v, l.v.n * sizeof *copy);
        *n = copy ? l.v.n : 0;
        c->bad = c->bad || !copy;
    }
    sl_free(l.v.v);
    return copy;
}

static void get_stats(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, bool want, struct sl_stats *out)
{
    memset(out, 0, sizeof *out);
    out->min = out->max = SL_BINROW_EMPTY;
    if (!want) {
        sl_avro_skip(c, s);
        return;
    }
    s = branch(c, s);
    if (s->kind == SL_AVRO_NULL)
        return;
    if (s->kind != SL_AVRO_RECORD) {
        c->bad = true;
        return;
    }
    for (size_t i = 0; i < s->n && !c->bad; i++) {
        if (strcmp(s->names[i], "_MIN_VALUES") == 0)
            out->min = get_text(c, s->types[i]);
        else if (strcmp(s->names[i], "_MAX_VALUES") == 0)
            out->max = get_text(c, s->types[i]);
        else if (strcmp(s->names[i], "_NULL_COUNTS") == 0)
            out->null_counts = get_longs(c, s->types[i], a, &out->nnull_counts);
        else
            sl_avro_skip(c, s->types[i]);
    }
}

/* ---- manifests ---- */

enum { E_VERSION, E_KIND, E_PARTITION, E_BUCKET, E_TOTAL_BUCKETS, E_FILE, E_COUNT };
static const char *const entry_names[] = {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"};

enum {
    F_NAME, F_SIZE, F_ROWS, F_MIN_SEQ, F_MAX_SEQ, F_SCHEMA, F_LEVEL, F_REQUIRED,
    F_MIN_KEY = F_REQUIRED, F_MAX_KEY, F_KEY_STATS, F_VALUE_STATS, F_EXTRA, F_CREATION, F_DELETE_ROWS, F_EMBEDDED, F_SOURCE, F_STATS_COLS,
    F_EXTERNAL, F_FIRST_ROW, F_WRITE_COLS, F_COUNT
};
static const char *const file_names[] = {
    "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL", "_MIN_KEY", "_MAX_KEY",
    "_KEY_STATS", "_VALUE_STATS", "_EXTRA_FILES", "_CREATION_TIME", "_DELETE_ROW_COUNT", "_EMBEDDED_FILE_INDEX", "_FILE_SOURCE",
    "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS",
};

static void get_file_field(struct sl_cur *c, const struct sl_avro_schema *s, int which, struct sl_arena *a, bool want_stats,
                           struct sl_data_file *f)
{
    switch (which) {
    case F_NAME: f->file_name = get_text(c, s); return;
    case F_SIZE: f->file_size = get_long(c, s, 0); return;
    case F_ROWS: f->row_count = get_long(c, s, 0); return;
    case F_MIN_SEQ: f->min_sequence_number = get_long(c, s, 0); return;
    case F_MAX_SEQ: f->max_sequence_number = get_long(c, s, 0); return;
    case F_SCHEMA: f->schema_id = get_long(c, s, 0); return;
    case F_LEVEL: f->level = get_int(c, s, 0); return;
    case F_MIN_KEY: f->min_key = get_text(c, s); return;
    case F_MAX_KEY: f->max_key = get_text(c, s); return;
    case F_KEY_STATS: get_stats(c, s, a, want_stats, &f->key_stats); return;
    case F_VALUE_STATS: get_stats(c, s, a, want_stats, &f->value_stats); return;
    case F_EXTRA: f->extra_files = get_strs(c, s, a, &f->nextra_files); return;
    case F_CREATION: f->creation_time = get_long(c, s, INT64_MIN); return;
    case F_DELETE_ROWS: f->delete_row_count = get_long(c, s, -1); return;
    case F_EMBEDDED: f->embedded_file_index = get_str(c, s); return;
    case F_SOURCE: f->file_source = get_int(c, s, -1); return;
    case F_STATS_COLS:
        f->value_stats_cols = get_strs(c, s, a, &f->nvalue_stats_cols);
        f->has_value_stats_cols = f->value_stats_cols != NULL;
        return;
    case F_EXTERNAL: f->external_path = get_str(c, s); return;
    case F_FIRST_ROW: f->first_row_id = get_long(c, s, -1); return;
    case F_WRITE_COLS:
        f->write_cols = get_strs(c, s, a, &f->nwrite_cols);
        f->has_write_cols = f->write_cols != NULL;
        return;
    default: sl_avro_skip(c, s);
    }
}

static void get_file(struct sl_cur *c, const struct sl_avro_schema *s, const struct layout *l, struct sl_arena *a, bool want_stats,
                     struct sl_data_file *f)
{
    f->min_key = f->max_key = SL_BINROW_EMPTY;
    f->key_stats.min = f->key_stats.max = f->value_stats.min = f->value_stats.max = SL_BINROW_EMPTY;
    f->creation_time = INT64_MIN;
    f->delete_row_count = f->first_row_id = -1;
    f->file_source = -1;
    if (branch(c, s) != l->schema) {
        c->bad = true;
        return;
    }
    for (size_t i = 0; i < l->schema->n && !c->bad; i++)
        get_file_field(c, l->schema->types[i], l->which[i], a, want_stats, f);
}

struct entry_reader {
    struct sl_arena layouts, entry;
    struct layout top, file;
    bool want_stats;
};

static int get_entry(struct sl_cur *c, struct entry_reader *r, const struct sl_avro_schema *root, struct sl_manifest_entry *e, sl_err *err)
{
    int32_t version = 0;

    memset(e, 0, sizeof *e);
    if (branch(c, root) != r->top.schema)
        c->bad = true;
    for (size_t i = 0; i < r->top.schema->n && !c->bad; i++) {
        const struct sl_avro_schema *s = r->top.schema->types[i];

        switch (r->top.which[i]) {
        case E_VERSION: version = get_int(c, s, 0); break;
        case E_KIND: e->kind = get_int(c, s, -1); break;
        case E_PARTITION: e->partition = get_text(c, s); break;
        case E_BUCKET: e->bucket = get_int(c, s, 0); break;
        case E_TOTAL_BUCKETS: e->total_buckets = get_int(c, s, 0); break;
        case E_FILE: get_file(c, s, &r->file, &r->entry, r->want_stats, &e->file); break;
        default: sl_avro_skip(c, s);
        }
    }
    if (c->bad)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest is damaged");
    if (version != 2)
        return sl_err_set(err, SL_EUNSUPPORTED, "manifest version %d is not supported", version);
    if (e->kind != SL_FILE_ADD && e->kind != SL_FILE_DELETE)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest is of the unknown kind %d", e->kind);
    if (e->file.row_count < 0 || e->file.file_size < 0)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest has a negative size");
    return SL_OK;
}

int sl_manifest_decode(sl_str bytes, bool want_stats, int (*fn)(void *user, const struct sl_manifest_entry *e, sl_err *err), void *user,
                       sl_err *err)
{
    struct entry_reader r = {.want_stats = want_stats};
    struct sl_avro_reader *avro = NULL;
    struct sl_manifest_entry e;
    int rc;

    SL_GO(sl_avro_open(bytes, &avro, err));
    const struct sl_avro_schema *root = sl_avro_reader_schema(avro);
    SL_GO(make_layout(&r.layouts, root, entry_names, E_COUNT, E_COUNT, &r.top, err));
    for (size_t i = 0; i < r.top.schema->n; i++)
        if (r.top.which[i] == E_FILE)
            SL_GO(make_layout(&r.layouts, r.top.schema->types[i], file_names, F_COUNT, F_REQUIRED, &r.file, err));
    for (;;) {
        struct sl_cur c;
        int64_t count;

        SL_GO(sl_avro_next_block(avro, &count, &c, err));
        if (count == 0)
            break;
        for (; count > 0; count--) {
            sl_arena_reset(&r.entry);
            SL_GO(get_entry(&c, &r, root, &e, err));
            SL_GO(fn(user, &e, err));
        }
        if (sl_cur_left(&c)) {
            rc = sl_err_set(err, SL_ECORRUPT, "a block of the manifest holds more than its entries");
            goto done;
        }
    }
done:
    sl_avro_close(avro);
    sl_arena_release(&r.layouts);
    sl_arena_release(&r.entry);
    return rc;
}

#define STATS(name)                                                                                                                \
    "{\"type\":\"record\",\"name\":\"record_" name "\",\"fields\":[{\"name\":\"_MIN_VALUES\",\"type\":\"bytes\"},"                   \
    "{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"},{\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":"       \
    "[\"null\",\"long\"]}],\"default\":null}]}"
#define OPTIONAL(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "],\"default\":null}"
#define HEAD "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":["
#define STRINGS "{\"type\":\"array\",\"items\":\"string\"}"

static const char manifest_schema[] = HEAD
    "{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_KIND\",\"type\":\"int\"},{\"name\":\"_PARTITION\",\"type\":\"bytes\"},"
    "{\"name\":\"_BUCKET\",\"type\":\"int\"},{\"name\":\"_TOTAL_BUCKETS\",\"type\":\"int\"},{\"name\":\"_FILE\",\"type\":"
    "{\"type\":\"record\",\"name\":\"record__FILE\",\"fields\":[{\"name\":\"_FILE_NAME\",\"type\":\"string\"},"
    "{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},{\"name\":\"_ROW_COUNT\",\"type\":\"long\"},{\"name\":\"_MIN_KEY\",\"type\":\"bytes\"},"
    "{\"name\":\"_MAX_KEY\",\"type\":\"bytes\"},{\"name\":\"_KEY_STATS\",\"type\":" STATS("_FILE__KEY_STATS") "},"
    "{\"name\":\"_VALUE_STATS\",\"type\":" STATS("_FILE__VALUE_STATS") "},{\"name\":\"_MIN_SEQUENCE_NUMBER\",\"type\":\"long\"},"
    "{\"name\":\"_MAX_SEQUENCE_NUMBER\",\"type\":\"long\"},{\"name\":\"_SCHEMA_ID\",\"type\":\"long\"},{\"name\":\"_LEVEL\",\"type\":\"int\"},"
    "{\"name\":\"_EXTRA_FILES\",\"type\":" STRINGS "},"
    OPTIONAL("_CREATION_TIME", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") "," OPTIONAL("_DELETE_ROW_COUNT", "\"long\"") ","
    OPTIONAL("_EMBEDDED_FILE_INDEX", "\"bytes\"") "," OPTIONAL("_FILE_SOURCE", "\"int\"") "," OPTIONAL("_VALUE_STATS_COLS", STRINGS) ","
    OPTIONAL("_EXTERNAL_PATH", "\"string\"") "," OPTIONAL("_FIRST_ROW_ID", "\"long\"") "," OPTIONAL("_WRITE_COLS", STRINGS) "]}}]}";

struct sl_manifest_writer {
    struct sl_buf records, done;
    int64_t count;
    char sync[16];
    bool begun;
};

enum { BLOCK_BYTES = 64 << 10 };

static void put_stats(struct sl_buf *b, const struct sl_stats *st)
{
    sl_avro_put_bytes(b, st->min.p ? st->min : SL_BINROW_EMPTY);
    sl_avro_put_bytes(b, st->max.p ? st->max : SL_BINROW_EMPTY);
    sl_avro_put_long(b, 1);
    if (st->nnull_counts) {
        sl_avro_put_long(b, (int64_t)st->nnull_counts);
        for (size_t i = 0; i < st->nnull_counts; i++) {
            sl_avro_put_long(b, st->null_counts[i] >= 0);
            if (st->null_counts[i] >= 0)
                sl_avro_put_long(b, st->null_counts[i]);
        }
    }
    sl_avro_put_long(b, 0);
}

static void put_strs(struct sl_buf *b, const sl_str *v, size_t n)
{
    if (n) {
        sl_avro_put_long(b, (int64_t)n);
        for (size_t i = 0; i < n; i++)
            sl_avro_put_bytes(b, v[i]);
    }
    sl_avro_put_long(b, 0);
}

static void put_optional(struct sl_buf *b, bool there, int64_t v)
{
    sl_avro_put_long(b, there);
    if (there)
        sl_avro_put_long(b, v);
}

static void put_optional_str(struct sl_buf *b, sl_str v)
{
    sl_avro_put_long(b, v.p != NULL);
    if (v.p)
        sl_avro_put_bytes(b, v);
}

static void put_file(struct sl_buf *b, const struct sl_data_file *f)
{
    sl_avro_put_bytes(b, f->file_name);
    sl_avro_put_long(b, f->file_size);
    sl_avro_put_long(b, f->row_count);
    sl_avro_put_bytes(b, f->min_key.p ? f->min_key : SL_BINROW_EMPTY);
    sl_avro_put_bytes(b, f->max_key.p ? f->max_key : SL_BINROW_EMPTY);
    put_stats(b, &f->key_stats);
    put_stats(b, &f->value_stats);
    sl_avro_put_long(b, f->min_sequence_number);
    sl_avro_put_long(b, f->max_sequence_number);
    sl_avro_put_long(b, f->schema_id);
    sl_avro_put_long(b, f->level);
    put_strs(b, f->extra_files, f->nextra_files);
    put_optional(b, f->creation_time != INT64_MIN, f->creation_time);
    put_optional(b, f->delete_row_count >= 0, f->delete_row_count);
    put_optional_str(b, f->embedded_file_index);
    put_optional(b, f->file_source >= 0, f->file_source);
    sl_avro_put_long(b, f->has_value_stats_cols);
    if (f->has_value_stats_cols)
        put_strs(b, f->value_stats_cols, f->nvalue_stats_cols);
    put_optional_str(b, f->external_path);
    put_optional(b, f->first_row_id >= 0, f->first_row_id);
    sl_avro_put_long(b, f->has_write_cols);
    if (f->has_write_cols)
        put_strs(b, f->write_cols, f->nwrite_cols);
}

static void new_sync(char sync[16])
{
    for (size_t i = 0; i < 16; i += 8) {
        uint64_t r = sl_random();

        memcpy(sync + i, &r, 8);
    }
}

int sl_manifest_writer_new(struct sl_manifest_writer **out, sl_err *err)
{
    *out = sl_calloc(1, sizeof **out);
    if (!*out)
        return sl_err_nomem(err);
    new_sync((*out)->sync);
    return SL_OK;
}

static int flush_block(struct sl_manifest_writer *w, sl_err *err)
{
    if (!w->begun) {
        sl_avro_write_header(&w->done, manifest_schema, SL_AVRO_CODEC_ZSTD, w->sync);
        w->begun = true;
    }
    if (w->count == 0)
        return sl_buf_ok(&w->done, err);
    SL_TRY(sl_buf_ok(&w->records, err));
    SL_TRY(sl_avro_write_block(&w->done, w->count, sl_buf_view(&w->records), SL_AVRO_CODEC_ZSTD, w->sync, err));
    w->count = 0;
    sl_buf_reset(&w->records);
    return SL_OK;
}

int sl_manifest_writer_add(struct sl_manifest_writer *w, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf *b = &w->records;

    sl_avro_put_long(b, 2);
    sl_avro_put_long(b, e->kind);
    sl_avro_put_bytes(b, e->partition);
    sl_avro_put_long(b, e->bucket);
    sl_avro_put_long(b, e->total_buckets);
    put_file(b, &e->file);
    w->count++;
    return b->n >= BLOCK_BYTES ? flush_block(w, err) : sl_buf_ok(b, err);
}

size_t sl_manifest_writer_size(const struct sl_manifest_writer *w)
{
    return w->done.n + w->records.n / 4;
}

int sl_manifest_writer_finish(struct sl_manifest_writer *w, struct sl_buf *out, sl_err *err)
{
    SL_TRY(flush_block(w, err));
    sl_buf_add(out, sl_buf_view(&w->done));
    return sl_buf_ok(out, err);
}

void sl_manifest_writer_free(struct sl_manifest_writer *w)
{
    if (!w)
        return;
    sl_buf_release(&w->records);
    sl_buf_release(&w->done);
    sl_free(w);
}

/* ---- identity, copies ---- */

static void add_part(struct sl_buf *out, sl_str s)
{
    sl_buf_u8(out, s.p != NULL);
    sl_buf_u64le(out, s.n);
    sl_buf_add(out, s);
}

void sl_entry_identity(struct sl_buf *out, const struct sl_manifest_entry *e)
{
    add_part(out, e->file.file_name);
    add_part(out, e->partition);
    sl_buf_u32le(out, (uint32_t)e->bucket);
    sl_buf_u32le(out, (uint32_t)e->file.level);
    sl_buf_u64le(out, e->file.nextra_files);
    for (size_t i = 0; i < e->file.nextra_files; i++)
        add_part(out, e->file.extra_files[i]);
    add_part(out, e->file.embedded_file_index);
    add_part(out, e->file.external_path);
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

    if (n && !copy)
        return false;
    for (size_t i = 0; i < n; i++) {
        copy[i] = (*v)[i];
        if (!copy_str(a, &copy[i]))
            return false;
    }
    *v = copy;
    return true;
}

static bool copy_stats(struct sl_arena *a, struct sl_stats *st)
{
    int64_t *counts = st->nnull_counts ? sl_arena_array(a, st->nnull_counts, sizeof *counts) : NULL;

    if ((st->nnull_counts && !counts) || !copy_str(a, &st->min) || !copy_str(a, &st->max))
        return false;
    if (st->nnull_counts)
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

/* ---- manifest lists ---- */

enum { M_NAME, M_SIZE, M_ADDED, M_DELETED, M_STATS, M_REQUIRED, M_SCHEMA = M_REQUIRED, M_MIN_BUCKET, M_MAX_BUCKET, M_MIN_LEVEL, M_MAX_LEVEL,
       M_MIN_ROW, M_MAX_ROW, M_VERSION, M_COUNT };
static const char *const meta_names[] = {"_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS", "_SCHEMA_ID",
                                         "_MIN_BUCKET", "_MAX_BUCKET", "_MIN_LEVEL", "_MAX_LEVEL", "_MIN_ROW_ID", "_MAX_ROW_ID", "_VERSION"};

static int get_meta(struct sl_cur *c, const struct layout *l, const struct sl_avro_schema *root, struct sl_arena *a, struct sl_manifest_meta *m,
                    sl_err *err)
{
    int32_t version = 2;

    memset(m, 0, sizeof *m);
    m->min_bucket = m->max_bucket = m->min_level = m->max_level = INT32_MIN;
    m->min_row_id = m->max_row_id = -1;
    if (branch(c, root) != l->schema)
        c->bad = true;
    for (size_t i = 0; i < l->schema->n && !c->bad; i++) {
        const struct sl_avro_schema *s = l->schema->types[i];

        switch (l->which[i]) {
        case M_VERSION: version = get_int(c, s, 0); break;
        case M_NAME: m->file_name = get_text(c, s); break;
        case M_SIZE: m->file_size = get_long(c, s, 0); break;
        case M_ADDED: m->num_added_files = get_long(c, s, 0); break;
        case M_DELETED: m->num_deleted_files = get_long(c, s, 0); break;
        case M_STATS: get_stats(c, s, a, true, &m->partition_stats); break;
        case M_SCHEMA: m->schema_id = get_long(c, s, 0); break;
        case M_MIN_BUCKET: m->min_bucket = get_int(c, s, INT32_MIN); break;
        case M_MAX_BUCKET: m->max_bucket = get_int(c, s, INT32_MIN); break;
        case M_MIN_LEVEL: m->min_level = get_int(c, s, INT32_MIN); break;
        case M_MAX_LEVEL: m->max_level = get_int(c, s, INT32_MIN); break;
        case M_MIN_ROW: m->min_row_id = get_long(c, s, -1); break;
        case M_MAX_ROW: m->max_row_id = get_long(c, s, -1); break;
        default: sl_avro_skip(c, s);
        }
    }
    if (c->bad)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the manifest list is damaged");
    if (version != 2)
        return sl_err_set(err, SL_EUNSUPPORTED, "manifest list version %d is not supported", version);
    if (m->file_name.n == 0 || memchr(m->file_name.p, '/', m->file_name.n) || memchr(m->file_name.p, 0, m->file_name.n))
        return sl_err_set(err, SL_ECORRUPT, "the manifest list names a file that can be none");
    if (!copy_str(a, &m->file_name) || !copy_stats(a, &m->partition_stats))
        return sl_err_nomem(err);
    return SL_OK;
}

int sl_manifest_list_decode(sl_str bytes, struct sl_manifest_list *out, sl_err *err)
{
    struct sl_arena layouts = SL_ARENA_INIT;
    struct sl_avro_reader *avro = NULL;
    struct layout l;
    int rc;

    SL_GO(sl_avro_open(bytes, &avro, err));
    const struct sl_avro_schema *root = sl_avro_reader_schema(avro);
    SL_GO(make_layout(&layouts, root, meta_names, M_COUNT, M_REQUIRED, &l, err));
    for (;;) {
        struct sl_cur c;
        int64_t count;

        SL_GO(sl_avro_next_block(avro, &count, &c, err));
        if (count == 0)
            break;
        for (; count > 0; count--) {
            struct sl_manifest_meta m, *to;

            SL_GO(get_meta(&c, &l, root, &out->arena, &m, err));
            to = sl_vec_push(out);
            if (!to)
                SL_GOTO_NOMEM(err);
            *to = m;
        }
    }
done:
    sl_avro_close(avro);
    sl_arena_release(&layouts);
    return rc;
}

static const char list_schema[] = HEAD
    "{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_FILE_NAME\",\"type\":\"string\"},{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},"
    "{\"name\":\"_NUM_ADDED_FILES\",\"type\":\"long\"},{\"name\":\"_NUM_DELETED_FILES\",\"type\":\"long\"},{\"name\":\"_PARTITION_STATS\",\"type\":"
    STATS("_PARTITION_STATS") "},{\"name\":\"_SCHEMA_ID\",\"type\":\"long\"}," OPTIONAL("_MIN_BUCKET", "\"int\"") ","
    OPTIONAL("_MAX_BUCKET", "\"int\"") "," OPTIONAL("_MIN_LEVEL", "\"int\"") "," OPTIONAL("_MAX_LEVEL", "\"int\"") ","
    OPTIONAL("_MIN_ROW_ID", "\"long\"") "," OPTIONAL("_MAX_ROW_ID", "\"long\"") "]}";

int sl_manifest_list_encode(const struct sl_manifest_meta *v, size_t n, struct sl_buf *out, sl_err *err)
{
    struct sl_buf records = SL_BUF_INIT;
    char sync[16];
    int rc = SL_OK;

    new_sync(sync);
    sl_avro_write_header(out, list_schema, SL_AVRO_CODEC_ZSTD, sync);
    for (size_t i = 0; i < n; i++) {
        const struct sl_manifest_meta *m = &v[i];

        sl_avro_put_long(&records, 2);
        sl_avro_put_bytes(&records, m->file_name);
        sl_avro_put_long(&records, m->file_size);
        sl_avro_put_long(&records, m->num_added_files);
        sl_avro_put_long(&records, m->num_deleted_files);
        put_stats(&records, &m->partition_stats);
        sl_avro_put_long(&records, m->schema_id);
        put_optional(&records, m->min_bucket != INT32_MIN, m->min_bucket);
        put_optional(&records, m->max_bucket != INT32_MIN, m->max_bucket);
        put_optional(&records, m->min_level != INT32_MIN, m->min_level);
        put_optional(&records, m->max_level != INT32_MIN, m->max_level);
        put_optional(&records, m->min_row_id >= 0, m->min_row_id);
        put_optional(&records, m->max_row_id >= 0, m->max_row_id);
    }
    SL_GO(sl_buf_ok(&records, err));
    if (n)
        SL_GO(sl_avro_write_block(out, (int64_t)n, sl_buf_view(&records), SL_AVRO_CODEC_ZSTD, sync, err));
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&records);
    return rc;
}

void sl_manifest_list_release(struct sl_manifest_list *l)
{
    sl_arena_release(&l->arena);
    sl_free(l->v);
    memset(l, 0, sizeof *l);
}

/* ---- tally ---- */

struct sl_manifest_tally {
    struct sl_arena arena;
    const struct sl_type *const *types;
    size_t n;
    struct sl_value *min, *max, *now;
    int64_t *nulls;
    bool *seen;
    int64_t added, deleted, schema_id;
    int32_t min_bucket, max_bucket, min_level, max_level;
    bool any;
    sl_str last; /* partition counted last */
};

int sl_manifest_tally_new(const struct sl_type *const *types, size_t n, struct sl_manifest_tally **out, sl_err *err)
{
    struct sl_manifest_tally *t = sl_calloc(1, sizeof *t);

    *out = t;
    if (!t)
        return sl_err_nomem(err);
    t->types = types;
    t->n = n;
    t->min = sl_arena_array(&t->arena, n + 1, sizeof *t->min);
    t->max = sl_arena_array(&t->arena, n + 1, sizeof *t->max);
    t->now = sl_arena_array(&t->arena, n + 1, sizeof *t->now);
    t->nulls = sl_arena_array(&t->arena, n + 1, sizeof *t->nulls);
    t->seen = sl_arena_array(&t->arena, n + 1, sizeof *t->seen);
    if (t->min && t->max && t->now && t->nulls && t->seen)
        return SL_OK;
    sl_manifest_tally_free(t);
    *out = NULL;
    return sl_err_nomem(err);
}

void sl_manifest_tally_free(struct sl_manifest_tally *t)
{
    if (!t)
        return;
    sl_arena_release(&t->arena);
    sl_free(t);
}

static bool has_bytes(enum sl_kind k)
{
    return k == SL_CHAR || k == SL_VARCHAR || k == SL_BINARY || k == SL_VARBINARY;
}

static bool keep_bound(struct sl_manifest_tally *t, struct sl_value *to, const struct sl_value *v)
{
    *to = *v;
    if (has_bytes(v->kind) && v->u.s.n) {
        to->u.s = sl_arena_str(&t->arena, v->u.s);
        return to->u.s.p != NULL;
    }
    return true;
}

int sl_manifest_tally_add(struct sl_manifest_tally *t, const struct sl_manifest_entry *e, sl_err *err)
{
    if (e->kind == SL_FILE_ADD)
        t->added++;
    else
        t->deleted++;
    if (!t->any || e->file.schema_id > t->schema_id)
        t->schema_id = e->file.schema_id;
    if (!t->any || e->bucket < t->min_bucket)
        t->min_bucket = e->bucket;
    if (!t->any || e->bucket > t->max_bucket)
        t->max_bucket = e->bucket;
    if (!t->any || e->file.level < t->min_level)
        t->min_level = e->file.level;
    if (!t->any || e->file.level > t->max_level)
        t->max_level = e->file.level;
    t->any = true;
    SL_TRY(sl_binrow_decode(e->partition, t->types, t->n, t->now, err));
    for (size_t i = 0; i < t->n; i++) {
        const struct sl_value *v = &t->now[i];
        bool good = true;

        if (v->null) {
            t->nulls[i]++;
            continue;
        }
        if (!t->seen[i] || sl_value_cmp(v, &t->min[i]) < 0)
            good = keep_bound(t, &t->min[i], v);
        if (good && (!t->seen[i] || sl_value_cmp(v, &t->max[i]) > 0))
            good = keep_bound(t, &t->max[i], v);
        t->seen[i] = true;
        if (!good)
            return sl_err_nomem(err);
    }
    return SL_OK;
}

int sl_manifest_tally_finish(struct sl_manifest_tally *t, struct sl_arena *a, struct sl_manifest_meta *m, sl_err *err)
{
    struct sl_buf low = SL_BUF_INIT, high = SL_BUF_INIT;
    int64_t *nulls = sl_arena_array(a, t->n + 1, sizeof *nulls);
    int rc;

    if (!nulls)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->n; i++) {
        nulls[i] = t->nulls[i];
        if (!t->seen[i])
            t->min[i] = t->max[i] = (struct sl_value){.kind = t->types[i]->kind, .null = true};
    }
    SL_GO(sl_binrow_encode(t->types, t->min, t->n, &low, err));
    SL_GO(sl_binrow_encode(t->types, t->max, t->n, &high, err));
    m->num_added_files = t->added;
    m->num_deleted_files = t->deleted;
    m->schema_id = t->schema_id;
    m->min_bucket = t->min_bucket;
    m->max_bucket = t->max_bucket;
    m->min_level = t->min_level;
    m->max_level = t->max_level;
    m->min_row_id = m->max_row_id = -1;
    m->partition_stats.min = sl_arena_str(a, sl_buf_view(&low));
    m->partition_stats.max = sl_arena_str(a, sl_buf_view(&high));
    m->partition_stats.null_counts = nulls;
    m->partition_stats.nnull_counts = t->n;
    if (!m->partition_stats.min.p || !m->partition_stats.max.p)
        rc = sl_err_nomem(err);
done:
    sl_buf_release(&low);
    sl_buf_release(&high);
    return rc;
}

/* ---- index manifests ---- */

enum { I_KIND, I_PARTITION, I_BUCKET, I_TYPE, I_NAME, I_SIZE, I_ROWS, I_VERSION, I_REQUIRED, I_RANGES = I_REQUIRED, I_EXTERNAL, I_GLOBAL, I_COUNT };
static const char *const index_names[] = {"_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_VERSION",
                                          "_DELETIONS_VECTORS_RANGES", "_EXTERNAL_PATH", "_GLOBAL_INDEX"};

struct ranges {
    SL_VEC(struct sl_dv_range) v;
};

static bool one_range(void *user, struct sl_cur *c, const struct sl_avro_schema *item)
{
    struct sl_dv_range *to = sl_vec_push(&((struct ranges *)user)->v);

    item = branch(c, item);
    if (!to || item->kind != SL_AVRO_RECORD)
        return false;
    to->cardinality = -1;
    for (size_t i = 0; i < item->n && !c->bad; i++) {
        if (strcmp(item->names[i], "f0") == 0)
            to->data_file = get_text(c, item->types[i]);
        else if (strcmp(item->names[i], "f1") == 0)
            to->offset = get_long(c, item->types[i], 0);
        else if (strcmp(item->names[i], "f2") == 0)
            to->length = get_long(c, item->types[i], 0);
        else if (strcmp(item->names[i], "_CARDINALITY") == 0)
            to->cardinality = get_long(c, item->types[i], -1);
        else
            sl_avro_skip(c, item->types[i]);
    }
    return true;
}

static int get_ranges(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, struct sl_index_entry *e, sl_err *err)
{
    struct ranges r = {{0}};
    struct sl_dv_range *copy = NULL;
    bool good = true;

    if (get_array(c, s, one_range, &r) && !c->bad) {
        copy = sl_arena_array(a, r.v.n + 1, sizeof *copy);
        good = copy != NULL;
        for (size_t i = 0; i < r.v.n && good; i++) {
            copy[i] = r.v.v[i];
            good = copy_str(a, &copy[i].data_file);
        }
        e->dvs = copy;
        e->ndvs = good ? r.v.n : 0;
    }
    sl_free(r.v.v);
    return good ? SL_OK : sl_err_nomem(err);
}

static int get_index(struct sl_cur *c, const struct layout *l, const struct sl_avro_schema *root, struct sl_arena *a, struct sl_index_entry *e,
                     sl_err *err)
{
    int32_t version = 0;

    memset(e, 0, sizeof *e);
    if (branch(c, root) != l->schema)
        c->bad = true;
    for (size_t i = 0; i < l->schema->n && !c->bad; i++) {
        const struct sl_avro_schema *s = l->schema->types[i];

        switch (l->which[i]) {
        case I_VERSION: version = get_int(c, s, 0); break;
        case I_KIND: e->kind = get_int(c, s, -1); break;
        case I_PARTITION: e->partition = get_text(c, s); break;
        case I_BUCKET: e->bucket = get_int(c, s, 0); break;
        case I_TYPE: e->index_type = get_text(c, s); break;
        case I_NAME: e->file_name = get_text(c, s); break;
        case I_SIZE: e->file_size = get_long(c, s, 0); break;
        case I_ROWS: e->row_count = get_long(c, s, 0); break;
        case I_RANGES: SL_TRY(get_ranges(c, s, a, e, err)); break;
        case I_EXTERNAL: e->external_path = get_str(c, s); break;
        case I_GLOBAL: {
            const struct sl_avro_schema *b = branch(c, s);
            e->has_global_index = b->kind != SL_AVRO_NULL;
            sl_avro_skip(c, b);
            break;
        }
        default: sl_avro_skip(c, s);
        }
    }
    if (c->bad)
        return sl_err_set(err, SL_ECORRUPT, "an entry of the index manifest is damaged");
    if (version != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "index manifest version %d is not supported", version);
    if (!copy_str(a, &e->partition) || !copy_str(a, &e->index_type) || !copy_str(a, &e->file_name) || !copy_str(a, &e->external_path))
        return sl_err_nomem(err);
    return SL_OK;
}

int sl_index_manifest_decode(sl_str bytes, struct sl_index_manifest *out, sl_err *err)
{
    struct sl_arena layouts = SL_ARENA_INIT;
    struct sl_avro_reader *avro = NULL;
    struct layout l;
    int rc;

    SL_GO(sl_avro_open(bytes, &avro, err));
    const struct sl_avro_schema *root = sl_avro_reader_schema(avro);
    SL_GO(make_layout(&layouts, root, index_names, I_COUNT, I_REQUIRED, &l, err));
    for (;;) {
        struct sl_cur c;
        int64_t count;

        SL_GO(sl_avro_next_block(avro, &count, &c, err));
        if (count == 0)
            break;
        for (; count > 0; count--) {
            struct sl_index_entry e, *to;

            SL_GO(get_index(&c, &l, root, &out->arena, &e, err));
            to = sl_vec_push(out);
            if (!to)
                SL_GOTO_NOMEM(err);
            *to = e;
        }
    }
done:
    sl_avro_close(avro);
    sl_arena_release(&layouts);
    return rc;
}

static const char index_schema[] = HEAD
    "{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_KIND\",\"type\":\"int\"},{\"name\":\"_PARTITION\",\"type\":\"bytes\"},"
    "{\"name\":\"_BUCKET\",\"type\":\"int\"},{\"name\":\"_INDEX_TYPE\",\"type\":\"string\"},{\"name\":\"_FILE_NAME\",\"type\":\"string\"},"
    "{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},{\"name\":\"_ROW_COUNT\",\"type\":\"long\"},"
    OPTIONAL("_DELETIONS_VECTORS_RANGES", "{\"type\":\"array\",\"items\":[\"null\",{\"type\":\"record\",\"name\":\"record__DELETIONS_VECTORS_RANGES\","
    "\"fields\":[{\"name\":\"f0\",\"type\":\"string\"},{\"name\":\"f1\",\"type\":\"int\"},{\"name\":\"f2\",\"type\":\"int\"},"
    OPTIONAL("_CARDINALITY", "\"long\"") "]}]}") "," OPTIONAL("_EXTERNAL_PATH", "\"string\"") "]}";

int sl_index_manifest_encode(const struct sl_index_entry *v, size_t n, struct sl_buf *out, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    char sync[16];
    int rc = SL_OK;

    new_sync(sync);
    sl_avro_write_header(out, index_schema, SL_AVRO_CODEC_ZSTD, sync);
    for (size_t i = 0; i < n; i++) {
        sl_avro_put_long(&b, 1);
        sl_avro_put_long(&b, v[i].kind);
        sl_avro_put_bytes(&b, v[i].partition);
        sl_avro_put_long(&b, v[i].bucket);
        sl_avro_put_bytes(&b, v[i].index_type);
        sl_avro_put_bytes(&b, v[i].file_name);
        sl_avro_put_long(&b, v[i].file_size);
        sl_avro_put_long(&b, v[i].row_count);
        sl_avro_put_long(&b, v[i].dvs != NULL);
        if (v[i].dvs) {
            if (v[i].ndvs)
                sl_avro_put_long(&b, (int64_t)v[i].ndvs);
            for (size_t k = 0; k < v[i].ndvs; k++) {
                sl_avro_put_long(&b, 1);
                sl_avro_put_bytes(&b, v[i].dvs[k].data_file);
                sl_avro_put_long(&b, v[i].dvs[k].offset);
                sl_avro_put_long(&b, v[i].dvs[k].length);
                put_optional(&b, v[i].dvs[k].cardinality >= 0, v[i].dvs[k].cardinality);
            }
            sl_avro_put_long(&b, 0);
        }
        put_optional_str(&b, v[i].external_path);
    }
    SL_GO(sl_buf_ok(&b, err));
    if (n)
        SL_GO(sl_avro_write_block(out, (int64_t)n, sl_buf_view(&b), SL_AVRO_CODEC_ZSTD, sync, err));
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&b);
    return rc;
}

void sl_index_manifest_release(struct sl_index_manifest *m)
{
    sl_arena_release(&m->arena);
    sl_free(m->v);
    memset(m, 0, sizeof *m);
}
