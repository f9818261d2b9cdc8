/* Filters and indexes of blocks: vectors of the facts, orders of keys, damage. */
#include "unit.h"

#include <string.h>

#include "format/hudi_index.h"
#include "hex.h"

static sl_err err = SL_ERR_INIT;

static void hashes(void **state)
{
    static const struct {
        const char *text;
        uint32_t first, second;
    } v[] = {
        {"a", 0x92685f5e, 0x5b2b9c66},    {"ab", 0x5aee6595, 0xa8b81579},     {"abc", 0x69d3cf87, 0x58f8c988},
        {"abcd", 0x26873021, 0xe0ba3fa1}, {"abcde", 0x5f09a8de, 0x18038536},  {"TXN-001", 0xaf96792d, 0x7ed52b5b},
        {"\xc3\xa9", 0xe91c0273, 0x6e360118}, {"\xe6\x97\xa5\xe6\x9c\xac", 0x274a1b1c, 0xd98a3ef9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        assert_true(sl_bloom_hash(sl_str_c(v[i].text), 0) == v[i].first);
        assert_true(sl_bloom_hash(sl_str_c(v[i].text), v[i].first) == v[i].second);
    }
}

static void sizes(void **state)
{
    static const struct {
        uint64_t n;
        uint32_t bits, hashes;
    } v[] = {{1, 44, 31}, {10, 432, 30}, {100, 4314, 30}, {1000, 43133, 30}, {10000, 431328, 30}, {60000, 2587966, 30}, {100000, 4313277, 30}};
    uint32_t bits, k;

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        assert_true(sl_bloom_size(v[i].n, 1e-9, &bits, &k));
        assert_int_equal(bits, v[i].bits);
        assert_int_equal(k, v[i].hashes);
    }
    assert_false(sl_bloom_size(1, 0, &bits, &k));
    assert_false(sl_bloom_size(1, 1, &bits, &k));
    assert_false(sl_bloom_size(UINT64_MAX, 1e-9, &bits, &k));
    assert_false(sl_bloom_size(1, 1e-300, &bits, &k));
}

static void add_all(struct sl_bloom *b, const char *const *keys)
{
    for (; *keys; keys++)
        assert_ok(sl_bloom_add(b, sl_str_c(*keys), &err), err);
}

static void same(const struct sl_bloom *b, const char *hex)
{
    struct sl_buf out = SL_BUF_INIT;

    sl_bloom_encode(b, &out);
    assert_string_equal(hex_text(sl_buf_view(&out)), hex_text(hex_bytes(hex)));
    sl_buf_release(&out);
}

static void filters(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_bloom b, back;
    struct sl_bloom_key k;

    (void)state;
    assert_ok(sl_bloom_new(&a, 10, 0.01, &b, &err), err);
    add_all(&b, (const char *const[]){"key1", "key2", NULL});
    same(&b, "ffffffff 00000007 01 00000060 581000504020180820014000");
    assert_ok(sl_bloom_new(&a, 1, 0.1, &b, &err), err);
    add_all(&b, (const char *const[]){"a", NULL});
    same(&b, "ffffffff 00000004 01 00000005 1c");
    assert_ok(sl_bloom_new_dynamic(&a, 2, 0.01, 4, &b, &err), err);
    add_all(&b, (const char *const[]){"key1", "key2", "key3", NULL});
    same(&b, "ffffffff 00000007 01 00000014 00000002 00000001 00000002"
             "ffffffff 00000007 01 00000014 78200d ffffffff 00000007 01 00000014 25c204");
    struct sl_buf out = SL_BUF_INIT;
    sl_bloom_encode(&b, &out);
    assert_ok(sl_bloom_parse(&a, sl_buf_view(&out), SL_BLOOM_DYNAMIC, &back, &err), err);
    for (int i = 1; i <= 3; i++) {
        char key[16];

        snprintf(key, sizeof key, "key%d", i);
        sl_bloom_key_init(&k, sl_str_c(key));
        assert_true(sl_bloom_may_hold(&back, &k));
    }
    for (size_t cut = 0; cut < out.n; cut++)
        assert_code(sl_bloom_parse(&a, sl_str_sub(sl_buf_view(&out), 0, cut), SL_BLOOM_DYNAMIC, &back, &err), SL_ECORRUPT);
    assert_code(sl_bloom_add(&b, SL_LIT(""), &err), SL_EINPUT);
    sl_buf_release(&out);
    sl_arena_release(&a);
}

/* As many rows as allowed, then the rows take turns; nothing that was added is missed. */
static void full(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_bloom b;
    struct sl_bloom_key k;
    char key[16];
    int extra = 0;

    (void)state;
    assert_ok(sl_bloom_new_dynamic(&a, 10, 0.01, 35, &b, &err), err);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_ok(sl_bloom_add(&b, sl_str_c(key), &err), err);
    }
    assert_int_equal(b.nrows, 4);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "%d", i);
        sl_bloom_key_init(&k, sl_str_c(key));
        assert_true(sl_bloom_may_hold(&b, &k));
    }
    assert_ok(sl_bloom_new(&a, 1000, 0.01, &b, &err), err);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_ok(sl_bloom_add(&b, sl_str_c(key), &err), err);
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "n%d", i);
        sl_bloom_key_init(&k, sl_str_c(key));
        extra += sl_bloom_may_hold(&b, &k);
    }
    assert_in_range(extra, 50, 200);
    assert_true(sl_bloom_rate(&b) > 0.005 && sl_bloom_rate(&b) < 0.02);
    sl_arena_release(&a);
}

static void hostile(void **state)
{
    static const struct {
        const char *hex;
        enum sl_bloom_kind kind;
        int code;
    } v[] = {
        {"0000001f 01 00000057 00", SL_BLOOM_SIMPLE, SL_EUNSUPPORTED},                        /* no version word */
        {"ffffffff 0000001f 00 00000008 00", SL_BLOOM_SIMPLE, SL_EUNSUPPORTED},               /* Jenkins */
        {"ffffffff 0000001f 01 00000009 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},                   /* too few bytes */
        {"ffffffff 0000001f 01 00000008 0000", SL_BLOOM_SIMPLE, SL_ECORRUPT},                 /* too many */
        {"ffffffff 0000001f 01 7fffffff 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},
        {"ffffffff 0000001f 01 ffffffff 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},
        {"ffffffff 7fffffff 01 00000008 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},                   /* hashes without end */
        {"ffffffff 00000000 01 00000008 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},
        {"ffffffff 0000001f 01 00000008 00000001 00000001 ffffffff", SL_BLOOM_DYNAMIC, SL_ECORRUPT},
        {"ffffffff 0000001f 01 00000008 00000001 00000001 00000000", SL_BLOOM_DYNAMIC, SL_ECORRUPT},
        {"fffffffe 0000001f 01 00000008 00", SL_BLOOM_SIMPLE, SL_ECORRUPT},
    };
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_bloom b;

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        assert_code(sl_bloom_parse(&a, hex_bytes(v[i].hex), v[i].kind, &b, &err), v[i].code);
    sl_arena_release(&a);
}

/* ---- the index ---- */

#define BLOCK_D_INDEX                                                                                                   \
    "{\"sluice_log_index\":1,\"n\":2,\"hoodie_min_record_key\":\"key1\",\"hoodie_max_record_key\":\"key2\","            \
    "\"hoodie_bloom_filter_type_code\":\"SIMPLE\",\"org.apache.hudi.bloomfilter\":\"/////wAAAB8BAAAAV0pLYJjXHu4qIutT\"," \
    "\"crc32\":\"e981fc76\"}"

static bool same_filter(const struct sl_bloom *a, const struct sl_bloom *b)
{
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;

    sl_bloom_encode(a, &one);
    sl_bloom_encode(b, &two);
    bool same = sl_str_eq(sl_buf_view(&one), sl_buf_view(&two));
    sl_buf_release(&one);
    sl_buf_release(&two);
    return same;
}

/* JSON of others: in another order, with blanks, escapes and members that mean nothing here. */
static void other_json(void **state)
{
    static const char text[] = " { \"org.apache.hudi.bloomfilter\" : \"\\/////wAAAB8BAAAAV0pLYJjXHu4qIutT\", \"more\": [1, {}], \"n\": 2, \"hoodie_max_record_key\":"
                               "\"\\u006bey2\", \"hoodie_min_record_key\": \"key1\", \"crc32\": \"e981fc76\", \"sluice_log_index\": 1}";
    static const char *const bad[] = {"{\"sluice_log_index\":1}", "{\"n\":1,\"crc32\":\"2144df1c\"}", "{\"sluice_log_index\":1,\"n\":-1,\"crc32\":\"41d912ff\"}",
                                      "{\"sluice_log_index\":1,\"n\":01,\"crc32\":\"41d912ff\"}", "{\"sluice_log_index\":1,\"n\":1,\"n\":1,\"crc32\":\"41d912ff\"}",
                                      "{\"sluice_log_index\":1,\"n\":1,\"crc32\":\"41d912ff\"} ", "{\"sluice_log_index\":1,\"n\":1", "{", "{}", "{\"a\"}"};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_index x;
    struct sl_bloom_key k;

    (void)state;
    assert_ok(sl_hudi_index_parse(&a, sl_str_trim(sl_str_c(text)), &x, &err), err);
    assert_true(x.records == 2 && sl_str_eqc(x.max, "key2") && x.has_filter);
    sl_bloom_key_init(&k, SL_LIT("key1"));
    assert_int_equal(sl_hudi_index_test(&x, &k), SL_HUDI_MAYBE);
    assert_ok(sl_hudi_index_parse(&a, SL_LIT("{\"sluice_log_index\":1,\"n\":0,\"crc32\":\"41d912ff\"}"), &x, &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sl_hudi_index_parse(&a, sl_str_c(bad[i]), &x, &err) == SL_OK)
            assert_int_equal(i, 5); /* blanks at the end are JSON's */
    sl_arena_release(&a);
}

static void json(void **state)
{
    const sl_str keys[] = {SL_LIT("key1"), SL_LIT("key2")};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_index x, back;
    struct sl_buf out = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_index_build(&a, keys, 2, 1e-9, &x, &err), err);
    sl_hudi_index_json(&x, &out);
    assert_string_equal(out.p, BLOCK_D_INDEX);
    assert_ok(sl_hudi_index_parse(&a, sl_buf_view(&out), &back, &err), err);
    assert_int_equal(back.records, 2);
    assert_true(back.has_range && back.has_filter && sl_str_eqc(back.min, "key1") && sl_str_eqc(back.max, "key2"));
    /* Every byte counts: what is changed is refused, or means the same (the type of the filter may be absent). */
    for (size_t i = 0; i < out.n; i++) {
        char old = out.p[i];

        out.p[i] = old == '1' ? '2' : '1';
        if (sl_hudi_index_parse(&a, sl_buf_view(&out), &back, &err) == SL_OK) /* the count is the block's to check */
            assert_true(sl_str_eq(back.min, x.min) && sl_str_eq(back.max, x.max) && same_filter(&back.filter, &x.filter));
        else
            assert_true(!back.has_filter && back.records == -1);
        out.p[i] = old;
        assert_true(sl_hudi_index_parse(&a, sl_str_sub(sl_buf_view(&out), 0, i), &back, &err) != SL_OK);
    }
    assert_code(sl_hudi_index_parse(&a, SL_LIT("0"), &back, &err), SL_ECORRUPT);
    assert_code(sl_hudi_index_parse(&a, SL_LIT("{\"sluice_log_index\":2,\"n\":1,\"crc32\":\"\"}"), &back, &err), SL_EUNSUPPORTED);
    sl_buf_release(&out);
    sl_arena_release(&a);
}

static void texts(void **state)
{
    const sl_str keys[] = {SL_LIT("\xef\xbf\xbd"), SL_LIT("\xf0\x9f\x98\x80"), SL_LIT("a\"\\\n\x7f")};
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_index x, back;
    struct sl_hudi_kv kv[SL_HUDI_INDEX_KVS];
    struct sl_bloom_key k;
    struct sl_buf out = SL_BUF_INIT;
    size_t n;

    (void)state;
    assert_ok(sl_hudi_index_build(&a, keys, 3, 0, &x, &err), err);
    assert_false(x.has_filter);
    assert_true(sl_str_eq(x.max, keys[0]) && sl_str_eq(x.min, keys[2])); /* U+FFFD after U+1F600 in UTF-16 */
    sl_hudi_index_json(&x, &out);
    for (size_t i = 0; i < out.n; i++)
        assert_true(out.p[i] >= 0x20 && out.p[i] < 0x7f);
    assert_ok(sl_hudi_index_parse(&a, sl_buf_view(&out), &back, &err), err);
    assert_true(sl_str_eq(back.max, x.max) && sl_str_eq(back.min, x.min));
    /* Inside under either order. */
    sl_bloom_key_init(&k, keys[1]);
    assert_int_equal(sl_hudi_index_test(&back, &k), SL_HUDI_MAYBE);
    back.min = SL_LIT("\xef\xbc\xa1");
    back.max = SL_LIT("\xf0\x9f\x98\x80"); /* of a writer in UTF-8 order */
    assert_true(sl_hudi_index_inside(&back, SL_LIT("\xef\xbf\xbd")));
    assert_false(sl_hudi_index_inside(&back, SL_LIT("z")));
    /* Key/value metadata. */
    assert_ok(sl_hudi_index_build(&a, keys, 3, 1e-4, &x, &err), err);
    assert_ok(sl_hudi_index_to_kv(&a, &x, true, kv, &n, &err), err);
    assert_int_equal(n, SL_HUDI_INDEX_KVS);
    assert_ok(sl_hudi_index_from_kv(&a, kv, n, &back, &err), err);
    assert_true(back.records == 3 && back.has_filter && sl_str_eq(back.min, x.min));
    sl_bloom_key_init(&k, keys[1]);
    assert_int_equal(sl_hudi_index_test(&back, &k), SL_HUDI_MAYBE);
    kv[6].value = SL_LIT("00000000");
    assert_code(sl_hudi_index_from_kv(&a, kv, n, &back, &err), SL_ECORRUPT);
    assert_ok(sl_hudi_index_from_kv(&a, kv, 0, &back, &err), err);
    assert_int_equal(sl_hudi_index_test(&back, &k), SL_HUDI_MAYBE);
    sl_buf_release(&out);
    sl_arena_release(&a);
}

static void order(void **state)
{
    /* Ascending in UTF-16. */
    static const char *const v[] = {"", "10", "9", "a", "a\xc3\xa9", "b", "\xc3\xa9", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xee\x80\x80", "\xef\xbf\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        for (size_t j = 0; j < sizeof v / sizeof *v; j++) {
            int got = sl_hudi_key_cmp(sl_str_c(v[i]), sl_str_c(v[j]));

            assert_true((got > 0) - (got < 0) == (i > j) - (i < j));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes), cmocka_unit_test(sizes), cmocka_unit_test(filters), cmocka_unit_test(full), cmocka_unit_test(hostile),
        cmocka_unit_test(json), cmocka_unit_test(other_json), cmocka_unit_test(texts), cmocka_unit_test(order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
