/*
 * roots.h - everything that keeps files of a table alive: snapshots and tags, of the main branch and of all others.
 *
 * For upkeep (expire, clean, rollback, tags, verify), which must know all of them. Paths are under the table's folder.
 */
#ifndef SL_TABLE_APPEND_ROOTS_H
#define SL_TABLE_APPEND_ROOTS_H

#include "table/append/snapshots.h"

/* Bounds on what is read at once; a longer file is damaged. */
#define SL_SNAPSHOT_BYTES_MAX ((size_t)64 << 20)
#define SL_MANIFEST_BYTES_MAX ((size_t)1 << 30)

struct sl_root {
    bool is_tag;
    const char *branch;          /* "" = main */
    const char *name;            /* of a tag; of a snapshot "snapshot-N" */
    const char *path;
    int64_t id;                  /* of the snapshot */
    struct sl_snapshot snapshot; /* empty if it could not be read */
};

struct sl_roots {
    struct sl_arena arena;
    struct sl_root *v;           /* snapshots of main by id, its tags by name, then those of each branch */
    size_t n, cap;
};
#define SL_ROOTS_INIT {SL_ARENA_INIT, NULL, 0, 0}

/* A file that cannot be decoded is an error, unless BAD is given: it gets the path and the error, and its code is the result if
 * not SL_OK. What vanishes between listing and reading was removed by someone and is left out. */
int sl_roots_read(struct sl_append *t, int (*bad)(void *user, const char *path, const sl_err *why), void *user,
                  struct sl_roots *out, sl_err *err) SL_WUR;
void sl_roots_release(struct sl_roots *r);

/* The folder KIND ("snapshot", "tag", "schema") of a branch, appended: "tag", "branch/branch-x/tag". */
void sl_branch_folder(struct sl_buf *out, const char *branch, const char *kind);

/* Upkeep of one table by several processes at once would take the ground from under each other: one at a time. Waits. NULL in *OUT where
 * the folder cannot hold a lock. Taken before the commit lock, if both are. */
int sl_upkeep_lock(struct sl_append *t, struct sl_lock **out, sl_err *err) SL_WUR;

#endif
