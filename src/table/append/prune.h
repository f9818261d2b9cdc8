/* prune.h - may a manifest, a partition or a file hold rows that a predicate wants? When in doubt: yes. */
#ifndef SL_TABLE_PRUNE_H
#define SL_TABLE_PRUNE_H

#include "table/append/manifests.h"

struct sl_pruner;
/* PRED over the columns of SCHEMA; both are borrowed. */
int sl_pruner_new(struct sl_append *t, const struct sl_schema *schema, const struct sl_pred *pred, struct sl_pruner **out, sl_err *err) SL_WUR;
void sl_pruner_free(struct sl_pruner *p); /* NULL is fine */
bool sl_pruner_manifest(struct sl_pruner *p, const struct sl_manifest_meta *m);
bool sl_pruner_partition(struct sl_pruner *p, const struct sl_value *values);
bool sl_pruner_file(struct sl_pruner *p, const struct sl_manifest_entry *e, const struct sl_value *values);

#endif
