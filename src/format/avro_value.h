/*
 * avro_value.h - reading single values by a writer schema, for the decoders of this folder.
 *
 * Each reader takes what the writer's schema says and looks through unions. A value of another kind than asked for makes the
 * cursor bad, so that one check a record finds all damage.
 */
#ifndef SL_FORMAT_AVRO_VALUE_H
#define SL_FORMAT_AVRO_VALUE_H

#include "format/avro.h"

static inline int64_t sl_avro_get_long(struct sl_cur *c)
{
    if (c->p < c->end && *c->p < 0x80) { /* most are one byte */
        uint8_t v = *c->p++;
        return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    }
    return sl_cur_zigzag(c);
}

static inline sl_str sl_avro_get_bytes(struct sl_cur *c)
{
    int64_t n = sl_avro_get_long(c);

    if (n < 0 || (uint64_t)n > sl_cur_left(c)) {
        c->bad = true;
        return (sl_str){NULL, 0};
    }
    return sl_cur_bytes(c, (size_t)n);
}

/* The schema of the value that follows: S itself, or the branch that a union names. NULL if damaged. */
static inline const struct sl_avro_schema *sl_avro_branch(struct sl_cur *c, const struct sl_avro_schema *s)
{
    if (s->kind != SL_AVRO_UNION)
        return s;
    int64_t i = sl_avro_get_long(c);
    if (i < 0 || (uint64_t)i >= s->n) {
        c->bad = true;
        return NULL;
    }
    return s->types[i];
}

/* Number of items of the next block of an array or map; 0 at its end. More items than bytes are damage. */
static inline int64_t sl_avro_items(struct sl_cur *c)
{
    int64_t n = sl_avro_get_long(c);

    if (n < 0) {
        n = n == INT64_MIN ? INT64_MAX : -n;
        (void)sl_avro_get_long(c); /* the size in bytes */
    }
    if (c->bad || (uint64_t)n > sl_cur_left(c)) {
        c->bad = true;
        return 0;
    }
    return n;
}

static inline int64_t sl_avro_long(struct sl_cur *c, const struct sl_avro_schema *s, int64_t if_null)
{
    s = sl_avro_branch(c, s);
    if (s && s->kind == SL_AVRO_NULL)
        return if_null;
    if (!s || (s->kind != SL_AVRO_INT && s->kind != SL_AVRO_LONG)) {
        c->bad = true;
        return if_null;
    }
    return sl_avro_get_long(c);
}

static inline int32_t sl_avro_int(struct sl_cur *c, const struct sl_avro_schema *s, int32_t if_null)
{
    int64_t v = sl_avro_long(c, s, if_null);

    if (v < INT32_MIN || v > INT32_MAX)
        c->bad = true;
    return (int32_t)v;
}

/* Bytes or a string; p == NULL for null alone. */
static inline sl_str sl_avro_bytes(struct sl_cur *c, const struct sl_avro_schema *s)
{
    s = sl_avro_branch(c, s);
    if (s && s->kind == SL_AVRO_NULL)
        return (sl_str){NULL, 0};
    if (!s || (s->kind != SL_AVRO_BYTES && s->kind != SL_AVRO_STRING)) {
        c->bad = true;
        return (sl_str){NULL, 0};
    }
    sl_str v = sl_avro_get_bytes(c);
    return v.p || c->bad ? v : (sl_str){"", 0};
}

#endif
