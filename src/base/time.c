#include "base/sys.h"

#include <stdlib.h>
#include <time.h>

int64_t sl_now_millis(void)
{
    struct timespec t;
#ifdef SL_FAILPOINTS
    const char *fake = getenv("SLUICE_FAKE_NOW");
    int64_t v;

    if (fake && sl_parse_i64(sl_str_c(fake), &v))
        return v;
#endif
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t sl_now_local_millis(void)
{
    int64_t now = sl_now_millis();
    time_t seconds = (time_t)(now / 1000);
    struct tm tm;

    if (!localtime_r(&seconds, &tm))
        return now;
    return now + (int64_t)tm.tm_gmtoff * 1000;
}

int64_t sl_mono_nanos(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void sl_sleep_millis(int64_t ms)
{
    const int64_t slice = 20;
    int64_t end = sl_mono_nanos() + ms * 1000000;

    while (!sl_cancelled()) {
        int64_t left = end - sl_mono_nanos();

        if (left <= 0)
            return;
        if (left > slice * 1000000)
            left = slice * 1000000;
        struct timespec t = {0, (long)left};
        nanosleep(&t, NULL);
    }
}

/* Years start in March here, so that the leap day is the last of its year; eras are 400 years of 146,097 days. */
int64_t sl_civil_to_days(int64_t y, int m, int d)
{
    int64_t year = m > 2 ? y : y - 1;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t day = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
}

void sl_days_to_civil(int64_t days, int64_t *y, int *m, int *d)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t day = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day + 2) / 153;

    *d = (int)(day - (153 * month + 2) / 5 + 1);
    *m = (int)(month < 10 ? month + 3 : month - 9);
    *y = year + era * 400 + (*m <= 2);
}
