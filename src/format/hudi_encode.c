/* hudi_encode.c - rows of batches as Avro records. */
#include <string.h>

#include "format/hudi_avro_priv.h"

enum load_op { L_I8, L_I16, L_I32, L_I64, L_BOOL, L_FLOAT, L_DOUBLE, L_BYTES, L_D2, L_D4, L_D8, L_D16 };
enum write_op { W_BOOL, W_VARINT, W_FLOAT, W_DOUBLE, W_BYTES, W_FIXED, W_DECIMAL_BYTES, W_DECIMAL_FIXED, W_ARRAY, W_MAP, W_ROW, W_META, W_NULL };

struct node {
    uint8_t load, write;
    int8_t null_branch;
    int64_t divisor;                  /* of times: 1 or 1000 */
    sl_i128 scale_up, limit;          /* decimals */
    size_t size;                      /* fixed */
    size_t source;                    /* column or member; W_META: which of the meta fields */
    const char *column;
    struct node *inner;
    size_t ninner;
};

struct sl_hudi_encoder {
    struct sl_arena arena;
    struct node root;
};

/* ---- making the steps ---- */

static bool is_integer(enum sl_kind k)
{
    return k >= SL_TINYINT && k <= SL_BIGINT;
}

static bool is_time(enum sl_kind k)
{
    return k == SL_TIMESTAMP || k == SL_TIMESTAMP_LTZ;
}

static bool writable(const struct sl_type *from, const struct sl_type *to)
{
    bool text = from->kind == SL_CHAR || from->kind == SL_VARCHAR, binary = from->kind == SL_BINARY || from->kind == SL_VARBINARY;

    if (text)
        return to->kind == SL_VARCHAR;
    if (binary)
        return to->kind == SL_VARBINARY || to->kind == SL_BINARY; /* lengths are checked a value */
    if (is_time(from->kind))
        return is_time(to->kind) && from->precision <= 6;
    if (from->kind == SL_TIME)
        return to->kind == SL_TIME;
    if (is_integer(from->kind))
        return is_integer(to->kind) && to->kind >= from->kind;
    if (from->kind == SL_DECIMAL)
        return to->kind == SL_DECIMAL && to->scale >= from->scale;
    return from->kind == to->kind || (from->kind == SL_FLOAT && to->kind == SL_DOUBLE);
}

static uint8_t load_of(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: return L_BOOL;
    case SL_TINYINT: return L_I8;
    case SL_SMALLINT: return L_I16;
    case SL_INT: case SL_DATE: return L_I32;
    case SL_FLOAT: return L_FLOAT;
    case SL_DOUBLE: return L_DOUBLE;
    case SL_DECIMAL: return t->precision <= 4 ? L_D2 : t->precision <= 9 ? L_D4 : t->precision <= 18 ? L_D8 : L_D16;
    case SL_BIGINT: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: return L_I64;
    default: return L_BYTES;
    }
}

static uint8_t write_of(const struct sl_avro_schema *s, const struct sl_type *to)
{
    switch (s->kind) {
    case SL_AVRO_BOOLEAN: return W_BOOL;
    case SL_AVRO_INT: case SL_AVRO_LONG: return W_VARINT;
    case SL_AVRO_FLOAT: return W_FLOAT;
    case SL_AVRO_DOUBLE: return W_DOUBLE;
    case SL_AVRO_FIXED: return to->kind == SL_DECIMAL ? W_DECIMAL_FIXED : W_FIXED;
    default: return to->kind == SL_DECIMAL ? W_DECIMAL_BYTES : W_BYTES;
    }
}

static sl_i128 power(int n)
{
    sl_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static int make(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n);

static int make_row(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_field *cols, size_t ncols, struct node *n, bool top)
{
    n->write = W_ROW;
    n->ninner = s->n;
    n->inner = sl_arena_array(m->a, s->n ? s->n : 1, sizeof *n->inner);
    if (!n->inner)
        return sl_err_nomem(m->err);
    for (size_t i = 0; i < s->n; i++) {
        struct node *f = &n->inner[i];
        size_t at = 0;
        int null_branch;

        if (top)
            m->column = s->names[i];
        f->column = m->column;
        for (int k = 0; top && k < SL_HUDI_NMETA; k++)
            if (strcmp(s->names[i], sl_hudi_meta_fields[k]) == 0) {
                f->write = W_META;
                f->source = (size_t)k;
            }
        while (at < ncols && strcmp(cols[at].name, s->names[i]) != 0)
            at++;
        if (f->write != W_META && at < ncols) {
            SL_TRY(make(m, s->types[i], cols[at].type, f));
            f->source = at;
            continue;
        }
        f->write = f->write == W_META ? W_META : W_NULL;
        const struct sl_avro_schema *value = sl_hudi_avro_value(s->types[i], &null_branch);
        f->null_branch = (int8_t)null_branch;
        if (f->write == W_META ? !value || value->kind != SL_AVRO_STRING : null_branch < 0)
            return sl_err_set(m->err, SL_EUNSUPPORTED, "column \"%s\": there is no value for it, and it may not be null", m->column);
    }
    return SL_OK;
}

static int make_nested(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n)
{
    if (t->kind == SL_ROW)
        return make_row(m, s, t->fields, t->nfields, n, false);
    n->write = t->kind == SL_ARRAY ? W_ARRAY : W_MAP;
    n->ninner = 1;
    n->inner = sl_arena_array(m->a, 1, sizeof *n->inner);
    if (!n->inner)
        return sl_err_nomem(m->err);
    return make(m, s->types[0], t->kind == SL_ARRAY ? t->element : t->value, n->inner);
}

static int make(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n)
{
    const struct sl_type *to;
    int32_t id = 0;
    int null_branch;

    SL_TRY(sl_hudi_type_of(m->a, m->column, s, &id, &to, m->err));
    s = sl_hudi_avro_value(s, &null_branch);
    *n = (struct node){.null_branch = (int8_t)null_branch, .divisor = 1, .column = m->column};
    if (!sl_type_atomic(t) || !sl_type_atomic(to)) {
        if (t->kind != to->kind || (t->kind == SL_MAP && t->key->kind != SL_VARCHAR && t->key->kind != SL_CHAR))
            return sl_hudi_cannot(m, "values", t, "written", to);
        return make_nested(m, s, t, n);
    }
    if (!writable(t, to) || s->kind == SL_AVRO_ENUM)
        return sl_hudi_cannot(m, "values", t, "written", to);
    n->load = load_of(t);
    n->write = write_of(s, to);
    n->size = s->size;
    if ((is_time(to->kind) || to->kind == SL_TIME) && to->precision == 3)
        n->divisor = 1000;
    if (to->kind == SL_DECIMAL) {
        n->scale_up = power(to->scale - t->scale);
        n->limit = power(to->precision);
    }
    return SL_OK;
}

int sl_hudi_encoder_new(const struct sl_avro_schema *schema, const struct sl_field *cols, size_t ncols, struct sl_hudi_encoder **out,
                        sl_err *err)
{
    struct sl_hudi_encoder *e = sl_calloc(1, sizeof *e);
    struct sl_hudi_maker m = {.err = err};
    int rc;

    *out = NULL;
    if (!e)
        return sl_err_nomem(err);
    m.a = &e->arena;
    if (schema->kind != SL_AVRO_RECORD)
        SL_GO(sl_err_set(err, SL_ECORRUPT, "the Avro schema of a table is no record"));
    SL_GO(make_row(&m, schema, cols, ncols, &e->root, true));
    *out = e;
    e = NULL;
done:
    sl_hudi_encoder_free(e);
    return rc;
}

void sl_hudi_encoder_free(struct sl_hudi_encoder *e)
{
    if (!e)
        return;
    sl_arena_release(&e->arena);
    sl_free(e);
}

/* ---- writing ---- */

static inline void put_long(struct sl_buf *out, int64_t v)
{
    uint64_t u = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);

    if (u < 0x80)
        sl_buf_ch(out, (char)u);
    else
        sl_avro_put_long(out, v);
}

static int64_t load_integer(const struct node *n, const struct sl_vector *v, size_t row)
{
    switch (n->load) {
    case L_I8: return ((const int8_t *)v->data)[row];
    case L_I16: return ((const int16_t *)v->data)[row];
    case L_I32: return ((const int32_t *)v->data)[row];
    case L_BOOL: return ((const uint8_t *)v->data)[row];
    default: return ((const int64_t *)v->data)[row];
    }
}

static sl_i128 load_decimal(const struct node *n, const struct sl_vector *v, size_t row)
{
    sl_i128 d;

    switch (n->load) {
    case L_D2: return ((const int16_t *)v->data)[row];
    case L_D4: return ((const int32_t *)v->data)[row];
    case L_D8: return ((const int64_t *)v->data)[row];
    default: memcpy(&d, (const char *)v->data + row * sizeof d, sizeof d); return d;
    }
}

static double load_real(const struct node *n, const struct sl_vector *v, size_t row)
{
    return n->load == L_FLOAT ? (double)((const float *)v->data)[row] : ((const double *)v->data)[row];
}

static int does_not_fit(const struct node *n, const char *what, sl_err *err)
{
    return sl_err_set(err, SL_EINPUT, "column \"%s\": %s", n->column, what);
}

static int put_decimal(struct sl_buf *out, const struct node *n, sl_i128 d, sl_err *err)
{
    unsigned char bytes[16];
    size_t from = 0;

    if (d >= n->limit / n->scale_up || d <= -(n->limit / n->scale_up))
        return does_not_fit(n, "a decimal does not fit the table's type", err);
    d *= n->scale_up;
    unsigned __int128 u = (unsigned __int128)d;
    for (int i = 15; i >= 0; i--, u >>= 8)
        bytes[i] = (unsigned char)u;
    while (from < 15 && ((bytes[from] == 0 && bytes[from + 1] < 0x80) || (bytes[from] == 0xff && bytes[from + 1] >= 0x80)))
        from++;
    size_t size = 16 - from;
    if (n->write == W_DECIMAL_BYTES)
        put_long(out, (int64_t)size);
    else if (size > n->size)
        return does_not_fit(n, "a decimal does not fit the table's type", err);
    for (size_t i = size; n->write == W_DECIMAL_FIXED && i < n->size; i++)
        sl_buf_ch(out, (char)(d < 0 ? 0xff : 0));
    sl_buf_addb(out, bytes + from, size);
    return SL_OK;
}

static int put_integer(struct sl_buf *out, const struct node *n, int64_t v, sl_err *err)
{
    if (n->divisor != 1) {
        if (v % n->divisor != 0)
            return does_not_fit(n, "a time has more than the milliseconds of the table's type", err);
        v /= n->divisor;
    }
    put_long(out, v);
    return SL_OK;
}

static void put_real(struct sl_buf *out, const struct node *n, double v)
{
    uint64_t bits;
    uint32_t half;
    float f = (float)v;

    if (n->write == W_FLOAT) {
        memcpy(&half, &f, sizeof half);
        sl_buf_u32le(out, half);
    } else {
        memcpy(&bits, &v, sizeof bits);
        sl_buf_u64le(out, bits);
    }
}

static void put_bytes(struct sl_buf *out, sl_str s)
{
    put_long(out, (int64_t)s.n);
    sl_buf_add(out, s);
}

static int encode(struct sl_buf *out, const struct node *n, const struct sl_vector *v, size_t row, sl_err *err);

static int encode_items(struct sl_buf *out, const struct node *n, const struct sl_vector *v, size_t row, sl_err *err)
{
    bool map = n->write == W_MAP;
    size_t from, count;

    sl_vector_list_get(v, row, &from, &count);
    if (count)
        put_long(out, (int64_t)count);
    for (size_t i = from; i < from + count; i++) {
        if (map && sl_vector_is_null(&v->children[0], i))
            return does_not_fit(n, "NULL as a key of a map", err);
        if (map)
            put_bytes(out, sl_vector_bytes(&v->children[0], i));
        SL_TRY(encode(out, n->inner, &v->children[map], i, err));
    }
    put_long(out, 0);
    return SL_OK;
}

static int encode_value(struct sl_buf *out, const struct node *n, const struct sl_vector *v, size_t row, sl_err *err)
{
    sl_str s;

    switch (n->write) {
    case W_BOOL:
        sl_buf_u8(out, load_integer(n, v, row) != 0);
        return SL_OK;
    case W_VARINT:
        return put_integer(out, n, load_integer(n, v, row), err);
    case W_FLOAT:
    case W_DOUBLE:
        put_real(out, n, load_real(n, v, row));
        return SL_OK;
    case W_BYTES:
        put_bytes(out, sl_vector_bytes(v, row));
        return SL_OK;
    case W_FIXED:
        s = sl_vector_bytes(v, row);
        if (s.n != n->size)
            return does_not_fit(n, "bytes have another length than the table's type", err);
        sl_buf_add(out, s);
        return SL_OK;
    case W_DECIMAL_BYTES:
    case W_DECIMAL_FIXED:
        return put_decimal(out, n, load_decimal(n, v, row), err);
    case W_ARRAY:
    case W_MAP:
        return encode_items(out, n, v, row, err);
    default:
        for (size_t i = 0; i < n->ninner; i++)
            SL_TRY(encode(out, &n->inner[i], n->inner[i].write == W_NULL ? NULL : &v->children[n->inner[i].source], row, err));
        return SL_OK;
    }
}

/* V is NULL for what has no column. */
static int encode(struct sl_buf *out, const struct node *n, const struct sl_vector *v, size_t row, sl_err *err)
{
    bool null = !v || sl_vector_is_null(v, row);

    if (null && n->null_branch < 0)
        return does_not_fit(n, "NULL, which the table's schema does not allow", err);
    if (n->null_branch >= 0)
        put_long(out, null ? n->null_branch : 1 - n->null_branch);
    return null ? SL_OK : encode_value(out, n, v, row, err);
}

static int encode_meta(struct sl_buf *out, const struct node *n, sl_str value, sl_err *err)
{
    if (!value.p && n->null_branch < 0)
        return does_not_fit(n, "NULL, which the table's schema does not allow", err);
    if (n->null_branch >= 0)
        put_long(out, value.p ? 1 - n->null_branch : n->null_branch);
    if (value.p)
        put_bytes(out, value);
    return SL_OK;
}

int sl_hudi_encoder_row(struct sl_hudi_encoder *e, const struct sl_hudi_meta_values *meta, const struct sl_batch *b, size_t row,
                        struct sl_buf *out, sl_err *err)
{
    for (size_t i = 0; i < e->root.ninner; i++) {
        const struct node *n = &e->root.inner[i];

        if (n->write == W_META)
            SL_TRY(encode_meta(out, n, meta->v[n->source], err));
        else
            SL_TRY(encode(out, n, n->write == W_NULL ? NULL : &b->cols[n->source], row, err));
    }
    return sl_buf_ok(out, err);
}
