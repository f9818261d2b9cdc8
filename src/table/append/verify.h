/*
 * verify.h - check every reference, size, count and statistic of a table.
 *
 * Works on tables that are being written to: what expires while it is being checked is not reported.
 */
#ifndef SL_TABLE_APPEND_VERIFY_H
#define SL_TABLE_APPEND_VERIFY_H

#include "engine/engine.h"
#include "sluice/table.h"
#include "table/append/append.h"

/* CONN reads Parquet files. SL_EUNSOUND if there is damage. */
int sl_append_verify(struct sl_append *t, struct sl_conn *conn, const struct sl_verify_options *options,
                     struct sl_verify_report *report, sl_err *err) SL_WUR;

#endif
