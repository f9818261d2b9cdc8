/* blocks.c - the log blocks of a slice that count. */
#include "table/log/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

/* Where a log file's bytes come from. */
struct file_source {
    struct sl_log *table;
    const struct sl_log_file *file;
};

static int read_range(void *user, int64_t offset, size_t n, char *to, sl_err *err)
{
    struct file_source *s = user;
    struct sl_buf bytes = SL_BUF_INIT;
    int rc = sl_store_get_range(s->table->store, sl_str_c(s->file->path), (uint64_t)offset, n, &bytes, err);

    if (rc == SL_OK)
        memcpy(to, bytes.p, n);
    sl_buf_release(&bytes);
    return rc;
}

/* A block while the rule is not applied yet. */
struct seen {
    struct sl_block block;
    bool dropped;
    sl_str compacted;    /* instants whose blocks this one replaces; p == NULL: none */
    size_t place;        /* where it is merged; places are positions in the slice */
};

struct scan {
    const struct sl_view *v;
    const struct sl_slice *slice;
    bool want_index;
    struct sl_blocks *out;
    struct sl_arena scratch;        /* headers of one file */
    struct sl_map *schemas;         /* text -> copy of it in the result's arena */
    SL_VEC(struct seen) seen;
    SL_VEC(int64_t) targets;        /* of rollback blocks */
};

static int at_block(const struct scan *s, const struct sl_log_file *f, int64_t offset, int rc, sl_err *err)
{
    return sl_err_ctx(err, "\"%s/%s\" at offset %lld", s->v->table->path, f->path, (long long)offset), rc;
}

/* ---- taking blocks ---- */

static int keep_schema(struct scan *s, sl_str text, const char **out, sl_err *err)
{
    void **slot;

    *out = "";
    if (!text.n)
        return SL_OK;
    if (!s->schemas)
        s->schemas = sl_map_new();
    slot = s->schemas ? sl_map_at(s->schemas, text) : NULL;
    if (slot && !*slot)
        *slot = sl_arena_strdup(&s->out->arena, text);
    if (!slot || !*slot)
        return sl_err_nomem(err);
    *out = *slot;
    return SL_OK;
}

static int instant_of(const struct sl_hudi_block *b, int32_t id, int64_t *out, sl_err *err)
{
    const sl_str text = sl_hudi_header(b, id);

    if (text.p && sl_hudi_instant_parse(text, out))
        return SL_OK;
    return sl_err_set(err, SL_ECORRUPT, "the header of the %s block says no %s", sl_hudi_block_type_name(b->type), sl_hudi_header_name(id));
}

static int take_command(struct scan *s, const struct sl_hudi_block *b, sl_err *err)
{
    const sl_str kind = sl_hudi_header(b, SL_HUDI_H_COMMAND);
    int64_t *target;

    s->out->commands++;
    if (!sl_str_eqc(kind, "0"))
        return sl_err_set(err, SL_EUNSUPPORTED, "command block of type \"" SL_STRF "\" is not supported; 0 (rollback) is", SL_STRV(kind));
    target = sl_vec_push(&s->targets);
    if (!target)
        return sl_err_nomem(err);
    return instant_of(b, SL_HUDI_H_TARGET, target, err);
}

static int copy_text(struct scan *s, sl_str text, sl_str *out, sl_err *err)
{
    *out = (sl_str){NULL, 0};
    if (!text.p)
        return SL_OK;
    *out = sl_arena_str(&s->out->arena, text);
    return out->p ? SL_OK : sl_err_nomem(err);
}

static int take_data(struct scan *s, const struct sl_log_file *f, size_t number, const struct sl_hudi_block *b, sl_err *err)
{
    struct seen *at = sl_vec_push(&s->seen);
    struct sl_block *to;

    if (!at)
        return sl_err_nomem(err);
    to = &at->block;
    at->place = s->seen.n - 1;
    *to = (struct sl_block){.file = f, .offset = b->offset, .size = b->size, .content_offset = b->content_offset,
                            .content_size = b->content_size, .records = b->records, .type = b->type, .file_number = (int64_t)number};
    SL_TRY(instant_of(b, SL_HUDI_H_INSTANT, &to->instant, err));
    SL_TRY(keep_schema(s, sl_hudi_header(b, SL_HUDI_H_SCHEMA), &to->schema, err));
    SL_TRY(copy_text(s, sl_hudi_header(b, SL_HUDI_H_COMPACTED), &at->compacted, err));
    if (s->want_index && (b->type == SL_HUDI_BLOCK_AVRO || b->type == SL_HUDI_BLOCK_DELETE)) {
        SL_TRY(copy_text(s, sl_hudi_header(b, SL_HUDI_H_INDEX), &to->index, err));
        if (!to->index.p)
            SL_TRY(copy_text(s, sl_hudi_footer(b, SL_HUDI_H_INDEX), &to->index, err));
    }
    /* Layout 2 tells of whole files what is visible; layout 1 of blocks alone. */
    if (s->v->table->config.layout == 1 && !sl_view_visible(s->v, to->instant)) {
        at->dropped = true;
        s->out->invisible++;
    }
    if (!at->dropped && sl_str_eqc(sl_hudi_header(b, SL_HUDI_H_PARTIAL), "true"))
        return sl_err_set(err, SL_EUNSUPPORTED, "the block holds partial updates (IS_PARTIAL), which are not supported");
    return SL_OK;
}

static int take_block(struct scan *s, const struct sl_log_file *f, size_t number, const struct sl_hudi_block *b, sl_err *err)
{
    s->out->seen++;
    switch (b->type) {
    case SL_HUDI_BLOCK_COMMAND:
        return take_command(s, b, err);
    case SL_HUDI_BLOCK_DELETE:
    case SL_HUDI_BLOCK_AVRO:
    case SL_HUDI_BLOCK_PARQUET:
        return take_data(s, f, number, b, err);
    case SL_HUDI_BLOCK_CDC: /* tells of changes that other blocks hold */
        return SL_OK;
    default:
        return sl_err_set(err, SL_EUNSUPPORTED, "%s blocks are not supported", sl_hudi_block_type_name(b->type));
    }
}

static int take_damage(struct scan *s, const struct sl_log_file *f, const struct sl_hudi_damage *d, sl_err *err)
{
    struct sl_blocks *o = s->out;
    struct sl_block_damage *slot;

    if (d->whole)
        return sl_err_set(err, SL_ECORRUPT, "the block of %lld bytes is damaged: %s", (long long)d->length, d->why);
    if (!sl_vec_grow((void **)&o->damage, &o->ndamage, &o->damage_cap, sizeof *o->damage))
        return sl_err_nomem(err);
    slot = &o->damage[o->ndamage - 1];
    *slot = (struct sl_block_damage){f, *d};
    sl_log(SL_LOG_WARN, "table", "%s/%s: %lld bytes at offset %lld belong to a write that was cut off, and are passed over",
           s->v->table->path, f->path, (long long)d->length, (long long)d->offset);
    return SL_OK;
}

static int scan_file(struct scan *s, const struct sl_log_file *f, size_t number, sl_err *err)
{
    struct file_source from = {s->v->table, f};
    struct sl_hudi_source source = {(int64_t)f->size, read_range, &from};
    struct sl_hudi_log *log = NULL;
    struct sl_hudi_block block = {0};
    struct sl_hudi_damage damage = {0};
    enum sl_hudi_item item = SL_HUDI_ITEM_END;
    int rc;

    SL_GO(sl_hudi_log_open(&source, &log, err));
    for (;;) {
        sl_arena_reset(&s->scratch);
        rc = sl_hudi_log_next(log, &s->scratch, &item, &block, &damage, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "\"%s/%s\"", s->v->table->path, f->path);
            goto done;
        }
        if (item == SL_HUDI_ITEM_END)
            break;
        if (item == SL_HUDI_ITEM_BLOCK)
            rc = take_block(s, f, number, &block, err);
        else
            rc = take_damage(s, f, &damage, err);
        if (rc != SL_OK) {
            rc = at_block(s, f, item == SL_HUDI_ITEM_BLOCK ? block.offset : damage.offset, rc, err);
            goto done;
        }
    }
done:
    sl_hudi_log_close(log);
    return rc;
}

/* ---- the rule ---- */

static void drop_rolled_back(struct scan *s)
{
    for (size_t i = 0; i < s->seen.n; i++) {
        struct seen *at = &s->seen.v[i];

        for (size_t k = 0; k < s->targets.n && !at->dropped; k++) {
            at->dropped = at->block.instant == s->targets.v[k];
            s->out->rolled_back += at->dropped;
        }
    }
}

static bool lists(sl_str times, int64_t instant)
{
    while (times.n) {
        const char *comma = memchr(times.p, ',', times.n);
        const size_t n = comma ? (size_t)(comma - times.p) : times.n;
        int64_t one;

        if (sl_hudi_instant_parse(sl_str_trim(sl_str_sub(times, 0, n)), &one) && one == instant)
            return true;
        times = sl_str_sub(times, n + 1, times.n);
    }
    return false;
}

/* The result of a log compaction stands in place of the last block that it replaces, not where it was written: what came between is newer. */
static void apply_log_compactions(struct scan *s)
{
    for (size_t i = 0; i < s->seen.n; i++) {
        struct seen *by = &s->seen.v[i];
        bool moved = false;

        if (by->dropped || !by->compacted.n)
            continue;
        for (size_t k = 0; k < s->seen.n; k++) {
            struct seen *at = &s->seen.v[k];

            if (k == i || at->block.instant == by->block.instant || !lists(by->compacted, at->block.instant))
                continue;
            at->dropped = true;
            if (!moved || at->place > by->place)
                by->place = at->place;
            moved = true;
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    /* Blocks of one result follow each other. */
    if (x->block.file_number != y->block.file_number)
        return x->block.file_number < y->block.file_number ? -1 : 1;
    return x->block.offset < y->block.offset ? -1 : x->block.offset > y->block.offset;
}

static int keep_visible(struct scan *s, sl_err *err)
{
    drop_rolled_back(s);
    apply_log_compactions(s);
    if (s->seen.n)
        qsort(s->seen.v, s->seen.n, sizeof *s->seen.v, by_place);
    for (size_t i = 0; i < s->seen.n; i++) {
        struct sl_block *to;

        if (s->seen.v[i].dropped)
            continue;
        to = sl_vec_push(s->out);
        if (!to)
            return sl_err_nomem(err);
        *to = s->seen.v[i].block;
    }
    return SL_OK;
}

int sl_slice_blocks(const struct sl_view *v, const struct sl_slice *slice, bool want_index, struct sl_blocks *out, sl_err *err)
{
    struct scan s = {.v = v, .slice = slice, .want_index = want_index, .out = out, .scratch = SL_ARENA_INIT};
    int rc = SL_OK;

    *out = (struct sl_blocks)SL_BLOCKS_INIT;
    for (size_t i = 0; i < slice->nlogs; i++)
        SL_GO(scan_file(&s, slice->logs[i], i, err));
    rc = keep_visible(&s, err);
done:
    sl_map_free(s.schemas, NULL);
    sl_arena_release(&s.scratch);
    sl_free(s.seen.v);
    sl_free(s.targets.v);
    if (rc != SL_OK)
        sl_blocks_release(out);
    return rc;
}

void sl_blocks_release(struct sl_blocks *b)
{
    sl_free(b->v);
    sl_free(b->damage);
    sl_arena_release(&b->arena);
    *b = (struct sl_blocks)SL_BLOCKS_INIT;
}

int sl_block_read(struct sl_log *t, const struct sl_block *b, struct sl_buf *out, sl_err *err)
{
    sl_buf_reset(out);
    return sl_store_get_range(t->store, sl_str_c(b->file->path), (uint64_t)b->content_offset, (size_t)b->content_size, out, err);
}
