/* test_compact_pool.c - the packing rules: what is small, bins, leftovers, ageing, deletion vectors. */
#include "unit.h"

#include <string.h>

#include "compact/pool.h"

#define MB (INT64_C(1) << 20)

/* What a round emitted, as text: "3,1,2;5,4;" - names in order, tasks by ';'. */
struct seen {
    struct sl_buf text;
    size_t tasks;
};

static int note(void *user, const struct sl_pool_file *const *files, size_t n, sl_err *err)
{
    struct seen *s = user;

    for (size_t i = 0; i < n; i++)
        sl_buf_printf(&s->text, "%s" SL_STRF, i ? "," : "", SL_STRV(files[i]->entry.file.file_name));
    sl_buf_ch(&s->text, ';');
    s->tasks++;
    return sl_buf_ok(&s->text, err);
}

static const char part_a[12] = {0, 0, 0, 0, 1}, part_b[12] = {0, 0, 0, 0, 2};

static struct sl_manifest_entry file_of(const char *name, int64_t size, const char *part)
{
    struct sl_manifest_entry e = {.kind = SL_FILE_ADD, .total_buckets = -1, .partition = {part, 12}};

    e.file.file_name = sl_str_c(name);
    e.file.file_size = size;
    e.file.row_count = 100;
    e.file.min_key = e.file.max_key = SL_BINROW_EMPTY;
    e.file.value_stats = e.file.key_stats = (struct sl_stats){SL_BINROW_EMPTY, SL_BINROW_EMPTY, NULL, 0};
    return e;
}

static struct sl_pool_rules rules_of(void)
{
    return (struct sl_pool_rules){.target_bytes = 256 * MB, .open_cost = 4 * MB, .small_ratio = 0.7, .delete_ratio = 0.2, .min_files = 5,
                                  .scan_files = 100000};
}

static void add(struct sl_pool *p, const char *name, int64_t size, const char *part, const char *index, int64_t deleted)
{
    struct sl_compact_dv dv = {.cardinality = deleted};
    struct sl_manifest_entry e = file_of(name, size, part);
    sl_err err = SL_ERR_INIT;

    if (index)
        dv.index_file = sl_str_c(index);
    assert_ok(sl_pool_add(p, &e, index ? &dv : NULL, &err), err);
}

static void expect_round(struct sl_pool *p, bool ageing, const char *want)
{
    struct seen s = {SL_BUF_INIT, 0};
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_pool_round(p, ageing, note, &s, &err), err);
    assert_string_equal(s.text.p ? s.text.p : "", want);
    sl_buf_release(&s.text);
}

static struct sl_pool *pool_of(const struct sl_pool_rules *r)
{
    struct sl_pool *p = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_pool_new(r, &p, &err), err);
    return p;
}

static void test_small(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_manifest_entry e = file_of("x", 0, part_a);
    struct sl_compact_dv dv = {SL_LIT("index-1"), 1, 2, 20};

    (void)state;
    e.file.file_size = (int64_t)(256 * MB * 0.7) - 1;
    assert_true(sl_pool_wants(&r, &e, NULL));
    e.file.file_size = (int64_t)(256 * MB * 0.7) + 1;
    assert_false(sl_pool_wants(&r, &e, NULL));
    assert_false(sl_pool_wants(&r, &e, &dv)); /* 20 of 100 is not more than 0.2 */
    dv.cardinality = 21;
    assert_true(sl_pool_wants(&r, &e, &dv));
    dv.cardinality = -1;
    assert_true(sl_pool_wants(&r, &e, &dv));
    r.full = true;
    dv.cardinality = 1;
    assert_true(sl_pool_wants(&r, &e, &dv));
    assert_true(sl_pool_wants(&r, &e, NULL));
    e.file.file_size = 256 * MB;
    assert_false(sl_pool_wants(&r, &e, NULL));
}

static void test_four_wait_five_go(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);

    (void)state;
    add(p, "a", 5, part_a, NULL, 0);
    add(p, "b", 4, part_a, NULL, 0);
    add(p, "c", 3, part_a, NULL, 0);
    add(p, "d", 2, part_a, NULL, 0);
    add(p, "d", 2, part_a, NULL, 0); /* the same file again */
    add(p, "e", 1, part_b, NULL, 0); /* another partition */
    add(p, "big", 200 * MB, part_a, NULL, 0);
    expect_round(p, false, "");
    assert_int_equal(sl_pool_count(p), 5);
    add(p, "f", 6, part_a, NULL, 0);
    expect_round(p, false, "d,c,b,a,f;"); /* smallest first */
    assert_int_equal(sl_pool_count(p), 1);
    expect_round(p, false, "");
    sl_pool_free(p);
}

/* A bin is full at twice the target, a file weighing its size and 4 MB. */
static void test_bins(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);

    (void)state;
    add(p, "1", 170 * MB, part_a, NULL, 0);
    add(p, "2", 171 * MB, part_a, NULL, 0);
    add(p, "3", 172 * MB, part_a, NULL, 0);
    add(p, "4", 173 * MB, part_a, NULL, 0);
    /* 174 + 175 = 349 < 512, + 176 = 525: full. One file is left and waits. */
    expect_round(p, false, "1,2,3;");
    assert_int_equal(sl_pool_count(p), 1);
    sl_pool_free(p);
}

static void test_open_cost_bounds_a_bin(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);
    struct seen s = {SL_BUF_INIT, 0};
    sl_err err = SL_ERR_INIT;
    char name[16];

    (void)state;
    for (int i = 0; i < 260; i++) {
        snprintf(name, sizeof name, "%d", i);
        add(p, name, 0, part_a, NULL, 0);
    }
    assert_ok(sl_pool_round(p, false, note, &s, &err), err);
    assert_int_equal(s.tasks, 2);           /* 128 empty files weigh 512 MB */
    assert_int_equal(sl_pool_count(p), 4);  /* fewer than five are left */
    sl_buf_release(&s.text);
    sl_pool_free(p);
}

static void test_removed_files_are_not_packed(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);
    struct sl_manifest_entry e = file_of("b", 2, part_a);
    sl_err err = SL_ERR_INIT;

    (void)state;
    add(p, "a", 1, part_a, NULL, 0);
    add(p, "b", 2, part_a, NULL, 0);
    add(p, "c", 3, part_a, NULL, 0);
    add(p, "d", 4, part_a, NULL, 0);
    add(p, "e", 5, part_a, NULL, 0);
    assert_ok(sl_pool_remove(p, &e, &err), err);
    assert_ok(sl_pool_remove(p, &e, &err), err);
    expect_round(p, false, "");
    add(p, "f", 6, part_a, NULL, 0);
    expect_round(p, false, "a,c,d,e,f;");
    sl_pool_free(p);
}

static void test_ageing(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);

    (void)state;
    add(p, "a", 2, part_a, NULL, 0);
    add(p, "b", 1, part_a, NULL, 0);
    for (int i = 0; i < 4; i++)
        expect_round(p, true, "");
    add(p, "c", 3, part_a, NULL, 0); /* makes it young again */
    for (int i = 0; i < 5; i++)
        expect_round(p, true, "");
    expect_round(p, true, "b,a,c;");
    assert_int_equal(sl_pool_count(p), 0);
    sl_pool_free(p);
}

static void test_one_file_is_forgotten(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);

    (void)state;
    add(p, "a", 2, part_a, NULL, 0);
    for (int i = 0; i < 10; i++)
        expect_round(p, true, "");
    assert_int_equal(sl_pool_count(p), 1);
    expect_round(p, true, "");
    assert_int_equal(sl_pool_count(p), 0);
    /* It may come back. */
    add(p, "a", 2, part_a, NULL, 0);
    assert_int_equal(sl_pool_count(p), 1);
    sl_pool_free(p);
}

static void test_without_ageing_nothing_is_forced(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p = pool_of(&r);

    (void)state;
    add(p, "a", 2, part_a, NULL, 0);
    add(p, "b", 1, part_a, NULL, 0);
    for (int i = 0; i < 20; i++)
        expect_round(p, false, "");
    assert_int_equal(sl_pool_count(p), 2);
    sl_pool_free(p);
}

static void test_vectors_go_by_index_file(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p;

    (void)state;
    r.dvs = true;
    p = pool_of(&r);
    add(p, "a", 90, part_a, "index-1", 50);
    add(p, "b", 10, part_a, "index-2", 50);
    add(p, "c", 20, part_a, "index-2", 50);
    add(p, "d", 5, part_a, NULL, 0);
    add(p, "e", 7, part_b, "index-3", 50);
    /* Groups by bytes (index-2 is 30, index-1 is 90), the last bin goes also with one file; one plain file waits. */
    expect_round(p, false, "b,c,a;e;");
    assert_int_equal(sl_pool_count(p), 1);
    sl_pool_free(p);
}

static void test_full_takes_two(void **state)
{
    struct sl_pool_rules r = rules_of();
    struct sl_pool *p;

    (void)state;
    r.full = true;
    p = pool_of(&r);
    add(p, "a", 200 * MB, part_a, NULL, 0);
    add(p, "b", 1 * MB, part_a, NULL, 0);
    add(p, "c", 1 * MB, part_b, NULL, 0);
    expect_round(p, false, "b,a;");
    assert_int_equal(sl_pool_count(p), 1);
    sl_pool_free(p);
}

static void test_options(void **state)
{
    const struct sl_option good[] = {{"target-file-size", "1 mb"}, {"compaction.small-file-ratio", "0.5"}, {"compaction.min.file-num", "3"},
                                     {"deletion-vectors.enabled", "true"}};
    const struct sl_option bad[] = {{"compaction.small-file-ratio", "seven"}};
    struct sl_schema s = {.options = good, .noptions = 4};
    struct sl_pool_rules r;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_pool_rules_of(&s, &r, &err), err);
    assert_int_equal(r.target_bytes, MB);
    assert_int_equal(r.open_cost, 4 * MB);
    assert_int_equal(r.min_files, 3);
    assert_int_equal(r.scan_files, 100000);
    assert_true(r.dvs);
    s = (struct sl_schema){.options = bad, .noptions = 1};
    assert_code(sl_pool_rules_of(&s, &r, &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "compaction.small-file-ratio"));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (int nth = 1; nth < 60; nth++) {
        struct sl_pool_rules r = rules_of();
        struct sl_pool *p = NULL;
        struct seen s = {SL_BUF_INIT, 0};
        sl_err err = SL_ERR_INIT;
        char name[16];

        sl_mem_fail_nth(nth);
        int rc = sl_pool_new(&r, &p, &err);
        for (int i = 0; rc == SL_OK && i < 6; i++) {
            snprintf(name, sizeof name, "%d", i);
            struct sl_manifest_entry e = file_of(name, i, part_a);

            rc = sl_pool_add(p, &e, NULL, &err);
        }
        if (rc == SL_OK)
            rc = sl_pool_round(p, true, note, &s, &err);
        sl_mem_fail_nth(0);
        assert_true(rc == SL_OK || rc == SL_ENOMEM);
        sl_buf_release(&s.text);
        sl_pool_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_four_wait_five_go),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_open_cost_bounds_a_bin),
        cmocka_unit_test(test_removed_files_are_not_packed),
        cmocka_unit_test(test_ageing),
        cmocka_unit_test(test_one_file_is_forgotten),
        cmocka_unit_test(test_without_ageing_nothing_is_forced),
        cmocka_unit_test(test_vectors_go_by_index_file),
        cmocka_unit_test(test_full_takes_two),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
