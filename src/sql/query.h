/*
 * query.h - a query of the user made ready to run: its tables found, their files planned, its text
 * rewritten at their names.
 *
 * The text is made of pieces: ranges of the user's tokens, and words of ours between them (an
 * UPDATE's condition becomes a query that way). Only the user's own text is ever run, with names
 * replaced in it; DuckDB's tree is read to find them.
 */
#ifndef SL_SQL_QUERY_H
#define SL_SQL_QUERY_H

#include "engine/rows.h"
#include "sql/dialect.h"
#include "sql/session.h"
#include "sql/tree.h"
#include "table/append/plan.h"
#include "table/log/plan.h"

struct sl_source_scan; /* source_table.h */
struct sl_system_rows;

/* A table that the query reads, as of one snapshot; named any number of times. */
struct sl_query_table {
    struct sl_append *t;          /* an append table, or */
    struct sl_log *log;           /* a log table, */
    struct sl_log_plan *log_plan; /* which is planned by this */
    char *key; /* owned; what tells it from the others */
    struct sl_selector sel;
    bool travels; /* SEL was said */
    const struct sl_schema *schema;
    const struct sl_field *fields; /* of SCHEMA, by the names they have in the text that runs */
    const char *const *names;      /* these names; NULL: those of SCHEMA */
    struct sl_plan *plan;
    struct sl_buf sql;          /* the SELECT over its files */
    const struct sl_pred *pred; /* NULL: none yet */
    struct sl_row_source empty; /* stands for it while predicates are looked for */
};

/* A name in the text. */
struct sl_query_scan {
    size_t from, to;              /* bytes of the user's text */
    sl_str alias;                 /* to be added; p == NULL: the user gave one */
    sl_str called;                /* what the query calls it, in any case */
    struct sl_query_table *table; /* or */
    sl_str sql;                   /* what stands for it: system and source tables */
    uint64_t rows_id;
    bool registered;
    struct sl_system_rows *system; /* owned, or NULL */
    struct sl_source_scan *source; /* owned, or NULL */
    const char *before;            /* word before it that is edited: TABLE, SUMMARIZE */
};

/* A column's name that differs from another one only in case. */
struct sl_same_name {
    const char *name, *alias;
};

struct sl_query_piece {
    sl_str text; /* p == NULL: the range */
    size_t at;
    struct sl_range range;
};

struct sl_query {
    struct sl_session *s;
    struct sl_conn *conn;
    const struct sl_tokens *tokens;
    struct sl_arena arena;
    struct sl_dialect dialect;
    SL_VEC(struct sl_query_piece) pieces;
    SL_VEC(struct sl_query_scan) scans;
    SL_VEC(struct sl_query_table *) tables;
    SL_VEC(struct sl_same_name) same; /* mostly none */
    json_t *tree;
    struct sl_sql_text text; /* what runs */
    /* UPDATE, DELETE: the table that SL_QUERY_TARGET stands for, and what is known of its rows
     * afterwards. */
    struct sl_append *target; /* borrowed */
    struct sl_row_source target_empty;
    uint64_t target_id;
    bool target_registered;
    const struct sl_pred *target_pred;
    /* INSERT: a source that never ends may be read; then it is the one that the text names as an
     * empty sluice_rows. */
    bool allow_endless;
    struct sl_source_scan *endless; /* borrowed from its scan */
};

#define SL_QUERY_TARGET "__sluice_target"

void sl_query_init(struct sl_query *q, struct sl_session *s, struct sl_conn *conn,
                   const struct sl_tokens *tokens);
int sl_query_add_range(struct sl_query *q, struct sl_range r, sl_err *err) SL_WUR;
int sl_query_add_text(struct sl_query *q, size_t at, const char *text,
                      sl_err *err) SL_WUR; /* copied */

/* Finds names and plans files; then Q->text runs on Q->conn. Errors are at the user's text. */
int sl_query_bind(struct sl_query *q, sl_err *err) SL_WUR;
/* Announce what is read, right before the text runs. */
int sl_query_announce(struct sl_query *q, sl_err *err) SL_WUR;
/* Makes an error of running the text one of the user's text. Returns the code. */
int sl_query_error(struct sl_query *q, int code, sl_err *err);
/* A range with all names replaced. */
int sl_query_render(struct sl_query *q, struct sl_range r, struct sl_sql_text *out,
                    sl_err *err) SL_WUR;
void sl_query_release(struct sl_query *q);

/* ---- same_names.c ---- */
/* Gives names that differ only in case their aliases, in Q's tables and as edits of the text. PLAIN is
 * the text that Q's tree is of. */
int sl_same_names(struct sl_query *q, const struct sl_sql_text *plain, sl_err *err) SL_WUR;
/* TEXT with names in place of aliases into OUT; false: it has none. */
bool sl_same_names_show(const struct sl_query *q, sl_str text, struct sl_buf *out);

/* A range that is a value, computed; text, NULL if it is NULL (sl_free). CAST is put around it:
 * "epoch_ms(CAST((%s) AS TIMESTAMPTZ))". */
int sl_query_value(struct sl_session *s, struct sl_conn *conn, const struct sl_tokens *tokens,
                   struct sl_range r, const char *before, const char *after, char **out,
                   sl_err *err) SL_WUR;

#endif
