/* doctor.c - tries out what a file system does, in a folder of its own that is removed again. */
#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/sys.h"

static const struct {
    uint32_t magic;
    const char *name;
    bool network;
} kinds[] = {
    {0xEF53, "ext4", false},        {0x58465342, "xfs", false},    {0x9123683E, "btrfs", false},
    {0x01021994, "tmpfs", false},   {0x794C7630, "overlay", false}, {0x6969, "nfs", true},
    {0xFF534D42, "cifs", true},     {0xFE534D42, "smb2", true},    {0x65735546, "fuse", true},
    {0x2FC12FC1, "zfs", false},     {0xF2F52010, "f2fs", false},   {0x01021997, "9p", true},
    {0x00C36400, "ceph", true},     {0x0BD00BD0, "lustre", true},  {0x47504653, "gpfs", true},
    {0xCA451A4E, "bcachefs", false}, {0x4D44, "vfat", false},       {0x2011BAB0, "exfat", false},
    {0x5346544E, "ntfs", false},    {0x7366746E, "ntfs3", false},
};

static void name_kind(uint32_t magic, struct sl_doctor *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].magic != magic)
            continue;
        snprintf(out->fs_type, sizeof out->fs_type, "%s", kinds[i].name);
        out->network = kinds[i].network;
        out->overlay = strcmp(kinds[i].name, "overlay") == 0;
        return;
    }
    snprintf(out->fs_type, sizeof out->fs_type, "0x%x", (unsigned)magic);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Median time of writing and syncing 4 KiB; false if syncing fails. */
static bool time_sync(int at, double *millis)
{
    enum { TRIES = 7 };
    int64_t took[TRIES];
    char page[4096] = {1};
    bool ok = true;
    int fd = openat(at, "sync", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

    if (fd < 0)
        return false;
    for (int i = 0; i < TRIES; i++) {
        int64_t start = sl_mono_nanos();

        ok = ok && write(fd, page, sizeof page) == (ssize_t)sizeof page && fsync(fd) == 0;
        took[i] = sl_mono_nanos() - start;
    }
    close(fd);
    unlinkat(at, "sync", 0);
    qsort(took, TRIES, sizeof *took, compare_times);
    *millis = (double)took[TRIES / 2] / 1e6;
    return ok;
}

static bool make_empty(int at, const char *name)
{
    int fd = openat(at, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool locks_work(int at)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int a = openat(at, "one", O_RDWR | O_CLOEXEC), b = openat(at, "one", O_RDWR | O_CLOEXEC);
    bool ok = a >= 0 && b >= 0 && fcntl(a, F_OFD_SETLK, &whole) == 0 && fcntl(b, F_OFD_SETLK, &whole) != 0;

    if (a >= 0)
        close(a);
    if (b >= 0)
        close(b);
    return ok;
}

static void try_all(int at, struct sl_doctor *out)
{
    struct stat st;

    out->fsync_file = time_sync(at, &out->fsync_millis);
    out->fsync_dir = fsync(at) == 0;
    if (!make_empty(at, "one") || !make_empty(at, "taken"))
        return;
    out->case_sensitive = fstatat(at, "ONE", &st, 0) != 0;
    out->link_new = linkat(at, "one", at, "taken", 0) != 0 && errno == EEXIST &&
                    linkat(at, "one", at, "linked", 0) == 0 && fstatat(at, "linked", &st, 0) == 0 && st.st_nlink == 2;
    out->rename_noreplace = renameat2(at, "one", at, "taken", RENAME_NOREPLACE) != 0 && errno == EEXIST &&
                            renameat2(at, "taken", at, "moved", RENAME_NOREPLACE) == 0;
    out->ofd_lock = locks_work(at);
    for (const char *const *name = (const char *const[]){"one", "taken", "linked", "moved", NULL}; *name; name++)
        unlinkat(at, *name, 0);
}

int sl_store_doctor(sl_str dir, struct sl_doctor *out, sl_err *err)
{
    char folder[PATH_MAX], trial[PATH_MAX], uuid[37];
    struct statfs fs;
    struct stat st;
    int fd;

    memset(out, 0, sizeof *out);
    sl_uuid(uuid);
    if (dir.n == 0 || dir.n + sizeof uuid + 32 > sizeof trial || memchr(dir.p, '\0', dir.n))
        return sl_err_set(err, SL_EINPUT, "path \"" SL_STRF "\" is empty, too long or has a zero byte", SL_STRV(dir));
    snprintf(folder, sizeof folder, SL_STRF, SL_STRV(dir));
    if (stat(folder, &st) != 0 || statfs(folder, &fs) != 0)
        return sl_err_sys(err, errno, "cannot look at \"%s\"", folder);
    if (!S_ISDIR(st.st_mode))
        return sl_err_set(err, SL_EINPUT, "\"%s\" is not a folder", folder);
    name_kind((uint32_t)fs.f_type, out);
    out->free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    out->total_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;

    snprintf(trial, sizeof trial, SL_STRF "/.sluice-doctor.%s.tmp", SL_STRV(dir), uuid);
    if (mkdir(trial, 0777) != 0)
        return sl_err_sys(err, errno, "cannot write in \"%s\"", folder);
    int rc = sl_store__open(trial, O_RDONLY | O_DIRECTORY, &fd, err);
    if (rc == SL_OK) {
        try_all(fd, out);
        close(fd);
    }
    rmdir(trial);
    return rc;
}
