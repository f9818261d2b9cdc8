/* fuzz_index_manifest.c - index manifests of unknown origin: what is taken is written and read again as the same. */
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_index_manifest m = {0}, again = {0};
    struct sl_buf b = SL_BUF_INIT;

    if (sl_index_manifest_decode((sl_str){(const char *)data, size}, &m, NULL) != SL_OK) {
        sl_index_manifest_release(&m);
        return 0;
    }
    /* Global indexes and ranges above 2 GiB are read and never written. */
    if (sl_index_manifest_encode(m.v, m.n, &b, NULL) == SL_OK) {
        if (sl_index_manifest_decode(sl_buf_view(&b), &again, NULL) != SL_OK || again.n != m.n)
            abort();
        for (size_t i = 0; i < m.n; i++)
            if (m.v[i].ndvs != again.v[i].ndvs || !sl_str_eq(m.v[i].file_name, again.v[i].file_name))
                abort();
    }
    sl_index_manifest_release(&m);
    sl_index_manifest_release(&again);
    sl_buf_release(&b);
    return 0;
}
