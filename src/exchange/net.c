#include "exchange/net.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/net_priv.h"

enum { PIECES_AT_ONCE = 512, TLS_IDLE_MILLIS = 10000 };

int sl_address_parse(const char *text, struct sl_address *out, sl_err *err)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    uint64_t number;

    if (colon) {
        sl_str host = {text, (size_t)(colon - text)}, port = sl_str_c(colon + 1);

        if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
            host = sl_str_sub(host, 1, host.n - 1);
        if (host.n > 0 && host.n < sizeof out->host && port.n < sizeof out->port && sl_parse_u64(port, &number) && number <= 65535) {
            memcpy(out->host, host.p, host.n);
            out->host[host.n] = '\0';
            memcpy(out->port, port.p, port.n);
            out->port[port.n] = '\0';
            return SL_OK;
        }
    }
    sl_err_set(err, SL_EUSAGE, "\"%s\" is not an address", text ? text : "");
    sl_err_hint(err, "write HOST:PORT, such as 127.0.0.1:10740");
    return SL_EUSAGE;
}

static int look_up(const struct sl_address *a, bool listening, struct addrinfo **out, sl_err *err)
{
    struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = listening ? AI_PASSIVE : 0};
    int why = getaddrinfo(a->host, a->port, &want, out);

    if (why == 0)
        return SL_OK;
    sl_err_set(err, SL_EIO, "no such address \"%s:%s\": %s", a->host, a->port, gai_strerror(why));
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EIO;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool sl_address_is_loopback(const struct sl_address *a)
{
    struct addrinfo *found = NULL;
    bool all = look_up(a, true, &found, NULL) == SL_OK;

    for (const struct addrinfo *i = found; i; i = i->ai_next)
        all = all && is_loopback(i->ai_addr);
    if (found)
        freeaddrinfo(found);
    return all;
}

static int port_of(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port : ((struct sockaddr_in *)&a)->sin_port);
}

int sl_listen(const struct sl_address *a, int *out, int *port, sl_err *err)
{
    struct addrinfo *found = NULL;
    int fd = -1, one = 1, failure = 0;

    SL_TRY(look_up(a, true, &found, err));
    for (const struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, i->ai_protocol);
        if (fd < 0) {
            failure = errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, i->ai_addr, i->ai_addrlen) != 0 || listen(fd, 1024) != 0) {
            failure = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return sl_err_sys(err, failure, "cannot listen on \"%s:%s\"", a->host, a->port);
    *out = fd;
    *port = port_of(fd);
    return SL_OK;
}

/* ---- a connection ---- */

int sl_link_failed(struct sl_link *c, int os_errno, const char *doing, sl_err *err)
{
    c->failed = true;
    if (os_errno == EAGAIN || os_errno == EWOULDBLOCK)
        sl_err_set(err, SL_EIO, "%s %s: no answer in time", doing, c->peer);
    else if (os_errno == 0)
        sl_err_set(err, SL_EIO, "%s %s: the other side closed the connection", doing, c->peer);
    else
        sl_err_sys(err, os_errno, "%s %s", doing, c->peer);
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EIO;
}

static void name_peer(struct sl_link *c)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    snprintf(c->peer, sizeof c->peer, "a peer");
    if (getpeername(c->fd, (struct sockaddr *)&a, &n) == 0 &&
        getnameinfo((struct sockaddr *)&a, n, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(c->peer, sizeof c->peer, "%.60s:%s", host, port);
}

static void set_timeouts(int fd, int64_t millis)
{
    struct timeval t = {millis / 1000, millis % 1000 * 1000};
    int one = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

int sl_link_of(int fd, int64_t timeout_millis, struct sl_link **out, sl_err *err)
{
    struct sl_link *c = sl_malloc(sizeof *c); /* the buffer is left as it is */

    *out = NULL;
    if (!c) {
        close(fd);
        return sl_err_nomem(err);
    }
    c->fd = fd;
    c->ssl = NULL;
    c->start = c->end = 0;
    c->verified = c->failed = false;
    name_peer(c);
    set_timeouts(fd, timeout_millis);
    *out = c;
    return SL_OK;
}

/* The timeout of sending holds for connecting too, so the socket may stay blocking. */
static int connect_to(const struct sl_address *a, int64_t timeout_millis, int *out, sl_err *err)
{
    struct addrinfo *found = NULL;
    int fd = -1, failure = 0;

    SL_TRY(look_up(a, false, &found, err));
    for (const struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, i->ai_protocol);
        if (fd < 0) {
            failure = errno;
            continue;
        }
        set_timeouts(fd, timeout_millis);
        if (connect(fd, i->ai_addr, i->ai_addrlen) != 0) {
            failure = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0) {
        sl_err_sys(err, failure == EINPROGRESS ? ETIMEDOUT : failure, "cannot connect to \"%s:%s\"", a->host, a->port);
        sl_err_flag(err, SL_ERR_RETRY);
        return SL_EIO;
    }
    *out = fd;
    return SL_OK;
}

int sl_link_open(const struct sl_address *a, struct sl_tls *tls, int64_t timeout_millis, struct sl_link **out, sl_err *err)
{
    int fd = -1, rc;

    *out = NULL;
    SL_TRY(connect_to(a, timeout_millis, &fd, err));
    SL_TRY(sl_link_of(fd, timeout_millis, out, err));
    if (!tls)
        return SL_OK;
    rc = sl_link_connect_tls(*out, tls, a->host, err);
    if (rc != SL_OK) {
        sl_link_close(*out);
        *out = NULL;
    }
    return rc;
}

void sl_link_close(struct sl_link *c)
{
    if (!c)
        return;
    if (c->ssl) {
        if (!c->failed)
            (void)SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
    }
    close(c->fd);
    sl_free(c);
}

void sl_link_interrupt(struct sl_link *c)
{
    shutdown(c->fd, SHUT_RDWR);
}

bool sl_link_is_stale(struct sl_link *c)
{
    struct pollfd p = {c->fd, POLLIN, 0};

    return c->start != c->end || poll(&p, 1, 0) != 0;
}

const char *sl_link_peer(const struct sl_link *c)
{
    return c->peer;
}

int sl_link_fd(const struct sl_link *c)
{
    return c->fd;
}

bool sl_link_peer_verified(const struct sl_link *c)
{
    return c->verified;
}

/* ---- reading ---- */

sl_str sl_link_arrived(const struct sl_link *c)
{
    return (sl_str){(const char *)c->buf + c->start, c->end - c->start};
}

void sl_link_use(struct sl_link *c, size_t n)
{
    c->start += n;
    if (c->start == c->end)
        c->start = c->end = 0;
}

static ssize_t read_two(struct sl_link *c, void *to, size_t n, void *behind, size_t m)
{
    struct iovec v[2] = {{to, n}, {behind, m}};
    ssize_t got;

    do
        got = c->ssl ? sl_tls_read(c, n ? to : behind, n ? n : m) : readv(c->fd, v, 2);
    while (got < 0 && errno == EINTR);
    return got;
}

int sl_link_more(struct sl_link *c, bool *end, bool *idle, sl_err *err)
{
    if (c->start > 0) {
        memmove(c->buf, c->buf + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = 0;
    }
    *end = false;
    if (idle)
        *idle = false;
    if (c->end == sizeof c->buf)
        return sl_err_set(err, SL_EBUG, "the buffer of a connection is full");
    if (idle && c->ssl && !SSL_has_pending(c->ssl)) { /* a read of TLS that timed out could not be repeated */
        struct pollfd p = {c->fd, POLLIN, 0};

        *idle = poll(&p, 1, TLS_IDLE_MILLIS) == 0;
        if (*idle)
            return SL_OK;
    }
    ssize_t n = read_two(c, c->buf + c->end, sizeof c->buf - c->end, NULL, 0);
    if (n < 0 && idle && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        *idle = true;
        return SL_OK;
    }
    if (n < 0)
        return sl_link_failed(c, errno, "reading from", err);
    c->end += (size_t)n;
    *end = n == 0;
    return SL_OK;
}

int sl_link_read(struct sl_link *c, void *to, size_t n, sl_err *err)
{
    size_t have = c->end - c->start, now = have < n ? have : n;
    unsigned char *p = to;

    memcpy(p, c->buf + c->start, now);
    sl_link_use(c, now);
    p += now;
    n -= now;
    while (n > 0) { /* the buffer is empty now */
        ssize_t got = read_two(c, p, n, c->buf, sizeof c->buf);

        if (got <= 0)
            return sl_link_failed(c, got < 0 ? errno : 0, "reading from", err);
        now = (size_t)got < n ? (size_t)got : n;
        c->end = (size_t)got - now;
        p += now;
        n -= now;
    }
    return SL_OK;
}

/* ---- writing ---- */

static ssize_t send_some(struct sl_link *c, sl_str *pieces, size_t n)
{
    struct iovec v[PIECES_AT_ONCE];
    struct msghdr m = {.msg_iov = v, .msg_iovlen = n < PIECES_AT_ONCE ? n : PIECES_AT_ONCE};
    ssize_t sent;

    for (size_t i = 0; i < m.msg_iovlen; i++)
        v[i] = (struct iovec){(void *)pieces[i].p, pieces[i].n};
    do
        sent = sendmsg(c->fd, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

/* Small pieces are joined, since each write of TLS is a record of its own. */
static ssize_t send_record(struct sl_link *c, sl_str *pieces, size_t n)
{
    unsigned char joined[8192];
    size_t used = 0;

    if (pieces[0].n >= sizeof joined)
        return sl_tls_write(c, pieces[0].p, pieces[0].n);
    for (size_t i = 0; i < n && used < sizeof joined; i++) {
        size_t take = pieces[i].n < sizeof joined - used ? pieces[i].n : sizeof joined - used;

        memcpy(joined + used, pieces[i].p, take);
        used += take;
    }
    return sl_tls_write(c, joined, used);
}

int sl_link_write(struct sl_link *c, sl_str *pieces, size_t n, sl_err *err)
{
    size_t i = 0;

    for (;;) {
        while (i < n && pieces[i].n == 0)
            i++;
        if (i == n)
            return SL_OK;
        ssize_t sent = c->ssl ? send_record(c, pieces + i, n - i) : send_some(c, pieces + i, n - i);
        if (sent <= 0)
            return sl_link_failed(c, sent < 0 ? errno : 0, "writing to", err);
        for (size_t left = (size_t)sent; left > 0;) {
            size_t now = left < pieces[i].n ? left : pieces[i].n;

            pieces[i] = sl_str_sub(pieces[i], now, pieces[i].n);
            left -= now;
            if (pieces[i].n == 0 && left > 0)
                i++;
        }
    }
}
