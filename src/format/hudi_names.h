/*
 * hudi_names.h - names in Hudi tables: instants, timeline files, base and log files, partitions.
 *
 * Pure functions. Parsed parts are views into the name given. A name that is none of a kind gives false: listings hold other
 * files too. Source: facts on Hudi, sections 2 and 3.1-3.2 (FSUtils, HoodieLogFile, HoodieInstant, hudi-rs file_group).
 */
#ifndef SL_FORMAT_HUDI_NAMES_H
#define SL_FORMAT_HUDI_NAMES_H

#include "base/mem.h"
#include "base/str.h"

/* ---- instants: the digits yyyyMMddHHmmssSSS as one number, so that numbers compare as instants do ---- */

/* 17 digits, or the 14 of old tables, which count as ...999. False for anything else. */
bool sl_hudi_instant_parse(sl_str text, int64_t *out);
void sl_hudi_instant_text(int64_t instant, char out[18]);  /* 17 digits, terminated */
int64_t sl_hudi_instant_of_millis(int64_t epoch_ms);       /* taken as UTC */
bool sl_hudi_instant_millis(int64_t instant, int64_t *epoch_ms); /* taken as UTC; false if it is no date (13th month, ...) */

/* ---- files of the timeline ---- */
enum sl_hudi_action {
    SL_HUDI_COMMIT, SL_HUDI_DELTACOMMIT, SL_HUDI_COMPACTION, SL_HUDI_LOGCOMPACTION, SL_HUDI_REPLACECOMMIT, SL_HUDI_CLUSTERING,
    SL_HUDI_ROLLBACK, SL_HUDI_CLEAN, SL_HUDI_SAVEPOINT, SL_HUDI_RESTORE, SL_HUDI_INDEXING, SL_HUDI_SCHEMACOMMIT,
    SL_HUDI_NACTIONS
};
enum sl_hudi_state { SL_HUDI_REQUESTED, SL_HUDI_INFLIGHT, SL_HUDI_COMPLETED };

const char *sl_hudi_action_name(enum sl_hudi_action a); /* "deltacommit" */
bool sl_hudi_action_parse(sl_str name, enum sl_hudi_action *out);

struct sl_hudi_timeline_name {
    sl_str text;          /* the requested instant as written; 14 digits in old tables */
    int64_t instant;
    int64_t completion;   /* layout 2, completed; else 0 */
    enum sl_hudi_action action; /* what the name says: a completed compaction is a COMMIT, a log compaction a DELTACOMMIT,
                                 * a clustering a REPLACECOMMIT */
    enum sl_hudi_state state;
};
/* LAYOUT 1: `.hoodie/` of versions up to 6; 2: `.hoodie/timeline/` of 8 and later. "T.inflight" is a COMMIT inflight. */
bool sl_hudi_timeline_parse(sl_str name, int layout, struct sl_hudi_timeline_name *out);
/* Layout 1 only. */
void sl_hudi_timeline_put(struct sl_buf *out, int64_t instant, enum sl_hudi_action action, enum sl_hudi_state state);
/* The action under which a pending action of kind A completes: COMPACTION -> COMMIT, LOGCOMPACTION -> DELTACOMMIT, CLUSTERING ->
 * REPLACECOMMIT, others as they are. */
enum sl_hudi_action sl_hudi_action_completed(enum sl_hudi_action a);

/* ---- data files ---- */
struct sl_hudi_base_name {
    sl_str file_id, token, text; /* text = instant as written */
    int64_t instant;
    sl_str extension;            /* "parquet" */
};
bool sl_hudi_base_parse(sl_str name, struct sl_hudi_base_name *out);  /* <fileId>_<token>_<instant>.<extension> */
void sl_hudi_base_put(struct sl_buf *out, sl_str file_id, sl_str token, int64_t instant); /* .parquet */

struct sl_hudi_log_name {
    sl_str file_id;
    sl_str text;      /* T as written */
    int64_t instant;  /* T: version 6: base instant of the slice; 8 and later: the delta commit's own */
    int64_t version;  /* from 1 */
    sl_str token;     /* empty if the name has none */
    bool cdc;
};
bool sl_hudi_log_parse(sl_str name, struct sl_hudi_log_name *out);    /* .<fileId>_<T>.log.<version>_<token>[.cdc] */
void sl_hudi_log_put(struct sl_buf *out, sl_str file_id, int64_t instant, int64_t version, sl_str token);
int sl_hudi_log_cmp(const struct sl_hudi_log_name *a, const struct sl_hudi_log_name *b); /* by T, version as number, token as text */

void sl_hudi_file_id_new(struct sl_buf *out);            /* random UUID + "-0" */
bool sl_hudi_file_id_ok(sl_str file_id);                 /* not empty; no '_', '.', '/' */
#define SL_HUDI_ROLLBACK_TOKEN "1-0-1"

/* ---- partitions ---- */
#define SL_HUDI_DEFAULT_PARTITION "__HIVE_DEFAULT_PARTITION__"
#define SL_HUDI_PARTITION_FILE ".hoodie_partition_metadata"

/* One level of a partition path, FIELD=VALUE (hive style) or VALUE; VALUE.p == NULL or empty is the default partition. ENCODE: the
 * characters of facts 2.4 as %XX. Levels are joined by '/', which the caller puts. */
void sl_hudi_partition_level(struct sl_buf *out, sl_str field, sl_str value, bool hive, bool encode);
/* The value of level I (0-based) of NLEVELS of PATH, undone what sl_hudi_partition_level did: *NULL_ for the default partition. Text
 * of A. SL_ECORRUPT if PATH has another number of levels or, hive style, another field there. */
int sl_hudi_partition_value(struct sl_arena *a, sl_str path, size_t i, size_t nlevels, sl_str field, bool hive, bool encoded,
                            sl_str *value, bool *null_, sl_err *err) SL_WUR;

/* `.hoodie_partition_metadata`. DEPTH = levels below the base path. */
void sl_hudi_partition_file_put(struct sl_buf *out, int64_t instant, int depth, int64_t now_millis);
int sl_hudi_partition_file_parse(sl_str bytes, int64_t *instant, int64_t *depth, sl_err *err) SL_WUR;

#endif
