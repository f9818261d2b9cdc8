/* compact.c - sluice compact: keep the files of a table large. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "sluice/compact.h"
#include "sluice/env.h"

static const char *const about =
    "Merges small files of a table into large ones and applies deletion vectors, by the\n"
    "table's options (target-file-size, compaction.min.file-num, ...). Writers are never\n"
    "disturbed: what changed meanwhile is left alone and planned again.\n"
    "\n"
    "With --watch it stays, follows each new snapshot, and expires old ones by the table's\n"
    "options; SIGTERM ends it in good order. With --plan, --work and --apply the three steps\n"
    "run apart, as JSON lines: a task is worked on anywhere that sees the same files.";

struct args {
    const char *warehouse, *metrics, *plan, *apply;
    uint64_t workers, memory, threads, interval, rounds;
    bool full, all_logs, watch, work, no_expire;
    struct cmd_list partition;
};

/* ---- progress and reports ---- */

static void show_progress(void *user, const struct sl_compact_report *r, const char *doing)
{
    char in[32], out[32];

    if (!cmd_progress_due(user))
        return;
    cmd_progress_show(user, "compact: %s; %llu tasks done, %llu files (%s) became %llu (%s), %llu wait", doing,
                      (unsigned long long)r->tasks_done, (unsigned long long)r->files_in, cmd_size_text(r->bytes_in, in),
                      (unsigned long long)r->files_out, cmd_size_text(r->bytes_out, out), (unsigned long long)r->files_waiting);
}

static void print_json(const struct sl_compact_report *r)
{
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"rounds", r->rounds}, {"tasksPlanned", r->tasks_planned}, {"tasksDone", r->tasks_done}, {"tasksAgain", r->tasks_again},
        {"tasksKnown", r->tasks_known}, {"tasksFailed", r->tasks_failed}, {"snapshots", r->snapshots}, {"filesIn", r->files_in},
        {"filesOut", r->files_out}, {"bytesIn", r->bytes_in}, {"bytesOut", r->bytes_out}, {"rowsOut", r->rows_out},
        {"rowsDeleted", r->rows_deleted}, {"filesLive", r->files_live}, {"filesWaiting", r->files_waiting},
        {"fullScans", r->full_scans}, {"snapshotsExpired", r->snapshots_expired},
    };

    printf("{\"snapshot\":%lld,\"seen\":%lld", (long long)r->snapshot, (long long)r->seen);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        printf(",\"%s\":%llu", all[i].name, (unsigned long long)all[i].value);
    if (r->failure[0]) {
        printf(",\"failure\":");
        cmd_print_json_string(stdout, r->failure);
    }
    printf("}\n");
}

static void print_text(const struct sl_compact_report *r)
{
    char in[32], out[32];

    if (r->tasks_done > 0)
        printf("%llu files (%s) became %llu (%s) in %llu task%s, snapshot %lld\n", (unsigned long long)r->files_in,
               cmd_size_text(r->bytes_in, in), (unsigned long long)r->files_out, cmd_size_text(r->bytes_out, out),
               (unsigned long long)r->tasks_done, r->tasks_done == 1 ? "" : "s", (long long)r->snapshot);
    else
        printf("nothing was compacted\n");
    if (r->rows_deleted > 0)
        printf("%llu deleted rows left out\n", (unsigned long long)r->rows_deleted);
    if (r->tasks_again > 0)
        printf("%llu tasks came too late, since their files had changed; they are planned again\n", (unsigned long long)r->tasks_again);
    if (r->tasks_known > 0)
        printf("%llu tasks had been committed before\n", (unsigned long long)r->tasks_known);
    if (r->tasks_failed > 0)
        printf("%llu tasks failed\n", (unsigned long long)r->tasks_failed);
    if (r->files_waiting > 0)
        printf("%llu small files wait for more of their kind\n", (unsigned long long)r->files_waiting);
}

static void print_report(const struct sl_compact_report *r)
{
    cmd_progress_clear();
    if (cmd_json_errors)
        print_json(r);
    else
        print_text(r);
}

/* ---- lines ---- */

struct lines {
    FILE *f;
    const char *name;
    char *line; /* of getline */
    size_t cap;
};

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int open_lines(struct lines *l, const char *path, const char *mode, sl_err *err)
{
    bool write = mode[0] == 'w';

    *l = (struct lines){.name = is_dash(path) ? (write ? "standard output" : "standard input") : path};
    l->f = is_dash(path) ? (write ? stdout : stdin) : fopen(path, mode);
    return l->f ? SL_OK : sl_err_sys(err, errno, "cannot open \"%s\"", path);
}

static int close_lines(struct lines *l, int rc, sl_err *err)
{
    free(l->line);
    if (!l->f || l->f == stdout || l->f == stdin)
        return rc;
    bool bad = ferror(l->f) != 0;
    if ((fclose(l->f) != 0 || bad) && rc == SL_OK)
        return sl_err_sys(err, errno ? errno : EIO, "cannot write \"%s\"", l->name);
    return rc;
}

static int put_line(void *user, sl_str line, sl_err *err)
{
    struct lines *l = user;

    if (fwrite(line.p, 1, line.n, l->f) == line.n && fputc('\n', l->f) != EOF)
        return SL_OK;
    return sl_err_sys(err, errno, "cannot write to %s", l->name);
}

static int next_line(void *user, sl_str *line, sl_err *err)
{
    struct lines *l = user;

    errno = 0;
    ssize_t n = getline(&l->line, &l->cap, l->f);
    *line = (sl_str){NULL, 0};
    if (n < 0)
        return ferror(l->f) ? sl_err_sys(err, errno, "cannot read %s", l->name) : SL_OK;
    while (n > 0 && (l->line[n - 1] == '\n' || l->line[n - 1] == '\r'))
        n--;
    *line = (sl_str){l->line, (size_t)n};
    return SL_OK;
}

/* ---- the ways to run ---- */

static int run_plan(struct sl_env *env, sl_str table, const struct args *a, const struct sl_compact_options *options, sl_err *err)
{
    struct sl_compact_report report;
    struct lines out;

    int rc = open_lines(&out, a->plan, "w", err);
    if (rc != SL_OK)
        return rc;
    rc = sl_compact_plan(env, table, options, put_line, &out, &report, err);
    rc = close_lines(&out, rc, err);
    if (rc == SL_OK && !is_dash(a->plan)) {
        if (cmd_json_errors)
            print_json(&report);
        else
            printf("%llu tasks over %llu files, planned on snapshot %lld; %llu small files wait\n", (unsigned long long)report.tasks_planned,
                   (unsigned long long)report.files_in, (long long)report.seen, (unsigned long long)report.files_waiting);
    }
    return rc;
}

/* Tasks from standard input, results to standard output, one after the other as they come. */
static int run_work(struct sl_env *env, sl_str table, sl_err *err)
{
    struct lines in;
    uint64_t number = 0;
    int rc = open_lines(&in, "-", "r", err);

    while (rc == SL_OK && !sl_cancelled()) {
        char *result = NULL;
        sl_str line;

        rc = next_line(&in, &line, err);
        if (rc != SL_OK || !line.p)
            break;
        number++;
        if (line.n == 0)
            continue;
        rc = sl_compact_work(env, table, line, &result, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "line %llu", (unsigned long long)number);
            break;
        }
        if (puts(result) == EOF || fflush(stdout) != 0)
            rc = sl_err_sys(err, errno, "cannot write to standard output");
        sl_free(result);
    }
    rc = close_lines(&in, rc, err);
    return rc == SL_OK && sl_cancelled() ? sl_err_set(err, SL_ECANCELLED, "interrupted") : rc;
}

static int run_apply(struct sl_env *env, sl_str table, const struct args *a, sl_err *err)
{
    struct sl_compact_report report;
    struct lines in;

    int rc = open_lines(&in, a->apply, "r", err);
    if (rc != SL_OK)
        return rc;
    rc = sl_compact_apply(env, table, next_line, &in, &report, err);
    rc = close_lines(&in, rc, err);
    print_report(&report);
    return rc;
}

static int run_here(struct sl_env *env, sl_str table, const struct args *a, struct sl_compact_options *options, sl_err *err)
{
    struct sl_metrics_server *metrics = NULL;
    struct cmd_progress progress = {0};
    struct sl_compact_report report = {0};
    int rc;

    if (a->metrics) {
        rc = sl_metrics_serve((sl_str){a->metrics, strlen(a->metrics)}, &metrics, err);
        if (rc != SL_OK)
            return rc;
    }
    options->progress = show_progress;
    options->user = &progress;
    rc = sl_compact_run(env, table, options, &report, err);
    print_report(&report);
    sl_metrics_stop(metrics);
    return rc;
}

static int check(const struct args *a, int operands, sl_err *err)
{
    int ways = (a->plan != NULL) + a->work + (a->apply != NULL) + a->watch;

    if (ways > 1)
        return sl_err_set(err, SL_EUSAGE, "--watch, --plan, --work and --apply are different ways to run: give one of them");
    if (operands == 0 && !a->work && !a->apply)
        return sl_err_set(err, SL_EUSAGE, "a TABLE is needed");
    if ((a->work || a->apply) && (a->full || a->all_logs || a->partition.n))
        return sl_err_set(err, SL_EUSAGE, "--full, --all-logs and --partition are for planning");
    if (!a->watch && (a->no_expire || a->interval || a->rounds))
        return sl_err_set(err, SL_EUSAGE, "--no-expire, --interval and --rounds go with --watch");
    return SL_OK;
}

static int run(const struct args *a, const char *table_text, sl_err *err)
{
    const struct sl_env_opts env_options = {.warehouse = cmd_warehouse(a->warehouse), .memory_bytes = a->memory, .threads = (unsigned)a->threads};
    sl_str table = {table_text, table_text ? strlen(table_text) : 0}, partition[CMD_LIST_MAX];
    struct sl_compact_options options = {
        .workers = (uint32_t)(a->workers > 64 ? 64 : a->workers),
        .full = a->full,
        .all_logs = a->all_logs,
        .partition = partition,
        .npartition = a->partition.n,
        .watch = a->watch,
        .no_expire = a->no_expire,
        .interval_millis = (int64_t)a->interval,
        .watch_rounds = a->rounds,
    };
    struct sl_env *env = NULL;

    for (size_t i = 0; i < a->partition.n; i++)
        partition[i] = (sl_str){a->partition.v[i], strlen(a->partition.v[i])};
    int rc = sl_env_open(&env_options, &env, err);
    if (rc == SL_OK && a->plan)
        rc = run_plan(env, table, a, &options, err);
    else if (rc == SL_OK && a->work)
        rc = run_work(env, table, err);
    else if (rc == SL_OK && a->apply)
        rc = run_apply(env, table, a, err);
    else if (rc == SL_OK)
        rc = run_here(env, table, a, &options, err);
    sl_env_close(env);
    return rc;
}

int cmd_compact(int argc, char **argv, sl_err *err)
{
    struct args a = {.workers = 1};
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(a.warehouse),
        {"workers", 0, CMD_COUNT, &a.workers, "N", "Work on so many tasks at a time (default 1)."},
        {"full", 0, CMD_FLAG, &a.full, NULL, "Rewrite everything below the target size or with deletion vectors."},
        {"all-logs", 0, CMD_FLAG, &a.all_logs, NULL, "Log tables: turn all logs into base files, as before a stock writer of\nHudi writes to the table."},
        {"partition", 0, CMD_LIST, &a.partition, "KEY=VALUE", "Only this partition; may be given for several keys."},
        {"watch", 0, CMD_FLAG, &a.watch, NULL, "Stay and follow each new snapshot."},
        {"interval", 0, CMD_TIME, &a.interval, "TIME", "With --watch: between two looks (default: continuous.discovery-interval, 10 s)."},
        {"rounds", 0, CMD_COUNT, &a.rounds, "N", "With --watch: end after so many looks."},
        {"no-expire", 0, CMD_FLAG, &a.no_expire, NULL, "With --watch: do not expire snapshots."},
        {"plan", 0, CMD_TEXT, &a.plan, "FILE", "Only write the tasks to FILE, \"-\" for standard output."},
        {"work", 0, CMD_FLAG, &a.work, NULL, "Work on the tasks of standard input, write results to standard output."},
        {"apply", 0, CMD_TEXT, &a.apply, "FILE", "Commit the results in FILE, \"-\" for standard input."},
        {"memory", 0, CMD_SIZE, &a.memory, "SIZE", "Peak memory wanted (default: half of the machine's)."},
        {"threads", 0, CMD_COUNT, &a.threads, "N", "Threads of the SQL engine (default: one a processor)."},
        CMD_OPTION_METRICS(a.metrics),
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {
        "compact", "TABLE\n--work [TABLE]\n--apply FILE [TABLE]", about, options,
        "sluice compact flights --workers 2\nsluice compact flights --watch --workers 2\nsluice compact flights --full --partition month=2001-01\n"
        "sluice compact flights --plan - | sluice compact --work | sluice compact --apply -",
    };
    int operands;
    bool help;

    int rc = cmd_parse(&spec, argc, argv, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    rc = cmd_operands(&spec, operands, 0, 1, err);
    if (rc == SL_OK)
        rc = check(&a, operands, err);
    if (rc == SL_OK)
        rc = run(&a, operands ? argv[0] : NULL, err);
    return rc;
}
