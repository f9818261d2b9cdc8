/* parse.h - what the files of the parser share. */
#ifndef SL_SQL_PARSE_H
#define SL_SQL_PARSE_H

#include "sql/statement.h"

struct sl_parser {
    const struct sl_tokens *t;
    size_t i; /* the next token */
    struct sl_statement *s;
    sl_err *err;
};

/* ---- looking ---- */
bool sl_p_end(const struct sl_parser *p);
bool sl_p_is(const struct sl_parser *p, size_t ahead, const char *word);
bool sl_p_take(struct sl_parser *p, const char *word);              /* if it is next */
bool sl_p_take2(struct sl_parser *p, const char *a, const char *b); /* if both are next */
size_t sl_p_at(const struct sl_parser *p); /* byte of the next token, or of the end */

/* ---- failing ---- */
int sl_p_fail(struct sl_parser *p, size_t at, const char *fmt, ...) SL_PRINTF(3, 4); /* SL_ESQL */
int sl_p_wants(struct sl_parser *p, const char *what); /* "WHAT is missing before ..." */
int sl_p_unsupported(struct sl_parser *p, size_t at, const char *what);

/* ---- taking what must be there ---- */
int sl_p_need(struct sl_parser *p, const char *word) SL_WUR;
int sl_p_done(struct sl_parser *p) SL_WUR; /* nothing may follow */
int sl_p_ident(struct sl_parser *p, const char *what, struct sl_word *out) SL_WUR;
int sl_p_string(struct sl_parser *p, const char *what, struct sl_word *out) SL_WUR;
int sl_p_table(struct sl_parser *p, struct sl_table_name *out) SL_WUR;
int sl_p_pairs(struct sl_parser *p, const char *what,
               struct sl_pairs *out) SL_WUR; /* (k = literal, ...) or (k, ...) */
int sl_p_type(struct sl_parser *p, const struct sl_type **out) SL_WUR; /* NOT NULL included */
const char *sl_p_copy(struct sl_parser *p, sl_str s);                  /* NULL if out of memory */

/* Tokens up to one of WORDS (ended by NULL) outside of all brackets, or to the end. */
struct sl_range sl_p_range(struct sl_parser *p, const char *const *words);
int sl_p_assignment(struct sl_parser *p, const char *const *words, struct sl_pair *out); /* [t.]column = value, up to a word */

/* ---- parts ---- */
int sl_p_create(struct sl_parser *p) SL_WUR;
int sl_p_alter(struct sl_parser *p) SL_WUR;
int sl_p_insert(struct sl_parser *p) SL_WUR;
int sl_p_update(struct sl_parser *p) SL_WUR;
int sl_p_delete(struct sl_parser *p) SL_WUR;
int sl_p_merge(struct sl_parser *p) SL_WUR;
int sl_p_copy_to(struct sl_parser *p) SL_WUR;
int sl_p_call(struct sl_parser *p) SL_WUR;

#endif
