/*
 * table.h - upkeep of tables: expire snapshots, clean orphans, roll back, tag, verify, inspect.
 *
 * TABLE is "table", "database.table", or the path of a table's folder (with a '/' in it). Option structs start as all
 * zero (SL_*_INIT), which means the defaults; REPORT structs are filled also when a call fails half way, with what was done.
 * One call a table at a time is enough: calls of several processes wait for each other where they must.
 */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_env; /* env.h */

/* How far a long call is; called often, from the calling thread. TOTAL 0 = not known. */
typedef void sl_upkeep_progress_fn(void *user, const char *doing, uint64_t done, uint64_t total);

/* A file that a call removed, or with dry_run would remove. PATH is under the table's folder. */
typedef void sl_upkeep_file_fn(void *user, const char *path, uint64_t bytes);

/* What upkeep calls share. */
struct sl_upkeep {
    bool dry_run;                    /* say what would be done, change nothing */
    sl_upkeep_progress_fn *progress; /* may be NULL */
    sl_upkeep_file_fn *file;         /* may be NULL */
    void *user;                      /* of both */
};

/* ---- expire: remove old snapshots and the files that only they used ---- */
/* Of a log table: remove file slices that compaction has superseded, by the options hoodie.clean.policy, .commits.retained (10), .hours.retained and
 * .fileversions.retained, or by retain_last commits and older_than; retain_most and limit are SL_EINPUT. consumer_age is that of readers' leases. */
struct sl_expire_options {
    struct sl_upkeep common;
    int64_t retain_last;   /* keep at least so many; 0 = table option snapshot.num-retained.min (10) */
    int64_t retain_most;   /* keep at most so many; 0 = snapshot.num-retained.max; RETAIN_LAST wins */
    bool has_older_than;
    int64_t older_than;    /* ms: remove only what was replaced so long ago; else snapshot.time-retained (1 h) */
    int64_t limit;         /* snapshots removed by one call; 0 = snapshot.expire.limit (50); -1 = no limit */
    int64_t consumer_age;  /* ms without a sign of life after which a consumer counts as dead; 0 = consumer.expiration-time */
};
struct sl_expire_report {
    int64_t earliest_before, earliest_now, latest; /* snapshot ids; 0 = the table has none */
    int64_t snapshots, tags;                       /* removed; tags: those whose time was over */
    uint64_t data_files, manifests, other_files;   /* removed; manifests = manifest lists too */
    uint64_t bytes;
    int64_t held_by_consumer;                      /* snapshot id that a consumer asks to keep, 0 if none did */
    char consumer[128];                            /* its name */
    uint64_t dead_consumers;                       /* ignored */
    bool log_table;                                /* ids are instants, and no instant is removed: files of superseded slices are */
};
#define SL_EXPIRE_INIT {{false, 0, 0, 0}, 0, 0, false, 0, 0, 0}
SL_API int sl_table_expire(struct sl_env *env, sl_str table, const struct sl_expire_options *options,
                           struct sl_expire_report *report, sl_err *err) SL_WUR;

/* ---- clean: remove files that nothing names, left by writers that died ---- */
struct sl_clean_options {
    struct sl_upkeep common;
    bool has_older_than;
    int64_t older_than; /* ms since the last change; else one day, and less only with FORCE */
    bool force;
};
struct sl_clean_report {
    uint64_t files, bytes;          /* removed, or found by a dry run */
    uint64_t young_files;           /* named by nothing, but too young to touch */
    uint64_t folders;               /* empty partition folders removed */
    uint64_t listed, named;         /* files seen, and files that something names */
};
#define SL_CLEAN_INIT {{false, 0, 0, 0}, false, 0, false}
SL_API int sl_table_clean(struct sl_env *env, sl_str table, const struct sl_clean_options *options,
                          struct sl_clean_report *report, sl_err *err) SL_WUR;

/* ---- rollback: make an older snapshot the latest again ---- */
struct sl_rollback_options {
    struct sl_upkeep common;
    int64_t snapshot;   /* > 0, or */
    sl_str tag;
    bool drop_tags;     /* remove tags of snapshots after the target; without it such a tag is SL_ECONFLICT */
    /* log tables: SNAPSHOT is an instant; 0: only what writers left that died */
    bool force;         /* log tables: a writer that does not let go of the table within 10 s is shut out, and its commit rolled back */
};
struct sl_rollback_report {
    int64_t latest_before, latest_now;
    int64_t snapshots, tags;         /* removed */
    int64_t rows_before, rows_now;   /* totalRecordCount */
    uint64_t data_files, other_files, bytes; /* removed */
};
#define SL_ROLLBACK_INIT {{false, 0, 0, 0}, 0, {0, 0}, false, false}
SL_API int sl_table_rollback(struct sl_env *env, sl_str table, const struct sl_rollback_options *options,
                             struct sl_rollback_report *report, sl_err *err) SL_WUR;

/* ---- tags: snapshots with a name, kept until the tag goes ---- */
struct sl_tag {
    const char *name;
    int64_t snapshot;
    int64_t rows;             /* totalRecordCount */
    int64_t commit_millis;    /* of the snapshot */
    int64_t create_millis;    /* of the tag, -1 = not known */
    int64_t retained_millis;  /* time to live, -1 = for ever */
};
/* SNAPSHOT 0 = the latest; RETAINED_MILLIS 0 = for ever. SL_EEXISTS if there is such a tag. */
SL_API int sl_table_tag_create(struct sl_env *env, sl_str table, sl_str name, int64_t snapshot, int64_t retained_millis,
                               sl_err *err) SL_WUR;
SL_API int sl_table_tag_delete(struct sl_env *env, sl_str table, sl_str name, sl_err *err) SL_WUR;
/* FN gets each tag, by name; what TAG points to lives until FN returns. */
SL_API int sl_table_tag_list(struct sl_env *env, sl_str table, void (*fn)(void *user, const struct sl_tag *tag), void *user,
                             sl_err *err) SL_WUR;

/* ---- verify: check every reference, size, count and statistic ---- */
enum sl_severity {
    SL_FINDING_DAMAGE,   /* rows are lost or wrong, or readers fail or may be misled */
    SL_FINDING_HARMLESS, /* untidy: nothing reads it, or every reader looks further */
};
struct sl_finding {
    enum sl_severity severity;
    const char *kind;    /* a stable word: "missing-file", "wrong-size", ... ; docs/guide/upkeep.md lists them */
    const char *where;   /* path under the table's folder, or "" */
    const char *named_by; /* what refers to it: "snapshot 3", "tag \"x\"", a manifest; or "" */
    const char *text;    /* what is wrong */
    const char *advice;  /* what is safe to do */
    bool repaired;
};
struct sl_verify_options {
    struct sl_upkeep common; /* file is not called */
    bool repair;             /* put harmless things right: hint files, dead consumers, temporary files older than a day */
    bool deep;               /* read every row, compare the real least and greatest values with the statistics */
    void (*finding)(void *user, const struct sl_finding *f); /* may be NULL; USER is common.user */
};
struct sl_verify_report {
    uint64_t damage, harmless, repaired;
    uint64_t snapshots, tags, branches, manifests, data_files, rows, bytes; /* checked */
    bool log_table;         /* then snapshots are instants, and the next member was counted unless there is damage: */
    uint64_t log_only_keys; /* keys that stand in logs alone, which the index of a stock writer does not see; 0 = it may take over */
};
#define SL_VERIFY_INIT {{false, 0, 0, 0}, false, false, 0}
/* SL_EUNSOUND if there is damage. */
SL_API int sl_table_verify(struct sl_env *env, sl_str table, const struct sl_verify_options *options,
                           struct sl_verify_report *report, sl_err *err) SL_WUR;

/* ---- inspect: what a table or a file holds ---- */
struct sl_inspect_options {
    int64_t snapshot;   /* 0 = the latest */
    sl_str tag;         /* instead */
    bool files;         /* list the data files too */
    bool manifests;     /* list the manifests too */
    bool json;          /* *TEXT is one JSON document, else lines for people */
};
#define SL_INSPECT_INIT {0, {0, 0}, false, false, false}
/* *TEXT is terminated and the caller's (sl_free). */
SL_API int sl_table_inspect(struct sl_env *env, sl_str table, const struct sl_inspect_options *options, char **text,
                            sl_err *err) SL_WUR;
/* Any file of a table: snapshot, schema, tag, manifest list, manifest, index manifest, deletion vectors, statistics, Parquet; a Hudi log, timeline
 * file or hoodie.properties. PATH is a path of the system. *TEXT is JSON; of a log, lines for people unless JSON is wanted. */
SL_API int sl_file_inspect(struct sl_env *env, sl_str path, bool json, char **text, sl_err *err) SL_WUR;

#ifdef __cplusplus
}
#endif
#endif
