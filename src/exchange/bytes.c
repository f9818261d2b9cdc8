#include "exchange/bytes.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/mem.h"

struct sl_bytes {
    atomic_size_t refs;
    unsigned char *p; /* owned, or of the one who wrapped it */
    size_t n;
    sl_bytes_free_fn *free_fn; /* NULL: P is ours */
    void *user;
    struct sl_mempool_query *query; /* shared; NULL if not charged */
    uint64_t charged;
};

int sl_bytes_new(size_t n, struct sl_bytes **out, sl_err *err)
{
    struct sl_bytes *b = sl_calloc(1, sizeof *b);

    *out = NULL;
    if (!b)
        return sl_err_nomem(err);
    b->p = sl_malloc(n ? n : 1);
    if (!b->p) {
        sl_free(b);
        return sl_err_set(err, SL_ENOMEM, "out of memory for a block of %zu bytes", n);
    }
    atomic_init(&b->refs, 1);
    b->n = n;
    *out = b;
    return SL_OK;
}

int sl_bytes_wrap(void *p, size_t n, sl_bytes_free_fn *free_fn, void *user, struct sl_bytes **out, sl_err *err)
{
    struct sl_bytes *b = sl_calloc(1, sizeof *b);

    *out = NULL;
    if (!b)
        return sl_err_nomem(err);
    atomic_init(&b->refs, 1);
    b->p = p;
    b->n = n;
    b->free_fn = free_fn;
    b->user = user;
    *out = b;
    return SL_OK;
}

struct sl_bytes *sl_bytes_ref(struct sl_bytes *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void sl_bytes_unref(struct sl_bytes *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->free_fn)
        b->free_fn(b->p, b->n, b->user);
    else
        sl_free(b->p);
    sl_bytes_discharge(b);
    sl_free(b);
}

unsigned char *sl_bytes_data(const struct sl_bytes *b)
{
    return b->p;
}

size_t sl_bytes_size(const struct sl_bytes *b)
{
    return b->n;
}

void sl_bytes_charge(struct sl_bytes *b, struct sl_mempool_query *q, uint64_t n)
{
    if (!b->query)
        b->query = sl_mempool_query_ref(q);
    b->charged += n;
}

uint64_t sl_bytes_charged(const struct sl_bytes *b)
{
    return b->charged;
}

void sl_bytes_discharge(struct sl_bytes *b)
{
    struct sl_mempool_query *q = b->query;
    uint64_t n = b->charged;

    b->query = NULL;
    b->charged = 0;
    if (q)
        sl_mempool_release(q, n);
    sl_mempool_query_unref(q);
}

int sl_bytes_resize(struct sl_bytes *b, size_t n, sl_err *err)
{
    if (b->free_fn)
        return sl_err_set(err, SL_EBUG, "memory of someone else cannot be resized");
    unsigned char *p = sl_realloc(b->p, n ? n : 1);
    if (!p)
        return sl_err_set(err, SL_ENOMEM, "out of memory for a block of %zu bytes", n);
    b->p = p;
    b->n = n;
    return SL_OK;
}
