/*
 * column.h - the columns that rows are read into, as a tree, and how one value is put into a vector.
 *
 * Used by one thread: the tree also remembers in which order the fields of a row came last. Texts given to the put
 * functions have SL_TEXT_SLACK readable bytes behind them.
 */
#ifndef SL_INGEST_COLUMN_H
#define SL_INGEST_COLUMN_H

#include "base/mem.h"
#include "data/batch.h"
#include "ingest/convert.h"

struct sl_column {
    sl_str name;
    const struct sl_type *type;     /* borrowed; NULL: a field that only tells the row's kind */
    const struct sl_column *parent; /* NULL: a column of the table */
    struct sl_column *kids;         /* ROW members, ARRAY element, MAP key and value */
    size_t nkids;
    bool tells_op;
    bool takes_changes;             /* with tells_op: deletes and updates too */
    bool zone_optional;             /* TIMESTAMP_LTZ: a text without a zone is UTC */
    sl_str default_text;            /* of a column that is absent; p == NULL: NULL */
    struct sl_map *names;           /* ROW: name -> index of the kid + 1 */
    uint32_t *follow;               /* ROW: the kid that came last time after kid i; of nkids: which came first */
    uint64_t *seen;                 /* ROW: the object in which kid i came last */
};

/* Where values go wrong: filled by the functions that fail. */
struct sl_fault {
    const struct sl_column *column; /* NULL: no column in particular */
    const char *at;                 /* place in the input */
    char text[400];
};

/* A ROW of FIELDS, with OP_FIELD (may be empty) as the field that tells the row's kind. Memory from A but for the maps of names. */
int sl_columns_make(struct sl_arena *a, const struct sl_field *fields, size_t n, sl_str op_field, struct sl_column *root,
                    sl_err *err) SL_WUR;
void sl_columns_release(struct sl_column *root);
void sl_columns_keyed(struct sl_column *root); /* of a table with keys: changes are taken, times without a zone are UTC as all its times are */
ptrdiff_t sl_column_find(const struct sl_column *row, sl_str name); /* index of the kid, -1 if there is none */
void sl_column_path(const struct sl_column *c, struct sl_buf *out); /* "a.b" for people; elements are "a[]" */

/* Puts return SL_OK, or SL_EINPUT with FAULT filled, or another code with ERR filled. */
struct sl_put {
    struct sl_buf bytes;  /* scratch: decoded base64 */
    struct sl_fault fault;
    sl_err *err;          /* of the call under way */
};

int sl_fault_set(struct sl_put *put, const struct sl_column *c, const char *at, const char *fmt, ...) SL_PRINTF(4, 5);
/* "<preview of the text> <why>" */
int sl_fault_value(struct sl_put *put, const struct sl_column *c, sl_str text, const char *why);

int sl_put_null(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, const char *at) SL_WUR;
/* Text and bytes as they are; ASCII: it is known to be. Checks UTF-8 and length. */
int sl_put_string(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text, bool ascii) SL_WUR;
int sl_put_number(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text) SL_WUR;
/* Any atomic type from the text that stands for it: CSV, keys of maps, defaults. */
int sl_put_text(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text,
                enum sl_number_form form) SL_WUR;
/* Is it a kind of row that the table takes? TEXT as the op field has it. */
int sl_check_op(struct sl_put *put, const struct sl_column *c, sl_str text) SL_WUR;
/* The columns that a row did not have: NULL, or the default. SEEN: stamps of the kids, equal to STAMP if there. */
int sl_put_missing(struct sl_put *put, const struct sl_column *row_column, struct sl_vector *vectors, size_t row,
                   uint64_t stamp, const char *at) SL_WUR;
void sl_vector_revive(struct sl_vector *v, size_t row); /* takes back NULLs of a row that is given up */

bool sl_range_of(enum sl_kind kind, int64_t *min, int64_t *max); /* of integer kinds; false for others */
void sl_store_i64(struct sl_vector *v, size_t row, enum sl_kind kind, int64_t value);

#endif
