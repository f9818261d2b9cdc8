#include "sql/lex.h"

#include <string.h>

#include "base/mem.h"

#define TYPOGRAPHIC "\xE2\x80\x99" /* U+2019 */

/* When a typographic quote closes a string that began with a plain one. */
enum closing {
    CLOSE_PLAIN,   /* never */
    CLOSE_BRACKET, /* before ')', ',', ';' or the end */
    CLOSE_ALWAYS,
};

struct lexer {
    sl_str text;
    enum closing closing;
    size_t unclosed; /* offset of what stood in the way */
    const char *problem;
    const char *hint;
};

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(unsigned char c)
{
    return is_word_start(c) || is_digit(c) || c == '$';
}

static bool at(sl_str s, size_t i, const char *what)
{
    size_t n = strlen(what);

    return i <= s.n && s.n - i >= n && memcmp(s.p + i, what, n) == 0;
}

static bool problem(struct lexer *l, size_t where, const char *text, const char *hint)
{
    l->unclosed = where;
    l->problem = text;
    l->hint = hint;
    return false;
}

/* ---- pieces; each gives the offset behind itself, false if it does not end ---- */

static bool skip_comment(struct lexer *l, size_t *i)
{
    size_t start = *i, depth = 1;

    *i += 2;
    while (depth > 0) {
        if (*i >= l->text.n)
            return problem(l, start, "the comment that begins here does not end", "close it by */");
        if (at(l->text, *i, "/*")) {
            depth++;
            *i += 2;
        } else if (at(l->text, *i, "*/")) {
            depth--;
            *i += 2;
        } else {
            (*i)++;
        }
    }
    return true;
}

static bool closes(const struct lexer *l, size_t i)
{
    if (l->closing == CLOSE_PLAIN || !at(l->text, i, TYPOGRAPHIC))
        return false;
    if (l->closing == CLOSE_ALWAYS)
        return true;
    i += strlen(TYPOGRAPHIC);
    while (i < l->text.n && is_space((unsigned char)l->text.p[i]))
        i++;
    return i == l->text.n || memchr("),;", l->text.p[i], 3);
}

static bool skip_string(struct lexer *l, size_t *i, bool backslash, bool *typographic)
{
    const size_t start = *i;
    const sl_str s = l->text;
    size_t suspect = SIZE_MAX;

    for (size_t k = start + 1; k < s.n; k++) {
        if (backslash && s.p[k] == '\\') {
            k++;
        } else if (s.p[k] == '\'') {
            if (!at(s, k + 1, "'")) {
                *i = k + 1;
                return true;
            }
            k++;
        } else if (closes(l, k)) {
            *i = k + strlen(TYPOGRAPHIC);
            *typographic = true;
            return true;
        } else if (suspect == SIZE_MAX && at(s, k, TYPOGRAPHIC)) {
            suspect = k;
        }
    }
    *i = s.n;
    if (suspect != SIZE_MAX)
        return problem(
            l, suspect,
            "the text is not closed: this typographic quote does not make the statement whole",
            "close the text by a plain quote '");
    return problem(l, start, "the text that begins here is not closed", "close it by a quote '");
}

static bool skip_quoted(struct lexer *l, size_t *i)
{
    const char quote = l->text.p[*i];
    const size_t start = *i;

    for (size_t k = start + 1; k < l->text.n; k++) {
        if (l->text.p[k] != quote)
            continue;
        if (k + 1 < l->text.n && l->text.p[k + 1] == quote) {
            k++;
            continue;
        }
        *i = k + 1;
        return true;
    }
    return problem(l, start, "the name that begins here is not closed",
                   quote == '`' ? "close it by a backtick `" : "close it by a double quote \"");
}

/* $$text$$ or $tag$text$tag$; *OK false if this is none, as in $1. */
static bool skip_dollar(struct lexer *l, size_t *i, bool *ok)
{
    size_t k = *i + 1;

    while (k < l->text.n && is_word((unsigned char)l->text.p[k]) && l->text.p[k] != '$')
        k++;
    *ok = k < l->text.n && l->text.p[k] == '$' && !is_digit((unsigned char)l->text.p[*i + 1]);
    if (!*ok)
        return true;
    const sl_str mark = sl_str_sub(l->text, *i, k + 1);
    ptrdiff_t end = sl_str_find(sl_str_sub(l->text, k + 1, l->text.n), mark);
    if (end < 0)
        return problem(l, *i, "the text that begins here is not closed",
                       "close it by the same dollar quote");
    *i = k + 1 + (size_t)end + mark.n;
    return true;
}

static void skip_number(sl_str s, size_t *i)
{
    size_t k = *i;
    bool hex = at(s, k, "0x") || at(s, k, "0X");

    while (k < s.n) {
        unsigned char c = (unsigned char)s.p[k];
        bool sign = (c == '+' || c == '-') && !hex && (s.p[k - 1] == 'e' || s.p[k - 1] == 'E');

        if (!is_digit(c) && !is_word_start(c) && c != '.' && !sign)
            break;
        if (c == '.' && at(s, k, ".."))
            break;
        k++;
    }
    *i = k;
}

static void skip_symbol(sl_str s, size_t *i)
{
    static const char *const longer[] = {
        "->>", "=>", "::", "<=", ">=", "<>", "!=", "||", "->", ":=", "==", "**", "//"};

    for (size_t k = 0; k < sizeof longer / sizeof *longer; k++) {
        if (at(s, *i, longer[k])) {
            *i += strlen(longer[k]);
            return;
        }
    }
    (*i)++;
}

/* Skips blanks and comments. A hint is no comment. */
static bool skip_blanks(struct lexer *l, size_t *i)
{
    const sl_str s = l->text;

    while (*i < s.n) {
        if (is_space((unsigned char)s.p[*i]) || at(s, *i, "\xEF\xBB\xBF")) {
            *i += is_space((unsigned char)s.p[*i]) ? 1 : 3;
        } else if (at(s, *i, "--")) {
            while (*i < s.n && s.p[*i] != '\n')
                (*i)++;
        } else if (at(s, *i, "/*") && !at(s, *i, "/*+")) {
            if (!skip_comment(l, i))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static bool skip_token(struct lexer *l, size_t *i, struct sl_token *t)
{
    const sl_str s = l->text;
    const unsigned char c = (unsigned char)s.p[*i];
    bool ok = false;

    if (c == '\'') {
        t->kind = SL_TOKEN_STRING;
        return skip_string(l, i, false, &t->typographic);
    }
    if ((c == 'e' || c == 'E') && at(s, *i + 1, "'")) {
        t->kind = SL_TOKEN_STRING;
        (*i)++;
        return skip_string(l, i, true, &t->typographic);
    }
    if (c == '"' || c == '`') {
        t->kind = SL_TOKEN_QUOTED;
        return skip_quoted(l, i);
    }
    if (c == '$') {
        if (!skip_dollar(l, i, &ok))
            return false;
        t->kind = ok ? SL_TOKEN_STRING : SL_TOKEN_SYMBOL;
        if (!ok)
            (*i)++;
        return true;
    }
    if (at(s, *i, "/*+")) {
        t->kind = SL_TOKEN_HINT;
        return skip_comment(l, i);
    }
    if (at(s, *i, "\xE2\x80\x98") || at(s, *i, TYPOGRAPHIC) || at(s, *i, "\xE2\x80\x9C") ||
        at(s, *i, "\xE2\x80\x9D"))
        return problem(l, *i, "a typographic quote can not stand here",
                       "write a plain quote ' for texts and \" for names");
    if (is_digit(c) || (c == '.' && *i + 1 < s.n && is_digit((unsigned char)s.p[*i + 1]))) {
        t->kind = SL_TOKEN_NUMBER;
        skip_number(s, i);
    } else if (is_word_start(c)) {
        t->kind = SL_TOKEN_WORD;
        while (*i < s.n && is_word((unsigned char)s.p[*i]) && !at(s, *i, TYPOGRAPHIC))
            (*i)++;
    } else {
        t->kind = SL_TOKEN_SYMBOL;
        skip_symbol(s, i);
    }
    return true;
}

/* SL_OK, SL_ENOMEM, or SL_ESQL with what is wrong in L. */
static int lex_as(struct lexer *l, size_t from, struct sl_tokens *out, sl_err *err)
{
    size_t i = from;

    out->n = 0;
    out->text = l->text;
    out->ended = false;
    if (!skip_blanks(l, &i))
        return SL_ESQL;
    out->from = out->to = i;
    while (i < l->text.n) {
        if (l->text.p[i] == ';') {
            out->ended = true;
            i++;
            break;
        }
        struct sl_token *t = sl_vec_push(out);
        if (!t)
            return sl_err_nomem(err);
        t->from = i;
        if (!skip_token(l, &i, t))
            return SL_ESQL;
        t->to = out->to = i;
        t->text = sl_str_sub(l->text, t->from, i);
        if (!skip_blanks(l, &i))
            return SL_ESQL;
    }
    out->next = i;
    return SL_OK;
}

/* A string with a typographic quote in it whose closing quote is followed at once by a word: its
 * end was meant as the beginning of the next one. */
static bool is_doubtful(const struct sl_tokens *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct sl_token *s = &t->v[i];

        if (s->kind == SL_TOKEN_STRING && sl_str_find(s->text, SL_LIT(TYPOGRAPHIC)) >= 0 &&
            s->to < t->text.n &&
            (is_word((unsigned char)t->text.p[s->to]) || strchr("%/+-.:", t->text.p[s->to])))
            return true;
    }
    return false;
}

int sl_lex(sl_str text, size_t from, struct sl_tokens *out, sl_err *err)
{
    struct lexer plain = {.text = text, .closing = CLOSE_PLAIN};
    int rc = lex_as(&plain, from, out, err);

    if (rc == SL_ENOMEM || (rc == SL_OK && !is_doubtful(out)))
        return rc;
    for (enum closing c = CLOSE_BRACKET; c <= CLOSE_ALWAYS; c++) {
        struct lexer l = {.text = text, .closing = c};
        int again = lex_as(&l, from, out, err);

        if (again == SL_ENOMEM || again == SL_OK)
            return again;
    }
    if (rc == SL_OK)
        return lex_as(&plain, from, out, err);
    sl_err_set(err, SL_ESQL, "%s", plain.problem);
    sl_err_hint(err, "%s", plain.hint);
    sl_err_at(err, (int64_t)plain.unclosed);
    return SL_ESQL;
}

void sl_tokens_release(struct sl_tokens *t)
{
    sl_free(t->v);
    *t = (struct sl_tokens){0};
}

bool sl_token_is(const struct sl_token *t, const char *word)
{
    return (t->kind == SL_TOKEN_WORD || t->kind == SL_TOKEN_SYMBOL) && sl_str_ieqc(t->text, word);
}

/* The backslash escapes of e'...'. */
static void add_escaped(sl_str s, struct sl_buf *out)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'' && i + 1 < s.n) {
            i++;
        } else if (s.p[i] == '\\' && i + 1 < s.n) {
            const char *c = memchr(from, s.p[++i], sizeof from - 1);

            sl_buf_ch(out, c ? to[c - from] : s.p[i]);
            continue;
        }
        sl_buf_ch(out, s.p[i]);
    }
}

static void add_doubled(sl_str s, char quote, struct sl_buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        sl_buf_ch(out, s.p[i]);
        if (s.p[i] == quote)
            i++;
    }
}

void sl_token_value(const struct sl_token *t, struct sl_buf *out)
{
    const sl_str s = t->text;
    const size_t closing = t->typographic ? strlen(TYPOGRAPHIC) : 1;

    if (t->kind == SL_TOKEN_QUOTED) {
        add_doubled(sl_str_sub(s, 1, s.n - 1), s.p[0], out);
    } else if (t->kind == SL_TOKEN_STRING && s.p[0] == '\'') {
        add_doubled(sl_str_sub(s, 1, s.n - closing), '\'', out);
    } else if (t->kind == SL_TOKEN_STRING && s.p[0] == '$') {
        size_t mark = 2 + (size_t)((const char *)memchr(s.p + 1, '$', s.n - 1) - (s.p + 1));

        sl_buf_add(out, sl_str_sub(s, mark, s.n - mark));
    } else if (t->kind == SL_TOKEN_STRING) {
        add_escaped(sl_str_sub(s, 2, s.n - closing), out);
    } else {
        sl_buf_add(out, s);
    }
}
