/* tsblocks.c - blocks for other readers, and what is in blocks of other writers.
 *
 *   tsblocks write FOLDER     writes N.tsblock, of all types and encodings that are written
 *   tsblocks print FILE...    prints a line of JSON for each block: times, type bytes, and the values of each column in order: numbers, the bits of
 *                             FLOAT and DOUBLE as integers, bytes as hexadecimal text, null */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tsblock.h"

enum { KINDS = 6, MOST_COLUMNS = 64, BLOCKS = 60 };
static const char *const kinds[KINDS] = {"BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "BYTES"};

static _Noreturn void fail(const char *what, const sl_err *err)
{
    fprintf(stderr, "tsblocks: %s: %s\n", what, err->text);
    exit(1);
}

static struct sl_batch *make_batch(struct sl_arena *a, const uint8_t *types, size_t n, struct sl_ts_column *cols)
{
    struct sl_field *f = sl_arena_array(a, n + 1, sizeof *f);
    struct sl_batch *b = NULL;
    sl_err err = SL_ERR_INIT;

    for (size_t i = 0; i < n; i++) {
        f[i].name = "c";
        if (sl_type_from_sql(a, sl_str_c(kinds[types[i]]), &f[i].type, &err) != SL_OK)
            fail("type", &err);
    }
    if (sl_ts_columns_iotdb(f, n, cols, &err) != SL_OK || sl_batch_new(f, n, &b, &err) != SL_OK)
        fail("batch", &err);
    return b;
}

/* ---- writing ---- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 24;
}

static void put(struct sl_vector *v, size_t row, uint8_t type, uint64_t x)
{
    static const double numbers[] = {0.0, -0.0, 1.5, -1e300, 5e-324, 3.25};
    char bytes[64];
    sl_err err = SL_ERR_INIT;

    switch (type) {
    case SL_TS_BOOLEAN: ((uint8_t *)v->data)[row] = x & 1; break;
    case SL_TS_INT32: ((int32_t *)v->data)[row] = (int32_t)x; break;
    case SL_TS_INT64: ((int64_t *)v->data)[row] = (int64_t)(x * UINT64_C(0x9E3779B97F4A7C15)); break;
    case SL_TS_FLOAT: ((float *)v->data)[row] = (float)numbers[x % 6 == 3 ? 2 : x % 6]; break;
    case SL_TS_DOUBLE: ((double *)v->data)[row] = numbers[x % 6]; break;
    default:
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(x + i * 7);
        if (sl_vector_put_bytes(v, row, (sl_str){bytes, x % 40}, &err) != SL_OK)
            fail("value", &err);
    }
}

/* Column I: none, some or all values null; or one value throughout. */
static void fill_column(struct sl_vector *v, uint8_t type, size_t rows, uint64_t *seed)
{
    uint64_t way = next(seed) % 5, same = next(seed);
    sl_err err = SL_ERR_INIT;

    for (size_t row = 0; row < rows; row++) {
        uint64_t x = next(seed);

        if (way == 0 || (way == 1 && x % 3 == 0)) {
            if (sl_vector_set_null(v, row, &err) != SL_OK)
                fail("null", &err);
        } else {
            put(v, row, type, way == 2 ? same : x >> 3);
        }
    }
}

static void write_block(const char *folder, int number)
{
    static const size_t sizes[] = {1, 2, 7, 8, 9, 16, 100, 1000, 0};
    static int64_t times[1000];
    uint64_t seed = (uint64_t)number * 1000003 + 17;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_ts_column cols[MOST_COLUMNS];
    uint8_t types[MOST_COLUMNS] = {0};
    struct sl_buf out = SL_BUF_INIT;
    char path[4096];
    sl_err err = SL_ERR_INIT;
    size_t n = (size_t)number % 11, rows = sizes[number % 9];

    for (size_t i = 0; i < n; i++)
        types[i] = (uint8_t)(next(&seed) % KINDS);
    struct sl_batch *b = make_batch(&a, types, n, cols);
    for (size_t i = 0; i < n; i++)
        fill_column(&b->cols[i], types[i], rows, &seed);
    for (size_t row = 0; row < rows; row++)
        times[row] = INT64_C(1700000000000) + (int64_t)row * 10;
    if (sl_tsblock_encode(&(struct sl_tsblock_rows){b, cols, 0, rows, number % 2 ? times : NULL}, &out, &err) != SL_OK)
        fail("encode", &err);
    snprintf(path, sizeof path, "%s/%d.tsblock", folder, number);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    sl_batch_free(b);
    sl_buf_release(&out);
    sl_arena_release(&a);
}

/* ---- printing ---- */

static void print_value(const struct sl_vector *v, size_t row, uint8_t type)
{
    if (sl_vector_is_null(v, row)) {
        printf("null");
    } else if (type == SL_TS_BOOLEAN) {
        printf("%s", ((const uint8_t *)v->data)[row] ? "true" : "false");
    } else if (type == SL_TS_INT32 || type == SL_TS_FLOAT) {
        printf("%" PRId32, ((const int32_t *)v->data)[row]);
    } else if (type == SL_TS_INT64 || type == SL_TS_DOUBLE) {
        printf("%" PRId64, ((const int64_t *)v->data)[row]);
    } else {
        sl_str s = sl_vector_bytes(v, row);

        putchar('"');
        for (size_t i = 0; i < s.n; i++)
            printf("%02x", (unsigned char)s.p[i]);
        putchar('"');
    }
}

static void print_rows(struct sl_tsblock *t, const uint8_t *types, struct sl_batch *b, const struct sl_ts_column *cols)
{
    static int64_t times[2048];
    sl_err err = SL_ERR_INIT;

    if (b->cap > 2048 || t->rows > b->cap || sl_tsblock_read(t, cols, b, times, &err) != SL_OK)
        fail("read", &err);
    printf("{\"times\": [");
    for (size_t row = 0; row < b->rows; row++)
        printf("%s%" PRId64, row ? ", " : "", times[row]);
    printf("], \"types\": [");
    for (size_t i = 0; i < b->ncols; i++)
        printf("%s%d", i ? ", " : "", types[i]);
    printf("], \"columns\": [");
    for (size_t i = 0; i < b->ncols; i++) {
        printf("%s[", i ? ", " : "");
        for (size_t row = 0; row < b->rows; row++) {
            printf("%s", row ? ", " : "");
            print_value(&b->cols[i], row, types[i]);
        }
        putchar(']');
    }
    printf("]}\n");
}

static void print_block(const char *path)
{
    static char bytes[1 << 22];
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_ts_column cols[MOST_COLUMNS];
    uint8_t types[MOST_COLUMNS];
    struct sl_tsblock t;
    sl_err err = SL_ERR_INIT;
    FILE *f = fopen(path, "rb");

    if (!f) {
        perror(path);
        exit(1);
    }
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    if (sl_tsblock_open((sl_str){bytes, n}, 0, &a, &t, &err) != SL_OK)
        fail(path, &err);
    for (size_t i = 0; i < t.ncols && i < MOST_COLUMNS; i++) {
        types[i] = (uint8_t)sl_tsblock_type(&t, i);
        if (types[i] >= KINDS) {
            fprintf(stderr, "tsblocks: %s: type %d\n", path, types[i]);
            exit(1);
        }
    }
    struct sl_batch *b = make_batch(&a, types, t.ncols, cols);
    print_rows(&t, types, b, cols);
    sl_batch_free(b);
    sl_arena_release(&a);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        for (int i = 0; i < BLOCKS; i++)
            write_block(argv[2], i);
        return 0;
    }
    if (argc >= 3 && strcmp(argv[1], "print") == 0) {
        for (int i = 2; i < argc; i++)
            print_block(argv[i]);
        return 0;
    }
    fprintf(stderr, "usage: tsblocks write FOLDER | print FILE...\n");
    return 2;
}
