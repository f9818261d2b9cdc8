/*
 * prune.c - predicates from the filters that DuckDB's optimiser puts right above a scan.
 *
 * Only what is understood exactly is taken; the rest is TRUE, so that no row is lost. A filter
 * right above a scan drops rows before anything else sees them, so what holds for it holds for the
 * statement, whatever joins stand above.
 */
#include <math.h>
#include <string.h>

#include "sql/tree.h"

struct pruner {
    struct sl_arena *a;
    struct sl_tree_scan *scans;
    const json_t *columns;    /* column_indexes of the scan */
    const json_t *projection; /* projection_ids */
    const struct sl_tree_scan *scan;
};

static sl_str member(const json_t *obj, const char *name)
{
    const json_t *v = json_object_get(obj, name);

    return json_is_string(v) ? (sl_str){json_string_value(v), json_string_length(v)}
                             : (sl_str){"", 0};
}

static bool is(const json_t *obj, const char *name, const char *value)
{
    return sl_str_eqc(member(obj, name), value);
}

static const json_t *first(const json_t *list)
{
    return json_array_get(list, 0);
}

/* ---- columns ---- */

static const struct sl_field *column_of(const struct pruner *p, const json_t *e)
{
    const json_t *index = json_object_get(e, "index");
    json_int_t i;

    if (!is(e, "expression_class", "BOUND_REF") || !json_is_integer(index))
        return NULL;
    i = json_integer_value(index);
    if (json_array_size(p->projection) > 0) {
        index = json_array_get(p->projection, (size_t)i);
        if (!json_is_integer(index))
            return NULL;
        i = json_integer_value(index);
    }
    const json_t *column = json_array_get(p->columns, (size_t)i);
    index = json_object_get(column, "index");
    if (!json_is_integer(index) || json_array_size(json_object_get(column, "child_indexes")) > 0 ||
        !is(column, "index_type", "FULL_READ"))
        return NULL;
    i = json_integer_value(index);
    return i >= 0 && (size_t)i < p->scan->nfields ? &p->scan->fields[i] : NULL;
}

static bool is_integer_kind(enum sl_kind k)
{
    return k == SL_TINYINT || k == SL_SMALLINT || k == SL_INT || k == SL_BIGINT;
}

static bool is_integer_type(const json_t *type)
{
    return is(type, "id", "TINYINT") || is(type, "id", "SMALLINT") || is(type, "id", "INTEGER") ||
           is(type, "id", "BIGINT");
}

/* A column, or one that is only widened; *TYPE is what constants beside it must be. */
static const struct sl_field *operand(const struct pruner *p, const json_t *e, const json_t **type)
{
    const struct sl_field *f = column_of(p, e);

    *type = json_object_get(e, "return_type");
    if (f || !is(e, "expression_class", "BOUND_CAST") ||
        json_is_true(json_object_get(e, "try_cast")))
        return f;
    f = column_of(p, json_object_get(e, "child"));
    return f && is_integer_kind(f->type->kind) && is_integer_type(*type) ? f : NULL;
}

/* ---- constants ---- */

static bool integer_between(const json_t *v, int64_t least, int64_t most, int64_t *out)
{
    if (!json_is_integer(v))
        return false;
    *out = json_integer_value(v);
    return *out >= least && *out <= most;
}

static bool decimal(const json_t *v, const struct sl_type *t, const json_t *type, sl_i128 *out)
{
    const json_t *info = json_object_get(type, "type_info");
    const json_t *upper = json_object_get(v, "upper"), *lower = json_object_get(v, "lower");

    if (!is(type, "id", "DECIMAL") ||
        json_integer_value(json_object_get(info, "width")) != t->precision ||
        json_integer_value(json_object_get(info, "scale")) != t->scale)
        return false;
    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return true;
    }
    if (!json_is_integer(upper) || !json_is_integer(lower) || json_integer_value(lower) < 0)
        return false;
    *out = (sl_i128)json_integer_value(upper) * ((sl_i128)1 << 64) + json_integer_value(lower);
    return true;
}

static bool moment(const json_t *v, struct sl_value *out)
{
    int64_t micros;

    if (!integer_between(v, -INT64_MAX + 1, INT64_MAX - 1, &micros))
        return false;
    int64_t ms = micros / 1000, rest = micros % 1000;
    out->u.t.ms = rest < 0 ? ms - 1 : ms;
    out->u.t.ns = (int32_t)((rest < 0 ? rest + 1000 : rest) * 1000);
    return true;
}

/* The constant E as a value of a column of type T; TYPE is DuckDB's type of the other side. */
static bool constant(const json_t *e, const struct sl_type *t, const json_t *type,
                     struct sl_arena *a, struct sl_value *out)
{
    const json_t *value = json_object_get(e, "value"), *v = json_object_get(value, "value");
    const json_t *own = json_object_get(value, "type");

    if (!is(e, "expression_class", "BOUND_CONSTANT") ||
        !json_is_false(json_object_get(value, "is_null")) || !json_equal(own, type))
        return false;
    *out = (struct sl_value){.kind = t->kind};
    switch (t->kind) {
    case SL_BOOLEAN:
        out->u.b = json_is_true(v);
        return json_is_boolean(v);
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
        return is_integer_type(own) && integer_between(v, INT64_MIN, INT64_MAX, &out->u.i);
    case SL_DATE:
        return is(own, "id", "DATE") && integer_between(v, INT32_MIN + 2, INT32_MAX - 1, &out->u.i);
    case SL_FLOAT:
    case SL_DOUBLE:
        out->u.f = json_number_value(v);
        return (is(own, "id", "DOUBLE") || is(own, "id", "FLOAT")) && json_is_number(v) &&
               isfinite(out->u.f);
    case SL_DECIMAL:
        return decimal(v, t, own, &out->u.d);
    case SL_CHAR:
    case SL_VARCHAR:
        out->u.s = json_is_string(v)
                       ? sl_arena_str(a, (sl_str){json_string_value(v), json_string_length(v)})
                       : (sl_str){NULL, 0};
        return is(own, "id", "VARCHAR") && out->u.s.p;
    case SL_TIMESTAMP:
        return is(own, "id", "TIMESTAMP") && moment(v, out);
    case SL_TIMESTAMP_LTZ:
        return is(own, "id", "TIMESTAMP WITH TIME ZONE") && moment(v, out);
    default:
        return false;
    }
}

/* ---- expressions ---- */

static const struct sl_pred *convert(const struct pruner *p, const json_t *e);

static const struct sl_pred *make(const struct pruner *p, enum sl_pred_op op,
                                  const struct sl_field *f, const struct sl_value *values, size_t n)
{
    const struct sl_pred *out = sl_pred_cmp(p->a, op, f->id, f->type, values, n);

    return out ? out : sl_pred_true();
}

static const struct sl_pred *join(const struct pruner *p, enum sl_pred_op op,
                                  const struct sl_pred *const *args, size_t n)
{
    const struct sl_pred *out = n > 0 ? sl_pred_join(p->a, op, args, n) : NULL;

    return out ? out : sl_pred_true();
}

/* OP with its sides swapped if FLIP. */
static bool operator_of(sl_str type, bool flip, enum sl_pred_op *op)
{
    static const struct {
        const char *name;
        enum sl_pred_op op, flipped;
    } all[] = {
        {"COMPARE_EQUAL", SL_PRED_EQ, SL_PRED_EQ},
        {"COMPARE_NOTEQUAL", SL_PRED_NE, SL_PRED_NE},
        {"COMPARE_LESSTHAN", SL_PRED_LT, SL_PRED_GT},
        {"COMPARE_LESSTHANOREQUALTO", SL_PRED_LE, SL_PRED_GE},
        {"COMPARE_GREATERTHAN", SL_PRED_GT, SL_PRED_LT},
        {"COMPARE_GREATERTHANOREQUALTO", SL_PRED_GE, SL_PRED_LE},
        {"COMPARE_NOT_DISTINCT_FROM", SL_PRED_EQ, SL_PRED_EQ},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!sl_str_eqc(type, all[i].name))
            continue;
        *op = flip ? all[i].flipped : all[i].op;
        return true;
    }
    return false;
}

static const struct sl_pred *comparison(const struct pruner *p, const json_t *left,
                                        const json_t *right, sl_str type)
{
    const struct sl_field *f;
    const json_t *t;
    struct sl_value v;
    enum sl_pred_op op;
    const bool flip = is(left, "expression_class", "BOUND_CONSTANT");

    if (!operator_of(type, flip, &op))
        return sl_pred_true();
    const json_t *column = flip ? right : left, *value = flip ? left : right;
    f = operand(p, column, &t);
    return f && constant(value, f->type, t, p->a, &v) ? make(p, op, f, &v, 1) : sl_pred_true();
}

static const struct sl_pred *between(const struct pruner *p, const json_t *e)
{
    const json_t *input = json_object_get(e, "input");
    const bool low = json_is_true(json_object_get(e, "lower_inclusive")),
               high = json_is_true(json_object_get(e, "upper_inclusive"));
    const struct sl_pred *both[2] = {
        comparison(p, input, json_object_get(e, "lower"),
                   sl_str_c(low ? "COMPARE_GREATERTHANOREQUALTO" : "COMPARE_GREATERTHAN")),
        comparison(p, input, json_object_get(e, "upper"),
                   sl_str_c(high ? "COMPARE_LESSTHANOREQUALTO" : "COMPARE_LESSTHAN")),
    };

    return join(p, SL_PRED_AND, both, 2);
}

static const struct sl_pred *conjunction(const struct pruner *p, const json_t *children,
                                         enum sl_pred_op op)
{
    const size_t n = json_array_size(children);
    const struct sl_pred **args = sl_arena_array(p->a, n ? n : 1, sizeof *args);

    if (!args)
        return sl_pred_true();
    for (size_t i = 0; i < n; i++)
        args[i] = convert(p, json_array_get(children, i));
    return join(p, op, args, n);
}

static const struct sl_pred *in_list(const struct pruner *p, const json_t *children)
{
    const size_t n = json_array_size(children);
    const json_t *type;
    const struct sl_field *f = n > 1 ? operand(p, first(children), &type) : NULL;
    struct sl_value *values = f ? sl_arena_array(p->a, n - 1, sizeof *values) : NULL;

    if (!values)
        return sl_pred_true();
    for (size_t i = 1; i < n; i++)
        if (!constant(json_array_get(children, i), f->type, type, p->a, &values[i - 1]))
            return sl_pred_true();
    return make(p, SL_PRED_IN, f, values, n - 1);
}

static const struct sl_pred *operator_(const struct pruner *p, const json_t *e)
{
    const json_t *children = json_object_get(e, "children");
    const struct sl_field *f = column_of(p, first(children));
    struct sl_value no = {.kind = SL_BOOLEAN};

    if (is(e, "type", "COMPARE_IN"))
        return in_list(p, children);
    if (!f)
        return sl_pred_true();
    if (is(e, "type", "OPERATOR_IS_NULL"))
        return make(p, SL_PRED_IS_NULL, f, NULL, 0);
    if (is(e, "type", "OPERATOR_IS_NOT_NULL"))
        return make(p, SL_PRED_NOT_NULL, f, NULL, 0);
    if (is(e, "type", "OPERATOR_NOT") && f->type->kind == SL_BOOLEAN)
        return make(p, SL_PRED_EQ, f, &no, 1);
    return sl_pred_true();
}

static const struct sl_pred *function(const struct pruner *p, const json_t *e)
{
    const json_t *children = json_object_get(e, "children");
    const json_t *type;
    const struct sl_field *f;
    struct sl_value v;

    if (!is(e, "name", "prefix") && !is(e, "name", "starts_with") && !is(e, "name", "^@"))
        return sl_pred_true();
    f = json_array_size(children) == 2 ? operand(p, first(children), &type) : NULL;
    if (!f || (f->type->kind != SL_VARCHAR && f->type->kind != SL_CHAR) ||
        !constant(json_array_get(children, 1), f->type, type, p->a, &v))
        return sl_pred_true();
    return make(p, SL_PRED_PREFIX, f, &v, 1);
}

static const struct sl_pred *convert(const struct pruner *p, const json_t *e)
{
    struct sl_value yes = {.kind = SL_BOOLEAN, .u.b = true};

    if (is(e, "expression_class", "BOUND_COMPARISON"))
        return comparison(p, json_object_get(e, "left"), json_object_get(e, "right"),
                          member(e, "type"));
    if (is(e, "expression_class", "BOUND_BETWEEN"))
        return between(p, e);
    if (is(e, "type", "CONJUNCTION_AND"))
        return conjunction(p, json_object_get(e, "children"), SL_PRED_AND);
    if (is(e, "type", "CONJUNCTION_OR"))
        return conjunction(p, json_object_get(e, "children"), SL_PRED_OR);
    if (is(e, "expression_class", "BOUND_OPERATOR"))
        return operator_(p, e);
    if (is(e, "expression_class", "BOUND_FUNCTION"))
        return function(p, e);
    const struct sl_field *f = column_of(p, e);
    return f && f->type->kind == SL_BOOLEAN ? make(p, SL_PRED_EQ, f, &yes, 1) : sl_pred_true();
}

/* ---- plans ---- */

static struct sl_tree_scan *scan_of(struct sl_tree_scan *scans, size_t n, const json_t *get)
{
    const json_t *id = json_object_get(first(json_object_get(get, "parameters")), "value");

    if (!is(get, "type", "LOGICAL_GET") || !is(get, "name", "sluice_rows") || !json_is_integer(id))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (scans[i].rows_id == (uint64_t)json_integer_value(id))
            return &scans[i];
    return NULL;
}

static bool names_match(const json_t *get, const struct sl_tree_scan *scan)
{
    const json_t *names = json_object_get(get, "names");
    const json_t *sample = json_object_get(json_object_get(get, "extra_info"), "sample_options");

    return json_array_size(names) == scan->nfields && (!sample || json_is_null(sample));
}

struct walker {
    struct sl_arena *a;
    struct sl_tree_scan *scans;
    size_t n;
};

/* A scan that stands in the plan several times is read by all of them. */
static void found(const struct walker *w, struct sl_tree_scan *scan, const json_t *get,
                  const json_t *filters)
{
    const struct sl_pred *pred = sl_pred_true();

    if (filters && names_match(get, scan)) {
        struct pruner p = {w->a, w->scans, json_object_get(get, "column_indexes"),
                           json_object_get(get, "projection_ids"), scan};

        pred = conjunction(&p, filters, SL_PRED_AND);
    }
    if (scan->pred) {
        const struct sl_pred *both[2] = {scan->pred, pred};

        pred = sl_pred_join(w->a, SL_PRED_OR, both, 2);
    }
    scan->pred = pred ? pred : sl_pred_true();
}

static void walk(const struct walker *w, const json_t *node)
{
    const json_t *children = json_object_get(node, "children");
    const json_t *below = first(children);
    struct sl_tree_scan *scan = scan_of(w->scans, w->n, node);

    if (scan) {
        found(w, scan, node, NULL);
        return;
    }
    scan = is(node, "type", "LOGICAL_FILTER") && json_array_size(children) == 1
               ? scan_of(w->scans, w->n, below)
               : NULL;
    if (scan) {
        found(w, scan, below, json_object_get(node, "expressions"));
        return;
    }
    for (size_t i = 0; i < json_array_size(children); i++)
        walk(w, json_array_get(children, i));
}

void sl_plan_predicates(sl_str json, struct sl_arena *a, struct sl_tree_scan *scans, size_t n)
{
    const struct walker w = {a, scans, n};
    json_t *tree = NULL;

    for (size_t i = 0; i < n; i++)
        scans[i].pred = NULL;
    if (sl_tree_read(json, &tree, NULL) == SL_OK && json_is_false(json_object_get(tree, "error"))) {
        const json_t *plans = json_object_get(tree, "plans");

        if (json_array_size(plans) == 1)
            walk(&w, first(plans));
    }
    json_decref(tree);
    for (size_t i = 0; i < n; i++)
        if (!scans[i].pred)
            scans[i].pred = sl_pred_true();
}

void sl_tree_predicates(struct sl_conn *c, sl_str sql, struct sl_arena *a,
                        struct sl_tree_scan *scans, size_t n)
{
    struct sl_buf q = SL_BUF_INIT;
    char *json = NULL;

    for (size_t i = 0; i < n; i++)
        scans[i].pred = sl_pred_true();
    sl_buf_addc(&q, "SELECT json_serialize_plan(");
    sl_buf_sql_string(&q, sql);
    sl_buf_addc(&q, ", optimize := true)");
    if (!q.failed && sl_conn_query_str(c, sl_buf_view(&q), &json, NULL) == SL_OK && json)
        sl_plan_predicates(sl_str_c(json), a, scans, n);
    sl_free(json);
    sl_buf_release(&q);
}
