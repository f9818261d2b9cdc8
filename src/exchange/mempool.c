#include "exchange/mempool.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/mem.h"

struct sl_mempool_query {
    struct sl_mempool *pool; /* shared */
    char *name;           /* owned */
    size_t refs;          /* under the pool's lock, as all below */
    uint64_t used;
};

struct sl_mempool {
    pthread_mutex_t lock; /* all below */
    size_t refs;
    uint64_t limit, query_limit, used, peak;
    struct sl_map *queries;               /* owned; name -> query, which the references hold */
    struct sl_reservation *first, **last; /* waiting, oldest first */
};

int sl_mempool_new(uint64_t limit, uint64_t query_limit, struct sl_mempool **out, sl_err *err)
{
    struct sl_mempool *p = sl_calloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    p->queries = sl_map_new();
    if (!p->queries) {
        sl_free(p);
        return sl_err_nomem(err);
    }
    pthread_mutex_init(&p->lock, NULL);
    p->refs = 1;
    p->limit = limit;
    p->query_limit = query_limit && query_limit < limit ? query_limit : limit;
    p->last = &p->first;
    *out = p;
    return SL_OK;
}

/* Under the lock, which it gives up. */
static void pool_unref_locked(struct sl_mempool *p)
{
    bool last = --p->refs == 0;

    pthread_mutex_unlock(&p->lock);
    if (last) {
        sl_map_free(p->queries, NULL);
        pthread_mutex_destroy(&p->lock);
        sl_free(p);
    }
}

void sl_mempool_unref(struct sl_mempool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    pool_unref_locked(p);
}

uint64_t sl_mempool_used(struct sl_mempool *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t n = p->used;
    pthread_mutex_unlock(&p->lock);
    return n;
}

uint64_t sl_mempool_peak(struct sl_mempool *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t n = p->peak;
    pthread_mutex_unlock(&p->lock);
    return n;
}

int sl_mempool_query_get(struct sl_mempool *p, sl_str name, struct sl_mempool_query **out, sl_err *err)
{
    struct sl_mempool_query *q = NULL;
    void **slot = NULL;

    *out = NULL;
    pthread_mutex_lock(&p->lock);
    slot = sl_map_at(p->queries, name);
    if (slot && !*slot) {
        q = sl_calloc(1, sizeof *q);
        if (q)
            q->name = sl_str_dup(name);
        if (q && q->name) {
            q->pool = p;
            p->refs++;
            *slot = q;
        } else {
            sl_free(q);
            sl_map_del(p->queries, name, NULL);
            slot = NULL;
        }
    }
    if (slot) {
        *out = *slot;
        (*out)->refs++;
    }
    pthread_mutex_unlock(&p->lock);
    return slot ? SL_OK : sl_err_nomem(err);
}

struct sl_mempool_query *sl_mempool_query_ref(struct sl_mempool_query *q)
{
    pthread_mutex_lock(&q->pool->lock);
    q->refs++;
    pthread_mutex_unlock(&q->pool->lock);
    return q;
}

void sl_mempool_query_unref(struct sl_mempool_query *q)
{
    if (!q)
        return;
    struct sl_mempool *p = q->pool;
    pthread_mutex_lock(&p->lock);
    if (--q->refs > 0) {
        pthread_mutex_unlock(&p->lock);
        return;
    }
    sl_map_del(p->queries, sl_str_c(q->name), NULL);
    sl_free(q->name);
    sl_free(q);
    pool_unref_locked(p);
}

static bool query_has_room(const struct sl_mempool_query *q, uint64_t n)
{
    return n <= q->pool->query_limit - q->used;
}

static void take(struct sl_mempool_query *q, uint64_t n)
{
    struct sl_mempool *p = q->pool;

    q->used += n;
    p->used += n;
    if (p->used > p->peak)
        p->peak = p->used;
}

/* The limits never change, so what is larger fails whatever else is held. */
static int check_limit(const struct sl_mempool_query *q, uint64_t n, sl_err *err)
{
    const struct sl_mempool *p = q->pool;

    if (n <= p->query_limit)
        return SL_OK;
    sl_err_set(err, SL_ENOMEM, "%" PRIu64 " bytes are more than the %" PRIu64 " that one query of the exchange may hold", n,
               p->query_limit);
    sl_err_hint(err, "raise the memory of the exchange, or that of one query");
    return SL_ENOMEM;
}

int sl_mempool_reserve(struct sl_mempool_query *q, uint64_t n, sl_err *err)
{
    struct sl_mempool *p = q->pool;
    int rc = check_limit(q, n, err);
    uint64_t left = 0;

    if (rc != SL_OK)
        return rc;
    pthread_mutex_lock(&p->lock);
    if (query_has_room(q, n) && n <= p->limit - p->used) {
        take(q, n);
    } else {
        uint64_t of_query = p->query_limit - q->used;

        left = p->limit - p->used;
        left = of_query < left ? of_query : left;
        rc = SL_ENOMEM;
    }
    pthread_mutex_unlock(&p->lock);
    if (rc != SL_OK) {
        sl_err_set(err, rc, "no room for %" PRIu64 " bytes in the memory of the exchange, where %" PRIu64 " are left", n, left);
        sl_err_flag(err, SL_ERR_RETRY);
    }
    return rc;
}

int sl_mempool_reserve_later(struct sl_mempool_query *q, uint64_t n, struct sl_reservation *r, bool *now, sl_err *err)
{
    struct sl_mempool *p = q->pool;

    *now = false;
    SL_TRY(check_limit(q, n, err));
    pthread_mutex_lock(&p->lock);
    if (query_has_room(q, n) && n <= p->limit - p->used) {
        take(q, n);
        *now = true;
    } else {
        r->query = q;
        r->n = n;
        r->next = NULL;
        r->waiting = true;
        *p->last = r;
        p->last = &r->next;
    }
    pthread_mutex_unlock(&p->lock);
    return SL_OK;
}

static void unlink_at(struct sl_mempool *p, struct sl_reservation **at)
{
    struct sl_reservation *r = *at;

    *at = r->next;
    if (p->last == &r->next)
        p->last = at;
    r->next = NULL;
    r->waiting = false;
}

bool sl_mempool_cancel(struct sl_mempool_query *q, struct sl_reservation *r)
{
    struct sl_mempool *p = q->pool;
    bool found = false;

    pthread_mutex_lock(&p->lock);
    if (r->waiting)
        for (struct sl_reservation **at = &p->first; *at && !found; at = &(*at)->next)
            if (*at == r) {
                unlink_at(p, at);
                found = true;
                break;
            }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* The first that fits now, taken off the list; NULL if none does. */
static struct sl_reservation *next_grant(struct sl_mempool *p)
{
    for (struct sl_reservation **at = &p->first; *at; at = &(*at)->next) {
        struct sl_reservation *r = *at;

        if (!query_has_room(r->query, r->n))
            continue;
        if (r->n > p->limit - p->used)
            return NULL;
        take(r->query, r->n);
        unlink_at(p, at);
        return r;
    }
    return NULL;
}

void sl_mempool_release(struct sl_mempool_query *q, uint64_t n)
{
    struct sl_mempool *p = q->pool;

    if (n == 0)
        return;
    pthread_mutex_lock(&p->lock);
    q->used -= n;
    p->used -= n;
    p->refs++; /* a callback may give up the last query */
    for (;;) {
        struct sl_reservation *r = next_grant(p);

        if (!r)
            break;
        void (*granted)(void *) = r->granted;
        void *user = r->user;
        pthread_mutex_unlock(&p->lock);
        granted(user);
        pthread_mutex_lock(&p->lock);
    }
    pool_unref_locked(p);
}
