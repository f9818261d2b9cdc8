/* Each allocation of Hudi's formats fails once: out of memory is an ordinary error, and nothing leaks. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "format/hudi_avro.h"
#include "format/hudi_describe.h"
#include "format/hudi_index.h"
#include "format/hudi_log.h"
#include "format/hudi_meta.h"

static const struct sl_type text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
static const struct sl_type list = {.kind = SL_ARRAY, .nullable = true, .element = &text};
static const struct sl_field fields[] = {{0, "id", &text, NULL, NULL}, {1, "tags", &list, NULL, NULL}};

static int encode_rows(const struct sl_hudi_schema *s, struct sl_buf *content, sl_err *err)
{
    struct sl_hudi_meta_values meta = {.v = {SL_LIT("20260102030405678"), SL_LIT("s"), SL_LIT("a key that is long"), SL_LIT(""), SL_LIT("f")}};
    struct sl_hudi_encoder *e = NULL;
    struct sl_hudi_content c;
    struct sl_batch *b = NULL;
    size_t at;
    int rc;

    SL_GO(sl_hudi_encoder_new(s->avro, fields, 2, &e, err));
    SL_GO(sl_batch_new(fields, 2, &b, err));
    SL_GO(sl_vector_put_bytes(&b->cols[0], 0, SL_LIT("a key that is long"), err));
    sl_vector_list_begin(&b->cols[1], 0);
    SL_GO(sl_vector_list_put(&b->cols[1], &at, err));
    SL_GO(sl_vector_set_null(&b->cols[1].children[0], at, err));
    sl_vector_list_end(&b->cols[1], 0);
    sl_hudi_content_begin(&c, content);
    sl_hudi_content_record(&c);
    SL_GO(sl_hudi_encoder_row(e, &meta, b, 0, content, err));
    SL_GO(sl_hudi_content_record_end(&c, err));
    SL_GO(sl_hudi_content_end(&c, err));
done:
    sl_batch_free(b);
    sl_hudi_encoder_free(e);
    return rc;
}

static int decode_rows(const struct sl_hudi_schema *s, sl_str content, sl_err *err)
{
    struct sl_hudi_projection p = {.cols = fields, .ncols = 2};
    struct sl_hudi_decoder *d = NULL;
    struct sl_hudi_records r;
    struct sl_batch *b = NULL;
    sl_str record;
    int rc;

    SL_GO(sl_hudi_decoder_new(s->avro, &p, &d, err));
    SL_GO(sl_batch_new(fields, 2, &b, err));
    SL_GO(sl_hudi_records_open(content, &r, err));
    while (sl_hudi_records_next(&r, &record))
        SL_GO(sl_hudi_decoder_row(d, record, b, 0, err));
    rc = sl_hudi_records_end(&r, err);
done:
    sl_batch_free(b);
    sl_hudi_decoder_free(d);
    return rc;
}

static int whole_log(sl_err *err)
{
    const sl_str keys[] = {SL_LIT("a key that is long")};
    struct sl_buf schema = SL_BUF_INIT, with = SL_BUF_INIT, content = SL_BUF_INIT, json = SL_BUF_INIT, file = SL_BUF_INIT;
    struct sl_hudi_schema s = SL_HUDI_SCHEMA_INIT;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_index x;
    struct sl_hudi_source source;
    json_t *doc = NULL;
    sl_str bytes;
    int rc;

    SL_GO(sl_hudi_schema_encode(SL_LIT("t"), fields, 2, false, &schema, err));
    SL_GO(sl_hudi_schema_add_meta(sl_buf_view(&schema), &with, err));
    SL_GO(sl_hudi_schema_parse(sl_buf_view(&with), &s, err));
    SL_GO(encode_rows(&s, &content, err));
    SL_GO(decode_rows(&s, sl_buf_view(&content), err));
    SL_GO(sl_hudi_index_build(&a, keys, 1, 1e-9, &x, err));
    sl_hudi_index_json(&x, &json);
    SL_GO(sl_buf_ok(&json, err));
    SL_GO(sl_hudi_index_parse(&a, sl_buf_view(&json), &x, err));
    struct sl_hudi_block_out block = {.type = SL_HUDI_BLOCK_AVRO, .instant = 1, .schema = sl_buf_view(&with), .index = sl_buf_view(&json)};
    SL_GO(sl_hudi_block_put(&block, sl_buf_view(&content), &file, err));
    sl_buf_addc(&file, "torn");
    SL_GO(sl_buf_ok(&file, err));
    bytes = sl_buf_view(&file);
    sl_hudi_source_memory(&bytes, &source);
    SL_GO(sl_hudi_log_describe(&source, &doc, err));
    sl_buf_reset(&json);
    sl_hudi_log_text(SL_LIT("log"), doc, &json);
    rc = sl_buf_ok(&json, err);
done:
    json_decref(doc);
    sl_hudi_schema_release(&s);
    sl_arena_release(&a);
    sl_buf_release(&schema);
    sl_buf_release(&with);
    sl_buf_release(&content);
    sl_buf_release(&json);
    sl_buf_release(&file);
    return rc;
}

static int metadata(sl_err *err)
{
    const sl_str names[] = {SL_LIT("a"), SL_LIT("b")};
    const struct sl_hudi_stat stats[] = {{.partition = SL_LIT("p"), .file_id = SL_LIT("f"), .log_version = 1, .log_files = names, .nlog_files = 2}};
    const struct sl_hudi_kv extra[] = {{SL_LIT("schema"), SL_LIT("{}")}};
    const struct sl_hudi_compaction_op ops[] = {{.base_instant = SL_LIT("1"), .file_id = SL_LIT("f"), .log_files = names, .nlog_files = 2}};
    struct sl_hudi_commit commit = {.stats = stats, .nstats = 1, .extra = extra, .nextra = 1};
    struct sl_hudi_compaction_plan plan = {.ops = ops, .nops = 1};
    struct sl_hudi_new_table t = {.name = SL_LIT("t"), .key_fields = names, .nkeys = 2, .create_schema = SL_LIT("{}")};
    struct sl_hudi_properties p = SL_HUDI_PROPERTIES_INIT, q = SL_HUDI_PROPERTIES_INIT;
    struct sl_hudi_config c;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    SL_GO(sl_hudi_commit_encode(&commit, &b, err));
    SL_GO(sl_hudi_commit_decode(&a, sl_buf_view(&b), &commit, err));
    sl_buf_reset(&b);
    SL_GO(sl_hudi_compaction_encode(&plan, &b, err));
    SL_GO(sl_hudi_compaction_decode(&a, sl_buf_view(&b), &plan, err));
    sl_buf_reset(&b);
    SL_GO(sl_hudi_properties_new(&t, &p, err));
    SL_GO(sl_hudi_properties_encode(&p, 0, &b, err));
    SL_GO(sl_hudi_properties_parse(sl_buf_view(&b), &q, err));
    rc = sl_hudi_config_read(&q, &c, err);
done:
    sl_hudi_properties_release(&p);
    sl_hudi_properties_release(&q);
    sl_arena_release(&a);
    sl_buf_release(&b);
    return rc;
}

static void each_fails(int (*fn)(sl_err *err))
{
    sl_err err = SL_ERR_INIT;
    int64_t n = 1;

    assert_ok(fn(&err), err);
    for (;; n++) {
        int64_t before = sl_mem_count();

        sl_mem_fail_nth(n);
        int rc = fn(&err);
        bool failed = sl_mem_count() - before >= n;
        sl_mem_fail_nth(0);
        if (!failed) {
            assert_ok(rc, err);
            break;
        }
        if (rc != SL_ENOMEM)
            fail_msg("allocation %d: %s: %s", (int)n, sl_code_name(rc), err.text);
    }
    assert_true(n > 10);
}

static void logs(void **state)
{
    (void)state;
    each_fails(whole_log);
}

static void timeline(void **state)
{
    (void)state;
    each_fails(metadata);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(logs), cmocka_unit_test(timeline)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
