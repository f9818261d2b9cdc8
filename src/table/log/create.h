/* create.h - makes log tables: CREATE TABLE with 'write-mode' = 'log'. */
#ifndef SL_TABLE_LOG_CREATE_H
#define SL_TABLE_LOG_CREATE_H

#include "table/catalog.h"

bool sl_log_create_wanted(const struct sl_table_def *def);
/* In the folder DIR of STORE. Checks everything, then publishes hoodie.properties; SL_EEXISTS if there is one. */
int sl_log_create(struct sl_store *store, sl_str dir, sl_str db, sl_str table, const struct sl_table_def *def, sl_err *err) SL_WUR;

#endif
