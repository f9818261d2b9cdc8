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

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool sl_base64_decode(sl_str text, struct sl_buf *out)
{
    if (text.n % 4 != 0)
        return false;
    for (size_t i = 0; i < text.n; i += 4) {
        bool last = i + 4 == text.n;
        size_t pad = last && text.p[i + 3] == '=' ? (text.p[i + 2] == '=' ? 2 : 1) : 0;
        uint32_t v = 0;

        for (size_t k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : digit_of(text.p[i + k]);

            if (d < 0)
                return false;
            v = v << 6 | (uint32_t)d;
        }
        /* One spelling only: the bits that are left over must be zero. */
        if (v & ((1u << (8 * pad)) - 1))
            return false;
        for (size_t k = 0; k < 3 - pad; k++)
            sl_buf_u8(out, (uint8_t)(v >> (16 - 8 * k)));
    }
    return true;
}
