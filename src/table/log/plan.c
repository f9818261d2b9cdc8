/* plan.c - the slices of a log table that a query has to read. */
#include "table/log/plan.h"

#include <string.h>

#include "base/sys.h"
#include "table/log/clean.h"
#include "table/log/leases.h"
#include "table/log/plan_priv.h"

/* ---- columns ---- */

/* The schema's columns, then the meta columns. */
static int make_columns(struct sl_log_plan *p, sl_err *err)
{
    static const struct sl_type text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
    const struct sl_schema *from = &p->schema->columns;
    const size_t n = from->nfields + (p->meta ? SL_HUDI_NMETA : 0);
    struct sl_field *fields = sl_arena_array(&p->io->arena, n + 1, sizeof *fields);

    if (!fields)
        return sl_err_nomem(err);
    if (from->nfields)
        memcpy(fields, from->fields, from->nfields * sizeof *fields);
    for (size_t i = from->nfields; i < n; i++)
        fields[i] = (struct sl_field){.id = (int32_t)i, .name = sl_hudi_meta_fields[i - from->nfields], .type = &text};
    p->columns = *from;
    p->columns.arena = (struct sl_arena)SL_ARENA_INIT;
    p->columns.fields = fields;
    p->columns.nfields = n;
    p->columns.highest_field_id = (int32_t)n - 1;
    return SL_OK;
}

static int choose_schema(struct sl_log_plan *p, sl_err *err)
{
    struct sl_buf json = SL_BUF_INIT;
    int rc;

    p->schema = p->table->schema;
    if (!p->sel.as_of)
        return SL_OK;
    SL_GO(sl_timeline_schema(p->table->timeline, p->sel.as_of, &json, err));
    if (json.n == 0)
        goto done;
    SL_GO(sl_log_schema_make(p->table, sl_buf_view(&json), &p->own_schema, err));
    p->schema = p->own_schema;
done:
    sl_buf_release(&json);
    return rc;
}

bool sl_plan__event_time(const struct sl_log_plan *p)
{
    return p->table->config.merge == SL_HUDI_EVENT_TIME && sl_plan__ordering(p) >= 0;
}

ptrdiff_t sl_plan__ordering(const struct sl_log_plan *p)
{
    const struct sl_hudi_config *c = &p->table->config;

    return c->nordering ? sl_schema_index(&p->schema->columns, c->ordering_fields[0]) : -1;
}

/* ---- partitions ---- */

struct pruner {
    const struct sl_log_plan *p;
    const struct sl_pred *pred;
    const struct sl_view_partition *partition;
};

static bool partition_stats(void *user, int32_t field_id, struct sl_col_stats *out)
{
    const struct pruner *pr = user;
    const struct sl_log *t = pr->p->table;
    const struct sl_field *f = sl_schema_field_by_id(&pr->p->columns, field_id);

    for (size_t i = 0; f && i < t->config.npartition; i++) {
        if (!sl_str_eqc(t->config.partition_fields[i], f->name))
            continue;
        if (!pr->partition->known[i] || !sl_type_same(t->partition_types[i], f->type, true))
            return false;
        *out = (struct sl_col_stats){.has_bounds = true, .has_nulls = true, .min = pr->partition->values[i],
                                     .max = pr->partition->values[i]};
        return true;
    }
    return false;
}

static bool partition_wanted(void *user, const struct sl_view_partition *partition)
{
    struct pruner *pr = user;

    pr->partition = partition;
    return !pr->pred || sl_pred_may_match(pr->pred, 1, partition_stats, pr);
}

/* ---- slices ---- */

/* May rows that instants in (begin, end] wrote stand in it? Its base holds rows up to its own instant. */
static bool in_time(const struct sl_log_plan *p, const struct sl_slice *s)
{
    if (p->sel.query != SL_LOG_INCREMENTAL || s->nlogs)
        return true;
    return (p->table->config.layout == 1 ? s->base->instant : s->base->completion) > p->sel.begin;
}

static int keep_slices(struct sl_log_plan *p, const struct sl_slice *all, size_t n, sl_err *err)
{
    const bool base_only = p->sel.query == SL_LOG_READ_OPTIMIZED || p->table->config.type == SL_HUDI_COW;
    const struct sl_slice **kept = sl_arena_array(&p->io->arena, n + 1, sizeof *kept);
    struct sl_slice *copies = sl_arena_array(&p->io->arena, n + 1, sizeof *copies);

    if (!kept || !copies)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        struct sl_slice *s = &copies[i];

        *s = all[i];
        if (base_only)
            s->nlogs = s->nbefore = 0;
        if (!s->base && !s->nlogs)
            continue;
        if (!in_time(p, s)) {
            p->pruned_time++;
            continue;
        }
        kept[p->nslices++] = s;
        p->base_files += s->base != NULL;
        p->base_bytes += s->base_bytes;
        p->log_files += s->nlogs;
        for (size_t k = 0; k < s->nlogs; k++)
            p->log_bytes += s->logs[k]->size;
    }
    p->slices = kept;
    p->slices_total = n;
    return SL_OK;
}

static int nothing_so_early(const struct sl_log_plan *p, sl_err *err)
{
    char text[18];

    sl_hudi_instant_text(p->sel.as_of, text);
    if (p->view->timeline->has_history)
        return sl_err_set(err, SL_EUNSUPPORTED, "table %s: instant %s is older than the timeline, whose older part is archived and is not read",
                          p->table->label, text);
    return sl_err_set(err, SL_ENOTFOUND, "table %s has no commit at or before instant %s", p->table->label, text);
}

/* What was removed is not missed by a listing, so the cleans have to be asked. */
static int check_cleaned(const struct sl_log_plan *p, sl_err *err)
{
    const int64_t as_of = p->view->as_of;
    char text[18], from[18];
    int64_t earliest;

    if (as_of == SL_INSTANT_LAST)
        return SL_OK;
    SL_TRY(sl_clean_earliest(p->view->timeline, &earliest, err));
    if (as_of >= earliest)
        return SL_OK;
    for (size_t i = 0; i < p->view->timeline->n; i++) /* savepoints are kept */
        if (p->view->timeline->v[i].action == SL_HUDI_SAVEPOINT && p->view->timeline->v[i].time == p->instant)
            return SL_OK;
    sl_hudi_instant_text(as_of, text);
    sl_hudi_instant_text(earliest, from);
    sl_err_set(err, SL_ENOTFOUND, "table %s cannot be read as of instant %s any more: it was cleaned", p->table->label, text);
    sl_err_hint(err, "the earliest instant is %s; hoodie.clean.commits.retained tells how many commits are kept", from);
    return SL_ENOTFOUND;
}

static int open_view(struct sl_log_plan *p, const struct sl_pred *pred, sl_err *err)
{
    struct pruner pr = {.p = p, .pred = pred};
    struct sl_view_spec spec = {.as_of = p->sel.as_of, .wanted = partition_wanted, .user = &pr};
    const struct sl_instant *newest;

    if (p->sel.query == SL_LOG_INCREMENTAL && p->sel.end) {
        if (p->table->config.layout == 1)
            spec.as_of = p->sel.end;
        else
            spec.completed_by = p->sel.end;
    }
    SL_TRY(sl_log_lease(p->table, p->sel.as_of ? p->sel.as_of : p->sel.end, &p->io->reader, err));
    SL_TRY(sl_timeline_load(p->table, &spec.timeline, err));
    if (spec.timeline->stable != SL_INSTANT_LAST && (!spec.as_of || spec.timeline->stable < spec.as_of))
        spec.as_of = spec.timeline->stable;
    SL_TRY(sl_view_open(p->table, &spec, &p->own_view, err));
    p->view = p->own_view;
    p->partitions_total = p->view->partitions_total;
    p->partitions_pruned = p->view->partitions_total - p->view->npartitions;
    newest = sl_timeline_latest(p->view->timeline, p->view->as_of);
    p->instant = newest ? newest->time : 0;
    if (p->sel.as_of && !newest)
        return nothing_so_early(p, err);
    if (p->sel.as_of || p->sel.end)
        SL_TRY(check_cleaned(p, err));
    SL_TRY(keep_slices(p, p->view->slices, p->view->nslices, err));
    return pred ? sl_plan__find_keys(p, pred, err) : SL_OK;
}

/* ---- opening ---- */

static int new_plan(struct sl_log *t, const struct sl_log_selector *sel, bool meta, struct sl_log_plan **out, sl_err *err)
{
    struct sl_log_plan *p = sl_calloc(1, sizeof *p);

    *out = NULL;
    if (p)
        p->io = sl_calloc(1, sizeof *p->io);
    if (!p || !p->io) {
        sl_free(p);
        return sl_err_nomem(err);
    }
    p->table = t;
    p->meta = meta;
    if (sel)
        p->sel = *sel;
    *out = p;
    return SL_OK;
}

int sl_log_plan_columns(struct sl_log *t, const struct sl_log_selector *sel, bool meta, struct sl_log_plan **out, sl_err *err)
{
    int rc;

    *out = NULL;
    SL_TRY(sl_log_check_read(t, err));
    SL_TRY(new_plan(t, sel, meta, out, err));
    rc = choose_schema(*out, err);
    if (rc == SL_OK)
        rc = make_columns(*out, err);
    if (rc != SL_OK) {
        sl_log_plan_free(*out);
        *out = NULL;
    }
    return rc;
}

int sl_log_plan_files(struct sl_log_plan *p, const struct sl_pred *pred, sl_err *err)
{
    SL_TRY(open_view(p, pred, err));
    return SL_FAILPOINT("log.planned", err);
}

int sl_log_plan_slices(struct sl_log *t, struct sl_view *view, const struct sl_slice *slices, size_t n, struct sl_log_plan **out,
                       sl_err *err)
{
    int rc;

    SL_TRY(sl_log_plan_columns(t, NULL, true, out, err));
    (*out)->view = view;
    (*out)->partitions_total = view->partitions_total;
    rc = keep_slices(*out, slices, n, err);
    if (rc != SL_OK) {
        sl_log_plan_free(*out);
        *out = NULL;
    }
    return rc;
}

void sl_log_plan_free(struct sl_log_plan *p)
{
    if (!p)
        return;
    sl_reader_end(p->io->reader);
    sl_plan__unprepare(p);
    sl_arena_release(&p->io->arena);
    sl_free(p->io);
    sl_view_free(p->own_view);
    sl_log_schema_free(p->own_schema);
    sl_free(p);
}

int sl_log_plan_explain_error(struct sl_log_plan *p, int code, sl_err *err)
{
    sl_err probe = SL_ERR_INIT;
    struct sl_stat st;

    if (code != SL_ENOTFOUND && code != SL_EIO && code != SL_EFAIL)
        return code;
    for (size_t i = 0; i < p->nslices; i++) {
        const struct sl_slice *s = p->slices[i];

        for (size_t k = 0; k <= s->nlogs; k++) {
            const struct sl_log_file *f = k ? s->logs[k - 1] : s->base;

            if (!f || sl_store_stat(p->table->store, sl_str_c(f->path), &st, &probe) != SL_ENOTFOUND)
                continue;
            sl_err_set(err, SL_ENOTFOUND, "\"%s/%s\" was removed while the table was read", p->table->path, f->path);
            sl_err_hint(err, "it was cleaned after a compaction; run the query again, or keep more commits (hoodie.clean.commits.retained)");
            return SL_ENOTFOUND;
        }
    }
    return code;
}
