#include "exchange/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/settings_priv.h"

enum { FILE_MAX = 1 << 20, FRAME_ROOM = 1024 }; /* FRAME_ROOM: what a response has beside its payload, as IoTDB counts */

static const struct {
    const char *name, *standard;
    int64_t least, most;
    bool hot;
} defs[SL_SETTING_COUNT] = {
#define SL_SETTING(id, name, standard, least, most, hot) [id] = {name, standard, least, most, hot},
#include "exchange/settings.def"
#undef SL_SETTING
};

/* "4,194,304": commas, if any, stand before every three digits. Saturates. False if it is no number. */
static bool parse_number(sl_str s, int64_t *out)
{
    bool negative = s.n && s.p[0] == '-', grouped = memchr(s.p ? s.p : "", ',', s.n) != NULL;
    uint64_t v = 0;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = sl_str_sub(s, 1, s.n);
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool comma_here = grouped && (s.n - i) % 4 == 0;

        if (comma_here ? s.p[i] != ',' || i == 0 : s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (!comma_here && v <= INT64_MAX / 10)
            v = v * 10 + (uint64_t)(s.p[i] - '0');
        else if (!comma_here)
            v = INT64_MAX;
        v = v > INT64_MAX ? INT64_MAX : v;
    }
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

static bool parse_value(enum sl_setting which, sl_str text, int64_t *out)
{
    if (which == SL_SET_COMPACT) {
        *out = sl_str_ieqc(text, "true");
        return *out || sl_str_ieqc(text, "false");
    }
    return parse_number(text, out);
}

static int64_t standard(enum sl_setting which)
{
    int64_t v = 0;

    parse_value(which, sl_str_c(defs[which].standard), &v);
    return v;
}

/* ---- one reading of the file ---- */

struct reading {
    const char *path;
    int64_t v[SL_SETTING_COUNT];
    size_t line[SL_SETTING_COUNT]; /* 0: not in the file */
};

static void warn(const struct reading *r, enum sl_setting which, const char *fmt, ...) SL_PRINTF(3, 4);
static void warn(const struct reading *r, enum sl_setting which, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sl_log(SL_LOG_WARN, "exchange", "\"%s\", line %zu: %s %s", r->path, r->line[which], defs[which].name, text);
}

static void take_value(struct reading *r, enum sl_setting which, size_t line, sl_str text)
{
    int64_t v;

    r->line[which] = line;
    if (!parse_value(which, text, &v)) {
        warn(r, which, "has \"" SL_STRF "\", which is no %s; %" PRId64 " stays in force", SL_STRV(text),
             which == SL_SET_COMPACT ? "true or false" : "number", r->v[which]);
    } else if (v < defs[which].least) {
        r->v[which] = standard(which);
        if (which != SL_SET_MAX_FRAME || v != 0) /* IoTDB's way to ask for the default */
            warn(r, which, "is %" PRId64 ", less than %" PRId64 "; the default %s is taken", v, defs[which].least, defs[which].standard);
    } else if (v > defs[which].most) {
        r->v[which] = defs[which].most;
        warn(r, which, "is %" PRId64 ", clamped to %" PRId64, v, defs[which].most);
    } else {
        r->v[which] = v;
    }
}

/* `name = value`, as in Java's properties; a '#' or '!' begins a comment line. */
static void take_line(struct reading *r, size_t number, sl_str line)
{
    line = sl_str_trim(line);
    if (line.n == 0 || line.p[0] == '#' || line.p[0] == '!')
        return;
    size_t n = 0;
    while (n < line.n && !strchr("=: \t", line.p[n]))
        n++;
    sl_str name = sl_str_sub(line, 0, n), value = sl_str_trim(sl_str_sub(line, n, line.n));
    if (value.n && (value.p[0] == '=' || value.p[0] == ':'))
        value = sl_str_trim(sl_str_sub(value, 1, value.n));
    for (int i = 0; i < SL_SETTING_COUNT; i++)
        if (sl_str_eqc(name, defs[i].name))
            take_value(r, (enum sl_setting)i, number, value);
}

static int read_whole(const char *path, struct sl_buf *out, sl_err *err)
{
    int rc = SL_OK, fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return sl_err_sys(err, errno, "cannot read the settings in \"%s\"", path);
    for (;;) {
        char *room = sl_buf_room(out, 4096);
        ssize_t n = room ? read(fd, room, 4096) : 0;

        if (!room)
            rc = sl_err_nomem(err);
        else if (n < 0 && errno != EINTR)
            rc = sl_err_sys(err, errno, "cannot read the settings in \"%s\"", path);
        else if (out->n > FILE_MAX)
            rc = sl_err_set(err, SL_EINPUT, "\"%s\" is larger than settings ever are", path);
        if (rc != SL_OK || n == 0)
            break;
        out->n += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return rc;
}

static void take_lines(struct reading *r, sl_str text)
{
    size_t number = 0;

    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;

        take_line(r, ++number, sl_str_sub(text, 0, n));
        text = sl_str_sub(text, n + 1, text.n);
    }
}

/* ---- what is in force ---- */

static void clamp_payload(struct reading *r)
{
    int64_t most = r->v[SL_SET_MAX_FRAME] - FRAME_ROOM;

    if (r->v[SL_SET_MAX_PAYLOAD] <= most)
        return;
    warn(r, SL_SET_MAX_PAYLOAD, "is %" PRId64 ", clamped to %" PRId64 ": a frame has %" PRId64 " bytes", r->v[SL_SET_MAX_PAYLOAD], most,
         r->v[SL_SET_MAX_FRAME]);
    r->v[SL_SET_MAX_PAYLOAD] = most;
}

/* What the next reading begins with: a property that is gone has its default again, one that reads badly stays. */
static void read_lines(struct sl_settings *s, struct reading *r, sl_str text)
{
    for (int i = 0; i < SL_SETTING_COUNT; i++)
        r->v[i] = atomic_load(&s->v[i]);
    take_lines(r, text);
    for (int i = 0; i < SL_SETTING_COUNT; i++)
        if (r->line[i] == 0)
            r->v[i] = standard((enum sl_setting)i);
}

static void put_in_force(struct sl_settings *s, struct reading *r, bool first)
{
    for (int i = 0; i < SL_SETTING_COUNT && !first; i++) {
        int64_t old = atomic_load(&s->v[i]);

        if (defs[i].hot || old == r->v[i])
            continue;
        warn(r, (enum sl_setting)i, "is now %" PRId64 ", which takes effect at the next start", r->v[i]);
        r->v[i] = old;
    }
    clamp_payload(r);
    for (int i = 0; i < SL_SETTING_COUNT; i++) {
        if (!first && atomic_load(&s->v[i]) != r->v[i])
            sl_log(SL_LOG_INFO, "exchange", "\"%s\": %s is now %" PRId64, s->path, defs[i].name, r->v[i]);
        atomic_store(&s->v[i], r->v[i]);
    }
}

static int load(struct sl_settings *s, bool first, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    struct reading r = {.path = s->path};
    int rc = SL_OK;

    if (s->path)
        rc = read_whole(s->path, &text, err);
    if (rc == SL_OK) {
        pthread_mutex_lock(&s->lock);
        read_lines(s, &r, sl_buf_view(&text));
        put_in_force(s, &r, first);
        pthread_mutex_unlock(&s->lock);
    }
    sl_buf_release(&text);
    return rc;
}

int sl_settings_open(const char *path, struct sl_settings **out, sl_err *err)
{
    struct sl_settings *s = sl_calloc(1, sizeof *s);
    int rc = SL_OK;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    s->stop = -1;
    pthread_mutex_init(&s->lock, NULL);
    for (int i = 0; i < SL_SETTING_COUNT; i++)
        atomic_init(&s->v[i], standard((enum sl_setting)i));
    if (path) {
        s->path = sl_strdup(path);
        if (!s->path)
            SL_GOTO_NOMEM(err);
        SL_GO(load(s, true, err));
    }
    *out = s;
    s = NULL;
done:
    sl_settings_close(s);
    return rc;
}

int sl_settings_reload(struct sl_settings *s, sl_err *err)
{
    return s->path ? load(s, false, err) : SL_OK;
}

void sl_settings_close(struct sl_settings *s)
{
    if (!s)
        return;
    sl_settings_unwatch(s);
    pthread_mutex_destroy(&s->lock);
    sl_free(s->path);
    sl_free(s);
}

int64_t sl_settings_get(const struct sl_settings *s, enum sl_setting which)
{
    return atomic_load_explicit(&s->v[which], memory_order_relaxed);
}

uint64_t sl_settings_max_payload(const struct sl_settings *s)
{
    return (uint64_t)sl_settings_get(s, SL_SET_MAX_PAYLOAD);
}
