/*
 * inspect.h - what a table holds, as one JSON document, and that document as lines for people.
 */
#ifndef SL_TABLE_APPEND_INSPECT_H
#define SL_TABLE_APPEND_INSPECT_H

#include "sluice/table.h"
#include "table/append/append.h"

/* *OUT is the caller's (json_decref). */
int sl_append_inspect(struct sl_append *t, const struct sl_inspect_options *options, json_t **out, sl_err *err) SL_WUR;
void sl_inspect_text(const json_t *document, struct sl_buf *out); /* never fails on a document of sl_append_inspect */

#endif
