/* snapshots.c - finding snapshots; tags and branches. */
#include "table/append/snapshots.h"

#include <string.h>

#include "table/append/append_priv.h"

enum {
    PARSE_TRIES = 10, /* as other engines do where a file may be seen half way */
    PARSE_PAUSE_MILLIS = 200,
};

void sl_snapshot_file(const struct sl_append *t, int64_t id, struct sl_buf *out)
{
    sl_buf_printf(out, "%ssnapshot/snapshot-%lld", t->meta, (long long)id);
}

int sl_snapshot_exists(struct sl_append *t, int64_t id, bool *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    *out = false;
    if (id <= 0)
        return SL_OK;
    sl_snapshot_file(t, id, &path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_exists(t->store, sl_buf_view(&path), out, err);
    sl_buf_release(&path);
    return rc;
}

/* Reads and decodes PATH; a file that does not parse is read again for a while. */
static int read_snapshot(struct sl_append *t, struct sl_buf *path, struct sl_snapshot *out, sl_err *err)
{
    struct sl_buf json = SL_BUF_INIT;
    int rc = SL_OK;

    for (int i = 0; i < PARSE_TRIES; i++) {
        memset(out, 0, sizeof *out);
        SL_GO(sl_append_get(t, path, SL_SCHEMA_BYTES_MAX, &json, err));
        rc = sl_snapshot_decode(sl_buf_view(&json), out, err);
        if (rc != SL_ECORRUPT)
            break;
        /* A whole JSON document ends with its brace: then waiting does not help. */
        sl_str text = sl_str_trim(sl_buf_view(&json));
        if (text.n && text.p[text.n - 1] == '}')
            break;
        sl_sleep_millis(PARSE_PAUSE_MILLIS);
        SL_GO(sl_cancel_check(err));
    }
    if (rc != SL_OK)
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", t->path, SL_STRV(sl_buf_view(path)));
done:
    sl_buf_release(&json);
    return rc;
}

int sl_snapshot_get(struct sl_append *t, int64_t id, struct sl_snapshot *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;

    memset(out, 0, sizeof *out);
    sl_snapshot_file(t, id, &path);
    int rc = read_snapshot(t, &path, out, err);
    if (rc == SL_ENOTFOUND)
        sl_err_set(err, SL_ENOTFOUND, "the table %s has no snapshot %lld", t->label, (long long)id);
    else if (rc == SL_OK && out->id != id)
        rc = sl_err_set(err, SL_ECORRUPT, "\"%s/" SL_STRF "\" says that its id is %lld", t->path, SL_STRV(sl_buf_view(&path)),
                        (long long)out->id);
    if (rc != SL_OK)
        sl_snapshot_release(out);
    sl_buf_release(&path);
    return rc;
}

/* ---- hints ---- */

/* 0 if there is no hint or it is no number. */
static int64_t read_hint(struct sl_append *t, const char *which)
{
    enum { HINT_BYTES_MAX = 64 };
    struct sl_buf path = SL_BUF_INIT, text = SL_BUF_INIT;
    int64_t id = 0;

    sl_buf_printf(&path, "%ssnapshot/%s", t->meta, which);
    if (sl_append_get(t, &path, HINT_BYTES_MAX, &text, NULL) != SL_OK || !sl_parse_i64(sl_str_trim(sl_buf_view(&text)), &id) || id < 1)
        id = 0;
    sl_buf_release(&path);
    sl_buf_release(&text);
    return id;
}

int sl_snapshot_hint(struct sl_append *t, const char *which, int64_t id, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    char text[32];

    sl_buf_printf(&path, "%ssnapshot/%s", t->meta, which);
    int n = snprintf(text, sizeof text, "%lld", (long long)id);
    int rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_put_hint(t->store, sl_buf_view(&path), (sl_str){text, (size_t)n}, err);
    sl_buf_release(&path);
    return rc;
}

int sl_snapshot_ids(struct sl_append *t, struct sl_ids *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf folder = SL_BUF_INIT;
    int64_t id;
    int rc;

    sl_buf_printf(&folder, "%ssnapshot", t->meta);
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(t->store, sl_buf_view(&folder), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        if (!sl_numbered_name(all.v[i].name, "snapshot-", &id) || id < 1)
            continue;
        int64_t *last = sl_vec_push(out);
        if (!last)
            SL_GOTO_NOMEM(err);
        /* The list comes in the order of names: 10 stands before 9. */
        size_t at = out->n - 1;
        for (; at > 0 && out->v[at - 1] > id; at--)
            out->v[at] = out->v[at - 1];
        out->v[at] = id;
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&folder);
    return rc;
}

void sl_ids_release(struct sl_ids *ids)
{
    sl_free(ids->v);
    *ids = (struct sl_ids){NULL, 0, 0};
}

int sl_snapshot_latest_id(struct sl_append *t, int64_t *out, sl_err *err)
{
    struct sl_ids ids = {NULL, 0, 0};
    int64_t hint = read_hint(t, "LATEST");
    bool there;

    *out = 0;
    /* A hint may lag behind a burst of commits: follow the ids while they are there. */
    for (int64_t id = hint;; id++) {
        SL_TRY(sl_snapshot_exists(t, id, &there, err));
        if (!there)
            break;
        *out = id;
    }
    if (*out)
        return SL_OK;
    int rc = sl_snapshot_ids(t, &ids, err);
    if (rc == SL_OK && ids.n)
        *out = ids.v[ids.n - 1];
    else if (rc == SL_OK && hint)
        rc = sl_err_set(err, SL_ECORRUPT, "the hint \"%s/%ssnapshot/LATEST\" names snapshot %lld, but there is no snapshot", t->path,
                        t->meta, (long long)hint);
    sl_ids_release(&ids);
    return rc;
}

int sl_snapshot_earliest_id(struct sl_append *t, int64_t *out, sl_err *err)
{
    struct sl_ids ids = {NULL, 0, 0};
    int64_t hint = read_hint(t, "EARLIEST");
    bool there;

    *out = 0;
    SL_TRY(sl_snapshot_exists(t, hint, &there, err));
    if (there) {
        *out = hint;
        return SL_OK;
    }
    int rc = sl_snapshot_ids(t, &ids, err);
    if (rc == SL_OK && ids.n)
        *out = ids.v[0];
    sl_ids_release(&ids);
    return rc;
}

int sl_snapshot_latest(struct sl_append *t, struct sl_snapshot *out, sl_err *err)
{
    int64_t id;
    int rc;

    memset(out, 0, sizeof *out);
    /* The one found may be rolled back before it is read; then there is another latest. */
    for (int i = 0; i < PARSE_TRIES; i++) {
        SL_TRY(sl_snapshot_latest_id(t, &id, err));
        if (id == 0)
            return sl_err_set(err, SL_ENOTFOUND, "the table %s has no snapshot yet", t->label);
        rc = sl_snapshot_get(t, id, out, err);
        if (rc != SL_ENOTFOUND)
            return rc;
    }
    return SL_ENOTFOUND;
}

/* ---- selection ---- */

static int by_time(struct sl_append *t, int64_t millis, struct sl_snapshot *out, sl_err *err)
{
    struct sl_ids ids = {NULL, 0, 0};
    int rc = sl_snapshot_ids(t, &ids, err);
    size_t low = 0, high = ids.n; /* all before LOW are old enough, all from HIGH on are too new */

    while (rc == SL_OK && low < high) {
        size_t mid = low + (high - low) / 2;

        rc = sl_snapshot_get(t, ids.v[mid], out, err);
        if (rc == SL_ENOTFOUND) { /* expired meanwhile, so old */
            rc = SL_OK;
            low = mid + 1;
            continue;
        }
        if (rc == SL_OK) {
            if (out->time_millis <= millis)
                low = mid + 1;
            else
                high = mid;
            sl_snapshot_release(out);
        }
    }
    if (rc == SL_OK && low == 0) {
        rc = sl_err_set(err, SL_ENOTFOUND, "the table %s has no snapshot as old as that", t->label);
        if (ids.n)
            sl_err_hint(err, "the oldest snapshot that is kept is %lld", (long long)ids.v[0]);
    }
    if (rc == SL_OK)
        rc = sl_snapshot_get(t, ids.v[low - 1], out, err);
    sl_ids_release(&ids);
    return rc;
}

static int by_id(struct sl_append *t, int64_t id, struct sl_snapshot *out, sl_err *err)
{
    int64_t first, last;
    int rc = sl_snapshot_get(t, id, out, err);

    if (rc == SL_ENOTFOUND && sl_snapshot_earliest_id(t, &first, NULL) == SL_OK && sl_snapshot_latest_id(t, &last, NULL) == SL_OK) {
        if (first && id > 0 && id < first)
            sl_err_set(err, SL_ENOTFOUND, "snapshot %lld of the table %s has expired", (long long)id, t->label);
        if (first)
            sl_err_hint(err, "snapshots %lld to %lld are kept", (long long)first, (long long)last);
    }
    return rc;
}

static int by_version(struct sl_append *t, sl_str text, struct sl_snapshot *out, sl_err *err)
{
    int64_t id;
    int rc = sl_tag_get(t, text, out, err);

    if (rc == SL_ENOTFOUND && sl_parse_i64(text, &id))
        return by_id(t, id, out, err);
    return rc;
}

int sl_snapshot_select(struct sl_append *t, const struct sl_selector *sel, struct sl_snapshot *out, sl_err *err)
{
    memset(out, 0, sizeof *out);
    switch (sel ? sel->kind : SL_SELECT_LATEST) {
    case SL_SELECT_LATEST:
        return sl_snapshot_latest(t, out, err);
    case SL_SELECT_ID:
        return by_id(t, sel->id, out, err);
    case SL_SELECT_TAG:
        return sl_tag_get(t, sel->text, out, err);
    case SL_SELECT_TIME:
        return by_time(t, sel->millis, out, err);
    case SL_SELECT_VERSION:
        return by_version(t, sel->text, out, err);
    }
    return sl_err_set(err, SL_EBUG, "unknown way to select a snapshot");
}

/* ---- tags and branches ---- */

static int check_tag(sl_str name, sl_err *err)
{
    if (name.n == 0 || name.n > 200 || memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n))
        return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" cannot be the name of a tag", SL_STRV(name));
    return SL_OK;
}

static void tag_file(const struct sl_append *t, sl_str name, struct sl_buf *out)
{
    sl_buf_printf(out, "%stag/tag-" SL_STRF, t->meta, SL_STRV(name));
}

int sl_tag_get(struct sl_append *t, sl_str name, struct sl_snapshot *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;

    memset(out, 0, sizeof *out);
    SL_TRY(check_tag(name, err));
    tag_file(t, name, &path);
    int rc = read_snapshot(t, &path, out, err);
    if (rc == SL_ENOTFOUND)
        sl_err_set(err, SL_ENOTFOUND, "the table %s has no tag \"" SL_STRF "\"", t->label, SL_STRV(name));
    if (rc != SL_OK)
        sl_snapshot_release(out);
    sl_buf_release(&path);
    return rc;
}

int sl_tag_put(struct sl_append *t, sl_str name, const struct sl_snapshot *snapshot, bool replace, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    int rc;

    SL_GO(check_tag(name, err));
    tag_file(t, name, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_snapshot_encode(snapshot, &json, err));
    rc = replace ? sl_store_put(t->store, sl_buf_view(&path), sl_buf_view(&json), err)
                 : sl_store_put_new(t->store, sl_buf_view(&path), sl_buf_view(&json), err);
    if (rc == SL_EEXISTS)
        sl_err_set(err, SL_EEXISTS, "the table %s has a tag \"" SL_STRF "\" already", t->label, SL_STRV(name));
done:
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

int sl_tag_remove(struct sl_append *t, sl_str name, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;

    SL_TRY(check_tag(name, err));
    tag_file(t, name, &path);
    int rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_remove(t->store, sl_buf_view(&path), err);
    if (rc == SL_ENOTFOUND)
        sl_err_set(err, SL_ENOTFOUND, "the table %s has no tag \"" SL_STRF "\"", t->label, SL_STRV(name));
    sl_buf_release(&path);
    return rc;
}

/* Names of FOLDER that start with PREFIX, without it. */
static int names_below(struct sl_append *t, const char *folder, const char *prefix, struct sl_names *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    int rc = sl_store_list(t->store, sl_str_c(folder), false, &all, err);

    for (size_t i = 0; i < all.n && rc == SL_OK; i++) {
        sl_str name = sl_str_c(all.v[i].name);

        if (sl_str_starts(name, prefix) && name.n > strlen(prefix))
            rc = sl_names_add(out, sl_str_sub(name, strlen(prefix), name.n), err);
    }
    sl_entries_release(&all);
    return rc;
}

int sl_tag_names(struct sl_append *t, struct sl_names *out, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT;

    sl_buf_printf(&folder, "%stag", t->meta);
    int rc = sl_buf_ok(&folder, err);
    if (rc == SL_OK)
        rc = names_below(t, folder.p, "tag-", out, err);
    sl_buf_release(&folder);
    return rc;
}

int sl_branch_names(struct sl_append *t, struct sl_names *out, sl_err *err)
{
    return names_below(t, "branch", "branch-", out, err);
}
