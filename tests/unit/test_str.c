#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static sl_str S(const char *s)
{
    return sl_str_c(s);
}

static void views(void **state)
{
    (void)state;
    assert_true(sl_str_eq(S("abc"), SL_LIT("abc")));
    assert_false(sl_str_eq(S("abc"), SL_LIT("abd")));
    assert_true(sl_str_eq(S(NULL), SL_LIT("")));
    assert_true(sl_str_ieqc(S("SeLect"), "sElecT"));
    assert_false(sl_str_ieqc(S("a"), "ab"));
    assert_true(sl_str_cmp(S("a"), S("ab")) < 0);
    assert_true(sl_str_cmp(S("\xff"), S("a")) > 0);
    assert_int_equal(sl_str_cmp(S("x"), S("x")), 0);
    assert_true(sl_str_starts(S("snapshot-7"), "snapshot-"));
    assert_false(sl_str_starts(S("snap"), "snapshot-"));
    assert_true(sl_str_ends(S("a.parquet"), ".parquet"));
    assert_true(sl_str_eqc(sl_str_sub(S("abcdef"), 2, 4), "cd"));
    assert_true(sl_str_eqc(sl_str_sub(S("abc"), 2, 99), "c"));
    assert_true(sl_str_eqc(sl_str_sub(S("abc"), 5, 2), ""));
    assert_true(sl_str_eqc(sl_str_trim(S(" \t a b\r\n")), "a b"));
    assert_true(sl_str_eqc(sl_str_trim(S(" \t ")), ""));
    assert_int_equal(sl_str_find(S("hello"), S("lo")), 3);
    assert_int_equal(sl_str_find(S("hello"), S("")), 0);
    assert_int_equal(sl_str_find(S(""), S("x")), -1);
}

static void utf8(void **state)
{
    static const char *const good[] = {"", "plain ascii text", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                       "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "12345678\xC3\xA9"};
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {{"\x80", 0}, {"a\xC0\x80", 1}, {"\xC3", 0}, {"\xE0\x80\x80", 0}, {"\xED\xA0\x80", 0},
               {"\xF4\x90\x80\x80", 0}, {"\xF5\x80\x80\x80", 0}, {"12345678abc\xFF", 11}, {"\xE2\x82", 0},
               {"\xF0\x8F\xBF\xBF", 0}, {"ok\xE2\x28\xA1", 2}};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sl_utf8_valid(S(good[i]), NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t at = 999;

        assert_false(sl_utf8_valid(S(bad[i].text), &at));
        assert_int_equal(at, bad[i].at);
    }
}

static void integers(void **state)
{
    static const char *const bad[] = {"", "-", "+", " 1", "1 ", "1a", "0x1", "9223372036854775808", "--1", "1.0",
                                      "-9223372036854775809", "99999999999999999999999"};
    int64_t i;
    uint64_t u;

    (void)state;
    assert_true(sl_parse_i64(S("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(sl_parse_i64(S("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(sl_parse_i64(S("+007"), &i) && i == 7);
    assert_true(sl_parse_i64(S("-0"), &i) && i == 0);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(sl_parse_i64(S(bad[k]), &i));
    assert_true(sl_parse_u64(S("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(sl_parse_u64(S("18446744073709551616"), &u));
    assert_false(sl_parse_u64(S("-1"), &u));
}

static void fractions(void **state)
{
    static const char *const bad[] = {"", ".", "e5", "1e", "1e+", " 1", "1 ", "0x10", "1,5", "nan(1)", "infx", "1e999",
                                      "--1", "+-1", "1.2.3"};
    char digits[200];
    double d;

    (void)state;
    assert_true(sl_parse_f64(S("1.5"), &d) && d == 1.5);
    assert_true(sl_parse_f64(S("-.5e-3"), &d) && d == -0.0005);
    assert_true(sl_parse_f64(S("5."), &d) && d == 5);
    assert_true(sl_parse_f64(S("1e-999"), &d) && d == 0);
    assert_true(sl_parse_f64(S("-InF"), &d) && d == -__builtin_inf());
    assert_true(sl_parse_f64(S("NaN"), &d) && d != d);
    memset(digits, '1', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    digits[1] = '.';
    assert_true(sl_parse_f64(S(digits), &d) && d > 1.1 && d < 1.2);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(sl_parse_f64(S(bad[k]), &d));
}

static void sizes_and_times(void **state)
{
    static const char *const bad[] = {"", "MB", "-1", "1XB", "1 2", "1,2", "1,2345", ",123", "1234,567", "1.5GB",
                                      "99999999999999999999 k", "1,", "18446744073709551615kb"};
    uint64_t v;

    (void)state;
    assert_true(sl_parse_bytes(S("4096"), &v) && v == 4096);
    assert_true(sl_parse_bytes(S("256MB"), &v) && v == 256u << 20);
    assert_true(sl_parse_bytes(S(" 1 gb "), &v) && v == 1u << 30);
    assert_true(sl_parse_bytes(S("64KiB"), &v) && v == 65536);
    assert_true(sl_parse_bytes(S("4,194,304"), &v) && v == 4194304);
    assert_true(sl_parse_bytes(S("12,345 b"), &v) && v == 12345);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(sl_parse_bytes(S(bad[k]), &v));
    assert_true(sl_parse_millis(S("10"), &v) && v == 10000);
    assert_true(sl_parse_millis(S("500 ms"), &v) && v == 500);
    assert_true(sl_parse_millis(S("1 h"), &v) && v == 3600000);
    assert_true(sl_parse_millis(S("5min"), &v) && v == 300000);
    assert_true(sl_parse_millis(S("1 d"), &v) && v == 86400000);
    assert_false(sl_parse_millis(S("1 year"), &v));
}

static void buffers(void **state)
{
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_true(sl_str_eqc(sl_buf_view(&b), ""));
    sl_buf_addc(&b, "a");
    sl_buf_ch(&b, 'b');
    sl_buf_printf(&b, "%d-%s", 7, "x");
    assert_string_equal(b.p, "ab7-x");
    sl_buf_reset(&b);
    sl_buf_sql_ident(&b, SL_LIT("a\"b"));
    sl_buf_sql_string(&b, SL_LIT("it's"));
    sl_buf_sql_string(&b, SL_LIT(""));
    assert_string_equal(b.p, "\"a\"\"b\"'it''s'''");
    sl_buf_reset(&b);
    for (int i = 0; i < 1000; i++)
        sl_buf_printf(&b, "%0300d", i);
    assert_int_equal(b.n, 300000);
    sl_buf_reset(&b);
    sl_buf_u8(&b, 1);
    sl_buf_u32be(&b, 0x01020304);
    sl_buf_u32le(&b, 0x01020304);
    sl_buf_u64le(&b, 0x0102030405060708);
    assert_memory_equal(b.p, "\x01\x01\x02\x03\x04\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01", 17);
    char *taken = sl_buf_take(&b);
    assert_non_null(taken);
    assert_null(b.p);
    sl_free(taken);
    taken = sl_buf_take(&b);
    assert_string_equal(taken, "");
    sl_free(taken);
    assert_null(sl_buf_room(&b, SIZE_MAX));
    assert_int_equal(sl_buf_ok(&b, NULL), SL_ENOMEM);
    sl_buf_addc(&b, "ignored");
    assert_int_equal(b.n, 0);
    sl_buf_release(&b);
}

static void cursor(void **state)
{
    struct sl_cur c = sl_cur_of(SL_LIT("\x07\x01\x02\x03\x04\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01zz"));

    (void)state;
    assert_int_equal(sl_cur_u8(&c), 7);
    assert_int_equal(sl_cur_u32be(&c), 0x01020304);
    assert_int_equal(sl_cur_u32le(&c), 0x01020304);
    assert_true(sl_cur_u64le(&c) == 0x0102030405060708);
    assert_int_equal(sl_cur_pos(&c), 17);
    assert_true(sl_str_eqc(sl_cur_bytes(&c, 2), "zz"));
    assert_int_equal(sl_cur_left(&c), 0);
    assert_false(c.bad);
    assert_int_equal(sl_cur_u32le(&c), 0);
    assert_true(c.bad);
    c = sl_cur_of(SL_LIT("abc"));
    assert_int_equal(sl_cur_bytes(&c, SIZE_MAX).n, 0);
    assert_true(c.bad);
    assert_int_equal(sl_cur_u8(&c), 0); /* stays bad although bytes are left */
}

static void zigzag(void **state)
{
    static const struct {
        sl_str bytes;
        int64_t value;
    } good[] = {{SL_LIT("\x00"), 0}, {SL_LIT("\x01"), -1}, {SL_LIT("\x02"), 1}, {SL_LIT("\x80\x01"), 64},
                {SL_LIT("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), INT64_MAX},
                {SL_LIT("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), INT64_MIN}};
    static const sl_str bad[] = {SL_LIT(""), SL_LIT("\x80"), SL_LIT("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"),
                                 SL_LIT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct sl_cur c = sl_cur_of(good[i].bytes);

        assert_true(sl_cur_zigzag(&c) == good[i].value);
        assert_false(c.bad);
        assert_int_equal(sl_cur_left(&c), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sl_cur c = sl_cur_of(bad[i]);

        assert_true(sl_cur_zigzag(&c) == 0);
        assert_true(c.bad);
    }
}

static void vectors(void **state)
{
    SL_VEC(int) v = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int *x = sl_vec_push(&v);

        assert_non_null(x);
        assert_int_equal(*x, 0);
        *x = i;
    }
    assert_int_equal(v.n, 1000);
    assert_int_equal(v.v[999], 999);
    sl_free(v.v);
}

static void maps(void **state)
{
    struct sl_map *m = sl_map_new();
    char key[32];
    size_t it = 0, seen = 0;
    void *value, *old;
    sl_str k;

    (void)state;
    assert_non_null(m);
    assert_null(sl_map_get(m, SL_LIT("x")));
    assert_false(sl_map_del(m, SL_LIT("x"), NULL));
    void **first = sl_map_at(m, SL_LIT(""));
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        *sl_map_at(m, S(key)) = sl_strdup(key);
    }
    assert_ptr_equal(first, sl_map_at(m, SL_LIT(""))); /* slots stay */
    for (int i = 0; i < 2000; i += 2) {
        snprintf(key, sizeof key, "key %d", i);
        assert_true(sl_map_del(m, S(key), &old));
        assert_string_equal(old, key);
        sl_free(old);
    }
    assert_int_equal(sl_map_count(m), 1001);
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        value = sl_map_get(m, S(key));
        assert_true((value != NULL) == (i % 2 == 1));
    }
    while (sl_map_next(m, &it, &k, &value)) {
        assert_true(k.n == 0 ? value == NULL : sl_str_eqc(k, value));
        seen++;
    }
    assert_int_equal(seen, 1001);
    sl_map_free(m, sl_free);
    sl_map_free(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views), cmocka_unit_test(utf8), cmocka_unit_test(integers), cmocka_unit_test(fractions),
        cmocka_unit_test(sizes_and_times), cmocka_unit_test(buffers), cmocka_unit_test(cursor),
        cmocka_unit_test(zigzag), cmocka_unit_test(vectors), cmocka_unit_test(maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
