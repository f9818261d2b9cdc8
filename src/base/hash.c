#include "base/sys.h"

#include <xxhash.h>
#include <zlib.h>

uint32_t sl_crc32(uint32_t crc, sl_str s)
{
    return s.n ? (uint32_t)crc32_z(crc, (const unsigned char *)s.p, s.n) : crc;
}

uint64_t sl_hash64(sl_str s)
{
    return XXH64(s.n ? s.p : "", s.n, 0);
}
