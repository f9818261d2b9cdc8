/* overwrite.c - INSERT OVERWRITE, TRUNCATE, DROP PARTITION: what is live at the commit point goes. */
#include <string.h>

#include "base/sys.h"
#include "table/append/rewrite.h"
#include "table/append/write.h"

struct matching {
    const struct sl_append *t;
    const struct sl_partition_spec *spec;
    size_t at[64]; /* of each key of the spec, its place among the partition columns */
};

static int matching_init(struct matching *m, const struct sl_append *t, const struct sl_partition_spec *spec, sl_err *err)
{
    m->t = t;
    m->spec = spec;
    if (t->npartition == 0)
        return sl_err_set(err, SL_EINPUT, "the table %s is not partitioned", t->label);
    if (spec->n > sizeof m->at / sizeof *m->at)
        return sl_err_set(err, SL_EINPUT, "too many partition columns");
    for (size_t i = 0; i < spec->n; i++) {
        size_t k = 0;

        while (k < t->npartition && strcmp(t->schema->partition_keys[k], spec->keys[i]) != 0)
            k++;
        if (k == t->npartition)
            return sl_err_set(err, SL_EINPUT, "the table %s is not partitioned by \"%s\"", t->label, spec->keys[i]);
        m->at[i] = k;
    }
    return SL_OK;
}

static enum sl_file_fate fate(void *user, const struct sl_value *partition)
{
    const struct matching *m = user;

    for (size_t i = 0; i < m->spec->n; i++)
        if (!sl_value_eq(&m->spec->values[i], &partition[m->at[i]]))
            return SL_STAYS;
    return SL_GOES;
}

static int commit(struct sl_append *t, const struct sl_commit_request *req, struct sl_rewrite_result *out, sl_err *err)
{
    struct sl_commit_result done;

    memset(out, 0, sizeof *out);
    SL_TRY(sl_commit_publish(t, req, &done, err));
    out->snapshot_id = done.snapshot_id;
    out->rows_matched = done.rows_removed;
    out->files_removed = done.files_removed;
    out->files_added = done.files_added;
    out->attempts = 1 + done.retries;
    return SL_OK;
}

int sl_append_truncate(struct sl_append *t, struct sl_rewrite_result *out, sl_err *err)
{
    struct sl_commit_request req = {.kind = "OVERWRITE", .operation = "TRUNCATE", .overwrite = SL_OVERWRITE_TABLE};

    return commit(t, &req, out, err);
}

int sl_append_drop_partition(struct sl_append *t, const struct sl_partition_spec *spec, struct sl_rewrite_result *out, sl_err *err)
{
    struct matching m;
    struct sl_commit_request req = {.kind = "OVERWRITE", .operation = "TRUNCATE", .overwrite = SL_OVERWRITE_CHOSEN, .fate = fate,
                                    .fate_user = &m};

    SL_TRY(matching_init(&m, t, spec, err));
    return commit(t, &req, out, err);
}

/* ---- INSERT OVERWRITE ---- */

static int check_inside(struct matching *m, const struct sl_new_files *files, sl_err *err)
{
    struct sl_value *values = sl_calloc(m->t->npartition + 1, sizeof *values);
    struct sl_buf text = SL_BUF_INIT;
    int rc = SL_OK;

    if (!values)
        return sl_err_nomem(err);
    for (size_t i = 0; i < files->n; i++) {
        SL_GO(sl_append_partition(m->t, files->v[i].partition, values, err));
        if (fate(m, values) == SL_GOES)
            continue;
        sl_append_partition_text(m->t, values, &text);
        rc = sl_err_set(err, SL_EINPUT, "the query gives rows of the partition %s, which is not one to overwrite", text.p ? text.p : "");
        goto done;
    }
done:
    sl_free(values);
    sl_buf_release(&text);
    return rc;
}

/* Which partitions the new rows are of, each once. */
static int partitions_of(const struct sl_new_files *files, sl_str *out, size_t *n, sl_err *err)
{
    struct sl_map *seen = sl_map_new();
    int rc = SL_OK;

    *n = 0;
    if (!seen)
        return sl_err_nomem(err);
    for (size_t i = 0; i < files->n; i++) {
        void **slot = sl_map_at(seen, files->v[i].partition);

        if (!slot)
            SL_GOTO_NOMEM(err);
        if (!*slot)
            out[(*n)++] = files->v[i].partition;
        *slot = seen;
    }
done:
    sl_map_free(seen, NULL);
    return rc;
}

static int choose_rule(struct sl_append *t, const struct sl_partition_spec *spec, struct matching *m, const struct sl_new_files *files,
                       sl_str *partitions, struct sl_commit_request *req, sl_err *err)
{
    bool dynamic;

    if (spec) {
        SL_TRY(check_inside(m, files, err));
        req->overwrite = SL_OVERWRITE_CHOSEN;
        req->fate = fate;
        req->fate_user = m;
        return SL_OK;
    }
    SL_TRY(sl_schema_option_bool(t->schema, "dynamic-partition-overwrite", true, &dynamic, err));
    if (t->npartition == 0 || !dynamic) {
        req->overwrite = SL_OVERWRITE_TABLE;
        return SL_OK;
    }
    req->overwrite = SL_OVERWRITE_PARTITIONS;
    req->partitions = partitions;
    return partitions_of(files, partitions, &req->npartitions, err);
}

int sl_append_overwrite(struct sl_append *t, struct sl_conn *conn, sl_str select_sql, const struct sl_partition_spec *spec,
                        struct sl_rewrite_result *out, sl_err *err)
{
    struct sl_commit_request req = {.kind = "OVERWRITE", .operation = "OVERWRITE"};
    struct sl_new_files files = SL_NEW_FILES_INIT;
    struct matching m;
    sl_str *partitions = NULL;
    sl_err own = SL_ERR_INIT;
    int rc = SL_OK;

    if (!err)
        err = &own; /* its flags are looked at */
    sl_err_clear(err);
    if (spec)
        SL_TRY(matching_init(&m, t, spec, err));
    SL_GO(sl_append_write(t, conn, select_sql, NULL, &files, err));
    partitions = sl_calloc(files.n + 1, sizeof *partitions);
    if (!partitions)
        SL_GOTO_NOMEM(err);
    SL_GO(choose_rule(t, spec, &m, &files, partitions, &req, err));
    req.adds = files.v;
    req.nadds = files.n;
    SL_GO(commit(t, &req, out, err));
done:
    if (rc != SL_OK && !(err->flags & SL_ERR_UNKNOWN_OUTCOME))
        sl_new_files_discard(t, &files);
    sl_new_files_release(&files);
    sl_free(partitions);
    return rc;
}
