/* scratch.c - files without a name. */
#include "store/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Many are open at once: take what the system allows, not what it starts with. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_scratch(void)
{
    const char *dir = getenv("TMPDIR");
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 || errno == EMFILE ? fd : memfd_create("sluice", MFD_CLOEXEC);
}

int sl_scratch_new(int *fd, sl_err *err)
{
    *fd = open_scratch();
    if (*fd < 0 && errno == EMFILE) {
        raise_limit();
        *fd = open_scratch();
    }
    return *fd >= 0 ? SL_OK : sl_err_sys(err, errno, "cannot make a temporary file");
}

int sl_scratch_add(int fd, sl_str bytes, sl_err *err)
{
    while (bytes.n) {
        const ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sl_err_sys(err, errno, "cannot write a temporary file");
        bytes = sl_str_sub(bytes, (size_t)n, bytes.n);
    }
    return SL_OK;
}

void sl_scratch_path(int fd, char out[32])
{
    snprintf(out, 32, "/proc/self/fd/%d", fd);
}

void sl_scratch_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
