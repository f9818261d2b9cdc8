/*
 * sink.h - the sending end of a channel: blocks as bytes, kept until they are acknowledged, handed out as slices.
 *
 * A block is serialized once, when it is sent, into memory that was reserved before; responses and retries share it. Who tells the
 * receiver of new blocks is not decided here: `changed` says that there is something to tell. Any thread.
 */
#ifndef SL_EXCHANGE_SINK_H
#define SL_EXCHANGE_SINK_H

#include "exchange/bytes.h"

struct sl_sink;

struct sl_sink_setup {
    struct sl_mempool_query *query;   /* a reference is taken */
    uint64_t max_bytes;            /* 0: 32 MiB */
    void (*changed)(void *user);   /* new blocks, the end, a failure, the last acknowledgement; under no lock. May be NULL. */
    void *user;
};

enum sl_sink_state { SL_SINK_OPEN, SL_SINK_ENDED, SL_SINK_FINISHED, SL_SINK_CLOSED, SL_SINK_ABORTED };

int sl_sink_new(const struct sl_sink_setup *setup, struct sl_sink **out, sl_err *err) SL_WUR;
struct sl_sink *sl_sink_ref(struct sl_sink *s);
void sl_sink_unref(struct sl_sink *s); /* the last one drops all; NULL is fine */
/* When this returns, no `changed` is under way, and none will be. */
void sl_sink_detach(struct sl_sink *s);

/* As sl_sink_channel_send and its kin in sluice/exchange.h. */
int sl_sink_send(struct sl_sink *s, uint64_t n, sl_serialize_fn *serialize, void *user, int64_t timeout_millis, sl_err *err) SL_WUR;
int sl_sink_send_bytes(struct sl_sink *s, struct sl_bytes *b, int64_t timeout_millis, sl_err *err) SL_WUR;
int sl_sink_end(struct sl_sink *s, sl_err *err) SL_WUR;
int sl_sink_wait(struct sl_sink *s, int64_t timeout_millis, sl_err *err) SL_WUR;
/* Drops all blocks. CAUSE, if given, is what senders and waiters read from then on. */
void sl_sink_abort(struct sl_sink *s, const sl_err *cause);
void sl_sink_close(struct sl_sink *s); /* the receiver wants no more */
enum sl_sink_state sl_sink_state(struct sl_sink *s);

/* ---- what the receiver asks ---- */

struct sl_slice {
    struct sl_bytes *block; /* a reference */
    size_t from, n;
};

/* One response. Zeroed at first; may be filled again and again. */
struct sl_response {
    SL_VEC(struct sl_slice) slices;
    int64_t offset, total; /* -1: not to be written */
    uint64_t bytes;        /* of all slices */
};

struct sl_ask {
    int32_t start, end;
    bool has_offset;
    int32_t offset;
    uint64_t max_payload; /* with offset: the bound of this response */
    uint64_t max_frame;
};

/* An empty list: the channel is closed or aborted, or the range is empty. Errors are answered with an exception. */
int sl_sink_get(struct sl_sink *s, const struct sl_ask *ask, struct sl_response *out, sl_err *err) SL_WUR;
void sl_response_clear(struct sl_response *r);   /* gives the references back, keeps the array if it is small */
void sl_response_release(struct sl_response *r);
/* Frees the blocks in [START, END). Unknown ones are ignored. */
void sl_sink_acknowledge(struct sl_sink *s, int32_t start, int32_t end);

/* ---- what there is to tell ---- */

struct sl_news {
    int32_t start;       /* of the blocks not told yet */
    size_t n;
    bool ended;          /* all of them are in this and earlier news: the end may be told */
    int32_t last;        /* with ENDED: the last sequence, -1 if there was no block */
    bool gone;           /* closed, aborted, finished: nothing to tell */
};

/* Fills SIZES (at most MAX) with the blocks from FROM on; waits at most TIMEOUT_MILLIS (0: not at all) while there is none. */
void sl_sink_news(struct sl_sink *s, int32_t from, int64_t *sizes, size_t max, int64_t timeout_millis, struct sl_news *out);
void sl_sink_end_told(struct sl_sink *s); /* the receiver knows the end */

#endif
