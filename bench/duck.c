/*
 * duck.c - DuckDB alone, for the benchmark's other side: runs statements as a program on its library would.
 *
 *   duck [-t THREADS] [-m MEMORY] [-s FILE-OR-FOLDER]... STATEMENT...
 *
 * Prints rows as tab-separated text. A statement "@name" is read from the file NAME. "-s" syncs what the statements have written, at the
 * end, as a commit would have to.
 */
#include <duckdb.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "duck: %s: %s\n", what, why ? why : "failed");
    return 1;
}

static void print_rows(duckdb_result *result)
{
    duckdb_data_chunk chunk;
    idx_t columns = duckdb_column_count(result);

    /* The queries cast what they print to VARCHAR, so there is only one kind of value here. */
    while ((chunk = duckdb_fetch_chunk(*result))) {
        for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
            for (idx_t c = 0; c < columns; c++) {
                duckdb_vector v = duckdb_data_chunk_get_vector(chunk, c);
                uint64_t *valid = duckdb_vector_get_validity(v);

                if (duckdb_column_type(result, c) != DUCKDB_TYPE_VARCHAR || (valid && !duckdb_validity_row_is_valid(valid, row))) {
                    printf("-");
                } else {
                    duckdb_string_t *s = (duckdb_string_t *)duckdb_vector_get_data(v) + row;

                    fwrite(duckdb_string_t_data(s), 1, duckdb_string_t_length(*s), stdout);
                }
                putchar(c + 1 < columns ? '\t' : '\n');
            }
        duckdb_destroy_data_chunk(&chunk);
    }
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, cap = 1 << 16, got;
    char *text = malloc(cap + 1);

    while (f && text && (got = fread(text + n, 1, cap - n, f)) > 0) {
        n += got;
        if (n == cap)
            text = realloc(text, (cap *= 2) + 1);
    }
    if (!f || !text) {
        free(text);
        text = NULL;
    } else {
        text[n] = 0;
    }
    if (f)
        fclose(f);
    return text;
}

static int run(duckdb_connection conn, const char *arg)
{
    char *text = arg[0] == '@' ? read_text(arg + 1) : NULL;
    duckdb_result result;
    int status = 0;

    if (arg[0] == '@' && !text)
        return fail(arg, "cannot be read");
    if (duckdb_query(conn, text ? text : arg, &result) == DuckDBError)
        status = fail("query", duckdb_result_error(&result));
    else if (duckdb_result_return_type(result) == DUCKDB_RESULT_TYPE_QUERY_RESULT)
        print_rows(&result);
    duckdb_destroy_result(&result);
    free(text);
    return status;
}

static int sync_path(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    char child[4096];
    int status = 0, fd;

    while (dir && (e = readdir(dir)) && status == 0) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(child, sizeof child, "%s/%s", path, e->d_name);
        status = sync_path(child);
    }
    if (dir)
        closedir(dir);
    fd = open(path, O_RDONLY);
    if (fd < 0 || fsync(fd) != 0)
        status = fail(path, "cannot be synced");
    if (fd >= 0)
        close(fd);
    return status;
}

int main(int argc, char **argv)
{
    const char *threads = "2", *memory = NULL, *syncs[64];
    size_t nsyncs = 0;
    duckdb_config config;
    duckdb_database db;
    duckdb_connection conn;
    char *why = NULL;
    int option, status = 0;

    while ((option = getopt(argc, argv, "t:m:s:")) != -1) {
        if (option == 't')
            threads = optarg;
        else if (option == 'm')
            memory = optarg;
        else if (option == 's' && nsyncs < sizeof syncs / sizeof *syncs)
            syncs[nsyncs++] = optarg;
        else
            return fail("usage", "duck [-t THREADS] [-m MEMORY] [-s PATH]... STATEMENT...");
    }
    if (duckdb_create_config(&config) == DuckDBError)
        return fail("config", NULL);
    duckdb_set_config(config, "threads", threads);
    if (memory)
        duckdb_set_config(config, "memory_limit", memory);
    if (duckdb_open_ext(NULL, &db, config, &why) == DuckDBError)
        return fail("open", why);
    if (duckdb_connect(db, &conn) == DuckDBError)
        return fail("connect", NULL);
    for (int i = optind; i < argc && status == 0; i++)
        status = run(conn, argv[i]);
    for (size_t i = 0; i < nsyncs && status == 0; i++)
        status = sync_path(syncs[i]);
    duckdb_disconnect(&conn);
    duckdb_close(&db);
    duckdb_destroy_config(&config);
    return status;
}
