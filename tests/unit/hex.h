/* hex.h - bytes of test vectors as hexadecimal text; blanks between digits do not count. */
#ifndef SL_TESTS_HEX_H
#define SL_TESTS_HEX_H

#include "base/str.h"

static inline sl_str hex_bytes(const char *text)
{
    static char room[8][4096];
    static int turn;
    char *p = room[turn = (turn + 1) % 8];
    size_t n = 0;
    int high = -1;

    for (; *text; text++) {
        int d = *text >= '0' && *text <= '9' ? *text - '0' : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10 : -1;

        if (d < 0)
            continue;
        if (high < 0) {
            high = d;
        } else {
            p[n++] = (char)(high * 16 + d);
            high = -1;
        }
    }
    return (sl_str){p, n};
}

static inline const char *hex_text(sl_str s)
{
    static char room[8192];

    for (size_t i = 0; i < s.n && i < 4000; i++)
        snprintf(room + 2 * i, 3, "%02x", (unsigned char)s.p[i]);
    room[2 * (s.n < 4000 ? s.n : 4000)] = '\0';
    return room;
}

#endif
