/* Pulling: responses become blocks, checked element by element before a byte is read, and counted only when the whole response is here. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/intake_priv.h"

void sl_intake_drop_round(struct sl_intake *s)
{
    for (size_t i = 0; i < s->round.blocks.n; i++)
        sl_bytes_unref(s->round.blocks.v[i]);
    s->round.blocks.n = 0;
    if (s->round.blocks.cap > 1024) {
        sl_free(s->round.blocks.v);
        s->round.blocks.v = NULL;
        s->round.blocks.cap = 0;
    }
}

/* The announced size was a hint: what is really to be held is reserved before it is allocated. No other attempt makes it smaller. */
static int ensure_grant(struct sl_intake *s, int32_t seq, uint64_t n, sl_err *err)
{
    if (seq - s->round.base < GRANTS_SEEN && n <= s->round.grants[seq - s->round.base])
        return SL_OK;
    pthread_mutex_lock(&s->lock);
    bool open = s->state == SOURCE_OPEN;
    uint64_t have = open ? sl_intake_slot(s, seq)->grant : 0;
    pthread_mutex_unlock(&s->lock);
    if (!open)
        return sl_err_set(err, SL_ECANCELLED, "the blocks are not wanted any more");
    if (have >= n)
        return SL_OK;
    int rc = sl_mempool_reserve(s->setup.query, n - have, err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "block %" PRId32 " has %" PRIu64 " bytes where %" PRIu64 " were announced", seq, n, have);
        err->flags &= ~(uint32_t)SL_ERR_RETRY;
        return rc;
    }
    pthread_mutex_lock(&s->lock);
    if (s->state == SOURCE_OPEN) {
        sl_intake_slot(s, seq)->grant = n;
        s->window += n - have;
    } else {
        s->spare += n - have;
    }
    sl_intake_leave(s);
    return SL_OK;
}

/* What is held but not needed for SEQ goes back. Under the lock. */
static void trim_grant(struct sl_intake *s, int32_t seq, uint64_t n)
{
    struct slot *slot = sl_intake_slot(s, seq);

    if (slot->grant <= n)
        return;
    s->spare += slot->grant - n;
    s->window -= slot->grant - n;
    slot->grant = n;
}

static int violation(sl_err *err, const char *fmt, ...) SL_PRINTF(2, 3);
static int violation(sl_err *err, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return sl_err_set(err, SL_ECORRUPT, "the sender's response breaks the protocol: %s", text);
}

/* Element 0 goes on with the partial block. */
static int go_on(struct sl_intake *s, size_t size, unsigned char **to, sl_err *err)
{
    uint64_t needed = (uint64_t)s->got + size;

    if (needed > INT32_MAX)
        return violation(err, "block %" PRId32 " grows beyond %d bytes", s->pulled, INT32_MAX);
    if (s->total >= 0 && needed > (uint64_t)s->total)
        return violation(err, "block %" PRId32 " was said to have %" PRId64 " bytes, and %" PRIu64 " came", s->pulled, s->total, needed);
    if (needed > sl_bytes_size(s->partial)) {
        SL_TRY(ensure_grant(s, s->pulled, needed, err));
        SL_TRY(sl_bytes_resize(s->partial, (size_t)needed, err));
    }
    *to = sl_bytes_data(s->partial) + s->got;
    return SL_OK;
}

static int begin_element(void *user, size_t i, size_t n, size_t size, unsigned char **to, sl_err *err)
{
    struct sl_intake *s = user;
    struct sl_bytes **slot = NULL;

    if (n > (size_t)(s->range_end - s->pulled))
        return violation(err, "%zu blocks where %" PRId32 " were asked for", n, s->range_end - s->pulled);
    if (size == 0)
        return violation(err, "element %zu is empty", i);
    if (i != s->round.blocks.n)
        return sl_err_set(err, SL_EBUG, "element %zu came out of turn", i);
    slot = sl_vec_push(&s->round.blocks);
    if (!slot)
        return sl_err_nomem(err);
    s->round.last = size;
    if (i == 0)
        s->round.first = size;
    if (i == 0 && s->partial)
        return go_on(s, size, to, err);
    if (size > INT32_MAX)
        return violation(err, "element %zu has %zu bytes", i, size);
    SL_TRY(ensure_grant(s, s->pulled + (int32_t)i, size, err));
    SL_TRY(sl_bytes_new(size, slot, err));
    *to = sl_bytes_data(*slot);
    return SL_OK;
}

/* ---- a whole response is here ---- */

static int check_offset(const struct sl_intake *s, const struct sl_ask *ask, const struct sl_received *r, size_t position, bool goes_on,
                        sl_err *err)
{
    if (!ask->has_offset)
        return violation(err, "a fragment where whole blocks were asked for");
    if (r->offset < 0 || (uint64_t)r->offset != position)
        return violation(err, "offset %" PRId32 " behind %zu bytes of the block", r->offset, position);
    if (r->has_total && r->total <= r->offset)
        return violation(err, "a block of %" PRId32 " bytes cannot go on at offset %" PRId32, r->total, r->offset);
    if (goes_on && r->has_total && s->total >= 0 && r->total != s->total)
        return violation(err, "the block had %" PRId64 " bytes and now has %" PRId32, s->total, r->total);
    if (goes_on && s->total >= 0 && r->offset >= s->total)
        return violation(err, "all %" PRId64 " bytes of the block are here, and it goes on", s->total);
    return SL_OK;
}

static int check_response(const struct sl_intake *s, const struct sl_ask *ask, const struct sl_received *r, sl_err *err)
{
    bool goes_on = s->partial && r->n == 1; /* the last element belongs to the partial block */

    if (r->n != s->round.blocks.n)
        return sl_err_set(err, SL_EBUG, "%zu elements were read of %zu", s->round.blocks.n, r->n);
    if (r->has_offset)
        SL_TRY(check_offset(s, ask, r, s->round.last + (goes_on ? s->got : 0), goes_on, err));
    /* Unless it goes on still, element 0 must have brought all the rest. */
    if (s->partial && s->total >= 0 && !(goes_on && r->has_offset) && (int64_t)(s->got + s->round.first) != s->total)
        return violation(err, "block %" PRId32 " was said to have %" PRId64 " bytes, and %zu came", s->pulled, s->total,
                         s->got + s->round.first);
    return SL_OK;
}

/* The fragment that ended the response becomes the partial block; its true length, once known, is allocated at once. */
static int keep_partial(struct sl_intake *s, const struct sl_received *r, int32_t seq, struct sl_bytes *b, size_t got, sl_err *err)
{
    s->partial = b;
    s->got = got;
    if (r->has_total)
        s->total = r->total;
    if (s->total < 0 || (size_t)s->total <= sl_bytes_size(b))
        return SL_OK;
    SL_TRY(ensure_grant(s, seq, (uint64_t)s->total, err));
    return sl_bytes_resize(b, (size_t)s->total, err);
}

/* N complete blocks join those that wait for the consumer. Under the lock. */
static void put_blocks(struct sl_intake *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct slot *slot = sl_intake_slot(s, s->pulled);

        slot->block = s->round.blocks.v[i];
        s->round.blocks.v[i] = NULL;
        trim_grant(s, s->pulled, sl_bytes_size(slot->block));
        sl_metric_add(SL_M_EXCHANGE_RECEIVED_BYTES, (int64_t)sl_bytes_size(slot->block));
        s->pulled++;
    }
    s->complete = s->pulled;
    if (n > 0 && !s->acking) {
        s->acking = true;
        s->want_ack = true;
    }
    if (n > 0)
        pthread_cond_broadcast(&s->wake);
}

static int accept_response(struct sl_intake *s, const struct sl_ask *ask, const struct sl_received *r, sl_err *err)
{
    size_t whole = r->n - (r->has_offset ? 1 : 0), got = s->round.last;
    struct sl_bytes *last = NULL;

    SL_TRY(check_response(s, ask, r, err));
    if (s->partial && whole == 0) { /* still the same block */
        s->round.blocks.n = 0;
        return keep_partial(s, r, s->pulled, s->partial, s->got + s->round.last, err);
    }
    if (r->has_offset) {
        last = s->round.blocks.v[r->n - 1];
        s->round.blocks.v[r->n - 1] = NULL;
    }
    if (s->partial) {
        s->round.blocks.v[0] = s->partial;
        s->partial = NULL;
    }
    s->got = 0;
    s->total = -1;
    pthread_mutex_lock(&s->lock);
    if (s->state == SOURCE_OPEN)
        put_blocks(s, whole);
    sl_intake_leave(s);
    sl_intake_drop_round(s);
    return last ? keep_partial(s, r, s->pulled, last, got, err) : SL_OK;
}

/* ---- attempts ---- */

/* Whether to ask once more; what is granted by now is noted, so that the elements need not be looked up one by one. */
static bool begin_round(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    bool open = s->state == SOURCE_OPEN && s->pulled < s->range_end;
    s->round.base = s->pulled;
    for (int32_t i = 0; open && i < GRANTS_SEEN; i++)
        s->round.grants[i] = i < s->range_end - s->pulled ? sl_intake_slot(s, s->pulled + i)->grant : 0;
    pthread_mutex_unlock(&s->lock);
    return open;
}

static bool is_open(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    bool open = s->state == SOURCE_OPEN;
    pthread_mutex_unlock(&s->lock);
    return open;
}

static void gone(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->state == SOURCE_OPEN)
        s->state = SOURCE_GONE;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

int sl_source_handle_get_data_block_with_fragments(struct sl_intake *s, sl_fetch_fn *fetch, void *user, sl_err *err)
{
    while (begin_round(s)) {
        struct sl_ask ask = {.start = s->pulled, .end = s->range_end, .has_offset = !s->setup.whole_blocks, .offset = (int32_t)s->got};
        struct sl_receiver to = {begin_element, s};
        struct sl_received r = {0};
        int rc = fetch(user, &ask, &to, &r, err);

        if (rc == SL_OK && !is_open(s))
            return SL_OK;
        if (rc == SL_OK && r.n == 0) {
            gone(s);
            return SL_OK;
        }
        if (rc == SL_OK)
            rc = accept_response(s, &ask, &r, err);
        if (rc != SL_OK) {
            sl_intake_drop_round(s);
            return rc;
        }
    }
    return SL_OK;
}

/* The pull, or this part of it, is over: let go of everything if nobody wants it any more, see to what came meanwhile. */
static enum sl_pull finish_pull(struct sl_intake *s, bool retry)
{
    pthread_mutex_lock(&s->lock);
    s->fetching = false;
    if (s->state != SOURCE_OPEN)
        sl_intake_drop_all(s);
    retry = retry && s->state == SOURCE_OPEN;
    if (!retry) {
        s->pulling = false;
        sl_intake_grow_window(s, NULL);
    }
    pthread_cond_broadcast(&s->wake);
    sl_intake_leave(s);
    return retry ? SL_PULL_RETRY : SL_PULL_DONE;
}

/* Takes the range of a new pull, or goes on with that of the last attempt. */
static bool begin_pull(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    bool open = s->state == SOURCE_OPEN;
    s->fetching = open;
    if (open && s->pulled == s->range_end) {
        s->range_end = s->granted_end;
        s->tries = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return open;
}

enum sl_pull sl_intake_pull(struct sl_intake *s, sl_fetch_fn *fetch, void *user)
{
    sl_err err = SL_ERR_INIT;

    while (begin_pull(s) && s->pulled < s->range_end) {
        int rc = sl_source_handle_get_data_block_with_fragments(s, fetch, user, &err);

        if (rc == SL_OK && !is_open(s))
            break;
        if (rc == SL_OK)
            continue;
        if ((err.flags & SL_ERR_RETRY) && ++s->tries < s->setup.attempts) {
            sl_metric_add(SL_M_EXCHANGE_RETRIES, 1);
            sl_log(SL_LOG_DEBUG, "exchange", "attempt %u of %u: %s", s->tries, s->setup.attempts, err.text);
            return finish_pull(s, true);
        }
        if (err.flags & SL_ERR_RETRY)
            sl_err_ctx(&err, "after %u attempts", s->tries);
        pthread_mutex_lock(&s->lock);
        s->fetching = false; /* so that all memory goes with the failure */
        sl_intake_fail(s, &err);
        sl_intake_leave(s);
        break;
    }
    return finish_pull(s, false);
}

void sl_intake_pull_dropped(struct sl_intake *s)
{
    pthread_mutex_lock(&s->lock);
    sl_err cause = SL_ERR_INIT;
    sl_err_set(&cause, SL_ECANCELLED, "the exchange is closing");
    sl_intake_fail(s, &cause);
    s->fetching = false;
    sl_intake_drop_all(s);
    s->pulling = false;
    pthread_cond_broadcast(&s->wake);
    sl_intake_leave(s);
}
