/* bad_rows.c - what happens to rows that cannot be taken. */
#include "ingest/bad_rows.h"


#include "base/json.h"
#include "base/mem.h"

enum { BUFFER_MAX = 1 << 20 };

struct sl_bad_rows {
    enum sl_ingest_on_error mode;
    atomic_uint_fast64_t count;
    pthread_mutex_t lock;     /* all below */
    struct sl_store *store;   /* of the quarantine's folder */
    char *name;               /* of the file in it */
    uint64_t written;         /* its length */
    struct sl_buf pending;
};

static int open_quarantine(struct sl_bad_rows *b, sl_str file, sl_err *err)
{
    struct sl_stat st;
    size_t slash = file.n;
    int rc;

    while (slash && file.p[slash - 1] != '/')
        slash--;
    sl_str folder = slash ? sl_str_sub(file, 0, slash) : SL_LIT(".");
    b->name = sl_str_dup(sl_str_sub(file, slash, file.n));
    if (!b->name)
        return sl_err_nomem(err);
    if (!b->name[0])
        return sl_err_set(err, SL_EUSAGE, "the quarantine \"" SL_STRF "\" is no file name", SL_STRV(file));
    SL_TRY(sl_store_open_local(folder, &b->store, err));
    rc = sl_store_stat(b->store, sl_str_c(b->name), &st, err);
    if (rc == SL_OK && st.is_dir)
        return sl_err_set(err, SL_EUSAGE, "the quarantine \"" SL_STRF "\" is a folder", SL_STRV(file));
    if (rc == SL_OK)
        b->written = st.size;
    else if (rc == SL_ENOTFOUND)
        sl_err_clear(err);
    else
        return rc;
    return SL_OK;
}

int sl_bad_rows_new(enum sl_ingest_on_error mode, sl_str file, struct sl_bad_rows **out, sl_err *err)
{
    struct sl_bad_rows *b = sl_calloc(1, sizeof *b);
    int rc;

    *out = NULL;
    if (!b)
        return sl_err_nomem(err);
    b->mode = mode;
    pthread_mutex_init(&b->lock, NULL);
    rc = mode == SL_INGEST_QUARANTINE ? open_quarantine(b, file, err) : SL_OK;
    if (rc != SL_OK) {
        sl_bad_rows_free(b);
        return rc;
    }
    *out = b;
    return SL_OK;
}

void sl_bad_rows_free(struct sl_bad_rows *b)
{
    if (!b)
        return;
    sl_store_close(b->store);
    sl_free(b->name);
    sl_buf_release(&b->pending);
    pthread_mutex_destroy(&b->lock);
    sl_free(b);
}

static int flush(struct sl_bad_rows *b, sl_err *err)
{
    if (b->pending.n == 0)
        return SL_OK;
    SL_TRY(sl_store_append(b->store, sl_str_c(b->name), b->written, sl_buf_view(&b->pending), err));
    b->written += b->pending.n;
    sl_buf_reset(&b->pending);
    return SL_OK;
}

static int set_aside(struct sl_bad_rows *b, const char *label, uint64_t line, uint64_t offset, sl_str text, const char *what,
                     sl_err *err)
{
    int rc;

    pthread_mutex_lock(&b->lock);
    sl_buf_addc(&b->pending, "{\"input\":");
    sl_buf_json_string(&b->pending, sl_str_c(label));
    sl_buf_printf(&b->pending, ",\"line\":%llu,\"offset\":%llu,\"error\":", (unsigned long long)line, (unsigned long long)offset);
    sl_buf_json_string(&b->pending, sl_str_c(what));
    sl_buf_addc(&b->pending, ",\"text\":");
    if (text.p)
        sl_buf_json_string(&b->pending, text);
    else
        sl_buf_addc(&b->pending, "null");
    sl_buf_addc(&b->pending, "}\n");
    rc = sl_buf_ok(&b->pending, err);
    if (rc == SL_OK && b->pending.n >= BUFFER_MAX)
        rc = flush(b, err);
    pthread_mutex_unlock(&b->lock);
    return rc;
}

int sl_bad_row(struct sl_bad_rows *b, const char *label, uint64_t line, uint64_t offset, uint64_t at, sl_str text, const char *what,
               sl_err *err)
{
    if (b->mode == SL_INGEST_STOP) {
        sl_err_set(err, SL_EINPUT, "%s, line %llu, byte %llu: %s", label, (unsigned long long)line, (unsigned long long)at, what);
        sl_err_hint(err, "--on-error skip leaves such rows out, --on-error quarantine=FILE keeps them in a file");
        return SL_EINPUT;
    }
    atomic_fetch_add(&b->count, 1);
    sl_metric_add(SL_M_INGEST_BAD_ROWS, 1);
    return b->mode == SL_INGEST_SKIP ? SL_OK : set_aside(b, label, line, offset, text, what, err);
}

int sl_bad_rows_flush(struct sl_bad_rows *b, sl_err *err)
{
    int rc;

    pthread_mutex_lock(&b->lock);
    rc = flush(b, err);
    pthread_mutex_unlock(&b->lock);
    return rc;
}

uint64_t sl_bad_rows_count(const struct sl_bad_rows *b)
{
    return atomic_load(&b->count);
}
