/*
 * hudi_describe.h - a log file for people: every block with its header, index, content and footer, and what is damaged.
 */
#ifndef SL_FORMAT_HUDI_DESCRIBE_H
#define SL_FORMAT_HUDI_DESCRIBE_H

#include "base/json.h"
#include "format/hudi_log.h"

/* *OUT (json_decref): {"type": "hudi-log", "bytes", "items": [...]}, blocks and damage in file order. Contents are read for what is
 * counted in them only. Damage is shown, never an error; errors are those of reading. */
int sl_hudi_log_describe(const struct sl_hudi_source *source, json_t **out, sl_err *err) SL_WUR;
/* The document as lines of text, appended to OUT. NAME is the file's. */
void sl_hudi_log_text(sl_str name, const json_t *doc, struct sl_buf *out);

#endif
