#include "engine/engine.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_priv.h"

#define WANTED_VERSION "v1.5.6"
enum { WATCH_MS = 25 };

const char *sl_engine_version(void)
{
    return duckdb_library_version();
}

const char *sl_engine_version_wanted(void)
{
    return WANTED_VERSION;
}

/* ---- the watcher ---- */

/* One call into DuckDB may last as long as the query, so the thread in it cannot look at sl_cancelled(). */
static void *watch(void *user)
{
    struct sl_engine *e = user;

    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        if (e->running == 0) {
            pthread_cond_wait(&e->wake, &e->lock);
            continue;
        }
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&e->wake, &e->lock, &until);
        if (!sl_cancelled())
            continue;
        for (size_t i = 0; i < e->conns.n; i++)
            if (e->conns.v[i]->running)
                duckdb_interrupt(e->conns.v[i]->duck);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

void sl_engine__begin(struct sl_conn *c)
{
    struct sl_engine *e = c->engine;

    pthread_mutex_lock(&e->lock);
    if (!c->running && e->running++ == 0)
        pthread_cond_signal(&e->wake);
    c->running = true;
    pthread_mutex_unlock(&e->lock);
}

void sl_engine__end(struct sl_conn *c)
{
    pthread_mutex_lock(&c->engine->lock);
    if (c->running)
        c->engine->running--;
    c->running = false;
    pthread_mutex_unlock(&c->engine->lock);
}

/* ---- the registry ---- */

int sl_engine__register(struct sl_engine *e, enum sl_entry_kind kind, void *object, uint64_t *id, sl_err *err)
{
    pthread_mutex_lock(&e->lock);
    struct sl_registered *r = sl_vec_push(&e->registered);
    if (r)
        *r = (struct sl_registered){++e->next_id, kind, object};
    *id = e->next_id;
    pthread_mutex_unlock(&e->lock);
    return r ? SL_OK : sl_err_nomem(err);
}

void *sl_engine__unregister(struct sl_engine *e, uint64_t id)
{
    void *object = NULL;

    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->registered.n; i++) {
        if (e->registered.v[i].id != id)
            continue;
        object = e->registered.v[i].object;
        e->registered.v[i] = e->registered.v[--e->registered.n];
        break;
    }
    pthread_mutex_unlock(&e->lock);
    return object;
}

void *sl_engine__find(struct sl_engine *e, enum sl_entry_kind kind, uint64_t id)
{
    void *object = NULL;

    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->registered.n; i++)
        if (e->registered.v[i].id == id && e->registered.v[i].kind == kind)
            object = e->registered.v[i].object;
    pthread_mutex_unlock(&e->lock);
    return object;
}

/* ---- open and close ---- */

static int check_version(sl_err *err)
{
    const char *found = duckdb_library_version();

    if (!strcmp(found, WANTED_VERSION))
        return SL_OK;
    sl_err_set(err, SL_EUNSUPPORTED, "the DuckDB library is version %s, and Sluice works with %s only", found, WANTED_VERSION);
    sl_err_hint(err, "tools/get-deps fetches the right libduckdb.so");
    return SL_EUNSUPPORTED;
}

/* Resident memory overshoots DuckDB's own limit, the more the smaller it is, and the rest of the process needs some too. */
static uint64_t duckdb_share(uint64_t memory)
{
    const uint64_t mib = 1 << 20;
    uint64_t share = memory <= 256 * mib ? memory / 100 * 45 : memory / 100 * 62;

    return share < 64 * mib ? 64 * mib : share;
}

static int configure(const struct sl_engine *e, const struct sl_engine_opts *opts, duckdb_config config, sl_err *err)
{
    char threads[16], memory[32];
    const char *settings[][2] = {
        {"threads", threads},
        {"memory_limit", memory},
        {"temp_directory", opts->temp_dir ? opts->temp_dir : ""},
        {"autoload_known_extensions", "false"},
        {"autoinstall_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"enable_external_file_cache", "false"}, /* it serves stale bytes of files written again in place */
        {"preserve_insertion_order", "false"},   /* tables promise no order, and keeping it holds row groups in memory */
        {"errors_as_json", "true"},
        {"partitioned_write_flush_threshold", SL_PARTITION_ROWS},
        {"partitioned_write_max_open_files", "100000"}, /* else a file is closed and its partition gets another */
        {"allocator_flush_threshold", "32MiB"},  /* give big freed pieces back to the system */
        {"allocator_bulk_deallocation_flush_threshold", "64MiB"},
    };

    snprintf(threads, sizeof threads, "%u", e->threads);
    snprintf(memory, sizeof memory, "%lluB", (unsigned long long)duckdb_share(e->memory));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (duckdb_set_config(config, settings[i][0], settings[i][1]) != DuckDBSuccess)
            return sl_err_set(err, SL_EBUG, "DuckDB does not take the setting %s = '%s'", settings[i][0], settings[i][1]);
    return SL_OK;
}

static int open_database(struct sl_engine *e, const struct sl_engine_opts *opts, sl_err *err)
{
    int rc = SL_OK;
    duckdb_config config = NULL;
    char *message = NULL;
    duckdb_connection c = NULL;

    if (duckdb_create_config(&config) != DuckDBSuccess)
        SL_GOTO_NOMEM(err);
    SL_GO(configure(e, opts, config, err));
    if (duckdb_open_ext(NULL, &e->db, config, &message) != DuckDBSuccess) {
        rc = sl_engine__error(e, message, 0, err);
        sl_err_ctx(err, "open DuckDB");
        goto done;
    }
    if (duckdb_connect(e->db, &c) != DuckDBSuccess)
        SL_GOTO_NOMEM(err);
    if (duckdb_query(c, "SET GLOBAL TimeZone = 'UTC'", NULL) != DuckDBSuccess) {
        rc = sl_err_set(err, SL_EBUG, "DuckDB does not take the time zone UTC");
        goto done;
    }
    SL_GO(sl_engine__register_rows(e, c, err));
    SL_GO(sl_engine__register_functions(e, c, err));
done:
    if (c)
        duckdb_disconnect(&c);
    duckdb_free(message);
    duckdb_destroy_config(&config);
    return rc;
}

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_C(4) << 30;
}

/* A wide write that waits goes before new ones that could share. */
static void init_writes(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;

    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attr);
    pthread_rwlockattr_destroy(&attr);
}

int sl_engine_open(const struct sl_engine_opts *opts, struct sl_engine **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_engine *e = NULL;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    SL_TRY(check_version(err));
    e = sl_calloc(1, sizeof *e);
    if (!e)
        return sl_err_nomem(err);
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->extending, NULL);
    pthread_cond_init(&e->wake, NULL);
    init_writes(&e->writes);
    e->threads = opts->threads ? opts->threads : processors > 0 ? (uint32_t)processors : 1;
    e->memory = opts->memory_bytes ? opts->memory_bytes : machine_memory() / 10 * 8;
    SL_GO(open_database(e, opts, err));
    int os = pthread_create(&e->watcher, NULL, watch, e);
    if (os) {
        rc = sl_err_sys(err, os, "start a thread");
        goto done;
    }
    e->has_watcher = true;
    *out = e;
    e = NULL;
done:
    sl_engine_close(e);
    return rc;
}

void sl_engine_close(struct sl_engine *e)
{
    if (!e)
        return;
    if (e->has_watcher) {
        pthread_mutex_lock(&e->lock);
        e->stop = true;
        pthread_cond_signal(&e->wake);
        pthread_mutex_unlock(&e->lock);
        pthread_join(e->watcher, NULL);
    }
    if (e->db)
        duckdb_close(&e->db);
    sl_free(e->registered.v);
    sl_free(e->conns.v);
    pthread_rwlock_destroy(&e->writes);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->extending);
    pthread_mutex_destroy(&e->lock);
    sl_free(e);
}

int sl_engine_extend(struct sl_engine *e, int (*fn)(struct sl_engine *e, sl_err *err), sl_err *err)
{
    int rc;

    pthread_mutex_lock(&e->extending);
    rc = e->extended ? SL_OK : fn(e, err);
    e->extended = rc == SL_OK;
    pthread_mutex_unlock(&e->extending);
    return rc;
}

uint32_t sl_engine_threads(const struct sl_engine *e)
{
    return e->threads;
}

uint64_t sl_engine_memory(const struct sl_engine *e)
{
    return e->memory;
}

/* ---- connections ---- */

int sl_conn_open(struct sl_engine *e, struct sl_conn **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_conn *c = sl_calloc(1, sizeof *c);

    if (!c)
        return sl_err_nomem(err);
    c->engine = e;
    if (duckdb_connect(e->db, &c->duck) != DuckDBSuccess)
        SL_GOTO_NOMEM(err);
    pthread_mutex_lock(&e->lock);
    struct sl_conn **slot = sl_vec_push(&e->conns);
    if (slot)
        *slot = c;
    pthread_mutex_unlock(&e->lock);
    if (!slot)
        SL_GOTO_NOMEM(err);
    *out = c;
    c = NULL;
done:
    sl_conn_close(c);
    return rc;
}

void sl_conn_close(struct sl_conn *c)
{
    if (!c)
        return;
    sl_engine__end(c);
    pthread_mutex_lock(&c->engine->lock);
    for (size_t i = 0; i < c->engine->conns.n; i++) {
        if (c->engine->conns.v[i] == c) {
            c->engine->conns.v[i] = c->engine->conns.v[--c->engine->conns.n];
            break;
        }
    }
    pthread_mutex_unlock(&c->engine->lock);
    if (c->duck)
        duckdb_disconnect(&c->duck);
    sl_free(c);
}

struct sl_engine *sl_conn_engine(struct sl_conn *c)
{
    return c->engine;
}

void sl_conn_interrupt(struct sl_conn *c)
{
    duckdb_interrupt(c->duck);
}

double sl_conn_progress(struct sl_conn *c)
{
    return duckdb_query_progress(c->duck).percentage;
}

void sl_conn_on_progress(struct sl_conn *c, void (*fn)(void *user, double percent), void *user)
{
    /* Only the counting; a failure leaves the percentage unknown. */
    if (fn && duckdb_query(c->duck, "SET enable_progress_bar_print = false", NULL) == DuckDBSuccess)
        (void)duckdb_query(c->duck, "SET enable_progress_bar = true", NULL);
    c->on_progress = fn;
    c->progress_user = user;
}
