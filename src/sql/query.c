#include "sql/query.h"

#include <string.h>

#include "sql/resolve.h"
#include "sql/source_table.h"
#include "table/append/system.h"

void sl_query_init(struct sl_query *q, struct sl_session *s, struct sl_conn *conn,
                   const struct sl_tokens *tokens)
{
    *q = (struct sl_query){.s = s, .conn = conn, .tokens = tokens, .arena = SL_ARENA_INIT};
}

static void free_table(struct sl_query_table *t)
{
    if (!t)
        return;
    sl_plan_free(t->plan);
    sl_append_close(t->t);
    sl_log_plan_free(t->log_plan);
    sl_log_close(t->log);
    sl_buf_release(&t->sql);
    sl_free(t->key);
    sl_free(t);
}

void sl_query_release(struct sl_query *q)
{
    struct sl_engine *e = q->conn ? sl_conn_engine(q->conn) : NULL;

    for (size_t i = 0; i < q->scans.n; i++) {
        if (q->scans.v[i].registered)
            sl_rows_unregister(e, q->scans.v[i].rows_id);
        sl_system_rows_free(q->scans.v[i].system);
        sl_source_scan_free(q->scans.v[i].source);
    }
    if (q->target_registered)
        sl_rows_unregister(e, q->target_id);
    for (size_t i = 0; i < q->tables.n; i++)
        free_table(q->tables.v[i]);
    sl_free(q->tables.v);
    sl_free(q->scans.v);
    sl_free(q->pieces.v);
    sl_free(q->same.v);
    sl_dialect_release(&q->dialect);
    sl_sql_text_release(&q->text);
    json_decref(q->tree);
    sl_arena_release(&q->arena);
    *q = (struct sl_query){.arena = SL_ARENA_INIT};
}

/* ---- text ---- */

int sl_query_add_range(struct sl_query *q, struct sl_range r, sl_err *err)
{
    struct sl_query_piece *piece = sl_vec_push(&q->pieces);

    if (!piece)
        return sl_err_nomem(err);
    piece->range = r;
    q->dialect.edits.arena = &q->arena;
    return sl_dialect_edit(q->tokens, r, &q->dialect, err);
}

int sl_query_add_text(struct sl_query *q, size_t at, const char *text, sl_err *err)
{
    struct sl_query_piece *piece = sl_vec_push(&q->pieces);
    char *copy = sl_arena_strdup(&q->arena, sl_str_c(text));

    if (!piece || !copy)
        return sl_err_nomem(err);
    piece->text = sl_str_c(copy);
    piece->at = at;
    return SL_OK;
}

static size_t range_from(const struct sl_tokens *t, struct sl_range r)
{
    return r.first < t->n ? t->v[r.first].from : t->to;
}

static size_t range_to(const struct sl_tokens *t, struct sl_range r)
{
    return r.last > r.first ? t->v[r.last - 1].to : range_from(t, r);
}

int sl_query_render(struct sl_query *q, struct sl_range r, struct sl_sql_text *out, sl_err *err)
{
    return sl_sql_render(q->tokens->text, range_from(q->tokens, r), range_to(q->tokens, r),
                         &q->dialect.edits, out, err);
}

static int render_all(struct sl_query *q, struct sl_sql_text *out, sl_err *err)
{
    sl_sql_text_release(out);
    for (size_t i = 0; i < q->pieces.n; i++) {
        const struct sl_query_piece *piece = &q->pieces.v[i];

        if (piece->text.p)
            SL_TRY(sl_sql_generate(out, piece->at, piece->text, err));
        else
            SL_TRY(sl_query_render(q, piece->range, out, err));
    }
    return sl_buf_ok(&out->buf, err);
}

/* ---- finding names ---- */

static size_t token_at(const struct sl_tokens *t, size_t byte)
{
    size_t i = 0;

    while (i < t->n && t->v[i].to <= byte)
        i++;
    return i;
}

static bool is(const struct sl_query *q, size_t token, const char *word)
{
    return token < q->tokens->n && sl_token_is(&q->tokens->v[token], word);
}

/* Behind the name that begins at token I: "a.b.c" or 'path'. */
static size_t name_end(const struct sl_query *q, size_t i)
{
    while (i + 2 < q->tokens->n && is(q, i + 1, ".") && !is(q, i, "."))
        i += 2;
    return i + 1;
}

/* Only an alias may stand between a table's name and its time travel. */
static bool only_alias(const struct sl_query *q, size_t from, size_t to)
{
    size_t i = from;

    if (i < to && is(q, i, "AS"))
        i++;
    if (i < to &&
        (q->tokens->v[i].kind == SL_TOKEN_WORD || q->tokens->v[i].kind == SL_TOKEN_QUOTED))
        i++;
    if (i < to && is(q, i, "("))
        while (i < to && !is(q, i++, ")"))
            ;
    return i == to;
}

static struct sl_travel *travel_of(struct sl_query *q, size_t end)
{
    for (size_t i = 0; i < q->dialect.travel.n; i++) {
        struct sl_travel *t = &q->dialect.travel.v[i];

        if (!t->used && t->first >= end && t->first <= end + 8 && only_alias(q, end, t->first)) {
            t->used = true;
            return t;
        }
    }
    return NULL;
}

static int find_name(struct sl_query *q, const struct sl_sql_text *plain,
                     const struct sl_tree_table *name, sl_err *err)
{
    const size_t byte = sl_sql_origin(plain, name->at);
    const size_t first = token_at(q->tokens, byte), end = name_end(q, first);

    if (sl_str_eqc(name->table, SL_QUERY_TARGET))
        return SL_OK;
    if (first >= q->tokens->n)
        return sl_err_set(err, SL_EBUG, "the table \"" SL_STRF "\" was not found in the text",
                          SL_STRV(name->table));
    const size_t before = q->scans.n;
    SL_TRY(sl_sql_at(sl_resolve(q, name, q->tokens->v[first].from, q->tokens->v[end - 1].to,
                                travel_of(q, end), err),
                     byte, err));
    if (q->scans.n == before || first == 0)
        return SL_OK;
    /* "TABLE t" and "SUMMARIZE t" take a name only. */
    struct sl_query_scan *scan = &q->scans.v[q->scans.n - 1];
    if (is(q, first - 1, "TABLE"))
        sl_edit_addc(&q->dialect.edits, q->tokens->v[first - 1].from, q->tokens->v[first - 1].to,
                     "FROM");
    else if (is(q, first - 1, "SUMMARIZE") || is(q, first - 1, "DESCRIBE"))
        scan->before = "FROM ";
    return SL_OK;
}

/* "db.t.c" is "t.c" once the table is a subquery with the alias t. */
static void shorten_columns(struct sl_query *q, const struct sl_sql_text *plain,
                            const struct sl_tree_names *names)
{
    for (size_t i = 0; i < names->columns.n; i++) {
        const struct sl_tree_column *c = &names->columns.v[i];
        bool named = false;

        for (size_t k = 0; k < names->tables.n; k++)
            named |= names->tables.v[k].alias.n == 0 &&
                     sl_str_eq(names->tables.v[k].schema, c->first) &&
                     sl_str_eq(names->tables.v[k].table, c->second);
        const size_t token = token_at(q->tokens, sl_sql_origin(plain, c->at));
        if (named && is(q, token + 1, "."))
            sl_edit_addc(&q->dialect.edits, q->tokens->v[token].from, q->tokens->v[token + 1].to,
                         "");
    }
}

static int unused_travel(const struct sl_query *q, sl_err *err)
{
    for (size_t i = 0; i < q->dialect.travel.n; i++) {
        const struct sl_travel *t = &q->dialect.travel.v[i];

        if (t->used || (t->hint && sl_str_find(q->tokens->v[t->first].text, SL_LIT("OPTIONS")) < 0))
            continue;
        sl_err_set(err, SL_ESQL, "%s does not stand behind the name of a table",
                   t->hint ? "the hint" : "time travel");
        return sl_sql_at(SL_ESQL, t->from, err);
    }
    return SL_OK;
}

static int find_names(struct sl_query *q, sl_err *err)
{
    struct sl_sql_text plain = SL_SQL_TEXT_INIT;
    struct sl_tree_names names = {{0}, {0}};
    int rc;

    SL_GO(render_all(q, &plain, err));
    SL_GO(sl_sql_map_error(&plain, sl_tree_parse(q->conn, sl_buf_view(&plain.buf), &q->tree, err),
                           err));
    SL_GO(sl_tree_names(q->tree, &names, err));
    for (size_t i = 0; i < names.tables.n; i++)
        SL_GO(find_name(q, &plain, &names.tables.v[i], err));
    SL_GO(unused_travel(q, err));
    SL_GO(sl_same_names(q, &plain, err));
    shorten_columns(q, &plain, &names);
done:
    sl_tree_names_release(&names);
    sl_sql_text_release(&plain);
    return rc;
}

/* ---- pruning ---- */

static int register_empty(struct sl_query *q, const struct sl_row_source *source, uint64_t *id,
                          bool *registered, sl_err *err)
{
    SL_TRY(sl_rows_register(sl_conn_engine(q->conn), source, id, err));
    *registered = true;
    return SL_OK;
}

/* Adds, for each scan, what stands for its name: with PLACEHOLDER an empty source, else its files. */
static void edit_scans(struct sl_query *q, bool placeholder)
{
    struct sl_buf b = SL_BUF_INIT;

    for (size_t i = 0; i < q->scans.n; i++) {
        const struct sl_query_scan *scan = &q->scans.v[i];

        sl_buf_reset(&b);
        if (scan->before)
            sl_buf_addc(&b, scan->before);
        if (scan->table && !placeholder) {
            sl_buf_ch(&b, '(');
            sl_buf_add(&b, sl_buf_view(&scan->table->sql));
            sl_buf_ch(&b, ')');
        } else if (scan->table) {
            sl_buf_printf(&b, "sluice_rows(%llu)", (unsigned long long)scan->rows_id);
        } else {
            sl_buf_add(&b, scan->sql);
        }
        if (scan->alias.p) {
            sl_buf_addc(&b, " AS ");
            sl_buf_sql_ident(&b, scan->alias);
        }
        q->dialect.edits.failed |= b.failed;
        sl_edit_add(&q->dialect.edits, scan->from, scan->to, sl_buf_view(&b));
    }
    sl_buf_release(&b);
}

static bool may_filter(const struct sl_query *q)
{
    static const char *const words[] = {"WHERE",   "ON", "USING",     "NATURAL", "HAVING",
                                        "QUALIFY", "IN", "INTERSECT", "EXCEPT",  NULL};

    for (size_t i = 0; i < q->tokens->n; i++)
        for (size_t k = 0; words[k]; k++)
            if (is(q, i, words[k]))
                return true;
    return false;
}

/* A copy of the edits so far, since rendering sorts them. */
static int copy_edits(const struct sl_edits *from, struct sl_edits *to, sl_err *err)
{
    *to = (struct sl_edits){.arena = from->arena, .failed = from->failed};
    for (size_t i = 0; i < from->n; i++) {
        struct sl_edit *e = sl_vec_push(to);

        if (!e)
            return sl_err_nomem(err);
        *e = from->v[i];
    }
    return SL_OK;
}

static void replace_target(const struct sl_query *q, struct sl_query_piece *piece,
                           struct sl_arena *a)
{
    if (piece->text.p && sl_str_find(piece->text, SL_LIT("\"" SL_QUERY_TARGET "\"")) >= 0) {
        ptrdiff_t at = sl_str_find(piece->text, SL_LIT("\"" SL_QUERY_TARGET "\""));
        char *text = sl_arena_printf(a, "%.*ssluice_rows(%llu)%s", (int)at, piece->text.p,
                                     (unsigned long long)q->target_id,
                                     piece->text.p + at + strlen("\"" SL_QUERY_TARGET "\""));

        if (text)
            piece->text = sl_str_c(text);
    }
}

/* Registers an empty source for each table, so that DuckDB can bind and optimise the text before
 * any file is chosen. */
static int register_placeholders(struct sl_query *q, sl_err *err)
{
    for (size_t i = 0; i < q->scans.n; i++) {
        struct sl_query_scan *scan = &q->scans.v[i];

        if (scan->table && !scan->registered)
            SL_TRY(register_empty(q, &scan->table->empty, &scan->rows_id, &scan->registered, err));
    }
    return SL_OK;
}

static void take_predicates(struct sl_query *q, const struct sl_tree_scan *found)
{
    size_t k = 0;

    for (size_t i = 0; i < q->scans.n; i++) {
        struct sl_query_table *t = q->scans.v[i].table;

        if (!t)
            continue;
        const struct sl_pred *pred = found[k++].pred;
        if (t->pred) {
            const struct sl_pred **both = sl_arena_array(&q->arena, 2, sizeof *both);

            if (both) {
                both[0] = t->pred;
                both[1] = pred;
            }
            pred = both ? sl_pred_join(&q->arena, SL_PRED_OR, both, 2) : NULL;
        }
        t->pred = pred ? pred : sl_pred_true();
    }
    if (q->target)
        q->target_pred = found[k].pred;
}

static int find_predicates(struct sl_query *q, sl_err *err)
{
    struct sl_tree_scan *found = sl_arena_array(&q->arena, q->scans.n + 1, sizeof *found);
    struct sl_edits saved = {0};
    struct sl_sql_text text = SL_SQL_TEXT_INIT;
    size_t n = 0;
    int rc;

    if (!found)
        return sl_err_nomem(err);
    SL_GO(register_placeholders(q, err));
    SL_GO(copy_edits(&q->dialect.edits, &saved, err));
    edit_scans(q, true);
    SL_GO(render_all(q, &text, err));
    for (size_t i = 0; i < q->scans.n; i++) {
        const struct sl_query_table *t = q->scans.v[i].table;

        if (t)
            found[n++] = (struct sl_tree_scan){q->scans.v[i].rows_id, t->fields,
                                               t->schema->nfields, NULL};
    }
    if (q->target)
        found[n++] = (struct sl_tree_scan){q->target_id, q->target->schema->fields,
                                           q->target->schema->nfields, NULL};
    if (n > 0)
        sl_tree_predicates(q->conn, sl_buf_view(&text.buf), &q->arena, found, n);
    take_predicates(q, found);
done:
    if (saved.arena) {
        sl_edits_release(&q->dialect.edits);
        q->dialect.edits = saved;
    }
    sl_sql_text_release(&text);
    return rc;
}

/* ---- binding ---- */

static int plan_tables(struct sl_query *q, sl_err *err)
{
    for (size_t i = 0; i < q->tables.n; i++) {
        struct sl_query_table *t = q->tables.v[i];

        if (t->log) {
            SL_TRY(sl_log_plan_files(t->log_plan, t->pred, err));
            SL_TRY(sl_log_plan_sql(t->log_plan, q->conn, &t->sql, err));
            continue;
        }
        SL_TRY(sl_plan_files(t->t, t->travels ? &t->sel : NULL, t->pred, &t->plan, err));
        t->plan->names = t->names;
        SL_TRY(sl_plan_sql(t->plan, q->conn, false, &t->sql, err));
    }
    return SL_OK;
}

static int bind_target(struct sl_query *q, sl_err *err)
{
    if (!q->target)
        return SL_OK;
    q->target_empty = sl_empty_source(q->target->schema->fields, q->target->schema->nfields);
    SL_TRY(register_empty(q, &q->target_empty, &q->target_id, &q->target_registered, err));
    for (size_t i = 0; i < q->pieces.n; i++)
        replace_target(q, &q->pieces.v[i], &q->arena);
    return SL_OK;
}

int sl_query_bind(struct sl_query *q, sl_err *err)
{
    const char *prune = sl_session_setting(q->s, "sluice.prune");

    SL_TRY(find_names(q, err));
    SL_TRY(bind_target(q, err));
    if ((!prune || strcmp(prune, "off") != 0) && (q->target || (q->tables.n > 0 && may_filter(q))))
        SL_TRY(find_predicates(q, err));
    SL_TRY(plan_tables(q, err));
    edit_scans(q, false);
    return render_all(q, &q->text, err);
}

int sl_query_announce(struct sl_query *q, sl_err *err)
{
    for (size_t i = 0; i < q->tables.n; i++)
        if (!q->tables.v[i]->log) /* log tables are announced before they are looked at */
            SL_TRY(sl_plan_announce(q->tables.v[i]->plan, err));
    return SL_OK;
}

int sl_query_error(struct sl_query *q, int code, sl_err *err)
{
    struct sl_buf shown = SL_BUF_INIT;

    sl_sql_map_error(&q->text, code, err);
    if (code != SL_OK && err && sl_same_names_show(q, sl_str_c(err->text), &shown))
        snprintf(err->text, sizeof err->text, "%s", shown.p);
    if (code != SL_OK && err && sl_same_names_show(q, sl_str_c(err->hint), &shown))
        snprintf(err->hint, sizeof err->hint, "%s", shown.p);
    sl_buf_release(&shown);
    for (size_t i = 0; i < q->tables.n && code != SL_OK; i++)
        code = q->tables.v[i]->log ? sl_log_plan_explain_error(q->tables.v[i]->log_plan, code, err)
                                   : sl_plan_explain_error(q->tables.v[i]->plan, code, err);
    return code;
}

int sl_query_value(struct sl_session *s, struct sl_conn *conn, const struct sl_tokens *tokens,
                   struct sl_range r, const char *before, const char *after, char **out,
                   sl_err *err)
{
    struct sl_query q;
    const size_t at = range_from(tokens, r);
    int rc;

    *out = NULL;
    sl_query_init(&q, s, conn, tokens);
    SL_GO(sl_query_add_text(&q, at, before, err));
    SL_GO(sl_query_add_range(&q, r, err));
    SL_GO(sl_query_add_text(&q, at, after, err));
    SL_GO(render_all(&q, &q.text, err));
    rc = sl_conn_query_str(conn, sl_buf_view(&q.text.buf), out, err);
    if (rc != SL_OK)
        sl_sql_at(sl_sql_map_error(&q.text, rc, err), at, err);
done:
    sl_query_release(&q);
    return rc;
}
