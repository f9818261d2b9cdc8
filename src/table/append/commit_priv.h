/* commit_priv.h - a commit under way: the parts of commit.c and commit_check.c. */
#ifndef SL_TABLE_COMMIT_PRIV_H
#define SL_TABLE_COMMIT_PRIV_H

#include "table/append/commit.h"

struct commit {
    struct sl_append *t;
    const struct sl_commit_request *req;
    struct sl_commit_result *result;
    const char *user;
    int64_t identifier;
    struct sl_manifest_list fixed;  /* manifests of the request's own entries, the same in every try */
    int64_t rows_added, rows_removed;
    struct sl_value *room;          /* two partitions */
    int64_t first_id;               /* first snapshot that was not looked at for this commit */
    int tries;
    bool unknown;                   /* it may be published: remove nothing */
};

struct attempt {
    struct sl_arena arena;
    bool has_latest;
    struct sl_snapshot latest;
    int64_t id, schema_id;
    struct sl_manifest_list base, delta;
    struct sl_live_set gone;        /* files that an overwrite removes */
    int64_t rows_removed;           /* of these */
    struct sl_names written;        /* files in manifest/ of this try alone */
    struct sl_buf json;
    char uuid[37];
};

/* SL_ECONFLICT unless every file to delete is live in the latest snapshot, with the deletion vector that was read. */
int sl_commit_check_deletes(struct commit *c, struct attempt *a, sl_err *err) SL_WUR;
/* Name of the index manifest of the new snapshot: the latest one's, or a new one without the vectors of removed files. */
int sl_commit_index(struct commit *c, struct attempt *a, const char **name, sl_err *err) SL_WUR;
/* After the commit was found published: is it the same data? SL_EINPUT if not. */
int sl_commit_same(struct commit *c, sl_err *err) SL_WUR;

#endif
