/* result.c - rows of SQL as a table, CSV or JSON. */
#include "result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

enum {
    BLOCK_ROWS = 500, /* of a table: widths are settled by the first block */
    CELL_MOST = 100,  /* characters of a cell on a terminal */
};

struct column {
    char *name, *type;
    char *key; /* the name as a JSON string; sl_free */
    bool number, boolean, nested;
    size_t width;
};

struct cmd_result {
    struct sl_sql_sink sink;
    enum cmd_format format;
    FILE *out;
    struct column *columns;
    size_t ncolumns;
    uint64_t rows; /* of the statement */
    char **cells;  /* of the block, row by row; NULL is NULL */
    size_t ncells, cap;
    bool wide;   /* nothing is cut */
    bool begun;  /* a JSON array is open */
    bool header; /* of the table was printed */
    struct cmd_progress progress;
};

int cmd_format_of(const char *name, enum cmd_format *out, sl_err *err)
{
    static const char *const names[] = {"table", "csv", "json", "ndjson", "parquet", NULL};

    for (size_t i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum cmd_format)i;
            return SL_OK;
        }
    }
    sl_err_set(err, SL_EUSAGE, "there is no format \"%s\"", name);
    sl_err_hint(err, "table, csv, json, ndjson and parquet are");
    return SL_EUSAGE;
}

static char *copy(const char *p, size_t n)
{
    char *c = malloc(n + 1);

    if (c) {
        memcpy(c, p, n);
        c[n] = '\0';
    }
    return c;
}

static size_t characters(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* ---- columns ---- */

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static void classify(struct column *c)
{
    static const char *const numbers[] = {
        "TINYINT",  "SMALLINT", "INTEGER",  "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
        "UINTEGER", "UBIGINT",  "UHUGEINT", "FLOAT",  "DOUBLE",  NULL};
    const size_t n = strlen(c->type);

    c->nested =
        (n > 0 && c->type[n - 1] == ']') || starts(c->type, "STRUCT") || starts(c->type, "MAP");
    c->boolean = strcmp(c->type, "BOOLEAN") == 0;
    c->number = !c->nested && starts(c->type, "DECIMAL");
    for (size_t i = 0; numbers[i]; i++)
        c->number |= strcmp(c->type, numbers[i]) == 0;
}

static void clear_block(struct cmd_result *r)
{
    for (size_t i = 0; i < r->ncells; i++)
        free(r->cells[i]);
    r->ncells = 0;
}

static void clear(struct cmd_result *r)
{
    clear_block(r);
    for (size_t i = 0; i < r->ncolumns; i++) {
        free(r->columns[i].name);
        free(r->columns[i].type);
        sl_free(r->columns[i].key);
    }
    free(r->columns);
    r->columns = NULL;
    r->ncolumns = 0;
    r->rows = 0;
    r->begun = r->header = false;
}

static int no_memory(sl_err *err)
{
    return sl_err_set(err, SL_ENOMEM, "out of memory");
}

/* ---- tables ---- */

/* What a cell looks like on one line. */
static void print_cell(struct cmd_result *r, const char *s, size_t width, bool right, bool last)
{
    size_t n = characters(s), most = r->wide ? SIZE_MAX : CELL_MOST, k = 0;

    for (size_t i = n; right && i < width; i++)
        fputc(' ', r->out);
    for (const char *p = s; *p; p++) {
        k += ((unsigned char)*p & 0xC0) != 0x80;
        if (k >= most && n > most) {
            fputs("\xE2\x80\xA6", r->out);
            n = most;
            break;
        }
        if (*p == '\n')
            fputs(r->ncolumns == 1 ? "\n" : "\\n", r->out);
        else if ((unsigned char)*p < ' ' || *p == 127)
            fputc(' ', r->out);
        else
            fputc(*p, r->out);
    }
    for (size_t i = n; !right && !last && i < width; i++)
        fputc(' ', r->out);
}

static void print_header(struct cmd_result *r)
{
    for (size_t i = 0; i < r->ncolumns; i++) {
        fputs(i ? " | " : "", r->out);
        print_cell(r, r->columns[i].name, r->columns[i].width, r->columns[i].number,
                   i + 1 == r->ncolumns);
    }
    fputc('\n', r->out);
    for (size_t i = 0; i < r->ncolumns; i++) {
        fputs(i ? "-+-" : "", r->out);
        for (size_t k = 0; k < r->columns[i].width; k++)
            fputc('-', r->out);
    }
    fputc('\n', r->out);
    r->header = true;
}

static void settle_widths(struct cmd_result *r)
{
    const size_t most = r->wide ? SIZE_MAX : CELL_MOST;

    for (size_t i = 0; i < r->ncolumns; i++)
        r->columns[i].width = characters(r->columns[i].name);
    for (size_t k = 0; k < r->ncells; k++) {
        struct column *c = &r->columns[k % r->ncolumns];
        size_t n = 0;

        for (const char *p = r->cells[k] ? r->cells[k] : "NULL"; *p; p++)
            n = *p == '\n' && r->ncolumns == 1
                    ? 0
                    : n + (((unsigned char)*p & 0xC0) != 0x80) + (*p == '\n');
        if (n > c->width)
            c->width = n;
    }
    for (size_t i = 0; i < r->ncolumns; i++)
        if (r->columns[i].width > most)
            r->columns[i].width = most;
}

static void print_block(struct cmd_result *r)
{
    if (!r->header) {
        settle_widths(r);
        print_header(r);
    }
    for (size_t k = 0; k < r->ncells; k++) {
        const size_t i = k % r->ncolumns;

        fputs(i ? " | " : "", r->out);
        print_cell(r, r->cells[k] ? r->cells[k] : "NULL", r->columns[i].width, r->columns[i].number,
                   i + 1 == r->ncolumns);
        if (i + 1 == r->ncolumns)
            fputc('\n', r->out);
    }
    clear_block(r);
}

static int keep_row(struct cmd_result *r, const sl_str *cells, size_t n, sl_err *err)
{
    if (r->ncells + n > r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 256;
        char **grown;

        while (cap < r->ncells + n)
            cap *= 2;
        grown = realloc(r->cells, cap * sizeof *grown);
        if (!grown)
            return no_memory(err);
        r->cells = grown;
        r->cap = cap;
    }
    for (size_t i = 0; i < n; i++) {
        char *text = cells[i].p ? copy(cells[i].p, cells[i].n) : NULL;

        if (cells[i].p && !text)
            return no_memory(err);
        r->cells[r->ncells++] = text;
    }
    if (r->ncells >= BLOCK_ROWS * n)
        print_block(r);
    return SL_OK;
}

/* ---- CSV and JSON ---- */

static void print_csv(FILE *f, sl_str s, bool null)
{
    bool quote = !null && s.n == 0;

    for (size_t i = 0; i < s.n; i++)
        quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
    if (s.n > 0)
        quote |= s.p[0] == ' ' || s.p[s.n - 1] == ' ';
    if (!quote) {
        if (s.n > 0)
            fwrite(s.p, 1, s.n, f);
        return;
    }
    fputc('"', f);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            fputc('"', f);
        fputc(s.p[i], f);
    }
    fputc('"', f);
}

static bool is_json_number(sl_str s)
{
    /* Not "nan" and "inf". */
    return s.n > 0 && (s.p[s.n - 1] >= '0' && s.p[s.n - 1] <= '9');
}

static void print_json_value(FILE *f, const struct column *c, sl_str s)
{
    char *text;

    if (!s.p) {
        fputs("null", f);
    } else if (c->nested || c->boolean || (c->number && is_json_number(s))) {
        fwrite(s.p, 1, s.n, f);
    } else {
        text = sl_json_quote(s);
        fputs(text ? text : "null", f);
        sl_free(text);
    }
}

static void print_json_row(struct cmd_result *r, const sl_str *cells, size_t n)
{
    fputc('{', r->out);
    for (size_t i = 0; i < n; i++) {
        if (i)
            fputc(',', r->out);
        fputs(r->columns[i].key, r->out);
        fputc(':', r->out);
        print_json_value(r->out, &r->columns[i], cells[i]);
    }
    fputc('}', r->out);
}

/* ---- the sink ---- */

static int on_columns(void *user, const struct sl_sql_column *columns, size_t n, sl_err *err)
{
    struct cmd_result *r = user;

    cmd_progress_clear();
    clear(r);
    r->columns = calloc(n ? n : 1, sizeof *r->columns);
    if (!r->columns)
        return no_memory(err);
    r->ncolumns = n;
    for (size_t i = 0; i < n; i++) {
        r->columns[i].name = copy(columns[i].name, strlen(columns[i].name));
        r->columns[i].type = copy(columns[i].type, strlen(columns[i].type));
        r->columns[i].key = sl_json_quote((sl_str){columns[i].name, strlen(columns[i].name)});
        if (!r->columns[i].name || !r->columns[i].type || !r->columns[i].key)
            return no_memory(err);
        classify(&r->columns[i]);
    }
    if (r->format == CMD_FORMAT_CSV) {
        for (size_t i = 0; i < n; i++) {
            if (i)
                fputc(',', r->out);
            print_csv(r->out, (sl_str){columns[i].name, strlen(columns[i].name)}, false);
        }
        fputc('\n', r->out);
    } else if (r->format == CMD_FORMAT_JSON) {
        fputc('[', r->out);
    }
    r->begun = true;
    return SL_OK;
}

static int on_row(void *user, const sl_str *cells, size_t n, sl_err *err)
{
    struct cmd_result *r = user;

    r->rows++;
    switch (r->format) {
    case CMD_FORMAT_CSV:
        for (size_t i = 0; i < n; i++) {
            if (i)
                fputc(',', r->out);
            print_csv(r->out, cells[i], !cells[i].p);
        }
        fputc('\n', r->out);
        break;
    case CMD_FORMAT_JSON:
        fputs(r->rows > 1 ? ",\n " : "", r->out);
        print_json_row(r, cells, n);
        break;
    case CMD_FORMAT_NDJSON:
        print_json_row(r, cells, n);
        fputc('\n', r->out);
        break;
    default:
        return keep_row(r, cells, n, err);
    }
    return ferror(r->out) ? sl_err_set(err, SL_EIO, "cannot write the result") : SL_OK;
}

static const char *past(const char *verb)
{
    static const char *const known[][2] = {
        {"INSERT", "inserted"}, {"UPDATE", "updated"},        {"DELETE", "deleted"},
        {"COPY", "written"},    {"CREATE TABLE", "inserted"}, {"TRUNCATE TABLE", "removed"},
        {"SELECT", "written"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(verb, known[i][0]) == 0)
            return known[i][1];
    return "removed";
}

static void say_done(struct cmd_result *r, const struct sl_sql_done *d)
{
    FILE *f = r->format == CMD_FORMAT_TABLE ? r->out : stderr;

    if (r->format != CMD_FORMAT_TABLE && !cmd_verbose)
        return;
    if (d->has_rows)
        fprintf(f, "(%llu %s, %.3f s)\n", (unsigned long long)d->rows,
                d->rows == 1 ? "row" : "rows", d->seconds);
    else if (d->counts_rows && d->snapshot > 0)
        fprintf(f, "%llu %s %s, snapshot %lld (%.3f s)\n", (unsigned long long)d->rows,
                d->rows == 1 ? "row" : "rows", past(d->verb), (long long)d->snapshot, d->seconds);
    else if (d->counts_rows)
        fprintf(f, "%llu %s %s (%.3f s)\n", (unsigned long long)d->rows,
                d->rows == 1 ? "row" : "rows", past(d->verb), d->seconds);
    else
        fprintf(f, "%s: done\n", d->verb);
}

static int on_done(void *user, const struct sl_sql_done *d, sl_err *err)
{
    struct cmd_result *r = user;

    cmd_progress_clear();
    if (r->begun && r->format == CMD_FORMAT_JSON)
        fputs("]\n", r->out);
    if (r->begun && r->format == CMD_FORMAT_TABLE && r->ncolumns > 0)
        print_block(r);
    say_done(r, d);
    clear(r);
    fflush(r->out);
    return ferror(r->out) ? sl_err_set(err, SL_EIO, "cannot write the result") : SL_OK;
}

static void on_progress(void *user, double percent, double seconds)
{
    struct cmd_result *r = user;

    if (seconds < 1 || !isatty(STDERR_FILENO))
        return;
    if (percent > 0)
        cmd_progress_show(&r->progress, "%5.1f %%  %.0f s", percent, seconds);
    else
        cmd_progress_show(&r->progress, "running  %.0f s", seconds);
}

struct cmd_result *cmd_result_new(enum cmd_format format, FILE *out, const char *parquet)
{
    struct cmd_result *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->format = format;
    r->out = out;
    r->wide = !isatty(fileno(out));
    r->sink = (struct sl_sql_sink){.columns = on_columns,
                                   .row = on_row,
                                   .done = on_done,
                                   .progress = on_progress,
                                   .user = r,
                                   .nested_json =
                                       format == CMD_FORMAT_JSON || format == CMD_FORMAT_NDJSON,
                                   .parquet = parquet};
    return r;
}

const struct sl_sql_sink *cmd_result_sink(struct cmd_result *r)
{
    return &r->sink;
}

void cmd_result_abort(struct cmd_result *r)
{
    cmd_progress_clear();
    if (r->begun && r->format == CMD_FORMAT_TABLE && r->ncells > 0)
        print_block(r);
    clear(r);
    fflush(r->out);
}

void cmd_result_free(struct cmd_result *r)
{
    if (!r)
        return;
    clear(r);
    free(r->cells);
    free(r);
}
