/* Row sources, batches and functions of ours inside SQL. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/sys.h"
#include "data/value.h"
#include "engine/engine.h"
#include "engine/rows.h"

static struct sl_engine *engine;
static struct sl_conn *conn;

static int setup(void **state)
{
    struct sl_engine_opts opts = {.threads = 2, .memory_bytes = 512 << 20};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_engine_open(&opts, &engine, &err), err);
    assert_ok(sl_conn_open(engine, &conn, &err), err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sl_conn_close(conn);
    sl_engine_close(engine);
    return 0;
}

static void assert_rows(const char *sql, const char *want)
{
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;
    struct sl_buf got = SL_BUF_INIT;
    size_t rows;

    assert_ok(sl_conn_query_text(conn, sl_str_c(sql), &r, &err), err);
    for (;;) {
        assert_ok(sl_result_next(r, &rows, &err), err);
        if (!rows)
            break;
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < sl_result_ncols(r); k++) {
                if (sl_result_null(r, k, i))
                    sl_buf_addc(&got, "NULL");
                else
                    sl_buf_add(&got, sl_result_str(r, k, i));
                sl_buf_ch(&got, k + 1 < sl_result_ncols(r) ? '|' : '\n');
            }
    }
    assert_string_equal(got.p ? got.p : "", want);
    sl_buf_release(&got);
    sl_result_free(r);
}

/* ---- types ---- */

static const struct sl_type t_bool = {.kind = SL_BOOLEAN}, t_tiny = {.kind = SL_TINYINT}, t_small = {.kind = SL_SMALLINT},
    t_int = {.kind = SL_INT}, t_big = {.kind = SL_BIGINT}, t_float = {.kind = SL_FLOAT}, t_double = {.kind = SL_DOUBLE},
    t_dec4 = {.kind = SL_DECIMAL, .precision = 4, .scale = 2}, t_dec9 = {.kind = SL_DECIMAL, .precision = 9, .scale = 2},
    t_dec18 = {.kind = SL_DECIMAL, .precision = 18, .scale = 2}, t_dec38 = {.kind = SL_DECIMAL, .precision = 38, .scale = 2},
    t_text = {.kind = SL_VARCHAR, .length = SL_LENGTH_MAX}, t_bytes = {.kind = SL_VARBINARY, .length = SL_LENGTH_MAX},
    t_date = {.kind = SL_DATE}, t_time = {.kind = SL_TIME, .precision = 3}, t_ts = {.kind = SL_TIMESTAMP, .precision = 6},
    t_ns = {.kind = SL_TIMESTAMP, .precision = 9}, t_tz = {.kind = SL_TIMESTAMP_LTZ, .precision = 6},
    t_ints = {.kind = SL_ARRAY, .element = &t_int}, t_lists = {.kind = SL_ARRAY, .element = &t_ints},
    t_map = {.kind = SL_MAP, .key = &t_text, .value = &t_ints}, t_blob = {.kind = SL_BLOB};
static const struct sl_field row_fields[] = {{.id = 1, .name = "x", .type = &t_int}, {.id = 2, .name = "l", .type = &t_ints}};
static const struct sl_type t_row = {.kind = SL_ROW, .fields = row_fields, .nfields = 2},
    t_rows = {.kind = SL_ARRAY, .element = &t_row};

static const struct sl_field all[] = {
    {.name = "bool", .type = &t_bool}, {.name = "tiny", .type = &t_tiny}, {.name = "small", .type = &t_small},
    {.name = "int", .type = &t_int}, {.name = "big", .type = &t_big}, {.name = "float", .type = &t_float},
    {.name = "double", .type = &t_double}, {.name = "dec4", .type = &t_dec4}, {.name = "dec9", .type = &t_dec9},
    {.name = "dec18", .type = &t_dec18}, {.name = "dec38", .type = &t_dec38}, {.name = "text", .type = &t_text},
    {.name = "bytes", .type = &t_bytes}, {.name = "date", .type = &t_date}, {.name = "time", .type = &t_time},
    {.name = "ts", .type = &t_ts}, {.name = "ns", .type = &t_ns}, {.name = "tz", .type = &t_tz},
    {.name = "ints", .type = &t_ints}, {.name = "lists", .type = &t_lists}, {.name = "map", .type = &t_map},
    {.name = "row", .type = &t_row}, {.name = "rows", .type = &t_rows},
};
enum { NALL = sizeof all / sizeof *all };

/* A value of V's kind made from N; every 7th is NULL. */
static int put(struct sl_vector *v, size_t row, int64_t n, sl_err *err);

static int put_list(struct sl_vector *v, size_t row, int64_t n, sl_err *err)
{
    sl_vector_list_begin(v, row);
    for (int64_t i = 0; i < n % 5; i++) {
        size_t at;

        SL_TRY(sl_vector_list_put(v, &at, err));
        for (size_t k = 0; k < v->nchildren; k++)
            SL_TRY(put(&v->children[k], at, v->type->kind == SL_MAP && k == 0 ? i * 7 + 1 : n + i, err));
    }
    sl_vector_list_end(v, row);
    return SL_OK;
}

static int put(struct sl_vector *v, size_t row, int64_t n, sl_err *err)
{
    char text[64];

    if (n % 7 == 0)
        return sl_vector_set_null(v, row, err);
    switch (v->type->kind) {
    case SL_BOOLEAN: ((uint8_t *)v->data)[row] = n % 2; return SL_OK;
    case SL_TINYINT: ((int8_t *)v->data)[row] = (int8_t)(n % 100); return SL_OK;
    case SL_SMALLINT: ((int16_t *)v->data)[row] = (int16_t)(n % 10000); return SL_OK;
    case SL_INT: case SL_DATE: ((int32_t *)v->data)[row] = (int32_t)n; return SL_OK;
    case SL_FLOAT: ((float *)v->data)[row] = (float)n; return SL_OK;
    case SL_DOUBLE: ((double *)v->data)[row] = (double)n; return SL_OK;
    case SL_DECIMAL:
        if (v->type->precision == 4)
            ((int16_t *)v->data)[row] = (int16_t)(n % 9999);
        else if (v->type->precision == 9)
            ((int32_t *)v->data)[row] = (int32_t)n;
        else if (v->type->precision == 18)
            ((int64_t *)v->data)[row] = n;
        else
            ((sl_i128 *)v->data)[row] = n;
        return SL_OK;
    case SL_VARCHAR: case SL_VARBINARY:
        snprintf(text, sizeof text, n % 2 ? "%lld" : "a text of number %lld, far", (long long)n);
        return sl_vector_put_bytes(v, row, sl_str_c(text), err);
    case SL_ARRAY: case SL_MAP: return put_list(v, row, n, err);
    case SL_ROW:
        for (size_t i = 0; i < v->nchildren; i++)
            SL_TRY(put(&v->children[i], row, n + (int64_t)i, err));
        return SL_OK;
    default: ((int64_t *)v->data)[row] = n; return SL_OK;
    }
}

/* ---- a source of N rows, handed out in pieces to all threads ---- */

struct numbers {
    const struct sl_field *fields;
    size_t nfields;
    int64_t total, piece, fail_at;
    atomic_int_fast64_t next;
    atomic_int opened, closed;
    bool wanted[NALL];
};

static int open_local(void *self, void **local, sl_err *err)
{
    struct numbers *n = self;

    *local = sl_malloc(1);
    if (!*local)
        return sl_err_nomem(err);
    atomic_fetch_add(&n->opened, 1);
    return SL_OK;
}

static void close_local(void *self, void *local)
{
    struct numbers *n = self;

    atomic_fetch_add(&n->closed, 1);
    sl_free(local);
}

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    struct numbers *n = self;
    int64_t from = atomic_fetch_add(&n->next, n->piece);

    (void)local;
    for (; out->rows < (size_t)n->piece && from + (int64_t)out->rows < n->total; out->rows++) {
        int64_t v = from + (int64_t)out->rows;

        if (v == n->fail_at) {
            sl_err_set(err, SL_ECORRUPT, "row %lld is damaged", (long long)v);
            sl_err_hint(err, "look there");
            return SL_ECORRUPT;
        }
        for (size_t i = 0; i < out->ncols; i++)
            if (out->cols[i].wanted)
                SL_TRY(put(&out->cols[i], out->rows, v, err));
    }
    return SL_OK;
}

static uint64_t add(struct numbers *n)
{
    struct sl_row_source src = {.self = n, .fields = n->fields, .nfields = n->nfields, .max_threads = 2, .rows_hint = n->total,
                                .local_open = open_local, .local_close = close_local, .fill = fill};
    sl_err err = SL_ERR_INIT;
    uint64_t id = 0;

    assert_ok(sl_rows_register(engine, &src, &id, &err), err);
    return id;
}

static char *with_id(const char *format, uint64_t id)
{
    static char sql[2000];

    snprintf(sql, sizeof sql, format, (unsigned long long)id);
    return sql;
}

static void test_all_types(void **state)
{
    struct numbers n = {.fields = all, .nfields = NALL, .total = 16, .piece = 16, .fail_at = -1};
    uint64_t id = add(&n);

    (void)state;
    n.next = 14;
    assert_rows(with_id("SELECT * FROM sluice_rows(%llu) ORDER BY int NULLS FIRST", id),
                "NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL\n"
                "true|15|15|15|15|15.0|15.0|0.15|0.15|0.15|0.15|15|15|1970-01-16|00:00:00.000015|1970-01-01 00:00:00.000015|"
                "1970-01-01 00:00:00.000000015|1970-01-01 00:00:00.000015+00|[]|[]|{}|{'x': 15, 'l': [16]}|[]\n");
    n.next = 12;
    n.total = 14;
    assert_rows(with_id("SELECT ints, lists, map, row, rows, text FROM sluice_rows(%llu) ORDER BY int", id),
                "[12, 13]|[[12, 13], [13, NULL, 15]]|{1=[12, 13], 'a text of number 8, far'=[13, NULL, 15]}|"
                "{'x': 12, 'l': [13, NULL, 15]}|[{'x': 12, 'l': [13, NULL, 15]}, {'x': 13, 'l': NULL}]|a text of number 12, far\n"
                "[13, NULL, 15]|[[13, NULL, 15], NULL, []]|{1=[13, NULL, 15], 'a text of number 8, far'=NULL, 15=[]}|"
                "{'x': 13, 'l': NULL}|[{'x': 13, 'l': NULL}, NULL, {'x': 15, 'l': [16]}]|13\n");
    sl_rows_unregister(engine, id);
}

/* Many lists of lists in one batch: the children grow. */
static void test_many(void **state)
{
    struct numbers n = {.fields = all, .nfields = NALL, .total = 20000, .piece = 1500, .fail_at = -1};
    uint64_t id = add(&n);

    (void)state;
    assert_rows(with_id("SELECT count(*), count(int), sum(big), count(text), sum(len(ints)), sum(len(flatten(lists))), "
                        "sum(list_sum(ints)), sum(len(map_values(map))), max(row.x) FROM sluice_rows(%llu)", id),
                "20000|17142|171411429|17142|34284|62852|308582847|34284|19998\n");
    assert_int_equal(n.opened, n.closed);
    assert_true(n.opened >= 1 && n.opened <= 2);
    n.next = 0;
    assert_rows(with_id("SELECT count(*) FROM sluice_rows(%llu)", id), "20000\n");
    n.next = 0;
    assert_rows(with_id("SELECT sum(int) FROM sluice_rows(%llu) WHERE length(text) > 20", id), "85705716\n");
    sl_rows_unregister(engine, id);
}

static void test_fill_error(void **state)
{
    struct numbers n = {.fields = all, .nfields = NALL, .total = 20000, .piece = 1500, .fail_at = 9001};
    uint64_t id = add(&n);
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_code(sl_conn_exec(conn, sl_str_c(with_id("SELECT count(text) FROM sluice_rows(%llu)", id)), &err), SL_ECORRUPT);
    assert_string_equal(err.text, "row 9001 is damaged");
    assert_string_equal(err.hint, "look there");
    assert_int_equal(n.opened, n.closed);
    sl_rows_unregister(engine, id);
}

/* The rows stream, and the source fails long after the first ones have come. */
static void test_late_error(void **state)
{
    struct numbers n = {.fields = all, .nfields = NALL, .total = 2000000, .piece = 2000, .fail_at = 1999000};
    uint64_t id = add(&n);
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;
    size_t rows = 1, seen = 0;
    int rc;

    (void)state;
    assert_ok(sl_conn_query(conn, sl_str_c(with_id("SELECT int, text FROM sluice_rows(%llu)", id)), &r, &err), err);
    while ((rc = sl_result_next(r, &rows, &err)) == SL_OK && rows)
        seen += rows;
    assert_code(rc, SL_ECORRUPT);
    assert_string_equal(err.text, "row 1999000 is damaged");
    assert_true(seen > 100000 && seen < 2000000);
    sl_result_free(r);
    assert_ok(sl_conn_exec(conn, SL_LIT("SELECT 1"), &err), err);
    sl_rows_unregister(engine, id);
}

/* A result that is given up leaves the connection fit for use. */
static void test_abandoned(void **state)
{
    struct numbers n = {.fields = all, .nfields = NALL, .total = 2000000, .piece = 2000, .fail_at = -1};
    uint64_t id = add(&n);
    sl_err err = SL_ERR_INIT;
    struct sl_result *r = NULL;
    size_t rows;

    (void)state;
    assert_ok(sl_conn_query(conn, sl_str_c(with_id("SELECT int, text FROM sluice_rows(%llu)", id)), &r, &err), err);
    assert_ok(sl_result_next(r, &rows, &err), err);
    assert_true(rows > 0);
    sl_result_free(r);
    assert_true(n.next < n.total);
    assert_rows("SELECT 1", "1\n");
    assert_int_equal(n.opened, n.closed);
    sl_rows_unregister(engine, id);
}

/* Each allocation of ours fails once: an error or the right answer, nothing else. */
static void test_out_of_memory(void **state)
{
    sl_err err = SL_ERR_INIT;
    int rc = SL_ENOMEM;

    (void)state;
    for (int nth = 1; rc != SL_OK; nth++) {
        struct numbers n = {.fields = all, .nfields = NALL, .total = 5000, .piece = 1000, .fail_at = -1};
        uint64_t id = add(&n);
        char *text = NULL;
        int64_t before = sl_mem_count();

        sl_mem_fail_nth(nth);
        rc = sl_conn_query_str(conn, sl_str_c(with_id("SELECT max(len(rows))::VARCHAR || max(text) FROM sluice_rows(%llu)", id)),
                               &text, &err);
        if (rc == SL_OK)
            assert_string_equal(text, "4a text of number 998, far");
        else
            assert_code(rc, SL_ENOMEM);
        sl_free(text);
        assert_true(sl_mem_count() - before < 1000);
        sl_mem_fail_nth(0);
        sl_rows_unregister(engine, id);
    }
}

static void test_unsupported_type(void **state)
{
    static const struct sl_field blob[] = {{.name = "b", .type = &t_blob}};
    struct numbers n = {.fields = blob, .nfields = 1, .piece = 1, .fail_at = -1};
    uint64_t id = add(&n);
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_code(sl_conn_exec(conn, sl_str_c(with_id("SELECT * FROM sluice_rows(%llu)", id)), &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "BLOB"));
    sl_rows_unregister(engine, id);
}

static void test_bad_text(void **state)
{
    static const struct sl_field text[] = {{.name = "t", .type = &t_text}, {.name = "b", .type = &t_bytes}};
    struct sl_batch *b = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_batch_new(text, 2, &b, &err), err);
    assert_code(sl_vector_put_bytes(&b->cols[0], 0, SL_LIT("abc\xff"), &err), SL_EINPUT);
    assert_non_null(strstr(err.text, "byte 3"));
    assert_ok(sl_vector_put_bytes(&b->cols[1], 0, SL_LIT("abc\xff"), &err), err);
    sl_batch_free(b);
}

/* The batch in plain memory holds what DuckDB's would. */
static void test_plain_batch(void **state)
{
    struct sl_batch *b = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_batch_new(all, NALL, &b, &err), err);
    for (int round = 0; round < 2; round++) {
        for (size_t row = 0; row < b->cap; row++)
            for (size_t i = 0; i < NALL; i++)
                assert_ok(put(&b->cols[i], row, (int64_t)row, &err), err);
        assert_true(sl_vector_is_null(&b->cols[3], 7));
        assert_false(sl_vector_is_null(&b->cols[3], 8));
        assert_true(sl_str_eqc(sl_vector_bytes(&b->cols[11], 2046), "a text of number 2046, far"));
        assert_int_equal(((int32_t *)b->cols[18].children[0].data)[b->cols[18].list_used - 1], 2049 - 1);
        sl_batch_reset(b);
    }
    sl_batch_free(b);
}

/* ---- functions ---- */

static void test_partition(void **state)
{
    struct sl_partitions *p = NULL;
    sl_err err = SL_ERR_INIT;
    char sql[500];

    (void)state;
    assert_ok(sl_partitions_new(engine, 2, &p, &err), err);
    snprintf(sql, sizeof sql,
             "SELECT count(DISTINCT n), min(n), max(n) FROM (SELECT sluice_partition(%llu, a, b) AS n FROM (VALUES "
             "(NULL, ''), ('', NULL), ('', ''), (NULL, NULL), ('NULL', ''), ('a/b=%%', repeat('x', 300)), ('', ''), ('ab', 'c'), "
             "('a', 'bc')) t(a, b))", (unsigned long long)sl_partitions_id(p));
    assert_rows(sql, "8|0|7\n");
    assert_int_equal(sl_partitions_count(p), 8);
    size_t nulls = 0, longs = 0;
    for (size_t i = 0; i < 8; i++) {
        const sl_str *v = sl_partitions_values(p, i);

        nulls += !v[0].p && !v[1].p;
        longs += v[1].p && v[1].n == 300 && sl_str_eqc(v[0], "a/b=%");
    }
    assert_int_equal(nulls, 1);
    assert_int_equal(longs, 1);
    assert_null(sl_partitions_values(p, 8));
    snprintf(sql, sizeof sql, "SELECT count(DISTINCT sluice_partition(%llu, (i %% 400)::VARCHAR, 'c')) FROM range(1000000) t(i)",
             (unsigned long long)sl_partitions_id(p));
    assert_rows(sql, "400\n");
    assert_int_equal(sl_partitions_count(p), 408);
    snprintf(sql, sizeof sql, "SELECT sluice_partition(%llu, 'x')", (unsigned long long)sl_partitions_id(p));
    assert_code(sl_conn_exec(conn, sl_str_c(sql), &err), SL_ESQL);
    sl_partitions_free(p);
}

static int odd_deleted(void *self, sl_str filename, const int64_t *rows, size_t n, bool *deleted, sl_err *err)
{
    (void)self;
    if (sl_str_eqc(filename, "bad"))
        return sl_err_set(err, SL_ENOTFOUND, "no deletion vector");
    for (size_t i = 0; i < n; i++)
        deleted[i] = sl_str_eqc(filename, "odd") ? rows[i] % 2 : !(rows[i] % 2);
    return SL_OK;
}

static void test_deleted(void **state)
{
    struct sl_row_filter f = {.deleted = odd_deleted};
    sl_err err = SL_ERR_INIT;
    uint64_t id;

    (void)state;
    assert_ok(sl_row_filter_register(engine, &f, &id, &err), err);
    assert_rows(with_id("SELECT f, count(*), min(i) FROM (SELECT i, CASE WHEN i %% 1000 < 300 THEN 'odd' ELSE 'even' END AS f "
                        "FROM range(10000) t(i)) WHERE NOT sluice_deleted(%llu, f, i) GROUP BY f ORDER BY f", id),
                "even|3500|301\nodd|1500|0\n");
    assert_code(sl_conn_exec(conn, sl_str_c(with_id("SELECT sluice_deleted(%llu, 'bad', i) FROM range(3) t(i)", id)), &err),
                SL_ENOTFOUND);
    assert_string_equal(err.text, "no deletion vector");
    sl_row_filter_unregister(engine, id);
}

static int twice(void *self, const struct sl_vector *args, size_t nargs, size_t rows, struct sl_vector *out, sl_err *err)
{
    (void)self;
    (void)nargs;
    for (size_t i = 0; i < rows; i++) {
        char text[100];

        if (sl_vector_is_null(&args[0], i)) {
            SL_TRY(sl_vector_set_null(out, i, err));
            continue;
        }
        sl_str s = sl_vector_bytes(&args[0], i);
        if (sl_str_eqc(s, "no"))
            return sl_err_set(err, SL_EINPUT, "\"no\" is no word");
        snprintf(text, sizeof text, SL_STRF SL_STRF, SL_STRV(s), SL_STRV(s));
        SL_TRY(sl_vector_put_bytes(out, i, sl_str_c(text), err));
    }
    return SL_OK;
}

static void test_scalar(void **state)
{
    struct sl_scalar f = {.name = "twice", .args = {&t_text}, .nargs = 1, .ret = &t_text, .fn = twice};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_scalar_register(engine, &f, &err), err);
    assert_rows("SELECT twice(a) FROM (VALUES ('abcdefgh'), (NULL), ('x')) t(a)", "abcdefghabcdefgh\nNULL\nxx\n");
    assert_rows("SELECT twice('const'), twice(NULL) FROM range(2)", "constconst|NULL\nconstconst|NULL\n");
    assert_rows("SELECT count(*) FROM range(10000) t(i) WHERE twice((i % 3)::VARCHAR) = '11'", "3333\n");
    assert_code(sl_conn_exec(conn, SL_LIT("SELECT twice('no')"), &err), SL_EINPUT);
    assert_string_equal(err.text, "\"no\" is no word");
}

/* ---- results as vectors ---- */

static void test_result_vectors(void **state)
{
    struct sl_arena arena = SL_ARENA_INIT;
    const struct sl_type *type;
    struct sl_vector *v = NULL;
    struct sl_result *r = NULL;
    sl_err err = SL_ERR_INIT;
    size_t rows, from, n, seen = 0;

    (void)state;
    assert_ok(sl_type_from_sql(&arena, SL_LIT("ROW<a INT, l ARRAY<STRING>, m MAP<STRING, INT>, d DECIMAL(20, 2)>"), &type, &err), err);
    assert_ok(sl_conn_query(conn, SL_LIT("SELECT i::INTEGER, ['element ' || i || ' of a list', NULL], MAP {'k' || i: i::INTEGER}, "
                                         "(i + 0.25)::DECIMAL(20, 2) FROM range(5000) t(i) ORDER BY i DESC"), &r, &err), err);
    for (;;) {
        assert_ok(sl_result_next(r, &rows, &err), err);
        if (!rows)
            break;
        assert_ok(sl_result_vectors(r, 0, type->fields, 4, &arena, &v, &err), err);
        for (size_t i = 0; i < rows; i++, seen++) {
            const int want = 4999 - (int)seen;
            char text[64];

            assert_int_equal(((int32_t *)v[0].data)[i], want);
            snprintf(text, sizeof text, "element %d of a list", want);
            sl_vector_list_get(&v[1], i, &from, &n);
            assert_int_equal(n, 2);
            assert_true(sl_str_eqc(sl_vector_bytes(&v[1].children[0], from), text));
            assert_true(sl_vector_is_null(&v[1].children[0], from + 1));
            sl_vector_list_get(&v[2], i, &from, &n);
            assert_int_equal(n, 1);
            assert_int_equal(((int32_t *)v[2].children[1].data)[from], want);
            assert_true(((sl_i128 *)v[3].data)[i] == want * 100 + 25);
        }
    }
    assert_int_equal(seen, 5000);
    sl_result_free(r);
    sl_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_types), cmocka_unit_test(test_many), cmocka_unit_test(test_fill_error),
        cmocka_unit_test(test_late_error), cmocka_unit_test(test_abandoned), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_unsupported_type), cmocka_unit_test(test_bad_text), cmocka_unit_test(test_plain_batch),
        cmocka_unit_test(test_partition), cmocka_unit_test(test_deleted), cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_result_vectors),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
