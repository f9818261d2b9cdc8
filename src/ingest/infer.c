/* infer.c - the types of columns from a sample of rows. */
#include "ingest/infer.h"

#include <string.h>

#include "base/json.h"
#include "ingest/csv.h"

/* What has been seen of one column. */
enum guess { NOTHING, BOOLEAN, WHOLE, LONG_WHOLE, REAL, DAY, MOMENT, TEXT, LIST, RECORD };

struct node {
    const char *name;        /* of the arena */
    enum guess guess;
    struct node *kids;       /* RECORD: the first member; LIST: the element */
    struct node *next;       /* of the same record */
};

/* INT holds 128 times this. */
#define WHOLE_MAX ((int64_t)1 << 24)

static const char *guess_text(enum guess g)
{
    static const char *const names[] = {"null", "a boolean", "a number", "a number", "a number", "a text", "a text", "a text",
                                        "an array", "an object"};

    return names[g];
}

/* What holds values of both; NOTHING (with neither of them so) if there is no such type. */
static enum guess join(enum guess a, enum guess b)
{
    enum guess low = a < b ? a : b, high = a < b ? b : a;

    if (low == high || low == NOTHING)
        return high;
    if (low >= WHOLE && high <= REAL)
        return high;
    return low >= DAY && high <= TEXT ? TEXT : NOTHING;
}

static enum guess guess_string(sl_str text)
{
    const char *why;
    int32_t days;
    int64_t micros;

    if (sl_text_to_date(text, &days, &why))
        return DAY;
    return sl_text_to_timestamp(text, false, 6, &micros, &why) ? MOMENT : TEXT;
}

static enum guess guess_whole(int64_t v)
{
    return v >= -WHOLE_MAX && v <= WHOLE_MAX ? WHOLE : LONG_WHOLE;
}

/* ---- NDJSON ---- */

static int see(struct sl_arena *a, struct node *node, const json_t *j, sl_err *err);

static struct node *new_node(struct sl_arena *a, sl_str name, struct node **at)
{
    struct node *n = sl_arena_alloc(a, sizeof *n);

    if (!n)
        return NULL;
    n->name = sl_arena_strdup(a, name);
    *at = n;
    return n->name ? n : NULL;
}

static int see_members(struct sl_arena *a, struct node *node, const json_t *j, sl_str skip, sl_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)j, key, value) {
        struct node **at = &node->kids, *kid;

        if (skip.n && sl_str_eqc(skip, key))
            continue;
        while (*at && strcmp((*at)->name, key) != 0)
            at = &(*at)->next;
        kid = *at ? *at : new_node(a, sl_str_c(key), at);
        if (!kid)
            return sl_err_nomem(err);
        SL_TRY(see(a, kid, value, err));
    }
    return SL_OK;
}

static int see_elements(struct sl_arena *a, struct node *node, const json_t *j, sl_err *err)
{
    struct node *kid = node->kids ? node->kids : new_node(a, sl_str_c(node->name), &node->kids);

    if (!kid)
        return sl_err_nomem(err);
    for (size_t i = 0; i < json_array_size(j); i++)
        SL_TRY(see(a, kid, json_array_get(j, i), err));
    return SL_OK;
}

static int see(struct sl_arena *a, struct node *node, const json_t *j, sl_err *err)
{
    enum guess found = NOTHING, both;

    switch (json_typeof(j)) {
    case JSON_NULL: break;
    case JSON_TRUE: case JSON_FALSE: found = BOOLEAN; break;
    case JSON_INTEGER: found = guess_whole(json_integer_value(j)); break;
    case JSON_REAL: found = REAL; break;
    case JSON_STRING: found = guess_string((sl_str){json_string_value(j), json_string_length(j)}); break;
    case JSON_ARRAY: found = LIST; break;
    case JSON_OBJECT: found = RECORD; break;
    }
    both = join(node->guess, found);
    if (both == NOTHING && found != NOTHING) {
        sl_err_set(err, SL_EINPUT, "the field \"%s\" is %s here and %s in a row before", node->name, guess_text(found),
                   guess_text(node->guess));
        sl_err_hint(err, "no type holds both; make the table by CREATE TABLE and bring the rows into its form");
        return SL_EINPUT;
    }
    node->guess = both;
    if (found == RECORD)
        return see_members(a, node, j, SL_LIT(""), err);
    return found == LIST ? see_elements(a, node, j, err) : SL_OK;
}

static int make_fields(struct sl_arena *a, const struct node *first, const struct sl_field **fields, size_t *n, sl_err *err);

static int make_type(struct sl_arena *a, const struct node *node, const struct sl_type **out, sl_err *err)
{
    struct sl_type *t = sl_arena_alloc(a, sizeof *t);

    if (!t)
        return sl_err_nomem(err);
    t->nullable = true;
    switch (node->guess) {
    case BOOLEAN: t->kind = SL_BOOLEAN; break;
    case WHOLE: t->kind = SL_INT; break;
    case LONG_WHOLE: t->kind = SL_BIGINT; break;
    case REAL: t->kind = SL_DOUBLE; break;
    case DAY: t->kind = SL_DATE; break;
    case MOMENT: t->kind = SL_TIMESTAMP; t->precision = 6; break;
    case NOTHING: case TEXT: t->kind = SL_VARCHAR; t->length = SL_LENGTH_MAX; break;
    case LIST:
        t->kind = SL_ARRAY;
        SL_TRY(make_type(a, node->kids, &t->element, err));
        break;
    case RECORD:
        t->kind = SL_ROW;
        SL_TRY(make_fields(a, node->kids, &t->fields, &t->nfields, err));
        if (t->nfields == 0)
            return sl_err_set(err, SL_EINPUT, "the field \"%s\" is an object without members, which no type holds", node->name);
        break;
    }
    *out = t;
    return SL_OK;
}

static int make_fields(struct sl_arena *a, const struct node *first, const struct sl_field **fields, size_t *n, sl_err *err)
{
    struct sl_field *v;

    *n = 0;
    for (const struct node *k = first; k; k = k->next)
        ++*n;
    v = sl_arena_array(a, *n ? *n : 1, sizeof *v);
    if (!v)
        return sl_err_nomem(err);
    *fields = v;
    for (const struct node *k = first; k; k = k->next, v++) {
        v->name = k->name;
        SL_TRY(make_type(a, k, &v->type, err));
    }
    return SL_OK;
}

int sl_infer_ndjson(struct sl_arena *a, sl_str text, sl_str skip, const struct sl_field **fields, size_t *n, sl_err *err)
{
    struct node root = {.name = ""};
    const char *p = text.p, *end = text.p + text.n, *e;

    if (sl_str_starts(text, "\xef\xbb\xbf"))
        p += 3;
    for (size_t line = 1; p < end; p = e + 1, line++) {
        json_t *j = NULL;
        int rc;

        e = memchr(p, '\n', (size_t)(end - p));
        sl_str row = sl_str_trim((sl_str){p, (size_t)((e ? e : end) - p)});
        if (row.n) {
            rc = sl_json_parse(row, &j, err);
            if (rc == SL_OK && !json_is_object(j))
                rc = sl_err_set(err, SL_EINPUT, "the row is no object");
            if (rc == SL_OK)
                rc = see_members(a, &root, j, skip, err);
            json_decref(j);
            if (rc != SL_OK) {
                sl_err_ctx(err, "sample of the input, line %zu", line);
                return rc == SL_ECORRUPT ? SL_EINPUT : rc;
            }
        }
        if (!e)
            break;
    }
    return make_fields(a, root.kids, fields, n, err);
}

/* ---- CSV ---- */

struct csv_sample {
    struct sl_arena *a;
    struct node *first;      /* the columns */
    size_t n;
    sl_str null_text, skip;
    bool names;              /* this record is the header */
};

static struct node *column(struct csv_sample *s, size_t i)
{
    struct node *c = s->first;

    while (c && i--)
        c = c->next;
    return c;
}

static enum guess guess_text_value(sl_str text)
{
    int64_t v;
    const char *why;
    bool whole;

    if (sl_str_ieqc(text, "true") || sl_str_ieqc(text, "false"))
        return BOOLEAN;
    if (text.n && sl_number_end(text.p, text.p + text.n, SL_NUMBER_JSON, &whole) == text.p + text.n) {
        if (!whole)
            return REAL;
        return sl_number_to_i64(text, INT64_MIN, INT64_MAX, &v, &why) ? guess_whole(v) : REAL;
    }
    return guess_string(text);
}

static int see_field(void *user, size_t i, sl_str field, bool quoted, sl_err *err)
{
    struct csv_sample *s = user;
    char name[32];

    if (i >= s->n) {
        struct node **at = &s->first;

        while (*at)
            at = &(*at)->next;
        snprintf(name, sizeof name, "c%zu", i + 1);
        if (!new_node(s->a, s->names ? field : sl_str_c(name), at))
            return sl_err_nomem(err);
        s->n++;
    }
    if (s->names || (!quoted && sl_str_eq(field, s->null_text)))
        return SL_OK;
    struct node *c = column(s, i);
    enum guess found = guess_text_value(field), both = join(c->guess, found);

    c->guess = both == NOTHING ? TEXT : both;
    return SL_OK;
}

/* The column that tells a row's kind is none of the table's. */
static void drop_column(struct csv_sample *s)
{
    for (struct node **at = &s->first; *at; at = &(*at)->next) {
        if (s->skip.n && sl_str_eqc(s->skip, (*at)->name)) {
            *at = (*at)->next;
            return;
        }
    }
}

int sl_infer_csv(struct sl_arena *a, sl_str text, char delimiter, bool header, sl_str null_text, sl_str skip,
                 const struct sl_field **fields, size_t *n, sl_err *err)
{
    struct csv_sample s = {.a = a, .null_text = null_text, .skip = skip};
    const char *p = text.p, *end = text.p + text.n, *e;

    if (sl_str_starts(text, "\xef\xbb\xbf"))
        p += 3;
    for (size_t record = 1; p < end; p = e, record++) {
        struct sl_csv_scan scan = {delimiter, 0};

        e = sl_csv_next(&scan, p, end);
        if (!e)
            break;
        s.names = header && record == 1;
        if (*p == '\n' || *p == '\r')
            continue;
        int rc = sl_csv_split(delimiter, (sl_str){p, (size_t)(e - p)}, see_field, &s, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "sample of the input, record %zu", record);
            return rc;
        }
    }
    drop_column(&s);
    return make_fields(a, s.first, fields, n, err);
}
