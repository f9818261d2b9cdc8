/* tsblock_read.c - TsBlocks of unknown origin: checked as a whole, then read row by row as views. */
#include "base/sys.h"
#include "format/tsblock_priv.h"

enum { NESTING = 4, MEMORY_PER_BYTE = 64 };

struct sl_ts_node {
    uint8_t type, encoding;
    size_t rows;
    const unsigned char *nulls;   /* bits; NULL: none is null */
    const unsigned char *values;  /* plain: of the rows that are not null; BOOLEAN: bits of all rows */
    const unsigned char *ids;     /* DICTIONARY */
    struct sl_ts_node *inner;     /* RLE, DICTIONARY */
    uint32_t *starts;             /* plain within a DICTIONARY, where needed: of each row, its value's offset from `values` */
    const unsigned char *next;    /* plain, read in order: the next value */
};

/* One value: bytes of it in the block. */
struct cell {
    bool null, bit;
    const unsigned char *p;
    size_t n;
};

struct parse {
    struct sl_cur c;
    struct sl_arena *arena;
    size_t room;                  /* bytes still allowed in the arena */
    const char *why;
};

static void damaged(struct parse *p, const char *why)
{
    if (!p->why && !p->c.bad)
        p->why = why;
}

static bool ok(const struct parse *p)
{
    return !p->why && !p->c.bad;
}

bool ts_type_fits(enum sl_ts_type want, int got)
{
    static const uint8_t class_of[] = {0, 1, 2, 3, 4, 5, 99, 99, 2, 1, 5, 5, 5};

    return got >= 0 && got < (int)sizeof class_of && class_of[got] == class_of[want];
}

static size_t width(uint8_t encoding)
{
    return encoding == E_INT32_ARRAY ? 4 : encoding == E_INT64_ARRAY ? 8 : 0;
}

/* ---- opening ---- */

static void *take(struct parse *p, size_t count, size_t size, sl_err *err, int *rc)
{
    void *v = NULL;

    if (count > p->room / size) {
        *rc = sl_err_set(err, SL_EINPUT, "the block needs more memory to be read than is allowed");
        return NULL;
    }
    p->room -= count * size;
    v = sl_arena_array(p->arena, count ? count : 1, size);
    *rc = v ? SL_OK : sl_err_nomem(err);
    return v;
}

static size_t count_nulls(const struct sl_ts_node *n)
{
    size_t count = 0, whole = n->rows / 8;

    if (!n->nulls)
        return 0;
    for (size_t i = 0; i < whole; i++)
        count += (size_t)__builtin_popcount(n->nulls[i]);
    for (size_t i = whole * 8; i < n->rows; i++)
        count += bit_at(n->nulls, i);
    return count;
}

static void open_binary(struct parse *p, struct sl_ts_node *n)
{
    for (size_t i = 0; i < n->rows && ok(p); i++) {
        if (n->nulls && bit_at(n->nulls, i))
            continue;
        uint32_t length = sl_cur_u32be(&p->c);

        if (length > INT32_MAX)
            damaged(p, "a value has a negative length");
        (void)sl_cur_bytes(&p->c, length);
    }
}

static void open_plain(struct parse *p, struct sl_ts_node *n)
{
    uint8_t may_have_null = sl_cur_u8(&p->c);

    if (may_have_null > 1)
        damaged(p, "the mark of nulls is neither 0 nor 1");
    if (may_have_null && ok(p))
        n->nulls = (const unsigned char *)sl_cur_bytes(&p->c, bits_bytes(n->rows)).p;
    if (!ok(p))
        return;
    n->values = n->next = p->c.p;
    if (n->encoding == E_BYTE_ARRAY) {
        (void)sl_cur_bytes(&p->c, bits_bytes(n->rows));
    } else if (n->encoding == E_BINARY_ARRAY) {
        open_binary(p, n);
    } else {
        size_t count = n->rows - count_nulls(n);

        if (count > sl_cur_left(&p->c) / width(n->encoding))
            p->c.bad = true;
        (void)sl_cur_bytes(&p->c, ok(p) ? count * width(n->encoding) : 0);
    }
}

/* Where the value of each row lies, for rows looked up in any order. */
static int index_rows(struct parse *p, struct sl_ts_node *n, sl_err *err)
{
    size_t at = 0;
    int rc;

    if (!ok(p) || n->encoding == E_BYTE_ARRAY || n->encoding > E_BINARY_ARRAY || (!n->nulls && width(n->encoding)))
        return SL_OK;
    n->starts = take(p, n->rows, sizeof *n->starts, err, &rc);
    for (size_t i = 0; rc == SL_OK && i < n->rows; i++) {
        n->starts[i] = (uint32_t)at;
        if (!n->nulls || !bit_at(n->nulls, i))
            at += width(n->encoding) ? width(n->encoding) : 4 + (size_t)get_be32(n->values + at);
    }
    return rc;
}

static int open_node(struct parse *p, struct sl_ts_node *n, unsigned depth, sl_err *err);

static int open_inner(struct parse *p, struct sl_ts_node *n, uint8_t encoding, size_t rows, unsigned depth, sl_err *err)
{
    int rc;

    n->inner = take(p, 1, sizeof *n->inner, err, &rc);
    if (rc != SL_OK)
        return rc;
    *n->inner = (struct sl_ts_node){.type = n->type, .encoding = encoding, .rows = rows};
    return open_node(p, n->inner, depth + 1, err);
}

static int open_dictionary(struct parse *p, struct sl_ts_node *n, uint8_t encoding, unsigned depth, sl_err *err)
{
    uint32_t entries = sl_cur_u32be(&p->c);

    if (entries > INT32_MAX)
        damaged(p, "a dictionary has a negative size");
    if (!ok(p))
        return SL_OK;
    SL_TRY(open_inner(p, n, encoding, entries, depth, err));
    SL_TRY(index_rows(p, n->inner, err));
    if (sl_cur_u32be(&p->c) != n->rows)
        damaged(p, "a dictionary column has another number of rows than the block");
    if (ok(p) && n->rows > sl_cur_left(&p->c) / 4)
        p->c.bad = true;
    n->ids = (const unsigned char *)sl_cur_bytes(&p->c, ok(p) ? n->rows * 4 : 0).p;
    for (size_t i = 0; i < n->rows && ok(p); i++)
        if (get_be32(n->ids + 4 * i) >= entries)
            damaged(p, "a number points outside of its dictionary");
    return SL_OK;
}

/* A column whose type, encoding and rows are set. */
static int open_node(struct parse *p, struct sl_ts_node *n, unsigned depth, sl_err *err)
{
    if (depth > NESTING)
        damaged(p, "encodings are nested too deeply");
    if (n->encoding > E_DICTIONARY)
        damaged(p, "an encoding is not known");
    else if (n->encoding < E_RLE && n->encoding != ts_encoding_of(n->type))
        damaged(p, "an encoding does not belong to the type of its column");
    if (!ok(p))
        return SL_OK;
    if (n->encoding < E_RLE) {
        open_plain(p, n);
        return SL_OK;
    }
    uint8_t inner = sl_cur_u8(&p->c);
    if (n->encoding == E_DICTIONARY)
        return open_dictionary(p, n, inner, depth, err);
    if (inner == E_RLE)
        damaged(p, "a run-length encoding stands within another");
    return ok(p) ? open_inner(p, n, inner, 1, depth, err) : SL_OK;
}

static void check_types(struct parse *p, const struct sl_ts_node *nodes, size_t n)
{
    for (size_t i = 0; i < n && ok(p); i++)
        if (ts_encoding_of(nodes[i].type) < 0)
            damaged(p, "a type is not known");
}

static int open_columns(struct parse *p, struct sl_tsblock *b, sl_err *err)
{
    uint32_t ncols = sl_cur_u32be(&p->c), rows;
    int rc;

    if (!ok(p) || ncols > sl_cur_left(&p->c) / 3) { /* each has a type, an encoding and a mark of nulls */
        p->c.bad = true;
        return SL_OK;
    }
    struct sl_ts_node *nodes = take(p, (size_t)ncols + 1, sizeof *nodes, err, &rc);
    if (!nodes)
        return rc;
    nodes[0].type = SL_TS_INT64;
    for (size_t i = 1; i <= ncols; i++)
        nodes[i].type = sl_cur_u8(&p->c);
    rows = sl_cur_u32be(&p->c);
    if (rows > INT32_MAX)
        damaged(p, "the number of rows is negative");
    check_types(p, nodes, (size_t)ncols + 1);
    for (size_t i = 0; i <= ncols; i++) {
        nodes[i].encoding = sl_cur_u8(&p->c);
        nodes[i].rows = rows;
    }
    for (size_t i = 0; i <= ncols && ok(p); i++)
        SL_TRY(open_node(p, &nodes[i], 0, err));
    *b = (struct sl_tsblock){.rows = rows, .ncols = ncols, .nodes = nodes};
    return SL_OK;
}

static bool any_null(const struct sl_ts_node *n)
{
    return n->inner ? any_null(n->inner) : count_nulls(n) > 0;
}

int sl_tsblock_open(sl_str bytes, size_t memory, struct sl_arena *a, struct sl_tsblock *out, sl_err *err)
{
    struct parse p = {.c = sl_cur_of(bytes), .arena = a, .room = memory};

    *out = (struct sl_tsblock){0};
    if (bytes.n > INT32_MAX)
        return sl_err_set(err, SL_EINPUT, "a block of %zu bytes exceeds what the format can hold (2147483647)", bytes.n);
    if (memory == 0)
        p.room = (bytes.n + 4) * MEMORY_PER_BYTE;
    SL_TRY(open_columns(&p, out, err));
    if (ok(&p) && any_null(&out->nodes[0]))
        damaged(&p, "a time is null");
    if (ok(&p) && sl_cur_left(&p.c))
        damaged(&p, "bytes are left over");
    if (!ok(&p)) {
        *out = (struct sl_tsblock){0};
        return sl_err_set(err, SL_ECORRUPT, "the block is damaged at byte %zu of %zu: %s", sl_cur_pos(&p.c), bytes.n,
                          p.why ? p.why : "it ends too early");
    }
    return SL_OK;
}

int sl_tsblock_type(const struct sl_tsblock *b, size_t col)
{
    return b->nodes[col + 1].type;
}

/* ---- values ---- */

/* The value at P of a plain column's row. */
static struct cell cell_of(const struct sl_ts_node *n, size_t row, const unsigned char *p)
{
    if (n->nulls && bit_at(n->nulls, row))
        return (struct cell){.null = true};
    if (n->encoding == E_BYTE_ARRAY)
        return (struct cell){.bit = bit_at(n->values, row)};
    if (n->encoding == E_BINARY_ARRAY)
        return (struct cell){.p = p + 4, .n = get_be32(p)};
    return (struct cell){.p = p, .n = width(n->encoding)};
}

/* Row 0, or any row of what lies within a dictionary. */
static struct cell cell_at(const struct sl_ts_node *n, size_t row)
{
    if (n->encoding == E_RLE)
        return cell_at(n->inner, 0);
    if (n->encoding == E_DICTIONARY)
        return cell_at(n->inner, get_be32(n->ids + 4 * row));
    return cell_of(n, row, n->values + (n->starts ? n->starts[row] : row * width(n->encoding)));
}

/* The next row of a column of the block, rows taken in order. */
static struct cell cell_next(struct sl_ts_node *n, size_t row)
{
    if (n->encoding >= E_RLE)
        return cell_at(n, row);
    struct cell c = cell_of(n, row, n->next);
    if (!c.null && n->encoding != E_BYTE_ARRAY)
        n->next = c.p + c.n;
    return c;
}

int sl_tsblock_bytes(const struct sl_tsblock *b, size_t col, size_t row, sl_str *out, sl_err *err)
{
    struct cell c;

    *out = (sl_str){NULL, 0};
    if (col >= b->ncols || row >= b->rows || ts_encoding_of(b->nodes[col + 1].type) != E_BINARY_ARRAY)
        return sl_err_set(err, SL_EINPUT, "the block has no bytes in column %zu, row %zu (it has %zu columns, %zu rows)", col + 1, row + 1,
                          b->ncols, b->rows);
    struct sl_ts_node n = b->nodes[col + 1];
    if (n.encoding >= E_RLE) {
        c = cell_at(&n, row);
    } else {
        n.next = n.values;
        for (size_t i = 0; i < row; i++)
            (void)cell_next(&n, i);
        c = cell_next(&n, row);
    }
    if (!c.null)
        *out = (sl_str){(const char *)c.p, c.n};
    return SL_OK;
}

/* ---- into a batch ---- */

struct target {
    struct sl_vector *v;
    const struct sl_ts_column *col;
    size_t number;                /* of the column, from 1, for messages */
};

static int wrong(const struct target *t, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "column %zu of the block is damaged: %s", t->number, why);
}

static int put_bytes(const struct target *t, size_t row, const struct cell *c, sl_err *err)
{
    const char *why = NULL;
    sl_str s = {(const char *)c->p, c->n};

    if (t->col->form == SL_TS_UNSCALED) {
        if (c->n != 16 || !ts_decimal_set(t->v, row, ts_decimal_of(c->p, 16)))
            return wrong(t, "a decimal does not fit its type", err);
        return SL_OK;
    }
    if (t->col->form == SL_TS_NESTED) {
        struct sl_cur cur = sl_cur_of(s);

        SL_TRY(ts_nested_get(&cur, t->v, row, &why, err));
        if (!why && (cur.bad || sl_cur_left(&cur)))
            why = cur.bad ? "a nested value ends too early" : "bytes are left over behind a nested value";
        return why ? wrong(t, why, err) : SL_OK;
    }
    int rc = sl_vector_put_bytes(t->v, row, s, err);
    return rc == SL_EINPUT ? wrong(t, "a text is not UTF-8", err) : rc;
}

static int put_date(const struct target *t, size_t row, int32_t date, sl_err *err)
{
    int64_t y;
    int m, d;

    if (date < 10101 || date > 99991231)
        return wrong(t, "a date is not of the years 1 to 9999", err);
    int64_t days = sl_civil_to_days(date / 10000, date / 100 % 100, date % 100);
    sl_days_to_civil(days, &y, &m, &d);
    if (y * 10000 + m * 100 + d != date)
        return wrong(t, "a date is no day of the calendar", err);
    ((int32_t *)t->v->data)[row] = (int32_t)days;
    return SL_OK;
}

static int put_int32(const struct target *t, size_t row, int32_t x, sl_err *err)
{
    enum sl_kind kind = t->col->type->kind;

    if (t->col->form == SL_TS_YYYYMMDD)
        return put_date(t, row, x, err);
    if (t->col->form == SL_TS_UNSCALED)
        return ts_decimal_set(t->v, row, x) ? SL_OK : wrong(t, "a decimal has more digits than its type", err);
    if ((kind == SL_TINYINT && x != (int8_t)x) || (kind == SL_SMALLINT && x != (int16_t)x))
        return wrong(t, "a number is too large for its type", err);
    if (kind == SL_TINYINT)
        ((int8_t *)t->v->data)[row] = (int8_t)x;
    else if (kind == SL_SMALLINT)
        ((int16_t *)t->v->data)[row] = (int16_t)x;
    else
        ((int32_t *)t->v->data)[row] = x; /* FLOAT: its bits */
    return SL_OK;
}

static int put_int64(const struct target *t, size_t row, int64_t x, sl_err *err)
{
    if (t->col->form == SL_TS_UNSCALED)
        return ts_decimal_set(t->v, row, x) ? SL_OK : wrong(t, "a decimal has more digits than its type", err);
    if (t->col->form == SL_TS_MILLIS && __builtin_mul_overflow(x, (int64_t)(t->col->type->precision > 6 ? 1000000 : 1000), &x))
        return sl_err_set(err, SL_EINPUT, "a timestamp in column %zu of the block is too far from 1970", t->number);
    ((int64_t *)t->v->data)[row] = x; /* DOUBLE: its bits */
    return SL_OK;
}

static int put_cell(const struct target *t, size_t row, const struct cell *c, uint8_t values, sl_err *err)
{
    if (c->null)
        return sl_vector_set_null(t->v, row, err);
    switch (values) {
    case E_BYTE_ARRAY: ((uint8_t *)t->v->data)[row] = c->bit; return SL_OK;
    case E_INT32_ARRAY: return put_int32(t, row, (int32_t)get_be32(c->p), err);
    case E_INT64_ARRAY: return put_int64(t, row, (int64_t)get_be64(c->p), err);
    default: return put_bytes(t, row, c, err);
    }
}

/* Numbers that lie in the batch as in the block but for the order of their bytes. */
static int read_numbers(struct sl_ts_node *n, const struct target *t, size_t at, size_t rows, sl_err *err)
{
    const unsigned char *p = n->next;

    for (size_t i = 0; i < rows; i++) {
        if (n->nulls && bit_at(n->nulls, at + i)) {
            SL_TRY(sl_vector_set_null(t->v, i, err));
        } else if (n->encoding == E_INT32_ARRAY) {
            ((uint32_t *)t->v->data)[i] = get_be32(p);
            p += 4;
        } else {
            ((uint64_t *)t->v->data)[i] = get_be64(p);
            p += 8;
        }
    }
    n->next = p;
    return SL_OK;
}

static int read_column(struct sl_tsblock *b, const struct target *t, size_t rows, sl_err *err)
{
    struct sl_ts_node *n = &b->nodes[t->number];
    uint8_t values = (uint8_t)ts_encoding_of(n->type);

    if (t->v->wanted && ts_same_number(t->col) && n->encoding == values)
        return read_numbers(n, t, b->at, rows, err);
    for (size_t i = 0; i < rows; i++) {
        struct cell c = cell_next(n, b->at + i);

        if (t->v->wanted)
            SL_TRY(put_cell(t, i, &c, values, err));
    }
    return SL_OK;
}

int sl_tsblock_read(struct sl_tsblock *b, const struct sl_ts_column *cols, struct sl_batch *out, int64_t *times, sl_err *err)
{
    size_t rows = b->rows - b->at < out->cap ? b->rows - b->at : out->cap;

    out->rows = 0;
    if (out->ncols != b->ncols)
        return sl_err_set(err, SL_ECORRUPT, "the block has %zu columns, %zu were expected", b->ncols, out->ncols);
    for (size_t i = 0; i < b->ncols; i++)
        if (!ts_type_fits(cols[i].ts, b->nodes[i + 1].type))
            return sl_err_set(err, SL_ECORRUPT, "column %zu of the block has type %d, type %d was expected", i + 1,
                              b->nodes[i + 1].type, (int)cols[i].ts);
    for (size_t i = 0; i < rows && times; i++)
        times[i] = (int64_t)get_be64(cell_next(&b->nodes[0], b->at + i).p);
    for (size_t i = 0; i < b->ncols; i++)
        SL_TRY(read_column(b, &(struct target){&out->cols[i], &cols[i], i + 1}, rows, err));
    b->at += rows;
    out->rows = rows;
    return SL_OK;
}
