/* compact_work.c - merging the base file and the logs of one file group into a staged base file. */
#include <string.h>

#include "base/sys.h"
#include "engine/parquet.h"
#include "table/log/blocks.h"
#include "table/log/compact.h"
#include "table/log/compact_priv.h"
#include "table/log/emit.h"
#include "table/log/plan.h"

enum { STAGED_OLD_MILLIS = 24 * 3600 * 1000 };

struct work {
    struct sl_log *t;
    struct sl_conn *conn;
    const struct sl_compaction_op *op;
    struct sl_log_made *out;
    struct sl_view *view, *own_view;
    struct sl_arena arena;
    struct sl_slice slice;        /* what the operation names */
    struct sl_log_plan *plan;
    struct sl_buf rows;           /* SELECT of the merged rows */
    struct sl_buf file_name;      /* of the base file to be */
    SL_VEC(sl_str) keys;
    int64_t kept;                 /* rows that come from the old base file */
    bool deletes;                 /* the logs may delete rows */
    const char *path;             /* absolute, of the staged file */
};

void sl_log_staged_path(const char *name, struct sl_buf *out)
{
    sl_buf_printf(out, SL_EMIT_STAGE "/%s", name);
}

/* ---- the file slice ---- */

static bool is_partition(void *user, const struct sl_view_partition *p)
{
    const struct work *w = user;

    return sl_str_eqc(w->op->partition, p->path);
}

static const struct sl_log_file *find_log(const struct sl_group *g, sl_str name)
{
    for (size_t i = 0; i < g->nslices; i++)
        for (size_t k = 0; k < g->slices[i].nlogs; k++)
            if (sl_str_eqc(name, g->slices[i].logs[k]->name))
                return g->slices[i].logs[k];
    return NULL;
}

static int gone(const struct work *w, sl_str name, sl_err *err)
{
    return sl_err_set(err, SL_ENOTFOUND, "\"%s/" SL_STRF "%s" SL_STRF "\", which is to be compacted, is not there", w->t->path,
                      SL_STRV(w->op->partition), w->op->partition.n ? "/" : "", SL_STRV(name));
}

static int find_slice(struct work *w, sl_err *err)
{
    struct sl_view_spec spec = {.wanted = is_partition, .user = w};
    const struct sl_group *g = NULL;
    const struct sl_log_file **logs = sl_arena_array(&w->arena, w->op->nlogs + 1, sizeof *logs);

    if (!logs)
        return sl_err_nomem(err);
    if (!w->view) {
        SL_TRY(sl_view_open(w->t, &spec, &w->own_view, err));
        w->view = w->own_view;
    }
    for (size_t i = 0; i < w->view->ngroups; i++)
        if (sl_str_eqc(w->op->file_id, w->view->groups[i].file_id) && is_partition(w, w->view->groups[i].partition))
            g = &w->view->groups[i];
    if (!g)
        return gone(w, w->op->base.p ? w->op->base : w->op->file_id, err);
    w->slice = (struct sl_slice){.partition = g->partition, .file_id = g->file_id, .instant = w->op->base_instant, .logs = logs};
    for (size_t i = 0; i < g->nslices; i++)
        if (w->op->base.p && g->slices[i].base && sl_str_eqc(w->op->base, g->slices[i].base->name))
            w->slice.base = g->slices[i].base;
    if (w->op->base.p && !w->slice.base)
        return gone(w, w->op->base, err);
    for (size_t i = 0; i < w->op->nlogs; i++) {
        const struct sl_log_file *f = find_log(g, w->op->logs[i]);

        if (!f)
            return gone(w, w->op->logs[i], err);
        logs[w->slice.nlogs++] = f;
        w->slice.log_bytes += f->size;
    }
    w->slice.nbefore = w->slice.nlogs;
    w->slice.base_bytes = w->slice.base ? w->slice.base->size : 0;
    return SL_OK;
}

/* What the logs hold, for the statistics of the commit. */
static int count_blocks(struct work *w, sl_err *err)
{
    struct sl_blocks blocks = SL_BLOCKS_INIT;
    struct sl_buf content = SL_BUF_INIT;
    int rc;

    SL_GO(sl_slice_blocks(w->view, &w->slice, false, &blocks, err));
    w->out->log_blocks = (int64_t)blocks.n;
    w->out->log_bytes = (int64_t)w->slice.log_bytes;
    w->out->corrupt_blocks = (int64_t)blocks.ndamage;
    w->out->rollback_blocks = (int64_t)blocks.commands;
    for (size_t i = 0; i < blocks.n; i++) {
        w->deletes = w->deletes || blocks.v[i].type == SL_HUDI_BLOCK_DELETE;
        if (blocks.v[i].type != SL_HUDI_BLOCK_AVRO || blocks.v[i].content_size < 8)
            continue;
        /* The number of records stands in the first bytes. */
        SL_GO(sl_store_get_range(w->t->store, sl_str_c(blocks.v[i].file->path), (uint64_t)blocks.v[i].content_offset, 8, &content, err));
        struct sl_cur head = sl_cur_of(sl_buf_view(&content));
        (void)sl_cur_u32be(&head); /* the version */
        w->out->log_records += sl_cur_u32be(&head);
    }
    w->deletes = w->deletes || sl_schema_index(&w->t->schema->columns, SL_LIT("_hoodie_is_deleted")) >= 0 || w->t->config.delete_field.n;
done:
    sl_blocks_release(&blocks);
    sl_buf_release(&content);
    return rc;
}

/* ---- rows ---- */

static int make_rows(struct work *w, sl_err *err)
{
    char token[64];

    snprintf(token, sizeof token, "0-%u-%u", (unsigned)(sl_random() >> 33), (unsigned)(sl_random() >> 33));
    sl_hudi_base_put(&w->file_name, w->op->file_id, sl_str_c(token), w->op->instant);
    SL_TRY(sl_log_plan_slices(w->t, w->view, &w->slice, 1, &w->plan, err));
    SL_TRY(sl_log_plan_sql(w->plan, w->conn, &w->rows, err));
    return sl_buf_ok(&w->file_name, err);
}

/* The filter in the footer has to be known before the rows are written, so the keys are read by a pass of their own. */
static int read_keys(struct work *w, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    size_t rows;
    int rc;

    sl_buf_addc(&sql, "SELECT _hoodie_record_key, _hoodie_file_name = ");
    sl_buf_sql_string(&sql, w->op->base.p ? w->op->base : SL_LIT(""));
    sl_buf_printf(&sql, " FROM (" SL_STRF ")", SL_STRV(sl_buf_view(&w->rows)));
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(w->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            sl_str *to = sl_vec_push(&w->keys);

            if (!to || !(*to = sl_arena_str(&w->arena, sl_result_str(r, 0, i))).p)
                SL_GOTO_NOMEM(err);
            w->kept += sl_result_i64(r, 1, i) != 0;
        }
    }
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

static void put_select(const struct work *w, struct sl_buf *out)
{
    const struct sl_schema *s = &w->t->schema->columns;

    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < SL_HUDI_NMETA; i++) {
        if (i == SL_HUDI_META_FILE)
            sl_buf_sql_string(out, sl_buf_view(&w->file_name));
        else
            sl_buf_addc(out, sl_hudi_meta_fields[i]);
        sl_buf_printf(out, " AS %s", sl_hudi_meta_fields[i]);
        sl_buf_addc(out, i + 1 < SL_HUDI_NMETA ? ", " : "");
    }
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_addc(out, ", ");
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
    }
    sl_buf_printf(out, " FROM (" SL_STRF ")", SL_STRV(sl_buf_view(&w->rows)));
}

static int write_rows(struct work *w, struct sl_arena *a, sl_err *err)
{
    struct sl_parquet_files made = SL_PARQUET_FILES_INIT;
    struct sl_hudi_kv pairs[SL_HUDI_INDEX_KVS];
    struct sl_parquet_kv kv[SL_HUDI_INDEX_KVS];
    struct sl_hudi_index index;
    struct sl_buf sql = SL_BUF_INIT, dir = SL_BUF_INIT, prefix = SL_BUF_INIT;
    char uuid[37], text[18];
    double fpp;
    size_t n = 0;
    int rc;

    sl_uuid(uuid);
    sl_hudi_instant_text(w->op->instant, text);
    SL_GO(sl_emit_fpp(w->t, NULL, &fpp, err));
    SL_GO(sl_hudi_index_build(&w->arena, w->keys.v, w->keys.n, fpp, &index, err));
    SL_GO(sl_hudi_index_to_kv(&w->arena, &index, false, pairs, &n, err));
    for (size_t i = 0; i < n; i++)
        kv[i] = (struct sl_parquet_kv){pairs[i].key, pairs[i].value};
    put_select(w, &sql);
    sl_buf_printf(&dir, "%s/" SL_EMIT_STAGE, w->t->path);
    sl_buf_printf(&prefix, SL_STAGED_PREFIX "%s-%s-", text, uuid);
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_buf_ok(&dir, err));
    SL_GO(sl_buf_ok(&prefix, err));
    SL_GO(sl_store_mkdirs(w->t->store, SL_LIT(SL_EMIT_STAGE), err));
    const struct sl_parquet_spec spec = {.dir = sl_buf_view(&dir), .prefix = sl_buf_view(&prefix), .compression = sl_emit_codec(w->t), .kv = kv,
                                         .nkv = n, .empty = true, .repeatable = true};
    SL_GO(sl_parquet_write(w->conn, sl_buf_view(&sql), &spec, &made, err));
    if (made.n != 1) {
        rc = sl_err_set(err, SL_EBUG, "a base file became %zu files", made.n);
        goto done;
    }
    w->out->size = made.v[0].size;
    w->out->rows = (int64_t)made.v[0].rows;
    w->path = sl_arena_strdup(&w->arena, sl_str_c(made.v[0].path));
    w->out->staged = sl_arena_strdup(a, sl_str_c(strrchr(made.v[0].path, '/') + 1));
    w->out->name = sl_arena_strdup(a, sl_buf_view(&w->file_name));
    if (!w->path || !w->out->staged || !w->out->name)
        SL_GOTO_NOMEM(err);
    rc = sl_store_sync_file(w->t->store, sl_str_c(w->path + strlen(w->t->path) + 1), err);
done:
    if (rc != SL_OK)
        sl_parquet_files_discard(&made);
    sl_parquet_files_release(&made);
    sl_buf_release(&sql);
    sl_buf_release(&dir);
    sl_buf_release(&prefix);
    return rc;
}

/* ---- what became of the rows ---- */

static void add_file(struct sl_buf *out, const char *path)
{
    struct sl_buf pattern = SL_BUF_INIT;

    sl_parquet_pattern(&pattern, sl_str_c(path));
    sl_buf_addc(out, "read_parquet(");
    sl_buf_sql_string(out, sl_buf_view(&pattern));
    sl_buf_addc(out, ", hive_partitioning = false)");
    out->failed = out->failed || pattern.failed;
    sl_buf_release(&pattern);
}

/* Rows of the old base = those kept + those updated + those deleted; rows now = kept + updated + inserted. */
static int count_rows(struct work *w, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT, base = SL_BUF_INIT;
    int64_t before = 0, lost = 0;
    int rc;

    if (!w->slice.base) {
        w->out->inserts = w->out->rows;
        return SL_OK;
    }
    sl_buf_printf(&base, "%s/%s", w->t->path, w->slice.base->path);
    SL_GO(sl_buf_ok(&base, err));
    sl_buf_addc(&sql, "SELECT count(*) FROM ");
    add_file(&sql, base.p);
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query_i64(w->conn, sl_buf_view(&sql), &before, err));
    if (w->deletes) {
        sl_buf_addc(&sql, " ANTI JOIN ");
        add_file(&sql, w->path);
        sl_buf_addc(&sql, " USING (_hoodie_record_key)");
        SL_GO(sl_buf_ok(&sql, err));
        SL_GO(sl_conn_query_i64(w->conn, sl_buf_view(&sql), &lost, err));
    }
    w->out->deletes = lost;
    w->out->updates = before - lost - w->kept;
    w->out->inserts = w->out->rows - (before - lost);
done:
    sl_buf_release(&sql);
    sl_buf_release(&base);
    return rc;
}

/* ---- all together ---- */

static int work(struct work *w, struct sl_arena *a, sl_err *err)
{
    SL_TRY(find_slice(w, err));
    SL_TRY(count_blocks(w, err));
    SL_TRY(make_rows(w, err));
    int rc = read_keys(w, err);
    if (rc == SL_OK)
        rc = write_rows(w, a, err);
    if (rc == SL_OK)
        rc = count_rows(w, err);
    sl_err_at(err, -1);
    return rc == SL_OK ? SL_FAILPOINT("compact.worked", err) : sl_log_plan_explain_error(w->plan, rc, err);
}

int sl_log_compact_work(struct sl_log *t, struct sl_view *view, struct sl_conn *conn, const struct sl_compaction_op *op, struct sl_arena *a,
                        struct sl_log_made *out, sl_err *err)
{
    const int64_t begun = sl_mono_nanos();
    struct work w = {.t = t, .view = view, .conn = conn, .op = op, .out = out, .arena = SL_ARENA_INIT};

    *out = (struct sl_log_made){0};
    const int rc = work(&w, a, err);
    out->millis = (sl_mono_nanos() - begun) / 1000000;
    if (rc != SL_OK) {
        sl_err_ctx(err, "compacting the file group " SL_STRF " of the table %s", SL_STRV(op->file_id), t->label);
        sl_log_made_discard(t, out);
        out->staged = NULL;
    }
    sl_log_plan_free(w.plan);
    sl_view_free(w.own_view);
    sl_free(w.keys.v);
    sl_buf_release(&w.rows);
    sl_buf_release(&w.file_name);
    sl_arena_release(&w.arena);
    return rc;
}

/* ---- staged files ---- */

void sl_log_made_discard(struct sl_log *t, const struct sl_log_made *m)
{
    struct sl_buf path = SL_BUF_INIT;

    if (!m->staged)
        return;
    sl_log_staged_path(m->staged, &path);
    if (sl_buf_ok(&path, NULL) == SL_OK)
        (void)!sl_store_remove(t->store, sl_buf_view(&path), NULL);
    sl_buf_release(&path);
}

/* "compact-<instant>-<uuid>-0.parquet" */
static bool staged_parse(sl_str name, int64_t *instant)
{
    const size_t from = sizeof SL_STAGED_PREFIX - 1;

    return sl_str_starts(name, SL_STAGED_PREFIX) && sl_str_ends(name, ".parquet") && name.n > from + 18 && name.p[from + 17] == '-' &&
           sl_hudi_instant_parse(sl_str_sub(name, from, from + 17), instant) && !memchr(name.p, '/', name.n) && !memchr(name.p, 0, name.n);
}

bool sl_log_staged_ok(sl_str name, int64_t instant)
{
    int64_t of;

    return staged_parse(name, &of) && of == instant;
}

bool sl_log_made_name_ok(sl_str name, const struct sl_compaction_op *op)
{
    struct sl_hudi_base_name b;

    return sl_hudi_base_parse(name, &b) && b.instant == op->instant && sl_str_eq(b.file_id, op->file_id) && sl_str_eqc(b.extension, "parquet") &&
           !memchr(name.p, '/', name.n);
}

static bool is_pending(const struct sl_timeline *tl, int64_t instant)
{
    const struct sl_instant *i = sl_timeline_find(tl, instant);

    return i && i->state != SL_HUDI_COMPLETED;
}

void sl_log_compact_sweep(struct sl_log *t)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_timeline *tl = NULL;
    int64_t instant;

    /* Listed first: a plan that is made afterwards has no files among these. */
    if (sl_store_list(t->store, SL_LIT(SL_EMIT_STAGE), true, &all, NULL) != SL_OK || all.n == 0 || sl_timeline_load(t, &tl, NULL) != SL_OK)
        goto done;
    for (size_t i = 0; i < all.n; i++)
        if (staged_parse(sl_str_c(all.v[i].name), &instant) &&
            (!is_pending(tl, instant) || sl_now_millis() - all.v[i].mtime_millis > STAGED_OLD_MILLIS))
            sl_log_made_discard(t, &(struct sl_log_made){.staged = all.v[i].name});
done:
    sl_timeline_free(tl);
    sl_entries_release(&all);
}
