/* lock.c - the writer lock of a log table, and instants that only go forward. */
#include "table/log/lock.h"

#include <string.h>

#include "base/json.h"
#include "base/sys.h"

#define KERNEL_LOCK SL_LOG_SIDE_DIR "/lock"

enum { LOCK_BYTES_MAX = 1 << 16, PAUSE_MILLIS = 20 };

struct sl_log_lock {
    struct sl_log *t;         /* borrowed */
    struct sl_lock *kernel;   /* owned */
    char nonce[37];
    bool named;               /* `.hoodie/lock` is ours */
};

/* ---- what stands in `.hoodie/lock` ---- */

struct holder {
    bool ours;                /* made by Sluice */
    char host[256], nonce[37];
    int64_t pid;
};

static void put_holder(const struct sl_log_lock *l, struct sl_buf *out)
{
    struct sl_machine machine;

    sl_store_machine(&machine);
    sl_buf_addc(out, "{\"sluice\":1,\"host\":");
    sl_buf_json_string(out, sl_str_c(machine.host));
    sl_buf_printf(out, ",\"pid\":%lld,\"boot\":", (long long)machine.pid);
    sl_buf_json_string(out, sl_str_c(machine.boot));
    sl_buf_printf(out, ",\"nonce\":\"%s\",\"lockCreateTime\":%lld}\n", l->nonce, (long long)sl_now_millis());
}

static void copy_text(char *to, size_t size, sl_str from)
{
    snprintf(to, size, SL_STRF, SL_STRV(from));
}

/* Anything that is not ours is taken for a lock of another engine. */
static int read_holder(struct sl_log *t, struct holder *out, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    json_t *j = NULL;
    sl_str host = {"", 0}, nonce = {"", 0};
    int64_t version = 0;
    int rc;

    memset(out, 0, sizeof *out);
    SL_GO(sl_store_get(t->store, SL_LIT(SL_LOG_STOCK_LOCK), LOCK_BYTES_MAX, &bytes, err));
    if (sl_json_parse(sl_buf_view(&bytes), &j, NULL) != SL_OK || !json_is_object(j) ||
        sl_json_i64_req(j, "sluice", &version, NULL) != SL_OK || sl_json_str_req(j, "host", &host, NULL) != SL_OK ||
        sl_json_str_req(j, "nonce", &nonce, NULL) != SL_OK || sl_json_i64_req(j, "pid", &out->pid, NULL) != SL_OK)
        goto done;
    out->ours = true;
    copy_text(out->host, sizeof out->host, host);
    copy_text(out->nonce, sizeof out->nonce, nonce);
done:
    json_decref(j);
    sl_buf_release(&bytes);
    return rc;
}

static int busy(struct sl_log *t, sl_err *err)
{
    struct holder h;

    if (read_holder(t, &h, NULL) == SL_OK && h.ours)
        sl_err_set(err, SL_EBUSY, "the table %s is being written by process %lld on %s", t->label, (long long)h.pid, h.host);
    else
        sl_err_set(err, SL_EBUSY, "the table %s is being written by another process", t->label);
    sl_err_hint(err, "try again when it has ended; \"sluice rollback --force\" shuts out a process that hangs");
    sl_err_flag(err, SL_ERR_RETRY);
    return SL_EBUSY;
}

/* ---- taking ---- */

/* We hold the kernel's lock, so a lock file of a process of this machine is of one that is gone. Another machine may hold its own. */
static int steal(struct sl_log *t, bool force, bool *stolen, sl_err *err)
{
    struct sl_machine machine;
    struct holder h;
    int rc = read_holder(t, &h, err);

    *stolen = false;
    if (rc == SL_ENOTFOUND) {
        *stolen = true;
        return SL_OK;
    }
    SL_TRY(rc);
    sl_store_machine(&machine);
    if (!force && (!h.ours || strcmp(h.host, machine.host) != 0))
        return SL_OK;
    sl_log(SL_LOG_INFO, "log", "%s: taking over the lock of process %lld on %s", t->label, (long long)h.pid, h.ours ? h.host : "?");
    rc = sl_store_remove(t->store, SL_LIT(SL_LOG_STOCK_LOCK), err);
    *stolen = rc == SL_OK || rc == SL_ENOTFOUND;
    return *stolen ? SL_OK : rc;
}

static int take_name(struct sl_log_lock *l, int64_t end, bool force, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    bool stolen;
    int rc;

    put_holder(l, &bytes);
    SL_GO(sl_buf_ok(&bytes, err));
    for (;;) {
        rc = sl_store_put_new(l->t->store, SL_LIT(SL_LOG_STOCK_LOCK), sl_buf_view(&bytes), err);
        if (rc != SL_EEXISTS)
            break;
        SL_GO(steal(l->t, force, &stolen, err));
        if (stolen)
            continue;
        SL_GO(sl_cancel_check(err));
        if (sl_mono_nanos() >= end) {
            rc = busy(l->t, err);
            break;
        }
        sl_sleep_millis(PAUSE_MILLIS);
    }
    l->named = rc == SL_OK;
done:
    sl_buf_release(&bytes);
    return rc;
}

static int take_kernel(struct sl_log_lock *l, int64_t wait_ms, bool force, sl_err *err)
{
    int rc = sl_store_lock(l->t->store, SL_LIT(KERNEL_LOCK), wait_ms, &l->kernel, err);

    if (rc == SL_EBUSY && force) {
        /* Who holds the file that loses its name holds nothing: the others lock the new one. */
        rc = sl_store_remove(l->t->store, SL_LIT(KERNEL_LOCK), err);
        if (rc == SL_OK || rc == SL_ENOTFOUND)
            rc = sl_store_lock(l->t->store, SL_LIT(KERNEL_LOCK), 0, &l->kernel, err);
    }
    return rc == SL_EBUSY ? busy(l->t, err) : rc;
}

int sl_log_lock_take(struct sl_log *t, int64_t wait_ms, bool force, struct sl_log_lock **out, sl_err *err)
{
    const int64_t end = wait_ms < 0 ? INT64_MAX : sl_mono_nanos() + wait_ms * 1000000;
    struct sl_log_lock *l = sl_calloc(1, sizeof *l);
    int rc;

    *out = NULL;
    if (!l)
        return sl_err_nomem(err);
    l->t = t;
    sl_uuid(l->nonce);
    SL_GO(take_kernel(l, wait_ms, force, err));
    SL_GO(take_name(l, end, force, err));
    *out = l;
    l = NULL;
done:
    sl_log_lock_drop(l);
    return rc;
}

int sl_log_lock_check(struct sl_log_lock *l, sl_err *err)
{
    struct holder h;
    int rc = read_holder(l->t, &h, err);

    if (rc == SL_OK && strcmp(h.nonce, l->nonce) == 0)
        return SL_OK;
    if (rc != SL_OK && rc != SL_ENOTFOUND)
        return rc;
    return sl_err_set(err, SL_ECONFLICT, "the lock of the table %s was taken away by another process while this one did not run", l->t->label);
}

void sl_log_lock_drop(struct sl_log_lock *l)
{
    if (!l)
        return;
    if (l->named && sl_log_lock_check(l, NULL) == SL_OK && sl_store_remove(l->t->store, SL_LIT(SL_LOG_STOCK_LOCK), NULL) != SL_OK)
        sl_log(SL_LOG_WARN, "log", "%s: the file " SL_LOG_STOCK_LOCK " could not be removed", l->t->label);
    sl_store_unlock(l->kernel);
    sl_free(l);
}

/* ---- instants ---- */

int sl_log_next_instant(const struct sl_timeline *tl, int64_t *out, sl_err *err)
{
    static _Atomic int64_t given; /* by this process: what was rolled back meanwhile is not used again */
    int64_t now = sl_now_millis(), last = tl->newest > given ? tl->newest : given, millis;

    if (last && !sl_hudi_instant_millis(last, &millis))
        return sl_err_set(err, SL_ECORRUPT, "the table %s: %lld is no instant", tl->table->label, (long long)last);
    *out = sl_hudi_instant_of_millis(last && now <= millis ? millis + 1 : now);
    if (*out <= last) /* an instant of 14 digits counts as the end of its second */
        return sl_err_set(err, SL_EBUG, "the instant after %lld is %lld", (long long)last, (long long)*out);
    given = *out;
    return SL_OK;
}
