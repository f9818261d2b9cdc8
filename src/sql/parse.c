/* parse.c - which statement it is, the pieces that all share, and the short statements. */
#include "sql/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- looking ---- */

bool sl_p_end(const struct sl_parser *p)
{
    return p->i >= p->t->n;
}

bool sl_p_is(const struct sl_parser *p, size_t ahead, const char *word)
{
    return p->i + ahead < p->t->n && sl_token_is(&p->t->v[p->i + ahead], word);
}

bool sl_p_take(struct sl_parser *p, const char *word)
{
    if (!sl_p_is(p, 0, word))
        return false;
    p->i++;
    return true;
}

bool sl_p_take2(struct sl_parser *p, const char *a, const char *b)
{
    if (!sl_p_is(p, 0, a) || !sl_p_is(p, 1, b))
        return false;
    p->i += 2;
    return true;
}

size_t sl_p_at(const struct sl_parser *p)
{
    return sl_p_end(p) ? p->t->to : p->t->v[p->i].from;
}

/* ---- failing ---- */

int sl_p_fail(struct sl_parser *p, size_t at, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sl_err_set(p->err, SL_ESQL, "%s", text);
    sl_err_at(p->err, (int64_t)at);
    return SL_ESQL;
}

int sl_p_wants(struct sl_parser *p, const char *what)
{
    if (sl_p_end(p))
        return sl_p_fail(p, p->t->to, "%s is missing at the end of the statement", what);
    const sl_str next = p->t->v[p->i].text;
    return sl_p_fail(p, sl_p_at(p), "%s is missing before \"%.*s\"", what,
                     (int)(next.n > 40 ? 40 : next.n), next.p);
}

int sl_p_unsupported(struct sl_parser *p, size_t at, const char *what)
{
    sl_err_set(p->err, SL_EUNSUPPORTED, "%s is not supported", what);
    sl_err_at(p->err, (int64_t)at);
    return SL_EUNSUPPORTED;
}

/* ---- taking ---- */

int sl_p_need(struct sl_parser *p, const char *word)
{
    return sl_p_take(p, word) ? SL_OK : sl_p_wants(p, word);
}

int sl_p_done(struct sl_parser *p)
{
    if (sl_p_end(p))
        return SL_OK;
    const sl_str next = p->t->v[p->i].text;
    return sl_p_fail(p, sl_p_at(p), "\"%.*s\" can not stand here in %s",
                     (int)(next.n > 40 ? 40 : next.n), next.p, p->s->verb);
}

const char *sl_p_copy(struct sl_parser *p, sl_str s)
{
    return sl_arena_strdup(&p->s->arena, s);
}

static int take_value(struct sl_parser *p, struct sl_word *out)
{
    const struct sl_token *t = &p->t->v[p->i];
    struct sl_buf b = SL_BUF_INIT;

    sl_token_value(t, &b);
    const char *copy = b.failed ? NULL : sl_p_copy(p, sl_buf_view(&b));
    sl_buf_release(&b);
    if (!copy)
        return sl_err_nomem(p->err);
    *out = (struct sl_word){sl_str_c(copy), t->from};
    p->i++;
    return SL_OK;
}

int sl_p_ident(struct sl_parser *p, const char *what, struct sl_word *out)
{
    if (sl_p_end(p) ||
        (p->t->v[p->i].kind != SL_TOKEN_WORD && p->t->v[p->i].kind != SL_TOKEN_QUOTED))
        return sl_p_wants(p, what);
    SL_TRY(take_value(p, out));
    if (out->text.n == 0)
        return sl_p_fail(p, out->from, "%s is empty", what);
    return SL_OK;
}

int sl_p_string(struct sl_parser *p, const char *what, struct sl_word *out)
{
    if (sl_p_end(p) || p->t->v[p->i].kind != SL_TOKEN_STRING)
        return sl_p_wants(p, what);
    return take_value(p, out);
}

int sl_p_table(struct sl_parser *p, struct sl_table_name *out)
{
    struct sl_word w;

    *out = (struct sl_table_name){0};
    out->from = sl_p_at(p);
    if (!sl_p_end(p) && p->t->v[p->i].kind == SL_TOKEN_STRING) {
        SL_TRY(sl_p_string(p, "the table's path", &w));
        out->table = w.text;
        out->path = true;
    } else {
        SL_TRY(sl_p_ident(p, "the table's name", &w));
        out->table = w.text;
        if (sl_p_take(p, ".")) {
            out->db = w.text;
            SL_TRY(sl_p_ident(p, "the table's name", &w));
            out->table = w.text;
        }
        if (sl_p_is(p, 0, "."))
            return sl_p_fail(p, sl_p_at(p), "a table's name has at most two parts, database.table");
    }
    out->to = p->t->v[p->i - 1].to;
    return SL_OK;
}

/* A key: a text, or names joined by dots and dashes as in sluice.prune or write-mode. */
static int take_key(struct sl_parser *p, const char *what, struct sl_word *out)
{
    size_t first = p->i, end;

    if (!sl_p_end(p) && p->t->v[p->i].kind == SL_TOKEN_STRING)
        return take_value(p, out);
    SL_TRY(sl_p_ident(p, what, out));
    end = p->t->v[first].to;
    while (!sl_p_end(p) && p->t->v[p->i].from == end &&
           (sl_p_is(p, 0, ".") || sl_p_is(p, 0, "-") || p->t->v[p->i].kind == SL_TOKEN_WORD)) {
        end = p->t->v[p->i].to;
        p->i++;
    }
    if (p->i > first + 1) {
        const char *copy = sl_p_copy(p, sl_str_sub(p->t->text, out->from, end));
        if (!copy)
            return sl_err_nomem(p->err);
        out->text = sl_str_c(copy);
    }
    return SL_OK;
}

/* A literal: text, number with sign, TRUE, FALSE, NULL, DATE 'x', or a bare word. */
static int take_literal(struct sl_parser *p, struct sl_pair *out)
{
    const size_t first = p->i;
    bool minus = false;

    out->has_value = true;
    out->range.first = first;
    if ((sl_p_is(p, 0, "DATE") || sl_p_is(p, 0, "TIMESTAMP")) && p->i + 1 < p->t->n &&
        p->t->v[p->i + 1].kind == SL_TOKEN_STRING)
        p->i++;
    if (sl_p_is(p, 0, "+") || sl_p_is(p, 0, "-")) {
        minus = sl_p_is(p, 0, "-");
        p->i++;
    }
    if (sl_p_end(p) || p->t->v[p->i].kind == SL_TOKEN_SYMBOL || p->t->v[p->i].kind == SL_TOKEN_HINT)
        return sl_p_wants(p, "a value");
    out->null = sl_p_is(p, 0, "NULL");
    SL_TRY(take_value(p, &out->value));
    if (out->null)
        out->value.text = (sl_str){NULL, 0};
    if (minus) {
        const char *text = sl_arena_printf(&p->s->arena, "-%s", out->value.text.p);
        if (!text)
            return sl_err_nomem(p->err);
        out->value.text = sl_str_c(text);
    }
    out->range.last = p->i;
    return SL_OK;
}

int sl_p_pairs(struct sl_parser *p, const char *what, struct sl_pairs *out)
{
    SL_TRY(sl_p_need(p, "("));
    if (sl_p_take(p, ")"))
        return SL_OK;
    do {
        struct sl_pair *pair = sl_vec_push(out);

        if (!pair)
            return sl_err_nomem(p->err);
        SL_TRY(take_key(p, what, &pair->key));
        if (sl_p_take(p, "="))
            SL_TRY(take_literal(p, pair));
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

static int bracket(const struct sl_token *t)
{
    if (t->kind != SL_TOKEN_SYMBOL)
        return 0;
    switch (t->text.p[0]) {
    case '(':
    case '[':
    case '{':
        return 1;
    case ')':
    case ']':
    case '}':
        return -1;
    }
    return 0;
}

struct sl_range sl_p_range(struct sl_parser *p, const char *const *words)
{
    struct sl_range r = {p->i, p->i};
    int depth = 0, cases = 0;

    for (; p->i < p->t->n; p->i++) {
        const struct sl_token *t = &p->t->v[p->i];
        bool stop = false;

        if (sl_token_is(t, "CASE")) { /* ... WHEN ... THEN ... END is a bracket too */
            depth++;
            cases++;
        } else if (cases > 0 && sl_token_is(t, "END")) {
            depth--;
            cases--;
            continue;
        }
        depth += bracket(t) > 0;
        for (size_t k = 0; depth == 0 && words && words[k]; k++)
            stop |= sl_token_is(t, words[k]);
        if (stop || (depth == 0 && bracket(t) < 0))
            break;
        depth -= bracket(t) < 0;
    }
    r.last = p->i;
    return r;
}

int sl_p_assignment(struct sl_parser *p, const char *const *words, struct sl_pair *out)
{
    SL_TRY(sl_p_ident(p, "the column", &out->key));
    if (sl_p_take(p, "."))
        SL_TRY(sl_p_ident(p, "the column", &out->key));
    SL_TRY(sl_p_need(p, "="));
    out->range = sl_p_range(p, words);
    out->has_value = true;
    return out->range.first == out->range.last ? sl_p_wants(p, "the new value") : SL_OK;
}

int sl_p_type(struct sl_parser *p, const struct sl_type **out)
{
    static const char *const ends[] = {"COMMENT",    "PRIMARY",   "DEFAULT", "FIRST",      "AFTER",
                                       "CONSTRAINT", "METADATA",  "UNIQUE",  "REFERENCES", "CHECK",
                                       "COLLATE",    "GENERATED", "AS",      NULL};
    const size_t first = p->i;
    size_t angles = 0;
    int round = 0;

    for (; p->i < p->t->n; p->i++) {
        const struct sl_token *t = &p->t->v[p->i];
        bool stop = false;

        for (size_t k = 0; round == 0 && angles == 0 && ends[k]; k++)
            stop |= sl_token_is(t, ends[k]);
        if (stop || (round == 0 && (sl_token_is(t, ")") || (angles == 0 && sl_token_is(t, ",")))))
            break;
        if (t->kind == SL_TOKEN_SYMBOL) {
            round += bracket(t);
            angles += sl_token_is(t, "<");
            angles -= angles > 0 && sl_token_is(t, ">");
        }
    }
    if (p->i == first)
        return sl_p_wants(p, "the column's type");
    const size_t from = p->t->v[first].from;
    const int rc = sl_type_from_sql(
        &p->s->arena, sl_str_sub(p->t->text, from, p->t->v[p->i - 1].to), out, p->err);
    if (rc != SL_OK && p->err)
        sl_err_at(p->err, (int64_t)from + (p->err->offset > 0 ? p->err->offset : 0));
    return rc;
}

/* ---- short statements ---- */

static int parse_drop(struct sl_parser *p)
{
    struct sl_statement *s = p->s;
    struct sl_word w;

    if (sl_p_take(p, "DATABASE") || sl_p_take(p, "SCHEMA")) {
        s->kind = SL_STMT_DROP_DATABASE;
        s->verb = "DROP DATABASE";
        s->if_exists = sl_p_take2(p, "IF", "EXISTS");
        SL_TRY(sl_p_ident(p, "the database's name", &w));
        s->name = (struct sl_table_name){.db = w.text, .from = w.from};
        s->cascade = sl_p_take(p, "CASCADE");
        if (!s->cascade)
            sl_p_take(p, "RESTRICT");
        return sl_p_done(p);
    }
    if (!sl_p_take(p, "TABLE"))
        return sl_p_wants(p, "TABLE or DATABASE");
    s->kind = SL_STMT_DROP_TABLE;
    s->verb = "DROP TABLE";
    s->if_exists = sl_p_take2(p, "IF", "EXISTS");
    SL_TRY(sl_p_table(p, &s->name));
    return sl_p_done(p);
}

static int parse_use(struct sl_parser *p)
{
    struct sl_word w;

    p->s->kind = SL_STMT_USE;
    p->s->verb = "USE";
    if (p->i + 1 < p->t->n)
        sl_p_take(p, "DATABASE");
    SL_TRY(sl_p_ident(p, "the database's name", &w));
    p->s->name = (struct sl_table_name){.db = w.text, .from = w.from};
    return sl_p_done(p);
}

static int show_tables(struct sl_parser *p)
{
    struct sl_word w;

    p->s->kind = SL_STMT_SHOW_TABLES;
    p->s->verb = "SHOW TABLES";
    if (sl_p_take(p, "IN") || sl_p_take(p, "FROM")) {
        SL_TRY(sl_p_ident(p, "the database's name", &w));
        p->s->name = (struct sl_table_name){.db = w.text, .from = w.from};
    }
    if (sl_p_take(p, "LIKE"))
        SL_TRY(sl_p_string(p, "the pattern", &p->s->new_name));
    return sl_p_done(p);
}

static int show_of(struct sl_parser *p, enum sl_stmt_kind kind, const char *verb)
{
    p->s->kind = kind;
    p->s->verb = verb;
    if (!sl_p_take(p, "IN") && !sl_p_take(p, "FROM"))
        sl_p_take(p, "OF");
    SL_TRY(sl_p_table(p, &p->s->name));
    if (kind == SL_STMT_SHOW_PARTITIONS && sl_p_take(p, "PARTITION")) {
        p->s->has_partition = true;
        SL_TRY(sl_p_pairs(p, "a partition column", &p->s->pairs));
    }
    return sl_p_done(p);
}

static int parse_show(struct sl_parser *p)
{
    if (sl_p_take(p, "DATABASES") || sl_p_take(p, "SCHEMAS")) {
        p->s->kind = SL_STMT_SHOW_DATABASES;
        p->s->verb = "SHOW DATABASES";
        return sl_p_done(p);
    }
    if (sl_p_take2(p, "CURRENT", "DATABASE")) {
        p->s->kind = SL_STMT_SHOW_CURRENT_DATABASE;
        p->s->verb = "SHOW CURRENT DATABASE";
        return sl_p_done(p);
    }
    if (sl_p_take(p, "TABLES"))
        return show_tables(p);
    if (sl_p_take(p, "PARTITIONS"))
        return show_of(p, SL_STMT_SHOW_PARTITIONS, "SHOW PARTITIONS");
    if (sl_p_take2(p, "CREATE", "TABLE"))
        return show_of(p, SL_STMT_SHOW_CREATE_TABLE, "SHOW CREATE TABLE");
    if (sl_p_take(p, "SNAPSHOTS"))
        return show_of(p, SL_STMT_SHOW_SNAPSHOTS, "SHOW SNAPSHOTS");
    if (sl_p_take(p, "COLUMNS"))
        return show_of(p, SL_STMT_DESCRIBE, "DESCRIBE");
    return sl_p_wants(p, "DATABASES, TABLES, PARTITIONS, SNAPSHOTS, COLUMNS or CREATE TABLE");
}

static bool begins_query(const struct sl_parser *p)
{
    static const char *const words[] = {"SELECT", "WITH",  "VALUES",  "FROM",      "TABLE",
                                        "(",      "PIVOT", "UNPIVOT", "SUMMARIZE", NULL};

    for (size_t k = 0; words[k]; k++)
        if (sl_p_is(p, 0, words[k]))
            return true;
    return false;
}

static int parse_describe(struct sl_parser *p)
{
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_DESCRIBE;
    s->verb = "DESCRIBE";
    if (begins_query(p) && !sl_p_is(p, 0, "TABLE")) {
        s->kind = SL_STMT_QUERY;
        s->query = (struct sl_range){0, p->t->n};
        return SL_OK;
    }
    sl_p_take(p, "TABLE");
    if (p->i + 1 < p->t->n)
        sl_p_take(p, "EXTENDED");
    SL_TRY(sl_p_table(p, &s->name));
    return sl_p_done(p);
}

static int parse_truncate(struct sl_parser *p)
{
    p->s->kind = SL_STMT_TRUNCATE;
    p->s->verb = "TRUNCATE TABLE";
    sl_p_take(p, "TABLE");
    SL_TRY(sl_p_table(p, &p->s->name));
    return sl_p_done(p);
}

static int parse_explain(struct sl_parser *p)
{
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_EXPLAIN;
    s->verb = "EXPLAIN";
    s->analyze = sl_p_take(p, "ANALYZE");
    if (sl_p_is(p, 0, "INSERT")) {
        struct sl_statement inner = {.arena = SL_ARENA_INIT, .primary_key_at = SIZE_MAX};
        struct sl_parser q = {p->t, p->i + 1, &inner, p->err};
        int rc = sl_p_insert(&q);

        s->query = inner.query;
        sl_statement_release(&inner);
        return rc;
    }
    s->query = (struct sl_range){p->i, p->t->n};
    if (!begins_query(p))
        return sl_p_wants(p, "a query");
    return SL_OK;
}

static int parse_set(struct sl_parser *p)
{
    struct sl_statement *s = p->s;
    struct sl_pair *pair;

    s->kind = SL_STMT_SET;
    s->verb = "SET";
    if (sl_p_end(p))
        return SL_OK;
    pair = sl_vec_push(&s->pairs);
    if (!pair)
        return sl_err_nomem(p->err);
    SL_TRY(take_key(p, "a setting's name", &pair->key));
    if (!sl_p_take(p, "="))
        SL_TRY(sl_p_need(p, "TO"));
    SL_TRY(take_literal(p, pair));
    return sl_p_done(p);
}

static int parse_reset(struct sl_parser *p)
{
    struct sl_pair *pair;

    p->s->kind = SL_STMT_RESET;
    p->s->verb = "RESET";
    if (sl_p_end(p))
        return SL_OK;
    pair = sl_vec_push(&p->s->pairs);
    if (!pair)
        return sl_err_nomem(p->err);
    SL_TRY(take_key(p, "a setting's name", &pair->key));
    return sl_p_done(p);
}

/* ---- dispatch ---- */

static int parse_query(struct sl_parser *p)
{
    p->s->kind = SL_STMT_QUERY;
    p->s->verb = "SELECT";
    p->s->query = (struct sl_range){0, p->t->n};
    return SL_OK;
}

static int unknown(struct sl_parser *p)
{
    const sl_str word = p->t->v[0].text;

    p->s->verb = "the statement";
    sl_p_fail(p, p->t->v[0].from, "no statement begins with \"%.*s\"",
              (int)(word.n > 40 ? 40 : word.n), word.p);
    sl_err_hint(p->err, "SELECT, INSERT, UPDATE, DELETE, MERGE, CREATE, ALTER, DROP, TRUNCATE, SHOW, "
                        "DESCRIBE, COPY, EXPLAIN, SET, USE and CALL do");
    return SL_ESQL;
}

int sl_statement_parse(const struct sl_tokens *tokens, struct sl_statement *out, sl_err *err)
{
    static const struct {
        const char *word;
        int (*parse)(struct sl_parser *p);
    } ours[] = {
        {"CREATE", sl_p_create},    {"DROP", parse_drop},         {"ALTER", sl_p_alter},
        {"USE", parse_use},         {"SHOW", parse_show},         {"DESCRIBE", parse_describe},
        {"DESC", parse_describe},   {"INSERT", sl_p_insert},      {"UPDATE", sl_p_update},
        {"DELETE", sl_p_delete},    {"MERGE", sl_p_merge},        {"TRUNCATE", parse_truncate}, {"COPY", sl_p_copy_to},
        {"EXPLAIN", parse_explain}, {"SET", parse_set},           {"RESET", parse_reset},
        {"CALL", sl_p_call},
    };
    struct sl_parser p = {tokens, 0, out, err};

    *out = (struct sl_statement){
        .arena = SL_ARENA_INIT, .primary_key_at = SIZE_MAX, .verb = "the statement"};
    if (begins_query(&p))
        return parse_query(&p);
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) {
        if (sl_p_take(&p, ours[k].word))
            return ours[k].parse(&p);
    }
    return unknown(&p);
}

void sl_statement_release(struct sl_statement *s)
{
    sl_free(s->columns.v);
    sl_free(s->pairs.v);
    sl_free(s->fields.v);
    sl_free(s->partition_keys.v);
    sl_free(s->primary_keys.v);
    for (size_t i = 0; i < s->clauses.n; i++)
        sl_free(s->clauses.v[i].sets.v);
    sl_free(s->clauses.v);
    sl_free(s->table_options.v);
    sl_free(s->changes.v);
    sl_arena_release(&s->arena);
    *s = (struct sl_statement){.arena = SL_ARENA_INIT};
}
