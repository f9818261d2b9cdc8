/* batch.c - a batch from its rows to its delta commit. */
#include <string.h>

#include "table/log/rollback.h"
#include "table/log/write_priv.h"

/* ---- making ---- */

/* Keys are looked up within their partitions. A table that asks for one index over all would get two rows of a key. */
static int check_index(const struct sl_log *t, sl_err *err)
{
    const char *type = sl_log_option(t, "hoodie.index.type", "");

    if (t->config.npartition == 0 || !sl_str_starts(sl_str_c(type), "GLOBAL_"))
        return SL_OK;
    sl_err_set(err, SL_EUNSUPPORTED, "the table %s asks for an index over all partitions (hoodie.index.type = %s), which is not supported", t->label, type);
    sl_err_hint(err, "without that option keys are looked up within their partitions");
    return SL_EUNSUPPORTED;
}

int sl_log_batch_make(struct sl_log *t, struct sl_conn *conn, sl_str select_sql, const struct sl_log_write_opts *opts, struct sl_log_batch **out,
                      sl_err *err)
{
    struct sl_log_batch *b = sl_calloc(1, sizeof *b);
    int rc;

    *out = NULL;
    if (!b)
        return sl_err_nomem(err);
    b->t = t;
    b->conn = conn;
    if (opts)
        b->opts = *opts;
    SL_GO(sl_log_check_write(t, err));
    SL_GO(check_index(t, err));
    SL_GO(sl_keygen_check(t, err));
    SL_GO(sl_batch_stage(b, select_sql, err));
    SL_GO(SL_FAILPOINT("batch.staged", err));
    SL_GO(sl_batch_view(b, &b->view, err));
    SL_GO(sl_batch_tag(b, b->view, NULL, err));
    SL_GO(SL_FAILPOINT("batch.tagged", err));
    *out = b;
    b = NULL;
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "write to the table %s", t->label);
    sl_log_batch_free(b);
    return rc;
}

void sl_log_batch_free(struct sl_log_batch *b)
{
    if (!b)
        return;
    if (b->staged && sl_conn_exec(b->conn, SL_LIT("DROP TABLE " SL_BATCH_TABLE), NULL) != SL_OK)
        sl_log(SL_LOG_DEBUG, "log", "the temporary table of a batch could not be dropped"); /* it goes with the connection */
    sl_partitions_free(b->partitions);
    sl_map_free(b->group_index, NULL);
    sl_view_free(b->view);
    sl_free(b->keys.v);
    sl_free(b->parts.v);
    sl_free(b->groups.v);
    sl_arena_release(&b->arena);
    sl_free(b);
}

uint64_t sl_log_batch_rows(const struct sl_log_batch *b)
{
    return b->rows;
}

int sl_log_batch_changes(struct sl_log_batch *b, int64_t *out, sl_err *err)
{
    return sl_conn_query_i64(b->conn, SL_LIT("SELECT count(DISTINCT seq // 2) FROM " SL_BATCH_TABLE), out, err);
}

/* ---- looking up again, under the lock ---- */

/* Was anything taken away or replaced since, so that what was found may be gone? */
static bool was_replaced(const struct sl_timeline *before, const struct sl_timeline *now)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct sl_instant *x = &now->v[i];

        if (x->state == SL_HUDI_COMPLETED && (x->action == SL_HUDI_REPLACECOMMIT || x->action == SL_HUDI_RESTORE) &&
            sl_timeline_fate(before, x->time) != SL_COMMITTED)
            return true;
    }
    for (size_t i = 0; i < before->n; i++)
        if (sl_instant_writes(&before->v[i]) && before->v[i].state == SL_HUDI_COMPLETED &&
            sl_timeline_fate(now, before->v[i].time) != SL_COMMITTED)
            return true;
    return false;
}

static bool has_newer(const struct sl_timeline *before, const struct sl_timeline *now)
{
    for (size_t i = 0; i < now->n; i++)
        if (sl_instant_writes(&now->v[i]) && now->v[i].state == SL_HUDI_COMPLETED && sl_timeline_fate(before, now->v[i].time) != SL_COMMITTED)
            return true;
    return false;
}

/* The slices of the groups that keys are in; false if one is not there any more. */
static bool resolve(struct sl_log_batch *b, const struct sl_view *view)
{
    bool all = true;

    for (size_t i = 0; i < b->groups.n; i++) {
        struct sl_batch_group *g = &b->groups.v[i];

        g->slice = sl_view_slice(view, b->parts.v[g->part].path, sl_str_c(g->file_id));
        all = all && g->slice;
    }
    return all;
}

static int tag_again(struct sl_log_batch *b, const struct sl_view *now, sl_err *err)
{
    const struct sl_timeline *before = b->view->timeline;

    if (was_replaced(before, now->timeline))
        SL_TRY(sl_batch_tag(b, now, NULL, err));
    else if (has_newer(before, now->timeline))
        SL_TRY(sl_batch_tag(b, now, before, err));
    if (resolve(b, now))
        return SL_OK;
    b->groups.n = 0;
    sl_map_free(b->group_index, NULL);
    b->group_index = NULL;
    SL_TRY(sl_batch_tag(b, now, NULL, err));
    if (!resolve(b, now))
        return sl_err_set(err, SL_EBUG, "the table %s: a key was found in a file group that there is not", b->t->label);
    return SL_OK;
}

/* ---- what is done with each key ---- */

/* A delete by event time of a key that is not there is kept, since an older row may come later, whatever batches they are in. Stock placement has no
 * place for it. */
static int settle(struct sl_log_batch *b, struct sl_log_commit_result *result, sl_err *err)
{
    const bool keeps = strcmp(sl_log_option(b->t, "sluice.insert.to.log", "existing"), "never") != 0;
    const bool fail = strcmp(sl_log_option(b->t, "hoodie.datasource.insert.dup.policy", "drop"), "fail") == 0;

    for (size_t i = 0; i < b->keys.n; i++) {
        struct sl_batch_key *k = &b->keys.v[i];
        const bool there = k->group != SL_NO_GROUP;

        if (b->opts.op == SL_LOG_INSERT && k->kind == SL_LOG_ROW && there && fail)
            return sl_err_set(err, SL_EINPUT, "the key \"" SL_STRF "\" is in the table %s already", SL_STRV(k->key), b->t->label);
        k->dropped = !there ? k->kind == SL_LOG_SURE_REMOVAL || (k->kind == SL_LOG_REMOVAL && !keeps) : b->opts.op == SL_LOG_INSERT && k->kind == SL_LOG_ROW;
        result->left_out += k->dropped;
    }
    return SL_OK;
}

static void count(struct sl_log_batch *b, struct sl_log_commit_result *result)
{
    for (size_t i = 0; i < b->groups.n; i++)
        b->groups.v[i].nrows = b->groups.v[i].nremovals = b->groups.v[i].ninserts = 0;
    for (size_t i = 0; i < b->keys.n; i++) {
        const struct sl_batch_key *k = &b->keys.v[i];
        struct sl_batch_group *g;

        if (k->dropped)
            continue;
        g = &b->groups.v[k->group];
        if (k->kind != SL_LOG_ROW) {
            g->nremovals++;
            result->deletes++;
            continue;
        }
        g->nrows++;
        g->ninserts += k->insert;
        result->inserts += k->insert;
        result->updates += !k->insert;
    }
    /* A base file has rows; what has none is a log. */
    for (size_t i = 0; i < b->groups.n; i++) {
        struct sl_batch_group *g = &b->groups.v[i];

        g->based = !g->slice && !g->log_only && g->nrows;
        g->log_only = !g->slice && !g->based;
    }
}

/* ---- committing ---- */

static const char *operation(const struct sl_log_batch *b)
{
    return b->opts.op == SL_LOG_DELETE ? "DELETE" : b->opts.op == SL_LOG_INSERT ? "INSERT" : "UPSERT";
}

static int put_extra(struct sl_log_batch *b, struct sl_publish *p, const struct sl_log_commit_request *req, sl_err *err)
{
    SL_TRY(sl_publish_extra(p, SL_LIT("schema"), b->t->schema->hudi.json, err));
    for (size_t i = 0; req && i < req->nextra; i++)
        SL_TRY(sl_publish_extra(p, req->extra[i].key, req->extra[i].value, err));
    return SL_OK;
}

static int write_all(struct sl_log_batch *b, const struct sl_view *view, struct sl_publish *publish, struct sl_log_commit_result *result, sl_err *err)
{
    struct sl_emit e = {.b = b, .view = view, .publish = publish, .instant = sl_publish_instant(publish), .result = result};
    char token[64];
    int rc;

    /* Never used by another attempt, so that what is removed after a failure is this attempt's alone. */
    snprintf(token, sizeof token, "0-%u-%u", (unsigned)(sl_random() >> 33), (unsigned)(sl_random() >> 33));
    e.token = sl_str_c(token);
    sl_hudi_instant_text(e.instant, e.text);
    SL_GO(sl_hudi_schema_add_meta(b->t->schema->hudi.json, &e.schema, err));
    SL_GO(sl_emit_bases(&e, err));
    rc = sl_emit_logs(&e, err);
done:
    sl_buf_release(&e.schema);
    return rc;
}

/* A clustering that is planned would drop what is added to its file groups. */
static int check_pending(const struct sl_timeline *tl, sl_err *err)
{
    for (size_t i = 0; i < tl->n; i++) {
        if (tl->v[i].state == SL_HUDI_COMPLETED || (tl->v[i].action != SL_HUDI_REPLACECOMMIT && tl->v[i].action != SL_HUDI_CLUSTERING))
            continue;
        sl_err_set(err, SL_EBUSY, "the table %s has a pending %s (%lld) of another engine", tl->table->label, sl_hudi_action_name(tl->v[i].action),
                   (long long)tl->v[i].time);
        sl_err_hint(err, "let that engine end it or roll it back");
        return SL_EBUSY;
    }
    return SL_OK;
}

static int commit_locked(struct sl_log_batch *b, struct sl_log_lock *lock, const struct sl_log_commit_request *req,
                         struct sl_log_commit_result *result, sl_err *err)
{
    struct sl_view *now = NULL;
    struct sl_publish *publish = NULL;
    struct sl_arena arena = SL_ARENA_INIT;
    const struct sl_hudi_kv *carried;
    bool go_on = true;
    size_t n;
    int rc;

    SL_GO(sl_rollback_dead(b->t, lock, &result->rolled_back, err));
    SL_GO(sl_batch_view(b, &now, err));
    SL_GO(check_pending(now->timeline, err));
    if (req && req->check) {
        SL_GO(sl_carried_extra(now->timeline, &arena, &carried, &n, err));
        SL_GO(req->check(req->user, carried, n, &go_on, err));
        if (!go_on)
            goto done;
    }
    SL_GO(tag_again(b, now, err));
    SL_GO(settle(b, result, err));
    SL_GO(sl_batch_place(b, now, err));
    count(b, result);
    if (result->inserts + result->updates + result->deletes == 0 && !(req && req->allow_empty))
        goto done;
    SL_GO(sl_publish_begin(b->t, lock, now->timeline, SL_HUDI_DELTACOMMIT, &publish, err));
    SL_GO(put_extra(b, publish, req, err));
    SL_GO(write_all(b, now, publish, result, err));
    SL_GO(sl_publish_complete(publish, operation(b), err));
    result->instant = sl_publish_instant(publish);
done:
    sl_publish_end(publish);
    sl_view_free(now);
    sl_arena_release(&arena);
    return rc;
}

int sl_log_batch_commit(struct sl_log_batch *b, const struct sl_log_commit_request *req, struct sl_log_commit_result *out, sl_err *err)
{
    struct sl_log_lock *lock = NULL;
    int rc = SL_OK;

    *out = (struct sl_log_commit_result){0};
    if (!b->opts.lock)
        SL_GO(sl_log_lock_take(b->t, SL_LOG_LOCK_MILLIS, false, &lock, err));
    rc = commit_locked(b, b->opts.lock ? b->opts.lock : lock, req, out, err);
    out->lookup = b->lookup;
done:
    sl_log_lock_drop(lock);
    if (rc != SL_OK)
        sl_err_ctx(err, "write to the table %s", b->t->label);
    return rc;
}

int sl_log_extra(struct sl_log *t, struct sl_arena *a, const struct sl_hudi_kv **extra, size_t *n, sl_err *err)
{
    struct sl_timeline *tl = NULL;
    int rc = sl_timeline_load(t, &tl, err);

    if (rc == SL_OK)
        rc = sl_carried_extra(tl, a, extra, n, err);
    sl_timeline_free(tl);
    return rc;
}
