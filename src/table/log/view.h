/*
 * view.h - the file groups and file slices of a log table as of an instant.
 *
 * One view is one state: the timeline is loaded first, the folders are listed after, so that every file of a committed instant is seen. Files of
 * instants that are pending, rolled back or later than the view are left out of the slices and kept apart (strays). Immutable; any thread.
 *
 * A slice here is what a reader reads: the newest base file and all logs behind it. Where a compaction is pending on the group its two file
 * slices are one here, logs of the older one first: `pending` and `nbefore` tell where the second begins. The same holds for logs that were
 * written for a compaction that was given up later.
 */
#ifndef SL_TABLE_LOG_VIEW_H
#define SL_TABLE_LOG_VIEW_H

#include "data/value.h"
#include "table/log/timeline.h"

struct sl_log_file {             /* a base file or a log file */
    const char *path;            /* relative to the table */
    const char *name;            /* its last part, within PATH */
    int64_t instant;             /* base: that wrote it. log: T of its name */
    int64_t completion;          /* layout 2: of that instant; layout 1: INSTANT */
    int64_t version;             /* logs; base: 0 */
    sl_str token;
    sl_str file_id;
    uint64_t size;
    int64_t mtime_millis;
};

struct sl_view_partition {
    const char *path;            /* relative folder; "" for tables without partitions */
    const struct sl_value *values; /* of config.npartition columns, where `known`; texts of the path as the columns' types */
    const bool *known;           /* false: the path does not tell the column's value exactly (key generators that format, default partition) */
    bool has_metadata;           /* .hoodie_partition_metadata is there; stock engines see no other partitions */
};

struct sl_slice {
    const struct sl_view_partition *partition;
    const char *file_id;
    int64_t instant;             /* of the base file; log-only: T of its first log */
    const struct sl_log_file *base; /* NULL: log-only, or only a pending compaction that has nothing yet */
    const struct sl_log_file *const *logs; /* in merge order, each maybe with blocks that do not count (blocks.h) */
    size_t nlogs;
    size_t nbefore;              /* logs that the pending compaction merges; = nlogs if none is pending */
    int64_t pending;             /* instant of the pending compaction; 0 if none */
    /* version 6, for the writer: */
    int64_t log_instant;         /* T of a new log of this group */
    int64_t next_version;        /* its version: one more than any file of (file id, T) has, strays included */
    uint64_t base_bytes, log_bytes;
};

/* All file slices of one group, by instant, for cleaning and inspection: LOGS are those of the slice alone. */
struct sl_file_slice {
    int64_t instant;
    const struct sl_log_file *base;
    const struct sl_log_file *const *logs;
    size_t nlogs;
};
struct sl_group {
    const struct sl_view_partition *partition;
    const char *file_id;
    const struct sl_file_slice *slices;
    size_t nslices;
    int64_t replaced;            /* instant of the completed replacecommit that removed the group; 0 if it lives */
    const struct sl_slice *read; /* what a reader reads; NULL if replaced, or nothing of it is visible */
};

enum sl_stray_why { SL_STRAY_PENDING, SL_STRAY_GONE, SL_STRAY_LATER };
struct sl_stray {
    const struct sl_log_file *file;
    const struct sl_view_partition *partition;
    enum sl_stray_why why;
};

struct sl_view {
    struct sl_log *table;
    struct sl_timeline *timeline;   /* owned */
    int64_t as_of;                  /* SL_INSTANT_LAST: all */
    int64_t completed_by;           /* layout 2: only instants that were completed by then are seen; SL_INSTANT_LAST: all */
    int64_t pending_replace;        /* a clustering or overwrite that is pending, 0 if none: which groups it will replace is not looked at, so
                                     * a writer may add to none of them */
    const struct sl_view_partition *partitions; /* that were listed, by path */
    size_t npartitions, partitions_total;       /* total: with those that the filter left out */
    const struct sl_slice *slices;  /* live ones, by partition, then file id */
    size_t nslices;
    const struct sl_group *groups;  /* all, in the same order; replaced ones too */
    size_t ngroups;
    const struct sl_stray *strays;
    size_t nstrays;
    struct sl_arena arena;          /* owns what is pointed to above */
};

struct sl_view_spec {
    int64_t as_of;                  /* 0 = all */
    int64_t completed_by;           /* 0 = all */
    struct sl_timeline *timeline;   /* taken over, also on failure; NULL = load it */
    /* Partitions to list; NULL = all. Values that are not known must not rule it out. */
    bool (*wanted)(void *user, const struct sl_view_partition *p);
    void *user;
};
/* SPEC NULL = all, now. */
int sl_view_open(struct sl_log *t, const struct sl_view_spec *spec, struct sl_view **out, sl_err *err) SL_WUR;
void sl_view_free(struct sl_view *v); /* NULL is fine */

const struct sl_slice *sl_view_slice(const struct sl_view *v, sl_str partition, sl_str file_id); /* NULL if not live */

/* May data of instant TIME be read in this view: committed, and not later than it is as of? Layout 1 asks it of blocks, layout 2 of files. */
bool sl_view_visible(const struct sl_view *v, int64_t time);

#endif
