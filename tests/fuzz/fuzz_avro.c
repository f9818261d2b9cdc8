/* fuzz_avro.c - Avro containers of unknown origin: every record is skipped by the writer's schema, within the bytes given. */
#include <stdlib.h>

#include "format/avro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_avro_reader *r;
    struct sl_cur c;
    int64_t n;

    if (sl_avro_open((sl_str){(const char *)data, size}, &r, NULL) != SL_OK)
        return 0;
    while (sl_avro_next_block(r, &n, &c, NULL) == SL_OK && n > 0) {
        if ((uint64_t)n > sl_cur_left(&c))
            abort();
        for (; n > 0 && !c.bad; n--)
            sl_avro_skip(&c, sl_avro_reader_schema(r));
    }
    sl_avro_close(r);
    return 0;
}
