/* fuzz_hudi_names.c - any bytes as names in Hudi tables: what is parsed is put together to the same name. */
#include <stdlib.h>

#include "format/hudi_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read, or refused as damaged or not supported. */
static void expect(int rc)
{
    if (rc != SL_OK && rc != SL_ECORRUPT && rc != SL_EUNSUPPORTED)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str name = {(const char *)data, size}, value;
    struct sl_buf b = SL_BUF_INIT;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_timeline_name t;
    struct sl_hudi_base_name base;
    struct sl_hudi_log_name log, again;
    int64_t instant, depth;
    bool null;

    if (sl_hudi_timeline_parse(name, 1, &t) && t.text.n == 17) {
        sl_hudi_timeline_put(&b, t.instant, t.action, t.state);
        /* A completed compaction has the name of a commit, and a pending commit two spellings. */
        if (sl_hudi_action_completed(t.action) == t.action && t.action != SL_HUDI_COMMIT && !sl_str_eq(sl_buf_view(&b), name))
            abort();
    }
    (void)sl_hudi_timeline_parse(name, 2, &t);
    sl_buf_reset(&b);
    if (sl_hudi_base_parse(name, &base) && base.text.n == 17 && sl_str_eqc(base.extension, "parquet")) {
        sl_hudi_base_put(&b, base.file_id, base.token, base.instant);
        if (!sl_str_eq(sl_buf_view(&b), name))
            abort();
    }
    sl_buf_reset(&b);
    if (sl_hudi_log_parse(name, &log) && log.token.n && !log.cdc) {
        sl_hudi_log_put(&b, log.file_id, log.instant, log.version, log.token);
        if (!sl_hudi_log_parse(sl_buf_view(&b), &again) || sl_hudi_log_cmp(&log, &again) != 0 || !sl_str_eq(log.file_id, again.file_id))
            abort();
    }
    for (size_t i = 0; i < 3; i++)
        expect(sl_hudi_partition_value(&a, name, i, 3, SL_LIT("a"), i == 1, i != 2, &value, &null, NULL));
    expect(sl_hudi_partition_file_parse(name, &instant, &depth, NULL));
    sl_buf_release(&b);
    sl_arena_release(&a);
    return 0;
}
