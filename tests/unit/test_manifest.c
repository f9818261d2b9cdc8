/* Avro containers, manifests, manifest lists, index manifests, deletion vectors, snapshots, schemas. */
#include "unit.h"

#include <string.h>

#include "base/sys.h"
#include "format/avro.h"
#include "format/paimon.h"
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

/* ---- containers ---- */

static void codecs(void **state)
{
    static const enum sl_avro_codec all[] = {SL_AVRO_CODEC_NULL, SL_AVRO_CODEC_ZSTD, SL_AVRO_CODEC_DEFLATE, SL_AVRO_CODEC_SNAPPY};

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct sl_buf b = SL_BUF_INIT, records = SL_BUF_INIT;
        struct sl_avro_reader *r;
        struct sl_cur c;
        int64_t n;

        sl_avro_write_header(&b, "\"long\"", all[k], "0123456789abcdef");
        for (int64_t i = 0; i < 1000; i++)
            sl_avro_put_long(&records, i * i * (i % 2 ? 1 : -1));
        assert_ok(sl_avro_write_block(&b, 1000, sl_buf_view(&records), all[k], "0123456789abcdef", &err), err);
        assert_ok(sl_avro_write_block(&b, 1000, sl_buf_view(&records), all[k], "0123456789abcdef", &err), err);
        assert_ok(sl_avro_open(sl_buf_view(&b), &r, &err), err);
        assert_int_equal(sl_avro_reader_schema(r)->kind, SL_AVRO_LONG);
        for (int block = 0; block < 2; block++) {
            assert_ok(sl_avro_next_block(r, &n, &c, &err), err);
            assert_int_equal(n, 1000);
            for (int64_t i = 0; i < 1000; i++)
                assert_int_equal(sl_cur_zigzag(&c), i * i * (i % 2 ? 1 : -1));
            assert_true(!c.bad && sl_cur_left(&c) == 0);
        }
        assert_ok(sl_avro_next_block(r, &n, &c, &err), err);
        assert_int_equal(n, 0);
        sl_avro_close(r);
        /* Any byte of a block changed is found, or gives the same number of bytes at the most. */
        for (size_t at = b.n / 2; at < b.n; at += 7) {
            b.p[at] ^= 0x41;
            if (sl_avro_open(sl_buf_view(&b), &r, &err) == SL_OK) {
                while (sl_avro_next_block(r, &n, &c, &err) == SL_OK && n)
                    ;
                sl_avro_close(r);
            }
            b.p[at] ^= 0x41;
        }
        sl_buf_release(&b);
        sl_buf_release(&records);
    }
}

static void schemas_of_writers(void **state)
{
    static const char *const good[] = {
        "\"int\"", "[\"null\",\"string\"]", "{\"type\":\"fixed\",\"name\":\"f\",\"size\":3}", "{\"type\":{\"type\":\"array\",\"items\":\"int\"}}",
        "{\"type\":\"record\",\"name\":\"a.b\",\"fields\":[{\"name\":\"x\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}},{\"name\":\"y\",\"type\":\"E\"}]}",
        "{\"type\":\"map\",\"values\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}"};
    static const char *const bad[] = {
        "", "7", "\"tree\"", "[]", "[[\"null\"]]", "{\"type\":\"record\",\"name\":\"r\"}", "{\"type\":\"array\"}", "{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}",
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"x\",\"type\":\"r\"}]}", "{\"type\":\"record\",\"fields\":[]}"};
    const struct sl_avro_schema *s;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_ok(sl_avro_schema_parse(&arena, sl_str_c(good[i]), &s, &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(sl_avro_schema_parse(&arena, sl_str_c(bad[i]), &s, &err), SL_OK);
    /* Types that are used twice in each other grow without end. */
    sl_buf_addc(&b, "{\"type\":\"record\",\"name\":\"t\",\"fields\":[{\"name\":\"f0\",\"type\":{\"type\":\"record\",\"name\":\"r0\",\"fields\":[]}}");
    for (int i = 1; i < 60; i++)
        sl_buf_printf(&b, ",{\"name\":\"f%d\",\"type\":{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{\"name\":\"a\",\"type\":\"r%d\"},{\"name\":\"b\",\"type\":\"r%d\"}]}}",
                      i, i, i - 1, i - 1);
    sl_buf_addc(&b, "]}");
    assert_code(sl_avro_schema_parse(&arena, sl_buf_view(&b), &s, &err), SL_ECORRUPT);
    sl_buf_release(&b);
}

/* ---- manifests ---- */

static struct sl_manifest_entry example(void)
{
    static const int64_t counts[] = {0, 0};
    struct sl_manifest_entry e = {.kind = SL_FILE_ADD, .total_buckets = -1};
    struct sl_data_file *f = &e.file;

    e.partition = sl_arena_str(&arena, hex_bytes("00000001 0000000000000000 0100000000000000"));
    f->file_name = SL_LIT("data-eefbe5f2-8f06-4aa8-8f6f-0aa1d67b87a0-0.parquet");
    f->file_size = 619;
    f->row_count = 1;
    f->min_key = f->max_key = f->key_stats.min = f->key_stats.max = SL_BINROW_EMPTY;
    f->value_stats.min = f->value_stats.max = sl_arena_str(&arena, hex_bytes("00000002 0000000000000000 0100000000000000 6e00000000000000"));
    f->value_stats.null_counts = counts;
    f->value_stats.nnull_counts = 2;
    f->creation_time = 1755880762233;
    f->first_row_id = -1;
    return e;
}

struct collected {
    SL_VEC(struct sl_manifest_entry) v;
};

static int collect(void *user, const struct sl_manifest_entry *e, sl_err *er)
{
    struct sl_manifest_entry *to = sl_vec_push(&((struct collected *)user)->v);

    return to && sl_entry_copy(&arena, e, to) ? SL_OK : sl_err_nomem(er);
}

static int count(void *user, const struct sl_manifest_entry *e, sl_err *er)
{
    (void)er;
    *(int64_t *)user += e->file.row_count;
    return SL_OK;
}

static int write_manifest(const struct sl_manifest_entry *v, size_t n, struct sl_buf *out)
{
    struct sl_manifest_writer *w;
    int rc;

    SL_TRY(sl_manifest_writer_new(&w, &err));
    for (size_t i = 0; i < n; i++)
        SL_GO(sl_manifest_writer_add(w, &v[i], &err));
    rc = sl_manifest_writer_finish(w, out, &err);
done:
    sl_manifest_writer_free(w);
    return rc;
}

/* A record as a writer of another schema made it, in a container without compression. */
static void wrap(struct sl_buf *out, const char *schema, sl_str record)
{
    sl_avro_write_header(out, schema, SL_AVRO_CODEC_NULL, "0123456789abcdef");
    assert_ok(sl_avro_write_block(out, 1, record, SL_AVRO_CODEC_NULL, "0123456789abcdef", &err), err);
}

static sl_str first_record(const struct sl_buf *container, struct sl_arena *a)
{
    struct sl_avro_reader *r;
    struct sl_cur c;
    int64_t n;

    assert_ok(sl_avro_open(sl_buf_view(container), &r, &err), err);
    assert_ok(sl_avro_next_block(r, &n, &c, &err), err);
    assert_int_equal(n, 1);
    sl_str record = sl_arena_str(a, sl_cur_bytes(&c, sl_cur_left(&c)));
    sl_avro_close(r);
    return record;
}

static void entry_bytes(void **state)
{
    struct sl_manifest_entry e = example();
    struct sl_buf b = SL_BUF_INIT;
    char want[8200];

    (void)state;
    assert_ok(write_manifest(&e, 1, &b), err);
    snprintf(want, sizeof want, "%s",
             hex_text(hex_bytes("04 00 28 00000001 0000000000000000 0100000000000000 00 01 66 646174612d65656662653566322d386630362d346161382d386636662d30"
                                "6161316436376238376130 2d302e70617271756574 d609 02 18 000000000000000000000000 18 000000000000000000000000"
                                "18 000000000000000000000000 18 000000000000000000000000 02 00 38 00000002 0000000000000000 0100000000000000 6e00000000000000"
                                "38 00000002 0000000000000000 0100000000000000 6e00000000000000 02 04 02 00 02 00 00 00 00 00 00 00 02 f2adb1aa9a66 02 00 00"
                                "02 00 00 00 00 00"))); /* the last 00: _WRITE_COLS */
    assert_string_equal(hex_text(first_record(&b, &arena)), want);
    sl_buf_release(&b);
}

static void round_trip(void **state)
{
    static const sl_str extras[] = {SL_LIT("a.index"), SL_LIT("b")}, cols[] = {SL_LIT("x")};
    static const int64_t counts[] = {-1, 5};
    struct sl_manifest_entry v[3] = {example(), example(), example()};
    struct collected back = {{0}};
    struct sl_buf b = SL_BUF_INIT, id[2] = {SL_BUF_INIT, SL_BUF_INIT};

    (void)state;
    v[1].kind = SL_FILE_DELETE;
    v[1].file.extra_files = extras;
    v[1].file.nextra_files = 2;
    v[1].file.embedded_file_index = (sl_str){"", 0};
    v[1].file.external_path = SL_LIT("file:/x/y");
    v[1].file.has_value_stats_cols = true;
    v[1].file.has_write_cols = true;
    v[1].file.write_cols = cols;
    v[1].file.nwrite_cols = 1;
    v[1].file.first_row_id = 77;
    v[1].file.value_stats.null_counts = counts;
    v[1].file.min_sequence_number = INT64_MIN;
    v[1].file.max_sequence_number = INT64_MAX;
    v[2].file.creation_time = INT64_MIN;
    v[2].file.delete_row_count = -1;
    v[2].file.file_source = -1;
    v[2].file.value_stats = (struct sl_stats){0};
    assert_ok(write_manifest(v, 3, &b), err);
    assert_ok(sl_manifest_decode(sl_buf_view(&b), true, collect, &back, &err), err);
    assert_int_equal(back.v.n, 3);
    for (size_t i = 0; i < 3; i++) {
        sl_entry_identity(&id[0], &v[i]);
        sl_entry_identity(&id[1], &back.v.v[i]);
        assert_true(sl_str_eq(sl_buf_view(&id[0]), sl_buf_view(&id[1])));
        sl_buf_reset(&id[0]);
        sl_buf_reset(&id[1]);
    }
    const struct sl_data_file *f = &back.v.v[1].file;
    assert_true(f->embedded_file_index.p && f->embedded_file_index.n == 0);
    assert_true(f->has_value_stats_cols && f->nvalue_stats_cols == 0 && f->has_write_cols && f->nwrite_cols == 1);
    assert_true(f->first_row_id == 77 && f->value_stats.null_counts[0] == -1 && f->value_stats.null_counts[1] == 5);
    assert_true(f->min_sequence_number == INT64_MIN && f->max_sequence_number == INT64_MAX);
    f = &back.v.v[2].file;
    assert_true(f->creation_time == INT64_MIN && f->delete_row_count == -1 && f->file_source == -1 && !f->has_write_cols);
    assert_true(sl_str_eq(f->value_stats.min, SL_BINROW_EMPTY));
    sl_free(back.v.v);
    for (size_t i = 0; i < 3; i++) {
        sl_buf_release(i < 2 ? &id[i] : &b);
    }
}

static void other_writers(void **state)
{
    /* The oldest form: records behind unions, fields in another order, fields of no meaning here. */
    static const char schema[] =
        "[\"null\",{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"_KIND\",\"type\":\"int\"},{\"name\":\"_VERSION\",\"type\":\"int\"},"
        "{\"name\":\"_NEW\",\"type\":{\"type\":\"map\",\"values\":\"double\"}},{\"name\":\"_PARTITION\",\"type\":\"bytes\"},{\"name\":\"_BUCKET\",\"type\":\"int\"},"
        "{\"name\":\"_TOTAL_BUCKETS\",\"type\":\"int\"},{\"name\":\"_FILE\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"f\",\"fields\":["
        "{\"name\":\"_FILE_NAME\",\"type\":\"string\"},{\"name\":\"_FILE_SIZE\",\"type\":\"int\"},{\"name\":\"_ROW_COUNT\",\"type\":\"long\"},"
        "{\"name\":\"_SCHEMA_ID\",\"type\":\"long\"},{\"name\":\"_LEVEL\",\"type\":\"int\"}]}]}]}]";
    struct sl_buf b = SL_BUF_INIT, twice = SL_BUF_INIT;
    struct collected back = {{0}};

    (void)state;
    wrap(&b, schema, hex_bytes("02 00 04 02 02 61 0000000000000000 00 18 000000000000000000000000 00 01 02 02 78 0a 0c 00 00"));
    assert_ok(sl_manifest_decode(sl_buf_view(&b), true, collect, &back, &err), err);
    assert_int_equal(back.v.n, 1);
    assert_true(sl_str_eqc(back.v.v[0].file.file_name, "x") && back.v.v[0].file.file_size == 5 && back.v.v[0].file.row_count == 6);
    assert_int_equal(back.v.v[0].total_buckets, -1);
    assert_int_equal(back.v.v[0].file.first_row_id, -1);
    sl_free(back.v.v);
    /* Another version, a path as a name, a null record, a negative size. */
    static const char *const bad[] = {"02 00 02 00 18 000000000000000000000000 00 01 02 02 78 0a 0c 00 00", "02 00 04 00 18 000000000000000000000000 00 01 02 06 2f7878 0a 0c 00 00",
                                      "00", "02 00 04 00 18 000000000000000000000000 00 01 02 02 78 0b 0c 00 00", "02 04 04 00 18 000000000000000000000000 00 01 02 02 78 0a 0c 00 00",
                                      "02 00 04 00 18 000000000000000000000000 00 01 02 02 78 0a 0c 00 00 00"};
    int64_t n = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sl_buf_reset(&twice);
        wrap(&twice, schema, hex_bytes(bad[i]));
        assert_int_not_equal(sl_manifest_decode(sl_buf_view(&twice), true, count, &n, &err), SL_OK);
    }
    assert_code(sl_manifest_decode(SL_LIT("ORC\0\0"), true, count, &n, &err), SL_EUNSUPPORTED);
    assert_code(sl_manifest_decode(SL_LIT(""), true, count, &n, &err), SL_ECORRUPT);
    sl_buf_release(&b);
    sl_buf_release(&twice);
}

static void damage(void **state)
{
    struct sl_manifest_entry v[20];
    struct sl_buf b = SL_BUF_INIT;
    int64_t n = 0;

    (void)state;
    for (size_t i = 0; i < 20; i++)
        v[i] = example();
    assert_ok(write_manifest(v, 20, &b), err);
    for (size_t cut = 0; cut < b.n; cut++) {
        char *exact = sl_malloc(cut ? cut : 1); /* so that a byte too far is seen */
        size_t whole = b.n;

        memcpy(exact, b.p, cut);
        int rc = sl_manifest_decode((sl_str){exact, cut}, true, count, &n, &err);
        if (rc == SL_OK) /* only the header, with no block */
            assert_true(cut < whole - 16);
        sl_free(exact);
    }
    for (size_t at = 0; at < b.n; at++) {
        for (int bit = 0; bit < 8; bit += 3) {
            b.p[at] ^= (char)(1 << bit);
            (void)!sl_manifest_decode(sl_buf_view(&b), true, count, &n, &err);
            b.p[at] ^= (char)(1 << bit);
        }
    }
    sl_buf_release(&b);
}

static void out_of_memory(void **state)
{
    struct sl_manifest_entry e = example();
    struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;
    int n, rc = SL_ENOMEM;

    (void)state;
    assert_ok(write_manifest(&e, 1, &b), err);
    for (n = 1; n < 5000 && rc != SL_OK; n++) {
        struct collected back = {{0}};

        sl_mem_fail_nth(n);
        rc = sl_manifest_decode(sl_buf_view(&b), true, collect, &back, &err);
        if (rc != SL_OK)
            assert_code(rc, SL_ENOMEM);
        sl_free(back.v.v);
    }
    assert_true(n > 3 && n < 5000);
    rc = SL_ENOMEM;
    for (n = 1; n < 100 && rc != SL_OK; n++) {
        sl_mem_fail_nth(n);
        sl_buf_release(&again);
        rc = write_manifest(&e, 1, &again);
        if (rc != SL_OK)
            assert_code(rc, SL_ENOMEM);
    }
    assert_true(n > 2 && n < 100);
    sl_buf_release(&b);
    sl_buf_release(&again);
}

static void hundred_thousand(void **state)
{
    struct sl_manifest_entry e = example();
    struct sl_manifest_writer *w;
    struct sl_buf b = SL_BUF_INIT;
    int64_t rows = 0, start = sl_mono_nanos();
    char name[64];

    (void)state;
    assert_ok(sl_manifest_writer_new(&w, &err), err);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "data-%08x-8f06-4aa8-8f6f-0aa1d67b87a0-%d.parquet", (unsigned)i * 2654435761u, i);
        e.file.file_name = sl_str_c(name);
        assert_ok(sl_manifest_writer_add(w, &e, &err), err);
    }
    assert_ok(sl_manifest_writer_finish(w, &b, &err), err);
    sl_manifest_writer_free(w);
    int64_t written = sl_mono_nanos();
    assert_ok(sl_manifest_decode(sl_buf_view(&b), false, count, &rows, &err), err);
    int64_t read = sl_mono_nanos();
    print_message("# 100000 entries, %zu bytes: written in %lld ms, read in %lld ms\n", b.n, (long long)(written - start) / 1000000,
                  (long long)(read - written) / 1000000);
    assert_int_equal(rows, 100000);
    sl_buf_release(&b);
}

/* ---- lists ---- */

static void list_bytes(void **state)
{
    static const int64_t counts[] = {0};
    struct sl_manifest_meta m = {.file_name = SL_LIT("manifest-3d92c487-74d7-4a69-8a7b-1f3ae9f6f6a0-0"), .file_size = 2004, .num_added_files = 1};
    struct sl_buf b = SL_BUF_INIT, empty = SL_BUF_INIT;
    struct sl_manifest_list l = {0};

    (void)state;
    m.partition_stats = (struct sl_stats){sl_arena_str(&arena, hex_bytes("00000001 0000000000000000 0100000000000000")), {NULL, 0}, counts, 1};
    m.partition_stats.max = m.partition_stats.min;
    m.min_row_id = m.max_row_id = -1;
    assert_ok(sl_manifest_list_encode(&m, 1, &b, &err), err);
    const char *got = hex_text(first_record(&b, &arena));
    assert_true(strncmp(got, "045e6d616e6966657374", 20) == 0);
    assert_string_equal(got + 2 * 49, "a81f020028000000010000000000000000010000000000000028000000010000000000000000010000000000000002020200000002000200020002000000");
    assert_ok(sl_manifest_list_encode(NULL, 0, &empty, &err), err);
    assert_ok(sl_manifest_list_decode(sl_buf_view(&empty), &l, &err), err);
    assert_int_equal(l.n, 0);
    assert_ok(sl_manifest_list_decode(sl_buf_view(&b), &l, &err), err);
    assert_ok(sl_manifest_list_decode(sl_buf_view(&b), &l, &err), err);
    assert_int_equal(l.n, 2);
    assert_true(sl_str_eq(l.v[1].file_name, m.file_name) && l.v[1].file_size == 2004 && l.v[1].min_bucket == 0 && l.v[1].max_row_id == -1);
    assert_true(l.v[1].partition_stats.nnull_counts == 1 && l.v[1].partition_stats.null_counts[0] == 0);
    for (size_t cut = 0; cut + 1 < b.n; cut++)
        (void)!sl_manifest_list_decode(sl_str_sub(sl_buf_view(&b), 0, cut), &l, &err);
    assert_int_equal(l.n, 2);
    sl_manifest_list_release(&l);
    sl_buf_release(&b);
    sl_buf_release(&empty);
}

static void tally(void **state)
{
    const struct sl_type *types[2];
    struct sl_value v[2] = {{.kind = SL_VARCHAR}, {.kind = SL_INT}};
    struct sl_manifest_tally *t;
    struct sl_manifest_meta m = {0};
    struct sl_buf b = SL_BUF_INIT;
    static const char *const names[] = {"b", "a", NULL, "c"};

    (void)state;
    assert_ok(sl_type_from_sql(&arena, SL_LIT("STRING"), &types[0], &err), err);
    assert_ok(sl_type_from_sql(&arena, SL_LIT("INT"), &types[1], &err), err);
    assert_ok(sl_manifest_tally_new(types, 2, &t, &err), err);
    for (int i = 0; i < 4; i++) {
        struct sl_manifest_entry e = example();

        v[0] = (struct sl_value){.kind = SL_VARCHAR, .null = !names[i], .u.s = sl_str_c(names[i])};
        v[1].null = true;
        sl_buf_reset(&b);
        assert_ok(sl_binrow_encode(types, v, 2, &b, &err), err);
        e.partition = sl_buf_view(&b);
        e.kind = i == 3 ? SL_FILE_DELETE : SL_FILE_ADD;
        e.file.schema_id = i;
        e.file.first_row_id = 10 * i;
        assert_ok(sl_manifest_tally_add(t, &e, &err), err);
        assert_ok(sl_manifest_tally_add(t, &e, &err), err);
    }
    struct sl_manifest_entry odd = example(); /* one column instead of two */
    assert_code(sl_manifest_tally_add(t, &odd, &err), SL_ECORRUPT);
    assert_ok(sl_manifest_tally_finish(t, &arena, &m, &err), err);
    sl_manifest_tally_free(t);
    assert_true(m.num_added_files == 6 && m.num_deleted_files == 2 && m.schema_id == 3 && m.min_row_id == 0 && m.max_row_id == 30);
    assert_true(m.partition_stats.null_counts[0] == 2 && m.partition_stats.null_counts[1] == 8);
    assert_ok(sl_binrow_decode(m.partition_stats.min, types, 2, v, &err), err);
    assert_true(sl_str_eqc(v[0].u.s, "a") && v[1].null);
    assert_ok(sl_binrow_decode(m.partition_stats.max, types, 2, v, &err), err);
    assert_true(sl_str_eqc(v[0].u.s, "c") && v[1].null);
    sl_buf_release(&b);
}

/* ---- index files ---- */

static void index_manifests(void **state)
{
    static const struct sl_dv_range dvs[] = {{SL_LIT("data-1.parquet"), 1, 22, 1}, {SL_LIT("data-2.parquet"), 31, 40, -1}};
    struct sl_index_entry v[2] = {{.partition = SL_BINROW_EMPTY, .index_type = SL_LIT("DELETION_VECTORS"), .file_name = SL_LIT("index-1"), .file_size = 31,
                                   .row_count = 2, .dvs = dvs, .ndvs = 2},
                                  {.partition = SL_BINROW_EMPTY, .index_type = SL_LIT("HASH"), .file_name = SL_LIT("index-2"), .external_path = SL_LIT("s3://x")}};
    struct sl_index_manifest m;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_index_manifest_encode(v, 2, &b, &err), err);
    assert_ok(sl_index_manifest_decode(sl_buf_view(&b), &m, &err), err);
    assert_int_equal(m.n, 2);
    assert_true(m.v[0].ndvs == 2 && m.v[0].dvs[0].cardinality == 1 && m.v[0].dvs[1].cardinality == -1 && m.v[0].dvs[1].length == 40);
    assert_true(sl_str_eqc(m.v[0].dvs[1].data_file, "data-2.parquet") && !m.v[0].external_path.p);
    assert_true(m.v[1].ndvs == 0 && sl_str_eqc(m.v[1].external_path, "s3://x") && sl_str_eqc(m.v[1].index_type, "HASH"));
    sl_index_manifest_release(&m);
    for (size_t cut = 0; cut < b.n; cut++)
        if (sl_index_manifest_decode(sl_str_sub(sl_buf_view(&b), 0, cut), &m, &err) == SL_OK)
            sl_index_manifest_release(&m);
    v[1].has_global_index = true;
    sl_buf_reset(&b);
    assert_code(sl_index_manifest_encode(v, 2, &b, &err), SL_EUNSUPPORTED);
    sl_buf_release(&b);
}

static const char dv_file[] = "01 00000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0000 e33060d3";

static void deletion_vectors(void **state)
{
    struct sl_dv_range range = {SL_LIT("d.parquet"), 1, 22, 1}, made[2];
    struct sl_dv *dv;
    struct sl_buf b = SL_BUF_INIT;
    sl_str file = hex_bytes(dv_file);

    (void)state;
    assert_ok(sl_dv_decode(file, &range, &dv, &err), err);
    assert_true(sl_dv_contains(dv, 0) && !sl_dv_contains(dv, 1) && !sl_dv_contains(dv, UINT64_C(1) << 32) && sl_dv_cardinality(dv) == 1);
    const struct sl_dv *two[] = {dv, dv};
    assert_ok(sl_dv_encode_file(two, 2, &b, made, &err), err);
    assert_int_equal(b.n, 61);
    assert_true(sl_str_eq(sl_str_sub(sl_buf_view(&b), 0, 31), file));
    assert_true(made[1].offset == 31 && made[1].length == 22 && made[1].cardinality == 1);
    sl_dv_free(dv);
    assert_ok(sl_dv_decode(sl_buf_view(&b), &made[1], &dv, &err), err);
    sl_dv_free(dv);
    range.cardinality = 2;
    assert_code(sl_dv_decode(file, &range, &dv, &err), SL_ECORRUPT);
    range = (struct sl_dv_range){SL_LIT("d"), 1, 23, -1};
    assert_code(sl_dv_decode(file, &range, &dv, &err), SL_ECORRUPT);
    range = (struct sl_dv_range){SL_LIT("d"), 2, 22, -1};
    assert_code(sl_dv_decode(file, &range, &dv, &err), SL_ECORRUPT);
    for (size_t cut = 0; cut < file.n; cut++) {
        range = (struct sl_dv_range){SL_LIT("d"), 1, 22, -1};
        assert_int_not_equal(sl_dv_decode(sl_str_sub(file, 0, cut), &range, &dv, &err), SL_OK);
    }
    sl_buf_release(&b);
}

/* An index file around BODY, which starts with the magic. */
static int decode_body(const char *body, bool wide, struct sl_dv **dv)
{
    struct sl_buf b = SL_BUF_INIT;
    sl_str bytes = hex_bytes(body);
    struct sl_dv_range range = {SL_LIT("d"), 1, (int64_t)bytes.n + (wide ? 8 : 0), -1};

    sl_buf_u8(&b, 1);
    sl_buf_u32be(&b, (uint32_t)bytes.n);
    sl_buf_add(&b, bytes);
    sl_buf_u32be(&b, sl_crc32(0, bytes));
    int rc = sl_dv_decode(sl_buf_view(&b), &range, dv, &err);
    sl_buf_release(&b);
    return rc;
}

static void wide_and_odd_vectors(void **state)
{
    static const char *const bad[] = {
        "5e43f2d0 3a300000 02000000 0000 0000 0000 0000 18000000 1a000000 0000 0000", /* one key twice */
        "5e43f2d0 3a300000 01000000 0000 0100 10000000 0500 0500",                    /* one value twice */
        "5e43f2d0 3a300000 01000000 0000 0100 10000000 0500",                         /* cut off */
        "5e43f2d0 3a300000 00000100",                                                 /* 65536 containers, none there */
        "5e43f2d0 3a300000 ffffffff", "5e43f2d0 3b300000 01 0000 0000 0100 ffff 0100", /* a run over the end */
        "5e43f2d0 3b300000 01 0000 0000 0200 0000 0500 0300 0100",                    /* runs that overlap */
        "5e43f2d0 11110000 01000000", "5e43f2d0"};
    struct sl_dv *dv;

    (void)state;
    assert_ok(decode_body("d1d33964 0200000000000000 00000000 3a300000 01000000 0000 0000 10000000 0700 01000000 3a300000 01000000 0000 0000 10000000 0900", true, &dv),
              err);
    assert_true(sl_dv_contains(dv, 7) && sl_dv_contains(dv, (UINT64_C(1) << 32) + 9) && !sl_dv_contains(dv, 9) && sl_dv_cardinality(dv) == 2);
    struct sl_buf b = SL_BUF_INIT;
    struct sl_dv_range range;
    const struct sl_dv *one[] = {dv};
    assert_code(sl_dv_encode_file(one, 1, &b, &range, &err), SL_EUNSUPPORTED);
    sl_buf_release(&b);
    sl_dv_free(dv);
    /* Runs: rows 3 to 8. */
    assert_ok(decode_body("5e43f2d0 3b300000 01 0000 0500 0100 0300 0500", false, &dv), err);
    assert_true(sl_dv_contains(dv, 3) && sl_dv_contains(dv, 8) && !sl_dv_contains(dv, 9) && sl_dv_cardinality(dv) == 6);
    sl_dv_free(dv);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(decode_body(bad[i], false, &dv), SL_ECORRUPT);
    assert_code(decode_body("d1d33964 ffffffffffffffff", true, &dv), SL_ECORRUPT);
    assert_code(decode_body("d1d33964 0200000000000000 01000000 3a300000 00000000 01000000 3a300000 00000000", true, &dv), SL_ECORRUPT);
}

/* ---- JSON ---- */

static const char first_snapshot[] =
    "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"manifest-list-73ce-0\",\"baseManifestListSize\":884,"
    "\"deltaManifestList\":\"manifest-list-73ce-1\",\"deltaManifestListSize\":993,\"changelogManifestList\":null,\"commitUser\":\"7852\","
    "\"commitIdentifier\":9223372036854775807,\"commitKind\":\"APPEND\",\"timeMillis\":1755851962479,\"logOffsets\":{},\"totalRecordCount\":1,"
    "\"deltaRecordCount\":1,\"changelogRecordCount\":0,\"nextRowId\":0,\"properties\":{\"a\":\"b\"},\"tagCreateTime\":[2024,5,6,7,8],"
    "\"tagTimeRetained\":3600.000000000}";

static void snapshots(void **state)
{
    struct sl_snapshot s, again;
    struct sl_buf b = SL_BUF_INIT;
    static const char *const bad[][2] = {{"\"version\":3", "\"version\":4"}, {"APPEND", "APPENDED"}, {"\"manifest-list-73ce-1\"", "\"../x\""},
                                         {"\"id\":1", "\"id\":1.5"}, {"\"commitUser\"", "\"commitUsers\""}, {"[2024", "[\"x\""}};

    (void)state;
    assert_ok(sl_snapshot_decode(sl_str_c(first_snapshot), &s, &err), err);
    assert_true(s.commit_identifier == INT64_MAX && s.base_manifest_list_size == 884 && !s.changelog_manifest_list && !s.index_manifest);
    assert_true(s.watermark == INT64_MIN && s.next_row_id == 0 && s.tag_retained_seconds == 3600 && s.tag_create_millis == 1714979280000);
    assert_string_equal(sl_snapshot_property(&s, "a"), "b");
    assert_null(sl_snapshot_property(&s, "c"));
    assert_ok(sl_snapshot_encode(&s, &b, &err), err);
    assert_null(strstr(b.p, "null"));
    assert_non_null(strstr(b.p, "9223372036854775807"));
    assert_ok(sl_snapshot_decode(sl_buf_view(&b), &again, &err), err);
    assert_true(again.commit_identifier == INT64_MAX && again.tag_create_millis == s.tag_create_millis && again.nproperties == 1);
    sl_snapshot_release(&again);
    sl_snapshot_release(&s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = strstr(first_snapshot, bad[i][0]);

        sl_buf_reset(&b);
        sl_buf_addb(&b, first_snapshot, (size_t)(at - first_snapshot));
        sl_buf_addc(&b, bad[i][1]);
        sl_buf_addc(&b, at + strlen(bad[i][0]));
        assert_int_not_equal(sl_snapshot_decode(sl_buf_view(&b), &s, &err), SL_OK);
    }
    sl_buf_release(&b);
}

static void schemas(void **state)
{
    static const char doc[] = "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"pt\",\"type\":\"INT\"},{\"id\":1,\"name\":\"value\",\"type\":\"INT\"}],"
                              "\"highestFieldId\":1,\"partitionKeys\":[\"pt\"],\"primaryKeys\":[],\"options\":{\"bucket\":\"-1\",\"file.format\":\"parquet\"},"
                              "\"timeMillis\":1755851960893}";
    static const char *const bad[] = {
        "{}", "[]", "{\"id\":0,\"fields\":[],\"highestFieldId\":-1,\"version\":4}", "{\"id\":0,\"fields\":{},\"highestFieldId\":-1}",
        "{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":1}",
        "{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":0,\"partitionKeys\":[\"b\"]}",
        "{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT ARRAY\"}],\"highestFieldId\":0,\"partitionKeys\":[\"a\"]}",
        "{\"id\":0,\"fields\":[],\"highestFieldId\":-1,\"options\":{\"a\":1}}"};
    struct sl_schema s;
    struct sl_buf b = SL_BUF_INIT, compact = SL_BUF_INIT;
    json_t *j = NULL;

    (void)state;
    assert_ok(sl_paimon_schema_decode(sl_str_c(doc), &s, &err), err);
    assert_true(s.nfields == 2 && s.npartition == 1 && s.partition_index[0] == 0 && s.version == 3 && !s.comment);
    assert_string_equal(sl_schema_option(&s, "bucket"), "-1");
    assert_int_equal(sl_schema_index(&s, SL_LIT("value")), 1);
    assert_null(sl_schema_field_by_id(&s, 7));
    assert_ok(sl_paimon_schema_encode(&s, &b, &err), err);
    assert_ok(sl_json_parse(sl_buf_view(&b), &j, &err), err);
    sl_json_dump(&compact, j, false);
    assert_string_equal(compact.p, doc);
    json_decref(j);
    sl_schema_release(&s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(sl_paimon_schema_decode(sl_str_c(bad[i]), &s, &err), SL_OK);
    sl_buf_release(&b);
    sl_buf_release(&compact);
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, release)
    const struct CMUnitTest tests[] = {
        T(codecs), T(schemas_of_writers), T(entry_bytes), T(round_trip), T(other_writers), T(damage), T(out_of_memory), T(hundred_thousand),
        T(list_bytes), T(tally), T(index_manifests), T(deletion_vectors), T(wide_and_odd_vectors), T(snapshots), T(schemas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
