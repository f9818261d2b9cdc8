/* position.c - how far an identity has come. */
#include "table/append/position.h"

#include <string.h>

#include "table/append/append_priv.h"

int sl_identity_check(sl_str identity, sl_err *err)
{
    bool good = identity.n > 0 && identity.n <= 100 && identity.p[0] != '.';

    for (size_t i = 0; i < identity.n && good; i++) {
        char ch = identity.p[i];

        good = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '_' || ch == '.';
    }
    if (good)
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" cannot be an identity: it takes 1 to 100 letters, digits, '-', '_' and '.', not "
                                      "starting with '.'", SL_STRV(identity));
}

/* The mark that an identity was seen outlives snapshots and tags that others remove. */
static void mark_file(sl_str identity, struct sl_buf *out)
{
    sl_buf_printf(out, SL_SIDE_DIR "/identity/" SL_STRF, SL_STRV(identity));
}

static bool take(const struct sl_snapshot *s, const char *key, struct sl_buf *out, int64_t *snapshot_id)
{
    const char *value = sl_snapshot_property(s, key);

    if (!value)
        return false;
    sl_buf_addc(out, value);
    if (snapshot_id)
        *snapshot_id = s->id;
    return true;
}

/* From the newest snapshot back: engines in between may have dropped the property. */
static int find_in_snapshots(struct sl_append *t, const char *key, struct sl_buf *out, bool *found, int64_t *latest,
                             int64_t *snapshot_id, sl_err *err)
{
    struct sl_snapshot s;
    int64_t id;

    SL_TRY(sl_snapshot_latest_id(t, &id, err));
    *latest = id;
    for (; id > 0 && !*found; id--) {
        int rc = sl_snapshot_get(t, id, &s, err);

        if (rc == SL_ENOTFOUND) {
            sl_err_clear(err);
            return SL_OK;
        }
        SL_TRY(rc);
        *found = take(&s, key, out, snapshot_id);
        sl_snapshot_release(&s);
        SL_TRY(sl_cancel_check(err));
    }
    return SL_OK;
}

static int lost(struct sl_append *t, sl_str identity, sl_err *err)
{
    sl_err_set(err, SL_ENOTFOUND, "the position of the identity \"" SL_STRF "\" in the table %s is lost: it was committed once, but its "
                                  "snapshots and its tag are gone", SL_STRV(identity), t->label);
    sl_err_hint(err, "say with --from where to go on");
    return SL_ENOTFOUND;
}

int sl_position_find(struct sl_append *t, sl_str identity, struct sl_buf *out, bool *found, int64_t *snapshot_id, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT, tag = SL_BUF_INIT, mark = SL_BUF_INIT;
    struct sl_snapshot s;
    bool has_tag = false, seen;
    int64_t latest;
    int rc;

    *found = false;
    memset(&s, 0, sizeof s);
    SL_GO(sl_identity_check(identity, err));
    sl_buf_printf(&key, SL_POSITION_PREFIX SL_STRF, SL_STRV(identity));
    sl_buf_printf(&tag, SL_POSITION_TAG_PREFIX SL_STRF, SL_STRV(identity));
    mark_file(identity, &mark);
    SL_GO(sl_buf_ok(&key, err));
    SL_GO(sl_buf_ok(&tag, err));
    SL_GO(sl_buf_ok(&mark, err));
    SL_GO(find_in_snapshots(t, key.p, out, found, &latest, snapshot_id, err));
    if (!*found) {
        rc = sl_tag_get(t, sl_buf_view(&tag), &s, err);
        has_tag = rc == SL_OK;
        if (rc != SL_OK && rc != SL_ENOTFOUND)
            goto done;
        sl_err_clear(err);
        rc = SL_OK;
        /* A tag of a snapshot that was rolled back speaks of rows that are gone. */
        if (has_tag && s.id <= latest)
            *found = take(&s, key.p, out, snapshot_id);
    }
    if (*found) {
        rc = sl_buf_ok(out, err);
        goto done;
    }
    SL_GO(sl_store_exists(t->store, sl_buf_view(&mark), &seen, err));
    if (has_tag || seen)
        rc = lost(t, identity, err);
done:
    sl_snapshot_release(&s);
    sl_buf_release(&key);
    sl_buf_release(&tag);
    sl_buf_release(&mark);
    return rc;
}

void sl_position_mark(struct sl_append *t, sl_str identity, const struct sl_snapshot *snapshot)
{
    struct sl_buf tag = SL_BUF_INIT, mark = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;
    bool seen;
    int rc;

    mark_file(identity, &mark);
    sl_buf_printf(&tag, SL_POSITION_TAG_PREFIX SL_STRF, SL_STRV(identity));
    SL_GO(sl_buf_ok(&tag, &err));
    SL_GO(sl_buf_ok(&mark, &err));
    SL_GO(sl_store_exists(t->store, sl_buf_view(&mark), &seen, &err));
    if (!seen)
        SL_GO(sl_store_put(t->store, sl_buf_view(&mark), SL_LIT("seen\n"), &err));
    SL_GO(sl_tag_put(t, sl_buf_view(&tag), snapshot, true, &err));
done:
    if (rc != SL_OK)
        sl_log(SL_LOG_WARN, "commit", "%s: the position of \"" SL_STRF "\" is committed but not tagged: %s", t->label, SL_STRV(identity),
               err.text);
    sl_buf_release(&tag);
    sl_buf_release(&mark);
}

int sl_identity_lock(struct sl_append *t, sl_str identity, struct sl_lock **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    *out = NULL;
    SL_GO(sl_identity_check(identity, err));
    sl_buf_printf(&path, SL_SIDE_DIR "/identity/" SL_STRF ".lock", SL_STRV(identity));
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_lock(t->store, sl_buf_view(&path), 0, out, err);
    if (rc == SL_EBUSY)
        sl_err_set(err, SL_EBUSY, "another process loads into the table %s as \"" SL_STRF "\"", t->label, SL_STRV(identity));
done:
    sl_buf_release(&path);
    return rc;
}
