/* leases.c - what living readers of a log table read. */
#include "table/log/leases.h"

#include "base/sys.h"
#include "table/log/timeline.h"

enum { LEASE_BYTES_MAX = 1000 };

/* The timeline of the opening is older than that of the view, so what it says keeps more. Where a compaction is pending the reader reads the
 * slice before it, and the compaction may be committed before the reader is done. */
static int64_t keep_from(const struct sl_log *t, int64_t as_of)
{
    const struct sl_instant *newest = sl_timeline_latest(t->timeline, as_of ? as_of : SL_INSTANT_LAST);
    int64_t keep = newest ? newest->time : 0;

    for (size_t i = 0; i < t->timeline->n; i++) {
        const struct sl_instant *at = &t->timeline->v[i];

        if (at->planned == SL_HUDI_COMPACTION && at->state != SL_HUDI_COMPLETED && at->time <= keep)
            keep = at->time - 1;
    }
    return keep;
}

int sl_log_lease(struct sl_log *t, int64_t as_of, struct sl_reader **out, sl_err *err)
{
    const int64_t keep = keep_from(t, as_of);
    char digits[18];

    *out = NULL;
    if (keep <= 0)
        return SL_OK;
    sl_hudi_instant_text(keep, digits);
    return sl_reader_announce(t->store, SL_LEASE_FOLDER "/" SL_LEASE_PREFIX, digits, out, err);
}

/* What one lease says; a file that is gone says nothing. */
static int one_lease(struct sl_log *t, const struct sl_entry *e, const char *path, struct sl_leases *out, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    int64_t instant;
    int rc = sl_store_get(t->store, sl_str_c(path), LEASE_BYTES_MAX, &text, err);

    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    if (!sl_hudi_instant_parse(sl_buf_view(&text), &instant))
        instant = 0;
    if (instant < out->oldest) {
        out->oldest = instant;
        snprintf(out->reader, sizeof out->reader, "%.60s", e->name);
    }
done:
    sl_buf_release(&text);
    return rc;
}

int sl_log_leases_read(struct sl_log *t, int64_t stale_millis, bool remove, struct sl_leases *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    char path[400];
    int rc = sl_store_list(t->store, SL_LIT(SL_LEASE_FOLDER), true, &all, err);

    *out = (struct sl_leases){.oldest = SL_INSTANT_LAST};
    for (size_t i = 0; i < all.n && rc == SL_OK; i++) {
        if (all.v[i].is_dir || !sl_str_starts(sl_str_c(all.v[i].name), SL_LEASE_PREFIX))
            continue;
        snprintf(path, sizeof path, SL_LEASE_FOLDER "/%.300s", all.v[i].name);
        if (sl_now_millis() - all.v[i].mtime_millis <= stale_millis) {
            rc = one_lease(t, &all.v[i], path, out, err);
            continue;
        }
        out->dead++;
        if (remove)
            (void)!sl_store_remove(t->store, sl_str_c(path), NULL);
    }
    sl_entries_release(&all);
    return rc;
}
