/*
 * verify.h - check a log table: its timeline, every file that a slice needs, every block of its logs; and whether a stock writer may take over.
 */
#ifndef SL_TABLE_LOG_VERIFY_H
#define SL_TABLE_LOG_VERIFY_H

#include "engine/engine.h"
#include "sluice/table.h"
#include "table/log/log.h"

/* CONN reads Parquet files. SL_EUNSOUND if there is damage. */
int sl_log_verify(struct sl_log *t, struct sl_conn *conn, const struct sl_verify_options *options, struct sl_verify_report *report,
                  sl_err *err) SL_WUR;

#endif
