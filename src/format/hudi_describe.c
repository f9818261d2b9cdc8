/* hudi_describe.c - log files as JSON documents. */
#include "format/hudi_describe.h"

#include <math.h>
#include <string.h>

#include "format/hudi_avro.h"
#include "format/hudi_index.h"
#include "format/parquet_footer.h"

enum { DELETES_MAX = 64 << 20, FOOTER_MAX = 64 << 20, VALUE_SHOWN = 400 };

/* A failed json_* call gives NULL, which the setters refuse; that it happened is kept here. */
struct describing {
    const struct sl_hudi_source *source;
    struct sl_arena a; /* of one item */
    bool nomem;
};

static void set(struct describing *x, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        x->nomem = true;
}

static json_t *add(struct describing *x, json_t *list)
{
    json_t *object = json_object();

    if (!object || json_array_append_new(list, object) != 0)
        x->nomem = true;
    return object;
}

static void set_number(struct describing *x, json_t *object, const char *key, int64_t v)
{
    set(x, object, key, json_integer(v));
}

/* Bytes that are no text are shown escaped; long ones are cut. */
static void set_text(struct describing *x, json_t *object, const char *key, sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;
    size_t shown = s.n < VALUE_SHOWN ? s.n : VALUE_SHOWN;

    while (shown < s.n && shown > 0 && ((unsigned char)s.p[shown] & 0xc0) == 0x80)
        shown--;
    bool utf8 = sl_utf8_valid(sl_str_sub(s, 0, shown), NULL);
    for (size_t i = 0; i < shown; i++)
        if (s.p[i] == '\0' || (!utf8 && (unsigned char)s.p[i] >= 0x80))
            sl_buf_printf(&b, "\\x%02x", (unsigned char)s.p[i]);
        else
            sl_buf_ch(&b, s.p[i]);
    if (shown < s.n)
        sl_buf_printf(&b, "... (%zu bytes)", s.n);
    set(x, object, key, b.failed ? NULL : json_stringn(b.n ? b.p : "", b.n));
    sl_buf_release(&b);
}

static void set_problem(struct describing *x, json_t *object, const sl_err *why)
{
    set_text(x, object, "problem", sl_str_c(why->text));
}

/* ---- header and footer ---- */

static void describe_schema(struct describing *x, json_t *o, sl_str json)
{
    struct sl_hudi_schema s;
    sl_err why = SL_ERR_INIT;

    set_number(x, o, "bytes", (int64_t)json.n);
    int rc = sl_hudi_schema_parse(json, &s, &why);
    if (rc != SL_OK) {
        x->nomem |= rc == SL_ENOMEM;
        set_problem(x, o, &why);
        return;
    }
    set_text(x, o, "record", sl_str_c(s.name));
    json_t *columns = json_array();
    set(x, o, "columns", columns);
    for (size_t i = 0; columns && i < s.nfields; i++) {
        struct sl_buf sql = SL_BUF_INIT;
        json_t *f = add(x, columns);

        sl_type_sql(&sql, s.fields[i].type);
        set_text(x, f, "name", sl_str_c(s.fields[i].name));
        set_text(x, f, "type", sl_buf_view(&sql));
        x->nomem |= sql.failed;
        sl_buf_release(&sql);
    }
    set(x, o, "metaFields", json_boolean(s.has_meta));
    sl_hudi_schema_release(&s);
}

static bool holds_index(const struct sl_hudi_block *b, int32_t id)
{
    return id == SL_HUDI_H_INDEX && b->type != SL_HUDI_BLOCK_COMMAND;
}

static void describe_map(struct describing *x, json_t *block, const char *name, const struct sl_hudi_block *b,
                         const struct sl_hudi_entry *v, size_t n, int64_t offset, int64_t size)
{
    json_t *o = json_object(), *entries = json_object();

    set(x, block, name, o);
    set_number(x, o, "offset", offset);
    set_number(x, o, "bytes", size);
    set(x, o, "entries", entries);
    for (size_t i = 0; i < n && o && entries; i++) {
        const char *known = sl_hudi_header_name(v[i].id);
        char unknown[32];
        json_t *inner;

        snprintf(unknown, sizeof unknown, "unknown id %d", (int)v[i].id);
        if (known && v[i].id == SL_HUDI_H_SCHEMA) {
            inner = json_object();
            set(x, entries, known, inner);
            describe_schema(x, inner, v[i].value);
        } else if (holds_index(b, v[i].id)) {
            set(x, entries, known, json_sprintf("the index, %zu bytes", v[i].value.n));
        } else {
            set_text(x, entries, known ? known : unknown, v[i].value);
        }
    }
}

/* ---- the index ---- */

static void describe_index(struct describing *x, json_t *o, const struct sl_hudi_index *i)
{
    if (i->records >= 0)
        set_number(x, o, "records", i->records);
    if (i->has_range) {
        set_text(x, o, "min", i->min);
        set_text(x, o, "max", i->max);
    }
    if (i->has_filter) {
        double rate = sl_bloom_rate(&i->filter);
        json_t *f = json_object();

        set(x, o, "filter", f);
        set_text(x, f, "type", i->filter.kind == SL_BLOOM_SIMPLE ? SL_LIT("SIMPLE") : SL_LIT("DYNAMIC_V0"));
        set_number(x, f, "bits", i->filter.bits);
        set_number(x, f, "hashes", i->filter.hashes);
        set_number(x, f, "rows", i->filter.nrows);
        set_number(x, f, "bytes", (int64_t)i->filter.nrows * (i->filter.bits / 8 + (i->filter.bits % 8 != 0)));
        set(x, f, "falsePositiveRate", json_real(isfinite(rate) ? rate : 1));
    }
}

/* RECORDS: of the block, -1 if not known. */
static void add_index(struct describing *x, json_t *block, const char *place, int rc, const struct sl_hudi_index *i, const sl_err *why,
                      int64_t records)
{
    json_t *o = json_object();

    if (rc == SL_ENOMEM)
        x->nomem = true;
    set(x, block, "index", o);
    set(x, o, "place", json_string(place));
    if (rc != SL_OK) {
        set_problem(x, o, why);
        return;
    }
    describe_index(x, o, i);
    if (i->records >= 0 && records >= 0 && i->records != records)
        set(x, o, "problem", json_sprintf("it is for %lld records, and the block has %lld: not used", (long long)i->records, (long long)records));
}

static void json_index(struct describing *x, json_t *block, const struct sl_hudi_block *b, int64_t records)
{
    sl_str text = sl_hudi_header(b, SL_HUDI_H_INDEX);
    const char *place = text.p ? "header" : "footer";
    struct sl_hudi_index i;
    sl_err why = SL_ERR_INIT;

    if (!text.p)
        text = sl_hudi_footer(b, SL_HUDI_H_INDEX);
    if (!text.p)
        return;
    int rc = sl_hudi_index_parse(&x->a, text, &i, &why);
    add_index(x, block, place, rc, &i, &why, records);
}

/* ---- contents ---- */

static int fetch(struct describing *x, int64_t offset, size_t n, sl_str *out, sl_err *err)
{
    char *p = sl_arena_alloc(&x->a, n + 1);

    if (!p)
        return sl_err_nomem(err);
    *out = (sl_str){p, n};
    return n ? x->source->read(x->source->user, offset, n, p, err) : SL_OK;
}

static int avro_content(struct describing *x, json_t *content, const struct sl_hudi_block *b, int64_t *records, sl_err *err)
{
    sl_str head;

    if (b->content_size < 8) {
        set(x, content, "problem", json_string("it is too short for its version and count"));
        return SL_OK;
    }
    SL_TRY(fetch(x, b->content_offset, 8, &head, err));
    struct sl_cur c = sl_cur_of(head);
    set_number(x, content, "version", sl_cur_u32be(&c));
    *records = sl_cur_u32be(&c);
    set_number(x, content, "records", *records);
    return SL_OK;
}

static int delete_content(struct describing *x, json_t *content, const struct sl_hudi_block *b, int64_t *deletes, sl_err *err)
{
    struct sl_hudi_deletes d;
    struct sl_hudi_delete one;
    sl_err why = SL_ERR_INIT;
    int64_t n = 0, ordered = 0;
    bool more = true;
    sl_str bytes;

    if (b->content_size > DELETES_MAX) {
        set(x, content, "problem", json_string("it is too large to be counted here"));
        return SL_OK;
    }
    SL_TRY(fetch(x, b->content_offset, (size_t)b->content_size, &bytes, err));
    struct sl_cur c = sl_cur_of(bytes);
    set_number(x, content, "version", sl_cur_u32be(&c));
    int rc = sl_hudi_deletes_open(bytes, &d, &why);
    while (rc == SL_OK && more) {
        rc = sl_hudi_deletes_next(&d, &one, &more, &why);
        if (rc == SL_OK && more) {
            n++;
            ordered += !sl_hudi_ordering_none(&one.ordering);
        }
    }
    if (rc != SL_OK)
        set_problem(x, content, &why);
    else
        *deletes = n;
    set_number(x, content, "deletes", n);
    set_number(x, content, "withEventTime", ordered);
    return SL_OK;
}

/* Rows and index from the footer of the Parquet file that the content is. */
static int parquet_content(struct describing *x, json_t *block, json_t *content, const struct sl_hudi_block *b, sl_err *err)
{
    struct sl_parquet_footer f = {.rows = -1};
    struct sl_hudi_index i;
    sl_err why = SL_ERR_INIT;
    sl_str tail, bytes;
    uint32_t size = 0;
    int64_t end = b->content_offset + b->content_size;
    int rc;

    if (b->content_size < SL_PARQUET_TAIL + 4) {
        set(x, content, "problem", json_string("it is too short for a Parquet file"));
        return SL_OK;
    }
    SL_TRY(fetch(x, end - SL_PARQUET_TAIL, SL_PARQUET_TAIL, &tail, err));
    rc = sl_parquet_footer_size(tail, (uint64_t)b->content_size, &size, &why);
    if (rc == SL_OK && size > FOOTER_MAX)
        rc = sl_err_set(&why, SL_EUNSUPPORTED, "the footer has %u bytes", size);
    if (rc == SL_OK) {
        SL_TRY(fetch(x, end - SL_PARQUET_TAIL - size, size, &bytes, err));
        rc = sl_parquet_footer_read(&x->a, bytes, &f, &why);
    }
    if (rc != SL_OK) {
        set_problem(x, content, &why);
        return rc == SL_ENOMEM ? sl_err_nomem(err) : SL_OK;
    }
    set_number(x, content, "records", f.rows);
    rc = sl_hudi_index_from_kv(&x->a, f.kv, f.nkv, &i, &why);
    if (rc != SL_OK || i.has_range || i.has_filter)
        add_index(x, block, "parquet", rc, &i, &why, f.rows);
    return SL_OK;
}

static int describe_content(struct describing *x, json_t *block, const struct sl_hudi_block *b, sl_err *err)
{
    json_t *content = json_object();
    int64_t records = -1;

    set(x, block, "content", content);
    set_number(x, content, "offset", b->content_offset);
    set_number(x, content, "bytes", b->content_size);
    if (b->type == SL_HUDI_BLOCK_AVRO || b->type == SL_HUDI_BLOCK_CDC)
        SL_TRY(avro_content(x, content, b, &records, err));
    else if (b->type == SL_HUDI_BLOCK_DELETE)
        SL_TRY(delete_content(x, content, b, &records, err));
    else if (b->type == SL_HUDI_BLOCK_PARQUET)
        SL_TRY(parquet_content(x, block, content, b, err));
    if (b->type != SL_HUDI_BLOCK_COMMAND)
        json_index(x, block, b, records);
    return SL_OK;
}

/* ---- items ---- */

static int describe_block(struct describing *x, json_t *o, const struct sl_hudi_block *b, sl_err *err)
{
    set(x, o, "kind", json_string("block"));
    set_number(x, o, "offset", b->offset);
    set_number(x, o, "bytes", b->size);
    set_number(x, o, "logFormat", b->format);
    set(x, o, "type", json_string(sl_hudi_block_type_name(b->type)));
    describe_map(x, o, "header", b, b->header, b->nheader, b->header_offset, b->header_size);
    SL_TRY(describe_content(x, o, b, err));
    describe_map(x, o, "footer", b, b->footer, b->nfooter, b->footer_offset, b->footer_size);
    return SL_OK;
}

static void describe_damage(struct describing *x, json_t *o, const struct sl_hudi_damage *d)
{
    set(x, o, "kind", json_string("damage"));
    set_number(x, o, "offset", d->offset);
    set_number(x, o, "bytes", d->length);
    set(x, o, "wasWhole", json_boolean(d->whole));
    set_text(x, o, "problem", sl_str_c(d->why));
}

static void describe_unsupported(struct describing *x, json_t *o, const struct sl_hudi_block *b, const sl_err *why)
{
    set(x, o, "kind", json_string("unsupported"));
    set_number(x, o, "offset", b->offset);
    set_number(x, o, "bytes", b->size);
    set_number(x, o, "logFormat", b->format);
    set_number(x, o, "type", (int64_t)b->type);
    set_problem(x, o, why);
}

static int describe_items(struct describing *x, struct sl_hudi_log *l, json_t *items, sl_err *err)
{
    struct sl_hudi_block b;
    struct sl_hudi_damage d;
    enum sl_hudi_item item;
    sl_err why = SL_ERR_INIT;

    for (;;) {
        sl_arena_reset(&x->a);
        int rc = sl_hudi_log_next(l, &x->a, &item, &b, &d, &why);
        if (rc == SL_EUNSUPPORTED) {
            describe_unsupported(x, add(x, items), &b, &why);
            continue;
        }
        if (rc != SL_OK) {
            if (err)
                *err = why;
            return rc;
        }
        if (item == SL_HUDI_ITEM_END)
            return x->nomem ? sl_err_nomem(err) : SL_OK;
        json_t *o = add(x, items);
        if (item == SL_HUDI_ITEM_DAMAGE)
            describe_damage(x, o, &d);
        else
            SL_TRY(describe_block(x, o, &b, err));
    }
}

int sl_hudi_log_describe(const struct sl_hudi_source *source, json_t **out, sl_err *err)
{
    struct describing x = {.source = source, .a = SL_ARENA_INIT};
    struct sl_hudi_log *l = NULL;
    json_t *doc = json_object(), *items = json_array();
    int rc;

    *out = NULL;
    if (!doc || !items)
        x.nomem = true;
    set(&x, doc, "type", json_string("hudi-log"));
    set_number(&x, doc, "bytes", source->size);
    set(&x, doc, "items", items);
    if (x.nomem)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_hudi_log_open(source, &l, err));
    SL_GO(describe_items(&x, l, items, err));
    *out = doc;
    doc = NULL;
done:
    json_decref(doc);
    sl_hudi_log_close(l);
    sl_arena_release(&x.a);
    return rc;
}
