#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

static const struct {
    const char *name, *kind, *help;
} defs[SL_METRIC_COUNT] = {
#define SL_METRIC(id, name, kind, help) [id] = {name, kind, help},
#include "base/metrics.def"
#undef SL_METRIC
};

static _Atomic int64_t values[SL_METRIC_COUNT];

void sl_metric_add(enum sl_metric m, int64_t n)
{
    atomic_fetch_add_explicit(&values[m], n, memory_order_relaxed);
}

void sl_metric_set(enum sl_metric m, int64_t n)
{
    atomic_store_explicit(&values[m], n, memory_order_relaxed);
}

int64_t sl_metric_get(enum sl_metric m)
{
    return atomic_load_explicit(&values[m], memory_order_relaxed);
}

void sl_metrics_text(struct sl_buf *out)
{
    for (int i = 0; i < SL_METRIC_COUNT; i++)
        sl_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRId64 "\n", defs[i].name, defs[i].help,
                      defs[i].name, defs[i].kind, defs[i].name, sl_metric_get((enum sl_metric)i));
}

/* ---- the server: one thread, one request at a time ---- */

struct sl_metrics_server {
    int listener, stop; /* owned */
    pthread_t thread;
};

enum { REQUEST_MAX = 8192, REQUEST_MILLIS = 2000 };

static bool wait_for(const struct sl_metrics_server *s, int fd, short events, int millis)
{
    struct pollfd p[2] = {{fd, events, 0}, {s->stop, POLLIN, 0}};

    return poll(p, 2, millis) > 0 && !p[1].revents && p[0].revents;
}

static void send_all(const struct sl_metrics_server *s, int fd, sl_str bytes)
{
    while (bytes.n && wait_for(s, fd, POLLOUT, REQUEST_MILLIS)) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (n > 0)
            bytes = sl_str_sub(bytes, (size_t)n, bytes.n);
    }
}

static void answer(const struct sl_metrics_server *s, int fd)
{
    char request[REQUEST_MAX];
    size_t n = 0;
    struct sl_buf body = SL_BUF_INIT, head = SL_BUF_INIT;
    int64_t end = sl_mono_nanos() + (int64_t)REQUEST_MILLIS * 1000000;

    while (n < sizeof request && sl_str_find((sl_str){request, n}, SL_LIT("\r\n\r\n")) < 0) {
        if (sl_mono_nanos() > end || !wait_for(s, fd, POLLIN, REQUEST_MILLIS))
            return;
        ssize_t got = recv(fd, request + n, sizeof request - n, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return;
        n += got > 0 ? (size_t)got : 0;
    }
    sl_str line = {request, n};
    if (sl_str_starts(line, "GET /metrics ") || sl_str_starts(line, "GET /metrics?")) {
        sl_metrics_text(&body);
        sl_buf_printf(&head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    } else {
        sl_buf_addc(&body, "only GET /metrics is served here\n");
        sl_buf_printf(&head, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n");
    }
    sl_buf_printf(&head, "Content-Length: %zu\r\nConnection: close\r\n\r\n", body.n);
    if (!body.failed && !head.failed) {
        send_all(s, fd, sl_buf_view(&head));
        send_all(s, fd, sl_buf_view(&body));
    }
    sl_buf_release(&body);
    sl_buf_release(&head);
}

static void *serve(void *arg)
{
    const struct sl_metrics_server *s = arg;

    for (;;) {
        struct pollfd p[2] = {{s->listener, POLLIN, 0}, {s->stop, POLLIN, 0}};

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (p[1].revents)
            return NULL;
        if (!p[0].revents)
            continue;
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            answer(s, fd);
            close(fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            sl_sleep_millis(100);
        }
    }
}

static int listen_on(const char *host, const char *port, int *out, sl_err *err)
{
    struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int fd = -1, one = 1, failure = 0;
    int why = getaddrinfo(host, port, &want, &found);

    if (why != 0)
        return sl_err_set(err, SL_EINPUT, "no such address \"%s:%s\": %s", host, port, gai_strerror(why));
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        if (fd < 0) {
            failure = errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 16) == 0)
            break;
        failure = errno;
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd < 0)
        return sl_err_sys(err, failure, "cannot serve metrics on \"%s:%s\"", host, port);
    *out = fd;
    return SL_OK;
}

static void log_address(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(fd, (struct sockaddr *)&a, &n) == 0 &&
        getnameinfo((struct sockaddr *)&a, n, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        sl_log(SL_LOG_INFO, "metrics", "serving metrics on %s:%s", host, port);
}

/* "HOST:PORT", ":PORT" (loopback) or "[V6]:PORT". */
static int split_address(sl_str text, char *host, size_t host_size, char *port, size_t port_size, sl_err *err)
{
    const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;
    uint64_t number;

    if (colon) {
        sl_str h = {text.p, (size_t)(colon - text.p)};
        sl_str p = sl_str_sub(text, h.n + 1, text.n);

        if (h.n >= 2 && h.p[0] == '[' && h.p[h.n - 1] == ']')
            h = sl_str_sub(h, 1, h.n - 1);
        if (h.n == 0)
            h = SL_LIT("127.0.0.1");
        if (h.n < host_size && p.n < port_size && sl_parse_u64(p, &number) && number <= 65535) {
            memcpy(host, h.p, h.n);
            host[h.n] = '\0';
            memcpy(port, p.p, p.n);
            port[p.n] = '\0';
            return SL_OK;
        }
    }
    sl_err_set(err, SL_EUSAGE, "\"" SL_STRF "\" is not an address", SL_STRV(text));
    sl_err_hint(err, "write HOST:PORT, such as 127.0.0.1:9100");
    return SL_EUSAGE;
}

int sl_metrics_serve(sl_str host_port, struct sl_metrics_server **out, sl_err *err)
{
    char host[256], port[8];
    int rc = SL_OK;
    struct sl_metrics_server *s = NULL;

    *out = NULL;
    SL_TRY(split_address(host_port, host, sizeof host, port, sizeof port, err));
    s = sl_calloc(1, sizeof *s);
    if (!s)
        return sl_err_nomem(err);
    s->listener = -1;
    s->stop = eventfd(0, EFD_CLOEXEC);
    if (s->stop < 0) {
        rc = sl_err_sys(err, errno, "cannot serve metrics");
        goto done;
    }
    SL_GO(listen_on(host, port, &s->listener, err));
    int why = pthread_create(&s->thread, NULL, serve, s);
    if (why != 0) {
        rc = sl_err_sys(err, why, "cannot start the metrics thread");
        goto done;
    }
    log_address(s->listener);
    *out = s;
    s = NULL;
done:
    if (s) {
        if (s->stop >= 0)
            close(s->stop);
        if (s->listener >= 0)
            close(s->listener);
        sl_free(s);
    }
    return rc;
}

void sl_metrics_stop(struct sl_metrics_server *s)
{
    uint64_t one = 1;

    if (!s)
        return;
    if (write(s->stop, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(s->thread, NULL);
    close(s->stop);
    close(s->listener);
    sl_free(s);
}
