/* type_parse.c - types from text: Paimon's spellings in schema files, Flink's and DuckDB's in SQL. */
#include <string.h>

#include "data/type.h"
#include "data/type_priv.h"

enum { DEPTH_MAX = 64 };

struct parser {
    struct sl_arena *a;
    sl_str text;
    size_t at;
    bool sql;  /* SQL's meaning of VARCHAR, BLOB and others; schema files have Paimon's */
    sl_err *err;
};

struct spelling {
    const char *name;
    enum sl_kind kind;
    int32_t paimon, sql; /* precision or length if none is given: in schema files, in SQL; -1: not a name there */
    bool takes;          /* may a number in parentheses follow */
};

static const struct spelling spellings[] = {
    {"BOOLEAN", SL_BOOLEAN, 0, 0, false},    {"BOOL", SL_BOOLEAN, -1, 0, false},
    {"TINYINT", SL_TINYINT, 0, 0, false},    {"INT1", SL_TINYINT, -1, 0, false},
    {"SMALLINT", SL_SMALLINT, 0, 0, false},  {"INT2", SL_SMALLINT, -1, 0, false},
    {"INT", SL_INT, 0, 0, false},            {"INTEGER", SL_INT, 0, 0, false},
    {"INT4", SL_INT, -1, 0, false},          {"BIGINT", SL_BIGINT, 0, 0, false},
    {"INT8", SL_BIGINT, -1, 0, false},       {"LONG", SL_BIGINT, -1, 0, false},
    {"FLOAT", SL_FLOAT, 0, 0, false},        {"REAL", SL_FLOAT, -1, 0, false},
    {"FLOAT4", SL_FLOAT, -1, 0, false},      {"FLOAT8", SL_DOUBLE, -1, 0, false},
    {"DOUBLE", SL_DOUBLE, 0, 0, false},      {"DATE", SL_DATE, 0, 0, false},
    {"CHAR", SL_CHAR, 1, 1, true},           {"VARCHAR", SL_VARCHAR, 1, SL_LENGTH_MAX, true},
    {"STRING", SL_VARCHAR, SL_LENGTH_MAX, SL_LENGTH_MAX, false},
    {"TEXT", SL_VARCHAR, -1, SL_LENGTH_MAX, false},
    {"BINARY", SL_BINARY, 1, 1, true},       {"VARBINARY", SL_VARBINARY, 1, SL_LENGTH_MAX, true},
    {"BYTES", SL_VARBINARY, SL_LENGTH_MAX, SL_LENGTH_MAX, false},
    {"BYTEA", SL_VARBINARY, -1, SL_LENGTH_MAX, false},
    {"TIME", SL_TIME, 0, 0, true},           {"TIMESTAMP", SL_TIMESTAMP, 6, 6, true},
    {"DATETIME", SL_TIMESTAMP, -1, 6, true}, {"TIMESTAMP_S", SL_TIMESTAMP, -1, 0, false},
    {"TIMESTAMP_MS", SL_TIMESTAMP, -1, 3, false}, {"TIMESTAMP_NS", SL_TIMESTAMP, -1, 9, false},
    {"TIMESTAMP_LTZ", SL_TIMESTAMP_LTZ, 6, 6, true}, {"TIMESTAMPTZ", SL_TIMESTAMP_LTZ, -1, 6, true},
    {"VARIANT", SL_VARIANT, 0, 0, false},
};

static void skip_space(struct parser *p)
{
    while (p->at < p->text.n && memchr(" \t\r\n\f\v", p->text.p[p->at], 6))
        p->at++;
}

static char peek(struct parser *p)
{
    skip_space(p);
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static bool take(struct parser *p, char c)
{
    if (peek(p) != c || p->at >= p->text.n)
        return false;
    p->at++;
    return true;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

static sl_str peek_word(struct parser *p)
{
    size_t end;

    skip_space(p);
    for (end = p->at; end < p->text.n && word_char(p->text.p[end]); end++)
        ;
    return sl_str_sub(p->text, p->at, end);
}

static bool take_word(struct parser *p, const char *word)
{
    sl_str w = peek_word(p);

    if (w.n == 0 || !sl_str_ieqc(w, word))
        return false;
    p->at += w.n;
    return true;
}

/* All of WORDS, separated by single spaces in it, or nothing. */
static bool take_words(struct parser *p, const char *words)
{
    size_t start = p->at;

    for (const char *w = words; *w;) {
        char one[32];
        size_t n = strcspn(w, " ");

        snprintf(one, sizeof one, "%.*s", (int)n, w);
        if (!take_word(p, one)) {
            p->at = start;
            return false;
        }
        w += n;
        w += *w == ' ';
    }
    return true;
}

static int fail(struct parser *p, const char *what)
{
    sl_str near = sl_str_sub(p->text, p->at, p->at + 40);
    int rc = p->sql ? SL_ESQL : SL_ECORRUPT;

    if (near.n)
        sl_err_set(p->err, rc, "a type cannot be read: %s, found \"" SL_STRF "\"", what, SL_STRV(near));
    else
        sl_err_set(p->err, rc, "a type cannot be read: %s, found the end", what);
    if (p->err)
        p->err->offset = p->sql ? (int64_t)p->at : -1;
    return rc;
}

static int number(struct parser *p, int64_t least, int64_t greatest, const char *what, int32_t *out)
{
    sl_str w = peek_word(p);
    int64_t v;

    if (!sl_parse_i64(w, &v) || v < least || v > greatest)
        return fail(p, what);
    p->at += w.n;
    *out = (int32_t)v;
    return SL_OK;
}

/* "name" or `name` with the quote doubled inside, 'text' likewise, or a bare word. */
static int quoted(struct parser *p, char quote, const char **out)
{
    size_t from = ++p->at, n = 0;

    while (p->at < p->text.n) {
        if (p->text.p[p->at] == quote) {
            if (p->at + 1 >= p->text.n || p->text.p[p->at + 1] != quote)
                break;
            p->at++;
        }
        p->at++;
    }
    if (p->at >= p->text.n)
        return fail(p, "a quote is not closed");
    char *s = sl_arena_strdup(p->a, sl_str_sub(p->text, from, p->at));
    if (!s)
        return sl_err_nomem(p->err);
    for (size_t i = from; i < p->at; i++) {
        if (p->text.p[i] == quote)
            i++;
        if (p->text.p[i] == '\0')
            return fail(p, "a zero byte in a name");
        s[n++] = p->text.p[i];
    }
    s[n] = '\0';
    p->at++;
    *out = s;
    return SL_OK;
}

static int name(struct parser *p, const char **out)
{
    char c = peek(p);

    if (c == '`' || c == '"') {
        SL_TRY(quoted(p, c, out));
        return **out ? SL_OK : fail(p, "a name is empty");
    }
    sl_str w = peek_word(p);
    if (w.n == 0)
        return fail(p, "a name is needed");
    p->at += w.n;
    *out = sl_arena_strdup(p->a, w);
    return *out ? SL_OK : sl_err_nomem(p->err);
}

static int parse(struct parser *p, int depth, const struct sl_type **out);

static int close_with(struct parser *p, char open)
{
    char c = open == '<' ? '>' : ')';

    return take(p, c) ? SL_OK : fail(p, c == '>' ? "\">\" is needed" : "\")\" is needed");
}

static int open_with(struct parser *p, char *open)
{
    *open = peek(p);
    if (*open != '<' && *open != '(')
        return fail(p, "\"<\" is needed");
    p->at++;
    return SL_OK;
}

static int parse_row(struct parser *p, int depth, struct sl_type *t)
{
    SL_VEC(struct sl_field) v = {0};
    struct sl_field *fields;
    int rc = SL_OK;
    char open;

    SL_GO(open_with(p, &open));
    do {
        struct sl_field *f = sl_vec_push(&v);
        if (!f)
            SL_GOTO_NOMEM(p->err);
        SL_GO(name(p, &f->name));
        (void)take(p, ':');
        SL_GO(parse(p, depth + 1, &f->type));
        if (take_word(p, "COMMENT") || peek(p) == '\'') {
            if (peek(p) != '\'') {
                rc = fail(p, "a text in quotes is needed");
                goto done;
            }
            SL_GO(quoted(p, '\'', &f->comment));
        }
        for (size_t i = 0; i + 1 < v.n; i++)
            if (strcmp(v.v[i].name, f->name) == 0) {
                rc = fail(p, "two members have one name");
                goto done;
            }
    } while (take(p, ','));
    SL_GO(close_with(p, open));
    fields = sl_arena_array(p->a, v.n, sizeof *fields);
    if (!fields)
        SL_GOTO_NOMEM(p->err);
    memcpy(fields, v.v, v.n * sizeof *fields);
    t->fields = fields;
    t->nfields = v.n;
done:
    sl_free(v.v);
    return rc;
}

static int parse_nested(struct parser *p, int depth, struct sl_type *t)
{
    char open;

    if (t->kind == SL_ROW)
        return parse_row(p, depth, t);
    SL_TRY(open_with(p, &open));
    SL_TRY(parse(p, depth + 1, t->kind == SL_MAP ? &t->key : &t->element));
    if (t->kind == SL_MAP) {
        if (!take(p, ','))
            return fail(p, "\",\" is needed");
        SL_TRY(parse(p, depth + 1, &t->value));
    } else if (t->kind == SL_VECTOR) {
        if (!take(p, ','))
            return fail(p, "\",\" is needed");
        SL_TRY(number(p, 1, SL_LENGTH_MAX, "the length of the VECTOR is needed", &t->length));
    }
    return close_with(p, open);
}

static int parse_decimal(struct parser *p, struct sl_type *t)
{
    t->precision = 10;
    t->scale = 0;
    if (!take(p, '('))
        return SL_OK;
    SL_TRY(number(p, 1, 38, "a precision from 1 to 38 is needed", &t->precision));
    if (take(p, ','))
        SL_TRY(number(p, 0, t->precision, "a scale from 0 to the precision is needed", &t->scale));
    return close_with(p, '(');
}

/* What follows the name of a simple type: a number, or the words about time zones. */
static int parse_simple(struct parser *p, const struct spelling *s, struct sl_type *t)
{
    bool timed = s->kind == SL_TIME || s->kind == SL_TIMESTAMP || s->kind == SL_TIMESTAMP_LTZ;
    int32_t n = p->sql ? s->sql : s->paimon;

    if (s->takes && take(p, '(')) {
        if (timed)
            SL_TRY(number(p, 0, 9, "a precision from 0 to 9 is needed", &n));
        else
            SL_TRY(number(p, 1, SL_LENGTH_MAX, "a length from 1 to 2147483647 is needed", &n));
        SL_TRY(close_with(p, '('));
    }
    t->kind = s->kind;
    if (timed)
        t->precision = n;
    else
        t->length = n;
    if (s->kind == SL_DOUBLE)
        (void)take_word(p, "PRECISION");
    if (s->kind == SL_TIME || s->kind == SL_TIMESTAMP)
        (void)take_words(p, "WITHOUT TIME ZONE");
    if (s->kind == SL_TIMESTAMP && (take_words(p, "WITH LOCAL TIME ZONE") || (p->sql && take_words(p, "WITH TIME ZONE"))))
        t->kind = SL_TIMESTAMP_LTZ;
    return SL_OK;
}

/* GEOMETRY(...) and such: kept as they are written. */
static int parse_raw(struct parser *p, size_t from, struct sl_type *t)
{
    if (take(p, '(')) {
        size_t open = 1;

        while (p->at < p->text.n && open) {
            open += p->text.p[p->at] == '(';
            open -= p->text.p[p->at] == ')';
            p->at++;
        }
        if (open)
            return fail(p, "\")\" is needed");
    }
    t->raw = sl_arena_strdup(p->a, sl_str_sub(p->text, from, p->at));
    return t->raw ? SL_OK : sl_err_nomem(p->err);
}

static int unknown(struct parser *p, sl_str word)
{
    size_t at = p->at;

    if (word.n == 0)
        return fail(p, "the name of a type is needed");
    sl_err_set(p->err, SL_EUNSUPPORTED, "the type \"" SL_STRF "\" is not supported", (int)(word.n < 60 ? word.n : 60), word.p);
    if (p->err && p->sql)
        p->err->offset = (int64_t)at;
    sl_err_hint(p->err, "types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, BYTES, DATE, "
                        "TIMESTAMP(p), TIMESTAMP(p) WITH LOCAL TIME ZONE, ARRAY<t>, MAP<k, v>, ROW<name t, ...>");
    return SL_EUNSUPPORTED;
}

static int parse_named(struct parser *p, int depth, struct sl_type *t)
{
    static const struct {
        const char *name;
        enum sl_kind kind;
    } nested[] = {{"ARRAY", SL_ARRAY}, {"LIST", SL_ARRAY}, {"MAP", SL_MAP}, {"ROW", SL_ROW}, {"STRUCT", SL_ROW},
                  {"MULTISET", SL_MULTISET}, {"VECTOR", SL_VECTOR}};
    sl_str w = peek_word(p);
    size_t from = p->at;

    if (sl_str_ieqc(w, "DECIMAL") || sl_str_ieqc(w, "NUMERIC") || sl_str_ieqc(w, "DEC")) {
        p->at += w.n;
        t->kind = SL_DECIMAL;
        return parse_decimal(p, t);
    }
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
        if (sl_str_ieqc(w, nested[i].name) && (p->sql || nested[i].kind != SL_ROW)) { /* a ROW of text has no field ids */
            p->at += w.n;
            t->kind = nested[i].kind;
            return parse_nested(p, depth, t);
        }
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        const struct spelling *s = &spellings[i];

        if (sl_str_ieqc(w, s->name) && (p->sql ? s->sql : s->paimon) >= 0) {
            p->at += w.n;
            return parse_simple(p, s, t);
        }
    }
    if (sl_str_ieqc(w, "BLOB")) {
        p->at += w.n;
        t->kind = p->sql ? SL_VARBINARY : SL_BLOB;
        t->length = p->sql ? SL_LENGTH_MAX : 0;
        return SL_OK;
    }
    if (!p->sql && (sl_str_ieqc(w, "GEOMETRY") || sl_str_ieqc(w, "GEOGRAPHY"))) {
        p->at += w.n;
        t->kind = sl_str_ieqc(w, "GEOMETRY") ? SL_GEOMETRY : SL_GEOGRAPHY;
        return parse_raw(p, from, t);
    }
    return unknown(p, w);
}

static void nullability(struct parser *p, struct sl_type *t)
{
    if (take_words(p, "NOT NULL"))
        t->nullable = false;
    else
        (void)take_word(p, "NULL");
}

static int parse(struct parser *p, int depth, const struct sl_type **out)
{
    struct sl_type *t = sl_arena_alloc(p->a, sizeof *t);

    if (!t)
        return sl_err_nomem(p->err);
    if (depth > DEPTH_MAX)
        return fail(p, "types are nested too deep");
    t->nullable = true;
    SL_TRY(parse_named(p, depth, t));
    nullability(p, t);
    /* The suffix forms: INT NOT NULL ARRAY, INT[]. */
    for (int suffixes = 0;; suffixes++) {
        bool list = take_word(p, "ARRAY") || (p->sql && take(p, '['));

        if (!list && !take_word(p, "MULTISET"))
            break;
        if (suffixes + depth > DEPTH_MAX)
            return fail(p, "types are nested too deep");
        if (list && p->at && p->text.p[p->at - 1] == '[' && !take(p, ']'))
            return fail(p, "\"]\" is needed, since lists of a fixed length are not supported");
        struct sl_type *outer = sl_arena_alloc(p->a, sizeof *outer);
        if (!outer)
            return sl_err_nomem(p->err);
        outer->kind = list ? SL_ARRAY : SL_MULTISET;
        outer->nullable = true;
        outer->element = t;
        t = outer;
        nullability(p, t);
    }
    *out = t;
    return SL_OK;
}

static int depth_of(const struct sl_type *t)
{
    int deepest = 0;

    if (!t || sl_type_atomic(t))
        return 0;
    for (size_t i = 0; i < t->nfields; i++) {
        int d = depth_of(t->fields[i].type);

        deepest = d > deepest ? d : deepest;
    }
    const struct sl_type *inner[] = {t->element, t->key, t->value};
    for (size_t i = 0; i < 3; i++) {
        int d = depth_of(inner[i]);

        deepest = d > deepest ? d : deepest;
    }
    return deepest + 1;
}

static int parse_all(struct parser *p, int depth, const struct sl_type **out)
{
    if (p->text.n && memchr(p->text.p, 0, p->text.n))
        return fail(p, "it has a zero byte in it");
    SL_TRY(parse(p, 0, out));
    skip_space(p);
    if (p->at < p->text.n)
        return fail(p, "something follows it");
    return depth + depth_of(*out) <= DEPTH_MAX ? SL_OK : fail(p, "types are nested too deep");
}

int sl_type_from_sql(struct sl_arena *a, sl_str text, const struct sl_type **out, sl_err *err)
{
    struct parser p = {a, text, 0, true, err};

    return parse_all(&p, 0, out);
}

int sl_type_from_paimon(struct sl_arena *a, sl_str text, int depth, const struct sl_type **out, sl_err *err)
{
    struct parser p = {a, text, 0, false, err};

    return parse_all(&p, depth, out);
}
