/* compactor.c - the coordinator inside a writer: fed with commit messages, it reads manifests only at its start or when it lost track. */
#include "compact/compactor.h"

#include <string.h>

#include "base/sys.h"
#include "compact/apply.h"
#include "compact/coordinator.h"
#include "compact/work.h"
#include "table/env.h"

enum {
    TICK_MILLIS = 200,
    ROUND_MILLIS = 1000,  /* between rounds while files come */
    AGE_MILLIS = 10000,   /* a round of ageing; also between scans, and how long results wait for the writer's next commit */
    LOOKS_MOST = 3,       /* for a commit whose answer was lost */
};

/* What one commit of the writer added. */
struct feed {
    struct feed *next;
    struct sl_arena arena;
    const char *user;
    int64_t identifier, snapshot;
    struct sl_manifest_entry *v;
    size_t n;
};

struct sl_compactor {
    struct sl_env *env;
    char *name;                /* owned */
    pthread_t thread;

    pthread_mutex_t lock;      /* to the next gap */
    pthread_cond_t wake;
    struct feed *first, **last;
    bool closing, drain, missed;
    struct sl_compact_report report;

    /* the thread's own: */
    struct sl_append *table;
    struct sl_coordinator *coordinator;
    struct sl_crew *crew;
    SL_VEC(struct sl_apply_item) ready;
    char user[256];
    int64_t identifier;
    bool fresh;                /* no COMPACT was published under this identifier yet */
    bool moved;                /* files came since the last round */
    bool last_round;           /* the round at the end was made */
    int64_t round_at, aged_at, scanned_at, ready_at; /* monotonic ms; 0 = never */
    struct sl_compact_report counts;
};

static int64_t now_millis(void)
{
    return sl_mono_nanos() / 1000000;
}

static void feed_free(struct feed *f)
{
    sl_arena_release(&f->arena);
    sl_free(f);
}

static struct feed *take_feeds(struct sl_compactor *c, bool *closing, bool *drain)
{
    struct timespec until;
    int64_t ns = sl_mono_nanos() + TICK_MILLIS * INT64_C(1000000);

    until.tv_sec = ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&c->lock);
    if (!c->first && !c->closing)
        pthread_cond_timedwait(&c->wake, &c->lock, &until);
    struct feed *all = c->first;
    c->first = NULL;
    c->last = &c->first;
    *closing = c->closing;
    *drain = c->drain;
    if (c->missed)
        sl_coordinator_rescan(c->coordinator);
    c->missed = false;
    c->report = c->counts;
    pthread_mutex_unlock(&c->lock);
    return all;
}

/* ---- the thread ---- */

static int take_feed(struct sl_compactor *c, const struct feed *f, sl_err *err)
{
    snprintf(c->user, sizeof c->user, "%s", f->user);
    c->identifier = f->identifier;
    c->fresh = true;
    c->moved = true;
    return sl_coordinator_feed(c->coordinator, f->snapshot, f->v, f->n, err);
}

static bool is_idle(const struct sl_compactor *c)
{
    return sl_crew_busy(c->crew) == 0 && c->ready.n == 0;
}

/* The table opened anew when its schema has changed. */
static int refresh(struct sl_compactor *c, sl_err *err)
{
    struct sl_append *t = NULL;

    SL_TRY(sl_env_table(c->env, sl_str_c(c->name), &t, err));
    int rc = sl_coordinator_table(c->coordinator, t, err);
    if (rc != SL_OK) {
        sl_append_close(t);
        return rc;
    }
    sl_append_close(c->table);
    c->table = t;
    return SL_OK;
}

/* Everything that a round needs to know. *READY false: that takes a scan or a new look at the table, which would find the files of
 * tasks under way again; so these are finished first. */
static int look(struct sl_compactor *c, bool closing, bool *ready, sl_err *err)
{
    int64_t newest = 0, now = now_millis();

    *ready = false;
    SL_TRY(sl_append_newest_schema_id(c->table, &newest, err));
    bool changed = newest != c->table->schema->id;
    if ((changed || sl_coordinator_must_scan(c->coordinator)) && !is_idle(c))
        return SL_OK;
    if (changed)
        SL_TRY(refresh(c, err));
    if (sl_coordinator_must_scan(c->coordinator)) {
        if (c->scanned_at && !closing && now - c->scanned_at < AGE_MILLIS)
            return SL_OK;
        c->scanned_at = now;
        SL_TRY(sl_coordinator_scan(c->coordinator, &c->counts, err));
    }
    *ready = true;
    return SL_OK;
}

static int give_all(struct sl_compactor *c, struct sl_task_list *tasks, sl_err *err)
{
    for (size_t i = 0; i < tasks->n; i++) {
        SL_TRY(sl_crew_give(c->crew, c->table, &tasks->v[i], err));
        c->counts.tasks_planned++;
    }
    return SL_OK;
}

static int plan(struct sl_compactor *c, bool closing, sl_err *err)
{
    struct sl_task_list tasks = {NULL, 0, 0};
    int64_t now = now_millis();
    bool age = !closing && now - c->aged_at >= AGE_MILLIS, ready = false;
    bool due = closing ? !c->last_round : age || c->round_at == 0 || (c->moved && now - c->round_at >= ROUND_MILLIS);
    int rc = SL_OK;

    if (!due)
        return SL_OK;
    if (closing && !is_idle(c))
        return SL_OK;
    c->last_round = closing;
    c->round_at = now;
    SL_GO(look(c, closing, &ready, err));
    if (!ready)
        goto done;
    if (age)
        c->aged_at = now;
    c->moved = false;
    c->counts.rounds++;
    SL_GO(sl_coordinator_round(c->coordinator, age, &tasks, err));
    SL_GO(give_all(c, &tasks, err));
done:
    if (rc != SL_OK) /* files may have left the pool without a task */
        sl_coordinator_rescan(c->coordinator);
    sl_task_list_release(&tasks);
    return rc;
}

static void release_ready(struct sl_compactor *c, bool discard)
{
    for (size_t i = 0; i < c->ready.n; i++) {
        struct sl_apply_item *item = &c->ready.v[i];

        if (discard && item->state == SL_APPLY_OPEN)
            sl_compact_result_discard(c->table, item->result);
        sl_compact_result_release(item->result);
        sl_free(item->result);
    }
    c->ready.n = 0;
}

static int collect(struct sl_compactor *c, sl_err *err)
{
    struct sl_compact_result *r;

    while ((r = sl_crew_take(c->crew, 0))) {
        struct sl_apply_item *item = sl_vec_push(&c->ready);

        if (!item) {
            sl_compact_result_discard(c->table, r);
            sl_compact_result_release(r);
            sl_free(r);
            return sl_err_nomem(err);
        }
        item->result = r;
        if (c->ready.n == 1)
            c->ready_at = now_millis();
    }
    return SL_OK;
}

/* An answer that was lost is looked up: what is committed must not be done again, and nothing of it removed. */
static int publish(struct sl_compactor *c, struct sl_apply_opts *opts, sl_err *err)
{
    int rc = sl_compact_apply_results(c->table, c->ready.v, c->ready.n, opts, &c->counts, err);

    for (int looks = 0; rc != SL_OK && (err->flags & SL_ERR_UNKNOWN_OUTCOME) && looks < LOOKS_MOST; looks++) {
        opts->look_first = true;
        rc = sl_compact_apply_results(c->table, c->ready.v, c->ready.n, opts, &c->counts, err);
    }
    return rc;
}

/* What was made is a file like any other, perhaps still a small one; what was dropped leaves inputs to be found again. */
static int look_at_states(struct sl_compactor *c, sl_err *err)
{
    for (size_t i = 0; i < c->ready.n; i++) {
        const struct sl_apply_item *item = &c->ready.v[i];
        const struct sl_compact_result *r = item->result;

        if (item->state == SL_APPLY_DONE)
            SL_TRY(sl_coordinator_feed(c->coordinator, c->counts.snapshot, r->outputs, r->noutputs, err));
        else if (item->state == SL_APPLY_AGAIN || r->error == SL_ECONFLICT || r->error == SL_ENOTFOUND)
            sl_coordinator_rescan(c->coordinator);
        else if (item->state == SL_APPLY_FAILED && r->error != SL_ECANCELLED)
            sl_log(SL_LOG_WARN, "compact", "beside the load: a task over %zu files failed: %s", r->task.ninputs,
                   r->error_text ? r->error_text : "an output is missing");
    }
    return SL_OK;
}

/* The first COMPACT after an APPEND goes by the APPEND's identifier; further ones would look like the same commit, so they wait for the
 * next APPEND or, if none comes, go by their tasks. */
static int commit(struct sl_compactor *c, bool closing, sl_err *err)
{
    struct sl_apply_opts opts = {0};

    if (c->ready.n == 0)
        return SL_OK;
    if (closing ? sl_crew_busy(c->crew) > 0 : !c->fresh && now_millis() - c->ready_at < AGE_MILLIS)
        return SL_OK;
    if (c->fresh) {
        opts.user = c->user;
        opts.identifier = c->identifier;
    }
    c->fresh = false;
    int rc = publish(c, &opts, err);
    bool discard = rc != SL_OK && !(err->flags & SL_ERR_UNKNOWN_OUTCOME);
    if (rc == SL_OK)
        rc = look_at_states(c, err);
    if (rc != SL_OK)
        sl_coordinator_rescan(c->coordinator);
    release_ready(c, discard);
    return rc;
}

static int step(struct sl_compactor *c, struct feed *feeds, bool closing, bool drain, sl_err *err)
{
    int rc = SL_OK;

    while (feeds) {
        struct feed *f = feeds;

        feeds = f->next;
        if (rc == SL_OK)
            rc = take_feed(c, f, err);
        feed_free(f);
    }
    SL_TRY(rc);
    if (!closing || drain)
        SL_TRY(plan(c, closing, err));
    SL_TRY(collect(c, err));
    SL_TRY(commit(c, closing, err));
    c->counts.seen = sl_coordinator_seen(c->coordinator);
    c->counts.files_waiting = sl_pool_count(sl_coordinator_pool(c->coordinator));
    return SL_OK;
}

/* Nothing of this may stop the writer: what went wrong is told once, and the files stay as they are. */
static void trouble(struct sl_compactor *c, const sl_err *err)
{
    bool first = !c->counts.failure[0];

    c->counts.tasks_failed++;
    if (first)
        snprintf(c->counts.failure, sizeof c->counts.failure, "%.250s", err->text);
    if (!sl_cancelled())
        sl_log(first ? SL_LOG_WARN : SL_LOG_DEBUG, "compact", "beside the load: %s", err->text);
}

static void *run_compactor(void *arg)
{
    struct sl_compactor *c = arg;
    bool closing = false, drain = true;

    while (!closing || (drain && !sl_cancelled() && !(c->last_round && is_idle(c)))) {
        sl_err err = SL_ERR_INIT;
        struct feed *feeds = take_feeds(c, &closing, &drain);

        if (step(c, feeds, closing, drain, &err) != SL_OK)
            trouble(c, &err);
        if (closing && sl_crew_busy(c->crew) > 0 && drain && !sl_cancelled())
            sl_sleep_millis(10);
    }
    sl_crew_interrupt(c->crew);
    while (sl_crew_busy(c->crew) > 0) {
        struct sl_compact_result *r = sl_crew_take(c->crew, TICK_MILLIS);

        if (!r)
            continue;
        sl_compact_result_discard(c->table, r);
        sl_compact_result_release(r);
        sl_free(r);
    }
    release_ready(c, true);
    return NULL;
}

/* ---- the calls ---- */

static void compactor_free(struct sl_compactor *c)
{
    sl_crew_free(c->crew);
    sl_coordinator_free(c->coordinator);
    sl_append_close(c->table);
    sl_free(c->ready.v);
    sl_free(c->name);
    while (c->first) {
        struct feed *f = c->first;

        c->first = f->next;
        feed_free(f);
    }
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    sl_free(c);
}

static int start(struct sl_compactor *c, uint32_t workers, sl_err *err)
{
    const struct sl_coordinator_opts opts = {0};

    SL_TRY(sl_env_table(c->env, sl_str_c(c->name), &c->table, err));
    SL_TRY(sl_append_check(c->table, SL_WRITE, err));
    SL_TRY(sl_coordinator_new(c->table, &opts, &c->coordinator, err));
    SL_TRY(sl_crew_start(c->env, workers, &c->crew, err));
    int e = pthread_create(&c->thread, NULL, run_compactor, c);
    return e == 0 ? SL_OK : sl_err_sys(err, e, "cannot start a thread");
}

int sl_compactor_open(struct sl_env *env, sl_str table, uint32_t workers, struct sl_compactor **out, sl_err *err)
{
    struct sl_compactor *c = sl_calloc(1, sizeof *c);
    pthread_condattr_t attr;

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    c->env = env;
    c->last = &c->first;
    c->aged_at = now_millis();
    c->name = sl_str_dup(table);
    int rc = c->name ? start(c, workers, err) : sl_err_nomem(err);
    if (rc != SL_OK) {
        compactor_free(c);
        return rc;
    }
    *out = c;
    return SL_OK;
}

/* NULL: out of memory. */
static struct feed *copy_feed(const char *user, int64_t identifier, int64_t snapshot_id, const struct sl_manifest_entry *adds, size_t n)
{
    struct feed *f = sl_calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->user = sl_arena_strdup(&f->arena, sl_str_c(user));
    f->identifier = identifier;
    f->snapshot = snapshot_id;
    f->v = sl_arena_array(&f->arena, n + 1, sizeof *f->v);
    bool ok = f->user && f->v;
    for (; ok && f->n < n; f->n++)
        ok = sl_entry_copy(&f->arena, &adds[f->n], &f->v[f->n]);
    if (ok)
        return f;
    feed_free(f);
    return NULL;
}

void sl_compactor_feed(struct sl_compactor *c, const char *user, int64_t identifier, int64_t snapshot_id,
                       const struct sl_manifest_entry *adds, size_t n)
{
    struct feed *f = copy_feed(user, identifier, snapshot_id, adds, adds ? n : 0);

    pthread_mutex_lock(&c->lock);
    c->missed = c->missed || !f || !adds;
    if (f) {
        *c->last = f;
        c->last = &f->next;
    }
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void sl_compactor_close(struct sl_compactor *c, bool drain, struct sl_compact_report *report)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    c->drain = drain;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    if (report)
        *report = c->counts;
    compactor_free(c);
}
