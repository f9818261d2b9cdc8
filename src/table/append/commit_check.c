/* commit_check.c - conflicts, deletion vectors, and commits that were made before. */
#include <string.h>

#include "table/append/append_priv.h"
#include "table/append/commit_priv.h"

/* ---- are the files to delete still live? ---- */

struct wanted {
    const struct commit *c;
    struct sl_map *names;      /* file name -> entry to delete */
    struct sl_value *values;   /* npartition of each distinct partition */
    size_t npartitions;
};

static void wanted_release(struct wanted *w)
{
    sl_map_free(w->names, NULL);
    sl_free(w->values);
}

static int gather_wanted(struct wanted *w, sl_err *err)
{
    const struct sl_commit_request *req = w->c->req;
    size_t width = w->c->t->npartition;
    int rc = SL_OK;

    w->names = sl_map_new();
    w->values = sl_calloc(req->ndeletes * width + 1, sizeof *w->values);
    if (!w->names || !w->values)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < req->ndeletes; i++) {
        void **slot = sl_map_at(w->names, req->deletes[i].file.file_name);

        if (!slot)
            SL_GOTO_NOMEM(err);
        if (*slot) {
            rc = sl_err_set(err, SL_EBUG, "a commit deletes the file \"" SL_STRF "\" twice", SL_STRV(req->deletes[i].file.file_name));
            goto done;
        }
        *slot = (void *)&req->deletes[i];
        if (i > 0 && sl_str_eq(req->deletes[i].partition, req->deletes[i - 1].partition))
            continue;
        SL_GO(sl_append_partition(w->c->t, req->deletes[i].partition, w->values + w->npartitions * width, err));
        w->npartitions++;
    }
done:
    return rc;
}

/* May a manifest with these partition bounds hold a file of the partition? Unknown bounds: yes. */
static bool may_hold(const struct sl_append *t, const struct sl_manifest_meta *m, const struct sl_value *values)
{
    struct sl_col_stats st;

    for (size_t i = 0; i < t->npartition; i++) {
        if (!sl_stats_column(&m->partition_stats, t->partition_types, t->npartition, i, &st) || values[i].null)
            continue;
        if (st.has_bounds && (sl_value_cmp(&values[i], &st.min) < 0 || sl_value_cmp(&values[i], &st.max) > 0))
            return false;
    }
    return true;
}

static bool keep_manifest(void *user, const struct sl_manifest_meta *m)
{
    const struct wanted *w = user;

    for (size_t i = 0; i < w->npartitions; i++)
        if (may_hold(w->c->t, m, w->values + i * w->c->t->npartition))
            return true;
    return false;
}

static bool keep_entry(void *user, const struct sl_manifest_entry *e)
{
    const struct wanted *w = user;

    return sl_map_get(w->names, e->file.file_name) != NULL;
}

static int conflict(const struct commit *c, sl_str file, const char *what, sl_err *err)
{
    sl_err_set(err, SL_ECONFLICT, "the file \"" SL_STRF "\" of the table %s %s by another commit meanwhile", SL_STRV(file), c->t->label, what);
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_ECONFLICT;
}

static int match_live(struct wanted *w, const struct sl_live_set *live, sl_err *err)
{
    struct sl_buf a = SL_BUF_INIT, b = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < live->n; i++) {
        const struct sl_manifest_entry *e = sl_map_get(w->names, live->v[i]->file.file_name);

        if (!e)
            continue;
        sl_buf_reset(&a);
        sl_buf_reset(&b);
        sl_entry_identity(&a, e);
        sl_entry_identity(&b, live->v[i]);
        SL_GO(sl_buf_ok(&a, err));
        SL_GO(sl_buf_ok(&b, err));
        if (sl_str_eq(sl_buf_view(&a), sl_buf_view(&b)))
            sl_map_del(w->names, e->file.file_name, NULL);
    }
    size_t it = 0;
    sl_str name;
    void *value;
    if (sl_map_next(w->names, &it, &name, &value))
        rc = conflict(w->c, name, "was removed", err);
done:
    sl_buf_release(&a);
    sl_buf_release(&b);
    return rc;
}

/* ---- deletion vectors ---- */

struct vector_at {
    const struct sl_index_entry *index;
    const struct sl_dv_range *range;
};

/* Data file name -> struct vector_at (in A). */
static int map_vectors(const struct sl_index_manifest *m, struct sl_arena *a, struct sl_map *map, sl_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        for (size_t j = 0; j < m->v[i].ndvs; j++) {
            void **slot = sl_map_at(map, m->v[i].dvs[j].data_file);
            struct vector_at *at = sl_arena_alloc(a, sizeof *at);

            if (!slot || !at)
                return sl_err_nomem(err);
            *at = (struct vector_at){&m->v[i], &m->v[i].dvs[j]};
            *slot = at;
        }
    }
    return SL_OK;
}

static bool same_vector(const struct vector_at *a, const struct vector_at *b)
{
    if (!a || !b)
        return a == b;
    return sl_str_eq(a->index->file_name, b->index->file_name) && a->range->offset == b->range->offset &&
           a->range->length == b->range->length;
}

static int check_vectors(struct commit *c, struct attempt *a, sl_err *err)
{
    const char *then = c->req->read_index_manifest, *now = a->latest.index_manifest;
    struct sl_index_manifest old = {SL_ARENA_INIT, NULL, 0, 0}, new = {SL_ARENA_INIT, NULL, 0, 0};
    struct sl_snapshot read = {.id = a->latest.id, .index_manifest = then};
    struct sl_map *before = NULL, *after = NULL;
    int rc = SL_OK;

    if ((!then && !now) || (then && now && strcmp(then, now) == 0))
        return SL_OK;
    before = sl_map_new();
    after = sl_map_new();
    if (!before || !after)
        SL_GOTO_NOMEM(err);
    rc = sl_snapshot_index(c->t, &read, &old, err);
    if (rc == SL_ENOTFOUND) { /* expired: what was read can't be compared any more */
        rc = conflict(c, c->req->deletes[0].file.file_name, "may have been changed", err);
        goto done;
    }
    SL_GO(rc);
    SL_GO(sl_snapshot_index(c->t, &a->latest, &new, err));
    SL_GO(map_vectors(&old, &a->arena, before, err));
    SL_GO(map_vectors(&new, &a->arena, after, err));
    for (size_t i = 0; i < c->req->ndeletes; i++) {
        sl_str name = c->req->deletes[i].file.file_name;

        if (!same_vector(sl_map_get(before, name), sl_map_get(after, name))) {
            rc = conflict(c, name, "lost rows", err);
            goto done;
        }
    }
done:
    sl_map_free(before, NULL);
    sl_map_free(after, NULL);
    sl_index_manifest_release(&old);
    sl_index_manifest_release(&new);
    return rc;
}

int sl_commit_check_deletes(struct commit *c, struct attempt *a, sl_err *err)
{
    struct wanted w = {.c = c};
    struct sl_live_filter filter = {keep_manifest, keep_entry, &w};
    struct sl_live_set live = {0};
    int rc;

    if (c->req->ndeletes == 0)
        return SL_OK;
    if (!a->has_latest)
        return conflict(c, c->req->deletes[0].file.file_name, "was removed", err);
    SL_GO(gather_wanted(&w, err));
    SL_GO(sl_live_files(c->t, &a->latest, &filter, &live, err));
    SL_GO(match_live(&w, &live, err));
    SL_GO(check_vectors(c, a, err));
done:
    sl_live_release(&live);
    wanted_release(&w);
    return rc;
}

/* ---- the new index manifest ---- */

static int gather_removed(const struct commit *c, const struct attempt *a, struct sl_map *removed, sl_err *err)
{
    for (size_t i = 0; i < c->req->ndeletes + a->gone.n; i++) {
        const struct sl_manifest_entry *e = i < c->req->ndeletes ? &c->req->deletes[i] : a->gone.v[i - c->req->ndeletes];
        void **slot = sl_map_at(removed, e->file.file_name);

        if (!slot)
            return sl_err_nomem(err);
        *slot = (void *)e;
    }
    return SL_OK;
}

/* Entries without the ranges of removed files, in place; *CHANGED if any went. */
static int drop_vectors(struct sl_index_manifest *m, const struct sl_map *removed, bool *changed, sl_err *err)
{
    size_t kept_entries = 0;

    *changed = false;
    for (size_t i = 0; i < m->n; i++) {
        struct sl_index_entry *e = &m->v[i];
        struct sl_dv_range *kept = sl_arena_array(&m->arena, e->ndvs + 1, sizeof *kept);
        size_t n = 0;

        if (!kept)
            return sl_err_nomem(err);
        for (size_t j = 0; j < e->ndvs; j++)
            if (!sl_map_get(removed, e->dvs[j].data_file))
                kept[n++] = e->dvs[j];
        if (n != e->ndvs) {
            *changed = true;
            e->dvs = kept;
            e->ndvs = n;
            e->row_count = (int64_t)n;
            if (n == 0)
                continue;
        }
        m->v[kept_entries++] = *e;
    }
    m->n = kept_entries;
    return SL_OK;
}

static int refuse_other_indexes(const struct commit *c, const struct sl_index_manifest *m, sl_err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (!sl_str_eqc(m->v[i].index_type, "DELETION_VECTORS") || m->v[i].has_global_index)
            return sl_err_set(err, SL_EUNSUPPORTED, "the table %s has an index of type \"" SL_STRF "\", so it can only be read", c->t->label,
                              SL_STRV(m->v[i].index_type));
    return SL_OK;
}

int sl_commit_index(struct commit *c, struct attempt *a, const char **name, sl_err *err)
{
    struct sl_index_manifest m = {SL_ARENA_INIT, NULL, 0, 0};
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_map *removed = NULL;
    bool changed;
    char uuid[37];
    int rc = SL_OK;

    *name = a->has_latest ? a->latest.index_manifest : NULL;
    if (!*name)
        return SL_OK;
    removed = sl_map_new();
    if (!removed)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_snapshot_index(c->t, &a->latest, &m, err));
    SL_GO(refuse_other_indexes(c, &m, err));
    SL_GO(gather_removed(c, a, removed, err));
    SL_GO(drop_vectors(&m, removed, &changed, err));
    if (!changed)
        goto done;
    if (m.n == 0) {
        *name = NULL;
        goto done;
    }
    SL_GO(sl_index_manifest_encode(m.v, m.n, &bytes, err));
    sl_uuid(uuid);
    *name = sl_arena_printf(&a->arena, "index-manifest-%s-0", uuid);
    if (!*name)
        SL_GOTO_NOMEM(err);
    sl_buf_printf(&path, "manifest/%s", *name);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_write_unique(c->t->store, sl_buf_view(&path), sl_buf_view(&bytes), err));
    rc = sl_names_add(&a->written, sl_str_c(*name), err);
done:
    sl_map_free(removed, NULL);
    sl_index_manifest_release(&m);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

/* ---- commits made before ---- */

/* Calls FN for snapshots from the latest back to the earliest, until it says stop. */
static int walk_back(struct sl_append *t, bool (*stop)(void *user, const struct sl_snapshot *s), void *user, sl_err *err)
{
    struct sl_snapshot s;
    int64_t id;

    SL_TRY(sl_snapshot_latest_id(t, &id, err));
    for (; id > 0; id--) {
        int rc = sl_snapshot_get(t, id, &s, err);

        if (rc == SL_ENOTFOUND) {
            sl_err_clear(err);
            return SL_OK;
        }
        SL_TRY(rc);
        bool enough = stop(user, &s);
        sl_snapshot_release(&s);
        if (enough)
            return SL_OK;
        SL_TRY(sl_cancel_check(err));
    }
    return SL_OK;
}

struct looking {
    const char *user, *kind;
    int64_t identifier;
    int64_t found_id, found_identifier;
};

static bool is_it(void *user, const struct sl_snapshot *s)
{
    struct looking *l = user;

    if (strcmp(s->commit_user, l->user) != 0 || s->commit_identifier != l->identifier ||
        (l->kind && strcmp(s->commit_kind, l->kind) != 0))
        return false;
    l->found_id = s->id;
    return true;
}

/* A writer's own compaction goes by the identifier of an APPEND, and may come after the next one. */
static bool is_last_written(void *user, const struct sl_snapshot *s)
{
    struct looking *l = user;

    if (strcmp(s->commit_user, l->user) != 0)
        return false;
    if (!l->found_id || s->commit_identifier > l->found_identifier)
        l->found_identifier = s->commit_identifier;
    l->found_id = s->id;
    return strcmp(s->commit_kind, "COMPACT") != 0;
}

int sl_commit_find(struct sl_append *t, const char *user, int64_t identifier, const char *kind, int64_t *id, sl_err *err)
{
    struct looking l = {user, kind, identifier, 0, 0};
    int rc = walk_back(t, is_it, &l, err);

    *id = l.found_id;
    return rc;
}

int sl_commit_last_identifier(struct sl_append *t, const char *user, bool *found, int64_t *identifier, sl_err *err)
{
    struct looking l = {user, NULL, 0, 0, 0};
    int rc = walk_back(t, is_last_written, &l, err);

    *found = l.found_id != 0;
    *identifier = l.found_identifier;
    return rc;
}

int sl_commit_same(struct commit *c, sl_err *err)
{
    const struct sl_commit_request *req = c->req;
    struct sl_snapshot s;
    int64_t delta = 0;
    bool same = true;
    int rc = sl_snapshot_get(c->t, c->result->snapshot_id, &s, err);

    if (rc == SL_ENOTFOUND) { /* expired in between: it was published, and more can't be said */
        sl_err_clear(err);
        return SL_OK;
    }
    SL_TRY(rc);
    for (size_t i = 0; i < req->nadds; i++)
        delta += req->adds[i].file.row_count;
    for (size_t i = 0; i < req->ndeletes; i++)
        delta -= req->deletes[i].file.row_count;
    if (req->overwrite == SL_OVERWRITE_NONE && delta != s.delta_record_count)
        same = false;
    for (size_t i = 0; i < req->nproperties && same; i++) {
        const char *value = sl_snapshot_property(&s, req->properties[i].key);

        same = value && req->properties[i].value ? strcmp(value, req->properties[i].value) == 0 : value == req->properties[i].value;
    }
    if (!same)
        rc = sl_err_set(err, SL_EINPUT, "commit %lld of \"%s\" is in the table %s already (snapshot %lld), but with other data",
                        (long long)c->identifier, c->user, c->t->label, (long long)s.id);
    sl_snapshot_release(&s);
    return rc;
}
