#include "exchange/sink.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/sys.h"
#include "format/thrift.h"

enum { BLOCK_MAX = INT32_MAX, SLICES_KEPT = 256, POLL_MILLIS = 100 };
static const uint64_t MAX_BYTES = 32u << 20;

/* One sent block; NULL bytes: acknowledged. */
struct sent {
    struct sl_bytes *bytes; /* shared with responses under way */
};

struct sl_sink {
    struct sl_sink_setup setup; /* constant */
    pthread_mutex_t lock;       /* all below */
    pthread_cond_t wake;
    size_t refs;
    enum sl_sink_state state;
    sl_err cause;           /* of ABORTED; code 0: the user's own abort */
    struct sent *ring;      /* owned; sequence s at s % cap */
    size_t cap;
    int32_t first, next;    /* ring holds [first, next) */
    uint64_t held;          /* bytes not acknowledged, sends under way included */
    size_t sending;         /* sends between their reservation and their place in the ring */
    bool end_told;
    atomic_bool detached;   /* nobody is to be told; set under the lock */
    atomic_size_t tells;    /* calls of `changed` under way; begun under the lock only */
};

/* A reservation of one send, on the sender's stack: who gives up waits for a grant that is on its way. */
struct waiting {
    struct sl_reservation r;
    struct sl_sink *sink; /* borrowed: the sender holds on to it */
    bool granted;         /* under the sink's lock */
};

int sl_sink_new(const struct sl_sink_setup *setup, struct sl_sink **out, sl_err *err)
{
    struct sl_sink *s = sl_calloc(1, sizeof *s);
    pthread_condattr_t attr;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    s->setup = *setup;
    s->setup.max_bytes = setup->max_bytes ? setup->max_bytes : MAX_BYTES;
    sl_mempool_query_ref(s->setup.query);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    s->refs = 1;
    *out = s;
    return SL_OK;
}

struct sl_sink *sl_sink_ref(struct sl_sink *s)
{
    pthread_mutex_lock(&s->lock);
    s->refs++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void sl_sink_unref(struct sl_sink *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    bool last = --s->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    for (int32_t i = s->first; i < s->next; i++)
        sl_bytes_unref(s->ring[(size_t)i % s->cap].bytes);
    sl_mempool_query_unref(s->setup.query);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    sl_free(s->ring);
    sl_free(s);
}

/* Under the lock: whether `changed` is to be called once the lock is given up, by tell. */
static bool begin_tell(struct sl_sink *s)
{
    bool call = s->setup.changed && !s->detached;

    if (call)
        atomic_fetch_add(&s->tells, 1);
    return call;
}

static void tell(struct sl_sink *s)
{
    s->setup.changed(s->setup.user);
    atomic_fetch_sub(&s->tells, 1);
    if (!atomic_load(&s->detached))
        return;
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

void sl_sink_detach(struct sl_sink *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->detached, true);
    while (atomic_load(&s->tells) > 0)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static bool is_over(const struct sl_sink *s)
{
    return s->state == SL_SINK_CLOSED || s->state == SL_SINK_ABORTED || s->state == SL_SINK_FINISHED;
}

/* Waits on the lock's condition at most until END (monotonic ns), in short steps so that cancelling is seen. */
static void wait_a_while(struct sl_sink *s, int64_t end)
{
    int64_t step = sl_mono_nanos() + (int64_t)POLL_MILLIS * 1000000;
    int64_t until = end < step ? end : step;
    struct timespec t = {until / 1000000000, until % 1000000000};

    pthread_cond_timedwait(&s->wake, &s->lock, &t);
}

static int64_t end_of(int64_t timeout_millis)
{
    return timeout_millis < 0 ? INT64_MAX : sl_mono_nanos() + timeout_millis * 1000000;
}

/* ---- sending ---- */

static int check_open(const struct sl_sink *s, sl_err *err)
{
    switch (s->state) {
    case SL_SINK_OPEN:
        return SL_OK;
    case SL_SINK_CLOSED:
        return sl_err_set(err, SL_ECANCELLED, "the receiver closed the channel: it wants no more blocks");
    case SL_SINK_ABORTED:
        if (s->cause.code && err)
            *err = s->cause;
        return s->cause.code ? s->cause.code : sl_err_set(err, SL_ECANCELLED, "the channel was aborted");
    default:
        return sl_err_set(err, SL_EFAIL, "no block can be sent after the end of a channel");
    }
}

static int late(sl_err *err)
{
    sl_err_set(err, SL_EBUSY, "the receiver did not take the blocks in time");
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EBUSY;
}

static int wait_for_turn(struct sl_sink *s, uint64_t n, int64_t end, sl_err *err)
{
    int rc = check_open(s, err);

    while (rc == SL_OK && s->held > 0 && (n > s->setup.max_bytes || s->held > s->setup.max_bytes - n)) {
        if (sl_mono_nanos() >= end)
            return late(err);
        rc = sl_cancel_check(err);
        if (rc == SL_OK) {
            wait_a_while(s, end);
            rc = check_open(s, err);
        }
    }
    return rc;
}

static void granted(void *user)
{
    struct waiting *w = user;
    struct sl_sink *s = w->sink;

    pthread_mutex_lock(&s->lock);
    w->granted = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* Reserves N, waiting while the pool is full. Under the lock. */
static int wait_for_memory(struct sl_sink *s, uint64_t n, int64_t end, sl_err *err)
{
    struct waiting w = {.r = {.granted = granted, .user = &w}, .sink = s};
    int rc;

    pthread_mutex_unlock(&s->lock);
    bool now = false;
    rc = sl_mempool_reserve_later(s->setup.query, n, &w.r, &now, err);
    pthread_mutex_lock(&s->lock);
    if (rc != SL_OK || now)
        return rc;
    while (rc == SL_OK && !w.granted) {
        rc = check_open(s, err);
        if (rc == SL_OK)
            rc = sl_cancel_check(err);
        if (rc == SL_OK && sl_mono_nanos() >= end)
            rc = late(err);
        if (rc == SL_OK)
            wait_a_while(s, end);
    }
    if (rc == SL_OK)
        return rc;
    pthread_mutex_unlock(&s->lock);
    bool cancelled = sl_mempool_cancel(s->setup.query, &w.r);
    pthread_mutex_lock(&s->lock);
    while (!cancelled && !w.granted) /* the grant is on its way to this stack */
        pthread_cond_wait(&s->wake, &s->lock);
    if (!cancelled) {
        pthread_mutex_unlock(&s->lock);
        sl_mempool_release(s->setup.query, n);
        pthread_mutex_lock(&s->lock);
    }
    return rc;
}

static int check_size(uint64_t n, sl_err *err)
{
    if (n == 0)
        return sl_err_set(err, SL_EINPUT, "an empty block cannot be sent");
    if (n <= BLOCK_MAX)
        return SL_OK;
    sl_err_set(err, SL_EINPUT, "a block of %" PRIu64 " bytes cannot be sent: the protocol counts up to %d", n, BLOCK_MAX);
    sl_err_hint(err, "cut it into smaller blocks; one row of this size cannot cross at all");
    return SL_EINPUT;
}

static int make_room(struct sl_sink *s, sl_err *err)
{
    size_t used = (size_t)(s->next - s->first), cap = s->cap ? s->cap * 2 : 16;

    if (s->next == INT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a channel cannot have more than %d blocks", INT32_MAX);
    if (used < s->cap)
        return SL_OK;
    struct sent *ring = sl_calloc(cap, sizeof *ring);
    if (!ring)
        return sl_err_nomem(err);
    for (int32_t i = s->first; i < s->next; i++)
        ring[(size_t)i % cap] = s->ring[(size_t)i % s->cap];
    sl_free(s->ring);
    s->ring = ring;
    s->cap = cap;
    return SL_OK;
}

/* Reserves the room of a block before there is one. */
static int begin_send(struct sl_sink *s, uint64_t n, int64_t timeout_millis, sl_err *err)
{
    int64_t end = end_of(timeout_millis);
    int rc = check_size(n, err);

    if (rc != SL_OK)
        return rc;
    pthread_mutex_lock(&s->lock);
    rc = wait_for_turn(s, n, end, err);
    if (rc == SL_OK) {
        s->held += n;
        s->sending++;
        if (sl_mempool_reserve(s->setup.query, n, NULL) != SL_OK)
            rc = wait_for_memory(s, n, end, err);
        if (rc != SL_OK) {
            s->held -= n;
            s->sending--;
            pthread_cond_broadcast(&s->wake);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* The block B, a reference that is taken over, or NULL if there is none after all. */
static int finish_send(struct sl_sink *s, uint64_t n, struct sl_bytes *b, sl_err *err)
{
    int rc = SL_OK;

    pthread_mutex_lock(&s->lock);
    s->sending--;
    if (b)
        rc = check_open(s, err);
    if (b && rc == SL_OK)
        rc = make_room(s, err);
    if (b && rc == SL_OK) {
        s->ring[(size_t)s->next % s->cap].bytes = b;
        s->next++;
        b = NULL;
    } else {
        s->held -= n;
    }
    bool sent = rc == SL_OK && begin_tell(s);
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    sl_bytes_unref(b);
    if (sent)
        tell(s);
    return rc;
}

int sl_sink_send(struct sl_sink *s, uint64_t n, sl_serialize_fn *serialize, void *user, int64_t timeout_millis, sl_err *err)
{
    struct sl_bytes *b = NULL;
    int rc;

    SL_TRY(begin_send(s, n, timeout_millis, err));
    rc = sl_bytes_new((size_t)n, &b, err);
    if (rc == SL_OK)
        sl_bytes_charge(b, s->setup.query, n);
    else
        sl_mempool_release(s->setup.query, n);
    if (rc == SL_OK)
        rc = serialize(user, sl_bytes_data(b), (size_t)n, err);
    if (rc != SL_OK) {
        sl_bytes_unref(b);
        (void)finish_send(s, n, NULL, NULL);
        return rc;
    }
    return finish_send(s, n, b, err);
}

static void free_shared(void *p, size_t n, void *user)
{
    (void)p;
    (void)n;
    sl_bytes_unref(user);
}

int sl_sink_send_bytes(struct sl_sink *s, struct sl_bytes *b, int64_t timeout_millis, sl_err *err)
{
    uint64_t n = sl_bytes_size(b);
    struct sl_bytes *view = NULL;
    int rc;

    SL_TRY(begin_send(s, n, timeout_millis, err));
    /* A view of its own carries the charge: one block may be in many channels. */
    rc = sl_bytes_wrap(sl_bytes_data(b), (size_t)n, free_shared, b, &view, err);
    if (rc != SL_OK) {
        sl_mempool_release(s->setup.query, n);
        (void)finish_send(s, n, NULL, NULL);
        return rc;
    }
    sl_bytes_ref(b);
    sl_bytes_charge(view, s->setup.query, n);
    return finish_send(s, n, view, err);
}

int sl_sink_end(struct sl_sink *s, sl_err *err)
{
    int rc = SL_OK;

    pthread_mutex_lock(&s->lock);
    while (s->sending > 0) /* blocks of other threads come before the end */
        pthread_cond_wait(&s->wake, &s->lock);
    if (s->state == SL_SINK_OPEN)
        s->state = SL_SINK_ENDED;
    else if (s->state == SL_SINK_ABORTED)
        rc = check_open(s, err);
    bool ended = rc == SL_OK && begin_tell(s);
    pthread_mutex_unlock(&s->lock);
    if (ended)
        tell(s);
    return rc;
}

int sl_sink_wait(struct sl_sink *s, int64_t timeout_millis, sl_err *err)
{
    int64_t end = end_of(timeout_millis);
    int rc = SL_OK;

    pthread_mutex_lock(&s->lock);
    while (rc == SL_OK && !is_over(s)) {
        if (sl_mono_nanos() >= end)
            rc = late(err);
        else if ((rc = sl_cancel_check(err)) == SL_OK)
            wait_a_while(s, end);
    }
    if (rc == SL_OK && s->state == SL_SINK_ABORTED)
        rc = check_open(s, err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- what the receiver asks ---- */

static int add_slice(struct sl_response *r, struct sl_bytes *b, size_t from, size_t n, sl_err *err)
{
    struct sl_slice *slice = sl_vec_push(&r->slices);

    if (!slice)
        return sl_err_nomem(err);
    *slice = (struct sl_slice){sl_bytes_ref(b), from, n};
    r->bytes += n;
    return SL_OK;
}

static int check_ask(const struct sl_sink *s, int32_t seq, sl_err *err)
{
    if (seq >= s->first && seq < s->next && s->ring[(size_t)seq % s->cap].bytes)
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "block %" PRId32 " is not in the channel: %s", seq,
                      seq >= s->next ? "it was not produced yet" : "it was acknowledged already");
}

/* Whether one more element of N bytes would make the frame too long. */
static bool exceeds_frame(const struct sl_response *r, uint64_t n, uint64_t max_frame)
{
    return r->bytes + n + SL_MPP_BLOCKS_OVERHEAD(r->slices.n + 1) > max_frame;
}

/* All blocks of the range, however large: the way of nodes that know no offset. */
static int fill_whole(struct sl_sink *s, const struct sl_ask *ask, struct sl_response *out, sl_err *err)
{
    for (int32_t seq = ask->start; seq < ask->end; seq++) {
        SL_TRY(check_ask(s, seq, err));
        struct sl_bytes *b = s->ring[(size_t)seq % s->cap].bytes;

        if (exceeds_frame(out, sl_bytes_size(b), ask->max_frame))
            return sl_err_set(err, SL_EINPUT,
                              "blocks %" PRId32 " to %" PRId32 " exceed the frame limit of %" PRIu64
                              " bytes, and a request without offset takes no fragments",
                              ask->start, seq, ask->max_frame);
        SL_TRY(add_slice(out, b, 0, sl_bytes_size(b), err));
    }
    return SL_OK;
}

/* Complete blocks while they fit the limit, and one fragment behind them. */
static int fill_bounded(struct sl_sink *s, const struct sl_ask *ask, struct sl_response *out, sl_err *err)
{
    uint64_t left = ask->max_payload;

    for (int32_t seq = ask->start; seq < ask->end && left > 0; seq++) {
        SL_TRY(check_ask(s, seq, err));
        struct sl_bytes *b = s->ring[(size_t)seq % s->cap].bytes;
        uint64_t size = sl_bytes_size(b), from = seq == ask->start ? (uint64_t)ask->offset : 0;

        if (from >= size)
            return sl_err_set(err, SL_EINPUT, "offset %" PRIu64 " lies outside block %" PRId32 " of %" PRIu64 " bytes", from, seq, size);
        uint64_t n = size - from < left ? size - from : left;
        if (exceeds_frame(out, n, ask->max_frame) && out->slices.n > 0)
            return SL_OK;
        SL_TRY(add_slice(out, b, (size_t)from, (size_t)n, err));
        left -= n;
        if (from + n < size) {
            out->offset = (int64_t)(from + n);
            if (from == 0)
                out->total = (int64_t)size;
            return SL_OK;
        }
    }
    return SL_OK;
}

static void count_response(const struct sl_ask *ask, const struct sl_response *r)
{
    sl_metric_add(SL_M_EXCHANGE_RESPONSES, 1);
    sl_metric_add(SL_M_EXCHANGE_SENT_BYTES, (int64_t)r->bytes);
    if (ask->has_offset && (int64_t)r->bytes > sl_metric_get(SL_M_EXCHANGE_LARGEST_PAYLOAD))
        sl_metric_set(SL_M_EXCHANGE_LARGEST_PAYLOAD, (int64_t)r->bytes);
}

int sl_sink_get(struct sl_sink *s, const struct sl_ask *ask, struct sl_response *out, sl_err *err)
{
    int rc = SL_OK;

    sl_response_clear(out);
    if (ask->has_offset && ask->offset < 0)
        return sl_err_set(err, SL_EINPUT, "the offset %" PRId32 " is negative", ask->offset);
    pthread_mutex_lock(&s->lock);
    if (!is_over(s))
        rc = ask->has_offset ? fill_bounded(s, ask, out, err) : fill_whole(s, ask, out, err);
    pthread_mutex_unlock(&s->lock);
    if (rc != SL_OK)
        sl_response_clear(out);
    else
        count_response(ask, out);
    return rc;
}

void sl_response_clear(struct sl_response *r)
{
    for (size_t i = 0; i < r->slices.n; i++)
        sl_bytes_unref(r->slices.v[i].block);
    r->slices.n = 0;
    if (r->slices.cap > SLICES_KEPT)
        sl_response_release(r);
    r->offset = r->total = -1;
    r->bytes = 0;
}

void sl_response_release(struct sl_response *r)
{
    for (size_t i = 0; i < r->slices.n; i++)
        sl_bytes_unref(r->slices.v[i].block);
    sl_free(r->slices.v);
    memset(r, 0, sizeof *r);
}

/* Under the lock; the blocks are given back outside it, since that may wake others. */
static struct sl_bytes *take_out(struct sl_sink *s, int32_t seq)
{
    struct sent *at = &s->ring[(size_t)seq % s->cap];
    struct sl_bytes *b = at->bytes;

    at->bytes = NULL;
    if (b)
        s->held -= sl_bytes_size(b);
    return b;
}

static void drop_acknowledged(struct sl_sink *s)
{
    while (s->first < s->next && !s->ring[(size_t)s->first % s->cap].bytes)
        s->first++;
    if (s->state == SL_SINK_ENDED && s->end_told && s->first == s->next)
        s->state = SL_SINK_FINISHED;
}

void sl_sink_acknowledge(struct sl_sink *s, int32_t start, int32_t end)
{
    bool finished = false;

    pthread_mutex_lock(&s->lock);
    for (int32_t seq = start > s->first ? start : s->first; seq < end && seq < s->next; seq++) {
        struct sl_bytes *b = take_out(s, seq);

        if (!b)
            continue;
        pthread_mutex_unlock(&s->lock);
        sl_bytes_unref(b);
        pthread_mutex_lock(&s->lock);
    }
    if (!is_over(s)) {
        drop_acknowledged(s);
        finished = s->state == SL_SINK_FINISHED && begin_tell(s);
        pthread_cond_broadcast(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    if (finished)
        tell(s);
}

static void end_with(struct sl_sink *s, enum sl_sink_state state, const sl_err *cause)
{
    pthread_mutex_lock(&s->lock);
    if (is_over(s)) {
        pthread_mutex_unlock(&s->lock);
        return;
    }
    s->state = state;
    if (cause)
        s->cause = *cause;
    pthread_cond_broadcast(&s->wake);
    while (s->first < s->next) {
        struct sl_bytes *b = take_out(s, s->first);

        s->first++;
        pthread_mutex_unlock(&s->lock);
        sl_bytes_unref(b);
        pthread_mutex_lock(&s->lock);
    }
    bool over = begin_tell(s);
    pthread_mutex_unlock(&s->lock);
    if (over)
        tell(s);
}

void sl_sink_abort(struct sl_sink *s, const sl_err *cause)
{
    end_with(s, SL_SINK_ABORTED, cause);
}

void sl_sink_close(struct sl_sink *s)
{
    end_with(s, SL_SINK_CLOSED, NULL);
}

enum sl_sink_state sl_sink_state(struct sl_sink *s)
{
    pthread_mutex_lock(&s->lock);
    enum sl_sink_state state = s->state;
    pthread_mutex_unlock(&s->lock);
    return state;
}

/* ---- what there is to tell ---- */

static bool has_news(const struct sl_sink *s, int32_t from)
{
    return is_over(s) || from < s->next || (s->state == SL_SINK_ENDED && from >= s->next);
}

void sl_sink_news(struct sl_sink *s, int32_t from, int64_t *sizes, size_t max, int64_t timeout_millis, struct sl_news *out)
{
    int64_t end = end_of(timeout_millis);

    pthread_mutex_lock(&s->lock);
    while (!has_news(s, from) && !sl_cancelled() && sl_mono_nanos() < end)
        wait_a_while(s, end);
    *out = (struct sl_news){.start = from, .gone = is_over(s), .last = s->next - 1};
    /* What was acknowledged before it was told needs no telling, but the receiver counts on sizes without a gap. */
    for (int32_t seq = from; !out->gone && seq < s->next && out->n < max; seq++) {
        struct sl_bytes *b = seq >= s->first ? s->ring[(size_t)seq % s->cap].bytes : NULL;

        sizes[out->n++] = b ? (int64_t)sl_bytes_size(b) : 1;
    }
    out->ended = !out->gone && s->state == SL_SINK_ENDED && from + (int32_t)out->n == s->next;
    pthread_mutex_unlock(&s->lock);
}

void sl_sink_end_told(struct sl_sink *s)
{
    pthread_mutex_lock(&s->lock);
    s->end_told = true;
    if (!is_over(s))
        drop_acknowledged(s);
    bool finished = s->state == SL_SINK_FINISHED && begin_tell(s);
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (finished)
        tell(s);
}
