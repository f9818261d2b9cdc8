/*
 * place.h - how far one input file has been read, and whether a file is still the one that was.
 *
 * A file is known again by device and inode, or by its bytes: a hash of the first 4 KiB and of the last 4 KiB before
 * the offset. Files that were copied or renamed are found by their bytes, files that were changed are told apart.
 */
#ifndef SL_INGEST_PLACE_H
#define SL_INGEST_PLACE_H

#include "base/json.h"

enum { SL_PLACE_SAMPLE = 4096 };

struct sl_place {
    char *path;                 /* owned, absolute; NULL: standard input */
    uint64_t device, inode;
    uint64_t offset;            /* bytes, or rows of a Parquet file */
    uint64_t lines;             /* before the offset */
    uint64_t head, tail;        /* hashes; of standard input HEAD is of all bytes */
    uint32_t head_n, tail_n;    /* bytes hashed */
};

void sl_place_release(struct sl_place *p);
int sl_place_copy(struct sl_place *to, const struct sl_place *from, sl_err *err) SL_WUR;
/* Take device, inode and hashes from the open file FD, for BYTES bytes read of it (the offset, but for Parquet). */
int sl_place_mark(struct sl_place *p, int fd, uint64_t bytes, sl_err *err) SL_WUR;
/* Do the first BYTES bytes of FD look as they did? *WHY is static text if not. */
int sl_place_check(const struct sl_place *p, int fd, uint64_t bytes, bool *same, const char **why, sl_err *err) SL_WUR;
json_t *sl_place_json(const struct sl_place *p); /* new reference; NULL if out of memory */
int sl_place_from_json(const json_t *j, struct sl_place *out, sl_err *err) SL_WUR;

#endif
