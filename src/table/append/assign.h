/* assign.h - the SQL that turns a value into one of a column, or fails: nothing is rounded, cut or lost silently. */
#ifndef SL_TABLE_ASSIGN_H
#define SL_TABLE_ASSIGN_H

#include "data/type.h"

/* EXPR, of the engine's type FROM_SQL, as a value of column F: of its engine type, every loss an error that names the column. EXPR is used several
 * times, so it should be a name. Approximate types (FLOAT, DOUBLE) take the nearest value. */
void sl_assign_expr(struct sl_buf *out, const struct sl_field *f, const char *from_sql, sl_str expr);

#endif
