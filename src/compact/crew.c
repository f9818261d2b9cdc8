/* crew.c - threads that turn tasks into results. */
#include "base/sys.h"
#include "compact/work.h"
#include "table/env.h"

struct job {
    struct job *next;
    struct sl_append *table;
    struct sl_compact_result *result; /* owned; its task is still to be done, or all of it is done */
};

struct list {
    struct job *first, *last;
};

struct worker {
    struct sl_crew *crew;
    pthread_t thread;
    struct sl_conn *conn; /* while a task runs; under the crew's lock */
};

struct sl_crew {
    struct sl_env *env;
    struct worker *workers; /* owned */
    uint32_t started;
    pthread_mutex_t lock; /* all below, and workers' conn */
    pthread_cond_t work, done;
    struct list waiting, finished;
    size_t busy;
    bool stop;            /* end the threads */
    bool give_up;         /* do no more work */
};

static void append(struct list *l, struct job *j)
{
    j->next = NULL;
    if (l->last)
        l->last->next = j;
    else
        l->first = j;
    l->last = j;
}

static struct job *shift(struct list *l)
{
    struct job *j = l->first;

    if (j) {
        l->first = j->next;
        if (!l->first)
            l->last = NULL;
    }
    return j;
}

/* ---- the threads ---- */

static int open_conn(struct worker *w, struct sl_conn **conn, sl_err *err)
{
    struct sl_engine *engine = NULL;

    SL_TRY(sl_env_engine(w->crew->env, &engine, err));
    return sl_conn_open(engine, conn, err);
}

static void set_conn(struct worker *w, struct sl_conn *conn)
{
    pthread_mutex_lock(&w->crew->lock);
    w->conn = conn;
    if (conn && w->crew->give_up)
        sl_conn_interrupt(conn);
    pthread_mutex_unlock(&w->crew->lock);
}

static void do_job(struct worker *w, struct job *j, bool give_up)
{
    struct sl_compact_task task = j->result->task;
    struct sl_conn *conn = NULL;
    sl_err err = SL_ERR_INIT;
    int rc = give_up ? sl_err_set(&err, SL_ECANCELLED, "given up") : open_conn(w, &conn, &err);

    if (rc != SL_OK) {
        sl_compact_result_fail(j->result, &task, rc, &err);
        return;
    }
    set_conn(w, conn);
    sl_compact_task_work(j->table, conn, &task, j->result);
    set_conn(w, NULL);
    sl_conn_close(conn);
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct sl_crew *c = w->crew;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        struct job *j = shift(&c->waiting);

        if (!j && c->stop)
            break;
        if (!j) {
            pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        bool give_up = c->give_up;
        pthread_mutex_unlock(&c->lock);
        do_job(w, j, give_up || sl_cancelled());
        pthread_mutex_lock(&c->lock);
        append(&c->finished, j);
        pthread_cond_signal(&c->done);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the calls ---- */

int sl_crew_start(struct sl_env *env, uint32_t workers, struct sl_crew **out, sl_err *err)
{
    struct sl_crew *c = sl_calloc(1, sizeof *c);
    pthread_condattr_t attr;

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    workers = workers ? workers : 1;
    c->env = env;
    c->workers = sl_calloc(workers, sizeof *c->workers);
    if (!c->workers) {
        sl_free(c);
        return sl_err_nomem(err);
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->work, &attr);
    pthread_cond_init(&c->done, &attr);
    pthread_condattr_destroy(&attr);
    for (; c->started < workers; c->started++) {
        struct worker *w = &c->workers[c->started];

        w->crew = c;
        int e = pthread_create(&w->thread, NULL, run_worker, w);
        if (e == 0)
            continue;
        if (c->started > 0)
            break; /* fewer get it done too */
        sl_crew_free(c);
        return sl_err_sys(err, e, "cannot start a thread");
    }
    *out = c;
    return SL_OK;
}

int sl_crew_give(struct sl_crew *c, struct sl_append *t, struct sl_compact_task *task, sl_err *err)
{
    struct job *j = sl_calloc(1, sizeof *j);
    struct sl_compact_result *r = sl_calloc(1, sizeof *r);

    if (!j || !r) {
        sl_free(j);
        sl_free(r);
        sl_compact_task_release(task);
        return sl_err_nomem(err);
    }
    r->task = *task;
    *task = (struct sl_compact_task){.arena = SL_ARENA_INIT};
    j->table = t;
    j->result = r;
    pthread_mutex_lock(&c->lock);
    append(&c->waiting, j);
    c->busy++;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
    return SL_OK;
}

static void deadline_in(int64_t ms, struct timespec *out)
{
    clock_gettime(CLOCK_MONOTONIC, out);
    out->tv_sec += ms / 1000;
    out->tv_nsec += ms % 1000 * 1000000;
    if (out->tv_nsec >= 1000000000) {
        out->tv_sec++;
        out->tv_nsec -= 1000000000;
    }
}

struct sl_compact_result *sl_crew_take(struct sl_crew *c, int64_t wait_ms)
{
    struct sl_compact_result *r = NULL;
    struct timespec until;
    struct job *j;

    deadline_in(wait_ms, &until);
    pthread_mutex_lock(&c->lock);
    while (!(j = shift(&c->finished)) && c->busy > 0)
        if (pthread_cond_timedwait(&c->done, &c->lock, &until) != 0)
            break;
    if (!j)
        j = shift(&c->finished);
    if (j) {
        r = j->result;
        c->busy--;
    }
    pthread_mutex_unlock(&c->lock);
    sl_free(j);
    return r;
}

size_t sl_crew_busy(struct sl_crew *c)
{
    pthread_mutex_lock(&c->lock);
    size_t busy = c->busy;
    pthread_mutex_unlock(&c->lock);
    return busy;
}

void sl_crew_interrupt(struct sl_crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->give_up = true;
    for (uint32_t i = 0; i < c->started; i++)
        if (c->workers[i].conn)
            sl_conn_interrupt(c->workers[i].conn);
    pthread_mutex_unlock(&c->lock);
}

void sl_crew_free(struct sl_crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < c->started; i++)
        pthread_join(c->workers[i].thread, NULL);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    sl_free(c->workers);
    sl_free(c);
}
