/* publish.c - one delta commit from its instant to its completion. */
#include "table/log/publish.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "table/log/rollback.h"


struct sl_publish {
    struct sl_log *t;            /* borrowed */
    struct sl_log_lock *lock;    /* borrowed */
    enum sl_hudi_action action;
    int64_t instant;
    char text[18];
    struct sl_arena arena;
    SL_VEC(struct sl_hudi_stat) stats;
    SL_VEC(struct sl_hudi_kv) extra;
    SL_VEC(const char *) marker_dirs;
    bool begun;                  /* files of the timeline may be there */
    bool completed;
    SL_VEC(const char *) files;  /* data files, relative */
};

void sl_prepared_path(int64_t instant, struct sl_buf *out)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    sl_buf_printf(out, SL_LOG_SIDE_DIR "/" SL_PREPARED_PREFIX "%s", text);
}

int64_t sl_publish_instant(const struct sl_publish *p)
{
    return p->instant;
}

/* ---- what it says ---- */

static int copy(struct sl_publish *p, sl_str *s, sl_err *err)
{
    char *c;

    if (!s->p)
        return SL_OK;
    c = sl_arena_strdup(&p->arena, *s);
    if (!c)
        return sl_err_nomem(err);
    s->p = c;
    return SL_OK;
}

int sl_publish_stat(struct sl_publish *p, const struct sl_hudi_stat *stat, sl_err *err)
{
    struct sl_hudi_stat *to = sl_vec_push(&p->stats);
    sl_str *logs;

    if (!to)
        return sl_err_nomem(err);
    *to = *stat;
    SL_TRY(copy(p, &to->partition, err));
    SL_TRY(copy(p, &to->partition_path, err));
    SL_TRY(copy(p, &to->file_id, err));
    SL_TRY(copy(p, &to->path, err));
    SL_TRY(copy(p, &to->prev_commit, err));
    SL_TRY(copy(p, &to->base_file, err));
    SL_TRY(copy(p, &to->prev_base_file, err));
    logs = sl_arena_array(&p->arena, stat->nlog_files + 1, sizeof *logs);
    if (!logs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < stat->nlog_files; i++) {
        logs[i] = stat->log_files[i];
        SL_TRY(copy(p, &logs[i], err));
    }
    to->log_files = logs;
    return SL_OK;
}

int sl_publish_extra(struct sl_publish *p, sl_str key, sl_str value, sl_err *err)
{
    struct sl_hudi_kv *to = NULL;

    for (size_t i = 0; i < p->extra.n; i++)
        if (sl_str_eq(p->extra.v[i].key, key))
            to = &p->extra.v[i];
    if (!value.p) {
        if (to)
            *to = p->extra.v[--p->extra.n];
        return SL_OK;
    }
    if (!to) {
        to = sl_vec_push(&p->extra);
        if (!to)
            return sl_err_nomem(err);
        to->key = key;
        SL_TRY(copy(p, &to->key, err));
    }
    to->value = value;
    return copy(p, &to->value, err);
}

int sl_carried_extra(const struct sl_timeline *tl, struct sl_arena *a, const struct sl_hudi_kv **out, size_t *n, sl_err *err)
{
    *out = NULL;
    *n = 0;
    /* A stock writer's commit carries nothing on, so what an older one said still holds. */
    for (size_t i = tl->n; i > 0; i--) {
        const struct sl_instant *instant = &tl->v[i - 1];
        struct sl_hudi_commit commit;
        struct sl_hudi_kv *kv;
        sl_str carries;

        if (!sl_instant_writes(instant) || instant->state != SL_HUDI_COMPLETED)
            continue;
        SL_TRY(sl_instant_commit(tl, instant, a, &commit, err));
        carries = sl_hudi_commit_extra(&commit, "sluice.writer");
        if (!carries.p)
            continue;
        kv = sl_arena_array(a, commit.nextra + 1, sizeof *kv);
        if (!kv)
            return sl_err_nomem(err);
        for (size_t k = 0; k < commit.nextra; k++)
            if (sl_str_starts(commit.extra[k].key, "sluice."))
                kv[(*n)++] = commit.extra[k];
        *out = kv;
        return SL_OK;
    }
    return SL_OK;
}

/* ---- beginning ---- */

static void instant_file(const struct sl_publish *p, enum sl_hudi_state state, struct sl_buf *out)
{
    sl_buf_printf(out, "%s/", p->t->instants);
    sl_hudi_timeline_put(out, p->instant, p->action, state);
}

/* The text of the commit so far. */
static int encode(const struct sl_publish *p, const char *operation, bool whole, struct sl_buf *out, sl_err *err)
{
    struct sl_hudi_commit c = {.stats = p->stats.v, .nstats = whole ? p->stats.n : 0, .extra = p->extra.v, .nextra = p->extra.n,
                               .operation = sl_str_c(operation)};

    return sl_hudi_commit_encode(&c, out, err);
}

static int put_pending(struct sl_publish *p, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, text = SL_BUF_INIT;
    int rc;

    SL_GO(encode(p, "UNKNOWN", false, &text, err));
    sl_prepared_path(p->instant, &path);
    SL_GO(sl_buf_ok(&path, err));
    p->begun = true;
    /* Its first byte is that of the text to come, which is then written behind it, into this very file or not at all. */
    SL_GO(sl_store_write_unique(p->t->store, sl_buf_view(&path), SL_LIT("{"), err));
    SL_GO(SL_FAILPOINT("publish.prepared", err));
    sl_buf_reset(&path);
    instant_file(p, SL_HUDI_INFLIGHT, &path);
    SL_GO(sl_buf_ok(&path, err));
    /* First of the two, since it tells that the commit is one of ours. */
    SL_GO(sl_store_put_new(p->t->store, sl_buf_view(&path), sl_buf_view(&text), err));
    SL_GO(SL_FAILPOINT("publish.inflight", err));
    sl_buf_reset(&path);
    instant_file(p, SL_HUDI_REQUESTED, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_put_new(p->t->store, sl_buf_view(&path), SL_LIT(""), err));
    rc = SL_FAILPOINT("publish.begun", err);
done:
    sl_buf_release(&path);
    sl_buf_release(&text);
    return rc;
}

int sl_publish_begin(struct sl_log *t, struct sl_log_lock *lock, const struct sl_timeline *tl, enum sl_hudi_action action, struct sl_publish **out,
                     sl_err *err)
{
    struct sl_publish *p = sl_calloc(1, sizeof *p);
    const struct sl_hudi_kv *carried;
    char uuid[37];
    size_t n;
    int rc;

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    p->t = t;
    p->lock = lock;
    p->action = action;
    sl_uuid(uuid);
    SL_GO(sl_log_next_instant(tl, &p->instant, err));
    sl_hudi_instant_text(p->instant, p->text);
    SL_GO(sl_carried_extra(tl, &p->arena, &carried, &n, err));
    for (size_t i = 0; i < n; i++)
        SL_GO(sl_publish_extra(p, carried[i].key, carried[i].value, err));
    SL_GO(sl_publish_extra(p, SL_LIT("sluice.writer"), sl_str_c(uuid), err));
    SL_GO(put_pending(p, err));
    *out = p;
    p = NULL;
done:
    sl_publish_end(p);
    return rc;
}

/* ---- data files ---- */

static int note_file(struct sl_publish *p, sl_str dir, sl_str name, sl_err *err)
{
    const char **to = sl_vec_push(&p->files);

    if (!to || !(*to = sl_arena_printf(&p->arena, SL_STRF "%s" SL_STRF, SL_STRV(dir), dir.n ? "/" : "", SL_STRV(name))))
        return sl_err_nomem(err);
    return SL_OK;
}

int sl_publish_mark(struct sl_publish *p, sl_str dir, sl_str name, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    const char **seen;
    int rc;

    sl_buf_printf(&path, SL_LOG_MARKERS "/%s", p->text);
    if (dir.n) {
        sl_buf_ch(&path, '/');
        sl_buf_add(&path, dir);
    }
    SL_GO(sl_buf_ok(&path, err));
    if (p->marker_dirs.n == 0 || !sl_str_eqc(sl_buf_view(&path), p->marker_dirs.v[p->marker_dirs.n - 1])) {
        seen = sl_vec_push(&p->marker_dirs);
        if (!seen || !(*seen = sl_arena_strdup(&p->arena, sl_buf_view(&path))))
            SL_GOTO_NOMEM(err);
        SL_GO(sl_store_mkdirs(p->t->store, sl_buf_view(&path), err));
    }
    SL_GO(note_file(p, dir, name, err));
    sl_buf_ch(&path, '/');
    sl_buf_add(&path, name);
    sl_buf_addc(&path, ".marker.CREATE");
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_hint(p->t->store, sl_buf_view(&path), SL_LIT(""), err);
done:
    sl_buf_release(&path);
    return rc;
}

int sl_publish_marked(struct sl_publish *p, sl_err *err)
{
    for (size_t i = 0; i < p->marker_dirs.n; i++)
        SL_TRY(sl_store_sync_dir(p->t->store, sl_str_c(p->marker_dirs.v[i]), err));
    p->marker_dirs.n = 0;
    return SL_FAILPOINT("publish.marked", err);
}

int sl_publish_alive(struct sl_publish *p, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_stat st;
    int rc;

    sl_prepared_path(p->instant, &path);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_stat(p->t->store, sl_buf_view(&path), &st, err);
    if (rc == SL_ENOTFOUND)
        rc = sl_err_set(err, SL_ECONFLICT, "the commit %s to the table %s was rolled back by another process while this one did not run", p->text,
                        p->t->label);
done:
    sl_buf_release(&path);
    return rc;
}

int sl_publish_partition(struct sl_publish *p, sl_str dir, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, text = SL_BUF_INIT;
    int depth = dir.n ? 1 : 0;
    bool there;
    int rc;

    for (size_t i = 0; i < dir.n; i++)
        depth += dir.p[i] == '/';
    sl_buf_add(&path, dir);
    sl_buf_addc(&path, dir.n ? "/" SL_HUDI_PARTITION_FILE : SL_HUDI_PARTITION_FILE);
    sl_hudi_partition_file_put(&text, p->instant, depth, sl_now_millis());
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_buf_ok(&text, err));
    SL_GO(sl_store_exists(p->t->store, sl_buf_view(&path), &there, err));
    if (!there)
        rc = sl_store_put_new(p->t->store, sl_buf_view(&path), sl_buf_view(&text), err);
    if (rc == SL_EEXISTS)
        rc = SL_OK;
done:
    sl_buf_release(&path);
    sl_buf_release(&text);
    return rc;
}

/* ---- the commit point ---- */

static int by_partition(const void *a, const void *b)
{
    const struct sl_hudi_stat *x = a, *y = b;
    int c = sl_str_cmp(x->partition, y->partition);

    return c ? c : sl_str_cmp(x->path, y->path);
}

int sl_publish_complete(struct sl_publish *p, const char *operation, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT, prepared = SL_BUF_INIT, path = SL_BUF_INIT;
    int rc;

    if (p->stats.n)
        qsort(p->stats.v, p->stats.n, sizeof *p->stats.v, by_partition);
    SL_GO(encode(p, operation, true, &text, err));
    sl_prepared_path(p->instant, &prepared);
    instant_file(p, SL_HUDI_COMPLETED, &path);
    SL_GO(sl_buf_ok(&prepared, err));
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(SL_FAILPOINT("publish.before_complete", err));
    SL_GO(sl_log_lock_check(p->lock, err));
    rc = sl_store_append(p->t->store, sl_buf_view(&prepared), 1, sl_str_sub(sl_buf_view(&text), 1, text.n), err);
    if (rc == SL_ENOTFOUND)
        rc = sl_publish_alive(p, err);
    SL_GO(rc);
    SL_GO(SL_FAILPOINT("publish.before_rename", err));
    rc = sl_store_rename(p->t->store, sl_buf_view(&prepared), sl_buf_view(&path), err);
    if (rc == SL_ENOTFOUND) {
        rc = sl_publish_alive(p, err);
        goto done;
    }
    SL_GO(rc);
    p->completed = true;
    rc = sl_store_sync_dir(p->t->store, sl_str_c(p->t->instants), err);
    if (rc != SL_OK) /* it is there now, but a loss of power may take it */
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    SL_GO(rc);
    rc = SL_FAILPOINT("publish.completed", err);
done:
    sl_buf_release(&text);
    sl_buf_release(&prepared);
    sl_buf_release(&path);
    return rc;
}

static void remove_markers(struct sl_publish *p)
{
    char path[64];

    snprintf(path, sizeof path, SL_LOG_MARKERS "/%s", p->text);
    (void)!sl_store_remove_tree(p->t->store, sl_str_c(path), NULL);
}

/* Another has rolled the commit back while this process did not run; what it has written since is not in the other's plan. The names are
 * this attempt's alone. */
static void remove_late_files(struct sl_publish *p)
{
    for (size_t i = 0; i < p->files.n; i++)
        (void)!sl_store_remove(p->t->store, sl_str_c(p->files.v[i]), NULL);
    remove_markers(p);
}

void sl_publish_end(struct sl_publish *p)
{
    sl_err err = SL_ERR_INIT;

    if (!p)
        return;
    if (p->completed)
        remove_markers(p);
    else if (p->begun && sl_log_lock_check(p->lock, &err) == SL_ECONFLICT)
        remove_late_files(p);
    else if (p->begun && sl_rollback_failed(p->t, p->lock, p->instant, p->action, &err) != SL_OK)
        sl_log(SL_LOG_WARN, "log", "%s: the commit %s that failed could not be rolled back, the next writer does it: %s", p->t->label, p->text,
               err.text);
    sl_free(p->stats.v);
    sl_free(p->extra.v);
    sl_free(p->marker_dirs.v);
    sl_free(p->files.v);
    sl_arena_release(&p->arena);
    sl_free(p);
}
