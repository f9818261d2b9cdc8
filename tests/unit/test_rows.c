/* Rows in and out of tables, through the engine. */
#include "table_unit.h"

#include "table/append/rewrite.h"

static struct sl_conn *conn;

static int open_all(void **state)
{
    open_warehouse(state);
    conn = open_conn();
    return 0;
}

static int close_all(void **state)
{
    sl_conn_close(conn);
    return close_warehouse(state);
}

static void writes_and_reads_all_types(void **state)
{
    (void)state;
    make_table("types",
               "a TINYINT, b SMALLINT, c INT NOT NULL, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(10, 2), h DECIMAL(30, 5), i STRING, j BYTES, k DATE, "
               "l TIMESTAMP, m TIMESTAMP(3), n BOOLEAN, o ARRAY<INT>, p MAP<STRING, INT>, q ROW<x INT, y STRING>, r TIMESTAMP_LTZ(6)",
               NULL, NULL, 0);
    struct sl_append *t = open_table("types");
    insert(t, conn,
           "SELECT 1, 2, 3, 4, 1.5, 2.5, 12.34, 123456789012345678901234.5, 'text', 'ab'::BLOB, DATE '2024-01-02', "
           "TIMESTAMP '2024-01-02 03:04:05.123456', TIMESTAMP '2024-01-02 03:04:05.123', true, [1, 2], MAP {'k': 1}, {'x': 1, 'y': 'z'}, "
           "TIMESTAMPTZ '2024-01-02 03:04:05+00' UNION ALL SELECT NULL, NULL, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
           "NULL, NULL, NULL, NULL, NULL");
    assert_string_equal(read_table(t, conn, "*", "ORDER BY c"),
                        "1|2|3|4|1.5|2.5|12.34|123456789012345678901234.50000|text|ab|2024-01-02|2024-01-02 03:04:05.123456|"
                        "2024-01-02 03:04:05.123|true|[1, 2]|{k=1}|{'x': 1, 'y': z}|2024-01-02 03:04:05+00\n"
                        "null|null|4|null|null|null|null|null|null|null|null|null|null|null|null|null|null|null\n");
    sl_append_close(t);
}

static void refuse(struct sl_append *t, const char *select, const char *part)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    sl_err err = SL_ERR_INIT;

    assert_int_not_equal(sl_append_write(t, conn, sl_str_c(select), NULL, &files, &err), SL_OK);
    if (!strstr(err.text, part))
        fail_msg("%s: %s", select, err.text);
    sl_new_files_release(&files);
}

static void refuses_what_does_not_fit(void **state)
{
    struct sl_entries all = {NULL, 0, 0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("strict", "a INT NOT NULL, b DECIMAL(5, 2), c VARCHAR(3), d TIMESTAMP(3), e DATE", NULL, NULL, 0);
    struct sl_append *t = open_table("strict");
    refuse(t, "SELECT NULL, 1, 'a', NULL, NULL", "\"a\"");
    refuse(t, "SELECT 1.5, 1, 'a', NULL, NULL", "\"a\"");
    refuse(t, "SELECT '1.5', 1, 'a', NULL, NULL", "\"a\"");
    refuse(t, "SELECT 3000000000, 1, 'a', NULL, NULL", "");
    refuse(t, "SELECT 1, 1.234, 'a', NULL, NULL", "\"b\"");
    refuse(t, "SELECT 1, '1.234', 'a', NULL, NULL", "\"b\"");
    refuse(t, "SELECT 1, 12345.6, 'a', NULL, NULL", "");
    refuse(t, "SELECT 1, 1, 'abcd', NULL, NULL", "\"c\"");
    refuse(t, "SELECT 1, 1, 'a', TIMESTAMP '2024-01-02 03:04:05.123456', NULL", "\"d\"");
    refuse(t, "SELECT 1, 1, 'a', NULL, '2024-01-02 10:00:00'", "\"e\"");
    refuse(t, "SELECT 1, 1", "5 columns");
    assert_ok(sl_store_list(t->store, SL_LIT("bucket-0"), false, &all, &err), err);
    assert_int_equal(all.n, 0);
    sl_entries_release(&all);
    assert_ok(sl_store_list(t->store, SL_LIT(SL_STAGE_DIR), false, &all, &err), err);
    assert_int_equal(all.n, 0);
    sl_entries_release(&all);
    insert(t, conn, "SELECT '7', '1.230', 'äöü', '2024-01-02 03:04:05.5', '2024-01-02'");
    assert_string_equal(read_table(t, conn, "*", ""), "7|1.23|äöü|2024-01-02 03:04:05.5|2024-01-02\n");
    sl_append_close(t);
}

static void partitions_and_prunes(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("parts", "k STRING, v INT", "k", NULL, 0);
    struct sl_append *t = open_table("parts");
    insert(t, conn, "SELECT 'x', 1 UNION ALL SELECT 'x', 2 UNION ALL SELECT 'y/z', 3 UNION ALL SELECT NULL, 4 UNION ALL SELECT '', 5");
    insert(t, conn, "SELECT 'x', 100");
    assert_string_equal(read_table(t, conn, "v, k", "ORDER BY v"), "1|x\n2|x\n3|y/z\n4|null\n5|\n100|x\n");

    const struct sl_field *k = &t->schema->fields[0], *v = &t->schema->fields[1];
    struct sl_value x = {.kind = SL_VARCHAR, .u.s = SL_LIT("x")}, ten = {.kind = SL_INT, .u.i = 10};
    const struct sl_pred *both[] = {sl_pred_cmp(&a, SL_PRED_EQ, k->id, k->type, &x, 1), sl_pred_cmp(&a, SL_PRED_GT, v->id, v->type, &ten, 1)};
    assert_ok(sl_plan_files(t, NULL, both[0], &p, &err), err);
    assert_int_equal(p->nfiles, 2);
    assert_int_equal(p->files_total, 5);
    assert_int_equal(p->pruned_partition, 3);
    sl_plan_free(p);
    assert_ok(sl_plan_files(t, NULL, sl_pred_join(&a, SL_PRED_AND, both, 2), &p, &err), err);
    assert_int_equal(p->nfiles, 1);
    assert_int_equal(p->pruned_stats, 1);
    sl_plan_free(p);
    assert_ok(sl_plan_files(t, NULL, sl_pred_cmp(&a, SL_PRED_IS_NULL, k->id, k->type, NULL, 0), &p, &err), err);
    assert_int_equal(p->nfiles, 1);
    sl_plan_free(p);
    sl_arena_release(&a);
    sl_append_close(t);
}

static void updates_and_deletes(void **state)
{
    struct sl_rewrite_result done;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("upd", "k STRING, v INT NOT NULL", "k", NULL, 0);
    struct sl_append *t = open_table("upd");
    insert(t, conn, "SELECT 'a', range::INT FROM range(10)");
    insert(t, conn, "SELECT 'b', range::INT FROM range(10)");
    struct sl_assignment set = {0, SL_LIT("'c'")};
    struct sl_rewrite_request update = {.where_sql = SL_LIT("k = 'a' AND v >= 7 -- the last three"), .sets = &set, .nsets = 1};
    assert_ok(sl_append_update(t, conn, &update, &done, &err), err);
    assert_int_equal(done.rows_matched, 3);
    assert_int_equal(done.files_removed, 1);
    assert_string_equal(read_table(t, conn, "k, count(*), sum(v)", "GROUP BY k ORDER BY k"), "a|7|21\nb|10|45\nc|3|24\n");

    struct sl_assignment bad = {1, SL_LIT("NULL")};
    struct sl_rewrite_request nulls = {.where_sql = SL_LIT("v = 1"), .sets = &bad, .nsets = 1};
    assert_code(sl_append_update(t, conn, &nulls, &done, &err), SL_EINPUT);

    struct sl_rewrite_request delete = {.where_sql = SL_LIT("upd.v < 5")};
    assert_ok(sl_append_delete(t, conn, &delete, &done, &err), err);
    assert_int_equal(done.rows_matched, 10);
    struct sl_rewrite_request none = {.where_sql = SL_LIT("v = 77")};
    assert_ok(sl_append_delete(t, conn, &none, &done, &err), err);
    assert_int_equal(done.snapshot_id, 0);
    struct sl_rewrite_request part = {.where_sql = SL_LIT("k IN ('b', 'zz')"), .partition_only = true};
    assert_ok(sl_append_delete(t, conn, &part, &done, &err), err);
    assert_int_equal(done.files_added, 0);
    assert_int_equal(done.rows_matched, 5);
    assert_string_equal(read_table(t, conn, "k, v", "ORDER BY v"), "a|5\na|6\nc|7\nc|8\nc|9\n");

    assert_ok(sl_append_overwrite(t, conn, SL_LIT("SELECT 'c', 1"), NULL, &done, &err), err);
    assert_string_equal(read_table(t, conn, "k, v", "ORDER BY k, v"), "a|5\na|6\nc|1\n");
    const char *key = "k";
    struct sl_value a = {.kind = SL_VARCHAR, .u.s = SL_LIT("a")};
    struct sl_partition_spec spec = {&key, &a, 1};
    assert_code(sl_append_overwrite(t, conn, SL_LIT("SELECT 'c', 1"), &spec, &done, &err), SL_EINPUT);
    assert_ok(sl_append_overwrite(t, conn, SL_LIT("SELECT 'a', 9"), &spec, &done, &err), err);
    assert_string_equal(read_table(t, conn, "k, v", "ORDER BY k, v"), "a|9\nc|1\n");
    assert_ok(sl_append_drop_partition(t, &spec, &done, &err), err);
    assert_string_equal(read_table(t, conn, "k, v", ""), "c|1\n");
    assert_ok(sl_append_truncate(t, &done, &err), err);
    assert_string_equal(read_table(t, conn, "k, v", ""), "");
    sl_append_close(t);
}

static void reads_through_schema_changes(void **state)
{
    struct sl_type bigint = {.kind = SL_BIGINT, .nullable = true};
    struct sl_change changes[] = {{.kind = SL_RENAME_COLUMN, .name = "a", .new_name = "aa"},
                                  {.kind = SL_CHANGE_TYPE, .name = "b", .type = &bigint},
                                  {.kind = SL_ADD_COLUMN, .name = "a", .type = &bigint},
                                  {.kind = SL_DROP_COLUMN, .name = "c"}};
    struct sl_selector first = {.kind = SL_SELECT_ID, .id = 1};
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("evo", "a STRING, b INT, c INT", NULL, NULL, 0);
    struct sl_append *t = open_table("evo");
    insert(t, conn, "SELECT 'one', 1, 10");
    sl_append_close(t);
    assert_ok(sl_catalog_alter_table(sl_env_catalog(env), SL_LIT("default"), SL_LIT("evo"), changes, 4, &err), err);
    t = open_table("evo");
    insert(t, conn, "SELECT 'two', 3000000000, 5");
    assert_string_equal(read_table(t, conn, "*", "ORDER BY b"), "one|1|null\ntwo|3000000000|5\n");
    assert_ok(sl_plan_files(t, &first, NULL, &p, &err), err);
    assert_string_equal(rows_of(p, conn, "*", ""), "one|1|10\n");
    sl_plan_free(p);
    /* Bounds of the old type serve the new one. */
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_value two = {.kind = SL_BIGINT, .u.i = 2};
    const struct sl_field *b = &t->schema->fields[1];
    assert_ok(sl_plan_files(t, NULL, sl_pred_cmp(&a, SL_PRED_LT, b->id, b->type, &two, 1), &p, &err), err);
    assert_int_equal(p->nfiles, 1);
    sl_plan_free(p);
    sl_arena_release(&a);
    sl_append_close(t);
}

static void rolls_files_and_reads_paths_with_signs(void **state)
{
    struct sl_option small = {"target-file-size", "1 MB"};
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("ro[l]?s", "a BIGINT, b STRING", NULL, &small, 1);
    struct sl_append *t = open_table("ro[l]?s");
    insert(t, conn, "SELECT range, md5(range::VARCHAR) || md5((range + 1)::VARCHAR) FROM range(300000)");
    assert_ok(sl_plan_files(t, NULL, NULL, &p, &err), err);
    assert_true(p->nfiles > 1);
    assert_string_equal(rows_of(p, conn, "count(*), sum(a)", ""), "300000|44999850000\n");
    sl_plan_free(p);
    sl_append_close(t);
}

static void folder_of_only_partition(const char *type, const char *value, bool legacy, const char *folder)
{
    static int counter;
    struct sl_option option = {"partition.legacy-name", legacy ? "true" : "false"};
    struct sl_entries all = {NULL, 0, 0};
    sl_err err = SL_ERR_INIT;
    char name[40], columns[100], select[200], expected[100];
    bool found = false;

    snprintf(name, sizeof name, "folder%d", counter++);
    snprintf(columns, sizeof columns, "k %s, v INT", type);
    make_table(name, columns, "k", &option, 1);
    struct sl_append *t = open_table(name);
    snprintf(select, sizeof select, "SELECT %s, 1", value);
    insert(t, conn, select);
    assert_ok(sl_store_list(t->store, SL_LIT(""), false, &all, &err), err);
    for (size_t i = 0; i < all.n; i++)
        found = found || strcmp(all.v[i].name, folder) == 0;
    if (!found)
        fail_msg("%s %s: no folder %s", type, value, folder);
    sl_entries_release(&all);
    snprintf(expected, sizeof expected, "1|true\n");
    snprintf(select, sizeof select, "v, k IS NOT DISTINCT FROM %s", value);
    assert_string_equal(read_table(t, conn, select, ""), expected);
    sl_append_close(t);
}

static void names_folders_as_paimon_does(void **state)
{
    (void)state;
    folder_of_only_partition("DATE", "DATE '2024-01-02'", true, "k=19724");
    folder_of_only_partition("DATE", "DATE '2024-01-02'", false, "k=2024-01-02");
    folder_of_only_partition("TIMESTAMP(3)", "TIMESTAMP '2024-01-02 03:04:00'", true, "k=2024-01-02T03%3A04");
    folder_of_only_partition("TIMESTAMP", "TIMESTAMP '2024-01-02 03:04:00'", false, "k=2024-01-02 03%3A04%3A00.000000");
    folder_of_only_partition("TIMESTAMP", "TIMESTAMP '1969-12-31 23:59:59.5'", true, "k=1969-12-31T23%3A59%3A59.500");
    folder_of_only_partition("BOOLEAN", "true", true, "k=true");
    folder_of_only_partition("BIGINT", "-5", true, "k=-5");
    folder_of_only_partition("DECIMAL(20, 2)", "12.50", true, "k=12.50");
    folder_of_only_partition("STRING", "'a=b/c d'", true, "k=a%3Db%2Fc d");
    folder_of_only_partition("STRING", "NULL", true, "k=__DEFAULT_PARTITION__");
}

/* Tables that were moved over from Hive have files without the partition columns. */
static void reads_files_without_partition_columns(void **state)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result done;
    struct sl_buf path = SL_BUF_INIT;
    struct sl_stat st;
    sl_err err = SL_ERR_INIT;
    char names[2][48];
    bool external;

    (void)state;
    make_table("hive", "k STRING, v INT", "k", NULL, 0);
    struct sl_append *t = open_table("hive");
    assert_ok(sl_append_write(t, conn, SL_LIT("SELECT 'a', 1 UNION ALL SELECT 'b', 2"), NULL, &files, &err), err);
    for (size_t i = 0; i < files.n; i++) {
        snprintf(names[i], sizeof names[i], "00000%zu_0.parquet", i);
        files.v[i].file.file_name = sl_str_c(names[i]);
        sl_buf_reset(&path);
        assert_ok(sl_append_file_full(t, &files.v[i], &path, &err), err);
        assert_ok(sl_conn_execf(conn, &err, "COPY (SELECT %zu::INT AS v) TO '%s'", i + 10, path.p), err);
        sl_buf_reset(&path);
        assert_ok(sl_append_file_path(t, &files.v[i], &path, &external, &err), err);
        assert_ok(sl_store_stat(t->store, sl_buf_view(&path), &st, &err), err);
        files.v[i].file.file_size = (int64_t)st.size;
    }
    struct sl_commit_request req = {.kind = "APPEND", .adds = files.v, .nadds = files.n};
    assert_ok(sl_commit_publish(t, &req, &done, &err), err);
    assert_string_equal(read_table(t, conn, "count(DISTINCT k), min(k), max(k), sum(v)", ""), "2|a|b|21\n");
    insert(t, conn, "SELECT 'a', 5"); /* with them */
    assert_string_equal(read_table(t, conn, "k, sum(v)", "GROUP BY k ORDER BY k"), "a|15\nb|11\n");
    sl_new_files_release(&files);
    sl_buf_release(&path);
    sl_append_close(t);
}

/* A snapshot as another engine writes it that deletes the first row of the only file. */
static void delete_first_row(struct sl_append *t)
{
    static const char vector[] = "\1\0\0\0\x16\x5e\x43\xf2\xd0\x3a\x30\0\0\1\0\0\0\0\0\0\0\x10\0\0\0\0\0\xe3\x30\x60\xd3";
    struct sl_snapshot s;
    struct sl_live_set live;
    struct sl_buf bytes = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_ok(sl_live_files(t, &s, NULL, &live, &err), err);
    struct sl_dv_range range = {live.v[0]->file.file_name, 1, 22, 1};
    struct sl_index_entry e = {.partition = live.v[0]->partition, .index_type = SL_LIT("DELETION_VECTORS"), .file_name = SL_LIT("index-x-0"),
                               .file_size = 31, .row_count = 1, .dvs = &range, .ndvs = 1};
    assert_ok(sl_index_manifest_encode(&e, 1, &bytes, &err), err);
    assert_ok(sl_store_write_unique(t->store, SL_LIT("manifest/index-manifest-x-0"), sl_buf_view(&bytes), &err), err);
    assert_ok(sl_store_mkdirs(t->store, SL_LIT("index"), &err), err);
    assert_ok(sl_store_write_unique(t->store, SL_LIT("index/index-x-0"), (sl_str){vector, 31}, &err), err);
    s.id++;
    s.index_manifest = "index-manifest-x-0";
    s.commit_kind = "OVERWRITE";
    sl_buf_reset(&bytes);
    assert_ok(sl_snapshot_encode(&s, &bytes, &err), err);
    assert_ok(sl_store_put_new(t->store, SL_LIT("snapshot/snapshot-2"), sl_buf_view(&bytes), &err), err);
    sl_live_release(&live);
    sl_snapshot_release(&s);
    sl_buf_release(&bytes);
}

static void applies_and_drops_deletion_vectors(void **state)
{
    struct sl_rewrite_result done;
    struct sl_snapshot s;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("dv", "v INT", NULL, NULL, 0);
    struct sl_append *t = open_table("dv");
    insert(t, conn, "SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 1");
    delete_first_row(t);
    assert_string_equal(read_table(t, conn, "count(*), sum(v)", ""), "2|2\n");
    insert(t, conn, "SELECT 10");
    assert_string_equal(read_table(t, conn, "count(*), sum(v)", ""), "3|12\n");
    struct sl_rewrite_request ten = {.where_sql = SL_LIT("v = 10")};
    assert_ok(sl_append_delete(t, conn, &ten, &done, &err), err);
    assert_int_equal(done.files_added, 0);
    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_string_equal(s.index_manifest, "index-manifest-x-0");
    sl_snapshot_release(&s);
    struct sl_assignment set = {0, SL_LIT("v + 1")};
    struct sl_rewrite_request update = {.where_sql = SL_LIT("v = 1"), .sets = &set, .nsets = 1};
    assert_ok(sl_append_update(t, conn, &update, &done, &err), err);
    assert_int_equal(done.rows_matched, 2);
    assert_string_equal(read_table(t, conn, "count(*), sum(v)", ""), "2|4\n");
    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_null(s.index_manifest);
    sl_snapshot_release(&s);
    sl_append_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads_all_types), cmocka_unit_test(refuses_what_does_not_fit), cmocka_unit_test(partitions_and_prunes),
        cmocka_unit_test(updates_and_deletes), cmocka_unit_test(reads_through_schema_changes),
        cmocka_unit_test(rolls_files_and_reads_paths_with_signs), cmocka_unit_test(applies_and_drops_deletion_vectors),
        cmocka_unit_test(names_folders_as_paimon_does), cmocka_unit_test(reads_files_without_partition_columns),
    };
    return cmocka_run_group_tests_name("rows", tests, open_all, close_all);
}
