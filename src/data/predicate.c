#include "data/predicate.h"

#include <math.h>
#include <string.h>

const struct sl_pred *sl_pred_true(void)
{
    static const struct sl_pred yes = {.op = SL_PRED_TRUE};

    return &yes;
}

const struct sl_pred *sl_pred_join(struct sl_arena *a, enum sl_pred_op and_or, const struct sl_pred *const *args, size_t n)
{
    static const struct sl_pred no = {.op = SL_PRED_FALSE};
    enum sl_pred_op neutral = and_or == SL_PRED_AND ? SL_PRED_TRUE : SL_PRED_FALSE;
    enum sl_pred_op absorbing = and_or == SL_PRED_AND ? SL_PRED_FALSE : SL_PRED_TRUE;
    const struct sl_pred **kept = sl_arena_array(a, n ? n : 1, sizeof *kept);
    struct sl_pred *p = sl_arena_alloc(a, sizeof *p);
    size_t count = 0;

    if (!kept || !p)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!args[i])
            return NULL;
        if (args[i]->op == absorbing)
            return args[i];
        if (args[i]->op != neutral)
            kept[count++] = args[i];
    }
    if (count == 0)
        return neutral == SL_PRED_TRUE ? sl_pred_true() : &no;
    if (count == 1)
        return kept[0];
    *p = (struct sl_pred){.op = and_or, .args = kept, .nargs = count};
    return p;
}

const struct sl_pred *sl_pred_cmp(struct sl_arena *a, enum sl_pred_op op, int32_t field_id, const struct sl_type *type,
                                  const struct sl_value *values, size_t n)
{
    struct sl_pred *p = sl_arena_alloc(a, sizeof *p);
    struct sl_value *copy = sl_arena_array(a, n ? n : 1, sizeof *copy);

    if (!p || !copy)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        copy[i] = values[i];
        if (values[i].null || values[i].kind < SL_CHAR || values[i].kind > SL_VARBINARY)
            continue;
        copy[i].u.s = sl_arena_str(a, values[i].u.s);
        if (!copy[i].u.s.p)
            return NULL;
    }
    *p = (struct sl_pred){.op = op, .field_id = field_id, .type = type, .values = copy, .nvalues = n};
    return p;
}

/* ---- pruning ---- */

static bool comparable(const struct sl_value *a, const struct sl_value *b)
{
    if (a->kind >= SL_TINYINT && a->kind <= SL_BIGINT)
        return b->kind >= SL_TINYINT && b->kind <= SL_BIGINT;
    if (a->kind == SL_CHAR || a->kind == SL_VARCHAR)
        return b->kind == SL_CHAR || b->kind == SL_VARCHAR;
    if (a->kind == SL_BINARY || a->kind == SL_VARBINARY)
        return b->kind == SL_BINARY || b->kind == SL_VARBINARY;
    return a->kind == b->kind;
}

static bool prefix_may_match(const struct sl_col_stats *st, sl_str prefix)
{
    if (sl_str_cmp(st->max.u.s, prefix) < 0)
        return false;
    return sl_str_cmp(sl_str_sub(st->min.u.s, 0, prefix.n), prefix) <= 0;
}

/* May a non-null value within the bounds satisfy the comparison? Bounds may be wider than the values. */
static bool bounds_may_match(enum sl_pred_op op, const struct sl_col_stats *st, const struct sl_value *v)
{
    /* Bounds of floating columns say nothing of NaN, which is greater than all. */
    bool real = v->kind == SL_FLOAT || v->kind == SL_DOUBLE;

    if (!comparable(&st->min, v) || !comparable(&st->max, v) || (real && isnan(v->u.f)))
        return true;
    int low = sl_value_cmp(&st->min, v), high = sl_value_cmp(&st->max, v);
    switch (op) {
    case SL_PRED_EQ:
    case SL_PRED_IN:
        return low <= 0 && high >= 0;
    case SL_PRED_NE:
        return real || low != 0 || high != 0;
    case SL_PRED_LT:
        return low < 0;
    case SL_PRED_LE:
        return low <= 0;
    case SL_PRED_GT:
        return real || high > 0;
    case SL_PRED_GE:
        return real || high >= 0;
    case SL_PRED_PREFIX:
        return v->kind != SL_VARCHAR && v->kind != SL_CHAR ? true : prefix_may_match(st, v->u.s);
    default:
        return true;
    }
}

static bool column_may_match(const struct sl_pred *p, int64_t rows, const struct sl_col_stats *st)
{
    if (p->op == SL_PRED_IS_NULL)
        return !st->has_nulls || st->null_count != 0;
    if (st->has_nulls && st->null_count >= rows)
        return false;
    if (p->op == SL_PRED_NOT_NULL)
        return true;
    for (size_t i = 0; i < p->nvalues; i++)
        if (!p->values[i].null && (!st->has_bounds || bounds_may_match(p->op, st, &p->values[i])))
            return true;
    return false;
}

bool sl_pred_may_match(const struct sl_pred *p, int64_t rows,
                       bool (*stats)(void *user, int32_t field_id, struct sl_col_stats *out), void *user)
{
    struct sl_col_stats st = {0};

    switch (p->op) {
    case SL_PRED_TRUE:
        return true;
    case SL_PRED_FALSE:
        return false;
    case SL_PRED_AND:
        for (size_t i = 0; i < p->nargs; i++)
            if (!sl_pred_may_match(p->args[i], rows, stats, user))
                return false;
        return true;
    case SL_PRED_OR:
        for (size_t i = 0; i < p->nargs; i++)
            if (sl_pred_may_match(p->args[i], rows, stats, user))
                return true;
        return false;
    default:
        return !stats(user, p->field_id, &st) || column_may_match(p, rows, &st);
    }
}

/* ---- text ---- */

static void values_text(struct sl_buf *out, const struct sl_pred *p)
{
    for (size_t i = 0; i < p->nvalues; i++) {
        sl_buf_addc(out, i ? ", " : "");
        sl_value_text(out, p->type, &p->values[i]);
    }
}

void sl_pred_text(struct sl_buf *out, const struct sl_pred *p)
{
    static const char *const ops[] = {[SL_PRED_EQ] = "=", [SL_PRED_NE] = "<>", [SL_PRED_LT] = "<", [SL_PRED_LE] = "<=",
                                      [SL_PRED_GT] = ">", [SL_PRED_GE] = ">=", [SL_PRED_PREFIX] = "starts with"};

    switch (p->op) {
    case SL_PRED_TRUE:
        sl_buf_addc(out, "true");
        break;
    case SL_PRED_FALSE:
        sl_buf_addc(out, "false");
        break;
    case SL_PRED_AND:
    case SL_PRED_OR:
        sl_buf_ch(out, '(');
        for (size_t i = 0; i < p->nargs; i++) {
            if (i)
                sl_buf_addc(out, p->op == SL_PRED_AND ? " and " : " or ");
            sl_pred_text(out, p->args[i]);
        }
        sl_buf_ch(out, ')');
        break;
    case SL_PRED_IS_NULL:
    case SL_PRED_NOT_NULL:
        sl_buf_printf(out, "#%d is %snull", p->field_id, p->op == SL_PRED_IS_NULL ? "" : "not ");
        break;
    case SL_PRED_IN:
        sl_buf_printf(out, "#%d in (", p->field_id);
        values_text(out, p);
        sl_buf_ch(out, ')');
        break;
    default:
        sl_buf_printf(out, "#%d %s ", p->field_id, ops[p->op]);
        values_text(out, p);
    }
}
