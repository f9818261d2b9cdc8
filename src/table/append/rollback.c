#include "table/append/rollback.h"

#include <string.h>

#include "base/sys.h"
#include "table/append/commit.h"
#include "table/append/position.h"
#include "table/append/tag.h"
#include "table/env.h"
#include "table/log/rollback.h"

struct rollback {
    struct sl_append *t;
    const struct sl_rollback_options *options;
    struct sl_rollback_report *report;
    struct sl_snapshot target;
    bool target_expired;        /* only its tag is left of it */
    struct sl_roots roots;
};

static bool is_own(const struct rollback *b, const struct sl_root *r)
{
    return strcmp(r->branch, b->t->branch ? b->t->branch : "") == 0;
}

static bool goes(const struct rollback *b, const struct sl_root *r)
{
    return is_own(b, r) && !r->is_tag && r->id > b->target.id;
}

/* Tags of the snapshots that go would name ids that come again with other content. */
static bool tag_goes(const struct rollback *b, const struct sl_root *r)
{
    return is_own(b, r) && r->is_tag && r->id > b->target.id;
}

static const char *identity_of(const struct sl_root *r)
{
    size_t n = strlen(SL_POSITION_TAG_PREFIX);

    return strncmp(r->name, SL_POSITION_TAG_PREFIX, n) == 0 ? r->name + n : NULL;
}

static int find_target(struct rollback *b, sl_err *err)
{
    const struct sl_rollback_options *o = b->options;
    bool there;

    if ((o->snapshot > 0) == (o->tag.n > 0))
        return sl_err_set(err, SL_EUSAGE, "a rollback wants either a snapshot's id or a tag");
    if (o->tag.n == 0)
        return sl_snapshot_get(b->t, o->snapshot, &b->target, err);
    SL_TRY(sl_tag_get(b->t, o->tag, &b->target, err));
    SL_TRY(sl_snapshot_exists(b->t, b->target.id, &there, err));
    b->target_expired = !there;
    return SL_OK;
}

static int look(struct rollback *b, sl_err *err)
{
    bool same = false;

    SL_TRY(sl_roots_read(b->t, NULL, NULL, &b->roots, err));
    for (size_t i = 0; i < b->roots.n; i++) {
        const struct sl_root *r = &b->roots.v[i];

        if (is_own(b, r) && !r->is_tag && r->id >= b->report->latest_before) {
            b->report->latest_before = r->id;
            b->report->rows_before = r->snapshot.total_record_count;
        }
        if (is_own(b, r) && !r->is_tag && r->id == b->target.id)
            same = strcmp(r->snapshot.delta_manifest_list, b->target.delta_manifest_list) == 0;
        if (tag_goes(b, r) && !identity_of(r) && !b->options->drop_tags) {
            sl_err_set(err, SL_ECONFLICT, "the tag \"%s\" names snapshot %lld, which the rollback would remove", r->name,
                       (long long)r->id);
            sl_err_hint(err, "delete the tag first, or allow it with --drop-tags");
            return SL_ECONFLICT;
        }
    }
    if (!b->target_expired && !same)
        return sl_err_set(err, SL_ECONFLICT, "snapshot %lld is another one than the tag's: its id was used again after a "
                          "rollback", (long long)b->target.id);
    return SL_OK;
}

/* A snapshot before the earliest one is left over from an expiry that ended early: what is there of it stays, the rest is gone. */
static int keep(struct rollback *b, struct sl_reach *reach, const struct sl_root *r, int64_t earliest, sl_err *err)
{
    int rc = sl_reach_keep(reach, &r->snapshot, err);

    if (rc != SL_ENOTFOUND || r->is_tag || !is_own(b, r) || r->id >= earliest)
        return rc;
    sl_err_clear(err);
    return SL_OK;
}

static int gather(struct rollback *b, struct sl_reach *reach, sl_err *err)
{
    int64_t earliest = 0;

    SL_TRY(sl_snapshot_earliest_id(b->t, &earliest, err));
    for (size_t i = 0; i < b->roots.n; i++)
        if (goes(b, &b->roots.v[i]) || tag_goes(b, &b->roots.v[i]))
            SL_TRY(sl_reach_gone(reach, &b->roots.v[i].snapshot, SL_REACH_ADDED | SL_REACH_METADATA, true, err));
    for (size_t i = 0; i < b->roots.n; i++)
        if (!goes(b, &b->roots.v[i]) && !tag_goes(b, &b->roots.v[i]))
            SL_TRY(keep(b, reach, &b->roots.v[i], earliest, err));
    return sl_reach_keep(reach, &b->target, err);
}

/* A tag's snapshot that has expired comes back as a snapshot. */
static int revive_target(struct rollback *b, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    struct sl_snapshot plain = b->target;
    int rc;

    plain.tag_create_millis = -1;
    plain.tag_retained_seconds = -1;
    sl_snapshot_file(b->t, plain.id, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_snapshot_encode(&plain, &json, err));
    SL_GO(sl_store_put_new(b->t->store, sl_buf_view(&path), sl_buf_view(&json), err));
    SL_GO(sl_snapshot_hint(b->t, "EARLIEST", plain.id, err));
done:
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

/* Newest first, so that what is left is always an older state of the table, whole. */
static int remove_snapshots(struct rollback *b, sl_err *err)
{
    for (size_t i = b->roots.n; i-- > 0;) {
        const struct sl_root *r = &b->roots.v[i];

        if (!goes(b, r))
            continue;
        int rc = sl_store_remove(b->t->store, sl_str_c(r->path), err);
        if (rc == SL_ENOTFOUND)
            sl_err_clear(err);
        else
            SL_TRY(rc);
        b->report->snapshots++;
        SL_TRY(SL_FAILPOINT("rollback.snapshot-removed", err));
    }
    return SL_OK;
}

static int refuse_newcomers(struct rollback *b, sl_err *err)
{
    struct sl_ids ids = {0};
    int rc;

    SL_GO(sl_snapshot_ids(b->t, &ids, err));
    if (ids.n && ids.v[ids.n - 1] > b->target.id) {
        rc = sl_err_set(err, SL_ECONFLICT, "snapshot %lld was published while the table was being rolled back",
                        (long long)ids.v[ids.n - 1]);
        sl_err_hint(err, "another engine is writing to the table: stop it, look with \"sluice inspect\", and roll back again");
    }
done:
    sl_ids_release(&ids);
    return rc;
}

/* The position that a tag of a removed snapshot tells is past the rows that are left: a stream that believed it would
 * skip rows. What the target knows of the identity counts now. */
static int remove_tags(struct rollback *b, sl_err *err)
{
    for (size_t i = 0; i < b->roots.n; i++) {
        const struct sl_root *r = &b->roots.v[i];
        const char *identity = identity_of(r);
        char key[160];

        if (!tag_goes(b, r))
            continue;
        int rc = sl_tag_remove(b->t, sl_str_c(r->name), err);
        if (rc == SL_ENOTFOUND)
            sl_err_clear(err);
        else
            SL_TRY(rc);
        b->report->tags++;
        if (!identity)
            continue;
        snprintf(key, sizeof key, SL_POSITION_PREFIX "%s", identity);
        if (sl_snapshot_property(&b->target, key))
            sl_position_mark(b->t, sl_str_c(identity), &b->target);
    }
    return SL_OK;
}

static void count(struct rollback *b)
{
    for (size_t i = 0; i < b->roots.n; i++) {
        b->report->snapshots += goes(b, &b->roots.v[i]);
        b->report->tags += tag_goes(b, &b->roots.v[i]);
    }
}

static int run(struct rollback *b, sl_err *err)
{
    struct sl_reach_removed removed = {0};
    struct sl_reach *reach = NULL;
    int rc;

    SL_GO(find_target(b, err));
    SL_GO(look(b, err));
    b->report->latest_now = b->target.id;
    b->report->rows_now = b->target.total_record_count;
    SL_GO(sl_reach_new(b->t, &reach, err));
    SL_GO(gather(b, reach, err));
    if (b->options->common.dry_run) {
        count(b);
    } else {
        if (b->target_expired)
            SL_GO(revive_target(b, err));
        SL_GO(sl_snapshot_hint(b->t, "LATEST", b->target.id, err));
        SL_GO(remove_tags(b, err));
        SL_GO(remove_snapshots(b, err));
        SL_GO(refuse_newcomers(b, err));
    }
    rc = sl_reach_remove(reach, &b->options->common, &removed, err);
    b->report->data_files = removed.data_files;
    b->report->other_files = removed.manifests + removed.other_files;
    b->report->bytes = removed.bytes;
done:
    sl_reach_free(reach);
    return rc;
}

int sl_append_rollback(struct sl_append *t, const struct sl_rollback_options *options, struct sl_rollback_report *report,
                       sl_err *err)
{
    struct sl_rollback_report unwanted;
    struct rollback b = {.t = t, .options = options, .report = report ? report : &unwanted};
    struct sl_lock *upkeep = NULL, *commit = NULL;
    int rc;

    *b.report = (struct sl_rollback_report){0};
    SL_GO(sl_upkeep_lock(t, &upkeep, err));
    SL_GO(sl_commit_lock(t, -1, &commit, err));
    SL_GO(run(&b, err));
done:
    sl_store_unlock(commit);
    sl_store_unlock(upkeep);
    sl_roots_release(&b.roots);
    sl_snapshot_release(&b.target);
    return rc;
}

int sl_table_rollback(struct sl_env *env, sl_str table, const struct sl_rollback_options *options,
                      struct sl_rollback_report *report, sl_err *err)
{
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    int rc;

    if (report)
        *report = (struct sl_rollback_report){0};
    SL_GO(sl_env_log(env, table, &log, err));
    if (log) {
        rc = sl_log_rollback(log, options, report, err);
        goto done;
    }
    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_append_rollback(t, options, report, err));
done:
    sl_append_close(t);
    sl_log_close(log);
    return rc;
}
