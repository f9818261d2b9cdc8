/* fuzz_reply.c - frames of getDataBlock replies, cut as the first byte says: in any steps the reader gives the same, and all that the decoder
 * of whole messages gives. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The result code; OUT: lengths and bytes of the elements. Bytes are shown STEP more at a time, in memory of exactly their size. */
static int read_reply(struct sl_reply_reader *r, enum sl_thrift_protocol p, sl_str message, size_t step, struct sl_buf *out)
{
    enum sl_reply_event event = SL_REPLY_NEED;
    size_t shown = 0, used;
    int rc = SL_OK;

    sl_reply_reader_begin(r, p, message.n);
    while (rc == SL_OK && event != SL_REPLY_END) {
        if (event == SL_REPLY_ELEMENT) {
            if (r->element >= r->elements || r->element_length > message.n - r->pos)
                abort();
            sl_buf_u32be(out, (uint32_t)r->element_length);
            sl_buf_addb(out, message.p + r->pos, r->element_length);
            sl_reply_reader_taken(r);
        } else {
            shown += step;
        }
        shown = shown < r->pos ? r->pos : shown > message.n ? message.n : shown;
        if (shown - r->pos > 128 + step)
            abort();
        char *part = sl_strndup(message.p + r->pos, shown - r->pos);
        rc = sl_reply_reader_next(r, (sl_str){part, shown - r->pos}, &used, &event, NULL);
        if (rc == SL_OK && event == SL_REPLY_NEED && shown == message.n)
            abort();
        sl_free(part);
    }
    return rc;
}

static void compare(const struct sl_reply_reader *r, const struct sl_buf *elements, enum sl_thrift_protocol p, sl_str message)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf want = SL_BUF_INIT;
    struct sl_mpp_reply whole;
    const struct sl_mpp_blocks *b = &whole.u.blocks;

    if (sl_mpp_reply_read(p, message, &a, &whole, NULL) != SL_OK || whole.method != SL_MPP_GET_DATA_BLOCK || whole.seqid != r->seqid ||
        b->n != r->elements || b->has_offset != r->has_offset || b->offset != r->offset || b->has_total != r->has_total ||
        b->total != r->total)
        abort();
    for (size_t i = 0; i < b->n; i++) {
        sl_buf_u32be(&want, (uint32_t)b->v[i].n);
        sl_buf_add(&want, b->v[i]);
    }
    if (want.n != elements->n || (want.n && memcmp(want.p, elements->p, want.n) != 0))
        abort();
    sl_buf_release(&want);
    sl_arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_buf one = SL_BUF_INIT, two = SL_BUF_INIT;
    struct sl_reply_reader r, again;
    enum sl_thrift_protocol p;
    size_t n;

    if (size < 1 + SL_FRAME_HEAD || sl_frame_length(data + 1, 1 << 20, &n, NULL) != SL_OK)
        return 0;
    sl_str message = {(const char *)data + 1 + SL_FRAME_HEAD, size - 1 - SL_FRAME_HEAD};
    if (n < message.n)
        message.n = n;
    (void)sl_thrift_protocol_of(message, &p);
    int rc = read_reply(&r, p, message, message.n + 1, &one);
    if (rc != read_reply(&again, p, message, data[0] % 32 + 1u, &two))
        abort();
    if (one.n != two.n || (one.n && memcmp(one.p, two.p, one.n) != 0) || (rc == SL_OK && memcmp(&r, &again, offsetof(struct sl_reply_reader, protocol)) != 0))
        abort();
    if (rc == SL_OK && !r.failed)
        compare(&r, &one, p, message);
    sl_buf_release(&one);
    sl_buf_release(&two);
    return 0;
}
