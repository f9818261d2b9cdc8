/*
 * catalog.h - databases and tables of a warehouse folder, as Paimon's filesystem catalog lays them out.
 *
 *   <warehouse>/<db>.db/<table>/schema/schema-N
 *
 * A folder is an append table when its schema folder holds a schema-N, and a log table (Hudi) when it holds .hoodie/hoodie.properties. Names are case sensitive. Nothing is cached: another
 * process may change everything at any time. Any thread.
 */
#ifndef SL_TABLE_CATALOG_H
#define SL_TABLE_CATALOG_H

#include "data/schema.h"
#include "store/store.h"

#define SL_DEFAULT_DATABASE "default" /* always there; its folder is made with its first table */

struct sl_catalog;
int sl_catalog_open(sl_str warehouse, struct sl_catalog **out, sl_err *err) SL_WUR; /* the folder need not exist yet */
void sl_catalog_close(struct sl_catalog *c);                                        /* NULL is fine */
struct sl_store *sl_catalog_store(struct sl_catalog *c);                            /* rooted at the warehouse; borrowed */
const char *sl_catalog_warehouse(const struct sl_catalog *c);                       /* absolute; borrowed */

struct sl_names {
    char **v; /* owned, sorted bytewise */
    size_t n, cap;
};
void sl_names_release(struct sl_names *names);
int sl_names_add(struct sl_names *names, sl_str name, sl_err *err) SL_WUR;
/* The number of a file named <prefix><decimal integer>; false for other names, such as temporaries. */
bool sl_numbered_name(const char *name, const char *prefix, int64_t *out);

/* ---- databases ---- */
int sl_catalog_databases(struct sl_catalog *c, struct sl_names *out, sl_err *err) SL_WUR;
int sl_catalog_has_database(struct sl_catalog *c, sl_str db, bool *out, sl_err *err) SL_WUR; /* a name that cannot be one: no */
int sl_catalog_create_database(struct sl_catalog *c, sl_str db, bool if_not_exists, sl_err *err) SL_WUR;
int sl_catalog_drop_database(struct sl_catalog *c, sl_str db, bool if_exists, bool cascade, sl_err *err) SL_WUR;

/* ---- tables ---- */
int sl_catalog_tables(struct sl_catalog *c, sl_str db, struct sl_names *out, sl_err *err) SL_WUR; /* SL_ENOTFOUND: no such database */
enum sl_table_kind { SL_TABLE_NONE, SL_TABLE_APPEND, SL_TABLE_LOG };
int sl_catalog_table_kind(struct sl_catalog *c, sl_str db, sl_str table, enum sl_table_kind *out, sl_err *err) SL_WUR; /* NONE if the name cannot be one */
int sl_catalog_has_table(struct sl_catalog *c, sl_str db, sl_str table, bool *out, sl_err *err) SL_WUR; /* of any kind; the same */
int sl_table_kind_of_path(sl_str path, enum sl_table_kind *out, sl_err *err) SL_WUR; /* of a folder of the file system */
int sl_catalog_table_path(struct sl_catalog *c, sl_str db, sl_str table, struct sl_buf *out, sl_err *err) SL_WUR; /* absolute, appended */

/* What CREATE TABLE says. Field ids in FIELDS are ignored and given anew, nested ones too. */
struct sl_table_def {
    const struct sl_field *fields;
    size_t nfields;
    const char *const *partition_keys;
    size_t npartition;
    const char *const *primary_keys; /* of log tables (write-mode = log); else refused, saying what to do instead */
    size_t nprimary;
    const struct sl_option *options;
    size_t noptions;
    const char *comment;             /* NULL if none */
};
/* Checks everything (names, types, keys, options), then publishes schema-0. Adds the options bucket = -1 and write-only = true where absent.
 * *CREATED (may be NULL) is false if IF_NOT_EXISTS and it was there. */
int sl_catalog_create_table(struct sl_catalog *c, sl_str db, sl_str table, const struct sl_table_def *def, bool if_not_exists,
                            bool *created, sl_err *err) SL_WUR;
int sl_catalog_drop_table(struct sl_catalog *c, sl_str db, sl_str table, bool if_exists, sl_err *err) SL_WUR;

/* ---- alter ---- */
enum sl_change_kind {
    SL_ADD_COLUMN,      /* name, type, comment; first / after */
    SL_DROP_COLUMN,     /* name */
    SL_RENAME_COLUMN,   /* name -> new_name */
    SL_CHANGE_TYPE,     /* name, type: only a widening; its nullability is ignored (the column keeps its own) */
    SL_DROP_NOT_NULL,   /* name */
    SL_CHANGE_COMMENT,  /* of column NAME, or of the table if NAME is NULL; comment NULL removes it */
    SL_MOVE_COLUMN,     /* name; first / after */
    SL_SET_OPTION,      /* name = key, value */
    SL_RESET_OPTION,    /* name = key */
};
struct sl_change {
    enum sl_change_kind kind;
    const char *name, *new_name;
    const struct sl_type *type;
    const char *comment;
    const char *value;
    bool first;
    const char *after;  /* NULL: where it is, or at the end */
};
/* All changes together make one new schema file, or none. Lost races are done again on the newer schema. Makes no snapshot. */
int sl_catalog_alter_table(struct sl_catalog *c, sl_str db, sl_str table, const struct sl_change *changes, size_t n, sl_err *err) SL_WUR;

#endif
