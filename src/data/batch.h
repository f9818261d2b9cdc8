/*
 * batch.h - columns of rows in memory, as a row source fills them and a scalar function reads them.
 *
 * The memory is the engine's own (nothing is copied afterwards), so a vector is filled in place:
 *
 *   kind                              array in `data`
 *   BOOLEAN                           uint8_t, 0 or 1
 *   TINYINT SMALLINT INT BIGINT       int8_t int16_t int32_t int64_t
 *   FLOAT DOUBLE                      float double
 *   DECIMAL(p, s), unscaled           int16_t (p <= 4), int32_t (p <= 9), int64_t (p <= 18), sl_i128 (p <= 38)
 *   DATE                              int32_t days since 1970-01-01
 *   TIME                              int64_t microseconds of the day
 *   TIMESTAMP, TIMESTAMP_LTZ          int64_t microseconds since 1970-01-01; TIMESTAMP(7-9): nanoseconds
 *   CHAR VARCHAR BINARY VARBINARY     union sl_string_cell, by sl_vector_put_bytes alone
 *   ARRAY                             by sl_vector_list_*; children[0] holds the elements
 *   MAP                               by sl_vector_list_*; children[0] the keys, children[1] the values
 *   ROW                               nothing; children[i] holds member i, at the same row number
 *
 * Every row is valid (not NULL) until sl_vector_set_null. A row that is neither set nor NULL holds anything.
 * One thread at a time.
 */
#ifndef SL_DATA_BATCH_H
#define SL_DATA_BATCH_H

#include "base/str.h"
#include "data/value.h"

/* How text and bytes lie in a vector: up to 12 bytes within the cell, longer ones behind a pointer. */
union sl_string_cell {
    struct {
        uint32_t n;
        char bytes[12];
    } near;
    struct {
        uint32_t n;
        char prefix[4];
        const char *p;
    } far;
};

struct sl_vector;

/* What the owner of the memory does for a vector. */
struct sl_vector_ops {
    int (*put_far)(struct sl_vector *v, size_t row, sl_str bytes, sl_err *err); /* more than 12 bytes, checked; copies them */
    int (*make_validity)(struct sl_vector *v, sl_err *err);                     /* sets v->validity, all valid */
    int (*reserve)(struct sl_vector *v, size_t n, sl_err *err); /* room for N entries in the children of a list; renews their `data` */
};

struct sl_vector {
    const struct sl_type *type;     /* borrowed */
    void *data;                     /* array by the table above */
    uint64_t *validity;             /* bit 1 = not NULL; NULL while no row is */
    struct sl_vector *children;     /* ARRAY 1, MAP 2, ROW one a member */
    size_t nchildren;
    size_t cap;                     /* rows that `data` has room for */
    size_t list_used;               /* ARRAY, MAP: entries put so far into the children */
    const struct sl_vector_ops *ops;
    void *handle;                   /* of the owner */
    bool wanted;                    /* false: the query does not need this column; leave it alone, data is NULL */
};

/* The columns of a row source, all of them and in its order, wanted or not. */
struct sl_batch {
    struct sl_vector *cols;
    size_t ncols;
    size_t cap;                     /* rows that fit (2,048) */
    size_t rows;                    /* out: rows filled */
};

/* NULL in ROW; also in the members of a ROW. */
int sl_vector_set_null(struct sl_vector *v, size_t row, sl_err *err) SL_WUR;

/* Unscaled values of a DECIMAL, as wide as its precision asks for. */
void sl_vector_set_decimal(struct sl_vector *v, size_t row, sl_i128 value);
sl_i128 sl_vector_decimal(const struct sl_vector *v, size_t row);

/* Text and bytes. Text kinds refuse bytes that are not UTF-8 (SL_EINPUT with the position). Copies. */
int sl_vector_put_bytes(struct sl_vector *v, size_t row, sl_str bytes, sl_err *err) SL_WUR;

/* A list (ARRAY) or map in ROW: begin; then for each entry put, which gives the index in the children at which to set the
 * element (or key and value); then end. Pointers to a child's `data` are new after each put. */
void sl_vector_list_begin(struct sl_vector *v, size_t row);
int sl_vector_list_put(struct sl_vector *v, size_t *index, sl_err *err) SL_WUR;
void sl_vector_list_end(struct sl_vector *v, size_t row);

/* Reading, for scalar functions. The view lives as long as the vector. */
bool sl_vector_is_null(const struct sl_vector *v, size_t row);
sl_str sl_vector_bytes(const struct sl_vector *v, size_t row);
/* The entries [*from, *from + *n) of the children that the list (ARRAY) or map in ROW has. */
void sl_vector_list_get(const struct sl_vector *v, size_t row, size_t *from, size_t *n);

/* A batch in plain memory, without an engine: for tests and for checks of samples. Reset frees the bytes of the rows. */
int sl_batch_new(const struct sl_field *fields, size_t n, struct sl_batch **out, sl_err *err) SL_WUR;
void sl_batch_reset(struct sl_batch *b);
void sl_batch_free(struct sl_batch *b);          /* NULL is fine */

#endif
