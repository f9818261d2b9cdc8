/* parse_dml.c - INSERT, UPDATE, DELETE, COPY, CALL. */
#include "sql/parse.h"

/* The ( after a table's name begins a list of columns, unless a query stands in it. */
static bool is_column_list(const struct sl_parser *p)
{
    return sl_p_is(p, 0, "(") && !sl_p_is(p, 1, "SELECT") && !sl_p_is(p, 1, "WITH") &&
           !sl_p_is(p, 1, "VALUES") && !sl_p_is(p, 1, "FROM") && !sl_p_is(p, 1, "TABLE") &&
           !sl_p_is(p, 1, "(");
}

static int column_list(struct sl_parser *p)
{
    SL_TRY(sl_p_need(p, "("));
    p->s->has_columns = true;
    do {
        struct sl_word *w = sl_vec_push(&p->s->columns);

        if (!w)
            return sl_err_nomem(p->err);
        SL_TRY(sl_p_ident(p, "a column's name", w));
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

int sl_p_insert(struct sl_parser *p)
{
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_INSERT;
    s->verb = "INSERT";
    s->overwrite = sl_p_take(p, "OVERWRITE");
    if (s->overwrite)
        sl_p_take(p, "INTO");
    else
        SL_TRY(sl_p_need(p, "INTO"));
    if (!sl_p_is(p, 1, "(") && !sl_p_is(p, 1, "VALUES"))
        sl_p_take(p, "TABLE");
    SL_TRY(sl_p_table(p, &s->name));
    if (sl_p_take(p, "PARTITION")) {
        s->has_partition = true;
        SL_TRY(sl_p_pairs(p, "a partition column", &s->pairs));
    }
    if (sl_p_is(p, 0, "BY") && sl_p_is(p, 1, "NAME"))
        return sl_p_unsupported(p, sl_p_at(p), "INSERT ... BY NAME");
    if (sl_p_is(p, 0, "DEFAULT"))
        return sl_p_unsupported(p, sl_p_at(p), "INSERT ... DEFAULT VALUES");
    if (is_column_list(p))
        SL_TRY(column_list(p));
    s->query = (struct sl_range){p->i, p->t->n};
    if (sl_p_end(p))
        return sl_p_wants(p, "SELECT, VALUES or FROM");
    return SL_OK;
}

static int alias(struct sl_parser *p, const char *stop)
{
    if (sl_p_take(p, "AS"))
        return sl_p_ident(p, "the alias", &p->s->alias);
    if (sl_p_end(p) || sl_p_is(p, 0, stop) || sl_p_is(p, 0, "WHERE") || sl_p_is(p, 0, "USING") ||
        sl_p_is(p, 0, "FROM"))
        return SL_OK;
    return sl_p_ident(p, stop, &p->s->alias);
}

static int where(struct sl_parser *p)
{
    static const char *const ends[] = {"RETURNING", "ORDER", "LIMIT", NULL};

    if (sl_p_end(p))
        return SL_OK;
    SL_TRY(sl_p_need(p, "WHERE"));
    p->s->where = sl_p_range(p, ends);
    if (p->s->where.first == p->s->where.last)
        return sl_p_wants(p, "the condition");
    if (sl_p_is(p, 0, "RETURNING"))
        return sl_p_unsupported(p, sl_p_at(p), "RETURNING");
    return sl_p_done(p);
}

int sl_p_update(struct sl_parser *p)
{
    static const char *const ends[] = {",", "WHERE", "FROM", "RETURNING", NULL};
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_UPDATE;
    s->verb = "UPDATE";
    SL_TRY(sl_p_table(p, &s->name));
    SL_TRY(alias(p, "SET"));
    SL_TRY(sl_p_need(p, "SET"));
    do {
        struct sl_pair *pair = sl_vec_push(&s->pairs);

        if (!pair)
            return sl_err_nomem(p->err);
        SL_TRY(sl_p_assignment(p, ends, pair));
    } while (sl_p_take(p, ","));
    if (sl_p_is(p, 0, "FROM"))
        return sl_p_unsupported(p, sl_p_at(p), "UPDATE ... FROM");
    return where(p);
}

int sl_p_delete(struct sl_parser *p)
{
    p->s->kind = SL_STMT_DELETE;
    p->s->verb = "DELETE";
    SL_TRY(sl_p_need(p, "FROM"));
    SL_TRY(sl_p_table(p, &p->s->name));
    SL_TRY(alias(p, "WHERE"));
    if (sl_p_is(p, 0, "USING"))
        return sl_p_unsupported(p, sl_p_at(p), "DELETE ... USING");
    return where(p);
}

int sl_p_copy_to(struct sl_parser *p)
{
    static const char *const to[] = {"TO", NULL};
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_COPY;
    s->verb = "COPY";
    if (sl_p_take(p, "(")) {
        s->query = sl_p_range(p, NULL);
        SL_TRY(sl_p_need(p, ")"));
    } else {
        s->query = sl_p_range(p, to);
        if (s->query.last == s->query.first)
            return sl_p_wants(p, "a table or a query in brackets");
        p->i = s->query.first;
        SL_TRY(sl_p_table(p, &s->name));
        if (sl_p_is(p, 0, "("))
            SL_TRY(column_list(p));
        if (sl_p_is(p, 0, "FROM")) {
            sl_p_unsupported(p, sl_p_at(p), "COPY ... FROM");
            sl_err_hint(
                p->err,
                "INSERT INTO t SELECT * FROM 'file.csv', or the command sluice ingest, load files");
            return SL_EUNSUPPORTED;
        }
    }
    SL_TRY(sl_p_need(p, "TO"));
    SL_TRY(sl_p_string(p, "the file", &s->new_name));
    s->options = (struct sl_range){p->i, p->t->n};
    if (!sl_p_end(p) && !sl_p_is(p, 0, "(") && !sl_p_is(p, 0, "WITH"))
        return sl_p_done(p);
    return SL_OK;
}

int sl_p_call(struct sl_parser *p)
{
    static const char *const ends[] = {",", NULL};
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_CALL;
    s->verb = "CALL";
    if (sl_p_is(p, 1, ".") && sl_p_is(p, 0, "sys"))
        p->i += 2;
    SL_TRY(sl_p_ident(p, "the procedure's name", &s->new_name));
    SL_TRY(sl_p_need(p, "("));
    while (!sl_p_end(p) && !sl_p_is(p, 0, ")")) {
        struct sl_pair *pair = sl_vec_push(&s->pairs);

        if (!pair)
            return sl_err_nomem(p->err);
        if (sl_p_is(p, 1, "=>") || sl_p_is(p, 1, "=")) {
            SL_TRY(sl_p_ident(p, "the argument's name", &pair->key));
            p->i++;
        }
        pair->range = sl_p_range(p, ends);
        pair->has_value = true;
        if (pair->range.first == pair->range.last)
            return sl_p_wants(p, "the argument");
        if (!sl_p_take(p, ","))
            break;
    }
    SL_TRY(sl_p_need(p, ")"));
    return sl_p_done(p);
}
