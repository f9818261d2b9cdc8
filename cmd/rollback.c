/* rollback.c - sluice rollback: make an older snapshot the latest again. */
#include "upkeep.h"

static const char *const about =
    "Removes the snapshots after the one given, newest first, and the files that only they\n"
    "used, so that the table is again what it was. This cannot be undone. Ids of the snapshots\n"
    "that go are used again by later commits. Streams that had loaded rows after the target\n"
    "go on from the position that the target knows.\n"
    "Of a log table --snapshot is an instant (17 digits); without it only what writers left\n"
    "that died is rolled back, which the next writer would do too.";

static void print_report(const struct sl_rollback_report *r, bool dry_run)
{
    char size[32];

    if (cmd_json_errors) {
        printf("{\"dryRun\":%s,\"latestBefore\":%lld,\"latest\":%lld,\"snapshots\":%lld,\"tags\":%lld,\"rowsBefore\":%lld,"
               "\"rows\":%lld,\"dataFiles\":%llu,\"otherFiles\":%llu,\"bytes\":%llu}\n",
               dry_run ? "true" : "false", (long long)r->latest_before, (long long)r->latest_now, (long long)r->snapshots,
               (long long)r->tags, (long long)r->rows_before, (long long)r->rows_now, (unsigned long long)r->data_files,
               (unsigned long long)r->other_files, (unsigned long long)r->bytes);
        return;
    }
    printf("%s from snapshot %lld (%lld rows) to %lld (%lld rows): %s %lld snapshots, %lld tags, %llu data files, "
           "%llu other files, %s\n",
           dry_run ? "Would roll back" : "Rolled back", (long long)r->latest_before, (long long)r->rows_before,
           (long long)r->latest_now, (long long)r->rows_now, dry_run ? "would remove" : "removed",
           (long long)r->snapshots, (long long)r->tags, (unsigned long long)r->data_files,
           (unsigned long long)r->other_files, cmd_size_text(r->bytes, size));
}

int cmd_rollback(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL, *tag = NULL;
    uint64_t snapshot = 0;
    bool dry_run = false, drop_tags = false, force = false, help;
    struct cmd_upkeep u = {0};
    struct sl_rollback_options o = SL_ROLLBACK_INIT;
    struct sl_rollback_report report;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"snapshot", 's', CMD_COUNT, &snapshot, "ID", "The snapshot to go back to."},
        {"tag", 't', CMD_TEXT, &tag, "NAME", "The tag to go back to, also if its snapshot has expired."},
        {"drop-tags", 0, CMD_FLAG, &drop_tags, NULL, "Delete tags of snapshots that go, instead of refusing."},
        {"force", 0, CMD_FLAG, &force, NULL, "Log tables: shut out a writer that holds the table and does not let go."},
        {"dry-run", 'n', CMD_FLAG, &dry_run, NULL, "Say what would be removed, change nothing."},
        {"list", 0, CMD_FLAG, &u.list, NULL, "Print each file that is removed."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"rollback", "[OPTION...] TABLE", about, options,
                                  "sluice rollback --snapshot 12 flights\nsluice rollback --tag before-update flights"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 1, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    u.list = u.list && !cmd_json_errors;
    o.common = cmd_upkeep_common(&u, dry_run);
    o.snapshot = cmd_i64(snapshot);
    o.tag = cmd_str(tag);
    o.drop_tags = drop_tags;
    o.force = force;
    rc = sl_table_rollback(u.env, cmd_str(argv[0]), &o, &report, err);
    cmd_progress_clear();
    if (rc == SL_OK)
        print_report(&report, dry_run);
    cmd_upkeep_close(&u);
    return rc;
}
