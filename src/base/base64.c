#include "base/str.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void sl_buf_base64(struct sl_buf *b, sl_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t have = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t v = (uint32_t)p[i] << 16;
        char four[4] = {'=', '=', '=', '='};

        if (have > 1)
            v |= (uint32_t)p[i + 1] << 8;
        if (have > 2)
            v |= p[i + 2];
        for (size_t k = 0; k <= have; k++)
            four[k] = alphabet[v >> (18 - 6 * k) & 63];
        sl_buf_addb(b, four, sizeof four);
    }
}

/* Value of a digit, plus one; 0: none. */
static const uint8_t digits[256] = {
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

bool sl_base64_decode(sl_str text, struct sl_buf *out)
{
    const unsigned char *p = (const unsigned char *)text.p;

    if (text.n % 4 != 0)
        return false;
    if (text.n == 0)
        return true;
    unsigned char *to = (unsigned char *)sl_buf_room(out, text.n / 4 * 3);
    if (!to)
        return false;
    for (size_t i = 0; i + 4 < text.n; i += 4, to += 3) {
        uint32_t a = digits[p[i]], b = digits[p[i + 1]], c = digits[p[i + 2]], d = digits[p[i + 3]];

        if (!a || !b || !c || !d)
            return false;
        uint32_t v = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
        to[0] = (unsigned char)(v >> 16);
        to[1] = (unsigned char)(v >> 8);
        to[2] = (unsigned char)v;
    }
    p += text.n - 4;
    size_t pad = p[3] != '=' ? 0 : p[2] == '=' ? 2 : 1;
    uint32_t v = 0;
    for (size_t k = 0; k < 4; k++) {
        uint32_t d = k >= 4 - pad ? 1 : digits[p[k]];

        if (!d)
            return false;
        v = v << 6 | (d - 1);
    }
    /* One spelling only: the bits that are left over must be zero. */
    if (v & ((1u << (8 * pad)) - 1))
        return false;
    for (size_t k = 0; k < 3 - pad; k++)
        *to++ = (unsigned char)(v >> (16 - 8 * k));
    out->n += text.n / 4 * 3 - pad;
    out->p[out->n] = '\0';
    return true;
}
