/*
 * unit.h - what every unit test includes first: cmocka, and a folder that goes away again.
 */
#ifndef SL_TESTS_UNIT_H
#define SL_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"

/* Fails with the error's text. */
#define assert_ok(call, err)                                                                  \
    do {                                                                                      \
        int assert_rc_ = (call);                                                              \
        if (assert_rc_ != SL_OK)                                                              \
            fail_msg("%s: %s: %s", #call, sl_code_name(assert_rc_), (err).text);              \
    } while (0)
#define assert_code(call, code) assert_string_equal(sl_code_name(call), sl_code_name(code))

/* A new folder under $TMPDIR or /tmp; remove it with unit_folder_remove. */
static inline char *unit_folder(void)
{
    static char path[4096];
    const char *base = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/sluice-unit.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path))
        abort();
    return path;
}

static inline void unit_folder_remove(const char *path)
{
    char command[5000];

    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0)
        abort();
}

#endif
