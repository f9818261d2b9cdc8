/* path.c - path rules, opening, and making folders durable. */
#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(sl_str path, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_EINPUT, "path \"" SL_STRF "\" %s", SL_STRV(path), why);
}

static int check_parts(sl_str path, sl_err *err)
{
    if (path.n && path.p[0] == '/')
        return refuse(path, "must be relative to the warehouse", err);
    if (path.n && memchr(path.p, '\0', path.n))
        return refuse(path, "contains a zero byte", err);
    for (size_t from = 0; from < path.n;) {
        const char *slash = memchr(path.p + from, '/', path.n - from);
        size_t to = slash ? (size_t)(slash - path.p) : path.n;
        sl_str part = sl_str_sub(path, from, to);

        if (part.n == 0 || (slash && to + 1 == path.n))
            return refuse(path, "has an empty part", err);
        if (sl_str_eqc(part, ".") || sl_str_eqc(part, ".."))
            return refuse(path, "has a \".\" or \"..\" part", err);
        from = to + 1;
    }
    return SL_OK;
}

int sl_store__full(const struct sl_store *s, sl_str path, bool allow_root, struct full_path *out, sl_err *err)
{
    if (path.n == 0 && !allow_root)
        return refuse(path, "is empty", err);
    SL_TRY(check_parts(path, err));
    if (path.n >= sizeof out->p || s->root_n + 1 + path.n >= sizeof out->p)
        return refuse(path, "is too long", err);
    memcpy(out->p, s->root, s->root_n);
    out->n = s->root_n;
    if (path.n) {
        if (out->p[out->n - 1] != '/')
            out->p[out->n++] = '/';
        memcpy(out->p + out->n, path.p, path.n);
        out->n += path.n;
    }
    out->p[out->n] = '\0';
    return SL_OK;
}

int sl_store__open(const char *full, int flags, int *out, sl_err *err)
{
    *out = -1;
    SL_TRY(sl_store__fault(full, err));
    do
        *out = open(full, flags | O_CLOEXEC, 0666);
    while (*out < 0 && errno == EINTR);
    if (*out >= 0)
        return SL_OK;
    if (errno == ENOTDIR)
        errno = ENOENT;
    return sl_err_sys(err, errno, "cannot open \"%s\"", full);
}

int sl_store__write_all(int fd, sl_str bytes, const char *full, sl_err *err)
{
    const size_t piece = 1u << 30; /* one call takes less than 2 GiB */

    SL_TRY(sl_store__fault(full, err));
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n < piece ? bytes.n : piece);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sl_err_sys(err, errno, "cannot write \"%s\"", full);
        bytes = sl_str_sub(bytes, (size_t)n, bytes.n);
    }
    return SL_OK;
}

int sl_store__fsync(int fd, const char *full, sl_err *err)
{
    int rc;

    SL_TRY(sl_store__fault(full, err));
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? SL_OK : sl_err_sys(err, errno, "cannot sync \"%s\" to disk", full);
}

int sl_store__sync_folder(const char *full, sl_err *err)
{
    int fd, rc;
    sl_err local = SL_ERR_INIT;

    SL_TRY(sl_store__open(full, O_RDONLY | O_DIRECTORY, &fd, err));
    rc = sl_store__fsync(fd, full, &local);
    close(fd);
    /* Some file systems have no sync of folders and say so; there is nothing more to do on them. */
    if (rc != SL_OK && local.os_errno == EINVAL)
        return SL_OK;
    if (rc != SL_OK && err)
        *err = local;
    return rc;
}

/* Length of the parent's path; 0 if there is none. */
static size_t parent_length(const char *full)
{
    const char *slash = strrchr(full, '/');

    if (!slash || slash[1] == '\0')
        return 0;
    return slash == full ? 1 : (size_t)(slash - full);
}

static bool parent_of(const char *full, char parent[PATH_MAX])
{
    size_t n = parent_length(full);

    if (n == 0)
        return false;
    memcpy(parent, full, n);
    parent[n] = '\0';
    return true;
}

int sl_store__sync_parent(const char *full, sl_err *err)
{
    char parent[PATH_MAX];

    return parent_of(full, parent) ? sl_store__sync_folder(parent, err) : SL_OK;
}

int sl_store__make_parents(const char *full, sl_err *err)
{
    char parent[PATH_MAX];

    return parent_of(full, parent) ? sl_store__make_folders(parent, err) : SL_OK;
}

static int make_one(const char *full)
{
    struct stat st;

    if (mkdir(full, 0777) == 0)
        return 0;
    int failure = errno;
    if (failure == EEXIST && stat(full, &st) == 0 && !S_ISDIR(st.st_mode))
        return ENOTDIR;
    return failure;
}

int sl_store__make_folders(const char *full, sl_err *err)
{
    char path[PATH_MAX];
    size_t n = strlen(full), made = n;
    int failure;

    SL_TRY(sl_store__fault(full, err));
    memcpy(path, full, n + 1);
    /* Upwards to the first one that can be made or is there, then down again. */
    while ((failure = make_one(path)) == ENOENT && (made = parent_length(path)) > 0)
        path[made] = '\0';
    for (;;) {
        if (failure != 0 && failure != EEXIST)
            return sl_err_sys(err, failure, "cannot make folder \"%s\"", path);
        if (failure == 0)
            SL_TRY(sl_store__sync_parent(path, err));
        size_t have = strlen(path);
        if (have == n)
            return SL_OK;
        size_t next = have;
        if (full[next] == '/')
            next++;
        while (next < n && full[next] != '/')
            next++;
        memcpy(path, full, next);
        path[next] = '\0';
        failure = make_one(path);
    }
}
