/* reader.c - readers that announce themselves as consumers, so that expiry keeps what they read. */
#include "table/append/snapshots.h"

#include <errno.h>
#include <time.h>

#include "table/append/append_priv.h"

struct sl_reader {
    struct sl_store *store; /* borrowed */
    struct sl_buf path;    /* of the file that announces it */
    struct sl_buf text;
    struct sl_reader *next;
    int64_t written_at;    /* monotonic nanoseconds */
};

/* One thread renews all of the process; it runs only while there are readers. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sl_reader *first;
    bool running;
} beat = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static int announce(struct sl_reader *r, sl_err *err)
{
    r->written_at = sl_mono_nanos();
    return sl_store_put_hint(r->store, sl_buf_view(&r->path), sl_buf_view(&r->text), err);
}

static void *renew(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&beat.lock);
    while (beat.first) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += SL_READER_HEARTBEAT_MILLIS / 1000 / 2;
        pthread_cond_timedwait(&beat.wake, &beat.lock, &until);
        for (struct sl_reader *r = beat.first; r; r = r->next)
            if (sl_mono_nanos() - r->written_at >= (int64_t)SL_READER_HEARTBEAT_MILLIS * 1000000)
                (void)!announce(r, NULL);
    }
    beat.running = false;
    pthread_mutex_unlock(&beat.lock);
    return NULL;
}

/* Called with the lock held. Without a thread the file only grows old, which expiry forgives for a while. */
static void start_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    if (beat.running || pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    beat.running = pthread_create(&thread, &attr, renew, NULL) == 0;
    pthread_attr_destroy(&attr);
}

int sl_reader_announce(struct sl_store *store, const char *prefix, const char *text, struct sl_reader **out, sl_err *err)
{
    struct sl_reader *r = sl_calloc(1, sizeof *r);
    char uuid[37];
    int rc;

    *out = NULL;
    if (!r)
        return sl_err_nomem(err);
    sl_uuid(uuid);
    r->store = store;
    sl_buf_printf(&r->path, "%s%s", prefix, uuid);
    sl_buf_addc(&r->text, text);
    SL_GO(sl_buf_ok(&r->path, err));
    SL_GO(sl_buf_ok(&r->text, err));
    if (announce(r, NULL) != SL_OK)
        goto done; /* a table that cannot be written is read without */
    pthread_mutex_lock(&beat.lock);
    r->next = beat.first;
    beat.first = r;
    start_thread();
    pthread_mutex_unlock(&beat.lock);
    *out = r;
    r = NULL;
done:
    if (r) {
        sl_buf_release(&r->path);
        sl_buf_release(&r->text);
        sl_free(r);
    }
    return rc;
}

int sl_reader_begin(struct sl_append *t, int64_t snapshot_id, struct sl_reader **out, sl_err *err)
{
    struct sl_buf prefix = SL_BUF_INIT;
    char text[60];
    int rc;

    *out = NULL;
    snprintf(text, sizeof text, "{\"nextSnapshot\":%lld}", (long long)snapshot_id);
    sl_buf_printf(&prefix, "%sconsumer/" SL_READER_PREFIX, t->meta);
    rc = sl_buf_ok(&prefix, err);
    if (rc == SL_OK)
        rc = sl_reader_announce(t->store, prefix.p, text, out, err);
    sl_buf_release(&prefix);
    return rc;
}

void sl_reader_end(struct sl_reader *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&beat.lock);
    for (struct sl_reader **at = &beat.first; *at; at = &(*at)->next) {
        if (*at == r) {
            *at = r->next;
            break;
        }
    }
    if (!beat.first)
        pthread_cond_signal(&beat.wake);
    pthread_mutex_unlock(&beat.lock);
    (void)!sl_store_remove(r->store, sl_buf_view(&r->path), NULL);
    sl_buf_release(&r->path);
    sl_buf_release(&r->text);
    sl_free(r);
}
