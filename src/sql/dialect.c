#include "sql/dialect.h"

#include <string.h>

#include "sql/java_time.h"

enum { DEPTH_MAX = 64 };

struct editor {
    const struct sl_tokens *t;
    size_t last;             /* token behind the range */
    bool in_list[DEPTH_MAX]; /* by depth of brackets: between SELECT and FROM */
    int depth;
    struct sl_dialect *out;
    sl_err *err;
};

/* The arguments of a call, as token ranges. */
struct call {
    size_t open, close; /* tokens ( and ) */
    struct sl_range args[3];
    size_t nargs; /* may be more than fit */
};

static bool is(const struct editor *e, size_t i, const char *word)
{
    return i < e->last && sl_token_is(&e->t->v[i], word);
}

static bool is_kind(const struct editor *e, size_t i, enum sl_token_kind kind)
{
    return i < e->last && e->t->v[i].kind == kind;
}

static int bracket(const struct editor *e, size_t i)
{
    if (is(e, i, "(") || is(e, i, "[") || is(e, i, "{"))
        return 1;
    return is(e, i, ")") || is(e, i, "]") || is(e, i, "}") ? -1 : 0;
}

static bool find_call(const struct editor *e, size_t open, struct call *c)
{
    int depth = 0;
    size_t from = open + 1;

    *c = (struct call){.open = open};
    for (size_t i = open; i < e->last; i++) {
        depth += bracket(e, i);
        if (depth == 0 || (depth == 1 && is(e, i, ","))) {
            if (i > from || c->nargs > 0) {
                if (c->nargs < 3)
                    c->args[c->nargs] = (struct sl_range){from, i};
                c->nargs++;
            }
            from = i + 1;
        }
        if (depth == 0) {
            c->close = i;
            return true;
        }
    }
    return false;
}

static bool is_literal(const struct editor *e, struct sl_range r)
{
    return r.last == r.first + 1 && e->t->v[r.first].kind == SL_TOKEN_STRING;
}

static void replace_token(struct editor *e, size_t i, const char *text)
{
    sl_edit_addc(&e->out->edits, e->t->v[i].from, e->t->v[i].to, text);
}

static void insert_before(struct editor *e, size_t i, const char *text)
{
    sl_edit_addc(&e->out->edits, e->t->v[i].from, e->t->v[i].from, text);
}

static void insert_after(struct editor *e, size_t i, const char *text)
{
    sl_edit_addc(&e->out->edits, e->t->v[i].to, e->t->v[i].to, text);
}

/* ---- names of result columns ---- */

static bool is_any(const struct editor *e, size_t i, const char *const *words)
{
    for (size_t k = 0; words[k]; k++)
        if (is(e, i, words[k]))
            return true;
    return false;
}

static void follow_lists(struct editor *e, size_t i)
{
    static const char *const ends[] = {"FROM",  "WHERE",     "GROUP",  "HAVING",  "ORDER",  "LIMIT",
                                       "UNION", "INTERSECT", "EXCEPT", "QUALIFY", "WINDOW", NULL};

    e->depth += bracket(e, i);
    if (e->depth < 0 || e->depth >= DEPTH_MAX)
        return;
    if (bracket(e, i) > 0)
        e->in_list[e->depth] = false;
    else if (is(e, i, "SELECT"))
        e->in_list[e->depth] = true;
    else if (is_any(e, i, ends))
        e->in_list[e->depth] = false;
}

/* A call that is all of a result column keeps the name that the user gave it by writing it. */
static void keep_name(struct editor *e, size_t first, size_t close)
{
    static const char *const before[] = {"SELECT", "DISTINCT", "ALL", ",", NULL};
    static const char *const behind[] = {",",     "FROM",  ")",     "UNION", "WHERE",
                                         "ORDER", "LIMIT", "GROUP", NULL};
    struct sl_buf name = SL_BUF_INIT, alias = SL_BUF_INIT;

    if (e->depth < 0 || e->depth >= DEPTH_MAX || !e->in_list[e->depth] || first == 0 ||
        !is_any(e, first - 1, before) || (close + 1 < e->last && !is_any(e, close + 1, behind)))
        return;
    for (size_t i = first; i <= close; i++) {
        if (i > first && e->t->v[i].from > e->t->v[i - 1].to)
            sl_buf_ch(&name, ' ');
        if (e->t->v[i].kind == SL_TOKEN_QUOTED) {
            sl_token_value(&e->t->v[i], &name);
        } else if (e->t->v[i].typographic) {
            sl_buf_ch(&name, '\'');
            sl_token_value(&e->t->v[i], &name);
            sl_buf_ch(&name, '\'');
        } else {
            sl_buf_add(&name, e->t->v[i].text);
        }
    }
    sl_buf_addc(&alias, " AS ");
    sl_buf_sql_ident(&alias, sl_buf_view(&name));
    e->out->edits.failed |= alias.failed || name.failed;
    sl_edit_add(&e->out->edits, e->t->v[close].to, e->t->v[close].to, sl_buf_view(&alias));
    sl_buf_release(&alias);
    sl_buf_release(&name);
}

static int bad_pattern(struct editor *e, size_t token, int rc)
{
    /* The offset is one in the text between the quotes. */
    if (e->err)
        sl_err_at(e->err,
                  (int64_t)e->t->v[token].from + (e->err->offset >= 0 ? e->err->offset + 1 : 0));
    return rc == SL_EINPUT ? SL_ESQL : rc;
}

static int parse_pattern(struct editor *e, size_t token, struct sl_java_pattern *out)
{
    struct sl_buf text = SL_BUF_INIT;

    sl_token_value(&e->t->v[token], &text);
    int rc = sl_buf_ok(&text, e->err);
    if (rc == SL_OK)
        rc = sl_java_pattern_parse(sl_buf_view(&text), out, e->err);
    sl_buf_release(&text);
    return rc == SL_OK ? SL_OK : bad_pattern(e, token, rc);
}

static int wrong_arguments(struct editor *e, size_t i, const char *text)
{
    sl_err_set(e->err, SL_ESQL, "%s", text);
    sl_err_at(e->err, (int64_t)e->t->v[i].from);
    return SL_ESQL;
}

/* DATE_FORMAT(time, pattern) -> strftime(CAST(time AS TIMESTAMP), pattern), or our own function. */
static int date_format(struct editor *e, size_t i, const struct call *c, size_t *next)
{
    struct sl_java_pattern pattern;
    struct sl_buf native = SL_BUF_INIT;
    const char *function = "sluice_date_format";
    int rc = SL_OK;

    (void)next;
    if (c->nargs != 2)
        return wrong_arguments(e, i, "DATE_FORMAT takes a time and a pattern");
    if (is_literal(e, c->args[1])) {
        const struct sl_token *t = &e->t->v[c->args[1].first];

        SL_TRY(parse_pattern(e, c->args[1].first, &pattern));
        if (sl_java_pattern_native(&pattern, &native)) {
            struct sl_buf quoted = SL_BUF_INIT;

            function = "strftime";
            sl_buf_sql_string(&quoted, sl_buf_view(&native));
            rc = sl_buf_ok(&quoted, e->err);
            if (rc == SL_OK)
                sl_edit_add(&e->out->edits, t->from, t->to, sl_buf_view(&quoted));
            sl_buf_release(&quoted);
        }
        sl_buf_release(&native);
    }
    replace_token(e, i, function);
    insert_before(e, c->args[0].first, "CAST(");
    insert_after(e, c->args[0].last - 1, " AS TIMESTAMP)");
    return rc;
}

/* TO_TIMESTAMP of two literals is a constant: what is wrong with it is told at its place. */
static int constant_timestamp(struct editor *e, size_t i, const struct call *c, size_t *next)
{
    struct sl_java_pattern pattern;
    struct sl_buf text = SL_BUF_INIT;
    int64_t micros = 0;
    char sql[64];

    SL_TRY(parse_pattern(e, c->args[1].first, &pattern));
    sl_token_value(&e->t->v[c->args[0].first], &text);
    int rc = sl_buf_ok(&text, e->err);
    if (rc == SL_OK)
        rc = sl_java_parse(&pattern, sl_buf_view(&text), &micros, e->err);
    sl_buf_release(&text);
    if (rc != SL_OK) {
        sl_err_at(e->err, (int64_t)e->t->v[c->args[0].first].from);
        return rc == SL_EINPUT ? SL_ESQL : rc;
    }
    snprintf(sql, sizeof sql, "make_timestamp(%lld)", (long long)micros);
    sl_edit_addc(&e->out->edits, e->t->v[i].from, e->t->v[c->close].to, sql);
    *next = c->close + 1;
    return SL_OK;
}

static int to_timestamp(struct editor *e, size_t i, const struct call *c, size_t *next)
{
    struct sl_java_pattern pattern;

    if (c->nargs == 2 && is_literal(e, c->args[0]) && is_literal(e, c->args[1]))
        return constant_timestamp(e, i, c, next);
    if (c->nargs == 2) {
        if (is_literal(e, c->args[1]))
            SL_TRY(parse_pattern(e, c->args[1].first, &pattern));
        replace_token(e, i, "sluice_to_timestamp");
        return SL_OK;
    }
    if (c->nargs != 1)
        return wrong_arguments(e, i, "TO_TIMESTAMP takes a text and a pattern, or one text");
    if (is_literal(e, c->args[0])) {
        replace_token(e, i, "CAST");
        insert_after(e, c->args[0].first, " AS TIMESTAMP");
    } else if (!(c->args[0].last == c->args[0].first + 1 &&
                 is_kind(e, c->args[0].first, SL_TOKEN_NUMBER))) {
        replace_token(e, i, "sluice_to_timestamp");
    }
    return SL_OK;
}

static int function_call(struct editor *e, size_t i, size_t *next)
{
    struct call c;

    if (!is(e, i + 1, "(") || (i > 0 && sl_token_is(&e->t->v[i - 1], ".")))
        return SL_OK;
    if (is(e, i, "sum") && is(e, i + 2, "*") && is(e, i + 3, ")")) {
        replace_token(e, i, "count");
        keep_name(e, i, i + 3);
        return SL_OK;
    }
    const bool format = is(e, i, "DATE_FORMAT");
    if ((!format && !is(e, i, "TO_TIMESTAMP")) || !find_call(e, i + 1, &c))
        return SL_OK;
    SL_TRY(format ? date_format(e, i, &c, next) : to_timestamp(e, i, &c, next));
    keep_name(e, i, c.close);
    return SL_OK;
}

/* ---- time travel ---- */

/* The value after AS OF: a literal, TIMESTAMP 'x', a call, or something in brackets. 0 if there is
 * none. */
static size_t value_end(const struct editor *e, size_t i)
{
    struct call c;

    if (is_kind(e, i, SL_TOKEN_STRING) || is_kind(e, i, SL_TOKEN_NUMBER))
        return i + 1;
    if ((is(e, i, "TIMESTAMP") || is(e, i, "DATE") || is(e, i, "TIMESTAMPTZ")) &&
        is_kind(e, i + 1, SL_TOKEN_STRING))
        return i + 2;
    if (is(e, i, "CURRENT_TIMESTAMP") && !is(e, i + 1, "("))
        return i + 1;
    if (is(e, i, "("))
        return find_call(e, i, &c) ? c.close + 1 : 0;
    if (is_kind(e, i, SL_TOKEN_WORD) && !is(e, i, "FROM") && is(e, i + 1, "("))
        return find_call(e, i + 1, &c) ? c.close + 1 : 0;
    return 0;
}

/* Recognises the clause at token I: what it says in *OUT, its end returned; 0 if it is none. */
static size_t travel_clause(const struct editor *e, size_t i, struct sl_travel *out)
{
    struct call c;
    size_t k = i, end;

    *out = (struct sl_travel){.first = i};
    if (is(e, i, "AT") && is(e, i + 1, "(") && is(e, i + 3, "=>") &&
        (is(e, i + 2, "VERSION") || is(e, i + 2, "TIMESTAMP"))) {
        if (!find_call(e, i + 1, &c))
            return 0;
        out->timestamp = is(e, i + 2, "TIMESTAMP");
        out->expr = (struct sl_range){i + 4, c.close};
        return c.close + 1;
    }
    if (is(e, k, "FOR"))
        k++;
    const bool time = is(e, k, "SYSTEM_TIME") || is(e, k, "TIMESTAMP");
    if ((!time && !is(e, k, "SYSTEM_VERSION") && !is(e, k, "VERSION")) || !is(e, k + 1, "AS") ||
        !is(e, k + 2, "OF"))
        return 0;
    end = value_end(e, k + 3);
    out->timestamp = time;
    out->expr = (struct sl_range){k + 3, end};
    return end;
}

static int add_travel(struct editor *e, struct sl_travel travel, size_t end)
{
    struct sl_travel *slot = sl_vec_push(&e->out->travel);

    if (!slot)
        return sl_err_nomem(e->err);
    travel.from = e->t->v[travel.first].from;
    travel.to = e->t->v[end - 1].to;
    *slot = travel;
    sl_edit_addc(&e->out->edits, travel.from, travel.to, " ");
    return SL_OK;
}

/* ---- all tokens ---- */

static int edit_token(struct editor *e, size_t i, size_t *next)
{
    const struct sl_token *t = &e->t->v[i];
    struct sl_buf value = SL_BUF_INIT, quoted = SL_BUF_INIT;
    struct sl_travel travel;
    size_t end;

    *next = i + 1;
    if (t->kind == SL_TOKEN_HINT) {
        travel = (struct sl_travel){.first = i, .hint = true};
        return add_travel(e, travel, i + 1);
    }
    if (t->kind == SL_TOKEN_WORD) {
        /* The first database's name is a reserved word of DuckDB's. */
        if (is(e, i, "default") && is(e, i + 1, ".")) {
            sl_buf_sql_ident(&quoted, t->text);
            e->out->edits.failed |= quoted.failed;
            sl_edit_add(&e->out->edits, t->from, t->to, sl_buf_view(&quoted));
            sl_buf_release(&quoted);
            return SL_OK;
        }
        end = i > 0 ? travel_clause(e, i, &travel) : 0;
        if (end > 0) {
            *next = end;
            return add_travel(e, travel, end);
        }
        return function_call(e, i, next);
    }
    if ((t->kind != SL_TOKEN_QUOTED || t->text.p[0] != '`') && !t->typographic)
        return SL_OK;
    sl_token_value(t, &value);
    if (t->kind == SL_TOKEN_QUOTED)
        sl_buf_sql_ident(&quoted, sl_buf_view(&value));
    else
        sl_buf_sql_string(&quoted, sl_buf_view(&value));
    int rc = value.failed ? sl_err_nomem(e->err) : sl_buf_ok(&quoted, e->err);
    /* A pattern that became strftime's was replaced already. */
    bool replaced = e->out->edits.n > 0 && e->out->edits.failed;
    for (size_t k = 0; k < e->out->edits.n && !replaced; k++)
        replaced = e->out->edits.v[k].from == t->from && e->out->edits.v[k].to == t->to;
    if (rc == SL_OK && !replaced)
        sl_edit_add(&e->out->edits, t->from, t->to, sl_buf_view(&quoted));
    sl_buf_release(&value);
    sl_buf_release(&quoted);
    return rc;
}

int sl_dialect_edit(const struct sl_tokens *t, struct sl_range r, struct sl_dialect *out,
                    sl_err *err)
{
    struct editor e = {.t = t, .last = r.last, .out = out, .err = err};
    size_t next;

    for (size_t i = r.first; i < r.last; i = next) {
        follow_lists(&e, i);
        SL_TRY(edit_token(&e, i, &next));
    }
    return out->edits.failed ? sl_err_nomem(err) : SL_OK;
}

void sl_dialect_release(struct sl_dialect *d)
{
    sl_edits_release(&d->edits);
    sl_free(d->travel.v);
    *d = (struct sl_dialect){0};
}
