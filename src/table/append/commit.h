/*
 * commit.h - publish changes as one snapshot: all or nothing.
 *
 * The order of durable steps is docs/design/commit.md. Races that are lost are tried again without a limit, until sl_cancelled().
 */
#ifndef SL_TABLE_COMMIT_H
#define SL_TABLE_COMMIT_H

#include "table/append/manifests.h"

#define SL_BATCH_IDENTIFIER INT64_MAX

/* What an overwrite does to a live file. */
enum sl_file_fate {
    SL_STAYS,
    SL_GOES,
    SL_UNDECIDED, /* the request does not say: it was made for an earlier state of the table */
};

enum sl_overwrite {
    SL_OVERWRITE_NONE,
    SL_OVERWRITE_TABLE,      /* every file that is live at the commit point goes */
    SL_OVERWRITE_PARTITIONS, /* every live file of the partitions given goes */
    SL_OVERWRITE_CHOSEN,     /* the fate of every live file is what `fate` says of its partition */
};

struct sl_commit_request {
    const char *user;        /* NULL: a fresh one */
    int64_t identifier;      /* 0: SL_BATCH_IDENTIFIER */
    const char *kind;        /* "APPEND", "COMPACT", "OVERWRITE", "ANALYZE" */
    const char *operation;   /* "WRITE", "UPDATE", "DELETE", "OVERWRITE", "TRUNCATE", ...; NULL = none */
    const struct sl_manifest_entry *adds;
    size_t nadds;
    const struct sl_manifest_entry *deletes; /* as read: ADD entries; kind is set to DELETE by the commit */
    size_t ndeletes;
    enum sl_overwrite overwrite;
    const sl_str *partitions; /* BinaryRow bytes */
    size_t npartitions;
    enum sl_file_fate (*fate)(void *user, const struct sl_value *partition); /* npartition values */
    void *fate_user;
    const struct sl_option *properties; /* to set; keys must start with "sluice."; a NULL value removes one. The rest is carried forward */
    size_t nproperties;
    const char *const *identities;      /* whose positions are in PROPERTIES: tagged sluice-id-<name> afterwards (P2) */
    size_t nidentities;
    const char *read_index_manifest;    /* with deletes: index manifest of the snapshot that was read (NULL if it had none) */
    bool look_first;         /* this (user, identifier) may be committed already: look before the first try */
    bool allow_empty;        /* publish even if nothing changes */
};

struct sl_commit_result {
    int64_t snapshot_id;     /* 0: nothing changed and nothing was published */
    bool already;            /* found committed by an earlier call; this call's files are the caller's to discard if they are not in it */
    int64_t rows_added, rows_removed;
    size_t files_added, files_removed;
    int retries;
};

/* SL_ECONFLICT: files to delete are no longer live, or their deletion vectors changed, or a partition's fate is undecided, or the table was
 * made anew: plan again.
 * An error with SL_ERR_UNKNOWN_OUTCOME: it may be committed: do not discard the files; call again with look_first.
 * The same (user, identifier, kind) found with other properties or another number of rows is SL_EINPUT. */
int sl_commit_publish(struct sl_append *t, const struct sl_commit_request *req, struct sl_commit_result *out, sl_err *err) SL_WUR;

/* Newest snapshot by USER with IDENTIFIER and KIND (NULL: any), walking back to the earliest; *ID = 0 if none. */
int sl_commit_find(struct sl_append *t, const char *user, int64_t identifier, const char *kind, int64_t *id, sl_err *err) SL_WUR;
/* Greatest identifier of USER; false in *FOUND if none. */
int sl_commit_last_identifier(struct sl_append *t, const char *user, bool *found, int64_t *identifier, sl_err *err) SL_WUR;

/* The lock that orders local publishers (P8); also for rollback and the like. WAIT_MS as sl_store_lock. A folder that can't hold it gives NULL. */
int sl_commit_lock(struct sl_append *t, int64_t wait_ms, struct sl_lock **out, sl_err *err) SL_WUR;

#endif
