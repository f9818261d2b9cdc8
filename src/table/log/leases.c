/* leases.c - what living readers of a log table read. */
#include "table/log/leases.h"

#include "base/sys.h"
#include "table/log/timeline.h"

enum { LEASE_BYTES_MAX = 1000 };

int sl_log_lease(struct sl_log *t, int64_t instant, struct sl_reader **out, sl_err *err)
{
    char digits[18];

    sl_hudi_instant_text(instant, digits);
    return sl_reader_announce(t->store, SL_LEASE_FOLDER "/" SL_LEASE_PREFIX, digits, out, err);
}

/* What one lease says; a file that is gone says nothing. */
static int one_lease(struct sl_log *t, const struct sl_entry *e, int64_t *oldest, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, text = SL_BUF_INIT;
    int64_t instant;
    int rc;

    sl_buf_printf(&path, SL_LEASE_FOLDER "/%s", e->name);
    SL_GO(sl_buf_ok(&path, err));
    if (sl_now_millis() - e->mtime_millis > SL_READER_STALE_MILLIS) {
        (void)!sl_store_remove(t->store, sl_buf_view(&path), NULL);
        goto done;
    }
    rc = sl_store_get(t->store, sl_buf_view(&path), LEASE_BYTES_MAX, &text, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    if (rc != SL_OK)
        goto done;
    if (!sl_hudi_instant_parse(sl_buf_view(&text), &instant))
        instant = 0;
    if (instant < *oldest)
        *oldest = instant;
done:
    sl_buf_release(&path);
    sl_buf_release(&text);
    return rc;
}

int sl_log_leases_oldest(struct sl_log *t, int64_t *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    int rc = sl_store_list(t->store, SL_LIT(SL_LEASE_FOLDER), true, &all, err);

    *out = SL_INSTANT_LAST;
    for (size_t i = 0; i < all.n && rc == SL_OK; i++)
        if (!all.v[i].is_dir && sl_str_starts(sl_str_c(all.v[i].name), SL_LEASE_PREFIX))
            rc = one_lease(t, &all.v[i], out, err);
    sl_entries_release(&all);
    return rc;
}
