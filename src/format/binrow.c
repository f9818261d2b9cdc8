/* binrow.c - BinaryRow: values to bytes and back. */
#include "format/paimon.h"

#include <string.h>

static size_t null_area(size_t n)
{
    return (n + 63 + 8) / 64 * 8;
}

static bool is_bytes(enum sl_kind k)
{
    return k == SL_CHAR || k == SL_VARCHAR || k == SL_BINARY || k == SL_VARBINARY;
}

static bool is_timestamp(enum sl_kind k)
{
    return k == SL_TIMESTAMP || k == SL_TIMESTAMP_LTZ;
}

/* Bytes that the value takes in the variable part. */
static size_t variable(const struct sl_type *t, const struct sl_value *v)
{
    if (t->kind == SL_DECIMAL)
        return t->precision > 18 ? 16 : 0;
    if (is_timestamp(t->kind))
        return t->precision > 3 ? 8 : 0;
    if (is_bytes(t->kind) && !v->null && v->u.s.n > 7)
        return (v->u.s.n + 7) / 8 * 8;
    return 0;
}

static void put_le(char *p, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(v >> (8 * i));
}

static uint64_t get_le(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

/* Shortest big-endian two's complement; number of bytes. */
static size_t put_big(char *p, sl_i128 v)
{
    size_t n = 16;

    while (n > 1) {
        sl_i128 high = v >> (8 * (n - 1) - 1);

        if (high != 0 && high != -1)
            break;
        n--;
    }
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(v >> (8 * (n - 1 - i)));
    return n;
}

static void put_slot(char *row, char *slot, size_t *at, const struct sl_type *t, const struct sl_value *v)
{
    size_t room = variable(t, v);
    uint64_t where = (uint64_t)*at << 32;

    if (v->null) {
        if (room)
            put_le(slot, where, 8);
        *at += room;
        return;
    }
    switch (t->kind) {
    case SL_BOOLEAN:
        slot[0] = v->u.b;
        break;
    case SL_TINYINT:
        put_le(slot, (uint64_t)v->u.i, 1);
        break;
    case SL_SMALLINT:
        put_le(slot, (uint64_t)v->u.i, 2);
        break;
    case SL_INT:
    case SL_DATE:
    case SL_TIME:
        put_le(slot, (uint64_t)v->u.i, 4);
        break;
    case SL_BIGINT:
        put_le(slot, (uint64_t)v->u.i, 8);
        break;
    case SL_FLOAT: {
        float f = (float)v->u.f;
        uint32_t u;

        memcpy(&u, &f, 4);
        put_le(slot, u, 4);
        break;
    }
    case SL_DOUBLE: {
        uint64_t u;

        memcpy(&u, &v->u.f, 8);
        put_le(slot, u, 8);
        break;
    }
    case SL_DECIMAL:
        if (t->precision <= 18)
            put_le(slot, (uint64_t)v->u.d, 8);
        else
            put_le(slot, where | put_big(row + *at, v->u.d), 8);
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        if (t->precision <= 3) {
            put_le(slot, (uint64_t)v->u.t.ms, 8);
        } else {
            put_le(row + *at, (uint64_t)v->u.t.ms, 8);
            put_le(slot, where | (uint32_t)v->u.t.ns, 8);
        }
        break;
    default:
        if (v->u.s.n <= 7) {
            if (v->u.s.n)
                memcpy(slot, v->u.s.p, v->u.s.n);
            slot[7] = (char)(0x80 + v->u.s.n);
        } else {
            memcpy(row + *at, v->u.s.p, v->u.s.n);
            put_le(slot, where | v->u.s.n, 8);
        }
    }
    *at += room;
}

int sl_binrow_encode(const struct sl_type *const *types, const struct sl_value *values, size_t n, struct sl_buf *out, sl_err *err)
{
    size_t fixed = null_area(n) + 8 * n, total = fixed, at = fixed;
    char *row;

    for (size_t i = 0; i < n; i++) {
        if (!sl_type_atomic(types[i]) && !values[i].null)
            return sl_err_set(err, SL_EBUG, "a nested value cannot stand in a row of statistics");
        if (!values[i].null && is_bytes(types[i]->kind) && values[i].u.s.n > INT32_MAX)
            return sl_err_set(err, SL_EINPUT, "a value is too long for a row");
        total += variable(types[i], &values[i]);
    }
    sl_buf_u32be(out, (uint32_t)n);
    row = sl_buf_room(out, total);
    if (!row)
        return sl_err_nomem(err);
    memset(row, 0, total);
    for (size_t i = 0; i < n; i++) {
        if (values[i].null)
            row[(i + 8) / 8] |= (char)(1 << ((i + 8) % 8));
        put_slot(row, row + null_area(n) + 8 * i, &at, types[i], &values[i]);
    }
    out->n += total;
    return sl_buf_ok(out, err);
}

bool sl_binrow_arity(sl_str row, uint32_t *out)
{
    struct sl_cur c = sl_cur_of(row);

    *out = sl_cur_u32be(&c);
    return !c.bad;
}

/* The piece that a slot of offset and length names. */
static bool piece(sl_str row, uint64_t slot, size_t fixed, size_t length, sl_str *out)
{
    size_t offset = (size_t)(slot >> 32);

    if (offset < fixed || offset > row.n || length > row.n - offset)
        return false;
    *out = (sl_str){row.p + offset, length};
    return true;
}

static bool get_slot(sl_str row, const char *slot, size_t fixed, const struct sl_type *t, struct sl_value *v)
{
    uint64_t u = get_le(slot, 8);
    sl_str part;

    switch (t->kind) {
    case SL_BOOLEAN:
        v->u.b = slot[0] != 0;
        return true;
    case SL_TINYINT:
        v->u.i = (int8_t)slot[0];
        return true;
    case SL_SMALLINT:
        v->u.i = (int16_t)u;
        return true;
    case SL_INT:
    case SL_DATE:
    case SL_TIME:
        v->u.i = (int32_t)u;
        return true;
    case SL_BIGINT:
        v->u.i = (int64_t)u;
        return true;
    case SL_FLOAT: {
        uint32_t bits = (uint32_t)u;
        float f;

        memcpy(&f, &bits, 4);
        v->u.f = (double)f;
        return true;
    }
    case SL_DOUBLE:
        memcpy(&v->u.f, &u, 8);
        return true;
    case SL_DECIMAL:
        if (t->precision <= 18) {
            v->u.d = (int64_t)u;
            return true;
        }
        if ((uint32_t)u < 1 || (uint32_t)u > 16 || !piece(row, u, fixed, (uint32_t)u, &part))
            return false;
        v->u.d = (signed char)part.p[0] < 0 ? -1 : 0;
        for (size_t i = 0; i < part.n; i++)
            v->u.d = (sl_i128)((unsigned __int128)v->u.d << 8 | (unsigned char)part.p[i]);
        return true;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        if (t->precision <= 3) {
            v->u.t.ms = (int64_t)u;
            v->u.t.ns = 0;
            return true;
        }
        if ((uint32_t)u > 999999 || !piece(row, u, fixed, 8, &part))
            return false;
        v->u.t.ms = (int64_t)get_le(part.p, 8);
        v->u.t.ns = (int32_t)(uint32_t)u;
        return true;
    default:
        if ((unsigned char)slot[7] & 0x80) {
            if (((unsigned char)slot[7] & 0x7f) > 7)
                return false;
            v->u.s = (sl_str){slot, (unsigned char)slot[7] & 0x7f};
            return true;
        }
        return piece(row, u, fixed, (uint32_t)u, &v->u.s);
    }
}

int sl_binrow_decode(sl_str row, const struct sl_type *const *types, size_t n, struct sl_value *values, sl_err *err)
{
    size_t fixed = null_area(n) + 8 * n;
    uint32_t arity;
    sl_str body;

    if (!sl_binrow_arity(row, &arity) || arity != n)
        return sl_err_set(err, SL_ECORRUPT, "a row does not have the %zu columns that it should have", n);
    body = sl_str_sub(row, 4, row.n);
    if (body.n < fixed)
        return sl_err_set(err, SL_ECORRUPT, "a row of %zu columns has only %zu bytes", n, body.n);
    for (size_t i = 0; i < n; i++) {
        memset(&values[i], 0, sizeof values[i]);
        values[i].kind = types[i]->kind;
        values[i].null = (unsigned char)body.p[(i + 8) / 8] >> ((i + 8) % 8) & 1;
        if (values[i].null)
            continue;
        if (!sl_type_atomic(types[i]) || !get_slot(body, body.p + null_area(n) + 8 * i, fixed, types[i], &values[i]))
            return sl_err_set(err, SL_ECORRUPT, "column %zu of a row points outside of it", i);
    }
    return SL_OK;
}
