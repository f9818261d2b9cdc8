/*
 * tasks.h - threads that run short tasks, now or at a time. A task that waits for its next attempt occupies no thread.
 */
#ifndef SL_EXCHANGE_TASKS_H
#define SL_EXCHANGE_TASKS_H

#include "base/str.h"

struct sl_tasks;

/* Lives in its owner; in the list of at most one pool, and once. */
struct sl_task {
    void (*run)(struct sl_task *t, bool stop); /* STOP: the threads are ending, do nothing but let go */
    int64_t due;                               /* monotonic ns, of the pool */
    bool hurried;                              /* of the pool, as below */
    struct sl_task *next;
};

/* At most MAX_THREADS, one of them kept, the others ended after IDLE_MILLIS without work. */
int sl_tasks_new(size_t max_threads, int64_t idle_millis, struct sl_tasks **out, sl_err *err) SL_WUR;
/* Runs T after DELAY_MILLIS (0: now, in the order of submission). After the close has begun it is run at once with STOP. */
void sl_tasks_submit(struct sl_tasks *p, struct sl_task *t, int64_t delay_millis);
/* From now on T waits for no time: it is run at once, and so whenever it is submitted. */
void sl_tasks_hurry(struct sl_tasks *p, struct sl_task *t);
/* Runs all that wait with STOP, and waits for those that run. NULL is fine. */
void sl_tasks_close(struct sl_tasks *p);
/* Frees it after the close; no task may be submitted any more. NULL is fine. */
void sl_tasks_free(struct sl_tasks *p);

#endif
