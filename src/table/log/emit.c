/* emit.c - rows and deletes of a batch as blocks of new log files. */
#include <string.h>

#include "table/log/emit.h"

enum { BLOCK_RECORDS = 60000, FILE_BYTES = 128 << 20, FILTER_KEYS = 16 };

struct logs {
    struct sl_emit *e;
    struct sl_log_batch *b;
    struct sl_emit_order order;
    struct sl_emit_files files;
    /* how blocks are made */
    bool parquet;                  /* PARQUET_DATA */
    enum sl_hudi_index_mode index_mode;
    double fpp;
    uint64_t block_bytes;
    struct sl_hudi_schema schema;  /* with the meta fields */
    struct sl_hudi_encoder *encoder;
    /* the group that is written */
    const struct sl_batch_group *group;
    size_t from, to;               /* its places in the order */
    int64_t log_instant, version;
    SL_VEC(sl_str) names;          /* of the slice's logs, the new ones too */
    struct sl_buf file;            /* blocks so far */
    uint64_t file_rows, file_inserts, file_removals;
    struct sl_buf content;         /* of the block under way */
    struct sl_hudi_content records;
    SL_VEC(sl_str) keys;           /* in it */
    uint64_t block_inserts;
    SL_VEC(struct sl_hudi_delete) deletes, early; /* early: of keys that are not there, for rows that come late */
    uint64_t row_number;
    struct sl_hudi_ordering *orderings; /* PARQUET_DATA: of removals, by place; of the batch's arena */
};

/* ---- options ---- */

int sl_emit_fpp(const struct sl_log *t, const char *key, double *out, sl_err *err)
{
    const char *v = sl_log_option(t, "hoodie.index.bloom.fpp", "0.000000001");

    if (key)
        v = sl_log_option(t, key, v);
    if (!sl_parse_f64(sl_str_trim(sl_str_c(v)), out) || !(*out > 0 && *out < 1))
        return sl_err_set(err, SL_EINPUT, "the rate \"%s\" of false positives of the table %s is not between 0 and 1", v, t->label);
    return SL_OK;
}

static int read_options(struct logs *l, sl_err *err)
{
    const struct sl_log *t = l->b->t;
    const char *format = sl_log_option(t, "hoodie.logfile.data.block.format", "avro"), *index = sl_log_option(t, "sluice.log.index", "header");
    const char *consent = sl_log_option(t, "sluice.log.index.not-for-hudi-1", "false");
    const char *bytes = sl_log_option(t, "hoodie.logfile.data.block.max.size", "268435456");

    if (!sl_str_ieqc(sl_str_c(format), "avro") && !sl_str_ieqc(sl_str_c(format), "parquet"))
        return sl_err_set(err, SL_EUNSUPPORTED, "log blocks of the format \"%s\" are not supported: avro and parquet are", format);
    l->parquet = sl_str_ieqc(sl_str_c(format), "parquet");
    if (strcmp(index, "header") != 0 && strcmp(index, "off") != 0 && strcmp(index, "footer") != 0)
        return sl_err_set(err, SL_EINPUT, "the option \"sluice.log.index\" is header, off or footer, not \"%s\"", index);
    l->index_mode = index[0] == 'h' ? SL_HUDI_INDEX_HEADER : index[0] == 'o' ? SL_HUDI_INDEX_OFF : SL_HUDI_INDEX_FOOTER;
    if (l->index_mode == SL_HUDI_INDEX_FOOTER && strcmp(consent, "true") != 0) {
        sl_err_set(err, SL_EINPUT, "\"sluice.log.index\" = \"footer\" makes the table %s unreadable for Hudi 1.x", t->label);
        sl_err_hint(err, "set 'sluice.log.index.not-for-hudi-1' = 'true' too if that is meant; header is readable everywhere");
        return SL_EINPUT;
    }
    if (!sl_parse_bytes(sl_str_c(bytes), &l->block_bytes) || l->block_bytes == 0)
        return sl_err_set(err, SL_EINPUT, "the option \"hoodie.logfile.data.block.max.size\" = \"%s\" is no size", bytes);
    if (l->block_bytes > sl_engine_memory(sl_conn_engine(l->b->conn)) / 16)
        l->block_bytes = sl_engine_memory(sl_conn_engine(l->b->conn)) / 16;
    return sl_emit_fpp(t, "sluice.log.index.fpp", &l->fpp, err);
}

/* ---- blocks ---- */

static bool is_row(const struct sl_batch_key *k)
{
    return k->kind == SL_LOG_ROW;
}

static int put_block(struct logs *l, enum sl_hudi_block_type type, sl_str index, sl_str content, sl_err *err)
{
    const enum sl_hudi_index_mode mode = type == SL_HUDI_BLOCK_DELETE ? SL_HUDI_INDEX_HEADER : l->index_mode;
    const struct sl_hudi_block_out block = {.type = type, .instant = l->e->instant, .schema = sl_buf_view(&l->e->schema), .index = index,
                                            .index_mode = mode, .content_size = content.n};

    return sl_hudi_block_put(&block, content, &l->file, err);
}

/* A few keys are scanned faster than asked through a filter. */
static double filter_rate(const struct logs *l)
{
    return l->keys.n < FILTER_KEYS ? 0 : l->fpp;
}

static int end_avro_block(struct logs *l, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_hudi_index index;
    struct sl_buf json = SL_BUF_INIT;
    int rc;

    if (l->keys.n == 0)
        return SL_OK;
    SL_GO(sl_hudi_content_end(&l->records, err));
    if (l->index_mode != SL_HUDI_INDEX_OFF) {
        SL_GO(sl_hudi_index_build(&arena, l->keys.v, l->keys.n, filter_rate(l), &index, err));
        sl_hudi_index_json(&index, &json);
        SL_GO(sl_buf_ok(&json, err));
    }
    SL_GO(put_block(l, SL_HUDI_BLOCK_AVRO, sl_buf_view(&json), sl_buf_view(&l->content), err));
    l->file_rows += l->keys.n;
    l->file_inserts += l->block_inserts;
    l->keys.n = 0;
    l->block_inserts = 0;
    sl_buf_reset(&l->content);
done:
    sl_arena_release(&arena);
    sl_buf_release(&json);
    return rc;
}

static int end_deletes(struct logs *l, sl_err *err)
{
    struct sl_buf content = SL_BUF_INIT;
    int rc;

    if (l->deletes.n == 0)
        return SL_OK;
    SL_GO(sl_hudi_deletes_encode(l->deletes.v, l->deletes.n, &content, err));
    SL_GO(put_block(l, SL_HUDI_BLOCK_DELETE, (sl_str){NULL, 0}, sl_buf_view(&content), err));
    l->deletes.n = 0;
done:
    sl_buf_release(&content);
    return rc;
}

/* They are found by look-up, so they have an index, which also tells that the block holds such deletes. */
static int end_early_deletes(struct logs *l, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_buf content = SL_BUF_INIT, json = SL_BUF_INIT;
    struct sl_hudi_index index;
    sl_str *keys;
    int rc;

    if (l->early.n == 0)
        return SL_OK;
    keys = sl_arena_array(&arena, l->early.n, sizeof *keys);
    if (!keys)
        return sl_err_nomem(err);
    for (size_t i = 0; i < l->early.n; i++)
        keys[i] = l->early.v[i].key;
    SL_GO(sl_hudi_index_build(&arena, keys, l->early.n, l->early.n < FILTER_KEYS ? 0 : l->fpp, &index, err));
    sl_hudi_index_json(&index, &json);
    SL_GO(sl_buf_ok(&json, err));
    SL_GO(sl_hudi_deletes_encode(l->early.v, l->early.n, &content, err));
    SL_GO(put_block(l, SL_HUDI_BLOCK_DELETE, sl_buf_view(&json), sl_buf_view(&content), err));
    l->early.n = 0;
done:
    sl_arena_release(&arena);
    sl_buf_release(&content);
    sl_buf_release(&json);
    return rc;
}

static int add_delete(struct logs *l, const struct sl_batch_key *k, const struct sl_hudi_ordering *ordering, sl_err *err)
{
    const bool early = k->insert && k->kind != SL_LOG_ROW;
    struct sl_hudi_delete *d = early ? sl_vec_push(&l->early) : sl_vec_push(&l->deletes);

    if (!d)
        return sl_err_nomem(err);
    *d = (struct sl_hudi_delete){.key = k->key, .partition = l->b->parts.v[k->part].path, .ordering = *ordering};
    return SL_OK;
}

/* One PARQUET_DATA block of the rows among the places [from, to). */
static int parquet_block(struct logs *l, size_t from, size_t to, sl_err *err)
{
    struct sl_emit_rows rows = {.b = l->b, .order = &l->order, .from = from, .to = to, .wanted = is_row};
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_hudi_index index;
    struct sl_hudi_kv kv[SL_HUDI_INDEX_KVS];
    struct sl_buf content = SL_BUF_INIT;
    const sl_str *keys;
    size_t n, nkv = 0;
    int rc;

    SL_GO(sl_emit_keys(l->b, &l->order, from, to, &keys, &n, &arena, err));
    if (n == 0)
        goto done;
    if (l->index_mode != SL_HUDI_INDEX_OFF) {
        SL_GO(sl_hudi_index_build(&arena, keys, n, n < FILTER_KEYS ? 0 : l->fpp, &index, err));
        SL_GO(sl_hudi_index_to_kv(&arena, &index, true, kv, &nkv, err));
    }
    SL_GO(sl_emit_rows_open(&rows, err));
    SL_GO(sl_emit_parquet(l->e, &rows, l->b->parts.v[l->group->part].path, sl_str_c(l->group->file_id), kv, nkv, &content, err));
    SL_GO(put_block(l, SL_HUDI_BLOCK_PARQUET, (sl_str){NULL, 0}, sl_buf_view(&content), err));
    l->file_rows += n;
    for (size_t i = from; i < to; i++)
        l->file_inserts += is_row(&l->b->keys.v[l->order.v[i]]) && l->b->keys.v[l->order.v[i]].insert;
done:
    sl_emit_rows_close(&rows);
    sl_arena_release(&arena);
    sl_buf_release(&content);
    return rc;
}

static int parquet_blocks(struct logs *l, sl_err *err)
{
    for (size_t from = l->from; from < l->to; from += BLOCK_RECORDS)
        SL_TRY(parquet_block(l, from, l->to - from < BLOCK_RECORDS ? l->to : from + BLOCK_RECORDS, err));
    return SL_OK;
}

/* ---- one group ---- */

static int add_name(struct logs *l, sl_str name, sl_err *err)
{
    sl_str *to = sl_vec_push(&l->names);

    if (!to)
        return sl_err_nomem(err);
    *to = name;
    return SL_OK;
}

/* Sure removals that a row of the batch follows: they come before it in the log. */
static int first_removals(struct logs *l, sl_err *err)
{
    const struct sl_hudi_ordering none = {.kind = SL_HUDI_ORD_INT};

    for (size_t i = l->from; i < l->to; i++) {
        const struct sl_batch_key *k = &l->b->keys.v[l->order.v[i]];

        if (k->removal_first && !k->insert)
            SL_TRY(add_delete(l, k, &none, err));
    }
    return end_deletes(l, err);
}

static int begin_group(struct logs *l, size_t from, sl_err *err)
{
    l->from = from;
    l->to = sl_emit_group_end(l->b, &l->order, from);
    l->group = &l->b->groups.v[l->b->keys.v[l->order.v[from]].group];
    l->names.n = 0;
    l->log_instant = l->group->slice ? l->group->slice->log_instant : l->e->instant;
    l->version = l->group->slice ? l->group->slice->next_version : 1;
    for (size_t i = 0; l->group->slice && i < l->group->slice->nlogs; i++)
        SL_TRY(add_name(l, sl_str_c(l->group->slice->logs[i]->name), err));
    l->file_rows = l->file_inserts = l->file_removals = 0;
    return first_removals(l, err);
}

static int add_stat(struct logs *l, sl_str dir, sl_str name, sl_err *err)
{
    const struct sl_slice *slice = l->group->slice;
    struct sl_buf path = SL_BUF_INIT, base = SL_BUF_INIT;
    char prev[18];
    int rc;

    sl_hudi_instant_text(l->log_instant, prev);
    sl_buf_add(&path, dir);
    sl_buf_addc(&path, dir.n ? "/" : "");
    sl_buf_add(&path, name);
    SL_GO(sl_buf_ok(&path, err));
    if (slice && slice->base)
        sl_buf_addc(&base, slice->base->name);
    else if (l->group->based)
        sl_hudi_base_put(&base, sl_str_c(l->group->file_id), l->e->token, l->e->instant);
    SL_GO(sl_buf_ok(&base, err));
    struct sl_hudi_stat stat = {
        .partition = dir, .partition_path = dir, .file_id = sl_str_c(l->group->file_id), .path = sl_buf_view(&path), .prev_commit = sl_str_c(prev),
        .num_writes = (int64_t)l->file_rows, .num_deletes = (int64_t)l->file_removals, .num_inserts = (int64_t)l->file_inserts,
        .num_update_writes = (int64_t)(l->file_rows - l->file_inserts), .total_write_bytes = (int64_t)l->file.n, .file_size = (int64_t)l->file.n,
        .log_version = l->version, .base_file = base.n ? sl_buf_view(&base) : (sl_str){NULL, 0},
        .log_files = l->names.v, .nlog_files = l->names.n,
    };
    rc = sl_publish_stat(l->e->publish, &stat, err);
done:
    sl_buf_release(&path);
    sl_buf_release(&base);
    return rc;
}

/* The blocks so far become a log file; more may follow in the next version. */
static int end_file(struct logs *l, sl_err *err)
{
    const sl_str dir = l->b->parts.v[l->group->part].path;
    struct sl_buf name = SL_BUF_INIT;
    sl_str kept;
    int rc;

    if (l->file.n == 0)
        return SL_OK;
    sl_hudi_log_put(&name, sl_str_c(l->group->file_id), l->log_instant, l->version, l->e->token);
    kept = sl_arena_str(&l->b->arena, sl_buf_view(&name));
    if (name.failed || !kept.p)
        SL_GOTO_NOMEM(err);
    SL_GO(add_name(l, kept, err));
    SL_GO(add_stat(l, dir, kept, err));
    l->e->result->bytes += l->file.n;
    l->e->result->log_files++;
    SL_GO(sl_emit_file_add(&l->files, dir, kept, &l->file, err));
    l->version++;
    l->file_rows = l->file_inserts = l->file_removals = 0;
done:
    sl_buf_release(&name);
    return rc;
}

static int end_group(struct logs *l, sl_err *err)
{
    SL_TRY(l->parquet ? parquet_blocks(l, err) : end_avro_block(l, err));
    l->file_removals += l->deletes.n + l->early.n;
    SL_TRY(end_deletes(l, err));
    SL_TRY(end_early_deletes(l, err));
    return end_file(l, err);
}

static int enough(struct logs *l, sl_err *err)
{
    if (l->keys.n < BLOCK_RECORDS && l->content.n < l->block_bytes)
        return SL_OK;
    SL_TRY(end_avro_block(l, err));
    return l->file.n >= FILE_BYTES ? end_file(l, err) : SL_OK;
}

/* ---- rows ---- */

static bool is_removal(const struct sl_batch_key *k)
{
    return k->kind != SL_LOG_ROW;
}

static int add_record(struct logs *l, const struct sl_batch_key *k, const struct sl_batch *cols, size_t row, sl_err *err)
{
    struct sl_hudi_meta_values meta;
    char seqno[64];
    sl_str *key;

    if (l->keys.n == 0)
        sl_hudi_content_begin(&l->records, &l->content);
    key = sl_vec_push(&l->keys);
    if (!key)
        return sl_err_nomem(err);
    *key = k->key;
    l->block_inserts += k->insert;
    snprintf(seqno, sizeof seqno, "%s_1_%llu", l->e->text, (unsigned long long)++l->row_number);
    meta.v[SL_HUDI_META_COMMIT_TIME] = sl_str_c(l->e->text);
    meta.v[SL_HUDI_META_SEQNO] = sl_str_c(seqno);
    meta.v[SL_HUDI_META_KEY] = k->key;
    meta.v[SL_HUDI_META_PARTITION] = l->b->parts.v[k->part].path;
    meta.v[SL_HUDI_META_FILE] = sl_str_c(l->group->file_id);
    sl_hudi_content_record(&l->records);
    SL_TRY(sl_hudi_encoder_row(l->encoder, &meta, cols, row, &l->content, err));
    SL_TRY(sl_hudi_content_record_end(&l->records, err));
    return enough(l, err);
}

/* End the groups before place I of the order and begin its own. */
static int come_to(struct logs *l, size_t i, sl_err *err)
{
    while (i >= l->to) {
        const size_t next = l->to;

        if (l->group)
            SL_TRY(end_group(l, err));
        l->group = NULL;
        if (next == l->order.n)
            break;
        SL_TRY(begin_group(l, next, err));
    }
    return SL_OK;
}

/* Row at place I of the order; its columns are COLS, of which ORDERING (may be NULL) is one. */
static int add_row(struct logs *l, size_t i, const struct sl_batch *cols, const struct sl_vector *ordering, size_t row, struct sl_arena *a,
                   sl_err *err)
{
    const struct sl_batch_key *k = &l->b->keys.v[l->order.v[i]];
    struct sl_hudi_ordering o = {.kind = SL_HUDI_ORD_INT};

    SL_TRY(come_to(l, i, err));
    if (k->kind == SL_LOG_ROW)
        return add_record(l, k, cols, row, err);
    if (k->kind == SL_LOG_REMOVAL && ordering)
        SL_TRY(sl_emit_ordering(ordering, row, a, &o, err));
    return add_delete(l, k, &o, err);
}

static void rows_sql(const struct logs *l, const struct sl_emit_rows *rows, struct sl_buf *out)
{
    sl_buf_addc(out, "SELECT a.i");
    for (size_t c = 0; c < l->b->t->schema->columns.nfields; c++)
        sl_buf_printf(out, ", b.c%zu", c);
    sl_buf_printf(out, " FROM " SL_BATCH_TABLE " AS b JOIN sluice_rows(%llu) AS a ON b.seq = a.seq ORDER BY a.i", (unsigned long long)rows->id);
}

static ptrdiff_t ordering_column(const struct logs *l)
{
    const struct sl_hudi_config *c = &l->b->t->config;

    return c->nordering && c->merge == SL_HUDI_EVENT_TIME ? sl_log_column(l->b->t, c->ordering_fields[0]) : -1;
}

/* Blocks that the engine writes: the connection is free for that when all ordering values of removals are here. */
static int keep_ordering(struct logs *l, size_t i, const struct sl_vector *ordering, size_t row, sl_err *err)
{
    if (!ordering || l->b->keys.v[l->order.v[i]].kind != SL_LOG_REMOVAL)
        return SL_OK;
    return sl_emit_ordering(ordering, row, &l->b->arena, &l->orderings[i], err);
}

static int write_parquet(struct logs *l, sl_err *err)
{
    for (size_t i = 0; i < l->order.n; i++) {
        const struct sl_batch_key *k = &l->b->keys.v[l->order.v[i]];

        SL_TRY(come_to(l, i, err));
        if (is_removal(k))
            SL_TRY(add_delete(l, k, &l->orderings[i], err));
    }
    return come_to(l, l->order.n, err);
}

/* Rows that are streamed: all, or where blocks are written by the engine the removals alone. */
static size_t wanted(const struct logs *l)
{
    size_t n = 0;

    for (size_t i = 0; l->parquet && i < l->order.n; i++)
        n += is_removal(&l->b->keys.v[l->order.v[i]]);
    return l->parquet ? n : l->order.n;
}

static int write_rows(struct logs *l, struct sl_emit_rows *rows, sl_err *err)
{
    const struct sl_schema *s = &l->b->t->schema->columns;
    const ptrdiff_t ordering = ordering_column(l);
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    struct sl_vector *vectors = NULL;
    size_t n, seen = 0;
    int rc;

    rows_sql(l, rows, &sql);
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(l->b->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &n, err));
        if (n == 0)
            break;
        SL_GO(sl_result_vectors(r, 1, s->fields, s->nfields, &arena, &vectors, err));
        struct sl_batch cols = {.cols = vectors, .ncols = s->nfields, .cap = n, .rows = n};
        for (size_t i = 0; i < n; i++, seen++) {
            const struct sl_vector *o = ordering < 0 ? NULL : &vectors[ordering];
            const size_t at = (size_t)sl_result_i64(r, 0, i);

            SL_GO(l->parquet ? keep_ordering(l, at, o, i, err) : add_row(l, at, &cols, o, i, &l->b->arena, err));
        }
    }
    if (seen != wanted(l)) {
        rc = sl_err_set(err, SL_EBUG, "%zu rows of a batch were to be written, but %zu came", wanted(l), seen);
        goto done;
    }
    sl_result_free(r);
    r = NULL;
    rc = l->parquet ? write_parquet(l, err) : come_to(l, l->order.n, err);
done:
    sl_result_free(r);
    sl_arena_release(&arena);
    sl_buf_release(&sql);
    return rc;
}

/* ---- all together ---- */

/* Groups whose base file is written by this commit have their rows in there. */
static void leave_out_bases(struct logs *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->order.n; i++) {
        const struct sl_batch_group *g = &l->b->groups.v[l->b->keys.v[l->order.v[i]].group];

        if (g->slice ? !g->rewrite : !g->based || l->b->keys.v[l->order.v[i]].kind != SL_LOG_ROW)
            l->order.v[n++] = l->order.v[i];
    }
    l->order.n = n;
}

static int new_partitions(struct logs *l, sl_err *err)
{
    for (size_t i = 0; i < l->b->groups.n; i++) {
        const struct sl_batch_group *g = &l->b->groups.v[i];

        if (!g->slice && g->nrows + g->nremovals)
            SL_TRY(sl_publish_partition(l->e->publish, l->b->parts.v[g->part].path, err));
    }
    return SL_OK;
}

int sl_emit_logs(struct sl_emit *e, sl_err *err)
{
    struct logs l = {.e = e, .b = e->b, .files = {.e = e}, .schema = SL_HUDI_SCHEMA_INIT};
    struct sl_emit_rows rows = {.b = e->b, .order = &l.order};
    const struct sl_schema *s = &e->b->t->schema->columns;
    int rc;

    SL_GO(read_options(&l, err));
    SL_GO(sl_emit_order_make(e->b, &l.order, err));
    leave_out_bases(&l);
    if (l.order.n == 0)
        goto done;
    SL_GO(new_partitions(&l, err));
    SL_GO(sl_hudi_schema_parse(sl_buf_view(&e->schema), &l.schema, err));
    SL_GO(sl_hudi_encoder_new(l.schema.avro, s->fields, s->nfields, &l.encoder, err));
    rows.to = l.order.n;
    rows.wanted = l.parquet ? is_removal : NULL;
    l.orderings = l.parquet ? sl_arena_array(&e->b->arena, l.order.n, sizeof *l.orderings) : NULL;
    if (l.parquet && !l.orderings)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; l.parquet && i < l.order.n; i++)
        l.orderings[i] = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_INT};
    SL_GO(sl_emit_rows_open(&rows, err));
    SL_GO(write_rows(&l, &rows, err));
    rc = sl_emit_files_end(&l.files, err);
done:
    sl_emit_rows_close(&rows);
    sl_emit_files_release(&l.files);
    sl_hudi_encoder_free(l.encoder);
    sl_hudi_schema_release(&l.schema);
    sl_buf_release(&l.file);
    sl_buf_release(&l.content);
    sl_free(l.order.v);
    sl_free(l.names.v);
    sl_free(l.keys.v);
    sl_free(l.deletes.v);
    sl_free(l.early.v);
    return rc;
}
