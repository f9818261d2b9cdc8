/*
 * view_groups.c - file slices of each group, and the one slice that is read.
 *
 * Layout 1 (version 6): a log carries the instant of its slice. Layout 2: it carries its own, and goes to the newest base file that is not later
 * than its completion.
 */
#include <stdlib.h>
#include <string.h>

#include "table/log/view_priv.h"

typedef SL_VEC(const struct sl_log_file *) file_list;

struct builder {
    struct sl_listing *l;
    const struct sl_found *files; /* sorted; of the view's arena */
    size_t n;
    SL_VEC(struct sl_stray) strays;
    SL_VEC(struct sl_group) groups;
    SL_VEC(struct sl_slice) slices;
    /* of the group at hand */
    const struct sl_view_partition *partition;
    const struct sl_group_mark *mark;  /* NULL: nothing was said of it */
    file_list bases, logs;             /* visible ones, in order */
    SL_VEC(struct sl_file_slice) parts;
};

static int by_group(const void *a, const void *b)
{
    const struct sl_found *x = a, *y = b;
    int cmp;

    if (x->partition != y->partition)
        return x->partition < y->partition ? -1 : 1;
    cmp = sl_str_cmp(x->file.file_id, y->file.file_id);
    if (cmp == 0 && x->is_log != y->is_log)
        cmp = x->is_log ? 1 : -1;
    if (cmp == 0 && x->file.instant != y->file.instant)
        cmp = x->file.instant < y->file.instant ? -1 : 1;
    if (cmp == 0 && x->file.version != y->file.version)
        cmp = x->file.version < y->file.version ? -1 : 1;
    return cmp ? cmp : sl_str_cmp(x->file.token, y->file.token);
}

static int by_completion(const void *a, const void *b)
{
    const struct sl_log_file *x = *(const struct sl_log_file *const *)a, *y = *(const struct sl_log_file *const *)b;

    if (x->completion != y->completion)
        return x->completion < y->completion ? -1 : 1;
    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    return sl_str_cmp(x->token, y->token);
}

/* ---- which files count ---- */

static int add_stray(struct builder *b, const struct sl_log_file *f, enum sl_stray_why why, sl_err *err)
{
    struct sl_stray *s = sl_vec_push(&b->strays);

    if (!s)
        return sl_err_nomem(err);
    *s = (struct sl_stray){f, b->partition, why};
    return SL_OK;
}

static int add_to(file_list *list, const struct sl_log_file *f, sl_err *err)
{
    const struct sl_log_file **slot = sl_vec_push(list);

    if (!slot)
        return sl_err_nomem(err);
    *slot = f;
    return SL_OK;
}

/* Of two base files of one instant (a task that ran twice) the one that the commit names counts. */
static int named_by_commit(struct builder *b, const struct sl_log_file *f, bool *named, sl_err *err)
{
    const struct sl_timeline *tl = b->l->v->timeline;
    const struct sl_instant *i = sl_timeline_find(tl, f->instant);
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_commit commit;
    int rc;

    *named = false;
    if (!i)
        return sl_err_set(err, SL_ECORRUPT, "\"%s/%s\" is one of two base files of one group and instant, and the instant is not known any more",
                          tl->table->path, f->path);
    rc = sl_instant_commit(tl, i, &a, &commit, err);
    for (size_t k = 0; k < commit.nstats && rc == SL_OK && !*named; k++)
        *named = sl_str_eqc(commit.stats[k].path, f->path);
    sl_arena_release(&a);
    return rc;
}

static int add_base(struct builder *b, const struct sl_log_file *f, sl_err *err)
{
    const struct sl_log_file *last = b->bases.n ? b->bases.v[b->bases.n - 1] : NULL;
    bool named;

    if (!last || last->instant != f->instant)
        return add_to(&b->bases, f, err);
    SL_TRY(named_by_commit(b, f, &named, err));
    if (named)
        b->bases.v[b->bases.n - 1] = f;
    return add_stray(b, named ? last : f, SL_STRAY_GONE, err);
}

static enum sl_stray_why why_not(enum sl_fate fate)
{
    return fate == SL_PENDING ? SL_STRAY_PENDING : fate == SL_GONE ? SL_STRAY_GONE : SL_STRAY_LATER;
}

/* Layout 1: T of a log is the instant of its slice. It must be committed, or a compaction's: one that is pending, or one that was given up
 * after logs were written for it, which then follow those of the slice before. */
static bool slice_counts(const struct builder *b, int64_t instant, enum sl_fate fate)
{
    const struct sl_instant *i;

    if (fate == SL_COMMITTED)
        return true;
    if (fate == SL_GONE)
        return b->bases.n > 0 || b->logs.n > 0;
    i = sl_timeline_find(b->l->v->timeline, instant);
    return i && i->planned == SL_HUDI_COMPACTION;
}

static int take_file(struct builder *b, const struct sl_found *found, sl_err *err)
{
    const struct sl_view *v = b->l->v;
    const struct sl_log_file *f = &found->file;
    const enum sl_fate fate = sl_timeline_fate(v->timeline, f->instant);
    bool counts = fate == SL_COMMITTED;

    if (found->is_log && v->table->config.layout == 1)
        counts = slice_counts(b, f->instant, fate);
    if (!counts || f->instant > v->as_of || (fate == SL_COMMITTED && !sl_view_visible(v, f->instant)))
        return add_stray(b, f, counts ? SL_STRAY_LATER : why_not(fate), err);
    return found->is_log ? add_to(&b->logs, f, err) : add_base(b, f, err);
}

/* ---- slices ---- */

static struct sl_file_slice *slice_at(struct builder *b, int64_t instant, sl_err *err)
{
    struct sl_file_slice *s;

    for (size_t i = 0; i < b->parts.n; i++)
        if (b->parts.v[i].instant == instant)
            return &b->parts.v[i];
    s = sl_vec_push(&b->parts);
    if (!s) {
        sl_err_nomem(err);
        return NULL;
    }
    s->instant = instant;
    return s;
}

/* The slice that a log belongs to: layout 1 by its name, layout 2 the newest base (or pending compaction) that it is not older than. */
static int64_t slice_of_log(const struct builder *b, const struct sl_log_file *log)
{
    int64_t instant = 0;

    if (b->l->v->table->config.layout == 1)
        return log->instant;
    for (size_t i = 0; i < b->bases.n; i++)
        if (b->bases.v[i]->instant <= log->completion)
            instant = b->bases.v[i]->instant;
    if (b->mark && b->mark->pending && b->mark->pending <= log->completion && b->mark->pending > instant)
        instant = b->mark->pending;
    return instant ? instant : b->logs.v[0]->instant;
}

static int by_instant(const void *a, const void *b)
{
    const struct sl_file_slice *x = a, *y = b;

    return x->instant < y->instant ? -1 : x->instant > y->instant;
}

/* The logs stand in order, and so do those of one slice: each slice is a stretch of them. */
static int make_parts(struct builder *b, const struct sl_log_file *const *logs, sl_err *err)
{
    b->parts.n = 0;
    for (size_t i = 0; i < b->bases.n; i++) {
        struct sl_file_slice *s = slice_at(b, b->bases.v[i]->instant, err);

        if (!s)
            return SL_ENOMEM;
        s->base = b->bases.v[i];
    }
    for (size_t i = 0; i < b->logs.n; i++) {
        struct sl_file_slice *s = slice_at(b, slice_of_log(b, b->logs.v[i]), err);

        if (!s)
            return SL_ENOMEM;
        if (!s->nlogs++)
            s->logs = &logs[i];
    }
    if (b->parts.n)
        qsort(b->parts.v, b->parts.n, sizeof *b->parts.v, by_instant);
    return SL_OK;
}

static int64_t next_version(const struct sl_found *files, size_t n, int64_t instant)
{
    int64_t highest = 0;

    for (size_t i = 0; i < n; i++)
        if (files[i].is_log && files[i].file.instant == instant && files[i].file.version > highest)
            highest = files[i].file.version;
    return highest + 1;
}

/* What is read: the newest base and all logs behind it. */
static struct sl_slice read_slice(const struct builder *b, const struct sl_file_slice *parts, size_t n,
                                  const struct sl_found *files, size_t nfiles)
{
    struct sl_slice s = {.partition = b->partition};
    size_t first = 0;

    for (size_t i = 0; i < n; i++)
        if (parts[i].base)
            first = i;
    s.base = parts[first].base;
    s.instant = parts[first].instant;
    s.pending = b->mark ? b->mark->pending : 0;
    for (size_t i = first; i < n; i++) {
        if (!s.nlogs)
            s.logs = parts[i].logs;
        s.nlogs += parts[i].nlogs;
        if (!s.pending || parts[i].instant < s.pending)
            s.nbefore += parts[i].nlogs;
    }
    s.log_instant = s.pending ? s.pending : parts[n - 1].instant;
    s.next_version = next_version(files, nfiles, s.log_instant);
    s.base_bytes = s.base ? s.base->size : 0;
    for (size_t i = 0; i < s.nlogs; i++)
        s.log_bytes += s.logs[i]->size;
    return s;
}

static int finish_group(struct builder *b, const struct sl_found *files, size_t n, sl_err *err)
{
    struct sl_arena *a = &b->l->v->arena;
    const struct sl_log_file **logs = sl_arena_array(a, b->logs.n + 1, sizeof *logs);
    struct sl_file_slice *parts;
    struct sl_group *g;
    char *id;

    if (b->bases.n + b->logs.n == 0)
        return SL_OK;
    if (!logs)
        return sl_err_nomem(err);
    if (b->logs.n)
        memcpy(logs, b->logs.v, b->logs.n * sizeof *logs);
    SL_TRY(make_parts(b, logs, err));
    parts = sl_arena_array(a, b->parts.n, sizeof *parts);
    id = sl_arena_strdup(a, files[0].file.file_id);
    g = sl_vec_push(&b->groups);
    if (!parts || !id || !g)
        return sl_err_nomem(err);
    memcpy(parts, b->parts.v, b->parts.n * sizeof *parts);
    *g = (struct sl_group){.partition = b->partition, .file_id = id, .slices = parts, .nslices = b->parts.n,
                           .replaced = b->mark ? b->mark->replaced : 0};
    if (g->replaced)
        return SL_OK;
    struct sl_slice *s = sl_vec_push(&b->slices);
    if (!s)
        return sl_err_nomem(err);
    *s = read_slice(b, parts, b->parts.n, files, n);
    s->file_id = id;
    return SL_OK;
}

/* Completions are not known while files are sorted by name. */
static void sort_logs(struct builder *b)
{
    if (b->l->v->table->config.layout == 2 && b->logs.n > 1)
        qsort(b->logs.v, b->logs.n, sizeof *b->logs.v, by_completion);
}

static int one_group(struct builder *b, const struct sl_found *files, size_t n, sl_err *err)
{
    b->partition = &b->l->v->partitions[files[0].partition];
    b->mark = sl_view__mark(b->l, b->partition->path, files[0].file.file_id);
    b->bases.n = b->logs.n = 0;
    for (size_t i = 0; i < n; i++)
        SL_TRY(take_file(b, &files[i], err));
    sort_logs(b);
    return finish_group(b, files, n, err);
}

/* ---- all ---- */

static bool same_group(const struct sl_found *a, const struct sl_found *b)
{
    return a->partition == b->partition && sl_str_eq(a->file.file_id, b->file.file_id);
}

static int copy_files(struct builder *b, sl_err *err)
{
    struct sl_listing *l = b->l;
    struct sl_found *files = sl_arena_array(&l->v->arena, l->files.n + 1, sizeof *files);

    if (!files)
        return sl_err_nomem(err);
    if (l->files.n) {
        memcpy(files, l->files.v, l->files.n * sizeof *files);
        qsort(files, l->files.n, sizeof *files, by_group);
    }
    if (l->v->table->config.layout == 2)
        for (size_t i = 0; i < l->files.n; i++)
            files[i].file.completion = sl_timeline_completion(l->v->timeline, files[i].file.instant);
    b->files = files;
    b->n = l->files.n;
    return SL_OK;
}

/* The lists, once they do not grow any more, go to the arena. */
static int keep(struct builder *b, sl_err *err)
{
    struct sl_view *v = b->l->v;
    struct sl_group *groups = sl_arena_array(&v->arena, b->groups.n + 1, sizeof *groups);
    struct sl_slice *slices = sl_arena_array(&v->arena, b->slices.n + 1, sizeof *slices);
    struct sl_stray *strays = sl_arena_array(&v->arena, b->strays.n + 1, sizeof *strays);
    size_t next = 0;

    if (!groups || !slices || !strays)
        return sl_err_nomem(err);
    if (b->slices.n)
        memcpy(slices, b->slices.v, b->slices.n * sizeof *slices);
    if (b->strays.n)
        memcpy(strays, b->strays.v, b->strays.n * sizeof *strays);
    for (size_t i = 0; i < b->groups.n; i++) {
        groups[i] = b->groups.v[i];
        if (!groups[i].replaced)
            groups[i].read = &slices[next++];
    }
    v->groups = groups;
    v->ngroups = b->groups.n;
    v->slices = slices;
    v->nslices = b->slices.n;
    v->strays = strays;
    v->nstrays = b->strays.n;
    return SL_OK;
}

int sl_view__groups(struct sl_listing *l, sl_err *err)
{
    struct builder b = {.l = l};
    int rc;

    SL_GO(copy_files(&b, err));
    for (size_t i = 0, end; i < b.n; i = end) {
        for (end = i + 1; end < b.n && same_group(&b.files[i], &b.files[end]);)
            end++;
        SL_GO(one_group(&b, &b.files[i], end - i, err));
    }
    rc = keep(&b, err);
done:
    sl_free(b.strays.v);
    sl_free(b.groups.v);
    sl_free(b.slices.v);
    sl_free(b.bases.v);
    sl_free(b.logs.v);
    sl_free(b.parts.v);
    return rc;
}
