/* Names, hoodie.properties, contents of timeline files: vectors of the facts, round trips, damage. */
#include "unit.h"

#include <string.h>

#include "format/hudi_meta.h"
#include "format/hudi_names.h"
#include "format/hudi_properties.h"

static sl_err err = SL_ERR_INIT;

/* ---- names ---- */

static void instants(void **state)
{
    char text[18];
    int64_t v, ms;

    (void)state;
    assert_true(sl_hudi_instant_parse(SL_LIT("20250331030642808"), &v) && v == INT64_C(20250331030642808));
    assert_true(sl_hudi_instant_parse(SL_LIT("20190101120000"), &v) && v == INT64_C(20190101120000999));
    static const char *const bad[] = {"", "2025", "2025033103064280x", "202503310306428080", "-0250331030642808"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sl_hudi_instant_parse(sl_str_c(bad[i]), &v));
    sl_hudi_instant_text(INT64_C(20250331030642808), text);
    assert_string_equal(text, "20250331030642808");
    sl_hudi_instant_text(17, text);
    assert_string_equal(text, "00000000000000017");
    assert_true(sl_hudi_instant_millis(INT64_C(20250331030642808), &ms) && ms == INT64_C(1743390402808));
    assert_true(sl_hudi_instant_of_millis(ms) == INT64_C(20250331030642808));
    assert_true(sl_hudi_instant_of_millis(-1) == INT64_C(19691231235959999));
    assert_true(sl_hudi_instant_millis(INT64_C(20240229000000000), &ms));
    assert_false(sl_hudi_instant_millis(INT64_C(20230229000000000), &ms));
    assert_false(sl_hudi_instant_millis(INT64_C(20231301000000000), &ms));
    assert_false(sl_hudi_instant_millis(17, &ms));
}

static void timeline(void **state)
{
    static const struct {
        const char *name;
        int layout;
        enum sl_hudi_action action;
        enum sl_hudi_state state;
        int64_t completion;
    } v[] = {
        {"20250331030645735.deltacommit", 1, SL_HUDI_DELTACOMMIT, SL_HUDI_COMPLETED, 0},
        {"20250331030645735.deltacommit.requested", 1, SL_HUDI_DELTACOMMIT, SL_HUDI_REQUESTED, 0},
        {"20250331030645735.deltacommit.inflight", 1, SL_HUDI_DELTACOMMIT, SL_HUDI_INFLIGHT, 0},
        {"20250331030645735.inflight", 1, SL_HUDI_COMMIT, SL_HUDI_INFLIGHT, 0},
        {"20250331030645735.commit.requested", 1, SL_HUDI_COMMIT, SL_HUDI_REQUESTED, 0},
        {"20250331030645735.compaction.inflight", 1, SL_HUDI_COMPACTION, SL_HUDI_INFLIGHT, 0},
        {"20250331030645735.savepoint", 1, SL_HUDI_SAVEPOINT, SL_HUDI_COMPLETED, 0},
        {"20260307135934671_20260307135934902.deltacommit", 2, SL_HUDI_DELTACOMMIT, SL_HUDI_COMPLETED, INT64_C(20260307135934902)},
        {"20260307135937430.clustering.requested", 2, SL_HUDI_CLUSTERING, SL_HUDI_REQUESTED, 0},
        {"20260307135937430.inflight", 2, SL_HUDI_COMMIT, SL_HUDI_INFLIGHT, 0},
    };
    static const char *const bad[] = {"hoodie.properties", "20250331030645735", "20250331030645735.", "20250331030645735.other",
                                      "20250331030645735.commit.done", "20250331030645735.commit.inflight.x", "2025.commit",
                                      "20260307135934671_20260307135934902.deltacommit", ".20250331030645735.commit.crc"};
    struct sl_hudi_timeline_name t;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        assert_true(sl_hudi_timeline_parse(sl_str_c(v[i].name), v[i].layout, &t));
        assert_true(t.action == v[i].action && t.state == v[i].state && t.completion == v[i].completion && t.text.n == 17);
        if (v[i].layout == 1) {
            sl_buf_reset(&b);
            sl_hudi_timeline_put(&b, t.instant, t.action, t.state);
            assert_string_equal(b.p, v[i].name);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sl_hudi_timeline_parse(sl_str_c(bad[i]), 1, &t));
    assert_false(sl_hudi_timeline_parse(SL_LIT("20250331030645735.commit"), 2, &t));
    sl_buf_reset(&b);
    sl_hudi_timeline_put(&b, INT64_C(20250331030645735), SL_HUDI_COMPACTION, SL_HUDI_COMPLETED);
    assert_string_equal(b.p, "20250331030645735.commit");
    sl_buf_release(&b);
}

static void files(void **state)
{
    static const char base[] = "d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0_0-13-60_20250331030642808.parquet";
    static const char log[] = ".d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0_20250331030642808.log.12_0-26-85";
    static const char *const bad[] = {"", ".", "a.log.1", ".a_20250331030642808.log.", ".a_20250331030642808.log.x_0-1-2",
                                      ".a_20250331030642808.log.1_0-1", ".a_20250331030642808.log.1_0-1-2.tmp", ".a.b_20250331030642808.log.1_0-1-2",
                                      ".a_b_20250331030642808.log.1_0-1-2", "a_20250331030642808.log.1_0-1-2", ".a_x.log.1_0-1-2", ".sluice-tmp-1"};
    struct sl_hudi_base_name n;
    struct sl_hudi_log_name l, m;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_true(sl_hudi_base_parse(sl_str_c(base), &n));
    assert_true(sl_str_eqc(n.file_id, "d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0") && sl_str_eqc(n.token, "0-13-60") && n.instant == INT64_C(20250331030642808));
    sl_hudi_base_put(&b, n.file_id, n.token, n.instant);
    assert_string_equal(b.p, base);
    assert_false(sl_hudi_base_parse(SL_LIT("a_b_c_20250331030642808.parquet"), &n));
    assert_false(sl_hudi_base_parse(SL_LIT("a_0-1-2_20250331030642808.parquet.tmp"), &n));
    assert_true(sl_hudi_log_parse(sl_str_c(log), &l));
    assert_true(l.version == 12 && sl_str_eqc(l.token, "0-26-85") && !l.cdc && l.instant == INT64_C(20250331030642808));
    sl_buf_reset(&b);
    sl_hudi_log_put(&b, l.file_id, l.instant, l.version, l.token);
    assert_string_equal(b.p, log);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sl_hudi_log_parse(sl_str_c(bad[i]), &l));
    assert_true(sl_hudi_log_parse(SL_LIT(".a_20250331030642808.log.2"), &l) && l.token.n == 0);
    assert_true(sl_hudi_log_parse(SL_LIT(".a_20250331030642808.log.10_0-1-2.cdc"), &m) && m.cdc);
    assert_true(sl_hudi_log_cmp(&l, &m) < 0 && sl_hudi_log_cmp(&m, &l) > 0 && sl_hudi_log_cmp(&m, &m) == 0);
    sl_buf_reset(&b);
    sl_hudi_file_id_new(&b);
    assert_true(b.n == 38 && sl_hudi_file_id_ok(sl_buf_view(&b)));
    sl_buf_release(&b);
}

static void partitions(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT;
    sl_str v;
    bool null;
    int64_t instant, depth;

    (void)state;
    sl_hudi_partition_level(&b, SL_LIT("city"), SL_LIT("a/b=c%"), true, true);
    sl_buf_ch(&b, '/');
    sl_hudi_partition_level(&b, SL_LIT("day"), (sl_str){NULL, 0}, true, true);
    assert_string_equal(b.p, "city=a%2Fb%3Dc%25/day=__HIVE_DEFAULT_PARTITION__");
    assert_ok(sl_hudi_partition_value(&a, sl_buf_view(&b), 0, 2, SL_LIT("city"), true, true, &v, &null, &err), err);
    assert_true(!null && sl_str_eqc(v, "a/b=c%"));
    assert_ok(sl_hudi_partition_value(&a, sl_buf_view(&b), 1, 2, SL_LIT("day"), true, true, &v, &null, &err), err);
    assert_true(null);
    assert_code(sl_hudi_partition_value(&a, sl_buf_view(&b), 0, 3, SL_LIT("city"), true, true, &v, &null, &err), SL_ECORRUPT);
    assert_code(sl_hudi_partition_value(&a, sl_buf_view(&b), 1, 2, SL_LIT("city"), true, true, &v, &null, &err), SL_ECORRUPT);
    assert_ok(sl_hudi_partition_value(&a, SL_LIT("x/y%20"), 1, 2, SL_LIT("q"), false, false, &v, &null, &err), err);
    assert_string_equal(v.p, "y%20");
    sl_buf_reset(&b);
    sl_hudi_partition_file_put(&b, INT64_C(20250331030642808), 1, INT64_C(1743390404000));
    assert_string_equal(b.p, "#partition metadata\n#Mon Mar 31 03:06:44 UTC 2025\ncommitTime=20250331030642808\npartitionDepth=1\n");
    assert_ok(sl_hudi_partition_file_parse(sl_buf_view(&b), &instant, &depth, &err), err);
    assert_true(instant == INT64_C(20250331030642808) && depth == 1);
    assert_code(sl_hudi_partition_file_parse(SL_LIT("commitTime=1\n"), &instant, &depth, &err), SL_ECORRUPT);
    sl_buf_release(&b);
    sl_arena_release(&a);
}

/* ---- properties ---- */

static void syntax(void **state)
{
    static const char text[] = "# note\n! other\r\n  a = 1 \nb:2\nc 3\nd\\=e=\\u00e9\\ud83d\\ude00\\t\\:x\nlong=one,\\\n    two\n\na=4\nempty=\nbare\n";
    struct sl_hudi_properties p, q;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_properties_parse(sl_str_c(text), &p, &err), err);
    assert_int_equal(p.n, 7);
    assert_string_equal(sl_hudi_properties_get(&p, "a").p, "4");
    assert_string_equal(sl_hudi_properties_get(&p, "b").p, "2");
    assert_string_equal(sl_hudi_properties_get(&p, "c").p, "3");
    assert_string_equal(sl_hudi_properties_get(&p, "d=e").p, "\xc3\xa9\xf0\x9f\x98\x80\t:x");
    assert_string_equal(sl_hudi_properties_get(&p, "long").p, "one,two");
    assert_string_equal(sl_hudi_properties_get(&p, "bare").p, "");
    assert_null(sl_hudi_properties_get(&p, "none").p);
    sl_hudi_properties_unset(&p, "c");
    assert_ok(sl_hudi_properties_set(&p, SL_LIT(" sp ace"), SL_LIT("  v#!=:\\ \n\x7f"), &err), err);
    assert_ok(sl_hudi_properties_encode(&p, INT64_C(1743390404123), &b, &err), err);
    assert_non_null(strstr(b.p, "#Properties saved on 2025-03-31T03:06:44.123Z\n#Mon Mar 31 03:06:44 UTC 2025\n"));
    assert_non_null(strstr(b.p, "\\ sp\\ ace=\\  v\\#\\!\\=\\:\\\\ \\n\\u007F\n"));
    assert_non_null(strstr(b.p, "d\\=e=\\u00E9\\uD83D\\uDE00\\t\\:x\n"));
    assert_ok(sl_hudi_properties_parse(sl_buf_view(&b), &q, &err), err);
    for (size_t i = 0; i < p.n; i++)
        assert_true(sl_str_eq(p.v[i].key, q.v[i].key) && sl_str_eq(p.v[i].value, q.v[i].value));
    assert_string_equal(q.v[q.n - 1].key.p, "hoodie.table.checksum");
    sl_hudi_properties_release(&p);
    sl_hudi_properties_release(&q);
    sl_buf_release(&b);
    assert_ok(sl_hudi_properties_parse(SL_LIT("a=\xe9"), &p, &err), err); /* ISO 8859-1 */
    assert_string_equal(sl_hudi_properties_get(&p, "a").p, "\xc3\xa9");
    sl_hudi_properties_release(&p);
    static const sl_str bad[] = {SL_LIT("a=\\u12"), SL_LIT("a=\\ud800x"), SL_LIT("a=\0b"), SL_LIT("a=\\u0000"), SL_LIT("a=\\ud83d\\u0041"), SL_LIT("a=\\uxyzw"), SL_LIT("a=\\\0")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(sl_hudi_properties_parse(bad[i], &p, &err), SL_ECORRUPT);
}

static void checksums(void **state)
{
    (void)state;
    assert_true(sl_hudi_checksum(SL_LIT("default"), SL_LIT("trips")) == 2200697520U);
    assert_true(sl_hudi_checksum(SL_LIT("default"), SL_LIT("t")) == 454464632U);
    assert_true(sl_hudi_checksum((sl_str){NULL, 0}, SL_LIT("t")) == 498511606U);
    assert_true(sl_hudi_checksum(SL_LIT("default"), SL_LIT("v6_trips_8i1u")) == 3843273058U);
}

static void config(void **state)
{
    const sl_str keys[] = {SL_LIT("id")}, parts[] = {SL_LIT("city"), SL_LIT("day")};
    struct sl_hudi_new_table t = {.name = SL_LIT("t"), .database = SL_LIT("default"), .key_fields = keys, .nkeys = 1, .partition_fields = parts,
                                  .npartition = 2, .ordering_field = SL_LIT("ts"), .create_schema = SL_LIT("{\"a\":1}"), .hive_style = true};
    struct sl_hudi_properties p, q;
    struct sl_hudi_config c;
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_properties_new(&t, &p, &err), err);
    assert_ok(sl_hudi_properties_encode(&p, 0, &b, &err), err);
    assert_non_null(strstr(b.p, "hoodie.table.create.schema={\"a\"\\:1}\n"));
    assert_non_null(strstr(b.p, "hoodie.table.checksum=454464632\n"));
    assert_ok(sl_hudi_properties_parse(sl_buf_view(&b), &q, &err), err);
    assert_ok(sl_hudi_config_read(&q, &c, &err), err);
    assert_true(c.version == 6 && c.layout == 1 && c.type == SL_HUDI_MOR && c.nkeys == 1 && c.npartition == 2 && c.nordering == 1);
    assert_true(sl_str_eqc(c.partition_fields[1], "day") && sl_str_eqc(c.ordering_fields[0], "ts"));
    assert_true(c.keygen == SL_HUDI_KEYGEN_COMPLEX && c.merge == SL_HUDI_EVENT_TIME && c.hive_style && !c.url_encode && c.timezone_utc);
    assert_string_equal(c.create_schema.p, "{\"a\":1}");
    static const struct {
        const char *key, *value;
        int code;
    } bad[] = {
        {"hoodie.table.version", "10", SL_EUNSUPPORTED}, {"hoodie.table.version", "5", SL_EUNSUPPORTED}, {"hoodie.table.version", "x", SL_ECORRUPT},
        {"hoodie.timeline.layout.version", "2", SL_EUNSUPPORTED}, {"hoodie.table.base.file.format", "ORC", SL_EUNSUPPORTED},
        {"hoodie.table.type", "OTHER", SL_EUNSUPPORTED}, {"hoodie.table.checksum", "1", SL_ECORRUPT}, {"hoodie.table.name", "", SL_ECORRUPT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sl_str now = sl_hudi_properties_get(&q, bad[i].key);

        assert_ok(sl_hudi_properties_set(&q, sl_str_c(bad[i].key), sl_str_c(bad[i].value), &err), err);
        assert_code(sl_hudi_config_read(&q, &c, &err), bad[i].code);
        if (now.p)
            assert_ok(sl_hudi_properties_set(&q, sl_str_c(bad[i].key), now, &err), err);
        else
            sl_hudi_properties_unset(&q, bad[i].key);
    }
    assert_ok(sl_hudi_properties_set(&q, SL_LIT("hoodie.compaction.payload.class"), SL_LIT("com.example.Own"), &err), err);
    assert_ok(sl_hudi_config_read(&q, &c, &err), err);
    assert_true(c.merge == SL_HUDI_MERGE_CUSTOM && sl_str_eqc(c.merge_text, "com.example.Own"));
    sl_hudi_properties_release(&p);
    sl_hudi_properties_release(&q);
    sl_buf_release(&b);
}

/* ---- contents of timeline files ---- */

static void commits(void **state)
{
    const sl_str logs[] = {SL_LIT(".f_20250331030642808.log.1_0-26-85")}, ids[] = {SL_LIT("old-0"), SL_LIT("old-1")};
    const struct sl_hudi_stat stats[] = {
        {.partition = SL_LIT("p=1"), .partition_path = SL_LIT("p=1"), .file_id = SL_LIT("f"), .path = SL_LIT("p=1/x"), .prev_commit = SL_LIT("20250331030642808"),
         .num_writes = 1, .num_update_writes = 1, .total_write_bytes = 1148, .file_size = 1148, .log_version = 1, .base_file = SL_LIT("b.parquet"),
         .log_files = logs, .nlog_files = 1, .has_runtime = true, .upsert_millis = 296},
        {.partition = SL_LIT(""), .file_id = SL_LIT(""), .prev_commit = SL_LIT("null"), .num_inserts = 7},
        {.partition = SL_LIT("p=1"), .partition_path = SL_LIT("p=1"), .file_id = SL_LIT("g"), .path = SL_LIT("p=1/\"y\""), .prev_commit = SL_LIT("null"),
         .log_version = 3},
    };
    const struct sl_hudi_kv extra[] = {{SL_LIT("schema"), SL_LIT("{\"type\":\"record\"}")}, {SL_LIT("sluice.position"), SL_LIT("a\nb")}};
    const struct sl_hudi_replaced replaced[] = {{SL_LIT("p=1"), ids, 2}};
    struct sl_hudi_commit c = {.stats = stats, .nstats = 3, .extra = extra, .nextra = 2, .operation = SL_LIT("UPSERT"), .replaced = replaced,
                               .nreplaced = 1, .replace = true}, d;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_hudi_commit_encode(&c, &b, &err), err);
    assert_ok(sl_hudi_commit_decode(&a, sl_buf_view(&b), &d, &err), err);
    assert_int_equal(d.nstats, 3);
    assert_true(sl_str_eqc(d.stats[0].file_id, "f") && sl_str_eqc(d.stats[1].file_id, "g") && d.stats[2].num_inserts == 7);
    assert_true(d.stats[0].has_runtime && d.stats[0].upsert_millis == 296 && d.stats[0].nlog_files == 1 && !d.stats[1].base_file.p);
    assert_string_equal(sl_hudi_commit_extra(&d, "sluice.position").p, "a\nb");
    assert_true(d.nreplaced == 1 && d.replaced[0].nfile_ids == 2 && sl_str_eqc(d.replaced[0].file_ids[1], "old-1"));
    assert_null(strstr(b.p, "\"baseFile\":\"\""));
    assert_ok(sl_hudi_commit_encode(&d, &again, &err), err);
    assert_string_equal(again.p, b.p);
    for (size_t i = 1; i < b.n; i++)
        assert_code(sl_hudi_commit_decode(&a, sl_str_sub(sl_buf_view(&b), 0, i), &d, &err), SL_ECORRUPT);
    assert_ok(sl_hudi_commit_decode(&a, (sl_str){NULL, 0}, &d, &err), err);
    assert_int_equal(d.nstats, 0);
    static const char *const bad[] = {"[]", "{\"partitionToWriteStats\":[]}", "{\"partitionToWriteStats\":{\"p\":{}}}", "{\"compacted\":1}",
                                      "{\"partitionToWriteStats\":{\"p\":[{\"numWrites\":\"1\"}]}}", "{\"extraMetadata\":{\"a\":1}}",
                                      "{\"partitionToReplaceFileIds\":{\"p\":[1]}}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(sl_hudi_commit_decode(&a, sl_str_c(bad[i]), &d, &err), SL_ECORRUPT);
    sl_buf_release(&b);
    sl_buf_release(&again);
    sl_arena_release(&a);
}

/* Containers end with their random marker, and have it before the block too. */
static void same_but_marker(struct sl_buf *a, struct sl_buf *b)
{
    char marker[16];

    memcpy(marker, b->p + b->n - 16, 16);
    for (char *at; (at = memmem(b->p, b->n, marker, 16)) != NULL;)
        memcpy(at, a->p + a->n - 16, 16);
    assert_memory_equal(a->p, b->p, a->n);
}

/* Encoded, decoded, encoded again: the same record; and no cut of the bytes is taken. */
#define ROUND_TRIP(function, type, value)                                                                                    \
    do {                                                                                                                     \
        struct sl_buf one_ = SL_BUF_INIT, two_ = SL_BUF_INIT;                                                                \
        struct type back_;                                                                                                   \
        assert_ok(sl_hudi_##function##_encode(&(value), &one_, &err), err);                                                  \
        assert_ok(sl_hudi_##function##_decode(&a, sl_buf_view(&one_), &back_, &err), err);                                   \
        assert_ok(sl_hudi_##function##_encode(&back_, &two_, &err), err);                                                    \
        assert_int_equal(one_.n, two_.n);                                                                                    \
        same_but_marker(&one_, &two_);                                                                                       \
        for (size_t i_ = 1; i_ < one_.n; i_++)                                                                               \
            assert_true(sl_hudi_##function##_decode(&a, sl_str_sub(sl_buf_view(&one_), 0, i_), &back_, &err) != SL_OK);      \
        sl_buf_release(&one_);                                                                                               \
        sl_buf_release(&two_);                                                                                               \
    } while (0)

static void plans(void **state)
{
    const sl_str names[] = {SL_LIT(".a_20250331030642808.log.1_0-1-2"), SL_LIT(".a_20250331030642808.log.2_0-1-2")};
    const struct sl_hudi_metric metrics[] = {{SL_LIT("TOTAL_LOG_FILES"), 2}, {SL_LIT("TOTAL_LOG_FILES_SIZE"), 2117}};
    const struct sl_hudi_compaction_op ops[] = {
        {.base_instant = SL_LIT("20250331030642808"), .file_id = SL_LIT("a"), .partition = SL_LIT("p"), .data_file = SL_LIT("a.parquet"), .log_files = names,
         .nlog_files = 2, .metrics = metrics, .nmetrics = 2},
        {.base_instant = SL_LIT("20250331030642809"), .file_id = SL_LIT("b"), .partition = SL_LIT("")},
    };
    const struct sl_hudi_compaction_plan plan = {.ops = ops, .nops = 2};
    const struct sl_hudi_size sizes[] = {{SL_LIT("x"), INT64_C(1) << 40}};
    const struct sl_hudi_rollback_request requests[] = {{.partition = SL_LIT("p"), .file_id = SL_LIT(""), .base_instant = SL_LIT(""), .delete_files = names,
                                                         .ndelete_files = 2, .log_blocks = sizes, .nlog_blocks = 1}};
    const struct sl_hudi_rollback_plan rp = {.target = {SL_LIT("20250331030642808"), SL_LIT("deltacommit")}, .requests = requests, .nrequests = 1};
    const struct sl_hudi_rollback_partition rolled[] = {{.partition = SL_LIT("p"), .deleted = names, .ndeleted = 2, .rollback_logs = sizes, .nrollback_logs = 1}};
    const struct sl_hudi_instant_info infos[] = {{SL_LIT("20250331030642808"), SL_LIT("deltacommit")}};
    const struct sl_hudi_rollback r = {.start = SL_LIT("20250331030642899"), .millis = 5, .files_deleted = 2, .commits = names, .ncommits = 1,
                                       .partitions = rolled, .npartitions = 1, .instants = infos, .ninstants = 1};
    const struct sl_hudi_clean_file clean_file[] = {{SL_LIT("p/a"), false}, {SL_LIT("p/b"), true}};
    const struct sl_hudi_clean_files clean_files[] = {{SL_LIT("p"), clean_file, 2}};
    const struct sl_hudi_clean_plan cp = {.has_earliest = true, .earliest = SL_LIT("1"), .earliest_action = SL_LIT("commit"), .earliest_state = SL_LIT("COMPLETED"),
                                          .last_completed = SL_LIT("2"), .policy = SL_LIT("KEEP_LATEST_COMMITS"), .partitions = clean_files, .npartitions = 1};
    const struct sl_hudi_clean_partition cleaned[] = {{.partition = SL_LIT("p"), .policy = SL_LIT("KEEP_LATEST_COMMITS"), .patterns = names, .npatterns = 1,
                                                       .deleted = names, .ndeleted = 2, .dropped = true}};
    const struct sl_hudi_clean clean = {.start = SL_LIT("3"), .earliest_retained = SL_LIT("1"), .last_completed = SL_LIT("2"), .partitions = cleaned,
                                        .npartitions = 1};
    const struct sl_hudi_savepoint_partition saved[] = {{SL_LIT("p"), names, 2}};
    const struct sl_hudi_savepoint savepoint = {.by = SL_LIT("me"), .comments = SL_LIT(""), .at_millis = 9, .partitions = saved, .npartitions = 1};
    struct sl_arena a = SL_ARENA_INIT;

    (void)state;
    ROUND_TRIP(compaction, sl_hudi_compaction_plan, plan);
    ROUND_TRIP(rollback_plan, sl_hudi_rollback_plan, rp);
    ROUND_TRIP(rollback, sl_hudi_rollback, r);
    ROUND_TRIP(clean_plan, sl_hudi_clean_plan, cp);
    struct sl_hudi_clean_plan cp_read;
    struct sl_buf cp_bytes = SL_BUF_INIT;
    assert_int_equal(sl_hudi_clean_plan_encode(&cp, &cp_bytes, NULL), SL_OK);
    assert_int_equal(sl_hudi_clean_plan_decode(&a, sl_buf_view(&cp_bytes), &cp_read, NULL), SL_OK);
    assert_true(cp_read.has_earliest);
    sl_buf_release(&cp_bytes);
    ROUND_TRIP(clean, sl_hudi_clean, clean);
    ROUND_TRIP(savepoint, sl_hudi_savepoint, savepoint);
    sl_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants), cmocka_unit_test(timeline), cmocka_unit_test(files), cmocka_unit_test(partitions), cmocka_unit_test(syntax),
        cmocka_unit_test(checksums), cmocka_unit_test(config), cmocka_unit_test(commits), cmocka_unit_test(plans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
