/*
 * expire.h - remove old snapshots, and the files that only they used.
 *
 * What goes is chosen by Paimon's rule: facts on expiry (ExpireSnapshotsImpl). EARLIEST is moved first, so that a reader that starts
 * meanwhile does not pick a snapshot that is going; then data files, manifests, and the snapshots from the oldest on, so that a
 * call that was killed is finished by the next one.
 */
#ifndef SL_TABLE_APPEND_EXPIRE_H
#define SL_TABLE_APPEND_EXPIRE_H

#include "sluice/table.h"
#include "table/append/append.h"

/* Of the opened branch. OPTIONS NULL = the table's options. */
int sl_append_expire(struct sl_append *t, const struct sl_expire_options *options, struct sl_expire_report *report,
                     sl_err *err) SL_WUR;

/* The pure part: which snapshot becomes the earliest. IDS ascending with their commit times; HELD = least id that a consumer
 * wants, or INT64_MAX. Gives the new earliest id. */
struct sl_expire_rule {
    int64_t retain_least, retain_most, older_than, limit, held, now;
};
int64_t sl_expire_earliest(const struct sl_expire_rule *rule, const int64_t *ids, const int64_t *millis, size_t n);

#endif
