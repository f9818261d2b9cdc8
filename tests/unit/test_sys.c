#include "unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"

static void calendar(void **state)
{
    static const struct {
        int64_t days, y;
        int m, d;
    } known[] = {{0, 1970, 1, 1}, {-1, 1969, 12, 31}, {11016, 2000, 2, 29}, {11017, 2000, 3, 1}, {18294, 2020, 2, 2},
                 {-719162, 1, 1, 1}, {-719528, 0, 1, 1}, {2932896, 9999, 12, 31}, {-719529, -1, 12, 31}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int64_t y;
        int m, d;

        assert_int_equal(sl_civil_to_days(known[i].y, known[i].m, known[i].d), known[i].days);
        sl_days_to_civil(known[i].days, &y, &m, &d);
        assert_int_equal(y, known[i].y);
        assert_int_equal(m, known[i].m);
        assert_int_equal(d, known[i].d);
    }
    for (int64_t days = -1000000; days < 1000000; days += 97) {
        int64_t y;
        int m, d;

        sl_days_to_civil(days, &y, &m, &d);
        assert_true(m >= 1 && m <= 12 && d >= 1 && d <= 31);
        assert_int_equal(sl_civil_to_days(y, m, d), days);
    }
}

static void clocks(void **state)
{
    (void)state;
    setenv("SLUICE_FAKE_NOW", "1234567", 1);
    assert_int_equal(sl_now_millis(), 1234567);
    unsetenv("SLUICE_FAKE_NOW");
    assert_true(sl_now_millis() > 1600000000000);
    setenv("TZ", "UTC-2", 1);
    assert_true(llabs(sl_now_local_millis() - sl_now_millis() - 7200000) < 2000);
    unsetenv("TZ");
    int64_t start = sl_mono_nanos();
    sl_sleep_millis(30);
    assert_true(sl_mono_nanos() - start >= 30000000);
}

static void randomness(void **state)
{
    char a[37], b[37], again[37];

    (void)state;
    sl_uuid(a);
    sl_uuid(b);
    assert_string_not_equal(a, b);
    assert_int_equal(strlen(a), 36);
    assert_int_equal(a[14], '4');
    assert_non_null(strchr("89ab", a[19]));
    assert_int_equal(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-', 1);
    setenv("SLUICE_SEED", "7", 1);
    sl_uuid(a);
    sl_uuid(again);
    unsetenv("SLUICE_SEED");
    assert_string_not_equal(a, again);
}

static void hashes(void **state)
{
    (void)state;
    assert_int_equal(sl_crc32(0, SL_LIT("123456789")), 0xCBF43926);
    assert_int_equal(sl_crc32(sl_crc32(0, SL_LIT("1234")), SL_LIT("56789")), 0xCBF43926);
    assert_int_equal(sl_crc32(0, (sl_str){NULL, 0}), 0);
    assert_true(sl_hash64((sl_str){NULL, 0}) == 0xEF46DB3751D8E999u);
}

static void cancelling(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_int_equal(sl_cancel_check(&err), SL_OK);
    sl_cancel();
    assert_code(sl_cancel_check(&err), SL_ECANCELLED);
    int64_t start = sl_mono_nanos();
    sl_sleep_millis(60000);
    assert_true(sl_mono_nanos() - start < 5000000000);
    struct sl_queue *q = sl_queue_new(1, 10);
    assert_false(sl_queue_push(q, q, 1));
    sl_queue_free(q);
    sl_cancel_reset();
    assert_false(sl_cancelled());
}

static char logged[200];

static void keep_log(enum sl_level level, const char *area, const char *text, void *user)
{
    assert_ptr_equal(user, logged);
    snprintf(logged, sizeof logged, "%d %s %s", level, area, text);
}

static void logging(void **state)
{
    (void)state;
    sl_log(SL_LOG_ERROR, "x", "nobody listens");
    sl_log_sink(keep_log, logged);
    sl_log(SL_LOG_WARN, "store", "low on %s", "space");
    sl_log_sink(NULL, NULL);
    assert_string_equal(logged, "1 store low on space");
}

static int request(int port, const char *text, char *answer, size_t size)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t n = 0;
    ssize_t got;

    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    while (n + 1 < size && (got = read(fd, answer + n, size - 1 - n)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    return (int)n;
}

static void metrics(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_metrics_server *s = NULL;
    char answer[8192];

    (void)state;
    sl_metric_add(SL_M_COMMITS, 3);
    sl_metric_add(SL_M_COMMITS, 4);
    sl_metric_set(SL_M_LIVE_FILES, 12);
    assert_int_equal(sl_metric_get(SL_M_COMMITS), 7);
    assert_code(sl_metrics_serve(SL_LIT("nonsense"), &s, &err), SL_EUSAGE);
    assert_code(sl_metrics_serve(SL_LIT("127.0.0.1:99999"), &s, &err), SL_EUSAGE);
    sl_log_sink(keep_log, logged);
    assert_ok(sl_metrics_serve(SL_LIT("127.0.0.1:0"), &s, &err), err);
    sl_log_sink(NULL, NULL);
    int port = atoi(strrchr(logged, ':') + 1);
    request(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "200 OK"));
    assert_non_null(strstr(answer, "# TYPE sluice_commits_total counter\nsluice_commits_total 7\n"));
    assert_non_null(strstr(answer, "\nsluice_live_files 12\n"));
    request(port, "GET / HTTP/1.1\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "404"));
    sl_metrics_stop(s);
    sl_metrics_stop(NULL);
}

#define JOBS 200
static atomic_int done[JOBS];

static int mark(void *user, size_t i, sl_err *err)
{
    const int *fail = user;

    atomic_fetch_add(&done[i], 1);
    return (int)i == *fail ? sl_err_set(err, SL_EINPUT, "job %zu", i) : SL_OK;
}

static void parallel(void **state)
{
    sl_err err = SL_ERR_INIT;
    int fail = -1;

    (void)state;
    for (size_t threads = 0; threads < 6; threads++) {
        memset(done, 0, sizeof done);
        assert_ok(sl_parallel(threads, JOBS, mark, &fail, &err), err);
        for (int i = 0; i < JOBS; i++)
            assert_int_equal(done[i], 1);
    }
    assert_ok(sl_parallel(4, 0, mark, &fail, &err), err);
    fail = 3;
    assert_code(sl_parallel(1, JOBS, mark, &fail, &err), SL_EINPUT);
    assert_string_equal(err.text, "job 3");
    assert_code(sl_parallel(4, JOBS, mark, &fail, NULL), SL_EINPUT);
}

struct flow {
    struct sl_queue *q;
    atomic_long sum;
};

static void *consume(void *arg)
{
    struct flow *f = arg;

    for (void *p; (p = sl_queue_pop(f->q, -1, NULL)) != NULL;)
        atomic_fetch_add(&f->sum, (long)(uintptr_t)p);
    return NULL;
}

static void *produce(void *arg)
{
    struct flow *f = arg;

    for (uintptr_t i = 1; i <= 1000; i++)
        assert_true(sl_queue_push(f->q, (void *)i, i));
    return NULL;
}

static void queue_flow(void **state)
{
    struct flow f = {sl_queue_new(7, 1500), 0};
    pthread_t producers[4], consumers[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        pthread_create(&consumers[i], NULL, consume, &f);
    for (int i = 0; i < 4; i++)
        pthread_create(&producers[i], NULL, produce, &f);
    for (int i = 0; i < 4; i++)
        pthread_join(producers[i], NULL);
    sl_queue_close(f.q);
    for (int i = 0; i < 3; i++)
        pthread_join(consumers[i], NULL);
    assert_int_equal(atomic_load(&f.sum), 4 * 500500);
    sl_queue_free(f.q);
}

static void queue_rules(void **state)
{
    struct sl_queue *q = sl_queue_new(2, 10);
    bool late = false;
    int a, b;

    (void)state;
    assert_null(sl_queue_pop(q, 0, &late));
    assert_true(late);
    assert_true(sl_queue_push(q, &a, 1000)); /* too heavy, but the queue is empty */
    assert_ptr_equal(sl_queue_pop(q, 10, &late), &a);
    assert_false(late);
    assert_true(sl_queue_push(q, &a, 4));
    assert_true(sl_queue_push(q, &b, 4));
    sl_queue_close(q);
    assert_false(sl_queue_push(q, &a, 1));
    assert_ptr_equal(sl_queue_pop(q, -1, NULL), &a);
    assert_ptr_equal(sl_queue_pop(q, -1, NULL), &b);
    assert_null(sl_queue_pop(q, -1, &late));
    assert_false(late);
    sl_queue_free(q);
    sl_queue_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calendar), cmocka_unit_test(clocks), cmocka_unit_test(randomness), cmocka_unit_test(hashes),
        cmocka_unit_test(cancelling), cmocka_unit_test(logging), cmocka_unit_test(metrics), cmocka_unit_test(parallel),
        cmocka_unit_test(queue_flow), cmocka_unit_test(queue_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
