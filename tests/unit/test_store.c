#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sys.h"
#include "store/store.h"

static char root[4096];
static struct sl_store *s;
static sl_err err = SL_ERR_INIT;

static int open_store(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s", unit_folder());
    return sl_store_open_local(sl_str_c(root), &s, &err);
}

static int close_store(void **state)
{
    (void)state;
    sl_store_fail_nth(0, 0);
    sl_mem_fail_nth(0);
    sl_store_close(s);
    unit_folder_remove(root);
    return 0;
}

static void expect_file(const char *path, const char *text)
{
    struct sl_buf b = SL_BUF_INIT;

    assert_ok(sl_store_get(s, sl_str_c(path), 1 << 20, &b, &err), err);
    assert_string_equal(b.p ? b.p : "", text);
    sl_buf_release(&b);
}

static bool there(struct sl_store *store, sl_str path)
{
    bool is;

    assert_ok(sl_store_exists(store, path, &is, &err), err);
    return is;
}

/* Number of entries of a folder, temporaries and all. */
static size_t count(const char *dir)
{
    struct sl_entries e = {0};

    assert_ok(sl_store_list(s, sl_str_c(dir), false, &e, &err), err);
    size_t n = e.n;
    sl_entries_release(&e);
    return n;
}

static void roots(void **state)
{
    struct sl_store *other = NULL;
    struct sl_buf b = SL_BUF_INIT;
    char here[4096];

    (void)state;
    assert_string_equal(sl_store_root(s), root);
    assert_code(sl_store_open_local(SL_LIT(""), &other, &err), SL_EINPUT);
    assert_ok(sl_store_open_local(SL_LIT("./a/b//"), &other, &err), err);
    assert_non_null(getcwd(here, sizeof here));
    assert_true(sl_str_starts(sl_str_c(sl_store_root(other)), here));
    assert_true(sl_str_ends(sl_str_c(sl_store_root(other)), "/a/b"));
    sl_store_close(other);
    assert_ok(sl_store_open_local(SL_LIT("/"), &other, &err), err);
    assert_ok(sl_store_path(other, SL_LIT("tmp/x"), &b, &err), err);
    assert_string_equal(b.p, "/tmp/x");
    sl_buf_release(&b);
    sl_store_close(other);
    sl_store_close(NULL);
    assert_true(sl_store_caps(s) & SL_STORE_PUT_NEW);
}

static void path_rules(void **state)
{
    static const sl_str bad[] = {SL_LIT(""), SL_LIT("/a"), SL_LIT("../a"), SL_LIT("a/../b"), SL_LIT("a//b"),
                                 SL_LIT("a/"), SL_LIT("a/."), SL_LIT("."), SL_LIT("a\0b"), SL_LIT("a/..")};
    char longest[5000];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(sl_store_put(s, bad[i], SL_LIT("x"), &err), SL_EINPUT);
    memset(longest, 'x', sizeof longest);
    assert_code(sl_store_put(s, (sl_str){longest, sizeof longest}, SL_LIT("x"), &err), SL_EINPUT);
    assert_ok(sl_store_put(s, SL_LIT("..a/b..c/.d"), SL_LIT("x"), &err), err);
    /* A name of the greatest length the file system takes. */
    assert_ok(sl_store_put_new(s, (sl_str){longest, 255}, SL_LIT("x"), &err), err);
}

static void put_and_get(void **state)
{
    struct sl_buf b = SL_BUF_INIT;
    struct sl_stat st;

    (void)state;
    assert_code(sl_store_get(s, SL_LIT("a/b"), 10, &b, &err), SL_ENOTFOUND);
    assert_ok(sl_store_put_new(s, SL_LIT("a/b/c"), SL_LIT("one"), &err), err);
    expect_file("a/b/c", "one");
    assert_code(sl_store_put_new(s, SL_LIT("a/b/c"), SL_LIT("two"), &err), SL_EEXISTS);
    assert_int_equal(err.flags, 0);
    expect_file("a/b/c", "one");
    assert_ok(sl_store_put(s, SL_LIT("a/b/c"), SL_LIT("three"), &err), err);
    expect_file("a/b/c", "three");
    assert_int_equal(count("a/b"), 1);
    assert_code(sl_store_get(s, SL_LIT("a/b/c"), 4, &b, &err), SL_ECORRUPT);
    assert_ok(sl_store_get(s, SL_LIT("a/b/c"), 5, &b, &err), err);
    assert_code(sl_store_get(s, SL_LIT("a/b"), 5, &b, &err), SL_EIO);
    assert_code(sl_store_get(s, SL_LIT("a/b/c/d"), 5, &b, &err), SL_ENOTFOUND);
    assert_ok(sl_store_get_range(s, SL_LIT("a/b/c"), 1, 3, &b, &err), err);
    assert_string_equal(b.p, "hre");
    assert_code(sl_store_get_range(s, SL_LIT("a/b/c"), 3, 3, &b, &err), SL_ECORRUPT);
    assert_code(sl_store_get_range(s, SL_LIT("a/b/c"), UINT64_MAX, 2, &b, &err), SL_ECORRUPT);
    assert_ok(sl_store_get_range(s, SL_LIT("a/b/c"), 5, 0, &b, &err), err);
    assert_ok(sl_store_stat(s, SL_LIT("a/b/c"), &st, &err), err);
    assert_int_equal(st.size, 5);
    assert_false(st.is_dir);
    assert_true(llabs(st.mtime_millis - sl_now_millis()) < 60000);
    assert_ok(sl_store_stat(s, SL_LIT(""), &st, &err), err);
    assert_true(st.is_dir);
    assert_false(there(s, SL_LIT("a/x")));
    sl_store_fail_nth(1, SL_EIO);
    bool is;
    assert_code(sl_store_exists(s, SL_LIT("a/x"), &is, &err), SL_EIO);
    assert_ok(sl_store_write_unique(s, SL_LIT("d/u"), SL_LIT(""), &err), err);
    expect_file("d/u", "");
    assert_code(sl_store_write_unique(s, SL_LIT("d/u"), SL_LIT("x"), &err), SL_EEXISTS);
    expect_file("d/u", "");
    assert_ok(sl_store_sync_file(s, SL_LIT("d/u"), &err), err);
    assert_ok(sl_store_sync_dir(s, SL_LIT("d"), &err), err);
    assert_ok(sl_store_sync_dir(s, SL_LIT(""), &err), err);
    sl_buf_release(&b);
}

static void folders(void **state)
{
    struct sl_entries e = {0};
    struct sl_stat st;

    (void)state;
    assert_int_equal(count("absent"), 0);
    assert_ok(sl_store_mkdirs(s, SL_LIT("x/y/z"), &err), err);
    assert_ok(sl_store_mkdirs(s, SL_LIT("x/y/z"), &err), err);
    assert_ok(sl_store_stat(s, SL_LIT("x/y/z"), &st, &err), err);
    assert_true(st.is_dir);
    assert_ok(sl_store_put(s, SL_LIT("x/f"), SL_LIT("12"), &err), err);
    assert_code(sl_store_mkdirs(s, SL_LIT("x/f/g"), &err), SL_EIO);
    assert_ok(sl_store_put(s, SL_LIT("x/.h"), SL_LIT(""), &err), err);
    assert_ok(sl_store_list(s, SL_LIT("x"), true, &e, &err), err);
    assert_int_equal(e.n, 3);
    assert_string_equal(e.v[0].name, ".h");
    assert_string_equal(e.v[1].name, "f");
    assert_int_equal(e.v[1].size, 2);
    assert_true(e.v[1].mtime_millis > 0);
    assert_string_equal(e.v[2].name, "y");
    assert_true(e.v[2].is_dir && !e.v[1].is_dir);
    sl_entries_release(&e);
}

static void renaming(void **state)
{
    (void)state;
    assert_ok(sl_store_put(s, SL_LIT("a"), SL_LIT("1"), &err), err);
    assert_ok(sl_store_put(s, SL_LIT("b"), SL_LIT("2"), &err), err);
    assert_code(sl_store_rename(s, SL_LIT("a"), SL_LIT("b"), &err), SL_EEXISTS);
    assert_code(sl_store_rename(s, SL_LIT("absent"), SL_LIT("q/c"), &err), SL_ENOTFOUND);
    assert_false(there(s, SL_LIT("q")));
    assert_ok(sl_store_rename(s, SL_LIT("a"), SL_LIT("n/m/c"), &err), err);
    expect_file("n/m/c", "1");
    assert_false(there(s, SL_LIT("a")));
    assert_ok(sl_store_rename(s, SL_LIT("n"), SL_LIT("o"), &err), err);
    expect_file("o/m/c", "1");
}

static void removing(void **state)
{
    char outside[4096], link_path[5000];

    (void)state;
    assert_code(sl_store_remove(s, SL_LIT("a"), &err), SL_ENOTFOUND);
    assert_ok(sl_store_put(s, SL_LIT("t/a/b"), SL_LIT("1"), &err), err);
    assert_code(sl_store_remove(s, SL_LIT("t/a"), &err), SL_EIO);
    assert_ok(sl_store_remove(s, SL_LIT("t/a/b"), &err), err);
    assert_ok(sl_store_remove(s, SL_LIT("t/a"), &err), err);
    assert_ok(sl_store_put(s, SL_LIT("t/1/2/3"), SL_LIT("1"), &err), err);
    assert_ok(sl_store_put(s, SL_LIT("t/1/4"), SL_LIT("1"), &err), err);
    assert_ok(sl_store_put(s, SL_LIT("keep/it"), SL_LIT("1"), &err), err);
    /* A link goes away, what it points to stays. */
    snprintf(outside, sizeof outside, "%.4000s/keep", root);
    snprintf(link_path, sizeof link_path, "%s/t/1/link", root);
    assert_int_equal(symlink(outside, link_path), 0);
    assert_ok(sl_store_remove_tree(s, SL_LIT("t"), &err), err);
    assert_false(there(s, SL_LIT("t")));
    expect_file("keep/it", "1");
    assert_ok(sl_store_remove_tree(s, SL_LIT("t"), &err), err);
    assert_ok(sl_store_remove_tree(s, SL_LIT("keep/it"), &err), err);
    assert_int_equal(count("keep"), 0);
}

/* Every step of every change fails once. Afterwards the name holds all or nothing, and no temporary is left. */
static void every_step_fails(void **state)
{
    static const int codes[] = {SL_EIO, SL_ENOSPC};

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        int n;

        for (n = 1; n < 50; n++) {
            char path[64];

            snprintf(path, sizeof path, "f%zu-%d/g/h", c, n);
            sl_store_fail_nth(n, codes[c]);
            int rc = sl_store_put_new(s, sl_str_c(path), SL_LIT("whole"), &err);
            sl_store_fail_nth(0, 0);
            if (rc == SL_OK)
                break;
            assert_code(rc, codes[c]);
            if (there(s, sl_str_c(path))) {
                assert_true(err.flags & SL_ERR_UNKNOWN_OUTCOME);
                expect_file(path, "whole");
            }
            snprintf(path, sizeof path, "f%zu-%d/g", c, n);
            assert_true(count(path) <= 1);
        }
        assert_true(n > 5 && n < 50);
    }
    assert_ok(sl_store_put(s, SL_LIT("p"), SL_LIT("old"), &err), err);
    int n;
    for (n = 1; n < 50; n++) {
        sl_store_fail_nth(n, SL_EIO);
        int rc = sl_store_put(s, SL_LIT("p"), SL_LIT("new"), &err);
        sl_store_fail_nth(0, 0);
        if (rc == SL_OK)
            break;
        struct sl_buf b = SL_BUF_INIT;
        assert_ok(sl_store_get(s, SL_LIT("p"), 100, &b, &err), err);
        assert_true(strcmp(b.p, "old") == 0 || strcmp(b.p, "new") == 0);
        sl_buf_release(&b);
    }
    assert_true(n > 3 && n < 50);
}

static void out_of_memory(void **state)
{
    struct sl_entries e = {0};
    struct sl_lock *l = NULL;
    struct sl_buf b = SL_BUF_INIT;
    int n;

    (void)state;
    for (int i = 0; i < 20; i++) {
        char path[64];

        snprintf(path, sizeof path, "m/%d", i);
        assert_ok(sl_store_put(s, sl_str_c(path), SL_LIT("x"), &err), err);
    }
    for (n = 1; n < 100; n++) {
        sl_mem_fail_nth(n);
        if (sl_store_list(s, SL_LIT("m"), true, &e, &err) == SL_OK)
            break;
        assert_int_equal(e.n, 0);
    }
    sl_entries_release(&e);
    assert_true(n > 20 && n < 100);
    sl_mem_fail_nth(1);
    assert_code(sl_store_lock(s, SL_LIT("lock"), 0, &l, &err), SL_ENOMEM);
    sl_mem_fail_nth(1);
    assert_code(sl_store_get(s, SL_LIT("m/1"), 10, &b, &err), SL_ENOMEM);
    sl_mem_fail_nth(0);
    assert_ok(sl_store_lock(s, SL_LIT("lock"), 0, &l, &err), err);
    sl_store_unlock(l);
    sl_buf_release(&b);
}

#define IDS 60
static atomic_int wins[IDS];

static void *race_for_ids(void *arg)
{
    char path[64], text[64];

    for (int id = 0; id < IDS; id++) {
        sl_err mine = SL_ERR_INIT;

        snprintf(path, sizeof path, "snap/snapshot-%d", id);
        snprintf(text, sizeof text, "by %zu", (size_t)arg);
        int rc = sl_store_put_new(s, sl_str_c(path), sl_str_c(text), &mine);
        if (rc == SL_OK)
            atomic_fetch_add(&wins[id], 1);
        else if (rc != SL_EEXISTS)
            abort();
    }
    return NULL;
}

static void put_new_race_of_threads(void **state)
{
    pthread_t ids[8];

    (void)state;
    memset(wins, 0, sizeof wins);
    for (size_t i = 0; i < 8; i++)
        pthread_create(&ids[i], NULL, race_for_ids, (void *)i);
    for (size_t i = 0; i < 8; i++)
        pthread_join(ids[i], NULL);
    for (int id = 0; id < IDS; id++)
        assert_int_equal(wins[id], 1);
    assert_int_equal(count("snap"), IDS);
}

static void put_new_race_of_processes(void **state)
{
    int total = 0, status;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        pid_t child = fork();

        if (child == 0) {
            int won = 0;

            memset(wins, 0, sizeof wins);
            race_for_ids((void *)i);
            for (int id = 0; id < IDS; id++)
                won += wins[id];
            _exit(won);
        }
        assert_true(child > 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        total += WEXITSTATUS(status);
    }
    assert_int_equal(total, IDS);
    assert_int_equal(count("snap"), IDS);
}

static void locks(void **state)
{
    struct sl_lock *a = NULL, *b = NULL;
    int ready[2], status;
    char c;

    (void)state;
    assert_ok(sl_store_lock(s, SL_LIT("l/lock"), 0, &a, &err), err);
    assert_code(sl_store_lock(s, SL_LIT("l/lock"), 0, &b, &err), SL_EBUSY);
    assert_true(err.flags & SL_ERR_RETRY);
    int64_t start = sl_mono_nanos();
    assert_code(sl_store_lock(s, SL_LIT("l/lock"), 50, &b, &err), SL_EBUSY);
    assert_true(sl_mono_nanos() - start >= 49000000);
    sl_store_unlock(a);
    assert_ok(sl_store_lock(s, SL_LIT("l/lock"), 0, &b, &err), err);
    sl_store_unlock(b);
    sl_store_unlock(NULL);
    /* A process that dies frees its lock. */
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (sl_store_lock(s, SL_LIT("l/lock"), 0, &a, NULL) != SL_OK || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_code(sl_store_lock(s, SL_LIT("l/lock"), 0, &b, &err), SL_EBUSY);
    kill(child, SIGKILL);
    assert_ok(sl_store_lock(s, SL_LIT("l/lock"), 5000, &b, &err), err);
    waitpid(child, &status, 0);
    sl_store_unlock(b);
    close(ready[0]);
    close(ready[1]);
}

static int in_turn(void *user, size_t i, sl_err *e)
{
    static int inside;
    struct sl_lock *l = NULL;

    (void)i;
    SL_TRY(sl_store_lock(s, SL_LIT("turn"), -1, &l, e));
    int rc = inside++ == 0 ? SL_OK : sl_err_set(e, SL_EBUG, "two at once");
    ++*(int *)user;
    inside--;
    sl_store_unlock(l);
    return rc;
}

static void lock_excludes_threads(void **state)
{
    int turns = 0;

    (void)state;
    assert_ok(sl_parallel(4, 200, in_turn, &turns, &err), err);
    assert_int_equal(turns, 200);
}

static void doctor(void **state)
{
    struct sl_doctor d;

    (void)state;
    assert_ok(sl_store_doctor(sl_str_c(root), &d, &err), err);
    assert_true(d.fs_type[0]);
    assert_true(d.link_new || d.rename_noreplace);
    assert_true(d.total_bytes >= d.free_bytes && d.total_bytes > 0);
    assert_int_equal(count(""), 0);
    assert_code(sl_store_doctor(SL_LIT("/no/such/folder"), &d, &err), SL_ENOTFOUND);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, open_store, close_store)
    const struct CMUnitTest tests[] = {
        T(roots), T(path_rules), T(put_and_get), T(folders), T(renaming), T(removing), T(every_step_fails),
        T(out_of_memory), T(put_new_race_of_threads), T(put_new_race_of_processes), T(locks),
        T(lock_excludes_threads), T(doctor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
