/* fuzz_tsblock.c - blocks of unknown origin: read in the types they name, or their bytes as nested values; what was read is written and read
 * again. The first byte of the input chooses. */
#include <stdlib.h>
#include <string.h>

#include "format/tsblock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 8, BATCHES = 3 };

static const char *type_name(int type, int choice)
{
    static const char *const plain[] = {"BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "BYTES", "", "", "TIMESTAMP(3)", "DATE", "BYTES", "STRING", "BYTES"};
    static const char *const nested[] = {"ARRAY<STRING>", "MAP<INT, ROW<a BOOLEAN, b ARRAY<DECIMAL(20, 2)>>>", "DECIMAL(38, 10)", "ROW<a DATE, b BYTES>"};
    static const char *const narrow[] = {"TINYINT", "SMALLINT", "DECIMAL(4, 1)", "DATE"};

    if (choice % 4 == 1 && plain[type][0] == 'B' && type >= 5)
        return nested[choice / 4 % 4];
    if (choice % 4 == 2 && type == 1)
        return narrow[choice / 4 % 4];
    return plain[type];
}

static bool fields_of(struct sl_arena *a, const struct sl_tsblock *t, int choice, struct sl_field *f, struct sl_ts_column *cols)
{
    for (size_t i = 0; i < t->ncols; i++) {
        const char *name = type_name(sl_tsblock_type(t, i), choice);

        f[i] = (struct sl_field){.name = "c"};
        if (sl_type_from_sql(a, (sl_str){name, strlen(name)}, &f[i].type, NULL) != SL_OK)
            abort();
    }
    return (choice % 4 == 3 ? sl_ts_columns_iotdb : sl_ts_columns_lossless)(f, t->ncols, cols, NULL) == SL_OK;
}

/* What B holds is written, read and written again: the same bytes. */
static void again(struct sl_arena *a, const struct sl_field *f, const struct sl_ts_column *cols, struct sl_batch *b, const int64_t *times)
{
    static int64_t got_times[1 << 14];
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
    struct sl_batch *got = NULL;
    struct sl_tsblock t;

    if (sl_batch_new(f, b->ncols, &got, NULL) != SL_OK || got->cap > 1 << 14)
        abort();
    if (sl_tsblock_encode(&(struct sl_tsblock_rows){b, cols, 0, b->rows, times}, &one, NULL) != SL_OK ||
        sl_tsblock_open(sl_buf_view(&one), 0, a, &t, NULL) != SL_OK || t.rows != b->rows ||
        sl_tsblock_read(&t, cols, got, got_times, NULL) != SL_OK || got->rows != b->rows ||
        sl_tsblock_encode(&(struct sl_tsblock_rows){got, cols, 0, got->rows, got_times}, &two, NULL) != SL_OK)
        abort();
    if (one.n != two.n || memcmp(one.p, two.p, one.n) != 0)
        abort();
    sl_batch_free(got);
    sl_buf_release(&one);
    sl_buf_release(&two);
}

static void read_all(struct sl_arena *a, struct sl_tsblock *t, int choice)
{
    static int64_t times[1 << 14];
    struct sl_field f[COLUMNS];
    struct sl_ts_column cols[COLUMNS];
    struct sl_batch *b = NULL;

    if (!fields_of(a, t, choice, f, cols) || sl_batch_new(f, t->ncols, &b, NULL) != SL_OK)
        abort();
    for (int i = 0; i < BATCHES; i++) {
        sl_batch_reset(b);
        if (sl_tsblock_read(t, cols, b, times, NULL) != SL_OK || b->rows == 0)
            break;
        again(a, f, cols, b, times);
    }
    sl_batch_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_tsblock t;
    sl_str value;

    if (size == 0)
        return 0;
    if (sl_tsblock_open((sl_str){(const char *)data + 1, size - 1}, 0, &a, &t, NULL) == SL_OK) {
        if (a.used > 64 * (size + 16))
            abort();
        for (size_t i = 0; i < t.ncols && t.rows; i++)
            (void)!sl_tsblock_bytes(&t, i, t.rows < 1000 ? t.rows - 1 : 999, &value, NULL);
        if (t.ncols <= COLUMNS)
            read_all(&a, &t, data[0]);
    }
    sl_arena_release(&a);
    return 0;
}
