/* parquet.c - loads Parquet files: slices of rows through the engine, columns matched by name. */
#include <string.h>

#include "base/mem.h"
#include "engine/parquet.h"
#include "ingest/run_priv.h"

enum { SLICES_MAX = 500 };

struct load {
    struct sl_run *run;
    struct sl_buf sql;      /* the source of the commit under way: slices joined by UNION ALL, in parentheses */
    size_t slices;
    uint64_t all_slices;    /* of the load */
    uint64_t rows, bytes;   /* of them */
    int64_t begun_nanos;
    uint64_t offset, total; /* rows of the open file: taken, all */
};

static bool has_node(const struct sl_parquet_info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (info->v[i].depth == 0 && strcmp(info->v[i].name, name) == 0)
            return true;
    return false;
}

/* Columns of the file that the table does not have. */
static int check_unknown(struct sl_run *r, const struct sl_parquet_info *info, sl_err *err)
{
    for (size_t i = 0; i < info->n; i++) {
        const char *name = info->v[i].name;

        if (info->v[i].depth != 0 || sl_column_find(&r->columns, sl_str_c(name)) >= 0)
            continue;
        if (r->o.strict_fields)
            return sl_err_set(err, SL_EINPUT, "\"%s\": there is no column for the field \"%s\"", r->source->place.path, name);
        atomic_fetch_add(&r->unknown_fields, info->rows);
    }
    return SL_OK;
}

static void add_from(struct load *l, struct sl_buf *sql)
{
    sl_buf_addc(sql, " FROM read_parquet(");
    sl_buf_sql_string(sql, sl_str_c(l->run->source->place.path));
    sl_buf_addc(sql, ", hive_partitioning = false, file_row_number = true) AS f");
}

/* Rows that change others cannot be taken. */
static int check_kinds(struct load *l, struct sl_conn *conn, const struct sl_parquet_info *info, sl_err *err)
{
    struct sl_run *r = l->run;
    struct sl_buf sql = SL_BUF_INIT;
    char *found = NULL, *name = NULL;
    int rc = SL_OK;

    if (r->op_field.n == 0 || r->log)
        return SL_OK;
    name = sl_str_dup(r->op_field);
    if (!name)
        return sl_err_nomem(err);
    if (!has_node(info, name))
        goto done;
    sl_buf_addc(&sql, "SELECT CAST(f.");
    sl_buf_sql_ident(&sql, r->op_field);
    sl_buf_addc(&sql, " AS VARCHAR) AS k");
    add_from(l, &sql);
    sl_buf_addc(&sql, " WHERE lower(k) NOT IN ('+i', 'i', 'insert', 'c', 'create', 'r', 'read') LIMIT 1");
    SL_GO(sl_buf_ok(&sql, err));
    rc = sl_conn_query_str(conn, sl_buf_view(&sql), &found, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
    } else if (rc == SL_OK) {
        rc = sl_err_set(err, SL_EINPUT, "\"%s\" has a row of kind \"%s\": a table without a primary key only takes inserts, since it "
                        "cannot tell which row is meant", r->source->place.path, found ? found : "");
    }
done:
    sl_free(found);
    sl_free(name);
    sl_buf_release(&sql);
    return rc;
}

/* The rows [FROM, TO) of the open file join the commit. */
static void add_slice(struct load *l, const struct sl_parquet_info *info, uint64_t from, uint64_t to)
{
    struct sl_run *r = l->run;

    sl_buf_addc(&l->sql, l->slices++ ? " UNION ALL SELECT " : "(SELECT ");
    for (size_t i = 0; i < r->nfields; i++) {
        sl_buf_addc(&l->sql, i ? ", " : "");
        if (has_node(info, r->fields[i].name)) {
            sl_buf_addc(&l->sql, "f.");
            sl_buf_sql_ident(&l->sql, sl_str_c(r->fields[i].name));
        } else {
            sl_buf_addc(&l->sql, "CAST(NULL AS ");
            sl_type_engine_sql(&l->sql, r->fields[i].type);
            sl_buf_addc(&l->sql, ")");
        }
        sl_buf_addc(&l->sql, " AS ");
        sl_buf_sql_ident(&l->sql, sl_str_c(r->fields[i].name));
    }
    if (r->log)
        sl_buf_printf(&l->sql, ", CAST(%llu AS BIGINT) << 32 | f.file_row_number AS sl_seq", (unsigned long long)++l->all_slices);
    add_from(l, &l->sql);
    if (from > 0 || to < l->total)
        sl_buf_printf(&l->sql, " WHERE f.file_row_number >= %llu AND f.file_row_number < %llu", (unsigned long long)from,
                      (unsigned long long)to);
    l->rows += to - from;
}

static int commit_log(struct load *l, struct sl_buf *position, sl_err *err)
{
    struct sl_run *r = l->run;
    struct sl_run_batch batch = {NULL, NULL};
    int rc;

    SL_GO(sl_run_log_stage(r, sl_buf_view(&l->sql), &batch, err));
    if (r->o.dry_run)
        goto done;
    SL_GO(sl_source_position(r->source, l->offset, l->total, position, err));
    pthread_mutex_lock(&r->publish);
    rc = sl_run_log_commit(r, &batch, sl_buf_view(position), err);
    pthread_mutex_unlock(&r->publish);
done:
    sl_run_batch_release(&batch);
    return rc;
}

static int commit(struct load *l, sl_err *err)
{
    struct sl_run *r = l->run;
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_buf position = SL_BUF_INIT, sql = SL_BUF_INIT;
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    int rc = SL_OK;

    if (l->slices == 0)
        return SL_OK;
    sl_buf_ch(&l->sql, ')');
    SL_GO(sl_buf_ok(&l->sql, err));
    if (r->log) {
        SL_GO(commit_log(l, &position, err));
        goto committed;
    }
    SL_GO(sl_run_query(r, sl_buf_view(&l->sql), &sql, err));
    SL_GO(sl_env_engine(r->env, &engine, err));
    SL_GO(sl_conn_open(engine, &conn, err));
    if (r->o.dry_run) {
        SL_GO(sl_append_write_check(r->table, conn, sl_buf_view(&sql), err));
    } else {
        SL_GO(sl_append_write(r->table, conn, sl_buf_view(&sql), NULL, &files, err));
        SL_GO(sl_source_position(r->source, l->offset, l->total, &position, err));
        pthread_mutex_lock(&r->publish);
        rc = sl_run_commit(r, &files, sl_buf_view(&position), err);
        pthread_mutex_unlock(&r->publish);
        SL_GO(rc);
    }
committed:
    atomic_fetch_add(&r->rows, l->rows);
    l->slices = 0;
    l->rows = 0;
    sl_buf_reset(&l->sql);
    sl_run_tick(r, false);
done:
    if (rc != SL_OK && l->slices == 1)
        sl_err_ctx(err, "\"%s\"", r->source->place.path);
    sl_conn_close(conn);
    sl_new_files_release(&files);
    sl_buf_release(&position);
    sl_buf_release(&sql);
    return rc;
}

static int load_file(struct load *l, sl_err *err)
{
    struct sl_run *r = l->run;
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    int rc = SL_OK;

    SL_GO(sl_env_engine(r->env, &engine, err));
    SL_GO(sl_conn_open(engine, &conn, err));
    SL_GO(sl_parquet_columns(conn, sl_str_c(r->source->place.path), &info, err));
    l->offset = r->source->place.offset;
    l->total = info.rows;
    SL_GO(check_unknown(r, &info, err));
    SL_GO(check_kinds(l, conn, &info, err));
    while (l->offset < l->total && !sl_run_stopping(r)) {
        uint64_t left = r->o.commit_rows - l->rows, to = l->total - l->offset > left ? l->offset + left : l->total;

        SL_GO(sl_cancel_check(err));
        if (l->slices == 0)
            l->begun_nanos = sl_mono_nanos();
        add_slice(l, &info, l->offset, to);
        l->offset = to;
        if (l->rows >= r->o.commit_rows || l->slices >= SLICES_MAX)
            SL_GO(commit(l, err));
    }
done:
    sl_conn_close(conn);
    sl_parquet_info_release(&info);
    return rc;
}

static bool is_due(const struct load *l)
{
    return l->slices && sl_mono_nanos() - l->begun_nanos >= (int64_t)l->run->o.commit_millis * 1000000;
}

/* What was read before the table's schema changed is committed with the old one. */
static int follow_schema(struct load *l, sl_err *err)
{
    if (!sl_run_schema_changed(l->run))
        return SL_OK;
    SL_TRY(commit(l, err));
    return sl_run_renew(l->run, err);
}

int sl_run_parquet(struct sl_run *r, sl_err *err)
{
    struct load l = {.run = r};
    enum sl_source_state state;
    int rc = SL_OK;

    if (r->source->kind == SL_SOURCE_STDIN || r->source->kind == SL_SOURCE_FOLLOW_FILE)
        return sl_err_set(err, SL_EUNSUPPORTED, "Parquet from standard input, or from a file that grows, is not supported");
    if (!r->table && !r->log)
        return SL_OK; /* a dry run that would make it: the columns are the file's */
    if (r->o.on_error != SL_INGEST_STOP)
        return sl_err_set(err, SL_EUNSUPPORTED, "leaving out bad rows of Parquet files is not supported: only --on-error stop");
    while (!sl_run_stopping(r)) {
        SL_GO(follow_schema(&l, err));
        SL_GO(sl_source_next(r->source, l.offset, l.total, &state, err));
        if (state == SL_SOURCE_END)
            break;
        if (state == SL_SOURCE_DATA) {
            SL_GO(load_file(&l, err));
        } else {
            SL_GO(sl_cancel_check(err));
            sl_run_tick(r, true);
            sl_sleep_millis(100);
        }
        if (is_due(&l))
            SL_GO(commit(&l, err));
    }
    rc = commit(&l, err);
done:
    sl_buf_release(&l.sql);
    return rc;
}
