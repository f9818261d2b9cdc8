/* emit_rows.c - the rows of a batch in the order in which they are written, for SQL. */
#include <stdlib.h>
#include <string.h>

#include "table/log/emit.h"

static int by_group(const void *a, const void *b, void *user)
{
    const struct sl_log_batch *batch = user;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint32_t gx = batch->keys.v[x].group, gy = batch->keys.v[y].group;

    if (gx != gy)
        return gx < gy ? -1 : 1;
    return x < y ? -1 : x > y; /* keys are sorted within a partition */
}

int sl_emit_order_make(const struct sl_log_batch *b, struct sl_emit_order *out, sl_err *err)
{
    out->n = 0;
    out->v = sl_reallocarray(NULL, b->keys.n + 1, sizeof *out->v);
    if (!out->v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < b->keys.n; i++)
        if (!b->keys.v[i].dropped)
            out->v[out->n++] = (uint32_t)i;
    qsort_r(out->v, out->n, sizeof *out->v, by_group, (void *)b);
    return SL_OK;
}

size_t sl_emit_group_end(const struct sl_log_batch *b, const struct sl_emit_order *o, size_t from)
{
    size_t to = from;

    while (to < o->n && b->keys.v[o->v[to]].group == b->keys.v[o->v[from]].group)
        to++;
    return to;
}

/* ---- the source ---- */

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    struct sl_emit_rows *r = self;

    (void)local;
    (void)err;
    out->rows = 0;
    while (out->rows < out->cap) {
        const size_t i = atomic_fetch_add(&r->next, 1);
        const struct sl_batch_key *k;

        if (i >= r->to) {
            atomic_store(&r->next, r->to);
            break;
        }
        k = &r->b->keys.v[r->order->v[i]];
        if (r->wanted && !r->wanted(k))
            continue;
        if (out->cols[0].wanted)
            ((int64_t *)out->cols[0].data)[out->rows] = k->seq;
        if (out->cols[1].wanted)
            ((int64_t *)out->cols[1].data)[out->rows] = (int64_t)i;
        out->rows++;
    }
    return SL_OK;
}

int sl_emit_rows_open(struct sl_emit_rows *r, sl_err *err)
{
    static const struct sl_type number = {.kind = SL_BIGINT};
    static const struct sl_field fields[] = {{.name = "seq", .type = &number}, {.name = "i", .type = &number}};
    const struct sl_row_source source = {.self = r, .fields = fields, .nfields = 2, .max_threads = 1, .rows_hint = (int64_t)(r->to - r->from),
                                         .fill = fill};

    atomic_store(&r->next, r->from);
    SL_TRY(sl_rows_register(sl_conn_engine(r->b->conn), &source, &r->id, err));
    r->registered = true;
    return SL_OK;
}

void sl_emit_rows_close(struct sl_emit_rows *r)
{
    if (r->registered)
        sl_rows_unregister(sl_conn_engine(r->b->conn), r->id);
    r->registered = false;
}
