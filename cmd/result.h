/*
 * result.h - results of SQL statements in the formats that people and programs read.
 */
#ifndef SLUICE_CMD_RESULT_H
#define SLUICE_CMD_RESULT_H

#include <stdio.h>

#include "sluice/sql.h"

enum cmd_format {
    CMD_FORMAT_TABLE,
    CMD_FORMAT_CSV,
    CMD_FORMAT_JSON,
    CMD_FORMAT_NDJSON,
    CMD_FORMAT_PARQUET
};

/* SL_EUSAGE, naming those there are. */
int cmd_format_of(const char *name, enum cmd_format *out, sl_err *err) SL_WUR;

struct cmd_result;
/* PARQUET is the file for rows of queries in that format. NULL if out of memory. */
struct cmd_result *cmd_result_new(enum cmd_format format, FILE *out, const char *parquet);
const struct sl_sql_sink *cmd_result_sink(struct cmd_result *r);
void cmd_result_abort(struct cmd_result *r); /* after a statement failed: ends what is begun */
void cmd_result_free(struct cmd_result *r);  /* NULL is fine */

#endif
