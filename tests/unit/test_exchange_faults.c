/* Connections that break at any byte, peers that hang or die: nothing is lost, nothing stays held. */
#include "exchange_unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange/client.h"

static const struct sl_exchange_opts PLAIN;

/* ---- a proxy that breaks connections, or lets them hang ---- */

struct proxy {
    int listener, target_port;
    char address[32];
    pthread_t thread;
    atomic_bool stop;
    atomic_uint seed;
    size_t cut_least, cut_most; /* bytes that a connection lives for; 0: for ever */
    size_t stall_after;         /* bytes of answers, of all connections, that come through; SIZE_MAX: all */
    atomic_size_t passed, connections;
    atomic_int running;
};

struct passage {
    struct proxy *proxy;
    int near, far;
    size_t left;
};

static size_t draw_cut(struct proxy *p)
{
    uint64_t x = (atomic_fetch_add(&p->seed, 1) + 1) * 0x9e3779b97f4a7c15u;

    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return p->cut_least + x % (p->cut_most - p->cut_least);
}

/* One way of one read; false: the passage is over. */
static bool forward(struct passage *g, int from, int to, bool answer)
{
    static _Thread_local char buf[4096];
    size_t room = sizeof buf;

    if (answer && g->proxy->stall_after != SIZE_MAX) {
        size_t passed = atomic_load(&g->proxy->passed);

        if (passed >= g->proxy->stall_after) {
            sl_sleep_millis(2);
            return true;
        }
        room = g->proxy->stall_after - passed < room ? g->proxy->stall_after - passed : room;
    }
    ssize_t n = recv(from, buf, room, 0);
    if (n <= 0)
        return false;
    if (answer)
        atomic_fetch_add(&g->proxy->passed, (size_t)n);
    if (g->left && (size_t)n >= g->left) { /* the last bytes before the break */
        send_all(to, buf, g->left - 1);
        return false;
    }
    g->left -= g->left ? (size_t)n : 0;
    send_all(to, buf, (size_t)n);
    return true;
}

static void *pass(void *arg)
{
    struct passage *g = arg;
    bool open = true;

    while (open && !atomic_load(&g->proxy->stop)) {
        struct pollfd f[2] = {{g->near, POLLIN, 0}, {g->far, POLLIN, 0}};

        poll(f, 2, 20);
        if (open && f[0].revents)
            open = forward(g, g->near, g->far, false);
        if (open && f[1].revents)
            open = forward(g, g->far, g->near, true);
    }
    close(g->near);
    close(g->far);
    atomic_fetch_sub(&g->proxy->running, 1);
    sl_free(g);
    return NULL;
}

static void *proxy_accept(void *arg)
{
    struct proxy *p = arg;

    while (!atomic_load(&p->stop)) {
        struct pollfd f = {p->listener, POLLIN, 0};
        char target[32];
        pthread_t id;

        if (poll(&f, 1, 20) <= 0)
            continue;
        struct passage *g = sl_calloc(1, sizeof *g);
        if (!g)
            abort();
        snprintf(target, sizeof target, "127.0.0.1:%d", p->target_port);
        *g = (struct passage){p, accept(p->listener, NULL, NULL), connect_to(target), p->cut_most ? draw_cut(p) : 0};
        if (g->near < 0 || g->far < 0) { /* who is behind it is gone */
            close(g->near);
            sl_free(g);
            continue;
        }
        atomic_fetch_add(&p->running, 1);
        atomic_fetch_add(&p->connections, 1);
        if (pthread_create(&id, NULL, pass, g) != 0)
            abort();
        pthread_detach(id);
    }
    return NULL;
}

static void proxy_start(struct proxy *p, int target_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    const char *seed = getenv("SLUICE_TEST_SEED");

    p->target_port = target_port;
    p->seed = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(p->listener, 64), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&a, &n), 0);
    snprintf(p->address, sizeof p->address, "127.0.0.1:%d", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&p->thread, NULL, proxy_accept, p), 0);
}

static void proxy_stop(struct proxy *p)
{
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    while (atomic_load(&p->running) > 0)
        sl_sleep_millis(2);
    close(p->listener);
}

/* Nodes that see each other through proxies only. */
static void open_behind(struct unit_pair *p, const struct sl_exchange_opts *o, struct proxy *before_up, struct proxy *before_down)
{
    *p = (struct unit_pair){0};
    unit_open_node(o, &p->up, p->up_address);
    unit_open_node(o, &p->down, p->down_address);
    proxy_start(before_up, sl_exchange_port(p->up));
    proxy_start(before_down, sl_exchange_port(p->down));
    snprintf(p->up_address, sizeof p->up_address, "%s", before_up->address);
    snprintf(p->down_address, sizeof p->down_address, "%s", before_down->address);
    unit_open_channel(p, 0, false, &p->sink, &p->source);
}

static void connections_break_anywhere(void **state)
{
    char *folder = unit_folder(), path[4200];
    struct sl_exchange_opts opts = {.settings_file = path, .attempts = 1000, .pause_millis = 1};
    struct proxy a = {.cut_least = 1, .cut_most = 60000, .stall_after = SIZE_MAX};
    struct proxy b = {.cut_least = 1, .cut_most = 900, .stall_after = SIZE_MAX};
    struct unit_pair p;
    size_t sizes[60], left = 3000000;
    int32_t n = 0;
    sl_err err = SL_ERR_INIT;

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=20,000\n");
    open_behind(&p, &opts, &a, &b);
    for (; n < 60 && left > 0; n++) {
        sizes[n] = 1 + (size_t)(n * 7919 % 100000);
        left -= sizes[n] < left ? sizes[n] : left;
        unit_send(p.sink, n, sizes[n]);
    }
    assert_ok(sl_sink_channel_end(p.sink, &err), err);
    for (int32_t i = 0; i < n; i++)
        unit_receive(p.source, i, sizes[i]);
    unit_receive_end(p.source);
    assert_ok(sl_sink_channel_wait(p.sink, 10000, &err), err);
    assert_true(atomic_load(&a.connections) > 50);
    unit_close(&p);
    proxy_stop(&a);
    proxy_stop(&b);
    unit_folder_remove(folder);
}

static void wait_for_zero(struct sl_exchange *x, int64_t millis, const char *what, size_t step)
{
    int64_t end = sl_mono_nanos() + millis * 1000000;

    while (sl_exchange_memory_used(x) && sl_mono_nanos() < end)
        sl_sleep_millis(1);
    if (sl_exchange_memory_used(x))
        fail_msg("%s at step %zu: %ju bytes are still held", what, step, (uintmax_t)sl_exchange_memory_used(x));
}

/* Answers stop after so many bytes, in the middle of a transfer in three fragments; then one side gives up. */
static void gives_up_while_it_hangs(void **state)
{
    static const size_t steps[] = {0, 30, 100, 1063, 1064, 1500, 2100, 2128, 3000, 3200, 100000};
    static const char *const names[] = {"sender aborts", "receiver aborts", "receiver closes", "sender frees", "receiver frees"};
    char *folder = unit_folder(), path[4200];
    struct sl_exchange_opts opts = {.settings_file = path, .pause_millis = 1000};

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=1,000\n");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int how = 0; how < 5; how++) {
            if (how == 2 && i % 4 != 1)
                continue; /* telling a peer that hangs takes its time */
            struct proxy a = {.stall_after = steps[i]}, b = {.stall_after = SIZE_MAX};
            struct unit_pair p;
            struct sl_bytes *block = NULL;
            sl_err err = SL_ERR_INIT;

            open_behind(&p, &opts, &a, &b);
            unit_send(p.sink, 0, 3000);
            int rc = sl_source_handle_next(p.source, steps[i] > 5000 ? 5000 : 60, &block, &err);
            assert_true(rc == SL_OK || rc == SL_EBUSY);
            sl_bytes_unref(block);
            if (how == 0)
                sl_sink_channel_abort(p.sink);
            if (how == 1)
                sl_source_handle_abort(p.source);
            if (how == 2)
                sl_source_handle_close(p.source);
            if (how == 3) {
                sl_sink_channel_free(p.sink);
                p.sink = NULL;
            }
            if (how == 4) {
                sl_source_handle_free(p.source);
                p.source = NULL;
            }
            wait_for_zero(how == 0 || how == 3 ? p.up : p.down, 1000, names[how], i);
            unit_close(&p);
            proxy_stop(&a);
            proxy_stop(&b);
        }
    unit_folder_remove(folder);
}

/* The other process is gone: three attempts with a pause, then both sides say so. */
static void the_other_side_dies(void **state)
{
    struct unit_pair p;
    struct sl_bytes *b = NULL;
    sl_err err = SL_ERR_INIT;
    struct unit_block block = {1, 0};

    (void)state;
    unit_open(&p, &PLAIN, &PLAIN);
    unit_send(p.sink, 0, 100);
    unit_receive(p.source, 0, 100);
    wait_for_zero(p.up, 5000, "acknowledgement", 0);
    sl_sink_channel_free(p.sink);
    sl_exchange_close(p.up);
    int64_t size = 100;
    struct sl_client *client = NULL;
    struct sl_client_setup cs = {.timeout_millis = 10000, .max_frame = 1 << 20};
    struct sl_mpp_call call = {.method = SL_MPP_NEW,
                               .u.added = {{SL_LIT("q0"), 2, SL_LIT("0")}, SL_LIT("node0"), {SL_LIT("q0"), 1, SL_LIT("0")}, 1, &size, 1}};
    struct sl_mpp_reply reply;
    struct sl_arena arena = SL_ARENA_INIT;
    assert_ok(sl_client_new(&cs, &client, &err), err);
    assert_ok(sl_client_call(client, p.down_address, NULL, &call, &arena, &reply, &err), err);
    assert_code(sl_source_handle_next(p.source, 5000, &b, &err), SL_EIO);
    assert_non_null(strstr(err.text, "after 3 attempts"));
    wait_for_zero(p.down, 1000, "receiver", 0);
    sl_client_free(client);
    sl_arena_release(&arena);
    sl_source_handle_free(p.source);
    sl_exchange_close(p.down);

    unit_open(&p, &PLAIN, &PLAIN);
    sl_source_handle_free(p.source);
    sl_exchange_close(p.down);
    assert_ok(sl_sink_channel_send(p.sink, 100, unit_serialize, &block, 1000, &err), err);
    assert_code(sl_sink_channel_wait(p.sink, 5000, &err), SL_EIO);
    assert_non_null(strstr(err.text, "cannot be told"));
    assert_code(sl_sink_channel_send(p.sink, 100, unit_serialize, &block, 1000, &err), SL_EIO);
    wait_for_zero(p.up, 1000, "sender", 0);
    sl_sink_channel_free(p.sink);
    sl_exchange_close(p.up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_break_anywhere),
        cmocka_unit_test(gives_up_while_it_hangs),
        cmocka_unit_test(the_other_side_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
