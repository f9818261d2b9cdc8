/* beside.c - compaction beside a load. */
#include "ingest/beside.h"

#include "base/mem.h"
#include "sluice/compact.h"

enum { LOOK_MILLIS = 100, PASS_COMMITS = 10, PASS_MILLIS = 10000 };

struct sl_beside {
    struct sl_env *env;
    sl_str table;
    const atomic_uint_fast64_t *commits;
    uint64_t seen;         /* commits at the last pass */
    int64_t passed_nanos;  /* when that was */
    atomic_bool stop;
    pthread_t thread;
};

static void pass(struct sl_beside *b)
{
    struct sl_compact_options options = {0};
    struct sl_compact_report report = {0};
    sl_err err = SL_ERR_INIT;

    b->seen = atomic_load(b->commits);
    int rc = sl_compact_run(b->env, b->table, &options, &report, &err);
    if (rc != SL_OK && rc != SL_ECANCELLED)
        sl_log(SL_LOG_WARN, "ingest", "compaction beside the load: %s", err.text);
    b->passed_nanos = sl_mono_nanos();
}

static bool is_due(const struct sl_beside *b)
{
    uint64_t fresh = atomic_load(b->commits) - b->seen;

    return fresh >= PASS_COMMITS || (fresh && sl_mono_nanos() - b->passed_nanos >= PASS_MILLIS * INT64_C(1000000));
}

static void *beside_main(void *user)
{
    struct sl_beside *b = user;

    while (!atomic_load(&b->stop) && !sl_cancelled()) {
        if (is_due(b))
            pass(b);
        else
            sl_sleep_millis(LOOK_MILLIS);
    }
    return NULL;
}

int sl_beside_start(struct sl_env *env, sl_str table, const atomic_uint_fast64_t *commits, struct sl_beside **out, sl_err *err)
{
    struct sl_beside *b = sl_calloc(1, sizeof *b);

    *out = NULL;
    if (!b)
        return sl_err_nomem(err);
    b->env = env;
    b->table = table;
    b->commits = commits;
    b->passed_nanos = sl_mono_nanos();
    int os = pthread_create(&b->thread, NULL, beside_main, b);
    if (os != 0) {
        sl_free(b);
        return sl_err_sys(err, os, "cannot start a thread for compaction");
    }
    *out = b;
    return SL_OK;
}

void sl_beside_stop(struct sl_beside *b, bool last_pass)
{
    if (!b)
        return;
    atomic_store(&b->stop, true);
    pthread_join(b->thread, NULL);
    if (last_pass && atomic_load(b->commits) > b->seen)
        pass(b);
    sl_free(b);
}
