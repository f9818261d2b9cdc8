/* Rows out of NDJSON and CSV: exact values, refusals with their place, nothing left behind by a bad row. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/csv.h"
#include "ingest/infer.h"
#include "ingest/ndjson.h"

/* ---- a table of the given columns ---- */

struct table {
    struct sl_arena arena;
    const struct sl_type *type;
    struct sl_column root;
    struct sl_batch *batch;
    struct sl_csv csv;
    sl_err err;
};

static void open_table(struct table *t, const char *row_type, const char *op_field)
{
    memset(t, 0, sizeof *t);
    assert_ok(sl_type_from_sql(&t->arena, sl_str_c(row_type), &t->type, &t->err), t->err);
    assert_ok(sl_columns_make(&t->arena, t->type->fields, t->type->nfields, sl_str_c(op_field), &t->root, &t->err), t->err);
    assert_ok(sl_batch_new(t->type->fields, t->type->nfields, &t->batch, &t->err), t->err);
    t->csv.json.root = &t->root;
    t->csv.delimiter = ',';
}

static void close_table(struct table *t)
{
    sl_csv_release(&t->csv);
    sl_columns_release(&t->root);
    sl_batch_free(t->batch);
    sl_arena_release(&t->arena);
}

/* One line into row ROW, in memory that ends right behind the slack. */
static int read_line(struct table *t, const char *line, size_t n, size_t row, bool csv)
{
    char *text = sl_malloc(n + 1 + SL_TEXT_SLACK);
    const char *p = text;
    bool blank;
    int rc;

    assert_non_null(text);
    memcpy(text, line, n);
    memset(text + n, '\n', 1 + SL_TEXT_SLACK);
    rc = csv ? sl_csv_row(&t->csv, &p, text + n + 1, t->batch->cols, row, &blank, &t->err)
             : sl_ndjson_row(&t->csv.json, &p, text + n + 1, t->batch->cols, row, &blank, &t->err);
    if (rc == SL_OK)
        assert_ptr_equal(p, text + n + 1);
    sl_free(text);
    return rc;
}

static int read_json(struct table *t, const char *line)
{
    return read_line(t, line, strlen(line), 0, false);
}

/* {"v": VALUE} into a column of TYPE. */
static int read_value(struct table *t, const char *type, const char *value)
{
    char row_type[200], line[500];

    snprintf(row_type, sizeof row_type, "ROW<v %s>", type);
    snprintf(line, sizeof line, "{\"v\": %s}", value);
    open_table(t, row_type, "");
    return read_json(t, line);
}

static void good_i64(const char *type, const char *value, int64_t wanted)
{
    struct table t;

    assert_ok(read_value(&t, type, value), t.err);
    void *data = t.batch->cols[0].data;
    int64_t got = t.batch->cols[0].type->kind == SL_TINYINT    ? *(int8_t *)data
                  : t.batch->cols[0].type->kind == SL_SMALLINT ? *(int16_t *)data
                  : t.batch->cols[0].type->kind == SL_INT      ? *(int32_t *)data
                  : t.batch->cols[0].type->kind == SL_DATE     ? *(int32_t *)data
                                                               : *(int64_t *)data;
    if (got != wanted)
        fail_msg("%s as %s gives %lld", value, type, (long long)got);
    close_table(&t);
}

static void bad(const char *type, const char *value, const char *text)
{
    struct table t;
    int rc = read_value(&t, type, value);

    if (rc != SL_EINPUT)
        fail_msg("%s as %s gives %s", value, type, sl_code_name(rc));
    if (!strstr(t.csv.json.put.fault.text, text))
        fail_msg("%s as %s: %s", value, type, t.csv.json.put.fault.text);
    close_table(&t);
}

static void whole_numbers(void **state)
{
    (void)state;
    good_i64("BIGINT", "9223372036854775807", INT64_MAX);
    good_i64("BIGINT", "-9223372036854775808", INT64_MIN);
    good_i64("BIGINT", "1.0", 1);
    good_i64("BIGINT", "12e2", 1200);
    good_i64("BIGINT", "1200e-2", 12);
    good_i64("BIGINT", "-0", 0);
    good_i64("BIGINT", "0e99999999999999999999", 0);
    good_i64("TINYINT", "-128", -128);
    good_i64("SMALLINT", "32767", 32767);
    good_i64("INT", "-2147483648", INT32_MIN);
    bad("BIGINT", "9223372036854775808", "out of range");
    bad("BIGINT", "-9223372036854775809", "out of range");
    bad("BIGINT", "1e19", "out of range");
    bad("BIGINT", "1e99999999999999999999", "out of range");
    bad("BIGINT", "1.7", "not a whole number");
    bad("BIGINT", "1e-1", "not a whole number");
    bad("BIGINT", "123456789012345678901234567890123456789.5", "out of range");
    bad("INT", "2147483648", "out of range");
    bad("TINYINT", "128", "out of range");
    bad("INT", "01", "as JSON writes numbers");
    bad("INT", "+1", "expected");
    bad("INT", "1.", "as JSON writes numbers");
    bad("INT", ".5", "expected");
    bad("INT", "1e", "as JSON writes numbers");
    bad("INT", "--1", "as JSON writes numbers");
    bad("INT", "\"1\"", "a number is expected, but there is a text");
    bad("INT", "true", "a number is expected");
    bad("INT", "NaN", "a number is expected");
    bad("INT NOT NULL", "null", "NOT NULL");
}

static void good_decimal(const char *type, const char *value, const char *wanted)
{
    struct table t;
    char digits[60], *p = digits + sizeof digits - 1;

    assert_ok(read_value(&t, type, value), t.err);
    int precision = t.batch->cols[0].type->precision;
    void *data = t.batch->cols[0].data;
    sl_i128 v;
    if (precision <= 4)
        v = *(int16_t *)data;
    else if (precision <= 9)
        v = *(int32_t *)data;
    else if (precision <= 18)
        v = *(int64_t *)data;
    else
        memcpy(&v, data, sizeof v);
    bool negative = v < 0;
    unsigned __int128 u = negative ? -(unsigned __int128)v : (unsigned __int128)v;
    *p = '\0';
    do
        *--p = (char)('0' + (int)(u % 10));
    while (u /= 10);
    if (negative)
        *--p = '-';
    assert_string_equal(p, wanted);
    close_table(&t);
}

static void decimals(void **state)
{
    (void)state;
    good_decimal("DECIMAL(4, 2)", "-99.99", "-9999");
    good_decimal("DECIMAL(9, 2)", "1234567.1", "123456710");
    good_decimal("DECIMAL(18, 3)", "123456789012345.678", "123456789012345678");
    good_decimal("DECIMAL(18, 2)", "1.2300", "123");
    good_decimal("DECIMAL(18, 2)", "123e-2", "123");
    good_decimal("DECIMAL(38, 10)", "1234567890123456789012345678.0123456789", "12345678901234567890123456780123456789");
    good_decimal("DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999");
    good_decimal("DECIMAL(38, 37)", "1.5", "15000000000000000000000000000000000000");
    good_decimal("DECIMAL(20, 2)", "\"12345678901234567.89\"", "1234567890123456789");
    good_decimal("DECIMAL(5, 2)", "0.0000000000000000000000000000000000000000000000", "0");
    bad("DECIMAL(5, 2)", "1.234", "more digits after the point");
    bad("DECIMAL(5, 2)", "1000.00", "too big");
    bad("DECIMAL(5, 2)", "1e400", "too big");
    bad("DECIMAL(5, 2)", "1e-400", "more digits after the point");
    bad("DECIMAL(5, 2)", "\"abc\"", "not a number");
    bad("DECIMAL(5, 2)", "\" 1\"", "not a number");
    bad("DECIMAL(38, 0)", "100000000000000000000000000000000000000", "too big");
}

static void good_double(const char *value, double wanted)
{
    struct table t;

    assert_ok(read_value(&t, "DOUBLE", value), t.err);
    double got = *(double *)t.batch->cols[0].data;
    if (memcmp(&got, &wanted, sizeof got) != 0)
        fail_msg("%s gives %.17g", value, got);
    close_table(&t);
}

static void real_numbers(void **state)
{
    struct table t;

    (void)state;
    good_double("0.1", 0.1);
    good_double("-0.0", -0.0);
    good_double("-0", -0.0);
    good_double("1.7976931348623157e308", 1.7976931348623157e308);
    good_double("5e-324", 5e-324);
    good_double("2.2250738585072011e-308", 2.2250738585072011e-308);
    good_double("9007199254740993", 9007199254740993.0);
    good_double("123456789.123456789", 123456789.123456789);
    good_double("0.000001", 0.000001);
    good_double("8.41", 8.41);
    bad("DOUBLE", "1e309", "out of range");
    bad("FLOAT", "1e39", "out of range");
    assert_ok(read_value(&t, "FLOAT", "1.00000005960464477541"), t.err); /* just above a half: a double on the way would lose that */
    assert_true(*(float *)t.batch->cols[0].data == 1.00000011920928955f);
    close_table(&t);
    assert_ok(read_value(&t, "DOUBLE", "\"NaN\""), t.err);
    assert_true(isnan(*(double *)t.batch->cols[0].data));
    close_table(&t);
    bad("DOUBLE", "\"1.5\"", "a number is expected");
}

static void dates_and_times(void **state)
{
    (void)state;
    good_i64("DATE", "\"1970-01-02\"", 1);
    good_i64("DATE", "\"2000-02-29\"", 11016);
    good_i64("DATE", "\"0001-01-01\"", -719162);
    bad("DATE", "\"2001-02-29\"", "not a date");
    bad("DATE", "\"2001-2-9\"", "not a date");
    bad("DATE", "\"0000-01-01\"", "not a date");
    bad("DATE", "\"2001-01-01 \"", "not a date");
    bad("DATE", "20010101", "a text is expected");
    good_i64("TIMESTAMP(6)", "\"1970-01-01 00:00:01.5\"", 1500000);
    good_i64("TIMESTAMP(6)", "\"1970-01-01T00:00:01.000001\"", 1000001);
    good_i64("TIMESTAMP(3)", "\"1969-12-31 23:59:59.999000\"", -1000);
    bad("TIMESTAMP(3)", "\"1970-01-01 00:00:00.0001\"", "more digits of a second");
    bad("TIMESTAMP(6)", "\"1970-01-01 00:00:00Z\"", "time zone");
    bad("TIMESTAMP(6)", "\"1970-01-01 00:00:00+02:00\"", "time zone");
    bad("TIMESTAMP(6)", "\"1970-01-01 24:00:00\"", "not a timestamp");
    bad("TIMESTAMP(6)", "\"1970-01-01 00:00\"", "not a timestamp");
    bad("TIMESTAMP(6)", "\"1970-01-01 00:00:00.\"", "not a timestamp");
    bad("TIMESTAMP(6)", "0", "a text is expected");
    good_i64("TIMESTAMP_LTZ(6)", "\"1970-01-01 02:00:00+02:00\"", 0);
    good_i64("TIMESTAMP_LTZ(6)", "\"1970-01-01T00:00:00Z\"", 0);
    good_i64("TIMESTAMP_LTZ(6)", "\"1970-01-01 00:00:00-0130\"", INT64_C(5400000000));
    bad("TIMESTAMP_LTZ(6)", "\"1970-01-01 00:00:00\"", "no time zone");
    bad("TIMESTAMP_LTZ(6)", "\"1970-01-01 00:00:00+19:00\"", "not a timestamp");
}

static void check_text(const char *type, const char *value, const char *wanted, size_t n)
{
    struct table t;

    assert_ok(read_value(&t, type, value), t.err);
    sl_str got = sl_vector_bytes(&t.batch->cols[0], 0);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.p, wanted, n);
    close_table(&t);
}

static void texts(void **state)
{
    (void)state;
    check_text("STRING", "\"\"", "", 0);
    check_text("STRING", "\"exactly12byt\"", "exactly12byt", 12);
    check_text("STRING", "\"thirteen byte\"", "thirteen byte", 13);
    check_text("STRING", "\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\"", "a\"b\\c/d\b\f\n\r\t", 12);
    check_text("STRING", "\"\\u00e9\\u20ac\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9);
    check_text("STRING", "\"x\\u0000y\"", "x\0y", 3);
    check_text("STRING", "\"\xc3\xa9\xe2\x82\xac\"", "\xc3\xa9\xe2\x82\xac", 5);
    check_text("VARCHAR(3)", "\"\xc3\xa9\xc3\xa9\xc3\xa9\"", "\xc3\xa9\xc3\xa9\xc3\xa9", 6);
    check_text("BYTES", "\"AAEC/w==\"", "\0\1\2\xff", 4);
    check_text("BYTES", "\"\"", "", 0);
    bad("VARCHAR(3)", "\"abcd\"", "4 characters, but the column holds at most 3");
    bad("STRING", "\"\xff\"", "not UTF-8");
    bad("STRING", "\"\xed\xa0\x80\"", "not UTF-8");
    bad("STRING", "\"a\tb\"", "control character");
    bad("STRING", "\"\\ud800\"", "surrogate");
    bad("STRING", "\"\\udc00\\ud800\"", "surrogate");
    bad("STRING", "\"\\u12g4\"", "hexadecimal");
    bad("STRING", "\"\\x\"", "escape");
    bad("STRING", "\"open", "no end");
    bad("STRING", "5", "a text is expected, but there is a number");
    bad("BYTES", "\"AAE\"", "base64");
    bad("BYTES", "\"AAF=\"", "base64");
    bad("BYTES", "\"A A=\"", "base64");
    bad("BINARY(2)", "\"AAEC\"", "3 bytes");
    bad("BOOLEAN", "1", "true or false");
    bad("BOOLEAN", "\"true\"", "true or false");
    bad("BOOLEAN", "truth", "");
}

/* ---- rows ---- */

static void bad_row(struct table *t, const char *line, const char *text)
{
    int rc = read_json(t, line);

    if (rc != SL_EINPUT || !strstr(t->csv.json.put.fault.text, text))
        fail_msg("%s: %s: %s", line, sl_code_name(rc), t->csv.json.put.fault.text);
}

static void objects(void **state)
{
    struct table t;

    (void)state;
    open_table(&t, "ROW<a INT, b STRING, c INT NOT NULL>", "_row_kind");
    assert_ok(read_json(&t, "{\"a\":1,\"b\":\"x\",\"c\":3}"), t.err);
    assert_ok(read_json(&t, " { \"c\" : 3 , \"a\" : 1 } \r"), t.err);
    assert_true(sl_vector_is_null(&t.batch->cols[1], 0));
    sl_batch_reset(t.batch);
    assert_ok(read_json(&t, "{\"c\":3,\"\\u0061\":7,\"other\":{\"x\":[1,{},[],\"\\n\"]},\"_row_kind\":\"+I\"}"), t.err);
    assert_int_equal(((int32_t *)t.batch->cols[0].data)[0], 7);
    assert_int_equal(t.csv.json.unknown_fields, 1);
    bad_row(&t, "{\"c\":3,\"c\":3}", "twice");
    bad_row(&t, "{\"c\":3,\"a\":1,\"\\u0061\":1}", "twice");
    bad_row(&t, "{\"a\":3}", "missing, but the column is NOT NULL");
    bad_row(&t, "{}", "missing");
    bad_row(&t, "{\"c\":3,\"_row_kind\":\"-D\"}", "only takes inserts");
    bad_row(&t, "{\"c\":3,\"_row_kind\":\"update\"}", "only takes inserts");
    bad_row(&t, "{\"c\":3,\"_row_kind\":\"what\"}", "no kind of row");
    bad_row(&t, "{\"c\":3", "\",\" or \"}\"");
    bad_row(&t, "{\"c\":3,}", "a field name");
    bad_row(&t, "{\"c\" 3}", "\":\"");
    bad_row(&t, "{\"c\":3} {}", "behind the object");
    bad_row(&t, "{\"c\":3}]", "behind the object");
    bad_row(&t, "[1]", "an object is expected");
    bad_row(&t, "null", "an object is expected");
    bad_row(&t, "{\"c\":3,\"z\":{\"y\":[1,2}}", "\",\" or \"]\"");
    bad_row(&t, "{\"c\":3,\"z\":01}", "");
    bad_row(&t, "{\"c\":3,\"z\":\"\xff\"}", "not UTF-8");
    t.csv.json.strict_fields = true;
    bad_row(&t, "{\"c\":3,\"z\":1}", "no column for the field \"z\"");
    close_table(&t);
}

static void nested_values(void **state)
{
    struct table t;

    (void)state;
    open_table(&t, "ROW<l ARRAY<INT>, m MAP<STRING, BIGINT>, r ROW<x INT, y ARRAY<ROW<z STRING>>>>", "");
    assert_ok(read_json(&t, "{\"l\":[1,null,3],\"m\":{\"a\":1,\"b\":null},\"r\":{\"y\":[{\"z\":\"q\"},{}]}}"), t.err);
    assert_int_equal(t.batch->cols[0].list_used, 3);
    assert_int_equal(((int32_t *)t.batch->cols[0].children[0].data)[2], 3);
    assert_true(sl_vector_is_null(&t.batch->cols[0].children[0], 1));
    assert_true(sl_vector_is_null(&t.batch->cols[1].children[1], 1));
    assert_true(sl_vector_is_null(&t.batch->cols[2].children[0], 0));
    assert_int_equal(t.batch->cols[2].children[1].list_used, 2);
    sl_batch_reset(t.batch);
    bad_row(&t, "{\"l\":[1,]}", "a number is expected");
    bad_row(&t, "{\"l\":[1}", "");
    bad_row(&t, "{\"l\":{}}", "an array is expected");
    bad_row(&t, "{\"m\":{\"a\":1,\"a\":2}}", "twice");
    bad_row(&t, "{\"m\":{\"a\":1,}}", "a key");
    bad_row(&t, "{\"m\":[]}", "an object is expected");
    bad_row(&t, "{\"r\":{\"y\":[{\"z\":5}]}}", "a text is expected");
    struct sl_buf path = SL_BUF_INIT;
    sl_column_path(t.csv.json.put.fault.column, &path);
    assert_string_equal(path.p, "r.y[].z");
    sl_buf_release(&path);
    close_table(&t);
}

/* A bad row leaves no NULL to the good one that takes its place. */
static void bad_rows_leave_nothing(void **state)
{
    struct table t;

    (void)state;
    open_table(&t, "ROW<a INT, r ROW<x INT>, b INT>", "");
    bad_row(&t, "{\"a\":null,\"r\":{\"x\":null},\"b\":\"no\"}", "a number is expected");
    assert_ok(read_json(&t, "{\"a\":1,\"r\":{\"x\":2},\"b\":3}"), t.err);
    assert_false(sl_vector_is_null(&t.batch->cols[0], 0));
    assert_false(sl_vector_is_null(&t.batch->cols[1], 0));
    assert_false(sl_vector_is_null(&t.batch->cols[1].children[0], 0));
    close_table(&t);
}

/* ---- CSV ---- */

static int read_csv(struct table *t, const char *line)
{
    return read_line(t, line, strlen(line), 0, true);
}

static void csv_rows(void **state)
{
    struct table t;
    struct sl_csv_header *h = NULL;

    (void)state;
    open_table(&t, "ROW<a INT, b STRING, d DOUBLE, l ARRAY<INT>>", "");
    assert_ok(sl_csv_header_read(&t.root, ',', false, SL_LIT("b,\"a\",zzz,l\r\n"), &h, &t.err), t.err);
    t.csv.header = h;
    assert_ok(read_csv(&t, "\"x\"\"y\nz\",007,ignored,\"[1,2]\"\r"), t.err);
    sl_str b = sl_vector_bytes(&t.batch->cols[1], 0);
    assert_int_equal(b.n, 5);
    assert_memory_equal(b.p, "x\"y\nz", 5);
    assert_int_equal(((int32_t *)t.batch->cols[0].data)[0], 7);
    assert_true(sl_vector_is_null(&t.batch->cols[2], 0));
    assert_int_equal(t.batch->cols[3].list_used, 2);
    sl_batch_reset(t.batch);
    assert_ok(read_csv(&t, "\"\",,,"), t.err);
    assert_false(sl_vector_is_null(&t.batch->cols[1], 0));
    assert_true(sl_vector_is_null(&t.batch->cols[0], 0));
    assert_code(read_csv(&t, "x,1.5,,"), SL_EINPUT);
    assert_code(read_csv(&t, "x,1"), SL_EINPUT);
    assert_code(read_csv(&t, "x,1,2,,5"), SL_EINPUT);
    assert_code(read_csv(&t, "x\"y,1,2,"), SL_EINPUT);
    assert_code(read_csv(&t, "\"x\"y,1,2,"), SL_EINPUT);
    assert_code(read_csv(&t, "\xff,1,2,"), SL_EINPUT);
    sl_csv_header_free(h);
    assert_code(sl_csv_header_read(&t.root, ',', false, SL_LIT("a,a\n"), &h, &t.err), SL_EINPUT);
    assert_code(sl_csv_header_read(&t.root, ',', false, SL_LIT("p;q\n"), &h, &t.err), SL_EINPUT);
    assert_code(sl_csv_header_read(&t.root, ',', true, SL_LIT("a,q\n"), &h, &t.err), SL_EINPUT);
    close_table(&t);
}

static void csv_record_ends(void **state)
{
    static const char text[] = "a,\"b\nc\",d\n\"\"\"\n\",x\nplain\"quote\nlast";
    const size_t ends[] = {10, 18, 30};

    (void)state;
    /* The same whether the bytes come at once or one by one. */
    for (size_t step = 1; step < sizeof text; step++) {
        struct sl_csv_scan scan = {',', 0};
        size_t found = 0;

        for (size_t at = 0; at < sizeof text - 1;) {
            size_t to = at + step < sizeof text - 1 ? at + step : sizeof text - 1;
            const char *e = sl_csv_next(&scan, text + at, text + to);

            at = e ? (size_t)(e - text) : to;
            if (e) {
                assert_true(found < 3);
                assert_int_equal(at, ends[found++]);
            }
        }
        assert_int_equal(found, 3);
    }
}

/* ---- samples ---- */

static void check_infer(const char *text, bool csv, const char *wanted)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf got = SL_BUF_INIT;
    const struct sl_field *fields;
    sl_err err = SL_ERR_INIT;
    size_t n;
    int rc = csv ? sl_infer_csv(&a, sl_str_c(text), ',', true, SL_LIT(""), SL_LIT("_row_kind"), &fields, &n, &err)
                 : sl_infer_ndjson(&a, sl_str_c(text), SL_LIT("_row_kind"), &fields, &n, &err);

    assert_ok(rc, err);
    for (size_t i = 0; i < n; i++) {
        sl_buf_printf(&got, "%s%s ", i ? ", " : "", fields[i].name);
        sl_type_sql(&got, fields[i].type);
    }
    assert_string_equal(got.p, wanted);
    sl_buf_release(&got);
    sl_arena_release(&a);
}

static void samples(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    const struct sl_field *fields;
    sl_err err = SL_ERR_INIT;
    size_t n;

    (void)state;
    check_infer("{\"a\":1,\"b\":\"x\",\"_row_kind\":\"+I\"}\n{\"a\":1.5,\"c\":null,\"d\":99999999999}\n", false,
                "a DOUBLE, b STRING, c STRING, d BIGINT");
    check_infer("{\"t\":\"2001-01-01 00:00:00\",\"d\":\"2001-01-01\",\"l\":[{\"x\":1},{\"y\":true}]}\n\n", false,
                "t TIMESTAMP(6), d DATE, l ARRAY<ROW<`x` INT, `y` BOOLEAN>>");
    check_infer("a,b,c\n1,x,2001-01-01\n2,,\n2.5,\"q\nr\",2001-01-02\n", true, "a DOUBLE, b STRING, c DATE");
    check_infer("a,_row_kind\nx,+I\n5,+I\n", true, "a STRING");
    assert_code(sl_infer_ndjson(&a, SL_LIT("{\"a\":1}\n{\"a\":\"x\"}\n"), SL_LIT(""), &fields, &n, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "line 2"));
    sl_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),  cmocka_unit_test(decimals),      cmocka_unit_test(real_numbers),
        cmocka_unit_test(dates_and_times), cmocka_unit_test(texts),        cmocka_unit_test(objects),
        cmocka_unit_test(nested_values),  cmocka_unit_test(bad_rows_leave_nothing), cmocka_unit_test(csv_rows),
        cmocka_unit_test(csv_record_ends), cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
