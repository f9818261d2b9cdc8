/*
 * store.h - where bytes live: a tree of files under a root, today a local folder.
 *
 * Knows nothing of table formats. Paths are relative to the root, '/' between parts, never starting with '/',
 * no ".." parts (refused with SL_EINPUT). Any thread. Errors name the full path.
 * Symbolic links to folders are followed, since users put tables on other disks so; sl_store_remove_tree removes
 * a link and not what it points to.
 * SLUICE_FAIL_STORE=n in the environment of a test build makes the n-th step (open, write, sync, link, ... each
 * count) fail once with SL_EIO (or SL_ENOSPC with "n:nospc").
 */
#ifndef SL_STORE_STORE_H
#define SL_STORE_STORE_H

#include "base/str.h"
#include "sluice/sys.h" /* sl_store_doctor */

struct sl_store;

enum sl_store_cap {
    SL_STORE_PUT_NEW = 1,   /* sl_store_put_new is atomic and fails if the name exists */
    SL_STORE_FSYNC = 2,     /* data survives power loss once a call has returned */
    SL_STORE_LOCAL = 4,     /* sl_store_path gives a path that DuckDB can open */
};

int sl_store_open_local(sl_str root, struct sl_store **out, sl_err *err) SL_WUR; /* the folder need not exist yet */
void sl_store_close(struct sl_store *s);                                       /* NULL is fine */
uint32_t sl_store_caps(const struct sl_store *s);
const char *sl_store_root(const struct sl_store *s);                           /* absolute; borrowed */
int sl_store_path(const struct sl_store *s, sl_str path, struct sl_buf *out, sl_err *err) SL_WUR; /* absolute path text, appended */

/* Read a whole file of at most MAX bytes (SL_ECORRUPT if longer) into OUT, which is reset first. SL_ENOTFOUND if absent. */
int sl_store_get(struct sl_store *s, sl_str path, size_t max, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_store_get_range(struct sl_store *s, sl_str path, uint64_t from, size_t n, struct sl_buf *out, sl_err *err) SL_WUR; /* SL_ECORRUPT if short */

struct sl_stat {
    uint64_t size;
    int64_t mtime_millis;
    bool is_dir;
};
int sl_store_stat(struct sl_store *s, sl_str path, struct sl_stat *out, sl_err *err) SL_WUR; /* SL_ENOTFOUND if absent */
/* *OUT = is it there? An error when that could not be seen: nothing may be concluded then. */
int sl_store_exists(struct sl_store *s, sl_str path, bool *out, sl_err *err) SL_WUR;

/* Publish: write a temporary beside PATH, sync it, give it the name only if the name is free (link(2), or
 * renameat2 RENAME_NOREPLACE), sync the folder. SL_EEXISTS: another was first. Makes missing folders.
 * A failure after the name may have appeared carries SL_ERR_UNKNOWN_OUTCOME. */
int sl_store_put_new(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err) SL_WUR;
/* As put_new, but replaces what is there, atomically (rename). */
int sl_store_put(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err) SL_WUR;
/* As sl_store_put, but not synced: for what may be lost with the power (hints, signs of life). */
int sl_store_put_hint(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err) SL_WUR;
/* For names that are unique by construction (uuid): written directly, synced, removed again on failure; SL_EEXISTS if taken.
 * The folder is not synced: sl_store_sync_dir once for many files. */
int sl_store_write_unique(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err) SL_WUR;

/* Put BYTES at offset AT of a file, as its new end, and sync it: for logs of one writer whose readers know how far to read. Makes the file for AT
 * 0. SL_ECORRUPT if the file is shorter than AT. */
int sl_store_append(struct sl_store *s, sl_str path, uint64_t at, sl_str bytes, sl_err *err) SL_WUR;

int sl_store_sync_file(struct sl_store *s, sl_str path, sl_err *err) SL_WUR;  /* fsync a file that something else wrote */
int sl_store_sync_dir(struct sl_store *s, sl_str path, sl_err *err) SL_WUR;   /* "" = the root */
int sl_store_mkdirs(struct sl_store *s, sl_str path, sl_err *err) SL_WUR;     /* made folders are synced into their parents */
int sl_store_rename(struct sl_store *s, sl_str from, sl_str to, sl_err *err) SL_WUR; /* SL_EEXISTS if TO is taken; not synced; makes TO's folder */
int sl_store_remove(struct sl_store *s, sl_str path, sl_err *err) SL_WUR;     /* a file or an empty folder; SL_ENOTFOUND if absent */
int sl_store_remove_tree(struct sl_store *s, sl_str path, sl_err *err) SL_WUR; /* absent is fine */

struct sl_entry {
    char *name;         /* owned, one path part */
    bool is_dir;
    uint64_t size;      /* filled by sl_store_list only if WANT_STAT */
    int64_t mtime_millis;
};
struct sl_entries {
    struct sl_entry *v;
    size_t n, cap;
};
/* Entries of a folder, by name; a folder that is absent gives none. */
int sl_store_list(struct sl_store *s, sl_str dir, bool want_stat, struct sl_entries *out, sl_err *err) SL_WUR;
void sl_entries_release(struct sl_entries *e);

/* An advisory lock on a file (open-file-description lock, freed by the kernel when the process dies).
 * WAIT_MS 0: SL_EBUSY at once if held; -1: waits for ever. Held also against other threads of this process. */
struct sl_lock;
int sl_store_lock(struct sl_store *s, sl_str path, int64_t wait_ms, struct sl_lock **out, sl_err *err) SL_WUR;
void sl_store_unlock(struct sl_lock *l);                                       /* NULL is fine */

/* Where this process runs, to be written into lock files. */
struct sl_machine {
    char host[256];
    char boot[64];      /* id of the kernel's run; "" if not known */
    int64_t pid;
};
void sl_store_machine(struct sl_machine *out);

#ifdef SL_FAILPOINTS
void sl_store_fail_nth(int64_t n, int code); /* tests: the n-th step from now fails once with CODE; 0 = off */
#endif

#endif
