/* feed.c - cuts the bytes of a source into chunks of whole records, and into segments, one a commit. */
#include "ingest/feed.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    CHUNK_BYTES = 1 << 20,        /* fits in a core's own cache, is big beside the cost of a call */
    CHUNK_KEEP = 4 * CHUNK_BYTES, /* larger buffers, made for one big record, are given back */
    CHUNK_BIG = 16 * CHUNK_BYTES, /* only one thread at a time has a chunk above this */
    HEADER_MAX = 1 << 20,
    PAUSE_MILLIS = 50,
    IDLE_MILLIS = 5000,
};

struct sl_feed {
    struct sl_feed_spec spec;
    atomic_bool waiting;          /* a thread waits for input, with the lock held */
    atomic_uint_fast64_t bytes;   /* handed out */
    atomic_uint_fast64_t lag;
    pthread_mutex_t lock;         /* all below */
    pthread_cond_t closed;
    struct sl_input_file *file;   /* held; NULL: none is open */
    uint64_t offset, line;        /* of the first byte in CARRY */
    uint64_t chunks;              /* handed out */
    struct sl_buf carry;          /* read, but not handed out */
    struct sl_chunk ready;        /* the first chunk of the segment, until it is taken */
    bool need_header, ended;
    int64_t idle_since;           /* monotonic ns; 0: not waiting for a segment to begin, or told already */
    bool discarding;              /* within a record that is too long */
    struct sl_csv_scan discard_scan;
    /* the segment */
    uint64_t ticket;
    bool open;
    bool beginning;               /* a writer waits for its first row, at times without the lock */
    const struct sl_chunk *big;   /* handed out, above CHUNK_BIG */
    uint64_t rows_left, bytes_left;
    int64_t deadline;             /* monotonic ns */
    struct sl_buf positions[SL_FEED_SEGMENTS]; /* behind those closed last, by ticket */
    int rc;                       /* sticky */
    sl_err err;
};

/* ---- files and chunks ---- */

static void unref_file(struct sl_input_file *f)
{
    if (!f || atomic_fetch_sub(&f->refs, 1) != 1)
        return;
    sl_csv_header_free(f->header);
    sl_free(f->label);
    sl_free(f);
}

void sl_chunk_release(struct sl_chunk *c)
{
    sl_free(c->buf);
    unref_file(c->file);
    memset(c, 0, sizeof *c);
}

static int reserve(struct sl_chunk *c, size_t n, sl_err *err)
{
    size_t cap = c->cap ? c->cap : CHUNK_BYTES;

    if (c->buf && n <= c->cap)
        return SL_OK;
    while (cap < n)
        cap *= 2;
    char *p = sl_realloc(c->buf, cap + SL_TEXT_SLACK + 1);
    if (!p)
        return sl_err_nomem(err);
    c->buf = p;
    c->cap = cap;
    return SL_OK;
}

int sl_feed_new(const struct sl_feed_spec *spec, struct sl_feed **out, sl_err *err)
{
    struct sl_feed *r = sl_calloc(1, sizeof *r);
    pthread_condattr_t attr;

    *out = r;
    if (!r)
        return sl_err_nomem(err);
    r->spec = *spec;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->closed, &attr);
    pthread_condattr_destroy(&attr);
    return SL_OK;
}

void sl_feed_free(struct sl_feed *r)
{
    if (!r)
        return;
    unref_file(r->file);
    sl_chunk_release(&r->ready);
    sl_buf_release(&r->carry);
    for (size_t i = 0; i < SL_FEED_SEGMENTS; i++)
        sl_buf_release(&r->positions[i]);
    pthread_cond_destroy(&r->closed);
    pthread_mutex_destroy(&r->lock);
    sl_free(r);
}

int sl_feed_columns(struct sl_feed *r, struct sl_column *columns, sl_err *err)
{
    r->spec.columns = columns;
    if (!r->file || r->spec.format != SL_INGEST_CSV)
        return SL_OK;
    r->need_header = !r->spec.no_header;
    return r->need_header ? SL_OK : sl_csv_header_all(columns, &r->file->header, err);
}

uint64_t sl_feed_bytes(struct sl_feed *r)
{
    return atomic_load(&r->bytes);
}

uint64_t sl_feed_lag(struct sl_feed *r)
{
    return atomic_load(&r->lag);
}

/* ---- headers ---- */

static int header_error(struct sl_feed *r, int rc, sl_err *err)
{
    if (rc == SL_EINPUT)
        sl_err_ctx(err, "%s, line 1", r->file->label);
    return rc;
}

/* The header of a file that is read on from its middle. */
static int read_header_again(struct sl_feed *r, sl_err *err)
{
    struct sl_csv_scan scan = {r->spec.delimiter, 0};
    char *bytes = sl_malloc(HEADER_MAX);
    ssize_t n;
    int rc = SL_OK;

    if (!bytes)
        return sl_err_nomem(err);
    if (!r->spec.source->regular) {
        n = (ssize_t)(r->spec.source->first.n < HEADER_MAX ? r->spec.source->first.n : HEADER_MAX);
        if (n)
            memcpy(bytes, r->spec.source->first.p, (size_t)n);
    } else {
        n = pread(r->spec.source->fd, bytes, HEADER_MAX, 0);
    }
    if (n < 0) {
        rc = sl_err_sys(err, errno, "cannot read \"%s\"", r->file->label);
        goto done;
    }
    size_t skip = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *e = sl_csv_next(&scan, bytes + skip, bytes + n);
    if (!e) {
        rc = sl_err_set(err, SL_EINPUT, "%s: the header is missing, or longer than 1 MiB", r->file->label);
        goto done;
    }
    rc = header_error(r, sl_csv_header_read(r->spec.columns, r->spec.delimiter, r->spec.strict_fields,
                                            (sl_str){bytes + skip, (size_t)(e - bytes) - skip}, &r->file->header, err), err);
done:
    sl_free(bytes);
    return rc;
}

/* The source has opened a file. */
static int begin_file(struct sl_feed *r, sl_err *err)
{
    struct sl_source *s = r->spec.source;
    const char *label = sl_source_label(s);

    unref_file(r->file);
    r->file = sl_calloc(1, sizeof *r->file);
    if (!r->file)
        return sl_err_nomem(err);
    atomic_init(&r->file->refs, 1);
    r->file->label = s->place.path ? sl_asprintf("\"%s\"", label) : sl_strdup(label);
    if (!r->file->label)
        return sl_err_nomem(err);
    r->offset = s->place.offset;
    r->line = s->place.lines;
    r->need_header = false;
    if (r->spec.format != SL_INGEST_CSV || !r->spec.columns)
        return SL_OK;
    if (r->spec.no_header)
        return sl_csv_header_all(r->spec.columns, &r->file->header, err);
    r->need_header = r->offset == 0;
    return r->need_header ? SL_OK : read_header_again(r, err);
}

/* Chunks that are on their way keep the header they were read with. */
int sl_feed_renew(struct sl_feed *r, struct sl_column *columns, sl_err *err)
{
    struct sl_input_file *old = r->file, *f;

    r->spec.columns = columns;
    if (!old || r->spec.format != SL_INGEST_CSV)
        return SL_OK;
    f = sl_calloc(1, sizeof *f);
    if (!f)
        return sl_err_nomem(err);
    atomic_init(&f->refs, 1);
    r->file = f;
    f->label = sl_strdup(old->label);
    unref_file(old);
    if (!f->label)
        return sl_err_nomem(err);
    if (r->spec.no_header)
        SL_TRY(sl_csv_header_all(columns, &f->header, err));
    else if (!r->need_header)
        SL_TRY(read_header_again(r, err));
    if (r->ready.n) {
        unref_file(r->ready.file);
        r->ready.file = f;
        atomic_fetch_add(&f->refs, 1);
    }
    return SL_OK;
}

/* ---- records ---- */

static size_t count_lines(const char *p, size_t n)
{
    const uint64_t feeds = 0x0a0a0a0a0a0a0a0au, low7 = 0x7f7f7f7f7f7f7f7fu, ones = 0x0101010101010101u;
    size_t count = 0;

    while (n >= 8) {
        size_t words = n / 8 < 255 ? n / 8 : 255;
        uint64_t sums = 0;

        for (size_t i = 0; i < words; i++) {
            uint64_t w;

            memcpy(&w, p + 8 * i, sizeof w);
            w ^= feeds;
            sums += ~(((w & low7) + low7) | w) >> 7 & ones;
        }
        /* Eight counters of a byte each: add the odd and the even ones, then all. */
        sums = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
        count += (size_t)(sums * 0x0001000100010001u >> 48);
        p += 8 * words;
        n -= 8 * words;
    }
    for (; n; n--)
        count += *p++ == '\n';
    return count;
}

/* How many whole records, at most MOST, stand in [P, P + N): their bytes and number. */
static size_t find_records(const struct sl_feed *r, const char *p, size_t n, uint64_t most, uint64_t *rows)
{
    const char *q = p, *last = p;

    *rows = 0;
    if (r->spec.format == SL_INGEST_CSV) {
        struct sl_csv_scan scan = {r->spec.delimiter, 0};

        while (*rows < most && (q = sl_csv_next(&scan, q, p + n)) != NULL) {
            last = q;
            ++*rows;
        }
        return (size_t)(last - p);
    }
    *rows = count_lines(p, n);
    if (*rows == 0)
        return 0;
    if (*rows <= most)
        return (size_t)((const char *)memrchr(p, '\n', n) - p) + 1;
    for (*rows = 0; *rows < most; ++*rows)
        q = (const char *)memchr(q, '\n', n - (size_t)(q - p)) + 1;
    return (size_t)(q - p);
}

/* The first N bytes of the carry are used up. */
static void consume(struct sl_feed *r, const char *p, size_t n, size_t lines)
{
    sl_source_consumed(r->spec.source, (sl_str){p, n});
    r->offset += n;
    r->line += lines;
}

static int too_long(struct sl_feed *r, sl_err *err)
{
    char what[100];

    snprintf(what, sizeof what, "the row is longer than the %llu bytes of --max-row-bytes", (unsigned long long)r->spec.max_row_bytes);
    SL_TRY(sl_bad_row(r->spec.bad, r->file->label, r->line + 1, r->offset, r->offset, (sl_str){NULL, 0}, what, err));
    r->discarding = true;
    r->discard_scan = (struct sl_csv_scan){r->spec.delimiter, 0};
    return SL_OK;
}

/* Drop what there is of a record that is too long; *N is what is left. */
static void discard(struct sl_feed *r, char *p, size_t *n)
{
    const char *e;

    if (r->spec.format == SL_INGEST_CSV) {
        e = sl_csv_next(&r->discard_scan, p, p + *n);
    } else {
        e = memchr(p, '\n', *n);
        e = e ? e + 1 : NULL;
    }
    size_t gone = e ? (size_t)(e - p) : *n;
    consume(r, p, gone, count_lines(p, gone));
    memmove(p, p + gone, *n - gone);
    *n -= gone;
    r->discarding = !e;
}

/* What stands before the rows: a byte order mark, a header. True if it is done with, so that rows may follow. */
static int take_head(struct sl_feed *r, char *p, size_t *n, bool fed, bool *ready, sl_err *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct sl_csv_scan scan = {r->spec.delimiter, 0};
    size_t gone;

    *ready = false;
    if (r->offset == 0 && *n < 3 && memcmp(p, mark, *n) == 0 && *n > 0 && memchr(p, '\n', *n) == NULL)
        return SL_OK;
    if (r->offset == 0 && *n >= 3 && memcmp(p, mark, 3) == 0) {
        consume(r, p, 3, 0);
        memmove(p, p + 3, *n -= 3);
    }
    *ready = !r->need_header;
    if (*ready)
        return SL_OK;
    const char *e = sl_csv_next(&scan, p, p + *n);
    if (!e)
        return *n > HEADER_MAX ? sl_err_set(err, SL_EINPUT, "%s: the header is longer than 1 MiB", r->file->label) : SL_OK;
    gone = (size_t)(e - p);
    SL_TRY(header_error(r, sl_csv_header_read(r->spec.columns, r->spec.delimiter, r->spec.strict_fields, (sl_str){p, gone},
                                              &r->file->header, err), err));
    if (!r->spec.source->regular && r->spec.source->first.n == 0)
        sl_buf_addb(&r->spec.source->first, p, gone);
    SL_TRY(sl_buf_ok(&r->spec.source->first, err));
    consume(r, p, gone - (fed && gone == *n), count_lines(p, gone));
    memmove(p, e, *n -= gone);
    r->need_header = false;
    *ready = true;
    return SL_OK;
}

/* ---- filling a chunk ---- */

static bool stopping(const struct sl_feed *r)
{
    return r->spec.stop && r->spec.stop(r->spec.user);
}

/* Gives back what was read into C. */
static int put_back(struct sl_feed *r, const struct sl_chunk *c, size_t from, size_t n, sl_err *err)
{
    sl_buf_reset(&r->carry);
    sl_buf_addb(&r->carry, c->buf + from, n - from);
    return sl_buf_ok(&r->carry, err);
}

/* The records in the first N bytes of C are handed out; FED: the last line feed is ours, not the input's. */
static int hand_out(struct sl_feed *r, struct sl_chunk *c, size_t end, size_t n, uint64_t rows, bool fed, sl_err *err)
{
    size_t bytes = end - (fed && end == n);

    c->n = end;
    c->offset = r->offset;
    c->line = r->line;
    c->number = ++r->chunks;
    unref_file(c->file);
    c->file = r->file;
    atomic_fetch_add(&r->file->refs, 1);
    consume(r, c->buf, bytes, r->spec.format == SL_INGEST_CSV ? count_lines(c->buf, bytes) : (size_t)rows);
    atomic_fetch_add(&r->bytes, bytes);
    sl_metric_add(SL_M_INGEST_BYTES, (int64_t)bytes);
    r->rows_left -= rows < r->rows_left ? rows : r->rows_left;
    r->bytes_left -= bytes < r->bytes_left ? bytes : r->bytes_left;
    return put_back(r, c, end, n - (fed && end < n), err);
}

static int sticky(struct sl_feed *r, sl_err *err)
{
    if (r->rc != SL_OK && err)
        *err = r->err;
    return r->rc;
}

/* Nothing to read now: a pause. False when the wait is over: the time of the segment has passed, or the load ends. */
static int pause_reading(struct sl_feed *r, int64_t deadline, bool *go_on, sl_err *err)
{
    atomic_store(&r->waiting, true);
    SL_TRY(sl_cancel_check(err));
    if (r->spec.tick)
        r->spec.tick(r->spec.user, deadline == 0);
    if (deadline == 0 && r->idle_since && sl_mono_nanos() - r->idle_since > IDLE_MILLIS * INT64_C(1000000)) {
        r->idle_since = 0;
        if (r->spec.idle)
            r->spec.idle(r->spec.user);
    }
    *go_on = !stopping(r) && (deadline == 0 || sl_mono_nanos() < deadline);
    const int64_t pause = r->spec.source->regular || r->spec.source->fd < 0 ? PAUSE_MILLIS : r->beginning ? 1 : 0;

    if (!*go_on || !pause)
        return SL_OK;
    /* While the first row of a segment is waited for, other writers end and publish the one before. */
    if (r->beginning)
        pthread_mutex_unlock(&r->lock);
    sl_sleep_millis(pause);
    if (r->beginning)
        pthread_mutex_lock(&r->lock);
    return r->beginning ? sticky(r, err) : SL_OK;
}

/* At the end of a file, with N bytes of an unfinished record: go to the next one. */
static int next_file(struct sl_feed *r, enum sl_source_state *state, sl_err *err)
{
    SL_TRY(sl_source_next(r->spec.source, r->offset, r->line, state, err));
    r->discarding = false;
    if (*state == SL_SOURCE_DATA)
        return begin_file(r, err);
    unref_file(r->file);
    r->file = NULL;
    return SL_OK;
}

/* More bytes behind the N in C. *FED: the file has ended within a record, which got a line feed. */
static int read_more(struct sl_feed *r, struct sl_chunk *c, size_t *n, bool *fed, enum sl_source_state *state, sl_err *err)
{
    struct sl_source *s = r->spec.source;
    size_t got, want;

    if (s->fd < 0)
        return next_file(r, state, err);
    if (!r->file)
        SL_TRY(begin_file(r, err));
    SL_TRY(reserve(c, *n < CHUNK_BYTES ? CHUNK_BYTES : *n + *n / 2, err));
    want = c->cap - *n;
    if (r->bytes_left < want && *n < CHUNK_BYTES)
        want = r->bytes_left > 4096 ? (size_t)r->bytes_left : 4096;
    SL_TRY(sl_source_read(s, c->buf + *n, want, &got, state, err));
    *n += got;
    if (*state == SL_SOURCE_RESTART) {
        *n = 0;
        r->offset = r->line = 0;
        r->discarding = false;
        r->need_header = r->spec.format == SL_INGEST_CSV && r->spec.columns && !r->spec.no_header;
        *state = SL_SOURCE_DATA;
    } else if (*state == SL_SOURCE_FINAL) {
        if (*n == 0 || r->discarding)
            return next_file(r, state, err);
        c->buf[(*n)++] = '\n';
        *fed = true;
        *state = SL_SOURCE_DATA;
    }
    return SL_OK;
}

/* The next chunk into C; waits for it until DEADLINE (0 = for ever). *STATE is DATA, WAIT or END. */
static int fetch(struct sl_feed *r, struct sl_chunk *c, int64_t deadline, enum sl_source_state *state, sl_err *err)
{
    size_t n = r->carry.n, end;
    uint64_t rows;
    bool ready, fed = false, go_on = true;

    c->n = 0;
    if (c->cap > CHUNK_KEEP) {
        sl_free(c->buf);
        c->buf = NULL;
        c->cap = 0;
    }
    SL_TRY(reserve(c, n, err));
    if (n)
        memcpy(c->buf, r->carry.p, n);
    r->carry.n = 0;
    if (r->carry.cap > CHUNK_KEEP)
        sl_buf_release(&r->carry);
    for (size_t looked = 0, before;; looked = ready && !r->discarding ? before : 0) {
        if (r->discarding)
            discard(r, c->buf, &n);
        SL_TRY(take_head(r, c->buf, &n, fed, &ready, err));
        /* A record that goes on and on is searched for its end only in what came last. */
        bool search = n && ready && !r->discarding &&
                      (r->spec.format == SL_INGEST_CSV || looked > n || memchr(c->buf + looked, '\n', n - looked));
        end = search ? find_records(r, c->buf, n, r->rows_left, &rows) : 0;
        if (end)
            return hand_out(r, c, end, n, rows, fed, err);
        if (fed) /* only a header, or a record whose quote was never closed */
            return n == 0 ? SL_OK : sl_err_set(err, SL_EINPUT, "%s, line %llu, byte %llu: a quoted field has no end",
                                               r->file->label, (unsigned long long)r->line + 1, (unsigned long long)r->offset);
        if (n > r->spec.max_row_bytes && ready && !r->discarding) {
            SL_TRY(too_long(r, err));
            before = 0;
            continue;
        }
        before = n;
        SL_TRY(read_more(r, c, &n, &fed, state, err));
        if (*state == SL_SOURCE_END)
            return SL_OK;
        if (*state == SL_SOURCE_WAIT) {
            SL_TRY(pause_reading(r, deadline, &go_on, err));
            if (!go_on)
                return put_back(r, c, 0, n, err);
        } else if (stopping(r)) {
            *state = SL_SOURCE_WAIT;
            return put_back(r, c, 0, n, err);
        }
    }
}

/* ---- segments ---- */

static int keep_error(struct sl_feed *r, int rc, sl_err *err)
{
    if (rc != SL_OK)
        atomic_store(&r->waiting, false);
    if (rc != SL_OK && r->rc == SL_OK) {
        r->rc = rc;
        if (err)
            r->err = *err;
        r->err.code = rc;
    }
    pthread_cond_broadcast(&r->closed);
    return rc;
}

static int close_segment(struct sl_feed *r, sl_err *err)
{
    struct sl_buf *position = &r->positions[r->ticket % SL_FEED_SEGMENTS];

    r->open = false;
    sl_buf_reset(position);
    int rc = sl_source_position(r->spec.source, r->offset, r->line, position, err);
    pthread_cond_broadcast(&r->closed);
    return rc;
}

static void wait_turn(struct sl_feed *r)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 100000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&r->closed, &r->lock, &t);
}

static int begin(struct sl_feed *r, uint64_t *ticket, bool *ended, sl_err *err)
{
    enum sl_source_state state = SL_SOURCE_DATA;
    int rc = SL_OK;

    *ended = true;
    while ((r->open || r->beginning) && r->rc == SL_OK) {
        SL_TRY(sl_cancel_check(err));
        wait_turn(r);
    }
    SL_TRY(sticky(r, err));
    if (r->ended || stopping(r))
        return SL_OK;
    if (r->ready.n == 0) {
        r->rows_left = r->spec.commit_rows;
        r->bytes_left = r->spec.commit_bytes;
    }
    r->idle_since = sl_mono_nanos();
    r->beginning = true;
    while (rc == SL_OK && r->ready.n == 0 && state == SL_SOURCE_DATA) /* it may be there already, read before a renewal */
        rc = fetch(r, &r->ready, 0, &state, err);
    r->beginning = false;
    SL_TRY(rc);
    atomic_store(&r->waiting, false);
    r->ended |= state == SL_SOURCE_END;
    if (r->ready.n == 0 || (r->spec.renew && r->spec.renew(r->spec.user)))
        return SL_OK;
    *ended = false;
    *ticket = ++r->ticket;
    r->open = true;
    r->big = NULL;
    r->deadline = sl_mono_nanos() + (int64_t)r->spec.commit_millis * 1000000;
    return SL_OK;
}

int sl_feed_begin(struct sl_feed *r, uint64_t *ticket, bool *ended, sl_err *err)
{
    int rc;

    pthread_mutex_lock(&r->lock);
    rc = begin(r, ticket, ended, err);
    keep_error(r, rc, err);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int next_chunk(struct sl_feed *r, uint64_t ticket, struct sl_chunk *c, sl_err *err)
{
    enum sl_source_state state = SL_SOURCE_DATA;

    SL_TRY(sticky(r, err));
    if (r->spec.tick)
        r->spec.tick(r->spec.user, false);
    if (!r->open || r->ticket != ticket)
        return SL_OK;
    /* Rows that big are read by one thread, or memory would be full of them; the others are done for this segment. */
    if (r->big && r->big != c)
        return SL_OK;
    r->big = NULL;
    if (r->ready.n) {
        struct sl_chunk mine = *c;

        *c = r->ready;
        r->ready = mine;
        r->ready.n = 0;
        r->big = c->n > CHUNK_BIG ? c : NULL;
        return SL_OK;
    }
    SL_TRY(sl_cancel_check(err));
    if (r->rows_left == 0 || r->bytes_left == 0 || stopping(r) || sl_mono_nanos() >= r->deadline)
        return close_segment(r, err);
    do
        SL_TRY(fetch(r, c, r->deadline, &state, err));
    while (c->n == 0 && state == SL_SOURCE_DATA);
    atomic_store(&r->waiting, false);
    atomic_store(&r->lag, sl_source_lag(r->spec.source, r->offset));
    r->ended |= state == SL_SOURCE_END;
    r->big = c->n > CHUNK_BIG ? c : NULL;
    return c->n == 0 ? close_segment(r, err) : SL_OK;
}

int sl_feed_chunk(struct sl_feed *r, uint64_t ticket, struct sl_chunk *c, sl_err *err)
{
    int rc;

    c->n = 0;
    if (atomic_load(&r->waiting))
        return SL_OK;
    pthread_mutex_lock(&r->lock);
    rc = next_chunk(r, ticket, c, err);
    keep_error(r, rc, err);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

int sl_feed_position(struct sl_feed *r, uint64_t ticket, struct sl_buf *out, sl_err *err)
{
    pthread_mutex_lock(&r->lock);
    sl_buf_add(out, sl_buf_view(&r->positions[ticket % SL_FEED_SEGMENTS]));
    pthread_mutex_unlock(&r->lock);
    return sl_buf_ok(out, err);
}

void sl_feed_fail(struct sl_feed *r, const sl_err *err)
{
    sl_err copy = *err;

    pthread_mutex_lock(&r->lock);
    keep_error(r, err->code, &copy);
    pthread_mutex_unlock(&r->lock);
}

/* ---- samples ---- */

int sl_feed_peek(struct sl_feed *r, size_t max, sl_str *out, sl_err *err)
{
    struct sl_chunk c = {0};
    enum sl_source_state state = SL_SOURCE_DATA;
    bool fed = false, go_on = true;
    size_t n = 0;
    int rc = SL_OK;

    SL_GO(reserve(&c, max, err));
    r->bytes_left = max;
    while (state != SL_SOURCE_END && !fed && go_on) {
        bool whole = memchr(c.buf, '\n', n) != NULL;

        if ((whole && (n >= max || state == SL_SOURCE_WAIT)) || n > r->spec.max_row_bytes)
            break;
        SL_GO(read_more(r, &c, &n, &fed, &state, err));
        if (state == SL_SOURCE_WAIT)
            SL_GO(pause_reading(r, 0, &go_on, err));
    }
    atomic_store(&r->waiting, false);
    SL_GO(put_back(r, &c, 0, n - fed, err));
    *out = sl_buf_view(&r->carry);
done:
    sl_chunk_release(&c);
    return rc;
}
