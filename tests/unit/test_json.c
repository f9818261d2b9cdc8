#include "unit.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static void good(void **state)
{
    sl_err err = SL_ERR_INIT;
    json_t *v = NULL;
    sl_str s = SL_LIT("kept");
    int64_t i = -5;
    bool b = false;

    (void)state;
    assert_ok(sl_json_parse(SL_LIT("{\"s\":\"a\\u0000b\",\"i\":9223372036854775807,\"b\":true,\"n\":null,\"f\":1.5}"),
                            &v, &err), err);
    assert_ok(sl_json_str_req(v, "s", &s, &err), err);
    assert_int_equal(s.n, 3);
    assert_ok(sl_json_i64_req(v, "i", &i, &err), err);
    assert_true(i == INT64_MAX);
    assert_ok(sl_json_bool_opt(v, "b", &b, &err), err);
    assert_true(b);
    i = 7;
    assert_ok(sl_json_i64_opt(v, "n", &i, &err), err);
    assert_ok(sl_json_i64_opt(v, "absent", &i, &err), err);
    assert_int_equal(i, 7);
    assert_null(sl_json_member(v, "n"));
    assert_code(sl_json_i64_req(v, "n", &i, &err), SL_ECORRUPT);
    assert_string_equal(err.text, "member \"n\" must be an integer, found null");
    assert_code(sl_json_i64_req(v, "absent", &i, &err), SL_ECORRUPT);
    assert_string_equal(err.text, "member \"absent\" must be an integer, found nothing");
    assert_code(sl_json_str_opt(v, "i", &s, &err), SL_ECORRUPT);
    assert_code(sl_json_i64_opt(v, "f", &i, &err), SL_ECORRUPT);
    assert_code(sl_json_bool_opt(v, "i", &b, &err), SL_ECORRUPT);
    json_decref(v);
}

static void bad(void **state)
{
    static const char *const texts[] = {"", "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "[1,]", "{\"a\":99999999999999999999}",
                                        "\"\xFF\"", "nul", "{'a':1}"};
    sl_err err = SL_ERR_INIT;
    json_t *v = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_code(sl_json_parse(sl_str_c(texts[i]), &v, &err), SL_ECORRUPT);
        assert_null(v);
    }
    assert_code(sl_json_parse(SL_LIT("{\n  \"a\": x}"), &v, &err), SL_ECORRUPT);
    assert_non_null(strstr(err.text, "line 2"));
    /* Nesting that would exhaust the stack. */
    struct sl_buf deep = SL_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        sl_buf_ch(&deep, '[');
    assert_code(sl_json_parse(sl_buf_view(&deep), &v, &err), SL_ECORRUPT);
    sl_buf_release(&deep);
}

static void no_memory(void **state)
{
    sl_err err = SL_ERR_INIT;
    char text[700];
    json_t *v = NULL;
    int n, rc;

    (void)state;
    snprintf(text, sizeof text, "{\"a\":[1,2,\"%0500d\"],\"b\":{\"c\":1.5}}", 3); /* the scanner's buffer must grow */
    for (n = 1; n < 200; n++) {
        sl_mem_fail_nth(n);
        rc = sl_json_parse(sl_str_c(text), &v, &err);
        if (rc == SL_OK)
            break;
        assert_int_equal(rc, SL_ENOMEM);
        assert_null(v);
    }
    sl_mem_fail_nth(0);
    assert_true(n > 5 && n < 200); /* jansson allocates through us */
    json_decref(v);
}

static void writing(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_buf b = SL_BUF_INIT;
    json_t *v = NULL;

    (void)state;
    assert_ok(sl_json_parse(SL_LIT("{\"z\":1, \"a\":[true,null]}"), &v, &err), err);
    sl_json_dump(&b, v, false);
    assert_string_equal(b.p, "{\"z\":1,\"a\":[true,null]}");
    json_decref(v);
    sl_buf_reset(&b);
    sl_buf_json_string(&b, SL_LIT("a\"b\\c\n\t\x01\xC3\xA9"));
    assert_string_equal(b.p, "\"a\\\"b\\\\c\\n\\t\\u0001\xC3\xA9\"");
    sl_buf_reset(&b);
    sl_buf_json_string(&b, SL_LIT("\xFFx\"\x80\xC3\xA9\xC3"));
    assert_string_equal(b.p, "\"\xEF\xBF\xBDx\\\"\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\"");
    sl_buf_release(&b);
    char *quoted = sl_json_quote(SL_LIT(""));
    assert_string_equal(quoted, "\"\"");
    sl_free(quoted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(no_memory),
                                       cmocka_unit_test(writing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
