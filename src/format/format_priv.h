/* format_priv.h - what the files of this folder share. */
#ifndef SL_FORMAT_FORMAT_PRIV_H
#define SL_FORMAT_FORMAT_PRIV_H

#include "data/schema.h"

/* May S be the name of one file: not empty, no '/', no zero byte, not "." or ".."? */
bool sl_format_is_name(sl_str s);

/* An object of texts; members that are null are left out. */
int sl_json_options(struct sl_arena *a, const json_t *doc, const char *member, const struct sl_option **out, size_t *n,
                    sl_err *err) SL_WUR;
json_t *sl_options_to_json(const struct sl_option *v, size_t n); /* new reference; NULL if out of memory */

#endif
