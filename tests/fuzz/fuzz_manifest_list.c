/* fuzz_manifest_list.c - manifest lists of unknown origin: what is taken is written and read again as the same. */
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_manifest_list l = {0}, again = {0};
    struct sl_buf b = SL_BUF_INIT;

    if (sl_manifest_list_decode((sl_str){(const char *)data, size}, &l, NULL) == SL_OK) {
        if (sl_manifest_list_encode(l.v, l.n, &b, NULL) != SL_OK || sl_manifest_list_decode(sl_buf_view(&b), &again, NULL) != SL_OK ||
            again.n != l.n)
            abort();
        for (size_t i = 0; i < l.n; i++)
            if (!sl_str_eq(l.v[i].file_name, again.v[i].file_name) || l.v[i].num_added_files != again.v[i].num_added_files ||
                l.v[i].partition_stats.nnull_counts != again.v[i].partition_stats.nnull_counts)
                abort();
    }
    sl_manifest_list_release(&l);
    sl_manifest_list_release(&again);
    sl_buf_release(&b);
    return 0;
}
