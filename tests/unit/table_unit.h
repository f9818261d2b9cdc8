/* table_unit.h - a warehouse in a folder of its own, for tests of tables. */
#ifndef SL_TESTS_TABLE_UNIT_H
#define SL_TESTS_TABLE_UNIT_H

#include "unit.h"

#include <string.h>

#include "table/append/commit.h"
#include "table/append/plan.h"
#include "table/append/write.h"
#include "table/env.h"

static char *warehouse;
static struct sl_env *env;

static inline int open_warehouse(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    warehouse = unit_folder();
    struct sl_env_opts opts = {.warehouse = warehouse, .memory_bytes = 1u << 30, .threads = 2};
    assert_ok(sl_env_open(&opts, &env, &err), err);
    return 0;
}

static inline int close_warehouse(void **state)
{
    (void)state;
    sl_env_close(env);
    unit_folder_remove(warehouse);
    return 0;
}

/* "a INT, b STRING" -> a table in the database default. */
static inline void make_table(const char *name, const char *columns, const char *partition, const struct sl_option *options,
                              size_t noptions)
{
    struct sl_arena a = SL_ARENA_INIT;
    sl_err err = SL_ERR_INIT;
    char text[1000];
    const struct sl_type *row;

    snprintf(text, sizeof text, "ROW<%s>", columns);
    assert_ok(sl_type_from_sql(&a, sl_str_c(text), &row, &err), err);
    struct sl_table_def def = {.fields = row->fields, .nfields = row->nfields, .partition_keys = &partition,
                               .npartition = partition ? 1 : 0, .options = options, .noptions = noptions};
    assert_ok(sl_catalog_create_table(sl_env_catalog(env), SL_LIT("default"), sl_str_c(name), &def, false, NULL, &err), err);
    sl_arena_release(&a);
}

static inline struct sl_append *open_table(const char *name)
{
    struct sl_append *t;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_env_table(env, sl_str_c(name), &t, &err), err);
    return t;
}

static inline struct sl_conn *open_conn(void)
{
    struct sl_engine *engine;
    struct sl_conn *conn;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_env_engine(env, &engine, &err), err);
    assert_ok(sl_conn_open(engine, &conn, &err), err);
    return conn;
}

/* Rows of "SELECT <what> FROM (the plan) <rest>" as lines of texts with '|' between; static memory. */
static inline const char *rows_of(struct sl_plan *p, struct sl_conn *conn, const char *what, const char *rest)
{
    static char text[65536];
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    sl_err err = SL_ERR_INIT;
    size_t rows, at = 0;

    sl_buf_printf(&sql, "SELECT %s FROM (", what);
    assert_ok(sl_plan_sql(p, conn, false, &sql, &err), err);
    sl_buf_printf(&sql, ") AS t %s", rest);
    text[0] = '\0';
    assert_ok(sl_conn_query_text(conn, sl_buf_view(&sql), &r, &err), err);
    for (;;) {
        assert_ok(sl_result_next(r, &rows, &err), err);
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            for (size_t c = 0; c < sl_result_ncols(r); c++) {
                sl_str s = sl_result_null(r, c, i) ? SL_LIT("null") : sl_result_str(r, c, i);

                at += (size_t)snprintf(text + at, sizeof text - at, "%s" SL_STRF, c ? "|" : "", SL_STRV(s));
                assert_true(at < sizeof text - 2);
            }
            text[at++] = '\n';
            text[at] = '\0';
        }
    }
    sl_result_free(r);
    sl_buf_release(&sql);
    return text;
}

static inline const char *read_table(struct sl_append *t, struct sl_conn *conn, const char *what, const char *rest)
{
    struct sl_plan *p;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_plan_files(t, NULL, NULL, &p, &err), err);
    const char *text = rows_of(p, conn, what, rest);
    sl_plan_free(p);
    return text;
}

static inline void insert(struct sl_append *t, struct sl_conn *conn, const char *select)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result done;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_append_write(t, conn, sl_str_c(select), NULL, &files, &err), err);
    struct sl_commit_request req = {.kind = "APPEND", .operation = "WRITE", .adds = files.v, .nadds = files.n};
    assert_ok(sl_commit_publish(t, &req, &done, &err), err);
    sl_new_files_release(&files);
}

#endif
