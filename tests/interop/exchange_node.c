/* exchange_node.c - one end of an exchange, for peers of other makes, on the public header alone.
 *
 *   exchange_node send ADDRESS SETTINGS SIZE...   sends blocks of these sizes to the node at ADDRESS
 *   exchange_node receive ADDRESS SETTINGS        takes blocks from the node at ADDRESS
 *
 * Prints "port N", waits for a line on standard input, then works, and stays until standard input ends. The sender is the instance q0, 1, 0, channel 0; the receiver the instance
 * q0, 2, 0 with the plan node n. Byte i of block k is 31 x i + 7 + k. SETTINGS may be "-". Ends with "done" or the error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/exchange.h>

enum { TIMEOUT_MILLIS = 30000 };
static const struct sl_fragment_instance source = {{"q0", 2}, 1, {"0", 1}}, target = {{"q0", 2}, 2, {"0", 1}};
static const sl_str node = {"n", 1};

static unsigned char byte_of(uint64_t block, uint64_t i)
{
    return (unsigned char)(31 * i + 7 + block);
}

static int fill(void *user, unsigned char *to, size_t n, sl_err *err)
{
    uint64_t block = *(uint64_t *)user;

    (void)err;
    for (size_t i = 0; i < n; i++)
        to[i] = byte_of(block, i);
    return SL_OK;
}

static int send_blocks(struct sl_exchange *x, const char *address, char **sizes, int n, sl_err *err)
{
    struct sl_sink_opts o = {.source = source, .target_address = address, .target = target, .target_node = node};
    struct sl_sink_channel *c = NULL;
    int rc = sl_sink_channel_open(x, &o, &c, err);

    for (uint64_t i = 0; rc == SL_OK && i < (uint64_t)n; i++)
        rc = sl_sink_channel_send(c, strtoull(sizes[i], NULL, 10), fill, &i, TIMEOUT_MILLIS, err);
    if (rc == SL_OK)
        rc = sl_sink_channel_end(c, err);
    if (rc == SL_OK)
        rc = sl_sink_channel_wait(c, TIMEOUT_MILLIS, err);
    sl_sink_channel_free(c);
    return rc;
}

static int receive_blocks(struct sl_source_handle *h, sl_err *err)
{
    for (uint64_t block = 0;; block++) {
        struct sl_bytes *b = NULL;
        int rc = sl_source_handle_next(h, TIMEOUT_MILLIS, &b, err);

        if (rc != SL_OK || !b)
            return rc;
        for (size_t i = 0; i < sl_bytes_size(b); i++)
            if (sl_bytes_data(b)[i] != byte_of(block, i))
                return sl_err_set(err, SL_ECORRUPT, "block %" PRIu64 " is wrong at byte %zu", block, i);
        printf("block %" PRIu64 " %zu\n", block, sl_bytes_size(b));
        sl_bytes_unref(b);
    }
}

int main(int argc, char **argv)
{
    bool sends = argc > 3 && strcmp(argv[1], "send") == 0;
    struct sl_exchange_opts o = {.listen = "127.0.0.1:0", .pause_millis = 50};
    struct sl_source_opts from = {.target = target, .target_node = node, .source = source};
    struct sl_exchange *x = NULL;
    struct sl_source_handle *h = NULL;
    sl_err err = SL_ERR_INIT;
    int rc;

    if (argc < 4) {
        fprintf(stderr, "usage: exchange_node send|receive ADDRESS SETTINGS [SIZE...]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(argv[3], "-") != 0)
        o.settings_file = argv[3];
    from.source_address = argv[2];
    rc = sl_exchange_open(&o, &x, &err);
    if (rc == SL_OK && !sends)
        rc = sl_source_handle_open(x, &from, &h, &err);
    if (rc == SL_OK) {
        printf("port %d\n", sl_exchange_port(x));
        (void)getchar();
        rc = sends ? send_blocks(x, argv[2], argv + 4, argc - 4, &err) : receive_blocks(h, &err);
    }
    sl_source_handle_free(h);
    if (rc == SL_OK)
        printf("done, %" PRIu64 " bytes held\n", sl_exchange_memory_used(x));
    else
        printf("%s: %s\n", sl_code_name(rc), err.text);
    while (getchar() != EOF)
        continue;
    sl_exchange_close(x);
    return rc == SL_OK ? 0 : 1;
}
