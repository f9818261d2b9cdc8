/*
 * compactor.h - compaction inside a writer's process (`sluice ingest --compact`), fed by its own commit messages.
 *
 * The writer publishes an APPEND and then hands over what it added; threads of the compactor merge small files
 * and publish COMPACT snapshots under the writer's user and the same identifier. What lay in the table before is found by one scan at the
 * start. Nothing here makes the writer wait: a feed only copies the entries, and what fails is logged and counted, the files then stay as
 * they are.
 */
#ifndef SL_COMPACT_COMPACTOR_H
#define SL_COMPACT_COMPACTOR_H

#include "format/paimon.h"
#include "sluice/compact.h"

struct sl_env;
struct sl_compactor;

/* TABLE as in sluice/compact.h. Starts one thread for planning and committing, and WORKERS (0 = 1) threads. */
int sl_compactor_open(struct sl_env *env, sl_str table, uint32_t workers, struct sl_compactor **out, sl_err *err) SL_WUR;

/* The snapshot SNAPSHOT_ID, published by USER with IDENTIFIER, added these files. Copies them. ADDS NULL: it is not known which, so the
 * table is scanned. Any thread, in the order of the snapshots. */
void sl_compactor_feed(struct sl_compactor *c, const char *user, int64_t identifier, int64_t snapshot_id,
                       const struct sl_manifest_entry *adds, size_t n);


/* Ends the threads and frees C. DRAIN: first finish what is planned and commit it; else running tasks are given up and their
 * files removed. REPORT may be NULL. C NULL is fine. */
void sl_compactor_close(struct sl_compactor *c, bool drain, struct sl_compact_report *report);

#endif
