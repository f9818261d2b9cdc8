/*
 * thrift.h - messages of Thrift's MPPDataExchangeService, in the binary and in the compact protocol.
 *
 * A message travels in a frame: 4 bytes of length, big-endian, then the message. What is read are views into the
 * message; the few arrays come from an arena and are bounded by the bytes of the message. Unknown fields are skipped, a
 * missing required field and every length beyond the message is SL_ECORRUPT. docs/format/exchange.md has the bytes.
 * Pure functions over memory.
 */
#ifndef SL_FORMAT_THRIFT_H
#define SL_FORMAT_THRIFT_H

#include "base/mem.h"
#include "base/str.h"

enum sl_thrift_protocol { SL_THRIFT_BINARY, SL_THRIFT_COMPACT };
enum sl_thrift_message { SL_THRIFT_CALL = 1, SL_THRIFT_REPLY = 2, SL_THRIFT_EXCEPTION = 3, SL_THRIFT_ONEWAY = 4 };
/* TApplicationException.type */
enum sl_thrift_failure { SL_THRIFT_UNKNOWN_METHOD = 1, SL_THRIFT_INTERNAL_ERROR = 6, SL_THRIFT_PROTOCOL_ERROR = 7 };

/* ---- frames ---- */

enum { SL_FRAME_HEAD = 4 };
/* The length of the message from the 4 bytes before it. SL_ECORRUPT, naming what it is, for an HTTP request, a TLS hello, a negative or
 * zero length and one above MAX: the connection is to be closed. */
int sl_frame_length(const void *head, size_t max, size_t *n, sl_err *err) SL_WUR;
/* Which protocol a message is in, by its first byte; false if in neither. */
bool sl_thrift_protocol_of(sl_str message, enum sl_thrift_protocol *out);

/* ---- the structs of the service; "optional" ones have a has_ flag or p == NULL ---- */

struct sl_mpp_instance {                 /* TFragmentInstanceId */
    sl_str query;
    int32_t fragment;
    sl_str instance;
};
struct sl_mpp_get {                      /* TGetDataBlockRequest */
    struct sl_mpp_instance source;
    int32_t start, end, index;           /* [start, end) */
    bool has_offset;
    int32_t offset;
};
struct sl_mpp_blocks {                   /* TGetDataBlockResponse */
    const sl_str *v;
    size_t n;
    bool has_offset, has_total;
    int32_t offset, total;
};
struct sl_mpp_ack {                      /* TAcknowledgeDataBlockEvent */
    struct sl_mpp_instance source;
    int32_t start, end, index;
};
struct sl_mpp_close {                    /* TCloseSinkChannelEvent */
    struct sl_mpp_instance source;
    int32_t index;
};
struct sl_mpp_new {                      /* TNewDataBlockEvent */
    struct sl_mpp_instance target;
    sl_str target_node;
    struct sl_mpp_instance source;
    int32_t start;
    const int64_t *sizes;
    size_t nsizes;
};
struct sl_mpp_end {                      /* TEndOfDataBlockEvent */
    struct sl_mpp_instance target;
    sl_str target_node;
    struct sl_mpp_instance source;
    int32_t last;                        /* -1 = the stream had no block */
};
struct sl_mpp_status {                   /* TSStatus; 200 = success */
    int32_t code;
    sl_str message;                      /* optional */
    const struct sl_mpp_status *sub;     /* optional */
    size_t nsub;
    bool has_redirect, has_retry, retry;
    struct sl_mpp_end_point {            /* TEndPoint */
        sl_str ip;
        int32_t port;
    } redirect;
    sl_str data;                         /* optional: responseData */
};
struct sl_mpp_segment {                  /* TFetchDeviceEntrySegmentReq; finishDeviceEntrySegment has no SEGMENT */
    sl_str query, node;
    int32_t segment;
};
struct sl_mpp_segment_reply {            /* TFetchDeviceEntrySegmentResp */
    struct sl_mpp_status status;
    sl_str payload;                      /* optional */
};

/* ---- whole messages ---- */

enum sl_mpp_method {
    SL_MPP_GET_DATA_BLOCK,               /* getDataBlock: get -> blocks */
    SL_MPP_ACKNOWLEDGE,                  /* onAcknowledgeDataBlockEvent: ack */
    SL_MPP_CLOSE,                        /* onCloseSinkChannelEvent: close */
    SL_MPP_NEW,                          /* onNewDataBlockEvent: added */
    SL_MPP_END,                          /* onEndOfDataBlockEvent: end */
    SL_MPP_TEST,                         /* testConnectionEmptyRPC: nothing -> status */
    SL_MPP_FETCH_SEGMENT,                /* fetchDeviceEntrySegment: segment -> segment */
    SL_MPP_FINISH_SEGMENT,               /* finishDeviceEntrySegment: segment -> status */
    SL_MPP_OTHER,                        /* any other name: field 1, binary -> field 0, binary; both may be absent (p == NULL) */
};
/* The name on the wire; "" for SL_MPP_OTHER. */
sl_str sl_mpp_method_name(enum sl_mpp_method m);

struct sl_mpp_call {
    enum sl_mpp_method method;
    sl_str name;                         /* reading: as received; writing: for SL_MPP_OTHER only */
    int32_t seqid;
    union {
        struct sl_mpp_get get;
        struct sl_mpp_ack ack;
        struct sl_mpp_close close;
        struct sl_mpp_new added;
        struct sl_mpp_end end;
        struct sl_mpp_segment segment;
        sl_str other;
    } u;
};
struct sl_mpp_reply {
    enum sl_mpp_method method;
    sl_str name;                         /* as of sl_mpp_call */
    int32_t seqid;
    bool failed;                         /* a message of type EXCEPTION: u.failure */
    union {
        struct sl_mpp_blocks blocks;
        struct sl_mpp_status status;
        struct sl_mpp_segment_reply segment;
        sl_str other;
        struct sl_mpp_failure {          /* TApplicationException */
            sl_str message;              /* may be empty */
            int32_t type;
        } failure;
    } u;
};

/* Appends the whole frame, length included. SL_EINPUT if it exceeds 2^31-1 bytes. */
int sl_mpp_call_write(struct sl_buf *out, enum sl_thrift_protocol p, const struct sl_mpp_call *call, sl_err *err) SL_WUR;
int sl_mpp_reply_write(struct sl_buf *out, enum sl_thrift_protocol p, const struct sl_mpp_reply *reply, sl_err *err) SL_WUR;

enum { SL_MPP_MEMORY = 48 };
/* MESSAGE is a frame without its length. Views point into it, arrays come from A, at most SL_MPP_MEMORY bytes for
 * each byte of it. When the head was readable, name (not NULL), method and seqid are set even if the call then fails, so that a
 * server can answer. The arguments of a method of another name are skipped but for a binary field 1. */
int sl_mpp_call_read(enum sl_thrift_protocol p, sl_str message, struct sl_arena *a, struct sl_mpp_call *out, sl_err *err) SL_WUR;
int sl_mpp_reply_read(enum sl_thrift_protocol p, sl_str message, struct sl_arena *a, struct sl_mpp_reply *out, sl_err *err) SL_WUR;

/* ---- a getDataBlock reply of many bytes, written without a copy ---- */

/* No frame of N elements has more bytes besides its elements than this, in either protocol, its length included. */
#define SL_MPP_BLOCKS_OVERHEAD(n) (80 + 5 * (size_t)(n))
/* The whole frame as pieces for writev: HEADS (emptied first) gets the bytes around the elements, PIECES (room for 2 x n + 1) point into HEADS and at
 * the elements in turn; valid while both live. */
int sl_mpp_blocks_pieces(enum sl_thrift_protocol p, int32_t seqid, const struct sl_mpp_blocks *reply, struct sl_buf *heads, sl_str *pieces,
                         size_t *npieces, sl_err *err) SL_WUR;

/* ---- a getDataBlock reply, read while it arrives ---- */

enum sl_reply_event {
    SL_REPLY_NEED,    /* show the bytes not used again, with at least one more behind them */
    SL_REPLY_ELEMENT, /* the next element_length bytes of the message are element number `element`: take them, then call
                       * sl_reply_reader_taken; its fragment fields come behind the list, so they are not known yet */
    SL_REPLY_END,     /* the whole message was read: all fields below are final */
};

enum { SL_THRIFT_DEPTH = 32 };
struct sl_thrift_skip { /* where a skipped value of any type stands */
    uint64_t bytes;
    unsigned depth;
    struct {
        bool fields;
        uint8_t type[2];
        uint8_t turn, turns;
        int16_t last;
        uint64_t left;
    } in[SL_THRIFT_DEPTH];
};

struct sl_reply_reader {
    /* to be read by the caller */
    size_t pos, length;                  /* bytes of the message used so far, and all */
    int32_t seqid;                       /* valid from the first event but SL_REPLY_NEED on */
    size_t elements;                     /* in the list; each has at least one byte in the message for its length, so it is bounded */
    size_t element, element_length;      /* of SL_REPLY_ELEMENT; at most the bytes left of the message */
    bool has_offset, has_total;
    int32_t offset, total;
    bool failed;                         /* the peer answered with an error: */
    int32_t failure_type;
    char failure_text[256];              /* the first bytes of it */
    /* private */
    enum sl_thrift_protocol protocol;
    int state;
    int16_t last, outer_last;
    size_t text_left, text_used;
    bool has_result, has_list;
    struct sl_thrift_skip skip;
};

/* LENGTH as by sl_frame_length. Owns nothing, needs no release. */
void sl_reply_reader_begin(struct sl_reply_reader *r, enum sl_thrift_protocol p, size_t length);
/* BYTES: what has arrived of the message from r->pos on, never beyond its end. *USED of them are done with. It never waits for more than 128
 * bytes at a time, so a small buffer is enough. A name other than getDataBlock, a list of another type, a result without a list and anything
 * behind the message's end is SL_ECORRUPT. After an error only begin. */
int sl_reply_reader_next(struct sl_reply_reader *r, sl_str bytes, size_t *used, enum sl_reply_event *event, sl_err *err) SL_WUR;
/* The announced element was taken, from the bytes shown or from the source itself. */
void sl_reply_reader_taken(struct sl_reply_reader *r);

#endif
