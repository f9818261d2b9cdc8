/*
 * rollback.h - make an older snapshot, or a tag's, the latest again (P6).
 *
 * Under the commit lock: LATEST is moved, the newer snapshots are removed newest first, and the folder is listed again; a snapshot that another
 * engine published meanwhile is left alone, and the rollback says so.
 */
#ifndef SL_TABLE_APPEND_ROLLBACK_H
#define SL_TABLE_APPEND_ROLLBACK_H

#include "sluice/table.h"
#include "table/append/append.h"

int sl_append_rollback(struct sl_append *t, const struct sl_rollback_options *options, struct sl_rollback_report *report,
                       sl_err *err) SL_WUR;

#endif
