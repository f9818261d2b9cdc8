/* The thread that reads the settings again: at SIGHUP, and when the file is another than before. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/settings_priv.h"

/* Where the system tells nothing of changes (network file systems), the file is looked at this often. */
enum { LOOK_MILLIS = 1000 };

/* Counted by the handler; each thread compares it with what it has seen. The pipe of a signal is its EINTR or the next look. */
static atomic_uint hangups;
static int hangup_event = -1;
static pthread_once_t hangup_once = PTHREAD_ONCE_INIT;

static void on_hangup(int number)
{
    int saved = errno;
    uint64_t one = 1;

    (void)number;
    atomic_fetch_add(&hangups, 1);
    if (write(hangup_event, &one, sizeof one) < 0)
        errno = saved; /* the counter is enough: the next look sees it */
    errno = saved;
}

static void install_hangup(void)
{
    struct sigaction a = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};

    hangup_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigemptyset(&a.sa_mask);
    sigaction(SIGHUP, &a, NULL);
}

struct mark {
    struct timespec time;
    off_t size;
    ino_t inode;
};

static struct mark mark_of(const char *path)
{
    struct stat st;
    struct mark m = {.size = -1};

    if (stat(path, &st) == 0)
        m = (struct mark){st.st_mtim, st.st_size, st.st_ino};
    return m;
}

static bool same(struct mark a, struct mark b)
{
    return a.time.tv_sec == b.time.tv_sec && a.time.tv_nsec == b.time.tv_nsec && a.size == b.size && a.inode == b.inode;
}

/* The folder, since editors and ConfigMaps put a new file in the old one's place. */
static int watch_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? sl_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : sl_strdup(".");
    int fd = folder ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;

    if (fd >= 0 && inotify_add_watch(fd, folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0) {
        close(fd);
        fd = -1;
    }
    sl_free(folder);
    return fd;
}

static void reload(struct sl_settings *s)
{
    sl_err err = SL_ERR_INIT;

    if (sl_settings_reload(s, &err) != SL_OK)
        sl_log(SL_LOG_WARN, "exchange", "the settings stay as they are: %s", err.text);
}

static void *watch(void *arg)
{
    struct sl_settings *s = arg;
    int changes = watch_folder(s->path);
    struct mark last = mark_of(s->path);
    unsigned seen = atomic_load(&hangups);
    char drain[4096];

    reload(s); /* what changed before the watch began */
    for (;;) {
        struct pollfd p[3] = {{s->stop, POLLIN, 0}, {changes, POLLIN, 0}, {s->sighup ? hangup_event : -1, POLLIN, 0}};

        poll(p, 3, LOOK_MILLIS);
        if (p[0].revents)
            break;
        if (p[1].revents && read(changes, drain, sizeof drain) < 0 && errno != EAGAIN)
            p[1].revents = 0;
        if (p[2].revents && read(hangup_event, drain, sizeof(uint64_t)) < 0)
            p[2].revents = 0; /* another node's thread was faster; the counter tells us all the same */
        struct mark now = mark_of(s->path);
        bool asked = s->sighup && atomic_load(&hangups) != seen;
        if (asked || !same(now, last)) {
            seen = atomic_load(&hangups);
            last = now;
            if (asked || now.size >= 0)
                reload(s);
        }
    }
    if (changes >= 0)
        close(changes);
    return NULL;
}

int sl_settings_watch(struct sl_settings *s, bool sighup, sl_err *err)
{
    if (!s->path)
        return SL_OK;
    s->sighup = sighup;
    if (sighup)
        pthread_once(&hangup_once, install_hangup);
    s->stop = eventfd(0, EFD_CLOEXEC);
    if (s->stop < 0)
        return sl_err_sys(err, errno, "cannot watch the settings in \"%s\"", s->path);
    int why = pthread_create(&s->thread, NULL, watch, s);
    if (why != 0) {
        close(s->stop);
        s->stop = -1;
        return sl_err_sys(err, why, "cannot watch the settings in \"%s\"", s->path);
    }
    return SL_OK;
}

void sl_settings_unwatch(struct sl_settings *s)
{
    uint64_t one = 1;

    if (s->stop < 0)
        return;
    if (write(s->stop, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(s->thread, NULL);
    close(s->stop);
    s->stop = -1;
}
