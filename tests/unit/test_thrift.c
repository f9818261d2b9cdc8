/* Messages of the data exchange in both protocols, and replies read while they arrive. */
#include "unit.h"

#include <string.h>

#include "format/thrift.h"
#include "hex.h"

static struct sl_arena arena;
static sl_err err = SL_ERR_INIT;
static const enum sl_thrift_protocol protocols[] = {SL_THRIFT_BINARY, SL_THRIFT_COMPACT};

#define HEAD_BINARY(type) "8001000" #type "0000000c676574446174 61426c6f636b 00000001"
#define HEAD_COMPACT(byte) "82" #byte "010c676574446174 61426c6f636b"

static int release(void **state)
{
    (void)state;
    sl_mem_fail_nth(0);
    sl_arena_release(&arena);
    return 0;
}

static const struct sl_mpp_instance source = {{"q0", 2}, 1, {"0", 1}};

static sl_str text(const char *s)
{
    return (sl_str){s, strlen(s)};
}

static void assert_hex(sl_str got, const char *want)
{
    char wanted[8192];

    snprintf(wanted, sizeof wanted, "%s", hex_text(hex_bytes(want)));
    assert_string_equal(hex_text(got), wanted);
}

static sl_str message_of(const struct sl_buf *b)
{
    size_t n = 0;

    assert_ok(sl_frame_length(b->p, INT32_MAX, &n, &err), err);
    assert_int_equal(n + SL_FRAME_HEAD, b->n);
    return sl_str_sub(sl_buf_view(b), SL_FRAME_HEAD, b->n);
}

/* ---- vectors ---- */

static const char call_binary[] =
    "00000055" HEAD_BINARY(1) "0cffff 0c0001 0b0001 00000002 7130 080002 00000001 0b0003 00000001 30 00"
    "080002 00000000 080003 00000002 080004 00000000 080005 00000000 00 00";
static const char call_compact[] = "00000027" HEAD_COMPACT(21) "0c01 1c1802 7130 1502 180130 00 1500 1504 1500 1500 00 00";

static void call_vectors(void **state)
{
    struct sl_mpp_call call = {.method = SL_MPP_GET_DATA_BLOCK, .seqid = 1, .u.get = {source, 0, 2, 0, true, 0}}, got;

    (void)state;
    for (int p = 0; p < 2; p++) {
        struct sl_buf b = SL_BUF_INIT;
        enum sl_thrift_protocol found;

        assert_ok(sl_mpp_call_write(&b, protocols[p], &call, &err), err);
        assert_hex(sl_buf_view(&b), p ? call_compact : call_binary);
        assert_true(sl_thrift_protocol_of(message_of(&b), &found));
        assert_int_equal(found, protocols[p]);
        assert_ok(sl_mpp_call_read(protocols[p], message_of(&b), &arena, &got, &err), err);
        assert_int_equal(got.method, SL_MPP_GET_DATA_BLOCK);
        assert_int_equal(got.seqid, 1);
        assert_true(sl_str_eqc(got.u.get.source.query, "q0") && sl_str_eqc(got.u.get.source.instance, "0"));
        assert_int_equal(got.u.get.source.fragment, 1);
        assert_int_equal(got.u.get.end, 2);
        assert_true(got.u.get.has_offset && got.u.get.offset == 0);
        sl_buf_release(&b);
    }
    /* Without an offset; and the argument with the number 1, as other compilers give it. */
    assert_ok(sl_mpp_call_read(SL_THRIFT_BINARY, hex_bytes(HEAD_BINARY(1) "0c0001 0c0001 0b0001 00000000 080002 00000001 0b0003 00000000 00"
                               "080002 00000007 080003 00000008 080004 00000009 00 00"), &arena, &got, &err), err);
    assert_true(!got.u.get.has_offset && got.u.get.start == 7 && got.u.get.index == 9);
    assert_ok(sl_mpp_call_read(SL_THRIFT_COMPACT, hex_bytes(HEAD_COMPACT(21) "1c 1c1802 7130 1502 180130 00 1500 1504 1500 00 00"), &arena, &got,
                               &err), err);
    assert_true(!got.u.get.has_offset && got.u.get.end == 2);
}

static void reply_vectors(void **state)
{
    static const struct {
        int method;
        const char *binary, *compact;
    } vectors[] = {
        {0, "0c0000 0f0001 0b00000001 00000002 0102 080002 00000002 080003 00000005 00 00", "0c00 1918 02 0102 1504 150a 00 00"},
        {1, "0c0000 0f0001 0b00000000 00 00", "0c00 1908 00 00"},
    };
    sl_str element = {"\x01\x02", 2};
    struct sl_mpp_reply replies[2] = {{.seqid = 1, .u.blocks = {&element, 1, true, true, 2, 5}}, {.seqid = 1}};

    (void)state;
    for (int v = 0; v < 2; v++)
        for (int p = 0; p < 2; p++) {
            struct sl_buf b = SL_BUF_INIT;
            struct sl_mpp_reply got;
            char want[300];

            assert_ok(sl_mpp_reply_write(&b, protocols[p], &replies[v], &err), err);
            snprintf(want, sizeof want, "%s%s", p ? HEAD_COMPACT(41) : HEAD_BINARY(2), p ? vectors[v].compact : vectors[v].binary);
            assert_hex(message_of(&b), want);
            assert_ok(sl_mpp_reply_read(protocols[p], message_of(&b), &arena, &got, &err), err);
            assert_int_equal(got.u.blocks.n, replies[v].u.blocks.n);
            assert_int_equal(got.u.blocks.has_total, v == 0);
            assert_int_equal(got.u.blocks.total, v == 0 ? 5 : 0);
            if (v == 0)
                assert_memory_equal(got.u.blocks.v[0].p, "\x01\x02", 2);
            sl_buf_release(&b);
        }
}

/* Answers without a value, and errors. */
static void other_replies(void **state)
{
    struct sl_buf b = SL_BUF_INIT;
    struct sl_mpp_reply ack = {.method = SL_MPP_ACKNOWLEDGE, .seqid = -5}, got;
    struct sl_mpp_reply bad = {.method = SL_MPP_GET_DATA_BLOCK, .seqid = 7, .failed = true,
                               .u.failure = {text("no such block"), SL_THRIFT_INTERNAL_ERROR}};

    (void)state;
    for (int p = 0; p < 2; p++) {
        sl_buf_reset(&b);
        assert_ok(sl_mpp_reply_write(&b, protocols[p], &ack, &err), err);
        assert_int_equal(b.p[b.n - 1], 0);
        assert_ok(sl_mpp_reply_read(protocols[p], message_of(&b), &arena, &got, &err), err);
        assert_true(got.method == SL_MPP_ACKNOWLEDGE && got.seqid == -5 && !got.failed);
        sl_buf_reset(&b);
        assert_ok(sl_mpp_reply_write(&b, protocols[p], &bad, &err), err);
        assert_ok(sl_mpp_reply_read(protocols[p], message_of(&b), &arena, &got, &err), err);
        assert_true(got.failed && got.seqid == 7 && got.u.failure.type == 6 && sl_str_eqc(got.u.failure.message, "no such block"));
    }
    sl_buf_release(&b);
}

/* ---- all messages, there and back ---- */

static struct sl_mpp_call calls[] = {
    {.method = SL_MPP_GET_DATA_BLOCK, .seqid = 1},
    {.method = SL_MPP_ACKNOWLEDGE, .seqid = 2},
    {.method = SL_MPP_CLOSE, .seqid = INT32_MAX},
    {.method = SL_MPP_NEW, .seqid = INT32_MIN},
    {.method = SL_MPP_END, .seqid = -1},
    {.method = SL_MPP_TEST, .seqid = 0},
    {.method = SL_MPP_FETCH_SEGMENT, .seqid = 300},
    {.method = SL_MPP_FINISH_SEGMENT, .seqid = 70000},
    {.method = SL_MPP_OTHER, .seqid = 9},
};
enum { NCALLS = sizeof calls / sizeof calls[0] };
static int64_t sizes[40];

static void fill_calls(void)
{
    for (size_t i = 0; i < 40; i++)
        sizes[i] = i % 2 ? (int64_t)1 << i : INT64_MAX - (int64_t)i;
    calls[0].u.get = (struct sl_mpp_get){source, -1, INT32_MAX, 3, false, 0};
    calls[1].u.ack = (struct sl_mpp_ack){source, 5, 6, INT32_MIN};
    calls[2].u.close = (struct sl_mpp_close){source, 1000000};
    calls[3].u.added = (struct sl_mpp_new){source, text("17"), {text(""), -3, text("x")}, 64, sizes, 40};
    calls[4].u.end = (struct sl_mpp_end){source, text("18"), source, -1};
    calls[6].u.segment = (struct sl_mpp_segment){text("q"), text("n"), 77};
    calls[7].u.segment = (struct sl_mpp_segment){text("q"), text("n"), 0};
    calls[8].name = text("sluice.open");
    calls[8].u.other = text("{\"table\": \"t\"}");
}

static void round_trips(void **state)
{
    (void)state;
    fill_calls();
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < NCALLS; i++) {
            struct sl_buf b = SL_BUF_INIT, again = SL_BUF_INIT;
            struct sl_mpp_call got;

            assert_ok(sl_mpp_call_write(&b, protocols[p], &calls[i], &err), err);
            assert_ok(sl_mpp_call_read(protocols[p], message_of(&b), &arena, &got, &err), err);
            assert_int_equal(got.method, calls[i].method);
            assert_int_equal(got.seqid, calls[i].seqid);
            assert_ok(sl_mpp_call_write(&again, protocols[p], &got, &err), err);
            assert_int_equal(again.n, b.n);
            assert_memory_equal(again.p, b.p, b.n);
            if (got.method == SL_MPP_NEW) {
                assert_int_equal(got.u.added.nsizes, 40);
                assert_memory_equal(got.u.added.sizes, sizes, sizeof sizes);
            }
            if (got.method == SL_MPP_OTHER)
                assert_true(sl_str_eqc(got.name, "sluice.open") && sl_str_eqc(got.u.other, "{\"table\": \"t\"}"));
            sl_buf_release(&b);
            sl_buf_release(&again);
        }
}

static void status_round_trip(void **state)
{
    struct sl_mpp_status subs[2] = {{.code = 301, .message = text("a")}, {.code = -1}};
    struct sl_mpp_reply reply = {.method = SL_MPP_FETCH_SEGMENT, .u.segment = {
        {200, text("fine"), subs, 2, true, true, true, {text("::1"), 10740}, text("\x01")}, text("payload")}}, got;

    (void)state;
    for (int p = 0; p < 2; p++) {
        struct sl_buf b = SL_BUF_INIT;

        assert_ok(sl_mpp_reply_write(&b, protocols[p], &reply, &err), err);
        assert_ok(sl_mpp_reply_read(protocols[p], message_of(&b), &arena, &got, &err), err);
        const struct sl_mpp_status *s = &got.u.segment.status;
        assert_true(s->code == 200 && s->nsub == 2 && s->sub[0].code == 301 && sl_str_eqc(s->sub[0].message, "a"));
        assert_true(s->sub[1].message.p == NULL && s->has_redirect && s->redirect.port == 10740 && s->retry && s->has_retry);
        assert_true(!s->sub[1].has_redirect && !s->sub[1].has_retry && sl_str_eqc(got.u.segment.payload, "payload"));
        sl_buf_release(&b);
    }
}

/* ---- liberal and hostile input ---- */

/* Fields of every type that no struct knows, in front of, between and behind the known ones. */
static void unknown_fields(void **state)
{
    static const char extras_binary[] =
        "020063 01 03006401 04 0065 4000000000000000 06 0066 0102 0a 0067 0000000000000001 0b 0068 00000003 616263"
        "0c 0069 0c0001 00 00 0d 006a 0b08 00000001 00000001 61 00000007 0e 006b 02 00000002 0100 0f 006c 0c 00000002 00 00"
        "0d 006d 0000 00000000 10 006e 00112233445566778899aabbccddeeff";
    static const char extras_compact[] =
        "01 c601 12 13 05 17 0000000000000040 14 06 16 01 18 03 616263 1c 1c 00 00 1b 01 85 01 61 0e 1a 21 0102 19 2c 00 00 1b 00"
        "1d 00112233445566778899aabbccddeeff 19 f1 10 01010101010101010101010101010101";
    char message[2000];
    struct sl_mpp_call got;

    (void)state;
    snprintf(message, sizeof message, HEAD_BINARY(1) "%s 0cffff 080004 00000009 %s 0c0001 0b0001 00000001 61 080002 00000001 %s 0b0003 00000000 00"
             "080002 00000001 0a0005 0000000000000001 080003 00000002 %s 00 %s 00",
             extras_binary, extras_binary, extras_binary, extras_binary, extras_binary);
    assert_ok(sl_mpp_call_read(SL_THRIFT_BINARY, hex_bytes(message), &arena, &got, &err), err);
    assert_true(got.u.get.index == 9 && got.u.get.start == 1 && got.u.get.end == 2 && !got.u.get.has_offset);
    snprintf(message, sizeof message, HEAD_COMPACT(21) "%s 0c01 05 08 12 %s 0c 02 18 01 61 15 02 18 00 00 %s 05 04 02 16 02 05 06 04 00 00",
             extras_compact, extras_compact, extras_compact);
    assert_ok(sl_mpp_call_read(SL_THRIFT_COMPACT, hex_bytes(message), &arena, &got, &err), err);
    assert_true(got.u.get.index == 9 && got.u.get.start == 1 && got.u.get.end == 2 && !got.u.get.has_offset);
}

static void refused(enum sl_thrift_protocol p, const char *hex, const char *why)
{
    struct sl_mpp_call got;

    assert_code(sl_mpp_call_read(p, hex_bytes(hex), &arena, &got, &err), SL_ECORRUPT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, why);
}

static void hostile(void **state)
{
    (void)state;
    refused(SL_THRIFT_BINARY, HEAD_COMPACT(21), "compact protocol, the binary");
    refused(SL_THRIFT_COMPACT, HEAD_BINARY(1), "binary protocol, the compact");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(2) "00", "reply");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(9) "00", "type of the message");
    refused(SL_THRIFT_BINARY, "80010001 0000000d 676574446174", "length exceeds");
    refused(SL_THRIFT_BINARY, "80010001 ffffffff", "length exceeds");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "00", "no req");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "0cffff 00 00", "no sourceFragmentInstanceId");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "0cffff 0c0001 0b0001 7fffffff", "length exceeds");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "0f0009 0b 7fffffff 00", "count exceeds");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "0d0009 0b0b 7fffffff 00", "count exceeds");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "050009 00", "type is not known");
    refused(SL_THRIFT_COMPACT, HEAD_COMPACT(21) "1e", "type is not known");
    refused(SL_THRIFT_COMPACT, HEAD_COMPACT(21) "19 f8 ffffffff0f", "count exceeds");
    refused(SL_THRIFT_COMPACT, HEAD_COMPACT(21) "15 ffffffffff", "number does not end");
    refused(SL_THRIFT_COMPACT, HEAD_COMPACT(21) "05 ffffffff0f 00", "field number");
    refused(SL_THRIFT_BINARY, HEAD_BINARY(1) "0cffff 0c0001 0b0001 00000000 080002 00000001 0b0003 00000000 00"
            "080002 00000007 080003 00000008 080004 00000009 00 00 00", "left over");
    /* Deeper than any stack should go. */
    char deep[2000] = HEAD_COMPACT(21);
    for (int i = 0; i < 200; i++)
        strcat(deep, "1c");
    refused(SL_THRIFT_COMPACT, deep, "nested too deeply");
    /* Statuses within statuses, each claiming as many as could be left: the memory stays in proportion. */
    struct sl_buf b = SL_BUF_INIT;
    struct sl_mpp_reply got;
    sl_buf_add(&b, hex_bytes("8241001674657374436f6e6e656374696f6e456d707479525043 0c00"));
    for (int i = 0; i < 20; i++)
        sl_buf_add(&b, hex_bytes("39fc a09c01"));
    while (b.n < 30000)
        sl_buf_u8(&b, 0);
    sl_arena_release(&arena);
    assert_code(sl_mpp_reply_read(SL_THRIFT_COMPACT, sl_buf_view(&b), &arena, &got, &err), SL_ECORRUPT);
    assert_true(arena.used <= b.n * SL_MPP_MEMORY);
    sl_buf_release(&b);
}

/* Cut anywhere, a message is damaged; it never reads on. */
static void truncations(void **state)
{
    (void)state;
    fill_calls();
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < NCALLS; i++) {
            struct sl_buf b = SL_BUF_INIT;
            struct sl_mpp_call got;

            assert_ok(sl_mpp_call_write(&b, protocols[p], &calls[i], &err), err);
            for (size_t n = SL_FRAME_HEAD; n < b.n; n++) {
                char *part = sl_strndup(b.p + SL_FRAME_HEAD, n - SL_FRAME_HEAD); /* so that a sanitizer sees a byte too far */

                assert_code(sl_mpp_call_read(protocols[p], (sl_str){part, n - SL_FRAME_HEAD}, &arena, &got, &err), SL_ECORRUPT);
                sl_free(part);
            }
            sl_buf_release(&b);
        }
}

static void out_of_memory(void **state)
{
    struct sl_buf b = SL_BUF_INIT;
    struct sl_mpp_call got;

    (void)state;
    fill_calls();
    sl_mem_fail_nth(1);
    assert_code(sl_mpp_call_write(&b, SL_THRIFT_BINARY, &calls[3], &err), SL_ENOMEM);
    sl_buf_release(&b);
    assert_ok(sl_mpp_call_write(&b, SL_THRIFT_BINARY, &calls[3], &err), err);
    sl_arena_release(&arena);
    sl_mem_fail_nth(1);
    assert_code(sl_mpp_call_read(SL_THRIFT_BINARY, message_of(&b), &arena, &got, &err), SL_ENOMEM);
    sl_buf_release(&b);
}

/* ---- frames ---- */

static void frames(void **state)
{
    static const struct {
        const char *bytes, *why;
    } bad[] = {
        {"GET ", "HTTP"}, {"POST", "HTTP"}, {"\x16\x03\x01\x02", "TLS hello"}, {"\x15\x03\x03\x00", "TLS alert"},
        {"\xff\xff\xff\xff", "negative"}, {"\x80\x01\x00\x01", "without frames"}, {"\0\0\0\0", "empty"}, {"\0\0\x10\x01", "limit is 4096"},
    };
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_code(sl_frame_length(bad[i].bytes, 4096, &n, &err), SL_ECORRUPT);
        assert_non_null(strstr(err.text, bad[i].why));
    }
    assert_ok(sl_frame_length("\0\0\x10\0", 4096, &n, &err), err);
    assert_int_equal(n, 4096);
}

/* ---- pieces, and the reader ---- */

static const char *const bodies[] = {"first block", "", "b", "a longer one that does not fit well"};

static void make_reply(enum sl_thrift_protocol p, size_t n, struct sl_buf *frame)
{
    sl_str v[4], pieces[9];
    struct sl_mpp_blocks blocks = {v, n, n > 0, n > 1, 1234567, 7654321};
    struct sl_buf heads = SL_BUF_INIT, whole = SL_BUF_INIT;
    struct sl_mpp_reply reply = {.seqid = -7, .u.blocks = blocks};
    size_t npieces, payload = 0;

    for (size_t i = 0; i < n; i++) {
        v[i] = text(bodies[i]);
        payload += v[i].n;
    }
    assert_ok(sl_mpp_blocks_pieces(p, -7, &blocks, &heads, pieces, &npieces, &err), err);
    assert_int_equal(npieces, 2 * n + 1);
    for (size_t i = 0; i < npieces; i++)
        sl_buf_add(frame, pieces[i]);
    assert_ok(sl_mpp_reply_write(&whole, p, &reply, &err), err);
    assert_int_equal(whole.n, frame->n);
    assert_memory_equal(whole.p, frame->p, frame->n);
    assert_true(frame->n - payload <= SL_MPP_BLOCKS_OVERHEAD(n));
    sl_buf_release(&heads);
    sl_buf_release(&whole);
}

/* Reads MESSAGE shown in steps of STEP bytes; elements are taken from the source itself. OUT: all bodies, each with '|'. */
static int read_reply(struct sl_reply_reader *r, enum sl_thrift_protocol p, sl_str message, size_t step, struct sl_buf *out)
{
    size_t shown = 0, used, waits = 0;
    enum sl_reply_event event = SL_REPLY_NEED;

    sl_reply_reader_begin(r, p, message.n);
    while (event != SL_REPLY_END) {
        if (event == SL_REPLY_ELEMENT) {
            assert_true(r->element_length <= message.n - r->pos);
            if (out)
                sl_buf_add(out, sl_str_sub(message, r->pos, r->pos + r->element_length));
            if (out)
                sl_buf_ch(out, '|');
            sl_reply_reader_taken(r);
        } else {
            shown += step;
        }
        if (shown < r->pos)
            shown = r->pos;
        if (shown > message.n)
            shown = message.n;
        char *part = sl_strndup(message.p + r->pos, shown - r->pos);
        int rc = sl_reply_reader_next(r, (sl_str){part, shown - r->pos}, &used, &event, &err);
        sl_free(part);
        if (rc != SL_OK)
            return rc;
        waits = event == SL_REPLY_NEED && used == 0 ? waits + 1 : 0;
        assert_true(shown - r->pos <= 128 + step && waits <= 128);
    }
    return SL_OK;
}

static void reader_steps(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++)
        for (size_t n = 0; n <= 4; n++) {
            struct sl_buf frame = SL_BUF_INIT;
            char want[200] = "";

            make_reply(protocols[p], n, &frame);
            for (size_t i = 0; i < n; i++)
                snprintf(want + strlen(want), sizeof want - strlen(want), "%s|", bodies[i]);
            for (size_t step = 1; step <= frame.n; step++) {
                struct sl_reply_reader r;
                struct sl_buf got = SL_BUF_INIT;

                assert_ok(read_reply(&r, protocols[p], message_of(&frame), step, &got), err);
                assert_string_equal(got.p ? got.p : "", want);
                assert_true(r.elements == n && r.seqid == -7 && !r.failed && r.pos == r.length);
                assert_true(r.has_offset == (n > 0) && r.has_total == (n > 1) && r.offset == (n > 0 ? 1234567 : 0));
                sl_buf_release(&got);
            }
            sl_buf_release(&frame);
        }
}

static void reader_truncations(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++) {
        struct sl_buf frame = SL_BUF_INIT;
        struct sl_reply_reader r;

        make_reply(protocols[p], 4, &frame);
        for (size_t n = 0; n < frame.n - SL_FRAME_HEAD; n++)
            for (size_t step = 1; step <= n + 1; step += 5)
                assert_code(read_reply(&r, protocols[p], sl_str_sub(message_of(&frame), 0, n), step, NULL), SL_ECORRUPT);
        sl_buf_release(&frame);
    }
}

/* The reader and the whole-message decoder agree on what they skip and what they refuse. */
static void reader_liberal(void **state)
{
    static const char *const good[] = {
        HEAD_BINARY(2) "0b0005 00000003 616263 0c0000 0c0009 080001 00000001 00 080003 00000009 0f0001 0b 00000001 00000001 61"
        "0b0011 00000009 313233343536373839 080002 00000008 0f0012 0c 00000002 00 00 0a0002 0000000000000001 00 0d0013 0b02 00000001 00000001 61 01 00",
        HEAD_BINARY(2) "0c0000 080002 00000008 080003 00000009 0f0001 0b 00000001 00000001 61 00 00",
    };
    static const char *const bad[] = {
        HEAD_BINARY(2) "00",
        HEAD_BINARY(2) "0c0000 00 00",
        HEAD_BINARY(2) "0c0000 0f0001 08 00000001 00000001 00 00",
        HEAD_BINARY(2) "0c0000 0f0001 0b 7fffffff 00000001 00 00",
        HEAD_BINARY(2) "0c0000 0f0001 0b 00000001 7fffffff 00 00",
        HEAD_BINARY(2) "0c0000 0f0001 0b 00000001 00000003 00 00",
        HEAD_BINARY(2) "0c0000 0f0001 0b 00000000 00 00 00",
        HEAD_BINARY(1) "00",
    };
    struct sl_reply_reader r;
    struct sl_mpp_reply whole;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        for (size_t step = 1; step < 40; step++) {
            struct sl_buf got = SL_BUF_INIT;

            assert_ok(read_reply(&r, SL_THRIFT_BINARY, hex_bytes(good[i]), step, &got), err);
            assert_string_equal(got.p, "a|");
            assert_true(r.has_offset && r.offset == 8 && r.has_total && r.total == 9);
            assert_ok(sl_mpp_reply_read(SL_THRIFT_BINARY, hex_bytes(good[i]), &arena, &whole, &err), err);
            assert_true(whole.u.blocks.n == 1 && whole.u.blocks.offset == 8 && whole.u.blocks.total == 9);
            sl_buf_release(&got);
        }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t step = 1; step < 60; step += 7)
            assert_code(read_reply(&r, SL_THRIFT_BINARY, hex_bytes(bad[i]), step, NULL), SL_ECORRUPT);
        assert_code(sl_mpp_reply_read(SL_THRIFT_BINARY, hex_bytes(bad[i]), &arena, &whole, &err), SL_ECORRUPT);
    }
    /* The list twice: the elements of the first were taken, so there is no going back. */
    assert_code(read_reply(&r, SL_THRIFT_BINARY, hex_bytes(HEAD_BINARY(2) "0c0000 0f0001 0b 00000000 0f0001 0b 00000000 00 00"), 9, NULL),
                SL_ECORRUPT);
    assert_code(read_reply(&r, SL_THRIFT_BINARY, hex_bytes("80010002 00000001 78 00000001 00"), 9, NULL), SL_ECORRUPT);
    assert_non_null(strstr(err.text, "another method"));
}

static void reader_failures(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++)
        for (size_t n = 0; n < 1000; n += 333)
            for (size_t step = 1; step < 400; step += 37) {
                struct sl_buf b = SL_BUF_INIT, message = SL_BUF_INIT;
                struct sl_mpp_reply reply = {.failed = true, .seqid = 3};
                struct sl_reply_reader r;

                for (size_t i = 0; i < n; i++)
                    sl_buf_ch(&message, (char)('a' + i % 26));
                reply.u.failure = (struct sl_mpp_failure){{message.p ? message.p : "", n}, 6};
                assert_ok(sl_mpp_reply_write(&b, protocols[p], &reply, &err), err);
                assert_ok(read_reply(&r, protocols[p], message_of(&b), step, NULL), err);
                assert_true(r.failed && r.failure_type == 6 && r.elements == 0);
                assert_int_equal(strlen(r.failure_text), n < 255 ? n : 255);
                assert_memory_equal(r.failure_text, message.p ? message.p : "", strlen(r.failure_text));
                sl_buf_release(&b);
                sl_buf_release(&message);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(call_vectors, release), cmocka_unit_test_teardown(reply_vectors, release),
        cmocka_unit_test_teardown(other_replies, release), cmocka_unit_test_teardown(round_trips, release),
        cmocka_unit_test_teardown(status_round_trip, release), cmocka_unit_test_teardown(unknown_fields, release),
        cmocka_unit_test_teardown(hostile, release), cmocka_unit_test_teardown(truncations, release),
        cmocka_unit_test_teardown(out_of_memory, release), cmocka_unit_test_teardown(frames, release),
        cmocka_unit_test_teardown(reader_steps, release), cmocka_unit_test_teardown(reader_truncations, release),
        cmocka_unit_test_teardown(reader_liberal, release), cmocka_unit_test_teardown(reader_failures, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
