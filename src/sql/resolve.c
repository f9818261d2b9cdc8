#include "sql/resolve.h"

#include <string.h>

#include "sql/parse.h"
#include "sql/source_table.h"
#include "table/append/system.h"

static int no_rows(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    (void)self;
    (void)local;
    (void)err;
    out->rows = 0;
    return SL_OK;
}

struct sl_row_source sl_empty_source(const struct sl_field *fields, size_t n)
{
    return (struct sl_row_source){.fields = fields, .nfields = n, .rows_hint = -1, .fill = no_rows};
}

/* ---- time travel ---- */

struct append_travel {
    struct sl_selector *sel;
    const char **branch;
};

static int hint_option(struct sl_query *q, const struct sl_pair *o, void *user, sl_err *err)
{
    const sl_str key = o->key.text, value = o->value.text;
    const struct append_travel *travel = user;
    struct sl_selector *sel = travel->sel;
    int64_t number;

    if (sl_str_eqc(key, "scan.tag-name")) {
        *sel = (struct sl_selector){.kind = SL_SELECT_TAG, .text = value};
    } else if (sl_str_eqc(key, "scan.version")) {
        *sel = (struct sl_selector){.kind = SL_SELECT_VERSION, .text = value};
    } else if (sl_str_eqc(key, "scan.snapshot-id") && sl_parse_i64(value, &number)) {
        *sel = (struct sl_selector){.kind = SL_SELECT_ID, .id = number};
    } else if (sl_str_eqc(key, "scan.timestamp-millis") && sl_parse_i64(value, &number)) {
        *sel = (struct sl_selector){.kind = SL_SELECT_TIME, .millis = number};
    } else if (sl_str_eqc(key, "scan.timestamp")) {
        SL_TRY(sl_resolve_time_text(q, o->value.from, value, &number, err));
        *sel = (struct sl_selector){.kind = SL_SELECT_TIME, .millis = number};
    } else if (sl_str_eqc(key, "branch")) {
        *travel->branch = value.p;
    } else if (sl_str_starts(key, "scan.") && !sl_str_eqc(key, "scan.mode")) {
        sl_err_set(err, SL_EUNSUPPORTED, "the option '%s' = '%s' of the hint is not supported",
                   key.p, value.p);
        sl_err_hint(err, "scan.snapshot-id, scan.tag-name, scan.timestamp, scan.timestamp-millis, "
                         "scan.version and branch are");
        return sl_sql_at(SL_EUNSUPPORTED, o->key.from, err);
    } else if (sl_str_starts(key, "incremental-") || sl_str_starts(key, "consumer-")) {
        sl_err_set(err, SL_EUNSUPPORTED, "the option '%s' of the hint is not supported", key.p);
        return sl_sql_at(SL_EUNSUPPORTED, o->key.from, err);
    }
    return SL_OK;
}

int sl_resolve_hint(struct sl_query *q, const struct sl_travel *travel,
                    int (*option)(struct sl_query *q, const struct sl_pair *o, void *user,
                                  sl_err *err),
                    void *user, sl_err *err)
{
    const struct sl_token *t = &q->tokens->v[travel->first];
    struct sl_tokens inner = {0};
    struct sl_statement st = {.arena = SL_ARENA_INIT};
    struct sl_parser p = {&inner, 0, &st, err};
    int rc;

    SL_GO(sl_lex(sl_str_sub(q->tokens->text, 0, t->to - 2), t->from + 3, &inner, err));
    SL_GO(sl_p_need(&p, "OPTIONS"));
    SL_GO(sl_p_pairs(&p, "an option", &st.pairs));
    for (size_t i = 0; i < st.pairs.n; i++) {
        struct sl_pair *o = &st.pairs.v[i];

        o->key.text = sl_arena_str(&q->arena, o->key.text);
        o->value.text = sl_arena_str(&q->arena, o->value.text);
        if (!o->key.text.p || !o->value.text.p) {
            rc = sl_err_nomem(err);
            goto done;
        }
        SL_GO(option(q, o, user, err));
    }
done:
    sl_statement_release(&st);
    sl_tokens_release(&inner);
    return rc;
}

static bool is_number(const struct sl_query *q, const struct sl_travel *t)
{
    return t->expr.last == t->expr.first + 1 && q->tokens->v[t->expr.first].kind == SL_TOKEN_NUMBER;
}

int sl_resolve_time_text(struct sl_query *q, size_t at, sl_str text, int64_t *millis, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;

    sl_buf_addc(&b, "SELECT epoch_ms(CAST(");
    sl_buf_sql_string(&b, text);
    sl_buf_addc(&b, " AS TIMESTAMPTZ))");
    int rc = sl_buf_ok(&b, err);
    if (rc == SL_OK)
        rc = sl_conn_query_i64(q->conn, sl_buf_view(&b), millis, err);
    sl_buf_release(&b);
    return rc == SL_OK ? rc : sl_sql_at(rc, at, err);
}

int sl_resolve_time(struct sl_query *q, const struct sl_travel *travel, int64_t *millis, sl_err *err)
{
    const char *before =
        is_number(q, travel) ? "SELECT CAST(1000 * (" : "SELECT CAST(epoch_ms(CAST((";
    const char *after = is_number(q, travel) ? ") AS VARCHAR)" : ") AS TIMESTAMPTZ)) AS VARCHAR)";
    char *text = NULL;
    int rc = SL_OK;

    SL_TRY(sl_query_value(q->s, q->conn, q->tokens, travel->expr, before, after, &text, err));
    if (!text || !sl_parse_i64(sl_str_c(text), millis)) {
        sl_err_set(err, SL_ESQL, "the time of the snapshot is NULL or out of range");
        rc = sl_sql_at(SL_ESQL, travel->from, err);
    }
    sl_free(text);
    return rc;
}

int sl_resolve_version(struct sl_query *q, const struct sl_travel *travel, sl_str *version,
                       bool *number, sl_err *err)
{
    char *text = NULL;

    SL_TRY(sl_query_value(q->s, q->conn, q->tokens, travel->expr, "SELECT CAST((", ") AS VARCHAR)",
                          &text, err));
    *number = is_number(q, travel);
    *version = sl_arena_str(&q->arena, sl_str_c(text));
    const bool null = !text;
    sl_free(text);
    if (!version->p)
        return sl_err_nomem(err);
    if (null) {
        sl_err_set(err, SL_ESQL, "the version of the snapshot is NULL");
        return sl_sql_at(SL_ESQL, travel->from, err);
    }
    return SL_OK;
}

static int travel_to(struct sl_query *q, const struct sl_travel *travel, struct sl_selector *sel,
                     const char **branch, sl_err *err)
{
    struct append_travel to = {sel, branch};
    sl_str version;
    bool number;

    if (travel->hint)
        return sl_resolve_hint(q, travel, hint_option, &to, err);
    if (travel->timestamp) {
        *sel = (struct sl_selector){.kind = SL_SELECT_TIME};
        return sl_resolve_time(q, travel, &sel->millis, err);
    }
    SL_TRY(sl_resolve_version(q, travel, &version, &number, err));
    *sel = (struct sl_selector){.kind = SL_SELECT_VERSION, .text = version};
    if (number && sl_parse_i64(version, &sel->id))
        sel->kind = SL_SELECT_ID;
    return SL_OK;
}

/* ---- tables ---- */

/* "t$snapshots", "t$branch_b", "t$branch_b$files" taken apart. */
struct parts {
    sl_str table, system;
    const char *branch;
};

static int take_apart(struct sl_query *q, sl_str name, struct parts *out, sl_err *err)
{
    sl_str rest = name;
    const char *dollar;

    *out = (struct parts){.table = name};
    dollar = memchr(name.p, '$', name.n);
    if (!dollar)
        return SL_OK;
    out->table = sl_str_sub(name, 0, (size_t)(dollar - name.p));
    rest = sl_str_sub(name, out->table.n + 1, name.n);
    if (sl_str_starts(rest, "branch_")) {
        sl_str branch = sl_str_sub(rest, 7, rest.n);

        dollar = memchr(branch.p, '$', branch.n);
        rest = dollar ? sl_str_sub(branch, (size_t)(dollar - branch.p) + 1, branch.n)
                      : (sl_str){NULL, 0};
        branch = dollar ? sl_str_sub(branch, 0, (size_t)(dollar - branch.p)) : branch;
        out->branch = sl_arena_strdup(&q->arena, branch);
        if (!out->branch)
            return sl_err_nomem(err);
    }
    out->system = rest;
    return SL_OK;
}

static int schema_of(struct sl_query_table *t, sl_err *err)
{
    struct sl_snapshot snapshot = {.arena = SL_ARENA_INIT};
    int rc;

    t->schema = t->t->schema;
    if (!t->travels)
        return SL_OK;
    SL_GO(sl_snapshot_select(t->t, &t->sel, &snapshot, err));
    SL_GO(sl_append_schema(t->t, snapshot.schema_id, &t->schema, err));
    /* A tag or a time may mean another snapshot a moment later: one statement reads one. */
    if (t->sel.kind == SL_SELECT_TIME)
        t->sel = (struct sl_selector){.kind = SL_SELECT_ID, .id = snapshot.id};
done:
    sl_snapshot_release(&snapshot);
    return rc;
}

int sl_resolve_scan(struct sl_query *q, const struct sl_tree_table *name, sl_str alias, size_t from,
                    size_t to, struct sl_query_scan **out, sl_err *err)
{
    struct sl_query_scan *scan = sl_vec_push(&q->scans);

    if (!scan)
        return sl_err_nomem(err);
    scan->from = from;
    scan->to = to;
    if (name->alias.n == 0)
        scan->alias = alias;
    scan->called = name->alias.n ? name->alias : alias;
    *out = scan;
    return SL_OK;
}

struct sl_query_table *sl_resolve_known(struct sl_query *q, const char *key)
{
    for (size_t i = 0; i < q->tables.n; i++)
        if (strcmp(q->tables.v[i]->key, key) == 0)
            return q->tables.v[i];
    return NULL;
}

/* Takes T over, in every case. */
static int new_table(struct sl_query *q, struct sl_append *t, const char *key,
                     const struct sl_selector *sel, bool travels, struct sl_query_table **out,
                     sl_err *err)
{
    struct sl_query_table *table = sl_calloc(1, sizeof *table);
    struct sl_query_table **slot = table ? sl_vec_push(&q->tables) : NULL;

    if (!slot) {
        sl_free(table);
        sl_append_close(t);
        return sl_err_nomem(err);
    }
    *slot = *out = table;
    table->t = t;
    table->sel = *sel;
    table->travels = travels;
    table->key = sl_strdup(key);
    if (!table->key)
        return sl_err_nomem(err);
    SL_TRY(sl_append_check(t, SL_READ, err));
    SL_TRY(schema_of(table, err));
    table->fields = table->schema->fields;
    table->empty = sl_empty_source(table->schema->fields, table->schema->nfields);
    return SL_OK;
}

static int system_table(struct sl_query *q, struct sl_append *t, sl_str which,
                        const struct sl_selector *sel, bool travels, struct sl_query_scan *scan,
                        sl_err *err)
{
    SL_TRY(sl_system_rows_open(t, which, travels ? sel : NULL, &scan->system, err));
    const struct sl_row_source source = sl_system_rows_source(scan->system);
    SL_TRY(sl_rows_register(sl_conn_engine(q->conn), &source, &scan->rows_id, err));
    scan->registered = true;
    const char *sql =
        sl_arena_printf(&q->arena, "sluice_rows(%llu)", (unsigned long long)scan->rows_id);
    if (!sql)
        return sl_err_nomem(err);
    scan->sql = sl_str_c(sql);
    return SL_OK;
}

/* T is taken over. ALIAS is what the name is called in the query. */
static int use_table(struct sl_query *q, struct sl_append *t, const struct parts *parts,
                     const struct sl_tree_table *name, sl_str alias, size_t from, size_t to,
                     const struct sl_travel *travel, sl_err *err)
{
    struct sl_selector sel = {.kind = SL_SELECT_LATEST};
    const char *branch = NULL, *key;
    struct sl_query_scan *scan;
    int rc = SL_OK;

    if (travel)
        SL_GO(travel_to(q, travel, &sel, &branch, err));
    if (branch && !parts->branch) {
        struct sl_append *other = NULL;

        SL_GO(sl_append_open_path(sl_str_c(t->path), branch, &other, err));
        sl_append_close(t);
        t = other;
    }
    const bool travels = sel.kind != SL_SELECT_LATEST;
    SL_GO(sl_resolve_scan(q, name, alias, from, to, &scan, err));
    if (parts->system.p) {
        SL_GO(system_table(q, t, parts->system, &sel, travels, scan, err));
        goto done;
    }
    key = sl_arena_printf(&q->arena, "%s\n%s\n%d %lld %lld %.*s", t->path,
                          t->branch ? t->branch : "", sel.kind, (long long)sel.id,
                          (long long)sel.millis, (int)sel.text.n, sel.text.n ? sel.text.p : "");
    if (!key)
        SL_GOTO_NOMEM(err);
    scan->table = sl_resolve_known(q, key);
    if (!scan->table) {
        struct sl_append *mine = t;

        t = NULL;
        rc = new_table(q, mine, key, &sel, travels, &scan->table, err);
    }
done:
    sl_append_close(t);
    return rc;
}

/* ---- paths ---- */

static sl_str last_part(sl_str path)
{
    size_t end = path.n, from;

    while (end > 0 && path.p[end - 1] == '/')
        end--;
    for (from = end; from > 0 && path.p[from - 1] != '/';)
        from--;
    return sl_str_sub(path, from, end);
}

/* A folder with a table in it; anything else is left to DuckDB. */
static int resolve_path(struct sl_query *q, const struct sl_tree_table *name, size_t from,
                        size_t to, const struct sl_travel *travel, sl_err *err)
{
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    struct parts parts = {.table = name->table};
    enum sl_table_kind kind;

    SL_TRY(sl_table_kind_of_path(name->table, &kind, err));
    if (kind == SL_TABLE_LOG) {
        SL_TRY(sl_log_open_path(name->table, &log, err));
        return sl_resolve_log(q, log, name, last_part(name->table), from, to, travel, err);
    }
    if (kind == SL_TABLE_NONE) {
        const sl_str last = last_part(name->table);
        const char *dollar = memchr(last.p, '$', last.n);

        if (!dollar)
            return SL_OK;
        SL_TRY(take_apart(q, last, &parts, err));
        parts.table = sl_str_sub(name->table, 0, (size_t)(dollar - name->table.p));
        SL_TRY(sl_table_kind_of_path(parts.table, &kind, err));
        if (kind == SL_TABLE_NONE)
            return SL_OK;
    }
    SL_TRY(sl_append_open_path(parts.table, parts.branch, &t, err));
    return use_table(q, t, &parts, name, last_part(name->table), from, to, travel, err);
}

/* ---- names ---- */

static bool is_duckdbs(const struct sl_tree_table *name)
{
    static const char *const schemas[] = {"information_schema", "pg_catalog", NULL};

    for (size_t i = 0; schemas[i]; i++)
        if (sl_str_ieqc(name->schema, schemas[i]))
            return true;
    return name->schema.n == 0 &&
           (sl_str_starts(name->table, "duckdb_") || sl_str_starts(name->table, "sqlite_") ||
            sl_str_starts(name->table, "pragma_"));
}

static bool is_file(const struct sl_query *q, const struct sl_tree_table *name, size_t from)
{
    const char quote = q->tokens->text.p[from];

    return name->schema.n == 0 && (quote == '\'' || quote == '"') &&
           memchr(name->table.p, '.', name->table.n);
}

static int source_table(struct sl_query *q, sl_str db, const struct sl_tree_table *name,
                        size_t from, size_t to, sl_err *err)
{
    struct sl_query_scan *scan;
    struct sl_buf sql = SL_BUF_INIT;

    SL_TRY(sl_resolve_scan(q, name, name->table, from, to, &scan, err));
    int rc = sl_source_scan_open(q, db, name->table, &scan->source, &sql, err);
    if (rc == SL_OK) {
        scan->sql = sl_arena_str(&q->arena, sl_buf_view(&sql));
        rc = scan->sql.p ? SL_OK : sl_err_nomem(err);
    }
    sl_buf_release(&sql);
    return rc;
}

int sl_resolve(struct sl_query *q, const struct sl_tree_table *name, size_t from, size_t to,
               const struct sl_travel *travel, sl_err *err)
{
    struct sl_catalog *catalog = sl_env_catalog(q->s->env);
    const sl_str db = name->schema.n > 0 ? name->schema : sl_str_c(q->s->db);
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    enum sl_table_kind kind;
    struct parts parts;

    if (name->schema.n == 0 && name->catalog.n == 0 && memchr(name->table.p, '/', name->table.n))
        return resolve_path(q, name, from, to, travel, err);
    if (is_duckdbs(name))
        return SL_OK;
    if (name->catalog.n > 0) {
        sl_err_set(err, SL_ESQL, "a table's name has at most two parts, database.table");
        return sl_sql_at(SL_ESQL, from, err);
    }
    SL_TRY(take_apart(q, name->table, &parts, err));
    SL_TRY(sl_catalog_table_kind(catalog, db, parts.table, &kind, err));
    if (kind == SL_TABLE_LOG && !parts.system.p && !parts.branch) {
        SL_TRY(sl_log_open(catalog, db, parts.table, &log, err));
        return sl_resolve_log(q, log, name, name->table, from, to, travel, err);
    }
    if (kind == SL_TABLE_NONE) {
        bool has;

        SL_TRY(sl_source_exists(q->s, db, name->table, &has, err));
        if (has)
            return source_table(q, db, name, from, to, err);
        if (is_file(q, name, from))
            return SL_OK;
        return sl_session_no_table(q->s, db, parts.table, from, err);
    }
    SL_TRY(sl_append_open(catalog, db, parts.table, parts.branch, &t, err));
    return use_table(q, t, &parts, name, name->table, from, to, travel, err);
}
