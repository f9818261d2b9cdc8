/*
 * scan.c - the newest records of logs as rows for SQL.
 *
 * One thread takes one slice at a time: it finds the newest record of each key (merge.h), then decodes those records, and of them the wanted
 * columns. Slices whose logs hold PARQUET blocks were looked through before, since those blocks are read by SQL of their own.
 */
#include <string.h>

#include "base/sys.h"
#include "table/log/plan_priv.h"

/* One run of the source. */
struct log_scan {
    struct sl_log_plan *plan;
    atomic_size_t next;         /* slice that no thread has taken yet */
};

struct local {
    struct log_scan *scan;
    size_t slice;               /* at hand */
    bool has_slice;
    struct sl_merged own;       /* if it was not found before */
    const struct sl_merged *merged;
    size_t block;
    struct sl_buf content;
    bool block_open;
    int64_t row;                /* next record of the block */
    struct sl_hudi_records records;
    struct sl_hudi_deletes deletes;
    struct sl_hudi_decoder *decoder;
    struct sl_decoders *decoders;
    bool *wanted;               /* owned; of the row source's columns */
};

static int open_scan(void *self, void **scan, sl_err *err)
{
    struct log_scan *s = sl_calloc(1, sizeof *s);

    if (!s)
        return sl_err_nomem(err);
    s->plan = self;
    *scan = s;
    return SL_OK;
}

static void close_scan(void *scan)
{
    sl_free(scan);
}

static int open_local(void *self, void **local, sl_err *err)
{
    struct local *l = sl_calloc(1, sizeof *l);

    if (!l)
        return sl_err_nomem(err);
    l->scan = self;
    *local = l;
    return SL_OK;
}

static void close_local(void *self, void *local)
{
    struct local *l = local;

    (void)self;
    sl_merged_release(&l->own);
    sl_decoders_free(l->decoders);
    sl_buf_release(&l->content);
    sl_free(l->wanted);
    sl_free(l);
}

/* ---- one value of the ordering column ---- */

static int64_t in_micros(const struct sl_value *v)
{
    return v->u.t.ms * 1000 + v->u.t.ns / 1000;
}

static int put_value(struct sl_vector *v, size_t row, const struct sl_value *value, sl_err *err)
{
    if (value->null)
        return sl_vector_set_null(v, row, err);
    switch (v->type->kind) {
    case SL_TINYINT:
        ((int8_t *)v->data)[row] = (int8_t)value->u.i;
        break;
    case SL_SMALLINT:
        ((int16_t *)v->data)[row] = (int16_t)value->u.i;
        break;
    case SL_INT:
    case SL_DATE:
        ((int32_t *)v->data)[row] = (int32_t)value->u.i;
        break;
    case SL_BIGINT:
        ((int64_t *)v->data)[row] = value->u.i;
        break;
    case SL_TIME:
        ((int64_t *)v->data)[row] = value->u.i * 1000;
        break;
    case SL_FLOAT:
        ((float *)v->data)[row] = (float)value->u.f;
        break;
    case SL_DOUBLE:
        ((double *)v->data)[row] = value->u.f;
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        ((int64_t *)v->data)[row] = in_micros(value);
        break;
    case SL_DECIMAL:
        sl_vector_set_decimal(v, row, value->u.d);
        break;
    case SL_CHAR:
    case SL_VARCHAR:
    case SL_BINARY:
    case SL_VARBINARY:
        return sl_vector_put_bytes(v, row, value->u.s, err);
    default:
        return sl_err_set(err, SL_EUNSUPPORTED, "an ordering column of this type is not supported");
    }
    return SL_OK;
}

/* ---- rows ---- */

/* Of a delete only the key is known. */
static int set_nulls(struct sl_batch *b, size_t row, sl_err *err)
{
    for (size_t i = SL_SCAN_NSPECIAL; i < b->ncols; i++)
        if (b->cols[i].wanted && i != SL_SCAN_META + SL_HUDI_META_KEY)
            SL_TRY(sl_vector_set_null(&b->cols[i], row, err));
    return SL_OK;
}

static int put_special(const struct local *l, struct sl_batch *b, size_t row, bool deleted, const struct sl_value *ordering, sl_err *err)
{
    const struct sl_block_marks *m = &l->merged->marks[l->block];

    if (b->cols[SL_SCAN_SLICE].wanted)
        ((int64_t *)b->cols[SL_SCAN_SLICE].data)[row] = (int64_t)l->slice;
    if (b->cols[SL_SCAN_ALWAYS].wanted)
        ((uint8_t *)b->cols[SL_SCAN_ALWAYS].data)[row] = sl_mark_get(m->always, l->row);
    if (b->cols[SL_SCAN_DELETED].wanted)
        ((uint8_t *)b->cols[SL_SCAN_DELETED].data)[row] = deleted;
    return b->cols[SL_SCAN_ORDERING].wanted ? put_value(&b->cols[SL_SCAN_ORDERING], row, ordering, err) : SL_OK;
}

static int put_delete(struct local *l, const struct sl_hudi_delete *d, struct sl_batch *b, size_t row, sl_err *err)
{
    const struct sl_log_plan_io *io = l->scan->plan->io;
    struct sl_vector *key = &b->cols[SL_SCAN_META + SL_HUDI_META_KEY];
    struct sl_value ordering = {.null = true};
    bool none = true;

    if (io->merge.event_time)
        sl_merge_delete_ordering(io->merge.ordering.type, &d->ordering, &ordering, &none);
    ordering.null = none;
    SL_TRY(put_special(l, b, row, true, &ordering, err));
    SL_TRY(set_nulls(b, row, err));
    return key->wanted ? sl_vector_put_bytes(key, row, d->key, err) : SL_OK;
}

/* Deletes of the block that is open; *DONE at its end. */
static int fill_deletes(struct local *l, struct sl_batch *b, bool *done, sl_err *err)
{
    struct sl_hudi_delete d;
    bool more = true;

    for (; b->rows < b->cap; l->row++) {
        SL_TRY(sl_hudi_deletes_next(&l->deletes, &d, &more, err));
        if (!more)
            break;
        if (l->row < l->merged->marks[l->block].records && sl_mark_get(l->merged->marks[l->block].newest, l->row))
            SL_TRY(put_delete(l, &d, b, b->rows++, err));
    }
    *done = !more;
    return SL_OK;
}

static int fill_records(struct local *l, struct sl_batch *b, bool *done, sl_err *err)
{
    static const struct sl_value no_ordering = {.null = true};
    const struct sl_block_marks *m = &l->merged->marks[l->block];
    sl_str record;

    for (; b->rows < b->cap; l->row++) {
        if (!sl_hudi_records_next(&l->records, &record)) {
            *done = true;
            return sl_hudi_records_end(&l->records, err);
        }
        if (l->row >= m->records || !sl_mark_get(m->newest, l->row))
            continue;
        SL_TRY(put_special(l, b, b->rows, false, &no_ordering, err));
        SL_TRY(sl_hudi_decoder_row(l->decoder, record, b, b->rows, err));
        b->rows++;
    }
    return SL_OK;
}

static bool any(const struct sl_block_marks *m)
{
    for (int64_t i = 0; i <= m->records / 64; i++)
        if (m->newest[i])
            return true;
    return false;
}

static int open_block(struct local *l, sl_err *err)
{
    const struct sl_block *b = &l->merged->blocks->v[l->block];

    SL_TRY(sl_block_read(l->scan->plan->table, b, &l->content, err));
    l->row = 0;
    if (b->type == SL_HUDI_BLOCK_DELETE)
        SL_TRY(sl_hudi_deletes_open(sl_buf_view(&l->content), &l->deletes, err));
    else
        SL_TRY(sl_hudi_records_open(sl_buf_view(&l->content), &l->records, err));
    if (b->type == SL_HUDI_BLOCK_AVRO)
        SL_TRY(sl_decoders_get(l->decoders, b->schema, &l->decoder, err));
    l->block_open = true;
    return SL_OK;
}

static int block_error(const struct local *l, int rc, sl_err *err)
{
    const struct sl_block *b = &l->merged->blocks->v[l->block];

    sl_err_ctx(err, "\"%s/%s\", %s block at offset %lld", l->scan->plan->table->path, b->file->path, sl_hudi_block_type_name(b->type),
               (long long)b->offset);
    return rc;
}

/* Rows of the slice at hand until the batch is full or the slice is done. */
static int fill_slice(struct local *l, struct sl_batch *b, sl_err *err)
{
    for (; l->block < l->merged->blocks->n; l->block++, l->block_open = false) {
        const struct sl_block *block = &l->merged->blocks->v[l->block];
        bool done = false;
        int rc = SL_OK;

        if (block->type == SL_HUDI_BLOCK_PARQUET || (!l->block_open && !any(&l->merged->marks[l->block])))
            continue;
        if (!l->block_open)
            rc = open_block(l, err);
        if (rc == SL_OK)
            rc = block->type == SL_HUDI_BLOCK_DELETE ? fill_deletes(l, b, &done, err) : fill_records(l, b, &done, err);
        if (rc != SL_OK)
            return block_error(l, rc, err);
        if (!done)
            return SL_OK;
    }
    l->has_slice = false;
    sl_merged_release(&l->own);
    return SL_OK;
}

/* The next slice; false if there is none. */
static int take_slice(struct local *l, bool *more, sl_err *err)
{
    struct sl_log_plan *p = l->scan->plan;
    struct sl_plan_slice *s;

    l->slice = atomic_fetch_add(&l->scan->next, 1);
    *more = l->slice < p->io->nslices;
    if (!*more)
        return SL_OK;
    SL_TRY(sl_cancel_check(err));
    s = &p->io->slices[l->slice];
    if (!s->ready)
        SL_TRY(sl_merge_blocks(&p->io->merge, &s->blocks, &l->own, err));
    l->merged = s->ready ? &s->merged : &l->own;
    l->block = 0;
    l->block_open = false;
    l->has_slice = true;
    return SL_OK;
}

/* What is wanted is the same in all calls of one thread. */
static int prepare(struct local *l, const struct sl_batch *b, sl_err *err)
{
    const struct sl_log_plan *p = l->scan->plan;
    struct sl_hudi_projection projection = {.cols = p->io->fields, .ncols = p->io->nfields, .aliases = p->schema->hudi.aliases,
                                            .naliases = p->schema->hudi.naliases};

    l->wanted = sl_calloc(b->ncols, sizeof *l->wanted);
    if (!l->wanted)
        return sl_err_nomem(err);
    for (size_t i = SL_SCAN_NSPECIAL; i < b->ncols; i++)
        l->wanted[i] = b->cols[i].wanted;
    projection.wanted = l->wanted;
    return sl_decoders_new(&projection, &l->decoders, err);
}

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    struct local *l = local;
    bool more = true;

    (void)self;
    if (!l->decoders)
        SL_TRY(prepare(l, out, err));
    while (out->rows == 0) {
        if (!l->has_slice)
            SL_TRY(take_slice(l, &more, err));
        if (!more)
            break;
        SL_TRY(fill_slice(l, out, err));
    }
    return SL_OK;
}

/* ---- rows of PARQUET blocks that count ---- */

static int not_marked(struct sl_log_plan *p, bool always, sl_str filename, const int64_t *rows, size_t n, bool *out, sl_err *err)
{
    const size_t at = (size_t)(uintptr_t)sl_map_get(p->io->by_path, filename);
    const struct sl_plan_embedded *e;
    const struct sl_block_marks *m;

    if (at == 0)
        return sl_err_set(err, SL_EBUG, "\"" SL_STRF "\" is no block of the plan", SL_STRV(filename));
    e = &p->io->embedded.v[at - 1];
    m = &p->io->slices[e->slice].merged.marks[e->block];
    for (size_t i = 0; i < n; i++)
        out[i] = rows[i] >= m->records || !sl_mark_get(always ? m->always : m->newest, rows[i]);
    return SL_OK;
}

static int not_newest(void *self, sl_str filename, const int64_t *rows, size_t n, bool *out, sl_err *err)
{
    return not_marked(self, false, filename, rows, n, out, err);
}

static int not_always(void *self, sl_str filename, const int64_t *rows, size_t n, bool *out, sl_err *err)
{
    return not_marked(self, true, filename, rows, n, out, err);
}

/* ---- making it all ready ---- */

static int make_fields(struct sl_log_plan *p, sl_err *err)
{
    static const struct sl_type bigint = {.kind = SL_BIGINT, .nullable = true}, boolean = {.kind = SL_BOOLEAN, .nullable = true},
                                text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
    const struct sl_schema *s = &p->schema->columns;
    struct sl_log_plan_io *io = p->io;
    const ptrdiff_t ordering = sl_plan__ordering(p);

    io->nfields = SL_SCAN_DATA + s->nfields;
    io->fields = sl_arena_array(&io->arena, io->nfields, sizeof *io->fields);
    if (!io->fields)
        return sl_err_nomem(err);
    io->fields[SL_SCAN_SLICE] = (struct sl_field){.name = "__sl_slice", .type = &bigint};
    io->fields[SL_SCAN_ALWAYS] = (struct sl_field){.name = "__sl_always", .type = &boolean};
    io->fields[SL_SCAN_DELETED] = (struct sl_field){.name = "__sl_deleted", .type = &boolean};
    io->fields[SL_SCAN_ORDERING] = (struct sl_field){.name = "__sl_ordering", .type = ordering >= 0 ? s->fields[ordering].type : &bigint};
    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        io->fields[SL_SCAN_META + i] = (struct sl_field){.name = sl_hudi_meta_fields[i], .type = &text};
    if (s->nfields)
        memcpy(&io->fields[SL_SCAN_DATA], s->fields, s->nfields * sizeof *s->fields);
    return SL_OK;
}

static int scan_blocks(void *user, size_t i, sl_err *err)
{
    struct sl_log_plan *p = user;

    SL_TRY(sl_cancel_check(err));
    if (p->io->slices[i].chosen)
        return SL_OK;
    return sl_slice_blocks(p->view, p->io->slices[i].slice, false, &p->io->slices[i].blocks, err);
}

static void take_slice_of_plan(struct sl_log_plan_io *io, const struct sl_slice *s, size_t i)
{
    struct sl_plan_slice *to = &io->slices[io->nslices++];

    to->slice = s;
    if (!io->chosen)
        return;
    to->chosen = true;
    to->blocks = io->chosen[i];
    io->chosen[i] = (struct sl_blocks)SL_BLOCKS_INIT;
}

/* Slices with logs: those with a base file first. */
static int take_slices(struct sl_log_plan *p, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;

    io->slices = sl_arena_array(&io->arena, p->nslices + 1, sizeof *io->slices);
    if (!io->slices)
        return sl_err_nomem(err);
    for (int based = 1; based >= 0; based--) {
        for (size_t i = 0; i < p->nslices; i++)
            if (p->slices[i]->nlogs && (p->slices[i]->base != NULL) == (based == 1))
                take_slice_of_plan(io, p->slices[i], i);
        if (based)
            io->nbased = io->nslices;
    }
    return SL_OK;
}

static void set_merge(struct sl_log_plan *p, struct sl_engine *e)
{
    struct sl_merge *m = &p->io->merge;
    const ptrdiff_t ordering = sl_plan__ordering(p);

    m->table = p->table;
    m->view = p->view;
    m->event_time = sl_plan__event_time(p);
    if (m->event_time)
        m->ordering = p->schema->columns.fields[ordering];
    m->aliases = p->schema->hudi.aliases;
    m->naliases = p->schema->hudi.naliases;
    m->only = p->io->only;
    m->memory = (size_t)(sl_engine_memory(e) / 8 / (sl_engine_threads(e) + 1));
}

/* The logs are the side of the join that is kept in memory, so they must look smaller than the base files, of which DuckDB assumes a thousand rows
 * each when their columns are given. */
static int64_t rows_hint(const struct sl_log_plan *p)
{
    return (int64_t)p->io->nslices;
}

static int register_all(struct sl_log_plan *p, struct sl_engine *e, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;

    io->source = (struct sl_row_source){.self = p, .fields = io->fields, .nfields = io->nfields, .max_threads = sl_engine_threads(e),
                                        .rows_hint = rows_hint(p), .scan_open = open_scan, .scan_close = close_scan,
                                        .local_open = open_local, .local_close = close_local, .fill = fill};
    io->newest = (struct sl_row_filter){p, not_newest};
    io->always = (struct sl_row_filter){p, not_always};
    SL_TRY(sl_rows_register(e, &io->source, &io->source_id, err));
    io->engine = e;
    SL_TRY(sl_row_filter_register(e, &io->newest, &io->newest_id, err));
    return sl_row_filter_register(e, &io->always, &io->always_id, err);
}

int sl_plan__prepare(struct sl_log_plan *p, struct sl_conn *conn, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;

    if (io->made)
        return SL_OK;
    io->conn = conn;
    if (p->nkeys)
        SL_TRY(sl_plan__choose(p, conn, err));
    SL_TRY(make_fields(p, err));
    SL_TRY(take_slices(p, err));
    SL_TRY(sl_parallel(sl_engine_threads(sl_conn_engine(conn)), io->nslices, scan_blocks, p, err));
    set_merge(p, sl_conn_engine(conn));
    if (io->nslices) {
        SL_TRY(sl_plan__embed(p, err));
        SL_TRY(register_all(p, sl_conn_engine(conn), err));
    }
    io->made = true;
    return SL_OK;
}

void sl_plan__unprepare(struct sl_log_plan *p)
{
    struct sl_log_plan_io *io = p->io;

    if (io->engine) {
        sl_rows_unregister(io->engine, io->source_id);
        if (io->newest_id)
            sl_row_filter_unregister(io->engine, io->newest_id);
        if (io->always_id)
            sl_row_filter_unregister(io->engine, io->always_id);
    }
    sl_plan__unembed(p);
    for (size_t i = 0; i < io->nchosen; i++)
        sl_blocks_release(&io->chosen[i]);
    sl_key_sources_release(&io->sources);
    sl_map_free(io->only, NULL);
    for (size_t i = 0; i < io->nslices; i++) {
        sl_merged_release(&io->slices[i].merged);
        sl_blocks_release(&io->slices[i].blocks);
    }
}
