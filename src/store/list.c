/* list.c - what a folder holds, and removing it with all that. */
#include "store/store_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sl_entry *)a)->name, ((const struct sl_entry *)b)->name);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int add_entry(DIR *d, const struct dirent *e, bool want_stat, struct sl_entries *out, const char *full,
                     sl_err *err)
{
    struct stat st;
    bool known = e->d_type == DT_REG || e->d_type == DT_DIR;
    bool have_stat = false;

    if (want_stat || !known) {
        if (fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            have_stat = true;
        else if (errno == ENOENT && e->d_type != DT_LNK)
            return SL_OK; /* removed since it was listed */
        else if (e->d_type != DT_LNK)
            return sl_err_sys(err, errno, "cannot look at \"%s/%s\"", full, e->d_name);
    }
    struct sl_entry *entry = sl_vec_push(out);
    if (!entry)
        return sl_err_nomem(err);
    entry->name = sl_strdup(e->d_name);
    if (!entry->name)
        return sl_err_nomem(err);
    entry->is_dir = have_stat ? S_ISDIR(st.st_mode) : e->d_type == DT_DIR;
    if (have_stat && want_stat) {
        entry->size = (uint64_t)st.st_size;
        entry->mtime_millis = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    }
    return SL_OK;
}

int sl_store_list(struct sl_store *s, sl_str dir, bool want_stat, struct sl_entries *out, sl_err *err)
{
    struct full_path full;
    DIR *d = NULL;
    int fd, rc = SL_OK;

    sl_entries_release(out);
    SL_TRY(sl_store__full(s, dir, true, &full, err));
    rc = sl_store__open(full.p, O_RDONLY | O_DIRECTORY, &fd, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        return SL_OK;
    }
    if (rc != SL_OK)
        return rc;
    d = fdopendir(fd);
    if (!d) {
        rc = sl_err_sys(err, errno, "cannot list \"%s\"", full.p);
        close(fd);
        return rc;
    }
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);

        if (!e && errno != 0) {
            rc = sl_err_sys(err, errno, "cannot list \"%s\"", full.p);
            goto done;
        }
        if (!e)
            break;
        if (!is_dots(e->d_name))
            SL_GO(add_entry(d, e, want_stat, out, full.p, err));
    }
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_name);
done:
    closedir(d);
    if (rc != SL_OK)
        sl_entries_release(out);
    return rc;
}

void sl_entries_release(struct sl_entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        sl_free(e->v[i].name);
    sl_free(e->v);
    *e = (struct sl_entries){NULL, 0, 0};
}

/* Removes NAME in the folder AT with all below it, links themselves and not their targets. Returns an errno. */
static int remove_at(int at, const char *name)
{
    int failure = 0;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : errno == ENOTDIR ? EPERM : errno;
    DIR *d = fdopendir(fd);
    if (!d) {
        failure = errno;
        close(fd);
        return failure;
    }
    for (const struct dirent *e; failure == 0;) {
        errno = 0;
        e = readdir(d);
        if (!e) {
            failure = errno;
            break;
        }
        if (!is_dots(e->d_name))
            failure = remove_at(fd, e->d_name);
    }
    closedir(d);
    if (failure == 0 && unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        failure = errno;
    return failure;
}

int sl_store_remove_tree(struct sl_store *s, sl_str path, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(sl_store__fault(full.p, err));
    int failure = remove_at(AT_FDCWD, full.p);
    if (failure == 0 || failure == ENOTDIR)
        return SL_OK;
    return sl_err_sys(err, failure, "cannot remove folder \"%s\"", full.p);
}
