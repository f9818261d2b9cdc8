/* lookup.c - ranges of all sources, then filters, then keys. */
#include "index/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sys.h"

enum { CHUNK_KEYS = 8192 }; /* whose hashes are held at a time */

/* What is left of a source's candidates: keys [from, to) after the ranges, then the keys listed. */
struct candidates {
    size_t from, to;
    SL_VEC(uint32_t) keys;
};

struct run {
    const struct sl_lookup *l;
    struct sl_lookup_stats *stats;
    struct candidates *of;        /* one a source */
    size_t *odd;                  /* keys that the two orders may put elsewhere */
    size_t nodd;
    bool *found;                  /* one a key */
    /* the source that is read */
    const uint32_t *wanted;
    size_t nwanted, source;
    bool *here;                   /* one of WANTED each: found in this source */
};

/* ---- ranges ---- */

/* Bytes from 0xee on begin the characters from U+E000: below them both orders of texts are the same. */
static bool is_odd(sl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0xee)
            return true;
    return false;
}

/* The first key that is not below S, or with ABOVE the first one above it; bytewise. */
static size_t bound(const struct sl_lookup *l, sl_str s, bool above)
{
    size_t lo = 0, hi = l->nkeys;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = sl_str_cmp(l->keys[mid], s);

        if (c < 0 || (above && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The keys within the range of a source. Where the orders differ, the range is as wide as needed: what stands outside is tested again. */
static void by_range(struct run *r, size_t i)
{
    const struct sl_hudi_index *x = &r->l->sources[i].index;
    struct candidates *c = &r->of[i];

    c->to = r->l->nkeys;
    if (!r->l->sources[i].indexed || !x->has_range)
        return;
    if (is_odd(x->min) || is_odd(x->max)) {
        while (c->from < c->to && !sl_hudi_index_inside(x, r->l->keys[c->from]))
            c->from++;
        while (c->to > c->from && !sl_hudi_index_inside(x, r->l->keys[c->to - 1]))
            c->to--;
        return;
    }
    c->from = bound(r->l, x->min, false);
    c->to = bound(r->l, x->max, true);
    for (size_t k = 0; k < r->nodd; k++) {
        const size_t key = r->odd[k];

        if ((key >= c->from && key < c->to) || !sl_hudi_index_inside(x, r->l->keys[key]))
            continue;
        if (c->from >= c->to) {
            c->from = key;
            c->to = key + 1;
        } else if (key < c->from) {
            c->from = key;
        } else {
            c->to = key + 1;
        }
    }
}

/* ---- filters ---- */

static int keep(struct candidates *c, size_t key, sl_err *err)
{
    uint32_t *to = sl_vec_push(&c->keys);

    if (!to)
        return sl_err_nomem(err);
    *to = (uint32_t)key;
    return SL_OK;
}

/* The keys [from, to), whose hashes are in BLOOM. */
static int by_filter(struct run *r, size_t i, size_t from, size_t to, struct sl_bloom_key *bloom, sl_err *err)
{
    const struct sl_lookup_source *s = &r->l->sources[i];
    struct candidates *c = &r->of[i];
    const size_t first = from;

    if (from < c->from)
        from = c->from;
    if (to > c->to)
        to = c->to;
    for (size_t k = from; k < to; k++) {
        enum sl_hudi_hit hit = s->indexed ? sl_hudi_index_test(&s->index, &bloom[k - first]) : SL_HUDI_MAYBE;

        if (s->indexed && s->index.has_filter && hit != SL_HUDI_OUTSIDE) {
            r->stats->tested++;
            r->stats->passed += hit == SL_HUDI_MAYBE;
        }
        if (hit == SL_HUDI_MAYBE)
            SL_TRY(keep(c, k, err));
    }
    return SL_OK;
}

static int all_filters(struct run *r, sl_err *err)
{
    struct sl_bloom_key *bloom = sl_reallocarray(NULL, CHUNK_KEYS, sizeof *bloom);
    int rc = SL_OK;

    if (!bloom)
        return sl_err_nomem(err);
    for (size_t from = 0; from < r->l->nkeys; from += CHUNK_KEYS) {
        const size_t to = from + CHUNK_KEYS < r->l->nkeys ? from + CHUNK_KEYS : r->l->nkeys;

        SL_GO(sl_cancel_check(err));
        for (size_t k = from; k < to; k++)
            sl_bloom_key_init(&bloom[k - from], r->l->keys[k]);
        for (size_t i = 0; i < r->l->nsources; i++)
            SL_GO(by_filter(r, i, from, to, bloom, err));
    }
done:
    sl_free(bloom);
    return rc;
}

/* ---- keys ---- */

static int take(void *to, sl_str key, sl_err *err)
{
    struct run *r = to;
    size_t lo = 0, hi = r->nwanted;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = sl_str_cmp(r->l->keys[r->wanted[mid]], key);

        if (c == 0) {
            if (r->here[mid])
                return SL_OK;
            r->here[mid] = true;
            r->found[r->wanted[mid]] = true;
            return r->l->hit(r->l->user, r->wanted[mid], r->source, err);
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return SL_OK;
}

static void count_false(struct run *r, size_t i)
{
    const struct sl_lookup_source *s = &r->l->sources[i];

    if (!s->indexed || !s->index.has_filter)
        return;
    for (size_t k = 0; k < r->nwanted; k++)
        r->stats->false_positives += !r->here[k];
}

static int open_source(struct run *r, size_t i, sl_err *err)
{
    struct candidates *c = &r->of[i];
    size_t n = 0;
    sl_str *wanted = NULL;
    int rc = SL_OK;

    for (size_t k = 0; k < c->keys.n; k++)
        if (r->l->all || !r->found[c->keys.v[k]])
            c->keys.v[n++] = c->keys.v[k];
    c->keys.n = n;
    if (n == 0) {
        r->stats->known++;
        return SL_OK;
    }
    wanted = sl_reallocarray(NULL, n, sizeof *wanted);
    r->here = sl_calloc(n, sizeof *r->here);
    if (!wanted || !r->here)
        SL_GOTO_NOMEM(err);
    for (size_t k = 0; k < n; k++)
        wanted[k] = r->l->keys[c->keys.v[k]];
    r->wanted = c->keys.v;
    r->nwanted = n;
    r->source = i;
    r->stats->opened++;
    r->stats->unindexed += !r->l->sources[i].indexed;
    SL_GO(r->l->read(r->l->user, i, wanted, n, take, r, err));
    count_false(r, i);
done:
    sl_free(wanted);
    sl_free(r->here);
    r->here = NULL;
    return rc;
}

struct turn {
    uint64_t cost;
    size_t source;
};

static int by_cost(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->source < y->source ? -1 : x->source > y->source;
}

static int open_all(struct run *r, sl_err *err)
{
    struct turn *turns = sl_reallocarray(NULL, r->l->nsources + 1, sizeof *turns);
    size_t n = 0;
    int rc = SL_OK;

    if (!turns)
        return sl_err_nomem(err);
    for (size_t i = 0; i < r->l->nsources; i++) {
        const struct candidates *c = &r->of[i];

        if (c->keys.n)
            turns[n++] = (struct turn){r->l->sources[i].cost, i};
        else if (c->from >= c->to)
            r->stats->by_range++;
        else
            r->stats->by_filter++;
    }
    qsort(turns, n, sizeof *turns, by_cost);
    for (size_t i = 0; i < n; i++) {
        SL_GO(sl_cancel_check(err));
        SL_GO(open_source(r, turns[i].source, err));
    }
done:
    sl_free(turns);
    return rc;
}

int sl_lookup_run(const struct sl_lookup *l, struct sl_lookup_stats *stats, sl_err *err)
{
    struct run r = {.l = l, .stats = stats};
    int rc = SL_OK;

    if (l->nkeys == 0)
        return SL_OK;
    if (l->nkeys > UINT32_MAX)
        return sl_err_set(err, SL_EUNSUPPORTED, "a look-up of %zu keys at once is not supported", l->nkeys);
    r.of = sl_calloc(l->nsources + 1, sizeof *r.of);
    r.odd = sl_reallocarray(NULL, l->nkeys, sizeof *r.odd);
    r.found = sl_calloc(l->nkeys, sizeof *r.found);
    if (!r.of || !r.odd || !r.found)
        SL_GOTO_NOMEM(err);
    for (size_t k = 0; k < l->nkeys; k++)
        if (is_odd(l->keys[k]))
            r.odd[r.nodd++] = k;
    stats->sources += l->nsources;
    for (size_t i = 0; i < l->nsources; i++)
        by_range(&r, i);
    SL_GO(all_filters(&r, err));
    rc = open_all(&r, err);
done:
    for (size_t i = 0; r.of && i < l->nsources; i++)
        sl_free(r.of[i].keys.v);
    sl_free(r.of);
    sl_free(r.odd);
    sl_free(r.found);
    return rc;
}
