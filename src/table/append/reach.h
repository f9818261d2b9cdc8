/*
 * reach.h - which files only vanishing snapshots use, so that they may be removed with them.
 *
 * First tell what goes (sl_reach_gone), then all that stays (sl_reach_keep); what nothing that stays needs is removed by
 * sl_reach_remove. A data file counts as needed exactly if it is live in something that stays, whatever an earlier DELETE
 * entry said of it: names come back, by a rollback published as a new latest.
 */
#ifndef SL_TABLE_APPEND_REACH_H
#define SL_TABLE_APPEND_REACH_H

#include "sluice/table.h"
#include "table/append/roots.h"

struct sl_reach;
int sl_reach_new(struct sl_append *t, struct sl_reach **out, sl_err *err) SL_WUR;
void sl_reach_free(struct sl_reach *r); /* NULL is fine */

enum sl_reach_files {
    SL_REACH_DELETED = 1,  /* files that the delta of the snapshot removed: what an expiry takes */
    SL_REACH_ADDED = 2,    /* files that the delta of the snapshot added: what a rollback takes */
    SL_REACH_ALL = 4,      /* files of its base and delta: what the end of a tag takes */
    SL_REACH_METADATA = 8, /* its lists, manifests, index files and statistics */
};
/* MISSING_OK: manifests may be gone already, by an earlier call that was killed. */
int sl_reach_gone(struct sl_reach *r, const struct sl_snapshot *s, unsigned files, bool missing_ok, sl_err *err) SL_WUR;
int sl_reach_keep(struct sl_reach *r, const struct sl_snapshot *s, sl_err *err) SL_WUR;

struct sl_reach_removed {
    uint64_t data_files, manifests, other_files, bytes;
};
/* Data files first, then what describes them. With dry_run only counts, and calls COMMON->file. */
int sl_reach_remove(struct sl_reach *r, const struct sl_upkeep *common, struct sl_reach_removed *out, sl_err *err) SL_WUR;

#endif
