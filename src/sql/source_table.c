/* source_table.c - the definitions of source tables, and their scans. */
#include "sql/source_table.h"
#include "sql/resolve.h"

#include <string.h>

#include "format/paimon.h"

enum { DEFINITION_MAX = 4 << 20 };

static const char *option(const struct sl_source_def *d, const char *key)
{
    return sl_schema_option(&d->schema, key);
}

static void path_of(sl_str db, sl_str name, struct sl_buf *out)
{
    sl_buf_printf(out, ".sluice/sources/" SL_STRF "." SL_STRF ".json", SL_STRV(db), SL_STRV(name));
}

static bool usable(sl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '/' || s.p[i] == '\\' || s.p[i] == '$' || (unsigned char)s.p[i] < ' ')
            return false;
    return s.n > 0 && s.n < 200 && s.p[0] != '.';
}

bool sl_source_is(const struct sl_statement *st)
{
    for (size_t i = 0; i < st->table_options.n; i++)
        if (strcmp(st->table_options.v[i].key, "connector") == 0)
            return strcmp(st->table_options.v[i].value, "paimon") != 0;
    return false;
}

int sl_source_exists(struct sl_session *s, sl_str db, sl_str name, bool *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    *out = false;
    if (!usable(name) || !usable(db))
        return SL_OK;
    path_of(db, name, &path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_exists(sl_catalog_store(sl_env_catalog(s->env)), sl_buf_view(&path), out, err);
    sl_buf_release(&path);
    return rc;
}

void sl_source_def_release(struct sl_source_def *d)
{
    sl_schema_release(&d->schema);
    *d = (struct sl_source_def){.schema = {.arena = SL_ARENA_INIT}};
}

/* ---- what a definition means ---- */

static int check_filesystem(struct sl_source_def *d, sl_err *err)
{
    const char *format = option(d, "format"), *path = option(d, "path");

    if (!path || !*path)
        return sl_err_set(err, SL_ESQL,
                          "a source table with 'connector' = 'filesystem' needs 'path'");
    if (!format)
        return sl_err_set(err, SL_ESQL,
                          "a source table with 'connector' = 'filesystem' needs 'format': 'json', "
                          "'csv' or 'parquet'");
    if (strcmp(format, "json") != 0 && strcmp(format, "csv") != 0 && strcmp(format, "parquet") != 0)
        return sl_err_set(err, SL_EUNSUPPORTED,
                          "'format' = '%s' is not supported; 'json', 'csv' and 'parquet' are",
                          format);
    d->endless = option(d, "source.monitor-interval") != NULL;
    return SL_OK;
}

static int check_def(struct sl_source_def *d, sl_err *err)
{
    const char *connector = option(d, "connector");
    int64_t rows;

    d->datagen = connector && strcmp(connector, "datagen") == 0;
    if (d->schema.nfields == 0)
        return sl_err_set(err, SL_ESQL, "a source table needs its columns");
    if (d->schema.npartition > 0)
        return sl_err_set(err, SL_EUNSUPPORTED,
                          "PARTITIONED BY is not supported for source tables");
    for (size_t i = 0; i < d->schema.nfields; i++)
        SL_TRY(sl_type_check_readable(d->schema.fields[i].name, d->schema.fields[i].type, err));
    if (!d->datagen && (!connector || strcmp(connector, "filesystem") != 0))
        return sl_err_set(err, SL_EUNSUPPORTED,
                          "'connector' = '%s' is not supported; 'filesystem' and 'datagen' are",
                          connector ? connector : "");
    if (!d->datagen)
        return check_filesystem(d, err);
    SL_TRY(sl_datagen_rows(d, &rows, err));
    d->endless = rows < 0;
    struct sl_buf b = SL_BUF_INIT;
    int rc = sl_datagen_sql(d, 0, 1, &b, err);
    sl_buf_release(&b);
    return rc;
}

/* ---- keeping ---- */

int sl_source_create(struct sl_session *s, sl_str db, const struct sl_statement *st, sl_err *err)
{
    struct sl_source_def d = {
        .schema = {.arena = SL_ARENA_INIT, .version = 3, .highest_field_id = -1}};
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    struct sl_field *fields;
    bool has;
    int rc;

    if (!usable(st->name.table))
        return sl_err_set(err, SL_ESQL, "\"" SL_STRF "\" can not be the name of a table",
                          SL_STRV(st->name.table));
    if (st->query.last > st->query.first)
        return sl_err_set(err, SL_ESQL, "a source table is not made AS a query");
    SL_TRY(sl_catalog_has_database(sl_env_catalog(s->env), db, &has, err));
    if (!has)
        return sl_err_set(err, SL_ENOTFOUND, "there is no database \"" SL_STRF "\"", SL_STRV(db));
    fields = sl_arena_array(&d.schema.arena, st->fields.n + 1, sizeof *fields);
    if (!fields)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < st->fields.n; i++) {
        fields[i] = st->fields.v[i];
        fields[i].id = (int32_t)i;
    }
    d.schema.fields = fields;
    d.schema.nfields = st->fields.n;
    d.schema.highest_field_id = (int32_t)st->fields.n - 1;
    d.schema.options = st->table_options.v;
    d.schema.noptions = st->table_options.n;
    d.schema.npartition = st->partition_keys.n;
    d.schema.comment = st->comment;
    d.schema.time_millis = sl_now_millis();
    SL_GO(check_def(&d, err));
    SL_GO(sl_paimon_schema_encode(&d.schema, &json, err));
    path_of(db, st->name.table, &path);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(sl_catalog_store(sl_env_catalog(s->env)), sl_buf_view(&path),
                          sl_buf_view(&json), err);
done:
    sl_buf_release(&path);
    sl_buf_release(&json);
    sl_source_def_release(&d);
    return rc;
}

int sl_source_drop(struct sl_session *s, sl_str db, sl_str name, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    path_of(db, name, &path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_remove(sl_catalog_store(sl_env_catalog(s->env)), sl_buf_view(&path), err);
    sl_buf_release(&path);
    return rc;
}

int sl_source_load(struct sl_session *s, sl_str db, sl_str name, struct sl_source_def *out,
                   sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    int rc;

    *out = (struct sl_source_def){.schema = {.arena = SL_ARENA_INIT}};
    path_of(db, name, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_get(sl_catalog_store(sl_env_catalog(s->env)), sl_buf_view(&path), DEFINITION_MAX,
                       &json, err));
    rc = sl_paimon_schema_decode(sl_buf_view(&json), &out->schema, err);
    if (rc == SL_OK)
        rc = check_def(out, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "source table " SL_STRF "." SL_STRF, SL_STRV(db), SL_STRV(name));
done:
    sl_buf_release(&path);
    sl_buf_release(&json);
    if (rc != SL_OK)
        sl_source_def_release(out);
    return rc;
}

int sl_source_names(struct sl_session *s, sl_str db, struct sl_names *out, sl_err *err)
{
    struct sl_entries entries = {0};
    struct sl_buf prefix = SL_BUF_INIT;
    int rc;

    sl_buf_add(&prefix, db);
    sl_buf_ch(&prefix, '.');
    SL_GO(sl_buf_ok(&prefix, err));
    SL_GO(sl_store_list(sl_catalog_store(sl_env_catalog(s->env)), SL_LIT(".sluice/sources"), false,
                        &entries, err));
    for (size_t i = 0; i < entries.n; i++) {
        const sl_str name = sl_str_c(entries.v[i].name);

        if (sl_str_starts(name, prefix.p) && sl_str_ends(name, ".json"))
            SL_GO(sl_names_add(out, sl_str_sub(name, prefix.n, name.n - strlen(".json")), err));
    }
done:
    sl_entries_release(&entries);
    sl_buf_release(&prefix);
    return rc;
}

/* ---- scans ---- */

struct sl_source_scan {
    struct sl_source_def def;
    struct sl_engine *engine;
    struct sl_source_files *files;
    struct sl_row_source empty; /* of an endless source, while the statement is checked */
    uint64_t id;
    bool registered;
};

void sl_source_scan_free(struct sl_source_scan *s)
{
    if (!s)
        return;
    if (s->registered)
        sl_rows_unregister(s->engine, s->id);
    sl_source_files_close(s->files);
    sl_source_def_release(&s->def);
    sl_free(s);
}

const struct sl_source_def *sl_source_scan_def(const struct sl_source_scan *s)
{
    return &s->def;
}

uint64_t sl_source_scan_id(const struct sl_source_scan *s)
{
    return s->id;
}

static int open_endless(struct sl_query *q, struct sl_source_scan *s, sl_str name,
                        struct sl_buf *sql, sl_err *err)
{
    if (!q->allow_endless || q->endless) {
        sl_err_set(err, SL_EUNSUPPORTED,
                   "the source table \"" SL_STRF
                   "\" never ends, so this statement would not either",
                   SL_STRV(name));
        sl_err_hint(err, "INSERT INTO t SELECT ... reads one such source as a stream; without "
                         "'source.monitor-interval', or with "
                         "'number-of-rows', a source ends");
        return SL_EUNSUPPORTED;
    }
    s->empty = sl_empty_source(s->def.schema.fields, s->def.schema.nfields);
    SL_TRY(sl_rows_register(s->engine, &s->empty, &s->id, err));
    s->registered = true;
    q->endless = s;
    sl_buf_printf(sql, "sluice_rows(%llu)", (unsigned long long)s->id);
    return sl_buf_ok(sql, err);
}

static int open_datagen(struct sl_source_scan *s, struct sl_buf *sql, sl_err *err)
{
    int64_t rows;

    SL_TRY(sl_datagen_rows(&s->def, &rows, err));
    sl_buf_ch(sql, '(');
    SL_TRY(sl_datagen_sql(&s->def, 0, rows, sql, err));
    sl_buf_ch(sql, ')');
    return sl_buf_ok(sql, err);
}

int sl_source_scan_open(struct sl_query *q, sl_str db, sl_str name, struct sl_source_scan **out,
                        struct sl_buf *sql, sl_err *err)
{
    struct sl_source_scan *s = sl_calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    s->engine = sl_conn_engine(q->conn);
    SL_GO(sl_source_load(q->s, db, name, &s->def, err));
    if (s->def.endless)
        rc = open_endless(q, s, name, sql, err);
    else if (s->def.datagen)
        rc = open_datagen(s, sql, err);
    else
        rc = sl_source_files_open(q, &s->def, &s->files, sql, err);
done:
    if (rc != SL_OK) {
        sl_source_scan_free(s);
        return rc;
    }
    *out = s;
    return SL_OK;
}
