/* text.c - loads NDJSON and CSV: segments of the input through the engine into files, each one commit. */
#include "engine/rows.h"
#include "base/mem.h"
#include "ingest/run_priv.h"

struct writer {
    struct sl_run *run;
    uint64_t ticket; /* of the segment it works on */
    atomic_ullong rows; /* of it */
};

/* What was made of a segment, to be published. */
struct segment {
    struct sl_new_files files;    /* append tables */
    struct sl_run_batch log;      /* log tables */
};

/* ---- rows for the engine ---- */

static struct sl_worker_spec worker_spec(struct sl_run *r)
{
    return (struct sl_worker_spec){
        .format = r->format, .fields = r->fields, .nfields = r->nfields, .op_field = r->op_field,
        .null_text = r->o.null_text, .delimiter = r->o.delimiter, .strict_fields = r->o.strict_fields,
        .keyed = r->log != NULL, .max_row_bytes = r->o.max_row_bytes, .feed = r->feed, .bad = r->bad, .unknown_fields = &r->unknown_fields,
    };
}

static int open_local(void *self, void **local, sl_err *err)
{
    struct sl_worker_spec spec = worker_spec(((struct writer *)self)->run);

    return sl_worker_new(&spec, (struct sl_worker **)local, err);
}

static void close_local(void *self, void *local)
{
    (void)self;
    sl_worker_free(local);
}

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    struct writer *w = self;
    int rc = sl_worker_fill(local, w->ticket, out, err);

    if (rc == SL_OK) {
        atomic_fetch_add(&w->run->rows, out->rows);
        atomic_fetch_add(&w->rows, out->rows);
    }
    return rc;
}

/* ---- one segment ---- */

static int write_segment(struct writer *w, struct segment *s, sl_err *err)
{
    struct sl_run *r = w->run;
    struct sl_row_source rows = {.self = w, .fields = r->fields, .nfields = r->nfields + (r->log != NULL), .rows_hint = -1,
                                 .local_open = open_local, .local_close = close_local, .fill = fill};
    /* The parser has checked all that the table asks for, unless a query stands between. */
    struct sl_write_opts opts = {.trusted = r->o.query.n == 0};
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    struct sl_buf sql = SL_BUF_INIT, source = SL_BUF_INIT;
    uint64_t id = 0;
    bool registered = false;
    int rc = SL_OK;

    SL_GO(sl_env_engine(r->env, &engine, err));
    rows.max_threads = sl_engine_threads(engine);
    SL_GO(sl_conn_open(engine, &conn, err));
    SL_GO(sl_rows_register(engine, &rows, &id, err));
    registered = true;
    sl_buf_printf(&source, "sluice_rows(%llu)", (unsigned long long)id);
    SL_GO(sl_buf_ok(&source, err));
    if (r->log) {
        rc = sl_run_log_stage(r, sl_buf_view(&source), &s->log, err);
        goto done;
    }
    SL_GO(sl_run_query(r, sl_buf_view(&source), &sql, err));
    SL_GO(sl_append_write(r->table, conn, sl_buf_view(&sql), &opts, &s->files, err));
    /* Rows once taken are never given again: the position must not move past any that are not in the files. */
    if (r->o.query.n == 0 && s->files.rows != (int64_t)atomic_load(&w->rows))
        rc = sl_err_set(err, SL_EBUG, "%lld rows were read and %lld were written", (long long)atomic_load(&w->rows),
                        (long long)s->files.rows);
done:
    if (registered)
        sl_rows_unregister(engine, id);
    sl_conn_close(conn);
    sl_buf_release(&sql);
    sl_buf_release(&source);
    return rc;
}

/* Waits until the segments before TICKET are published. */
static int wait_turn(struct sl_run *r, uint64_t ticket, sl_err *err)
{
    while (r->next_ticket != ticket && r->rc == SL_OK)
        pthread_cond_wait(&r->published, &r->publish);
    if (r->rc != SL_OK && err)
        *err = r->err;
    return r->rc;
}

static int publish(struct writer *w, struct segment *s, sl_err *err)
{
    struct sl_run *r = w->run;
    struct sl_buf position = SL_BUF_INIT;
    int rc;

    SL_GO(sl_feed_position(r->feed, w->ticket, &position, err));
    pthread_mutex_lock(&r->publish);
    rc = wait_turn(r, w->ticket, err);
    if (rc == SL_OK && r->log)
        rc = sl_run_log_commit(r, &s->log, sl_buf_view(&position), err);
    else if (rc == SL_OK)
        rc = sl_run_commit(r, &s->files, sl_buf_view(&position), err);
    else if (!r->log)
        sl_new_files_discard(r->table, &s->files);
    r->next_ticket++;
    pthread_cond_broadcast(&r->published);
    pthread_mutex_unlock(&r->publish);
done:
    sl_buf_release(&position);
    return rc;
}

static void fail(struct sl_run *r, int rc, sl_err *err)
{
    pthread_mutex_lock(&r->publish);
    if (r->rc == SL_OK) {
        r->rc = rc;
        r->err = *err;
        r->err.code = rc;
    }
    pthread_cond_broadcast(&r->published);
    pthread_mutex_unlock(&r->publish);
    sl_feed_fail(r->feed, err);
}

static int run_writer(struct writer *w, sl_err *err)
{
    for (;;) {
        struct segment s = {.files = SL_NEW_FILES_INIT};
        bool ended = false;
        int rc = sl_feed_begin(w->run->feed, &w->ticket, &ended, err);

        if (rc != SL_OK || ended)
            return rc;
        atomic_store(&w->rows, 0);
        atomic_fetch_add(&w->run->at_work, 1);
        rc = write_segment(w, &s, err);
        if (rc == SL_OK)
            rc = publish(w, &s, err);
        sl_new_files_release(&s.files);
        sl_run_batch_release(&s.log);
        atomic_fetch_sub(&w->run->at_work, 1);
        if (rc != SL_OK)
            return rc;
    }
}

static int writer_main(void *user, size_t i, sl_err *err)
{
    struct writer w = {.run = user};
    int rc;

    (void)i;
    rc = run_writer(&w, err);
    if (rc != SL_OK)
        fail(user, rc, err);
    return rc;
}

int sl_run_text(struct sl_run *r, sl_err *err)
{
    int rc;

    r->next_ticket = 1;
    do
        rc = sl_parallel(r->o.writers, r->o.writers, writer_main, r, err);
    while (rc == SL_OK && r->rc == SL_OK && atomic_load(&r->renew) && (rc = sl_run_renew(r, err)) == SL_OK);
    /* The first failure is what happened; the others followed from it. */
    if (r->rc != SL_OK && err)
        *err = r->err;
    return r->rc != SL_OK ? r->rc : rc;
}

/* ---- checking without writing ---- */

static int check_rows(void *user, size_t i, sl_err *err)
{
    struct writer *w = user;
    struct sl_batch *batch = NULL;
    void *local = NULL;
    int rc;

    (void)i;
    SL_GO(sl_batch_new(w->run->fields, w->run->nfields, &batch, err));
    SL_GO(open_local(w, &local, err));
    do {
        sl_batch_reset(batch);
        SL_GO(fill(w, local, batch, err));
    } while (batch->rows);
done:
    if (rc != SL_OK && err) {
        err->code = rc;
        sl_feed_fail(w->run->feed, err);
    }
    if (local)
        close_local(w, local);
    sl_batch_free(batch);
    return rc;
}

int sl_run_text_dry(struct sl_run *r, sl_err *err)
{
    const size_t threads = sl_env_threads(r->env);

    for (;;) {
        struct writer w = {.run = r};
        bool ended;

        SL_TRY(sl_feed_begin(r->feed, &w.ticket, &ended, err));
        if (ended)
            return sl_bad_rows_flush(r->bad, err);
        SL_TRY(sl_parallel(threads, threads, check_rows, &w, err));
    }
}
