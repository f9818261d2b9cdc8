/* exec_insert.c - INSERT INTO and INSERT OVERWRITE. */
#include "sql/insert.h"

#include <string.h>

#include "base/sys.h"
#include "sql/source_table.h"

/* ---- the columns of the query put into those of the table ---- */

static int unknown_column(const struct sl_insert_target *t, const struct sl_word *w, sl_err *err)
{
    sl_err_set(err, SL_ESQL, "the table %s has no column \"" SL_STRF "\"", t->label,
               SL_STRV(w->text));
    return sl_sql_at(SL_ESQL, w->from, err);
}

/* The column that a name means: exactly, else the only one that differs in case alone. */
static ptrdiff_t column_index(const struct sl_schema *s, sl_str name)
{
    ptrdiff_t found = sl_schema_index(s, name);

    for (size_t i = 0; found < 0 && i < s->nfields; i++)
        if (sl_str_ieqc(name, s->fields[i].name))
            return (ptrdiff_t)i;
    return found;
}

/* What stands in each column of the table: >= 0 a column of the query, -1 a static partition value,
 * -2 nothing. */
struct mapping {
    ptrdiff_t *from;
    const struct sl_pair **fixed;
    size_t expected; /* columns of the query */
};

static int map_static(const struct sl_statement *st, const struct sl_insert_target *t, struct mapping *m,
                      sl_err *err)
{
    for (size_t i = 0; st->has_partition && i < st->pairs.n; i++) {
        const struct sl_pair *p = &st->pairs.v[i];
        const ptrdiff_t c = column_index(t->schema, p->key.text);
        bool key = false;

        for (size_t k = 0; k < t->schema->npartition; k++)
            key |= c >= 0 && t->schema->partition_index[k] == (size_t)c;
        if (!key) {
            sl_err_set(err, SL_ESQL, "\"" SL_STRF "\" is no partition column of %s",
                       SL_STRV(p->key.text), t->label);
            return sl_sql_at(SL_ESQL, p->key.from, err);
        }
        if (p->has_value) {
            m->from[c] = -1;
            m->fixed[c] = p;
        }
    }
    return SL_OK;
}

static int map_columns(const struct sl_statement *st, const struct sl_insert_target *t, struct mapping *m,
                       sl_err *err)
{
    for (size_t i = 0; i < t->schema->nfields; i++)
        m->from[i] = -2;
    SL_TRY(map_static(st, t, m, err));
    if (!st->has_columns) {
        for (size_t i = 0; i < t->schema->nfields; i++)
            if (m->from[i] == -2)
                m->from[i] = (ptrdiff_t)m->expected++;
        return SL_OK;
    }
    for (size_t i = 0; i < st->columns.n; i++) {
        const ptrdiff_t c = column_index(t->schema, st->columns.v[i].text);

        if (c < 0)
            return unknown_column(t, &st->columns.v[i], err);
        if (m->from[c] != -2) {
            sl_err_set(err, SL_ESQL, "the column \"%s\" is given twice", t->schema->fields[c].name);
            return sl_sql_at(SL_ESQL, st->columns.v[i].from, err);
        }
        m->from[c] = (ptrdiff_t)m->expected++;
    }
    return SL_OK;
}

static int count_error(const struct sl_exec *r, const struct sl_insert_target *t, size_t expected,
                       size_t got, sl_err *err)
{
    const size_t at =
        r->st->query.first < r->tokens->n ? r->tokens->v[r->st->query.first].from : r->tokens->to;

    sl_err_set(err, SL_ESQL,
               "the query gives %zu columns, but %zu of the table %s are to be filled", got,
               expected, t->label);
    return sl_sql_at(SL_ESQL, at, err);
}

static void put_constant(struct sl_buf *out, const struct sl_type *type, sl_str text, bool null)
{
    sl_buf_addc(out, "CAST(");
    if (null)
        sl_buf_addc(out, "NULL");
    else
        sl_buf_sql_string(out, text);
    sl_buf_addc(out, " AS ");
    sl_type_engine_sql(out, type);
    sl_buf_ch(out, ')');
}

/* SELECT <the table's columns> FROM (query) AS q(c0, c1, ...). */
static int put_select(const struct sl_insert_target *t, const struct mapping *m,
                      const struct sl_buf *query, struct sl_buf *out, size_t *shift, sl_err *err)
{
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < t->schema->nfields; i++) {
        const struct sl_field *f = &t->schema->fields[i];

        sl_buf_addc(out, i ? ", " : "");
        if (m->from[i] >= 0)
            sl_buf_printf(out, "c%zd", m->from[i]);
        else if (m->from[i] == -1)
            put_constant(out, f->type, m->fixed[i]->value.text, m->fixed[i]->null);
        else
            put_constant(out, f->type, sl_str_c(f->default_text), !f->default_text);
    }
    sl_buf_addc(out, " FROM (");
    *shift = out->n;
    sl_buf_add(out, sl_buf_view(query));
    sl_buf_addc(out, ") AS q(");
    for (size_t i = 0; i < m->expected; i++)
        sl_buf_printf(out, "%sc%zu", i ? ", " : "", i);
    sl_buf_ch(out, ')');
    return sl_buf_ok(out, err);
}

static bool is_plain(const struct sl_insert_target *t, const struct mapping *m)
{
    for (size_t i = 0; i < t->schema->nfields; i++)
        if (m->from[i] != (ptrdiff_t)i)
            return false;
    return true;
}

int sl_insert_select(struct sl_exec *r, const struct sl_insert_target *t, struct sl_query *q,
                     struct sl_insert_sql *out, sl_err *err)
{
    struct mapping m = {NULL, NULL, 0};
    struct sl_result *columns = NULL;
    int rc;

    m.from = sl_arena_array(&q->arena, t->schema->nfields, sizeof *m.from);
    m.fixed = sl_arena_array(&q->arena, t->schema->nfields, sizeof *m.fixed);
    if (!m.from || !m.fixed)
        return sl_err_nomem(err);
    SL_GO(map_columns(r->st, t, &m, err));
    rc = sl_conn_prepare(q->conn, sl_buf_view(&q->text.buf), &columns, err);
    if (rc != SL_OK) {
        rc = sl_query_error(q, rc, err);
        goto done;
    }
    if (sl_result_ncols(columns) != m.expected) {
        rc = count_error(r, t, m.expected, sl_result_ncols(columns), err);
        goto done;
    }
    if (!is_plain(t, &m)) {
        SL_GO(put_select(t, &m, &q->text.buf, &out->sql, &out->shift, err));
    } else {
        sl_buf_add(&out->sql, sl_buf_view(&q->text.buf));
        rc = sl_buf_ok(&out->sql, err);
    }
done:
    sl_result_free(columns);
    return rc;
}

/* An error of the SELECT that was made of the query. What the table says of a column has no place
 * in the text: the query then. */
int sl_insert_error(struct sl_exec *r, struct sl_query *q, const struct sl_insert_sql *sql, int rc,
                    sl_err *err)
{
    if (err && err->offset >= (int64_t)sql->shift)
        err->offset -= (int64_t)sql->shift;
    else if (err)
        err->offset = -1;
    rc = sl_query_error(q, rc, err);
    return sl_sql_at(rc, r->tokens->v[r->st->query.first].from, err);
}

/* ---- publishing ---- */

int sl_publish_new(struct sl_append *t, struct sl_commit_request *req, struct sl_new_files *files,
                   struct sl_commit_result *out, sl_err *err)
{
    char user[37];
    int rc;

    if (!req->user) {
        sl_uuid(user);
        req->user = user;
        req->identifier = 1;
    }
    rc = sl_commit_publish(t, req, out, err);
    for (int tries = 0; rc != SL_OK && err && (err->flags & SL_ERR_UNKNOWN_OUTCOME) && tries < 5;
         tries++) {
        sl_sleep_millis(100 << tries);
        req->look_first = true;
        rc = sl_commit_publish(t, req, out, err);
    }
    if (rc != SL_OK && !(err && (err->flags & SL_ERR_UNKNOWN_OUTCOME)))
        sl_new_files_discard(t, files);
    return rc;
}

static int insert_into(struct sl_exec *r, struct sl_append *t, struct sl_query *q,
                       const struct sl_insert_sql *sql, sl_err *err)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result result = {0};
    struct sl_commit_request req = {.kind = "APPEND", .operation = "WRITE"};
    int rc;

    rc = sl_append_write(t, q->conn, sl_buf_view(&sql->sql), NULL, &files, err);
    if (rc != SL_OK) {
        rc = sl_insert_error(r, q, sql, rc, err);
        goto done;
    }
    r->done.rows = (uint64_t)files.rows;
    if (files.n > 0) {
        req.adds = files.v;
        req.nadds = files.n;
        SL_GO(sl_publish_new(t, &req, &files, &result, err));
        r->done.snapshot = result.snapshot_id;
    }
done:
    sl_new_files_release(&files);
    return rc;
}

/* ---- OVERWRITE ---- */

int sl_partition_spec_of(const struct sl_statement *st, const struct sl_append *t,
                         struct sl_arena *a, struct sl_partition_spec *out, sl_err *err)
{
    const char **keys = sl_arena_array(a, st->pairs.n + 1, sizeof *keys);
    struct sl_value *values = sl_arena_array(a, st->pairs.n + 1, sizeof *values);

    *out = (struct sl_partition_spec){keys, values, 0};
    if (!keys || !values)
        return sl_err_nomem(err);
    for (size_t i = 0; i < st->pairs.n; i++) {
        const struct sl_pair *p = &st->pairs.v[i];
        size_t k = 0;

        if (!p->has_value)
            continue;
        while (k < t->npartition && !sl_str_ieqc(p->key.text, t->schema->partition_keys[k]))
            k++;
        if (k == t->npartition) {
            sl_err_set(err, SL_ESQL, "\"" SL_STRF "\" is no partition column of %s",
                       SL_STRV(p->key.text), t->label);
            return sl_sql_at(SL_ESQL, p->key.from, err);
        }
        keys[out->n] = t->schema->partition_keys[k];
        values[out->n] = (struct sl_value){.kind = t->partition_types[k]->kind, .null = true};
        if (!p->null &&
            !sl_value_from_text(a, t->partition_types[k], p->value.text, &values[out->n])) {
            sl_err_set(err, SL_EINPUT, "'" SL_STRF "' is no value of the partition column \"%s\"",
                       SL_STRV(p->value.text), keys[out->n]);
            return sl_sql_at(SL_EINPUT, p->value.from, err);
        }
        out->n++;
    }
    return SL_OK;
}

static int insert_overwrite(struct sl_exec *r, struct sl_append *t, struct sl_query *q,
                            const struct sl_insert_sql *sql, sl_err *err)
{
    struct sl_partition_spec spec;
    struct sl_rewrite_result result = {0};
    int rc;

    SL_TRY(sl_partition_spec_of(r->st, t, &q->arena, &spec, err));
    rc = sl_append_overwrite(t, q->conn, sl_buf_view(&sql->sql), spec.n > 0 ? &spec : NULL, &result,
                             err);
    if (rc != SL_OK)
        return sl_insert_error(r, q, sql, rc, err);
    r->done.rows = (uint64_t)result.rows_matched;
    r->done.snapshot = result.snapshot_id;
    return SL_OK;
}

int sl_exec_insert(struct sl_exec *r, sl_err *err)
{
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    struct sl_insert_sql sql = {SL_BUF_INIT, 0};
    struct sl_query q;
    struct sl_conn *conn;
    int rc;

    SL_TRY(sl_session_log(r->s, &r->st->name, &log, err));
    if (log)
        return sl_exec_insert_log(r, log, err);
    SL_TRY(sl_session_conn(r->s, &conn, err));
    sl_query_init(&q, r->s, conn, r->tokens);
    SL_GO(sl_session_table(r->s, &r->st->name, &t, err));
    SL_GO(sl_sql_at(sl_append_check(t, SL_WRITE, err), r->st->name.from, err));
    q.allow_endless = !r->st->overwrite;
    SL_GO(sl_query_add_range(&q, r->st->query, err));
    SL_GO(sl_query_bind(&q, err));
    const struct sl_insert_target target = {t->schema, t->label};
    SL_GO(sl_insert_select(r, &target, &q, &sql, err));
    SL_GO(sl_query_announce(&q, err));
    r->done.counts_rows = true;
    if (q.endless)
        rc = sl_source_stream(r, t, &q, &sql, err);
    else if (r->st->overwrite)
        rc = insert_overwrite(r, t, &q, &sql, err);
    else
        rc = insert_into(r, t, &q, &sql, err);
done:
    sl_query_release(&q);
    sl_append_close(t);
    sl_buf_release(&sql.sql);
    return rc;
}
