/* test_compact_table.c - compaction of a real table by the library: deletion vectors, results that come too late, the writer's own compactor. */
#include "unit.h"

#include <string.h>

#include "base/sys.h"
#include "compact/apply.h"
#include "compact/compactor.h"
#include "compact/coordinator.h"
#include "compact/work.h"
#include "table/append/commit.h"
#include "table/append/plan.h"
#include "table/append/write.h"
#include "table/env.h"

struct fixture {
    char *folder;
    struct sl_env *env;
    struct sl_append *t;
    struct sl_conn *conn;
};

/* Row 0 is deleted: version, size, magic, bitmap, CRC. */
static const char row_0_gone[] = "\x01\x00\x00\x00\x16\x5e\x43\xf2\xd0\x3a\x30\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00"
                                 "\xe3\x30\x60\xd3";

static int set_up(void **state)
{
    static struct fixture f;
    static const struct sl_type number = {.kind = SL_INT, .nullable = true};
    const struct sl_field fields[] = {{.id = 0, .name = "id", .type = &number}};
    const struct sl_option options[] = {{"deletion-vectors.enabled", "true"}};
    const struct sl_table_def def = {.fields = fields, .nfields = 1, .options = options, .noptions = 1};
    struct sl_engine *engine = NULL;
    sl_err err = SL_ERR_INIT;

    f = (struct fixture){.folder = unit_folder()};
    const struct sl_env_opts opts = {.warehouse = f.folder, .threads = 2};
    assert_ok(sl_env_open(&opts, &f.env, &err), err);
    assert_ok(sl_catalog_create_table(sl_env_catalog(f.env), SL_LIT("default"), SL_LIT("t"), &def, false, NULL, &err), err);
    assert_ok(sl_env_table(f.env, SL_LIT("t"), &f.t, &err), err);
    assert_ok(sl_env_engine(f.env, &engine, &err), err);
    assert_ok(sl_conn_open(engine, &f.conn, &err), err);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sl_conn_close(f->conn);
    sl_append_close(f->t);
    sl_env_close(f->env);
    unit_folder_remove(f->folder);
    return 0;
}

/* One commit of the numbers [FROM, TO); its snapshot, and the entry if wanted. */
static int64_t add(struct fixture *f, int from, int to, struct sl_compactor *feed)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result done;
    sl_err err = SL_ERR_INIT;
    char sql[100];

    snprintf(sql, sizeof sql, "SELECT i::INTEGER AS id FROM range(%d, %d) r(i)", from, to);
    assert_ok(sl_append_write(f->t, f->conn, sl_str_c(sql), NULL, &files, &err), err);
    const struct sl_commit_request req = {.user = "writer", .identifier = from + 1, .kind = "APPEND", .adds = files.v, .nadds = files.n};
    assert_ok(sl_commit_publish(f->t, &req, &done, &err), err);
    if (feed)
        sl_compactor_feed(feed, "writer", from + 1, done.snapshot_id, files.v, files.n);
    sl_new_files_release(&files);
    return done.snapshot_id;
}

static int64_t one_number(struct fixture *f, const char *expr)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_plan *plan = NULL;
    sl_err err = SL_ERR_INIT;
    int64_t n = -1;

    assert_ok(sl_plan_files(f->t, NULL, NULL, &plan, &err), err);
    sl_buf_printf(&sql, "SELECT %s FROM (", expr);
    assert_ok(sl_plan_sql(plan, f->conn, false, &sql, &err), err);
    sl_buf_addc(&sql, ")");
    assert_ok(sl_conn_query_i64(f->conn, sl_buf_view(&sql), &n, &err), err);
    sl_plan_free(plan);
    sl_buf_release(&sql);
    return n;
}

static size_t live_files(struct fixture *f)
{
    struct sl_plan *plan = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_plan_files(f->t, NULL, NULL, &plan, &err), err);
    size_t n = plan->nfiles;
    sl_plan_free(plan);
    return n;
}

/* Publish a snapshot in which row 0 of the first live file is deleted, as Spark would. */
static void delete_first_row(struct fixture *f, const char *name)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_plan *plan = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_plan_files(f->t, NULL, NULL, &plan, &err), err);
    const struct sl_dv_range range = {plan->files[0].entry->file.file_name, 1, 22, 1};
    const struct sl_index_entry index = {.partition = plan->files[0].entry->partition, .index_type = SL_LIT("DELETION_VECTORS"),
                                         .file_name = sl_str_c(name), .file_size = 31, .row_count = 1, .dvs = &range, .ndvs = 1};
    sl_buf_printf(&path, "index/%s", name);
    assert_ok(sl_store_mkdirs(f->t->store, SL_LIT("index"), &err), err);
    assert_ok(sl_store_write_unique(f->t->store, sl_buf_view(&path), (sl_str){row_0_gone, 31}, &err), err);
    assert_ok(sl_index_manifest_encode(&index, 1, &bytes, &err), err);
    sl_buf_reset(&path);
    sl_buf_printf(&path, "manifest/index-manifest-%s", name);
    assert_ok(sl_store_write_unique(f->t->store, sl_buf_view(&path), sl_buf_view(&bytes), &err), err);
    assert_ok(sl_snapshot_latest(f->t, &s, &err), err);

    struct sl_manifest_list base = {.arena = SL_ARENA_INIT};
    assert_ok(sl_snapshot_manifests(f->t, &s, SL_LIST_BASE | SL_LIST_DELTA, &base, &err), err);
    sl_buf_reset(&bytes);
    assert_ok(sl_manifest_list_encode(base.v, base.n, &bytes, &err), err);
    char lists[2][64];
    snprintf(lists[0], sizeof lists[0], "manifest-list-%s-0", name);
    snprintf(lists[1], sizeof lists[1], "manifest-list-%s-1", name);
    for (int i = 0; i < 2; i++) {
        sl_buf_reset(&path);
        sl_buf_printf(&path, "manifest/%s", lists[i]);
        assert_ok(sl_store_write_unique(f->t->store, sl_buf_view(&path), sl_buf_view(&bytes), &err), err);
        sl_buf_reset(&bytes);
        assert_ok(sl_manifest_list_encode(NULL, 0, &bytes, &err), err);
    }
    char index_manifest[64];
    snprintf(index_manifest, sizeof index_manifest, "index-manifest-%s", name);
    s.id++;
    s.uuid = NULL;
    s.base_manifest_list = lists[0];
    s.delta_manifest_list = lists[1];
    s.base_manifest_list_size = s.delta_manifest_list_size = -1;
    s.index_manifest = index_manifest;
    s.commit_kind = "OVERWRITE";
    s.delta_record_count = 0;
    sl_buf_reset(&bytes);
    assert_ok(sl_snapshot_encode(&s, &bytes, &err), err);
    sl_buf_reset(&path);
    sl_snapshot_file(f->t, s.id, &path);
    assert_ok(sl_store_put_new(f->t->store, sl_buf_view(&path), sl_buf_view(&bytes), &err), err);
    sl_manifest_list_release(&base);
    sl_snapshot_release(&s);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    sl_plan_free(plan);
}

static void run(struct fixture *f, bool full, struct sl_compact_report *report)
{
    const struct sl_compact_options options = {.full = full, .workers = 2};
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_compact_run(f->env, SL_LIT("t"), &options, report, &err), err);
}

static void test_vectors_are_applied(void **state)
{
    struct fixture *f = *state;
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    struct sl_compact_report report;
    sl_err err = SL_ERR_INIT;

    add(f, 0, 10, NULL);
    delete_first_row(f, "a");
    assert_int_equal(one_number(f, "count(*)"), 9);
    run(f, true, &report);
    assert_int_equal(report.tasks_done, 1);
    assert_int_equal(report.files_in, 1);
    assert_int_equal(report.rows_deleted, 1);
    assert_int_equal(one_number(f, "count(*)"), 9);
    assert_int_equal(one_number(f, "min(id)"), 1);
    assert_ok(sl_snapshot_latest(f->t, &s, &err), err);
    assert_null(s.index_manifest);
    assert_int_equal(s.total_record_count, 9);
    sl_snapshot_release(&s);
}

static struct sl_task_list plan_tasks(struct fixture *f, bool full)
{
    const struct sl_coordinator_opts opts = {.full = full};
    struct sl_task_list tasks = {NULL, 0, 0};
    struct sl_compact_report report = {0};
    struct sl_coordinator *c = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_coordinator_new(f->t, &opts, &c, &err), err);
    assert_ok(sl_coordinator_scan(c, &report, &err), err);
    assert_ok(sl_coordinator_round(c, false, &tasks, &err), err);
    sl_coordinator_free(c);
    return tasks;
}

/* A row was deleted by a vector after the work: committing would bring it back. */
static void test_a_vector_that_came_between(void **state)
{
    struct fixture *f = *state;
    struct sl_compact_result result;
    struct sl_compact_report report = {0};
    sl_err err = SL_ERR_INIT;

    for (int i = 0; i < 5; i++)
        add(f, i * 10, i * 10 + 10, NULL);
    struct sl_task_list tasks = plan_tasks(f, false);
    assert_int_equal(tasks.n, 1);
    sl_compact_task_work(f->t, f->conn, &tasks.v[0], &result);
    assert_int_equal(result.error, SL_OK);
    assert_int_equal(result.noutputs, 1);
    delete_first_row(f, "b");
    struct sl_apply_item item = {.result = &result};
    assert_ok(sl_compact_apply_results(f->t, &item, 1, NULL, &report, &err), err);
    assert_int_equal(item.state, SL_APPLY_AGAIN);
    assert_int_equal(report.tasks_again, 1);
    assert_int_equal(result.noutputs, 0);
    assert_int_equal(one_number(f, "count(*)"), 49);
    sl_compact_result_release(&result);
    sl_task_list_release(&tasks);

    /* The file with the vector becomes one task, the four without another. */
    run(f, true, &report);
    assert_int_equal(report.tasks_done, 2);
    assert_int_equal(one_number(f, "count(*)"), 49);
    assert_int_equal(live_files(f), 2);
}

/* The answer of a commit was lost, so it is applied again: found, and its files stay. */
static void test_apply_twice(void **state)
{
    struct fixture *f = *state;
    struct sl_compact_result result;
    struct sl_compact_report report = {0};
    const struct sl_apply_opts again = {.look_first = true};
    sl_err err = SL_ERR_INIT;

    for (int i = 0; i < 5; i++)
        add(f, i * 10, i * 10 + 10, NULL);
    struct sl_task_list tasks = plan_tasks(f, false);
    sl_compact_task_work(f->t, f->conn, &tasks.v[0], &result);
    struct sl_apply_item item = {.result = &result};
    assert_ok(sl_compact_apply_results(f->t, &item, 1, NULL, &report, &err), err);
    assert_int_equal(item.state, SL_APPLY_DONE);
    for (int look = 0; look < 2; look++) {
        assert_ok(sl_compact_apply_results(f->t, &item, 1, look ? &again : NULL, &report, &err), err);
        assert_int_equal(item.state, SL_APPLY_KNOWN);
        assert_int_equal(result.noutputs, 1);
    }
    assert_int_equal(one_number(f, "count(*)"), 50);
    /* Also when its output has been replaced meanwhile. */
    for (int i = 5; i < 10; i++)
        add(f, i * 10, i * 10 + 10, NULL);
    run(f, true, &report);
    assert_ok(sl_compact_apply_results(f->t, &item, 1, &again, &report, &err), err);
    assert_int_equal(item.state, SL_APPLY_KNOWN);
    assert_int_equal(one_number(f, "count(DISTINCT id)"), 100);
    sl_compact_result_release(&result);
    sl_task_list_release(&tasks);
}

static void test_beside_a_writer(void **state)
{
    struct fixture *f = *state;
    struct sl_compactor *c = NULL;
    struct sl_compact_report report;
    struct sl_snapshot s;
    sl_err err = SL_ERR_INIT;
    int compacts = 0;

    assert_ok(sl_compactor_open(f->env, SL_LIT("t"), 2, &c, &err), err);
    for (int i = 0; i < 12; i++)
        add(f, i * 10, i * 10 + 10, c);
    sl_compactor_close(c, true, &report);
    assert_int_equal(report.tasks_failed, 0);
    assert_true(report.tasks_done >= 1);
    assert_true(live_files(f) < 12);
    assert_int_equal(one_number(f, "count(*)"), 120);
    assert_int_equal(one_number(f, "count(DISTINCT id)"), 120);
    int64_t latest = 0;
    assert_ok(sl_snapshot_latest_id(f->t, &latest, &err), err);
    for (int64_t id = 1; id <= latest; id++) {
        assert_ok(sl_snapshot_get(f->t, id, &s, &err), err);
        if (strcmp(s.commit_kind, "COMPACT") == 0 && compacts++ == 0)
            assert_string_equal(s.commit_user, "writer");
        sl_snapshot_release(&s);
    }
    assert_true(compacts > 0);
}

/* What lay there before is found at the start; what others add meanwhile is not looked for. */
static void test_found_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct sl_compactor *c = NULL;
    struct sl_compact_report report;
    sl_err err = SL_ERR_INIT;

    for (int i = 0; i < 6; i++)
        add(f, i * 10, i * 10 + 10, NULL);
    assert_ok(sl_compactor_open(f->env, SL_LIT("t"), 1, &c, &err), err);
    for (int i = 0; live_files(f) > 1 && i < 300; i++)
        sl_sleep_millis(100);
    assert_int_equal(live_files(f), 1);
    for (int i = 6; i < 10; i++)
        add(f, i * 10, i * 10 + 10, c);
    sl_compactor_close(c, true, &report);
    assert_int_equal(report.full_scans, 1);
    /* Four new ones, and the one that came of the first six. */
    assert_int_equal(live_files(f), 1);
    assert_int_equal(one_number(f, "count(DISTINCT id)"), 100);
}

/* The snapshot fed has expired before it was looked at: the latest is read in full. */
static void test_fed_too_late(void **state)
{
    struct fixture *f = *state;
    const struct sl_coordinator_opts opts = {0};
    struct sl_compact_report report = {0};
    struct sl_coordinator *c = NULL;
    struct sl_buf path = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    add(f, 0, 10, NULL);
    assert_ok(sl_coordinator_new(f->t, &opts, &c, &err), err);
    assert_ok(sl_coordinator_scan(c, &report, &err), err);
    assert_false(sl_coordinator_must_scan(c));
    int64_t id = add(f, 10, 20, NULL);
    add(f, 20, 30, NULL);
    sl_snapshot_file(f->t, id, &path);
    assert_ok(sl_store_remove(f->t->store, sl_buf_view(&path), &err), err);
    assert_ok(sl_coordinator_feed(c, id, NULL, 0, &err), err);
    assert_true(sl_coordinator_must_scan(c));
    assert_ok(sl_coordinator_scan(c, &report, &err), err);
    assert_int_equal(sl_pool_count(sl_coordinator_pool(c)), 3);
    /* What that scan has seen is not taken twice; a later one is taken as it is fed. */
    assert_ok(sl_coordinator_feed(c, id + 1, NULL, 0, &err), err);
    assert_false(sl_coordinator_must_scan(c));
    sl_coordinator_free(c);
    sl_buf_release(&path);
}

/* One identifier names an APPEND and a COMPACT: each is found by its kind, and the next identifier is a new one. */
static void test_one_identifier_two_kinds(void **state)
{
    struct fixture *f = *state;
    struct sl_compact_result result;
    struct sl_compact_report report = {0};
    const struct sl_apply_opts opts = {.user = "writer", .identifier = 31, .look_first = true};
    sl_err err = SL_ERR_INIT;
    int64_t id = 0, last = 0;
    bool found;

    for (int i = 0; i < 5; i++)
        add(f, i * 10, i * 10 + 10, NULL);
    struct sl_task_list tasks = plan_tasks(f, false);
    sl_compact_task_work(f->t, f->conn, &tasks.v[0], &result);
    struct sl_apply_item item = {.result = &result};
    /* 31 is an APPEND; that is no reason to think that this COMPACT was made. */
    assert_ok(sl_compact_apply_results(f->t, &item, 1, &opts, &report, &err), err);
    assert_int_equal(item.state, SL_APPLY_DONE);
    assert_ok(sl_commit_find(f->t, "writer", 31, "APPEND", &id, &err), err);
    assert_int_equal(id, 4);
    assert_ok(sl_commit_find(f->t, "writer", 31, "COMPACT", &id, &err), err);
    assert_int_equal(id, 6);
    assert_ok(sl_commit_last_identifier(f->t, "writer", &found, &last, &err), err);
    assert_true(found);
    assert_int_equal(last, 41);
    assert_ok(sl_compact_apply_results(f->t, &item, 1, &opts, &report, &err), err);
    assert_int_equal(item.state, SL_APPLY_KNOWN);
    assert_int_equal(one_number(f, "count(DISTINCT id)"), 50);
    sl_compact_result_release(&result);
    sl_task_list_release(&tasks);
}

static void test_given_up(void **state)
{
    struct fixture *f = *state;
    struct sl_compactor *c = NULL;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_compactor_open(f->env, SL_LIT("t"), 1, &c, &err), err);
    for (int i = 0; i < 6; i++)
        add(f, i * 10, i * 10 + 10, c);
    sl_compactor_close(c, false, NULL);
    assert_int_equal(one_number(f, "count(*)"), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vectors_are_applied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_vector_that_came_between, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_apply_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_beside_a_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_found_at_the_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fed_too_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_identifier_two_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
