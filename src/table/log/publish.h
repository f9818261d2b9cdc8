/*
 * publish.h - one delta commit from its instant to its completion, and what is left of it if it fails.
 *
 * Order of the durable steps: the prepared file (`.hoodie/.sluice/prepared-<t>`), `t.deltacommit.inflight`, `t.deltacommit.requested`, a marker for each
 * data file, the data files, the text of the commit into the prepared file, and its rename to `t.deltacommit`: that is the commit point.
 * A rollback removes the prepared file first, so a writer that it rolled back while it did not run can publish nothing when it wakes.
 */
#ifndef SL_TABLE_LOG_PUBLISH_H
#define SL_TABLE_LOG_PUBLISH_H

#include "table/log/lock.h"
#include "table/log/view.h"

struct sl_publish;
/* Under the lock, which is borrowed. TL is what the timeline is now. */
int sl_publish_begin(struct sl_log *t, struct sl_log_lock *lock, const struct sl_timeline *tl, enum sl_hudi_action action, struct sl_publish **out,
                     sl_err *err) SL_WUR;
int64_t sl_publish_instant(const struct sl_publish *p);
/* A data file that is going to be made: its marker. DIR is the partition's path, "" for none. */
int sl_publish_mark(struct sl_publish *p, sl_str dir, sl_str name, sl_err *err) SL_WUR;
/* Markers are on disk. Before the first data file. */
int sl_publish_marked(struct sl_publish *p, sl_err *err) SL_WUR;
/* Before a data file gets its name: SL_ECONFLICT if the commit was rolled back meanwhile. */
int sl_publish_alive(struct sl_publish *p, sl_err *err) SL_WUR;
/* Adds to the commit; everything is copied. */
int sl_publish_stat(struct sl_publish *p, const struct sl_hudi_stat *stat, sl_err *err) SL_WUR;
int sl_publish_extra(struct sl_publish *p, sl_str key, sl_str value, sl_err *err) SL_WUR; /* replaces; value.p == NULL removes */
/* All data files are synced. OPERATION as "UPSERT". With SL_ERR_UNKNOWN_OUTCOME it may be done. */
int sl_publish_complete(struct sl_publish *p, const char *operation, sl_err *err) SL_WUR;
/* Releases it. What was not completed is rolled back, as far as possible. NULL is fine. */
void sl_publish_end(struct sl_publish *p);

/* The folder of a partition, with its .hoodie_partition_metadata. */
int sl_publish_partition(struct sl_publish *p, sl_str dir, sl_err *err) SL_WUR;

#define SL_LOG_MARKERS ".hoodie/.temp"
#define SL_PREPARED_PREFIX "prepared-"
void sl_prepared_path(int64_t instant, struct sl_buf *out);

/* Extra metadata "sluice." of the newest completed write, which every commit carries forward. Memory of A. */
int sl_carried_extra(const struct sl_timeline *tl, struct sl_arena *a, const struct sl_hudi_kv **out, size_t *n, sl_err *err) SL_WUR;

#endif
