/* append.c - opening append tables. */
#include "table/append/append.h"

#include <string.h>

#include "table/append/append_priv.h"

/* ---- schemas ---- */

static void schema_file(const struct sl_append *t, int64_t id, struct sl_buf *out)
{
    sl_buf_printf(out, "%sschema/schema-%lld", t->meta, (long long)id);
}

int sl_append_get(struct sl_append *t, struct sl_buf *path, size_t max, struct sl_buf *out, sl_err *err)
{
    SL_TRY(sl_buf_ok(path, err));
    return sl_store_get(t->store, sl_buf_view(path), max, out, err);
}

static int load_schema(struct sl_append *t, int64_t id, struct sl_schema **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    struct sl_schema *s = sl_calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return sl_err_nomem(err);
    schema_file(t, id, &path);
    SL_GO(sl_append_get(t, &path, SL_SCHEMA_BYTES_MAX, &json, err));
    rc = sl_paimon_schema_decode(sl_buf_view(&json), s, err);
    if (rc == SL_OK && s->id != id)
        rc = sl_err_set(err, SL_ECORRUPT, "it says that its id is %lld", (long long)s->id);
    if (rc != SL_OK) {
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", t->path, SL_STRV(sl_buf_view(&path)));
        goto done;
    }
    *out = s;
    s = NULL;
done:
    if (s) {
        sl_schema_release(s);
        sl_free(s);
    }
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

static const struct sl_schema *cached_schema(struct sl_append *t, int64_t id)
{
    for (size_t i = 0; i < t->cache->schemas.n; i++)
        if (t->cache->schemas.v[i]->id == id)
            return t->cache->schemas.v[i];
    return NULL;
}

int sl_append_schema(struct sl_append *t, int64_t id, const struct sl_schema **out, sl_err *err)
{
    struct sl_schema *s;
    int rc = SL_OK;

    pthread_mutex_lock(&t->cache->lock);
    *out = cached_schema(t, id);
    if (!*out && (rc = load_schema(t, id, &s, err)) == SL_OK) {
        struct sl_schema **to = sl_vec_push(&t->cache->schemas);

        if (to) {
            *to = s;
            *out = s;
        } else {
            sl_schema_release(s);
            sl_free(s);
            rc = sl_err_nomem(err);
        }
    }
    pthread_mutex_unlock(&t->cache->lock);
    return rc;
}

static int schema_exists(struct sl_append *t, int64_t id, bool *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc;

    *out = false;
    schema_file(t, id, &path);
    rc = sl_buf_ok(&path, err);
    if (rc == SL_OK)
        rc = sl_store_exists(t->store, sl_buf_view(&path), out, err);
    sl_buf_release(&path);
    return rc;
}

static int list_newest(struct sl_append *t, int64_t *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf folder = SL_BUF_INIT;
    int64_t id, newest = -1;
    int rc;

    sl_buf_printf(&folder, "%sschema", t->meta);
    SL_GO(sl_buf_ok(&folder, err));
    SL_GO(sl_store_list(t->store, sl_buf_view(&folder), false, &all, err));
    for (size_t i = 0; i < all.n; i++)
        if (sl_numbered_name(all.v[i].name, "schema-", &id) && id > newest)
            newest = id;
    if (newest < 0)
        rc = sl_err_set(err, SL_ENOTFOUND, "there is no table in \"%s\": it has no schema files", t->path);
    *out = newest;
done:
    sl_entries_release(&all);
    sl_buf_release(&folder);
    return rc;
}

int sl_append_newest_schema_id(struct sl_append *t, int64_t *out, sl_err *err)
{
    int64_t newest = -1;
    bool there = true;

    for (int64_t id = t->schema ? t->schema->id : -1; id >= 0; id++) {
        SL_TRY(schema_exists(t, id, &there, err));
        if (!there)
            break;
        newest = id;
    }
    if (newest < 0)
        return list_newest(t, out, err);
    *out = newest;
    return SL_OK;
}

static int read_schema0(struct sl_append *t, struct sl_buf *out, sl_err *err)
{
    return sl_store_get(t->store, SL_LIT("schema/schema-0"), SL_SCHEMA_BYTES_MAX, out, err);
}

int sl_append_same_table(struct sl_append *t, sl_err *err)
{
    struct sl_buf now = SL_BUF_INIT;
    int rc = read_schema0(t, &now, err);
    bool same = rc == SL_OK && t->schema0 && now.n == t->schema0_n && memcmp(now.p, t->schema0, now.n) == 0;

    if (rc == SL_ENOTFOUND && !t->schema0) { /* cleaned away by somebody before we came */
        rc = schema_exists(t, t->schema->id, &same, err);
        if (rc == SL_OK && !same)
            rc = SL_ENOTFOUND;
    }
    sl_buf_release(&now);
    if (same)
        return SL_OK;
    if (rc != SL_OK && rc != SL_ENOTFOUND)
        return rc;
    return sl_err_set(err, SL_ECONFLICT, "the table %s was dropped or made anew while it was open", t->label);
}

/* ---- opening ---- */

static int note_schema0(struct sl_append *t, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT;
    int rc = read_schema0(t, &bytes, err);

    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        return SL_OK;
    }
    if (rc == SL_OK) {
        t->schema0_n = bytes.n;
        t->schema0 = bytes.n ? sl_buf_take(&bytes) : sl_strdup("");
        if (!t->schema0)
            rc = sl_err_nomem(err);
    }
    sl_buf_release(&bytes);
    return rc;
}

static int note_partition_types(struct sl_append *t, sl_err *err)
{
    t->npartition = t->schema->npartition;
    t->partition_types = sl_calloc(t->npartition + 1, sizeof *t->partition_types);
    if (!t->partition_types)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->npartition; i++)
        t->partition_types[i] = t->schema->fields[t->schema->partition_index[i]].type;
    return SL_OK;
}

static int set_branch(struct sl_append *t, const char *branch, sl_err *err)
{
    if (!branch || strcmp(branch, "main") == 0) {
        t->meta = sl_strdup("");
        return t->meta ? SL_OK : sl_err_nomem(err);
    }
    if (*branch == '\0' || strchr(branch, '/') || *branch == '.')
        return sl_err_set(err, SL_EINPUT, "\"%s\" cannot be the name of a branch", branch);
    t->branch = sl_strdup(branch);
    t->meta = sl_asprintf("branch/branch-%s/", branch);
    return t->branch && t->meta ? SL_OK : sl_err_nomem(err);
}

static int new_table(sl_str path, const char *branch, struct sl_append **out, sl_err *err)
{
    struct sl_append *t = sl_calloc(1, sizeof *t);
    int rc = SL_OK;

    *out = NULL;
    if (!t)
        return sl_err_nomem(err);
    t->cache = sl_calloc(1, sizeof *t->cache);
    if (!t->cache) {
        sl_free(t);
        return sl_err_nomem(err);
    }
    pthread_mutex_init(&t->cache->lock, NULL);
    SL_GO(sl_store_open_local(path, &t->store, err));
    t->path = sl_strdup(sl_store_root(t->store));
    if (!t->path)
        SL_GOTO_NOMEM(err);
    SL_GO(set_branch(t, branch, err));
    *out = t;
    t = NULL;
done:
    sl_append_close(t);
    return rc;
}

/* Schemas and the rest, once the folder and the label are known. */
static int load(struct sl_append *t, sl_err *err)
{
    int64_t newest;

    SL_TRY(list_newest(t, &newest, err));
    SL_TRY(sl_append_schema(t, newest, &t->schema, err));
    SL_TRY(note_partition_types(t, err));
    return note_schema0(t, err);
}

static int not_of_logs(sl_str path, sl_err *err)
{
    enum sl_table_kind kind;

    SL_TRY(sl_table_kind_of_path(path, &kind, err));
    if (kind != SL_TABLE_LOG)
        return SL_OK;
    return sl_err_set(err, SL_EUNSUPPORTED, "\"" SL_STRF "\" is a log table (Hudi), for which this is not supported", SL_STRV(path));
}

int sl_append_open(struct sl_catalog *c, sl_str db, sl_str table, const char *branch, struct sl_append **out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_append *t = NULL;
    bool has;
    int rc;

    *out = NULL;
    SL_GO(sl_catalog_table_path(c, db, table, &path, err));
    SL_GO(sl_catalog_has_table(c, db, table, &has, err));
    if (!has) {
        rc = sl_err_set(err, SL_ENOTFOUND, "there is no table \"" SL_STRF "." SL_STRF "\" in the warehouse \"%s\"", SL_STRV(db),
                        SL_STRV(table), sl_catalog_warehouse(c));
        goto done;
    }
    SL_GO(not_of_logs(sl_buf_view(&path), err));
    SL_GO(new_table(sl_buf_view(&path), branch, &t, err));
    t->label = sl_asprintf(SL_STRF "." SL_STRF, SL_STRV(db), SL_STRV(table));
    if (!t->label)
        SL_GOTO_NOMEM(err);
    rc = load(t, err);
    if (rc == SL_ENOTFOUND && t->branch)
        rc = sl_err_set(err, SL_ENOTFOUND, "the table %s has no branch \"%s\"", t->label, t->branch);
    if (rc != SL_OK)
        goto done;
    *out = t;
    t = NULL;
done:
    sl_append_close(t);
    sl_buf_release(&path);
    return rc;
}

int sl_append_open_path(sl_str path, const char *branch, struct sl_append **out, sl_err *err)
{
    struct sl_append *t = NULL;
    int rc;

    *out = NULL;
    SL_GO(not_of_logs(path, err));
    SL_GO(new_table(path, branch, &t, err));
    t->label = sl_asprintf("\"%s\"", t->path);
    if (!t->label)
        SL_GOTO_NOMEM(err);
    SL_GO(load(t, err));
    *out = t;
    t = NULL;
done:
    sl_append_close(t);
    return rc;
}

void sl_append_close(struct sl_append *t)
{
    if (!t)
        return;
    if (t->cache) {
        sl_manifest_cache_release(t->cache);
        for (size_t i = 0; i < t->cache->schemas.n; i++) {
            sl_schema_release(t->cache->schemas.v[i]);
            sl_free(t->cache->schemas.v[i]);
        }
        sl_free(t->cache->schemas.v);
        pthread_mutex_destroy(&t->cache->lock);
        sl_free(t->cache);
    }
    sl_store_close(t->store);
    sl_free(t->path);
    sl_free(t->label);
    sl_free(t->branch);
    sl_free(t->meta);
    sl_free(t->partition_types);
    sl_free(t->schema0);
    sl_free(t);
}

/* ---- what is refused ---- */

static int refuse(const struct sl_append *t, sl_err *err, const char *why)
{
    return sl_err_set(err, SL_EUNSUPPORTED, "the table %s is not supported: %s", t->label, why);
}

static bool option_is(const struct sl_schema *s, const char *key, const char *value)
{
    const char *v = sl_schema_option(s, key);

    return v && sl_str_ieqc(sl_str_c(v), value);
}

static int check_kind(const struct sl_append *t, sl_err *err)
{
    const struct sl_schema *s = t->schema;
    const char *bucket = sl_schema_option(s, "bucket");
    const char *type = sl_schema_option(s, "type");

    if (s->nprimary || sl_schema_option(s, "primary-key"))
        return refuse(t, err, "it has a primary key, and only append tables can be used");
    if (type && !sl_str_ieqc(sl_str_c(type), "table"))
        return sl_err_set(err, SL_EUNSUPPORTED, "the table %s is not supported: its type is '%s'", t->label, type);
    if (!bucket && s->version == 1)
        return refuse(t, err, "it has buckets (bucket = 1, the default of schema version 1)");
    if (bucket && strcmp(bucket, "-1") != 0)
        return sl_err_set(err, SL_EUNSUPPORTED, "the table %s is not supported: it has buckets (bucket = %s)", t->label, bucket);
    if (option_is(s, "data-evolution.enabled", "true"))
        return refuse(t, err, "it uses data evolution (files with parts of the columns)");
    return SL_OK;
}

static int check_writable(const struct sl_append *t, sl_err *err)
{
    const struct sl_schema *s = t->schema;
    const char *format = sl_schema_option(s, "file.format");

    if (t->branch)
        return refuse(t, err, "branches can only be read");
    if (option_is(s, "row-tracking.enabled", "true"))
        return refuse(t, err, "it tracks rows, so it can only be read");
    if (!format && s->version < 3)
        return refuse(t, err, "its data files are ORC (the default of old schemas), so it cannot be written");
    if (format && !sl_str_ieqc(sl_str_c(format), "parquet"))
        return sl_err_set(err, SL_EUNSUPPORTED, "the table %s cannot be written: its data files are '%s', not Parquet", t->label, format);
    if (option_is(s, "manifest.format", "orc"))
        return refuse(t, err, "its manifests are ORC");
    if (option_is(s, "index-file-in-data-file-dir", "true") && option_is(s, "deletion-vectors.enabled", "true"))
        return refuse(t, err, "it keeps index files beside the data (index-file-in-data-file-dir), so it can only be read");
    if (sl_schema_option(s, "data-file.external-paths"))
        return refuse(t, err, "its data files lie outside its folder (data-file.external-paths), so it can only be read");
    for (size_t i = 0; i < s->nfields; i++)
        SL_TRY(sl_type_check_writable(s->fields[i].name, s->fields[i].type, err));
    for (size_t i = 0; i < s->nfields; i++) {
        if (!sl_schema_folds(s, i))
            continue;
        /* The engine's writer would call the second one "a_1", and no reader would find it. */
        sl_err_set(err, SL_EUNSUPPORTED, "the table %s can only be read: column \"%s\" has the name of another one but for its case, and "
                                         "Parquet files with such names cannot be written", t->label, s->fields[i].name);
        sl_err_hint(err, "ALTER TABLE ... RENAME COLUMN gives one of them another name");
        return SL_EUNSUPPORTED;
    }
    return SL_OK;
}

int sl_append_check(const struct sl_append *t, enum sl_access access, sl_err *err)
{
    SL_TRY(check_kind(t, err));
    for (size_t i = 0; i < t->schema->nfields; i++)
        SL_TRY(sl_type_check_readable(t->schema->fields[i].name, t->schema->fields[i].type, err));
    return access == SL_WRITE ? check_writable(t, err) : SL_OK;
}

/* ---- where files lie ---- */

int sl_append_data_dir(const struct sl_append *t, const struct sl_value *partition, struct sl_buf *out, sl_err *err)
{
    const char *dir = sl_schema_option(t->schema, "data-file.path-directory");
    size_t before;

    if (dir && *dir) {
        sl_buf_addc(out, dir);
        if (!sl_str_ends(sl_buf_view(out), "/"))
            sl_buf_ch(out, '/');
    }
    before = out->n;
    SL_TRY(sl_partition_path(t->schema, partition, out, err));
    if (out->n > before && out->p[out->n - 1] != '/')
        sl_buf_ch(out, '/');
    sl_buf_addc(out, "bucket-0");
    return sl_buf_ok(out, err);
}

int sl_append_partition(const struct sl_append *t, sl_str partition, struct sl_value *values, sl_err *err)
{
    int rc = sl_binrow_decode(partition, t->partition_types, t->npartition, values, err);

    if (rc != SL_OK)
        sl_err_ctx(err, "partition in a manifest of the table %s", t->label);
    return rc;
}

void sl_append_partition_text(const struct sl_append *t, const struct sl_value *values, struct sl_buf *out)
{
    for (size_t i = 0; i < t->npartition; i++) {
        sl_buf_printf(out, "%s%s=", i ? "/" : "", t->schema->partition_keys[i]);
        sl_value_text(out, t->partition_types[i], &values[i]);
    }
}

/* file:///a/b, file:/a/b and /a/b give /a/b. */
static int local_uri(sl_str uri, struct sl_buf *out, sl_err *err)
{
    sl_str path = uri;

    if (sl_str_starts(path, "file:")) {
        path = sl_str_sub(path, 5, path.n);
        if (sl_str_starts(path, "///"))
            path = sl_str_sub(path, 2, path.n);
    }
    if (path.n == 0 || path.p[0] != '/' || sl_str_starts(path, "//"))
        return sl_err_set(err, SL_EUNSUPPORTED, "a data file lies at \"" SL_STRF "\", and only files of this machine can be read",
                          SL_STRV(uri));
    if (memchr(path.p, '\0', path.n))
        return sl_err_set(err, SL_ECORRUPT, "the path of a data file contains a zero byte");
    sl_buf_add(out, path);
    return sl_buf_ok(out, err);
}

static int check_file_name(sl_str name, sl_err *err)
{
    if (name.n == 0 || memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n) || sl_str_eqc(name, ".."))
        return sl_err_set(err, SL_ECORRUPT, "\"" SL_STRF "\" cannot be the name of a data file", SL_STRV(name));
    return SL_OK;
}

int sl_append_file_path(const struct sl_append *t, const struct sl_manifest_entry *e, struct sl_buf *out, bool *external, sl_err *err)
{
    struct sl_value *values;
    int rc;

    *external = e->file.external_path.p != NULL;
    if (*external)
        return local_uri(e->file.external_path, out, err);
    SL_TRY(check_file_name(e->file.file_name, err));
    values = sl_calloc(t->npartition + 1, sizeof *values);
    if (!values)
        return sl_err_nomem(err);
    SL_GO(sl_append_partition(t, e->partition, values, err));
    SL_GO(sl_append_data_dir(t, values, out, err));
    if (e->bucket != 0) { /* of a branch that is a table with buckets: upkeep must find its files */
        out->n--;
        sl_buf_printf(out, "%d", e->bucket);
    }
    sl_buf_ch(out, '/');
    sl_buf_add(out, e->file.file_name);
    rc = sl_buf_ok(out, err);
done:
    sl_free(values);
    return rc;
}

int sl_append_file_full(const struct sl_append *t, const struct sl_manifest_entry *e, struct sl_buf *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    bool external;
    int rc;

    SL_GO(sl_append_file_path(t, e, &path, &external, err));
    if (!external)
        sl_buf_printf(out, "%s/", t->path);
    sl_buf_add(out, sl_buf_view(&path));
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&path);
    return rc;
}

int sl_append_file_check(const struct sl_append *t, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_store *outside = NULL;
    struct sl_stat st;
    bool external;
    int rc;

    SL_GO(sl_append_file_path(t, e, &path, &external, err));
    if (external) {
        SL_GO(sl_store_open_local(SL_LIT("/"), &outside, err));
        SL_GO(sl_store_stat(outside, sl_str_sub(sl_buf_view(&path), 1, path.n), &st, err));
    } else {
        SL_GO(sl_store_stat(t->store, sl_buf_view(&path), &st, err));
    }
    if (st.is_dir || (int64_t)st.size != e->file.file_size)
        rc = sl_err_set(err, SL_ECORRUPT, "data file \"%s%s" SL_STRF "\" has %llu bytes, but should have %lld", external ? "" : t->path,
                        external ? "" : "/", SL_STRV(sl_buf_view(&path)), (unsigned long long)st.size, (long long)e->file.file_size);
done:
    sl_store_close(outside);
    sl_buf_release(&path);
    return rc;
}
