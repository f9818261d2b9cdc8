/* source.c - the inputs of a load in the order in which they are read, and the position in them. */
#include "ingest/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

enum { WAIT_MILLIS = 100, RESCAN_MILLIS = 500 };
enum { LOG_MAX = 1 << 30, FIRST_MAX = 1 << 20 };

static const char *const kind_names[] = {"stdin", "files", "followed-file", "followed-folder"};

/* ---- what is known of files ---- */

static void free_place(void *p)
{
    if (p)
        sl_place_release(p);
    sl_free(p);
}

static sl_str inode_key(uint64_t device, uint64_t inode, uint64_t key[2])
{
    key[0] = device;
    key[1] = inode;
    return (sl_str){(const char *)key, 2 * sizeof key[0]};
}

const struct sl_place *sl_source_known(const struct sl_source *s, const char *path, uint64_t device, uint64_t inode)
{
    uint64_t key[2];
    const struct sl_place *p = sl_map_get(s->known_inodes, inode_key(device, inode, key));

    return p ? p : sl_map_get(s->known, sl_str_c(path));
}

static int remember(struct sl_source *s, const struct sl_place *place, sl_err *err)
{
    uint64_t key[2];
    void **slot = sl_map_at(s->known, sl_str_c(place->path)), **inode;

    if (!slot || (!*slot && !(*slot = sl_calloc(1, sizeof *place))))
        return sl_err_nomem(err);
    struct sl_place *p = *slot;
    void **old = p->path ? sl_map_at(s->known_inodes, inode_key(p->device, p->inode, key)) : NULL;
    if (old && *old == p)
        *old = NULL;
    SL_TRY(sl_place_copy(p, place, err));
    inode = sl_map_at(s->known_inodes, inode_key(place->device, place->inode, key));
    if (!inode)
        return sl_err_nomem(err);
    *inode = p;
    return SL_OK;
}

/* ---- opening and closing ---- */

int sl_source_open(const struct sl_ingest_options *o, enum sl_ingest_format format, struct sl_store *store, const char *identity,
                   struct sl_source **out, sl_err *err)
{
    struct sl_source *s = sl_calloc(1, sizeof *s);
    int rc = SL_OK;

    if (!s)
        return sl_err_nomem(err);
    s->fd = -1;
    s->store = store;
    s->identity = identity;
    s->whole_files = format == SL_INGEST_PARQUET;
    s->known = sl_map_new();
    s->known_inodes = sl_map_new();
    s->log_hasher = sl_hasher_new();
    s->hasher = sl_hasher_new();
    if (!s->known || !s->known_inodes || !s->log_hasher || !s->hasher)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_inputs_list(s, o->inputs, o->ninputs, o->follow, err));
    *out = s;
    return SL_OK;
done:
    sl_source_close(s);
    return rc;
}

void sl_source_close_file(struct sl_source *s)
{
    if (s->fd > 0)
        close(s->fd);
    s->fd = -1;
}

void sl_source_close(struct sl_source *s)
{
    if (!s)
        return;
    sl_source_close_file(s);
    for (size_t i = 0; i < s->inputs.n; i++)
        sl_free(s->inputs.v[i]);
    for (size_t i = 0; i < s->queue.n; i++)
        sl_free(s->queue.v[i]);
    sl_free(s->inputs.v);
    sl_free(s->queue.v);
    sl_follow_close(s);
    sl_place_release(&s->place);
    sl_place_release(&s->last);
    sl_map_free(s->known, free_place);
    sl_map_free(s->known_inodes, NULL);
    sl_hasher_free(s->hasher);
    sl_hasher_free(s->log_hasher);
    sl_free(s->log);
    sl_buf_release(&s->log_pending);
    sl_buf_release(&s->first);
    sl_free(s);
}

const char *sl_source_label(const struct sl_source *s)
{
    return s->place.path ? s->place.path : "standard input";
}

int sl_source_changed(const char *path, const char *why, sl_err *err)
{
    const char *quote = path[0] == '/' ? "\"" : ""; /* "standard input" is no path */

    sl_err_set(err, SL_EINPUT, "%s%s%s %s, so the place where the load left off cannot be found", quote, path, quote, why);
    sl_err_hint(err, "--from start loads it again from its start, --from OFFSET goes on at a byte; rows may then be doubled or missing");
    return SL_EINPUT;
}

/* The byte before OFFSET ends a line, unless the last line of a file had no end: then it must have got one. */
static int check_line_start(int fd, const char *path, uint64_t *offset, sl_err *err)
{
    char two[2] = {'\n', '\n'};

    if (*offset == 0 || pread(fd, two, 1, (off_t)*offset - 1) != 1 || two[0] == '\n')
        return SL_OK;
    ssize_t got = pread(fd, two + 1, 1, (off_t)*offset);
    if (got == 1 && two[1] == '\n')
        (*offset)++;
    else if (got == 1)
        return sl_source_changed(path, "goes on in the middle of a line that was loaded already", err);
    return SL_OK;
}

/* Where to begin in the file FD: behind what is known of it. A followed file is a new one whenever it is opened by its name. */
static int find_start(struct sl_source *s, int fd, const struct stat *st, const char *path, struct sl_place *start, sl_err *err)
{
    const struct sl_place *known = s->kind == SL_SOURCE_FOLLOW_FILE ? NULL
                                   : sl_source_known(s, path, (uint64_t)st->st_dev, (uint64_t)st->st_ino);
    const char *why = "";
    bool same;

    if (known) {
        SL_TRY(sl_place_check(known, fd, s->whole_files ? (uint64_t)st->st_size : known->offset, &same, &why, err));
        if (same) {
            SL_TRY(sl_place_copy(start, known, err));
        } else if (s->kind == SL_SOURCE_FOLLOW_FOLDER) {
            sl_log(SL_LOG_WARN, "ingest", "\"%s\" is another file than the one loaded under this name before: it is loaded too", path);
        } else {
            return sl_source_changed(path, why, err);
        }
    }
    sl_free(start->path);
    start->path = sl_strdup(path);
    return start->path ? SL_OK : sl_err_nomem(err);
}

int sl_source_take(struct sl_source *s, int fd, struct sl_place *start, sl_err *err)
{
    struct stat st;
    int rc = SL_OK;

    if (fstat(fd, &st) != 0) {
        rc = sl_err_sys(err, errno, "cannot read \"%s\"", start->path);
        goto done;
    }
    s->regular = S_ISREG(st.st_mode);
    if (s->regular && !s->whole_files) {
        SL_GO(check_line_start(fd, start->path, &start->offset, err));
        if (lseek(fd, (off_t)start->offset, SEEK_SET) < 0) {
            rc = sl_err_sys(err, errno, "cannot read \"%s\"", start->path);
            goto done;
        }
    }
    sl_place_release(&s->place);
    s->place = *start;
    memset(start, 0, sizeof *start);
    s->read_offset = s->place.offset;
    s->rotated_at = 0;
    s->fd = fd;
    fd = -1;
done:
    if (fd >= 0)
        close(fd);
    return rc;
}

int sl_source_open_path(struct sl_source *s, const char *path, bool *opened, sl_err *err)
{
    struct sl_place start = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = SL_OK;

    *opened = false;
    if (fd < 0 && errno == ENOENT && s->kind >= SL_SOURCE_FOLLOW_FILE)
        return SL_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = sl_err_sys(err, errno, "cannot read \"%s\"", path);
        goto done;
    }
    if (S_ISDIR(st.st_mode)) {
        rc = sl_err_set(err, SL_EINPUT, "\"%s\" is a folder", path);
        goto done;
    }
    SL_GO(find_start(s, fd, &st, path, &start, err));
    rc = sl_source_take(s, fd, &start, err);
    fd = -1;
    *opened = rc == SL_OK;
done:
    sl_place_release(&start);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- going on ---- */

/* A line for the log of finished files. */
static int note_finished(struct sl_source *s, const struct sl_place *place, sl_err *err)
{
    json_t *j = sl_place_json(place);
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

    json_decref(j);
    if (!text)
        return sl_err_nomem(err);
    sl_buf_addc(&s->log_pending, text);
    sl_buf_ch(&s->log_pending, '\n');
    sl_free(text);
    return sl_buf_ok(&s->log_pending, err);
}

/* The file that the position of the load before names goes into the log when another one takes its place there. */
static int leave_last(struct sl_source *s, sl_err *err)
{
    const bool same = s->place.device == s->last.device && s->place.inode == s->last.inode;
    int rc = SL_OK;

    if (s->last.path && s->store && !same)
        rc = note_finished(s, &s->last, err);
    sl_place_release(&s->last);
    return rc;
}

/* The open file has been read to its end. */
static int finish_file(struct sl_source *s, uint64_t offset, uint64_t lines, sl_err *err)
{
    s->place.offset = offset;
    s->place.lines = lines;
    SL_TRY(sl_place_mark(&s->place, s->fd, s->whole_files ? (uint64_t)lseek(s->fd, 0, SEEK_END) : offset, err));
    if (s->kind == SL_SOURCE_FOLLOW_FILE) {
        SL_TRY(sl_follow_see(s, &s->place, err));
    } else {
        SL_TRY(remember(s, &s->place, err));
        if (s->store && (s->kind == SL_SOURCE_FOLLOW_FOLDER || s->queue.n > 1))
            SL_TRY(note_finished(s, &s->place, err));
    }
    sl_source_close_file(s);
    return SL_OK;
}

bool sl_source_due(int64_t *last, int64_t millis)
{
    int64_t now = sl_mono_nanos();

    if (*last && now - *last < millis * 1000000)
        return false;
    *last = now;
    return true;
}

int sl_source_next(struct sl_source *s, uint64_t offset, uint64_t lines, enum sl_source_state *state, sl_err *err)
{
    bool opened = false;

    if (s->kind == SL_SOURCE_STDIN) {
        *state = s->fd < 0 && s->next == 0 ? SL_SOURCE_DATA : SL_SOURCE_END;
        s->fd = s->next++ == 0 ? 0 : -1;
        return SL_OK;
    }
    if (s->fd >= 0)
        SL_TRY(finish_file(s, offset, lines, err));
    if (s->next >= s->queue.n && s->kind == SL_SOURCE_FOLLOW_FOLDER && sl_source_due(&s->listed_at, RESCAN_MILLIS))
        SL_TRY(sl_inputs_scan(s, true, err));
    if (s->kind == SL_SOURCE_FOLLOW_FILE)
        SL_TRY(sl_follow_next(s, &opened, err));
    while (!opened && s->next < s->queue.n)
        SL_TRY(sl_source_open_path(s, s->queue.v[s->next++], &opened, err));
    if (opened && s->last.path)
        SL_TRY(leave_last(s, err));
    *state = opened ? SL_SOURCE_DATA : s->kind >= SL_SOURCE_FOLLOW_FILE ? SL_SOURCE_WAIT : SL_SOURCE_END;
    return SL_OK;
}

int sl_source_read(struct sl_source *s, char *to, size_t n, size_t *got, enum sl_source_state *state, sl_err *err)
{
    *got = 0;
    if (!s->regular) {
        struct pollfd p = {s->fd, POLLIN, 0};
        int r = poll(&p, 1, WAIT_MILLIS);

        if (r == 0 || (r < 0 && errno == EINTR)) {
            *state = SL_SOURCE_WAIT;
            return SL_OK;
        }
    }
    for (;;) {
        ssize_t r = read(s->fd, to, n);

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0 && errno == EAGAIN) {
            *state = SL_SOURCE_WAIT;
            return SL_OK;
        }
        if (r < 0)
            return sl_err_sys(err, errno, "cannot read %s%s%s", s->place.path ? "\"" : "", sl_source_label(s), s->place.path ? "\"" : "");
        *got = (size_t)r;
        s->read_offset += (uint64_t)r;
        *state = r ? SL_SOURCE_DATA : SL_SOURCE_FINAL;
        if (r)
            s->rotated_at = 0;
        return r == 0 && s->kind == SL_SOURCE_FOLLOW_FILE ? sl_follow_end(s, state, err) : SL_OK;
    }
}

void sl_source_consumed(struct sl_source *s, sl_str bytes)
{
    if (s->kind == SL_SOURCE_STDIN && s->store)
        sl_hasher_add(s->hasher, bytes);
}

uint64_t sl_source_lag(const struct sl_source *s, uint64_t offset)
{
    struct stat st;

    if (s->fd < 0 || !s->regular || fstat(s->fd, &st) != 0 || (uint64_t)st.st_size < offset)
        return 0;
    return (uint64_t)st.st_size - offset;
}

/* ---- positions ---- */

static int write_log(struct sl_source *s, sl_err *err)
{
    if (s->log_pending.n == 0)
        return SL_OK;
    if (!s->log) {
        char uuid[37];

        sl_uuid(uuid);
        s->log = sl_asprintf(".sluice/ingest/%s-%.8s.ndjson", s->identity, uuid);
        if (!s->log)
            return sl_err_nomem(err);
    }
    SL_TRY(sl_store_append(s->store, sl_str_c(s->log), s->log_bytes, sl_buf_view(&s->log_pending), err));
    sl_hasher_add(s->log_hasher, sl_buf_view(&s->log_pending));
    s->log_bytes += s->log_pending.n;
    sl_buf_reset(&s->log_pending);
    return SL_OK;
}

int sl_source_position(struct sl_source *s, uint64_t offset, uint64_t lines, struct sl_buf *out, sl_err *err)
{
    char *text = NULL;
    json_t *j;

    sl_buf_printf(out, "\"input\":\"%s\"", kind_names[s->kind]);
    if (s->store)
        SL_TRY(write_log(s, err));
    if (s->log)
        sl_buf_printf(out, ",\"finished\":{\"log\":\"%s\",\"bytes\":%llu,\"hash\":\"%016llx\"}", s->log,
                      (unsigned long long)s->log_bytes, (unsigned long long)sl_hasher_value(s->log_hasher));
    if (s->kind == SL_SOURCE_STDIN || s->place.path) {
        if (s->kind == SL_SOURCE_STDIN || s->fd >= 0) {
            s->place.offset = offset;
            s->place.lines = lines;
            if (s->kind == SL_SOURCE_STDIN)
                s->place.head = sl_hasher_value(s->hasher);
            else
                SL_TRY(sl_place_mark(&s->place, s->fd, s->whole_files ? (uint64_t)lseek(s->fd, 0, SEEK_END) : offset, err));
        }
        j = sl_place_json(&s->place);
        text = j ? json_dumps(j, JSON_COMPACT) : NULL;
        json_decref(j);
        if (!text)
            return sl_err_nomem(err);
        sl_buf_printf(out, ",\"at\":%s", text);
        sl_free(text);
    }
    return sl_buf_ok(out, err);
}

/* ---- going on where a load left off ---- */

static int read_log_line(struct sl_source *s, sl_str line, sl_err *err)
{
    struct sl_place place = {0};
    json_t *j = NULL;
    int rc;

    SL_GO(sl_json_parse(line, &j, err));
    SL_GO(sl_place_from_json(j, &place, err));
    rc = place.path ? remember(s, &place, err) : sl_err_set(err, SL_ECORRUPT, "a line has no path");
done:
    json_decref(j);
    sl_place_release(&place);
    return rc;
}

static int read_log(struct sl_source *s, const json_t *finished, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    sl_str log, hash;
    int64_t bytes;
    char wanted[17];
    int rc;

    SL_GO(sl_json_str_req(finished, "log", &log, err));
    SL_GO(sl_json_i64_req(finished, "bytes", &bytes, err));
    SL_GO(sl_json_str_req(finished, "hash", &hash, err));
    if (bytes < 0 || bytes > LOG_MAX) {
        rc = sl_err_set(err, SL_ECORRUPT, "the length of the log of finished files is out of range");
        goto done;
    }
    SL_GO(sl_store_get_range(s->store, log, 0, (size_t)bytes, &text, err));
    sl_hasher_add(s->log_hasher, sl_buf_view(&text));
    snprintf(wanted, sizeof wanted, "%016llx", (unsigned long long)sl_hasher_value(s->log_hasher));
    if (!sl_str_eqc(hash, wanted)) {
        rc = sl_err_set(err, SL_ECORRUPT, "the log of finished files \"" SL_STRF "\" is not the one that the snapshot names", SL_STRV(log));
        goto done;
    }
    s->log = sl_str_dup(log);
    if (!s->log)
        SL_GOTO_NOMEM(err);
    s->log_bytes = (uint64_t)bytes;
    for (sl_str rest = sl_buf_view(&text); rest.n;) {
        const char *e = memchr(rest.p, '\n', rest.n);
        size_t n = e ? (size_t)(e - rest.p) : rest.n;

        SL_GO(read_log_line(s, (sl_str){rest.p, n}, err));
        rest = sl_str_sub(rest, n + 1, rest.n);
    }
done:
    sl_buf_release(&text);
    return rc;
}

/* Skip what was loaded, and see that it is the same. */
static int resume_stdin(struct sl_source *s, const struct sl_place *at, sl_err *err)
{
    char bytes[65536];
    enum sl_source_state state;

    SL_TRY(sl_source_next(s, 0, 0, &state, err));
    while (s->read_offset < at->offset) {
        uint64_t left = at->offset - s->read_offset;
        size_t got;

        SL_TRY(sl_cancel_check(err));
        SL_TRY(sl_source_read(s, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes, &got, &state, err));
        if (state == SL_SOURCE_FINAL)
            return sl_source_changed("standard input", "ends before the position of the last load", err);
        sl_hasher_add(s->hasher, (sl_str){bytes, got});
        if (s->first.n < FIRST_MAX)
            sl_buf_addb(&s->first, bytes, got);
    }
    SL_TRY(sl_buf_ok(&s->first, err));
    if (sl_hasher_value(s->hasher) != at->head)
        return sl_source_changed("standard input", "begins with other bytes than at the last load", err);
    s->place.offset = at->offset;
    s->place.lines = at->lines;
    return SL_OK;
}

int sl_source_resume(struct sl_source *s, const json_t *position, sl_err *err)
{
    const json_t *finished = sl_json_member(position, "finished"), *at = sl_json_member(position, "at");
    struct sl_place place = {0};
    sl_str kind;
    int rc = SL_OK;

    SL_GO(sl_json_str_req(position, "input", &kind, err));
    if (!sl_str_eqc(kind, kind_names[s->kind]) &&
        (s->kind == SL_SOURCE_STDIN || sl_str_eqc(kind, kind_names[SL_SOURCE_STDIN]))) {
        rc = sl_err_set(err, SL_EINPUT, "the identity has loaded from another kind of input (" SL_STRF ")", SL_STRV(kind));
        sl_err_hint(err, "use another --identity, or say where to begin with --from");
        goto done;
    }
    if (finished && s->store)
        SL_GO(read_log(s, finished, err));
    if (!at)
        goto done;
    SL_GO(sl_place_from_json(at, &place, err));
    if (s->kind == SL_SOURCE_STDIN) {
        SL_GO(resume_stdin(s, &place, err));
    } else if (s->kind == SL_SOURCE_FOLLOW_FILE) {
        SL_GO(sl_follow_resume(s, &place, err));
    } else {
        SL_GO(remember(s, &place, err));
        SL_GO(sl_place_copy(&s->last, &place, err));
    }
    /* What is known whole by now is not listed again. */
    s->listed_at = 0;
done:
    sl_place_release(&place);
    return rc;
}

int sl_source_seek(struct sl_source *s, uint64_t offset, sl_err *err)
{
    char bytes[65536];
    enum sl_source_state state;
    size_t got;

    if (s->kind == SL_SOURCE_FOLLOW_FOLDER || (s->kind == SL_SOURCE_FILES && s->queue.n != 1) || s->whole_files)
        return sl_err_set(err, SL_EUSAGE, "an offset to begin at needs one file of text as input");
    SL_TRY(sl_source_next(s, 0, 0, &state, err));
    if (state != SL_SOURCE_DATA)
        return SL_OK;
    if (s->regular) {
        off_t size = lseek(s->fd, 0, SEEK_END);

        if (offset == UINT64_MAX)
            offset = (uint64_t)size;
        if (offset > (uint64_t)size)
            return sl_err_set(err, SL_EINPUT, "\"%s\" has %lld bytes, so it cannot be read from offset %llu", s->place.path,
                              (long long)size, (unsigned long long)offset);
        if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
            return sl_err_sys(err, errno, "cannot read \"%s\"", s->place.path);
        s->read_offset = offset;
    }
    while (s->read_offset < offset) {
        uint64_t left = offset - s->read_offset;

        SL_TRY(sl_cancel_check(err));
        SL_TRY(sl_source_read(s, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes, &got, &state, err));
        if (state == SL_SOURCE_FINAL)
            return sl_err_set(err, SL_EINPUT, "standard input ends before offset %llu", (unsigned long long)offset);
        sl_source_consumed(s, (sl_str){bytes, got});
        if (s->first.n < FIRST_MAX)
            sl_buf_addb(&s->first, bytes, got);
    }
    SL_TRY(sl_buf_ok(&s->first, err));
    s->place.offset = offset;
    s->place.lines = 0;
    return SL_OK;
}
