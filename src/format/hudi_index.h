/*
 * hudi_index.h - the index of a log block (RFC-06) and of a base file: number of records, range of keys, bloom filter.
 *
 * Three places: JSON in header entry 3 of an AVRO_DATA block, the same in footer entry 3, key/value metadata of a Parquet file or
 * block. Layout byte by byte: docs/format/log-index.md. Source: facts on Hudi, sections 1.10 and 4.2.
 */
#ifndef SL_FORMAT_HUDI_INDEX_H
#define SL_FORMAT_HUDI_INDEX_H

#include "format/bloom.h"
#include "format/hudi_properties.h"

struct sl_hudi_index {
    int64_t records;        /* of the block; -1 if not said (base files) */
    bool has_range;
    sl_str min, max;        /* UTF-16 order if written here; stock Spark writes UTF-8 order */
    bool has_filter;
    struct sl_bloom filter;
    sl_str filter_text;     /* its base64, if it was built here; p == NULL after parsing */
};

/* Java's String.compareTo for UTF-8 texts: order of UTF-16 code units. Bytes that are no UTF-8 compare bytewise. */
int sl_hudi_key_cmp(sl_str a, sl_str b);

/* Range and filter (sized by N, rate FPP; FPP 0 = no filter) of the keys of a block. Everything is copied to A. Keys must not be
 * empty (SL_EINPUT). */
int sl_hudi_index_build(struct sl_arena *a, const sl_str *keys, size_t n, double fpp, struct sl_hudi_index *out, sl_err *err) SL_WUR;

/* What look-up does with KEY. OUTSIDE only if it is outside under both orders; MAYBE if nothing is known. */
enum sl_hudi_hit { SL_HUDI_OUTSIDE, SL_HUDI_FILTERED, SL_HUDI_MAYBE };
bool sl_hudi_index_inside(const struct sl_hudi_index *x, sl_str key);
enum sl_hudi_hit sl_hudi_index_test(const struct sl_hudi_index *x, struct sl_bloom_key *key);

/* ---- JSON (AVRO_DATA) ---- */
void sl_hudi_index_json(const struct sl_hudi_index *x, struct sl_buf *out);
/* Everything is copied to A. SL_ECORRUPT or SL_EUNSUPPORTED (ERR says why: checksum, unknown version, ...) mean: scan the block. The caller
 * compares `records` with the block's. */
int sl_hudi_index_parse(struct sl_arena *a, sl_str json, struct sl_hudi_index *out, sl_err *err) SL_WUR;

/* ---- key/value metadata (base files, PARQUET_DATA) ---- */
#define SL_HUDI_KV_BLOOM "org.apache.hudi.bloomfilter"
#define SL_HUDI_KV_BLOOM_OLD "com.uber.hoodie.bloomfilter"
#define SL_HUDI_KV_BLOOM_TYPE "hoodie_bloom_filter_type_code"
#define SL_HUDI_KV_MIN "hoodie_min_record_key"
#define SL_HUDI_KV_MAX "hoodie_max_record_key"
#define SL_HUDI_KV_INDEX "sluice.log.index"
#define SL_HUDI_KV_RECORDS "sluice.log.records"
#define SL_HUDI_KV_CRC "sluice.log.crc32"
enum { SL_HUDI_INDEX_KVS = 7 };
/* BLOCK: with sluice.log.index, .records and .crc32. *N pairs (at most SL_HUDI_INDEX_KVS) in KV; texts of A. */
int sl_hudi_index_to_kv(struct sl_arena *a, const struct sl_hudi_index *x, bool block, struct sl_hudi_kv *kv, size_t *n, sl_err *err) SL_WUR;
/* No range and no filter is no error: the index then says nothing. Errors as sl_hudi_index_parse. */
int sl_hudi_index_from_kv(struct sl_arena *a, const struct sl_hudi_kv *kv, size_t n, struct sl_hudi_index *out, sl_err *err) SL_WUR;

#endif
