/* work.c - from the inputs of a task to its outputs. */
#include "compact/work.h"

#include "base/sys.h"
#include "table/append/plan.h"
#include "table/append/write.h"

void sl_compact_result_fail(struct sl_compact_result *out, struct sl_compact_task *task, int code, const sl_err *why)
{
    *out = (struct sl_compact_result){.arena = SL_ARENA_INIT};
    out->task = *task;
    *task = (struct sl_compact_task){.arena = SL_ARENA_INIT};
    out->error = code;
    out->error_text = sl_arena_strdup(&out->arena, sl_str_c(why && why->text[0] ? why->text : sl_code_text(code)));
    if (!out->error_text)
        out->error_text = "out of memory";
}

void sl_compact_result_discard(struct sl_append *t, struct sl_compact_result *r)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;

    for (size_t i = 0; i < r->noutputs; i++) {
        struct sl_manifest_entry *e = sl_vec_push(&files);

        if (!e)
            break; /* the rest is for `clean` */
        *e = r->outputs[i];
    }
    sl_new_files_discard(t, &files);
    sl_new_files_release(&files);
    r->noutputs = 0;
}

/* The snapshot planned on, if it is still there and still the same; else 0, the latest. */
static int snapshot_to_read(struct sl_append *t, const struct sl_compact_task *task, int64_t *out, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    struct sl_arena a = SL_ARENA_INIT;
    const char *mark = NULL;
    int rc = sl_snapshot_get(t, task->snapshot, &s, err);

    *out = 0;
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    if (rc == SL_OK)
        rc = sl_compact_mark(&a, &s, &mark, err);
    if (rc == SL_OK && sl_str_eqc(sl_str_c(task->mark), mark))
        *out = task->snapshot;
    sl_arena_release(&a);
    sl_snapshot_release(&s);
    return rc;
}

/* Rows of a file that is newer than the schema we know would lose columns. */
static int check_schemas(const struct sl_append *t, const struct sl_compact_task *task, sl_err *err)
{
    int64_t newest = task->schema_id;

    for (size_t i = 0; i < task->ninputs; i++)
        if (task->inputs[i].entry.file.schema_id > newest)
            newest = task->inputs[i].entry.file.schema_id;
    if (newest <= t->schema->id)
        return SL_OK;
    return sl_err_set(err, SL_ECONFLICT, "table \"%s\" has schema %lld here, the task needs schema %lld", t->label,
                      (long long)t->schema->id, (long long)newest);
}

/* The vectors that will be applied must be those that the result speaks of, or a commit could bring deleted rows back. */
static int check_vectors(const struct sl_plan *plan, const struct sl_compact_task *task, int64_t *deleted, bool *known, sl_err *err)
{
    *deleted = 0;
    *known = true;
    for (size_t i = 0; i < task->ninputs; i++) {
        const struct sl_plan_file *f = &plan->files[i];
        struct sl_compact_dv now = {.cardinality = -1};

        if (f->dv)
            now = (struct sl_compact_dv){f->dv_index->file_name, f->dv->offset, f->dv->length, f->dv->cardinality};
        if (!sl_compact_dv_same(&now, &task->inputs[i].dv))
            return sl_err_set(err, SL_ECONFLICT, "the deletion vector of \"" SL_STRF "\" has changed",
                              SL_STRV(task->inputs[i].entry.file.file_name));
        if (now.index_file.p && now.cardinality < 0)
            *known = false;
        else if (now.index_file.p)
            *deleted += now.cardinality;
    }
    return SL_OK;
}

static int open_plan(struct sl_append *t, const struct sl_compact_task *task, struct sl_plan **plan, sl_err *err)
{
    struct sl_manifest_entry *entries = sl_reallocarray(NULL, task->ninputs, sizeof *entries);
    int64_t snapshot = 0;
    int rc;

    if (!entries)
        return sl_err_nomem(err);
    for (size_t i = 0; i < task->ninputs; i++)
        entries[i] = task->inputs[i].entry;
    SL_GO(snapshot_to_read(t, task, &snapshot, err));
    SL_GO(sl_plan_entries(t, snapshot, entries, task->ninputs, plan, err));
    if ((*plan)->nfiles != task->ninputs)
        SL_GO(sl_err_set(err, SL_EBUG, "%zu files planned for %zu inputs", (*plan)->nfiles, task->ninputs));
done:
    sl_free(entries);
    return rc;
}

static int write_outputs(struct sl_append *t, struct sl_conn *conn, struct sl_plan *plan, const struct sl_compact_task *task,
                         struct sl_new_files *files, sl_err *err)
{
    struct sl_write_opts opts = {
        .compacted = true,
        .first_sequence = task->inputs[0].entry.file.min_sequence_number,
        .file_bytes = task->target_bytes,
        .trusted = true,
        .repeatable = true,
        .partition = &task->partition,
    };
    struct sl_buf sql = SL_BUF_INIT;
    int rc;

    SL_GO(sl_plan_announce(plan, err));
    SL_GO(sl_plan_sql(plan, conn, false, &sql, err));
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_append_write(t, conn, sl_buf_view(&sql), &opts, files, err));
done:
    sl_buf_release(&sql);
    return rc == SL_OK ? SL_OK : sl_plan_explain_error(plan, rc, err);
}

static int64_t rows_in(const struct sl_compact_task *task)
{
    int64_t rows = 0;

    for (size_t i = 0; i < task->ninputs; i++)
        rows += task->inputs[i].entry.file.row_count;
    return rows;
}

static int keep_outputs(struct sl_compact_result *r, const struct sl_new_files *files, sl_err *err)
{
    r->outputs = sl_arena_array(&r->arena, files->n ? files->n : 1, sizeof *r->outputs);
    if (!r->outputs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < files->n; i++)
        if (!sl_entry_copy(&r->arena, &files->v[i], &r->outputs[i]))
            return sl_err_nomem(err);
    r->noutputs = files->n;
    return SL_OK;
}

static int work(struct sl_append *t, struct sl_conn *conn, struct sl_compact_result *r, sl_err *err)
{
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct sl_plan *plan = NULL;
    int64_t deleted;
    bool known;
    int rc;

    SL_GO(check_schemas(t, &r->task, err));
    SL_GO(open_plan(t, &r->task, &plan, err));
    SL_GO(check_vectors(plan, &r->task, &deleted, &known, err));
    SL_GO(write_outputs(t, conn, plan, &r->task, &files, err));
    r->rows_deleted = rows_in(&r->task) - files.rows;
    if (r->rows_deleted < 0 || (known && r->rows_deleted != deleted))
        SL_GO(sl_err_set(err, SL_ECORRUPT, "the inputs of a task hold %lld rows, %lld of them deleted, but %lld were read",
                         (long long)rows_in(&r->task), (long long)deleted, (long long)files.rows));
    SL_GO(SL_FAILPOINT("compact.worked", err));
    SL_GO(keep_outputs(r, &files, err));
done:
    if (rc != SL_OK)
        sl_new_files_discard(t, &files);
    sl_new_files_release(&files);
    sl_plan_free(plan);
    return rc;
}

void sl_compact_task_work(struct sl_append *t, struct sl_conn *conn, struct sl_compact_task *task, struct sl_compact_result *out)
{
    int64_t start = sl_mono_nanos();
    sl_err err = SL_ERR_INIT;

    *out = (struct sl_compact_result){.arena = SL_ARENA_INIT};
    out->task = *task;
    *task = (struct sl_compact_task){.arena = SL_ARENA_INIT};
    int rc = work(t, conn, out, &err);
    if (rc != SL_OK) {
        struct sl_compact_task own = out->task;

        sl_arena_release(&out->arena);
        sl_compact_result_fail(out, &own, rc, &err);
    }
    out->millis = (sl_mono_nanos() - start) / 1000000;
}
