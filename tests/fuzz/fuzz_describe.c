/* fuzz_describe.c - any bytes as a metadata file: described or refused, with and without a schema, never a crash. */
#include <stdlib.h>

#include "format/paimon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_json[] =
    "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},{\"id\":1,\"name\":\"v\",\"type\":\"STRING\"},"
    "{\"id\":2,\"name\":\"p\",\"type\":\"STRING\"}],\"highestFieldId\":2,\"partitionKeys\":[\"p\"],\"primaryKeys\":[],\"options\":{},"
    "\"timeMillis\":1}";

static void describe(sl_str bytes, const struct sl_schema *schema)
{
    sl_err err = SL_ERR_INIT;
    json_t *doc = NULL;
    int rc = sl_paimon_describe(SL_LIT("file"), bytes, schema, &doc, &err);

    if ((rc == SL_OK) != (doc != NULL) || (rc != SL_OK && err.text[0] == '\0'))
        abort();
    if (doc) {
        struct sl_buf b = SL_BUF_INIT;

        sl_json_dump(&b, doc, false); /* what is described can be printed */
        if (b.n == 0)
            abort();
        sl_buf_release(&b);
    }
    json_decref(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sl_schema schema;
    sl_str bytes = {(const char *)data, size};

    if (schema.nfields == 0 && sl_paimon_schema_decode(sl_str_c(schema_json), &schema, NULL) != SL_OK)
        abort();
    describe(bytes, NULL);
    describe(bytes, &schema);
    return 0;
}
