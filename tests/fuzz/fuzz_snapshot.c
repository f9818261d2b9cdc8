/* fuzz_snapshot.c - snapshots and tags of unknown origin: what is taken is written, and from then on stays the same. */
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_snapshot one, two;
    struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

    if (sl_snapshot_decode((sl_str){(const char *)data, size}, &one, NULL) != SL_OK)
        return 0;
    if (sl_snapshot_encode(&one, &first, NULL) != SL_OK || sl_snapshot_decode(sl_buf_view(&first), &two, NULL) != SL_OK ||
        sl_snapshot_encode(&two, &second, NULL) != SL_OK || !sl_str_eq(sl_buf_view(&first), sl_buf_view(&second)))
        abort();
    sl_snapshot_release(&one);
    sl_snapshot_release(&two);
    sl_buf_release(&first);
    sl_buf_release(&second);
    return 0;
}
