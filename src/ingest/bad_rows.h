/*
 * bad_rows.h - what happens to rows that cannot be taken: an error, or counted, or kept aside in a file.
 */
#ifndef SL_INGEST_BAD_ROWS_H
#define SL_INGEST_BAD_ROWS_H

#include "base/sys.h"
#include "sluice/ingest.h"
#include "store/store.h"

struct sl_bad_rows;
/* FILE: of QUARANTINE; made if missing, appended to. */
int sl_bad_rows_new(enum sl_ingest_on_error mode, sl_str file, struct sl_bad_rows **out, sl_err *err) SL_WUR;
void sl_bad_rows_free(struct sl_bad_rows *b); /* NULL is fine */

/* A row at LINE (from 1) and byte OFFSET of LABEL, TEXT of it (p == NULL: too long to show), with WHAT is wrong. SL_OK: go on without it;
 * else SL_EINPUT with ERR filled. Any thread. */
int sl_bad_row(struct sl_bad_rows *b, const char *label, uint64_t line, uint64_t offset, uint64_t at, sl_str text, const char *what,
               sl_err *err) SL_WUR;
int sl_bad_rows_flush(struct sl_bad_rows *b, sl_err *err) SL_WUR; /* all so far is on disk */
uint64_t sl_bad_rows_count(const struct sl_bad_rows *b);

#endif
