/*
 * paimon.h - Paimon's metadata files: bytes <-> structs. Pure functions over memory.
 *
 * Members keep Paimon's own names (in our spelling) so that the code can be laid beside the specification; docs/format/paimon.md has the
 * tables. A decoder takes any bytes and gives a valid object or an error (SL_ECORRUPT with offset or member; SL_EUNSUPPORTED for versions by name).
 */
#ifndef SL_FORMAT_PAIMON_H
#define SL_FORMAT_PAIMON_H

#include "data/schema.h"
#include "data/predicate.h"

/* ---- schema-N ---- */
/* *OUT owns its memory (sl_schema_release). Refuses versions above 3. Does not judge options or primary keys: sl_append_check does. */
int sl_paimon_schema_decode(sl_str json, struct sl_schema *out, sl_err *err) SL_WUR;
int sl_paimon_schema_encode(const struct sl_schema *s, struct sl_buf *out, sl_err *err) SL_WUR; /* version 3 */

/* ---- snapshot-N, tag-NAME ---- */
struct sl_snapshot {
    struct sl_arena arena;          /* owns the strings */
    int64_t id, schema_id;
    const char *uuid;               /* NULL if absent, like all below without a note */
    const char *base_manifest_list, *delta_manifest_list; /* never NULL */
    int64_t base_manifest_list_size, delta_manifest_list_size; /* -1 if absent */
    const char *changelog_manifest_list;
    const char *index_manifest;
    const char *commit_user;        /* never NULL */
    int64_t commit_identifier;
    const char *commit_kind;        /* "APPEND", "COMPACT", "OVERWRITE", "ANALYZE"; others refused */
    int64_t time_millis;
    int64_t total_record_count, delta_record_count;
    int64_t watermark;              /* INT64_MIN if absent */
    const char *statistics;
    int64_t next_row_id;            /* -1 if absent */
    const char *operation;          /* "WRITE", "UPDATE", ... */
    const struct sl_option *properties;
    size_t nproperties;
    /* tags only: */
    int64_t tag_create_millis;      /* -1 if absent (local wall clock as if UTC) */
    double tag_retained_seconds;    /* -1 if absent */
};
int sl_snapshot_decode(sl_str json, struct sl_snapshot *out, sl_err *err) SL_WUR; /* refuses version above 3 */
int sl_snapshot_encode(const struct sl_snapshot *s, struct sl_buf *out, sl_err *err) SL_WUR; /* version 3, pretty, members in HEAD order; tag members if set */
void sl_snapshot_release(struct sl_snapshot *s);
const char *sl_snapshot_property(const struct sl_snapshot *s, const char *key); /* NULL if absent */

/* ---- BinaryRow ---- */
/* Serialized form: arity as 4 bytes big-endian, then the row. TYPES has N types; nested types only as null. */
int sl_binrow_encode(const struct sl_type *const *types, const struct sl_value *values, size_t n, struct sl_buf *out, sl_err *err) SL_WUR;
/* Strings in VALUES point into ROW. A wrong arity is SL_ECORRUPT. */
int sl_binrow_decode(sl_str row, const struct sl_type *const *types, size_t n, struct sl_value *values, sl_err *err) SL_WUR;
bool sl_binrow_arity(sl_str row, uint32_t *out);
#define SL_BINROW_EMPTY ((sl_str){"\0\0\0\0\0\0\0\0\0\0\0\0", 12})

/* ---- statistics of a file or a manifest ---- */
struct sl_stats {
    sl_str min, max;                /* BinaryRow bytes */
    const int64_t *null_counts;     /* -1 = unknown */
    size_t nnull_counts;            /* may be 0: nothing known */
};
/* Column I of NTYPES columns: what is known. Never fails: damaged or odd rows give "nothing known". */
bool sl_stats_column(const struct sl_stats *st, const struct sl_type *const *types, size_t ntypes, size_t i, struct sl_col_stats *out);

/* Truncation of string and byte bounds to N code points (bytes): facts 4.5. False: no upper bound, make both unknown. Memory from A. */
bool sl_stats_truncate(struct sl_arena *a, bool is_text, size_t n, struct sl_value *min, struct sl_value *max);

/* ---- manifest entries ---- */
struct sl_data_file {               /* DataFileMeta; names as there */
    sl_str file_name;
    int64_t file_size, row_count;
    sl_str min_key, max_key;
    struct sl_stats key_stats, value_stats;
    int64_t min_sequence_number, max_sequence_number;
    int64_t schema_id;
    int32_t level;
    const sl_str *extra_files;
    size_t nextra_files;
    int64_t creation_time;          /* INT64_MIN if null; local wall clock as if UTC */
    int64_t delete_row_count;       /* -1 if null */
    sl_str embedded_file_index;     /* p == NULL if null */
    int32_t file_source;            /* -1 if null, 0 written, 1 compacted */
    bool has_value_stats_cols;
    const sl_str *value_stats_cols;
    size_t nvalue_stats_cols;
    sl_str external_path;           /* p == NULL if null */
    int64_t first_row_id;           /* -1 if null */
    bool has_write_cols;
    const sl_str *write_cols;
    size_t nwrite_cols;
};
enum { SL_FILE_ADD = 0, SL_FILE_DELETE = 1 };
struct sl_manifest_entry {
    int32_t kind;                   /* SL_FILE_ADD, SL_FILE_DELETE */
    sl_str partition;               /* BinaryRow bytes, exactly as read */
    int32_t bucket, total_buckets;
    struct sl_data_file file;
};
/* Identity of facts 5.1 as bytes, appended to OUT; equal bytes = same file. */
void sl_entry_identity(struct sl_buf *out, const struct sl_manifest_entry *e);
/* A deep copy into A; false if out of memory. */
bool sl_entry_copy(struct sl_arena *a, const struct sl_manifest_entry *from, struct sl_manifest_entry *to);

/* Walk a manifest's bytes. FN gets an entry whose memory lives until FN returns (copy what is kept); a code other than SL_OK ends the walk.
 * WANT_STATS false skips decoding of statistics (they read as empty). Refuses ORC manifests and _VERSION other than 2 by name. */
int sl_manifest_decode(sl_str bytes, bool want_stats, int (*fn)(void *user, const struct sl_manifest_entry *e, sl_err *err), void *user,
                       sl_err *err) SL_WUR;
struct sl_manifest_writer;          /* collects entries, in order */
int sl_manifest_writer_new(struct sl_manifest_writer **out, sl_err *err) SL_WUR;
int sl_manifest_writer_add(struct sl_manifest_writer *w, const struct sl_manifest_entry *e, sl_err *err) SL_WUR;
size_t sl_manifest_writer_size(const struct sl_manifest_writer *w);  /* estimate of the finished file, for rolling */
int sl_manifest_writer_finish(struct sl_manifest_writer *w, struct sl_buf *out, sl_err *err) SL_WUR; /* container bytes, zstd */
void sl_manifest_writer_free(struct sl_manifest_writer *w);

/* ---- manifest list ---- */
struct sl_manifest_meta {
    sl_str file_name;
    int64_t file_size, num_added_files, num_deleted_files;
    struct sl_stats partition_stats;
    int64_t schema_id;
    int32_t min_bucket, max_bucket, min_level, max_level; /* INT32_MIN if null */
    int64_t min_row_id, max_row_id;                       /* -1 if null */
};
struct sl_manifest_list {
    struct sl_arena arena;
    struct sl_manifest_meta *v;
    size_t n, cap;
};
int sl_manifest_list_decode(sl_str bytes, struct sl_manifest_list *out, sl_err *err) SL_WUR; /* appends to OUT */
int sl_manifest_list_encode(const struct sl_manifest_meta *v, size_t n, struct sl_buf *out, sl_err *err) SL_WUR; /* n = 0: a header only */
void sl_manifest_list_release(struct sl_manifest_list *l);
/* Fill counts, schema id and partition stats of META from the entries of one manifest. TYPES = partition types. Memory from A. */
struct sl_manifest_tally;           /* accumulates entries */
int sl_manifest_tally_new(const struct sl_type *const *types, size_t n, struct sl_manifest_tally **out, sl_err *err) SL_WUR;
int sl_manifest_tally_add(struct sl_manifest_tally *t, const struct sl_manifest_entry *e, sl_err *err) SL_WUR;
int sl_manifest_tally_finish(struct sl_manifest_tally *t, struct sl_arena *a, struct sl_manifest_meta *meta, sl_err *err) SL_WUR;
void sl_manifest_tally_free(struct sl_manifest_tally *t);

/* ---- index manifest and deletion vectors ---- */
struct sl_dv_range {
    sl_str data_file;
    int64_t offset, length;
    int64_t cardinality;            /* -1 if unknown */
};
struct sl_index_entry {
    int32_t kind;
    sl_str partition;
    int32_t bucket;
    sl_str index_type, file_name;
    int64_t file_size, row_count;
    const struct sl_dv_range *dvs;  /* only for DELETION_VECTORS */
    size_t ndvs;
    sl_str external_path;           /* p == NULL if null */
    bool has_global_index;          /* a global index entry: kept by nobody, makes a table read-only */
};
struct sl_index_manifest {
    struct sl_arena arena;
    struct sl_index_entry *v;
    size_t n, cap;
};
int sl_index_manifest_decode(sl_str bytes, struct sl_index_manifest *out, sl_err *err) SL_WUR;
int sl_index_manifest_encode(const struct sl_index_entry *v, size_t n, struct sl_buf *out, sl_err *err) SL_WUR;
void sl_index_manifest_release(struct sl_index_manifest *m);

/* One deletion vector from an index file's bytes at its range (both bitmap forms; sizes and CRC checked). */
struct sl_dv;
int sl_dv_decode(sl_str index_file, const struct sl_dv_range *range, struct sl_dv **out, sl_err *err) SL_WUR;
bool sl_dv_contains(const struct sl_dv *dv, uint64_t row);   /* any thread */
uint64_t sl_dv_cardinality(const struct sl_dv *dv);
void sl_dv_free(struct sl_dv *dv);
/* A new index file holding the given vectors (32-bit form): bytes to OUT, RANGES (n) filled but for data_file. */
int sl_dv_encode_file(const struct sl_dv *const *dvs, size_t n, struct sl_buf *out, struct sl_dv_range *ranges, sl_err *err) SL_WUR;

/* ---- partition path (facts 1.1) ---- */
/* "k1=v1/k2=v2" for the values; LEGACY = option partition.legacy-name, DEFAULT_NAME = partition.default-name. Empty for no keys. */
int sl_partition_path(const struct sl_schema *s, const struct sl_value *values, struct sl_buf *out, sl_err *err) SL_WUR;

/* Any of the files above, recognised by content and name, as JSON for people; for `sluice inspect FILE`. SCHEMA may be NULL. */
int sl_paimon_describe(sl_str file_name, sl_str bytes, const struct sl_schema *schema, json_t **out, sl_err *err) SL_WUR;

#endif
