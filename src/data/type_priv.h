/* type_priv.h - what the two files on types share. */
#ifndef SL_DATA_TYPE_PRIV_H
#define SL_DATA_TYPE_PRIV_H

#include "data/type.h"

/* The whole of TEXT, a string in a schema file, spells a type; it stands DEPTH types deep there. */
int sl_type_from_paimon(struct sl_arena *a, sl_str text, int depth, const struct sl_type **out, sl_err *err) SL_WUR;

#endif
