/* emit_file.c - log files on their way to disk: many at a time, synced in parallel, each with its name only when it is whole. */
#include <string.h>

#include "table/log/emit.h"

enum { WAITING_BYTES = 32 << 20, WAITING_FILES = 256, SYNC_THREADS = 8 };

static void join(struct sl_buf *out, sl_str dir, sl_str name)
{
    sl_buf_add(out, dir);
    sl_buf_addc(out, dir.n ? "/" : "");
    sl_buf_add(out, name);
}

static int write_one(void *user, size_t i, sl_err *err)
{
    struct sl_emit_files *f = user;
    struct sl_store *store = f->e->b->t->store;
    struct sl_buf temporary = SL_BUF_INIT, path = SL_BUF_INIT;
    char name[64], uuid[37];
    bool written = false;
    int rc;

    sl_uuid(uuid);
    snprintf(name, sizeof name, ".sluice-tmp-%s", uuid); /* like no data file's name */
    join(&temporary, f->v.v[i].dir, sl_str_c(name));
    join(&path, f->v.v[i].dir, f->v.v[i].name);
    SL_GO(sl_buf_ok(&temporary, err));
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_write_unique(store, sl_buf_view(&temporary), sl_buf_view(&f->v.v[i].bytes), err));
    written = true;
    SL_GO(sl_publish_alive(f->e->publish, err));
    SL_GO(sl_store_rename(store, sl_buf_view(&temporary), sl_buf_view(&path), err));
    written = false;
    rc = SL_FAILPOINT("emit.named", err);
done:
    if (written)
        (void)!sl_store_remove(store, sl_buf_view(&temporary), NULL);
    sl_buf_release(&temporary);
    sl_buf_release(&path);
    return rc;
}

static int flush(struct sl_emit_files *f, sl_err *err)
{
    int rc;

    SL_TRY(sl_publish_marked(f->e->publish, err));
    rc = sl_parallel(f->v.n > 2 ? SYNC_THREADS : 1, f->v.n, write_one, f, err);
    for (size_t i = 0; i < f->v.n; i++)
        sl_buf_release(&f->v.v[i].bytes);
    f->v.n = 0;
    f->bytes = 0;
    return rc;
}

static int note_dir(struct sl_emit_files *f, sl_str dir, sl_err *err)
{
    sl_str *to;

    if (f->dirs.n && sl_str_eq(f->dirs.v[f->dirs.n - 1], dir)) /* files come by partition */
        return SL_OK;
    to = sl_vec_push(&f->dirs);
    if (!to)
        return sl_err_nomem(err);
    *to = dir;
    return SL_OK;
}

int sl_emit_file_add(struct sl_emit_files *f, sl_str dir, sl_str name, struct sl_buf *bytes, sl_err *err)
{
    struct sl_emit_file *to;

    SL_TRY(sl_publish_mark(f->e->publish, dir, name, err));
    SL_TRY(note_dir(f, dir, err));
    to = sl_vec_push(&f->v);
    if (!to)
        return sl_err_nomem(err);
    *to = (struct sl_emit_file){dir, name, *bytes};
    *bytes = (struct sl_buf)SL_BUF_INIT;
    f->bytes += to->bytes.n;
    return f->bytes >= WAITING_BYTES || f->v.n >= WAITING_FILES ? flush(f, err) : SL_OK;
}

int sl_emit_files_end(struct sl_emit_files *f, sl_err *err)
{
    if (f->v.n)
        SL_TRY(flush(f, err));
    for (size_t i = 0; i < f->dirs.n; i++)
        SL_TRY(sl_store_sync_dir(f->e->b->t->store, f->dirs.v[i], err));
    return SL_OK;
}

void sl_emit_files_release(struct sl_emit_files *f)
{
    for (size_t i = 0; i < f->v.n; i++)
        sl_buf_release(&f->v.v[i].bytes);
    sl_free(f->v.v);
    sl_free(f->dirs.v);
}
