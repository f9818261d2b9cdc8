/* hudi_content.c - contents of data and delete blocks, read and written, and the frame around them. */
#include <stdio.h>
#include <string.h>

#include "format/avro_value.h"
#include "format/hudi_log.h"

enum { CONTENT_VERSION = 3 };
#define SIZE_MAX_WORD ((size_t)INT32_MAX)

/* ---- AVRO_DATA ---- */

int sl_hudi_records_open(sl_str content, struct sl_hudi_records *out, sl_err *err)
{
    *out = (struct sl_hudi_records){.cur = sl_cur_of(content)};
    uint32_t version = sl_cur_u32be(&out->cur), count = sl_cur_u32be(&out->cur);
    if (out->cur.bad)
        return sl_err_set(err, SL_ECORRUPT, "a data block of %zu bytes is cut off", content.n);
    if (version < 1 || version > CONTENT_VERSION)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %u of the content of a data block is not supported", version);
    if (count > sl_cur_left(&out->cur) / 4)
        return sl_err_set(err, SL_ECORRUPT, "a data block of %zu bytes cannot hold %u records", content.n, count);
    out->version = (int32_t)version;
    out->count = out->left = count;
    return SL_OK;
}

int sl_hudi_records_end(const struct sl_hudi_records *r, sl_err *err)
{
    if (!r->cur.bad && r->left == 0)
        return SL_OK;
    return sl_err_set(err, SL_ECORRUPT, "record %lld of %lld of a data block is cut off at byte %zu", (long long)(r->count - r->left),
                      (long long)r->count, sl_cur_pos(&r->cur));
}

bool sl_hudi_record_key(sl_str record, sl_str *key)
{
    struct sl_cur c = sl_cur_of(record);

    for (int i = 0; i < 3; i++) {
        int64_t branch = sl_avro_get_long(&c);

        *key = (sl_str){NULL, 0};
        if (branch == 1)
            *key = sl_avro_get_bytes(&c);
        else if (branch != 0)
            return false;
    }
    return !c.bad && key->p;
}

/* ---- DELETE ---- */

bool sl_hudi_ordering_none(const struct sl_hudi_ordering *o)
{
    return o->kind == SL_HUDI_ORD_NULL || (o->kind == SL_HUDI_ORD_INT && o->i == 0);
}

static double get_float(struct sl_cur *c)
{
    uint32_t bits = sl_cur_u32le(c);
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static double get_double(struct sl_cur *c)
{
    uint64_t bits = sl_cur_u64le(c);
    double f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static void get_int(struct sl_cur *c, struct sl_hudi_ordering *out)
{
    out->i = sl_avro_get_long(c);
    if (out->i < INT32_MIN || out->i > INT32_MAX)
        c->bad = true;
}

static void get_value(struct sl_cur *c, struct sl_hudi_ordering *out)
{
    switch (out->kind) {
    case SL_HUDI_ORD_BOOLEAN:
        out->i = sl_cur_u8(c);
        c->bad |= out->i > 1;
        break;
    case SL_HUDI_ORD_INT:
    case SL_HUDI_ORD_DATE:
        get_int(c, out);
        break;
    case SL_HUDI_ORD_LONG:
    case SL_HUDI_ORD_TIME_MICROS:
    case SL_HUDI_ORD_TIMESTAMP_MICROS:
        out->i = sl_avro_get_long(c);
        break;
    case SL_HUDI_ORD_FLOAT:
        out->f = get_float(c);
        break;
    case SL_HUDI_ORD_DOUBLE:
        out->f = get_double(c);
        break;
    case SL_HUDI_ORD_BYTES:
    case SL_HUDI_ORD_STRING:
    case SL_HUDI_ORD_DECIMAL:
        out->s = sl_avro_get_bytes(c);
        break;
    default:
        break;
    }
}

bool sl_hudi_ordering_item(struct sl_cur *items, struct sl_hudi_ordering *out)
{
    if (items->bad || sl_cur_left(items) == 0)
        return false;
    int64_t branch = sl_avro_get_long(items);
    *out = (struct sl_hudi_ordering){.kind = branch == 12 ? SL_HUDI_ORD_DATE : (enum sl_hudi_ordering_kind)branch};
    if (branch < 0 || branch > 12) {
        items->bad = true;
        return false;
    }
    get_value(items, out);
    return !items->bad;
}

/* ["null", array of values]; one run of items, since they are viewed as one piece. */
static void get_array(struct sl_cur *c, struct sl_hudi_ordering *out)
{
    struct sl_hudi_ordering item;
    int64_t branch = sl_avro_get_long(c);

    out->s = (sl_str){"", 0};
    if (branch != 1) {
        c->bad |= branch != 0;
        return;
    }
    out->count = sl_avro_items(c);
    const char *start = (const char *)c->p;
    for (int64_t i = 0; i < out->count && !c->bad; i++)
        if (!sl_hudi_ordering_item(c, &item))
            c->bad = true;
    if (!c->bad)
        out->s = (sl_str){start, (size_t)((const char *)c->p - start)};
    if (out->count && sl_avro_items(c) != 0)
        c->bad = true;
}

int sl_hudi_deletes_open(sl_str content, struct sl_hudi_deletes *out, sl_err *err)
{
    struct sl_cur c = sl_cur_of(content);
    uint32_t version = sl_cur_u32be(&c), n = sl_cur_u32be(&c);

    *out = (struct sl_hudi_deletes){.ended = false};
    if (c.bad)
        return sl_err_set(err, SL_ECORRUPT, "a delete block of %zu bytes is cut off", content.n);
    if (version == 1 || version == 2)
        return sl_err_set(err, SL_EUNSUPPORTED, "a delete block of version %u (Java serialization, before Hudi 0.14) is not supported", version);
    if (version != CONTENT_VERSION)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %u of a delete block is not supported", version);
    sl_str payload = sl_cur_bytes(&c, n);
    if (c.bad)
        return sl_err_set(err, SL_ECORRUPT, "a delete block says %u bytes and has %zu", n, sl_cur_left(&c));
    out->cur = sl_cur_of(payload);
    return SL_OK;
}

static sl_str get_text(struct sl_cur *c)
{
    int64_t branch = sl_avro_get_long(c);

    if (branch == 1)
        return sl_avro_get_bytes(c);
    c->bad |= branch != 0;
    return (sl_str){NULL, 0};
}

int sl_hudi_deletes_next(struct sl_hudi_deletes *d, struct sl_hudi_delete *out, bool *more, sl_err *err)
{
    struct sl_cur *c = &d->cur;

    *more = false;
    if (d->ended)
        return SL_OK;
    if (d->left == 0) {
        d->left = sl_avro_items(c);
        if (!c->bad && d->left == 0) {
            d->ended = true;
            return SL_OK;
        }
    }
    *out = (struct sl_hudi_delete){.key = get_text(c)};
    out->partition = get_text(c);
    int64_t branch = sl_avro_get_long(c);
    if (branch < 0 || branch > SL_HUDI_ORD_ARRAY)
        c->bad = true;
    out->ordering.kind = (enum sl_hudi_ordering_kind)branch;
    if (!c->bad && branch == SL_HUDI_ORD_ARRAY)
        get_array(c, &out->ordering);
    else if (!c->bad)
        get_value(c, &out->ordering);
    if (c->bad)
        return sl_err_set(err, SL_ECORRUPT, "a delete block is damaged at byte %zu of its list", sl_cur_pos(c));
    d->left--;
    *more = true;
    return SL_OK;
}

static void put_float(struct sl_buf *out, double v, bool single)
{
    float f = (float)v;
    uint32_t half;
    uint64_t bits;

    if (single) {
        memcpy(&half, &f, sizeof half);
        sl_buf_u32le(out, half);
    } else {
        memcpy(&bits, &v, sizeof bits);
        sl_buf_u64le(out, bits);
    }
}

static int put_ordering(struct sl_buf *out, const struct sl_hudi_ordering *o, sl_err *err)
{
    if (o->kind < 0 || o->kind >= SL_HUDI_ORD_ARRAY)
        return sl_err_set(err, SL_EUNSUPPORTED, "deletes with several ordering values are not supported");
    sl_avro_put_long(out, o->kind);
    switch (o->kind) {
    case SL_HUDI_ORD_NULL:
        break;
    case SL_HUDI_ORD_BOOLEAN:
        sl_buf_u8(out, o->i != 0);
        break;
    case SL_HUDI_ORD_FLOAT:
    case SL_HUDI_ORD_DOUBLE:
        put_float(out, o->f, o->kind == SL_HUDI_ORD_FLOAT);
        break;
    case SL_HUDI_ORD_BYTES:
    case SL_HUDI_ORD_STRING:
    case SL_HUDI_ORD_DECIMAL:
        sl_avro_put_bytes(out, o->s);
        break;
    default:
        sl_avro_put_long(out, o->i);
        break;
    }
    return SL_OK;
}

static void put_text(struct sl_buf *out, sl_str s)
{
    sl_avro_put_long(out, s.p ? 1 : 0);
    if (s.p)
        sl_avro_put_bytes(out, s);
}

static int content_end(struct sl_buf *out, size_t at, size_t n, sl_err *err)
{
    SL_TRY(sl_buf_ok(out, err));
    if (n > SIZE_MAX_WORD)
        return sl_err_set(err, SL_EINPUT, "a part of a log block has %zu bytes; the limit is %zu", n, SIZE_MAX_WORD);
    for (int i = 0; i < 4; i++)
        out->p[at + (size_t)i] = (char)(n >> (24 - 8 * i));
    return SL_OK;
}

int sl_hudi_deletes_encode(const struct sl_hudi_delete *v, size_t n, struct sl_buf *out, sl_err *err)
{
    sl_buf_u32be(out, CONTENT_VERSION);
    size_t at = out->n;
    sl_buf_u32be(out, 0);
    if (n)
        sl_avro_put_long(out, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        put_text(out, v[i].key);
        put_text(out, v[i].partition);
        SL_TRY(put_ordering(out, &v[i].ordering, err));
    }
    sl_avro_put_long(out, 0);
    return content_end(out, at, out->n - at - 4, err);
}

/* ---- writing records ---- */

void sl_hudi_content_begin(struct sl_hudi_content *c, struct sl_buf *out)
{
    *c = (struct sl_hudi_content){.out = out, .start = out->n};
    sl_buf_u32be(out, CONTENT_VERSION);
    sl_buf_u32be(out, 0);
}

void sl_hudi_content_record(struct sl_hudi_content *c)
{
    c->record = c->out->n;
    sl_buf_u32be(c->out, 0);
}

int sl_hudi_content_record_end(struct sl_hudi_content *c, sl_err *err)
{
    c->count++;
    return content_end(c->out, c->record, c->out->n - c->record - 4, err);
}

int sl_hudi_content_end(struct sl_hudi_content *c, sl_err *err)
{
    return content_end(c->out, c->start + 4, c->count, err);
}

/* ---- the frame ---- */

static void put_entry(struct sl_buf *out, int32_t id, sl_str value)
{
    sl_buf_u32be(out, (uint32_t)id);
    sl_buf_u32be(out, (uint32_t)value.n);
    sl_buf_add(out, value);
}

static void put_u64be(struct sl_buf *out, uint64_t v)
{
    sl_buf_u32be(out, (uint32_t)(v >> 32));
    sl_buf_u32be(out, (uint32_t)v);
}

static void put_instant(struct sl_buf *out, int32_t id, int64_t instant)
{
    char text[18];

    snprintf(text, sizeof text, "%017llu", (unsigned long long)instant % 100000000000000000ULL);
    put_entry(out, id, sl_str_c(text));
}

static void put_header(struct sl_buf *out, const struct sl_hudi_block_out *b)
{
    bool command = b->type == SL_HUDI_BLOCK_COMMAND, index = b->index.n && b->index_mode == SL_HUDI_INDEX_HEADER;

    sl_buf_u32be(out, command || index ? 3 : 2);
    put_instant(out, SL_HUDI_H_INSTANT, b->instant);
    if (command) {
        put_instant(out, SL_HUDI_H_TARGET, b->target);
        put_entry(out, SL_HUDI_H_COMMAND, SL_LIT("0"));
        return;
    }
    put_entry(out, SL_HUDI_H_SCHEMA, b->schema);
    if (index)
        put_entry(out, SL_HUDI_H_INDEX, b->index);
}

static bool footer_index(const struct sl_hudi_block_out *b)
{
    return b->index.n && b->index_mode == SL_HUDI_INDEX_FOOTER;
}

static size_t footer_size(const struct sl_hudi_block_out *b)
{
    return 4 + (footer_index(b) ? 8 + b->index.n : 0);
}

/* Bytes of fields 3 to 10. */
static uint64_t length_of(const struct sl_hudi_block_out *b, size_t header)
{
    return 4 + 4 + header + 8 + b->content_size + footer_size(b) + 8;
}

static int check(const struct sl_hudi_block_out *b, sl_err *err)
{
    bool command = b->type == SL_HUDI_BLOCK_COMMAND;

    if (!command && b->type != SL_HUDI_BLOCK_AVRO && b->type != SL_HUDI_BLOCK_PARQUET && b->type != SL_HUDI_BLOCK_DELETE)
        return sl_err_set(err, SL_EINPUT, "log blocks of type %s are not written", sl_hudi_block_type_name(b->type));
    if (b->index.n && b->type != SL_HUDI_BLOCK_AVRO && b->type != SL_HUDI_BLOCK_DELETE)
        return sl_err_set(err, SL_EINPUT, "a log block of type %s has no index in its header or footer", sl_hudi_block_type_name(b->type));
    if (command ? b->content_size != 0 || b->schema.n || b->target <= 0 : b->schema.n == 0)
        return sl_err_set(err, SL_EINPUT, "a part of the log block is missing or too many");
    if (b->instant <= 0 || b->content_size > (uint64_t)1 << 40 || b->schema.n > SIZE_MAX_WORD || b->index.n > SIZE_MAX_WORD)
        return sl_err_set(err, SL_EINPUT, "a part of the log block is out of range");
    return SL_OK;
}

static size_t header_size(const struct sl_hudi_block_out *b)
{
    bool command = b->type == SL_HUDI_BLOCK_COMMAND, index = b->index.n && b->index_mode == SL_HUDI_INDEX_HEADER;

    return command ? 4 + 2 * (8 + 17) + 8 + 1 : 4 + 8 + 17 + 8 + b->schema.n + (index ? 8 + b->index.n : 0);
}

int sl_hudi_block_head(const struct sl_hudi_block_out *b, struct sl_buf *out, sl_err *err)
{
    SL_TRY(check(b, err));
    sl_buf_add(out, SL_LIT("#HUDI#"));
    put_u64be(out, length_of(b, header_size(b)));
    sl_buf_u32be(out, 1);
    sl_buf_u32be(out, b->type);
    put_header(out, b);
    put_u64be(out, b->content_size);
    return sl_buf_ok(out, err);
}

int sl_hudi_block_tail(const struct sl_hudi_block_out *b, struct sl_buf *out, sl_err *err)
{
    SL_TRY(check(b, err));
    sl_buf_u32be(out, footer_index(b) ? 1 : 0);
    if (footer_index(b))
        put_entry(out, SL_HUDI_H_INDEX, b->index);
    put_u64be(out, length_of(b, header_size(b)) + 6);
    return sl_buf_ok(out, err);
}

int sl_hudi_block_put(const struct sl_hudi_block_out *b, sl_str content, struct sl_buf *out, sl_err *err)
{
    struct sl_hudi_block_out sized = *b;

    sized.content_size = content.n;
    SL_TRY(sl_hudi_block_head(&sized, out, err));
    sl_buf_add(out, content);
    return sl_hudi_block_tail(&sized, out, err);
}
