/* emit_base.c - new base files: of new file groups, and (insert.to.log = never) of small ones that take inserts by being written anew. */
#include <string.h>

#include "table/log/emit.h"

struct bases {
    struct sl_emit *e;
    struct sl_log_batch *b;
    struct sl_emit_order order;
    double fpp;
    const char *codec;
    SL_VEC(sl_str) dirs;        /* to be synced at the end */
};

int sl_emit_keys(const struct sl_log_batch *b, const struct sl_emit_order *o, size_t from, size_t to, const sl_str **out, size_t *n,
                 struct sl_arena *a, sl_err *err)
{
    sl_str *v = sl_arena_array(a, to - from + 1, sizeof *v);

    *n = 0;
    *out = v;
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = from; i < to; i++)
        if (b->keys.v[o->v[i]].kind == SL_LOG_ROW)
            v[(*n)++] = b->keys.v[o->v[i]].key;
    return SL_OK;
}

const char *sl_emit_codec(const struct sl_log *t)
{
    const char *v = sl_log_option(t, "hoodie.parquet.compression.codec", "zstd");

    return sl_str_ieqc(sl_str_c(v), "uncompressed") ? "none" : sl_str_ieqc(sl_str_c(v), "gzip") ? "gzip" : sl_str_ieqc(sl_str_c(v), "snappy") ? "snappy"
                                                                                                                                           : "zstd";
}

/* ---- SELECTs ---- */

static void put_columns(const struct sl_log *t, const char *prefix, struct sl_buf *out)
{
    const struct sl_schema *s = &t->schema->columns;

    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_printf(out, ", %s.c%zu AS ", prefix, i);
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
    }
}

int sl_emit_select(struct sl_emit *e, const struct sl_emit_rows *rows, sl_str path, sl_str file_name, struct sl_buf *out, sl_err *err)
{
    sl_buf_printf(out, "SELECT '%s' AS _hoodie_commit_time, '%s_0_' || a.i AS _hoodie_commit_seqno, b.k AS _hoodie_record_key, ", e->text,
                  e->text);
    sl_buf_sql_string(out, path);
    sl_buf_addc(out, " AS _hoodie_partition_path, ");
    sl_buf_sql_string(out, file_name);
    sl_buf_addc(out, " AS _hoodie_file_name");
    put_columns(e->b->t, "b", out);
    sl_buf_printf(out, " FROM " SL_BATCH_TABLE " AS b JOIN sluice_rows(%llu) AS a ON b.seq = a.seq", (unsigned long long)rows->id);
    return sl_buf_ok(out, err);
}

/* The rows of the old base file, with those of the batch merged in as a reader would. The meta columns of rows that stay are kept but for the file's name. */
static int rewrite_select(struct sl_emit *e, const struct sl_emit_rows *rows, const struct sl_slice *slice, sl_str path, sl_str file_name,
                          struct sl_buf *out, sl_err *err)
{
    const struct sl_log *t = e->b->t;
    const struct sl_schema *s = &t->schema->columns;
    const bool event_time = t->config.nordering && t->config.merge == SL_HUDI_EVENT_TIME;
    const ptrdiff_t ordering = event_time ? sl_log_column(t, t->config.ordering_fields[0]) : -1;
    struct sl_buf base = SL_BUF_INIT, order = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&base, "%s/%s", t->path, slice->base->path);
    if (ordering >= 0) {
        sl_buf_addc(&order, "o.");
        sl_buf_sql_ident(&order, sl_str_c(s->fields[ordering].name));
    }
    SL_GO(sl_buf_ok(&base, err));
    SL_GO(sl_buf_ok(&order, err));
    /* n: the batch's rows and removals of this group; o: the base file's. A row of the batch loses only to a greater ordering value. */
    sl_buf_printf(out, "WITH n AS MATERIALIZED (SELECT b.*, a.i FROM " SL_BATCH_TABLE " AS b JOIN sluice_rows(%llu) AS a ON b.seq = a.seq), "
                       "o AS (SELECT * FROM read_parquet(", (unsigned long long)rows->id);
    sl_buf_sql_string(out, sl_buf_view(&base));
    sl_buf_addc(out, ", hive_partitioning = false)), lost AS (SELECT n.k FROM n JOIN o ON n.k = o._hoodie_record_key WHERE ");
    if (event_time)
        sl_buf_printf(out, "n.ord IS NOT NULL AND n.ord < " SL_STRF, SL_STRV(sl_buf_view(&order)));
    else
        sl_buf_addc(out, "false");
    sl_buf_addc(out, ") SELECT o._hoodie_commit_time, o._hoodie_commit_seqno, o._hoodie_record_key, o._hoodie_partition_path, ");
    sl_buf_sql_string(out, file_name);
    sl_buf_addc(out, " AS _hoodie_file_name");
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_addc(out, ", o.");
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
    }
    sl_buf_addc(out, " FROM o WHERE o._hoodie_record_key NOT IN (SELECT k FROM n) OR o._hoodie_record_key IN (SELECT k FROM lost) UNION ALL ");
    sl_buf_printf(out, "SELECT '%s', '%s_0_' || b.i, b.k, ", e->text, e->text);
    sl_buf_sql_string(out, path);
    sl_buf_addc(out, ", ");
    sl_buf_sql_string(out, file_name);
    put_columns(t, "b", out);
    sl_buf_printf(out, " FROM n AS b WHERE b.kind = %d AND b.k NOT IN (SELECT k FROM lost)", SL_LOG_ROW);
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&base);
    sl_buf_release(&order);
    return rc;
}

/* ---- blocks ---- */

int sl_emit_parquet(struct sl_emit *e, const struct sl_emit_rows *rows, sl_str path, sl_str file_id, const struct sl_hudi_kv *kv, size_t nkv,
                    struct sl_buf *out, sl_err *err)
{
    struct sl_parquet_kv pairs[SL_HUDI_INDEX_KVS];
    struct sl_parquet_files made = SL_PARQUET_FILES_INIT;
    struct sl_store *store = e->b->t->store;
    struct sl_buf sql = SL_BUF_INIT, dir = SL_BUF_INIT, prefix = SL_BUF_INIT;
    char uuid[37];
    int rc;

    sl_uuid(uuid);
    sl_buf_printf(&dir, "%s/" SL_EMIT_STAGE, e->b->t->path);
    sl_buf_printf(&prefix, "%s-", uuid);
    SL_GO(sl_buf_ok(&dir, err));
    SL_GO(sl_buf_ok(&prefix, err));
    for (size_t i = 0; i < nkv; i++)
        pairs[i] = (struct sl_parquet_kv){kv[i].key, kv[i].value};
    SL_GO(sl_emit_select(e, rows, path, file_id, &sql, err));
    sl_buf_addc(&sql, " ORDER BY a.i");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_store_mkdirs(store, SL_LIT(SL_EMIT_STAGE), err));
    const struct sl_parquet_spec spec = {.dir = sl_buf_view(&dir), .prefix = sl_buf_view(&prefix), .compression = sl_emit_codec(e->b->t), .kv = pairs,
                                         .nkv = nkv};
    SL_GO(sl_parquet_write(e->b->conn, sl_buf_view(&sql), &spec, &made, err));
    if (made.n == 1)
        rc = sl_store_get(store, sl_str_c(made.v[0].path + strlen(e->b->t->path) + 1), (size_t)1 << 31, out, err);
    else
        rc = sl_err_set(err, SL_EBUG, "a block became %zu files", made.n);
    sl_parquet_files_discard(&made);
done:
    sl_err_at(err, -1);
    sl_parquet_files_release(&made);
    sl_buf_release(&sql);
    sl_buf_release(&dir);
    sl_buf_release(&prefix);
    return rc;
}

/* ---- one file ---- */

struct base {
    const struct sl_batch_group *group;
    struct sl_emit_rows rows;
    sl_str dir, name;
    struct sl_arena arena;
    const sl_str *keys;      /* of all rows that the file will hold, at most */
    size_t nkeys;
};

/* The filter of a file that is written anew holds the old keys too. */
static int keys_of(struct bases *x, struct base *f, sl_err *err)
{
    const struct sl_slice *slice = f->group->slice;
    SL_VEC(sl_str) all = {NULL, 0, 0};
    struct sl_buf sql = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_result *r = NULL;
    size_t rows;
    int rc;

    SL_TRY(sl_emit_keys(x->b, &x->order, f->rows.from, f->rows.to, &f->keys, &f->nkeys, &f->arena, err));
    if (!slice)
        return SL_OK;
    sl_buf_printf(&path, "%s/%s", x->b->t->path, slice->base->path);
    SL_GO(sl_buf_ok(&path, err));
    sl_buf_addc(&sql, "SELECT _hoodie_record_key FROM read_parquet(");
    sl_buf_sql_string(&sql, sl_buf_view(&path));
    sl_buf_addc(&sql, ", hive_partitioning = false)");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(x->b->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            sl_str *to = sl_vec_push(&all);

            if (!to || !(*to = sl_arena_str(&f->arena, sl_result_str(r, 0, i))).p)
                SL_GOTO_NOMEM(err);
        }
    }
    sl_str *v = sl_arena_array(&f->arena, all.n + f->nkeys + 1, sizeof *v);
    if (!v)
        SL_GOTO_NOMEM(err);
    if (all.n)
        memcpy(v, all.v, all.n * sizeof *v);
    if (f->nkeys)
        memcpy(v + all.n, f->keys, f->nkeys * sizeof *v);
    f->keys = v;
    f->nkeys += all.n;
done:
    sl_free(all.v);
    sl_result_free(r);
    sl_buf_release(&sql);
    sl_buf_release(&path);
    return rc;
}

static int add_stat(struct bases *x, const struct base *f, const struct sl_parquet_file *made, sl_err *err)
{
    const struct sl_batch_group *g = f->group;
    struct sl_buf path = SL_BUF_INIT;
    char prev[18] = "null";
    int rc;

    if (g->slice)
        sl_hudi_instant_text(g->slice->instant, prev);
    sl_buf_add(&path, f->dir);
    sl_buf_addc(&path, f->dir.n ? "/" : "");
    sl_buf_add(&path, f->name);
    SL_GO(sl_buf_ok(&path, err));
    struct sl_hudi_stat stat = {
        .partition = f->dir, .partition_path = f->dir, .file_id = sl_str_c(g->file_id), .path = sl_buf_view(&path), .prev_commit = sl_str_c(prev),
        .num_writes = (int64_t)made->rows, .num_deletes = (int64_t)g->nremovals, .num_inserts = (int64_t)g->ninserts,
        .num_update_writes = (int64_t)(g->nrows - g->ninserts), .total_write_bytes = (int64_t)made->size, .file_size = (int64_t)made->size,
    };
    rc = sl_publish_stat(x->e->publish, &stat, err);
    x->e->result->bytes += made->size;
    x->e->result->base_files++;
    x->e->result->new_groups += !g->slice;
done:
    sl_buf_release(&path);
    return rc;
}

/* From the staged file to its name. */
static int place(struct bases *x, struct base *f, const struct sl_parquet_file *made, sl_err *err)
{
    struct sl_store *store = x->b->t->store;
    const sl_str from = sl_str_c(made->path + strlen(x->b->t->path) + 1);
    struct sl_buf to = SL_BUF_INIT;
    int rc;

    sl_buf_add(&to, f->dir);
    sl_buf_addc(&to, f->dir.n ? "/" : "");
    sl_buf_add(&to, f->name);
    SL_GO(sl_buf_ok(&to, err));
    SL_GO(sl_store_sync_file(store, from, err));
    SL_GO(sl_publish_alive(x->e->publish, err));
    SL_GO(sl_store_rename(store, from, sl_buf_view(&to), err));
    rc = add_stat(x, f, made, err);
done:
    sl_buf_release(&to);
    return rc;
}

static int copy(struct bases *x, struct base *f, sl_err *err)
{
    struct sl_hudi_kv pairs[SL_HUDI_INDEX_KVS];
    struct sl_parquet_kv kv[SL_HUDI_INDEX_KVS];
    struct sl_parquet_files made = SL_PARQUET_FILES_INIT;
    struct sl_hudi_index index;
    struct sl_buf sql = SL_BUF_INIT, dir = SL_BUF_INIT, prefix = SL_BUF_INIT;
    char uuid[37];
    size_t n;
    int rc;

    sl_uuid(uuid);
    sl_buf_printf(&dir, "%s/" SL_EMIT_STAGE, x->b->t->path);
    sl_buf_printf(&prefix, "%s-", uuid);
    SL_GO(sl_buf_ok(&dir, err));
    SL_GO(sl_buf_ok(&prefix, err));
    SL_GO(sl_hudi_index_build(&f->arena, f->keys, f->nkeys, x->fpp, &index, err));
    SL_GO(sl_hudi_index_to_kv(&f->arena, &index, false, pairs, &n, err));
    for (size_t i = 0; i < n; i++)
        kv[i] = (struct sl_parquet_kv){pairs[i].key, pairs[i].value};
    if (f->group->slice)
        SL_GO(rewrite_select(x->e, &f->rows, f->group->slice, f->dir, f->name, &sql, err));
    else
        SL_GO(sl_emit_select(x->e, &f->rows, f->dir, f->name, &sql, err));
    if (!f->group->slice)
        sl_buf_addc(&sql, " ORDER BY a.i");
    SL_GO(sl_buf_ok(&sql, err));
    const struct sl_parquet_spec spec = {.dir = sl_buf_view(&dir), .prefix = sl_buf_view(&prefix), .compression = x->codec, .kv = kv, .nkv = n};
    rc = sl_parquet_write(x->b->conn, sl_buf_view(&sql), &spec, &made, err);
    sl_err_at(err, -1);
    if (rc == SL_OK && made.n == 1)
        rc = place(x, f, &made.v[0], err);
    else if (rc == SL_OK && made.n > 1)
        rc = sl_err_set(err, SL_EBUG, "a base file became %zu files", made.n);
    if (rc != SL_OK)
        sl_parquet_files_discard(&made);
done:
    sl_parquet_files_release(&made);
    sl_buf_release(&sql);
    sl_buf_release(&dir);
    sl_buf_release(&prefix);
    return rc;
}

static int write_base(struct bases *x, size_t from, size_t to, sl_err *err)
{
    const struct sl_batch_group *g = &x->b->groups.v[x->b->keys.v[x->order.v[from]].group];
    struct base f = {.group = g, .rows = {.b = x->b, .order = &x->order, .from = from, .to = to}, .dir = x->b->parts.v[g->part].path};
    struct sl_buf name = SL_BUF_INIT;
    int rc;

    sl_hudi_base_put(&name, sl_str_c(g->file_id), x->e->token, x->e->instant);
    SL_GO(sl_buf_ok(&name, err));
    f.name = sl_buf_view(&name);
    SL_GO(keys_of(x, &f, err));
    SL_GO(sl_emit_rows_open(&f.rows, err));
    rc = copy(x, &f, err);
done:
    sl_emit_rows_close(&f.rows);
    sl_arena_release(&f.arena);
    sl_buf_release(&name);
    return rc;
}

/* ---- all of them ---- */

static int mark(struct bases *x, const struct sl_batch_group *g, sl_err *err)
{
    const sl_str dir = x->b->parts.v[g->part].path;
    struct sl_buf name = SL_BUF_INIT;
    int rc;

    sl_hudi_base_put(&name, sl_str_c(g->file_id), x->e->token, x->e->instant);
    SL_GO(sl_buf_ok(&name, err));
    SL_GO(sl_publish_mark(x->e->publish, dir, sl_buf_view(&name), err));
    if (!g->slice)
        SL_GO(sl_publish_partition(x->e->publish, dir, err));
    if (x->dirs.n && sl_str_eq(x->dirs.v[x->dirs.n - 1], dir))
        goto done;
    sl_str *to = sl_vec_push(&x->dirs);
    if (!to)
        SL_GOTO_NOMEM(err);
    *to = dir;
done:
    sl_buf_release(&name);
    return rc;
}

static void keep_bases(struct bases *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->order.n; i++) {
        const struct sl_batch_group *g = &x->b->groups.v[x->b->keys.v[x->order.v[i]].group];

        if (g->slice ? g->rewrite : g->based && x->b->keys.v[x->order.v[i]].kind == SL_LOG_ROW)
            x->order.v[n++] = x->order.v[i];
    }
    x->order.n = n;
}

int sl_emit_bases(struct sl_emit *e, sl_err *err)
{
    struct bases x = {.e = e, .b = e->b, .codec = sl_emit_codec(e->b->t)};
    int rc;

    SL_GO(sl_emit_fpp(e->b->t, NULL, &x.fpp, err));
    SL_GO(sl_emit_order_make(e->b, &x.order, err));
    keep_bases(&x);
    if (x.order.n == 0)
        goto done;
    for (size_t i = 0; i < x.order.n; i = sl_emit_group_end(x.b, &x.order, i))
        SL_GO(mark(&x, &x.b->groups.v[x.b->keys.v[x.order.v[i]].group], err));
    SL_GO(sl_publish_marked(e->publish, err));
    SL_GO(sl_store_mkdirs(x.b->t->store, SL_LIT(SL_EMIT_STAGE), err));
    for (size_t i = 0, to; i < x.order.n; i = to) {
        SL_GO(sl_cancel_check(err));
        to = sl_emit_group_end(x.b, &x.order, i);
        SL_GO(write_base(&x, i, to, err));
        SL_GO(SL_FAILPOINT("emit.base", err));
    }
    for (size_t i = 0; i < x.dirs.n; i++)
        SL_GO(sl_store_sync_dir(x.b->t->store, x.dirs.v[i], err));
done:
    sl_free(x.order.v);
    sl_free(x.dirs.v);
    return rc;
}
