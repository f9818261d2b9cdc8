/*
 * leases.h - readers of log tables announce what they read, so that cleaning keeps it.
 *
 * A lease is a file .hoodie/.sluice/reader-<uuid> that says an instant: the file slices that a snapshot of it needs are being read. Its time is renewed
 * while the reader lives; one that is older than SL_READER_STALE_MILLIS is of a reader that died.
 */
#ifndef SL_TABLE_LOG_LEASES_H
#define SL_TABLE_LOG_LEASES_H

#include "table/append/snapshots.h"
#include "table/log/log.h"

#define SL_LEASE_FOLDER ".hoodie/.sluice"
#define SL_LEASE_PREFIX "reader-"

/* Ends with sl_reader_end. A folder that cannot be written gives *OUT = NULL and no error. */
int sl_log_lease(struct sl_log *t, int64_t instant, struct sl_reader **out, sl_err *err) SL_WUR;
/* The oldest instant that a living reader reads; SL_INSTANT_LAST if there is none. Leases of dead readers are removed. One that cannot be read counts as
 * instant 0. */
int sl_log_leases_oldest(struct sl_log *t, int64_t *out, sl_err *err) SL_WUR;

#endif
