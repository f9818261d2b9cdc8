/*
 * partitions.h - the partitions of a snapshot, with what lies in them.
 */
#ifndef SL_TABLE_APPEND_PARTITIONS_H
#define SL_TABLE_APPEND_PARTITIONS_H

#include "table/append/manifests.h"

struct sl_partition {
    const struct sl_value *values; /* npartition of them */
    const char *text;              /* "k1=v1/k2=v2" for people; "" in an unpartitioned table */
    int64_t files, rows, bytes;    /* rows are physical */
    int64_t least_bytes;           /* of its smallest file */
    int64_t last_created;          /* greatest _CREATION_TIME, INT64_MIN if not known */
};
struct sl_partitions_list {
    struct sl_arena arena;
    struct sl_partition *v;        /* ordered by values, nulls first */
    size_t n, cap;
};
#define SL_PARTITIONS_LIST_INIT {SL_ARENA_INIT, NULL, 0, 0}

/* SEL NULL = latest; a table without snapshots has none. */
int sl_append_partitions(struct sl_append *t, const struct sl_selector *sel, struct sl_partitions_list *out, sl_err *err) SL_WUR;
/* The same from live files that are read already. */
int sl_partitions_of(struct sl_append *t, const struct sl_live_set *live, struct sl_partitions_list *out, sl_err *err) SL_WUR;
void sl_partitions_list_release(struct sl_partitions_list *p);

#endif
