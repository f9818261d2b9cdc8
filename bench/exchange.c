/*
 * exchange.c - what `make bench` measures of the exchange: two processes, a sender and a receiver, on loopback.
 *
 *   exchange ours|plain BLOCKS SIZE LIMIT   blocks of SIZE bytes, serialized before the clock starts, until all are assembled
 *   exchange idle CONNECTIONS SIZE          resident memory of idle pooled connections after as many large transfers at once
 *   exchange channels CHANNELS BLOCKS SIZE  so many channels at once
 *
 * Prints one line of JSON. `plain` is sockets alone: the same requests and answers, sizes in front of the bytes, one connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "sluice/exchange.h"

enum { RING = 64 << 20, REQUEST = 85, ANSWER_HEAD = 59, CHANNELS_MAX = 4096 };

static void die(const char *what, const sl_err *err)
{
    fprintf(stderr, "exchange: %s: %s\n", what, err ? err->text : strerror(errno));
    exit(1);
}

static double now(void)
{
    return (double)sl_mono_nanos() / 1e9;
}

/* "VmRSS" or "VmHWM" of this process, in KiB. */
static long memory(const char *name)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

static void tell(int fd, long v)
{
    if (write(fd, &v, sizeof v) != (ssize_t)sizeof v)
        die("pipe", NULL);
}

static long hear(int fd)
{
    long v = 0;

    if (read(fd, &v, sizeof v) != (ssize_t)sizeof v)
        die("the other process ended", NULL);
    return v;
}

/* What is sent: all blocks lie one behind the other in a ring, so that they are not all in the cache. */
struct data {
    unsigned char *p;
    size_t block, slots;
};

static struct data make_data(size_t block, size_t blocks)
{
    struct data d = {.block = block};

    d.slots = block * blocks <= RING ? blocks : RING / block;
    d.slots = d.slots ? d.slots : 1;
    d.p = malloc(d.slots * block);
    if (!d.p)
        die("memory", NULL);
    for (size_t i = 0; i < d.slots * block; i += 8)
        memcpy(d.p + i, &i, i + 8 <= d.slots * block ? 8 : d.slots * block - i);
    return d;
}

static void keep(void *p, size_t n, void *user)
{
    (void)p;
    (void)n;
    (void)user;
}

/* ---- the exchange ---- */

struct plan {
    size_t channels, blocks, size;
    uint64_t limit;
    unsigned threads;
    int to_sender, from_sender, to_receiver, from_receiver; /* pipe ends */
};

static struct sl_exchange *open_node(const struct plan *p)
{
    char path[] = "/tmp/sluice-bench-exchange.XXXXXX";
    struct sl_exchange_opts o = {.listen = "127.0.0.1:0", .settings_file = path, .memory_bytes = 3ull << 30};
    struct sl_exchange *x = NULL;
    sl_err err = SL_ERR_INIT;
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!f)
        die(path, NULL);
    fprintf(f, "mpp_data_exchange_max_payload_size_in_bytes=%llu\nmpp_data_exchange_max_pool_size=%u\n", (unsigned long long)p->limit,
            p->threads);
    fclose(f);
    if (sl_exchange_open(&o, &x, &err) != SL_OK)
        die("node", &err);
    unlink(path);
    return x;
}

static struct sl_fragment_instance up_id(void)
{
    return (struct sl_fragment_instance){SL_LIT("bench"), 1, SL_LIT("0")};
}

static struct sl_fragment_instance down_id(void)
{
    return (struct sl_fragment_instance){SL_LIT("bench"), 0, SL_LIT("0")};
}

static void send_round(struct sl_sink_channel **c, const struct plan *p, const struct data *d)
{
    sl_err err = SL_ERR_INIT;

    for (size_t b = 0; b < p->blocks; b++)
        for (size_t i = 0; i < p->channels; i++) {
            struct sl_bytes *bytes = NULL;

            if (sl_bytes_wrap(d->p + (b + i) % d->slots * d->block, d->block, keep, NULL, &bytes, &err) != SL_OK ||
                sl_sink_channel_send_bytes(c[i], bytes, -1, &err) != SL_OK)
                die("send", &err);
            sl_bytes_unref(bytes);
        }
    for (size_t i = 0; i < p->channels; i++)
        if (sl_sink_channel_end(c[i], &err) != SL_OK)
            die("end", &err);
    for (size_t i = 0; i < p->channels; i++)
        if (sl_sink_channel_wait(c[i], -1, &err) != SL_OK)
            die("wait", &err);
}

static void sender(const struct plan *p)
{
    static struct sl_sink_channel *c[CHANNELS_MAX];
    struct sl_exchange *x = open_node(p);
    struct data d = make_data(p->size, p->blocks);
    char address[64], node[32];
    sl_err err = SL_ERR_INIT;

    tell(p->from_sender, sl_exchange_port(x));
    snprintf(address, sizeof address, "127.0.0.1:%ld", hear(p->to_sender));
    for (size_t i = 0; i < p->channels; i++) {
        snprintf(node, sizeof node, "n%zu", i);
        struct sl_sink_opts o = {up_id(), (int32_t)i, address, down_id(), {node, strlen(node)}, 0};
        if (sl_sink_channel_open(x, &o, &c[i], &err) != SL_OK)
            die("channel", &err);
    }
    hear(p->to_sender);
    reset_peak();
    long before = memory("VmRSS:");
    send_round(c, p, &d);
    tell(p->from_sender, memory("VmHWM:") - before);
    tell(p->from_sender, (long)sl_metric_get(SL_M_EXCHANGE_LARGEST_PAYLOAD));
    for (size_t i = 0; i < p->channels; i++)
        sl_sink_channel_free(c[i]);
    hear(p->to_sender);
    tell(p->from_sender, memory("VmRSS:") - before);
    sl_exchange_close(x);
}

/* A source pulls from its first call on: all begin at once. */
static void begin_all(struct sl_source_handle **h, const struct plan *p, struct sl_bytes **first)
{
    sl_err err = SL_ERR_INIT;

    for (size_t i = 0; i < p->channels; i++) {
        int rc = sl_source_handle_next(h[i], 0, &first[i], &err);

        if (rc != SL_OK && rc != SL_EBUSY)
            die("next", &err);
    }
}

static void receive_round(struct sl_source_handle **h, const struct plan *p)
{
    static struct sl_bytes *first[CHANNELS_MAX];
    sl_err err = SL_ERR_INIT;

    begin_all(h, p, first);
    for (size_t b = 0; b <= p->blocks; b++)
        for (size_t i = 0; i < p->channels; i++) {
            struct sl_bytes *bytes = b ? NULL : first[i];

            if (!bytes && sl_source_handle_next(h[i], -1, &bytes, &err) != SL_OK)
                die("next", &err);
            if (bytes ? b == p->blocks || sl_bytes_size(bytes) != p->size : b != p->blocks)
                die("a block is missing or wrong", &err);
            sl_bytes_unref(bytes);
        }
}

static void receiver(const struct plan *p, const char *kind)
{
    static struct sl_source_handle *h[CHANNELS_MAX];
    struct sl_exchange *x = open_node(p);
    char address[64], node[32];
    sl_err err = SL_ERR_INIT;

    snprintf(address, sizeof address, "127.0.0.1:%ld", hear(p->from_sender));
    for (size_t i = 0; i < p->channels; i++) {
        snprintf(node, sizeof node, "n%zu", i);
        struct sl_source_opts o = {.target = down_id(), .target_node = {node, strlen(node)}, .source_address = address, .source = up_id(),
                                   .index = (int32_t)i};
        if (sl_source_handle_open(x, &o, &h[i], &err) != SL_OK)
            die("handle", &err);
    }
    tell(p->to_sender, sl_exchange_port(x));
    reset_peak();
    long before = memory("VmRSS:");
    double start = now();
    tell(p->to_sender, 0);
    receive_round(h, p);
    double seconds = now() - start;
    long peak = memory("VmHWM:") - before, sender_peak = hear(p->from_sender), payload = hear(p->from_sender);
    for (size_t i = 0; i < p->channels; i++)
        sl_source_handle_free(h[i]);
    sl_sleep_millis(1500); /* task threads that idle end meanwhile */
    long idle = memory("VmRSS:") - before;
    tell(p->to_sender, 0);
    printf("{\"kind\": \"%s\", \"seconds\": %.6f, \"senderPeakKiB\": %ld, \"receiverPeakKiB\": %ld, \"senderIdleKiB\": %ld, "
           "\"receiverIdleKiB\": %ld, \"largestPayload\": %ld}\n",
           kind, seconds, sender_peak, peak, hear(p->from_sender), idle, payload);
    sl_exchange_close(x);
}

static void run_ours(struct plan *p, const char *kind)
{
    int there[2], back[2];

    if (pipe(there) != 0 || pipe(back) != 0)
        die("pipe", NULL);
    p->to_sender = there[1];
    p->from_sender = back[0];
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        p->to_sender = there[0];
        p->from_sender = back[1];
        close(there[1]);
        close(back[0]);
        sender(p);
        exit(0);
    }
    close(there[0]);
    close(back[1]);
    receiver(p, kind);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        die("the sender failed", NULL);
}

/* ---- sockets alone ---- */

static void read_all(int fd, void *to, size_t n)
{
    unsigned char *p = to;

    while (n > 0) {
        ssize_t got = recv(fd, p, n, MSG_WAITALL);

        if (got <= 0)
            die("recv", NULL);
        p += got;
        n -= (size_t)got;
    }
}

static void write_all(int fd, struct iovec *v, int n)
{
    while (n > 0) {
        ssize_t sent = writev(fd, v, n);

        if (sent <= 0)
            die("writev", NULL);
        while (n > 0 && (size_t)sent >= v->iov_len) {
            sent -= (ssize_t)v->iov_len;
            v++;
            n--;
        }
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + sent;
            v->iov_len -= (size_t)sent;
        }
    }
}

/* How many bytes of which blocks the next answer has: complete ones, then a fragment, as the bounded path has it. */
static size_t next_answer(const struct plan *p, size_t block, size_t offset, size_t *parts)
{
    size_t left = p->limit, n = 0;

    while (block + n < p->blocks && left > 0) {
        size_t now_ = p->size - (n ? 0 : offset);

        parts[n] = now_ < left ? now_ : left;
        left -= parts[n];
        n++;
    }
    return n;
}

static void advance(const struct plan *p, size_t *block, size_t *offset, const size_t *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *offset += parts[i];
        if (*offset == p->size) {
            *offset = 0;
            ++*block;
        }
    }
}

static void plain_sender(const struct plan *p, int listener)
{
    static size_t parts[65536];
    static struct iovec v[2 * 65536];
    static unsigned char head[ANSWER_HEAD], request[REQUEST], size[4];
    struct data d = make_data(p->size, p->blocks);
    size_t block = 0, offset = 0;
    int one = 1, fd = accept(listener, NULL, NULL);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    tell(p->from_sender, 0);
    while (block < p->blocks) {
        size_t n = next_answer(p, block, offset, parts), pieces = 0;

        read_all(fd, request, sizeof request);
        v[pieces++] = (struct iovec){head, sizeof head};
        for (size_t i = 0; i < n; i++) {
            v[pieces++] = (struct iovec){size, sizeof size};
            v[pieces++] = (struct iovec){d.p + (block + i) % d.slots * d.block + (i ? 0 : offset), parts[i]};
        }
        write_all(fd, v, (int)pieces);
        advance(p, &block, &offset, parts, n);
    }
    read_all(fd, request, 1); /* the receiver has it */
}

static void plain_receiver(const struct plan *p, int fd)
{
    static size_t parts[65536];
    static unsigned char head[ANSWER_HEAD], request[REQUEST], size[4];
    unsigned char *value = NULL;
    size_t block = 0, offset = 0;

    hear(p->from_sender);
    double start = now();
    while (block < p->blocks) {
        size_t n = next_answer(p, block, offset, parts), at = offset;
        struct iovec v = {request, sizeof request};

        write_all(fd, &v, 1);
        read_all(fd, head, sizeof head);
        for (size_t i = 0; i < n; i++) {
            read_all(fd, size, sizeof size);
            if (!value)
                value = malloc(p->size);
            if (!value)
                die("memory", NULL);
            read_all(fd, value + at, parts[i]);
            at += parts[i];
            if (at == p->size) {
                free(value);
                value = NULL;
                at = 0;
            }
        }
        advance(p, &block, &offset, parts, n);
    }
    printf("{\"kind\": \"plain\", \"seconds\": %.6f}\n", now() - start);
    if (write(fd, "x", 1) != 1)
        die("write", NULL);
}

static void run_plain(struct plan *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int ends[2], one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;

    if (pipe(ends) != 0 || bind(listener, (struct sockaddr *)&a, n) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&a, &n) != 0)
        die("listen", NULL);
    p->from_sender = ends[1];
    pid_t child = fork();
    if (child == 0) {
        plain_sender(p, listener);
        exit(0);
    }
    p->from_sender = ends[0];
    if (connect(fd, (struct sockaddr *)&a, n) != 0)
        die("connect", NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    plain_receiver(p, fd);
    if (waitpid(child, &status, 0) != child || status != 0)
        die("the sender failed", NULL);
}

int main(int argc, char **argv)
{
    struct plan p = {.channels = 1, .threads = 10, .limit = 4 << 20};
    size_t v[4] = {0};

    for (int i = 2; i < argc && i < 6; i++)
        v[i - 2] = strtoull(argv[i], NULL, 10);
    if (argc == 5 && (strcmp(argv[1], "ours") == 0 || strcmp(argv[1], "plain") == 0)) {
        p.blocks = v[0];
        p.size = v[1];
        p.limit = v[2];
        if (argv[1][0] == 'o')
            run_ours(&p, argv[1]);
        else
            run_plain(&p);
    } else if (argc == 4 && strcmp(argv[1], "idle") == 0) {
        p.channels = p.threads = (unsigned)v[0];
        p.blocks = 1;
        p.size = v[1];
        run_ours(&p, argv[1]);
    } else if (argc == 5 && strcmp(argv[1], "channels") == 0 && v[0] <= CHANNELS_MAX) {
        p.channels = v[0];
        p.blocks = v[1];
        p.size = v[2];
        run_ours(&p, argv[1]);
    } else {
        fprintf(stderr, "usage: exchange ours|plain BLOCKS SIZE LIMIT | idle CONNECTIONS SIZE | channels CHANNELS BLOCKS SIZE\n");
        return 2;
    }
    return 0;
}
