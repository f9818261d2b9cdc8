/* view_plans.c - what instants say of file groups: pending compactions, replaced groups. */
#include <string.h>

#include "table/log/view_priv.h"

static int mark_of(struct sl_listing *l, sl_str partition, sl_str file_id, struct sl_group_mark **out, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT;
    void **slot = NULL;

    sl_buf_add(&key, partition);
    sl_buf_ch(&key, '\n');
    sl_buf_add(&key, file_id);
    if (!l->marks)
        l->marks = sl_map_new();
    if (l->marks && !key.failed)
        slot = sl_map_at(l->marks, sl_buf_view(&key));
    sl_buf_release(&key);
    if (slot && !*slot)
        *slot = sl_arena_alloc(&l->v->arena, sizeof **out);
    if (!slot || !*slot)
        return sl_err_nomem(err);
    *out = *slot;
    return SL_OK;
}

const struct sl_group_mark *sl_view__mark(const struct sl_listing *l, const char *partition, sl_str file_id)
{
    struct sl_buf key = SL_BUF_INIT;
    const struct sl_group_mark *m = NULL;

    if (!l->marks)
        return NULL;
    sl_buf_printf(&key, "%s\n" SL_STRF, partition, SL_STRV(file_id));
    if (!key.failed)
        m = sl_map_get(l->marks, sl_buf_view(&key));
    sl_buf_release(&key);
    return m;
}

static int take_compaction(struct sl_listing *l, const struct sl_instant *i, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT;
    struct sl_hudi_compaction_plan plan;
    int rc = sl_instant_read(l->v->timeline, i, SL_HUDI_REQUESTED, &bytes, err);

    if (rc == SL_ENOTFOUND) { /* taken back since the timeline was loaded */
        sl_err_clear(err);
        rc = SL_OK;
        goto done;
    }
    if (rc != SL_OK)
        goto done;
    rc = sl_hudi_compaction_decode(&a, sl_buf_view(&bytes), &plan, err);
    for (size_t k = 0; k < plan.nops && rc == SL_OK; k++) {
        struct sl_group_mark *m;

        rc = mark_of(l, plan.ops[k].partition, plan.ops[k].file_id, &m, err);
        if (rc == SL_OK && i->time > m->pending)
            m->pending = i->time;
    }
    if (rc != SL_OK)
        sl_err_ctx(err, "the plan of compaction %lld of table %s", (long long)i->time, l->v->table->label);
done:
    sl_buf_release(&bytes);
    sl_arena_release(&a);
    return rc;
}

static int take_replaced(struct sl_listing *l, const struct sl_instant *i, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_commit commit;
    struct sl_group_mark *m;
    int rc;

    SL_GO(sl_instant_commit(l->v->timeline, i, &a, &commit, err));
    for (size_t p = 0; p < commit.nreplaced; p++) {
        const struct sl_hudi_replaced *r = &commit.replaced[p];

        for (size_t k = 0; k < r->nfile_ids; k++) {
            SL_GO(mark_of(l, r->partition, r->file_ids[k], &m, err));
            m->replaced = i->time;
        }
    }
done:
    sl_arena_release(&a);
    return rc;
}

int sl_view__plans(struct sl_listing *l, sl_err *err)
{
    struct sl_view *v = l->v;

    for (size_t k = 0; k < v->timeline->n; k++) {
        const struct sl_instant *i = &v->timeline->v[k];

        if (i->state != SL_HUDI_COMPLETED && i->action == SL_HUDI_COMPACTION)
            SL_TRY(take_compaction(l, i, err));
        else if (i->state != SL_HUDI_COMPLETED && (i->action == SL_HUDI_CLUSTERING || i->action == SL_HUDI_REPLACECOMMIT))
            v->pending_replace = i->time;
        else if (i->state == SL_HUDI_COMPLETED && i->action == SL_HUDI_REPLACECOMMIT && sl_view_visible(v, i->time))
            SL_TRY(take_replaced(l, i, err));
    }
    return SL_OK;
}
