/* inspect.c - sluice inspect: what a table or one of its files holds. */
#include <string.h>
#include <sys/stat.h>

#include "upkeep.h"

static const char *const about =
    "Shows what a table holds: its columns and options, its snapshots with what each did, its\n"
    "partitions, and, if asked, its manifests and data files with their statistics. Of a file\n"
    "it shows the content as JSON: snapshots, tags, schemas, manifest lists, manifests, index\n"
    "manifests, deletion vectors, statistics; of a Parquet file what its footer says. Of a Hudi\n"
    "log it prints every block: offset, type, header, index (records, keys, filter and its\n"
    "false-positive rate), footer, and where a damaged part begins.";

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int cmd_inspect(int argc, char **argv, sl_err *err)
{
    const char *warehouse = NULL, *tag = NULL;
    uint64_t snapshot = 0;
    struct cmd_upkeep u = {0};
    struct sl_inspect_options o = SL_INSPECT_INIT;
    bool files = false, manifests = false, help;
    char *text = NULL;
    int operands;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(warehouse),
        {"snapshot", 's', CMD_COUNT, &snapshot, "ID", "Look at this snapshot (default: the latest)."},
        {"tag", 't', CMD_TEXT, &tag, "NAME", "Look at this tag."},
        {"files", 0, CMD_FLAG, &files, NULL, "List the data files, with rows, size and statistics."},
        {"manifests", 0, CMD_FLAG, &manifests, NULL, "List the manifests."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"inspect", "[OPTION...] TABLE\n[OPTION...] FILE", about, options,
                                  "sluice inspect flights\nsluice inspect --snapshot 3 --files flights\n"
                                  "sluice inspect warehouse/default.db/flights/snapshot/snapshot-3\n"
                                  "sluice inspect --json .f-0_20260102030405678.log.1_0-0-0"};

    int rc = cmd_upkeep_start(&u, &spec, argc, argv, 1, 1, &warehouse, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    o.snapshot = cmd_i64(snapshot);
    o.tag = cmd_str(tag);
    o.files = files;
    o.manifests = manifests;
    o.json = cmd_json_errors;
    if (is_file(argv[0]))
        rc = sl_file_inspect(u.env, cmd_str(argv[0]), o.json, &text, err);
    else
        rc = sl_table_inspect(u.env, cmd_str(argv[0]), &o, &text, err);
    if (rc == SL_OK)
        fputs(text, stdout);
    sl_free(text);
    cmd_upkeep_close(&u);
    return rc;
}
