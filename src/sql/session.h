/* session.h - what the files of the module share of a session. */
#ifndef SL_SQL_SESSION_H
#define SL_SQL_SESSION_H

#include <stdatomic.h>

#include "engine/engine.h"
#include "sluice/sql.h"
#include "sql/statement.h"
#include "table/env.h"

struct sl_setting {
    char *key, *value; /* owned */
};

struct sl_session {
    struct sl_env *env;
    char *db; /* owned; what USE said */
    struct sl_conn *_Atomic
        conn; /* opened by the first statement that needs it; read by sl_session_interrupt */
    SL_VEC(struct sl_setting) settings; /* of ours */
    const struct sl_sql_sink *sink;     /* of the run */
    int64_t started;                    /* sl_mono_nanos of the statement */
};

int sl_session_conn(struct sl_session *s, struct sl_conn **out, sl_err *err) SL_WUR;
void sl_session_drop_conn(struct sl_session *s);

/* Settings of ours; NULL if not set. */
const char *sl_session_setting(const struct sl_session *s, const char *key);
int sl_session_set(struct sl_session *s, sl_str key, sl_str value, sl_err *err) SL_WUR;
void sl_session_reset(struct sl_session *s, const char *key); /* NULL: all */

/* The database a name means. */
sl_str sl_session_db(const struct sl_session *s, const struct sl_table_name *n);
/* Opens the table of a name, "t$branch_b" too. Errors are at the name. */
int sl_session_table(struct sl_session *s, const struct sl_table_name *n, struct sl_append **out,
                     sl_err *err) SL_WUR;
/* The same for a log table; *OUT NULL if the name is none. */
struct sl_log;
int sl_session_log(struct sl_session *s, const struct sl_table_name *n, struct sl_log **out,
                   sl_err *err) SL_WUR;
/* SL_ENOTFOUND at byte AT, with the nearest name of the database as the hint. */
int sl_session_no_table(struct sl_session *s, sl_str db, sl_str table, size_t at, sl_err *err);
/* ERR speaks of byte AT of the user's text, unless it says where already. Returns CODE. */
int sl_sql_at(int code, size_t at, sl_err *err);

/* ---- results that are made here, not by DuckDB ---- */
int sl_show_columns(struct sl_session *s, const char *const *names, size_t n,
                    sl_err *err) SL_WUR; /* all VARCHAR */
int sl_show_row(struct sl_session *s, const sl_str *cells, size_t n, sl_err *err) SL_WUR;

/* ---- statements; each fills DONE as far as it is not known already ---- */
struct sl_exec {
    struct sl_session *s;
    const struct sl_tokens *tokens;
    struct sl_statement *st;
    struct sl_sql_done done;
};
int sl_exec_query(struct sl_exec *r, sl_err *err) SL_WUR; /* SELECT, EXPLAIN, COPY */
int sl_exec_insert(struct sl_exec *r, sl_err *err) SL_WUR;
int sl_exec_rewrite(struct sl_exec *r,
                    sl_err *err) SL_WUR; /* UPDATE, DELETE, TRUNCATE, DROP PARTITION */
int sl_exec_ddl(struct sl_exec *r, sl_err *err) SL_WUR;
int sl_exec_show(struct sl_exec *r, sl_err *err) SL_WUR;
int sl_exec_settings(struct sl_exec *r, sl_err *err) SL_WUR; /* SET, RESET, USE */
int sl_exec_call(struct sl_exec *r, sl_err *err) SL_WUR;

#endif
