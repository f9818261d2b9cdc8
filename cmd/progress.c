/* progress.c - one updating line on a terminal, plain lines elsewhere. */
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd.h"

static bool line_shown; /* a line without its end stands on the terminal */

static bool on_terminal(void)
{
    static int known = -1;

    if (known < 0)
        known = isatty(STDERR_FILENO);
    return known == 1;
}

static int terminal_columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cmd_progress_clear(void)
{
    if (line_shown)
        fputs("\r\033[K", stderr);
    line_shown = false;
}

bool cmd_progress_due(const struct cmd_progress *p)
{
    const int64_t pause = on_terminal() ? 100000000 : 5000000000;

    return !p->off && sl_mono_nanos() - p->last_nanos >= pause;
}

static void show(struct cmd_progress *p, const char *fmt, va_list ap, bool last)
{
    char text[512];

    p->last_nanos = sl_mono_nanos();
    vsnprintf(text, sizeof text, fmt, ap);
    cmd_progress_clear();
    if (on_terminal() && !last) {
        fprintf(stderr, "%.*s", terminal_columns() - 1, text);
        line_shown = true;
    } else {
        fprintf(stderr, "%s\n", text);
    }
    fflush(stderr);
}

void cmd_progress_show(struct cmd_progress *p, const char *fmt, ...)
{
    va_list ap;

    if (!cmd_progress_due(p))
        return;
    va_start(ap, fmt);
    show(p, fmt, ap, false);
    va_end(ap);
}

void cmd_progress_last(struct cmd_progress *p, const char *fmt, ...)
{
    va_list ap;

    if (p->off)
        return;
    va_start(ap, fmt);
    show(p, fmt, ap, true);
    va_end(ap);
}
