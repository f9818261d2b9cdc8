/*
 * parquet_footer.h - the few things of a Parquet file's footer that look-ups need, without a query: rows and key/value metadata.
 *
 * Source: parquet-format, FileMetaData in Thrift's compact protocol; the file ends with the footer, its size (4 bytes, little endian)
 * and "PAR1". Pure functions over memory: the caller reads the last bytes of a file, or of a block that holds one.
 */
#ifndef SL_FORMAT_PARQUET_FOOTER_H
#define SL_FORMAT_PARQUET_FOOTER_H

#include "format/hudi_properties.h"

enum { SL_PARQUET_TAIL = 8 };
/* Size of the footer before the last 8 bytes, from these, of a file of FILE_SIZE bytes. SL_EUNSUPPORTED: encrypted footers. */
int sl_parquet_footer_size(sl_str tail, uint64_t file_size, uint32_t *size, sl_err *err) SL_WUR;

struct sl_parquet_footer {
    int64_t rows;
    const struct sl_hudi_kv *kv; /* views into the footer, not terminated; value p == NULL if absent */
    size_t nkv;
};
/* FOOTER: exactly those bytes; they must outlive OUT. */
int sl_parquet_footer_read(struct sl_arena *a, sl_str footer, struct sl_parquet_footer *out, sl_err *err) SL_WUR;

#endif
