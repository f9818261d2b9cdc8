#include "exchange/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/sys.h"

enum { SMALL_REPLY_MAX = 16 << 20, IDLE_MAX = 1000 };

struct idle {
    struct idle *next;
    struct sl_link *conn; /* owned */
};

/* A call under way, on the stack of its thread. */
struct running {
    struct running *next, **at; /* of the client */
    struct sl_link *conn;
};

struct sl_client {
    struct sl_client_setup setup; /* constant */
    struct sl_tls *tls;           /* owned; NULL: plain */
    atomic_int seqid;
    pthread_mutex_t lock; /* all below */
    struct sl_map *idle;  /* owned; address -> list of struct idle, newest first */
    size_t nidle;
    struct running *running;
    bool stopped;
};

int sl_client_new(const struct sl_client_setup *setup, struct sl_client **out, sl_err *err)
{
    struct sl_client *c = sl_calloc(1, sizeof *c);
    int rc = SL_OK;

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    c->setup = *setup;
    pthread_mutex_init(&c->lock, NULL);
    c->idle = sl_map_new();
    if (!c->idle)
        SL_GOTO_NOMEM(err);
    if (setup->tls && (setup->tls->ca_file || setup->tls->cert_file))
        SL_GO(sl_tls_new(setup->tls, false, &c->tls, err));
    *out = c;
    c = NULL;
done:
    sl_client_free(c);
    return rc;
}

static void close_list(void *p)
{
    for (struct idle *i = p, *next; i; i = next) {
        next = i->next;
        sl_link_close(i->conn);
        sl_free(i);
    }
}

void sl_client_free(struct sl_client *c)
{
    if (!c)
        return;
    sl_map_free(c->idle, close_list);
    sl_tls_free(c->tls);
    pthread_mutex_destroy(&c->lock);
    sl_free(c);
}

size_t sl_client_idle(struct sl_client *c)
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->nidle;
    pthread_mutex_unlock(&c->lock);
    return n;
}

/* ---- the pool ---- */

static struct sl_link *take_idle(struct sl_client *c, const char *address)
{
    struct sl_link *conn = NULL;

    pthread_mutex_lock(&c->lock);
    void **slot = sl_map_at(c->idle, sl_str_c(address));
    struct idle *i = slot ? *slot : NULL;
    if (i) {
        *slot = i->next;
        conn = i->conn;
        sl_free(i);
        c->nidle--;
    }
    pthread_mutex_unlock(&c->lock);
    return conn;
}

static int borrow(struct sl_client *c, const char *address, struct sl_link **out, sl_err *err)
{
    struct sl_address a;

    while ((*out = take_idle(c, address)) != NULL) {
        if (!sl_link_is_stale(*out))
            return SL_OK;
        sl_link_close(*out);
    }
    SL_TRY(sl_address_parse(address, &a, err));
    return sl_link_open(&a, c->tls, c->setup.timeout_millis, out, err);
}

static void give_back(struct sl_client *c, const char *address, struct sl_link *conn)
{
    struct idle *i = sl_link_is_stale(conn) ? NULL : sl_calloc(1, sizeof *i);

    pthread_mutex_lock(&c->lock);
    void **slot = i && c->nidle < IDLE_MAX ? sl_map_at(c->idle, sl_str_c(address)) : NULL;
    if (slot) {
        *i = (struct idle){*slot, conn};
        *slot = i;
        c->nidle++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!slot) {
        sl_link_close(conn);
        sl_free(i);
    }
}

static void drop_idle(struct sl_client *c, const char *address)
{
    pthread_mutex_lock(&c->lock);
    void **slot = sl_map_at(c->idle, sl_str_c(address));
    struct idle *list = slot ? *slot : NULL;
    if (slot)
        *slot = NULL;
    for (struct idle *i = list; i; i = i->next)
        c->nidle--;
    pthread_mutex_unlock(&c->lock);
    close_list(list);
}

/* ---- one call ---- */

void sl_interrupt(struct sl_interrupt *i)
{
    pthread_mutex_lock(&i->lock);
    i->now = true;
    for (size_t n = 0; n < sizeof i->running / sizeof *i->running; n++)
        if (i->running[n])
            sl_link_interrupt(i->running[n]);
    pthread_mutex_unlock(&i->lock);
}

void sl_client_stop(struct sl_client *c)
{
    pthread_mutex_lock(&c->lock);
    c->stopped = true;
    for (struct running *r = c->running; r; r = r->next)
        sl_link_interrupt(r->conn);
    pthread_mutex_unlock(&c->lock);
}

static int start_running(struct sl_client *c, struct running *r, struct sl_link *conn, sl_err *err)
{
    pthread_mutex_lock(&c->lock);
    bool stopped = c->stopped;
    *r = (struct running){c->running, &c->running, conn};
    if (r->next)
        r->next->at = &r->next;
    c->running = r;
    pthread_mutex_unlock(&c->lock);
    return stopped ? sl_err_set(err, SL_ECANCELLED, "no call is made any more") : SL_OK;
}

static void stop_running(struct sl_client *c, struct running *r)
{
    pthread_mutex_lock(&c->lock);
    *r->at = r->next;
    if (r->next)
        r->next->at = r->at;
    pthread_mutex_unlock(&c->lock);
}

static int enter(struct sl_interrupt *i, struct sl_link *conn, sl_err *err)
{
    int rc = SL_OK;

    if (!i)
        return SL_OK;
    pthread_mutex_lock(&i->lock);
    if (i->now)
        rc = sl_err_set(err, SL_ECANCELLED, "the call is not wanted any more");
    else
        i->running[i->running[0] ? 1 : 0] = conn;
    pthread_mutex_unlock(&i->lock);
    return rc;
}

static void leave(struct sl_interrupt *i, const struct sl_link *conn)
{
    if (!i)
        return;
    pthread_mutex_lock(&i->lock);
    for (size_t n = 0; n < sizeof i->running / sizeof *i->running; n++)
        if (i->running[n] == conn)
            i->running[n] = NULL;
    pthread_mutex_unlock(&i->lock);
}

typedef int answer_fn(struct sl_client *c, struct sl_link *conn, int32_t seqid, void *user, sl_err *err);

/* Sends the call and has ANSWER read the reply. An answer that ends with an error in the middle costs the connection. */
static int exchange(struct sl_client *c, const char *address, struct sl_interrupt *interrupt, struct sl_mpp_call *call, answer_fn *answer, void *user,
                    sl_err *err)
{
    struct sl_buf frame = SL_BUF_INIT;
    struct sl_link *conn = NULL;
    struct running running;
    sl_err own = SL_ERR_INIT;
    int rc = SL_OK;

    err = err ? err : &own;
    err->flags = 0;
    call->seqid = atomic_fetch_add(&c->seqid, 1);
    SL_GO(sl_mpp_call_write(&frame, c->setup.protocol, call, err));
    SL_GO(borrow(c, address, &conn, err));
    sl_str piece = sl_buf_view(&frame);
    rc = start_running(c, &running, conn, err);
    if (rc == SL_OK)
        rc = enter(interrupt, conn, err);
    if (rc == SL_OK)
        rc = sl_link_write(conn, &piece, 1, err);
    if (rc == SL_OK)
        rc = answer(c, conn, call->seqid, user, err);
    leave(interrupt, conn);
    stop_running(c, &running);
done:
    if (rc == SL_OK) {
        give_back(c, address, conn);
    } else {
        sl_link_close(conn);
        if ((err->flags & SL_ERR_RETRY) && (err->os_errno == ECONNREFUSED || err->os_errno == ECONNRESET || err->os_errno == EPIPE))
            drop_idle(c, address);
    }
    sl_buf_release(&frame);
    return rc;
}

static int more(struct sl_link *conn, sl_err *err)
{
    bool end = false;

    SL_TRY(sl_link_more(conn, &end, NULL, err));
    if (!end)
        return SL_OK;
    sl_err_set(err, SL_EIO, "%s closed the connection instead of answering", sl_link_peer(conn));
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EIO;
}

static int read_length(struct sl_link *conn, size_t max, size_t *length, sl_err *err)
{
    while (sl_link_arrived(conn).n < SL_FRAME_HEAD)
        SL_TRY(more(conn, err));
    int rc = sl_frame_length(sl_link_arrived(conn).p, max, length, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "the answer of %s", sl_link_peer(conn));
    else
        sl_link_use(conn, SL_FRAME_HEAD);
    return rc;
}

static int refused(const char *peer, sl_str text, int32_t type, sl_err *err)
{
    if (text.n)
        sl_err_set(err, SL_EFAIL, "%s answered: " SL_STRF, peer, SL_STRV(text));
    else
        sl_err_set(err, SL_EFAIL, "%s answered with error %" PRId32, peer, type);
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EFAIL;
}

/* ---- small replies ---- */

struct small {
    struct sl_arena *arena;
    struct sl_mpp_reply *reply;
};

/* The memory of the answer grows with what arrives, not with what its length promises. */
static int read_message(struct sl_link *conn, size_t length, struct sl_arena *a, sl_str *out, sl_err *err)
{
    struct sl_buf whole = SL_BUF_INIT;
    int rc = SL_OK;

    while (rc == SL_OK && whole.n < length) {
        size_t n = length - whole.n < SL_LINK_ROOM ? length - whole.n : SL_LINK_ROOM;
        char *room = sl_buf_room(&whole, n);

        rc = room ? sl_link_read(conn, room, n, err) : sl_err_nomem(err);
        whole.n += rc == SL_OK ? n : 0;
    }
    if (rc == SL_OK) {
        *out = sl_arena_str(a, sl_buf_view(&whole));
        rc = out->p ? SL_OK : sl_err_nomem(err);
    }
    sl_buf_release(&whole);
    return rc;
}

static int answer_small(struct sl_client *c, struct sl_link *conn, int32_t seqid, void *user, sl_err *err)
{
    struct small *small = user;
    size_t length = 0;
    sl_str message = {0};

    SL_TRY(read_length(conn, c->setup.max_frame < SMALL_REPLY_MAX ? c->setup.max_frame : SMALL_REPLY_MAX, &length, err));
    SL_TRY(read_message(conn, length, small->arena, &message, err));
    SL_TRY(sl_mpp_reply_read(c->setup.protocol, message, small->arena, small->reply, err));
    if (small->reply->seqid != seqid)
        return sl_err_set(err, SL_ECORRUPT, "%s answered call %" PRId32 " where call %" PRId32 " was made", sl_link_peer(conn),
                          small->reply->seqid, seqid);
    return SL_OK;
}

int sl_client_call(struct sl_client *c, const char *address, struct sl_interrupt *interrupt, const struct sl_mpp_call *call, struct sl_arena *a,
                   struct sl_mpp_reply *reply, sl_err *err)
{
    struct sl_mpp_call copy = *call;
    struct small small = {a, reply};

    SL_TRY(exchange(c, address, interrupt, &copy, answer_small, &small, err));
    if (reply->failed)
        return refused(address, reply->u.failure.message, reply->u.failure.type, err);
    return SL_OK;
}

/* ---- blocks ---- */

struct fetch {
    const struct sl_receiver *receiver;
    struct sl_received *out;
    bool failed;
    int32_t failure_type;
    char failure_text[256];
};

static int take_element(struct sl_link *conn, struct sl_reply_reader *r, const struct sl_receiver *to, sl_err *err)
{
    unsigned char *p = NULL;

    SL_TRY(to->element(to->user, r->element, r->elements, r->element_length, &p, err));
    SL_TRY(sl_link_read(conn, p, r->element_length, err));
    sl_reply_reader_taken(r);
    return SL_OK;
}

static int read_blocks(struct sl_link *conn, struct sl_reply_reader *r, const struct sl_receiver *to, sl_err *err)
{
    for (;;) {
        enum sl_reply_event event;
        sl_str arrived = sl_link_arrived(conn);
        size_t used = 0;

        SL_TRY(sl_reply_reader_next(r, sl_str_sub(arrived, 0, r->length - r->pos), &used, &event, err));
        sl_link_use(conn, used);
        if (event == SL_REPLY_END)
            return SL_OK;
        if (event == SL_REPLY_ELEMENT)
            SL_TRY(take_element(conn, r, to, err));
        else
            SL_TRY(more(conn, err));
    }
}

static int answer_blocks(struct sl_client *c, struct sl_link *conn, int32_t seqid, void *user, sl_err *err)
{
    struct fetch *f = user;
    struct sl_reply_reader r;
    size_t length = 0;

    SL_TRY(read_length(conn, c->setup.max_frame, &length, err));
    sl_reply_reader_begin(&r, c->setup.protocol, length);
    SL_TRY(read_blocks(conn, &r, f->receiver, err));
    if (r.seqid != seqid)
        return sl_err_set(err, SL_ECORRUPT, "%s answered call %" PRId32 " where call %" PRId32 " was made", sl_link_peer(conn), r.seqid,
                          seqid);
    f->failed = r.failed;
    f->failure_type = r.failure_type;
    memcpy(f->failure_text, r.failure_text, sizeof f->failure_text);
    *f->out = (struct sl_received){r.elements, r.has_offset, r.has_total, r.offset, r.total};
    return SL_OK;
}

int sl_client_fetch(struct sl_client *c, const char *address, struct sl_interrupt *interrupt, const struct sl_mpp_get *get,
                    const struct sl_receiver *receiver, struct sl_received *out, sl_err *err)
{
    struct sl_mpp_call call = {.method = SL_MPP_GET_DATA_BLOCK, .u.get = *get};
    struct fetch f = {.receiver = receiver, .out = out};

    SL_TRY(exchange(c, address, interrupt, &call, answer_blocks, &f, err));
    if (f.failed)
        return refused(address, sl_str_c(f.failure_text), f.failure_type, err);
    return SL_OK;
}
