/* plan_priv.h - what the files of a plan over a log table share. */
#ifndef SL_TABLE_LOG_PLAN_PRIV_H
#define SL_TABLE_LOG_PLAN_PRIV_H

#include <pthread.h>

#include "engine/rows.h"
#include "table/log/merge.h"
#include "table/log/plan.h"
#include "table/log/sources.h"

/* Columns of the row source over logs, before the five meta columns and the table's own. */
enum { SL_SCAN_SLICE, SL_SCAN_ALWAYS, SL_SCAN_DELETED, SL_SCAN_ORDERING, SL_SCAN_NSPECIAL };
#define SL_SCAN_META SL_SCAN_NSPECIAL
#define SL_SCAN_DATA (SL_SCAN_NSPECIAL + SL_HUDI_NMETA)

/* The embedded Parquet file of a block, outside of its log. */
struct sl_plan_embedded {
    int fd;                         /* owned */
    const char *path;               /* under which DuckDB opens it */
    size_t slice, block;
};

/* A slice with logs. */
struct sl_plan_slice {
    const struct sl_slice *slice;
    struct sl_blocks blocks;
    bool chosen;                    /* `blocks` are those that may hold the wanted keys */
    bool ready;                     /* `merged` is filled: slices with PARQUET blocks, before the query; others while it runs */
    struct sl_merged merged;
};

struct sl_log_plan_io {
    struct sl_arena arena;
    struct sl_reader *reader;
    struct sl_key_sources sources;  /* of a look-up by keys; owns the texts of the chosen blocks */
    struct sl_blocks *chosen;       /* one a slice of the plan; NULL: no look-up */
    size_t nchosen;
    struct sl_map *only;            /* the wanted keys */
    struct sl_conn *conn;           /* for PARQUET blocks, while the SQL is made */
    struct sl_merge merge;
    struct sl_plan_slice *slices;   /* with base and logs first, in the order of the list of base files; then those without base */
    size_t nslices, nbased;
    SL_VEC(struct sl_plan_embedded) embedded;
    struct sl_map *by_path;         /* path of an embedded file -> its position + 1 */
    struct sl_field *fields;        /* of the row source */
    size_t nfields;
    struct sl_row_source source;
    struct sl_row_filter newest, always;
    struct sl_engine *engine;       /* where they are registered; NULL: they are not */
    uint64_t source_id, newest_id, always_id;
    bool made;                      /* sl_plan__prepare has run */
};

int sl_plan__prepare(struct sl_log_plan *p, struct sl_conn *conn, sl_err *err) SL_WUR; /* scan.c: sources and filters are registered */
void sl_plan__unprepare(struct sl_log_plan *p);
int sl_plan__embed(struct sl_log_plan *p, sl_err *err) SL_WUR;                        /* embed.c: PARQUET blocks are made readable */
void sl_plan__unembed(struct sl_log_plan *p);
/* plan_keys.c: which record keys a predicate asks for, if it does; and the slices and blocks that may hold them. */
int sl_plan__find_keys(struct sl_log_plan *p, const struct sl_pred *pred, sl_err *err) SL_WUR;
int sl_plan__choose(struct sl_log_plan *p, struct sl_conn *conn, sl_err *err) SL_WUR;
bool sl_plan__event_time(const struct sl_log_plan *p);
/* Position of the ordering column among plan->columns; -1 if there is none. */
ptrdiff_t sl_plan__ordering(const struct sl_log_plan *p);

/* plan_sql.c: append a SELECT over Parquet files: "__sl_file" (position in the list), "__sl_row", "__sl_name", the meta columns and the
 * schema's columns by their names. Those that are not asked for cost nothing. PATHS are patterns. */
int sl_plan__files_sql(const struct sl_log_plan *p, struct sl_conn *conn, const sl_str *paths, size_t n, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
