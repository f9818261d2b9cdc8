/* fuzz_manifest.c - manifests of unknown origin: entries that are taken are written and read again as the same files. */
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pass {
    struct sl_manifest_writer *w;
    struct sl_buf ids;
};

static int take(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct pass *p = user;

    sl_entry_identity(&p->ids, e);
    return sl_manifest_writer_add(p->w, e, err);
}

static int pass(sl_str bytes, struct pass *p, struct sl_buf *out)
{
    int rc = sl_manifest_writer_new(&p->w, NULL);

    if (rc == SL_OK)
        rc = sl_manifest_decode(bytes, true, take, p, NULL);
    if (rc == SL_OK)
        rc = sl_manifest_writer_finish(p->w, out, NULL);
    sl_manifest_writer_free(p->w);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pass one = {0}, two = {0};
    struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;
    json_t *j = NULL;

    if (pass((sl_str){(const char *)data, size}, &one, &first) == SL_OK) {
        if (pass(sl_buf_view(&first), &two, &second) != SL_OK || !sl_str_eq(sl_buf_view(&one.ids), sl_buf_view(&two.ids)) ||
            first.n != second.n)
            abort();
        if (sl_paimon_describe(SL_LIT("manifest-x"), sl_buf_view(&first), NULL, &j, NULL) != SL_OK)
            abort();
        json_decref(j);
    }
    sl_buf_release(&one.ids);
    sl_buf_release(&two.ids);
    sl_buf_release(&first);
    sl_buf_release(&second);
    return 0;
}
