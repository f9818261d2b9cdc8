/*
 * apply.c - from results to one COMPACT snapshot.
 *
 * The commit itself finds out whether all inputs are live. Only when it says no, each result is looked at (resolve): was it committed
 * before, have its inputs changed, or is it as good as before? The look-up comes before anything is removed (P1).
 */
#include "compact/apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "compact/coordinator.h"
#include "compact/work.h"
#include "table/append/commit.h"

enum { MAX_IDLE_TRIES = 100 };

struct apply {
    struct sl_append *table;
    struct sl_apply_item *items;
    size_t n;
    const struct sl_apply_opts *opts;
    struct sl_compact_report *report;
    SL_VEC(struct sl_manifest_entry) adds, deletes; /* borrow from the results */
    struct sl_buf read_index; /* name of the index manifest that the vectors were compared with */
    bool has_index;
};

/* ---- sets of files ---- */

static int map_put(struct sl_map *m, const struct sl_manifest_entry *e, void *value, void **before, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    int rc;

    sl_entry_identity(&id, e);
    SL_GO(sl_buf_ok(&id, err));
    void **slot = sl_map_at(m, sl_buf_view(&id));
    if (!slot)
        SL_GOTO_NOMEM(err);
    *before = *slot;
    if (!*slot)
        *slot = value;
done:
    sl_buf_release(&id);
    return rc;
}

static int map_has(const struct sl_map *m, const struct sl_manifest_entry *e, void **value, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    int rc;

    sl_entry_identity(&id, e);
    rc = sl_buf_ok(&id, err);
    *value = rc == SL_OK ? sl_map_get(m, sl_buf_view(&id)) : NULL;
    sl_buf_release(&id);
    return rc;
}

/* ---- who committed what ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int sl_apply_user(const struct sl_apply_item *items, size_t n, char out[37], sl_err *err)
{
    SL_VEC(const char *) ids = {0};
    struct sl_buf all = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < n; i++) {
        const char **id = items[i].state == SL_APPLY_OPEN ? sl_vec_push(&ids) : NULL;

        if (id)
            *id = items[i].result->task.id;
        else if (items[i].state == SL_APPLY_OPEN)
            SL_GOTO_NOMEM(err);
    }
    if (ids.n == 1) {
        snprintf(out, 37, "%s", ids.v[0]);
        goto done;
    }
    if (ids.n)
        qsort(ids.v, ids.n, sizeof *ids.v, by_text);
    for (size_t i = 0; i < ids.n; i++)
        sl_buf_addc(&all, ids.v[i]);
    uint64_t high = sl_hash64(sl_buf_view(&all));
    sl_buf_ch(&all, '.');
    uint64_t low = sl_hash64(sl_buf_view(&all));
    SL_GO(sl_buf_ok(&all, err));
    snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff),
             (unsigned)(low >> 48), (unsigned long long)(low & 0xffffffffffff));
done:
    sl_buf_release(&all);
    sl_free(ids.v);
    return rc;
}

/* ---- look-up: does a snapshot name an output of an item? ---- */

struct lookup {
    struct sl_map *outputs; /* file name to the item: a line may say the rest wrongly, and the file is removed by its name */
    int64_t since;          /* the oldest snapshot that an item was planned on */
    bool complete;
};

static int lookup_new(struct apply *a, const bool *ask, struct lookup *l, sl_err *err)
{
    *l = (struct lookup){sl_map_new(), INT64_MAX, true};
    if (!l->outputs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_compact_result *r = a->items[i].result;

        if (!ask[i])
            continue;
        a->items[i].named = false;
        if (r->task.snapshot < l->since)
            l->since = r->task.snapshot;
        for (size_t k = 0; k < r->noutputs; k++) {
            void **slot = sl_map_at(l->outputs, r->outputs[k].file.file_name);

            if (!slot)
                return sl_err_nomem(err);
            *slot = &a->items[i];
        }
    }
    return SL_OK;
}

static void mark_named(struct lookup *l, const struct sl_manifest_entry *e)
{
    struct sl_apply_item *item = sl_map_get(l->outputs, e->file.file_name);

    if (item)
        item->named = true;
}

static int look_in_manifest(struct apply *a, struct lookup *l, const struct sl_manifest_meta *meta, sl_err *err)
{
    const struct sl_manifest *m = NULL;

    SL_TRY(sl_manifest_load(a->table, meta, &m, err));
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].kind == SL_FILE_ADD)
            mark_named(l, &m->v[i]);
    sl_manifest_unref(a->table, m);
    return SL_OK;
}

static int look_in_snapshot(struct apply *a, struct lookup *l, int64_t id, sl_err *err)
{
    struct sl_manifest_list list = {.arena = SL_ARENA_INIT};
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    int rc;

    SL_GO(sl_snapshot_get(a->table, id, &s, err));
    SL_GO(sl_snapshot_manifests(a->table, &s, SL_LIST_DELTA, &list, err));
    for (size_t i = 0; i < list.n; i++)
        SL_GO(look_in_manifest(a, l, &list.v[i], err));
done:
    if (rc == SL_ENOTFOUND) {
        l->complete = false;
        rc = SL_OK;
    }
    sl_manifest_list_release(&list);
    sl_snapshot_release(&s);
    return rc;
}

static int look_up(struct apply *a, struct lookup *l, const struct sl_live_set *live, int64_t latest, sl_err *err)
{
    for (size_t i = 0; i < live->n; i++)
        mark_named(l, live->v[i]);
    /* An id below `since` after a rollback: what lay between is gone, so nothing can be concluded. */
    if (latest < l->since)
        l->complete = false;
    for (int64_t id = l->since + 1; id <= latest; id++)
        SL_TRY(look_in_snapshot(a, l, id, err));
    return SL_OK;
}

/* ---- resolve: what is the matter with these items? ---- */

static int inputs_same(const struct sl_compact_result *r, struct sl_map *live, struct sl_dv_places *places, bool *same, sl_err *err)
{
    *same = true;
    for (size_t i = 0; *same && i < r->task.ninputs; i++) {
        const struct sl_compact_input *in = &r->task.inputs[i];
        struct sl_compact_dv now;
        void *found = NULL;

        SL_TRY(map_has(live, &in->entry, &found, err));
        SL_TRY(sl_dv_places_find(places, &in->entry, &now, err));
        *same = found && sl_compact_dv_same(&now, &in->dv);
    }
    return SL_OK;
}

static void drop(struct apply *a, struct sl_apply_item *item)
{
    if (item->named)
        return;
    if (item->doubtful) {
        sl_log(SL_LOG_INFO, "compact", "the files of task %s are left to \"sluice clean\": not all snapshots since it was planned are there",
               item->result->task.id);
        return;
    }
    sl_compact_result_discard(a->table, item->result);
}

static void decide(struct apply *a, struct sl_apply_item *item, bool same, bool missing)
{
    if (item->named)
        item->state = SL_APPLY_KNOWN;
    else if (!same)
        item->state = SL_APPLY_AGAIN;
    else if (missing)
        item->state = SL_APPLY_FAILED;
    if (item->state == SL_APPLY_AGAIN)
        drop(a, item);
}

static int resolve_at(struct apply *a, const struct sl_snapshot *s, const bool *ask, bool missing, sl_err *err)
{
    struct lookup l = {0};
    struct sl_live_set live = {0};
    struct sl_dv_places *places = NULL;
    struct sl_map *by_identity = sl_map_new();
    void *before;
    int rc = SL_OK;

    if (!by_identity)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_dv_places_new(a->table, s, &places, err));
    SL_GO(sl_live_files(a->table, s, NULL, &live, err));
    for (size_t i = 0; i < live.n; i++)
        SL_GO(map_put(by_identity, live.v[i], (void *)live.v[i], &before, err));
    SL_GO(lookup_new(a, ask, &l, err));
    SL_GO(look_up(a, &l, &live, s->id, err));
    for (size_t i = 0; i < a->n; i++) {
        bool same = false;

        if (!ask[i])
            continue;
        SL_GO(inputs_same(a->items[i].result, by_identity, places, &same, err));
        a->items[i].doubtful = !l.complete;
        decide(a, &a->items[i], same, missing);
    }
done:
    sl_map_free(l.outputs, NULL);
    sl_map_free(by_identity, NULL);
    sl_live_release(&live);
    sl_dv_places_free(places);
    return rc;
}

/* Decide about the open items that ASK names (NULL: all of them). MISSING: an output of theirs is not there. */
static int resolve(struct apply *a, const bool *ask, bool missing, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    bool *all = sl_calloc(a->n + 1, sizeof *all);
    int rc;

    if (!all)
        return sl_err_nomem(err);
    for (size_t i = 0; i < a->n; i++)
        all[i] = a->items[i].state == SL_APPLY_OPEN && (!ask || ask[i]);
    SL_GO(sl_snapshot_latest(a->table, &s, err));
    SL_GO(resolve_at(a, &s, all, missing, err));
done:
    sl_snapshot_release(&s);
    sl_free(all);
    return rc;
}

/* ---- before the commit ---- */

/* Results that share an input cannot both be committed: the first one is tried, the work of the others was done twice. */
static int claim_inputs(struct apply *a, bool *twice, sl_err *err)
{
    struct sl_map *claimed = sl_map_new();
    int rc = SL_OK;

    if (!claimed)
        return sl_err_nomem(err);
    for (size_t i = 0; i < a->n; i++) {
        struct sl_compact_result *r = a->items[i].result;
        void *before = NULL;

        if (r->error != SL_OK)
            a->items[i].state = SL_APPLY_FAILED;
        for (size_t k = 0; a->items[i].state == SL_APPLY_OPEN && k < r->task.ninputs; k++) {
            SL_GO(map_put(claimed, &r->task.inputs[k].entry, &a->items[i], &before, err));
            if (before && before != &a->items[i]) {
                a->items[i].state = SL_APPLY_AGAIN;
                twice[i] = true;
            }
        }
    }
done:
    sl_map_free(claimed, NULL);
    return rc;
}

static int check_outputs(struct apply *a, sl_err *err)
{
    bool *missing = sl_calloc(a->n + 1, sizeof *missing), any = false;
    int rc = SL_OK;

    if (!missing)
        return sl_err_nomem(err);
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_compact_result *r = a->items[i].result;

        for (size_t k = 0; a->items[i].state == SL_APPLY_OPEN && !missing[i] && k < r->noutputs; k++) {
            rc = sl_append_file_check(a->table, &r->outputs[k], err);
            if (rc == SL_ENOTFOUND || rc == SL_ECORRUPT)
                missing[i] = any = true;
            else
                SL_GO(rc);
        }
    }
    rc = any ? resolve(a, missing, true, err) : SL_OK;
done:
    sl_free(missing);
    return rc;
}

/* The commit watches that vectors do not change after the index manifest that we name, so it must be one that we have compared with. */
static int check_vectors(struct apply *a, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    struct sl_dv_places *places = NULL;
    bool *changed = sl_calloc(a->n + 1, sizeof *changed), any = false;
    int rc = changed ? sl_snapshot_latest(a->table, &s, err) : sl_err_nomem(err);

    SL_GO(rc);
    SL_GO(sl_dv_places_new(a->table, &s, &places, err));
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_compact_task *task = &a->items[i].result->task;

        for (size_t k = 0; a->items[i].state == SL_APPLY_OPEN && !changed[i] && k < task->ninputs; k++) {
            struct sl_compact_dv now;

            SL_GO(sl_dv_places_find(places, &task->inputs[k].entry, &now, err));
            changed[i] = !sl_compact_dv_same(&now, &task->inputs[k].dv);
            any = any || changed[i];
        }
    }
    a->has_index = s.index_manifest != NULL;
    sl_buf_reset(&a->read_index);
    sl_buf_addc(&a->read_index, s.index_manifest ? s.index_manifest : "");
    SL_GO(sl_buf_ok(&a->read_index, err));
    if (any)
        rc = resolve(a, changed, false, err);
done:
    sl_dv_places_free(places);
    sl_snapshot_release(&s);
    sl_free(changed);
    return rc;
}

/* ---- the commit ---- */

static int collect(struct apply *a, size_t *open, sl_err *err)
{
    a->adds.n = a->deletes.n = *open = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_compact_result *r = a->items[i].result;

        if (a->items[i].state != SL_APPLY_OPEN)
            continue;
        ++*open;
        for (size_t k = 0; k < r->task.ninputs; k++) {
            struct sl_manifest_entry *e = sl_vec_push(&a->deletes);

            if (!e)
                return sl_err_nomem(err);
            *e = r->task.inputs[k].entry;
        }
        for (size_t k = 0; k < r->noutputs; k++) {
            struct sl_manifest_entry *e = sl_vec_push(&a->adds);

            if (!e)
                return sl_err_nomem(err);
            *e = r->outputs[k];
        }
    }
    return SL_OK;
}

static int publish(struct apply *a, struct sl_commit_result *done, sl_err *err)
{
    char user[37];

    SL_TRY(sl_apply_user(a->items, a->n, user, err));
    const struct sl_commit_request req = {
        .user = a->opts->user ? a->opts->user : user,
        .identifier = a->opts->user ? a->opts->identifier : SL_BATCH_IDENTIFIER,
        .kind = "COMPACT",
        .adds = a->adds.v,
        .nadds = a->adds.n,
        .deletes = a->deletes.v,
        .ndeletes = a->deletes.n,
        .properties = a->opts->properties,
        .nproperties = a->opts->nproperties,
        .read_index_manifest = a->has_index ? a->read_index.p : NULL,
        .look_first = a->opts->look_first,
    };
    SL_TRY(SL_FAILPOINT("compact.apply", err));
    return sl_commit_publish(a->table, &req, done, err);
}

static void count_done(struct sl_compact_report *report, const struct sl_compact_result *r)
{
    report->tasks_done++;
    report->files_in += r->task.ninputs;
    report->files_out += r->noutputs;
    report->rows_deleted += (uint64_t)r->rows_deleted;
    for (size_t i = 0; i < r->task.ninputs; i++)
        report->bytes_in += (uint64_t)r->task.inputs[i].entry.file.file_size;
    for (size_t i = 0; i < r->noutputs; i++) {
        report->bytes_out += (uint64_t)r->outputs[i].file.file_size;
        report->rows_out += (uint64_t)r->outputs[i].file.row_count;
    }
    sl_metric_add(SL_M_COMPACT_TASKS, 1);
    sl_metric_add(SL_M_COMPACT_FILES_IN, (int64_t)r->task.ninputs);
    sl_metric_add(SL_M_COMPACT_FILES_OUT, (int64_t)r->noutputs);
}

/* A commit under these tasks' name was there before: ours, or that of another run of the same tasks with other files. */
static int settle_known(struct apply *a, sl_err *err)
{
    SL_TRY(resolve(a, NULL, false, err));
    for (size_t i = 0; i < a->n; i++) {
        struct sl_apply_item *item = &a->items[i];

        if (item->state == SL_APPLY_AGAIN || item->state == SL_APPLY_OPEN)
            item->state = SL_APPLY_KNOWN;
    }
    return SL_OK;
}

static void settle_done(struct apply *a, const struct sl_commit_result *done)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->items[i].state != SL_APPLY_OPEN)
            continue;
        a->items[i].state = SL_APPLY_DONE;
        count_done(a->report, a->items[i].result);
    }
    a->report->snapshot = done->snapshot_id;
    a->report->snapshots++;
}

/* One try. *AGAIN: the commit said that something had changed, and what is open now is worth another try. */
static int commit_once(struct apply *a, bool *again, sl_err *err)
{
    struct sl_commit_result done = {0};
    size_t open = 0;

    *again = false;
    SL_TRY(check_vectors(a, err));
    SL_TRY(collect(a, &open, err));
    if (open == 0)
        return SL_OK;
    int rc = publish(a, &done, err);
    if (rc == SL_OK && done.already)
        return settle_known(a, err);
    if (rc == SL_OK)
        settle_done(a, &done);
    if (rc != SL_ECONFLICT)
        return rc;
    *again = true;
    return rc;
}

static int commit_open(struct apply *a, sl_err *err)
{
    for (int idle = 0;;) {
        size_t before = 0, after = 0;
        bool again;

        SL_TRY(collect(a, &before, err));
        if (before == 0)
            return SL_OK;
        int rc = commit_once(a, &again, err);
        if (!again)
            return rc;
        SL_TRY(sl_cancel_check(err));
        SL_TRY(sl_append_same_table(a->table, err));
        sl_err why = err ? *err : (sl_err)SL_ERR_INIT;
        SL_TRY(resolve(a, NULL, false, err));
        SL_TRY(collect(a, &after, err));
        /* When nothing is in the way as we look, it was a change that came between. That does not go on for ever. */
        if (after == before && ++idle > MAX_IDLE_TRIES) {
            if (err)
                *err = why;
            return rc;
        }
    }
}

/* ---- all of it ---- */

/* Results of one task, or of tasks that overlap: the first one was tried; the files of the others are named by nothing. */
static int drop_doubles(struct apply *a, const bool *twice, sl_err *err)
{
    bool any = false;

    for (size_t i = 0; i < a->n; i++) {
        if (!twice[i])
            continue;
        any = true;
        a->items[i].state = SL_APPLY_OPEN;
    }
    if (!any)
        return SL_OK;
    SL_TRY(resolve(a, twice, false, err));
    for (size_t i = 0; i < a->n; i++) {
        if (!twice[i] || a->items[i].state != SL_APPLY_OPEN)
            continue;
        a->items[i].state = SL_APPLY_AGAIN;
        drop(a, &a->items[i]);
    }
    return SL_OK;
}

static void count_states(const struct apply *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_apply_item *item = &a->items[i];

        a->report->tasks_again += item->state == SL_APPLY_AGAIN;
        a->report->tasks_known += item->state == SL_APPLY_KNOWN;
        if (item->state != SL_APPLY_FAILED)
            continue;
        if (a->report->tasks_failed++ > 0)
            continue;
        a->report->failure_code = item->result->error;
        snprintf(a->report->failure, sizeof a->report->failure, "%.250s",
                 item->result->error != SL_OK ? item->result->error_text : "an output file is missing");
    }
}

int sl_compact_apply_results(struct sl_append *t, struct sl_apply_item *items, size_t n, const struct sl_apply_opts *opts,
                             struct sl_compact_report *report, sl_err *err)
{
    const struct sl_apply_opts defaults = {0};
    struct apply a = {.table = t, .items = items, .n = n, .opts = opts ? opts : &defaults, .report = report};
    bool *twice = sl_calloc(n + 1, sizeof *twice);
    int rc;

    if (!twice)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++)
        items[i].state = SL_APPLY_OPEN;
    SL_GO(sl_append_same_table(t, err));
    SL_GO(claim_inputs(&a, twice, err));
    SL_GO(check_outputs(&a, err));
    SL_GO(commit_open(&a, err));
    SL_GO(drop_doubles(&a, twice, err));
done:
    count_states(&a);
    sl_free(a.adds.v);
    sl_free(a.deletes.v);
    sl_buf_release(&a.read_index);
    sl_free(twice);
    return rc;
}
