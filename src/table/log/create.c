/* create.c - makes log tables. */
#include "table/log/create.h"

#include <string.h>

#include "base/sys.h"
#include "format/hudi_avro.h"
#include "format/hudi_properties.h"
#include "table/log/log.h"

#define HIVE_STYLE "hoodie.datasource.write.hive_style_partitioning"
#define URL_ENCODE "hoodie.datasource.write.partitionpath.urlencode"

static const char *option(const struct sl_table_def *def, const char *key)
{
    for (size_t i = 0; i < def->noptions; i++)
        if (strcmp(def->options[i].key, key) == 0)
            return def->options[i].value;
    return NULL;
}

bool sl_log_create_wanted(const struct sl_table_def *def)
{
    const char *mode = option(def, "write-mode");

    return mode && sl_str_ieqc(sl_str_c(mode), "log");
}

/* The ordering field by our name or by those of stock. */
static const char *ordering_field(const struct sl_table_def *def)
{
    static const char *const keys[] = {"ordering-field", "hoodie.table.precombine.field", "hoodie.datasource.write.precombine.field",
                                       "hoodie.table.ordering.fields"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (option(def, keys[i]))
            return option(def, keys[i]);
    return NULL;
}

/* ---- checks ---- */

static const struct sl_field *field(const struct sl_table_def *def, const char *name)
{
    for (size_t i = 0; i < def->nfields; i++)
        if (strcmp(def->fields[i].name, name) == 0)
            return &def->fields[i];
    return NULL;
}

static int check_names(const struct sl_table_def *def, sl_err *err)
{
    if (def->nfields == 0)
        return sl_err_set(err, SL_EINPUT, "a table needs at least one column");
    for (size_t i = 0; i < def->nfields; i++) {
        const char *name = def->fields[i].name;
        const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

        if (name[0] == '\0' || name[n] != '\0' || (name[0] >= '0' && name[0] <= '9'))
            return sl_err_set(err, SL_EUNSUPPORTED, "the column name \"%s\" is not possible in a log table, whose names are letters, digits and '_'", name);
        if (sl_hudi_is_meta(sl_str_c(name)))
            return sl_err_set(err, SL_EINPUT, "the column name \"%s\" is one of Hudi's own", name);
        for (size_t k = 0; k < i; k++)
            if (sl_str_ieqc(sl_str_c(name), def->fields[k].name))
                return sl_err_set(err, SL_EINPUT, "column \"%s\" is there twice", name);
    }
    return SL_OK;
}

static int check_list(const struct sl_table_def *def, const char *const *names, size_t n, const char *what, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct sl_field *f = field(def, names[i]);

        if (!f)
            return sl_err_set(err, SL_EINPUT, "the %s \"%s\" is no column of the table", what, names[i]);
        switch (f->type->kind) {
        case SL_BOOLEAN: case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_BIGINT: case SL_DECIMAL: case SL_CHAR: case SL_VARCHAR:
        case SL_DATE:
            break;
        default:
            sl_err_set(err, SL_EUNSUPPORTED, "the %s \"%s\" is of a type whose text is not the same in all engines", what, names[i]);
            sl_err_hint(err, "use a text, a whole number, a DECIMAL, a BOOLEAN or a DATE");
            return SL_EUNSUPPORTED;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return sl_err_set(err, SL_EINPUT, "the %s \"%s\" is named twice", what, names[i]);
    }
    return SL_OK;
}

static int check_ordering(const struct sl_table_def *def, const char *name, sl_err *err)
{
    const struct sl_field *f = name ? field(def, name) : NULL;

    if (!name) {
        sl_err_set(err, SL_EINPUT, "a table with 'write-mode' = 'log' needs an 'ordering-field': the column that tells which of two rows of a key is newer");
        sl_err_hint(err, "add 'ordering-field' = '<column>' to the options");
        return SL_EINPUT;
    }
    if (!f)
        return sl_err_set(err, SL_EINPUT, "the ordering field \"%s\" is no column of the table", name);
    if (!sl_type_atomic(f->type))
        return sl_err_set(err, SL_EINPUT, "the ordering field \"%s\" is of a nested type, which does not order rows", name);
    return SL_OK;
}

/* What makes the table what it is cannot be an option of the user. */
static int check_options(const struct sl_table_def *def, sl_err *err)
{
    static const char *const fixed[] = {
        "hoodie.table.name", "hoodie.database.name", "hoodie.table.checksum", "hoodie.table.create.schema", "hoodie.table.recordkey.fields",
        "hoodie.table.partition.fields", "hoodie.timeline.layout.version", "hoodie.table.keygenerator.class", "hoodie.populate.meta.fields",
        "hoodie.table.base.file.format", "hoodie.table.metadata.partitions", "hoodie.table.timeline.timezone",
        "hoodie.datasource.write.drop.partition.columns", "hoodie.archivelog.folder"};
    static const struct sl_option only[] = {{"hoodie.table.type", "MERGE_ON_READ"}, {"hoodie.datasource.write.table.type", "MERGE_ON_READ"},
                                            {"hoodie.table.version", "6"}, {"hoodie.write.table.version", "6"}};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (option(def, fixed[i]))
            return sl_err_set(err, SL_EINPUT, "the option '%s' cannot be set: it follows from the table", fixed[i]);
    for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
        const char *v = option(def, only[i].key);

        if (v && strcmp(v, only[i].value) != 0)
            return sl_err_set(err, SL_EUNSUPPORTED, "'%s' = '%s' is not supported: log tables are made with '%s'", only[i].key, v, only[i].value);
    }
    for (size_t i = 0; i < def->noptions; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(def->options[i].key, def->options[k].key) == 0)
                return sl_err_set(err, SL_EINPUT, "option '%s' is there twice", def->options[i].key);
    return SL_OK;
}

static int flag(const struct sl_table_def *def, const char *key, bool dflt, bool *out, sl_err *err)
{
    const char *v = option(def, key);

    *out = v ? sl_str_ieqc(sl_str_c(v), "true") : dflt;
    if (v && !*out && !sl_str_ieqc(sl_str_c(v), "false"))
        return sl_err_set(err, SL_EINPUT, "the option '%s' is true or false, not '%s'", key, v);
    return SL_OK;
}

static int check(const struct sl_table_def *def, sl_err *err)
{
    SL_TRY(check_names(def, err));
    if (def->nprimary == 0) {
        sl_err_set(err, SL_EINPUT, "a table with 'write-mode' = 'log' needs a PRIMARY KEY (...) NOT ENFORCED and an 'ordering-field'");
        sl_err_hint(err, "leave 'write-mode' = 'log' out for an append table, which has no key");
        return SL_EINPUT;
    }
    SL_TRY(check_list(def, def->primary_keys, def->nprimary, "key column", err));
    SL_TRY(check_list(def, def->partition_keys, def->npartition, "partition column", err));
    SL_TRY(check_ordering(def, ordering_field(def), err));
    return check_options(def, err);
}

/* ---- making ---- */

static bool is_ours(const char *key)
{
    static const char *const used[] = {"write-mode", "ordering-field", "hoodie.table.precombine.field", "hoodie.datasource.write.precombine.field",
                                       "hoodie.table.ordering.fields", "hoodie.table.type", "hoodie.datasource.write.table.type",
                                       "hoodie.table.version", "hoodie.write.table.version", HIVE_STYLE, URL_ENCODE};

    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        if (strcmp(key, used[i]) == 0)
            return true;
    return false;
}

static int views(struct sl_arena *a, const char *const *names, size_t n, const sl_str **out, sl_err *err)
{
    sl_str *v = sl_arena_array(a, n + 1, sizeof *v);

    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++)
        v[i] = sl_str_c(names[i]);
    *out = v;
    return SL_OK;
}

static int make_properties(sl_str db, sl_str table, const struct sl_table_def *def, struct sl_buf *out, sl_err *err)
{
    struct sl_arena arena = SL_ARENA_INIT;
    struct sl_hudi_properties p = SL_HUDI_PROPERTIES_INIT;
    struct sl_hudi_new_table t = {.name = table, .database = db, .nkeys = def->nprimary, .npartition = def->npartition,
                                  .ordering_field = sl_str_c(ordering_field(def))};
    struct sl_buf schema = SL_BUF_INIT;
    int rc;

    SL_GO(flag(def, HIVE_STYLE, true, &t.hive_style, err));
    SL_GO(flag(def, URL_ENCODE, false, &t.url_encode, err));
    SL_GO(views(&arena, def->primary_keys, def->nprimary, &t.key_fields, err));
    SL_GO(views(&arena, def->partition_keys, def->npartition, &t.partition_fields, err));
    SL_GO(sl_hudi_schema_encode(table, def->fields, def->nfields, false, &schema, err));
    t.create_schema = sl_buf_view(&schema);
    SL_GO(sl_hudi_properties_new(&t, &p, err));
    for (size_t i = 0; i < def->noptions; i++)
        if (!is_ours(def->options[i].key))
            SL_GO(sl_hudi_properties_set(&p, sl_str_c(def->options[i].key), sl_str_c(def->options[i].value), err));
    if (def->comment)
        SL_GO(sl_hudi_properties_set(&p, SL_LIT("sluice.comment"), sl_str_c(def->comment), err));
    rc = sl_hudi_properties_encode(&p, sl_now_millis(), out, err);
done:
    sl_buf_release(&schema);
    sl_hudi_properties_release(&p);
    sl_arena_release(&arena);
    return rc;
}

int sl_log_create(struct sl_store *store, sl_str dir, sl_str db, sl_str table, const struct sl_table_def *def, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, path = SL_BUF_INIT;
    int rc;

    SL_GO(check(def, err));
    SL_GO(make_properties(db, table, def, &bytes, err));
    sl_buf_add(&path, dir);
    sl_buf_addc(&path, "/" SL_HUDI_PROPERTIES_FILE);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(store, sl_buf_view(&path), sl_buf_view(&bytes), err);
done:
    sl_buf_release(&bytes);
    sl_buf_release(&path);
    return rc;
}
