/*
 * statement.h - what a statement says, for all statements that are ours. Queries and expressions
 * inside stay ranges of tokens.
 */
#ifndef SL_SQL_STATEMENT_H
#define SL_SQL_STATEMENT_H

#include "sql/lex.h"
#include "table/catalog.h"

enum sl_stmt_kind {
    SL_STMT_QUERY,
    SL_STMT_CREATE_DATABASE,
    SL_STMT_DROP_DATABASE,
    SL_STMT_SHOW_DATABASES,
    SL_STMT_SHOW_CURRENT_DATABASE,
    SL_STMT_USE,
    SL_STMT_CREATE_TABLE,
    SL_STMT_DROP_TABLE,
    SL_STMT_ALTER_TABLE,
    SL_STMT_RENAME_TABLE,
    SL_STMT_DROP_PARTITION,
    SL_STMT_SHOW_TABLES,
    SL_STMT_SHOW_PARTITIONS,
    SL_STMT_SHOW_CREATE_TABLE,
    SL_STMT_SHOW_SNAPSHOTS,
    SL_STMT_DESCRIBE,
    SL_STMT_INSERT,
    SL_STMT_UPDATE,
    SL_STMT_DELETE,
    SL_STMT_MERGE,
    SL_STMT_TRUNCATE,
    SL_STMT_COPY,
    SL_STMT_EXPLAIN,
    SL_STMT_SET,
    SL_STMT_RESET,
    SL_STMT_CALL,
};

/* Tokens [first, last) of the statement; empty if first == last. */
struct sl_range {
    size_t first, last;
};

/* "t", "db.t" or 'path/of/a/table'. */
struct sl_table_name {
    sl_str db;    /* p == NULL: none said */
    sl_str table; /* the path if `path` */
    bool path;
    size_t from, to; /* bytes in the user's text */
};

struct sl_word { /* a name or a text, with its place */
    sl_str text;
    size_t from;
};

struct sl_pair { /* k = v: options, partition specs, assignments, arguments */
    struct sl_word key;
    struct sl_word value; /* of a literal; p == NULL: NULL, or none given */
    bool has_value;
    bool null;
    struct sl_range range; /* the value's tokens */
};

struct sl_pairs {
    struct sl_pair *v;
    size_t n, cap;
};

enum sl_merge_action { SL_MERGE_UPDATE, SL_MERGE_DELETE, SL_MERGE_INSERT, SL_MERGE_NOTHING };
struct sl_merge_clause { /* WHEN [NOT] MATCHED [AND condition] THEN action */
    bool matched;
    struct sl_range condition; /* empty if none */
    enum sl_merge_action action;
    bool all;             /* UPDATE SET *, INSERT * */
    struct sl_pairs sets; /* UPDATE; INSERT: columns with their values, or the values alone (key.text.p == NULL) */
    size_t from;          /* byte of WHEN */
};

struct sl_statement {
    struct sl_arena arena; /* owns all texts and arrays */
    enum sl_stmt_kind kind;
    const char *verb; /* for people: "CREATE TABLE"; static */
    struct sl_table_name name;
    struct sl_word
        new_name; /* RENAME TO; LIKE pattern of SHOW; target file of COPY; procedure of CALL */
    bool if_exists, if_not_exists, cascade;
    bool overwrite;        /* INSERT OVERWRITE */
    bool analyze;          /* EXPLAIN ANALYZE */
    struct sl_range query; /* QUERY, INSERT, COPY, EXPLAIN, CREATE TABLE AS; DESCRIBE of a query */
    struct sl_range where;
    struct sl_range options;        /* COPY's (...), brackets included */
    struct sl_word alias;           /* UPDATE, DELETE; p == NULL if none */
    SL_VEC(struct sl_word) columns; /* INSERT INTO t (...) */
    bool has_columns;
    struct sl_pairs
        pairs; /* WITH options, PARTITION (...), SET of UPDATE, SET 'k' = 'v', arguments of CALL */
    bool has_partition; /* PARTITION (...) was said */
    /* CREATE TABLE */
    bool has_fields;
    SL_VEC(struct sl_field) fields;
    SL_VEC(const char *) partition_keys;
    SL_VEC(const char *) primary_keys;
    SL_VEC(struct sl_option) table_options;
    const char *comment;
    size_t primary_key_at; /* byte of PRIMARY KEY; SIZE_MAX if there is none */
    /* MERGE */
    struct sl_range source; /* with its alias */
    struct sl_range on;
    SL_VEC(struct sl_merge_clause) clauses;
    /* ALTER TABLE */
    SL_VEC(struct sl_change) changes;
};

/* SL_ESQL with the offset in the whole text, or SL_EUNSUPPORTED. */
int sl_statement_parse(const struct sl_tokens *tokens, struct sl_statement *out,
                       sl_err *err) SL_WUR;
void sl_statement_release(struct sl_statement *s);

#endif
