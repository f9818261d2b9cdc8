/* rollback_to.c - takes commits of a log table back, newest first, until an older one is the latest. */
#include <string.h>

#include "base/sys.h"
#include "table/log/rollback.h"

enum { FORCE_MILLIS = 10000 };

static bool is_after(const struct sl_instant *i, int64_t target)
{
    return i->time > target && i->state == SL_HUDI_COMPLETED && sl_instant_writes(i);
}

static int refuse(const struct sl_timeline *tl, const struct sl_instant *i, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_ECONFLICT, "the table %s cannot be rolled back across the %s %lld: %s", tl->table->label, sl_hudi_action_name(i->action),
                      (long long)i->time, why);
}

/* What was cleaned, saved or planned since stands on what would go. */
static int check(const struct sl_timeline *tl, int64_t target, sl_err *err)
{
    const struct sl_instant *to = sl_timeline_find(tl, target);

    if (!to || to->state != SL_HUDI_COMPLETED) {
        sl_err_set(err, SL_ENOTFOUND, "the table %s has no commit %lld", tl->table->label, (long long)target);
        sl_err_hint(err, "SHOW SNAPSHOTS lists them");
        return SL_ENOTFOUND;
    }
    for (size_t i = 0; i < tl->n; i++) {
        const struct sl_instant *x = &tl->v[i];

        if (x->time <= target)
            continue;
        if (x->action == SL_HUDI_SAVEPOINT)
            return refuse(tl, x, "it keeps a commit that would go", err);
        if (x->action == SL_HUDI_CLEAN)
            return refuse(tl, x, "files of the older commits may be gone", err);
        if (x->state != SL_HUDI_COMPLETED && sl_instant_writes(x))
            return refuse(tl, x, "it is pending", err);
        if (x->action == SL_HUDI_REPLACECOMMIT)
            return refuse(tl, x, "another engine has replaced file groups", err);
    }
    return SL_OK;
}

static int take_back(struct sl_log *t, const struct sl_timeline *tl, const struct sl_rollback_options *o, struct sl_rollback_report *report,
                     sl_err *err)
{
    size_t files = 0;

    SL_TRY(check(tl, o->snapshot, err));
    for (size_t i = tl->n; i > 0; i--) {
        if (!is_after(&tl->v[i - 1], o->snapshot))
            continue;
        SL_TRY(sl_cancel_check(err));
        SL_TRY(sl_rollback_completed(t, &tl->v[i - 1], &o->common, &files, err));
        report->snapshots++;
        report->data_files = files;
    }
    return SL_OK;
}

static int64_t latest_of(const struct sl_timeline *tl)
{
    const struct sl_instant *i = sl_timeline_latest(tl, SL_INSTANT_LAST);

    return i ? i->time : 0;
}

static int run(struct sl_log *t, struct sl_log_lock *lock, const struct sl_rollback_options *o, struct sl_rollback_report *report, sl_err *err)
{
    struct sl_timeline *tl = NULL;
    size_t dead = 0;
    int rc = SL_OK;

    if (!o->common.dry_run)
        SL_GO(sl_rollback_dead(t, lock, &dead, err));
    SL_GO(sl_timeline_load(t, &tl, err));
    report->latest_before = report->latest_now = latest_of(tl);
    report->snapshots = (int64_t)dead;
    if (o->snapshot == 0)
        goto done;
    SL_GO(take_back(t, tl, o, report, err));
    if (!o->common.dry_run)
        report->latest_now = o->snapshot;
done:
    sl_timeline_free(tl);
    return rc;
}

int sl_log_rollback(struct sl_log *t, const struct sl_rollback_options *options, struct sl_rollback_report *report, sl_err *err)
{
    struct sl_rollback_report unwanted;
    struct sl_log_lock *lock = NULL;
    int rc;

    if (!report)
        report = &unwanted;
    *report = (struct sl_rollback_report){0};
    if (options->tag.n)
        return sl_err_set(err, SL_EUNSUPPORTED, "the log table %s has no tags to go back to", t->label);
    SL_GO(sl_log_check_write(t, err));
    SL_GO(sl_log_lock_take(t, options->force ? FORCE_MILLIS : SL_LOG_LOCK_MILLIS, options->force, &lock, err));
    rc = run(t, lock, options, report, err);
done:
    sl_log_lock_drop(lock);
    return rc;
}
