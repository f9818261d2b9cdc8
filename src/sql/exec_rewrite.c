/* exec_rewrite.c - UPDATE, DELETE, TRUNCATE, DROP PARTITION. */
#include <string.h>

#include "base/sys.h"
#include "sql/insert.h"

/* The condition and the new values become a query over the target, so that names in them are found
 * and errors have their place: SELECT (value), ... FROM target AS alias WHERE condition. */
static int add_pieces(struct sl_exec *r, struct sl_query *q, sl_str alias, sl_err *err)
{
    const struct sl_statement *st = r->st;
    const size_t at = st->name.from;
    struct sl_buf from = SL_BUF_INIT;
    int rc;

    SL_GO(sl_query_add_text(q, at, "SELECT 1", err));
    for (size_t i = 0; st->kind == SL_STMT_UPDATE && i < st->pairs.n; i++) {
        SL_GO(sl_query_add_text(q, at, ", (", err));
        SL_GO(sl_query_add_range(q, st->pairs.v[i].range, err));
        SL_GO(sl_query_add_text(q, at, ")", err));
    }
    sl_buf_addc(&from, " FROM \"" SL_QUERY_TARGET "\" AS ");
    sl_buf_sql_ident(&from, alias);
    SL_GO(sl_buf_ok(&from, err));
    SL_GO(sl_query_add_text(q, at, from.p, err));
    if (st->where.last > st->where.first) {
        SL_GO(sl_query_add_text(q, at, " WHERE ", err));
        rc = sl_query_add_range(q, st->where, err);
    }
done:
    sl_buf_release(&from);
    return rc;
}

static int assignments(struct sl_exec *r, struct sl_append *t, struct sl_query *q,
                       struct sl_rewrite_request *req, sl_err *err)
{
    const struct sl_pairs *pairs = &r->st->pairs;
    struct sl_assignment *sets = sl_arena_array(&q->arena, pairs->n + 1, sizeof *sets);
    bool *seen = sl_arena_array(&q->arena, t->schema->nfields, sizeof *seen);

    if (!sets || !seen)
        return sl_err_nomem(err);
    for (size_t i = 0; i < pairs->n; i++) {
        const struct sl_word *key = &pairs->v[i].key;
        struct sl_sql_text text = SL_SQL_TEXT_INIT;
        ptrdiff_t c = sl_schema_index(t->schema, key->text);

        for (size_t k = 0; c < 0 && k < t->schema->nfields; k++)
            if (sl_str_ieqc(key->text, t->schema->fields[k].name))
                c = (ptrdiff_t)k;
        if (c < 0 || seen[c]) {
            sl_err_set(err, SL_ESQL,
                       c < 0 ? "the table %s has no column \"%s\""
                             : "the table %s: the column \"%s\" is set twice",
                       t->label, key->text.p);
            return sl_sql_at(SL_ESQL, key->from, err);
        }
        seen[c] = true;
        SL_TRY(sl_query_render(q, pairs->v[i].range, &text, err));
        sets[i] =
            (struct sl_assignment){(size_t)c, sl_arena_str(&q->arena, sl_buf_view(&text.buf))};
        sl_sql_text_release(&text);
        if (!sets[i].expr.p)
            return sl_err_nomem(err);
    }
    req->sets = sets;
    req->nsets = pairs->n;
    return SL_OK;
}

static bool partition_only(const struct sl_query *q, const struct sl_append *t)
{
    const json_t *where = sl_tree_where(q->tree);

    return !where || sl_tree_only_columns(where, t->schema->partition_keys, t->npartition);
}

static int fill_request(struct sl_exec *r, struct sl_append *t, struct sl_query *q,
                        struct sl_sql_text *where, struct sl_rewrite_request *req, sl_err *err)
{
    if (r->st->where.last > r->st->where.first) {
        SL_TRY(sl_query_render(q, r->st->where, where, err));
        req->where_sql = sl_buf_view(&where->buf);
    }
    req->pred = q->target_pred;
    if (r->st->kind == SL_STMT_DELETE) {
        req->partition_only = partition_only(q, t);
        return SL_OK;
    }
    return assignments(r, t, q, req, err);
}

/* What the condition or a value of the statement gets wrong is known before anything is written. */
static int check(struct sl_query *q, sl_err *err)
{
    int rc = sl_conn_prepare(q->conn, sl_buf_view(&q->text.buf), NULL, err);

    return rc == SL_OK ? SL_OK : sl_query_error(q, rc, err);
}

static int rewrite_once(struct sl_exec *r, struct sl_append *t, sl_err *err)
{
    struct sl_rewrite_request req = {.alias = r->st->alias.text.p ? r->st->alias.text
                                                                  : r->st->name.table};
    struct sl_rewrite_result result = {0};
    struct sl_sql_text where = SL_SQL_TEXT_INIT;
    struct sl_conn *conn;
    struct sl_query q;
    int rc;

    SL_TRY(sl_session_conn(r->s, &conn, err));
    sl_query_init(&q, r->s, conn, r->tokens);
    q.target = t;
    SL_GO(add_pieces(r, &q, req.alias, err));
    SL_GO(sl_query_bind(&q, err));
    SL_GO(check(&q, err));
    SL_GO(fill_request(r, t, &q, &where, &req, err));
    req.once = q.tables.n > 0;
    SL_GO(sl_query_announce(&q, err));
    if (r->st->kind == SL_STMT_UPDATE)
        rc = sl_append_update(t, conn, &req, &result, err);
    else
        rc = sl_append_delete(t, conn, &req, &result, err);
    if (rc != SL_OK && err)
        err->offset = -1; /* one in a text that the user never saw */
    if (rc != SL_OK)
        goto done;
    r->done.rows = (uint64_t)result.rows_matched;
    r->done.snapshot = result.snapshot_id;
    r->done.counts_rows = true;
done:
    sl_sql_text_release(&where);
    sl_query_release(&q);
    return rc;
}

static int rewrite(struct sl_exec *r, struct sl_append *t, sl_err *err)
{
    int rc;

    do {
        sl_err_clear(err);
        SL_TRY(sl_cancel_check(err));
        rc = rewrite_once(r, t, err);
        if (rc == SL_ECONFLICT)
            SL_TRY(sl_append_same_table(t, err));
    } while (rc == SL_ECONFLICT);
    return rc;
}

static int drop_partition(struct sl_exec *r, struct sl_append *t, struct sl_rewrite_result *result,
                          sl_err *err)
{
    struct sl_partition_spec spec;

    SL_TRY(sl_partition_spec_of(r->st, t, &r->st->arena, &spec, err));
    if (spec.n == 0) {
        sl_err_set(err, SL_ESQL, "no partition is named");
        sl_err_hint(err, "TRUNCATE TABLE removes all rows");
        return SL_ESQL;
    }
    return sl_append_drop_partition(t, &spec, result, err);
}

int sl_exec_rewrite(struct sl_exec *r, sl_err *err)
{
    struct sl_rewrite_result result = {0};
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    int rc;

    SL_TRY(sl_session_log(r->s, &r->st->name, &log, err));
    if (log)
        return sl_exec_rewrite_log(r, log, err);
    SL_GO(sl_session_table(r->s, &r->st->name, &t, err));
    SL_GO(sl_sql_at(sl_append_check(t, SL_WRITE, err), r->st->name.from, err));
    if (r->st->kind == SL_STMT_MERGE) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "MERGE INTO an append table is not supported: it has no key");
        sl_err_hint(err, "log tables (PRIMARY KEY, 'write-mode' = 'log') take it");
        sl_sql_at(rc, r->st->name.from, err);
        goto done;
    }
    if (r->st->kind == SL_STMT_UPDATE || r->st->kind == SL_STMT_DELETE) {
        rc = rewrite(r, t, err);
        goto done;
    }
    if (r->st->kind == SL_STMT_TRUNCATE)
        SL_GO(sl_append_truncate(t, &result, err));
    else
        SL_GO(drop_partition(r, t, &result, err));
    r->done.rows = (uint64_t)result.rows_matched;
    r->done.snapshot = result.snapshot_id;
    r->done.counts_rows = true;
done:
    sl_append_close(t);
    return rc;
}
