/*
 * upkeep WAREHOUSE TABLE: what a nightly job does: expire old snapshots, remove orphans, verify.
 *
 * cc upkeep.c $(pkg-config --cflags --libs sluice) -o upkeep
 */
#include <sluice/base.h>
#include <sluice/env.h>
#include <sluice/table.h>

#include <stdio.h>
#include <string.h>

static void print_finding(void *user, const struct sl_finding *f)
{
    (void)user;
    printf("%s: %s: %s\n", f->severity == SL_FINDING_DAMAGE ? "damage" : "harmless", f->where, f->text);
}

static int run(struct sl_env *env, sl_str table, sl_err *err)
{
    struct sl_expire_options expire = SL_EXPIRE_INIT;
    struct sl_expire_report expired;
    struct sl_clean_options clean = SL_CLEAN_INIT;
    struct sl_clean_report cleaned;
    struct sl_verify_options verify = SL_VERIFY_INIT;
    struct sl_verify_report verified;

    expire.limit = -1;
    int rc = sl_table_expire(env, table, &expire, &expired, err);
    if (rc != SL_OK)
        return rc;
    printf("%lld snapshots expired, %lld to %lld are left\n", (long long)expired.snapshots, (long long)expired.earliest_now,
           (long long)expired.latest);
    rc = sl_table_clean(env, table, &clean, &cleaned, err);
    if (rc != SL_OK)
        return rc;
    printf("%llu orphans removed\n", (unsigned long long)cleaned.files);
    verify.finding = print_finding;
    rc = sl_table_verify(env, table, &verify, &verified, err);
    if (rc == SL_OK)
        printf("sound: %llu files with %llu rows\n", (unsigned long long)verified.data_files, (unsigned long long)verified.rows);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: upkeep WAREHOUSE TABLE\n");
        return 2;
    }
    struct sl_env_opts opts = {.warehouse = argv[1]};
    struct sl_env *env = NULL;
    sl_err err = SL_ERR_INIT;

    int rc = sl_env_open(&opts, &env, &err);
    if (rc == SL_OK)
        rc = run(env, (sl_str){argv[2], strlen(argv[2])}, &err);
    sl_env_close(env);
    if (rc != SL_OK)
        fprintf(stderr, "upkeep: %s\n", err.text);
    return sl_code_exit_status(rc);
}
