/*
 * apply.h - commit results: check that the inputs are still live, publish one COMPACT snapshot, drop what came too late.
 */
#ifndef SL_COMPACT_APPLY_H
#define SL_COMPACT_APPLY_H

#include "compact/task.h"
#include "sluice/compact.h"
#include "table/append/append.h"

enum sl_apply_state {
    SL_APPLY_OPEN,   /* not decided; after a call: not committed, the outputs are still there */
    SL_APPLY_DONE,   /* committed now */
    SL_APPLY_KNOWN,  /* was committed before */
    SL_APPLY_AGAIN,  /* the inputs have changed: plan again; the outputs are dropped */
    SL_APPLY_FAILED, /* the work had failed, or an output is missing */
};

struct sl_apply_item {
    struct sl_compact_result *result; /* the caller's */
    enum sl_apply_state state;
    bool named;    /* of apply.c: a snapshot names an output */
    bool doubtful; /* of apply.c: not all snapshots that could name one can be read any more */
};

struct sl_apply_opts {
    const char *user;      /* NULL: by the tasks, so that applying them again finds it */
    int64_t identifier;    /* with USER */
    bool look_first;       /* these results may have been applied before, by a process that died */
    const struct sl_option *properties;
    size_t nproperties;
};

/* Results of table T, all in one snapshot; each item's state says what became of it. OPTS may be NULL. Counts into REPORT.
 * An error leaves the rest OPEN; with SL_ERR_UNKNOWN_OUTCOME they may be committed, so their outputs must stay. */
int sl_compact_apply_results(struct sl_append *t, struct sl_apply_item *items, size_t n, const struct sl_apply_opts *opts,
                             struct sl_compact_report *report, sl_err *err) SL_WUR;

/* The user that a commit of these OPEN items goes by: the task's id, or one made of all ids. */
int sl_apply_user(const struct sl_apply_item *items, size_t n, char out[37], sl_err *err) SL_WUR;

/* What a run with failed tasks ends with: a full disk or one that fails is told as that, all else as SL_EFAIL. */
static inline int sl_compact_failure_code(int code)
{
    return code == SL_ENOSPC || code == SL_EIO ? code : SL_EFAIL;
}

#endif
