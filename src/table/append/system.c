#include "table/append/system.h"

#include <string.h>

#include "base/json.h"
#include "table/append/partitions.h"
#include "table/append/roots.h"

enum { COLUMNS_MAX = 16 };

struct cell {
    bool null;
    int64_t i;   /* BIGINT, INT, BOOLEAN; TIMESTAMP in micros */
    sl_str s;
};

struct sl_system_rows {
    struct sl_arena arena;
    struct sl_field fields[COLUMNS_MAX];
    size_t nfields;
    SL_VEC(const struct cell *) rows; /* nfields cells each */
};

struct reading {
    struct sl_append *t;
    const struct sl_selector *sel;
    struct sl_system_rows *out;
    struct cell *row;   /* the one that is being filled */
    size_t at;
};

static const struct sl_type text_type = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
static const struct sl_type number_type = {.kind = SL_BIGINT, .nullable = true};
static const struct sl_type time_type = {.kind = SL_TIMESTAMP, .nullable = true, .precision = 6};

/* ---- filling ---- */

/* Cells past the end of memory go into a row that is dropped: the loss is noticed at its push. */
static int begin_row(struct reading *r, sl_err *err)
{
    r->row = sl_arena_array(&r->out->arena, COLUMNS_MAX, sizeof *r->row);
    r->at = 0;
    const struct cell **slot = r->row ? sl_vec_push(&r->out->rows) : NULL;
    if (!slot)
        return sl_err_nomem(err);
    *slot = r->row;
    return SL_OK;
}

static void put_null(struct reading *r)
{
    r->row[r->at++].null = true;
}

static void put_number(struct reading *r, int64_t v)
{
    r->row[r->at++].i = v;
}

static void put_number_if(struct reading *r, bool known, int64_t v)
{
    if (known)
        put_number(r, v);
    else
        put_null(r);
}

static void put_millis(struct reading *r, int64_t millis)
{
    put_number_if(r, millis > INT64_MIN / 1000 && millis < INT64_MAX / 1000, millis * 1000);
}

static int put_text(struct reading *r, sl_str text, sl_err *err)
{
    struct cell *c = &r->row[r->at++];

    c->null = text.p == NULL;
    c->s = sl_arena_str(&r->out->arena, text);
    return text.p && text.n && !c->s.p ? sl_err_nomem(err) : SL_OK;
}

static int put_c(struct reading *r, const char *text, sl_err *err)
{
    return put_text(r, text ? sl_str_c(text) : (sl_str){NULL, 0}, err);
}

static int put_json(struct reading *r, json_t *value, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    int rc;

    sl_json_dump(&text, value, false);
    SL_GO(sl_buf_ok(&text, err));
    SL_GO(put_text(r, sl_buf_view(&text), err));
done:
    json_decref(value);
    sl_buf_release(&text);
    return rc;
}

/* ---- the tables ---- */

static int snapshot_row(struct reading *r, const struct sl_snapshot *s, sl_err *err)
{
    SL_TRY(begin_row(r, err));
    put_number(r, s->id);
    put_number(r, s->schema_id);
    SL_TRY(put_c(r, s->commit_user, err));
    put_number(r, s->commit_identifier);
    SL_TRY(put_c(r, s->commit_kind, err));
    put_millis(r, s->time_millis);
    SL_TRY(put_c(r, s->base_manifest_list, err));
    SL_TRY(put_c(r, s->delta_manifest_list, err));
    put_number(r, s->total_record_count);
    put_number(r, s->delta_record_count);
    put_number_if(r, s->watermark != INT64_MIN, s->watermark);
    SL_TRY(put_c(r, s->operation, err));
    return put_c(r, s->index_manifest, err);
}

static int read_snapshots(struct reading *r, sl_err *err)
{
    struct sl_ids ids = {0};
    struct sl_snapshot s = {0};
    int rc;

    SL_GO(sl_snapshot_ids(r->t, &ids, err));
    for (size_t i = 0; i < ids.n; i++) {
        rc = sl_snapshot_get(r->t, ids.v[i], &s, err);
        if (rc == SL_ENOTFOUND) {
            rc = SL_OK; /* expired meanwhile */
            continue;
        }
        SL_GO(rc);
        SL_GO(snapshot_row(r, &s, err));
        sl_snapshot_release(&s);
    }
done:
    sl_snapshot_release(&s);
    sl_ids_release(&ids);
    return rc;
}

static int file_row(struct reading *r, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_value values[64];
    struct sl_buf text = SL_BUF_INIT;
    int rc;

    if (r->t->npartition > 64)
        return sl_err_set(err, SL_EUNSUPPORTED, "more than 64 partition keys are not supported");
    SL_GO(begin_row(r, err));
    SL_GO(sl_append_partition(r->t, e->partition, values, err));
    sl_append_partition_text(r->t, values, &text);
    SL_GO(sl_buf_ok(&text, err));
    SL_GO(put_text(r, sl_buf_view(&text), err));
    put_number(r, e->bucket);
    sl_buf_reset(&text);
    SL_GO(sl_append_file_full(r->t, e, &text, err));
    SL_GO(put_text(r, sl_buf_view(&text), err));
    put_number(r, e->file.schema_id);
    put_number(r, e->file.level);
    put_number(r, e->file.row_count);
    put_number(r, e->file.file_size);
    put_number(r, e->file.min_sequence_number);
    put_number(r, e->file.max_sequence_number);
    put_number_if(r, e->file.creation_time > INT64_MIN / 1000, e->file.creation_time * 1000);
    SL_GO(put_c(r, e->file.file_source == 0 ? "APPEND" : e->file.file_source == 1 ? "COMPACT" : NULL, err));
done:
    sl_buf_release(&text);
    return rc;
}

/* The snapshot that is asked for; *ANY false: latest of a table without snapshots. */
static int select_snapshot(struct reading *r, struct sl_snapshot *out, bool *any, sl_err *err)
{
    int64_t latest = 1;

    if (!r->sel || r->sel->kind == SL_SELECT_LATEST)
        SL_TRY(sl_snapshot_latest_id(r->t, &latest, err));
    *any = latest != 0;
    return *any ? sl_snapshot_select(r->t, r->sel, out, err) : SL_OK;
}

static int read_files(struct reading *r, sl_err *err)
{
    struct sl_snapshot s = {0};
    struct sl_live_set live = {0};
    bool any;
    int rc;

    SL_GO(select_snapshot(r, &s, &any, err));
    if (any)
        SL_GO(sl_live_files(r->t, &s, NULL, &live, err));
    for (size_t i = 0; i < live.n; i++)
        SL_GO(file_row(r, live.v[i], err));
done:
    sl_live_release(&live);
    sl_snapshot_release(&s);
    return rc;
}

static int read_manifests(struct reading *r, sl_err *err)
{
    struct sl_snapshot s = {0};
    struct sl_manifest_list list = {0};
    bool any;
    int rc;

    SL_GO(select_snapshot(r, &s, &any, err));
    if (any)
        SL_GO(sl_snapshot_manifests(r->t, &s, SL_LIST_BASE | SL_LIST_DELTA, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        SL_GO(begin_row(r, err));
        SL_GO(put_text(r, list.v[i].file_name, err));
        put_number(r, list.v[i].file_size);
        put_number(r, list.v[i].num_added_files);
        put_number(r, list.v[i].num_deleted_files);
        put_number(r, list.v[i].schema_id);
    }
done:
    sl_manifest_list_release(&list);
    sl_snapshot_release(&s);
    return rc;
}

static int read_partitions(struct reading *r, sl_err *err)
{
    struct sl_partitions_list list = SL_PARTITIONS_LIST_INIT;
    int rc;

    SL_GO(sl_append_partitions(r->t, r->sel, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        SL_GO(begin_row(r, err));
        SL_GO(put_c(r, list.v[i].text, err));
        put_number(r, list.v[i].rows);
        put_number(r, list.v[i].bytes);
        put_number(r, list.v[i].files);
        put_number_if(r, list.v[i].last_created > INT64_MIN / 1000, list.v[i].last_created * 1000);
    }
done:
    sl_partitions_list_release(&list);
    return rc;
}

static int read_options(struct reading *r, sl_err *err)
{
    for (size_t i = 0; i < r->t->schema->noptions; i++) {
        SL_TRY(begin_row(r, err));
        SL_TRY(put_c(r, r->t->schema->options[i].key, err));
        SL_TRY(put_c(r, r->t->schema->options[i].value, err));
    }
    return SL_OK;
}

/* Names as a JSON list. */
static json_t *names_json(const char *const *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(v[i]));
    return list;
}

static json_t *fields_json(const struct sl_schema *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->nfields; i++)
        json_array_append_new(list, json_pack("{s:i, s:s, s:o}", "id", s->fields[i].id, "name", s->fields[i].name, "type",
                                              sl_type_to_json(s->fields[i].type)));
    return list;
}

static json_t *options_json(const struct sl_schema *s)
{
    json_t *object = json_object();

    for (size_t i = 0; i < s->noptions; i++)
        json_object_set_new(object, s->options[i].key, json_string(s->options[i].value));
    return object;
}

static int read_schemas(struct reading *r, sl_err *err)
{
    int64_t newest;

    SL_TRY(sl_append_newest_schema_id(r->t, &newest, err));
    for (int64_t id = 0; id <= newest; id++) {
        const struct sl_schema *s;
        int rc = sl_append_schema(r->t, id, &s, err);

        if (rc == SL_ENOTFOUND)
            continue;
        SL_TRY(rc);
        SL_TRY(begin_row(r, err));
        put_number(r, id);
        SL_TRY(put_json(r, fields_json(s), err));
        SL_TRY(put_json(r, names_json(s->partition_keys, s->npartition), err));
        SL_TRY(put_json(r, names_json(s->primary_keys, s->nprimary), err));
        SL_TRY(put_json(r, options_json(s), err));
        SL_TRY(put_c(r, s->comment, err));
        put_millis(r, s->time_millis);
    }
    return SL_OK;
}

static int read_tags(struct reading *r, sl_err *err)
{
    struct sl_names names = {0};
    struct sl_snapshot s = {0};
    int rc;

    SL_GO(sl_tag_names(r->t, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        SL_GO(sl_tag_get(r->t, sl_str_c(names.v[i]), &s, err));
        SL_GO(begin_row(r, err));
        SL_GO(put_c(r, names.v[i], err));
        put_number(r, s.id);
        put_number(r, s.schema_id);
        put_millis(r, s.time_millis);
        put_number(r, s.total_record_count);
        put_number_if(r, s.tag_create_millis >= 0, s.tag_create_millis * 1000);
        put_number_if(r, s.tag_retained_seconds >= 0, (int64_t)s.tag_retained_seconds);
        sl_snapshot_release(&s);
    }
done:
    sl_snapshot_release(&s);
    sl_names_release(&names);
    return rc;
}

static int read_branches(struct reading *r, sl_err *err)
{
    struct sl_names names = {0};
    int rc;

    SL_GO(sl_branch_names(r->t, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        SL_GO(begin_row(r, err));
        SL_GO(put_c(r, names.v[i], err));
    }
done:
    sl_names_release(&names);
    return rc;
}

static int consumer_row(struct reading *r, sl_str folder, const struct sl_entry *e, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, bytes = SL_BUF_INIT;
    json_t *json = NULL;
    int64_t next = 0;
    int rc;

    sl_buf_printf(&path, SL_STRF "/%s", SL_STRV(folder), e->name);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_get(r->t->store, sl_buf_view(&path), 1 << 20, &bytes, err);
    if (rc == SL_ENOTFOUND) {
        rc = SL_OK;
        goto done;
    }
    SL_GO(rc);
    SL_GO(sl_json_parse(sl_buf_view(&bytes), &json, err));
    SL_GO(sl_json_i64_req(json, "nextSnapshot", &next, err));
    SL_GO(begin_row(r, err));
    SL_GO(put_c(r, e->name + strlen("consumer-"), err));
    put_number(r, next);
    put_millis(r, e->mtime_millis);
done:
    json_decref(json);
    sl_buf_release(&path);
    sl_buf_release(&bytes);
    return rc;
}

static int read_consumers(struct reading *r, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT;
    struct sl_entries found = {0};
    int rc;

    sl_branch_folder(&folder, r->t->branch ? r->t->branch : "", "consumer");
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(r->t->store, sl_buf_view(&folder), true, &found, err));
    for (size_t i = 0; i < found.n; i++)
        if (sl_str_starts(sl_str_c(found.v[i].name), "consumer-"))
            SL_GO(consumer_row(r, sl_buf_view(&folder), &found.v[i], err));
done:
    sl_entries_release(&found);
    sl_buf_release(&folder);
    return rc;
}

static const struct system_table {
    const char *name;
    int (*read)(struct reading *r, sl_err *err);
    struct {
        const char *name;
        const struct sl_type *type;
    } columns[COLUMNS_MAX];
} tables[] = {
    {"snapshots", read_snapshots,
     {{"snapshot_id", &number_type}, {"schema_id", &number_type}, {"commit_user", &text_type},
      {"commit_identifier", &number_type}, {"commit_kind", &text_type}, {"commit_time", &time_type},
      {"base_manifest_list", &text_type}, {"delta_manifest_list", &text_type}, {"total_record_count", &number_type},
      {"delta_record_count", &number_type}, {"watermark", &number_type}, {"operation", &text_type},
      {"index_manifest", &text_type}}},
    {"files", read_files,
     {{"partition", &text_type}, {"bucket", &number_type}, {"file_path", &text_type}, {"schema_id", &number_type},
      {"level", &number_type}, {"record_count", &number_type}, {"file_size_in_bytes", &number_type},
      {"min_sequence_number", &number_type}, {"max_sequence_number", &number_type}, {"creation_time", &time_type},
      {"file_source", &text_type}}},
    {"manifests", read_manifests,
     {{"file_name", &text_type}, {"file_size", &number_type}, {"num_added_files", &number_type},
      {"num_deleted_files", &number_type}, {"schema_id", &number_type}}},
    {"partitions", read_partitions,
     {{"partition", &text_type}, {"record_count", &number_type}, {"file_size_in_bytes", &number_type},
      {"file_count", &number_type}, {"last_update_time", &time_type}}},
    {"options", read_options, {{"key", &text_type}, {"value", &text_type}}},
    {"schemas", read_schemas,
     {{"schema_id", &number_type}, {"fields", &text_type}, {"partition_keys", &text_type}, {"primary_keys", &text_type},
      {"options", &text_type}, {"comment", &text_type}, {"update_time", &time_type}}},
    {"tags", read_tags,
     {{"tag_name", &text_type}, {"snapshot_id", &number_type}, {"schema_id", &number_type}, {"commit_time", &time_type},
      {"record_count", &number_type}, {"create_time", &time_type}, {"time_retained_seconds", &number_type}}},
    {"branches", read_branches, {{"branch_name", &text_type}}},
    {"consumers", read_consumers,
     {{"consumer_id", &text_type}, {"next_snapshot_id", &number_type}, {"last_seen", &time_type}}},
};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

const char *const sl_system_tables[TABLE_COUNT + 1] = {"snapshots", "files", "manifests", "partitions", "options",
                                                       "schemas", "tags", "branches", "consumers", NULL};

static int no_such_table(const struct sl_append *t, sl_str which, sl_err *err)
{
    struct sl_buf names = SL_BUF_INIT;

    for (size_t i = 0; i < TABLE_COUNT; i++)
        sl_buf_printf(&names, "%s$%s", i ? ", " : "", tables[i].name);
    sl_err_set(err, SL_ENOTFOUND, "%s has no system table \"$" SL_STRF "\"", t->label, SL_STRV(which));
    sl_err_hint(err, "there are %s", names.p ? names.p : "");
    sl_buf_release(&names);
    return SL_ENOTFOUND;
}

int sl_system_rows_open(struct sl_append *t, sl_str which, const struct sl_selector *sel, struct sl_system_rows **out,
                        sl_err *err)
{
    const struct system_table *table = NULL;

    *out = NULL;
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (sl_str_ieqc(which, tables[i].name))
            table = &tables[i];
    if (!table)
        return no_such_table(t, which, err);
    struct sl_system_rows *s = sl_calloc(1, sizeof *s);
    if (!s)
        return sl_err_nomem(err);
    while (s->nfields < COLUMNS_MAX && table->columns[s->nfields].name) {
        s->fields[s->nfields].name = table->columns[s->nfields].name;
        s->fields[s->nfields].type = table->columns[s->nfields].type;
        s->nfields++;
    }
    struct reading r = {.t = t, .sel = sel, .out = s};
    int rc = table->read(&r, err);
    if (rc != SL_OK) {
        sl_system_rows_free(s);
        return rc;
    }
    *out = s;
    return SL_OK;
}

void sl_system_rows_free(struct sl_system_rows *s)
{
    if (!s)
        return;
    sl_free(s->rows.v);
    sl_arena_release(&s->arena);
    sl_free(s);
}

/* ---- as a source ---- */

static int cursor_open(void *self, void **local, sl_err *err)
{
    (void)self;
    *local = sl_calloc(1, sizeof(size_t));
    return *local ? SL_OK : sl_err_nomem(err);
}

static void cursor_close(void *self, void *local)
{
    (void)self;
    sl_free(local);
}

static int fill_cell(struct sl_vector *v, size_t row, const struct cell *c, sl_err *err)
{
    if (!v->wanted)
        return SL_OK;
    if (c->null)
        return sl_vector_set_null(v, row, err);
    if (v->type->kind == SL_VARCHAR)
        return sl_vector_put_bytes(v, row, c->s, err);
    ((int64_t *)v->data)[row] = c->i;
    return SL_OK;
}

static int fill(void *self, void *local, struct sl_batch *out, sl_err *err)
{
    const struct sl_system_rows *s = self;
    size_t *at = local;

    for (out->rows = 0; out->rows < out->cap && *at < s->rows.n; out->rows++, ++*at)
        for (size_t c = 0; c < s->nfields; c++)
            SL_TRY(fill_cell(&out->cols[c], out->rows, &s->rows.v[*at][c], err));
    return SL_OK;
}

struct sl_row_source sl_system_rows_source(struct sl_system_rows *s)
{
    return (struct sl_row_source){.self = s, .fields = s->fields, .nfields = s->nfields, .max_threads = 1,
                                  .rows_hint = (int64_t)s->rows.n, .local_open = cursor_open,
                                  .local_close = cursor_close, .fill = fill};
}
