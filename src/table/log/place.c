/* place.c - chooses file groups for keys that are new. */
#include <stdlib.h>
#include <string.h>

#include "table/log/write_priv.h"

enum { COMMITS_READ = 20 };

enum to_log { TO_EXISTING, TO_ALL, TO_NONE }; /* sluice.insert.to.log */

struct placing {
    struct sl_log_batch *b;
    const struct sl_view *view;
    enum to_log to_log;
    int64_t small_limit, max_size, split_size, candidates_max;
    double ratio;
    bool auto_split;
    int64_t record_size;  /* about; 0: not known yet */
};

struct candidate {
    const struct sl_slice *slice;
    int64_t size;
};

/* ---- options ---- */

static int number(const struct sl_log *t, const char *key, int64_t dflt, int64_t *out, sl_err *err)
{
    const char *v = sl_log_option(t, key, NULL);

    *out = dflt;
    if (v && !sl_parse_i64(sl_str_trim(sl_str_c(v)), out))
        return sl_err_set(err, SL_EINPUT, "the option \"%s\" = \"%s\" of the table %s is no whole number", key, v, t->label);
    return SL_OK;
}

static int read_options(struct placing *p, sl_err *err)
{
    const struct sl_log *t = p->b->t;
    const char *mode = sl_log_option(t, "sluice.insert.to.log", "existing");
    const char *ratio = sl_log_option(t, "hoodie.logfile.to.parquet.compression.ratio", "0.35");

    if (strcmp(mode, "existing") != 0 && strcmp(mode, "always") != 0 && strcmp(mode, "never") != 0)
        return sl_err_set(err, SL_EINPUT, "the option \"sluice.insert.to.log\" is existing, always or never, not \"%s\"", mode);
    p->to_log = mode[0] == 'e' ? TO_EXISTING : mode[0] == 'a' ? TO_ALL : TO_NONE;
    if (!sl_parse_f64(sl_str_c(ratio), &p->ratio) || !(p->ratio >= 0 && p->ratio <= 100))
        return sl_err_set(err, SL_EINPUT, "the option \"hoodie.logfile.to.parquet.compression.ratio\" = \"%s\" is no ratio", ratio);
    p->auto_split = strcmp(sl_log_option(t, "hoodie.copyonwrite.insert.auto.split", "true"), "false") != 0;
    SL_TRY(number(t, "hoodie.parquet.small.file.limit", 104857600, &p->small_limit, err));
    SL_TRY(number(t, "hoodie.parquet.max.file.size", 125829120, &p->max_size, err));
    SL_TRY(number(t, "hoodie.copyonwrite.insert.split.size", 500000, &p->split_size, err));
    return number(t, "hoodie.merge.small.file.group.candidates.limit", 1, &p->candidates_max, err);
}

/* Bytes of a record in the base files of the newest commit that wrote enough of them. */
static int learn_record_size(struct placing *p, sl_err *err)
{
    const struct sl_timeline *tl = p->view->timeline;
    struct sl_arena arena = SL_ARENA_INIT;
    const char *threshold = sl_log_option(p->b->t, "hoodie.record.size.estimation.threshold", "1.0");
    double share = 1;
    int read = 0, rc;

    SL_GO(number(p->b->t, "hoodie.copyonwrite.record.size.estimate", 1024, &p->record_size, err));
    (void)!sl_parse_f64(sl_str_c(threshold), &share);
    for (size_t i = tl->n; i > 0 && read < COMMITS_READ; i--) {
        const struct sl_instant *instant = &tl->v[i - 1];
        struct sl_hudi_commit commit;
        int64_t bytes = 0, rows = 0;

        if (!sl_instant_writes(instant) || instant->state != SL_HUDI_COMPLETED)
            continue;
        read++;
        SL_GO(sl_instant_commit(tl, instant, &arena, &commit, err));
        for (size_t k = 0; k < commit.nstats; k++) {
            if (!sl_str_ends(commit.stats[k].path, ".parquet"))
                continue;
            bytes += commit.stats[k].total_write_bytes;
            rows += commit.stats[k].num_writes;
        }
        if (rows > 0 && (double)bytes > (double)p->small_limit * share) {
            p->record_size = bytes / rows;
            break;
        }
    }
    if (p->record_size < 1)
        p->record_size = 1;
    rc = SL_OK;
done:
    sl_arena_release(&arena);
    return rc;
}

/* ---- groups that have room ---- */

static int by_size(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return strcmp(x->slice->file_id, y->slice->file_id);
}

static bool takes_inserts(const struct placing *p, const struct sl_slice *s, int64_t size)
{
    if (s->pending || p->small_limit <= 0)
        return false;
    if (p->to_log == TO_NONE)
        return s->base && s->nlogs == 0 && size < p->small_limit;
    return (s->base || p->to_log == TO_ALL) && size < p->max_size;
}

static int find_candidates(const struct placing *p, sl_str path, struct candidate **out, size_t *n, sl_err *err)
{
    struct candidate *v = sl_reallocarray(NULL, p->view->nslices + 1, sizeof *v);

    *n = 0;
    *out = v;
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < p->view->nslices; i++) {
        const struct sl_slice *s = &p->view->slices[i];
        const int64_t size = (int64_t)s->base_bytes + (int64_t)((double)s->log_bytes * p->ratio);

        if (sl_str_eqc(path, s->partition->path) && takes_inserts(p, s, size))
            v[(*n)++] = (struct candidate){s, size};
    }
    qsort(v, *n, sizeof *v, by_size);
    if (p->to_log == TO_NONE && *n > (size_t)(p->candidates_max > 0 ? p->candidates_max : 0))
        *n = (size_t)(p->candidates_max > 0 ? p->candidates_max : 0);
    return SL_OK;
}

/* ---- placing ---- */

/* The next COUNT new keys of a partition, from *AT on, go to GROUP. */
static void assign(struct sl_log_batch *b, const struct sl_batch_part *part, size_t *at, int64_t count, uint32_t group)
{
    for (; *at < part->to && count > 0; ++*at) {
        struct sl_batch_key *k = &b->keys.v[*at];

        if (k->dropped || k->group != SL_NO_GROUP)
            continue;
        k->group = group;
        k->insert = true;
        count--;
    }
}

static int new_group(struct placing *p, uint32_t part, uint32_t *out, sl_err *err)
{
    struct sl_buf id = SL_BUF_INIT;
    int rc;

    sl_hudi_file_id_new(&id);
    SL_GO(sl_buf_ok(&id, err));
    SL_GO(sl_batch_group_at(p->b, part, sl_buf_view(&id), out, err));
    p->b->groups.v[*out].log_only = p->to_log == TO_ALL;
done:
    sl_buf_release(&id);
    return rc;
}

static int fill_existing(struct placing *p, uint32_t part, size_t *at, int64_t *left, sl_err *err)
{
    struct sl_batch_part *q = &p->b->parts.v[part];
    struct candidate *v = NULL;
    size_t n;
    int rc;

    SL_GO(find_candidates(p, q->path, &v, &n, err));
    for (size_t i = 0; i < n && *left > 0; i++) {
        int64_t room = (p->max_size - v[i].size) / p->record_size;
        uint32_t group;

        if (room <= 0)
            continue;
        if (room > *left)
            room = *left;
        SL_GO(sl_batch_group_at(p->b, part, sl_str_c(v[i].slice->file_id), &group, err));
        p->b->groups.v[group].slice = v[i].slice;
        p->b->groups.v[group].rewrite = p->to_log == TO_NONE;
        assign(p->b, q, at, room, group);
        *left -= room;
    }
done:
    sl_free(v);
    return rc;
}

/* The keys are sorted, so the new groups have ranges that do not overlap. */
static int fill_new(struct placing *p, uint32_t part, size_t *at, int64_t left, sl_err *err)
{
    int64_t most = p->auto_split ? p->max_size / p->record_size : p->split_size, groups;
    uint32_t group;

    if (most < 1)
        most = 1;
    groups = (left + most - 1) / most;
    for (; groups > 0; groups--) {
        const int64_t share = (left + groups - 1) / groups;

        SL_TRY(new_group(p, part, &group, err));
        assign(p->b, &p->b->parts.v[part], at, share, group);
        left -= share;
    }
    return SL_OK;
}

int sl_batch_place(struct sl_log_batch *b, const struct sl_view *view, sl_err *err)
{
    struct placing p = {.b = b, .view = view};

    SL_TRY(read_options(&p, err));
    for (uint32_t part = 0; part < b->parts.n; part++) {
        size_t at = b->parts.v[part].from;
        int64_t left = 0;

        for (size_t k = at; k < b->parts.v[part].to; k++)
            left += !b->keys.v[k].dropped && b->keys.v[k].group == SL_NO_GROUP;
        if (left == 0)
            continue;
        if (p.record_size == 0)
            SL_TRY(learn_record_size(&p, err));
        SL_TRY(fill_existing(&p, part, &at, &left, err));
        SL_TRY(fill_new(&p, part, &at, left, err));
    }
    return SL_OK;
}
