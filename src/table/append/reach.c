#include "table/append/reach.h"

#include <string.h>

#include "base/sys.h"

/* A data file that may go. */
struct candidate {
    char *path;              /* owned by the arena, like all below */
    sl_str name;
    uint64_t size;
    const char **extra;      /* paths of its side files */
    size_t nextra;
    bool live;               /* something that stays needs it */
    struct candidate *next;  /* another one of the same name in another folder */
};

/* One entry about a candidate in a manifest that stays. */
struct hit {
    struct candidate *file;
    size_t identity;
    bool is_delete;
};

struct manifest {
    struct hit *v;           /* owned */
    size_t n, cap;
};

struct sl_reach {
    struct sl_append *t;             /* borrowed */
    struct sl_arena arena;
    struct sl_map *candidates;       /* file name -> struct candidate */
    struct sl_map *metadata;         /* path -> non-NULL while it may go */
    struct sl_map *manifests;        /* of what stays: name -> struct manifest */
    struct sl_map *identities;       /* identity bytes -> number from 1 */
    SL_VEC(uint64_t) deleted_in;     /* by identity: the last kept snapshot (a running number) that deletes it */
    uint64_t kept;
    struct sl_buf bytes, path, identity;
};

static void free_manifest(void *p)
{
    if (p)
        sl_free(((struct manifest *)p)->v);
    sl_free(p);
}

int sl_reach_new(struct sl_append *t, struct sl_reach **out, sl_err *err)
{
    struct sl_reach *r = sl_calloc(1, sizeof *r);

    *out = NULL;
    if (!r)
        return sl_err_nomem(err);
    r->t = t;
    r->candidates = sl_map_new();
    r->metadata = sl_map_new();
    r->manifests = sl_map_new();
    r->identities = sl_map_new();
    if (!r->candidates || !r->metadata || !r->manifests || !r->identities) {
        sl_reach_free(r);
        return sl_err_nomem(err);
    }
    *out = r;
    return SL_OK;
}

void sl_reach_free(struct sl_reach *r)
{
    if (!r)
        return;
    sl_map_free(r->candidates, NULL);
    sl_map_free(r->metadata, NULL);
    sl_map_free(r->manifests, free_manifest);
    sl_map_free(r->identities, NULL);
    sl_free(r->deleted_in.v);
    sl_buf_release(&r->bytes);
    sl_buf_release(&r->path);
    sl_buf_release(&r->identity);
    sl_arena_release(&r->arena);
    sl_free(r);
}

/* ---- what goes ---- */

static int add_candidate(struct sl_reach *r, const struct sl_manifest_entry *e, sl_err *err)
{
    bool external;

    sl_buf_reset(&r->path);
    SL_TRY(sl_append_file_path(r->t, e, &r->path, &external, err));
    if (external)
        return SL_OK; /* outside the table's folder: not ours to remove */
    size_t folder = r->path.n - e->file.file_name.n;
    void **slot = sl_map_at(r->candidates, e->file.file_name);
    if (!slot)
        return sl_err_nomem(err);
    for (struct candidate *c = *slot; c; c = c->next)
        if (sl_str_eqc(sl_buf_view(&r->path), c->path))
            return SL_OK;
    struct candidate *c = sl_arena_alloc(&r->arena, sizeof *c);
    if (!c)
        return sl_err_nomem(err);
    c->path = sl_arena_strdup(&r->arena, sl_buf_view(&r->path));
    c->name = c->path ? sl_str_c(c->path + folder) : c->name;
    c->size = e->file.file_size > 0 ? (uint64_t)e->file.file_size : 0;
    c->extra = sl_arena_array(&r->arena, e->file.nextra_files + 1, sizeof *c->extra);
    if (!c->path || !c->extra)
        return sl_err_nomem(err);
    for (size_t i = 0; i < e->file.nextra_files; i++) {
        c->extra[i] = sl_arena_printf(&r->arena, "%.*s" SL_STRF, (int)folder, r->path.p,
                                      SL_STRV(e->file.extra_files[i]));
        if (!c->extra[i])
            return sl_err_nomem(err);
        c->nextra++;
    }
    c->next = *slot;
    *slot = c;
    return SL_OK;
}

struct gone {
    struct sl_reach *r;
    unsigned files;
};

static int gone_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct gone *g = user;
    unsigned kind = e->kind == SL_FILE_DELETE ? SL_REACH_DELETED : SL_REACH_ADDED;

    return g->files & (kind | SL_REACH_ALL) ? add_candidate(g->r, e, err) : SL_OK;
}

static int metadata_goes(struct sl_reach *r, const char *folder, sl_str name, sl_err *err)
{
    sl_buf_reset(&r->path);
    sl_buf_printf(&r->path, "%s/" SL_STRF, folder, SL_STRV(name));
    SL_TRY(sl_buf_ok(&r->path, err));
    void **slot = sl_map_at(r->metadata, sl_buf_view(&r->path));
    if (!slot)
        return sl_err_nomem(err);
    *slot = r;
    return SL_OK;
}

static int read_metadata(struct sl_reach *r, sl_str name, sl_err *err)
{
    sl_buf_reset(&r->path);
    sl_buf_addc(&r->path, "manifest/");
    sl_buf_add(&r->path, name);
    SL_TRY(sl_buf_ok(&r->path, err));
    return sl_store_get(r->t->store, sl_buf_view(&r->path), SL_MANIFEST_BYTES_MAX, &r->bytes, err);
}

/* The damaged or missing file is named, and what names it. */
static int in_snapshot(int rc, const struct sl_snapshot *s, const char *what, sl_str name, sl_err *err)
{
    if (rc == SL_ENOTFOUND)
        rc = sl_err_set(err, SL_ECORRUPT, "the file is missing");
    if (rc != SL_OK && rc != SL_ENOMEM && rc != SL_ECANCELLED) {
        sl_err_ctx(err, "%s " SL_STRF " of snapshot %lld", what, SL_STRV(name), (long long)s->id);
        sl_err_hint(err, "nothing was removed; \"sluice verify TABLE\" tells what is damaged");
    }
    return rc;
}

static int gone_list(struct sl_reach *r, const struct sl_snapshot *s, const char *list_name, unsigned files, bool missing_ok,
                     sl_err *err)
{
    struct sl_manifest_list list = {0};
    struct gone g = {r, files};
    int rc = read_metadata(r, sl_str_c(list_name), err);

    if (rc == SL_OK)
        rc = sl_manifest_list_decode(sl_buf_view(&r->bytes), &list, err);
    if (rc == SL_ENOTFOUND && missing_ok)
        goto missing;
    SL_GO(in_snapshot(rc, s, "manifest list", sl_str_c(list_name), err));
    for (size_t i = 0; i < list.n; i++) {
        if (files & SL_REACH_METADATA)
            SL_GO(metadata_goes(r, "manifest", list.v[i].file_name, err));
        if (!(files & (SL_REACH_DELETED | SL_REACH_ADDED | SL_REACH_ALL)))
            continue;
        rc = read_metadata(r, list.v[i].file_name, err);
        if (rc == SL_ENOTFOUND && missing_ok) {
            sl_err_clear(err);
            continue;
        }
        if (rc == SL_OK) {
            /* Candidates use the path buffer; the bytes stay where they are. */
            rc = sl_manifest_decode(sl_buf_view(&r->bytes), false, gone_entry, &g, err);
        }
        SL_GO(in_snapshot(rc, s, "manifest", list.v[i].file_name, err));
        SL_GO(sl_cancel_check(err));
    }
    goto done;
missing:
    sl_err_clear(err);
    rc = SL_OK;
done:
    sl_manifest_list_release(&list);
    return rc;
}

/* Files next to the data lie in the folder of their partition, as data files do. */
static int index_folder(struct sl_reach *r, const struct sl_index_entry *e, struct sl_buf *out, sl_err *err)
{
    const struct sl_manifest_entry as_file = {.partition = e->partition, .bucket = e->bucket,
                                              .file = {.file_name = e->file_name}};
    bool in_data, external;

    sl_buf_reset(out);
    SL_TRY(sl_schema_option_bool(r->t->schema, "index-file-in-data-file-dir", false, &in_data, err));
    if (!in_data) {
        sl_buf_addc(out, "index");
        return sl_buf_ok(out, err);
    }
    SL_TRY(sl_append_file_path(r->t, &as_file, out, &external, err));
    out->n -= e->file_name.n + 1;
    out->p[out->n] = '\0';
    return SL_OK;
}

/* Tells FN(r, folder, name) of each file that describes S, manifests of its lists left out. */
static int each_metadata(struct sl_reach *r, const struct sl_snapshot *s, bool missing_ok,
                         int (*fn)(struct sl_reach *r, const char *folder, sl_str name, sl_err *err), sl_err *err)
{
    struct sl_index_manifest index = {0};
    struct sl_buf folder = SL_BUF_INIT;
    int rc;

    SL_GO(fn(r, "manifest", sl_str_c(s->base_manifest_list), err));
    SL_GO(fn(r, "manifest", sl_str_c(s->delta_manifest_list), err));
    if (s->statistics)
        SL_GO(fn(r, "statistics", sl_str_c(s->statistics), err));
    if (!s->index_manifest)
        goto done;
    SL_GO(fn(r, "manifest", sl_str_c(s->index_manifest), err));
    rc = read_metadata(r, sl_str_c(s->index_manifest), err);
    if (rc == SL_ENOTFOUND && missing_ok) {
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    if (rc == SL_OK)
        rc = sl_index_manifest_decode(sl_buf_view(&r->bytes), &index, err);
    SL_GO(in_snapshot(rc, s, "index manifest", sl_str_c(s->index_manifest), err));
    for (size_t i = 0; i < index.n; i++) {
        if (index.v[i].external_path.p)
            continue;
        SL_GO(index_folder(r, &index.v[i], &folder, err));
        SL_GO(fn(r, folder.p, index.v[i].file_name, err));
    }
done:
    sl_index_manifest_release(&index);
    sl_buf_release(&folder);
    return rc;
}

int sl_reach_gone(struct sl_reach *r, const struct sl_snapshot *s, unsigned files, bool missing_ok, sl_err *err)
{
    if (files & SL_REACH_METADATA)
        SL_TRY(each_metadata(r, s, missing_ok, metadata_goes, err));
    SL_TRY(gone_list(r, s, s->delta_manifest_list, files, missing_ok, err));
    if (files & SL_REACH_ALL)
        return gone_list(r, s, s->base_manifest_list, files, missing_ok, err);
    if (files & SL_REACH_METADATA)
        return gone_list(r, s, s->base_manifest_list, SL_REACH_METADATA, missing_ok, err);
    return SL_OK;
}

/* ---- what stays ---- */

static int metadata_stays(struct sl_reach *r, const char *folder, sl_str name, sl_err *err)
{
    void *old;

    sl_buf_reset(&r->path);
    sl_buf_printf(&r->path, "%s/" SL_STRF, folder, SL_STRV(name));
    SL_TRY(sl_buf_ok(&r->path, err));
    sl_map_del(r->metadata, sl_buf_view(&r->path), &old);
    return SL_OK;
}

struct keeping {
    struct sl_reach *r;
    struct manifest *m;
};

static int identity_number(struct sl_reach *r, const struct sl_manifest_entry *e, size_t *out, sl_err *err)
{
    sl_buf_reset(&r->identity);
    sl_entry_identity(&r->identity, e);
    SL_TRY(sl_buf_ok(&r->identity, err));
    void **slot = sl_map_at(r->identities, sl_buf_view(&r->identity));
    if (!slot)
        return sl_err_nomem(err);
    if (!*slot) {
        uint64_t *number = sl_vec_push(&r->deleted_in);
        if (!number)
            return sl_err_nomem(err);
        *slot = (void *)(uintptr_t)r->deleted_in.n;
    }
    *out = (size_t)(uintptr_t)*slot - 1;
    return SL_OK;
}

/* The name alone decides: the folder is not compared, so that a path spelled in another way keeps the file. */
static int kept_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct keeping *k = user;

    for (struct candidate *c = sl_map_get(k->r->candidates, e->file.file_name); c; c = c->next) {
        struct hit *h = sl_vec_push(k->m);

        if (!h)
            return sl_err_nomem(err);
        h->file = c;
        h->is_delete = e->kind == SL_FILE_DELETE;
        SL_TRY(identity_number(k->r, e, &h->identity, err));
    }
    return SL_OK;
}

static int kept_manifest(struct sl_reach *r, const struct sl_snapshot *s, sl_str name, struct manifest **out, sl_err *err)
{
    void **slot = sl_map_at(r->manifests, name);

    if (!slot)
        return sl_err_nomem(err);
    if (!*slot) {
        struct manifest *m = sl_calloc(1, sizeof *m);
        if (!m)
            return sl_err_nomem(err);
        *slot = m;
        struct keeping k = {r, m};
        int rc = read_metadata(r, name, err);
        if (rc == SL_OK)
            rc = sl_manifest_decode(sl_buf_view(&r->bytes), false, kept_entry, &k, err);
        SL_TRY(in_snapshot(rc, s, "manifest", name, err));
        SL_TRY(sl_cancel_check(err));
    }
    *out = *slot;
    return SL_OK;
}

static int read_list(struct sl_reach *r, const struct sl_snapshot *s, const char *name, struct sl_manifest_list *out,
                     sl_err *err)
{
    int rc = read_metadata(r, sl_str_c(name), err);

    if (rc == SL_OK)
        rc = sl_manifest_list_decode(sl_buf_view(&r->bytes), out, err);
    return in_snapshot(rc, s, "manifest list", sl_str_c(name), err);
}

static void mark(struct sl_reach *r, const struct manifest *m, bool deletes)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct hit *h = &m->v[i];

        if (deletes && h->is_delete)
            r->deleted_in.v[h->identity] = r->kept;
        if (!deletes && !h->is_delete && r->deleted_in.v[h->identity] != r->kept)
            h->file->live = true;
    }
}

int sl_reach_keep(struct sl_reach *r, const struct sl_snapshot *s, sl_err *err)
{
    struct sl_manifest_list list = {0};
    struct manifest *m = NULL;
    int rc;

    r->kept++;
    SL_GO(each_metadata(r, s, false, metadata_stays, err));
    SL_GO(read_list(r, s, s->base_manifest_list, &list, err));
    SL_GO(read_list(r, s, s->delta_manifest_list, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        SL_GO(metadata_stays(r, "manifest", list.v[i].file_name, err));
        SL_GO(kept_manifest(r, s, list.v[i].file_name, &m, err));
        mark(r, m, true);
    }
    for (size_t i = 0; i < list.n; i++)
        mark(r, sl_map_get(r->manifests, list.v[i].file_name), false);
done:
    sl_manifest_list_release(&list);
    return rc;
}

/* ---- removing ---- */

static int remove_file(struct sl_reach *r, const struct sl_upkeep *common, const char *path, uint64_t *count,
                       uint64_t *bytes, sl_err *err)
{
    struct sl_stat st;
    int rc = sl_store_stat(r->t->store, sl_str_c(path), &st, err);

    if (rc == SL_OK && !common->dry_run)
        rc = sl_store_remove(r->t->store, sl_str_c(path), err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err); /* an earlier call that was killed was here */
        return SL_OK;
    }
    SL_TRY(rc);
    ++*count;
    *bytes += st.size;
    if (common->file)
        common->file(common->user, path, st.size);
    return SL_OK;
}

static int remove_candidates(struct sl_reach *r, const struct sl_upkeep *common, struct sl_reach_removed *out, sl_err *err)
{
    size_t it = 0, total = sl_map_count(r->candidates), done = 0;
    void *value;
    sl_str name;

    while (sl_map_next(r->candidates, &it, &name, &value)) {
        if (common->progress)
            common->progress(common->user, "removing data files", done++, total);
        for (struct candidate *c = value; c; c = c->next) {
            if (c->live)
                continue;
            SL_TRY(sl_cancel_check(err));
            SL_TRY(remove_file(r, common, c->path, &out->data_files, &out->bytes, err));
            for (size_t i = 0; i < c->nextra; i++)
                SL_TRY(remove_file(r, common, c->extra[i], &out->other_files, &out->bytes, err));
        }
    }
    return SL_OK;
}

int sl_reach_remove(struct sl_reach *r, const struct sl_upkeep *common, struct sl_reach_removed *out, sl_err *err)
{
    size_t it = 0;
    void *value;
    sl_str path;

    SL_TRY(remove_candidates(r, common, out, err));
    SL_TRY(SL_FAILPOINT("upkeep.data-removed", err));
    while (sl_map_next(r->metadata, &it, &path, &value)) {
        bool manifest = sl_str_starts(path, "manifest/");
        char *text = value ? sl_str_dup(path) : NULL;

        if (!value)
            continue;
        if (!text)
            return sl_err_nomem(err);
        int rc = remove_file(r, common, text, manifest ? &out->manifests : &out->other_files, &out->bytes, err);
        sl_free(text);
        SL_TRY(rc);
    }
    return SL_OK;
}
