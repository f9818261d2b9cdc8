/* The sending side of a node: a sink, and the task that tells the receiver of its blocks. */
#include <inttypes.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/node_priv.h"

enum { SIZES_AT_ONCE = 1024 };

/* There is something to tell: a task that runs already looks once more. */
static void changed(void *user)
{
    struct sl_sink_channel *c = user;

    pthread_mutex_lock(&c->lock);
    bool start = !c->telling;
    c->telling = true;
    c->again = !start;
    pthread_mutex_unlock(&c->lock);
    if (start)
        sl_tasks_submit(c->x->tasks, &c->task, 0);
}

/* After this the channel may be gone, unless it returns true: there is more. */
static bool finish_telling(struct sl_sink_channel *c, bool never_again)
{
    pthread_mutex_lock(&c->lock);
    bool more = c->again && !never_again;
    c->again = false;
    if (!more) {
        c->telling = false;
        pthread_cond_broadcast(&c->wake);
    }
    pthread_mutex_unlock(&c->lock);
    return more;
}

static int tell_call(struct sl_sink_channel *c, const struct sl_mpp_call *call, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_mpp_reply reply;
    int rc = sl_client_call(c->x->client, c->target_address, &c->interrupt, call, &arena, &reply, err);

    sl_arena_release(&arena);
    return rc;
}

/* Tells what there is. OK: all told for now. */
static int tell_news(struct sl_sink_channel *c, sl_err *err)
{
    int64_t sizes[SIZES_AT_ONCE];

    for (;;) {
        struct sl_news news;

        sl_sink_news(c->sink, c->told, sizes, SIZES_AT_ONCE, 0, &news);
        if (news.gone || (news.n == 0 && !news.ended))
            return SL_OK;
        if (news.n > 0) {
            struct sl_mpp_call call = {.method = SL_MPP_NEW,
                                       .u.added = {c->target, c->target_node, c->source, news.start, sizes, news.n}};
            SL_TRY(tell_call(c, &call, err));
            c->told += (int32_t)news.n;
        }
        if (news.ended) {
            struct sl_mpp_call call = {.method = SL_MPP_END, .u.end = {c->target, c->target_node, c->source, news.last}};
            SL_TRY(tell_call(c, &call, err));
            sl_sink_end_told(c->sink);
            return SL_OK;
        }
        c->tries = 0;
    }
}

/* An error reply to news is final: the receiver refused. Everything else gets its attempts. */
static bool may_retry(struct sl_sink_channel *c, int rc, const sl_err *err)
{
    return (err->flags & SL_ERR_RETRY) && rc != SL_EFAIL && ++c->tries < c->x->attempts;
}

static void run_telling(struct sl_task *t, bool stop)
{
    struct sl_sink_channel *c = (struct sl_sink_channel *)((char *)t - offsetof(struct sl_sink_channel, task));
    sl_err err = SL_ERR_INIT;

    while (!stop) {
        int rc = tell_news(c, &err);

        if (rc != SL_OK && may_retry(c, rc, &err) && sl_sink_state(c->sink) <= SL_SINK_ENDED) {
            sl_tasks_submit(c->x->tasks, t, c->x->pause_millis);
            return;
        }
        if (rc != SL_OK) {
            sl_err_ctx(&err, "the receiver cannot be told of new blocks");
            sl_sink_abort(c->sink, &err);
        }
        if (!finish_telling(c, false))
            return;
    }
    finish_telling(c, true);
}

/* ---- opening and freeing ---- */

static int name_channel(struct sl_sink_channel *c, const struct sl_sink_opts *o, sl_err *err)
{
    SL_TRY(sl_exchange_instance(&c->arena, &o->source, &c->source, err));
    SL_TRY(sl_exchange_instance(&c->arena, &o->target, &c->target, err));
    c->target_node = sl_arena_str(&c->arena, o->target_node);
    if (!c->target_node.p)
        return sl_err_nomem(err);
    c->target_address = sl_exchange_address(&c->arena, o->target_address, err);
    return c->target_address ? SL_OK : err ? err->code : SL_EUSAGE;
}

static int register_channel(struct sl_sink_channel *c, sl_err *err)
{
    struct sl_exchange *x = c->x;
    int rc = sl_exchange_key(&c->arena, &c->source, NULL, &c->key, err);

    if (rc != SL_OK)
        return rc;
    pthread_mutex_lock(&x->lock);
    void **slot = sl_map_at(x->sinks, c->key);
    if (!slot)
        rc = sl_err_nomem(err);
    for (struct sl_sink_channel *i = slot ? *slot : NULL; i && rc == SL_OK; i = i->next)
        if (i->index == c->index)
            rc = sl_err_set(err, SL_EEXISTS, "the instance has a channel %" PRId32 " already", c->index);
    if (rc == SL_OK) {
        c->next = *slot;
        *slot = c;
    }
    pthread_mutex_unlock(&x->lock);
    return rc;
}

static void unregister_channel(struct sl_sink_channel *c)
{
    struct sl_exchange *x = c->x;

    pthread_mutex_lock(&x->lock);
    struct sl_sink_channel *first = sl_map_get(x->sinks, c->key), **i = &first;
    while (*i != c)
        i = &(*i)->next;
    *i = c->next;
    if (first)
        *sl_map_at(x->sinks, c->key) = first; /* the key is there, so this needs no memory */
    else
        sl_map_del(x->sinks, c->key, NULL);
    pthread_mutex_unlock(&x->lock);
}

static void channel_release(struct sl_sink_channel *c)
{
    sl_sink_unref(c->sink);
    sl_arena_release(&c->arena);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    sl_free(c);
}

int sl_sink_channel_open(struct sl_exchange *x, const struct sl_sink_opts *opts, struct sl_sink_channel **out, sl_err *err)
{
    struct sl_sink_channel *c = sl_calloc(1, sizeof *c);
    struct sl_mempool_query *query = NULL;
    int rc = SL_OK;

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    c->x = x;
    c->index = opts->index;
    c->task.run = run_telling;
    c->interrupt = (struct sl_interrupt)SL_INTERRUPT_INIT;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    SL_GO(name_channel(c, opts, err));
    SL_GO(sl_mempool_query_get(x->pool, c->source.query, &query, err));
    struct sl_sink_setup setup = {query, opts->max_bytes, changed, c};
    SL_GO(sl_sink_new(&setup, &c->sink, err));
    SL_GO(register_channel(c, err));
    *out = c;
    c = NULL;
done:
    sl_mempool_query_unref(query);
    if (c)
        channel_release(c);
    return rc;
}

int sl_sink_channel_send(struct sl_sink_channel *c, uint64_t n, sl_serialize_fn *serialize, void *user, int64_t timeout_millis, sl_err *err)
{
    return sl_sink_send(c->sink, n, serialize, user, timeout_millis, err);
}

int sl_sink_channel_send_bytes(struct sl_sink_channel *c, struct sl_bytes *b, int64_t timeout_millis, sl_err *err)
{
    return sl_sink_send_bytes(c->sink, b, timeout_millis, err);
}

int sl_sink_channel_end(struct sl_sink_channel *c, sl_err *err)
{
    return sl_sink_end(c->sink, err);
}

int sl_sink_channel_wait(struct sl_sink_channel *c, int64_t timeout_millis, sl_err *err)
{
    return sl_sink_wait(c->sink, timeout_millis, err);
}

void sl_sink_channel_abort(struct sl_sink_channel *c)
{
    sl_sink_abort(c->sink, NULL);
    sl_interrupt(&c->interrupt);
    sl_tasks_hurry(c->x->tasks, &c->task);
}

void sl_sink_channel_free(struct sl_sink_channel *c)
{
    if (!c)
        return;
    sl_sink_channel_abort(c);
    unregister_channel(c);
    sl_sink_detach(c->sink);
    pthread_mutex_lock(&c->lock);
    while (c->telling)
        pthread_cond_wait(&c->wake, &c->lock);
    pthread_mutex_unlock(&c->lock);
    channel_release(c);
}
