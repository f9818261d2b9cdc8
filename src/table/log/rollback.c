/* rollback.c - takes back what a delta commit wrote. */
#include "table/log/rollback.h"

#include <string.h>

#include "base/sys.h"
#include "format/hudi_log.h"
#include "table/log/publish.h"

enum {
    MARKERS_BYTES_MAX = 64 << 20,
    STOCK_ALIVE_MILLIS = 2 * 60 * 1000,      /* since the last heart-beat of a stock writer */
    STOCK_QUIET_MILLIS = 60 * 60 * 1000,     /* of one that gives none */
};

/* ---- what is to be removed ---- */

struct victim {
    sl_str dir, name;
    bool append;        /* a stock marker that does not say that the file is its writer's alone */
};

struct removal {
    struct sl_log *t;
    struct sl_arena arena;
    int64_t target, instant;              /* the commit; the rollback's own */
    enum sl_hudi_action action;           /* of the commit */
    SL_VEC(struct victim) files;          /* by folder */
    size_t removed;
};

static void removal_release(struct removal *r)
{
    sl_free(r->files.v);
    sl_arena_release(&r->arena);
}

static int add_file(struct removal *r, sl_str dir, sl_str name, bool append, sl_err *err)
{
    struct victim *v = sl_vec_push(&r->files);
    char *d, *n;

    if (!v)
        return sl_err_nomem(err);
    d = sl_arena_strdup(&r->arena, dir);
    n = sl_arena_strdup(&r->arena, name);
    if (!d || !n)
        return sl_err_nomem(err);
    *v = (struct victim){{d, dir.n}, {n, name.n}, append};
    return SL_OK;
}

/* "<data file>.marker.CREATE" */
static int add_marker(struct removal *r, sl_str dir, sl_str marker, sl_err *err)
{
    ptrdiff_t at = sl_str_find(marker, SL_LIT(".marker."));

    return at <= 0 ? SL_OK : add_file(r, dir, sl_str_sub(marker, 0, (size_t)at), sl_str_ends(marker, ".marker.APPEND"), err);
}

/* Stock's timeline server keeps many markers in one file, a line each: "<partition>/<data file>.marker.CREATE". */
static int add_marker_file(struct removal *r, sl_str path, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    sl_str rest;
    int rc;

    SL_GO(sl_store_get(r->t->store, path, MARKERS_BYTES_MAX, &bytes, err));
    for (rest = sl_buf_view(&bytes); rest.n;) {
        const char *feed = memchr(rest.p, '\n', rest.n);
        sl_str line = sl_str_trim(sl_str_sub(rest, 0, feed ? (size_t)(feed - rest.p) : rest.n));
        const char *slash = line.n ? memrchr(line.p, '/', line.n) : NULL;
        size_t cut = slash ? (size_t)(slash - line.p) : 0;

        rest = sl_str_sub(rest, feed ? (size_t)(feed - rest.p) + 1 : rest.n, rest.n);
        SL_GO(add_marker(r, sl_str_sub(line, 0, cut), sl_str_sub(line, slash ? cut + 1 : 0, line.n), err));
    }
done:
    sl_buf_release(&bytes);
    return rc;
}

static int add_markers(struct removal *r, sl_str root, sl_str dir, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    sl_buf_add(&path, root);
    if (dir.n)
        sl_buf_ch(&path, '/');
    sl_buf_add(&path, dir);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_list(r->t->store, sl_buf_view(&path), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        const sl_str name = sl_str_c(all.v[i].name);

        if (!all.v[i].is_dir && dir.n == 0 && sl_str_starts(name, "MARKERS") && !sl_str_eqc(name, "MARKERS.type")) {
            sl_buf_printf(&path, "/" SL_STRF, SL_STRV(name));
            SL_GO(sl_buf_ok(&path, err));
            SL_GO(add_marker_file(r, sl_buf_view(&path), err));
            path.n -= name.n + 1;
        } else if (!all.v[i].is_dir) {
            SL_GO(add_marker(r, dir, name, err));
        } else {
            char *sub = sl_arena_printf(&r->arena, SL_STRF "%s" SL_STRF, SL_STRV(dir), dir.n ? "/" : "", SL_STRV(name));

            if (!sub)
                SL_GOTO_NOMEM(err);
            SL_GO(add_markers(r, root, sl_str_c(sub), err));
        }
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&path);
    return rc;
}

static int markers_of(struct removal *r, sl_err *err)
{
    char text[18], root[64];

    sl_hudi_instant_text(r->target, text);
    snprintf(root, sizeof root, SL_LOG_MARKERS "/%s", text);
    return add_markers(r, sl_str_c(root), SL_LIT(""), err);
}

/* ---- removing ---- */

struct reading {
    struct sl_log *t;
    sl_str path;
};

static int read_some(void *user, int64_t offset, size_t n, char *to, sl_err *err)
{
    const struct reading *r = user;
    struct sl_buf bytes = SL_BUF_INIT;
    int rc = sl_store_get_range(r->t->store, r->path, (uint64_t)offset, n, &bytes, err);

    if (rc == SL_OK && n)
        memcpy(to, bytes.p, n);
    sl_buf_release(&bytes);
    return rc;
}

/* Does a log file hold anything that another instant wrote? */
static int is_alone(struct removal *r, sl_str path, bool *alone, sl_err *err)
{
    struct reading reading = {r->t, path};
    struct sl_hudi_source source = {.read = read_some, .user = &reading};
    struct sl_hudi_log *log = NULL;
    struct sl_hudi_block block;
    struct sl_hudi_damage damage;
    enum sl_hudi_item item;
    struct sl_stat st;
    int64_t instant;
    int rc;

    *alone = true;
    rc = sl_store_stat(r->t->store, path, &st, err);
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    SL_TRY(rc);
    source.size = (int64_t)st.size;
    SL_GO(sl_hudi_log_open(&source, &log, err));
    do {
        SL_GO(sl_hudi_log_next(log, &r->arena, &item, &block, &damage, err));
        if (item == SL_HUDI_ITEM_BLOCK && (!sl_hudi_instant_parse(sl_hudi_header(&block, SL_HUDI_H_INSTANT), &instant) || instant != r->target))
            *alone = false;
    } while (item != SL_HUDI_ITEM_END && *alone);
done:
    sl_hudi_log_close(log);
    return rc;
}

static int remove_file(struct removal *r, const struct victim *v, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    bool alone = true;
    int rc;

    sl_buf_add(&path, v->dir);
    sl_buf_addc(&path, v->dir.n ? "/" : "");
    sl_buf_add(&path, v->name);
    SL_GO(sl_buf_ok(&path, err));
    if (v->append)
        SL_GO(is_alone(r, sl_buf_view(&path), &alone, err));
    if (!alone) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "the log \"%s\" of the table %s holds blocks of a failed commit among others", path.p, r->t->label);
        sl_err_hint(err, "roll back the commit %lld with the engine that wrote it", (long long)r->target);
        goto done;
    }
    rc = sl_store_remove(r->t->store, sl_buf_view(&path), err);
    if (rc == SL_ENOTFOUND)
        rc = SL_OK;
    else if (rc == SL_OK)
        r->removed++;
done:
    sl_buf_release(&path);
    return rc;
}

static int remove_files(struct removal *r, sl_err *err)
{
    for (size_t i = 0; i < r->files.n; i++) {
        const struct victim *v = &r->files.v[i];

        SL_TRY(remove_file(r, v, err));
        if (i + 1 == r->files.n || !sl_str_eq(v->dir, v[1].dir)) {
            int rc = sl_store_sync_dir(r->t->store, v->dir, err);

            if (rc != SL_OK && rc != SL_ENOTFOUND)
                return rc;
        }
        SL_TRY(SL_FAILPOINT("rollback.removing", err));
    }
    return SL_OK;
}

/* ---- the rollback's own files ---- */

static int put_state(struct removal *r, enum sl_hudi_state state, sl_str bytes, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&path, "%s/", r->t->instants);
    sl_hudi_timeline_put(&path, r->instant, SL_HUDI_ROLLBACK, state);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(r->t->store, sl_buf_view(&path), bytes, err);
    if (rc == SL_EEXISTS) /* of a run before */
        rc = SL_OK;
done:
    sl_buf_release(&path);
    return rc;
}

/* How many of the files from I on are in its folder. */
static size_t same_dir(const struct removal *r, size_t i)
{
    size_t n = 1;

    while (i + n < r->files.n && sl_str_eq(r->files.v[i].dir, r->files.v[i + n].dir))
        n++;
    return n;
}

/* Paths as stock writes them: absolute. */
static int full_paths(struct removal *r, size_t from, size_t n, const sl_str **out, sl_err *err)
{
    sl_str *v = sl_arena_array(&r->arena, n + 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct victim *f = &r->files.v[from + i];
        const char *path = sl_arena_printf(&r->arena, "%s/" SL_STRF "%s" SL_STRF, r->t->path, SL_STRV(f->dir), f->dir.n ? "/" : "", SL_STRV(f->name));

        if (!path)
            return sl_err_nomem(err);
        v[i] = sl_str_c(path);
    }
    *out = v;
    return SL_OK;
}

static int put_plan(struct removal *r, const char *target, sl_err *err)
{
    struct sl_hudi_rollback_request *requests = sl_arena_array(&r->arena, r->files.n + 1, sizeof *requests);
    struct sl_hudi_rollback_plan plan = {{sl_str_c(target), sl_str_c(sl_hudi_action_name(r->action))}, requests, 0, 1};
    struct sl_buf bytes = SL_BUF_INIT;
    int rc;

    if (!requests)
        return sl_err_nomem(err);
    for (size_t i = 0, n; i < r->files.n; i += n) {
        struct sl_hudi_rollback_request *q = &requests[plan.nrequests++];

        n = same_dir(r, i);
        *q = (struct sl_hudi_rollback_request){.partition = r->files.v[i].dir, .file_id = SL_LIT(""), .base_instant = SL_LIT(""), .ndelete_files = n};
        SL_TRY(full_paths(r, i, n, &q->delete_files, err));
    }
    SL_GO(sl_hudi_rollback_plan_encode(&plan, &bytes, err));
    SL_GO(put_state(r, SL_HUDI_REQUESTED, sl_buf_view(&bytes), err));
    rc = put_state(r, SL_HUDI_INFLIGHT, SL_LIT(""), err);
done:
    sl_buf_release(&bytes);
    return rc;
}

static int put_done(struct removal *r, const char *target, int64_t begun, sl_err *err)
{
    struct sl_hudi_rollback_partition *parts = sl_arena_array(&r->arena, r->files.n + 1, sizeof *parts);
    const sl_str commit = sl_str_c(target);
    const struct sl_hudi_instant_info info = {commit, sl_str_c(sl_hudi_action_name(r->action))};
    struct sl_buf bytes = SL_BUF_INIT;
    char text[18];
    int rc;

    if (!parts)
        return sl_err_nomem(err);
    sl_hudi_instant_text(r->instant, text);
    struct sl_hudi_rollback done = {.start = sl_str_c(text), .millis = sl_now_millis() - begun, .files_deleted = (int64_t)r->removed,
                                    .commits = &commit, .ncommits = 1, .partitions = parts, .instants = &info, .ninstants = 1, .version = 1};
    for (size_t i = 0, n; i < r->files.n; i += n) {
        struct sl_hudi_rollback_partition *p = &parts[done.npartitions++];

        n = same_dir(r, i);
        *p = (struct sl_hudi_rollback_partition){.partition = r->files.v[i].dir, .ndeleted = n};
        SL_TRY(full_paths(r, i, n, &p->deleted, err));
    }
    SL_GO(sl_hudi_rollback_encode(&done, &bytes, err));
    rc = put_state(r, SL_HUDI_COMPLETED, sl_buf_view(&bytes), err);
done:
    sl_buf_release(&bytes);
    return rc;
}

/* ---- all together ---- */

static int remove_if_there(struct sl_log *t, sl_str path, sl_err *err)
{
    int rc = sl_store_remove(t->store, path, err);

    if (rc == SL_ENOTFOUND)
        sl_err_clear(err);
    return rc == SL_ENOTFOUND ? SL_OK : rc;
}

static int remove_prepared(struct removal *r, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    sl_prepared_path(r->target, &path);
    SL_GO(sl_buf_ok(&path, err));
    rc = remove_if_there(r->t, sl_buf_view(&path), err);
done:
    sl_buf_release(&path);
    return rc;
}

static int remove_name(struct removal *r, const char *target, enum sl_hudi_action action, enum sl_hudi_state state, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, name = SL_BUF_INIT;
    int rc;

    /* The name begins with the instant as it was written, 14 digits in old tables. */
    sl_hudi_timeline_put(&name, r->target, action, state);
    sl_buf_printf(&path, "%s/%s", r->t->instants, target);
    sl_buf_add(&path, sl_str_sub(sl_buf_view(&name), 17, name.n));
    SL_GO(sl_buf_ok(&name, err));
    SL_GO(sl_buf_ok(&path, err));
    rc = remove_if_there(r->t, sl_buf_view(&path), err);
done:
    sl_buf_release(&path);
    sl_buf_release(&name);
    return rc;
}

/* A commit that compacted is pending under another name. */
static int remove_state(struct removal *r, const char *target, enum sl_hudi_state state, sl_err *err)
{
    SL_TRY(remove_name(r, target, r->action, state, err));
    return r->action == SL_HUDI_COMMIT && state != SL_HUDI_COMPLETED ? remove_name(r, target, SL_HUDI_COMPACTION, state, err) : SL_OK;
}

/* From the plan, which is on disk, to the end. TARGET is the instant's text. */
static int run(struct removal *r, const char *target, sl_err *err)
{
    const int64_t begun = sl_now_millis();
    char markers[64];

    SL_TRY(remove_prepared(r, err));
    SL_TRY(remove_state(r, target, SL_HUDI_COMPLETED, err)); /* a commit that is taken back: from here on it is not one */
    SL_TRY(sl_store_sync_dir(r->t->store, sl_str_c(r->t->instants), err));
    SL_TRY(SL_FAILPOINT("rollback.begun", err));
    SL_TRY(remove_files(r, err));
    SL_TRY(SL_FAILPOINT("rollback.removed", err));
    SL_TRY(put_done(r, target, begun, err));
    SL_TRY(SL_FAILPOINT("rollback.done", err));
    /* The inflight file last: without it nobody would look for the rest. */
    SL_TRY(remove_state(r, target, SL_HUDI_REQUESTED, err));
    snprintf(markers, sizeof markers, SL_LOG_MARKERS "/%s", target);
    SL_TRY(sl_store_remove_tree(r->t->store, sl_str_c(markers), err));
    SL_TRY(remove_state(r, target, SL_HUDI_INFLIGHT, err));
    return sl_store_sync_dir(r->t->store, sl_str_c(r->t->instants), err);
}

static int begin(struct removal *r, const struct sl_timeline *tl, sl_err *err)
{
    char target[18];

    sl_hudi_instant_text(r->target, target);
    SL_TRY(remove_prepared(r, err));
    SL_TRY(sl_log_next_instant(tl, &r->instant, err));
    SL_TRY(put_plan(r, target, err));
    SL_TRY(SL_FAILPOINT("rollback.planned", err));
    return run(r, target, err);
}

int sl_rollback_failed(struct sl_log *t, struct sl_log_lock *lock, int64_t instant, enum sl_hudi_action action, sl_err *err)
{
    struct removal r = {.t = t, .target = instant, .action = action};
    struct sl_timeline *tl = NULL;
    int rc;

    SL_GO(sl_log_lock_check(lock, err));
    SL_GO(sl_timeline_load(t, &tl, err));
    SL_GO(markers_of(&r, err));
    rc = begin(&r, tl, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "rolling back the commit %lld of the table %s", (long long)instant, t->label);
    sl_timeline_free(tl);
    removal_release(&r);
    return rc;
}

/* Files of the commit as it says itself. */
static int files_of_commit(struct removal *r, const struct sl_timeline *tl, const struct sl_instant *i, sl_err *err)
{
    struct sl_hudi_commit commit;

    SL_TRY(sl_instant_commit(tl, i, &r->arena, &commit, err));
    for (size_t k = 0; k < commit.nstats; k++) {
        const sl_str path = commit.stats[k].path;
        const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
        const size_t cut = slash ? (size_t)(slash - path.p) : 0;

        if (path.n)
            SL_TRY(add_file(r, sl_str_sub(path, 0, cut), sl_str_sub(path, slash ? cut + 1 : 0, path.n), false, err));
    }
    return SL_OK;
}

int sl_rollback_completed(struct sl_log *t, const struct sl_instant *i, const struct sl_upkeep *upkeep, size_t *files, sl_err *err)
{
    struct removal r = {.t = t, .target = i->time, .action = i->action};
    struct sl_timeline *tl = NULL;
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    SL_GO(sl_timeline_load(t, &tl, err));
    SL_GO(files_of_commit(&r, tl, i, err));
    *files += r.files.n;
    for (size_t k = 0; upkeep->file && k < r.files.n; k++) {
        sl_buf_reset(&path);
        sl_buf_printf(&path, SL_STRF "%s" SL_STRF, SL_STRV(r.files.v[k].dir), r.files.v[k].dir.n ? "/" : "", SL_STRV(r.files.v[k].name));
        SL_GO(sl_buf_ok(&path, err));
        upkeep->file(upkeep->user, path.p, 0);
    }
    if (!upkeep->dry_run)
        rc = begin(&r, tl, err);
done:
    sl_buf_release(&path);
    sl_timeline_free(tl);
    removal_release(&r);
    return rc;
}

/* ---- rollbacks that died ---- */

/* A path of a plan, absolute or "file:/..." where stock wrote it: relative to the table, or "" if it is none of it. */
static sl_str relative(const struct sl_log *t, sl_str path)
{
    const size_t n = strlen(t->path);

    if (sl_str_starts(path, "file:"))
        path = sl_str_sub(path, 5, path.n);
    while (path.n > 1 && path.p[0] == '/' && path.p[1] == '/')
        path = sl_str_sub(path, 1, path.n);
    if (path.n <= n + 1 || memcmp(path.p, t->path, n) != 0 || path.p[n] != '/')
        return (sl_str){"", 0};
    return sl_str_sub(path, n + 1, path.n);
}

/* The table may have been moved since the plan was written: then the partition and the file's name say where it is. */
static int plan_file(struct removal *r, sl_str partition, sl_str path, sl_err *err)
{
    const sl_str rel = relative(r->t, path), from = rel.n ? rel : path;
    const char *slash = memrchr(from.p, '/', from.n);
    const sl_str name = slash ? sl_str_sub(from, (size_t)(slash - from.p) + 1, from.n) : from;

    if (!rel.n)
        return add_file(r, partition, name, false, err);
    return add_file(r, slash ? sl_str_sub(rel, 0, (size_t)(slash - rel.p)) : SL_LIT(""), name, false, err);
}

static int finish(struct sl_log *t, const struct sl_timeline *tl, const struct sl_instant *i, sl_err *err)
{
    struct removal r = {.t = t, .instant = i->time};
    struct sl_hudi_rollback_plan plan;
    struct sl_buf bytes = SL_BUF_INIT;
    char target[32];
    int rc;

    SL_GO(sl_instant_read(tl, i, SL_HUDI_REQUESTED, &bytes, err));
    SL_GO(sl_hudi_rollback_plan_decode(&r.arena, sl_buf_view(&bytes), &plan, err));
    if (!sl_hudi_instant_parse(plan.target.instant, &r.target) || !sl_hudi_action_parse(plan.target.action, &r.action) ||
        plan.target.instant.n >= sizeof target) {
        rc = sl_err_set(err, SL_ECORRUPT, "the plan of the rollback names no instant");
        goto done;
    }
    snprintf(target, sizeof target, SL_STRF, SL_STRV(plan.target.instant));
    for (size_t k = 0; k < plan.nrequests; k++) {
        const struct sl_hudi_rollback_request *q = &plan.requests[k];

        if (q->nlog_blocks) {
            rc = sl_err_set(err, SL_EUNSUPPORTED, "a pending rollback that appends rollback blocks to logs is not supported");
            sl_err_hint(err, "let the engine that began it end it");
            goto done;
        }
        for (size_t f = 0; f < q->ndelete_files; f++)
            SL_GO(plan_file(&r, q->partition, q->delete_files[f], err));
    }
    sl_log(SL_LOG_INFO, "log", "%s: finishing the rollback %lld", t->label, (long long)i->time);
    SL_GO(put_state(&r, SL_HUDI_INFLIGHT, SL_LIT(""), err));
    rc = run(&r, target, err);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "finishing the rollback %lld of the table %s", (long long)i->time, t->label);
    sl_buf_release(&bytes);
    removal_release(&r);
    return rc;
}

/* ---- who is dead ---- */

static bool fresh(struct sl_log *t, sl_str path, int64_t millis)
{
    struct sl_stat st;

    return sl_store_stat(t->store, path, &st, NULL) == SL_OK && sl_now_millis() - st.mtime_millis < millis;
}

/* Ours hold the lock as long as they live, so under the lock all of ours are dead. Stock writers take it for moments only. */
static int is_dead(struct sl_log *t, const struct sl_timeline *tl, const struct sl_instant *i, bool *dead, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_hudi_commit commit;
    char text[18], beat[64];
    bool beats;
    int rc = SL_OK;

    *dead = true;
    if (i->files & (1 << SL_HUDI_INFLIGHT)) {
        SL_GO(sl_instant_read(tl, i, SL_HUDI_INFLIGHT, &bytes, err));
        if (sl_hudi_commit_decode(&arena, sl_buf_view(&bytes), &commit, NULL) == SL_OK && sl_hudi_commit_extra(&commit, "sluice.writer").p)
            goto done;
    }
    sl_hudi_instant_text(i->time, text);
    snprintf(beat, sizeof beat, ".hoodie/.heartbeat/%s", text);
    SL_GO(sl_store_exists(t->store, sl_str_c(beat), &beats, err));
    if (beats) {
        *dead = !fresh(t, sl_str_c(beat), STOCK_ALIVE_MILLIS);
        goto done;
    }
    sl_instant_path(tl, i, i->state, &path);
    SL_GO(sl_buf_ok(&path, err));
    *dead = !fresh(t, sl_buf_view(&path), STOCK_QUIET_MILLIS);
done:
    sl_arena_release(&arena);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

/* Markers of commits that are completed, or are no more. */
static int sweep(struct sl_log *t, const struct sl_timeline *tl, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf path = SL_BUF_INIT;
    int64_t instant;
    int rc;

    SL_GO(sl_store_list(t->store, SL_LIT(SL_LOG_MARKERS), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        if (!sl_hudi_instant_parse(sl_str_c(all.v[i].name), &instant) || sl_timeline_fate(tl, instant) != SL_COMMITTED)
            continue;
        sl_buf_reset(&path);
        sl_buf_printf(&path, SL_LOG_MARKERS "/%s", all.v[i].name);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(sl_store_remove_tree(t->store, sl_buf_view(&path), err));
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&path);
    return rc;
}

/* A writer that died before its instant had a name in the timeline left its prepared file and nothing else. Who publishes holds the lock, so
 * under it all of them are of the dead. */
static int sweep_prepared(struct sl_log *t, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    SL_GO(sl_store_list(t->store, SL_LIT(SL_LOG_SIDE_DIR), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        if (!sl_str_starts(sl_str_c(all.v[i].name), SL_PREPARED_PREFIX))
            continue;
        sl_buf_reset(&path);
        sl_buf_printf(&path, SL_LOG_SIDE_DIR "/%s", all.v[i].name);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(remove_if_there(t, sl_buf_view(&path), err));
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&path);
    return rc;
}

int sl_rollback_dead(struct sl_log *t, struct sl_log_lock *lock, size_t *n, sl_err *err)
{
    struct sl_timeline *tl = NULL;
    size_t count = 0;
    bool dead;
    int rc;

    SL_GO(sl_timeline_load(t, &tl, err));
    for (size_t i = 0; i < tl->n; i++)
        if (tl->v[i].action == SL_HUDI_ROLLBACK && tl->v[i].state != SL_HUDI_COMPLETED)
            SL_GO(finish(t, tl, &tl->v[i], err));
    for (size_t i = 0; i < tl->n; i++) {
        struct sl_buf path = SL_BUF_INIT;
        bool there = false;

        if (tl->v[i].action != SL_HUDI_DELTACOMMIT || tl->v[i].state == SL_HUDI_COMPLETED)
            continue;
        sl_instant_path(tl, &tl->v[i], tl->v[i].state, &path);
        rc = sl_buf_ok(&path, err);
        if (rc == SL_OK)
            rc = sl_store_exists(t->store, sl_buf_view(&path), &there, err);
        sl_buf_release(&path);
        SL_GO(rc);
        if (!there) /* a rollback that was finished just now took it */
            continue;
        SL_GO(is_dead(t, tl, &tl->v[i], &dead, err));
        if (!dead)
            continue;
        sl_log(SL_LOG_INFO, "log", "%s: rolling back the commit %lld, whose writer is gone", t->label, (long long)tl->v[i].time);
        SL_GO(sl_rollback_failed(t, lock, tl->v[i].time, tl->v[i].action, err));
        count++;
    }
    SL_GO(sweep(t, tl, err));
    rc = sweep_prepared(t, err);
done:
    if (n)
        *n = count;
    sl_timeline_free(tl);
    return rc;
}
