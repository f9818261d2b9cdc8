/*
 * plan_sql.c - the SELECT that reads exactly the rows of a plan.
 *
 * Slices without logs are one scan of their base files. For the others the newest records of their logs are joined with the rows of their base
 * files, by slice and key: of each key one of the two is taken, or none. The database reads the base files once and keeps the log's side in
 * memory, or on disk where that is too small.
 */
#include <string.h>

#include "base/sys.h"
#include "engine/parquet.h"
#include "table/log/plan_priv.h"

enum {
    INLINE_FILES_MAX = 64,      /* longer lists go into a variable of the connection */
    VARIABLES = 256,            /* names of variables are used again after so many */
};

/* ---- files ---- */

static int add_list(struct sl_conn *conn, const sl_str *paths, size_t n, struct sl_buf *out, sl_err *err)
{
    static atomic_uint counter;
    char variable[40];

    if (n > INLINE_FILES_MAX) {
        snprintf(variable, sizeof variable, "sluice_logs_%u", atomic_fetch_add(&counter, 1) % VARIABLES);
        SL_TRY(sl_conn_set_list(conn, variable, paths, n, err));
        sl_buf_printf(out, "getvariable('%s')", variable);
        return SL_OK;
    }
    sl_buf_ch(out, '[');
    for (size_t i = 0; i < n; i++) {
        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_string(out, paths[i]);
    }
    sl_buf_ch(out, ']');
    return SL_OK;
}

/* One column of the files: its name in them, as what it is known inside, its type. */
static void add_entry(struct sl_buf *out, const char *name, const char *prefix, size_t i, const struct sl_type *type)
{
    struct sl_buf text = SL_BUF_INIT;

    sl_buf_addc(out, ", ");
    sl_buf_sql_string(out, sl_str_c(name));
    sl_buf_printf(out, ": {name: '%s%zu', type: ", prefix, i);
    if (type)
        sl_type_engine_sql(&text, type);
    else
        sl_buf_addc(&text, "VARCHAR");
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_addc(out, ", default_value: NULL}");
    out->failed = out->failed || text.failed;
    sl_buf_release(&text);
}

/* Which columns to look for; a file that lacks one gives NULL, a renamed one is looked for under its old names too. */
static void add_schema(struct sl_buf *out, const struct sl_log_plan *p)
{
    const struct sl_hudi_schema *s = &p->schema->hudi;

    sl_buf_addc(out, ", schema = MAP {'__sluice_none': {name: 'n', type: 'VARCHAR', default_value: NULL}");
    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        add_entry(out, sl_hudi_meta_fields[i], "m", i, NULL);
    for (size_t i = 0; i < s->nfields; i++)
        add_entry(out, s->fields[i].name, "c", i, s->fields[i].type);
    for (size_t i = 0; i < s->naliases; i++) {
        const ptrdiff_t of = sl_schema_index(&p->schema->columns, sl_str_c(s->aliases[i].name));

        if (of >= 0 && sl_schema_index(&p->schema->columns, sl_str_c(s->aliases[i].old)) < 0)
            add_entry(out, s->aliases[i].old, "a", i, s->fields[of].type);
    }
    sl_buf_ch(out, '}');
}

static void add_column(struct sl_buf *out, const struct sl_log_plan *p, size_t i)
{
    const struct sl_hudi_schema *s = &p->schema->hudi;
    bool renamed = false;

    for (size_t k = 0; k < s->naliases; k++) {
        if (strcmp(s->aliases[k].name, s->fields[i].name) != 0 ||
            sl_schema_index(&p->schema->columns, sl_str_c(s->aliases[k].old)) >= 0)
            continue;
        if (!renamed)
            sl_buf_printf(out, "coalesce(c%zu", i);
        renamed = true;
        sl_buf_printf(out, ", a%zu", k);
    }
    if (renamed)
        sl_buf_ch(out, ')');
    else
        sl_buf_printf(out, "c%zu", i);
    sl_buf_addc(out, " AS ");
    sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
}

/* The column of base files that holds the record key. Where the key is one column of texts as it is, that column does: it is wanted more often than the
 * meta column, which then is not read. Its position; -1: the meta column. */
static ptrdiff_t key_column(const struct sl_log_plan *p)
{
    const struct sl_hudi_config *c = &p->table->config;
    const ptrdiff_t i = c->nkeys == 1 ? sl_schema_index(&p->schema->columns, c->key_fields[0]) : -1;

    if (i >= 0 && p->schema->columns.fields[i].type->kind == SL_VARCHAR && p->schema->hudi.naliases == 0 &&
        (c->keygen == SL_HUDI_KEYGEN_SIMPLE || c->keygen == SL_HUDI_KEYGEN_NONPARTITIONED))
        return i;
    return -1;
}

/* Rows of other keys are not wanted, and whole row groups of them are passed over. */
static void add_keys(struct sl_buf *out, const struct sl_log_plan *p)
{
    const ptrdiff_t i = key_column(p);

    if (i >= 0)
        sl_buf_printf(out, " WHERE c%td IN (", i);
    else
        sl_buf_printf(out, " WHERE m%d IN (", SL_HUDI_META_KEY);
    for (size_t k = 0; k < p->nkeys; k++) {
        sl_buf_addc(out, k ? ", " : "");
        sl_buf_sql_string(out, p->keys[k]);
    }
    sl_buf_ch(out, ')');
}

int sl_plan__files_sql(const struct sl_log_plan *p, struct sl_conn *conn, const sl_str *paths, size_t n, struct sl_buf *out, sl_err *err)
{
    sl_buf_addc(out, "SELECT CAST(file_index AS BIGINT) AS __sl_file, file_row_number AS __sl_row, filename AS __sl_name");
    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        sl_buf_printf(out, ", m%zu AS %s", i, sl_hudi_meta_fields[i]);
    for (size_t i = 0; i < p->schema->hudi.nfields; i++) {
        sl_buf_addc(out, ", ");
        add_column(out, p, i);
    }
    sl_buf_addc(out, " FROM read_parquet(");
    SL_TRY(add_list(conn, paths, n, out, err));
    sl_buf_addc(out, ", hive_partitioning = false");
    add_schema(out, p);
    sl_buf_ch(out, ')');
    if (p->nkeys)
        add_keys(out, p);
    return sl_buf_ok(out, err);
}

/* The base files of slices; WITH_LOGS: of those with logs, in the order of the plan's list. */
static int base_files(struct sl_log_plan *p, struct sl_conn *conn, bool with_logs, struct sl_buf *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, pattern = SL_BUF_INIT;
    const size_t most = with_logs ? p->io->nbased : p->nslices;
    sl_str *paths = sl_arena_array(&p->io->arena, most + 1, sizeof *paths);
    size_t n = 0;
    int rc = SL_OK;

    if (!paths)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < most; i++) {
        const struct sl_slice *s = with_logs ? p->io->slices[i].slice : p->slices[i];

        if (!s->base || (!with_logs && s->nlogs))
            continue;
        sl_buf_reset(&path);
        sl_buf_reset(&pattern);
        sl_buf_printf(&path, "%s/%s", p->table->path, s->base->path);
        sl_parquet_pattern(&pattern, sl_buf_view(&path));
        SL_GO(sl_buf_ok(&pattern, err));
        paths[n] = sl_arena_str(&p->io->arena, sl_buf_view(&pattern));
        if (!paths[n++].p)
            SL_GOTO_NOMEM(err);
    }
    rc = sl_plan__files_sql(p, conn, paths, n, out, err);
done:
    sl_buf_release(&path);
    sl_buf_release(&pattern);
    return rc;
}

/* ---- logs ---- */

static void add_names(struct sl_buf *out, const struct sl_log_plan *p, const char *table)
{
    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        sl_buf_printf(out, ", %s%s", table, sl_hudi_meta_fields[i]);
    for (size_t i = 0; i < p->schema->hudi.nfields; i++) {
        sl_buf_printf(out, ", %s", table);
        sl_buf_sql_ident(out, sl_str_c(p->schema->hudi.fields[i].name));
    }
}

static bool has_rows_of_ours(const struct sl_log_plan *p)
{
    for (size_t i = 0; i < p->io->nslices; i++)
        for (size_t k = 0; k < p->io->slices[i].blocks.n; k++)
            if (p->io->slices[i].blocks.v[k].type != SL_HUDI_BLOCK_PARQUET)
                return true;
    return p->io->embedded.n == 0;
}

static int embedded_rows(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    struct sl_log_plan_io *io = p->io;
    sl_str *paths = sl_arena_array(&io->arena, io->embedded.n, sizeof *paths);

    if (!paths)
        return sl_err_nomem(err);
    sl_buf_addc(out, "SELECT [");
    for (size_t i = 0; i < io->embedded.n; i++) {
        paths[i] = sl_str_c(io->embedded.v[i].path);
        sl_buf_printf(out, "%s%zu::BIGINT", i ? "," : "", io->embedded.v[i].slice);
    }
    sl_buf_printf(out, "][__sl_file + 1] AS __sl_slice, NOT sluice_deleted(%llu, __sl_name, __sl_row) AS __sl_always, false AS __sl_deleted, ",
                  (unsigned long long)io->always_id);
    if (sl_plan__event_time(p)) {
        sl_buf_addc(out, "CAST(NULL AS ");
        sl_type_engine_sql(out, p->schema->columns.fields[sl_plan__ordering(p)].type);
        sl_buf_addc(out, ") AS __sl_ordering");
    } else {
        sl_buf_addc(out, "NULL AS __sl_ordering");
    }
    add_names(out, p, "");
    sl_buf_addc(out, " FROM (");
    SL_TRY(sl_plan__files_sql(p, conn, paths, io->embedded.n, out, err));
    sl_buf_printf(out, ") WHERE NOT sluice_deleted(%llu, __sl_name, __sl_row)", (unsigned long long)io->newest_id);
    return sl_buf_ok(out, err);
}

/* The newest record of each key of the logs. */
static int log_rows(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    if (has_rows_of_ours(p)) {
        sl_buf_addc(out, "SELECT __sl_slice, __sl_always, __sl_deleted, __sl_ordering");
        add_names(out, p, "");
        sl_buf_printf(out, " FROM sluice_rows(%llu)", (unsigned long long)p->io->source_id);
        if (p->io->embedded.n)
            sl_buf_addc(out, " UNION ALL ");
    }
    return p->io->embedded.n ? embedded_rows(p, conn, out, err) : sl_buf_ok(out, err);
}

/* ---- merging ---- */

static void add_ident(struct sl_buf *out, const char *table, const char *name)
{
    sl_buf_addc(out, table);
    sl_buf_sql_ident(out, sl_str_c(name));
}

/* Does a row of the log say by a column that it is a delete? */
static void deleted_by_column(struct sl_buf *out, const struct sl_log_plan *p)
{
    const struct sl_hudi_config *c = &p->table->config;
    const struct sl_field *f = sl_schema_field(&p->schema->columns, SL_LIT("_hoodie_is_deleted"));

    if (f && f->type->kind == SL_BOOLEAN)
        sl_buf_addc(out, " OR coalesce(__sl_l._hoodie_is_deleted, false)");
    f = c->delete_field.n && c->delete_marker.n ? sl_schema_field(&p->schema->columns, c->delete_field) : NULL;
    if (f) {
        sl_buf_addc(out, " OR coalesce(CAST(");
        add_ident(out, "__sl_l.", f->name);
        sl_buf_addc(out, " AS VARCHAR) = ");
        sl_buf_sql_string(out, c->delete_marker);
        sl_buf_addc(out, ", false)");
    }
}

/* Is the log's row the one that counts? CASE, so that it is worked out only for rows that have one in the logs. */
static void add_choice(struct sl_buf *out, const struct sl_log_plan *p)
{
    const ptrdiff_t ordering = sl_plan__ordering(p);

    sl_buf_addc(out, "CASE WHEN __sl_l.__sl_slice IS NULL THEN false ELSE (__sl_b.__sl_file IS NULL OR __sl_l.__sl_always");
    if (sl_plan__event_time(p)) {
        const char *name = p->schema->columns.fields[ordering].name;

        sl_buf_addc(out, " OR ");
        add_ident(out, "__sl_b.", name);
        sl_buf_addc(out, " IS NULL OR coalesce(coalesce(__sl_l.__sl_ordering, ");
        add_ident(out, "__sl_l.", name);
        sl_buf_addc(out, ") >= ");
        add_ident(out, "__sl_b.", name);
        sl_buf_addc(out, ", false)");
    }
    sl_buf_addc(out, ") END");
}

static int merged_rows(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < p->columns.nfields; i++) {
        const char *name = p->columns.fields[i].name;

        sl_buf_addc(out, i ? ", CASE WHEN __sl_choice THEN " : "CASE WHEN __sl_choice THEN ");
        sl_buf_printf(out, "l%zu ELSE b%zu END AS ", i, i);
        sl_buf_sql_ident(out, sl_str_c(name));
    }
    sl_buf_addc(out, " FROM (SELECT ");
    for (size_t i = 0; i < p->columns.nfields; i++) {
        add_ident(out, "__sl_l.", p->columns.fields[i].name);
        sl_buf_printf(out, " AS l%zu, ", i);
        add_ident(out, "__sl_b.", p->columns.fields[i].name);
        sl_buf_printf(out, " AS b%zu, ", i);
    }
    add_choice(out, p);
    sl_buf_addc(out, " AS __sl_choice, CASE WHEN __sl_l.__sl_slice IS NULL THEN false ELSE (__sl_l.__sl_deleted");
    deleted_by_column(out, p);
    sl_buf_addc(out, ") END AS __sl_gone FROM (");
    SL_TRY(base_files(p, conn, true, out, err));
    sl_buf_addc(out, ") AS __sl_b FULL JOIN (");
    SL_TRY(log_rows(p, conn, out, err));
    sl_buf_addc(out, ") AS __sl_l ON __sl_b.__sl_file = __sl_l.__sl_slice AND ");
    add_ident(out, "__sl_b.", key_column(p) < 0 ? sl_hudi_meta_fields[SL_HUDI_META_KEY] : p->schema->columns.fields[key_column(p)].name);
    sl_buf_printf(out, " = __sl_l.%s) WHERE NOT (__sl_gone AND __sl_choice)", sl_hudi_meta_fields[SL_HUDI_META_KEY]);
    return sl_buf_ok(out, err);
}

static void add_plain_columns(struct sl_buf *out, const struct sl_log_plan *p, const char *table)
{
    for (size_t i = 0; i < p->columns.nfields; i++) {
        sl_buf_addc(out, i ? ", " : "");
        add_ident(out, table, p->columns.fields[i].name);
    }
}

/* Slices without a base file alone. */
static int only_logs(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    sl_buf_addc(out, "SELECT ");
    add_plain_columns(out, p, "__sl_l.");
    sl_buf_addc(out, " FROM (");
    SL_TRY(log_rows(p, conn, out, err));
    sl_buf_addc(out, ") AS __sl_l WHERE NOT (__sl_l.__sl_deleted");
    deleted_by_column(out, p);
    sl_buf_ch(out, ')');
    return sl_buf_ok(out, err);
}

/* ---- the whole ---- */

static int no_rows(const struct sl_log_plan *p, struct sl_buf *out, sl_err *err)
{
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < p->columns.nfields; i++) {
        sl_buf_addc(out, i ? ", CAST(NULL AS " : "CAST(NULL AS ");
        sl_type_engine_sql(out, p->columns.fields[i].type);
        sl_buf_addc(out, ") AS ");
        sl_buf_sql_ident(out, sl_str_c(p->columns.fields[i].name));
    }
    sl_buf_addc(out, " WHERE false");
    return sl_buf_ok(out, err);
}

static int all_rows(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    size_t plain = 0;

    for (size_t i = 0; i < p->nslices; i++)
        plain += p->slices[i]->nlogs == 0;
    if (plain) {
        sl_buf_addc(out, "SELECT ");
        add_plain_columns(out, p, "");
        sl_buf_addc(out, " FROM (");
        SL_TRY(base_files(p, conn, false, out, err));
        sl_buf_ch(out, ')');
    }
    if (plain && p->io->nslices)
        sl_buf_addc(out, " UNION ALL ");
    if (p->io->nslices)
        SL_TRY(p->io->nbased ? merged_rows(p, conn, out, err) : only_logs(p, conn, out, err));
    return plain || p->io->nslices ? sl_buf_ok(out, err) : no_rows(p, out, err);
}

/* What rows the instants of an incremental query wrote. */
static int add_times(struct sl_log_plan *p, struct sl_buf *out, sl_err *err)
{
    const struct sl_timeline *tl = p->view->timeline;
    char text[18];

    if (p->table->config.layout == 1) {
        sl_hudi_instant_text(p->sel.begin, text);
        sl_buf_printf(out, "rpad(_hoodie_commit_time, 17, '9') > '%s'", text);
        if (p->sel.end) {
            sl_hudi_instant_text(p->sel.end, text);
            sl_buf_printf(out, " AND rpad(_hoodie_commit_time, 17, '9') <= '%s'", text);
        }
        return sl_buf_ok(out, err);
    }
    sl_buf_addc(out, "rpad(_hoodie_commit_time, 17, '9') IN (''");
    for (size_t i = 0; i < tl->n; i++) {
        const struct sl_instant *at = &tl->v[i];

        if (at->state != SL_HUDI_COMPLETED || !sl_instant_writes(at) || at->completion <= p->sel.begin ||
            (p->sel.end && at->completion > p->sel.end))
            continue;
        sl_hudi_instant_text(at->time, text);
        sl_buf_printf(out, ", '%s'", text);
    }
    sl_buf_ch(out, ')');
    return sl_buf_ok(out, err);
}

/* The plan's rows with the meta columns, of which those in time are kept. */
static int incremental(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    const struct sl_schema plain = p->columns;
    struct sl_schema all = plain;
    struct sl_field *fields = sl_arena_array(&p->io->arena, plain.nfields + 1, sizeof *fields);

    if (!fields)
        return sl_err_nomem(err);
    if (plain.nfields)
        memcpy(fields, plain.fields, plain.nfields * sizeof *fields);
    fields[plain.nfields] = p->io->fields[SL_SCAN_META + SL_HUDI_META_COMMIT_TIME];
    all.fields = fields;
    all.nfields = plain.nfields + !p->meta;
    sl_buf_addc(out, "SELECT ");
    add_plain_columns(out, p, "");
    sl_buf_addc(out, " FROM (");
    p->columns = all;
    int rc = all_rows(p, conn, out, err);
    p->columns = plain;
    SL_TRY(rc);
    sl_buf_addc(out, ") WHERE ");
    return add_times(p, out, err);
}

int sl_log_plan_sql(struct sl_log_plan *p, struct sl_conn *conn, struct sl_buf *out, sl_err *err)
{
    if (p->columns.nfields == 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "table %s has no columns: it has no commit, and hoodie.table.create.schema is not set",
                          p->table->label);
    SL_TRY(sl_plan__prepare(p, conn, err));
    return p->sel.query == SL_LOG_INCREMENTAL ? incremental(p, conn, out, err) : all_rows(p, conn, out, err);
}
