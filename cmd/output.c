#include "cmd.h"

#include <string.h>

void cmd_print_json_string(FILE *f, const char *text)
{
    char *quoted;

    if (!text) {
        fputs("null", f);
        return;
    }
    quoted = sl_json_quote((sl_str){text, strlen(text)});
    fputs(quoted ? quoted : "null", f);
    sl_free(quoted);
}

const char *cmd_size_text(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int unit = -1;

    while (v >= 1024 && unit < 5) {
        v /= 1024;
        unit++;
    }
    if (unit < 0)
        snprintf(out, 32, "%u bytes", (unsigned)bytes);
    else
        snprintf(out, 32, "%.1f %s", v, units[unit]);
    return out;
}
