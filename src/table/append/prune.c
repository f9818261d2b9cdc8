/* prune.c - judging manifests, partitions and files by what is known of their columns. */
#include "table/append/prune.h"

#include <math.h>
#include <string.h>

#include "base/sys.h"

struct sl_pruner {
    struct sl_append *t;
    const struct sl_schema *schema;
    const struct sl_pred *pred;
    /* what is judged now */
    const struct sl_manifest_meta *manifest;
    const struct sl_manifest_entry *entry;
    const struct sl_value *partition;
    const struct sl_schema *file_schema;
    /* types of a file's statistics, in their order */
    SL_VEC(const struct sl_type *) types;
};

int sl_pruner_new(struct sl_append *t, const struct sl_schema *schema, const struct sl_pred *pred, struct sl_pruner **out, sl_err *err)
{
    struct sl_pruner *p = sl_calloc(1, sizeof *p);

    *out = p;
    if (!p)
        return sl_err_nomem(err);
    p->t = t;
    p->schema = schema;
    p->pred = pred;
    return SL_OK;
}

void sl_pruner_free(struct sl_pruner *p)
{
    if (!p)
        return;
    sl_free(p->types.v);
    sl_free(p);
}

/* Which partition column has this field id; -1 if none. */
static ptrdiff_t partition_column(const struct sl_pruner *p, int32_t field_id)
{
    for (size_t i = 0; i < p->t->npartition; i++)
        if (p->t->schema->fields[p->t->schema->partition_index[i]].id == field_id)
            return (ptrdiff_t)i;
    return -1;
}

/* ---- manifests: bounds of the partition columns over their entries ---- */

static bool manifest_stats(void *user, int32_t field_id, struct sl_col_stats *out)
{
    struct sl_pruner *p = user;
    ptrdiff_t i = partition_column(p, field_id);

    return i >= 0 && sl_stats_column(&p->manifest->partition_stats, p->t->partition_types, p->t->npartition, (size_t)i, out);
}

bool sl_pruner_manifest(struct sl_pruner *p, const struct sl_manifest_meta *m)
{
    if (!p->pred || p->t->npartition == 0)
        return true;
    p->manifest = m;
    return sl_pred_may_match(p->pred, m->num_added_files + m->num_deleted_files, manifest_stats, p);
}

/* ---- partitions: exact values ---- */

static bool partition_stats(void *user, int32_t field_id, struct sl_col_stats *out)
{
    struct sl_pruner *p = user;
    ptrdiff_t i = partition_column(p, field_id);

    if (i < 0)
        return false;
    memset(out, 0, sizeof *out);
    out->has_nulls = true;
    out->has_bounds = !p->partition[i].null;
    if (out->has_bounds)
        out->min = out->max = p->partition[i];
    else
        out->null_count = p->entry ? p->entry->file.row_count : 1;
    return true;
}

bool sl_pruner_partition(struct sl_pruner *p, const struct sl_value *values)
{
    if (!p->pred || p->t->npartition == 0)
        return true;
    p->entry = NULL;
    p->partition = values;
    return sl_pred_may_match(p->pred, 1, partition_stats, p);
}

/* ---- files ---- */

static bool is_integer(enum sl_kind k)
{
    return k == SL_TINYINT || k == SL_SMALLINT || k == SL_INT || k == SL_BIGINT;
}

/* Bounds of the file's type as bounds of the column's type; false where the conversion is not certain to keep the order and the values. */
static bool convert(const struct sl_type *from, const struct sl_type *to, struct sl_col_stats *st)
{
    if (!sl_type_same(from, to, true) && !sl_type_widens(from, to))
        return false;
    if (from->kind != to->kind) {
        if (!(is_integer(from->kind) && is_integer(to->kind)) && !(from->kind == SL_FLOAT && to->kind == SL_DOUBLE))
            st->has_bounds = false;
        st->min.kind = st->max.kind = to->kind;
    }
    if (to->kind == SL_DECIMAL && from->scale != to->scale)
        st->has_bounds = false;
    /* Some writers leave NaN out of the bounds, and NaN is greater than all. */
    if (to->kind == SL_FLOAT || to->kind == SL_DOUBLE)
        st->max.u.f = NAN;
    return true;
}

static bool push_type(struct sl_pruner *p, const struct sl_type *type)
{
    const struct sl_type **to = sl_vec_push(&p->types);

    if (to)
        *to = type;
    return to != NULL;
}

/* Types of the statistics of the file, in order, and where column NAME stands among them; -1: nothing known. */
static ptrdiff_t stats_layout(struct sl_pruner *p, const char *name)
{
    const struct sl_data_file *f = &p->entry->file;
    bool listed = f->has_value_stats_cols || f->has_write_cols;
    const sl_str *names = f->has_value_stats_cols ? f->value_stats_cols : f->write_cols;
    size_t n = f->has_value_stats_cols ? f->nvalue_stats_cols : f->has_write_cols ? f->nwrite_cols : p->file_schema->nfields;
    ptrdiff_t at = -1;

    p->types.n = 0;
    for (size_t i = 0; i < n; i++) {
        sl_str column = listed ? names[i] : sl_str_c(p->file_schema->fields[i].name);
        const struct sl_field *field = sl_schema_field(p->file_schema, column);

        if (sl_str_eqc(column, name))
            at = (ptrdiff_t)i;
        if (!field || !push_type(p, field->type))
            return -1; /* such as _ROW_ID: then the layout of the row is not known */
    }
    return at;
}

static bool file_stats(void *user, int32_t field_id, struct sl_col_stats *out)
{
    struct sl_pruner *p = user;
    const struct sl_field *want, *have;

    if (partition_column(p, field_id) >= 0)
        return partition_stats(user, field_id, out);
    want = sl_schema_field_by_id(p->schema, field_id);
    have = sl_schema_field_by_id(p->file_schema, field_id);
    if (!want)
        return false;
    if (!have) { /* added after the file was written: NULL in every row */
        memset(out, 0, sizeof *out);
        out->has_nulls = true;
        out->null_count = p->entry->file.row_count;
        return true;
    }
    ptrdiff_t at = stats_layout(p, have->name);
    if (at < 0 || !sl_stats_column(&p->entry->file.value_stats, p->types.v, p->types.n, (size_t)at, out))
        return false;
    return convert(have->type, want->type, out);
}

bool sl_pruner_file(struct sl_pruner *p, const struct sl_manifest_entry *e, const struct sl_value *values)
{
    if (!p->pred)
        return true;
    p->entry = e;
    p->partition = values;
    if (sl_append_schema(p->t, e->file.schema_id, &p->file_schema, NULL) != SL_OK)
        return true;
    return sl_pred_may_match(p->pred, e->file.row_count, file_stats, p);
}
