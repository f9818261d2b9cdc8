/* clean_plan.c - which files of a log table nobody needs any more. */
#include <string.h>

#include "base/sys.h"
#include "table/log/clean.h"
#include "table/log/leases.h"

enum policy { BY_COMMITS, BY_HOURS, BY_VERSIONS };

struct rule {
    enum policy policy;
    int64_t commits, millis, versions;
    bool both;                    /* what either of commits and time keeps */
    int64_t earliest;             /* by commits or time; SL_INSTANT_LAST: nothing but the newest is needed */
    int64_t keep;                 /* of leases and pending instants: they want all from there on */
    struct sl_arena arena;
    SL_VEC(int64_t) savepoints;
    struct sl_map *saved;         /* paths that savepoints name */
};

/* ---- the table's options ---- */

/* Both names that stock has had for it. */
static const char *option(const struct sl_log *t, const char *what)
{
    char key[80];
    const char *v;

    snprintf(key, sizeof key, "hoodie.clean.%s", what);
    v = sl_log_option(t, key, NULL);
    snprintf(key, sizeof key, "hoodie.cleaner.%s", what);
    return v ? v : sl_log_option(t, key, NULL);
}

static int number(const struct sl_log *t, const char *what, int64_t dflt, int64_t *out, sl_err *err)
{
    const char *v = option(t, what);

    *out = dflt;
    if (v && (!sl_parse_i64(sl_str_trim(sl_str_c(v)), out) || *out < 1 || *out > 1000000000))
        return sl_err_set(err, SL_EINPUT, "the option \"hoodie.clean.%s\" = \"%s\" of the table %s is no whole number from 1 on", what, v, t->label);
    return SL_OK;
}

static const char *const policy_names[] = {"KEEP_LATEST_COMMITS", "KEEP_LATEST_BY_HOURS", "KEEP_LATEST_FILE_VERSIONS"};

static int read_rule(const struct sl_log *t, const struct sl_expire_options *o, struct rule *r, sl_err *err)
{
    const char *name = option(t, "policy");
    size_t i = 0;

    while (name && i < 3 && !sl_str_ieqc(sl_str_c(name), policy_names[i]))
        i++;
    if (i == 3)
        return sl_err_set(err, SL_EUNSUPPORTED, "the policy \"%s\" (hoodie.clean.policy) of the table %s is not supported", name, t->label);
    r->policy = (enum policy)i;
    SL_TRY(number(t, "commits.retained", 10, &r->commits, err));
    SL_TRY(number(t, "hours.retained", 24, &r->millis, err));
    SL_TRY(number(t, "fileversions.retained", 3, &r->versions, err));
    r->millis *= 3600 * 1000;
    if (o->retain_most || o->limit)
        return sl_err_set(err, SL_EINPUT, "the table %s is a log table: of it are kept --retain-last N commits, or what is younger than --older-than",
                          t->label);
    if (o->has_older_than) {
        r->policy = BY_HOURS;
        r->millis = o->older_than;
    }
    if (o->retain_last) {
        r->commits = o->retain_last;
        r->policy = o->has_older_than ? BY_HOURS : BY_COMMITS;
        r->both = o->has_older_than;
    }
    return SL_OK;
}

/* ---- from which instant on ---- */

static bool is_commit(const struct sl_instant *i)
{
    return i->state == SL_HUDI_COMPLETED && sl_instant_writes(i);
}

/* The oldest of the N newest commits; 0 if there are not more than N, so that all are kept. */
static int64_t by_commits(const struct sl_timeline *tl, int64_t n)
{
    int64_t seen = 0;

    for (size_t i = tl->n; i-- > 0;) {
        if (!is_commit(&tl->v[i]))
            continue;
        if (++seen == n) {
            for (size_t k = i; k-- > 0;)
                if (is_commit(&tl->v[k]))
                    return tl->v[i].time;
            return 0;
        }
    }
    return 0;
}

/* The commit that was the newest so long ago: it and all later ones are kept. */
static int64_t by_time(const struct sl_timeline *tl, int64_t millis)
{
    const int64_t then = sl_hudi_instant_of_millis(sl_now_millis() - millis);
    const struct sl_instant *i = sl_timeline_latest(tl, then);

    return i ? i->time : 0;
}

static void find_earliest(const struct sl_timeline *tl, struct rule *r)
{
    if (r->policy == BY_VERSIONS) {
        r->earliest = SL_INSTANT_LAST;
        return;
    }
    r->earliest = r->policy == BY_COMMITS ? by_commits(tl, r->commits) : by_time(tl, r->millis);
    if (r->both) {
        const int64_t also = by_commits(tl, r->commits);

        r->earliest = also < r->earliest ? also : r->earliest;
    }
}

/* What is pending may be committed at any moment, and then reads what was there before it. */
static int64_t first_pending(const struct sl_timeline *tl)
{
    for (size_t i = 0; i < tl->n; i++)
        if (tl->v[i].state != SL_HUDI_COMPLETED && sl_instant_writes(&tl->v[i]))
            return tl->v[i].time - 1;
    return INT64_MAX;
}

/* ---- savepoints ---- */

static int take_savepoint(const struct sl_view *v, const struct sl_instant *i, struct rule *r, sl_err *err)
{
    struct sl_hudi_savepoint s;
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    int64_t *at = sl_vec_push(&r->savepoints);
    int rc = SL_OK;

    if (!at)
        return sl_err_nomem(err);
    *at = i->time;
    if (i->state != SL_HUDI_COMPLETED)
        return SL_OK;
    SL_GO(sl_instant_read(v->timeline, i, SL_HUDI_COMPLETED, &bytes, err));
    SL_GO(sl_hudi_savepoint_decode(&r->arena, sl_buf_view(&bytes), &s, err));
    for (size_t p = 0; p < s.npartitions; p++) {
        for (size_t f = 0; f < s.partitions[p].nfiles; f++) {
            sl_buf_reset(&path);
            sl_buf_add(&path, s.partitions[p].partition);
            sl_buf_addc(&path, s.partitions[p].partition.n ? "/" : "");
            sl_buf_add(&path, s.partitions[p].files[f]);
            SL_GO(sl_buf_ok(&path, err));
            void **slot = sl_map_at(r->saved, sl_buf_view(&path));
            if (!slot)
                SL_GOTO_NOMEM(err);
            *slot = r;
        }
    }
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the savepoint %lld of the table %s", (long long)i->time, v->table->label);
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

static int take_savepoints(const struct sl_view *v, struct rule *r, sl_err *err)
{
    r->saved = sl_map_new();
    if (!r->saved)
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->timeline->n; i++)
        if (v->timeline->v[i].action == SL_HUDI_SAVEPOINT)
            SL_TRY(take_savepoint(v, &v->timeline->v[i], r, err));
    return SL_OK;
}

/* ---- groups ---- */

/* The first slice that a query as of INSTANT reads; all later ones may belong to it. */
static size_t slice_as_of(const struct sl_group *g, int64_t instant)
{
    size_t at = 0;

    for (size_t i = 0; i < g->nslices && g->slices[i].instant <= instant; i++)
        if (g->slices[i].base)
            at = i;
    return at;
}

/* The first of the newest N slices with a base file. */
static size_t slice_of_version(const struct sl_group *g, int64_t n)
{
    size_t i = g->nslices;

    while (i > 0 && n > 0)
        n -= g->slices[--i].base != NULL;
    return i;
}

static bool is_saved(const struct rule *r, const struct sl_group *g, size_t i)
{
    for (size_t k = 0; k < r->savepoints.n; k++) {
        const size_t from = slice_as_of(g, r->savepoints.v[k]);
        size_t to = from + 1;

        while (to < g->nslices && !g->slices[to].base)
            to++;
        if (i >= from && i < to && g->slices[from].instant <= r->savepoints.v[k])
            return true;
    }
    return false;
}

static int take_file(struct sl_clean_choice *c, const struct rule *r, const struct sl_group *g, const struct sl_log_file *f, sl_err *err)
{
    struct sl_clean_item *to;

    if (sl_map_get(r->saved, sl_str_c(f->path)))
        return SL_OK;
    to = sl_vec_push(&c->v);
    if (!to)
        return sl_err_nomem(err);
    *to = (struct sl_clean_item){f, g->partition};
    c->bytes += f->size;
    return SL_OK;
}

static int take_slice(struct sl_clean_choice *c, const struct rule *r, const struct sl_group *g, size_t i, sl_err *err)
{
    const struct sl_file_slice *s = &g->slices[i];

    if (is_saved(r, g, i))
        return SL_OK;
    if (s->base)
        SL_TRY(take_file(c, r, g, s->base, err));
    for (size_t k = 0; k < s->nlogs; k++)
        SL_TRY(take_file(c, r, g, s->logs[k], err));
    return SL_OK;
}

static int take_group(struct sl_clean_choice *c, const struct rule *r, const struct sl_group *g, sl_err *err)
{
    const int64_t want = r->earliest < r->keep ? r->earliest : r->keep;
    size_t end = slice_as_of(g, want);

    if (r->policy == BY_VERSIONS) {
        const size_t also = slice_of_version(g, r->versions);

        end = also < end ? also : end;
    }
    /* Replaced by an overwrite or a clustering that everybody who counts sees. */
    if (g->replaced && g->replaced <= want)
        end = g->nslices;
    for (size_t i = 0; i < end; i++)
        SL_TRY(take_slice(c, r, g, i, err));
    /* As of instants before the first slice that stays the group is not whole any more. */
    if (r->policy == BY_VERSIONS && end) {
        const int64_t from = end < g->nslices ? g->slices[end].instant : g->replaced;

        c->earliest = from > c->earliest ? from : c->earliest;
    }
    return SL_OK;
}

/* ---- all ---- */

static int choose(const struct sl_view *v, const struct sl_expire_options *o, struct rule *r, struct sl_clean_choice *out, sl_err *err)
{
    struct sl_leases leases;
    const int64_t stale = o->consumer_age > 0 ? o->consumer_age : SL_READER_STALE_MILLIS;

    SL_TRY(read_rule(v->table, o, r, err));
    find_earliest(v->timeline, r);
    /* After the timeline and the files: a reader that comes later sees at least this state. */
    SL_TRY(sl_log_leases_read(v->table, stale, !o->common.dry_run, &leases, err));
    SL_TRY(take_savepoints(v, r, err));
    r->keep = first_pending(v->timeline);
    if (leases.oldest < r->keep && leases.oldest < r->earliest) {
        out->held_by = leases.oldest;
        snprintf(out->reader, sizeof out->reader, "%s", leases.reader);
    }
    r->keep = leases.oldest < r->keep ? leases.oldest : r->keep;
    out->dead = leases.dead;
    snprintf(out->policy, sizeof out->policy, "%s", policy_names[r->policy]);
    if (r->policy != BY_VERSIONS)
        out->earliest = r->earliest < r->keep ? r->earliest : r->keep;
    for (size_t i = 0; i < v->ngroups; i++)
        SL_TRY(take_group(out, r, &v->groups[i], err));
    return SL_OK;
}

int sl_clean_choose(const struct sl_view *v, const struct sl_expire_options *o, struct sl_clean_choice *out, sl_err *err)
{
    struct rule r = {.arena = SL_ARENA_INIT};
    int rc;

    *out = (struct sl_clean_choice){0};
    rc = choose(v, o, &r, out, err);
    sl_free(r.savepoints.v);
    sl_map_free(r.saved, NULL);
    sl_arena_release(&r.arena);
    if (rc != SL_OK)
        sl_clean_choice_release(out);
    return rc;
}

void sl_clean_choice_release(struct sl_clean_choice *c)
{
    sl_free(c->v.v);
    *c = (struct sl_clean_choice){0};
}
