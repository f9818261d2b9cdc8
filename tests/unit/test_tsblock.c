/* TsBlocks: the worked examples byte for byte, every type there and back, and blocks that are damaged. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/sys.h"
#include "data/value.h"
#include "format/tsblock.h"
#include "hex.h"

static struct sl_arena arena;
static sl_err err = SL_ERR_INIT;

static int release(void **state)
{
    (void)state;
    sl_mem_fail_nth(0);
    sl_arena_release(&arena);
    return 0;
}

static sl_str text(const char *s)
{
    return (sl_str){s, strlen(s)};
}

/* Fields named c0, c1, ... of the types given as SQL, ended by NULL. */
static const struct sl_field *fields_of(const char *const *types, size_t *n)
{
    struct sl_field *f;

    for (*n = 0; types[*n];)
        ++*n;
    f = sl_arena_array(&arena, *n + 1, sizeof *f);
    for (size_t i = 0; i < *n; i++) {
        f[i].name = sl_arena_printf(&arena, "c%zu", i);
        assert_ok(sl_type_from_sql(&arena, text(types[i]), &f[i].type, &err), err);
    }
    return f;
}

static struct sl_batch *batch_of(const struct sl_field *f, size_t n)
{
    struct sl_batch *b = NULL;

    assert_ok(sl_batch_new(f, n, &b, &err), err);
    return b;
}

static void put_text(struct sl_vector *v, size_t row, const char *s)
{
    assert_ok(sl_vector_put_bytes(v, row, text(s), &err), err);
}

static void set_null(struct sl_vector *v, size_t row)
{
    assert_ok(sl_vector_set_null(v, row, &err), err);
}

static void assert_encodes(const struct sl_tsblock_rows *rows, const char *hex)
{
    struct sl_buf b = SL_BUF_INIT;
    char want[8192];

    assert_ok(sl_tsblock_encode(rows, &b, &err), err);
    snprintf(want, sizeof want, "%s", hex_text(hex_bytes(hex)));
    assert_string_equal(hex_text(sl_buf_view(&b)), want);
    sl_buf_release(&b);
}

/* ---- the worked examples ---- */

static const char block_a[] = "00000002 01 05 00000003 02 01 03 00 0000000000000001 0000000000000002 0000000000000003"
                              "01 40 0000000a ffffffff 00 00000001 61 00000000 00000003 78797a";
static const char block_b[] = "00000001 05 00000001 02 03 00 0000018bcfe56800 00 00000004 deadbeef";
static const char block_c[] = "00000003 00 05 04 0000000a 04 00 04 04 02 00 0000000000000000 01 0040 a180"
                              "03 01 80 02 00 3ff8000000000000";
static const char block_d[] = "00000001 01 00000000 02 01 00 00";
static const char block_e[] = "00000001 05 00000003 04 05 02 00 0000000000000000"
                              "03 00000002 00 00000001 61 00000001 62 00000003 00000000 00000001 00000000";

static void example_a(void **state)
{
    static const char *const types[] = {"INT", "STRING", NULL};
    static const int64_t times[] = {1, 2, 3};
    int64_t got_times[2048];
    struct sl_ts_column cols[2];
    struct sl_tsblock block;
    size_t n;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    ((int32_t *)b->cols[0].data)[0] = 10;
    set_null(&b->cols[0], 1);
    ((int32_t *)b->cols[0].data)[2] = -1;
    put_text(&b->cols[1], 0, "a");
    put_text(&b->cols[1], 1, "");
    put_text(&b->cols[1], 2, "xyz");
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 0, 3, times}, block_a);
    sl_batch_reset(b);
    assert_ok(sl_tsblock_open(hex_bytes(block_a), 0, &arena, &block, &err), err);
    assert_int_equal(block.rows, 3);
    assert_int_equal(sl_tsblock_type(&block, 1), SL_TS_TEXT);
    assert_ok(sl_tsblock_read(&block, cols, b, got_times, &err), err);
    assert_int_equal(b->rows, 3);
    assert_memory_equal(got_times, times, sizeof times);
    assert_int_equal(((int32_t *)b->cols[0].data)[0], 10);
    assert_true(sl_vector_is_null(&b->cols[0], 1) && !sl_vector_is_null(&b->cols[0], 2));
    assert_int_equal(((int32_t *)b->cols[0].data)[2], -1);
    assert_true(sl_str_eqc(sl_vector_bytes(&b->cols[1], 2), "xyz") && sl_vector_bytes(&b->cols[1], 1).n == 0);
    sl_batch_reset(b);
    assert_ok(sl_tsblock_read(&block, cols, b, NULL, &err), err);
    assert_int_equal(b->rows, 0);
    sl_batch_free(b);
}

static void example_b(void **state)
{
    static const char *const types[] = {"BYTES", NULL};
    static const int64_t time = INT64_C(1700000000000);
    char head[SL_TSBLOCK_VALUE_HEAD];
    struct sl_ts_column cols[1];
    struct sl_tsblock block;
    sl_str value, want = hex_bytes("deadbeef");
    size_t n;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    assert_int_equal(cols[0].ts, SL_TS_BLOB);
    assert_ok(sl_vector_put_bytes(&b->cols[0], 0, want, &err), err);
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 0, 1, &time}, block_b);
    assert_ok(sl_tsblock_value_head(head, time, 4, &err), err);
    assert_memory_equal(head, hex_bytes(block_b).p, sizeof head);
    assert_code(sl_tsblock_value_head(head, time, (size_t)INT32_MAX - 24, &err), SL_EINPUT);
    assert_ok(sl_tsblock_value_head(head, time, (size_t)INT32_MAX - 25, &err), err);
    assert_ok(sl_tsblock_open(hex_bytes(block_b), 0, &arena, &block, &err), err);
    assert_ok(sl_tsblock_bytes(&block, 0, 0, &value, &err), err);
    assert_true(sl_str_eq(value, want));
    assert_code(sl_tsblock_bytes(&block, 0, 1, &value, &err), SL_EINPUT);
    assert_code(sl_tsblock_bytes(&block, 1, 0, &value, &err), SL_EINPUT);
    sl_batch_free(b);
}

static void example_c(void **state)
{
    static const char *const types[] = {"BOOLEAN", "STRING", "DOUBLE", NULL};
    struct sl_ts_column cols[3];
    struct sl_tsblock block;
    int64_t times[2048];
    sl_str value;
    size_t n;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    for (size_t i = 0; i < 10; i++) {
        ((uint8_t *)b->cols[0].data)[i] = i == 0 || i == 2 || i == 7 || i == 8;
        set_null(&b->cols[1], i);
        ((double *)b->cols[2].data)[i] = 1.5;
    }
    set_null(&b->cols[0], 9);
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 0, 10, NULL}, block_c);
    sl_batch_reset(b);
    assert_ok(sl_tsblock_open(hex_bytes(block_c), 0, &arena, &block, &err), err);
    assert_ok(sl_tsblock_bytes(&block, 1, 9, &value, &err), err);
    assert_null(value.p);
    assert_ok(sl_tsblock_read(&block, cols, b, times, &err), err);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(times[i], 0);
        assert_true(sl_vector_is_null(&b->cols[0], i) == (i == 9) && sl_vector_is_null(&b->cols[1], i));
        assert_true(i == 9 || ((uint8_t *)b->cols[0].data)[i] == (i == 0 || i == 2 || i == 7 || i == 8));
        assert_true(((double *)b->cols[2].data)[i] == 1.5);
    }
    sl_batch_free(b);
}

static void examples_d_e(void **state)
{
    static const char *const ints[] = {"INT", NULL}, *const texts[] = {"STRING", NULL}, *const none[] = {NULL};
    static const char *const want[] = {"a", "b", "a"};
    struct sl_ts_column cols[1];
    struct sl_tsblock block;
    int64_t times[1] = {0};
    sl_str value;
    size_t n;
    const struct sl_field *f = fields_of(ints, &n);
    struct sl_batch *b = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 0, 0, times}, block_d);
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 7, 7, NULL}, block_d);
    assert_ok(sl_tsblock_open(hex_bytes(block_d), 0, &arena, &block, &err), err);
    assert_ok(sl_tsblock_read(&block, cols, b, times, &err), err);
    assert_true(block.rows == 0 && block.ncols == 1 && b->rows == 0);
    sl_batch_free(b);
    f = fields_of(texts, &n);
    b = batch_of(f, n);
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    assert_ok(sl_tsblock_open(hex_bytes(block_e), 0, &arena, &block, &err), err);
    assert_ok(sl_tsblock_bytes(&block, 0, 1, &value, &err), err);
    assert_true(sl_str_eqc(value, "b"));
    assert_ok(sl_tsblock_read(&block, cols, b, NULL, &err), err);
    for (size_t i = 0; i < 3; i++)
        assert_true(sl_str_eqc(sl_vector_bytes(&b->cols[0], i), want[i]));
    sl_batch_free(b);
    /* The smallest block. */
    f = fields_of(none, &n);
    b = batch_of(f, n);
    assert_encodes(&(struct sl_tsblock_rows){b, cols, 0, 0, NULL}, "00000000 00000000 02 00");
    assert_ok(sl_tsblock_open(hex_bytes("00000000 00000000 02 00"), 0, &arena, &block, &err), err);
    sl_batch_free(b);
}

/* ---- all types, there and back ---- */

static const char *const all_types[] = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(4, 2)", "DECIMAL(9, 0)", "DECIMAL(18, 3)", "DECIMAL(38, 10)",
    "CHAR(3)", "STRING", "BINARY(4)", "BYTES", "DATE", "TIME", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE", "ARRAY<INT>", "MAP<STRING, ARRAY<DECIMAL(38, 2)>>",
    "ROW<a TINYINT, b STRING, c ROW<d BOOLEAN, e ARRAY<ROW<f SMALLINT, g BYTES>>>, h MAP<INT, TIMESTAMP(9)>>", NULL,
};

static bool chance(uint32_t *seed, uint32_t one_in)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16 & 1 ? (*seed >> 8) % one_in == 0 : (*seed >> 12) % one_in == 0;
}

static void fill_value(struct sl_vector *v, size_t row, uint32_t *seed);

static void fill_list(struct sl_vector *v, size_t row, uint32_t *seed)
{
    size_t at;

    sl_vector_list_begin(v, row);
    while (!chance(seed, 4)) {
        assert_ok(sl_vector_list_put(v, &at, &err), err);
        for (size_t i = 0; i < v->nchildren; i++)
            fill_value(&v->children[i], at, seed);
    }
    sl_vector_list_end(v, row);
}

static void fill_decimal(struct sl_vector *v, size_t row, uint32_t *seed)
{
    sl_i128 d = 0;

    for (int32_t i = 0; i < v->type->precision; i++)
        d = d * 10 + (chance(seed, 3) ? 9 : *seed % 10);
    d = chance(seed, 2) ? -d : d;
    if (v->type->precision <= 4)
        ((int16_t *)v->data)[row] = (int16_t)d;
    else if (v->type->precision <= 9)
        ((int32_t *)v->data)[row] = (int32_t)d;
    else if (v->type->precision <= 18)
        ((int64_t *)v->data)[row] = (int64_t)d;
    else
        ((sl_i128 *)v->data)[row] = d;
}

static void fill_value(struct sl_vector *v, size_t row, uint32_t *seed)
{
    static const char *const texts[] = {"", "x", "zwölf Byte", "a text that is longer than its cell", "\xf0\x9f\xa6\x86"};
    uint64_t bits = chance(seed, 8) ? UINT64_C(0x7ff4000000000001) : (uint64_t)*seed * UINT64_C(0x9E3779B97F4A7C15);

    if (chance(seed, 5)) {
        set_null(v, row);
        return;
    }
    switch (v->type->kind) {
    case SL_BOOLEAN: ((uint8_t *)v->data)[row] = chance(seed, 2); break;
    case SL_TINYINT: ((int8_t *)v->data)[row] = (int8_t)bits; break;
    case SL_SMALLINT: ((int16_t *)v->data)[row] = (int16_t)bits; break;
    case SL_INT: case SL_FLOAT: case SL_DATE: ((uint32_t *)v->data)[row] = (uint32_t)bits; break;
    case SL_BIGINT: case SL_DOUBLE: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: ((uint64_t *)v->data)[row] = bits; break;
    case SL_DECIMAL: fill_decimal(v, row, seed); break;
    case SL_ARRAY: case SL_MAP: fill_list(v, row, seed); break;
    case SL_ROW:
        for (size_t i = 0; i < v->nchildren; i++)
            fill_value(&v->children[i], row, seed);
        break;
    default: put_text(v, row, texts[*seed % 5]); break;
    }
}

static size_t cell_bytes(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: case SL_TINYINT: return 1;
    case SL_SMALLINT: return 2;
    case SL_INT: case SL_FLOAT: case SL_DATE: return 4;
    case SL_DECIMAL: return t->precision <= 4 ? 2 : t->precision <= 9 ? 4 : t->precision <= 18 ? 8 : 16;
    default: return 8;
    }
}

static void assert_same(const struct sl_vector *a, size_t i, const struct sl_vector *b, size_t j)
{
    size_t from_a, from_b, n, m;

    assert_int_equal(sl_vector_is_null(a, i), sl_vector_is_null(b, j));
    if (sl_vector_is_null(a, i))
        return;
    switch (a->type->kind) {
    case SL_CHAR: case SL_VARCHAR: case SL_BINARY: case SL_VARBINARY:
        assert_true(sl_str_eq(sl_vector_bytes(a, i), sl_vector_bytes(b, j)));
        break;
    case SL_ARRAY:
    case SL_MAP:
        sl_vector_list_get(a, i, &from_a, &n);
        sl_vector_list_get(b, j, &from_b, &m);
        assert_int_equal(n, m);
        for (size_t k = 0; k < n; k++)
            for (size_t c = 0; c < a->nchildren; c++)
                assert_same(&a->children[c], from_a + k, &b->children[c], from_b + k);
        break;
    case SL_ROW:
        for (size_t c = 0; c < a->nchildren; c++)
            assert_same(&a->children[c], i, &b->children[c], j);
        break;
    default:
        assert_memory_equal((char *)a->data + i * cell_bytes(a->type), (char *)b->data + j * cell_bytes(b->type), cell_bytes(a->type));
    }
}

static void lossless_round_trips(void **state)
{
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 65, 200};
    struct sl_ts_column cols[32];
    const struct sl_ts_column *got_cols;
    const struct sl_field *got_fields;
    size_t n, got_n;
    const struct sl_field *f = fields_of(all_types, &n);
    struct sl_batch *b = batch_of(f, n), *got = NULL;
    struct sl_buf schema = SL_BUF_INIT;
    uint32_t seed = 1;

    (void)state;
    assert_ok(sl_ts_columns_lossless(f, n, cols, &err), err);
    assert_ok(sl_ts_schema_write(&schema, f, cols, n, &err), err);
    assert_ok(sl_ts_schema_read(&arena, sl_buf_view(&schema), &got_fields, &got_cols, &got_n, &err), err);
    assert_int_equal(got_n, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(sl_type_same(got_fields[i].type, f[i].type, false));
        assert_true(got_cols[i].ts == cols[i].ts && got_cols[i].form == cols[i].form && got_cols[i].type == got_fields[i].type);
    }
    got = batch_of(got_fields, n);
    for (size_t round = 0; round < 60; round++) {
        size_t rows = counts[round % 12], from = round % 5;
        struct sl_buf block = SL_BUF_INIT;
        struct sl_tsblock t;

        sl_batch_reset(b);
        sl_batch_reset(got);
        for (size_t row = 0; row < from + rows; row++)
            for (size_t c = 0; c < n; c++)
                fill_value(&b->cols[c], row, &seed);
        assert_ok(sl_tsblock_encode(&(struct sl_tsblock_rows){b, cols, from, from + rows, NULL}, &block, &err), err);
        assert_ok(sl_tsblock_open(sl_buf_view(&block), 0, &arena, &t, &err), err);
        assert_ok(sl_tsblock_read(&t, got_cols, got, NULL, &err), err);
        assert_int_equal(got->rows, rows);
        for (size_t row = 0; row < rows; row++)
            for (size_t c = 0; c < n; c++)
                assert_same(&b->cols[c], from + row, &got->cols[c], row);
        sl_buf_release(&block);
    }
    sl_buf_release(&schema);
    sl_batch_free(b);
    sl_batch_free(got);
}

/* Dates and times as IoTDB has them, and what it cannot have. */
static void iotdb_forms(void **state)
{
    static const char *const types[] = {"DATE", "TIMESTAMP(3)", "TIMESTAMP(9)", NULL};
    static const char *const lacking[] = {"DECIMAL(4, 2)", NULL};
    struct sl_ts_column cols[3];
    struct sl_tsblock block;
    size_t n;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);
    struct sl_tsblock_rows rows = {b, cols, 0, 1, NULL};

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    ((int32_t *)b->cols[0].data)[0] = 19753; /* 2024-01-31 */
    ((int64_t *)b->cols[1].data)[0] = INT64_C(-1500000);
    ((int64_t *)b->cols[2].data)[0] = INT64_C(1700000000000000000);
    assert_encodes(&rows, "00000003 01 02 02 00000001 04 01 02 02 02 00 0000000000000000 00 0134d703 00 fffffffffffffa24 00 0000018bcfe56800");
    sl_batch_reset(b);
    assert_ok(sl_tsblock_open(hex_bytes("00000003 09 08 02 00000001 02 01 02 02 00 0000000000000000 00 0134d703 00 fffffffffffffa24"
                                        "00 0000018bcfe56800"), 0, &arena, &block, &err), err);
    assert_ok(sl_tsblock_read(&block, cols, b, NULL, &err), err);
    assert_int_equal(((int32_t *)b->cols[0].data)[0], 19753);
    assert_int_equal(((int64_t *)b->cols[1].data)[0], -1500000);
    assert_true(((int64_t *)b->cols[2].data)[0] == INT64_C(1700000000000000000));
    ((int64_t *)b->cols[1].data)[0] = -1500001;
    assert_code(sl_tsblock_size(&rows, &n, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "more than milliseconds"));
    ((int32_t *)b->cols[0].data)[0] = 3000000;
    assert_code(sl_tsblock_size(&rows, &n, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "year 10183"));
    sl_batch_free(b);
    f = fields_of(lacking, &n);
    assert_code(sl_ts_columns_iotdb(f, n, cols, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "\"c0\" of type DECIMAL(4, 2)"));
}

/* ---- damage ---- */

static struct sl_batch *fitting_batch(const struct sl_tsblock *t, struct sl_ts_column *cols)
{
    static const char *const by_type[] = {"BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "BYTES", NULL, NULL, "TIMESTAMP(3)", "DATE",
                                          "BYTES", "STRING", "BYTES"};
    const char *types[40] = {NULL};
    size_t n;

    for (size_t i = 0; i < t->ncols; i++)
        types[i] = by_type[sl_tsblock_type(t, i)];
    const struct sl_field *f = fields_of(types, &n);
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    return batch_of(f, n);
}

static void truncations(void **state)
{
    static const char *const blocks[] = {block_a, block_b, block_c, block_d, block_e};

    (void)state;
    for (size_t k = 0; k < 5; k++) {
        sl_str whole = hex_bytes(blocks[k]);
        struct sl_ts_column cols[8];
        struct sl_tsblock t;

        for (size_t n = 0; n < whole.n; n++) {
            char *part = sl_strndup(whole.p, n);

            assert_code(sl_tsblock_open((sl_str){part, n}, 0, &arena, &t, &err), SL_ECORRUPT);
            sl_free(part);
        }
        /* Every byte changed: refused or read to the end, within the bytes given. */
        for (size_t n = 0; n < whole.n; n++)
            for (int flip = 1; flip < 256; flip <<= 1) {
                char *part = sl_strndup(whole.p, whole.n);

                part[n] = (char)(part[n] ^ flip);
                if (sl_tsblock_open((sl_str){part, whole.n}, 0, &arena, &t, &err) == SL_OK && t.rows < 5000 && t.ncols < 8) {
                    struct sl_batch *b = fitting_batch(&t, cols);
                    int rc;

                    do {
                        sl_batch_reset(b);
                        rc = sl_tsblock_read(&t, cols, b, NULL, &err);
                    } while (rc == SL_OK && b->rows);
                    sl_batch_free(b);
                }
                sl_free(part);
            }
    }
}

static void refused(const char *hex, const char *why)
{
    struct sl_tsblock t;

    assert_code(sl_tsblock_open(hex_bytes(hex), 0, &arena, &t, &err), SL_ECORRUPT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, why);
}

static void hostile(void **state)
{
    (void)state;
    refused("7fffffff 01", "too early");
    refused("ffffffff 01", "too early");
    refused("00000000 ffffffff 02 00", "rows is negative");
    refused("00000000 7fffffff 02 00", "too early");
    refused("00000001 01 7fffffff 04 01 02 00 0000000000000000 00", "too early");
    refused("00000001 05 7fffffff 04 03 02 00 0000000000000000 00", "too early");
    refused("00000001 00 7fffffff 04 00 02 00 0000000000000000 01 00", "too early");
    refused("00000001 05 00000001 04 03 02 00 0000000000000000 00 ffffffff", "negative length");
    refused("00000001 05 00000001 04 03 02 00 0000000000000000 00 00000005 61", "too early");
    refused("00000001 06 00000000 02 01 00 00", "type is not known");
    refused("00000001 01 00000000 02 02 00 00", "does not belong");
    refused("00000001 01 00000000 02 06 00 00", "encoding is not known");
    refused("00000001 01 00000000 02 01 00 02", "mark of nulls");
    refused("00000001 01 00000000 02 01 00 00 00", "left over");
    refused("00000001 01 00000002 04 04 02 00 0000000000000000 04 01 00 00000001", "within another");
    refused("00000000 00000001 02 01 80", "time is null");
    refused("00000001 05 00000001 04 05 02 00 0000000000000000 03 7fffffff 00", "too early");
    refused("00000001 05 00000001 04 05 02 00 0000000000000000 03 ffffffff 00", "negative size");
    refused("00000001 05 00000001 04 05 02 00 0000000000000000 03 00000001 00 00000000 00000001 00000001", "outside of its dictionary");
    refused("00000001 05 00000001 04 05 02 00 0000000000000000 03 00000001 00 00000000 00000002 00000000 00000000", "another number of rows");
    refused("00000001 05 00000001 04 05 02 00 0000000000000000 05 00000001 05 00000001 05 00000001 05 00000001 05 00000001 05 00000001", "nested");
    /* Two thousand million rows of a few bytes are read as far as asked, and take no memory. */
    static const char *const types[] = {"INT", NULL};
    struct sl_ts_column cols[1];
    struct sl_tsblock t;
    size_t n, used;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);

    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    used = arena.used;
    assert_ok(sl_tsblock_open(hex_bytes("00000001 01 7fffffff 04 04 02 00 0000000000000000 01 00 00000007"), 0, &arena, &t, &err), err);
    assert_true(arena.used - used < 1000);
    assert_ok(sl_tsblock_read(&t, cols, b, NULL, &err), err);
    assert_int_equal(b->rows, b->cap);
    assert_int_equal(((int32_t *)b->cols[0].data)[b->cap - 1], 7);
    assert_code(sl_tsblock_open(hex_bytes(block_a), 100, &arena, &t, &err), SL_EINPUT);
    sl_batch_free(b);
}

/* Dictionaries of everything: with nulls, of run-length, of dictionaries; numbers and booleans too. */
static void dictionaries(void **state)
{
    static const char *const types[] = {"INT", "BOOLEAN", "BIGINT", "STRING", NULL};
    struct sl_ts_column cols[4];
    struct sl_tsblock t;
    size_t n;
    const struct sl_field *f = fields_of(types, &n);
    struct sl_batch *b = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_iotdb(f, n, cols, &err), err);
    assert_ok(sl_tsblock_open(hex_bytes("00000004 01 00 02 05 00000003 04 05 05 05 04 02 00 0000000000000000"
                                        "01 00000003 01 40 0000000a 00000014 00000003 00000002 00000001 00000000"
                                        "00 00000002 00 40 00000003 00000001 00000000 00000001"
                                        "04 00000005 02 00 0000000000000009 00000003 00000004 00000000 00000002"
                                        "05 03 00000002 00 00000001 61 00000001 62 00000001 00000001"), 0, &arena, &t, &err), err);
    assert_ok(sl_tsblock_read(&t, cols, b, NULL, &err), err);
    assert_int_equal(((int32_t *)b->cols[0].data)[0], 20);
    assert_true(sl_vector_is_null(&b->cols[0], 1));
    assert_int_equal(((int32_t *)b->cols[0].data)[2], 10);
    assert_true(((uint8_t *)b->cols[1].data)[0] && !((uint8_t *)b->cols[1].data)[1]);
    assert_int_equal(((int64_t *)b->cols[2].data)[2], 9);
    assert_true(sl_str_eqc(sl_vector_bytes(&b->cols[3], 2), "b"));
    sl_batch_free(b);
}

/* Values that are well formed bytes but not of their type. */
static void wrong_values(void **state)
{
    static const struct {
        const char *type, *block, *why;
    } cases[] = {
        {"TINYINT", "00000001 01 00000001 02 01 00 0000000000000000 00 00000080", "too large"},
        {"DECIMAL(4, 2)", "00000001 01 00000001 02 01 00 0000000000000000 00 00002710", "more digits"},
        {"STRING", "00000001 05 00000001 02 03 00 0000000000000000 00 00000001 ff", "UTF-8"},
        {"DECIMAL(38, 2)", "00000001 05 00000001 02 03 00 0000000000000000 00 00000001 ff", "decimal"},
        {"ARRAY<INT>", "00000001 05 00000001 02 03 00 0000000000000000 00 00000004 ffffffff", "too early"},
        {"ARRAY<INT>", "00000001 05 00000001 02 03 00 0000000000000000 00 00000005 00000000 00", "left over"},
        {"ARRAY<BOOLEAN>", "00000001 05 00000001 02 03 00 0000000000000000 00 00000006 00000001 00 02", "neither 0 nor 1"},
        {"BIGINT", "00000001 01 00000001 02 01 00 0000000000000000 00 00000001", "type 1, type 2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *types[] = {cases[i].type, NULL};
        struct sl_ts_column cols[1];
        struct sl_tsblock t;
        size_t n;
        const struct sl_field *f = fields_of(types, &n);
        struct sl_batch *b = batch_of(f, n);

        assert_ok(sl_ts_columns_lossless(f, n, cols, &err), err);
        assert_ok(sl_tsblock_open(hex_bytes(cases[i].block), 0, &arena, &t, &err), err);
        assert_code(sl_tsblock_read(&t, cols, b, NULL, &err), SL_ECORRUPT);
        if (!strstr(err.text, cases[i].why))
            fail_msg("\"%s\" does not speak of \"%s\"", err.text, cases[i].why);
        sl_batch_free(b);
    }
}

static void schemas_refused(void **state)
{
    static const struct {
        const char *json;
        int code;
    } cases[] = {
        {"{\"version\":2}", SL_EUNSUPPORTED},
        {"{}", SL_ECORRUPT},
        {"{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"columns\":[]}", SL_ECORRUPT},
        {"{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"columns\":[{\"tsblock\":\"INT64\",\"form\":\"plain\"}]}", SL_ECORRUPT},
        {"{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"columns\":[{\"tsblock\":\"INT32\",\"form\":\"packed\"}]}",
         SL_EUNSUPPORTED},
        {"{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"VARIANT\"}],\"columns\":[{\"tsblock\":\"INT32\",\"form\":\"plain\"}]}",
         SL_EUNSUPPORTED},
        {"{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"columns\":[{\"tsblock\":\"BLOB\",\"form\":\"nested\"}]}", SL_ECORRUPT},
    };
    const struct sl_field *f;
    const struct sl_ts_column *c;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_code(sl_ts_schema_read(&arena, text(cases[i].json), &f, &c, &n, &err), cases[i].code);
    assert_ok(sl_ts_schema_read(&arena, text("{\"version\":1,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"DATE\"}],\"columns\":"
                                             "[{\"tsblock\":\"DATE\",\"form\":\"yyyymmdd\"}]}"), &f, &c, &n, &err), err);
    assert_true(n == 1 && c[0].form == SL_TS_YYYYMMDD);
}

static void out_of_memory(void **state)
{
    struct sl_buf block = SL_BUF_INIT;
    struct sl_ts_column cols[32];
    struct sl_tsblock t;
    size_t n;
    uint32_t seed = 9;
    const struct sl_field *f = fields_of(all_types, &n);
    struct sl_batch *b = batch_of(f, n), *got = batch_of(f, n);

    (void)state;
    assert_ok(sl_ts_columns_lossless(f, n, cols, &err), err);
    for (size_t row = 0; row < 20; row++)
        for (size_t c = 0; c < n; c++)
            fill_value(&b->cols[c], row, &seed);
    sl_mem_fail_nth(1);
    assert_code(sl_tsblock_encode(&(struct sl_tsblock_rows){b, cols, 0, 20, NULL}, &block, &err), SL_ENOMEM);
    sl_buf_release(&block);
    assert_ok(sl_tsblock_encode(&(struct sl_tsblock_rows){b, cols, 0, 20, NULL}, &block, &err), err);
    for (int64_t nth = 1, rc = SL_ENOMEM; rc == SL_ENOMEM; nth++) {
        struct sl_arena own = SL_ARENA_INIT;

        sl_batch_free(got);
        got = batch_of(f, n);
        sl_mem_fail_nth(nth);
        rc = sl_tsblock_open(sl_buf_view(&block), 0, &own, &t, &err);
        if (rc == SL_OK)
            rc = sl_tsblock_read(&t, cols, got, NULL, &err);
        sl_mem_fail_nth(0);
        assert_true(rc == SL_OK || rc == SL_ENOMEM);
        sl_arena_release(&own);
    }
    sl_buf_release(&block);
    sl_batch_free(b);
    sl_batch_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(example_a, release), cmocka_unit_test_teardown(example_b, release),
        cmocka_unit_test_teardown(example_c, release), cmocka_unit_test_teardown(examples_d_e, release),
        cmocka_unit_test_teardown(lossless_round_trips, release), cmocka_unit_test_teardown(iotdb_forms, release),
        cmocka_unit_test_teardown(truncations, release), cmocka_unit_test_teardown(hostile, release),
        cmocka_unit_test_teardown(dictionaries, release), cmocka_unit_test_teardown(wrong_values, release),
        cmocka_unit_test_teardown(schemas_refused, release), cmocka_unit_test_teardown(out_of_memory, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
