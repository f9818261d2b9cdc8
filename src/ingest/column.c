/* column.c - the columns that rows are read into, and how one value is put into a vector. */
#include "ingest/column.h"

#include <string.h>

/* ---- the tree ---- */

static int make_kids(struct sl_arena *a, struct sl_column *c, sl_err *err);

static int make_column(struct sl_arena *a, struct sl_column *c, const struct sl_column *parent, sl_str name,
                       const struct sl_type *type, sl_err *err)
{
    c->name = name;
    c->type = type;
    c->parent = parent;
    return make_kids(a, c, err);
}

static int make_row(struct sl_arena *a, struct sl_column *c, const struct sl_field *fields, size_t n, size_t extra,
                    const struct sl_column *parent, sl_err *err)
{
    c->nkids = n + extra;
    c->kids = sl_arena_array(a, c->nkids ? c->nkids : 1, sizeof *c->kids);
    c->follow = sl_arena_array(a, c->nkids + 1, sizeof *c->follow);
    c->seen = sl_arena_array(a, c->nkids ? c->nkids : 1, sizeof *c->seen);
    c->names = sl_map_new();
    if (!c->kids || !c->follow || !c->seen || !c->names)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        void **slot = sl_map_at(c->names, sl_str_c(fields[i].name));

        if (!slot)
            return sl_err_nomem(err);
        *slot = (void *)(i + 1);
        SL_TRY(make_column(a, &c->kids[i], parent, sl_str_c(fields[i].name), fields[i].type, err));
        if (!parent && fields[i].default_text)
            c->kids[i].default_text = sl_str_c(fields[i].default_text);
        c->follow[i] = (uint32_t)(i + 1 < n ? i + 1 : i);
    }
    return SL_OK;
}

static int make_kids(struct sl_arena *a, struct sl_column *c, sl_err *err)
{
    const struct sl_type *t = c->type;

    if (t->kind == SL_ROW)
        return make_row(a, c, t->fields, t->nfields, 0, c, err);
    if (t->kind != SL_ARRAY && t->kind != SL_MAP)
        return SL_OK;
    c->nkids = t->kind == SL_MAP ? 2 : 1;
    c->kids = sl_arena_array(a, c->nkids, sizeof *c->kids);
    if (!c->kids)
        return sl_err_nomem(err);
    if (t->kind == SL_ARRAY)
        return make_column(a, &c->kids[0], c, SL_LIT("[]"), t->element, err);
    SL_TRY(make_column(a, &c->kids[0], c, SL_LIT("key"), t->key, err));
    return make_column(a, &c->kids[1], c, SL_LIT("value"), t->value, err);
}

int sl_columns_make(struct sl_arena *a, const struct sl_field *fields, size_t n, sl_str op_field,
                    struct sl_column *root, sl_err *err)
{
    static const struct sl_type row = {.kind = SL_ROW};

    memset(root, 0, sizeof *root);
    root->type = &row;
    SL_TRY(make_row(a, root, fields, n, op_field.n ? 1 : 0, NULL, err));
    if (op_field.n == 0)
        return SL_OK;
    void **slot = sl_map_at(root->names, op_field);
    if (!slot)
        return sl_err_nomem(err);
    if (*slot) {
        struct sl_column *c = &root->kids[(size_t)*slot - 1];

        if (c->type->kind != SL_VARCHAR && c->type->kind != SL_CHAR)
            return sl_err_set(err, SL_EUSAGE, "column \"" SL_STRF "\" cannot tell the kind of a row: it is no text",
                              SL_STRV(op_field));
        c->tells_op = true;
        root->nkids = n;
        return SL_OK;
    }
    *slot = (void *)(n + 1);
    root->kids[n].name = op_field;
    root->kids[n].tells_op = true;
    return SL_OK;
}

void sl_columns_keyed(struct sl_column *root)
{
    for (size_t i = 0; i < root->nkids; i++) {
        root->kids[i].takes_changes = root->kids[i].tells_op;
        root->kids[i].zone_optional = root->kids[i].type && root->kids[i].type->kind == SL_TIMESTAMP_LTZ;
    }
}

void sl_columns_release(struct sl_column *c)
{
    for (size_t i = 0; c->kids && i < c->nkids; i++)
        sl_columns_release(&c->kids[i]);
    sl_map_free(c->names, NULL);
    c->names = NULL;
}

ptrdiff_t sl_column_find(const struct sl_column *row, sl_str name)
{
    return (ptrdiff_t)(size_t)sl_map_get(row->names, name) - 1;
}

void sl_column_path(const struct sl_column *c, struct sl_buf *out)
{
    if (c->parent) {
        sl_column_path(c->parent, out);
        if (!sl_str_eqc(c->name, "[]"))
            sl_buf_ch(out, '.');
    }
    sl_buf_add(out, c->name);
}

/* ---- faults ---- */

int sl_fault_set(struct sl_put *put, const struct sl_column *c, const char *at, const char *fmt, ...)
{
    va_list ap;

    put->fault.column = c;
    put->fault.at = at;
    va_start(ap, fmt);
    vsnprintf(put->fault.text, sizeof put->fault.text, fmt, ap);
    va_end(ap);
    return SL_EINPUT;
}

/* A short form of TEXT that can be printed anywhere. */
static const char *preview(sl_str text, char out[64])
{
    size_t n = text.n < 40 ? text.n : 40;

    while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f ? '?' : text.p[i];
    out[n] = '\0';
    if (!sl_utf8_valid((sl_str){out, n}, NULL))
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)out[i] >= 0x80)
                out[i] = '?';
    memcpy(out + n, n < text.n ? "..." : "", n < text.n ? 4 : 1);
    return out;
}

int sl_fault_value(struct sl_put *put, const struct sl_column *c, sl_str text, const char *why)
{
    struct sl_buf type = SL_BUF_INIT;
    char shown[64];

    if (c && c->type)
        sl_type_sql(&type, c->type);
    sl_fault_set(put, c, text.p, "\"%s\" %s%s%s%s", preview(text, shown), why, type.n ? " (" : "",
                 type.n ? type.p : "", type.n ? ")" : "");
    sl_buf_release(&type);
    return SL_EINPUT;
}

/* ---- storing ---- */

int sl_put_null(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, const char *at)
{
    if (!c->type->nullable)
        return sl_fault_set(put, c, at, "is null, but the column is NOT NULL");
    if (v->validity && v->nchildren == 0) {
        v->validity[row / 64] &= ~((uint64_t)1 << (row % 64));
        return SL_OK;
    }
    return sl_vector_set_null(v, row, put->err);
}

void sl_vector_revive(struct sl_vector *v, size_t row)
{
    if (v->validity)
        v->validity[row / 64] |= (uint64_t)1 << (row % 64);
    if (v->type->kind == SL_ROW)
        for (size_t i = 0; i < v->nchildren; i++)
            sl_vector_revive(&v->children[i], row);
}

bool sl_range_of(enum sl_kind kind, int64_t *min, int64_t *max)
{
    int bits;

    switch (kind) {
    case SL_TINYINT: bits = 8; break;
    case SL_SMALLINT: bits = 16; break;
    case SL_INT: bits = 32; break;
    case SL_BIGINT: bits = 64; break;
    default: return false;
    }
    *max = (int64_t)(UINT64_MAX >> (65 - bits));
    *min = -*max - 1;
    return true;
}

void sl_store_i64(struct sl_vector *v, size_t row, enum sl_kind kind, int64_t value)
{
    switch (kind) {
    case SL_TINYINT: ((int8_t *)v->data)[row] = (int8_t)value; break;
    case SL_SMALLINT: ((int16_t *)v->data)[row] = (int16_t)value; break;
    case SL_INT: ((int32_t *)v->data)[row] = (int32_t)value; break;
    default: ((int64_t *)v->data)[row] = value; break;
    }
}

int sl_put_number(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text)
{
    const struct sl_type *t = c->type;
    const char *why = "";
    int64_t min, max, i;
    sl_i128 d;

    if (sl_range_of(t->kind, &min, &max)) {
        if (!sl_number_to_i64(text, min, max, &i, &why))
            return sl_fault_value(put, c, text, why);
        sl_store_i64(v, row, t->kind, i);
        return SL_OK;
    }
    if (t->kind == SL_DECIMAL) {
        if (!sl_number_to_decimal(text, t->precision, t->scale, &d, &why))
            return sl_fault_value(put, c, text, why);
        sl_vector_set_decimal(v, row, d);
        return SL_OK;
    }
    bool ok = t->kind == SL_FLOAT ? sl_number_to_float(text, (float *)v->data + row, &why)
                                  : sl_number_to_double(text, (double *)v->data + row, &why);
    return ok ? SL_OK : sl_fault_value(put, c, text, why);
}

static int check_length(struct sl_put *put, const struct sl_column *c, sl_str text, size_t length, const char *unit)
{
    char shown[64];

    return sl_fault_set(put, c, text.p, "\"%s\" has %zu %s, but the column holds at most %d", preview(text, shown),
                        length, unit, (int)c->type->length);
}

static int put_cell(struct sl_put *put, struct sl_vector *v, size_t row, sl_str text)
{
    union sl_string_cell *cell = (union sl_string_cell *)v->data + row;

    if (text.n > sizeof cell->near.bytes) {
        if (text.n > UINT32_MAX)
            return sl_err_set(put->err, SL_EUNSUPPORTED, "a value of 4 GiB or more is not supported");
        return v->ops->put_far(v, row, text, put->err);
    }
    memset(cell, 0, sizeof *cell);
    cell->near.n = (uint32_t)text.n;
    if (text.n)
        memcpy(cell->near.bytes, text.p, text.n);
    return SL_OK;
}

int sl_put_string(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text, bool ascii)
{
    const struct sl_type *t = c->type;
    bool bytes = t->kind == SL_BINARY || t->kind == SL_VARBINARY;
    size_t bad = 0;

    if (!bytes && !ascii && !sl_utf8_valid(text, &bad))
        return sl_fault_set(put, c, text.p + bad, "is not UTF-8");
    if (t->length != SL_LENGTH_MAX && text.n > (size_t)t->length) {
        size_t n = bytes ? text.n : sl_utf8_count(text);

        if (n > (size_t)t->length)
            return check_length(put, c, text, n, bytes ? "bytes" : "characters");
    }
    return put_cell(put, v, row, text);
}

static int put_boolean(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text)
{
    bool t = sl_str_ieqc(text, "true");

    if (!t && !sl_str_ieqc(text, "false"))
        return sl_fault_value(put, c, text, "is neither true nor false");
    ((uint8_t *)v->data)[row] = t;
    return SL_OK;
}

static int put_number_text(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text,
                           enum sl_number_form form)
{
    bool real = c->type->kind == SL_FLOAT || c->type->kind == SL_DOUBLE, whole;
    double d;

    if (sl_number_end(text.p, text.p + text.n, form, &whole) == text.p + text.n && text.n)
        return sl_put_number(put, c, v, row, text);
    /* Only the names of what is no number are left to be parsed. */
    if (real && text.n && !(text.p[text.n - 1] >= '0' && text.p[text.n - 1] <= '9') && sl_parse_f64(text, &d)) {
        if (c->type->kind == SL_FLOAT)
            ((float *)v->data)[row] = (float)d;
        else
            ((double *)v->data)[row] = d;
        return SL_OK;
    }
    return sl_fault_value(put, c, text, "is not a number");
}

int sl_put_text(struct sl_put *put, const struct sl_column *c, struct sl_vector *v, size_t row, sl_str text,
                enum sl_number_form form)
{
    const struct sl_type *t = c->type;
    const char *why = "";
    bool ok;

    switch (t->kind) {
    case SL_CHAR: case SL_VARCHAR:
        return sl_put_string(put, c, v, row, text, false);
    case SL_BINARY: case SL_VARBINARY:
        if (!sl_text_from_base64(text, &put->bytes, &why))
            return sl_fault_value(put, c, text, why);
        return sl_put_string(put, c, v, row, sl_buf_view(&put->bytes), false);
    case SL_BOOLEAN:
        return put_boolean(put, c, v, row, text);
    case SL_DATE:
        ok = sl_text_to_date(text, (int32_t *)v->data + row, &why);
        break;
    case SL_TIME:
        ok = sl_text_to_time(text, t->precision, (int64_t *)v->data + row, &why);
        break;
    case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ:
        ok = sl_text_to_timestamp(text, t->kind == SL_TIMESTAMP_LTZ, t->precision, (int64_t *)v->data + row, &why) ||
             (c->zone_optional && sl_text_to_timestamp(text, false, t->precision, (int64_t *)v->data + row, &why));
        break;
    case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_BIGINT: case SL_FLOAT: case SL_DOUBLE: case SL_DECIMAL:
        return put_number_text(put, c, v, row, text, form);
    default:
        return sl_fault_set(put, c, text.p, "a nested value cannot be read from text");
    }
    return ok ? SL_OK : sl_fault_value(put, c, text, why);
}

/* ---- rows ---- */

int sl_check_op(struct sl_put *put, const struct sl_column *c, sl_str text)
{
    static const char *const inserts[] = {"+I", "I", "insert", "c", "create", "r", "read", NULL};
    static const char *const changes[] = {"-U", "+U", "-D", "U", "D", "update", "delete", "update_before",
                                          "update_after", "upsert", NULL};
    char shown[64];

    for (size_t i = 0; inserts[i]; i++)
        if (sl_str_ieqc(text, inserts[i]))
            return SL_OK;
    for (size_t i = 0; changes[i]; i++)
        if (sl_str_ieqc(text, changes[i]) && c->takes_changes)
            return SL_OK;
        else if (sl_str_ieqc(text, changes[i]))
            return sl_fault_set(put, c, text.p,
                                "the row is a change (\"%s\"): a table without a primary key only takes inserts, since "
                                "it cannot tell which row is meant", preview(text, shown));
    return sl_fault_set(put, c, text.p, "\"%s\" is no kind of row", preview(text, shown));
}

int sl_put_missing(struct sl_put *put, const struct sl_column *row_column, struct sl_vector *vectors, size_t row,
                   uint64_t stamp, const char *at)
{
    for (size_t i = 0; i < row_column->nkids; i++) {
        const struct sl_column *c = &row_column->kids[i];

        if (row_column->seen[i] == stamp || !c->type)
            continue;
        if (c->default_text.p) {
            if (vectors[i].wanted || c->parent)
                SL_TRY(sl_put_text(put, c, &vectors[i], row, c->default_text, SL_NUMBER_LOOSE));
            continue;
        }
        if (!c->type->nullable)
            return sl_fault_set(put, c, at, "is missing, but the column is NOT NULL");
        if (vectors[i].wanted || c->parent)
            SL_TRY(sl_put_null(put, c, &vectors[i], row, at));
    }
    return SL_OK;
}
