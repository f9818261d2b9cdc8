/*
 * scratch.h - files without a name, for bytes that something else is to read by a path. They are gone with the last descriptor.
 */
#ifndef SL_STORE_SCRATCH_H
#define SL_STORE_SCRATCH_H

#include "base/str.h"

/* In $TMPDIR (else /tmp), or in memory where that cannot hold such files. */
int sl_scratch_new(int *fd, sl_err *err) SL_WUR;
int sl_scratch_add(int fd, sl_str bytes, sl_err *err) SL_WUR; /* at the end */
void sl_scratch_path(int fd, char out[32]);                   /* valid in this process while FD is open */
void sl_scratch_close(int fd);

#endif
