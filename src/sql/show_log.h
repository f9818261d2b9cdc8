/* show_log.h - SHOW PARTITIONS and SHOW SNAPSHOTS of log tables. */
#ifndef SL_SQL_SHOW_LOG_H
#define SL_SQL_SHOW_LOG_H

#include "sql/session.h"
#include "table/log/log.h"

int sl_show_log_partitions(struct sl_exec *r, struct sl_log *t, sl_err *err) SL_WUR;
int sl_show_log_instants(struct sl_exec *r, struct sl_log *t, sl_err *err) SL_WUR;

#endif
