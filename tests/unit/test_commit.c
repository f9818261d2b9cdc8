/* Commits of files that only pretend to hold rows: nothing here needs the engine. */
#include "table_unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "table/append/position.h"

/* An ADD entry for a file of 4 bytes that is really there. */
static struct sl_manifest_entry fake_file(struct sl_append *t, struct sl_arena *a, int64_t rows)
{
    struct sl_manifest_entry e;
    struct sl_buf path = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;
    char uuid[37];
    bool external;

    memset(&e, 0, sizeof e);
    sl_uuid(uuid);
    e.partition = SL_BINROW_EMPTY;
    e.total_buckets = -1;
    e.file.file_name.p = sl_arena_printf(a, "data-%s-0.parquet", uuid);
    e.file.file_name.n = strlen(e.file.file_name.p);
    e.file.file_size = 4;
    e.file.row_count = rows;
    e.file.min_key = e.file.max_key = SL_BINROW_EMPTY;
    e.file.key_stats.min = e.file.key_stats.max = SL_BINROW_EMPTY;
    e.file.value_stats = e.file.key_stats;
    e.file.has_value_stats_cols = true;
    e.file.first_row_id = -1;
    assert_ok(sl_append_file_path(t, &e, &path, &external, &err), err);
    assert_ok(sl_store_mkdirs(t->store, SL_LIT("bucket-0"), &err), err);
    assert_ok(sl_store_write_unique(t->store, sl_buf_view(&path), SL_LIT("rows"), &err), err);
    sl_buf_release(&path);
    return e;
}

static int publish(struct sl_append *t, struct sl_commit_request *req, struct sl_commit_result *done, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_manifest_entry e = fake_file(t, &a, 10);

    req->kind = "APPEND";
    req->adds = &e;
    req->nadds = 1;
    int rc = sl_commit_publish(t, req, done, err);
    sl_arena_release(&a);
    return rc;
}

static size_t live_count(struct sl_append *t)
{
    struct sl_snapshot s;
    struct sl_live_set live;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_ok(sl_live_files(t, &s, NULL, &live, &err), err);
    size_t n = live.n;
    sl_live_release(&live);
    sl_snapshot_release(&s);
    return n;
}

static void appends_and_finds(void **state)
{
    struct sl_commit_request req = {.user = "job", .identifier = 1};
    struct sl_commit_result done;
    struct sl_snapshot s;
    sl_err err = SL_ERR_INIT;
    bool found;
    int64_t id;

    (void)state;
    make_table("one", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("one");
    assert_code(sl_snapshot_latest(t, &s, &err), SL_ENOTFOUND);
    assert_ok(publish(t, &req, &done, &err), err);
    assert_int_equal(done.snapshot_id, 1);
    req.identifier = 2;
    assert_ok(publish(t, &req, &done, &err), err);
    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_int_equal(s.total_record_count, 20);
    assert_int_equal(s.delta_record_count, 10);
    assert_string_equal(s.commit_kind, "APPEND");
    assert_non_null(s.uuid);
    assert_int_equal(s.next_row_id, 0);
    sl_snapshot_release(&s);
    assert_ok(sl_commit_find(t, "job", 1, NULL, &id, &err), err);
    assert_int_equal(id, 1);
    assert_ok(sl_commit_find(t, "job", 3, NULL, &id, &err), err);
    assert_int_equal(id, 0);
    assert_ok(sl_commit_last_identifier(t, "job", &found, &id, &err), err);
    assert_true(found);
    assert_int_equal(id, 2);
    /* The same commit once more is found, not repeated. */
    req.look_first = true;
    assert_ok(publish(t, &req, &done, &err), err);
    assert_true(done.already);
    assert_int_equal(done.snapshot_id, 2);
    assert_int_equal(live_count(t), 2);
    sl_append_close(t);
}

static void merges_without_losing_files(void **state)
{
    struct sl_snapshot s;
    struct sl_manifest_list list = {SL_ARENA_INIT, NULL, 0, 0};
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("many", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("many");
    for (int i = 0; i < 100; i++) {
        struct sl_commit_request req = {0};
        struct sl_commit_result done;

        assert_ok(publish(t, &req, &done, &err), err);
    }
    assert_int_equal(live_count(t), 100);
    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_int_equal(s.id, 100);
    assert_ok(sl_snapshot_manifests(t, &s, SL_LIST_BASE, &list, &err), err);
    assert_true(list.n < 40);
    sl_manifest_list_release(&list);
    sl_snapshot_release(&s);
    sl_append_close(t);
}

static void deletes_only_what_is_live(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_commit_result done;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("del", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("del");
    struct sl_manifest_entry one = fake_file(t, &a, 5), two = fake_file(t, &a, 7);
    struct sl_commit_request add = {.kind = "APPEND", .adds = &one, .nadds = 1};
    struct sl_commit_request swap = {.kind = "COMPACT", .adds = &two, .nadds = 1, .deletes = &one, .ndeletes = 1};
    assert_code(sl_commit_publish(t, &swap, &done, &err), SL_ECONFLICT);
    assert_ok(sl_commit_publish(t, &add, &done, &err), err);
    assert_ok(sl_commit_publish(t, &swap, &done, &err), err);
    assert_int_equal(done.rows_added, 7);
    assert_int_equal(done.rows_removed, 5);
    assert_code(sl_commit_publish(t, &swap, &done, &err), SL_ECONFLICT);
    assert_int_equal(live_count(t), 1);
    struct sl_commit_request truncate = {.kind = "OVERWRITE", .overwrite = SL_OVERWRITE_TABLE};
    assert_ok(sl_commit_publish(t, &truncate, &done, &err), err);
    assert_int_equal(done.files_removed, 1);
    assert_int_equal(live_count(t), 0);
    assert_ok(sl_commit_publish(t, &truncate, &done, &err), err);
    assert_int_equal(done.snapshot_id, 0);
    sl_append_close(t);
    sl_arena_release(&a);
}

static void refuses_files_that_are_not_there(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_commit_result done;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("gone", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("gone");
    struct sl_manifest_entry e = fake_file(t, &a, 5);
    struct sl_commit_request req = {.kind = "APPEND", .adds = &e, .nadds = 1};
    e.file.file_size = 5;
    assert_code(sl_commit_publish(t, &req, &done, &err), SL_ECORRUPT);
    e.file.file_name = SL_LIT("data-none.parquet");
    assert_code(sl_commit_publish(t, &req, &done, &err), SL_ENOTFOUND);
    /* Nothing is left behind. */
    struct sl_entries all = {NULL, 0, 0};
    assert_ok(sl_store_list(t->store, SL_LIT("manifest"), false, &all, &err), err);
    assert_int_equal(all.n, 0);
    sl_entries_release(&all);
    sl_append_close(t);
    sl_arena_release(&a);
}

static void carries_positions(void **state)
{
    struct sl_option p1 = {"sluice.position.web", "{\"offset\":10}"}, p2 = {"sluice.position.db", "7"};
    const char *web = "web", *db = "db";
    struct sl_commit_request first = {.properties = &p1, .nproperties = 1, .identities = &web, .nidentities = 1};
    struct sl_commit_request second = {.properties = &p2, .nproperties = 1, .identities = &db, .nidentities = 1};
    struct sl_commit_result done;
    struct sl_buf text = SL_BUF_INIT;
    struct sl_buf path = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;
    int64_t id;
    bool found;

    (void)state;
    make_table("pos", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("pos");
    assert_ok(sl_position_find(t, SL_LIT("web"), &text, &found, NULL, &err), err);
    assert_false(found);
    assert_ok(publish(t, &first, &done, &err), err);
    assert_ok(publish(t, &second, &done, &err), err);
    assert_ok(sl_position_find(t, SL_LIT("web"), &text, &found, &id, &err), err);
    assert_true(found);
    assert_string_equal(text.p, "{\"offset\":10}");
    assert_int_equal(id, 2);
    /* The tag is there after snapshots have expired. */
    for (int i = 1; i <= 2; i++) {
        sl_buf_reset(&path);
        sl_snapshot_file(t, i, &path);
        if (i == 1)
            assert_ok(sl_store_remove(t->store, sl_buf_view(&path), &err), err);
    }
    struct sl_snapshot s;
    assert_ok(sl_tag_get(t, SL_LIT("sluice-id-web"), &s, &err), err);
    assert_int_equal(s.id, 1);
    sl_snapshot_release(&s);
    assert_code(sl_identity_check(SL_LIT("a/b"), &err), SL_EINPUT);
    /* An identity that was seen and is not found is an error, also when the look at it fails: never a new one, which begins at 0. */
    assert_ok(sl_store_put(t->store, SL_LIT(SL_SIDE_DIR "/identity/ghost"), SL_LIT("seen\n"), &err), err);
    assert_code(sl_position_find(t, SL_LIT("ghost"), &text, &found, NULL, &err), SL_ENOTFOUND);
    for (int n = 1; n < 20; n++) {
        sl_store_fail_nth(n, SL_EIO);
        assert_int_not_equal(sl_position_find(t, SL_LIT("ghost"), &text, &found, NULL, &err), SL_OK);
        sl_store_fail_nth(0, 0);
    }
    struct sl_lock *lock, *other;
    assert_ok(sl_identity_lock(t, SL_LIT("web"), &lock, &err), err);
    assert_code(sl_identity_lock(t, SL_LIT("web"), &other, &err), SL_EBUSY);
    sl_store_unlock(lock);
    sl_buf_release(&text);
    sl_buf_release(&path);
    sl_append_close(t);
}

static void selects_snapshots(void **state)
{
    struct sl_commit_result done;
    struct sl_snapshot s;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("sel", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("sel");
    for (int i = 0; i < 3; i++) {
        struct sl_commit_request req = {0};

        assert_ok(publish(t, &req, &done, &err), err);
        sl_sleep_millis(5);
    }
    struct sl_selector by_id = {.kind = SL_SELECT_ID, .id = 2}, bad = {.kind = SL_SELECT_ID, .id = 9};
    assert_ok(sl_snapshot_select(t, &by_id, &s, &err), err);
    int64_t millis = s.time_millis;
    assert_ok(sl_tag_put(t, SL_LIT("two"), &s, false, &err), err);
    assert_code(sl_tag_put(t, SL_LIT("two"), &s, false, &err), SL_EEXISTS);
    sl_snapshot_release(&s);
    assert_code(sl_snapshot_select(t, &bad, &s, &err), SL_ENOTFOUND);
    struct sl_selector by_time = {.kind = SL_SELECT_TIME, .millis = millis}, early = {.kind = SL_SELECT_TIME, .millis = 1};
    assert_ok(sl_snapshot_select(t, &by_time, &s, &err), err);
    assert_int_equal(s.id, 2);
    sl_snapshot_release(&s);
    assert_code(sl_snapshot_select(t, &early, &s, &err), SL_ENOTFOUND);
    struct sl_selector tag = {.kind = SL_SELECT_VERSION, .text = SL_LIT("two")}, number = {.kind = SL_SELECT_VERSION, .text = SL_LIT("3")};
    assert_ok(sl_snapshot_select(t, &tag, &s, &err), err);
    assert_int_equal(s.id, 2);
    sl_snapshot_release(&s);
    assert_ok(sl_snapshot_select(t, &number, &s, &err), err);
    assert_int_equal(s.id, 3);
    sl_snapshot_release(&s);
    /* A wrong hint misleads nobody. */
    assert_ok(sl_snapshot_hint(t, "LATEST", 1, &err), err);
    int64_t id;
    assert_ok(sl_snapshot_latest_id(t, &id, &err), err);
    assert_int_equal(id, 3);
    assert_ok(sl_snapshot_hint(t, "LATEST", 77, &err), err);
    assert_ok(sl_snapshot_latest_id(t, &id, &err), err);
    assert_int_equal(id, 3);
    sl_append_close(t);
}

static void announces_readers(void **state)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_reader *r;
    sl_err err = SL_ERR_INIT;

    (void)state;
    make_table("read", "a INT", NULL, NULL, 0);
    struct sl_append *t = open_table("read");
    assert_ok(sl_reader_begin(t, 5, &r, &err), err);
    assert_ok(sl_store_list(t->store, SL_LIT("consumer"), false, &all, &err), err);
    assert_int_equal(all.n, 1);
    sl_entries_release(&all);
    sl_reader_end(r);
    assert_ok(sl_store_list(t->store, SL_LIT("consumer"), false, &all, &err), err);
    assert_int_equal(all.n, 0);
    sl_entries_release(&all);
    sl_append_close(t);
}

enum { PROCESSES = 16, COMMITS = 12 };

static void commit_in_a_child(int n)
{
    struct sl_append *t;
    sl_err err = SL_ERR_INIT;
    char user[32];

    snprintf(user, sizeof user, "writer-%d", n);
    if (sl_env_table(env, SL_LIT("race"), &t, &err) != SL_OK)
        _exit(2);
    for (int i = 1; i <= COMMITS; i++) {
        struct sl_commit_request req = {.user = user, .identifier = i};
        struct sl_commit_result done;

        if (publish(t, &req, &done, &err) != SL_OK || done.already) {
            fprintf(stderr, "%s: %s\n", user, err.text);
            _exit(3);
        }
    }
    _exit(0);
}

static void sixteen_processes_lose_nothing(void **state)
{
    struct sl_snapshot s;
    sl_err err = SL_ERR_INIT;
    pid_t pids[PROCESSES];

    (void)state;
    make_table("race", "a INT", NULL, NULL, 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            commit_in_a_child(i);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    struct sl_append *t = open_table("race");
    assert_ok(sl_snapshot_latest(t, &s, &err), err);
    assert_int_equal(s.id, PROCESSES * COMMITS);
    assert_int_equal(s.total_record_count, PROCESSES * COMMITS * 10);
    sl_snapshot_release(&s);
    assert_int_equal(live_count(t), PROCESSES * COMMITS);
    for (int i = 0; i < PROCESSES; i++) {
        char user[32];
        bool found;
        int64_t last;

        snprintf(user, sizeof user, "writer-%d", i);
        assert_ok(sl_commit_last_identifier(t, user, &found, &last, &err), err);
        assert_true(found);
        assert_int_equal(last, COMMITS);
    }
    sl_append_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_processes_lose_nothing), cmocka_unit_test(appends_and_finds), cmocka_unit_test(merges_without_losing_files),
        cmocka_unit_test(deletes_only_what_is_live), cmocka_unit_test(refuses_files_that_are_not_there), cmocka_unit_test(carries_positions),
        cmocka_unit_test(selects_snapshots), cmocka_unit_test(announces_readers),
    };
    return cmocka_run_group_tests_name("commit", tests, open_warehouse, close_warehouse);
}
