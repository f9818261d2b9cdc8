/* Tables that the reference engines wrote, read through plans. Skipped where the folder is not there. */
#include "table_unit.h"

#include <sys/stat.h>

static struct sl_conn *conn;
static char root[4096];

static int open_all(void **state)
{
    const char *given = getenv("SLUICE_FIXTURES");

    snprintf(root, sizeof root, "%s/paimon", given ? given : "../shared/fixtures");
    open_warehouse(state);
    conn = open_conn();
    return 0;
}

static int close_all(void **state)
{
    sl_conn_close(conn);
    return close_warehouse(state);
}

static struct sl_append *fixture(const char *name, const char *branch)
{
    struct stat st;
    struct sl_append *t;
    sl_err err = SL_ERR_INIT;
    char path[5000];

    snprintf(path, sizeof path, "%s/%s.db/%s", root, name, name);
    if (stat(path, &st) != 0)
        skip();
    assert_ok(sl_append_open_path(sl_str_c(path), branch, &t, &err), err);
    return t;
}

static void reads(const char *name, const char *what, const char *rest, const char *expected)
{
    struct sl_append *t = fixture(name, NULL);

    assert_string_equal(read_table(t, conn, what, rest), expected);
    sl_append_close(t);
}

static void reads_at(const char *name, int64_t id, const char *what, const char *rest, const char *expected)
{
    struct sl_append *t = fixture(name, NULL);
    struct sl_selector by_id = {.kind = SL_SELECT_ID, .id = id};
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_plan_files(t, &by_id, NULL, &p, &err), err);
    assert_string_equal(rows_of(p, conn, what, rest), expected);
    sl_plan_free(p);
    sl_append_close(t);
}

static void altered_table(void **state)
{
    (void)state;
    reads("append_table_with_alter_table", "key0, key1, k, c, d, a, e", "ORDER BY ALL",
          "0|1|16|13|null|15|null\n0|1|26|23|null|25|null\n0|1|36|33|null|35|null\n0|1|66|63|517|65|618\n0|1|76|73|527|75|628\n"
          "0|1|86|83|537|85|638\n1|1|46|43|null|45|null\n1|1|56|53|null|55|null\n1|1|96|93|547|95|648\n1|1|106|103|557|105|658\n");
    reads_at("append_table_with_alter_table", 1, "key0, key1, a, b, c, d, k", "ORDER BY ALL",
             "0|1|12|13|14|15|16\n0|1|22|23|24|25|26\n0|1|32|33|34|35|36\n1|1|42|43|44|45|46\n1|1|52|53|54|55|56\n");
}

static void altered_types(void **state)
{
    (void)state;
    /* Nanoseconds are cut on reading, so the texts made of them are left out. */
    reads("append_table_alter_table_with_cast", "key0, key1, f3, f2, f0, f6", "ORDER BY f3",
          "0|1|100|0.020|true|null\n0|1|110|11.120|true|null\n0|1|120|22.220|false|null\n1|1|130|333.320|false|null\n1|1|140|444.420|true|null\n"
          "0|1|150|55.002|true|56\n0|1|160|666.012|false|66\n0|1|170|-77.022|true|76\n1|1|180|8.032|true|-86\n1|1|190|-999.420|false|96\n");
    reads("append_table_alter_table_with_cast", "f4, f1", "WHERE f3 IN (110, 140, 150, 190) ORDER BY f3",
          "1969-11-18 00:00:00|2024-11-26 06:38:56.011\n2091-09-07 00:00:00|2024-11-26 06:38:56.041\n"
          "2024-11-26 06:38:56.054|2024-11-26 15:28:31\n2024-11-26 06:38:56.094|I'm strange\n");
}

static void timestamps(void **state)
{
    (void)state;
    reads("append_with_multiple_ts_precision_and_timezone", "*", "ORDER BY ts_sec",
          "1970-01-01 00:00:01|1970-01-01 00:00:00.001|1970-01-01 00:00:00.000001|1970-01-01 00:00:00|1970-01-01 00:00:02+00|"
          "1970-01-01 00:00:00.002+00|1970-01-01 00:00:00.000002+00|1970-01-01 00:00:00+00\n"
          "1970-01-01 00:00:03|1970-01-01 00:00:00.003|null|1970-01-01 00:00:00|1970-01-01 00:00:04+00|1970-01-01 00:00:00.004+00|"
          "1970-01-01 00:00:00.000004+00|1970-01-01 00:00:00+00\n"
          "1970-01-01 00:00:05|1970-01-01 00:00:00.005|null|null|1970-01-01 00:00:06+00|null|1970-01-01 00:00:00.000006+00|null\n");
}

static void nested_types(void **state)
{
    (void)state;
    reads("append_complex_build_in_fieldid", "f5, f6::DOUBLE, typeof(f1), typeof(f3)", "ORDER BY f5",
          "1970-01-25|null|MAP(TINYINT, SMALLINT)|STRUCT(f0 BOOLEAN, f1 BIGINT)\n"
          "1970-09-03|0.12|MAP(TINYINT, SMALLINT)|STRUCT(f0 BOOLEAN, f1 BIGINT)\n"
          "1976-09-22|0.22|MAP(TINYINT, SMALLINT)|STRUCT(f0 BOOLEAN, f1 BIGINT)\n");
}

static void compacted(void **state)
{
    struct sl_append *t = fixture("append_table_row_tracking_with_compact", NULL);
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_string_equal(read_table(t, conn, "*", "ORDER BY 2"), "Lily|2|12|2.1\nAlice|3|13|3.1\nBob|4|14|4.1\nDavid|5|15|5.1\n");
    assert_code(sl_append_check(t, SL_WRITE, &err), SL_EUNSUPPORTED);
    sl_append_close(t);
    reads_at("append_table_row_tracking_with_compact", 1, "*", "ORDER BY 2", "Lily|2|12|2.1\nAlice|3|13|3.1\n");
}

static void file_indexes(void **state)
{
    (void)state;
    reads("append_with_bitmap_no_embedding", "*", "ORDER BY f3",
          "Alice|10|1|11.1\nBob|10|1|12.1\nEmily|10|0|13.1\nTony|10|0|14.1\nLucy|20|1|15.1\nBob|10|1|16.1\nTony|20|0|17.1\nAlice|20|null|18.1\n");
    reads("append_with_bitmap_alter_table", "*", "ORDER BY f3",
          "10|Alice|11.1|null\n10|Bob|12.1|null\n10|Emily|13.1|null\n10|Tony|14.1|null\n20|Lucy|15.1|null\n10|Bob|16.1|null\n"
          "20|Tony|17.1|null\n20|Alice|18.1|null\n30|Alice|21.1|100\n20|Emily|22.1|101\n10|Bob|23.1|100\n30|David|24.1|null\n");
}

static void branches(void **state)
{
    struct sl_names names = {NULL, 0, 0};
    struct sl_append *t = fixture("append_table_with_rt_branch", NULL);
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_string_equal(read_table(t, conn, "dt, name, amount", "ORDER BY ALL"), "20240725|apple|5\n20240725|banana|7\n");
    assert_ok(sl_branch_names(t, &names, &err), err);
    assert_int_equal(names.n, 1);
    sl_append_close(t);
    t = fixture("append_table_with_rt_branch", names.v[0]);
    struct sl_plan *p;
    int rc = sl_plan_files(t, NULL, NULL, &p, &err);
    if (rc == SL_OK) {
        rows_of(p, conn, "*", "");
        sl_plan_free(p);
    } else {
        assert_code(rc, SL_EUNSUPPORTED); /* its branch may be a primary-key table */
    }
    sl_append_close(t);
    sl_names_release(&names);
}

static void data_evolution_is_refused(void **state)
{
    struct sl_append *t = fixture("data_evolution_with_dense_stats", NULL);
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_code(sl_plan_files(t, NULL, NULL, &p, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "data evolution"));
    sl_append_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(altered_table), cmocka_unit_test(altered_types), cmocka_unit_test(timestamps), cmocka_unit_test(nested_types),
        cmocka_unit_test(compacted), cmocka_unit_test(file_indexes), cmocka_unit_test(branches), cmocka_unit_test(data_evolution_is_refused),
    };
    return cmocka_run_group_tests_name("fixtures", tests, open_all, close_all);
}
