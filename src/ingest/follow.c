/* follow.c - a file that grows and is rotated: which file beside it comes next. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "ingest/source.h"

enum { RESCAN_MILLIS = 500, QUIET_MILLIS = 1000, SEEN_MAX = 1000 };

void sl_follow_close(struct sl_source *s)
{
    for (size_t i = 0; i < s->seen.n; i++)
        sl_place_release(&s->seen.v[i]);
    for (size_t i = s->rotated_next; i < s->rotated.n; i++) {
        close(s->rotated.v[i].fd);
        sl_place_release(&s->rotated.v[i].start);
    }
    sl_free(s->seen.v);
    sl_free(s->rotated.v);
}

/* ---- what was seen ---- */

/* Nothing is known of an empty file that could tell it from a later one. */
int sl_follow_see(struct sl_source *s, const struct sl_place *place, sl_err *err)
{
    if (place->offset == 0)
        return SL_OK;
    if (s->seen.n == SEEN_MAX) {
        sl_place_release(&s->seen.v[0]);
        memmove(s->seen.v, s->seen.v + 1, --s->seen.n * sizeof *s->seen.v);
    }
    struct sl_place *p = sl_vec_push(&s->seen);
    return p ? sl_place_copy(p, place, err) : sl_err_nomem(err);
}

/* Numbers of inodes are given again, so the bytes are looked at too. */
static int is_seen(const struct sl_source *s, int fd, const struct stat *st, bool *seen, sl_err *err)
{
    const char *why;

    *seen = false;
    for (size_t i = 0; i < s->seen.n && !*seen; i++) {
        const struct sl_place *p = &s->seen.v[i];

        if (p->device == (uint64_t)st->st_dev && p->inode == (uint64_t)st->st_ino)
            SL_TRY(sl_place_check(p, fd, p->offset, seen, &why, err));
    }
    return SL_OK;
}

static int open_regular(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The file FD is read before the followed one, from START on. Takes over FD, also on failure, and START's path. */
static int push_rotated(struct sl_source *s, int fd, struct sl_place *start, sl_err *err)
{
    struct sl_rotated *r = sl_vec_push(&s->rotated);

    if (!r) {
        close(fd);
        return sl_err_nomem(err);
    }
    *r = (struct sl_rotated){*start, fd};
    memset(start, 0, sizeof *start);
    return SL_OK;
}

/* The file at PATH stands beside the followed one, which is NAMED (NULL: not there now). READ: if it is new it is read, else only known. */
static int meet(struct sl_source *s, const char *path, const struct stat *named, bool read, sl_err *err)
{
    struct sl_place place = {0};
    struct stat st;
    bool seen = false;
    int fd = open_regular(path, &st), rc = SL_OK;

    if (fd < 0)
        return SL_OK; /* gone meanwhile */
    if (st.st_size == 0 || (named && named->st_dev == st.st_dev && named->st_ino == st.st_ino))
        goto done;
    SL_GO(is_seen(s, fd, &st, &seen, err));
    if (seen)
        goto done;
    place.path = sl_strdup(path);
    if (!place.path)
        SL_GOTO_NOMEM(err);
    place.offset = (uint64_t)st.st_size;
    SL_GO(sl_place_mark(&place, fd, place.offset, err));
    SL_GO(sl_follow_see(s, &place, err));
    if (read) {
        struct sl_place start = {.path = place.path};

        place.path = NULL;
        rc = push_rotated(s, fd, &start, err);
        fd = -1;
        sl_place_release(&start);
    }
done:
    if (fd >= 0)
        close(fd);
    sl_place_release(&place);
    return rc;
}

/* A folder that cannot be listed hides rotated files, but the followed one is read on. */
static int list_siblings(struct sl_source *s, struct sl_paths *out, sl_err *err)
{
    sl_err own = SL_ERR_INIT;
    int rc = sl_inputs_rotated(s->inputs.v[0], out, &own);

    if (rc == SL_OK || rc == SL_ENOMEM) {
        if (rc != SL_OK && err)
            *err = own;
        return rc;
    }
    if (!s->unlisted)
        sl_log(SL_LOG_WARN, "ingest", "%s: files that \"%s\" is rotated to are not found", own.text, s->inputs.v[0]);
    s->unlisted = true;
    return SL_OK;
}

int sl_follow_look(struct sl_source *s, bool read, sl_err *err)
{
    struct sl_paths list = {{NULL, 0, 0}};
    struct stat named;
    int rc;

    SL_GO(list_siblings(s, &list, err));
    bool there = stat(s->inputs.v[0], &named) == 0;
    for (size_t i = 0; i < list.v.n; i++)
        SL_GO(meet(s, list.v.v[i], there ? &named : NULL, read, err));
done:
    sl_paths_release(&list);
    return rc;
}

/* ---- going on ---- */

static int take_rotated(struct sl_source *s, sl_err *err)
{
    struct sl_rotated *r = &s->rotated.v[s->rotated_next++];
    int rc = sl_source_take(s, r->fd, &r->start, err);

    sl_place_release(&r->start);
    if (s->rotated_next == s->rotated.n)
        s->rotated.n = s->rotated_next = 0;
    return rc;
}

int sl_follow_next(struct sl_source *s, bool *opened, sl_err *err)
{
    *opened = false;
    if (!s->beside_known) /* what is there when a load begins anew is not its input */
        SL_TRY(sl_follow_look(s, false, err));
    s->beside_known = true;
    for (;;) {
        if (s->rotated_next < s->rotated.n) {
            SL_TRY(take_rotated(s, err));
            *opened = true;
            return SL_OK;
        }
        SL_TRY(sl_source_open_path(s, s->inputs.v[0], opened, err));
        if (!*opened && !sl_source_due(&s->listed_at, RESCAN_MILLIS))
            return SL_OK;
        /* Only now, so that nothing can slip in between. */
        SL_TRY(sl_follow_look(s, true, err));
        if (s->rotated_next == s->rotated.n)
            return SL_OK;
        sl_source_close_file(s);
        *opened = false;
    }
}

static bool is_old(const struct stat *st)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec - (int64_t)st->st_mtim.tv_sec > 1 + QUIET_MILLIS / 1000;
}

int sl_follow_end(struct sl_source *s, enum sl_source_state *state, sl_err *err)
{
    const bool followed = strcmp(s->place.path, s->inputs.v[0]) == 0;
    struct stat open_file, named;

    *state = SL_SOURCE_WAIT;
    if (fstat(s->fd, &open_file) != 0)
        return sl_err_sys(err, errno, "cannot look at \"%s\"", s->place.path);
    if (followed && s->regular && (uint64_t)open_file.st_size < s->read_offset) {
        sl_log(SL_LOG_WARN, "ingest", "\"%s\" was cut: it is read from its start", s->place.path);
        if (lseek(s->fd, 0, SEEK_SET) == 0) {
            s->read_offset = s->place.offset = s->place.lines = 0;
            s->place.head_n = 0;
            *state = SL_SOURCE_RESTART;
            return sl_follow_look(s, false, err); /* where it was copied to before */
        }
    }
    if (followed && (stat(s->place.path, &named) != 0 ||
                     (named.st_ino == open_file.st_ino && named.st_dev == open_file.st_dev))) {
        s->rotated_at = 0;
        return SL_OK;
    }
    if (!followed && is_old(&open_file)) {
        *state = SL_SOURCE_FINAL;
        return SL_OK;
    }
    /* The writer may not have noticed yet, so the old file is watched a little longer. */
    if (!s->rotated_at)
        s->rotated_at = sl_mono_nanos();
    if (sl_mono_nanos() - s->rotated_at >= QUIET_MILLIS * INT64_C(1000000))
        *state = SL_SOURCE_FINAL;
    return SL_OK;
}

/* ---- going on where a load left off ---- */

/* Is the file at PATH the one that AT tells? BY_INODE: it must have its inode too, else enough bytes to know it by. *FD is open then. */
static int is_the_file(const struct sl_place *at, const char *path, bool by_inode, bool followed, struct sl_place *start, int *fd,
                       const char **why, sl_err *err)
{
    struct stat st;
    bool same = false;
    int rc = SL_OK, f = followed ? open(path, O_RDONLY | O_CLOEXEC) : open_regular(path, &st); /* a pipe may be followed */

    *fd = -1;
    if (f < 0 || fstat(f, &st) != 0)
        goto done;
    const bool inode = (uint64_t)st.st_ino == at->inode && (uint64_t)st.st_dev == at->device;
    const bool cut = inode && followed && (uint64_t)st.st_size < at->offset;
    if (by_inode ? inode : at->offset >= SL_PLACE_SAMPLE)
        SL_GO(sl_place_check(at, f, at->offset, &same, why, err));
    if (!same && !(by_inode && cut))
        goto done;
    if (same)
        SL_GO(sl_place_copy(start, at, err));
    else
        sl_log(SL_LOG_WARN, "ingest", "\"%s\" was cut meanwhile: it is read from its start", path);
    sl_free(start->path);
    start->path = sl_strdup(path);
    if (!start->path)
        SL_GOTO_NOMEM(err);
    *fd = f;
    f = -1;
done:
    if (f >= 0)
        close(f);
    return rc;
}

/* The followed file itself first, then those beside it. *FOUND is its index, that of the followed file is list->v.n. */
static int find_the_file(struct sl_source *s, const struct sl_place *at, const struct sl_paths *list, size_t *found, const char **why,
                         sl_err *err)
{
    struct sl_place start = {0};
    int fd = -1, rc = SL_OK;

    for (int by_inode = 1; by_inode >= 0; by_inode--)
        for (size_t i = list->v.n + 1; i-- > 0;) {
            const bool followed = i == list->v.n;
            const char *ignored;

            SL_GO(is_the_file(at, followed ? s->inputs.v[0] : list->v.v[i], by_inode, followed, &start, &fd,
                              followed ? why : &ignored, err));
            if (fd < 0)
                continue;
            *found = i;
            SL_GO(sl_follow_see(s, &start, err));
            rc = push_rotated(s, fd, &start, err);
            fd = -1;
            goto done;
        }
    *found = SIZE_MAX;
done:
    if (fd >= 0)
        close(fd);
    sl_place_release(&start);
    return rc;
}

int sl_follow_resume(struct sl_source *s, const struct sl_place *at, sl_err *err)
{
    struct sl_paths list = {{NULL, 0, 0}};
    const char *why = "is gone";
    struct stat named;
    size_t found;
    int rc;

    SL_GO(list_siblings(s, &list, err));
    SL_GO(find_the_file(s, at, &list, &found, &why, err));
    if (found == SIZE_MAX) {
        rc = sl_source_changed(at->path, why, err);
        goto done;
    }
    bool there = stat(s->inputs.v[0], &named) == 0;
    for (size_t i = 0; i < list.v.n; i++)
        if (i != found)
            SL_GO(meet(s, list.v.v[i], there ? &named : NULL, i > found, err));
    s->beside_known = true;
done:
    sl_paths_release(&list);
    return rc;
}
