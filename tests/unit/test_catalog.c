#include "table_unit.h"

#include "table/append/snapshots.h"

#define DB SL_LIT("default")

static int create(const char *name, const char *columns, const char *partition, const struct sl_option *options, size_t n, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    const struct sl_type *row;
    char text[1000];

    snprintf(text, sizeof text, "ROW<%s>", columns);
    int rc = sl_type_from_sql(&a, sl_str_c(text), &row, err);
    if (rc == SL_OK) {
        struct sl_table_def def = {.fields = row->fields, .nfields = row->nfields, .partition_keys = &partition,
                                   .npartition = partition ? 1 : 0, .options = options, .noptions = n};
        rc = sl_catalog_create_table(sl_env_catalog(env), DB, sl_str_c(name), &def, false, NULL, err);
    }
    sl_arena_release(&a);
    return rc;
}

static void creates_lists_and_drops(void **state)
{
    struct sl_catalog *c = sl_env_catalog(env);
    struct sl_names names = {NULL, 0, 0};
    bool has;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(create("t", "a INT, b STRING", "b", NULL, 0, &err), err);
    assert_code(create("t", "a INT", NULL, NULL, 0, &err), SL_EEXISTS);
    assert_ok(sl_catalog_has_table(c, DB, SL_LIT("t"), &has, &err), err);
    assert_true(has);
    assert_ok(sl_catalog_create_database(c, SL_LIT("other"), false, &err), err);
    assert_code(sl_catalog_create_database(c, SL_LIT("other"), false, &err), SL_EEXISTS);
    assert_ok(sl_catalog_databases(c, &names, &err), err);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.v[0], "default");
    sl_names_release(&names);
    assert_ok(sl_catalog_tables(c, DB, &names, &err), err);
    assert_int_equal(names.n, 1);
    sl_names_release(&names);
    assert_code(sl_catalog_drop_database(c, DB, false, false, &err), SL_EINPUT);
    assert_ok(sl_catalog_drop_table(c, DB, SL_LIT("t"), false, &err), err);
    assert_code(sl_catalog_drop_table(c, DB, SL_LIT("t"), false, &err), SL_ENOTFOUND);
    assert_ok(sl_catalog_drop_table(c, DB, SL_LIT("t"), true, &err), err);
}

static void refuses_bad_tables(void **state)
{
    sl_err err = SL_ERR_INIT;
    struct sl_option bucket = {"bucket", "4"}, orc = {"file.format", "orc"}, size = {"target-file-size", "big"};
    const char *key = "a";

    (void)state;
    assert_int_not_equal(create("x", "a INT, a STRING", NULL, NULL, 0, &err), SL_OK);
    assert_code(create("x", "_KEY_a INT", NULL, NULL, 0, &err), SL_EINPUT);
    assert_code(create("x", "a INT", "b", NULL, 0, &err), SL_EINPUT);
    assert_code(create("x", "a ARRAY<INT>", "a", NULL, 0, &err), SL_EINPUT);
    assert_code(create("x", "a DOUBLE", "a", NULL, 0, &err), SL_EUNSUPPORTED);
    assert_code(create("x", "a TIMESTAMP(9)", NULL, NULL, 0, &err), SL_EUNSUPPORTED);
    assert_code(create("x", "a INT", NULL, &bucket, 1, &err), SL_EUNSUPPORTED);
    assert_code(create("x", "a INT", NULL, &orc, 1, &err), SL_EUNSUPPORTED);
    assert_int_not_equal(create("x", "a INT", NULL, &size, 1, &err), SL_OK);
    assert_code(create("a/b", "a INT", NULL, NULL, 0, &err), SL_EINPUT);
    assert_code(create("a$b", "a INT", NULL, NULL, 0, &err), SL_EINPUT);

    struct sl_type type = {.kind = SL_INT, .nullable = true};
    struct sl_field field = {.name = "a", .type = &type};
    struct sl_table_def def = {.fields = &field, .nfields = 1, .primary_keys = &key, .nprimary = 1};
    assert_code(sl_catalog_create_table(sl_env_catalog(env), DB, SL_LIT("x"), &def, false, NULL, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "write-mode"));
    assert_non_null(strstr(err.text, "ordering-field"));
}

static void gives_ids_and_options(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(create("ids", "a INT, r ROW<x INT, y STRING>, c STRING", NULL, NULL, 0, &err), err);
    struct sl_append *t = open_table("ids");
    assert_int_equal(t->schema->fields[0].id, 0);
    assert_int_equal(t->schema->fields[1].id, 1);
    assert_int_equal(t->schema->fields[1].type->fields[1].id, 3);
    assert_int_equal(t->schema->fields[2].id, 4);
    assert_int_equal(t->schema->highest_field_id, 4);
    assert_string_equal(sl_schema_option(t->schema, "bucket"), "-1");
    assert_string_equal(sl_schema_option(t->schema, "write-only"), "true");
    sl_append_close(t);
}

static int alter(const struct sl_change *c, sl_err *err)
{
    return sl_catalog_alter_table(sl_env_catalog(env), DB, SL_LIT("alt"), c, 1, err);
}

static void alters(void **state)
{
    struct sl_type bigint = {.kind = SL_BIGINT, .nullable = true}, smallint = {.kind = SL_SMALLINT, .nullable = true};
    struct sl_type strict = {.kind = SL_INT, .nullable = false};
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(create("alt", "a INT, b STRING, p STRING", "p", NULL, 0, &err), err);
    assert_ok(alter(&(struct sl_change){.kind = SL_ADD_COLUMN, .name = "c", .type = &bigint, .after = "a"}, &err), err);
    assert_code(alter(&(struct sl_change){.kind = SL_ADD_COLUMN, .name = "c", .type = &bigint}, &err), SL_EEXISTS);
    assert_code(alter(&(struct sl_change){.kind = SL_ADD_COLUMN, .name = "d", .type = &strict}, &err), SL_EINPUT);
    assert_ok(alter(&(struct sl_change){.kind = SL_RENAME_COLUMN, .name = "b", .new_name = "bb"}, &err), err);
    assert_ok(alter(&(struct sl_change){.kind = SL_CHANGE_TYPE, .name = "a", .type = &bigint}, &err), err);
    assert_code(alter(&(struct sl_change){.kind = SL_CHANGE_TYPE, .name = "a", .type = &smallint}, &err), SL_EINPUT);
    assert_code(alter(&(struct sl_change){.kind = SL_DROP_COLUMN, .name = "p"}, &err), SL_EINPUT);
    assert_code(alter(&(struct sl_change){.kind = SL_RENAME_COLUMN, .name = "p", .new_name = "q"}, &err), SL_EINPUT);
    assert_ok(alter(&(struct sl_change){.kind = SL_DROP_COLUMN, .name = "c"}, &err), err);
    assert_ok(alter(&(struct sl_change){.kind = SL_MOVE_COLUMN, .name = "bb", .first = true}, &err), err);
    assert_ok(alter(&(struct sl_change){.kind = SL_SET_OPTION, .name = "target-file-size", .value = "1 MB"}, &err), err);
    assert_code(alter(&(struct sl_change){.kind = SL_SET_OPTION, .name = "bucket", .value = "3"}, &err), SL_EINPUT);
    assert_ok(alter(&(struct sl_change){.kind = SL_RESET_OPTION, .name = "target-file-size"}, &err), err);

    struct sl_append *t = open_table("alt");
    assert_int_equal(t->schema->id, 7);
    assert_int_equal(t->schema->nfields, 3);
    assert_string_equal(t->schema->fields[0].name, "bb");
    assert_int_equal(t->schema->fields[0].id, 1);
    assert_string_equal(t->schema->fields[1].name, "a");
    assert_int_equal(t->schema->fields[1].type->kind, SL_BIGINT);
    assert_int_equal(t->schema->highest_field_id, 3);
    /* What changes nothing makes no schema. */
    assert_ok(alter(&(struct sl_change){.kind = SL_RESET_OPTION, .name = "no-such"}, &err), err);
    int64_t newest;
    assert_ok(sl_append_newest_schema_id(t, &newest, &err), err);
    assert_int_equal(newest, 7);
    sl_append_close(t);
}

static void notices_a_table_made_anew(void **state)
{
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(create("again", "a INT", NULL, NULL, 0, &err), err);
    struct sl_append *t = open_table("again");
    assert_ok(sl_append_same_table(t, &err), err);
    assert_ok(sl_catalog_drop_table(sl_env_catalog(env), DB, SL_LIT("again"), false, &err), err);
    assert_code(sl_append_same_table(t, &err), SL_ECONFLICT);
    assert_ok(create("again", "a INT, b INT", NULL, NULL, 0, &err), err);
    assert_code(sl_append_same_table(t, &err), SL_ECONFLICT);
    sl_append_close(t);
}

static void takes_names_as_people_type_them(void **state)
{
    struct sl_append *t;
    sl_err err = SL_ERR_INIT;

    (void)state;
    assert_ok(create("na.me", "a INT", NULL, NULL, 0, &err), err);
    t = open_table("default.`na.me`");
    assert_string_equal(t->label, "default.na.me");
    sl_append_close(t);
    assert_code(sl_env_table(env, SL_LIT("a.b.c"), &t, &err), SL_EINPUT);
    assert_code(sl_env_table(env, SL_LIT("`a"), &t, &err), SL_EINPUT);
    assert_code(sl_env_table(env, SL_LIT("nothing"), &t, &err), SL_ENOTFOUND);
    assert_code(sl_env_table(env, SL_LIT("/no/such/folder"), &t, &err), SL_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creates_lists_and_drops), cmocka_unit_test(refuses_bad_tables), cmocka_unit_test(gives_ids_and_options),
        cmocka_unit_test(alters), cmocka_unit_test(notices_a_table_made_anew), cmocka_unit_test(takes_names_as_people_type_them),
    };
    return cmocka_run_group_tests_name("catalog", tests, open_warehouse, close_warehouse);
}
