/* fuzz_ts_schema.c - schemas beside blocks, from the peer: what was read is written and read again. */
#include <stdlib.h>

#include "format/tsblock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT;
    const struct sl_field *f;
    const struct sl_ts_column *cols, *again;
    size_t n, m;

    if (sl_ts_schema_read(&a, (sl_str){(const char *)data, size}, &f, &cols, &n, NULL) == SL_OK) {
        if (sl_ts_schema_write(&b, f, cols, n, NULL) != SL_OK || sl_ts_schema_read(&a, sl_buf_view(&b), &f, &again, &m, NULL) != SL_OK ||
            m != n)
            abort();
        for (size_t i = 0; i < n; i++)
            if (cols[i].ts != again[i].ts || cols[i].form != again[i].form || !sl_type_same(cols[i].type, again[i].type, false))
                abort();
    }
    sl_buf_release(&b);
    sl_arena_release(&a);
    return 0;
}
