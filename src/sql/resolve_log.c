/* resolve_log.c - the scan of a log table: which instant, which kind of read. */
#include <string.h>

#include "sql/parse.h"
#include "sql/resolve.h"

/* ---- which rows ---- */

static int instant_at(const struct sl_query *q, sl_str text, size_t at, int64_t *out, sl_err *err)
{
    (void)q;
    if (sl_hudi_instant_parse(text, out))
        return SL_OK;
    sl_err_set(err, SL_ESQL, "\"" SL_STRF "\" is no instant of a log table, which is 17 digits: yyyyMMddHHmmssSSS", SL_STRV(text));
    return sl_sql_at(SL_ESQL, at, err);
}

/* An instant, or any time that SQL understands. */
static int time_or_instant(struct sl_query *q, sl_str text, size_t at, int64_t *out, sl_err *err)
{
    int64_t millis;

    if (sl_hudi_instant_parse(text, out))
        return SL_OK;
    SL_TRY(sl_resolve_time_text(q, at, text, &millis, err));
    *out = sl_hudi_instant_of_millis(millis);
    return SL_OK;
}

static int query_type(const struct sl_pair *o, struct sl_log_selector *sel, sl_err *err)
{
    const sl_str value = o->value.text;

    if (sl_str_ieqc(value, "snapshot")) {
        sel->query = SL_LOG_SNAPSHOT;
    } else if (sl_str_ieqc(value, "read_optimized") || sl_str_ieqc(value, "read-optimized")) {
        sel->query = SL_LOG_READ_OPTIMIZED;
    } else if (sl_str_ieqc(value, "incremental")) {
        sel->query = SL_LOG_INCREMENTAL;
    } else {
        sl_err_set(err, SL_ESQL, "hoodie.datasource.query.type = '" SL_STRF "' is not known; snapshot, read_optimized and incremental are",
                   SL_STRV(value));
        return sl_sql_at(SL_ESQL, o->value.from, err);
    }
    return SL_OK;
}

static int hint_option(struct sl_query *q, const struct sl_pair *o, void *user, sl_err *err)
{
    struct sl_log_selector *sel = user;
    const sl_str key = o->key.text, value = o->value.text;
    int64_t millis;

    if (sl_str_eqc(key, "hoodie.datasource.query.type"))
        return query_type(o, sel, err);
    if (sl_str_eqc(key, "hoodie.datasource.read.begin.instanttime"))
        return time_or_instant(q, value, o->value.from, &sel->begin, err);
    if (sl_str_eqc(key, "hoodie.datasource.read.end.instanttime"))
        return time_or_instant(q, value, o->value.from, &sel->end, err);
    if (sl_str_eqc(key, "as.of.instant") || sl_str_eqc(key, "scan.timestamp"))
        return time_or_instant(q, value, o->value.from, &sel->as_of, err);
    if (sl_str_eqc(key, "scan.snapshot-id") || sl_str_eqc(key, "scan.version"))
        return instant_at(q, value, o->value.from, &sel->as_of, err);
    if (sl_str_eqc(key, "scan.timestamp-millis") && sl_parse_i64(value, &millis)) {
        sel->as_of = sl_hudi_instant_of_millis(millis);
        return SL_OK;
    }
    if (!sl_str_starts(key, "scan.") && !sl_str_starts(key, "hoodie.datasource.") && !sl_str_starts(key, "read."))
        return SL_OK;
    sl_err_set(err, SL_EUNSUPPORTED, "the option '%s' of the hint is not supported for log tables", key.p);
    sl_err_hint(err, "hoodie.datasource.query.type, hoodie.datasource.read.begin.instanttime and .end.instanttime, as.of.instant, "
                     "scan.version and scan.timestamp are");
    return sl_sql_at(SL_EUNSUPPORTED, o->key.from, err);
}

static int check_hint(const struct sl_travel *travel, const struct sl_log_selector *sel, sl_err *err)
{
    if (sel->query != SL_LOG_INCREMENTAL && (sel->begin || sel->end)) {
        sl_err_set(err, SL_ESQL, "begin and end instants are for 'hoodie.datasource.query.type' = 'incremental'");
        return sl_sql_at(SL_ESQL, travel->from, err);
    }
    if (sel->query == SL_LOG_INCREMENTAL && sel->as_of) {
        sl_err_set(err, SL_ESQL, "an incremental query has an end instant, not 'as.of.instant'");
        return sl_sql_at(SL_ESQL, travel->from, err);
    }
    return SL_OK;
}

/* '20250331030642808' stands for an instant also where a time may stand. */
static bool instant_literal(const struct sl_query *q, const struct sl_travel *t, int64_t *out)
{
    const struct sl_token *token = &q->tokens->v[t->expr.first];

    if (t->expr.last != t->expr.first + 1)
        return false;
    if (token->text.n > 2 && token->text.p[0] == '\'')
        return sl_hudi_instant_parse(sl_str_sub(token->text, 1, token->text.n - 1), out);
    return token->kind == SL_TOKEN_NUMBER && sl_hudi_instant_parse(token->text, out);
}

static int select_rows(struct sl_query *q, const struct sl_travel *travel, struct sl_log_selector *sel, sl_err *err)
{
    int64_t millis;
    sl_str text;
    bool number;

    if (travel->hint) {
        SL_TRY(sl_resolve_hint(q, travel, hint_option, sel, err));
        return check_hint(travel, sel, err);
    }
    if (instant_literal(q, travel, &sel->as_of))
        return SL_OK;
    if (travel->timestamp) {
        SL_TRY(sl_resolve_time(q, travel, &millis, err));
        sel->as_of = sl_hudi_instant_of_millis(millis);
        return SL_OK;
    }
    SL_TRY(sl_resolve_version(q, travel, &text, &number, err));
    return instant_at(q, text, travel->from, &sel->as_of, err);
}

/* ---- the table ---- */

/* The meta columns are there for statements that name one of them. */
static bool wants_meta(const struct sl_query *q)
{
    size_t at;

    for (size_t i = 0; i < SL_HUDI_NMETA; i++)
        if (sl_tree_names_column(q->tree, sl_hudi_meta_fields[i], &at))
            return true;
    return false;
}

/* Takes T over, in every case. */
static int new_table(struct sl_query *q, struct sl_log *t, const char *key, const struct sl_log_selector *sel,
                     struct sl_query_table **out, sl_err *err)
{
    struct sl_query_table *table = sl_calloc(1, sizeof *table);
    struct sl_query_table **slot = table ? sl_vec_push(&q->tables) : NULL;

    if (!slot) {
        sl_free(table);
        sl_log_close(t);
        return sl_err_nomem(err);
    }
    *slot = *out = table;
    table->log = t;
    table->key = sl_strdup(key);
    if (!table->key)
        return sl_err_nomem(err);
    SL_TRY(sl_log_plan_columns(t, sel, wants_meta(q), &table->log_plan, err));
    table->schema = &table->log_plan->columns;
    table->fields = table->schema->fields;
    table->empty = sl_empty_source(table->schema->fields, table->schema->nfields);
    return SL_OK;
}

int sl_resolve_log(struct sl_query *q, struct sl_log *t, const struct sl_tree_table *name, sl_str alias, size_t from, size_t to,
                   const struct sl_travel *travel, sl_err *err)
{
    struct sl_log_selector sel = {.query = SL_LOG_SNAPSHOT};
    struct sl_query_scan *scan;
    const char *key;
    int rc = SL_OK;

    if (travel)
        SL_GO(select_rows(q, travel, &sel, err));
    SL_GO(sl_resolve_scan(q, name, alias, from, to, &scan, err));
    key = sl_arena_printf(&q->arena, "%s\n%d %lld %lld %lld", t->path, (int)sel.query, (long long)sel.as_of, (long long)sel.begin,
                          (long long)sel.end);
    if (!key)
        SL_GOTO_NOMEM(err);
    scan->table = sl_resolve_known(q, key);
    if (!scan->table) {
        struct sl_log *mine = t;

        t = NULL;
        rc = new_table(q, mine, key, &sel, &scan->table, err);
    }
done:
    sl_log_close(t);
    return rc;
}
