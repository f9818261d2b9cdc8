/*
 * blocks.h - the log blocks of a slice that count, in the order in which they are merged.
 *
 * The one rule of which blocks those are (facts on Hudi, 1.8), for readers, look-up and compaction alike: written by an instant that the view
 * sees, not the target of a rollback block of the slice, not replaced by the result of a log compaction, whole. A write that was
 * cut off is passed over and told of in `damage`; a block that was written to its end and is damaged is SL_ECORRUPT.
 */
#ifndef SL_TABLE_LOG_BLOCKS_H
#define SL_TABLE_LOG_BLOCKS_H

#include "format/hudi_log.h"
#include "table/log/view.h"

struct sl_block {
    const struct sl_log_file *file;
    int64_t offset, size;        /* of the whole block in the file */
    int64_t content_offset, content_size;
    int64_t records;             /* AVRO_DATA: how many; an index that says another number is not used. -1: other types */
    int64_t instant;             /* that wrote it */
    enum sl_hudi_block_type type; /* AVRO, PARQUET or DELETE */
    const char *schema;          /* Avro JSON of the writer; "" if the header has none. Equal texts are one pointer in one list */
    sl_str index;                /* AVRO_DATA: JSON of its index from header or footer, if it was asked for; p == NULL if it has none.
                                  * DELETE: there if it holds deletes of keys that no data block has (which wait for late rows), so look-up asks it */
    int64_t file_number;         /* position of FILE in the slice's logs */
};

struct sl_block_damage {
    const struct sl_log_file *file;
    struct sl_hudi_damage where;
};

struct sl_blocks {
    struct sl_arena arena;
    struct sl_block *v;          /* owned */
    size_t n, cap;
    struct sl_block_damage *damage; /* owned */
    size_t ndamage, damage_cap;
    size_t seen, invisible, rolled_back, commands; /* blocks of all kinds; for statistics and verify */
};
#define SL_BLOCKS_INIT {SL_ARENA_INIT, NULL, 0, 0, NULL, 0, 0, 0, 0, 0, 0}

/* Reads the heads of the blocks of S, not their contents, from the file's ranges. SL_EUNSUPPORTED, with path and offset: kinds of blocks that
 * are not read (HFILE_DATA, partial updates; DELETE of content version 1 or 2 is told when its content is read). A file that vanished is
 * SL_ENOTFOUND. WANT_INDEX: keep the indexes, which may be large. */
int sl_slice_blocks(const struct sl_view *v, const struct sl_slice *s, bool want_index, struct sl_blocks *out, sl_err *err) SL_WUR;
void sl_blocks_release(struct sl_blocks *b);

/* The content of a block, checked to be all there. */
int sl_block_read(struct sl_log *t, const struct sl_block *b, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
