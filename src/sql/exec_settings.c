/* exec_settings.c - SET, RESET, USE. Quoted keys and those with a dot or dash are ours, others are
 * DuckDB's. */
#include <string.h>

#include "sql/session.h"

static bool is_ours(const struct sl_exec *r, const struct sl_word *key)
{
    return r->tokens->text.p[key->from] == '\'' || memchr(key->text.p, '.', key->text.n) ||
           memchr(key->text.p, '-', key->text.n);
}

static int show_settings(struct sl_exec *r, sl_err *err)
{
    static const char *const columns[] = {"key", "value"};

    r->done.has_rows = r->done.counts_rows = true;
    SL_TRY(sl_show_columns(r->s, columns, 2, err));
    for (size_t i = 0; i < r->s->settings.n; i++) {
        const sl_str cells[] = {sl_str_c(r->s->settings.v[i].key),
                                sl_str_c(r->s->settings.v[i].value)};

        SL_TRY(sl_show_row(r->s, cells, 2, err));
        r->done.rows++;
    }
    return SL_OK;
}

static int check_value(const struct sl_pair *p, sl_err *err)
{
    uint64_t millis;

    if (sl_str_eqc(p->key.text, "sluice.prune") && !sl_str_eqc(p->value.text, "on") &&
        !sl_str_eqc(p->value.text, "off"))
        sl_err_set(err, SL_ESQL, "'sluice.prune' is 'on' or 'off'");
    else if (sl_str_eqc(p->key.text, "execution.checkpointing.interval") &&
             !sl_parse_millis(p->value.text, &millis))
        sl_err_set(err, SL_ESQL, "'" SL_STRF "' is no time such as '10s'", SL_STRV(p->value.text));
    else
        return SL_OK;
    return sl_sql_at(SL_ESQL, p->value.from, err);
}

static int duckdb_setting(struct sl_exec *r, sl_err *err)
{
    struct sl_conn *conn;
    const sl_str sql = sl_str_sub(r->tokens->text, r->tokens->from, r->tokens->to);

    SL_TRY(sl_session_conn(r->s, &conn, err));
    int rc = sl_conn_exec(conn, sql, err);
    if (rc != SL_OK && err && err->offset >= 0)
        err->offset += (int64_t)r->tokens->from;
    return rc;
}

static int use(struct sl_exec *r, sl_err *err)
{
    char *db;
    bool has;

    SL_TRY(sl_catalog_has_database(sl_env_catalog(r->s->env), r->st->name.db, &has, err));
    if (!has) {
        sl_err_set(err, SL_ENOTFOUND, "there is no database \"" SL_STRF "\"",
                   SL_STRV(r->st->name.db));
        sl_err_hint(err, "SHOW DATABASES lists them, CREATE DATABASE makes one");
        return sl_sql_at(SL_ENOTFOUND, r->st->name.from, err);
    }
    db = sl_str_dup(r->st->name.db);
    if (!db)
        return sl_err_nomem(err);
    sl_free(r->s->db);
    r->s->db = db;
    return SL_OK;
}

int sl_exec_settings(struct sl_exec *r, sl_err *err)
{
    const struct sl_pair *p = r->st->pairs.n > 0 ? &r->st->pairs.v[0] : NULL;

    if (r->st->kind == SL_STMT_USE)
        return use(r, err);
    if (!p && r->st->kind == SL_STMT_SET)
        return show_settings(r, err);
    if (!p) {
        sl_session_reset(r->s, NULL);
        return SL_OK;
    }
    if (!is_ours(r, &p->key))
        return duckdb_setting(r, err);
    if (r->st->kind == SL_STMT_RESET) {
        sl_session_reset(r->s, p->key.text.p);
        return SL_OK;
    }
    SL_TRY(check_value(p, err));
    return sl_session_set(r->s, p->key.text, p->value.text, err);
}
