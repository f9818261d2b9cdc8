/*
 * merge_log.c - MERGE INTO a log table: the source joined with the table, and for each row of it the
 * first clause that holds.
 *
 *   WITH sl_joined AS (SELECT CASE <clauses> END AS sl_clause, CASE sl_clause <values> END AS sl_n0, ...
 *                      FROM source LEFT JOIN target ON ...), sl_changed AS (...) SELECT ...
 */
#include <string.h>

#include "sql/merge_log.h"

struct merging {
    struct sl_exec *r;
    struct sl_log *t;
    struct sl_query *q;
    const char *target;              /* the name that the table's columns are qualified with */
    const struct sl_pair **sets;     /* clauses x columns: the value, NULL: none */
    size_t at;
};

static const struct sl_pair **set_of(const struct merging *m, size_t clause, size_t column)
{
    return &m->sets[clause * m->t->schema->columns.nfields + column];
}

static int insert_column(const struct merging *m, const struct sl_merge_clause *c, size_t i, size_t *out,
                         sl_err *err)
{
    const struct sl_schema *s = &m->t->schema->columns;
    const struct sl_word *key = &c->sets.v[i].key;

    *out = i;
    if (!key->text.p && i < s->nfields)
        return SL_OK;
    for (size_t k = 0; key->text.p && k < s->nfields; k++) {
        *out = k;
        if (sl_str_ieqc(key->text, s->fields[k].name))
            return SL_OK;
    }
    if (key->text.p)
        sl_err_set(err, SL_ESQL, "the table %s has no column \"%s\"", m->t->label, key->text.p);
    else
        sl_err_set(err, SL_ESQL, "there are %zu values for the %zu columns of the table %s", c->sets.n,
                   s->nfields, m->t->label);
    return sl_sql_at(SL_ESQL, key->text.p ? key->from : c->from, err);
}

static int find_sets(struct merging *m, sl_err *err)
{
    const struct sl_schema *s = &m->t->schema->columns;
    const struct sl_statement *st = m->r->st;
    size_t column = 0;

    m->sets = sl_arena_array(&m->q->arena, st->clauses.n * s->nfields + 1, sizeof *m->sets);
    if (!m->sets)
        return sl_err_nomem(err);
    for (size_t i = 0; i < st->clauses.n; i++) {
        const struct sl_merge_clause *c = &st->clauses.v[i];

        if (c->action == SL_MERGE_INSERT && !c->all && c->sets.n && !c->sets.v[0].key.text.p && c->sets.n != s->nfields) {
            sl_err_set(err, SL_ESQL, "there are %zu values for the %zu columns of the table %s", c->sets.n, s->nfields, m->t->label);
            return sl_sql_at(SL_ESQL, c->from, err);
        }
        for (size_t k = 0; k < c->sets.n; k++) {
            if (c->action == SL_MERGE_INSERT)
                SL_TRY(insert_column(m, c, k, &column, err));
            else
                SL_TRY(sl_set_column(m->t, &c->sets.v[k].key, &column, err));
            if (*set_of(m, i, column)) {
                sl_err_set(err, SL_ESQL, "the column \"%s\" is set twice", s->fields[column].name);
                return sl_sql_at(SL_ESQL, c->from, err);
            }
            *set_of(m, i, column) = &c->sets.v[k];
        }
    }
    return SL_OK;
}

/* ---- pieces ---- */

static int text(const struct merging *m, const char *fmt, ...) SL_PRINTF(2, 3);
static int text(const struct merging *m, const char *fmt, ...)
{
    char b[200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(b, sizeof b, fmt, ap);
    va_end(ap);
    return sl_query_add_text(m->q, m->at, b, NULL);
}

#define TEXT(...)                             \
    do {                                      \
        if (text(m, __VA_ARGS__) != SL_OK)    \
            return sl_err_nomem(err);         \
    } while (0)

static int matched(const struct merging *m, bool yes, sl_err *err)
{
    return sl_piece_ident(m->q, m->at, "", m->target, SL_LIT("_hoodie_record_key"), yes ? " IS NOT NULL" : " IS NULL", err);
}

/* The number of the clause that acts, from 1; NULL: none. */
static int clause_number(const struct merging *m, sl_err *err)
{
    const struct sl_statement *st = m->r->st;

    TEXT("CASE");
    for (size_t i = 0; i < st->clauses.n; i++) {
        const struct sl_merge_clause *c = &st->clauses.v[i];

        TEXT(" WHEN ");
        SL_TRY(matched(m, c->matched, err));
        if (c->condition.last > c->condition.first) {
            TEXT(" AND (");
            SL_TRY(sl_query_add_range(m->q, c->condition, err));
            TEXT(")");
        }
        if (c->action == SL_MERGE_NOTHING)
            TEXT(" THEN NULL");
        else
            TEXT(" THEN %zu", i + 1);
    }
    TEXT(" END AS sl_clause");
    return SL_OK;
}

/* What clause I puts into a column. */
static int value(const struct merging *m, size_t i, size_t column, sl_err *err)
{
    const struct sl_merge_clause *c = &m->r->st->clauses.v[i];
    const struct sl_field *f = &m->t->schema->columns.fields[column];
    const struct sl_pair *set = *set_of(m, i, column);

    if (set) {
        TEXT("(");
        SL_TRY(sl_query_add_range(m->q, set->range, err));
        TEXT(")");
        return SL_OK;
    }
    if (c->action == SL_MERGE_INSERT)
        return sl_piece_null(m->q, m->at, "", f->type, err);
    return sl_piece_ident(m->q, m->at, "", m->target, sl_str_c(f->name), "", err);
}

static int new_column(const struct merging *m, size_t column, sl_err *err)
{
    const struct sl_statement *st = m->r->st;
    bool any = false;

    TEXT(", CASE sl_clause");
    for (size_t i = 0; i < st->clauses.n; i++) {
        if (st->clauses.v[i].action != SL_MERGE_UPDATE && st->clauses.v[i].action != SL_MERGE_INSERT)
            continue;
        TEXT(" WHEN %zu THEN ", i + 1);
        SL_TRY(value(m, i, column, err));
        any = true;
    }
    if (!any) {
        TEXT(" WHEN 0 THEN ");
        SL_TRY(sl_piece_null(m->q, m->at, "", m->t->schema->columns.fields[column].type, err));
    }
    TEXT(" END AS sl_n%zu", column);
    return SL_OK;
}

static bool has_star(const struct sl_statement *st)
{
    for (size_t i = 0; i < st->clauses.n; i++)
        if (st->clauses.v[i].all)
            return true;
    return false;
}

static int joined(const struct merging *m, sl_err *err)
{
    const struct sl_schema *s = &m->t->schema->columns;

    TEXT("WITH sl_joined AS MATERIALIZED (SELECT ");
    SL_TRY(clause_number(m, err));
    for (size_t i = 0; i < s->nfields; i++)
        SL_TRY(new_column(m, i, err));
    for (size_t i = 0; i < s->nfields; i++) {
        char as[32];

        snprintf(as, sizeof as, " AS sl_o%zu", i);
        if (sl_log_names_row(m->t, s->fields[i].name))
            SL_TRY(sl_piece_ident(m->q, m->at, ", ", m->target, sl_str_c(s->fields[i].name), as, err));
    }
    SL_TRY(sl_piece_ident(m->q, m->at, ", ", m->target, SL_LIT("_hoodie_record_key"), " AS sl_key", err));
    SL_TRY(sl_piece_ident(m->q, m->at, ", ", m->target, SL_LIT("_hoodie_partition_path"), " AS sl_path", err));
    TEXT(", row_number() OVER () AS sl_seq FROM ");
    SL_TRY(sl_query_add_range(m->q, m->r->st->source, err));
    SL_TRY(sl_piece_target(m->r, m->q, " LEFT JOIN ", err));
    TEXT(" ON (");
    SL_TRY(sl_query_add_range(m->q, m->r->st->on, err));
    TEXT(")), ");
    return SL_OK;
}

/* Clauses that remove the row as it was: all that act on a matched one but updates that leave it where it is. */
static int removal_condition(const struct merging *m, struct sl_buf *removals, struct sl_buf *rows)
{
    const struct sl_statement *st = m->r->st;

    sl_buf_addc(removals, " WHERE sl_clause IN (0");
    sl_buf_addc(rows, " WHERE sl_clause NOT IN (0");
    for (size_t i = 0; i < st->clauses.n; i++) {
        const struct sl_merge_clause *c = &st->clauses.v[i];
        bool moves = c->action == SL_MERGE_DELETE;

        for (size_t k = 0; c->action == SL_MERGE_UPDATE && k < m->t->schema->columns.nfields; k++)
            moves = moves || (*set_of(m, i, k) && sl_log_moves_row(m->t, m->t->schema->columns.fields[k].name));
        if (moves)
            sl_buf_printf(removals, ", %zu", i + 1);
        if (c->action == SL_MERGE_DELETE)
            sl_buf_printf(rows, ", %zu", i + 1);
    }
    sl_buf_ch(removals, ')');
    sl_buf_ch(rows, ')');
    return removals->failed || rows->failed ? SL_ENOMEM : SL_OK;
}

int sl_merge_pieces(struct sl_exec *r, struct sl_log *t, struct sl_query *q, sl_err *err)
{
    struct merging merging = {.r = r, .t = t, .q = q, .at = r->st->name.from}, *m = &merging;
    struct sl_buf removals = SL_BUF_INIT, rows = SL_BUF_INIT;
    int rc;

    m->target = sl_arena_strdup(&q->arena, r->st->alias.text.p ? r->st->alias.text : r->st->name.table);
    if (!m->target)
        return sl_err_nomem(err);
    if (r->st->name.path && !r->st->alias.text.p) {
        sl_err_set(err, SL_ESQL, "MERGE INTO a table by its path needs an alias for it");
        return sl_sql_at(SL_ESQL, r->st->name.from, err);
    }
    if (has_star(r->st)) {
        sl_err_set(err, SL_EUNSUPPORTED, "UPDATE SET * and INSERT * are not supported");
        sl_err_hint(err, "name the columns");
        return sl_sql_at(SL_EUNSUPPORTED, r->st->clauses.v[0].from, err);
    }
    SL_TRY(find_sets(m, err));
    SL_TRY(joined(m, err));
    TEXT("sl_counted AS (SELECT *, count(*) OVER (PARTITION BY sl_key, sl_path) AS sl_times FROM sl_joined WHERE sl_clause IS NOT NULL), ");
    TEXT("sl_changed AS MATERIALIZED (SELECT * FROM sl_counted WHERE CASE WHEN sl_key IS NOT NULL AND sl_times > 1 THEN ");
    TEXT("error('MERGE: a row of the table matches several rows of the source') ELSE true END) ");
    rc = removal_condition(m, &removals, &rows);
    if (rc == SL_OK)
        rc = sl_piece_moves(t, q, m->at, removals.p, rows.p, err);
    else
        rc = sl_err_nomem(err);
    sl_buf_release(&removals);
    sl_buf_release(&rows);
    return rc;
}
