/* fuzz_bloom.c - bytes as bloom filters of both kinds: what is taken is written back as it was, and can be asked. */
#include <stdlib.h>

#include "format/bloom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(sl_str bytes, enum sl_bloom_kind kind)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf out = SL_BUF_INIT;
    struct sl_bloom_key k;
    struct sl_bloom b;

    if (sl_bloom_parse(&a, bytes, kind, &b, NULL) == SL_OK) {
        sl_bloom_key_init(&k, SL_LIT("key1"));
        (void)sl_bloom_may_hold(&b, &k);
        double rate = sl_bloom_rate(&b);
        if (!(rate >= 0 && rate <= 1.0000001))
            abort();
        sl_bloom_encode(&b, &out);
        if (!sl_str_eq(sl_buf_view(&out), bytes))
            abort();
    }
    sl_buf_release(&out);
    sl_arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one((sl_str){(const char *)data, size}, SL_BLOOM_SIMPLE);
    one((sl_str){(const char *)data, size}, SL_BLOOM_DYNAMIC);
    return 0;
}
