#include "table/append/tag.h"

#include <string.h>

#include "base/sys.h"
#include "table/append/snapshots.h"
#include "table/env.h"

int sl_tag_name_check(sl_str name, sl_err *err)
{
    bool digits = true;

    if (name.n == 0 || name.n > 200 || name.p[0] == '.' || memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n) ||
        !sl_utf8_valid(name, NULL) || sl_str_trim(name).n != name.n)
        return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" is no name for a tag: 1 to 200 bytes of UTF-8 without '/', not "
                          "starting with '.', no spaces at its ends", SL_STRV(name));
    for (size_t i = 0; i < name.n; i++)
        digits = digits && name.p[i] >= '0' && name.p[i] <= '9';
    if (digits)
        return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" is no name for a tag: digits alone would read as a snapshot's id",
                          SL_STRV(name));
    return SL_OK;
}

int sl_append_tag_create(struct sl_append *t, sl_str name, int64_t snapshot, int64_t retained_millis, sl_err *err)
{
    struct sl_snapshot s = {0};
    struct sl_lock *lock = NULL;
    bool there;
    int rc;

    SL_GO(sl_tag_name_check(name, err));
    SL_GO(sl_upkeep_lock(t, &lock, err));
    SL_GO(snapshot > 0 ? sl_snapshot_get(t, snapshot, &s, err) : sl_snapshot_latest(t, &s, err));
    s.tag_create_millis = -1;
    s.tag_retained_seconds = -1;
    if (retained_millis > 0) {
        s.tag_create_millis = sl_now_local_millis();
        s.tag_retained_seconds = (double)retained_millis / 1000;
    }
    SL_GO(sl_tag_put(t, name, &s, false, err));
    /* Another engine's expiry does not know our lock: if it took the snapshot meanwhile, its files may be gone. */
    rc = sl_snapshot_exists(t, s.id, &there, err);
    if (rc == SL_OK && !there)
        rc = sl_err_set(err, SL_ENOTFOUND, "snapshot %lld expired while it was being tagged", (long long)s.id);
    if (rc != SL_OK) {
        sl_err quiet = SL_ERR_INIT;
        if (sl_tag_remove(t, name, &quiet) != SL_OK)
            sl_err_hint(err, "remove the tag \"" SL_STRF "\" by hand: %.200s", SL_STRV(name), quiet.text);
    }
done:
    sl_store_unlock(lock);
    sl_snapshot_release(&s);
    return rc;
}

static bool same_branch(const struct sl_append *t, const struct sl_root *r)
{
    return strcmp(r->branch, t->branch ? t->branch : "") == 0;
}

/* The files go only if the snapshot itself has expired; else it holds them, and its expiry will see to them. */
static int gather(struct sl_append *t, const struct sl_roots *roots, sl_str name, struct sl_reach *reach, bool *found,
                  sl_err *err)
{
    const struct sl_root *tag = NULL;

    *found = false;
    for (size_t i = 0; i < roots->n; i++)
        if (roots->v[i].is_tag && same_branch(t, &roots->v[i]) && sl_str_eqc(name, roots->v[i].name))
            tag = &roots->v[i];
    if (!tag)
        return sl_err_set(err, SL_ENOTFOUND, "%s has no tag \"" SL_STRF "\"", t->label, SL_STRV(name));
    for (size_t i = 0; i < roots->n; i++)
        if (!roots->v[i].is_tag && same_branch(t, &roots->v[i]) && roots->v[i].id <= tag->id)
            return SL_OK;
    *found = true;
    SL_TRY(sl_reach_gone(reach, &tag->snapshot, SL_REACH_ALL | SL_REACH_METADATA, true, err));
    for (size_t i = 0; i < roots->n; i++)
        if (&roots->v[i] != tag)
            SL_TRY(sl_reach_keep(reach, &roots->v[i].snapshot, err));
    return SL_OK;
}

int sl_tag_drop(struct sl_append *t, sl_str name, const struct sl_upkeep *common, struct sl_reach_removed *out, sl_err *err)
{
    struct sl_reach_removed unwanted = {0};
    struct sl_roots roots = SL_ROOTS_INIT;
    struct sl_reach *reach = NULL;
    bool files_too;
    int rc;

    SL_GO(sl_roots_read(t, NULL, NULL, &roots, err));
    SL_GO(sl_reach_new(t, &reach, err));
    SL_GO(gather(t, &roots, name, reach, &files_too, err));
    if (!common->dry_run)
        SL_GO(sl_tag_remove(t, name, err));
    SL_GO(SL_FAILPOINT("tag.removed", err));
    if (files_too)
        SL_GO(sl_reach_remove(reach, common, out ? out : &unwanted, err));
done:
    sl_reach_free(reach);
    sl_roots_release(&roots);
    return rc;
}

static bool is_over(const struct sl_snapshot *s)
{
    return s->tag_retained_seconds >= 0 && s->tag_create_millis >= 0 &&
           (double)s->tag_create_millis + s->tag_retained_seconds * 1000 < (double)sl_now_local_millis();
}

int sl_tags_expire(struct sl_append *t, const struct sl_upkeep *common, struct sl_expire_report *report, sl_err *err)
{
    struct sl_reach_removed removed = {0};
    struct sl_names names = {0};
    struct sl_snapshot s = {0};
    int rc;

    SL_GO(sl_tag_names(t, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        rc = sl_tag_get(t, sl_str_c(names.v[i]), &s, err);
        if (rc == SL_ENOTFOUND) {
            sl_err_clear(err);
            rc = SL_OK;
            continue;
        }
        SL_GO(rc);
        bool over = is_over(&s);
        sl_snapshot_release(&s);
        if (!over)
            continue;
        SL_GO(sl_tag_drop(t, sl_str_c(names.v[i]), common, &removed, err));
        report->tags++;
    }
done:
    report->data_files += removed.data_files;
    report->manifests += removed.manifests;
    report->other_files += removed.other_files;
    report->bytes += removed.bytes;
    sl_snapshot_release(&s);
    sl_names_release(&names);
    return rc;
}

/* ---- public ---- */

int sl_table_tag_create(struct sl_env *env, sl_str table, sl_str name, int64_t snapshot, int64_t retained_millis, sl_err *err)
{
    struct sl_append *t = NULL;
    int rc;

    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_append_tag_create(t, name, snapshot, retained_millis, err));
done:
    sl_append_close(t);
    return rc;
}

int sl_table_tag_delete(struct sl_env *env, sl_str table, sl_str name, sl_err *err)
{
    const struct sl_upkeep common = {0};
    struct sl_append *t = NULL;
    struct sl_lock *lock = NULL;
    int rc;

    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_upkeep_lock(t, &lock, err));
    SL_GO(sl_tag_drop(t, name, &common, NULL, err));
done:
    sl_store_unlock(lock);
    sl_append_close(t);
    return rc;
}

int sl_table_tag_list(struct sl_env *env, sl_str table, void (*fn)(void *user, const struct sl_tag *tag), void *user,
                      sl_err *err)
{
    struct sl_append *t = NULL;
    struct sl_names names = {0};
    struct sl_snapshot s = {0};
    int rc;

    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_tag_names(t, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        SL_GO(sl_tag_get(t, sl_str_c(names.v[i]), &s, err));
        struct sl_tag tag = {names.v[i], s.id, s.total_record_count, s.time_millis, s.tag_create_millis,
                             s.tag_retained_seconds < 0 ? -1 : (int64_t)(s.tag_retained_seconds * 1000)};
        fn(user, &tag);
        sl_snapshot_release(&s);
    }
done:
    sl_snapshot_release(&s);
    sl_names_release(&names);
    sl_append_close(t);
    return rc;
}
