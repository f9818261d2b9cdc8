/* Every step of a commit fails once; a process dies between the steps: the table is as before or as after, and can be written again. */
#include "table_unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "table/append/rewrite.h"

#ifdef SL_FAILPOINTS

static struct sl_conn *conn;

static int open_all(void **state)
{
    open_warehouse(state);
    return 0;
}

static int close_all(void **state)
{
    return close_warehouse(state);
}

/* One row V by a writer with an identity of its own: the way a load does it. */
static int load(struct sl_append *t, int v, bool look, sl_err *err)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result done;
    char select[64];
    int rc;

    snprintf(select, sizeof select, "SELECT %d", v);
    rc = sl_append_write(t, conn, sl_str_c(select), NULL, &files, err);
    if (rc == SL_OK) {
        struct sl_commit_request req = {.user = "load", .identifier = v, .kind = "APPEND", .operation = "WRITE", .adds = files.v,
                                        .nadds = files.n, .look_first = look};

        rc = sl_commit_publish(t, &req, &done, err);
        if ((rc != SL_OK && !(err->flags & SL_ERR_UNKNOWN_OUTCOME)) || (rc == SL_OK && done.already))
            sl_new_files_discard(t, &files);
    }
    sl_new_files_release(&files);
    return rc;
}

static void every_step_may_fail(void **state)
{
    sl_err err = SL_ERR_INIT;
    int failures = 0;

    (void)state;
    conn = open_conn();
    make_table("faults", "v INT", NULL, NULL, 0);
    struct sl_append *t = open_table("faults");
    for (int n = 1; n < 400; n++) {
        sl_store_fail_nth(n, n % 2 ? SL_EIO : SL_ENOSPC);
        int rc = load(t, n, false, &err);
        sl_store_fail_nth(0, 0);
        if (rc != SL_OK) {
            failures++;
            assert_ok(load(t, n, true, &err), err);
        }
        char want[64], got[64];
        snprintf(want, sizeof want, "%d|%d\n", n, n);
        snprintf(got, sizeof got, "%s", read_table(t, conn, "count(*), count(DISTINCT v)", ""));
        assert_string_equal(got, want);
        if (rc == SL_OK && n > 60)
            break;
    }
    assert_true(failures > 20);
    sl_append_close(t);
    sl_conn_close(conn);
}

static const char *const points[] = {
    "write.after_stage", "write.after_sync", "write.after_place", "commit.after_manifest", "commit.after_merge", "commit.after_base_list",
    "commit.after_delta_list", "commit.before_publish", "commit.after_publish", "commit.after_hint",
};

static void child(const char *point, int v)
{
    sl_err err = SL_ERR_INIT;
    char text[100];

    snprintf(text, sizeof text, "%s=exit", point);
    setenv("SLUICE_FAILPOINT", text, 1);
    conn = open_conn();
    struct sl_append *t = open_table("crash");
    (void)!load(t, v, true, &err);
    fprintf(stderr, "%s was not reached: %s\n", point, err.text);
    _exit(1);
}

/* Children come before this process starts an engine, since threads do not survive a fork. */
static void a_process_may_die_anywhere(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("crash", "v INT", NULL, NULL, 0);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
            child(points[i], (int)i + 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        /* The first commit has nothing to merge. */
        if (strcmp(points[i], "commit.after_merge") != 0)
            assert_int_equal(WEXITSTATUS(status), 99);
    }
    conn = open_conn();
    struct sl_append *t = open_table("crash");
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        assert_ok(load(t, (int)i + 1, true, &err), err);
    assert_string_equal(read_table(t, conn, "count(*), count(DISTINCT v), sum(v)", ""), "10|10|55\n");
    sl_append_close(t);
    sl_conn_close(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_may_die_anywhere), cmocka_unit_test(every_step_may_fail)};

    return cmocka_run_group_tests_name("commit_faults", tests, open_all, close_all);
}

#else

int main(void)
{
    puts("1..0 # SKIP built without failpoints");
    return 0;
}

#endif
