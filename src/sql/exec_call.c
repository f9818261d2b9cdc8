/* exec_call.c - CALL: upkeep by SQL. */
#include <string.h>

#include "sluice/compact.h"
#include "sluice/table.h"
#include "sql/query.h"

enum { ARGS_MAX = 6 };

/* What a procedure takes, in order; the first is always the table. */
struct procedure {
    const char *name;
    const char *args[ARGS_MAX];
    int (*run)(struct sl_exec *x, char **values, sl_err *err);
};

static sl_str arg(char *const *values, int i)
{
    return values[i] ? sl_str_c(values[i]) : (sl_str){NULL, 0};
}

/* A whole number, or 0 if the argument was not given. */
static int number(char *const *values, int i, const char *name, int64_t *out, sl_err *err)
{
    *out = 0;
    if (values[i] && !sl_parse_i64(sl_str_c(values[i]), out))
        return sl_err_set(err, SL_ESQL, "the argument %s is no whole number: %s", name, values[i]);
    return SL_OK;
}

static int show(struct sl_exec *x, const char *const *names, const int64_t *values, size_t n,
                sl_err *err)
{
    char text[8][24];
    sl_str cells[8];

    for (size_t i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%lld", (long long)values[i]);
        cells[i] = sl_str_c(text[i]);
    }
    SL_TRY(sl_show_columns(x->s, names, n, err));
    x->done.has_rows = x->done.counts_rows = true;
    x->done.rows = 1;
    return sl_show_row(x->s, cells, n, err);
}

static int call_compact(struct sl_exec *x, char **values, sl_err *err)
{
    struct sl_compact_options o = {0};
    struct sl_compact_report r = {0};

    o.full = values[1] && strcmp(values[1], "true") == 0;
    SL_TRY(sl_compact_run(x->s->env, arg(values, 0), &o, &r, err));
    x->done.snapshot = r.snapshot;
    return show(x, (const char *const[]){"tasks", "files_in", "files_out", "snapshot"},
                (const int64_t[]){(int64_t)r.tasks_done, (int64_t)r.files_in, (int64_t)r.files_out,
                                  r.snapshot},
                4, err);
}

static int call_expire(struct sl_exec *x, char **values, sl_err *err)
{
    struct sl_expire_options o = SL_EXPIRE_INIT;
    struct sl_expire_report r = {0};

    SL_TRY(number(values, 1, "retain_min", &o.retain_last, err));
    SL_TRY(number(values, 2, "retain_max", &o.retain_most, err));
    if (values[3]) {
        o.has_older_than = true;
        SL_TRY(number(values, 3, "older_than_millis", &o.older_than, err));
    }
    SL_TRY(sl_table_expire(x->s->env, arg(values, 0), &o, &r, err));
    return show(x, (const char *const[]){"snapshots", "data_files", "earliest", "latest"},
                (const int64_t[]){r.snapshots, (int64_t)r.data_files, r.earliest_now, r.latest}, 4,
                err);
}

static int call_rollback(struct sl_exec *x, char **values, sl_err *err)
{
    struct sl_rollback_options o = SL_ROLLBACK_INIT;
    struct sl_rollback_report r = {0};

    if (!values[1])
        return sl_err_set(err, SL_ESQL, "rollback needs a snapshot's id or a tag");
    if (!sl_parse_i64(sl_str_c(values[1]), &o.snapshot))
        o.tag = sl_str_c(values[1]);
    SL_TRY(sl_table_rollback(x->s->env, arg(values, 0), &o, &r, err));
    return show(
        x, (const char *const[]){"latest_before", "latest_now", "snapshots", "data_files"},
        (const int64_t[]){r.latest_before, r.latest_now, r.snapshots, (int64_t)r.data_files}, 4,
        err);
}

static int call_create_tag(struct sl_exec *x, char **values, sl_err *err)
{
    int64_t snapshot;

    if (!values[1])
        return sl_err_set(err, SL_ESQL, "create_tag needs the tag's name");
    SL_TRY(number(values, 2, "snapshot", &snapshot, err));
    return sl_table_tag_create(x->s->env, arg(values, 0), arg(values, 1), snapshot, 0, err);
}

static int call_delete_tag(struct sl_exec *x, char **values, sl_err *err)
{
    if (!values[1])
        return sl_err_set(err, SL_ESQL, "delete_tag needs the tag's name");
    return sl_table_tag_delete(x->s->env, arg(values, 0), arg(values, 1), err);
}

static const struct procedure procedures[] = {
    {"compact", {"table", "full"}, call_compact},
    {"expire", {"table", "retain_min", "retain_max", "older_than_millis"}, call_expire},
    {"expire_snapshots", {"table", "retain_min", "retain_max", "older_than_millis"}, call_expire},
    {"rollback", {"table", "version"}, call_rollback},
    {"rollback_to", {"table", "version"}, call_rollback},
    {"create_tag", {"table", "tag", "snapshot"}, call_create_tag},
    {"delete_tag", {"table", "tag"}, call_delete_tag},
};

static int place_of(const struct procedure *p, const struct sl_pair *given, size_t i, size_t *out,
                    sl_err *err)
{
    *out = i;
    for (size_t k = 0; given->key.text.p && k <= ARGS_MAX; k++) {
        if (k == ARGS_MAX || !p->args[k]) {
            sl_err_set(err, SL_ESQL, "the procedure %s has no argument \"%s\"", p->name,
                       given->key.text.p);
            return sl_sql_at(SL_ESQL, given->key.from, err);
        }
        if (sl_str_ieqc(given->key.text, p->args[k])) {
            *out = k;
            return SL_OK;
        }
    }
    if (i >= ARGS_MAX || !p->args[i])
        return sl_err_set(err, SL_ESQL, "the procedure %s takes fewer arguments", p->name);
    return SL_OK;
}

/* "t" means the one of the session's database. */
static int qualify(struct sl_session *s, char **table, sl_err *err)
{
    char *full;

    if (!*table || strchr(*table, '.') || strchr(*table, '/'))
        return SL_OK;
    full = sl_asprintf("%s.%s", s->db, *table);
    if (!full)
        return sl_err_nomem(err);
    sl_free(*table);
    *table = full;
    return SL_OK;
}

static int call(struct sl_exec *x, const struct procedure *p, sl_err *err)
{
    char *values[ARGS_MAX] = {NULL};
    struct sl_conn *conn;
    size_t place;
    int rc;

    SL_GO(sl_session_conn(x->s, &conn, err));
    for (size_t i = 0; i < x->st->pairs.n; i++) {
        SL_GO(place_of(p, &x->st->pairs.v[i], i, &place, err));
        sl_free(values[place]);
        values[place] = NULL;
        SL_GO(sl_query_value(x->s, conn, x->tokens, x->st->pairs.v[i].range, "SELECT CAST((",
                             ") AS VARCHAR)", &values[place], err));
    }
    if (!values[0]) {
        rc = sl_err_set(err, SL_ESQL, "the procedure %s needs a table", p->name);
        goto done;
    }
    SL_GO(qualify(x->s, &values[0], err));
    rc = p->run(x, values, err);
done:
    for (size_t i = 0; i < ARGS_MAX; i++)
        sl_free(values[i]);
    return rc;
}

int sl_exec_call(struct sl_exec *x, sl_err *err)
{
    for (size_t i = 0; i < sizeof procedures / sizeof *procedures; i++)
        if (sl_str_ieqc(x->st->new_name.text, procedures[i].name))
            return sl_sql_at(call(x, &procedures[i], err), x->st->new_name.from, err);
    sl_err_set(err, SL_ENOTFOUND, "there is no procedure \"%s\"", x->st->new_name.text.p);
    sl_err_hint(err, "compact, expire, rollback, create_tag and delete_tag are");
    return sl_sql_at(SL_ENOTFOUND, x->st->new_name.from, err);
}
