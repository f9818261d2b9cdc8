/* fuzz_sql.c - statements of unknown origin: tokens, our parser, edits of the dialect, Java
 * patterns, excerpts. */
#include <stdlib.h>
#include <string.h>

#include "sluice/sql.h"
#include "sql/dialect.h"
#include "sql/java_time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool v)
{
    if (!v)
        abort();
}

/* An error's place is in the text, and can be shown. */
static void check_error(sl_str text, const sl_err *err)
{
    size_t line, column;

    expect(err->offset >= -1 && err->offset <= (int64_t)text.n);
    sl_free(sl_sql_excerpt(text, err->offset, &line, &column));
}

static void edit(const struct sl_tokens *tokens, sl_str text)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_dialect dialect = {.edits = {.arena = &arena}};
    struct sl_sql_text out = SL_SQL_TEXT_INIT;
    sl_err err = SL_ERR_INIT;

    if (sl_dialect_edit(tokens, (struct sl_range){0, tokens->n}, &dialect, &err) != SL_OK)
        check_error(text, &err);
    else if (sl_sql_render(text, tokens->from, tokens->to, &dialect.edits, &out, &err) == SL_OK)
        for (size_t i = 0; i <= out.buf.n; i++)
            expect(sl_sql_origin(&out, i) <= text.n);
    sl_sql_text_release(&out);
    sl_dialect_release(&dialect);
    sl_arena_release(&arena);
}

static void pattern(sl_str text)
{
    struct sl_java_pattern p;
    struct sl_buf b = SL_BUF_INIT;
    int64_t micros = 0;

    if (sl_java_pattern_parse(text, &p, NULL) != SL_OK)
        return;
    sl_java_pattern_native(&p, &b);
    sl_buf_reset(&b);
    sl_java_format(&p, 1709564767089012, &b);
    if (sl_java_parse(&p, sl_buf_view(&b), &micros, NULL) == SL_OK)
        micros = sl_java_parse(&p, text, &micros, NULL);
    sl_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const sl_str text = {(const char *)data, size};
    struct sl_tokens tokens = {0};
    struct sl_statement st;
    size_t from = 0;

    pattern(text);
    sl_sql_complete(text);
    while (from < size) {
        sl_err err = SL_ERR_INIT;

        if (sl_lex(text, from, &tokens, &err) != SL_OK) {
            check_error(text, &err);
            break;
        }
        expect(tokens.next > from);
        from = tokens.next;
        if (tokens.n == 0)
            continue;
        err = (sl_err)SL_ERR_INIT;
        if (sl_statement_parse(&tokens, &st, &err) != SL_OK)
            check_error(text, &err);
        sl_statement_release(&st);
        edit(&tokens, text);
    }
    sl_tokens_release(&tokens);
    return 0;
}
