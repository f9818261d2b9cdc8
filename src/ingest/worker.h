/*
 * worker.h - one thread's way from chunks of text to batches of rows.
 */
#ifndef SL_INGEST_WORKER_H
#define SL_INGEST_WORKER_H

#include "ingest/feed.h"

struct sl_worker_spec {
    enum sl_ingest_format format;
    const struct sl_field *fields;    /* borrowed */
    size_t nfields;
    sl_str op_field, null_text;
    char delimiter;
    bool strict_fields;
    bool keyed;                       /* rows of a table with keys: sl_columns_keyed; the batch has one column more, BIGINT: the row's
                                       * place in the order of the input, over all threads and segments */
    uint64_t max_row_bytes;
    struct sl_feed *feed;         /* borrowed */
    struct sl_bad_rows *bad;          /* borrowed */
    atomic_uint_fast64_t *unknown_fields;
};

struct sl_worker;
int sl_worker_new(const struct sl_worker_spec *spec, struct sl_worker **out, sl_err *err) SL_WUR;
void sl_worker_free(struct sl_worker *w); /* NULL is fine */
/* Rows of segment TICKET into OUT; none: the thread has no more to do for it. */
int sl_worker_fill(struct sl_worker *w, uint64_t ticket, struct sl_batch *out, sl_err *err) SL_WUR;

#endif
