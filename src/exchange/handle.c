/* The receiving side of a node: a source, and the tasks that pull its blocks and acknowledge them. */
#include <inttypes.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/node_priv.h"

#define OWNER(task, member) \
    ((struct sl_source_handle *)(void *)((char *)(task) - offsetof(struct sl_source_handle, member)))

/* ---- pulling ---- */

static int fetch(void *user, const struct sl_ask *ask, const struct sl_receiver *to, struct sl_received *out, sl_err *err)
{
    struct sl_source_handle *h = user;
    struct sl_mpp_get get = {h->source_id, ask->start, ask->end, h->index, ask->has_offset, ask->offset};

    return sl_client_fetch(h->x->client, h->address, &h->interrupt, &get, to, out, err);
}

static void run_pull(struct sl_task *t, bool stop)
{
    struct sl_source_handle *h = OWNER(t, pull);

    if (stop)
        sl_intake_pull_dropped(h->source);
    else if (sl_intake_pull(h->source, fetch, h) == SL_PULL_RETRY)
        sl_tasks_submit(h->x->tasks, t, h->x->pause_millis);
}

static void want_pull(void *user)
{
    struct sl_source_handle *h = user;

    sl_tasks_submit(h->x->tasks, &h->pull, 0);
}

/* ---- acknowledging ---- */

static int acknowledge(struct sl_source_handle *h, sl_err *err)
{
    struct sl_mpp_call call = {.method = SL_MPP_ACKNOWLEDGE, .u.ack = {h->source_id, h->ack_start, h->ack_end, h->index}};
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_mpp_reply reply;
    int rc = sl_client_call(h->x->client, h->address, &h->interrupt, &call, &arena, &reply, err);

    sl_arena_release(&arena);
    return rc;
}

static void run_ack(struct sl_task *t, bool stop)
{
    struct sl_source_handle *h = OWNER(t, ack);
    sl_err err = SL_ERR_INIT;

    if (stop) {
        sl_intake_ack_failed(h->source, NULL);
        return;
    }
    while (h->ack_started || sl_intake_ack_next(h->source, false, &h->ack_start, &h->ack_end)) {
        h->ack_started = true;
        int rc = acknowledge(h, &err);

        if (rc != SL_OK && (err.flags & SL_ERR_RETRY) && ++h->ack_tries < h->x->attempts) {
            sl_tasks_submit(h->x->tasks, t, h->x->pause_millis);
            return;
        }
        if (rc != SL_OK) {
            sl_err_ctx(&err, "blocks cannot be acknowledged");
            sl_intake_ack_failed(h->source, &err);
            return;
        }
        h->ack_tries = 0;
        h->ack_started = false;
        if (!sl_intake_ack_next(h->source, true, &h->ack_start, &h->ack_end))
            return; /* the handle may be gone now */
        h->ack_started = true;
    }
}

static void want_ack(void *user)
{
    struct sl_source_handle *h = user;

    sl_tasks_submit(h->x->tasks, &h->ack, 0);
}

static void interrupt(void *user)
{
    struct sl_source_handle *h = user;

    sl_interrupt(&h->interrupt);
    sl_tasks_hurry(h->x->tasks, &h->pull);
    sl_tasks_hurry(h->x->tasks, &h->ack);
}

/* ---- the close event, which outlives the handle ---- */

struct goodbye {
    struct sl_task task;
    struct sl_exchange *x; /* borrowed: it waits for its threads */
    struct sl_arena arena; /* owned */
    struct sl_mpp_instance id;
    const char *address;
    int32_t index;
    unsigned tries;
};

static void goodbye_free(struct goodbye *g)
{
    sl_arena_release(&g->arena);
    sl_free(g);
}

static void run_goodbye(struct sl_task *t, bool stop)
{
    struct goodbye *g = (struct goodbye *)(void *)((char *)t - offsetof(struct goodbye, task));
    struct sl_exchange *x = g->x;
    struct sl_mpp_call call = {.method = SL_MPP_CLOSE, .u.close = {g->id, g->index}};
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_mpp_reply reply;
    sl_err err = SL_ERR_INIT;
    int rc = stop ? SL_ECANCELLED : sl_client_call(x->client, g->address, NULL, &call, &arena, &reply, &err);

    sl_arena_release(&arena);
    if (rc != SL_OK && !stop && (err.flags & SL_ERR_RETRY) && ++g->tries < x->attempts) {
        sl_tasks_submit(x->tasks, t, x->pause_millis);
        return;
    }
    if (rc != SL_OK && !stop)
        sl_log(SL_LOG_WARN, "exchange", "%s cannot be told that its blocks are not wanted any more: %s", g->address, err.text);
    goodbye_free(g);
    pthread_mutex_lock(&x->lock);
    x->closing--;
    pthread_cond_broadcast(&x->wake);
    pthread_mutex_unlock(&x->lock);
}

/* Without memory for it nothing is told: the sender finds out when its query ends. */
static void say_goodbye(struct sl_source_handle *h)
{
    struct goodbye *g = sl_calloc(1, sizeof *g);
    struct sl_fragment_instance id = {h->source_id.query, h->source_id.fragment, h->source_id.instance};

    if (!g)
        return;
    g->x = h->x;
    g->index = h->index;
    g->task.run = run_goodbye;
    g->address = sl_arena_strdup(&g->arena, sl_str_c(h->address));
    if (!g->address || sl_exchange_instance(&g->arena, &id, &g->id, NULL) != SL_OK) {
        goodbye_free(g);
        return;
    }
    pthread_mutex_lock(&h->x->lock);
    h->x->closing++;
    pthread_mutex_unlock(&h->x->lock);
    sl_tasks_submit(h->x->tasks, &g->task, 0);
}

/* ---- opening and freeing ---- */

static int name_handle(struct sl_source_handle *h, const struct sl_source_opts *o, sl_err *err)
{
    SL_TRY(sl_exchange_instance(&h->arena, &o->source, &h->source_id, err));
    SL_TRY(sl_exchange_instance(&h->arena, &o->target, &h->target, err));
    h->target_node = sl_arena_str(&h->arena, o->target_node);
    if (!h->target_node.p)
        return sl_err_nomem(err);
    h->address = sl_exchange_address(&h->arena, o->source_address, err);
    return h->address ? SL_OK : err ? err->code : SL_EUSAGE;
}

static int register_handle(struct sl_source_handle *h, sl_err *err)
{
    struct sl_exchange *x = h->x;
    int rc = sl_exchange_key(&h->arena, &h->target, &h->target_node, &h->key, err);

    if (rc != SL_OK)
        return rc;
    pthread_mutex_lock(&x->lock);
    void **slot = sl_map_at(x->sources, h->key);
    if (!slot)
        rc = sl_err_nomem(err);
    else if (*slot)
        rc = sl_err_set(err, SL_EEXISTS, "plan node \"" SL_STRF "\" of the instance has a source already", SL_STRV(h->target_node));
    else
        *slot = h;
    pthread_mutex_unlock(&x->lock);
    return rc;
}

static void unregister_handle(struct sl_source_handle *h)
{
    struct sl_exchange *x = h->x;

    pthread_mutex_lock(&x->lock);
    sl_map_del(x->sources, h->key, NULL);
    while (h->busy > 0)
        pthread_cond_wait(&x->wake, &x->lock);
    pthread_mutex_unlock(&x->lock);
}

static void handle_release(struct sl_source_handle *h)
{
    sl_intake_free(h->source);
    sl_arena_release(&h->arena);
    sl_free(h);
}

int sl_source_handle_open(struct sl_exchange *x, const struct sl_source_opts *opts, struct sl_source_handle **out, sl_err *err)
{
    struct sl_source_handle *h = sl_calloc(1, sizeof *h);
    struct sl_mempool_query *query = NULL;
    int rc = SL_OK;

    *out = NULL;
    if (!h)
        return sl_err_nomem(err);
    h->x = x;
    h->index = opts->index;
    h->pull.run = run_pull;
    h->ack.run = run_ack;
    h->interrupt = (struct sl_interrupt)SL_INTERRUPT_INIT;
    SL_GO(name_handle(h, opts, err));
    SL_GO(sl_mempool_query_get(x->pool, h->target.query, &query, err));
    struct sl_intake_setup setup = {query, opts->max_bytes, opts->whole_blocks, x->attempts, want_pull, want_ack, interrupt, h};
    SL_GO(sl_intake_new(&setup, &h->source, err));
    SL_GO(register_handle(h, err));
    *out = h;
    h = NULL;
done:
    sl_mempool_query_unref(query);
    if (h)
        handle_release(h);
    return rc;
}

int sl_source_handle_next(struct sl_source_handle *h, int64_t timeout_millis, struct sl_bytes **out, sl_err *err)
{
    return sl_intake_next(h->source, timeout_millis, out, err);
}

void sl_source_handle_close(struct sl_source_handle *h)
{
    if (sl_intake_close(h->source))
        say_goodbye(h);
}

void sl_source_handle_abort(struct sl_source_handle *h)
{
    sl_intake_abort(h->source, NULL);
}

void sl_source_handle_free(struct sl_source_handle *h)
{
    if (!h)
        return;
    unregister_handle(h);
    if (!sl_intake_finished(h->source))
        sl_intake_abort(h->source, NULL);
    sl_intake_settle(h->source);
    handle_release(h);
}
