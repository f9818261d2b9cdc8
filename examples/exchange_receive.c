/*
 * exchange_receive LISTEN SENDER: receive what exchange_send sends, see there, and check each byte.
 *
 * The value is assembled in one piece of memory, from as many responses as it takes; a broken connection costs one of them.
 *
 * cc exchange_receive.c $(pkg-config --cflags --libs sluice) -o exchange_receive
 */
#include <sluice/exchange.h>

#include <stdio.h>
#include <sys/resource.h>

static int check_value(const struct sl_bytes *b, sl_err *err)
{
    const unsigned char *p = sl_bytes_data(b);

    for (size_t i = 0; i < sl_bytes_size(b); i++)
        if (p[i] != (unsigned char)(31 * i + 7))
            return sl_err_set(err, SL_ECORRUPT, "byte %zu is wrong", i);
    return SL_OK;
}

static int receive(struct sl_exchange *x, const char *sender, sl_err *err)
{
    struct sl_source_opts opts = {
        .target = {SL_LIT("query1"), 0, SL_LIT("0")},
        .target_node = SL_LIT("exchange1"),
        .source_address = sender,
        .source = {SL_LIT("query1"), 1, SL_LIT("0")},
    };
    struct sl_source_handle *source = NULL;
    struct sl_bytes *block = NULL;

    int rc = sl_source_handle_open(x, &opts, &source, err);
    if (rc == SL_OK) { /* from now on the sender may begin */
        printf("receiver at 127.0.0.1:%d\n", sl_exchange_port(x));
        fflush(stdout);
    }
    while (rc == SL_OK) {
        rc = sl_source_handle_next(source, -1, &block, err);
        if (rc != SL_OK || !block)
            break;
        rc = check_value(block, err);
        if (rc == SL_OK)
            printf("received %zu bytes\n", sl_bytes_size(block));
        sl_bytes_unref(block);
    }
    sl_source_handle_free(source);
    return rc;
}

int main(int argc, char **argv)
{
    struct sl_exchange_opts opts = {0};
    struct sl_exchange *x = NULL;
    struct rusage usage;
    sl_err err = SL_ERR_INIT;

    if (argc != 3) {
        fprintf(stderr, "usage: exchange_receive LISTEN SENDER\n");
        return 2;
    }
    opts.listen = argv[1];
    int rc = sl_exchange_open(&opts, &x, &err);
    if (rc == SL_OK)
        rc = receive(x, argv[2], &err);
    sl_exchange_close(x);
    getrusage(RUSAGE_SELF, &usage);
    if (rc == SL_OK)
        printf("all there; peak memory %ld MiB\n", usage.ru_maxrss / 1024);
    else
        fprintf(stderr, "exchange_receive: %s\n", err.text);
    return sl_code_exit_status(rc);
}
