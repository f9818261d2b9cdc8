/* keygen.c - record keys and partition paths as Hudi's key generators make them. */
#include <string.h>

#include "table/log/write_priv.h"

ptrdiff_t sl_log_column(const struct sl_log *t, sl_str name)
{
    return sl_schema_index(&t->schema->columns, name);
}

static int column_of(const struct sl_log *t, sl_str name, size_t *out, sl_err *err)
{
    ptrdiff_t i = sl_log_column(t, name);

    if (i < 0)
        return sl_err_set(err, SL_ECORRUPT, "the table %s has no column \"" SL_STRF "\", which its properties name", t->label, SL_STRV(name));
    *out = (size_t)i;
    return SL_OK;
}

static int check_one(const struct sl_log *t, sl_str name, const char *what, sl_err *err)
{
    const struct sl_type *type;
    struct sl_buf text = SL_BUF_INIT;
    size_t i;

    SL_TRY(column_of(t, name, &i, err));
    type = t->schema->columns.fields[i].type;
    switch (type->kind) {
    case SL_BOOLEAN: case SL_TINYINT: case SL_SMALLINT: case SL_INT: case SL_BIGINT: case SL_DECIMAL: case SL_CHAR: case SL_VARCHAR: case SL_DATE:
        return SL_OK;
    default:
        sl_type_sql(&text, type);
        sl_err_set(err, SL_EUNSUPPORTED, "the %s \"" SL_STRF "\" is %s: its text is not the same in all engines", what, SL_STRV(name),
                   text.p ? text.p : "");
        sl_err_hint(err, "use a text, a whole number, a DECIMAL, a BOOLEAN or a DATE");
        sl_buf_release(&text);
        return SL_EUNSUPPORTED;
    }
}

int sl_keygen_check(const struct sl_log *t, sl_err *err)
{
    for (size_t i = 0; i < t->config.nkeys; i++)
        SL_TRY(check_one(t, t->config.key_fields[i], "key column", err));
    for (size_t i = 0; i < t->config.npartition; i++)
        SL_TRY(check_one(t, t->config.partition_fields[i], "partition column", err));
    return SL_OK;
}

/* One field is the key itself. */
static int simple_key(const struct sl_log *t, struct sl_buf *out, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;
    size_t c;

    SL_TRY(column_of(t, t->config.key_fields[0], &c, err));
    sl_buf_printf(&text, "column \"" SL_STRF "\" is the key, and a row has no value for it", SL_STRV(t->config.key_fields[0]));
    sl_buf_printf(out, "CASE WHEN c%zu IS NULL OR CAST(c%zu AS VARCHAR) = '' THEN error(", c, c);
    sl_buf_sql_string(out, sl_buf_view(&text));
    sl_buf_printf(out, ") ELSE CAST(c%zu AS VARCHAR) END", c);
    out->failed = out->failed || text.failed;
    sl_buf_release(&text);
    return sl_buf_ok(out, err);
}

/* f1:v1,f2:v2 */
static int complex_key(const struct sl_log *t, struct sl_buf *out, sl_err *err)
{
    size_t c;

    sl_buf_addc(out, "CASE WHEN coalesce(");
    for (size_t i = 0; i < t->config.nkeys; i++) {
        SL_TRY(column_of(t, t->config.key_fields[i], &c, err));
        sl_buf_printf(out, "%snullif(CAST(c%zu AS VARCHAR), '')", i ? ", " : "", c);
    }
    sl_buf_addc(out, ") IS NULL THEN error('the key columns are all empty in a row') ELSE ");
    for (size_t i = 0; i < t->config.nkeys; i++) {
        struct sl_buf name = SL_BUF_INIT;

        SL_TRY(column_of(t, t->config.key_fields[i], &c, err));
        sl_buf_printf(&name, "%s" SL_STRF ":", i ? "," : "", SL_STRV(t->config.key_fields[i]));
        sl_buf_addc(out, i ? " || " : "");
        sl_buf_sql_string(out, sl_buf_view(&name));
        sl_buf_printf(out, " || CASE WHEN c%zu IS NULL THEN '__null__' WHEN CAST(c%zu AS VARCHAR) = '' THEN '__empty__' ELSE CAST(c%zu AS VARCHAR) END",
                      c, c, c);
        out->failed = out->failed || name.failed;
        sl_buf_release(&name);
    }
    sl_buf_addc(out, " END");
    return sl_buf_ok(out, err);
}

int sl_keygen_key_sql(const struct sl_log *t, struct sl_buf *out, sl_err *err)
{
    return t->config.nkeys == 1 ? simple_key(t, out, err) : complex_key(t, out, err);
}

int sl_keygen_partition_sql(const struct sl_log *t, const struct sl_partitions *p, struct sl_buf *out, sl_err *err)
{
    size_t c;

    if (t->config.npartition == 0) {
        sl_buf_addc(out, "0");
        return sl_buf_ok(out, err);
    }
    sl_buf_printf(out, "sluice_partition(%llu", (unsigned long long)sl_partitions_id(p));
    for (size_t i = 0; i < t->config.npartition; i++) {
        SL_TRY(column_of(t, t->config.partition_fields[i], &c, err));
        sl_buf_printf(out, ", nullif(nullif(CAST(c%zu AS VARCHAR), ''), '" SL_HUDI_DEFAULT_PARTITION "')", c);
    }
    sl_buf_ch(out, ')');
    return sl_buf_ok(out, err);
}

int sl_keygen_path(const struct sl_log *t, const sl_str *values, struct sl_buf *out, sl_err *err)
{
    const struct sl_hudi_config *c = &t->config;

    for (size_t i = 0; i < c->npartition; i++) {
        const size_t from = out->n + (i ? 1 : 0);

        if (i)
            sl_buf_ch(out, '/');
        sl_hudi_partition_level(out, c->partition_fields[i], values[i], c->hive_style, c->url_encode);
        SL_TRY(sl_buf_ok(out, err));
        sl_str level = {out->p + from, out->n - from};
        if (memchr(level.p, '/', level.n)) {
            sl_err_set(err, SL_EINPUT, "the value \"" SL_STRF "\" of the partition column \"" SL_STRF "\" has a '/' in it", SL_STRV(values[i]),
                       SL_STRV(c->partition_fields[i]));
            sl_err_hint(err, "a table made with 'hoodie.datasource.write.partitionpath.urlencode' = 'true' can hold it");
            return SL_EINPUT;
        }
        if (level.p[0] == '.' || memchr(level.p, 0, level.n) || level.n > 240)
            return sl_err_set(err, SL_EINPUT, "the value \"" SL_STRF "\" of the partition column \"" SL_STRF "\" cannot name a folder",
                              SL_STRV(values[i]), SL_STRV(c->partition_fields[i]));
    }
    return SL_OK;
}
