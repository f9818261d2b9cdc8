/*
 * client.h - calls of other nodes: connections in a pool, one call at a time on each.
 *
 * Errors of the connection and error replies have SL_ERR_RETRY: nothing is repeated here. A connection that failed is not used again; when the
 * other side is gone, neither are the idle ones to it. Any thread.
 */
#ifndef SL_EXCHANGE_CLIENT_H
#define SL_EXCHANGE_CLIENT_H

#include <pthread.h>

#include "exchange/net.h"
#include "exchange/intake.h"
#include "format/thrift.h"

struct sl_client;

struct sl_client_setup {
    enum sl_thrift_protocol protocol;
    const struct sl_exchange_tls *tls; /* NULL or without files: plain; only read during the call */
    int64_t timeout_millis;            /* for connecting and each wait for bytes */
    size_t max_frame;                  /* of a reply */
};

int sl_client_new(const struct sl_client_setup *setup, struct sl_client **out, sl_err *err) SL_WUR;
void sl_client_free(struct sl_client *c); /* no call may run; NULL is fine */
void sl_client_stop(struct sl_client *c); /* ends the calls that run, and allows no more */

/* By which another thread ends the calls that run for one purpose. */
struct sl_interrupt {
    pthread_mutex_t lock;
    struct sl_link *running[2]; /* borrowed */
    bool now;                   /* calls end at once */
};
#define SL_INTERRUPT_INIT {PTHREAD_MUTEX_INITIALIZER, {NULL, NULL}, false}
void sl_interrupt(struct sl_interrupt *i);

/* A call whose reply is small: REPLY's views live in A. An error reply is an error here. INTERRUPT may be NULL; at most two calls with one at a time. */
int sl_client_call(struct sl_client *c, const char *address, struct sl_interrupt *interrupt, const struct sl_mpp_call *call, struct sl_arena *a,
                   struct sl_mpp_reply *reply, sl_err *err) SL_WUR;
/* getDataBlock, whose elements go straight to where RECEIVER wants them. */
int sl_client_fetch(struct sl_client *c, const char *address, struct sl_interrupt *interrupt, const struct sl_mpp_get *get,
                    const struct sl_receiver *receiver, struct sl_received *out, sl_err *err) SL_WUR;

size_t sl_client_idle(struct sl_client *c); /* connections in the pool */

#endif
