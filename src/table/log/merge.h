/*
 * merge.h - which records in the logs of a slice are the newest of their keys.
 *
 * One pass over keys and ordering values gives two bits a record: does it stand for its key, and does it win over the base file's row
 * whatever that one's ordering value is. Rows are decoded afterwards, winners alone. Memory is bounded: where the keys of a slice do not fit they
 * are taken in several passes, each over a share of them.
 */
#ifndef SL_TABLE_LOG_MERGE_H
#define SL_TABLE_LOG_MERGE_H

#include "data/value.h"
#include "engine/engine.h"
#include "table/log/blocks.h"

struct sl_merge {
    struct sl_log *table;
    const struct sl_view *view;
    bool event_time;                     /* else commit time */
    struct sl_field ordering;            /* name and type of the ordering column; event time only */
    const struct sl_hudi_alias *aliases; /* of the schema that is read */
    size_t naliases;
    size_t memory;                       /* bytes for the keys of one slice, about; 0 = no limit */
    const struct sl_map *only;           /* keys to look at; NULL = all */
    /* Hands out key and ordering value of each row of a PARQUET block, in any order; NULL: such blocks are an error. */
    int (*parquet)(void *user, const struct sl_block *b, int (*row)(void *fold, int64_t row, sl_str key, const struct sl_value *ordering, sl_err *err),
                   void *fold, sl_err *err);
    void *parquet_user;
};

struct sl_block_marks {
    int64_t records;
    uint64_t *newest, *always;  /* bit a record */
};

struct sl_merged {
    struct sl_arena arena;
    const struct sl_blocks *blocks; /* borrowed */
    struct sl_block_marks *marks; /* one a block */
    size_t newest;              /* records that stand for their keys, deletes included */
};
#define SL_MERGED_INIT {SL_ARENA_INIT, NULL, NULL, 0}

/* BLOCKS: of one slice (sl_slice_blocks); must outlive OUT. Any thread, for different slices at a time. */
int sl_merge_blocks(const struct sl_merge *m, const struct sl_blocks *blocks, struct sl_merged *out, sl_err *err) SL_WUR;
void sl_merged_release(struct sl_merged *m);

static inline bool sl_mark_get(const uint64_t *bits, int64_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

/* The ordering value of a delete as one of the ordering column; *NONE if it has no event time, or one that does not compare with the column. */
void sl_merge_delete_ordering(const struct sl_type *type, const struct sl_hudi_ordering *o, struct sl_value *out, bool *none);

/* Parsed writer schemas and decoders by the text of the schema; for one thread. */
struct sl_decoders;
int sl_decoders_new(const struct sl_hudi_projection *p, struct sl_decoders **out, sl_err *err) SL_WUR; /* P's arrays are borrowed */
void sl_decoders_free(struct sl_decoders *d); /* NULL is fine */
int sl_decoders_get(struct sl_decoders *d, const char *schema, struct sl_hudi_decoder **out, sl_err *err) SL_WUR;

#endif
