/* tag.c - finds the file group that each key of a batch is in. */
#include <stdlib.h>
#include <string.h>

#include "table/log/sources.h"
#include "table/log/write_priv.h"

/* ---- the batch's groups ---- */

int sl_batch_group_at(struct sl_log_batch *b, uint32_t part, sl_str file_id, uint32_t *out, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT;
    struct sl_batch_group *g;
    void **slot;
    int rc;

    sl_buf_printf(&key, "%u/", (unsigned)part);
    sl_buf_add(&key, file_id);
    SL_GO(sl_buf_ok(&key, err));
    if (!b->group_index && !(b->group_index = sl_map_new()))
        SL_GOTO_NOMEM(err);
    slot = sl_map_at(b->group_index, sl_buf_view(&key));
    if (!slot)
        SL_GOTO_NOMEM(err);
    if (!*slot) {
        g = sl_vec_push(&b->groups);
        if (!g || !(g->file_id = sl_arena_strdup(&b->arena, file_id)))
            SL_GOTO_NOMEM(err);
        g->part = part;
        *slot = (void *)b->groups.n; /* index + 1 */
    }
    *out = (uint32_t)((size_t)*slot - 1);
done:
    sl_buf_release(&key);
    return rc;
}

/* ---- views of the batch's partitions ---- */

static int path_cmp(const void *a, const void *b)
{
    return sl_str_cmp(*(const sl_str *)a, *(const sl_str *)b);
}

struct paths {
    sl_str *v; /* sorted */
    size_t n;
};

static bool in_paths(void *user, const struct sl_view_partition *p)
{
    const struct paths *paths = user;
    const sl_str path = sl_str_c(p->path);

    return paths->n && bsearch(&path, paths->v, paths->n, sizeof *paths->v, path_cmp) != NULL;
}

int sl_batch_view(struct sl_log_batch *b, struct sl_view **out, sl_err *err)
{
    struct paths paths = {sl_reallocarray(NULL, b->parts.n + 1, sizeof(sl_str)), b->parts.n};
    struct sl_view_spec spec = {.wanted = in_paths, .user = &paths};
    int rc;

    *out = NULL;
    if (!paths.v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < paths.n; i++)
        paths.v[i] = b->parts.v[i].path;
    qsort(paths.v, paths.n, sizeof *paths.v, path_cmp);
    rc = sl_view_open(b->t, &spec, out, err);
    sl_free(paths.v);
    return rc;
}

/* The slices of one partition, which lie together. */
static const struct sl_slice *slices_of(const struct sl_view *view, sl_str path, size_t *n)
{
    size_t lo = 0, hi = view->nslices, end;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (sl_str_cmp(sl_str_c(view->slices[mid].partition->path), path) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo; end < view->nslices && sl_str_eqc(path, view->slices[end].partition->path); end++)
        ;
    *n = end - lo;
    return view->slices + lo;
}

/* ---- one partition ---- */

struct tagging {
    struct sl_log_batch *b;
    const struct sl_view *view;
    const struct sl_timeline *since;
    const struct sl_slice **found; /* one a key */
    pthread_mutex_t lock;          /* of the batch's figures */
};

struct part_run {
    struct tagging *t;
    struct sl_conn *conn;
    struct sl_key_sources sources;
    size_t *index;                 /* of the keys that are looked up, in the batch */
};

/* Was it committed after the batch was looked up first? */
static bool is_newer(void *user, int64_t instant)
{
    const struct tagging *t = user;

    return sl_timeline_fate(t->view->timeline, instant) == SL_COMMITTED && sl_timeline_fate(t->since, instant) != SL_COMMITTED;
}

static int read_keys(void *user, size_t i, const sl_str *wanted, size_t n, sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct part_run *r = user;

    return sl_key_source_read(&r->sources, r->conn, i, wanted, n, take, to, err);
}

static int hit(void *user, size_t k, size_t i, sl_err *err)
{
    struct part_run *r = user;

    (void)err;
    r->t->found[r->index[k]] = r->sources.v.v[i].slice;
    return SL_OK;
}

static int look_up(struct part_run *r, const struct sl_batch_part *part, sl_err *err)
{
    struct tagging *t = r->t;
    const size_t most = part->to - part->from;
    sl_str *keys = sl_reallocarray(NULL, most + 1, sizeof *keys);
    struct sl_lookup_stats stats = {0};
    size_t n = 0;
    int rc;

    r->index = sl_reallocarray(NULL, most + 1, sizeof *r->index);
    if (!keys || !r->index)
        SL_GOTO_NOMEM(err);
    for (size_t k = part->from; k < part->to; k++) {
        if (t->since && t->b->keys.v[k].group != SL_NO_GROUP)
            continue;
        keys[n] = t->b->keys.v[k].key;
        r->index[n++] = k;
    }
    struct sl_lookup l = {.keys = keys, .nkeys = n, .sources = r->sources.known.v, .nsources = r->sources.v.n, .read = read_keys, .hit = hit,
                          .user = r};
    rc = sl_lookup_run(&l, &stats, err);
    pthread_mutex_lock(&t->lock);
    struct sl_lookup_stats *sum = &t->b->lookup;
    sum->sources += stats.sources;
    sum->by_range += stats.by_range;
    sum->by_filter += stats.by_filter;
    sum->known += stats.known;
    sum->opened += stats.opened;
    sum->unindexed += stats.unindexed;
    sum->tested += stats.tested;
    sum->passed += stats.passed;
    sum->false_positives += stats.false_positives;
    pthread_mutex_unlock(&t->lock);
done:
    sl_free(keys);
    sl_free(r->index);
    return rc;
}

static int tag_part(void *user, size_t i, sl_err *err)
{
    struct tagging *t = user;
    const struct sl_batch_part *part = &t->b->parts.v[i];
    struct part_run r = {.t = t, .sources = SL_KEY_SOURCES_INIT};
    const struct sl_slice *slices;
    size_t n;
    int rc;

    slices = slices_of(t->view, part->path, &n);
    if (n == 0)
        return SL_OK;
    SL_GO(sl_conn_open(sl_conn_engine(t->b->conn), &r.conn, err));
    SL_GO(sl_key_sources_add(&r.sources, r.conn, t->view, slices, n, t->since ? is_newer : NULL, t, err));
    if (r.sources.v.n)
        rc = look_up(&r, part, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "looking up keys");
    sl_key_sources_release(&r.sources);
    sl_conn_close(r.conn);
    return rc;
}

int sl_batch_tag(struct sl_log_batch *b, const struct sl_view *view, const struct sl_timeline *since, sl_err *err)
{
    struct tagging t = {.b = b, .view = view, .since = since};
    int rc;

    t.found = sl_calloc(b->keys.n + 1, sizeof *t.found);
    if (!t.found)
        return sl_err_nomem(err);
    pthread_mutex_init(&t.lock, NULL);
    for (size_t k = 0; k < b->keys.n && !since; k++)
        b->keys.v[k].group = SL_NO_GROUP;
    SL_GO(sl_parallel(sl_engine_threads(sl_conn_engine(b->conn)), b->parts.n, tag_part, &t, err));
    for (size_t k = 0; k < b->keys.n; k++)
        if (t.found[k])
            SL_GO(sl_batch_group_at(b, b->keys.v[k].part, sl_str_c(t.found[k]->file_id), &b->keys.v[k].group, err));
done:
    pthread_mutex_destroy(&t.lock);
    sl_free(t.found);
    return rc;
}
