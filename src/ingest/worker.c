/* worker.c - one thread's way from chunks of text to batches of rows. */
#include "ingest/worker.h"

#include <string.h>

#include "base/mem.h"

/* A batch ends early behind so much text, since each of its rows is held in memory twice for a moment. */
enum { BATCH_BYTES = 16 << 20, SHOWN_MAX = 1 << 20 };

struct sl_worker {
    struct sl_worker_spec spec;
    struct sl_arena arena;       /* the columns */
    struct sl_column root;
    struct sl_csv csv;           /* its JSON part serves NDJSON */
    struct sl_chunk chunk;
    const char *p, *end;         /* what is left of it */
    uint64_t line;               /* of P */
    uint64_t rows;               /* taken of the chunk */
};

int sl_worker_new(const struct sl_worker_spec *spec, struct sl_worker **out, sl_err *err)
{
    struct sl_worker *w = sl_calloc(1, sizeof *w);
    int rc;

    if (!w)
        return sl_err_nomem(err);
    w->spec = *spec;
    rc = sl_columns_make(&w->arena, spec->fields, spec->nfields, spec->op_field, &w->root, err);
    if (rc != SL_OK) {
        sl_worker_free(w);
        return rc;
    }
    if (spec->keyed)
        sl_columns_keyed(&w->root);
    w->csv.json.root = &w->root;
    w->csv.json.strict_fields = spec->strict_fields;
    w->csv.delimiter = spec->delimiter;
    w->csv.null_text = spec->null_text;
    *out = w;
    return SL_OK;
}

void sl_worker_free(struct sl_worker *w)
{
    if (!w)
        return;
    sl_csv_release(&w->csv);
    sl_chunk_release(&w->chunk);
    sl_columns_release(&w->root);
    sl_arena_release(&w->arena);
    sl_free(w);
}

static const char *record_end(const struct sl_worker *w, const char *p)
{
    struct sl_csv_scan scan = {w->spec.delimiter, 0};

    return w->spec.format == SL_INGEST_CSV ? sl_csv_next(&scan, p, w->end)
                                           : (const char *)memchr(p, '\n', (size_t)(w->end - p)) + 1;
}

/* The row that began at START cannot be taken; its END is behind its line feed. */
static int bad_row(struct sl_worker *w, const char *start, const char *end, const struct sl_fault *fault, sl_err *err)
{
    struct sl_buf what = SL_BUF_INIT;
    uint64_t offset = w->chunk.offset + (uint64_t)(start - w->chunk.buf), at = offset;
    sl_str text = {start, (size_t)(end - start) - 1};
    int rc;

    while (text.n && text.p[text.n - 1] == '\r')
        text.n--;
    if (fault->at >= start && fault->at < end)
        at += (uint64_t)(fault->at - start);
    if (fault->column) {
        sl_buf_addc(&what, "column \"");
        sl_column_path(fault->column, &what);
        sl_buf_addc(&what, "\": ");
    }
    sl_buf_addc(&what, fault->text);
    rc = sl_buf_ok(&what, err);
    if (rc == SL_OK)
        rc = sl_bad_row(w->spec.bad, w->chunk.file->label, w->line + 1, offset, at, text.n <= SHOWN_MAX ? text : (sl_str){NULL, 0},
                        what.p, err);
    sl_buf_release(&what);
    return rc;
}

static size_t lines_of(const struct sl_worker *w, const char *p, const char *end)
{
    size_t n = 0;

    if (w->spec.format != SL_INGEST_CSV)
        return 1;
    for (; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        n++;
    return n;
}

static void shrink(struct sl_buf *b)
{
    if (b->cap > BATCH_BYTES)
        sl_buf_release(b);
}

/* The row at w->p into row ROW; *TAKEN: it is one. */
static int one_row(struct sl_worker *w, struct sl_batch *out, size_t row, bool *taken, sl_err *err)
{
    const char *start = w->p, *p = start;
    struct sl_put *put = &w->csv.json.put;
    bool blank = false;
    int rc = w->spec.format == SL_INGEST_CSV ? sl_csv_row(&w->csv, &p, w->end, out->cols, row, &blank, err)
                                             : sl_ndjson_row(&w->csv.json, &p, w->end, out->cols, row, &blank, err);

    if (rc == SL_OK && (uint64_t)(p - start) > w->spec.max_row_bytes + 1) {
        rc = sl_fault_set(put, NULL, start, "the row is longer than the %llu bytes of --max-row-bytes",
                          (unsigned long long)w->spec.max_row_bytes);
        for (size_t i = 0; i < out->ncols; i++)
            if (out->cols[i].wanted)
                sl_vector_revive(&out->cols[i], row);
    }
    *taken = rc == SL_OK && !blank;
    if (rc == SL_EINPUT) {
        p = record_end(w, start);
        rc = bad_row(w, start, p, &put->fault, err);
    }
    if (rc != SL_OK)
        return rc;
    if (p - start > BATCH_BYTES) {
        shrink(&w->csv.json.text);
        shrink(&w->csv.json.key);
        shrink(&put->bytes);
    }
    w->line += lines_of(w, start, p);
    w->p = p;
    return SL_OK;
}

/* Chunks are numbered by their places in the input, rows within them. */
static void put_place(struct sl_worker *w, struct sl_batch *out, size_t row)
{
    enum { ROW_BITS = 32 };
    const struct sl_vector *v = &out->cols[w->spec.nfields];

    if (w->spec.keyed && out->ncols > w->spec.nfields && v->wanted)
        ((int64_t *)v->data)[row] = (int64_t)(w->chunk.number << ROW_BITS | w->rows);
    w->rows++;
}

int sl_worker_fill(struct sl_worker *w, uint64_t ticket, struct sl_batch *out, sl_err *err)
{
    const uint64_t unknown = w->csv.json.unknown_fields;
    const char *from = w->p;
    size_t row = 0;
    bool taken;

    out->rows = 0;
    while (row < out->cap && (row == 0 || w->p - from < BATCH_BYTES)) {
        if (w->p == w->end) {
            if (row)
                break;
            SL_TRY(sl_feed_chunk(w->spec.feed, ticket, &w->chunk, err));
            if (w->chunk.n == 0)
                break;
            w->p = from = w->chunk.buf;
            w->end = w->p + w->chunk.n;
            w->line = w->chunk.line;
            w->rows = 0;
            w->csv.header = w->chunk.file->header;
        }
        SL_TRY(one_row(w, out, row, &taken, err));
        if (taken)
            put_place(w, out, row++);
    }
    out->rows = row;
    if (w->csv.json.unknown_fields != unknown)
        atomic_fetch_add(w->spec.unknown_fields, w->csv.json.unknown_fields - unknown);
    return SL_OK;
}
