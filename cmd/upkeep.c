#include "upkeep.h"

#include <string.h>
#include <time.h>

sl_str cmd_str(const char *text)
{
    return (sl_str){text ? text : "", text ? strlen(text) : 0};
}

void cmd_time_text(int64_t millis, char out[32])
{
    time_t seconds = (time_t)(millis / 1000);
    struct tm tm;

    if (millis < 0 || !gmtime_r(&seconds, &tm) || strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, 32, "-");
}

static void show_progress(void *user, const char *doing, uint64_t done, uint64_t total)
{
    struct cmd_upkeep *u = user;

    if (total)
        cmd_progress_show(&u->progress, "%s: %llu of %llu", doing, (unsigned long long)done, (unsigned long long)total);
    else
        cmd_progress_show(&u->progress, "%s: %llu", doing, (unsigned long long)done);
}

static void show_file(void *user, const char *path, uint64_t bytes)
{
    struct cmd_upkeep *u = user;
    char size[32];

    if (!u->list)
        return;
    if (cmd_json_errors) {
        printf("%s{\"path\":", u->first ? "" : ",");
        cmd_print_json_string(stdout, path);
        printf(",\"bytes\":%llu}", (unsigned long long)bytes);
        u->first = false;
        return;
    }
    cmd_progress_clear();
    printf("%s %12s  %s\n", u->verb, cmd_size_text(bytes, size), path);
}

int cmd_upkeep_open(struct cmd_upkeep *u, const char *warehouse, sl_err *err)
{
    const struct sl_env_opts opts = {.warehouse = cmd_warehouse(warehouse)};

    u->first = true;
    u->progress.last_nanos = sl_mono_nanos(); /* short runs show none */
    u->verb = "removed";
    return sl_env_open(&opts, &u->env, err);
}

void cmd_upkeep_close(struct cmd_upkeep *u)
{
    cmd_progress_clear();
    sl_env_close(u->env);
    u->env = NULL;
}

struct sl_upkeep cmd_upkeep_common(struct cmd_upkeep *u, bool dry_run)
{
    if (dry_run)
        u->verb = "would remove";
    return (struct sl_upkeep){dry_run, show_progress, show_file, u};
}
