/* fuzz_hudi_meta.c - a letter that says which, then the content of a timeline file: read or refused; what was read can be written and read. */
#include <stdlib.h>

#include "format/hudi_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRY(function, type)                                                                                                     \
    do {                                                                                                                        \
        struct type v, w;                                                                                                       \
        if (sl_hudi_##function##_decode(&a, bytes, &v, NULL) == SL_OK && (sl_hudi_##function##_encode(&v, &b, NULL) != SL_OK || \
            sl_hudi_##function##_decode(&a, sl_buf_view(&b), &w, NULL) != SL_OK))                                               \
            abort();                                                                                                            \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf b = SL_BUF_INIT;

    if (size == 0)
        return 0;
    sl_str bytes = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 'd': TRY(commit, sl_hudi_commit); break;
    case 'p': TRY(compaction, sl_hudi_compaction_plan); break;
    case 'q': TRY(rollback_plan, sl_hudi_rollback_plan); break;
    case 'r': TRY(rollback, sl_hudi_rollback); break;
    case 'k': TRY(clean_plan, sl_hudi_clean_plan); break;
    case 'c': TRY(clean, sl_hudi_clean); break;
    case 's': TRY(savepoint, sl_hudi_savepoint); break;
    default: break;
    }
    sl_arena_release(&a);
    sl_buf_release(&b);
    return 0;
}
