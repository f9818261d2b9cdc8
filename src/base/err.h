/*
 * err.h - filling and passing on the error object of include/sluice/base.h.
 *
 * The lowest level that knows the facts calls sl_err_set; each level above adds one piece with
 * sl_err_ctx only if it knows something new (which table, which file, which line). Wording: one
 * sentence without a full stop, sizes with units, paths as the user gave them, in double quotes.
 */
#ifndef SL_BASE_ERR_H
#define SL_BASE_ERR_H

#include "sluice/base.h"

void sl_err_flag(sl_err *err, uint32_t flags);
void sl_err_at(sl_err *err, int64_t offset);
void sl_err_clear(sl_err *err);
int sl_err_nomem(sl_err *err); /* SL_ENOMEM with the usual text */

/* Return the code; only while this function owns nothing. */
#define SL_TRY(call)                   \
    do {                               \
        int sl_try_rc_ = (call);       \
        if (sl_try_rc_ != SL_OK)       \
            return sl_try_rc_;         \
    } while (0)

/* rc = code; goto done; from the first owned thing onwards. */
#define SL_GO(call)         \
    do {                    \
        rc = (call);        \
        if (rc != SL_OK)    \
            goto done;      \
    } while (0)

#define SL_GOTO_NOMEM(err)      \
    do {                        \
        rc = sl_err_nomem(err); \
        goto done;              \
    } while (0)

#endif
