/*
 * clean.h - remove orphans: files that no snapshot, tag or branch names, left by writers that died.
 *
 * The folders are listed first and the snapshots read after (P5), so that a file that is committed meanwhile is found named. A file is kept if
 * anything names its name at all, in whatever folder. Files that changed lately may belong to a writer at work and are kept.
 */
#ifndef SL_TABLE_APPEND_CLEAN_H
#define SL_TABLE_APPEND_CLEAN_H

#include "sluice/table.h"
#include "table/append/append.h"

int sl_append_clean(struct sl_append *t, const struct sl_clean_options *options, struct sl_clean_report *report,
                    sl_err *err) SL_WUR;

/* Files of a table that upkeep may look at: FN gets the path, how it is used, size and time. Symbolic links to folders are followed. */
enum sl_place { SL_PLACE_DATA, SL_PLACE_METADATA, SL_PLACE_TEMPORARY };
typedef int sl_table_file_fn(void *user, const char *path, const char *name, enum sl_place place, const struct sl_entry *e,
                             sl_err *err);
/* FOLDER (may be NULL) is told of each partition's folder after what is in it. */
int sl_table_walk(struct sl_append *t, sl_table_file_fn *fn, int (*folder)(void *user, const char *path, sl_err *err), void *user,
                  sl_err *err) SL_WUR;

#endif
