/*
 * exchange_glib.c - the same transfer by Thrift's own library for C (c_glib), server and client, for `make bench`.
 *
 *   exchange_glib BLOCKS SIZE LIMIT
 *
 * The server cuts the blocks by the same rule; the client puts the elements together in one piece of memory a block.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/protocol/thrift_binary_protocol_factory.h>
#include <thrift/c_glib/server/thrift_simple_server.h>
#include <thrift/c_glib/transport/thrift_framed_transport.h>
#include <thrift/c_glib/transport/thrift_framed_transport_factory.h>
#include <thrift/c_glib/transport/thrift_server_socket.h>
#include <thrift/c_glib/transport/thrift_socket.h>

#include "bench_exchange.h"

enum { RING = 64 << 20 };

static size_t blocks, size, limit, slots;
static unsigned char *data;

static void die(const char *what, GError *error)
{
    fprintf(stderr, "exchange_glib: %s: %s\n", what, error ? error->message : "failed");
    exit(1);
}

static void make_data(void)
{
    slots = blocks * size <= RING ? blocks : RING / size;
    slots = slots ? slots : 1;
    data = malloc(slots * size);
    if (!data)
        die("memory", NULL);
    for (size_t i = 0; i < slots * size; i += 8)
        memcpy(data + i, &i, i + 8 <= slots * size ? 8 : slots * size - i);
}

/* ---- the server ---- */

typedef struct {
    BenchExchangeHandler parent;
} Handler;
typedef struct {
    BenchExchangeHandlerClass parent;
} HandlerClass;
static GType handler_get_type(void);
G_DEFINE_TYPE(Handler, handler, TYPE_BENCH_EXCHANGE_HANDLER)

static gboolean get_data_block(BenchExchangeIf *iface, GetResponse **out, const GetRequest *req, GError **error)
{
    GPtrArray *elements = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
    size_t left = limit, offset = (size_t)req->offset;
    gint32 next = -1;

    (void)iface;
    (void)error;
    for (gint32 seq = req->startSequenceId; seq < req->endSequenceId && left > 0; seq++) {
        size_t n = size - offset < left ? size - offset : left;
        GByteArray *a = g_byte_array_sized_new((guint)n);

        g_byte_array_append(a, data + (size_t)seq % slots * size + offset, (guint)n);
        g_ptr_array_add(elements, a);
        left -= n;
        if (offset + n < size)
            next = (gint32)(offset + n);
        offset = 0;
    }
    g_object_set(*out, "tsBlocks", elements, NULL);
    if (next >= 0)
        g_object_set(*out, "offset", next, "totalLength", (gint)size, NULL);
    g_ptr_array_unref(elements);
    return TRUE;
}

static void handler_init(Handler *h)
{
    (void)h;
}

static void handler_class_init(HandlerClass *c)
{
    c->parent.get_data_block = get_data_block;
}

static void serve(ThriftServerSocket *socket)
{
    GError *error = NULL;
    Handler *handler = g_object_new(handler_get_type(), NULL);
    BenchExchangeProcessor *processor = g_object_new(TYPE_BENCH_EXCHANGE_PROCESSOR, "handler", handler, NULL);
    ThriftTransportFactory *framed = g_object_new(THRIFT_TYPE_FRAMED_TRANSPORT_FACTORY, NULL);
    ThriftProtocolFactory *binary = g_object_new(THRIFT_TYPE_BINARY_PROTOCOL_FACTORY, NULL);
    ThriftServer *server = g_object_new(THRIFT_TYPE_SIMPLE_SERVER, "processor", processor, "server_transport", socket,
                                        "input_transport_factory", framed, "output_transport_factory", framed,
                                        "input_protocol_factory", binary, "output_protocol_factory", binary, NULL);

    thrift_server_serve(server, &error); /* until it is ended from outside */
}

/* ---- the client ---- */

static void receive(int port)
{
    GError *error = NULL;
    ThriftSocket *socket = g_object_new(THRIFT_TYPE_SOCKET, "hostname", "127.0.0.1", "port", port, NULL);
    ThriftTransport *framed = g_object_new(THRIFT_TYPE_FRAMED_TRANSPORT, "transport", socket, NULL);
    ThriftProtocol *binary = g_object_new(THRIFT_TYPE_BINARY_PROTOCOL, "transport", framed, NULL);
    BenchExchangeIf *client = g_object_new(TYPE_BENCH_EXCHANGE_CLIENT, "input_protocol", binary, "output_protocol", binary, NULL);
    unsigned char *value = NULL;
    size_t block = 0, got = 0;

    for (int i = 0; !thrift_transport_open(framed, &error); i++) {
        if (i == 200)
            die("connect", error);
        g_clear_error(&error);
        usleep(10000);
    }
    while (block < blocks) {
        GetRequest *req = g_object_new(TYPE_GET_REQUEST, "startSequenceId", (gint)block, "endSequenceId",
                                       (gint)(block + 256 < blocks ? block + 256 : blocks), "offset", (gint)got, NULL);
        GetResponse *r = g_object_new(TYPE_GET_RESPONSE, NULL);

        if (!bench_exchange_if_get_data_block(client, &r, req, &error))
            die("call", error);
        for (guint i = 0; i < r->tsBlocks->len; i++) {
            const GByteArray *a = g_ptr_array_index(r->tsBlocks, i);

            if (!value)
                value = malloc(size);
            if (!value || got + a->len > size)
                die("a response", NULL);
            memcpy(value + got, a->data, a->len);
            got += a->len;
            if (got == size) {
                free(value);
                value = NULL;
                got = 0;
                block++;
            }
        }
        g_object_unref(req);
        g_object_unref(r);
    }
}

int main(int argc, char **argv)
{
    struct timespec a, b;
    GError *error = NULL;

    if (argc != 4) {
        fprintf(stderr, "usage: exchange_glib BLOCKS SIZE LIMIT\n");
        return 2;
    }
    blocks = strtoull(argv[1], NULL, 10);
    size = strtoull(argv[2], NULL, 10);
    limit = strtoull(argv[3], NULL, 10);
    int port = 20000 + (int)getpid() % 20000, ready[2];
    if (pipe(ready) != 0)
        die("pipe", NULL);
    pid_t child = fork();
    if (child == 0) {
        ThriftServerSocket *socket = g_object_new(THRIFT_TYPE_SERVER_SOCKET, "port", port, NULL);

        make_data();
        if (write(ready[1], "x", 1) != 1)
            return 1;
        serve(socket);
        return 0;
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1)
        die("the server ended", error);
    clock_gettime(CLOCK_MONOTONIC, &a);
    receive(port);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("{\"kind\": \"c_glib\", \"seconds\": %.6f}\n", (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
    kill(child, 9);
    waitpid(child, NULL, 0);
    return 0;
}
