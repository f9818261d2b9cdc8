/* Rows of partition values and bounds, statistics, folders of partitions. */
#include "unit.h"

#include <string.h>

#include "format/paimon.h"
#include "hex.h"

static struct sl_arena arena;
static sl_err err = SL_ERR_INIT;

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    return 0;
}

static const struct sl_type *type(const char *text)
{
    const struct sl_type *t = NULL;

    assert_ok(sl_type_from_sql(&arena, sl_str_c(text), &t, &err), err);
    return t;
}

/* COLUMNS = "TYPE=value;TYPE=value"; no '=': null. */
static size_t parse_row(const char *columns, const struct sl_type **types, struct sl_value *values)
{
    size_t n = 0;
    char copy[500], *save = NULL;

    snprintf(copy, sizeof copy, "%s", columns);
    for (char *c = strtok_r(copy, ";", &save); c; c = strtok_r(NULL, ";", &save), n++) {
        char *text = strchr(c, '=');

        if (text)
            *text++ = '\0';
        types[n] = type(c);
        values[n] = (struct sl_value){.kind = types[n]->kind, .null = true};
        if (text && !sl_value_from_text(&arena, types[n], sl_str_c(text), &values[n]))
            fail_msg("%s = %s", c, text);
    }
    return n;
}

static const char *const rows[][2] = {
    {"", "00000000 0000000000000000"},
    {"INT=10", "00000001 0000000000000000 0a00000000000000"},
    {"INT=0;INT=1", "00000002 0000000000000000 0000000000000000 0100000000000000"},
    {"TINYINT=-1;SMALLINT=-2;INT=-3", "00000003 0000000000000000 ff00000000000000 feff000000000000 fdffffff00000000"},
    {"DATE=2024-01-02", "00000001 0000000000000000 0c4d000000000000"},
    {"STRING=us", "00000001 0000000000000000 7573000000000082"},
    {"STRING=", "00000001 0000000000000000 0000000000000080"},
    {"STRING", "00000001 0001000000000000 0000000000000000"},
    {"STRING=20240514", "00000001 0000000000000000 0800000010000000 3230323430353134"},
    {"STRING=2024-01-02;INT=7", "00000002 0000000000000000 0a00000018000000 0700000000000000 323032342d30312d 3032000000000000"},
    {"STRING=caf\xc3\xa9;BIGINT;STRING=abcdefgh",
     "00000003 0002000000000000 636166c3a9000085 0000000000000000 0800000020000000 6162636465666768"},
    {"DECIMAL(10,2)=12.34", "00000001 0000000000000000 d204000000000000"},
    {"DECIMAL(20,2)=12.34", "00000001 0000000000000000 0200000010000000 04d2000000000000 0000000000000000"},
    {"DECIMAL(38,2)=-12345678901234567890.12", "00000001 0000000000000000 0900000010000000 bd12edc4f427dfc5 ec00000000000000"},
    {"DECIMAL(20,2)", "00000001 0001000000000000 0000000010000000 0000000000000000 0000000000000000"},
    {"TIMESTAMP(3)=2024-01-02 03:04:05.123", "00000001 0000000000000000 03d920c88c010000"},
    {"TIMESTAMP(6)=2024-01-02 03:04:05.123456", "00000001 0000000000000000 40f5060010000000 03d920c88c010000"},
    {"TIMESTAMP(6)", "00000001 0001000000000000 0000000010000000 0000000000000000"},
    {"STRING=Alice;INT=2;INT=12;DOUBLE=2.1",
     "00000004 0000000000000000 416c696365000085 0200000000000000 0c00000000000000 cdcccccccccc0040"},
    {"TIMESTAMP(0)=1970-01-01 00:00:01;TIMESTAMP(3)=1970-01-01 00:00:00.001;TIMESTAMP(6)=1970-01-01 00:00:01;TIMESTAMP(9);"
     "TIMESTAMP_LTZ(0)=1970-01-01 00:00:02;TIMESTAMP_LTZ(3)=1970-01-01 00:00:00.002;TIMESTAMP_LTZ(6)=1970-01-01 00:00:02;TIMESTAMP_LTZ(9)",
     "00000008 0088000000000000 e803000000000000 0100000000000000 0000000048000000 0000000050000000 d007000000000000 0200000000000000"
     "0000000058000000 0000000060000000 e803000000000000 0000000000000000 d007000000000000 0000000000000000"},
    {"BOOLEAN=true;FLOAT=1.5;BYTES=00ff", "00000003 0000000000000000 0100000000000000 0000c03f00000000 00ff000000000082"},
};

static void vectors(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct sl_type *types[16];
        struct sl_value values[16], back[16];
        size_t n = parse_row(rows[r][0], types, values);
        struct sl_buf b = SL_BUF_INIT;
        sl_str want = hex_bytes(rows[r][1]);
        char expected[8200];

        snprintf(expected, sizeof expected, "%s", hex_text(want));
        assert_ok(sl_binrow_encode(types, values, n, &b, &err), err);
        assert_string_equal(hex_text(sl_buf_view(&b)), expected);
        assert_ok(sl_binrow_decode(want, types, n, back, &err), err);
        for (size_t i = 0; i < n; i++)
            assert_true(sl_value_eq(&values[i], &back[i]));
        assert_code(sl_binrow_decode(want, types, n + 1 < 16 ? n + 1 : n, back, &err), SL_ECORRUPT);
        /* Every shorter form is refused or gives values within it. */
        for (size_t cut = 0; cut < want.n; cut++)
            if (sl_binrow_decode(sl_str_sub(want, 0, cut), types, n, back, &err) == SL_OK)
                assert_true(cut >= 12);
        sl_buf_release(&b);
    }
}

static void nulls_without_room(void **state)
{
    const struct sl_type *types[] = {type("DECIMAL(20,2)"), type("TIMESTAMP(6)")};
    struct sl_value v[2];

    (void)state;
    assert_ok(sl_binrow_decode(hex_bytes("00000002 0003000000000000 0000000000000000 0000000000000000"), types, 2, v, &err), err);
    assert_true(v[0].null && v[1].null);
    assert_code(sl_binrow_decode(hex_bytes("00000002 0000000000000000 0200000018000000 0000000000000000"), types, 2, v, &err), SL_ECORRUPT);
    assert_code(sl_binrow_decode(hex_bytes("ffffffff 0000000000000000"), types, 2, v, &err), SL_ECORRUPT);
    assert_code(sl_binrow_decode(hex_bytes("00"), types, 2, v, &err), SL_ECORRUPT);
}

static void many_columns(void **state)
{
    static const size_t counts[] = {55, 56, 57, 120, 121, 300};
    const struct sl_type *types[300], *t = type("INT");
    struct sl_value v[300], back[300];

    (void)state;
    for (size_t c = 0; c < 6; c++) {
        struct sl_buf b = SL_BUF_INIT;
        size_t n = counts[c];

        for (size_t i = 0; i < n; i++) {
            types[i] = t;
            v[i] = (struct sl_value){.kind = SL_INT, .null = i % 3 == 0, .u.i = i % 3 ? (int64_t)i : 0};
        }
        assert_ok(sl_binrow_encode(types, v, n, &b, &err), err);
        assert_int_equal(b.n, 4 + (n + 71) / 64 * 8 + 8 * n);
        assert_ok(sl_binrow_decode(sl_buf_view(&b), types, n, back, &err), err);
        for (size_t i = 0; i < n; i++)
            assert_true(sl_value_eq(&v[i], &back[i]));
        sl_buf_release(&b);
    }
}

static void statistics(void **state)
{
    const struct sl_type *types[] = {type("INT"), type("DOUBLE"), type("ARRAY<INT>")};
    const int64_t counts[] = {3, -1, 0};
    struct sl_stats st = {.min = hex_bytes("00000003 0004000000000000 0100000000000000 000000000000f87f 0000000000000000"),
                          .max = hex_bytes("00000003 0004000000000000 0900000000000000 000000000000f87f 0000000000000000"),
                          .null_counts = counts, .nnull_counts = 3};
    struct sl_col_stats c;

    (void)state;
    assert_true(sl_stats_column(&st, types, 3, 0, &c));
    assert_true(c.has_bounds && c.min.u.i == 1 && c.max.u.i == 9 && c.has_nulls && c.null_count == 3);
    assert_false(sl_stats_column(&st, types, 3, 1, &c)); /* NaN says nothing */
    assert_true(sl_stats_column(&st, types, 3, 2, &c));
    assert_true(!c.has_bounds && c.has_nulls);
    assert_false(sl_stats_column(&st, types, 3, 3, &c));
    st.nnull_counts = 0;
    assert_false(sl_stats_column(&st, types, 2, 0, &c)); /* another arity */
    st.min = st.max = (sl_str){"", 0};
    assert_false(sl_stats_column(&st, types, 3, 0, &c));
}

static void truncation(void **state)
{
    static const struct {
        bool text;
        size_t n;
        const char *min, *max, *low, *high; /* high NULL: none */
    } cases[] = {
        {true, 3, "abc", "abc", "abc", "abc"},         {true, 3, "abcd", "abcd", "abc", "abd"},
        {true, 2, "a\xc3\xa9z", "a\xc3\xa9z", "a\xc3\xa9", "a\xc3\xaa"}, {true, 1, "\x7f""a", "\x7f""a", "\x7f", "\xc2\x80"},
        {true, 1, "\xed\x9f\xbf""a", "\xed\x9f\xbf""a", "\xed\x9f\xbf", "\xee\x80\x80"}, {true, 2, "a", "a\xf4\x8f\xbf\xbfx", "a", "b"},
        {true, 1, "a", "\xf4\x8f\xbf\xbfx", "a", NULL}, {false, 2, "abc", "a\xff\x01", "ab", "b"}, {false, 2, "a", "\xff\xff\xff", "a", NULL},
        {true, 2, "a", "\xff\xff\xff", "a", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum sl_kind kind = cases[i].text ? SL_VARCHAR : SL_VARBINARY;
        struct sl_value min = {.kind = kind, .u.s = sl_str_c(cases[i].min)}, max = {.kind = kind, .u.s = sl_str_c(cases[i].max)};
        bool ok = sl_stats_truncate(&arena, cases[i].text, cases[i].n, &min, &max);

        assert_int_equal(ok, cases[i].high != NULL);
        if (!ok)
            continue;
        assert_true(sl_str_eqc(min.u.s, cases[i].low));
        assert_true(sl_str_eqc(max.u.s, cases[i].high));
    }
}

static void folders(void **state)
{
    static const struct {
        const char *row, *legacy, *plain; /* NULL: refused */
    } cases[] = {
        {"STRING=us", "k0=us", "k0=us"}, {"STRING", "k0=__DEFAULT_PARTITION__", "k0=__DEFAULT_PARTITION__"}, {"STRING=", "k0=__DEFAULT_PARTITION__", "k0=__DEFAULT_PARTITION__"},
        {"STRING=\xe2\x80\x83 ", "k0=__DEFAULT_PARTITION__", "k0=__DEFAULT_PARTITION__"}, {"INT=-7;BOOLEAN=true", "k0=-7/k1=true", "k0=-7/k1=true"},
        {"STRING=a/b=c%d:e \xc3\xa9{}", "k0=a%2Fb%3Dc%25d%3Ae \xc3\xa9%7B%7D", "k0=a%2Fb%3Dc%25d%3Ae \xc3\xa9%7B%7D"}, {"STRING=\x01\x7f", "k0=%01%7F", "k0=%01%7F"},
        {"DATE=2024-01-02", "k0=19724", "k0=2024-01-02"}, {"TIMESTAMP(6)=2024-01-02 03:04:00", "k0=2024-01-02T03%3A04", "k0=2024-01-02 03%3A04%3A00.000000"},
        {"TIMESTAMP(3)=2024-01-02 03:04:05.120", "k0=2024-01-02T03%3A04%3A05.120", "k0=2024-01-02 03%3A04%3A05.120"},
        {"TIMESTAMP(0)=2024-01-02 03:04:05", "k0=2024-01-02T03%3A04%3A05", "k0=2024-01-02 03%3A04%3A05"},
        {"TIMESTAMP(6)=1969-12-31 23:59:59.999999", "k0=1969-12-31T23%3A59%3A59.999999", "k0=1969-12-31 23%3A59%3A59.999999"},
        {"TIMESTAMP_LTZ(6)=2024-01-02 03:04:00", "k0=2024-01-02T03%3A04", NULL}, {"DECIMAL(5,2)=1.5", "k0=1.50", "k0=1.50"}, {"BYTES=00", NULL, NULL},
        {"DOUBLE=1", "k0=1.0", "k0=1.0"}, {"DOUBLE=0.001", "k0=0.001", "k0=0.001"}, {"DOUBLE=0.00012", "k0=1.2E-4", "k0=1.2E-4"}, {"DOUBLE=12345678", "k0=1.2345678E7", "k0=1.2345678E7"},
        {"DOUBLE=1234567", "k0=1234567.0", "k0=1234567.0"}, {"FLOAT=0.1", "k0=0.1", "k0=0.1"}, {"DOUBLE=-0.025", "k0=-0.025", "k0=-0.025"}, {"TIME=00:00:01", "k0=1000", "k0=00%3A00%3A01"}};
    static const char *const names[] = {"k0", "k1"};
    static const struct sl_option off[] = {{"partition.legacy-name", "false"}};
    static const size_t index[] = {0, 1};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sl_type *types[4];
        struct sl_value values[4];
        struct sl_field fields[2];
        size_t n = parse_row(cases[i].row, types, values);

        for (size_t k = 0; k < n; k++)
            fields[k] = (struct sl_field){.id = (int32_t)k, .name = names[k], .type = types[k]};
        for (int plain = 0; plain < 2; plain++) {
            struct sl_schema s = {.fields = fields, .nfields = n, .partition_keys = names, .npartition = n, .partition_index = index,
                                  .options = off, .noptions = plain ? 1 : 0};
            const char *want = plain ? cases[i].plain : cases[i].legacy;
            struct sl_buf b = SL_BUF_INIT;
            int rc = sl_partition_path(&s, values, &b, &err);

            if (want) {
                assert_ok(rc, err);
                assert_string_equal(b.p, want);
            } else {
                assert_code(rc, SL_EUNSUPPORTED);
            }
            sl_buf_release(&b);
        }
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, release)
    const struct CMUnitTest tests[] = {T(vectors), T(nulls_without_room), T(many_columns), T(statistics), T(truncation), T(folders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
