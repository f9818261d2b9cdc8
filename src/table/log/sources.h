/*
 * sources.h - the base files and data blocks of file slices as sources of a look-up: what is known of their keys, and the keys.
 *
 * The range and filter of a base file stand in its footer, of a block in its header, footer, or the footer of the Parquet file in it. What
 * blocks of other writers do not tell is computed from their keys once, and kept (decision L13).
 */
#ifndef SL_TABLE_LOG_SOURCES_H
#define SL_TABLE_LOG_SOURCES_H

#include "engine/engine.h"
#include "index/lookup.h"
#include "table/log/blocks.h"

struct sl_key_source {
    const struct sl_slice *slice;
    const struct sl_block *block; /* NULL: the base file */
    int64_t instant;              /* that wrote it */
};

struct sl_key_sources {
    struct sl_arena arena;                /* owns the indexes */
    const struct sl_view *view;           /* borrowed */
    SL_VEC(struct sl_key_source) v;
    SL_VEC(struct sl_lookup_source) known; /* of the same sources */
    SL_VEC(struct sl_blocks *) blocks;    /* owned */
};
#define SL_KEY_SOURCES_INIT {SL_ARENA_INIT, NULL, {NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}}

/* Adds the sources of N slices. WANTED (may be NULL) says which instants count. CONN reads footers. */
int sl_key_sources_add(struct sl_key_sources *s, struct sl_conn *conn, const struct sl_view *view, const struct sl_slice *slices, size_t n,
                       bool (*wanted)(void *user, int64_t instant), void *user, sl_err *err) SL_WUR;
void sl_key_sources_release(struct sl_key_sources *s);
/* The keys of source I, as sl_lookup.read. */
int sl_key_source_read(struct sl_key_sources *s, struct sl_conn *conn, size_t i, const sl_str *wanted, size_t n, sl_lookup_take_fn *take,
                       void *to, sl_err *err) SL_WUR;

#endif
