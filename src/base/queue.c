#include "base/sys.h"

#include <errno.h>
#include <time.h>

#include "base/mem.h"

struct item {
    void *p; /* owned by the queue while in it */
    size_t weight;
};

struct sl_queue {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t not_full, not_empty;
    struct item *ring; /* owned, of max_items */
    size_t max_items, max_weight;
    size_t first, count, weight;
    bool closed;
};

enum { CANCEL_POLL_MILLIS = 100 };

struct sl_queue *sl_queue_new(size_t max_items, size_t max_weight)
{
    struct sl_queue *q = sl_calloc(1, sizeof *q);
    pthread_condattr_t attr;

    if (!q)
        return NULL;
    q->max_items = max_items ? max_items : 1;
    q->max_weight = max_weight;
    q->ring = sl_calloc(q->max_items, sizeof *q->ring);
    if (!q->ring) {
        sl_free(q);
        return NULL;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->not_full, &attr);
    pthread_cond_init(&q->not_empty, &attr);
    pthread_condattr_destroy(&attr);
    return q;
}

void sl_queue_free(struct sl_queue *q)
{
    if (!q)
        return;
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    sl_free(q->ring);
    sl_free(q);
}

/* Waits until the monotonic time END (ns). */
static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t end)
{
    struct timespec t = {end / 1000000000, end % 1000000000};

    pthread_cond_timedwait(cond, lock, &t);
}

static bool has_room(const struct sl_queue *q, size_t weight)
{
    if (q->count == 0)
        return true;
    return q->count < q->max_items && weight <= q->max_weight && q->weight <= q->max_weight - weight;
}

bool sl_queue_push(struct sl_queue *q, void *item, size_t weight)
{
    bool ok = false;

    pthread_mutex_lock(&q->lock);
    while (!q->closed && !sl_cancelled() && !has_room(q, weight))
        wait_until(&q->not_full, &q->lock, sl_mono_nanos() + (int64_t)CANCEL_POLL_MILLIS * 1000000);
    if (!q->closed && !sl_cancelled()) {
        q->ring[(q->first + q->count) % q->max_items] = (struct item){item, weight};
        q->count++;
        q->weight += weight;
        ok = true;
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->lock);
    return ok;
}

void *sl_queue_pop(struct sl_queue *q, int64_t timeout_ms, bool *timed_out)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : sl_mono_nanos() + timeout_ms * 1000000;
    void *p = NULL;
    bool late = false;

    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !q->closed && !late) {
        if (timeout_ms < 0)
            pthread_cond_wait(&q->not_empty, &q->lock);
        else if (sl_mono_nanos() >= end)
            late = true;
        else
            wait_until(&q->not_empty, &q->lock, end);
    }
    if (q->count > 0) {
        struct item it = q->ring[q->first];

        p = it.p;
        late = false;
        q->first = (q->first + 1) % q->max_items;
        q->count--;
        q->weight -= it.weight;
        /* All, since a light item may fit where the first waiter's does not. */
        pthread_cond_broadcast(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    if (timed_out)
        *timed_out = late;
    return p;
}

void sl_queue_close(struct sl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->not_full);
    pthread_cond_broadcast(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}
