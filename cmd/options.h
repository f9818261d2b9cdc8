/*
 * options.h - options of a command from one table: parsing, --help, and errors that name what was meant.
 */
#ifndef SLUICE_CMD_OPTIONS_H
#define SLUICE_CMD_OPTIONS_H

#include "sluice/base.h"

enum cmd_option_kind {
    CMD_FLAG,   /* bool: set to true */
    CMD_TEXT,   /* const char * */
    CMD_LIST,   /* struct cmd_list: may be given several times */
    CMD_COUNT,  /* uint64_t, plain number, from 1 */
    CMD_NUMBER, /* int64_t, any whole number */
    CMD_SIZE,   /* uint64_t, bytes: 256MB */
    CMD_TIME,   /* uint64_t, milliseconds: 10s, 5 min; a bare number is seconds */
};

enum { CMD_LIST_MAX = 256 };
struct cmd_list {
    const char *v[CMD_LIST_MAX]; /* borrowed from argv */
    size_t n;
};

struct cmd_option {
    const char *name;      /* without the two dashes */
    char letter;           /* 0 if none */
    enum cmd_option_kind kind;
    void *value;           /* of the type that KIND says; keeps its default if the option is not given */
    const char *arg;       /* how the value is called in the help; NULL for a flag */
    const char *help;      /* one sentence; '\n' starts a new line */
};

struct cmd_spec {
    const char *name;
    const char *synopsis;  /* what follows "sluice NAME", lines separated by '\n' */
    const char *about;     /* what it does, wrapped by hand at 78 columns */
    const struct cmd_option *options; /* ends with a row whose name is NULL */
    const char *examples;  /* lines, may be NULL */
};

/* Parses argv[1..]; operands are moved to the front of argv from argv[0] on and counted in *OPERANDS. Options may
 * follow operands; "--" ends them; "-" is an operand. Every command knows --help: then *HELP is set and the
 * help was printed. Errors are SL_EUSAGE. */
int cmd_parse(const struct cmd_spec *spec, int argc, char **argv, int *operands, bool *help, sl_err *err) SL_WUR;

void cmd_print_help(const struct cmd_spec *spec);
/* SL_EUSAGE if COUNT is not in [LEAST, MOST]; MOST < 0 = any. NAMES as in the synopsis, e.g. "TABLE [FILE...]". */
int cmd_operands(const struct cmd_spec *spec, int count, int least, int most, sl_err *err) SL_WUR;
/* The one of NAMES nearest to TEXT, NULL if none is near. Ends at a NULL name. */
const char *cmd_nearest(const char *text, const char *const *names);

/* Rows that several commands share. */
#define CMD_OPTION_WAREHOUSE(variable) \
    {"warehouse", 'w', CMD_TEXT, &(variable), "DIR", "The warehouse folder (default: SLUICE_WAREHOUSE, else ./warehouse)."}
#define CMD_OPTION_JSON \
    {"json", 0, CMD_FLAG, &cmd_json_errors, NULL, "Print JSON, also for errors."}
#define CMD_OPTION_VERBOSE \
    {"verbose", 'v', CMD_FLAG, &cmd_verbose, NULL, "Say more on standard error."}
#define CMD_OPTION_METRICS(variable) \
    {"metrics", 0, CMD_TEXT, &(variable), "HOST:PORT", "Serve metrics in Prometheus text form at http://HOST:PORT/metrics."}
#define CMD_OPTION_END {NULL, 0, CMD_FLAG, NULL, NULL, NULL}

const char *cmd_warehouse(const char *given); /* GIVEN, else SLUICE_WAREHOUSE, else "./warehouse" */

#endif
