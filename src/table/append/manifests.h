/*
 * manifests.h - reading, writing and merging the manifests of a snapshot.
 *
 * Manifests never change once written, so decoded ones are cached by name inside the opened table, within a bound of bytes.
 */
#ifndef SL_TABLE_MANIFESTS_H
#define SL_TABLE_MANIFESTS_H

#include "table/append/snapshots.h"

/* The decoded entries of one manifest, statistics included. Counted references; give each back. */
struct sl_manifest {
    struct sl_arena arena;
    struct sl_manifest_entry *v;
    size_t n, cap;
};
int sl_manifest_load(struct sl_append *t, const struct sl_manifest_meta *meta, const struct sl_manifest **out, sl_err *err) SL_WUR;
void sl_manifest_unref(struct sl_append *t, const struct sl_manifest *m); /* NULL is fine */

/* Manifest metas of a snapshot, base list first, appended to OUT. Either list may be left out. */
enum { SL_LIST_BASE = 1, SL_LIST_DELTA = 2 };
int sl_snapshot_manifests(struct sl_append *t, const struct sl_snapshot *s, int lists, struct sl_manifest_list *out, sl_err *err) SL_WUR;
int sl_snapshot_index(struct sl_append *t, const struct sl_snapshot *s, struct sl_index_manifest *out, sl_err *err) SL_WUR; /* none: n = 0 */

/* Live files: ADD entries without a DELETE of the same identity, in the order of the manifests. Entries are valid while the set is.
 * KEEP_MANIFEST (may be NULL) drops whole manifests before they are read; it must be true for all that hold an entry of a partition
 * wanted. KEEP_ENTRY (may be NULL) drops entries; it judges by the identity of the file alone (partition, name), since it is asked of DELETE entries
 * too. One thread calls it. */
struct sl_live_filter {
    bool (*keep_manifest)(void *user, const struct sl_manifest_meta *m);
    bool (*keep_entry)(void *user, const struct sl_manifest_entry *e);
    void *user;
};
struct sl_live_set {
    struct sl_append *table;
    const struct sl_manifest **manifests; /* what the entries live in */
    size_t nmanifests;
    size_t manifests_total;               /* before KEEP_MANIFEST */
    const struct sl_manifest_entry **v;
    size_t n, cap;
    size_t files_total;                   /* live by the counts of the manifest list, before any filter */
};
int sl_live_files(struct sl_append *t, const struct sl_snapshot *s, const struct sl_live_filter *filter, struct sl_live_set *out,
                  sl_err *err) SL_WUR;
void sl_live_release(struct sl_live_set *s);

/* Write ENTRIES as new manifests, rolled at manifest.target-file-size; metas to OUT. Synced; the folder is not. What was written is
 * removed again on failure. */
int sl_manifests_write(struct sl_append *t, const struct sl_manifest_entry *const *entries, size_t n, struct sl_manifest_list *out,
                       sl_err *err) SL_WUR;

/* Merge what is due of LIST (a base list to be), in place: names of manifests written by it are added to WRITTEN, so that a lost race
 * can use them again or remove them. FORCE merges all. */
int sl_manifests_merge(struct sl_append *t, struct sl_manifest_list *list, bool force, struct sl_names *written, sl_err *err) SL_WUR;

#endif
