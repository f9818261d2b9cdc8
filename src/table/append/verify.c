#include "table/append/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sys.h"
#include "table/append/clean.h"
#include "table/append/verify_priv.h"
#include "table/env.h"
#include "table/log/verify.h"

#define DAY_MILLIS 86400000

static const struct kind {
    const char *word;
    enum sl_severity severity;
    const char *advice;
} kinds[] = {
#define SL_KIND(id, word, severity, advice) {word, severity, advice},
#include "table/append/verify.def"
#undef SL_KIND
};

/* ---- findings ---- */

static void tell(struct sl_verify *v, enum sl_verify_kind kind, const char *where, const char *named_by, const char *text,
                 bool repaired)
{
    const struct sl_finding f = {kinds[kind].severity, kinds[kind].word, where, named_by, text, kinds[kind].advice, repaired};

    if (repaired)
        v->report->repaired++;
    else if (f.severity == SL_FINDING_DAMAGE)
        v->report->damage++;
    else
        v->report->harmless++;
    if (v->options->finding)
        v->options->finding(v->options->common.user, &f);
}

static void root_text(const struct sl_root *r, char *out, size_t n)
{
    const char *branch = r->branch[0] ? r->branch : "";

    if (r->is_tag)
        snprintf(out, n, "tag \"%s\" (snapshot %lld)%s%s", r->name, (long long)r->id, branch[0] ? " of branch " : "", branch);
    else
        snprintf(out, n, "snapshot %lld%s%s", (long long)r->id, branch[0] ? " of branch " : "", branch);
}

bool sl_verify__is_left_over(const struct sl_verify *v, const struct sl_root *r)
{
    return !r->is_tag && !r->branch[0] && r->id < v->earliest;
}

int sl_verify__found(struct sl_verify *v, enum sl_verify_kind kind, const char *where, const char *named_by, const char *fmt, ...)
{
    char text[1200], by[300] = "";
    bool named = true;
    va_list ap;

    /* An expiry that runs meanwhile takes files away, and with them what named them. What cannot be looked for still names. */
    if (v->root && sl_store_exists(v->t->store, sl_str_c(v->root->path), &named, NULL) == SL_OK && !named)
        return SL_OK;
    if (v->root && sl_verify__is_left_over(v, v->root)) {
        if (v->left_over != v->root)
            tell(v, SL_VERIFY_UNFINISHED, v->root->path, "", "an expiry that ended early left it behind, without some of its files", false);
        v->left_over = v->root;
        return SL_OK;
    }
    if (!named_by && v->root)
        root_text(v->root, by, sizeof by);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tell(v, kind, where, named_by ? named_by : by, text, false);
    return SL_OK;
}

int sl_verify__repairable(struct sl_verify *v, enum sl_verify_kind kind, const char *where, const char *text,
                          int (*repair)(struct sl_verify *v, void *user, sl_err *err), void *user)
{
    sl_err quiet = SL_ERR_INIT;
    bool repaired = v->options->repair && repair && repair(v, user, &quiet) == SL_OK;

    tell(v, kind, where, "", text, repaired);
    return SL_OK;
}

bool sl_verify__is_finding(int rc)
{
    return rc == SL_ECORRUPT || rc == SL_ENOTFOUND || rc == SL_EINPUT || rc == SL_ESQL ||
           rc == SL_EFAIL || rc == SL_EIO || rc == SL_EUNSUPPORTED;
}

int sl_verify__name(struct sl_verify *v, sl_str name, sl_err *err)
{
    void **slot = sl_map_at(v->named, name);

    if (!slot)
        return sl_err_nomem(err);
    *slot = v;
    return SL_OK;
}

void sl_verify__progress(struct sl_verify *v, const char *doing, uint64_t done, uint64_t total)
{
    if (v->options->common.progress)
        v->options->common.progress(v->options->common.user, doing, done, total);
}

/* ---- schemas ---- */

static int check_schema(struct sl_verify *v, const char *path, int64_t id, sl_err *err)
{
    struct sl_schema s = {0};
    sl_err why = SL_ERR_INIT;
    int rc = sl_store_get(v->t->store, sl_str_c(path), SL_SNAPSHOT_BYTES_MAX, &v->bytes, &why);

    if (rc == SL_OK)
        rc = sl_paimon_schema_decode(sl_buf_view(&v->bytes), &s, &why);
    if (rc == SL_OK && s.id != id)
        rc = sl_err_set(&why, SL_ECORRUPT, "the file says that it is schema %lld", (long long)s.id);
    sl_schema_release(&s);
    if (rc == SL_OK)
        return SL_OK;
    if (sl_verify__is_finding(rc))
        return sl_verify__found(v, SL_VERIFY_BAD_SCHEMA, path, "", "%s", why.text);
    if (err)
        *err = why;
    return rc;
}

static int check_schemas(struct sl_verify *v, const char *branch, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_entries found = {0};
    int rc;

    sl_branch_folder(&folder, branch, "schema");
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(v->t->store, sl_buf_view(&folder), false, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        int64_t id;

        if (!sl_numbered_name(found.v[i].name, "schema-", &id))
            continue;
        sl_buf_reset(&path);
        sl_buf_printf(&path, "%s/%s", folder.p, found.v[i].name);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(check_schema(v, path.p, id, err));
    }
done:
    sl_entries_release(&found);
    sl_buf_release(&folder);
    sl_buf_release(&path);
    return rc;
}

/* ---- hints ---- */

struct hint {
    struct sl_append *t;
    const char *name;
    int64_t right;
};

static int write_hint(struct sl_verify *v, void *user, sl_err *err)
{
    const struct hint *h = user;

    (void)v;
    return sl_snapshot_hint(h->t, h->name, h->right, err);
}

/* -1: there is none; -2: no number. */
static int read_hint(struct sl_verify *v, const char *path, int64_t *out, sl_err *err)
{
    sl_err why = SL_ERR_INIT;
    int rc = sl_store_get(v->t->store, sl_str_c(path), 4096, &v->bytes, &why);

    *out = -1;
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    if (rc == SL_OK && (!sl_parse_i64(sl_buf_view(&v->bytes), out) || *out < 0))
        rc = SL_ECORRUPT;
    if (rc == SL_ECORRUPT) {
        *out = -2;
        return SL_OK;
    }
    if (rc != SL_OK && err)
        *err = why;
    return rc;
}

/* A LATEST below the real one, or an EARLIEST that is not there, sends readers to the list of the folder. A LATEST above it is
 * believed by readers that only look whether the next one exists. */
static int check_hint(struct sl_verify *v, struct sl_append *t, const char *name, int64_t right, sl_err *err)
{
    struct hint h = {t, name, right};
    bool latest = strcmp(name, "LATEST") == 0;
    char path[400], text[200];
    int64_t says;

    snprintf(path, sizeof path, "%ssnapshot/%s", t->meta, name);
    SL_TRY(read_hint(v, path, &says, err));
    if (says == right || says == -1)
        return SL_OK;
    if (right == 0)
        return sl_verify__found(v, SL_VERIFY_NO_SNAPSHOT, path, "", "the hint names snapshot %lld, but there is no snapshot",
                                (long long)says);
    if (says == -2)
        snprintf(text, sizeof text, "it is no number; the right one is %lld", (long long)right);
    else
        snprintf(text, sizeof text, "it says %lld, the right one is %lld", (long long)says, (long long)right);
    bool misleads = says == -2 || (latest && says > right);
    return sl_verify__repairable(v, misleads ? SL_VERIFY_HINT_WRONG : SL_VERIFY_HINT_OLD, path, text, write_hint, &h);
}

/* Ids are without gaps from the earliest to the latest. */
static int check_ids(struct sl_verify *v, struct sl_append *t, sl_err *err)
{
    struct sl_ids ids = {0};
    char path[400];
    int rc;

    SL_GO(sl_snapshot_ids(t, &ids, err));
    for (size_t i = 1; i < ids.n; i++) {
        if (ids.v[i] == ids.v[i - 1] + 1)
            continue;
        snprintf(path, sizeof path, "%ssnapshot/snapshot-%lld", t->meta, (long long)ids.v[i - 1] + 1);
        SL_GO(sl_verify__found(v, SL_VERIFY_NO_SNAPSHOT, path, "", "missing between snapshots %lld and %lld",
                               (long long)ids.v[i - 1], (long long)ids.v[i]));
    }
    SL_GO(check_hint(v, t, "LATEST", ids.n ? ids.v[ids.n - 1] : 0, err));
    if (!v->left_over || t->branch) /* else the hint is right: what is before it has no files any more */
        SL_GO(check_hint(v, t, "EARLIEST", ids.n ? ids.v[0] : 0, err));
done:
    sl_ids_release(&ids);
    return rc;
}

/* ---- consumers ---- */

static int remove_file(struct sl_verify *v, void *user, sl_err *err)
{
    int rc = sl_store_remove(v->t->store, sl_str_c(user), err);

    return rc == SL_ENOTFOUND ? SL_OK : rc;
}

static int check_consumer(struct sl_verify *v, const char *path, const struct sl_entry *e, sl_err *err)
{
    int64_t next, age = v->now - e->mtime_millis;
    json_t *json = NULL;
    sl_err why = SL_ERR_INIT;
    char text[200];

    if (sl_str_starts(sl_str_c(e->name), SL_READER_PREFIX) && age > SL_READER_STALE_MILLIS) {
        snprintf(text, sizeof text, "its reader has given no sign of life for %lld s", (long long)(age / 1000));
        return sl_verify__repairable(v, SL_VERIFY_CONSUMER_DEAD, path, text, remove_file, (void *)path);
    }
    int rc = sl_store_get(v->t->store, sl_str_c(path), 1 << 20, &v->bytes, &why);
    if (rc == SL_OK)
        rc = sl_json_parse(sl_buf_view(&v->bytes), &json, &why);
    if (rc == SL_OK)
        rc = sl_json_i64_req(json, "nextSnapshot", &next, &why);
    json_decref(json);
    if (rc == SL_OK || rc == SL_ENOTFOUND)
        return SL_OK;
    if (sl_verify__is_finding(rc))
        return sl_verify__found(v, SL_VERIFY_CONSUMER_BAD, path, "", "%s", why.text);
    if (err)
        *err = why;
    return rc;
}

static int check_consumers(struct sl_verify *v, const char *branch, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT, path = SL_BUF_INIT;
    struct sl_entries found = {0};
    int rc;

    sl_branch_folder(&folder, branch, "consumer");
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(v->t->store, sl_buf_view(&folder), true, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        if (!sl_str_starts(sl_str_c(found.v[i].name), "consumer-"))
            continue;
        sl_buf_reset(&path);
        sl_buf_printf(&path, "%s/%s", folder.p, found.v[i].name);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(check_consumer(v, path.p, &found.v[i], err));
    }
done:
    sl_entries_release(&found);
    sl_buf_release(&folder);
    sl_buf_release(&path);
    return rc;
}

/* ---- files that nothing names ---- */

struct strays {
    struct sl_verify *v;
    uint64_t files, bytes;
    char example[300];
};

static int stray_file(void *user, const char *path, const char *name, enum sl_place place, const struct sl_entry *e, sl_err *err)
{
    struct strays *s = user;
    char text[100];

    (void)err;
    if (s->v->now - e->mtime_millis < DAY_MILLIS)
        return SL_OK;
    if (place == SL_PLACE_TEMPORARY) {
        snprintf(text, sizeof text, "left of a write that did not end, %llu bytes", (unsigned long long)e->size);
        return sl_verify__repairable(s->v, SL_VERIFY_TEMPORARY, path, text, remove_file, (void *)path);
    }
    if (sl_map_get(s->v->named, sl_str_c(name)))
        return SL_OK;
    if (s->files++ == 0)
        snprintf(s->example, sizeof s->example, "%s", path);
    s->bytes += e->size;
    return SL_OK;
}

static int check_strays(struct sl_verify *v, sl_err *err)
{
    struct strays s = {.v = v};

    sl_verify__progress(v, "looking for orphans", 0, 0);
    SL_TRY(sl_table_walk(v->t, stray_file, NULL, &s, err));
    if (s.files)
        return sl_verify__found(v, SL_VERIFY_ORPHANS, s.example, "", "%llu files with %llu bytes, older than a day, are named by nothing",
                                (unsigned long long)s.files, (unsigned long long)s.bytes);
    return SL_OK;
}

/* ---- the whole ---- */

static int bad_root(void *user, const char *path, const sl_err *why)
{
    struct sl_verify *v = user;
    bool tag = strstr(path, "tag/tag-") != NULL;

    return sl_verify__found(v, tag ? SL_VERIFY_BAD_TAG : SL_VERIFY_BAD_SNAPSHOT, path, "", "%s", why->text);
}

/* The branches have schemas and hints of their own. */
static int open_branches(struct sl_verify *v, sl_err *err)
{
    SL_TRY(sl_branch_names(v->t, &v->branches, err));
    for (size_t i = 0; i <= v->branches.n; i++) {
        struct sl_append **slot = sl_vec_push(&v->tables);
        char where[300];
        sl_err why = SL_ERR_INIT;

        if (!slot)
            return sl_err_nomem(err);
        int rc = sl_append_open_path(sl_str_c(v->t->path), i ? v->branches.v[i - 1] : NULL, slot, &why);
        if (rc == SL_OK)
            continue;
        *slot = NULL;
        if (!sl_verify__is_finding(rc)) {
            if (err)
                *err = why;
            return rc;
        }
        snprintf(where, sizeof where, "branch/branch-%s/schema", i ? v->branches.v[i - 1] : "");
        SL_TRY(sl_verify__found(v, SL_VERIFY_NO_SCHEMA, i ? where : "schema", "", "%s", why.text));
    }
    return SL_OK;
}

static int run(struct sl_verify *v, sl_err *err)
{
    SL_TRY(open_branches(v, err));
    v->report->branches = v->branches.n;
    for (size_t i = 0; i < v->tables.n; i++) {
        const char *branch = i ? v->branches.v[i - 1] : "";

        SL_TRY(check_schemas(v, branch, err));
        SL_TRY(check_consumers(v, branch, err));
    }
    if (sl_snapshot_earliest_id(v->t, &v->earliest, NULL) != SL_OK)
        v->earliest = 0;
    SL_TRY(sl_roots_read(v->t, bad_root, v, &v->roots, err));
    SL_TRY(sl_verify__roots(v, err));
    SL_TRY(sl_verify__data(v, err));
    for (size_t i = 0; i < v->tables.n; i++)
        if (v->tables.v[i])
            SL_TRY(check_ids(v, v->tables.v[i], err));
    return check_strays(v, err);
}

static void free_manifest(void *p)
{
    if (p)
        sl_free(((struct vmanifest *)p)->entries.v);
}

static void release(struct sl_verify *v)
{
    for (size_t i = 0; i < v->tables.n; i++)
        sl_append_close(v->tables.v[i]);
    sl_free(v->tables.v);
    sl_names_release(&v->branches);
    sl_map_free(v->manifests, free_manifest);
    sl_map_free(v->files, NULL);
    sl_map_free(v->named, NULL);
    sl_map_free(v->seen, NULL);
    sl_free(v->all.v);
    sl_roots_release(&v->roots);
    sl_buf_release(&v->bytes);
    sl_buf_release(&v->path);
    sl_buf_release(&v->identity);
    sl_arena_release(&v->arena);
}

int sl_append_verify(struct sl_append *t, struct sl_conn *conn, const struct sl_verify_options *options,
                     struct sl_verify_report *report, sl_err *err)
{
    struct sl_verify v = {.t = t, .conn = conn, .options = options, .report = report, .now = sl_now_millis(),
                          .manifests = sl_map_new(), .files = sl_map_new(), .named = sl_map_new(), .seen = sl_map_new()};
    int rc;

    if (!v.manifests || !v.files || !v.named || !v.seen)
        SL_GOTO_NOMEM(err);
    SL_GO(run(&v, err));
    if (report->damage) {
        rc = sl_err_set(err, SL_EUNSOUND, "%s is not sound: %llu findings of damage", t->label,
                        (unsigned long long)report->damage);
    }
done:
    release(&v);
    return rc;
}

/* A table that cannot even be opened is a finding too. */
static int cannot_open(const struct sl_verify_options *options, struct sl_verify_report *report, int rc, sl_str table, sl_err *err)
{
    char text[sizeof err->text];
    const struct kind *k = &kinds[SL_VERIFY_BAD_SCHEMA];
    const struct sl_finding f = {k->severity, k->word, "schema", "", text, k->advice, false};

    if (rc != SL_ECORRUPT)
        return rc;
    snprintf(text, sizeof text, "%s", err ? err->text : sl_code_text(rc));
    report->damage++;
    if (options->finding)
        options->finding(options->common.user, &f);
    return sl_err_set(err, SL_EUNSOUND, SL_STRF " is not sound: it cannot be opened", SL_STRV(table));
}

int sl_table_verify(struct sl_env *env, sl_str table, const struct sl_verify_options *options,
                    struct sl_verify_report *report, sl_err *err)
{
    static const struct sl_verify_options none = SL_VERIFY_INIT;
    struct sl_verify_report unwanted;
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    int rc;

    options = options ? options : &none;
    report = report ? report : &unwanted;
    *report = (struct sl_verify_report){0};
    rc = sl_env_log(env, table, &log, err);
    if (rc == SL_OK && !log)
        rc = sl_env_table(env, table, &t, err);
    if (rc != SL_OK)
        return cannot_open(options, report, rc, table, err);
    if (t)
        SL_GO(sl_append_check(t, SL_READ, err));
    SL_GO(sl_env_engine(env, &engine, err));
    SL_GO(sl_conn_open(engine, &conn, err));
    rc = log ? sl_log_verify(log, conn, options, report, err) : sl_append_verify(t, conn, options, report, err);
done:
    sl_conn_close(conn);
    sl_append_close(t);
    sl_log_close(log);
    return rc;
}
