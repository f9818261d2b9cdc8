/* hudi_avro_priv.h - what schemas, decoder and encoder of Hudi's records share. */
#ifndef SL_FORMAT_HUDI_AVRO_PRIV_H
#define SL_FORMAT_HUDI_AVRO_PRIV_H

#include "format/avro_value.h"
#include "format/hudi_avro.h"

/* The type behind a union of null and one type, or S itself; *NULL_BRANCH = number of the null branch, -1 if it is never null. NULL for
 * other unions. */
const struct sl_avro_schema *sl_hudi_avro_value(const struct sl_avro_schema *s, int *null_branch);
/* As a type here; ids of nested fields count on from *NEXT_ID. */
int sl_hudi_type_of(struct sl_arena *a, const char *column, const struct sl_avro_schema *s, int32_t *next_id, const struct sl_type **out,
                    sl_err *err) SL_WUR;
/* Lays out the steps of a decoder or an encoder, column by column. */
struct sl_hudi_maker {
    struct sl_arena *a;
    const char *column; /* top-level, for messages */
    sl_err *err;
};
/* SL_EUNSUPPORTED: "WHAT of type FROM cannot be DONE as TO". */
int sl_hudi_cannot(struct sl_hudi_maker *m, const char *what, const struct sl_type *from, const char *done, const struct sl_type *to);
size_t sl_hudi_decimal_bytes(int32_t precision); /* least size of a fixed decimal */

#endif
