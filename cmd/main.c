/* main.c - the sluice program: finds the command, runs it, and reports what went wrong. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "sluice/env.h"

bool cmd_json_errors;
bool cmd_verbose;
char *cmd_error_excerpt;

static const struct sl_command commands[] = {
    {"sql", "run SQL statements, or read them from a terminal", cmd_sql},
    {"ingest", "stream rows from files, folders or standard input into a table", cmd_ingest},
    {"compact", "merge small files of a table into large ones, once or beside its writers", cmd_compact},
    {"expire", "remove old snapshots and the files that only they used", cmd_expire},
    {"clean", "remove files that nothing names, left by writers that died", cmd_clean},
    {"rollback", "make an older snapshot the latest again", cmd_rollback},
    {"tag", "give snapshots names that outlive their expiry", cmd_tag},
    {"inspect", "show what a table or one of its files holds", cmd_inspect},
    {"verify", "check every reference, size, count and statistic of a table", cmd_verify},
    {"doctor", "show what the file system under a warehouse promises", cmd_doctor},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* ---- what happens around a command ---- */

static void on_signal(int number)
{
    /* The first one lets the command end in good order, the second one does not wait for that. */
    if (sl_cancelled())
        _exit(128 + number);
    sl_cancel();
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file above the limit of the shell is an error of the write, as a full disk is */
}

static void print_log(enum sl_level level, const char *area, const char *text, void *user)
{
    static const char *const names[] = {"error", "warning", "notice", "debug"};
    enum sl_level most = cmd_verbose ? SL_LOG_DEBUG : SL_LOG_WARN;

    (void)user;
    /* The address of the metrics is asked for by an option, so it is always told. */
    if (level > most && strcmp(area, "metrics") != 0)
        return;
    cmd_progress_clear();
    fprintf(stderr, "sluice: %s: %s\n", names[level], text);
}

static void print_json_error(const sl_err *err)
{
    fprintf(stderr, "{\"error\":");
    cmd_print_json_string(stderr, err->text);
    fprintf(stderr, ",\"code\":");
    cmd_print_json_string(stderr, sl_code_name(err->code));
    fprintf(stderr, ",\"status\":%d", sl_code_exit_status(err->code));
    if (err->hint[0]) {
        fprintf(stderr, ",\"hint\":");
        cmd_print_json_string(stderr, err->hint);
    }
    if (err->offset >= 0)
        fprintf(stderr, ",\"offset\":%lld", (long long)err->offset);
    if (err->flags & SL_ERR_RETRY)
        fprintf(stderr, ",\"retry\":true");
    if (err->flags & SL_ERR_UNKNOWN_OUTCOME)
        fprintf(stderr, ",\"unknownOutcome\":true");
    fprintf(stderr, "}\n");
}

void cmd_print_error(const sl_err *err)
{
    cmd_progress_clear();
    if (cmd_json_errors) {
        print_json_error(err);
        sl_free(cmd_error_excerpt);
        cmd_error_excerpt = NULL;
        return;
    }
    fprintf(stderr, "sluice: error: %s\n", err->text[0] ? err->text : sl_code_text(err->code));
    if (cmd_error_excerpt)
        fprintf(stderr, "%s\n", cmd_error_excerpt);
    sl_free(cmd_error_excerpt);
    cmd_error_excerpt = NULL;
    if (err->hint[0])
        fprintf(stderr, "  hint: %s\n", err->hint);
}

/* What was printed must have arrived, or a script would go on with half a result. */
static int flush_output(int rc, sl_err *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    if (rc != SL_OK)
        return rc;
    return sl_err_sys(err, errno ? errno : EIO, "cannot write to standard output");
}

/* ---- the list of commands ---- */

static void print_usage(FILE *f)
{
    fprintf(f, "Usage: sluice COMMAND [OPTION...] [OPERAND...]\n\n"
               "A streaming lakehouse engine: append tables in the Apache Paimon format, written by many,\n"
               "compacted beside them, read and changed by SQL.\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(f, "\n\"sluice COMMAND --help\" explains a command; \"sluice --version\" shows versions.\n");
}

static int unknown_command(const char *name, sl_err *err)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *nearest = cmd_nearest(name, names);
    sl_err_set(err, SL_EUSAGE, "there is no command \"%s\"", name);
    if (nearest)
        sl_err_hint(err, "did you mean \"sluice %s\"?", nearest);
    else
        sl_err_hint(err, "\"sluice --help\" lists the commands");
    return SL_EUSAGE;
}

static const struct sl_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_version(void)
{
    printf("sluice %s\n", sl_version());
    printf("DuckDB %s", sl_duckdb_version());
    if (strcmp(sl_duckdb_version(), sl_duckdb_version_wanted()) != 0)
        printf(", which is not supported: Sluice needs %s", sl_duckdb_version_wanted());
    printf("\nPaimon append tables: schema 1-3, snapshot 3, manifest 2, index manifest 1\n");
}

static int dispatch(int argc, char **argv, sl_err *err)
{
    static char help_option[] = "--help";
    const char *name = argc > 1 ? argv[1] : "";

    if (argc < 2) {
        print_usage(stderr);
        return sl_err_set(err, SL_EUSAGE, "no command is given");
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        print_version();
        return SL_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return SL_OK;
    }
    /* "help NAME" is "NAME --help". */
    bool help = strcmp(name, "help") == 0;
    const struct sl_command *c = find_command(help ? argv[2] : name);
    if (!c)
        return unknown_command(help ? argv[2] : name, err);
    if (help) {
        char *arguments[] = {argv[2], help_option, NULL};

        return c->run(2, arguments, err);
    }
    return c->run(argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
    sl_err err = SL_ERR_INIT;

    /* Known before the options are read, so that a wrong option is reported as asked for. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            cmd_json_errors = true;
    catch_signals();
    sl_log_sink(print_log, NULL);
    int rc = dispatch(argc, argv, &err);
    rc = flush_output(rc, &err);
    sl_log_sink(NULL, NULL);
    if (rc != SL_OK) {
        err.code = rc;
        cmd_print_error(&err);
    }
    cmd_progress_clear();
    return sl_code_exit_status(rc);
}
