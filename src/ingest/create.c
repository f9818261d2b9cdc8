/* create.c - makes the table of a load from a sample of its input. */
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "ingest/infer.h"
#include "ingest/run_priv.h"
#include "table/catalog.h"

enum { SAMPLE_BYTES = 4 << 20 };

/* The columns of the first Parquet file, as the engine reads them. */
static int parquet_fields(struct sl_run *r, const struct sl_field **fields, size_t *n, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    struct sl_result *found = NULL;
    struct sl_field *v;
    int rc = SL_OK;

    if (r->source->queue.n == 0)
        return sl_err_set(err, SL_EINPUT, "there is no file to make the table from");
    sl_buf_addc(&sql, "SELECT * FROM read_parquet(");
    sl_buf_sql_string(&sql, sl_str_c(r->source->queue.v[0]));
    sl_buf_addc(&sql, ", hive_partitioning = false)");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_env_engine(r->env, &engine, err));
    SL_GO(sl_conn_open(engine, &conn, err));
    SL_GO(sl_conn_prepare(conn, sl_buf_view(&sql), &found, err));
    *n = sl_result_ncols(found);
    v = sl_arena_array(&r->arena, *n + 1, sizeof *v);
    if (!v)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < *n; i++) {
        v[i].name = sl_arena_strdup(&r->arena, sl_str_c(sl_result_name(found, i)));
        if (!v[i].name)
            SL_GOTO_NOMEM(err);
        rc = sl_type_from_sql(&r->arena, sl_str_c(sl_result_type_sql(found, i)), &v[i].type, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "column \"%s\"", v[i].name);
            goto done;
        }
    }
    *fields = v;
done:
    sl_result_free(found);
    sl_conn_close(conn);
    sl_buf_release(&sql);
    return rc;
}

static int sample_fields(struct sl_run *r, const struct sl_field **fields, size_t *n, sl_err *err)
{
    sl_str skip = r->o.op_field.p ? r->o.op_field : SL_LIT("_row_kind"), sample, whole;

    if (r->format == SL_INGEST_PARQUET)
        return parquet_fields(r, fields, n, err);
    SL_TRY(sl_feed_peek(r->feed, SAMPLE_BYTES, &sample, err));
    /* A line that was cut is left out, unless there is no other. */
    const char *last = sample.n ? memrchr(sample.p, '\n', sample.n) : NULL;
    whole = last ? (sl_str){sample.p, (size_t)(last + 1 - sample.p)} : sample;
    if (r->format == SL_INGEST_CSV)
        return sl_infer_csv(&r->arena, whole, r->o.delimiter, !r->o.no_header, r->o.null_text, skip, fields, n, err);
    return sl_infer_ndjson(&r->arena, whole, skip, fields, n, err);
}

static void quote_name(struct sl_buf *out, const char *name)
{
    sl_buf_ch(out, '`');
    for (; *name; name++) {
        if (*name == '`')
            sl_buf_ch(out, '`');
        sl_buf_ch(out, *name);
    }
    sl_buf_ch(out, '`');
}

static char *create_text(const char *db, const char *table, const struct sl_table_def *def)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_buf_addc(&b, "CREATE TABLE ");
    if (strcmp(db, SL_DEFAULT_DATABASE) != 0) {
        quote_name(&b, db);
        sl_buf_ch(&b, '.');
    }
    quote_name(&b, table);
    sl_buf_addc(&b, " (");
    for (size_t i = 0; i < def->nfields; i++) {
        sl_buf_addc(&b, i ? ", " : "");
        quote_name(&b, def->fields[i].name);
        sl_buf_ch(&b, ' ');
        sl_type_sql(&b, def->fields[i].type);
    }
    sl_buf_addc(&b, ")");
    for (size_t i = 0; i < def->npartition; i++) {
        sl_buf_addc(&b, i ? ", " : " PARTITIONED BY (");
        quote_name(&b, def->partition_keys[i]);
    }
    sl_buf_addc(&b, def->npartition ? ") " : " ");
    sl_buf_addc(&b, "WITH ('write-mode' = 'table');");
    return sl_buf_take(&b);
}

/* "t" or "db.t", each part perhaps in quotes. */
static int split_name(struct sl_run *r, const char **db, const char **table, sl_err *err)
{
    char *name = sl_arena_strdup(&r->arena, r->o.table), *dot;

    if (!name)
        return sl_err_nomem(err);
    if (strchr(name, '/') || strchr(name, '$'))
        return sl_err_set(err, SL_EUNSUPPORTED, "--create makes tables of the warehouse, not \"%s\"", name);
    if (strpbrk(name, "`\""))
        return sl_err_set(err, SL_EUNSUPPORTED, "--create takes names without quotes, not \"%s\"", name);
    dot = strchr(name, '.');
    *db = dot ? name : SL_DEFAULT_DATABASE;
    *table = dot ? dot + 1 : name;
    if (dot)
        *dot = '\0';
    return SL_OK;
}

int sl_run_create(struct sl_run *r, sl_err *err)
{
    static const struct sl_option write_mode = {"write-mode", "table"};
    struct sl_catalog *catalog = sl_env_catalog(r->env);
    struct sl_table_def def = {.options = &write_mode, .noptions = 1};
    const char *db = NULL, *table = NULL, **keys;

    SL_TRY(split_name(r, &db, &table, err));
    SL_TRY(sample_fields(r, &def.fields, &def.nfields, err));
    if (def.nfields == 0) {
        sl_err_set(err, SL_EINPUT, "the input has no row to make the table from");
        sl_err_hint(err, "make it by CREATE TABLE in sluice sql");
        return SL_EINPUT;
    }
    keys = sl_arena_array(&r->arena, r->o.npartition_by + 1, sizeof *keys);
    if (!keys)
        return sl_err_nomem(err);
    for (size_t i = 0; i < r->o.npartition_by; i++)
        if (!(keys[i] = sl_arena_strdup(&r->arena, r->o.partition_by[i])))
            return sl_err_nomem(err);
    def.partition_keys = keys;
    def.npartition = r->o.npartition_by;
    r->report->create_sql = create_text(db, table, &def);
    if (!r->report->create_sql)
        return sl_err_nomem(err);
    if (r->o.dry_run) {
        r->fields = def.fields;
        r->nfields = def.nfields;
        return SL_OK;
    }
    SL_TRY(sl_catalog_create_database(catalog, sl_str_c(db), true, err));
    SL_TRY(sl_catalog_create_table(catalog, sl_str_c(db), sl_str_c(table), &def, true, NULL, err));
    return sl_env_table(r->env, r->o.table, &r->table, err);
}
