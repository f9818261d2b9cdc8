/* merge.c - the newest record of each key in the logs of a slice. */
#include "table/log/merge.h"

#include <string.h>

#include "base/sys.h"

/* ---- decoders ---- */

struct sl_decoders {
    struct sl_hudi_projection projection;
    struct sl_arena arena;
    struct sl_map *by_schema;   /* text -> struct sl_hudi_decoder */
};

static void free_decoder(void *d)
{
    sl_hudi_decoder_free(d);
}

int sl_decoders_new(const struct sl_hudi_projection *p, struct sl_decoders **out, sl_err *err)
{
    struct sl_decoders *d = sl_calloc(1, sizeof *d);

    *out = NULL;
    if (d)
        d->by_schema = sl_map_new();
    if (!d || !d->by_schema) {
        sl_free(d);
        return sl_err_nomem(err);
    }
    d->projection = *p;
    *out = d;
    return SL_OK;
}

void sl_decoders_free(struct sl_decoders *d)
{
    if (!d)
        return;
    sl_map_free(d->by_schema, free_decoder);
    sl_arena_release(&d->arena);
    sl_free(d);
}

int sl_decoders_get(struct sl_decoders *d, const char *schema, struct sl_hudi_decoder **out, sl_err *err)
{
    void **slot = sl_map_at(d->by_schema, sl_str_c(schema));
    const struct sl_avro_schema *writer;

    if (!slot)
        return sl_err_nomem(err);
    if (!*slot) {
        struct sl_hudi_decoder *made = NULL;

        if (!*schema)
            return sl_err_set(err, SL_ECORRUPT, "the header of the block says no SCHEMA");
        SL_TRY(sl_avro_schema_parse(&d->arena, sl_str_c(schema), &writer, err));
        SL_TRY(sl_hudi_decoder_new(writer, &d->projection, &made, err));
        *slot = made;
    }
    *out = *slot;
    return SL_OK;
}

/* ---- ordering values of deletes ---- */

static bool in_time(const struct sl_type *t, int64_t v, bool micros, struct sl_value *out)
{
    const int64_t unit = micros ? 1000000 : 1000;
    int64_t second = v / unit, rest = v % unit;

    if (rest < 0) {
        rest += unit;
        second--;
    }
    out->u.t.ms = second * 1000 + (micros ? rest / 1000 : rest);
    out->u.t.ns = micros ? (int32_t)(rest % 1000) * 1000 : 0;
    (void)t;
    return true;
}

/* The unscaled value of scale 15 as one of SCALE, rounded down. */
static bool in_decimal(sl_str bytes, int32_t scale, sl_i128 *out)
{
    sl_i128 v = 0;

    if (!bytes.n || bytes.n > 16)
        return false;
    v = (signed char)bytes.p[0];
    for (size_t i = 1; i < bytes.n; i++)
        v = (sl_i128)((unsigned __int128)v << 8 | (unsigned char)bytes.p[i]);
    for (; scale > 15; scale--)
        if (__builtin_mul_overflow(v, (sl_i128)10, &v))
            return false;
    for (; scale < 15; scale++)
        v = v / 10 - (v % 10 < 0);
    *out = v;
    return true;
}

static bool convert(const struct sl_type *type, const struct sl_hudi_ordering *o, struct sl_value *out)
{
    const bool whole = o->kind == SL_HUDI_ORD_INT || o->kind == SL_HUDI_ORD_LONG;

    switch (type->kind) {
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
        out->u.i = o->i;
        return whole;
    case SL_FLOAT:
    case SL_DOUBLE:
        out->u.f = whole ? (double)o->i : o->f;
        return whole || o->kind == SL_HUDI_ORD_FLOAT || o->kind == SL_HUDI_ORD_DOUBLE;
    case SL_DATE:
        out->u.i = o->i;
        return o->kind == SL_HUDI_ORD_DATE || o->kind == SL_HUDI_ORD_INT;
    case SL_TIME:
        out->u.i = o->i / 1000;
        return o->kind == SL_HUDI_ORD_TIME_MICROS;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ: /* a plain long is the column's own number */
        return (o->kind == SL_HUDI_ORD_TIMESTAMP_MICROS || o->kind == SL_HUDI_ORD_LONG) &&
               in_time(type, o->i, o->kind == SL_HUDI_ORD_TIMESTAMP_MICROS || type->precision > 3, out);
    case SL_CHAR:
    case SL_VARCHAR:
        out->u.s = o->s;
        return o->kind == SL_HUDI_ORD_STRING;
    case SL_BINARY:
    case SL_VARBINARY:
        out->u.s = o->s;
        return o->kind == SL_HUDI_ORD_BYTES;
    case SL_DECIMAL:
        return o->kind == SL_HUDI_ORD_DECIMAL && in_decimal(o->s, type->scale, &out->u.d);
    default:
        return false;
    }
}

void sl_merge_delete_ordering(const struct sl_type *type, const struct sl_hudi_ordering *o, struct sl_value *out, bool *none)
{
    *out = (struct sl_value){.kind = type->kind};
    *none = sl_hudi_ordering_none(o) || !convert(type, o, out);
}

/* ---- the fold: entries by key ---- */

enum { ROW_BITS = 40 };

struct entry {
    sl_str key;
    uint64_t hash;
    struct sl_value ordering;   /* of POS; strings are of the arena */
    int64_t pos;                /* of the newest row or delete behind RESET; -1 = none. Block << ROW_BITS | row */
    int64_t reset;              /* of the last delete without event time; -1 = none */
};

struct fold {
    const struct sl_merge *m;
    struct sl_merged *out;
    struct sl_arena keys;
    SL_VEC(struct entry) entries;
    uint32_t *slots;            /* owned; index of an entry + 1; 0 = free */
    size_t mask;                /* slots - 1 */
    uint64_t passes, pass;
    size_t block;               /* that is read */
    struct sl_decoders *decoders;
};

static int grow_slots(struct fold *f, sl_err *err)
{
    const size_t n = f->slots ? (f->mask + 1) * 2 : 1024;
    uint32_t *slots = sl_calloc(n, sizeof *slots);

    if (!slots)
        return sl_err_nomem(err);
    sl_free(f->slots);
    f->slots = slots;
    f->mask = n - 1;
    for (size_t i = 0; i < f->entries.n; i++) {
        size_t at = f->entries.v[i].hash & f->mask;

        while (slots[at])
            at = (at + 1) & f->mask;
        slots[at] = (uint32_t)i + 1;
    }
    return SL_OK;
}

/* *OUT NULL: the key is not of this pass, or not asked for. */
static int entry_of(struct fold *f, sl_str key, struct entry **out, sl_err *err)
{
    const uint64_t hash = sl_hash64(key);
    struct entry *e;
    size_t at;

    *out = NULL;
    if ((f->passes > 1 && (hash >> 32) % f->passes != f->pass) || (f->m->only && !sl_map_get(f->m->only, key)))
        return SL_OK;
    if (!f->slots || f->entries.n * 4 > f->mask * 3)
        SL_TRY(grow_slots(f, err));
    for (at = hash & f->mask; f->slots[at]; at = (at + 1) & f->mask) {
        e = &f->entries.v[f->slots[at] - 1];
        if (e->hash == hash && sl_str_eq(e->key, key)) {
            *out = e;
            return SL_OK;
        }
    }
    if (f->entries.n >= UINT32_MAX - 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "more than %u keys in the logs of one file group are not supported", UINT32_MAX - 1);
    e = sl_vec_push(&f->entries);
    if (!e)
        return sl_err_nomem(err);
    *e = (struct entry){.key = sl_arena_str(&f->keys, key), .hash = hash, .pos = -1, .reset = -1};
    if (!e->key.p)
        return sl_err_nomem(err);
    f->slots[at] = (uint32_t)f->entries.n;
    *out = e;
    return SL_OK;
}

static bool is_text(enum sl_kind k)
{
    return k == SL_CHAR || k == SL_VARCHAR || k == SL_BINARY || k == SL_VARBINARY;
}

/* NULL is less than all. */
static int compare(const struct sl_value *a, const struct sl_value *b)
{
    if (a->null || b->null)
        return (int)b->null - (int)a->null;
    return sl_value_cmp(a, b);
}

/* A row, or a delete with an event time. */
static int offer(struct fold *f, sl_str key, int64_t row, const struct sl_value *ordering, sl_err *err)
{
    const int64_t pos = (int64_t)f->block << ROW_BITS | row;
    struct entry *e;

    SL_TRY(entry_of(f, key, &e, err));
    if (!e || pos < e->reset)
        return SL_OK;
    if (e->pos >= 0) {
        const int cmp = f->m->event_time ? compare(ordering, &e->ordering) : 0;

        if (cmp < 0 || (cmp == 0 && pos < e->pos))
            return SL_OK;
    }
    e->pos = pos;
    if (!f->m->event_time)
        return SL_OK;
    e->ordering = *ordering;
    if (!ordering->null && is_text(ordering->kind)) {
        e->ordering.u.s = sl_arena_str(&f->keys, ordering->u.s);
        if (!e->ordering.u.s.p)
            return sl_err_nomem(err);
    }
    return SL_OK;
}

/* A delete without event time: what came before it is gone. All of them are seen before any row is. */
static int reset(struct fold *f, sl_str key, int64_t row, sl_err *err)
{
    const int64_t pos = (int64_t)f->block << ROW_BITS | row;
    struct entry *e;

    SL_TRY(entry_of(f, key, &e, err));
    if (e && pos > e->reset)
        e->reset = pos;
    return SL_OK;
}

/* ---- blocks ---- */

static int set_records(struct fold *f, int64_t n, sl_err *err)
{
    struct sl_block_marks *m = &f->out->marks[f->block];
    const size_t words = (size_t)(n / 64 + 1);

    if (m->newest)
        return SL_OK;
    if (n < 0 || n >> ROW_BITS)
        return sl_err_set(err, SL_ECORRUPT, "a block of %lld records", (long long)n);
    m->records = n;
    m->newest = sl_arena_array(&f->out->arena, words, sizeof *m->newest);
    m->always = sl_arena_array(&f->out->arena, words, sizeof *m->always);
    return m->newest && m->always ? SL_OK : sl_err_nomem(err);
}

/* FIRST: only deletes without event time; else only those with one. */
static int fold_deletes(struct fold *f, sl_str content, bool first, sl_err *err)
{
    struct sl_hudi_deletes list;
    struct sl_hudi_delete d;
    struct sl_value ordering;
    int64_t row = 0;
    bool more;

    SL_TRY(sl_hudi_deletes_open(content, &list, err));
    for (;; row++) {
        bool none = true;

        SL_TRY(sl_hudi_deletes_next(&list, &d, &more, err));
        if (!more)
            break;
        if (!d.key.p)
            return sl_err_set(err, SL_ECORRUPT, "delete record %lld has no key", (long long)row);
        if (f->m->event_time)
            sl_merge_delete_ordering(f->m->ordering.type, &d.ordering, &ordering, &none);
        if (none && first)
            SL_TRY(reset(f, d.key, row, err));
        else if (!none && !first)
            SL_TRY(offer(f, d.key, row, &ordering, err));
    }
    return set_records(f, row, err);
}

static int fold_records(struct fold *f, const struct sl_block *b, sl_str content, sl_err *err)
{
    struct sl_hudi_decoder *decoder = NULL;
    struct sl_hudi_records records;
    struct sl_value ordering = {.null = true};
    sl_str record, key;

    if (f->m->event_time)
        SL_TRY(sl_decoders_get(f->decoders, b->schema, &decoder, err));
    SL_TRY(sl_hudi_records_open(content, &records, err));
    SL_TRY(set_records(f, records.count, err));
    for (int64_t row = 0; sl_hudi_records_next(&records, &record); row++) {
        if (!sl_hudi_record_key(record, &key))
            return sl_err_set(err, SL_ECORRUPT, "record %lld has no record key", (long long)row);
        if (decoder)
            SL_TRY(sl_hudi_decoder_values(decoder, record, &ordering, err));
        SL_TRY(offer(f, key, row, &ordering, err));
    }
    return sl_hudi_records_end(&records, err);
}

static int parquet_row(void *fold, int64_t row, sl_str key, const struct sl_value *ordering, sl_err *err)
{
    struct fold *f = fold;
    struct sl_block_marks *m = &f->out->marks[f->block];

    if (row >= m->records) /* bits are made once the number of rows is known */
        m->records = row + 1;
    return offer(f, key, row, ordering, err);
}

static int fold_parquet(struct fold *f, const struct sl_block *b, sl_err *err)
{
    struct sl_block_marks *m = &f->out->marks[f->block];

    if (!f->m->parquet)
        return sl_err_set(err, SL_EBUG, "PARQUET_DATA blocks need an engine");
    SL_TRY(f->m->parquet(f->m->parquet_user, b, parquet_row, f, err));
    return set_records(f, m->records, err);
}

static int fold_block(struct fold *f, struct sl_buf *content, bool first, sl_err *err)
{
    const struct sl_block *b = &f->out->blocks->v[f->block];
    int rc = SL_OK;

    if (first && b->type != SL_HUDI_BLOCK_DELETE)
        return SL_OK;
    SL_TRY(sl_cancel_check(err));
    if (b->type != SL_HUDI_BLOCK_PARQUET)
        SL_TRY(sl_block_read(f->m->table, b, content, err));
    if (b->type == SL_HUDI_BLOCK_DELETE)
        rc = fold_deletes(f, sl_buf_view(content), first, err);
    else if (b->type == SL_HUDI_BLOCK_AVRO)
        rc = fold_records(f, b, sl_buf_view(content), err);
    else
        rc = fold_parquet(f, b, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "\"%s/%s\", %s block at offset %lld", f->m->table->path, b->file->path, sl_hudi_block_type_name(b->type),
                   (long long)b->offset);
    return rc;
}

/* ---- the whole ---- */

static void mark(struct fold *f, const struct entry *e)
{
    const int64_t pos = e->pos >= 0 ? e->pos : e->reset;
    struct sl_block_marks *m = &f->out->marks[pos >> ROW_BITS];
    const int64_t row = pos & (((int64_t)1 << ROW_BITS) - 1);

    m->newest[row / 64] |= (uint64_t)1 << (row % 64);
    if (e->reset >= 0 || !f->m->event_time)
        m->always[row / 64] |= (uint64_t)1 << (row % 64);
    f->out->newest++;
}

static int one_pass(struct fold *f, struct sl_buf *content, sl_err *err)
{
    f->entries.n = 0;
    if (f->slots)
        memset(f->slots, 0, (f->mask + 1) * sizeof *f->slots);
    sl_arena_reset(&f->keys);
    for (int second = 0; second < 2; second++)
        for (f->block = 0; f->block < f->out->blocks->n; f->block++)
            SL_TRY(fold_block(f, content, !second, err));
    for (size_t i = 0; i < f->entries.n; i++)
        if (f->entries.v[i].pos >= 0 || f->entries.v[i].reset >= 0)
            mark(f, &f->entries.v[i]);
    return SL_OK;
}

/* Keys of a slice take about as much room as their records in the file, or less, and what an entry needs beside them. */
static uint64_t passes_for(const struct sl_merge *m, const struct sl_blocks *b)
{
    uint64_t bytes = 0;

    if (m->memory == 0 || m->only)
        return 1;
    for (size_t i = 0; i < b->n; i++)
        bytes += (uint64_t)b->v[i].content_size;
    return bytes / m->memory + 1;
}

int sl_merge_blocks(const struct sl_merge *m, const struct sl_blocks *blocks, struct sl_merged *out, sl_err *err)
{
    const struct sl_hudi_projection p = {.cols = &m->ordering, .ncols = 1, .aliases = m->aliases, .naliases = m->naliases};
    struct fold f = {.m = m, .out = out, .keys = SL_ARENA_INIT};
    struct sl_buf content = SL_BUF_INIT;
    int rc = SL_OK;

    *out = (struct sl_merged)SL_MERGED_INIT;
    out->blocks = blocks;
    out->marks = sl_arena_array(&out->arena, blocks->n + 1, sizeof *out->marks);
    if (!out->marks)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_decoders_new(&p, &f.decoders, err));
    f.passes = passes_for(m, blocks);
    for (f.pass = 0; f.pass < f.passes; f.pass++)
        SL_GO(one_pass(&f, &content, err));
done:
    sl_decoders_free(f.decoders);
    sl_buf_release(&content);
    sl_free(f.entries.v);
    sl_free(f.slots);
    sl_arena_release(&f.keys);
    if (rc != SL_OK)
        sl_merged_release(out);
    return rc;
}

void sl_merged_release(struct sl_merged *m)
{
    sl_arena_release(&m->arena);
    *m = (struct sl_merged)SL_MERGED_INIT;
}
