/* csv.c - CSV by RFC 4180: where records end, and one record to one row. */
#include "ingest/csv.h"

#include <string.h>

/* ---- ends of records ---- */

enum { AT_START, PLAIN, QUOTED, BEHIND_QUOTE };

const char *sl_csv_next(struct sl_csv_scan *s, const char *p, const char *end)
{
    int state = s->state;

    for (; p < end; p++) {
        if (state == QUOTED) {
            p = memchr(p, '"', (size_t)(end - p));
            if (!p)
                break;
            state = BEHIND_QUOTE;
        } else if (*p == '"' && state != PLAIN) {
            state = QUOTED; /* the first quote of a field, or the second of a doubled one */
        } else if (*p == '\n') {
            s->state = AT_START;
            return p + 1;
        } else {
            state = *p == s->delimiter ? AT_START : PLAIN;
        }
    }
    s->state = state;
    return NULL;
}

/* ---- fields ---- */

/* The field at *P, a view or unquoted into SCRATCH; *P then stands on the delimiter or the line's end. WHY is static text on failure. */
static bool take_field(const char **p, const char *end, char delimiter, struct sl_buf *scratch, sl_str *out, bool *quoted,
                       const char **why)
{
    const char *start = *p, *q = start;

    *quoted = q < end && *q == '"';
    if (!*quoted) {
        while (q < end && *q != delimiter && *q != '\n' && *q != '"')
            q++;
        if (q >= end || *q == '"') {
            *why = q >= end ? "the record has no end" : "a quote stands in a field that does not begin with one";
            *p = q;
            return false;
        }
        *p = q;
        if (*q == '\n' && q > start && q[-1] == '\r')
            q--;
        *out = (sl_str){start, (size_t)(q - start)};
        return true;
    }
    sl_buf_reset(scratch);
    start = ++q;
    for (;;) {
        q = memchr(q, '"', (size_t)(end - q));
        if (!q) {
            *why = "a quoted field has no end";
            return false;
        }
        if (q + 1 < end && q[1] == '"') {
            sl_buf_addb(scratch, start, (size_t)(q + 1 - start));
            start = q += 2;
            continue;
        }
        break;
    }
    if (scratch->n) {
        sl_buf_addb(scratch, start, (size_t)(q - start));
        *out = sl_buf_view(scratch);
    } else {
        *out = (sl_str){start, (size_t)(q - start)};
    }
    q++;
    *p = q;
    if (scratch->failed) {
        *why = "a field does not fit in memory";
        return false;
    }
    if (q < end && *q == '\r' && q + 1 < end && q[1] == '\n')
        *p = ++q;
    if (q < end && (*q == delimiter || *q == '\n'))
        return true;
    *why = "something stands behind the closing quote of a field";
    return false;
}

int sl_csv_split(char delimiter, sl_str record, int (*fn)(void *user, size_t i, sl_str field, bool quoted, sl_err *err), void *user,
                 sl_err *err)
{
    struct sl_buf scratch = SL_BUF_INIT;
    const char *p = record.p, *end = record.p + record.n, *why = "";
    int rc = SL_OK;

    for (size_t i = 0;; i++) {
        sl_str field;
        bool quoted;

        if (!take_field(&p, end, delimiter, &scratch, &field, &quoted, &why)) {
            rc = sl_err_set(err, SL_EINPUT, "%s", why);
            goto done;
        }
        SL_GO(fn(user, i, field, quoted, err));
        if (*p == '\n')
            break;
        p++;
    }
done:
    sl_buf_release(&scratch);
    return rc;
}

/* ---- headers ---- */

static struct sl_csv_header *new_header(size_t n)
{
    struct sl_csv_header *h = sl_calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->kid = sl_calloc(n ? n : 1, sizeof *h->kid);
    h->n = n;
    if (h->kid)
        return h;
    sl_free(h);
    return NULL;
}

void sl_csv_header_free(struct sl_csv_header *h)
{
    if (!h)
        return;
    sl_free(h->kid);
    sl_free(h);
}

int sl_csv_header_all(const struct sl_column *root, struct sl_csv_header **out, sl_err *err)
{
    size_t n = root->nkids && !root->kids[root->nkids - 1].type ? root->nkids - 1 : root->nkids;

    *out = new_header(n);
    if (!*out)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++)
        (*out)->kid[i] = i;
    return SL_OK;
}

struct header_reader {
    const struct sl_column *root;
    struct sl_csv_header *h;
    bool strict;
    size_t known;
};

static int count_name(void *user, size_t i, sl_str field, bool quoted, sl_err *err)
{
    (void)field, (void)quoted, (void)err;
    *(size_t *)user = i + 1;
    return SL_OK;
}

static int take_name(void *user, size_t i, sl_str field, bool quoted, sl_err *err)
{
    struct header_reader *r = user;
    ptrdiff_t kid = sl_column_find(r->root, field);

    (void)quoted;
    r->h->kid[i] = kid < 0 ? SIZE_MAX : (size_t)kid;
    if (kid < 0)
        return r->strict ? sl_err_set(err, SL_EINPUT, "there is no column for the field \"" SL_STRF "\" of the header",
                                      SL_STRV(field))
                         : SL_OK;
    r->known++;
    for (size_t k = 0; k < i; k++)
        if (r->h->kid[k] == (size_t)kid)
            return sl_err_set(err, SL_EINPUT, "the header names \"" SL_STRF "\" twice", SL_STRV(field));
    return SL_OK;
}

int sl_csv_header_read(const struct sl_column *root, char delimiter, bool strict_fields, sl_str record, struct sl_csv_header **out,
                       sl_err *err)
{
    struct header_reader r = {root, NULL, strict_fields, 0};
    size_t n = 0;
    int rc = SL_OK;

    SL_GO(sl_csv_split(delimiter, record, count_name, &n, err));
    r.h = new_header(n);
    if (!r.h)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_csv_split(delimiter, record, take_name, &r, err));
    if (r.known == 0) {
        rc = sl_err_set(err, SL_EINPUT, "no name in the header is a column of the table");
        sl_err_hint(err, "if the file has no header, say --no-header; if its fields are not separated by \"%c\", say --delimiter",
                    delimiter);
        goto done;
    }
    *out = r.h;
    r.h = NULL;
done:
    sl_csv_header_free(r.h);
    return rc;
}

/* ---- rows ---- */

void sl_csv_release(struct sl_csv *c)
{
    sl_ndjson_release(&c->json);
}

static int put_nested(struct sl_csv *c, const struct sl_column *column, struct sl_vector *v, size_t row, sl_str text)
{
    struct sl_buf line = SL_BUF_INIT;
    int rc = SL_OK;

    sl_buf_add(&line, text);
    sl_buf_ch(&line, '\n');
    if (!sl_buf_room(&line, SL_TEXT_SLACK))
        SL_GOTO_NOMEM(c->json.put.err);
    memset(line.p + line.n, 0, SL_TEXT_SLACK);
    rc = sl_ndjson_value(&c->json, column, v, row, line.p, line.p + line.n);
done:
    sl_buf_release(&line);
    return rc;
}

static int put_field(struct sl_csv *c, size_t kid, struct sl_vector *cols, size_t row, sl_str text, bool quoted, const char *at)
{
    const struct sl_column *column = &c->json.root->kids[kid];
    bool null = !quoted && sl_str_eq(text, c->null_text);
    int rc;

    c->json.root->seen[kid] = c->json.stamp;
    if (column->tells_op && !null) {
        rc = sl_check_op(&c->json.put, column, text);
        if (rc != SL_OK)
            goto done;
    }
    if (!column->type || !cols[kid].wanted)
        return SL_OK;
    if (null)
        rc = sl_put_null(&c->json.put, column, &cols[kid], row, at);
    else if (column->nkids)
        rc = put_nested(c, column, &cols[kid], row, text);
    else
        rc = sl_put_text(&c->json.put, column, &cols[kid], row, text, SL_NUMBER_LOOSE);
done:
    if (rc == SL_EINPUT)
        c->json.put.fault.at = at; /* the text may have been unquoted elsewhere */
    return rc;
}

static int put_record(struct sl_csv *c, const char **p, const char *end, struct sl_vector *cols, size_t row)
{
    const char *start = *p, *why = "";
    size_t i = 0;

    for (;; i++) {
        const char *at = *p;
        sl_str text;
        bool quoted;

        if (!take_field(p, end, c->delimiter, &c->json.key, &text, &quoted, &why))
            return sl_fault_set(&c->json.put, NULL, *p, "%s", why);
        if (i >= c->header->n)
            return sl_fault_set(&c->json.put, NULL, at, "the record has more than the %zu fields of the header", c->header->n);
        if (c->header->kid[i] == SIZE_MAX)
            c->json.unknown_fields++;
        else
            SL_TRY(put_field(c, c->header->kid[i], cols, row, text, quoted, at));
        if (**p == '\n')
            break;
        (*p)++;
    }
    (*p)++;
    if (i + 1 < c->header->n)
        return sl_fault_set(&c->json.put, NULL, start, "the record has %zu fields, but the header has %zu", i + 1, c->header->n);
    return sl_put_missing(&c->json.put, c->json.root, cols, row, c->json.stamp, start);
}

int sl_csv_row(struct sl_csv *c, const char **p, const char *end, struct sl_vector *cols, size_t row, bool *blank, sl_err *err)
{
    const struct sl_column *root = c->json.root;
    const char *q = *p;
    int rc;

    c->json.put.err = err;
    c->json.stamp++;
    /* An empty line is how a NULL is written where there is one column. */
    *blank = c->header->n > 1 && (*q == '\n' || (*q == '\r' && q + 1 < end && q[1] == '\n'));
    if (*blank) {
        *p = q + (*q == '\r') + 1;
        return SL_OK;
    }
    rc = put_record(c, p, end, cols, row);
    if (rc != SL_OK)
        for (size_t i = 0; i < root->nkids; i++)
            if (root->kids[i].type && cols[i].wanted)
                sl_vector_revive(&cols[i], row);
    return rc;
}
