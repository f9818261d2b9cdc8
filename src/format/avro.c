/* avro.c - object container files. */
#include "format/avro.h"

#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/sys.h"
#include "format/avro_value.h"

#define PLAIN_MAX ((size_t)1 << 30)
#define MAGIC ((sl_str){"Obj\1", 4})

struct meta {
    sl_str key, value;
};

struct sl_avro_reader {
    struct sl_arena arena;
    struct sl_cur in;
    const struct sl_avro_schema *schema;
    SL_VEC(struct meta) meta;
    enum sl_avro_codec codec;
    sl_str sync;
    struct sl_buf plain;
    ZSTD_DCtx *zstd;
};

static const char *const codec_names[] = {"null", "zstandard", "deflate", "snappy"};

static int damaged(const struct sl_avro_reader *r, const char *what, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "the Avro file is damaged at offset %zu: %s", sl_cur_pos(&r->in), what);
}

static int read_header(struct sl_avro_reader *r, sl_err *err)
{
    sl_str magic = sl_cur_bytes(&r->in, 4);

    if (!sl_str_eq(magic, MAGIC)) {
        if (sl_str_starts(magic, "ORC"))
            return sl_err_set(err, SL_EUNSUPPORTED, "an ORC file is not supported here, only Avro is");
        return sl_err_set(err, SL_ECORRUPT, "this is no Avro file: it does not start with \"Obj\\1\"");
    }
    for (int64_t n; (n = sl_avro_items(&r->in)) != 0;)
        for (; n > 0 && !r->in.bad; n--) {
            struct meta *m = sl_vec_push(&r->meta);

            if (!m)
                return sl_err_nomem(err);
            m->key = sl_avro_get_bytes(&r->in);
            m->value = sl_avro_get_bytes(&r->in);
        }
    r->sync = sl_cur_bytes(&r->in, 16);
    if (r->in.bad)
        return damaged(r, "the header is cut off", err);
    sl_str codec = sl_avro_reader_meta(r, "avro.codec");
    size_t i = 0;
    while (i < 4 && codec.n && !sl_str_eqc(codec, codec_names[i]))
        i++;
    if (i == 4)
        return sl_err_set(err, SL_EUNSUPPORTED, "the Avro codec \"" SL_STRF "\" is not supported",
                          (int)(codec.n < 40 ? codec.n : 40), codec.p);
    r->codec = (enum sl_avro_codec)i;
    return sl_avro_schema_parse(&r->arena, sl_avro_reader_meta(r, "avro.schema"), &r->schema, err);
}

int sl_avro_open(sl_str bytes, struct sl_avro_reader **out, sl_err *err)
{
    struct sl_avro_reader *r = sl_calloc(1, sizeof *r);

    *out = NULL;
    if (!r)
        return sl_err_nomem(err);
    r->in = sl_cur_of(bytes);
    int rc = read_header(r, err);
    if (rc != SL_OK) {
        sl_avro_close(r);
        return rc;
    }
    *out = r;
    return SL_OK;
}

void sl_avro_close(struct sl_avro_reader *r)
{
    if (!r)
        return;
    ZSTD_freeDCtx(r->zstd);
    sl_buf_release(&r->plain);
    sl_free(r->meta.v);
    sl_arena_release(&r->arena);
    sl_free(r);
}

const struct sl_avro_schema *sl_avro_reader_schema(const struct sl_avro_reader *r)
{
    return r->schema;
}

sl_str sl_avro_reader_meta(const struct sl_avro_reader *r, const char *key)
{
    for (size_t i = 0; i < r->meta.n; i++)
        if (sl_str_eqc(r->meta.v[i].key, key))
            return r->meta.v[i].value;
    return (sl_str){NULL, 0};
}

/* ---- decompression ---- */

static size_t limit_of(sl_str data)
{
    size_t limit = data.n < PLAIN_MAX / 2000 ? data.n * 2000 : PLAIN_MAX;

    return limit < (1 << 20) ? 1 << 20 : limit;
}

/* More room in the plain buffer; false at the limit. */
static int grow(struct sl_avro_reader *r, size_t limit, sl_err *err)
{
    size_t step = r->plain.n < (1 << 16) ? 1 << 16 : r->plain.n;

    if (r->plain.n >= limit)
        return damaged(r, "a block is larger than its compressed form allows", err);
    if (step > limit - r->plain.n)
        step = limit - r->plain.n;
    return sl_buf_room(&r->plain, step) ? SL_OK : sl_err_nomem(err);
}

static int inflate_zstd(struct sl_avro_reader *r, sl_str data, sl_err *err)
{
    ZSTD_inBuffer in = {data.p, data.n, 0};
    size_t left = 1;

    if (!r->zstd && !(r->zstd = ZSTD_createDCtx()))
        return sl_err_nomem(err);
    ZSTD_DCtx_reset(r->zstd, ZSTD_reset_session_only);
    while (in.pos < in.size || left != 0) {
        if (r->plain.cap - r->plain.n < 2)
            SL_TRY(grow(r, limit_of(data), err));
        ZSTD_outBuffer room = {r->plain.p + r->plain.n, r->plain.cap - r->plain.n - 1, 0};
        size_t before = in.pos;

        left = ZSTD_decompressStream(r->zstd, &room, &in);
        if (ZSTD_isError(left))
            return damaged(r, ZSTD_getErrorName(left), err);
        r->plain.n += room.pos;
        if (r->plain.n > limit_of(data))
            return damaged(r, "a block is larger than its compressed form allows", err);
        if (room.pos == 0 && in.pos == before && room.size > 0)
            return damaged(r, "a zstd frame is cut off", err);
    }
    return SL_OK;
}

static int inflate_zlib(struct sl_avro_reader *r, sl_str data, sl_err *err)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)data.p, .avail_in = (unsigned)data.n};
    int rc = SL_OK, status = Z_OK;

    if (data.n > UINT32_MAX || inflateInit2(&z, -15) != Z_OK)
        return sl_err_nomem(err);
    while (rc == SL_OK && status != Z_STREAM_END) {
        if (r->plain.cap - r->plain.n < 2)
            SL_GO(grow(r, limit_of(data), err));
        size_t room = r->plain.cap - r->plain.n - 1;
        z.avail_out = (unsigned)(room < (1U << 30) ? room : 1U << 30);
        z.next_out = (unsigned char *)r->plain.p + r->plain.n;
        unsigned given = z.avail_out;
        status = inflate(&z, Z_NO_FLUSH);
        r->plain.n += given - z.avail_out;
        if ((status != Z_OK && status != Z_STREAM_END) || r->plain.n > limit_of(data))
            rc = damaged(r, "a deflate stream is damaged", err);
    }
done:
    inflateEnd(&z);
    return rc;
}

static int inflate_snappy(struct sl_avro_reader *r, sl_str data, sl_err *err)
{
    size_t n;

    if (data.n < 4 || snappy_uncompressed_length(data.p, data.n - 4, &n) != SNAPPY_OK || n > limit_of(data))
        return damaged(r, "a snappy block is damaged", err);
    if (!sl_buf_room(&r->plain, n + 1))
        return sl_err_nomem(err);
    if (snappy_uncompress(data.p, data.n - 4, r->plain.p, &n) != SNAPPY_OK)
        return damaged(r, "a snappy block is damaged", err);
    r->plain.n = n;
    struct sl_cur crc = sl_cur_of(sl_str_sub(data, data.n - 4, data.n));
    if (sl_cur_u32be(&crc) != sl_crc32(0, sl_buf_view(&r->plain)))
        return damaged(r, "the checksum of a snappy block is wrong", err);
    return SL_OK;
}

int sl_avro_next_block(struct sl_avro_reader *r, int64_t *count, struct sl_cur *records, sl_err *err)
{
    *count = 0;
    *records = sl_cur_of((sl_str){"", 0});
    int64_t n = 0;
    sl_str data = {NULL, 0}, sync;
    while (n == 0) { /* blocks without records are passed over */
        if (sl_cur_left(&r->in) == 0)
            return SL_OK;
        n = sl_avro_get_long(&r->in);
        data = sl_avro_get_bytes(&r->in);
        sync = sl_cur_bytes(&r->in, 16);
        if (r->in.bad || n < 0)
            return damaged(r, "a block is cut off", err);
        if (!sl_str_eq(sync, r->sync))
            return damaged(r, "a sync marker is wrong", err);
    }
    sl_buf_reset(&r->plain);
    switch (r->codec) {
    case SL_AVRO_CODEC_NULL:
        break;
    case SL_AVRO_CODEC_ZSTD:
        SL_TRY(inflate_zstd(r, data, err));
        break;
    case SL_AVRO_CODEC_DEFLATE:
        SL_TRY(inflate_zlib(r, data, err));
        break;
    case SL_AVRO_CODEC_SNAPPY:
        SL_TRY(inflate_snappy(r, data, err));
        break;
    }
    if (r->codec != SL_AVRO_CODEC_NULL)
        data = r->plain.p ? sl_buf_view(&r->plain) : (sl_str){"", 0};
    if ((uint64_t)n > data.n)
        return damaged(r, "a block has fewer bytes than records", err);
    *count = n;
    *records = sl_cur_of(data);
    return SL_OK;
}

/* ---- writing ---- */

void sl_avro_put_long(struct sl_buf *out, int64_t v)
{
    uint64_t u = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    char bytes[10];
    size_t n = 0;

    for (; u >= 0x80; u >>= 7)
        bytes[n++] = (char)(u | 0x80);
    bytes[n++] = (char)u;
    sl_buf_addb(out, bytes, n);
}

void sl_avro_put_bytes(struct sl_buf *out, sl_str v)
{
    sl_avro_put_long(out, (int64_t)v.n);
    sl_buf_add(out, v);
}

void sl_avro_write_header(struct sl_buf *out, const char *schema_json, enum sl_avro_codec codec, const char sync[16])
{
    sl_buf_add(out, MAGIC);
    sl_avro_put_long(out, 2);
    sl_avro_put_bytes(out, SL_LIT("avro.schema"));
    sl_avro_put_bytes(out, sl_str_c(schema_json));
    sl_avro_put_bytes(out, SL_LIT("avro.codec"));
    sl_avro_put_bytes(out, sl_str_c(codec_names[codec]));
    sl_avro_put_long(out, 0);
    sl_buf_addb(out, sync, 16);
}

static int deflate_zlib(struct sl_buf *out, sl_str records, sl_err *err)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)records.p, .avail_in = (unsigned)records.n};

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return sl_err_nomem(err);
    size_t bound = deflateBound(&z, records.n);
    char *room = sl_buf_room(out, bound);
    int status = Z_STREAM_ERROR;
    if (room) {
        z.next_out = (unsigned char *)room;
        z.avail_out = (unsigned)bound;
        status = deflate(&z, Z_FINISH);
        out->n += z.total_out;
    }
    deflateEnd(&z);
    return status == Z_STREAM_END ? SL_OK : sl_err_nomem(err);
}

static int compress_block(struct sl_buf *out, sl_str records, enum sl_avro_codec codec, sl_err *err)
{
    size_t n;
    char *room;

    switch (codec) {
    case SL_AVRO_CODEC_NULL:
        sl_buf_add(out, records);
        break;
    case SL_AVRO_CODEC_ZSTD:
        n = ZSTD_compressBound(records.n);
        room = sl_buf_room(out, n);
        n = room ? ZSTD_compress(room, n, records.p, records.n, 1) : 0;
        if (!room || ZSTD_isError(n))
            return sl_err_nomem(err);
        out->n += n;
        break;
    case SL_AVRO_CODEC_DEFLATE:
        SL_TRY(deflate_zlib(out, records, err));
        break;
    case SL_AVRO_CODEC_SNAPPY:
        n = snappy_max_compressed_length(records.n);
        room = sl_buf_room(out, n);
        if (!room || snappy_compress(records.p, records.n, room, &n) != SNAPPY_OK)
            return sl_err_nomem(err);
        out->n += n;
        sl_buf_u32be(out, sl_crc32(0, records));
        break;
    }
    return sl_buf_ok(out, err);
}

int sl_avro_write_block(struct sl_buf *out, int64_t count, sl_str records, enum sl_avro_codec codec, const char sync[16], sl_err *err)
{
    struct sl_buf packed = SL_BUF_INIT;
    int rc;

    if (records.n >= PLAIN_MAX)
        return sl_err_set(err, SL_EUNSUPPORTED, "an Avro block of %zu bytes is too large", records.n);
    SL_GO(compress_block(&packed, records, codec, err));
    sl_avro_put_long(out, count);
    sl_avro_put_bytes(out, sl_buf_view(&packed));
    sl_buf_addb(out, sync, 16);
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&packed);
    return rc;
}

enum { BLOCK_BYTES = 1 << 16 };

void sl_avro_writer_begin(struct sl_avro_writer *w, const char *schema_json)
{
    uint64_t sync[2] = {sl_random(), sl_random()};

    *w = (struct sl_avro_writer){0};
    memcpy(w->sync, sync, sizeof sync);
    sl_avro_write_header(&w->out, schema_json, SL_AVRO_CODEC_ZSTD, w->sync);
}

static int flush(struct sl_avro_writer *w, sl_err *err)
{
    if (w->count == 0)
        return SL_OK;
    SL_TRY(sl_buf_ok(&w->block, err));
    SL_TRY(sl_avro_write_block(&w->out, w->count, sl_buf_view(&w->block), SL_AVRO_CODEC_ZSTD, w->sync, err));
    sl_buf_reset(&w->block);
    w->count = 0;
    return SL_OK;
}

int sl_avro_writer_record(struct sl_avro_writer *w, sl_err *err)
{
    w->count++;
    return w->block.n >= BLOCK_BYTES || w->block.failed ? flush(w, err) : SL_OK;
}

int sl_avro_writer_finish(struct sl_avro_writer *w, struct sl_buf *out, sl_err *err)
{
    SL_TRY(flush(w, err));
    SL_TRY(sl_buf_ok(&w->out, err));
    sl_buf_add(out, sl_buf_view(&w->out));
    return sl_buf_ok(out, err);
}

void sl_avro_writer_release(struct sl_avro_writer *w)
{
    sl_buf_release(&w->out);
    sl_buf_release(&w->block);
}
