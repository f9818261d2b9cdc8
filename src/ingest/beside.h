/*
 * beside.h - compaction beside a load: a thread that keeps the files large while rows come in.
 */
#ifndef SL_INGEST_BESIDE_H
#define SL_INGEST_BESIDE_H

#include "base/sys.h"

struct sl_env;
struct sl_beside;
/* COMMITS counts the commits of the load; a pass follows some of them. What goes wrong is logged: it is no failure of the load. */
int sl_beside_start(struct sl_env *env, sl_str table, const atomic_uint_fast64_t *commits, struct sl_beside **out, sl_err *err) SL_WUR;
/* Ends it, after a last pass if LAST_PASS and there were commits since the one before. NULL is fine. */
void sl_beside_stop(struct sl_beside *b, bool last_pass);

#endif
