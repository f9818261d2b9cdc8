/* run.c - plan, work and apply in one process: one pass, or for ever beside the writers. */
#include <string.h>

#include "base/sys.h"
#include "compact/apply.h"
#include "compact/coordinator.h"
#include "compact/log_task.h"
#include "compact/work.h"
#include "sluice/table.h"
#include "table/env.h"

enum {
    WAIT_MILLIS = 200,          /* between looks at the clock while tasks are at work */
    RETRY_LEAST = 10000,        /* pause before failed tasks are planned again; doubles */
    RETRY_MOST = 600000,
    EXPIRE_MILLIS = 60000,      /* expire at least so often */
    TRIM_MILLIS = 30000,        /* idle so long: give DuckDB's memory back */
    TROUBLE_MOST = 5,           /* rounds in a row that may fail */
};

struct run {
    struct sl_env *env;
    sl_str name;
    const struct sl_compact_options *opts;
    struct sl_compact_report *report;
    struct sl_append *table;
    struct sl_coordinator *coordinator;
    struct sl_crew *crew;
    SL_VEC(struct sl_apply_item) ready; /* results to apply, owned */
    size_t files_at_work;
    int64_t retry_at, retry_pause; /* monotonic ms; 0 = nothing to retry */
    int64_t expired_at, busy_at;   /* monotonic ms */
    uint64_t snapshots_then;       /* published when expired last */
};

static int64_t now_millis(void)
{
    return sl_mono_nanos() / 1000000;
}

static void tell(struct run *r, const char *doing)
{
    if (r->opts->progress)
        r->opts->progress(r->opts->user, r->report, doing);
}

/* ---- results ---- */

static void release_ready(struct run *r)
{
    for (size_t i = 0; i < r->ready.n; i++) {
        sl_compact_result_release(r->ready.v[i].result);
        sl_free(r->ready.v[i].result);
    }
    r->ready.n = 0;
}

/* Outputs that are surely in no snapshot: nobody else knows of them. */
static void discard_open(struct run *r)
{
    for (size_t i = 0; i < r->ready.n; i++)
        if (r->ready.v[i].state == SL_APPLY_OPEN)
            sl_compact_result_discard(r->table, r->ready.v[i].result);
}

static int add_ready(struct run *r, struct sl_compact_result *result, sl_err *err)
{
    struct sl_apply_item *item = sl_vec_push(&r->ready);

    r->files_at_work -= result->task.ninputs;
    if (item) {
        item->result = result;
        return SL_OK;
    }
    sl_compact_result_discard(r->table, result);
    sl_compact_result_release(result);
    sl_free(result);
    return sl_err_nomem(err);
}

static void look_at_states(struct run *r)
{
    for (size_t i = 0; i < r->ready.n; i++) {
        const struct sl_apply_item *item = &r->ready.v[i];

        if (item->state == SL_APPLY_AGAIN)
            sl_coordinator_rescan(r->coordinator);
        if (item->state != SL_APPLY_FAILED)
            continue;
        const struct sl_compact_result *result = item->result;
        if (result->error == SL_ECONFLICT || result->error == SL_ENOTFOUND) {
            sl_coordinator_rescan(r->coordinator); /* an input is gone: the others are to be planned again */
            continue;
        }
        if (result->error != SL_ECANCELLED)
            sl_log(SL_LOG_WARN, "compact", "a task over %zu files of %s failed: %s", result->task.ninputs,
                   result->task.partition_text[0] ? result->task.partition_text : r->table->label,
                   result->error_text ? result->error_text : "an output is missing");
        if (r->retry_at)
            continue;
        r->retry_pause = r->retry_pause ? r->retry_pause * 2 : RETRY_LEAST;
        r->retry_pause = r->retry_pause > RETRY_MOST ? RETRY_MOST : r->retry_pause;
        r->retry_at = now_millis() + r->retry_pause;
    }
}

/* Commit what is ready; afterwards nothing is. */
static int apply_ready(struct run *r, sl_err *err)
{
    struct sl_option properties[SL_COMPACT_PROPERTIES];
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_apply_opts opts = {0};
    int rc = SL_OK;

    if (r->ready.n == 0)
        return SL_OK;
    tell(r, "committing");
    if (r->opts->watch && r->opts->npartition == 0) {
        size_t waiting = sl_pool_count(sl_coordinator_pool(r->coordinator)) + r->files_at_work + (r->retry_at != 0);

        SL_GO(sl_coordinator_save(r->coordinator, waiting, &a, properties, err));
        opts.properties = properties;
        opts.nproperties = SL_COMPACT_PROPERTIES;
    }
    sl_err own = SL_ERR_INIT;
    rc = sl_compact_apply_results(r->table, r->ready.v, r->ready.n, &opts, r->report, &own);
    if (rc == SL_OK)
        look_at_states(r);
    else if (!(own.flags & SL_ERR_UNKNOWN_OUTCOME))
        discard_open(r);
    if (rc != SL_OK && err)
        *err = own;
done:
    sl_arena_release(&a);
    release_ready(r);
    return rc;
}

/* ---- tasks ---- */

static int give_all(struct run *r, struct sl_task_list *tasks, sl_err *err)
{
    r->report->tasks_planned += tasks->n;
    for (size_t i = 0; i < tasks->n; i++) {
        size_t files = tasks->v[i].ninputs;

        SL_TRY(sl_crew_give(r->crew, r->table, &tasks->v[i], err));
        r->files_at_work += files;
    }
    return SL_OK;
}

static void tell_work(struct run *r, size_t total)
{
    char doing[80];

    snprintf(doing, sizeof doing, "task %zu of %zu", total - sl_crew_busy(r->crew), total);
    tell(r, doing);
}

/* Wait for all tasks given. With EACH results are committed as they come, else all at the end, by the caller. */
static int await_all(struct run *r, size_t total, bool each, sl_err *err)
{
    int rc = SL_OK;

    while (sl_crew_busy(r->crew) > 0) {
        struct sl_compact_result *result = sl_crew_take(r->crew, WAIT_MILLIS);

        if (sl_cancelled() || rc != SL_OK)
            sl_crew_interrupt(r->crew);
        if (result) {
            sl_err own = SL_ERR_INIT;
            int added = add_ready(r, result, &own);

            if (rc == SL_OK && added != SL_OK) {
                rc = added;
                if (err)
                    *err = own;
            }
        }
        tell_work(r, total);
        /* What finished at the same moment goes into one snapshot. */
        if (each && rc == SL_OK && result && !sl_cancelled()) {
            while ((result = sl_crew_take(r->crew, 0)) && rc == SL_OK)
                rc = add_ready(r, result, err);
            if (rc == SL_OK)
                rc = apply_ready(r, err);
        }
    }
    return rc;
}

static int work_off(struct run *r, struct sl_task_list *tasks, bool each, sl_err *err)
{
    size_t total = tasks->n;
    int rc;

    if (!r->crew)
        SL_TRY(sl_crew_start(r->env, r->opts->workers, &r->crew, err));
    rc = give_all(r, tasks, err);
    if (rc != SL_OK)
        sl_crew_interrupt(r->crew);
    sl_err own = SL_ERR_INIT;
    int waited = await_all(r, total, each && rc == SL_OK, &own);
    if (rc == SL_OK && waited != SL_OK) {
        rc = waited;
        if (err)
            *err = own;
    }
    if (rc == SL_OK && sl_cancelled())
        rc = sl_err_set(err, SL_ECANCELLED, "interrupted");
    if (rc == SL_OK)
        rc = apply_ready(r, err);
    discard_open(r);
    release_ready(r);
    return rc;
}

/* ---- opening ---- */

static int open_table(struct run *r, sl_err *err)
{
    struct sl_append *t = NULL;
    int rc;

    SL_TRY(sl_env_table(r->env, r->name, &t, err));
    rc = sl_append_check(t, SL_WRITE, err);
    if (rc == SL_OK && r->coordinator)
        rc = sl_coordinator_table(r->coordinator, t, err);
    if (rc != SL_OK) {
        sl_append_close(t);
        return rc;
    }
    sl_append_close(r->table);
    r->table = t;
    return SL_OK;
}

static int begin(struct run *r, sl_err *err)
{
    const struct sl_coordinator_opts opts = {
        .full = r->opts->full,
        .partition = r->opts->partition,
        .npartition = r->opts->npartition,
    };

    SL_TRY(open_table(r, err));
    return sl_coordinator_new(r->table, &opts, &r->coordinator, err);
}

static void end(struct run *r)
{
    sl_crew_free(r->crew);
    sl_coordinator_free(r->coordinator);
    release_ready(r);
    sl_free(r->ready.v);
    sl_append_close(r->table);
}

/* ---- one pass ---- */

static int run_once(struct run *r, sl_err *err)
{
    struct sl_task_list tasks = {NULL, 0, 0};
    int rc;

    tell(r, "reading the table");
    SL_GO(sl_coordinator_scan(r->coordinator, r->report, err));
    SL_GO(sl_coordinator_round(r->coordinator, r->opts->watch, &tasks, err));
    r->report->rounds++;
    r->report->files_waiting = sl_pool_count(sl_coordinator_pool(r->coordinator));
    if (tasks.n > 0)
        SL_GO(work_off(r, &tasks, false, err));
    if (r->report->tasks_failed > 0)
        rc = sl_err_set(err, sl_compact_failure_code(r->report->failure_code), "%llu of %llu tasks failed; the first one: %s",
                        (unsigned long long)r->report->tasks_failed, (unsigned long long)r->report->tasks_planned, r->report->failure);
done:
    sl_task_list_release(&tasks);
    return rc;
}

/* ---- beside the writers ---- */

/* Open the table anew when its schema or options have changed, or it was made anew. */
static int refresh(struct run *r, sl_err *err)
{
    int64_t newest = 0;
    int rc = sl_append_same_table(r->table, err);

    if (rc == SL_ECONFLICT)
        return open_table(r, err);
    SL_TRY(rc);
    SL_TRY(sl_append_newest_schema_id(r->table, &newest, err));
    return newest == r->table->schema->id ? SL_OK : open_table(r, err);
}

static void expire(struct run *r)
{
    const struct sl_expire_options options = SL_EXPIRE_INIT;
    struct sl_expire_report done = {0};
    sl_err err = SL_ERR_INIT;

    if (r->opts->no_expire || (r->report->snapshots == r->snapshots_then && now_millis() - r->expired_at < EXPIRE_MILLIS))
        return;
    tell(r, "expiring snapshots");
    if (sl_table_expire(r->env, r->name, &options, &done, &err) != SL_OK && !sl_cancelled())
        sl_log(SL_LOG_WARN, "compact", "snapshots were not expired: %s", err.text);
    r->report->snapshots_expired += (uint64_t)(done.snapshots > 0 ? done.snapshots : 0);
    r->expired_at = now_millis();
    r->snapshots_then = r->report->snapshots;
}

static int watch_round(struct run *r, sl_err *err)
{
    struct sl_task_list tasks = {NULL, 0, 0};
    int rc;

    SL_GO(refresh(r, err));
    if (r->retry_at && now_millis() >= r->retry_at) {
        r->retry_at = 0;
        sl_coordinator_rescan(r->coordinator);
    }
    uint64_t failed = r->report->tasks_failed;
    SL_GO(sl_coordinator_scan(r->coordinator, r->report, err));
    SL_GO(sl_coordinator_round(r->coordinator, r->opts->watch, &tasks, err));
    r->report->rounds++;
    r->report->files_waiting = sl_pool_count(sl_coordinator_pool(r->coordinator));
    if (tasks.n > 0) {
        r->busy_at = now_millis();
        SL_GO(work_off(r, &tasks, true, err));
        if (failed == r->report->tasks_failed)
            r->retry_pause = 0;
    }
done:
    sl_task_list_release(&tasks);
    return rc;
}

static bool is_passing(int code)
{
    return code == SL_EIO || code == SL_ENOSPC || code == SL_ENOTFOUND || code == SL_ECONFLICT || code == SL_EBUSY ||
           code == SL_ENOMEM;
}

static int interval_of(const struct run *r, int64_t *out, sl_err *err)
{
    uint64_t ms;

    *out = r->opts->interval_millis;
    if (*out > 0)
        return SL_OK;
    SL_TRY(sl_schema_option_millis(r->table->schema, "continuous.discovery-interval", 10000, &ms, err));
    *out = ms < 10 ? 10 : (int64_t)ms;
    return SL_OK;
}

/* Sleep until START + INTERVAL, and give memory back when there was nothing to do for a while. */
static void pause_until(struct run *r, int64_t start, int64_t interval)
{
    int64_t left = start + interval - now_millis();

    tell(r, "waiting");
    if (r->busy_at && now_millis() - r->busy_at > TRIM_MILLIS) {
        sl_env_trim(r->env);
        r->busy_at = 0;
    }
    while (left > 0 && !sl_cancelled()) {
        sl_sleep_millis(left < 1000 ? left : 1000);
        tell(r, "waiting");
        left = start + interval - now_millis();
    }
}

static int watch_rounds(struct run *r, sl_err *err)
{
    int64_t interval = 0;
    int trouble = 0;

    r->expired_at = now_millis();
    while (!sl_cancelled()) {
        int64_t start = now_millis();
        int rc = watch_round(r, err);

        if (sl_cancelled())
            break;
        if (rc != SL_OK && (!is_passing(rc) || ++trouble >= TROUBLE_MOST))
            return rc;
        if (rc != SL_OK) {
            sl_log(SL_LOG_WARN, "compact", "a round failed and is tried again: %s", err ? err->text : sl_code_text(rc));
            sl_coordinator_rescan(r->coordinator);
        } else {
            trouble = 0;
            expire(r);
        }
        if (r->opts->watch_rounds && r->report->rounds >= r->opts->watch_rounds)
            break;
        SL_TRY(interval_of(r, &interval, err));
        pause_until(r, start, interval);
    }
    return SL_OK;
}

static int watch(struct run *r, sl_err *err)
{
    struct sl_lock *lock = NULL;
    char path[300];
    int rc;

    snprintf(path, sizeof path, SL_SIDE_DIR "/compact%s%.200s.lock", r->table->branch ? "-" : "", r->table->branch ? r->table->branch : "");
    rc = sl_store_lock(r->table->store, sl_str_c(path), 0, &lock, err);
    if (rc == SL_EBUSY) {
        sl_err_set(err, SL_EBUSY, "table \"%s\" is watched by another coordinator already", r->table->label);
        sl_err_hint(err, "one \"sluice compact --watch\" a table is enough; more tasks at a time: --workers N");
        return SL_EBUSY;
    }
    SL_GO(rc);
    if (r->opts->npartition == 0)
        SL_GO(sl_coordinator_resume(r->coordinator, err));
    rc = watch_rounds(r, err);
done:
    sl_store_unlock(lock);
    return rc;
}

int sl_compact_run(struct sl_env *env, sl_str table, const struct sl_compact_options *options, struct sl_compact_report *report,
                   sl_err *err)
{
    const struct sl_compact_options defaults = {0};
    struct sl_compact_report ignored;
    struct sl_log *log = NULL;
    struct run r = {.env = env, .name = table, .opts = options ? options : &defaults, .report = report ? report : &ignored};

    *r.report = (struct sl_compact_report){0};
    SL_TRY(sl_env_log(env, table, &log, err));
    if (log)
        return sl_log_run(env, table, log, r.opts, r.report, err);
    SL_TRY(sl_compact_check(r.opts, err));
    int rc = begin(&r, err);
    if (rc == SL_OK)
        rc = r.opts->watch ? watch(&r, err) : run_once(&r, err);
    end(&r);
    return rc;
}
