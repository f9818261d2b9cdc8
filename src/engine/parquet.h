/*
 * parquet.h - write the rows of a SELECT to Parquet files, and look into Parquet files.
 *
 * Nothing here syncs: files and folders are the caller's to sync before anything refers to them.
 */
#ifndef SL_ENGINE_PARQUET_H
#define SL_ENGINE_PARQUET_H

#include "base/mem.h"
#include "data/type.h"
#include "engine/engine.h"

/* An entry of a file's key/value metadata: text without NUL bytes. */
struct sl_parquet_kv {
    sl_str key, value;
};

struct sl_parquet_spec {
    /* Absolute folder; its parent exists. Without partitions the files are DIR/<prefix><n>.parquet, and DIR may hold others.
     * With partitions they are DIR/<prefix>parts/<some folder>/<n>.parquet: the caller moves them to where they belong
     * and removes the emptied folders (sl_parquet_files_sweep). */
    sl_str dir;
    sl_str prefix;                 /* unique (a uuid in it); [A-Za-z0-9._-] only */
    const sl_str *partition;       /* SQL expressions over the columns of the SELECT; each is cast to VARCHAR, whose texts */
    size_t npartition;             /*   tell the partitions: any text, '' and NULL are different ones. 0: unpartitioned */
    uint64_t file_bytes;           /* unpartitioned: begin a new file at about this size; 0: one file. Overshoots by one row group */
    uint64_t row_group_bytes;      /* rows in memory, before encoding, of one row group; 0: 64 MiB, less where --memory is small */
    const char *compression;       /* "zstd" (NULL), "snappy", "lz4_raw", "gzip", "none" */
    int level;                     /* zstd; 0: 1 */
    const struct sl_field *fields; /* ids to write into the file, columns by position; NULL: none */
    size_t nfields;
    const struct sl_parquet_kv *kv; /* key/value metadata of the footer; NULL: none */
    size_t nkv;
    /* Memory. One value passes through about four copies on its way into a file, on each thread, so with values above about
     * 1/16 of --memory not all threads fit. `wide`: such values are to be expected; the write runs alone and on one thread,
     * and then needs about four times the widest value. It is slow with many small rows in many partitions.
     * `repeatable`: the SELECT may be run again (no row source that is used up), so a write that is out of memory is tried again as a wide one. */
    bool wide, repeatable;
    bool empty;                    /* one file, also without rows */
};

struct sl_parquet_stats {
    const char *name;              /* of a column: a; of a leaf within one (`nested`): "s"."x"."element", quoted so */
    bool nested;
    sl_str min, max;               /* DuckDB's texts (BLOB: hex); p == NULL: none. Long texts are cut, max rounded up: bounds, not values */
    int64_t null_count;            /* -1: not known */
    bool has_nan;                  /* then min and max leave out the NaNs */
};

struct sl_parquet_file {
    const char *path;              /* absolute */
    uint64_t size, rows;
    const sl_str *partition;       /* npartition texts; p == NULL is NULL */
    const struct sl_parquet_stats *stats;
    size_t nstats;
};

struct sl_parquet_files {
    struct sl_arena arena;         /* owns everything below */
    struct sl_parquet_file *v;
    size_t n;
    size_t npartition;
    uint64_t rows;
    const char *dir, *prefix;
};
#define SL_PARQUET_FILES_INIT {SL_ARENA_INIT, NULL, 0, 0, 0, NULL, NULL}

/* Run SELECT_SQL on C and write all columns of it. A SELECT without rows gives no file, unless `empty`. After a failure nothing is left in DIR. */
int sl_parquet_write(struct sl_conn *c, sl_str select_sql, const struct sl_parquet_spec *spec, struct sl_parquet_files *out,
                     sl_err *err) SL_WUR;
void sl_parquet_files_discard(const struct sl_parquet_files *f); /* removes the files from where they were written */
void sl_parquet_files_sweep(const struct sl_parquet_files *f);   /* removes the emptied folders of partitions */
void sl_parquet_files_release(struct sl_parquet_files *f);

/* One node of a file's schema, in the file's order, the root left out. */
struct sl_parquet_node {
    const char *name;
    const char *physical;          /* "INT32", "BYTE_ARRAY", ...; "" for groups */
    const char *converted;         /* "UTF8", "DECIMAL", ... or "" */
    const char *logical;           /* "TimestampType(isAdjustedToUTC=0, unit=...)" or "" */
    const char *repetition;        /* "OPTIONAL", ... */
    int32_t depth;                 /* 0: a column of the file */
    int32_t nchildren;
    int32_t field_id;              /* -1: none */
    int32_t type_length, precision, scale; /* 0 where there is none */
};
struct sl_parquet_info {
    struct sl_arena arena;         /* owns everything below */
    struct sl_parquet_node *v;
    size_t n;
    uint64_t rows, row_groups;
    const char *created_by;        /* "" if not told */
};
#define SL_PARQUET_INFO_INIT {SL_ARENA_INIT, NULL, 0, 0, 0, NULL}
/* From the footer alone. SL_ECORRUPT if it is no sound Parquet file, SL_ENOTFOUND if there is none. */
int sl_parquet_columns(struct sl_conn *c, sl_str path, struct sl_parquet_info *out, sl_err *err) SL_WUR;
void sl_parquet_info_release(struct sl_parquet_info *i);

/* PATH as a pattern of read_parquet that stands for it alone, appended: '*', '?' and '[' in brackets. False: it is PATH itself. */
bool sl_parquet_pattern(struct sl_buf *out, sl_str path);

#endif
