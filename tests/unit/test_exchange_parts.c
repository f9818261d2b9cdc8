/* The parts below the channels: memory pool, bytes, settings and their reloading, tasks. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/bytes.h"
#include "exchange/settings.h"
#include "exchange/tasks.h"

/* ---- pool ---- */

static void count(void *user)
{
    ++*(int *)user;
}

static void pool_limits(void **state)
{
    struct sl_mempool *p = NULL;
    struct sl_mempool_query *a = NULL, *b = NULL, *again = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(sl_mempool_new(100, 60, &p, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("a"), &a, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("b"), &b, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("a"), &again, &err), err);
    assert_ptr_equal(a, again);
    sl_mempool_query_unref(again);

    assert_code(sl_mempool_reserve(a, 61, &err), SL_ENOMEM);
    assert_false(err.flags & SL_ERR_RETRY); /* it will never fit */
    assert_ok(sl_mempool_reserve(a, 60, &err), err);
    assert_code(sl_mempool_reserve(a, 1, &err), SL_ENOMEM);
    assert_true(err.flags & SL_ERR_RETRY);
    assert_ok(sl_mempool_reserve(b, 40, &err), err);
    assert_code(sl_mempool_reserve(b, 1, &err), SL_ENOMEM);
    assert_int_equal(sl_mempool_used(p), 100);
    sl_mempool_release(a, 60);
    sl_mempool_release(b, 40);
    assert_int_equal(sl_mempool_used(p), 0);
    assert_int_equal(sl_mempool_peak(p), 100);
    sl_mempool_query_unref(a);
    sl_mempool_query_unref(b);
    sl_mempool_unref(p);
}

/* A large one that waits is not passed by small ones for ever; one that waits for its own query holds nobody up. */
static void pool_waits_in_order(void **state)
{
    struct sl_mempool *p = NULL;
    struct sl_mempool_query *a = NULL, *b = NULL;
    sl_err err = SL_ERR_INIT;
    int large = 0, small = 0, own = 0;
    struct sl_reservation r[3] = {{.granted = count, .user = &own}, {.granted = count, .user = &large}, {.granted = count, .user = &small}};
    bool now;

    (void)state;
    assert_ok(sl_mempool_new(100, 80, &p, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("a"), &a, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("b"), &b, &err), err);
    assert_ok(sl_mempool_reserve(a, 80, &err), err);
    assert_ok(sl_mempool_reserve_later(a, 10, &r[0], &now, &err), err); /* room in the pool, none in the query */
    assert_false(now);
    assert_ok(sl_mempool_reserve_later(b, 50, &r[1], &now, &err), err);
    assert_false(now);
    assert_ok(sl_mempool_reserve_later(b, 10, &r[2], &now, &err), err); /* would fit, had it not come behind */
    assert_true(now);
    sl_mempool_release(b, 10);
    assert_ok(sl_mempool_reserve(b, 20, &err), err);
    assert_ok(sl_mempool_reserve_later(b, 10, &r[2], &now, &err), err);
    assert_false(now);
    sl_mempool_release(b, 10);
    assert_int_equal(large + small + own, 0); /* 10 free: the small one waits behind the large one */
    sl_mempool_release(a, 40);
    assert_int_equal(own, 1);
    assert_int_equal(large, 0); /* 40 free */
    sl_mempool_release(a, 10);
    assert_int_equal(large, 1);
    assert_int_equal(small, 0);
    assert_true(sl_mempool_cancel(b, &r[2]));
    assert_false(sl_mempool_cancel(b, &r[2]));
    assert_false(sl_mempool_cancel(b, &r[1]));
    sl_mempool_release(a, 40);
    sl_mempool_release(b, 60);
    assert_int_equal(small, 0);
    assert_int_equal(sl_mempool_used(p), 0);
    sl_mempool_query_unref(a);
    sl_mempool_query_unref(b);
    sl_mempool_unref(p);
}

static void mark_freed(void *p, size_t n, void *user)
{
    (void)p;
    *(size_t *)user = n;
}

static void bytes(void **state)
{
    struct sl_mempool *p = NULL;
    struct sl_mempool_query *q = NULL;
    struct sl_bytes *b = NULL, *w = NULL;
    sl_err err = SL_ERR_INIT;
    size_t freed = 0;

    (void)state;
    assert_ok(sl_mempool_new(1000, 0, &p, &err), err);
    assert_ok(sl_mempool_query_get(p, SL_LIT("q"), &q, &err), err);
    assert_ok(sl_mempool_reserve(q, 300, &err), err);
    assert_ok(sl_bytes_new(300, &b, &err), err);
    sl_bytes_charge(b, q, 300);
    sl_mempool_query_unref(q);
    sl_bytes_ref(b);
    sl_bytes_unref(b);
    assert_int_equal(sl_mempool_used(p), 300);
    sl_bytes_unref(b);
    assert_int_equal(sl_mempool_used(p), 0);
    assert_ok(sl_bytes_wrap(&freed, 8, mark_freed, &freed, &w, &err), err);
    assert_code(sl_bytes_resize(w, 9, &err), SL_EBUG);
    sl_bytes_unref(w);
    assert_int_equal(freed, 8);
    sl_mempool_unref(p);
}

/* ---- settings ---- */

static char warnings[8192];
static pthread_mutex_t warnings_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_warning(enum sl_level level, const char *area, const char *text, void *user)
{
    (void)area;
    (void)user;
    pthread_mutex_lock(&warnings_lock);
    if (level == SL_LOG_WARN && strlen(warnings) + strlen(text) + 2 < sizeof warnings) {
        strcat(warnings, text);
        strcat(warnings, "\n");
    }
    pthread_mutex_unlock(&warnings_lock);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char NAME[] = "mpp_data_exchange_max_payload_size_in_bytes";

static void settings_values(void **state)
{
    static const struct {
        const char *text;
        uint64_t limit;
        const char *warning;
    } cases[] = {
        {"4,194,304", 4194304, NULL},
        {"1", 1, NULL},
        {" 262,144 ", 262144, NULL},
        {"131072", 131072, NULL},
        {"0", 4194304, "less than 1"},
        {"-5", 4194304, "less than 1"},
        {"4,19", 4194304, "no number"},
        {"4,194304", 4194304, "no number"},
        {",194,304", 4194304, "no number"},
        {"4 MiB", 4194304, "no number"},
        {"", 4194304, "no number"},
        {"536870912", 536869888, "clamped to 536869888"},
        {"99999999999999999999999", 536869888, "clamped"},
        {"2,147,483,647", 536869888, "clamped"},
    };
    char *folder = unit_folder(), path[4200], text[300];
    sl_err err = SL_ERR_INIT;

    (void)state;
    snprintf(path, sizeof path, "%s/iotdb-system.properties", folder);
    sl_log_sink(keep_warning, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_settings *s = NULL;

        warnings[0] = '\0';
        snprintf(text, sizeof text, "# comment\n\n  %s = %s\r\nother=1\n", NAME, cases[i].text);
        write_file(path, text);
        assert_ok(sl_settings_open(path, &s, &err), err);
        assert_int_equal(sl_settings_max_payload(s), cases[i].limit);
        if (!cases[i].warning)
            assert_string_equal(warnings, "");
        else if (!strstr(warnings, cases[i].warning) || !strstr(warnings, "line 3") || !strstr(warnings, NAME))
            fail_msg("\"%s\" warns: %s", cases[i].text, warnings);
        sl_settings_close(s);
    }
    sl_log_sink(NULL, NULL);
    struct sl_settings *s = NULL;
    snprintf(path, sizeof path, "%s/none", folder);
    assert_code(sl_settings_open(path, &s, &err), SL_ENOTFOUND);
    assert_ok(sl_settings_open(NULL, &s, &err), err);
    assert_int_equal(sl_settings_max_payload(s), 4194304);
    assert_int_equal(sl_settings_get(s, SL_SET_TIMEOUT_MILLIS), 60000);
    sl_settings_close(s);
    unit_folder_remove(folder);
}

static void settings_frame(void **state)
{
    char *folder = unit_folder(), path[4200];
    struct sl_settings *s = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    write_file(path, "dn_thrift_max_frame_size: 1,048,576\ndn_rpc_thrift_compression_enable=TRUE\n");
    assert_ok(sl_settings_open(path, &s, &err), err);
    assert_int_equal(sl_settings_max_payload(s), 1048576 - 1024);
    assert_int_equal(sl_settings_get(s, SL_SET_COMPACT), 1);
    /* What needs a start stays; what may change does, within the frame that stays. */
    write_file(path, "dn_thrift_max_frame_size=2,097,152\nmpp_data_exchange_max_payload_size_in_bytes=1,500,000\n");
    assert_ok(sl_settings_reload(s, &err), err);
    assert_int_equal(sl_settings_get(s, SL_SET_MAX_FRAME), 1048576);
    assert_int_equal(sl_settings_max_payload(s), 1048576 - 1024);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=1000\n");
    assert_ok(sl_settings_reload(s, &err), err);
    assert_int_equal(sl_settings_max_payload(s), 1000);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=many\n");
    assert_ok(sl_settings_reload(s, &err), err);
    assert_int_equal(sl_settings_max_payload(s), 1000); /* what is no number changes nothing */
    unlink(path);
    assert_code(sl_settings_reload(s, &err), SL_ENOTFOUND);
    assert_int_equal(sl_settings_max_payload(s), 1000);
    sl_settings_close(s);
    unit_folder_remove(folder);
}

static bool becomes(const struct sl_settings *s, uint64_t limit)
{
    for (int i = 0; i < 500 && sl_settings_max_payload(s) != limit; i++)
        sl_sleep_millis(10);
    return sl_settings_max_payload(s) == limit;
}

static void settings_watched(void **state)
{
    char *folder = unit_folder(), path[4200], other[4200];
    struct sl_settings *s = NULL;
    sl_err err = SL_ERR_INIT;

    (void)state;
    snprintf(path, sizeof path, "%s/p", folder);
    snprintf(other, sizeof other, "%s/new", folder);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=1000\n");
    assert_ok(sl_settings_open(path, &s, &err), err);
    assert_ok(sl_settings_watch(s, true, &err), err);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=2,000\n");
    assert_true(becomes(s, 2000));
    write_file(other, "mpp_data_exchange_max_payload_size_in_bytes=3,000\n");
    assert_int_equal(rename(other, path), 0);
    assert_true(becomes(s, 3000));
    unlink(path);
    sl_sleep_millis(50);
    assert_int_equal(sl_settings_max_payload(s), 3000);
    write_file(path, "mpp_data_exchange_max_payload_size_in_bytes=4,000\n");
    assert_true(becomes(s, 4000));
    for (int i = 0; i < 3; i++)
        kill(getpid(), SIGHUP); /* would end the process, were it not handled */
    assert_true(becomes(s, 4000));
    sl_settings_close(s);
    unit_folder_remove(folder);
}

/* ---- tasks ---- */

struct probe {
    struct sl_task task;
    struct sl_tasks *pool;
    atomic_int ran, stopped;
    int64_t ran_at;
    int sleep_millis, again_millis;
};

static void run_probe(struct sl_task *t, bool stop)
{
    struct probe *p = (struct probe *)(void *)((char *)t - offsetof(struct probe, task));

    if (stop) {
        atomic_fetch_add(&p->stopped, 1);
        return;
    }
    if (p->sleep_millis)
        sl_sleep_millis(p->sleep_millis);
    p->ran_at = sl_mono_nanos();
    if (atomic_fetch_add(&p->ran, 1) == 0 && p->again_millis)
        sl_tasks_submit(p->pool, t, p->again_millis);
}

static void wait_for(atomic_int *v, int n)
{
    for (int i = 0; i < 1000 && atomic_load(v) < n; i++)
        sl_sleep_millis(5);
    assert_int_equal(atomic_load(v), n);
}

/* With one thread: the pause of one task is the time of the others. */
static void tasks_pause_holds_no_thread(void **state)
{
    struct sl_tasks *pool = NULL;
    sl_err err = SL_ERR_INIT;
    struct probe retry = {.task.run = run_probe, .again_millis = 1500}, other[20] = {0}, never = {.task.run = run_probe};

    (void)state;
    assert_ok(sl_tasks_new(1, 50, &pool, &err), err);
    retry.pool = never.pool = pool;
    sl_tasks_submit(pool, &retry.task, 0);
    for (size_t i = 0; i < 20; i++) {
        other[i] = (struct probe){.task.run = run_probe, .pool = pool};
        sl_tasks_submit(pool, &other[i].task, 0);
    }
    for (size_t i = 0; i < 20; i++)
        wait_for(&other[i].ran, 1);
    assert_int_equal(atomic_load(&retry.ran), 1);
    wait_for(&retry.ran, 2);
    for (size_t i = 0; i < 20; i++)
        assert_true(other[i].ran_at < retry.ran_at);
    sl_tasks_submit(pool, &never.task, 3600000);
    sl_tasks_close(pool);
    assert_int_equal(atomic_load(&never.ran), 0);
    assert_int_equal(atomic_load(&never.stopped), 1);
    sl_tasks_submit(pool, &never.task, 0);
    assert_int_equal(atomic_load(&never.stopped), 2);
    sl_tasks_free(pool);
}

static void tasks_hurry(void **state)
{
    struct sl_tasks *pool = NULL;
    sl_err err = SL_ERR_INIT;
    struct probe a = {.task.run = run_probe}, b = {.task.run = run_probe};

    (void)state;
    assert_ok(sl_tasks_new(3, 50, &pool, &err), err);
    a.pool = b.pool = pool;
    sl_tasks_submit(pool, &a.task, 3600000);
    sl_tasks_hurry(pool, &a.task);
    wait_for(&a.ran, 1);
    sl_tasks_hurry(pool, &b.task);
    sl_tasks_submit(pool, &b.task, 3600000);
    wait_for(&b.ran, 1);
    sl_tasks_close(pool);
    sl_tasks_free(pool);
}

static void tasks_run_beside_each_other(void **state)
{
    struct sl_tasks *pool = NULL;
    sl_err err = SL_ERR_INIT;
    struct probe p[6] = {0};
    int64_t start = sl_mono_nanos();

    (void)state;
    assert_ok(sl_tasks_new(6, 20, &pool, &err), err);
    for (size_t i = 0; i < 6; i++) {
        p[i] = (struct probe){.task.run = run_probe, .pool = pool, .sleep_millis = 500};
        sl_tasks_submit(pool, &p[i].task, 0);
    }
    for (size_t i = 0; i < 6; i++)
        wait_for(&p[i].ran, 1);
    assert_true(sl_mono_nanos() - start < 2500000000);
    sl_sleep_millis(60); /* threads end meanwhile */
    sl_tasks_submit(pool, &p[0].task, 0);
    wait_for(&p[0].ran, 2);
    sl_tasks_close(pool);
    sl_tasks_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_limits),
        cmocka_unit_test(pool_waits_in_order),
        cmocka_unit_test(bytes),
        cmocka_unit_test(settings_values),
        cmocka_unit_test(settings_frame),
        cmocka_unit_test(settings_watched),
        cmocka_unit_test(tasks_pause_holds_no_thread),
        cmocka_unit_test(tasks_hurry),
        cmocka_unit_test(tasks_run_beside_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
