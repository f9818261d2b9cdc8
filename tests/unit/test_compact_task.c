/* test_compact_task.c - task and result lines: golden ones, and bad ones that must be refused. */
#include "unit.h"

#include <string.h>

#include "compact/task.h"

/* A partition row of one INT, 1: arity 1, then header and value. */
#define PARTITION "AAAAAQAAAAAAAAAAAQAAAAAAAAA="
#define HEAD(kind, version) "{\"sluice\":\"" kind "\",\"version\":" version ","
#define TASK_BODY(id, inputs)                                                                                              \
    "\"id\":\"" id "\",\"table\":\"/data/w/default.db/t\",\"snapshot\":7,\"mark\":\"0f2d\",\"schema\":1,\"partition\":\""   \
    PARTITION "\",\"partitionText\":\"pt=1\",\"targetBytes\":268435456,\"inputs\":[" inputs "]}"
#define ID "11111111-2222-4333-8444-555555555555"
#define INPUT_1                                                                                                            \
    "{\"file\":\"data-a-0.parquet\",\"size\":1000,\"rows\":10,\"schema\":0,\"bucket\":0,\"totalBuckets\":-1,\"level\":0,"   \
    "\"minSequence\":0,\"maxSequence\":9,\"created\":1755880762233,\"deletedRows\":0,\"source\":0}"
#define INPUT_2                                                                                                            \
    "{\"file\":\"data-b-0.parquet\",\"size\":2000,\"rows\":20,\"schema\":1,\"bucket\":0,\"totalBuckets\":-1,\"level\":0,"   \
    "\"minSequence\":10,\"maxSequence\":29,\"extraFiles\":[\"x.index\"],\"index\":\"AQID\",\"externalPath\":\"file:/x\","   \
    "\"writeCols\":[\"a\",\"b\"],\"dv\":{\"file\":\"index-1\",\"offset\":1,\"length\":22,\"rows\":3}}"
#define TASK HEAD("compact-task", "1") TASK_BODY(ID, INPUT_1 "," INPUT_2)
#define OUTPUT(rows)                                                                                                       \
    "{\"file\":\"data-c-0.parquet\",\"size\":2500,\"rows\":" rows ",\"schema\":1,\"bucket\":0,\"totalBuckets\":-1,"         \
    "\"level\":0,\"minSequence\":0,\"maxSequence\":26,\"created\":1755880762999,\"deletedRows\":0,\"source\":1,"            \
    "\"keyStats\":{\"min\":\"AAAAAAAAAAAAAAAA\",\"max\":\"AAAAAAAAAAAAAAAA\",\"nulls\":[]},"                                \
    "\"stats\":{\"min\":\"" PARTITION "\",\"max\":\"" PARTITION "\",\"nulls\":[0,null]},\"statsCols\":[\"a\"]}"
#define RESULT(rows)                                                                                                       \
    HEAD("compact-result", "1") "\"task\":" TASK ",\"millis\":12,\"rowsDeleted\":3,\"outputs\":[" OUTPUT(rows) "]}"
#define FAILED                                                                                                             \
    HEAD("compact-result", "1") "\"task\":" TASK ",\"millis\":12,\"error\":{\"code\":\"SL_ENOSPC\",\"text\":\"no space\"}}"

static void test_task_golden(void **state)
{
    struct sl_compact_task t;
    struct sl_buf out = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_compact_task_decode(SL_LIT(TASK), &t, &err), err);
    assert_string_equal(t.id, ID);
    assert_string_equal(t.table, "/data/w/default.db/t");
    assert_null(t.branch);
    assert_int_equal(t.snapshot, 7);
    assert_int_equal(t.ninputs, 2);
    assert_int_equal(t.partition.n, 20);
    assert_true(sl_str_eq(t.inputs[1].entry.partition, t.partition));
    assert_false(t.inputs[0].dv.index_file.p != NULL);
    assert_int_equal(t.inputs[1].dv.cardinality, 3);
    assert_true(sl_str_eqc(t.inputs[1].entry.file.external_path, "file:/x"));
    assert_int_equal(t.inputs[1].entry.file.embedded_file_index.n, 3);
    assert_null(t.inputs[0].entry.file.embedded_file_index.p);
    assert_int_equal(t.inputs[0].entry.file.first_row_id, -1);
    assert_true(t.inputs[0].entry.file.has_value_stats_cols);
    assert_ok(sl_compact_task_encode(&t, &out, &err), err);
    assert_string_equal(out.p, TASK);
    sl_buf_release(&out);
    sl_compact_task_release(&t);
}

static void test_result_golden(void **state)
{
    struct sl_compact_result r;
    struct sl_buf out = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_compact_result_decode(SL_LIT(RESULT("27")), &r, &err), err);
    assert_int_equal(r.error, SL_OK);
    assert_int_equal(r.noutputs, 1);
    assert_int_equal(r.rows_deleted, 3);
    assert_int_equal(r.outputs[0].file.value_stats.nnull_counts, 2);
    assert_int_equal(r.outputs[0].file.value_stats.null_counts[1], -1);
    assert_ok(sl_compact_result_encode(&r, &out, &err), err);
    assert_string_equal(out.p, RESULT("27"));
    sl_buf_reset(&out);
    sl_compact_result_release(&r);

    assert_ok(sl_compact_result_decode(SL_LIT(FAILED), &r, &err), err);
    assert_int_equal(r.error, SL_ENOSPC);
    assert_string_equal(r.error_text, "no space");
    assert_ok(sl_compact_result_encode(&r, &out, &err), err);
    assert_string_equal(out.p, FAILED);
    sl_buf_release(&out);
    sl_compact_result_release(&r);
}

static void test_bad_tasks(void **state)
{
    static const struct {
        const char *line, *says;
        int code;
    } bad[] = {
        {"", "JSON", SL_ECORRUPT},
        {"[]", "object", SL_ECORRUPT},
        {"{}", "sluice", SL_ECORRUPT},
        {HEAD("compact-task", "2") TASK_BODY(ID, INPUT_1), "version 2", SL_EUNSUPPORTED},
        {HEAD("compact-task", "\"1\"") TASK_BODY(ID, INPUT_1), "version", SL_ECORRUPT},
        {HEAD("compact-result", "1") TASK_BODY(ID, INPUT_1), "compact-task is needed", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY("no-uuid", INPUT_1), "uuid", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, ""), "inputs", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "7"), "input 1", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "{\"file\":\"../x\",\"size\":1,\"rows\":1,\"schema\":0}"), "file", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "{\"file\":\"x\",\"size\":-1,\"rows\":1,\"schema\":0}"), "size", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "{\"file\":\"x\",\"size\":1,\"rows\":1.5,\"schema\":0}"), "rows", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "{\"file\":\"x\",\"size\":1,\"rows\":1,\"schema\":0,\"index\":\"A\"}"), "base64", SL_ECORRUPT},
        {HEAD("compact-task", "1") TASK_BODY(ID, "{\"file\":\"x\",\"size\":1,\"rows\":1,\"schema\":0,\"dv\":{}}"), "file", SL_ECORRUPT},
        {TASK " ", NULL, SL_OK},
        {TASK "x", "JSON", SL_ECORRUPT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sl_compact_task t;
        sl_err err = SL_ERR_INIT;
        int rc = sl_compact_task_decode(sl_str_c(bad[i].line), &t, &err);

        if (rc != bad[i].code || (bad[i].says && !strstr(err.text, bad[i].says)))
            fail_msg("case %zu: %s: %s", i, sl_code_name(rc), err.text);
        sl_compact_task_release(&t);
    }
}

static void test_rows_must_add_up(void **state)
{
    struct sl_compact_result r;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_code(sl_compact_result_decode(SL_LIT(RESULT("28")), &r, &err), SL_ECORRUPT);
    assert_non_null(strstr(err.text, "do not add up"));
}

static void test_outputs_stay_in_the_table(void **state)
{
    static const char line[] = HEAD("compact-result", "1") "\"task\":" TASK ",\"millis\":1,\"rowsDeleted\":27,\"outputs\":[{\"file\":\"x\","
        "\"size\":1,\"rows\":3,\"schema\":1,\"externalPath\":\"file:/etc/passwd\"}]}";
    struct sl_compact_result r;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_code(sl_compact_result_decode(sl_str_c(line), &r, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "output 1"));
}

/* Every cut of a line is an error, never a crash. */
static void test_cut_lines(void **state)
{
    const sl_str line = SL_LIT(RESULT("27"));

    (void)state;
    for (size_t n = 0; n < line.n; n += 7) {
        struct sl_compact_result r;
        sl_err err = SL_ERR_INIT;

        assert_int_not_equal(sl_compact_result_decode(sl_str_sub(line, 0, n), &r, &err), SL_OK);
    }
}

/* Of writing alone: jansson's reader writes behind its buffer when that cannot grow, and nothing here can change that. */
static void test_out_of_memory(void **state)
{
    struct sl_compact_result r;
    sl_err err = SL_ERR_INIT;
    int rc = SL_ENOMEM;

    (void)state;
    assert_ok(sl_compact_result_decode(SL_LIT(RESULT("27")), &r, &err), err);
    for (int nth = 1; nth < 2000 && rc != SL_OK; nth++) {
        struct sl_buf out = SL_BUF_INIT;

        sl_mem_fail_nth(nth);
        rc = sl_compact_result_encode(&r, &out, &err);
        sl_mem_fail_nth(0);
        assert_true(rc == SL_OK || rc == SL_ENOMEM);
        sl_buf_release(&out);
    }
    assert_int_equal(rc, SL_OK);
    sl_compact_result_release(&r);
}

static void test_base64(void **state)
{
    static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}};
    static const char *const bad[] = {"Z", "Zg=", "Zg==Zg==", "Zh==", "Z===", "Zm9*", "====", "Zm8=\n"};
    struct sl_buf b = SL_BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        sl_buf_reset(&b);
        sl_buf_base64(&b, sl_str_c(pairs[i][0]));
        assert_true(sl_str_eqc(sl_buf_view(&b), pairs[i][1]));
        sl_buf_reset(&b);
        assert_true(sl_base64_decode(sl_str_c(pairs[i][1]), &b));
        assert_true(sl_str_eqc(sl_buf_view(&b), pairs[i][0]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sl_base64_decode(sl_str_c(bad[i]), &b));
    sl_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task_golden),
        cmocka_unit_test(test_result_golden),
        cmocka_unit_test(test_bad_tasks),
        cmocka_unit_test(test_rows_must_add_up),
        cmocka_unit_test(test_outputs_stay_in_the_table),
        cmocka_unit_test(test_cut_lines),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
