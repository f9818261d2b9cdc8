/*
 * ndjson.h - one line of JSON to one row, strictly by RFC 8259.
 *
 * A line is an object. Its fields go to the columns of the same name, exactly or not at all: no rounding, no number
 * out of a text (DECIMAL excepted), no value for two. Fields that are not columns are checked and left out.
 */
#ifndef SL_INGEST_NDJSON_H
#define SL_INGEST_NDJSON_H

#include "ingest/column.h"

struct sl_ndjson {
    struct sl_column *root;
    struct sl_put put;
    struct sl_buf text;        /* scratch: a text without its escapes */
    struct sl_buf key;         /* scratch: a name without its escapes */
    uint64_t stamp;            /* of the object under way; never twice the same */
    const char *end;           /* of the input */
    bool strict_fields;
    uint64_t unknown_fields;   /* values left out so far */
};

void sl_ndjson_release(struct sl_ndjson *j); /* not the root */

/* Read the line at *P into row ROW of the root's columns. Each line of the input ends with a line feed, also the last one, and SL_TEXT_SLACK
 * bytes behind END can be read. *P then stands behind the line; *BLANK: it held nothing. On SL_EINPUT j->put.fault says what is
 * wrong, *P is unspecified, and nothing is left in the row. */
int sl_ndjson_row(struct sl_ndjson *j, const char **p, const char *end, struct sl_vector *cols, size_t row, bool *blank,
                  sl_err *err) SL_WUR;

/* One value for column C, from text that ends as a line does; j->put.err is set by the caller. The fault's place may be in it. */
int sl_ndjson_value(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char *p,
                    const char *end) SL_WUR;

#endif
