/*
 * commits.c - commits and nothing else: how long one takes beside many live files.
 *
 *   commits TABLE-FOLDER PARQUET-FILE LIVE COMMITS
 *
 * The table has one partition column, an INT, and the columns of the Parquet file. First LIVE files (links to the one given) are added in
 * a single commit, 100 to a partition; then COMMITS times one file. Prints the milliseconds of each of the latter, one a line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "table/append/commit.h"

enum { FILES_A_PARTITION = 100 };

struct bench {
    struct sl_append *table;
    const char *source;
    struct sl_buf bytes; /* of the source */
    int64_t size, rows;
    struct sl_arena arena;
};

static int die(const char *what, const sl_err *err)
{
    fprintf(stderr, "commits: %s: %s\n", what, err ? err->text : "failed");
    return 1;
}

static int partition_row(struct bench *b, int64_t value, sl_str *row, struct sl_value *v, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    int rc;

    *v = (struct sl_value){.kind = SL_INT, .u.i = value};
    SL_GO(sl_binrow_encode(b->table->partition_types, v, 1, &bytes, err));
    *row = sl_arena_str(&b->arena, sl_buf_view(&bytes));
    rc = row->p ? SL_OK : sl_err_nomem(err);
done:
    sl_buf_release(&bytes);
    return rc;
}

/* A file has only so many links: then the next one is a copy, and what comes after are links to that. */
static int link_source(struct bench *b, const char *path, sl_err *err)
{
    if (link(b->source, path) == 0)
        return SL_OK;
    if (errno != EMLINK)
        return sl_err_sys(err, errno, "cannot link \"%s\"", path);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(b->bytes.p, 1, b->bytes.n, f) == b->bytes.n;
    if (!f || fclose(f) != 0 || !ok)
        return sl_err_sys(err, errno, "cannot write \"%s\"", path);
    b->source = sl_arena_strdup(&b->arena, sl_str_c(path));
    return b->source ? SL_OK : sl_err_nomem(err);
}

static int read_source(struct bench *b, sl_err *err)
{
    FILE *f = fopen(b->source, "rb");
    char part[4096];
    size_t n;

    if (!f)
        return sl_err_sys(err, errno, "cannot open \"%s\"", b->source);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        sl_buf_addb(&b->bytes, part, n);
    fclose(f);
    b->size = (int64_t)b->bytes.n;
    return sl_buf_ok(&b->bytes, err);
}

/* One more file of the table: a link to the source, and its entry. */
static int add_file(struct bench *b, int64_t partition, struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_value value;
    char id[37];
    int rc;

    *e = (struct sl_manifest_entry){.kind = SL_FILE_ADD, .total_buckets = -1};
    SL_GO(partition_row(b, partition, &e->partition, &value, err));
    sl_uuid(id);
    e->file = (struct sl_data_file){
        .file_name = sl_str_c(sl_arena_printf(&b->arena, "data-%s-0.parquet", id)),
        .file_size = b->size,
        .row_count = b->rows,
        .min_key = SL_BINROW_EMPTY,
        .max_key = SL_BINROW_EMPTY,
        .key_stats = {SL_BINROW_EMPTY, SL_BINROW_EMPTY, NULL, 0},
        .value_stats = {SL_BINROW_EMPTY, SL_BINROW_EMPTY, NULL, 0},
        .max_sequence_number = b->rows - 1,
        .schema_id = b->table->schema->id,
        .creation_time = sl_now_local_millis(),
        .file_source = 0,
        .first_row_id = -1,
        .has_value_stats_cols = true,
    };
    struct sl_buf dir = SL_BUF_INIT;
    rc = sl_append_data_dir(b->table, &value, &dir, err);
    if (rc == SL_OK)
        rc = sl_store_mkdirs(b->table->store, sl_buf_view(&dir), err);
    sl_buf_release(&dir);
    SL_GO(rc);
    SL_GO(sl_append_file_full(b->table, e, &path, err));
    rc = link_source(b, path.p, err);
done:
    sl_buf_release(&path);
    return rc;
}

static int publish(struct bench *b, const struct sl_manifest_entry *entries, size_t n, double *millis, sl_err *err)
{
    struct sl_commit_request req = {.kind = "APPEND", .operation = "WRITE", .adds = entries, .nadds = n};
    struct sl_commit_result done = {0};
    int64_t start = sl_mono_nanos();
    int rc = sl_commit_publish(b->table, &req, &done, err);

    *millis = (double)(sl_mono_nanos() - start) / 1e6;
    return rc;
}

static int fill(struct bench *b, size_t live, sl_err *err)
{
    struct sl_manifest_entry *entries = sl_calloc(live ? live : 1, sizeof *entries);
    double millis;
    int rc = entries ? SL_OK : sl_err_nomem(err);

    for (size_t i = 0; rc == SL_OK && i < live; i++)
        rc = add_file(b, (int64_t)(i / FILES_A_PARTITION), &entries[i], err);
    if (rc == SL_OK && live)
        rc = publish(b, entries, live, &millis, err);
    sl_free(entries);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = {.arena = SL_ARENA_INIT, .rows = 1};
    sl_err err = SL_ERR_INIT;

    if (argc != 5)
        return die("usage: commits TABLE-FOLDER PARQUET-FILE LIVE COMMITS", NULL);
    b.source = argv[2];
    int rc = read_source(&b, &err);
    if (rc == SL_OK)
        rc = sl_append_open_path(sl_str_c(argv[1]), NULL, &b.table, &err);
    if (rc == SL_OK)
        rc = fill(&b, strtoul(argv[3], NULL, 10), &err);
    for (unsigned long i = 0, n = strtoul(argv[4], NULL, 10); rc == SL_OK && i < n; i++) {
        struct sl_manifest_entry e;
        double millis;

        rc = add_file(&b, (int64_t)(i % 10), &e, &err);
        if (rc == SL_OK)
            rc = publish(&b, &e, 1, &millis, &err);
        if (rc == SL_OK)
            printf("%.3f\n", millis);
    }
    sl_append_close(b.table);
    sl_buf_release(&b.bytes);
    sl_arena_release(&b.arena);
    return rc == SL_OK ? 0 : die(argv[1], &err);
}
