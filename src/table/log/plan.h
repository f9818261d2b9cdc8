/*
 * plan.h - from an instant and a predicate to the slices of a log table to read, and to the SQL that reads exactly their rows.
 *
 * Slices of partitions that the predicate rules out are left out before their files are looked at; when in doubt a slice is kept. A plan must
 * outlive every query over its SQL. Source of the merge rules: facts on Hudi, 5.2-5.4, decision L6:
 *
 *   event time   among the versions of a key the greatest ordering value wins, of equal ones the later; NULL is less than all. A delete without
 *                event time wins over all that came before it, base file included; one with event time competes like a row.
 *   commit time  the later one wins.
 */
#ifndef SL_TABLE_LOG_PLAN_H
#define SL_TABLE_LOG_PLAN_H

#include "data/predicate.h"
#include "engine/engine.h"
#include "index/lookup.h"
#include "table/log/view.h"

enum sl_log_query {
    SL_LOG_SNAPSHOT,         /* base files and logs, merged */
    SL_LOG_READ_OPTIMIZED,   /* base files alone */
    SL_LOG_INCREMENTAL,      /* rows of the snapshot that instants in (begin, end] wrote */
};

struct sl_log_selector {     /* all zero = snapshot of the latest */
    enum sl_log_query query;
    int64_t as_of;           /* instant; 0 = latest */
    int64_t begin, end;      /* INCREMENTAL; end 0 = latest. Layout 2 compares completions, as its instants are ordered by them */
};

struct sl_log_plan_io;
struct sl_log_plan {
    struct sl_log *table;
    struct sl_log_selector sel;
    struct sl_view *view;
    struct sl_view *own_view;           /* NULL: the caller's is used */
    const struct sl_log_schema *schema; /* the table's, or that of the instant when travelling in time */
    struct sl_log_schema *own_schema;
    struct sl_schema columns;           /* what the SQL gives: the schema's columns, then with META the five meta columns */
    bool meta;
    const struct sl_slice *const *slices; /* to be read */
    size_t nslices;
    int64_t instant;                    /* newest completed one that is seen; 0 = none */
    /* for EXPLAIN and progress */
    size_t slices_total, partitions_total, partitions_pruned, pruned_time;
    size_t base_files, log_files;
    uint64_t base_bytes, log_bytes;
    /* The predicate names record keys: only sources that may hold one of them are read (L4). Done by sl_log_plan_sql. */
    const sl_str *keys;
    size_t nkeys;                       /* 0 = it does not */
    struct sl_lookup_stats lookup;      /* sources: base files and data blocks; opened: those that are read */
    size_t delete_blocks;               /* read in any case, where a source of their slice is */
    struct sl_log_plan_io *io;
};

/* In two steps, since a predicate speaks of the plan's columns: first they alone are known. SEL NULL = latest snapshot. META: five more columns at
 * the end. Checks sl_log_check_read. */
int sl_log_plan_columns(struct sl_log *t, const struct sl_log_selector *sel, bool meta, struct sl_log_plan **out, sl_err *err) SL_WUR;
/* Then the slices; once. What is read is announced until sl_log_plan_free (leases.h), so that cleaning keeps it. PRED, over plan->columns; NULL = all rows. */
int sl_log_plan_files(struct sl_log_plan *p, const struct sl_pred *pred, sl_err *err) SL_WUR;
/* A plan over given slices of VIEW (copied; they may hold fewer logs than the view's), with meta columns: for compaction. VIEW must outlive it. */
int sl_log_plan_slices(struct sl_log *t, struct sl_view *view, const struct sl_slice *slices, size_t n, struct sl_log_plan **out,
                       sl_err *err) SL_WUR;
void sl_log_plan_free(struct sl_log_plan *p); /* NULL is fine */

/* Append a SELECT (no trailing semicolon; wrap it in parentheses) that gives exactly plan->columns, in order, in the engine's types. It may be run
 * any number of times, on CONN only. */
int sl_log_plan_sql(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err) SL_WUR;

/* The error of a query over the plan: if a file is missing because it was cleaned meanwhile, say that instead. Returns the code. */
int sl_log_plan_explain_error(struct sl_log_plan *p, int code, sl_err *err);

#endif
