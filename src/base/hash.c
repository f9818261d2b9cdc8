#include "base/sys.h"

#include <xxhash.h>
#include <zlib.h>

#include "base/mem.h"

uint32_t sl_crc32(uint32_t crc, sl_str s)
{
    return s.n ? (uint32_t)crc32_z(crc, (const unsigned char *)s.p, s.n) : crc;
}

uint64_t sl_hash64(sl_str s)
{
    return XXH64(s.n ? s.p : "", s.n, 0);
}

struct sl_hasher {
    XXH64_state_t *state; /* owned by xxhash */
};

struct sl_hasher *sl_hasher_new(void)
{
    struct sl_hasher *h = sl_calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->state = XXH64_createState();
    if (!h->state) {
        sl_free(h);
        return NULL;
    }
    XXH64_reset(h->state, 0);
    return h;
}

void sl_hasher_free(struct sl_hasher *h)
{
    if (!h)
        return;
    XXH64_freeState(h->state);
    sl_free(h);
}

void sl_hasher_add(struct sl_hasher *h, sl_str s)
{
    if (s.n)
        XXH64_update(h->state, s.p, s.n);
}

uint64_t sl_hasher_value(const struct sl_hasher *h)
{
    return XXH64_digest(h->state);
}
