/* plan_priv.h - what plan.c and plan_sql.c share. */
#ifndef SL_TABLE_PLAN_PRIV_H
#define SL_TABLE_PLAN_PRIV_H

#include <pthread.h>

#include "engine/rows.h"
#include "table/append/plan.h"

/* A deletion vector of a file of the plan, decoded when its file is first read. */
struct plan_dv {
    const struct sl_plan_file *file;
    struct sl_dv *dv;               /* owned; NULL until read */
};

struct sl_plan_io {
    struct sl_arena arena;
    struct sl_live_set live;        /* what the entries live in */
    struct sl_index_manifest index;
    struct sl_reader *reader;
    /* deletion vectors */
    pthread_mutex_t lock;
    struct sl_map *dvs;             /* absolute path -> struct plan_dv in the arena */
    struct sl_engine *engine;       /* where the filter is registered; NULL if it is not */
    uint64_t filter;
};

/* Register the filter of deletion vectors with the engine, once. */
int sl_plan_filter(struct sl_plan *p, struct sl_engine *engine, sl_err *err) SL_WUR;

#endif
