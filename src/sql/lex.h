/*
 * lex.h - the user's text cut into tokens, one statement at a time.
 *
 * Knows what DuckDB's own lexer does not: backticks, hints, and strings that a typographic quote
 * closes. Tokens are views into the text, so every position is the user's.
 */
#ifndef SL_SQL_LEX_H
#define SL_SQL_LEX_H

#include "base/str.h"

enum sl_token_kind {
    SL_TOKEN_WORD,   /* keyword or plain identifier */
    SL_TOKEN_QUOTED, /* "x" or `x` */
    SL_TOKEN_STRING, /* 'x', e'x', $$x$$ */
    SL_TOKEN_NUMBER,
    SL_TOKEN_SYMBOL,
    SL_TOKEN_HINT, /* the comment after a plus: slash star plus ... star slash */
};

struct sl_token {
    enum sl_token_kind kind;
    sl_str text;      /* as written, quotes included */
    size_t from, to;  /* bytes in the whole text */
    bool typographic; /* a string closed by U+2019 */
};

struct sl_tokens {
    struct sl_token *v;
    size_t n, cap;
    sl_str text;     /* the whole text */
    size_t from, to; /* bytes of the statement in it, without the ';' */
    size_t next;     /* where the next statement begins */
    bool ended;      /* by a ';' */
};

/* The statement that begins at FROM. No tokens: there was nothing before the ';' or the end.
 * SL_ESQL with the offset for a text or comment that does not end. */
int sl_lex(sl_str text, size_t from, struct sl_tokens *out, sl_err *err) SL_WUR;
void sl_tokens_release(struct sl_tokens *t);

bool sl_token_is(const struct sl_token *t,
                 const char *word); /* the keyword or symbol, in any case */
/* What an identifier or a string says, without its quotes; appended to OUT. */
void sl_token_value(const struct sl_token *t, struct sl_buf *out);

#endif
