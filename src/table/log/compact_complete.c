/* compact_complete.c - the commit of a compaction, and taking a plan back. */
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "table/log/compact_priv.h"
#include "table/log/publish.h"

struct completion {
    struct sl_log *t;
    struct sl_log_lock *lock;
    int64_t instant;
    char text[18];
    const struct sl_log_finished *v;
    size_t n;
    struct sl_arena arena;
    struct sl_timeline *timeline;
    struct sl_hudi_compaction_plan plan;
    const char **paths;           /* of the base files to be, in the order of V */
};

/* ---- what stands of the plan ---- */

static void instant_file(const struct completion *c, enum sl_hudi_action action, enum sl_hudi_state state, struct sl_buf *out)
{
    sl_buf_printf(out, "%s/", c->t->instants);
    sl_hudi_timeline_put(out, c->instant, action, state);
}

static int remove_path(struct completion *c, struct sl_buf *path, sl_err *err)
{
    int rc = sl_buf_ok(path, err);

    if (rc == SL_OK)
        rc = sl_store_remove(c->t->store, sl_buf_view(path), err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
    }
    sl_buf_release(path);
    return rc;
}

static int remove_prepared(struct completion *c, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;

    sl_prepared_path(c->instant, &path);
    return remove_path(c, &path, err);
}

/* How the plan stands: SL_LOG_KNOWN, SL_LOG_NO_PLAN, or SL_LOG_DONE for one that is pending and was read. */
static int read_plan(struct completion *c, enum sl_log_outcome *out, sl_err *err)
{
    const struct sl_instant *i;
    struct sl_buf bytes = SL_BUF_INIT;
    int rc;

    SL_TRY(sl_timeline_load(c->t, &c->timeline, err));
    i = sl_timeline_find(c->timeline, c->instant);
    *out = SL_LOG_NO_PLAN;
    if (!i || i->planned != SL_HUDI_COMPACTION)
        return SL_OK;
    *out = i->state == SL_HUDI_COMPLETED ? SL_LOG_KNOWN : SL_LOG_DONE;
    if (*out == SL_LOG_KNOWN)
        return SL_OK;
    SL_GO(sl_instant_read(c->timeline, i, SL_HUDI_REQUESTED, &bytes, err));
    rc = sl_hudi_compaction_decode(&c->arena, sl_buf_view(&bytes), &c->plan, err);
done:
    sl_buf_release(&bytes);
    return rc;
}

static bool is_op(const struct sl_hudi_compaction_op *p, const struct sl_compaction_op *op)
{
    return sl_str_eq(p->file_id, op->file_id) && sl_str_eq(p->partition, op->partition);
}

/* Is each operation of the plan among those given, and nothing else? */
static bool is_whole(const struct completion *c)
{
    if (c->n != c->plan.nops)
        return false;
    for (size_t i = 0; i < c->plan.nops; i++) {
        size_t k = 0;

        while (k < c->n && !is_op(&c->plan.ops[i], c->v[(i + k) % c->n].op)) /* mostly in the order of the plan */
            k++;
        if (k == c->n)
            return false;
    }
    return true;
}

static int check_staged(struct completion *c, sl_err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct sl_log_made *m = c->v[i].made;
        struct sl_buf path = SL_BUF_INIT;
        struct sl_stat st = {0};
        int rc;

        if (!m->staged || !sl_log_staged_ok(sl_str_c(m->staged), c->instant) || !sl_log_made_name_ok(sl_str_c(m->name), c->v[i].op))
            return sl_err_set(err, SL_EINPUT, "\"%.100s\" is no file that a compaction %s made", m->staged ? m->staged : "", c->text);
        sl_log_staged_path(m->staged, &path);
        rc = sl_buf_ok(&path, err);
        if (rc == SL_OK)
            rc = sl_store_stat(c->t->store, sl_buf_view(&path), &st, err);
        sl_buf_release(&path);
        SL_TRY(rc);
        if (st.size != m->size)
            return sl_err_set(err, SL_ECORRUPT, "the staged file \"%s\" has %llu bytes, not %llu", m->staged, (unsigned long long)st.size,
                              (unsigned long long)m->size);
    }
    return SL_OK;
}

/* ---- leftovers of earlier attempts ---- */

static bool of_plan(void *user, const struct sl_view_partition *p)
{
    const struct completion *c = user;

    for (size_t i = 0; i < c->plan.nops; i++)
        if (sl_str_eqc(c->plan.ops[i].partition, p->path))
            return true;
    return false;
}

/* Base files that an attempt named before it died. */
static int sweep_bases(struct completion *c, sl_err *err)
{
    struct sl_view_spec spec = {.wanted = of_plan, .user = c};
    struct sl_view *v = NULL;
    int rc;

    SL_TRY(sl_view_open(c->t, &spec, &v, err));
    for (size_t i = 0; i < v->nstrays; i++) {
        const struct sl_log_file *f = v->strays[i].file;

        if (f->instant != c->instant || f->version) /* a log that was written behind the plan stays */
            continue;
        rc = sl_store_remove(c->t->store, sl_str_c(f->path), err);
        if (rc != SL_ENOTFOUND)
            SL_GO(rc);
    }
    rc = SL_OK;
done:
    sl_view_free(v);
    return rc;
}

static void discard_all(struct completion *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].made->staged && sl_log_staged_ok(sl_str_c(c->v[i].made->staged), c->instant))
            sl_log_made_discard(c->t, c->v[i].made);
}

static void remove_markers(struct completion *c)
{
    char path[64];

    snprintf(path, sizeof path, SL_LOG_MARKERS "/%s", c->text);
    (void)!sl_store_remove_tree(c->t->store, sl_str_c(path), NULL);
}

/* ---- base files get their names ---- */

static int make_path(struct completion *c, const struct sl_log_finished *f, size_t i, sl_err *err)
{
    const sl_str dir = f->op->partition;

    c->paths[i] = sl_arena_printf(&c->arena, SL_STRF "%s%s", SL_STRV(dir), dir.n ? "/" : "", f->made->name);
    return c->paths[i] ? SL_OK : sl_err_nomem(err);
}

/* For stock writers, whose rollbacks go by markers. */
static int mark(struct completion *c, const char *path, sl_err *err)
{
    struct sl_buf marker = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&marker, SL_LOG_MARKERS "/%s/%s.marker.CREATE", c->text, path);
    SL_GO(sl_buf_ok(&marker, err));
    rc = sl_store_put_hint(c->t->store, sl_buf_view(&marker), SL_LIT(""), err);
done:
    sl_buf_release(&marker);
    return rc;
}

static int name_one(struct completion *c, size_t i, sl_err *err)
{
    struct sl_buf staged = SL_BUF_INIT;
    int rc;

    sl_log_staged_path(c->v[i].made->staged, &staged);
    SL_GO(sl_buf_ok(&staged, err));
    SL_GO(sl_log_lock_check(c->lock, err));
    rc = sl_store_rename(c->t->store, sl_buf_view(&staged), sl_str_c(c->paths[i]), err);
done:
    sl_buf_release(&staged);
    return rc;
}

static int sync_dirs(struct completion *c, sl_err *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (i == 0 || !sl_str_eq(c->v[i].op->partition, c->v[i - 1].op->partition))
            SL_TRY(sl_store_sync_dir(c->t->store, c->v[i].op->partition, err));
    return SL_OK;
}

static int name_all(struct completion *c, sl_err *err)
{
    c->paths = sl_arena_array(&c->arena, c->n + 1, sizeof *c->paths);
    if (!c->paths)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->n; i++)
        SL_TRY(make_path(c, &c->v[i], i, err));
    for (size_t i = 0; i < c->n; i++)
        SL_TRY(mark(c, c->paths[i], err));
    SL_TRY(SL_FAILPOINT("compact.marked", err));
    for (size_t i = 0; i < c->n; i++) {
        SL_TRY(name_one(c, i, err));
        SL_TRY(SL_FAILPOINT("compact.named", err));
    }
    return sync_dirs(c, err);
}

/* ---- the commit ---- */

static int by_partition(const void *a, const void *b)
{
    const struct sl_hudi_stat *x = a, *y = b;
    const int cmp = sl_str_cmp(x->partition, y->partition);

    return cmp ? cmp : sl_str_cmp(x->path, y->path);
}

static struct sl_hudi_stat stat_of(struct completion *c, size_t i, const char *base_instant)
{
    const struct sl_compaction_op *op = c->v[i].op;
    const struct sl_log_made *m = c->v[i].made;

    return (struct sl_hudi_stat){
        .partition = op->partition, .partition_path = op->partition, .file_id = op->file_id, .path = sl_str_c(c->paths[i]),
        .prev_commit = sl_str_c(base_instant), .num_writes = m->rows, .num_deletes = m->deletes, .num_inserts = m->inserts,
        .num_update_writes = m->updates, .total_write_bytes = (int64_t)m->size, .file_size = (int64_t)m->size,
        .total_log_records = m->log_records, .total_log_files_compacted = (int64_t)op->nlogs, .total_log_size_compacted = m->log_bytes,
        .total_updated_records_compacted = m->updates, .total_log_blocks = m->log_blocks, .total_corrupt_log_blocks = m->corrupt_blocks,
        .total_rollback_blocks = m->rollback_blocks, .upsert_millis = m->millis, .has_runtime = true,
    };
}

static int encode(struct completion *c, struct sl_buf *out, sl_err *err)
{
    struct sl_hudi_stat *stats = sl_arena_array(&c->arena, c->n + 1, sizeof *stats);
    struct sl_hudi_kv *extra = sl_arena_array(&c->arena, c->plan.nextra + 2, sizeof *extra);
    char *uuid = sl_arena_array(&c->arena, 1, 37);
    size_t nextra = 0;

    if (!stats || !extra || !uuid)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->n; i++) {
        char *text = sl_arena_array(&c->arena, 1, 18);

        if (!text)
            return sl_err_nomem(err);
        sl_hudi_instant_text(c->v[i].op->base_instant, text);
        stats[i] = stat_of(c, i, text);
    }
    if (c->n)
        qsort(stats, c->n, sizeof *stats, by_partition);
    sl_uuid(uuid);
    extra[nextra++] = (struct sl_hudi_kv){SL_LIT("schema"), c->t->schema->hudi.json};
    extra[nextra++] = (struct sl_hudi_kv){SL_LIT("sluice.writer"), sl_str_c(uuid)};
    for (size_t i = 0; i < c->plan.nextra; i++)
        if (sl_str_starts(c->plan.extra[i].key, "sluice.") && !sl_str_eqc(c->plan.extra[i].key, "sluice.writer"))
            extra[nextra++] = c->plan.extra[i];
    const struct sl_hudi_commit commit = {.stats = stats, .nstats = c->n, .compacted = true, .extra = extra, .nextra = nextra,
                                          .operation = SL_LIT("COMPACT")};
    return sl_hudi_commit_encode(&commit, out, err);
}

/* The text of the commit is prepared whole, and gets its name only if the lock was still ours afterwards: who takes the lock away removes
 * what was prepared. */
static int publish(struct completion *c, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT, prepared = SL_BUF_INIT, path = SL_BUF_INIT;
    int rc;

    SL_GO(encode(c, &text, err));
    sl_prepared_path(c->instant, &prepared);
    instant_file(c, SL_HUDI_COMMIT, SL_HUDI_COMPLETED, &path);
    SL_GO(sl_buf_ok(&prepared, err));
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_put_new(c->t->store, sl_buf_view(&prepared), sl_buf_view(&text), err));
    SL_GO(SL_FAILPOINT("compact.prepared", err));
    SL_GO(sl_log_lock_check(c->lock, err));
    SL_GO(SL_FAILPOINT("compact.before_rename", err));
    rc = sl_store_rename(c->t->store, sl_buf_view(&prepared), sl_buf_view(&path), err);
    if (rc == SL_ENOTFOUND || rc == SL_EEXISTS)
        rc = sl_err_set(err, SL_ECONFLICT, "the compaction %s of the table %s was taken over by another process while this one did not run", c->text,
                        c->t->label);
    SL_GO(rc);
    rc = sl_store_sync_dir(c->t->store, sl_str_c(c->t->instants), err);
    if (rc != SL_OK)
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    SL_GO(rc);
    rc = SL_FAILPOINT("compact.completed", err);
done:
    sl_buf_release(&text);
    sl_buf_release(&prepared);
    sl_buf_release(&path);
    return rc;
}

static int put_inflight(struct completion *c, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    instant_file(c, SL_HUDI_COMPACTION, SL_HUDI_INFLIGHT, &path);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(c->t->store, sl_buf_view(&path), SL_LIT(""), err);
    if (rc == SL_EEXISTS) {
        sl_err_clear(err);
        rc = SL_OK;
    }
    SL_GO(rc);
    rc = SL_FAILPOINT("compact.inflight", err);
done:
    sl_buf_release(&path);
    return rc;
}

static int complete(struct completion *c, enum sl_log_outcome *out, sl_err *err)
{
    SL_TRY(read_plan(c, out, err));
    if (*out != SL_LOG_DONE) {
        discard_all(c);
        return SL_OK;
    }
    if (!is_whole(c)) {
        *out = SL_LOG_PARTLY;
        return SL_OK;
    }
    SL_TRY(check_staged(c, err));
    SL_TRY(put_inflight(c, err));
    SL_TRY(remove_prepared(c, err));
    SL_TRY(sweep_bases(c, err));
    SL_TRY(name_all(c, err));
    SL_TRY(publish(c, err));
    remove_markers(c);
    return SL_OK;
}

int sl_log_compact_complete(struct sl_log *t, int64_t instant, const struct sl_log_finished *v, size_t n, enum sl_log_outcome *out,
                            sl_err *err)
{
    struct completion c = {.t = t, .instant = instant, .v = v, .n = n, .arena = SL_ARENA_INIT};
    int rc;

    *out = SL_LOG_PARTLY;
    sl_hudi_instant_text(instant, c.text);
    SL_GO(sl_log_lock_take(t, SL_LOG_LOCK_MILLIS, false, &c.lock, err));
    rc = complete(&c, out, err);
    if (rc == SL_OK && *out == SL_LOG_DONE)
        sl_log_compact_sweep(t); /* what earlier attempts left */
done:
    sl_log_lock_drop(c.lock);
    sl_timeline_free(c.timeline);
    sl_arena_release(&c.arena);
    if (rc != SL_OK)
        sl_err_ctx(err, "committing the compaction %s of the table %s", c.text, t->label);
    return rc;
}
