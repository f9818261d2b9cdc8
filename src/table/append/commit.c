/* commit.c - one snapshot, all or nothing. The order of durable steps is docs/design/commit.md. */
#include "table/append/commit.h"

#include <string.h>

#include "table/append/append_priv.h"
#include "table/append/commit_priv.h"
#include "table/append/position.h"

/* ---- what a try has written, to be used again or taken back ---- */

static void remove_meta_file(struct sl_append *t, sl_str name)
{
    struct sl_buf path = SL_BUF_INIT;

    sl_buf_printf(&path, "manifest/" SL_STRF, SL_STRV(name));
    if (!path.failed)
        (void)!sl_store_remove(t->store, sl_buf_view(&path), NULL);
    sl_buf_release(&path);
}

static void remove_names(struct sl_append *t, struct sl_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        remove_meta_file(t, sl_str_c(names->v[i]));
    sl_names_release(names);
}

static void attempt_release(struct attempt *a)
{
    sl_snapshot_release(&a->latest);
    sl_manifest_list_release(&a->base);
    sl_manifest_list_release(&a->delta);
    sl_live_release(&a->gone);
    sl_buf_release(&a->json);
    sl_arena_release(&a->arena);
    sl_names_release(&a->written);
    memset(a, 0, sizeof *a);
}

/* ---- the manifests that stay the same in every try ---- */

static int write_fixed(struct commit *c, sl_err *err)
{
    const struct sl_commit_request *req = c->req;
    size_t n = req->nadds + req->ndeletes;
    const struct sl_manifest_entry **v = NULL;
    struct sl_manifest_entry *gone = NULL;
    int rc = SL_OK;

    if (n == 0)
        return SL_OK;
    v = sl_calloc(n, sizeof *v);
    gone = sl_calloc(req->ndeletes + 1, sizeof *gone);
    if (!v || !gone)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < req->ndeletes; i++) {
        gone[i] = req->deletes[i];
        gone[i].kind = SL_FILE_DELETE;
        v[i] = &gone[i];
        c->rows_removed += gone[i].file.row_count;
    }
    for (size_t i = 0; i < req->nadds; i++) {
        if (req->adds[i].kind != SL_FILE_ADD) {
            rc = sl_err_set(err, SL_EBUG, "an entry to add is not an ADD entry");
            goto done;
        }
        v[req->ndeletes + i] = &req->adds[i];
        c->rows_added += req->adds[i].file.row_count;
    }
    SL_GO(sl_store_mkdirs(c->t->store, SL_LIT("manifest"), err));
    SL_GO(sl_manifests_write(c->t, v, n, &c->fixed, err));
    SL_GO(SL_FAILPOINT("commit.after_manifest", err));
done:
    sl_free(v);
    sl_free(gone);
    return rc;
}

/* ---- one try ---- */

static int read_latest(struct commit *c, struct attempt *a, sl_err *err)
{
    int rc = sl_snapshot_latest(c->t, &a->latest, err);

    a->has_latest = rc == SL_OK;
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
    }
    a->id = a->has_latest ? a->latest.id + 1 : 1;
    if (rc == SL_OK)
        rc = sl_append_newest_schema_id(c->t, &a->schema_id, err);
    return rc;
}

/* Was this very commit published by an earlier try whose answer was lost? */
static int look_back(struct commit *c, struct attempt *a, bool *found, sl_err *err)
{
    struct sl_snapshot s;

    *found = false;
    for (int64_t id = c->tries > 1 ? c->first_id : a->id; id < a->id && !*found; id++) {
        int rc = sl_snapshot_get(c->t, id, &s, err);

        if (rc == SL_ENOTFOUND)
            continue;
        SL_TRY(rc);
        if (strcmp(s.commit_user, c->user) == 0 && s.commit_identifier == c->identifier && strcmp(s.commit_kind, c->req->kind) == 0) {
            *found = true;
            c->result->snapshot_id = id;
        }
        sl_snapshot_release(&s);
    }
    c->first_id = a->id;
    return SL_OK;
}

static bool same_partition(const struct sl_append *t, sl_str a, sl_str b, struct sl_value *room)
{
    if (sl_str_eq(a, b))
        return true;
    /* Some writers leave out the space of null values, so the same values may have two byte forms. */
    if (sl_binrow_decode(a, t->partition_types, t->npartition, room, NULL) != SL_OK ||
        sl_binrow_decode(b, t->partition_types, t->npartition, room + t->npartition, NULL) != SL_OK)
        return false;
    for (size_t i = 0; i < t->npartition; i++)
        if (!sl_value_eq(&room[i], &room[t->npartition + i]))
            return false;
    return true;
}

static enum sl_file_fate fate_of(struct commit *c, const struct sl_manifest_entry *e)
{
    const struct sl_commit_request *req = c->req;

    if (req->overwrite == SL_OVERWRITE_TABLE)
        return SL_GOES;
    if (req->overwrite == SL_OVERWRITE_CHOSEN) {
        bool read = sl_binrow_decode(e->partition, c->t->partition_types, c->t->npartition, c->room, NULL) == SL_OK;

        return read ? req->fate(req->fate_user, c->room) : SL_UNDECIDED;
    }
    for (size_t i = 0; i < req->npartitions; i++)
        if (same_partition(c->t, req->partitions[i], e->partition, c->room))
            return SL_GOES;
    return SL_STAYS;
}

static bool may_go(void *user, const struct sl_manifest_entry *e)
{
    return fate_of(user, e) != SL_STAYS;
}

/* INSERT OVERWRITE and the like: everything that is live in the latest snapshot and matches goes. */
static int find_overwritten(struct commit *c, struct attempt *a, sl_err *err)
{
    struct sl_live_filter filter = {.keep_entry = may_go, .user = c};
    const struct sl_manifest_entry **v = NULL;
    struct sl_manifest_entry *gone = NULL;
    size_t before = a->delta.n;
    int rc = SL_OK;

    if (c->req->overwrite == SL_OVERWRITE_NONE || !a->has_latest)
        return SL_OK;
    SL_GO(sl_live_files(c->t, &a->latest, &filter, &a->gone, err));
    v = sl_calloc(a->gone.n + 1, sizeof *v);
    gone = sl_calloc(a->gone.n + 1, sizeof *gone);
    if (!v || !gone)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < a->gone.n; i++) {
        if (fate_of(c, a->gone.v[i]) != SL_GOES) {
            rc = sl_err_set(err, SL_ECONFLICT, "the table %s has a partition that was not there when the statement was planned", c->t->label);
            goto done;
        }
        gone[i] = *a->gone.v[i];
        gone[i].kind = SL_FILE_DELETE;
        v[i] = &gone[i];
        a->rows_removed += gone[i].file.row_count;
    }
    SL_GO(sl_manifests_write(c->t, v, a->gone.n, &a->delta, err));
    for (size_t i = before; i < a->delta.n; i++)
        SL_GO(sl_names_add(&a->written, a->delta.v[i].file_name, err));
done:
    sl_free(v);
    sl_free(gone);
    return rc;
}

/* P5: a cleaner, or a person, may have removed files since they were written. */
static int check_added_files(struct commit *c, sl_err *err)
{
    for (size_t i = 0; i < c->req->nadds; i++) {
        int rc = sl_append_file_check(c->t, &c->req->adds[i], err);

        if (rc != SL_OK) {
            sl_err_ctx(err, "cannot commit a file that was written");
            return rc;
        }
    }
    return SL_OK;
}

static int write_list(struct commit *c, struct attempt *a, const char *uuid, int n, const struct sl_manifest_list *list, const char **name,
                      int64_t *size, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    int rc;

    *name = sl_arena_printf(&a->arena, "manifest-list-%s-%d", uuid, n);
    if (!*name)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_manifest_list_encode(list->v, list->n, &bytes, err));
    sl_buf_printf(&path, "manifest/%s", *name);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_write_unique(c->t->store, sl_buf_view(&path), sl_buf_view(&bytes), err));
    *size = (int64_t)bytes.n;
    rc = sl_names_add(&a->written, sl_str_c(*name), err);
done:
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}

static int write_lists(struct commit *c, struct attempt *a, struct sl_snapshot *s, sl_err *err)
{
    char uuid[37];

    sl_uuid(uuid);
    SL_TRY(sl_store_mkdirs(c->t->store, SL_LIT("manifest"), err));
    if (a->has_latest) {
        SL_TRY(sl_snapshot_manifests(c->t, &a->latest, SL_LIST_BASE | SL_LIST_DELTA, &a->base, err));
        SL_TRY(sl_manifests_merge(c->t, &a->base, false, &a->written, err));
        SL_TRY(SL_FAILPOINT("commit.after_merge", err));
    }
    for (size_t i = 0; i < c->fixed.n; i++) {
        struct sl_manifest_meta *to = sl_vec_push(&a->delta);

        if (!to)
            return sl_err_nomem(err);
        *to = c->fixed.v[i];
    }
    SL_TRY(write_list(c, a, uuid, 0, &a->base, &s->base_manifest_list, &s->base_manifest_list_size, err));
    SL_TRY(SL_FAILPOINT("commit.after_base_list", err));
    SL_TRY(write_list(c, a, uuid, 1, &a->delta, &s->delta_manifest_list, &s->delta_manifest_list_size, err));
    SL_TRY(SL_FAILPOINT("commit.after_delta_list", err));
    return sl_store_sync_dir(c->t->store, SL_LIT("manifest"), err);
}

/* ---- the snapshot ---- */

static const struct sl_option *find_property(const struct sl_option *v, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].key, key) == 0)
            return &v[i];
    return NULL;
}

/* Ours are carried forward; those of other engines are not, as they do it. */
static int merge_properties(struct commit *c, struct attempt *a, struct sl_snapshot *s, sl_err *err)
{
    const struct sl_commit_request *req = c->req;
    size_t room = req->nproperties + (a->has_latest ? a->latest.nproperties : 0);
    struct sl_option *v = sl_arena_array(&a->arena, room + 1, sizeof *v);
    size_t n = 0;

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; a->has_latest && i < a->latest.nproperties; i++) {
        const struct sl_option *p = &a->latest.properties[i];

        if (sl_str_starts(sl_str_c(p->key), "sluice.") && !find_property(req->properties, req->nproperties, p->key))
            v[n++] = *p;
    }
    for (size_t i = 0; i < req->nproperties; i++)
        if (req->properties[i].value)
            v[n++] = req->properties[i];
    s->properties = v;
    s->nproperties = n;
    return SL_OK;
}

/* Statistics are carried while they are of the newest schema and their file is there. */
static const char *carried_statistics(struct commit *c, struct attempt *a)
{
    struct sl_buf path = SL_BUF_INIT, text = SL_BUF_INIT;
    json_t *json = NULL;
    int64_t schema_id = -1;

    if (!a->has_latest || !a->latest.statistics)
        return NULL;
    sl_buf_printf(&path, "statistics/%s", a->latest.statistics);
    if (sl_append_get(c->t, &path, SL_SCHEMA_BYTES_MAX, &text, NULL) != SL_OK || sl_json_parse(sl_buf_view(&text), &json, NULL) != SL_OK ||
        sl_json_i64_req(json, "schemaId", &schema_id, NULL) != SL_OK)
        schema_id = -1;
    json_decref(json);
    sl_buf_release(&path);
    sl_buf_release(&text);
    return schema_id == a->schema_id ? a->latest.statistics : NULL;
}

static int make_snapshot(struct commit *c, struct attempt *a, struct sl_snapshot *s, sl_err *err)
{
    const struct sl_snapshot *before = a->has_latest ? &a->latest : NULL;
    int64_t now = sl_now_millis();

    s->id = a->id;
    s->schema_id = a->schema_id;
    s->uuid = a->uuid;
    s->commit_user = c->user;
    s->commit_identifier = c->identifier;
    s->commit_kind = c->req->kind;
    s->operation = c->req->operation;
    s->time_millis = before && before->time_millis > now ? before->time_millis : now;
    s->delta_record_count = c->rows_added - c->rows_removed - a->rows_removed;
    s->total_record_count = (before ? before->total_record_count : 0) + s->delta_record_count;
    s->watermark = before ? before->watermark : INT64_MIN;
    s->next_row_id = before && before->next_row_id > 0 ? before->next_row_id : 0;
    s->statistics = carried_statistics(c, a);
    s->tag_create_millis = -1;
    s->tag_retained_seconds = -1;
    SL_TRY(merge_properties(c, a, s, err));
    sl_buf_reset(&a->json);
    return sl_snapshot_encode(s, &a->json, err);
}

/* Is what now stands under the name what we wrote? Other engines on the same disk may replace files that exist. */
static int compare_published(struct commit *c, struct sl_buf *path, const struct attempt *a, bool *ours, sl_err *err)
{
    struct sl_buf now = SL_BUF_INIT;
    int rc = sl_append_get(c->t, path, SL_SCHEMA_BYTES_MAX, &now, err);

    *ours = rc == SL_OK && now.n == a->json.n && memcmp(now.p, a->json.p, now.n) == 0;
    sl_buf_release(&now);
    return rc == SL_ENOTFOUND ? SL_OK : rc;
}

/* *WON tells whether snapshot-<id> is ours. An error with SL_ERR_UNKNOWN_OUTCOME: it may be. */
static int publish(struct commit *c, struct attempt *a, bool *won, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    bool ours = false;
    int rc;

    *won = false;
    sl_snapshot_file(c->t, a->id, &path);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(SL_FAILPOINT("commit.before_publish", err));
    rc = sl_store_put_new(c->t->store, sl_buf_view(&path), sl_buf_view(&a->json), err);
    if (rc == SL_EEXISTS) {
        rc = SL_OK;
        goto done;
    }
    if (rc != SL_OK && !(err->flags & SL_ERR_UNKNOWN_OUTCOME))
        goto done;
    sl_err looked = SL_ERR_INIT;
    int seen = compare_published(c, &path, a, &ours, &looked);
    if (rc != SL_OK && seen == SL_OK && !ours) { /* it is certain now: nothing of ours was published */
        err->flags &= ~(uint32_t)SL_ERR_UNKNOWN_OUTCOME;
        goto done;
    }
    if (seen != SL_OK && rc == SL_OK) {
        *err = looked;
        rc = seen;
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
    }
    if (rc != SL_OK && seen == SL_OK) /* the name is there; only its durability is not proven, so sync again */
        rc = sl_store_sync_dir(c->t->store, sl_str_sub(sl_buf_view(&path), 0, (size_t)(strrchr(path.p, '/') - path.p)), err);
    if (rc != SL_OK) {
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
        goto done;
    }
    *won = ours;
    if (*won && (rc = SL_FAILPOINT("commit.after_publish", err)) != SL_OK)
        sl_err_flag(err, SL_ERR_UNKNOWN_OUTCOME);
done:
    sl_buf_release(&path);
    return rc;
}

static void after_publish(struct commit *c, struct attempt *a, const struct sl_snapshot *s)
{
    sl_err err = SL_ERR_INIT;

    if (sl_snapshot_hint(c->t, "LATEST", a->id, &err) != SL_OK)
        sl_log(SL_LOG_WARN, "commit", "%s: %s", c->t->label, err.text);
    if (SL_FAILPOINT("commit.after_hint", &err) != SL_OK)
        return;
    for (size_t i = 0; i < c->req->nidentities; i++)
        sl_position_mark(c->t, sl_str_c(c->req->identities[i]), s);
}

static bool changes_nothing(const struct commit *c, const struct attempt *a)
{
    return c->req->nadds == 0 && c->req->ndeletes == 0 && a->gone.n == 0 && !c->req->allow_empty;
}

static void note_result(struct commit *c, const struct attempt *a)
{
    c->result->snapshot_id = a->id;
    c->result->rows_added = c->rows_added;
    c->result->rows_removed = c->rows_removed + a->rows_removed;
    c->result->files_added = c->req->nadds;
    c->result->files_removed = c->req->ndeletes + a->gone.n;
}

/* *DONE: published, found published, or nothing to do. Not done and no error: the race was lost. */
static int try_once(struct commit *c, struct attempt *a, bool *done, sl_err *err)
{
    struct sl_snapshot s;
    bool found, won;

    *done = false;
    memset(&s, 0, sizeof s);
    sl_uuid(a->uuid);
    SL_TRY(sl_append_same_table(c->t, err));
    SL_TRY(read_latest(c, a, err));
    SL_TRY(look_back(c, a, &found, err));
    if (found) {
        c->result->already = true;
        *done = true;
        return SL_OK;
    }
    SL_TRY(sl_commit_check_deletes(c, a, err));
    SL_TRY(find_overwritten(c, a, err));
    if (changes_nothing(c, a)) {
        *done = true;
        return SL_OK;
    }
    SL_TRY(sl_commit_index(c, a, &s.index_manifest, err));
    SL_TRY(write_lists(c, a, &s, err));
    SL_TRY(check_added_files(c, err));
    SL_TRY(make_snapshot(c, a, &s, err));
    SL_TRY(publish(c, a, &won, err));
    if (won) {
        note_result(c, a);
        after_publish(c, a, &s);
    }
    *done = won;
    return SL_OK;
}

/* ---- the whole ---- */

static int check_request(const struct sl_commit_request *req, sl_err *err)
{
    static const char *const kinds[] = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};
    bool known = false;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known = known || strcmp(req->kind, kinds[i]) == 0;
    if (!known)
        return sl_err_set(err, SL_EBUG, "unknown kind of commit \"%s\"", req->kind);
    if (strcmp(req->kind, "APPEND") == 0 && (req->ndeletes || req->overwrite))
        return sl_err_set(err, SL_EBUG, "a commit that removes files cannot be an APPEND");
    for (size_t i = 0; i < req->nproperties; i++)
        if (!sl_str_starts(sl_str_c(req->properties[i].key), "sluice."))
            return sl_err_set(err, SL_EBUG, "property \"%s\" does not start with \"sluice.\"", req->properties[i].key);
    return SL_OK;
}

int sl_commit_lock(struct sl_append *t, int64_t wait_ms, struct sl_lock **out, sl_err *err)
{
    int rc = sl_store_lock(t->store, SL_LIT(SL_SIDE_DIR "/commit.lock"), wait_ms, out, err);

    if (rc == SL_OK || rc == SL_EBUSY || rc == SL_ECANCELLED || rc == SL_ENOMEM)
        return rc;
    /* The lock only makes races rare; where it cannot be had, commits go on without. */
    sl_log(SL_LOG_DEBUG, "commit", "%s: no commit lock: %s", t->label, err ? err->text : "");
    sl_err_clear(err);
    *out = NULL;
    return SL_OK;
}

static void pause_after_loss(int tries)
{
    int64_t most = tries < 5 ? tries * 2 : 10;

    sl_sleep_millis(1 + (int64_t)(sl_random() % (uint64_t)most));
}

static int run(struct commit *c, sl_err *err)
{
    struct attempt a;
    bool done = false;
    int rc = SL_OK;

    memset(&a, 0, sizeof a);
    while (!done && rc == SL_OK) {
        struct sl_lock *lock = NULL;

        c->tries++;
        rc = sl_cancel_check(err);
        if (rc == SL_OK)
            rc = sl_commit_lock(c->t, -1, &lock, err);
        if (rc == SL_OK)
            rc = try_once(c, &a, &done, err);
        sl_store_unlock(lock);
        bool published = rc == SL_OK && done && !c->result->already && c->result->snapshot_id;
        c->unknown = rc != SL_OK && (err->flags & SL_ERR_UNKNOWN_OUTCOME);
        if (!published && !c->unknown)
            remove_names(c->t, &a.written);
        attempt_release(&a);
        if (rc == SL_OK && !done) {
            c->result->retries++;
            sl_metric_add(SL_M_COMMIT_RETRIES, 1);
            pause_after_loss(c->tries);
        }
    }
    return rc;
}

int sl_commit_publish(struct sl_append *t, const struct sl_commit_request *req, struct sl_commit_result *out, sl_err *err)
{
    struct commit c = {.t = t, .req = req, .result = out};
    sl_err own = SL_ERR_INIT;
    char fresh[37];
    int rc;

    memset(out, 0, sizeof *out);
    if (!err)
        err = &own; /* its flags are looked at */
    sl_err_clear(err);
    SL_TRY(check_request(req, err));
    SL_TRY(sl_append_check(t, SL_WRITE, err));
    sl_uuid(fresh);
    c.user = req->user ? req->user : fresh;
    c.identifier = req->identifier ? req->identifier : SL_BATCH_IDENTIFIER;
    if (req->look_first && req->user) {
        SL_TRY(sl_commit_find(t, c.user, c.identifier, req->kind, &out->snapshot_id, err));
        if (out->snapshot_id) {
            out->already = true;
            return sl_commit_same(&c, err);
        }
    }
    c.room = sl_calloc(2 * t->npartition + 1, sizeof *c.room);
    if (!c.room)
        return sl_err_nomem(err);
    SL_GO(write_fixed(&c, err));
    SL_GO(run(&c, err));
    if (out->already)
        SL_GO(sl_commit_same(&c, err));
    if (out->snapshot_id && !out->already)
        sl_metric_add(SL_M_COMMITS, 1);
done:
    if (!c.unknown && (rc != SL_OK || out->already || !out->snapshot_id))
        for (size_t i = 0; i < c.fixed.n; i++)
            remove_meta_file(t, c.fixed.v[i].file_name);
    sl_manifest_list_release(&c.fixed);
    sl_free(c.room);
    if (rc != SL_OK)
        sl_err_ctx(err, "commit to the table %s", t->label);
    return rc;
}
