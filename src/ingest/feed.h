/*
 * feed.h - cuts the bytes of a source into chunks of whole records for threads, and into segments, one a commit.
 *
 * A chunk is read into the memory of the thread that parses it, under one lock, so there is no thread and no queue in between and
 * memory is bounded by the number of threads. Segments follow each other: the next one begins where the one before was closed, at
 * a record's end, with the position kept.
 */
#ifndef SL_INGEST_FEED_H
#define SL_INGEST_FEED_H

#include "base/sys.h"
#include "ingest/bad_rows.h"
#include "ingest/csv.h"
#include "ingest/source.h"

/* What chunks of one file share. Counted references. */
struct sl_input_file {
    atomic_int refs;
    char *label;
    struct sl_csv_header *header; /* CSV */
};

struct sl_chunk {
    char *buf;                    /* owned */
    size_t cap;
    size_t n;                     /* whole records in it; 0: the segment has no more */
    uint64_t offset, line;        /* of its first byte; lines count from 0 */
    uint64_t number;              /* chunks are handed out in the order of the input, from 1 */
    struct sl_input_file *file;   /* held */
};
void sl_chunk_release(struct sl_chunk *c);

struct sl_feed_spec {
    enum sl_ingest_format format;
    char delimiter;
    bool no_header, strict_fields;
    uint64_t max_row_bytes;
    uint64_t commit_rows, commit_bytes, commit_millis;
    struct sl_source *source;     /* borrowed, not used by others meanwhile */
    struct sl_column *columns;    /* borrowed: for headers */
    struct sl_bad_rows *bad;      /* borrowed */
    bool (*stop)(void *user);     /* may be NULL */
    bool (*renew)(void *user);    /* asked before a segment begins; true: sl_feed_begin says ENDED until sl_feed_renew. May be NULL */
    void (*tick)(void *user, bool waiting); /* called often under the reader's lock */
    void (*idle)(void *user); /* nothing came for 5 s and no segment is open: memory may be given back; may be NULL */
    void *user;
};

struct sl_feed;
int sl_feed_new(const struct sl_feed_spec *spec, struct sl_feed **out, sl_err *err) SL_WUR;
void sl_feed_free(struct sl_feed *r); /* NULL is fine */

/* Look at the bytes that come first, about MAX, and more until a line ends; *OUT lives until the first segment. Before it only. */
int sl_feed_peek(struct sl_feed *r, size_t max, sl_str *out, sl_err *err) SL_WUR;
/* Before the first segment, if spec->columns was NULL. */
int sl_feed_columns(struct sl_feed *r, struct sl_column *columns, sl_err *err) SL_WUR;

/* The table has other COLUMNS from now on. While no segment is open. */
int sl_feed_renew(struct sl_feed *r, struct sl_column *columns, sl_err *err) SL_WUR;

/* Wait for the turn, and for the first record; *TICKET names the new segment, from 1. *ENDED: there is no more input, or stop. */
int sl_feed_begin(struct sl_feed *r, uint64_t *ticket, bool *ended, sl_err *err) SL_WUR;
/* The next chunk of the segment; n = 0: it is closed, or another thread waits for input for it. */
int sl_feed_chunk(struct sl_feed *r, uint64_t ticket, struct sl_chunk *c, sl_err *err) SL_WUR;
/* Of a segment that was closed, while fewer than SL_FEED_SEGMENTS came after it: the members of the position behind it. */
enum { SL_FEED_SEGMENTS = 64 };
int sl_feed_position(struct sl_feed *r, uint64_t ticket, struct sl_buf *out, sl_err *err) SL_WUR;
void sl_feed_fail(struct sl_feed *r, const sl_err *err); /* all calls end with it from now on */

uint64_t sl_feed_bytes(struct sl_feed *r);  /* read and handed out so far */
uint64_t sl_feed_lag(struct sl_feed *r);

#endif
