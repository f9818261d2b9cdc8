/*
 * snapshots.h - finding snapshots by id, age, tag and hint; tags; readers that announce themselves.
 *
 * Hints (LATEST, EARLIEST) are advice: an id counts only if its file is there and, for LATEST, the next one is not. A snapshot that does
 * not parse is read again a few times, since other engines may be seen half way. All functions look at the opened branch.
 */
#ifndef SL_TABLE_SNAPSHOTS_H
#define SL_TABLE_SNAPSHOTS_H

#include "table/append/append.h"

int sl_snapshot_latest_id(struct sl_append *t, int64_t *out, sl_err *err) SL_WUR;   /* 0: no snapshot yet */
int sl_snapshot_earliest_id(struct sl_append *t, int64_t *out, sl_err *err) SL_WUR; /* 0: no snapshot yet */
int sl_snapshot_get(struct sl_append *t, int64_t id, struct sl_snapshot *out, sl_err *err) SL_WUR; /* SL_ENOTFOUND: no such, or expired */
int sl_snapshot_latest(struct sl_append *t, struct sl_snapshot *out, sl_err *err) SL_WUR;          /* SL_ENOTFOUND: no snapshot yet */
int sl_snapshot_exists(struct sl_append *t, int64_t id, bool *out, sl_err *err) SL_WUR;
void sl_snapshot_file(const struct sl_append *t, int64_t id, struct sl_buf *out);   /* relative path of snapshot-<id>, appended */

struct sl_ids {
    int64_t *v; /* owned, ascending */
    size_t n, cap;
};
int sl_snapshot_ids(struct sl_append *t, struct sl_ids *out, sl_err *err) SL_WUR;   /* lists the folder */
void sl_ids_release(struct sl_ids *ids);
int sl_snapshot_hint(struct sl_append *t, const char *which, int64_t id, sl_err *err) SL_WUR; /* write "LATEST" or "EARLIEST" */

/* ---- which snapshot a statement wants ---- */
enum sl_select_kind { SL_SELECT_LATEST, SL_SELECT_ID, SL_SELECT_TAG, SL_SELECT_TIME, SL_SELECT_VERSION };
struct sl_selector {
    enum sl_select_kind kind; /* all zero = latest */
    int64_t id;
    int64_t millis;           /* TIME: the newest snapshot with timeMillis <= this */
    sl_str text;              /* TAG: name. VERSION: a tag's name, else an id, as scan.version */
};
/* NULL = latest. SL_ENOTFOUND says why; a table without snapshots is SL_ENOTFOUND also for latest. */
int sl_snapshot_select(struct sl_append *t, const struct sl_selector *sel, struct sl_snapshot *out, sl_err *err) SL_WUR;

/* ---- tags and branches ---- */
int sl_tag_names(struct sl_append *t, struct sl_names *out, sl_err *err) SL_WUR;
int sl_tag_get(struct sl_append *t, sl_str name, struct sl_snapshot *out, sl_err *err) SL_WUR;
/* Tag SNAPSHOT (its tag_* members are written if set). SL_EEXISTS unless REPLACE. */
int sl_tag_put(struct sl_append *t, sl_str name, const struct sl_snapshot *snapshot, bool replace, sl_err *err) SL_WUR;
int sl_tag_remove(struct sl_append *t, sl_str name, sl_err *err) SL_WUR;
int sl_branch_names(struct sl_append *t, struct sl_names *out, sl_err *err) SL_WUR;

/* ---- readers (P4) ---- */
/* Announce that SNAPSHOT_ID is being read: consumer/consumer-sluice-<uuid> = {"nextSnapshot":n}, its time renewed while it lives, removed by
 * sl_reader_end. Expiry (ours and stock) keeps snapshots from n on. A folder that can't be written gives *OUT = NULL and no error. */
struct sl_reader;
int sl_reader_begin(struct sl_append *t, int64_t snapshot_id, struct sl_reader **out, sl_err *err) SL_WUR;
void sl_reader_end(struct sl_reader *r); /* NULL is fine */
/* The same in general: a file PREFIX + a uuid with this text, kept fresh. STORE must outlive it. */
int sl_reader_announce(struct sl_store *store, const char *prefix, const char *text, struct sl_reader **out, sl_err *err) SL_WUR;
#define SL_READER_PREFIX "consumer-sluice-"
#define SL_READER_HEARTBEAT_MILLIS 30000
#define SL_READER_STALE_MILLIS 600000    /* expiry ignores and removes ours when older */

#endif
