/*
 * read_table WAREHOUSE QUERY: run a query over the tables of a warehouse and print its rows, tab separated.
 *
 * cc read_table.c $(pkg-config --cflags --libs sluice) -o read_table
 */
#include <sluice/base.h>
#include <sluice/env.h>
#include <sluice/sql.h>

#include <stdio.h>
#include <string.h>

static int print_names(void *user, const struct sl_sql_column *columns, size_t n, sl_err *err)
{
    (void)user;
    (void)err;
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? "\t" : "", columns[i].name);
    putchar('\n');
    return SL_OK;
}

static int print_row(void *user, const sl_str *cells, size_t n, sl_err *err)
{
    unsigned long long *rows = user;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        if (i)
            putchar('\t');
        if (cells[i].p)
            fwrite(cells[i].p, 1, cells[i].n, stdout);
        else
            fputs("NULL", stdout);
    }
    putchar('\n');
    ++*rows;
    return SL_OK;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: read_table WAREHOUSE QUERY\n");
        return 2;
    }
    unsigned long long rows = 0;
    struct sl_env_opts opts = {.warehouse = argv[1]};
    struct sl_sql_sink sink = {.columns = print_names, .row = print_row, .user = &rows};
    struct sl_env *env = NULL;
    struct sl_session *session = NULL;
    sl_err err = SL_ERR_INIT;

    int rc = sl_env_open(&opts, &env, &err);
    if (rc == SL_OK)
        rc = sl_session_open(env, &session, &err);
    if (rc == SL_OK)
        rc = sl_session_run(session, (sl_str){argv[2], strlen(argv[2])}, &sink, &err);
    sl_session_close(session);
    sl_env_close(env);
    if (rc != SL_OK) {
        fprintf(stderr, "read_table: %s\n%s%s%s", err.text, err.hint[0] ? "  hint: " : "", err.hint, err.hint[0] ? "\n" : "");
        return sl_code_exit_status(rc);
    }
    fprintf(stderr, "%llu rows\n", rows);
    return 0;
}
