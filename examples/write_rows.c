/*
 * write_rows WAREHOUSE: make a table, write rows into it by SQL, and tell which snapshot holds them.
 *
 * cc write_rows.c $(pkg-config --cflags --libs sluice) -o write_rows
 */
#include <sluice/base.h>
#include <sluice/env.h>
#include <sluice/sql.h>

#include <stdio.h>
#include <string.h>

static int print_done(void *user, const struct sl_sql_done *done, sl_err *err)
{
    (void)user;
    (void)err;
    printf("%s", done->verb);
    if (done->counts_rows)
        printf(", %llu rows", (unsigned long long)done->rows);
    if (done->snapshot)
        printf(", snapshot %lld", (long long)done->snapshot);
    putchar('\n');
    return SL_OK;
}

int main(int argc, char **argv)
{
    static const char statements[] =
        "CREATE TABLE IF NOT EXISTS readings (sensor STRING NOT NULL, at TIMESTAMP, value DOUBLE) PARTITIONED BY (sensor);\n"
        "INSERT INTO readings VALUES ('a', TIMESTAMP '2024-01-02 03:04:05', 1.5), ('b', TIMESTAMP '2024-01-02 03:04:06', NULL);\n"
        "UPDATE readings SET value = 0 WHERE value IS NULL;\n";

    if (argc != 2) {
        fprintf(stderr, "usage: write_rows WAREHOUSE\n");
        return 2;
    }
    struct sl_env_opts opts = {.warehouse = argv[1]};
    struct sl_sql_sink sink = {.done = print_done};
    struct sl_env *env = NULL;
    struct sl_session *session = NULL;
    sl_err err = SL_ERR_INIT;

    int rc = sl_env_open(&opts, &env, &err);
    if (rc == SL_OK)
        rc = sl_session_open(env, &session, &err);
    if (rc == SL_OK)
        rc = sl_session_run(session, (sl_str){statements, sizeof statements - 1}, &sink, &err);
    sl_session_close(session);
    sl_env_close(env);
    if (rc != SL_OK)
        fprintf(stderr, "write_rows: %s\n", err.text);
    return sl_code_exit_status(rc);
}
