/*
 * source_stream.c - INSERT ... SELECT from a source that never ends.
 *
 * Files are followed by ingest, made-up rows are written here, each commit with the number of rows
 * made so far as its position, so that the next run goes on behind it. Both need a name for that:
 * SET 'pipeline.name' = '...'.
 */
#include <string.h>

#include "base/sys.h"
#include "sluice/ingest.h"
#include "sql/insert.h"
#include "sql/source_table.h"
#include "table/append/position.h"

enum { DEFAULT_INTERVAL = 10000, DEFAULT_ROWS_PER_SECOND = 10000 };

/* ---- what may be streamed: a projection and a filter ---- */

static int refuse(const struct sl_exec *x, const char *what, sl_err *err)
{
    sl_err_set(err, SL_EUNSUPPORTED, "%s can not run over a source that never ends", what);
    sl_err_hint(err, "a streaming INSERT takes columns, expressions and WHERE only");
    return sl_sql_at(SL_EUNSUPPORTED, x->tokens->v[x->st->query.first].from, err);
}

static bool has_class(const json_t *node, const char *const *classes)
{
    const char *key, *class = json_string_value(json_object_get(node, "class"));
    json_t *value;
    size_t i;

    for (i = 0; class && classes[i]; i++)
        if (strcmp(class, classes[i]) == 0)
            return true;
    if (json_is_array(node)) {
        json_array_foreach((json_t *)node, i, value)
        {
            if (has_class(value, classes))
                return true;
        }
    }
    if (json_is_object(node)) {
        json_object_foreach((json_t *)node, key, value)
        {
            if (has_class(value, classes))
                return true;
        }
    }
    return false;
}

/* Names of functions that need all rows: DuckDB knows, so a plan with an aggregate in it tells. */
static int aggregates(struct sl_query *q, bool *yes, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    char *json = NULL;
    int rc;

    sl_buf_addc(&b, "SELECT json_serialize_plan(");
    sl_buf_sql_string(&b, sl_buf_view(&q->text.buf));
    sl_buf_addc(&b, ")");
    SL_GO(sl_buf_ok(&b, err));
    SL_GO(sl_conn_query_str(q->conn, sl_buf_view(&b), &json, err));
    *yes = !json || strstr(json, "\"LOGICAL_AGGREGATE") || strstr(json, "\"LOGICAL_WINDOW") ||
           strstr(json, "\"error\":true");
done:
    sl_free(json);
    sl_buf_release(&b);
    return rc;
}

static int check(const struct sl_exec *x, struct sl_query *q, sl_err *err)
{
    static const char *const bad[] = {"SUBQUERY", "WINDOW", NULL};
    const json_t *node =
        json_object_get(json_array_get(json_object_get(q->tree, "statements"), 0), "node");
    const char *type = json_string_value(json_object_get(node, "type"));
    const char *from =
        json_string_value(json_object_get(json_object_get(node, "from_table"), "type"));
    bool yes = false;

    if (!type || strcmp(type, "SELECT_NODE") != 0 ||
        json_array_size(json_object_get(json_object_get(node, "cte_map"), "map")) > 0)
        return refuse(x, "a query of several parts", err);
    if (!from || strcmp(from, "BASE_TABLE") != 0)
        return refuse(x, "a join", err);
    if (json_array_size(json_object_get(node, "group_expressions")) > 0 ||
        json_array_size(json_object_get(node, "group_sets")) > 0)
        return refuse(x, "GROUP BY", err);
    if (json_array_size(json_object_get(node, "modifiers")) > 0)
        return refuse(x, "ORDER BY, DISTINCT or LIMIT", err);
    if (has_class(node, bad))
        return refuse(x, "a subquery or a window", err);
    SL_TRY(aggregates(q, &yes, err));
    return yes ? refuse(x, "an aggregate", err) : SL_OK;
}

/* ---- settings ---- */

static int identity(const struct sl_exec *x, sl_str *out, sl_err *err)
{
    const char *name = sl_session_setting(x->s, "pipeline.name");

    if (!name) {
        sl_err_set(err, SL_ESQL, "a stream needs a name, by which it goes on where it was");
        sl_err_hint(err, "SET 'pipeline.name' = 'a-name-of-its-own'");
        return sl_sql_at(SL_ESQL, x->tokens->from, err);
    }
    *out = sl_str_c(name);
    return sl_identity_check(*out, err);
}

static uint64_t interval(const struct sl_exec *x)
{
    const char *text = sl_session_setting(x->s, "execution.checkpointing.interval");
    uint64_t millis = DEFAULT_INTERVAL;

    if (text && sl_parse_millis(sl_str_c(text), &millis) && millis > 0)
        return millis;
    return DEFAULT_INTERVAL;
}

/* SQL with the source's empty stand-in replaced by TEXT. */
static int put_source(const struct sl_query *q, const struct sl_insert_sql *sql, sl_str text,
                      struct sl_buf *out, sl_err *err)
{
    char mark[40];
    const sl_str all = sl_buf_view(&sql->sql);
    const int n = snprintf(mark, sizeof mark, "sluice_rows(%llu)",
                           (unsigned long long)sl_source_scan_id(q->endless));
    const ptrdiff_t at = sl_str_find(all, sl_str_c(mark));

    if (at < 0)
        return sl_err_set(err, SL_EBUG, "the source was not found in the statement");
    sl_buf_add(out, sl_str_sub(all, 0, (size_t)at));
    sl_buf_add(out, text);
    sl_buf_add(out, sl_str_sub(all, (size_t)at + (size_t)n, all.n));
    return sl_buf_ok(out, err);
}

/* ---- files ---- */

static void put_row_type(const struct sl_schema *s, struct sl_buf *out)
{
    sl_buf_addc(out, "ROW<");
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_addc(out, i ? ", `" : "`");
        sl_buf_addc(out, s->fields[i].name);
        sl_buf_addc(out, "` ");
        sl_type_sql(out, s->fields[i].type);
    }
    sl_buf_ch(out, '>');
}

static void show_progress(void *user, const struct sl_ingest_progress *p)
{
    const struct sl_session *s = user;

    if (s->sink && s->sink->progress)
        s->sink->progress(s->sink->user, -1, p->seconds);
}

static int stream_files(struct sl_exec *x, struct sl_append *t, struct sl_query *q,
                        const struct sl_insert_sql *sql, sl_str name, sl_err *err)
{
    const struct sl_source_def *d = sl_source_scan_def(q->endless);
    const char *format = sl_schema_option(&d->schema, "format"),
               *delimiter = sl_schema_option(&d->schema, "csv.field-delimiter");
    const char *header = sl_schema_option(&d->schema, "csv.header"),
               *null_text = sl_schema_option(&d->schema, "csv.null-literal");
    struct sl_ingest_options o = SL_INGEST_INIT;
    struct sl_ingest_report report = SL_INGEST_REPORT_INIT;
    struct sl_buf query = SL_BUF_INIT, type = SL_BUF_INIT, path = SL_BUF_INIT;
    sl_str input = sl_source_path(d);
    int rc;

    SL_GO(put_source(q, sql, SL_LIT("$source"), &query, err));
    put_row_type(&d->schema, &type);
    sl_buf_addc(&path, t->path);
    SL_GO(sl_buf_ok(&type, err));
    SL_GO(sl_buf_ok(&path, err));
    o.table = sl_buf_view(&path);
    o.inputs = &input;
    o.ninputs = 1;
    o.format = strcmp(format, "csv") == 0       ? SL_INGEST_CSV
               : strcmp(format, "parquet") == 0 ? SL_INGEST_PARQUET
                                                : SL_INGEST_NDJSON;
    o.delimiter = delimiter ? delimiter[0] : 0;
    o.no_header = !header || strcmp(header, "true") != 0;
    o.null_text = (sl_str){null_text, null_text ? strlen(null_text) : 0};
    o.follow = true;
    o.identity = name;
    o.commit_millis = interval(x);
    o.source_type = sl_buf_view(&type);
    o.query = sl_buf_view(&query);
    o.progress = show_progress;
    o.user = x->s;
    rc = sl_ingest_run(x->s->env, &o, &report, err);
    x->done.rows = report.rows;
    x->done.snapshot = report.nsnapshots > 0 ? report.snapshots[report.nsnapshots - 1] : 0;
    sl_ingest_report_release(&report);
    if (rc == SL_ECANCELLED) /* the ordinary end of a stream */
        rc = SL_OK;
done:
    sl_buf_release(&query);
    sl_buf_release(&type);
    sl_buf_release(&path);
    return rc;
}

/* ---- made-up rows ---- */

struct generator {
    struct sl_exec *x;
    struct sl_append *t;
    struct sl_query *q;
    const struct sl_insert_sql *sql;
    sl_str name;
    char *property; /* owned: the position's key */
    int64_t made;   /* rows so far, over all runs */
};

static int find_position(struct generator *g, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    json_t *position = NULL;
    bool found = false;
    int rc;

    SL_GO(sl_position_find(g->t, g->name, &text, &found, NULL, err));
    if (found) {
        SL_GO(sl_json_parse(sl_buf_view(&text), &position, err));
        rc = sl_json_i64_req(position, "datagen", &g->made, err);
        if (rc != SL_OK)
            sl_err_hint(err,
                        "another kind of source has used the name \"" SL_STRF
                        "\": choose another 'pipeline.name'",
                        SL_STRV(g->name));
    }
done:
    json_decref(position);
    sl_buf_release(&text);
    return rc;
}

/* COUNT more rows as one commit, which carries how many there are then. */
static int one_commit(struct generator *g, int64_t count, sl_err *err)
{
    struct sl_buf rows = SL_BUF_INIT, all = SL_BUF_INIT;
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result result = {0};
    char value[48];
    const char *names[1];
    struct sl_option property;
    struct sl_commit_request req = {.kind = "APPEND",
                                    .operation = "WRITE",
                                    .properties = &property,
                                    .nproperties = 1,
                                    .identities = names,
                                    .nidentities = 1,
                                    .allow_empty = true};
    int rc;

    sl_buf_ch(&rows, '(');
    SL_GO(sl_datagen_sql(sl_source_scan_def(g->q->endless), g->made, g->made + count, &rows, err));
    sl_buf_ch(&rows, ')');
    SL_GO(sl_buf_ok(&rows, err));
    SL_GO(put_source(g->q, g->sql, sl_buf_view(&rows), &all, err));
    SL_GO(sl_append_write(g->t, g->q->conn, sl_buf_view(&all), NULL, &files, err));
    snprintf(value, sizeof value, "{\"datagen\":%lld}", (long long)(g->made + count));
    property = (struct sl_option){g->property, value};
    names[0] = g->name.p;
    req.user = g->name.p;
    req.identifier = g->made + count;
    req.adds = files.v;
    req.nadds = files.n;
    SL_GO(sl_publish_new(g->t, &req, &files, &result, err));
    if (result.already)
        sl_new_files_discard(g->t, &files);
    g->made += count;
    g->x->done.rows += (uint64_t)files.rows;
    g->x->done.snapshot = result.snapshot_id;
done:
    sl_buf_release(&rows);
    sl_buf_release(&all);
    sl_new_files_release(&files);
    return rc;
}

static int generate(struct generator *g, sl_err *err)
{
    const char *text =
        sl_schema_option(&sl_source_scan_def(g->q->endless)->schema, "rows-per-second");
    const uint64_t millis = interval(g->x);
    int64_t rate = DEFAULT_ROWS_PER_SECOND;

    if (text && (!sl_parse_i64(sl_str_c(text), &rate) || rate < 1))
        return sl_err_set(err, SL_ESQL, "'rows-per-second' = '%s' is no number of rows", text);
    SL_TRY(find_position(g, err));
    while (!sl_cancelled()) {
        const int64_t start = sl_mono_nanos();
        const int64_t count = (int64_t)((double)rate * (double)millis / 1000);
        int rc = one_commit(g, count > 0 ? count : 1, err);

        if (rc == SL_ECANCELLED)
            break;
        if (rc != SL_OK)
            return rc;
        const int64_t left = (int64_t)millis - (sl_mono_nanos() - start) / 1000000;
        if (left > 0)
            sl_sleep_millis(left);
    }
    return SL_OK;
}

static int stream_made_up(struct sl_exec *x, struct sl_append *t, struct sl_query *q,
                          const struct sl_insert_sql *sql, sl_str name, sl_err *err)
{
    struct generator g = {.x = x, .t = t, .q = q, .sql = sql, .name = name};
    struct sl_lock *lock = NULL;
    char *path = sl_asprintf(SL_SIDE_DIR "/stream-" SL_STRF ".lock", SL_STRV(name));
    int rc;

    g.property = sl_asprintf(SL_POSITION_PREFIX SL_STRF, SL_STRV(name));
    if (!path || !g.property)
        SL_GOTO_NOMEM(err);
    rc = sl_store_lock(t->store, sl_str_c(path), 0, &lock, err);
    if (rc == SL_EBUSY)
        sl_err_hint(err, "another process runs the stream \"" SL_STRF "\"", SL_STRV(name));
    if (rc == SL_OK)
        rc = generate(&g, err);
done:
    sl_store_unlock(lock);
    sl_free(path);
    sl_free(g.property);
    return rc;
}

int sl_source_stream(struct sl_exec *x, struct sl_append *t, struct sl_query *q,
                     const struct sl_insert_sql *sql, sl_err *err)
{
    sl_str name;

    SL_TRY(check(x, q, err));
    SL_TRY(identity(x, &name, err));
    if (sl_source_scan_def(q->endless)->datagen)
        return stream_made_up(x, t, q, sql, name, err);
    return stream_files(x, t, q, sql, name, err);
}
