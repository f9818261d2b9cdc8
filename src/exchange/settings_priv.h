/*
 * settings_priv.h - what settings.c and watch.c share.
 */
#ifndef SL_EXCHANGE_SETTINGS_PRIV_H
#define SL_EXCHANGE_SETTINGS_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "exchange/settings.h"

struct sl_settings {
    char *path;           /* owned; NULL: none */
    pthread_mutex_t lock; /* one reading at a time */
    _Atomic int64_t v[SL_SETTING_COUNT];
    int stop; /* owned event, -1 without a watching thread */
    bool sighup;
    pthread_t thread;
};

void sl_settings_unwatch(struct sl_settings *s);

#endif
