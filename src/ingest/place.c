/* place.c - how far one input file has been read, and whether a file is still the one that was. */
#include "ingest/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

void sl_place_release(struct sl_place *p)
{
    sl_free(p->path);
    memset(p, 0, sizeof *p);
}

int sl_place_copy(struct sl_place *to, const struct sl_place *from, sl_err *err)
{
    char *path = from->path ? sl_strdup(from->path) : NULL;

    if (from->path && !path)
        return sl_err_nomem(err);
    sl_free(to->path);
    *to = *from;
    to->path = path;
    return SL_OK;
}

/* Hash of N bytes from FROM; *GOT of them were there. */
static int sample(int fd, uint64_t from, size_t n, uint64_t *hash, size_t *got, sl_err *err)
{
    char bytes[SL_PLACE_SAMPLE];

    *got = 0;
    while (*got < n) {
        ssize_t r = pread(fd, bytes + *got, n - *got, (off_t)(from + *got));

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return sl_err_sys(err, errno, "cannot read the input at offset %llu", (unsigned long long)from);
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    *hash = sl_hash64((sl_str){bytes, *got});
    return SL_OK;
}

int sl_place_mark(struct sl_place *p, int fd, uint64_t bytes, sl_err *err)
{
    uint32_t head_n = bytes < SL_PLACE_SAMPLE ? (uint32_t)bytes : SL_PLACE_SAMPLE;
    struct stat st;
    size_t got;

    if (fstat(fd, &st) != 0)
        return sl_err_sys(err, errno, "cannot look at \"%s\"", p->path);
    p->device = (uint64_t)st.st_dev;
    p->inode = (uint64_t)st.st_ino;
    if (!S_ISREG(st.st_mode))
        return SL_OK;
    if (p->head_n != head_n) {
        SL_TRY(sample(fd, 0, head_n, &p->head, &got, err));
        p->head_n = (uint32_t)got;
    }
    SL_TRY(sample(fd, bytes - head_n, head_n, &p->tail, &got, err));
    p->tail_n = (uint32_t)got;
    return SL_OK;
}

int sl_place_check(const struct sl_place *p, int fd, uint64_t bytes, bool *same, const char **why, sl_err *err)
{
    struct stat st;
    uint64_t hash;
    size_t got;

    *same = false;
    if (fstat(fd, &st) != 0)
        return sl_err_sys(err, errno, "cannot look at \"%s\"", p->path);
    if ((uint64_t)st.st_size < bytes) {
        *why = "is shorter than what was read of it";
        return SL_OK;
    }
    SL_TRY(sample(fd, 0, p->head_n, &hash, &got, err));
    if (got != p->head_n || hash != p->head) {
        *why = "begins with other bytes than when it was read";
        return SL_OK;
    }
    SL_TRY(sample(fd, bytes - p->tail_n, p->tail_n, &hash, &got, err));
    if (got != p->tail_n || hash != p->tail) {
        *why = "has other bytes before the position than when it was read";
        return SL_OK;
    }
    *same = true;
    return SL_OK;
}

json_t *sl_place_json(const struct sl_place *p)
{
    char head[17], tail[17];

    snprintf(head, sizeof head, "%016llx", (unsigned long long)p->head);
    snprintf(tail, sizeof tail, "%016llx", (unsigned long long)p->tail);
    if (!p->path)
        return json_pack("{s:I, s:I, s:s}", "offset", (json_int_t)p->offset, "lines", (json_int_t)p->lines, "hash", head);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:s, s:I}", "path", p->path, "device", (json_int_t)p->device,
                     "inode", (json_int_t)p->inode, "offset", (json_int_t)p->offset, "lines", (json_int_t)p->lines,
                     "head", head, "headBytes", (json_int_t)p->head_n, "tail", tail, "tailBytes", (json_int_t)p->tail_n);
}

static int hex_member(const json_t *j, const char *name, uint64_t *out, sl_err *err)
{
    char digits[17], *end;
    sl_str text;

    SL_TRY(sl_json_str_req(j, name, &text, err));
    if (text.n != 16)
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" of a position is no hash", name);
    memcpy(digits, text.p, 16);
    digits[16] = '\0';
    *out = strtoull(digits, &end, 16);
    return *end ? sl_err_set(err, SL_ECORRUPT, "member \"%s\" of a position is no hash", name) : SL_OK;
}

static int count_member(const json_t *j, const char *name, int64_t max, uint64_t *out, sl_err *err)
{
    int64_t v;

    SL_TRY(sl_json_i64_req(j, name, &v, err));
    if (v < 0 || v > max)
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" of a position is out of range", name);
    *out = (uint64_t)v;
    return SL_OK;
}

int sl_place_from_json(const json_t *j, struct sl_place *out, sl_err *err)
{
    uint64_t head_n = 0, tail_n = 0;
    int64_t device = 0, inode = 0;
    sl_str path;

    memset(out, 0, sizeof *out);
    SL_TRY(count_member(j, "offset", INT64_MAX, &out->offset, err));
    SL_TRY(count_member(j, "lines", INT64_MAX, &out->lines, err));
    if (!sl_json_member(j, "path"))
        return hex_member(j, "hash", &out->head, err);
    SL_TRY(sl_json_str_req(j, "path", &path, err));
    SL_TRY(sl_json_i64_req(j, "device", &device, err));
    SL_TRY(sl_json_i64_req(j, "inode", &inode, err));
    SL_TRY(count_member(j, "headBytes", SL_PLACE_SAMPLE, &head_n, err));
    SL_TRY(count_member(j, "tailBytes", SL_PLACE_SAMPLE, &tail_n, err));
    SL_TRY(hex_member(j, "head", &out->head, err));
    SL_TRY(hex_member(j, "tail", &out->tail, err));
    out->device = (uint64_t)device;
    out->inode = (uint64_t)inode;
    out->head_n = (uint32_t)head_n;
    out->tail_n = (uint32_t)tail_n;
    out->path = sl_str_dup(path);
    return out->path ? SL_OK : sl_err_nomem(err);
}
