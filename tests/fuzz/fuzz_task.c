/* fuzz_task.c - lines of unknown origin as compaction tasks and results: what is taken is written again as the same thing. */
#include <stdlib.h>

#include "compact/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool v)
{
    if (!v)
        abort();
}

static void as_task(sl_str line)
{
    struct sl_compact_task t, again;
    struct sl_buf out = SL_BUF_INIT, twice = SL_BUF_INIT;

    if (sl_compact_task_decode(line, &t, NULL) != SL_OK)
        return;
    expect(t.ninputs > 0);
    expect(sl_compact_task_encode(&t, &out, NULL) == SL_OK);
    expect(sl_compact_task_decode(sl_buf_view(&out), &again, NULL) == SL_OK);
    expect(sl_compact_task_encode(&again, &twice, NULL) == SL_OK);
    expect(sl_str_eq(sl_buf_view(&out), sl_buf_view(&twice)));
    sl_buf_release(&out);
    sl_buf_release(&twice);
    sl_compact_task_release(&t);
    sl_compact_task_release(&again);
}

static void as_result(sl_str line)
{
    struct sl_compact_result r, again;
    struct sl_buf out = SL_BUF_INIT;

    if (sl_compact_result_decode(line, &r, NULL) != SL_OK)
        return;
    expect(sl_compact_result_encode(&r, &out, NULL) == SL_OK);
    expect(sl_compact_result_decode(sl_buf_view(&out), &again, NULL) == SL_OK);
    expect(again.noutputs == r.noutputs && again.error == r.error);
    sl_buf_release(&out);
    sl_compact_result_release(&r);
    sl_compact_result_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str line = {(const char *)data, size};

    as_task(line);
    as_result(line);
    return 0;
}
