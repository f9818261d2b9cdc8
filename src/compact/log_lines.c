/* log_lines.c - the three steps apart, for log tables. */
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "compact/log_task.h"
#include "table/env.h"

/* ---- plan ---- */

int sl_log_plan_lines(struct sl_log *t, const struct sl_compact_options *options, sl_compact_line_fn *emit, void *user,
                      struct sl_compact_report *report, sl_err *err)
{
    struct sl_compaction_ops ops = SL_COMPACTION_OPS_INIT;
    struct sl_log_schedule_result s;
    struct sl_buf line = SL_BUF_INIT;
    int rc;

    SL_GO(sl_log_schedule(t, options, &s, err));
    report->seen = s.newest;
    report->snapshot = s.instant;
    report->rounds = 1;
    report->files_waiting = s.waiting;
    SL_GO(sl_log_compact_pending(t, &ops, err));
    for (size_t i = 0; i < ops.v.n; i++) {
        const struct sl_log_task task = {.table = t->path, .op = ops.v.v[i]};

        sl_buf_reset(&line);
        SL_GO(sl_log_task_encode(&task, &line, err));
        SL_GO(emit(user, sl_buf_view(&line), err));
        report->tasks_planned++;
        report->files_in += task.op.nlogs + (task.op.base.p != NULL);
    }
done:
    sl_buf_release(&line);
    sl_compaction_ops_release(&ops);
    return rc;
}

/* ---- work ---- */

static int open_of(struct sl_env *env, sl_str table, const struct sl_log_task *task, struct sl_log **out, sl_err *err)
{
    *out = NULL;
    if (table.n)
        SL_TRY(sl_env_log(env, table, out, err));
    else
        SL_TRY(sl_log_open_path(sl_str_c(task->table), out, err));
    if (!*out)
        return sl_err_set(err, SL_EINPUT, "the lines are of a log table, and \"" SL_STRF "\" is none", SL_STRV(table));
    int rc = sl_log_check_write(*out, err);
    if (rc != SL_OK) {
        sl_log_close(*out);
        *out = NULL;
    }
    return rc;
}

static int work(struct sl_env *env, sl_str table, struct sl_log_result *r, struct sl_log **t, sl_err *err)
{
    struct sl_engine *engine = NULL;
    struct sl_conn *conn = NULL;
    int rc;

    SL_TRY(open_of(env, table, &r->task, t, err));
    SL_TRY(sl_env_engine(env, &engine, err));
    SL_TRY(sl_conn_open(engine, &conn, err));
    rc = sl_log_compact_work(*t, NULL, conn, &r->task.op, &r->task.arena, &r->made, err);
    sl_conn_close(conn);
    return rc;
}

int sl_log_work_line(struct sl_env *env, sl_str table, sl_str line, char **result, sl_err *err)
{
    struct sl_log_result r = {.task = {.arena = SL_ARENA_INIT}};
    struct sl_log *t = NULL;
    struct sl_buf out = SL_BUF_INIT;
    sl_err why = SL_ERR_INIT;
    int rc;

    *result = NULL;
    SL_GO(sl_log_task_decode(line, &r.task, err));
    r.error = work(env, table, &r, &t, &why);
    r.error_text = why.text;
    SL_GO(sl_log_result_encode(&r, &out, err));
    *result = sl_buf_take(&out);
    rc = *result ? SL_OK : sl_err_nomem(err);
done:
    if (rc != SL_OK && t)
        sl_log_made_discard(t, &r.made);
    sl_buf_release(&out);
    sl_log_result_release(&r);
    sl_log_close(t);
    return rc;
}

/* ---- apply ---- */

struct results {
    struct sl_log_result **v;
    size_t n, cap;
};

static int add_line(struct results *all, sl_str line, uint64_t number, sl_err *err)
{
    struct sl_log_result *r = sl_calloc(1, sizeof *r), **slot = NULL;
    int rc = r ? sl_log_result_decode(line, r, err) : sl_err_nomem(err);

    if (rc == SL_OK && all->n > 0 && strcmp(all->v[0]->task.table, r->task.table) != 0)
        rc = sl_err_set(err, SL_EINPUT, "results of two tables, \"%s\" and \"%s\"", all->v[0]->task.table, r->task.table);
    if (rc == SL_OK && !(slot = sl_vec_push(all)))
        rc = sl_err_nomem(err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "line %llu", (unsigned long long)number);
        if (r)
            sl_log_result_release(r);
        sl_free(r);
        return rc;
    }
    *slot = r;
    return SL_OK;
}

static int by_plan(const void *a, const void *b)
{
    const struct sl_compaction_op *x = &(*(struct sl_log_result *const *)a)->task.op, *y = &(*(struct sl_log_result *const *)b)->task.op;

    return x->instant < y->instant ? -1 : x->instant > y->instant;
}

static int apply_all(struct sl_log *t, struct results *all, struct sl_compact_report *report, sl_err *err)
{
    qsort(all->v, all->n, sizeof *all->v, by_plan);
    report->tasks_planned = all->n;
    for (size_t i = 0, n; i < all->n; i += n) {
        for (n = 1; i + n < all->n && all->v[i + n]->task.op.instant == all->v[i]->task.op.instant;)
            n++;
        SL_TRY(sl_log_apply_plan(t, &all->v[i], n, report, err));
    }
    if (report->tasks_failed > 0)
        return sl_err_set(err, SL_EFAIL, "%llu of %zu tasks failed; the first one: %s", (unsigned long long)report->tasks_failed, all->n,
                          report->failure);
    return SL_OK;
}

int sl_log_apply_lines(struct sl_env *env, sl_str table, sl_str first, int (*next)(void *user, sl_str *line, sl_err *err), void *user,
                       struct sl_compact_report *report, sl_err *err)
{
    struct results all = {NULL, 0, 0};
    struct sl_log *t = NULL;
    sl_str line = first;
    int rc = SL_OK;

    for (uint64_t number = 1; line.p; number++) {
        if (sl_str_trim(line).n > 0)
            SL_GO(add_line(&all, line, number, err));
        SL_GO(next(user, &line, err));
    }
    SL_GO(open_of(env, table, &all.v[0]->task, &t, err));
    rc = apply_all(t, &all, report, err);
done:
    for (size_t i = 0; i < all.n; i++) {
        sl_log_result_release(all.v[i]);
        sl_free(all.v[i]);
    }
    sl_free(all.v);
    sl_log_close(t);
    return rc;
}
