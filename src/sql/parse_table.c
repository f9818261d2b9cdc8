/* parse_table.c - CREATE and ALTER. */
#include "sql/parse.h"

#include <stdio.h>

/* ---- columns ---- */

struct column {
    struct sl_word name;
    const struct sl_type *type;
    const char *comment, *default_text;
    bool first;
    const char *after;
};

static int text_of(struct sl_parser *p, const char *what, const char **out)
{
    struct sl_word w;

    SL_TRY(sl_p_string(p, what, &w));
    *out = w.text.p;
    return SL_OK;
}

static int default_of(struct sl_parser *p, struct column *c)
{
    struct sl_buf b = SL_BUF_INIT;
    const struct sl_token *t;
    bool minus = sl_p_take(p, "-");

    if (sl_p_end(p) ||
        (p->t->v[p->i].kind != SL_TOKEN_STRING && p->t->v[p->i].kind != SL_TOKEN_NUMBER &&
         !sl_p_is(p, 0, "TRUE") && !sl_p_is(p, 0, "FALSE") && !sl_p_is(p, 0, "NULL")))
        return sl_p_unsupported(p, sl_p_at(p), "a DEFAULT that is no literal");
    t = &p->t->v[p->i++];
    if (sl_token_is(t, "NULL"))
        return SL_OK;
    if (minus)
        sl_buf_ch(&b, '-');
    sl_token_value(t, &b);
    c->default_text = b.failed ? NULL : sl_p_copy(p, sl_buf_view(&b));
    sl_buf_release(&b);
    return c->default_text ? SL_OK : sl_err_nomem(p->err);
}

static int add_key(struct sl_parser *p, const char *name)
{
    const char **to = sl_vec_push(&p->s->primary_keys);

    if (!to)
        return sl_err_nomem(p->err);
    *to = name;
    return SL_OK;
}

/* name type [NOT NULL] and what may follow, in any order. */
static int column(struct sl_parser *p, struct column *c)
{
    struct sl_word w;

    *c = (struct column){0};
    SL_TRY(sl_p_ident(p, "a column's name", &c->name));
    if (sl_p_is(p, 0, "."))
        return sl_p_unsupported(p, sl_p_at(p), "changing a member of a ROW");
    if (sl_p_is(p, 0, "AS"))
        return sl_p_unsupported(p, sl_p_at(p), "a computed column");
    SL_TRY(sl_p_type(p, &c->type));
    for (;;) {
        if (sl_p_is(p, 0, "PRIMARY") && sl_p_is(p, 1, "KEY")) {
            p->s->primary_key_at = sl_p_at(p);
            p->i += 2;
            sl_p_take2(p, "NOT", "ENFORCED");
            SL_TRY(add_key(p, c->name.text.p));
        } else if (sl_p_take(p, "COMMENT")) {
            SL_TRY(text_of(p, "the comment", &c->comment));
        } else if (sl_p_take(p, "DEFAULT")) {
            SL_TRY(default_of(p, c));
        } else if (sl_p_take(p, "FIRST")) {
            c->first = true;
        } else if (sl_p_take(p, "AFTER")) {
            SL_TRY(sl_p_ident(p, "the column before", &w));
            c->after = w.text.p;
        } else {
            return SL_OK;
        }
    }
}

/* ---- CREATE TABLE ---- */

static int table_constraint(struct sl_parser *p)
{
    struct sl_word w;

    if (sl_p_take(p, "CONSTRAINT"))
        p->i++;
    if (sl_p_is(p, 0, "WATERMARK"))
        return sl_p_unsupported(p, sl_p_at(p), "WATERMARK");
    p->s->primary_key_at = sl_p_at(p);
    SL_TRY(sl_p_need(p, "PRIMARY"));
    SL_TRY(sl_p_need(p, "KEY"));
    SL_TRY(sl_p_need(p, "("));
    do {
        SL_TRY(sl_p_ident(p, "a key column", &w));
        SL_TRY(add_key(p, w.text.p));
    } while (sl_p_take(p, ","));
    SL_TRY(sl_p_need(p, ")"));
    sl_p_take2(p, "NOT", "ENFORCED");
    return SL_OK;
}

static bool is_constraint(const struct sl_parser *p)
{
    return (sl_p_is(p, 0, "PRIMARY") && sl_p_is(p, 1, "KEY")) ||
           (sl_p_is(p, 0, "CONSTRAINT") && !sl_p_is(p, 1, ",")) ||
           (sl_p_is(p, 0, "WATERMARK") && sl_p_is(p, 1, "FOR"));
}

static int column_definitions(struct sl_parser *p)
{
    struct column c;

    SL_TRY(sl_p_need(p, "("));
    p->s->has_fields = true;
    do {
        if (is_constraint(p)) {
            SL_TRY(table_constraint(p));
            continue;
        }
        SL_TRY(column(p, &c));
        struct sl_field *f = sl_vec_push(&p->s->fields);
        if (!f)
            return sl_err_nomem(p->err);
        *f = (struct sl_field){0, c.name.text.p, c.type, c.comment, c.default_text};
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

static int partition_keys(struct sl_parser *p)
{
    struct sl_word w;

    SL_TRY(sl_p_need(p, "("));
    do {
        SL_TRY(sl_p_ident(p, "a partition column", &w));
        const char **key = sl_vec_push(&p->s->partition_keys);
        if (!key)
            return sl_err_nomem(p->err);
        *key = w.text.p;
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

static int table_options(struct sl_parser *p)
{
    const size_t first = p->s->pairs.n;

    SL_TRY(sl_p_pairs(p, "an option's name", &p->s->pairs));
    for (size_t i = first; i < p->s->pairs.n; i++) {
        const struct sl_pair *pair = &p->s->pairs.v[i];

        if (!pair->has_value || pair->null)
            return sl_p_fail(p, pair->key.from, "the option '%s' has no value", pair->key.text.p);
        struct sl_option *o = sl_vec_push(&p->s->table_options);
        if (!o)
            return sl_err_nomem(p->err);
        *o = (struct sl_option){pair->key.text.p, pair->value.text.p};
    }
    return SL_OK;
}

static int create_table(struct sl_parser *p)
{
    struct sl_statement *s = p->s;

    s->kind = SL_STMT_CREATE_TABLE;
    s->verb = "CREATE TABLE";
    s->if_not_exists =
        sl_p_is(p, 2, "EXISTS") && sl_p_take2(p, "IF", "NOT") && sl_p_take(p, "EXISTS");
    SL_TRY(sl_p_table(p, &s->name));
    if (sl_p_is(p, 0, "("))
        SL_TRY(column_definitions(p));
    for (;;) {
        if (sl_p_take(p, "COMMENT")) {
            SL_TRY(text_of(p, "the comment", &s->comment));
        } else if (sl_p_take2(p, "PARTITIONED", "BY")) {
            SL_TRY(partition_keys(p));
        } else if (sl_p_take(p, "WITH") || sl_p_take(p, "TBLPROPERTIES") ||
                   sl_p_take(p, "OPTIONS")) {
            SL_TRY(table_options(p));
        } else if (sl_p_take2(p, "USING", "PAIMON")) {
            continue;
        } else if (sl_p_take(p, "AS")) {
            s->query = (struct sl_range){p->i, p->t->n};
            if (sl_p_end(p))
                return sl_p_wants(p, "the query");
            return SL_OK;
        } else {
            break;
        }
    }
    if (!s->has_fields && !sl_p_is(p, 0, "LIKE"))
        return sl_p_wants(p, "the list of columns, or AS and a query,");
    if (sl_p_is(p, 0, "LIKE"))
        return sl_p_unsupported(p, sl_p_at(p), "CREATE TABLE ... LIKE");
    return sl_p_done(p);
}

int sl_p_create(struct sl_parser *p)
{
    struct sl_statement *s = p->s;
    struct sl_word w;

    s->verb = "CREATE";
    if (sl_p_take(p, "TABLE"))
        return create_table(p);
    if (sl_p_take(p, "DATABASE") || sl_p_take(p, "SCHEMA")) {
        s->kind = SL_STMT_CREATE_DATABASE;
        s->verb = "CREATE DATABASE";
        s->if_not_exists =
            sl_p_is(p, 2, "EXISTS") && sl_p_take2(p, "IF", "NOT") && sl_p_take(p, "EXISTS");
        SL_TRY(sl_p_ident(p, "the database's name", &w));
        s->name = (struct sl_table_name){.db = w.text, .from = w.from};
        return sl_p_done(p);
    }
    if (sl_p_is(p, 0, "TEMPORARY") || sl_p_is(p, 0, "TEMP") || sl_p_is(p, 0, "VIEW") ||
        sl_p_is(p, 0, "OR") || sl_p_is(p, 0, "FUNCTION") || sl_p_is(p, 0, "CATALOG") ||
        sl_p_is(p, 0, "INDEX") || sl_p_is(p, 0, "MACRO")) {
        char what[60];

        snprintf(what, sizeof what, "CREATE %.*s", (int)p->t->v[p->i].text.n, p->t->v[p->i].text.p);
        return sl_p_unsupported(p, sl_p_at(p), what);
    }
    return sl_p_wants(p, "TABLE or DATABASE");
}

/* ---- ALTER TABLE ---- */

static int change(struct sl_parser *p, struct sl_change c)
{
    struct sl_change *slot = sl_vec_push(&p->s->changes);

    if (!slot)
        return sl_err_nomem(p->err);
    *slot = c;
    return SL_OK;
}

static int add_column(struct sl_parser *p)
{
    struct column c;

    SL_TRY(column(p, &c));
    if (c.default_text)
        return sl_p_unsupported(p, c.name.from, "ADD COLUMN with DEFAULT");
    return change(p, (struct sl_change){.kind = SL_ADD_COLUMN,
                                        .name = c.name.text.p,
                                        .type = c.type,
                                        .comment = c.comment,
                                        .first = c.first,
                                        .after = c.after});
}

/* MODIFY c type ...: the type, and what else is said. */
static int modify_column(struct sl_parser *p)
{
    struct column c;

    SL_TRY(column(p, &c));
    SL_TRY(change(
        p, (struct sl_change){.kind = SL_CHANGE_TYPE, .name = c.name.text.p, .type = c.type}));
    if (c.comment)
        SL_TRY(change(p, (struct sl_change){.kind = SL_CHANGE_COMMENT,
                                            .name = c.name.text.p,
                                            .comment = c.comment}));
    if (c.first || c.after)
        SL_TRY(change(p, (struct sl_change){.kind = SL_MOVE_COLUMN,
                                            .name = c.name.text.p,
                                            .first = c.first,
                                            .after = c.after}));
    return SL_OK;
}

static int drop_column(struct sl_parser *p)
{
    struct sl_word w;

    SL_TRY(sl_p_ident(p, "the column", &w));
    return change(p, (struct sl_change){.kind = SL_DROP_COLUMN, .name = w.text.p});
}

/* One, or several in brackets. */
static int each_in_brackets(struct sl_parser *p, int (*one)(struct sl_parser *p))
{
    if (!sl_p_take(p, "("))
        return one(p);
    do {
        SL_TRY(one(p));
    } while (sl_p_take(p, ","));
    return sl_p_need(p, ")");
}

static int drop_partition(struct sl_parser *p)
{
    p->s->kind = SL_STMT_DROP_PARTITION;
    p->s->verb = "ALTER TABLE ... DROP PARTITION";
    p->s->has_partition = true;
    SL_TRY(sl_p_pairs(p, "a partition column", &p->s->pairs));
    if (sl_p_is(p, 0, ","))
        return sl_p_unsupported(p, sl_p_at(p), "dropping several partitions in one statement");
    return SL_OK;
}

static int alter_column(struct sl_parser *p)
{
    struct sl_word w, after;
    const struct sl_type *type;
    const char *comment;

    SL_TRY(sl_p_ident(p, "the column", &w));
    if (sl_p_take2(p, "DROP", "NOT"))
        return sl_p_take(p, "NULL")
                   ? change(p, (struct sl_change){.kind = SL_DROP_NOT_NULL, .name = w.text.p})
                   : sl_p_wants(p, "NULL");
    if (sl_p_is(p, 0, "SET") && sl_p_is(p, 1, "NOT"))
        return sl_p_unsupported(p, sl_p_at(p), "making a column NOT NULL");
    if (sl_p_take(p, "COMMENT")) {
        SL_TRY(text_of(p, "the comment", &comment));
        return change(
            p, (struct sl_change){.kind = SL_CHANGE_COMMENT, .name = w.text.p, .comment = comment});
    }
    if (sl_p_take(p, "FIRST"))
        return change(p,
                      (struct sl_change){.kind = SL_MOVE_COLUMN, .name = w.text.p, .first = true});
    if (sl_p_take(p, "AFTER")) {
        SL_TRY(sl_p_ident(p, "the column before", &after));
        return change(
            p, (struct sl_change){.kind = SL_MOVE_COLUMN, .name = w.text.p, .after = after.text.p});
    }
    sl_p_take2(p, "SET", "DATA");
    SL_TRY(sl_p_need(p, "TYPE"));
    SL_TRY(sl_p_type(p, &type));
    return change(p, (struct sl_change){.kind = SL_CHANGE_TYPE, .name = w.text.p, .type = type});
}

static int rename_what(struct sl_parser *p)
{
    struct sl_word from, to;

    if (sl_p_take(p, "TO")) {
        p->s->kind = SL_STMT_RENAME_TABLE;
        p->s->verb = "ALTER TABLE ... RENAME";
        return sl_p_ident(p, "the new name", &p->s->new_name);
    }
    if (!sl_p_is(p, 1, "TO"))
        sl_p_take(p, "COLUMN");
    SL_TRY(sl_p_ident(p, "the column", &from));
    SL_TRY(sl_p_need(p, "TO"));
    SL_TRY(sl_p_ident(p, "the new name", &to));
    return change(p, (struct sl_change){
                         .kind = SL_RENAME_COLUMN, .name = from.text.p, .new_name = to.text.p});
}

static int set_options(struct sl_parser *p)
{
    sl_p_take(p, "TBLPROPERTIES");
    SL_TRY(table_options(p));
    for (size_t i = 0; i < p->s->table_options.n; i++) {
        const struct sl_option *o = &p->s->table_options.v[i];

        SL_TRY(change(
            p, (struct sl_change){.kind = SL_SET_OPTION, .name = o->key, .value = o->value}));
    }
    return SL_OK;
}

static int reset_options(struct sl_parser *p)
{
    sl_p_take(p, "TBLPROPERTIES");
    SL_TRY(sl_p_pairs(p, "an option's name", &p->s->pairs));
    for (size_t i = 0; i < p->s->pairs.n; i++)
        SL_TRY(change(
            p, (struct sl_change){.kind = SL_RESET_OPTION, .name = p->s->pairs.v[i].key.text.p}));
    return SL_OK;
}

static void take_column_word(struct sl_parser *p)
{
    if (!sl_p_take(p, "COLUMNS"))
        sl_p_take(p, "COLUMN");
}

static int alter_action(struct sl_parser *p)
{
    if (sl_p_take(p, "ADD")) {
        take_column_word(p);
        return each_in_brackets(p, add_column);
    }
    if (sl_p_take(p, "DROP")) {
        if (sl_p_is(p, 2, "PARTITION"))
            p->s->if_exists = sl_p_take2(p, "IF", "EXISTS");
        if (sl_p_take(p, "PARTITION"))
            return drop_partition(p);
        take_column_word(p);
        return each_in_brackets(p, drop_column);
    }
    if (sl_p_take(p, "MODIFY")) {
        take_column_word(p);
        return each_in_brackets(p, modify_column);
    }
    if (sl_p_take(p, "ALTER")) {
        take_column_word(p);
        return alter_column(p);
    }
    if (sl_p_take(p, "RENAME"))
        return rename_what(p);
    if (sl_p_take(p, "SET"))
        return set_options(p);
    if (sl_p_take(p, "RESET") || sl_p_take(p, "UNSET"))
        return reset_options(p);
    return sl_p_wants(p, "ADD, DROP, RENAME, MODIFY, ALTER, SET or RESET");
}

int sl_p_alter(struct sl_parser *p)
{
    p->s->kind = SL_STMT_ALTER_TABLE;
    p->s->verb = "ALTER TABLE";
    SL_TRY(sl_p_need(p, "TABLE"));
    p->s->if_exists = sl_p_take2(p, "IF", "EXISTS");
    SL_TRY(sl_p_table(p, &p->s->name));
    SL_TRY(alter_action(p));
    return sl_p_done(p);
}
