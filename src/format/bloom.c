/* bloom.c - SIMPLE and DYNAMIC_V0 filters. */
#include "format/bloom.h"

#include <math.h>
#include <string.h>

enum { VERSION = -1, MURMUR = 1, HASHES_MAX = 255, HEAD = 13 };

static const uint32_t m = 0x5bd1e995;

static uint32_t mixed_word(const unsigned char *p)
{
    uint32_t k = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

    k *= m;
    k ^= k >> 24;
    return k * m;
}

/* The one to three bytes before END: from the end, each with its sign, for that is how Java reads them. */
static uint32_t last_bytes(const unsigned char *end, size_t left)
{
    uint32_t v = (uint32_t)(int32_t)(int8_t)end[-1];

    if (left >= 2)
        v ^= (uint32_t)(int32_t)(int8_t)end[-2] << 8;
    if (left >= 3)
        v ^= (uint32_t)(int32_t)(int8_t)end[-3] << 16;
    return v;
}

static uint32_t finish(uint32_t h)
{
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}

uint32_t sl_bloom_hash(sl_str key, uint32_t seed)
{
    const unsigned char *p = (const unsigned char *)key.p, *end = p + key.n;
    uint32_t h = seed ^ (uint32_t)key.n;

    for (; end - p >= 4; p += 4)
        h = h * m ^ mixed_word(p);
    if (p < end)
        h = (h ^ last_bytes(end, (size_t)(end - p))) * m;
    return finish(h);
}

/* A key whose words are mixed once for all seeds; long keys are not kept. */
enum { WORDS = 32 };
struct mixed {
    sl_str key;
    uint32_t word[WORDS], tail;
    size_t n;
    bool kept;
};

static void mix(struct mixed *x, sl_str key)
{
    const unsigned char *p = (const unsigned char *)key.p;

    x->key = key;
    x->n = key.n / 4;
    x->kept = x->n <= WORDS;
    for (size_t i = 0; x->kept && i < x->n; i++)
        x->word[i] = mixed_word(p + 4 * i);
    x->tail = key.n % 4 ? last_bytes(p + key.n, key.n % 4) : 0;
}

static uint32_t hash_mixed(const struct mixed *x, uint32_t seed)
{
    uint32_t h = seed ^ (uint32_t)x->key.n;

    if (!x->kept)
        return sl_bloom_hash(x->key, seed);
    for (size_t i = 0; i < x->n; i++)
        h = h * m ^ x->word[i];
    if (x->key.n % 4)
        h = (h ^ x->tail) * m;
    return finish(h);
}

bool sl_bloom_size(uint64_t n, double p, uint32_t *bits, uint32_t *hashes)
{
    if (!(p > 0 && p < 1) || n == 0)
        return false;
    double b = ceil((double)n * (-log(p) / (log(2) * log(2)))), k = ceil(log(2) * b / (double)n);
    if (!(b <= INT32_MAX - 7) || !(k <= HASHES_MAX))
        return false;
    *bits = (uint32_t)b;
    *hashes = (uint32_t)k;
    return true;
}

static int add_row(struct sl_bloom *b, sl_err *err)
{
    uint8_t *row = sl_arena_alloc(b->arena, (b->bits + 7) / 8);

    if (!row)
        return sl_err_nomem(err);
    b->rows[b->nrows++] = row;
    b->current_keys = 0;
    return SL_OK;
}

static int start(struct sl_arena *a, uint64_t n, double p, uint32_t rows_max, struct sl_bloom *out, sl_err *err)
{
    *out = (struct sl_bloom){.arena = a, .rows_max = rows_max};
    if (!sl_bloom_size(n ? n : 1, p, &out->bits, &out->hashes))
        return sl_err_set(err, SL_EINPUT, "a bloom filter for %llu keys at rate %g is not possible", (unsigned long long)n, p);
    out->rows = sl_arena_array(a, rows_max, sizeof *out->rows);
    return out->rows ? add_row(out, err) : sl_err_nomem(err);
}

int sl_bloom_new(struct sl_arena *a, uint64_t n, double p, struct sl_bloom *out, sl_err *err)
{
    return start(a, n, p, 1, out, err);
}

int sl_bloom_new_dynamic(struct sl_arena *a, uint32_t n, double p, uint32_t max_keys, struct sl_bloom *out, sl_err *err)
{
    n = n ? n : 1;
    SL_TRY(start(a, n, p, max_keys / n + 2, out, err)); /* a row more is made while rows x n < max_keys */
    out->kind = SL_BLOOM_DYNAMIC;
    out->row_keys = n;
    out->rows_max = max_keys <= n ? 1 : (max_keys - 1) / n + 1;
    return SL_OK;
}

/* |h % bits| with Java's signed remainder; bits fit an int. */
static inline uint32_t position(uint32_t hash, uint32_t bits)
{
    int32_t r = (int32_t)hash % (int32_t)bits;

    return (uint32_t)(r < 0 ? -r : r);
}

int sl_bloom_add(struct sl_bloom *b, sl_str key, sl_err *err)
{
    if (key.n == 0)
        return sl_err_set(err, SL_EINPUT, "an empty key cannot be put into a bloom filter");
    uint32_t row = b->nrows - 1, h = 0;
    struct mixed x;
    mix(&x, key);
    if (b->kind == SL_BLOOM_DYNAMIC && b->current_keys >= b->row_keys) {
        if (b->nrows < b->rows_max) {
            SL_TRY(add_row(b, err));
            row = b->nrows - 1;
        } else { /* full: the rows take turns */
            row = (uint32_t)((b->keys - (uint64_t)b->nrows * b->row_keys) % b->nrows);
        }
    }
    for (uint32_t i = 0; i < b->hashes; i++) {
        h = hash_mixed(&x, h);
        uint32_t at = position(h, b->bits);
        b->rows[row][at >> 3] |= (uint8_t)(1U << (at & 7));
    }
    b->keys++;
    b->current_keys++;
    return SL_OK;
}

void sl_bloom_key_init(struct sl_bloom_key *k, sl_str key)
{
    k->key = key;
    k->n = 0;
}

static bool in_row(const struct sl_bloom *b, const uint8_t *row, struct sl_bloom_key *k)
{
    uint32_t h = 0;

    for (uint32_t i = 0; i < b->hashes; i++) {
        if (i < k->n) {
            h = k->hash[i];
        } else {
            h = sl_bloom_hash(k->key, h);
            if (i < SL_BLOOM_KEPT) {
                k->hash[i] = h;
                k->n = i + 1;
            }
        }
        uint32_t at = position(h, b->bits);
        if (!(row[at >> 3] >> (at & 7) & 1))
            return false;
    }
    return true;
}

bool sl_bloom_may_hold(const struct sl_bloom *b, struct sl_bloom_key *k)
{
    if (k->key.n == 0)
        return true;
    for (uint32_t i = 0; i < b->nrows; i++)
        if (in_row(b, b->rows[i], k))
            return true;
    return false;
}

double sl_bloom_rate(const struct sl_bloom *b)
{
    double miss = 1;

    for (uint32_t i = 0; i < b->nrows; i++) {
        uint64_t set = 0;

        for (uint32_t j = 0; j < (b->bits + 7) / 8; j++)
            set += (uint64_t)__builtin_popcount(b->rows[i][j]);
        if (set > b->bits) /* bits behind the last one are not ours to judge */
            set = b->bits;
        miss *= 1 - pow((double)set / b->bits, b->hashes);
    }
    return 1 - miss;
}

/* ---- bytes ---- */

static void put_head(const struct sl_bloom *b, struct sl_buf *out)
{
    sl_buf_u32be(out, (uint32_t)VERSION);
    sl_buf_u32be(out, b->hashes);
    sl_buf_u8(out, MURMUR);
    sl_buf_u32be(out, b->bits);
}

void sl_bloom_encode(const struct sl_bloom *b, struct sl_buf *out)
{
    if (b->kind == SL_BLOOM_DYNAMIC) {
        put_head(b, out);
        sl_buf_u32be(out, b->row_keys);
        sl_buf_u32be(out, b->current_keys);
        sl_buf_u32be(out, b->nrows);
    }
    for (uint32_t i = 0; i < b->nrows; i++) {
        put_head(b, out);
        sl_buf_addb(out, b->rows[i], (b->bits + 7) / 8);
    }
}

static int read_head(struct sl_cur *c, uint32_t *hashes, uint32_t *bits, sl_err *err)
{
    int32_t version = (int32_t)sl_cur_u32be(c);

    if (!c->bad && version > 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "a bloom filter without a version word is not supported");
    *hashes = sl_cur_u32be(c);
    uint8_t type = sl_cur_u8(c);
    *bits = sl_cur_u32be(c);
    if (c->bad || version != VERSION)
        return sl_err_set(err, SL_ECORRUPT, "the bloom filter is damaged: its head is cut off or of version %d", (int)version);
    if (type == 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "a bloom filter of Jenkins hashes is not supported");
    if (type != MURMUR || *hashes == 0 || *hashes > HASHES_MAX || *bits == 0 || *bits > INT32_MAX)
        return sl_err_set(err, SL_ECORRUPT, "the bloom filter is damaged: hash type %u, %u hashes, %u bits", type, *hashes, *bits);
    return SL_OK;
}

static int read_row(struct sl_bloom *b, struct sl_cur *c, uint32_t i, sl_err *err)
{
    uint32_t hashes, bits;

    SL_TRY(read_head(c, &hashes, &bits, err));
    if (b->bits == 0) {
        b->bits = bits;
        b->hashes = hashes;
    }
    sl_str bytes = sl_cur_bytes(c, (size_t)(bits / 8) + (bits % 8 ? 1 : 0));
    if (c->bad || bits != b->bits || hashes != b->hashes)
        return sl_err_set(err, SL_ECORRUPT, "the bloom filter is damaged: row %u does not fit", i);
    b->rows[i] = (uint8_t *)(uintptr_t)bytes.p; /* never written: parsed filters are only asked */
    return SL_OK;
}

int sl_bloom_parse(struct sl_arena *a, sl_str bytes, enum sl_bloom_kind kind, struct sl_bloom *out, sl_err *err)
{
    struct sl_cur c = sl_cur_of(bytes);

    *out = (struct sl_bloom){.kind = kind, .nrows = 1, .arena = a};
    if (kind == SL_BLOOM_DYNAMIC) {
        SL_TRY(read_head(&c, &out->hashes, &out->bits, err));
        out->row_keys = sl_cur_u32be(&c);
        out->current_keys = sl_cur_u32be(&c);
        out->nrows = sl_cur_u32be(&c);
        uint64_t row = HEAD + (uint64_t)(out->bits / 8) + (out->bits % 8 ? 1 : 0);
        if (c.bad || out->nrows == 0 || out->nrows > sl_cur_left(&c) / row)
            return sl_err_set(err, SL_ECORRUPT, "the bloom filter is damaged: %u rows do not fit %zu bytes", out->nrows, bytes.n);
    }
    out->rows = sl_arena_array(a, out->nrows, sizeof *out->rows);
    if (!out->rows)
        return sl_err_nomem(err);
    out->rows_max = out->nrows;
    for (uint32_t i = 0; i < out->nrows; i++)
        SL_TRY(read_row(out, &c, i, err));
    if (sl_cur_left(&c) != 0)
        return sl_err_set(err, SL_ECORRUPT, "the bloom filter is damaged: %zu bytes follow it", sl_cur_left(&c));
    return SL_OK;
}
