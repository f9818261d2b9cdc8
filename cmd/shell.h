/* shell.h - statements typed by a person. */
#ifndef SLUICE_CMD_SHELL_H
#define SLUICE_CMD_SHELL_H

#include "cmd.h"
#include "result.h"

/* Reads statements from the terminal until its end. Errors of statements are printed, not returned.
 */
int cmd_shell(struct sl_session *s, struct cmd_result *out, sl_err *err) SL_WUR;

/* Runs TEXT; an error gets its line and column (in FILE, if not NULL), and the place to show. */
int cmd_sql_run(struct sl_session *s, struct cmd_result *out, sl_str text, const char *file,
                sl_err *err) SL_WUR;

#endif
