/* tsblock_write.c - rows of a batch as a TsBlock. */
#include "base/sys.h"
#include "format/tsblock_priv.h"

/* How one column will lie in the block; found anew for the size and for the bytes, so it depends on the rows alone. */
struct plan {
    enum ts_encoding values;
    bool rle;          /* all rows are alike */
    size_t rows;       /* written: 1 for rle */
    size_t nulls;      /* among those */
    uint64_t bytes;
};

int ts_encoding_of(int type)
{
    switch (type) {
    case SL_TS_BOOLEAN: return E_BYTE_ARRAY;
    case SL_TS_INT32: case SL_TS_FLOAT: case SL_TS_DATE: return E_INT32_ARRAY;
    case SL_TS_INT64: case SL_TS_DOUBLE: case SL_TS_TIMESTAMP: return E_INT64_ARRAY;
    case SL_TS_TEXT: case SL_TS_BLOB: case SL_TS_STRING: case SL_TS_OBJECT: return E_BINARY_ARRAY;
    default: return -1;
    }
}

/* ---- one value ---- */

static int32_t as_int32(const struct sl_ts_column *c, const struct sl_vector *v, size_t row)
{
    int64_t y;
    int m, d;

    if (c->form == SL_TS_UNSCALED)
        return (int32_t)sl_vector_decimal(v, row);
    if (c->form == SL_TS_YYYYMMDD) {
        sl_days_to_civil(((const int32_t *)v->data)[row], &y, &m, &d);
        return (int32_t)(y * 10000 + m * 100 + d);
    }
    switch (c->type->kind) {
    case SL_TINYINT: return ((const int8_t *)v->data)[row];
    case SL_SMALLINT: return ((const int16_t *)v->data)[row];
    default: return ((const int32_t *)v->data)[row]; /* FLOAT: its bits */
    }
}

static int64_t as_int64(const struct sl_ts_column *c, const struct sl_vector *v, size_t row)
{
    if (c->form == SL_TS_UNSCALED)
        return (int64_t)sl_vector_decimal(v, row);
    int64_t x = ((const int64_t *)v->data)[row]; /* DOUBLE: its bits */
    return c->form == SL_TS_MILLIS ? x / (c->type->precision > 6 ? 1000000 : 1000) : x;
}

static uint64_t bytes_size(const struct sl_ts_column *c, const struct sl_vector *v, size_t row)
{
    return c->form == SL_TS_NESTED ? ts_nested_size(v, row) : c->form == SL_TS_UNSCALED ? 16 : sl_vector_bytes(v, row).n;
}

static bool alike(const struct sl_ts_column *c, const struct sl_vector *v, size_t a, size_t b)
{
    switch (ts_encoding_of((int)c->ts)) {
    case E_BYTE_ARRAY: return !((const uint8_t *)v->data)[a] == !((const uint8_t *)v->data)[b];
    case E_INT32_ARRAY: return as_int32(c, v, a) == as_int32(c, v, b);
    case E_INT64_ARRAY: return as_int64(c, v, a) == as_int64(c, v, b);
    default: break;
    }
    if (c->form == SL_TS_NESTED)
        return false; /* too dear to find out */
    if (c->form == SL_TS_UNSCALED)
        return sl_vector_decimal(v, a) == sl_vector_decimal(v, b);
    return sl_str_eq(sl_vector_bytes(v, a), sl_vector_bytes(v, b));
}

/* ---- plans ---- */

static size_t count_nulls(const struct sl_vector *v, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; v->validity && i < to; i++)
        n += sl_vector_is_null(v, i);
    return n;
}

static uint64_t values_size(const struct sl_ts_column *c, const struct sl_vector *v, const struct plan *p, size_t from)
{
    uint64_t n = 0;

    switch (p->values) {
    case E_BYTE_ARRAY: return bits_bytes(p->rows);
    case E_INT32_ARRAY: return 4 * (uint64_t)(p->rows - p->nulls);
    case E_INT64_ARRAY: return 8 * (uint64_t)(p->rows - p->nulls);
    default: break;
    }
    for (size_t i = from; i < from + p->rows; i++)
        if (!p->nulls || !sl_vector_is_null(v, i))
            n += 4 + bytes_size(c, v, i);
    return n;
}

static struct plan plan_of(const struct sl_ts_column *c, const struct sl_vector *v, size_t from, size_t to)
{
    struct plan p = {.values = (enum ts_encoding)ts_encoding_of((int)c->ts), .rows = to - from, .nulls = count_nulls(v, from, to)};

    if (p.rows > 1 && p.nulls == p.rows) {
        p.rle = true;
    } else if (p.rows > 1 && p.nulls == 0) {
        size_t i = from + 1;

        while (i < to && alike(c, v, from, i))
            i++;
        p.rle = i == to;
    }
    if (p.rle) {
        p.rows = 1;
        p.nulls = p.nulls ? 1 : 0;
    }
    p.bytes = (p.rle ? 1 : 0) + 1 + (p.nulls ? bits_bytes(p.rows) : 0) + values_size(c, v, &p, from);
    return p;
}

static bool constant_times(const struct sl_tsblock_rows *r)
{
    return !r->times && r->to > r->from;
}

static int check_value(const struct sl_tsblock_rows *r, size_t col, size_t row, sl_err *err)
{
    const struct sl_vector *v = &r->batch->cols[col];
    const struct sl_ts_column *c = &r->cols[col];
    int64_t y, x;
    int m, d;

    if (sl_vector_is_null(v, row))
        return SL_OK;
    if (c->form == SL_TS_YYYYMMDD) {
        sl_days_to_civil(((const int32_t *)v->data)[row], &y, &m, &d);
        if (y < 1 || y > 9999)
            return sl_err_set(err, SL_EINPUT, "a date of the year %lld in column %zu does not fit a block (years 1 to 9999 do)",
                              (long long)y, col + 1);
    } else if (c->form == SL_TS_MILLIS) {
        x = ((const int64_t *)v->data)[row];
        if (x % (c->type->precision > 6 ? 1000000 : 1000) != 0)
            return sl_err_set(err, SL_EINPUT, "a timestamp in column %zu has more than milliseconds, which the block cannot hold",
                              col + 1);
    }
    return SL_OK;
}

int sl_tsblock_size(const struct sl_tsblock_rows *r, size_t *n, sl_err *err)
{
    size_t rows = r->to - r->from, ncols = r->batch->ncols;
    uint64_t total = 4 + (uint64_t)ncols + 4 + ncols + 1 + (constant_times(r) ? 10 : 1 + 8 * (uint64_t)rows);

    if (ncols > INT32_MAX || rows > INT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a block of %zu columns and %zu rows is too large", ncols, rows);
    for (size_t i = 0; i < ncols; i++) {
        if (r->cols[i].form == SL_TS_YYYYMMDD || r->cols[i].form == SL_TS_MILLIS)
            for (size_t row = r->from; row < r->to; row++)
                SL_TRY(check_value(r, i, row, err));
        total += plan_of(&r->cols[i], &r->batch->cols[i], r->from, r->to).bytes;
    }
    if (total > INT32_MAX) {
        sl_err_set(err, SL_EINPUT, "%zu rows take %llu bytes as a block, the format holds at most 2147483647", rows,
                   (unsigned long long)total);
        sl_err_hint(err, rows > 1 ? "send fewer rows in a block" : "split the value, or store it elsewhere and send where it is");
        return SL_EINPUT;
    }
    *n = (size_t)total;
    return SL_OK;
}

/* ---- bytes ---- */

static unsigned char *put_nulls(unsigned char *p, const struct sl_vector *v, const struct plan *plan, size_t from)
{
    *p++ = plan->nulls > 0;
    if (!plan->nulls)
        return p;
    memset(p, 0, bits_bytes(plan->rows));
    for (size_t i = 0; i < plan->rows; i++)
        if (sl_vector_is_null(v, from + i))
            p[i / 8] |= (unsigned char)(0x80 >> i % 8);
    return p + bits_bytes(plan->rows);
}

static unsigned char *put_bits(unsigned char *p, const struct sl_vector *v, const struct plan *plan, size_t from)
{
    memset(p, 0, bits_bytes(plan->rows));
    for (size_t i = 0; i < plan->rows; i++)
        if (((const uint8_t *)v->data)[from + i] && !(plan->nulls && sl_vector_is_null(v, from + i)))
            p[i / 8] |= (unsigned char)(0x80 >> i % 8);
    return p + bits_bytes(plan->rows);
}

static unsigned char *put_bytes(unsigned char *p, const struct sl_ts_column *c, const struct sl_vector *v, size_t row)
{
    uint64_t n = bytes_size(c, v, row);

    put_be32(p, (uint32_t)n);
    p += 4;
    if (c->form == SL_TS_NESTED)
        return ts_nested_put(p, v, row);
    if (c->form == SL_TS_UNSCALED)
        ts_decimal_put(p, 16, sl_vector_decimal(v, row));
    else if (n)
        memcpy(p, sl_vector_bytes(v, row).p, n);
    return p + n;
}

static unsigned char *put_numbers(unsigned char *p, const struct sl_vector *v, const struct plan *plan, size_t from)
{
    if (plan->values == E_INT32_ARRAY)
        for (size_t i = from; i < from + plan->rows; i++, p += 4)
            put_be32(p, ((const uint32_t *)v->data)[i]);
    else
        for (size_t i = from; i < from + plan->rows; i++, p += 8)
            put_be64(p, ((const uint64_t *)v->data)[i]);
    return p;
}

static unsigned char *put_values(unsigned char *p, const struct sl_ts_column *c, const struct sl_vector *v, const struct plan *plan,
                                 size_t from)
{
    if (plan->values == E_BYTE_ARRAY)
        return put_bits(p, v, plan, from);
    if (!plan->nulls && ts_same_number(c))
        return put_numbers(p, v, plan, from);
    for (size_t i = from; i < from + plan->rows; i++) {
        if (plan->nulls && sl_vector_is_null(v, i))
            continue;
        if (plan->values == E_INT32_ARRAY) {
            put_be32(p, (uint32_t)as_int32(c, v, i));
            p += 4;
        } else if (plan->values == E_INT64_ARRAY) {
            put_be64(p, (uint64_t)as_int64(c, v, i));
            p += 8;
        } else {
            p = put_bytes(p, c, v, i);
        }
    }
    return p;
}

static unsigned char *put_times(unsigned char *p, const struct sl_tsblock_rows *r)
{
    if (constant_times(r)) {
        memset(p, 0, 10);
        *p = E_INT64_ARRAY;
        return p + 10;
    }
    *p++ = 0;
    for (size_t i = 0; i < r->to - r->from; i++, p += 8)
        put_be64(p, (uint64_t)r->times[i]);
    return p;
}

/* The number that is written for a type: the reference reader knows the types of the column classes alone. */
static unsigned char written_type(enum sl_ts_type t)
{
    switch (t) {
    case SL_TS_TIMESTAMP: return SL_TS_INT64;
    case SL_TS_DATE: return SL_TS_INT32;
    case SL_TS_BLOB: case SL_TS_STRING: case SL_TS_OBJECT: return SL_TS_TEXT;
    default: return (unsigned char)t;
    }
}

void sl_tsblock_write(const struct sl_tsblock_rows *r, void *out, size_t n)
{
    size_t ncols = r->batch->ncols;
    unsigned char *p = out, *encodings;

    (void)n;
    put_be32(p, (uint32_t)ncols);
    p += 4;
    for (size_t i = 0; i < ncols; i++)
        *p++ = written_type(r->cols[i].ts);
    put_be32(p, (uint32_t)(r->to - r->from));
    encodings = p + 4;
    p = encodings + ncols + 1;
    encodings[0] = constant_times(r) ? E_RLE : E_INT64_ARRAY;
    p = put_times(p, r);
    for (size_t i = 0; i < ncols; i++) {
        const struct sl_vector *v = &r->batch->cols[i];
        struct plan plan = plan_of(&r->cols[i], v, r->from, r->to);

        encodings[i + 1] = (unsigned char)(plan.rle ? E_RLE : plan.values);
        if (plan.rle)
            *p++ = (unsigned char)plan.values;
        p = put_nulls(p, v, &plan, r->from);
        p = put_values(p, &r->cols[i], v, &plan, r->from);
    }
}

int sl_tsblock_encode(const struct sl_tsblock_rows *rows, struct sl_buf *out, sl_err *err)
{
    size_t n;

    SL_TRY(sl_tsblock_size(rows, &n, err));
    char *room = sl_buf_room(out, n);
    if (!room)
        return sl_err_nomem(err);
    sl_tsblock_write(rows, room, n);
    out->n += n;
    return SL_OK;
}

int sl_tsblock_value_head(char head[SL_TSBLOCK_VALUE_HEAD], int64_t time, size_t n, sl_err *err)
{
    unsigned char *p = (unsigned char *)head;

    if (n > INT32_MAX - SL_TSBLOCK_VALUE_HEAD)
        return sl_err_set(err, SL_EINPUT, "a value of %zu bytes exceeds what a block can hold (%d)", n, INT32_MAX - SL_TSBLOCK_VALUE_HEAD);
    put_be32(p, 1);
    p[4] = SL_TS_TEXT;
    put_be32(p + 5, 1);
    p[9] = E_INT64_ARRAY;
    p[10] = E_BINARY_ARRAY;
    p[11] = 0;
    put_be64(p + 12, (uint64_t)time);
    p[20] = 0;
    put_be32(p + 21, (uint32_t)n);
    return SL_OK;
}
