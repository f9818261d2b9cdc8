/*
 * value.h - one typed value: partition values, bounds of statistics, constants of predicates.
 */
#ifndef SL_DATA_VALUE_H
#define SL_DATA_VALUE_H

#include "data/type.h"

typedef __int128 sl_i128;

struct sl_value {
    enum sl_kind kind;
    bool null;
    union {
        bool b;
        int64_t i;        /* TINYINT..BIGINT, DATE (days), TIME (ms of day) */
        double f;         /* FLOAT, DOUBLE */
        sl_i128 d;        /* DECIMAL: unscaled; the scale is the type's */
        sl_str s;         /* CHAR, VARCHAR, BINARY, VARBINARY; memory is the arena's or the caller's */
        struct { int64_t ms; int32_t ns; } t; /* TIMESTAMP, LTZ: floor milliseconds and nanoseconds within (0-999999) */
    } u;
};

/* Order of two non-null values of one kind: <0, 0, >0. Strings and bytes unsigned bytewise; NaN greatest. */
int sl_value_cmp(const struct sl_value *a, const struct sl_value *b);
bool sl_value_eq(const struct sl_value *a, const struct sl_value *b); /* nulls equal */

/* From the text DuckDB gives for VARCHAR casts ("2024-01-02 03:04:05.1", "1.50", "true"); blobs as hex (of RETURN_STATS). False if it is none.
 * Strings are copied to A. */
bool sl_value_from_text(struct sl_arena *a, const struct sl_type *t, sl_str text, struct sl_value *out);
void sl_value_text(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v);      /* plain, for people; NULL as NULL */
void sl_value_sql(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v);       /* an SQL literal with its type: DATE '2024-01-02' */
json_t *sl_value_json(const struct sl_type *t, const struct sl_value *v);                       /* new reference */

#endif
