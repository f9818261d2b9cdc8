/* expire.c - sluice expire: remove old snapshots and the files that only they used. */
#include <string.h>

#include "upkeep.h"

static const char *const about =
    "Removes snapshots that are old enough, oldest first, and the files that nothing else\n"
    "uses. A file that is live in a snapshot that stays, in a tag or in a branch is never\n"
    "removed. Without options the table's own options count: snapshot.num-retained.min (10),\n"
    "snapshot.num-retained.max, snapshot.time-retained (1 h), snapshot.expire.limit (50).\n"
    "Snapshots that a reader has announced to need (a consumer) stay; consumers that have\n"
    "given no sign of life for too long do not count. Tags whose time to live is over go too.\n"
    "\n"
    "Of a log table the files of slices are removed that compaction has superseded, by\n"
    "hoodie.clean.policy and hoodie.clean.commits.retained (10). --retain-last N keeps what\n"
    "the newest N commits read, --older-than TIME what was the newest state within that time.";

static void print_json(const struct sl_expire_report *r, bool dry_run)
{
    printf("{\"dryRun\":%s,\"snapshots\":%lld,\"tags\":%lld,\"dataFiles\":%llu,\"manifests\":%llu,\"otherFiles\":%llu,"
           "\"bytes\":%llu,\"earliestBefore\":%lld,\"earliest\":%lld,\"latest\":%lld,\"deadConsumers\":%llu",
           dry_run ? "true" : "false", (long long)r->snapshots, (long long)r->tags, (unsigned long long)r->data_files,
           (unsigned long long)r->manifests, (unsigned long long)r->other_files, (unsigned long long)r->bytes,
           (long long)r->earliest_before, (long long)r->earliest_now, (long long)r->latest,
           (unsigned long long)r->dead_consumers);
    if (r->held_by_consumer) {
        printf(",\"heldBy\":{\"consumer\":");
        cmd_print_json_string(stdout, r->consumer);
        printf(",\"nextSnapshot\":%lld}", (long long)r->held_by_consumer);
    }
    printf("}\n");
}

static void print_log_text(const struct sl_expire_report *r, bool dry_run)
{
    char size[32];

    printf("%s %llu files of superseded slices: %s\n", dry_run ? "Would remove" : "Removed", (unsigned long long)r->data_files,
           cmd_size_text(r->bytes, size));
    printf("The table can be read as of the instants %lld to %lld.\n", (long long)r->earliest_now, (long long)r->latest);
    if (r->held_by_consumer)
        printf("The reader %s still reads as of %lld and later.\n", r->consumer, (long long)r->held_by_consumer);
    if (r->dead_consumers)
        printf("%llu readers have given no sign of life for too long and did not count.\n", (unsigned long long)r->dead_consumers);
}

static void print_text(const struct sl_expire_report *r, bool dry_run)
{
    char size[32];

    if (r->latest == 0) {
        printf("The table has no snapshots.\n");
        return;
    }
    if (r->log_table) {
        print_log_text(r, dry_run);
        return;
    }
    printf("%s %lld snapshots, %lld tags, %llu data files, %llu manifests, %llu other files: %s\n",
           dry_run ? "Would remove" : "Removed", (long long)r->snapshots, (long long)r->tags,
           (unsigned long long)r->data_files, (unsigned long long)r->manifests, (unsigned long long)r->other_files,
           cmd_size_text(r->bytes, size));
    printf("Snapshots %lld to %lld %s.\n", (long long)r->earliest_now, (long long)r->latest,
           dry_run ? "would stay" : "are left");
    if (r->held_by_consumer)
        printf("The consumer \"%s\" still wants snapshot %lld and later.\n", r->consumer, (long long)r->held_by_consumer);
    if (r->dead_consumers)
        printf("%llu consumers have given no sign of life for too long and did not count.\n",
               (unsigned long long)r->dead_consumers);
}

int cmd_expire(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL;
    uint64_t retain_last = 0, retain_most = 0, older_than = UINT64_MAX, limit = 0, consumer_age = 0;
    bool dry_run = false, all = false, help;
    struct cmd_upkeep u = {0};
    struct sl_expire_options o = SL_EXPIRE_INIT;
    struct sl_expire_report report;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"retain-last", 0, CMD_COUNT, &retain_last, "N", "Keep at least the newest N snapshots."},
        {"retain-max", 0, CMD_COUNT, &retain_most, "N", "Keep at most the newest N, however young the others are."},
        {"older-than", 0, CMD_TIME, &older_than, "TIME",
         "Remove only what was replaced longer ago, such as 6h, 7d; 0s: whatever its age."},
        {"limit", 0, CMD_COUNT, &limit, "N", "Remove at most N snapshots in one run."},
        {"no-limit", 0, CMD_FLAG, &all, NULL, "Remove as many as there are to remove."},
        {"consumer-age", 0, CMD_TIME, &consumer_age, "TIME",
         "Take consumers for dead that were not renewed for so long (default: table option consumer.expiration-time)."},
        {"dry-run", 'n', CMD_FLAG, &dry_run, NULL, "Say what would be removed, remove nothing."},
        {"list", 0, CMD_FLAG, &u.list, NULL, "Print each file that is removed."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"expire", "[OPTION...] TABLE", about, options,
                                  "sluice expire flights\nsluice expire --retain-last 1 --older-than 0s --dry-run flights"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 1, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    u.list = u.list && !cmd_json_errors;
    o.common = cmd_upkeep_common(&u, dry_run);
    o.retain_last = cmd_i64(retain_last);
    o.retain_most = cmd_i64(retain_most);
    o.has_older_than = older_than != UINT64_MAX;
    o.older_than = cmd_age(older_than);
    o.limit = all ? -1 : cmd_i64(limit);
    o.consumer_age = cmd_age(consumer_age);
    rc = sl_table_expire(u.env, cmd_str(argv[0]), &o, &report, err);
    cmd_progress_clear();
    if (rc == SL_OK && cmd_json_errors)
        print_json(&report, dry_run);
    else if (rc == SL_OK)
        print_text(&report, dry_run);
    cmd_upkeep_close(&u);
    return rc;
}
