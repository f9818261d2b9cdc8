/*
 * work.h - do a task: read its inputs, write its outputs. Nothing is published; a second run does no harm.
 */
#ifndef SL_COMPACT_WORK_H
#define SL_COMPACT_WORK_H

#include "compact/task.h"
#include "engine/engine.h"
#include "table/append/append.h"

/* Work on TASK, which moves into OUT, on CONN. What goes wrong with the work becomes OUT's error: OUT is always a result to pass on, and
 * its outputs, if any, are synced files. Any thread, one a connection. */
void sl_compact_task_work(struct sl_append *t, struct sl_conn *conn, struct sl_compact_task *task, struct sl_compact_result *out);

/* Make OUT the failed result of TASK, which moves into it. */
void sl_compact_result_fail(struct sl_compact_result *out, struct sl_compact_task *task, int code, const sl_err *why);

/* Remove the outputs' files. Only when it is known that no snapshot names them. */
void sl_compact_result_discard(struct sl_append *t, struct sl_compact_result *r);

/* ---- crew.c: threads that work on tasks ---- */
struct sl_env;
struct sl_crew;
int sl_crew_start(struct sl_env *env, uint32_t workers, struct sl_crew **out, sl_err *err) SL_WUR;
/* Hand over a task (moved; *TASK is empty afterwards also on failure) of table T, which must stay open until its result was taken. */
int sl_crew_give(struct sl_crew *c, struct sl_append *t, struct sl_compact_task *task, sl_err *err) SL_WUR;
/* The next finished result, the caller's (release and sl_free); NULL if there is none within WAIT_MS, or nothing is at work. */
struct sl_compact_result *sl_crew_take(struct sl_crew *c, int64_t wait_ms);
size_t sl_crew_busy(struct sl_crew *c); /* given and not taken */
/* Give up: running tasks are interrupted, waiting ones become failed results. Everything is still to be taken. */
void sl_crew_interrupt(struct sl_crew *c);
void sl_crew_free(struct sl_crew *c); /* after everything was taken; NULL is fine */

#endif
