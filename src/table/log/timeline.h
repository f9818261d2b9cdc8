/*
 * timeline.h - the instants of a log table and what became of each.
 *
 * Loading costs one listing of a folder; no instant file is read. 10,000 instants take some tens of milliseconds. Layouts 1 (versions up to 6)
 * and 2 (8, 9) give the same structure. Nothing here changes after loading; any thread may read it.
 */
#ifndef SL_TABLE_LOG_TIMELINE_H
#define SL_TABLE_LOG_TIMELINE_H

#include "format/hudi_meta.h"
#include "table/log/log.h"

struct sl_instant {
    int64_t time;                /* requested */
    int64_t completion;          /* completed ones: layout 2: from the name; layout 1: TIME. Else 0 */
    enum sl_hudi_action action;  /* completed: as the completed name says; pending: COMPACTION, LOGCOMPACTION and CLUSTERING by their names */
    enum sl_hudi_action planned; /* of its pending files: COMPACTION for a COMMIT that compacted; as ACTION if there are none */
    enum sl_hudi_state state;    /* the highest of its files */
    uint8_t files;               /* 1 << state of the files that are there */
    bool short_text;             /* written with 14 digits */
};

struct sl_timeline {
    struct sl_log *table;        /* borrowed */
    struct sl_instant *v;        /* owned; by time, then action: a savepoint has the time of the commit that it saves */
    size_t n, cap;
    int64_t newest;              /* greatest time seen, any action and state, completions too; 0 if none */
    int64_t first_write;         /* oldest instant that wrote data and is still on the timeline; 0 if none */
    int64_t stable;              /* readers see nothing later: an older instant might have been completed while the folder was listed. Often SL_INSTANT_LAST */
    bool has_history;            /* older instants were moved away (archived/ or history/ is not empty) */
};

int sl_timeline_load(struct sl_log *t, struct sl_timeline **out, sl_err *err) SL_WUR;
void sl_timeline_free(struct sl_timeline *tl); /* NULL is fine */

/* Writes data: COMMIT, DELTACOMMIT, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, CLUSTERING. */
bool sl_instant_writes(const struct sl_instant *i);
/* The instant at TIME that writes data; NULL if there is none. */
const struct sl_instant *sl_timeline_find(const struct sl_timeline *tl, int64_t time);

/* What became of the data that instant TIME wrote. */
enum sl_fate {
    SL_COMMITTED,  /* completed, or so old that it has left the timeline */
    SL_PENDING,    /* requested or inflight: being written, or its writer died */
    SL_GONE,       /* not on the timeline and not old: rolled back */
};
enum sl_fate sl_timeline_fate(const struct sl_timeline *tl, int64_t time);
/* Completion of a committed instant; TIME itself for those that left the timeline. */
int64_t sl_timeline_completion(const struct sl_timeline *tl, int64_t time);
/* Newest completed instant that writes data, at or before NOT_AFTER; NULL if there is none. */
const struct sl_instant *sl_timeline_latest(const struct sl_timeline *tl, int64_t not_after);

/* The path of an instant's file in STATE. Layout 2 needs the completed instant itself. */
void sl_instant_path(const struct sl_timeline *tl, const struct sl_instant *i, enum sl_hudi_state state, struct sl_buf *out);
/* The bytes of an instant's file; SL_ENOTFOUND if it is not there (any more). */
int sl_instant_read(const struct sl_timeline *tl, const struct sl_instant *i, enum sl_hudi_state state, struct sl_buf *out, sl_err *err) SL_WUR;
/* What a completed instant wrote. Memory of A. */
int sl_instant_commit(const struct sl_timeline *tl, const struct sl_instant *i, struct sl_arena *a, struct sl_hudi_commit *out,
                      sl_err *err) SL_WUR;
/* The Avro schema (JSON text) that the newest completed instant at or before NOT_AFTER says, appended; nothing is appended if none does. Reads
 * instants backwards until one says it. */
int sl_timeline_schema(const struct sl_timeline *tl, int64_t not_after, struct sl_buf *out, sl_err *err) SL_WUR;

#define SL_INSTANT_LAST INT64_MAX

#endif
