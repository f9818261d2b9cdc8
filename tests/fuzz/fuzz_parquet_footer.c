/* fuzz_parquet_footer.c - any bytes as a Parquet file's end: the pairs that are found lie within it. */
#include <stdlib.h>

#include "format/hudi_index.h"
#include "format/parquet_footer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read, or refused as damaged or not supported. */
static void expect(int rc)
{
    if (rc != SL_OK && rc != SL_ECORRUPT && rc != SL_EUNSUPPORTED)
        abort();
}

static void within(sl_str s, const uint8_t *data, size_t size)
{
    if (s.n && ((const uint8_t *)s.p < data || (const uint8_t *)s.p + s.n > data + size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str file = {(const char *)data, size};
    struct sl_parquet_footer f;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_index x;
    uint32_t n;

    if (size >= SL_PARQUET_TAIL && sl_parquet_footer_size(sl_str_sub(file, size - SL_PARQUET_TAIL, size), size, &n, NULL) == SL_OK &&
        sl_parquet_footer_read(&a, sl_str_sub(file, size - SL_PARQUET_TAIL - n, size - SL_PARQUET_TAIL), &f, NULL) == SL_OK) {
        for (size_t i = 0; i < f.nkv; i++) {
            within(f.kv[i].key, data, size);
            within(f.kv[i].value, data, size);
        }
        expect(sl_hudi_index_from_kv(&a, f.kv, f.nkv, &x, NULL));
    }
    sl_arena_release(&a);
    return 0;
}
