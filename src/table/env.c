/* env.c - one warehouse, and the engine once it is needed. */
#include "table/env.h"

#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "table/log/log.h"

struct sl_env {
    struct sl_catalog *catalog;  /* owned */
    struct sl_engine *engine;    /* owned; NULL until needed */
    pthread_mutex_t lock;        /* of engine */
    uint64_t memory;
    unsigned threads;
    char *temp_dir;
};

static uint64_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : (uint64_t)1 << 30;
}

static const char *choose_temp_dir(const struct sl_env_opts *opts)
{
    const char *dir = opts && opts->temp_dir ? opts->temp_dir : getenv("TMPDIR");

    return dir && *dir ? dir : "/tmp";
}

int sl_env_open(const struct sl_env_opts *opts, struct sl_env **out, sl_err *err)
{
    const char *warehouse = opts && opts->warehouse ? opts->warehouse : getenv("SLUICE_WAREHOUSE");
    struct sl_env *env = sl_calloc(1, sizeof *env);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int rc;

    *out = NULL;
    if (!env)
        return sl_err_nomem(err);
    pthread_mutex_init(&env->lock, NULL);
    env->memory = opts && opts->memory_bytes ? opts->memory_bytes : half_of_memory();
    env->threads = opts && opts->threads ? opts->threads : processors > 0 ? (unsigned)processors : 1;
    env->temp_dir = sl_strdup(choose_temp_dir(opts));
    if (!env->temp_dir)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_catalog_open(sl_str_c(warehouse && *warehouse ? warehouse : "./warehouse"), &env->catalog, err));
    *out = env;
    env = NULL;
done:
    sl_env_close(env);
    return rc;
}

void sl_env_close(struct sl_env *env)
{
    if (!env)
        return;
    sl_engine_close(env->engine);
    sl_catalog_close(env->catalog);
    pthread_mutex_destroy(&env->lock);
    sl_free(env->temp_dir);
    sl_free(env);
}

const char *sl_env_warehouse(const struct sl_env *env)
{
    return sl_catalog_warehouse(env->catalog);
}

struct sl_catalog *sl_env_catalog(struct sl_env *env)
{
    return env->catalog;
}

int sl_env_engine(struct sl_env *env, struct sl_engine **out, sl_err *err)
{
    struct sl_buf temp = SL_BUF_INIT;
    int rc = SL_OK;

    pthread_mutex_lock(&env->lock);
    if (!env->engine) {
        sl_buf_printf(&temp, "%s/sluice-%ld", env->temp_dir, (long)getpid());
        rc = sl_buf_ok(&temp, err);
        struct sl_engine_opts opts = {env->threads, env->memory, temp.p};
        if (rc == SL_OK)
            rc = sl_engine_open(&opts, &env->engine, err);
        sl_buf_release(&temp);
    }
    *out = env->engine;
    pthread_mutex_unlock(&env->lock);
    return rc;
}

void sl_env_trim(struct sl_env *env)
{
    pthread_mutex_lock(&env->lock);
    sl_engine_close(env->engine);
    env->engine = NULL;
    pthread_mutex_unlock(&env->lock);
}

unsigned sl_env_threads(const struct sl_env *env)
{
    return env->threads;
}

/* ---- names of tables ---- */

/* One part of a name from the front of *REST, quotes taken off; *REST is what follows it and its dot. */
static int name_part(sl_str *rest, struct sl_buf *out, bool *more, sl_err *err)
{
    char quote = rest->n && (rest->p[0] == '`' || rest->p[0] == '"') ? rest->p[0] : 0;
    size_t i = quote ? 1 : 0;

    for (; i < rest->n; i++) {
        if (quote && rest->p[i] == quote) {
            if (i + 1 < rest->n && rest->p[i + 1] == quote)
                i++;
            else
                break;
        } else if (!quote && rest->p[i] == '.') {
            break;
        }
        sl_buf_ch(out, rest->p[i]);
    }
    if (quote && i == rest->n)
        return sl_err_set(err, SL_EINPUT, "the table name " SL_STRF " has an opening quote only", SL_STRV(*rest));
    if (quote)
        i++;
    *more = i < rest->n;
    if (*more && rest->p[i] != '.')
        return sl_err_set(err, SL_EINPUT, "the table name is followed by \"" SL_STRF "\"", SL_STRV(sl_str_sub(*rest, i, rest->n)));
    *rest = sl_str_sub(*rest, i + (*more ? 1 : 0), rest->n);
    return sl_buf_ok(out, err);
}

/* "t$branch_b": cut the branch off; NULL if there is none. */
static char *cut_branch(struct sl_buf *table)
{
    ptrdiff_t at = sl_str_find(sl_buf_view(table), SL_LIT("$branch_"));

    if (at <= 0)
        return NULL;
    table->p[at] = '\0';
    table->n = (size_t)at;
    return table->p + at + strlen("$branch_");
}

/* "db.t": the parts; the branch stays in TABLE. */
static int split_name(sl_str name, struct sl_buf *db, struct sl_buf *table, sl_err *err)
{
    sl_str rest = name;
    bool more = false;

    if (name.n == 0)
        return sl_err_set(err, SL_EINPUT, "the name of the table is empty");
    SL_TRY(name_part(&rest, table, &more, err));
    if (more) {
        *db = *table;
        *table = (struct sl_buf)SL_BUF_INIT;
        SL_TRY(name_part(&rest, table, &more, err));
    }
    return more ? sl_err_set(err, SL_EINPUT, "the table name \"" SL_STRF "\" has more than two parts", SL_STRV(name)) : SL_OK;
}

int sl_env_table(struct sl_env *env, sl_str name, struct sl_append **out, sl_err *err)
{
    struct sl_buf db = SL_BUF_INIT, table = SL_BUF_INIT;
    int rc;

    *out = NULL;
    if (name.n && memchr(name.p, '/', name.n))
        return sl_append_open_path(name, NULL, out, err);
    SL_GO(split_name(name, &db, &table, err));
    const char *branch = cut_branch(&table);
    rc = sl_append_open(env->catalog, db.n ? sl_buf_view(&db) : SL_LIT(SL_DEFAULT_DATABASE), sl_buf_view(&table), branch, out, err);
done:
    sl_buf_release(&db);
    sl_buf_release(&table);
    return rc;
}

int sl_env_log(struct sl_env *env, sl_str name, struct sl_log **out, sl_err *err)
{
    struct sl_buf db = SL_BUF_INIT, table = SL_BUF_INIT;
    enum sl_table_kind kind;
    int rc;

    *out = NULL;
    if (name.n && memchr(name.p, '/', name.n)) {
        SL_TRY(sl_table_kind_of_path(name, &kind, err));
        return kind == SL_TABLE_LOG ? sl_log_open_path(name, out, err) : SL_OK;
    }
    SL_GO(split_name(name, &db, &table, err));
    const sl_str d = db.n ? sl_buf_view(&db) : SL_LIT(SL_DEFAULT_DATABASE), t = sl_buf_view(&table);
    SL_GO(sl_catalog_table_kind(env->catalog, d, t, &kind, err));
    if (kind == SL_TABLE_LOG)
        rc = sl_log_open(env->catalog, d, t, out, err);
done:
    sl_buf_release(&db);
    sl_buf_release(&table);
    return rc;
}

const char *sl_duckdb_version(void)
{
    return sl_engine_version();
}

const char *sl_duckdb_version_wanted(void)
{
    return sl_engine_version_wanted();
}
