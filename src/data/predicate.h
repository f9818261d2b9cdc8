/*
 * predicate.h - what is known of a WHERE clause, over columns by field id.
 *
 * A predicate here is implied by the statement's condition: every row that the statement wants satisfies it. Parts that were not
 * understood are SL_PRED_TRUE. So a pruner may drop what cannot satisfy it and never loses a row.
 */
#ifndef SL_DATA_PREDICATE_H
#define SL_DATA_PREDICATE_H

#include "data/value.h"

enum sl_pred_op {
    SL_PRED_TRUE, SL_PRED_FALSE, SL_PRED_AND, SL_PRED_OR,
    SL_PRED_EQ, SL_PRED_NE, SL_PRED_LT, SL_PRED_LE, SL_PRED_GT, SL_PRED_GE, /* column op value; null never matches */
    SL_PRED_IN, SL_PRED_IS_NULL, SL_PRED_NOT_NULL,
    SL_PRED_PREFIX,  /* column starts with value (LIKE 'x%') */
};

struct sl_pred {
    enum sl_pred_op op;
    const struct sl_pred *const *args; /* AND, OR */
    size_t nargs;
    int32_t field_id;                  /* comparisons */
    const struct sl_type *type;        /* of the column as the statement sees it; borrowed */
    const struct sl_value *values;     /* 1, or any number for IN */
    size_t nvalues;
};

/* What is known of one column over a set of rows. */
struct sl_col_stats {
    bool has_bounds;      /* min and max are valid (and not null) */
    bool has_nulls;       /* null_count is known */
    int64_t null_count;
    struct sl_value min, max;
};

/* May a set of ROWS rows hold a row that satisfies P? STATS(user, field_id, out) gives what is known of a column, false if nothing.
 * The caller converts bounds of an older schema's type to the column's type, or gives false. */
bool sl_pred_may_match(const struct sl_pred *p, int64_t rows,
                       bool (*stats)(void *user, int32_t field_id, struct sl_col_stats *out), void *user);

/* Makers; memory from A; NULL if out of memory. AND/OR fold TRUE and FALSE. */
const struct sl_pred *sl_pred_true(void);
const struct sl_pred *sl_pred_join(struct sl_arena *a, enum sl_pred_op and_or, const struct sl_pred *const *args, size_t n);
const struct sl_pred *sl_pred_cmp(struct sl_arena *a, enum sl_pred_op op, int32_t field_id, const struct sl_type *type,
                                  const struct sl_value *values, size_t n);
void sl_pred_text(struct sl_buf *out, const struct sl_pred *p); /* for EXPLAIN and tests */

#endif
