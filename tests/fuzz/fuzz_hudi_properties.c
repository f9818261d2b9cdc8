/* fuzz_hudi_properties.c - properties of unknown origin: what is taken is written, and reads back the same. */
#include <stdlib.h>

#include "format/hudi_properties.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read, or refused as damaged or not supported. */
static void expect(int rc)
{
    if (rc != SL_OK && rc != SL_ECORRUPT && rc != SL_EUNSUPPORTED)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_hudi_properties p, q;
    struct sl_hudi_config c;
    struct sl_buf b = SL_BUF_INIT;

    if (sl_hudi_properties_parse((sl_str){(const char *)data, size}, &p, NULL) != SL_OK)
        return 0;
    expect(sl_hudi_config_read(&p, &c, NULL));
    sl_hudi_properties_unset(&p, "hoodie.table.checksum");
    if (sl_hudi_properties_encode(&p, 0, &b, NULL) != SL_OK || sl_hudi_properties_parse(sl_buf_view(&b), &q, NULL) != SL_OK || q.n != p.n + 1)
        abort();
    for (size_t i = 0; i < p.n; i++)
        if (!sl_str_eq(p.v[i].key, q.v[i].key) || !sl_str_eq(p.v[i].value, q.v[i].value))
            abort();
    sl_hudi_properties_release(&p);
    sl_hudi_properties_release(&q);
    sl_buf_release(&b);
    return 0;
}
