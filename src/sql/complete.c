/* complete.c - words that may stand where a person types. */
#include <stdlib.h>
#include <string.h>

#include "sql/source_table.h"
#include "table/log/log.h"

static const char *const keywords[] = {
    "ALTER",       "AND",        "AS",     "BETWEEN",  "BY",        "CALL",         "CASE",
    "COLUMN",      "COPY",       "CREATE", "DATABASE", "DATABASES", "DATE_FORMAT",  "DELETE",
    "DESCRIBE",    "DISTINCT",   "DROP",   "ELSE",     "END",       "EXISTS",       "EXPLAIN",
    "FROM",        "GROUP",      "HAVING", "INSERT",   "INTO",      "JOIN",         "LEFT",
    "LIKE",        "LIMIT",      "NOT",    "NULL",     "ORDER",     "OVERWRITE",    "PARTITION",
    "PARTITIONED", "PARTITIONS", "RENAME", "RESET",    "SELECT",    "SET",          "SHOW",
    "SNAPSHOTS",   "TABLE",      "TABLES", "THEN",     "TIMESTAMP", "TO_TIMESTAMP", "TRUNCATE",
    "UNION",       "UPDATE",     "USE",    "USING",    "VALUES",    "VERSION",      "WHEN",
    "WHERE",       "WITH",       NULL,
};

struct words {
    struct sl_names names;
    sl_str prefix;
    sl_err *err;
};

static bool matches(sl_str prefix, const char *word)
{
    for (size_t i = 0; i < prefix.n; i++)
        if (!word[i] || (prefix.p[i] | 32) != (word[i] | 32))
            return false;
    return true;
}

static int offer(struct words *w, const char *word)
{
    return matches(w->prefix, word) ? sl_names_add(&w->names, sl_str_c(word), w->err) : SL_OK;
}

/* The columns of the tables that TEXT names. */
static int offer_columns(struct sl_session *s, sl_str text, const struct sl_names *tables,
                         struct words *w)
{
    for (size_t i = 0; i < tables->n; i++) {
        struct sl_catalog *c = sl_env_catalog(s->env);
        const sl_str db = sl_str_c(s->db), name = sl_str_c(tables->v[i]);
        const struct sl_schema *schema = NULL;
        struct sl_append *t = NULL;
        struct sl_log *log = NULL;
        enum sl_table_kind kind;
        int rc = SL_OK;

        if (sl_str_find(text, name) < 0 ||
            sl_catalog_table_kind(c, db, name, &kind, NULL) != SL_OK)
            continue;
        if (kind == SL_TABLE_LOG) {
            if (sl_log_open(c, db, name, &log, NULL) == SL_OK)
                schema = &log->schema->columns;
        } else if (sl_append_open(c, db, name, NULL, &t, NULL) == SL_OK) {
            schema = t->schema;
        }
        for (size_t k = 0; schema && k < schema->nfields && rc == SL_OK; k++)
            rc = offer(w, schema->fields[k].name);
        sl_append_close(t);
        sl_log_close(log);
        SL_TRY(rc);
    }
    return SL_OK;
}

static int word_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int sl_session_completions(struct sl_session *s, sl_str text, sl_str prefix,
                           void (*fn)(void *user, const char *word), void *user, sl_err *err)
{
    struct words w = {{0}, prefix, err};
    struct sl_names tables = {0};
    bool has;
    int rc = SL_OK;

    for (size_t i = 0; keywords[i]; i++)
        SL_GO(offer(&w, keywords[i]));
    SL_GO(sl_catalog_has_database(sl_env_catalog(s->env), sl_str_c(s->db), &has, err));
    if (has)
        SL_GO(sl_catalog_tables(sl_env_catalog(s->env), sl_str_c(s->db), &tables, err));
    SL_GO(offer_columns(s, text, &tables, &w));
    SL_GO(sl_source_names(s, sl_str_c(s->db), &tables, err));
    for (size_t i = 0; i < tables.n; i++)
        SL_GO(offer(&w, tables.v[i]));
    if (w.names.n > 0)
        qsort(w.names.v, w.names.n, sizeof *w.names.v, word_cmp);
    for (size_t i = 0; i < w.names.n; i++)
        if (i == 0 || strcmp(w.names.v[i], w.names.v[i - 1]) != 0)
            fn(user, w.names.v[i]);
done:
    sl_names_release(&w.names);
    sl_names_release(&tables);
    return rc;
}
