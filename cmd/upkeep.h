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

int cmd_upkeep_open(struct cmd_upkeep *u, const char *warehouse, sl_err *err) SL_WUR;
void cmd_upkeep_close(struct cmd_upkeep *u);
struct sl_upkeep cmd_upkeep_common(struct cmd_upkeep *u, bool dry_run);

sl_str cmd_str(const char *text);           /* NULL gives an empty view */
void cmd_time_text(int64_t millis, char out[32]); /* "2024-01-02 03:04:05" in UTC; "-" if not known (negative) */

#endif
