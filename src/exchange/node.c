#include "exchange/node.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/node_priv.h"

enum { ATTEMPTS = 3, PAUSE_MILLIS = 1000, GOODBYE_MILLIS = 500, STATUS_OK = 200 };
static const uint64_t MEMORY = 1ull << 30;

static void add_key(struct sl_buf *out, const struct sl_mpp_instance *id, const sl_str *node)
{
    sl_buf_u32be(out, (uint32_t)id->query.n);
    sl_buf_add(out, id->query);
    sl_buf_u32be(out, (uint32_t)id->fragment);
    sl_buf_u32be(out, (uint32_t)id->instance.n);
    sl_buf_add(out, id->instance);
    if (node)
        sl_buf_add(out, *node);
}

int sl_exchange_key(struct sl_arena *a, const struct sl_mpp_instance *id, const sl_str *node, sl_str *out, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT;

    add_key(&key, id, node);
    *out = key.failed ? (sl_str){0} : sl_arena_str(a, sl_buf_view(&key));
    sl_buf_release(&key);
    return out->p ? SL_OK : sl_err_nomem(err);
}

int sl_exchange_instance(struct sl_arena *a, const struct sl_fragment_instance *id, struct sl_mpp_instance *out, sl_err *err)
{
    *out = (struct sl_mpp_instance){sl_arena_str(a, id->query), id->fragment, sl_arena_str(a, id->instance)};
    return out->query.p && out->instance.p ? SL_OK : sl_err_nomem(err);
}

char *sl_exchange_address(struct sl_arena *a, const char *address, sl_err *err)
{
    struct sl_address parsed;
    char *copy = NULL;

    if (sl_address_parse(address, &parsed, err) != SL_OK)
        return NULL;
    copy = sl_arena_strdup(a, sl_str_c(address));
    if (!copy)
        sl_err_nomem(err);
    return copy;
}

int sl_exchange_port(const struct sl_exchange *x)
{
    return x->server ? sl_server_port(x->server) : 0;
}

int sl_exchange_reload(struct sl_exchange *x, sl_err *err)
{
    return sl_settings_reload(x->settings, err);
}

uint64_t sl_exchange_memory_used(struct sl_exchange *x)
{
    return sl_mempool_used(x->pool);
}

uint64_t sl_exchange_max_payload(const struct sl_exchange *x)
{
    return sl_settings_max_payload(x->settings);
}

/* ---- what other nodes call ---- */

/* A reference to the channel's sink; NULL with *KNOWN telling whether the instance has others. */
static int find_sink(struct sl_exchange *x, const struct sl_mpp_instance *id, int32_t index, struct sl_sink **out, bool *known, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT;
    int rc;

    *out = NULL;
    add_key(&key, id, NULL);
    rc = sl_buf_ok(&key, err);
    if (rc == SL_OK) {
        pthread_mutex_lock(&x->lock);
        struct sl_sink_channel *c = sl_map_get(x->sinks, sl_buf_view(&key));
        *known = c != NULL;
        while (c && c->index != index)
            c = c->next;
        if (c)
            *out = sl_sink_ref(c->sink);
        pthread_mutex_unlock(&x->lock);
    }
    sl_buf_release(&key);
    return rc;
}

/* The handle, if there is one, which stays until it is given back. */
static int borrow_source(struct sl_exchange *x, const struct sl_mpp_instance *id, sl_str node, struct sl_source_handle **out, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT;
    int rc;

    *out = NULL;
    add_key(&key, id, &node);
    rc = sl_buf_ok(&key, err);
    if (rc == SL_OK) {
        pthread_mutex_lock(&x->lock);
        *out = sl_map_get(x->sources, sl_buf_view(&key));
        if (*out)
            (*out)->busy++;
        pthread_mutex_unlock(&x->lock);
    }
    sl_buf_release(&key);
    return rc;
}

static void give_back(struct sl_exchange *x, struct sl_source_handle *h)
{
    pthread_mutex_lock(&x->lock);
    h->busy--;
    pthread_cond_broadcast(&x->wake);
    pthread_mutex_unlock(&x->lock);
}

int sl_exchange_answer_get(const struct sl_settings *settings, struct sl_sink *sink, const struct sl_mpp_get *get, struct sl_answer *answer,
                           sl_err *err)
{
    struct sl_ask ask = {.start = get->start, .end = get->end, .has_offset = get->has_offset, .offset = get->offset};

    sl_response_clear(&answer->blocks);
    if (!sink || get->start >= get->end)
        return SL_OK;
    /* Read once a response, so a new limit holds from the next one on, in the middle of a block too. */
    ask.max_payload = sl_settings_max_payload(settings);
    ask.max_frame = (uint64_t)sl_settings_get(settings, SL_SET_MAX_FRAME);
    return sl_sink_get(sink, &ask, &answer->blocks, err);
}

static int answer_get(struct sl_exchange *x, const struct sl_mpp_get *get, struct sl_answer *answer, sl_err *err)
{
    bool known = false;
    struct sl_sink *sink = NULL;
    int rc = find_sink(x, &get->source, get->index, &sink, &known, err);

    if (rc != SL_OK)
        return rc;
    if (!sink && known)
        return sl_err_set(err, SL_EINPUT, "the instance has no channel %" PRId32, get->index);
    rc = sl_exchange_answer_get(x->settings, sink, get, answer, err);
    sl_sink_unref(sink);
    return rc;
}

static int take_new(struct sl_exchange *x, const struct sl_mpp_new *e, sl_err *err)
{
    struct sl_source_handle *h = NULL;
    int rc = borrow_source(x, &e->target, e->target_node, &h, err);

    if (h) {
        rc = sl_intake_new_blocks(h->source, e->start, e->sizes, e->nsizes, err);
        give_back(x, h);
    }
    return rc;
}

static int take_end(struct sl_exchange *x, const struct sl_mpp_end *e, sl_err *err)
{
    struct sl_source_handle *h = NULL;
    int rc = borrow_source(x, &e->target, e->target_node, &h, err);

    if (h) {
        rc = sl_intake_end(h->source, e->last, err);
        give_back(x, h);
    }
    return rc;
}

static int serve(void *user, const struct sl_caller *caller, const struct sl_mpp_call *call, struct sl_answer *answer, sl_err *err)
{
    struct sl_exchange *x = user;
    struct sl_sink *sink = NULL;
    bool known;

    (void)caller;
    switch (call->method) {
    case SL_MPP_GET_DATA_BLOCK:
        return answer_get(x, &call->u.get, answer, err);
    case SL_MPP_ACKNOWLEDGE:
        SL_TRY(find_sink(x, &call->u.ack.source, call->u.ack.index, &sink, &known, err));
        if (sink)
            sl_sink_acknowledge(sink, call->u.ack.start, call->u.ack.end);
        break;
    case SL_MPP_CLOSE:
        SL_TRY(find_sink(x, &call->u.close.source, call->u.close.index, &sink, &known, err));
        if (sink)
            sl_sink_close(sink);
        break;
    case SL_MPP_NEW:
        return take_new(x, &call->u.added, err);
    case SL_MPP_END:
        return take_end(x, &call->u.end, err);
    case SL_MPP_TEST:
        answer->reply.u.status.code = STATUS_OK;
        break;
    default:
        return sl_err_set(err, SL_EUNSUPPORTED, "the method \"" SL_STRF "\" is not supported", SL_STRV(call->name));
    }
    sl_sink_unref(sink);
    return SL_OK;
}

/* ---- the node itself ---- */

static int start_parts(struct sl_exchange *x, const struct sl_exchange_opts *o, sl_err *err)
{
    uint64_t memory = o->memory_bytes ? o->memory_bytes : MEMORY;

    SL_TRY(sl_settings_open(o->settings_file, &x->settings, err));
    const struct sl_settings *s = x->settings;
    SL_TRY(sl_mempool_new(memory, o->query_memory_bytes, &x->pool, err));
    SL_TRY(sl_tasks_new((size_t)sl_settings_get(s, SL_SET_TASK_THREADS), sl_settings_get(s, SL_SET_THREAD_IDLE_MILLIS), &x->tasks, err));
    struct sl_client_setup client = {
        .protocol = sl_settings_get(s, SL_SET_COMPACT) ? SL_THRIFT_COMPACT : SL_THRIFT_BINARY,
        .tls = &o->tls,
        .timeout_millis = sl_settings_get(s, SL_SET_TIMEOUT_MILLIS),
        .max_frame = (size_t)sl_settings_get(s, SL_SET_MAX_FRAME),
    };
    SL_TRY(sl_client_new(&client, &x->client, err));
    struct sl_server_setup server = {
        .listen = o->listen,
        .tls = &o->tls,
        .max_frame = client.max_frame,
        .max_clients = (size_t)sl_settings_get(s, SL_SET_MAX_CLIENTS),
        .timeout_millis = client.timeout_millis,
        .serve = serve,
        .user = x,
    };
    if (o->listen)
        SL_TRY(sl_server_start(&server, &x->server, err));
    return sl_settings_watch(x->settings, o->reload_on_sighup, err);
}

static int check_listen(const struct sl_exchange_opts *o, sl_err *err)
{
    struct sl_address a;

    if (!o->listen)
        return SL_OK;
    SL_TRY(sl_address_parse(o->listen, &a, err));
    if (o->tls.cert_file || o->plain_anywhere || sl_address_is_loopback(&a))
        return SL_OK;
    sl_err_set(err, SL_EUSAGE, "\"%s\" can be reached from other machines, and no certificate for TLS is given", o->listen);
    sl_err_hint(err, "listen on 127.0.0.1, or give certificate, key and authority");
    return SL_EUSAGE;
}

int sl_exchange_open(const struct sl_exchange_opts *opts, struct sl_exchange **out, sl_err *err)
{
    struct sl_exchange_opts none = {0};
    struct sl_exchange *x = NULL;
    pthread_condattr_t attr;
    int rc = SL_OK;

    *out = NULL;
    opts = opts ? opts : &none;
    SL_TRY(check_listen(opts, err));
    x = sl_calloc(1, sizeof *x);
    if (!x)
        return sl_err_nomem(err);
    pthread_mutex_init(&x->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&x->wake, &attr);
    pthread_condattr_destroy(&attr);
    x->attempts = opts->attempts ? opts->attempts : ATTEMPTS;
    x->pause_millis = opts->pause_millis ? opts->pause_millis : PAUSE_MILLIS;
    x->sinks = sl_map_new();
    x->sources = sl_map_new();
    if (!x->sinks || !x->sources)
        SL_GOTO_NOMEM(err);
    SL_GO(start_parts(x, opts, err));
    *out = x;
    x = NULL;
done:
    sl_exchange_close(x);
    return rc;
}

/* Close events that were just sent off get a moment; who is not reached finds out by the closed connections. */
static void say_goodbye(struct sl_exchange *x)
{
    int64_t end = sl_mono_nanos() + (int64_t)GOODBYE_MILLIS * 1000000;
    struct timespec t = {end / 1000000000, end % 1000000000};

    pthread_mutex_lock(&x->lock);
    while (x->closing > 0 && pthread_cond_timedwait(&x->wake, &x->lock, &t) == 0)
        continue;
    pthread_mutex_unlock(&x->lock);
}

void sl_exchange_close(struct sl_exchange *x)
{
    if (!x)
        return;
    say_goodbye(x);
    if (x->client)
        sl_client_stop(x->client);
    sl_server_stop(x->server);
    sl_tasks_close(x->tasks);
    sl_tasks_free(x->tasks);
    sl_client_free(x->client);
    sl_settings_close(x->settings);
    sl_mempool_unref(x->pool);
    sl_map_free(x->sinks, NULL);
    sl_map_free(x->sources, NULL);
    pthread_cond_destroy(&x->wake);
    pthread_mutex_destroy(&x->lock);
    sl_free(x);
}
