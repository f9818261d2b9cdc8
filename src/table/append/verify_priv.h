/*
 * verify_priv.h - what the files of verify share: the findings, and what is known of manifests and data files.
 */
#ifndef SL_TABLE_APPEND_VERIFY_PRIV_H
#define SL_TABLE_APPEND_VERIFY_PRIV_H

#include "table/append/roots.h"
#include "table/append/verify.h"

enum sl_verify_kind {
#define SL_KIND(id, word, severity, advice) SL_VERIFY_##id,
#include "table/append/verify.def"
#undef SL_KIND
};

/* A data file, as entries of one identity describe it. */
struct vfile {
    struct sl_manifest_entry entry; /* of the first ADD, statistics included; of a DELETE if there is no ADD */
    bool has_add;
    const char *path;               /* under the table's folder, or absolute if external */
    bool external;
    const struct sl_root *live_in;  /* a root where it is live, NULL = none */
    struct sl_append *table;        /* of that root's branch: its schemas */
    uint64_t added, deleted;        /* number of the root that was checked last and adds (deletes) it */
};

struct vmanifest {
    const char *name;
    bool ok;                        /* all of it could be decoded */
    int64_t size, adds, deletes, rows_added, rows_deleted;
    SL_VEC(struct ventry { struct vfile *file; bool is_delete; }) entries;
};

struct sl_verify {
    struct sl_append *t;
    struct sl_conn *conn;
    const struct sl_verify_options *options;
    struct sl_verify_report *report;
    struct sl_arena arena;
    struct sl_roots roots;
    struct sl_names branches;
    SL_VEC(struct sl_append *) tables; /* main, then by branches; NULL where it cannot be opened */
    struct sl_map *manifests;       /* name -> struct vmanifest */
    struct sl_map *files;           /* identity -> struct vfile */
    struct sl_map *named;           /* names of files that something names */
    struct sl_map *seen;            /* other files that were checked already */
    SL_VEC(struct vfile *) all;
    uint64_t root_number;           /* runs while roots are checked */
    int64_t earliest;               /* by the hint: snapshots of main before it are left over from an expiry that ended early */
    const struct sl_root *left_over; /* the last of these with a finding, NULL = none */
    const struct sl_root *root;     /* that is being checked: findings name it, and drop out if it expires */
    struct sl_buf bytes, path, identity;
    int64_t now;
};

/* Report. WHERE is a path under the table's folder; NAMED_BY NULL = the root that is being checked. SL_OK also if it is dropped. */
int sl_verify__found(struct sl_verify *v, enum sl_verify_kind kind, const char *where, const char *named_by, const char *fmt,
                     ...) SL_PRINTF(5, 6);
/* The same for something that REPAIR (may be NULL) puts right, if the caller asked for it. */
int sl_verify__repairable(struct sl_verify *v, enum sl_verify_kind kind, const char *where, const char *text,
                          int (*repair)(struct sl_verify *v, void *user, sl_err *err), void *user);
bool sl_verify__is_left_over(const struct sl_verify *v, const struct sl_root *r);
/* Was the error one of the file's (damaged, missing), or one that ends the call (memory, input or output, cancelled)? */
bool sl_verify__is_finding(int rc);
int sl_verify__name(struct sl_verify *v, sl_str name, sl_err *err) SL_WUR; /* something names it */
void sl_verify__progress(struct sl_verify *v, const char *doing, uint64_t done, uint64_t total);

int sl_verify__roots(struct sl_verify *v, sl_err *err) SL_WUR;  /* verify_meta.c: all roots, down to their manifests */
int sl_verify__data(struct sl_verify *v, sl_err *err) SL_WUR;   /* verify_data.c: the files that are live somewhere */
int sl_verify__deep(struct sl_verify *v, const struct vfile *f, sl_err *err) SL_WUR; /* verify_deep.c: every row of one file */
/* Columns of a file, or those that its statistics speak of, in their order. NAMES and TYPES from the arena. SL_ENOTFOUND: its schema is missing. */
int sl_verify__columns(struct sl_verify *v, const struct vfile *f, bool with_stats, const char ***names,
                       const struct sl_type ***types, size_t *n, sl_err *err) SL_WUR;

#endif
