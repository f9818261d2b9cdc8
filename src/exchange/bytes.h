/*
 * bytes.h - the inside of sl_bytes: blocks as bytes with counted references, charged to a query while they live.
 */
#ifndef SL_EXCHANGE_BYTES_H
#define SL_EXCHANGE_BYTES_H

#include "exchange/mempool.h"
#include "sluice/exchange.h"

/* From now on B holds N reserved bytes of Q, which are released with the last reference. */
void sl_bytes_charge(struct sl_bytes *b, struct sl_mempool_query *q, uint64_t n);
/* The reserved bytes are given back now: the memory is the caller's own from here on. */
void sl_bytes_discharge(struct sl_bytes *b);
/* Of one reference only; keeps the content. Wrapped memory cannot be resized. */
int sl_bytes_resize(struct sl_bytes *b, size_t n, sl_err *err) SL_WUR;

#endif
