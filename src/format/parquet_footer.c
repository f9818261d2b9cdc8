/* parquet_footer.c - walks FileMetaData in Thrift's compact protocol for two of its fields. */
#include "format/parquet_footer.h"

#include <string.h>

enum { DEPTH_MAX = 32 };
enum { T_STOP, T_TRUE, T_FALSE, T_BYTE, T_I16, T_I32, T_I64, T_DOUBLE, T_BINARY, T_LIST, T_SET, T_MAP, T_STRUCT };

int sl_parquet_footer_size(sl_str tail, uint64_t file_size, uint32_t *size, sl_err *err)
{
    struct sl_cur c = sl_cur_of(tail);

    *size = sl_cur_u32le(&c);
    sl_str magic = sl_cur_bytes(&c, 4);
    if (sl_str_eqc(magic, "PARE"))
        return sl_err_set(err, SL_EUNSUPPORTED, "encrypted Parquet is not supported");
    if (c.bad || !sl_str_eqc(magic, "PAR1") || file_size < SL_PARQUET_TAIL + 4 || *size > file_size - SL_PARQUET_TAIL - 4)
        return sl_err_set(err, SL_ECORRUPT, "the Parquet file of %llu bytes is damaged at its end", (unsigned long long)file_size);
    return SL_OK;
}

static uint64_t varint(struct sl_cur *c)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = sl_cur_u8(c);

        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
    c->bad = true;
    return 0;
}

static sl_str binary(struct sl_cur *c)
{
    uint64_t n = varint(c);

    if (c->bad || n > sl_cur_left(c)) {
        c->bad = true;
        return (sl_str){NULL, 0};
    }
    return n ? sl_cur_bytes(c, n) : (sl_str){"", 0};
}

/* The next field of a struct: its type, T_STOP at the end; *ID counts on. */
static uint8_t field(struct sl_cur *c, int64_t *id)
{
    uint8_t b = sl_cur_u8(c);

    if (c->bad || (b & 15) == T_STOP)
        return T_STOP;
    if (b >> 4)
        *id += b >> 4;
    else
        *id = sl_cur_zigzag(c);
    return b & 15;
}

/* Head of a list or set: *TYPE of the items; how many, never more than bytes are left. */
static uint64_t list(struct sl_cur *c, uint8_t *type)
{
    uint8_t b = sl_cur_u8(c);
    uint64_t n = b >> 4 == 15 ? varint(c) : b >> 4;

    *type = b & 15;
    if (c->bad || n > sl_cur_left(c)) {
        c->bad = true;
        return 0;
    }
    return n;
}

static void skip(struct sl_cur *c, uint8_t type, bool item, int depth);

static void skip_items(struct sl_cur *c, int depth)
{
    uint8_t type;

    for (uint64_t n = list(c, &type); n > 0 && !c->bad; n--)
        skip(c, type, true, depth);
}

static void skip_map(struct sl_cur *c, int depth)
{
    uint64_t n = varint(c);

    if (n == 0 || c->bad)
        return;
    uint8_t types = sl_cur_u8(c);
    for (; n > 0 && !c->bad; n--) {
        skip(c, types >> 4, true, depth);
        skip(c, types & 15, true, depth);
    }
}

/* ITEM: of a list or map, where booleans have a byte of their own. */
static void skip(struct sl_cur *c, uint8_t type, bool item, int depth)
{
    int64_t id = 0;

    if (depth > DEPTH_MAX)
        c->bad = true;
    if (c->bad)
        return;
    switch (type) {
    case T_TRUE:
    case T_FALSE:
        if (item)
            (void)sl_cur_u8(c);
        break;
    case T_BYTE:
        (void)sl_cur_u8(c);
        break;
    case T_I16:
    case T_I32:
    case T_I64:
        (void)varint(c);
        break;
    case T_DOUBLE:
        (void)sl_cur_u64le(c);
        break;
    case T_BINARY:
        (void)binary(c);
        break;
    case T_LIST:
    case T_SET:
        skip_items(c, depth + 1);
        break;
    case T_MAP:
        skip_map(c, depth + 1);
        break;
    case T_STRUCT:
        for (uint8_t t; (t = field(c, &id)) != T_STOP && !c->bad;)
            skip(c, t, false, depth + 1);
        break;
    default:
        c->bad = true;
        break;
    }
}

static int read_kv(struct sl_arena *a, struct sl_cur *c, struct sl_parquet_footer *out, sl_err *err)
{
    uint8_t type;
    uint64_t n = list(c, &type);

    if (c->bad || (n && type != T_STRUCT)) {
        c->bad = true;
        return SL_OK;
    }
    struct sl_hudi_kv *kv = sl_arena_array(a, n ? n : 1, sizeof *kv);
    if (!kv)
        return sl_err_nomem(err);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        int64_t id = 0;

        for (uint8_t t; (t = field(c, &id)) != T_STOP && !c->bad;) {
            if (t == T_BINARY && (id == 1 || id == 2))
                *(id == 1 ? &kv[i].key : &kv[i].value) = binary(c);
            else
                skip(c, t, false, 0);
        }
    }
    out->kv = kv;
    out->nkv = n;
    return SL_OK;
}

int sl_parquet_footer_read(struct sl_arena *a, sl_str footer, struct sl_parquet_footer *out, sl_err *err)
{
    struct sl_cur c = sl_cur_of(footer);
    int64_t id = 0;

    *out = (struct sl_parquet_footer){.rows = -1};
    for (uint8_t t; (t = field(&c, &id)) != T_STOP && !c.bad;) {
        if (t == T_I64 && id == 3)
            out->rows = sl_cur_zigzag(&c);
        else if (t == T_LIST && id == 5)
            SL_TRY(read_kv(a, &c, out, err));
        else
            skip(&c, t, false, 0);
    }
    if (c.bad || out->rows < 0)
        return sl_err_set(err, SL_ECORRUPT, "the footer of a Parquet file is damaged at byte %zu of %zu", sl_cur_pos(&c), footer.n);
    return SL_OK;
}
