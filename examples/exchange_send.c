/*
 * exchange_send LISTEN [BYTES]: send one value, of 300 MB unless told otherwise, to a receiver in another process.
 *
 *   exchange_send 127.0.0.1:10740                      prints its address and waits for the receiver's on standard input
 *   exchange_receive 127.0.0.1:10741 127.0.0.1:10740   prints its address; give that to the sender
 *
 * The value is written once into memory and leaves from there, at most 4 MiB a response. A file with the line
 * mpp_data_exchange_max_payload_size_in_bytes=1,048,576 as EXCHANGE_SETTINGS changes that, also while it runs.
 *
 * cc exchange_send.c $(pkg-config --cflags --libs sluice) -o exchange_send
 */
#include <sluice/exchange.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Any serializer stands here: it gets the memory for its block, and is called once. */
static int write_value(void *user, unsigned char *to, size_t n, sl_err *err)
{
    (void)user;
    (void)err;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(31 * i + 7);
    return SL_OK;
}

static int send_value(struct sl_exchange *x, const char *receiver, size_t n, sl_err *err)
{
    struct sl_sink_opts opts = {
        .source = {SL_LIT("query1"), 1, SL_LIT("0")},
        .target_address = receiver,
        .target = {SL_LIT("query1"), 0, SL_LIT("0")},
        .target_node = SL_LIT("exchange1"),
    };
    struct sl_sink_channel *channel = NULL;

    int rc = sl_sink_channel_open(x, &opts, &channel, err);
    if (rc == SL_OK)
        rc = sl_sink_channel_send(channel, n, write_value, NULL, -1, err);
    if (rc == SL_OK)
        rc = sl_sink_channel_end(channel, err);
    if (rc == SL_OK)
        rc = sl_sink_channel_wait(channel, -1, err); /* until the receiver has it all */
    sl_sink_channel_free(channel);
    return rc;
}

int main(int argc, char **argv)
{
    struct sl_exchange_opts opts = {.settings_file = getenv("EXCHANGE_SETTINGS"), .reload_on_sighup = true};
    struct sl_exchange *x = NULL;
    struct rusage usage;
    char receiver[256];
    sl_err err = SL_ERR_INIT;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: exchange_send LISTEN [BYTES]\n");
        return 2;
    }
    opts.listen = argv[1];
    int rc = sl_exchange_open(&opts, &x, &err);
    if (rc == SL_OK) {
        printf("sender at 127.0.0.1:%d; where is the receiver?\n", sl_exchange_port(x));
        fflush(stdout);
        if (!fgets(receiver, sizeof receiver, stdin))
            rc = sl_err_set(&err, SL_EUSAGE, "no receiver was given");
        receiver[strcspn(receiver, " \r\n")] = '\0';
    }
    if (rc == SL_OK)
        rc = send_value(x, receiver, argc > 2 ? strtoull(argv[2], NULL, 10) : 300000000, &err);
    sl_exchange_close(x);
    getrusage(RUSAGE_SELF, &usage);
    if (rc == SL_OK)
        printf("sent; peak memory %ld MiB\n", usage.ru_maxrss / 1024);
    else
        fprintf(stderr, "exchange_send: %s\n", err.text);
    return sl_code_exit_status(rc);
}
