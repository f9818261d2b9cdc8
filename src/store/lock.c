/* lock.c - locks on files that the kernel frees when their holder dies. */
#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

struct sl_lock {
    int fd; /* owned */
};

/* 0, EAGAIN if another holds it, or another errno. */
static int try_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return 0;
    return errno == EACCES || errno == EINTR ? EAGAIN : errno;
}

/* A lock on a file that has lost its name guards nothing: others lock the new one. */
static bool still_named(int fd, const char *full)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && stat(full, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

static int open_lock_file(const char *full, int *fd, sl_err *err)
{
    int rc = sl_store__open(full, O_RDWR | O_CREAT, fd, err);

    if (rc == SL_ENOTFOUND) {
        SL_TRY(sl_store__make_parents(full, err));
        rc = sl_store__open(full, O_RDWR | O_CREAT, fd, err);
    }
    return rc;
}

/* Waits in growing steps, since the kernel's own wait has no time limit. */
static int acquire(int fd, const char *full, int64_t end, sl_err *err)
{
    int64_t pause = 1;
    int failure;

    while ((failure = try_lock(fd)) == EAGAIN) {
        int64_t left = (end - sl_mono_nanos()) / 1000000;

        if (left <= 0) {
            sl_err_set(err, SL_EBUSY, "\"%s\" is locked by another process", full);
            sl_err_flag(err, SL_ERR_RETRY);
            return SL_EBUSY;
        }
        SL_TRY(sl_cancel_check(err));
        sl_sleep_millis(pause < left ? pause : left);
        pause = pause < 10 ? pause + 1 : 10;
    }
    return failure == 0 ? SL_OK : sl_err_sys(err, failure, "cannot lock \"%s\"", full);
}

int sl_store_lock(struct sl_store *s, sl_str path, int64_t wait_ms, struct sl_lock **out, sl_err *err)
{
    struct full_path full;
    int64_t end = wait_ms < 0 ? INT64_MAX : sl_mono_nanos() + wait_ms * 1000000;
    int fd = -1, rc = SL_OK;

    *out = NULL;
    SL_TRY(sl_store__full(s, path, false, &full, err));
    for (;;) {
        SL_GO(open_lock_file(full.p, &fd, err));
        SL_GO(acquire(fd, full.p, end, err));
        if (still_named(fd, full.p))
            break;
        close(fd);
        fd = -1;
    }
    struct sl_lock *l = sl_malloc(sizeof *l);
    if (!l)
        SL_GOTO_NOMEM(err);
    l->fd = fd;
    fd = -1;
    *out = l;
done:
    if (fd >= 0)
        close(fd);
    return rc;
}

void sl_store_unlock(struct sl_lock *l)
{
    if (!l)
        return;
    /* Explicitly, since a forked child may still hold the description open. */
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(l->fd, F_OFD_SETLK, &whole);
    close(l->fd);
    sl_free(l);
}

void sl_store_machine(struct sl_machine *out)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out->boot, sizeof out->boot - 1);

    if (fd >= 0)
        close(fd);
    out->boot[n > 0 ? n : 0] = '\0';
    out->boot[strcspn(out->boot, "\n")] = '\0';
    if (gethostname(out->host, sizeof out->host) != 0)
        out->host[0] = '\0';
    out->host[sizeof out->host - 1] = '\0';
    out->pid = (int64_t)getpid();
}
