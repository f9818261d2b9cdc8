/*
 * embed.c - PARQUET blocks of logs, made readable: each is a whole Parquet file, copied to a file without a name, which SQL reads by its
 * descriptor. Keys and ordering values of their rows are read here, so that it is known which of them count before the query runs.
 */
#include "base/sys.h"
#include "store/scratch.h"
#include "table/log/plan_priv.h"

enum { COPY_BYTES = 4 << 20 };

static int copy_content(struct sl_log_plan *p, const struct sl_block *b, int fd, sl_err *err)
{
    struct sl_buf part = SL_BUF_INIT;
    int rc = SL_OK;

    for (int64_t at = 0; at < b->content_size; at += COPY_BYTES) {
        const int64_t left = b->content_size - at;

        SL_GO(sl_cancel_check(err));
        SL_GO(sl_store_get_range(p->table->store, sl_str_c(b->file->path), (uint64_t)(b->content_offset + at),
                                 (size_t)(left < COPY_BYTES ? left : COPY_BYTES), &part, err));
        SL_GO(sl_scratch_add(fd, sl_buf_view(&part), err));
    }
done:
    sl_buf_release(&part);
    return rc;
}

static int embed_block(struct sl_log_plan *p, size_t slice, size_t block, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;
    struct sl_plan_embedded *e = sl_vec_push(&io->embedded);
    char path[32];
    void **slot;

    if (!e)
        return sl_err_nomem(err);
    *e = (struct sl_plan_embedded){.fd = -1, .slice = slice, .block = block};
    SL_TRY(sl_scratch_new(&e->fd, err));
    SL_TRY(copy_content(p, &io->slices[slice].blocks.v[block], e->fd, err));
    sl_scratch_path(e->fd, path);
    e->path = sl_arena_strdup(&io->arena, sl_str_c(path));
    if (!io->by_path)
        io->by_path = sl_map_new();
    slot = e->path && io->by_path ? sl_map_at(io->by_path, sl_str_c(path)) : NULL;
    if (!slot)
        return sl_err_nomem(err);
    *slot = (void *)(uintptr_t)io->embedded.n;
    return SL_OK;
}

/* ---- keys of a block ---- */

static int value_of(const struct sl_type *t, const struct sl_result *r, size_t row, struct sl_arena *a, struct sl_value *out, sl_err *err)
{
    enum { COLUMN = 2 };

    *out = (struct sl_value){.kind = t->kind, .null = sl_result_null(r, COLUMN, row)};
    if (out->null)
        return SL_OK;
    switch (t->kind) {
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
    case SL_DATE:
        out->u.i = sl_result_i64(r, COLUMN, row);
        return SL_OK;
    case SL_BOOLEAN:
        out->u.b = sl_result_i64(r, COLUMN, row) != 0;
        return SL_OK;
    case SL_FLOAT:
    case SL_DOUBLE:
        out->u.f = sl_result_f64(r, COLUMN, row);
        return SL_OK;
    case SL_CHAR:
    case SL_VARCHAR:
    case SL_BINARY:
    case SL_VARBINARY:
        out->u.s = sl_result_str(r, COLUMN, row);
        return SL_OK;
    default: /* read as text */
        sl_arena_reset(a);
        if (sl_value_from_text(a, t, sl_result_str(r, COLUMN, row), out))
            return SL_OK;
        return sl_err_set(err, SL_EUNSUPPORTED, "an ordering column of this type is not supported");
    }
}

static bool as_text(enum sl_kind k)
{
    return k == SL_DECIMAL || k == SL_TIME || k == SL_TIMESTAMP || k == SL_TIMESTAMP_LTZ;
}

static int keys_sql(const struct sl_log_plan *p, const char *path, struct sl_buf *sql, sl_err *err)
{
    const struct sl_merge *m = &p->io->merge;
    const sl_str paths[] = {sl_str_c(path)};

    sl_buf_printf(sql, "SELECT __sl_row, %s, ", sl_hudi_meta_fields[SL_HUDI_META_KEY]);
    if (m->event_time)
        sl_buf_sql_ident(sql, sl_str_c(m->ordering.name));
    else
        sl_buf_addc(sql, "NULL");
    if (m->event_time && as_text(m->ordering.type->kind))
        sl_buf_addc(sql, m->ordering.type->kind == SL_TIMESTAMP_LTZ ? "::TIMESTAMP::VARCHAR" : "::VARCHAR");
    sl_buf_addc(sql, " FROM (");
    SL_TRY(sl_plan__files_sql(p, p->io->conn, paths, 1, sql, err));
    sl_buf_ch(sql, ')');
    return sl_buf_ok(sql, err);
}

static const struct sl_plan_embedded *embedded_of(const struct sl_log_plan *p, const struct sl_block *b)
{
    for (size_t i = 0; i < p->io->embedded.n; i++) {
        const struct sl_plan_embedded *e = &p->io->embedded.v[i];

        if (&p->io->slices[e->slice].blocks.v[e->block] == b)
            return e;
    }
    return NULL;
}

static int read_keys(void *user, const struct sl_block *b, int (*row)(void *fold, int64_t row, sl_str key, const struct sl_value *ordering, sl_err *err),
                     void *fold, sl_err *err)
{
    struct sl_log_plan *p = user;
    const struct sl_plan_embedded *e = embedded_of(p, b);
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    struct sl_value ordering = {.null = true};
    size_t rows;
    int rc = SL_OK;

    if (!e) {
        rc = sl_err_set(err, SL_EBUG, "the block is not embedded");
        goto done;
    }
    SL_GO(keys_sql(p, e->path, &sql, err));
    SL_GO(sl_conn_query(p->io->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            if (sl_result_null(r, 1, i)) {
                rc = sl_err_set(err, SL_ECORRUPT, "row %lld has no record key", (long long)sl_result_i64(r, 0, i));
                goto done;
            }
            if (p->io->merge.event_time)
                SL_GO(value_of(p->io->merge.ordering.type, r, i, &a, &ordering, err));
            SL_GO(row(fold, sl_result_i64(r, 0, i), sl_result_str(r, 1, i), &ordering, err));
        }
    }
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    sl_arena_release(&a);
    return rc;
}

/* ---- all of them ---- */

int sl_plan__embed(struct sl_log_plan *p, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;

    io->merge.parquet = read_keys;
    io->merge.parquet_user = p;
    for (size_t i = 0; i < io->nslices; i++) {
        struct sl_plan_slice *s = &io->slices[i];
        const size_t before = io->embedded.n;

        for (size_t k = 0; k < s->blocks.n; k++)
            if (s->blocks.v[k].type == SL_HUDI_BLOCK_PARQUET)
                SL_TRY(embed_block(p, i, k, err));
        if (io->embedded.n == before)
            continue;
        SL_TRY(sl_merge_blocks(&io->merge, &s->blocks, &s->merged, err));
        s->ready = true;
    }
    return SL_OK;
}

void sl_plan__unembed(struct sl_log_plan *p)
{
    for (size_t i = 0; i < p->io->embedded.n; i++)
        sl_scratch_close(p->io->embedded.v[i].fd);
    sl_free(p->io->embedded.v);
    sl_map_free(p->io->by_path, NULL);
}
