/*
 * csv.h - CSV by RFC 4180: where records end, and one record to one row.
 *
 * A field is plain or quoted as a whole; a quote inside a quoted field is doubled; a plain field holds no quote. Lines end with LF or
 * CRLF. A plain field that equals the text for NULL is NULL, a quoted one never is.
 */
#ifndef SL_INGEST_CSV_H
#define SL_INGEST_CSV_H

#include "ingest/ndjson.h"

/* Finds ends of records in bytes that come piece by piece. Starts as all zero but for the delimiter. */
struct sl_csv_scan {
    char delimiter;
    int state;
};
/* Behind the next record end in [P, END); NULL if there is none yet, then all of it was taken in. */
const char *sl_csv_next(struct sl_csv_scan *s, const char *p, const char *end);

/* The fields of a file's records, in order. Shared by threads, never changed once made. */
struct sl_csv_header {
    size_t n;
    size_t *kid;             /* of field i: the column's index, or SIZE_MAX if there is none */
};
/* From the first record of a file, [P, END) with its line feed. SL_EINPUT: not CSV, a name twice, no name of a column. */
int sl_csv_header_read(const struct sl_column *root, char delimiter, bool strict_fields, sl_str record, struct sl_csv_header **out,
                       sl_err *err) SL_WUR;
int sl_csv_header_all(const struct sl_column *root, struct sl_csv_header **out, sl_err *err) SL_WUR; /* the columns in order */
void sl_csv_header_free(struct sl_csv_header *h);
/* Calls FN with each field of a record; QUOTED fields come without their quotes. For headers and samples. */
int sl_csv_split(char delimiter, sl_str record, int (*fn)(void *user, size_t i, sl_str field, bool quoted, sl_err *err), void *user,
                 sl_err *err) SL_WUR;

struct sl_csv {
    struct sl_ndjson json;   /* root, faults, scratch; also reads nested values, which are written as JSON */
    const struct sl_csv_header *header;
    char delimiter;
    sl_str null_text;
};
void sl_csv_release(struct sl_csv *c);
/* As sl_ndjson_row. */
int sl_csv_row(struct sl_csv *c, const char **p, const char *end, struct sl_vector *cols, size_t row, bool *blank, sl_err *err) SL_WUR;

#endif
