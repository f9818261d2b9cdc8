/*
 * net.h - connections: a socket, TLS on it if asked for, and a small buffer for what has arrived.
 *
 * Bytes go out straight from where they lie and come in straight to where they belong; a connection keeps 16 KiB. One thread reads and
 * writes; another may interrupt it.
 */
#ifndef SL_EXCHANGE_NET_H
#define SL_EXCHANGE_NET_H

#include "base/str.h"
#include "sluice/exchange.h"

struct sl_link;
struct sl_tls; /* certificates, for all connections of one side */

int sl_tls_new(const struct sl_exchange_tls *opts, bool server, struct sl_tls **out, sl_err *err) SL_WUR;
void sl_tls_free(struct sl_tls *t); /* NULL is fine */

/* "HOST:PORT" or "[V6]:PORT" into its parts. */
struct sl_address {
    char host[256], port[8];
};
int sl_address_parse(const char *text, struct sl_address *out, sl_err *err) SL_WUR;

/* Whether all that the name stands for is this machine's own loopback. */
bool sl_address_is_loopback(const struct sl_address *a);

/* A listening socket, and the port it has. */
int sl_listen(const struct sl_address *a, int *fd, int *port, sl_err *err) SL_WUR;

/* Errors have SL_ERR_RETRY. TLS NULL: plain. TIMEOUT_MILLIS holds for connecting and for each wait afterwards. */
int sl_link_open(const struct sl_address *a, struct sl_tls *tls, int64_t timeout_millis, struct sl_link **out, sl_err *err) SL_WUR;
/* Of an accepted socket, which becomes the connection's. No TLS until sl_link_accept_tls. */
int sl_link_of(int fd, int64_t timeout_millis, struct sl_link **out, sl_err *err) SL_WUR;
int sl_link_accept_tls(struct sl_link *c, struct sl_tls *tls, sl_err *err) SL_WUR;
void sl_link_close(struct sl_link *c);     /* NULL is fine */
void sl_link_interrupt(struct sl_link *c); /* all reading and writing ends soon; any thread while C lives */
bool sl_link_is_stale(struct sl_link *c);  /* idle, but the peer closed it or sent something */
const char *sl_link_peer(const struct sl_link *c); /* its address, for the log */
int sl_link_fd(const struct sl_link *c);
bool sl_link_peer_verified(const struct sl_link *c); /* by a certificate */

/* What has arrived and was not used. */
sl_str sl_link_arrived(const struct sl_link *c);
void sl_link_use(struct sl_link *c, size_t n);
/* One read more behind what has arrived; at most SL_LINK_ROOM bytes fit. *END: the peer closed. *IDLE, if given: nothing came in the timeout, which
 * is no error then. */
enum { SL_LINK_ROOM = 16384 };
int sl_link_more(struct sl_link *c, bool *end, bool *idle, sl_err *err) SL_WUR;
/* Exactly N bytes to TO, from what has arrived and from the socket, whose further bytes, as they come, go to the buffer. */
int sl_link_read(struct sl_link *c, void *to, size_t n, sl_err *err) SL_WUR;
/* All pieces, in order. The array is used up. */
int sl_link_write(struct sl_link *c, sl_str *pieces, size_t n, sl_err *err) SL_WUR;

#endif
