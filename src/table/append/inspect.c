#include "table/append/inspect.h"

#include <string.h>

#include "base/json.h"
#include "base/sys.h"
#include "engine/parquet.h"
#include "table/append/partitions.h"
#include "table/append/position.h"
#include "table/append/roots.h"
#include "table/env.h"
#include "table/log/describe.h"
#include "table/log/inspect.h"

/* A failed json_* call gives NULL, which the setters refuse; the document then lacks a member, so it is checked here. */
struct inspection {
    struct sl_append *t;
    const struct sl_inspect_options *options;
    json_t *doc;
    struct sl_snapshot snapshot;   /* id 0: the table has none */
    struct sl_live_set live;
    bool nomem;
};

static void set_text(struct inspection *x, json_t *object, const char *key, const char *text)
{
    if (!text)
        return;
    /* Names on disk may hold any bytes; what is no UTF-8 is shown with its bytes escaped. */
    json_t *value = json_string(text);
    if (!value) {
        struct sl_buf b = SL_BUF_INIT;

        for (const char *p = text; *p; p++)
            if ((unsigned char)*p < 0x80)
                sl_buf_ch(&b, *p);
            else
                sl_buf_printf(&b, "\\x%02x", (unsigned char)*p);
        value = b.p ? json_string(b.p) : NULL;
        sl_buf_release(&b);
    }
    sl_json_put(&x->nomem, object, key, value);
}

static void set_view(struct inspection *x, json_t *object, const char *key, sl_str text)
{
    char *copy = text.p ? sl_str_dup(text) : NULL;

    if (text.p && !copy)
        x->nomem = true;
    set_text(x, object, key, copy);
    sl_free(copy);
}

static void set_number(struct inspection *x, json_t *object, const char *key, int64_t v)
{
    sl_json_put(&x->nomem, object, key, json_integer(v));
}

/* ---- schema ---- */

static void add_schema(struct inspection *x)
{
    const struct sl_schema *s = x->t->schema;
    json_t *schema = json_object(), *fields = json_array(), *keys = json_array(), *options = json_object();

    sl_json_put(&x->nomem, x->doc, "schema", schema);
    set_number(x, schema, "id", s->id);
    sl_json_put(&x->nomem, schema, "fields", fields);
    sl_json_put(&x->nomem, schema, "partitionKeys", keys);
    sl_json_put(&x->nomem, schema, "options", options);
    for (size_t i = 0; i < s->nfields; i++) {
        struct sl_buf sql = SL_BUF_INIT;
        json_t *f = json_object();

        sl_type_sql(&sql, s->fields[i].type);
        sl_json_push(&x->nomem, fields, f);
        set_number(x, f, "id", s->fields[i].id);
        set_text(x, f, "name", s->fields[i].name);
        set_text(x, f, "type", sql.p ? sql.p : "");
        set_text(x, f, "comment", s->fields[i].comment);
        sl_buf_release(&sql);
    }
    for (size_t i = 0; i < s->npartition; i++)
        sl_json_push(&x->nomem, keys, json_string(s->partition_keys[i]));
    for (size_t i = 0; i < s->noptions; i++)
        set_text(x, options, s->options[i].key, s->options[i].value);
    set_text(x, schema, "comment", s->comment);
}

/* ---- snapshots ---- */

static void describe_snapshot(struct inspection *x, json_t *o, const struct sl_snapshot *s)
{
    set_number(x, o, "id", s->id);
    set_text(x, o, "kind", s->commit_kind);
    set_text(x, o, "operation", s->operation);
    set_number(x, o, "timeMillis", s->time_millis);
    set_text(x, o, "user", s->commit_user);
    set_number(x, o, "identifier", s->commit_identifier);
    set_number(x, o, "schemaId", s->schema_id);
    set_number(x, o, "totalRecordCount", s->total_record_count);
    set_number(x, o, "deltaRecordCount", s->delta_record_count);
    set_text(x, o, "indexManifest", s->index_manifest);
    set_text(x, o, "statistics", s->statistics);
}

/* How many files a snapshot added and removed; a list that cannot be read leaves that out, verify tells of it. */
static void count_files(struct inspection *x, json_t *o, const struct sl_snapshot *s)
{
    struct sl_manifest_list list = {0};
    int64_t added = 0, removed = 0;
    sl_err quiet = SL_ERR_INIT;

    if (sl_snapshot_manifests(x->t, s, SL_LIST_DELTA, &list, &quiet) == SL_OK) {
        for (size_t i = 0; i < list.n; i++) {
            added += list.v[i].num_added_files;
            removed += list.v[i].num_deleted_files;
        }
        set_number(x, o, "filesAdded", added);
        set_number(x, o, "filesRemoved", removed);
    }
    sl_manifest_list_release(&list);
}

static void add_unreadable(struct inspection *x, json_t *list, int64_t id, const sl_err *why)
{
    json_t *o = json_object();

    sl_json_push(&x->nomem, list, o);
    set_number(x, o, "id", id);
    set_text(x, o, "error", why->text);
}

static int add_snapshots(struct inspection *x, sl_err *err)
{
    json_t *list = json_array();
    struct sl_ids ids = {0};
    int rc;

    sl_json_put(&x->nomem, x->doc, "snapshots", list);
    SL_GO(sl_snapshot_ids(x->t, &ids, err));
    for (size_t i = 0; i < ids.n; i++) {
        struct sl_snapshot s = {0};
        sl_err why = SL_ERR_INIT;

        rc = sl_snapshot_get(x->t, ids.v[i], &s, &why);
        if (rc == SL_OK) {
            json_t *o = json_object();

            sl_json_push(&x->nomem, list, o);
            describe_snapshot(x, o, &s);
            count_files(x, o, &s);
        } else if (rc != SL_ENOTFOUND) {
            add_unreadable(x, list, ids.v[i], &why);
        }
        sl_snapshot_release(&s);
        rc = SL_OK;
        SL_GO(sl_cancel_check(err));
    }
done:
    sl_ids_release(&ids);
    return rc;
}

static int add_tags(struct inspection *x, sl_err *err)
{
    json_t *list = json_array(), *branches = json_array();
    struct sl_names names = {0}, others = {0};
    int rc;

    sl_json_put(&x->nomem, x->doc, "tags", list);
    sl_json_put(&x->nomem, x->doc, "branches", branches);
    SL_GO(sl_tag_names(x->t, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        struct sl_snapshot s = {0};
        sl_err why = SL_ERR_INIT;
        json_t *o = json_object();

        sl_json_push(&x->nomem, list, o);
        set_text(x, o, "name", names.v[i]);
        if (sl_tag_get(x->t, sl_str_c(names.v[i]), &s, &why) == SL_OK) {
            set_number(x, o, "snapshot", s.id);
            set_number(x, o, "totalRecordCount", s.total_record_count);
        } else {
            set_text(x, o, "error", why.text);
        }
        sl_snapshot_release(&s);
    }
    SL_GO(sl_branch_names(x->t, &others, err));
    for (size_t i = 0; i < others.n; i++)
        sl_json_push(&x->nomem, branches, json_string(others.v[i]));
done:
    sl_names_release(&names);
    sl_names_release(&others);
    return rc;
}

/* ---- the snapshot that is looked at ---- */

static int select_snapshot(struct inspection *x, sl_err *err)
{
    const struct sl_inspect_options *o = x->options;
    struct sl_selector sel = {.kind = SL_SELECT_LATEST};
    int64_t latest = 0;

    if (o->snapshot > 0 && o->tag.n)
        return sl_err_set(err, SL_EUSAGE, "inspect wants either a snapshot's id or a tag");
    if (o->snapshot > 0) {
        sel.kind = SL_SELECT_ID;
        sel.id = o->snapshot;
    } else if (o->tag.n) {
        sel.kind = SL_SELECT_TAG;
        sel.text = o->tag;
    } else {
        SL_TRY(sl_snapshot_latest_id(x->t, &latest, err));
        if (latest == 0)
            return SL_OK;
    }
    SL_TRY(sl_snapshot_select(x->t, &sel, &x->snapshot, err));
    return sl_live_files(x->t, &x->snapshot, NULL, &x->live, err);
}

static void add_positions(struct inspection *x, json_t *current)
{
    json_t *positions = json_object();
    size_t n = strlen(SL_POSITION_PREFIX);

    for (size_t i = 0; i < x->snapshot.nproperties; i++)
        if (strncmp(x->snapshot.properties[i].key, SL_POSITION_PREFIX, n) == 0)
            set_text(x, positions, x->snapshot.properties[i].key + n, x->snapshot.properties[i].value);
    if (json_object_size(positions))
        sl_json_put(&x->nomem, current, "positions", positions);
    else
        json_decref(positions);
}

static int add_vectors(struct inspection *x, json_t *current, sl_err *err)
{
    struct sl_index_manifest index = {0};
    int64_t vectors = 0, rows = 0;
    int rc;

    SL_GO(sl_snapshot_index(x->t, &x->snapshot, &index, err));
    for (size_t i = 0; i < index.n; i++)
        for (size_t j = 0; j < index.v[i].ndvs; j++) {
            vectors++;
            rows += index.v[i].dvs[j].cardinality > 0 ? index.v[i].dvs[j].cardinality : 0;
        }
    if (vectors) {
        set_number(x, current, "deletionVectors", vectors);
        set_number(x, current, "deletedRows", rows);
    }
done:
    sl_index_manifest_release(&index);
    return rc;
}

static int add_current(struct inspection *x, sl_err *err)
{
    json_t *current = json_object();
    int64_t rows = 0, bytes = 0, least = INT64_MAX, most = 0;

    sl_json_put(&x->nomem, x->doc, "current", current);
    describe_snapshot(x, current, &x->snapshot);
    for (size_t i = 0; i < x->live.n; i++) {
        int64_t size = x->live.v[i]->file.file_size;

        rows += x->live.v[i]->file.row_count;
        bytes += size;
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    set_number(x, current, "files", (int64_t)x->live.n);
    set_number(x, current, "rows", rows);
    set_number(x, current, "bytes", bytes);
    if (x->live.n) {
        set_number(x, current, "leastFileBytes", least);
        set_number(x, current, "greatestFileBytes", most);
    }
    set_number(x, current, "manifests", (int64_t)x->live.manifests_total);
    add_positions(x, current);
    return add_vectors(x, current, err);
}

static int add_partitions(struct inspection *x, sl_err *err)
{
    struct sl_partitions_list found = SL_PARTITIONS_LIST_INIT;
    json_t *list = json_array();
    int rc = SL_OK;

    sl_json_put(&x->nomem, x->doc, "partitions", list);
    if (x->t->npartition)
        SL_GO(sl_partitions_of(x->t, &x->live, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        json_t *o = json_object();

        sl_json_push(&x->nomem, list, o);
        set_text(x, o, "partition", found.v[i].text);
        set_number(x, o, "files", found.v[i].files);
        set_number(x, o, "rows", found.v[i].rows);
        set_number(x, o, "bytes", found.v[i].bytes);
    }
done:
    sl_partitions_list_release(&found);
    return rc;
}

static int add_manifests(struct inspection *x, sl_err *err)
{
    struct sl_manifest_list found = {0};
    json_t *list = json_array();
    int rc = SL_OK;

    sl_json_put(&x->nomem, x->doc, "manifests", list);
    if (x->snapshot.id)
        SL_GO(sl_snapshot_manifests(x->t, &x->snapshot, SL_LIST_BASE | SL_LIST_DELTA, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        json_t *o = json_object();

        sl_json_push(&x->nomem, list, o);
        set_view(x, o, "name", found.v[i].file_name);
        set_number(x, o, "bytes", found.v[i].file_size);
        set_number(x, o, "added", found.v[i].num_added_files);
        set_number(x, o, "deleted", found.v[i].num_deleted_files);
    }
done:
    sl_manifest_list_release(&found);
    return rc;
}

/* ---- files ---- */

/* {column: {nulls, min, max}} of what is known. */
static int add_stats(struct inspection *x, json_t *o, const struct sl_data_file *d, sl_err *err)
{
    const struct sl_schema *s;
    const sl_str *listed = d->has_value_stats_cols ? d->value_stats_cols : d->has_write_cols ? d->write_cols : NULL;
    json_t *stats = json_object();

    sl_json_put(&x->nomem, o, "stats", stats);
    int rc = sl_append_schema(x->t, d->schema_id, &s, err);
    if (rc != SL_OK)
        return rc == SL_ENOMEM || rc == SL_ECANCELLED ? rc : SL_OK;
    size_t n = d->has_value_stats_cols ? d->nvalue_stats_cols : d->has_write_cols ? d->nwrite_cols : s->nfields;
    const struct sl_type **types = sl_calloc(n + 1, sizeof *types);
    if (!types)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        static const struct sl_type number = {.kind = SL_BIGINT, .nullable = true};
        const struct sl_field *f = listed ? sl_schema_field(s, listed[i]) : &s->fields[i];

        types[i] = f ? f->type : &number;
    }
    for (size_t i = 0; i < n; i++) {
        struct sl_col_stats c = {0};
        json_t *column;
        const struct sl_field *f = listed ? sl_schema_field(s, listed[i]) : &s->fields[i];

        if (!f || !sl_stats_column(&d->value_stats, types, n, i, &c) || (!c.has_nulls && !c.has_bounds))
            continue;
        column = json_object();
        sl_json_put(&x->nomem, stats, f->name, column);
        if (c.has_nulls)
            set_number(x, column, "nulls", c.null_count);
        if (c.has_bounds) {
            sl_json_put(&x->nomem, column, "min", sl_value_json(types[i], &c.min));
            sl_json_put(&x->nomem, column, "max", sl_value_json(types[i], &c.max));
        }
    }
    sl_free(types);
    return SL_OK;
}

static int add_file(struct inspection *x, json_t *list, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    json_t *o = json_object();
    bool external;
    int rc;

    sl_json_push(&x->nomem, list, o);
    SL_GO(sl_append_file_path(x->t, e, &path, &external, err));
    set_view(x, o, "path", sl_buf_view(&path));
    set_number(x, o, "rows", e->file.row_count);
    set_number(x, o, "bytes", e->file.file_size);
    set_number(x, o, "schemaId", e->file.schema_id);
    set_text(x, o, "source", e->file.file_source == 1 ? "COMPACT" : e->file.file_source == 0 ? "APPEND" : NULL);
    if (e->file.creation_time != INT64_MIN)
        set_number(x, o, "creationTime", e->file.creation_time);
    SL_GO(add_stats(x, o, &e->file, err));
done:
    sl_buf_release(&path);
    return rc;
}

static int add_files(struct inspection *x, sl_err *err)
{
    json_t *list = json_array();

    sl_json_put(&x->nomem, x->doc, "files", list);
    for (size_t i = 0; i < x->live.n && !x->nomem; i++)
        SL_TRY(add_file(x, list, x->live.v[i], err));
    return SL_OK;
}

static int run(struct inspection *x, sl_err *err)
{
    if (x->t->label[0] != '"') /* a name, not a path */
        set_text(x, x->doc, "table", x->t->label);
    set_text(x, x->doc, "path", x->t->path);
    set_text(x, x->doc, "branch", x->t->branch);
    add_schema(x);
    SL_TRY(add_snapshots(x, err));
    SL_TRY(add_tags(x, err));
    SL_TRY(select_snapshot(x, err));
    if (x->snapshot.id)
        SL_TRY(add_current(x, err));
    SL_TRY(add_partitions(x, err));
    if (x->options->manifests)
        SL_TRY(add_manifests(x, err));
    if (x->options->files)
        SL_TRY(add_files(x, err));
    return x->nomem ? sl_err_nomem(err) : SL_OK;
}

int sl_append_inspect(struct sl_append *t, const struct sl_inspect_options *options, json_t **out, sl_err *err)
{
    struct inspection x = {.t = t, .options = options, .doc = json_object()};
    int rc;

    *out = NULL;
    if (!x.doc)
        return sl_err_nomem(err);
    SL_GO(run(&x, err));
    *out = x.doc;
    x.doc = NULL;
done:
    json_decref(x.doc);
    sl_live_release(&x.live);
    sl_snapshot_release(&x.snapshot);
    return rc;
}

int sl_table_inspect(struct sl_env *env, sl_str table, const struct sl_inspect_options *options, char **text, sl_err *err)
{
    static const struct sl_inspect_options none = SL_INSPECT_INIT;
    struct sl_append *t = NULL;
    struct sl_log *log = NULL;
    struct sl_buf out = SL_BUF_INIT;
    json_t *doc = NULL;
    int rc;

    *text = NULL;
    options = options ? options : &none;
    SL_GO(sl_env_log(env, table, &log, err));
    if (log) {
        SL_GO(sl_log_inspect(log, options, &doc, err));
    } else {
        SL_GO(sl_env_table(env, table, &t, err));
        SL_GO(sl_append_inspect(t, options, &doc, err));
    }
    if (options->json) {
        sl_json_dump(&out, doc, false);
        sl_buf_ch(&out, '\n');
    } else if (log) {
        sl_log_inspect_text(doc, &out);
    } else {
        sl_inspect_text(doc, &out);
    }
    SL_GO(sl_buf_ok(&out, err));
    *text = sl_buf_take(&out);
done:
    json_decref(doc);
    sl_buf_release(&out);
    sl_append_close(t);
    sl_log_close(log);
    return rc;
}

/* ---- single files ---- */

static json_t *parquet_nodes(const struct sl_parquet_info *info)
{
    json_t *list = json_array();

    for (size_t i = 0; i < info->n; i++) {
        const struct sl_parquet_node *v = &info->v[i];
        json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:i}", "name", v->name, "depth", v->depth, "physical", v->physical,
                              "repetition", v->repetition, "fieldId", v->field_id);

        if (v->converted[0])
            json_object_set_new(o, "converted", json_string(v->converted));
        if (v->logical[0])
            json_object_set_new(o, "logical", json_string(v->logical));
        json_array_append_new(list, o);
    }
    return list;
}

static int describe_parquet(struct sl_env *env, sl_str path, json_t **out, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    struct sl_engine *engine;
    struct sl_conn *conn = NULL;
    int rc;

    SL_GO(sl_env_engine(env, &engine, err));
    SL_GO(sl_conn_open(engine, &conn, err));
    SL_GO(sl_parquet_columns(conn, path, &info, err));
    *out = json_pack("{s:s, s:I, s:I, s:s, s:o}", "type", "parquet", "rows", (json_int_t)info.rows, "rowGroups",
                     (json_int_t)info.row_groups, "createdBy", info.created_by, "columns", parquet_nodes(&info));
    if (!*out)
        SL_GOTO_NOMEM(err);
done:
    sl_parquet_info_release(&info);
    sl_conn_close(conn);
    return rc;
}

/* The schema of the table that a file lies in gives the meaning of partition values and bounds; without it they are shown as bytes. */
static struct sl_append *table_around(sl_str folder)
{
    struct sl_append *t = NULL;
    sl_err quiet = SL_ERR_INIT;

    /* <table>/manifest/FILE, <table>/branch/branch-b/snapshot/FILE */
    for (int up = 0; up < 3 && !t; up++) {
        while (folder.n && folder.p[folder.n - 1] != '/')
            folder.n--;
        while (folder.n > 1 && folder.p[folder.n - 1] == '/')
            folder.n--;
        if (folder.n == 0 || sl_append_open_path(folder, NULL, &t, &quiet) != SL_OK)
            t = NULL;
    }
    return t;
}

enum { FILE_BYTES_MAX = 1 << 30 };

int sl_file_inspect(struct sl_env *env, sl_str path, bool json, char **text, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, out = SL_BUF_INIT, full = SL_BUF_INIT;
    struct sl_append *t = NULL;
    struct sl_store *store = NULL;
    json_t *doc = NULL;
    sl_str name = path, folder = {".", 1};
    int rc;

    *text = NULL;
    for (size_t i = path.n; i > 0; i--)
        if (path.p[i - 1] == '/') {
            name = sl_str_sub(path, i, path.n);
            folder = i > 1 ? sl_str_sub(path, 0, i - 1) : sl_str_sub(path, 0, 1);
            break;
        }
    SL_GO(sl_store_open_local(folder, &store, err));
    SL_GO(sl_store_path(store, name, &full, err));
    if (sl_log_file_is(store, name)) {
        SL_GO(sl_log_file_inspect(store, name, json, &out, err));
        SL_GO(sl_buf_ok(&out, err));
        *text = sl_buf_take(&out);
        goto done;
    }
    if (sl_str_ends(name, ".parquet")) {
        SL_GO(describe_parquet(env, sl_buf_view(&full), &doc, err));
    } else {
        SL_GO(sl_store_get(store, name, FILE_BYTES_MAX, &bytes, err));
        t = table_around(sl_str_c(sl_store_root(store)));
        if (bytes.n >= 4 && memcmp(bytes.p, "PAR1", 4) == 0)
            SL_GO(describe_parquet(env, sl_buf_view(&full), &doc, err));
        else
            SL_GO(sl_paimon_describe(name, sl_buf_view(&bytes), t ? t->schema : NULL, &doc, err));
    }
    sl_json_dump(&out, doc, true);
    sl_buf_ch(&out, '\n');
    SL_GO(sl_buf_ok(&out, err));
    *text = sl_buf_take(&out);
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "\"" SL_STRF "\"", SL_STRV(path));
    json_decref(doc);
    sl_buf_release(&bytes);
    sl_buf_release(&out);
    sl_buf_release(&full);
    sl_append_close(t);
    sl_store_close(store);
    return rc;
}
