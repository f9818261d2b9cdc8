/* session.c - the public calls, and what a session keeps. */
#include "sql/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "sql/dialect.h"
#include "sql/source_table.h"
#include "table/log/log.h"

int sl_session_open(struct sl_env *env, struct sl_session **out, sl_err *err)
{
    struct sl_session *s = sl_calloc(1, sizeof *s);

    *out = NULL;
    if (s)
        s->db = sl_strdup(SL_DEFAULT_DATABASE);
    if (!s || !s->db) {
        sl_free(s);
        return sl_err_nomem(err);
    }
    s->env = env;
    *out = s;
    return SL_OK;
}

void sl_session_close(struct sl_session *s)
{
    if (!s)
        return;
    sl_session_drop_conn(s);
    sl_session_reset(s, NULL);
    sl_free(s->settings.v);
    sl_free(s->db);
    sl_free(s);
}

/* ---- the connection ---- */

static void on_progress(void *user, double percent)
{
    const struct sl_session *s = user;

    if (s->sink && s->sink->progress)
        s->sink->progress(s->sink->user, percent, (double)(sl_mono_nanos() - s->started) / 1e9);
}

int sl_session_conn(struct sl_session *s, struct sl_conn **out, sl_err *err)
{
    struct sl_engine *e;
    struct sl_conn *c = s->conn;

    if (!c) {
        SL_TRY(sl_env_engine(s->env, &e, err));
        SL_TRY(sl_engine_extend(e, sl_dialect_register, err));
        SL_TRY(sl_conn_open(e, &c, err));
        sl_conn_on_progress(c, on_progress, s);
        s->conn = c;
    }
    *out = c;
    return SL_OK;
}

void sl_session_drop_conn(struct sl_session *s)
{
    struct sl_conn *c = atomic_exchange(&s->conn, NULL);

    sl_conn_close(c);
}

void sl_session_interrupt(struct sl_session *s)
{
    struct sl_conn *c = s->conn;

    if (c)
        sl_conn_interrupt(c);
}

/* ---- settings ---- */

const char *sl_session_setting(const struct sl_session *s, const char *key)
{
    for (size_t i = 0; i < s->settings.n; i++)
        if (strcmp(s->settings.v[i].key, key) == 0)
            return s->settings.v[i].value;
    return strcmp(key, "sluice.prune") == 0 ? getenv("SLUICE_PRUNE") : NULL;
}

void sl_session_reset(struct sl_session *s, const char *key)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->settings.n; i++) {
        if (key && strcmp(s->settings.v[i].key, key) != 0) {
            s->settings.v[kept++] = s->settings.v[i];
            continue;
        }
        sl_free(s->settings.v[i].key);
        sl_free(s->settings.v[i].value);
    }
    s->settings.n = kept;
}

int sl_session_set(struct sl_session *s, sl_str key, sl_str value, sl_err *err)
{
    char *k = sl_str_dup(key), *v = sl_str_dup(value);
    struct sl_setting *slot = NULL;

    if (k && v) {
        sl_session_reset(s, k);
        slot = sl_vec_push(&s->settings);
    }
    if (!slot) {
        sl_free(k);
        sl_free(v);
        return sl_err_nomem(err);
    }
    *slot = (struct sl_setting){k, v};
    return SL_OK;
}

/* ---- names ---- */

int sl_sql_at(int code, size_t at, sl_err *err)
{
    if (code != SL_OK && code != SL_ECANCELLED && code != SL_ENOMEM && err && err->offset < 0)
        sl_err_at(err, (int64_t)at);
    return code;
}

sl_str sl_session_db(const struct sl_session *s, const struct sl_table_name *n)
{
    return n->db.p ? n->db : sl_str_c(s->db);
}

static size_t distance(sl_str a, const char *b)
{
    size_t row[65], n = strlen(b);

    if (a.n > 64 || n > 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + ((a.p[i - 1] | 32) != (b[j - 1] | 32));

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

int sl_session_no_table(struct sl_session *s, sl_str db, sl_str table, size_t at, sl_err *err)
{
    struct sl_catalog *catalog = sl_env_catalog(s->env);
    struct sl_names names = {0};
    const char *nearest = NULL;
    size_t best = table.n / 3 + 2;
    bool has;

    SL_TRY(sl_catalog_has_database(catalog, db, &has, err));
    if (!has) {
        sl_err_set(err, SL_ENOTFOUND, "there is no database \"" SL_STRF "\"", SL_STRV(db));
        sl_err_hint(err, "SHOW DATABASES lists them");
        return sl_sql_at(SL_ENOTFOUND, at, err);
    }
    if (sl_catalog_tables(catalog, db, &names, NULL) == SL_OK &&
        sl_source_names(s, db, &names, NULL) == SL_OK) {
        for (size_t i = 0; i < names.n; i++) {
            if (distance(table, names.v[i]) < best) {
                best = distance(table, names.v[i]);
                nearest = names.v[i];
            }
        }
    }
    sl_err_set(err, SL_ENOTFOUND,
               "there is no table \"" SL_STRF "\" in the database \"" SL_STRF "\"", SL_STRV(table),
               SL_STRV(db));
    if (nearest)
        sl_err_hint(err, "did you mean \"%s\"?", nearest);
    else
        sl_err_hint(err, "SHOW TABLES lists them; the warehouse is \"%s\"",
                    sl_env_warehouse(s->env));
    sl_names_release(&names);
    return sl_sql_at(SL_ENOTFOUND, at, err);
}

int sl_session_log(struct sl_session *s, const struct sl_table_name *n, struct sl_log **out,
                   sl_err *err)
{
    struct sl_catalog *c = sl_env_catalog(s->env);
    const sl_str db = sl_session_db(s, n);
    enum sl_table_kind kind;
    int rc = n->path ? sl_table_kind_of_path(n->table, &kind, err)
                     : sl_catalog_table_kind(c, db, n->table, &kind, err);

    *out = NULL;
    if (rc == SL_OK && kind == SL_TABLE_LOG)
        rc = n->path ? sl_log_open_path(n->table, out, err) : sl_log_open(c, db, n->table, out, err);
    return sl_sql_at(rc, n->from, err);
}

int sl_session_table(struct sl_session *s, const struct sl_table_name *n, struct sl_append **out,
                     sl_err *err)
{
    const sl_str db = sl_session_db(s, n);
    const char *dollar = n->path ? NULL : memchr(n->table.p, '$', n->table.n);
    const sl_str table = dollar ? sl_str_sub(n->table, 0, (size_t)(dollar - n->table.p)) : n->table;
    const char *branch = NULL;
    bool has;

    *out = NULL;
    if (n->path)
        return sl_sql_at(sl_append_open_path(n->table, NULL, out, err), n->from, err);
    if (dollar) {
        if (!sl_str_starts(sl_str_sub(n->table, table.n, n->table.n), "$branch_") ||
            strchr(dollar + 1, '$')) {
            sl_err_set(err, SL_ESQL, "\"%s\" is a system table, which is only read", n->table.p);
            return sl_sql_at(SL_ESQL, n->from, err);
        }
        branch = dollar + strlen("$branch_");
    }
    SL_TRY(sl_catalog_has_table(sl_env_catalog(s->env), db, table, &has, err));
    if (!has) {
        SL_TRY(sl_source_exists(s, db, table, &has, err));
        if (has) {
            sl_err_set(err, SL_EUNSUPPORTED,
                       "\"" SL_STRF "\" is a source table, which is only read", SL_STRV(table));
            return sl_sql_at(SL_EUNSUPPORTED, n->from, err);
        }
        return sl_session_no_table(s, db, table, n->from, err);
    }
    return sl_sql_at(sl_append_open(sl_env_catalog(s->env), db, table, branch, out, err), n->from,
                     err);
}

/* ---- results made here ---- */

int sl_show_columns(struct sl_session *s, const char *const *names, size_t n, sl_err *err)
{
    struct sl_sql_column columns[16];

    if (!s->sink || !s->sink->columns)
        return SL_OK;
    for (size_t i = 0; i < n; i++)
        columns[i] = (struct sl_sql_column){names[i], "VARCHAR"};
    return s->sink->columns(s->sink->user, columns, n, err);
}

int sl_show_row(struct sl_session *s, const sl_str *cells, size_t n, sl_err *err)
{
    return s->sink && s->sink->row ? s->sink->row(s->sink->user, cells, n, err) : SL_OK;
}

/* ---- running ---- */

static int run_statement(struct sl_exec *r, sl_err *err)
{
    switch (r->st->kind) {
    case SL_STMT_QUERY:
    case SL_STMT_EXPLAIN:
    case SL_STMT_COPY:
        return sl_exec_query(r, err);
    case SL_STMT_INSERT:
        return sl_exec_insert(r, err);
    case SL_STMT_UPDATE:
    case SL_STMT_DELETE:
    case SL_STMT_MERGE:
    case SL_STMT_TRUNCATE:
    case SL_STMT_DROP_PARTITION:
        return sl_exec_rewrite(r, err);
    case SL_STMT_CREATE_DATABASE:
    case SL_STMT_DROP_DATABASE:
    case SL_STMT_CREATE_TABLE:
    case SL_STMT_DROP_TABLE:
    case SL_STMT_ALTER_TABLE:
    case SL_STMT_RENAME_TABLE:
        return sl_exec_ddl(r, err);
    case SL_STMT_SET:
    case SL_STMT_RESET:
    case SL_STMT_USE:
        return sl_exec_settings(r, err);
    case SL_STMT_CALL:
        return sl_exec_call(r, err);
    default:
        return sl_exec_show(r, err);
    }
}

static int run_tokens(struct sl_session *s, const struct sl_tokens *tokens, sl_err *err)
{
    struct sl_statement st = {.arena = SL_ARENA_INIT};
    struct sl_exec r = {.s = s, .tokens = tokens, .st = &st};
    int rc;

    s->started = sl_mono_nanos();
    SL_GO(sl_statement_parse(tokens, &st, err));
    r.done.verb = st.verb;
    SL_GO(sl_sql_at(run_statement(&r, err), tokens->from, err));
    r.done.seconds = (double)(sl_mono_nanos() - s->started) / 1e9;
    if (s->sink && s->sink->done)
        rc = s->sink->done(s->sink->user, &r.done, err);
done:
    sl_statement_release(&st);
    return rc;
}

int sl_session_run(struct sl_session *s, sl_str text, const struct sl_sql_sink *sink, sl_err *err)
{
    struct sl_tokens tokens = {0};
    size_t bad_at = 0, from = 0;
    int rc = SL_OK;

    s->sink = sink;
    if (!sl_utf8_valid(text, &bad_at) || memchr(text.p ? text.p : "", 0, text.n)) {
        if (sl_utf8_valid(text, NULL))
            bad_at = (size_t)((const char *)memchr(text.p, 0, text.n) - text.p);
        sl_err_set(err, SL_ESQL, "the text is not valid UTF-8 at byte %zu", bad_at);
        sl_err_at(err, (int64_t)bad_at);
        return SL_ESQL;
    }
    while (from < text.n) {
        SL_GO(sl_cancel_check(err));
        SL_GO(sl_lex(text, from, &tokens, err));
        if (tokens.n > 0)
            SL_GO(run_tokens(s, &tokens, err));
        from = tokens.next;
    }
done:
    s->sink = NULL;
    sl_tokens_release(&tokens);
    return rc;
}
