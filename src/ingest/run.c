/* run.c - one load from its options to its report: opening, going on where it was, committing. */
#include <string.h>

#include "base/mem.h"
#include "compact/compactor.h"
#include "ingest/run_priv.h"

#define DEFAULT_OP_FIELD "_row_kind"
enum { SNAPSHOTS_MAX = 1000, SHOW_MILLIS = 100, WRITERS_MAX = 32 };

/* ---- options ---- */

static enum sl_ingest_format guess_format(const struct sl_ingest_options *o)
{
    sl_str name = o->ninputs ? o->inputs[0] : SL_LIT("-");

    if (sl_str_ends(name, ".csv") || sl_str_ends(name, ".tsv"))
        return SL_INGEST_CSV;
    return sl_str_ends(name, ".parquet") ? SL_INGEST_PARQUET : SL_INGEST_NDJSON;
}

static int fill_defaults(struct sl_run *r, const struct sl_ingest_options *given, sl_err *err)
{
    struct sl_ingest_options *o = &r->o;

    *o = *given;
    r->format = o->format == SL_INGEST_AUTO ? guess_format(o) : o->format;
    if (o->commit_rows == 0)
        o->commit_rows = 1000000;
    if (o->commit_bytes == 0)
        o->commit_bytes = (uint64_t)256 << 20;
    if (o->commit_millis == 0)
        o->commit_millis = o->follow ? 10000 : 60000;
    if (o->max_row_bytes == 0)
        o->max_row_bytes = (uint64_t)512 << 20;
    if (o->writers == 0)
        o->writers = 1;
    if (o->writers > WRITERS_MAX)
        return sl_err_set(err, SL_EUSAGE, "at most %d writers are possible, not %u", WRITERS_MAX, (unsigned)o->writers);
    if (o->delimiter == 0)
        o->delimiter = o->ninputs && sl_str_ends(o->inputs[0], ".tsv") ? '\t' : ',';
    if (strchr("\"\r\n", o->delimiter))
        return sl_err_set(err, SL_EUSAGE, "the delimiter cannot be a quote or a line end");
    if (!o->null_text.p)
        o->null_text = SL_LIT("");
    if (o->dry_run) {
        o->commit_rows = o->commit_bytes = UINT64_MAX;
        o->commit_millis = INT64_MAX / 2000000;
    }
    return SL_OK;
}

bool sl_run_stopping(const struct sl_run *r)
{
    return r->o.stop && r->o.stop(r->o.user);
}

static bool stop_feed(void *user)
{
    return sl_run_stopping(user);
}

/* The engine keeps the memory of the last load until it is closed. */
static void give_back_memory(void *user)
{
    struct sl_run *r = user;

    if (atomic_load(&r->at_work) == 0 && !r->compactor)
        sl_env_trim(r->env);
}

/* ---- progress ---- */

void sl_run_tick(void *user, bool waiting)
{
    struct sl_run *r = user;
    int64_t now = sl_mono_nanos(), last = atomic_load(&r->shown_nanos);

    if (!r->o.progress || now - last < SHOW_MILLIS * INT64_C(1000000) ||
        !atomic_compare_exchange_strong(&r->shown_nanos, &last, now))
        return;
    struct sl_ingest_progress p = {
        .rows = atomic_load(&r->rows), .bad_rows = sl_bad_rows_count(r->bad), .bytes = r->feed ? sl_feed_bytes(r->feed) : 0,
        .total_bytes = r->o.follow ? 0 : r->source->total_bytes, .lag_bytes = r->feed && r->o.follow ? sl_feed_lag(r->feed) : 0,
        .files = atomic_load(&r->files), .commits = atomic_load(&r->commits), .snapshot = atomic_load(&r->snapshot),
        .seconds = (double)(now - r->start_nanos) / 1e9, .waiting = waiting,
    };
    r->o.progress(r->o.user, &p);
}

/* ---- committing ---- */

int sl_run_query(const struct sl_run *r, sl_str source, struct sl_buf *out, sl_err *err)
{
    const sl_str query = r->o.query.n ? r->o.query : SL_LIT("SELECT * FROM $source");
    const ptrdiff_t at = sl_str_find(query, SL_LIT("$source"));

    if (at < 0)
        return sl_err_set(err, SL_EUSAGE, "the query does not read $source");
    sl_buf_add(out, sl_str_sub(query, 0, (size_t)at));
    sl_buf_add(out, source);
    sl_buf_add(out, sl_str_sub(query, (size_t)at + strlen("$source"), query.n));
    return sl_buf_ok(out, err);
}

static int note_commit(struct sl_run *r, const struct sl_new_files *files, const struct sl_commit_result *done, sl_err *err)
{
    struct sl_ingest_report *report = r->report;

    if (done->snapshot_id == 0)
        return SL_OK;
    atomic_fetch_add(&r->commits, 1);
    atomic_fetch_add(&r->files, files->n);
    atomic_store(&r->snapshot, done->snapshot_id);
    sl_metric_add(SL_M_INGEST_ROWS, files->rows);
    report->rows += (uint64_t)files->rows;
    report->file_bytes += (uint64_t)files->bytes;
    if (!report->snapshots && !(report->snapshots = sl_calloc(SNAPSHOTS_MAX, sizeof *report->snapshots)))
        return sl_err_nomem(err);
    if (report->nsnapshots == SNAPSHOTS_MAX)
        memmove(report->snapshots, report->snapshots + 1, --report->nsnapshots * sizeof *report->snapshots);
    report->snapshots[report->nsnapshots++] = done->snapshot_id;
    return SL_OK;
}

/* An answer that was lost is looked up before anything is done again. What is found there then is this very commit: the same identifier
 * with other data is an error of sl_commit_publish. */
static int publish_surely(struct sl_run *r, struct sl_commit_request *request, struct sl_commit_result *done, sl_err *err)
{
    int rc = sl_commit_publish(r->table, request, done, err);

    for (int tries = 0; rc != SL_OK && err && (err->flags & SL_ERR_UNKNOWN_OUTCOME) && tries < 3; tries++) {
        sl_log(SL_LOG_WARN, "ingest", "%s; looking whether the commit arrived", err->text);
        request->look_first = true;
        rc = sl_commit_publish(r->table, request, done, err);
    }
    return rc;
}

int sl_run_commit(struct sl_run *r, struct sl_new_files *files, sl_str members, sl_err *err)
{
    struct sl_buf key = SL_BUF_INIT, position = SL_BUF_INIT;
    struct sl_commit_result done = {0};
    const uint64_t bad = sl_bad_rows_count(r->bad);
    const char *identity = r->identity;
    struct sl_option property;
    int rc = SL_OK;

    SL_GO(sl_bad_rows_flush(r->bad, err));
    SL_GO(SL_FAILPOINT("ingest-commit", err));
    /* Bad rows alone move the position too, or they would be reported again. */
    if (files->rows == 0 && (!identity || bad == r->bad_rows_committed))
        goto done;
    sl_buf_printf(&key, SL_POSITION_PREFIX "%s", identity ? identity : "");
    sl_buf_printf(&position, "{\"version\":1,\"identifier\":%lld," SL_STRF "}", (long long)r->identifier, SL_STRV(members));
    SL_GO(sl_buf_ok(&key, err));
    SL_GO(sl_buf_ok(&position, err));
    property = (struct sl_option){key.p, position.p};
    struct sl_commit_request request = {
        .user = r->user, .identifier = r->identifier, .kind = "APPEND", .operation = "WRITE", .adds = files->v, .nadds = files->n,
        .properties = &property, .nproperties = identity != NULL, .identities = &identity, .nidentities = identity != NULL,
        .look_first = r->look_first, .allow_empty = files->rows == 0,
    };
    SL_GO(publish_surely(r, &request, &done, err));
    r->look_first = false;
    r->identifier++;
    r->bad_rows_committed = bad;
    if (r->compactor && done.snapshot_id) /* a commit found there may have been made of other files */
        sl_compactor_feed(r->compactor, r->user, request.identifier, done.snapshot_id, done.already ? NULL : files->v, files->n);
    SL_GO(note_commit(r, files, &done, err));
    if (identity) {
        sl_free(r->report->position);
        r->report->position = sl_buf_take(&position);
    }
    SL_GO(SL_FAILPOINT("ingest-committed", err));
done:
    if (rc != SL_OK && !(err && (err->flags & SL_ERR_UNKNOWN_OUTCOME)) && done.snapshot_id == 0)
        sl_new_files_discard(r->table, files);
    sl_buf_release(&key);
    sl_buf_release(&position);
    return rc;
}

/* ---- identity and position ---- */

/* A follower is always one that goes on where it was: its name comes from what it follows. */
static int name_identity(struct sl_run *r, sl_err *err)
{
    char uuid[37];

    if (r->o.identity.p) {
        SL_TRY(sl_identity_check(r->o.identity, err));
        r->identity = sl_str_dup(r->o.identity);
    } else if (r->o.follow) {
        r->identity = sl_asprintf("follow-%016llx", (unsigned long long)sl_hash64(sl_str_c(r->source->inputs.v[0])));
    } else {
        sl_uuid(uuid);
        r->user = sl_asprintf("sluice-%s", uuid);
        return r->user ? SL_OK : sl_err_nomem(err);
    }
    r->user = r->identity ? sl_asprintf("sluice-%s", r->identity) : NULL;
    if (!r->user)
        return sl_err_nomem(err);
    r->report->identity = sl_strdup(r->identity);
    return r->report->identity ? SL_OK : sl_err_nomem(err);
}

static int resume_at(struct sl_run *r, sl_str text, sl_err *err)
{
    json_t *j = NULL;
    int64_t version = 0, identifier = 0;
    int rc;

    SL_GO(sl_json_parse(text, &j, err));
    SL_GO(sl_json_i64_req(j, "version", &version, err));
    if (version != 1) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "a position of version %lld is not supported", (long long)version);
        goto done;
    }
    SL_GO(sl_json_i64_opt(j, "identifier", &identifier, err));
    if (identifier >= r->identifier)
        r->identifier = identifier + 1;
    SL_GO(sl_source_resume(r->source, j, err));
    r->report->resumed = true;
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "going on where the load left off");
    json_decref(j);
    return rc;
}

/* Where --from says; and behind all identifiers used so far. */
static int begin_from(struct sl_run *r, sl_err *err)
{
    uint64_t offset;
    int64_t last;
    bool found;

    if (r->identity && !r->log) {
        SL_TRY(sl_commit_last_identifier(r->table, r->user, &found, &last, err));
        if (found)
            r->identifier = last + 1;
    }
    if (sl_str_eqc(r->o.from, "start"))
        return SL_OK;
    if (sl_str_eqc(r->o.from, "end"))
        return sl_source_seek(r->source, UINT64_MAX, err);
    if (sl_parse_u64(r->o.from, &offset))
        return sl_source_seek(r->source, offset, err);
    if (sl_str_starts(r->o.from, "{"))
        return resume_at(r, r->o.from, err);
    sl_err_set(err, SL_EUSAGE, "\"" SL_STRF "\" is no position to begin from", SL_STRV(r->o.from));
    sl_err_hint(err, "say start, end, a byte offset, or a position as a load reports it");
    return SL_EUSAGE;
}

static int find_start(struct sl_run *r, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    bool found = false;
    int rc = SL_OK;

    r->identifier = 1;
    if (r->o.from.p)
        return begin_from(r, err);
    if (!r->identity)
        return SL_OK;
    if (r->log)
        SL_GO(sl_run_log_position(r, &text, &found, err));
    else
        SL_GO(sl_position_find(r->table, sl_str_c(r->identity), &text, &found, NULL, err));
    if (!found)
        goto done;
    SL_GO(resume_at(r, sl_buf_view(&text), err));
    r->look_first = true;
    r->report->position = sl_buf_take(&text);
done:
    sl_buf_release(&text);
    return rc;
}

static int take_identity(struct sl_run *r, sl_err *err)
{
    if (r->o.dry_run)
        return SL_OK;
    SL_TRY(name_identity(r, err));
    if (r->identity) {
        int rc = r->log ? sl_run_log_identity(r, err) : sl_identity_lock(r->table, sl_str_c(r->identity), &r->lock, err);

        if (rc == SL_EBUSY) {
            sl_err_set(err, SL_EBUSY, "another process loads into %s as \"%s\"", sl_run_label(r), r->identity);
            sl_err_hint(err, "one identity is one stream: give each load its own --identity");
        }
        SL_TRY(rc);
        r->source->store = r->log ? r->log_side : r->table->store;
        r->source->identity = r->identity;
    }
    return find_start(r, err);
}

/* ---- opening ---- */

static bool has_column(const struct sl_run *r, const char *name)
{
    for (size_t i = 0; i < r->nfields; i++)
        if (strcmp(r->fields[i].name, name) == 0)
            return true;
    return false;
}

static int choose_columns(struct sl_run *r, sl_err *err)
{
    const struct sl_type *type;

    if (r->log)
        return sl_run_log_columns(r, err);
    if (r->table) { /* else a dry run that would make it */
        r->fields = r->table->schema->fields;
        r->nfields = r->table->schema->nfields;
    }
    if (r->o.source_type.n) {
        SL_TRY(sl_type_from_sql(&r->arena, r->o.source_type, &type, err));
        if (type->kind != SL_ROW)
            return sl_err_set(err, SL_EUSAGE, "the columns of the input are no ROW type");
        r->fields = type->fields;
        r->nfields = type->nfields;
    }
    for (size_t i = 0; i < r->nfields; i++)
        SL_TRY(sl_type_check_writable(r->fields[i].name, r->fields[i].type, err));
    r->op_field = r->o.op_field;
    if (!r->op_field.p && !has_column(r, DEFAULT_OP_FIELD))
        r->op_field = SL_LIT(DEFAULT_OP_FIELD);
    return sl_columns_make(&r->arena, r->fields, r->nfields, r->op_field, &r->columns, err);
}

static int open_table(struct sl_run *r, sl_err *err)
{
    SL_TRY(sl_env_log(r->env, r->o.table, &r->log, err));
    if (r->log)
        return sl_run_log_open(r, err);
    int rc = sl_env_table(r->env, r->o.table, &r->table, err);

    if (rc == SL_ENOTFOUND && r->o.create) {
        sl_err_clear(err);
        return sl_run_create(r, err);
    }
    if (rc == SL_ENOTFOUND)
        sl_err_hint(err, "make it by CREATE TABLE in sluice sql, or let --create make it from a sample of the input");
    SL_TRY(rc);
    return sl_append_check(r->table, SL_WRITE, err);
}

/* A statement's query gives the columns that the table had when it began. */
bool sl_run_schema_changed(struct sl_run *r)
{
    sl_err ignored = SL_ERR_INIT; /* if it cannot be told, the commit will */
    int64_t newest;

    return r->table && r->o.query.n == 0 && r->o.source_type.n == 0 && !r->o.dry_run &&
           sl_append_newest_schema_id(r->table, &newest, &ignored) == SL_OK && newest != r->table->schema->id;
}

static bool renew_feed(void *user)
{
    struct sl_run *r = user;

    if (!atomic_load(&r->renew) && sl_run_schema_changed(r))
        atomic_store(&r->renew, true);
    return atomic_load(&r->renew);
}

int sl_run_renew(struct sl_run *r, sl_err *err)
{
    struct sl_append *table = NULL, **slot;

    SL_TRY(sl_append_same_table(r->table, err));
    slot = sl_vec_push(&r->before);
    if (!slot)
        return sl_err_nomem(err);
    SL_TRY(sl_env_table(r->env, r->o.table, &table, err));
    *slot = r->table;
    r->table = table;
    SL_TRY(sl_append_check(r->table, SL_WRITE, err));
    sl_log(SL_LOG_INFO, "ingest", "the schema of %s has changed: the load goes on with the newest", r->table->label);
    sl_columns_release(&r->columns);
    SL_TRY(choose_columns(r, err));
    if (r->compactor) {
        sl_compactor_close(r->compactor, true, NULL);
        r->compactor = NULL;
        SL_TRY(sl_compactor_open(r->env, r->o.table, 1, &r->compactor, err));
    }
    atomic_store(&r->renew, false);
    return r->feed ? sl_feed_renew(r->feed, &r->columns, err) : SL_OK;
}

static int open_feed(struct sl_run *r, sl_err *err)
{
    struct sl_feed_spec spec = {
        .format = r->format, .delimiter = r->o.delimiter, .no_header = r->o.no_header, .strict_fields = r->o.strict_fields,
        .max_row_bytes = r->o.max_row_bytes, .commit_rows = r->o.commit_rows, .commit_bytes = r->o.commit_bytes,
        .commit_millis = r->o.commit_millis, .source = r->source, .bad = r->bad, .stop = stop_feed, .renew = renew_feed, .tick = sl_run_tick, .idle = r->o.follow ? give_back_memory : NULL,
        .user = r,
    };

    return r->format == SL_INGEST_PARQUET ? SL_OK : sl_feed_new(&spec, &r->feed, err);
}

static int load(struct sl_run *r, sl_err *err)
{
    if (r->format == SL_INGEST_PARQUET)
        return sl_run_parquet(r, err);
    SL_TRY(sl_feed_columns(r->feed, &r->columns, err));
    return r->o.dry_run ? sl_run_text_dry(r, err) : sl_run_text(r, err);
}

/* Asked for, or a table whose writers are told to compact. */
static bool wants_compaction(const struct sl_run *r)
{
    const char *write_only = r->table ? sl_schema_option(r->table->schema, "write-only") : NULL;

    return !r->o.dry_run && (r->o.compact || (write_only && sl_str_ieqc(sl_str_c(write_only), "false")));
}

static int run(struct sl_run *r, sl_err *err)
{
    int rc;

    SL_TRY(sl_bad_rows_new(r->o.on_error, r->o.quarantine, &r->bad, err));
    SL_TRY(sl_source_open(&r->o, r->format, NULL, NULL, &r->source, err));
    SL_TRY(open_feed(r, err));
    SL_TRY(open_table(r, err));
    SL_TRY(choose_columns(r, err));
    SL_TRY(take_identity(r, err));
    if (wants_compaction(r))
        SL_TRY(sl_compactor_open(r->env, r->o.table, 1, &r->compactor, err));
    rc = load(r, err);
    sl_compactor_close(r->compactor, rc == SL_OK && !sl_run_stopping(r), NULL);
    return rc;
}

static void release_run(struct sl_run *r)
{
    sl_feed_free(r->feed);
    sl_source_close(r->source);
    sl_bad_rows_free(r->bad);
    sl_store_unlock(r->lock);
    sl_append_close(r->table);
    for (size_t i = 0; i < r->before.n; i++)
        sl_append_close(r->before.v[i]);
    sl_free(r->before.v);
    sl_log_close(r->log);
    sl_store_close(r->log_side);
    sl_columns_release(&r->columns);
    sl_arena_release(&r->arena);
    sl_free(r->identity);
    sl_free(r->user);
    pthread_cond_destroy(&r->published);
    pthread_mutex_destroy(&r->publish);
}

int sl_ingest_run(struct sl_env *env, const struct sl_ingest_options *options, struct sl_ingest_report *report, sl_err *err)
{
    struct sl_run r = {.env = env, .report = report, .start_nanos = sl_mono_nanos()};
    sl_err own = SL_ERR_INIT;
    int rc;

    /* What failed decides what is cleaned up, so there is always an error to look at. */
    if (!err)
        err = &own;
    pthread_mutex_init(&r.publish, NULL);
    pthread_cond_init(&r.published, NULL);
    rc = fill_defaults(&r, options, err);
    if (rc == SL_OK)
        rc = run(&r, err);
    report->bad_rows = r.bad ? sl_bad_rows_count(r.bad) : 0;
    report->unknown_fields = atomic_load(&r.unknown_fields);
    if (r.feed)
        report->input_bytes = sl_feed_bytes(r.feed);
    report->files = atomic_load(&r.files);
    report->commits = atomic_load(&r.commits);
    if (r.o.dry_run)
        report->rows = atomic_load(&r.rows);
    report->seconds = (double)(sl_mono_nanos() - r.start_nanos) / 1e9;
    report->interrupted = rc == SL_OK && sl_run_stopping(&r);
    release_run(&r);
    return rc;
}

void sl_ingest_report_release(struct sl_ingest_report *report)
{
    sl_free(report->snapshots);
    sl_free(report->identity);
    sl_free(report->position);
    sl_free(report->create_sql);
    memset(report, 0, sizeof *report);
}
