#include "unit.h"

#include <string.h>

#include "data/schema.h"

static struct sl_arena arena;
static sl_err err = SL_ERR_INIT;

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    return 0;
}

static const struct sl_type *sql(const char *text)
{
    const struct sl_type *t = NULL;

    if (sl_type_from_sql(&arena, sl_str_c(text), &t, &err) != SL_OK)
        fail_msg("%s: %s", text, err.text);
    return t;
}

static const struct sl_type *json(const char *text)
{
    const struct sl_type *t = NULL;
    json_t *j = NULL;

    assert_ok(sl_json_parse(sl_str_c(text), &j, &err), err);
    int rc = sl_type_from_json(&arena, j, &t, &err);
    json_decref(j);
    if (rc != SL_OK)
        fail_msg("%s: %s", text, err.text);
    return t;
}

static void expect_sql(const struct sl_type *t, const char *expected)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_type_sql(&b, t);
    assert_string_equal(b.p, expected);
    sl_buf_release(&b);
}

static void expect_engine(const char *type, const char *expected)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_type_engine_sql(&b, sql(type));
    assert_string_equal(b.p, expected);
    sl_buf_release(&b);
}

static void expect_parquet(const char *type, const char *expected)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_type_parquet_expr(&b, sql(type), SL_LIT("x"));
    assert_string_equal(b.p, expected);
    sl_buf_release(&b);
}

static void spellings_of_schema_files(void **state)
{
    static const char *const same[] = {
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(0)", "TIME(9)", "TIMESTAMP(0)", "TIMESTAMP(9)",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE", "DECIMAL(38, 10)", "CHAR(5)", "VARCHAR(77)", "STRING", "BINARY(3)", "VARBINARY(9)", "BYTES",
        "VARIANT", "BLOB", "GEOMETRY(OGC:CRS84)", "INT NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"};
    static const char *const other[][2] = {
        {"TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"}, {"integer", "INT"}, {"numeric(5)", "DECIMAL(5, 0)"},
        {"Dec( 7 ,2 )", "DECIMAL(7, 2)"}, {"DOUBLE PRECISION", "DOUBLE"}, {"INT NULL", "INT"}, {"VARCHAR", "VARCHAR(1)"},
        {"INT ARRAY", "ARRAY<INT>"}, {"INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"}, {"INT MULTISET", "MULTISET<INT>"},
        {" timestamp ", "TIMESTAMP(6)"}, {"TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"}, {"VARCHAR(2147483647)", "STRING"}};
    static const char *const bad[] = {"", "\"HUGEINT\"", "\"DECIMAL(39, 0)\"", "\"DECIMAL(5, 6)\"", "\"TIMESTAMP(10)\"", "\"INT INT\"", "\"CHAR(0)\"",
                                      "\"TEXT\"", "\"ROW<a INT>\"", "\"INT[]\"", "7", "{\"type\":\"ARRAY\"}", "{\"type\":\"TREE\",\"element\":\"INT\"}",
                                      "\"GEOMETRY(\"", "{\"type\":\"MAP\",\"key\":\"INT\"}", "{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\"}]}"};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(text, sizeof text, "\"%s\"", same[i]);
        expect_sql(json(text), same[i]);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        snprintf(text, sizeof text, "\"%s\"", other[i][0]);
        expect_sql(json(text), other[i][1]);
    }
    for (size_t i = 1; i < sizeof bad / sizeof *bad; i++) {
        const struct sl_type *t;
        json_t *j = NULL;

        assert_ok(sl_json_parse(sl_str_c(bad[i]), &j, &err), err);
        assert_int_not_equal(sl_type_from_json(&arena, j, &t, &err), SL_OK);
        json_decref(j);
    }
}

static void nested_json(void **state)
{
    static const char doc[] =
        "{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":5,\"name\":\"a\",\"type\":\"INT\",\"description\":\"first\"},"
        "{\"id\":6,\"name\":\"b\",\"type\":{\"type\":\"MAP\",\"key\":\"STRING NOT NULL\",\"value\":{\"type\":\"ARRAY\",\"element\":\"DATE\"}}},"
        "{\"id\":7,\"name\":\"v\",\"type\":{\"type\":\"VECTOR\",\"element\":\"FLOAT\",\"length\":3},\"defaultValue\":\"0\"}]}";
    const struct sl_type *t = json(doc);
    struct sl_buf b = SL_BUF_INIT;
    json_t *j = sl_type_to_json(t);

    (void)state;
    expect_sql(t, "ROW<`a` INT, `b` MAP<STRING NOT NULL, ARRAY<DATE>>, `v` VECTOR<FLOAT, 3>> NOT NULL");
    sl_json_dump(&b, j, false);
    assert_string_equal(b.p, doc);
    assert_int_equal(t->fields[1].id, 6);
    assert_string_equal(t->fields[0].comment, "first");
    assert_null(t->fields[0].default_text);
    json_decref(j);
    sl_buf_release(&b);
}

static void spellings_of_sql(void **state)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"VARCHAR", "STRING"}, {"BLOB", "BYTES"}, {"INT[]", "ARRAY<INT>"}, {"INTEGER[][]", "ARRAY<ARRAY<INT>>"},
        {"STRUCT(a INTEGER, \"b c\" VARCHAR)", "ROW<`a` INT, `b c` STRING>"}, {"MAP(VARCHAR, INTEGER)", "MAP<STRING, INT>"},
        {"TIMESTAMPTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"}, {"TIMESTAMP WITH TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
        {"TIMESTAMP_MS", "TIMESTAMP(3)"}, {"text not null", "STRING NOT NULL"}, {"DECIMAL(18,3)", "DECIMAL(18, 3)"},
        {"ROW<a INT NOT NULL COMMENT 'it''s', b ROW(c `STRING`)>", NULL}, {"ROW<`a``b` ARRAY<MAP<INT, ROW<x DOUBLE>>>>",
        "ROW<`a``b` ARRAY<MAP<INT, ROW<`x` DOUBLE>>>>"}};
    static const struct {
        const char *text;
        int64_t at;
    } bad[] = {{"", 0}, {"INT,", 3}, {"DECIMAL(40,2)", 8}, {"ROW<a INT", 9}, {"ROW<a INT, a INT>", 16}, {"MAP<INT>", 7}, {"ARRAY", 5},
               {"FLOAT x", 6}, {"UBIGINT", 0}, {"INT[3]", 4}, {"ROW<`a INT>", 11}, {"STRUCT()", 7}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].canonical)
            expect_sql(sql(cases[i].text), cases[i].canonical);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct sl_type *t;

        assert_int_not_equal(sl_type_from_sql(&arena, sl_str_c(bad[i].text), &t, &err), SL_OK);
        if (err.offset != bad[i].at)
            fail_msg("%s: offset %lld (%s)", bad[i].text, (long long)err.offset, err.text);
    }
    struct sl_buf deep = SL_BUF_INIT;
    const struct sl_type *t;
    for (int i = 0; i < 5000; i++)
        sl_buf_addc(&deep, "ARRAY<");
    assert_code(sl_type_from_sql(&arena, sl_buf_view(&deep), &t, &err), SL_ESQL);
    sl_buf_reset(&deep);
    sl_buf_addc(&deep, "INT");
    for (int i = 0; i < 5000; i++)
        sl_buf_addc(&deep, "[]");
    assert_code(sl_type_from_sql(&arena, sl_buf_view(&deep), &t, &err), SL_ESQL);
    sl_buf_release(&deep);
}

static void for_the_engine(void **state)
{
    (void)state;
    expect_engine("INT", "INTEGER");
    expect_engine("DECIMAL(10, 2) NOT NULL", "DECIMAL(10,2)");
    expect_engine("BYTES", "BLOB");
    expect_engine("TIMESTAMP(0)", "TIMESTAMP");
    expect_engine("TIMESTAMP(9)", "TIMESTAMP_NS");
    expect_engine("TIMESTAMP_LTZ(3)", "TIMESTAMP WITH TIME ZONE");
    expect_engine("ROW<a ARRAY<INT>, `b\"c` MAP<STRING, DATE>>", "STRUCT(\"a\" INTEGER[],\"b\"\"c\" MAP(VARCHAR,DATE))");
    expect_parquet("INT", "CAST(x AS INTEGER)");
    expect_parquet("TIMESTAMP(6)", "CAST(x AS TIMESTAMP)");
    expect_parquet("TIMESTAMP(3)", "CAST(date_trunc('milliseconds', x) AS TIMESTAMP_MS)");
    expect_parquet("TIMESTAMP(0)", "CAST(date_trunc('second', x) AS TIMESTAMP_MS)");
    expect_parquet("ROW<t TIMESTAMP(3)>", "CAST(x AS STRUCT(\"t\" TIMESTAMP_MS))");
    expect_parquet("TIMESTAMP_LTZ(6)", "CAST(x AS TIMESTAMP WITH TIME ZONE)");
}

static void what_can_be_read_and_written(void **state)
{
    (void)state;
    assert_ok(sl_type_check_readable("c", sql("ROW<a TIMESTAMP(9), b TIME>"), &err), err);
    assert_code(sl_type_check_writable("c", sql("ROW<a ARRAY<TIMESTAMP(9)>>"), &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "TIMESTAMP(9)"));
    assert_non_null(strstr(err.text, "\"c\""));
    assert_code(sl_type_check_writable("c", sql("TIME"), &err), SL_EUNSUPPORTED);
    assert_code(sl_type_check_writable("c", sql("TIMESTAMP_LTZ(3)"), &err), SL_EUNSUPPORTED);
    assert_ok(sl_type_check_writable("c", sql("TIMESTAMP_LTZ(4)"), &err), err);
    assert_ok(sl_type_check_writable("c", sql("MAP<STRING, ROW<a DECIMAL(38, 0)>>"), &err), err);
    assert_code(sl_type_check_readable("c", json("\"VARIANT\""), &err), SL_EUNSUPPORTED);
    assert_code(sl_type_check_readable("c", json("\"INT MULTISET\""), &err), SL_EUNSUPPORTED);
}

static void widening(void **state)
{
    static const struct {
        const char *from, *to;
        bool yes;
    } cases[] = {{"INT", "BIGINT", true},          {"BIGINT", "INT", false},         {"INT", "DECIMAL(10, 0)", true}, {"INT", "DECIMAL(10, 1)", false},
                 {"FLOAT", "DOUBLE", true},        {"DOUBLE", "FLOAT", false},       {"INT", "DOUBLE", true},         {"BIGINT", "DOUBLE", false},
                 {"SMALLINT", "FLOAT", true},      {"INT", "FLOAT", false},          {"VARCHAR(3)", "STRING", true},  {"STRING", "VARCHAR(3)", false},
                 {"CHAR(3)", "VARCHAR(3)", true},  {"CHAR(3)", "CHAR(4)", false},    {"BINARY(2)", "BYTES", true},    {"DECIMAL(5, 2)", "DECIMAL(7, 3)", true},
                 {"DECIMAL(5, 2)", "DECIMAL(5, 3)", false}, {"TIMESTAMP(3)", "TIMESTAMP(6)", true}, {"TIMESTAMP(6)", "TIMESTAMP(3)", false},
                 {"INT", "STRING", false},         {"DATE", "TIMESTAMP(6)", false},  {"ARRAY<INT>", "ARRAY<INT>", true}, {"ARRAY<INT>", "ARRAY<BIGINT>", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sl_type_widens(sql(cases[i].from), sql(cases[i].to)) != cases[i].yes)
            fail_msg("%s to %s", cases[i].from, cases[i].to);
    assert_true(sl_type_same(sql("ROW<a INT>"), sql("ROW<a INT>"), false));
    assert_false(sl_type_same(sql("ROW<a INT>"), sql("ROW<b INT>"), false));
    assert_false(sl_type_same(sql("INT"), sql("INT NOT NULL"), false));
    assert_true(sl_type_same(sql("ARRAY<INT>"), sql("ARRAY<INT NOT NULL> NOT NULL"), true));
}

static void options(void **state)
{
    static const struct sl_option o[] = {{"b", "TRUE"}, {"s", "8 MB"}, {"t", "10 min"}, {"ms", "1500"}, {"n", "-1"}, {"bad", "x"}};
    struct sl_schema s = {.options = o, .noptions = 6};
    uint64_t u;
    int64_t i;
    bool b;

    (void)state;
    assert_ok(sl_schema_option_bool(&s, "b", false, &b, &err), err);
    assert_true(b);
    assert_ok(sl_schema_option_bytes(&s, "s", 1, &u, &err), err);
    assert_int_equal(u, 8 << 20);
    assert_ok(sl_schema_option_millis(&s, "t", 1, &u, &err), err);
    assert_int_equal(u, 600000);
    assert_ok(sl_schema_option_millis(&s, "ms", 1, &u, &err), err);
    assert_int_equal(u, 1500);
    assert_ok(sl_schema_option_i64(&s, "n", 1, &i, &err), err);
    assert_int_equal(i, -1);
    assert_ok(sl_schema_option_i64(&s, "absent", 7, &i, &err), err);
    assert_int_equal(i, 7);
    assert_code(sl_schema_option_i64(&s, "bad", 7, &i, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "'bad'"));
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, release)
    const struct CMUnitTest tests[] = {T(spellings_of_schema_files), T(nested_json), T(spellings_of_sql), T(for_the_engine),
                                       T(what_can_be_read_and_written), T(widening), T(options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
