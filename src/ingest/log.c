/* log.c - loads into log tables: rows with keys, and rows that change others. */
#include <string.h>

#include "base/mem.h"
#include "ingest/run_priv.h"

enum { SNAPSHOTS_MAX = 1000 };

const struct sl_schema *sl_run_schema(const struct sl_run *r)
{
    return r->log ? &r->log->schema->columns : r->table ? r->table->schema : NULL;
}

const char *sl_run_label(const struct sl_run *r)
{
    return r->log ? r->log->label : r->table->label;
}

void sl_run_batch_release(struct sl_run_batch *b)
{
    sl_log_batch_free(b->batch);
    sl_conn_close(b->conn);
    *b = (struct sl_run_batch){NULL, NULL};
}

/* ---- opening ---- */

int sl_run_log_open(struct sl_run *r, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    SL_GO(sl_log_check_write(r->log, err));
    if (r->o.query.n || r->o.source_type.n) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "a streaming INSERT into the log table %s is not supported", r->log->label);
        sl_err_hint(err, "sluice ingest --follow loads endless input");
        goto done;
    }
    if (r->o.compact) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "--compact beside a load of the log table %s is not supported", r->log->label);
        sl_err_hint(err, "run sluice compact beside the load");
        goto done;
    }
    sl_buf_printf(&path, "%s/" SL_HUDI_DIR, r->log->path);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_open_local(sl_buf_view(&path), &r->log_side, err);
done:
    sl_buf_release(&path);
    return rc;
}

static bool is_key(const struct sl_log *t, const char *name)
{
    for (size_t i = 0; i < t->config.nkeys; i++)
        if (sl_str_eqc(t->config.key_fields[i], name))
            return true;
    return false;
}

/* Rows may come that remove others and need no value but their keys. */
static bool takes_removals(const struct sl_run *r)
{
    const struct sl_hudi_config *c = &r->log->config;

    return r->o.op == SL_INGEST_DELETE || r->op_field.n || c->delete_field.n || sl_schema_index(sl_run_schema(r), SL_LIT("_hoodie_is_deleted")) >= 0;
}

static int not_null(struct sl_run *r, struct sl_field *f, sl_err *err)
{
    struct sl_type *t = sl_arena_alloc(&r->arena, sizeof *t);

    if (!t)
        return sl_err_nomem(err);
    *t = *f->type;
    t->nullable = false;
    f->type = t;
    return SL_OK;
}

int sl_run_log_columns(struct sl_run *r, sl_err *err)
{
    static const struct sl_type text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
    static const struct sl_type place = {.kind = SL_BIGINT};
    const struct sl_schema *s = sl_run_schema(r);
    const struct sl_hudi_config *c = &r->log->config;
    struct sl_field *v = sl_arena_array(&r->arena, s->nfields + 2, sizeof *v);
    size_t n = s->nfields;

    if (!v)
        return sl_err_nomem(err);
    memcpy(v, s->fields, n * sizeof *v);
    r->op_field = r->o.op_field;
    if (!r->op_field.p && sl_schema_index(s, SL_LIT("_row_kind")) < 0 && r->format != SL_INGEST_PARQUET)
        r->op_field = SL_LIT("_row_kind");
    for (size_t i = 0; i < n; i++) {
        const bool orders = c->nordering && sl_str_eqc(c->ordering_fields[0], v[i].name);

        SL_TRY(sl_type_check_readable(v[i].name, v[i].type, err));
        if (is_key(r->log, v[i].name) || (orders && r->o.op != SL_INGEST_DELETE && !takes_removals(r)))
            SL_TRY(not_null(r, &v[i], err));
    }
    if (r->op_field.n && sl_schema_index(s, r->op_field) < 0) {
        v[n].type = &text;
        v[n].name = sl_arena_strdup(&r->arena, r->op_field);
        if (!v[n++].name)
            return sl_err_nomem(err);
    }
    v[n] = (struct sl_field){.name = "sl_seq", .type = &place};
    r->fields = v;
    r->nfields = n;
    SL_TRY(sl_columns_make(&r->arena, r->fields, r->nfields, r->op_field, &r->columns, err));
    sl_columns_keyed(&r->columns);
    return SL_OK;
}

/* ---- identity ---- */

int sl_run_log_identity(struct sl_run *r, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&path, ".sluice/identity/%s.lock", r->identity);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_lock(r->log_side, sl_buf_view(&path), 0, &r->lock, err);
done:
    sl_buf_release(&path);
    return rc;
}

static sl_str find_extra(const struct sl_hudi_kv *extra, size_t n, sl_str key)
{
    for (size_t i = 0; i < n; i++)
        if (sl_str_eq(extra[i].key, key))
            return extra[i].value;
    return (sl_str){NULL, 0};
}

int sl_run_log_position(struct sl_run *r, struct sl_buf *out, bool *found, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_buf key = SL_BUF_INIT;
    const struct sl_hudi_kv *extra;
    sl_str value;
    size_t n;
    int rc;

    *found = false;
    sl_buf_printf(&key, SL_POSITION_PREFIX "%s", r->identity);
    SL_GO(sl_buf_ok(&key, err));
    SL_GO(sl_log_extra(r->log, &arena, &extra, &n, err));
    value = find_extra(extra, n, sl_buf_view(&key));
    *found = value.p != NULL;
    sl_buf_add(out, value);
    rc = sl_buf_ok(out, err);
done:
    sl_arena_release(&arena);
    sl_buf_release(&key);
    return rc;
}

/* ---- staging ---- */

static enum sl_log_op op_of(const struct sl_run *r)
{
    return r->o.op == SL_INGEST_DELETE ? SL_LOG_DELETE : r->o.op == SL_INGEST_INSERT ? SL_LOG_INSERT : SL_LOG_UPSERT;
}

/* SELECT <the table's columns>, kind, place FROM source */
static int make_select(struct sl_run *r, sl_str source, struct sl_buf *out, sl_err *err)
{
    const struct sl_schema *s = sl_run_schema(r);
    struct sl_buf op = SL_BUF_INIT;
    int rc;

    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
        sl_buf_addc(out, ", ");
    }
    if (r->op_field.n) {
        sl_buf_addc(&op, "lower(");
        sl_buf_sql_ident(&op, r->op_field);
        sl_buf_ch(&op, ')');
        SL_GO(sl_buf_ok(&op, err));
        sl_buf_printf(out, "CASE WHEN " SL_STRF " IN ('-d', 'd', 'delete') THEN %d WHEN " SL_STRF " IS NOT NULL THEN %d END", SL_STRV(sl_buf_view(&op)),
                      SL_LOG_REMOVAL, SL_STRV(sl_buf_view(&op)), SL_LOG_ROW);
    } else {
        sl_buf_addc(out, "NULL::INTEGER");
    }
    sl_buf_addc(out, ", sl_seq FROM ");
    sl_buf_add(out, source);
    /* What the row was before: the row itself follows. */
    if (r->op_field.n)
        sl_buf_printf(out, " WHERE " SL_STRF " IS NULL OR " SL_STRF " NOT IN ('-u', 'update_before')", SL_STRV(sl_buf_view(&op)),
                      SL_STRV(sl_buf_view(&op)));
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&op);
    return rc;
}

int sl_run_log_stage(struct sl_run *r, sl_str source, struct sl_run_batch *out, sl_err *err)
{
    const struct sl_log_write_opts opts = {.op = op_of(r), .has_kind = true, .has_seq = true, .trusted = r->format != SL_INGEST_PARQUET};
    struct sl_engine *engine;
    struct sl_buf sql = SL_BUF_INIT;
    int rc;

    SL_GO(make_select(r, source, &sql, err));
    SL_GO(sl_env_engine(r->env, &engine, err));
    SL_GO(sl_conn_open(engine, &out->conn, err));
    if (r->o.dry_run)
        rc = sl_log_write_check(r->log, out->conn, sl_buf_view(&sql), &opts, err);
    else
        rc = sl_log_batch_make(r->log, out->conn, sl_buf_view(&sql), &opts, &out->batch, err);
done:
    if (rc != SL_OK)
        sl_run_batch_release(out);
    sl_buf_release(&sql);
    return rc;
}

/* ---- committing ---- */

struct position_check {
    struct sl_run *r;
    sl_str key;
};

/* Was this very commit made already, by an attempt whose answer was lost? */
static int check_position(void *user, const struct sl_hudi_kv *extra, size_t n, bool *go_on, sl_err *err)
{
    const struct position_check *c = user;
    const sl_str text = find_extra(extra, n, c->key);
    int64_t identifier = 0;
    json_t *j = NULL;
    int rc = SL_OK;

    *go_on = true;
    if (!text.p)
        return SL_OK;
    SL_GO(sl_json_parse(text, &j, err));
    SL_GO(sl_json_i64_opt(j, "identifier", &identifier, err));
    if (identifier > c->r->identifier)
        rc = sl_err_set(err, SL_EINPUT, "the position of \"%s\" in the table %s has gone on without this process", c->r->identity, c->r->log->label);
    *go_on = identifier < c->r->identifier;
done:
    json_decref(j);
    return rc;
}

static int note_commit(struct sl_run *r, const struct sl_log_batch *b, const struct sl_log_commit_result *done, sl_err *err)
{
    struct sl_ingest_report *report = r->report;

    report->rows += sl_log_batch_rows(b);
    if (done->instant == 0)
        return SL_OK;
    atomic_fetch_add(&r->commits, 1);
    atomic_fetch_add(&r->files, done->log_files + done->base_files);
    atomic_store(&r->snapshot, done->instant);
    sl_metric_add(SL_M_INGEST_ROWS, (int64_t)sl_log_batch_rows(b));
    report->file_bytes += done->bytes;
    if (!report->snapshots && !(report->snapshots = sl_calloc(SNAPSHOTS_MAX, sizeof *report->snapshots)))
        return sl_err_nomem(err);
    if (report->nsnapshots == SNAPSHOTS_MAX)
        memmove(report->snapshots, report->snapshots + 1, --report->nsnapshots * sizeof *report->snapshots);
    report->snapshots[report->nsnapshots++] = done->instant;
    return SL_OK;
}

int sl_run_log_commit(struct sl_run *r, struct sl_run_batch *b, sl_str members, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT, position = SL_BUF_INIT;
    struct sl_log_commit_result done = {0};
    const uint64_t bad = sl_bad_rows_count(r->bad);
    struct position_check check = {r, {NULL, 0}};
    struct sl_hudi_kv extra;
    int rc = SL_OK;

    SL_GO(sl_bad_rows_flush(r->bad, err));
    SL_GO(SL_FAILPOINT("ingest-commit", err));
    sl_buf_printf(&key, SL_POSITION_PREFIX "%s", r->identity ? r->identity : "");
    sl_buf_printf(&position, "{\"version\":1,\"identifier\":%lld," SL_STRF "}", (long long)r->identifier, SL_STRV(members));
    SL_GO(sl_buf_ok(&key, err));
    SL_GO(sl_buf_ok(&position, err));
    check.key = sl_buf_view(&key);
    extra = (struct sl_hudi_kv){sl_buf_view(&key), sl_buf_view(&position)};
    /* Rows that changed nothing, and bad rows, move the position too, or they would be read again. */
    const struct sl_log_commit_request request = {.extra = &extra, .nextra = r->identity != NULL, .check = r->identity ? check_position : NULL,
                                                  .user = &check, .allow_empty = r->identity && (sl_log_batch_rows(b->batch) || bad != r->bad_rows_committed)};
    SL_GO(sl_log_batch_commit(b->batch, &request, &done, err));
    r->identifier++;
    r->bad_rows_committed = bad;
    SL_GO(note_commit(r, b->batch, &done, err));
    if (r->identity) {
        sl_free(r->report->position);
        r->report->position = sl_buf_take(&position);
    }
    SL_GO(SL_FAILPOINT("ingest-committed", err));
done:
    sl_buf_release(&key);
    sl_buf_release(&position);
    return rc;
}
