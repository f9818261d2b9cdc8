#include "unit.h"

#include <string.h>

#include "engine/rows.h"
#include "sql/dialect.h"
#include "sql/tree.h"

static const char *const columns[][2] = {
    {"a", "INT"},     {"b", "STRING"},         {"c", "TIMESTAMP"}, {"d", "DECIMAL(10, 2)"},
    {"e", "DATE"},    {"f", "DOUBLE"},         {"g", "BIGINT"},    {"h", "BOOLEAN"},
    {"i", "TINYINT"}, {"j", "DECIMAL(25, 3)"}, {"k", "BYTES"},     {"l", "ROW<x INT>"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static struct sl_arena arena;
static struct sl_field fields[COLUMNS];
static struct sl_engine *engine;
static struct sl_conn *conn;
static uint64_t id, other;

static int none(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    (void)self;
    (void)local;
    (void)err;
    out->rows = 0;
    return SL_OK;
}

static int setup(void **state)
{
    const struct sl_engine_opts opts = {.threads = 1};
    const struct sl_row_source source = {
        .fields = fields, .nfields = COLUMNS, .fill = none, .rows_hint = -1};
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (int32_t i = 0; i < COLUMNS; i++) {
        fields[i] = (struct sl_field){.id = 10 + i, .name = columns[i][0]};
        if (sl_type_from_sql(&arena, sl_str_c(columns[i][1]), &fields[i].type, &err) != SL_OK)
            return -1;
    }
    return sl_engine_open(&opts, &engine, &err) || sl_conn_open(engine, &conn, &err) ||
           sl_rows_register(engine, &source, &id, &err) ||
           sl_rows_register(engine, &source, &other, &err);
}

static int teardown(void **state)
{
    (void)state;
    sl_rows_unregister(engine, id);
    sl_rows_unregister(engine, other);
    sl_conn_close(conn);
    sl_engine_close(engine);
    sl_arena_release(&arena);
    return 0;
}

/* What is known of t in FROM_WHERE, with t and u standing for the two sources. */
static void check(const char *from_where, const char *want)
{
    struct sl_tree_scan scans[2] = {{id, fields, COLUMNS, NULL}, {other, fields, COLUMNS, NULL}};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf sql = SL_BUF_INIT, text = SL_BUF_INIT;

    sl_buf_printf(&sql,
                  "WITH t AS NOT MATERIALIZED (FROM sluice_rows(%llu)), u AS NOT MATERIALIZED "
                  "(FROM sluice_rows(%llu)) SELECT count(*) %s",
                  (unsigned long long)id, (unsigned long long)other, from_where);
    sl_tree_predicates(conn, sl_buf_view(&sql), &a, scans, 2);
    sl_pred_text(&text, scans[0].pred);
    if (strcmp(text.p, want) != 0)
        fail_msg("%s: %s, not %s", from_where, text.p, want);
    sl_buf_release(&sql);
    sl_buf_release(&text);
    sl_arena_release(&a);
}

static void comparisons(void **state)
{
    (void)state;
    check("FROM t WHERE a = 5", "#10 = 5");
    check("FROM t WHERE 5 > a", "#10 < 5");
    check("FROM t WHERE a <> -3", "#10 <> -3");
    check("FROM t WHERE d > 1.5", "#13 > 1.50");
    check("FROM t WHERE j = 123.456", "#19 = 123.456");
    check("FROM t WHERE e = '2020-01-01'", "#14 = 2020-01-01");
    check("FROM t WHERE f >= 0.5", "#15 >= 0.5");
    check("FROM t WHERE i > 1000 AND g = 3", "(#16 = 3 and #18 > 1000)");
    check("FROM t WHERE h", "#17 = true");
    check("FROM t WHERE NOT h", "#17 = false");
    check("FROM t WHERE b LIKE 'ab%'", "#11 starts with ab");
    check("FROM t WHERE a IS NULL", "#10 is null");
    check("FROM t WHERE b IS NOT NULL", "#11 is not null");
    check("FROM t WHERE a BETWEEN 1 AND 3", "(#10 >= 1 and #10 <= 3)");
}

static void combined(void **state)
{
    (void)state;
    check("FROM t WHERE a = 5 OR b = 'x'", "(#10 = 5 or #11 = x)");
    check("FROM t WHERE a = 5 OR length(b) = 3", "true");
    check("FROM t WHERE a = 5 AND length(b) = 3", "#10 = 5");
    check("FROM t JOIN u ON t.a = u.a WHERE u.a = 3 AND t.b = 'q'", "(#10 = 3 and #11 = q)");
    check("FROM t LEFT JOIN u ON t.a = u.a AND u.b = 'x'", "true");
    check("FROM u LEFT JOIN t ON t.a = u.a AND t.b = 'x'", "#11 = x");
    check("FROM (SELECT a AS z FROM t) WHERE z = 1", "#10 = 1");
    check("FROM t WHERE a = (SELECT max(a) FROM u)", "true");
}

static void left_alone(void **state)
{
    (void)state;
    check("FROM t", "true");
    check("FROM t WHERE a * a = 25", "true");
    check("FROM t WHERE f = 'nan'::DOUBLE OR f = 1", "true");
    check("FROM t WHERE l.x = 3", "true");
    check("FROM t WHERE k = '\\x00'::BLOB", "true");
    check("FROM t WHERE CAST(a AS VARCHAR) = '5'", "true");
    check("FROM t WHERE random() < 0.5", "true");
    check("FROM t TABLESAMPLE 10% WHERE a = 5", "true");
    check("FROM t WHERE this is no sql", "true");
    check("FROM (SELECT * FROM t WHERE a = 1 UNION ALL SELECT * FROM t WHERE b = 'y')",
          "(#10 = 1 or #11 = y)");
}

/* A date compared with a timestamp: DuckDB itself makes a comparison of days of it. */
static void dates(void **state)
{
    (void)state;
    check("FROM t WHERE e > TIMESTAMP '2020-01-01 12:00:00'", "#14 > 2020-01-01");
    check("FROM t WHERE e >= TIMESTAMP '2020-01-01 12:00:00'", "#14 >= 2020-01-02");
    check("FROM t WHERE e < TIMESTAMP '2020-01-01 12:00:00'", "#14 < 2020-01-02");
    check("FROM t WHERE e <= TIMESTAMP '2020-01-01 12:00:00'", "#14 <= 2020-01-01");
    check("FROM t WHERE e = TIMESTAMP '2020-01-01 12:00:00'", "true");
    check("FROM t WHERE e < TIMESTAMP '1969-12-31 12:00:00'", "#14 < 1970-01-01");
}

static void names(void **state)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"SELECT * FROM a, b.c x, 'p/q' WHERE d = 1", "a@14 b.c@17 p/q@24"},
        {"WITH t AS (SELECT * FROM t), u AS (SELECT * FROM t) SELECT * FROM u, v", "t@25 v@69"},
        {"WITH RECURSIVE t AS (SELECT * FROM s UNION ALL SELECT * FROM T) SELECT * FROM t, r",
         "s@35 r@81"},
        {"SELECT (SELECT max(x) FROM i), a IN (FROM j) FROM k WHERE EXISTS (WITH k AS (FROM k) "
         "SELECT 1 FROM k, l)",
         "i@27 j@42 k@50 k@82 l@102"},
        {"SELECT * FROM t$snapshots", "t$snapshots@14"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_tree_names n = {{0}, {0}};
        struct sl_buf b = SL_BUF_INIT;
        json_t *tree;
        sl_err err = SL_ERR_INIT;
        size_t last = 0;

        assert_ok(sl_tree_parse(conn, sl_str_c(cases[i].sql), &tree, &err), err);
        assert_ok(sl_tree_names(tree, &n, &err), err);
        for (size_t found = 0; found < n.tables.n; found++) { /* in the order of the text */
            const struct sl_tree_table *next = NULL;

            for (size_t k = 0; k < n.tables.n; k++)
                if (n.tables.v[k].at > last && (!next || n.tables.v[k].at < next->at))
                    next = &n.tables.v[k];
            assert_non_null(next);
            last = next->at;
            sl_buf_printf(&b, "%s" SL_STRF "%s" SL_STRF "@%zu", found ? " " : "",
                          SL_STRV(next->schema), next->schema.n ? "." : "", SL_STRV(next->table),
                          next->at);
        }
        assert_string_equal(b.p, cases[i].want);
        sl_buf_release(&b);
        sl_tree_names_release(&n);
        json_decref(tree);
    }
}

static void big_numbers(void **state)
{
    json_t *j = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(
        sl_tree_read(SL_LIT("{\"a\":18446744073709551615,\"b\":\":18446744073709551615\\\"9\","
                            "\"c\":[-9223372036854775808,1.5e3]}"),
                     &j, &err),
        err);
    assert_true(json_is_null(json_object_get(j, "a")));
    assert_string_equal(json_string_value(json_object_get(j, "b")), ":18446744073709551615\"9");
    assert_true(json_integer_value(json_array_get(json_object_get(j, "c"), 0)) == INT64_MIN);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons), cmocka_unit_test(combined), cmocka_unit_test(left_alone),
        cmocka_unit_test(dates),       cmocka_unit_test(names),    cmocka_unit_test(big_numbers)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
