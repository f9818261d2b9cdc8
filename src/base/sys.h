/*
 * sys.h - time, randomness, hashes, threads, logging: what the system gives, settable in tests.
 * What programs need of it too stands in include/sluice/sys.h.
 */
#ifndef SL_BASE_SYS_H
#define SL_BASE_SYS_H

#include <pthread.h>
#include <stdatomic.h>
#include "base/str.h"
#include "sluice/sys.h"

/* ---- time ---- */
int64_t sl_now_local_millis(void);  /* local wall-clock time taken as if UTC (Paimon's _CREATION_TIME) */
int64_t sl_civil_to_days(int64_t y, int m, int d);            /* proleptic Gregorian, days since 1970-01-01 */
void sl_days_to_civil(int64_t days, int64_t *y, int *m, int *d);

/* ---- randomness ---- */
void sl_uuid(char out[37]);         /* random, version 4, terminated */
uint64_t sl_random(void);           /* from the system; SLUICE_SEED makes it repeatable in tests */

/* ---- hashes ---- */
uint32_t sl_crc32(uint32_t crc, sl_str s);  /* zlib's; start with 0 */
uint64_t sl_hash64(sl_str s);               /* XXH64, seed 0 */
struct sl_hasher;                           /* the same of bytes that come piece by piece */
struct sl_hasher *sl_hasher_new(void);      /* NULL if out of memory */
void sl_hasher_free(struct sl_hasher *h);   /* NULL is fine */
void sl_hasher_add(struct sl_hasher *h, sl_str s);
uint64_t sl_hasher_value(const struct sl_hasher *h); /* of all added so far */

/* ---- cancel: polled at batch and block borders ---- */
int sl_cancel_check(sl_err *err);           /* SL_ECANCELLED when set */

/* ---- log ---- */
void sl_log(enum sl_level level, const char *area, const char *fmt, ...) SL_PRINTF(3, 4);

/* ---- metrics: named counters and gauges of the process ---- */
/* NAME is a literal such as "sluice_rows_total"; HELP one sentence; see metrics.def for all of them. */
enum sl_metric {
#define SL_METRIC(id, name, kind, help) id,
#include "base/metrics.def"
#undef SL_METRIC
    SL_METRIC_COUNT
};
void sl_metric_add(enum sl_metric m, int64_t n);
void sl_metric_set(enum sl_metric m, int64_t n);
int64_t sl_metric_get(enum sl_metric m);
void sl_metrics_text(struct sl_buf *out);   /* Prometheus text form */

/* ---- failpoints: test builds only; SLUICE_FAILPOINT=name[:n]=error|exit|stop|sleep=MS ---- */
#ifdef SL_FAILPOINTS
int sl_failpoint(const char *name, sl_err *err);
#define SL_FAILPOINT(name, err) sl_failpoint(name, err)
#else
#define SL_FAILPOINT(name, err) SL_OK
#endif

/* ---- a pool of threads that run one job list to its end ---- */
/* Run FN(user, i) for i in [0, count) on at most THREADS threads (1 = in the caller). The first error wins, stops the
 * hand-out of further jobs, and is copied to ERR. */
int sl_parallel(size_t threads, size_t count, int (*fn)(void *user, size_t i, sl_err *err), void *user, sl_err *err) SL_WUR;

/* ---- bounded queue that passes ownership of pointers; weight = bytes ---- */
struct sl_queue;
struct sl_queue *sl_queue_new(size_t max_items, size_t max_weight);       /* NULL if out of memory */
void sl_queue_free(struct sl_queue *q);                                  /* must be empty or drained by the caller */
/* Waits while full (one item always fits an empty queue). False if the queue was closed or cancelled: ITEM stays the caller's. */
bool sl_queue_push(struct sl_queue *q, void *item, size_t weight);
/* Waits at most TIMEOUT_MS (-1 = for ever). NULL: closed and empty, or timed out (*timed_out then true if given). */
void *sl_queue_pop(struct sl_queue *q, int64_t timeout_ms, bool *timed_out);
void sl_queue_close(struct sl_queue *q);                                 /* no more pushes; pops drain what is left */

#endif
