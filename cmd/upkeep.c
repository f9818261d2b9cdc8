#include "upkeep.h"

#include <string.h>
#include <time.h>

int64_t cmd_i64(uint64_t n)
{
    return (int64_t)(n < INT64_MAX ? n : INT64_MAX);
}

int64_t cmd_age(uint64_t millis)
{
    return (int64_t)(millis < INT64_MAX / 2 ? millis : INT64_MAX / 2);
}

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

int cmd_upkeep_start(struct cmd_upkeep *u, const struct cmd_spec *spec, int argc, char **argv, int min, int max,
                     const char *const *warehouse, int *operands, bool *help, sl_err *err)
{
    struct sl_env_opts opts = {0};
    int rc = cmd_parse(spec, argc, argv, operands, help, err);

    if (rc != SL_OK || *help)
        return rc;
    rc = cmd_operands(spec, *operands, min, max, err);
    if (rc != SL_OK)
        return rc;
    u->first = true;
    u->progress.last_nanos = sl_mono_nanos(); /* short runs show none */
    u->verb = "removed";
    opts.warehouse = cmd_warehouse(*warehouse);
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
