/*
 * hudi_log.h - log files: frames of blocks, their headers, contents of data and delete blocks; writing blocks.
 *
 * A log file is blocks back to back; all integers big-endian. Source: facts on Hudi, sections 1.1-1.7 (HoodieLogFileReader,
 * HoodieLogFormatWriter, hudi-rs log_file). Offsets and sizes are bytes of the file.
 */
#ifndef SL_FORMAT_HUDI_LOG_H
#define SL_FORMAT_HUDI_LOG_H

#include "base/mem.h"
#include "base/str.h"

enum sl_hudi_block_type {
    SL_HUDI_BLOCK_COMMAND, SL_HUDI_BLOCK_DELETE, SL_HUDI_BLOCK_CORRUPT, SL_HUDI_BLOCK_AVRO, SL_HUDI_BLOCK_HFILE, SL_HUDI_BLOCK_PARQUET,
    SL_HUDI_BLOCK_CDC, SL_HUDI_NBLOCK_TYPES
};
const char *sl_hudi_block_type_name(enum sl_hudi_block_type t); /* "AVRO_DATA" */

enum sl_hudi_header_id {
    SL_HUDI_H_INSTANT, SL_HUDI_H_TARGET, SL_HUDI_H_SCHEMA, SL_HUDI_H_COMMAND, SL_HUDI_H_COMPACTED, SL_HUDI_H_POSITIONS,
    SL_HUDI_H_BLOCK_ID, SL_HUDI_H_PARTIAL, SL_HUDI_H_BASE_INSTANT, SL_HUDI_NHEADERS
};
#define SL_HUDI_H_INDEX SL_HUDI_H_COMMAND /* in a data block entry 3 holds the index, facts 1.10 */
const char *sl_hudi_header_name(int32_t id); /* "INSTANT_TIME"; NULL if unknown */

/* ---- reading frames ---- */

/* Where the bytes come from. READ fills TO with exactly N bytes from OFFSET, all within SIZE. */
struct sl_hudi_source {
    int64_t size;
    int (*read)(void *user, int64_t offset, size_t n, char *to, sl_err *err);
    void *user;
};
/* A file that is in memory; BYTES (kept at USER) must outlive the source. */
void sl_hudi_source_memory(const sl_str *bytes, struct sl_hudi_source *out);

struct sl_hudi_entry {
    int32_t id;
    sl_str value;
};

struct sl_hudi_block {
    int64_t offset, size;                /* of the whole block, magic and trailer included */
    int32_t format;                      /* 1 */
    enum sl_hudi_block_type type;
    const struct sl_hudi_entry *header;  /* in file order; memory of the arena given to next */
    size_t nheader;
    int64_t content_offset, content_size;
    int64_t records;                     /* AVRO_DATA, CDC: what the content's head says, for the index to be compared with; -1: not known */
    const struct sl_hudi_entry *footer;
    size_t nfooter;
    int64_t header_offset, header_size, footer_offset, footer_size; /* of the maps, count word included */
};
sl_str sl_hudi_header(const struct sl_hudi_block *b, int32_t id); /* p == NULL if absent; unknown ids are kept, never used */
sl_str sl_hudi_footer(const struct sl_hudi_block *b, int32_t id);

struct sl_hudi_damage {
    int64_t offset, length;
    bool whole;          /* its lengths say that it was written to its end: rows may be lost with it. A reader refuses unless it knows
                          * that no commit names this file. False: a write that was cut off, which readers pass over and count. */
    char why[120];
};

enum sl_hudi_item { SL_HUDI_ITEM_END, SL_HUDI_ITEM_BLOCK, SL_HUDI_ITEM_DAMAGE };

/* Goes from block to block; only headers, footers and trailers are read, never the content. A block is whole when its lengths agree
 * (total = length + 6, and the parts fill it exactly). What is not is damage up to the next whole block or the end of the file. */
struct sl_hudi_log;
int sl_hudi_log_open(const struct sl_hudi_source *source, struct sl_hudi_log **out, sl_err *err) SL_WUR; /* copies *SOURCE */
void sl_hudi_log_close(struct sl_hudi_log *l);
/* *ITEM says which of BLOCK and DAMAGE was filled. Header texts are copied to A. SL_EUNSUPPORTED, by name: other log format versions
 * than 1, block types from 7 on; offset, size, format and type of BLOCK are set then, and another call goes on behind it. Errors of READ
 * are passed on. */
int sl_hudi_log_next(struct sl_hudi_log *l, struct sl_arena *a, enum sl_hudi_item *item, struct sl_hudi_block *block,
                     struct sl_hudi_damage *damage, sl_err *err) SL_WUR;

/* ---- content of AVRO_DATA and CDC blocks ---- */
struct sl_hudi_records {
    struct sl_cur cur;
    int32_t version;     /* 1 to 3 */
    int64_t count, left; /* records of the block, and still to come */
};
int sl_hudi_records_open(sl_str content, struct sl_hudi_records *out, sl_err *err) SL_WUR;
/* The Avro bytes of the next record, a view; false at the end or if the block is damaged, which sl_hudi_records_end tells apart. */
static inline bool sl_hudi_records_next(struct sl_hudi_records *r, sl_str *record)
{
    if (r->left == 0)
        return false;
    uint32_t n = sl_cur_u32be(&r->cur);
    *record = sl_cur_bytes(&r->cur, n);
    r->left--;
    return !r->cur.bad;
}
int sl_hudi_records_end(const struct sl_hudi_records *r, sl_err *err) SL_WUR; /* SL_ECORRUPT with position if damaged */
/* _hoodie_record_key, the third of the meta fields, without decoding the rest: only for records of schemas that
 * sl_hudi_key_is_third (hudi_avro.h) says yes to. False if the record is damaged or the key is null. */
bool sl_hudi_record_key(sl_str record, sl_str *key);

/* ---- content of DELETE blocks (version 3) ---- */
enum sl_hudi_ordering_kind { /* numbers of the union's branches */
    SL_HUDI_ORD_NULL, SL_HUDI_ORD_BOOLEAN, SL_HUDI_ORD_INT, SL_HUDI_ORD_LONG, SL_HUDI_ORD_FLOAT, SL_HUDI_ORD_DOUBLE, SL_HUDI_ORD_BYTES,
    SL_HUDI_ORD_STRING, SL_HUDI_ORD_DATE, SL_HUDI_ORD_DECIMAL, SL_HUDI_ORD_TIME_MICROS, SL_HUDI_ORD_TIMESTAMP_MICROS,
    SL_HUDI_ORD_ARRAY, /* several ordering fields; not written */
};
struct sl_hudi_ordering {
    enum sl_hudi_ordering_kind kind;
    int64_t i;     /* BOOLEAN INT LONG DATE TIME_MICROS TIMESTAMP_MICROS */
    double f;      /* FLOAT DOUBLE */
    sl_str s;      /* BYTES STRING; DECIMAL: unscaled big-endian two's complement with scale 15; ARRAY: its items, see below */
    int64_t count; /* ARRAY: number of items in S */
};
/* No event time: null or IntWrapper(0). Such a delete wins over all that came before it. */
bool sl_hudi_ordering_none(const struct sl_hudi_ordering *o);
/* Next item of an ARRAY from *ITEMS (a cursor over S); LocalDate comes as DATE. False at the end or on damage. */
bool sl_hudi_ordering_item(struct sl_cur *items, struct sl_hudi_ordering *out);

struct sl_hudi_delete {
    sl_str key, partition; /* p == NULL if null; views into the content */
    struct sl_hudi_ordering ordering;
};
struct sl_hudi_deletes {
    struct sl_cur cur;
    int64_t left;          /* of the array block that is read */
    bool ended;
};
/* Versions 1 and 2 (Java serialization) are SL_EUNSUPPORTED by name. */
int sl_hudi_deletes_open(sl_str content, struct sl_hudi_deletes *out, sl_err *err) SL_WUR;
/* *MORE false at the end. */
int sl_hudi_deletes_next(struct sl_hudi_deletes *d, struct sl_hudi_delete *out, bool *more, sl_err *err) SL_WUR;

int sl_hudi_deletes_encode(const struct sl_hudi_delete *v, size_t n, struct sl_buf *out, sl_err *err) SL_WUR; /* the content */

/* ---- writing ---- */

/* Content of an AVRO_DATA block: begin; for each record begin_record, append its Avro bytes to OUT, end_record; end. OUT may hold other
 * bytes before. */
struct sl_hudi_content {
    struct sl_buf *out;
    size_t start, record;
    uint32_t count;
};
void sl_hudi_content_begin(struct sl_hudi_content *c, struct sl_buf *out);
void sl_hudi_content_record(struct sl_hudi_content *c);
int sl_hudi_content_record_end(struct sl_hudi_content *c, sl_err *err) SL_WUR;
int sl_hudi_content_end(struct sl_hudi_content *c, sl_err *err) SL_WUR;

enum sl_hudi_index_mode { SL_HUDI_INDEX_HEADER, SL_HUDI_INDEX_OFF, SL_HUDI_INDEX_FOOTER };
struct sl_hudi_block_out {
    enum sl_hudi_block_type type;     /* AVRO, PARQUET, DELETE, COMMAND (rollback) */
    int64_t instant;
    int64_t target;                   /* COMMAND */
    sl_str schema;                    /* data and delete blocks: Avro JSON with the meta fields */
    sl_str index;                     /* AVRO, DELETE: JSON of sl_hudi_index_json; empty = none */
    enum sl_hudi_index_mode index_mode;
    uint64_t content_size;
};
/* The bytes before and after the content, so that large contents need not be copied. SL_EINPUT if a part is not allowed for the type
 * or too large. */
int sl_hudi_block_head(const struct sl_hudi_block_out *b, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_hudi_block_tail(const struct sl_hudi_block_out *b, struct sl_buf *out, sl_err *err) SL_WUR;
/* Head, CONTENT, tail; content_size is taken from CONTENT. */
int sl_hudi_block_put(const struct sl_hudi_block_out *b, sl_str content, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
