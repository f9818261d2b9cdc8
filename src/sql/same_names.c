/*
 * same_names.c - columns whose names differ only in case, which DuckDB does not tell apart.
 *
 * While a query that reads such a table runs, each of these names is an alias of its own, in every
 * table of ours that has it and wherever the user's text names it: found by the tree, by exact case,
 * and replaced in the text. What is shown has the names as they are. A name that means several of
 * them, and none exactly, is refused at its place.
 */
#include <string.h>

#include "sql/query.h"

#define MARK '\x1f' /* in an alias, before its number: what nobody types */

struct naming {
    struct sl_query *q;
    const struct sl_sql_text *plain;
    struct sl_tree_mentions m;
    bool *covered; /* tokens that are known: references, names of tables */
    sl_err *err;
};

static bool same(sl_str a, sl_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        const unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];

        if ((x >= 'A' && x <= 'Z' ? x + 32 : x) != (y >= 'A' && y <= 'Z' ? y + 32 : y))
            return false;
    }
    return true;
}

/* ---- the names ---- */

static const struct sl_same_name *exactly(const struct sl_query *q, sl_str name)
{
    for (size_t i = 0; i < q->same.n; i++)
        if (sl_str_eqc(name, q->same.v[i].name))
            return &q->same.v[i];
    return NULL;
}

static bool is_folded(const struct sl_query *q, sl_str name)
{
    for (size_t i = 0; i < q->same.n; i++)
        if (same(name, sl_str_c(q->same.v[i].name)))
            return true;
    return false;
}

static int add_name(struct sl_query *q, const char *name, sl_err *err)
{
    struct sl_same_name *to;

    if (exactly(q, sl_str_c(name)))
        return SL_OK;
    to = sl_vec_push(&q->same);
    if (!to)
        return sl_err_nomem(err);
    to->name = name;
    to->alias = sl_arena_printf(&q->arena, "%s%c%zu", name, MARK, q->same.n);
    return to->alias ? SL_OK : sl_err_nomem(err);
}

static int gather(struct sl_query *q, sl_err *err)
{
    for (size_t i = 0; i < q->tables.n; i++) {
        const struct sl_schema *s = q->tables.v[i]->schema;

        for (size_t k = 0; k < s->nfields; k++) {
            if (!sl_schema_folds(s, k))
                continue;
            if (q->tables.v[i]->log)
                return sl_err_set(err, SL_EUNSUPPORTED, "column \"%s\" has the name of another one but for its case, which is not "
                                  "supported in a log table", s->fields[k].name);
            SL_TRY(add_name(q, s->fields[k].name, err));
        }
    }
    for (size_t i = 0; q->same.n > 0 && i < q->tables.n; i++) {
        const struct sl_schema *s = q->tables.v[i]->schema;

        for (size_t k = 0; k < s->nfields; k++)
            if (!q->tables.v[i]->log && is_folded(q, sl_str_c(s->fields[k].name)))
                SL_TRY(add_name(q, s->fields[k].name, err));
    }
    return SL_OK;
}

static int name_columns(struct sl_query *q, struct sl_query_table *t, sl_err *err)
{
    const struct sl_schema *s = t->schema;
    const char **names = sl_arena_array(&q->arena, s->nfields, sizeof *names);
    struct sl_field *fields = sl_arena_array(&q->arena, s->nfields, sizeof *fields);

    if (!names || !fields)
        return sl_err_nomem(err);
    for (size_t i = 0; i < s->nfields; i++) {
        const struct sl_same_name *n = exactly(q, sl_str_c(s->fields[i].name));

        fields[i] = s->fields[i];
        fields[i].name = names[i] = n ? n->alias : s->fields[i].name;
    }
    t->names = names;
    t->fields = fields;
    t->empty.fields = fields;
    return SL_OK;
}

/* ---- the user's text ---- */

static size_t token_of(const struct naming *n, size_t at)
{
    const size_t byte = sl_sql_origin(n->plain, at);
    size_t i = 0;

    while (i < n->q->tokens->n && n->q->tokens->v[i].to <= byte)
        i++;
    return i;
}

static bool is(const struct naming *n, size_t token, const char *word)
{
    return token < n->q->tokens->n && sl_token_is(&n->q->tokens->v[token], word);
}

static bool says(const struct naming *n, size_t token, sl_str name)
{
    struct sl_buf b = SL_BUF_INIT;
    bool yes = false;

    if (token < n->q->tokens->n && (n->q->tokens->v[token].kind == SL_TOKEN_WORD || n->q->tokens->v[token].kind == SL_TOKEN_QUOTED)) {
        sl_token_value(&n->q->tokens->v[token], &b);
        yes = !b.failed && sl_str_eq(sl_buf_view(&b), name);
    }
    sl_buf_release(&b);
    return yes;
}

static void put_alias(struct naming *n, size_t token, const struct sl_same_name *name)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_buf_sql_ident(&b, sl_str_c(name->alias));
    n->q->dialect.edits.failed |= b.failed;
    sl_edit_add(&n->q->dialect.edits, n->q->tokens->v[token].from, n->q->tokens->v[token].to, sl_buf_view(&b));
    sl_buf_release(&b);
}

static int refuse(struct naming *n, size_t token, sl_str name, const char *why, const char *hint)
{
    sl_err_set(n->err, SL_EUNSUPPORTED, "\"" SL_STRF "\" %s", SL_STRV(name), why);
    sl_err_hint(n->err, "%s", hint);
    return sl_sql_at(SL_EUNSUPPORTED, token < n->q->tokens->n ? n->q->tokens->v[token].from : n->q->tokens->from, n->err);
}

static bool listed(const sl_str *v, size_t count, sl_str name)
{
    for (size_t i = 0; i < count; i++)
        if (same(v[i], name))
            return true;
    return false;
}

static bool has_folded(const struct sl_schema *s)
{
    for (size_t i = 0; i < s->nfields; i++)
        if (sl_schema_folds(s, i))
            return true;
    return false;
}

/* "SELECT t FROM t": the whole row as one value, whose members would have one name. */
static bool is_whole_row(const struct naming *n, sl_str name)
{
    for (size_t i = 0; i < n->q->tables.n; i++)
        for (size_t k = 0; k < n->q->tables.v[i]->schema->nfields; k++)
            if (same(name, sl_str_c(n->q->tables.v[i]->schema->fields[k].name)))
                return false;
    for (size_t i = 0; i < n->q->scans.n; i++)
        if (n->q->scans.v[i].table && same(n->q->scans.v[i].called, name) && has_folded(n->q->scans.v[i].table->schema))
            return true;
    return false;
}

/* ---- references ---- */

static sl_str part(const struct sl_tree_ref *r, size_t i)
{
    const json_t *p = json_array_get(r->parts, i);

    return (sl_str){json_string_value(p), json_string_length(p)};
}

static const struct sl_query_scan *scan_called(const struct naming *n, sl_str name)
{
    for (size_t i = 0; i < n->q->scans.n; i++)
        if (n->q->scans.v[i].table && same(n->q->scans.v[i].called, name))
            return &n->q->scans.v[i];
    return NULL;
}

/* Which part is the column: behind a table's name, or behind database and table. */
static size_t column_part(const struct naming *n, const struct sl_tree_ref *r)
{
    const size_t count = json_array_size(r->parts);

    if (count > 1 && listed(n->m.relations.v, n->m.relations.n, part(r, 0)))
        return 1;
    if (count > 2 && scan_called(n, part(r, 1)))
        return 2;
    return 0;
}

/* The one that NAME means among the columns S has, or, S NULL, among all: exactly, else the only one. *MANY: several. */
static const struct sl_same_name *meant(const struct naming *n, const struct sl_schema *s, sl_str name, bool *many)
{
    const struct sl_same_name *only = NULL;

    *many = false;
    for (size_t i = 0; i < n->q->same.n; i++) {
        const struct sl_same_name *one = &n->q->same.v[i];

        if (!same(name, sl_str_c(one->name)) || (s && sl_schema_index(s, sl_str_c(one->name)) < 0))
            continue;
        if (sl_str_eqc(name, one->name)) {
            *many = false;
            return one;
        }
        *many = only != NULL;
        only = one;
    }
    return *many ? NULL : only;
}

static int one_ref(struct naming *n, const struct sl_tree_ref *r)
{
    const size_t column = column_part(n, r);
    const sl_str name = part(r, column), before = column > 0 ? part(r, column - 1) : (sl_str){NULL, 0};
    const struct sl_query_scan *scan = before.p ? scan_called(n, before) : NULL;
    const struct sl_same_name *to;
    bool many;

    if (r->at != SIZE_MAX)
        for (size_t i = 0, first = token_of(n, r->at); i <= column && first + 2 * i < n->q->tokens->n; i++)
            n->covered[first + 2 * i] = true;
    if (json_array_size(r->parts) == 1 && is_whole_row(n, name))
        return refuse(n, r->at == SIZE_MAX ? n->q->tokens->n : token_of(n, r->at), name,
                      "is a row with columns that differ only in case, which cannot be one value", "name the columns");
    if (!is_folded(n->q, name) || (scan && scan->table->log) ||
        (before.p && !scan && listed(n->m.foreign.v, n->m.foreign.n, before)))
        return SL_OK;
    if (r->at == SIZE_MAX)
        return refuse(n, n->q->tokens->n, name, "differs from another column only in case, and this form of a query does not tell where it "
                      "is named", "write it as a plain SELECT");
    const size_t token = token_of(n, r->at) + 2 * column;
    to = meant(n, scan ? scan->table->schema : NULL, name, &many);
    if (many && !listed(n->m.given.v, n->m.given.n, name))
        return refuse(n, token, name, "means several columns that differ only in case, and none of them exactly",
                      "write the name as the table has it");
    if (to && !says(n, token, name))
        return refuse(n, token, name, "differs from another column only in case, and is not found in the text", "write it as a plain SELECT");
    if (to)
        put_alias(n, token, to);
    return SL_OK;
}

/* ---- names that the query gives ---- */

static bool may_give(const struct naming *n, size_t token)
{
    static const char *const behind[] = {".", "(", ":=", "=>", ":"};

    if (n->covered[token] || (token > 0 && is(n, token - 1, ".")))
        return false;
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        if (is(n, token + 1, behind[i]))
            return false;
    return true;
}

/* The tree does not tell where these stand. When the text has exactly as many places, they are these. */
static int given_names(struct naming *n, const struct sl_same_name *name)
{
    const sl_str text = sl_str_c(name->name);
    size_t wanted = 0, found = 0, first = n->q->tokens->n;

    for (size_t i = 0; i < n->m.given.n; i++)
        wanted += sl_str_eq(n->m.given.v[i], text);
    for (size_t i = 0; i < n->q->tokens->n; i++) {
        if (!says(n, i, text) || !may_give(n, i))
            continue;
        first = found++ == 0 ? i : first;
    }
    if (wanted == 0)
        return SL_OK;
    if (wanted != found)
        return refuse(n, first, text, "is given as a name here, and is that of a column that differs from another one only in case",
                      "give another name");
    for (size_t i = 0; i < n->q->tokens->n; i++)
        if (says(n, i, text) && may_give(n, i))
            put_alias(n, i, name);
    return SL_OK;
}

/* ---- the whole ---- */

static int check_target(struct naming *n)
{
    const struct sl_schema *s = n->q->target ? n->q->target->schema : NULL;

    for (size_t i = 0; s && i < s->nfields; i++)
        if (is_folded(n->q, sl_str_c(s->fields[i].name)))
            return refuse(n, n->q->tokens->n, sl_str_c(s->fields[i].name),
                          "is a column of the table to change, and differs only in case from others that the statement reads",
                          "put what is read into a table of its own first");
    return SL_OK;
}

static int edit_names(struct naming *n)
{
    const struct sl_query *q = n->q;

    SL_TRY(check_target(n));
    if (n->m.pattern_at != SIZE_MAX)
        return refuse(n, token_of(n, n->m.pattern_at), SL_LIT("COLUMNS"), "cannot be used where columns differ only in case",
                      "name the columns");
    for (size_t i = 0; i < n->m.bound.n; i++)
        if (is_folded(q, n->m.bound.v[i]))
            return refuse(n, q->tokens->n, n->m.bound.v[i], "is the parameter of a lambda, and the name of columns that differ only in case",
                          "give the parameter another name");
    for (size_t i = 0; i < q->scans.n; i++)
        for (size_t k = 0; k < q->tokens->n; k++)
            n->covered[k] |= q->tokens->v[k].from >= q->scans.v[i].from && q->tokens->v[k].to <= q->scans.v[i].to;
    for (size_t i = 0; i < n->m.refs.n; i++)
        SL_TRY(one_ref(n, &n->m.refs.v[i]));
    for (size_t i = 0; i < q->same.n; i++)
        SL_TRY(given_names(n, &q->same.v[i]));
    return SL_OK;
}

int sl_same_names(struct sl_query *q, const struct sl_sql_text *plain, sl_err *err)
{
    sl_err own = SL_ERR_INIT;
    struct naming n = {.q = q, .plain = plain, .err = err ? err : &own};
    int rc;

    SL_TRY(gather(q, err));
    if (q->same.n == 0)
        return SL_OK;
    n.covered = sl_arena_array(&q->arena, q->tokens->n + 1, sizeof *n.covered);
    if (!n.covered)
        return sl_err_nomem(err);
    SL_GO(sl_tree_mentions(q->tree, &n.m, n.err));
    SL_GO(edit_names(&n));
    for (size_t i = 0; i < q->tables.n; i++)
        if (!q->tables.v[i]->log)
            SL_GO(name_columns(q, q->tables.v[i], err));
done:
    sl_tree_mentions_release(&n.m);
    return rc;
}

static bool is_plain(char ch)
{
    return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* OUT ends with "name, which DuckDB quoted for the sake of the mark: without the quote. */
static bool unquote(struct sl_buf *out)
{
    size_t i = out->n;

    while (i > 0 && is_plain(out->p[i - 1]))
        i--;
    if (i == 0 || i == out->n || out->p[i - 1] != '"' || (out->p[i] >= '0' && out->p[i] <= '9'))
        return false;
    memmove(out->p + i - 1, out->p + i, out->n - i);
    out->n--;
    return true;
}

bool sl_same_names_show(const struct sl_query *q, sl_str text, struct sl_buf *out)
{
    size_t i = 0;

    if (q->same.n == 0 || !text.p || !memchr(text.p, MARK, text.n))
        return false;
    sl_buf_reset(out);
    while (i < text.n) {
        if (text.p[i] != MARK) {
            sl_buf_ch(out, text.p[i++]);
            continue;
        }
        i++;
        while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9')
            i++;
        if (i < text.n && text.p[i] == '"' && !out->failed && unquote(out))
            i++;
    }
    return sl_buf_ok(out, NULL) == SL_OK;
}
