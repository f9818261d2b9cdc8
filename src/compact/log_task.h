/*
 * log_task.h - compaction of log tables: tasks and results as lines, and the ways to run them.
 *
 * The lines are those of append tables (task.h) with one member "log" in place of the inputs: a task is one operation of a compaction plan,
 * which stands on the table's timeline. A plan is committed when the results of all its operations are there.
 */
#ifndef SL_COMPACT_LOG_TASK_H
#define SL_COMPACT_LOG_TASK_H

#include "sluice/compact.h"
#include "table/log/compact.h"

struct sl_log_task {
    struct sl_arena arena;   /* owns the texts */
    const char *table;       /* absolute path */
    struct sl_compaction_op op;
};
struct sl_log_result {
    struct sl_log_task task; /* owned */
    struct sl_log_made made; /* texts of the task's arena */
    int error;               /* SL_OK, else the work failed and there is nothing staged */
    const char *error_text;
};

bool sl_log_line(sl_str line); /* is it a task or a result of a log table? */
int sl_log_task_encode(const struct sl_log_task *t, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_log_task_decode(sl_str line, struct sl_log_task *out, sl_err *err) SL_WUR;
void sl_log_task_release(struct sl_log_task *t);
int sl_log_result_encode(const struct sl_log_result *r, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_log_result_decode(sl_str line, struct sl_log_result *out, sl_err *err) SL_WUR;
void sl_log_result_release(struct sl_log_result *r);

/* ---- log_run.c, log_lines.c: what sluice/compact.h says, for an open log table ---- */
int sl_log_run(struct sl_env *env, sl_str name, struct sl_log *t, const struct sl_compact_options *options, struct sl_compact_report *report,
               sl_err *err) SL_WUR;
int sl_log_plan_lines(struct sl_log *t, const struct sl_compact_options *options, sl_compact_line_fn *emit, void *user,
                      struct sl_compact_report *report, sl_err *err) SL_WUR;
int sl_log_work_line(struct sl_env *env, sl_str table, sl_str line, char **result, sl_err *err) SL_WUR;
/* FIRST is the first line, already taken from NEXT. */
int sl_log_apply_lines(struct sl_env *env, sl_str table, sl_str first, int (*next)(void *user, sl_str *line, sl_err *err), void *user,
                       struct sl_compact_report *report, sl_err *err) SL_WUR;

/* Schedule as OPTIONS say. */
int sl_log_schedule(struct sl_log *t, const struct sl_compact_options *options, struct sl_log_schedule_result *out, sl_err *err) SL_WUR;
/* Commit the results of one plan, N of them; counts into REPORT. SL_OK also if the plan is not whole or gone: the report tells. */
int sl_log_apply_plan(struct sl_log *t, struct sl_log_result *const *v, size_t n, struct sl_compact_report *report, sl_err *err) SL_WUR;

#endif
