/*
 * intake_priv.h - the state of a source, for intake.c (events, window, consumer) and pull.c (responses).
 */
#ifndef SL_EXCHANGE_INTAKE_PRIV_H
#define SL_EXCHANGE_INTAKE_PRIV_H

#include <pthread.h>

#include "exchange/intake.h"

enum source_state { SOURCE_OPEN, SOURCE_GONE, SOURCE_CLOSED, SOURCE_ABORTED, SOURCE_FAILED };
enum { LAST_UNKNOWN = -2, GRANTS_SEEN = 64 };

struct slot {
    int64_t announced;      /* 0: unknown */
    uint64_t grant;         /* reserved for it */
    struct sl_bytes *block; /* owned; complete */
};

struct sl_intake {
    struct sl_intake_setup setup; /* constant */
    pthread_mutex_t lock;         /* all below, but for the progress */
    pthread_cond_t wake;
    enum source_state state;
    sl_err cause;
    bool started;
    bool pulling, fetching; /* a pull was asked for; a thread is in it */
    bool acking;            /* an acknowledgement was asked for */
    bool waiting;           /* the reservation is */
    struct slot *ring;     /* owned; sequence s at s % cap, from `consumed` on */
    size_t cap;
    int32_t consumed;      /* next to hand out */
    int32_t pulled;        /* next to be complete: slots before have their block */
    int32_t granted_end;   /* [pulled, granted_end) is reserved */
    int32_t last;
    uint64_t window;       /* bytes of all grants */
    struct sl_reservation reservation; /* of granted_end, while waiting */
    int32_t acked, acking_end, complete;
    unsigned leaving;
    /* what to do once the lock is given up: see sl_intake_leave */
    uint64_t spare;
    bool want_pull, want_ack, want_interrupt, cancel_wait;

    /* The progress of the pull, of the one thread that pulls (or, without a pull, of the one with the lock). */
    int32_t range_end;        /* of this pull; it begins at `pulled` */
    struct sl_bytes *partial; /* owned; of sequence `pulled` */
    size_t got;               /* bytes of it that are here; the offset of the next request */
    int64_t total;            /* of it; -1: not known */
    unsigned tries;
    struct {                  /* one response under way */
        SL_VEC(struct sl_bytes *) blocks; /* owned; for sequence `pulled` + i; NULL where the partial block goes on */
        size_t first, last;   /* sizes of these elements */
        int32_t base;         /* `pulled` before the response */
        uint64_t grants[GRANTS_SEEN]; /* of `base` and what follows, then */
    } round;
};

struct slot *sl_intake_slot(struct sl_intake *s, int32_t seq);
/* Reserves announced blocks in order while that is possible, and asks for a pull. Under the lock. */
void sl_intake_grow_window(struct sl_intake *s, sl_err *err);
/* Gives up the lock and does what was left for then: memory may wake others, callbacks may take locks. */
void sl_intake_leave(struct sl_intake *s);
void sl_intake_fail(struct sl_intake *s, const sl_err *cause);
void sl_intake_drop_round(struct sl_intake *s);
void sl_intake_drop_all(struct sl_intake *s);

#endif
