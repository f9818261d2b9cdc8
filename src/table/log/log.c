/* log.c - opening log tables. */
#include "table/log/log.h"

#include <string.h>

#include "table/log/timeline.h"

enum { PROPERTIES_BYTES_MAX = 16 << 20 };

int sl_log_get(struct sl_log *t, const char *path, size_t max, struct sl_buf *out, sl_err *err)
{
    return sl_store_get(t->store, sl_str_c(path), max, out, err);
}

const char *sl_log_option(const struct sl_log *t, const char *key, const char *dflt)
{
    const sl_str v = sl_hudi_properties_get(&t->properties, key);

    return v.p ? v.p : dflt;
}

/* ---- columns ---- */

void sl_log_schema_free(struct sl_log_schema *s)
{
    if (!s)
        return;
    sl_hudi_schema_release(&s->hudi);
    sl_arena_release(&s->columns.arena); /* the columns themselves are of the other arena */
    sl_free(s);
}

/* Names of LIST as an array of the schema. */
static int take_names(struct sl_arena *a, const sl_str *list, size_t n, const char *const **out, sl_err *err)
{
    const char **v = sl_arena_array(a, n ? n : 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        v[i] = sl_arena_strdup(a, list[i]);
        if (!v[i])
            return sl_err_nomem(err);
    }
    *out = v;
    return SL_OK;
}

static int take_options(const struct sl_log *t, struct sl_schema *s, sl_err *err)
{
    struct sl_option *v = sl_arena_array(&s->arena, t->properties.n + 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->properties.n; i++) {
        v[i].key = sl_arena_strdup(&s->arena, t->properties.v[i].key);
        v[i].value = sl_arena_strdup(&s->arena, t->properties.v[i].value);
        if (!v[i].key || !v[i].value)
            return sl_err_nomem(err);
    }
    s->options = v;
    s->noptions = t->properties.n;
    return SL_OK;
}

static int take_keys(const struct sl_log *t, struct sl_schema *s, sl_err *err)
{
    const struct sl_hudi_config *c = &t->config;
    const char *const *keys, *const *all;
    size_t *index = sl_arena_array(&s->arena, c->npartition + 1, sizeof *index);
    const char **kept;

    SL_TRY(take_names(&s->arena, c->key_fields, c->nkeys, &keys, err));
    s->primary_keys = keys;
    s->nprimary = c->nkeys;
    SL_TRY(take_names(&s->arena, c->partition_fields, c->npartition, &all, err));
    kept = sl_arena_array(&s->arena, c->npartition + 1, sizeof *kept);
    if (!index || !kept)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->npartition; i++) {
        const ptrdiff_t at = sl_schema_index(s, sl_str_c(all[i]));

        if (at < 0) /* before the first commit, or a member of a record */
            continue;
        index[s->npartition] = (size_t)at;
        kept[s->npartition++] = all[i];
    }
    s->partition_keys = kept;
    s->partition_index = index;
    return SL_OK;
}

int sl_log_schema_make(const struct sl_log *t, sl_str json, struct sl_log_schema **out, sl_err *err)
{
    struct sl_log_schema *s = sl_calloc(1, sizeof *s);
    struct sl_buf plain = SL_BUF_INIT;
    int rc = SL_OK;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    if (json.n) {
        SL_GO(sl_hudi_schema_drop_meta(json, &plain, err));
        SL_GO(sl_hudi_schema_parse(sl_buf_view(&plain), &s->hudi, err));
        s->columns.fields = s->hudi.fields;
        s->columns.nfields = s->hudi.nfields;
    }
    s->columns.version = t->config.version;
    s->columns.highest_field_id = (int32_t)s->columns.nfields - 1;
    SL_GO(take_options(t, &s->columns, err));
    SL_GO(take_keys(t, &s->columns, err));
    *out = s;
    s = NULL;
done:
    if (rc != SL_OK)
        sl_err_ctx(err, "the columns of table %s", t->label);
    sl_buf_release(&plain);
    sl_log_schema_free(s);
    return rc;
}

static int newest_schema(struct sl_log *t, sl_err *err)
{
    struct sl_buf json = SL_BUF_INIT;
    int rc;

    SL_GO(sl_timeline_schema(t->timeline, SL_INSTANT_LAST, &json, err));
    if (json.n == 0)
        sl_buf_add(&json, t->config.create_schema);
    SL_GO(sl_buf_ok(&json, err));
    rc = sl_log_schema_make(t, sl_buf_view(&json), &t->schema, err);
done:
    sl_buf_release(&json);
    return rc;
}

/* ---- opening ---- */

/* The backup counts while the file itself is missing or damaged: it is there while an update is under way. */
static int read_properties(struct sl_log *t, const char *path, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    int rc;

    SL_GO(sl_log_get(t, path, PROPERTIES_BYTES_MAX, &bytes, err));
    rc = sl_hudi_properties_parse(sl_buf_view(&bytes), &t->properties, err);
    if (rc == SL_OK)
        rc = sl_hudi_config_read(&t->properties, &t->config, err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "\"%s/%s\"", t->path, path);
        sl_hudi_properties_release(&t->properties);
    }
done:
    sl_buf_release(&bytes);
    return rc;
}

static int read_config(struct sl_log *t, sl_err *err)
{
    sl_err first = SL_ERR_INIT;
    int rc = read_properties(t, SL_HUDI_PROPERTIES_FILE, &first);

    if ((rc == SL_ENOTFOUND || rc == SL_ECORRUPT) && read_properties(t, SL_HUDI_PROPERTIES_BACKUP, NULL) == SL_OK)
        return SL_OK;
    if (rc == SL_ENOTFOUND)
        return sl_err_set(err, SL_ENOTFOUND, "\"%s\" is not a log table: there is no %s in it", t->path, SL_HUDI_PROPERTIES_FILE);
    if (rc != SL_OK && err)
        *err = first;
    return rc;
}

static int set_folders(struct sl_log *t, sl_err *err)
{
    const struct sl_hudi_config *c = &t->config;

    if (c->layout == 1) {
        t->instants = sl_strdup(SL_HUDI_DIR);
        t->history = sl_asprintf(SL_HUDI_DIR "/" SL_STRF, SL_STRV(c->archive_folder));
    } else {
        t->instants = sl_asprintf(SL_HUDI_DIR "/" SL_STRF, SL_STRV(c->timeline_path));
        t->history = sl_asprintf(SL_HUDI_DIR "/" SL_STRF "/" SL_STRF, SL_STRV(c->timeline_path), SL_STRV(c->history_path));
    }
    return t->instants && t->history ? SL_OK : sl_err_nomem(err);
}

static int set_partition_types(struct sl_log *t, sl_err *err)
{
    static const struct sl_type text = {.kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
    const struct sl_hudi_config *c = &t->config;

    t->partition_types = sl_calloc(c->npartition + 1, sizeof *t->partition_types);
    if (!t->partition_types)
        return sl_err_nomem(err);
    for (size_t i = 0; i < c->npartition; i++) {
        const struct sl_field *f = sl_schema_field(&t->schema->columns, c->partition_fields[i]);

        t->partition_types[i] = f ? f->type : &text;
    }
    return SL_OK;
}

/* LABEL NULL: the path. */
static int open_folder(sl_str path, const char *label, struct sl_log **out, sl_err *err)
{
    struct sl_log *t = sl_calloc(1, sizeof *t);
    int rc;

    *out = NULL;
    if (!t)
        return sl_err_nomem(err);
    SL_GO(sl_store_open_local(path, &t->store, err));
    t->path = sl_strdup(sl_store_root(t->store));
    t->label = label ? sl_strdup(label) : sl_str_dup(path);
    if (!t->path || !t->label)
        SL_GOTO_NOMEM(err);
    SL_GO(read_config(t, err));
    SL_GO(set_folders(t, err));
    SL_GO(sl_timeline_load(t, &t->timeline, err));
    SL_GO(newest_schema(t, err));
    SL_GO(set_partition_types(t, err));
    *out = t;
    t = NULL;
done:
    sl_log_close(t);
    return rc;
}

int sl_log_open(struct sl_catalog *c, sl_str db, sl_str table, struct sl_log **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    char *label = NULL;
    int rc;

    *out = NULL;
    SL_GO(sl_catalog_table_path(c, db, table, &path, err));
    label = sl_asprintf(SL_STRF "." SL_STRF, SL_STRV(db), SL_STRV(table));
    if (!label)
        SL_GOTO_NOMEM(err);
    rc = open_folder(sl_buf_view(&path), label, out, err);
done:
    sl_free(label);
    sl_buf_release(&path);
    return rc;
}

int sl_log_open_path(sl_str path, struct sl_log **out, sl_err *err)
{
    return open_folder(path, NULL, out, err);
}

void sl_log_close(struct sl_log *t)
{
    if (!t)
        return;
    sl_log_schema_free(t->schema);
    sl_timeline_free(t->timeline);
    sl_free(t->partition_types);
    sl_free(t->instants);
    sl_free(t->history);
    sl_hudi_properties_release(&t->properties);
    sl_free(t->path);
    sl_free(t->label);
    sl_store_close(t->store);
    sl_free(t);
}

/* ---- what is supported ---- */

static int refuse(const struct sl_log *t, sl_err *err, const char *fmt, ...) SL_PRINTF(3, 4);

static int refuse(const struct sl_log *t, sl_err *err, const char *fmt, ...)
{
    char what[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return sl_err_set(err, SL_EUNSUPPORTED, "table %s: %s", t->label, what);
}

int sl_log_check_read(const struct sl_log *t, sl_err *err)
{
    const struct sl_hudi_config *c = &t->config;
    const struct sl_schema *s = &t->schema->columns;

    if (c->drop_partition_columns)
        return refuse(t, err, "its files lack the partition columns (hoodie.datasource.write.drop.partition.columns = true), which is not supported");
    for (size_t i = 0; i < s->nfields; i++) {
        SL_TRY(sl_type_check_readable(s->fields[i].name, s->fields[i].type, err));
        for (size_t j = 0; j < i; j++)
            if (sl_str_ieqc(sl_str_c(s->fields[i].name), s->fields[j].name))
                return refuse(t, err, "columns \"%s\" and \"%s\" differ only in case, which is not supported", s->fields[j].name,
                              s->fields[i].name);
    }
    if (c->type == SL_HUDI_COW)
        return SL_OK;
    if (c->merge == SL_HUDI_MERGE_CUSTOM)
        return refuse(t, err, "rows are merged by \"" SL_STRF "\", which is not supported; event time and commit time are",
                      SL_STRV(c->merge_text));
    if (!c->populate_meta)
        return refuse(t, err, "a merge-on-read table without meta columns (hoodie.populate.meta.fields = false) is not supported");
    if (c->nordering > 1)
        return refuse(t, err, "several ordering fields (" SL_STRF ", " SL_STRF ", ...) are not supported", SL_STRV(c->ordering_fields[0]),
                      SL_STRV(c->ordering_fields[1]));
    return SL_OK;
}

static int check_metadata_table(const struct sl_log *t, sl_err *err)
{
    bool there;

    SL_TRY(sl_store_exists(t->store, SL_LIT(SL_HUDI_DIR "/metadata"), &there, err));
    if (!t->config.mdt_partitions.n && !t->config.mdt_inflight.n && !there)
        return SL_OK;
    refuse(t, err, "it has a metadata table, which writes of Sluice would make stale, so it is read only");
    sl_err_hint(err, "switch the metadata table off with hoodie.metadata.enable = false in its writers, which removes it");
    return SL_EUNSUPPORTED;
}

int sl_log_check_write(const struct sl_log *t, sl_err *err)
{
    const struct sl_hudi_config *c = &t->config;

    if (c->version != 6)
        return refuse(t, err, "it is of table version %d; Sluice writes version 6 only", c->version);
    if (c->type == SL_HUDI_COW)
        return refuse(t, err, "it is a copy-on-write table; Sluice writes merge-on-read tables only");
    SL_TRY(sl_log_check_read(t, err));
    SL_TRY(check_metadata_table(t, err));
    if (c->cdc)
        return refuse(t, err, "it logs changes for CDC (hoodie.table.cdc.enabled = true), which Sluice does not write");
    if (c->keygen == SL_HUDI_KEYGEN_TIMESTAMP || c->keygen == SL_HUDI_KEYGEN_CUSTOM)
        return refuse(t, err, "its keys are made by a %s key generator, which Sluice does not have",
                      c->keygen == SL_HUDI_KEYGEN_TIMESTAMP ? "timestamp-based" : "custom");
    if (!c->nkeys)
        return refuse(t, err, "it has no record key fields");
    return SL_OK;
}
