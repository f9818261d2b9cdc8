/*
 * verify.c - check a log table.
 *
 * What the newest slices need is checked as it is on disk; what commits say of files is compared where the files are still there. A file that a
 * commit names and that is gone is damage only if no clean, rollback or replace accounts for it.
 */
#include "table/log/verify.h"

#include <stdarg.h>
#include <string.h>

#include "base/sys.h"
#include "engine/parquet.h"
#include "table/log/blocks.h"
#include "table/log/plan.h"

struct verify {
    struct sl_log *t;
    struct sl_conn *conn;
    const struct sl_verify_options *options;
    struct sl_verify_report *report;
    struct sl_view *view;
    struct sl_map *files;       /* path -> struct sl_log_file, of all that were listed */
    struct sl_map *removed;     /* paths that cleans and rollbacks removed; base names too */
};

/* ---- findings ---- */

static int found(struct verify *v, enum sl_severity severity, const char *kind, const char *where, const char *named_by, const char *advice,
                 const char *fmt, ...) SL_PRINTF(7, 8);

static int found(struct verify *v, enum sl_severity severity, const char *kind, const char *where, const char *named_by, const char *advice,
                 const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (severity == SL_FINDING_DAMAGE)
        v->report->damage++;
    else
        v->report->harmless++;
    if (v->options->finding) {
        const struct sl_finding f = {severity, kind, where, named_by, text, advice, false};

        v->options->finding(v->options->common.user, &f);
    }
    return SL_OK;
}

/* Errors of the file, as opposed to errors that end the call. */
static bool is_finding(int rc)
{
    return rc == SL_ECORRUPT || rc == SL_ENOTFOUND || rc == SL_EUNSUPPORTED || rc == SL_EFAIL || rc == SL_EINPUT;
}

static void progress(const struct verify *v, const char *doing, uint64_t done, uint64_t total)
{
    if (v->options->common.progress)
        v->options->common.progress(v->options->common.user, doing, done, total);
}

static void instant_name(const struct sl_instant *i, char out[60])
{
    char digits[18];

    sl_hudi_instant_text(i->time, digits);
    snprintf(out, 60, "%s %s", sl_hudi_action_name(i->action), digits);
}

/* ---- what is there, and what was removed ---- */

static int put(struct sl_map *m, sl_str key, const void *value, sl_err *err)
{
    void **slot = sl_map_at(m, key);

    if (!slot)
        return sl_err_nomem(err);
    *slot = (void *)value;
    return SL_OK;
}

static int take_file(struct verify *v, const struct sl_log_file *f, sl_err *err)
{
    return f ? put(v->files, sl_str_c(f->path), f, err) : SL_OK;
}

static int take_files(struct verify *v, sl_err *err)
{
    for (size_t i = 0; i < v->view->ngroups; i++) {
        const struct sl_group *g = &v->view->groups[i];

        for (size_t k = 0; k < g->nslices; k++) {
            SL_TRY(take_file(v, g->slices[k].base, err));
            for (size_t n = 0; n < g->slices[k].nlogs; n++)
                SL_TRY(take_file(v, g->slices[k].logs[n], err));
        }
    }
    for (size_t i = 0; i < v->view->nstrays; i++)
        SL_TRY(take_file(v, v->view->strays[i].file, err));
    return SL_OK;
}

static sl_str last_part(sl_str path)
{
    size_t from = path.n;

    while (from > 0 && path.p[from - 1] != '/')
        from--;
    return sl_str_sub(path, from, path.n);
}

/* Paths of stock writers are absolute, or begin with a scheme; names of data files are unique. */
static int take_removed(struct verify *v, const sl_str *paths, size_t n, sl_err *err)
{
    for (size_t i = 0; i < n; i++)
        SL_TRY(put(v->removed, last_part(paths[i]), v, err));
    return SL_OK;
}

static int take_clean(struct verify *v, struct sl_arena *a, sl_str bytes, sl_err *err)
{
    struct sl_hudi_clean clean;

    SL_TRY(sl_hudi_clean_decode(a, bytes, &clean, err));
    for (size_t i = 0; i < clean.npartitions; i++)
        SL_TRY(take_removed(v, clean.partitions[i].deleted, clean.partitions[i].ndeleted, err));
    return SL_OK;
}

static int take_rollback(struct verify *v, struct sl_arena *a, sl_str bytes, sl_err *err)
{
    struct sl_hudi_rollback rollback;

    SL_TRY(sl_hudi_rollback_decode(a, bytes, &rollback, err));
    for (size_t i = 0; i < rollback.npartitions; i++)
        SL_TRY(take_removed(v, rollback.partitions[i].deleted, rollback.partitions[i].ndeleted, err));
    return SL_OK;
}

/* ---- instants ---- */

static int check_stat(struct verify *v, const struct sl_instant *i, const struct sl_hudi_stat *s, sl_err *err)
{
    const struct sl_log_file *f = s->path.n ? sl_map_get(v->files, s->path) : NULL;
    char name[60];

    (void)err;
    instant_name(i, name);
    if (!s->path.n)
        return SL_OK;
    if (!f) {
        if (sl_map_get(v->removed, last_part(s->path)))
            return SL_OK;
        return found(v, SL_FINDING_DAMAGE, "missing-file", s->path.p, name,
                     "restore the file from a backup; rows that only it held are lost", "the file is not there, and no clean or rollback removed it");
    }
    /* A log may have grown on storage that appends. */
    if (s->file_size > 0 && (f->version ? (int64_t)f->size < s->file_size : (int64_t)f->size != s->file_size))
        return found(v, SL_FINDING_DAMAGE, "wrong-size", s->path.p, name, "restore the file from a backup",
                     "the file has %llu bytes, the commit says %lld", (unsigned long long)f->size, (long long)s->file_size);
    return SL_OK;
}

static int bad_instant(struct verify *v, const struct sl_instant *i, int rc, const sl_err *why)
{
    char name[60];

    instant_name(i, name);
    if (!is_finding(rc))
        return rc;
    return found(v, SL_FINDING_DAMAGE, "damaged-instant", "", name, "restore the instant's file from a backup", "%s", why->text);
}

/* What a completed instant removed, or with WROTE wrote. */
static int read_instant(struct verify *v, const struct sl_instant *i, bool wrote, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_buf bytes = SL_BUF_INIT;
    struct sl_hudi_commit commit;
    sl_err why = SL_ERR_INIT;
    int rc = sl_instant_read(v->view->timeline, i, SL_HUDI_COMPLETED, &bytes, &why);

    if (rc == SL_OK && !wrote)
        rc = i->action == SL_HUDI_CLEAN ? take_clean(v, &a, sl_buf_view(&bytes), &why) : take_rollback(v, &a, sl_buf_view(&bytes), &why);
    else if (rc == SL_OK)
        rc = sl_hudi_commit_decode(&a, sl_buf_view(&bytes), &commit, &why);
    if (rc != SL_OK) {
        rc = bad_instant(v, i, rc, &why);
        if (rc != SL_OK && err)
            *err = why;
        goto done;
    }
    v->report->snapshots += wrote;
    for (size_t k = 0; wrote && k < commit.nstats; k++)
        SL_GO(check_stat(v, i, &commit.stats[k], err));
done:
    sl_buf_release(&bytes);
    sl_arena_release(&a);
    return rc;
}

static int check_timeline(struct verify *v, sl_err *err)
{
    const struct sl_timeline *tl = v->view->timeline;

    for (int wrote = 0; wrote < 2; wrote++)
        for (size_t i = 0; i < tl->n; i++) {
            const struct sl_instant *at = &tl->v[i];
            const bool removes = at->action == SL_HUDI_CLEAN || at->action == SL_HUDI_ROLLBACK;

            progress(v, "instants", i, tl->n);
            SL_TRY(sl_cancel_check(err));
            if (at->state == SL_HUDI_COMPLETED && (wrote ? sl_instant_writes(at) : removes))
                SL_TRY(read_instant(v, at, wrote == 1, err));
        }
    return SL_OK;
}

/* ---- slices ---- */

static int check_base(struct verify *v, const struct sl_slice *s, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    struct sl_buf path = SL_BUF_INIT;
    sl_err why = SL_ERR_INIT;
    int rc = SL_OK;

    if (!s->base)
        return SL_OK;
    sl_buf_printf(&path, "%s/%s", v->t->path, s->base->path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_parquet_columns(v->conn, sl_buf_view(&path), &info, &why);
    if (rc == SL_OK) {
        v->report->data_files++;
        v->report->rows += info.rows;
        v->report->bytes += s->base->size;
    } else if (rc == SL_EUNSUPPORTED) {
        rc = found(v, SL_FINDING_HARMLESS, "not-checked", s->base->path, "", "check it with the engine that wrote it", "%s", why.text);
    } else if (is_finding(rc)) {
        rc = found(v, SL_FINDING_DAMAGE, "damaged-file", s->base->path, "", "restore the file from a backup", "%s", why.text);
    } else if (err) {
        *err = why;
    }
    sl_parquet_info_release(&info);
    sl_buf_release(&path);
    return rc;
}

static int check_logs(struct verify *v, const struct sl_slice *s, sl_err *err)
{
    struct sl_blocks blocks = SL_BLOCKS_INIT;
    sl_err why = SL_ERR_INIT;
    int rc;

    if (!s->nlogs)
        return SL_OK;
    rc = sl_slice_blocks(v->view, s, true, &blocks, &why);
    if (rc != SL_OK && is_finding(rc))
        rc = found(v, rc == SL_EUNSUPPORTED ? SL_FINDING_HARMLESS : SL_FINDING_DAMAGE, rc == SL_EUNSUPPORTED ? "not-checked" : "damaged-log",
                   s->logs[0]->path, "", rc == SL_EUNSUPPORTED ? "check it with the engine that wrote it" : "restore the file from a backup", "%s",
                   why.text);
    else if (rc != SL_OK && err)
        *err = why;
    for (size_t i = 0; i < blocks.ndamage && rc == SL_OK; i++)
        rc = found(v, SL_FINDING_HARMLESS, "torn-write", blocks.damage[i].file->path, "",
                   "nothing, readers pass it over; the next compaction of the file group drops it",
                   "%lld bytes at offset %lld belong to a write that was cut off", (long long)blocks.damage[i].where.length,
                   (long long)blocks.damage[i].where.offset);
    for (size_t i = 0; i < s->nlogs && rc == SL_OK; i++) {
        v->report->data_files++;
        v->report->bytes += s->logs[i]->size;
    }
    sl_blocks_release(&blocks);
    return rc;
}

static int check_slices(struct verify *v, sl_err *err)
{
    for (size_t i = 0; i < v->view->nslices; i++) {
        progress(v, "file slices", i, v->view->nslices);
        SL_TRY(sl_cancel_check(err));
        SL_TRY(check_base(v, &v->view->slices[i], err));
        SL_TRY(check_logs(v, &v->view->slices[i], err));
    }
    return SL_OK;
}

static int check_strays(struct verify *v)
{
    for (size_t i = 0; i < v->view->nstrays; i++) {
        const struct sl_stray *s = &v->view->strays[i];

        if (s->why == SL_STRAY_PENDING)
            found(v, SL_FINDING_HARMLESS, "pending-file", s->file->path, "",
                  "nothing if its writer is at work; if it died, the next writer (or sluice rollback) removes it",
                  "the instant that writes it is not completed");
        else if (s->why == SL_STRAY_GONE)
            found(v, SL_FINDING_HARMLESS, "orphan-file", s->file->path, "", "nothing reads it here; sluice clean removes it",
                  "the instant that wrote it was rolled back");
    }
    for (size_t i = 0; i < v->view->npartitions; i++)
        if (!v->view->partitions[i].has_metadata)
            found(v, SL_FINDING_DAMAGE, "no-partition-metadata", v->view->partitions[i].path, "",
                  "make the file " SL_HUDI_PARTITION_FILE " in it: stock engines do not see the partition without",
                  "the partition has no " SL_HUDI_PARTITION_FILE);
    return SL_OK;
}

/* ---- rows ---- */

/* The slices with logs, and the base files of these alone. */
static int plan_both(struct verify *v, struct sl_log_plan **all, struct sl_log_plan **bases, sl_err *err)
{
    struct sl_slice *with = sl_calloc(v->view->nslices + 1, sizeof *with);
    size_t n = 0;
    int rc = SL_OK;

    if (!with)
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->view->nslices; i++)
        if (v->view->slices[i].nlogs)
            with[n++] = v->view->slices[i];
    SL_GO(sl_log_plan_slices(v->t, v->view, with, n, all, err));
    for (size_t i = 0; i < n; i++)
        with[i].nlogs = with[i].nbefore = 0;
    rc = sl_log_plan_slices(v->t, v->view, with, n, bases, err);
done:
    sl_free(with);
    return rc;
}

/* Keys that a stock index, which looks into base files alone, would not find. */
static int count_log_keys(struct verify *v, sl_err *err)
{
    struct sl_log_plan *all = NULL, *bases = NULL;
    struct sl_buf sql = SL_BUF_INIT;
    int64_t n = 0;
    int rc = SL_OK;

    if (v->t->config.type == SL_HUDI_COW || v->t->schema->columns.nfields == 0)
        return SL_OK;
    SL_GO(plan_both(v, &all, &bases, err));
    if (all->log_files == 0)
        goto done;
    sl_buf_addc(&sql, "SELECT count(*) FROM (SELECT _hoodie_partition_path AS p, _hoodie_record_key AS k FROM (");
    SL_GO(sl_log_plan_sql(all, v->conn, &sql, err));
    sl_buf_addc(&sql, ")) AS a ANTI JOIN (SELECT _hoodie_partition_path AS p, _hoodie_record_key AS k FROM (");
    SL_GO(sl_log_plan_sql(bases, v->conn, &sql, err));
    sl_buf_addc(&sql, ")) AS b ON a.p = b.p AND a.k = b.k");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query_i64(v->conn, sl_buf_view(&sql), &n, err));
    v->report->log_only_keys = (uint64_t)n;
done:
    sl_log_plan_free(all);
    sl_log_plan_free(bases);
    sl_buf_release(&sql);
    return rc;
}

/* Every row is read, and no key may stand in a partition twice. */
static int check_rows(struct verify *v, sl_err *err)
{
    struct sl_log_plan *p = NULL;
    struct sl_buf sql = SL_BUF_INIT;
    int64_t n = 0;
    int rc = SL_OK;

    if (v->t->schema->columns.nfields == 0)
        return SL_OK;
    SL_GO(sl_log_plan_columns(v->t, NULL, true, &p, err));
    SL_GO(sl_log_plan_files(p, NULL, err));
    /* Whole rows are hashed, so every column is decoded. */
    sl_buf_addc(&sql, "SELECT count(*) FILTER (n > 1) FROM (SELECT p, k, count(*) AS n, max(h) FROM (SELECT _hoodie_partition_path AS p, "
                      "_hoodie_record_key AS k, hash(r) AS h FROM (");
    SL_GO(sl_log_plan_sql(p, v->conn, &sql, err));
    sl_buf_addc(&sql, ") AS r) WHERE k IS NOT NULL GROUP BY p, k)");
    SL_GO(sl_buf_ok(&sql, err));
    SL_GO(sl_conn_query_i64(v->conn, sl_buf_view(&sql), &n, err));
    if (n > 0)
        found(v, SL_FINDING_DAMAGE, "doubled-keys", "", "", "find them by SELECT ... GROUP BY the key HAVING count(*) > 1, and DELETE the stale ones",
              "%lld keys stand in their partition more than once", (long long)n);
done:
    if (rc != SL_OK && is_finding(rc)) {
        found(v, SL_FINDING_DAMAGE, "unreadable-rows", "", "", "restore the files that the text names from a backup", "%s", err ? err->text : "");
        sl_err_clear(err);
        rc = SL_OK;
    }
    sl_log_plan_free(p);
    sl_buf_release(&sql);
    return rc;
}

/* ---- the whole ---- */

static int verify_all(struct verify *v, sl_err *err)
{
    sl_err why = SL_ERR_INIT;
    int rc;

    v->report->log_table = true;
    v->files = sl_map_new();
    v->removed = sl_map_new();
    if (!v->files || !v->removed)
        return sl_err_nomem(err);
    SL_TRY(sl_view_open(v->t, NULL, &v->view, err));
    SL_TRY(take_files(v, err));
    SL_TRY(check_timeline(v, err));
    SL_TRY(check_slices(v, err));
    SL_TRY(check_strays(v));
    rc = sl_log_check_read(v->t, &why);
    if (rc == SL_EUNSUPPORTED)
        return found(v, SL_FINDING_HARMLESS, "not-checked", "", "", "check its rows with the engine that wrote it", "%s", why.text);
    if (v->options->deep && v->report->damage == 0)
        SL_TRY(check_rows(v, err));
    return v->report->damage == 0 ? count_log_keys(v, err) : SL_OK;
}

int sl_log_verify(struct sl_log *t, struct sl_conn *conn, const struct sl_verify_options *options, struct sl_verify_report *report,
                  sl_err *err)
{
    struct verify v = {.t = t, .conn = conn, .options = options, .report = report};
    int rc = verify_all(&v, err);

    sl_map_free(v.files, NULL);
    sl_map_free(v.removed, NULL);
    sl_view_free(v.view);
    if (rc == SL_OK && report->damage > 0)
        rc = sl_err_set(err, SL_EUNSOUND, "the table %s is damaged in %llu places", t->label, (unsigned long long)report->damage);
    return rc;
}
