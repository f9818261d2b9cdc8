/* stats.h - statistics of a written Parquet file as Paimon keeps them in the manifest. */
#ifndef SL_TABLE_STATS_H
#define SL_TABLE_STATS_H

#include "engine/parquet.h"
#include "format/paimon.h"

/* Value statistics of F, a file with all columns of S in order, by the table's metadata.stats-mode. Memory from A. */
int sl_file_stats(const struct sl_schema *s, const struct sl_parquet_file *f, struct sl_arena *a, struct sl_stats *out, sl_err *err) SL_WUR;
/* SL_EINPUT, naming the column, if a NOT NULL column has nulls. */
int sl_file_check_nulls(const struct sl_schema *s, const struct sl_parquet_file *f, sl_err *err) SL_WUR;
/* Does the file look as readers expect it (facts 7.1)? SL_EBUG, naming the column, if not. */
int sl_file_check_columns(const struct sl_schema *s, const struct sl_parquet_info *info, sl_err *err) SL_WUR;

#endif
