/* manifests.c - reading manifests through the cache, live files, writing manifests. */
#include "table/append/manifests.h"

#include <string.h>

#include "table/append/append_priv.h"

/* ---- decoded manifests ---- */

static void manifest_free(struct sl_manifest *m)
{
    if (!m)
        return;
    sl_arena_release(&m->arena);
    sl_free(m->v);
    sl_free(m);
}

static size_t manifest_bytes(const struct sl_manifest *m)
{
    return m->arena.used + m->cap * sizeof *m->v + sizeof *m;
}

void sl_manifest_cache_release(struct sl_append_cache *c)
{
    for (size_t i = 0; i < c->manifests.n; i++) {
        sl_free(c->manifests.v[i].name);
        manifest_free(c->manifests.v[i].manifest);
    }
    sl_free(c->manifests.v);
    c->manifests.v = NULL;
    c->manifests.n = c->manifests.cap = 0;
}

struct decoding {
    struct sl_manifest *m;
    const struct sl_live_filter *filter; /* NULL: all entries */
    int64_t added, deleted;
};

static int take_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct decoding *d = user;
    struct sl_manifest_entry *to;

    if (e->kind == SL_FILE_ADD)
        d->added++;
    else
        d->deleted++;
    if (d->filter && !d->filter->keep_entry(d->filter->user, e))
        return SL_OK;
    to = sl_vec_push(d->m);
    if (!to || !sl_entry_copy(&d->m->arena, e, to))
        return sl_err_nomem(err);
    return SL_OK;
}

static int check_counts(const struct decoding *d, const struct sl_manifest_meta *meta, sl_err *err)
{
    if (d->added == meta->num_added_files && d->deleted == meta->num_deleted_files)
        return SL_OK;
    return sl_err_set(err, SL_ECORRUPT, "it has %lld added and %lld deleted files, but its list says %lld and %lld", (long long)d->added,
                      (long long)d->deleted, (long long)meta->num_added_files, (long long)meta->num_deleted_files);
}

static int decode(struct sl_append *t, const struct sl_manifest_meta *meta, const struct sl_live_filter *filter, struct sl_manifest **out,
                  sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    struct sl_manifest *m = sl_calloc(1, sizeof *m);
    struct decoding d = {m, filter, 0, 0};
    int rc;

    *out = NULL;
    if (!m)
        return sl_err_nomem(err);
    sl_buf_printf(&path, "manifest/" SL_STRF, SL_STRV(meta->file_name));
    SL_GO(sl_append_get(t, &path, SL_META_BYTES_MAX, &bytes, err));
    rc = sl_manifest_decode(sl_buf_view(&bytes), true, take_entry, &d, err);
    if (rc == SL_OK)
        rc = check_counts(&d, meta, err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", t->path, SL_STRV(sl_buf_view(&path)));
        goto done;
    }
    *out = m;
    m = NULL;
done:
    manifest_free(m);
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

static struct sl_cached_manifest *find_cached(struct sl_append_cache *c, sl_str name)
{
    for (size_t i = 0; i < c->manifests.n; i++)
        if (sl_str_eqc(name, c->manifests.v[i].name))
            return &c->manifests.v[i];
    return NULL;
}

/* Make room for the newest; those in use stay. */
static void evict(struct sl_append_cache *c)
{
    while (c->manifest_bytes > SL_MANIFEST_CACHE_BYTES) {
        struct sl_cached_manifest *oldest = NULL;

        for (size_t i = 0; i < c->manifests.n; i++) {
            struct sl_cached_manifest *m = &c->manifests.v[i];

            if (m->refs == 0 && (!oldest || m->used_at < oldest->used_at))
                oldest = m;
        }
        if (!oldest)
            return;
        c->manifest_bytes -= manifest_bytes(oldest->manifest);
        sl_free(oldest->name);
        manifest_free(oldest->manifest);
        *oldest = c->manifests.v[--c->manifests.n];
    }
}

/* Puts M into the cache with one reference, or frees it and takes the one that came in between. */
static int add_cached(struct sl_append_cache *c, sl_str name, struct sl_manifest *m, const struct sl_manifest **out, sl_err *err)
{
    struct sl_cached_manifest *at = find_cached(c, name);

    if (at) {
        manifest_free(m);
    } else {
        at = sl_vec_push(&c->manifests);
        if (!at || !(at->name = sl_str_dup(name))) {
            if (at)
                c->manifests.n--;
            manifest_free(m);
            return sl_err_nomem(err);
        }
        at->manifest = m;
        c->manifest_bytes += manifest_bytes(m);
    }
    at->refs++;
    at->used_at = ++c->clock;
    *out = at->manifest;
    evict(c);
    return SL_OK;
}

static const struct sl_manifest *take_cached(struct sl_append_cache *c, sl_str name)
{
    const struct sl_manifest *found = NULL;

    pthread_mutex_lock(&c->lock);
    struct sl_cached_manifest *at = find_cached(c, name);
    if (at) {
        at->refs++;
        at->used_at = ++c->clock;
        found = at->manifest;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

int sl_manifest_load(struct sl_append *t, const struct sl_manifest_meta *meta, const struct sl_manifest **out, sl_err *err)
{
    struct sl_manifest *m;

    *out = take_cached(t->cache, meta->file_name);
    if (*out)
        return SL_OK;
    SL_TRY(decode(t, meta, NULL, &m, err));
    pthread_mutex_lock(&t->cache->lock);
    int rc = add_cached(t->cache, meta->file_name, m, out, err);
    pthread_mutex_unlock(&t->cache->lock);
    return rc;
}

/* As sl_manifest_load, but only with what the filter keeps, unless it is cached anyhow. Not put into the cache. */
static int load_kept(struct sl_append *t, const struct sl_manifest_meta *meta, const struct sl_live_filter *filter,
                     const struct sl_manifest **out, sl_err *err)
{
    struct sl_manifest *m;

    *out = take_cached(t->cache, meta->file_name);
    if (*out)
        return SL_OK;
    SL_TRY(decode(t, meta, filter, &m, err));
    *out = m;
    return SL_OK;
}

void sl_manifest_unref(struct sl_append *t, const struct sl_manifest *m)
{
    struct sl_append_cache *c = t->cache;
    bool cached = false;

    if (!m)
        return;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->manifests.n && !cached; i++) {
        cached = c->manifests.v[i].manifest == m;
        if (cached)
            c->manifests.v[i].refs--;
    }
    evict(c);
    pthread_mutex_unlock(&c->lock);
    if (!cached)
        manifest_free((struct sl_manifest *)m);
}

/* ---- lists ---- */

static int read_list(struct sl_append *t, const char *name, int64_t size, struct sl_manifest_list *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&path, "manifest/%s", name);
    SL_GO(sl_append_get(t, &path, SL_META_BYTES_MAX, &bytes, err));
    if (size >= 0 && (int64_t)bytes.n != size)
        rc = sl_err_set(err, SL_ECORRUPT, "it has %zu bytes, but its snapshot says %lld", bytes.n, (long long)size);
    if (rc == SL_OK)
        rc = sl_manifest_list_decode(sl_buf_view(&bytes), out, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", t->path, SL_STRV(sl_buf_view(&path)));
done:
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

int sl_snapshot_manifests(struct sl_append *t, const struct sl_snapshot *s, int lists, struct sl_manifest_list *out, sl_err *err)
{
    bool there;
    int rc = SL_OK;

    if (lists & SL_LIST_BASE)
        rc = read_list(t, s->base_manifest_list, s->base_manifest_list_size, out, err);
    if (rc == SL_OK && (lists & SL_LIST_DELTA))
        rc = read_list(t, s->delta_manifest_list, s->delta_manifest_list_size, out, err);
    if (rc == SL_ENOTFOUND && sl_snapshot_exists(t, s->id, &there, NULL) == SL_OK && !there)
        sl_err_hint(err, "snapshot %lld has expired meanwhile; run the statement again", (long long)s->id);
    return rc;
}

int sl_snapshot_index(struct sl_append *t, const struct sl_snapshot *s, struct sl_index_manifest *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    int rc = SL_OK;

    if (!s->index_manifest)
        return SL_OK;
    sl_buf_printf(&path, "manifest/%s", s->index_manifest);
    SL_GO(sl_append_get(t, &path, SL_META_BYTES_MAX, &bytes, err));
    rc = sl_index_manifest_decode(sl_buf_view(&bytes), out, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", t->path, SL_STRV(sl_buf_view(&path)));
done:
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

/* ---- live files ---- */

struct loading {
    struct sl_append *t;
    const struct sl_manifest_meta **metas;
    const struct sl_manifest **out;
    const struct sl_live_filter *filter; /* NULL: whole manifests, through the cache */
};

static int load_one(void *user, size_t i, sl_err *err)
{
    struct loading *l = user;

    SL_TRY(sl_cancel_check(err));
    if (l->filter)
        return load_kept(l->t, l->metas[i], l->filter, &l->out[i], err);
    return sl_manifest_load(l->t, l->metas[i], &l->out[i], err);
}

/* More entries than the cache can hold are filtered as they are read, one manifest after the other since filters are for one thread. */
static int load_all(struct sl_append *t, const struct sl_manifest_meta **metas, const struct sl_live_filter *filter, struct sl_live_set *out,
                    sl_err *err)
{
    enum { WORTH_THREADS_BYTES = 256 << 10, THREADS = 4, CACHED_ENTRIES_MAX = 50000 };
    struct loading l = {t, metas, out->manifests, NULL};
    int64_t bytes = 0, entries = 0;

    for (size_t i = 0; i < out->nmanifests; i++) {
        bytes += metas[i]->file_size;
        entries += metas[i]->num_added_files + metas[i]->num_deleted_files;
    }
    if (entries > CACHED_ENTRIES_MAX && filter && filter->keep_entry)
        l.filter = filter;
    return sl_parallel(bytes > WORTH_THREADS_BYTES && !l.filter ? THREADS : 1, out->nmanifests, load_one, &l, err);
}

static int gather_deleted(const struct sl_live_set *s, struct sl_map *deleted, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < s->nmanifests && rc == SL_OK; i++) {
        for (size_t j = 0; j < s->manifests[i]->n && rc == SL_OK; j++) {
            const struct sl_manifest_entry *e = &s->manifests[i]->v[j];
            void **slot;

            if (e->kind != SL_FILE_DELETE)
                continue;
            sl_buf_reset(&id);
            sl_entry_identity(&id, e);
            slot = id.failed ? NULL : sl_map_at(deleted, sl_buf_view(&id));
            if (!slot)
                rc = sl_err_nomem(err);
            else
                *slot = (void *)e;
        }
    }
    sl_buf_release(&id);
    return rc;
}

static int gather_live(struct sl_live_set *s, const struct sl_live_filter *filter, const struct sl_map *deleted, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    bool any = sl_map_count(deleted) > 0;
    int rc = SL_OK;

    for (size_t i = 0; i < s->nmanifests; i++) {
        for (size_t j = 0; j < s->manifests[i]->n; j++) {
            const struct sl_manifest_entry *e = &s->manifests[i]->v[j];
            const struct sl_manifest_entry **to;

            if (e->kind != SL_FILE_ADD || (filter && filter->keep_entry && !filter->keep_entry(filter->user, e)))
                continue;
            if (any) {
                sl_buf_reset(&id);
                sl_entry_identity(&id, e);
                SL_GO(sl_buf_ok(&id, err));
                if (sl_map_get(deleted, sl_buf_view(&id)))
                    continue;
            }
            to = sl_vec_push(s);
            if (!to)
                SL_GOTO_NOMEM(err);
            *to = e;
        }
    }
done:
    sl_buf_release(&id);
    return rc;
}

int sl_live_files(struct sl_append *t, const struct sl_snapshot *s, const struct sl_live_filter *filter, struct sl_live_set *out,
                  sl_err *err)
{
    struct sl_manifest_list list = {SL_ARENA_INIT, NULL, 0, 0};
    const struct sl_manifest_meta **metas = NULL;
    struct sl_map *deleted = NULL;
    int64_t total = 0;
    int rc;

    memset(out, 0, sizeof *out);
    out->table = t;
    SL_GO(sl_snapshot_manifests(t, s, SL_LIST_BASE | SL_LIST_DELTA, &list, err));
    metas = sl_calloc(list.n + 1, sizeof *metas);
    out->manifests = sl_calloc(list.n + 1, sizeof *out->manifests);
    deleted = sl_map_new();
    if (!metas || !out->manifests || !deleted)
        SL_GOTO_NOMEM(err);
    out->manifests_total = list.n;
    for (size_t i = 0; i < list.n; i++) {
        total += list.v[i].num_added_files - list.v[i].num_deleted_files;
        if (!filter || !filter->keep_manifest || filter->keep_manifest(filter->user, &list.v[i]))
            metas[out->nmanifests++] = &list.v[i];
    }
    out->files_total = total > 0 ? (size_t)total : 0;
    SL_GO(load_all(t, metas, filter, out, err));
    SL_GO(gather_deleted(out, deleted, err));
    SL_GO(gather_live(out, filter, deleted, err));
done:
    if (rc != SL_OK)
        sl_live_release(out);
    sl_map_free(deleted, NULL);
    sl_free(metas);
    sl_manifest_list_release(&list);
    return rc;
}

void sl_live_release(struct sl_live_set *s)
{
    for (size_t i = 0; i < s->nmanifests && s->manifests; i++)
        sl_manifest_unref(s->table, s->manifests[i]);
    sl_free(s->manifests);
    sl_free(s->v);
    memset(s, 0, sizeof *s);
}

/* ---- writing ---- */

struct rolling {
    struct sl_append *t;
    struct sl_manifest_list *out;
    struct sl_manifest_writer *writer;
    struct sl_manifest_tally *tally;
    uint64_t target;
    char uuid[37];
    int counter;
    size_t in_file;
};

static int roll_begin(struct rolling *r, sl_err *err)
{
    SL_TRY(sl_manifest_writer_new(&r->writer, err));
    return sl_manifest_tally_new(r->t->partition_types, r->t->npartition, &r->tally, err);
}

static void roll_drop(struct rolling *r)
{
    sl_manifest_writer_free(r->writer);
    sl_manifest_tally_free(r->tally);
    r->writer = NULL;
    r->tally = NULL;
    r->in_file = 0;
}

static int roll_finish(struct rolling *r, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_manifest_meta meta, *to;
    int rc = SL_OK;

    if (r->in_file == 0)
        goto done;
    memset(&meta, 0, sizeof meta);
    SL_GO(sl_manifest_writer_finish(r->writer, &bytes, err));
    SL_GO(sl_manifest_tally_finish(r->tally, &r->out->arena, &meta, err));
    meta.file_name.p = sl_arena_printf(&r->out->arena, "manifest-%s-%d", r->uuid, r->counter++);
    if (!meta.file_name.p)
        SL_GOTO_NOMEM(err);
    meta.file_name.n = strlen(meta.file_name.p);
    meta.file_size = (int64_t)bytes.n;
    to = sl_vec_push(r->out);
    if (!to)
        SL_GOTO_NOMEM(err);
    *to = meta;
    sl_buf_printf(&path, "manifest/%s", meta.file_name.p);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_write_unique(r->t->store, sl_buf_view(&path), sl_buf_view(&bytes), err);
    if (rc != SL_OK)
        r->out->n--;
done:
    roll_drop(r);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

int sl_manifests_write(struct sl_append *t, const struct sl_manifest_entry *const *entries, size_t n, struct sl_manifest_list *out,
                       sl_err *err)
{
    struct rolling r = {.t = t, .out = out};
    size_t before = out->n;
    int rc;

    sl_uuid(r.uuid);
    SL_GO(sl_schema_option_bytes(t->schema, "manifest.target-file-size", 8 << 20, &r.target, err));
    for (size_t i = 0; i < n; i++) {
        if (!r.writer)
            SL_GO(roll_begin(&r, err));
        SL_GO(sl_manifest_writer_add(r.writer, entries[i], err));
        SL_GO(sl_manifest_tally_add(r.tally, entries[i], err));
        r.in_file++;
        if (sl_manifest_writer_size(r.writer) >= r.target)
            SL_GO(roll_finish(&r, err));
    }
    SL_GO(roll_finish(&r, err));
done:
    roll_drop(&r);
    if (rc != SL_OK) {
        struct sl_buf path = SL_BUF_INIT;

        for (; out->n > before; out->n--) {
            sl_buf_reset(&path);
            sl_buf_printf(&path, "manifest/" SL_STRF, SL_STRV(out->v[out->n - 1].file_name));
            if (!path.failed)
                (void)!sl_store_remove(t->store, sl_buf_view(&path), NULL);
        }
        sl_buf_release(&path);
    }
    return rc;
}
