/* source_files.c - the files of a filesystem source: Parquet by DuckDB, NDJSON and CSV by ingest's
 * strict parser. */
#include <string.h>
#include <sys/stat.h>

#include "ingest/worker.h"
#include "sql/source_table.h"

enum { ROW_MAX = 512 << 20 };

struct sl_source_files {
    struct sl_engine *engine;
    const struct sl_source_def *def; /* borrowed */
    enum sl_ingest_format format;
    char delimiter;
    bool header, skip;
    sl_str null_text;
    uint64_t id;
    bool registered;
};

void sl_source_files_close(struct sl_source_files *f)
{
    if (!f)
        return;
    if (f->registered)
        sl_rows_unregister(f->engine, f->id);
    sl_free(f);
}

/* ---- one scan: a query that names the source twice reads its files twice ---- */

struct scan {
    struct sl_arena arena;
    struct sl_column columns;
    struct sl_source *source;
    struct sl_bad_rows *bad;
    struct sl_feed *feed;
    struct sl_worker *worker;
    atomic_uint_fast64_t unknown_fields;
    uint64_t ticket;
    bool ended;
};

static void close_scan(void *self, void *local)
{
    struct scan *s = local;

    (void)self;
    if (!s)
        return;
    sl_worker_free(s->worker);
    sl_feed_free(s->feed);
    sl_bad_rows_free(s->bad);
    sl_source_close(s->source);
    sl_columns_release(&s->columns);
    sl_arena_release(&s->arena);
    sl_free(s);
}

static int start_scan(const struct sl_source_files *f, struct scan *s, sl_err *err)
{
    const struct sl_schema *schema = &f->def->schema;
    const sl_str input = sl_source_path(f->def);
    struct sl_ingest_options o = SL_INGEST_INIT;
    struct sl_feed_spec feed = {.format = f->format,
                                .delimiter = f->delimiter,
                                .no_header = !f->header,
                                .max_row_bytes = ROW_MAX,
                                .commit_rows = INT64_MAX,
                                .commit_bytes = INT64_MAX,
                                .commit_millis = (uint64_t)10 * 365 * 86400000,
                                .columns = &s->columns};
    struct sl_worker_spec worker = {.format = f->format,
                                    .fields = schema->fields,
                                    .nfields = schema->nfields,
                                    .null_text = f->null_text,
                                    .delimiter = f->delimiter,
                                    .max_row_bytes = ROW_MAX,
                                    .unknown_fields = &s->unknown_fields};

    o.inputs = &input;
    o.ninputs = 1;
    SL_TRY(sl_source_open(&o, f->format, NULL, NULL, &s->source, err));
    SL_TRY(sl_columns_make(&s->arena, schema->fields, schema->nfields, (sl_str){NULL, 0},
                           &s->columns, err));
    SL_TRY(sl_bad_rows_new(f->skip ? SL_INGEST_SKIP : SL_INGEST_STOP, (sl_str){NULL, 0}, &s->bad,
                           err));
    feed.source = s->source;
    feed.bad = s->bad;
    SL_TRY(sl_feed_new(&feed, &s->feed, err));
    worker.feed = s->feed;
    worker.bad = s->bad;
    SL_TRY(sl_worker_new(&worker, &s->worker, err));
    return sl_feed_begin(s->feed, &s->ticket, &s->ended, err);
}

static int open_scan(void *self, void **local, sl_err *err)
{
    struct scan *s = sl_calloc(1, sizeof *s);
    int rc;

    if (!s)
        return sl_err_nomem(err);
    rc = start_scan(self, s, err);
    if (rc != SL_OK) {
        close_scan(self, s);
        return rc;
    }
    *local = s;
    return SL_OK;
}

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    struct scan *s = local;

    (void)self;
    out->rows = 0;
    while (!s->ended) {
        SL_TRY(sl_worker_fill(s->worker, s->ticket, out, err));
        if (out->rows > 0)
            return SL_OK;
        SL_TRY(sl_feed_begin(s->feed, &s->ticket, &s->ended, err));
    }
    return SL_OK;
}

static bool is_true(const struct sl_source_def *d, const char *key)
{
    const char *text = sl_schema_option(&d->schema, key);

    return text && strcmp(text, "true") == 0;
}

static int text_sql(struct sl_query *q, const struct sl_source_def *d, bool csv,
                    struct sl_source_files **out, struct sl_buf *sql, sl_err *err)
{
    const char *delimiter = sl_schema_option(&d->schema, "csv.field-delimiter"),
               *null_text = sl_schema_option(&d->schema, "csv.null-literal");
    struct sl_source_files *f = sl_calloc(1, sizeof *f);

    if (!f)
        return sl_err_nomem(err);
    *out = f;
    f->engine = sl_conn_engine(q->conn);
    f->def = d;
    f->format = csv ? SL_INGEST_CSV : SL_INGEST_NDJSON;
    f->delimiter = delimiter && delimiter[0] ? delimiter[0] : ',';
    f->header = is_true(d, "csv.header");
    f->skip = is_true(d, csv ? "csv.ignore-parse-errors" : "json.ignore-parse-errors");
    f->null_text = sl_str_c(null_text ? null_text : "");
    const struct sl_row_source rows = {.self = f,
                                       .fields = d->schema.fields,
                                       .nfields = d->schema.nfields,
                                       .max_threads = 1,
                                       .rows_hint = -1,
                                       .local_open = open_scan,
                                       .local_close = close_scan,
                                       .fill = fill};
    SL_TRY(sl_rows_register(f->engine, &rows, &f->id, err));
    f->registered = true;
    sl_buf_printf(sql, "sluice_rows(%llu)", (unsigned long long)f->id);
    return sl_buf_ok(sql, err);
}

sl_str sl_source_path(const struct sl_source_def *d)
{
    sl_str path = sl_str_c(sl_schema_option(&d->schema, "path"));

    return sl_str_starts(path, "file://") ? sl_str_sub(path, 7, path.n) : path;
}

static void put_columns(const struct sl_schema *s, struct sl_buf *out)
{
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
    }
}

static int parquet_sql(const struct sl_source_def *d, struct sl_buf *out, sl_err *err)
{
    const sl_str path = sl_source_path(d);
    struct sl_buf files = SL_BUF_INIT;
    struct stat st;

    sl_buf_add(&files, path);
    SL_TRY(sl_buf_ok(&files, err));
    if (stat(files.p, &st) == 0 && S_ISDIR(st.st_mode))
        sl_buf_addc(&files, "/*.parquet");
    sl_buf_addc(out, "(SELECT ");
    put_columns(&d->schema, out);
    sl_buf_addc(out, " FROM read_parquet(");
    sl_buf_sql_string(out, sl_buf_view(&files));
    sl_buf_addc(out, ", hive_partitioning = false))");
    out->failed |= files.failed;
    sl_buf_release(&files);
    return sl_buf_ok(out, err);
}

int sl_source_files_open(struct sl_query *q, const struct sl_source_def *d,
                         struct sl_source_files **out, struct sl_buf *sql, sl_err *err)
{
    const char *format = sl_schema_option(&d->schema, "format");

    *out = NULL;
    if (strcmp(format, "parquet") == 0)
        return parquet_sql(d, sql, err);
    return text_sql(q, d, strcmp(format, "csv") == 0, out, sql, err);
}
