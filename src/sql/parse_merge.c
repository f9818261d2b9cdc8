/* parse_merge.c - MERGE INTO. */
#include "sql/parse.h"

static int set_list(struct sl_parser *p, struct sl_merge_clause *c)
{
    static const char *const ends[] = {",", "WHEN", NULL};

    if (sl_p_take(p, "*")) {
        c->all = true;
        return SL_OK;
    }
    do {
        struct sl_pair *pair = sl_vec_push(&c->sets);

        if (!pair)
            return sl_err_nomem(p->err);
        SL_TRY(sl_p_assignment(p, ends, pair));
    } while (sl_p_take(p, ","));
    return SL_OK;
}

static int insert_columns(struct sl_parser *p, struct sl_merge_clause *c)
{
    SL_TRY(sl_p_need(p, "("));
    do {
        struct sl_pair *pair = sl_vec_push(&c->sets);

        if (!pair)
            return sl_err_nomem(p->err);
        SL_TRY(sl_p_ident(p, "a column's name", &pair->key));
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

static int insert_values(struct sl_parser *p, struct sl_merge_clause *c)
{
    static const char *const ends[] = {",", NULL};
    const size_t named = c->sets.n, at = sl_p_at(p);
    size_t n = 0;

    SL_TRY(sl_p_need(p, "VALUES"));
    SL_TRY(sl_p_need(p, "("));
    do {
        struct sl_pair *pair = named > n ? &c->sets.v[n] : named ? NULL : sl_vec_push(&c->sets);

        if (!pair)
            return named ? sl_p_fail(p, at, "there are more values than the %zu columns", named) : sl_err_nomem(p->err);
        n++;
        pair->range = sl_p_range(p, ends);
        pair->has_value = true;
        if (pair->range.first == pair->range.last)
            return sl_p_wants(p, "the value");
    } while (sl_p_take(p, ","));
    SL_TRY(sl_p_need(p, ")"));
    return n < named ? sl_p_fail(p, at, "there are %zu values for %zu columns", n, named) : SL_OK;
}

static int insert(struct sl_parser *p, struct sl_merge_clause *c)
{
    c->action = SL_MERGE_INSERT;
    if (sl_p_take(p, "*")) {
        c->all = true;
        return SL_OK;
    }
    if (sl_p_is(p, 0, "("))
        SL_TRY(insert_columns(p, c));
    return insert_values(p, c);
}

static int action(struct sl_parser *p, struct sl_merge_clause *c)
{
    const size_t at = sl_p_at(p);

    if (sl_p_take2(p, "DO", "NOTHING")) {
        c->action = SL_MERGE_NOTHING;
        return SL_OK;
    }
    if (sl_p_take(p, "INSERT")) {
        if (c->matched)
            return sl_p_fail(p, at, "INSERT goes with WHEN NOT MATCHED");
        return insert(p, c);
    }
    if (!c->matched)
        return sl_p_wants(p, "INSERT or DO NOTHING");
    if (sl_p_take(p, "DELETE")) {
        c->action = SL_MERGE_DELETE;
        return SL_OK;
    }
    SL_TRY(sl_p_need(p, "UPDATE"));
    SL_TRY(sl_p_need(p, "SET"));
    c->action = SL_MERGE_UPDATE;
    return set_list(p, c);
}

static int clause(struct sl_parser *p)
{
    static const char *const ends[] = {"THEN", NULL};
    struct sl_merge_clause *c = sl_vec_push(&p->s->clauses);

    if (!c)
        return sl_err_nomem(p->err);
    c->from = sl_p_at(p);
    SL_TRY(sl_p_need(p, "WHEN"));
    c->matched = !sl_p_take(p, "NOT");
    SL_TRY(sl_p_need(p, "MATCHED"));
    if (sl_p_is(p, 0, "BY") && sl_p_is(p, 1, "SOURCE"))
        return sl_p_unsupported(p, sl_p_at(p), "WHEN NOT MATCHED BY SOURCE");
    sl_p_take2(p, "BY", "TARGET");
    if (sl_p_take(p, "AND")) {
        c->condition = sl_p_range(p, ends);
        if (c->condition.first == c->condition.last)
            return sl_p_wants(p, "the condition");
    }
    SL_TRY(sl_p_need(p, "THEN"));
    return action(p, c);
}

int sl_p_merge(struct sl_parser *p)
{
    static const char *const on[] = {"ON", NULL}, *const when[] = {"WHEN", NULL};
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_MERGE;
    s->verb = "MERGE";
    SL_TRY(sl_p_need(p, "INTO"));
    SL_TRY(sl_p_table(p, &s->name));
    if (sl_p_take(p, "AS") || !sl_p_is(p, 0, "USING"))
        SL_TRY(sl_p_ident(p, "the alias", &s->alias));
    SL_TRY(sl_p_need(p, "USING"));
    s->source = sl_p_range(p, on);
    if (s->source.first == s->source.last)
        return sl_p_wants(p, "the source");
    SL_TRY(sl_p_need(p, "ON"));
    s->on = sl_p_range(p, when);
    if (s->on.first == s->on.last)
        return sl_p_wants(p, "the condition");
    do
        SL_TRY(clause(p));
    while (!sl_p_end(p));
    return SL_OK;
}
