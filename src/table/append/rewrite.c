/* rewrite.c - UPDATE and DELETE: find the files with matching rows, rewrite those, publish once. */
#include "table/append/rewrite.h"

#include <string.h>

#include "base/sys.h"
#include "table/append/assign.h"
#include "table/append/prune.h"
#include "table/append/write.h"

struct rewriting {
    struct sl_append *t;
    struct sl_conn *conn;
    const struct sl_rewrite_request *req;
    struct sl_rewrite_result *result;
    bool is_update;
    /* one attempt */
    struct sl_plan *plan;
    bool *touched;           /* files with matching rows */
    bool *read;              /* those of them that keep rows, so must be rewritten */
    struct sl_manifest_entry *gone;
    size_t ngone;
    int64_t rows_live;       /* of the files to be rewritten, deleted rows left out */
    int64_t rows_matched, matched_in_read;
    struct sl_new_files files;
};

static void attempt_release(struct rewriting *w)
{
    sl_plan_free(w->plan);
    sl_free(w->touched);
    sl_free(w->read);
    sl_free(w->gone);
    sl_new_files_release(&w->files);
    w->plan = NULL;
    w->touched = w->read = NULL;
    w->gone = NULL;
    w->ngone = 0;
    w->rows_live = w->rows_matched = w->matched_in_read = 0;
}

static void add_alias(const struct rewriting *w, struct sl_buf *out)
{
    const char *dot = strrchr(w->t->label, '.');

    sl_buf_addc(out, " AS ");
    if (w->req->alias.n)
        sl_buf_sql_ident(out, w->req->alias);
    else
        sl_buf_sql_ident(out, sl_str_c(dot && w->t->label[0] != '"' ? dot + 1 : "_t"));
}

static void add_condition(const struct rewriting *w, struct sl_buf *out)
{
    /* The line ends a comment at the end of the condition. */
    if (w->req->where_sql.n)
        sl_buf_printf(out, "(" SL_STRF "\n)", SL_STRV(w->req->where_sql));
    else
        sl_buf_addc(out, "true");
}

static void add_prelude(const struct rewriting *w, struct sl_buf *out)
{
    if (w->req->prelude.n)
        sl_buf_printf(out, SL_STRF "\n", SL_STRV(w->req->prelude));
}

/* ---- which files hold matching rows ---- */

/* -1 where the number of deleted rows is not told. */
static int64_t live_rows(const struct sl_plan_file *f)
{
    if (!f->dv)
        return f->entry->file.row_count;
    return f->dv->cardinality >= 0 ? f->entry->file.row_count - f->dv->cardinality : -1;
}

static int touch(struct rewriting *w, const struct sl_map *by_path, sl_str path, int64_t rows, sl_err *err)
{
    void *at = sl_map_get(by_path, path);
    size_t i = (uintptr_t)at - 1;

    if (!at)
        return sl_err_set(err, SL_EBUG, "rows were found in the file \"" SL_STRF "\", which is not planned", SL_STRV(path));
    w->touched[i] = true;
    w->rows_matched += rows;
    w->read[i] = w->is_update || live_rows(&w->plan->files[i]) != rows;
    if (w->read[i])
        w->matched_in_read += rows;
    return SL_OK;
}

static int run_search(struct rewriting *w, const struct sl_map *by_path, sl_str sql, sl_err *err)
{
    struct sl_result *r = NULL;
    size_t rows;
    int rc;

    SL_GO(sl_conn_query(w->conn, sql, &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++)
            SL_GO(touch(w, by_path, sl_result_str(r, 0, i), sl_result_i64(r, 1, i), err));
    }
done:
    sl_result_free(r);
    return rc;
}

static int search(struct rewriting *w, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_map *by_path = sl_map_new();
    int rc = SL_OK;

    w->touched = sl_calloc(w->plan->nfiles + 1, sizeof *w->touched);
    w->read = sl_calloc(w->plan->nfiles + 1, sizeof *w->read);
    if (!by_path || !w->touched || !w->read)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < w->plan->nfiles; i++) {
        void **slot = sl_map_at(by_path, sl_str_c(w->plan->files[i].path));

        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = (void *)(uintptr_t)(i + 1);
    }
    add_prelude(w, &sql);
    sl_buf_addc(&sql, "SELECT __sl_file, count(*) FROM (");
    SL_GO(sl_plan_sql(w->plan, w->conn, true, &sql, err));
    sl_buf_ch(&sql, ')');
    add_alias(w, &sql);
    sl_buf_addc(&sql, " WHERE ");
    add_condition(w, &sql);
    sl_buf_addc(&sql, " GROUP BY __sl_file");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(run_search(w, by_path, sl_buf_view(&sql), err));
done:
    sl_map_free(by_path, NULL);
    sl_buf_release(&sql);
    return rc;
}

/* ---- the rows that the new files get ---- */

static void add_columns(const struct rewriting *w, struct sl_buf *out)
{
    for (size_t i = 0; i < w->t->schema->nfields; i++) {
        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_ident(out, sl_str_c(w->t->schema->fields[i].name));
    }
}

static int kept_rows_sql(struct rewriting *w, struct sl_plan *plan, struct sl_buf *out, sl_err *err)
{
    add_prelude(w, out);
    sl_buf_addc(out, "SELECT ");
    add_columns(w, out);
    sl_buf_addc(out, " FROM (");
    SL_TRY(sl_plan_sql(plan, w->conn, false, out, err));
    sl_buf_ch(out, ')');
    add_alias(w, out);
    sl_buf_addc(out, " WHERE ");
    add_condition(w, out);
    sl_buf_addc(out, " IS NOT TRUE");
    return sl_buf_ok(out, err);
}

/* Columns, whether the row matches, and the new values where it does. */
static int new_values_sql(struct rewriting *w, struct sl_plan *plan, struct sl_buf *out, sl_err *err)
{
    add_prelude(w, out);
    sl_buf_addc(out, "SELECT ");
    add_columns(w, out);
    sl_buf_addc(out, ", __sl_m");
    for (size_t i = 0; i < w->req->nsets; i++)
        sl_buf_printf(out, ", CASE WHEN __sl_m THEN (" SL_STRF "\n) END AS __sl_v%zu", SL_STRV(w->req->sets[i].expr), i);
    sl_buf_addc(out, " FROM (SELECT ");
    add_columns(w, out);
    sl_buf_addc(out, ", (");
    add_condition(w, out);
    sl_buf_addc(out, " IS TRUE) AS __sl_m FROM (");
    SL_TRY(sl_plan_sql(plan, w->conn, false, out, err));
    sl_buf_ch(out, ')');
    add_alias(w, out);
    sl_buf_ch(out, ')');
    add_alias(w, out);
    return sl_buf_ok(out, err);
}

static int updated_rows_sql(struct rewriting *w, struct sl_plan *plan, struct sl_buf *out, sl_err *err)
{
    const struct sl_schema *s = w->t->schema;
    struct sl_buf inner = SL_BUF_INIT, name = SL_BUF_INIT, value = SL_BUF_INIT;
    struct sl_result *shape = NULL;
    int rc;

    SL_GO(new_values_sql(w, plan, &inner, err));
    SL_GO(sl_conn_prepare(w->conn, sl_buf_view(&inner), &shape, err));
    sl_buf_addc(out, "SELECT ");
    for (size_t i = 0; i < s->nfields; i++) {
        sl_buf_addc(out, i ? ", " : "");
        for (size_t j = 0; j < w->req->nsets; j++) {
            if (w->req->sets[j].column != i)
                continue;
            sl_buf_reset(&name);
            sl_buf_reset(&value);
            sl_buf_printf(&name, "__sl_v%zu", j);
            sl_assign_expr(&value, &s->fields[i], sl_result_type_sql(shape, s->nfields + 1 + j), sl_buf_view(&name));
            SL_GO(sl_buf_ok(&value, err));
            sl_buf_printf(out, "CASE WHEN __sl_m THEN " SL_STRF " ELSE ", SL_STRV(sl_buf_view(&value)));
            sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
            sl_buf_addc(out, " END AS ");
        }
        sl_buf_sql_ident(out, sl_str_c(s->fields[i].name));
    }
    sl_buf_printf(out, " FROM (" SL_STRF ")", SL_STRV(sl_buf_view(&inner)));
    rc = sl_buf_ok(out, err);
done:
    sl_result_free(shape);
    sl_buf_release(&inner);
    sl_buf_release(&name);
    sl_buf_release(&value);
    return rc;
}

static int check_rows(const struct rewriting *w, sl_err *err)
{
    int64_t want = w->rows_live - (w->is_update ? 0 : w->matched_in_read);

    if (w->rows_live < 0 || w->files.rows == want)
        return SL_OK;
    sl_err_set(err, SL_EINPUT, "%lld rows were written where %lld are kept: the condition gives another result each time it is run",
               (long long)w->files.rows, (long long)want);
    sl_err_hint(err, "leave functions such as random() out of it");
    return SL_EINPUT;
}

static int rewrite(struct rewriting *w, sl_err *err)
{
    struct sl_write_opts opts = {.trusted = true, .repeatable = true};
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_plan *some = NULL;
    int rc;

    SL_GO(sl_plan_subset(w->plan, w->read, &some, err));
    if (some->nfiles == 0)
        goto done;
    SL_GO(w->is_update ? updated_rows_sql(w, some, &sql, err) : kept_rows_sql(w, some, &sql, err));
    SL_GO(sl_append_write(w->t, w->conn, sl_buf_view(&sql), &opts, &w->files, err));
    SL_GO(check_rows(w, err));
done:
    sl_buf_release(&sql);
    sl_plan_free(some);
    return rc;
}

/* ---- one attempt ---- */

static int gather_gone(struct rewriting *w, sl_err *err)
{
    w->gone = sl_calloc(w->plan->nfiles + 1, sizeof *w->gone);
    if (!w->gone)
        return sl_err_nomem(err);
    for (size_t i = 0; i < w->plan->nfiles; i++) {
        int64_t rows = live_rows(&w->plan->files[i]);

        if (!w->touched[i])
            continue;
        w->gone[w->ngone++] = *w->plan->files[i].entry;
        if (w->read[i])
            w->rows_live = rows < 0 || w->rows_live < 0 ? -1 : w->rows_live + rows;
    }
    return SL_OK;
}

static int publish(struct rewriting *w, sl_err *err)
{
    struct sl_commit_request req = {
        .kind = "OVERWRITE",
        .operation = w->is_update ? "UPDATE" : "DELETE",
        .adds = w->files.v,
        .nadds = w->files.n,
        .deletes = w->gone,
        .ndeletes = w->ngone,
        .read_index_manifest = w->plan->snapshot.index_manifest,
    };
    struct sl_commit_result done;
    int rc = sl_commit_publish(w->t, &req, &done, err);

    if (rc == SL_OK) {
        w->result->snapshot_id = done.snapshot_id;
        w->result->rows_matched = w->rows_matched;
        w->result->files_added = done.files_added;
        w->result->files_removed = done.files_removed;
    }
    return rc;
}

static int rewrite_once(struct rewriting *w, sl_err *err)
{
    int rc;

    SL_GO(sl_plan_files(w->t, NULL, w->req->pred, &w->plan, err));
    if (w->plan->nfiles == 0)
        goto done;
    SL_GO(sl_plan_announce(w->plan, err));
    SL_GO(search(w, err));
    if (w->rows_matched == 0)
        goto done;
    SL_GO(gather_gone(w, err));
    SL_GO(rewrite(w, err));
    SL_GO(SL_FAILPOINT("rewrite.before_commit", err));
    SL_GO(publish(w, err));
done:
    if (rc != SL_OK && w->plan)
        rc = sl_plan_explain_error(w->plan, rc, err);
    return rc;
}

static int run(struct rewriting *w, int (*attempt)(struct rewriting *w, sl_err *err), sl_err *err)
{
    sl_err own = SL_ERR_INIT;
    int rc;

    if (!err)
        err = &own; /* its flags are looked at */
    memset(w->result, 0, sizeof *w->result);
    SL_TRY(sl_append_check(w->t, SL_WRITE, err));
    do {
        sl_err_clear(err);
        SL_TRY(sl_cancel_check(err));
        w->result->attempts++;
        rc = attempt(w, err);
        if (rc != SL_OK && !(err->flags & SL_ERR_UNKNOWN_OUTCOME))
            sl_new_files_discard(w->t, &w->files);
        attempt_release(w);
        if (rc == SL_ECONFLICT) /* a table made anew stays a conflict */
            SL_TRY(sl_append_same_table(w->t, err));
    } while (rc == SL_ECONFLICT && !w->req->once);
    return rc;
}

int sl_append_update(struct sl_append *t, struct sl_conn *conn, const struct sl_rewrite_request *req, struct sl_rewrite_result *out,
                     sl_err *err)
{
    struct rewriting w = {.t = t, .conn = conn, .req = req, .result = out, .is_update = true, .files = SL_NEW_FILES_INIT};

    return run(&w, rewrite_once, err);
}

/* ---- DELETE on partition columns alone ---- */

struct partition_list {
    SL_VEC(const struct sl_value *) values; /* npartition each; of the plan */
    bool *goes;
    struct sl_append *t;
    struct sl_pruner *pruner;
    size_t last;                            /* found by the last look: files of one partition come one after another */
};

static int distinct_partitions(const struct sl_plan *plan, struct partition_list *out, sl_err *err)
{
    struct sl_map *seen = sl_map_new();
    int rc = SL_OK;

    if (!seen)
        return sl_err_nomem(err);
    for (size_t i = 0; i < plan->nfiles; i++) {
        void **slot = sl_map_at(seen, plan->files[i].entry->partition);
        const struct sl_value **values;

        if (!slot)
            SL_GOTO_NOMEM(err);
        if (*slot)
            continue;
        *slot = (void *)plan;
        values = sl_vec_push(&out->values);
        if (!values)
            SL_GOTO_NOMEM(err);
        *values = plan->files[i].partition;
    }
done:
    sl_map_free(seen, NULL);
    return rc;
}

static void partitions_sql(const struct rewriting *w, const struct partition_list *list, struct sl_buf *out)
{
    const struct sl_append *t = w->t;

    add_prelude(w, out);
    sl_buf_addc(out, "SELECT __sl_n FROM (");
    for (size_t i = 0; i < list->values.n; i++) {
        sl_buf_printf(out, "%sSELECT %zu AS __sl_n", i ? " UNION ALL " : "", i);
        for (size_t k = 0; k < t->npartition; k++) {
            sl_buf_addc(out, ", CAST(");
            sl_value_sql(out, t->partition_types[k], &list->values.v[i][k]);
            sl_buf_addc(out, " AS ");
            sl_type_engine_sql(out, t->partition_types[k]);
            sl_buf_addc(out, ") AS ");
            sl_buf_sql_ident(out, sl_str_c(t->schema->partition_keys[k]));
        }
    }
    sl_buf_ch(out, ')');
    add_alias(w, out);
    sl_buf_addc(out, " WHERE ");
    add_condition(w, out);
}

static int choose_partitions(struct rewriting *w, struct partition_list *list, bool *any, sl_err *err)
{
    struct sl_buf sql = SL_BUF_INIT;
    struct sl_result *r = NULL;
    size_t rows;
    int rc;

    *any = false;
    list->goes = sl_calloc(list->values.n + 1, sizeof *list->goes);
    if (!list->goes)
        SL_GOTO_NOMEM(err);
    partitions_sql(w, list, &sql);
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query(w->conn, sl_buf_view(&sql), &r, err));
    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++)
            list->goes[sl_result_i64(r, 0, i)] = *any = true;
    }
done:
    sl_result_free(r);
    sl_buf_release(&sql);
    return rc;
}

static bool same_values(const struct partition_list *list, size_t i, const struct sl_value *partition)
{
    for (size_t k = 0; k < list->t->npartition; k++)
        if (!sl_value_eq(&list->values.v[i][k], &partition[k]))
            return false;
    return true;
}

/* Of a partition that is new since the plan the engine must be asked, which means to plan again: P7 wants what is live at the commit. */
static enum sl_file_fate fate(void *user, const struct sl_value *partition)
{
    struct partition_list *list = user;

    for (size_t n = 0; n < list->values.n; n++) {
        size_t i = (list->last + n) % list->values.n;

        if (same_values(list, i, partition)) {
            list->last = i;
            return list->goes[i] ? SL_GOES : SL_STAYS;
        }
    }
    return sl_pruner_partition(list->pruner, partition) ? SL_UNDECIDED : SL_STAYS;
}

static int publish_removal(struct rewriting *w, struct sl_commit_request *req, sl_err *err)
{
    struct sl_commit_result done;

    req->kind = "OVERWRITE";
    req->operation = "DELETE";
    SL_TRY(sl_commit_publish(w->t, req, &done, err));
    w->result->snapshot_id = done.snapshot_id;
    w->result->rows_matched = done.rows_removed;
    w->result->files_removed = done.files_removed;
    return SL_OK;
}

static int delete_all(struct rewriting *w, sl_err *err)
{
    struct sl_commit_request req = {.overwrite = SL_OVERWRITE_TABLE};

    return publish_removal(w, &req, err);
}

static int delete_partitions(struct rewriting *w, sl_err *err)
{
    struct partition_list list = {.t = w->t};
    struct sl_commit_request req = {.overwrite = SL_OVERWRITE_CHOSEN, .fate = fate, .fate_user = &list};
    bool any;
    int rc;

    SL_GO(sl_plan_files(w->t, NULL, w->req->pred, &w->plan, err));
    SL_GO(sl_pruner_new(w->t, w->plan->schema, w->req->pred, &list.pruner, err));
    SL_GO(distinct_partitions(w->plan, &list, err));
    if (list.values.n == 0)
        goto done;
    SL_GO(choose_partitions(w, &list, &any, err));
    SL_GO(SL_FAILPOINT("rewrite.before_commit", err));
    if (any)
        SL_GO(publish_removal(w, &req, err));
done:
    sl_free(list.values.v);
    sl_free(list.goes);
    sl_pruner_free(list.pruner);
    return rc;
}

int sl_append_delete(struct sl_append *t, struct sl_conn *conn, const struct sl_rewrite_request *req, struct sl_rewrite_result *out,
                     sl_err *err)
{
    struct rewriting w = {.t = t, .conn = conn, .req = req, .result = out, .files = SL_NEW_FILES_INIT};

    if (req->where_sql.n == 0)
        return run(&w, delete_all, err);
    if (req->partition_only && t->npartition)
        return run(&w, delete_partitions, err);
    return run(&w, rewrite_once, err);
}
