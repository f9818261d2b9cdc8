/* verify_data.c - the data files that are live somewhere: presence, size, footers, statistics. */
#include "table/append/verify_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "engine/parquet.h"

enum { FOOTER_BATCH = 128 };

static const struct sl_type row_id_type = {.kind = SL_BIGINT, .nullable = true};

int sl_verify__columns(struct sl_verify *v, const struct vfile *f, bool with_stats, const char ***names,
                       const struct sl_type ***types, size_t *n, sl_err *err)
{
    const struct sl_data_file *d = &f->entry.file;
    const struct sl_schema *schema;
    bool dense = with_stats && d->has_value_stats_cols;
    const sl_str *listed = dense ? d->value_stats_cols : d->has_write_cols ? d->write_cols : NULL;

    SL_TRY(sl_append_schema(f->table, d->schema_id, &schema, err));
    *n = dense ? d->nvalue_stats_cols : d->has_write_cols ? d->nwrite_cols : schema->nfields;
    *names = sl_arena_array(&v->arena, *n + 1, sizeof **names);
    *types = sl_arena_array(&v->arena, *n + 1, sizeof **types);
    if (!*names || !*types)
        return sl_err_nomem(err);
    for (size_t i = 0; i < *n; i++) {
        const struct sl_field *field = listed ? sl_schema_field(schema, listed[i]) : &schema->fields[i];

        (*types)[i] = field ? field->type : &row_id_type; /* _ROW_ID and _SEQUENCE_NUMBER are no columns of the schema */
        (*names)[i] = field ? field->name : sl_arena_strdup(&v->arena, listed[i]);
        if (!(*names)[i])
            return sl_err_nomem(err);
    }
    return SL_OK;
}

/* What can be said of the statistics without the file. */
static int check_stats(struct sl_verify *v, const struct vfile *f, sl_err *err)
{
    const struct sl_data_file *d = &f->entry.file;
    const struct sl_type **types;
    const char **names;
    sl_err why = SL_ERR_INIT;
    size_t n;

    if (!f->table)
        return SL_OK;
    int rc = sl_verify__columns(v, f, true, &names, &types, &n, &why);
    if (rc != SL_OK) {
        if (sl_verify__is_finding(rc))
            return sl_verify__found(v, SL_VERIFY_NO_SCHEMA, f->path, NULL, "schema %lld, with which it was written: %s",
                                    (long long)d->schema_id, why.text);
        if (err)
            *err = why;
        return rc;
    }
    if (d->value_stats.nnull_counts > 0 && d->value_stats.nnull_counts != n)
        return sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "its statistics have null counts of %zu columns, where there are %zu",
                                d->value_stats.nnull_counts, n);
    for (size_t i = 0; i < n; i++) {
        struct sl_col_stats c = {0};

        if (!sl_stats_column(&d->value_stats, types, n, i, &c))
            continue;
        if (c.has_nulls && (c.null_count < 0 || c.null_count > d->row_count))
            SL_TRY(sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "column \"%s\": %lld nulls in %lld rows", names[i],
                                    (long long)c.null_count, (long long)d->row_count));
        if (c.has_bounds && sl_value_cmp(&c.min, &c.max) > 0)
            SL_TRY(sl_verify__found(v, SL_VERIFY_STATS, f->path, NULL, "column \"%s\": its least value is greater than its greatest",
                                    names[i]));
    }
    return SL_OK;
}

static int check_extra_files(struct sl_verify *v, const struct vfile *f, sl_err *err)
{
    size_t folder = strlen(f->path) - f->entry.file.file_name.n;
    bool there;

    if (f->external)
        return SL_OK;
    for (size_t i = 0; i < f->entry.file.nextra_files; i++) {
        sl_buf_reset(&v->path);
        sl_buf_printf(&v->path, "%.*s" SL_STRF, (int)folder, f->path, SL_STRV(f->entry.file.extra_files[i]));
        SL_TRY(sl_buf_ok(&v->path, err));
        SL_TRY(sl_store_exists(v->t->store, sl_buf_view(&v->path), &there, err));
        if (!there)
            SL_TRY(sl_verify__found(v, SL_VERIFY_NO_EXTRA, v->path.p, NULL, "the file is missing"));
    }
    return SL_OK;
}

/* *OK: the file is there with its size, so that it is worth reading. */
static int check_presence(struct sl_verify *v, const struct vfile *f, bool *ok, sl_err *err)
{
    sl_err why = SL_ERR_INIT;
    struct sl_stat st;
    int rc;

    *ok = false;
    if (f->external) /* outside the table's folder: only whether it is what the entry says */
        rc = sl_append_file_check(v->t, &f->entry, &why);
    else
        rc = sl_store_stat(v->t->store, sl_str_c(f->path), &st, &why);
    if (rc == SL_ENOTFOUND)
        return sl_verify__found(v, SL_VERIFY_NO_FILE, f->path, NULL, "the data file is missing: %lld rows",
                                (long long)f->entry.file.row_count);
    if (rc != SL_OK) {
        if (sl_verify__is_finding(rc))
            return sl_verify__found(v, SL_VERIFY_BAD_FILE, f->path, NULL, "%s", why.text);
        if (err)
            *err = why;
        return rc;
    }
    if (!f->external && st.size != (uint64_t)f->entry.file.file_size)
        return sl_verify__found(v, SL_VERIFY_SIZE_FILE, f->path, NULL, "it has %llu bytes, where its entry says %lld",
                                (unsigned long long)st.size, (long long)f->entry.file.file_size);
    *ok = true;
    return SL_OK;
}

/* ---- footers ---- */

struct footers {
    struct sl_verify *v;
    const struct vfile *files[FOOTER_BATCH];
    sl_str paths[FOOTER_BATCH];  /* absolute, in the arena */
    size_t n;
};

static int compare_rows(struct sl_verify *v, const struct vfile *f, int64_t rows)
{
    if (rows == f->entry.file.row_count)
        return SL_OK;
    v->root = f->live_in;
    int rc = sl_verify__found(v, SL_VERIFY_ROWS, f->path, NULL, "it has %lld rows, where its entry says %lld", (long long)rows,
                              (long long)f->entry.file.row_count);
    v->root = NULL;
    return rc;
}

/* One by one, after one of many could not be read. */
static int read_footer(struct sl_verify *v, const struct vfile *f, sl_str path, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    sl_err why = SL_ERR_INIT;
    int rc = sl_parquet_columns(v->conn, path, &info, &why);
    int64_t rows = (int64_t)info.rows;

    sl_parquet_info_release(&info);
    if (rc == SL_OK)
        return compare_rows(v, f, rows);
    if (!sl_verify__is_finding(rc)) {
        if (err)
            *err = why;
        return rc;
    }
    v->root = f->live_in;
    rc = sl_verify__found(v, SL_VERIFY_BAD_FILE, f->path, NULL, "%s", why.text);
    v->root = NULL;
    return rc;
}

static int read_together(struct footers *b, int64_t *rows, sl_err *err)
{
    const sl_str sql = SL_LIT("SELECT file_name, num_rows FROM parquet_file_metadata(getvariable('sl_verify_files'))");
    struct sl_result *result = NULL;
    size_t n;
    int rc;

    for (size_t i = 0; i < b->n; i++)
        rows[i] = -1;
    SL_GO(sl_conn_set_list(b->v->conn, "sl_verify_files", b->paths, b->n, err));
    SL_GO(sl_conn_query(b->v->conn, sql, &result, err));
    for (;;) {
        SL_GO(sl_result_next(result, &n, err));
        if (n == 0)
            break;
        for (size_t row = 0; row < n; row++)
            for (size_t i = 0; i < b->n; i++)
                if (sl_str_eq(b->paths[i], sl_result_str(result, 0, row)))
                    rows[i] = sl_result_i64(result, 1, row);
    }
done:
    sl_result_free(result);
    return rc;
}

static int flush_footers(struct footers *b, sl_err *err)
{
    int64_t rows[FOOTER_BATCH];
    sl_err why = SL_ERR_INIT;
    int rc = b->n ? read_together(b, rows, &why) : SL_OK;

    if (rc == SL_ENOMEM || rc == SL_ECANCELLED) {
        if (err)
            *err = why;
        return rc;
    }
    for (size_t i = 0; i < b->n; i++)
        SL_TRY(rc == SL_OK && rows[i] >= 0 ? compare_rows(b->v, b->files[i], rows[i])
                                           : read_footer(b->v, b->files[i], b->paths[i], err));
    b->n = 0;
    return sl_cancel_check(err);
}

static int add_footer(struct footers *b, const struct vfile *f, sl_err *err)
{
    struct sl_buf full = SL_BUF_INIT;
    int rc;

    SL_GO(sl_append_file_full(b->v->t, &f->entry, &full, err));
    b->paths[b->n] = sl_arena_str(&b->v->arena, sl_buf_view(&full));
    if (!b->paths[b->n].p)
        SL_GOTO_NOMEM(err);
    b->files[b->n++] = f;
    if (b->n == FOOTER_BATCH)
        SL_GO(flush_footers(b, err));
done:
    sl_buf_release(&full);
    return rc;
}

/* ---- all ---- */

static int check_file(struct sl_verify *v, struct footers *b, const struct vfile *f, bool *read, sl_err *err)
{
    bool ok;

    *read = false;
    v->report->data_files++;
    v->report->rows += f->entry.file.row_count > 0 ? (uint64_t)f->entry.file.row_count : 0;
    v->report->bytes += f->entry.file.file_size > 0 ? (uint64_t)f->entry.file.file_size : 0;
    SL_TRY(check_stats(v, f, err));
    SL_TRY(check_extra_files(v, f, err));
    SL_TRY(check_presence(v, f, &ok, err));
    if (!ok)
        return SL_OK;
    if (!sl_str_ends(f->entry.file.file_name, ".parquet"))
        return sl_verify__found(v, SL_VERIFY_UNCHECKED, f->path, NULL, "it is no Parquet file, so its content was not checked");
    *read = true;
    return b ? add_footer(b, f, err) : SL_OK;
}

int sl_verify__data(struct sl_verify *v, sl_err *err)
{
    struct footers *b = sl_arena_alloc(&v->arena, sizeof *b);

    if (!b)
        return sl_err_nomem(err);
    b->v = v;
    for (size_t i = 0; i < v->all.n; i++) {
        const struct vfile *f = v->all.v[i];
        bool read;

        if (!f->live_in)
            continue;
        sl_verify__progress(v, v->options->deep ? "reading data files" : "checking data files", i, v->all.n);
        v->root = f->live_in;
        int rc = check_file(v, v->options->deep ? NULL : b, f, &read, err);
        if (rc == SL_OK && read && v->options->deep)
            rc = sl_verify__deep(v, f, err);
        v->root = NULL;
        SL_TRY(rc);
        SL_TRY(sl_cancel_check(err));
    }
    return flush_footers(b, err);
}
