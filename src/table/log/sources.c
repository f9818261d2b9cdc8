/* sources.c - the base files and data blocks of file slices as sources of a look-up. */
#include "table/log/sources.h"

#include <string.h>

#include "base/sys.h"
#include "store/scratch.h"

enum { FOOTERS_AT_ONCE = 200, KVS_MAX = 16 };

/* ---- base files ---- */

static int full_path(const struct sl_log *t, const char *path, struct sl_buf *out, sl_err *err)
{
    sl_buf_printf(out, "%s/%s", t->path, path);
    return sl_buf_ok(out, err);
}

static bool is_index_key(sl_str key)
{
    static const char *const keys[] = {SL_HUDI_KV_BLOOM, SL_HUDI_KV_BLOOM_OLD, SL_HUDI_KV_BLOOM_TYPE, SL_HUDI_KV_MIN, SL_HUDI_KV_MAX,
                                       SL_HUDI_KV_INDEX, SL_HUDI_KV_RECORDS, SL_HUDI_KV_CRC};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (sl_str_eqc(key, keys[i]))
            return true;
    return false;
}

/* An index that does not hold together is as good as none: the keys are read. */
static void take_index(struct sl_key_sources *s, const struct sl_hudi_kv *kv, size_t n, struct sl_lookup_source *to)
{
    sl_err why = SL_ERR_INIT;

    if (sl_hudi_index_from_kv(&s->arena, kv, n, &to->index, &why) == SL_OK)
        to->indexed = to->index.has_range || to->index.has_filter;
    else
        sl_log(SL_LOG_DEBUG, "log", "an index is not used: %s", why.text);
}

struct footer {
    const char *path;               /* absolute, as DuckDB tells it */
    struct sl_lookup_source *to;
    struct sl_hudi_kv kv[KVS_MAX];
    size_t n;
};

static int read_footers(struct sl_key_sources *s, struct sl_conn *conn, struct footer *v, size_t n, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_map *by_path = sl_map_new();
    struct sl_result *r = NULL;
    size_t rows;
    int rc = SL_OK;

    if (!by_path)
        return sl_err_nomem(err);
    sl_buf_addc(&sql, "SELECT file_name, key, value FROM parquet_kv_metadata([");
    for (size_t i = 0; i < n; i++) {
        void **slot = sl_map_at(by_path, sl_str_c(v[i].path));

        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = &v[i];
        sl_buf_addc(&sql, i ? ", " : "");
        sl_buf_sql_string(&sql, sl_str_c(v[i].path));
    }
    sl_buf_addc(&sql, "])");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            struct footer *f = sl_map_get(by_path, sl_result_str(r, 0, i));
            struct sl_hudi_kv *kv;

            if (!f || f->n == KVS_MAX || !is_index_key(sl_result_str(r, 1, i)))
                continue;
            kv = &f->kv[f->n++];
            kv->key = sl_arena_str(&s->arena, sl_result_str(r, 1, i));
            kv->value = sl_arena_str(&s->arena, sl_result_str(r, 2, i));
            if (!kv->key.p || !kv->value.p)
                SL_GOTO_NOMEM(err);
        }
    }
    for (size_t i = 0; i < n; i++)
        take_index(s, v[i].kv, v[i].n, v[i].to);
done:
    sl_result_free(r);
    sl_map_free(by_path, NULL);
    sl_buf_release(&sql);
    return rc;
}

/* The footers of the base files among the sources from FIRST on. */
static int read_bases(struct sl_key_sources *s, struct sl_conn *conn, size_t first, sl_err *err)
{
    struct footer *v = sl_calloc(FOOTERS_AT_ONCE, sizeof *v);
    struct sl_buf path = SL_BUF_INIT;
    size_t n = 0;
    int rc = SL_OK;

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = first; i < s->v.n; i++) {
        if (s->v.v[i].block)
            continue;
        sl_buf_reset(&path);
        SL_GO(full_path(s->view->table, s->v.v[i].slice->base->path, &path, err));
        memset(&v[n], 0, sizeof v[n]);
        v[n].to = &s->known.v[i];
        v[n].path = sl_arena_strdup(&s->arena, sl_buf_view(&path));
        if (!v[n].path)
            SL_GOTO_NOMEM(err);
        if (++n == FOOTERS_AT_ONCE) {
            SL_GO(read_footers(s, conn, v, n, err));
            n = 0;
        }
    }
    if (n)
        SL_GO(read_footers(s, conn, v, n, err));
done:
    sl_free(v);
    sl_buf_release(&path);
    return rc;
}

/* ---- adding ---- */

static int add(struct sl_key_sources *s, const struct sl_slice *slice, const struct sl_block *block, int64_t instant, uint64_t cost,
               sl_err *err)
{
    struct sl_key_source *to = sl_vec_push(&s->v);
    struct sl_lookup_source *known = sl_vec_push(&s->known);

    if (!to || !known)
        return sl_err_nomem(err);
    *to = (struct sl_key_source){slice, block, instant};
    known->cost = cost;
    return SL_OK;
}

/* The index of an AVRO_DATA block, from its JSON. */
static void take_json(struct sl_key_sources *s, const struct sl_block *b, struct sl_lookup_source *to)
{
    sl_err why = SL_ERR_INIT;

    if (!b->index.p)
        return;
    int rc = sl_hudi_index_parse(&s->arena, b->index, &to->index, &why);
    if (rc == SL_OK && b->records >= 0 && to->index.records != b->records) {
        rc = sl_err_set(&why, SL_ECORRUPT, "it is for %lld records, and the block has %lld", (long long)to->index.records, (long long)b->records);
        to->index = (struct sl_hudi_index){.records = -1};
    }
    if (rc == SL_OK)
        to->indexed = to->index.has_range;
    else
        sl_log(SL_LOG_DEBUG, "log", "the index of the block at %lld of \"%s\" is not used: %s", (long long)b->offset, b->file->path, why.text);
}

static int add_logs(struct sl_key_sources *s, const struct sl_view *view, const struct sl_slice *slice,
                    bool (*wanted)(void *user, int64_t instant), void *user, sl_err *err)
{
    struct sl_blocks *blocks, **to;
    int rc;

    if (slice->nlogs == 0)
        return SL_OK;
    blocks = sl_calloc(1, sizeof *blocks);
    to = blocks ? sl_vec_push(&s->blocks) : NULL;
    if (!to) {
        sl_free(blocks);
        return sl_err_nomem(err);
    }
    *blocks = (struct sl_blocks)SL_BLOCKS_INIT;
    *to = blocks;
    rc = sl_slice_blocks(view, slice, true, blocks, err);
    for (size_t i = 0; i < blocks->n && rc == SL_OK; i++) {
        const struct sl_block *b = &blocks->v[i];

        if ((b->type == SL_HUDI_BLOCK_DELETE && !b->index.p) || (wanted && !wanted(user, b->instant)))
            continue;
        rc = add(s, slice, b, b->instant, (uint64_t)b->content_size, err);
        if (rc == SL_OK)
            take_json(s, b, &s->known.v[s->known.n - 1]);
    }
    return rc;
}

int sl_key_sources_add(struct sl_key_sources *s, struct sl_conn *conn, const struct sl_view *view, const struct sl_slice *slices, size_t n,
                       bool (*wanted)(void *user, int64_t instant), void *user, sl_err *err)
{
    enum { QUERY_COST = 1 << 20 }; /* of asking DuckDB, in bytes that are read meanwhile */
    const size_t first = s->v.n;

    s->view = view;
    for (size_t i = 0; i < n; i++) {
        const struct sl_slice *slice = &slices[i];

        if (slice->base && (!wanted || wanted(user, slice->base->instant)))
            SL_TRY(add(s, slice, NULL, slice->base->instant, slice->base_bytes / 8 + QUERY_COST, err));
        SL_TRY(add_logs(s, view, slice, wanted, user, err));
    }
    return read_bases(s, conn, first, err);
}

void sl_key_sources_release(struct sl_key_sources *s)
{
    for (size_t i = 0; i < s->blocks.n; i++) {
        sl_blocks_release(s->blocks.v[i]);
        sl_free(s->blocks.v[i]);
    }
    sl_free(s->blocks.v);
    sl_free(s->v.v);
    sl_free(s->known.v);
    sl_arena_release(&s->arena);
    *s = (struct sl_key_sources)SL_KEY_SOURCES_INIT;
}

/* ---- keys ---- */

/* Of a Parquet file that DuckDB opens by PATH: those of WANTED that are in it. */
static int parquet_keys(struct sl_conn *conn, sl_str path, const sl_str *wanted, size_t n, sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    size_t rows;
    int rc;

    sl_buf_addc(&sql, "SELECT _hoodie_record_key FROM read_parquet(");
    sl_buf_sql_string(&sql, path);
    sl_buf_addc(&sql, ", hive_partitioning = false) WHERE _hoodie_record_key IN (SELECT unnest(getvariable('sluice_keys')))");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_set_list(conn, "sluice_keys", wanted, n, err));
    SL_GO(sl_conn_query(conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++)
            SL_GO(take(to, sl_result_str(r, 0, i), err));
    }
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

static int base_keys(struct sl_key_sources *s, struct sl_conn *conn, const struct sl_log_file *base, const sl_str *wanted, size_t n,
                     sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    SL_GO(full_path(s->view->table, base->path, &path, err));
    rc = parquet_keys(conn, sl_buf_view(&path), wanted, n, take, to, err);
done:
    sl_buf_release(&path);
    return rc;
}

/* Only the key of each record is decoded. */
static int avro_keys(struct sl_key_sources *s, const struct sl_block *b, sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct sl_buf content = SL_BUF_INIT;
    struct sl_hudi_records records;
    sl_str record, key;
    int rc;

    SL_GO(sl_block_read(s->view->table, b, &content, err));
    SL_GO(sl_hudi_records_open(sl_buf_view(&content), &records, err));
    while (sl_hudi_records_next(&records, &record)) {
        if (!sl_hudi_record_key(record, &key)) {
            rc = sl_err_set(err, SL_ECORRUPT, "a record has no key");
            goto done;
        }
        SL_GO(take(to, key, err));
    }
    rc = sl_hudi_records_end(&records, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the block at %lld of \"%s/%s\"", (long long)b->offset, s->view->table->path, b->file->path);
    sl_buf_release(&content);
    return rc;
}

/* The Parquet file in a block, as a file of its own. */
static int embedded(struct sl_key_sources *s, const struct sl_block *b, int *fd, char path[32], sl_err *err)
{
    struct sl_buf content = SL_BUF_INIT;
    int rc;

    *fd = -1;
    SL_GO(sl_block_read(s->view->table, b, &content, err));
    SL_GO(sl_scratch_new(fd, err));
    SL_GO(sl_scratch_add(*fd, sl_buf_view(&content), err));
    sl_scratch_path(*fd, path);
done:
    sl_buf_release(&content);
    return rc;
}

static int embedded_keys(struct sl_key_sources *s, struct sl_conn *conn, const struct sl_block *b, const sl_str *wanted, size_t n,
                         sl_lookup_take_fn *take, void *to, sl_err *err)
{
    char path[32];
    int fd = -1, rc;

    SL_GO(embedded(s, b, &fd, path, err));
    rc = parquet_keys(conn, sl_str_c(path), wanted, n, take, to, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the block at %lld of \"%s/%s\"", (long long)b->offset, s->view->table->path, b->file->path);
    if (fd >= 0)
        sl_scratch_close(fd);
    return rc;
}

/* Deletes of keys that no data block has. */
static int deleted_keys(struct sl_key_sources *s, const struct sl_block *b, sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct sl_buf content = SL_BUF_INIT;
    struct sl_hudi_deletes deletes;
    struct sl_hudi_delete d;
    bool more;
    int rc;

    SL_GO(sl_block_read(s->view->table, b, &content, err));
    SL_GO(sl_hudi_deletes_open(sl_buf_view(&content), &deletes, err));
    for (;;) {
        SL_GO(sl_hudi_deletes_next(&deletes, &d, &more, err));
        if (!more)
            break;
        if (d.key.p)
            SL_GO(take(to, d.key, err));
    }
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the block at %lld of \"%s/%s\"", (long long)b->offset, s->view->table->path, b->file->path);
    sl_buf_release(&content);
    return rc;
}

int sl_key_source_read(struct sl_key_sources *s, struct sl_conn *conn, size_t i, const sl_str *wanted, size_t n, sl_lookup_take_fn *take,
                       void *to, sl_err *err)
{
    const struct sl_key_source *source = &s->v.v[i];

    if (!source->block)
        return base_keys(s, conn, source->slice->base, wanted, n, take, to, err);
    if (source->block->type == SL_HUDI_BLOCK_DELETE)
        return deleted_keys(s, source->block, take, to, err);
    if (source->block->type == SL_HUDI_BLOCK_AVRO)
        return avro_keys(s, source->block, take, to, err);
    return embedded_keys(s, conn, source->block, wanted, n, take, to, err);
}
