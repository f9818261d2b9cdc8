/*
 * write.h - from a SELECT to data files in their partition folders, not yet part of the table.
 *
 * The files are complete, synced, checked and described by ADD entries; a commit makes them visible, sl_new_files_discard removes them.
 */
#ifndef SL_TABLE_WRITE_H
#define SL_TABLE_WRITE_H

#include "engine/engine.h"
#include "table/append/append.h"

#define SL_STAGE_DIR ".sluice/stage" /* files under way; what a dead process left there may be removed by age */

struct sl_new_files {
    struct sl_arena arena;
    struct sl_manifest_entry *v; /* ADD entries */
    size_t n, cap;
    int64_t rows, bytes;
};
#define SL_NEW_FILES_INIT {SL_ARENA_INIT, NULL, 0, 0, 0, 0}

struct sl_write_opts {
    bool compacted;            /* _FILE_SOURCE 1 and the rest of what compaction writes */
    int64_t first_sequence;    /* _MIN_SEQUENCE_NUMBER of the first file */
    uint64_t file_bytes;       /* 0: target-file-size of the table */
    bool trusted;              /* values are of the columns' types and were checked: casts and checks are skipped */
    bool repeatable;           /* the SELECT gives the same rows again, so out of memory it is run again on one thread */
    const sl_str *partition;   /* all rows are of this partition (BinaryRow bytes): no partitioning of rows. NULL: find out */
};

/* Run SELECT_SQL on CONN; its columns are the table's (t->schema), by position. Values are cast to the columns' types; what would lose digits,
 * overflow, be too long or NULL in a NOT NULL column is an error naming the column, and nothing is left behind. No rows: no files.
 * OUT must be empty or from an earlier call (files are added). OPTS may be NULL. */
int sl_append_write(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, const struct sl_write_opts *opts, struct sl_new_files *out,
                    sl_err *err) SL_WUR;
void sl_new_files_discard(struct sl_append *t, struct sl_new_files *files); /* remove the files, empty the list; never fails */
void sl_new_files_release(struct sl_new_files *files);

/* As sl_append_write checks before it runs: SL_EINPUT, naming the column, if SELECT_SQL does not fit the table's columns. */
int sl_append_write_check(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, sl_err *err) SL_WUR;

#endif
