#include "base/sys.h"

#include "base/mem.h"

struct run {
    int (*fn)(void *user, size_t i, sl_err *err);
    void *user;
    size_t count;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* rc, err */
    int rc;
    sl_err *err; /* the caller's, may be NULL */
};

static void work(struct run *r)
{
    while (!atomic_load(&r->stop)) {
        sl_err err = SL_ERR_INIT;
        size_t i = atomic_fetch_add(&r->next, 1);

        if (i >= r->count)
            return;
        int rc = r->fn(r->user, i, &err);
        if (rc == SL_OK)
            continue;
        atomic_store(&r->stop, true);
        pthread_mutex_lock(&r->lock);
        if (r->rc == SL_OK) {
            r->rc = rc;
            if (r->err)
                *r->err = err;
        }
        pthread_mutex_unlock(&r->lock);
    }
}

static void *work_thread(void *arg)
{
    work(arg);
    return NULL;
}

int sl_parallel(size_t threads, size_t count, int (*fn)(void *user, size_t i, sl_err *err), void *user, sl_err *err)
{
    struct run r = {.fn = fn, .user = user, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER, .rc = SL_OK, .err = err};
    size_t helpers = threads < count ? threads : count, started = 0;
    pthread_t *ids = NULL;

    helpers = helpers > 1 ? helpers - 1 : 0; /* the caller is one of them */
    if (helpers > 0) {
        ids = sl_reallocarray(NULL, helpers, sizeof *ids);
        if (!ids)
            return sl_err_nomem(err);
    }
    /* With fewer threads than asked for the work gets done all the same. */
    while (started < helpers && pthread_create(&ids[started], NULL, work_thread, &r) == 0)
        started++;
    work(&r);
    for (size_t i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    pthread_mutex_destroy(&r.lock);
    sl_free(ids);
    return r.rc;
}
