/*
 * tag.h - names for snapshots that outlive expiry, and what happens to files when the name goes.
 */
#ifndef SL_TABLE_APPEND_TAG_H
#define SL_TABLE_APPEND_TAG_H

#include "sluice/table.h"
#include "table/append/reach.h"

int sl_tag_name_check(sl_str name, sl_err *err) SL_WUR; /* SL_EINPUT; by Paimon's rules, and no '/' */

/* SNAPSHOT 0 = the latest; RETAINED_MILLIS 0 = for ever. */
int sl_append_tag_create(struct sl_append *t, sl_str name, int64_t snapshot, int64_t retained_millis, sl_err *err) SL_WUR;
/* Removes the tag, and the files that only it kept. The caller holds the upkeep lock. OUT may be NULL. */
int sl_tag_drop(struct sl_append *t, sl_str name, const struct sl_upkeep *common, struct sl_reach_removed *out, sl_err *err) SL_WUR;
/* Drops the tags whose time to live is over; the caller holds the upkeep lock. Counts into REPORT. */
int sl_tags_expire(struct sl_append *t, const struct sl_upkeep *common, struct sl_expire_report *report, sl_err *err) SL_WUR;

#endif
