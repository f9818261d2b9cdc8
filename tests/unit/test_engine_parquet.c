/* Writing Parquet files with partitions and statistics, reading footers, and leaving nothing behind. */
#include "unit.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/sys.h"
#include "engine/engine.h"
#include "engine/parquet.h"
#include "engine/rows.h"

static struct sl_engine *engine;
static struct sl_conn *conn;
static const char *folder;

static int setup(void **state)
{
    struct sl_engine_opts opts = {.threads = 2, .memory_bytes = 512 << 20};
    static char spill[8192];
    sl_err err = SL_ERR_INIT;

    (void)state;
    folder = unit_folder();
    snprintf(spill, sizeof spill, "%s/spill", folder);
    opts.temp_dir = spill;
    assert_ok(sl_engine_open(&opts, &engine, &err), err);
    assert_ok(sl_conn_open(engine, &conn, &err), err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sl_conn_close(conn);
    sl_engine_close(engine);
    unit_folder_remove(folder);
    return 0;
}

static char *sub(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n ? n - 2 : 0;
}

static const struct sl_parquet_stats *stats_of(const struct sl_parquet_file *f, const char *name)
{
    for (size_t i = 0; i < f->nstats; i++)
        if (!strcmp(f->stats[i].name, name))
            return &f->stats[i];
    fail_msg("no statistics of %s, first is %s of %zu", name, f->nstats ? f->stats[0].name : "-", f->nstats);
    return NULL;
}

static int64_t number(const char *sql)
{
    sl_err err = SL_ERR_INIT;
    int64_t v = 0;

    assert_ok(sl_conn_query_i64(conn, sl_str_c(sql), &v, &err), err);
    return v;
}

static void test_one_file(void **state)
{
    const char *dir = sub("one");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("data-x-")};
    struct sl_parquet_files f;
    struct sl_parquet_info info;
    sl_err err = SL_ERR_INIT;
    struct stat st;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT i AS a, CASE WHEN i % 2 = 0 THEN 't' || i END AS b, i::DECIMAL(38,2) AS d, "
                                            "CASE WHEN i = 3 THEN 'nan'::DOUBLE ELSE i END AS f, {'x': i, 'y': [i]} AS s, "
                                            "'\\xAA'::BLOB AS z, i AS \"q\"\"q\" FROM range(1000) t(i) -- end"), &spec, &f, &err), err);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.rows, 1000);
    assert_int_equal(f.v[0].rows, 1000);
    assert_int_equal(stat(f.v[0].path, &st), 0);
    assert_int_equal(st.st_size, f.v[0].size);
    assert_non_null(strstr(f.v[0].path, "/one/data-x-0.parquet"));
    assert_true(sl_str_eqc(stats_of(&f.v[0], "a")->max, "999"));
    assert_int_equal(stats_of(&f.v[0], "b")->null_count, 500);
    assert_true(sl_str_eqc(stats_of(&f.v[0], "b")->min, "t0"));
    assert_true(sl_str_eqc(stats_of(&f.v[0], "d")->max, "999.00"));
    assert_true(stats_of(&f.v[0], "f")->has_nan);
    assert_false(stats_of(&f.v[0], "a")->has_nan);
    assert_true(sl_str_eqc(stats_of(&f.v[0], "\"s\".\"x\"")->min, "0"));
    assert_true(sl_str_eqc(stats_of(&f.v[0], "z")->min, "AA"));
    assert_true(sl_str_eqc(stats_of(&f.v[0], "q\"q")->max, "999"));
    assert_true(stats_of(&f.v[0], "\"s\".\"x\"")->nested);
    assert_false(stats_of(&f.v[0], "q\"q")->nested);

    assert_ok(sl_parquet_columns(conn, sl_str_c(f.v[0].path), &info, &err), err);
    assert_int_equal(info.rows, 1000);
    assert_int_equal(info.row_groups, 1);
    assert_int_equal(info.n, 11);
    assert_string_equal(info.v[0].name, "a");
    assert_string_equal(info.v[0].physical, "INT64");
    assert_int_equal(info.v[0].depth, 0);
    assert_string_equal(info.v[4].name, "s");
    assert_int_equal(info.v[4].nchildren, 2);
    assert_int_equal(info.v[8].depth, 3);
    assert_string_equal(info.v[9].name, "z");
    assert_int_equal(info.v[9].depth, 0);
    assert_int_equal(info.v[2].precision, 38);
    assert_non_null(strstr(info.created_by, "DuckDB"));
    sl_parquet_info_release(&info);

    sl_parquet_files_discard(&f);
    assert_int_equal(entries(dir), 0);
    sl_parquet_files_release(&f);
}

static void test_no_rows(void **state)
{
    const char *dir = sub("none");
    sl_str key = SL_LIT("a");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("p-")};
    struct sl_parquet_files f;
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (int i = 0; i < 3; i++) {
        spec.file_bytes = i == 1 ? 1 << 20 : 0;
        spec.partition = &key;
        spec.npartition = i == 2;
        assert_ok(sl_parquet_write(conn, SL_LIT("SELECT 1 AS a WHERE false"), &spec, &f, &err), err);
        assert_int_equal(f.n, 0);
        sl_parquet_files_discard(&f);
        assert_int_equal(entries(dir), 0);
        sl_parquet_files_release(&f);
    }
}

static void test_rolling(void **state)
{
    const char *dir = sub("roll");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("r-"), .file_bytes = 1 << 20, .row_group_bytes = 1 << 20,
                                   .compression = "none"};
    struct sl_parquet_files f, g;
    sl_err err = SL_ERR_INIT;
    struct sl_buf sql = SL_BUF_INIT;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT i, 'some text ' || i AS s FROM range(500000) t(i)"), &spec, &f, &err), err);
    assert_true(f.n > 5);
    assert_int_equal(f.rows, 500000);
    assert_int_equal(entries(dir), f.n);
    spec.prefix = SL_LIT("q-");
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT 1 AS i, '' AS s"), &spec, &g, &err), err);
    assert_int_equal(entries(dir), f.n + 1);
    sl_buf_printf(&sql, "SELECT sum(i) FROM read_parquet('%s/r-*.parquet')", dir);
    assert_int_equal(number(sql.p), 124999750000);
    sl_buf_release(&sql);
    sl_parquet_files_discard(&f);
    assert_int_equal(entries(dir), 1);
    sl_parquet_files_release(&f);
    sl_parquet_files_release(&g);
}

/* Any text is a partition of its own: odd characters, '' and NULL, long ones. */
static void test_partitions(void **state)
{
    const char *dir = sub("parts");
    sl_str keys[] = {SL_LIT("k"), SL_LIT("i % 2")};
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("x-"), .partition = keys, .npartition = 2};
    struct sl_parquet_files f;
    sl_err err = SL_ERR_INIT;
    size_t seen = 0;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT i, v.k, i AS p0 FROM range(50000) t(i), (VALUES ('a/b=%c'), (''), (NULL), "
                                            "('__HIVE_DEFAULT_PARTITION__'), ('NULL'), ('ä\n\"'''), (repeat('y', 5000)), ('.'), "
                                            "('..')) v(k)"), &spec, &f, &err), err);
    assert_int_equal(f.n, 18);
    assert_int_equal(f.rows, 450000);
    for (size_t i = 0; i < f.n; i++) {
        struct sl_buf sql = SL_BUF_INIT;
        const sl_str *v = f.v[i].partition;

        assert_int_equal(f.v[i].rows, 25000);
        assert_true(sl_str_eqc(v[1], "0") || sl_str_eqc(v[1], "1"));
        sl_buf_printf(&sql, "SELECT count(*) FROM read_parquet('%s') WHERE i %% 2 = %.*s AND p0 = i AND k IS NOT DISTINCT FROM ",
                      f.v[i].path, SL_STRV(v[1]));
        if (v[0].p)
            sl_buf_sql_string(&sql, v[0]);
        else
            sl_buf_addc(&sql, "NULL");
        assert_int_equal(number(sql.p), 25000);
        seen += !v[0].p;
        sl_buf_release(&sql);
    }
    assert_int_equal(seen, 2);
    sl_parquet_files_discard(&f);
    assert_int_equal(entries(dir), 0);
    sl_parquet_files_release(&f);
}

static void test_many_partitions(void **state)
{
    const char *dir = sub("many");
    sl_str key = SL_LIT("k");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("m-"), .partition = &key, .npartition = 1};
    struct sl_parquet_files f;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT i, i % 500 AS k FROM range(1000000) t(i)"), &spec, &f, &err), err);
    assert_int_equal(f.n, 500);
    sl_parquet_files_discard(&f);
    sl_parquet_files_release(&f);
}

static int bad_fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    (void)local;
    if (--*(int *)self < 0)
        return sl_err_set(err, SL_EINPUT, "line 7 is bad");
    for (; out->rows < out->cap; out->rows++)
        if (out->cols[0].wanted)
            ((int32_t *)out->cols[0].data)[out->rows] = (int32_t)out->rows % 5;
    return SL_OK;
}

static void test_nothing_left(void **state)
{
    static const struct sl_type t_int = {.kind = SL_INT};
    static const struct sl_field fields[] = {{.id = 3, .name = "a", .type = &t_int}};
    const char *dir = sub("left");
    sl_str key = SL_LIT("a");
    sl_err err = SL_ERR_INIT;

    (void)state;
    for (int i = 0; i < 3; i++) {
        int left = 400;
        struct sl_row_source src = {.self = &left, .fields = fields, .nfields = 1, .fill = bad_fill, .rows_hint = -1};
        struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("p-"), .partition = &key, .npartition = i == 2,
                                       .file_bytes = i == 1 ? 1 << 16 : 0, .fields = fields, .nfields = 1};
        struct sl_parquet_files f;
        uint64_t id;
        char sql[100];

        assert_ok(sl_rows_register(engine, &src, &id, &err), err);
        snprintf(sql, sizeof sql, "SELECT * FROM sluice_rows(%llu)", (unsigned long long)id);
        assert_code(sl_parquet_write(conn, sl_str_c(sql), &spec, &f, &err), SL_EINPUT);
        assert_string_equal(err.text, "line 7 is bad");
        assert_int_equal(f.n, 0);
        assert_int_equal(entries(dir), 0);
        sl_rows_unregister(engine, id);
        assert_code(sl_parquet_write(conn, SL_LIT("SELECT wrong"), &spec, &f, &err), SL_ESQL);
        assert_int_equal(err.offset, 7);
        assert_int_equal(entries(dir), 0);
    }
}

static void test_field_ids(void **state)
{
    static const struct sl_type t_int = {.kind = SL_INT}, t_list = {.kind = SL_ARRAY, .element = &t_int};
    static const struct sl_field in[] = {{.id = 12, .name = "x", .type = &t_int}};
    static const struct sl_type t_row = {.kind = SL_ROW, .fields = in, .nfields = 1};
    static const struct sl_field fields[] = {{.id = 7, .name = "a", .type = &t_int}, {.id = 8, .name = "b c", .type = &t_list},
                                             {.id = 9, .name = "r", .type = &t_row}};
    const char *dir = sub("ids");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("i-"), .fields = fields, .nfields = 3};
    struct sl_parquet_files f;
    struct sl_parquet_info info;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT 1 AS a, [1] AS \"b c\", {'x': 1} AS r"), &spec, &f, &err), err);
    assert_ok(sl_parquet_columns(conn, sl_str_c(f.v[0].path), &info, &err), err);
    assert_int_equal(info.v[0].field_id, 7);
    assert_int_equal(info.v[1].field_id, 8);
    assert_int_equal(info.v[4].field_id, 9);
    assert_int_equal(info.v[5].field_id, 12);
    sl_parquet_info_release(&info);
    sl_parquet_files_release(&f);
}

/* A wide write has one thread, and the others get theirs back. */
static void test_wide(void **state)
{
    const char *dir = sub("wide");
    sl_str key = SL_LIT("k");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("w-"), .partition = &key, .npartition = 1, .wide = true};
    struct sl_parquet_files f;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT i % 3 AS k, current_setting('threads') AS t, repeat('ab', 1000000) AS v "
                                            "FROM range(10) t(i)"), &spec, &f, &err), err);
    assert_int_equal(f.n, 3);
    assert_true(sl_str_eqc(stats_of(&f.v[0], "t")->max, "1"));
    assert_int_equal(number("SELECT current_setting('threads')"), 2);
    sl_parquet_files_discard(&f);
    sl_parquet_files_release(&f);

    spec.wide = false;
    spec.repeatable = true;
    assert_code(sl_parquet_write(conn, SL_LIT("SELECT 1 AS k, repeat('x', 500000000) AS v"), &spec, &f, &err), SL_ENOMEM);
    assert_true(err.hint[0]);
    assert_int_equal(entries(dir), 0);
    assert_int_equal(number("SELECT current_setting('threads')"), 2);
}

/* Each allocation of ours fails once; what fails leaves nothing. */
static void test_out_of_memory(void **state)
{
    const char *dir = sub("oom");
    sl_str key = SL_LIT("k");
    struct sl_parquet_spec spec = {.dir = sl_str_c(dir), .prefix = SL_LIT("o-"), .partition = &key, .npartition = 1};
    sl_err err = SL_ERR_INIT;
    int rc = SL_ENOMEM;

    (void)state;
    for (int nth = 1; rc != SL_OK; nth++) {
        struct sl_parquet_files f;

        sl_mem_fail_nth(nth);
        rc = sl_parquet_write(conn, SL_LIT("SELECT i % 2 AS k, {'x': i} AS s FROM range(10) t(i)"), &spec, &f, &err);
        sl_mem_fail_nth(0);
        if (rc == SL_OK)
            assert_int_equal(f.n, 2);
        else if (rc != SL_ENOMEM)
            fail_msg("allocation %d: %s: %s", nth, sl_code_name(rc), err.text);
        sl_parquet_files_discard(&f);
        sl_parquet_files_release(&f);
        assert_int_equal(entries(dir), 0);
        assert_true(nth < 1000);
    }
}

static void test_key_values(void **state)
{
    const struct sl_parquet_kv kv[] = {{SL_LIT("org.example.a"), SL_LIT("it's")}, {SL_LIT("b"), SL_LIT("")}};
    struct sl_parquet_spec spec = {.dir = sl_str_c(folder), .prefix = SL_LIT("kv-"), .kv = kv, .nkv = 2};
    struct sl_parquet_files f;
    sl_err err = SL_ERR_INIT;
    struct sl_buf sql = SL_BUF_INIT;
    char *text = NULL;

    (void)state;
    assert_ok(sl_parquet_write(conn, SL_LIT("SELECT 1 AS a"), &spec, &f, &err), err);
    sl_buf_printf(&sql, "SELECT string_agg(decode(key) || '=' || decode(value), ',' ORDER BY key) FROM parquet_kv_metadata('%s')", f.v[0].path);
    assert_ok(sl_conn_query_str(conn, sl_buf_view(&sql), &text, &err), err);
    assert_string_equal(text, "b=,org.example.a=it's");
    sl_free(text);
    sl_buf_release(&sql);
    sl_parquet_files_discard(&f);
    sl_parquet_files_release(&f);
}

static void test_bad_files(void **state)
{
    struct sl_parquet_info info;
    sl_err err = SL_ERR_INIT;
    char path[4096];
    FILE *f;

    (void)state;
    assert_code(sl_parquet_columns(conn, sl_str_c(sub("absent.parquet")), &info, &err), SL_ENOTFOUND);
    snprintf(path, sizeof path, "%s", sub("bad.parquet"));
    f = fopen(path, "w");
    fputs("PAR1 this is not what it says it is PAR1", f);
    fclose(f);
    assert_code(sl_parquet_columns(conn, sl_str_c(path), &info, &err), SL_ECORRUPT);
    assert_non_null(strstr(err.text, "bad.parquet"));
    f = fopen(path, "w");
    fclose(f);
    assert_code(sl_parquet_columns(conn, sl_str_c(path), &info, &err), SL_ECORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_file), cmocka_unit_test(test_no_rows), cmocka_unit_test(test_rolling),
        cmocka_unit_test(test_partitions), cmocka_unit_test(test_many_partitions), cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_field_ids), cmocka_unit_test(test_wide), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_key_values),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
