/* thrift.c - the tokens of Thrift's binary and compact protocol, and frames. */
#include "format/thrift_priv.h"

#include <string.h>

enum { NAME_MAX_BYTES = 64, COMPACT_ID = 0x82 };

/* Compact type numbers in their order: true, false, byte, ... */
static const uint8_t compact_types[] = {T_STOP, T_BOOL, T_BOOL, T_BYTE, T_I16, T_I32, T_I64, T_DOUBLE, T_STRING, T_LIST, T_SET, T_MAP,
                                        T_STRUCT, T_UUID};

/* ---- frames ---- */

int sl_frame_length(const void *head, size_t max, size_t *n, sl_err *err)
{
    const unsigned char *b = head;
    uint32_t v = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];

    if (memcmp(b, "GET ", 4) == 0 || memcmp(b, "POST", 4) == 0 || memcmp(b, "HEAD", 4) == 0 || memcmp(b, "PUT ", 4) == 0)
        return sl_err_set(err, SL_ECORRUPT, "the peer speaks HTTP, not framed Thrift");
    if (b[0] == 0x16 && b[1] == 3 && b[2] <= 3 && b[3] <= 2) /* far above any frame limit in use, if it were a length */
        return sl_err_set(err, SL_ECORRUPT, "the peer begins with a TLS hello, but TLS is off here");
    if (b[0] == 0x15 && b[1] == 3 && b[2] <= 3)
        return sl_err_set(err, SL_ECORRUPT, "the peer answers with a TLS alert, but TLS is off here");
    if (b[0] == 0x80 && b[1] == 1)
        return sl_err_set(err, SL_ECORRUPT, "the peer speaks Thrift without frames");
    if (v > INT32_MAX)
        return sl_err_set(err, SL_ECORRUPT, "a frame of negative length (%d) came", (int32_t)v);
    if (v == 0)
        return sl_err_set(err, SL_ECORRUPT, "an empty frame came");
    if (v > max)
        return sl_err_set(err, SL_ECORRUPT, "a frame of %u bytes came, the limit is %zu", v, max);
    *n = v;
    return SL_OK;
}

bool sl_thrift_protocol_of(sl_str message, enum sl_thrift_protocol *out)
{
    unsigned char first = message.n ? (unsigned char)message.p[0] : 0;

    *out = first == COMPACT_ID ? SL_THRIFT_COMPACT : SL_THRIFT_BINARY;
    return first == COMPACT_ID || first == 0x80;
}

/* ---- reading ---- */

static void damaged(struct thrift_in *in, const char *why)
{
    if (thrift_ok(in))
        in->why = why;
}

uint64_t thrift_left(const struct thrift_in *in)
{
    return sl_cur_left(&in->c) + in->beyond;
}

static uint64_t varint(struct thrift_in *in, unsigned bits)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < bits; shift += 7) {
        uint8_t byte = sl_cur_u8(&in->c);

        if (bits - shift < 7 && byte >> (bits - shift))
            break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return v;
    }
    damaged(in, "a number does not end");
    return 0;
}

static int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

int32_t thrift_i32(struct thrift_in *in)
{
    return in->p == SL_THRIFT_BINARY ? (int32_t)sl_cur_u32be(&in->c) : (int32_t)zigzag(varint(in, 32));
}

int64_t thrift_i64(struct thrift_in *in)
{
    if (in->p == SL_THRIFT_COMPACT)
        return zigzag(varint(in, 64));
    uint64_t high = sl_cur_u32be(&in->c);
    return (int64_t)(high << 32 | sl_cur_u32be(&in->c));
}

size_t thrift_length(struct thrift_in *in)
{
    uint64_t n = in->p == SL_THRIFT_BINARY ? sl_cur_u32be(&in->c) : varint(in, 32);

    if (thrift_ok(in) && (n > INT32_MAX || n > thrift_left(in)))
        damaged(in, "a length exceeds the message");
    return thrift_ok(in) ? (size_t)n : 0;
}

sl_str thrift_string(struct thrift_in *in)
{
    return sl_cur_bytes(&in->c, thrift_length(in));
}

static uint8_t compact_type(struct thrift_in *in, uint8_t n)
{
    if (n == 0 || n >= sizeof compact_types) {
        damaged(in, "a type is not known");
        return T_STOP;
    }
    return compact_types[n];
}

static uint8_t binary_type(struct thrift_in *in, uint8_t n)
{
    if (n < T_BOOL || n == 5 || n == 7 || n == 9 || n > T_UUID)
        damaged(in, "a type is not known");
    return n;
}

struct thrift_field thrift_field(struct thrift_in *in, int16_t *last)
{
    struct thrift_field f = {0};
    uint8_t b = sl_cur_u8(&in->c);

    if (!thrift_ok(in) || b == 0)
        return f;
    if (in->p == SL_THRIFT_BINARY) {
        f.type = binary_type(in, b);
        uint16_t high = sl_cur_u8(&in->c);
        f.id = (int16_t)(high << 8 | sl_cur_u8(&in->c));
    } else {
        int64_t id = b >> 4 ? *last + (b >> 4) : zigzag(varint(in, 32));

        f.type = compact_type(in, b & 15);
        f.value = (b & 15) == 1;
        f.id = (int16_t)id;
        if (id < INT16_MIN || id > INT16_MAX)
            damaged(in, "a field number is too large");
    }
    if (!thrift_ok(in))
        return (struct thrift_field){0};
    *last = f.id;
    return f;
}

bool thrift_bool(struct thrift_in *in, const struct thrift_field *f)
{
    return in->p == SL_THRIFT_COMPACT ? f->value : sl_cur_u8(&in->c) != 0;
}

static size_t counted(struct thrift_in *in, uint64_t n)
{
    if (thrift_ok(in) && (n > INT32_MAX || n > thrift_left(in)))
        damaged(in, "a count exceeds the message");
    return thrift_ok(in) ? (size_t)n : 0;
}

size_t thrift_list(struct thrift_in *in, uint8_t *type)
{
    uint8_t b = sl_cur_u8(&in->c);

    if (in->p == SL_THRIFT_BINARY) {
        size_t n = counted(in, sl_cur_u32be(&in->c));

        *type = n ? binary_type(in, b) : b; /* the type of nothing may be anything */
        return n;
    }
    uint64_t n = b >> 4 == 15 ? varint(in, 32) : b >> 4;
    *type = n ? compact_type(in, b & 15) : T_STOP;
    return counted(in, n);
}

static void binary_head(struct thrift_in *in, uint32_t *type)
{
    uint32_t v = sl_cur_u32be(&in->c);

    if (thrift_ok(in) && v >> 24 == COMPACT_ID)
        damaged(in, "it is in the compact protocol, the binary one is set here");
    else if (v >> 16 != 0x8001)
        damaged(in, "it does not begin as a message of the binary protocol");
    *type = v & 0xFF;
}

static void compact_head(struct thrift_in *in, uint32_t *type)
{
    uint8_t id = sl_cur_u8(&in->c), version = sl_cur_u8(&in->c);

    if (thrift_ok(in) && id == 0x80 && version == 1)
        damaged(in, "it is in the binary protocol, the compact one is set here");
    else if (id != COMPACT_ID || (version & 0x1F) != 1)
        damaged(in, "it does not begin as a message of the compact protocol");
    *type = version >> 5;
}

void thrift_head(struct thrift_in *in, enum sl_thrift_message *type, sl_str *name, int32_t *seqid)
{
    uint32_t t = 0;

    *seqid = 0;
    if (in->p == SL_THRIFT_BINARY) {
        binary_head(in, &t);
    } else {
        compact_head(in, &t);
        *seqid = (int32_t)varint(in, 32);
    }
    size_t n = thrift_length(in);
    if (n > NAME_MAX_BYTES)
        damaged(in, "the name of the method is too long");
    *name = sl_cur_bytes(&in->c, thrift_ok(in) ? n : 0);
    if (in->p == SL_THRIFT_BINARY)
        *seqid = (int32_t)sl_cur_u32be(&in->c);
    if (t < SL_THRIFT_CALL || t > SL_THRIFT_ONEWAY)
        damaged(in, "the type of the message is not known");
    *type = (enum sl_thrift_message)t;
}

/* ---- skipping ---- */

static void push(struct sl_thrift_skip *s, struct thrift_in *in, bool fields, uint64_t left, uint8_t a, uint8_t b, uint8_t turns)
{
    if (s->depth == SL_THRIFT_DEPTH) {
        damaged(in, "values are nested too deeply");
        return;
    }
    s->in[s->depth].fields = fields;
    s->in[s->depth].type[0] = a;
    s->in[s->depth].type[1] = b;
    s->in[s->depth].turn = 0;
    s->in[s->depth].turns = turns;
    s->in[s->depth].last = 0;
    s->in[s->depth].left = left;
    s->depth++;
}

void thrift_skip_begin(struct sl_thrift_skip *s, uint8_t type, enum sl_thrift_protocol p, bool in_field)
{
    struct thrift_in none = {.p = p};

    s->bytes = 0;
    s->depth = 0;
    if (!(in_field && type == T_BOOL && p == SL_THRIFT_COMPACT)) /* else it is over already */
        push(s, &none, false, 1, type, type, 1);
}

static void skip_map(struct sl_thrift_skip *s, struct thrift_in *in)
{
    uint8_t a, b;
    uint64_t n;

    if (in->p == SL_THRIFT_BINARY) {
        a = sl_cur_u8(&in->c);
        b = sl_cur_u8(&in->c);
        n = counted(in, sl_cur_u32be(&in->c));
        if (n) {
            a = binary_type(in, a);
            b = binary_type(in, b);
        }
    } else {
        n = counted(in, varint(in, 32));
        a = n ? sl_cur_u8(&in->c) : 0;
        b = n ? compact_type(in, a & 15) : 0;
        a = n ? compact_type(in, a >> 4) : 0;
    }
    if (thrift_ok(in))
        push(s, in, false, n * 2, a, b, 2);
}

/* The first token of a value: all of a number; what is nested is pushed. */
static void skip_value(struct sl_thrift_skip *s, struct thrift_in *in, uint8_t type, bool in_field)
{
    uint8_t element = 0;
    size_t n;

    switch (type) {
    case T_BOOL:
        if (!(in_field && in->p == SL_THRIFT_COMPACT))
            (void)sl_cur_u8(&in->c);
        break;
    case T_BYTE: (void)sl_cur_u8(&in->c); break;
    case T_I16: (void)(in->p == SL_THRIFT_BINARY ? sl_cur_bytes(&in->c, 2).n : varint(in, 32)); break;
    case T_I32: (void)thrift_i32(in); break;
    case T_I64: (void)thrift_i64(in); break;
    case T_DOUBLE: (void)sl_cur_bytes(&in->c, 8); break;
    case T_UUID: (void)sl_cur_bytes(&in->c, 16); break;
    case T_STRING: s->bytes = thrift_length(in); break;
    case T_STRUCT: push(s, in, true, 0, 0, 0, 1); break;
    case T_MAP: skip_map(s, in); break;
    case T_SET:
    case T_LIST:
        n = thrift_list(in, &element);
        if (thrift_ok(in))
            push(s, in, false, n, element, element, 1);
        break;
    default: damaged(in, "a type is not known");
    }
}

static void skip_step(struct sl_thrift_skip *s, struct thrift_in *in)
{
    unsigned at = s->depth - 1;
    uint8_t type;

    if (s->in[at].fields) {
        struct thrift_field f = thrift_field(in, &s->in[at].last);

        if (!thrift_ok(in))
            return;
        if (f.type == T_STOP)
            s->depth--;
        else
            skip_value(s, in, f.type, true);
        return;
    }
    if (s->in[at].left == 0) {
        s->depth--;
        return;
    }
    type = s->in[at].type[s->in[at].turn];
    s->in[at].left--;
    s->in[at].turn = (uint8_t)((s->in[at].turn + 1) % s->in[at].turns);
    skip_value(s, in, type, false);
}

bool thrift_skip(struct sl_thrift_skip *s, struct thrift_in *in)
{
    while (thrift_ok(in) && (s->depth || s->bytes)) {
        if (s->bytes) {
            size_t n = sl_cur_left(&in->c) < s->bytes ? sl_cur_left(&in->c) : (size_t)s->bytes;

            (void)sl_cur_bytes(&in->c, n);
            s->bytes -= n;
            if (s->bytes) {
                in->c.bad = true;
                return false;
            }
            continue;
        }
        /* A token that is not whole leaves no trace. */
        unsigned depth = s->depth;
        const unsigned char *p = in->c.p;
        int16_t last = s->in[depth - 1].last;
        uint64_t left = s->in[depth - 1].left;
        uint8_t turn = s->in[depth - 1].turn;

        skip_step(s, in);
        if (in->c.bad && !in->why) {
            in->c.p = p;
            s->depth = depth;
            s->bytes = 0;
            s->in[depth - 1].last = last;
            s->in[depth - 1].left = left;
            s->in[depth - 1].turn = turn;
        }
    }
    return thrift_ok(in);
}

/* ---- writing ---- */

static void put_varint(struct sl_buf *b, uint64_t v)
{
    for (; v > 0x7F; v >>= 7)
        sl_buf_u8(b, (uint8_t)(v | 0x80));
    sl_buf_u8(b, (uint8_t)v);
}

static uint64_t to_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static uint8_t to_compact(uint8_t type)
{
    for (uint8_t i = 1; i < sizeof compact_types; i++)
        if (compact_types[i] == type)
            return i;
    return 0;
}

void thrift_put_head(struct thrift_out *o, enum sl_thrift_message type, sl_str name, int32_t seqid)
{
    if (o->p == SL_THRIFT_BINARY) {
        sl_buf_u32be(o->b, 0x80010000u | (uint32_t)type);
        thrift_put_string(o, name);
        sl_buf_u32be(o->b, (uint32_t)seqid);
    } else {
        sl_buf_u8(o->b, COMPACT_ID);
        sl_buf_u8(o->b, (uint8_t)((unsigned)type << 5 | 1));
        put_varint(o->b, (uint32_t)seqid);
        thrift_put_string(o, name);
    }
}

static void put_compact_field(struct thrift_out *o, uint8_t type, int16_t id, int16_t *last)
{
    int delta = id - *last;

    if (delta > 0 && delta <= 15) {
        sl_buf_u8(o->b, (uint8_t)(delta << 4 | type));
    } else {
        sl_buf_u8(o->b, type);
        put_varint(o->b, to_zigzag(id));
    }
    *last = id;
}

void thrift_put_field(struct thrift_out *o, uint8_t type, int16_t id, int16_t *last)
{
    if (o->p == SL_THRIFT_BINARY) {
        sl_buf_u8(o->b, type);
        sl_buf_u8(o->b, (uint8_t)((uint16_t)id >> 8));
        sl_buf_u8(o->b, (uint8_t)id);
    } else {
        put_compact_field(o, to_compact(type), id, last);
    }
}

void thrift_put_bool(struct thrift_out *o, int16_t id, int16_t *last, bool v)
{
    if (o->p == SL_THRIFT_COMPACT) {
        put_compact_field(o, v ? 1 : 2, id, last);
    } else {
        thrift_put_field(o, T_BOOL, id, last);
        sl_buf_u8(o->b, v);
    }
}

void thrift_put_stop(struct thrift_out *o)
{
    sl_buf_u8(o->b, T_STOP);
}

void thrift_put_i32(struct thrift_out *o, int32_t v)
{
    if (o->p == SL_THRIFT_BINARY)
        sl_buf_u32be(o->b, (uint32_t)v);
    else
        put_varint(o->b, (uint32_t)to_zigzag(v));
}

void thrift_put_i64(struct thrift_out *o, int64_t v)
{
    if (o->p == SL_THRIFT_BINARY) {
        sl_buf_u32be(o->b, (uint32_t)((uint64_t)v >> 32));
        sl_buf_u32be(o->b, (uint32_t)v);
    } else {
        put_varint(o->b, to_zigzag(v));
    }
}

void thrift_put_length(struct thrift_out *o, size_t n)
{
    if (o->p == SL_THRIFT_BINARY)
        sl_buf_u32be(o->b, (uint32_t)n);
    else
        put_varint(o->b, n);
}

void thrift_put_string(struct thrift_out *o, sl_str s)
{
    thrift_put_length(o, s.n);
    sl_buf_add(o->b, s);
}

void thrift_put_list(struct thrift_out *o, uint8_t type, size_t n)
{
    if (o->p == SL_THRIFT_BINARY) {
        sl_buf_u8(o->b, type);
        sl_buf_u32be(o->b, (uint32_t)n);
    } else if (n < 15) {
        sl_buf_u8(o->b, (uint8_t)(n << 4 | to_compact(type)));
    } else {
        sl_buf_u8(o->b, (uint8_t)(0xF0 | to_compact(type)));
        put_varint(o->b, n);
    }
}
