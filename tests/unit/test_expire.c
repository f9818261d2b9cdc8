/* test_expire.c - which snapshots an expiry takes. */
#include "unit.h"

#include "base/sys.h"
#include "table/append/expire.h"
#include "table/append/tag.h"

enum { N = 10 };
static int64_t ids[N], millis[N];

/* Ids 1 to 10, one a minute; now is the minute of the last one. */
static struct sl_expire_rule rule(void)
{
    for (int i = 0; i < N; i++) {
        ids[i] = i + 1;
        millis[i] = (i + 1) * 60000;
    }
    return (struct sl_expire_rule){.retain_least = 1, .retain_most = INT32_MAX, .older_than = 0, .limit = -1,
                                   .held = INT64_MAX, .now = N * 60000 + 1};
}

static void test_numbers(void **state)
{
    struct sl_expire_rule r = rule();

    (void)state;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 10);
    r.retain_least = 4;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 7);
    r.retain_least = 100;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 1);
    assert_int_equal(sl_expire_earliest(&r, ids, millis, 0), 0);
    assert_int_equal(sl_expire_earliest(&r, ids, millis, 1), 1);
}

static void test_age_of_the_successor(void **state)
{
    struct sl_expire_rule r = rule();

    (void)state;
    /* Snapshot 4 was replaced at minute 5, more than five minutes before minute 10 and a bit; 5 was at 6, which is not. */
    r.older_than = 5 * 60000;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 5);
    r.older_than = 60 * 60000;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 1);
    /* More than the most go whatever their age. */
    r.retain_most = 3;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 8);
    r.retain_least = 5;
    r.retain_most = 5;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 6);
}

static void test_limits(void **state)
{
    struct sl_expire_rule r = rule();

    (void)state;
    r.limit = 2;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 3);
    r.limit = 0;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 1);
    r.limit = -1;
    r.held = 4;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 4);
    r.held = 1;
    r.retain_most = 1;
    assert_int_equal(sl_expire_earliest(&r, ids, millis, N), 1);
}

static void test_gap(void **state)
{
    struct sl_expire_rule r = rule();
    const int64_t odd[] = {3, 9, 10}, when[] = {1, 2, 3};

    (void)state;
    r.now = 100;
    assert_int_equal(sl_expire_earliest(&r, odd, when, 3), 10);
    r.retain_least = 5;
    assert_int_equal(sl_expire_earliest(&r, odd, when, 3), 9);
}

static void test_tag_names(void **state)
{
    static const char *const good[] = {"x", "before update", "2024-01-02", "gr\xc3\xb6\xc3\x9f"}, *const bad[] = {"", "12", ".x", "a/b", " x", "\xff"};
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_ok(sl_tag_name_check(sl_str_c(good[i]), &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(sl_tag_name_check(sl_str_c(bad[i]), &err), SL_EINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_age_of_the_successor), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_gap),      cmocka_unit_test(test_tag_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
