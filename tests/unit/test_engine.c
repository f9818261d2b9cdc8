/* The door to DuckDB: queries, texts of all types, errors, row sources, functions. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/sys.h"
#include "engine/engine.h"
#include "engine/rows.h"

static struct sl_engine *engine;
static struct sl_conn *conn;

static int setup(void **state)
{
    struct sl_engine_opts opts = {.threads = 2, .memory_bytes = 512 << 20};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_engine_open(&opts, &engine, &err), err);
    assert_ok(sl_conn_open(engine, &conn, &err), err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sl_conn_close(conn);
    sl_engine_close(engine);
    return 0;
}

static int64_t number(const char *sql)
{
    sl_err err = SL_ERR_INIT;
    int64_t v = 0;

    assert_ok(sl_conn_query_i64(conn, sl_str_c(sql), &v, &err), err);
    return v;
}

static void assert_text(const char *sql, const char *want)
{
    sl_err err = SL_ERR_INIT;
    char *text = NULL;

    assert_ok(sl_conn_query_str(conn, sl_str_c(sql), &text, &err), err);
    assert_string_equal(text, want);
    sl_free(text);
}

/* Run to the end; the code. */
static int run(const char *sql, sl_err *err)
{
    return sl_conn_exec(conn, sl_str_c(sql), err);
}

/* ---- queries ---- */

static void test_settings(void **state)
{
    (void)state;
    assert_text("SELECT current_setting('autoload_known_extensions')::VARCHAR", "false");
    assert_text("SELECT current_setting('enable_external_file_cache')::VARCHAR", "false");
    assert_text("SELECT current_setting('preserve_insertion_order')::VARCHAR", "false");
    assert_int_equal(number("SELECT current_setting('threads')"), 2);
    assert_string_equal(sl_engine_version(), sl_engine_version_wanted());
}

static void test_cells(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;
    size_t rows;

    (void)state;
    assert_ok(sl_conn_query(conn, SL_LIT("SELECT 1::TINYINT AS a, -2::BIGINT AS b, 1.5::DOUBLE AS c, 'short' AS d, "
                                         "'a text of more than twelve' AS e, NULL::INT AS f, true AS g, DATE '1970-01-03' AS h, "
                                         "2::HUGEINT << 80 AS i, '\\x00\\xFF'::BLOB AS j, 1.50::DECIMAL(10,2) AS k"), &r, &err), err);
    assert_int_equal(sl_result_ncols(r), 11);
    assert_true(sl_result_has_rows(r));
    assert_string_equal(sl_result_name(r, 3), "d");
    assert_string_equal(sl_result_type_sql(r, 10), "DECIMAL(10,2)");
    assert_ok(sl_result_next(r, &rows, &err), err);
    assert_int_equal(rows, 1);
    assert_int_equal(sl_result_i64(r, 0, 0), 1);
    assert_int_equal(sl_result_i64(r, 1, 0), -2);
    assert_true(sl_result_f64(r, 2, 0) == 1.5);
    assert_true(sl_str_eqc(sl_result_str(r, 3, 0), "short"));
    assert_true(sl_str_eqc(sl_result_str(r, 4, 0), "a text of more than twelve"));
    assert_true(sl_result_null(r, 5, 0));
    assert_int_equal(sl_result_i64(r, 5, 0), 0);
    assert_int_equal(sl_result_i64(r, 6, 0), 1);
    assert_int_equal(sl_result_i64(r, 7, 0), 2);
    assert_true(sl_result_i64(r, 8, 0) == INT64_MAX);
    assert_int_equal(sl_result_str(r, 9, 0).n, 2);
    assert_ok(sl_result_next(r, &rows, &err), err);
    assert_int_equal(rows, 0);
    sl_result_free(r);
}

static void test_text_of_all_types(void **state)
{
    static const struct {
        const char *value, *text, *type;
    } cases[] = {
        {"12345678901234567890::HUGEINT", "12345678901234567890", "HUGEINT"},
        {"{'a': 1, 'b b': [1, NULL]}", "{'a': 1, 'b b': [1, NULL]}", "STRUCT(\"a\" INTEGER, \"b b\" INTEGER[])"},
        {"MAP {'k': 1.5}", "{k=1.5}", "MAP(VARCHAR, DECIMAL(2,1))"},
        {"TIMESTAMP '2024-01-02 03:04:05.1'", "2024-01-02 03:04:05.1", "TIMESTAMP"},
        {"TIMESTAMPTZ '2024-01-02 03:04:05+02'", "2024-01-02 01:04:05+00", "TIMESTAMP WITH TIME ZONE"},
        {"'x'::ENUM('x', 'y')", "x", "ENUM('x', 'y')"},
        {"INTERVAL 1 DAY", "1 day", "INTERVAL"},
        {"uuid '00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001", "UUID"},
        {"'[1]'::JSON", "[1]", "JSON"},
        {"1e20::DOUBLE", "1e+20", "DOUBLE"},
        {"[1,2]::INT[2]", "[1, 2]", "INTEGER[2]"},
        {"'plain'", "plain", "VARCHAR"},
        {"'a;''b' || $$;$$ || $x$;$x$ /* ; */ || len([1])", "a;'b;;1", "VARCHAR"},
        {"len('a;''b' || $$;$$ || $x$;$x$ /* ; */)", "6", "BIGINT"},
    };
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_result *r = NULL;
        struct sl_buf sql = SL_BUF_INIT;
        size_t rows;

        sl_buf_printf(&sql, "SELECT %s AS v; -- end", cases[i].value);
        assert_ok(sl_conn_query_text(conn, sl_buf_view(&sql), &r, &err), err);
        assert_string_equal(sl_result_name(r, 0), "v");
        assert_string_equal(sl_result_type_sql(r, 0), cases[i].type);
        assert_ok(sl_result_next(r, &rows, &err), err);
        assert_int_equal(rows, 1);
        sl_str s = sl_result_str(r, 0, 0);
        if (!sl_str_eqc(s, cases[i].text))
            fail_msg("%s: \"" SL_STRF "\"", cases[i].value, SL_STRV(s));
        sl_result_free(r);
        sl_buf_release(&sql);
    }
}

static void test_text_keeps_order_and_statements(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;
    size_t rows;
    long long last = 100000, seen = 0;

    (void)state;
    assert_ok(sl_conn_query_text(conn, SL_LIT("SELECT i, i + 1 FROM range(100000) t(i) ORDER BY i DESC"), &r, &err), err);
    for (;;) {
        assert_ok(sl_result_next(r, &rows, &err), err);
        if (!rows)
            break;
        for (size_t k = 0; k < rows; k++, seen++) {
            int64_t v;

            assert_true(sl_parse_i64(sl_result_str(r, 0, k), &v));
            assert_int_equal(v, last - 1);
            last = v;
        }
    }
    assert_int_equal(seen, 100000);
    sl_result_free(r);
    assert_ok(sl_conn_query_text(conn, SL_LIT("EXPLAIN SELECT 1"), &r, &err), err);
    assert_ok(sl_result_next(r, &rows, &err), err);
    assert_int_equal(rows, 1);
    sl_result_free(r);
    assert_ok(sl_conn_query_text(conn, SL_LIT("SHOW TABLES"), &r, &err), err);
    sl_result_free(r);
    assert_ok(sl_conn_query_text(conn, SL_LIT("DESCRIBE SELECT 1 AS x"), &r, &err), err);
    assert_ok(sl_result_next(r, &rows, &err), err);
    assert_true(sl_str_eqc(sl_result_str(r, 1, 0), "INTEGER"));
    sl_result_free(r);
    assert_ok(sl_conn_query_text(conn, SL_LIT("CREATE TEMP TABLE counted AS SELECT 1 AS x FROM range(7)"), &r, &err), err);
    assert_ok(sl_result_next(r, &rows, &err), err);
    sl_result_free(r);
    assert_int_equal(number("SELECT count(*) FROM counted"), 7);
}

static void test_lists_and_scripts(void **state)
{
    sl_str texts[] = {SL_LIT("it's"), SL_LIT(""), SL_LIT("two")};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_conn_set_list(conn, "paths", texts, 3, &err), err);
    assert_int_equal(number("SELECT len(getvariable('paths'))"), 3);
    assert_text("SELECT getvariable('paths')[1]", "it's");
    assert_ok(sl_conn_set_list(conn, "paths", NULL, 0, &err), err);
    assert_int_equal(number("SELECT len(getvariable('paths'))"), 0);
    assert_ok(sl_conn_unset(conn, "paths", &err), err);
    assert_int_equal(number("SELECT (getvariable('paths') IS NULL)::INT"), 1);
    assert_ok(sl_conn_execf(conn, &err, "CREATE TEMP TABLE s%d (x INT); INSERT INTO s%d VALUES (1), (2);", 1, 1), err);
    assert_int_equal(number("SELECT sum(x) FROM s1"), 3);
}

static void test_errors(void **state)
{
    static const struct {
        const char *sql;
        int code;
        int64_t offset;
    } cases[] = {
        {"SELECT * FROM nowhere", SL_ESQL, 14}, {"SELECT 'ä', wrong FROM range(2)", SL_ESQL, 13}, {"SELEC 1", SL_ESQL, 0},
        {"SELECT * frm x", SL_ESQL, 13}, {"SELECT 'x'::INT", SL_EINPUT, -2}, {"SELECT * FROM read_parquet('/none.parquet')", SL_ENOTFOUND, -2},
        {"", SL_OK, -1}, {"SELECT 1; SELECT wrong", SL_ESQL, 17}, {"SELECT * FROM sluice_rows(999)", SL_ESQL, -2},
        {"SELECT sluice_partition(999, 'a')", SL_ESQL, -2}, {"SELECT error('ours')", SL_EINPUT, -2},
        {"INSTALL httpfs", -1000, -2}, {"SELECT * FROM 's3://a/b.parquet'", SL_EUNSUPPORTED, -2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_err err = SL_ERR_INIT;
        int rc = run(cases[i].sql, &err);

        if (cases[i].code == -1000 ? rc == SL_OK : rc != cases[i].code)
            fail_msg("%s: %s: %s", cases[i].sql, sl_code_name(rc), err.text);
        if (cases[i].offset != -2 && err.offset != cases[i].offset)
            fail_msg("%s: offset %lld", cases[i].sql, (long long)err.offset);
        assert_null(strchr(err.text, '\n'));
        assert_null(strchr(err.text, '{'));
    }
}

static void test_text_errors_point_into_the_text(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;

    (void)state;
    int rc = sl_conn_query_text(conn, SL_LIT("  SELECT 1::INT + 'x'::INT FROM range(5)"), &r, &err);
    size_t rows;
    while (rc == SL_OK && (rc = sl_result_next(r, &rows, &err)) == SL_OK && rows)
        ;
    assert_code(rc, SL_EINPUT);
    assert_true(err.offset == -1 || (err.offset >= 9 && err.offset < 35));
    sl_result_free(r);
}

static void *cancel_soon(void *unused)
{
    sl_sleep_millis(100);
    sl_cancel();
    return unused;
}

static void test_cancel(void **state)
{
    static const char *const slow[] = {"SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
                                       "SELECT a.range FROM range(1000000) a, range(1000000) b WHERE a.range + b.range < 0"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sl_err err = SL_ERR_INIT;
        pthread_t t;
        int64_t began = sl_mono_nanos();

        assert_int_equal(pthread_create(&t, NULL, cancel_soon, NULL), 0);
        assert_code(run(slow[i], &err), SL_ECANCELLED);
        assert_true(sl_mono_nanos() - began < INT64_C(5000000000));
        pthread_join(t, NULL);
        assert_code(run("SELECT 1", &err), SL_ECANCELLED);
        sl_cancel_reset();
        assert_int_equal(number("SELECT 5"), 5);
    }
}

static void *interrupt_soon(void *unused)
{
    sl_sleep_millis(100);
    sl_conn_interrupt(conn);
    return unused;
}

static void count_calls(void *user, double percent)
{
    (void)percent;
    ++*(int *)user;
}

static void test_interrupt_and_progress(void **state)
{
    sl_err err = SL_ERR_INIT;
    pthread_t t;
    int calls = 0;

    (void)state;
    sl_conn_on_progress(conn, count_calls, &calls);
    assert_int_equal(pthread_create(&t, NULL, interrupt_soon, NULL), 0);
    assert_code(run("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", &err), SL_ECANCELLED);
    pthread_join(t, NULL);
    assert_true(calls >= 1);
    sl_conn_on_progress(conn, NULL, NULL);
    assert_int_equal(number("SELECT 5"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_text_of_all_types),
        cmocka_unit_test(test_text_keeps_order_and_statements),
        cmocka_unit_test(test_lists_and_scripts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_text_errors_point_into_the_text),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_interrupt_and_progress),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
