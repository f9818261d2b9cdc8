/* ingest.c - sluice ingest: stream rows into a table. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "sluice/env.h"
#include "sluice/ingest.h"

static const char *const about =
    "Streams rows from files, folders or standard input (\"-\", the default) into TABLE,\n"
    "in commits cut by rows, bytes of input and time. Values are taken exactly or not at\n"
    "all. With --identity the position in the input is kept with the data: started again\n"
    "under the same name, a load goes on exactly where it was, whatever ended it.\n"
    "--follow goes on with what is added to one file (rotated and cut files are handled,\n"
    "no half line is taken) or with the files that are moved into one folder; without\n"
    "--identity it uses one made of the table and the absolute path of the input.\n"
    "The first SIGINT or SIGTERM commits what was read and ends: exit status 130 after\n"
    "SIGINT, 0 after SIGTERM. The second one drops what is not committed.";

static const char *const examples =
    "  sluice ingest orders orders.ndjson --identity orders\n"
    "  zcat *.json.gz | sluice ingest logs - --on-error quarantine=bad.ndjson\n"
    "  sluice ingest hits /var/log/hits.log --follow --metrics 127.0.0.1:9100\n"
    "  sluice ingest trips trips.csv --create --partition-by month";

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    if (sl_cancelled())
        _exit(128 + number);
    if (signalled)
        sl_cancel();
    signalled = number;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static bool stop(void *user)
{
    (void)user;
    return signalled != 0;
}

/* ---- options ---- */

struct options {
    const char *warehouse, *metrics;
    const char *format, *identity, *from, *on_error, *unknown_fields, *op_field, *op, *delimiter, *null_text;
    struct cmd_list partition_by;
    uint64_t memory, threads, writers;
    bool quiet;
    struct sl_ingest_options ingest;
    sl_str inputs[CMD_LIST_MAX], keys[CMD_LIST_MAX];
};

static sl_str text(const char *s)
{
    return (sl_str){s, s ? strlen(s) : 0};
}

static int choose_format(struct options *o, sl_err *err)
{
    static const char *const names[] = {"auto", "ndjson", "csv", "parquet", NULL};

    for (int i = 0; o->format && names[i]; i++) {
        if (strcmp(o->format, names[i]) != 0)
            continue;
        o->ingest.format = (enum sl_ingest_format)i;
        return SL_OK;
    }
    if (!o->format)
        return SL_OK;
    if (strcmp(o->format, "json") == 0) {
        o->ingest.format = SL_INGEST_NDJSON;
        return SL_OK;
    }
    sl_err_set(err, SL_EUSAGE, "there is no format \"%s\"", o->format);
    sl_err_hint(err, "formats are ndjson, csv and parquet");
    return SL_EUSAGE;
}

static int choose_on_error(struct options *o, sl_err *err)
{
    static const char quarantine[] = "quarantine=";
    const char *v = o->on_error;

    if (!v || strcmp(v, "stop") == 0)
        return SL_OK;
    if (strcmp(v, "skip") == 0) {
        o->ingest.on_error = SL_INGEST_SKIP;
        return SL_OK;
    }
    if (strncmp(v, quarantine, sizeof quarantine - 1) == 0 && v[sizeof quarantine - 1]) {
        o->ingest.on_error = SL_INGEST_QUARANTINE;
        o->ingest.quarantine = text(v + sizeof quarantine - 1);
        return SL_OK;
    }
    sl_err_set(err, SL_EUSAGE, "--on-error is stop, skip or quarantine=FILE, not \"%s\"", v);
    return SL_EUSAGE;
}

static int choose_op(struct options *o, sl_err *err)
{
    static const char *const names[] = {"upsert", "insert", "delete"};

    for (int i = 0; o->op && i < 3; i++) {
        if (strcmp(o->op, names[i]) != 0)
            continue;
        o->ingest.op = (enum sl_ingest_op)i;
        return SL_OK;
    }
    return o->op ? sl_err_set(err, SL_EUSAGE, "--op is upsert, insert or delete, not \"%s\"", o->op) : SL_OK;
}

static int choose_csv(struct options *o, sl_err *err)
{
    if (o->delimiter && strcmp(o->delimiter, "\\t") == 0)
        o->delimiter = "\t";
    if (o->delimiter && strlen(o->delimiter) != 1)
        return sl_err_set(err, SL_EUSAGE, "--delimiter is one character, not \"%s\"", o->delimiter);
    if (o->delimiter)
        o->ingest.delimiter = o->delimiter[0];
    if (o->null_text)
        o->ingest.null_text = text(o->null_text);
    return SL_OK;
}

static int finish_options(struct options *o, int operands, char **argv, sl_err *err)
{
    struct sl_ingest_options *i = &o->ingest;
    int rc;

    if ((rc = choose_format(o, err)) != SL_OK || (rc = choose_on_error(o, err)) != SL_OK || (rc = choose_csv(o, err)) != SL_OK ||
        (rc = choose_op(o, err)) != SL_OK)
        return rc;
    if (o->unknown_fields && strcmp(o->unknown_fields, "error") != 0 && strcmp(o->unknown_fields, "ignore") != 0)
        return sl_err_set(err, SL_EUSAGE, "--unknown-fields is error or ignore, not \"%s\"", o->unknown_fields);
    i->strict_fields = o->unknown_fields && strcmp(o->unknown_fields, "error") == 0;
    if (operands - 1 > CMD_LIST_MAX)
        return sl_err_set(err, SL_EUSAGE, "at most %d files can be named; name their folder instead", CMD_LIST_MAX);
    i->table = text(argv[0]);
    for (int k = 1; k < operands; k++)
        o->inputs[i->ninputs++] = text(argv[k]);
    i->inputs = o->inputs;
    i->identity = text(o->identity);
    i->from = text(o->from);
    i->op_field = text(o->op_field);
    for (size_t k = 0; k < o->partition_by.n; k++)
        o->keys[i->npartition_by++] = text(o->partition_by.v[k]);
    i->partition_by = o->keys;
    if (i->npartition_by && !i->create)
        return sl_err_set(err, SL_EUSAGE, "--partition-by goes with --create");
    i->writers = (uint32_t)(o->writers < 1000 ? o->writers : 1000);
    i->stop = stop;
    return SL_OK;
}

/* ---- what it shows ---- */

struct shown {
    struct cmd_progress line;
    double last_seconds;
    uint64_t last_rows, last_bytes;
    double rows_rate, bytes_rate; /* over the last while */
};

static void progress(void *user, const struct sl_ingest_progress *p)
{
    struct shown *s = user;
    char read[32], rate[32], lag[64] = "", size[32];
    double seconds = p->seconds - s->last_seconds;

    if (seconds >= 1) {
        s->rows_rate = (double)(p->rows - s->last_rows) / seconds;
        s->bytes_rate = (double)(p->bytes - s->last_bytes) / seconds;
        s->last_seconds = p->seconds;
        s->last_rows = p->rows;
        s->last_bytes = p->bytes;
    }
    if (!cmd_progress_due(&s->line))
        return;
    if (p->total_bytes)
        snprintf(lag, sizeof lag, " (%d %%)", (int)((double)p->bytes * 100 / (double)p->total_bytes));
    else if (p->lag_bytes)
        snprintf(lag, sizeof lag, ", %s behind", cmd_size_text(p->lag_bytes, size));
    cmd_progress_show(&s->line, "%llu rows, %.0f rows/s, %s%s, %s/s, %llu bad, %llu files, %llu commits%s", (unsigned long long)p->rows,
                      s->rows_rate, cmd_size_text(p->bytes, read), lag, cmd_size_text((uint64_t)s->bytes_rate, rate),
                      (unsigned long long)p->bad_rows, (unsigned long long)p->files, (unsigned long long)p->commits,
                      p->waiting ? ", waiting" : "");
}

static void print_text(const char *table, const struct options *o, const struct sl_ingest_report *r)
{
    char size[32], read[32];

    if (r->create_sql)
        printf("%s\n", r->create_sql);
    if (o->ingest.dry_run)
        printf("%llu rows are good for %s; nothing was written\n", (unsigned long long)r->rows, table);
    else
        printf("%llu row%s into %s in %llu commit%s, %llu file%s, %s, %.1f s, %.0f rows/s%s\n", (unsigned long long)r->rows,
               r->rows == 1 ? "" : "s", table, (unsigned long long)r->commits, r->commits == 1 ? "" : "s",
               (unsigned long long)r->files, r->files == 1 ? "" : "s", cmd_size_text(r->file_bytes, size), r->seconds,
               r->seconds > 0 ? (double)r->rows / r->seconds : 0, r->resumed ? " (went on where it was)" : "");
    if (r->bad_rows)
        printf("%llu bad rows were %s\n", (unsigned long long)r->bad_rows,
               o->ingest.on_error == SL_INGEST_QUARANTINE ? "put into the quarantine" : "left out");
    if (r->unknown_fields)
        printf("%llu values of fields that are not columns were ignored\n", (unsigned long long)r->unknown_fields);
    if (cmd_verbose && r->input_bytes)
        printf("%s of input were read\n", cmd_size_text(r->input_bytes, read));
    if (r->interrupted)
        printf("ended by a signal; what was read is committed\n");
}

static void print_json(const char *table, const struct options *o, const struct sl_ingest_report *r, bool ok)
{
    printf("{\"table\":");
    cmd_print_json_string(stdout, table);
    printf(",\"ok\":%s,\"dryRun\":%s,\"rows\":%llu,\"badRows\":%llu,\"unknownFields\":%llu,\"inputBytes\":%llu,\"files\":%llu,"
           "\"fileBytes\":%llu,\"commits\":%llu,\"seconds\":%.3f,\"resumed\":%s,\"interrupted\":%s,\"snapshots\":[",
           ok ? "true" : "false", o->ingest.dry_run ? "true" : "false", (unsigned long long)r->rows, (unsigned long long)r->bad_rows,
           (unsigned long long)r->unknown_fields, (unsigned long long)r->input_bytes, (unsigned long long)r->files,
           (unsigned long long)r->file_bytes, (unsigned long long)r->commits, r->seconds, r->resumed ? "true" : "false",
           r->interrupted ? "true" : "false");
    for (size_t i = 0; i < r->nsnapshots; i++)
        printf("%s%lld", i ? "," : "", (long long)r->snapshots[i]);
    printf("],\"identity\":");
    cmd_print_json_string(stdout, r->identity);
    printf(",\"createSql\":");
    cmd_print_json_string(stdout, r->create_sql);
    printf(",\"position\":%s}\n", r->position ? r->position : "null");
}

static int load(struct options *o, const char *table, sl_err *err)
{
    const struct sl_env_opts env_opts = {.warehouse = cmd_warehouse(o->warehouse), .memory_bytes = o->memory,
                                         .threads = (unsigned)(o->threads < 1000 ? o->threads : 1000)};
    struct sl_ingest_report report = SL_INGEST_REPORT_INIT;
    struct sl_metrics_server *metrics = NULL;
    struct sl_env *env = NULL;
    struct shown shown = {.line = {.off = o->quiet}};
    int rc;

    o->ingest.progress = progress;
    o->ingest.user = &shown;
    rc = o->metrics ? sl_metrics_serve(text(o->metrics), &metrics, err) : SL_OK;
    if (rc == SL_OK)
        rc = sl_env_open(&env_opts, &env, err);
    if (rc == SL_OK) {
        rc = sl_ingest_run(env, &o->ingest, &report, err);
        cmd_progress_clear();
        /* Also after an error: what was committed stays, and the table that was made too. */
        if (cmd_json_errors)
            print_json(table, o, &report, rc == SL_OK);
        else if (rc == SL_OK || report.commits)
            print_text(table, o, &report);
    }
    /* A load that a person has stopped did not do all that was asked; a service that is told to end did. */
    if (rc == SL_OK && report.interrupted && signalled == SIGINT)
        rc = sl_err_set(err, SL_ECANCELLED, "interrupted; what was read is committed");
    sl_ingest_report_release(&report);
    sl_env_close(env);
    sl_metrics_stop(metrics);
    return rc;
}

int cmd_ingest(int argc, char **argv, sl_err *err)
{
    static struct options o;
    struct sl_ingest_options *i = &o.ingest;
    int operands, rc;
    bool help;
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(o.warehouse),
        {"format", 0, CMD_TEXT, &o.format, "NAME", "ndjson, csv or parquet (default: by the ending of the first file, else ndjson)."},
        {"commit-rows", 0, CMD_COUNT, &i->commit_rows, "N", "Rows of a commit (default 1000000)."},
        {"commit-bytes", 0, CMD_SIZE, &i->commit_bytes, "SIZE", "Bytes of input of a commit (default 256MB)."},
        {"commit-interval", 0, CMD_TIME, &i->commit_millis, "TIME", "Most time between commits (default 60s; 10s with --follow)."},
        {"writers", 0, CMD_COUNT, &o.writers, "N", "Commits under way at once; they are published in order (default 1)."},
        {"compact", 0, CMD_FLAG, &i->compact, NULL, "Compact the table beside the load."},
        {"identity", 0, CMD_TEXT, &o.identity, "NAME", "Load exactly once under this name; one process at a time."},
        {"from", 0, CMD_TEXT, &o.from, "POS", "Begin here, not where the identity was: start, end,\na byte offset, or a position as --json shows it."},
        {"follow", 0, CMD_FLAG, &i->follow, NULL, "Go on with what is added to the file, or to the folder."},
        {"on-error", 0, CMD_TEXT, &o.on_error, "WHAT", "stop (default), skip, or quarantine=FILE. The file gets each bad row as\none JSON object; rows read again after a crash may stand in it twice."},
        {"unknown-fields", 0, CMD_TEXT, &o.unknown_fields, "WHAT", "ignore (default) or error: fields that are no columns."},
        {"max-row-bytes", 0, CMD_SIZE, &i->max_row_bytes, "SIZE", "A longer row is a bad row (default 512MB)."},
        {"op", 0, CMD_TEXT, &o.op, "OP", "Tables with a key: upsert (default), insert (rows whose key is there\nare left out) or delete."},
        {"op-field", 0, CMD_TEXT, &o.op_field, "NAME", "Field that tells the kind of a row (default _row_kind, if there is no\nsuch column). Tables without a key only take inserts."},
        {"delimiter", 0, CMD_TEXT, &o.delimiter, "C", "CSV: between fields (default \",\"; tab for .tsv; \\t is tab)."},
        {"no-header", 0, CMD_FLAG, &i->no_header, NULL, "CSV: the first line is a row; fields are the columns in order."},
        {"null", 0, CMD_TEXT, &o.null_text, "TEXT", "CSV: what stands for NULL, unless quoted (default: nothing)."},
        {"create", 0, CMD_FLAG, &i->create, NULL, "Make the table from a sample of the input, if there is none."},
        {"partition-by", 0, CMD_LIST, &o.partition_by, "COLUMN", "With --create; may be given several times."},
        {"dry-run", 0, CMD_FLAG, &i->dry_run, NULL, "Read and check all rows, write nothing."},
        {"memory", 0, CMD_SIZE, &o.memory, "SIZE", "Most memory to use (default: half of the machine's)."},
        {"threads", 0, CMD_COUNT, &o.threads, "N", "Threads (default: one a processor)."},
        {"quiet", 'q', CMD_FLAG, &o.quiet, NULL, "No progress."},
        CMD_OPTION_METRICS(o.metrics),
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"ingest", "[OPTION...] TABLE [FILE...|FOLDER...|-]", about, options, examples};

    rc = cmd_parse(&spec, argc, argv, &operands, &help, err);
    if (rc != SL_OK || help)
        return rc;
    rc = cmd_operands(&spec, operands, 1, -1, err);
    if (rc == SL_OK)
        rc = finish_options(&o, operands, argv, err);
    if (rc != SL_OK)
        return rc;
    catch_signals();
    return load(&o, argv[0], err);
}
