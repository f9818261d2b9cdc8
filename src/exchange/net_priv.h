/*
 * net_priv.h - the inside of a connection, for net.c and tls.c.
 */
#ifndef SL_EXCHANGE_NET_PRIV_H
#define SL_EXCHANGE_NET_PRIV_H

#include <openssl/ssl.h>

#include "exchange/net.h"

struct sl_link {
    int fd;   /* owned */
    SSL *ssl; /* owned; NULL: plain */
    size_t start, end; /* what has arrived */
    char peer[112];
    bool verified;
    bool failed; /* no goodbye: it might wait for a peer that is gone */
    unsigned char buf[SL_LINK_ROOM];
};

int sl_link_failed(struct sl_link *c, int os_errno, const char *doing, sl_err *err);
int sl_link_connect_tls(struct sl_link *c, struct sl_tls *tls, const char *host, sl_err *err);
/* As read and write of the system: 0 is the end, -1 an error in errno, EAGAIN after the timeout. */
ssize_t sl_tls_read(struct sl_link *c, void *to, size_t n);
ssize_t sl_tls_write(struct sl_link *c, const void *p, size_t n);

#endif
