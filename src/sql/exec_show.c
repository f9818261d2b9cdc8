/* exec_show.c - SHOW and DESCRIBE. */
#include <stdlib.h>
#include <string.h>

#include "sql/show_log.h"
#include "sql/source_table.h"
#include "table/append/partitions.h"

static int show(struct sl_exec *r, const sl_str *cells, size_t n, sl_err *err)
{
    r->done.rows++;
    return sl_show_row(r->s, cells, n, err);
}

/* LIKE with % and _. */
static bool like(sl_str s, sl_str p)
{
    while (p.n > 0) {
        if (p.p[0] == '%') {
            for (size_t i = 0; i <= s.n; i++)
                if (like(sl_str_sub(s, i, s.n), sl_str_sub(p, 1, p.n)))
                    return true;
            return false;
        }
        if (s.n == 0 || (p.p[0] != '_' && p.p[0] != s.p[0]))
            return false;
        s = sl_str_sub(s, 1, s.n);
        p = sl_str_sub(p, 1, p.n);
    }
    return s.n == 0;
}

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int show_names(struct sl_exec *r, const char *column, const struct sl_names *names,
                      sl_err *err)
{
    if (names->n > 0)
        qsort(names->v, names->n, sizeof *names->v, name_cmp);
    SL_TRY(sl_show_columns(r->s, &column, 1, err));
    for (size_t i = 0; i < names->n; i++) {
        const sl_str name = sl_str_c(names->v[i]);

        if (!r->st->new_name.text.p || like(name, r->st->new_name.text))
            SL_TRY(show(r, &name, 1, err));
    }
    return SL_OK;
}

static int show_databases(struct sl_exec *r, sl_err *err)
{
    struct sl_names names = {0};
    int rc;

    SL_GO(sl_catalog_databases(sl_env_catalog(r->s->env), &names, err));
    rc = show_names(r, "database", &names, err);
done:
    sl_names_release(&names);
    return rc;
}

static int show_current(struct sl_exec *r, sl_err *err)
{
    static const char *const column = "database";
    const sl_str name = sl_str_c(r->s->db);

    SL_TRY(sl_show_columns(r->s, &column, 1, err));
    return show(r, &name, 1, err);
}

static int show_tables(struct sl_exec *r, sl_err *err)
{
    struct sl_names names = {0};
    const sl_str db = sl_session_db(r->s, &r->st->name);
    int rc;

    SL_GO(sl_sql_at(sl_catalog_tables(sl_env_catalog(r->s->env), db, &names, err), r->st->name.from,
                    err));
    SL_GO(sl_source_names(r->s, db, &names, err));
    rc = show_names(r, "table", &names, err);
done:
    sl_names_release(&names);
    return rc;
}

/* ---- DESCRIBE ---- */

static bool is_partition_key(const struct sl_schema *s, const char *name)
{
    for (size_t i = 0; i < s->npartition; i++)
        if (strcmp(s->partition_keys[i], name) == 0)
            return true;
    return false;
}

static int describe_schema(struct sl_exec *r, const struct sl_schema *s, sl_err *err)
{
    static const char *const columns[] = {"column",        "type",    "null",
                                          "partition_key", "default", "comment"};
    struct sl_buf type = SL_BUF_INIT;
    int rc;

    SL_GO(sl_show_columns(r->s, columns, 6, err));
    for (size_t i = 0; i < s->nfields; i++) {
        const struct sl_field *f = &s->fields[i];
        struct sl_type plain = *f->type;

        sl_buf_reset(&type);
        plain.nullable = true;
        sl_type_sql(&type, &plain);
        SL_GO(sl_buf_ok(&type, err));
        const sl_str cells[] = {sl_str_c(f->name),
                                sl_buf_view(&type),
                                sl_str_c(f->type->nullable ? "YES" : "NO"),
                                sl_str_c(is_partition_key(s, f->name) ? "YES" : "NO"),
                                {f->default_text, f->default_text ? strlen(f->default_text) : 0},
                                {f->comment, f->comment ? strlen(f->comment) : 0}};
        SL_GO(show(r, cells, 6, err));
    }
done:
    sl_buf_release(&type);
    return rc;
}

/* ---- SHOW CREATE TABLE ---- */

static void put_string_list(struct sl_buf *b, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sl_buf_addc(b, i ? ", " : "");
        sl_buf_ch(b, '`');
        for (const char *p = names[i]; *p; p++) {
            if (*p == '`')
                sl_buf_ch(b, '`');
            sl_buf_ch(b, *p);
        }
        sl_buf_ch(b, '`');
    }
}

static void put_create(struct sl_buf *b, const struct sl_schema *s, sl_str name)
{
    char *copy = sl_str_dup(name);
    const char *table = copy ? copy : "";

    sl_buf_addc(b, "CREATE TABLE ");
    put_string_list(b, &table, 1);
    sl_buf_addc(b, " (");
    for (size_t i = 0; i < s->nfields; i++) {
        const struct sl_field *f = &s->fields[i];

        sl_buf_addc(b, i ? ",\n  " : "\n  ");
        put_string_list(b, &f->name, 1);
        sl_buf_ch(b, ' ');
        sl_type_sql(b, f->type);
        if (f->default_text) {
            sl_buf_addc(b, " DEFAULT ");
            sl_buf_sql_string(b, sl_str_c(f->default_text));
        }
        if (f->comment) {
            sl_buf_addc(b, " COMMENT ");
            sl_buf_sql_string(b, sl_str_c(f->comment));
        }
    }
    if (s->nprimary > 0) {
        sl_buf_addc(b, ",\n  PRIMARY KEY (");
        put_string_list(b, s->primary_keys, s->nprimary);
        sl_buf_addc(b, ") NOT ENFORCED");
    }
    sl_buf_addc(b, "\n)");
    if (s->comment) {
        sl_buf_addc(b, " COMMENT ");
        sl_buf_sql_string(b, sl_str_c(s->comment));
    }
    if (s->npartition > 0) {
        sl_buf_addc(b, "\nPARTITIONED BY (");
        put_string_list(b, s->partition_keys, s->npartition);
        sl_buf_ch(b, ')');
    }
    for (size_t i = 0; i < s->noptions; i++) {
        sl_buf_addc(b, i ? ",\n  " : "\nWITH (\n  ");
        sl_buf_sql_string(b, sl_str_c(s->options[i].key));
        sl_buf_addc(b, " = ");
        sl_buf_sql_string(b, sl_str_c(s->options[i].value));
    }
    if (s->noptions > 0)
        sl_buf_addc(b, "\n)");
    b->failed |= !copy;
    sl_free(copy);
}

static int show_create(struct sl_exec *r, const struct sl_schema *s, sl_err *err)
{
    static const char *const column = "create_table";
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    SL_GO(sl_show_columns(r->s, &column, 1, err));
    put_create(&b, s, r->st->name.table);
    SL_GO(sl_buf_ok(&b, err));
    const sl_str cell = sl_buf_view(&b);
    rc = show(r, &cell, 1, err);
done:
    sl_buf_release(&b);
    return rc;
}

/* ---- SHOW PARTITIONS ---- */

static bool matches(const struct sl_exec *r, const struct sl_append *t,
                    const struct sl_partition *p, struct sl_buf *text)
{
    for (size_t i = 0; i < r->st->pairs.n; i++) {
        const struct sl_pair *want = &r->st->pairs.v[i];

        for (size_t k = 0; k < t->npartition; k++) {
            if (!sl_str_ieqc(want->key.text, t->schema->partition_keys[k]))
                continue;
            sl_buf_reset(text);
            sl_value_text(text, t->partition_types[k], &p->values[k]);
            if (want->null != p->values[k].null ||
                (!want->null && !sl_str_eq(sl_buf_view(text), want->value.text)))
                return false;
        }
    }
    return true;
}

static int show_partitions(struct sl_exec *r, struct sl_append *t, sl_err *err)
{
    static const char *const columns[] = {"partition", "files", "rows", "bytes"};
    struct sl_partitions_list list = SL_PARTITIONS_LIST_INIT;
    struct sl_buf b = SL_BUF_INIT;
    int rc;

    SL_GO(sl_append_partitions(t, NULL, &list, err));
    SL_GO(sl_show_columns(r->s, columns, 4, err));
    for (size_t i = 0; i < list.n; i++) {
        const struct sl_partition *p = &list.v[i];
        char files[24], rows[24], bytes[24];

        if (!matches(r, t, p, &b))
            continue;
        snprintf(files, sizeof files, "%lld", (long long)p->files);
        snprintf(rows, sizeof rows, "%lld", (long long)p->rows);
        snprintf(bytes, sizeof bytes, "%lld", (long long)p->bytes);
        const sl_str cells[] = {sl_str_c(p->text), sl_str_c(files), sl_str_c(rows),
                                sl_str_c(bytes)};
        SL_GO(show(r, cells, 4, err));
    }
done:
    sl_buf_release(&b);
    sl_partitions_list_release(&list);
    return rc;
}

/* ---- SHOW SNAPSHOTS ---- */

static int show_snapshots_of(struct sl_exec *r, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    struct sl_tokens tokens = {0};
    struct sl_statement st = {.arena = SL_ARENA_INIT};
    struct sl_exec inner = {.s = r->s, .tokens = &tokens, .st = &st};
    int rc;

    sl_buf_addc(
        &text,
        "SELECT snapshot_id, schema_id, commit_user, commit_kind, commit_time, total_record_count, "
        "delta_record_count FROM ");
    if (r->st->name.db.p) {
        sl_buf_sql_ident(&text, r->st->name.db);
        sl_buf_ch(&text, '.');
    }
    sl_buf_sql_ident(&text, r->st->name.table);
    if (!text.failed) { /* before the closing quote */
        text.n--;
        sl_buf_addc(&text, "$snapshots\" ORDER BY snapshot_id");
    }
    SL_GO(sl_buf_ok(&text, err));
    SL_GO(sl_lex(sl_buf_view(&text), 0, &tokens, err));
    SL_GO(sl_statement_parse(&tokens, &st, err));
    rc = sl_exec_query(&inner, err);
    r->done.rows = inner.done.rows;
    if (rc != SL_OK && err)
        err->offset = (int64_t)r->st->name.from;
done:
    sl_statement_release(&st);
    sl_tokens_release(&tokens);
    sl_buf_release(&text);
    return rc;
}

static int show_snapshots(struct sl_exec *r, sl_err *err)
{
    struct sl_log *log;

    SL_TRY(sl_session_log(r->s, &r->st->name, &log, err));
    if (!log)
        return show_snapshots_of(r, err);
    const int rc = sl_show_log_instants(r, log, err);
    sl_log_close(log);
    return rc;
}

static int show_of_table(struct sl_exec *r, sl_err *err)
{
    struct sl_source_def def = {.schema = {.arena = SL_ARENA_INIT}};
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    const struct sl_schema *schema = NULL;
    const sl_str db = sl_session_db(r->s, &r->st->name);
    bool table = true, source = false;
    int rc;

    if (!r->st->name.path)
        SL_GO(sl_catalog_has_table(sl_env_catalog(r->s->env), db, r->st->name.table, &table, err));
    if (!table)
        SL_GO(sl_source_exists(r->s, db, r->st->name.table, &source, err));
    if (source) {
        SL_GO(sl_source_load(r->s, db, r->st->name.table, &def, err));
        schema = &def.schema;
    } else {
        SL_GO(sl_session_log(r->s, &r->st->name, &log, err));
        if (!log)
            SL_GO(sl_session_table(r->s, &r->st->name, &t, err));
        schema = log ? &log->schema->columns : t->schema;
    }
    if (r->st->kind == SL_STMT_DESCRIBE)
        rc = describe_schema(r, schema, err);
    else if (r->st->kind == SL_STMT_SHOW_CREATE_TABLE)
        rc = show_create(r, schema, err);
    else if (source)
        rc = sl_sql_at(sl_err_set(err, SL_EUNSUPPORTED, "a source table has no partitions"),
                       r->st->name.from, err);
    else if (log)
        rc = sl_show_log_partitions(r, log, err);
    else
        rc = show_partitions(r, t, err);
done:
    sl_log_close(log);
    sl_append_close(t);
    sl_source_def_release(&def);
    return rc;
}

int sl_exec_show(struct sl_exec *r, sl_err *err)
{
    r->done.has_rows = r->done.counts_rows = true;
    switch (r->st->kind) {
    case SL_STMT_SHOW_DATABASES:
        return show_databases(r, err);
    case SL_STMT_SHOW_CURRENT_DATABASE:
        return show_current(r, err);
    case SL_STMT_SHOW_TABLES:
        return show_tables(r, err);
    case SL_STMT_SHOW_SNAPSHOTS:
        return show_snapshots(r, err);
    default:
        return show_of_table(r, err);
    }
}
