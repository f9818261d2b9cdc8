/*
 * avro.h - Avro object container files: read with any writer schema, write with ours.
 *
 * Source: Avro 1.11 specification, "Object Container Files" and "Binary Encoding"; which codecs and schemas occur is in
 * docs/format/. Codecs: null, deflate, snappy (with its CRC), zstandard. Pure functions over memory.
 */
#ifndef SL_FORMAT_AVRO_H
#define SL_FORMAT_AVRO_H

#include "base/json.h"
#include "base/mem.h"

/* A parsed writer schema. */
enum sl_avro_kind {
    SL_AVRO_NULL, SL_AVRO_BOOLEAN, SL_AVRO_INT, SL_AVRO_LONG, SL_AVRO_FLOAT, SL_AVRO_DOUBLE, SL_AVRO_BYTES, SL_AVRO_STRING,
    SL_AVRO_RECORD, SL_AVRO_ENUM, SL_AVRO_ARRAY, SL_AVRO_MAP, SL_AVRO_UNION, SL_AVRO_FIXED,
};
struct sl_avro_schema {
    enum sl_avro_kind kind;
    const char *name;                            /* record, enum, fixed: the last part */
    const char *space;                           /* of the name; "" if none */
    const char *logical;                         /* NULL if none */
    int32_t precision, scale;                    /* logical decimal; 0 if not said */
    size_t size;                                 /* fixed */
    const struct sl_avro_schema **types;         /* record fields, union branches, array item or map value (1) */
    const char **names;                          /* record field names, enum symbols */
    size_t n;
    size_t weight;                               /* nodes in it, named types counted at each use; bounded */
};
int sl_avro_schema_parse(struct sl_arena *a, sl_str json, const struct sl_avro_schema **out, sl_err *err) SL_WUR;

/* Skip one value; the cursor goes bad on damage. Depth and counts are bounded by the bytes left. */
void sl_avro_skip(struct sl_cur *c, const struct sl_avro_schema *s);

/* ---- reading a container ---- */
struct sl_avro_reader;
int sl_avro_open(sl_str bytes, struct sl_avro_reader **out, sl_err *err) SL_WUR;   /* BYTES must outlive the reader */
void sl_avro_close(struct sl_avro_reader *r);
const struct sl_avro_schema *sl_avro_reader_schema(const struct sl_avro_reader *r);
sl_str sl_avro_reader_meta(const struct sl_avro_reader *r, const char *key);
/* Next block, decompressed (at most 1 GiB, and at most 2000 x its compressed size): COUNT records in *RECORDS. *COUNT = 0 at the end.
 * The view is valid until the next call. Sync markers and snappy checksums are checked. */
int sl_avro_next_block(struct sl_avro_reader *r, int64_t *count, struct sl_cur *records, sl_err *err) SL_WUR;

/* ---- writing a container ---- */
enum sl_avro_codec { SL_AVRO_CODEC_NULL, SL_AVRO_CODEC_ZSTD, SL_AVRO_CODEC_DEFLATE, SL_AVRO_CODEC_SNAPPY };
void sl_avro_write_header(struct sl_buf *out, const char *schema_json, enum sl_avro_codec codec, const char sync[16]);
int sl_avro_write_block(struct sl_buf *out, int64_t count, sl_str records, enum sl_avro_codec codec, const char sync[16], sl_err *err) SL_WUR;
void sl_avro_put_long(struct sl_buf *out, int64_t v);
void sl_avro_put_bytes(struct sl_buf *out, sl_str v);

/* A whole container of records: blocks are cut and compressed as records are finished. */
struct sl_avro_writer {
    struct sl_buf out;      /* the container so far */
    struct sl_buf block;    /* put records here */
    int64_t count;          /* records in it */
    char sync[16];
};
void sl_avro_writer_begin(struct sl_avro_writer *w, const char *schema_json); /* zstd */
int sl_avro_writer_record(struct sl_avro_writer *w, sl_err *err) SL_WUR;      /* one record was put */
int sl_avro_writer_finish(struct sl_avro_writer *w, struct sl_buf *out, sl_err *err) SL_WUR; /* appends to OUT */
void sl_avro_writer_release(struct sl_avro_writer *w);

#endif
