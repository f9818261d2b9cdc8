/*
 * lock.h - the writer lock of a log table, and instants that only go forward (decision L3).
 *
 * Two locks in one. The one that counts among Sluice's processes is a lock of the kernel on `.hoodie/.sluice/lock`, which is free as soon as its
 * holder is dead. `.hoodie/lock` is held beside it for stock writers with a file system lock; it names host, process and boot, and one that was
 * left behind is taken away only by who holds the kernel's lock.
 */
#ifndef SL_TABLE_LOG_LOCK_H
#define SL_TABLE_LOG_LOCK_H

#include "table/log/timeline.h"

#define SL_LOG_SIDE_DIR ".hoodie/.sluice"
#define SL_LOG_STOCK_LOCK ".hoodie/lock"

enum { SL_LOG_LOCK_MILLIS = 300000 }; /* how long a writer waits for the others */

struct sl_log_lock;
/* SL_EBUSY, naming the holder, after WAIT_MS (-1: never). FORCE: a holder that does not let go is shut out: it can publish nothing any more. */
int sl_log_lock_take(struct sl_log *t, int64_t wait_ms, bool force, struct sl_log_lock **out, sl_err *err) SL_WUR;
/* Is it still ours? SL_ECONFLICT if a rollback by force has taken it. */
int sl_log_lock_check(struct sl_log_lock *l, sl_err *err) SL_WUR;
void sl_log_lock_drop(struct sl_log_lock *l); /* NULL is fine */

/* An instant after all that TL and earlier calls of this process saw, and not before the clock. The caller holds the lock. */
int sl_log_next_instant(const struct sl_timeline *tl, int64_t *out, sl_err *err) SL_WUR;

#endif
