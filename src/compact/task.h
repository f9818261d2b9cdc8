/*
 * task.h - compaction tasks and their results, and their form as one JSON object a line (docs/format/tasks.md).
 *
 * A decoder takes any line and gives a valid object or an error: SL_ECORRUPT with the member, SL_EUNSUPPORTED for another version.
 */
#ifndef SL_COMPACT_TASK_H
#define SL_COMPACT_TASK_H

#include "format/paimon.h"

enum { SL_TASK_VERSION = 1 };
#define SL_TASK_KIND "compact-task"
#define SL_RESULT_KIND "compact-result"

/* A deletion vector by its place. A file whose vector has changed meanwhile is another file. */
struct sl_compact_dv {
    sl_str index_file; /* p == NULL: the data file has none */
    int64_t offset, length;
    int64_t cardinality; /* -1 if unknown */
};

struct sl_compact_input {
    struct sl_manifest_entry entry; /* kind ADD, without statistics */
    struct sl_compact_dv dv;
};

struct sl_compact_task {
    struct sl_arena arena; /* owns everything below */
    const char *id;        /* a uuid */
    const char *table;     /* absolute path */
    const char *branch;    /* NULL = main */
    int64_t snapshot;      /* planned on */
    const char *mark;      /* tells that snapshot from another one with its id */
    int64_t schema_id;     /* of the table when planned; the outputs have this one or a newer one */
    sl_str partition;      /* BinaryRow bytes */
    const char *partition_text; /* for people */
    uint64_t target_bytes;
    struct sl_compact_input *inputs; /* at least one */
    size_t ninputs;
};

struct sl_compact_result {
    struct sl_compact_task task; /* owned */
    struct sl_arena arena;       /* owns everything below */
    struct sl_manifest_entry *outputs; /* kind ADD; may be none: all rows were deleted */
    size_t noutputs;
    int64_t rows_deleted;        /* left out because of deletion vectors */
    int64_t millis;              /* the work took */
    int error;                   /* SL_OK, else the work failed and there are no outputs */
    const char *error_text;
};

int sl_compact_task_encode(const struct sl_compact_task *t, struct sl_buf *out, sl_err *err) SL_WUR; /* appends; no line feed */
int sl_compact_task_decode(sl_str line, struct sl_compact_task *out, sl_err *err) SL_WUR;
void sl_compact_task_release(struct sl_compact_task *t);

int sl_compact_result_encode(const struct sl_compact_result *r, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_compact_result_decode(sl_str line, struct sl_compact_result *out, sl_err *err) SL_WUR;
void sl_compact_result_release(struct sl_compact_result *r);

/* What tells a snapshot from a later one with the same id (after a rollback): its uuid, else a hash of its content. Memory from A. */
int sl_compact_mark(struct sl_arena *a, const struct sl_snapshot *s, const char **out, sl_err *err) SL_WUR;

bool sl_compact_dv_same(const struct sl_compact_dv *a, const struct sl_compact_dv *b); /* the same vector */

/* Is J what KIND says, in the version that we know? */
int sl_compact_check_kind(const json_t *j, const char *kind, sl_err *err) SL_WUR;
int sl_compact_code(sl_str name); /* of "SL_EIO"; SL_EFAIL for names that are not known */

/* ---- entry_json.c: one manifest entry as JSON ---- */
/* New reference, NULL if out of memory. The partition is left out; DELETE entries are not for here. */
json_t *sl_entry_to_json(const struct sl_manifest_entry *e, bool with_stats);
/* Memory from A; the partition stays empty. */
int sl_entry_from_json(const json_t *j, struct sl_arena *a, struct sl_manifest_entry *out, sl_err *err) SL_WUR;

#endif
