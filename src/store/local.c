/* local.c - a local folder as a store. */
#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

int sl_store_open_local(sl_str root, struct sl_store **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    char here[PATH_MAX];

    *out = NULL;
    if (root.n == 0 || memchr(root.p, '\0', root.n))
        return sl_err_set(err, SL_EINPUT, "the path of the warehouse is empty or contains a zero byte");
    while (root.n > 2 && sl_str_starts(root, "./"))
        root = sl_str_sub(root, 2, root.n);
    while (root.n > 1 && root.p[root.n - 1] == '/')
        root.n--;
    if (root.p[0] != '/') {
        if (!getcwd(here, sizeof here))
            return sl_err_sys(err, errno, "cannot tell the current folder");
        sl_buf_addc(&path, here);
        if (!sl_str_eqc(root, ".")) {
            if (!sl_str_ends(sl_buf_view(&path), "/"))
                sl_buf_ch(&path, '/');
            sl_buf_add(&path, root);
        }
    } else {
        sl_buf_add(&path, root);
    }
    if (path.n >= PATH_MAX) {
        sl_buf_release(&path);
        return sl_err_set(err, SL_EINPUT, "the path of the warehouse is too long");
    }
    size_t n = path.n;
    char *text = sl_buf_take(&path);
    struct sl_store *s = text ? sl_calloc(1, sizeof *s) : NULL;
    if (!s) {
        sl_free(text);
        return sl_err_nomem(err);
    }
    s->root = text;
    s->root_n = n;
    *out = s;
    return SL_OK;
}

void sl_store_close(struct sl_store *s)
{
    if (!s)
        return;
    sl_free(s->root);
    sl_free(s);
}

uint32_t sl_store_caps(const struct sl_store *s)
{
    (void)s;
    return SL_STORE_PUT_NEW | SL_STORE_FSYNC | SL_STORE_LOCAL;
}

const char *sl_store_root(const struct sl_store *s)
{
    return s->root;
}

int sl_store_path(const struct sl_store *s, sl_str path, struct sl_buf *out, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, true, &full, err));
    sl_buf_addb(out, full.p, full.n);
    return sl_buf_ok(out, err);
}

/* ---- reading ---- */

static int open_file(const char *full, int *fd, struct stat *st, sl_err *err)
{
    SL_TRY(sl_store__open(full, O_RDONLY, fd, err));
    int rc = sl_store__fault(full, err);
    if (rc == SL_OK && fstat(*fd, st) != 0)
        rc = sl_err_sys(err, errno, "cannot read \"%s\"", full);
    else if (rc == SL_OK && !S_ISREG(st->st_mode))
        rc = sl_err_set(err, SL_EIO, "\"%s\" is not a file", full);
    if (rc != SL_OK)
        close(*fd);
    return rc;
}

/* Reads up to N bytes to the end of OUT; fewer only at the end of the file. */
static int read_some(int fd, uint64_t from, size_t n, struct sl_buf *out, const char *full, sl_err *err)
{
    const size_t piece = 1u << 30;
    char *to = sl_buf_room(out, n);

    if (!to)
        return sl_err_nomem(err);
    for (size_t done = 0; done < n;) {
        size_t want = n - done < piece ? n - done : piece;
        ssize_t got = pread(fd, to + done, want, (off_t)(from + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sl_err_sys(err, errno, "cannot read \"%s\" at offset %llu", full,
                              (unsigned long long)(from + done));
        if (got == 0)
            break;
        done += (size_t)got;
        out->n += (size_t)got;
    }
    out->p[out->n] = '\0';
    return SL_OK;
}

static int too_long(const char *full, size_t max, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "\"%s\" is longer than the %zu bytes that such a file may have", full, max);
}

int sl_store_get(struct sl_store *s, sl_str path, size_t max, struct sl_buf *out, sl_err *err)
{
    struct full_path full;
    struct stat st;
    int fd, rc = SL_OK;

    sl_buf_reset(out);
    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(open_file(full.p, &fd, &st, err));
    if ((uint64_t)st.st_size > max) {
        rc = too_long(full.p, max, err);
        goto done;
    }
    /* One byte more than expected, so that a file that grows meanwhile is read to its end. */
    for (size_t want = (size_t)st.st_size + 1;;) {
        size_t before = out->n;

        SL_GO(read_some(fd, before, want, out, full.p, err));
        if (out->n - before < want)
            break;
        if (out->n > max) {
            rc = too_long(full.p, max, err);
            goto done;
        }
        want = 65536;
    }
    if (out->n > max)
        rc = too_long(full.p, max, err);
done:
    close(fd);
    return rc;
}

int sl_store_get_range(struct sl_store *s, sl_str path, uint64_t from, size_t n, struct sl_buf *out, sl_err *err)
{
    struct full_path full;
    struct stat st;
    int fd, rc = SL_OK;

    sl_buf_reset(out);
    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(open_file(full.p, &fd, &st, err));
    if (from > (uint64_t)st.st_size || n > (uint64_t)st.st_size - from) {
        rc = sl_err_set(err, SL_ECORRUPT, "\"%s\" has %llu bytes, but %zu are needed from offset %llu", full.p,
                        (unsigned long long)st.st_size, n, (unsigned long long)from);
        goto done;
    }
    SL_GO(read_some(fd, from, n, out, full.p, err));
    if (out->n != n)
        rc = sl_err_set(err, SL_ECORRUPT, "\"%s\" became shorter while it was read", full.p);
done:
    close(fd);
    return rc;
}

int sl_store_stat(struct sl_store *s, sl_str path, struct sl_stat *out, sl_err *err)
{
    struct full_path full;
    struct stat st;

    SL_TRY(sl_store__full(s, path, true, &full, err));
    SL_TRY(sl_store__fault(full.p, err));
    if (stat(full.p, &st) != 0)
        return sl_err_sys(err, errno == ENOTDIR ? ENOENT : errno, "cannot look at \"%s\"", full.p);
    out->size = (uint64_t)st.st_size;
    out->mtime_millis = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    out->is_dir = S_ISDIR(st.st_mode);
    return SL_OK;
}

int sl_store_exists(struct sl_store *s, sl_str path, bool *out, sl_err *err)
{
    struct sl_stat st;
    sl_err why = SL_ERR_INIT;
    int rc = sl_store_stat(s, path, &st, &why);

    *out = rc == SL_OK;
    if (rc == SL_OK || rc == SL_ENOTFOUND)
        return SL_OK;
    if (err)
        *err = why;
    return rc;
}

/* ---- writing ---- */

/* A new file that did not exist; folders are made if missing. */
static int create(const char *full, int *fd, sl_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int rc = sl_store__open(full, flags, fd, err);

    if (rc == SL_ENOTFOUND) {
        SL_TRY(sl_store__make_parents(full, err));
        rc = sl_store__open(full, flags, fd, err);
    }
    return rc;
}

/* A file that could not be finished is removed again, so that nobody takes it for a whole one. */
static int write_new_file(const char *full, sl_str bytes, bool sync, sl_err *err)
{
    int fd, rc;

    SL_TRY(create(full, &fd, err));
    rc = sl_store__write_all(fd, bytes, full, err);
    if (rc == SL_OK && sync)
        rc = sl_store__fsync(fd, full, err);
    if (close(fd) != 0 && rc == SL_OK && errno != EINTR)
        rc = sl_err_sys(err, errno, "cannot write \"%s\"", full);
    if (rc != SL_OK)
        unlink(full);
    return rc;
}

int sl_store_write_unique(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    return write_new_file(full.p, bytes, true, err);
}

/* The bytes go to the file's place AT; what a writer that died left behind it is cut off first. */
static int append_at(int fd, uint64_t at, sl_str bytes, const char *full, sl_err *err)
{
    struct stat st;

    SL_TRY(sl_store__fault(full, err));
    if (fstat(fd, &st) != 0)
        return sl_err_sys(err, errno, "cannot look at \"%s\"", full);
    if ((uint64_t)st.st_size < at)
        return sl_err_set(err, SL_ECORRUPT, "\"%s\" has %llu bytes, but %llu were written to it", full,
                          (unsigned long long)st.st_size, (unsigned long long)at);
    if ((uint64_t)st.st_size > at && ftruncate(fd, (off_t)at) != 0)
        return sl_err_sys(err, errno, "cannot cut \"%s\"", full);
    if (lseek(fd, (off_t)at, SEEK_SET) < 0)
        return sl_err_sys(err, errno, "cannot write \"%s\"", full);
    SL_TRY(sl_store__write_all(fd, bytes, full, err));
    return sl_store__fsync(fd, full, err);
}

int sl_store_append(struct sl_store *s, sl_str path, uint64_t at, sl_str bytes, sl_err *err)
{
    struct full_path full;
    int fd, rc;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    if (at == 0)
        SL_TRY(sl_store__make_parents(full.p, err));
    SL_TRY(sl_store__open(full.p, O_WRONLY | (at == 0 ? O_CREAT : 0), &fd, err));
    rc = append_at(fd, at, bytes, full.p, err);
    close(fd);
    if (rc == SL_OK && at == 0)
        rc = sl_store__sync_parent(full.p, err);
    return rc;
}

/* ".name.uuid.tmp" beside FULL. */
static int temporary_name(const struct full_path *full, struct full_path *out, sl_err *err)
{
    enum { NAME_PART = 200 }; /* so that the whole stays below 255 bytes */
    char uuid[37];
    const char *name = strrchr(full->p, '/') + 1;

    sl_uuid(uuid);
    int n = snprintf(out->p, sizeof out->p, "%.*s.%.*s.%s.tmp", (int)(name - full->p), full->p, NAME_PART, name,
                     uuid);
    if (n < 0 || (size_t)n >= sizeof out->p)
        return sl_err_set(err, SL_EINPUT, "path \"%s\" is too long", full->p);
    out->n = (size_t)n;
    return SL_OK;
}

static bool not_supported(int os_errno)
{
    return os_errno == EPERM || os_errno == EOPNOTSUPP || os_errno == ENOSYS || os_errno == EINVAL ||
           os_errno == EMLINK || os_errno == EXDEV;
}

static int move_new(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

/* Gives TEMPORARY the name FULL if that is free. An answer can be lost on network file systems, so after an error
 * the number of names of the temporary tells what happened. */
static int publish(const char *temporary, const char *full, sl_err *err)
{
    struct stat st;

    SL_TRY(sl_store__fault(full, err));
    if (link(temporary, full) == 0)
        return SL_OK;
    int failure = errno;
    if (stat(temporary, &st) == 0 && st.st_nlink > 1)
        return SL_OK;
    if (not_supported(failure))
        failure = move_new(temporary, full);
    if (failure == 0)
        return SL_OK;
    if (failure == EEXIST)
        return sl_err_sys(err, EEXIST, "cannot make \"%s\"", full);
    if (failure == EINVAL || failure == ENOSYS) {
        sl_err_set(err, SL_EUNSUPPORTED, "the file system of \"%s\" cannot give a name only if it is free", full);
        sl_err_hint(err, "use a file system with hard links; \"sluice doctor\" shows what one can do");
        return SL_EUNSUPPORTED;
    }
    return sl_err_sys(err, failure, "cannot make \"%s\"", full);
}

int sl_store_put_new(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err)
{
    struct full_path full, temporary;
    int rc;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(temporary_name(&full, &temporary, err));
    SL_TRY(write_new_file(temporary.p, bytes, true, err));
    rc = publish(temporary.p, full.p, err);
    /* Our own temporary, by a name nobody else has; gone already where it was renamed. */
    unlink(temporary.p);
    if (rc != SL_OK) {
        if (rc != SL_EEXISTS && rc != SL_EUNSUPPORTED)
            sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
        return rc;
    }
    rc = sl_store__sync_parent(full.p, err);
    if (rc != SL_OK)
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    return rc;
}

static int replace(struct sl_store *s, sl_str path, sl_str bytes, bool sync, sl_err *err)
{
    struct full_path full, temporary;
    int rc;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(temporary_name(&full, &temporary, err));
    SL_TRY(write_new_file(temporary.p, bytes, sync, err));
    rc = sl_store__fault(full.p, err);
    if (rc == SL_OK && rename(temporary.p, full.p) != 0) {
        rc = sl_err_sys(err, errno, "cannot replace \"%s\"", full.p);
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    }
    if (rc != SL_OK) {
        unlink(temporary.p);
        return rc;
    }
    if (!sync)
        return SL_OK;
    rc = sl_store__sync_parent(full.p, err);
    if (rc != SL_OK)
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    return rc;
}

int sl_store_put(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err)
{
    return replace(s, path, bytes, true, err);
}

int sl_store_put_hint(struct sl_store *s, sl_str path, sl_str bytes, sl_err *err)
{
    return replace(s, path, bytes, false, err);
}

int sl_store_sync_file(struct sl_store *s, sl_str path, sl_err *err)
{
    struct full_path full;
    int fd, rc;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(sl_store__open(full.p, O_RDONLY, &fd, err));
    rc = sl_store__fsync(fd, full.p, err);
    close(fd);
    return rc;
}

int sl_store_sync_dir(struct sl_store *s, sl_str path, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, true, &full, err));
    return sl_store__sync_folder(full.p, err);
}

int sl_store_mkdirs(struct sl_store *s, sl_str path, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, true, &full, err));
    return sl_store__make_folders(full.p, err);
}

/* Where the file system cannot rename without replacing: a second name, then the first one away. */
static int move_by_link(const char *from, const char *to)
{
    if (link(from, to) != 0)
        return errno;
    return unlink(from) == 0 ? 0 : errno;
}

int sl_store_rename(struct sl_store *s, sl_str from, sl_str to, sl_err *err)
{
    struct full_path a, b;
    struct stat st;

    SL_TRY(sl_store__full(s, from, false, &a, err));
    SL_TRY(sl_store__full(s, to, false, &b, err));
    SL_TRY(sl_store__fault(a.p, err));
    int failure = move_new(a.p, b.p);
    if (failure == ENOENT && lstat(a.p, &st) == 0) {
        SL_TRY(sl_store__make_parents(b.p, err));
        failure = move_new(a.p, b.p);
    }
    if ((failure == EINVAL || failure == ENOSYS) && lstat(a.p, &st) == 0 && S_ISREG(st.st_mode))
        failure = move_by_link(a.p, b.p);
    if (failure == 0)
        return SL_OK;
    return sl_err_sys(err, failure == ENOTEMPTY ? EEXIST : failure, "cannot rename \"%s\" to \"%s\"", a.p, b.p);
}

int sl_store_remove(struct sl_store *s, sl_str path, sl_err *err)
{
    struct full_path full;

    SL_TRY(sl_store__full(s, path, false, &full, err));
    SL_TRY(sl_store__fault(full.p, err));
    if (unlink(full.p) == 0 || (errno == EISDIR && rmdir(full.p) == 0))
        return SL_OK;
    return sl_err_sys(err, errno == ENOTDIR ? ENOENT : errno, "cannot remove \"%s\"", full.p);
}
