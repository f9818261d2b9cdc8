/* write.c - from a SELECT to data files in their partition folders. */
#include "table/append/write.h"

#include <string.h>

#include "engine/parquet.h"
#include "table/append/append_priv.h"
#include "table/append/assign.h"
#include "table/append/stats.h"

struct writing {
    struct sl_append *t;
    struct sl_conn *conn;
    const struct sl_write_opts *opts;
    struct sl_new_files *out;
    struct sl_parquet_files made;    /* where the engine wrote them */
    char uuid[37];
    int counter;
    int64_t sequence;
    SL_VEC(const char *) dirs;       /* folders to sync, relative; memory of out->arena */
    size_t first;                    /* entries of OUT before this call */
};

/* ---- the SELECT ---- */

static int check_count(const struct sl_append *t, const struct sl_result *r, sl_err *err)
{
    size_t n = sl_result_ncols(r);

    if (n == t->schema->nfields)
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "the table %s has %zu column%s, but the query gives %zu", t->label, t->schema->nfields,
                      t->schema->nfields == 1 ? "" : "s", n);
}

/* SELECT each column as the Parquet file must hold it FROM (select_sql). */
static int wrap_select(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, bool trusted, struct sl_buf *out, sl_err *err)
{
    struct sl_buf expr = SL_BUF_INIT, name = SL_BUF_INIT;
    struct sl_result *shape = NULL;
    int rc;

    SL_GO(sl_conn_prepare(conn, select_sql, &shape, err));
    SL_GO(check_count(t, shape, err));
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < t->schema->nfields; i++) {
        const struct sl_field *f = &t->schema->fields[i];

        sl_buf_reset(&name);
        sl_buf_reset(&expr);
        sl_buf_printf(&name, "_i._%zu", i);
        if (trusted)
            sl_buf_add(&expr, sl_buf_view(&name));
        else
            sl_assign_expr(&expr, f, sl_result_type_sql(shape, i), sl_buf_view(&name));
        SL_GO(sl_buf_ok(&expr, err));
        sl_buf_addc(out, i ? ", " : "");
        sl_type_parquet_expr(out, f->type, sl_buf_view(&expr));
        sl_buf_addc(out, " AS ");
        sl_buf_sql_ident(out, sl_str_c(f->name));
    }
    sl_buf_addc(out, " FROM (");
    sl_buf_add(out, select_sql);
    sl_buf_addc(out, "\n) AS _i("); /* the line ends a comment at the end of the SELECT */
    for (size_t i = 0; i < t->schema->nfields; i++)
        sl_buf_printf(out, "%s_%zu", i ? ", " : "", i);
    sl_buf_ch(out, ')');
    rc = sl_buf_ok(out, err);
done:
    sl_result_free(shape);
    sl_buf_release(&expr);
    sl_buf_release(&name);
    return rc;
}

int sl_append_write_check(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    int rc;

    SL_GO(sl_append_check(t, SL_WRITE, err));
    SL_GO(wrap_select(t, conn, select_sql, false, &sql, err));
    rc = sl_conn_prepare(conn, sl_buf_view(&sql), NULL, err);
    if (rc == SL_ESQL) {
        sl_err_at(err, -1); /* a position in our text, not in the caller's */
        sl_err_ctx(err, "the query does not fit the columns of the table %s", t->label);
    }
done:
    sl_buf_release(&sql);
    return rc;
}

/* ---- writing ---- */

static const char *codec_name(const struct sl_schema *s)
{
    const char *v = sl_schema_option(s, "file.compression");

    if (!v || sl_str_ieqc(sl_str_c(v), "zstd"))
        return "zstd";
    if (sl_str_ieqc(sl_str_c(v), "lz4") || sl_str_ieqc(sl_str_c(v), "lz4_raw"))
        return "lz4_raw";
    if (sl_str_ieqc(sl_str_c(v), "uncompressed"))
        return "none";
    return v;
}

static int make_spec(struct writing *w, struct sl_parquet_spec *spec, struct sl_buf *dir, struct sl_buf *prefix, sl_err *err)
{
    const struct sl_schema *s = w->t->schema;
    bool by_rows = s->npartition && !(w->opts && w->opts->partition);
    sl_str *columns = sl_arena_array(&w->out->arena, s->npartition + 1, sizeof *columns);
    struct sl_buf ident = SL_BUF_INIT;
    uint64_t target;
    int64_t level;
    int rc = SL_OK;

    if (!columns)
        return sl_err_nomem(err);
    SL_GO(sl_schema_option_bytes(s, "target-file-size", 256 << 20, &target, err));
    SL_GO(sl_schema_option_i64(s, "file.compression.zstd-level", 1, &level, err));
    sl_buf_printf(dir, "%s/" SL_STAGE_DIR, w->t->path);
    sl_buf_printf(prefix, "%s-", w->uuid);
    SL_GO(sl_buf_ok(dir, err));
    SL_GO(sl_buf_ok(prefix, err));
    for (size_t i = 0; i < s->npartition; i++) {
        sl_buf_reset(&ident);
        sl_buf_sql_ident(&ident, sl_str_c(s->partition_keys[i]));
        columns[i] = sl_arena_str(&w->out->arena, sl_buf_view(&ident));
        if (ident.failed || !columns[i].p)
            SL_GOTO_NOMEM(err);
    }
    *spec = (struct sl_parquet_spec){
        .dir = sl_buf_view(dir),
        .prefix = sl_buf_view(prefix),
        .partition = columns,
        .npartition = by_rows ? s->npartition : 0,
        .file_bytes = by_rows ? 0 : w->opts && w->opts->file_bytes ? w->opts->file_bytes : target,
        .compression = codec_name(s),
        .level = (int)level,
        .fields = s->fields,
        .nfields = s->nfields,
        .repeatable = w->opts && w->opts->repeatable,
    };
done:
    sl_buf_release(&ident);
    return rc;
}

/* The first file of a write shows whether the engine writes what readers expect. */
static int check_shape(struct writing *w, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    int rc;

    if (w->made.n == 0 || atomic_load(&w->t->cache->shape_checked))
        return SL_OK;
    if (strpbrk(w->made.v[0].path, "*?[")) /* the engine cannot look at such a file by itself */
        return SL_OK;
    rc = sl_parquet_columns(w->conn, sl_str_c(w->made.v[0].path), &info, err);
    if (rc == SL_OK)
        rc = sl_file_check_columns(w->t->schema, &info, err);
    if (rc == SL_OK)
        atomic_store(&w->t->cache->shape_checked, true);
    sl_parquet_info_release(&info);
    return rc;
}

/* ---- from the staged file to an entry ---- */

static int partition_of(struct writing *w, const struct sl_parquet_file *f, struct sl_value *values, sl_str *row, sl_err *err)
{
    struct sl_append *t = w->t;
    struct sl_buf bytes = SL_BUF_INIT;
    int rc = SL_OK;

    if (w->opts && w->opts->partition) {
        *row = sl_arena_str(&w->out->arena, *w->opts->partition);
        return row->p ? sl_append_partition(t, *row, values, err) : sl_err_nomem(err);
    }
    for (size_t i = 0; i < t->npartition; i++) {
        values[i] = (struct sl_value){.kind = t->partition_types[i]->kind, .null = !f->partition[i].p};
        if (f->partition[i].p && !sl_value_from_text(&w->out->arena, t->partition_types[i], f->partition[i], &values[i]))
            return sl_err_set(err, SL_EINPUT, "the value \"" SL_STRF "\" cannot name a partition of column \"%s\"", SL_STRV(f->partition[i]),
                              t->schema->partition_keys[i]);
    }
    SL_GO(sl_binrow_encode(t->partition_types, values, t->npartition, &bytes, err));
    *row = sl_arena_str(&w->out->arena, sl_buf_view(&bytes));
    if (!row->p)
        rc = sl_err_nomem(err);
done:
    sl_buf_release(&bytes);
    return rc;
}

static int fill_entry(struct writing *w, const struct sl_parquet_file *f, sl_str partition, struct sl_manifest_entry *e, sl_err *err)
{
    const char *prefix = sl_schema_option(w->t->schema, "data-file.prefix");
    struct sl_data_file *d = &e->file;

    e->kind = SL_FILE_ADD;
    e->partition = partition;
    e->bucket = 0;
    e->total_buckets = -1;
    d->file_name.p = sl_arena_printf(&w->out->arena, "%s%s-%d.parquet", prefix ? prefix : "data-", w->uuid, w->counter++);
    if (!d->file_name.p)
        return sl_err_nomem(err);
    d->file_name.n = strlen(d->file_name.p);
    d->file_size = (int64_t)f->size;
    d->row_count = (int64_t)f->rows;
    d->min_key = d->max_key = SL_BINROW_EMPTY;
    d->key_stats.min = d->key_stats.max = SL_BINROW_EMPTY;
    d->min_sequence_number = w->sequence;
    w->sequence += d->row_count;
    d->max_sequence_number = w->sequence - 1;
    d->schema_id = w->t->schema->id;
    d->creation_time = sl_now_local_millis();
    d->delete_row_count = 0;
    d->file_source = w->opts && w->opts->compacted;
    d->first_row_id = -1;
    return sl_file_stats(w->t->schema, f, &w->out->arena, &d->value_stats, err);
}

static int note_dir(struct writing *w, sl_str dir, sl_err *err)
{
    const char **to;

    for (size_t i = w->dirs.n; i > 0; i--)
        if (sl_str_eqc(dir, w->dirs.v[i - 1]))
            return SL_OK;
    SL_TRY(sl_store_mkdirs(w->t->store, dir, err));
    to = sl_vec_push(&w->dirs);
    if (!to || !(*to = sl_arena_strdup(&w->out->arena, dir)))
        return sl_err_nomem(err);
    return SL_OK;
}

/* The path of a staged file relative to the table. */
static int relative(const struct sl_append *t, const char *path, sl_str *out, sl_err *err)
{
    size_t n = strlen(t->path);

    if (strncmp(path, t->path, n) != 0 || path[n] != '/')
        return sl_err_set(err, SL_EBUG, "the file \"%s\" was not written into \"%s\"", path, t->path);
    *out = sl_str_c(path + n + 1);
    return SL_OK;
}

static int place_file(struct writing *w, const struct sl_parquet_file *f, sl_err *err)
{
    struct sl_value *values = sl_calloc(w->t->npartition + 1, sizeof *values);
    struct sl_buf path = SL_BUF_INIT;
    struct sl_manifest_entry e, *to;
    sl_str partition, from;
    int rc;

    memset(&e, 0, sizeof e);
    if (!values)
        return sl_err_nomem(err);
    SL_GO(partition_of(w, f, values, &partition, err));
    SL_GO(fill_entry(w, f, partition, &e, err));
    SL_GO(sl_append_data_dir(w->t, values, &path, err));
    SL_GO(note_dir(w, sl_buf_view(&path), err));
    sl_buf_ch(&path, '/');
    sl_buf_add(&path, e.file.file_name);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(relative(w->t, f->path, &from, err));
    to = sl_vec_push(w->out);
    if (!to)
        SL_GOTO_NOMEM(err);
    *to = e;
    rc = sl_store_rename(w->t->store, from, sl_buf_view(&path), err);
    if (rc != SL_OK) {
        w->out->n--;
        goto done;
    }
    w->out->rows += e.file.row_count;
    w->out->bytes += e.file.file_size;
    sl_metric_add(SL_M_FILES_WRITTEN, 1);
done:
    sl_free(values);
    sl_buf_release(&path);
    return rc;
}

static int sync_one(void *user, size_t i, sl_err *err)
{
    struct writing *w = user;
    sl_str path;

    SL_TRY(relative(w->t, w->made.v[i].path, &path, err));
    return sl_store_sync_file(w->t->store, path, err);
}

/* Files are synced before they get their names, folders after. */
static int place_all(struct writing *w, sl_err *err)
{
    enum { SYNC_THREADS = 8 };

    for (size_t i = 0; i < w->made.n; i++)
        SL_TRY(sl_file_check_nulls(w->t->schema, &w->made.v[i], err));
    SL_TRY(check_shape(w, err));
    SL_TRY(SL_FAILPOINT("write.after_stage", err));
    SL_TRY(sl_parallel(w->made.n > 2 ? SYNC_THREADS : 1, w->made.n, sync_one, w, err));
    SL_TRY(SL_FAILPOINT("write.after_sync", err));
    for (size_t i = 0; i < w->made.n; i++)
        SL_TRY(place_file(w, &w->made.v[i], err));
    SL_TRY(SL_FAILPOINT("write.after_place", err));
    for (size_t i = 0; i < w->dirs.n; i++)
        SL_TRY(sl_store_sync_dir(w->t->store, sl_str_c(w->dirs.v[i]), err));
    return SL_OK;
}

static void remove_file(struct sl_append *t, const struct sl_manifest_entry *e)
{
    struct sl_buf path = SL_BUF_INIT;
    bool external;

    if (sl_append_file_path(t, e, &path, &external, NULL) == SL_OK && !external)
        (void)!sl_store_remove(t->store, sl_buf_view(&path), NULL);
    sl_buf_release(&path);
}

int sl_append_write(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, const struct sl_write_opts *opts, struct sl_new_files *out,
                    sl_err *err)
{
    struct writing w = {.t = t, .conn = conn, .opts = opts, .out = out, .made = SL_PARQUET_FILES_INIT, .first = out->n};
    struct sl_buf sql = SL_BUF_INIT, dir = SL_BUF_INIT, prefix = SL_BUF_INIT;
    struct sl_parquet_spec spec;
    int rc;

    w.sequence = opts ? opts->first_sequence : 0;
    sl_uuid(w.uuid);
    SL_GO(sl_append_check(t, SL_WRITE, err));
    SL_GO(wrap_select(t, conn, select_sql, opts && opts->trusted, &sql, err));
    SL_GO(make_spec(&w, &spec, &dir, &prefix, err));
    SL_GO(sl_store_mkdirs(t->store, SL_LIT(SL_STAGE_DIR), err));
    rc = sl_parquet_write(conn, sl_buf_view(&sql), &spec, &w.made, err);
    if (rc != SL_OK) {
        sl_err_at(err, -1);
        goto done;
    }
    SL_GO(place_all(&w, err));
done:
    if (rc != SL_OK) {
        for (; out->n > w.first; out->n--) {
            out->rows -= out->v[out->n - 1].file.row_count;
            out->bytes -= out->v[out->n - 1].file.file_size;
            remove_file(t, &out->v[out->n - 1]);
        }
        sl_parquet_files_discard(&w.made);
        sl_err_ctx(err, "write to the table %s", t->label);
    }
    sl_parquet_files_sweep(&w.made);
    sl_parquet_files_release(&w.made);
    sl_free(w.dirs.v);
    sl_buf_release(&sql);
    sl_buf_release(&dir);
    sl_buf_release(&prefix);
    return rc;
}

void sl_new_files_discard(struct sl_append *t, struct sl_new_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        remove_file(t, &files->v[i]);
    files->n = 0;
    files->rows = files->bytes = 0;
}

void sl_new_files_release(struct sl_new_files *files)
{
    sl_arena_release(&files->arena);
    sl_free(files->v);
    *files = (struct sl_new_files)SL_NEW_FILES_INIT;
}
