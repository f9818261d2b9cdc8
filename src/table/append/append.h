/*
 * append.h - an opened append table: its folder, its schemas, its options.
 *
 * Opening reads the newest schema and no snapshot. The object may be used by any number of threads at a time: its members do
 * not change after opening, and what it caches (schemas by id, decoded manifests) is guarded inside. It does not follow later
 * ALTERs: a writer goes on with the schema it has seen (its files carry that schema's id), or opens anew as a reader does.
 */
#ifndef SL_TABLE_APPEND_H
#define SL_TABLE_APPEND_H

#include "format/paimon.h"
#include "store/store.h"
#include "table/catalog.h"

struct sl_append_cache;

struct sl_append {
    struct sl_store *store;         /* rooted at the table's folder; every path of a table is relative to it */
    char *path;                     /* absolute, for people and for DuckDB */
    char *label;                    /* "db.table", or the path if opened by path: for error texts */
    char *branch;                   /* NULL = main */
    char *meta;                     /* "" or "branch/branch-<name>/": before schema/, snapshot/, tag/ */
    const struct sl_schema *schema; /* newest at open; owned by the cache, valid until close */
    const struct sl_type **partition_types; /* npartition of them */
    size_t npartition;
    char *schema0;                  /* owned; the bytes of schema-0 at open (P6) */
    size_t schema0_n;
    struct sl_append_cache *cache;
};

int sl_append_open(struct sl_catalog *c, sl_str db, sl_str table, const char *branch, struct sl_append **out, sl_err *err) SL_WUR;
int sl_append_open_path(sl_str path, const char *branch, struct sl_append **out, sl_err *err) SL_WUR;
void sl_append_close(struct sl_append *t); /* NULL is fine */

/* May rows be read (written)? SL_EUNSUPPORTED, naming what stands against it (primary key, buckets, data evolution, column types,
 * formats). What only a snapshot shows (ORC manifests, global indexes) is refused by plan and commit. */
enum sl_access { SL_READ, SL_WRITE };
int sl_append_check(const struct sl_append *t, enum sl_access access, sl_err *err) SL_WUR;

/* Schema by id, of the branch if one was opened; owned by the table, valid until it is closed. */
int sl_append_schema(struct sl_append *t, int64_t id, const struct sl_schema **out, sl_err *err) SL_WUR;
/* Id of the newest schema in the folder now (other than t->schema->id after an ALTER). */
int sl_append_newest_schema_id(struct sl_append *t, int64_t *out, sl_err *err) SL_WUR;

/* Have the bytes of schema-0 changed since the table was opened, or is it gone? SL_ECONFLICT then: it was dropped or made anew (P6). */
int sl_append_same_table(struct sl_append *t, sl_err *err) SL_WUR;

/* Folder of a partition's data files, relative: "[<data dir>/]k=v/bucket-0". PARTITION has npartition values. */
int sl_append_data_dir(const struct sl_append *t, const struct sl_value *partition, struct sl_buf *out, sl_err *err) SL_WUR;
/* Where a file of the manifests lies: appends its path relative to the table, or the absolute path of its external path; *EXTERNAL says which. */
int sl_append_file_path(const struct sl_append *t, const struct sl_manifest_entry *e, struct sl_buf *out, bool *external, sl_err *err) SL_WUR;
/* Its absolute path, in any case. */
int sl_append_file_full(const struct sl_append *t, const struct sl_manifest_entry *e, struct sl_buf *out, sl_err *err) SL_WUR;
/* Does the file exist with exactly the size of its entry? SL_ENOTFOUND, SL_ECORRUPT. */
int sl_append_file_check(const struct sl_append *t, const struct sl_manifest_entry *e, sl_err *err) SL_WUR;
/* Partition values of an entry; strings point into the entry. VALUES has room for npartition. */
int sl_append_partition(const struct sl_append *t, sl_str partition, struct sl_value *values, sl_err *err) SL_WUR;
/* "k1=v1/k2=v2" for people (values as text, not escaped). */
void sl_append_partition_text(const struct sl_append *t, const struct sl_value *values, struct sl_buf *out);

/* Own side files stand in "<table>/.sluice/", which no other engine's cleaner looks into. */
#define SL_SIDE_DIR ".sluice"

#endif
