/* tsblock_priv.h - what writing and reading of TsBlocks share. */
#ifndef SL_FORMAT_TSBLOCK_PRIV_H
#define SL_FORMAT_TSBLOCK_PRIV_H

#include <string.h>

#include "data/value.h"
#include "format/tsblock.h"

enum ts_encoding { E_BYTE_ARRAY, E_INT32_ARRAY, E_INT64_ARRAY, E_BINARY_ARRAY, E_RLE, E_DICTIONARY };

static inline void put_be32(unsigned char *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static inline void put_be64(unsigned char *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

static inline uint32_t get_be32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static inline uint64_t get_be64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

static inline size_t bits_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

static inline bool bit_at(const unsigned char *bits, size_t i)
{
    return bits[i / 8] >> (7 - i % 8) & 1;
}

/* The encoding of the values of a type byte; -1 if the byte is none of a block's. */
int ts_encoding_of(int type);
/* Does a column of the block with type byte GOT hold what one of WANT does? */
bool ts_type_fits(enum sl_ts_type want, int got);

/* Is a value of the column the same 4 or 8 bytes in a vector, but for their order? */
static inline bool ts_same_number(const struct sl_ts_column *c)
{
    return c->form == SL_TS_PLAIN && c->ts != SL_TS_BOOLEAN && !ts_type_fits(SL_TS_TEXT, (int)c->ts) && c->type->kind != SL_TINYINT &&
           c->type->kind != SL_SMALLINT;
}

/* How many bytes a DECIMAL of this precision takes: 4, 8 or 16. */
static inline size_t ts_decimal_size(int32_t precision)
{
    return precision <= 9 ? 4 : precision <= 18 ? 8 : 16;
}
/* ... and in a vector, whose cells these read and write. */
bool ts_decimal_set(struct sl_vector *v, size_t row, sl_i128 d); /* false: more digits than the type has */
void ts_decimal_put(unsigned char *p, size_t size, sl_i128 d);
sl_i128 ts_decimal_of(const unsigned char *p, size_t size);

/* A value that is not null, of any type, as bytes: what SL_TS_NESTED holds. */
uint64_t ts_nested_size(const struct sl_vector *v, size_t row);
unsigned char *ts_nested_put(unsigned char *p, const struct sl_vector *v, size_t row); /* gives the end */
/* From C into ROW; C goes bad, or *WHY says what is wrong with the value (SL_ECORRUPT by the caller). Else SL_ENOMEM and the like. */
int ts_nested_get(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why, sl_err *err) SL_WUR;

#endif
