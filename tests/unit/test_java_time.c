#include "unit.h"

#include <string.h>

#include "base/sys.h"
#include "sql/java_time.h"

static int64_t at(int64_t y, int m, int d, int h, int min, int s, int us)
{
    return sl_civil_to_days(y, m, d) * 86400000000 + ((h * 60ll + min) * 60 + s) * 1000000 + us;
}

static void check_format(const char *pattern, int64_t micros, const char *want)
{
    struct sl_java_pattern p;
    struct sl_buf b = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_java_pattern_parse(sl_str_c(pattern), &p, &err), err);
    sl_java_format(&p, micros, &b);
    assert_string_equal(b.p, want);
    sl_buf_release(&b);
}

static void formats(void **state)
{
    const int64_t t = at(2024, 3, 4, 15, 6, 7, 89012);

    (void)state;
    check_format("yyyyMMdd", t, "20240304");
    check_format("yyyy-MM-dd HH:mm:ss.SSS", t, "2024-03-04 15:06:07.089");
    check_format("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", t, "2024-03-04T15:06:07.089012");
    check_format("y M d h a ''k''", t, "2024 3 4 3 PM '15'");
    check_format("EEE EEEE MMM MMMM D DDD yy Q K S SSSSSSSSS", t,
                 "Mon Monday Mar March 64 064 24 1 3 0 089012000");
    check_format("kk KK hh", at(2024, 1, 1, 0, 0, 0, 0), "24 00 12");
    check_format("yyyy-MM-dd HH:mm:ss", at(1969, 12, 31, 23, 59, 59, 999999),
                 "1969-12-31 23:59:59");
    check_format("yyyy", at(12345, 1, 1, 0, 0, 0, 0), "12345");
    check_format("yyyy", at(5, 1, 1, 0, 0, 0, 0), "0005");
    check_format("yyyy", INT64_MAX, "infinity");
}

static void check_native(const char *pattern, const char *want)
{
    struct sl_java_pattern p;
    struct sl_buf b = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_java_pattern_parse(sl_str_c(pattern), &p, &err), err);
    assert_int_equal(sl_java_pattern_native(&p, &b), want != NULL);
    if (want)
        assert_string_equal(b.p, want);
    sl_buf_release(&b);
}

static void natives(void **state)
{
    (void)state;
    check_native("yyyyMMdd", "%Y%m%d");
    check_native("yyyy-M-d H:m:s.SSS 100%", "%Y-%-m-%-d %-H:%-M:%-S.%g 100%%");
    check_native("dd MMM yy hh a EEEE SSSSSS DDD", "%d %b %y %I %p %A %f %j");
    check_native("y", NULL);
    check_native("kk", NULL);
    check_native("SS", NULL);
}

static void check_parse(const char *pattern, const char *text, int64_t want)
{
    struct sl_java_pattern p;
    sl_err err = SL_ERR_INIT;
    int64_t got = 0;

    assert_ok(sl_java_pattern_parse(sl_str_c(pattern), &p, &err), err);
    assert_ok(sl_java_parse(&p, sl_str_c(text), &got, &err), err);
    assert_true(got == want);
}

static void parses(void **state)
{
    (void)state;
    check_parse("yyyy-HH-dd", "2020-02-02",
                at(2020, 1, 2, 2, 0, 0, 0)); /* HH is the hour, the month is January */
    check_parse("yyyy-MM-dd", "2020-02-02", at(2020, 2, 2, 0, 0, 0, 0));
    check_parse("yyyyMMddHHmmssSSS", "20240304150607089", at(2024, 3, 4, 15, 6, 7, 89000));
    check_parse("d/M/yyyy h:mm a", "4/3/2024 3:06 PM", at(2024, 3, 4, 15, 6, 0, 0));
    check_parse("d/M/yyyy h:mm a", "14/12/2024 12:06 am", at(2024, 12, 14, 0, 6, 0, 0));
    check_parse("dd MMM yy", "04 Mar 24", at(2024, 3, 4, 0, 0, 0, 0));
    check_parse("EEEE, MMMM d yyyy", "Monday, March 4 2024", at(2024, 3, 4, 0, 0, 0, 0));
    check_parse("yyyy-D", "2024-366", at(2024, 12, 31, 0, 0, 0, 0));
    check_parse("HH", "07", at(1970, 1, 1, 7, 0, 0, 0));
    check_parse("yyyy'T'kk", "1999T24", at(1999, 1, 1, 0, 0, 0, 0));
    check_parse("yyyy", "12345", at(12345, 1, 1, 0, 0, 0, 0));
}

static void refusals(void **state)
{
    static const char *const bad[][2] = {
        {"yyyy-MM-dd", "2020-02-30"},
        {"yyyy-MM-dd", "2020-13-01"},
        {"yyyy-MM-dd", "2020-2-1"},
        {"yyyy-MM-dd", "2020-02-01 "},
        {"yyyy-MM-dd", "2020-02-0"},
        {"yyyy-MM-dd", ""},
        {"HH:mm", "24:00"},
        {"HH:mm", "12:60"},
        {"yyyy-D", "2023-366"},
        {"MMM", "Foo"},
        {"a", "XM"},
        {"EEE yyyy-MM-dd", "Tue 2024-03-04"},
        {"SSSSSSSSS", "000000001"},
        {"yyyy", "20x0"},
        {"HH a", "03 PM"},
    };
    static const struct {
        const char *pattern;
        int64_t offset;
    } wrong[] = {{"yyyy-XX", 5}, {"yyyy 'open", 5}, {"YYYY", 0},
                 {"[HH]", 0},    {"ddd", 0},        {"HH z", 3}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sl_java_pattern p;
        sl_err err = SL_ERR_INIT;
        int64_t v;

        assert_ok(sl_java_pattern_parse(sl_str_c(bad[i][0]), &p, &err), err);
        if (sl_java_parse(&p, sl_str_c(bad[i][1]), &v, &err) != SL_EINPUT)
            fail_msg("'%s' was taken by the pattern '%s'", bad[i][1], bad[i][0]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sl_java_pattern p;
        sl_err err = SL_ERR_INIT;

        assert_code(sl_java_pattern_parse(sl_str_c(wrong[i].pattern), &p, &err), SL_EINPUT);
        assert_int_equal(err.offset, wrong[i].offset);
    }
}

static void there_and_back(void **state)
{
    static const char *const patterns[] = {"yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyyMMddHHmmssSSSSSS",
                                           "EEE dd MMM yyyy hh:mm:ss.SSSSSS a",
                                           "D yyyy H:m:s SSSSSS"};
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct sl_java_pattern p;
        struct sl_buf b = SL_BUF_INIT;
        sl_err err = SL_ERR_INIT;
        int64_t back = 0;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int64_t t = (int64_t)(x % 200000000000000000u); /* years 1970 to 8307 */
        assert_ok(sl_java_pattern_parse(sl_str_c(patterns[i % 4]), &p, &err), err);
        sl_java_format(&p, t, &b);
        assert_ok(sl_java_parse(&p, sl_buf_view(&b), &back, &err), err);
        assert_true(back == t);
        sl_buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats), cmocka_unit_test(natives),
                                       cmocka_unit_test(parses), cmocka_unit_test(refusals),
                                       cmocka_unit_test(there_and_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
