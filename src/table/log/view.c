/* view.c - listing the folders of a log table and sorting its files into groups and slices. */
#include "table/log/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "table/log/view_priv.h"

enum { DEPTH_MAX = 64 };

bool sl_view_visible(const struct sl_view *v, int64_t time)
{
    return time <= v->as_of && sl_timeline_fate(v->timeline, time) == SL_COMMITTED &&
           (v->completed_by == SL_INSTANT_LAST || sl_timeline_completion(v->timeline, time) <= v->completed_by);
}

/* ---- partitions ---- */

/* Does the path tell values of a column of this type exactly? */
static bool tells(const struct sl_log *t, const struct sl_type *type)
{
    if (t->config.keygen == SL_HUDI_KEYGEN_TIMESTAMP || t->config.keygen == SL_HUDI_KEYGEN_CUSTOM)
        return false;
    return type->kind == SL_BOOLEAN || (type->kind >= SL_TINYINT && type->kind <= SL_BIGINT) || type->kind == SL_CHAR ||
           type->kind == SL_VARCHAR || type->kind == SL_DATE;
}

static int partition_values(struct sl_listing *l, struct sl_view_partition *p, sl_err *err)
{
    const struct sl_log *t = l->v->table;
    const struct sl_hudi_config *c = &t->config;
    struct sl_value *values = sl_arena_array(&l->v->arena, c->npartition + 1, sizeof *values);
    bool *known = sl_arena_array(&l->v->arena, c->npartition + 1, sizeof *known);

    if (!values || !known)
        return sl_err_nomem(err);
    p->values = values;
    p->known = known;
    for (size_t i = 0; i < c->npartition; i++) {
        sl_err quiet = SL_ERR_INIT;
        sl_str text;
        bool is_null;

        if (!tells(t, t->partition_types[i]))
            continue;
        const int rc = sl_hudi_partition_value(&l->v->arena, sl_str_c(p->path), i, c->npartition, c->partition_fields[i],
                                               c->hive_style, c->url_encode, &text, &is_null, &quiet);
        if (rc == SL_ENOMEM)
            return sl_err_nomem(err);
        /* The default partition holds NULL and the empty text alike. */
        known[i] = rc == SL_OK && !is_null && !sl_str_eqc(text, "default") &&
                   sl_value_from_text(&l->v->arena, t->partition_types[i], text, &values[i]);
    }
    return SL_OK;
}

static int add_partition(struct sl_listing *l, sl_str path, bool has_metadata, sl_err *err)
{
    struct sl_view_partition p = {.has_metadata = has_metadata};
    struct sl_view_partition *slot;

    p.path = sl_arena_strdup(&l->v->arena, path);
    if (!p.path)
        return sl_err_nomem(err);
    SL_TRY(partition_values(l, &p, err));
    l->v->partitions_total++;
    if (l->spec && l->spec->wanted && !l->spec->wanted(l->spec->user, &p))
        return SL_OK;
    slot = sl_vec_push(&l->partitions);
    if (!slot)
        return sl_err_nomem(err);
    *slot = p;
    return SL_OK;
}

/* ---- files ---- */

static bool take_base(struct sl_listing *l, const char *name, struct sl_log_file *f)
{
    struct sl_hudi_base_name b;

    (void)l;
    if (!sl_hudi_base_parse(sl_str_c(name), &b) || !sl_str_eqc(b.extension, "parquet"))
        return false;
    f->file_id = b.file_id;
    f->token = b.token;
    f->instant = b.instant;
    return true;
}

static bool take_log(struct sl_listing *l, const char *name, struct sl_log_file *f)
{
    struct sl_hudi_log_name g;

    (void)l;
    if (!sl_hudi_log_parse(sl_str_c(name), &g) || g.cdc)
        return false;
    f->file_id = g.file_id;
    f->token = g.token;
    f->instant = g.instant;
    f->version = g.version;
    return true;
}

static int add_file(struct sl_listing *l, size_t partition, sl_str folder, const struct sl_entry *e, sl_err *err)
{
    struct sl_log_file f = {0};
    struct sl_found *found;
    char *path;
    bool is_log = e->name[0] == '.';

    if (!(is_log ? take_log(l, e->name, &f) : take_base(l, e->name, &f)))
        return SL_OK;
    path = folder.n ? sl_arena_printf(&l->v->arena, SL_STRF "/%s", SL_STRV(folder), e->name) : sl_arena_strdup(&l->v->arena, sl_str_c(e->name));
    found = sl_vec_push(&l->files);
    if (!path || !found)
        return sl_err_nomem(err);
    f.path = path;
    f.name = folder.n ? path + folder.n + 1 : path;
    f.file_id.p = f.name + (f.file_id.p - e->name);
    f.token.p = f.token.n ? f.name + (f.token.p - e->name) : "";
    f.completion = f.instant;
    f.size = e->size;
    f.mtime_millis = e->mtime_millis;
    *found = (struct sl_found){.file = f, .partition = partition, .is_log = is_log};
    return SL_OK;
}

/* Files of the folder, if it is a partition that is wanted; folders below it. */
static int list_folder(struct sl_listing *l, sl_str folder, int depth, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf below = SL_BUF_INIT;
    bool metadata = false, files = false;
    size_t partition;
    int rc;

    if (depth > DEPTH_MAX)
        return sl_err_set(err, SL_ECORRUPT, "folders below \"%s\" are more than %d levels deep", l->v->table->path, DEPTH_MAX);
    SL_GO(sl_cancel_check(err));
    SL_GO(sl_store_list(l->v->table->store, folder, true, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        struct sl_log_file f;

        if (all.v[i].is_dir)
            continue;
        metadata = metadata || strcmp(all.v[i].name, SL_HUDI_PARTITION_FILE) == 0;
        files = files || take_base(l, all.v[i].name, &f) || take_log(l, all.v[i].name, &f);
    }
    partition = l->partitions.n;
    if (metadata || files)
        SL_GO(add_partition(l, folder, metadata, err));
    if (l->partitions.n > partition)
        for (size_t i = 0; i < all.n; i++)
            if (!all.v[i].is_dir)
                SL_GO(add_file(l, partition, folder, &all.v[i], err));
    for (size_t i = 0; i < all.n; i++) {
        if (!all.v[i].is_dir || all.v[i].name[0] == '.')
            continue;
        sl_buf_reset(&below);
        sl_buf_printf(&below, SL_STRF "%s%s", SL_STRV(folder), folder.n ? "/" : "", all.v[i].name);
        SL_GO(sl_buf_ok(&below, err));
        SL_GO(list_folder(l, sl_buf_view(&below), depth + 1, err));
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&below);
    return rc;
}

/* ---- opening ---- */

struct place {
    const char *path;
    size_t was;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

/* Folders were found level by level, which is not the order of their paths. */
static int sort_partitions(struct sl_listing *l, sl_err *err)
{
    const size_t n = l->partitions.n;
    struct place *order = sl_calloc(n + 1, sizeof *order);
    size_t *now = sl_calloc(n + 1, sizeof *now);
    struct sl_view_partition *sorted = sl_arena_array(&l->v->arena, n + 1, sizeof *sorted);
    int rc = SL_OK;

    if (!order || !now || !sorted)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct place){l->partitions.v[i].path, i};
    if (n)
        qsort(order, n, sizeof *order, by_path);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = l->partitions.v[order[i].was];
        now[order[i].was] = i;
    }
    for (size_t i = 0; i < l->files.n; i++)
        l->files.v[i].partition = now[l->files.v[i].partition];
    l->v->partitions = sorted;
    l->v->npartitions = n;
done:
    sl_free(order);
    sl_free(now);
    return rc;
}

static int open_view(struct sl_log *t, const struct sl_view_spec *spec, struct sl_listing *l, sl_err *err)
{
    struct sl_view *v = l->v;

    v->table = t;
    v->as_of = spec && spec->as_of ? spec->as_of : SL_INSTANT_LAST;
    v->completed_by = spec && spec->completed_by ? spec->completed_by : SL_INSTANT_LAST;
    if (!v->timeline)
        SL_TRY(sl_timeline_load(t, &v->timeline, err));
    SL_TRY(list_folder(l, SL_LIT(""), 0, err));
    SL_TRY(sort_partitions(l, err));
    SL_TRY(sl_view__plans(l, err));
    return sl_view__groups(l, err);
}

int sl_view_open(struct sl_log *t, const struct sl_view_spec *spec, struct sl_view **out, sl_err *err)
{
    struct sl_listing l = {.v = sl_calloc(1, sizeof *l.v), .spec = spec};
    int rc;

    *out = NULL;
    if (!l.v) {
        if (spec)
            sl_timeline_free(spec->timeline);
        return sl_err_nomem(err);
    }
    l.v->timeline = spec ? spec->timeline : NULL;
    rc = open_view(t, spec, &l, err);
    sl_free(l.partitions.v);
    sl_free(l.files.v);
    sl_map_free(l.marks, NULL);
    if (rc != SL_OK) {
        sl_view_free(l.v);
        return rc;
    }
    *out = l.v;
    return SL_OK;
}

void sl_view_free(struct sl_view *v)
{
    if (!v)
        return;
    sl_timeline_free(v->timeline);
    sl_arena_release(&v->arena);
    sl_free(v);
}

const struct sl_slice *sl_view_slice(const struct sl_view *v, sl_str partition, sl_str file_id)
{
    size_t low = 0, high = v->nslices;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const struct sl_slice *s = &v->slices[mid];
        int cmp = sl_str_cmp(sl_str_c(s->partition->path), partition);

        if (cmp == 0)
            cmp = sl_str_cmp(sl_str_c(s->file_id), file_id);
        if (cmp == 0)
            return s;
        if (cmp < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
