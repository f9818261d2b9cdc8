/* hudi_decode.c - Avro records into rows, by a table of steps made once a block. */
#include <string.h>

#include "format/hudi_avro_priv.h"

enum read_op { R_BOOL, R_VARINT, R_FLOAT, R_DOUBLE, R_BYTES, R_FIXED, R_ENUM, R_DECIMAL_BYTES, R_DECIMAL_FIXED, R_ARRAY, R_MAP, R_ROW, R_SKIP };
enum store_op { S_I8, S_I16, S_I32, S_I64, S_BOOL, S_FLOAT, S_DOUBLE, S_BYTES, S_D2, S_D4, S_D8, S_D16, S_NONE };

struct node {
    uint8_t read, store;
    int8_t null_branch;               /* -1: not nullable */
    bool text;
    int64_t factor;                   /* of times: 1 or 1000 */
    sl_i128 scale_up, limit;          /* decimals: multiply by; must be below */
    int64_t least, most;              /* integers */
    const struct sl_avro_schema *schema; /* behind the union; R_SKIP: the whole type */
    const struct sl_type *type;       /* reader's */
    struct node *inner;               /* ARRAY, MAP: the value; ROW: one a writer's field */
    size_t ninner;
    const size_t *missing;            /* ROW: members that the writer lacks */
    size_t nmissing;
    ptrdiff_t target;                 /* column or member; -1: passed over */
};

struct sl_hudi_decoder {
    struct sl_arena arena;
    struct node root;                 /* a ROW of the batch's columns */
    size_t nsteps;                    /* fields up to the last one that is wanted */
    bool all;
};

/* The value at hand. */
struct scalar {
    int64_t i;
    double f;
    sl_i128 d;
    sl_str s;
};

/* ---- making the steps ---- */

static bool is_time(enum sl_kind k)
{
    return k == SL_TIMESTAMP || k == SL_TIMESTAMP_LTZ;
}

static bool is_text(enum sl_kind k)
{
    return k == SL_CHAR || k == SL_VARCHAR;
}

static bool is_binary(enum sl_kind k)
{
    return k == SL_BINARY || k == SL_VARBINARY;
}

static bool is_integer(enum sl_kind k)
{
    return k >= SL_TINYINT && k <= SL_BIGINT;
}

/* Does the reader's atomic type hold every value of the writer's, or (TINYINT, SMALLINT: Avro has only int) is it checked? */
static bool readable(const struct sl_type *from, const struct sl_type *to)
{
    if (is_time(from->kind) && is_time(to->kind)) /* decision L12: instants and local times lie alike */
        return to->precision <= 6 && to->precision >= from->precision;
    if (from->kind == SL_INT && (to->kind == SL_TINYINT || to->kind == SL_SMALLINT))
        return true;
    if (is_text(from->kind))
        return is_text(to->kind) || is_binary(to->kind);
    if (is_binary(from->kind))
        return is_binary(to->kind);
    if (is_integer(from->kind) && (to->kind == SL_FLOAT || to->kind == SL_DOUBLE)) /* as Avro has it, near enough or not */
        return true;
    return sl_type_same(from, to, true) || sl_type_widens(from, to);
}

static sl_i128 power(int n)
{
    sl_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static int set_read(struct sl_hudi_maker *m, struct node *n, const struct sl_type *from)
{
    static const int8_t ops[] = {
        [SL_AVRO_BOOLEAN] = R_BOOL, [SL_AVRO_INT] = R_VARINT, [SL_AVRO_LONG] = R_VARINT, [SL_AVRO_FLOAT] = R_FLOAT,
        [SL_AVRO_DOUBLE] = R_DOUBLE, [SL_AVRO_BYTES] = R_BYTES, [SL_AVRO_STRING] = R_BYTES, [SL_AVRO_ENUM] = R_ENUM,
        [SL_AVRO_FIXED] = R_FIXED,
    };

    if (!readable(from, n->type))
        return sl_hudi_cannot(m, "data", from, "read", n->type);
    n->read = (uint8_t)ops[n->schema->kind];
    if (from->kind == SL_DECIMAL)
        n->read = n->schema->kind == SL_AVRO_FIXED ? R_DECIMAL_FIXED : R_DECIMAL_BYTES;
    n->factor = (from->kind == SL_TIME || is_time(from->kind)) && from->precision == 3 ? 1000 : 1;
    if (n->type->kind == SL_DECIMAL) {
        n->scale_up = power(n->type->scale - (from->kind == SL_DECIMAL ? from->scale : 0));
        n->limit = power(n->type->precision);
    }
    return SL_OK;
}

static void set_store(struct node *n)
{
    const struct sl_type *t = n->type;

    n->least = INT64_MIN;
    n->most = INT64_MAX;
    switch (t->kind) {
    case SL_BOOLEAN: n->store = S_BOOL; break;
    case SL_TINYINT: n->store = S_I8; n->least = INT8_MIN; n->most = INT8_MAX; break;
    case SL_SMALLINT: n->store = S_I16; n->least = INT16_MIN; n->most = INT16_MAX; break;
    case SL_INT: case SL_DATE: n->store = S_I32; n->least = INT32_MIN; n->most = INT32_MAX; break;
    case SL_FLOAT: n->store = S_FLOAT; break;
    case SL_DOUBLE: n->store = S_DOUBLE; break;
    case SL_DECIMAL: n->store = t->precision <= 4 ? S_D2 : t->precision <= 9 ? S_D4 : t->precision <= 18 ? S_D8 : S_D16; break;
    case SL_BIGINT: case SL_TIME: case SL_TIMESTAMP: case SL_TIMESTAMP_LTZ: n->store = S_I64; break;
    default: n->store = S_BYTES; n->text = is_text(t->kind); break;
    }
    if (n->schema->kind == SL_AVRO_INT && n->least < INT32_MIN) {
        n->least = INT32_MIN;
        n->most = INT32_MAX;
    }
    if (t->kind == SL_TIME) {
        n->least = 0;
        n->most = INT64_C(86400000000) / n->factor - 1;
    }
}

static int make(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n);

static int make_inner(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n)
{
    n->ninner = 1;
    n->inner = sl_arena_array(m->a, 1, sizeof *n->inner);
    return n->inner ? make(m, s, t, n->inner) : sl_err_nomem(m->err);
}

static ptrdiff_t find_field(const struct sl_hudi_projection *p, const char *name)
{
    for (size_t i = 0; i < p->ncols; i++)
        if (strcmp(p->cols[i].name, name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static bool writer_has(const struct sl_avro_schema *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->names[i], name) == 0)
            return true;
    return false;
}

/* The reader's column of the writer's field NAME: of that name, or one that was called so and has no field of its own. */
static ptrdiff_t column_of(const struct sl_avro_schema *s, const struct sl_hudi_projection *p, const char *name)
{
    ptrdiff_t at = find_field(p, name);

    for (size_t i = 0; at < 0 && i < p->naliases; i++)
        if (strcmp(p->aliases[i].old, name) == 0 && !writer_has(s, p->aliases[i].name))
            at = find_field(p, p->aliases[i].name);
    return at;
}

static int make_row(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_hudi_projection *p, struct node *n, bool top)
{
    size_t *missing = sl_arena_array(m->a, p->ncols ? p->ncols : 1, sizeof *missing);
    bool *found = sl_arena_array(m->a, p->ncols ? p->ncols : 1, sizeof *found);

    n->read = R_ROW;
    n->store = S_NONE;
    n->schema = s;
    n->ninner = s->n;
    n->inner = sl_arena_array(m->a, s->n ? s->n : 1, sizeof *n->inner);
    if (!missing || !found || !n->inner)
        return sl_err_nomem(m->err);
    n->missing = missing;
    for (size_t i = 0; i < s->n; i++) {
        struct node *f = &n->inner[i];
        ptrdiff_t at = column_of(s, p, s->names[i]);

        if (at >= 0 && found[at])
            return sl_err_set(m->err, SL_ECORRUPT, "two fields of the Avro schema are the column \"%s\"", p->cols[at].name);
        if (at >= 0)
            found[at] = true;
        *f = (struct node){.read = R_SKIP, .schema = s->types[i], .target = -1, .null_branch = -1};
        if (at < 0 || (p->wanted && !p->wanted[at]))
            continue;
        if (top)
            m->column = p->cols[at].name;
        SL_TRY(make(m, s->types[i], p->cols[at].type, f));
        f->target = at;
    }
    for (size_t i = 0; i < p->ncols; i++)
        if (!found[i] && (!p->wanted || p->wanted[i])) {
            if (!p->cols[i].type->nullable && !sl_hudi_is_meta(sl_str_c(p->cols[i].name)))
                return sl_err_set(m->err, SL_EUNSUPPORTED, "column \"%s\" is not in older data and may not be NULL", p->cols[i].name);
            missing[n->nmissing++] = i;
        }
    return SL_OK;
}

static int make(struct sl_hudi_maker *m, const struct sl_avro_schema *s, const struct sl_type *t, struct node *n)
{
    struct sl_hudi_projection members = {.cols = t->fields, .ncols = t->nfields};
    const struct sl_type *from;
    int32_t id = 0;
    int null_branch;

    SL_TRY(sl_hudi_type_of(m->a, m->column, s, &id, &from, m->err));
    *n = (struct node){.schema = sl_hudi_avro_value(s, &null_branch), .type = t, .factor = 1};
    n->null_branch = (int8_t)null_branch;
    if (!sl_type_atomic(from) || !sl_type_atomic(t)) {
        n->store = S_NONE;
        if (from->kind != t->kind)
            return sl_hudi_cannot(m, "data", from, "read", t);
        if (t->kind == SL_ROW)
            return make_row(m, n->schema, &members, n, false);
        n->read = t->kind == SL_ARRAY ? R_ARRAY : R_MAP;
        if (t->kind == SL_MAP && !is_text(t->key->kind))
            return sl_hudi_cannot(m, "data", from, "read", t);
        return make_inner(m, n->schema->types[0], t->kind == SL_ARRAY ? t->element : t->value, n);
    }
    SL_TRY(set_read(m, n, from));
    set_store(n);
    return SL_OK;
}

int sl_hudi_decoder_new(const struct sl_avro_schema *writer, const struct sl_hudi_projection *p, struct sl_hudi_decoder **out, sl_err *err)
{
    struct sl_hudi_decoder *d = sl_calloc(1, sizeof *d);
    struct sl_hudi_maker m = {.err = err};
    int rc;

    *out = NULL;
    if (!d)
        return sl_err_nomem(err);
    m.a = &d->arena;
    if (writer->kind != SL_AVRO_RECORD)
        SL_GO(sl_err_set(err, SL_ECORRUPT, "the Avro schema of a log block is no record"));
    d->root.null_branch = -1;
    SL_GO(make_row(&m, writer, p, &d->root, true));
    d->all = true;
    for (size_t i = 0; i < d->root.ninner; i++)
        if (d->root.inner[i].target >= 0)
            d->nsteps = i + 1;
    for (size_t i = 0; p->wanted && i < p->ncols; i++)
        d->all &= p->wanted[i];
    if (d->all)
        d->nsteps = d->root.ninner;
    *out = d;
    d = NULL;
done:
    sl_hudi_decoder_free(d);
    return rc;
}

void sl_hudi_decoder_free(struct sl_hudi_decoder *d)
{
    if (!d)
        return;
    sl_arena_release(&d->arena);
    sl_free(d);
}

/* ---- reading one value ---- */

/* A long without a check a byte where ten bytes are there. */
static inline int64_t get_varint(struct sl_cur *c)
{
    const unsigned char *p = c->p;
    uint64_t v = 0;

    if (c->end - p < 10)
        return sl_avro_get_long(c);
    for (int shift = 0; shift < 70; shift += 7) {
        uint64_t b = *p++;

        v |= (b & 0x7f) << (shift & 63);
        if (b < 0x80) {
            if (shift == 63 && b > 1)
                break;
            c->p = p;
            return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
        }
    }
    c->bad = true;
    return 0;
}

static void get_decimal(struct sl_cur *c, sl_str bytes, const struct node *n, struct scalar *out)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t size = bytes.n;

    if (c->bad || size == 0) {
        c->bad = true;
        return;
    }
    while (size > 16 && ((p[0] == 0 && p[1] < 0x80) || (p[0] == 0xff && p[1] >= 0x80))) { /* sign only */
        p++;
        size--;
    }
    if (size > 16) {
        c->bad = true;
        return;
    }
    unsigned __int128 v = p[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[i];
    out->d = (sl_i128)v;
    /* Each factor is a power of ten, so dividing the limit is exact. */
    if (out->d >= n->limit / n->scale_up || out->d <= -(n->limit / n->scale_up))
        c->bad = true;
    else
        out->d *= n->scale_up;
}

static void get_integer(struct sl_cur *c, const struct node *n, struct scalar *out)
{
    out->i = get_varint(c);
    if (out->i < n->least || out->i > n->most || (n->factor != 1 && __builtin_mul_overflow(out->i, n->factor, &out->i)))
        c->bad = true;
}

static void get_scalar(struct sl_cur *c, const struct node *n, struct scalar *out)
{
    uint64_t bits;
    uint32_t half;
    float f;

    switch (n->read) {
    case R_BOOL:
        out->i = sl_cur_u8(c);
        c->bad |= out->i > 1;
        break;
    case R_VARINT:
        get_integer(c, n, out);
        out->f = (double)out->i; /* for columns widened to DOUBLE or DECIMAL */
        out->d = n->store >= S_D2 && n->store <= S_D16 ? (sl_i128)out->i * n->scale_up : 0;
        break;
    case R_FLOAT:
        half = sl_cur_u32le(c);
        memcpy(&f, &half, sizeof f);
        out->f = f;
        break;
    case R_DOUBLE:
        bits = sl_cur_u64le(c);
        memcpy(&out->f, &bits, sizeof bits);
        break;
    case R_BYTES:
        out->s = sl_avro_get_bytes(c);
        break;
    case R_FIXED:
        out->s = sl_cur_bytes(c, n->schema->size);
        break;
    case R_ENUM:
        out->i = get_varint(c);
        if (out->i < 0 || (uint64_t)out->i >= n->schema->n)
            c->bad = true;
        else
            out->s = sl_str_c(n->schema->names[out->i]);
        break;
    case R_DECIMAL_BYTES:
        get_decimal(c, sl_avro_get_bytes(c), n, out);
        break;
    case R_DECIMAL_FIXED:
        get_decimal(c, sl_cur_bytes(c, n->schema->size), n, out);
        break;
    default:
        break;
    }
}

/* True: there is a value; false: null, or damage. */
static inline bool present(struct sl_cur *c, const struct node *n)
{
    if (n->null_branch < 0)
        return true;
    int64_t branch = sl_avro_get_long(c);
    if (branch != 0 && branch != 1)
        c->bad = true;
    return branch != n->null_branch && !c->bad;
}

/* ---- into a batch ---- */

static int put_scalar(const struct node *n, struct sl_vector *v, size_t row, const struct scalar *x, sl_err *err)
{
    switch (n->store) {
    case S_I8: ((int8_t *)v->data)[row] = (int8_t)x->i; break;
    case S_I16: ((int16_t *)v->data)[row] = (int16_t)x->i; break;
    case S_I32: ((int32_t *)v->data)[row] = (int32_t)x->i; break;
    case S_I64: ((int64_t *)v->data)[row] = x->i; break;
    case S_BOOL: ((uint8_t *)v->data)[row] = (uint8_t)x->i; break;
    case S_FLOAT: ((float *)v->data)[row] = (float)x->f; break;
    case S_DOUBLE: ((double *)v->data)[row] = x->f; break;
    case S_D2: ((int16_t *)v->data)[row] = (int16_t)x->d; break;
    case S_D4: ((int32_t *)v->data)[row] = (int32_t)x->d; break;
    case S_D8: ((int64_t *)v->data)[row] = (int64_t)x->d; break;
    case S_D16: memcpy((char *)v->data + row * sizeof x->d, &x->d, sizeof x->d); break;
    default: return sl_vector_put_bytes(v, row, x->s, err);
    }
    return SL_OK;
}

static int decode(struct sl_cur *c, const struct node *n, struct sl_vector *v, size_t row, sl_err *err);

static int decode_members(struct sl_cur *c, const struct node *n, size_t steps, struct sl_vector *v, size_t row, sl_err *err)
{
    for (size_t i = 0; i < steps && !c->bad; i++) {
        const struct node *f = &n->inner[i];

        if (f->target < 0)
            sl_avro_skip(c, f->schema);
        else
            SL_TRY(decode(c, f, &v[f->target], row, err));
    }
    for (size_t i = 0; i < n->nmissing; i++)
        SL_TRY(sl_vector_set_null(&v[n->missing[i]], row, err));
    return SL_OK;
}

static int decode_items(struct sl_cur *c, const struct node *n, struct sl_vector *v, size_t row, sl_err *err)
{
    bool map = n->read == R_MAP;
    size_t at;

    sl_vector_list_begin(v, row);
    for (int64_t count; (count = sl_avro_items(c)) != 0 && !c->bad;)
        for (; count > 0 && !c->bad; count--) {
            const unsigned char *start = c->p;

            SL_TRY(sl_vector_list_put(v, &at, err));
            if (map) {
                sl_str key = sl_avro_get_bytes(c);

                SL_TRY(c->bad ? SL_OK : sl_vector_put_bytes(&v->children[0], at, key, err));
            }
            SL_TRY(decode(c, n->inner, &v->children[map], at, err));
            if (c->p == start) /* items without bytes could be any number */
                c->bad = true;
        }
    sl_vector_list_end(v, row);
    return SL_OK;
}

static int decode(struct sl_cur *c, const struct node *n, struct sl_vector *v, size_t row, sl_err *err)
{
    struct scalar x;

    if (!present(c, n))
        return c->bad ? SL_OK : sl_vector_set_null(v, row, err);
    if (n->read == R_ROW)
        return decode_members(c, n, n->ninner, v->children, row, err);
    if (n->read == R_ARRAY || n->read == R_MAP)
        return decode_items(c, n, v, row, err);
    get_scalar(c, n, &x);
    return c->bad ? SL_OK : put_scalar(n, v, row, &x, err);
}

static int damaged(const struct sl_cur *c, sl_str record, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "a record of %zu bytes is damaged at byte %zu", record.n, sl_cur_pos(c));
}

int sl_hudi_decoder_row(struct sl_hudi_decoder *d, sl_str record, struct sl_batch *b, size_t row, sl_err *err)
{
    struct sl_cur c = sl_cur_of(record);

    int rc = decode_members(&c, &d->root, d->nsteps, b->cols, row, err);
    if (rc == SL_EINPUT) { /* text that is not UTF-8 */
        sl_err_ctx(err, "a record is damaged");
        if (err)
            err->code = SL_ECORRUPT;
        return SL_ECORRUPT;
    }
    SL_TRY(rc);
    return c.bad || (d->all && sl_cur_left(&c) != 0) ? damaged(&c, record, err) : SL_OK;
}

/* ---- into single values ---- */

static void put_value(const struct node *n, const struct scalar *x, struct sl_value *out)
{
    int64_t ms;

    *out = (struct sl_value){.kind = n->type->kind};
    switch (n->type->kind) {
    case SL_BOOLEAN:
        out->u.b = x->i != 0;
        break;
    case SL_FLOAT:
    case SL_DOUBLE:
        out->u.f = x->f;
        break;
    case SL_DECIMAL:
        out->u.d = x->d;
        break;
    case SL_TIME:
        out->u.i = x->i / 1000;
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        ms = x->i / 1000 - (x->i % 1000 < 0);
        out->u.t.ms = ms;
        out->u.t.ns = (int32_t)(x->i - ms * 1000) * 1000;
        break;
    case SL_CHAR:
    case SL_VARCHAR:
    case SL_BINARY:
    case SL_VARBINARY:
        out->u.s = x->s;
        break;
    default:
        out->u.i = x->i;
        break;
    }
}

int sl_hudi_decoder_values(struct sl_hudi_decoder *d, sl_str record, struct sl_value *out, sl_err *err)
{
    struct sl_cur c = sl_cur_of(record);
    struct scalar x;

    for (size_t i = 0; i < d->nsteps && !c.bad; i++) {
        const struct node *n = &d->root.inner[i];

        if (n->target < 0) {
            sl_avro_skip(&c, n->schema);
            continue;
        }
        if (n->store == S_NONE)
            return sl_err_set(err, SL_EBUG, "a nested column is no single value");
        out[n->target] = (struct sl_value){.kind = n->type->kind, .null = true};
        if (!present(&c, n))
            continue;
        get_scalar(&c, n, &x);
        if (!c.bad)
            put_value(n, &x, &out[n->target]);
    }
    for (size_t i = 0; i < d->root.nmissing; i++)
        out[d->root.missing[i]] = (struct sl_value){.null = true};
    return c.bad ? damaged(&c, record, err) : SL_OK;
}
