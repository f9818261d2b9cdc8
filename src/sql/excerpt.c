/* excerpt.c - what programs around a session need of the text alone. */
#include "sluice/sql.h"
#include "sql/lex.h"

bool sl_sql_complete(sl_str text)
{
    struct sl_tokens tokens = {0};
    size_t from = 0;
    bool complete = true;

    while (from < text.n && complete) {
        complete = sl_lex(text, from, &tokens, NULL) == SL_OK && (tokens.ended || tokens.n == 0);
        from = tokens.next;
    }
    sl_tokens_release(&tokens);
    return complete;
}

static size_t characters(sl_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

char *sl_sql_excerpt(sl_str text, int64_t offset, size_t *line, size_t *column)
{
    struct sl_buf b = SL_BUF_INIT;
    size_t at = (size_t)offset, from, to;

    *line = *column = 0;
    if (offset < 0 || at > text.n)
        return NULL;
    while (at > 0 && at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80)
        at--;
    for (from = at; from > 0 && text.p[from - 1] != '\n';)
        from--;
    for (to = at; to < text.n && text.p[to] != '\n' && text.p[to] != '\r';)
        to++;
    *line = 1;
    for (size_t i = 0; i < from; i++)
        *line += text.p[i] == '\n';
    *column = characters(sl_str_sub(text, from, at)) + 1;
    /* Of a long line, what stands around the place. */
    size_t start = from, end = to;
    while (characters(sl_str_sub(text, start, at)) > 60)
        start++;
    while (start < at && ((unsigned char)text.p[start] & 0xC0) == 0x80)
        start++;
    while (characters(sl_str_sub(text, start, end)) > 100 && end > at)
        end--;
    while (end > at && end < text.n && ((unsigned char)text.p[end] & 0xC0) == 0x80)
        end--;
    sl_buf_printf(&b, "  %s" SL_STRF "%s\n  %s", start > from ? "..." : "",
                  SL_STRV(sl_str_sub(text, start, end)), end < to ? "..." : "",
                  start > from ? "   " : "");
    for (size_t i = start; i < at; i++) {
        if (text.p[i] == '\t')
            sl_buf_ch(&b, '\t');
        else if (((unsigned char)text.p[i] & 0xC0) != 0x80)
            sl_buf_ch(&b, ' ');
    }
    sl_buf_ch(&b, '^');
    return sl_buf_take(&b);
}
