#include "exchange/bytes.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

/* From here on a block has pages of its own: freed memory of this size must not stay with the threads that served it. */
enum { PAGES_FROM = 1 << 20 };

struct sl_bytes {
    atomic_size_t refs;
    unsigned char *p; /* owned, or of the one who wrapped it */
    size_t n;
    bool pages;                /* P is of sl_pages_alloc */
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
    b->pages = n >= PAGES_FROM;
    b->p = b->pages ? sl_pages_alloc(n) : sl_malloc(n);
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

static void free_memory(struct sl_bytes *b)
{
    if (b->pages)
        sl_pages_free(b->p, b->n);
    else
        sl_free(b->p);
}

void sl_bytes_unref(struct sl_bytes *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->free_fn)
        b->free_fn(b->p, b->n, b->user);
    else
        free_memory(b);
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
    bool pages = b->pages || n >= PAGES_FROM;
    unsigned char *p = !pages ? sl_realloc(b->p, n) : b->pages ? sl_pages_resize(b->p, b->n, n) : sl_pages_alloc(n);
    if (!p)
        return sl_err_set(err, SL_ENOMEM, "out of memory for a block of %zu bytes", n);
    if (pages && !b->pages) {
        memcpy(p, b->p, n < b->n ? n : b->n);
        sl_free(b->p);
    }
    b->p = p;
    b->n = n;
    b->pages = pages;
    return SL_OK;
}
