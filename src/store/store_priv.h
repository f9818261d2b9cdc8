/*
 * store_priv.h - what the files of store/ share.
 */
#ifndef SL_STORE_STORE_PRIV_H
#define SL_STORE_STORE_PRIV_H

#include <limits.h>

#include "store/store.h"

struct sl_store {
    char *root; /* owned; absolute, no '/' at the end except for "/" itself */
    size_t root_n;
};

struct full_path {
    size_t n;
    char p[PATH_MAX];
};

/* Checks PATH and puts the root before it. An empty PATH is the root, where ALLOW_ROOT. */
int sl_store__full(const struct sl_store *s, sl_str path, bool allow_root, struct full_path *out, sl_err *err);

int sl_store__make_folders(const char *full, sl_err *err); /* all that are missing, each synced into its parent */
int sl_store__make_parents(const char *full, sl_err *err);
int sl_store__sync_parent(const char *full, sl_err *err);
int sl_store__sync_folder(const char *full, sl_err *err);
int sl_store__write_all(int fd, sl_str bytes, const char *full, sl_err *err);
int sl_store__fsync(int fd, const char *full, sl_err *err);
int sl_store__open(const char *full, int flags, int *out, sl_err *err); /* O_CLOEXEC added; *OUT -1 on failure */

#ifdef SL_FAILPOINTS
int sl_store__fault(const char *full, sl_err *err); /* the step that comes now fails, if it is its turn */
#else
#define sl_store__fault(full, err) SL_OK
#endif

#endif
