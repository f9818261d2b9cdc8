/*
 * coordinator.h - follows a table's snapshots and says which files should become one: the one that plans.
 *
 * It reads the latest snapshot in full once, and from then on only what each new snapshot changed, or what a writer in the same process
 * feeds it; in full again when the one it saw last has expired or its id was used again (a rollback), or when deletion vectors changed.
 * One thread at a time.
 */
#ifndef SL_COMPACT_COORDINATOR_H
#define SL_COMPACT_COORDINATOR_H

#include "compact/pool.h"
#include "sluice/compact.h"
#include "table/append/snapshots.h"

/* ---- filter.c: partitions by "key=value" texts ---- */
struct sl_part_filter;
/* SL_EINPUT, naming it, for a key that is no partition column or a text that is no value of it. *OUT = NULL for no texts. */
int sl_part_filter_new(const struct sl_append *t, const sl_str *texts, size_t n, struct sl_part_filter **out, sl_err *err) SL_WUR;
bool sl_part_filter_match(struct sl_part_filter *f, sl_str partition); /* F NULL: true. One thread at a time. Damaged rows match */
void sl_part_filter_free(struct sl_part_filter *f);

/* Are the options those of an append table? */
int sl_compact_check(const struct sl_compact_options *options, sl_err *err) SL_WUR;

/* ---- the coordinator ---- */
struct sl_coordinator_opts {
    bool full;      /* as sl_compact_options */
    const sl_str *partition;
    size_t npartition;
};
struct sl_coordinator;
int sl_coordinator_new(struct sl_append *t, const struct sl_coordinator_opts *opts, struct sl_coordinator **out, sl_err *err) SL_WUR;
void sl_coordinator_free(struct sl_coordinator *c); /* NULL is fine */

/* The table was opened anew (its schema or options changed): take over the rules, look at everything again. T must live as long as C. */
int sl_coordinator_table(struct sl_coordinator *c, struct sl_append *t, sl_err *err) SL_WUR;

/* Bring the pool up to the latest snapshot. Counts in REPORT: seen, files_live, full_scans, files_waiting. */
int sl_coordinator_scan(struct sl_coordinator *c, struct sl_compact_report *report, sl_err *err) SL_WUR;
void sl_coordinator_rescan(struct sl_coordinator *c); /* the next scan reads everything */
bool sl_coordinator_must_scan(const struct sl_coordinator *c);

/* For one that is fed and does not follow: snapshot ID, just published, added these files; no manifest is read. What the last scan has
 * seen is left out; when the snapshot has expired already, the next scan reads everything. */
int sl_coordinator_feed(struct sl_coordinator *c, int64_t id, const struct sl_manifest_entry *adds, size_t n, sl_err *err) SL_WUR;
int64_t sl_coordinator_seen(const struct sl_coordinator *c);
struct sl_pool *sl_coordinator_pool(struct sl_coordinator *c);

/* One round: the tasks that are due, appended to OUT; their files leave the pool. AGEING as sl_pool_round. */
struct sl_task_list {
    struct sl_compact_task *v; /* owned */
    size_t n, cap;
};
int sl_coordinator_round(struct sl_coordinator *c, bool ageing, struct sl_task_list *out, sl_err *err) SL_WUR;
void sl_task_list_release(struct sl_task_list *l);

/* A task from entries of table T as of SNAPSHOT; everything is copied. */
int sl_compact_task_make(const struct sl_append *t, int64_t snapshot, const char *mark, uint64_t target_bytes,
                         const struct sl_pool_file *const *files, size_t n, struct sl_compact_task *out, sl_err *err) SL_WUR;

/* ---- what it has seen, kept in the COMPACT snapshots ---- */
#define SL_COMPACT_PROPERTY_SNAPSHOT "sluice.compact.snapshot"
#define SL_COMPACT_PROPERTY_MARK "sluice.compact.mark"
#define SL_COMPACT_PROPERTY_WAITING "sluice.compact.waiting"
enum { SL_COMPACT_PROPERTIES = 3 };
/* Properties for a commit; WAITING = files that would be missed by one that goes on from here. Memory from A. */
int sl_coordinator_save(const struct sl_coordinator *c, size_t waiting, struct sl_arena *a, struct sl_option *out, sl_err *err) SL_WUR;
/* Go on where the latest snapshot's properties say, if that is safe; else the first scan is a full one. */
int sl_coordinator_resume(struct sl_coordinator *c, sl_err *err) SL_WUR;

/* ---- places.c: which data file has which deletion vector in a snapshot ---- */
struct sl_dv_places;
int sl_dv_places_new(struct sl_append *t, const struct sl_snapshot *s, struct sl_dv_places **out, sl_err *err) SL_WUR;
void sl_dv_places_free(struct sl_dv_places *p); /* NULL is fine */
/* *OUT is filled in any case; its index_file.p is NULL if E has none, else it lives as long as P. */
int sl_dv_places_find(struct sl_dv_places *p, const struct sl_manifest_entry *e, struct sl_compact_dv *out, sl_err *err) SL_WUR;

#endif
