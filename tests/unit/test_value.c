#include "unit.h"

#include <math.h>
#include <string.h>

#include "data/predicate.h"

static struct sl_arena arena;
static sl_err err = SL_ERR_INIT;

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    return 0;
}

static const struct sl_type *type(const char *text)
{
    const struct sl_type *t = NULL;

    assert_ok(sl_type_from_sql(&arena, sl_str_c(text), &t, &err), err);
    return t;
}

static struct sl_value value(const char *t, const char *text)
{
    struct sl_value v;

    if (!sl_value_from_text(&arena, type(t), sl_str_c(text), &v))
        fail_msg("%s: %s", t, text);
    return v;
}

static void texts(void **state)
{
    static const char *const same[][2] = {
        {"BOOLEAN", "true"}, {"TINYINT", "-128"}, {"BIGINT", "-9223372036854775808"}, {"FLOAT", "0.1"}, {"DOUBLE", "0.1"}, {"DOUBLE", "1e+300"},
        {"DECIMAL(5, 2)", "-0.05"}, {"DECIMAL(38, 0)", "99999999999999999999999999999999999999"}, {"DECIMAL(38, 38)", "0.00000000000000000000000000000000000001"},
        {"STRING", "it's"}, {"BYTES", "00FF"}, {"DATE", "2024-02-29"}, {"DATE", "0044-03-15 (BC)"}, {"TIME", "23:59:59.999"},
        {"TIMESTAMP(6)", "2024-01-02 03:04:05.123456"}, {"TIMESTAMP(6)", "1969-12-31 23:59:59.999999"}, {"TIMESTAMP(9)", "1970-01-01 00:00:00.000000001"},
        {"TIMESTAMP(6)", "0001-01-01 00:00:00 (BC)"}, {"TIMESTAMP_LTZ(6)", "2024-01-02 03:04:05+00"}};
    static const char *const other[][3] = {{"TIMESTAMP_LTZ(6)", "2024-01-02 05:04:05+02", "2024-01-02 03:04:05+00"},
                                           {"TIMESTAMP_LTZ(6)", "2024-01-02T03:04:05-05:30", "2024-01-02 08:34:05+00"},
                                           {"TIMESTAMP(3)", "2024-01-02", "2024-01-02 00:00:00"}, {"DECIMAL(5, 2)", "1.5", "1.50"}, {"DECIMAL(5, 2)", "1.500", "1.50"}};
    static const char *const bad[][2] = {{"BOOLEAN", "t"}, {"TINYINT", "128"}, {"SMALLINT", "-32769"}, {"INT", "1.0"}, {"DECIMAL(5, 2)", "1000"}, {"DECIMAL(5, 2)", "1.005"},
                                         {"DECIMAL(5, 2)", ""}, {"DECIMAL(5, 2)", "-"}, {"DATE", "2023-02-29"}, {"DATE", "2023-13-01"}, {"DATE", "2023-01-01x"}, {"TIME", "24:00:00"},
                                         {"TIMESTAMP(6)", "2024-01-02 03:04:05+00"}, {"TIMESTAMP(6)", "infinity"}, {"BYTES", "0"}, {"BYTES", "0g"}, {"FLOAT", "1e39"}, {"ARRAY<INT>", "[1]"}};
    struct sl_buf b = SL_BUF_INIT;
    struct sl_value v;

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same + sizeof other / sizeof *other; i++) {
        bool first = i < sizeof same / sizeof *same;
        const char *const *c = first ? same[i] : other[i - sizeof same / sizeof *same];

        v = value(c[0], c[1]);
        sl_buf_reset(&b);
        sl_value_text(&b, type(c[0]), &v);
        assert_string_equal(b.p, first ? c[1] : c[2]);
    }
    sl_buf_release(&b);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sl_value_from_text(&arena, type(bad[i][0]), sl_str_c(bad[i][1]), &v))
            fail_msg("%s: %s was taken", bad[i][0], bad[i][1]);
}

static void literals(void **state)
{
    static const char *const cases[][3] = {
        {"INT", "-5", "CAST('-5' AS INTEGER)"}, {"STRING", "it's", "'it''s'"}, {"DATE", "2024-01-02", "DATE '2024-01-02'"}, {"BYTES", "00FF", "unhex('00FF')"},
        {"TIMESTAMP(3)", "2024-01-02 03:04:05.5", "CAST('2024-01-02 03:04:05.5' AS TIMESTAMP)"}, {"DECIMAL(5, 2)", "1.5", "CAST('1.50' AS DECIMAL(5,2))"},
        {"TIMESTAMP_LTZ(6)", "2024-01-02 03:04:05+00", "CAST('2024-01-02 03:04:05+00' AS TIMESTAMP WITH TIME ZONE)"}};
    struct sl_buf b = SL_BUF_INIT;
    struct sl_value null = {.kind = SL_INT, .null = true};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_value v = value(cases[i][0], cases[i][1]);

        sl_buf_reset(&b);
        sl_value_sql(&b, type(cases[i][0]), &v);
        assert_string_equal(b.p, cases[i][2]);
    }
    sl_buf_reset(&b);
    sl_value_sql(&b, type("INT"), &null);
    assert_string_equal(b.p, "CAST(NULL AS INTEGER)");
    sl_buf_release(&b);
}

static void order(void **state)
{
    static const char *const cases[][3] = {{"INT", "-1", "1"}, {"STRING", "a", "\xc3\xa9"}, {"STRING", "", "a"}, {"STRING", "a", "aa"}, {"DOUBLE", "inf", "nan"},
                                           {"DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "1"}, {"BOOLEAN", "false", "true"}, {"BYTES", "7f", "80"},
                                           {"TIMESTAMP(9)", "1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002"}};
    struct sl_value null = {.kind = SL_INT, .null = true}, one = value("INT", "1");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_value a = value(cases[i][0], cases[i][1]), b = value(cases[i][0], cases[i][2]);

        assert_true(sl_value_cmp(&a, &b) < 0 && sl_value_cmp(&b, &a) > 0 && sl_value_cmp(&a, &a) == 0);
        assert_true(sl_value_eq(&a, &a) && !sl_value_eq(&a, &b));
    }
    assert_true(sl_value_eq(&null, &null) && !sl_value_eq(&null, &one));
}

/* ---- predicates ---- */

struct known {
    struct sl_col_stats st;
    bool none;
};

static bool known(void *user, int32_t id, struct sl_col_stats *out)
{
    struct known *k = user;

    (void)id;
    *out = k->st;
    return !k->none;
}

static bool may(enum sl_pred_op op, const char *t, const char *v, const char *min, const char *max, int64_t nulls)
{
    struct known k = {.st = {.has_bounds = min != NULL, .has_nulls = nulls >= 0, .null_count = nulls}};
    struct sl_value c = v ? value(t, v) : (struct sl_value){0};

    if (min) {
        k.st.min = value(t, min);
        k.st.max = value(t, max);
    }
    return sl_pred_may_match(sl_pred_cmp(&arena, op, 1, type(t), &c, v ? 1 : 0), 10, known, &k);
}

static void pruning(void **state)
{
    (void)state;
    assert_true(may(SL_PRED_EQ, "INT", "5", "1", "5", 0));
    assert_false(may(SL_PRED_EQ, "INT", "6", "1", "5", 0));
    assert_false(may(SL_PRED_EQ, "INT", "0", "1", "5", 0));
    assert_true(may(SL_PRED_EQ, "INT", "0", NULL, NULL, -1));
    assert_false(may(SL_PRED_NE, "INT", "5", "5", "5", 0));
    assert_true(may(SL_PRED_NE, "INT", "5", "5", "6", 0));
    assert_false(may(SL_PRED_LT, "INT", "1", "1", "5", 0));
    assert_true(may(SL_PRED_LE, "INT", "1", "1", "5", 0));
    assert_false(may(SL_PRED_GT, "INT", "5", "1", "5", 0));
    assert_true(may(SL_PRED_GE, "INT", "5", "1", "5", 0));
    assert_false(may(SL_PRED_IS_NULL, "INT", NULL, "1", "5", 0));
    assert_true(may(SL_PRED_IS_NULL, "INT", NULL, "1", "5", 1));
    assert_true(may(SL_PRED_IS_NULL, "INT", NULL, "1", "5", -1));
    assert_false(may(SL_PRED_NOT_NULL, "INT", NULL, NULL, NULL, 10));
    assert_true(may(SL_PRED_NOT_NULL, "INT", NULL, NULL, NULL, 9));
    assert_false(may(SL_PRED_EQ, "INT", "1", NULL, NULL, 10)); /* all null */
    /* NaN is above every bound that a writer may have left. */
    assert_true(may(SL_PRED_GT, "DOUBLE", "7", "1", "5", 0));
    assert_false(may(SL_PRED_LT, "DOUBLE", "1", "1", "5", 0));
    assert_true(may(SL_PRED_EQ, "DOUBLE", "nan", "1", "5", 0));
    assert_true(may(SL_PRED_PREFIX, "STRING", "ab", "aa", "b", 0));
    assert_true(may(SL_PRED_PREFIX, "STRING", "ab", "abz", "b", 0));
    assert_true(may(SL_PRED_PREFIX, "STRING", "ab", "a", "ab", 0));
    assert_false(may(SL_PRED_PREFIX, "STRING", "ab", "ac", "b", 0));
    assert_false(may(SL_PRED_PREFIX, "STRING", "ab", "a", "aa", 0));
}

static void trees(void **state)
{
    struct sl_value v[] = {value("INT", "1"), value("INT", "9"), {.kind = SL_INT, .null = true}};
    const struct sl_pred *in = sl_pred_cmp(&arena, SL_PRED_IN, 3, type("INT"), v, 3), *lt = sl_pred_cmp(&arena, SL_PRED_LT, 4, type("INT"), v, 1);
    const struct sl_pred *both[] = {in, lt}, *with_true[] = {sl_pred_true(), in};
    struct known k = {.st = {.has_bounds = true, .min = value("INT", "2"), .max = value("INT", "8")}}, nothing = {.none = true};
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    const struct sl_pred *and = sl_pred_join(&arena, SL_PRED_AND, both, 2), *or = sl_pred_join(&arena, SL_PRED_OR, both, 2);
    sl_pred_text(&b, and);
    assert_string_equal(b.p, "(#3 in (1, 9, NULL) and #4 < 1)");
    sl_buf_release(&b);
    assert_false(sl_pred_may_match(in, 10, known, &k));
    assert_false(sl_pred_may_match(and, 10, known, &k));
    assert_false(sl_pred_may_match(or, 10, known, &k));
    assert_true(sl_pred_may_match(or, 10, known, &nothing));
    assert_ptr_equal(sl_pred_join(&arena, SL_PRED_AND, with_true, 2), in);
    assert_int_equal(sl_pred_join(&arena, SL_PRED_OR, with_true, 2)->op, SL_PRED_TRUE);
    assert_int_equal(sl_pred_join(&arena, SL_PRED_OR, NULL, 0)->op, SL_PRED_FALSE);
    assert_int_equal(sl_pred_join(&arena, SL_PRED_AND, NULL, 0)->op, SL_PRED_TRUE);
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, release)
    const struct CMUnitTest tests[] = {T(texts), T(literals), T(order), T(pruning), T(trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
