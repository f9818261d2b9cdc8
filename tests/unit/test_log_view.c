/* Timelines and views of log tables: which instants there are, which files a reader sees. */
#include "log_unit.h"

#include "base/sys.h"
#include "table/log/blocks.h"

static int setup(void **state)
{
    open_warehouse(state);
    make_log_table("DefaultHoodieRecordPayload");
    return 0;
}

static int teardown(void **state)
{
    drop_log_table();
    return close_warehouse(state);
}

static void states_of_instants(void **state)
{
    struct sl_log *t;

    (void)state;
    commit(T1);
    put_instant(T2, SL_HUDI_DELTACOMMIT, SL_HUDI_INFLIGHT, "");
    put_instant(T3, SL_HUDI_COMPACTION, SL_HUDI_REQUESTED, "");
    put_instant(T4, SL_HUDI_COMPACTION, SL_HUDI_COMPLETED, "{}");
    put_file(".hoodie/20260101000000005.inflight", (sl_str){"", 0});
    put_file(".hoodie/20260101000000001.savepoint", (sl_str){"", 0});
    put_file(".hoodie/hoodie.properties.backup", (sl_str){"", 0});
    t = open_log();
    const struct sl_timeline *tl = t->timeline;
    assert_int_equal(tl->n, 6);
    assert_true(tl->newest == T5);
    assert_int_equal(sl_timeline_find(tl, T1)->action, SL_HUDI_DELTACOMMIT);
    assert_int_equal(sl_timeline_find(tl, T1)->state, SL_HUDI_COMPLETED);
    assert_int_equal(sl_timeline_find(tl, T2)->state, SL_HUDI_INFLIGHT);
    assert_int_equal(sl_timeline_find(tl, T3)->action, SL_HUDI_COMPACTION);
    assert_int_equal(sl_timeline_find(tl, T4)->action, SL_HUDI_COMMIT);
    assert_int_equal(sl_timeline_find(tl, T4)->planned, SL_HUDI_COMPACTION);
    assert_int_equal(sl_timeline_find(tl, T5)->action, SL_HUDI_COMMIT);
    assert_int_equal(sl_timeline_fate(tl, T1), SL_COMMITTED);
    assert_int_equal(sl_timeline_fate(tl, T2), SL_PENDING);
    assert_int_equal(sl_timeline_fate(tl, T1 - 1), SL_GONE);
    assert_true(sl_timeline_latest(tl, SL_INSTANT_LAST)->time == T4);
    assert_true(sl_timeline_latest(tl, T3)->time == T1);
    assert_null(sl_timeline_latest(tl, T1 - 1));
    sl_log_close(t);
    /* Once instants are archived, those before the oldest one count as completed. */
    put_file(".hoodie/archived/.commits_.archive.1_1-0-1", (sl_str){"", 0});
    t = open_log();
    assert_int_equal(sl_timeline_fate(t->timeline, T1 - 1), SL_COMMITTED);
    assert_int_equal(sl_timeline_fate(t->timeline, T5 + 1), SL_GONE);
    sl_log_close(t);
}

static void ten_thousand_instants(void **state)
{
    enum { INSTANTS = 10000 };
    static const char *const suffix[] = {".deltacommit.requested", ".deltacommit.inflight", ".deltacommit"};
    struct sl_buf newest = SL_BUF_INIT;
    char path[5000];
    struct sl_log *t;
    int64_t start, nanos;

    (void)state;
    for (int i = 0; i < INSTANTS; i++)
        for (int s = 0; s < 3; s++) {
            snprintf(path, sizeof path, "%s/.hoodie/%lld%s", sl_store_root(files), (long long)(T1 + i), suffix[s]);
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            if (s == 2)
                fputs("{}", f);
            fclose(f);
        }
    sl_buf_addc(&newest, "{\"extraMetadata\":{\"schema\":");
    sl_buf_json_string(&newest, SL_LIT(SCHEMA));
    sl_buf_addc(&newest, "}}");
    put_instant(T1 + INSTANTS, SL_HUDI_DELTACOMMIT, SL_HUDI_COMPLETED, newest.p);
    sl_buf_release(&newest);
    start = sl_mono_nanos();
    t = open_log();
    nanos = sl_mono_nanos() - start;
    print_message("# 10,000 instants were opened in %.0f ms\n", (double)nanos / 1e6);
    assert_int_equal(t->timeline->n, INSTANTS + 1);
    sl_log_close(t);
}

static struct sl_view *view_of(struct sl_log *t, int64_t as_of)
{
    const struct sl_view_spec spec = {.as_of = as_of};
    struct sl_view *v;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_view_open(t, &spec, &v, &err), err);
    return v;
}

static void one_row(struct sl_buf *log, int64_t time)
{
    ADD_ROWS(log, time, {"a", time % 10, time % 10});
}

/* The plan of a compaction of the group. */
static void plan_compaction(int64_t time, int64_t base)
{
    struct sl_hudi_compaction_op op = {.base_instant = SL_LIT("20260101000000001"), .file_id = SL_LIT(GROUP), .partition = {"", 0}};
    const struct sl_hudi_compaction_plan plan = {.ops = &op, .nops = 1, .version = 2};
    struct sl_buf bytes = SL_BUF_INIT, name = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    (void)base;
    assert_ok(sl_hudi_compaction_encode(&plan, &bytes, &err), err);
    sl_buf_addc(&name, ".hoodie/");
    sl_hudi_timeline_put(&name, time, SL_HUDI_COMPACTION, SL_HUDI_REQUESTED);
    put_file(name.p, sl_buf_view(&bytes));
    sl_buf_release(&bytes);
    sl_buf_release(&name);
}

static void pending_compaction(void **state)
{
    struct sl_conn *conn = open_conn();
    struct sl_buf log = SL_BUF_INIT;
    struct sl_log *t;
    struct sl_view *v;

    (void)state;
    put_base(conn, GROUP, T1, "('a', 1, 1), ('b', 1, 1)");
    commit(T1);
    one_row(&log, T2);
    put_log(GROUP, T1, 1, &log);
    commit(T2);
    plan_compaction(T3, T1);
    one_row(&log, T4);
    put_log(GROUP, T3, 1, &log);
    commit(T4);
    one_row(&log, T5); /* left behind by a writer that died */
    put_log(GROUP, T3, 7, &log);
    t = open_log();
    v = view_of(t, 0);
    assert_int_equal(v->nslices, 1);
    const struct sl_slice *s = sl_view_slice(v, SL_LIT(""), SL_LIT(GROUP));
    assert_non_null(s);
    assert_true(s->instant == T1 && s->pending == T3 && s->log_instant == T3);
    assert_int_equal(s->nlogs, 3);
    assert_int_equal(s->nbefore, 1);
    assert_true(s->next_version == 8);
    assert_int_equal(v->groups[0].nslices, 2);
    sl_view_free(v);
    assert_string_equal(read_rows(NULL), "a|4|4 b|1|1");
    /* The compaction's base file is written, but not completed. */
    put_base(conn, GROUP, T3, "('a', 2, 2), ('b', 1, 1)");
    assert_string_equal(read_rows(NULL), "a|4|4 b|1|1");
    v = view_of(t, 0);
    assert_int_equal(v->nstrays, 1);
    assert_int_equal(v->strays[0].why, SL_STRAY_PENDING);
    sl_view_free(v);
    put_instant(T3, SL_HUDI_COMPACTION, SL_HUDI_COMPLETED, "{\"compacted\":true}");
    sl_log_close(t);
    t = open_log();
    v = view_of(t, 0);
    assert_true(v->slices[0].instant == T3 && v->slices[0].pending == 0 && v->slices[0].nlogs == 2);
    sl_view_free(v);
    assert_string_equal(read_rows(NULL), "a|4|4 b|1|1");
    assert_string_equal(read_rows(&(struct sl_log_selector){.as_of = T2}), "a|2|2 b|1|1");
    assert_string_equal(read_rows(&(struct sl_log_selector){.as_of = T1}), "a|1|1 b|1|1");
    assert_string_equal(read_rows(&(struct sl_log_selector){.query = SL_LOG_INCREMENTAL, .begin = T3}), "a|4|4");
    assert_string_equal(read_rows(&(struct sl_log_selector){.query = SL_LOG_INCREMENTAL, .begin = T1, .end = T2}), "a|2|2");
    sl_log_close(t);
    sl_conn_close(conn);
}

static void compaction_given_up(void **state)
{
    struct sl_conn *conn = open_conn();
    struct sl_buf log = SL_BUF_INIT;

    (void)state;
    put_base(conn, GROUP, T1, "('a', 1, 1)");
    commit(T1);
    one_row(&log, T4);
    put_log(GROUP, T3, 1, &log); /* for a compaction T3 whose plan is gone */
    commit(T4);
    assert_string_equal(read_rows(NULL), "a|4|4");
    sl_conn_close(conn);
}

static void uncommitted_and_rolled_back(void **state)
{
    struct sl_conn *conn = open_conn();
    struct sl_buf log = SL_BUF_INIT;

    (void)state;
    put_base(conn, GROUP, T1, "('a', 1, 1)");
    commit(T1);
    put_base(conn, "22222222-2222-3333-4444-555555555555-0", T2, "('x', 1, 1)"); /* pending */
    one_row(&log, T2);
    put_log(GROUP, T1, 1, &log);
    put_log("33333333-2222-3333-4444-555555555555-0", T2, 1, (one_row(&log, T2), &log));
    put_instant(T2, SL_HUDI_DELTACOMMIT, SL_HUDI_INFLIGHT, "");
    assert_string_equal(read_rows(NULL), "a|1|1");
    /* Rolled back by a block, and its instant is completed all the same. */
    one_row(&log, T3);
    put_log(GROUP, T1, 2, &log);
    commit(T3);
    assert_string_equal(read_rows(NULL), "a|3|3");
    add_block(&log, SL_HUDI_BLOCK_COMMAND, T4, T3, (sl_str){"", 0});
    put_log(GROUP, T1, 3, &log);
    assert_string_equal(read_rows(NULL), "a|1|1");
    sl_conn_close(conn);
}

static void torn_and_damaged(void **state)
{
    struct sl_conn *conn = open_conn();
    struct sl_buf log = SL_BUF_INIT;
    struct sl_log *t;
    struct sl_view *v;
    struct sl_blocks blocks;
    sl_err err = SL_ERR_INIT;
    size_t whole;

    (void)state;
    put_base(conn, GROUP, T1, "('a', 1, 1)");
    commit(T1);
    commit(T2);
    one_row(&log, T2);
    whole = log.n;
    one_row(&log, T2);
    log.n = whole + 40; /* cut off */
    put_log(GROUP, T1, 1, &log);
    t = open_log();
    v = view_of(t, 0);
    assert_ok(sl_slice_blocks(v, &v->slices[0], true, &blocks, &err), err);
    assert_int_equal(blocks.n, 1);
    assert_int_equal(blocks.ndamage, 1);
    assert_int_equal(blocks.damage[0].where.offset, whole);
    sl_blocks_release(&blocks);
    sl_view_free(v);
    sl_log_close(t);
    assert_string_equal(read_rows(NULL), "a|2|2");
    sl_conn_close(conn);
}

static void replaced_groups(void **state)
{
    struct sl_conn *conn = open_conn();

    (void)state;
    put_base(conn, GROUP, T1, "('a', 1, 1)");
    commit(T1);
    put_base(conn, "22222222-2222-3333-4444-555555555555-0", T2, "('x', 2, 2)");
    put_instant(T2, SL_HUDI_REPLACECOMMIT, SL_HUDI_COMPLETED, "{\"partitionToReplaceFileIds\":{\"\":[\"" GROUP "\"]}}");
    assert_string_equal(read_rows(NULL), "x|2|2");
    assert_string_equal(read_rows(&(struct sl_log_selector){.as_of = T1}), "a|1|1");
    sl_conn_close(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_of_instants, setup, teardown),
        cmocka_unit_test_setup_teardown(ten_thousand_instants, setup, teardown),
        cmocka_unit_test_setup_teardown(pending_compaction, setup, teardown),
        cmocka_unit_test_setup_teardown(compaction_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(uncommitted_and_rolled_back, setup, teardown),
        cmocka_unit_test_setup_teardown(torn_and_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(replaced_groups, setup, teardown),
    };

    return cmocka_run_group_tests_name("log_view", tests, NULL, NULL);
}
