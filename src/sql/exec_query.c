/* exec_query.c - SELECT, EXPLAIN, COPY ... TO: rows from DuckDB to the sink. */
#include <string.h>

#include "sql/query.h"

static bool is_nested(const char *type)
{
    const size_t n = strlen(type);

    return (n > 0 && type[n - 1] == ']') || strncmp(type, "STRUCT", 6) == 0 ||
           strncmp(type, "MAP", 3) == 0;
}

/* SELECT c0, to_json(c1), ... FROM (query) AS t(c0, c1, ...), so that nested values are JSON. */
static int wrap_nested(const struct sl_buf *sql, const struct sl_result *types, struct sl_buf *out,
                       size_t *shift, sl_err *err)
{
    const size_t n = sl_result_ncols(types);

    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < n; i++)
        sl_buf_printf(out, is_nested(sl_result_type_sql(types, i)) ? "%sto_json(c%zu)" : "%sc%zu",
                      i ? ", " : "", i);
    sl_buf_addc(out, " FROM (");
    *shift = out->n;
    sl_buf_add(out, sl_buf_view(sql));
    sl_buf_addc(out, ") AS t(");
    for (size_t i = 0; i < n; i++)
        sl_buf_printf(out, "%sc%zu", i ? ", " : "", i);
    sl_buf_ch(out, ')');
    return sl_buf_ok(out, err);
}

static int hand_columns(struct sl_session *s, struct sl_query *q, const struct sl_result *r, sl_err *err)
{
    const size_t n = sl_result_ncols(r);
    struct sl_buf shown = SL_BUF_INIT;
    struct sl_sql_column *columns;
    int rc = SL_OK;

    if (!s->sink || !s->sink->columns)
        return SL_OK;
    columns = sl_calloc(n ? n : 1, sizeof *columns);
    if (!columns)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        columns[i] = (struct sl_sql_column){sl_result_name(r, i), sl_result_type_sql(r, i)};
        if (sl_same_names_show(q, sl_str_c(columns[i].name), &shown) &&
            !(columns[i].name = sl_arena_strdup(&q->arena, sl_buf_view(&shown))))
            SL_GOTO_NOMEM(err);
    }
    rc = s->sink->columns(s->sink->user, columns, n, err);
done:
    sl_buf_release(&shown);
    sl_free(columns);
    return rc;
}

/* DESCRIBE and SUMMARIZE give names as values. */
static bool gives_names(const struct sl_query *q)
{
    static const char *const words[] = {"DESCRIBE", "DESC", "SUMMARIZE", "SHOW"};

    for (size_t i = 0; q->same.n > 0 && q->tokens->n > 0 && i < sizeof words / sizeof *words; i++)
        if (sl_token_is(&q->tokens->v[0], words[i]))
            return true;
    return false;
}

static int hand_rows(struct sl_session *s, const struct sl_query *q, struct sl_result *r, uint64_t *total, sl_err *err)
{
    const size_t n = sl_result_ncols(r);
    const bool names = gives_names(q);
    struct sl_buf shown = SL_BUF_INIT;
    sl_str *cells = sl_calloc(n ? n : 1, sizeof *cells);
    size_t rows;
    int rc = SL_OK;

    if (!cells)
        return sl_err_nomem(err);
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t row = 0; row < rows; row++) {
            for (size_t i = 0; i < n; i++) {
                cells[i] = sl_result_null(r, i, row) ? (sl_str){NULL, 0} : sl_result_str(r, i, row);
                if (!cells[i].p && !sl_result_null(r, i, row))
                    cells[i].p = "";
            }
            if (names && sl_same_names_show(q, cells[0], &shown))
                cells[0] = sl_buf_view(&shown);
            SL_GO(sl_show_row(s, cells, n, err));
        }
        *total += rows;
    }
done:
    sl_buf_release(&shown);
    sl_free(cells);
    return rc;
}

static int query_to_sink(struct sl_exec *r, struct sl_query *q, sl_err *err)
{
    struct sl_result *types = NULL, *res = NULL;
    struct sl_buf wrapped = SL_BUF_INIT;
    const struct sl_buf *sql = &q->text.buf;
    bool nested = false;
    size_t shift = 0;
    int rc;

    if (r->s->sink && r->s->sink->nested_json) {
        rc = sl_conn_prepare(q->conn, sl_buf_view(sql), &types, err);
        if (rc != SL_OK) {
            rc = sl_query_error(q, rc, err);
            goto done;
        }
        for (size_t i = 0; i < sl_result_ncols(types); i++)
            nested |= is_nested(sl_result_type_sql(types, i));
        if (nested) {
            SL_GO(wrap_nested(sql, types, &wrapped, &shift, err));
            sql = &wrapped;
        }
    }
    SL_GO(sl_query_announce(q, err));
    rc = sl_conn_query_text(q->conn, sl_buf_view(sql), &res, err);
    if (rc == SL_OK) {
        SL_GO(hand_columns(r->s, q, nested ? types : res, err));
        rc = hand_rows(r->s, q, res, &r->done.rows, err);
    }
    if (rc != SL_OK && err && err->offset >= (int64_t)shift)
        err->offset -= (int64_t)shift;
    if (rc != SL_OK)
        rc = sl_query_error(q, rc, err);
    r->done.has_rows = r->done.counts_rows = true;
done:
    sl_result_free(res);
    sl_result_free(types);
    sl_buf_release(&wrapped);
    return rc;
}

/* ---- COPY ---- */

/* The file gets the names as they are; where two differ only in case, DuckDB adds a number to the second. */
static int add_names(struct sl_query *q, struct sl_buf *out, sl_err *err)
{
    struct sl_result *columns = NULL;
    struct sl_buf shown = SL_BUF_INIT;
    int rc = sl_conn_prepare(q->conn, sl_buf_view(&q->text.buf), &columns, err);

    if (rc != SL_OK)
        return sl_query_error(q, rc, err);
    sl_buf_addc(out, ") AS _q(");
    for (size_t i = 0; i < sl_result_ncols(columns); i++) {
        const sl_str name = sl_str_c(sl_result_name(columns, i));

        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_ident(out, sl_same_names_show(q, name, &shown) ? sl_buf_view(&shown) : name);
    }
    sl_buf_ch(out, ')');
    sl_buf_release(&shown);
    sl_result_free(columns);
    return sl_buf_ok(out, err);
}

static int copy_query(struct sl_exec *r, struct sl_query *q, sl_str file, struct sl_range options,
                      sl_err *err)
{
    struct sl_sql_text tail = SL_SQL_TEXT_INIT;
    struct sl_buf copy = SL_BUF_INIT;
    struct sl_result *res = NULL;
    size_t rows;
    int rc;

    sl_buf_addc(&copy, q->same.n ? "COPY (SELECT * FROM (" : "COPY (");
    const size_t shift = copy.n;
    sl_buf_add(&copy, sl_buf_view(&q->text.buf));
    if (q->same.n)
        SL_GO(add_names(q, &copy, err));
    sl_buf_addc(&copy, ") TO ");
    sl_buf_sql_string(&copy, file);
    sl_buf_ch(&copy, ' ');
    if (options.last > options.first) {
        SL_GO(sl_query_render(q, options, &tail, err));
        sl_buf_add(&copy, sl_buf_view(&tail.buf));
    } else if (!sl_str_ends(file, ".csv") && !sl_str_ends(file, ".json") &&
               !sl_str_ends(file, ".ndjson")) {
        sl_buf_addc(&copy, "(FORMAT parquet, COMPRESSION zstd)");
    }
    SL_GO(sl_buf_ok(&copy, err));
    SL_GO(sl_query_announce(q, err));
    rc = sl_conn_query(q->conn, sl_buf_view(&copy), &res, err);
    if (rc == SL_OK)
        rc = sl_result_next(res, &rows, err);
    if (rc == SL_OK && rows == 1)
        r->done.rows = (uint64_t)sl_result_i64(res, 0, 0);
    if (rc != SL_OK && err && err->offset >= 0)
        err->offset = (size_t)err->offset >= shift && (size_t)err->offset < shift + q->text.buf.n
                          ? err->offset - (int64_t)shift
                          : -1;
    if (rc != SL_OK)
        rc = sl_query_error(q, rc, err);
    r->done.counts_rows = true;
done:
    sl_result_free(res);
    sl_sql_text_release(&tail);
    sl_buf_release(&copy);
    return rc;
}

/* COPY t (a, b) TO: a query over the name. */
static int add_copied_table(struct sl_exec *r, struct sl_query *q, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    size_t last = r->st->query.first;
    int rc;

    sl_buf_addc(&b, "SELECT ");
    for (size_t i = 0; i < r->st->columns.n; i++) {
        sl_buf_addc(&b, i ? ", " : "");
        sl_buf_sql_ident(&b, r->st->columns.v[i].text);
    }
    sl_buf_addc(&b, r->st->columns.n ? " FROM " : "* FROM ");
    SL_GO(sl_buf_ok(&b, err));
    SL_GO(sl_query_add_text(q, r->st->name.from, b.p, err));
    while (last < r->tokens->n && r->tokens->v[last].to <= r->st->name.to)
        last++;
    rc = sl_query_add_range(q, (struct sl_range){r->st->query.first, last}, err);
done:
    sl_buf_release(&b);
    return rc;
}

/* ---- EXPLAIN ---- */

/* The predicate with names of columns in place of their ids. */
static void put_predicate(const struct sl_pred *pred, const struct sl_schema *schema,
                          struct sl_buf *out)
{
    struct sl_buf text = SL_BUF_INIT;

    sl_pred_text(&text, pred);
    for (size_t i = 0; i < text.n; i++) {
        const struct sl_field *f = NULL;
        size_t k = i + 1;
        int64_t id;

        while (k < text.n && text.p[k] >= '0' && text.p[k] <= '9')
            k++;
        if (text.p[i] == '#' && (i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '(') &&
            sl_parse_i64((sl_str){text.p + i + 1, k - i - 1}, &id))
            f = sl_schema_field_by_id(schema, (int32_t)id);
        if (f) {
            sl_buf_addc(out, f->name);
            i = k - 1;
        } else {
            sl_buf_ch(out, text.p[i]);
        }
    }
    sl_buf_release(&text);
}

static void explain_log(const struct sl_query_table *t, struct sl_buf *out)
{
    const struct sl_log_plan *p = t->log_plan;
    char instant[18];

    sl_hudi_instant_text(p->instant, instant);
    sl_buf_printf(out, "%s: instant %s, %zu of %zu file slices kept", t->log->label,
                  p->instant ? instant : "none", p->nslices, p->slices_total);
    sl_buf_printf(out,
                  " (%zu of %zu partitions pruned, %zu slices by time), %zu base files of %llu "
                  "bytes, %zu logs of %llu bytes",
                  p->partitions_pruned, p->partitions_total, p->pruned_time, p->base_files,
                  (unsigned long long)p->base_bytes, p->log_files,
                  (unsigned long long)p->log_bytes);
    if (p->nkeys)
        sl_buf_printf(out,
                      "; %zu keys looked up in %llu base files and blocks: %llu ruled out by "
                      "range, %llu by filter, %llu opened (%llu without an index), and %zu "
                      "delete blocks",
                      p->nkeys, (unsigned long long)p->lookup.sources,
                      (unsigned long long)p->lookup.by_range,
                      (unsigned long long)p->lookup.by_filter,
                      (unsigned long long)p->lookup.opened,
                      (unsigned long long)p->lookup.unindexed, p->delete_blocks);
    if (t->pred && t->pred->op != SL_PRED_TRUE) {
        sl_buf_addc(out, "; where ");
        put_predicate(t->pred, t->schema, out);
    }
}

static void explain_table(const struct sl_query_table *t, struct sl_buf *out)
{
    const struct sl_plan *p = t->plan;

    if (t->log) {
        explain_log(t, out);
        return;
    }
    sl_buf_printf(out, "%s: snapshot %lld, %zu of %zu files kept", t->t->label,
                  (long long)p->snapshot.id, p->nfiles, p->files_total);
    sl_buf_printf(out,
                  " (%zu pruned by partition, %zu by statistics), %lld rows, %lld bytes; %zu of "
                  "%zu manifests read",
                  p->pruned_partition, p->pruned_stats, (long long)p->rows, (long long)p->bytes,
                  p->manifests_read, p->manifests_total);
    if (t->pred && t->pred->op != SL_PRED_TRUE) {
        sl_buf_addc(out, "; where ");
        put_predicate(t->pred, t->schema, out);
    }
}

static int explain_rows(struct sl_exec *r, const struct sl_query *q, struct sl_result *res, sl_err *err)
{
    struct sl_buf shown = SL_BUF_INIT;
    size_t rows;
    int rc = SL_OK;
    const size_t last = sl_result_ncols(res) - 1;

    for (;;) {
        SL_GO(sl_result_next(res, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            sl_str text = sl_result_str(res, last, i);

            while (text.n > 0) {
                const char *end = memchr(text.p, '\n', text.n);
                const size_t length = end ? (size_t)(end - text.p) : text.n;
                sl_str line = sl_str_sub(text, 0, length);

                if (sl_same_names_show(q, line, &shown))
                    line = sl_buf_view(&shown);
                SL_GO(sl_show_row(r->s, &line, 1, err));
                r->done.rows++;
                text = sl_str_sub(text, length + 1, text.n);
            }
        }
    }
done:
    sl_buf_release(&shown);
    return rc;
}

static int explain(struct sl_exec *r, struct sl_query *q, sl_err *err)
{
    static const char *const columns[] = {"plan"};
    struct sl_buf b = SL_BUF_INIT;
    struct sl_result *res = NULL;
    int rc;

    SL_GO(sl_show_columns(r->s, columns, 1, err));
    for (size_t i = 0; i < q->tables.n; i++) {
        sl_buf_reset(&b);
        explain_table(q->tables.v[i], &b);
        SL_GO(sl_buf_ok(&b, err));
        const sl_str line = sl_buf_view(&b);
        SL_GO(sl_show_row(r->s, &line, 1, err));
        r->done.rows++;
    }
    sl_buf_reset(&b);
    sl_buf_addc(&b, r->st->analyze ? "EXPLAIN ANALYZE " : "EXPLAIN ");
    const size_t shift = b.n;
    sl_buf_add(&b, sl_buf_view(&q->text.buf));
    SL_GO(sl_buf_ok(&b, err));
    SL_GO(sl_query_announce(q, err));
    rc = sl_conn_query(q->conn, sl_buf_view(&b), &res, err);
    if (rc == SL_OK)
        rc = explain_rows(r, q, res, err);
    if (rc != SL_OK && err && err->offset >= (int64_t)shift)
        err->offset -= (int64_t)shift;
    if (rc != SL_OK)
        rc = sl_query_error(q, rc, err);
    r->done.has_rows = r->done.counts_rows = true;
done:
    sl_result_free(res);
    sl_buf_release(&b);
    return rc;
}

int sl_exec_query(struct sl_exec *r, sl_err *err)
{
    struct sl_conn *conn;
    struct sl_query q;
    int rc;

    SL_TRY(sl_session_conn(r->s, &conn, err));
    sl_query_init(&q, r->s, conn, r->tokens);
    if (r->st->kind == SL_STMT_COPY && r->st->name.table.p)
        SL_GO(add_copied_table(r, &q, err));
    else
        SL_GO(sl_query_add_range(&q, r->st->query, err));
    SL_GO(sl_query_bind(&q, err));
    if (r->st->kind == SL_STMT_EXPLAIN)
        rc = explain(r, &q, err);
    else if (r->st->kind == SL_STMT_COPY)
        rc = copy_query(r, &q, r->st->new_name.text, r->st->options, err);
    else if (r->s->sink && r->s->sink->parquet)
        rc = copy_query(r, &q, sl_str_c(r->s->sink->parquet), (struct sl_range){0, 0}, err);
    else
        rc = query_to_sink(r, &q, err);
done:
    sl_query_release(&q);
    return rc;
}
