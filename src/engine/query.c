/* Running SQL. */
#include <string.h>

#include "engine/engine_priv.h"

enum { PROGRESS_NANOS = 200000000 };

static void progress(struct sl_conn *c)
{
    int64_t now;

    if (!c->on_progress)
        return;
    now = sl_mono_nanos();
    if (now - c->progress_at < PROGRESS_NANOS)
        return;
    c->progress_at = now;
    c->on_progress(c->progress_user, sl_conn_progress(c));
}

/* Run to the first rows, or to the end. DuckDB returns at once while only other threads have work, so sleep then. */
static int run_tasks(struct sl_conn *c, duckdb_pending_result pending, size_t shift, sl_err *err)
{
    struct timespec pause = {0, 20000};

    for (;;) {
        duckdb_pending_state state = duckdb_pending_execute_task(pending);

        if (state == DUCKDB_PENDING_ERROR)
            return sl_engine__error(c->engine, duckdb_pending_error(pending), shift, err);
        if (duckdb_pending_execution_is_finished(state))
            return SL_OK;
        progress(c);
        if (state != DUCKDB_PENDING_NO_TASKS_AVAILABLE) {
            pause.tv_nsec = 20000;
            continue;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

/* R holds a prepared statement: begin to run it. */
static int start(struct sl_result *r, sl_err *err)
{
    int rc = SL_OK;
    struct sl_conn *c = r->conn;
    duckdb_pending_result pending = NULL;

    SL_TRY(sl_cancel_check(err));
    sl_engine__begin(c);
    r->running = true;
    if (duckdb_pending_prepared_streaming(r->prepared, &pending) != DuckDBSuccess) {
        rc = sl_engine__error(c->engine, duckdb_pending_error(pending), r->shift, err);
        goto done;
    }
    SL_GO(run_tasks(c, pending, r->shift, err));
    r->open = true; /* also a result that failed is to be destroyed */
    if (duckdb_execute_pending(pending, &r->duck) != DuckDBSuccess)
        rc = sl_engine__error(c->engine, duckdb_result_error(&r->duck), r->shift, err);
done:
    duckdb_destroy_pending(&pending);
    return rc;
}

/* Columns, as they are known before the run. */
static int describe(struct sl_result *r, sl_err *err)
{
    size_t n = duckdb_prepared_statement_column_count(r->prepared);
    duckdb_statement_type kind = duckdb_prepared_statement_type(r->prepared);

    r->has_rows = kind == DUCKDB_STATEMENT_TYPE_SELECT || kind == DUCKDB_STATEMENT_TYPE_EXPLAIN ||
                  kind == DUCKDB_STATEMENT_TYPE_CALL || kind == DUCKDB_STATEMENT_TYPE_PRAGMA || kind == DUCKDB_STATEMENT_TYPE_COPY;
    r->cols = sl_calloc(n ? n : 1, sizeof *r->cols);
    if (!r->cols)
        return sl_err_nomem(err);
    for (; r->ncols < n; r->ncols++) {
        struct sl_column *col = &r->cols[r->ncols];
        struct sl_buf text = SL_BUF_INIT;
        const char *name = duckdb_prepared_statement_column_name(r->prepared, r->ncols);
        duckdb_logical_type t = duckdb_prepared_statement_column_logical_type(r->prepared, r->ncols);

        sl_engine__type_sql(&text, t);
        col->name = sl_strdup(name ? name : "");
        col->type_sql = sl_buf_take(&text);
        duckdb_free((void *)name);
        duckdb_destroy_logical_type(&t);
        if (!col->name || !col->type_sql) {
            sl_free(col->name);
            sl_free(col->type_sql);
            return sl_err_nomem(err);
        }
    }
    return SL_OK;
}

static int prepare(struct sl_conn *c, duckdb_extracted_statements all, size_t i, size_t shift, struct sl_result **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *r = sl_calloc(1, sizeof *r);

    if (!r)
        return sl_err_nomem(err);
    r->conn = c;
    r->shift = shift;
    if (duckdb_prepare_extracted_statement(c->duck, all, i, &r->prepared) != DuckDBSuccess) {
        rc = sl_engine__error(c->engine, duckdb_prepare_error(r->prepared), shift, err);
        goto done;
    }
    SL_GO(describe(r, err));
    *out = r;
    r = NULL;
done:
    sl_result_free(r);
    return rc;
}

static int extract(struct sl_conn *c, sl_str sql, size_t shift, duckdb_extracted_statements *all, size_t *n, sl_err *err)
{
    char *text;
    const char *message;
    size_t bad;

    *all = NULL;
    if (!sl_utf8_valid(sql, &bad) || memchr(sql.p ? sql.p : "", 0, sql.n)) {
        sl_err_set(err, SL_ESQL, "the SQL text is not UTF-8 or has a zero byte in it");
        return SL_ESQL;
    }
    text = sl_str_dup(sql);
    if (!text)
        return sl_err_nomem(err);
    *n = duckdb_extract_statements(c->duck, text, all);
    sl_free(text);
    message = *n ? NULL : duckdb_extract_statements_error(*all);
    if (message && *message)
        return sl_engine__error(c->engine, message, shift, err);
    return SL_OK;
}

int sl_conn_exec(struct sl_conn *c, sl_str sql, sl_err *err)
{
    int rc = SL_OK;
    duckdb_extracted_statements all = NULL;
    struct sl_result *r = NULL;
    size_t n = 0, rows = 1;

    SL_GO(extract(c, sql, 0, &all, &n, err));
    for (size_t i = 0; i < n; i++) {
        SL_GO(prepare(c, all, i, 0, &r, err));
        SL_GO(start(r, err));
        for (rows = 1; rows;)
            SL_GO(sl_result_next(r, &rows, err));
        sl_result_free(r);
        r = NULL;
    }
done:
    sl_result_free(r);
    duckdb_destroy_extracted(&all);
    return rc;
}

int sl_conn_execf(struct sl_conn *c, sl_err *err, const char *fmt, ...)
{
    int rc = SL_OK;
    struct sl_buf sql = SL_BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    sl_buf_vprintf(&sql, fmt, ap);
    va_end(ap);
    SL_GO(sl_buf_ok(&sql, err));
    rc = sl_conn_exec(c, sl_buf_view(&sql), err);
done:
    sl_buf_release(&sql);
    return rc;
}

static int prepare_one(struct sl_conn *c, sl_str sql, size_t shift, struct sl_result **out, sl_err *err)
{
    int rc = SL_OK;
    duckdb_extracted_statements all = NULL;
    size_t n = 0;

    SL_GO(extract(c, sql, shift, &all, &n, err));
    if (n != 1) {
        rc = sl_err_set(err, SL_ESQL, n ? "%zu statements where one is wanted" : "there is no statement in the text", n);
        goto done;
    }
    rc = prepare(c, all, 0, shift, out, err);
done:
    duckdb_destroy_extracted(&all);
    return rc;
}

int sl_conn_prepare(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err)
{
    struct sl_result *r = NULL;

    SL_TRY(prepare_one(c, sql, 0, &r, err));
    if (out)
        *out = r;
    else
        sl_result_free(r);
    return SL_OK;
}

int sl_engine__query(struct sl_conn *c, sl_str sql, size_t shift, struct sl_result **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *r = NULL;

    SL_GO(prepare_one(c, sql, shift, &r, err));
    SL_GO(start(r, err));
    *out = r;
    r = NULL;
done:
    sl_result_free(r);
    return rc;
}

int sl_conn_query(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err)
{
    return sl_engine__query(c, sql, 0, out, err);
}

/* ---- all columns as text ---- */

static bool only_texts(const struct sl_result *r)
{
    for (size_t i = 0; i < r->ncols; i++)
        if (strcmp(r->cols[i].type_sql, "VARCHAR"))
            return false;
    return true;
}

/* Past a quoted text, name or comment that begins at I, else I. */
static size_t skip_quoted(sl_str s, size_t i)
{
    char c = s.p[i], next = i + 1 < s.n ? s.p[i + 1] : 0;
    ptrdiff_t end;

    if (c == '\'' || c == '"') { /* a doubled quote begins another one right away */
        end = sl_str_find(sl_str_sub(s, i + 1, s.n), (sl_str){&s.p[i], 1});
        return end < 0 ? s.n : i + (size_t)end + 2;
    }
    if (c == '-' && next == '-') {
        end = sl_str_find(sl_str_sub(s, i, s.n), SL_LIT("\n"));
        return end < 0 ? s.n : i + (size_t)end;
    }
    if (c == '/' && next == '*') {
        end = sl_str_find(sl_str_sub(s, i + 2, s.n), SL_LIT("*/"));
        return end < 0 ? s.n : i + (size_t)end + 4;
    }
    if (c == '$') { /* $tag$ ... $tag$ */
        end = sl_str_find(sl_str_sub(s, i + 1, s.n), SL_LIT("$"));
        if (end < 0)
            return i;
        sl_str tag = sl_str_sub(s, i, i + (size_t)end + 2);
        end = sl_str_find(sl_str_sub(s, i + tag.n, s.n), tag);
        return end < 0 ? i : i + tag.n + (size_t)end + tag.n;
    }
    return i;
}

/* The one statement of SQL without its closing semicolon and what may follow that. */
static sl_str statement_of(sl_str sql)
{
    bool begun = false;

    for (size_t i = 0; i < sql.n;) {
        size_t past = skip_quoted(sql, i);

        if (past > i) {
            begun = begun || (sql.p[i] != '-' && sql.p[i] != '/');
            i = past;
            continue;
        }
        if (sql.p[i] == ';' && begun)
            return sl_str_sub(sql, 0, i);
        begun = begun || !strchr(" \t\r\n;", sql.p[i]);
        i++;
    }
    return sql;
}

/* SELECT "c0"::VARCHAR, ... FROM (SQL) AS t("c0", ...). *SHIFT: where SQL starts. */
static void wrap(struct sl_buf *out, sl_str sql, size_t ncols, size_t *shift)
{
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < ncols; i++)
        sl_buf_printf(out, "%sc%zu::VARCHAR", i ? ", " : "", i);
    sl_buf_addc(out, " FROM (");
    *shift = out->n;
    sl_buf_add(out, statement_of(sql));
    sl_buf_addc(out, "\n) AS t("); /* the line feed ends a comment */
    for (size_t i = 0; i < ncols; i++)
        sl_buf_printf(out, "%sc%zu", i ? ", " : "", i);
    sl_buf_ch(out, ')');
}

/* The columns of WRAPPED become texts; their names and types are those of FIRST. */
static void adopt_columns(struct sl_result *wrapped, struct sl_result *first)
{
    struct sl_column *cols = wrapped->cols;

    for (size_t i = 0; i < wrapped->ncols; i++) {
        char *name = cols[i].name, *type_sql = cols[i].type_sql;

        cols[i].name = first->cols[i].name;
        cols[i].type_sql = first->cols[i].type_sql;
        first->cols[i].name = name;
        first->cols[i].type_sql = type_sql;
    }
}

/* Statements that cannot stand within a SELECT give texts, counts and flags, which sl_result_str renders. */
static int check_renderable(const struct sl_result *r, sl_err *err)
{
    static const char *const types[] = {"VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT",
                                        "USMALLINT", "UINTEGER", "DOUBLE", "FLOAT"};

    for (size_t i = 0; i < r->ncols; i++) {
        bool known = false;

        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            known = known || !strcmp(r->cols[i].type_sql, types[k]);
        if (!known)
            return sl_err_set(err, SL_EUNSUPPORTED, "this kind of statement cannot give a column of type %s as text",
                              r->cols[i].type_sql);
    }
    return SL_OK;
}

/* FIRST, which gives other types than texts, once more with casts. */
static int prepare_casts(struct sl_conn *c, sl_str sql, struct sl_result *first, struct sl_result **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_buf wrapped = SL_BUF_INIT;
    size_t shift;

    wrap(&wrapped, sql, first->ncols, &shift);
    SL_GO(sl_buf_ok(&wrapped, err));
    SL_GO(prepare_one(c, sl_buf_view(&wrapped), shift, out, err));
    adopt_columns(*out, first);
done:
    sl_buf_release(&wrapped);
    return rc;
}

int sl_conn_query_text(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *first = NULL, *r = NULL;

    SL_GO(prepare_one(c, sql, 0, &first, err));
    if (only_texts(first)) {
        r = first;
        first = NULL;
    } else if (duckdb_prepared_statement_type(first->prepared) == DUCKDB_STATEMENT_TYPE_SELECT) {
        SL_GO(prepare_casts(c, sql, first, &r, err));
    } else {
        SL_GO(check_renderable(first, err));
        r = first;
        first = NULL;
    }
    r->text = true;
    SL_GO(start(r, err));
    *out = r;
    r = NULL;
done:
    sl_result_free(first);
    sl_result_free(r);
    return rc;
}

/* ---- variables ---- */

static duckdb_value text_list(const sl_str *v, size_t n)
{
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_value *values = sl_calloc(n ? n : 1, sizeof *values), list = NULL;

    for (size_t i = 0; values && i < n; i++)
        values[i] = duckdb_create_varchar_length(v[i].p ? v[i].p : "", v[i].n);
    if (values)
        list = duckdb_create_list_value(text, values, n);
    for (size_t i = 0; values && i < n; i++)
        duckdb_destroy_value(&values[i]);
    sl_free(values);
    duckdb_destroy_logical_type(&text);
    return list;
}

int sl_conn_set_list(struct sl_conn *c, const char *name, const sl_str *v, size_t n, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *r = NULL;
    struct sl_buf sql = SL_BUF_INIT;
    duckdb_value list = NULL;
    size_t bad, rows = 1;

    for (size_t i = 0; i < n; i++)
        if (!sl_utf8_valid(v[i], &bad))
            return sl_err_set(err, SL_EINPUT, "a text of the list %s is not UTF-8 at byte %zu", name, bad);
    sl_buf_addc(&sql, "SET VARIABLE ");
    sl_buf_sql_ident(&sql, sl_str_c(name));
    sl_buf_addc(&sql, " = ?");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(prepare_one(c, sl_buf_view(&sql), 0, &r, err));
    list = text_list(v, n);
    if (!list)
        SL_GOTO_NOMEM(err);
    if (duckdb_bind_value(r->prepared, 1, list) != DuckDBSuccess) {
        rc = sl_engine__error(c->engine, duckdb_prepare_error(r->prepared), 0, err);
        goto done;
    }
    SL_GO(start(r, err));
    while (rows)
        SL_GO(sl_result_next(r, &rows, err));
done:
    duckdb_destroy_value(&list);
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

int sl_conn_unset(struct sl_conn *c, const char *name, sl_err *err)
{
    int rc = SL_OK;
    struct sl_buf sql = SL_BUF_INIT;

    sl_buf_addc(&sql, "RESET VARIABLE ");
    sl_buf_sql_ident(&sql, sl_str_c(name));
    SL_GO(sl_buf_ok(&sql, err));
    rc = sl_conn_exec(c, sl_buf_view(&sql), err);
done:
    sl_buf_release(&sql);
    return rc;
}

/* ---- one value ---- */

static int first_row(struct sl_conn *c, sl_str sql, struct sl_result **out, sl_err *err)
{
    size_t rows = 0;

    SL_TRY(sl_conn_query(c, sql, out, err));
    SL_TRY(sl_result_next(*out, &rows, err));
    return rows && (*out)->ncols ? SL_OK : sl_err_set(err, SL_ENOTFOUND, "the query gave no row");
}

int sl_conn_query_i64(struct sl_conn *c, sl_str sql, int64_t *out, sl_err *err)
{
    struct sl_result *r = NULL;
    int rc = first_row(c, sql, &r, err);

    if (rc == SL_OK)
        *out = sl_result_i64(r, 0, 0);
    sl_result_free(r);
    return rc;
}

int sl_conn_query_str(struct sl_conn *c, sl_str sql, char **out, sl_err *err)
{
    struct sl_result *r = NULL;
    int rc = first_row(c, sql, &r, err);

    if (rc == SL_OK && !(*out = sl_str_dup(sl_result_str(r, 0, 0))))
        rc = sl_err_nomem(err);
    sl_result_free(r);
    return rc;
}
