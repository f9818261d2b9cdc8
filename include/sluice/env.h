/*
 * env.h - where a program works: one warehouse folder, and limits for memory and threads.
 *
 * Everything else of the public interface takes an sl_env. Opening one touches nothing; DuckDB is started by the first
 * call that needs it. Any thread may use an sl_env; close it when no call runs.
 */
#ifndef SLUICE_ENV_H
#define SLUICE_ENV_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_env;

struct sl_env_opts {
    const char *warehouse;   /* NULL: $SLUICE_WAREHOUSE, else "./warehouse"; need not exist */
    uint64_t memory_bytes;   /* 0: half of what the machine has */
    unsigned threads;        /* 0: as many as there are processors */
    const char *temp_dir;    /* for spilling; NULL: $TMPDIR or /tmp */
};

SL_API int sl_env_open(const struct sl_env_opts *opts, struct sl_env **out, sl_err *err) SL_WUR; /* OPTS may be NULL */
SL_API void sl_env_close(struct sl_env *env);                 /* NULL is fine */
SL_API const char *sl_env_warehouse(const struct sl_env *env); /* absolute; borrowed */
/* DuckDB keeps the memory it once took until it is closed: an idle follower gives it back so. No query may be running. */
SL_API void sl_env_trim(struct sl_env *env);

SL_API const char *sl_duckdb_version(void);        /* "v1.5.6": of the library that is loaded; static */
SL_API const char *sl_duckdb_version_wanted(void); /* the only one that works; static */

#ifdef __cplusplus
}
#endif
#endif
