/* fuzz_ndjson.c - lines of JSON of unknown origin: accepted exactly if another parser (jansson) finds them well-formed. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "ingest/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool v)
{
    if (!v)
        abort();
}

struct target {
    struct sl_arena arena;
    struct sl_column root;
    struct sl_batch *batch;
    struct sl_csv csv;
    struct sl_csv_header *header;
};

static void open_target(struct target *t, const char *row_type)
{
    const struct sl_type *type;

    memset(t, 0, sizeof *t);
    expect(sl_type_from_sql(&t->arena, sl_str_c(row_type), &type, NULL) == SL_OK);
    expect(sl_columns_make(&t->arena, type->fields, type->nfields, SL_LIT("op"), &t->root, NULL) == SL_OK);
    expect(sl_batch_new(type->fields, type->nfields, &t->batch, NULL) == SL_OK);
    expect(sl_csv_header_all(&t->root, &t->header, NULL) == SL_OK);
    t->csv.json.root = &t->root;
    t->csv.delimiter = ',';
    t->csv.header = t->header;
}

static void close_target(struct target *t)
{
    sl_csv_release(&t->csv);
    sl_csv_header_free(t->header);
    sl_columns_release(&t->root);
    sl_batch_free(t->batch);
    sl_arena_release(&t->arena);
}

/* Is it JSON, by the oracle? What only its own limits refuse (NUL in names, depth, huge numbers) is left out: -1. */
static int oracle(const char *line, size_t n)
{
    size_t brackets = 0;
    json_error_t error;
    json_t *j;

    for (size_t i = 0; i < n; i++)
        brackets += line[i] == '[' || line[i] == '{';
    if (brackets > 900)
        return -1;
    if (n && memchr(line, '\0', n)) /* which the oracle lets through behind a number */
        return 0;
    j = json_loadb(line, n, JSON_ALLOW_NUL, &error);
    json_decref(j);
    if (j)
        return 1;
    return json_error_code(&error) == json_error_null_byte_in_key || json_error_code(&error) == json_error_numeric_overflow ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Nothing in common with the input, so that all is syntax; and names that inputs like to use. */
    static const char *const types[] = {
        "ROW<`\x7f` INT>",
        "ROW<a INT, b STRING, c DOUBLE, d DECIMAL(20, 5), e ARRAY<BIGINT>, f MAP<STRING, DATE>, g ROW<h TIMESTAMP, i BOOLEAN>, j BYTES, k FLOAT>"};
    const uint8_t *feed = size ? memchr(data, '\n', size) : NULL;
    size_t n = feed ? (size_t)(feed - data) : size;
    char *line = sl_malloc(n + 1 + SL_TEXT_SLACK);
    int wanted;

    expect(line != NULL);
    if (n)
        memcpy(line, data, n);
    memset(line + n, '\n', 1 + SL_TEXT_SLACK);
    wanted = oracle(line, n);
    for (int i = 0; i < 2; i++) {
        struct target t;
        const char *p = line;
        bool blank = false;

        open_target(&t, types[i]);
        int rc = sl_ndjson_row(&t.csv.json, &p, line + n + 1, t.batch->cols, 0, &blank, NULL);
        expect(rc == SL_OK || rc == SL_EINPUT);
        expect(rc != SL_OK || p == line + n + 1);
        if (!blank && wanted == 0)
            expect(rc == SL_EINPUT);
        /* What is well-formed may still be no row: not an object, or of another kind. */
        if (i == 0 && wanted == 1 && rc != SL_OK)
            expect(*line != '{' || strstr(t.csv.json.put.fault.text, "kind of row") || strstr(t.csv.json.put.fault.text, "kind of the row") ||
                   strstr(t.csv.json.put.fault.text, "twice") || strstr(t.csv.json.put.fault.text, "inserts"));
        p = line;
        rc = sl_csv_row(&t.csv, &p, line + n + 1, t.batch->cols, 1, &blank, NULL);
        expect(rc == SL_OK || rc == SL_EINPUT);
        close_target(&t);
    }
    sl_free(line);
    return 0;
}
