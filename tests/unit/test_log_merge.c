/* Which version of a key counts, by event time and by commit time. */
#include "log_unit.h"

#include "table/log/merge.h"

static int by_event_time(void **state)
{
    open_warehouse(state);
    make_log_table("DefaultHoodieRecordPayload");
    return 0;
}

static int by_commit_time(void **state)
{
    open_warehouse(state);
    make_log_table("OverwriteWithLatestAvroPayload");
    return 0;
}

static int teardown(void **state)
{
    drop_log_table();
    return close_warehouse(state);
}

/* A base file with keys a to j at ts 10, then a log of several blocks. */
static void base_of_ten(void)
{
    struct sl_conn *conn = open_conn();
    struct sl_buf values = SL_BUF_INIT;

    for (char c = 'a'; c <= 'j'; c++)
        sl_buf_printf(&values, "%s('%c', 10, 0)", c > 'a' ? ", " : "", c);
    put_base(conn, GROUP, T1, values.p);
    commit(T1);
    sl_buf_release(&values);
    sl_conn_close(conn);
}

static void put_changes(void)
{
    struct sl_buf log = SL_BUF_INIT;

    base_of_ten();
    ADD_ROWS(&log, T2, {"a", 11, 1}, {"b", 9, 1}, {"c", 10, 1}, {"d", 12, 1}, {"e", 11, 1}, {"n", 5, 1}, {"i", NO_ORDERING, 1});
    ADD_ROWS(&log, T3, {"d", 11, 2}, {"e", 11, 2}, {"n", 4, 2});
    add_delete(&log, T3, "f", NO_ORDERING);
    add_delete(&log, T3, "g", 9);
    add_delete(&log, T3, "h", 10);
    add_delete(&log, T3, "j", NO_ORDERING);
    add_delete(&log, T3, "never", NO_ORDERING);
    ADD_ROWS(&log, T4, {"h", 9, 3}, {"j", 1, 3}, {"m", 3, 3});
    add_delete(&log, T4, "m", NO_ORDERING);
    put_log(GROUP, T1, 1, &log);
    commit(T2);
    commit(T3);
    commit(T4);
}

static void event_time(void **state)
{
    (void)state;
    put_changes();
    assert_string_equal(read_rows(NULL), "a|11|1 "  /* newer */
                                         "b|10|0 "  /* late */
                                         "c|10|1 "  /* a tie goes to the later write */
                                         "d|12|1 "  /* late within the log */
                                         "e|11|2 "
                                         /* f: deleted without event time */
                                         "g|10|0 "  /* its delete is late */
                                         /* h: deleted at 10, a row of 9 does not bring it back */
                                         "i|10|0 "  /* NULL is less than all */
                                         "j|1|3 "   /* came back after a delete without event time */
                                         "n|5|1");
    assert_string_equal(read_rows(&(struct sl_log_selector){.as_of = T2}),
                        "a|11|1 b|10|0 c|10|1 d|12|1 e|11|1 f|10|0 g|10|0 h|10|0 i|10|0 j|10|0 n|5|1");
}

static void commit_time(void **state)
{
    (void)state;
    put_changes();
    assert_string_equal(read_rows(NULL), "a|11|1 b|9|1 c|10|1 d|11|2 e|11|2 h|9|3 i|null|1 j|1|3 n|4|2");
}

/* The same bits come out whatever number of passes the keys are taken in. */
static void in_passes(void **state)
{
    struct sl_log *t;
    struct sl_view *v;
    struct sl_blocks blocks;
    struct sl_merged once, many;
    sl_err err = SL_ERR_INIT;

    (void)state;
    put_changes();
    t = open_log();
    assert_ok(sl_view_open(t, NULL, &v, &err), err);
    assert_ok(sl_slice_blocks(v, &v->slices[0], false, &blocks, &err), err);
    struct sl_merge m = {.table = t, .view = v, .event_time = true, .ordering = *sl_schema_field(&t->schema->columns, SL_LIT("ts"))};
    assert_ok(sl_merge_blocks(&m, &blocks, &once, &err), err);
    m.memory = 100;
    assert_ok(sl_merge_blocks(&m, &blocks, &many, &err), err);
    assert_int_equal(once.newest, many.newest);
    for (size_t i = 0; i < blocks.n; i++) {
        assert_int_equal(once.marks[i].records, many.marks[i].records);
        for (int64_t k = 0; k < once.marks[i].records; k++) {
            assert_int_equal(sl_mark_get(once.marks[i].newest, k), sl_mark_get(many.marks[i].newest, k));
            assert_int_equal(sl_mark_get(once.marks[i].always, k), sl_mark_get(many.marks[i].always, k));
        }
    }
    sl_merged_release(&once);
    sl_merged_release(&many);
    sl_blocks_release(&blocks);
    sl_view_free(v);
    sl_log_close(t);
}

/* A block as stock log compaction writes it: it replaces those of other instants, and stands in their place. */
static void log_compaction(void **state)
{
    struct sl_buf log = SL_BUF_INIT, content = SL_BUF_INIT, header = SL_BUF_INIT;
    const char *times = "20260101000000002,20260101000000003";
    char digits[18];

    (void)state;
    base_of_ten();
    ADD_ROWS(&log, T2, {"a", 20, 2});
    ADD_ROWS(&log, T3, {"a", 30, 3}, {"b", 30, 3});
    ADD_ROWS(&log, T4, {"b", 30, 4});
    put_records(&content, T3, (const struct row[]){{"a", 30, 3}, {"b", 30, 3}}, 2);
    sl_hudi_instant_text(T5, digits);
    sl_buf_u32be(&header, 3);
    const struct sl_hudi_entry entries[] = {{SL_HUDI_H_INSTANT, sl_str_c(digits)}, {SL_HUDI_H_SCHEMA, sl_str_c(full_schema)},
                                            {SL_HUDI_H_COMPACTED, sl_str_c(times)}};
    for (int i = 0; i < 3; i++) {
        sl_buf_u32be(&header, (uint32_t)entries[i].id);
        sl_buf_u32be(&header, (uint32_t)entries[i].value.n);
        sl_buf_add(&header, entries[i].value);
    }
    const uint32_t length = (uint32_t)(4 + 4 + header.n + 8 + content.n + 4 + 8);
    sl_buf_addc(&log, "#HUDI#");
    sl_buf_u32be(&log, 0);
    sl_buf_u32be(&log, length);
    sl_buf_u32be(&log, 1);
    sl_buf_u32be(&log, SL_HUDI_BLOCK_AVRO);
    sl_buf_add(&log, sl_buf_view(&header));
    sl_buf_u32be(&log, 0);
    sl_buf_u32be(&log, (uint32_t)content.n);
    sl_buf_add(&log, sl_buf_view(&content));
    sl_buf_u32be(&log, 0);
    sl_buf_u32be(&log, 0);
    sl_buf_u32be(&log, length + 6);
    put_log(GROUP, T1, 1, &log);
    commit(T2);
    commit(T3);
    commit(T4);
    commit(T5);
    assert_string_equal(read_rows(NULL), "a|30|3 b|30|4 c|10|0 d|10|0 e|10|0 f|10|0 g|10|0 h|10|0 i|10|0 j|10|0");
    sl_buf_release(&content);
    sl_buf_release(&header);
}

static void only_logs(void **state)
{
    struct sl_buf log = SL_BUF_INIT;

    (void)state;
    ADD_ROWS(&log, T1, {"a", 1, 1}, {"b", 1, 1});
    add_delete(&log, T1, "b", NO_ORDERING);
    put_log(GROUP, T1, 1, &log);
    commit(T1);
    assert_string_equal(read_rows(NULL), "a|1|1");
    assert_string_equal(read_rows(&(struct sl_log_selector){.query = SL_LOG_READ_OPTIMIZED}), "");
}

static void ordering_of_deletes(void **state)
{
    const struct sl_type bigint = {.kind = SL_BIGINT}, real = {.kind = SL_DOUBLE}, text = {.kind = SL_VARCHAR},
                         decimal = {.kind = SL_DECIMAL, .precision = 10, .scale = 2}, time = {.kind = SL_TIMESTAMP_LTZ, .precision = 6};
    struct sl_hudi_ordering o = {.kind = SL_HUDI_ORD_LONG, .i = 7};
    struct sl_value v;
    bool none;

    (void)state;
    sl_merge_delete_ordering(&bigint, &o, &v, &none);
    assert_true(!none && v.u.i == 7);
    sl_merge_delete_ordering(&real, &o, &v, &none);
    assert_true(!none && v.u.f == 7.0);
    sl_merge_delete_ordering(&text, &o, &v, &none);
    assert_true(none);
    o.kind = SL_HUDI_ORD_TIMESTAMP_MICROS;
    o.i = -1;
    sl_merge_delete_ordering(&time, &o, &v, &none);
    assert_true(!none && v.u.t.ms == -1 && v.u.t.ns == 999000);
    o = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_INT, .i = 0};
    sl_merge_delete_ordering(&bigint, &o, &v, &none);
    assert_true(none);
    /* 1.50 with scale 15 */
    o = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_DECIMAL, .s = SL_LIT("\x05\x54\x3d\xf7\x29\xc0\x00")};
    sl_merge_delete_ordering(&decimal, &o, &v, &none);
    assert_true(!none && v.u.d == 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(event_time, by_event_time, teardown),
        cmocka_unit_test_setup_teardown(commit_time, by_commit_time, teardown),
        cmocka_unit_test_setup_teardown(in_passes, by_event_time, teardown),
        cmocka_unit_test_setup_teardown(log_compaction, by_event_time, teardown),
        cmocka_unit_test_setup_teardown(only_logs, by_event_time, teardown),
        cmocka_unit_test(ordering_of_deletes),
    };

    return cmocka_run_group_tests_name("log_merge", tests, NULL, NULL);
}
