/* evolve.c - making schemas: new ones, and by changes to an old one. */
#include "table/evolve.h"

#include <string.h>

#include "base/sys.h"

/* ---- names and types of columns ---- */

static int check_column_name(sl_str name, sl_err *err)
{
    static const char *const reserved[] = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"};
    size_t bad;

    if (name.n == 0)
        return sl_err_set(err, SL_EINPUT, "a column has an empty name");
    if (memchr(name.p, '\0', name.n) || !sl_utf8_valid(name, &bad))
        return sl_err_set(err, SL_EINPUT, "a column name is not valid UTF-8 text");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (sl_str_eqc(name, reserved[i]))
            return sl_err_set(err, SL_EINPUT, "column name \"%s\" is reserved", reserved[i]);
    if (sl_str_starts(name, "_KEY_"))
        return sl_err_set(err, SL_EINPUT, "column name \"" SL_STRF "\" is reserved: it starts with _KEY_", SL_STRV(name));
    return SL_OK;
}

/* A copy of T in A. Members of rows get the next ids when NEXT_ID is given, else they keep theirs. */
static const struct sl_type *copy_type(struct sl_arena *a, const struct sl_type *t, int32_t *next_id);

static bool copy_members(struct sl_arena *a, const struct sl_type *t, struct sl_type *copy, int32_t *next_id)
{
    struct sl_field *fields = sl_arena_array(a, t->nfields ? t->nfields : 1, sizeof *fields);

    if (!fields)
        return false;
    for (size_t i = 0; i < t->nfields; i++) {
        fields[i].id = next_id ? ++*next_id : t->fields[i].id;
        fields[i].name = sl_arena_strdup(a, sl_str_c(t->fields[i].name));
        fields[i].type = copy_type(a, t->fields[i].type, next_id);
        if (!fields[i].name || !fields[i].type)
            return false;
        if (t->fields[i].comment && !(fields[i].comment = sl_arena_strdup(a, sl_str_c(t->fields[i].comment))))
            return false;
        if (t->fields[i].default_text &&
            !(fields[i].default_text = sl_arena_strdup(a, sl_str_c(t->fields[i].default_text))))
            return false;
    }
    copy->fields = fields;
    return true;
}

static const struct sl_type *copy_type(struct sl_arena *a, const struct sl_type *t, int32_t *next_id)
{
    struct sl_type *copy = sl_arena_alloc(a, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *t;
    if (t->element && !(copy->element = copy_type(a, t->element, next_id)))
        return NULL;
    if (t->key && !(copy->key = copy_type(a, t->key, next_id)))
        return NULL;
    if (t->value && !(copy->value = copy_type(a, t->value, next_id)))
        return NULL;
    if (t->raw && !(copy->raw = sl_arena_strdup(a, sl_str_c(t->raw))))
        return NULL;
    if (t->nfields && !copy_members(a, t, copy, next_id))
        return NULL;
    return copy;
}

/* ---- a schema being made: growable lists over the arena of the schema ---- */

struct making {
    struct sl_schema *s;
    SL_VEC(struct sl_field) fields;
    SL_VEC(struct sl_option) options;
};

static void making_release(struct making *m)
{
    sl_free(m->fields.v);
    sl_free(m->options.v);
}

static const char *keep(struct making *m, const char *text)
{
    return text ? sl_arena_strdup(&m->s->arena, sl_str_c(text)) : NULL;
}

static ptrdiff_t find_field(const struct making *m, const char *name)
{
    for (size_t i = 0; i < m->fields.n; i++)
        if (strcmp(m->fields.v[i].name, name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static int add_field(struct making *m, const struct sl_field *f, bool new_ids, sl_err *err)
{
    struct sl_field *to = sl_vec_push(&m->fields);

    if (!to)
        return sl_err_nomem(err);
    to->id = new_ids ? ++m->s->highest_field_id : f->id;
    to->name = keep(m, f->name);
    to->type = copy_type(&m->s->arena, f->type, new_ids ? &m->s->highest_field_id : NULL);
    to->comment = keep(m, f->comment);
    to->default_text = keep(m, f->default_text);
    if (!to->name || !to->type || (f->comment && !to->comment) || (f->default_text && !to->default_text))
        return sl_err_nomem(err);
    return SL_OK;
}

static const char *get_option(const struct making *m, const char *key)
{
    for (size_t i = 0; i < m->options.n; i++)
        if (strcmp(m->options.v[i].key, key) == 0)
            return m->options.v[i].value;
    return NULL;
}

static int set_option(struct making *m, const char *key, const char *value, sl_err *err)
{
    struct sl_option *o = NULL;

    for (size_t i = 0; i < m->options.n && !o; i++)
        if (strcmp(m->options.v[i].key, key) == 0)
            o = &m->options.v[i];
    if (!o) {
        o = sl_vec_push(&m->options);
        if (!o || !(o->key = keep(m, key)))
            return sl_err_nomem(err);
    }
    o->value = keep(m, value);
    return o->value ? SL_OK : sl_err_nomem(err);
}

static void reset_option(struct making *m, const char *key)
{
    for (size_t i = 0; i < m->options.n; i++) {
        if (strcmp(m->options.v[i].key, key) == 0) {
            memmove(&m->options.v[i], &m->options.v[i + 1], (m->options.n - i - 1) * sizeof *m->options.v);
            m->options.n--;
            return;
        }
    }
}

/* Move the lists into the schema's arena and find the partition columns. */
static int finish(struct making *m, sl_err *err)
{
    struct sl_schema *s = m->s;
    struct sl_field *fields = sl_arena_array(&s->arena, m->fields.n + 1, sizeof *fields);
    struct sl_option *options = sl_arena_array(&s->arena, m->options.n + 1, sizeof *options);
    size_t *index = sl_arena_array(&s->arena, s->npartition + 1, sizeof *index);

    if (!fields || !options || !index)
        return sl_err_nomem(err);
    if (m->fields.n)
        memcpy(fields, m->fields.v, m->fields.n * sizeof *fields);
    if (m->options.n)
        memcpy(options, m->options.v, m->options.n * sizeof *options);
    for (size_t i = 0; i < s->npartition; i++) {
        ptrdiff_t at = find_field(m, s->partition_keys[i]);

        if (at < 0)
            return sl_err_set(err, SL_EINPUT, "partition column \"%s\" is not a column of the table", s->partition_keys[i]);
        index[i] = (size_t)at;
    }
    s->fields = fields;
    s->nfields = m->fields.n;
    s->options = options;
    s->noptions = m->options.n;
    s->partition_index = index;
    return SL_OK;
}

/* ---- options ---- */

static int refuse_option(const char *key, const char *value, const char *why, sl_err *err)
{
    return sl_err_set(err, SL_EUNSUPPORTED, "option '%s' = '%s' is not supported: %s", key, value, why);
}

static bool is_true(const char *value)
{
    return value && sl_str_ieqc(sl_str_c(value), "true");
}

static int check_kind_options(const struct sl_schema *s, sl_err *err)
{
    const char *v;

    if ((v = sl_schema_option(s, "write-mode")) && !sl_str_ieqc(sl_str_c(v), "table"))
        return refuse_option("write-mode", v, "the only kind of table is 'table', an append table", err);
    if ((v = sl_schema_option(s, "type")) && !sl_str_ieqc(sl_str_c(v), "table"))
        return refuse_option("type", v, "the only type is 'table'", err);
    if ((v = sl_schema_option(s, "bucket")) && strcmp(v, "-1") != 0)
        return refuse_option("bucket", v, "append tables have no buckets ('-1')", err);
    if ((v = sl_schema_option(s, "bucket-key")))
        return refuse_option("bucket-key", v, "append tables have no buckets", err);
    if ((v = sl_schema_option(s, "primary-key")))
        return refuse_option("primary-key", v, "append tables have no primary key", err);
    if ((v = sl_schema_option(s, "partition")))
        return refuse_option("partition", v, "write PARTITIONED BY (...)", err);
    if ((v = sl_schema_option(s, "changelog-producer")) && !sl_str_ieqc(sl_str_c(v), "none"))
        return refuse_option("changelog-producer", v, "append tables have no changelog", err);
    if ((v = sl_schema_option(s, "full-compaction.delta-commits")))
        return refuse_option("full-compaction.delta-commits", v, "append tables have no full compaction by commits", err);
    if ((v = sl_schema_option(s, "path")))
        return refuse_option("path", v, "a table lies in its warehouse", err);
    if (is_true(v = sl_schema_option(s, "row-tracking.enabled")))
        return refuse_option("row-tracking.enabled", v, "rows cannot be tracked on writing", err);
    if (is_true(v = sl_schema_option(s, "data-evolution.enabled")))
        return refuse_option("data-evolution.enabled", v, "files with parts of the columns cannot be written", err);
    return SL_OK;
}

static int check_format_options(const struct sl_schema *s, sl_err *err)
{
    static const char *const codecs[] = {"zstd", "snappy", "lz4", "lz4_raw", "gzip", "none", "uncompressed"};
    const char *v;
    bool known = false;

    if ((v = sl_schema_option(s, "file.format")) && !sl_str_ieqc(sl_str_c(v), "parquet"))
        return refuse_option("file.format", v, "data files are written as 'parquet' only", err);
    if ((v = sl_schema_option(s, "manifest.format")) && !sl_str_ieqc(sl_str_c(v), "avro"))
        return refuse_option("manifest.format", v, "manifests are written as 'avro' only", err);
    if ((v = sl_schema_option(s, "file.compression"))) {
        for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
            known = known || sl_str_ieqc(sl_str_c(v), codecs[i]);
        if (!known)
            return refuse_option("file.compression", v, "known are zstd, snappy, lz4, gzip and none", err);
    }
    if ((v = sl_schema_option(s, "data-file.path-directory")) &&
        (*v == '/' || *v == '\0' || strstr(v, "..") || strchr(v, '\\')))
        return refuse_option("data-file.path-directory", v, "it must be the relative path of a folder", err);
    return SL_OK;
}

static int check_values(const struct sl_schema *s, sl_err *err)
{
    static const char *const bytes[] = {"target-file-size", "manifest.target-file-size",
                                        "manifest.full-compaction-threshold-size", "source.split.target-size",
                                        "source.split.open-file-cost"};
    static const char *const spans[] = {"snapshot.time-retained", "consumer.expiration-time", "tag.default-time-retained",
                                        "continuous.discovery-interval"};
    static const char *const counts[] = {"snapshot.num-retained.min", "snapshot.num-retained.max", "snapshot.expire.limit",
                                         "compaction.min.file-num", "manifest.merge-min-count"};
    static const char *const flags[] = {"write-only", "partition.legacy-name", "dynamic-partition-overwrite",
                                        "deletion-vectors.enabled"};
    uint64_t u;
    int64_t i64;
    bool b;

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        SL_TRY(sl_schema_option_bytes(s, bytes[i], 0, &u, err));
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        SL_TRY(sl_schema_option_millis(s, spans[i], 0, &u, err));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        SL_TRY(sl_schema_option_i64(s, counts[i], 0, &i64, err));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        SL_TRY(sl_schema_option_bool(s, flags[i], false, &b, err));
    return SL_OK;
}

int sl_schema_check_options(const struct sl_schema *s, sl_err *err)
{
    SL_TRY(check_kind_options(s, err));
    SL_TRY(check_format_options(s, err));
    return check_values(s, err);
}

/* ---- the whole ---- */

static int check_partition_key(const struct sl_field *f, sl_err *err)
{
    const struct sl_type *t = f->type;

    if (!sl_type_atomic(t))
        return sl_err_set(err, SL_EINPUT, "partition column \"%s\" must be of an atomic type", f->name);
    if (t->kind == SL_BINARY || t->kind == SL_VARBINARY || t->kind == SL_FLOAT || t->kind == SL_DOUBLE) {
        sl_err_set(err, SL_EUNSUPPORTED, "partition column \"%s\" is of a type whose folder names differ between readers", f->name);
        sl_err_hint(err, "partition by a STRING, an integer or a DATE column");
        return SL_EUNSUPPORTED;
    }
    return SL_OK;
}

static int check_columns(const struct making *m, sl_err *err)
{
    if (m->fields.n == 0)
        return sl_err_set(err, SL_EINPUT, "a table needs at least one column");
    for (size_t i = 0; i < m->fields.n; i++) {
        const struct sl_field *f = &m->fields.v[i];

        SL_TRY(check_column_name(sl_str_c(f->name), err));
        SL_TRY(sl_type_check_writable(f->name, f->type, err));
        for (size_t j = 0; j < i; j++)
            if (strcmp(f->name, m->fields.v[j].name) == 0)
                return sl_err_set(err, SL_EINPUT, "column \"%s\" is there twice", f->name);
    }
    return SL_OK;
}

static int copy_names(struct making *m, const char *const *from, size_t n, const char *const **to, sl_err *err)
{
    const char **v = sl_arena_array(&m->s->arena, n + 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (!(v[i] = keep(m, from[i])))
            return sl_err_nomem(err);
    *to = v;
    return SL_OK;
}

static int check_keys(const struct sl_schema *s, sl_err *err)
{
    for (size_t i = 0; i < s->npartition; i++) {
        SL_TRY(check_partition_key(&s->fields[s->partition_index[i]], err));
        for (size_t j = 0; j < i; j++)
            if (s->partition_index[i] == s->partition_index[j])
                return sl_err_set(err, SL_EINPUT, "partition column \"%s\" is named twice", s->partition_keys[i]);
    }
    return SL_OK;
}

static int refuse_primary_key(sl_err *err)
{
    sl_err_set(err, SL_EUNSUPPORTED, "PRIMARY KEY needs 'write-mode' = 'log' and an 'ordering-field'; "
                                     "Paimon's own primary-key tables are not supported");
    sl_err_hint(err, "leave PRIMARY KEY out to make an append table");
    return SL_EUNSUPPORTED;
}

static int add_options(struct making *m, const struct sl_table_def *def, sl_err *err)
{
    for (size_t i = 0; i < def->noptions; i++) {
        if (get_option(m, def->options[i].key))
            return sl_err_set(err, SL_EINPUT, "option '%s' is there twice", def->options[i].key);
        SL_TRY(set_option(m, def->options[i].key, def->options[i].value, err));
    }
    if (!get_option(m, "bucket"))
        SL_TRY(set_option(m, "bucket", "-1", err));
    /* Else a Flink job that writes the table would compact it as well. */
    if (!get_option(m, "write-only"))
        SL_TRY(set_option(m, "write-only", "true", err));
    return SL_OK;
}

int sl_schema_make(const struct sl_table_def *def, struct sl_schema *out, sl_err *err)
{
    struct making m = {out, {0}, {0}};
    int rc = SL_OK;

    memset(out, 0, sizeof *out);
    if (def->nprimary)
        return refuse_primary_key(err);
    out->version = 3;
    out->highest_field_id = -1;
    out->time_millis = sl_now_millis();
    for (size_t i = 0; i < def->nfields; i++)
        SL_GO(add_field(&m, &def->fields[i], true, err));
    SL_GO(check_columns(&m, err));
    SL_GO(copy_names(&m, def->partition_keys, def->npartition, &out->partition_keys, err));
    out->npartition = def->npartition;
    SL_GO(copy_names(&m, NULL, 0, &out->primary_keys, err));
    if (def->comment && !(out->comment = keep(&m, def->comment)))
        SL_GOTO_NOMEM(err);
    SL_GO(add_options(&m, def, err));
    SL_GO(finish(&m, err));
    SL_GO(check_keys(out, err));
    SL_GO(sl_schema_check_options(out, err));
done:
    making_release(&m);
    if (rc != SL_OK)
        sl_schema_release(out);
    return rc;
}

/* ---- changes ---- */

static bool is_partition_key(const struct making *m, const char *name)
{
    for (size_t i = 0; i < m->s->npartition; i++)
        if (strcmp(m->s->partition_keys[i], name) == 0)
            return true;
    return false;
}

static int known_column(const struct making *m, const char *name, size_t *at, sl_err *err)
{
    ptrdiff_t i = find_field(m, name);

    if (i < 0)
        return sl_err_set(err, SL_ENOTFOUND, "the table has no column \"%s\"", name);
    *at = (size_t)i;
    return SL_OK;
}

/* Put the field at AT where the change wants it. */
static int place(struct making *m, size_t at, const struct sl_change *c, sl_err *err)
{
    struct sl_field f = m->fields.v[at];
    size_t to = at, after;

    if (!c->first && !c->after)
        return SL_OK;
    if (c->after) {
        SL_TRY(known_column(m, c->after, &after, err));
        if (after == at)
            return sl_err_set(err, SL_EINPUT, "column \"%s\" cannot stand after itself", f.name);
        to = after < at ? after + 1 : after;
    } else {
        to = 0;
    }
    memmove(&m->fields.v[at], &m->fields.v[at + 1], (m->fields.n - at - 1) * sizeof f);
    memmove(&m->fields.v[to + 1], &m->fields.v[to], (m->fields.n - 1 - to) * sizeof f);
    m->fields.v[to] = f;
    return SL_OK;
}

static int add_column(struct making *m, const struct sl_change *c, sl_err *err)
{
    struct sl_field f = {.name = c->name, .type = c->type, .comment = c->comment};

    SL_TRY(check_column_name(sl_str_c(c->name), err));
    if (find_field(m, c->name) >= 0)
        return sl_err_set(err, SL_EEXISTS, "the table has a column \"%s\" already", c->name);
    if (!c->type->nullable)
        return sl_err_set(err, SL_EINPUT, "column \"%s\" cannot be added as NOT NULL: the rows there are have no value for it", c->name);
    SL_TRY(sl_type_check_writable(c->name, c->type, err));
    SL_TRY(add_field(m, &f, true, err));
    return place(m, m->fields.n - 1, c, err);
}

static int drop_column(struct making *m, const struct sl_change *c, sl_err *err)
{
    size_t at;

    SL_TRY(known_column(m, c->name, &at, err));
    if (is_partition_key(m, c->name))
        return sl_err_set(err, SL_EINPUT, "column \"%s\" cannot be dropped: the table is partitioned by it", c->name);
    if (m->fields.n == 1)
        return sl_err_set(err, SL_EINPUT, "column \"%s\" cannot be dropped: it is the only one", c->name);
    memmove(&m->fields.v[at], &m->fields.v[at + 1], (m->fields.n - at - 1) * sizeof *m->fields.v);
    m->fields.n--;
    return SL_OK;
}

static int rename_column(struct making *m, const struct sl_change *c, sl_err *err)
{
    size_t at;

    SL_TRY(known_column(m, c->name, &at, err));
    if (strcmp(c->name, c->new_name) == 0)
        return SL_OK;
    if (is_partition_key(m, c->name))
        return sl_err_set(err, SL_EINPUT, "column \"%s\" cannot be renamed: the table is partitioned by it", c->name);
    SL_TRY(check_column_name(sl_str_c(c->new_name), err));
    if (find_field(m, c->new_name) >= 0)
        return sl_err_set(err, SL_EEXISTS, "the table has a column \"%s\" already", c->new_name);
    m->fields.v[at].name = keep(m, c->new_name);
    return m->fields.v[at].name ? SL_OK : sl_err_nomem(err);
}

static int change_type(struct making *m, const struct sl_change *c, sl_err *err)
{
    struct sl_buf old = SL_BUF_INIT, new = SL_BUF_INIT;
    struct sl_type *type;
    size_t at;

    SL_TRY(known_column(m, c->name, &at, err));
    const struct sl_type *from = m->fields.v[at].type;
    if (sl_type_same(from, c->type, true))
        return SL_OK;
    if (is_partition_key(m, c->name))
        return sl_err_set(err, SL_EINPUT, "the type of column \"%s\" cannot change: the table is partitioned by it", c->name);
    SL_TRY(sl_type_check_writable(c->name, c->type, err));
    if (!sl_type_widens(from, c->type)) {
        sl_type_sql(&old, from);
        sl_type_sql(&new, c->type);
        sl_err_set(err, SL_EINPUT, "column \"%s\" cannot change from %s to %s: not every value would fit", c->name,
                   old.p ? old.p : "?", new.p ? new.p : "?");
        sl_err_hint(err, "a type can only become wider: INT to BIGINT, FLOAT to DOUBLE, VARCHAR(10) to VARCHAR(20)");
        sl_buf_release(&old);
        sl_buf_release(&new);
        return SL_EINPUT;
    }
    type = (struct sl_type *)copy_type(&m->s->arena, c->type, NULL);
    if (!type)
        return sl_err_nomem(err);
    type->nullable = from->nullable;
    m->fields.v[at].type = type;
    return SL_OK;
}

static int drop_not_null(struct making *m, const struct sl_change *c, sl_err *err)
{
    struct sl_type *type;
    size_t at;

    SL_TRY(known_column(m, c->name, &at, err));
    if (m->fields.v[at].type->nullable)
        return SL_OK;
    type = (struct sl_type *)copy_type(&m->s->arena, m->fields.v[at].type, NULL);
    if (!type)
        return sl_err_nomem(err);
    type->nullable = true;
    m->fields.v[at].type = type;
    return SL_OK;
}

static int change_comment(struct making *m, const struct sl_change *c, sl_err *err)
{
    const char *text = keep(m, c->comment);
    size_t at;

    if (c->comment && !text)
        return sl_err_nomem(err);
    if (!c->name) {
        m->s->comment = text;
        return SL_OK;
    }
    SL_TRY(known_column(m, c->name, &at, err));
    m->fields.v[at].comment = text;
    return SL_OK;
}

static int check_option_change(const struct making *m, const struct sl_change *c, bool has_data, sl_err *err)
{
    static const char *const never[] = {"bucket"};
    static const char *const fixed[] = {"type", "bucket-key", "primary-key", "partition", "merge-engine", "rowkind.field",
                                        "data-file.path-directory", "row-tracking.enabled", "data-evolution.enabled",
                                        "index-file-in-data-file-dir", "partition.default-name", "partition.legacy-name"};
    const char *old = get_option(m, c->name);
    bool same = c->kind == SL_SET_OPTION ? old && strcmp(old, c->value) == 0 : !old;

    if (same)
        return SL_OK;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(c->name, never[i]) == 0)
            return sl_err_set(err, SL_EINPUT, "option '%s' cannot be changed", c->name);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && has_data; i++)
        if (strcmp(c->name, fixed[i]) == 0)
            return sl_err_set(err, SL_EINPUT, "option '%s' cannot be changed once the table has data", c->name);
    if (has_data && strcmp(c->name, "deletion-vectors.enabled") == 0 && !is_true(get_option(m, "deletion-vectors.modifiable")))
        return sl_err_set(err, SL_EINPUT, "option '%s' cannot be changed once the table has data, unless 'deletion-vectors.modifiable' "
                                          "is 'true'", c->name);
    return SL_OK;
}

static int apply_change(struct making *m, const struct sl_change *c, bool has_data, sl_err *err)
{
    size_t at;

    switch (c->kind) {
    case SL_ADD_COLUMN:
        return add_column(m, c, err);
    case SL_DROP_COLUMN:
        return drop_column(m, c, err);
    case SL_RENAME_COLUMN:
        return rename_column(m, c, err);
    case SL_CHANGE_TYPE:
        SL_TRY(change_type(m, c, err));
        SL_TRY(known_column(m, c->name, &at, err));
        return place(m, at, c, err);
    case SL_DROP_NOT_NULL:
        return drop_not_null(m, c, err);
    case SL_CHANGE_COMMENT:
        return change_comment(m, c, err);
    case SL_MOVE_COLUMN:
        SL_TRY(known_column(m, c->name, &at, err));
        return place(m, at, c, err);
    case SL_SET_OPTION:
        SL_TRY(check_option_change(m, c, has_data, err));
        return set_option(m, c->name, c->value, err);
    case SL_RESET_OPTION:
        SL_TRY(check_option_change(m, c, has_data, err));
        reset_option(m, c->name);
        return SL_OK;
    }
    return sl_err_set(err, SL_EBUG, "unknown change of a schema");
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_schema(const struct sl_schema *a, const struct sl_schema *b)
{
    if (a->nfields != b->nfields || a->noptions != b->noptions || !same_text(a->comment, b->comment))
        return false;
    for (size_t i = 0; i < a->nfields; i++) {
        const struct sl_field *f = &a->fields[i], *g = &b->fields[i];

        if (f->id != g->id || strcmp(f->name, g->name) != 0 || !sl_type_same(f->type, g->type, false) ||
            !same_text(f->comment, g->comment))
            return false;
    }
    for (size_t i = 0; i < a->noptions; i++)
        if (!same_text(a->options[i].value, sl_schema_option(b, a->options[i].key)))
            return false;
    return true;
}

int sl_schema_change(const struct sl_schema *from, const struct sl_change *changes, size_t n, bool has_data, struct sl_schema *out,
                     bool *changed, sl_err *err)
{
    struct making m = {out, {0}, {0}};
    int rc = SL_OK;

    memset(out, 0, sizeof *out);
    out->version = 3;
    out->id = from->id + 1;
    out->highest_field_id = from->highest_field_id;
    out->time_millis = sl_now_millis();
    for (size_t i = 0; i < from->nfields; i++)
        SL_GO(add_field(&m, &from->fields[i], false, err));
    for (size_t i = 0; i < from->noptions; i++)
        SL_GO(set_option(&m, from->options[i].key, from->options[i].value, err));
    SL_GO(copy_names(&m, from->partition_keys, from->npartition, &out->partition_keys, err));
    out->npartition = from->npartition;
    SL_GO(copy_names(&m, from->primary_keys, from->nprimary, &out->primary_keys, err));
    out->nprimary = from->nprimary;
    if (from->comment && !(out->comment = keep(&m, from->comment)))
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        SL_GO(apply_change(&m, &changes[i], has_data, err));
    SL_GO(finish(&m, err));
    SL_GO(sl_schema_check_options(out, err));
    *changed = !same_schema(from, out);
done:
    making_release(&m);
    if (rc != SL_OK)
        sl_schema_release(out);
    return rc;
}
