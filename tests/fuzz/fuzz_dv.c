/* fuzz_dv.c - deletion vectors of unknown origin, given the size and the checksum that they need to be looked at. */
#include <stdlib.h>

#include "base/sys.h"
#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sl_dv *dv)
{
    struct sl_buf b = SL_BUF_INIT;
    struct sl_dv_range range = {.data_file = SL_LIT("d")};
    struct sl_dv *again = NULL;

    if (sl_dv_encode_file(&dv, 1, &b, &range, NULL) == SL_OK) {
        if (sl_dv_decode(sl_buf_view(&b), &range, &again, NULL) != SL_OK || sl_dv_cardinality(again) != sl_dv_cardinality(dv))
            abort();
        for (uint64_t row = 0; row < 200; row++)
            if (sl_dv_contains(dv, row) != sl_dv_contains(again, row))
                abort();
    }
    sl_dv_free(again);
    sl_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str body = {(const char *)data, size};
    struct sl_dv *dv = NULL;
    struct sl_buf b = SL_BUF_INIT;

    sl_buf_u8(&b, 1);
    sl_buf_u32be(&b, (uint32_t)size);
    sl_buf_add(&b, body);
    sl_buf_u32be(&b, sl_crc32(0, body));
    for (int wide = 0; wide < 2; wide++) {
        struct sl_dv_range range = {SL_LIT("d"), 1, (int64_t)size + (wide ? 8 : 0), -1};

        if (sl_dv_decode(sl_buf_view(&b), &range, &dv, NULL) == SL_OK)
            check(dv);
        sl_dv_free(dv);
    }
    /* As it is, at any place. */
    struct sl_dv_range range = {SL_LIT("d"), size ? data[0] : 0, size > 1 ? data[1] : 0, -1};
    if (sl_dv_decode(body, &range, &dv, NULL) == SL_OK)
        sl_dv_free(dv);
    sl_buf_release(&b);
    return 0;
}
