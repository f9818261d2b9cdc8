/* exec_ddl.c - databases and tables made, changed and dropped. */
#include <string.h>

#include "sql/insert.h"
#include "sql/source_table.h"

static struct sl_table_def def_of(const struct sl_statement *st)
{
    return (struct sl_table_def){.fields = st->fields.v,
                                 .nfields = st->fields.n,
                                 .partition_keys = st->partition_keys.v,
                                 .npartition = st->partition_keys.n,
                                 .primary_keys = st->primary_keys.v,
                                 .nprimary = st->primary_keys.n,
                                 .options = st->table_options.v,
                                 .noptions = st->table_options.n,
                                 .comment = st->comment};
}

static const char *option_of(const struct sl_statement *st, const char *key)
{
    for (size_t i = 0; i < st->table_options.n; i++)
        if (strcmp(st->table_options.v[i].key, key) == 0)
            return st->table_options.v[i].value;
    return NULL;
}

/* Keys belong to log tables. */
static int check_primary_key(const struct sl_statement *st, sl_err *err)
{
    const char *mode = option_of(st, "write-mode");

    if (st->primary_key_at == SIZE_MAX || (mode && sl_str_ieqc(sl_str_c(mode), "log")))
        return SL_OK;
    sl_err_set(err, SL_EUNSUPPORTED,
               "a PRIMARY KEY needs 'write-mode' = 'log' and an 'ordering-field'; "
               "Paimon's own primary-key tables are not supported");
    sl_err_hint(err, "leave PRIMARY KEY out for an append table, or set both options");
    return sl_sql_at(SL_EUNSUPPORTED, st->primary_key_at, err);
}

/* Tables of other engines may have such columns. Ours could not be written: DuckDB folds case and would
 * call the second one "a_1" in the files. */
static int refuse_same_names(const struct sl_statement *st, sl_err *err)
{
    for (size_t i = 0; i < st->fields.n; i++) {
        for (size_t k = i + 1; k < st->fields.n; k++) {
            if (!sl_str_ieqc(sl_str_c(st->fields.v[i].name), st->fields.v[k].name) ||
                strcmp(st->fields.v[i].name, st->fields.v[k].name) ==
                    0) /* which the catalog refuses */
                continue;
            sl_err_set(err, SL_EUNSUPPORTED,
                       "the columns \"%s\" and \"%s\" differ in case alone; such tables can be read, but "
                       "not written",
                       st->fields.v[i].name, st->fields.v[k].name);
            return sl_sql_at(SL_EUNSUPPORTED, st->name.from, err);
        }
    }
    return SL_OK;
}

/* ---- CREATE TABLE ... AS ---- */

static int fields_of_query(struct sl_exec *r, struct sl_query *q, sl_err *err)
{
    struct sl_result *columns = NULL;
    struct sl_buf shown = SL_BUF_INIT;
    int rc = sl_conn_prepare(q->conn, sl_buf_view(&q->text.buf), &columns, err);

    if (rc != SL_OK) {
        rc = sl_query_error(q, rc, err);
        goto done;
    }
    for (size_t i = 0; i < sl_result_ncols(columns); i++) {
        struct sl_field *f = sl_vec_push(&r->st->fields);

        if (!f)
            SL_GOTO_NOMEM(err);
        const sl_str name = sl_str_c(sl_result_name(columns, i));
        f->name = sl_arena_strdup(&r->st->arena, sl_same_names_show(q, name, &shown) ? sl_buf_view(&shown) : name);
        if (!f->name)
            SL_GOTO_NOMEM(err);
        rc = sl_type_from_sql(&r->st->arena, sl_str_c(sl_result_type_sql(columns, i)), &f->type,
                              err);
        if (rc != SL_OK) {
            if (err)
                err->offset = -1;
            sl_err_ctx(err, "column \"%s\"", f->name);
            goto done;
        }
    }
done:
    sl_buf_release(&shown);
    sl_result_free(columns);
    return rc;
}

static int create_as(struct sl_exec *r, sl_str db, sl_err *err)
{
    struct sl_insert_sql sql = {SL_BUF_INIT, 0};
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_commit_result result = {0};
    struct sl_commit_request req = {.kind = "APPEND", .operation = "WRITE"};
    struct sl_catalog *catalog = sl_env_catalog(r->s->env);
    struct sl_append *t = NULL;
    struct sl_table_def def;
    struct sl_conn *conn;
    struct sl_query q;
    bool created = false;
    int rc;

    SL_TRY(sl_session_conn(r->s, &conn, err));
    sl_query_init(&q, r->s, conn, r->tokens);
    SL_GO(sl_query_add_range(&q, r->st->query, err));
    SL_GO(sl_query_bind(&q, err));
    if (!r->st->has_fields)
        SL_GO(fields_of_query(r, &q, err));
    SL_GO(refuse_same_names(r->st, err));
    def = def_of(r->st);
    SL_GO(sl_sql_at(sl_catalog_create_table(catalog, db, r->st->name.table, &def,
                                            r->st->if_not_exists, &created, err),
                    r->st->name.from, err));
    if (!created)
        goto done;
    SL_GO(sl_append_open(catalog, db, r->st->name.table, NULL, &t, err));
    const struct sl_insert_target target = {t->schema, t->label};
    SL_GO(sl_insert_select(r, &target, &q, &sql, err));
    SL_GO(sl_query_announce(&q, err));
    rc = sl_append_write(t, conn, sl_buf_view(&sql.sql), NULL, &files, err);
    if (rc != SL_OK) {
        rc = sl_sql_at(sl_query_error(&q, rc, err), r->tokens->v[r->st->query.first].from, err);
        goto done;
    }
    req.adds = files.v;
    req.nadds = files.n;
    if (files.n > 0)
        SL_GO(sl_publish_new(t, &req, &files, &result, err));
    r->done.rows = (uint64_t)files.rows;
    r->done.counts_rows = true;
    r->done.snapshot = result.snapshot_id;
done:
    /* A table whose rows could not be written was never asked for alone. */
    if (rc != SL_OK && created &&
        sl_catalog_drop_table(catalog, db, r->st->name.table, true, NULL) != SL_OK)
        sl_err_hint(err, "the empty table was left behind: DROP TABLE removes it");
    sl_new_files_release(&files);
    sl_append_close(t);
    sl_buf_release(&sql.sql);
    sl_query_release(&q);
    return rc;
}

static int create_table(struct sl_exec *r, sl_err *err)
{
    const sl_str db = sl_session_db(r->s, &r->st->name);
    const struct sl_table_def def = def_of(r->st);

    if (r->st->name.path) {
        sl_err_set(err, SL_EUNSUPPORTED, "a table can not be made by its path");
        sl_err_hint(err, "name it, and choose the warehouse by -w");
        return sl_sql_at(SL_EUNSUPPORTED, r->st->name.from, err);
    }
    SL_TRY(check_primary_key(r->st, err));
    SL_TRY(refuse_same_names(r->st, err));
    const bool source = sl_source_is(r->st);
    bool has;
    SL_TRY(sl_source_exists(r->s, db, r->st->name.table, &has, err));
    if (!has && source)
        SL_TRY(sl_catalog_has_table(sl_env_catalog(r->s->env), db, r->st->name.table, &has, err));
    if (has) {
        if (r->st->if_not_exists)
            return SL_OK;
        sl_err_set(err, SL_EEXISTS, "there is a table \"" SL_STRF "\" already",
                   SL_STRV(r->st->name.table));
        return sl_sql_at(SL_EEXISTS, r->st->name.from, err);
    }
    if (source)
        return sl_sql_at(sl_source_create(r->s, db, r->st, err), r->st->name.from, err);
    if (r->st->query.last > r->st->query.first)
        return create_as(r, db, err);
    return sl_sql_at(sl_catalog_create_table(sl_env_catalog(r->s->env), db, r->st->name.table, &def,
                                             r->st->if_not_exists, NULL, err),
                     r->st->name.from, err);
}

static int drop_table(struct sl_exec *r, sl_err *err)
{
    const sl_str db = sl_session_db(r->s, &r->st->name);
    struct sl_catalog *catalog = sl_env_catalog(r->s->env);
    bool has;

    SL_TRY(sl_catalog_has_table(catalog, db, r->st->name.table, &has, err));
    if (!has) {
        SL_TRY(sl_source_exists(r->s, db, r->st->name.table, &has, err));
        if (has)
            return sl_source_drop(r->s, db, r->st->name.table, err);
        if (r->st->if_exists)
            return SL_OK;
        return sl_session_no_table(r->s, db, r->st->name.table, r->st->name.from, err);
    }
    return sl_sql_at(sl_catalog_drop_table(catalog, db, r->st->name.table, r->st->if_exists, err),
                     r->st->name.from, err);
}

static int alter_table(struct sl_exec *r, sl_err *err)
{
    const sl_str db = sl_session_db(r->s, &r->st->name);
    struct sl_catalog *catalog = sl_env_catalog(r->s->env);
    bool has;

    SL_TRY(sl_catalog_has_table(catalog, db, r->st->name.table, &has, err));
    if (!has) {
        if (r->st->if_exists)
            return SL_OK;
        return sl_session_no_table(r->s, db, r->st->name.table, r->st->name.from, err);
    }
    if (r->st->kind == SL_STMT_RENAME_TABLE) {
        sl_err_set(err, SL_EUNSUPPORTED, "renaming a table is not supported");
        sl_err_hint(err, "CREATE TABLE ... AS SELECT copies it; columns can be renamed");
        return sl_sql_at(SL_EUNSUPPORTED, r->st->new_name.from, err);
    }
    return sl_sql_at(sl_catalog_alter_table(catalog, db, r->st->name.table, r->st->changes.v,
                                            r->st->changes.n, err),
                     r->st->name.from, err);
}

int sl_exec_ddl(struct sl_exec *r, sl_err *err)
{
    struct sl_catalog *catalog = sl_env_catalog(r->s->env);
    const struct sl_statement *st = r->st;

    switch (st->kind) {
    case SL_STMT_CREATE_DATABASE:
        return sl_sql_at(sl_catalog_create_database(catalog, st->name.db, st->if_not_exists, err),
                         st->name.from, err);
    case SL_STMT_DROP_DATABASE:
        return sl_sql_at(
            sl_catalog_drop_database(catalog, st->name.db, st->if_exists, st->cascade, err),
            st->name.from, err);
    case SL_STMT_CREATE_TABLE:
        return create_table(r, err);
    case SL_STMT_DROP_TABLE:
        return drop_table(r, err);
    default:
        return alter_table(r, err);
    }
}
