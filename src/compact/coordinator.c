/* coordinator.c - follows snapshots, keeps the pool, makes tasks. */
#include "compact/coordinator.h"

#include <string.h>

#include "base/sys.h"
#include "table/append/manifests.h"

struct sl_coordinator {
    struct sl_append *table; /* the caller's */
    struct sl_coordinator_opts opts; /* its texts are copied to ARENA */
    struct sl_arena arena;
    struct sl_pool_rules rules;
    struct sl_part_filter *filter;
    struct sl_pool *pool;
    int64_t seen;            /* 0: nothing yet */
    int64_t scanned;         /* the snapshot read in full last */
    char mark[64];           /* of that snapshot */
    char index_manifest[256]; /* of that snapshot, "" if none */
    bool rescan;
};

static int take_rules(struct sl_coordinator *c, sl_err *err)
{
    SL_TRY(sl_pool_rules_of(c->table->schema, &c->rules, err));
    c->rules.full = c->opts.full;
    return SL_OK;
}

static int new_pool(struct sl_coordinator *c, sl_err *err)
{
    sl_pool_free(c->pool);
    c->pool = NULL;
    return sl_pool_new(&c->rules, &c->pool, err);
}

int sl_coordinator_new(struct sl_append *t, const struct sl_coordinator_opts *opts, struct sl_coordinator **out, sl_err *err)
{
    struct sl_coordinator *c = sl_calloc(1, sizeof *c);
    sl_str *texts;
    int rc = SL_OK;

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    c->opts = *opts;
    texts = sl_arena_array(&c->arena, opts->npartition + 1, sizeof *texts);
    if (!texts)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < opts->npartition; i++) {
        texts[i] = sl_arena_str(&c->arena, opts->partition[i]);
        if (!texts[i].p)
            SL_GOTO_NOMEM(err);
    }
    c->opts.partition = texts;
    SL_GO(sl_coordinator_table(c, t, err));
    *out = c;
    c = NULL;
done:
    sl_coordinator_free(c);
    return rc;
}

void sl_coordinator_free(struct sl_coordinator *c)
{
    if (!c)
        return;
    sl_part_filter_free(c->filter);
    sl_pool_free(c->pool);
    sl_arena_release(&c->arena);
    sl_free(c);
}

int sl_coordinator_table(struct sl_coordinator *c, struct sl_append *t, sl_err *err)
{
    struct sl_part_filter *filter = NULL;

    SL_TRY(sl_part_filter_new(t, c->opts.partition, c->opts.npartition, &filter, err));
    sl_part_filter_free(c->filter);
    c->filter = filter;
    c->table = t;
    c->rescan = true;
    SL_TRY(take_rules(c, err));
    return new_pool(c, err);
}

void sl_coordinator_rescan(struct sl_coordinator *c)
{
    c->rescan = true;
}

bool sl_coordinator_must_scan(const struct sl_coordinator *c)
{
    return c->rescan;
}

int64_t sl_coordinator_seen(const struct sl_coordinator *c)
{
    return c->seen;
}

struct sl_pool *sl_coordinator_pool(struct sl_coordinator *c)
{
    return c->pool;
}

/* ---- what was seen ---- */

static int mark_of(const struct sl_snapshot *s, char out[64], sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    const char *mark = NULL;
    int rc = sl_compact_mark(&a, s, &mark, err);

    if (rc == SL_OK)
        snprintf(out, 64, "%s", mark);
    sl_arena_release(&a);
    return rc;
}

static const char *index_of(const struct sl_snapshot *s)
{
    return s->index_manifest ? s->index_manifest : "";
}

static int remember(struct sl_coordinator *c, const struct sl_snapshot *s, sl_err *err)
{
    SL_TRY(mark_of(s, c->mark, err));
    snprintf(c->index_manifest, sizeof c->index_manifest, "%s", index_of(s));
    c->seen = s->id;
    return SL_OK;
}

/* Is the snapshot seen last still the same one? After a rollback its id may be gone, or be another's (P6). */
static int seen_is_there(struct sl_coordinator *c, bool *out, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    char mark[64];
    int rc;

    *out = false;
    rc = sl_snapshot_get(c->table, c->seen, &s, err);
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    if (rc == SL_OK)
        rc = mark_of(&s, mark, err);
    if (rc == SL_OK)
        *out = strcmp(mark, c->mark) == 0;
    sl_snapshot_release(&s);
    return rc;
}

/* ---- scans ---- */

static int pool_live(struct sl_coordinator *c, const struct sl_live_set *live, struct sl_dv_places *places, sl_err *err)
{
    struct sl_compact_dv dv;

    for (size_t i = 0; i < live->n; i++) {
        if (sl_pool_count(c->pool) >= c->rules.scan_files) {
            c->rescan = true; /* the rest at the next scan, when these are done */
            return SL_OK;
        }
        if (!sl_part_filter_match(c->filter, live->v[i]->partition))
            continue;
        SL_TRY(sl_dv_places_find(places, live->v[i], &dv, err));
        SL_TRY(sl_pool_add(c->pool, live->v[i], &dv, err));
    }
    return SL_OK;
}

static int scan_all(struct sl_coordinator *c, const struct sl_snapshot *s, struct sl_compact_report *report, sl_err *err)
{
    struct sl_dv_places *places = NULL;
    struct sl_live_set live = {0};
    int rc;

    SL_GO(sl_dv_places_new(c->table, s, &places, err));
    SL_GO(sl_live_files(c->table, s, NULL, &live, err));
    SL_GO(new_pool(c, err));
    c->rescan = false;
    SL_GO(pool_live(c, &live, places, err));
    SL_GO(remember(c, s, err));
    c->scanned = s->id;
    report->full_scans++;
    report->files_live = live.files_total;
    sl_metric_set(SL_M_LIVE_FILES, (int64_t)live.files_total);
done:
    if (rc != SL_OK)
        c->rescan = true;
    sl_live_release(&live);
    sl_dv_places_free(places);
    return rc;
}

static int take_manifest(struct sl_coordinator *c, const struct sl_manifest *m, int64_t *live, sl_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct sl_manifest_entry *e = &m->v[i];

        *live += e->kind == SL_FILE_DELETE ? -1 : 1;
        if (!sl_part_filter_match(c->filter, e->partition))
            continue;
        if (e->kind == SL_FILE_DELETE)
            SL_TRY(sl_pool_remove(c->pool, e, err));
        else
            SL_TRY(sl_pool_add(c->pool, e, NULL, err));
    }
    return SL_OK;
}

static int scan_delta(struct sl_coordinator *c, const struct sl_snapshot *s, struct sl_compact_report *report, sl_err *err)
{
    struct sl_manifest_list list = {.arena = SL_ARENA_INIT};
    int64_t live = (int64_t)report->files_live;
    int rc;

    SL_GO(sl_snapshot_manifests(c->table, s, SL_LIST_DELTA, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        const struct sl_manifest *m = NULL;

        SL_GO(sl_manifest_load(c->table, &list.v[i], &m, err));
        rc = take_manifest(c, m, &live, err);
        sl_manifest_unref(c->table, m);
        SL_GO(rc);
    }
    SL_GO(remember(c, s, err));
    report->files_live = live > 0 ? (uint64_t)live : 0;
    sl_metric_set(SL_M_LIVE_FILES, live);
done:
    sl_manifest_list_release(&list);
    return rc;
}

/* Follow the snapshots up to LATEST; *FULL becomes true when that is not possible. */
static int follow(struct sl_coordinator *c, int64_t latest, bool *full, struct sl_compact_report *report, sl_err *err)
{
    while (c->seen < latest && !*full) {
        struct sl_snapshot s = {.arena = SL_ARENA_INIT};

        SL_TRY(sl_cancel_check(err));
        int rc = sl_snapshot_get(c->table, c->seen + 1, &s, err);
        if (rc == SL_OK && strcmp(index_of(&s), c->index_manifest) != 0)
            *full = true;
        else if (rc == SL_OK)
            rc = scan_delta(c, &s, report, err);
        /* Expired, or its manifests have just been. */
        if (rc == SL_ENOTFOUND) {
            *full = true;
            rc = SL_OK;
        }
        sl_snapshot_release(&s);
        if (rc != SL_OK) {
            c->rescan = true; /* half of a delta may be in the pool */
            return rc;
        }
    }
    return SL_OK;
}

static int scan_latest(struct sl_coordinator *c, struct sl_compact_report *report, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    int rc = sl_snapshot_latest(c->table, &s, err);

    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        c->seen = c->scanned = 0;
        c->rescan = false;
        rc = new_pool(c, err);
    } else if (rc == SL_OK) {
        rc = scan_all(c, &s, report, err);
    }
    sl_snapshot_release(&s);
    return rc;
}

int sl_coordinator_scan(struct sl_coordinator *c, struct sl_compact_report *report, sl_err *err)
{
    bool there = false, full = c->rescan || c->seen == 0;
    int64_t latest = 0;

    SL_TRY(sl_snapshot_latest_id(c->table, &latest, err));
    if (!full) {
        SL_TRY(seen_is_there(c, &there, err));
        full = !there || latest < c->seen;
    }
    if (!full)
        SL_TRY(follow(c, latest, &full, report, err));
    if (full)
        SL_TRY(scan_latest(c, report, err));
    report->seen = c->seen;
    report->files_waiting = sl_pool_count(c->pool);
    return SL_OK;
}

/* ---- fed ---- */

/* An id that is not new: the last scan saw it, or the table was rolled back below what was seen. */
static int feed_old(struct sl_coordinator *c, sl_err *err)
{
    bool there = false;

    SL_TRY(seen_is_there(c, &there, err));
    c->rescan = c->rescan || !there;
    return SL_OK;
}

static int feed_files(struct sl_coordinator *c, const struct sl_manifest_entry *adds, size_t n, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (sl_pool_count(c->pool) >= c->rules.scan_files) {
            c->rescan = true; /* as a scan does */
            return SL_OK;
        }
        if (sl_part_filter_match(c->filter, adds[i].partition))
            SL_TRY(sl_pool_add(c->pool, &adds[i], NULL, err));
    }
    return SL_OK;
}

int sl_coordinator_feed(struct sl_coordinator *c, int64_t id, const struct sl_manifest_entry *adds, size_t n, sl_err *err)
{
    struct sl_snapshot s = {.arena = SL_ARENA_INIT};
    int rc;

    if (c->rescan)
        return SL_OK; /* that scan will find them */
    if (id <= c->scanned)
        return feed_old(c, err);
    rc = sl_snapshot_get(c->table, id, &s, err);
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        c->rescan = true;
        return SL_OK;
    }
    if (rc == SL_OK)
        rc = feed_files(c, adds, n, err);
    if (rc == SL_OK && id > c->seen)
        rc = remember(c, &s, err);
    if (rc != SL_OK)
        c->rescan = true; /* some may be missing */
    sl_snapshot_release(&s);
    return rc;
}

/* ---- tasks ---- */

static int copy_dv(struct sl_arena *a, const struct sl_compact_dv *from, struct sl_compact_dv *to, sl_err *err)
{
    *to = *from;
    if (!from->index_file.p)
        return SL_OK;
    to->index_file = sl_arena_str(a, from->index_file);
    return to->index_file.p ? SL_OK : sl_err_nomem(err);
}

static int partition_text(const struct sl_append *t, struct sl_compact_task *task, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    struct sl_value *values = sl_arena_array(&task->arena, t->npartition + 1, sizeof *values);
    int rc;

    if (!values)
        return sl_err_nomem(err);
    SL_GO(sl_append_partition(t, task->partition, values, err));
    sl_append_partition_text(t, values, &text);
    SL_GO(sl_buf_ok(&text, err));
    task->partition_text = sl_arena_strdup(&task->arena, sl_buf_view(&text));
    if (!task->partition_text)
        rc = sl_err_nomem(err);
done:
    sl_buf_release(&text);
    return rc;
}

static int fill_task(const struct sl_append *t, const struct sl_pool_file *const *files, size_t n, struct sl_compact_task *task,
                     sl_err *err)
{
    task->partition = sl_arena_str(&task->arena, files[0]->entry.partition);
    task->inputs = sl_arena_array(&task->arena, n, sizeof *task->inputs);
    if (!task->id || !task->table || !task->mark || !task->partition.p || !task->inputs)
        return sl_err_nomem(err);
    if (t->branch && !(task->branch = sl_arena_strdup(&task->arena, sl_str_c(t->branch))))
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (!sl_entry_copy(&task->arena, &files[i]->entry, &task->inputs[i].entry))
            return sl_err_nomem(err);
        task->inputs[i].entry.partition = task->partition;
        SL_TRY(copy_dv(&task->arena, &files[i]->dv, &task->inputs[i].dv, err));
    }
    task->ninputs = n;
    return partition_text(t, task, err);
}

int sl_compact_task_make(const struct sl_append *t, int64_t snapshot, const char *mark, uint64_t target_bytes,
                         const struct sl_pool_file *const *files, size_t n, struct sl_compact_task *out, sl_err *err)
{
    char id[37];

    sl_uuid(id);
    *out = (struct sl_compact_task){.arena = SL_ARENA_INIT, .snapshot = snapshot, .schema_id = t->schema->id, .target_bytes = target_bytes};
    out->id = sl_arena_strdup(&out->arena, sl_str_c(id));
    out->table = sl_arena_strdup(&out->arena, sl_str_c(t->path));
    out->mark = sl_arena_strdup(&out->arena, sl_str_c(mark));
    int rc = fill_task(t, files, n, out, err);
    if (rc != SL_OK)
        sl_compact_task_release(out);
    return rc;
}

struct round_user {
    struct sl_coordinator *c;
    struct sl_task_list *out;
};

static int add_task(void *user, const struct sl_pool_file *const *files, size_t n, sl_err *err)
{
    struct round_user *r = user;
    struct sl_compact_task *task = sl_vec_push(r->out);

    if (!task)
        return sl_err_nomem(err);
    int rc = sl_compact_task_make(r->c->table, r->c->seen, r->c->mark, r->c->rules.target_bytes, files, n, task, err);
    if (rc != SL_OK)
        r->out->n--;
    return rc;
}

int sl_coordinator_round(struct sl_coordinator *c, bool ageing, struct sl_task_list *out, sl_err *err)
{
    struct round_user r = {c, out};

    return sl_pool_round(c->pool, ageing, add_task, &r, err);
}

void sl_task_list_release(struct sl_task_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        sl_compact_task_release(&l->v[i]);
    sl_free(l->v);
    *l = (struct sl_task_list){NULL, 0, 0};
}

/* ---- kept in the table ---- */

int sl_coordinator_save(const struct sl_coordinator *c, size_t waiting, struct sl_arena *a, struct sl_option *out, sl_err *err)
{
    out[0] = (struct sl_option){SL_COMPACT_PROPERTY_SNAPSHOT, sl_arena_printf(a, "%lld", (long long)c->seen)};
    out[1] = (struct sl_option){SL_COMPACT_PROPERTY_MARK, sl_arena_strdup(a, sl_str_c(c->mark))};
    out[2] = (struct sl_option){SL_COMPACT_PROPERTY_WAITING, sl_arena_printf(a, "%zu", waiting)};
    return out[0].value && out[1].value && out[2].value ? SL_OK : sl_err_nomem(err);
}

int sl_coordinator_resume(struct sl_coordinator *c, sl_err *err)
{
    struct sl_snapshot latest = {.arena = SL_ARENA_INIT}, s = {.arena = SL_ARENA_INIT};
    int64_t id = 0, waiting = -1;
    char mark[64];
    int rc = sl_snapshot_latest(c->table, &latest, err);

    if (rc == SL_ENOTFOUND)
        return SL_OK;
    SL_GO(rc);
    const char *seen = sl_snapshot_property(&latest, SL_COMPACT_PROPERTY_SNAPSHOT);
    const char *kept = sl_snapshot_property(&latest, SL_COMPACT_PROPERTY_MARK);
    const char *left = sl_snapshot_property(&latest, SL_COMPACT_PROPERTY_WAITING);
    /* Files that waited then are in no later delta: only a full scan finds them. */
    if (!seen || !kept || !left || !sl_parse_i64(sl_str_c(seen), &id) || !sl_parse_i64(sl_str_c(left), &waiting) || waiting != 0)
        goto done;
    rc = sl_snapshot_get(c->table, id, &s, err);
    if (rc == SL_ENOTFOUND) {
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    SL_GO(mark_of(&s, mark, err));
    if (strcmp(mark, kept) != 0)
        goto done;
    SL_GO(remember(c, &s, err));
    c->rescan = false;
done:
    sl_snapshot_release(&s);
    sl_snapshot_release(&latest);
    return rc;
}
