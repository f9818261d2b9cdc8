/*
 * server.h - the port of a node: a thread a connection, calls in the binary or the compact protocol, answers written from where they lie.
 *
 * What is no Thrift (HTTP, TLS on a plain port, noise) is named in the log and closed. A call that fails is answered with an exception and the
 * connection goes on.
 */
#ifndef SL_EXCHANGE_SERVER_H
#define SL_EXCHANGE_SERVER_H

#include "exchange/net.h"
#include "exchange/sink.h"
#include "format/thrift.h"

struct sl_server;

/* Who calls. */
struct sl_caller {
    uint64_t connection; /* a number of its own */
    const char *peer;    /* address */
    bool verified;       /* by a certificate */
};

/* What is answered; of the connection, emptied before each call. */
struct sl_answer {
    struct sl_response blocks;       /* of getDataBlock */
    struct sl_mpp_reply reply;       /* of the others; u is filled by the handler */
    struct sl_arena arena;           /* for what the reply points to */
};

/* An error becomes an exception: SL_EUNSUPPORTED "unknown method", the others an internal error, with their text. Any thread, several at a time. */
typedef int sl_serve_fn(void *user, const struct sl_caller *caller, const struct sl_mpp_call *call, struct sl_answer *answer, sl_err *err);

struct sl_server_setup {
    const char *listen; /* HOST:PORT */
    const struct sl_exchange_tls *tls;
    size_t max_frame;   /* of a call: at most 16 MiB */
    size_t max_clients;
    int64_t timeout_millis;
    sl_serve_fn *serve;
    void (*gone)(void *user, uint64_t connection); /* a connection ended. May be NULL. */
    void *user;
};

int sl_server_start(const struct sl_server_setup *setup, struct sl_server **out, sl_err *err) SL_WUR;
int sl_server_port(const struct sl_server *s);
void sl_server_pause(struct sl_server *s); /* no new connections; those that are go on */
void sl_server_stop(struct sl_server *s);  /* ends all connections and frees it; NULL is fine */

#endif
