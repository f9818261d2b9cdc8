/*
 * position.h - how far an identity (a stream that is loaded exactly once) has come, kept with the data (P2).
 *
 * The position is JSON text in the snapshot's property "sluice.position.<identity>", carried forward by each of our commits. Engines that
 * do not carry it are survived by older snapshots and by the tag "sluice-id-<identity>".
 */
#ifndef SL_TABLE_POSITION_H
#define SL_TABLE_POSITION_H

#include "table/append/snapshots.h"

#define SL_POSITION_PREFIX "sluice.position."
#define SL_POSITION_TAG_PREFIX "sluice-id-"

/* *FOUND false: this identity was never seen here. Text appended to OUT; *SNAPSHOT_ID (may be NULL) is where it was found. SL_ENOTFOUND: it was seen,
 * but its position is lost (the hint asks for --from). */
int sl_position_find(struct sl_append *t, sl_str identity, struct sl_buf *out, bool *found, int64_t *snapshot_id, sl_err *err) SL_WUR;

/* Names usable in a property, a tag and a file name: letters, digits, '-', '_', '.', 1-100 of them, not starting with '.'. SL_EINPUT else. */
int sl_identity_check(sl_str identity, sl_err *err) SL_WUR;

/* After a commit: tag its snapshot for the identity, and remember that it was seen. A failure is logged, not returned. */
void sl_position_mark(struct sl_append *t, sl_str identity, const struct sl_snapshot *snapshot);

/* One identity, one process (P3): SL_EBUSY if another holds it. */
int sl_identity_lock(struct sl_append *t, sl_str identity, struct sl_lock **out, sl_err *err) SL_WUR;

#endif
