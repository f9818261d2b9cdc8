/* fuzz_hudi_index.c - text as the index of a block: what is taken has the right checksum and is written back with the same meaning. */
#include <stdlib.h>

#include "format/hudi_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;
    struct sl_hudi_index x, y;
    struct sl_bloom_key k;

    if (sl_hudi_index_parse(&a, (sl_str){(const char *)data, size}, &x, NULL) == SL_OK) {
        sl_bloom_key_init(&k, SL_LIT("key1"));
        (void)sl_hudi_index_test(&x, &k);
        sl_hudi_index_json(&x, &b);
        if (sl_hudi_index_parse(&a, sl_buf_view(&b), &y, NULL) != SL_OK || y.records != x.records || !sl_str_eq(x.min, y.min) ||
            !sl_str_eq(x.max, y.max))
            abort();
        sl_hudi_index_json(&y, &again);
        if (!sl_str_eq(sl_buf_view(&b), sl_buf_view(&again)))
            abort();
    }
    sl_arena_release(&a);
    sl_buf_release(&b);
    sl_buf_release(&again);
    return 0;
}
