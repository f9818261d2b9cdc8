/* Every file of the Hudi tables that the reference engines wrote. Skipped where the folder is not there. */
#include "unit.h"

#include <ftw.h>
#include <string.h>

#include "format/hudi_avro.h"
#include "format/hudi_index.h"
#include "format/hudi_log.h"
#include "format/hudi_meta.h"
#include "format/hudi_names.h"

static sl_err err = SL_ERR_INIT;
static char root[4096];
static size_t logs, blocks, rows, deleted, timeline, properties, partitions, filters;

static void read_file(const char *path, struct sl_buf *out)
{
    FILE *f = fopen(path, "rb");
    char piece[8192];

    assert_non_null(f);
    sl_buf_reset(out);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        sl_buf_addb(out, piece, n);
    fclose(f);
}

/* ---- logs ---- */

/* Each record into a batch and back: the same bytes, and the key is the one that is found without decoding. */
static void avro_block(const struct sl_hudi_block *block, sl_str content)
{
    struct sl_hudi_schema s;
    struct sl_hudi_decoder *d;
    struct sl_hudi_encoder *e;
    struct sl_hudi_records r;
    struct sl_batch *b;
    struct sl_buf out = SL_BUF_INIT;
    struct sl_field cols[200];
    sl_str record, key;

    assert_ok(sl_hudi_schema_parse(sl_hudi_header(block, SL_HUDI_H_SCHEMA), &s, &err), err);
    assert_true(s.has_meta && sl_hudi_key_is_third(s.avro));
    static const struct sl_type text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        cols[i] = (struct sl_field){.name = sl_hudi_meta_fields[i], .type = &text};
    memcpy(cols + SL_HUDI_NMETA, s.fields, s.nfields * sizeof *cols);
    struct sl_hudi_projection p = {.cols = cols, .ncols = s.nfields + SL_HUDI_NMETA};
    assert_ok(sl_hudi_decoder_new(s.avro, &p, &d, &err), err);
    assert_ok(sl_hudi_encoder_new(s.avro, cols, p.ncols, &e, &err), err);
    assert_ok(sl_batch_new(cols, p.ncols, &b, &err), err);
    assert_ok(sl_hudi_records_open(content, &r, &err), err);
    while (sl_hudi_records_next(&r, &record)) {
        struct sl_hudi_meta_values meta;

        assert_ok(sl_hudi_decoder_row(d, record, b, 0, &err), err);
        for (size_t i = 0; i < SL_HUDI_NMETA; i++)
            meta.v[i] = sl_vector_is_null(&b->cols[i], 0) ? (sl_str){NULL, 0} : sl_vector_bytes(&b->cols[i], 0);
        sl_buf_reset(&out);
        assert_ok(sl_hudi_encoder_row(e, &meta, b, 0, &out, &err), err);
        assert_true(sl_str_eq(sl_buf_view(&out), record));
        assert_true(sl_hudi_record_key(record, &key) && sl_str_eq(key, meta.v[SL_HUDI_META_KEY]));
        sl_batch_reset(b);
        rows++;
    }
    assert_ok(sl_hudi_records_end(&r, &err), err);
    sl_batch_free(b);
    sl_hudi_decoder_free(d);
    sl_hudi_encoder_free(e);
    sl_hudi_schema_release(&s);
    sl_buf_release(&out);
}

static void delete_block(sl_str content)
{
    struct sl_hudi_deletes d;
    SL_VEC(struct sl_hudi_delete) all = {0};
    struct sl_hudi_delete one;
    struct sl_buf out = SL_BUF_INIT;
    bool more = true;

    assert_ok(sl_hudi_deletes_open(content, &d, &err), err);
    for (;;) {
        assert_ok(sl_hudi_deletes_next(&d, &one, &more, &err), err);
        if (!more)
            break;
        assert_true(one.key.n > 0 && sl_hudi_ordering_none(&one.ordering));
        *sl_vec_push(&all) = one;
        deleted++;
    }
    assert_ok(sl_hudi_deletes_encode(all.v, all.n, &out, &err), err);
    assert_true(sl_str_eq(sl_buf_view(&out), content));
    sl_free(all.v);
    sl_buf_release(&out);
}

static size_t items(sl_str bytes, size_t *damages)
{
    struct sl_hudi_source source;
    struct sl_hudi_log *l;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_block b;
    struct sl_hudi_damage d;
    enum sl_hudi_item item;
    size_t n = 0;

    *damages = 0;
    sl_hudi_source_memory(&bytes, &source);
    assert_ok(sl_hudi_log_open(&source, &l, &err), err);
    for (;;) {
        assert_ok(sl_hudi_log_next(l, &a, &item, &b, &d, &err), err);
        if (item == SL_HUDI_ITEM_END)
            break;
        n += item == SL_HUDI_ITEM_BLOCK;
        *damages += item == SL_HUDI_ITEM_DAMAGE;
        assert_true(item == SL_HUDI_ITEM_BLOCK || !d.whole);
    }
    sl_hudi_log_close(l);
    sl_arena_release(&a);
    return n;
}

static void log_file(const char *name, sl_str bytes)
{
    struct sl_hudi_source source;
    struct sl_hudi_log_name parsed;
    struct sl_hudi_log *l;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_block b;
    struct sl_hudi_damage d;
    enum sl_hudi_item item;
    int64_t instant, at = 0;
    size_t damages, count = 0;

    assert_true(sl_hudi_log_parse(sl_str_c(name), &parsed));
    sl_hudi_source_memory(&bytes, &source);
    assert_ok(sl_hudi_log_open(&source, &l, &err), err);
    for (;; count++) {
        assert_ok(sl_hudi_log_next(l, &a, &item, &b, &d, &err), err);
        if (item == SL_HUDI_ITEM_END)
            break;
        assert_int_equal(item, SL_HUDI_ITEM_BLOCK);
        assert_true(b.offset == at && b.nfooter == 0 && sl_hudi_instant_parse(sl_hudi_header(&b, SL_HUDI_H_INSTANT), &instant));
        at = b.offset + b.size;
        sl_str content = sl_str_sub(bytes, (size_t)b.content_offset, (size_t)(b.content_offset + b.content_size));
        if (b.type == SL_HUDI_BLOCK_AVRO)
            avro_block(&b, content);
        else if (b.type == SL_HUDI_BLOCK_DELETE)
            delete_block(content);
        else if (b.type == SL_HUDI_BLOCK_PARQUET)
            assert_true(sl_str_starts(content, "PAR1") && sl_str_ends(content, "PAR1"));
        else
            assert_true(b.type == SL_HUDI_BLOCK_COMMAND && sl_str_eqc(sl_hudi_header(&b, SL_HUDI_H_COMMAND), "0"));
        assert_int_equal(b.records, b.type == SL_HUDI_BLOCK_AVRO ? 1 : -1);
        blocks++;
    }
    assert_true(at == (int64_t)bytes.n && count == 1); /* all of the fixtures hold one block */
    for (size_t cut = 1; cut < bytes.n; cut += bytes.n > 3000 ? 61 : 1) {
        assert_int_equal(items(sl_str_sub(bytes, 0, cut), &damages), 0);
        assert_int_equal(damages, 1);
    }
    sl_hudi_log_close(l);
    sl_arena_release(&a);
    logs++;
}

/* ---- the timeline ---- */

static void same_commit(const struct sl_hudi_commit *a, const struct sl_hudi_commit *b)
{
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;

    assert_ok(sl_hudi_commit_encode(a, &one, &err), err);
    assert_ok(sl_hudi_commit_encode(b, &two, &err), err);
    assert_string_equal(one.p, two.p);
    sl_buf_release(&one);
    sl_buf_release(&two);
}

static void commit_file(struct sl_arena *a, sl_str bytes, bool completed)
{
    struct sl_hudi_commit c, back;
    struct sl_buf out = SL_BUF_INIT;
    json_t *ours = NULL, *theirs = NULL;

    assert_ok(sl_hudi_commit_decode(a, bytes, &c, &err), err);
    assert_true(!completed || (c.operation.n && sl_hudi_commit_extra(&c, "schema").n));
    assert_ok(sl_hudi_commit_encode(&c, &out, &err), err);
    assert_ok(sl_hudi_commit_decode(a, sl_buf_view(&out), &back, &err), err);
    same_commit(&c, &back);
    if (bytes.n && bytes.p[0] == '{') { /* as documents, ours and theirs are the same */
        assert_ok(sl_json_parse(bytes, &theirs, &err), err);
        assert_ok(sl_json_parse(sl_buf_view(&out), &ours, &err), err);
        assert_true(json_equal(ours, theirs));
    }
    json_decref(ours);
    json_decref(theirs);
    sl_buf_release(&out);
}

static void timeline_file(const struct sl_hudi_timeline_name *t, sl_str bytes)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_compaction_plan plan;
    struct sl_hudi_rollback_plan rollback_plan;
    struct sl_hudi_rollback rollback;

    if (t->state == SL_HUDI_REQUESTED && bytes.n && t->action == SL_HUDI_COMPACTION) {
        assert_ok(sl_hudi_compaction_decode(&a, bytes, &plan, &err), err);
        assert_true(plan.nops > 0 && plan.ops[0].nlog_files > 0 && plan.ops[0].file_id.n);
    } else if (t->action == SL_HUDI_ROLLBACK && t->state == SL_HUDI_REQUESTED) {
        assert_ok(sl_hudi_rollback_plan_decode(&a, bytes, &rollback_plan, &err), err);
        assert_true(rollback_plan.nrequests > 0 && sl_str_eqc(rollback_plan.target.action, "deltacommit"));
    } else if (t->action == SL_HUDI_ROLLBACK && t->state == SL_HUDI_COMPLETED) {
        assert_ok(sl_hudi_rollback_decode(&a, bytes, &rollback, &err), err);
        assert_true(rollback.ncommits == 1 && rollback.ninstants == 1);
    } else if (t->state == SL_HUDI_COMPLETED) {
        commit_file(&a, bytes, true);
    } else if (bytes.n && t->state == SL_HUDI_INFLIGHT && (t->action == SL_HUDI_DELTACOMMIT || t->action == SL_HUDI_COMMIT)) {
        commit_file(&a, bytes, false);
    }
    sl_arena_release(&a);
    timeline++;
}

static void properties_file(sl_str bytes)
{
    struct sl_hudi_properties p, again;
    struct sl_hudi_config c;
    struct sl_hudi_schema s;
    struct sl_buf out = SL_BUF_INIT;

    assert_ok(sl_hudi_properties_parse(bytes, &p, &err), err);
    assert_ok(sl_hudi_config_read(&p, &c, &err), err);
    assert_true(c.nkeys > 0 && c.merge != SL_HUDI_MERGE_CUSTOM);
    if (c.create_schema.n) {
        assert_ok(sl_hudi_schema_parse(c.create_schema, &s, &err), err);
        sl_hudi_schema_release(&s);
    }
    assert_ok(sl_hudi_properties_encode(&p, 0, &out, &err), err);
    assert_ok(sl_hudi_properties_parse(sl_buf_view(&out), &again, &err), err);
    assert_int_equal(again.n, p.n);
    for (size_t i = 0; i < p.n; i++)
        assert_true(sl_str_eq(sl_hudi_properties_get(&again, p.v[i].key.p), p.v[i].value));
    sl_hudi_properties_release(&p);
    sl_hudi_properties_release(&again);
    sl_buf_release(&out);
    properties++;
}

/* ---- filters of base files ---- */

/* The value after KEY in a Parquet footer: 0x18, a varint length, the bytes. */
static sl_str footer_value(sl_str file, const char *key)
{
    const char *at = memmem(file.p, file.n, key, strlen(key));
    size_t n = 0;

    if (!at)
        return (sl_str){NULL, 0};
    at += strlen(key);
    assert_int_equal(*at++, 0x18);
    for (int shift = 0;; shift += 7) {
        unsigned char c = (unsigned char)*at++;

        n |= (size_t)(c & 0x7f) << shift;
        if (c < 0x80)
            break;
    }
    return (sl_str){at, n};
}

static void base_file(const char *name, sl_str bytes)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_base_name n;
    const struct sl_hudi_kv kv[] = {
        {SL_LIT(SL_HUDI_KV_BLOOM), footer_value(bytes, SL_HUDI_KV_BLOOM)}, {SL_LIT(SL_HUDI_KV_BLOOM_TYPE), footer_value(bytes, SL_HUDI_KV_BLOOM_TYPE)},
        {SL_LIT(SL_HUDI_KV_MIN), footer_value(bytes, SL_HUDI_KV_MIN)}, {SL_LIT(SL_HUDI_KV_MAX), footer_value(bytes, SL_HUDI_KV_MAX)},
    };
    struct sl_hudi_index x;
    struct sl_bloom_key k;

    assert_true(sl_hudi_base_parse(sl_str_c(name), &n));
    assert_ok(sl_hudi_index_from_kv(&a, kv, 4, &x, &err), err);
    if (x.has_filter && x.has_range) {
        sl_bloom_key_init(&k, x.min);
        assert_int_equal(sl_hudi_index_test(&x, &k), SL_HUDI_MAYBE);
        sl_bloom_key_init(&k, x.max);
        assert_int_equal(sl_hudi_index_test(&x, &k), SL_HUDI_MAYBE);
        filters++;
    }
    if (strstr(name, "1900ff60-ed76-4f51-823b-dbcb27f05a0c-0") && strstr(name, "_20260307135926671.")) { /* vector (4) of the facts */
        struct sl_bloom b;
        struct sl_buf ours = SL_BUF_INIT, text = SL_BUF_INIT;

        assert_ok(sl_bloom_new_dynamic(&a, 60000, 1e-9, 100000, &b, &err), err);
        for (int i = 1; i <= 8; i++) {
            char key[24];

            snprintf(key, sizeof key, "TXN-%03d", i);
            assert_ok(sl_bloom_add(&b, sl_str_c(key), &err), err);
        }
        sl_bloom_encode(&b, &ours);
        assert_int_equal(ours.n, 323534);
        sl_buf_base64(&text, sl_buf_view(&ours));
        assert_int_equal(text.n, 431380);
        assert_true(sl_str_eq(sl_buf_view(&text), kv[0].value));
        sl_buf_release(&ours);
        sl_buf_release(&text);
        filters += 1000;
    }
    sl_arena_release(&a);
}

/* ---- the walk ---- */

static int one_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
    const char *name = path + where->base;
    struct sl_hudi_timeline_name t;
    struct sl_buf b = SL_BUF_INIT;
    int64_t instant, depth;
    size_t n = strlen(name);

    (void)st;
    if (type != FTW_F || strstr(path, "__MACOSX") || strncmp(name, "._", 2) == 0 || (n > 4 && strcmp(name + n - 4, ".crc") == 0))
        return 0;
    read_file(path, &b);
    sl_str bytes = b.p ? sl_buf_view(&b) : (sl_str){"", 0};
    if (strcmp(name, "hoodie.properties") == 0) {
        properties_file(bytes);
    } else if (strcmp(name, ".hoodie_partition_metadata") == 0) {
        assert_ok(sl_hudi_partition_file_parse(bytes, &instant, &depth, &err), err);
        assert_true(depth >= 0 && depth <= 2);
        partitions++;
    } else if (strstr(name, ".log.")) {
        log_file(name, bytes);
    } else if (n > 8 && strcmp(name + n - 8, ".parquet") == 0) {
        base_file(name, bytes);
    } else if (strstr(path, "/.hoodie/") && sl_hudi_timeline_parse(sl_str_c(name), strstr(path, "/timeline/") ? 2 : 1, &t)) {
        timeline_file(&t, bytes);
    }
    sl_buf_release(&b);
    return 0;
}

static void all_files(void **state)
{
    const char *fixtures = getenv("SLUICE_FIXTURES");
    char command[9000];

    (void)state;
    if (!fixtures)
        skip();
    snprintf(command, sizeof command, "cd '%s/hudi' 2>/dev/null && ls *.zip >/dev/null 2>&1", fixtures);
    if (system(command) != 0)
        skip();
    snprintf(root, sizeof root, "%s", unit_folder());
    snprintf(command, sizeof command, "cd '%s' && for z in '%s'/hudi/*.zip; do python3 -m zipfile -e \"$z\" . || exit 1; done; cp -r '%s/hudi/logs' .",
             root, fixtures, fixtures);
    assert_int_equal(system(command), 0);
    assert_int_equal(nftw(root, one_file, 20, FTW_PHYS), 0);
    print_message("%zu logs, %zu blocks, %zu rows, %zu deletes, %zu timeline files, %zu tables, %zu partitions, %zu filters\n", logs, blocks, rows,
                  deleted, timeline, properties, partitions, filters);
    assert_true(logs >= 15 && blocks == logs && rows >= 5 && deleted >= 5 && timeline >= 100 && properties == 10 && partitions >= 12 && filters > 1000);
    unit_folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_files)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
