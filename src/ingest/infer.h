/*
 * infer.h - the types of columns from a sample of rows, for --create.
 *
 * INT or BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, STRING, and for NDJSON ROW and ARRAY. All columns can be NULL. A column
 * of whole numbers is INT only if all are far below its limit, since a sample shows little.
 */
#ifndef SL_INGEST_INFER_H
#define SL_INGEST_INFER_H

#include "data/type.h"

/* Whole lines of TEXT are looked at; *N fields in the order in which they came. SL_EINPUT with the line if the rows do not agree. Memory
 * from A. SKIP is left out: the field that tells a row's kind. */
int sl_infer_ndjson(struct sl_arena *a, sl_str text, sl_str skip, const struct sl_field **fields, size_t *n, sl_err *err) SL_WUR;
int sl_infer_csv(struct sl_arena *a, sl_str text, char delimiter, bool header, sl_str null_text, sl_str skip,
                 const struct sl_field **fields, size_t *n, sl_err *err) SL_WUR;

#endif
