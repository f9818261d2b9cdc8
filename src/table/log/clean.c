/* clean.c - carrying out what clean_plan.c chose. */
#include "table/log/clean.h"

#include <string.h>

#include "base/sys.h"
#include "table/log/compact.h"
#include "table/log/lock.h"
#include "table/log/rollback.h"

/* ---- what earlier cleans left ---- */

static int earliest_of(const struct sl_timeline *tl, const struct sl_instant *i, int64_t *out, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT;
    struct sl_hudi_clean done;
    struct sl_hudi_clean_plan plan;
    sl_str text = {"", 0};
    int rc = sl_instant_read(tl, i, i->state, &bytes, err);

    *out = 0;
    if (rc == SL_ENOTFOUND) { /* it went a state further */
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    if (i->state == SL_HUDI_COMPLETED) {
        SL_GO(sl_hudi_clean_decode(&a, sl_buf_view(&bytes), &done, err));
        text = done.earliest_retained;
    } else if (bytes.n) {
        SL_GO(sl_hudi_clean_plan_decode(&a, sl_buf_view(&bytes), &plan, err));
        text = plan.has_earliest ? plan.earliest : text;
    }
    if (!text.n || !sl_hudi_instant_parse(text, out))
        *out = 0;
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the clean %lld of the table %s", (long long)i->time, tl->table->label);
    sl_buf_release(&bytes);
    sl_arena_release(&a);
    return rc;
}

int sl_clean_earliest(const struct sl_timeline *tl, int64_t *out, sl_err *err)
{
    *out = 0;
    for (size_t i = tl->n; i-- > 0 && *out == 0;)
        if (tl->v[i].action == SL_HUDI_CLEAN)
            SL_TRY(earliest_of(tl, &tl->v[i], out, err));
    return SL_OK;
}

/* ---- the plan ---- */

struct cleaning {
    struct sl_log *t;
    const struct sl_expire_options *options;
    struct sl_expire_report *report;
    struct sl_view *view;
    struct sl_map *needed;        /* paths of what readers of the newest state read */
};

static void instant_path(const struct sl_log *t, int64_t instant, enum sl_hudi_state state, struct sl_buf *out)
{
    sl_buf_printf(out, "%s/", t->instants);
    sl_hudi_timeline_put(out, instant, SL_HUDI_CLEAN, state);
}

static int put_state(const struct cleaning *c, int64_t instant, enum sl_hudi_state state, sl_str bytes, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    instant_path(c->t, instant, state, &path);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(c->t->store, sl_buf_view(&path), bytes, err);
    if (rc == SL_EEXISTS) { /* of a run before, or of one that does the same at this moment */
        sl_err_clear(err);
        rc = SL_OK;
    }
done:
    sl_buf_release(&path);
    return rc;
}

static const char *instant_text(struct sl_arena *a, int64_t instant)
{
    char text[18] = "";

    if (instant)
        sl_hudi_instant_text(instant, text);
    return sl_arena_strdup(a, sl_str_c(text));
}

/* Paths as stock writes them: absolute. */
static int plan_files(const struct cleaning *c, struct sl_arena *a, const struct sl_clean_choice *choice, struct sl_hudi_clean_plan *plan, sl_err *err)
{
    struct sl_hudi_clean_files *parts = sl_arena_array(a, choice->v.n + 1, sizeof *parts);
    struct sl_hudi_clean_file *files = sl_arena_array(a, choice->v.n + 1, sizeof *files);

    if (!parts || !files)
        return sl_err_nomem(err);
    for (size_t i = 0; i < choice->v.n; i++) {
        const struct sl_clean_item *x = &choice->v.v[i];
        const char *path = sl_arena_printf(a, "%s/%s", c->t->path, x->file->path);

        if (!path)
            return sl_err_nomem(err);
        files[i].path = sl_str_c(path);
        if (i == 0 || x->partition != x[-1].partition)
            parts[plan->npartitions++] = (struct sl_hudi_clean_files){.partition = sl_str_c(x->partition->path), .files = &files[i]};
        parts[plan->npartitions - 1].nfiles++;
    }
    plan->partitions = parts;
    return SL_OK;
}

static int put_plan(const struct cleaning *c, const struct sl_clean_choice *choice, sl_err *err)
{
    const struct sl_instant *newest = sl_timeline_latest(c->view->timeline, SL_INSTANT_LAST), *first;
    struct sl_hudi_clean_plan plan = {.policy = sl_str_c(choice->policy), .version = 2};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT;
    const char *earliest, *last;
    int64_t instant;
    int rc;

    first = choice->earliest ? sl_timeline_find(c->view->timeline, choice->earliest) : NULL;
    earliest = instant_text(&a, choice->earliest);
    last = instant_text(&a, newest ? newest->time : 0);
    if (!earliest || !last)
        SL_GOTO_NOMEM(err);
    plan.has_earliest = choice->earliest != 0;
    plan.earliest = sl_str_c(earliest);
    plan.earliest_action = sl_str_c(sl_hudi_action_name(first ? first->action : SL_HUDI_DELTACOMMIT));
    plan.earliest_state = SL_LIT("COMPLETED");
    plan.last_completed = sl_str_c(last);
    SL_GO(plan_files(c, &a, choice, &plan, err));
    SL_GO(sl_hudi_clean_plan_encode(&plan, &bytes, err));
    SL_GO(sl_log_next_instant(c->view->timeline, &instant, err));
    SL_GO(put_state(c, instant, SL_HUDI_REQUESTED, sl_buf_view(&bytes), err));
    rc = SL_FAILPOINT("clean.planned", err);
done:
    sl_buf_release(&bytes);
    sl_arena_release(&a);
    return rc;
}

/* ---- removing ---- */

static int note_needed(struct cleaning *c, sl_err *err)
{
    c->needed = sl_map_new();
    if (!c->needed)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->view->nslices; i++) {
        const struct sl_slice *s = &c->view->slices[i];

        for (size_t k = 0; k <= s->nlogs; k++) {
            const struct sl_log_file *f = k ? s->logs[k - 1] : s->base;
            void **slot = f ? sl_map_at(c->needed, sl_str_c(f->path)) : NULL;

            if (f && !slot)
                return sl_err_nomem(err);
            if (f)
                *slot = c;
        }
    }
    return SL_OK;
}

struct removal {
    const struct cleaning *c;
    struct sl_arena arena;
    struct sl_hudi_clean done;
    struct sl_hudi_clean_partition *parts;
};

/* The table may have been moved since the plan was written: the partition and the file's name say where it is. */
static int remove_file(struct removal *r, sl_str partition, sl_str path, bool *removed, sl_err *err)
{
    const char *slash = memrchr(path.p, '/', path.n);
    const sl_str name = slash ? sl_str_sub(path, (size_t)(slash - path.p) + 1, path.n) : path;
    const char *rel = sl_arena_printf(&r->arena, SL_STRF "%s" SL_STRF, SL_STRV(partition), partition.n ? "/" : "", SL_STRV(name));
    const struct cleaning *c = r->c;
    struct sl_hudi_base_name base;
    struct sl_hudi_log_name log;
    struct sl_stat st = {0};

    *removed = false;
    if (!rel)
        return sl_err_nomem(err);
    if (sl_map_get(c->needed, sl_str_c(rel)) || (!sl_hudi_base_parse(name, &base) && !sl_hudi_log_parse(name, &log))) {
        sl_log(SL_LOG_WARN, "clean", "%s: \"%s\", which a plan wants removed, is needed or is no data file, and stays", c->t->label, rel);
        return SL_OK;
    }
    (void)!sl_store_stat(c->t->store, sl_str_c(rel), &st, NULL);
    int rc = sl_store_remove(c->t->store, sl_str_c(rel), err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        *removed = true;
        return SL_OK;
    }
    SL_TRY(rc);
    *removed = true;
    c->report->data_files++;
    c->report->bytes += st.size;
    if (c->options->common.file)
        c->options->common.file(c->options->common.user, rel, st.size);
    return SL_FAILPOINT("clean.removing", err);
}

static int remove_partition(struct removal *r, const struct sl_hudi_clean_files *f, sl_str policy, sl_err *err)
{
    struct sl_hudi_clean_partition *p = &r->parts[r->done.npartitions++];
    sl_str *gone = sl_arena_array(&r->arena, f->nfiles + 1, sizeof *gone), *kept = sl_arena_array(&r->arena, f->nfiles + 1, sizeof *kept);
    bool removed;

    if (!gone || !kept)
        return sl_err_nomem(err);
    *p = (struct sl_hudi_clean_partition){.partition = f->partition, .policy = policy, .deleted = gone, .failed = kept};
    for (size_t i = 0; i < f->nfiles; i++) {
        SL_TRY(sl_cancel_check(err));
        SL_TRY(remove_file(r, f->partition, f->files[i].path, &removed, err));
        if (removed)
            gone[p->ndeleted++] = f->files[i].path;
        else
            kept[p->nfailed++] = f->files[i].path;
    }
    p->patterns = gone;
    p->npatterns = p->ndeleted;
    r->done.files_deleted += (int64_t)p->ndeleted;
    int rc = sl_store_sync_dir(r->c->t->store, f->partition, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
    }
    return rc;
}

static int remove_all(struct removal *r, int64_t instant, const struct sl_hudi_clean_plan *plan, int64_t begun, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    const char *start = instant_text(&r->arena, instant);
    int rc = SL_OK;

    r->parts = sl_arena_array(&r->arena, plan->npartitions + 1, sizeof *r->parts);
    if (!r->parts || !start)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < plan->npartitions; i++)
        SL_GO(remove_partition(r, &plan->partitions[i], plan->policy, err));
    SL_GO(SL_FAILPOINT("clean.removed", err));
    r->done.start = sl_str_c(start);
    r->done.millis = sl_now_millis() - begun;
    r->done.earliest_retained = plan->has_earliest ? plan->earliest : SL_LIT("");
    r->done.last_completed = plan->last_completed;
    r->done.partitions = r->parts;
    r->done.version = 2;
    SL_GO(sl_hudi_clean_encode(&r->done, &bytes, err));
    rc = put_state(r->c, instant, SL_HUDI_COMPLETED, sl_buf_view(&bytes), err);
done:
    sl_buf_release(&bytes);
    return rc;
}

/* A clean that is pending, ours or of a process that died. */
static int run_plan(const struct cleaning *c, int64_t instant, sl_err *err)
{
    struct removal r = {.c = c, .arena = SL_ARENA_INIT};
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_hudi_clean_plan plan;
    const int64_t begun = sl_now_millis();
    int rc;

    instant_path(c->t, instant, SL_HUDI_REQUESTED, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_get(c->t->store, sl_buf_view(&path), (size_t)1 << 30, &bytes, err));
    SL_GO(sl_hudi_clean_plan_decode(&r.arena, sl_buf_view(&bytes), &plan, err));
    SL_GO(put_state(c, instant, SL_HUDI_INFLIGHT, sl_buf_view(&bytes), err));
    rc = remove_all(&r, instant, &plan, begun, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the clean %lld", (long long)instant);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    sl_arena_release(&r.arena);
    return rc;
}

static int run_pending(const struct cleaning *c, sl_err *err)
{
    struct sl_timeline *tl = NULL;
    int rc;

    SL_GO(sl_timeline_load(c->t, &tl, err));
    for (size_t i = 0; i < tl->n; i++)
        if (tl->v[i].action == SL_HUDI_CLEAN && tl->v[i].state != SL_HUDI_COMPLETED)
            SL_GO(run_plan(c, tl->v[i].time, err));
done:
    sl_timeline_free(tl);
    return rc;
}

/* ---- all together ---- */

static void tell_report(struct cleaning *c, const struct sl_clean_choice *choice)
{
    const struct sl_timeline *tl = c->view->timeline;
    const struct sl_instant *newest = sl_timeline_latest(tl, SL_INSTANT_LAST);
    struct sl_expire_report *r = c->report;

    r->latest = newest ? newest->time : 0;
    if (!r->earliest_before)
        r->earliest_before = tl->first_write;
    r->earliest_now = choice->v.n && choice->earliest > r->earliest_before ? choice->earliest : r->earliest_before;
    r->held_by_consumer = choice->held_by;
    snprintf(r->consumer, sizeof r->consumer, "%s", choice->reader);
    r->dead_consumers = choice->dead;
}

static void tell_dry(struct cleaning *c, const struct sl_clean_choice *choice)
{
    c->report->data_files = choice->v.n;
    c->report->bytes = choice->bytes;
    for (size_t i = 0; i < choice->v.n && c->options->common.file; i++)
        c->options->common.file(c->options->common.user, choice->v.v[i].file->path, choice->v.v[i].file->size);
}

/* Under the lock: no instant of a writer comes between the view and the plan. */
static int plan(struct cleaning *c, struct sl_clean_choice *choice, sl_err *err)
{
    struct sl_log_lock *lock = NULL;
    int rc;

    if (!c->options->common.dry_run) {
        SL_GO(sl_log_lock_take(c->t, SL_LOG_LOCK_MILLIS, false, &lock, err));
        SL_GO(sl_rollback_dead(c->t, lock, NULL, err));
    }
    SL_GO(sl_view_open(c->t, NULL, &c->view, err));
    SL_GO(sl_clean_earliest(c->view->timeline, &c->report->earliest_before, err));
    SL_GO(sl_clean_choose(c->view, c->options, choice, err));
    tell_report(c, choice);
    if (c->options->common.dry_run) {
        tell_dry(c, choice);
        goto done;
    }
    SL_GO(note_needed(c, err));
    if (choice->v.n)
        rc = put_plan(c, choice, err);
done:
    sl_log_lock_drop(lock);
    return rc;
}

int sl_log_expire(struct sl_log *t, const struct sl_expire_options *options, struct sl_expire_report *report, sl_err *err)
{
    static const struct sl_expire_options none = SL_EXPIRE_INIT;
    struct sl_expire_report unwanted;
    struct cleaning c = {.t = t, .options = options ? options : &none, .report = report ? report : &unwanted};
    struct sl_clean_choice choice = {0};
    int rc;

    *c.report = (struct sl_expire_report){.log_table = true};
    SL_GO(sl_log_check_write(t, err));
    SL_GO(plan(&c, &choice, err));
    if (c.options->common.dry_run)
        goto done;
    SL_GO(run_pending(&c, err));
    sl_log_compact_sweep(t);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "cleaning the table %s", t->label);
    sl_clean_choice_release(&choice);
    sl_map_free(c.needed, NULL);
    sl_view_free(c.view);
    return rc;
}
