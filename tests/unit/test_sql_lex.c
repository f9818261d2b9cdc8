#include "unit.h"

#include <string.h>

#include "sql/lex.h"
#include "sql/text.h"

static void check(const char *text, size_t from, const char *want, bool ended)
{
    struct sl_tokens t = {0};
    struct sl_buf b = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_lex(sl_str_c(text), from, &t, &err), err);
    for (size_t i = 0; i < t.n; i++) {
        sl_buf_printf(&b, "%s%c<", i ? " " : "", "WQSNYH"[t.v[i].kind]);
        sl_token_value(&t.v[i], &b);
        sl_buf_ch(&b, '>');
    }
    assert_string_equal(b.p ? b.p : "", want);
    assert_int_equal(t.ended, ended);
    sl_buf_release(&b);
    sl_tokens_release(&t);
}

static void tokens(void **state)
{
    (void)state;
    check("SELECT a.b, 'it''s' -- x ; y\n FROM `a``b` /* ; /* */ */ , \"c\"\"d\";rest", 0,
          "W<SELECT> W<a> Y<.> W<b> Y<,> S<it's> W<FROM> Q<a`b> Y<,> Q<c\"d>", true);
    check("x1 t$snapshots 1.5e-3 .5 0x1F 1..2 a::int b=>c $1 $$ q' $$ e'a\\n\\'b'", 0,
          "W<x1> W<t$snapshots> N<1.5e-3> N<.5> N<0x1F> N<1> Y<.> N<.2> W<a> Y<::> W<int> W<b> "
          "Y<=>> W<c> Y<$> N<1> S< q' > S<a\n'b>",
          false);
    check("  ; ", 0, "", true);
    check(" -- nothing", 0, "", false);
    check("t /*+ OPTIONS('a'='b') */ x", 0, "W<t> H</*+ OPTIONS('a'='b') */> W<x>", false);
}

static void typographic(void **state)
{
    (void)state;
    check("f(`date`, 'yyyyMMdd\xE2\x80\x99)", 0, "W<f> Y<(> Q<date> Y<,> S<yyyyMMdd> Y<)>", false);
    check("a > f('2020-02-02', 'yyyy-HH-dd\xE2\x80\x99);", 0,
          "W<a> Y<>> W<f> Y<(> S<2020-02-02> Y<,> S<yyyy-HH-dd> Y<)>", true);
    check("f('x\xE2\x80\x99); g('apple', 'y\xE2\x80\x99)", 0, "W<f> Y<(> S<x> Y<)>", true);
    check("a = 'x\xE2\x80\x99 and b = 'y\xE2\x80\x99", 0, "W<a> Y<=> S<x> W<and> W<b> Y<=> S<y>",
          false);
    /* An apostrophe inside of a text that is whole. */
    check(
        "'it\xE2\x80\x99s', 'Rock \xE2\x80\x99n\xE2\x80\x99 Roll', '(Bob\xE2\x80\x99)'", 0,
        "S<it\xE2\x80\x99s> Y<,> S<Rock \xE2\x80\x99n\xE2\x80\x99 Roll> Y<,> S<(Bob\xE2\x80\x99)>",
        false);
}

static void errors(void **state)
{
    static const struct {
        const char *text;
        int64_t at;
    } bad[] = {{"select 'abc", 7}, {"select /* x", 7}, {"select \"abc", 7},
               {"a `b", 2},        {"x $$ y", 2},      {"a \xE2\x80\x98x'", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sl_tokens t = {0};
        sl_err err = SL_ERR_INIT;

        assert_code(sl_lex(sl_str_c(bad[i].text), 0, &t, &err), SL_ESQL);
        assert_int_equal(err.offset, bad[i].at);
        sl_tokens_release(&t);
    }
}

static void positions(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_edits e = {.arena = &a};
    struct sl_sql_text t = SL_SQL_TEXT_INIT;
    sl_err err = SL_ERR_INIT;
    const sl_str text = SL_LIT("xx select `a` from t where y;");

    (void)state;
    sl_edit_addc(&e, 20, 20, "(");
    sl_edit_addc(&e, 10, 13, "\"a\"");
    sl_edit_addc(&e, 19, 20, "SELECT 1");
    assert_ok(sl_sql_render(text, 3, 28, &e, &t, &err), err);
    assert_string_equal(t.buf.p, "select \"a\" from SELECT 1( where y");
    assert_int_equal(sl_sql_origin(&t, 0), 3);
    assert_int_equal(sl_sql_origin(&t, 8), 10);
    assert_int_equal(sl_sql_origin(&t, 11), 14);
    assert_int_equal(sl_sql_origin(&t, 20), 19);
    assert_int_equal(sl_sql_origin(&t, 24), 20);
    assert_int_equal(sl_sql_origin(&t, 26), 21);
    assert_int_equal(sl_sql_origin(&t, 32), 27);
    sl_sql_text_release(&t);
    sl_edits_release(&e);
    sl_arena_release(&a);
}

static void nested(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_edits e = {.arena = &a};
    struct sl_sql_text t = SL_SQL_TEXT_INIT;
    sl_err err = SL_ERR_INIT;

    (void)state;
    sl_edit_addc(&e, 2, 4, "small");
    sl_edit_addc(&e, 2, 2, "<1");
    sl_edit_addc(&e, 2, 2, "<2");
    sl_edit_addc(&e, 3, 3, "lost");
    sl_edit_addc(&e, 2, 6, "large");
    sl_edit_addc(&e, 2, 6, "last");
    sl_edit_addc(&e, 6, 6, ">");
    assert_ok(sl_sql_render(SL_LIT("0123456789"), 0, 10, &e, &t, &err), err);
    assert_string_equal(t.buf.p, "01<1<2last>6789");
    sl_sql_text_release(&t);
    sl_edits_release(&e);
    sl_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens), cmocka_unit_test(typographic),
                                       cmocka_unit_test(errors), cmocka_unit_test(positions),
                                       cmocka_unit_test(nested)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
