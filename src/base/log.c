#include "base/sys.h"

#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sl_log_fn *sink;
static void *sink_user;

void sl_log_sink(sl_log_fn *fn, void *user)
{
    pthread_mutex_lock(&lock);
    sink = fn;
    sink_user = user;
    pthread_mutex_unlock(&lock);
}

void sl_log(enum sl_level level, const char *area, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lock);
    if (sink)
        sink(level, area, text, sink_user);
    pthread_mutex_unlock(&lock);
}
