/* mentions.c - every name of a column in DuckDB's JSON of a query, and where it stands if that is told. */
#include <string.h>

#include "sql/tree.h"

struct visit {
    struct sl_tree_mentions *out;
    bool argument; /* the node is an argument: its alias is the argument's name */
    bool lambda;   /* in the parameters of one */
};

static int visit(const json_t *node, struct visit v, sl_err *err);

static sl_str member(const json_t *obj, const char *name)
{
    const json_t *v = json_object_get(obj, name);

    return json_is_string(v) ? (sl_str){json_string_value(v), json_string_length(v)} : (sl_str){"", 0};
}

#define ADD(list, name)                                                                            \
    do {                                                                                           \
        sl_str *slot_ = sl_vec_push(&(list));                                                      \
        if (!slot_)                                                                                \
            return sl_err_nomem(err);                                                              \
        *slot_ = (name);                                                                           \
    } while (0)

/* Lists of names: strings, or objects that pair names with expressions. */
static int visit_list(const json_t *node, struct visit v, sl_err *err)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(node))
        ADD(v.out->given, ((sl_str){json_string_value(node), json_string_length(node)}));
    if (json_is_array(node)) {
        json_array_foreach((json_t *)node, i, value)
        {
            SL_TRY(visit_list(value, v, err));
        }
    }
    if (!json_is_object(node))
        return SL_OK;
    if (json_object_get(node, "class"))
        return visit(node, v, err);
    json_object_foreach((json_t *)node, key, value)
    {
        if (!json_is_string(value) || json_string_length(value) > 0)
            SL_TRY(visit_list(value, v, err));
    }
    return SL_OK;
}

static int visit_ctes(const json_t *map, struct visit v, sl_err *err)
{
    const json_t *entries = json_object_get(map, "map");
    json_t *entry;
    size_t i;

    json_array_foreach((json_t *)entries, i, entry)
    {
        ADD(v.out->relations, member(entry, "key"));
        SL_TRY(visit(json_object_get(entry, "value"), v, err));
    }
    return SL_OK;
}

static int add_ref(const json_t *node, struct visit v, sl_err *err)
{
    const json_t *parts = json_object_get(node, "column_names"), *at = json_object_get(node, "query_location");

    if (v.lambda) {
        ADD(v.out->bound, sl_str_c(json_string_value(json_array_get(parts, 0))));
        return SL_OK;
    }
    struct sl_tree_ref *ref = sl_vec_push(&v.out->refs);
    if (!ref)
        return sl_err_nomem(err);
    *ref = (struct sl_tree_ref){parts, json_is_integer(at) ? (size_t)json_integer_value(at) : SIZE_MAX};
    return SL_OK;
}

static int add_relation(const json_t *node, sl_str type, struct visit v, sl_err *err)
{
    static const char *const own[] = {"BASE_TABLE", "SUBQUERY", "JOIN"};
    const sl_str alias = member(node, "alias"), table = member(node, "table_name");
    const sl_str name = alias.n ? alias : table;
    bool foreign = true;

    if (name.n == 0)
        return SL_OK;
    ADD(v.out->relations, name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        foreign = foreign && !sl_str_eqc(type, own[i]);
    if (foreign)
        ADD(v.out->foreign, name);
    return SL_OK;
}

static bool is_list(const char *key)
{
    static const char *const keys[] = {"aliases",      "column_name_alias", "using_columns", "exclude_list",
                                       "replace_list", "rename_list",       "qualified_exclude_list"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static int visit_members(const json_t *node, sl_str class, struct visit v, sl_err *err)
{
    const bool function = sl_str_eqc(class, "FUNCTION"), lambda = sl_str_eqc(class, "LAMBDA");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)node, key, value)
    {
        const struct visit inner = {v.out, function && strcmp(key, "children") == 0,
                                    v.lambda || (lambda && strcmp(key, "lhs") == 0)};

        if (strcmp(key, "cte_map") == 0)
            SL_TRY(visit_ctes(value, inner, err));
        else if (is_list(key))
            SL_TRY(visit_list(value, inner, err));
        else
            SL_TRY(visit(value, inner, err));
    }
    return SL_OK;
}

static int visit(const json_t *node, struct visit v, sl_err *err)
{
    const sl_str class = member(node, "class"), type = member(node, "type");
    json_t *value;
    size_t i;

    if (json_is_array(node)) {
        json_array_foreach((json_t *)node, i, value)
        {
            SL_TRY(visit(value, v, err));
        }
        return SL_OK;
    }
    if (!json_is_object(node))
        return SL_OK;
    if (class.n && member(node, "alias").n && !v.argument)
        ADD(v.out->given, member(node, "alias"));
    if (sl_str_eqc(class, "COLUMN_REF"))
        return add_ref(node, v, err);
    if (class.n == 0)
        SL_TRY(add_relation(node, type, v, err));
    if (sl_str_eqc(class, "STAR") && json_is_true(json_object_get(node, "columns")) && json_is_object(json_object_get(node, "expr")))
        v.out->pattern_at = (size_t)json_integer_value(json_object_get(node, "query_location"));
    return visit_members(node, class, v, err);
}

int sl_tree_mentions(const json_t *tree, struct sl_tree_mentions *out, sl_err *err)
{
    *out = (struct sl_tree_mentions){.pattern_at = SIZE_MAX};
    return visit(json_object_get(tree, "statements"), (struct visit){out, false, false}, err);
}

void sl_tree_mentions_release(struct sl_tree_mentions *m)
{
    sl_free(m->refs.v);
    sl_free(m->given.v);
    sl_free(m->relations.v);
    sl_free(m->foreign.v);
    sl_free(m->bound.v);
    *m = (struct sl_tree_mentions){.pattern_at = SIZE_MAX};
}
