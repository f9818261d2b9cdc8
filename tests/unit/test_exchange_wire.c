/* What comes over the wire: older and partial peers, noise, broken connections, certificates, limits that change. */
#include "exchange_unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange/client.h"

static const struct sl_exchange_opts PLAIN;

/* ---- a peer of another age: a server that answers from a sink as it knows how ---- */

enum age { NEW, OLD, NO_TOTAL };

struct old_node {
    enum age age;
    struct sl_sink *sink;
    struct sl_server *server;
    struct sl_settings *settings;
    atomic_int calls, with_offset;
};

static int serve_old(void *user, const struct sl_caller *caller, const struct sl_mpp_call *call, struct sl_answer *answer, sl_err *err)
{
    struct old_node *o = user;
    struct sl_mpp_get get = call->u.get;

    (void)caller;
    if (call->method == SL_MPP_ACKNOWLEDGE) {
        sl_sink_acknowledge(o->sink, call->u.ack.start, call->u.ack.end);
        return SL_OK;
    }
    if (call->method != SL_MPP_GET_DATA_BLOCK)
        return SL_OK;
    atomic_fetch_add(&o->calls, 1);
    atomic_fetch_add(&o->with_offset, get.has_offset);
    if (o->age == OLD) /* skips the field it does not know */
        get.has_offset = false;
    int rc = sl_exchange_answer_get(o->settings, o->sink, &get, answer, err);
    if (o->age == NO_TOTAL)
        answer->blocks.total = -1;
    return rc;
}

static void pairing(enum age age, bool whole_blocks, const size_t *sizes, size_t n, const char *settings, int calls)
{
    char *folder = unit_folder(), path[4200], address[32], down_address[32];
    struct old_node o = {.age = age};
    struct sl_mempool *pool = NULL;
    struct sl_mempool_query *query = NULL;
    struct sl_exchange *down = NULL;
    struct sl_source_handle *h = NULL;
    sl_err err = SL_ERR_INIT;

    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, settings);
    assert_ok(sl_settings_open(path, &o.settings, &err), err);
    assert_ok(sl_mempool_new(1 << 30, 0, &pool, &err), err);
    assert_ok(sl_mempool_query_get(pool, SL_LIT("q"), &query, &err), err);
    struct sl_sink_setup k = {.query = query};
    assert_ok(sl_sink_new(&k, &o.sink, &err), err);
    struct sl_server_setup setup = {.listen = "127.0.0.1:0", .max_frame = 1 << 20, .max_clients = 10, .timeout_millis = 10000,
                                    .serve = serve_old, .user = &o};
    assert_ok(sl_server_start(&setup, &o.server, &err), err);
    snprintf(address, sizeof address, "127.0.0.1:%d", sl_server_port(o.server));
    unit_open_node(&PLAIN, &down, down_address);
    struct sl_source_opts so = {.target = {SL_LIT("q"), 0, SL_LIT("0")}, .target_node = SL_LIT("n"), .source_address = address,
                                .source = {SL_LIT("q"), 1, SL_LIT("0")}, .whole_blocks = whole_blocks};
    assert_ok(sl_source_handle_open(down, &so, &h, &err), err);

    struct sl_client *client = NULL;
    struct sl_client_setup cs = {.timeout_millis = 10000, .max_frame = 1 << 20};
    assert_ok(sl_client_new(&cs, &client, &err), err);
    int64_t announced[16];
    for (size_t i = 0; i < n; i++) {
        struct unit_block b = {(int32_t)i, 0};

        assert_ok(sl_sink_send(o.sink, sizes[i], unit_serialize, &b, 1000, &err), err);
        announced[i] = age == OLD ? 200 : (int64_t)sizes[i];
    }
    struct sl_mpp_instance target = {SL_LIT("q"), 0, SL_LIT("0")}, source = {SL_LIT("q"), 1, SL_LIT("0")};
    struct sl_mpp_call call = {.method = SL_MPP_NEW, .u.added = {target, SL_LIT("n"), source, 0, announced, n}};
    struct sl_mpp_reply reply;
    struct sl_arena arena = SL_ARENA_INIT;
    assert_ok(sl_client_call(client, down_address, NULL, &call, &arena, &reply, &err), err);
    call = (struct sl_mpp_call){.method = SL_MPP_END, .u.end = {target, SL_LIT("n"), source, (int32_t)n - 1}};
    assert_ok(sl_client_call(client, down_address, NULL, &call, &arena, &reply, &err), err);
    sl_arena_release(&arena);

    for (size_t i = 0; i < n; i++)
        unit_receive(h, (int32_t)i, sizes[i]);
    unit_receive_end(h);
    assert_int_equal(atomic_load(&o.calls), calls);
    assert_int_equal(atomic_load(&o.with_offset), whole_blocks ? 0 : calls);
    sl_source_handle_free(h);
    for (int i = 0; i < 400 && sl_mempool_used(pool); i++)
        sl_sleep_millis(5);
    assert_int_equal(sl_mempool_used(pool), 0); /* all acknowledged */
    assert_int_equal(sl_exchange_memory_used(down), 0);
    assert_int_equal(sl_client_idle(client), 1);
    sl_client_free(client);
    sl_exchange_close(down);
    sl_server_stop(o.server);
    sl_sink_unref(o.sink);
    sl_mempool_query_unref(query);
    sl_mempool_unref(pool);
    sl_settings_close(o.settings);
    unit_folder_remove(folder);
}

static void peers_of_all_ages(void **state)
{
    static const size_t sizes[] = {1024, 1024, 1024};
    const char *limit = "mpp_data_exchange_max_payload_size_in_bytes=100\n";

    (void)state;
    pairing(NEW, false, sizes, 3, limit, 31);     /* 3,072 bytes in calls of 100 */
    pairing(NEW, true, sizes, 3, limit, 1);       /* an old client: whole blocks, no bound */
    pairing(OLD, false, sizes, 3, limit, 1);      /* an old server: the same */
    pairing(OLD, true, sizes, 3, limit, 1);
    pairing(NO_TOTAL, false, sizes, 3, limit, 31);
    pairing(NO_TOTAL, true, sizes, 3, limit, 1);
}

static void limits_beside_the_size(void **state)
{
    static const size_t one[] = {1000};
    static const struct {
        const char *limit;
        int calls;
    } cases[] = {{"999", 2}, {"1000", 1}, {"1001", 1}, {"1", 1000}};
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "mpp_data_exchange_max_payload_size_in_bytes=%s\n", cases[i].limit);
        pairing(NEW, false, one, 1, text, cases[i].calls);
        pairing(NO_TOTAL, false, one, 1, text, cases[i].calls);
    }
}

/* ---- a limit that changes in the middle of a block ---- */

static int fetch_once(struct sl_client *c, const char *address, int32_t offset, struct sl_received *out, const struct sl_receiver *to, sl_err *err)
{
    struct sl_mpp_get get = {{SL_LIT("q0"), 1, SL_LIT("0")}, 0, 1, 0, true, offset};

    return sl_client_fetch(c, address, NULL, &get, to, out, err);
}

struct catcher {
    unsigned char *p;
    size_t at, last;
};

static int catch_element(void *user, size_t i, size_t n, size_t size, unsigned char **to, sl_err *err)
{
    struct catcher *c = user;

    (void)i;
    (void)n;
    (void)err;
    *to = c->p + c->at;
    c->at += size;
    c->last = size;
    return SL_OK;
}

static void reload_in_mid_block(void **state)
{
    enum { SIZE = 100000 };
    char *folder = unit_folder(), path[4200];
    struct sl_exchange_opts opts = {.settings_file = path};
    struct unit_pair p;
    struct sl_client *client = NULL;
    struct sl_client_setup cs = {.timeout_millis = 10000, .max_frame = 1 << 20};
    struct catcher c = {.p = sl_malloc(SIZE)};
    struct sl_receiver to = {catch_element, &c};
    struct sl_received r;
    sl_err err = SL_ERR_INIT;

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=1,000\n");
    unit_open(&p, &opts, &PLAIN);
    unit_send(p.sink, 0, SIZE);
    assert_ok(sl_client_new(&cs, &client, &err), err);
    assert_ok(fetch_once(client, p.up_address, 0, &r, &to, &err), err);
    assert_int_equal(c.last, 1000);
    assert_int_equal(r.total, SIZE);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=7,000\n");
    assert_ok(sl_exchange_reload(p.up, &err), err);
    assert_ok(fetch_once(client, p.up_address, r.offset, &r, &to, &err), err);
    assert_int_equal(c.last, 7000);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=1\n");
    for (int i = 0; i < 500 && sl_exchange_max_payload(p.up) != 1; i++)
        sl_sleep_millis(10); /* by the watch alone */
    assert_ok(fetch_once(client, p.up_address, r.offset, &r, &to, &err), err);
    assert_int_equal(c.last, 1);
    assert_int_equal(r.offset, 8001);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=4,194,304\n");
    assert_ok(sl_exchange_reload(p.up, &err), err);
    assert_ok(fetch_once(client, p.up_address, r.offset, &r, &to, &err), err);
    assert_false(r.has_offset);
    assert_int_equal(c.at, SIZE);
    assert_true(unit_same(0, c.p, SIZE));
    /* The errors of a request, as the caller reads them. */
    assert_code(fetch_once(client, p.up_address, SIZE, &r, &to, &err), SL_EFAIL);
    assert_non_null(strstr(err.text, "outside block 0"));
    assert_int_equal(sl_client_idle(client), 1);
    sl_free(c.p);
    sl_client_free(client);
    unit_close(&p);
    unit_folder_remove(folder);
}

/* ---- noise on the port ---- */

static char log_text[16384];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_log(enum sl_level level, const char *area, const char *text, void *user)
{
    (void)area;
    (void)user;
    pthread_mutex_lock(&log_lock);
    if (level <= SL_LOG_WARN && strlen(log_text) + strlen(text) + 2 < sizeof log_text) {
        strcat(log_text, text);
        strcat(log_text, "\n");
    }
    pthread_mutex_unlock(&log_lock);
}

static void noise(const char *address, const void *p, size_t n, const char *named)
{
    int fd = connect_to(address);
    char byte;
    bool found = false;

    pthread_mutex_lock(&log_lock);
    log_text[0] = '\0';
    pthread_mutex_unlock(&log_lock);
    send_all(fd, p, n);
    ssize_t got = recv(fd, &byte, 1, 0); /* the server closes it */
    assert_true(got == 0 || (got < 0 && errno == ECONNRESET));
    close(fd);
    for (int i = 0; i < 400 && !found; i++) {
        pthread_mutex_lock(&log_lock);
        found = strstr(log_text, named) != NULL;
        pthread_mutex_unlock(&log_lock);
        if (!found)
            sl_sleep_millis(5);
    }
    if (!found)
        fail_msg("not \"%s\" in the log: %s", named, log_text);
}

static void noise_on_the_port(void **state)
{
    static const unsigned char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03};
    static const unsigned char negative[] = {0xff, 0xff, 0xff, 0xff, 1}, large[] = {0x7f, 0xff, 0xff, 0xff, 1}, zero[] = {0, 0, 0, 0, 1};
    static const unsigned char junk[] = {0, 0, 0, 4, 'j', 'u', 'n', 'k'};
    struct unit_pair p;

    (void)state;
    sl_log_sink(keep_log, NULL);
    unit_open(&p, &PLAIN, &PLAIN);
    noise(p.up_address, "GET /metrics HTTP/1.1\r\n\r\n", 25, "HTTP");
    noise(p.up_address, "POST / HTTP/1.1\r\n\r\n", 19, "HTTP");
    noise(p.up_address, hello, sizeof hello, "TLS");
    noise(p.up_address, negative, sizeof negative, "closed");
    noise(p.up_address, large, sizeof large, "2147483647");
    noise(p.up_address, zero, sizeof zero, "closed");
    noise(p.up_address, junk, sizeof junk, "no Thrift message");
    sl_log_sink(NULL, NULL);
    unit_send(p.sink, 0, 100); /* and the node goes on */
    unit_receive(p.source, 0, 100);
    unit_close(&p);
}

static void unknown_methods(void **state)
{
    struct unit_pair p;
    struct sl_client *client = NULL;
    struct sl_client_setup cs = {.timeout_millis = 10000, .max_frame = 1 << 20};
    struct sl_mpp_call call = {.method = SL_MPP_OTHER, .name = SL_LIT("dropAllTables"), .u.other = SL_LIT("x")};
    struct sl_mpp_reply reply;
    struct sl_arena arena = SL_ARENA_INIT;
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    assert_ok(sl_client_new(&cs, &client, &err), err);
    assert_code(sl_client_call(client, p.up_address, NULL, &call, &arena, &reply, &err), SL_EFAIL);
    assert_non_null(strstr(err.text, "dropAllTables"));
    call = (struct sl_mpp_call){.method = SL_MPP_TEST};
    assert_ok(sl_client_call(client, p.up_address, NULL, &call, &arena, &reply, &err), err);
    assert_int_equal(reply.u.status.code, 200);
    /* Calls for what nobody knows are answered, and change nothing. */
    struct sl_mpp_instance nobody = {SL_LIT("q9"), 1, SL_LIT("0")}, known = {SL_LIT("q0"), 1, SL_LIT("0")};
    int64_t size = 5;
    call = (struct sl_mpp_call){.method = SL_MPP_ACKNOWLEDGE, .u.ack = {nobody, 0, 1, 0}};
    assert_ok(sl_client_call(client, p.up_address, NULL, &call, &arena, &reply, &err), err);
    call = (struct sl_mpp_call){.method = SL_MPP_CLOSE, .u.close = {nobody, 0}};
    assert_ok(sl_client_call(client, p.up_address, NULL, &call, &arena, &reply, &err), err);
    call = (struct sl_mpp_call){.method = SL_MPP_NEW, .u.added = {nobody, SL_LIT("n"), known, 0, &size, 1}};
    assert_ok(sl_client_call(client, p.up_address, NULL, &call, &arena, &reply, &err), err);
    struct catcher c = {0};
    struct sl_receiver to = {catch_element, &c};
    struct sl_received r = {.n = 7};
    struct sl_mpp_get get = {nobody, 0, 1, 0, true, 0};
    assert_ok(sl_client_fetch(client, p.up_address, NULL, &get, &to, &r, &err), err);
    assert_int_equal(r.n, 0); /* the channel is gone */
    get = (struct sl_mpp_get){known, 0, 1, 5, true, 0};
    assert_code(sl_client_fetch(client, p.up_address, NULL, &get, &to, &r, &err), SL_EFAIL);
    assert_non_null(strstr(err.text, "no channel 5"));
    get = (struct sl_mpp_get){known, 1, 1, 0, true, 0};
    assert_ok(sl_client_fetch(client, p.up_address, NULL, &get, &to, &r, &err), err);
    assert_int_equal(r.n, 0);
    sl_arena_release(&arena);
    sl_client_free(client);
    unit_close(&p);
}

/* ---- a server that lies about lengths ---- */

struct liar {
    int listener;
    char address[32];
    const void *answer;
    size_t n;
};

static void *lie(void *arg)
{
    struct liar *l = arg;
    int fd = accept(l->listener, NULL, NULL);
    char request[4096];

    if (recv(fd, request, sizeof request, 0) > 0)
        send_all(fd, l->answer, l->n);
    shutdown(fd, SHUT_WR);
    while (recv(fd, request, sizeof request, 0) > 0)
        continue;
    close(fd);
    return NULL;
}

static int refuse_element(void *user, size_t i, size_t n, size_t size, unsigned char **to, sl_err *err)
{
    struct catcher *c = user;

    (void)to;
    c->at = size;
    return sl_err_set(err, SL_ENOMEM, "element %zu of %zu has %zu bytes", i, n, size);
}

/* "getDataBlock", reply, seqid 0, success field 0 struct, field 1 list of strings. */
#define REPLY "\x80\x01\x00\x02\x00\x00\x00\x0cgetDataBlock\x00\x00\x00\x00\x0c\x00\x00\x0f\x00\x01\x0b"

static void answers_that_lie(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int code;
        size_t element; /* that is announced before the error */
    } cases[] = {
        {"\x7f\xff\xff\xff", 4, SL_ECORRUPT, 0},                                                  /* a frame above the limit */
        {"\xff\xff\xff\xff", 4, SL_ECORRUPT, 0},
        {"HTTP/1.1 400 Bad Request\r\n", 26, SL_ECORRUPT, 0},
        {"\x15\x03\x01\x00\x02\x02\x28", 7, SL_ECORRUPT, 0},
        {"\x00\x00\x01\x00" REPLY, 4 + 31, SL_EIO, 0},                                             /* ends in the middle */
        {"\x00\x00\x00\x30" REPLY "\x7f\xff\xff\xff\x00\x00\x00\x01x", 4 + 31 + 9, SL_ECORRUPT, 0}, /* more elements than bytes */
        {"\x00\x00\x00\x30" REPLY "\x00\x00\x00\x01\x7f\xff\xff\xff", 4 + 31 + 8, SL_ECORRUPT, 0},  /* an element longer than the frame */
        {"\x00\x00\x00\x30" REPLY "\x00\x00\x00\x01\xff\xff\xff\xff", 4 + 31 + 8, SL_ECORRUPT, 0},
        {"\x00\x0f\xff\xff" REPLY "\x00\x00\x00\x01\x00\x0f\xff\x00", 4 + 31 + 8, SL_ENOMEM, 0xfff00}, /* plausible: the receiver decides */
        {"\x00\x00\x00\x05junk!", 9, SL_ECORRUPT, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof a;
        struct liar l = {.listener = socket(AF_INET, SOCK_STREAM, 0), .answer = cases[i].bytes, .n = cases[i].n};
        struct sl_client_setup cs = {.timeout_millis = 5000, .max_frame = 1 << 20};
        struct sl_client *client = NULL;
        struct catcher c = {0};
        struct sl_receiver to = {refuse_element, &c};
        struct sl_received r;
        sl_err err = SL_ERR_INIT;
        pthread_t id;

        assert_int_equal(bind(l.listener, (struct sockaddr *)&a, n), 0);
        assert_int_equal(listen(l.listener, 1), 0);
        assert_int_equal(getsockname(l.listener, (struct sockaddr *)&a, &n), 0);
        snprintf(l.address, sizeof l.address, "127.0.0.1:%d", ntohs(a.sin_port));
        assert_int_equal(pthread_create(&id, NULL, lie, &l), 0);
        assert_ok(sl_client_new(&cs, &client, &err), err);
        int rc = fetch_once(client, l.address, 0, &r, &to, &err);
        if (rc != cases[i].code || c.at != cases[i].element)
            fail_msg("case %zu: code %d, element of %zu bytes: %s", i, rc, c.at, err.text);
        assert_int_equal(sl_client_idle(client), 0); /* such a connection is not used again */
        sl_client_free(client);
        pthread_join(id, NULL);
        close(l.listener);
    }
}

static void many_channels(void **state)
{
    enum { CHANNELS = 300, BLOCKS = 4 };
    static struct sl_sink_channel *sinks[CHANNELS];
    static struct sl_source_handle *sources[CHANNELS];
    struct unit_pair p = {0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open_node(&PLAIN, &p.up, p.up_address);
    unit_open_node(&PLAIN, &p.down, p.down_address);
    for (int32_t i = 0; i < CHANNELS; i++)
        unit_open_channel(&p, i, i % 5 == 0, &sinks[i], &sources[i]);
    for (int32_t b = 0; b < BLOCKS; b++)
        for (int32_t i = 0; i < CHANNELS; i++)
            unit_send(sinks[i], i + b, (size_t)(100 + i * 10 + b));
    for (int32_t i = 0; i < CHANNELS; i++)
        assert_ok(sl_sink_channel_end(sinks[i], &err), err);
    for (int32_t i = 0; i < CHANNELS; i++) {
        for (int32_t b = 0; b < BLOCKS; b++)
            unit_receive(sources[i], i + b, (size_t)(100 + i * 10 + b));
        unit_receive_end(sources[i]);
    }
    for (int32_t i = 0; i < CHANNELS; i++) {
        assert_ok(sl_sink_channel_wait(sinks[i], 10000, &err), err);
        sl_sink_channel_free(sinks[i]);
        sl_source_handle_free(sources[i]);
    }
    unit_close(&p);
}

/* ---- a server that stops while it answers ---- */

struct last_call {
    struct sl_client *client;
    char address[32];
    atomic_bool called;
    int rc;
    sl_err err;
};

static int serve_slowly(void *user, const struct sl_caller *caller, const struct sl_mpp_call *call, struct sl_answer *answer, sl_err *err)
{
    struct last_call *l = user;

    (void)caller;
    (void)call;
    (void)answer;
    (void)err;
    l->called = true;
    usleep(50000);
    return SL_OK;
}

static void *call_once(void *user)
{
    struct last_call *l = user;
    struct sl_mpp_call call = {.method = SL_MPP_ACKNOWLEDGE, .u.ack = {.source = {{"q", 1}, 1, {"0", 1}}, .end = 1}};
    struct sl_mpp_reply reply;
    struct sl_arena arena = SL_ARENA_INIT;

    l->rc = sl_client_call(l->client, l->address, NULL, &call, &arena, &reply, &l->err);
    sl_arena_release(&arena);
    return NULL;
}

/* The acknowledgement that lets a sender end is answered before its connection is. */
static void answers_before_it_stops(void **state)
{
    struct last_call l = {.err = SL_ERR_INIT};
    struct sl_client_setup client = {.protocol = SL_THRIFT_BINARY, .timeout_millis = 10000, .max_frame = 1 << 20};
    struct sl_server_setup setup = {.listen = "127.0.0.1:0", .max_frame = 1 << 20, .max_clients = 4, .timeout_millis = 10000,
                                    .serve = serve_slowly, .user = &l};
    struct sl_server *server = NULL;
    pthread_t thread;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_server_start(&setup, &server, &err), err);
    assert_ok(sl_client_new(&client, &l.client, &err), err);
    snprintf(l.address, sizeof l.address, "127.0.0.1:%d", sl_server_port(server));
    assert_int_equal(pthread_create(&thread, NULL, call_once, &l), 0);
    while (!l.called)
        usleep(1000);
    sl_server_stop(server);
    pthread_join(thread, NULL);
    assert_ok(l.rc, l.err);
    sl_client_free(l.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_of_all_ages), cmocka_unit_test(limits_beside_the_size), cmocka_unit_test(reload_in_mid_block),
        cmocka_unit_test(noise_on_the_port), cmocka_unit_test(answers_that_lie), cmocka_unit_test(unknown_methods),
        cmocka_unit_test(many_channels), cmocka_unit_test(answers_before_it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
