#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#ifdef SL_FAILPOINTS
static bool seeded(uint64_t *out)
{
    static _Atomic uint64_t step;
    const char *text = getenv("SLUICE_SEED");
    uint64_t seed;

    if (!text || !sl_parse_u64(sl_str_c(text), &seed))
        return false;
    uint64_t at = seed + 0x9E3779B97F4A7C15u * (atomic_fetch_add(&step, 1) + 1);
    *out = sl_hash64((sl_str){(const char *)&at, sizeof at});
    return true;
}
#endif

uint64_t sl_random(void)
{
    uint64_t v;

#ifdef SL_FAILPOINTS
    if (seeded(&v))
        return v;
#endif
    /* Up to 256 bytes come whole once the pool is up; only a signal during boot gives less. */
    while (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
        ;
    return v;
}

void sl_uuid(char out[37])
{
    uint64_t a = sl_random(), b = sl_random();

    a = (a & ~(uint64_t)0xF000) | 0x4000;
    b = (b & ~((uint64_t)3 << 62)) | (uint64_t)2 << 62;
    snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xFFFF),
             (unsigned)(a & 0xFFFF), (unsigned)(b >> 48), (unsigned long long)(b & 0xFFFFFFFFFFFF));
}
