/*
 * java_time.h - date and time patterns with the meaning they have in Java's formatters.
 *
 * Letters: y u year, M L month, d day, D day of the year, H k hour of the day, h K hour of the half
 * day, a its half, m minute, s second, S fraction, E weekday, Q quarter; 'text' and '' as in Java.
 * Others are refused by name. Names are English. Pure functions.
 */
#ifndef SL_SQL_JAVA_TIME_H
#define SL_SQL_JAVA_TIME_H

#include "base/str.h"

enum { SL_JAVA_ITEMS = 64 };

struct sl_java_pattern {
    struct sl_java_item {
        char letter;   /* 0: the literal byte */
        uint8_t count; /* how often the letter stands */
        char byte;
    } v[SL_JAVA_ITEMS];
    size_t n;
};

/* SL_EINPUT; the error's offset is relative to PATTERN. */
int sl_java_pattern_parse(sl_str pattern, struct sl_java_pattern *out, sl_err *err) SL_WUR;

/* The pattern of DuckDB's strftime that gives the same text for every timestamp; false if there is
 * none. */
bool sl_java_pattern_native(const struct sl_java_pattern *p, struct sl_buf *out);

void sl_java_format(const struct sl_java_pattern *p, int64_t micros, struct sl_buf *out);

/* All of TEXT must match. Parts that the pattern does not have are those of 1970-01-01 00:00:00.
 * SL_EINPUT. */
int sl_java_parse(const struct sl_java_pattern *p, sl_str text, int64_t *micros,
                  sl_err *err) SL_WUR;

#endif
