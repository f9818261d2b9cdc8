/*
 * intake.h - the receiving end of a channel: what was announced, what is pulled, and the blocks that wait for the consumer.
 *
 * The pull window is memory: announced sizes are reserved in order, and what is reserved is asked for. How far a pull came (next sequence, offset,
 * finished blocks, the partial block) belongs to the handle, not to the attempt, so a broken connection costs one response. Who runs the
 * pulls and the acknowledgements is not decided here: the callbacks say that there is something to run. Any thread, but one pull at a time.
 */
#ifndef SL_EXCHANGE_INTAKE_H
#define SL_EXCHANGE_INTAKE_H

#include "exchange/sink.h"

struct sl_intake;

struct sl_intake_setup {
    struct sl_mempool_query *query;     /* a reference is taken */
    uint64_t max_bytes;              /* 0: 32 MiB */
    bool whole_blocks;               /* ask without offset */
    unsigned attempts;               /* 0: 3 */
    void (*pull)(void *user);        /* have a thread call sl_intake_pull; under no lock, as all of these */
    void (*acknowledge)(void *user); /* have a thread call sl_intake_ack_next */
    void (*interrupt)(void *user);   /* a fetch under way is of no use any more. May be NULL. */
    void *user;
};

int sl_intake_new(const struct sl_intake_setup *setup, struct sl_intake **out, sl_err *err) SL_WUR;
/* No pull and no acknowledgement may be under way: sl_intake_settle first. NULL is fine. */
void sl_intake_free(struct sl_intake *s);

/* ---- events ---- */

/* Blocks START, START + 1, ... of these sizes can be pulled. A size that the limits never let in fails the source too. */
int sl_intake_new_blocks(struct sl_intake *s, int32_t start, const int64_t *sizes, size_t n, sl_err *err) SL_WUR;
int sl_intake_end(struct sl_intake *s, int32_t last, sl_err *err) SL_WUR;

/* ---- the consumer ---- */

/* As sl_source_handle_next. The first call starts the pulling. */
int sl_intake_next(struct sl_intake *s, int64_t timeout_millis, struct sl_bytes **out, sl_err *err) SL_WUR;
/* True: blocks are left that nobody wants, so the sender is to be told. */
bool sl_intake_close(struct sl_intake *s);
bool sl_intake_finished(struct sl_intake *s); /* all blocks were taken, and nothing is wrong */
void sl_intake_abort(struct sl_intake *s, const sl_err *cause); /* CAUSE may be NULL */
/* Waits until no pull and, unless the source was aborted, no acknowledgement is under way. */
void sl_intake_settle(struct sl_intake *s);

/* ---- pulling ---- */

/* Where the elements of a response go. An error ends the fetch, which returns it as it is. */
struct sl_receiver {
    int (*element)(void *user, size_t i, size_t n, size_t size, unsigned char **to, sl_err *err);
    void *user;
};
struct sl_received {
    size_t n; /* elements; 0: the channel is gone */
    bool has_offset, has_total;
    int32_t offset, total;
};
/* One getDataBlock call. Errors that another attempt may cure have SL_ERR_RETRY. */
typedef int sl_fetch_fn(void *user, const struct sl_ask *ask, const struct sl_receiver *to, struct sl_received *out, sl_err *err);

enum sl_pull { SL_PULL_DONE, SL_PULL_RETRY };
/* Fetches what is granted, until nothing is left or an attempt failed. RETRY: call it again after the pause. */
enum sl_pull sl_intake_pull(struct sl_intake *s, sl_fetch_fn *fetch, void *user);
void sl_intake_pull_dropped(struct sl_intake *s); /* nobody will pull any more */

/* One attempt at the range of the pull: asks with offset until the range is here, each response going on where the one before ended. */
int sl_source_handle_get_data_block_with_fragments(struct sl_intake *s, sl_fetch_fn *fetch, void *user, sl_err *err) SL_WUR;

/* ---- acknowledging ---- */

/* The range to acknowledge now, after the last one was (DONE) or was not. False: none, and the next one is announced again. */
bool sl_intake_ack_next(struct sl_intake *s, bool done, int32_t *start, int32_t *end);
void sl_intake_ack_failed(struct sl_intake *s, const sl_err *cause);

#endif
