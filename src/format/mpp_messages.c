/* mpp_messages.c - calls and replies of MPPDataExchangeService: one table says the structs, one reader and one writer go by it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "format/thrift_priv.h"

enum kind { K_BOOL, K_I32, K_BYTES, K_STRUCT, K_I64S, K_BYTES_LIST, K_STRUCTS };

struct shape;
struct member {
    int16_t id;
    uint8_t kind;
    bool optional;
    size_t at;                /* of the value; lists: of the pointer */
    size_t count_or_flag;     /* lists: of the count; optional numbers and structs: of the has_ flag */
    const struct shape *of;
    const char *name;
};
struct shape {
    const char *name;
    size_t size;
    size_t n;
    const struct member *m;
};

#define SHAPE(id, label, type) static const struct shape id = {label, sizeof(type), sizeof id##_m / sizeof id##_m[0], id##_m}
#define AT(type, member) offsetof(type, member)

static const struct member instance_m[] = {
    {1, K_BYTES, false, AT(struct sl_mpp_instance, query), 0, NULL, "queryId"},
    {2, K_I32, false, AT(struct sl_mpp_instance, fragment), 0, NULL, "fragmentId"},
    {3, K_BYTES, false, AT(struct sl_mpp_instance, instance), 0, NULL, "instanceId"},
};
SHAPE(instance, "TFragmentInstanceId", struct sl_mpp_instance);

static const struct member get_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_get, source), 0, &instance, "sourceFragmentInstanceId"},
    {2, K_I32, false, AT(struct sl_mpp_get, start), 0, NULL, "startSequenceId"},
    {3, K_I32, false, AT(struct sl_mpp_get, end), 0, NULL, "endSequenceId"},
    {4, K_I32, false, AT(struct sl_mpp_get, index), 0, NULL, "index"},
    {5, K_I32, true, AT(struct sl_mpp_get, offset), AT(struct sl_mpp_get, has_offset), NULL, "offset"},
};
SHAPE(get, "TGetDataBlockRequest", struct sl_mpp_get);

static const struct member blocks_m[] = {
    {1, K_BYTES_LIST, false, AT(struct sl_mpp_blocks, v), AT(struct sl_mpp_blocks, n), NULL, "tsBlocks"},
    {2, K_I32, true, AT(struct sl_mpp_blocks, offset), AT(struct sl_mpp_blocks, has_offset), NULL, "offset"},
    {3, K_I32, true, AT(struct sl_mpp_blocks, total), AT(struct sl_mpp_blocks, has_total), NULL, "totalLength"},
};
SHAPE(blocks, "TGetDataBlockResponse", struct sl_mpp_blocks);

static const struct member ack_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_ack, source), 0, &instance, "sourceFragmentInstanceId"},
    {2, K_I32, false, AT(struct sl_mpp_ack, start), 0, NULL, "startSequenceId"},
    {3, K_I32, false, AT(struct sl_mpp_ack, end), 0, NULL, "endSequenceId"},
    {4, K_I32, false, AT(struct sl_mpp_ack, index), 0, NULL, "index"},
};
SHAPE(ack, "TAcknowledgeDataBlockEvent", struct sl_mpp_ack);

static const struct member close_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_close, source), 0, &instance, "sourceFragmentInstanceId"},
    {2, K_I32, false, AT(struct sl_mpp_close, index), 0, NULL, "index"},
};
SHAPE(close, "TCloseSinkChannelEvent", struct sl_mpp_close);

static const struct member added_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_new, target), 0, &instance, "targetFragmentInstanceId"},
    {2, K_BYTES, false, AT(struct sl_mpp_new, target_node), 0, NULL, "targetPlanNodeId"},
    {3, K_STRUCT, false, AT(struct sl_mpp_new, source), 0, &instance, "sourceFragmentInstanceId"},
    {4, K_I32, false, AT(struct sl_mpp_new, start), 0, NULL, "startSequenceId"},
    {5, K_I64S, false, AT(struct sl_mpp_new, sizes), AT(struct sl_mpp_new, nsizes), NULL, "blockSizes"},
};
SHAPE(added, "TNewDataBlockEvent", struct sl_mpp_new);

static const struct member end_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_end, target), 0, &instance, "targetFragmentInstanceId"},
    {2, K_BYTES, false, AT(struct sl_mpp_end, target_node), 0, NULL, "targetPlanNodeId"},
    {3, K_STRUCT, false, AT(struct sl_mpp_end, source), 0, &instance, "sourceFragmentInstanceId"},
    {4, K_I32, false, AT(struct sl_mpp_end, last), 0, NULL, "lastSequenceId"},
};
SHAPE(end, "TEndOfDataBlockEvent", struct sl_mpp_end);

static const struct member end_point_m[] = {
    {1, K_BYTES, false, AT(struct sl_mpp_end_point, ip), 0, NULL, "ip"},
    {2, K_I32, false, AT(struct sl_mpp_end_point, port), 0, NULL, "port"},
};
SHAPE(end_point, "TEndPoint", struct sl_mpp_end_point);

static const struct shape status;
static const struct member status_m[] = {
    {1, K_I32, false, AT(struct sl_mpp_status, code), 0, NULL, "code"},
    {2, K_BYTES, true, AT(struct sl_mpp_status, message), 0, NULL, "message"},
    {3, K_STRUCTS, true, AT(struct sl_mpp_status, sub), AT(struct sl_mpp_status, nsub), &status, "subStatus"},
    {4, K_STRUCT, true, AT(struct sl_mpp_status, redirect), AT(struct sl_mpp_status, has_redirect), &end_point, "redirectNode"},
    {5, K_BOOL, true, AT(struct sl_mpp_status, retry), AT(struct sl_mpp_status, has_retry), NULL, "needRetry"},
    {6, K_BYTES, true, AT(struct sl_mpp_status, data), 0, NULL, "responseData"},
};
SHAPE(status, "TSStatus", struct sl_mpp_status);
_Static_assert(sizeof(struct sl_mpp_status) <= 3 * SL_MPP_MEMORY, "room_of counts on it");

static const struct member segment_m[] = {
    {1, K_BYTES, false, AT(struct sl_mpp_segment, query), 0, NULL, "queryId"},
    {2, K_BYTES, false, AT(struct sl_mpp_segment, node), 0, NULL, "planNodeId"},
    {3, K_I32, false, AT(struct sl_mpp_segment, segment), 0, NULL, "segmentId"},
};
SHAPE(segment, "TFetchDeviceEntrySegmentReq", struct sl_mpp_segment);

static const struct member segment_reply_m[] = {
    {1, K_STRUCT, false, AT(struct sl_mpp_segment_reply, status), 0, &status, "status"},
    {2, K_BYTES, true, AT(struct sl_mpp_segment_reply, payload), 0, NULL, "payload"},
};
SHAPE(segment_reply, "TFetchDeviceEntrySegmentResp", struct sl_mpp_segment_reply);

static const struct member failure_m[] = {
    {1, K_BYTES, true, AT(struct sl_mpp_failure, message), 0, NULL, "message"},
    {2, K_I32, false, AT(struct sl_mpp_failure, type), 0, NULL, "type"},
};
SHAPE(failure, "TApplicationException", struct sl_mpp_failure);

/* What the call and the result hold around these. The service's interface leaves the numbers of its arguments out, so they count from -1 down. */
#define ARGUMENT(id, shape_, c_type, label)                              \
    static const struct member id##_m[] = {{-1, K_STRUCT, false, 0, 0, &shape_, label}}; \
    SHAPE(id, "arguments", c_type)
ARGUMENT(get_args, get, struct sl_mpp_get, "req");
ARGUMENT(ack_args, ack, struct sl_mpp_ack, "e");
ARGUMENT(close_args, close, struct sl_mpp_close, "e");
ARGUMENT(new_args, added, struct sl_mpp_new, "e");
ARGUMENT(end_args, end, struct sl_mpp_end, "e");
ARGUMENT(fetch_args, segment, struct sl_mpp_segment, "req");
static const struct shape finish_args = {"arguments", sizeof(struct sl_mpp_segment), 2, segment_m};
static const struct shape nothing = {"nothing", 0, 0, NULL};
static const struct member other_args_m[] = {{1, K_BYTES, true, 0, 0, NULL, "request"}};
SHAPE(other_args, "arguments", sl_str);

#define RESULT(id, shape_, c_type)                                                    \
    static const struct member id##_m[] = {{0, K_STRUCT, false, 0, 0, &shape_, "success"}}; \
    SHAPE(id, "result", c_type)
RESULT(blocks_result, blocks, struct sl_mpp_blocks);
RESULT(status_result, status, struct sl_mpp_status);
RESULT(segment_result, segment_reply, struct sl_mpp_segment_reply);
static const struct member other_result_m[] = {{0, K_BYTES, true, 0, 0, NULL, "success"}};
SHAPE(other_result, "result", sl_str);

static const struct {
    const char *name;
    const struct shape *args, *result;
} methods[] = {
    [SL_MPP_GET_DATA_BLOCK] = {"getDataBlock", &get_args, &blocks_result},
    [SL_MPP_ACKNOWLEDGE] = {"onAcknowledgeDataBlockEvent", &ack_args, &nothing},
    [SL_MPP_CLOSE] = {"onCloseSinkChannelEvent", &close_args, &nothing},
    [SL_MPP_NEW] = {"onNewDataBlockEvent", &new_args, &nothing},
    [SL_MPP_END] = {"onEndOfDataBlockEvent", &end_args, &nothing},
    [SL_MPP_TEST] = {"testConnectionEmptyRPC", &nothing, &status_result},
    [SL_MPP_FETCH_SEGMENT] = {"fetchDeviceEntrySegment", &fetch_args, &segment_result},
    [SL_MPP_FINISH_SEGMENT] = {"finishDeviceEntrySegment", &finish_args, &status_result},
    [SL_MPP_OTHER] = {"", &other_args, &other_result},
};

sl_str sl_mpp_method_name(enum sl_mpp_method m)
{
    return sl_str_c(methods[m].name);
}

static enum sl_mpp_method method_of(sl_str name)
{
    for (unsigned m = 0; m < SL_MPP_OTHER; m++)
        if (sl_str_eqc(name, methods[m].name))
            return (enum sl_mpp_method)m;
    return SL_MPP_OTHER;
}

/* ---- writing ---- */

static uint8_t type_of(const struct member *m)
{
    switch (m->kind) {
    case K_BOOL: return T_BOOL;
    case K_I32: return T_I32;
    case K_BYTES: return T_STRING;
    case K_STRUCT: return T_STRUCT;
    default: return T_LIST;
    }
}

static bool present(const struct member *m, const char *v)
{
    if (!m->optional)
        return true;
    if (m->kind == K_BYTES)
        return ((const sl_str *)(v + m->at))->p != NULL;
    if (m->kind == K_STRUCTS)
        return *(const size_t *)(v + m->count_or_flag) > 0;
    return *(const bool *)(v + m->count_or_flag);
}

static void put_shape(struct thrift_out *o, const struct shape *s, const void *value);

static void put_list(struct thrift_out *o, const struct member *m, const char *v)
{
    const void *list = *(const void *const *)(v + m->at);
    size_t n = *(const size_t *)(v + m->count_or_flag);

    thrift_put_list(o, m->kind == K_I64S ? T_I64 : m->kind == K_STRUCTS ? T_STRUCT : T_STRING, n);
    for (size_t i = 0; i < n; i++) {
        if (m->kind == K_I64S)
            thrift_put_i64(o, ((const int64_t *)list)[i]);
        else if (m->kind == K_STRUCTS)
            put_shape(o, m->of, (const char *)list + i * m->of->size);
        else
            thrift_put_string(o, ((const sl_str *)list)[i]);
    }
}

static void put_shape(struct thrift_out *o, const struct shape *s, const void *value)
{
    const char *v = value;
    int16_t last = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct member *m = &s->m[i];

        if (!present(m, v))
            continue;
        if (m->kind == K_BOOL) {
            thrift_put_bool(o, m->id, &last, *(const bool *)(v + m->at));
            continue;
        }
        thrift_put_field(o, type_of(m), m->id, &last);
        if (m->kind == K_I32)
            thrift_put_i32(o, *(const int32_t *)(v + m->at));
        else if (m->kind == K_BYTES)
            thrift_put_string(o, *(const sl_str *)(v + m->at));
        else if (m->kind == K_STRUCT)
            put_shape(o, m->of, v + m->at);
        else
            put_list(o, m, v);
    }
    thrift_put_stop(o);
}

static int put_message(struct sl_buf *out, enum sl_thrift_protocol p, enum sl_thrift_message type, sl_str name, int32_t seqid,
                       const struct shape *s, const void *value, sl_err *err)
{
    struct thrift_out o = {out, p};
    size_t start = out->n;

    sl_buf_u32be(out, 0);
    thrift_put_head(&o, type, name, seqid);
    put_shape(&o, s, value);
    SL_TRY(sl_buf_ok(out, err));
    size_t n = out->n - start - SL_FRAME_HEAD;
    if (n > INT32_MAX) {
        out->n = start;
        return sl_err_set(err, SL_EINPUT, "a message of %zu bytes exceeds what a frame can hold (2147483647)", n);
    }
    for (int i = 0; i < SL_FRAME_HEAD; i++)
        out->p[start + (size_t)i] = (char)(n >> (24 - 8 * i));
    return SL_OK;
}

int sl_mpp_call_write(struct sl_buf *out, enum sl_thrift_protocol p, const struct sl_mpp_call *call, sl_err *err)
{
    sl_str name = call->method == SL_MPP_OTHER ? call->name : sl_mpp_method_name(call->method);

    return put_message(out, p, SL_THRIFT_CALL, name, call->seqid, methods[call->method].args, &call->u, err);
}

int sl_mpp_reply_write(struct sl_buf *out, enum sl_thrift_protocol p, const struct sl_mpp_reply *reply, sl_err *err)
{
    sl_str name = reply->method == SL_MPP_OTHER ? reply->name : sl_mpp_method_name(reply->method);

    return put_message(out, p, reply->failed ? SL_THRIFT_EXCEPTION : SL_THRIFT_REPLY, name, reply->seqid,
                       reply->failed ? &failure : methods[reply->method].result, &reply->u, err);
}

/* HEADS may still move, so a piece of it has only its length at first. */
static void end_piece(const struct sl_buf *heads, size_t *from, sl_str *piece)
{
    *piece = (sl_str){NULL, heads->n - *from};
    *from = heads->n;
}

int sl_mpp_blocks_pieces(enum sl_thrift_protocol p, int32_t seqid, const struct sl_mpp_blocks *reply, struct sl_buf *heads, sl_str *pieces,
                         size_t *npieces, sl_err *err)
{
    struct thrift_out o = {heads, p};
    int16_t result = 0, last = 0;
    size_t from = 0, n = 0, at = 0;
    uint64_t total = 0;

    sl_buf_reset(heads);
    sl_buf_u32be(heads, 0);
    thrift_put_head(&o, SL_THRIFT_REPLY, sl_mpp_method_name(SL_MPP_GET_DATA_BLOCK), seqid);
    thrift_put_field(&o, T_STRUCT, 0, &result);
    thrift_put_field(&o, T_LIST, 1, &last);
    thrift_put_list(&o, T_STRING, reply->n);
    for (size_t i = 0; i < reply->n; i++) {
        thrift_put_length(&o, reply->v[i].n);
        end_piece(heads, &from, &pieces[n++]);
        pieces[n++] = reply->v[i];
        total += reply->v[i].n;
    }
    for (size_t i = 1; i < blocks_result_m[0].of->n; i++) {
        const struct member *m = &blocks_m[i];

        if (!present(m, (const char *)reply))
            continue;
        thrift_put_field(&o, T_I32, m->id, &last);
        thrift_put_i32(&o, *(const int32_t *)((const char *)reply + m->at));
    }
    thrift_put_stop(&o);
    thrift_put_stop(&o);
    end_piece(heads, &from, &pieces[n++]);
    SL_TRY(sl_buf_ok(heads, err));
    total += heads->n - SL_FRAME_HEAD;
    if (total > INT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a response of %llu bytes exceeds what a frame can hold (2147483647)",
                          (unsigned long long)total);
    for (int i = 0; i < SL_FRAME_HEAD; i++)
        heads->p[i] = (char)(total >> (24 - 8 * i));
    for (size_t i = 0; i < n; i += 2) {
        pieces[i].p = heads->p + at;
        at += pieces[i].n;
    }
    *npieces = n;
    return SL_OK;
}

/* ---- reading ---- */

struct reading {
    struct thrift_in in;
    struct sl_arena *arena;
    size_t room;                    /* bytes that its arrays may still take from the arena */
    char why[160];
};

/* The reason in up to three pieces. */
static void fail(struct reading *r, const char *a, const char *b, const char *c)
{
    if (thrift_ok(&r->in)) {
        snprintf(r->why, sizeof r->why, "%s%s%s", a, b, c);
        r->in.why = r->why;
    }
}

static bool skip_field(struct reading *r, uint8_t type)
{
    struct sl_thrift_skip s;

    thrift_skip_begin(&s, type, r->in.p, true);
    return thrift_skip(&s, &r->in);
}

static int get_shape(struct reading *r, const struct shape *s, void *value, unsigned depth, sl_err *err);

static int get_list(struct reading *r, const struct member *m, char *v, unsigned depth, sl_err *err)
{
    uint8_t want = m->kind == K_I64S ? T_I64 : m->kind == K_STRUCTS ? T_STRUCT : T_STRING, type;
    size_t n = thrift_list(&r->in, &type), size = m->kind == K_I64S ? sizeof(int64_t) : m->kind == K_STRUCTS ? m->of->size : sizeof(sl_str);
    char *list = NULL;

    if (n && type != want)
        fail(r, m->name, " is a list of another type", "");
    if (n > r->room / size)
        fail(r, "the count of ", m->name, " exceeds what a message of this length can hold");
    if (!thrift_ok(&r->in))
        return SL_OK;
    r->room -= n * size;
    list = sl_arena_array(r->arena, n ? n : 1, size);
    if (!list)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n && thrift_ok(&r->in); i++) {
        if (m->kind == K_I64S)
            ((int64_t *)(void *)list)[i] = thrift_i64(&r->in);
        else if (m->kind == K_STRUCTS)
            SL_TRY(get_shape(r, m->of, list + i * size, depth + 1, err));
        else
            ((sl_str *)(void *)list)[i] = thrift_string(&r->in);
    }
    *(const void **)(void *)(v + m->at) = list;
    *(size_t *)(void *)(v + m->count_or_flag) = n;
    return SL_OK;
}

static int get_member(struct reading *r, const struct member *m, const struct thrift_field *f, char *v, unsigned depth, sl_err *err)
{
    if (m->optional && (m->kind == K_I32 || m->kind == K_BOOL || m->kind == K_STRUCT))
        *(bool *)(v + m->count_or_flag) = true;
    switch (m->kind) {
    case K_BOOL: *(bool *)(v + m->at) = thrift_bool(&r->in, f); return SL_OK;
    case K_I32: *(int32_t *)(void *)(v + m->at) = thrift_i32(&r->in); return SL_OK;
    case K_BYTES: *(sl_str *)(void *)(v + m->at) = thrift_string(&r->in); return SL_OK;
    case K_STRUCT: return get_shape(r, m->of, v + m->at, depth + 1, err);
    default: return get_list(r, m, v, depth, err);
    }
}

/* The member a field is for; NULL to skip it. An argument without a number may have been given the number 1 by the peer's compiler. */
static const struct member *member_of(const struct shape *s, const struct thrift_field *f)
{
    for (size_t i = 0; i < s->n; i++)
        if ((s->m[i].id == f->id || (s->m[i].id == -1 && f->id == 1)) && type_of(&s->m[i]) == f->type)
            return &s->m[i];
    return NULL;
}

static int get_shape(struct reading *r, const struct shape *s, void *value, unsigned depth, sl_err *err)
{
    int16_t last = 0;
    uint32_t seen = 0;

    if (depth >= SL_THRIFT_DEPTH)
        fail(r, "values are nested too deeply", "", "");
    while (thrift_ok(&r->in)) {
        struct thrift_field f = thrift_field(&r->in, &last);

        if (!thrift_ok(&r->in) || f.type == T_STOP)
            break;
        const struct member *m = member_of(s, &f);
        if (!m) {
            (void)skip_field(r, f.type);
            continue;
        }
        seen |= 1u << (m - s->m);
        SL_TRY(get_member(r, m, &f, value, depth, err));
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->m[i].optional && !(seen >> i & 1))
            fail(r, s->name, " has no ", s->m[i].name);
    return SL_OK;
}

/* Enough for any message that is whole: a text of one byte takes a view, a status of three bytes its struct. */
static size_t room_of(sl_str message)
{
    return message.n > SIZE_MAX / SL_MPP_MEMORY ? SIZE_MAX : message.n * SL_MPP_MEMORY;
}

static int damaged(const struct reading *r, sl_str name, const char *what, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "the %s%s" SL_STRF " is damaged at byte %zu: %s", what, name.n ? " of " : "",
                      (int)(name.n > 64 ? 64 : name.n), name.p ? name.p : "", sl_cur_pos(&r->in.c),
                      r->in.why ? r->in.why : "it ends too early");
}

/* All of the struct, to the end of the message. */
static int get_body(struct reading *r, const struct shape *s, void *value, sl_str name, const char *what, sl_err *err)
{
    SL_TRY(get_shape(r, s, value, 0, err));
    if (thrift_ok(&r->in) && sl_cur_left(&r->in.c))
        fail(r, "bytes are left over", "", "");
    return thrift_ok(&r->in) ? SL_OK : damaged(r, name, what, err);
}

static int get_head(struct reading *r, enum sl_thrift_message *type, enum sl_mpp_method *method, sl_str *name, int32_t *seqid,
                    const char *what, sl_err *err)
{
    sl_str found;
    int32_t number;

    thrift_head(&r->in, type, &found, &number);
    if (!thrift_ok(&r->in))
        return damaged(r, (sl_str){NULL, 0}, what, err);
    *name = found;
    *seqid = number;
    *method = method_of(found);
    return SL_OK;
}

int sl_mpp_call_read(enum sl_thrift_protocol p, sl_str message, struct sl_arena *a, struct sl_mpp_call *out, sl_err *err)
{
    struct reading r = {.in = {.c = sl_cur_of(message), .p = p}, .arena = a, .room = room_of(message)};
    enum sl_thrift_message type;

    memset(out, 0, sizeof *out);
    out->method = SL_MPP_OTHER;
    SL_TRY(get_head(&r, &type, &out->method, &out->name, &out->seqid, "call", err));
    if (type != SL_THRIFT_CALL && type != SL_THRIFT_ONEWAY) {
        fail(&r, type == SL_THRIFT_REPLY ? "it is a reply" : "it is an exception", "", "");
        return damaged(&r, out->name, "call", err);
    }
    return get_body(&r, methods[out->method].args, &out->u, out->name, "call", err);
}

int sl_mpp_reply_read(enum sl_thrift_protocol p, sl_str message, struct sl_arena *a, struct sl_mpp_reply *out, sl_err *err)
{
    struct reading r = {.in = {.c = sl_cur_of(message), .p = p}, .arena = a, .room = room_of(message)};
    enum sl_thrift_message type;

    memset(out, 0, sizeof *out);
    out->method = SL_MPP_OTHER;
    SL_TRY(get_head(&r, &type, &out->method, &out->name, &out->seqid, "reply", err));
    out->failed = type == SL_THRIFT_EXCEPTION;
    if (type != SL_THRIFT_REPLY && !out->failed) {
        fail(&r, "it is a call", "", "");
        return damaged(&r, out->name, "reply", err);
    }
    return get_body(&r, out->failed ? &failure : methods[out->method].result, &out->u, out->name, "reply", err);
}
