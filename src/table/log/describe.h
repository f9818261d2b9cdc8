/*
 * describe.h - what a log file of a Hudi table holds, for people.
 */
#ifndef SL_TABLE_LOG_DESCRIBE_H
#define SL_TABLE_LOG_DESCRIBE_H

#include "store/store.h"

/* By its name or its first bytes; a file that cannot be read is none. */
bool sl_log_file_is(struct sl_store *s, sl_str name);
/* Lines, or with JSON one document, appended to OUT. Any bytes are described; damage is shown and no error. Only headers, footers and delete
 * blocks are read. */
int sl_log_file_inspect(struct sl_store *s, sl_str name, bool json, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
