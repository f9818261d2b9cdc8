/* Two nodes and what passes between them over TCP. */
#include "exchange_unit.h"

#include <pthread.h>
#include <unistd.h>

static const struct sl_exchange_opts PLAIN;

static void one_channel(const struct sl_exchange_opts *up, const struct sl_exchange_opts *down)
{
    static const size_t sizes[] = {1, 25, 100000, 131072, 5000000, 3, 4194304, 4194305, 9000000};
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;

    unit_open(&p, up, down);
    for (int32_t i = 0; i < 9; i++)
        unit_send(p.sink, i, sizes[i]);
    assert_ok(sl_sink_channel_end(p.sink, &err), err);
    for (int32_t i = 0; i < 9; i++)
        unit_receive(p.source, i, sizes[i]);
    unit_receive_end(p.source);
    unit_receive_end(p.source);
    assert_ok(sl_sink_channel_wait(p.sink, 10000, &err), err);
    unit_close(&p);
}

static void blocks_arrive(void **state)
{
    (void)state;
    one_channel(&PLAIN, &PLAIN);
}

static void blocks_arrive_compact(void **state)
{
    char *folder = unit_folder(), path[4200];
    struct sl_exchange_opts compact = {.settings_file = path};

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, "dn_rpc_thrift_compression_enable=true\nmpp_data_exchange_max_payload_size_in_bytes=1,000,000\n");
    one_channel(&compact, &compact);
    one_channel(&compact, &PLAIN);
    one_channel(&PLAIN, &compact);
    unit_folder_remove(folder);
}

static void empty_stream(void **state)
{
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    assert_ok(sl_sink_channel_end(p.sink, &err), err);
    unit_receive_end(p.source);
    assert_ok(sl_sink_channel_wait(p.sink, 10000, &err), err);
    unit_close(&p);
}

static void a_large_value(void **state)
{
    enum { SIZE = 256 << 20 };
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;
    struct sl_bytes *b = NULL;

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    assert_ok(sl_bytes_new(SIZE, &b, &err), err);
    for (size_t i = 0; i < SIZE; i += 4096)
        sl_bytes_data(b)[i] = (unsigned char)(i >> 12);
    assert_ok(sl_sink_channel_send_bytes(p.sink, b, 10000, &err), err);
    assert_ok(sl_sink_channel_end(p.sink, &err), err);
    struct sl_bytes *got = NULL;
    assert_ok(sl_source_handle_next(p.source, 60000, &got, &err), err);
    assert_int_equal(sl_bytes_size(got), SIZE);
    assert_memory_equal(sl_bytes_data(got), sl_bytes_data(b), SIZE);
    sl_bytes_unref(b);
    sl_bytes_unref(got);
    unit_receive_end(p.source);
    unit_close(&p);
}

static void names(void **state)
{
    struct unit_pair p;
    struct sl_sink_channel *again = NULL;
    struct sl_source_handle *twice = NULL;
    sl_err err = SL_ERR_INIT;
    struct sl_fragment_instance up = {SL_LIT("q0"), 1, SL_LIT("0")}, down = {SL_LIT("q0"), 2, SL_LIT("0")};

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    struct sl_source_opts so = {.target = down, .target_node = SL_LIT("node0"), .source_address = p.up_address, .source = up};
    struct sl_sink_opts ko = {.source = up, .target_address = p.down_address, .target = down, .target_node = SL_LIT("node0")};
    assert_code(sl_sink_channel_open(p.up, &ko, &again, &err), SL_EEXISTS);
    assert_code(sl_source_handle_open(p.down, &so, &twice, &err), SL_EEXISTS);
    ko.target_address = "nowhere";
    ko.index = 1;
    assert_code(sl_sink_channel_open(p.up, &ko, &again, &err), SL_EUSAGE);
    unit_close(&p);
}

static void refused_blocks(void **state)
{
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;
    struct unit_block b = {0, 0};

    (void)state;
    unit_open(&p, &(struct sl_exchange_opts){.memory_bytes = 1 << 20}, &PLAIN);
    assert_code(sl_sink_channel_send(p.sink, 0, unit_serialize, &b, 0, &err), SL_EINPUT);
    assert_code(sl_sink_channel_send(p.sink, 1ull << 31, unit_serialize, &b, 0, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "2147483648"));
    assert_code(sl_sink_channel_send(p.sink, (1 << 20) + 1, unit_serialize, &b, 0, &err), SL_ENOMEM);
    assert_int_equal(b.calls, 0);
    unit_send(p.sink, 0, 700000);
    assert_code(sl_sink_channel_send(p.sink, 700000, unit_serialize, &b, 50, &err), SL_EBUSY); /* nobody takes them */
    unit_receive(p.source, 0, 700000);
    unit_send(p.sink, 1, 700000); /* the acknowledgement made room */
    sl_sink_channel_abort(p.sink);
    assert_code(sl_sink_channel_send(p.sink, 1, unit_serialize, &b, 50, &err), SL_ECANCELLED);
    unit_close(&p);
}

/* The receiver stops early: the sender reads it and lets go of everything. */
static void early_close(void **state)
{
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;
    struct unit_block b = {5, 0};

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    for (int32_t i = 0; i < 5; i++)
        unit_send(p.sink, i, 1000000);
    unit_receive(p.source, 0, 1000000);
    sl_source_handle_close(p.source);
    assert_ok(sl_sink_channel_wait(p.sink, 10000, &err), err);
    assert_code(sl_sink_channel_send(p.sink, 1, unit_serialize, &b, 50, &err), SL_ECANCELLED);
    unit_wait_for_zero(p.up);
    unit_receive_end(p.source); /* nothing comes after a close */
    unit_close(&p);
}

static void sender_aborts(void **state)
{
    struct unit_pair p;
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    unit_send(p.sink, 0, 1000);
    unit_receive(p.source, 0, 1000);
    unit_send(p.sink, 1, 30000000);
    sl_sink_channel_abort(p.sink);
    int rc = sl_source_handle_next(p.source, 500, &b, &err);
    assert_true(rc == SL_ENOTFOUND || rc == SL_EBUSY); /* gone, or the news of it never went out */
    unit_close(&p);
}

/* One allocation fails, wherever: an error or a further attempt, never a hang, and nothing stays held. */
static void out_of_memory(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 60; n++) {
        struct unit_pair p;
        struct sl_bytes *b = NULL;
        struct unit_block block = {0, 0};
        sl_err err = SL_ERR_INIT;

        unit_open(&p, &PLAIN, &PLAIN);
        sl_mem_fail_nth(n);
        int rc = sl_sink_channel_send(p.sink, 50000, unit_serialize, &block, 5000, &err);
        if (rc == SL_OK)
            rc = sl_source_handle_next(p.source, 1000, &b, &err);
        if (rc == SL_EBUSY || rc == SL_ENOTFOUND) /* then the sender knows why */
            rc = sl_sink_channel_wait(p.sink, 1000, &err);
        if (rc == SL_OK)
            assert_true(unit_same(0, sl_bytes_data(b), sl_bytes_size(b)));
        else if (rc != SL_ENOMEM && !strstr(err.text, "out of memory"))
            fail_msg("allocation %jd: code %d, %s", (intmax_t)n, rc, err.text);
        sl_mem_fail_nth(0);
        sl_bytes_unref(b);
        unit_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_arrive),   cmocka_unit_test(blocks_arrive_compact), cmocka_unit_test(empty_stream),
        cmocka_unit_test(a_large_value),   cmocka_unit_test(names),                 cmocka_unit_test(refused_blocks),
        cmocka_unit_test(early_close),     cmocka_unit_test(sender_aborts),         cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
