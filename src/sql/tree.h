/*
 * tree.h - DuckDB's JSON of a statement: which names in it are tables, and what its optimised plan
 * filters by.
 */
#ifndef SL_SQL_TREE_H
#define SL_SQL_TREE_H

#include "base/json.h"
#include "data/predicate.h"
#include "engine/engine.h"

/* The tree of a query as parsed. A syntax error is SL_ESQL with its offset in SQL. */
int sl_tree_parse(struct sl_conn *c, sl_str sql, json_t **out, sl_err *err) SL_WUR;

/* A table that the query names, which is no common table expression and no alias. Views into the
 * tree. */
struct sl_tree_table {
    size_t at; /* byte of its name in the SQL */
    sl_str catalog, schema, table, alias;
};
/* A column named with three or more parts: database.table.column. */
struct sl_tree_column {
    size_t at;
    sl_str first, second;
};
struct sl_tree_names {
    SL_VEC(struct sl_tree_table) tables;
    SL_VEC(struct sl_tree_column) columns;
};
int sl_tree_names(const json_t *tree, struct sl_tree_names *out, sl_err *err) SL_WUR;
void sl_tree_names_release(struct sl_tree_names *n);

/* Is a column called NAME, in any case, named anywhere in the tree? *AT is where in the SQL. */
bool sl_tree_names_column(const json_t *tree, const char *name, size_t *at);

/* ---- all names of columns and relations, for those that differ only in case (same_names.c) ---- */
struct sl_tree_ref {
    const json_t *parts; /* "a", or "t", "a", and so on */
    size_t at;           /* SIZE_MAX if not told */
};
struct sl_tree_mentions {
    SL_VEC(struct sl_tree_ref) refs;
    SL_VEC(sl_str) given;     /* names that the query gives or lists without a place: AS a, t(a), USING (a), EXCLUDE (a) */
    SL_VEC(sl_str) relations; /* aliases and names of what stands in FROM, and of common table expressions */
    SL_VEC(sl_str) foreign;   /* of these, table functions, VALUES and the like, that have names of their own */
    SL_VEC(sl_str) bound;     /* parameters of lambdas */
    size_t pattern_at;        /* of COLUMNS(...); SIZE_MAX if there is none */
};
int sl_tree_mentions(const json_t *tree, struct sl_tree_mentions *out, sl_err *err) SL_WUR;
void sl_tree_mentions_release(struct sl_tree_mentions *m);

/* Does the expression use nothing but constants, comparisons and the columns NAMES? */
bool sl_tree_only_columns(const json_t *expr, const char *const *names, size_t n);
const json_t *sl_tree_where(const json_t *tree); /* NULL if it has none */

/* ---- predicates from the optimised plan ---- */
struct sl_tree_scan {
    uint64_t rows_id; /* FROM sluice_rows(rows_id) */
    const struct sl_field *fields;
    size_t nfields;
    const struct sl_pred *pred; /* out; TRUE unless something is known. Memory from the arena */
};
/* What the plan of SQL filters each scan by. Anything odd leaves TRUE. */
void sl_tree_predicates(struct sl_conn *c, sl_str sql, struct sl_arena *a,
                        struct sl_tree_scan *scans, size_t n);
/* The same from the JSON text of a plan. */
void sl_plan_predicates(sl_str json, struct sl_arena *a, struct sl_tree_scan *scans, size_t n);

/* Integers that 64 bits do not hold become null, so that the JSON can be read. */
int sl_tree_read(sl_str json, json_t **out, sl_err *err) SL_WUR;

#endif
