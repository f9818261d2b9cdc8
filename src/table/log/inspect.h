/*
 * inspect.h - what a log table holds, as a JSON document and as lines for people.
 */
#ifndef SL_TABLE_LOG_INSPECT_H
#define SL_TABLE_LOG_INSPECT_H

#include "base/json.h"
#include "sluice/table.h"
#include "table/log/log.h"

/* OPTIONS->snapshot: an instant. *OUT is the caller's (json_decref). */
int sl_log_inspect(struct sl_log *t, const struct sl_inspect_options *options, json_t **out, sl_err *err) SL_WUR;
void sl_log_inspect_text(const json_t *document, struct sl_buf *out); /* never fails on a document of sl_log_inspect */

#endif
