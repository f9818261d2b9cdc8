/* tsblock_nested.c - values of any type within one value of bytes, for the types that TsBlocks lack. */
#include "format/tsblock_priv.h"

/* ---- decimals ---- */

static bool digits_fit(sl_i128 d, int32_t precision)
{
    sl_i128 limit = 1;

    for (int32_t i = 0; i < precision; i++)
        limit *= 10;
    return d < limit && d > -limit;
}

bool ts_decimal_set(struct sl_vector *v, size_t row, sl_i128 d)
{
    if (!digits_fit(d, v->type->precision))
        return false;
    sl_vector_set_decimal(v, row, d);
    return true;
}

void ts_decimal_put(unsigned char *p, size_t size, sl_i128 d)
{
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)((unsigned __int128)d >> (8 * (size - 1 - i)));
}

sl_i128 ts_decimal_of(const unsigned char *p, size_t size)
{
    unsigned __int128 d = p[0] & 0x80 ? ~(unsigned __int128)0 : 0;

    for (size_t i = 0; i < size; i++)
        d = d << 8 | p[i];
    return (sl_i128)d;
}

/* ---- sizes ---- */

static size_t fixed_size(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: case SL_TINYINT: return 1;
    case SL_SMALLINT: return 2;
    case SL_INT: case SL_FLOAT: case SL_DATE: return 4;
    case SL_BIGINT: case SL_DOUBLE: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: return 8;
    case SL_DECIMAL: return ts_decimal_size(t->precision);
    default: return 0;
    }
}

static uint64_t entries_size(const struct sl_vector *v, size_t from, size_t n)
{
    uint64_t size = bits_bytes(n);

    for (size_t i = from; i < from + n; i++)
        if (!sl_vector_is_null(v, i))
            size += ts_nested_size(v, i);
    return size;
}

uint64_t ts_nested_size(const struct sl_vector *v, size_t row)
{
    uint64_t size = 0;
    size_t from, n;

    switch (v->type->kind) {
    case SL_CHAR: case SL_VARCHAR: case SL_BINARY: case SL_VARBINARY:
        return 4 + (uint64_t)sl_vector_bytes(v, row).n;
    case SL_ARRAY:
    case SL_MAP:
        sl_vector_list_get(v, row, &from, &n);
        size = 4;
        for (size_t i = 0; i < v->nchildren; i++)
            size += entries_size(&v->children[i], from, n);
        return size;
    case SL_ROW:
        size = bits_bytes(v->nchildren);
        for (size_t i = 0; i < v->nchildren; i++)
            if (!sl_vector_is_null(&v->children[i], row))
                size += ts_nested_size(&v->children[i], row);
        return size;
    default:
        return fixed_size(v->type);
    }
}

/* ---- writing ---- */

static unsigned char *put_fixed(unsigned char *p, const struct sl_vector *v, size_t row)
{
    size_t size = fixed_size(v->type);
    uint16_t half;

    if (v->type->kind == SL_DECIMAL) {
        ts_decimal_put(p, size, sl_vector_decimal(v, row));
    } else if (size == 1) {
        *p = ((const uint8_t *)v->data)[row];
    } else if (size == 2) {
        half = __builtin_bswap16(((const uint16_t *)v->data)[row]);
        memcpy(p, &half, sizeof half);
    } else if (size == 4) {
        put_be32(p, ((const uint32_t *)v->data)[row]);
    } else {
        put_be64(p, ((const uint64_t *)v->data)[row]);
    }
    return p + size;
}

static unsigned char *put_bytes(unsigned char *p, sl_str s)
{
    put_be32(p, (uint32_t)s.n);
    if (s.n)
        memcpy(p + 4, s.p, s.n);
    return p + 4 + s.n;
}

static unsigned char *put_entries(unsigned char *p, const struct sl_vector *v, size_t from, size_t n)
{
    unsigned char *nulls = p;

    memset(nulls, 0, bits_bytes(n));
    p += bits_bytes(n);
    for (size_t i = 0; i < n; i++) {
        if (sl_vector_is_null(v, from + i))
            nulls[i / 8] |= (unsigned char)(0x80 >> i % 8);
        else
            p = ts_nested_put(p, v, from + i);
    }
    return p;
}

static unsigned char *put_row(unsigned char *p, const struct sl_vector *v, size_t row)
{
    unsigned char *nulls = p;

    memset(nulls, 0, bits_bytes(v->nchildren));
    p += bits_bytes(v->nchildren);
    for (size_t i = 0; i < v->nchildren; i++) {
        if (sl_vector_is_null(&v->children[i], row))
            nulls[i / 8] |= (unsigned char)(0x80 >> i % 8);
        else
            p = ts_nested_put(p, &v->children[i], row);
    }
    return p;
}

unsigned char *ts_nested_put(unsigned char *p, const struct sl_vector *v, size_t row)
{
    size_t from, n;

    switch (v->type->kind) {
    case SL_CHAR: case SL_VARCHAR: case SL_BINARY: case SL_VARBINARY:
        return put_bytes(p, sl_vector_bytes(v, row));
    case SL_ARRAY:
    case SL_MAP:
        sl_vector_list_get(v, row, &from, &n);
        put_be32(p, (uint32_t)n);
        p += 4;
        for (size_t i = 0; i < v->nchildren; i++)
            p = put_entries(p, &v->children[i], from, n);
        return p;
    case SL_ROW:
        return put_row(p, v, row);
    default:
        return put_fixed(p, v, row);
    }
}

/* ---- reading ---- */

static int get_fixed(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why)
{
    size_t size = fixed_size(v->type);
    const unsigned char *p = (const unsigned char *)sl_cur_bytes(c, size).p;

    if (c->bad)
        return SL_OK;
    if (v->type->kind == SL_DECIMAL) {
        if (!ts_decimal_set(v, row, ts_decimal_of(p, size)))
            *why = "a decimal has more digits than its type";
    } else if (size == 1) {
        ((uint8_t *)v->data)[row] = *p;
        if (v->type->kind == SL_BOOLEAN && *p > 1)
            *why = "a boolean is neither 0 nor 1";
    } else if (size == 2) {
        ((uint16_t *)v->data)[row] = (uint16_t)(p[0] << 8 | p[1]);
    } else if (size == 4) {
        ((uint32_t *)v->data)[row] = get_be32(p);
    } else {
        ((uint64_t *)v->data)[row] = get_be64(p);
    }
    return SL_OK;
}

static int get_bytes(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why, sl_err *err)
{
    sl_str s = sl_cur_bytes(c, sl_cur_u32be(c));

    if (c->bad)
        return SL_OK;
    int rc = sl_vector_put_bytes(v, row, s, err);
    if (rc == SL_EINPUT) {
        *why = "a text is not UTF-8";
        rc = SL_OK;
    }
    return rc;
}

/* N values with their null bits in front, at the rows from FROM on. */
static int get_entries(struct sl_cur *c, struct sl_vector *v, size_t from, size_t n, const char **why, sl_err *err)
{
    const unsigned char *nulls = (const unsigned char *)sl_cur_bytes(c, bits_bytes(n)).p;

    for (size_t i = 0; i < n && !c->bad && !*why; i++) {
        if (bit_at(nulls, i))
            SL_TRY(sl_vector_set_null(v, from + i, err));
        else
            SL_TRY(ts_nested_get(c, v, from + i, why, err));
    }
    return SL_OK;
}

static int get_list(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why, sl_err *err)
{
    uint32_t n = sl_cur_u32be(c);
    size_t from = v->list_used, at = 0;

    if (bits_bytes(n) > sl_cur_left(c))
        c->bad = true;
    if (c->bad)
        return SL_OK;
    sl_vector_list_begin(v, row);
    for (uint32_t i = 0; i < n; i++)
        SL_TRY(sl_vector_list_put(v, &at, err));
    for (size_t i = 0; i < v->nchildren; i++)
        SL_TRY(get_entries(c, &v->children[i], from, n, why, err));
    sl_vector_list_end(v, row);
    return SL_OK;
}

static int get_row(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why, sl_err *err)
{
    const unsigned char *nulls = (const unsigned char *)sl_cur_bytes(c, bits_bytes(v->nchildren)).p;

    for (size_t i = 0; i < v->nchildren && !c->bad && !*why; i++) {
        if (bit_at(nulls, i))
            SL_TRY(sl_vector_set_null(&v->children[i], row, err));
        else
            SL_TRY(ts_nested_get(c, &v->children[i], row, why, err));
    }
    return SL_OK;
}

int ts_nested_get(struct sl_cur *c, struct sl_vector *v, size_t row, const char **why, sl_err *err)
{
    switch (v->type->kind) {
    case SL_CHAR: case SL_VARCHAR: case SL_BINARY: case SL_VARBINARY: return get_bytes(c, v, row, why, err);
    case SL_ARRAY: case SL_MAP: return get_list(c, v, row, why, err);
    case SL_ROW: return get_row(c, v, row, why, err);
    default: return get_fixed(c, v, row, why);
    }
}
