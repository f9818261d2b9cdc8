/* mpp_reply.c - a getDataBlock reply read token by token while it arrives, so that blocks need no buffer in between. */
#include <string.h>

#include "format/thrift_priv.h"

enum state {
    S_HEAD,             /* of the message */
    S_RESULT,           /* a field of the result struct, or its end */
    S_RESULT_SKIP,
    S_RESPONSE,         /* a field of TGetDataBlockResponse, or its end */
    S_RESPONSE_SKIP,
    S_OFFSET, S_TOTAL,
    S_LIST,             /* type and count of tsBlocks */
    S_LENGTH,           /* of the next element */
    S_BODY,             /* the caller takes the element */
    S_FAILURE,          /* a field of TApplicationException, or its end */
    S_FAILURE_SKIP, S_FAILURE_TYPE, S_TEXT_LENGTH, S_TEXT,
    S_END,
};

void sl_reply_reader_begin(struct sl_reply_reader *r, enum sl_thrift_protocol p, size_t length)
{
    memset(r, 0, sizeof *r);
    r->protocol = p;
    r->length = length;
}

static void damaged(struct thrift_in *in, const char *why)
{
    if (thrift_ok(in))
        in->why = why;
}

static void read_head(struct sl_reply_reader *r, struct thrift_in *in)
{
    enum sl_thrift_message type;
    sl_str name;

    thrift_head(in, &type, &name, &r->seqid);
    if (!thrift_ok(in))
        return;
    if (!sl_str_eq(name, sl_mpp_method_name(SL_MPP_GET_DATA_BLOCK)))
        damaged(in, "it answers another method");
    if (type != SL_THRIFT_REPLY && type != SL_THRIFT_EXCEPTION)
        damaged(in, "it is a call");
    r->failed = type == SL_THRIFT_EXCEPTION;
    r->state = r->failed ? S_FAILURE : S_RESULT;
}

static int skip(struct sl_reply_reader *r, uint8_t type, int state)
{
    thrift_skip_begin(&r->skip, type, r->protocol, true);
    return state;
}

static void read_result(struct sl_reply_reader *r, struct thrift_in *in)
{
    struct thrift_field f = thrift_field(in, &r->outer_last);

    if (!thrift_ok(in))
        return;
    if (f.type == T_STOP) {
        if (!r->has_result)
            damaged(in, "it holds no result");
        r->state = S_END;
    } else if (f.id == 0 && f.type == T_STRUCT) {
        if (r->has_result)
            damaged(in, "it holds two results");
        r->has_result = true;
        r->last = 0;
        r->state = S_RESPONSE;
    } else {
        r->state = skip(r, f.type, S_RESULT_SKIP);
    }
}

static void read_response(struct sl_reply_reader *r, struct thrift_in *in)
{
    struct thrift_field f = thrift_field(in, &r->last);

    if (!thrift_ok(in))
        return;
    if (f.type == T_STOP) {
        if (!r->has_list)
            damaged(in, "TGetDataBlockResponse has no tsBlocks");
        r->state = S_RESULT;
    } else if (f.id == 1 && f.type == T_LIST) {
        if (r->has_list)
            damaged(in, "TGetDataBlockResponse has tsBlocks twice");
        r->has_list = true;
        r->state = S_LIST;
    } else if (f.type == T_I32 && (f.id == 2 || f.id == 3)) {
        r->state = f.id == 2 ? S_OFFSET : S_TOTAL;
    } else {
        r->state = skip(r, f.type, S_RESPONSE_SKIP);
    }
}

static void read_list(struct sl_reply_reader *r, struct thrift_in *in)
{
    uint8_t type;
    size_t n = thrift_list(in, &type);

    if (n && type != T_STRING)
        damaged(in, "tsBlocks is a list of another type");
    if (!thrift_ok(in))
        return;
    r->elements = n;
    r->state = n ? S_LENGTH : S_RESPONSE;
}

static void read_failure(struct sl_reply_reader *r, struct thrift_in *in)
{
    struct thrift_field f = thrift_field(in, &r->last);

    if (!thrift_ok(in))
        return;
    if (f.type == T_STOP)
        r->state = S_END;
    else if (f.id == 1 && f.type == T_STRING)
        r->state = S_TEXT_LENGTH;
    else if (f.id == 2 && f.type == T_I32)
        r->state = S_FAILURE_TYPE;
    else
        r->state = skip(r, f.type, S_FAILURE_SKIP);
}

/* The first bytes are kept, the rest passes by. */
static void read_text(struct sl_reply_reader *r, struct thrift_in *in)
{
    size_t n = sl_cur_left(&in->c) < r->text_left ? sl_cur_left(&in->c) : r->text_left;
    size_t room = sizeof r->failure_text - 1 - r->text_used;
    sl_str s = sl_cur_bytes(&in->c, n);

    if (n && room)
        memcpy(r->failure_text + r->text_used, s.p, n < room ? n : room);
    r->text_used += n < room ? n : room;
    r->failure_text[r->text_used] = '\0';
    r->text_left -= n;
    if (r->text_left)
        in->c.bad = true;
    else
        r->state = S_FAILURE;
}

static void read_number(struct sl_reply_reader *r, struct thrift_in *in, int32_t *to, bool *flag, int next)
{
    int32_t v = thrift_i32(in);

    if (!thrift_ok(in))
        return;
    *to = v;
    if (flag)
        *flag = true;
    r->state = next;
}

static void read_length(struct sl_reply_reader *r, struct thrift_in *in)
{
    size_t n = thrift_length(in);

    if (!thrift_ok(in))
        return;
    if (r->state == S_TEXT_LENGTH) {
        r->text_left = n;
        r->text_used = 0;
        r->state = S_TEXT;
    } else {
        r->element_length = n;
        r->state = S_BODY;
    }
}

/* One token, all of it or none, except for what is passed by. */
static void step(struct sl_reply_reader *r, struct thrift_in *in)
{
    switch ((enum state)r->state) {
    case S_HEAD: read_head(r, in); break;
    case S_RESULT: read_result(r, in); break;
    case S_RESPONSE: read_response(r, in); break;
    case S_FAILURE: read_failure(r, in); break;
    case S_LIST: read_list(r, in); break;
    case S_OFFSET: read_number(r, in, &r->offset, &r->has_offset, S_RESPONSE); break;
    case S_TOTAL: read_number(r, in, &r->total, &r->has_total, S_RESPONSE); break;
    case S_FAILURE_TYPE: read_number(r, in, &r->failure_type, NULL, S_FAILURE); break;
    case S_LENGTH:
    case S_TEXT_LENGTH: read_length(r, in); break;
    case S_TEXT: read_text(r, in); break;
    case S_RESULT_SKIP:
    case S_RESPONSE_SKIP:
    case S_FAILURE_SKIP:
        if (thrift_skip(&r->skip, in))
            r->state = r->state == S_RESULT_SKIP ? S_RESULT : r->state == S_RESPONSE_SKIP ? S_RESPONSE : S_FAILURE;
        break;
    case S_BODY:
    case S_END: break;
    }
}

static bool passes_by(const struct sl_reply_reader *r)
{
    return r->state == S_RESULT_SKIP || r->state == S_RESPONSE_SKIP || r->state == S_FAILURE_SKIP || r->state == S_TEXT;
}

int sl_reply_reader_next(struct sl_reply_reader *r, sl_str bytes, size_t *used, enum sl_reply_event *event, sl_err *err)
{
    size_t left = r->length - r->pos, n = bytes.n < left ? bytes.n : left;
    struct thrift_in in = {.c = sl_cur_of((sl_str){bytes.p, n}), .beyond = left - n, .p = r->protocol};

    *used = 0;
    while (r->state != S_BODY && r->state != S_END && thrift_ok(&in)) {
        const unsigned char *p = in.c.p;
        int16_t last = r->last, outer_last = r->outer_last;

        step(r, &in);
        if (in.c.bad && !passes_by(r)) {
            in.c.p = p;
            r->last = last;
            r->outer_last = outer_last;
        }
    }
    r->pos += sl_cur_pos(&in.c);
    *used = sl_cur_pos(&in.c);
    if (r->state == S_END && r->pos < r->length)
        damaged(&in, "bytes are left over");
    if (in.c.bad && in.beyond == 0)
        in.why = "it ends too early";
    if (in.why)
        return sl_err_set(err, SL_ECORRUPT, "the reply to getDataBlock is damaged at byte %zu: %s", r->pos, in.why);
    *event = r->state == S_BODY ? SL_REPLY_ELEMENT : r->state == S_END ? SL_REPLY_END : SL_REPLY_NEED;
    return SL_OK;
}

void sl_reply_reader_taken(struct sl_reply_reader *r)
{
    r->pos += r->element_length;
    r->element++;
    r->state = r->element < r->elements ? S_LENGTH : S_RESPONSE;
}
