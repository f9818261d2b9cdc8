/*
 * exchange_unit.h - two nodes in one process, a channel between them, and blocks whose content is known.
 */
#ifndef SL_TESTS_EXCHANGE_UNIT_H
#define SL_TESTS_EXCHANGE_UNIT_H

#include "unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/node.h"

/* Byte I of block SEQ. */
static inline unsigned char unit_byte(int32_t seq, size_t i)
{
    return (unsigned char)(31 * i + 7 + (size_t)seq * 13 + (i >> 8));
}

static inline void unit_fill(int32_t seq, unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = unit_byte(seq, i);
}

static inline bool unit_same(int32_t seq, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != unit_byte(seq, i))
            return false;
    return true;
}

/* A serializer that counts how often it is called. */
struct unit_block {
    int32_t seq;
    size_t calls;
};

static inline int unit_serialize(void *user, unsigned char *to, size_t n, sl_err *err)
{
    struct unit_block *b = user;

    (void)err;
    b->calls++;
    unit_fill(b->seq, to, n);
    return SL_OK;
}

struct unit_pair {
    struct sl_exchange *up, *down;
    char up_address[32], down_address[32];
    struct sl_sink_channel *sink;
    struct sl_source_handle *source;
};

static inline void unit_open_node(const struct sl_exchange_opts *o, struct sl_exchange **x, char address[32])
{
    struct sl_exchange_opts opts = *o;
    sl_err err = SL_ERR_INIT;

    opts.listen = opts.listen ? opts.listen : "127.0.0.1:0";
    opts.pause_millis = opts.pause_millis ? opts.pause_millis : 20;
    assert_ok(sl_exchange_open(&opts, x, &err), err);
    snprintf(address, 32, "127.0.0.1:%d", sl_exchange_port(*x));
}

/* Source handle and channel number INDEX; UP_ADDRESS and DOWN_ADDRESS may be those of a proxy. */
static inline void unit_open_channel(struct unit_pair *p, int32_t index, bool whole_blocks, struct sl_sink_channel **sink,
                                     struct sl_source_handle **source)
{
    char node[16];
    sl_err err = SL_ERR_INIT;
    struct sl_fragment_instance up = {SL_LIT("q0"), 1, SL_LIT("0")}, down = {SL_LIT("q0"), 2, SL_LIT("0")};

    snprintf(node, sizeof node, "node%d", index);
    struct sl_source_opts so = {.target = down, .target_node = sl_str_c(node), .source_address = p->up_address, .source = up, .index = index,
                                .whole_blocks = whole_blocks};
    struct sl_sink_opts ko = {.source = up, .index = index, .target_address = p->down_address, .target = down, .target_node = sl_str_c(node)};
    assert_ok(sl_source_handle_open(p->down, &so, source, &err), err);
    assert_ok(sl_sink_channel_open(p->up, &ko, sink, &err), err);
}

static inline void unit_open(struct unit_pair *p, const struct sl_exchange_opts *up, const struct sl_exchange_opts *down)
{
    *p = (struct unit_pair){0};
    unit_open_node(up, &p->up, p->up_address);
    unit_open_node(down, &p->down, p->down_address);
    unit_open_channel(p, 0, false, &p->sink, &p->source);
}

static inline void unit_wait_for_zero(struct sl_exchange *x)
{
    for (int i = 0; i < 400 && sl_exchange_memory_used(x); i++)
        sl_sleep_millis(5); /* a response may be on its way still */
    assert_int_equal(sl_exchange_memory_used(x), 0);
}

/* Frees all; both pools must be back at zero. */
static inline void unit_close(struct unit_pair *p)
{
    sl_sink_channel_free(p->sink);
    sl_source_handle_free(p->source);
    unit_wait_for_zero(p->up);
    unit_wait_for_zero(p->down);
    sl_exchange_close(p->up);
    sl_exchange_close(p->down);
}

static inline void unit_send(struct sl_sink_channel *sink, int32_t seq, size_t n)
{
    struct unit_block b = {seq, 0};
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_sink_channel_send(sink, n, unit_serialize, &b, 10000, &err), err);
    assert_int_equal(b.calls, 1);
}

static inline void unit_receive(struct sl_source_handle *source, int32_t seq, size_t n)
{
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_source_handle_next(source, 10000, &b, &err), err);
    assert_non_null(b);
    assert_int_equal(sl_bytes_size(b), n);
    assert_true(unit_same(seq, sl_bytes_data(b), n));
    sl_bytes_unref(b);
}

static inline void unit_receive_end(struct sl_source_handle *source)
{
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_source_handle_next(source, 10000, &b, &err), err);
    assert_null(b);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int connect_to(const char *address)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static inline void send_all(int fd, const void *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        p = (const char *)p + sent;
        n -= (size_t)sent;
    }
}

#endif
