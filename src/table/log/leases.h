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

/* Taken before the view is opened that is read, which is as of AS_OF (0: the latest). Ends with sl_reader_end. A folder that cannot be written, and a
 * table without commits, give *OUT = NULL and no error. */
int sl_log_lease(struct sl_log *t, int64_t as_of, struct sl_reader **out, sl_err *err) SL_WUR;

struct sl_leases {
    int64_t oldest;    /* instant that a living reader reads; SL_INSTANT_LAST if there is none. A lease that cannot be read counts as instant 0 */
    char reader[64];   /* its name */
    uint64_t dead;     /* leases not renewed for STALE_MILLIS; they do not count */
};
/* REMOVE: those of dead readers go. */
int sl_log_leases_read(struct sl_log *t, int64_t stale_millis, bool remove, struct sl_leases *out, sl_err *err) SL_WUR;

#endif
