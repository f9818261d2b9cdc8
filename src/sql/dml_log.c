/* dml_log.c - INSERT, UPDATE and DELETE on log tables: a query over the table gives the rows that are
 * upserted or removed. */
#include <string.h>

#include "sql/merge_log.h"

/* ---- running ---- */

static void take_result(struct sl_exec *r, const struct sl_log_commit_result *result)
{
    r->done.snapshot = result->instant;
    r->done.counts_rows = true;
}

/* Rows of the query's text into the table. */
static int write_rows(struct sl_exec *r, struct sl_log *t, struct sl_query *q,
                      const struct sl_insert_sql *sql, const struct sl_log_write_opts *opts,
                      sl_err *err)
{
    struct sl_log_commit_result result = {0};
    struct sl_log_batch *batch = NULL;
    int64_t rows;
    int rc;

    rc = sl_log_batch_make(t, q->conn, sl_buf_view(&sql->sql), opts, &batch, err);
    if (rc != SL_OK) {
        if (r->st->kind == SL_STMT_INSERT)
            rc = sl_insert_error(r, q, sql, rc, err);
        goto done;
    }
    rows = (int64_t)sl_log_batch_rows(batch);
    if (opts && opts->has_seq) /* a removal and a row may be one change */
        SL_GO(sl_log_batch_changes(batch, &rows, err));
    SL_GO(sl_log_batch_commit(batch, NULL, &result, err));
    take_result(r, &result);
    r->done.rows = (uint64_t)rows;
done:
    sl_log_batch_free(batch);
    return rc;
}

/* ---- INSERT ---- */

int sl_exec_insert_log(struct sl_exec *r, struct sl_log *t, sl_err *err)
{
    const struct sl_insert_target target = {&t->schema->columns, t->label};
    struct sl_insert_sql sql = {SL_BUF_INIT, 0};
    struct sl_query q;
    struct sl_conn *conn;
    int rc;

    rc = sl_session_conn(r->s, &conn, err);
    if (rc != SL_OK) {
        sl_log_close(t);
        return rc;
    }
    sl_query_init(&q, r->s, conn, r->tokens);
    SL_GO(sl_sql_at(sl_log_check_write(t, err), r->st->name.from, err));
    if (r->st->overwrite) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "INSERT OVERWRITE of a log table is not supported");
        sl_sql_at(rc, r->st->name.from, err);
        goto done;
    }
    SL_GO(sl_query_add_range(&q, r->st->query, err));
    SL_GO(sl_query_bind(&q, err));
    SL_GO(sl_insert_select(r, &target, &q, &sql, err));
    SL_GO(sl_query_announce(&q, err));
    rc = write_rows(r, t, &q, &sql, NULL, err);
done:
    sl_query_release(&q);
    sl_log_close(t);
    sl_buf_release(&sql.sql);
    return rc;
}

/* ---- pieces of the query ---- */

int sl_piece_ident(struct sl_query *q, size_t at, const char *before, const char *qualifier,
                   sl_str name, const char *after, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    sl_buf_addc(&b, before);
    if (qualifier) {
        sl_buf_sql_ident(&b, sl_str_c(qualifier));
        sl_buf_ch(&b, '.');
    }
    sl_buf_sql_ident(&b, name);
    sl_buf_addc(&b, after);
    rc = sl_buf_ok(&b, err);
    if (rc == SL_OK)
        rc = sl_query_add_text(q, at, b.p, err);
    sl_buf_release(&b);
    return rc;
}

int sl_piece_null(struct sl_query *q, size_t at, const char *before, const struct sl_type *type,
                  sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&b, "%sCAST(NULL AS ", before);
    sl_type_engine_sql(&b, type);
    sl_buf_ch(&b, ')');
    rc = sl_buf_ok(&b, err);
    if (rc == SL_OK)
        rc = sl_query_add_text(q, at, b.p, err);
    sl_buf_release(&b);
    return rc;
}

struct sl_range sl_name_range(const struct sl_tokens *tokens, const struct sl_table_name *name)
{
    struct sl_range r = {0, 0};

    while (r.first < tokens->n && tokens->v[r.first].from < name->from)
        r.first++;
    r.last = r.first;
    while (r.last < tokens->n && tokens->v[r.last].to <= name->to)
        r.last++;
    return r;
}

/* FROM <the table as the user named it> AS <alias> */
int sl_piece_target(struct sl_exec *r, struct sl_query *q, const char *before, sl_err *err)
{
    const struct sl_statement *st = r->st;

    SL_TRY(sl_query_add_text(q, st->name.from, before, err));
    SL_TRY(sl_query_add_range(q, sl_name_range(r->tokens, &st->name), err));
    if (st->alias.text.p)
        SL_TRY(sl_piece_ident(q, st->name.from, " AS ", NULL, st->alias.text, "", err));
    return SL_OK;
}

bool sl_log_is_key(const struct sl_log *t, const char *name)
{
    for (size_t i = 0; i < t->config.nkeys; i++)
        if (sl_str_eqc(t->config.key_fields[i], name))
            return true;
    return false;
}

/* Where a new value of the column may put the row elsewhere, or make it older: it is removed first,
 * then put in anew. */
bool sl_log_moves_row(const struct sl_log *t, const char *name)
{
    for (size_t i = 0; i < t->config.npartition; i++)
        if (sl_str_eqc(t->config.partition_fields[i], name))
            return true;
    for (size_t i = 0; i < t->config.nordering; i++)
        if (sl_str_eqc(t->config.ordering_fields[i], name))
            return true;
    return false;
}

static bool is_partition(const struct sl_log *t, const char *name)
{
    for (size_t i = 0; i < t->config.npartition; i++)
        if (sl_str_eqc(t->config.partition_fields[i], name))
            return true;
    return false;
}

bool sl_log_names_row(const struct sl_log *t, const char *name)
{
    return sl_log_is_key(t, name) || is_partition(t, name);
}

/* The column of a SET; keys are not set. */
int sl_set_column(const struct sl_log *t, const struct sl_word *key, size_t *out, sl_err *err)
{
    const struct sl_schema *s = &t->schema->columns;
    ptrdiff_t c = sl_schema_index(s, key->text);

    for (size_t k = 0; c < 0 && k < s->nfields; k++)
        if (sl_str_ieqc(key->text, s->fields[k].name))
            c = (ptrdiff_t)k;
    if (c < 0) {
        sl_err_set(err, SL_ESQL, "the table %s has no column \"%s\"", t->label, key->text.p);
        return sl_sql_at(SL_ESQL, key->from, err);
    }
    if (sl_log_is_key(t, s->fields[c].name)) {
        sl_err_set(err, SL_EUNSUPPORTED, "the key column \"%s\" of a row cannot be changed",
                   s->fields[c].name);
        sl_err_hint(err, "DELETE the row and INSERT another");
        return sl_sql_at(SL_EUNSUPPORTED, key->from, err);
    }
    *out = (size_t)c;
    return SL_OK;
}

/* ---- DELETE: keys and partitions of the rows ---- */

static int delete_pieces(struct sl_exec *r, struct sl_log *t, struct sl_query *q, sl_err *err)
{
    const struct sl_schema *s = &t->schema->columns;
    const size_t at = r->st->name.from;
    char kind[32];

    SL_TRY(sl_query_add_text(q, at, "SELECT ", err));
    for (size_t i = 0; i < s->nfields; i++) {
        if (sl_log_names_row(t, s->fields[i].name))
            SL_TRY(sl_piece_ident(q, at, i ? ", " : "", NULL, sl_str_c(s->fields[i].name), "", err));
        else
            SL_TRY(sl_piece_null(q, at, i ? ", " : "", s->fields[i].type, err));
    }
    snprintf(kind, sizeof kind, ", %d FROM ", SL_LOG_SURE_REMOVAL);
    return sl_piece_target(r, q, kind, err);
}

/* ---- UPDATE ---- */

/* One a column: the assignment that sets it, or NULL. */
static int assignments(struct sl_exec *r, struct sl_log *t, struct sl_query *q,
                       const struct sl_pair ***out, bool *moves, sl_err *err)
{
    const struct sl_pairs *pairs = &r->st->pairs;
    const struct sl_pair **sets =
        sl_arena_array(&q->arena, t->schema->columns.nfields, sizeof *sets);
    size_t c;

    *moves = false;
    *out = sets;
    if (!sets)
        return sl_err_nomem(err);
    for (size_t i = 0; i < pairs->n; i++) {
        SL_TRY(sl_set_column(t, &pairs->v[i].key, &c, err));
        if (sets[c]) {
            sl_err_set(err, SL_ESQL, "the table %s: the column \"%s\" is set twice", t->label,
                       pairs->v[i].key.text.p);
            return sl_sql_at(SL_ESQL, pairs->v[i].key.from, err);
        }
        sets[c] = &pairs->v[i];
        *moves = *moves || sl_log_moves_row(t, t->schema->columns.fields[c].name);
    }
    return SL_OK;
}

/* The new rows: SELECT values AS n0, ... */
static int new_values(struct sl_log *t, struct sl_query *q, const struct sl_pair *const *sets,
                      size_t at, sl_err *err)
{
    const struct sl_schema *s = &t->schema->columns;
    char as[32];

    SL_TRY(sl_query_add_text(q, at, "SELECT ", err));
    for (size_t i = 0; i < s->nfields; i++) {
        snprintf(as, sizeof as, " AS sl_n%zu", i);
        if (!sets[i]) {
            SL_TRY(sl_piece_ident(q, at, i ? ", " : "", NULL, sl_str_c(s->fields[i].name), as, err));
            continue;
        }
        SL_TRY(sl_query_add_text(q, at, i ? ", (" : "(", err));
        SL_TRY(sl_query_add_range(q, sets[i]->range, err));
        SL_TRY(sl_query_add_text(q, at, ")", err));
        SL_TRY(sl_query_add_text(q, at, as, err));
    }
    return SL_OK;
}

/* With a removal before each row: kind and sequence follow the columns. The common table has the
 * new values sl_n<i> and the old ones sl_o<i>. */
int sl_piece_moves(struct sl_log *t, struct sl_query *q, size_t at, const char *removals,
                   const char *rows, sl_err *err)
{
    const struct sl_schema *s = &t->schema->columns;
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    sl_buf_addc(&b, "SELECT ");
    for (size_t i = 0; i < s->nfields; i++) {
        if (sl_log_names_row(t, s->fields[i].name)) {
            sl_buf_printf(&b, "sl_o%zu, ", i);
        } else {
            sl_buf_addc(&b, "CAST(NULL AS ");
            sl_type_engine_sql(&b, s->fields[i].type);
            sl_buf_addc(&b, "), ");
        }
    }
    sl_buf_printf(&b, "%d, 2 * sl_seq FROM sl_changed%s UNION ALL SELECT ", SL_LOG_SURE_REMOVAL, removals);
    for (size_t i = 0; i < s->nfields; i++)
        sl_buf_printf(&b, "sl_n%zu, ", i);
    sl_buf_printf(&b, "%d, 2 * sl_seq + 1 FROM sl_changed%s", SL_LOG_ROW, rows);
    rc = sl_buf_ok(&b, err);
    if (rc == SL_OK)
        rc = sl_query_add_text(q, at, b.p, err);
    sl_buf_release(&b);
    return rc;
}

static int add_where(struct sl_exec *r, struct sl_query *q, sl_err *err)
{
    if (r->st->where.last == r->st->where.first)
        return SL_OK;
    SL_TRY(sl_query_add_text(q, r->st->name.from, " WHERE ", err));
    return sl_query_add_range(q, r->st->where, err);
}

static int update_pieces(struct sl_exec *r, struct sl_log *t, struct sl_query *q, bool *moves,
                         sl_err *err)
{
    const struct sl_schema *s = &t->schema->columns;
    const struct sl_pair **sets;
    const size_t at = r->st->name.from;
    char as[32];

    SL_TRY(assignments(r, t, q, &sets, moves, err));
    if (!*moves) {
        SL_TRY(new_values(t, q, sets, at, err));
        SL_TRY(sl_piece_target(r, q, " FROM ", err));
        return add_where(r, q, err);
    }
    SL_TRY(sl_query_add_text(q, at, "WITH sl_changed AS MATERIALIZED (", err));
    SL_TRY(new_values(t, q, sets, at, err));
    for (size_t i = 0; i < s->nfields; i++) {
        snprintf(as, sizeof as, " AS sl_o%zu", i);
        if (sl_log_names_row(t, s->fields[i].name))
            SL_TRY(sl_piece_ident(q, at, ", ", NULL, sl_str_c(s->fields[i].name), as, err));
    }
    SL_TRY(sl_query_add_text(q, at, ", row_number() OVER () AS sl_seq", err));
    SL_TRY(sl_piece_target(r, q, " FROM ", err));
    SL_TRY(add_where(r, q, err));
    SL_TRY(sl_query_add_text(q, at, ") ", err));
    return sl_piece_moves(t, q, at, "", "", err);
}

/* ---- all of them ---- */

static int pieces(struct sl_exec *r, struct sl_log *t, struct sl_query *q,
                  struct sl_log_write_opts *opts, sl_err *err)
{
    bool moves = false;

    switch (r->st->kind) {
    case SL_STMT_DELETE:
        opts->op = SL_LOG_DELETE;
        opts->has_kind = true;
        SL_TRY(delete_pieces(r, t, q, err));
        return add_where(r, q, err);
    case SL_STMT_UPDATE:
        SL_TRY(update_pieces(r, t, q, &moves, err));
        opts->has_kind = opts->has_seq = moves;
        return SL_OK;
    default:
        opts->has_kind = opts->has_seq = true;
        return sl_merge_pieces(r, t, q, err);
    }
}

/* Read and written under one lock, so that nothing changes in between. */
static int rewrite(struct sl_exec *r, struct sl_log *t, struct sl_query *q, sl_err *err)
{
    struct sl_insert_sql sql = {SL_BUF_INIT, 0};
    struct sl_log_write_opts opts = {0};
    struct sl_log_lock *lock = NULL;
    int rc;

    SL_GO(sl_sql_at(sl_log_check_write(t, err), r->st->name.from, err));
    SL_GO(pieces(r, t, q, &opts, err));
    SL_GO(sl_log_lock_take(t, SL_LOG_LOCK_MILLIS, false, &lock, err));
    opts.lock = lock;
    SL_GO(sl_query_bind(q, err));
    rc = sl_conn_prepare(q->conn, sl_buf_view(&q->text.buf), NULL, err);
    if (rc != SL_OK) {
        rc = sl_query_error(q, rc, err);
        goto done;
    }
    SL_GO(sl_query_announce(q, err));
    sl_buf_add(&sql.sql, sl_buf_view(&q->text.buf));
    SL_GO(sl_buf_ok(&sql.sql, err));
    rc = write_rows(r, t, q, &sql, &opts, err);
done:
    sl_log_lock_drop(lock);
    sl_buf_release(&sql.sql);
    return rc;
}

int sl_exec_rewrite_log(struct sl_exec *r, struct sl_log *t, sl_err *err)
{
    struct sl_query q;
    struct sl_conn *conn;
    int rc;

    if (r->st->kind != SL_STMT_UPDATE && r->st->kind != SL_STMT_DELETE && r->st->kind != SL_STMT_MERGE) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "%s of a log table is not supported", r->st->verb);
        sl_err_hint(err, "DELETE FROM removes rows");
        sl_log_close(t);
        return sl_sql_at(rc, r->st->name.from, err);
    }
    rc = sl_session_conn(r->s, &conn, err);
    if (rc == SL_OK) {
        sl_query_init(&q, r->s, conn, r->tokens);
        rc = rewrite(r, t, &q, err);
        sl_query_release(&q);
    }
    sl_log_close(t);
    return rc;
}
