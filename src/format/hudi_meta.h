/*
 * hudi_meta.h - contents of timeline files: commits, plans and metadata of compaction, rollback, clean, savepoints.
 *
 * Decoding takes JSON (version 6) and Avro containers (8 and later, plans always) by what the bytes begin with; members are found by
 * name, unknown ones are passed over, absent ones are 0 or empty (p == NULL). Encoding writes what version 6 has. Structs, lists
 * and texts are of the arena given; texts are terminated. Source: facts on Hudi, sections 3.3-3.6 (avsc files, fixtures).
 */
#ifndef SL_FORMAT_HUDI_META_H
#define SL_FORMAT_HUDI_META_H

#include "format/hudi_properties.h"

/* ---- commit, deltacommit, replacecommit ---- */
struct sl_hudi_stat {
    sl_str partition;          /* key of the map; "" when non-partitioned */
    sl_str partition_path;     /* member partitionPath; absent in inflight files */
    sl_str file_id;            /* "" in inflight files: the inserts of a partition */
    sl_str path;               /* relative to the table; absent in inflight files */
    sl_str prev_commit;        /* "null" for a new group */
    int64_t num_writes, num_deletes, num_update_writes, num_inserts;
    int64_t total_write_bytes, total_write_errors, file_size;
    int64_t total_log_records, total_log_files_compacted, total_log_size_compacted, total_updated_records_compacted;
    int64_t total_log_blocks, total_corrupt_log_blocks, total_rollback_blocks;
    int64_t log_version;       /* 0: no log was written */
    int64_t log_offset;
    sl_str base_file;          /* name; absent if log-only */
    const sl_str *log_files;   /* names: all of the slice, the new one too */
    size_t nlog_files;
    sl_str prev_base_file;     /* version 8 and later */
    int64_t scan_millis, upsert_millis, create_millis; /* runtimeStats */
    bool has_runtime;
};

struct sl_hudi_replaced {
    sl_str partition;
    const sl_str *file_ids;
    size_t nfile_ids;
};

struct sl_hudi_commit {
    const struct sl_hudi_stat *stats; /* those of one partition lie together */
    size_t nstats;
    bool compacted;
    const struct sl_hudi_kv *extra;   /* extraMetadata; "schema" = Avro JSON of the table without meta fields */
    size_t nextra;
    sl_str operation;                 /* "UPSERT" ... */
    const struct sl_hudi_replaced *replaced; /* replacecommit: partitionToReplaceFileIds */
    size_t nreplaced;
    bool replace;                     /* encode: write partitionToReplaceFileIds */
};
/* Empty BYTES (pending instants) give an empty commit. */
int sl_hudi_commit_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_commit *out, sl_err *err) SL_WUR;
int sl_hudi_commit_encode(const struct sl_hudi_commit *c, struct sl_buf *out, sl_err *err) SL_WUR; /* JSON */
sl_str sl_hudi_commit_extra(const struct sl_hudi_commit *c, const char *key); /* p == NULL if absent */

/* ---- compaction plan (also of log compaction) ---- */
struct sl_hudi_metric {
    sl_str key;
    double value;
};
struct sl_hudi_compaction_op {
    sl_str base_instant, file_id, partition;
    sl_str data_file;              /* base file's name; p == NULL if none */
    const sl_str *log_files;       /* names, ascending */
    size_t nlog_files;
    const struct sl_hudi_metric *metrics;
    size_t nmetrics;
};
struct sl_hudi_compaction_plan {
    const struct sl_hudi_compaction_op *ops;
    size_t nops;
    const struct sl_hudi_kv *extra;
    size_t nextra;
    int64_t version;               /* decoded 1 or 2, others SL_EUNSUPPORTED; written: 2 */
    bool preserve_metadata;
};
int sl_hudi_compaction_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_compaction_plan *out, sl_err *err) SL_WUR;
int sl_hudi_compaction_encode(const struct sl_hudi_compaction_plan *p, struct sl_buf *out, sl_err *err) SL_WUR;

/* ---- rollback ---- */
struct sl_hudi_size { /* an entry of a map from file name to bytes */
    sl_str name;
    int64_t size;
};
struct sl_hudi_rollback_request {
    sl_str partition;
    sl_str file_id, base_instant;  /* "" for requests that delete files */
    const sl_str *delete_files;
    size_t ndelete_files;
    const struct sl_hudi_size *log_blocks;
    size_t nlog_blocks;
};
struct sl_hudi_instant_info {
    sl_str instant, action;
};
struct sl_hudi_rollback_plan {
    struct sl_hudi_instant_info target;
    const struct sl_hudi_rollback_request *requests;
    size_t nrequests;
    int64_t version;               /* written: 1 */
};
int sl_hudi_rollback_plan_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_rollback_plan *out, sl_err *err) SL_WUR;
int sl_hudi_rollback_plan_encode(const struct sl_hudi_rollback_plan *p, struct sl_buf *out, sl_err *err) SL_WUR;

struct sl_hudi_rollback_partition {
    sl_str partition;
    const sl_str *deleted, *failed;
    size_t ndeleted, nfailed;
    const struct sl_hudi_size *rollback_logs, *failed_logs; /* rollbackLogFiles, logFilesFromFailedCommit */
    size_t nrollback_logs, nfailed_logs;
};
struct sl_hudi_rollback {
    sl_str start;                  /* instant of the rollback */
    int64_t millis, files_deleted;
    const sl_str *commits;         /* instants rolled back */
    size_t ncommits;
    const struct sl_hudi_rollback_partition *partitions;
    size_t npartitions;
    const struct sl_hudi_instant_info *instants;
    size_t ninstants;
    int64_t version;               /* written: 1 */
};
int sl_hudi_rollback_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_rollback *out, sl_err *err) SL_WUR;
int sl_hudi_rollback_encode(const struct sl_hudi_rollback *r, struct sl_buf *out, sl_err *err) SL_WUR;

/* ---- clean ---- */
struct sl_hudi_clean_file {
    sl_str path;
    bool bootstrap;
};
struct sl_hudi_clean_files {
    sl_str partition;
    const struct sl_hudi_clean_file *files;
    size_t nfiles;
};
struct sl_hudi_clean_plan {
    sl_str earliest, earliest_action, earliest_state; /* earliestInstantToRetain */
    bool has_earliest; /* not the first member: offset 0 stands for "no flag" */
    sl_str last_completed, policy;
    const struct sl_hudi_clean_files *partitions;     /* filePathsToBeDeletedPerPartition */
    size_t npartitions;
    const sl_str *drop_partitions;                    /* partitionsToBeDeleted */
    size_t ndrop_partitions;
    int64_t version;                                  /* written: 2; version 1 (names only) is SL_EUNSUPPORTED */
};
int sl_hudi_clean_plan_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_clean_plan *out, sl_err *err) SL_WUR;
int sl_hudi_clean_plan_encode(const struct sl_hudi_clean_plan *p, struct sl_buf *out, sl_err *err) SL_WUR;

struct sl_hudi_clean_partition {
    sl_str partition, policy;
    const sl_str *patterns, *deleted, *failed;        /* deletePathPatterns, successDeleteFiles, failedDeleteFiles */
    size_t npatterns, ndeleted, nfailed;
    bool dropped;                                     /* isPartitionDeleted */
};
struct sl_hudi_clean {
    sl_str start;
    int64_t millis, files_deleted;
    sl_str earliest_retained, last_completed;
    const struct sl_hudi_clean_partition *partitions;
    size_t npartitions;
    int64_t version;                                  /* written: 2 */
};
int sl_hudi_clean_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_clean *out, sl_err *err) SL_WUR;
int sl_hudi_clean_encode(const struct sl_hudi_clean *c, struct sl_buf *out, sl_err *err) SL_WUR;

/* ---- savepoint ---- */
struct sl_hudi_savepoint_partition {
    sl_str partition;
    const sl_str *files;
    size_t nfiles;
};
struct sl_hudi_savepoint {
    sl_str by, comments;
    int64_t at_millis;
    const struct sl_hudi_savepoint_partition *partitions;
    size_t npartitions;
    int64_t version;                                  /* written: 1 */
};
int sl_hudi_savepoint_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_savepoint *out, sl_err *err) SL_WUR;
int sl_hudi_savepoint_encode(const struct sl_hudi_savepoint *s, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
