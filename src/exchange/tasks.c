#include "exchange/tasks.h"

#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "base/sys.h"

struct sl_tasks {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake, ended;
    struct sl_task *first, **last; /* due now */
    struct sl_task *later;         /* by time */
    size_t max_threads, threads, idle, queued;
    int64_t idle_nanos;
    bool closing;
};

static int start_thread(struct sl_tasks *p);

static void add_now(struct sl_tasks *p, struct sl_task *t)
{
    t->next = NULL;
    *p->last = t;
    p->last = &t->next;
    p->queued++;
    if (p->queued > p->idle && p->threads < p->max_threads)
        (void)start_thread(p); /* without it, one of those that run takes the task */
    pthread_cond_signal(&p->wake);
}

static void move_due(struct sl_tasks *p)
{
    int64_t now = p->later ? sl_mono_nanos() : 0;

    while (p->later && (p->closing || p->later->due <= now)) {
        struct sl_task *t = p->later;

        p->later = t->next;
        add_now(p, t);
    }
}

static struct sl_task *take_first(struct sl_tasks *p)
{
    struct sl_task *t = p->first;

    if (t) {
        p->queued--;
        p->first = t->next;
        if (!p->first)
            p->last = &p->first;
    }
    return t;
}

/* Waits for work; false: this thread has idled long enough. */
static bool wait_for_work(struct sl_tasks *p)
{
    int64_t give_up = sl_mono_nanos() + p->idle_nanos;
    bool kept = p->threads == 1;
    int64_t end = p->later && (kept || p->later->due < give_up) ? p->later->due : give_up;

    p->idle++;
    if (kept && !p->later) {
        pthread_cond_wait(&p->wake, &p->lock);
    } else {
        struct timespec t = {end / 1000000000, end % 1000000000};
        pthread_cond_timedwait(&p->wake, &p->lock, &t);
    }
    p->idle--;
    move_due(p);
    return p->first || p->closing || p->threads == 1 || sl_mono_nanos() < give_up;
}

static void *work(void *arg)
{
    struct sl_tasks *p = arg;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        move_due(p);
        struct sl_task *t = take_first(p);
        if (t) {
            bool stop = p->closing;

            pthread_mutex_unlock(&p->lock);
            t->run(t, stop);
            pthread_mutex_lock(&p->lock);
        } else if (p->closing || !wait_for_work(p)) {
            break;
        }
    }
    p->threads--;
    pthread_cond_broadcast(&p->ended);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int start_thread(struct sl_tasks *p)
{
    pthread_attr_t attr;
    pthread_t id;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int why = pthread_create(&id, &attr, work, p);
    pthread_attr_destroy(&attr);
    p->threads += why == 0;
    return why;
}

int sl_tasks_new(size_t max_threads, int64_t idle_millis, struct sl_tasks **out, sl_err *err)
{
    struct sl_tasks *p = sl_calloc(1, sizeof *p);
    pthread_condattr_t attr;

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &attr);
    pthread_cond_init(&p->ended, &attr);
    pthread_condattr_destroy(&attr);
    p->last = &p->first;
    p->max_threads = max_threads ? max_threads : 1;
    p->idle_nanos = idle_millis * 1000000;
    pthread_mutex_lock(&p->lock);
    int why = start_thread(p);
    pthread_mutex_unlock(&p->lock);
    if (why != 0) {
        sl_tasks_free(p);
        return sl_err_sys(err, why, "cannot start a thread of the exchange");
    }
    *out = p;
    return SL_OK;
}

void sl_tasks_submit(struct sl_tasks *p, struct sl_task *t, int64_t delay_millis)
{
    pthread_mutex_lock(&p->lock);
    if (p->closing) {
        pthread_mutex_unlock(&p->lock);
        t->run(t, true);
        return;
    }
    if (delay_millis <= 0 || t->hurried) {
        add_now(p, t);
    } else {
        struct sl_task **at = &p->later;

        t->due = sl_mono_nanos() + delay_millis * 1000000;
        while (*at && (*at)->due <= t->due)
            at = &(*at)->next;
        t->next = *at;
        *at = t;
        pthread_cond_signal(&p->wake); /* it may be the first to be waited for */
    }
    pthread_mutex_unlock(&p->lock);
}

void sl_tasks_hurry(struct sl_tasks *p, struct sl_task *t)
{
    pthread_mutex_lock(&p->lock);
    t->hurried = true;
    for (struct sl_task **at = &p->later; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            add_now(p, t);
            break;
        }
    pthread_mutex_unlock(&p->lock);
}

void sl_tasks_close(struct sl_tasks *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    move_due(p);
    pthread_cond_broadcast(&p->wake);
    while (p->threads > 0)
        pthread_cond_wait(&p->ended, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void sl_tasks_free(struct sl_tasks *p)
{
    if (!p)
        return;
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    sl_free(p);
}
