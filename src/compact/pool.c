/* pool.c - small files by partition, packed into tasks. */
#include "compact/pool.h"

#include <stdlib.h>
#include <string.h>

typedef SL_VEC(struct sl_pool_file *) file_vec;

struct sl_pool_part {
    sl_str key;       /* partition bytes; owned */
    file_vec files;   /* owned; those that are gone wait here for the next round */
    size_t live;
    int age;
};

struct sl_pool {
    struct sl_pool_rules rules;
    struct sl_map *by_identity; /* to sl_pool_file, which its part owns */
    struct sl_map *parts;       /* partition bytes to sl_pool_part; owned */
    uint64_t next_order;
};

/* ---- rules ---- */

static int option_ratio(const struct sl_schema *s, const char *key, double dflt, double *out, sl_err *err)
{
    const char *text = sl_schema_option(s, key);

    *out = dflt;
    if (!text || (sl_parse_f64(sl_str_trim(sl_str_c(text)), out) && *out >= 0 && *out <= 1))
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "option \"%s\" must be a number from 0 to 1, found \"%s\"", key, text);
}

static int option_count(const struct sl_schema *s, const char *key, int64_t dflt, uint64_t *out, sl_err *err)
{
    int64_t v;

    SL_TRY(sl_schema_option_i64(s, key, dflt, &v, err));
    if (v < 1)
        return sl_err_set(err, SL_EINPUT, "option \"%s\" must be at least 1, found %lld", key, (long long)v);
    *out = (uint64_t)v;
    return SL_OK;
}

int sl_pool_rules_of(const struct sl_schema *s, struct sl_pool_rules *out, sl_err *err)
{
    *out = (struct sl_pool_rules){0};
    SL_TRY(sl_schema_option_bytes(s, "target-file-size", 256 << 20, &out->target_bytes, err));
    SL_TRY(sl_schema_option_bytes(s, "source.split.open-file-cost", 4 << 20, &out->open_cost, err));
    SL_TRY(option_ratio(s, "compaction.small-file-ratio", 0.7, &out->small_ratio, err));
    SL_TRY(option_ratio(s, "compaction.delete-ratio-threshold", 0.2, &out->delete_ratio, err));
    SL_TRY(option_count(s, "compaction.min.file-num", 5, &out->min_files, err));
    SL_TRY(option_count(s, "compaction.file-num-limit", 100000, &out->scan_files, err));
    SL_TRY(sl_schema_option_bool(s, "deletion-vectors.enabled", false, &out->dvs, err));
    if (out->target_bytes == 0 || out->target_bytes > INT64_MAX / 4 || out->open_cost > INT64_MAX / 4)
        return sl_err_set(err, SL_EINPUT, "option \"target-file-size\" or \"source.split.open-file-cost\" is out of range");
    return SL_OK;
}

bool sl_pool_wants(const struct sl_pool_rules *r, const struct sl_manifest_entry *e, const struct sl_compact_dv *dv)
{
    double limit = (double)r->target_bytes * (r->full ? 1.0 : r->small_ratio);

    if ((double)e->file.file_size < limit)
        return true;
    if (!dv || !dv->index_file.p)
        return false;
    return r->full || dv->cardinality < 0 || (double)dv->cardinality > (double)e->file.row_count * r->delete_ratio;
}

/* ---- files ---- */

/* Hands out pieces of one block of memory: first counts them, then copies. */
struct packer {
    char *base; /* NULL while counting */
    size_t used;
};

static void *take(struct packer *k, const void *from, size_t n, size_t align)
{
    k->used = (k->used + align - 1) / align * align;
    char *to = k->base ? k->base + k->used : NULL;

    if (to && n)
        memcpy(to, from, n);
    k->used += n;
    return to;
}

static sl_str take_str(struct packer *k, sl_str s)
{
    if (!s.p)
        return s;
    return (sl_str){take(k, s.p, s.n, 1), s.n};
}

static const sl_str *take_strs(struct packer *k, const sl_str *v, size_t n)
{
    if (n == 0)
        return NULL;
    sl_str *to = take(k, v, n * sizeof *v, _Alignof(sl_str));

    for (size_t i = 0; i < n; i++) {
        sl_str copy = take_str(k, v[i]);

        if (to)
            to[i] = copy;
    }
    return to;
}

static void take_file(struct packer *k, struct sl_pool_file *f, const struct sl_manifest_entry *e, const struct sl_compact_dv *dv)
{
    const struct sl_data_file *from = &e->file;
    struct sl_data_file *to = &f->entry.file;

    f->entry = *e;
    f->entry.kind = SL_FILE_ADD;
    to->file_name = take_str(k, from->file_name);
    to->min_key = to->max_key = SL_BINROW_EMPTY;
    to->key_stats = to->value_stats = (struct sl_stats){SL_BINROW_EMPTY, SL_BINROW_EMPTY, NULL, 0};
    to->extra_files = take_strs(k, from->extra_files, from->nextra_files);
    to->embedded_file_index = take_str(k, from->embedded_file_index);
    to->has_value_stats_cols = true;
    to->value_stats_cols = NULL;
    to->nvalue_stats_cols = 0;
    to->external_path = take_str(k, from->external_path);
    to->write_cols = take_strs(k, from->write_cols, from->nwrite_cols);
    f->dv = (struct sl_compact_dv){.cardinality = -1};
    if (dv && dv->index_file.p) {
        f->dv = *dv;
        f->dv.index_file = take_str(k, dv->index_file);
    }
}

static struct sl_pool_file *file_new(const struct sl_manifest_entry *e, const struct sl_compact_dv *dv)
{
    struct sl_pool_file count, *f;
    struct packer k = {NULL, sizeof *f};

    take_file(&k, &count, e, dv);
    f = sl_malloc(k.used);
    if (!f)
        return NULL;
    k = (struct packer){(char *)f, sizeof *f};
    take_file(&k, f, e, dv);
    f->part = NULL;
    f->order = 0;
    f->gone = false;
    return f;
}

static void part_free(void *value)
{
    struct sl_pool_part *part = value;

    if (!part)
        return;
    for (size_t i = 0; i < part->files.n; i++)
        sl_free(part->files.v[i]);
    sl_free(part->files.v);
    sl_free((char *)part->key.p);
    sl_free(part);
}

static struct sl_pool_part *part_at(struct sl_pool *p, sl_str key)
{
    struct sl_pool_part **slot = (struct sl_pool_part **)sl_map_at(p->parts, key);

    if (!slot || *slot)
        return slot ? *slot : NULL;
    struct sl_pool_part *part = sl_calloc(1, sizeof *part);
    if (!part)
        return NULL;
    part->key = (sl_str){sl_str_dup(key), key.n};
    if (!part->key.p) {
        sl_free(part);
        return NULL;
    }
    return *slot = part;
}

/* ---- the pool ---- */

int sl_pool_new(const struct sl_pool_rules *r, struct sl_pool **out, sl_err *err)
{
    struct sl_pool *p = sl_calloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    p->rules = *r;
    p->by_identity = sl_map_new();
    p->parts = sl_map_new();
    if (!p->by_identity || !p->parts) {
        sl_pool_free(p);
        return sl_err_nomem(err);
    }
    *out = p;
    return SL_OK;
}

void sl_pool_free(struct sl_pool *p)
{
    if (!p)
        return;
    sl_map_free(p->by_identity, NULL);
    sl_map_free(p->parts, part_free);
    sl_free(p);
}

size_t sl_pool_count(const struct sl_pool *p)
{
    return sl_map_count(p->by_identity);
}

static int add_known_new(struct sl_pool *p, struct sl_pool_file **slot, const struct sl_manifest_entry *e,
                         const struct sl_compact_dv *dv, sl_err *err)
{
    struct sl_pool_part *part = part_at(p, e->partition);
    struct sl_pool_file *f = part ? file_new(e, dv) : NULL;
    struct sl_pool_file **place = f ? sl_vec_push(&part->files) : NULL;

    if (!place) {
        sl_free(f);
        return sl_err_nomem(err);
    }
    *slot = *place = f;
    f->part = part;
    f->entry.partition = part->key;
    f->order = p->next_order++;
    part->live++;
    part->age = 0;
    return SL_OK;
}

int sl_pool_add(struct sl_pool *p, const struct sl_manifest_entry *e, const struct sl_compact_dv *dv, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    int rc = SL_OK;

    if (!sl_pool_wants(&p->rules, e, dv))
        return SL_OK;
    sl_entry_identity(&id, e);
    SL_GO(sl_buf_ok(&id, err));
    struct sl_pool_file **slot = (struct sl_pool_file **)sl_map_at(p->by_identity, sl_buf_view(&id));
    if (!slot)
        SL_GOTO_NOMEM(err);
    if (!*slot)
        rc = add_known_new(p, slot, e, dv, err);
    if (rc != SL_OK)
        sl_map_del(p->by_identity, sl_buf_view(&id), NULL);
done:
    sl_buf_release(&id);
    return rc;
}

int sl_pool_remove(struct sl_pool *p, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    void *found = NULL;

    sl_entry_identity(&id, e);
    int rc = sl_buf_ok(&id, err);
    if (rc == SL_OK && sl_map_del(p->by_identity, sl_buf_view(&id), &found) && found) {
        struct sl_pool_file *f = found;

        f->gone = true;
        f->part->live--;
    }
    sl_buf_release(&id);
    return rc;
}

/* ---- packing ---- */

struct bin {
    const struct sl_pool_file **v; /* room for all files of the part */
    size_t n;
    uint64_t weight;
};

struct round {
    struct sl_pool *pool;
    bool ageing;
    sl_pool_emit *emit;
    void *user;
    struct bin bin;
    size_t emitted; /* tasks of this part */
};

static int drain(struct round *r, sl_err *err)
{
    struct bin *b = &r->bin;
    struct sl_buf id = SL_BUF_INIT;
    int rc;

    SL_GO(r->emit(r->user, b->v, b->n, err));
    r->emitted++;
    for (size_t i = 0; i < b->n; i++) {
        struct sl_pool_file *f = (struct sl_pool_file *)b->v[i];

        sl_buf_reset(&id);
        sl_entry_identity(&id, &f->entry);
        SL_GO(sl_buf_ok(&id, err));
        sl_map_del(r->pool->by_identity, sl_buf_view(&id), NULL);
        f->gone = true;
        f->part->live--;
    }
    b->n = 0;
    b->weight = 0;
done:
    sl_buf_release(&id);
    return rc;
}

static void bin_add(struct round *r, const struct sl_pool_file *f)
{
    r->bin.v[r->bin.n++] = f;
    r->bin.weight += (uint64_t)f->entry.file.file_size + r->pool->rules.open_cost;
}

static bool bin_enough(const struct round *r)
{
    return r->bin.n > 1 && r->bin.weight >= 2 * r->pool->rules.target_bytes;
}

/* N files by size; what is left in the bin is a task only if there are LEAST files. */
static int pack(struct round *r, struct sl_pool_file *const *files, size_t n, size_t least, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        bin_add(r, files[i]);
        if (bin_enough(r))
            SL_TRY(drain(r, err));
    }
    if (r->bin.n >= least)
        return drain(r, err);
    r->bin.n = 0;
    r->bin.weight = 0;
    return SL_OK;
}

static int by_size(const void *a, const void *b)
{
    const struct sl_pool_file *x = *(const struct sl_pool_file *const *)a, *y = *(const struct sl_pool_file *const *)b;

    if (x->entry.file.file_size != y->entry.file.file_size)
        return x->entry.file.file_size < y->entry.file.file_size ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_index_file(const void *a, const void *b)
{
    const struct sl_pool_file *x = *(const struct sl_pool_file *const *)a, *y = *(const struct sl_pool_file *const *)b;
    int c = sl_str_cmp(x->dv.index_file, y->dv.index_file);

    return c ? c : by_size(a, b);
}

/* Files that share an index file of deletion vectors: rewritten together, the index file can go as well. */
struct group {
    size_t from, n;
    uint64_t bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int pack_dvs(struct round *r, struct sl_pool_file **files, size_t n, sl_err *err)
{
    SL_VEC(struct group) groups = {0};
    int rc = SL_OK;

    qsort(files, n, sizeof *files, by_index_file);
    for (size_t i = 0; i < n; i++) {
        struct group *g = groups.n ? &groups.v[groups.n - 1] : NULL;

        if (!g || !sl_str_eq(files[g->from]->dv.index_file, files[i]->dv.index_file)) {
            g = sl_vec_push(&groups);
            if (!g)
                SL_GOTO_NOMEM(err);
            g->from = i;
        }
        g->n++;
        g->bytes += (uint64_t)files[i]->entry.file.file_size;
    }
    if (groups.n)
        qsort(groups.v, groups.n, sizeof *groups.v, by_bytes);
    for (size_t g = 0; g < groups.n; g++) {
        for (size_t i = 0; i < groups.v[g].n; i++)
            bin_add(r, files[groups.v[g].from + i]);
        if (bin_enough(r))
            SL_GO(drain(r, err));
    }
    if (r->bin.n > 0)
        SL_GO(drain(r, err));
done:
    sl_free(groups.v);
    return rc;
}

/* Those with a deletion vector to the front; returns how many. */
static size_t dvs_first(struct sl_pool_file **files, size_t n)
{
    size_t with = 0;

    for (size_t i = 0; i < n; i++) {
        struct sl_pool_file *f = files[i];

        if (!f->dv.index_file.p)
            continue;
        files[i] = files[with];
        files[with++] = f;
    }
    return with;
}

static void sweep(struct sl_pool_part *part)
{
    size_t kept = 0;

    for (size_t i = 0; i < part->files.n; i++) {
        if (part->files.v[i]->gone)
            sl_free(part->files.v[i]);
        else
            part->files.v[kept++] = part->files.v[i];
    }
    part->files.n = kept;
}

static int round_part(struct round *r, struct sl_pool_part *part, sl_err *err)
{
    const struct sl_pool_rules *rules = &r->pool->rules;
    struct sl_pool_file **files = part->files.v;
    size_t n = part->files.n, with;

    r->emitted = 0;
    r->bin = (struct bin){sl_reallocarray(NULL, n ? n : 1, sizeof(void *)), 0, 0};
    if (!r->bin.v)
        return sl_err_nomem(err);
    with = rules->dvs || rules->full ? dvs_first(files, n) : 0;
    int rc = pack_dvs(r, files, with, err);
    if (rc == SL_OK && n - with > 1) {
        qsort(files + with, n - with, sizeof *files, by_size);
        rc = pack(r, files + with, n - with, rules->full ? 2 : rules->min_files, err);
    }
    if (rc == SL_OK && r->ageing && r->emitted == 0 && ++part->age > SL_POOL_COMPACT_AGE && n > 1) {
        qsort(files, n, sizeof *files, by_size);
        for (size_t i = 0; i < n; i++)
            bin_add(r, files[i]);
        rc = drain(r, err);
    }
    sl_free(r->bin.v);
    return rc;
}

static void forget(struct sl_pool *p, struct sl_pool_part *part)
{
    struct sl_buf id = SL_BUF_INIT;

    for (size_t i = 0; i < part->files.n; i++) {
        sl_buf_reset(&id);
        sl_entry_identity(&id, &part->files.v[i]->entry);
        sl_map_del(p->by_identity, sl_buf_view(&id), NULL);
    }
    sl_buf_release(&id);
    sl_map_del(p->parts, part->key, NULL);
    part_free(part);
}

/* The parts, by their bytes, so that tasks come in the same order every time. */
static int parts_list(struct sl_pool *p, struct sl_pool_part ***out, size_t *n, sl_err *err)
{
    size_t it = 0;
    sl_str key;
    void *value;

    *n = 0;
    *out = sl_reallocarray(NULL, sl_map_count(p->parts) + 1, sizeof **out);
    if (!*out)
        return sl_err_nomem(err);
    while (sl_map_next(p->parts, &it, &key, &value))
        if (value)
            (*out)[(*n)++] = value;
    return SL_OK;
}

static int by_key(const void *a, const void *b)
{
    return sl_str_cmp((*(struct sl_pool_part *const *)a)->key, (*(struct sl_pool_part *const *)b)->key);
}

int sl_pool_round(struct sl_pool *p, bool ageing, sl_pool_emit *emit, void *user, sl_err *err)
{
    struct round r = {.pool = p, .ageing = ageing, .emit = emit, .user = user};
    struct sl_pool_part **parts = NULL;
    size_t n = 0;
    int rc = parts_list(p, &parts, &n, err);

    if (rc == SL_OK && n > 1)
        qsort(parts, n, sizeof *parts, by_key);
    for (size_t i = 0; rc == SL_OK && i < n; i++) {
        sweep(parts[i]);
        rc = round_part(&r, parts[i], err);
        sweep(parts[i]);
        if (parts[i]->live == 0 || parts[i]->age > SL_POOL_FORGET_AGE)
            forget(p, parts[i]);
    }
    sl_free(parts);
    return rc;
}
