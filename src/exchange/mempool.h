/*
 * mempool.h - the memory of the exchange: a limit for all, a limit a query, and who waits for room.
 *
 * Everything the exchange holds is reserved here before it is allocated. A reservation that can never fit fails at once;
 * one that does not fit now waits its turn: in order, so that a large one is not passed by small ones for ever, but one
 * that waits only for room in its own query holds up nobody else. Any thread.
 */
#ifndef SL_EXCHANGE_MEMPOOL_H
#define SL_EXCHANGE_MEMPOOL_H

#include "base/str.h"

struct sl_mempool;
struct sl_mempool_query; /* what one query uses; counted references */

/* QUERY_LIMIT 0: only the pool's. The references of its queries keep a pool alive. */
int sl_mempool_new(uint64_t limit, uint64_t query_limit, struct sl_mempool **out, sl_err *err) SL_WUR;
void sl_mempool_unref(struct sl_mempool *p); /* NULL is fine */
uint64_t sl_mempool_used(struct sl_mempool *p);
uint64_t sl_mempool_peak(struct sl_mempool *p);

/* The query of this name, made if it is new; one reference more. */
int sl_mempool_query_get(struct sl_mempool *p, sl_str name, struct sl_mempool_query **out, sl_err *err) SL_WUR;
struct sl_mempool_query *sl_mempool_query_ref(struct sl_mempool_query *q);
void sl_mempool_query_unref(struct sl_mempool_query *q); /* NULL is fine */

/* At once or not at all. SL_ENOMEM says why; it has SL_ERR_RETRY if there may be room later. */
int sl_mempool_reserve(struct sl_mempool_query *q, uint64_t n, sl_err *err) SL_WUR;
void sl_mempool_release(struct sl_mempool_query *q, uint64_t n);

/* A reservation that may wait. Lives in its owner, zeroed at first. */
struct sl_reservation {
    struct sl_mempool_query *query; /* borrowed while it waits */
    uint64_t n;
    void (*granted)(void *user); /* by the thread that made room, under no lock of the pool */
    void *user;
    struct sl_reservation *next; /* of the pool, as all below */
    bool waiting;
};

/* *NOW: reserved, and GRANTED is not called. Otherwise it waits, and GRANTED is called once unless cancelled before. */
int sl_mempool_reserve_later(struct sl_mempool_query *q, uint64_t n, struct sl_reservation *r, bool *now, sl_err *err) SL_WUR;
/* True: it waited and is off. False: it had been granted, or never waited; GRANTED has been called or is about to be. */
bool sl_mempool_cancel(struct sl_mempool_query *q, struct sl_reservation *r);

#endif
