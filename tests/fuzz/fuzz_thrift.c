/* fuzz_thrift.c - messages of unknown origin, in the protocol of their first byte: what was read is written and read again, in both protocols. */
#include <stdlib.h>
#include <string.h>

#include "format/thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sl_str message_of(const struct sl_buf *b)
{
    size_t n;

    if (sl_frame_length(b->p, INT32_MAX, &n, NULL) != SL_OK || n + SL_FRAME_HEAD != b->n)
        abort();
    return (sl_str){b->p + SL_FRAME_HEAD, n};
}

static void same(struct sl_buf *one, struct sl_buf *two)
{
    if (one->n != two->n || memcmp(one->p, two->p, one->n) != 0)
        abort();
    sl_buf_release(one);
    sl_buf_release(two);
}

static void call_again(struct sl_arena *a, const struct sl_mpp_call *call)
{
    for (int p = SL_THRIFT_BINARY; p <= SL_THRIFT_COMPACT; p++) {
        struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
        struct sl_mpp_call got;

        if (sl_mpp_call_write(&one, p, call, NULL) != SL_OK || sl_mpp_call_read(p, message_of(&one), a, &got, NULL) != SL_OK ||
            got.method != call->method || got.seqid != call->seqid || sl_mpp_call_write(&two, p, &got, NULL) != SL_OK)
            abort();
        same(&one, &two);
    }
}

static void reply_again(struct sl_arena *a, const struct sl_mpp_reply *reply)
{
    for (int p = SL_THRIFT_BINARY; p <= SL_THRIFT_COMPACT; p++) {
        struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
        struct sl_mpp_reply got;

        if (sl_mpp_reply_write(&one, p, reply, NULL) != SL_OK || sl_mpp_reply_read(p, message_of(&one), a, &got, NULL) != SL_OK ||
            got.failed != reply->failed || got.seqid != reply->seqid || sl_mpp_reply_write(&two, p, &got, NULL) != SL_OK)
            abort();
        same(&one, &two);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_mpp_call call;
    struct sl_mpp_reply reply;
    sl_str message = {(const char *)data, size};
    enum sl_thrift_protocol p;

    if (sl_thrift_protocol_of(message, &p)) {
        if (sl_mpp_call_read(p, message, &a, &call, NULL) == SL_OK)
            call_again(&a, &call);
        else if (a.used > (size + 16) * SL_MPP_MEMORY)
            abort();
        if (sl_mpp_reply_read(p, message, &a, &reply, NULL) == SL_OK)
            reply_again(&a, &reply);
        else if (a.used > 2 * (size + 16) * SL_MPP_MEMORY)
            abort();
    }
    sl_arena_release(&a);
    return 0;
}
