/*
 * ndjson.c - one line of JSON to one row, strictly by RFC 8259.
 *
 * The line feed that ends every line stops each loop: it is no part of any token, so bounds are looked at only where
 * several bytes are read at once.
 */
#include "ingest/ndjson.h"

#include <string.h>

enum { DEPTH_MAX = 1000 };

void sl_ndjson_release(struct sl_ndjson *j)
{
    sl_buf_release(&j->text);
    sl_buf_release(&j->key);
    sl_buf_release(&j->put.bytes);
}

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* What stands at P, for messages. */
static const char *found(const char *p)
{
    switch (*p) {
    case '"': return "a text";
    case '{': return "an object";
    case '[': return "an array";
    case 't': case 'f': return "a boolean";
    case 'n': return "null";
    case '\n': return "the end of the line";
    default: return *p == '-' || (*p >= '0' && *p <= '9') ? "a number" : "something else";
    }
}

static int unexpected(struct sl_ndjson *j, const struct sl_column *c, const char *p, const char *wanted)
{
    if (strcmp(wanted, "a number") == 0 && strcmp(found(p), wanted) == 0)
        return sl_fault_set(&j->put, c, p,
                            "the number is not written as JSON writes numbers: no leading zero, digits after \".\" and \"e\"");
    return sl_fault_set(&j->put, c, p, "%s is expected, but there is %s", wanted, found(p));
}

/* ---- texts ---- */

/* The end of the plain part of a text: a quote, a backslash, a control character. *OR collects all bytes, to see whether all are ASCII. */
static const char *plain_end(const char *p, const char *end, unsigned char *or_all)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t all = 0;

    /* END may be passed by the last word: SL_TEXT_SLACK. */
    while (p < end) {
        uint64_t w;

        memcpy(&w, p, sizeof w);
        uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
        /* The lowest flag is always right; bytes from 0x80 are no stop, so the flags of those are masked. */
        uint64_t stop = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w);

        stop &= highs;
        if (stop) {
            int n = __builtin_ctzll(stop) / 8;

            all |= n ? w & (UINT64_MAX >> (64 - 8 * n)) : 0;
            p += n;
            break;
        }
        all |= w;
        p += sizeof w;
    }
    *or_all = (unsigned char)(*or_all | (all & highs ? 0x80 : 0));
    return p;
}

static bool hex4(const char *p, const char *end, uint32_t *out)
{
    uint32_t v = 0;

    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)p[i];
        unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;

        if (digit > 15 || (c > '9' && digit < 10))
            return false;
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

static void add_utf8(struct sl_buf *out, uint32_t c)
{
    char b[4];
    size_t n = 0;

    if (c < 0x80) {
        b[n++] = (char)c;
    } else if (c < 0x800) {
        b[n++] = (char)(0xc0 | c >> 6);
        b[n++] = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        b[n++] = (char)(0xe0 | c >> 12);
        b[n++] = (char)(0x80 | (c >> 6 & 63));
        b[n++] = (char)(0x80 | (c & 63));
    } else {
        b[n++] = (char)(0xf0 | c >> 18);
        b[n++] = (char)(0x80 | (c >> 12 & 63));
        b[n++] = (char)(0x80 | (c >> 6 & 63));
        b[n++] = (char)(0x80 | (c & 63));
    }
    sl_buf_addb(out, b, n);
}

/* \uXXXX at *P, and the second half of a pair. */
static int take_unicode(struct sl_ndjson *j, const struct sl_column *c, const char **p, struct sl_buf *out)
{
    uint32_t v, low;

    if (!hex4(*p + 2, j->end, &v))
        return sl_fault_set(&j->put, c, *p, "\\u is not followed by four hexadecimal digits");
    if (v >= 0xd800 && v < 0xe000) {
        const char *q = *p + 6;

        if (v >= 0xdc00 || j->end - q < 6 || q[0] != '\\' || q[1] != 'u' || !hex4(q + 2, j->end, &low) ||
            low < 0xdc00 || low >= 0xe000)
            return sl_fault_set(&j->put, c, *p, "half of a surrogate pair stands alone");
        v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
        *p += 6;
    }
    add_utf8(out, v);
    *p += 6;
    return SL_OK;
}

static int take_escape(struct sl_ndjson *j, const struct sl_column *c, const char **p, struct sl_buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;

    if ((*p)[1] == 'u')
        return take_unicode(j, c, p, out);
    at = (*p)[1] ? strchr(from, (*p)[1]) : NULL;
    if (!at)
        return sl_fault_set(&j->put, c, *p, "the escape after \"\\\" is none of JSON's");
    sl_buf_ch(out, to[at - from]);
    *p += 2;
    return SL_OK;
}

/* The text at *P, which stands on its quote; *OUT is in the input, or in SCRATCH if it had escapes. Checks UTF-8. */
static int take_string(struct sl_ndjson *j, const struct sl_column *c, const char **p, struct sl_buf *scratch, sl_str *out,
                       bool *ascii)
{
    const char *start = *p + 1, *q;
    unsigned char all = 0;
    size_t bad = 0;

    q = plain_end(start, j->end, &all);
    if (*q == '"') {
        *out = (sl_str){start, (size_t)(q - start)};
        *p = q + 1;
    } else {
        sl_buf_reset(scratch);
        for (;;) {
            sl_buf_addb(scratch, start, (size_t)(q - start));
            if (*q == '"')
                break;
            if (*q != '\\')
                return sl_fault_set(&j->put, c, q, *q == '\n' || q >= j->end ? "a text has no end"
                                                   : "a text holds a control character that is not escaped");
            int rc = take_escape(j, c, &q, scratch);
            if (rc != SL_OK)
                return rc;
            all = 0x80;
            start = q;
            q = plain_end(start, j->end, &all);
        }
        SL_TRY(sl_buf_ok(scratch, j->put.err));
        *out = sl_buf_view(scratch);
        if (!out->p)
            out->p = "";
        *p = q + 1;
    }
    *ascii = all == 0;
    /* Checked here, since a text may also be a name, or belong to no column. */
    if (all && !sl_utf8_valid(*out, &bad))
        return sl_fault_set(&j->put, c, start, "a text is not UTF-8");
    return SL_OK;
}

/* ---- values that no column wants ---- */

static int take_literal(struct sl_ndjson *j, const struct sl_column *c, const char **p, sl_str word)
{
    if ((size_t)(j->end - *p) < word.n || memcmp(*p, word.p, word.n) != 0)
        return unexpected(j, c, *p, "a value");
    *p += word.n;
    return SL_OK;
}

static int skip_scalar(struct sl_ndjson *j, const struct sl_column *c, const char **p)
{
    bool whole, ascii;
    const char *e;
    sl_str text;

    switch (**p) {
    case '"': return take_string(j, c, p, &j->text, &text, &ascii);
    case 't': return take_literal(j, c, p, SL_LIT("true"));
    case 'f': return take_literal(j, c, p, SL_LIT("false"));
    case 'n': return take_literal(j, c, p, SL_LIT("null"));
    }
    e = sl_number_end(*p, j->end, SL_NUMBER_JSON, &whole);
    if (e == *p)
        return unexpected(j, c, *p, "a value");
    *p = e;
    return SL_OK;
}

static int take_name_and_colon(struct sl_ndjson *j, const struct sl_column *c, const char **p, sl_str *name)
{
    bool ascii;

    if (**p != '"')
        return unexpected(j, c, *p, "a field name");
    SL_TRY(take_string(j, c, p, &j->key, name, &ascii));
    *p = skip_space(*p);
    if (**p != ':')
        return unexpected(j, c, *p, "\":\"");
    *p = skip_space(*p + 1);
    return SL_OK;
}

/* Any value, checked and left out. OPEN holds the closing bracket of each level. */
static int skip_value(struct sl_ndjson *j, const struct sl_column *c, const char **p)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    sl_str name;

    for (;;) {
        if (**p == '{' || **p == '[') {
            bool object = **p == '{';

            if (depth == DEPTH_MAX)
                return sl_fault_set(&j->put, c, *p, "values are nested more than %d deep", DEPTH_MAX);
            open[depth++] = object ? '}' : ']';
            *p = skip_space(*p + 1);
            if (**p != open[depth - 1]) {
                if (object)
                    SL_TRY(take_name_and_colon(j, c, p, &name));
                continue;
            }
        } else {
            SL_TRY(skip_scalar(j, c, p));
        }
        /* Behind a value, or before the bracket that closes an empty level. */
        for (; depth; depth--) {
            *p = skip_space(*p);
            if (**p != open[depth - 1])
                break;
            (*p)++;
        }
        if (depth == 0)
            return SL_OK;
        if (**p != ',')
            return unexpected(j, c, *p, open[depth - 1] == '}' ? "\",\" or \"}\"" : "\",\" or \"]\"");
        *p = skip_space(*p + 1);
        if (open[depth - 1] == '}')
            SL_TRY(take_name_and_colon(j, c, p, &name));
    }
}

/* ---- numbers ---- */

/* A number without exponent and of at most 18 digits: MANTISSA / 10^FRACTION. */
struct quick {
    uint64_t mantissa;
    int fraction;
    bool negative;
};

static const char *quick_number(const char *p, struct quick *out)
{
    const char *first, *point;
    uint64_t v = 0;
    unsigned d;
    int digits;

    out->negative = *p == '-';
    p += out->negative;
    first = p;
    while ((d = (unsigned)(unsigned char)*p - '0') <= 9 && p - first < 19) {
        v = v * 10 + d;
        p++;
    }
    digits = (int)(p - first);
    if (digits == 0 || (*first == '0' && digits > 1))
        return NULL;
    out->fraction = 0;
    if (*p == '.') {
        point = ++p;
        while ((d = (unsigned)(unsigned char)*p - '0') <= 9 && digits < 19) {
            v = v * 10 + d;
            p++;
            digits++;
        }
        out->fraction = (int)(p - point);
        if (out->fraction == 0)
            return NULL;
    }
    if (digits > 18 || (*p | 0x20) == 'e')
        return NULL;
    out->mantissa = v;
    return p;
}

static const double double_powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
static const int64_t integer_powers[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
    10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
};

/* Puts what needs no thought; false: take the long way. */
static bool put_quick(const struct sl_type *t, struct sl_vector *v, size_t row, const struct quick *q)
{
    int64_t value = q->negative ? -(int64_t)q->mantissa : (int64_t)q->mantissa, min, max, scaled;

    switch (t->kind) {
    case SL_DOUBLE:
        if (q->mantissa > (uint64_t)1 << 53)
            return false;
        /* By mantissa and sign apart, for -0. */
        ((double *)v->data)[row] = (q->negative ? -1.0 : 1.0) * ((double)q->mantissa / double_powers[q->fraction]);
        return true;
    case SL_DECIMAL:
        if (q->fraction > t->scale || t->scale - q->fraction > 18 ||
            __builtin_mul_overflow(value, integer_powers[t->scale - q->fraction], &scaled))
            return false;
        if (t->precision <= 18 && (scaled >= integer_powers[t->precision] || scaled <= -integer_powers[t->precision]))
            return false;
        sl_vector_set_decimal(v, row, scaled);
        return true;
    default:
        if (q->fraction || !sl_range_of(t->kind, &min, &max) || value < min || value > max)
            return false;
        sl_store_i64(v, row, t->kind, value);
        return true;
    }
}

static int put_number(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    struct quick q;
    const char *e = quick_number(*p, &q);
    bool whole;

    if (e && put_quick(c->type, v, row, &q)) {
        *p = e;
        return SL_OK;
    }
    e = sl_number_end(*p, j->end, SL_NUMBER_JSON, &whole);
    if (e == *p)
        return unexpected(j, c, *p, "a number");
    SL_TRY(sl_put_number(&j->put, c, v, row, (sl_str){*p, (size_t)(e - *p)}));
    *p = e;
    return SL_OK;
}

/* DECIMAL as text, and the values of floating point that JSON has no number for. */
static int put_number_text(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    const char *start = *p;
    sl_str text;
    bool ascii;

    SL_TRY(take_string(j, c, p, &j->text, &text, &ascii));
    bool named = (c->type->kind == SL_FLOAT || c->type->kind == SL_DOUBLE) &&
                 (sl_str_eqc(text, "NaN") || sl_str_eqc(text, "Infinity") || sl_str_eqc(text, "-Infinity"));
    if (c->type->kind != SL_DECIMAL && !named)
        return unexpected(j, c, start, "a number");
    int rc = sl_put_text(&j->put, c, v, row, text, SL_NUMBER_JSON);
    if (rc == SL_EINPUT)
        j->put.fault.at = start;
    return rc;
}

/* ---- values of columns ---- */

static int put_value(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p);
static int put_object(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *vectors, size_t row, const char **p);

static int put_boolean(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    if (**p != 't' && **p != 'f')
        return unexpected(j, c, *p, "true or false");
    ((uint8_t *)v->data)[row] = **p == 't';
    return take_literal(j, c, p, **p == 't' ? SL_LIT("true") : SL_LIT("false"));
}

static int put_string(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    const enum sl_kind kind = c->type->kind;
    const char *start = *p;
    sl_str text;
    bool ascii;

    if (**p != '"')
        return unexpected(j, c, *p, "a text");
    SL_TRY(take_string(j, c, p, &j->text, &text, &ascii));
    if (c->tells_op)
        SL_TRY(sl_check_op(&j->put, c, text));
    int rc = kind == SL_VARCHAR || kind == SL_CHAR ? sl_put_string(&j->put, c, v, row, text, true)
                                                   : sl_put_text(&j->put, c, v, row, text, SL_NUMBER_JSON);
    if (rc == SL_EINPUT)
        j->put.fault.at = start;
    return rc;
}

static int put_array(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    if (**p != '[')
        return unexpected(j, c, *p, "an array");
    sl_vector_list_begin(v, row);
    *p = skip_space(*p + 1);
    if (**p == ']') {
        (*p)++;
        sl_vector_list_end(v, row);
        return SL_OK;
    }
    for (;;) {
        size_t i;

        SL_TRY(sl_vector_list_put(v, &i, j->put.err));
        SL_TRY(put_value(j, &c->kids[0], &v->children[0], i, p));
        *p = skip_space(*p);
        if (**p == ']')
            break;
        if (**p != ',')
            return unexpected(j, c, *p, "\",\" or \"]\"");
        *p = skip_space(*p + 1);
    }
    (*p)++;
    sl_vector_list_end(v, row);
    return SL_OK;
}

/* Has the map this key already? KEYS is made for the first entry. */
static int note_key(struct sl_ndjson *j, const struct sl_column *c, struct sl_map **keys, sl_str key, const char *at)
{
    void **slot;

    if (!*keys && !(*keys = sl_map_new()))
        return sl_err_nomem(j->put.err);
    slot = sl_map_at(*keys, key);
    if (!slot)
        return sl_err_nomem(j->put.err);
    if (*slot)
        return sl_fault_set(&j->put, c, at, "a key comes twice in one map");
    *slot = *keys;
    return SL_OK;
}

static int put_entry(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, struct sl_map **keys, const char **p)
{
    const char *start = *p;
    sl_str name;
    size_t i;

    SL_TRY(take_name_and_colon(j, c, p, &name));
    SL_TRY(note_key(j, c, keys, name, start));
    SL_TRY(sl_vector_list_put(v, &i, j->put.err));
    int rc = sl_put_text(&j->put, &c->kids[0], &v->children[0], i, name, SL_NUMBER_JSON);
    if (rc == SL_EINPUT)
        j->put.fault.at = start;
    SL_TRY(rc);
    return put_value(j, &c->kids[1], &v->children[1], i, p);
}

static int put_map(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    struct sl_map *keys = NULL;
    int rc = SL_OK;

    if (**p != '{')
        return unexpected(j, c, *p, "an object");
    sl_vector_list_begin(v, row);
    *p = skip_space(*p + 1);
    while (**p != '}') {
        SL_GO(put_entry(j, c, v, &keys, p));
        *p = skip_space(*p);
        if (**p == '}')
            break;
        if (**p != ',') {
            rc = unexpected(j, c, *p, "\",\" or \"}\"");
            goto done;
        }
        *p = skip_space(*p + 1);
        if (**p == '}') {
            rc = unexpected(j, c, *p, "a key");
            goto done;
        }
    }
    (*p)++;
    sl_vector_list_end(v, row);
done:
    sl_map_free(keys, NULL);
    return rc;
}

static int put_value(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char **p)
{
    if (**p == 'n') {
        const char *at = *p;

        SL_TRY(take_literal(j, c, p, SL_LIT("null")));
        return sl_put_null(&j->put, c, v, row, at);
    }
    switch (c->type->kind) {
    case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_BIGINT: case SL_FLOAT: case SL_DOUBLE: case SL_DECIMAL:
        return **p == '"' ? put_number_text(j, c, v, row, p) : put_number(j, c, v, row, p);
    case SL_BOOLEAN:
        return put_boolean(j, c, v, row, p);
    case SL_ARRAY:
        return put_array(j, c, v, row, p);
    case SL_MAP:
        return put_map(j, c, v, row, p);
    case SL_ROW:
        if (**p != '{')
            return unexpected(j, c, *p, "an object");
        return put_object(j, c, v->children, row, p);
    default:
        return put_string(j, c, v, row, p);
    }
}

int sl_ndjson_value(struct sl_ndjson *j, const struct sl_column *c, struct sl_vector *v, size_t row, const char *p,
                    const char *end)
{
    j->end = end;
    p = skip_space(p);
    SL_TRY(put_value(j, c, v, row, &p));
    p = skip_space(p);
    return *p == '\n' ? SL_OK : unexpected(j, c, p, "the end of the value");
}

/* ---- objects ---- */

static int take_op(struct sl_ndjson *j, const struct sl_column *c, const char **p)
{
    const char *start = *p;
    sl_str text;
    bool ascii;

    if (**p == 'n')
        return take_literal(j, c, p, SL_LIT("null"));
    if (**p != '"')
        return unexpected(j, c, *p, "the kind of the row as a text");
    SL_TRY(take_string(j, c, p, &j->text, &text, &ascii));
    int rc = sl_check_op(&j->put, c, text);
    if (rc == SL_EINPUT)
        j->put.fault.at = start;
    return rc;
}

static int put_unknown(struct sl_ndjson *j, const struct sl_column *c, sl_str name, const char *at, const char **p)
{
    if (j->strict_fields)
        return sl_fault_set(&j->put, c, at, "there is no column for the field \"" SL_STRF "\"",
                            (int)(name.n < 100 ? name.n : 100), name.p);
    j->unknown_fields++;
    return skip_value(j, c, p);
}

/* The name at *P and its colon. *KID is the index of the column, nkids if there is none (then *NAME is set). AFTER: the kid before. Fields
 * mostly come in the order of the row before, so that one is tried first. */
static int take_field(struct sl_ndjson *j, const struct sl_column *row_column, const struct sl_column *c, size_t after,
                      const char **p, size_t *kid, sl_str *name)
{
    size_t guess = row_column->follow[after];
    ptrdiff_t i;

    if (guess < row_column->nkids) {
        sl_str expected = row_column->kids[guess].name;
        const char *start = *p + 1;

        if ((size_t)(j->end - *p) > expected.n + 2 && start[expected.n] == '"' && **p == '"' &&
            memcmp(start, expected.p, expected.n) == 0) {
            const char *q = skip_space(start + expected.n + 1);

            if (*q != ':')
                return unexpected(j, c, q, "\":\"");
            *p = skip_space(q + 1);
            *kid = guess;
            return SL_OK;
        }
    }
    SL_TRY(take_name_and_colon(j, c, p, name));
    i = sl_column_find(row_column, *name);
    *kid = i < 0 ? row_column->nkids : (size_t)i;
    if (i >= 0)
        row_column->follow[after] = (uint32_t)i;
    return SL_OK;
}

static int put_field(struct sl_ndjson *j, const struct sl_column *row_column, struct sl_vector *vectors, size_t row, size_t kid,
                     uint64_t stamp, const char *at, const char **p)
{
    const struct sl_column *c = &row_column->kids[kid];

    if (row_column->seen[kid] == stamp)
        return sl_fault_set(&j->put, c, at, "the field comes twice in one object");
    row_column->seen[kid] = stamp;
    if (!c->type)
        return take_op(j, c, p);
    if (!c->parent && !vectors[kid].wanted)
        return skip_value(j, c, p);
    return put_value(j, c, &vectors[kid], row, p);
}

/* The object at *P into the kids of ROW_COLUMN. */
static int put_object(struct sl_ndjson *j, const struct sl_column *row_column, struct sl_vector *vectors, size_t row,
                      const char **p)
{
    const struct sl_column *c = row_column == j->root ? NULL : row_column;
    const uint64_t stamp = ++j->stamp;
    const char *start = *p;
    size_t after = row_column->nkids, there = 0;

    *p = skip_space(*p + 1);
    if (**p == '}')
        goto missing;
    for (;;) {
        const char *at = *p;
        size_t kid = 0;
        sl_str name;

        SL_TRY(take_field(j, row_column, c, after, p, &kid, &name));
        if (kid == row_column->nkids) {
            SL_TRY(put_unknown(j, c, name, at, p));
        } else {
            SL_TRY(put_field(j, row_column, vectors, row, kid, stamp, at, p));
            after = kid;
            there++;
        }
        *p = skip_space(*p);
        if (**p == '}')
            break;
        if (**p != ',')
            return unexpected(j, c, *p, "\",\" or \"}\"");
        *p = skip_space(*p + 1);
    }
missing:
    (*p)++;
    return there == row_column->nkids ? SL_OK : sl_put_missing(&j->put, row_column, vectors, row, stamp, start);
}

/* Is the column of the op field, which has no vector, the last one? */
static size_t vector_count(const struct sl_column *root)
{
    return root->nkids && !root->kids[root->nkids - 1].type ? root->nkids - 1 : root->nkids;
}

int sl_ndjson_row(struct sl_ndjson *j, const char **p, const char *end, struct sl_vector *cols, size_t row, bool *blank,
                  sl_err *err)
{
    const char *q = skip_space(*p);
    int rc;

    j->end = end;
    j->put.err = err;
    *blank = *q == '\n';
    if (*blank) {
        *p = q + 1;
        return SL_OK;
    }
    rc = *q == '{' ? put_object(j, j->root, cols, row, &q) : unexpected(j, NULL, q, "an object");
    if (rc == SL_OK) {
        q = skip_space(q);
        if (*q == '\n') {
            *p = q + 1;
            return SL_OK;
        }
        rc = unexpected(j, NULL, q, "the end of the line behind the object");
    }
    for (size_t i = 0; i < vector_count(j->root); i++)
        if (cols[i].wanted)
            sl_vector_revive(&cols[i], row);
    return rc;
}
