#include "base/sys.h"

#ifdef SL_FAILPOINTS

#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum action { FAIL, EXIT, SLEEP, STOP };
enum { POINTS_MAX = 16, EXIT_STATUS = 99 };

static struct point {
    sl_str name; /* borrowed from the environment */
    uint64_t nth; /* acts at this hit; 0 = at every one */
    enum action action;
    uint64_t millis;
    atomic_ullong hits;
} points[POINTS_MAX];
static size_t point_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void bad(sl_str text)
{
    fprintf(stderr, "SLUICE_FAILPOINT: cannot read \"" SL_STRF "\": name[:n]=error|exit|stop|sleep=MS\n", SL_STRV(text));
    abort();
}

static void add_point(sl_str text)
{
    struct point *p = &points[point_count];
    ptrdiff_t eq = sl_str_find(text, SL_LIT("="));

    if (eq <= 0 || point_count == POINTS_MAX)
        bad(text);
    sl_str what = sl_str_sub(text, (size_t)eq + 1, text.n);
    p->name = sl_str_sub(text, 0, (size_t)eq);
    p->nth = 1;
    ptrdiff_t colon = sl_str_find(p->name, SL_LIT(":"));
    if (colon >= 0) {
        if (!sl_parse_u64(sl_str_sub(p->name, (size_t)colon + 1, p->name.n), &p->nth))
            bad(text);
        p->name = sl_str_sub(p->name, 0, (size_t)colon);
    }
    if (sl_str_eqc(what, "error"))
        p->action = FAIL;
    else if (sl_str_eqc(what, "exit"))
        p->action = EXIT;
    else if (sl_str_eqc(what, "stop"))
        p->action = STOP;
    else if (sl_str_starts(what, "sleep=") && sl_parse_u64(sl_str_sub(what, 6, what.n), &p->millis))
        p->action = SLEEP;
    else
        bad(text);
    point_count++;
}

static void read_environment(void)
{
    sl_str text = sl_str_c(getenv("SLUICE_FAILPOINT"));

    while (text.n) {
        ptrdiff_t comma = sl_str_find(text, SL_LIT(","));
        size_t n = comma < 0 ? text.n : (size_t)comma;

        add_point(sl_str_sub(text, 0, n));
        text = sl_str_sub(text, n + 1, text.n);
    }
}

int sl_failpoint(const char *name, sl_err *err)
{
    pthread_once(&once, read_environment);
    for (size_t i = 0; i < point_count; i++) {
        struct point *p = &points[i];

        if (!sl_str_eqc(p->name, name))
            continue;
        uint64_t hit = atomic_fetch_add(&p->hits, 1) + 1;
        if (p->nth != 0 && hit != p->nth)
            continue;
        if (p->action == EXIT)
            _exit(EXIT_STATUS);
        if (p->action == FAIL)
            return sl_err_set(err, SL_EIO, "failpoint \"%s\"", name);
        if (p->action == STOP)
            raise(SIGSTOP);
        else
            usleep((useconds_t)(p->millis * 1000));
    }
    return SL_OK;
}

#endif
