#include "exchange/server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

enum { CALL_MAX = 16 << 20, CALL_KEPT = 16384, ARENA_KEPT = 16384, REFUSED_LINGER_MILLIS = 200, ANSWER_SECONDS = 1 };

struct client {
    struct client *next, **at; /* of the server */
    struct sl_server *server;  /* borrowed: it waits for its clients */
    struct sl_link *conn;      /* owned */
    uint64_t number;
    atomic_bool answering;     /* a call was read and its answer is not written yet */
};

struct sl_server {
    struct sl_server_setup setup; /* constant; listen and tls are not kept */
    struct sl_tls *tls;           /* owned; NULL: plain */
    int listener, stop;           /* owned */
    int port;
    pthread_t thread;
    bool accepting;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t ended;
    struct client *clients;
    size_t nclients;
    uint64_t numbers;
    atomic_bool stopping; /* also read without it */
};

/* ---- one connection ---- */

struct session {
    struct client *client;
    struct sl_caller caller;
    struct sl_buf message, out;
    struct sl_answer answer;
    SL_VEC(sl_str) pieces, elements;
};

static int reserve(void *v, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return SL_OK;
    void *p = sl_reallocarray(*(void **)v, n, size);
    if (!p)
        return SL_ENOMEM;
    *(void **)v = p;
    *cap = n;
    return SL_OK;
}

static void session_release(struct session *s)
{
    sl_buf_release(&s->message);
    sl_buf_release(&s->out);
    sl_response_release(&s->answer.blocks);
    sl_arena_release(&s->answer.arena);
    sl_free(s->pieces.v);
    sl_free(s->elements.v);
}

/* A connection that waits keeps little. */
static void session_trim(struct session *s)
{
    sl_response_clear(&s->answer.blocks);
    if (s->answer.arena.used > ARENA_KEPT)
        sl_arena_release(&s->answer.arena);
    else
        sl_arena_reset(&s->answer.arena);
    if (s->message.cap > CALL_KEPT)
        sl_buf_release(&s->message);
    if (s->out.cap > CALL_KEPT)
        sl_buf_release(&s->out);
    s->message.n = s->out.n = 0;
    if (s->pieces.cap > 1024) {
        sl_free(s->pieces.v);
        sl_free(s->elements.v);
        s->pieces.v = s->elements.v = NULL;
        s->pieces.cap = s->elements.cap = 0;
    }
}

/* The next message, waiting for it as long as it takes. *END: the client is gone. */
static int read_call(struct session *s, bool *end, sl_err *err)
{
    struct sl_link *c = s->client->conn;
    size_t length = 0;

    while (sl_link_arrived(c).n < SL_FRAME_HEAD) {
        bool idle = false, between = sl_link_arrived(c).n == 0;

        SL_TRY(sl_link_more(c, end, &idle, err));
        if (*end && !between)
            return sl_err_set(err, SL_EINPUT, "%zu bytes that are no frame", sl_link_arrived(c).n);
        if (*end)
            return SL_OK;
        if (idle && !between)
            return sl_err_set(err, SL_EIO, "no more than %zu bytes of a frame came in time", sl_link_arrived(c).n);
    }
    SL_TRY(sl_frame_length(sl_link_arrived(c).p, s->client->server->setup.max_frame, &length, err));
    sl_link_use(c, SL_FRAME_HEAD);
    s->message.n = 0;
    while (s->message.n < length) { /* the memory grows with what arrives, not with what the length promises */
        size_t n = length - s->message.n < SL_LINK_ROOM ? length - s->message.n : SL_LINK_ROOM;
        char *room = sl_buf_room(&s->message, n);

        if (!room)
            return sl_err_nomem(err);
        SL_TRY(sl_link_read(c, room, n, err));
        s->message.n += n;
    }
    return SL_OK;
}

static int write_blocks(struct session *s, enum sl_thrift_protocol p, const struct sl_mpp_call *call, sl_err *err)
{
    const struct sl_response *r = &s->answer.blocks;
    size_t n = 0;

    if (reserve(&s->elements.v, &s->elements.cap, r->slices.n, sizeof(sl_str)) != SL_OK ||
        reserve(&s->pieces.v, &s->pieces.cap, 2 * r->slices.n + 1, sizeof(sl_str)) != SL_OK)
        return sl_err_nomem(err);
    for (size_t i = 0; i < r->slices.n; i++) {
        const struct sl_slice *slice = &r->slices.v[i];

        s->elements.v[i] = (sl_str){(const char *)sl_bytes_data(slice->block) + slice->from, slice->n};
    }
    struct sl_mpp_blocks blocks = {.v = s->elements.v, .n = r->slices.n, .has_offset = r->offset >= 0, .offset = (int32_t)r->offset,
                                   .has_total = r->total >= 0, .total = (int32_t)r->total};
    SL_TRY(sl_mpp_blocks_pieces(p, call->seqid, &blocks, &s->out, s->pieces.v, &n, err));
    return sl_link_write(s->client->conn, s->pieces.v, n, err);
}

static int write_reply(struct session *s, enum sl_thrift_protocol p, const struct sl_mpp_reply *reply, sl_err *err)
{
    s->out.n = 0;
    SL_TRY(sl_mpp_reply_write(&s->out, p, reply, err));
    sl_str piece = sl_buf_view(&s->out);
    return sl_link_write(s->client->conn, &piece, 1, err);
}

static int write_exception(struct session *s, enum sl_thrift_protocol p, const struct sl_mpp_call *call, int32_t type, const sl_err *failure,
                           sl_err *err)
{
    struct sl_mpp_reply reply = {.method = call->method, .name = call->name, .seqid = call->seqid, .failed = true};

    sl_log(SL_LOG_DEBUG, "exchange", "%s, " SL_STRF ": %s", s->caller.peer, SL_STRV(call->name), failure->text);
    reply.u.failure.message = sl_str_c(failure->text);
    reply.u.failure.type = type;
    return write_reply(s, p, &reply, err);
}

/* Answers the message. An error ends the connection. */
static int answer_call(struct session *s, sl_err *err)
{
    const struct sl_server_setup *setup = &s->client->server->setup;
    enum sl_thrift_protocol p;
    struct sl_mpp_call call = {0};
    sl_err failure = SL_ERR_INIT;
    int rc;

    if (!sl_thrift_protocol_of(sl_buf_view(&s->message), &p))
        return sl_err_set(err, SL_EINPUT, "a frame of %zu bytes that is no Thrift message", s->message.n);
    rc = sl_mpp_call_read(p, sl_buf_view(&s->message), &s->answer.arena, &call, &failure);
    if (rc != SL_OK && call.name.n == 0) {
        if (err)
            *err = failure;
        return rc;
    }
    if (rc != SL_OK)
        return write_exception(s, p, &call, SL_THRIFT_PROTOCOL_ERROR, &failure, err);
    s->answer.reply = (struct sl_mpp_reply){.method = call.method, .name = call.name, .seqid = call.seqid};
    rc = setup->serve(setup->user, &s->caller, &call, &s->answer, &failure);
    if (rc != SL_OK)
        return write_exception(s, p, &call, rc == SL_EUNSUPPORTED ? SL_THRIFT_UNKNOWN_METHOD : SL_THRIFT_INTERNAL_ERROR, &failure, err);
    if (call.method == SL_MPP_GET_DATA_BLOCK)
        return write_blocks(s, p, &call, err);
    return write_reply(s, p, &s->answer.reply, err);
}

/* On a port with TLS, what does not begin like a hello is named before OpenSSL sees it. */
static int begin_tls(struct client *c, sl_err *err)
{
    unsigned char first[SL_FRAME_HEAD] = {0};
    int fd = sl_link_fd(c->conn);
    ssize_t n = recv(fd, first, sizeof first, MSG_PEEK | MSG_WAITALL);

    if (n == (ssize_t)sizeof first && first[0] != 0x16) {
        size_t length;
        int rc = sl_frame_length(first, CALL_MAX, &length, err);

        return rc != SL_OK ? rc : sl_err_set(err, SL_EINPUT, "Thrift without TLS, which this port demands");
    }
    return sl_link_accept_tls(c->conn, c->server->tls, err);
}

static void serve_client(struct client *c)
{
    struct session s = {.client = c, .caller = {.connection = c->number, .peer = sl_link_peer(c->conn)}};
    sl_err err = SL_ERR_INIT;
    bool end = false;
    int rc = SL_OK;

    if (c->server->tls)
        rc = begin_tls(c, &err);
    s.caller.verified = sl_link_peer_verified(c->conn);
    while (rc == SL_OK) {
        rc = read_call(&s, &end, &err);
        if (rc != SL_OK || end)
            break;
        c->answering = true;
        rc = answer_call(&s, &err);
        session_trim(&s);
        c->answering = false;
        if (c->server->stopping)
            break;
    }
    if (rc != SL_OK && !c->server->stopping)
        sl_log(rc == SL_EIO ? SL_LOG_DEBUG : SL_LOG_WARN, "exchange", "connection of %s closed: %s", s.caller.peer, err.text);
    session_release(&s);
}

static void *client_thread(void *arg)
{
    struct client *c = arg;
    struct sl_server *s = c->server;

    serve_client(c);
    if (s->setup.gone)
        s->setup.gone(s->setup.user, c->number);
    pthread_mutex_lock(&s->lock);
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    s->nclients--;
    sl_link_close(c->conn); /* within the lock: stop interrupts the connections of the list */
    sl_free(c);
    pthread_cond_broadcast(&s->ended);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- accepting ---- */

static int start_client(struct sl_server *s, int fd, sl_err *err)
{
    struct client *c = sl_calloc(1, sizeof *c);
    pthread_attr_t attr;
    pthread_t id;

    if (!c) {
        close(fd);
        return sl_err_nomem(err);
    }
    c->server = s;
    int rc = sl_link_of(fd, s->setup.timeout_millis, &c->conn, err);
    if (rc != SL_OK) {
        sl_free(c);
        return rc;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_mutex_lock(&s->lock);
    c->number = ++s->numbers;
    int why = s->nclients >= s->setup.max_clients ? EUSERS : pthread_create(&id, &attr, client_thread, c);
    if (why == 0) { /* the thread does not touch the list before it gets the lock */
        c->next = s->clients;
        c->at = &s->clients;
        if (c->next)
            c->next->at = &c->next;
        s->clients = c;
        s->nclients++;
    }
    pthread_mutex_unlock(&s->lock);
    pthread_attr_destroy(&attr);
    if (why == 0)
        return SL_OK;
    rc = why == EUSERS ? sl_err_set(err, SL_EBUSY, "%zu connections are open already", s->setup.max_clients)
                       : sl_err_sys(err, why, "cannot start a thread");
    sl_link_close(c->conn);
    sl_free(c);
    return rc;
}

static void *accept_thread(void *arg)
{
    struct sl_server *s = arg;

    for (;;) {
        struct pollfd p[2] = {{s->listener, POLLIN, 0}, {s->stop, POLLIN, 0}};
        sl_err err = SL_ERR_INIT;

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (p[1].revents)
            return NULL;
        if (!p[0].revents)
            continue;
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && start_client(s, fd, &err) != SL_OK)
            sl_log(SL_LOG_WARN, "exchange", "a connection was refused: %s", err.text);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
            sl_log(SL_LOG_WARN, "exchange", "no connection can be accepted: %s", strerror(errno));
            poll(&p[1], 1, REFUSED_LINGER_MILLIS);
        }
    }
}

int sl_server_start(const struct sl_server_setup *setup, struct sl_server **out, sl_err *err)
{
    struct sl_server *s = sl_calloc(1, sizeof *s);
    struct sl_address a;
    int rc = SL_OK;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    s->setup = *setup;
    s->setup.max_frame = setup->max_frame < CALL_MAX ? setup->max_frame : CALL_MAX;
    s->listener = s->stop = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    SL_GO(sl_address_parse(setup->listen, &a, err));
    if (setup->tls && (setup->tls->cert_file || setup->tls->ca_file))
        SL_GO(sl_tls_new(setup->tls, true, &s->tls, err));
    SL_GO(sl_listen(&a, &s->listener, &s->port, err));
    s->stop = eventfd(0, EFD_CLOEXEC);
    if (s->stop < 0) {
        rc = sl_err_sys(err, errno, "cannot start the server of the exchange");
        goto done;
    }
    int why = pthread_create(&s->thread, NULL, accept_thread, s);
    if (why != 0) {
        rc = sl_err_sys(err, why, "cannot start the server of the exchange");
        goto done;
    }
    s->accepting = true;
    *out = s;
    s = NULL;
done:
    sl_server_stop(s);
    return rc;
}

int sl_server_port(const struct sl_server *s)
{
    return s->port;
}

void sl_server_pause(struct sl_server *s)
{
    uint64_t one = 1;

    if (!s->accepting)
        return;
    if (write(s->stop, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(s->thread, NULL);
    s->accepting = false;
    close(s->listener);
    s->listener = -1;
}

/* Ends the connections that wait for a call; those that answer one get a moment: the call may be the very acknowledgement that made the node's
 * owner stop it, and a peer without an answer would take it for lost. Under the lock. */
static void end_clients(struct sl_server *s)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until); /* the condition's clock */
    until.tv_sec += ANSWER_SECONDS;
    s->stopping = true;
    for (struct client *c = s->clients; c; c = c->next)
        if (!c->answering)
            sl_link_interrupt(c->conn);
    while (s->nclients > 0 && pthread_cond_timedwait(&s->ended, &s->lock, &until) == 0)
        continue;
    for (struct client *c = s->clients; c; c = c->next)
        sl_link_interrupt(c->conn);
}

void sl_server_stop(struct sl_server *s)
{
    if (!s)
        return;
    sl_server_pause(s);
    pthread_mutex_lock(&s->lock);
    end_clients(s);
    while (s->nclients > 0)
        pthread_cond_wait(&s->ended, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (s->stop >= 0)
        close(s->stop);
    if (s->listener >= 0)
        close(s->listener);
    sl_tls_free(s->tls);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    sl_free(s);
}
