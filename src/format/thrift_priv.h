/* thrift_priv.h - the two protocols token by token, as the messages and the reply reader use them. */
#ifndef SL_FORMAT_THRIFT_PRIV_H
#define SL_FORMAT_THRIFT_PRIV_H

#include "format/thrift.h"

/* Types by their numbers in the binary protocol; compact numbers are translated. */
enum thrift_type {
    T_STOP = 0, T_BOOL = 2, T_BYTE = 3, T_DOUBLE = 4, T_I16 = 6, T_I32 = 8, T_I64 = 10, T_STRING = 11, T_STRUCT = 12, T_MAP = 13, T_SET = 14,
    T_LIST = 15, T_UUID = 16,
};

/* ---- reading ---- */

struct thrift_in {
    struct sl_cur c;               /* c.bad: the bytes end too early */
    uint64_t beyond;               /* bytes of the message that are not in C yet */
    enum sl_thrift_protocol p;
    const char *why;               /* damage that more bytes do not heal; NULL while there is none */
};
struct thrift_field {
    uint8_t type;                  /* T_STOP at the end of the struct */
    int16_t id;
    bool value;                    /* T_BOOL in the compact protocol: it stands in the header */
};

static inline bool thrift_ok(const struct thrift_in *in)
{
    return !in->c.bad && !in->why;
}
uint64_t thrift_left(const struct thrift_in *in); /* bytes of the message from here on */
int32_t thrift_i32(struct thrift_in *in);
int64_t thrift_i64(struct thrift_in *in);
size_t thrift_length(struct thrift_in *in);       /* of a string: within the message */
sl_str thrift_string(struct thrift_in *in);
struct thrift_field thrift_field(struct thrift_in *in, int16_t *last);
bool thrift_bool(struct thrift_in *in, const struct thrift_field *f);
size_t thrift_list(struct thrift_in *in, uint8_t *type); /* the count: each element has a byte at least in the message */
void thrift_head(struct thrift_in *in, enum sl_thrift_message *type, sl_str *name, int32_t *seqid); /* NAME at most 64 bytes */

/* A value of TYPE whose header was read. Steps as far as the bytes go; true when the value is over. Only whole tokens are used. */
void thrift_skip_begin(struct sl_thrift_skip *s, uint8_t type, enum sl_thrift_protocol p, bool in_field);
bool thrift_skip(struct sl_thrift_skip *s, struct thrift_in *in);

/* ---- writing ---- */

struct thrift_out {
    struct sl_buf *b;
    enum sl_thrift_protocol p;
};
void thrift_put_head(struct thrift_out *o, enum sl_thrift_message type, sl_str name, int32_t seqid);
void thrift_put_field(struct thrift_out *o, uint8_t type, int16_t id, int16_t *last); /* not for T_BOOL */
void thrift_put_bool(struct thrift_out *o, int16_t id, int16_t *last, bool v);
void thrift_put_stop(struct thrift_out *o);
void thrift_put_i32(struct thrift_out *o, int32_t v);
void thrift_put_i64(struct thrift_out *o, int64_t v);
void thrift_put_length(struct thrift_out *o, size_t n);
void thrift_put_string(struct thrift_out *o, sl_str s);
void thrift_put_list(struct thrift_out *o, uint8_t type, size_t n);

#endif
