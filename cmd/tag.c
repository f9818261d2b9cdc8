/* tag.c - sluice tag: names for snapshots. */
#include <string.h>

#include "upkeep.h"

static const char *const about =
    "A tag is a name for a snapshot that keeps its files when the snapshot expires. It can be\n"
    "read with FOR VERSION AS OF in SQL, and rolled back to. Without a word after TABLE the\n"
    "tags are listed.";

struct listing {
    uint64_t n;
};

static void print_tag(void *user, const struct sl_tag *tag)
{
    struct listing *l = user;
    char committed[32], kept[32] = "for ever";

    cmd_time_text(tag->commit_millis, committed);
    if (tag->retained_millis > 0 && tag->retained_millis % 86400000 == 0)
        snprintf(kept, sizeof kept, "%lld d", (long long)(tag->retained_millis / 86400000));
    else if (tag->retained_millis >= 0)
        snprintf(kept, sizeof kept, "%lld s", (long long)(tag->retained_millis / 1000));
    if (cmd_json_errors) {
        printf("%s{\"name\":", l->n ? "," : "");
        cmd_print_json_string(stdout, tag->name);
        printf(",\"snapshot\":%lld,\"rows\":%lld,\"commitMillis\":%lld,\"retainedMillis\":%lld}", (long long)tag->snapshot,
               (long long)tag->rows, (long long)tag->commit_millis, (long long)tag->retained_millis);
    } else {
        if (l->n == 0)
            printf("%-30s %10s %14s  %-20s %s\n", "tag", "snapshot", "rows", "committed (UTC)", "kept");
        printf("%-30s %10lld %14lld  %-20s %s\n", tag->name, (long long)tag->snapshot, (long long)tag->rows, committed, kept);
    }
    l->n++;
}

static int list_tags(struct cmd_upkeep *u, const char *table, sl_err *err)
{
    struct listing l = {0};

    if (cmd_json_errors)
        printf("[");
    int rc = sl_table_tag_list(u->env, cmd_str(table), print_tag, &l, err);
    if (cmd_json_errors)
        printf("]\n");
    else if (rc == SL_OK && l.n == 0)
        printf("No tags.\n");
    return rc;
}

static int run(struct cmd_upkeep *u, int operands, char **argv, uint64_t snapshot, uint64_t retain, sl_err *err)
{
    const char *verb = operands > 1 ? argv[1] : "list";

    if (strcmp(verb, "list") == 0 && operands <= 2)
        return list_tags(u, argv[0], err);
    if (strcmp(verb, "create") == 0 && operands == 3)
        return sl_table_tag_create(u->env, cmd_str(argv[0]), cmd_str(argv[2]),
                                   cmd_i64(snapshot),
                                   cmd_age(retain), err);
    if (strcmp(verb, "delete") == 0 && operands == 3)
        return sl_table_tag_delete(u->env, cmd_str(argv[0]), cmd_str(argv[2]), err);
    sl_err_set(err, SL_EUSAGE, "\"sluice tag\" cannot tell what to do");
    sl_err_hint(err, "sluice tag TABLE [list], sluice tag TABLE create NAME, sluice tag TABLE delete NAME");
    return SL_EUSAGE;
}

int cmd_tag(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL;
    uint64_t snapshot = 0, retain = 0;
    struct cmd_upkeep u = {0};
    bool help;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"snapshot", 's', CMD_COUNT, &snapshot, "ID", "create: the snapshot to tag (default: the latest)."},
        {"retain", 0, CMD_TIME, &retain, "TIME",
         "create: \"sluice expire\" deletes the tag after so long, such as 30d (default: never)."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"tag", "[OPTION...] TABLE [list]\n[OPTION...] TABLE create NAME\n[OPTION...] TABLE delete NAME",
                                  about, options,
                                  "sluice tag flights create before-update\nsluice tag flights create monthly --retain 90d\n"
                                  "sluice tag flights"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 3, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    rc = run(&u, operands, argv, snapshot, retain, err);
    cmd_upkeep_close(&u);
    return rc;
}
