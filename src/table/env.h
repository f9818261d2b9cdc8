/*
 * env.h - what stands behind an sl_env: the catalog, the engine once it is needed, tables by the names people type.
 */
#ifndef SL_TABLE_ENV_H
#define SL_TABLE_ENV_H

#include "engine/engine.h"
#include "sluice/env.h"
#include "table/append/append.h"

struct sl_catalog *sl_env_catalog(struct sl_env *env);                                  /* borrowed */
int sl_env_engine(struct sl_env *env, struct sl_engine **out, sl_err *err) SL_WUR;      /* borrowed; opened by the first call */
unsigned sl_env_threads(const struct sl_env *env);

/* "t", "db.t", "db.t$branch_b" in the warehouse (no database = "default"), or a path to a table's folder (anything with a '/').
 * The parts of the name may stand in backticks or double quotes. */
int sl_env_table(struct sl_env *env, sl_str name, struct sl_append **out, sl_err *err) SL_WUR;

/* The same for a log table; *OUT is NULL if the name is none of one. */
struct sl_log;
int sl_env_log(struct sl_env *env, sl_str name, struct sl_log **out, sl_err *err) SL_WUR;

#endif
