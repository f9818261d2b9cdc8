#include "sql/tree.h"

#include <string.h>

/* ---- reading ---- */

/* Copies a number, or writes null for one that 64 bits do not hold. */
static size_t copy_number(sl_str json, size_t i, struct sl_buf *out)
{
    size_t k = i;
    int64_t v;

    while (k < json.n && memchr("+-.0123456789eE", json.p[k], 15))
        k++;
    const sl_str number = sl_str_sub(json, i, k);
    if (memchr(number.p, '.', number.n) || memchr(number.p, 'e', number.n) ||
        memchr(number.p, 'E', number.n) || sl_parse_i64(number, &v))
        sl_buf_add(out, number);
    else
        sl_buf_addc(out, "null");
    return k;
}

static size_t copy_string(sl_str json, size_t i, struct sl_buf *out)
{
    size_t k = i + 1;

    while (k < json.n && json.p[k] != '"')
        k += json.p[k] == '\\' ? 2 : 1;
    k = k < json.n ? k + 1 : json.n;
    sl_buf_add(out, sl_str_sub(json, i, k));
    return k;
}

int sl_tree_read(sl_str json, json_t **out, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    size_t i = 0;

    *out = NULL;
    while (i < json.n) {
        const char c = json.p[i];

        if (c == '"') {
            i = copy_string(json, i, &b);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            i = copy_number(json, i, &b);
        } else {
            sl_buf_ch(&b, c);
            i++;
        }
    }
    int rc = sl_buf_ok(&b, err);
    if (rc == SL_OK)
        rc = sl_json_parse(sl_buf_view(&b), out, err);
    sl_buf_release(&b);
    return rc;
}

static sl_str member(const json_t *obj, const char *name)
{
    const json_t *v = json_object_get(obj, name);

    return json_is_string(v) ? (sl_str){json_string_value(v), json_string_length(v)}
                             : (sl_str){"", 0};
}

static bool is_type(const json_t *obj, const char *name)
{
    return sl_str_eqc(member(obj, "type"), name);
}

static int refused(const json_t *answer, sl_err *err)
{
    const sl_str message = member(answer, "error_message"), position = member(answer, "position");
    const bool parser = sl_str_eqc(member(answer, "error_type"), "parser") || position.n > 0;
    int64_t at = -1;

    if (!parser) {
        sl_err_set(err, SL_EUNSUPPORTED, "this form of a query is not supported");
        sl_err_hint(err, "write it as a SELECT");
        return SL_EUNSUPPORTED;
    }
    sl_err_set(err, SL_ESQL, SL_STRF, SL_STRV(message));
    if (sl_parse_i64(position, &at))
        sl_err_at(err, at);
    return SL_ESQL;
}

int sl_tree_parse(struct sl_conn *c, sl_str sql, json_t **out, sl_err *err)
{
    struct sl_buf q = SL_BUF_INIT;
    char *answer = NULL;
    int rc;

    *out = NULL;
    sl_buf_addc(&q, "SELECT json_serialize_sql(");
    sl_buf_sql_string(&q, sql);
    sl_buf_addc(&q, ")");
    SL_GO(sl_buf_ok(&q, err));
    SL_GO(sl_conn_query_str(c, sl_buf_view(&q), &answer, err));
    SL_GO(sl_tree_read(sl_str_c(answer), out, err));
    if (json_is_true(json_object_get(*out, "error")))
        rc = refused(*out, err);
done:
    sl_free(answer);
    sl_buf_release(&q);
    if (rc != SL_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- names ---- */

struct scope {
    sl_str name;
    const struct scope *outer;
};

static bool same_name(sl_str a, sl_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];

        x = x >= 'A' && x <= 'Z' ? x + 32 : x;
        y = y >= 'A' && y <= 'Z' ? y + 32 : y;
        if (x != y)
            return false;
    }
    return true;
}

static bool hidden(const struct scope *scope, sl_str name)
{
    for (; scope; scope = scope->outer)
        if (same_name(scope->name, name))
            return true;
    return false;
}

static int walk(const json_t *node, const struct scope *scope, struct sl_tree_names *out,
                sl_err *err);

static int add_table(const json_t *node, const struct scope *scope, struct sl_tree_names *out,
                     sl_err *err)
{
    const struct sl_tree_table t = {
        .at = (size_t)json_integer_value(json_object_get(node, "query_location")),
        .catalog = member(node, "catalog_name"),
        .schema = member(node, "schema_name"),
        .table = member(node, "table_name"),
        .alias = member(node, "alias"),
    };

    if (t.schema.n == 0 && t.catalog.n == 0 && hidden(scope, t.table))
        return SL_OK;
    if (!json_is_integer(json_object_get(node, "query_location")))
        return sl_err_set(err, SL_EUNSUPPORTED,
                          "the table \"" SL_STRF "\" in this form of a query is not supported",
                          SL_STRV(t.table));
    struct sl_tree_table *slot = sl_vec_push(&out->tables);
    if (!slot)
        return sl_err_nomem(err);
    *slot = t;
    return SL_OK;
}

static int add_column(const json_t *node, struct sl_tree_names *out, sl_err *err)
{
    const json_t *names = json_object_get(node, "column_names"),
                 *at = json_object_get(node, "query_location");

    if (json_array_size(names) < 3 || !json_is_integer(at))
        return SL_OK;
    struct sl_tree_column *slot = sl_vec_push(&out->columns);
    if (!slot)
        return sl_err_nomem(err);
    slot->at = (size_t)json_integer_value(at);
    slot->first = sl_str_c(json_string_value(json_array_get(names, 0)));
    slot->second = sl_str_c(json_string_value(json_array_get(names, 1)));
    return SL_OK;
}

static int walk_members(const json_t *node, const struct scope *scope, struct sl_tree_names *out,
                        sl_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)node, key, value)
    {
        if (strcmp(key, "cte_map") != 0)
            SL_TRY(walk(value, scope, out, err));
    }
    return SL_OK;
}

/* The common table expressions one after another, each seen by those behind it, and then the rest
 * of the node. */
static int walk_ctes(const json_t *node, const json_t *map, size_t i, const struct scope *scope,
                     struct sl_tree_names *out, sl_err *err)
{
    if (i == json_array_size(map))
        return walk_members(node, scope, out, err);
    const json_t *entry = json_array_get(map, i);
    const struct scope inner = {member(entry, "key"), scope};

    SL_TRY(walk(json_object_get(entry, "value"), scope, out, err));
    return walk_ctes(node, map, i + 1, &inner, out, err);
}

static int walk(const json_t *node, const struct scope *scope, struct sl_tree_names *out,
                sl_err *err)
{
    const json_t *map = json_object_get(json_object_get(node, "cte_map"), "map");
    size_t i;
    json_t *value;

    if (json_is_array(node)) {
        json_array_foreach((json_t *)node, i, value)
        {
            SL_TRY(walk(value, scope, out, err));
        }
        return SL_OK;
    }
    if (!json_is_object(node))
        return SL_OK;
    if (is_type(node, "BASE_TABLE"))
        return add_table(node, scope, out, err);
    if (is_type(node, "COLUMN_REF"))
        return add_column(node, out, err);
    if (is_type(node, "RECURSIVE_CTE_NODE")) {
        const struct scope itself = {member(node, "cte_name"), scope};

        SL_TRY(walk(json_object_get(node, "left"), scope, out, err));
        return walk(json_object_get(node, "right"), &itself, out, err);
    }
    if (json_array_size(map) > 0)
        return walk_ctes(node, map, 0, scope, out, err);
    return walk_members(node, scope, out, err);
}

int sl_tree_names(const json_t *tree, struct sl_tree_names *out, sl_err *err)
{
    return walk(json_object_get(tree, "statements"), NULL, out, err);
}

void sl_tree_names_release(struct sl_tree_names *n)
{
    sl_free(n->tables.v);
    sl_free(n->columns.v);
    *n = (struct sl_tree_names){0};
}

static bool part_named(const json_t *parts, const char *name)
{
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (same_name(sl_str_c(json_string_value(json_array_get(parts, i))), sl_str_c(name)))
            return true;
    return false;
}

bool sl_tree_names_column(const json_t *tree, const char *name, size_t *at)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_array(tree)) {
        json_array_foreach((json_t *)tree, i, value)
        {
            if (sl_tree_names_column(value, name, at))
                return true;
        }
        return false;
    }
    if (!json_is_object(tree))
        return false;
    if (is_type(tree, "COLUMN_REF") && part_named(json_object_get(tree, "column_names"), name)) {
        *at = (size_t)json_integer_value(json_object_get(tree, "query_location"));
        return true;
    }
    json_object_foreach((json_t *)tree, key, value)
    {
        if (sl_tree_names_column(value, name, at))
            return true;
    }
    return false;
}

/* ---- conditions ---- */

const json_t *sl_tree_where(const json_t *tree)
{
    const json_t *node =
        json_object_get(json_array_get(json_object_get(tree, "statements"), 0), "node");
    const json_t *where = json_object_get(node, "where_clause");

    return json_is_object(where) ? where : NULL;
}

static bool one_of(sl_str s, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (sl_str_eqc(s, words[i]))
            return true;
    return false;
}

bool sl_tree_only_columns(const json_t *expr, const char *const *names, size_t n)
{
    static const char *const plain[] = {"COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR",
                                        "BETWEEN",    "CAST",        NULL};
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_array(expr)) {
        json_array_foreach((json_t *)expr, i, value)
        {
            if (!sl_tree_only_columns(value, names, n))
                return false;
        }
        return true;
    }
    if (!json_is_object(expr) || !json_object_get(expr, "class"))
        return true;
    const sl_str class = member(expr, "class");
    if (sl_str_eqc(class, "COLUMN_REF")) {
        const json_t *parts = json_object_get(expr, "column_names");
        const char *last = json_string_value(json_array_get(parts, json_array_size(parts) - 1));

        for (i = 0; last && i < n; i++)
            if (sl_str_ieqc(sl_str_c(last), names[i]))
                return true;
        return false;
    }
    /* Operators (+, LIKE) always give the same answer, which a function need not. */
    if (!one_of(class, plain) && !(sl_str_eqc(class, "FUNCTION") && json_is_true(json_object_get(expr, "is_operator"))))
        return false;
    if (sl_str_eqc(class, "CONSTANT"))
        return true;
    json_object_foreach((json_t *)expr, key, value)
    {
        if (strcmp(key, "cast_type") != 0 && !sl_tree_only_columns(value, names, n))
            return false;
    }
    return true;
}
