/*
 * rollback.h - takes back what a delta commit wrote: of a writer that died, or at a user's wish.
 *
 * Order of the durable steps: the prepared file of the commit goes, so that its writer cannot publish any more; the plan is written; files are
 * removed; the rollback is completed; the commit's own files of the timeline go. A rollback that dies is run again from its plan.
 */
#ifndef SL_TABLE_LOG_ROLLBACK_H
#define SL_TABLE_LOG_ROLLBACK_H

#include "sluice/table.h"
#include "table/log/lock.h"

/* Under the lock: roll back all pending delta commits whose writers are dead, finish rollbacks that are pending, and sweep what committed writers
 * left in .hoodie/.temp. Pending commits of a stock writer that still gives signs of life are left alone. *N (may be NULL) counts the commits. */
int sl_rollback_dead(struct sl_log *t, struct sl_log_lock *lock, size_t *n, sl_err *err) SL_WUR;
/* One pending commit. Its markers tell the files. */
int sl_rollback_failed(struct sl_log *t, struct sl_log_lock *lock, int64_t instant, enum sl_hudi_action action, sl_err *err) SL_WUR;

/* One that is completed; everything after it is rolled back already. *FILES counts those that go. */
int sl_rollback_completed(struct sl_log *t, const struct sl_instant *i, const struct sl_upkeep *upkeep, size_t *files, sl_err *err) SL_WUR;

/* What `sluice rollback` does: the dead commits; with options->snapshot also all commits after that instant, newest first. */
int sl_log_rollback(struct sl_log *t, const struct sl_rollback_options *options, struct sl_rollback_report *report, sl_err *err) SL_WUR;

#endif
