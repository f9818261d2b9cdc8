/*
 * tsblock.h - TsBlocks: a few rows as bytes, column by column, as IoTDB's data exchange carries them.
 *
 * A block has a time column and value columns; what a column of a batch is in a block is said by struct sl_ts_column. All
 * encodings are read, all but DICTIONARY are written. docs/format/exchange.md has the bytes. Pure functions over memory.
 */
#ifndef SL_FORMAT_TSBLOCK_H
#define SL_FORMAT_TSBLOCK_H

#include "data/batch.h"

/* Type bytes. Only 0 to 5 are ever written: the reference reader takes no other number for BLOB, STRING, OBJECT. */
enum sl_ts_type {
    SL_TS_BOOLEAN, SL_TS_INT32, SL_TS_INT64, SL_TS_FLOAT, SL_TS_DOUBLE, SL_TS_TEXT,
    SL_TS_TIMESTAMP = 8, SL_TS_DATE, SL_TS_BLOB, SL_TS_STRING, SL_TS_OBJECT,
};

/* How a value of a batch is held by a value of the block. */
enum sl_ts_form {
    SL_TS_PLAIN,      /* the same number, bits or bytes: BOOLEAN; integers, DATE (days) as INT32 or INT64; FLOAT; DOUBLE; TIME and timestamps in
                       * the unit of the batch as INT64; text and bytes */
    SL_TS_YYYYMMDD,   /* DATE as IoTDB has it: INT32, 20240131; years 1 to 9999 */
    SL_TS_MILLIS,     /* timestamps as INT64 milliseconds; a value with more is refused in writing */
    SL_TS_UNSCALED,   /* DECIMAL: INT32 (p <= 9), INT64 (p <= 18), or 16 bytes big-endian, two's complement */
    SL_TS_NESTED,     /* ARRAY, MAP, ROW: bytes, by docs/format/exchange.md */
};

struct sl_ts_column {
    const struct sl_type *type; /* borrowed; of the batch's column */
    enum sl_ts_type ts;
    enum sl_ts_form form;
};

/* ---- which columns ---- */

/* As Sluice's own nodes exchange them, without loss: any readable type. COLS has room for N. */
int sl_ts_columns_lossless(const struct sl_field *fields, size_t n, struct sl_ts_column *cols, sl_err *err) SL_WUR;
/* As IoTDB's nodes hold them: DATE as yyyymmdd, timestamps in milliseconds; SL_EUNSUPPORTED, by column, for types that IoTDB lacks. */
int sl_ts_columns_iotdb(const struct sl_field *fields, size_t n, struct sl_ts_column *cols, sl_err *err) SL_WUR;
/* The schema that travels beside the blocks: names, types and how the columns lie in the blocks. JSON without line breaks. */
int sl_ts_schema_write(struct sl_buf *out, const struct sl_field *fields, const struct sl_ts_column *cols, size_t n, sl_err *err) SL_WUR;
/* From the peer: checked, unknown versions and forms refused by name. Memory from A. */
int sl_ts_schema_read(struct sl_arena *a, sl_str json, const struct sl_field **fields, const struct sl_ts_column **cols, size_t *n,
                      sl_err *err) SL_WUR;

/* ---- writing ---- */

struct sl_tsblock_rows {
    const struct sl_batch *batch;
    const struct sl_ts_column *cols; /* one for each column of the batch; all must be wanted */
    size_t from, to;                 /* rows [from, to) of the batch */
    const int64_t *times;            /* of the rows from..to; NULL: 0 for all, as the table model has it */
};
/* The exact number of bytes. Columns of one value throughout are run-length encoded. SL_EINPUT above 2^31-1 bytes and for
 * values that the form cannot hold. */
int sl_tsblock_size(const struct sl_tsblock_rows *rows, size_t *n, sl_err *err) SL_WUR;
/* After sl_tsblock_size: fills exactly those N bytes. */
void sl_tsblock_write(const struct sl_tsblock_rows *rows, void *out, size_t n);
/* Both, appended to OUT. */
int sl_tsblock_encode(const struct sl_tsblock_rows *rows, struct sl_buf *out, sl_err *err) SL_WUR;

/* A block of one row and one value of N bytes is this head and then the bytes, so that a large value needs no copy. SL_EINPUT above 2^31-1 in all. */
enum { SL_TSBLOCK_VALUE_HEAD = 25 };
int sl_tsblock_value_head(char head[SL_TSBLOCK_VALUE_HEAD], int64_t time, size_t n, sl_err *err) SL_WUR;

/* ---- reading ---- */

struct sl_ts_node; /* one column as it lies in the bytes */
struct sl_tsblock {
    size_t rows, ncols;          /* value columns */
    struct sl_ts_node *nodes;    /* private: time, then the value columns */
    size_t at;                   /* rows read so far */
};
/* Checks all of BYTES, which must outlive OUT, and finds the columns. Memory from A, at most MEMORY bytes (SL_EINPUT beyond, before allocating); 0:
 * at most 64 for each byte of the block. Nothing is allocated for a row that has no byte of its own. Bytes left over are damage. */
int sl_tsblock_open(sl_str bytes, size_t memory, struct sl_arena *a, struct sl_tsblock *out, sl_err *err) SL_WUR;
int sl_tsblock_type(const struct sl_tsblock *b, size_t col); /* the type byte of value column COL */
/* The next rows, at most OUT->cap, into OUT from row 0 on; OUT->rows = 0 at the end. OUT was just made or reset and has the types of COLS,
 * which must be as many as the block's; a type byte that does not fit is SL_ECORRUPT. Columns not wanted are passed over. TIMES: room for
 * OUT->cap, or NULL. */
int sl_tsblock_read(struct sl_tsblock *b, const struct sl_ts_column *cols, struct sl_batch *out, int64_t *times, sl_err *err) SL_WUR;
/* One value of a column of bytes, as a view into the block: *OUT has p == NULL if it is null. Walks the rows before it. */
int sl_tsblock_bytes(const struct sl_tsblock *b, size_t col, size_t row, sl_str *out, sl_err *err) SL_WUR;

#endif
