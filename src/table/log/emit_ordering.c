/* emit_ordering.c - ordering values of deletes: of the class in which stock readers hold the column's values, or the delete would not be compared. */
#include <string.h>

#include "table/log/emit.h"

static int decimal(const struct sl_vector *v, size_t row, struct sl_arena *a, struct sl_hudi_ordering *out, sl_err *err)
{
    enum { SCALE = 15 }; /* of the wrapper */
    const int32_t p = v->type->precision;
    sl_i128 n = sl_vector_decimal(v, row);
    unsigned char *bytes = sl_arena_alloc(a, 16);
    size_t from = 0;

    if (!bytes)
        return sl_err_nomem(err);
    if (v->type->scale > SCALE || p - v->type->scale > 15)
        return sl_err_set(err, SL_EUNSUPPORTED, "a delete with an ordering value of DECIMAL(%d, %d) is not supported", (int)p, (int)v->type->scale);
    for (int32_t s = v->type->scale; s < SCALE; s++)
        n *= 10;
    for (int i = 15; i >= 0; i--, n >>= 8)
        bytes[i] = (unsigned char)n;
    while (from < 15 && ((bytes[from] == 0 && !(bytes[from + 1] & 0x80)) || (bytes[from] == 0xff && (bytes[from + 1] & 0x80))))
        from++;
    *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_DECIMAL, .s = {(const char *)bytes + from, 16 - from}};
    return SL_OK;
}

static int text(const struct sl_vector *v, size_t row, struct sl_arena *a, enum sl_hudi_ordering_kind kind, struct sl_hudi_ordering *out,
                sl_err *err)
{
    *out = (struct sl_hudi_ordering){.kind = kind, .s = sl_arena_str(a, sl_vector_bytes(v, row))};
    return out->s.p ? SL_OK : sl_err_nomem(err);
}

/* The wrapper of an int with 0 says that there is no event time, so that value goes into one of a long. */
static void whole(int32_t n, struct sl_hudi_ordering *out)
{
    *out = (struct sl_hudi_ordering){.kind = n ? SL_HUDI_ORD_INT : SL_HUDI_ORD_LONG, .i = n};
}

int sl_emit_ordering(const struct sl_vector *v, size_t row, struct sl_arena *a, struct sl_hudi_ordering *out, sl_err *err)
{
    *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_INT}; /* 0: no event time */
    if (sl_vector_is_null(v, row))
        return SL_OK;
    switch (v->type->kind) {
    case SL_BOOLEAN: *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_BOOLEAN, .i = ((const uint8_t *)v->data)[row]}; return SL_OK;
    case SL_TINYINT: whole(((const int8_t *)v->data)[row], out); return SL_OK;
    case SL_SMALLINT: whole(((const int16_t *)v->data)[row], out); return SL_OK;
    case SL_INT: whole(((const int32_t *)v->data)[row], out); return SL_OK;
    case SL_DATE: *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_DATE, .i = ((const int32_t *)v->data)[row]}; return SL_OK;
    case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: /* as the number that Avro has: milliseconds or microseconds */
        *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_LONG, .i = ((const int64_t *)v->data)[row] / (v->type->precision <= 3 ? 1000 : 1)};
        return SL_OK;
    case SL_TIME: *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_TIME_MICROS, .i = ((const int64_t *)v->data)[row]}; return SL_OK;
    case SL_BIGINT:
        *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_LONG, .i = ((const int64_t *)v->data)[row]};
        return SL_OK;
    case SL_FLOAT: *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_FLOAT, .f = (double)((const float *)v->data)[row]}; return SL_OK;
    case SL_DOUBLE: *out = (struct sl_hudi_ordering){.kind = SL_HUDI_ORD_DOUBLE, .f = ((const double *)v->data)[row]}; return SL_OK;
    case SL_DECIMAL: return decimal(v, row, a, out, err);
    case SL_CHAR: case SL_VARCHAR: return text(v, row, a, SL_HUDI_ORD_STRING, out, err);
    case SL_BINARY: case SL_VARBINARY: return text(v, row, a, SL_HUDI_ORD_BYTES, out, err);
    default: return sl_err_set(err, SL_EUNSUPPORTED, "a nested value cannot order rows");
    }
}
