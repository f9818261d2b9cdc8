/* fuzz_hudi_record.c - a schema, a zero byte, a record: what can be read can be written, and from then on stays the same. */
#include <stdlib.h>
#include <string.h>

#include "format/hudi_avro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct codec {
    struct sl_hudi_schema schema;
    struct sl_hudi_decoder *d;
    struct sl_hudi_encoder *e;
    struct sl_batch *b;
};

static bool again(struct codec *c, sl_str record, struct sl_buf *out)
{
    struct sl_hudi_meta_values meta = {.v = {SL_LIT("t"), SL_LIT("s"), SL_LIT("k"), SL_LIT(""), SL_LIT("f")}};

    sl_batch_reset(c->b);
    if (sl_hudi_decoder_row(c->d, record, c->b, 0, NULL) != SL_OK)
        return false;
    if (sl_hudi_encoder_row(c->e, &meta, c->b, 0, out, NULL) != SL_OK)
        abort();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    sl_str record = zero ? (sl_str){(const char *)zero + 1, size - n - 1} : (sl_str){"", 0};
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
    struct codec c = {0};

    if (sl_hudi_schema_parse((sl_str){(const char *)data, n}, &c.schema, NULL) != SL_OK)
        return 0;
    struct sl_hudi_projection p = {.cols = c.schema.fields, .ncols = c.schema.nfields};
    if (sl_hudi_decoder_new(c.schema.avro, &p, &c.d, NULL) == SL_OK &&
        sl_hudi_encoder_new(c.schema.avro, c.schema.fields, c.schema.nfields, &c.e, NULL) == SL_OK &&
        sl_batch_new(c.schema.fields, c.schema.nfields, &c.b, NULL) == SL_OK && again(&c, record, &one) &&
        (!again(&c, sl_buf_view(&one), &two) || !sl_str_eq(sl_buf_view(&one), sl_buf_view(&two))))
        abort();
    sl_batch_free(c.b);
    sl_hudi_decoder_free(c.d);
    sl_hudi_encoder_free(c.e);
    sl_hudi_schema_release(&c.schema);
    sl_buf_release(&one);
    sl_buf_release(&two);
    return 0;
}
