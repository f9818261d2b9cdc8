/*
 * hudi_record.h - structs of hudi_meta.h from and to JSON and Avro by one description each.
 *
 * A struct is described by its members: the name in the file, the kind, and where it lies in the struct. For folder format/ alone.
 */
#ifndef SL_FORMAT_HUDI_RECORD_H
#define SL_FORMAT_HUDI_RECORD_H

#include <stddef.h>

#include "base/json.h"
#include "format/avro.h"

/* What a member is in the struct; lists are a pointer at `offset` and a size_t at `count`. */
enum sl_member_kind {
    SL_M_TEXT,      /* sl_str; p == NULL if absent */
    SL_M_NUMBER,    /* int64_t */
    SL_M_FLAG,      /* bool */
    SL_M_REAL,      /* double */
    SL_M_TEXTS,     /* list of sl_str */
    SL_M_RECORD,    /* members of INNER at `offset`; `count`, if not 0, is a bool that says whether it is there */
    SL_M_RECORDS,   /* list of INNER */
    SL_M_MAP,       /* list of INNER from a map: the key goes to the text at its start, the value to its other members. One member
                     * named "" takes a value that is no record; else the value is a record. */
    SL_M_MULTIMAP,  /* the same from a map of arrays of records: the key is repeated in each */
};
struct sl_member {
    const char *name;
    enum sl_member_kind kind;
    size_t offset, count;
    const struct sl_record *inner;
};
struct sl_record {
    const char *name; /* for messages */
    size_t size;
    const struct sl_member *members; /* ends with name NULL */
};

/* Zeroes TO first. Memory of A. */
int sl_record_decode(struct sl_arena *a, const struct sl_record *r, sl_str bytes, void *to, sl_err *err) SL_WUR;
/* A container of one record, uncompressed, of schema SCHEMA_JSON. Members of the schema that R does not describe are written as null. */
int sl_record_encode(const struct sl_record *r, const char *schema_json, const void *from, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
