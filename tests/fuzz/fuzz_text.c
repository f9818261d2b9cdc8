/* fuzz_text.c - text of unknown origin: UTF-8, quoting for JSON and SQL, numbers, JSON documents. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool v)
{
    if (!v)
        abort();
}

/* What is quoted reads back as it was; only bytes that are no UTF-8 are replaced. */
static void quote(sl_str text, bool valid)
{
    struct sl_buf b = SL_BUF_INIT;
    json_t *back = NULL;

    sl_buf_json_string(&b, text);
    expect(sl_json_parse(sl_buf_view(&b), &back, NULL) == SL_OK && json_is_string(back));
    if (valid)
        expect(json_string_length(back) == text.n &&
               (text.n == 0 || memcmp(json_string_value(back), text.p, text.n) == 0));
    json_decref(back);
    sl_buf_reset(&b);
    sl_buf_sql_string(&b, text);
    expect(b.n >= text.n + 2 && b.p[0] == '\'' && b.p[b.n - 1] == '\'');
    sl_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str text = {(const char *)data, size};
    size_t bad = size;
    bool valid = sl_utf8_valid(text, &bad);
    json_t *doc = NULL;
    int64_t i;
    uint64_t u;
    double d;

    expect(valid ? bad == size : bad < size);
    expect(sl_utf8_valid(sl_str_sub(text, 0, bad), NULL));
    quote(text, valid);
    if (sl_parse_i64(text, &i))
        expect(sl_parse_f64(text, &d));
    (void)sl_parse_bytes(text, &u);
    (void)sl_parse_millis(text, &u);
    if (sl_json_parse(text, &doc, NULL) == SL_OK) {
        struct sl_buf b = SL_BUF_INIT;
        json_t *again = NULL;

        sl_json_dump(&b, doc, false);
        expect(sl_json_parse(sl_buf_view(&b), &again, NULL) == SL_OK && json_equal(doc, again));
        json_decref(again);
        sl_buf_release(&b);
    }
    json_decref(doc);
    for (struct sl_cur c = sl_cur_of(text); !c.bad;)
        (void)sl_cur_zigzag(&c);
    return 0;
}
