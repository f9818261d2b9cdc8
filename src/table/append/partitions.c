#include "table/append/partitions.h"

#include <stdlib.h>
#include <string.h>

struct tally {
    struct sl_append *t;
    struct sl_partitions_list *out;
    struct sl_map *by_bytes; /* BinaryRow bytes -> index + 1 in out->v */
};

static bool copy_value(struct sl_arena *a, struct sl_value *v)
{
    bool text = v->kind == SL_CHAR || v->kind == SL_VARCHAR || v->kind == SL_BINARY || v->kind == SL_VARBINARY;

    if (v->null || !text)
        return true;
    v->u.s = sl_arena_str(a, v->u.s);
    return v->u.s.p != NULL;
}

static int new_partition(struct tally *y, sl_str bytes, sl_err *err)
{
    struct sl_arena *a = &y->out->arena;
    struct sl_partition *p = sl_vec_push(y->out);
    struct sl_value *values = sl_arena_array(a, y->t->npartition + 1, sizeof *values);
    struct sl_buf text = SL_BUF_INIT;
    int rc;

    if (!p || !values)
        return sl_err_nomem(err);
    SL_GO(sl_append_partition(y->t, bytes, values, err));
    for (size_t i = 0; i < y->t->npartition; i++)
        if (!copy_value(a, &values[i]))
            SL_GOTO_NOMEM(err);
    sl_append_partition_text(y->t, values, &text);
    SL_GO(sl_buf_ok(&text, err));
    p->values = values;
    p->text = sl_arena_strdup(a, sl_buf_view(&text));
    p->least_bytes = INT64_MAX;
    p->last_created = INT64_MIN;
    if (!p->text)
        SL_GOTO_NOMEM(err);
done:
    sl_buf_release(&text);
    return rc;
}

/* One partition can have two forms of bytes (a null written by another engine): they are merged after sorting. */
static int count_entry(struct tally *y, const struct sl_manifest_entry *e, sl_err *err)
{
    void **slot = sl_map_at(y->by_bytes, e->partition);

    if (!slot)
        return sl_err_nomem(err);
    if (!*slot) {
        SL_TRY(new_partition(y, e->partition, err));
        *slot = (void *)(uintptr_t)y->out->n;
    }
    struct sl_partition *p = &y->out->v[(uintptr_t)*slot - 1];
    p->files++;
    p->rows += e->file.row_count;
    p->bytes += e->file.file_size;
    if (e->file.file_size < p->least_bytes)
        p->least_bytes = e->file.file_size;
    if (e->file.creation_time > p->last_created)
        p->last_created = e->file.creation_time;
    return SL_OK;
}

static int compare(const void *a, const void *b, void *t)
{
    const struct sl_partition *x = a, *y = b;

    for (size_t i = 0; i < ((struct sl_append *)t)->npartition; i++) {
        const struct sl_value *v = &x->values[i], *w = &y->values[i];
        int c = v->null || w->null ? (int)w->null - (int)v->null : sl_value_cmp(v, w);

        if (c != 0)
            return c;
    }
    return 0;
}

static void merge_equal(struct sl_append *t, struct sl_partitions_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct sl_partition *p = &list->v[i], *last = n ? &list->v[n - 1] : NULL;

        if (!last || compare(last, p, t) != 0) {
            list->v[n++] = *p;
            continue;
        }
        last->files += p->files;
        last->rows += p->rows;
        last->bytes += p->bytes;
        last->least_bytes = p->least_bytes < last->least_bytes ? p->least_bytes : last->least_bytes;
        last->last_created = p->last_created > last->last_created ? p->last_created : last->last_created;
    }
    list->n = n;
}

int sl_partitions_of(struct sl_append *t, const struct sl_live_set *live, struct sl_partitions_list *out, sl_err *err)
{
    struct tally y = {t, out, sl_map_new()};
    int rc = SL_OK;

    if (!y.by_bytes)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < live->n; i++)
        SL_GO(count_entry(&y, live->v[i], err));
    if (out->n)
        qsort_r(out->v, out->n, sizeof *out->v, compare, t);
    merge_equal(t, out);
done:
    sl_map_free(y.by_bytes, NULL);
    return rc;
}

int sl_append_partitions(struct sl_append *t, const struct sl_selector *sel, struct sl_partitions_list *out, sl_err *err)
{
    struct sl_snapshot s = {0};
    struct sl_live_set live = {0};
    int64_t latest = 0;
    int rc;

    if (!sel || sel->kind == SL_SELECT_LATEST) {
        SL_GO(sl_snapshot_latest_id(t, &latest, err));
        if (latest == 0)
            goto done;
    }
    SL_GO(sl_snapshot_select(t, sel, &s, err));
    SL_GO(sl_live_files(t, &s, NULL, &live, err));
    SL_GO(sl_partitions_of(t, &live, out, err));
done:
    sl_live_release(&live);
    sl_snapshot_release(&s);
    return rc;
}

void sl_partitions_list_release(struct sl_partitions_list *p)
{
    sl_free(p->v);
    sl_arena_release(&p->arena);
    *p = (struct sl_partitions_list)SL_PARTITIONS_LIST_INIT;
}
