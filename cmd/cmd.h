/*
 * cmd.h - what the commands share: the table of commands, output helpers, the progress line.
 */
#ifndef SLUICE_CMD_CMD_H
#define SLUICE_CMD_CMD_H

#include <stdio.h>

#include "options.h"
#include "sluice/base.h"
#include "sluice/sys.h"

/* argv[0] is the command's name. What goes wrong is left in ERR, which main prints; the status of the program
 * follows from the code returned. */
struct sl_command {
    const char *name;
    const char *summary; /* one line for the list of commands */
    int (*run)(int argc, char **argv, sl_err *err);
};

int cmd_compact(int argc, char **argv, sl_err *err);
int cmd_expire(int argc, char **argv, sl_err *err);
int cmd_clean(int argc, char **argv, sl_err *err);
int cmd_rollback(int argc, char **argv, sl_err *err);
int cmd_tag(int argc, char **argv, sl_err *err);
int cmd_inspect(int argc, char **argv, sl_err *err);
int cmd_verify(int argc, char **argv, sl_err *err);
int cmd_doctor(int argc, char **argv, sl_err *err);
int cmd_ingest(int argc, char **argv, sl_err *err);
int cmd_sql(int argc, char **argv, sl_err *err);

/* True if --json was given to the command: errors are then printed as JSON too. */
extern bool cmd_json_errors;
/* Lines that show the place that the error speaks of, printed behind it; owned, NULL if there are none. */
extern char *cmd_error_excerpt;
void cmd_print_error(const sl_err *err);
extern bool cmd_verbose; /* notices of the log are printed, not only warnings */

void cmd_print_json_string(FILE *f, const char *text); /* with quotes and escapes; NULL prints null */
const char *cmd_size_text(uint64_t bytes, char out[32]); /* "1.5 GiB" */

/* ---- progress: one updating line on a terminal, else plain lines at most every 5 s; both on stderr ---- */
struct cmd_progress {
    int64_t last_nanos; /* of the last line shown; 0 = none */
    bool off;
};
void cmd_progress_show(struct cmd_progress *p, const char *fmt, ...) SL_PRINTF(2, 3); /* may be dropped */
bool cmd_progress_due(const struct cmd_progress *p); /* whether the next _show would show anything */
void cmd_progress_last(struct cmd_progress *p, const char *fmt, ...) SL_PRINTF(2, 3); /* always shown, kept */
void cmd_progress_clear(void); /* takes the line off the terminal before something else is printed */

#endif
