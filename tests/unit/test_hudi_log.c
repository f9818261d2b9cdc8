/* Log files: the golden blocks, every truncation, every changed byte, deletes, and what is refused. */
#include "unit.h"

#include <string.h>

#include "format/hudi_avro.h"
#include "format/hudi_index.h"
#include "format/hudi_log.h"
#include "hex.h"

static sl_err err = SL_ERR_INIT;

#define FILE_ID "11111111-2222-3333-4444-555555555555-0"
#define INSTANT INT64_C(20260102030405678)

static const struct sl_type text_type = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
static const struct sl_type long_type = {.kind = SL_BIGINT, .nullable = true};
static const struct sl_field fields[] = {{0, "id", &text_type, NULL, NULL}, {1, "v", &long_type, NULL, NULL}};

static void put_row(struct sl_hudi_encoder *e, struct sl_batch *b, size_t row, const char *seqno, struct sl_hudi_content *c)
{
    struct sl_hudi_meta_values meta = {.v = {SL_LIT("20260102030405678"), sl_str_c(seqno), sl_vector_bytes(&b->cols[0], row), SL_LIT(""), SL_LIT(FILE_ID)}};

    sl_hudi_content_record(c);
    assert_ok(sl_hudi_encoder_row(e, &meta, b, row, c->out, &err), err);
    assert_ok(sl_hudi_content_record_end(c, &err), err);
}

/* Block (D) of the facts: two rows of table t. */
static void block_d(struct sl_buf *out, enum sl_hudi_index_mode mode)
{
    const sl_str keys[] = {SL_LIT("key1"), SL_LIT("key2")};
    const int64_t values[] = {7, -3};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf schema = SL_BUF_INIT, content = SL_BUF_INIT, json = SL_BUF_INIT;
    struct sl_hudi_schema s;
    struct sl_hudi_encoder *e;
    struct sl_hudi_content c;
    struct sl_hudi_index x;
    struct sl_batch *b;

    assert_ok(sl_hudi_schema_encode(SL_LIT("t"), fields, 2, true, &schema, &err), err);
    assert_ok(sl_hudi_schema_parse(sl_buf_view(&schema), &s, &err), err);
    assert_ok(sl_hudi_encoder_new(s.avro, fields, 2, &e, &err), err);
    assert_ok(sl_batch_new(fields, 2, &b, &err), err);
    sl_hudi_content_begin(&c, &content);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(sl_vector_put_bytes(&b->cols[0], i, keys[i], &err), err);
        ((int64_t *)b->cols[1].data)[i] = values[i];
        put_row(e, b, i, i ? "20260102030405678_0_1" : "20260102030405678_0_0", &c);
    }
    assert_ok(sl_hudi_content_end(&c, &err), err);
    assert_ok(sl_hudi_index_build(&a, keys, 2, 1e-9, &x, &err), err);
    sl_hudi_index_json(&x, &json);
    struct sl_hudi_block_out block = {.type = SL_HUDI_BLOCK_AVRO, .instant = INSTANT, .schema = sl_buf_view(&schema), .index_mode = mode,
                                      .index = mode == SL_HUDI_INDEX_OFF ? (sl_str){0} : sl_buf_view(&json)};
    assert_ok(sl_hudi_block_put(&block, sl_buf_view(&content), out, &err), err);
    sl_batch_free(b);
    sl_hudi_encoder_free(e);
    sl_hudi_schema_release(&s);
    sl_buf_release(&schema);
    sl_buf_release(&content);
    sl_buf_release(&json);
    sl_arena_release(&a);
}

/* Made by another program from the facts. */
static const char block_d_hex[] =
    "23485544492300000000000004330000000100000003000000030000000000000011323032363031303230333034303536373800000002"
    "0000023f7b2274797065223a227265636f7264222c226e616d65223a22745f7265636f7264222c226e616d657370616365223a22686f6f"
    "6469652e74222c226669656c6473223a5b7b226e616d65223a225f686f6f6469655f636f6d6d69745f74696d65222c2274797065223a5b"
    "226e756c6c222c22737472696e67225d2c22646f63223a22222c2264656661756c74223a6e756c6c7d2c7b226e616d65223a225f686f6f"
    "6469655f636f6d6d69745f7365716e6f222c2274797065223a5b226e756c6c222c22737472696e67225d2c22646f63223a22222c226465"
    "6661756c74223a6e756c6c7d2c7b226e616d65223a225f686f6f6469655f7265636f72645f6b6579222c2274797065223a5b226e756c6c"
    "222c22737472696e67225d2c22646f63223a22222c2264656661756c74223a6e756c6c7d2c7b226e616d65223a225f686f6f6469655f70"
    "6172746974696f6e5f70617468222c2274797065223a5b226e756c6c222c22737472696e67225d2c22646f63223a22222c226465666175"
    "6c74223a6e756c6c7d2c7b226e616d65223a225f686f6f6469655f66696c655f6e616d65222c2274797065223a5b226e756c6c222c2273"
    "7472696e67225d2c22646f63223a22222c2264656661756c74223a6e756c6c7d2c7b226e616d65223a226964222c2274797065223a5b22"
    "6e756c6c222c22737472696e67225d2c2264656661756c74223a6e756c6c7d2c7b226e616d65223a2276222c2274797065223a5b226e75"
    "6c6c222c226c6f6e67225d2c2264656661756c74223a6e756c6c7d5d7d00000003000000d77b22736c756963655f6c6f675f696e646578"
    "223a312c226e223a322c22686f6f6469655f6d696e5f7265636f72645f6b6579223a226b657931222c22686f6f6469655f6d61785f7265"
    "636f72645f6b6579223a226b657932222c22686f6f6469655f626c6f6f6d5f66696c7465725f747970655f636f6465223a2253494d504c"
    "45222c226f72672e6170616368652e687564692e626c6f6f6d66696c746572223a222f2f2f2f2f77414141423842414141415630704c59"
    "4a6a584875347149757454222c226372633332223a226539383166633736227d00000000000000d4000000030000000200000062022232"
    "30323630313032303330343035363738022a32303236303130323033303430353637385f305f3002086b6579310200024c313131313131"
    "31312d323232322d333333332d343434342d3535353535353535353535352d3002086b657931020e000000620222323032363031303230"
    "3330343035363738022a32303236303130323033303430353637385f305f3102086b6579320200024c31313131313131312d323232322d"
    "333333332d343434342d3535353535353535353535352d3002086b6579320205000000000000000000000439";

static void golden(void **state)
{
    static const char head[] = "2348554449230000 0000000004330000 0001000000030000 0003000000000000 0011"; /* L = 1075 */
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    block_d(&b, SL_HUDI_INDEX_HEADER);
    assert_int_equal(b.n, 1089);
    assert_memory_equal(b.p, hex_bytes(block_d_hex).p, 1089);
    assert_memory_equal(b.p, hex_bytes(head).p, hex_bytes(head).n);
    assert_memory_equal(b.p + 34, "20260102030405678", 17);
    /* id 2, 575 bytes of schema; id 3, 215 bytes of index; content of 212 bytes */
    assert_string_equal(hex_text((sl_str){b.p + 51, 8}), "000000020000023f");
    assert_string_equal(hex_text((sl_str){b.p + 634, 8}), "00000003000000d7");
    assert_memory_equal(b.p + 642,
                        "{\"sluice_log_index\":1,\"n\":2,\"hoodie_min_record_key\":\"key1\",\"hoodie_max_record_key\":\"key2\","
                        "\"hoodie_bloom_filter_type_code\":\"SIMPLE\",\"org.apache.hudi.bloomfilter\":\"/////wAAAB8BAAAAV0pLYJjXHu4qIutT\","
                        "\"crc32\":\"e981fc76\"}", 215);
    assert_string_equal(hex_text((sl_str){b.p + 857, 8}), "00000000000000d4");
    assert_string_equal(hex_text((sl_str){b.p + 865, 14}), "000000030000000200000062" "0222");
    assert_string_equal(hex_text((sl_str){b.p + 865 + 12 + 90, 6}), "02086b657931");
    assert_string_equal(hex_text((sl_str){b.p + 865 + 12 + 96, 6}), "020e00000062");
    assert_string_equal(hex_text((sl_str){b.p + 1075, 2}), "0205");
    assert_string_equal(hex_text((sl_str){b.p + 1077, 12}), "000000000000000000000439"); /* no footer; T = 1081 */
    sl_buf_reset(&b);
    block_d(&b, SL_HUDI_INDEX_OFF);
    assert_int_equal(b.n, 866);
    sl_buf_release(&b);
}

/* Rollback block (A). */
static void rollback(void **state)
{
    static const char want[] = "23 48 55 44 49 23 000000000000005b 00000001 00000000 00000003"
                               "00000000 00000011 3230323530313236303430393336353738"
                               "00000001 00000011 3230323530313236303430383236383738"
                               "00000003 00000001 30 0000000000000000 00000000 0000000000000061";
    struct sl_hudi_block_out block = {.type = SL_HUDI_BLOCK_COMMAND, .instant = INT64_C(20250126040936578), .target = INT64_C(20250126040826878)};
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_block_put(&block, (sl_str){NULL, 0}, &b, &err), err);
    assert_string_equal(hex_text(sl_buf_view(&b)), hex_text(hex_bytes(want)));
    block.index = SL_LIT("{}");
    assert_code(sl_hudi_block_put(&block, (sl_str){NULL, 0}, &b, &err), SL_EINPUT);
    block.index = (sl_str){NULL, 0};
    block.type = SL_HUDI_BLOCK_HFILE;
    assert_code(sl_hudi_block_put(&block, (sl_str){NULL, 0}, &b, &err), SL_EINPUT);
    sl_buf_release(&b);
}

static bool changing; /* a test changes bytes of contents too */

/* What stands in BYTES, as "B0+1088 D1088+5! ...": blocks, damage, '!' for whole ones. */
static const char *listing(sl_str bytes)
{
    static char out[4000];
    struct sl_hudi_source source;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_log *l;
    size_t n = 0;

    out[0] = '\0';
    sl_hudi_source_memory(&bytes, &source);
    assert_ok(sl_hudi_log_open(&source, &l, &err), err);
    for (;;) {
        struct sl_hudi_block b;
        struct sl_hudi_damage d;
        enum sl_hudi_item item;
        int rc = sl_hudi_log_next(l, &a, &item, &b, &d, &err);

        if (rc == SL_EUNSUPPORTED) {
            n += (size_t)snprintf(out + n, sizeof out - n, "%sU%d+%d", n ? " " : "", (int)b.offset, (int)b.size);
            continue;
        }
        assert_ok(rc, err);
        if (item == SL_HUDI_ITEM_END)
            break;
        assert_true(item != SL_HUDI_ITEM_BLOCK || b.records == 2 || b.type != SL_HUDI_BLOCK_AVRO || changing);
        if (item == SL_HUDI_ITEM_BLOCK)
            n += (size_t)snprintf(out + n, sizeof out - n, "%sB%d+%d", n ? " " : "", (int)b.offset, (int)b.size);
        else
            n += (size_t)snprintf(out + n, sizeof out - n, "%sD%d+%d%s", n ? " " : "", (int)d.offset, (int)d.length, d.whole ? "!" : "");
        assert_true(n < 3000);
    }
    sl_hudi_log_close(l);
    sl_arena_release(&a);
    return out;
}

static void cut(void **state)
{
    struct sl_buf b = SL_BUF_INIT;
    char want[64];

    (void)state;
    block_d(&b, SL_HUDI_INDEX_HEADER);
    block_d(&b, SL_HUDI_INDEX_FOOTER);
    size_t one = 1089;
    assert_int_equal(b.n, 2 * one);
    assert_string_equal(listing(sl_buf_view(&b)), "B0+1089 B1089+1089");
    assert_string_equal(listing((sl_str){NULL, 0}), "");
    for (size_t n = 1; n < b.n; n++) {
        if (n < one)
            snprintf(want, sizeof want, "D0+%zu", n);
        else if (n == one)
            snprintf(want, sizeof want, "B0+1089");
        else
            snprintf(want, sizeof want, "B0+1089 D1089+%zu", n - one);
        assert_string_equal(listing(sl_str_sub(sl_buf_view(&b), 0, n)), want);
    }
    sl_buf_release(&b);
}

/* Three blocks; a byte of the middle one is changed. The others are always found, and a block that was whole is called so, unless it
 * is a change that leaves the frame as it is. */
static void changed(void **state)
{
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    for (int i = 0; i < 3; i++)
        block_d(&b, SL_HUDI_INDEX_HEADER);
    changing = true;
    for (size_t i = 1089; i < 2178; i++) {
        char old = b.p[i];

        b.p[i] = (char)(old ^ 0x15);
        const char *got = listing(sl_buf_view(&b));
        bool same = strcmp(got, "B0+1089 B1089+1089 B2178+1089") == 0, whole = strcmp(got, "B0+1089 D1089+1089! B2178+1089") == 0;
        bool other = strcmp(got, "B0+1089 U1089+1089 B2178+1089") == 0;
        bool torn = strcmp(got, "B0+1089 D1089+1089 B2178+1089") == 0;
        if (!same && !whole && !other && !torn)
            fail_msg("byte %zu: %s", i - 1089, got);
        if (torn && i >= 1095) /* without its magic nothing says that it was one */
            fail_msg("byte %zu: a whole block counts as cut off", i - 1089);
        b.p[i] = old;
    }
    changing = false;
    sl_buf_release(&b);
}

static void between(void **state)
{
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    block_d(&b, SL_HUDI_INDEX_OFF);
    sl_buf_addc(&b, "#HUDI#");
    sl_buf_addb(&b, "\0\0\0\0\0\0\1\0torn #HUDI#", 20);
    block_d(&b, SL_HUDI_INDEX_OFF);
    sl_buf_addc(&b, "tail");
    assert_string_equal(listing(sl_buf_view(&b)), "B0+866 D866+26 B892+866 D1758+4");
    sl_buf_reset(&b);
    /* A file that grew by zeros after a crash. */
    block_d(&b, SL_HUDI_INDEX_OFF);
    size_t n = b.n;
    block_d(&b, SL_HUDI_INDEX_OFF);
    memset(b.p + n + 100, 0, b.n - n - 100);
    assert_string_equal(listing(sl_buf_view(&b)), "B0+866 D866+866");
    memset(b.p, 0, b.n);
    assert_string_equal(listing(sl_buf_view(&b)), "D0+1732");
    sl_buf_release(&b);
}

/* A block whose content of 1 GiB nobody asks for. */
struct ends {
    struct sl_buf b; /* head and tail */
    size_t head, asked;
};

static int read_large(void *user, int64_t offset, size_t n, char *to, sl_err *e)
{
    struct ends *ends = user;
    int64_t head = (int64_t)ends->head, gap = INT64_C(1) << 30;

    (void)e;
    ends->asked += n;
    for (size_t i = 0; i < n; i++) {
        int64_t at = offset + (int64_t)i;

        to[i] = at < head ? ends->b.p[at] : at < head + gap ? 'x' : ends->b.p[at - gap];
    }
    return SL_OK;
}

static void large(void **state)
{
    struct sl_hudi_block_out out = {.type = SL_HUDI_BLOCK_PARQUET, .instant = INSTANT, .content_size = UINT64_C(1) << 30};
    struct ends ends = {SL_BUF_INIT, 0, 0};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_log *l;
    struct sl_hudi_block block;
    struct sl_hudi_damage d;
    enum sl_hudi_item item;
    static char schema[100000];

    (void)state;
    memset(schema, 'x', sizeof schema);
    out.schema = (sl_str){schema, sizeof schema};
    assert_ok(sl_hudi_block_head(&out, &ends.b, &err), err);
    ends.head = ends.b.n;
    assert_ok(sl_hudi_block_tail(&out, &ends.b, &err), err);
    struct sl_hudi_source source = {(INT64_C(1) << 30) + (int64_t)ends.b.n, read_large, &ends};
    assert_ok(sl_hudi_log_open(&source, &l, &err), err);
    assert_ok(sl_hudi_log_next(l, &a, &item, &block, &d, &err), err);
    assert_int_equal(item, SL_HUDI_ITEM_BLOCK);
    assert_true(block.content_size == INT64_C(1) << 30 && block.content_offset == (int64_t)ends.head && block.size == source.size);
    assert_true(sl_hudi_header(&block, SL_HUDI_H_SCHEMA).n == sizeof schema && ends.asked < 200000 && block.records == -1);
    assert_ok(sl_hudi_log_next(l, &a, &item, &block, &d, &err), err);
    assert_int_equal(item, SL_HUDI_ITEM_END);
    sl_hudi_log_close(l);
    sl_buf_release(&ends.b);
    sl_arena_release(&a);
}

static void deletes(void **state)
{
    static const struct sl_hudi_delete one[] = {{SL_LIT("TXN-002"), SL_LIT(""), {.kind = SL_HUDI_ORD_INT}}};
    static const struct sl_hudi_delete two[] = {{SL_LIT("key1"), SL_LIT(""), {.kind = SL_HUDI_ORD_INT}},
                                                {SL_LIT("key2"), SL_LIT(""), {.kind = SL_HUDI_ORD_INT}}};
    static const struct sl_hudi_delete late[] = {{SL_LIT("key1"), SL_LIT(""), {.kind = SL_HUDI_ORD_LONG, .i = INT64_C(1700000000000)}}};
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_deletes_encode(one, 1, &b, &err), err);
    assert_string_equal(hex_text(sl_buf_view(&b)), hex_text(hex_bytes("00000003 0000000f 02 02 0e 54584e2d303032 02 00 04 00 00")));
    sl_buf_reset(&b);
    assert_ok(sl_hudi_deletes_encode(two, 2, &b, &err), err);
    assert_string_equal(hex_text(sl_buf_view(&b)), hex_text(hex_bytes("00000003 00000016 04 02 08 6b657931 02 00 04 00 02 08 6b657932 02 00 04 00 00")));
    sl_buf_reset(&b);
    assert_ok(sl_hudi_deletes_encode(late, 1, &b, &err), err);
    assert_string_equal(hex_text(sl_buf_view(&b)), hex_text(hex_bytes("00000003 00000011 02 02 08 6b657931 02 00 06 80a0abfef962 00")));
    sl_buf_release(&b);
}

static bool same_ordering(const struct sl_hudi_ordering *a, const struct sl_hudi_ordering *b)
{
    return a->kind == b->kind && a->i == b->i && a->f == b->f && sl_str_eq(a->s, b->s);
}

static void orderings(void **state)
{
    static const struct sl_hudi_delete v[] = {
        {SL_LIT("a"), {NULL, 0}, {.kind = SL_HUDI_ORD_NULL}},
        {{NULL, 0}, SL_LIT("p=1/q"), {.kind = SL_HUDI_ORD_BOOLEAN, .i = 1}},
        {SL_LIT("c"), SL_LIT(""), {.kind = SL_HUDI_ORD_INT, .i = INT32_MIN}},
        {SL_LIT("d"), SL_LIT(""), {.kind = SL_HUDI_ORD_LONG, .i = INT64_MIN}},
        {SL_LIT("e"), SL_LIT(""), {.kind = SL_HUDI_ORD_FLOAT, .f = 1.5}},
        {SL_LIT("f"), SL_LIT(""), {.kind = SL_HUDI_ORD_DOUBLE, .f = -0.1}},
        {SL_LIT("g"), SL_LIT(""), {.kind = SL_HUDI_ORD_BYTES, .s = SL_LIT("\1\2")}},
        {SL_LIT("h"), SL_LIT(""), {.kind = SL_HUDI_ORD_STRING, .s = SL_LIT("\xc3\xa9")}},
        {SL_LIT("i"), SL_LIT(""), {.kind = SL_HUDI_ORD_DATE, .i = -1}},
        {SL_LIT("j"), SL_LIT(""), {.kind = SL_HUDI_ORD_DECIMAL, .s = SL_LIT("\x7f\xff")}},
        {SL_LIT("k"), SL_LIT(""), {.kind = SL_HUDI_ORD_TIME_MICROS, .i = 86399999999}},
        {SL_LIT("l"), SL_LIT(""), {.kind = SL_HUDI_ORD_TIMESTAMP_MICROS, .i = INT64_MAX}},
    };
    struct sl_buf b = SL_BUF_INIT;
    struct sl_hudi_deletes d;
    struct sl_hudi_delete got;
    bool more;
    size_t n = sizeof v / sizeof *v;

    (void)state;
    assert_ok(sl_hudi_deletes_encode(v, n, &b, &err), err);
    assert_ok(sl_hudi_deletes_open(sl_buf_view(&b), &d, &err), err);
    for (size_t i = 0; i < n; i++) {
        assert_ok(sl_hudi_deletes_next(&d, &got, &more, &err), err);
        assert_true(more && sl_str_eq(got.key, v[i].key) && sl_str_eq(got.partition, v[i].partition));
        assert_true(!got.key.p == !v[i].key.p && same_ordering(&got.ordering, &v[i].ordering));
        assert_true(sl_hudi_ordering_none(&got.ordering) == (i == 0));
    }
    assert_ok(sl_hudi_deletes_next(&d, &got, &more, &err), err);
    assert_false(more);
    /* The list may be cut anywhere: an error, never a wrong end. */
    for (size_t cut_at = 8; cut_at < b.n; cut_at++) {
        struct sl_buf c = SL_BUF_INIT;
        int rc = SL_OK;

        sl_buf_u32be(&c, 3);
        sl_buf_u32be(&c, (uint32_t)(cut_at - 8));
        sl_buf_addb(&c, b.p + 8, cut_at - 8);
        assert_ok(sl_hudi_deletes_open(sl_buf_view(&c), &d, &err), err);
        for (more = true; rc == SL_OK && more;)
            rc = sl_hudi_deletes_next(&d, &got, &more, &err);
        assert_code(rc, SL_ECORRUPT);
        sl_buf_release(&c);
    }
    assert_code(sl_hudi_deletes_open(hex_bytes("00000002 00000001 00"), &d, &err), SL_EUNSUPPORTED);
    assert_code(sl_hudi_deletes_open(hex_bytes("00000003 00000002 00"), &d, &err), SL_ECORRUPT);
    sl_buf_release(&b);
}

/* ArrayWrapper of two: an IntWrapper 5, a LocalDateWrapper 7. */
static void several(void **state)
{
    struct sl_hudi_deletes d;
    struct sl_hudi_delete got;
    struct sl_hudi_ordering item;
    bool more;

    (void)state;
    assert_ok(sl_hudi_deletes_open(hex_bytes("00000003 00000012 02 0208 6b657931 0200 18 02 04 040a 180e 00 00"), &d, &err), err);
    assert_ok(sl_hudi_deletes_next(&d, &got, &more, &err), err);
    assert_true(more && got.ordering.kind == SL_HUDI_ORD_ARRAY && got.ordering.count == 2);
    struct sl_cur items = sl_cur_of(got.ordering.s);
    assert_true(sl_hudi_ordering_item(&items, &item) && item.kind == SL_HUDI_ORD_INT && item.i == 5);
    assert_true(sl_hudi_ordering_item(&items, &item) && item.kind == SL_HUDI_ORD_DATE && item.i == 7);
    assert_false(sl_hudi_ordering_item(&items, &item));
}

static void records(void **state)
{
    struct sl_hudi_records r;
    sl_str record, key;

    (void)state;
    assert_ok(sl_hudi_records_open(hex_bytes("00000003 00000002 00000001 aa 00000000 ff"), &r, &err), err);
    assert_true(sl_hudi_records_next(&r, &record) && record.n == 1);
    assert_true(sl_hudi_records_next(&r, &record) && record.n == 0);
    assert_false(sl_hudi_records_next(&r, &record));
    assert_ok(sl_hudi_records_end(&r, &err), err); /* what follows is passed over, as stock readers do */
    assert_ok(sl_hudi_records_open(hex_bytes("00000001 00000001 00000002 aa"), &r, &err), err);
    assert_false(sl_hudi_records_next(&r, &record));
    assert_code(sl_hudi_records_end(&r, &err), SL_ECORRUPT);
    assert_code(sl_hudi_records_open(hex_bytes("00000003 ffffffff 00"), &r, &err), SL_ECORRUPT);
    assert_code(sl_hudi_records_open(hex_bytes("00000004 00000000"), &r, &err), SL_EUNSUPPORTED);
    assert_code(sl_hudi_records_open(hex_bytes("00000000 00000000"), &r, &err), SL_EUNSUPPORTED);
    assert_code(sl_hudi_records_open(hex_bytes("000000"), &r, &err), SL_ECORRUPT);
    assert_true(sl_hudi_record_key(hex_bytes("02 0231 00 02 046b31"), &key) && sl_str_eqc(key, "k1"));
    assert_false(sl_hudi_record_key(hex_bytes("02 0231 00 00"), &key));
    assert_false(sl_hudi_record_key(hex_bytes("02 0231 00 02 086b31"), &key));
    assert_false(sl_hudi_record_key(hex_bytes("04 0231"), &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden), cmocka_unit_test(rollback), cmocka_unit_test(cut), cmocka_unit_test(changed), cmocka_unit_test(between),
        cmocka_unit_test(large), cmocka_unit_test(deletes), cmocka_unit_test(orderings), cmocka_unit_test(several), cmocka_unit_test(records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
