/* fuzz_hudi_delete.c - contents of delete blocks of unknown origin: what is read is written, and from then on stays the same. */
#include <stdlib.h>

#include "format/hudi_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False: not readable, or with several ordering values, which are not written. */
static bool again(sl_str bytes, struct sl_buf *out)
{
    SL_VEC(struct sl_hudi_delete) all = {0};
    struct sl_hudi_deletes d;
    struct sl_hudi_delete one, *slot;
    bool more = true, ok = sl_hudi_deletes_open(bytes, &d, NULL) == SL_OK;

    while (ok && more) {
        ok = sl_hudi_deletes_next(&d, &one, &more, NULL) == SL_OK;
        if (ok && more && one.ordering.kind == SL_HUDI_ORD_ARRAY) {
            struct sl_cur items = sl_cur_of(one.ordering.s);
            int64_t n = 0;

            while (sl_hudi_ordering_item(&items, &one.ordering))
                n++;
            ok = false;
        } else if (ok && more && (slot = sl_vec_push(&all)) != NULL) {
            *slot = one;
        }
    }
    if (ok && sl_hudi_deletes_encode(all.v, all.n, out, NULL) != SL_OK)
        abort();
    sl_free(all.v);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;

    if (again((sl_str){(const char *)data, size}, &one) && (!again(sl_buf_view(&one), &two) || !sl_str_eq(sl_buf_view(&one), sl_buf_view(&two))))
        abort();
    sl_buf_release(&one);
    sl_buf_release(&two);
    return 0;
}
