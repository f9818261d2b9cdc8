/* stage.c - the rows of a batch in a temporary table, and the one row that is left of each key. */
#include <string.h>

#include "table/append/assign.h"
#include "table/log/write_priv.h"

/* ---- the table ---- */

static size_t columns_wanted(const struct sl_log_batch *b)
{
    return b->t->schema->columns.nfields + b->opts.has_kind + b->opts.has_seq;
}

/* What a column of the row itself says about its kind: _hoodie_is_deleted, or the table's delete marker. */
static void kind_of_column(const struct sl_log *t, struct sl_buf *out)
{
    const struct sl_schema *s = &t->schema->columns;
    ptrdiff_t deleted = sl_log_column(t, SL_LIT("_hoodie_is_deleted"));
    ptrdiff_t marked = t->config.delete_field.n && t->config.delete_marker.n ? sl_log_column(t, t->config.delete_field) : -1;

    if (deleted >= 0 && s->fields[deleted].type->kind == SL_BOOLEAN)
        sl_buf_printf(out, " WHEN c%td THEN %d", deleted, SL_LOG_REMOVAL);
    if (marked >= 0) {
        sl_buf_printf(out, " WHEN CAST(c%td AS VARCHAR) = ", marked);
        sl_buf_sql_string(out, t->config.delete_marker);
        sl_buf_printf(out, " THEN %d", SL_LOG_REMOVAL);
    }
}

/* SELECT c0.., kind, seq FROM (select): each value as its column has it. */
static int put_values(struct sl_log_batch *b, sl_str select, struct sl_buf *out, sl_err *err)
{
    const struct sl_schema *s = &b->t->schema->columns;
    const size_t n = s->nfields;
    struct sl_result *shape = NULL;
    struct sl_buf name = SL_BUF_INIT;
    int rc;

    SL_GO(sl_conn_prepare(b->conn, select, &shape, err));
    if (sl_result_ncols(shape) != columns_wanted(b)) {
        const size_t extra = columns_wanted(b) - n, got = sl_result_ncols(shape);

        rc = sl_err_set(err, SL_EINPUT, "the table %s has %zu column%s, but the query gives %zu", b->t->label, n, n == 1 ? "" : "s",
                        got > extra ? got - extra : 0);
        goto done;
    }
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        sl_buf_reset(&name);
        sl_buf_printf(&name, "_i._%zu", i);
        SL_GO(sl_buf_ok(&name, err));
        if (b->opts.trusted)
            sl_buf_add(out, sl_buf_view(&name));
        else
            sl_assign_expr(out, &s->fields[i], sl_result_type_sql(shape, i), sl_buf_view(&name));
        sl_buf_printf(out, " AS c%zu, ", i);
    }
    if (b->opts.has_kind)
        sl_buf_printf(out, "coalesce(_i._%zu, %d)", n, b->opts.op == SL_LOG_DELETE ? SL_LOG_REMOVAL : SL_LOG_ROW);
    else
        sl_buf_printf(out, "%d", b->opts.op == SL_LOG_DELETE ? SL_LOG_REMOVAL : SL_LOG_ROW);
    sl_buf_addc(out, " AS said, ");
    if (b->opts.has_seq)
        sl_buf_printf(out, "_i._%zu AS seq FROM (", n + b->opts.has_kind);
    else
        sl_buf_addc(out, "row_number() OVER () AS seq FROM (");
    sl_buf_add(out, select);
    sl_buf_addc(out, "\n) AS _i(");
    for (size_t i = 0; i < columns_wanted(b); i++)
        sl_buf_printf(out, "%s_%zu", i ? ", " : "", i);
    sl_buf_ch(out, ')');
    rc = sl_buf_ok(out, err);
done:
    sl_result_free(shape);
    sl_buf_release(&name);
    return rc;
}

/* The ordering value: NULL for a sure removal; a row must have one. */
static int put_ordering(const struct sl_log_batch *b, struct sl_buf *out, sl_err *err)
{
    const struct sl_hudi_config *c = &b->t->config;
    struct sl_buf text = SL_BUF_INIT;
    ptrdiff_t i;
    int rc;

    if (c->nordering == 0) {
        sl_buf_addc(out, "NULL::INTEGER");
        return SL_OK;
    }
    i = sl_log_column(b->t, c->ordering_fields[0]);
    if (i < 0)
        return sl_err_set(err, SL_ECORRUPT, "the table %s has no column \"" SL_STRF "\", which its properties name", b->t->label,
                          SL_STRV(c->ordering_fields[0]));
    sl_buf_printf(&text, "column \"" SL_STRF "\" is the ordering field, and a row has no value for it", SL_STRV(c->ordering_fields[0]));
    sl_buf_printf(out, "CASE WHEN kind = %d THEN NULL WHEN c%td IS NULL AND kind = %d THEN error(", SL_LOG_SURE_REMOVAL, i, SL_LOG_ROW);
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_printf(out, ") ELSE c%td END", i);
    rc = sl_buf_ok(&text, err);
    sl_buf_release(&text);
    return rc;
}

static int stage_sql(struct sl_log_batch *b, sl_str select, struct sl_buf *out, sl_err *err)
{
    struct sl_buf values = SL_BUF_INIT, kind = SL_BUF_INIT;
    int rc;

    SL_GO(put_values(b, select, &values, err));
    kind_of_column(b->t, &kind);
    SL_GO(sl_buf_ok(&kind, err));
    sl_buf_addc(out, "SELECT *, ");
    SL_GO(sl_keygen_key_sql(b->t, out, err));
    sl_buf_addc(out, " AS k, ");
    SL_GO(sl_keygen_partition_sql(b->t, b->partitions, out, err));
    sl_buf_addc(out, " AS p, ");
    SL_GO(put_ordering(b, out, err));
    sl_buf_addc(out, " AS ord FROM (SELECT * EXCLUDE (said), ");
    if (kind.n) {
        sl_buf_printf(out, "CASE WHEN said = %d THEN said", SL_LOG_SURE_REMOVAL);
        sl_buf_add(out, sl_buf_view(&kind));
        sl_buf_addc(out, " ELSE said END");
    } else {
        sl_buf_addc(out, "said");
    }
    sl_buf_addc(out, "::TINYINT AS kind FROM (");
    sl_buf_add(out, sl_buf_view(&values));
    sl_buf_addc(out, "))");
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&values);
    sl_buf_release(&kind);
    return rc;
}

/* ---- one row a key ---- */

/* Larger ordering values win, later rows among equal ones. What came before a sure removal is gone, whatever its value. */
static void winners_sql(const struct sl_log_batch *b, struct sl_buf *out)
{
    const bool event_time = b->t->config.nordering > 0 && b->t->config.merge == SL_HUDI_EVENT_TIME;
    const char *order = event_time ? "ord DESC NULLS LAST, seq DESC" : "seq DESC";

    if (b->has_removals)
        sl_buf_printf(out, "SELECT p, k, seq, CASE WHEN kind = %d AND ord IS NULL THEN %d ELSE kind END, d IS NOT NULL AND seq > d AS first FROM (SELECT p, k, seq, kind, ord, "
                           "max(CASE WHEN kind > 0 AND ord IS NULL THEN seq END) OVER (PARTITION BY p, k) AS d FROM " SL_BATCH_TABLE ") "
                           "WHERE d IS NULL OR seq >= d "
                           "QUALIFY row_number() OVER (PARTITION BY p, k ORDER BY d IS NOT NULL AND seq = d, %s) = 1 ORDER BY p, k",
                      SL_LOG_REMOVAL, SL_LOG_SURE_REMOVAL, order);
    else
        sl_buf_printf(out, "SELECT p, k, seq, kind, false AS first FROM " SL_BATCH_TABLE
                           " QUALIFY row_number() OVER (PARTITION BY p, k ORDER BY %s) = 1 ORDER BY p, k", order);
}

/* The partition of an ordinal of sluice_partition. Different values may have one path. */
static int part_of(struct sl_log_batch *b, size_t ordinal, uint32_t *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    const sl_str *values = b->partitions ? sl_partitions_values(b->partitions, ordinal) : NULL;
    struct sl_batch_part *p;
    int rc = SL_OK;

    if (b->partitions && !values)
        return sl_err_set(err, SL_EBUG, "there is no partition %zu", ordinal);
    if (values)
        SL_GO(sl_keygen_path(b->t, values, &path, err));
    p = sl_vec_push(&b->parts);
    if (!p || !(p->path.p = sl_arena_strdup(&b->arena, sl_buf_view(&path))))
        SL_GOTO_NOMEM(err);
    p->path.n = path.n;
    p->from = p->to = b->keys.n;
    *out = (uint32_t)(b->parts.n - 1);
done:
    sl_buf_release(&path);
    return rc;
}

static int take_rows(struct sl_log_batch *b, struct sl_result *r, size_t rows, int64_t *ordinal, sl_err *err)
{
    for (size_t i = 0; i < rows; i++) {
        const int64_t p = sl_result_i64(r, 0, i);
        uint32_t part = (uint32_t)b->parts.n - 1;
        struct sl_batch_key *k;

        if (p != *ordinal)
            SL_TRY(part_of(b, (size_t)p, &part, err));
        *ordinal = p;
        k = sl_vec_push(&b->keys);
        if (!k)
            return sl_err_nomem(err);
        k->key = sl_arena_str(&b->arena, sl_result_str(r, 1, i));
        if (!k->key.p)
            return sl_err_nomem(err);
        k->seq = sl_result_i64(r, 2, i);
        k->kind = (uint8_t)sl_result_i64(r, 3, i);
        k->removal_first = sl_result_i64(r, 4, i) != 0;
        k->part = part;
        k->group = SL_NO_GROUP;
        b->parts.v[part].to = b->keys.n;
    }
    return SL_OK;
}

static int combine(struct sl_log_batch *b, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    int64_t ordinal = -1;
    size_t rows;
    int rc;

    winners_sql(b, &sql);
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(b->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        SL_GO(take_rows(b, r, rows, &ordinal, err));
    }
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

static int count_rows(struct sl_log_batch *b, sl_err *err)
{
    int64_t rows = 0, removals = 0;

    SL_TRY(sl_conn_query_i64(b->conn, SL_LIT("SELECT count(*) FROM " SL_BATCH_TABLE), &rows, err));
    SL_TRY(sl_conn_query_i64(b->conn, SL_LIT("SELECT count(*) FROM " SL_BATCH_TABLE " WHERE kind > 0"), &removals, err));
    b->rows = (uint64_t)rows;
    b->has_removals = removals > 0;
    return SL_OK;
}

int sl_batch_stage(struct sl_log_batch *b, sl_str select_sql, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    int rc;

    if (b->t->config.npartition)
        SL_GO(sl_partitions_new(sl_conn_engine(b->conn), b->t->config.npartition, &b->partitions, err));
    sl_buf_addc(&sql, "CREATE TEMPORARY TABLE sluice_batch AS ");
    SL_GO(stage_sql(b, select_sql, &sql, err));
    rc = sl_conn_exec(b->conn, sl_buf_view(&sql), err);
    if (rc != SL_OK) {
        sl_err_at(err, -1); /* a position in our text */
        goto done;
    }
    b->staged = true;
    SL_GO(count_rows(b, err));
    rc = combine(b, err);
done:
    sl_buf_release(&sql);
    return rc;
}

int sl_log_write_check(struct sl_log *t, struct sl_conn *conn, sl_str select_sql, const struct sl_log_write_opts *opts, sl_err *err)
{
    struct sl_log_batch b = {.t = t, .conn = conn};
    struct sl_buf sql = SL_BUF_INIT;
    int rc;

    if (opts)
        b.opts = *opts;
    SL_GO(sl_log_check_write(t, err));
    SL_GO(put_values(&b, select_sql, &sql, err));
    rc = sl_conn_prepare(conn, sl_buf_view(&sql), NULL, err);
    if (rc == SL_ESQL) {
        sl_err_at(err, -1);
        sl_err_ctx(err, "the query does not fit the columns of the table %s", t->label);
    }
done:
    sl_buf_release(&sql);
    return rc;
}
