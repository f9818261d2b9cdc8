/*
 * settings.h - the settings of the exchange by IoTDB's names, from a properties file that is read again when it changes.
 *
 * Numbers may have digit groups with commas. What is too large is clamped, what is too small becomes the default, and what is no number leaves
 * the value in force: each with a warning in the log that names file, line and property. Any thread.
 */
#ifndef SL_EXCHANGE_SETTINGS_H
#define SL_EXCHANGE_SETTINGS_H

#include "base/str.h"

enum sl_setting {
#define SL_SETTING(id, name, standard, least, most, hot) id,
#include "exchange/settings.def"
#undef SL_SETTING
    SL_SETTING_COUNT
};

struct sl_settings;

/* PATH NULL: the defaults, for ever. A file that is missing is SL_ENOTFOUND here, and only a warning later. */
int sl_settings_open(const char *path, struct sl_settings **out, sl_err *err) SL_WUR;
/* A thread that reads the file again when it changes and, if asked for, at SIGHUP, for which it installs a handler. */
int sl_settings_watch(struct sl_settings *s, bool sighup, sl_err *err) SL_WUR;
int sl_settings_reload(struct sl_settings *s, sl_err *err) SL_WUR;
void sl_settings_close(struct sl_settings *s); /* NULL is fine */

int64_t sl_settings_get(const struct sl_settings *s, enum sl_setting which);
/* Of one response; never more than fits a frame. */
uint64_t sl_settings_max_payload(const struct sl_settings *s);

#endif
