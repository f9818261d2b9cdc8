/* SELECT -> Parquet files, by DuckDB's COPY. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine_priv.h"
#include "engine/parquet.h"
#include "engine/rows.h"

#define PARTS "parts" /* DIR/<prefix>parts: where partitioned files are first */

struct write {
    struct sl_conn *conn;
    const struct sl_parquet_spec *spec;
    struct sl_partitions *partitions;   /* owned; NULL: unpartitioned */
    char ordinal[16];                   /* name of the column of ordinals, that the SELECT does not have */
    struct sl_buf sql;
    struct sl_parquet_files *out;
};

/* ---- the statement ---- */

static int check_spec(const struct sl_parquet_spec *spec, sl_err *err)
{
    if (spec->dir.n == 0 || spec->dir.p[0] != '/')
        return sl_err_set(err, SL_EBUG, "the folder of a Parquet write is not absolute");
    for (size_t i = 0; i < spec->prefix.n; i++) {
        char c = spec->prefix.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._-", c)))
            return sl_err_set(err, SL_EBUG, "the prefix \"" SL_STRF "\" of Parquet files is not plain", SL_STRV(spec->prefix));
    }
    if (spec->npartition && spec->file_bytes)
        return sl_err_set(err, SL_EBUG, "partitioned Parquet files cannot be cut by size");
    return SL_OK;
}

/* A name for the ordinals that no column of the SELECT has. */
static int choose_ordinal(struct write *w, sl_str select, sl_err *err)
{
    struct sl_result *r = NULL;
    bool taken = true;

    SL_TRY(sl_conn_prepare(w->conn, select, &r, err));
    for (int i = 0; taken && i < 1000; i++) {
        snprintf(w->ordinal, sizeof w->ordinal, "p%d", i);
        taken = false;
        for (size_t k = 0; k < sl_result_ncols(r); k++)
            taken = taken || sl_str_ieqc(sl_str_c(sl_result_name(r, k)), w->ordinal);
    }
    sl_result_free(r);
    return SL_OK;
}

static void add_members(struct sl_buf *b, const struct sl_type *t);

static void add_id(struct sl_buf *b, const char *name, int32_t id, const struct sl_type *t)
{
    sl_buf_sql_ident(b, sl_str_c(name));
    if (t->kind != SL_ROW) {
        sl_buf_printf(b, ": %d", id);
        return;
    }
    sl_buf_printf(b, ": {__duckdb_field_id: %d", id);
    add_members(b, t);
    sl_buf_ch(b, '}');
}

/* Members of rows have ids, what lies within lists and maps has none. */
static void add_members(struct sl_buf *b, const struct sl_type *t)
{
    for (size_t i = 0; i < t->nfields; i++) {
        sl_buf_addc(b, ", ");
        add_id(b, t->fields[i].name, t->fields[i].id, t->fields[i].type);
    }
}

/* Row groups pile up in each thread, and one for each partition, so they shrink with the memory. What piles up beyond it
 * DuckDB spills to disk. */
static uint64_t row_group_bytes(const struct write *w)
{
    struct sl_engine *e = sl_conn_engine(w->conn);
    uint64_t share = sl_engine_memory(e) / (w->partitions ? 96 : 12 * sl_engine_threads(e));
    uint64_t want = w->spec->row_group_bytes ? w->spec->row_group_bytes : UINT64_C(64) << 20;

    if (want > share)
        want = share;
    return want < UINT64_C(1) << 20 ? UINT64_C(1) << 20 : want;
}

static void add_options(struct write *w)
{
    const struct sl_parquet_spec *spec = w->spec;
    const char *codec = spec->compression ? spec->compression : "zstd";

    sl_buf_addc(&w->sql, " (FORMAT parquet, RETURN_STATS, WRITE_BLOOM_FILTER false");
    sl_buf_printf(&w->sql, ", ROW_GROUP_SIZE_BYTES %llu, COMPRESSION ", (unsigned long long)row_group_bytes(w));
    sl_buf_sql_string(&w->sql, sl_str_c(!strcmp(codec, "none") ? "uncompressed" : codec));
    if (!strcmp(codec, "zstd"))
        sl_buf_printf(&w->sql, ", COMPRESSION_LEVEL %d", spec->level ? spec->level : 1);
    if (w->partitions)
        sl_buf_printf(&w->sql, ", PARTITION_BY (%s), FILENAME_PATTERN '{i}'", w->ordinal);
    else if (spec->file_bytes)
        sl_buf_printf(&w->sql, ", FILE_SIZE_BYTES %llu, WRITE_EMPTY_FILE false, OVERWRITE_OR_IGNORE, FILENAME_PATTERN '" SL_STRF "{i}'",
                      (unsigned long long)spec->file_bytes, SL_STRV(spec->prefix));
    else
        sl_buf_printf(&w->sql, ", WRITE_EMPTY_FILE %s, USE_TMP_FILE false", spec->empty ? "true" : "false");
    if (spec->fields) {
        sl_buf_addc(&w->sql, ", FIELD_IDS {");
        for (size_t i = 0; i < spec->nfields; i++) {
            if (i)
                sl_buf_addc(&w->sql, ", ");
            add_id(&w->sql, spec->fields[i].name, spec->fields[i].id, spec->fields[i].type);
        }
        sl_buf_ch(&w->sql, '}');
    }
    for (size_t i = 0; i < spec->nkv; i++) {
        sl_buf_addc(&w->sql, i ? ", " : ", KV_METADATA {");
        sl_buf_sql_ident(&w->sql, spec->kv[i].key);
        sl_buf_addc(&w->sql, ": ");
        sl_buf_sql_string(&w->sql, spec->kv[i].value);
    }
    sl_buf_addc(&w->sql, spec->nkv ? "})" : ")");
}

/* Where COPY writes to: a file or a folder. */
static void add_target(const struct write *w, struct sl_buf *out)
{
    sl_buf_add(out, w->spec->dir);
    if (w->partitions)
        sl_buf_printf(out, "/" SL_STRF PARTS, SL_STRV(w->spec->prefix));
    else if (!w->spec->file_bytes)
        sl_buf_printf(out, "/" SL_STRF "0.parquet", SL_STRV(w->spec->prefix));
}

static int make_sql(struct write *w, sl_str select, size_t *shift, sl_err *err)
{
    int rc = SL_OK;
    struct sl_buf target = SL_BUF_INIT;

    sl_buf_addc(&w->sql, "COPY (");
    if (w->partitions) {
        sl_buf_printf(&w->sql, "SELECT *, sluice_partition(%llu", (unsigned long long)sl_partitions_id(w->partitions));
        for (size_t i = 0; i < w->spec->npartition; i++)
            sl_buf_printf(&w->sql, ", CAST((" SL_STRF ") AS VARCHAR)", SL_STRV(w->spec->partition[i]));
        sl_buf_printf(&w->sql, ") AS %s FROM (", w->ordinal);
    }
    *shift = w->sql.n;
    sl_buf_add(&w->sql, select);
    sl_buf_addc(&w->sql, w->partitions ? "\n)) TO " : "\n) TO "); /* the line feed ends a comment */
    add_target(w, &target);
    SL_GO(sl_buf_ok(&target, err));
    sl_buf_sql_string(&w->sql, sl_buf_view(&target));
    add_options(w);
    rc = sl_buf_ok(&w->sql, err);
done:
    sl_buf_release(&target);
    return rc;
}

/* ---- what COPY tells ---- */

static bool vector_null(duckdb_vector v, size_t i)
{
    uint64_t *validity = duckdb_vector_get_validity(v);

    return validity && !(validity[i / 64] >> (i % 64) & 1);
}

static sl_str vector_str(duckdb_vector v, size_t i)
{
    struct sl_vector view = {.data = duckdb_vector_get_data(v)};

    return sl_vector_bytes(&view, i);
}

/* A MAP in row I of V: its keys, its values and the entries [from, from + n) in them. */
struct map_cell {
    duckdb_vector keys, values;
    size_t from, n;
};

static struct map_cell map_cell(duckdb_vector v, size_t i)
{
    struct map_cell m = {NULL, NULL, 0, 0};
    duckdb_vector entries;

    if (!v || vector_null(v, i))
        return m;
    duckdb_list_entry e = ((duckdb_list_entry *)duckdb_vector_get_data(v))[i];
    entries = duckdb_list_vector_get_child(v);
    m.keys = duckdb_struct_vector_get_child(entries, 0);
    m.values = duckdb_struct_vector_get_child(entries, 1);
    m.from = e.offset;
    m.n = e.length;
    return m;
}

static int take_stat(struct sl_arena *a, struct sl_parquet_stats *s, sl_str key, sl_str value, sl_err *err)
{
    if (sl_str_eqc(key, "min") || sl_str_eqc(key, "max")) {
        sl_str copy = sl_arena_str(a, value);

        if (!copy.p)
            return sl_err_nomem(err);
        *(key.p[1] == 'i' ? &s->min : &s->max) = copy;
    } else if (sl_str_eqc(key, "null_count")) {
        if (!sl_parse_i64(value, &s->null_count))
            s->null_count = -1;
    } else if (sl_str_eqc(key, "has_nan")) {
        s->has_nan = sl_str_eqc(value, "true");
    }
    return SL_OK;
}

/* DuckDB's path of a leaf, "a" or "s"."x": a column's own name without the quotes, a nested one as it is. */
static int take_name(struct sl_arena *a, struct sl_parquet_stats *s, sl_str path, sl_err *err)
{
    struct sl_buf name = SL_BUF_INIT;
    size_t i = 1;

    for (; i < path.n; i++) {
        if (path.p[i] == '"' && !(i + 1 < path.n && path.p[i + 1] == '"'))
            break;
        i += path.p[i] == '"';
        sl_buf_ch(&name, path.p[i]);
    }
    s->nested = path.n < 2 || path.p[0] != '"' || i + 1 != path.n;
    s->name = name.failed ? NULL : sl_arena_strdup(a, s->nested ? path : sl_buf_view(&name));
    sl_buf_release(&name);
    return s->name ? SL_OK : sl_err_nomem(err);
}

static int take_stats(struct sl_arena *a, struct sl_parquet_file *f, struct map_cell columns, sl_err *err)
{
    struct sl_parquet_stats *stats = sl_arena_array(a, columns.n ? columns.n : 1, sizeof *stats);

    if (!stats)
        return sl_err_nomem(err);
    for (size_t i = 0; i < columns.n; i++) {
        struct map_cell one = map_cell(columns.values, columns.from + i);

        stats[i].null_count = -1;
        SL_TRY(take_name(a, &stats[i], vector_str(columns.keys, columns.from + i), err));
        for (size_t k = one.from; k < one.from + one.n; k++)
            if (!vector_null(one.values, k))
                SL_TRY(take_stat(a, &stats[i], vector_str(one.keys, k), vector_str(one.values, k), err));
    }
    f->stats = stats;
    f->nstats = columns.n;
    return SL_OK;
}

static int take_partition(struct write *w, struct sl_parquet_file *f, struct map_cell keys, sl_err *err)
{
    int64_t ordinal = -1;

    if (keys.n != 1 || !sl_parse_i64(vector_str(keys.values, keys.from), &ordinal) || ordinal < 0)
        return sl_err_set(err, SL_EBUG, "DuckDB does not tell the partition of %s", f->path);
    const sl_str *values = sl_partitions_values(w->partitions, (size_t)ordinal);
    sl_str *copy = sl_arena_array(&w->out->arena, w->spec->npartition, sizeof *copy);

    if (!values)
        return sl_err_set(err, SL_EBUG, "DuckDB tells a partition %lld of %s that there is not", (long long)ordinal, f->path);
    if (!copy)
        return sl_err_nomem(err);
    for (size_t i = 0; i < w->spec->npartition; i++) {
        copy[i] = values[i].p ? sl_arena_str(&w->out->arena, values[i]) : values[i];
        if (values[i].p && !copy[i].p)
            return sl_err_nomem(err);
    }
    f->partition = copy;
    return SL_OK;
}

enum { COL_PATH, COL_ROWS, COL_SIZE, COL_FOOTER, COL_STATS, COL_KEYS };

static int take_file(struct write *w, const struct sl_result *r, size_t row, struct sl_parquet_file *f, sl_err *err)
{
    f->path = sl_arena_strdup(&w->out->arena, sl_result_str(r, COL_PATH, row));
    if (!f->path)
        return sl_err_nomem(err);
    f->rows = (uint64_t)sl_result_i64(r, COL_ROWS, row);
    f->size = (uint64_t)sl_result_i64(r, COL_SIZE, row);
    w->out->rows += f->rows;
    SL_TRY(take_stats(&w->out->arena, f, map_cell(sl_result__vector(r, COL_STATS), row), err));
    return w->partitions ? take_partition(w, f, map_cell(sl_result__vector(r, COL_KEYS), row), err) : SL_OK;
}

static int take_files(struct write *w, struct sl_result *r, sl_err *err)
{
    int rc = SL_OK;
    SL_VEC(struct sl_parquet_file) files = {NULL, 0, 0};
    size_t rows;

    for (;;) {
        SL_GO(sl_result_next(r, &rows, err));
        if (rows == 0)
            break;
        for (size_t i = 0; i < rows; i++) {
            struct sl_parquet_file *f = sl_vec_push(&files);

            if (!f)
                SL_GOTO_NOMEM(err);
            SL_GO(take_file(w, r, i, f, err));
        }
    }
    w->out->v = sl_arena_array(&w->out->arena, files.n ? files.n : 1, sizeof *w->out->v);
    if (!w->out->v)
        SL_GOTO_NOMEM(err);
    if (files.n)
        memcpy(w->out->v, files.v, files.n * sizeof *files.v);
    w->out->n = files.n;
done:
    sl_free(files.v);
    return rc;
}

/* ---- removing ---- */

/* Names in folder DIR that start with PREFIX: unlink files, and go DEPTH folders deep. */
static void remove_names(const char *dir, const char *prefix, int depth)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d))) {
        char *path;

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || strncmp(entry->d_name, prefix, strlen(prefix)))
            continue;
        path = sl_asprintf("%s/%s", dir, entry->d_name);
        if (path && unlink(path) != 0 && (errno == EISDIR || errno == EPERM) && depth > 0) {
            remove_names(path, "", depth - 1);
            (void)rmdir(path);
        }
        sl_free(path);
    }
    closedir(d);
}

void sl_parquet_files_discard(const struct sl_parquet_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        (void)unlink(f->v[i].path);
    sl_parquet_files_sweep(f);
}

void sl_parquet_files_sweep(const struct sl_parquet_files *f)
{
    char path[8192];

    if (f->npartition == 0)
        return;
    for (size_t i = 0; i < f->n; i++) {
        const char *slash = strrchr(f->v[i].path, '/');

        snprintf(path, sizeof path, "%.*s", (int)(slash - f->v[i].path), f->v[i].path);
        (void)rmdir(path);
    }
    snprintf(path, sizeof path, "%s/%s" PARTS, f->dir, f->prefix);
    (void)rmdir(path);
}

void sl_parquet_files_release(struct sl_parquet_files *f)
{
    sl_arena_release(&f->arena);
    *f = (struct sl_parquet_files)SL_PARQUET_FILES_INIT;
}

/* ---- all together ---- */

static int copy(struct write *w, sl_str select, sl_err *err)
{
    int rc = SL_OK;
    struct sl_result *r = NULL;
    size_t shift = 0;

    SL_GO(make_sql(w, select, &shift, err));
    rc = sl_engine__query(w->conn, sl_buf_view(&w->sql), shift, &r, err);
    if (rc == SL_OK)
        rc = take_files(w, r, err);
done:
    sl_result_free(r); /* before the files go: it stops what still runs */
    return rc;
}

static int copy_shared(struct write *w, sl_str select, sl_err *err)
{
    struct sl_engine *e = sl_conn_engine(w->conn);
    int rc;

    pthread_rwlock_rdlock(&e->writes);
    rc = copy(w, select, err);
    pthread_rwlock_unlock(&e->writes);
    return rc;
}

/* Also when the process is being cancelled, so not by sl_conn_exec. */
static void restore_threads(const struct sl_engine *e)
{
    duckdb_connection c = NULL;
    char sql[100];

    if (duckdb_connect(e->db, &c) != DuckDBSuccess)
        return;
    snprintf(sql, sizeof sql, "SET threads = %u", e->threads);
    if (duckdb_query(c, sql, NULL) != DuckDBSuccess ||
        duckdb_query(c, "SET partitioned_write_flush_threshold = " SL_PARTITION_ROWS, NULL) != DuckDBSuccess)
        sl_log(SL_LOG_WARN, "engine", "DuckDB stays on one thread");
    duckdb_disconnect(&c);
}

/* With the whole memory for one thread, which hands each row on at once. Both settings are of the whole database. */
static int copy_alone(struct write *w, sl_str select, sl_err *err)
{
    struct sl_engine *e = sl_conn_engine(w->conn);
    int rc = SL_OK;

    pthread_rwlock_wrlock(&e->writes);
    SL_GO(sl_conn_exec(w->conn, SL_LIT("SET threads = 1; SET partitioned_write_flush_threshold = 1"), err));
    rc = copy(w, select, err);
done:
    restore_threads(e);
    pthread_rwlock_unlock(&e->writes);
    return rc;
}

/* One try. After a failure nothing is left in the folder and in w->out. */
static int try_write(struct write *w, sl_str select, bool alone, sl_err *err)
{
    int rc = SL_OK;
    const struct sl_parquet_spec *spec = w->spec;
    struct sl_parquet_files *out = w->out;

    out->npartition = spec->npartition;
    out->dir = sl_arena_strdup(&out->arena, spec->dir);
    out->prefix = sl_arena_strdup(&out->arena, spec->prefix);
    if (!out->dir || !out->prefix)
        SL_GOTO_NOMEM(err);
    if (mkdir(out->dir, 0777) != 0 && errno != EEXIST) {
        rc = sl_err_sys(err, errno, "make the folder \"%s\"", out->dir);
        goto done;
    }
    if (spec->npartition)
        SL_GO(sl_partitions_new(sl_conn_engine(w->conn), spec->npartition, &w->partitions, err));
    rc = alone ? copy_alone(w, select, err) : copy_shared(w, select, err);
done:
    if (rc && out->dir && out->prefix)
        remove_names(out->dir, out->prefix, 2);
    if (rc)
        sl_parquet_files_release(out);
    sl_partitions_free(w->partitions);
    w->partitions = NULL;
    sl_buf_release(&w->sql);
    return rc;
}

int sl_parquet_write(struct sl_conn *c, sl_str select_sql, const struct sl_parquet_spec *spec, struct sl_parquet_files *out,
                     sl_err *err)
{
    struct write w = {.conn = c, .spec = spec, .sql = SL_BUF_INIT, .out = out};
    int rc;

    *out = (struct sl_parquet_files)SL_PARQUET_FILES_INIT;
    SL_TRY(check_spec(spec, err));
    if (spec->npartition)
        SL_TRY(choose_ordinal(&w, select_sql, err));
    rc = try_write(&w, select_sql, spec->wide, err);
    if (rc == SL_ENOMEM && spec->repeatable && !spec->wide) {
        sl_log(SL_LOG_INFO, "engine", "out of memory with %u threads, trying with one", sl_engine_threads(sl_conn_engine(c)));
        rc = try_write(&w, select_sql, true, err);
    }
    return rc;
}
