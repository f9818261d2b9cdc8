/*
 * plan.h - from a snapshot and a predicate to the files to read, and to the SQL that reads exactly them.
 *
 * Files are dropped by exact partition values and by the statistics of the manifests, before any of them is opened; when in doubt a
 * file is kept. A plan can be cut to some of its files (rewrites, compaction tasks). It must outlive every query over its SQL.
 */
#ifndef SL_TABLE_PLAN_H
#define SL_TABLE_PLAN_H

#include "engine/engine.h"
#include "table/append/manifests.h"

struct sl_plan_file {
    const struct sl_manifest_entry *entry;
    const struct sl_value *partition;   /* npartition values */
    const char *path;                   /* absolute */
    const struct sl_index_entry *dv_index; /* the index file that holds its deletion vector; NULL if none */
    const struct sl_dv_range *dv;       /* NULL if none */
};

struct sl_plan_io;
struct sl_plan {
    struct sl_append *table;
    struct sl_snapshot snapshot;        /* id 0: the table has none, and there are no files */
    const struct sl_schema *schema;     /* the columns the SQL gives: the newest, or the snapshot's when travelling in time */
    struct sl_plan_file *files;
    size_t nfiles;
    const char *const *names;           /* what the SQL calls the columns; NULL: as in SCHEMA. The caller's, to be set before sl_plan_sql */
    bool has_dvs;
    /* for EXPLAIN and progress */
    size_t files_total, pruned_partition, pruned_stats, manifests_total, manifests_read;
    int64_t bytes, rows;                /* of the files kept; rows are physical */
    struct sl_plan_io *io;              /* the rest */
};

/* SEL NULL = latest; PRED NULL = all. A table without a snapshot gives an empty plan for latest. Checks sl_append_check(SL_READ). */
int sl_plan_files(struct sl_append *t, const struct sl_selector *sel, const struct sl_pred *pred, struct sl_plan **out, sl_err *err) SL_WUR;
/* A plan over given live entries of SNAPSHOT_ID (0: the latest; their deletion vectors are looked up there), in this order, e.g. a compaction
 * task. SL_ECONFLICT, naming one, if an entry is not live there. Entries are copied. */
int sl_plan_entries(struct sl_append *t, int64_t snapshot_id, const struct sl_manifest_entry *entries, size_t n, struct sl_plan **out,
                    sl_err *err) SL_WUR;
/* A plan over some files of another; KEEP has plan->nfiles flags. The other one must outlive it. */
int sl_plan_subset(const struct sl_plan *plan, const bool *keep, struct sl_plan **out, sl_err *err) SL_WUR;
void sl_plan_free(struct sl_plan *p); /* NULL is fine; ends the announcement */

/* Announce the plan's snapshot as being read (P4) until sl_plan_free. Call it right before running a query; a failure is none. */
int sl_plan_announce(struct sl_plan *p, sl_err *err) SL_WUR;

/* Append a SELECT (no trailing semicolon; wrap it in parentheses) that gives exactly the schema's columns, in order, in the engine's types. Lists of
 * files go into variables of CONN, so it runs on that connection only. POSITIONS adds two last columns: "__sl_file" (VARCHAR, absolute
 * path) and "__sl_row" (BIGINT, physical row number). */
int sl_plan_sql(struct sl_plan *p, struct sl_conn *conn, bool positions, struct sl_buf *out, sl_err *err) SL_WUR;

/* The error of a query over the plan: if a file is missing because the snapshot has expired meanwhile, say that instead. Returns the code. */
int sl_plan_explain_error(struct sl_plan *p, int code, sl_err *err);

#endif
