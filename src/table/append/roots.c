#include "table/append/roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

void sl_branch_folder(struct sl_buf *out, const char *branch, const char *kind)
{
    if (branch[0])
        sl_buf_printf(out, "branch/branch-%s/", branch);
    sl_buf_addc(out, kind);
}

struct reading {
    struct sl_append *t;
    int (*bad)(void *user, const char *path, const sl_err *why);
    void *user;
    struct sl_roots *out;
    struct sl_buf bytes;
};

/* Adds one file, unless it is gone by now or BAD forgives it. */
static int read_root(struct reading *r, const struct sl_root *named, sl_err *err)
{
    struct sl_root root = *named;
    int rc = sl_store_get(r->t->store, sl_str_c(root.path), SL_SNAPSHOT_BYTES_MAX, &r->bytes, err);

    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        return SL_OK;
    }
    if (rc == SL_OK)
        rc = sl_snapshot_decode(sl_buf_view(&r->bytes), &root.snapshot, err);
    if (rc == SL_OK && !root.is_tag && root.snapshot.id != root.id)
        rc = sl_err_set(err, SL_ECORRUPT, "the file says that it is snapshot %lld", (long long)root.snapshot.id);
    if (rc != SL_OK) {
        sl_snapshot_release(&root.snapshot);
        sl_err_ctx(err, "\"%s/%s\"", sl_store_root(r->t->store), root.path);
        if (!r->bad || rc == SL_ENOMEM || rc == SL_ECANCELLED)
            return rc;
        return r->bad(r->user, root.path, err);
    }
    root.id = root.snapshot.id;
    struct sl_root *slot = sl_vec_push(r->out);
    if (!slot) {
        sl_snapshot_release(&root.snapshot);
        return sl_err_nomem(err);
    }
    *slot = root;
    return SL_OK;
}

/* Names sort as text: snapshot-10 before snapshot-9. */
static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct sl_root *)a)->id, y = ((const struct sl_root *)b)->id;

    return x < y ? -1 : x > y;
}

static int read_folder(struct reading *r, const char *branch, bool tags, sl_err *err)
{
    const char *kind = tags ? "tag" : "snapshot", *prefix = tags ? "tag-" : "snapshot-";
    struct sl_buf folder = SL_BUF_INIT;
    struct sl_entries found = {0};
    size_t first = r->out->n;
    int rc;

    sl_branch_folder(&folder, branch, kind);
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(r->t->store, sl_buf_view(&folder), false, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        const char *name = found.v[i].name;
        struct sl_root root = {.is_tag = tags, .branch = branch};

        if (tags ? !sl_str_starts(sl_str_c(name), prefix) : !sl_numbered_name(name, prefix, &root.id))
            continue;
        root.name = sl_arena_strdup(&r->out->arena, sl_str_c(tags ? name + strlen(prefix) : name));
        root.path = sl_arena_printf(&r->out->arena, "%s/%s", folder.p, name);
        if (!root.name || !root.path)
            SL_GOTO_NOMEM(err);
        SL_GO(read_root(r, &root, err));
        SL_GO(sl_cancel_check(err));
    }
    if (!tags && r->out->n > first)
        qsort(r->out->v + first, r->out->n - first, sizeof *r->out->v, by_id);
done:
    sl_entries_release(&found);
    sl_buf_release(&folder);
    return rc;
}

int sl_roots_read(struct sl_append *t, int (*bad)(void *user, const char *path, const sl_err *why), void *user,
                  struct sl_roots *out, sl_err *err)
{
    struct reading r = {t, bad, user, out, SL_BUF_INIT};
    struct sl_names branches = {0};
    int rc;

    SL_GO(sl_branch_names(t, &branches, err));
    for (size_t i = 0; i <= branches.n; i++) {
        const char *branch = i == 0 ? "" : sl_arena_strdup(&out->arena, sl_str_c(branches.v[i - 1]));

        if (!branch)
            SL_GOTO_NOMEM(err);
        SL_GO(read_folder(&r, branch, false, err));
        SL_GO(read_folder(&r, branch, true, err));
    }
done:
    sl_names_release(&branches);
    sl_buf_release(&r.bytes);
    return rc;
}

void sl_roots_release(struct sl_roots *r)
{
    for (size_t i = 0; i < r->n; i++)
        sl_snapshot_release(&r->v[i].snapshot);
    sl_free(r->v);
    sl_arena_release(&r->arena);
    *r = (struct sl_roots)SL_ROOTS_INIT;
}

int sl_upkeep_lock(struct sl_append *t, struct sl_lock **out, sl_err *err)
{
    int rc = sl_store_lock(t->store, SL_LIT(SL_SIDE_DIR "/upkeep.lock"), -1, out, err);

    if (rc == SL_EIO || rc == SL_EUNSUPPORTED) {
        sl_err_clear(err);
        *out = NULL;
        return SL_OK;
    }
    return rc;
}
