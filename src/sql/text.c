#include "sql/text.h"

#include <stdlib.h>
#include <string.h>

void sl_edit_add(struct sl_edits *e, size_t from, size_t to, sl_str text)
{
    sl_str copy = sl_arena_str(e->arena, text);
    struct sl_edit *edit = copy.p ? sl_vec_push(e) : NULL;

    if (!edit) {
        e->failed = true;
        return;
    }
    *edit = (struct sl_edit){from, to, copy, e->n};
}

void sl_edit_addc(struct sl_edits *e, size_t from, size_t to, const char *text)
{
    sl_edit_add(e, from, to, sl_str_c(text));
}

void sl_edits_release(struct sl_edits *e)
{
    sl_free(e->v);
    e->v = NULL;
    e->n = e->cap = 0;
}

/* In the order of the text; at one place insertions first, and then of replacements the one of most
 * text, the later one of two alike: what lies in it is not looked at. */
static int edit_cmp(const void *a, const void *b)
{
    const struct sl_edit *x = a, *y = b;
    const bool insert_x = x->from == x->to, insert_y = y->from == y->to;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (insert_x != insert_y)
        return insert_x ? -1 : 1;
    if (x->to != y->to)
        return x->to > y->to ? -1 : 1;
    return (x->order < y->order) == insert_x ? -1 : 1;
}

static int add_segment(struct sl_sql_text *out, size_t from, bool copied, sl_str text, sl_err *err)
{
    if (text.n == 0)
        return SL_OK;
    struct sl_segment *s = sl_vec_push(&out->map);
    if (!s)
        return sl_err_nomem(err);
    *s = (struct sl_segment){out->buf.n, from, copied};
    sl_buf_add(&out->buf, text);
    return sl_buf_ok(&out->buf, err);
}

int sl_sql_generate(struct sl_sql_text *out, size_t at, sl_str text, sl_err *err)
{
    return add_segment(out, at, false, text, err);
}

int sl_sql_render(sl_str text, size_t from, size_t to, struct sl_edits *e, struct sl_sql_text *out,
                  sl_err *err)
{
    size_t at = from;

    if (e->failed)
        return sl_err_nomem(err);
    if (e->n > 0)
        qsort(e->v, e->n, sizeof *e->v, edit_cmp);
    for (size_t i = 0; i < e->n; i++) {
        const struct sl_edit *edit = &e->v[i];

        if (edit->from < at || edit->to > to)
            continue;
        SL_TRY(add_segment(out, at, true, sl_str_sub(text, at, edit->from), err));
        SL_TRY(add_segment(out, edit->from, false, edit->text, err));
        at = edit->to;
    }
    SL_TRY(add_segment(out, at, true, sl_str_sub(text, at, to), err));
    return sl_buf_ok(&out->buf, err);
}

void sl_sql_text_release(struct sl_sql_text *t)
{
    sl_buf_release(&t->buf);
    sl_free(t->map.v);
    *t = (struct sl_sql_text)SL_SQL_TEXT_INIT;
}

size_t sl_sql_origin(const struct sl_sql_text *t, size_t at)
{
    size_t low = 0, high = t->map.n;

    if (t->map.n == 0)
        return 0;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (t->map.v[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    const struct sl_segment *s = &t->map.v[low];
    return s->copied && at > s->at ? s->from + (at - s->at) : s->from;
}

int sl_sql_map_error(const struct sl_sql_text *t, int code, sl_err *err)
{
    if (err && err->offset >= 0)
        err->offset = (int64_t)sl_sql_origin(t, (size_t)err->offset);
    return code;
}
