/* sql.c - sluice sql: statements from an option, a file, standard input, or a person. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"
#include "sluice/env.h"

static const char *const about =
    "Runs SQL statements over the tables of a warehouse. Without -e and -f it reads\n"
    "them from standard input: on a terminal as a shell with history, completion by\n"
    "Tab and lines that go on until a ';', where Ctrl-C ends only the statement.";

static const char *const examples =
    "  sluice sql -e \"CREATE TABLE t (id BIGINT, name STRING) PARTITIONED BY (name)\"\n"
    "  sluice sql -e \"SELECT count(*) FROM t VERSION AS OF 3\" --format json\n"
    "  sluice sql -e \"SELECT * FROM t\" --format parquet -o t.parquet\n"
    "  sluice sql -f report.sql";

struct options {
    const char *warehouse, *file, *format, *output;
    struct cmd_list statements;
    uint64_t memory, threads;
    bool keep_going;
};

/* ---- errors at their place ---- */

/* What the caret stands under, printed by main behind the error. */
static void point_at(sl_str text, const char *file, sl_err *err)
{
    size_t line, column;
    char *excerpt = sl_sql_excerpt(text, err->offset, &line, &column);

    if (!excerpt)
        return;
    if (file)
        sl_err_ctx(err, "%s:%zu:%zu", file, line, column);
    else
        sl_err_ctx(err, "line %zu, column %zu", line, column);
    sl_free(cmd_error_excerpt);
    cmd_error_excerpt = excerpt;
}

int cmd_sql_run(struct sl_session *s, struct cmd_result *out, sl_str text, const char *file,
                sl_err *err)
{
    int rc = sl_session_run(s, text, cmd_result_sink(out), err);

    if (rc == SL_OK)
        return SL_OK;
    cmd_result_abort(out);
    point_at(text, file, err);
    return rc;
}

/* ---- where statements come from ---- */

static int read_file(const char *path, char **text, size_t *n, sl_err *err)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t cap = 0;

    *text = NULL;
    *n = 0;
    if (!f)
        return sl_err_sys(err, errno, "cannot open \"%s\"", path);
    errno = 0;
    if (getdelim(text, &cap, -1, f) > 0)
        *n = (size_t)ftell(f) > 0 && f != stdin ? (size_t)ftell(f) : strlen(*text);
    int rc = ferror(f) ? sl_err_sys(err, errno, "cannot read \"%s\"", path) : SL_OK;
    if (f != stdin)
        fclose(f);
    return rc;
}

static int run_file(const struct options *o, struct sl_session *s, struct cmd_result *out,
                    sl_err *err)
{
    char *text;
    size_t n;
    int rc = read_file(o->file, &text, &n, err);

    if (rc == SL_OK)
        rc = cmd_sql_run(s, out, (sl_str){text, n}, o->file, err);
    free(text);
    return rc;
}

static int run_statements(const struct options *o, struct sl_session *s, struct cmd_result *out,
                          sl_err *err)
{
    for (size_t i = 0; i < o->statements.n; i++) {
        const char *text = o->statements.v[i];
        int rc = cmd_sql_run(s, out, (sl_str){text, strlen(text)}, NULL, err);

        if (rc != SL_OK)
            return rc;
    }
    return SL_OK;
}

static bool goes_on(int rc, sl_err *err)
{
    if (rc == SL_ECANCELLED || rc == SL_ENOMEM)
        return false;
    cmd_print_error(err);
    *err = (sl_err)SL_ERR_INIT;
    return true;
}

/* One statement after the other, so that one that fails does not take the rest of its line along. */
static int run_each(struct sl_session *s, struct cmd_result *out, sl_str text, sl_err *err)
{
    size_t from = 0;

    for (size_t i = 0; i < text.n; i++) {
        const sl_str one = {text.p + from, i + 1 - from};

        if (text.p[i] != ';' || !sl_sql_complete(one))
            continue;
        int rc = cmd_sql_run(s, out, one, NULL, err);
        if (rc != SL_OK && !goes_on(rc, err))
            return rc;
        from = i + 1;
    }
    return SL_OK;
}

/* Statements through a pipe run as soon as they are complete. */
static int run_pipe(const struct options *o, struct sl_session *s, struct cmd_result *out,
                    sl_err *err)
{
    char *text = NULL, *line = NULL;
    size_t n = 0, cap = 0;
    ssize_t got;
    int rc = SL_OK;

    while (rc == SL_OK && (got = getline(&line, &cap, stdin)) >= 0) {
        char *grown = realloc(text, n + (size_t)got + 1);

        if (!grown) {
            rc = sl_err_set(err, SL_ENOMEM, "out of memory");
            break;
        }
        text = grown;
        memcpy(text + n, line, (size_t)got + 1);
        n += (size_t)got;
        if (!memchr(line, ';', (size_t)got) || !sl_sql_complete((sl_str){text, n}))
            continue;
        rc = o->keep_going ? run_each(s, out, (sl_str){text, n}, err)
                           : cmd_sql_run(s, out, (sl_str){text, n}, NULL, err);
        n = 0;
    }
    if (rc == SL_OK && n > 0)
        rc = cmd_sql_run(s, out, (sl_str){text, n}, NULL, err);
    free(text);
    free(line);
    return rc;
}

static int run_all(const struct options *o, struct sl_session *s, struct cmd_result *out,
                   sl_err *err)
{
    if (o->statements.n > 0)
        return run_statements(o, s, out, err);
    if (o->file)
        return run_file(o, s, out, err);
    if (isatty(STDIN_FILENO))
        return cmd_shell(s, out, err);
    return run_pipe(o, s, out, err);
}

/* ---- the command ---- */

static int check_options(const struct options *o, enum cmd_format *format, sl_err *err)
{
    int rc = cmd_format_of(o->format ? o->format : cmd_json_errors ? "json" : "table", format, err);

    if (rc != SL_OK)
        return rc;
    if (o->statements.n > 0 && o->file)
        return sl_err_set(err, SL_EUSAGE, "-e and -f do not go together");
    if (*format == CMD_FORMAT_PARQUET && !o->output) {
        sl_err_set(err, SL_EUSAGE, "--format parquet needs a file");
        sl_err_hint(err, "name it by -o FILE");
        return SL_EUSAGE;
    }
    return SL_OK;
}

static int run(const struct options *o, sl_err *err)
{
    const struct sl_env_opts env_opts = {.warehouse = cmd_warehouse(o->warehouse),
                                         .memory_bytes = o->memory,
                                         .threads = (unsigned)o->threads};
    enum cmd_format format;
    struct sl_env *env = NULL;
    struct sl_session *s = NULL;
    struct cmd_result *out = NULL;
    FILE *f = stdout;
    int rc = check_options(o, &format, err);

    if (rc != SL_OK)
        return rc;
    const bool parquet = format == CMD_FORMAT_PARQUET;
    if (o->output && !parquet)
        f = fopen(o->output, "wb");
    if (!f)
        return sl_err_sys(err, errno, "cannot write \"%s\"", o->output);
    out = cmd_result_new(format, f, parquet ? o->output : NULL);
    rc = out ? sl_env_open(&env_opts, &env, err) : sl_err_set(err, SL_ENOMEM, "out of memory");
    if (rc == SL_OK)
        rc = sl_session_open(env, &s, err);
    if (rc == SL_OK)
        rc = run_all(o, s, out, err);
    sl_session_close(s);
    sl_env_close(env);
    cmd_result_free(out);
    if (f != stdout && fclose(f) != 0 && rc == SL_OK)
        rc = sl_err_sys(err, errno, "cannot write \"%s\"", o->output);
    return rc;
}

int cmd_sql(int argc, char **argv, sl_err *err)
{
    struct options o = {NULL, NULL, NULL, NULL, {{NULL}, 0}, 0, 0, false};
    const struct cmd_option options[] = {
        CMD_OPTION_WAREHOUSE(o.warehouse),
        {"execute", 'e', CMD_LIST, &o.statements, "SQL",
         "Run these statements; may be given several times."},
        {"file", 'f', CMD_TEXT, &o.file, "FILE",
         "Run the statements in FILE; - is standard input."},
        {"format", 0, CMD_TEXT, &o.format, "FORMAT",
         "How rows are printed: table, csv, json, ndjson or parquet."},
        {"output", 'o', CMD_TEXT, &o.output, "FILE", "Write rows to FILE."},
        {"memory", 0, CMD_SIZE, &o.memory, "SIZE",
         "Peak resident memory (default: half of the machine's)."},
        {"threads", 0, CMD_COUNT, &o.threads, "N", "Threads of a query (default: all processors)."},
        {"keep-going", 0, CMD_FLAG, &o.keep_going, NULL,
         "With statements from a pipe: go on after one that failed."},
        CMD_OPTION_JSON,
        CMD_OPTION_VERBOSE,
        CMD_OPTION_END,
    };
    const struct cmd_spec spec = {"sql", "[-e SQL | -f FILE] [--format FORMAT] [-o FILE]", about,
                                  options, examples};
    int operands;
    bool help;
    int rc = cmd_parse(&spec, argc, argv, &operands, &help, err);

    if (rc != SL_OK || help)
        return rc;
    rc = cmd_operands(&spec, operands, 0, 0, err);
    return rc == SL_OK ? run(&o, err) : rc;
}
