/* log_run.c - compaction of a log table in one process: one pass, or for ever beside the writers. */
#include <string.h>

#include "base/sys.h"
#include "compact/log_task.h"
#include "sluice/table.h"
#include "table/env.h"

enum {
    CLEAN_MILLIS = 60000,       /* clean at least so often */
    TRIM_MILLIS = 30000,        /* idle so long: give DuckDB's memory back */
    TROUBLE_MOST = 5,           /* rounds in a row that may fail */
    INTERVAL_MILLIS = 10000,
};

struct log_run {
    struct sl_env *env;
    sl_str name;
    struct sl_log *table;
    const struct sl_compact_options *opts;
    struct sl_compact_report *report;
    int64_t cleaned_at, busy_at;  /* monotonic ms */
    uint64_t snapshots_then;      /* published when it was cleaned last */
};

static int64_t now_millis(void)
{
    return sl_mono_nanos() / 1000000;
}

static void tell(struct log_run *r, const char *doing)
{
    if (r->opts->progress)
        r->opts->progress(r->opts->user, r->report, doing);
}

/* ---- scheduling ---- */

struct filter {
    const struct sl_log *t;
    const struct sl_compact_options *opts;
};

static bool matches(const struct filter *f, const struct sl_view_partition *p, sl_str text)
{
    const struct sl_hudi_config *c = &f->t->config;
    const char *eq = memchr(text.p, '=', text.n);
    const sl_str key = sl_str_sub(text, 0, eq ? (size_t)(eq - text.p) : 0), value = sl_str_sub(text, key.n + 1, text.n);
    struct sl_arena a = SL_ARENA_INIT;
    bool same = false, is_null;
    sl_str is;

    for (size_t i = 0; i < c->npartition; i++)
        if (sl_str_eq(key, c->partition_fields[i]) &&
            sl_hudi_partition_value(&a, sl_str_c(p->path), i, c->npartition, key, c->hive_style, c->url_encode, &is, &is_null, NULL) == SL_OK)
            same = is_null ? sl_str_eqc(value, SL_HUDI_DEFAULT_PARTITION) : sl_str_eq(is, value);
    sl_arena_release(&a);
    return same;
}

static bool wanted(void *user, const struct sl_view_partition *p)
{
    const struct filter *f = user;

    for (size_t i = 0; i < f->opts->npartition; i++)
        if (!matches(f, p, f->opts->partition[i]))
            return false;
    return true;
}

static int check_filter(const struct filter *f, sl_err *err)
{
    const struct sl_hudi_config *c = &f->t->config;

    for (size_t i = 0; i < f->opts->npartition; i++) {
        const sl_str text = f->opts->partition[i];
        const char *eq = memchr(text.p, '=', text.n);
        bool known = false;

        for (size_t k = 0; eq && k < c->npartition; k++)
            known = known || sl_str_eq(sl_str_sub(text, 0, (size_t)(eq - text.p)), c->partition_fields[k]);
        if (!known)
            return sl_err_set(err, SL_EINPUT, "a partition must be given as key=value with a partition column of the table, found \"" SL_STRF "\"",
                              SL_STRV(text));
    }
    return SL_OK;
}

int sl_log_schedule(struct sl_log *t, const struct sl_compact_options *options, struct sl_log_schedule_result *out, sl_err *err)
{
    struct filter f = {t, options};
    const struct sl_log_schedule_opts opts = {.now = options->full || options->all_logs, .wanted = options->npartition ? wanted : NULL, .user = &f};

    SL_TRY(check_filter(&f, err));
    return sl_log_compact_schedule(t, &opts, out, err);
}

/* ---- committing a plan ---- */

static void fail(struct sl_compact_report *report, const char *why)
{
    report->tasks_failed++;
    if (!report->failure[0])
        snprintf(report->failure, sizeof report->failure, "%.250s", why ? why : "");
}

static void count_done(struct sl_compact_report *report, struct sl_log_result *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        report->tasks_done++;
        report->files_in += v[i]->task.op.nlogs + (v[i]->task.op.base.p != NULL);
        report->files_out++;
        report->bytes_in += (uint64_t)v[i]->made.log_bytes;
        report->bytes_out += v[i]->made.size;
        report->rows_out += (uint64_t)v[i]->made.rows;
        report->rows_deleted += (uint64_t)v[i]->made.deletes;
    }
    report->snapshots++;
    if (v[0]->task.op.instant > report->snapshot)
        report->snapshot = v[0]->task.op.instant;
}

/* Results of one operation may be there twice: one is enough. */
static size_t take_good(struct sl_log *t, struct sl_log_result *const *v, size_t n, struct sl_log_result **good, struct sl_compact_report *report)
{
    size_t ngood = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        if (v[i]->error != SL_OK) {
            fail(report, v[i]->error_text);
            continue;
        }
        while (k < ngood && !(sl_str_eq(good[k]->task.op.file_id, v[i]->task.op.file_id) &&
                              sl_str_eq(good[k]->task.op.partition, v[i]->task.op.partition)))
            k++;
        if (k == ngood)
            good[ngood++] = v[i];
        else if (strcmp(good[k]->made.staged, v[i]->made.staged) != 0)
            sl_log_made_discard(t, &v[i]->made);
    }
    return ngood;
}

int sl_log_apply_plan(struct sl_log *t, struct sl_log_result *const *v, size_t n, struct sl_compact_report *report, sl_err *err)
{
    struct sl_log_result **good = sl_calloc(n + 1, sizeof *good);
    struct sl_log_finished *finished = sl_calloc(n + 1, sizeof *finished);
    enum sl_log_outcome outcome;
    size_t ngood;
    int rc = SL_OK;

    if (!good || !finished)
        SL_GOTO_NOMEM(err);
    ngood = take_good(t, v, n, good, report);
    if (ngood == 0)
        goto done;
    for (size_t i = 0; i < ngood; i++)
        finished[i] = (struct sl_log_finished){&good[i]->task.op, &good[i]->made};
    rc = sl_log_compact_complete(t, good[0]->task.op.instant, finished, ngood, &outcome, err);
    if (rc == SL_ENOTFOUND) { /* of an attempt that died while it was committed: the work is to be done again */
        sl_err_clear(err);
        report->tasks_again += ngood;
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    if (outcome == SL_LOG_DONE)
        count_done(report, good, ngood);
    else if (outcome == SL_LOG_KNOWN)
        report->tasks_known += ngood;
    else
        report->tasks_again += ngood;
done:
    sl_free(good);
    sl_free(finished);
    return rc;
}

/* ---- working off ---- */

struct crew {
    struct log_run *r;
    const struct sl_compaction_ops *ops;
    size_t from;
    struct sl_view *view;
    struct sl_log_result *results;
};

static int work_one(void *user, size_t i, sl_err *err)
{
    struct crew *c = user;
    struct sl_log_result *result = &c->results[i];
    struct sl_engine *engine = NULL;
    struct sl_conn *conn = NULL;
    sl_err why = SL_ERR_INIT;

    result->task.op = c->ops->v.v[c->from + i];
    result->task.table = c->r->table->path;
    SL_TRY(sl_cancel_check(err));
    int rc = sl_env_engine(c->r->env, &engine, &why);
    if (rc == SL_OK)
        rc = sl_conn_open(engine, &conn, &why);
    if (rc == SL_OK)
        rc = sl_log_compact_work(c->r->table, c->view, conn, &result->task.op, &result->task.arena, &result->made, &why);
    sl_conn_close(conn);
    if (rc == SL_ECANCELLED) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc == SL_OK)
        return SL_OK;
    result->error = rc;
    result->error_text = sl_arena_strdup(&result->task.arena, sl_str_c(why.text));
    sl_log(SL_LOG_WARN, "compact", "%s", why.text);
    return result->error_text ? SL_OK : sl_err_nomem(err);
}

/* One plan: operations [from, from + n). */
static int work_plan(struct log_run *r, const struct sl_compaction_ops *ops, size_t from, size_t n, struct sl_view *view, sl_err *err)
{
    struct crew c = {r, ops, from, view, sl_calloc(n, sizeof *c.results)};
    struct sl_log_result **v = sl_calloc(n, sizeof *v);
    char doing[80];
    int rc = SL_OK;

    if (!c.results || !v)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        v[i] = &c.results[i];
    r->report->tasks_planned += n;
    snprintf(doing, sizeof doing, "%zu file groups of plan %lld", n, (long long)ops->v.v[from].instant);
    tell(r, doing);
    rc = sl_parallel(r->opts->workers ? r->opts->workers : 1, n, work_one, &c, err);
    if (rc == SL_OK) {
        tell(r, "committing");
        const uint64_t failed = r->report->tasks_failed;
        rc = sl_log_apply_plan(r->table, v, n, r->report, err);
        /* Without all of them there is no commit, and they are made again with the others. */
        for (size_t i = 0; rc == SL_OK && failed != r->report->tasks_failed && i < n; i++)
            sl_log_made_discard(r->table, &c.results[i].made);
    } else {
        for (size_t i = 0; i < n; i++)
            sl_log_made_discard(r->table, &c.results[i].made);
    }
done:
    for (size_t i = 0; c.results && i < n; i++)
        sl_arena_release(&c.results[i].task.arena);
    sl_free(c.results);
    sl_free(v);
    return rc;
}

static int work_pending(struct log_run *r, sl_err *err)
{
    struct sl_compaction_ops ops = SL_COMPACTION_OPS_INIT;
    struct sl_view *view = NULL;
    size_t n;
    int rc;

    SL_GO(sl_log_compact_pending(r->table, &ops, err));
    if (ops.v.n == 0)
        goto done;
    r->busy_at = now_millis();
    SL_GO(sl_view_open(r->table, NULL, &view, err));
    for (size_t i = 0; i < ops.v.n; i += n) {
        for (n = 1; i + n < ops.v.n && ops.v.v[i + n].instant == ops.v.v[i].instant;)
            n++;
        SL_GO(work_plan(r, &ops, i, n, view, err));
    }
done:
    sl_view_free(view);
    sl_compaction_ops_release(&ops);
    return rc;
}

/* Plans that a dead compactor left come first: their file groups are not planned again before. */
static int one_round(struct log_run *r, sl_err *err)
{
    struct sl_log_schedule_result s;

    tell(r, "reading the table");
    sl_log_compact_sweep(r->table);
    SL_TRY(work_pending(r, err));
    SL_TRY(sl_log_schedule(r->table, r->opts, &s, err));
    r->report->seen = s.newest;
    r->report->rounds++;
    r->report->files_waiting = s.waiting;
    if (s.in_the_way)
        sl_log(SL_LOG_WARN, "compact", "%s: a pending commit of another engine is in the way of a plan", r->table->label);
    return s.instant ? work_pending(r, err) : SL_OK;
}

static int run_once(struct log_run *r, sl_err *err)
{
    SL_TRY(one_round(r, err));
    if (r->report->tasks_failed > 0)
        return sl_err_set(err, SL_EFAIL, "%llu of %llu tasks failed; the first one: %s", (unsigned long long)r->report->tasks_failed,
                          (unsigned long long)r->report->tasks_planned, r->report->failure);
    return SL_OK;
}

/* ---- beside the writers ---- */

static void clean(struct log_run *r)
{
    const struct sl_expire_options options = SL_EXPIRE_INIT;
    struct sl_expire_report done = {0};
    sl_err err = SL_ERR_INIT;

    if (r->opts->no_expire || strcmp(sl_log_option(r->table, "hoodie.clean.automatic", "true"), "false") == 0 ||
        (r->report->snapshots == r->snapshots_then && now_millis() - r->cleaned_at < CLEAN_MILLIS))
        return;
    tell(r, "cleaning");
    if (sl_table_expire(r->env, r->name, &options, &done, &err) != SL_OK && !sl_cancelled())
        sl_log(SL_LOG_WARN, "compact", "the table was not cleaned: %s", err.text);
    r->report->snapshots_expired += done.data_files;
    r->cleaned_at = now_millis();
    r->snapshots_then = r->report->snapshots;
}

/* The table anew: its columns and options may have changed. */
static int refresh(struct log_run *r, sl_err *err)
{
    struct sl_log *t = NULL;

    SL_TRY(sl_env_log(r->env, r->name, &t, err));
    if (!t)
        return sl_err_set(err, SL_ENOTFOUND, "table %s is not there any more", r->table->label);
    sl_log_close(r->table);
    r->table = t;
    return sl_log_check_write(t, err);
}

static bool is_passing(int code)
{
    return code == SL_EIO || code == SL_ENOSPC || code == SL_ENOTFOUND || code == SL_ECONFLICT || code == SL_EBUSY || code == SL_ENOMEM;
}

static void pause_until(struct log_run *r, int64_t end)
{
    if (r->busy_at && now_millis() - r->busy_at > TRIM_MILLIS) {
        sl_env_trim(r->env);
        r->busy_at = 0;
    }
    for (int64_t left; !sl_cancelled() && (left = end - now_millis()) > 0;) {
        tell(r, "waiting");
        sl_sleep_millis(left < 1000 ? left : 1000);
    }
}

static int watch_rounds(struct log_run *r, sl_err *err)
{
    const int64_t interval = r->opts->interval_millis > 0 ? r->opts->interval_millis : INTERVAL_MILLIS;
    int trouble = 0;

    r->cleaned_at = now_millis();
    while (!sl_cancelled()) {
        const int64_t start = now_millis();
        const uint64_t failed = r->report->tasks_failed;
        int rc = one_round(r, err);

        if (sl_cancelled())
            break;
        if (rc == SL_OK && failed != r->report->tasks_failed)
            rc = sl_err_set(err, SL_EIO, "%s", r->report->failure);
        if (rc != SL_OK && (!is_passing(rc) || ++trouble >= TROUBLE_MOST))
            return rc;
        if (rc != SL_OK) {
            sl_log(SL_LOG_WARN, "compact", "a round failed and is tried again: %s", err ? err->text : sl_code_text(rc));
        } else {
            trouble = 0;
            clean(r);
        }
        if (r->opts->watch_rounds && r->report->rounds >= r->opts->watch_rounds)
            break;
        pause_until(r, start + interval);
        if (!sl_cancelled())
            SL_TRY(refresh(r, err));
    }
    return SL_OK;
}

static int watch(struct log_run *r, sl_err *err)
{
    struct sl_lock *lock = NULL;
    int rc = sl_store_lock(r->table->store, SL_LIT(SL_LOG_SIDE_DIR "/compact.lock"), 0, &lock, err);

    if (rc == SL_EBUSY) {
        sl_err_set(err, SL_EBUSY, "table \"%s\" is watched by another coordinator already", r->table->label);
        sl_err_hint(err, "one \"sluice compact --watch\" a table is enough; more tasks at a time: --workers N");
        return SL_EBUSY;
    }
    SL_TRY(rc);
    rc = watch_rounds(r, err);
    sl_store_unlock(lock);
    return rc;
}

int sl_log_run(struct sl_env *env, sl_str name, struct sl_log *t, const struct sl_compact_options *options, struct sl_compact_report *report,
               sl_err *err)
{
    struct log_run r = {.env = env, .name = name, .table = t, .opts = options, .report = report};
    int rc = sl_log_check_write(t, err);

    if (rc == SL_OK)
        rc = options->watch ? watch(&r, err) : run_once(&r, err);
    sl_log_close(r.table);
    return rc;
}
