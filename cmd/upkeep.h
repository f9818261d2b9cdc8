/*
 * upkeep.h - what the commands of upkeep share: progress, the list of removed files, the environment.
 */
#ifndef SLUICE_CMD_UPKEEP_H
#define SLUICE_CMD_UPKEEP_H

#include "cmd.h"
#include "sluice/env.h"
#include "sluice/table.h"

struct cmd_upkeep {
    struct sl_env *env;
    struct cmd_progress progress;
    bool list;        /* print each file that is removed */
    bool first;       /* of the list, in JSON */
    const char *verb;
};

/* Parse the command line by SPEC, take MIN to MAX operands, open the environment of *WAREHOUSE, which an option of SPEC may set.
 * *HELP: help was printed and there is nothing to do; the environment is not open then, nor after an error. */
int cmd_upkeep_start(struct cmd_upkeep *u, const struct cmd_spec *spec, int argc, char **argv, int min, int max,
                     const char *const *warehouse, int *operands, bool *help, sl_err *err) SL_WUR;
void cmd_upkeep_close(struct cmd_upkeep *u);
struct sl_upkeep cmd_upkeep_common(struct cmd_upkeep *u, bool dry_run);

int64_t cmd_i64(uint64_t n);                 /* the greatest int64 for what is above it */
int64_t cmd_age(uint64_t millis);           /* the same, with room left to be taken from a time */
sl_str cmd_str(const char *text);           /* NULL gives an empty view */
void cmd_time_text(int64_t millis, char out[32]); /* "2024-01-02 03:04:05" in UTC; "-" if not known (negative) */

#endif
