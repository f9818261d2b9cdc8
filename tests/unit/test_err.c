#include "unit.h"

#include <errno.h>
#include <string.h>

static void codes(void **state)
{
    (void)state;
    assert_string_equal(sl_code_name(SL_ECORRUPT), "SL_ECORRUPT");
    assert_string_equal(sl_code_text(SL_ECORRUPT), "damaged data");
    assert_int_equal(sl_code_exit_status(SL_OK), 0);
    assert_int_equal(sl_code_exit_status(SL_ECANCELLED), 130);
    assert_string_equal(sl_code_name(4711), "SL_?");
    assert_int_equal(sl_code_exit_status(4711), 1);
    assert_string_equal(sl_version(), SL_VERSION);
}

static void setting(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_int_equal(sl_err_set(&err, SL_EINPUT, "line %d", 7), SL_EINPUT);
    sl_err_flag(&err, SL_ERR_RETRY);
    sl_err_at(&err, 5);
    sl_err_hint(&err, "try %s", "this");
    sl_err_ctx(&err, "file \"%s\"", "a.csv");
    assert_string_equal(err.text, "file \"a.csv\": line 7");
    assert_string_equal(err.hint, "try this");
    assert_int_equal(err.offset, 5);
    sl_err_set(&err, SL_EIO, "again: %s", err.text); /* its own text as argument */
    assert_string_equal(err.text, "again: file \"a.csv\": line 7");
    assert_int_equal(err.flags, 0);
    assert_int_equal(err.offset, -1);
    assert_string_equal(err.hint, "");
    assert_int_equal(sl_err_sys(&err, ENOENT, "open \"%s\"", "x"), SL_ENOTFOUND);
    assert_string_equal(err.text, "open \"x\": No such file or directory");
    assert_int_equal(sl_err_sys(&err, ENOSPC, "w"), SL_ENOSPC);
    assert_int_equal(sl_err_sys(&err, EDQUOT, "w"), SL_ENOSPC);
    assert_int_equal(sl_err_sys(&err, EACCES, "w"), SL_EIO);
    assert_int_equal(err.os_errno, EACCES);
    assert_int_equal(sl_err_nomem(&err), SL_ENOMEM);
    sl_err_clear(&err);
    assert_int_equal(err.code, SL_OK);
}

static void without_object(void **state)
{
    (void)state;
    assert_int_equal(sl_err_set(NULL, SL_EIO, "x"), SL_EIO);
    assert_int_equal(sl_err_sys(NULL, ENOENT, "x"), SL_ENOTFOUND);
    sl_err_ctx(NULL, "x");
    sl_err_hint(NULL, "x");
    sl_err_flag(NULL, 1);
    sl_err_at(NULL, 1);
    sl_err_clear(NULL);
}

static void overlong(void **state)
{
    char text[4000];
    sl_err err = SL_ERR_INIT;

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    sl_err_set(&err, SL_EIO, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    sl_err_ctx(&err, "dropped");
    assert_int_equal(err.text[0], 'x');
    /* Not cut within a character. */
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    text[sizeof text - 2] = '\0';
    sl_err_set(&err, SL_EIO, "%s", text);
    assert_int_equal(strlen(err.text) % 2, 0);
    for (size_t i = 0; i < 1400; i += 7)
        sl_err_set(&err, SL_EIO, "%.*s", (int)i, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes), cmocka_unit_test(setting),
                                       cmocka_unit_test(without_object), cmocka_unit_test(overlong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
