/* fuzz_binrow.c - rows of unknown origin, by the types that the first byte picks: values that are taken are written and read as the same. */
#include <math.h>
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 4 };

static const struct sl_type pool[] = {
    {.kind = SL_BOOLEAN}, {.kind = SL_TINYINT}, {.kind = SL_SMALLINT}, {.kind = SL_INT}, {.kind = SL_BIGINT}, {.kind = SL_FLOAT},
    {.kind = SL_DOUBLE}, {.kind = SL_DECIMAL, .precision = 18, .scale = 2}, {.kind = SL_DECIMAL, .precision = 38, .scale = 5},
    {.kind = SL_VARCHAR, .length = SL_LENGTH_MAX}, {.kind = SL_VARBINARY, .length = SL_LENGTH_MAX}, {.kind = SL_DATE}, {.kind = SL_TIME},
    {.kind = SL_TIMESTAMP, .precision = 3}, {.kind = SL_TIMESTAMP, .precision = 6}, {.kind = SL_TIMESTAMP_LTZ, .precision = 9},
};

static bool same(const struct sl_value *a, const struct sl_value *b)
{
    if (!a->null && !b->null && (a->kind == SL_FLOAT || a->kind == SL_DOUBLE) && isnan(a->u.f))
        return isnan(b->u.f);
    return sl_value_eq(a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sl_type *types[COLUMNS];
    struct sl_value values[COLUMNS], again[COLUMNS];
    struct sl_buf b = SL_BUF_INIT;
    struct sl_col_stats st;

    if (size == 0)
        return 0;
    for (size_t i = 0; i < COLUMNS; i++)
        types[i] = &pool[(data[0] + 5 * i) % (sizeof pool / sizeof *pool)];
    sl_str row = {(const char *)data + 1, size - 1};
    struct sl_stats stats = {.min = row, .max = row};
    for (size_t i = 0; i < COLUMNS; i++)
        (void)sl_stats_column(&stats, types, COLUMNS, i, &st);
    if (sl_binrow_decode(row, types, COLUMNS, values, NULL) == SL_OK) {
        if (sl_binrow_encode(types, values, COLUMNS, &b, NULL) != SL_OK ||
            sl_binrow_decode(sl_buf_view(&b), types, COLUMNS, again, NULL) != SL_OK)
            abort();
        for (size_t i = 0; i < COLUMNS; i++)
            if (!same(&values[i], &again[i]))
                abort();
    }
    sl_buf_release(&b);
    return 0;
}
