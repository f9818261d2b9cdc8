/* Avro schemas of tables, rows to records and back, resolution of older schemas, damage. */
#include "unit.h"

#include <string.h>

#include "format/hudi_avro.h"
#include "format/hudi_log.h"
#include "hex.h"

static sl_err err = SL_ERR_INIT;

#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define RECORD(fields) "{\"type\":\"record\",\"name\":\"t_record\",\"namespace\":\"hoodie.t\",\"fields\":[" fields "]}"
#define LOGICAL(type, name) "{\"type\":\"" type "\",\"logicalType\":\"" name "\"}"
#define FIXED(space, size, p, s) "{\"type\":\"fixed\",\"name\":\"fixed\",\"namespace\":\"" space "\",\"size\":" size ",\"logicalType\":\"decimal\",\"precision\":" p ",\"scale\":" s "}"

static const char all_types[] = RECORD(
    FIELD("b", "\"boolean\"") "," FIELD("i", "[\"int\",\"null\"]") "," FIELD("l", "[\"null\",\"long\"]") "," FIELD("f", "\"float\"") ","
    FIELD("d", "[\"null\",\"double\"]") "," FIELD("s", "[\"null\",\"string\"]") "," FIELD("y", "[\"null\",\"bytes\"]") ","
    FIELD("d5", "[\"null\"," FIXED("a", "3", "5", "2") "]") "," FIELD("d15", "[" FIXED("b", "7", "15", "2") ",\"null\"]") ","
    FIELD("d38", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":38,\"scale\":10}") ","
    FIELD("dt", LOGICAL("int", "date")) "," FIELD("t3", LOGICAL("int", "time-millis")) "," FIELD("t6", LOGICAL("long", "time-micros")) ","
    FIELD("z3", LOGICAL("long", "timestamp-millis")) "," FIELD("z6", LOGICAL("long", "timestamp-micros")) ","
    FIELD("n6", LOGICAL("long", "local-timestamp-micros")) "," FIELD("x", "{\"type\":\"fixed\",\"name\":\"four\",\"size\":4}") ","
    FIELD("a", "[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"string\"]}]") ","
    FIELD("m", "{\"type\":\"map\",\"values\":\"long\"}") ","
    FIELD("r", "[\"null\",{\"type\":\"record\",\"name\":\"r\",\"fields\":[" FIELD("p", "[\"null\",\"int\"]") ","
          FIELD("q", "{\"type\":\"array\",\"items\":\"double\"}") "]}]"));
enum { C_B, C_I, C_L, C_F, C_D, C_S, C_Y, C_D5, C_D15, C_D38, C_DT, C_T3, C_T6, C_Z3, C_Z6, C_N6, C_X, C_A, C_M, C_R, NCOLS };

static void types(void **state)
{
    static const char *const want[NCOLS] = {
        "BOOLEAN NOT NULL", "INT", "BIGINT", "FLOAT NOT NULL", "DOUBLE", "STRING", "BYTES", "DECIMAL(5, 2)", "DECIMAL(15, 2)", "DECIMAL(38, 10) NOT NULL",
        "DATE NOT NULL", "TIME(3) NOT NULL", "TIME(6) NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP(6) NOT NULL", "BINARY(4) NOT NULL", "ARRAY<STRING>",
        "MAP<STRING NOT NULL, BIGINT NOT NULL> NOT NULL", "ROW<`p` INT, `q` ARRAY<DOUBLE NOT NULL> NOT NULL>"};
    struct sl_hudi_schema s;

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(all_types), &s, &err), err);
    assert_int_equal(s.nfields, NCOLS);
    assert_false(s.has_meta);
    for (size_t i = 0; i < NCOLS; i++) {
        struct sl_buf b = SL_BUF_INIT;

        sl_type_sql(&b, s.fields[i].type);
        assert_string_equal(b.p, want[i]);
        sl_buf_release(&b);
    }
    sl_hudi_schema_release(&s);
    static const struct {
        const char *json;
        int code;
    } bad[] = {
        {"\"long\"", SL_ECORRUPT}, {"{", SL_ECORRUPT}, {RECORD(FIELD("a", "[\"int\",\"string\"]")), SL_EUNSUPPORTED},
        {RECORD(FIELD("a", "[\"null\",\"int\",\"string\"]")), SL_EUNSUPPORTED}, {RECORD(FIELD("a", "\"null\"")), SL_EUNSUPPORTED},
        {RECORD(FIELD("a", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":39}")), SL_EUNSUPPORTED},
        {RECORD(FIELD("a", "\"unknown\"")), SL_ECORRUPT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(sl_hudi_schema_parse(sl_str_c(bad[i].json), &s, &err), bad[i].code);
}

/* Two types named "fixed" of different namespaces, the second one used by name. */
static void names(void **state)
{
    static const char json[] = RECORD(FIELD("a", FIXED("x", "7", "15", "2")) "," FIELD("b", FIXED("y", "5", "10", "2")) "," FIELD("c", "\"y.fixed\"")
                                      "," FIELD("d", "\"x.fixed\""));
    struct sl_hudi_schema s;

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(json), &s, &err), err);
    assert_int_equal(s.fields[2].type->precision, 10);
    assert_int_equal(s.fields[3].type->precision, 15);
    sl_hudi_schema_release(&s);
}

static void fill(struct sl_batch *b)
{
    struct sl_vector *c = b->cols;
    size_t at;
    sl_i128 big = 1;

    for (int i = 0; i < 37; i++)
        big *= 10;
    for (size_t row = 0; row < 2; row++) { /* row 1 has NULL where it can be */
        ((uint8_t *)c[C_B].data)[row] = row == 0;
        ((int32_t *)c[C_I].data)[row] = INT32_MIN;
        ((int64_t *)c[C_L].data)[row] = INT64_MAX;
        ((float *)c[C_F].data)[row] = 1.5F;
        ((double *)c[C_D].data)[row] = -0.1;
        assert_ok(sl_vector_put_bytes(&c[C_S], row, SL_LIT("h\xc3\xa9llo, a longer text"), &err), err);
        assert_ok(sl_vector_put_bytes(&c[C_Y], row, SL_LIT("\xff\x00"), &err), err);
        ((int32_t *)c[C_D5].data)[row] = -12345;
        ((int64_t *)c[C_D15].data)[row] = INT64_C(999999999999999);
        ((sl_i128 *)c[C_D38].data)[row] = row ? -big : big;
        ((int32_t *)c[C_DT].data)[row] = -1;
        ((int64_t *)c[C_T3].data)[row] = INT64_C(86399999000);
        ((int64_t *)c[C_T6].data)[row] = INT64_C(86399999999);
        ((int64_t *)c[C_Z3].data)[row] = -1000;
        ((int64_t *)c[C_Z6].data)[row] = INT64_C(1700000000123456);
        ((int64_t *)c[C_N6].data)[row] = -1;
        assert_ok(sl_vector_put_bytes(&c[C_X], row, SL_LIT("abcd"), &err), err);
        sl_vector_list_begin(&c[C_A], row);
        for (int i = 0; i < 3 && row == 0; i++) {
            assert_ok(sl_vector_list_put(&c[C_A], &at, &err), err);
            assert_ok(i == 1 ? sl_vector_set_null(&c[C_A].children[0], at, &err)
                             : sl_vector_put_bytes(&c[C_A].children[0], at, SL_LIT("item"), &err), err);
        }
        sl_vector_list_end(&c[C_A], row);
        sl_vector_list_begin(&c[C_M], row);
        assert_ok(sl_vector_list_put(&c[C_M], &at, &err), err);
        assert_ok(sl_vector_put_bytes(&c[C_M].children[0], at, SL_LIT("k"), &err), err);
        ((int64_t *)c[C_M].children[1].data)[at] = 42;
        sl_vector_list_end(&c[C_M], row);
        ((int32_t *)c[C_R].children[0].data)[row] = 5;
        sl_vector_list_begin(&c[C_R].children[1], row);
        assert_ok(sl_vector_list_put(&c[C_R].children[1], &at, &err), err);
        ((double *)c[C_R].children[1].children[0].data)[at] = 2.5;
        sl_vector_list_end(&c[C_R].children[1], row);
    }
    static const int nullable[] = {C_I, C_L, C_D, C_S, C_Y, C_D5, C_D15, C_A, C_R};
    for (size_t i = 0; i < sizeof nullable / sizeof *nullable; i++)
        assert_ok(sl_vector_set_null(&c[nullable[i]], 1, &err), err);
    b->rows = 2;
}

static void round_trip(void **state)
{
    struct sl_hudi_schema s;
    struct sl_hudi_encoder *e;
    struct sl_hudi_decoder *d;
    struct sl_batch *b, *back;
    struct sl_hudi_meta_values meta = {0};
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(all_types), &s, &err), err);
    struct sl_hudi_projection p = {.cols = s.fields, .ncols = s.nfields};
    assert_ok(sl_hudi_encoder_new(s.avro, s.fields, s.nfields, &e, &err), err);
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_batch_new(s.fields, s.nfields, &b, &err), err);
    assert_ok(sl_batch_new(s.fields, s.nfields, &back, &err), err);
    fill(b);
    for (size_t row = 0; row < 2; row++) {
        sl_buf_reset(&one);
        sl_buf_reset(&two);
        assert_ok(sl_hudi_encoder_row(e, &meta, b, row, &one, &err), err);
        assert_ok(sl_hudi_decoder_row(d, sl_buf_view(&one), back, row, &err), err);
        assert_ok(sl_hudi_encoder_row(e, &meta, back, row, &two, &err), err);
        assert_true(sl_str_eq(sl_buf_view(&one), sl_buf_view(&two)));
        assert_true(sl_vector_is_null(&back->cols[C_S], row) == (row == 1));
        /* Cut anywhere it is damaged; with a byte more, too. */
        struct sl_buf exact = SL_BUF_INIT;
        for (size_t n = 0; n < one.n; n++) {
            sl_buf_release(&exact);
            exact = (struct sl_buf)SL_BUF_INIT;
            sl_buf_addb(&exact, one.p, n);
            assert_code(sl_hudi_decoder_row(d, sl_buf_view(&exact), back, row + 2, &err), SL_ECORRUPT);
        }
        sl_buf_release(&exact);
        sl_buf_ch(&one, 0);
        assert_code(sl_hudi_decoder_row(d, sl_buf_view(&one), back, row + 2, &err), SL_ECORRUPT);
    }
    assert_int_equal(((int32_t *)back->cols[C_D5].data)[0], -12345);
    assert_true(((int64_t *)back->cols[C_T3].data)[0] == INT64_C(86399999000) && ((int64_t *)back->cols[C_Z3].data)[0] == -1000);
    assert_true(((sl_i128 *)back->cols[C_D38].data)[1] == -((sl_i128 *)back->cols[C_D38].data)[0]);
    sl_batch_free(b);
    sl_batch_free(back);
    sl_hudi_encoder_free(e);
    sl_hudi_decoder_free(d);
    sl_hudi_schema_release(&s);
    sl_buf_release(&one);
    sl_buf_release(&two);
}

/* ---- resolution ---- */

static const struct sl_type t_smallint = {.kind = SL_SMALLINT, .nullable = true}, t_bigint = {.kind = SL_BIGINT, .nullable = true},
                            t_double = {.kind = SL_DOUBLE, .nullable = true}, t_string = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX},
                            t_dec = {.kind = SL_DECIMAL, .nullable = true, .precision = 20, .scale = 4}, t_ts = {.kind = SL_TIMESTAMP, .nullable = true, .precision = 6},
                            t_int = {.kind = SL_INT, .nullable = true}, t_must = {.kind = SL_INT};

static const char old_schema[] = RECORD(FIELD("gone", "\"string\"") "," FIELD("was", "[\"int\",\"null\"]") "," FIELD("i", "\"int\"") ","
                                        FIELD("f", "\"float\"") "," FIELD("d", FIXED("x", "3", "5", "2")) "," FIELD("ts", LOGICAL("long", "timestamp-millis")) ","
                                        FIELD("small", "\"int\"") "," FIELD("last", "\"string\""));

static void evolution(void **state)
{
    static const struct sl_field cols[] = {
        {0, "added", &t_string, NULL, NULL}, {1, "now", &t_bigint, NULL, NULL}, {2, "i", &t_dec, NULL, NULL}, {3, "f", &t_double, NULL, NULL},
        {4, "d", &t_dec, NULL, NULL},        {5, "ts", &t_ts, NULL, NULL},      {6, "small", &t_smallint, NULL, NULL},
    };
    static const struct sl_hudi_alias aliases[] = {{"now", "was"}};
    struct sl_hudi_projection p = {.cols = cols, .ncols = 7, .aliases = aliases, .naliases = 1};
    struct sl_hudi_schema s;
    struct sl_hudi_decoder *d;
    struct sl_batch *b;
    struct sl_value v[7];
    /* gone "ab", was 300, i -7, f 1.5, d 123.45, ts 1500, small 40000 or 400, last "" */
    sl_str fits = hex_bytes("04 6162 00 d804 0d 0000c03f 003039 b817 a006 00"), large = hex_bytes("04 6162 00 d804 0d 0000c03f 003039 b817 80f104 00");

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(old_schema), &s, &err), err);
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_batch_new(cols, 7, &b, &err), err);
    assert_ok(sl_hudi_decoder_row(d, fits, b, 0, &err), err);
    assert_true(sl_vector_is_null(&b->cols[0], 0));
    assert_true(((int64_t *)b->cols[1].data)[0] == 300);
    assert_true(((sl_i128 *)b->cols[2].data)[0] == -70000);
    assert_true(((double *)b->cols[3].data)[0] == 1.5);
    assert_true(((sl_i128 *)b->cols[4].data)[0] == 1234500);
    assert_true(((int64_t *)b->cols[5].data)[0] == 1500000);
    assert_true(((int16_t *)b->cols[6].data)[0] == 400);
    assert_code(sl_hudi_decoder_row(d, large, b, 1, &err), SL_ECORRUPT);
    assert_ok(sl_hudi_decoder_values(d, fits, v, &err), err);
    assert_true(v[0].null && v[1].u.i == 300 && v[2].u.d == -70000 && v[5].u.t.ms == 1500 && v[6].u.i == 400);
    sl_hudi_decoder_free(d);
    /* What is not wanted is passed over; after the last wanted one nothing is looked at. */
    static const bool wanted[7] = {false, true, false, false, false, false, false};
    p.wanted = wanted;
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_hudi_decoder_row(d, hex_bytes("04 6162 00 d804 ff"), b, 2, &err), err);
    assert_true(((int64_t *)b->cols[1].data)[2] == 300);
    sl_hudi_decoder_free(d);
    sl_batch_free(b);
    /* Refused by column. */
    static const struct sl_field wrong[] = {{0, "i", &t_string, NULL, NULL}}, narrow[] = {{0, "ts", &t_int, NULL, NULL}}, must[] = {{0, "new", &t_must, NULL, NULL}};
    const struct sl_field *const refused[] = {wrong, narrow, must};
    for (size_t i = 0; i < 3; i++) {
        struct sl_hudi_projection q = {.cols = refused[i], .ncols = 1};

        assert_code(sl_hudi_decoder_new(s.avro, &q, &d, &err), SL_EUNSUPPORTED);
        assert_non_null(strstr(err.text, refused[i][0].name));
    }
    sl_hudi_schema_release(&s);
}

/* Nested records are resolved by name too. */
static void nested(void **state)
{
    static const char was[] = RECORD(FIELD("r", "{\"type\":\"record\",\"name\":\"r\",\"fields\":[" FIELD("x", "\"int\"") "," FIELD("y", "\"string\"") "]}"));
    static const struct sl_field members[] = {{0, "z", &t_string, NULL, NULL}, {1, "x", &t_bigint, NULL, NULL}};
    static const struct sl_type row = {.kind = SL_ROW, .nullable = true, .fields = members, .nfields = 2};
    static const struct sl_field cols[] = {{0, "r", &row, NULL, NULL}};
    struct sl_hudi_projection p = {.cols = cols, .ncols = 1};
    struct sl_hudi_schema s;
    struct sl_hudi_decoder *d;
    struct sl_batch *b;

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(was), &s, &err), err);
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_batch_new(cols, 1, &b, &err), err);
    assert_ok(sl_hudi_decoder_row(d, hex_bytes("0a 026b"), b, 0, &err), err);
    assert_true(sl_vector_is_null(&b->cols[0].children[0], 0) && ((int64_t *)b->cols[0].children[1].data)[0] == 5);
    sl_batch_free(b);
    sl_hudi_decoder_free(d);
    sl_hudi_schema_release(&s);
}

static void damage(void **state)
{
    static const char json[] = RECORD(FIELD("a", "{\"type\":\"array\",\"items\":\"null\"}") "," FIELD("s", "[\"null\",\"string\"]"));
    static const char good[] = RECORD(FIELD("a", "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"e\",\"fields\":[]}}") "," FIELD("s", "[\"null\",\"string\"]"));
    static const struct sl_type none = {.kind = SL_ROW}, list = {.kind = SL_ARRAY, .element = &none};
    static const struct sl_field cols[] = {{0, "a", &list, NULL, NULL}, {1, "s", &t_string, NULL, NULL}};
    struct sl_hudi_projection p = {.cols = cols, .ncols = 2};
    struct sl_hudi_schema s;
    struct sl_hudi_decoder *d;
    struct sl_batch *b;

    (void)state;
    assert_code(sl_hudi_schema_parse(sl_str_c(json), &s, &err), SL_EUNSUPPORTED);
    assert_ok(sl_hudi_schema_parse(sl_str_c(good), &s, &err), err);
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_batch_new(cols, 2, &b, &err), err);
    assert_ok(sl_hudi_decoder_row(d, hex_bytes("00 00"), b, 0, &err), err);
    assert_code(sl_hudi_decoder_row(d, hex_bytes("04 00 00"), b, 0, &err), SL_ECORRUPT);      /* items without bytes */
    assert_code(sl_hudi_decoder_row(d, hex_bytes("00 04"), b, 0, &err), SL_ECORRUPT);         /* a branch that is not there */
    assert_code(sl_hudi_decoder_row(d, hex_bytes("00 02 01"), b, 0, &err), SL_ECORRUPT);      /* a negative length */
    assert_code(sl_hudi_decoder_row(d, hex_bytes("00 02 02ff"), b, 0, &err), SL_ECORRUPT);    /* no UTF-8 */
    assert_code(sl_hudi_decoder_row(d, hex_bytes("ffffffffffffffffff01 00"), b, 0, &err), SL_ECORRUPT);
    sl_batch_free(b);
    sl_hudi_decoder_free(d);
    sl_hudi_schema_release(&s);
}

/* ---- writing schemas ---- */

static void schemas(void **state)
{
    static const struct sl_type date = {.kind = SL_DATE, .nullable = true}, tiny = {.kind = SL_TINYINT}, dec = {.kind = SL_DECIMAL, .precision = 10, .scale = 2},
                                array = {.kind = SL_ARRAY, .element = &dec}, key = {.kind = SL_VARCHAR, .length = SL_LENGTH_MAX},
                                map = {.kind = SL_MAP, .key = &key, .value = &t_double}, ts9 = {.kind = SL_TIMESTAMP, .precision = 9};
    static const struct sl_field members[] = {{0, "m", &map, NULL, NULL}, {1, "n", &dec, NULL, NULL}};
    static const struct sl_type row = {.kind = SL_ROW, .fields = members, .nfields = 2};
    static const struct sl_field cols[] = {{0, "id", &t_string, NULL, NULL}, {1, "d", &date, NULL, NULL}, {2, "y", &tiny, NULL, NULL}, {3, "a", &array, NULL, NULL},
                                           {4, "r", &row, NULL, NULL}, {5, "ts", &t_ts, NULL, NULL}};
    static const struct sl_field nanos[] = {{0, "ts", &ts9, NULL, NULL}}, blank[] = {{0, "a b", &t_string, NULL, NULL}};
    struct sl_buf b = SL_BUF_INIT, with = SL_BUF_INIT, without = SL_BUF_INIT;
    struct sl_hudi_schema s;

    (void)state;
    assert_ok(sl_hudi_schema_encode(SL_LIT("my-t"), cols, 6, false, &b, &err), err);
    assert_non_null(strstr(b.p, "\"name\":\"my__t_record\",\"namespace\":\"hoodie.my__t\""));
    assert_non_null(strstr(b.p, "\"name\":\"fixed\",\"namespace\":\"hoodie.my__t.my__t_record.r.n\",\"size\":5"));
    assert_non_null(strstr(b.p, "{\"name\":\"ts\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}],\"default\":null}"));
    assert_ok(sl_hudi_schema_add_meta(sl_buf_view(&b), &with, &err), err);
    assert_ok(sl_hudi_schema_drop_meta(sl_buf_view(&with), &without, &err), err);
    assert_string_equal(without.p, b.p);
    sl_buf_reset(&b);
    assert_ok(sl_hudi_schema_encode(SL_LIT("my-t"), cols, 6, true, &b, &err), err);
    assert_string_equal(b.p, with.p);
    assert_ok(sl_hudi_schema_parse(sl_buf_view(&b), &s, &err), err);
    assert_true(s.has_meta && s.nfields == 6 && sl_hudi_key_is_third(s.avro));
    assert_int_equal(s.fields[2].type->kind, SL_INT);
    sl_hudi_schema_release(&s);
    assert_code(sl_hudi_schema_encode(SL_LIT("t"), nanos, 1, false, &b, &err), SL_EUNSUPPORTED);
    assert_code(sl_hudi_schema_encode(SL_LIT("t"), blank, 1, false, &b, &err), SL_EUNSUPPORTED);
    sl_buf_release(&b);
    sl_buf_release(&with);
    sl_buf_release(&without);
}

/* Values that the table's schema cannot hold. */
static void refused(void **state)
{
    static const char json[] = RECORD(FIELD("d", FIXED("x", "3", "5", "2")) "," FIELD("t", LOGICAL("long", "timestamp-millis")));
    static const struct sl_type dec = {.kind = SL_DECIMAL, .nullable = true, .precision = 9, .scale = 1};
    static const struct sl_field cols[] = {{0, "d", &dec, NULL, NULL}, {1, "t", &t_ts, NULL, NULL}};
    struct sl_hudi_schema s;
    struct sl_hudi_encoder *e;
    struct sl_hudi_meta_values meta = {0};
    struct sl_batch *b;
    struct sl_buf out = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_schema_parse(sl_str_c(json), &s, &err), err);
    assert_ok(sl_hudi_encoder_new(s.avro, cols, 2, &e, &err), err);
    assert_ok(sl_batch_new(cols, 2, &b, &err), err);
    ((int32_t *)b->cols[0].data)[0] = 9999;
    ((int64_t *)b->cols[1].data)[0] = 1000;
    assert_ok(sl_hudi_encoder_row(e, &meta, b, 0, &out, &err), err);
    assert_string_equal(hex_text(sl_buf_view(&out)), "01869602");
    ((int32_t *)b->cols[0].data)[0] = 10000;
    assert_code(sl_hudi_encoder_row(e, &meta, b, 0, &out, &err), SL_EINPUT);
    ((int32_t *)b->cols[0].data)[0] = -9999;
    ((int64_t *)b->cols[1].data)[0] = 1001;
    assert_code(sl_hudi_encoder_row(e, &meta, b, 0, &out, &err), SL_EINPUT);
    assert_ok(sl_vector_set_null(&b->cols[0], 0, &err), err);
    assert_code(sl_hudi_encoder_row(e, &meta, b, 0, &out, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "\"d\""));
    sl_hudi_encoder_free(e);
    assert_code(sl_hudi_encoder_new(s.avro, cols, 1, &e, &err), SL_EUNSUPPORTED);
    sl_batch_free(b);
    sl_buf_release(&out);
    sl_hudi_schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types), cmocka_unit_test(names), cmocka_unit_test(round_trip), cmocka_unit_test(evolution), cmocka_unit_test(nested),
        cmocka_unit_test(damage), cmocka_unit_test(schemas), cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
