/* clean.c - sluice clean: remove orphans, files that nothing names. */
#include "upkeep.h"

static const char *const about =
    "Removes files in the folders of a table that no snapshot, tag or branch names: what\n"
    "writers have left that died before they could commit or tidy up. Files that were changed\n"
    "less than a day ago may belong to a writer at work and are left alone.";

static void print_report(const struct sl_clean_report *r, bool dry_run)
{
    char size[32];

    printf("%s %llu orphans, %s; of %llu files, %llu are named, %llu are not but are too young to touch\n",
           dry_run ? "Would remove" : "Removed", (unsigned long long)r->files, cmd_size_text(r->bytes, size),
           (unsigned long long)r->listed, (unsigned long long)r->named, (unsigned long long)r->young_files);
    if (r->folders)
        printf("Removed %llu empty folders\n", (unsigned long long)r->folders);
}

int cmd_clean(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL;
    uint64_t older_than = UINT64_MAX;
    bool dry_run = false, force = false, help;
    struct cmd_upkeep u = {.list = true};
    struct sl_clean_options o = SL_CLEAN_INIT;
    struct sl_clean_report report;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"older-than", 0, CMD_TIME, &older_than, "TIME", "Age of a file from which on it is cleaned (default: 1 d)."},
        {"force", 0, CMD_FLAG, &force, NULL,
         "Allow an age below one day. Only if nothing writes to the table, no other engine either."},
        {"dry-run", 'n', CMD_FLAG, &dry_run, NULL, "List what would be removed with its size, remove nothing."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"clean", "[OPTION...] TABLE", about, options,
                                  "sluice clean --dry-run flights\nsluice clean --older-than 7d flights"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 1, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    o.common = cmd_upkeep_common(&u, dry_run);
    o.has_older_than = older_than != UINT64_MAX;
    o.older_than = cmd_age(older_than);
    o.force = force;
    if (cmd_json_errors)
        printf("{\"dryRun\":%s,\"files\":[", dry_run ? "true" : "false");
    rc = sl_table_clean(u.env, cmd_str(argv[0]), &o, &report, err);
    cmd_progress_clear();
    if (cmd_json_errors)
        printf("],\"count\":%llu,\"bytes\":%llu,\"named\":%llu,\"young\":%llu,\"folders\":%llu}\n",
               (unsigned long long)report.files, (unsigned long long)report.bytes, (unsigned long long)report.named,
               (unsigned long long)report.young_files, (unsigned long long)report.folders);
    else if (rc == SL_OK)
        print_report(&report, dry_run);
    cmd_upkeep_close(&u);
    return rc;
}
