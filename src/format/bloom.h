/*
 * bloom.h - Hudi's bloom filters: SIMPLE, and DYNAMIC_V0 of base files, with Hadoop's hash.
 *
 * Source: facts on Hudi, section 4.3 (SimpleBloomFilter, InternalDynamicBloomFilter, MurmurHash). Filters of other hashes are refused.
 */
#ifndef SL_FORMAT_BLOOM_H
#define SL_FORMAT_BLOOM_H

#include "base/mem.h"
#include "base/str.h"

enum sl_bloom_kind { SL_BLOOM_SIMPLE, SL_BLOOM_DYNAMIC };

struct sl_bloom {
    enum sl_bloom_kind kind;
    uint32_t bits;          /* of one row */
    uint32_t hashes;
    uint32_t nrows;         /* 1 for SIMPLE */
    uint8_t **rows;         /* each (bits + 7) / 8 bytes; read-only if parsed */
    uint32_t row_keys;      /* DYNAMIC: keys that fill a row */
    uint32_t current_keys;  /* DYNAMIC: keys in the last row */
    uint32_t rows_max;      /* DYNAMIC, building */
    uint64_t keys;          /* added here; 0 if parsed */
    struct sl_arena *arena;
};

/* Bits and hashes for N keys at rate P (0 < P < 1). False if out of range (more than 2^31 - 1 bits or 255 hashes). */
bool sl_bloom_size(uint64_t n, double p, uint32_t *bits, uint32_t *hashes);

/* Memory of A, which must outlive the filter. N 0 counts as 1. */
int sl_bloom_new(struct sl_arena *a, uint64_t n, double p, struct sl_bloom *out, sl_err *err) SL_WUR;
int sl_bloom_new_dynamic(struct sl_arena *a, uint32_t n, double p, uint32_t max_keys, struct sl_bloom *out, sl_err *err) SL_WUR;
int sl_bloom_add(struct sl_bloom *b, sl_str key, sl_err *err) SL_WUR; /* an empty key is SL_EINPUT */

/* A key to ask many filters for: its hashes do not depend on the filter, and are made once, as far as needed. */
enum { SL_BLOOM_KEPT = 32 };
struct sl_bloom_key {
    sl_str key;
    uint32_t n;
    uint32_t hash[SL_BLOOM_KEPT];
};
void sl_bloom_key_init(struct sl_bloom_key *k, sl_str key);
bool sl_bloom_may_hold(const struct sl_bloom *b, struct sl_bloom_key *k); /* an empty key: true */

void sl_bloom_encode(const struct sl_bloom *b, struct sl_buf *out);       /* bytes, not base64 */
/* The rows are views into BYTES, which must outlive OUT; row pointers of A. SL_EUNSUPPORTED: Jenkins, filters without a version.
 * SL_ECORRUPT: sizes that do not fit the bytes. */
int sl_bloom_parse(struct sl_arena *a, sl_str bytes, enum sl_bloom_kind kind, struct sl_bloom *out, sl_err *err) SL_WUR;

double sl_bloom_rate(const struct sl_bloom *b);  /* share of foreign keys that it lets through, from the bits that are set */
uint32_t sl_bloom_hash(sl_str key, uint32_t seed); /* Hadoop's MurmurHash2 in Java's form */

#endif
