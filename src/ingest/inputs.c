/* inputs.c - the files that the operands of a load name: listing folders, finding rotated files. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "ingest/source.h"

enum { SETTLE_MILLIS = 1000 };

struct found {
    char *path; /* owned */
    struct stat st;
};
struct found_list {
    SL_VEC(struct found) list;
};

static void release_found(struct found_list *f)
{
    for (size_t i = 0; i < f->list.n; i++)
        sl_free(f->list.v[i].path);
    sl_free(f->list.v);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static int by_time(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int64_t s = (int64_t)x->st.st_mtim.tv_sec - y->st.st_mtim.tv_sec;
    int64_t n = s ? s : (int64_t)x->st.st_mtim.tv_nsec - y->st.st_mtim.tv_nsec;

    return n < 0 ? -1 : n > 0 ? 1 : strcmp(x->path, y->path);
}

/* N of a name "x.N" or "x-N" that is counted up at each rotation; dates are longer, 0. */
static unsigned rotation_number(const char *path)
{
    const char *p = path + strlen(path);
    size_t digits = 0;

    while (p > path && p[-1] >= '0' && p[-1] <= '9') {
        p--;
        digits++;
    }
    return digits > 0 && digits < 6 && p > path && (p[-1] == '.' || p[-1] == '-') ? (unsigned)strtoul(p, NULL, 10) : 0;
}

/* By time, and of one time "x.2" before "x.1". */
static int by_rotation(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->st.st_mtim.tv_sec == y->st.st_mtim.tv_sec && x->st.st_mtim.tv_nsec == y->st.st_mtim.tv_nsec) {
        unsigned m = rotation_number(x->path), n = rotation_number(y->path);

        if (m != n)
            return m > n ? -1 : 1;
    }
    return by_time(a, b);
}

/* The files of a folder whose names WANTED accepts. */
static int list_folder(const char *folder, bool (*wanted)(void *user, const char *name), void *user, struct found_list *out,
                       sl_err *err)
{
    DIR *d = opendir(folder);
    int rc = SL_OK;

    if (!d)
        return sl_err_sys(err, errno, "cannot list \"%s\"", folder);
    for (struct dirent *e; (errno = 0, e = readdir(d)) != NULL;) {
        struct stat st;
        char *path;

        if (!wanted(user, e->d_name))
            continue;
        path = sl_asprintf("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", e->d_name);
        if (!path)
            SL_GOTO_NOMEM(err);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
            sl_free(path);
            continue;
        }
        struct found *f = sl_vec_push(&out->list);
        if (!f) {
            sl_free(path);
            SL_GOTO_NOMEM(err);
        }
        *f = (struct found){path, st};
    }
    if (errno)
        rc = sl_err_sys(err, errno, "cannot list \"%s\"", folder);
done:
    closedir(d);
    return rc;
}

/* Hidden files and those of a leading '_' are on their way, or notes of some program. */
static bool is_data_name(void *user, const char *name)
{
    (void)user;
    return name[0] != '.' && name[0] != '_';
}

static int enqueue(struct sl_source *s, char **path, uint64_t bytes, sl_err *err)
{
    char **slot = sl_vec_push(&s->queue);

    if (!slot)
        return sl_err_nomem(err);
    *slot = *path;
    *path = NULL;
    s->total_bytes += bytes;
    return SL_OK;
}

static bool is_settled(const struct stat *st)
{
    int64_t changed = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - changed >= SETTLE_MILLIS;
}

static int scan_folder(struct sl_source *s, const char *folder, bool settled_only, sl_err *err)
{
    struct found_list found = {{NULL, 0, 0}};
    int rc = SL_OK;

    SL_GO(list_folder(folder, is_data_name, NULL, &found, err));
    if (found.list.n)
        qsort(found.list.v, found.list.n, sizeof *found.list.v, settled_only ? by_time : by_name);
    for (size_t i = 0; i < found.list.n; i++) {
        struct found *f = &found.list.v[i];
        const struct sl_place *p = sl_source_known(s, f->path, (uint64_t)f->st.st_dev, (uint64_t)f->st.st_ino);

        /* Files that are known whole are not even opened. Of Parquet both numbers are rows, and LINES is all of them. */
        if (p && p->inode == (uint64_t)f->st.st_ino &&
            p->offset == (s->whole_files ? p->lines : (uint64_t)f->st.st_size))
            continue;
        if (settled_only && !is_settled(&f->st))
            continue;
        SL_GO(enqueue(s, &f->path, (uint64_t)f->st.st_size, err));
    }
done:
    release_found(&found);
    return rc;
}

int sl_inputs_scan(struct sl_source *s, bool settled_only, sl_err *err)
{
    for (size_t i = 0; i < s->queue.n; i++)
        sl_free(s->queue.v[i]);
    s->queue.n = 0;
    s->next = 0;
    for (size_t i = 0; i < s->inputs.n; i++)
        SL_TRY(scan_folder(s, s->inputs.v[i], settled_only, err));
    return SL_OK;
}

static int absolute(sl_str path, char **out, sl_err *err)
{
    char here[PATH_MAX];

    *out = NULL;
    if (path.n == 0 || memchr(path.p, '\0', path.n))
        return sl_err_set(err, SL_EUSAGE, "the name of an input is empty or has a zero byte in it");
    if (!sl_utf8_valid(path, NULL))
        return sl_err_set(err, SL_EUNSUPPORTED, "a file name that is not UTF-8 is not supported as input");
    if (path.p[0] == '/') {
        *out = sl_str_dup(path);
    } else {
        while (sl_str_starts(path, "./") && path.n > 2)
            path = sl_str_sub(path, 2, path.n);
        if (!getcwd(here, sizeof here))
            return sl_err_sys(err, errno, "cannot tell the current folder");
        *out = sl_asprintf("%s/" SL_STRF, strcmp(here, "/") == 0 ? "" : here, SL_STRV(path));
    }
    return *out ? SL_OK : sl_err_nomem(err);
}

static int add_input(struct sl_source *s, sl_str given, bool follow, sl_err *err)
{
    char *path = NULL;
    struct stat st;
    int rc;

    SL_TRY(absolute(given, &path, err));
    bool there = stat(path, &st) == 0;
    if (!there && (!follow || errno != ENOENT)) {
        rc = sl_err_sys(err, errno, "cannot read \"" SL_STRF "\"", SL_STRV(given));
        goto done;
    }
    bool folder = there && S_ISDIR(st.st_mode);
    if (follow) {
        char **slot = sl_vec_push(&s->inputs);

        s->kind = folder ? SL_SOURCE_FOLLOW_FOLDER : SL_SOURCE_FOLLOW_FILE;
        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = path;
        return SL_OK;
    }
    s->kind = SL_SOURCE_FILES;
    rc = folder ? scan_folder(s, path, false, err)
                : enqueue(s, &path, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, err);
done:
    sl_free(path);
    return rc;
}

int sl_inputs_list(struct sl_source *s, const sl_str *inputs, size_t n, bool follow, sl_err *err)
{
    bool standard = n == 0;

    for (size_t i = 0; i < n; i++)
        standard |= sl_str_eqc(inputs[i], "-");
    if (standard && n > 1)
        return sl_err_set(err, SL_EUSAGE, "standard input (\"-\") cannot be mixed with files");
    if (follow && (standard || n != 1))
        return sl_err_set(err, SL_EUSAGE, "--follow takes one file or one folder");
    if (standard) {
        s->kind = SL_SOURCE_STDIN;
        return SL_OK;
    }
    for (size_t i = 0; i < n; i++)
        SL_TRY(add_input(s, inputs[i], follow, err));
    return SL_OK;
}

/* ---- rotation ---- */

/* "x.log" is rotated to "x.log.1", "x.log-20240102", "x.log.2024-01-02": its name and digits. */
static bool is_rotated_name(void *user, const char *name)
{
    const char *base = user;
    size_t n = strlen(base), digits = 0;

    if (strncmp(name, base, n) != 0 || (name[n] != '.' && name[n] != '-'))
        return false;
    for (const char *p = name + n; *p; p++) {
        digits += *p >= '0' && *p <= '9';
        if (!strchr("0123456789.-_T", *p))
            return false;
    }
    return digits > 0;
}

void sl_paths_release(struct sl_paths *p)
{
    for (size_t i = 0; i < p->v.n; i++)
        sl_free(p->v.v[i]);
    sl_free(p->v.v);
}

int sl_inputs_rotated(const char *path, struct sl_paths *out, sl_err *err)
{
    struct found_list list = {{NULL, 0, 0}};
    char *folder = sl_strdup(path), *base;
    int rc = SL_OK;

    if (!folder)
        return sl_err_nomem(err);
    base = strrchr(folder, '/');
    *base++ = '\0';
    SL_GO(list_folder(folder[0] ? folder : "/", is_rotated_name, base, &list, err));
    if (list.list.n)
        qsort(list.list.v, list.list.n, sizeof *list.list.v, by_rotation);
    for (size_t i = 0; i < list.list.n; i++) {
        char **slot = sl_vec_push(&out->v);

        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = list.list.v[i].path;
        list.list.v[i].path = NULL;
    }
done:
    release_found(&list);
    sl_free(folder);
    return rc;
}
