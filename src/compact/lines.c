/* lines.c - the three steps apart: tasks and results as lines of text. */
#include <string.h>

#include "base/sys.h"
#include "compact/apply.h"
#include "compact/coordinator.h"
#include "compact/log_task.h"
#include "compact/work.h"
#include "table/env.h"

int sl_compact_check(const struct sl_compact_options *options, sl_err *err)
{
    if (!options || !options->all_logs)
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "--all-logs is for log tables; an append table has none, its small files go with --full");
}

/* ---- plan ---- */

static int emit_tasks(const struct sl_task_list *tasks, sl_compact_line_fn *emit, void *user, sl_err *err)
{
    struct sl_buf line = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < tasks->n; i++) {
        sl_buf_reset(&line);
        SL_GO(sl_compact_task_encode(&tasks->v[i], &line, err));
        SL_GO(emit(user, sl_buf_view(&line), err));
    }
done:
    sl_buf_release(&line);
    return rc;
}

int sl_compact_plan(struct sl_env *env, sl_str table, const struct sl_compact_options *options, sl_compact_line_fn *emit, void *user,
                    struct sl_compact_report *report, sl_err *err)
{
    struct sl_compact_report own = {0};
    struct sl_coordinator_opts opts = {0};
    static const struct sl_compact_options none;
    struct sl_coordinator *c = NULL;
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    struct sl_task_list tasks = {NULL, 0, 0};
    int rc;

    SL_GO(sl_env_log(env, table, &log, err));
    if (log) {
        rc = sl_log_plan_lines(log, options ? options : &none, emit, user, &own, err);
        goto done;
    }
    SL_GO(sl_compact_check(options, err));
    if (options)
        opts = (struct sl_coordinator_opts){.full = options->full, .partition = options->partition, .npartition = options->npartition};
    SL_GO(sl_env_table(env, table, &t, err));
    SL_GO(sl_append_check(t, SL_WRITE, err));
    SL_GO(sl_coordinator_new(t, &opts, &c, err));
    SL_GO(sl_coordinator_scan(c, &own, err));
    SL_GO(sl_coordinator_round(c, false, &tasks, err));
    own.rounds = 1;
    own.tasks_planned = tasks.n;
    own.files_waiting = sl_pool_count(sl_coordinator_pool(c));
    for (size_t i = 0; i < tasks.n; i++)
        own.files_in += tasks.v[i].ninputs;
    SL_GO(emit_tasks(&tasks, emit, user, err));
done:
    if (report)
        *report = own;
    sl_task_list_release(&tasks);
    sl_coordinator_free(c);
    sl_append_close(t);
    sl_log_close(log);
    return rc;
}

/* ---- work ---- */

static int open_of(struct sl_env *env, sl_str table, const struct sl_compact_task *task, struct sl_append **out, sl_err *err)
{
    if (table.n)
        SL_TRY(sl_env_table(env, table, out, err));
    else
        SL_TRY(sl_append_open_path(sl_str_c(task->table), task->branch, out, err));
    int rc = sl_append_check(*out, SL_WRITE, err);
    const char *branch = (*out)->branch ? (*out)->branch : "", *wanted = task->branch ? task->branch : "";
    if (rc == SL_OK && strcmp(branch, wanted) != 0)
        rc = sl_err_set(err, SL_EINPUT, "the task is for branch \"%s\" of the table", wanted);
    if (rc != SL_OK) {
        sl_append_close(*out);
        *out = NULL;
    }
    return rc;
}

static int open_conn(struct sl_env *env, struct sl_conn **conn, sl_err *err)
{
    struct sl_engine *engine = NULL;

    SL_TRY(sl_env_engine(env, &engine, err));
    return sl_conn_open(engine, conn, err);
}

int sl_compact_work(struct sl_env *env, sl_str table, sl_str line, char **result, sl_err *err)
{
    struct sl_compact_task task = {.arena = SL_ARENA_INIT};
    struct sl_compact_result done = {.arena = SL_ARENA_INIT};
    struct sl_append *t = NULL;
    struct sl_conn *conn = NULL;
    struct sl_buf out = SL_BUF_INIT;
    sl_err why = SL_ERR_INIT;
    int rc;

    *result = NULL;
    if (sl_log_line(line))
        return sl_log_work_line(env, table, line, result, err);
    SL_TRY(sl_compact_task_decode(line, &task, err));
    rc = open_of(env, table, &task, &t, &why);
    if (rc == SL_OK)
        rc = open_conn(env, &conn, &why);
    if (rc == SL_OK)
        sl_compact_task_work(t, conn, &task, &done);
    else
        sl_compact_result_fail(&done, &task, rc, &why);
    SL_GO(sl_compact_result_encode(&done, &out, err));
    *result = sl_buf_take(&out);
    rc = *result ? SL_OK : sl_err_nomem(err);
done:
    if (rc != SL_OK && t)
        sl_compact_result_discard(t, &done);
    sl_buf_release(&out);
    sl_compact_result_release(&done);
    sl_compact_task_release(&task);
    sl_conn_close(conn);
    sl_append_close(t);
    return rc;
}

/* ---- apply ---- */

struct results {
    struct sl_apply_item *v;
    size_t n, cap;
    SL_VEC(uint64_t) numbers; /* of the lines */
    uint64_t bad;
    int rc; /* the first bad line's */
    sl_err why;
};

/* A bad line does not keep the good ones from being committed; the first one is told at the end. */
static void bad_line(struct results *all, uint64_t number, int rc, sl_err *why)
{
    if (all->bad++ > 0)
        return;
    sl_err_ctx(why, "line %llu", (unsigned long long)number);
    all->rc = rc;
    all->why = *why;
}

static bool is_of_the_line(int rc)
{
    return rc == SL_ECORRUPT || rc == SL_EUNSUPPORTED || rc == SL_EINPUT || rc == SL_ENOTFOUND;
}

static void drop_item(struct sl_apply_item *item)
{
    sl_compact_result_release(item->result);
    sl_free(item->result);
}

/* Statistics that do not fit the columns would make readers skip rows. */
static int check_stats(const struct sl_data_file *f, const struct sl_schema *schema, sl_err *err)
{
    size_t n = f->has_value_stats_cols ? f->nvalue_stats_cols : f->has_write_cols ? f->nwrite_cols : schema->nfields;
    const struct sl_stats *st = &f->value_stats;
    uint32_t min = 0, max = 0;

    for (size_t i = 0; f->has_value_stats_cols && i < n; i++)
        if (!sl_schema_field(schema, f->value_stats_cols[i]))
            return sl_err_set(err, SL_ECORRUPT, "\"statsCols\" names \"" SL_STRF "\", which is no column of schema %lld",
                              SL_STRV(f->value_stats_cols[i]), (long long)schema->id);
    if (!sl_binrow_arity(st->min, &min) || !sl_binrow_arity(st->max, &max) || min != max || (min != n && min != 0) ||
        (st->nnull_counts != n && st->nnull_counts != 0))
        return sl_err_set(err, SL_ECORRUPT, "\"stats\" has %zu null counts, %u least and %u greatest values, where there are %zu columns",
                          st->nnull_counts, min, max, n);
    for (size_t i = 0; i < st->nnull_counts; i++)
        if (st->null_counts[i] < -1 || st->null_counts[i] > f->row_count)
            return sl_err_set(err, SL_ECORRUPT, "\"stats\" has %lld nulls in %lld rows", (long long)st->null_counts[i],
                              (long long)f->row_count);
    return SL_OK;
}

static int check_output(struct sl_append *t, const struct sl_compact_task *task, const struct sl_manifest_entry *e, sl_err *err)
{
    const struct sl_schema *schema = NULL;

    if (e->file.schema_id < task->schema_id || e->file.schema_id > t->schema->id)
        return sl_err_set(err, SL_ECORRUPT, "\"schema\" is %lld, where the task has %lld and the table %lld", (long long)e->file.schema_id,
                          (long long)task->schema_id, (long long)t->schema->id);
    SL_TRY(sl_append_schema(t, e->file.schema_id, &schema, err));
    return check_stats(&e->file, schema, err);
}

/* Take out the lines that do not fit the table. */
static int check_results(struct results *all, struct sl_append *t, sl_err *err)
{
    size_t kept = 0;
    int rc = SL_OK;

    for (size_t i = 0; i < all->n; i++) {
        const struct sl_compact_result *r = all->v[i].result;
        sl_err why = SL_ERR_INIT;
        int own = SL_OK;

        for (size_t k = 0; rc == SL_OK && own == SL_OK && k < r->noutputs; k++) {
            own = check_output(t, &r->task, &r->outputs[k], &why);
            if (own != SL_OK)
                sl_err_ctx(&why, "output %zu", k + 1);
        }
        if (own != SL_OK && is_of_the_line(own)) {
            bad_line(all, all->numbers.v[i], own, &why);
            drop_item(&all->v[i]);
            continue;
        }
        if (own != SL_OK) {
            rc = own;
            if (err)
                *err = why;
        }
        all->v[kept++] = all->v[i];
    }
    all->n = kept;
    return rc;
}

static int add_line(struct results *all, sl_str line, uint64_t number, sl_err *err)
{
    struct sl_compact_result *r = sl_calloc(1, sizeof *r);
    struct sl_apply_item *item = NULL;
    int rc = r ? sl_compact_result_decode(line, r, err) : sl_err_nomem(err);

    if (rc == SL_OK && all->n > 0) {
        const struct sl_compact_task *first = &all->v[0].result->task;

        if (strcmp(first->table, r->task.table) != 0 || strcmp(first->branch ? first->branch : "", r->task.branch ? r->task.branch : "") != 0)
            rc = sl_err_set(err, SL_EINPUT, "results of two tables, \"%s\" and \"%s\"", first->table, r->task.table);
    }
    uint64_t *n = rc == SL_OK ? sl_vec_push(&all->numbers) : NULL;
    if (rc == SL_OK && (!n || !(item = sl_vec_push(all))))
        rc = sl_err_nomem(err);
    if (rc != SL_OK) {
        if (r)
            sl_compact_result_release(r);
        sl_free(r);
        return rc;
    }
    *n = number;
    item->result = r;
    return SL_OK;
}

static int read_results(struct results *all, sl_str first, int (*next)(void *user, sl_str *line, sl_err *err), void *user, sl_err *err)
{
    sl_str line = first;

    for (uint64_t number = 1; line.p; number++) {
        sl_err why = SL_ERR_INIT;
        int rc = sl_str_trim(line).n > 0 ? add_line(all, line, number, &why) : SL_OK;

        if (rc != SL_OK && !is_of_the_line(rc)) {
            if (err)
                *err = why;
            return rc;
        }
        if (rc != SL_OK)
            bad_line(all, number, rc, &why);
        SL_TRY(next(user, &line, err));
    }
    return SL_OK;
}

int sl_compact_apply(struct sl_env *env, sl_str table, int (*next)(void *user, sl_str *line, sl_err *err), void *user,
                     struct sl_compact_report *report, sl_err *err)
{
    const struct sl_apply_opts opts = {.look_first = true};
    struct sl_compact_report own = {0};
    struct results all = {.why = SL_ERR_INIT};
    struct sl_append *t = NULL;
    sl_str first = {NULL, 0};
    int rc;

    do
        SL_GO(next(user, &first, err));
    while (first.p && sl_str_trim(first).n == 0);
    if (first.p && sl_log_line(first)) {
        rc = sl_log_apply_lines(env, table, first, next, user, &own, err);
        goto done;
    }
    SL_GO(read_results(&all, first, next, user, err));
    if (all.n == 0)
        goto done;
    SL_GO(open_of(env, table, &all.v[0].result->task, &t, err));
    own.tasks_planned = all.n;
    SL_GO(check_results(&all, t, err));
    if (all.n == 0)
        goto done;
    SL_GO(sl_compact_apply_results(t, all.v, all.n, &opts, &own, err));
    if (own.tasks_failed > 0)
        rc = sl_err_set(err, sl_compact_failure_code(own.failure_code), "%llu of %zu tasks failed; the first one: %s",
                        (unsigned long long)own.tasks_failed, all.n, own.failure);
done:
    if (rc == SL_OK && all.bad > 0) {
        rc = all.rc;
        if (err)
            *err = all.why;
        if (all.bad > 1)
            sl_err_ctx(err, "%llu bad lines, the first one", (unsigned long long)all.bad);
    }
    if (report)
        *report = own;
    for (size_t i = 0; i < all.n; i++)
        drop_item(&all.v[i]);
    sl_free(all.v);
    sl_free(all.numbers.v);
    sl_append_close(t);
    return rc;
}
