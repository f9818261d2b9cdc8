/* binrow.c - BinaryRow, the bytes of partition values and of bounds. */
#include <string.h>

#include "format/format_priv.h"
#include "format/paimon.h"

static size_t null_area(size_t arity)
{
    return (arity + 63 + 8) / 64 * 8;
}

static bool compact_time(const struct sl_type *t)
{
    return t->precision <= 3;
}

/* Kinds whose nulls keep their room in the variable part. */
static size_t reserved(const struct sl_type *t)
{
    if (t->kind == SL_DECIMAL)
        return t->precision > 18 ? 16 : 0;
    if (t->kind == SL_TIMESTAMP || t->kind == SL_TIMESTAMP_LTZ)
        return compact_time(t) ? 0 : 8;
    return 0;
}

/* ---- encode ---- */

static void set_slot(struct sl_buf *b, size_t slot, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        b->p[slot + (size_t)i] = (char)(v >> (8 * i));
}

static void add_var(struct sl_buf *b, size_t start, size_t slot, uint32_t low, const void *p, size_t n, size_t room)
{
    static const char zeros[16];
    uint64_t offset = b->n - start;

    set_slot(b, slot, offset << 32 | low);
    if (n)
        sl_buf_addb(b, p, n);
    for (size_t pad = room - n; pad > 0; pad -= pad < 16 ? pad : 16)
        sl_buf_addb(b, zeros, pad < 16 ? pad : 16);
}

static void add_bytes(struct sl_buf *b, size_t start, size_t slot, sl_str s)
{
    if (s.n > 7) {
        add_var(b, start, slot, (uint32_t)s.n, s.p, s.n, (s.n + 7) / 8 * 8);
        return;
    }
    if (s.n)
        memcpy(b->p + slot, s.p, s.n);
    b->p[slot + 7] = (char)(0x80 + s.n);
}

static void add_decimal(struct sl_buf *b, size_t start, size_t slot, sl_i128 d)
{
    unsigned char be[16];
    size_t skip = 0;

    for (int i = 0; i < 16; i++)
        be[15 - i] = (unsigned char)((unsigned __int128)d >> (8 * i));
    /* The shortest two's complement: leading bytes that only repeat the sign go. */
    while (skip < 15 && ((be[skip] == 0 && be[skip + 1] < 0x80) || (be[skip] == 0xff && be[skip + 1] >= 0x80)))
        skip++;
    add_var(b, start, slot, (uint32_t)(16 - skip), be + skip, 16 - skip, 16);
}

static void add_value(struct sl_buf *b, size_t start, size_t slot, const struct sl_type *t, const struct sl_value *v)
{
    uint64_t bits = 0;
    float f;

    switch (t->kind) {
    case SL_BOOLEAN:
        b->p[slot] = v->u.b;
        break;
    case SL_TINYINT:
        b->p[slot] = (char)v->u.i;
        break;
    case SL_SMALLINT:
        set_slot(b, slot, (uint16_t)v->u.i);
        break;
    case SL_INT:
    case SL_DATE:
    case SL_TIME:
        set_slot(b, slot, (uint32_t)v->u.i);
        break;
    case SL_BIGINT:
        set_slot(b, slot, (uint64_t)v->u.i);
        break;
    case SL_FLOAT:
        f = (float)v->u.f;
        memcpy(&bits, &f, 4);
        set_slot(b, slot, bits);
        break;
    case SL_DOUBLE:
        memcpy(&bits, &v->u.f, 8);
        set_slot(b, slot, bits);
        break;
    case SL_DECIMAL:
        if (t->precision > 18)
            add_decimal(b, start, slot, v->u.d);
        else
            set_slot(b, slot, (uint64_t)v->u.d);
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        if (compact_time(t)) {
            set_slot(b, slot, (uint64_t)v->u.t.ms);
        } else {
            char ms[8];

            for (int i = 0; i < 8; i++)
                ms[i] = (char)((uint64_t)v->u.t.ms >> (8 * i));
            add_var(b, start, slot, (uint32_t)v->u.t.ns, ms, 8, 8);
        }
        break;
    default:
        add_bytes(b, start, slot, v->u.s);
    }
}

int sl_binrow_encode(const struct sl_type *const *types, const struct sl_value *values, size_t n, struct sl_buf *out, sl_err *err)
{
    size_t fixed = null_area(n) + 8 * n;

    sl_buf_u32be(out, (uint32_t)n);
    size_t start = out->n;
    char *row = sl_buf_room(out, fixed);
    if (!row)
        return sl_err_nomem(err);
    memset(row, 0, fixed);
    out->n += fixed;
    for (size_t i = 0; i < n; i++) {
        size_t slot = start + null_area(n) + 8 * i;

        if (out->failed)
            return sl_err_nomem(err);
        if (!values[i].null) {
            if (!sl_type_atomic(types[i]))
                return sl_err_set(err, SL_EUNSUPPORTED, "a nested value cannot stand in a partition or a bound");
            add_value(out, start, slot, types[i], &values[i]);
            continue;
        }
        out->p[start + (i + 8) / 8] = (char)(out->p[start + (i + 8) / 8] | 1 << (i + 8) % 8);
        if (reserved(types[i]))
            add_var(out, start, slot, 0, NULL, 0, reserved(types[i]));
    }
    return sl_buf_ok(out, err);
}

/* ---- decode ---- */

bool sl_binrow_arity(sl_str row, uint32_t *out)
{
    struct sl_cur c = sl_cur_of(row);

    *out = sl_cur_u32be(&c);
    return !c.bad && sl_cur_left(&c) >= 8 && *out <= sl_cur_left(&c) / 8 &&
           null_area(*out) + 8 * (size_t)*out <= sl_cur_left(&c);
}

static uint64_t load(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = n; i-- > 0;)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* The piece that SLOT points to; false if it lies outside. */
static bool piece(sl_str row, uint64_t slot, size_t n, sl_str *out)
{
    size_t offset = (size_t)(slot >> 32);

    if (offset > row.n || n > row.n - offset)
        return false;
    *out = (sl_str){row.p + offset, n};
    return true;
}

static bool get_bytes(sl_str row, const char *slot, sl_str *out)
{
    unsigned char last = (unsigned char)slot[7];
    uint64_t v = load(slot, 8);

    if (last & 0x80) {
        *out = (sl_str){slot, last & 0x7f};
        return (last & 0x7f) <= 7;
    }
    return piece(row, v, (size_t)(v & 0xffffffff), out);
}

static bool get_decimal(sl_str row, const struct sl_type *t, const char *slot, sl_i128 *out)
{
    uint64_t v = load(slot, 8);
    sl_str be;

    if (t->precision <= 18) {
        *out = (int64_t)v;
        return true;
    }
    size_t n = (size_t)(v & 0xffffffff);
    if (n < 1 || n > 16 || !piece(row, v, n, &be))
        return false;
    unsigned __int128 d = (unsigned char)be.p[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < n; i++)
        d = d << 8 | (unsigned char)be.p[i];
    *out = (sl_i128)d;
    return true;
}

static bool get_time(sl_str row, const struct sl_type *t, const char *slot, struct sl_value *out)
{
    uint64_t v = load(slot, 8);
    sl_str ms;

    if (compact_time(t)) {
        out->u.t.ms = (int64_t)v;
        return true;
    }
    if ((v & 0xffffffff) > 999999 || !piece(row, v, 8, &ms))
        return false;
    out->u.t.ms = (int64_t)load(ms.p, 8);
    out->u.t.ns = (int32_t)(v & 0xffffffff);
    return true;
}

static bool get_value(sl_str row, const struct sl_type *t, const char *slot, struct sl_value *out)
{
    uint64_t v = load(slot, 8);
    float f;

    switch (t->kind) {
    case SL_BOOLEAN:
        out->u.b = slot[0] != 0;
        return true;
    case SL_TINYINT:
        out->u.i = (int8_t)v;
        return true;
    case SL_SMALLINT:
        out->u.i = (int16_t)v;
        return true;
    case SL_INT:
    case SL_DATE:
    case SL_TIME:
        out->u.i = (int32_t)v;
        return true;
    case SL_BIGINT:
        out->u.i = (int64_t)v;
        return true;
    case SL_FLOAT:
        memcpy(&f, slot, 4);
        out->u.f = f;
        return true;
    case SL_DOUBLE:
        memcpy(&out->u.f, slot, 8);
        return true;
    case SL_DECIMAL:
        return get_decimal(row, t, slot, &out->u.d);
    case SL_CHAR:
    case SL_VARCHAR:
    case SL_BINARY:
    case SL_VARBINARY:
        return get_bytes(row, slot, &out->u.s);
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        return get_time(row, t, slot, out);
    default: /* nested: nothing is known of it */
        out->null = true;
        return true;
    }
}

bool sl_binrow_column(sl_str row, const struct sl_type *const *types, size_t n, size_t i, struct sl_value *out)
{
    uint32_t arity;

    *out = (struct sl_value){.kind = types[i]->kind};
    if (!sl_binrow_arity(row, &arity) || arity != n)
        return false;
    row = sl_str_sub(row, 4, row.n);
    out->null = (unsigned char)row.p[(i + 8) / 8] >> (i + 8) % 8 & 1;
    return out->null || get_value(row, types[i], row.p + null_area(n) + 8 * i, out);
}

int sl_binrow_decode(sl_str row, const struct sl_type *const *types, size_t n, struct sl_value *values, sl_err *err)
{
    uint32_t arity;

    if (!sl_binrow_arity(row, &arity))
        return sl_err_set(err, SL_ECORRUPT, "a row of %zu bytes is cut off", row.n);
    if (arity != n)
        return sl_err_set(err, SL_ECORRUPT, "a row has %u columns instead of %zu", arity, n);
    for (size_t i = 0; i < n; i++)
        if (!sl_binrow_column(row, types, n, i, &values[i]))
            return sl_err_set(err, SL_ECORRUPT, "column %zu of a row points outside of it", i);
    return SL_OK;
}
