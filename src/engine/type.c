/* Types of ours to DuckDB's, and DuckDB's to text. */
#include <string.h>

#include "engine/engine_priv.h"

static duckdb_type simple(const struct sl_type *t)
{
    switch (t->kind) {
    case SL_BOOLEAN: return DUCKDB_TYPE_BOOLEAN;
    case SL_TINYINT: return DUCKDB_TYPE_TINYINT;
    case SL_SMALLINT: return DUCKDB_TYPE_SMALLINT;
    case SL_INT: return DUCKDB_TYPE_INTEGER;
    case SL_BIGINT: return DUCKDB_TYPE_BIGINT;
    case SL_FLOAT: return DUCKDB_TYPE_FLOAT;
    case SL_DOUBLE: return DUCKDB_TYPE_DOUBLE;
    case SL_CHAR: case SL_VARCHAR: return DUCKDB_TYPE_VARCHAR;
    case SL_BINARY: case SL_VARBINARY: return DUCKDB_TYPE_BLOB;
    case SL_DATE: return DUCKDB_TYPE_DATE;
    case SL_TIME: return DUCKDB_TYPE_TIME;
    case SL_TIMESTAMP: return t->precision > 6 ? DUCKDB_TYPE_TIMESTAMP_NS : DUCKDB_TYPE_TIMESTAMP;
    case SL_TIMESTAMP_LTZ: return DUCKDB_TYPE_TIMESTAMP_TZ;
    default: return DUCKDB_TYPE_INVALID;
    }
}

static int row_type(const struct sl_type *t, duckdb_logical_type *out, sl_err *err)
{
    int rc = SL_OK;
    duckdb_logical_type *types = sl_calloc(t->nfields ? t->nfields : 1, sizeof *types);
    const char **names = sl_calloc(t->nfields ? t->nfields : 1, sizeof *names);

    if (!types || !names)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < t->nfields; i++) {
        names[i] = t->fields[i].name;
        SL_GO(sl_engine__type(t->fields[i].type, &types[i], err));
    }
    *out = duckdb_create_struct_type(types, names, t->nfields);
done:
    for (size_t i = 0; types && i < t->nfields; i++)
        duckdb_destroy_logical_type(&types[i]);
    sl_free(types);
    sl_free(names);
    return rc;
}

int sl_engine__type(const struct sl_type *t, duckdb_logical_type *out, sl_err *err)
{
    int rc = SL_OK;
    duckdb_logical_type a = NULL, b = NULL;

    *out = NULL;
    if (simple(t) != DUCKDB_TYPE_INVALID) {
        *out = duckdb_create_logical_type(simple(t));
    } else if (t->kind == SL_DECIMAL) {
        *out = duckdb_create_decimal_type((uint8_t)t->precision, (uint8_t)t->scale);
    } else if (t->kind == SL_ARRAY) {
        SL_GO(sl_engine__type(t->element, &a, err));
        *out = duckdb_create_list_type(a);
    } else if (t->kind == SL_MAP) {
        SL_GO(sl_engine__type(t->key, &a, err));
        SL_GO(sl_engine__type(t->value, &b, err));
        *out = duckdb_create_map_type(a, b);
    } else if (t->kind == SL_ROW) {
        SL_GO(row_type(t, out, err));
    } else {
        static const char *const names[] = {[SL_MULTISET] = "MULTISET", [SL_VARIANT] = "VARIANT", [SL_BLOB] = "BLOB",
                                            [SL_VECTOR] = "VECTOR", [SL_GEOMETRY] = "GEOMETRY", [SL_GEOGRAPHY] = "GEOGRAPHY"};

        rc = sl_err_set(err, SL_EUNSUPPORTED, "type %s is not supported", names[t->kind]);
        goto done;
    }
    if (!*out)
        rc = sl_err_nomem(err);
done:
    duckdb_destroy_logical_type(&a);
    duckdb_destroy_logical_type(&b);
    return rc;
}

static const char *const type_names[] = {
    [DUCKDB_TYPE_BOOLEAN] = "BOOLEAN", [DUCKDB_TYPE_TINYINT] = "TINYINT", [DUCKDB_TYPE_SMALLINT] = "SMALLINT",
    [DUCKDB_TYPE_INTEGER] = "INTEGER", [DUCKDB_TYPE_BIGINT] = "BIGINT", [DUCKDB_TYPE_UTINYINT] = "UTINYINT",
    [DUCKDB_TYPE_USMALLINT] = "USMALLINT", [DUCKDB_TYPE_UINTEGER] = "UINTEGER", [DUCKDB_TYPE_UBIGINT] = "UBIGINT",
    [DUCKDB_TYPE_FLOAT] = "FLOAT", [DUCKDB_TYPE_DOUBLE] = "DOUBLE", [DUCKDB_TYPE_TIMESTAMP] = "TIMESTAMP",
    [DUCKDB_TYPE_DATE] = "DATE", [DUCKDB_TYPE_TIME] = "TIME", [DUCKDB_TYPE_INTERVAL] = "INTERVAL",
    [DUCKDB_TYPE_HUGEINT] = "HUGEINT", [DUCKDB_TYPE_UHUGEINT] = "UHUGEINT", [DUCKDB_TYPE_VARCHAR] = "VARCHAR",
    [DUCKDB_TYPE_BLOB] = "BLOB", [DUCKDB_TYPE_TIMESTAMP_S] = "TIMESTAMP_S", [DUCKDB_TYPE_TIMESTAMP_MS] = "TIMESTAMP_MS",
    [DUCKDB_TYPE_TIMESTAMP_NS] = "TIMESTAMP_NS", [DUCKDB_TYPE_UUID] = "UUID", [DUCKDB_TYPE_BIT] = "BIT",
    [DUCKDB_TYPE_TIME_TZ] = "TIME WITH TIME ZONE", [DUCKDB_TYPE_TIMESTAMP_TZ] = "TIMESTAMP WITH TIME ZONE",
    [DUCKDB_TYPE_BIGNUM] = "BIGNUM", [DUCKDB_TYPE_SQLNULL] = "\"NULL\"", [DUCKDB_TYPE_TIME_NS] = "TIME_NS",
};

/* Takes CHILD. */
static void child_sql(struct sl_buf *out, duckdb_logical_type child)
{
    sl_engine__type_sql(out, child);
    duckdb_destroy_logical_type(&child);
}

static void members_sql(struct sl_buf *out, duckdb_logical_type t, bool is_union)
{
    idx_t n = is_union ? duckdb_union_type_member_count(t) : duckdb_struct_type_child_count(t);

    sl_buf_addc(out, is_union ? "UNION(" : "STRUCT(");
    for (idx_t i = 0; i < n; i++) {
        char *name = is_union ? duckdb_union_type_member_name(t, i) : duckdb_struct_type_child_name(t, i);

        if (i)
            sl_buf_addc(out, ", ");
        sl_buf_sql_ident(out, sl_str_c(name));
        sl_buf_ch(out, ' ');
        child_sql(out, is_union ? duckdb_union_type_member_type(t, i) : duckdb_struct_type_child_type(t, i));
        duckdb_free(name);
    }
    sl_buf_ch(out, ')');
}

static void enum_sql(struct sl_buf *out, duckdb_logical_type t)
{
    sl_buf_addc(out, "ENUM(");
    for (uint32_t i = 0; i < duckdb_enum_dictionary_size(t); i++) {
        char *name = duckdb_enum_dictionary_value(t, i);

        if (i)
            sl_buf_addc(out, ", ");
        sl_buf_sql_string(out, sl_str_c(name));
        duckdb_free(name);
    }
    sl_buf_ch(out, ')');
}

void sl_engine__type_sql(struct sl_buf *out, duckdb_logical_type t)
{
    duckdb_type id = duckdb_get_type_id(t);
    char *alias = duckdb_logical_type_get_alias(t);

    if (alias) { /* JSON and the like */
        sl_buf_addc(out, alias);
        duckdb_free(alias);
    } else if (id == DUCKDB_TYPE_DECIMAL) {
        sl_buf_printf(out, "DECIMAL(%d,%d)", duckdb_decimal_width(t), duckdb_decimal_scale(t));
    } else if (id == DUCKDB_TYPE_LIST) {
        child_sql(out, duckdb_list_type_child_type(t));
        sl_buf_addc(out, "[]");
    } else if (id == DUCKDB_TYPE_ARRAY) {
        child_sql(out, duckdb_array_type_child_type(t));
        sl_buf_printf(out, "[%llu]", (unsigned long long)duckdb_array_type_array_size(t));
    } else if (id == DUCKDB_TYPE_MAP) {
        sl_buf_addc(out, "MAP(");
        child_sql(out, duckdb_map_type_key_type(t));
        sl_buf_addc(out, ", ");
        child_sql(out, duckdb_map_type_value_type(t));
        sl_buf_ch(out, ')');
    } else if (id == DUCKDB_TYPE_STRUCT || id == DUCKDB_TYPE_UNION) {
        members_sql(out, t, id == DUCKDB_TYPE_UNION);
    } else if (id == DUCKDB_TYPE_ENUM) {
        enum_sql(out, t);
    } else {
        bool known = id < sizeof type_names / sizeof *type_names && type_names[id];
        sl_buf_addc(out, known ? type_names[id] : "UNKNOWN");
    }
}
