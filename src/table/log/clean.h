/*
 * clean.h - removes file slices that compaction has superseded, when nobody needs them any more.
 *
 * What stays: the newest slice of each group; what a query as of any of the retained commits reads; what a reader with a lease, a savepoint or a
 * pending compaction needs. The order of the durable steps: the plan (`k.clean.requested`, `k.clean.inflight`), the files, `k.clean`. A clean
 * that dies is run again from its plan, except for files that have become needed again.
 */
#ifndef SL_TABLE_LOG_CLEAN_H
#define SL_TABLE_LOG_CLEAN_H

#include "sluice/table.h"
#include "table/log/view.h"

/* What `sluice expire` does. Takes the writer lock for planning. In REPORT snapshots are instants. */
int sl_log_expire(struct sl_log *t, const struct sl_expire_options *options, struct sl_expire_report *report, sl_err *err) SL_WUR;

/* The instant from which on the table can be read as it was; 0: it was never cleaned. */
int sl_clean_earliest(const struct sl_timeline *tl, int64_t *out, sl_err *err) SL_WUR;

/* ---- clean_plan.c ---- */
struct sl_clean_item {
    const struct sl_log_file *file;       /* of the view */
    const struct sl_view_partition *partition;
};
struct sl_clean_choice {
    int64_t earliest;                     /* instant as of which all can still be read, 0: all of them */
    char policy[40];                      /* stock's name */
    SL_VEC(struct sl_clean_item) v;       /* to be removed, by partition */
    uint64_t bytes;
    int64_t held_by;                      /* instant of the lease that keeps more than the policy does; 0: none does */
    char reader[64];
    uint64_t dead;                        /* leases that did not count */
};
int sl_clean_choose(const struct sl_view *v, const struct sl_expire_options *o, struct sl_clean_choice *out, sl_err *err) SL_WUR;
void sl_clean_choice_release(struct sl_clean_choice *c);

#endif
