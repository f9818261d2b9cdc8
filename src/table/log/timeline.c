/* timeline.c - the instants of a log table. */
#include "table/log/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

enum { INSTANT_BYTES_MAX = 1 << 30 };

bool sl_instant_writes(const struct sl_instant *i)
{
    switch (i->action) {
    case SL_HUDI_COMMIT:
    case SL_HUDI_DELTACOMMIT:
    case SL_HUDI_COMPACTION:
    case SL_HUDI_LOGCOMPACTION:
    case SL_HUDI_REPLACECOMMIT:
    case SL_HUDI_CLUSTERING:
        return true;
    default:
        return false;
    }
}

/* ---- loading ---- */

/* Names of one instant, by the action under which it completes. */
static int instant_cmp(const void *a, const void *b)
{
    const struct sl_instant *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (sl_hudi_action_completed(x->action) != sl_hudi_action_completed(y->action))
        return sl_hudi_action_completed(x->action) < sl_hudi_action_completed(y->action) ? -1 : 1;
    return x->state < y->state ? -1 : x->state > y->state;
}

static int add_file(struct sl_timeline *tl, const struct sl_hudi_timeline_name *name, sl_err *err)
{
    struct sl_instant *i = sl_vec_push(tl);

    if (!i)
        return sl_err_nomem(err);
    *i = (struct sl_instant){.time = name->instant, .action = name->action, .planned = name->action, .state = name->state,
                             .files = (uint8_t)(1u << name->state), .short_text = name->text.n == 14};
    if (name->state == SL_HUDI_COMPLETED)
        i->completion = name->completion ? name->completion : name->instant;
    if (name->instant > tl->newest)
        tl->newest = name->instant;
    if (name->completion > tl->newest)
        tl->newest = name->completion;
    return SL_OK;
}

/* Files of one instant become one entry. "T.inflight" says COMMIT also of an instant whose other names say more. */
static void join_files(struct sl_timeline *tl)
{
    size_t n = 0;

    for (size_t i = 0; i < tl->n; i++) {
        struct sl_instant *at = &tl->v[i], *last = n ? &tl->v[n - 1] : NULL;

        if (!last || last->time != at->time ||
            sl_hudi_action_completed(last->action) != sl_hudi_action_completed(at->action)) {
            tl->v[n++] = *at;
            continue;
        }
        last->files |= at->files;
        if (at->planned != sl_hudi_action_completed(at->planned))
            last->planned = at->planned;
        last->action = at->state == SL_HUDI_COMPLETED ? at->action : last->planned;
        last->state = at->state;
        last->completion = at->completion;
    }
    tl->n = n;
}

static int list_once(struct sl_timeline *tl, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_hudi_timeline_name name;
    int rc;

    SL_GO(sl_store_list(tl->table->store, sl_str_c(tl->table->instants), false, &all, err));
    for (size_t i = 0; i < all.n; i++)
        if (!all.v[i].is_dir && sl_hudi_timeline_parse(sl_str_c(all.v[i].name), tl->table->config.layout, &name))
            SL_GO(add_file(tl, &name, err));
    if (tl->n)
        qsort(tl->v, tl->n, sizeof *tl->v, instant_cmp);
    join_files(tl);
done:
    sl_entries_release(&all);
    return rc;
}

static int64_t newest_completed(const struct sl_timeline *tl, bool *older_pending)
{
    int64_t newest = 0;

    *older_pending = false;
    for (size_t i = tl->n; i-- > 0;) {
        if (!sl_instant_writes(&tl->v[i]))
            continue;
        if (tl->v[i].state == SL_HUDI_COMPLETED)
            newest = newest ? newest : tl->v[i].time;
        else if (newest)
            *older_pending = true;
    }
    return newest;
}

/* A listing may show an instant that was completed meanwhile, and miss an older one that was completed just before it. So where an older one seems
 * to be pending the folder is listed once more: then nothing is missed up to the newest one that was completed the first time. */
static int list_instants(struct sl_timeline *tl, sl_err *err)
{
    bool older_pending;
    int64_t newest;

    tl->stable = SL_INSTANT_LAST;
    SL_TRY(list_once(tl, err));
    newest = newest_completed(tl, &older_pending);
    if (older_pending) {
        tl->n = 0;
        SL_TRY(list_once(tl, err));
        tl->stable = newest;
    }
    for (size_t i = 0; i < tl->n && !tl->first_write; i++)
        if (sl_instant_writes(&tl->v[i]))
            tl->first_write = tl->v[i].time;
    return SL_OK;
}

/* Were instants moved into the archive? Layout 1 keeps log files of its own there, layout 2 manifests and Parquet files. */
static int look_for_history(struct sl_timeline *tl, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    int rc = sl_store_list(tl->table->store, sl_str_c(tl->table->history), false, &all, err);

    for (size_t i = 0; i < all.n && rc == SL_OK && !tl->has_history; i++) {
        const sl_str name = sl_str_c(all.v[i].name);

        tl->has_history = tl->table->config.layout == 1 ? sl_str_starts(name, ".commits_.archive") || sl_str_starts(name, "commits_.archive")
                                                        : sl_str_starts(name, "manifest_") || sl_str_ends(name, ".parquet");
    }
    sl_entries_release(&all);
    return rc;
}

int sl_timeline_load(struct sl_log *t, struct sl_timeline **out, sl_err *err)
{
    struct sl_timeline *tl = sl_calloc(1, sizeof *tl);
    int rc;

    *out = NULL;
    if (!tl)
        return sl_err_nomem(err);
    tl->table = t;
    /* First, since instants go there from the timeline: one that is looked for in vain then was never there. */
    SL_GO(list_instants(tl, err));
    SL_GO(look_for_history(tl, err));
    *out = tl;
    tl = NULL;
done:
    sl_timeline_free(tl);
    return rc;
}

void sl_timeline_free(struct sl_timeline *tl)
{
    if (!tl)
        return;
    sl_free(tl->v);
    sl_free(tl);
}

/* ---- asking ---- */

const struct sl_instant *sl_timeline_find(const struct sl_timeline *tl, int64_t time)
{
    size_t low = 0, high = tl->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (tl->v[mid].time < time)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < tl->n && tl->v[low].time == time; low++)
        if (sl_instant_writes(&tl->v[low]))
            return &tl->v[low];
    return NULL;
}

enum sl_fate sl_timeline_fate(const struct sl_timeline *tl, int64_t time)
{
    const struct sl_instant *i = sl_timeline_find(tl, time);

    if (i)
        return i->state == SL_HUDI_COMPLETED ? SL_COMMITTED : SL_PENDING;
    return tl->has_history && (!tl->first_write || time < tl->first_write) ? SL_COMMITTED : SL_GONE;
}

int64_t sl_timeline_completion(const struct sl_timeline *tl, int64_t time)
{
    const struct sl_instant *i = sl_timeline_find(tl, time);

    return i && i->state == SL_HUDI_COMPLETED ? i->completion : time;
}

const struct sl_instant *sl_timeline_latest(const struct sl_timeline *tl, int64_t not_after)
{
    for (size_t i = tl->n; i-- > 0;)
        if (tl->v[i].time <= not_after && tl->v[i].state == SL_HUDI_COMPLETED && sl_instant_writes(&tl->v[i]))
            return &tl->v[i];
    return NULL;
}

/* ---- files of instants ---- */

void sl_instant_path(const struct sl_timeline *tl, const struct sl_instant *i, enum sl_hudi_state state, struct sl_buf *out)
{
    char text[18], completion[18];
    struct sl_buf name = SL_BUF_INIT;
    const int layout = tl->table->config.layout;

    sl_hudi_instant_text(i->time, text);
    sl_hudi_instant_text(i->completion, completion);
    sl_hudi_timeline_put(&name, i->time, state == SL_HUDI_COMPLETED ? i->action : i->planned, state);
    sl_buf_printf(out, "%s/", tl->table->instants);
    if (name.failed || name.n < 17) {
        out->failed = true;
    } else {
        /* The name begins with the 17 digits of the instant. */
        sl_buf_addb(out, text, i->short_text ? 14 : 17);
        if (layout == 2 && state == SL_HUDI_COMPLETED)
            sl_buf_printf(out, "_%s", completion);
        sl_buf_add(out, sl_str_sub(sl_buf_view(&name), 17, name.n));
    }
    sl_buf_release(&name);
}

int sl_instant_read(const struct sl_timeline *tl, const struct sl_instant *i, enum sl_hudi_state state, struct sl_buf *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    sl_instant_path(tl, i, state, &path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_get(tl->table->store, sl_buf_view(&path), INSTANT_BYTES_MAX, out, err);
    sl_buf_release(&path);
    return rc;
}

int sl_instant_commit(const struct sl_timeline *tl, const struct sl_instant *i, struct sl_arena *a, struct sl_hudi_commit *out,
                      sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    int rc;

    SL_GO(sl_instant_read(tl, i, SL_HUDI_COMPLETED, &bytes, err));
    rc = sl_hudi_commit_decode(a, sl_buf_view(&bytes), out, err);
    if (rc != SL_OK) {
        sl_instant_path(tl, i, SL_HUDI_COMPLETED, &path);
        sl_err_ctx(err, "\"%s/%s\"", tl->table->path, path.p ? path.p : "");
    }
done:
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

int sl_timeline_schema(const struct sl_timeline *tl, int64_t not_after, struct sl_buf *out, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_commit commit;
    int rc = SL_OK;

    for (size_t i = tl->n; i-- > 0 && rc == SL_OK;) {
        const struct sl_instant *at = &tl->v[i];

        if (at->time > not_after || at->state != SL_HUDI_COMPLETED || !sl_instant_writes(at))
            continue;
        sl_arena_reset(&a);
        rc = sl_instant_commit(tl, at, &a, &commit, err);
        if (rc != SL_OK)
            break;
        const sl_str schema = sl_hudi_commit_extra(&commit, "schema");
        if (schema.n == 0)
            continue;
        sl_buf_add(out, schema);
        rc = sl_buf_ok(out, err);
        break;
    }
    sl_arena_release(&a);
    return rc;
}
