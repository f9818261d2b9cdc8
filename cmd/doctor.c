/* doctor.c - sluice doctor: what the file system under a warehouse promises. */
#include <string.h>

#include "cmd.h"

static const char *const about =
    "Tries out, in a temporary folder under DIR, what the file system there does, and\n"
    "says what that means for tables. Exit status 0 if tables are safe there, 13 if not.";

static const char *yes(bool v)
{
    return v ? "yes" : "NO";
}

static bool publishes(const struct sl_doctor *d)
{
    return d->link_new || d->rename_noreplace;
}

static bool is_safe(const struct sl_doctor *d)
{
    return d->fsync_file && publishes(d);
}

/* Calls FN with each thing to know about; the same for text and JSON. */
static void each_warning(const struct sl_doctor *d, void (*fn)(const char *text, bool first))
{
    const struct {
        bool applies;
        const char *text;
    } all[] = {
        {!publishes(d), "a name cannot be given only if it is free: two writers could overwrite each other's commits"},
        {!d->fsync_file, "files cannot be synced to disk: a power loss may lose commits"},
        {!d->fsync_dir, "folders cannot be synced to disk: a power loss may lose the newest commits"},
        {!d->ofd_lock, "locks do not work: concurrent commits are slower, and maintenance cannot tell who is at work"},
        {d->network, "a network or FUSE file system: whether a synced file survives depends on the server"},
        {d->overlay, "an overlay file system, as in containers: it goes away with the container unless it is a volume"},
        {strcmp(d->fs_type, "tmpfs") == 0, "a file system in memory: nothing survives a restart of the machine"},
        {!d->case_sensitive, "names that differ only in case are the same file: so are such partitions and tables"},
        {d->total_bytes && d->free_bytes < d->total_bytes / 20, "less than 5 % of the space is free"},
    };
    bool first = true;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].applies)
            continue;
        fn(all[i].text, first);
        first = false;
    }
}

static void text_warning(const char *text, bool first)
{
    printf("%swarning: %s\n", first ? "\n" : "", text);
}

static void json_warning(const char *text, bool first)
{
    if (!first)
        putchar(',');
    cmd_print_json_string(stdout, text);
}

static void print_text(const char *dir, const struct sl_doctor *d)
{
    char free_text[32], total_text[32];

    printf("folder                          %s\n", dir);
    printf("file system                     %s%s%s\n", d->fs_type, d->network ? ", network" : "",
           d->overlay ? ", overlay" : "");
    printf("free space                      %s of %s\n", cmd_size_text(d->free_bytes, free_text),
           cmd_size_text(d->total_bytes, total_text));
    printf("sync of files                   %s, %.2f ms for 4 KiB\n", yes(d->fsync_file), d->fsync_millis);
    printf("sync of folders                 %s\n", yes(d->fsync_dir));
    printf("link only if the name is free   %s\n", yes(d->link_new));
    printf("rename without replacing        %s\n", yes(d->rename_noreplace));
    printf("locks freed with their process  %s\n", yes(d->ofd_lock));
    printf("case of names matters           %s\n", yes(d->case_sensitive));
    each_warning(d, text_warning);
    printf("\n%s\n", is_safe(d) ? "Tables are safe here." : "Tables are NOT safe here.");
}

static const char *json_bool(bool v)
{
    return v ? "true" : "false";
}

static void print_json(const char *dir, const struct sl_doctor *d)
{
    printf("{\"folder\":");
    cmd_print_json_string(stdout, dir);
    printf(",\"fileSystem\":");
    cmd_print_json_string(stdout, d->fs_type);
    printf(",\"network\":%s,\"overlay\":%s,\"freeBytes\":%llu,\"totalBytes\":%llu,\"syncFile\":%s,\"syncFolder\":%s,"
           "\"syncMillis\":%.3f,\"linkNew\":%s,\"renameNoReplace\":%s,\"locks\":%s,\"caseSensitive\":%s,\"warnings\":[",
           json_bool(d->network), json_bool(d->overlay), (unsigned long long)d->free_bytes,
           (unsigned long long)d->total_bytes, json_bool(d->fsync_file), json_bool(d->fsync_dir), d->fsync_millis,
           json_bool(d->link_new), json_bool(d->rename_noreplace), json_bool(d->ofd_lock),
           json_bool(d->case_sensitive));
    each_warning(d, json_warning);
    printf("],\"safe\":%s}\n", json_bool(is_safe(d)));
}

int cmd_doctor(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL;
    struct sl_doctor found;
    int operands;
    bool help;
    const struct cmd_option options[] = {CMD_OPTION_WAREHOUSE(warehouse), CMD_OPTION_JSON, CMD_OPTION_END};
    const struct cmd_spec spec = {"doctor", "[DIR]", about, options,
                                  "sluice doctor /data/warehouse\nsluice doctor --json . | jq .safe"};

    int rc = cmd_parse(&spec, argc, argv, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    rc = cmd_operands(&spec, operands, 0, 1, err);
    if (rc != SL_OK)
        return rc;
    const char *dir = operands ? argv[0] : cmd_warehouse(warehouse);
    rc = sl_store_doctor((sl_str){dir, strlen(dir)}, &found, err);
    if (rc == SL_ENOTFOUND)
        sl_err_hint(err, "make the folder first, or name one: sluice doctor DIR");
    if (rc != SL_OK)
        return rc;
    if (cmd_json_errors)
        print_json(dir, &found);
    else
        print_text(dir, &found);
    if (!is_safe(&found))
        return sl_err_set(err, SL_EUNSOUND, "tables are not safe in \"%s\"", dir);
    return SL_OK;
}
