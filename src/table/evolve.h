/* evolve.h - the schema that CREATE TABLE makes and the one that ALTER TABLE makes of another. No files. */
#ifndef SL_TABLE_EVOLVE_H
#define SL_TABLE_EVOLVE_H

#include "table/catalog.h"

/* Schema 0 of a new table; everything is checked. */
int sl_schema_make(const struct sl_table_def *def, struct sl_schema *out, sl_err *err) SL_WUR;
/* FROM with all CHANGES applied and the next id. HAS_DATA: a snapshot exists, so some options are fixed. *CHANGED false: the changes change nothing. */
int sl_schema_change(const struct sl_schema *from, const struct sl_change *changes, size_t n, bool has_data, struct sl_schema *out,
                     bool *changed, sl_err *err) SL_WUR;
/* Options that a table of ours may not have, or whose text is wrong. */
int sl_schema_check_options(const struct sl_schema *s, sl_err *err) SL_WUR;

#endif
