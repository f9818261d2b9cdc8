/* hudi_meta.c - what the files of the timeline hold, described for hudi_record.h. */
#include "format/hudi_meta.h"

#include <string.h>

#include "format/hudi_record.h"

#define AT(type, field) offsetof(struct type, field)
#define LIST(type, field) offsetof(struct type, field), offsetof(struct type, n##field)

/* ---- pieces that several have ---- */

static const struct sl_member kv_members[] = {{"", SL_M_TEXT, AT(sl_hudi_kv, value), 0, NULL}, {0}};
static const struct sl_record kv = {"text", sizeof(struct sl_hudi_kv), kv_members};

static const struct sl_member size_members[] = {{"", SL_M_NUMBER, AT(sl_hudi_size, size), 0, NULL}, {0}};
static const struct sl_record size = {"size", sizeof(struct sl_hudi_size), size_members};

static const struct sl_member instant_members[] = {
    {"commitTime", SL_M_TEXT, AT(sl_hudi_instant_info, instant), 0, NULL},
    {"action", SL_M_TEXT, AT(sl_hudi_instant_info, action), 0, NULL},
    {0},
};
static const struct sl_record instant = {"HoodieInstantInfo", sizeof(struct sl_hudi_instant_info), instant_members};

/* ---- commit ---- */

static const struct sl_member runtime_members[] = {
    {"totalScanTime", SL_M_NUMBER, AT(sl_hudi_stat, scan_millis), 0, NULL},
    {"totalUpsertTime", SL_M_NUMBER, AT(sl_hudi_stat, upsert_millis), 0, NULL},
    {"totalCreateTime", SL_M_NUMBER, AT(sl_hudi_stat, create_millis), 0, NULL},
    {0},
};
static const struct sl_record runtime = {"HoodieRuntimeStats", sizeof(struct sl_hudi_stat), runtime_members};

#define NUMBER(name, field) {name, SL_M_NUMBER, AT(sl_hudi_stat, field), 0, NULL}
#define TEXT(name, field) {name, SL_M_TEXT, AT(sl_hudi_stat, field), 0, NULL}
static const struct sl_member stat_members[] = {
    TEXT("fileId", file_id),
    TEXT("path", path),
    TEXT("prevCommit", prev_commit),
    TEXT("partitionPath", partition_path),
    TEXT("baseFile", base_file),
    TEXT("prevBaseFile", prev_base_file),
    NUMBER("numWrites", num_writes),
    NUMBER("numDeletes", num_deletes),
    NUMBER("numUpdateWrites", num_update_writes),
    NUMBER("numInserts", num_inserts),
    NUMBER("totalWriteBytes", total_write_bytes),
    NUMBER("totalWriteErrors", total_write_errors),
    NUMBER("fileSizeInBytes", file_size),
    NUMBER("totalLogRecords", total_log_records),
    NUMBER("totalLogFilesCompacted", total_log_files_compacted),
    NUMBER("totalLogSizeCompacted", total_log_size_compacted),
    NUMBER("totalUpdatedRecordsCompacted", total_updated_records_compacted),
    NUMBER("totalLogBlocks", total_log_blocks),
    NUMBER("totalCorruptLogBlock", total_corrupt_log_blocks),
    NUMBER("totalRollbackBlocks", total_rollback_blocks),
    NUMBER("logVersion", log_version),
    NUMBER("logOffset", log_offset),
    {"logFiles", SL_M_TEXTS, LIST(sl_hudi_stat, log_files), NULL},
    {"runtimeStats", SL_M_RECORD, 0, AT(sl_hudi_stat, has_runtime), &runtime},
    {0},
};
#undef NUMBER
#undef TEXT
static const struct sl_record stat = {"HoodieWriteStat", sizeof(struct sl_hudi_stat), stat_members};

static const struct sl_member replaced_members[] = {{"", SL_M_TEXTS, LIST(sl_hudi_replaced, file_ids), NULL}, {0}};
static const struct sl_record replaced = {"file ids", sizeof(struct sl_hudi_replaced), replaced_members};

static const struct sl_member commit_members[] = {
    {"partitionToWriteStats", SL_M_MULTIMAP, LIST(sl_hudi_commit, stats), &stat},
    {"compacted", SL_M_FLAG, AT(sl_hudi_commit, compacted), 0, NULL},
    {"extraMetadata", SL_M_MAP, LIST(sl_hudi_commit, extra), &kv},
    {"operationType", SL_M_TEXT, AT(sl_hudi_commit, operation), 0, NULL},
    {"partitionToReplaceFileIds", SL_M_MAP, LIST(sl_hudi_commit, replaced), &replaced},
    {0},
};
static const struct sl_record commit = {"HoodieCommitMetadata", sizeof(struct sl_hudi_commit), commit_members};

int sl_hudi_commit_decode(struct sl_arena *a, sl_str bytes, struct sl_hudi_commit *out, sl_err *err)
{
    memset(out, 0, sizeof *out);
    if (bytes.n == 0)
        return SL_OK;
    SL_TRY(sl_record_decode(a, &commit, bytes, out, err));
    out->replace = out->nreplaced > 0;
    return SL_OK;
}

sl_str sl_hudi_commit_extra(const struct sl_hudi_commit *c, const char *key)
{
    for (size_t i = 0; i < c->nextra; i++)
        if (sl_str_eqc(c->extra[i].key, key))
            return c->extra[i].value;
    return (sl_str){NULL, 0};
}

/* ---- compaction ---- */

static const struct sl_member metric_members[] = {{"", SL_M_REAL, AT(sl_hudi_metric, value), 0, NULL}, {0}};
static const struct sl_record metric = {"metric", sizeof(struct sl_hudi_metric), metric_members};

static const struct sl_member op_members[] = {
    {"baseInstantTime", SL_M_TEXT, AT(sl_hudi_compaction_op, base_instant), 0, NULL},
    {"deltaFilePaths", SL_M_TEXTS, LIST(sl_hudi_compaction_op, log_files), NULL},
    {"dataFilePath", SL_M_TEXT, AT(sl_hudi_compaction_op, data_file), 0, NULL},
    {"fileId", SL_M_TEXT, AT(sl_hudi_compaction_op, file_id), 0, NULL},
    {"partitionPath", SL_M_TEXT, AT(sl_hudi_compaction_op, partition), 0, NULL},
    {"metrics", SL_M_MAP, LIST(sl_hudi_compaction_op, metrics), &metric},
    {0},
};
static const struct sl_record op = {"HoodieCompactionOperation", sizeof(struct sl_hudi_compaction_op), op_members};

static const struct sl_member plan_members[] = {
    {"operations", SL_M_RECORDS, LIST(sl_hudi_compaction_plan, ops), &op},
    {"extraMetadata", SL_M_MAP, LIST(sl_hudi_compaction_plan, extra), &kv},
    {"version", SL_M_NUMBER, AT(sl_hudi_compaction_plan, version), 0, NULL},
    {"preserveHoodieMetadata", SL_M_FLAG, AT(sl_hudi_compaction_plan, preserve_metadata), 0, NULL},
    {0},
};
static const struct sl_record plan = {"HoodieCompactionPlan", sizeof(struct sl_hudi_compaction_plan), plan_members};

/* ---- rollback ---- */

static const struct sl_member request_members[] = {
    {"partitionPath", SL_M_TEXT, AT(sl_hudi_rollback_request, partition), 0, NULL},
    {"fileId", SL_M_TEXT, AT(sl_hudi_rollback_request, file_id), 0, NULL},
    {"latestBaseInstant", SL_M_TEXT, AT(sl_hudi_rollback_request, base_instant), 0, NULL},
    {"filesToBeDeleted", SL_M_TEXTS, LIST(sl_hudi_rollback_request, delete_files), NULL},
    {"logBlocksToBeDeleted", SL_M_MAP, LIST(sl_hudi_rollback_request, log_blocks), &size},
    {0},
};
static const struct sl_record request = {"HoodieRollbackRequest", sizeof(struct sl_hudi_rollback_request), request_members};

static const struct sl_member rollback_plan_members[] = {
    {"instantToRollback", SL_M_RECORD, AT(sl_hudi_rollback_plan, target), 0, &instant},
    {"RollbackRequests", SL_M_RECORDS, LIST(sl_hudi_rollback_plan, requests), &request},
    {"version", SL_M_NUMBER, AT(sl_hudi_rollback_plan, version), 0, NULL},
    {0},
};
static const struct sl_record rollback_plan = {"HoodieRollbackPlan", sizeof(struct sl_hudi_rollback_plan), rollback_plan_members};

static const struct sl_member rolled_members[] = {
    {"partitionPath", SL_M_TEXT, AT(sl_hudi_rollback_partition, partition), 0, NULL},
    {"successDeleteFiles", SL_M_TEXTS, LIST(sl_hudi_rollback_partition, deleted), NULL},
    {"failedDeleteFiles", SL_M_TEXTS, LIST(sl_hudi_rollback_partition, failed), NULL},
    {"rollbackLogFiles", SL_M_MAP, LIST(sl_hudi_rollback_partition, rollback_logs), &size},
    {"logFilesFromFailedCommit", SL_M_MAP, LIST(sl_hudi_rollback_partition, failed_logs), &size},
    {0},
};
static const struct sl_record rolled = {"HoodieRollbackPartitionMetadata", sizeof(struct sl_hudi_rollback_partition), rolled_members};

static const struct sl_member rollback_members[] = {
    {"startRollbackTime", SL_M_TEXT, AT(sl_hudi_rollback, start), 0, NULL},
    {"timeTakenInMillis", SL_M_NUMBER, AT(sl_hudi_rollback, millis), 0, NULL},
    {"totalFilesDeleted", SL_M_NUMBER, AT(sl_hudi_rollback, files_deleted), 0, NULL},
    {"commitsRollback", SL_M_TEXTS, LIST(sl_hudi_rollback, commits), NULL},
    {"partitionMetadata", SL_M_MAP, LIST(sl_hudi_rollback, partitions), &rolled},
    {"version", SL_M_NUMBER, AT(sl_hudi_rollback, version), 0, NULL},
    {"instantsRollback", SL_M_RECORDS, LIST(sl_hudi_rollback, instants), &instant},
    {0},
};
static const struct sl_record rollback = {"HoodieRollbackMetadata", sizeof(struct sl_hudi_rollback), rollback_members};

/* ---- clean ---- */

static const struct sl_member clean_file_members[] = {
    {"filePath", SL_M_TEXT, AT(sl_hudi_clean_file, path), 0, NULL},
    {"isBootstrapBaseFile", SL_M_FLAG, AT(sl_hudi_clean_file, bootstrap), 0, NULL},
    {0},
};
static const struct sl_record clean_file = {"HoodieCleanFileInfo", sizeof(struct sl_hudi_clean_file), clean_file_members};

static const struct sl_member clean_files_members[] = {{"", SL_M_RECORDS, LIST(sl_hudi_clean_files, files), &clean_file}, {0}};
static const struct sl_record clean_files = {"files to delete", sizeof(struct sl_hudi_clean_files), clean_files_members};

static const struct sl_member earliest_members[] = {
    {"timestamp", SL_M_TEXT, AT(sl_hudi_clean_plan, earliest), 0, NULL},
    {"action", SL_M_TEXT, AT(sl_hudi_clean_plan, earliest_action), 0, NULL},
    {"state", SL_M_TEXT, AT(sl_hudi_clean_plan, earliest_state), 0, NULL},
    {0},
};
static const struct sl_record earliest = {"HoodieActionInstant", sizeof(struct sl_hudi_clean_plan), earliest_members};

static const struct sl_member clean_plan_members[] = {
    {"earliestInstantToRetain", SL_M_RECORD, 0, AT(sl_hudi_clean_plan, has_earliest), &earliest},
    {"lastCompletedCommitTimestamp", SL_M_TEXT, AT(sl_hudi_clean_plan, last_completed), 0, NULL},
    {"policy", SL_M_TEXT, AT(sl_hudi_clean_plan, policy), 0, NULL},
    {"filePathsToBeDeletedPerPartition", SL_M_MAP, LIST(sl_hudi_clean_plan, partitions), &clean_files},
    {"partitionsToBeDeleted", SL_M_TEXTS, LIST(sl_hudi_clean_plan, drop_partitions), NULL},
    {"version", SL_M_NUMBER, AT(sl_hudi_clean_plan, version), 0, NULL},
    {0},
};
static const struct sl_record clean_plan = {"HoodieCleanerPlan", sizeof(struct sl_hudi_clean_plan), clean_plan_members};

static const struct sl_member cleaned_members[] = {
    {"partitionPath", SL_M_TEXT, AT(sl_hudi_clean_partition, partition), 0, NULL},
    {"policy", SL_M_TEXT, AT(sl_hudi_clean_partition, policy), 0, NULL},
    {"deletePathPatterns", SL_M_TEXTS, LIST(sl_hudi_clean_partition, patterns), NULL},
    {"successDeleteFiles", SL_M_TEXTS, LIST(sl_hudi_clean_partition, deleted), NULL},
    {"failedDeleteFiles", SL_M_TEXTS, LIST(sl_hudi_clean_partition, failed), NULL},
    {"isPartitionDeleted", SL_M_FLAG, AT(sl_hudi_clean_partition, dropped), 0, NULL},
    {0},
};
static const struct sl_record cleaned = {"HoodieCleanPartitionMetadata", sizeof(struct sl_hudi_clean_partition), cleaned_members};

static const struct sl_member clean_members[] = {
    {"startCleanTime", SL_M_TEXT, AT(sl_hudi_clean, start), 0, NULL},
    {"timeTakenInMillis", SL_M_NUMBER, AT(sl_hudi_clean, millis), 0, NULL},
    {"totalFilesDeleted", SL_M_NUMBER, AT(sl_hudi_clean, files_deleted), 0, NULL},
    {"earliestCommitToRetain", SL_M_TEXT, AT(sl_hudi_clean, earliest_retained), 0, NULL},
    {"lastCompletedCommitTimestamp", SL_M_TEXT, AT(sl_hudi_clean, last_completed), 0, NULL},
    {"partitionMetadata", SL_M_MAP, LIST(sl_hudi_clean, partitions), &cleaned},
    {"version", SL_M_NUMBER, AT(sl_hudi_clean, version), 0, NULL},
    {0},
};
static const struct sl_record clean = {"HoodieCleanMetadata", sizeof(struct sl_hudi_clean), clean_members};

/* ---- savepoint ---- */

static const struct sl_member saved_members[] = {
    {"partitionPath", SL_M_TEXT, AT(sl_hudi_savepoint_partition, partition), 0, NULL},
    {"savepointDataFile", SL_M_TEXTS, LIST(sl_hudi_savepoint_partition, files), NULL},
    {0},
};
static const struct sl_record saved = {"HoodieSavepointPartitionMetadata", sizeof(struct sl_hudi_savepoint_partition), saved_members};

static const struct sl_member savepoint_members[] = {
    {"savepointedBy", SL_M_TEXT, AT(sl_hudi_savepoint, by), 0, NULL},
    {"savepointedAt", SL_M_NUMBER, AT(sl_hudi_savepoint, at_millis), 0, NULL},
    {"comments", SL_M_TEXT, AT(sl_hudi_savepoint, comments), 0, NULL},
    {"partitionMetadata", SL_M_MAP, LIST(sl_hudi_savepoint, partitions), &saved},
    {"version", SL_M_NUMBER, AT(sl_hudi_savepoint, version), 0, NULL},
    {0},
};
static const struct sl_record savepoint = {"HoodieSavepointMetadata", sizeof(struct sl_hudi_savepoint), savepoint_members};

/* ---- Avro schemas of version 6 ---- */

#define S "{\"type\":\"string\",\"avro.java.string\":\"String\"}"
#define NULLABLE(t) "[\"null\"," t "]"
#define ARRAY(t) "{\"type\":\"array\",\"items\":" t "}"
#define MAP(t) "{\"type\":\"map\",\"values\":" t ",\"avro.java.string\":\"String\"}"
#define F(name, t) "{\"name\":\"" name "\",\"type\":" t "}"
#define FN(name, t) "{\"name\":\"" name "\",\"type\":" NULLABLE(t) ",\"default\":null}"
#define FV F_VERSION("1")
#define F_VERSION(v) "{\"name\":\"version\",\"type\":[\"int\",\"null\"],\"default\":" v "}"
#define INNER(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"
#define TOP(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"namespace\":\"org.apache.hudi.avro.model\",\"fields\":[" fields "]}"
#define INSTANT_INFO INNER("HoodieInstantInfo", F("commitTime", S) "," F("action", S))

static const char plan_schema[] = TOP("HoodieCompactionPlan",
    FN("operations", ARRAY(INNER("HoodieCompactionOperation",
        F("baseInstantTime", NULLABLE(S)) "," FN("deltaFilePaths", ARRAY(S)) "," FN("dataFilePath", S) "," F("fileId", NULLABLE(S)) ","
        FN("partitionPath", S) "," FN("metrics", MAP("\"double\"")) "," FN("bootstrapFilePath", S)))) ","
    FN("extraMetadata", MAP(S)) "," FV ","
    FN("strategy", INNER("HoodieCompactionStrategy", FN("compactorClassName", S) "," FN("strategyParams", MAP(S)) "," FV)) ","
    "{\"name\":\"preserveHoodieMetadata\",\"type\":[\"boolean\",\"null\"],\"default\":false}," FN("missingSchedulePartitions", ARRAY(S)));

static const char rollback_plan_schema[] = TOP("HoodieRollbackPlan",
    FN("instantToRollback", INSTANT_INFO) ","
    FN("RollbackRequests", ARRAY(INNER("HoodieRollbackRequest",
        F("partitionPath", S) "," FN("fileId", S) "," FN("latestBaseInstant", S) ","
        "{\"name\":\"filesToBeDeleted\",\"type\":" ARRAY(S) ",\"default\":[]}," FN("logBlocksToBeDeleted", MAP("\"long\""))))) "," FV);

static const char rollback_schema[] = TOP("HoodieRollbackMetadata",
    F("startRollbackTime", S) "," F("timeTakenInMillis", "\"long\"") "," F("totalFilesDeleted", "\"int\"") ","
    F("commitsRollback", ARRAY(S)) ","
    F("partitionMetadata", MAP(INNER("HoodieRollbackPartitionMetadata",
        F("partitionPath", S) "," F("successDeleteFiles", ARRAY(S)) "," F("failedDeleteFiles", ARRAY(S)) ","
        FN("rollbackLogFiles", MAP("\"long\"")) "," FN("logFilesFromFailedCommit", MAP("\"long\""))))) "," FV ","
    "{\"name\":\"instantsRollback\",\"type\":" ARRAY(INSTANT_INFO) ",\"default\":[]}");

static const char clean_plan_schema[] = TOP("HoodieCleanerPlan",
    FN("earliestInstantToRetain", INNER("HoodieActionInstant", F("timestamp", S) "," F("action", S) "," F("state", S))) ","
    "{\"name\":\"lastCompletedCommitTimestamp\",\"type\":" S ",\"default\":\"\"}," F("policy", S) ","
    FN("filesToBeDeletedPerPartition", MAP(ARRAY(S))) "," FV ","
    FN("filePathsToBeDeletedPerPartition", MAP(ARRAY(INNER("HoodieCleanFileInfo",
        FN("filePath", S) "," FN("isBootstrapBaseFile", "\"boolean\""))))) ","
    FN("partitionsToBeDeleted", ARRAY(S)) "," FN("extraMetadata", MAP(S)));

static const char clean_schema[] = TOP("HoodieCleanMetadata",
    F("startCleanTime", S) "," F("timeTakenInMillis", "\"long\"") "," F("totalFilesDeleted", "\"int\"") ","
    F("earliestCommitToRetain", S) ",{\"name\":\"lastCompletedCommitTimestamp\",\"type\":" S ",\"default\":\"\"},"
    F("partitionMetadata", MAP(INNER("HoodieCleanPartitionMetadata",
        F("partitionPath", S) "," F("policy", S) "," F("deletePathPatterns", ARRAY(S)) "," F("successDeleteFiles", ARRAY(S)) ","
        F("failedDeleteFiles", ARRAY(S)) "," "{\"name\":\"isPartitionDeleted\",\"type\":[\"null\",\"boolean\"],\"default\":null}"))) "," FV ","
    FN("bootstrapPartitionMetadata", MAP("\"HoodieCleanPartitionMetadata\"")) "," FN("extraMetadata", MAP(S)));

static const char savepoint_schema[] = TOP("HoodieSavepointMetadata",
    F("savepointedBy", S) "," F("savepointedAt", "\"long\"") "," F("comments", S) ","
    F("partitionMetadata", MAP(INNER("HoodieSavepointPartitionMetadata", F("partitionPath", S) "," F("savepointDataFile", ARRAY(S))))) "," FV);

/* ---- plans and metadata ---- */

static int check_version(const struct sl_record *r, int64_t version, int64_t least, int64_t most, sl_err *err)
{
    if (version >= least && version <= most)
        return SL_OK;
    return sl_err_set(err, SL_EUNSUPPORTED, "version %lld of %s is not supported", (long long)version, r->name);
}

#define CODEC(function, type, record, schema, least, most, written)                                                          \
    int sl_hudi_##function##_decode(struct sl_arena *a, sl_str bytes, struct type *out, sl_err *err)                         \
    {                                                                                                                        \
        SL_TRY(sl_record_decode(a, &(record), bytes, out, err));                                                             \
        out->version = out->version ? out->version : 1;                                                                      \
        return check_version(&(record), out->version, least, most, err);                                                     \
    }                                                                                                                        \
                                                                                                                             \
    int sl_hudi_##function##_encode(const struct type *from, struct sl_buf *out, sl_err *err)                                \
    {                                                                                                                        \
        struct type copy = *from;                                                                                            \
                                                                                                                             \
        copy.version = written;                                                                                              \
        return sl_record_encode(&(record), schema, &copy, out, err);                                                         \
    }

CODEC(compaction, sl_hudi_compaction_plan, plan, plan_schema, 1, 2, 2)
CODEC(rollback_plan, sl_hudi_rollback_plan, rollback_plan, rollback_plan_schema, 1, 1, 1)
CODEC(rollback, sl_hudi_rollback, rollback, rollback_schema, 1, 1, 1)
CODEC(clean_plan, sl_hudi_clean_plan, clean_plan, clean_plan_schema, 2, 2, 2)
CODEC(clean, sl_hudi_clean, clean, clean_schema, 1, 2, 2)
CODEC(savepoint, sl_hudi_savepoint, savepoint, savepoint_schema, 1, 1, 1)
