/* compact_priv.h - what the files of compaction share. */
#ifndef SL_TABLE_LOG_COMPACT_PRIV_H
#define SL_TABLE_LOG_COMPACT_PRIV_H

#include "table/log/compact.h"

#define SL_STAGED_PREFIX "compact-"

void sl_log_staged_path(const char *name, struct sl_buf *out); /* of a staged file, relative to the table */

#endif
