#include "exchange/intake.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/intake_priv.h"

enum { AHEAD_MAX = 1 << 20, POLL_MILLIS = 100, ATTEMPTS = 3 };
static const uint64_t MAX_BYTES = 32u << 20;

int sl_intake_new(const struct sl_intake_setup *setup, struct sl_intake **out, sl_err *err)
{
    struct sl_intake *s = sl_calloc(1, sizeof *s);
    pthread_condattr_t attr;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    s->setup = *setup;
    s->setup.max_bytes = setup->max_bytes ? setup->max_bytes : MAX_BYTES;
    s->setup.attempts = setup->attempts ? setup->attempts : ATTEMPTS;
    sl_mempool_query_ref(s->setup.query);
    s->last = LAST_UNKNOWN;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    *out = s;
    return SL_OK;
}

void sl_intake_free(struct sl_intake *s)
{
    if (!s)
        return;
    sl_mempool_query_unref(s->setup.query);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    sl_free(s->ring);
    sl_free(s->round.blocks.v);
    sl_free(s);
}

struct slot *sl_intake_slot(struct sl_intake *s, int32_t seq)
{
    return &s->ring[(size_t)seq % s->cap];
}

/* Room for the sequences up to END. */
static int make_room(struct sl_intake *s, int64_t end, sl_err *err)
{
    size_t wanted = (size_t)(end - s->consumed), cap = s->cap ? s->cap : 16;

    if (wanted > AHEAD_MAX)
        return sl_err_set(err, SL_EINPUT, "blocks up to %" PRId64 " are announced while block %" PRId32 " is still to come: at most %d ahead",
                          end - 1, s->consumed, AHEAD_MAX);
    if (wanted <= s->cap)
        return SL_OK;
    while (cap < wanted)
        cap *= 2;
    struct slot *ring = sl_calloc(cap, sizeof *ring);
    if (!ring)
        return sl_err_nomem(err);
    for (int64_t i = s->consumed; s->cap && i < (int64_t)s->consumed + (int64_t)s->cap; i++)
        ring[(size_t)i % cap] = s->ring[(size_t)i % s->cap];
    sl_free(s->ring);
    s->ring = ring;
    s->cap = cap;
    return SL_OK;
}

/* ---- ending ---- */

/* Everything held goes; a fetch under way does this when it comes back. */
void sl_intake_drop_all(struct sl_intake *s)
{
    for (size_t i = 0; i < s->cap; i++) {
        struct slot *slot = &s->ring[i];

        sl_bytes_unref(slot->block);
        s->spare += slot->grant;
        *slot = (struct slot){0};
    }
    sl_intake_drop_round(s);
    sl_bytes_unref(s->partial);
    s->partial = NULL;
}

static void set_state(struct sl_intake *s, enum source_state state, const sl_err *cause)
{
    if (s->state != SOURCE_OPEN)
        return;
    s->state = state;
    if (cause)
        s->cause = *cause;
    s->cancel_wait = s->waiting;
    s->want_interrupt = s->pulling || s->acking;
    if (!s->fetching)
        sl_intake_drop_all(s);
    pthread_cond_broadcast(&s->wake);
}

void sl_intake_fail(struct sl_intake *s, const sl_err *cause)
{
    set_state(s, SOURCE_FAILED, cause);
}

/* ---- the window ---- */

static void granted(void *user)
{
    struct sl_intake *s = user;

    pthread_mutex_lock(&s->lock);
    s->waiting = false;
    if (s->state == SOURCE_OPEN) {
        sl_intake_slot(s, s->granted_end)->grant = s->reservation.n;
        s->window += s->reservation.n;
        s->granted_end++;
        sl_intake_grow_window(s, NULL);
    } else {
        s->spare += s->reservation.n;
    }
    pthread_cond_broadcast(&s->wake);
    sl_intake_leave(s);
}

static bool may_grant(const struct sl_intake *s, uint64_t n)
{
    return s->window == 0 || (n <= s->setup.max_bytes && s->window <= s->setup.max_bytes - n);
}

void sl_intake_grow_window(struct sl_intake *s, sl_err *err)
{
    while (s->state == SOURCE_OPEN && s->started && !s->waiting && s->cap && s->granted_end - s->consumed < (int64_t)s->cap) {
        struct slot *slot = sl_intake_slot(s, s->granted_end);
        bool now = false;
        sl_err failure = SL_ERR_INIT;

        if (slot->announced == 0 || !may_grant(s, (uint64_t)slot->announced))
            break;
        s->reservation = (struct sl_reservation){.granted = granted, .user = s};
        s->waiting = true;
        if (sl_mempool_reserve_later(s->setup.query, (uint64_t)slot->announced, &s->reservation, &now, &failure) != SL_OK) {
            s->waiting = false;
            sl_err_ctx(&failure, "block %" PRId32 " of the exchange", s->granted_end);
            sl_intake_fail(s, &failure);
            if (err)
                *err = failure;
        } else if (now) {
            s->waiting = false;
            slot->grant = (uint64_t)slot->announced;
            s->window += slot->grant;
            s->granted_end++;
        } else {
            break;
        }
    }
    if (s->state == SOURCE_OPEN && !s->pulling && s->pulled < s->granted_end) {
        s->pulling = true;
        s->want_pull = true;
    }
}

void sl_intake_leave(struct sl_intake *s)
{
    uint64_t spare = s->spare;
    bool pull = s->want_pull, ack = s->want_ack, interrupt = s->want_interrupt, cancel = s->cancel_wait;

    if (!spare && !pull && !ack && !interrupt && !cancel) {
        pthread_mutex_unlock(&s->lock);
        return;
    }
    s->spare = 0;
    s->want_pull = s->want_ack = s->want_interrupt = s->cancel_wait = false;
    s->leaving++; /* the source is not settled while this goes on */
    pthread_mutex_unlock(&s->lock);
    if (cancel && sl_mempool_cancel(s->setup.query, &s->reservation)) {
        pthread_mutex_lock(&s->lock);
        s->waiting = false;
        pthread_mutex_unlock(&s->lock);
    }
    if (spare)
        sl_mempool_release(s->setup.query, spare);
    if (interrupt && s->setup.interrupt)
        s->setup.interrupt(s->setup.user);
    if (pull)
        s->setup.pull(s->setup.user);
    if (ack)
        s->setup.acknowledge(s->setup.user);
    pthread_mutex_lock(&s->lock);
    s->leaving--;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* ---- events ---- */

static int check_event(int32_t start, const int64_t *sizes, size_t n, sl_err *err)
{
    if (start < 0 || n > (size_t)(INT32_MAX - start))
        return sl_err_set(err, SL_EINPUT, "%zu blocks from %" PRId32 " on were announced", n, start);
    for (size_t i = 0; i < n; i++)
        if (sizes[i] <= 0)
            return sl_err_set(err, SL_EINPUT, "block %zu was announced with %" PRId64 " bytes", (size_t)start + i, sizes[i]);
    return SL_OK;
}

int sl_intake_new_blocks(struct sl_intake *s, int32_t start, const int64_t *sizes, size_t n, sl_err *err)
{
    sl_err failure = SL_ERR_INIT;
    int rc = check_event(start, sizes, n, err);

    if (rc != SL_OK || n == 0)
        return rc;
    pthread_mutex_lock(&s->lock);
    if (s->state == SOURCE_OPEN && start + (int64_t)n > s->consumed)
        rc = make_room(s, start + (int64_t)n, err);
    for (size_t i = 0; rc == SL_OK && s->state == SOURCE_OPEN && i < n; i++)
        if (start + (int64_t)i >= s->granted_end + s->waiting) /* a doubled event changes nothing that is under way */
            sl_intake_slot(s, start + (int32_t)i)->announced = sizes[i];
    if (rc == SL_OK)
        sl_intake_grow_window(s, &failure);
    sl_intake_leave(s);
    if (failure.code) {
        if (err)
            *err = failure;
        rc = failure.code;
    }
    return rc;
}

int sl_intake_end(struct sl_intake *s, int32_t last, sl_err *err)
{
    int rc = SL_OK;

    pthread_mutex_lock(&s->lock);
    if (s->state == SOURCE_OPEN && (last < -1 || (int64_t)last + 1 < s->granted_end || (s->last != LAST_UNKNOWN && s->last != last)))
        rc = sl_err_set(err, SL_EINPUT, "the end of the stream is told as block %" PRId32 ", which contradicts what came before", last);
    else
        s->last = last;
    pthread_cond_broadcast(&s->wake);
    sl_intake_leave(s);
    return rc;
}

/* ---- the consumer ---- */

static int failure_of(const struct sl_intake *s, sl_err *err)
{
    if (s->state == SOURCE_FAILED || (s->state == SOURCE_ABORTED && s->cause.code)) {
        if (err)
            *err = s->cause;
        return s->cause.code;
    }
    if (s->state == SOURCE_GONE)
        return sl_err_set(err, SL_ENOTFOUND, "the sender has this channel no more: it was aborted or closed there");
    if (s->state == SOURCE_ABORTED)
        return sl_err_set(err, SL_ECANCELLED, "the source was aborted");
    return SL_OK;
}

static bool is_finished(const struct sl_intake *s)
{
    return s->state == SOURCE_CLOSED || (s->last != LAST_UNKNOWN && (int64_t)s->consumed == (int64_t)s->last + 1);
}

static void wait_a_while(struct sl_intake *s, int64_t end)
{
    int64_t step = sl_mono_nanos() + (int64_t)POLL_MILLIS * 1000000;
    int64_t until = end < step ? end : step;
    struct timespec t = {until / 1000000000, until % 1000000000};

    pthread_cond_timedwait(&s->wake, &s->lock, &t);
}

static struct sl_bytes *take_block(struct sl_intake *s)
{
    struct slot *slot = s->cap && s->consumed < s->pulled ? sl_intake_slot(s, s->consumed) : NULL;
    struct sl_bytes *b = slot ? slot->block : NULL;

    if (!b)
        return NULL;
    s->spare += slot->grant;
    s->window -= slot->grant;
    *slot = (struct slot){0};
    s->consumed++;
    return b;
}

int sl_intake_next(struct sl_intake *s, int64_t timeout_millis, struct sl_bytes **out, sl_err *err)
{
    int64_t end = timeout_millis < 0 ? INT64_MAX : sl_mono_nanos() + timeout_millis * 1000000;
    int rc = SL_OK;

    *out = NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->started) {
        s->started = true;
        sl_intake_grow_window(s, NULL);
        if (s->want_pull) {
            sl_intake_leave(s);
            pthread_mutex_lock(&s->lock);
        }
    }
    for (;;) {
        rc = failure_of(s, err);
        if (rc != SL_OK || is_finished(s))
            break;
        *out = take_block(s);
        if (*out) {
            sl_intake_grow_window(s, NULL);
            break;
        }
        if (sl_mono_nanos() >= end)
            rc = sl_err_set(err, SL_EBUSY, "no block came in time");
        else
            rc = sl_cancel_check(err);
        if (rc != SL_OK)
            break;
        wait_a_while(s, end);
    }
    sl_intake_leave(s);
    if (rc == SL_EBUSY)
        sl_err_flag(err, SL_ERR_RETRY);
    return rc;
}

bool sl_intake_finished(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    bool finished = s->state == SOURCE_OPEN && is_finished(s);
    pthread_mutex_unlock(&s->lock);
    return finished;
}

bool sl_intake_close(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    bool tell = s->state == SOURCE_OPEN && !is_finished(s);
    if (tell)
        set_state(s, SOURCE_CLOSED, NULL);
    sl_intake_leave(s);
    return tell;
}

void sl_intake_abort(struct sl_intake *s, const sl_err *cause)
{
    pthread_mutex_lock(&s->lock);
    set_state(s, SOURCE_ABORTED, cause);
    sl_intake_leave(s);
}

void sl_intake_settle(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    /* The waiting reservation was cancelled when the state changed, or its grant is on its way. */
    while (s->pulling || s->waiting || s->acking || s->leaving)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- acknowledging ---- */

bool sl_intake_ack_next(struct sl_intake *s, bool done, int32_t *start, int32_t *end)
{
    pthread_mutex_lock(&s->lock);
    if (done)
        s->acked = s->acking_end;
    bool more = s->state == SOURCE_OPEN && s->acked < s->complete;
    if (more) {
        *start = s->acked;
        *end = s->acking_end = s->complete;
    } else {
        s->acking = false;
        pthread_cond_broadcast(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    return more;
}

void sl_intake_ack_failed(struct sl_intake *s, const sl_err *cause)
{
    pthread_mutex_lock(&s->lock);
    if (cause)
        sl_intake_fail(s, cause);
    s->acking = false;
    pthread_cond_broadcast(&s->wake);
    sl_intake_leave(s);
}
