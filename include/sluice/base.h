/*
 * base.h - what every public call of Sluice shares: result codes, the error object, string views.
 *
 * Every function that can fail returns an int, SL_OK (0) or one of the negative codes below, and fills
 * the caller's sl_err, which may be NULL. Nothing here allocates.
 */
#ifndef SLUICE_BASE_H
#define SLUICE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_API __attribute__((visibility("default")))
#define SL_WUR __attribute__((warn_unused_result))
#define SL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define SL_VERSION "0.1.0"

/* A view of bytes: not terminated, never owned, valid as long as what it points into. */
typedef struct sl_str {
    const char *p;
    size_t n;
} sl_str;

#define SL_LIT(s) ((sl_str){("" s), sizeof(s) - 1})
#define SL_STRF "%.*s"
#define SL_STRV(s) (int)(s).n, (s).p

/* Codes. Text, exit status of the program and meaning stand in errors.def; numbers are never reused. */
enum sl_code {
#define SL_ERROR(name, number, exit_status, text) name = number,
#include "sluice/errors.def"
#undef SL_ERROR
};

enum sl_err_flag {
    SL_ERR_RETRY = 1,           /* the same call may work later */
    SL_ERR_UNKNOWN_OUTCOME = 2, /* it may have happened: look before repeating or deleting */
};

/* What went wrong. TEXT reads from the outermost context to the cause and is one sentence;
 * HINT, if not empty, says what to do. OFFSET is the byte position in the caller's own text (SQL)
 * that the error speaks of, -1 if none. */
typedef struct sl_err {
    int32_t code;
    int32_t os_errno; /* 0 when the system was not involved */
    uint32_t flags;
    uint32_t reserved;
    int64_t offset;
    char text[1500];
    char hint[524];
} sl_err;

#define SL_ERR_INIT {0, 0, 0, 0, -1, "", ""}

/* ---- filling the error object, for callbacks and programs too; ERR may be NULL ---- */

/* Set code and text; offset and flags are cleared. Return CODE, so that `return sl_err_set(...)` reads well. */
SL_API int sl_err_set(sl_err *err, int code, const char *fmt, ...) SL_PRINTF(3, 4);

/* As sl_err_set, with the errno of the failed system call: maps ENOENT, EEXIST, ENOSPC/EDQUOT/EFBIG, ENOMEM
 * to their codes and the rest to SL_EIO, and ends the text with ": <system's text>". */
SL_API int sl_err_sys(sl_err *err, int os_errno, const char *fmt, ...) SL_PRINTF(3, 4);

/* Put "<fmt>: " before the text. Keeps the code. When full, the cause stays and this piece is dropped. */
SL_API void sl_err_ctx(sl_err *err, const char *fmt, ...) SL_PRINTF(2, 3);
SL_API void sl_err_hint(sl_err *err, const char *fmt, ...) SL_PRINTF(2, 3); /* replaces the hint */

SL_API const char *sl_code_name(int code);   /* "SL_ECORRUPT"; static */
SL_API const char *sl_code_text(int code);   /* "damaged data"; static */
SL_API int sl_code_exit_status(int code);    /* exit status of the program for this code */

SL_API const char *sl_version(void);

SL_API void sl_free(void *p); /* memory that a call made the caller's; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
