/* plan.c - from a snapshot and a predicate to the files to read. */
#include "table/append/plan.h"

#include <string.h>

#include "table/append/append_priv.h"
#include "table/append/plan_priv.h"
#include "table/append/prune.h"

static int plan_new(struct sl_append *t, struct sl_plan **out, sl_err *err)
{
    struct sl_plan *p = sl_calloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    p->io = sl_calloc(1, sizeof *p->io);
    if (!p->io) {
        sl_free(p);
        return sl_err_nomem(err);
    }
    pthread_mutex_init(&p->io->lock, NULL);
    p->table = t;
    p->schema = t->schema;
    *out = p;
    return SL_OK;
}

void sl_plan_free(struct sl_plan *p)
{
    sl_str key;
    size_t it = 0;
    void *value;

    if (!p)
        return;
    struct sl_plan_io *io = p->io;
    sl_reader_end(io->reader);
    if (io->engine)
        sl_row_filter_unregister(io->engine, io->filter);
    while (io->dvs && sl_map_next(io->dvs, &it, &key, &value))
        sl_dv_free(((struct plan_dv *)value)->dv);
    sl_map_free(io->dvs, NULL);
    sl_live_release(&io->live);
    sl_index_manifest_release(&io->index);
    sl_snapshot_release(&p->snapshot);
    pthread_mutex_destroy(&io->lock);
    sl_arena_release(&io->arena);
    sl_free(io);
    sl_free(p->files);
    sl_free(p);
}

/* ---- filling in the files ---- */

/* Folder and values of the partition of the entry before: neighbours are mostly of the same one. */
struct places {
    struct sl_plan *p;
    sl_str partition;
    const struct sl_value *values;
    struct sl_buf dir;
};

static int place_of(struct places *at, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_append *t = at->p->table;
    struct sl_value *values;

    if (at->values && sl_str_eq(at->partition, e->partition))
        return SL_OK;
    values = sl_arena_array(&at->p->io->arena, t->npartition + 1, sizeof *values);
    if (!values)
        return sl_err_nomem(err);
    SL_TRY(sl_append_partition(t, e->partition, values, err));
    at->partition = e->partition;
    at->values = values;
    sl_buf_reset(&at->dir);
    sl_buf_printf(&at->dir, "%s/", t->path);
    SL_TRY(sl_append_data_dir(t, values, &at->dir, err));
    sl_buf_ch(&at->dir, '/');
    return sl_buf_ok(&at->dir, err);
}

static int full_path(struct places *at, const struct sl_manifest_entry *e, const char **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    sl_str name = e->file.file_name;
    int rc = SL_OK;

    if (e->file.external_path.p || name.n == 0 || memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n))
        rc = sl_append_file_full(at->p->table, e, &path, err);
    if (rc == SL_OK && path.n)
        *out = sl_arena_strdup(&at->p->io->arena, sl_buf_view(&path));
    else if (rc == SL_OK)
        *out = sl_arena_printf(&at->p->io->arena, SL_STRF SL_STRF, SL_STRV(sl_buf_view(&at->dir)), SL_STRV(name));
    sl_buf_release(&path);
    return rc != SL_OK || *out ? rc : sl_err_nomem(err);
}

static int add_file(struct places *at, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_plan_file *f = &at->p->files[at->p->nfiles];

    SL_TRY(place_of(at, e, err));
    if (!sl_str_ends(e->file.file_name, ".parquet"))
        return sl_err_set(err, SL_EUNSUPPORTED, "the data file \"" SL_STRF "\" of the table %s is not a Parquet file",
                          SL_STRV(e->file.file_name), at->p->table->label);
    f->entry = e;
    f->partition = at->values;
    SL_TRY(full_path(at, e, &f->path, err));
    at->p->bytes += e->file.file_size;
    at->p->rows += e->file.row_count;
    at->p->nfiles++;
    return SL_OK;
}

static int add_dvs(struct sl_plan *p, sl_err *err)
{
    struct sl_plan_io *io = p->io;
    struct sl_map *at = NULL;
    int rc = SL_OK;

    if (p->nfiles == 0 || !p->snapshot.index_manifest)
        return SL_OK;
    at = sl_map_new();
    if (!at)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < p->nfiles; i++) {
        void **slot = sl_map_at(at, p->files[i].entry->file.file_name);

        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = &p->files[i];
    }
    SL_GO(sl_snapshot_index(p->table, &p->snapshot, &io->index, err));
    for (size_t i = 0; i < io->index.n; i++) {
        for (size_t j = 0; j < io->index.v[i].ndvs; j++) {
            struct sl_plan_file *f = sl_map_get(at, io->index.v[i].dvs[j].data_file);

            if (!f)
                continue;
            if (f->dv) {
                rc = sl_err_set(err, SL_ECORRUPT, "the data file \"%s\" has two deletion vectors", f->path);
                goto done;
            }
            f->dv_index = &io->index.v[i];
            f->dv = &io->index.v[i].dvs[j];
            p->has_dvs = true;
        }
    }
done:
    sl_map_free(at, NULL);
    return rc;
}

/* ---- a plan from a snapshot ---- */

struct keeping {
    struct sl_append *t;
    struct sl_pruner *pruner;
    struct sl_value *values;
    struct sl_map *judged; /* partition -> YES or NO */
};

static char yes, no; /* their addresses are the values */

static bool keep_manifest(void *user, const struct sl_manifest_meta *m)
{
    return sl_pruner_manifest(((struct keeping *)user)->pruner, m);
}

static bool keep_entry(void *user, const struct sl_manifest_entry *e)
{
    struct keeping *k = user;
    void **slot = sl_map_at(k->judged, e->partition);
    bool kept;

    if (slot && *slot)
        return *slot == &yes;
    /* A partition that can't be decoded is kept here, and is an error later. */
    kept = sl_binrow_decode(e->partition, k->t->partition_types, k->t->npartition, k->values, NULL) != SL_OK ||
           sl_pruner_partition(k->pruner, k->values);
    if (slot)
        *slot = kept ? &yes : &no;
    return kept;
}

static int choose_snapshot(struct sl_plan *p, const struct sl_selector *sel, sl_err *err)
{
    bool latest = !sel || sel->kind == SL_SELECT_LATEST;
    int rc = sl_snapshot_select(p->table, sel, &p->snapshot, err);

    if (rc == SL_ENOTFOUND && latest) {
        sl_err_clear(err);
        return SL_OK;
    }
    SL_TRY(rc);
    return latest ? SL_OK : sl_append_schema(p->table, p->snapshot.schema_id, &p->schema, err);
}

static int add_live(struct sl_plan *p, struct sl_pruner *pruner, sl_err *err)
{
    const struct sl_live_set *live = &p->io->live;
    struct places at = {.p = p, .dir = SL_BUF_INIT};
    int rc = SL_OK;

    p->files = sl_calloc(live->n + 1, sizeof *p->files);
    if (!p->files)
        return sl_err_nomem(err);
    for (size_t i = 0; i < live->n; i++) {
        SL_GO(place_of(&at, live->v[i], err));
        if (sl_pruner_file(pruner, live->v[i], at.values))
            SL_GO(add_file(&at, live->v[i], err));
    }
done:
    sl_buf_release(&at.dir);
    return rc;
}

int sl_plan_files(struct sl_append *t, const struct sl_selector *sel, const struct sl_pred *pred, struct sl_plan **out, sl_err *err)
{
    struct keeping k = {.t = t};
    struct sl_live_filter filter = {keep_manifest, keep_entry, &k};
    struct sl_plan *p = NULL;
    int rc;

    *out = NULL;
    SL_GO(sl_append_check(t, SL_READ, err));
    SL_GO(plan_new(t, &p, err));
    SL_GO(choose_snapshot(p, sel, err));
    if (p->snapshot.id == 0)
        goto ready;
    k.values = sl_calloc(t->npartition + 1, sizeof *k.values);
    k.judged = sl_map_new();
    if (!k.values || !k.judged)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_pruner_new(t, p->schema, pred, &k.pruner, err));
    SL_GO(sl_live_files(t, &p->snapshot, pred ? &filter : NULL, &p->io->live, err));
    p->files_total = p->io->live.files_total;
    p->manifests_total = p->io->live.manifests_total;
    p->manifests_read = p->io->live.nmanifests;
    p->pruned_partition = p->files_total > p->io->live.n ? p->files_total - p->io->live.n : 0;
    SL_GO(add_live(p, k.pruner, err));
    p->pruned_stats = p->io->live.n - p->nfiles;
    SL_GO(add_dvs(p, err));
ready:
    *out = p;
    p = NULL;
done:
    sl_pruner_free(k.pruner);
    sl_free(k.values);
    sl_map_free(k.judged, NULL);
    sl_plan_free(p);
    return rc;
}

/* ---- a plan from entries ---- */

static bool is_named(void *user, const struct sl_manifest_entry *e)
{
    return sl_map_get(user, e->file.file_name) != NULL;
}

/* The live entry of each name in NAMES (-> a marker) replaces the marker, if its identity is that of the entry given. */
static int match_entries(const struct sl_live_set *live, struct sl_map *names, sl_err *err)
{
    struct sl_buf a = SL_BUF_INIT, b = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < live->n; i++) {
        void **slot = sl_map_at(names, live->v[i]->file.file_name);

        if (!slot)
            SL_GOTO_NOMEM(err);
        sl_buf_reset(&a);
        sl_buf_reset(&b);
        sl_entry_identity(&a, live->v[i]);
        sl_entry_identity(&b, *slot);
        SL_GO(sl_buf_ok(&a, err));
        SL_GO(sl_buf_ok(&b, err));
        if (sl_str_eq(sl_buf_view(&a), sl_buf_view(&b)))
            *slot = (void *)live->v[i];
    }
done:
    sl_buf_release(&a);
    sl_buf_release(&b);
    return rc;
}

int sl_plan_entries(struct sl_append *t, int64_t snapshot_id, const struct sl_manifest_entry *entries, size_t n, struct sl_plan **out,
                    sl_err *err)
{
    struct sl_selector by_id = {.kind = SL_SELECT_ID, .id = snapshot_id};
    struct sl_map *names = sl_map_new();
    struct sl_live_filter filter = {.keep_entry = is_named, .user = names};
    struct sl_plan *p = NULL;
    struct places at = {.dir = SL_BUF_INIT};
    int rc;

    *out = NULL;
    if (!names)
        return sl_err_nomem(err);
    SL_GO(sl_append_check(t, SL_READ, err));
    SL_GO(plan_new(t, &p, err));
    at.p = p;
    SL_GO(sl_snapshot_select(t, snapshot_id ? &by_id : NULL, &p->snapshot, err));
    for (size_t i = 0; i < n; i++) {
        void **slot = sl_map_at(names, entries[i].file.file_name);

        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = (void *)&entries[i];
    }
    SL_GO(sl_live_files(t, &p->snapshot, &filter, &p->io->live, err));
    SL_GO(match_entries(&p->io->live, names, err));
    p->files = sl_calloc(n + 1, sizeof *p->files);
    if (!p->files)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        const struct sl_manifest_entry *e = sl_map_get(names, entries[i].file.file_name);

        if (e == &entries[i]) {
            rc = sl_err_set(err, SL_ECONFLICT, "the file \"" SL_STRF "\" is no longer part of the table %s", SL_STRV(e->file.file_name), t->label);
            sl_err_flag(err, SL_ERR_RETRY);
            goto done;
        }
        SL_GO(add_file(&at, e, err));
    }
    p->files_total = n;
    SL_GO(add_dvs(p, err));
    *out = p;
    p = NULL;
done:
    sl_map_free(names, NULL);
    sl_buf_release(&at.dir);
    sl_plan_free(p);
    return rc;
}

int sl_plan_subset(const struct sl_plan *plan, const bool *keep, struct sl_plan **out, sl_err *err)
{
    struct sl_plan *p;

    SL_TRY(plan_new(plan->table, &p, err));
    p->schema = plan->schema;
    p->files_total = plan->nfiles;
    p->files = sl_calloc(plan->nfiles + 1, sizeof *p->files);
    if (!p->files) {
        sl_plan_free(p);
        return sl_err_nomem(err);
    }
    for (size_t i = 0; i < plan->nfiles; i++) {
        if (!keep[i])
            continue;
        p->files[p->nfiles++] = plan->files[i];
        p->bytes += plan->files[i].entry->file.file_size;
        p->rows += plan->files[i].entry->file.row_count;
        p->has_dvs = p->has_dvs || plan->files[i].dv;
    }
    *out = p;
    return SL_OK;
}

/* ---- while it is read ---- */

int sl_plan_announce(struct sl_plan *p, sl_err *err)
{
    if (p->io->reader || p->snapshot.id == 0 || p->nfiles == 0)
        return SL_OK;
    SL_TRY(sl_reader_begin(p->table, p->snapshot.id, &p->io->reader, err));
    return SL_OK;
}

int sl_plan_explain_error(struct sl_plan *p, int code, sl_err *err)
{
    bool there;

    if ((code != SL_ENOTFOUND && code != SL_EIO) || p->snapshot.id == 0 ||
        sl_snapshot_exists(p->table, p->snapshot.id, &there, NULL) != SL_OK || there)
        return code;
    sl_err_set(err, SL_ENOTFOUND, "snapshot %lld of the table %s expired while it was read", (long long)p->snapshot.id, p->table->label);
    sl_err_hint(err, "run the statement again, or keep snapshots longer with the option snapshot.time-retained");
    return SL_ENOTFOUND;
}

/* ---- deletion vectors ---- */

static int dv_file_path(const struct sl_plan *p, const struct sl_plan_file *f, struct sl_buf *out, bool *external, sl_err *err)
{
    const char *beside = sl_schema_option(p->table->schema, "index-file-in-data-file-dir");

    *external = f->dv_index->external_path.p != NULL;
    if (*external) {
        sl_str uri = f->dv_index->external_path;

        if (sl_str_starts(uri, "file:"))
            uri = sl_str_sub(uri, 5, uri.n);
        while (sl_str_starts(uri, "//"))
            uri = sl_str_sub(uri, 1, uri.n);
        if (!sl_str_starts(uri, "/"))
            return sl_err_set(err, SL_EUNSUPPORTED, "deletion vectors lie at \"" SL_STRF "\", and only files of this machine can be read",
                              SL_STRV(f->dv_index->external_path));
        sl_buf_add(out, sl_str_sub(uri, 1, uri.n));
        return sl_buf_ok(out, err);
    }
    if (beside && sl_str_ieqc(sl_str_c(beside), "true"))
        SL_TRY(sl_append_data_dir(p->table, f->partition, out, err));
    else
        sl_buf_addc(out, "index");
    sl_buf_ch(out, '/');
    sl_buf_add(out, f->dv_index->file_name);
    return sl_buf_ok(out, err);
}

static int load_dv(const struct sl_plan *p, struct plan_dv *at, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    struct sl_store *outside = NULL;
    bool external;
    int rc;

    SL_GO(dv_file_path(p, at->file, &path, &external, err));
    if (external)
        SL_GO(sl_store_open_local(SL_LIT("/"), &outside, err));
    SL_GO(sl_store_get(external ? outside : p->table->store, sl_buf_view(&path), SL_META_BYTES_MAX, &bytes, err));
    rc = sl_dv_decode(sl_buf_view(&bytes), at->file->dv, &at->dv, err);
    if (rc == SL_OK && at->file->dv->cardinality >= 0 && (uint64_t)at->file->dv->cardinality != sl_dv_cardinality(at->dv)) {
        rc = sl_err_set(err, SL_ECORRUPT, "the deletion vector of \"%s\" has %llu rows, but its index says %lld", at->file->path,
                        (unsigned long long)sl_dv_cardinality(at->dv), (long long)at->file->dv->cardinality);
        sl_dv_free(at->dv);
        at->dv = NULL;
    }
    if (rc != SL_OK)
        sl_err_ctx(err, "\"" SL_STRF "\"", SL_STRV(sl_buf_view(&path)));
done:
    sl_store_close(outside);
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

static int is_deleted(void *self, sl_str filename, const int64_t *rows, size_t n, bool *deleted, sl_err *err)
{
    struct sl_plan *p = self;
    struct plan_dv *at = sl_map_get(p->io->dvs, filename);
    int rc = SL_OK;

    if (!at)
        return sl_err_set(err, SL_EBUG, "the file \"" SL_STRF "\" is read, but it is not planned with a deletion vector", SL_STRV(filename));
    pthread_mutex_lock(&p->io->lock);
    if (!at->dv)
        rc = load_dv(p, at, err);
    pthread_mutex_unlock(&p->io->lock);
    for (size_t i = 0; i < n && rc == SL_OK; i++)
        deleted[i] = sl_dv_contains(at->dv, (uint64_t)rows[i]);
    return rc;
}

int sl_plan_filter(struct sl_plan *p, struct sl_engine *engine, sl_err *err)
{
    struct sl_plan_io *io = p->io;
    struct sl_row_filter filter = {p, is_deleted};

    if (io->engine)
        return SL_OK;
    io->dvs = sl_map_new();
    if (!io->dvs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < p->nfiles; i++) {
        struct plan_dv *at = sl_arena_alloc(&io->arena, sizeof *at);
        void **slot;

        if (!p->files[i].dv)
            continue;
        slot = at ? sl_map_at(io->dvs, sl_str_c(p->files[i].path)) : NULL;
        if (!slot)
            return sl_err_nomem(err);
        at->file = &p->files[i];
        *slot = at;
    }
    SL_TRY(sl_row_filter_register(engine, &filter, &io->filter, err));
    io->engine = engine;
    return SL_OK;
}
