/* Every metadata file of the tables that the reference engines wrote. Skipped where the folder is not there. */
#include "unit.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "format/paimon.h"

static sl_err err = SL_ERR_INIT;
static char root[4096];
static size_t files, rows;

static void read_file(const char *path, struct sl_buf *out)
{
    FILE *f = fopen(path, "rb");
    char piece[8192];

    assert_non_null(f);
    sl_buf_reset(out);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        sl_buf_addb(out, piece, n);
    fclose(f);
}

/* FN for each file of FOLDER whose name starts with PREFIX. */
static void each(const char *folder, const char *prefix, void (*fn)(const char *folder, const char *name, void *user), void *user)
{
    DIR *d = opendir(folder);

    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 && e->d_name[0] != '.')
            fn(folder, e->d_name, user);
    closedir(d);
}

struct schemas {
    struct sl_schema v[8]; /* by id */
    size_t n;
};

static void one_schema(const char *folder, const char *name, void *user)
{
    struct schemas *all = user;
    struct sl_schema s, again;
    struct sl_buf b = SL_BUF_INIT, out = SL_BUF_INIT;
    char path[9000];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    read_file(path, &b);
    assert_ok(sl_paimon_schema_decode(sl_buf_view(&b), &s, &err), err);
    assert_ok(sl_paimon_schema_encode(&s, &out, &err), err);
    assert_ok(sl_paimon_schema_decode(sl_buf_view(&out), &again, &err), err);
    assert_int_equal(s.nfields, again.nfields);
    for (size_t i = 0; i < s.nfields; i++) {
        assert_string_equal(s.fields[i].name, again.fields[i].name);
        assert_true(s.fields[i].id == again.fields[i].id && sl_type_same(s.fields[i].type, again.fields[i].type, false));
    }
    /* The members in our order and theirs, compared as documents. */
    json_t *ours = NULL, *theirs = NULL;
    assert_ok(sl_json_parse(sl_buf_view(&out), &ours, &err), err);
    assert_ok(sl_json_parse(sl_buf_view(&b), &theirs, &err), err);
    assert_true(json_equal(ours, theirs));
    json_decref(ours);
    json_decref(theirs);
    sl_schema_release(&again);
    assert_true(s.id < 8);
    all->v[s.id] = s;
    all->n = (size_t)s.id >= all->n ? (size_t)s.id + 1 : all->n;
    files++;
    sl_buf_release(&b);
    sl_buf_release(&out);
}

static void same_bytes(sl_str row, const struct sl_type *const *types, size_t n)
{
    struct sl_value v[64];
    struct sl_buf b = SL_BUF_INIT;

    assert_true(n <= 64);
    assert_ok(sl_binrow_decode(row, types, n, v, &err), err);
    assert_ok(sl_binrow_encode(types, v, n, &b, &err), err);
    assert_true(sl_str_eq(sl_buf_view(&b), row));
    sl_buf_release(&b);
    rows++;
}

struct table {
    struct schemas schemas;
    const char *path;
    struct sl_manifest_writer *writer;
    int64_t live_rows;
    size_t entries;
};

static int one_entry(void *user, const struct sl_manifest_entry *e, sl_err *er)
{
    struct table *t = user;
    const struct sl_schema *s = &t->schemas.v[e->file.schema_id];
    const struct sl_type *types[64], *keys[64];
    size_t n = 0;

    assert_true((size_t)e->file.schema_id < t->schemas.n && s->nfields < 64);
    for (size_t i = 0; i < s->npartition; i++)
        keys[i] = s->fields[s->partition_index[i]].type;
    same_bytes(e->partition, keys, s->npartition);
    bool tracked = false;
    if (e->file.has_value_stats_cols || e->file.has_write_cols) {
        const sl_str *cols = e->file.has_value_stats_cols ? e->file.value_stats_cols : e->file.write_cols;
        size_t ncols = e->file.has_value_stats_cols ? e->file.nvalue_stats_cols : e->file.nwrite_cols;

        for (size_t i = 0; i < ncols; i++) {
            const struct sl_field *f = sl_schema_field(s, cols[i]);

            tracked = tracked || !f; /* columns of row tracking are in no schema */
            types[n++] = f ? f->type : NULL;
        }
    } else {
        for (size_t i = 0; i < s->nfields; i++)
            types[n++] = s->fields[i].type;
    }
    if (!tracked) {
        same_bytes(e->file.value_stats.min, types, n);
        same_bytes(e->file.value_stats.max, types, n);
        assert_int_equal(e->file.value_stats.nnull_counts, n);
    }
    t->live_rows += e->kind == SL_FILE_ADD ? e->file.row_count : -e->file.row_count;
    t->entries++;
    files++;
    return sl_manifest_writer_add(t->writer, e, er);
}

static int sum_rows(void *user, const struct sl_manifest_entry *e, sl_err *er)
{
    (void)er;
    *(int64_t *)user += e->kind == SL_FILE_ADD ? e->file.row_count : -e->file.row_count;
    return SL_OK;
}

static void one_list(struct table *t, const char *name, int64_t size)
{
    struct sl_buf b = SL_BUF_INIT, out = SL_BUF_INIT;
    struct sl_manifest_list l = {0}, again = {0};
    char path[9000];

    snprintf(path, sizeof path, "%s/manifest/%s", t->path, name);
    read_file(path, &b);
    assert_true(size < 0 || (size_t)size == b.n);
    assert_ok(sl_manifest_list_decode(sl_buf_view(&b), &l, &err), err);
    assert_ok(sl_manifest_list_encode(l.v, l.n, &out, &err), err);
    assert_ok(sl_manifest_list_decode(sl_buf_view(&out), &again, &err), err);
    assert_int_equal(l.n, again.n);
    for (size_t i = 0; i < l.n; i++) {
        int64_t written = 0, read = t->live_rows;

        assert_true(sl_str_eq(l.v[i].file_name, again.v[i].file_name));
        snprintf(path, sizeof path, "%s/manifest/" SL_STRF, t->path, SL_STRV(l.v[i].file_name));
        read_file(path, &b);
        assert_int_equal(b.n, l.v[i].file_size);
        t->entries = 0;
        assert_ok(sl_manifest_writer_new(&t->writer, &err), err);
        assert_ok(sl_manifest_decode(sl_buf_view(&b), true, one_entry, t, &err), err);
        assert_int_equal(t->entries, l.v[i].num_added_files + l.v[i].num_deleted_files);
        sl_buf_reset(&out);
        assert_ok(sl_manifest_writer_finish(t->writer, &out, &err), err);
        sl_manifest_writer_free(t->writer);
        assert_ok(sl_manifest_decode(sl_buf_view(&out), true, sum_rows, &written, &err), err);
        assert_int_equal(written, t->live_rows - read);
    }
    files++;
    sl_manifest_list_release(&l);
    sl_manifest_list_release(&again);
    sl_buf_release(&b);
    sl_buf_release(&out);
}

static void one_snapshot(const char *folder, const char *name, void *user)
{
    struct table *t = user;
    struct sl_snapshot s, again;
    struct sl_buf b = SL_BUF_INIT, out = SL_BUF_INIT;
    char path[9000];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    read_file(path, &b);
    assert_ok(sl_snapshot_decode(sl_buf_view(&b), &s, &err), err);
    assert_ok(sl_snapshot_encode(&s, &out, &err), err);
    assert_ok(sl_snapshot_decode(sl_buf_view(&out), &again, &err), err);
    assert_true(again.commit_identifier == s.commit_identifier && again.total_record_count == s.total_record_count);
    t->live_rows = 0;
    one_list(t, s.base_manifest_list, s.base_manifest_list_size);
    one_list(t, s.delta_manifest_list, s.delta_manifest_list_size);
    assert_int_equal(t->live_rows, s.total_record_count);
    files++;
    sl_snapshot_release(&s);
    sl_snapshot_release(&again);
    sl_buf_release(&b);
    sl_buf_release(&out);
}

static void one_table(const char *folder, const char *name, void *user)
{
    static const char *const under[] = {"", "/branch/branch-rt"};
    char table[8500], path[8800];
    size_t n = strlen(name);

    (void)user;
    if (n < 4 || n > 250 || strcmp(name + n - 3, ".db") != 0)
        return;
    snprintf(table, sizeof table, "%.4000s/%s/%.*s", folder, name, (int)(n - 3), name);
    for (size_t i = 0; i < 2; i++) {
        struct table t = {.path = table};

        snprintf(path, sizeof path, "%s%s/schema", table, under[i]);
        each(path, "schema-", one_schema, &t.schemas);
        if (t.schemas.n && t.schemas.v[t.schemas.n - 1].nprimary == 0) { /* key tables have other rows */
            snprintf(path, sizeof path, "%s%s/snapshot", table, under[i]);
            each(path, "snapshot-", one_snapshot, &t);
        }
        for (size_t k = 0; k < t.schemas.n; k++)
            sl_schema_release(&t.schemas.v[k]);
    }
}

static void all_tables(void **state)
{
    const char *given = getenv("SLUICE_FIXTURES");
    struct stat st;

    (void)state;
    snprintf(root, sizeof root, "%s/paimon", given ? given : "../shared/fixtures");
    if (stat(root, &st) != 0) {
        print_message("# no folder %s\n", root);
        skip();
    }
    each(root, "", one_table, NULL);
    print_message("# %zu files and entries, %zu rows of bounds\n", files, rows);
    assert_true(files > 50 && rows > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_tables)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
