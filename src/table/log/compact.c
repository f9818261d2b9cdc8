/* compact.c - when a log table is compacted, and which of its file slices: plans on the timeline. */
#include "table/log/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "table/log/publish.h"
#include "table/log/rollback.h"

/* ---- the table's options ---- */

struct rules {
    bool by_count, by_time, both;   /* of max.delta.commits and max.delta.seconds */
    bool since_request;             /* delta commits are counted from the newest plan, not from the newest compaction */
    int64_t commits, seconds;
    bool largest, most, bounded;    /* strategy: order by bytes or number of logs; bounded by target.io */
    int64_t target_io, least_bytes, least_files;
};

static int number(const struct sl_log *t, const char *key, int64_t dflt, int64_t least, int64_t *out, sl_err *err)
{
    const char *v = sl_log_option(t, key, NULL);

    *out = dflt;
    if (v && (!sl_parse_i64(sl_str_trim(sl_str_c(v)), out) || *out < least))
        return sl_err_set(err, SL_EINPUT, "the option \"%s\" = \"%s\" of the table %s is no whole number from %lld on", key, v, t->label,
                          (long long)least);
    return SL_OK;
}

static int read_trigger(const struct sl_log *t, struct rules *r, sl_err *err)
{
    static const struct {
        const char *name;
        bool by_count, by_time, both, since_request;
    } known[] = {
        {"NUM_COMMITS", true, false, false, false}, {"NUM_COMMITS_AFTER_LAST_REQUEST", true, false, false, true},
        {"TIME_ELAPSED", false, true, false, false}, {"NUM_OR_TIME", true, true, false, false}, {"NUM_AND_TIME", true, true, true, false},
    };
    const char *name = sl_log_option(t, "hoodie.compact.inline.trigger.strategy", "NUM_COMMITS");

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!sl_str_ieqc(sl_str_c(name), known[i].name))
            continue;
        r->by_count = known[i].by_count;
        r->by_time = known[i].by_time;
        r->both = known[i].both;
        r->since_request = known[i].since_request;
        return SL_OK;
    }
    sl_err_set(err, SL_EUNSUPPORTED, "the trigger \"%s\" (hoodie.compact.inline.trigger.strategy) of the table %s is not supported", name, t->label);
    sl_err_hint(err, "NUM_COMMITS, NUM_COMMITS_AFTER_LAST_REQUEST, TIME_ELAPSED, NUM_OR_TIME and NUM_AND_TIME are");
    return SL_EUNSUPPORTED;
}

/* By the class that stock writers name. */
static int read_strategy(const struct sl_log *t, struct rules *r, sl_err *err)
{
    const char *name = sl_log_option(t, "hoodie.compaction.strategy", "LogFileSizeBasedCompactionStrategy"), *dot = strrchr(name, '.');

    name = dot ? dot + 1 : name;
    r->largest = strcmp(name, "LogFileSizeBasedCompactionStrategy") == 0;
    r->most = strcmp(name, "LogFileNumBasedCompactionStrategy") == 0;
    r->bounded = r->largest || r->most || strcmp(name, "BoundedIOCompactionStrategy") == 0;
    if (r->bounded || strcmp(name, "UnBoundedCompactionStrategy") == 0)
        return SL_OK;
    sl_err_set(err, SL_EUNSUPPORTED, "the strategy \"%s\" (hoodie.compaction.strategy) of the table %s is not supported", name, t->label);
    sl_err_hint(err, "LogFileSizeBased, LogFileNumBased, BoundedIO and UnBoundedCompactionStrategy are");
    return SL_EUNSUPPORTED;
}

static int read_rules(const struct sl_log *t, struct rules *r, sl_err *err)
{
    SL_TRY(read_trigger(t, r, err));
    SL_TRY(read_strategy(t, r, err));
    SL_TRY(number(t, "hoodie.compact.inline.max.delta.commits", 5, 1, &r->commits, err));
    SL_TRY(number(t, "hoodie.compact.inline.max.delta.seconds", 3600, 0, &r->seconds, err));
    SL_TRY(number(t, "hoodie.compaction.target.io", 512000, 1, &r->target_io, err));
    SL_TRY(number(t, "hoodie.compaction.logfile.size.threshold", 0, 0, &r->least_bytes, err));
    return number(t, "hoodie.compaction.logfile.num.threshold", 0, 0, &r->least_files, err);
}

/* ---- when ---- */

/* The compaction from which commits and seconds are counted; 0 if there is none. */
static int64_t last_compaction(const struct sl_timeline *tl, bool requested)
{
    int64_t last = 0;

    for (size_t i = 0; i < tl->n; i++)
        if (tl->v[i].planned == SL_HUDI_COMPACTION && (requested || tl->v[i].state == SL_HUDI_COMPLETED))
            last = tl->v[i].time;
    return last;
}

static bool is_due(const struct sl_timeline *tl, const struct rules *r)
{
    const int64_t last = last_compaction(tl, r->since_request);
    int64_t commits = 0, first = 0, since = 0;

    for (size_t i = 0; i < tl->n; i++) {
        if (tl->v[i].time <= last || tl->v[i].action != SL_HUDI_DELTACOMMIT || tl->v[i].state != SL_HUDI_COMPLETED)
            continue;
        first = commits++ ? first : tl->v[i].time;
    }
    if (commits == 0)
        return false;
    const bool enough = commits >= r->commits;
    const bool long_ago = sl_hudi_instant_millis(last ? last : first, &since) && sl_now_millis() - since >= r->seconds * 1000;
    if (r->both)
        return enough && long_ago;
    return (r->by_count && enough) || (r->by_time && long_ago);
}

/* A log of a writer that began before the plan would hang on a slice that the plan supersedes. */
static bool in_the_way(const struct sl_timeline *tl)
{
    for (size_t i = 0; i < tl->n; i++) {
        const struct sl_instant *at = &tl->v[i];

        if (at->state != SL_HUDI_COMPLETED && sl_instant_writes(at) && at->planned != SL_HUDI_COMPACTION)
            return true;
    }
    return false;
}

/* ---- which ---- */

struct choice {
    const struct sl_slice **v;  /* owned */
    size_t n;
    size_t waiting;
};

static uint64_t log_bytes(const struct sl_slice *s)
{
    return s->log_bytes;
}

static int larger_first(const void *a, const void *b)
{
    const uint64_t x = log_bytes(*(const struct sl_slice *const *)a), y = log_bytes(*(const struct sl_slice *const *)b);

    return x > y ? -1 : x < y;
}

static int more_first(const void *a, const void *b)
{
    const size_t x = (*(const struct sl_slice *const *)a)->nlogs, y = (*(const struct sl_slice *const *)b)->nlogs;

    return x > y ? -1 : x < y ? 1 : larger_first(a, b);
}

static int choose(const struct sl_view *v, const struct rules *r, bool all, struct choice *out, sl_err *err)
{
    double io = 0;

    out->v = sl_calloc(v->nslices + 1, sizeof *out->v);
    if (!out->v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->nslices; i++) {
        const struct sl_slice *s = &v->slices[i];

        if (!s->nlogs || s->pending)
            continue;
        out->waiting++;
        if (all || ((int64_t)s->log_bytes >= r->least_bytes && (int64_t)s->nlogs >= r->least_files))
            out->v[out->n++] = s;
    }
    if (!all && out->n && (r->largest || r->most))
        qsort(out->v, out->n, sizeof *out->v, r->largest ? larger_first : more_first);
    for (size_t i = 0; !all && r->bounded && i < out->n; i++) {
        io += (double)(out->v[i]->log_bytes + 2 * out->v[i]->base_bytes) / (1 << 20);
        if (i && io > (double)r->target_io)
            out->n = i;
    }
    out->waiting -= out->n;
    return SL_OK;
}

/* ---- the plan ---- */

static int make_metrics(struct sl_arena *a, const struct sl_slice *s, struct sl_hudi_compaction_op *op, sl_err *err)
{
    const double mb = 1 << 20, reads = (double)(s->log_bytes + s->base_bytes) / mb, writes = (double)s->base_bytes / mb;
    struct sl_hudi_metric *m = sl_arena_array(a, 5, sizeof *m);

    if (!m)
        return sl_err_nomem(err);
    m[0] = (struct sl_hudi_metric){SL_LIT("TOTAL_LOG_FILES"), (double)s->nlogs};
    m[1] = (struct sl_hudi_metric){SL_LIT("TOTAL_LOG_FILES_SIZE"), (double)s->log_bytes};
    m[2] = (struct sl_hudi_metric){SL_LIT("TOTAL_IO_READ_MB"), (double)(int64_t)reads};
    m[3] = (struct sl_hudi_metric){SL_LIT("TOTAL_IO_WRITE_MB"), (double)(int64_t)writes};
    m[4] = (struct sl_hudi_metric){SL_LIT("TOTAL_IO_MB"), (double)(int64_t)(reads + writes)};
    op->metrics = m;
    op->nmetrics = 5;
    return SL_OK;
}

static int make_op(struct sl_arena *a, const struct sl_slice *s, struct sl_hudi_compaction_op *op, sl_err *err)
{
    sl_str *logs = sl_arena_array(a, s->nlogs, sizeof *logs);
    char text[18];

    sl_hudi_instant_text(s->instant, text);
    *op = (struct sl_hudi_compaction_op){.base_instant = sl_arena_str(a, sl_str_c(text)), .file_id = sl_str_c(s->file_id),
                                         .partition = sl_str_c(s->partition->path), .log_files = logs, .nlog_files = s->nlogs};
    if (!logs || !op->base_instant.p)
        return sl_err_nomem(err);
    if (s->base)
        op->data_file = sl_str_c(s->base->name);
    for (size_t i = 0; i < s->nlogs; i++)
        logs[i] = sl_str_c(s->logs[i]->name);
    return make_metrics(a, s, op, err);
}

/* What commits carry forward goes into the plan, and from there into the compaction's commit: that one takes its place among the commits by
 * its instant, so it must not tell what was committed after it. */
static int encode(struct sl_arena *a, const struct sl_timeline *tl, const struct choice *c, struct sl_buf *out, sl_err *err)
{
    struct sl_hudi_compaction_op *ops = sl_arena_array(a, c->n, sizeof *ops);
    struct sl_hudi_compaction_plan plan = {.ops = ops, .nops = c->n, .version = 2, .preserve_metadata = true};

    if (!ops)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->n; i++)
        SL_TRY(make_op(a, c->v[i], &ops[i], err));
    SL_TRY(sl_carried_extra(tl, a, &plan.extra, &plan.nextra, err));
    return sl_hudi_compaction_encode(&plan, out, err);
}

static int put_plan(struct sl_log *t, struct sl_log_lock *lock, const struct sl_view *v, const struct choice *c,
                    struct sl_log_schedule_result *out, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    int64_t instant;
    int rc;

    SL_GO(encode(&a, v->timeline, c, &bytes, err));
    SL_GO(sl_log_next_instant(v->timeline, &instant, err));
    sl_buf_printf(&path, "%s/", t->instants);
    sl_hudi_timeline_put(&path, instant, SL_HUDI_COMPACTION, SL_HUDI_REQUESTED);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(SL_FAILPOINT("compact.before_plan", err));
    SL_GO(sl_log_lock_check(lock, err));
    SL_GO(sl_store_put_new(t->store, sl_buf_view(&path), sl_buf_view(&bytes), err));
    out->instant = instant;
    out->ops = c->n;
    rc = SL_FAILPOINT("compact.planned", err);
done:
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    sl_arena_release(&a);
    return rc;
}

static int schedule(struct sl_log *t, struct sl_log_lock *lock, const struct sl_log_schedule_opts *opts, struct sl_log_schedule_result *out,
                    sl_err *err)
{
    struct sl_view_spec spec = {.wanted = opts->wanted, .user = opts->user};
    const struct sl_instant *newest;
    struct sl_view *v = NULL;
    struct choice c = {NULL, 0, 0};
    struct rules r = {0};
    int rc;

    SL_GO(read_rules(t, &r, err));
    SL_GO(sl_rollback_dead(t, lock, NULL, err));
    SL_GO(sl_view_open(t, &spec, &v, err));
    newest = sl_timeline_latest(v->timeline, SL_INSTANT_LAST);
    out->newest = newest ? newest->time : 0;
    SL_GO(choose(v, &r, opts->now, &c, err));
    out->waiting = c.waiting + c.n;
    out->in_the_way = in_the_way(v->timeline);
    if (c.n == 0 || out->in_the_way || !(opts->now || is_due(v->timeline, &r)))
        goto done;
    out->waiting = c.waiting;
    rc = put_plan(t, lock, v, &c, out, err);
done:
    sl_free(c.v);
    sl_view_free(v);
    return rc;
}

int sl_log_compact_schedule(struct sl_log *t, const struct sl_log_schedule_opts *opts, struct sl_log_schedule_result *out, sl_err *err)
{
    struct sl_log_lock *lock = NULL;
    int rc;

    *out = (struct sl_log_schedule_result){0};
    SL_GO(sl_log_check_write(t, err));
    SL_GO(sl_log_lock_take(t, SL_LOG_LOCK_MILLIS, false, &lock, err));
    rc = schedule(t, lock, opts, out, err);
done:
    sl_log_lock_drop(lock);
    if (rc != SL_OK)
        sl_err_ctx(err, "planning a compaction of the table %s", t->label);
    return rc;
}

/* ---- what is planned ---- */

static int add_op(struct sl_compaction_ops *ops, int64_t instant, const struct sl_hudi_compaction_op *from, sl_err *err)
{
    struct sl_compaction_op *op = sl_vec_push(&ops->v);

    if (!op)
        return sl_err_nomem(err);
    *op = (struct sl_compaction_op){.instant = instant, .partition = from->partition, .file_id = from->file_id, .base = from->data_file,
                             .logs = from->log_files, .nlogs = from->nlog_files};
    if (!op->partition.p)
        op->partition = SL_LIT("");
    if (op->base.n == 0)
        op->base.p = NULL;
    if (!sl_hudi_file_id_ok(op->file_id) || !sl_hudi_instant_parse(from->base_instant, &op->base_instant))
        return sl_err_set(err, SL_ECORRUPT, "an operation of the plan names no file group or no instant");
    return SL_OK;
}

static int read_plan(const struct sl_timeline *tl, const struct sl_instant *i, struct sl_compaction_ops *ops, sl_err *err)
{
    struct sl_hudi_compaction_plan plan;
    struct sl_buf bytes = SL_BUF_INIT;
    int rc = sl_instant_read(tl, i, SL_HUDI_REQUESTED, &bytes, err);

    if (rc == SL_ENOTFOUND) { /* taken back meanwhile */
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    SL_GO(sl_hudi_compaction_decode(&ops->arena, sl_buf_view(&bytes), &plan, err));
    for (size_t k = 0; k < plan.nops; k++)
        SL_GO(add_op(ops, i->time, &plan.ops[k], err));
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the plan of compaction %lld of the table %s", (long long)i->time, tl->table->label);
    sl_buf_release(&bytes);
    return rc;
}

int sl_log_compact_pending(struct sl_log *t, struct sl_compaction_ops *out, sl_err *err)
{
    struct sl_timeline *tl = NULL;
    int rc;

    *out = (struct sl_compaction_ops)SL_COMPACTION_OPS_INIT;
    SL_GO(sl_timeline_load(t, &tl, err));
    for (size_t i = 0; i < tl->n; i++)
        if (tl->v[i].planned == SL_HUDI_COMPACTION && tl->v[i].state != SL_HUDI_COMPLETED)
            SL_GO(read_plan(tl, &tl->v[i], out, err));
done:
    sl_timeline_free(tl);
    if (rc != SL_OK)
        sl_compaction_ops_release(out);
    return rc;
}

void sl_compaction_ops_release(struct sl_compaction_ops *o)
{
    sl_free(o->v.v);
    sl_arena_release(&o->arena);
    *o = (struct sl_compaction_ops)SL_COMPACTION_OPS_INIT;
}
