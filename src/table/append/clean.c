#include "table/append/clean.h"

#include <string.h>

#include "base/sys.h"
#include "table/append/roots.h"
#include "table/append/write.h"
#include "table/env.h"

#define DAY_MILLIS 86400000

/* ---- walking ---- */

struct walk {
    struct sl_append *t;
    sl_table_file_fn *fn;
    int (*folder)(void *user, const char *path, sl_err *err);
    void *user;
};

static bool is_temporary(const char *name)
{
    return sl_str_ends(sl_str_c(name), ".tmp");
}

/* Files of one folder, not deeper. TEMPORARY_ONLY: of its files only those that are left of a write. */
static int walk_files(struct walk *w, const char *path, enum sl_place place, bool temporary_only, sl_err *err)
{
    struct sl_entries found = {0};
    struct sl_buf full = SL_BUF_INIT;
    int rc;

    SL_GO(sl_store_list(w->t->store, sl_str_c(path), true, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        const struct sl_entry *e = &found.v[i];
        bool temporary = is_temporary(e->name);

        if (e->is_dir || (temporary_only && !temporary))
            continue;
        sl_buf_reset(&full);
        sl_buf_printf(&full, "%s/%s", path, e->name);
        SL_GO(sl_buf_ok(&full, err));
        SL_GO(w->fn(w->user, full.p, e->name, temporary ? SL_PLACE_TEMPORARY : place, e, err));
    }
    SL_GO(sl_cancel_check(err));
done:
    sl_buf_release(&full);
    sl_entries_release(&found);
    return rc;
}

/* Everything under a folder whose content is only ever temporary. */
static int walk_temporary(struct walk *w, const char *path, sl_err *err)
{
    struct sl_entries found = {0};
    struct sl_buf full = SL_BUF_INIT;
    int rc;

    SL_GO(sl_store_list(w->t->store, sl_str_c(path), true, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        const struct sl_entry *e = &found.v[i];

        sl_buf_reset(&full);
        sl_buf_printf(&full, "%s/%s", path, e->name);
        SL_GO(sl_buf_ok(&full, err));
        if (!e->is_dir) {
            SL_GO(w->fn(w->user, full.p, e->name, SL_PLACE_TEMPORARY, e, err));
            continue;
        }
        SL_GO(walk_temporary(w, full.p, err));
        if (w->folder)
            SL_GO(w->folder(w->user, full.p, err));
    }
done:
    sl_buf_release(&full);
    sl_entries_release(&found);
    return rc;
}

/* Partition folders ("k=v") down to bucket folders. Other names are none of ours. */
static int walk_data(struct walk *w, const char *path, size_t depth, sl_err *err)
{
    struct sl_entries found = {0};
    struct sl_buf full = SL_BUF_INIT;
    int rc;

    SL_GO(sl_store_list(w->t->store, sl_str_c(path), false, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        const char *name = found.v[i].name;
        bool bucket = strncmp(name, "bucket-", strlen("bucket-")) == 0;

        if (!found.v[i].is_dir || (!bucket && (!strchr(name, '=') || depth == 0)))
            continue;
        sl_buf_reset(&full);
        sl_buf_printf(&full, "%s%s%s", path, path[0] ? "/" : "", name);
        SL_GO(sl_buf_ok(&full, err));
        if (!bucket) {
            SL_GO(walk_data(w, full.p, depth - 1, err));
            continue;
        }
        SL_GO(walk_files(w, full.p, SL_PLACE_DATA, false, err));
        if (w->folder && depth < w->t->npartition)
            SL_GO(w->folder(w->user, full.p, err));
    }
    if (w->folder && depth < w->t->npartition)
        SL_GO(w->folder(w->user, path, err));
done:
    sl_buf_release(&full);
    sl_entries_release(&found);
    return rc;
}

static int walk_branch(struct walk *w, const char *branch, sl_err *err)
{
    static const char *const kinds[] = {"snapshot", "tag", "schema", "consumer"};
    struct sl_buf path = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sl_buf_reset(&path);
        sl_branch_folder(&path, branch, kinds[i]);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(walk_files(w, path.p, SL_PLACE_METADATA, true, err));
    }
done:
    sl_buf_release(&path);
    return rc;
}

int sl_table_walk(struct sl_append *t, sl_table_file_fn *fn, int (*folder)(void *user, const char *path, sl_err *err),
                  void *user, sl_err *err)
{
    struct walk w = {t, fn, folder, user};
    struct sl_names branches = {0};
    const char *data = sl_schema_option(t->schema, "data-file.path-directory");
    int rc;

    SL_GO(walk_files(&w, "manifest", SL_PLACE_METADATA, false, err));
    SL_GO(walk_files(&w, "index", SL_PLACE_METADATA, false, err));
    SL_GO(walk_files(&w, "statistics", SL_PLACE_METADATA, false, err));
    SL_GO(walk_data(&w, "", t->npartition, err));
    if (data)
        SL_GO(walk_data(&w, data, t->npartition, err));
    SL_GO(walk_branch(&w, "", err));
    SL_GO(sl_branch_names(t, &branches, err));
    for (size_t i = 0; i < branches.n; i++)
        SL_GO(walk_branch(&w, branches.v[i], err));
    SL_GO(walk_temporary(&w, SL_STAGE_DIR, err));
done:
    sl_names_release(&branches);
    return rc;
}

/* ---- orphans ---- */

struct orphan {
    char *path;
    uint64_t size;
    enum sl_place place;
    bool named, young;
    struct orphan *next;    /* of the same name */
};

struct cleaning {
    struct sl_append *t;
    const struct sl_clean_options *options;
    struct sl_clean_report *report;
    int64_t before;             /* changed before this: old enough */
    struct sl_arena arena;
    struct sl_map *files;       /* name -> struct orphan */
    struct sl_map *read;        /* manifests that were read already */
    struct sl_buf bytes, path;
    SL_VEC(char *) folders;     /* innermost first */
};

static int note_file(void *user, const char *path, const char *name, enum sl_place place, const struct sl_entry *e, sl_err *err)
{
    struct cleaning *c = user;
    void **slot = sl_map_at(c->files, sl_str_c(name));
    struct orphan *o = sl_arena_alloc(&c->arena, sizeof *o);

    if (!slot || !o)
        return sl_err_nomem(err);
    o->path = sl_arena_strdup(&c->arena, sl_str_c(path));
    if (!o->path)
        return sl_err_nomem(err);
    o->size = e->size;
    o->place = place;
    o->young = e->mtime_millis >= c->before;
    o->next = *slot;
    *slot = o;
    c->report->listed++;
    return SL_OK;
}

static int note_folder(void *user, const char *path, sl_err *err)
{
    struct cleaning *c = user;
    struct sl_stat st;

    int rc = sl_store_stat(c->t->store, sl_str_c(path), &st, err);
    if (rc != SL_OK || st.mtime_millis >= c->before) {
        sl_err_clear(err);
        return SL_OK;
    }
    char *copy = sl_arena_strdup(&c->arena, sl_str_c(path)), **slot = sl_vec_push(&c->folders);
    if (!copy || !slot)
        return sl_err_nomem(err);
    *slot = copy;
    return SL_OK;
}

static void name_file(struct cleaning *c, sl_str name)
{
    for (struct orphan *o = sl_map_get(c->files, name); o; o = o->next) {
        if (!o->named)
            c->report->named++;
        o->named = true;
    }
}

static int name_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct cleaning *c = user;

    (void)err;
    name_file(c, e->file.file_name);
    for (size_t i = 0; i < e->file.nextra_files; i++)
        name_file(c, e->file.extra_files[i]);
    return SL_OK;
}

/* What is missing may be so because the snapshot has just expired; else nothing may be removed. */
static int read_named(struct cleaning *c, const struct sl_root *root, sl_str name, sl_err *err)
{
    bool named;

    sl_buf_reset(&c->path);
    sl_buf_addc(&c->path, "manifest/");
    sl_buf_add(&c->path, name);
    SL_TRY(sl_buf_ok(&c->path, err));
    int rc = sl_store_get(c->t->store, sl_buf_view(&c->path), SL_MANIFEST_BYTES_MAX, &c->bytes, err);
    if (rc != SL_ENOTFOUND)
        return rc;
    SL_TRY(sl_store_exists(c->t->store, sl_str_c(root->path), &named, err));
    if (named)
        rc = sl_err_set(err, SL_ECORRUPT, "\"%s\", which \"%s\" names, is missing", c->path.p, root->path);
    return rc;
}

static int name_manifest(struct cleaning *c, const struct sl_root *root, sl_str name, sl_err *err)
{
    void **slot = sl_map_at(c->read, name);

    if (!slot)
        return sl_err_nomem(err);
    name_file(c, name);
    if (*slot)
        return SL_OK;
    SL_TRY(read_named(c, root, name, err));
    SL_TRY(sl_manifest_decode(sl_buf_view(&c->bytes), false, name_entry, c, err));
    *slot = c;
    return sl_cancel_check(err);
}

static int name_list(struct cleaning *c, const struct sl_root *root, const char *name, sl_err *err)
{
    struct sl_manifest_list list = {0};
    int rc;

    name_file(c, sl_str_c(name));
    SL_GO(read_named(c, root, sl_str_c(name), err));
    SL_GO(sl_manifest_list_decode(sl_buf_view(&c->bytes), &list, err));
    for (size_t i = 0; i < list.n; i++)
        SL_GO(name_manifest(c, root, list.v[i].file_name, err));
done:
    sl_manifest_list_release(&list);
    return rc;
}

static int name_index(struct cleaning *c, const struct sl_root *root, const char *name, sl_err *err)
{
    struct sl_index_manifest index = {0};
    int rc;

    name_file(c, sl_str_c(name));
    SL_GO(read_named(c, root, sl_str_c(name), err));
    SL_GO(sl_index_manifest_decode(sl_buf_view(&c->bytes), &index, err));
    for (size_t i = 0; i < index.n; i++)
        name_file(c, index.v[i].file_name);
done:
    sl_index_manifest_release(&index);
    return rc;
}

static int name_root(struct cleaning *c, const struct sl_root *root, sl_err *err)
{
    const struct sl_snapshot *s = &root->snapshot;

    SL_TRY(name_list(c, root, s->base_manifest_list, err));
    SL_TRY(name_list(c, root, s->delta_manifest_list, err));
    if (s->changelog_manifest_list)
        SL_TRY(name_list(c, root, s->changelog_manifest_list, err));
    if (s->statistics)
        name_file(c, sl_str_c(s->statistics));
    return s->index_manifest ? name_index(c, root, s->index_manifest, err) : SL_OK;
}

/* Reads snapshots, tags and branches; KNOWN holds those that were read before, which are not read again. */
static int name_roots(struct cleaning *c, struct sl_map *known, sl_err *err)
{
    struct sl_roots roots = SL_ROOTS_INIT;
    struct sl_buf key = SL_BUF_INIT;
    int rc;

    SL_GO(sl_roots_read(c->t, NULL, NULL, &roots, err));
    for (size_t i = 0; i < roots.n; i++) {
        const struct sl_root *r = &roots.v[i];

        if (c->options->common.progress)
            c->options->common.progress(c->options->common.user, "reading snapshots", i, roots.n);
        sl_buf_reset(&key);
        sl_buf_printf(&key, "%s\n%s", r->path, r->snapshot.delta_manifest_list);
        SL_GO(sl_buf_ok(&key, err));
        void **slot = sl_map_at(known, sl_buf_view(&key));
        if (!slot)
            SL_GOTO_NOMEM(err);
        if (*slot)
            continue;
        rc = name_root(c, r, err);
        if (rc == SL_ENOTFOUND) { /* it expired while it was read */
            sl_err_clear(err);
            rc = SL_OK;
            continue;
        }
        SL_GO(rc);
        *slot = c;
    }
done:
    if (rc == SL_ECORRUPT || rc == SL_EUNSUPPORTED)
        sl_err_hint(err, "nothing was removed, since not all that the table names is known; \"sluice verify TABLE\" tells more");
    sl_buf_release(&key);
    sl_roots_release(&roots);
    return rc;
}

static int remove_orphans(struct cleaning *c, sl_err *err)
{
    const struct sl_upkeep *common = &c->options->common;
    size_t it = 0, done = 0, total = sl_map_count(c->files);
    void *value;

    while (sl_map_next(c->files, &it, NULL, &value)) {
        if (common->progress)
            common->progress(common->user, "removing files", done++, total);
        for (struct orphan *o = value; o; o = o->next) {
            if (o->named)
                continue;
            if (o->young) {
                c->report->young_files++;
                continue;
            }
            SL_TRY(sl_cancel_check(err));
            int rc = common->dry_run ? SL_OK : sl_store_remove(c->t->store, sl_str_c(o->path), err);
            if (rc == SL_ENOTFOUND) {
                sl_err_clear(err);
                continue;
            }
            SL_TRY(rc);
            c->report->files++;
            c->report->bytes += o->size;
            if (common->file)
                common->file(common->user, o->path, o->size);
        }
    }
    return SL_OK;
}

/* Removing a folder fails unless it is empty, which is all that has to be asked. */
static void remove_folders(struct cleaning *c)
{
    sl_err quiet = SL_ERR_INIT;

    for (size_t i = 0; i < c->folders.n; i++)
        if (sl_store_remove(c->t->store, sl_str_c(c->folders.v[i]), &quiet) == SL_OK)
            c->report->folders++;
}

static int find_age(struct cleaning *c, sl_err *err)
{
    const struct sl_clean_options *o = c->options;
    int64_t age = o->has_older_than ? o->older_than : DAY_MILLIS;

    if (age < DAY_MILLIS && !o->force) {
        sl_err_set(err, SL_EUSAGE, "files younger than one day may belong to a writer at work and are not cleaned");
        sl_err_hint(err, "if no writer of any engine is at work on the table: --older-than with --force");
        return SL_EUSAGE;
    }
    c->before = sl_now_millis() - age;
    return SL_OK;
}

static int run(struct cleaning *c, sl_err *err)
{
    struct sl_map *known = sl_map_new();
    int rc;

    c->files = sl_map_new();
    c->read = sl_map_new();
    if (!known || !c->files || !c->read)
        SL_GOTO_NOMEM(err);
    SL_GO(find_age(c, err));
    SL_GO(sl_table_walk(c->t, note_file, note_folder, c, err));
    SL_GO(SL_FAILPOINT("clean.listed", err));
    SL_GO(name_roots(c, known, err));
    SL_GO(name_roots(c, known, err)); /* what was published while the first pass read */
    SL_GO(remove_orphans(c, err));
    if (!c->options->common.dry_run)
        remove_folders(c);
done:
    sl_map_free(known, NULL);
    return rc;
}

int sl_append_clean(struct sl_append *t, const struct sl_clean_options *options, struct sl_clean_report *report, sl_err *err)
{
    static const struct sl_clean_options none = SL_CLEAN_INIT;
    struct sl_clean_report unwanted;
    struct cleaning c = {.t = t, .options = options ? options : &none, .report = report ? report : &unwanted};
    struct sl_lock *lock = NULL;
    int rc;

    *c.report = (struct sl_clean_report){0};
    SL_GO(sl_upkeep_lock(t, &lock, err));
    SL_GO(run(&c, err));
done:
    sl_store_unlock(lock);
    sl_map_free(c.files, NULL);
    sl_map_free(c.read, NULL);
    sl_buf_release(&c.bytes);
    sl_buf_release(&c.path);
    sl_free(c.folders.v);
    sl_arena_release(&c.arena);
    return rc;
}

int sl_table_clean(struct sl_env *env, sl_str table, const struct sl_clean_options *options, struct sl_clean_report *report,
                   sl_err *err)
{
    struct sl_append *t = NULL;
    int rc;

    if (report)
        *report = (struct sl_clean_report){0};
    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_append_clean(t, options, report, err));
done:
    sl_append_close(t);
    return rc;
}
