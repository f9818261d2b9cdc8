/*
 * pool.h - the small files that wait for compaction, by partition, and the rules by which they become tasks.
 *
 * No I/O and no clock: a round is whatever the caller makes one. The rules are Paimon's for append tables (facts on its coordinator):
 * what is small, how bins are packed, and in streaming how a partition ages. One thread at a time.
 */
#ifndef SL_COMPACT_POOL_H
#define SL_COMPACT_POOL_H

#include "compact/task.h"

struct sl_pool_rules {
    uint64_t target_bytes;  /* target-file-size */
    uint64_t open_cost;     /* source.split.open-file-cost: what a file weighs beside its bytes */
    double small_ratio;     /* compaction.small-file-ratio */
    double delete_ratio;    /* compaction.delete-ratio-threshold */
    uint64_t min_files;     /* compaction.min.file-num */
    uint64_t scan_files;    /* compaction.file-num-limit: candidates taken by one scan */
    bool dvs;               /* deletion vectors are on: files that have one are packed by their index file */
    bool full;              /* everything below the target or with deletion vectors, however few files */
};
/* From a table's options; `full` is false. */
int sl_pool_rules_of(const struct sl_schema *s, struct sl_pool_rules *out, sl_err *err) SL_WUR;
/* Is the file a candidate? DV may be NULL. */
bool sl_pool_wants(const struct sl_pool_rules *r, const struct sl_manifest_entry *e, const struct sl_compact_dv *dv);

struct sl_pool;
struct sl_pool_part;
struct sl_pool_file {
    struct sl_manifest_entry entry; /* kind ADD, without statistics; its memory is this block's, the partition's is the part's */
    struct sl_compact_dv dv;
    struct sl_pool_part *part;
    uint64_t order;                 /* of arrival */
    bool gone;
};

int sl_pool_new(const struct sl_pool_rules *r, struct sl_pool **out, sl_err *err) SL_WUR;
void sl_pool_free(struct sl_pool *p); /* NULL is fine */
size_t sl_pool_count(const struct sl_pool *p);

/* Add a file, copied. One that is there already stays as it is. DV may be NULL. A file that the rules do not want is left out. */
int sl_pool_add(struct sl_pool *p, const struct sl_manifest_entry *e, const struct sl_compact_dv *dv, sl_err *err) SL_WUR;
/* The file is no longer live. One that is not there is fine. */
int sl_pool_remove(struct sl_pool *p, const struct sl_manifest_entry *e, sl_err *err) SL_WUR;

/* One round: EMIT gets the inputs of each task, in order; they leave the pool when it returns. AGEING: partitions that emit nothing grow
 * older by one round. */
typedef int sl_pool_emit(void *user, const struct sl_pool_file *const *files, size_t n, sl_err *err);
int sl_pool_round(struct sl_pool *p, bool ageing, sl_pool_emit *emit, void *user, sl_err *err) SL_WUR;

enum {
    SL_POOL_COMPACT_AGE = 5, /* rounds without a task, after which what is left becomes one */
    SL_POOL_FORGET_AGE = 10, /* and after which the partition is forgotten */
};

#endif
