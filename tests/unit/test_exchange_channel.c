/* Sink and intake without a network: what a response holds, and that bytes arrive whatever is lost, doubled or out of order. */
#include "exchange_unit.h"

#include "exchange/intake.h"

/* ---- what a response holds: the vectors of the protocol ---- */

struct vector {
    int32_t start, end, offset;
    uint64_t limit;
    size_t n, sizes[4];
    int64_t next, total; /* -1: not written */
};

static struct sl_mempool *pool, *tight_pool; /* the second for two large blocks at a time */
static struct sl_mempool_query *query, *tight;

static int open_pool(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_mempool_new(64 << 20, 0, &pool, &err), err);
    assert_ok(sl_mempool_query_get(pool, SL_LIT("q0"), &query, &err), err);
    assert_ok(sl_mempool_new(6000, 0, &tight_pool, &err), err);
    assert_ok(sl_mempool_query_get(tight_pool, SL_LIT("q0"), &tight, &err), err);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    assert_int_equal(sl_mempool_used(pool), 0);
    sl_mempool_query_unref(query);
    sl_mempool_unref(pool);
    assert_int_equal(sl_mempool_used(tight_pool), 0);
    assert_true(sl_mempool_peak(tight_pool) <= 6000);
    sl_mempool_query_unref(tight);
    sl_mempool_unref(tight_pool);
    return 0;
}

/* Blocks FIRST, FIRST + 1 and so on; those before FIRST are acknowledged. */
static struct sl_sink *sink_with(int32_t first, const size_t *sizes, size_t n)
{
    struct sl_sink_setup setup = {.query = query};
    struct sl_sink *s = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_sink_new(&setup, &s, &err), err);
    for (int32_t i = 0; i < first + (int32_t)n; i++) {
        struct unit_block b = {i, 0};

        assert_ok(sl_sink_send(s, i < first ? 1 : sizes[i - first], unit_serialize, &b, 0, &err), err);
    }
    sl_sink_acknowledge(s, 0, first);
    return s;
}

static void check_vector(struct sl_sink *s, const struct vector *v)
{
    struct sl_ask ask = {v->start, v->end, v->offset >= 0, v->offset, v->limit, 536870912};
    struct sl_response r = {0};
    sl_err err = SL_ERR_INIT;
    size_t at = v->offset > 0 ? (size_t)v->offset : 0;

    assert_ok(sl_sink_get(s, &ask, &r, &err), err);
    assert_int_equal(r.slices.n, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const struct sl_slice *slice = &r.slices.v[i];

        assert_int_equal(slice->n, v->sizes[i]);
        assert_int_equal(slice->from, at);
        at = 0;
    }
    assert_int_equal(r.offset, v->next);
    assert_int_equal(r.total, v->total);
    sl_response_release(&r);
}

static void fill_rule(void **state)
{
    static const size_t a[] = {4, 6, 25}, b[] = {4, 7, 25};
    static const struct vector first[] = {
        {7, 10, 0, 10, 2, {4, 6}, -1, -1},
        {9, 10, 0, 10, 1, {10}, 10, 25},
        {9, 10, 10, 10, 1, {10}, 20, -1},
        {9, 10, 20, 10, 1, {5}, -1, -1},
        {7, 10, -1, 10, 3, {4, 6, 25}, -1, -1}, /* without offset: whole, whatever the limit */
        {9, 10, 0, 25, 1, {25}, -1, -1},
        {9, 10, 0, 24, 1, {24}, 24, 25},
        {9, 10, 0, 26, 1, {25}, -1, -1},
        {9, 10, 24, 1, 1, {1}, -1, -1},
        {7, 10, 0, 1, 1, {1}, 1, 4},
        {7, 8, 3, 10, 1, {1}, -1, -1},
    };
    static const struct vector second[] = {
        {7, 10, 0, 10, 2, {4, 6}, 6, 7},
        {8, 10, 6, 10, 2, {1, 9}, 9, 25},
        {9, 10, 9, 10, 1, {10}, 19, -1},
        {9, 10, 19, 10, 1, {6}, -1, -1},
    };
    struct sl_sink *s = sink_with(7, a, 3), *t = sink_with(7, b, 3);

    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        check_vector(s, &first[i]);
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        check_vector(t, &second[i]);
    sl_sink_unref(s);
    sl_sink_unref(t);
}

static void bad_requests(void **state)
{
    static const size_t sizes[] = {4, 6, 25};
    static const struct sl_ask bad[] = {
        {7, 8, true, -1, 10, 1 << 20},  {7, 8, true, 4, 10, 1 << 20},      {7, 8, true, 5, 10, 1 << 20},
        {6, 8, true, 0, 10, 1 << 20},   {7, 8, true, INT32_MAX, 10, 1 << 20}, {10, 11, true, 0, 10, 1 << 20},
        {9, 11, true, 0, 100, 1 << 20}, {7, 11, false, 0, 10, 1 << 20},    {-5, 8, true, 0, 10, 1 << 20},
        {INT32_MIN, INT32_MAX, false, 0, 10, 1 << 20},
    };
    struct sl_sink *s = sink_with(7, sizes, 3);
    struct sl_response r = {0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(sl_sink_get(s, &bad[i], &r, &err), SL_EINPUT);
        assert_int_equal(r.slices.n, 0);
    }
    /* Ids behind the point where the response is full are not looked at. */
    struct sl_ask far = {7, 100, true, 0, 10, 1 << 20};
    assert_ok(sl_sink_get(s, &far, &r, &err), err);
    assert_int_equal(r.slices.n, 2);
    sl_sink_acknowledge(s, 8, 9);
    assert_code(sl_sink_get(s, &far, &r, &err), SL_EINPUT); /* a gap */
    sl_sink_acknowledge(s, 8, 9);
    sl_sink_acknowledge(s, 0, 8);
    sl_sink_acknowledge(s, 20, 30);
    sl_sink_acknowledge(s, 30, 20);
    assert_int_equal(sl_mempool_used(pool), 25);
    sl_sink_close(s);
    assert_ok(sl_sink_get(s, &far, &r, &err), err); /* gone: empty */
    assert_int_equal(r.slices.n, 0);
    sl_response_release(&r);
    sl_sink_unref(s);
}

/* Many tiny blocks: the frame ends the response before the payload does; without offset there is no way out but an error. */
static void frame_limit(void **state)
{
    static size_t sizes[2000];
    struct sl_response r = {0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        sizes[i] = 1;
    struct sl_sink *s = sink_with(0, sizes, 2000);
    struct sl_ask ask = {0, 2000, true, 0, 4096 - 1024, 4096};
    assert_ok(sl_sink_get(s, &ask, &r, &err), err);
    assert_true(r.slices.n > 500 && r.bytes + SL_MPP_BLOCKS_OVERHEAD(r.slices.n) <= 4096);
    assert_int_equal(r.offset, -1);
    ask.has_offset = false;
    assert_code(sl_sink_get(s, &ask, &r, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "frame"));
    sl_response_release(&r);
    sl_sink_unref(s);
}

/* A response under way keeps the bytes, and their charge, when the channel lets go of them. */
static void slices_outlive_the_channel(void **state)
{
    static const size_t sizes[] = {1000};
    struct sl_sink *s = sink_with(0, sizes, 1);
    struct sl_ask ask = {0, 1, true, 0, 600, 1 << 20};
    struct sl_response r = {0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_sink_get(s, &ask, &r, &err), err);
    sl_sink_abort(s, NULL);
    sl_sink_unref(s);
    assert_int_equal(sl_mempool_used(pool), 1000);
    assert_true(unit_same(0, sl_bytes_data(r.slices.v[0].block), 600));
    sl_response_release(&r);
    assert_int_equal(sl_mempool_used(pool), 0);
}

/* ---- a whole conversation, step by step, with everything that can go wrong on the way ---- */

enum server { NEW_SERVER, OLD_SERVER, NO_TOTAL_SERVER };
enum { BLOCKS = 24, EVENTS_MAX = 200, SIZE_MAX_ = 3000 };

struct event {
    int32_t start;
    int64_t sizes[BLOCKS];
    size_t n;
    bool end;
    int32_t last;
};

struct world {
    struct sl_sink *sink;
    struct sl_intake *intake;
    enum server server;
    bool whole_blocks, calm, true_sizes;
    uint64_t random;
    size_t sizes[BLOCKS];
    struct unit_block blocks[BLOCKS];
    int32_t sent, told, received;
    bool ended, end_told, finished;
    struct event events[EVENTS_MAX];
    size_t nevents;
    bool want_pull, want_ack, acking;
    int32_t ack_start, ack_end;
    size_t fetches, losses;
};

static uint64_t draw(struct world *w, uint64_t n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return n ? w->random % n : 0;
}

static bool happens(struct world *w, uint64_t percent)
{
    return !w->calm && draw(w, 100) < percent;
}

static int lost(struct world *w, sl_err *err)
{
    w->losses++;
    sl_err_set(err, SL_EIO, "lost on purpose");
    err->flags |= SL_ERR_RETRY;
    return SL_EIO;
}

/* The network: one request and its response, either of which may be lost, the second in the middle. */
static int fetch(void *user, const struct sl_ask *asked, const struct sl_receiver *to, struct sl_received *out, sl_err *err)
{
    struct world *w = user;
    struct sl_ask ask = *asked;
    struct sl_response r = {0};
    int rc = SL_OK;

    w->fetches++;
    assert_int_equal(ask.has_offset, !w->whole_blocks);
    if (w->server == OLD_SERVER) {
        assert_int_equal(ask.offset, 0); /* no other offset is sent to a server that never returned one */
        ask.has_offset = false;
    }
    ask.max_payload = 1 + draw(w, happens(w, 50) ? 50 : SIZE_MAX_ * 2);
    ask.max_frame = 536870912;
    if (happens(w, 15))
        return lost(w, err);
    for (int again = happens(w, 20); again >= 0; again--) /* a doubled request changes nothing */
        assert_ok(sl_sink_get(w->sink, &ask, &r, err), *err);
    if (ask.has_offset)
        assert_true(r.bytes <= ask.max_payload);
    size_t stop = happens(w, 20) ? draw(w, r.slices.n + 1) : SIZE_MAX;
    for (size_t i = 0; rc == SL_OK && i < r.slices.n; i++) {
        const struct sl_slice *s = &r.slices.v[i];
        unsigned char *p = NULL;

        assert_true(s->n > 0);
        rc = to->element(to->user, i, r.slices.n, s->n, &p, err);
        size_t n = i == stop ? draw(w, s->n) : s->n;
        if (rc == SL_OK)
            memcpy(p, sl_bytes_data(s->block) + s->from, n);
        if (rc == SL_OK && i == stop)
            rc = lost(w, err);
    }
    if (rc == SL_OK && stop == r.slices.n)
        rc = lost(w, err);
    bool total = r.total >= 0 && w->server != NO_TOTAL_SERVER;
    *out = (struct sl_received){r.slices.n, r.offset >= 0, total, (int32_t)r.offset, (int32_t)r.total};
    sl_response_release(&r);
    return rc;
}

static void want_pull(void *user)
{
    ((struct world *)user)->want_pull = true;
}

static void want_ack(void *user)
{
    ((struct world *)user)->want_ack = true;
}

static void world_open(struct world *w, uint64_t seed, enum server server, bool whole_blocks, bool little_memory)
{
    struct sl_sink_setup k = {.query = query, .max_bytes = SIZE_MAX_ * 4};
    sl_err err = SL_ERR_INIT;

    *w = (struct world){.server = server, .whole_blocks = whole_blocks, .true_sizes = little_memory, .random = seed * 0x9e3779b97f4a7c15u + 1};
    struct sl_intake_setup s = {.query = little_memory ? tight : query, .max_bytes = SIZE_MAX_ * 5, .whole_blocks = whole_blocks, .attempts = 1000,
                                .pull = want_pull, .acknowledge = want_ack, .user = w};
    assert_ok(sl_sink_new(&k, &w->sink, &err), err);
    assert_ok(sl_intake_new(&s, &w->intake, &err), err);
    for (int32_t i = 0; i < BLOCKS; i++) {
        w->sizes[i] = 1 + draw(w, draw(w, 3) ? 100 : SIZE_MAX_);
        w->blocks[i].seq = i;
    }
}

static void tell(struct world *w)
{
    struct sl_news news;
    struct event e = {0};

    sl_sink_news(w->sink, w->told, e.sizes, 1 + draw(w, 3), 0, &news);
    e.start = news.start;
    e.n = news.n;
    if (news.gone || w->end_told || w->nevents >= EVENTS_MAX - 2)
        return;
    if (e.n > 0 && !w->true_sizes && happens(w, 30))
        for (size_t i = 0; i < e.n; i++)
            e.sizes[i] = 1 + (int64_t)draw(w, SIZE_MAX_); /* an announced size is a hint */
    w->told += (int32_t)e.n;
    if (e.n > 0)
        w->events[w->nevents++] = e;
    if (news.ended) {
        w->events[w->nevents++] = (struct event){.end = true, .last = news.last};
        w->end_told = true;
        sl_sink_end_told(w->sink);
    }
}

/* Some event, not the oldest of necessity, and maybe not for the last time. */
static void deliver(struct world *w)
{
    sl_err err = SL_ERR_INIT;

    if (w->nevents == 0)
        return;
    size_t i = w->calm ? 0 : draw(w, w->nevents);
    struct event e = w->events[i];
    if (!happens(w, 20)) {
        memmove(&w->events[i], &w->events[i + 1], (w->nevents - i - 1) * sizeof e);
        w->nevents--;
    }
    if (e.end)
        assert_ok(sl_intake_end(w->intake, e.last, &err), err);
    else
        assert_ok(sl_intake_new_blocks(w->intake, e.start, e.sizes, e.n, &err), err);
}

static void send_one(struct world *w)
{
    sl_err err = SL_ERR_INIT;

    if (w->sent == BLOCKS) {
        w->ended = true;
        int ended = sl_sink_end(w->sink, &err);
        assert_true(ended == SL_OK || ended == SL_ECANCELLED);
        return;
    }
    int rc = sl_sink_send(w->sink, w->sizes[w->sent], unit_serialize, &w->blocks[w->sent], 0, &err);
    w->sent += rc == SL_OK;
    assert_true(rc == SL_OK || rc == SL_EBUSY || rc == SL_ECANCELLED);
}

static void pull(struct world *w)
{
    if (!w->want_pull)
        return;
    w->want_pull = false;
    if (sl_intake_pull(w->intake, fetch, w) == SL_PULL_RETRY)
        w->want_pull = true;
}

static void acknowledge(struct world *w)
{
    if (!w->want_ack && !w->acking)
        return;
    if (!w->acking) {
        w->want_ack = false;
        w->acking = sl_intake_ack_next(w->intake, false, &w->ack_start, &w->ack_end);
    }
    if (!w->acking || happens(w, 20))
        return;
    sl_sink_acknowledge(w->sink, w->ack_start, w->ack_end);
    if (!happens(w, 20)) /* else the reply was lost: the same once more */
        w->acking = sl_intake_ack_next(w->intake, true, &w->ack_start, &w->ack_end);
}

static void consume(struct world *w)
{
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;
    int rc = sl_intake_next(w->intake, 0, &b, &err);

    if (rc == SL_OK && !b)
        w->finished = true;
    if (b) {
        assert_int_equal(sl_bytes_size(b), w->sizes[w->received]);
        assert_true(unit_same(w->received, sl_bytes_data(b), sl_bytes_size(b)));
        w->received++;
        sl_bytes_unref(b);
    } else if (rc != SL_OK && rc != SL_EBUSY && rc != SL_ECANCELLED && rc != SL_ENOTFOUND) {
        fail_msg("%s", err.text);
    }
}

static void step(struct world *w, uint64_t what)
{
    switch (what % 6) {
    case 0:
        send_one(w);
        break;
    case 1:
        tell(w);
        break;
    case 2:
        deliver(w);
        break;
    case 3:
        pull(w);
        break;
    case 4:
        acknowledge(w);
        break;
    default:
        consume(w);
    }
}

static void world_close(struct world *w)
{
    sl_intake_abort(w->intake, NULL);
    while (w->want_pull)
        pull(w);
    w->calm = true;
    while (w->want_ack || w->acking)
        acknowledge(w);
    sl_intake_settle(w->intake);
    sl_intake_free(w->intake);
    sl_sink_abort(w->sink, NULL);
    sl_sink_unref(w->sink);
    assert_int_equal(sl_mempool_used(pool), 0);
    assert_int_equal(sl_mempool_used(tight_pool), 0);
}

static uint64_t seed_of_run(void)
{
    const char *s = getenv("SLUICE_TEST_SEED");

    return s ? strtoull(s, NULL, 10) : 1;
}

static void delivered_bytes_are_sent_bytes(void **state)
{
    static struct world w;
    uint64_t seed = seed_of_run();
    size_t losses = 0;

    (void)state;
    for (uint64_t run = 0; run < 300; run++) {
        bool whole = run % 4 == 3;

        world_open(&w, seed + run, (enum server)(run % 3), whole, run % 5 > 2);
        for (size_t i = 0; i < 200000 && !(w.finished && sl_sink_state(w.sink) == SL_SINK_FINISHED); i++)
            step(&w, draw(&w, 6));
        if (!w.finished || w.received != BLOCKS || sl_sink_state(w.sink) != SL_SINK_FINISHED)
            fail_msg("seed %ju, run %ju: %d of %d blocks, sink in state %d", (uintmax_t)seed, (uintmax_t)run, w.received, BLOCKS,
                     sl_sink_state(w.sink));
        for (size_t i = 0; i < BLOCKS; i++)
            assert_int_equal(w.blocks[i].calls, 1);
        losses += w.losses;
        assert_int_equal(sl_mempool_used(pool), 0);
        world_close(&w);
    }
    assert_true(losses > 1000);
}

/* Whatever is done at whatever step, on either side: all memory comes back. */
static void ends_at_every_step(void **state)
{
    static struct world w;
    size_t steps = 1;

    (void)state;
    for (size_t stop = 0; stop < steps; stop++)
        for (int how = 0; how < 8; how++) {
            world_open(&w, 42, NEW_SERVER, false, how >= 4);
            w.calm = true;
            for (size_t i = 0; i < stop; i++)
                step(&w, draw(&w, 6));
            bool over = sl_sink_state(w.sink) == SL_SINK_FINISHED && w.finished;
            if (how % 4 == 0)
                sl_sink_abort(w.sink, NULL);
            else if (how % 4 == 1)
                sl_sink_close(w.sink);
            else if (how % 4 == 2)
                sl_intake_abort(w.intake, NULL);
            else
                (void)sl_intake_close(w.intake);
            for (size_t i = 0; i < 60; i++)
                step(&w, draw(&w, 6));
            steps = over ? steps : stop + 2;
            world_close(&w);
        }
    assert_true(steps > 50);
}

/* ---- responses that lie ---- */

struct reply {
    size_t n, sizes[4];
    int64_t offset, total; /* INT64_MIN: not there */
    bool lost;
};
#define NONE INT64_MIN

struct script {
    int64_t announced[4];
    size_t nannounced;
    struct reply replies[4];
    int outcome;           /* of the consumer's next; SL_OK: a block */
    const char *text;      /* in the error */
    size_t calls;          /* replies that are asked for */
};

struct player {
    const struct script *script;
    size_t calls, elements;
    bool want_pull;
    struct sl_intake *intake;
    int close_in; /* the intake is closed (1) or aborted (2) while this call is under way, 0: never */
};

static int play(void *user, const struct sl_ask *ask, const struct sl_receiver *to, struct sl_received *out, sl_err *err)
{
    struct player *p = user;
    const struct reply *r = &p->script->replies[p->calls++];
    int rc = SL_OK;

    (void)ask;
    assert_true(p->calls <= 4);
    if (p->close_in == 1)
        (void)sl_intake_close(p->intake);
    if (p->close_in == 2)
        sl_intake_abort(p->intake, NULL);
    for (size_t i = 0; rc == SL_OK && i < r->n; i++) {
        unsigned char *at = NULL;

        rc = to->element(to->user, i, r->n, r->sizes[i], &at, err);
        if (rc == SL_OK) {
            memset(at, 'x', r->sizes[i]);
            p->elements++;
        }
    }
    if (rc == SL_OK && r->lost) {
        sl_err_set(err, SL_EIO, "lost on purpose");
        err->flags |= SL_ERR_RETRY;
        return SL_EIO;
    }
    *out = (struct sl_received){r->n, r->offset != NONE, r->total != NONE, (int32_t)r->offset, (int32_t)r->total};
    return rc;
}

static void player_pull(void *user)
{
    ((struct player *)user)->want_pull = true;
}

static void ignore(void *user)
{
    (void)user;
}

static void run_script(const struct script *s, int close_in)
{
    struct player p = {.script = s, .close_in = close_in};
    struct sl_intake_setup setup = {.query = query, .max_bytes = 1000, .pull = player_pull, .acknowledge = ignore, .user = &p};
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;
    int32_t start, end;

    assert_ok(sl_intake_new(&setup, &p.intake, &err), err);
    assert_ok(sl_intake_new_blocks(p.intake, 0, s->announced, s->nannounced, &err), err);
    assert_code(sl_intake_next(p.intake, 0, &b, &err), SL_EBUSY);
    while (p.want_pull) {
        p.want_pull = false;
        if (sl_intake_pull(p.intake, play, &p) == SL_PULL_RETRY)
            p.want_pull = true;
    }
    int rc = sl_intake_next(p.intake, 0, &b, &err);
    if (!close_in) {
        if (rc != s->outcome || (s->text && !strstr(err.text, s->text)))
            fail_msg("\"%s\": code %d, %s", s->text ? s->text : "", rc, err.text);
        assert_int_equal(p.calls, s->calls);
        if (rc != SL_OK)
            assert_int_equal(sl_mempool_used(pool), 0);
    } else {
        assert_null(b);
        assert_int_equal(p.calls, 1);
        assert_int_equal(sl_mempool_used(pool), 0); /* at once, not when the handle is freed */
    }
    sl_bytes_unref(b);
    while (rc == SL_OK && sl_intake_ack_next(p.intake, true, &start, &end))
        continue;
    sl_intake_abort(p.intake, NULL);
    while (sl_intake_ack_next(p.intake, true, &start, &end))
        continue;
    sl_intake_settle(p.intake);
    sl_intake_free(p.intake);
    assert_int_equal(sl_mempool_used(pool), 0);
}

static const struct script scripts[] = {
    /* what is right */
    {{100}, 1, {{1, {5}, NONE, NONE, false}}, SL_OK, NULL, 1},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {3}, NONE, NONE, false}}, SL_OK, NULL, 2},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {3}, NONE, 8, false}}, SL_OK, NULL, 2},
    {{100}, 1, {{1, {5}, 5, NONE, false}, {1, {3}, NONE, NONE, false}}, SL_OK, NULL, 2},
    {{100}, 1, {{1, {5}, 5, 8, true}, {1, {5}, 5, 8, false}, {1, {3}, NONE, NONE, false}}, SL_OK, NULL, 3},
    {{2}, 1, {{1, {900}, NONE, NONE, false}}, SL_OK, NULL, 1}, /* announced with less, as old nodes do */
    {{2}, 1, {{1, {5}, 5, 5000, false}, {1, {4995}, NONE, NONE, false}}, SL_OK, NULL, 2},
    /* what is not */
    {{100}, 1, {{0, {0}, NONE, NONE, false}}, SL_ENOTFOUND, "no more", 1},
    {{100}, 1, {{1, {5}, 5, 8, false}, {0, {0}, NONE, NONE, false}}, SL_ENOTFOUND, "no more", 2},
    {{100}, 1, {{1, {0}, NONE, NONE, false}}, SL_ECORRUPT, "empty", 1},
    {{100}, 1, {{2, {5, 5}, NONE, NONE, false}}, SL_ECORRUPT, "2 blocks where 1", 1},
    {{100}, 1, {{1, {5}, 4, 8, false}}, SL_ECORRUPT, "offset 4 behind 5", 1},
    {{100}, 1, {{1, {5}, 0, 8, false}}, SL_ECORRUPT, "offset 0", 1},
    {{100}, 1, {{1, {5}, -1, 8, false}}, SL_ECORRUPT, "offset -1", 1},
    {{100}, 1, {{1, {5}, 5, 5, false}}, SL_ECORRUPT, "cannot go on", 1},
    {{100}, 1, {{1, {5}, 5, 3, false}}, SL_ECORRUPT, "cannot go on", 1},
    {{100}, 1, {{1, {5}, 5, 0, false}}, SL_ECORRUPT, "cannot go on", 1},
    {{100}, 1, {{1, {5}, 5, -7, false}}, SL_ECORRUPT, "cannot go on", 1},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {2}, NONE, NONE, false}}, SL_ECORRUPT, "and 7 came", 2},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {4}, NONE, NONE, false}}, SL_ECORRUPT, "and 9 came", 2},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {2}, 7, 9, false}}, SL_ECORRUPT, "now has 9", 2},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {3}, 8, NONE, false}}, SL_ECORRUPT, "goes on", 2},
    {{100}, 1, {{1, {5}, 5, 8, false}, {1, {2}, 2, NONE, false}}, SL_ECORRUPT, "offset 2 behind 7", 2},
    {{100, 100}, 2, {{1, {5}, 5, 8, false}, {2, {2, 9}, NONE, NONE, false}}, SL_ECORRUPT, "and 7 came", 2},
    {{100}, 1, {{1, {5}, 5, INT32_MAX, false}}, SL_ENOMEM, "2147483647", 1}, /* refused before it is allocated, and not tried again */
    {{100}, 1, {{1, {(size_t)1 << 30}, NONE, NONE, false}}, SL_ENOMEM, "were announced", 1},
    {{100}, 1, {{1, {5}, 5, 8, true}, {1, {5}, 5, 8, true}, {1, {5}, 5, 8, true}}, SL_EIO, "3 attempts", 3},
    /* three attempts for the pull, not for each fragment */
    {{100}, 1, {{1, {5}, 5, 20, true}, {1, {5}, 5, 20, false}, {1, {5}, 10, NONE, true}, {1, {5}, 10, NONE, true}}, SL_EIO, "3 attempts", 4},
};

static void responses_that_lie(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        run_script(&scripts[i], 0);
}

/* The response comes after the end: one call, no failure, nothing held. */
static void ends_during_a_fetch(void **state)
{
    static const struct script fragment = {{100}, 1, {{1, {2}, 2, 6, false}}, SL_OK, NULL, 1};
    static const struct script block = {{100}, 1, {{1, {2}, NONE, NONE, false}}, SL_OK, NULL, 1};

    (void)state;
    for (int how = 1; how <= 2; how++) {
        run_script(&fragment, how);
        run_script(&block, how);
    }
}

static void bad_events(void **state)
{
    struct player p = {.script = &scripts[0]};
    struct sl_intake_setup setup = {.query = query, .pull = player_pull, .acknowledge = ignore, .user = &p};
    int64_t one = 10, none = 0, minus = -1, huge = INT64_MAX;
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_intake_new(&setup, &p.intake, &err), err);
    assert_code(sl_intake_new_blocks(p.intake, 0, &none, 1, &err), SL_EINPUT);
    assert_code(sl_intake_new_blocks(p.intake, 0, &minus, 1, &err), SL_EINPUT);
    assert_code(sl_intake_new_blocks(p.intake, -1, &one, 1, &err), SL_EINPUT);
    assert_code(sl_intake_new_blocks(p.intake, INT32_MAX, &one, 1, &err), SL_EINPUT);
    assert_code(sl_intake_new_blocks(p.intake, INT32_MAX - 1, &one, 1, &err), SL_EINPUT); /* too far ahead */
    assert_code(sl_intake_end(p.intake, -2, &err), SL_EINPUT);
    assert_ok(sl_intake_end(p.intake, 5, &err), err);
    assert_ok(sl_intake_end(p.intake, 5, &err), err);
    assert_code(sl_intake_end(p.intake, 6, &err), SL_EINPUT);
    assert_code(sl_intake_next(p.intake, 0, &b, &err), SL_EBUSY);
    /* A block that the limits never let in: the source fails, and so does the call that announced it. */
    assert_code(sl_intake_new_blocks(p.intake, 0, &huge, 1, &err), SL_ENOMEM);
    assert_code(sl_intake_next(p.intake, 0, &b, &err), SL_ENOMEM);
    sl_intake_settle(p.intake);
    sl_intake_free(p.intake);
}

/* Memory for five of ten: the first pull takes five, and each block that is taken makes room for more. */
static void window_is_memory(void **state)
{
    static struct world w;
    struct sl_mempool *small = NULL;
    struct sl_mempool_query *q = NULL, *kept = query;
    int64_t sizes[10];
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    world_open(&w, 7, NEW_SERVER, true, false);
    w.calm = true;
    for (int i = 0; i < 10; i++) {
        w.sizes[i] = 100;
        sizes[i] = 100;
        send_one(&w);
    }
    sl_intake_free(w.intake);
    assert_ok(sl_mempool_new(500, 0, &small, &err), err);
    assert_ok(sl_mempool_query_get(small, SL_LIT("q"), &q, &err), err);
    struct sl_intake_setup s = {.query = q, .whole_blocks = true, .pull = want_pull, .acknowledge = want_ack, .user = &w};
    query = q;
    assert_ok(sl_intake_new(&s, &w.intake, &err), err);
    query = kept;
    assert_ok(sl_intake_new_blocks(w.intake, 5, sizes, 5, &err), err); /* out of order: nothing happens */
    assert_code(sl_intake_next(w.intake, 0, &b, &err), SL_EBUSY);
    assert_false(w.want_pull);
    assert_ok(sl_intake_new_blocks(w.intake, 0, sizes, 5, &err), err);
    pull(&w);
    assert_int_equal(w.fetches, 1);
    assert_int_equal(sl_mempool_used(small), 500);
    for (int i = 0; i < 10; i++) {
        consume(&w);
        assert_int_equal(w.received, i + 1);
        pull(&w);
        assert_true(sl_mempool_used(small) <= 500);
    }
    assert_int_equal(w.fetches, 6);
    assert_int_equal(sl_mempool_used(small), 0);
    sl_mempool_query_unref(q);
    world_close(&w);
    sl_mempool_unref(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_rule),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(frame_limit),
        cmocka_unit_test(slices_outlive_the_channel),
        cmocka_unit_test(delivered_bytes_are_sent_bytes),
        cmocka_unit_test(ends_at_every_step),
        cmocka_unit_test(responses_that_lie),
        cmocka_unit_test(ends_during_a_fetch),
        cmocka_unit_test(bad_events),
        cmocka_unit_test(window_is_memory),
    };

    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
