#include "table/append/expire.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sys.h"
#include "table/append/reach.h"
#include "table/append/tag.h"
#include "table/env.h"
#include "table/log/clean.h"

int64_t sl_expire_earliest(const struct sl_expire_rule *rule, const int64_t *ids, const int64_t *millis, size_t n)
{
    if (n == 0)
        return 0;
    int64_t earliest = ids[0], latest = ids[n - 1], end = latest - rule->retain_least + 1;
    int64_t must_go = latest - rule->retain_most + 1; /* below it, whatever their age */
    size_t i = 0;

    if (rule->limit >= 0 && earliest + rule->limit < end)
        end = earliest + rule->limit;
    if (rule->held < end)
        end = rule->held;
    /* A snapshot goes only if its successor is old enough too: until then it was the current one. */
    while (i + 1 < n && ids[i] < end && (ids[i] < must_go || millis[i + 1] < rule->now - rule->older_than))
        i++;
    return ids[i];
}

struct expiry {
    struct sl_append *t;
    const struct sl_expire_options *options;
    struct sl_expire_report *report;
    struct sl_expire_rule rule;
    struct sl_roots roots;
    int64_t earliest;           /* to be */
};

static int find_rule(struct expiry *x, sl_err *err)
{
    const struct sl_expire_options *o = x->options;
    const struct sl_schema *schema = x->t->schema;
    uint64_t age = 0;

    x->rule.now = sl_now_millis();
    x->rule.held = INT64_MAX;
    SL_TRY(sl_schema_option_i64(schema, "snapshot.num-retained.min", 10, &x->rule.retain_least, err));
    SL_TRY(sl_schema_option_i64(schema, "snapshot.num-retained.max", INT32_MAX, &x->rule.retain_most, err));
    SL_TRY(sl_schema_option_i64(schema, "snapshot.expire.limit", 50, &x->rule.limit, err));
    SL_TRY(sl_schema_option_millis(schema, "snapshot.time-retained", 3600000, &age, err));
    if (o->retain_last > 0)
        x->rule.retain_least = o->retain_last;
    if (o->retain_most > 0)
        x->rule.retain_most = o->retain_most;
    if (o->limit != 0)
        x->rule.limit = o->limit;
    x->rule.older_than = o->has_older_than ? o->older_than : age > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)age;
    if (x->rule.retain_least < 1)
        x->rule.retain_least = 1;
    if (x->rule.retain_most < x->rule.retain_least)
        x->rule.retain_most = x->rule.retain_least;
    return SL_OK;
}

/* ---- consumers: readers that ask to keep what they have not read yet ---- */

/* How long without a sign of life a consumer may be, -1 = for ever. Our own renew theirs often. */
static int consumer_age(const struct expiry *x, const char *name, int64_t *out, sl_err *err)
{
    uint64_t age = 0;

    if (sl_str_starts(sl_str_c(name), SL_READER_PREFIX)) {
        *out = SL_READER_STALE_MILLIS;
        return SL_OK;
    }
    SL_TRY(sl_schema_option_millis(x->t->schema, "consumer.expiration-time", 0, &age, err));
    *out = x->options->consumer_age > 0 ? x->options->consumer_age : age > 0 && age < INT64_MAX ? (int64_t)age : -1;
    return SL_OK;
}

static int look_at_consumer(struct expiry *x, sl_str folder, const struct sl_entry *e, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    json_t *json = NULL;
    int64_t age, next = 0;
    int rc;

    SL_GO(consumer_age(x, e->name, &age, err));
    if (age >= 0 && e->mtime_millis < x->rule.now - age) {
        x->report->dead_consumers++;
        goto done;
    }
    sl_buf_printf(&path, SL_STRF "/%s", SL_STRV(folder), e->name);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_get(x->t->store, sl_buf_view(&path), 1 << 20, &bytes, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    SL_GO(sl_json_parse(sl_buf_view(&bytes), &json, err));
    SL_GO(sl_json_i64_req(json, "nextSnapshot", &next, err));
    if (next < x->rule.held) {
        x->rule.held = next;
        snprintf(x->report->consumer, sizeof x->report->consumer, "%s", e->name + strlen("consumer-"));
    }
done:
    if (rc != SL_OK && path.n) {
        sl_err_ctx(err, "\"%s/%s\"", x->t->path, path.p);
        sl_err_hint(err, "it says from which snapshot on a reader wants to read; remove the file if the reader is gone");
    }
    json_decref(json);
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

static int find_held(struct expiry *x, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT;
    struct sl_entries found = {0};
    int rc;

    sl_branch_folder(&folder, x->t->branch ? x->t->branch : "", "consumer");
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(x->t->store, sl_buf_view(&folder), true, &found, err));
    for (size_t i = 0; i < found.n; i++)
        if (sl_str_starts(sl_str_c(found.v[i].name), "consumer-"))
            SL_GO(look_at_consumer(x, sl_buf_view(&folder), &found.v[i], err));
done:
    sl_entries_release(&found);
    sl_buf_release(&folder);
    return rc;
}

/* ---- what goes and what stays ---- */

static bool is_own(const struct expiry *x, const struct sl_root *r)
{
    return !r->is_tag && strcmp(r->branch, x->t->branch ? x->t->branch : "") == 0;
}

static bool goes(const struct expiry *x, const struct sl_root *r)
{
    return is_own(x, r) && r->id < x->earliest;
}

static int find_earliest(struct expiry *x, sl_err *err)
{
    SL_VEC(int64_t) ids = {0}, millis = {0};
    int rc = SL_OK;

    for (size_t i = 0; i < x->roots.n; i++) {
        const struct sl_root *r = &x->roots.v[i];

        if (!is_own(x, r))
            continue;
        int64_t *id = sl_vec_push(&ids), *ms = sl_vec_push(&millis);
        if (!id || !ms)
            SL_GOTO_NOMEM(err);
        *id = r->id;
        *ms = r->snapshot.time_millis;
    }
    if (ids.n == 0)
        goto done;
    x->report->earliest_before = ids.v[0];
    x->report->latest = ids.v[ids.n - 1];
    x->earliest = sl_expire_earliest(&x->rule, ids.v, millis.v, ids.n);
    x->report->earliest_now = x->earliest;
    struct sl_expire_rule free_rule = x->rule;
    free_rule.held = INT64_MAX;
    if (sl_expire_earliest(&free_rule, ids.v, millis.v, ids.n) > x->earliest)
        x->report->held_by_consumer = x->rule.held;
    else
        x->report->consumer[0] = '\0';
done:
    sl_free(ids.v);
    sl_free(millis.v);
    return rc;
}

static void progress(const struct expiry *x, const char *doing, uint64_t done, uint64_t total)
{
    if (x->options->common.progress)
        x->options->common.progress(x->options->common.user, doing, done, total);
}

/* The new earliest counts for what its delta removed, too: those files were the last ones of its predecessor. */
static int gather(struct expiry *x, struct sl_reach *reach, sl_err *err)
{
    for (size_t i = 0; i < x->roots.n; i++) {
        const struct sl_root *r = &x->roots.v[i];

        progress(x, "reading snapshots", i, x->roots.n * 2);
        if (goes(x, r))
            SL_TRY(sl_reach_gone(reach, &r->snapshot, SL_REACH_DELETED | SL_REACH_METADATA, true, err));
        else if (is_own(x, r) && r->id == x->earliest)
            SL_TRY(sl_reach_gone(reach, &r->snapshot, SL_REACH_DELETED, false, err));
    }
    for (size_t i = 0; i < x->roots.n; i++) {
        progress(x, "reading snapshots", x->roots.n + i, x->roots.n * 2);
        if (!goes(x, &x->roots.v[i]))
            SL_TRY(sl_reach_keep(reach, &x->roots.v[i].snapshot, err));
    }
    return SL_OK;
}

/* What was published or tagged while this call was reading stays, too. */
static int keep_newcomers(struct expiry *x, struct sl_reach *reach, sl_err *err)
{
    struct sl_roots now = SL_ROOTS_INIT;
    int rc;

    SL_GO(sl_roots_read(x->t, NULL, NULL, &now, err));
    for (size_t i = 0; i < now.n; i++) {
        const struct sl_root *r = &now.v[i];
        bool known = false;

        if (goes(x, r))
            continue;
        for (size_t j = 0; j < x->roots.n && !known; j++)
            known = strcmp(x->roots.v[j].path, r->path) == 0 && x->roots.v[j].id == r->id;
        if (!known)
            SL_GO(sl_reach_keep(reach, &r->snapshot, err));
    }
done:
    sl_roots_release(&now);
    return rc;
}

static int remove_snapshots(struct expiry *x, sl_err *err)
{
    const struct sl_upkeep *common = &x->options->common;

    for (size_t i = 0; i < x->roots.n; i++) {
        const struct sl_root *r = &x->roots.v[i];
        int rc = SL_OK;

        if (!goes(x, r))
            continue;
        if (!common->dry_run)
            rc = sl_store_remove(x->t->store, sl_str_c(r->path), err);
        if (rc == SL_ENOTFOUND)
            sl_err_clear(err);
        else
            SL_TRY(rc);
        x->report->snapshots++;
        SL_TRY(SL_FAILPOINT("expire.snapshot-removed", err));
    }
    return SL_OK;
}

static int run(struct expiry *x, sl_err *err)
{
    struct sl_reach_removed removed = {0};
    struct sl_reach *reach = NULL;
    int rc;

    SL_GO(sl_roots_read(x->t, NULL, NULL, &x->roots, err));
    SL_GO(find_rule(x, err));
    SL_GO(find_held(x, err));
    SL_GO(find_earliest(x, err));
    if (x->report->latest == 0)
        goto done;
    if (x->earliest > x->report->earliest_before) {
        SL_GO(sl_reach_new(x->t, &reach, err));
        SL_GO(gather(x, reach, err));
        SL_GO(keep_newcomers(x, reach, err));
    }
    if (!x->options->common.dry_run)
        SL_GO(sl_snapshot_hint(x->t, "EARLIEST", x->earliest, err));
    if (!reach)
        goto done;
    rc = sl_reach_remove(reach, &x->options->common, &removed, err);
    x->report->data_files += removed.data_files;
    x->report->manifests += removed.manifests;
    x->report->other_files += removed.other_files;
    x->report->bytes += removed.bytes;
    SL_GO(rc);
    SL_GO(remove_snapshots(x, err));
done:
    sl_reach_free(reach);
    return rc;
}

int sl_append_expire(struct sl_append *t, const struct sl_expire_options *options, struct sl_expire_report *report,
                     sl_err *err)
{
    static const struct sl_expire_options none = SL_EXPIRE_INIT;
    struct sl_expire_report unwanted;
    struct expiry x = {.t = t, .options = options ? options : &none, .report = report ? report : &unwanted};
    struct sl_lock *lock = NULL;
    int rc;

    *x.report = (struct sl_expire_report){0};
    SL_GO(sl_upkeep_lock(t, &lock, err));
    SL_GO(sl_tags_expire(t, &x.options->common, x.report, err));
    SL_GO(run(&x, err));
done:
    sl_roots_release(&x.roots);
    sl_store_unlock(lock);
    return rc;
}

int sl_table_expire(struct sl_env *env, sl_str table, const struct sl_expire_options *options,
                    struct sl_expire_report *report, sl_err *err)
{
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    int rc;

    if (report)
        *report = (struct sl_expire_report){0};
    SL_GO(sl_env_log(env, table, &log, err));
    if (log) {
        rc = sl_log_expire(log, options, report, err);
        goto done;
    }
    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_append_expire(t, options, report, err));
done:
    sl_append_close(t);
    sl_log_close(log);
    return rc;
}
