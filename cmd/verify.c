/* verify.c - sluice verify: check every reference, size, count and statistic of a table. */
#include "upkeep.h"

static const char *const about =
    "Checks everything that every snapshot, tag and branch of a table names: that the files\n"
    "are there with their exact sizes and can be decoded, that counts, totals, partition bounds\n"
    "and Parquet footers agree, that deletes match what they delete. Says what is wrong, where,\n"
    "and what is safe to do. Exit status 0 if the table is sound, 13 if not.";

static void print_finding(void *user, const struct sl_finding *f)
{
    (void)user;
    cmd_progress_clear();
    if (cmd_json_errors) {
        printf("{\"severity\":\"%s\",\"kind\":", f->severity == SL_FINDING_DAMAGE ? "damage" : "harmless");
        cmd_print_json_string(stdout, f->kind);
        printf(",\"where\":");
        cmd_print_json_string(stdout, f->where);
        printf(",\"namedBy\":");
        cmd_print_json_string(stdout, f->named_by);
        printf(",\"text\":");
        cmd_print_json_string(stdout, f->text);
        printf(",\"advice\":");
        cmd_print_json_string(stdout, f->advice);
        printf(",\"repaired\":%s}\n", f->repaired ? "true" : "false");
        return;
    }
    printf("%s: %s%s%s\n", f->repaired ? "repaired" : f->severity == SL_FINDING_DAMAGE ? "DAMAGE" : "harmless", f->where,
           f->where[0] ? ": " : "", f->text);
    if (f->named_by[0])
        printf("  named by %s\n", f->named_by);
    if (!f->repaired)
        printf("  safe to do: %s\n", f->advice);
}

static void print_log_report(const struct sl_verify_report *r, int rc)
{
    char size[32];

    if (cmd_json_errors) {
        printf("{\"sound\":%s,\"damage\":%llu,\"harmless\":%llu,\"instants\":%llu,\"dataFiles\":%llu,\"rows\":%llu,"
               "\"bytes\":%llu,\"logOnlyKeys\":%llu}\n",
               rc == SL_OK ? "true" : "false", (unsigned long long)r->damage, (unsigned long long)r->harmless,
               (unsigned long long)r->snapshots, (unsigned long long)r->data_files, (unsigned long long)r->rows,
               (unsigned long long)r->bytes, (unsigned long long)r->log_only_keys);
        return;
    }
    printf("Checked %llu instants, %llu files with %llu rows in base files, %s.\n", (unsigned long long)r->snapshots,
           (unsigned long long)r->data_files, (unsigned long long)r->rows, cmd_size_text(r->bytes, size));
    if (r->harmless)
        printf("%llu harmless things are left.\n", (unsigned long long)r->harmless);
    if (rc != SL_OK)
        return;
    printf("The table is sound.\n");
    if (r->log_only_keys)
        printf("Not safe for a stock writer: %llu keys stand in logs alone. First: sluice compact --all-logs\n",
               (unsigned long long)r->log_only_keys);
    else
        printf("Safe for a stock writer: every key stands in a base file.\n");
}

static void print_report(const struct sl_verify_report *r, int rc)
{
    char size[32];

    if (r->log_table) {
        print_log_report(r, rc);
        return;
    }

    if (cmd_json_errors) {
        printf("{\"sound\":%s,\"damage\":%llu,\"harmless\":%llu,\"repaired\":%llu,\"snapshots\":%llu,\"tags\":%llu,"
               "\"branches\":%llu,\"manifests\":%llu,\"dataFiles\":%llu,\"rows\":%llu,\"bytes\":%llu}\n",
               rc == SL_OK ? "true" : "false", (unsigned long long)r->damage, (unsigned long long)r->harmless,
               (unsigned long long)r->repaired, (unsigned long long)r->snapshots, (unsigned long long)r->tags,
               (unsigned long long)r->branches, (unsigned long long)r->manifests, (unsigned long long)r->data_files,
               (unsigned long long)r->rows, (unsigned long long)r->bytes);
        return;
    }
    printf("Checked %llu snapshots, %llu tags, %llu branches, %llu manifests, %llu data files with %llu rows, %s.\n",
           (unsigned long long)r->snapshots, (unsigned long long)r->tags, (unsigned long long)r->branches,
           (unsigned long long)r->manifests, (unsigned long long)r->data_files, (unsigned long long)r->rows,
           cmd_size_text(r->bytes, size));
    if (r->repaired)
        printf("%llu harmless things were put right.\n", (unsigned long long)r->repaired);
    if (r->harmless)
        printf("%llu harmless things are left.\n", (unsigned long long)r->harmless);
    if (rc == SL_OK)
        printf("The table is sound.\n");
}

int cmd_verify(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL;
    struct cmd_upkeep u = {0};
    struct sl_verify_options o = SL_VERIFY_INIT;
    struct sl_verify_report report = {0};
    bool repair = false, deep = false, help;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"deep", 0, CMD_FLAG, &deep, NULL,
         "Read every row as well, and compare least and greatest values and null counts with the statistics."},
        {"repair", 0, CMD_FLAG, &repair, NULL,
         "Put right what is harmless: hint files, consumers of dead readers, temporary files older than a day."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"verify", "[OPTION...] TABLE", about, options,
                                  "sluice verify flights\nsluice verify --deep --json flights | jq .kind"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 1, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    o.common = cmd_upkeep_common(&u, false);
    o.repair = repair;
    o.deep = deep;
    o.finding = print_finding;
    rc = sl_table_verify(u.env, cmd_str(argv[0]), &o, &report, err);
    cmd_progress_clear();
    if (rc == SL_OK || rc == SL_EUNSOUND)
        print_report(&report, rc);
    cmd_upkeep_close(&u);
    return rc;
}
