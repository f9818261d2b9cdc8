#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int number;
    int exit_status;
    const char *name;
    const char *text;
} codes[] = {
#define SL_ERROR(name, number, exit_status, text) {number, exit_status, #name, text},
#include "sluice/errors.def"
#undef SL_ERROR
};

enum { CODE_COUNT = sizeof codes / sizeof codes[0] };

static size_t code_index(int code)
{
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (codes[i].number == code)
            return i;
    return CODE_COUNT;
}

const char *sl_code_name(int code)
{
    size_t i = code_index(code);

    return i < CODE_COUNT ? codes[i].name : "SL_?";
}

const char *sl_code_text(int code)
{
    size_t i = code_index(code);

    return i < CODE_COUNT ? codes[i].text : "unknown error";
}

int sl_code_exit_status(int code)
{
    size_t i = code_index(code);

    return i < CODE_COUNT ? codes[i].exit_status : 1;
}

const char *sl_version(void)
{
    return SL_VERSION;
}

void sl_err_clear(sl_err *err)
{
    if (!err)
        return;
    err->code = SL_OK;
    err->os_errno = 0;
    err->flags = 0;
    err->reserved = 0;
    err->offset = -1;
    err->text[0] = '\0';
    err->hint[0] = '\0';
}

/* A text cut in the middle of a UTF-8 sequence would print as rubbish: cut before it. */
static void cut_clean(char *text)
{
    size_t n = strlen(text), i = n;

    while (i > 0 && n - i < 4 && ((unsigned char)text[i - 1] & 0xC0) == 0x80)
        i--;
    if (i == 0)
        return;
    unsigned char lead = (unsigned char)text[i - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (lead >= 0xC0 && n - (i - 1) < want)
        text[i - 1] = '\0';
}

static void set_text(char *dst, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(dst, size, fmt, ap);

    if (n < 0)
        dst[0] = '\0';
    else if ((size_t)n >= size)
        cut_clean(dst);
}

int sl_err_set(sl_err *err, int code, const char *fmt, ...)
{
    /* The old text may be an argument of the new one. */
    char text[sizeof err->text];
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    set_text(text, sizeof text, fmt, ap);
    va_end(ap);
    sl_err_clear(err);
    err->code = code;
    memcpy(err->text, text, strlen(text) + 1);
    return code;
}

static int code_of_errno(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
        return SL_ENOTFOUND;
    case EEXIST:
        return SL_EEXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return SL_ENOSPC;
    case ENOMEM:
        return SL_ENOMEM;
    default:
        return SL_EIO;
    }
}

int sl_err_sys(sl_err *err, int os_errno, const char *fmt, ...)
{
    int code = code_of_errno(os_errno);
    char text[sizeof err->text], why[128];
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    set_text(text, sizeof text, fmt, ap);
    va_end(ap);
    sl_err_clear(err);
    err->code = code;
    err->os_errno = os_errno;
    int n = snprintf(err->text, sizeof err->text, "%s: %s", text,
                     strerror_r(os_errno, why, sizeof why));
    if (n >= (int)sizeof err->text)
        cut_clean(err->text);
    return code;
}

void sl_err_ctx(sl_err *err, const char *fmt, ...)
{
    char piece[sizeof err->text];
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    set_text(piece, sizeof piece, fmt, ap);
    va_end(ap);

    size_t old = strlen(err->text), add = strlen(piece);
    if (add + 2 + old + 1 > sizeof err->text)
        return;
    memmove(err->text + add + 2, err->text, old + 1);
    memcpy(err->text, piece, add);
    memcpy(err->text + add, ": ", 2);
}

void sl_err_hint(sl_err *err, const char *fmt, ...)
{
    char text[sizeof err->hint];
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    set_text(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(err->hint, text, strlen(text) + 1);
}

void sl_err_flag(sl_err *err, uint32_t flags)
{
    if (err)
        err->flags |= flags;
}

void sl_err_at(sl_err *err, int64_t offset)
{
    if (err)
        err->offset = offset;
}

int sl_err_nomem(sl_err *err)
{
    return sl_err_set(err, SL_ENOMEM, "out of memory");
}
