/* plan.c - records of metadata files: the writer's fields matched by name, and the pieces that several records share. */
#include <string.h>

#include "format/format_priv.h"

/* The record behind a union of null and it: old writers wrapped records so. */
static const struct sl_avro_schema *record_of(const struct sl_avro_schema *s)
{
    if (s->kind == SL_AVRO_UNION)
        for (size_t i = 0; i < s->n; i++)
            if (s->types[i]->kind == SL_AVRO_RECORD)
                return s->types[i];
    return s->kind == SL_AVRO_RECORD ? s : NULL;
}

int sl_plan_record(struct sl_arena *a, const struct sl_avro_schema *s, const char *const *targets, size_t n, size_t required,
                   struct sl_plan_field **out, size_t *nfields, sl_err *err)
{
    const struct sl_avro_schema *r = record_of(s);

    if (!r)
        return sl_err_set(err, SL_ECORRUPT, "the Avro schema has no record where one is needed");
    struct sl_plan_field *f = sl_arena_array(a, r->n, sizeof *f);
    if (!f)
        return sl_err_nomem(err);
    for (size_t i = 0; i < r->n; i++)
        f[i] = (struct sl_plan_field){r->types[i], -1};
    for (size_t t = 0; t < n; t++) {
        size_t i = 0;

        while (i < r->n && strcmp(r->names[i], targets[t]) != 0)
            i++;
        if (i < r->n)
            f[i].target = (int)t;
        else if (t < required)
            return sl_err_set(err, SL_ECORRUPT, "the Avro schema has no field \"%s\"", targets[t]);
    }
    *out = f;
    *nfields = r->n;
    return SL_OK;
}

static const char *const stats_names[] = {"_MIN_VALUES", "_MAX_VALUES", "_NULL_COUNTS"};

int sl_plan_stats(struct sl_arena *a, const struct sl_avro_schema *s, struct sl_plan_stats *out, sl_err *err)
{
    return sl_plan_record(a, s, stats_names, 3, 2, &out->f, &out->n, err);
}

/* The array behind S, or NULL for null or damage. */
static const struct sl_avro_schema *array_of(struct sl_cur *c, const struct sl_avro_schema *s)
{
    s = sl_avro_branch(c, s);
    if (!s || s->kind == SL_AVRO_NULL)
        return NULL;
    if (s->kind != SL_AVRO_ARRAY) {
        c->bad = true;
        return NULL;
    }
    return s;
}

static bool read_counts(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, struct sl_stats *out)
{
    int64_t *v = NULL;
    size_t used = 0;

    s = array_of(c, s);
    for (int64_t n; s && (n = sl_avro_items(c)) != 0;) {
        int64_t *more = sl_arena_array(a, used + (size_t)n, sizeof *more);

        if (!more)
            return false;
        if (used)
            memcpy(more, v, used * sizeof *v);
        v = more;
        for (; n > 0 && !c->bad; n--)
            v[used++] = sl_avro_long(c, s->types[0], -1);
        if (c->bad)
            break;
    }
    out->null_counts = v;
    out->nnull_counts = used;
    return true;
}

bool sl_stats_read(struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_plan_stats *plan, struct sl_arena *a,
                   struct sl_stats *out)
{
    out->min = out->max = SL_BINROW_EMPTY;
    out->null_counts = NULL;
    out->nnull_counts = 0;
    s = sl_avro_branch(c, s);
    if (!s || s->kind == SL_AVRO_NULL)
        return true;
    if (s->kind != SL_AVRO_RECORD) {
        c->bad = true;
        return true;
    }
    for (size_t i = 0; i < plan->n && !c->bad; i++) {
        const struct sl_plan_field *f = &plan->f[i];
        bool ok = true;

        if (f->target == 0)
            out->min = sl_avro_bytes(c, f->schema);
        else if (f->target == 1)
            out->max = sl_avro_bytes(c, f->schema);
        else if (f->target == 2)
            ok = read_counts(c, f->schema, a, out);
        else
            sl_avro_skip(c, f->schema);
        if (!ok)
            return false;
    }
    return true;
}

void sl_stats_put(struct sl_buf *out, const struct sl_stats *st)
{
    sl_avro_put_bytes(out, st->min.p ? st->min : SL_BINROW_EMPTY);
    sl_avro_put_bytes(out, st->max.p ? st->max : SL_BINROW_EMPTY);
    sl_avro_put_long(out, 1);
    if (st->nnull_counts)
        sl_avro_put_long(out, (int64_t)st->nnull_counts);
    for (size_t i = 0; i < st->nnull_counts; i++) {
        sl_avro_put_long(out, st->null_counts[i] >= 0);
        if (st->null_counts[i] >= 0)
            sl_avro_put_long(out, st->null_counts[i]);
    }
    sl_avro_put_long(out, 0);
}

bool sl_strings_read(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, const sl_str **out, size_t *n, bool *present)
{
    sl_str *v = NULL;
    size_t used = 0;

    s = array_of(c, s);
    *present = s != NULL;
    for (int64_t count; s && (count = sl_avro_items(c)) != 0;) {
        sl_str *more = sl_arena_array(a, used + (size_t)count, sizeof *more);

        if (!more)
            return false;
        if (used)
            memcpy(more, v, used * sizeof *v);
        v = more;
        for (; count > 0 && !c->bad; count--)
            v[used++] = sl_avro_bytes(c, s->types[0]);
        if (c->bad)
            break;
    }
    *out = v;
    *n = used;
    return true;
}
