/*
 * plan_sql.c - the SELECT that reads exactly the files of a plan.
 *
 * Files are grouped by what decides how they are read: the schema they were written with, the columns they hold, whether rows of them
 * are deleted, and, where partition columns are not in the files, the partition. The groups are joined by UNION ALL.
 *
 * The engine tells no names apart that differ only in case: of a file with columns A and a it makes A and a_1, of one with a and A it
 * makes a and A_1, and it puts both together by these names. So files of such schemas are grouped by their columns' order too, and
 * their columns go by number.
 */
#include <string.h>

#include "engine/parquet.h"
#include "table/append/append_priv.h"
#include "table/append/plan_priv.h"

enum {
    INLINE_FILES_MAX = 64,      /* longer lists go into a variable of the connection */
    VARIABLES = 256,            /* names of variables are used again after so many */
    CONSTANT_GROUPS_MAX = 5000, /* partitions whose columns are not in the files */
};

struct group {
    const struct sl_schema *schema;       /* of the files */
    const struct sl_plan_file *first;     /* stands for the columns (write_cols), the partition and the vectors */
    bool constants;                       /* partition columns are given as values */
    const char *const *layout;            /* the files' columns in order; NULL: names will do */
    size_t nlayout;
    SL_VEC(sl_str) paths;
};

struct grouping {
    struct sl_plan *p;
    struct sl_conn *conn;
    bool positions;
    SL_VEC(struct group) groups;
};

static void grouping_release(struct grouping *g)
{
    for (size_t i = 0; i < g->groups.n; i++)
        sl_free(g->groups.v[i].paths.v);
    sl_free(g->groups.v);
}

/* ---- grouping ---- */

static bool same_columns(const struct sl_data_file *a, const struct sl_data_file *b)
{
    if (a->schema_id != b->schema_id || a->has_write_cols != b->has_write_cols || a->nwrite_cols != b->nwrite_cols)
        return false;
    for (size_t i = 0; i < a->nwrite_cols; i++)
        if (!sl_str_eq(a->write_cols[i], b->write_cols[i]))
            return false;
    return true;
}

/* Files of a table that was moved over from Hive keep their names, and lack the partition columns, which files written since do not. */
static bool own_name(const struct sl_plan_file *f)
{
    return sl_str_starts(f->entry->file.file_name, "data-");
}

static bool fits(const struct group *g, const struct sl_plan_file *f)
{
    return own_name(g->first) == own_name(f) && same_columns(&g->first->entry->file, &f->entry->file) && !g->first->dv == !f->dv &&
           (!g->constants || sl_str_eq(g->first->entry->partition, f->entry->partition));
}

/* Does the file hold every partition column? */
static int holds_partition(struct grouping *g, const struct sl_schema *schema, const struct sl_plan_file *f, bool *out, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    int rc = SL_OK;

    *out = true;
    if (strpbrk(f->path, "*?[")) /* the engine cannot look at such a file by itself */
        return SL_OK;
    SL_GO(sl_parquet_columns(g->conn, sl_str_c(f->path), &info, err));
    for (size_t i = 0; i < schema->npartition; i++) {
        bool found = false;

        for (size_t j = 0; j < info.n && !found; j++)
            found = info.v[j].depth == 0 && strcmp(info.v[j].name, schema->partition_keys[i]) == 0;
        *out = *out && found;
    }
done:
    sl_parquet_info_release(&info);
    return rc;
}

/* Members of a row cannot go by number. */
static int check_members(const char *column, const struct sl_type *t, sl_err *err)
{
    const struct sl_type *inner[] = {t->kind == SL_ARRAY ? t->element : NULL, t->kind == SL_MAP ? t->key : NULL,
                                     t->kind == SL_MAP ? t->value : NULL};

    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (inner[i])
            SL_TRY(check_members(column, inner[i], err));
    for (size_t i = 0; t->kind == SL_ROW && i < t->nfields; i++) {
        for (size_t j = 0; j < i; j++)
            if (sl_str_ieqc(sl_str_c(t->fields[i].name), t->fields[j].name))
                return sl_err_set(err, SL_EUNSUPPORTED, "members \"%s\" and \"%s\" of column \"%s\" differ only in case, which is not "
                                  "supported", t->fields[j].name, t->fields[i].name, column);
        SL_TRY(check_members(column, t->fields[i].type, err));
    }
    return SL_OK;
}

static int check_names(const struct sl_schema *s, sl_err *err)
{
    for (size_t i = 0; i < s->nfields; i++)
        SL_TRY(check_members(s->fields[i].name, s->fields[i].type, err));
    return SL_OK;
}

static bool by_number(const struct sl_schema *s)
{
    for (size_t i = 0; i < s->nfields; i++)
        if (sl_schema_folds(s, i))
            return true;
    return false;
}

/* The columns of a file, in its order; memory of the plan. */
static int read_layout(struct grouping *g, const struct sl_plan_file *f, struct group *out, sl_err *err)
{
    struct sl_parquet_info info = SL_PARQUET_INFO_INIT;
    const char **names = NULL;
    int rc;

    if (strpbrk(f->path, "*?["))
        return sl_err_set(err, SL_EUNSUPPORTED, "columns that differ only in case cannot be read from \"%s\", since its path holds *, ? or [",
                          f->path);
    SL_GO(sl_parquet_columns(g->conn, sl_str_c(f->path), &info, err));
    names = sl_arena_array(&g->p->io->arena, info.n + 1, sizeof *names);
    if (!names)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < info.n; i++)
        if (info.v[i].depth == 0 && !(names[out->nlayout++] = sl_arena_strdup(&g->p->io->arena, sl_str_c(info.v[i].name))))
            SL_GOTO_NOMEM(err);
    out->layout = names;
done:
    sl_parquet_info_release(&info);
    return rc;
}

static bool same_layout(const struct group *a, const struct group *b)
{
    if (!a->layout != !b->layout || a->nlayout != b->nlayout)
        return false;
    for (size_t i = 0; i < a->nlayout; i++)
        if (strcmp(a->layout[i], b->layout[i]) != 0)
            return false;
    return true;
}

/* SHAPE has the schema and the layout of the file. */
static int new_group(struct grouping *g, const struct sl_plan_file *f, const struct group *shape, struct group **out, sl_err *err)
{
    const struct sl_schema *schema = shape->schema;
    bool holds = true;

    SL_TRY(check_names(schema, err));
    /* Groups of one schema and origin are alike in this, so one look into one file is enough for all of them. */
    struct group *like = NULL;
    for (size_t i = 0; i < g->groups.n && !like; i++)
        if (g->groups.v[i].schema == schema && own_name(g->groups.v[i].first) == own_name(f))
            like = &g->groups.v[i];
    if (like)
        holds = !like->constants;
    else if (schema->npartition)
        SL_TRY(holds_partition(g, schema, f, &holds, err));
    if (g->groups.n >= CONSTANT_GROUPS_MAX)
        return sl_err_set(err, SL_EUNSUPPORTED, "the files of the table %s lack its partition columns, and more than %d partitions are wanted",
                          g->p->table->label, CONSTANT_GROUPS_MAX);
    *out = sl_vec_push(&g->groups);
    if (!*out)
        return sl_err_nomem(err);
    *(*out) = *shape;
    (*out)->first = f;
    (*out)->constants = !holds;
    return SL_OK;
}

static int shape_of(struct grouping *g, const struct sl_plan_file *f, const struct group *last, struct group *out, sl_err *err)
{
    if (last && last->schema->id == f->entry->file.schema_id && !last->layout) {
        out->schema = last->schema;
        return SL_OK;
    }
    SL_TRY(sl_append_schema(g->p->table, f->entry->file.schema_id, &out->schema, err));
    return by_number(out->schema) ? read_layout(g, f, out, err) : SL_OK;
}

static int group_files(struct grouping *g, sl_err *err)
{
    struct group *last = NULL;

    for (size_t i = 0; i < g->p->nfiles; i++) {
        const struct sl_plan_file *f = &g->p->files[i];
        struct group shape = {0}, *to;
        sl_str *path;

        SL_TRY(shape_of(g, f, last, &shape, err));
        to = last && fits(last, f) && same_layout(last, &shape) ? last : NULL;
        for (size_t j = 0; j < g->groups.n && !to; j++)
            if (fits(&g->groups.v[j], f) && same_layout(&g->groups.v[j], &shape))
                to = &g->groups.v[j];
        if (!to)
            SL_TRY(new_group(g, f, &shape, &to, err));
        path = sl_vec_push(&to->paths);
        if (!path)
            return sl_err_nomem(err);
        *path = sl_str_c(f->path);
        last = to;
    }
    return SL_OK;
}

/* ---- columns ---- */

/* EXPR of the file's type as the table's type. Members of rows are matched by field id, as columns are. */
static void read_expr(struct sl_buf *out, const struct sl_type *from, const struct sl_type *to, sl_str expr, int depth);

static void cast_to(struct sl_buf *out, const struct sl_type *to, sl_str expr)
{
    sl_buf_addc(out, "CAST(");
    sl_buf_add(out, expr);
    sl_buf_addc(out, " AS ");
    sl_type_engine_sql(out, to);
    sl_buf_ch(out, ')');
}

/* Texts that mean true or false to Paimon; others are an error of the cast. */
static void boolean_from_text(struct sl_buf *out, sl_str expr)
{
    sl_buf_printf(out, "CASE WHEN lower(trim(" SL_STRF ")) IN ('t', 'true', 'y', 'yes', '1') THEN true WHEN lower(trim(" SL_STRF
                       ")) IN ('f', 'false', 'n', 'no', '0') THEN false ELSE CAST(" SL_STRF " AS BOOLEAN) END",
                  SL_STRV(expr), SL_STRV(expr), SL_STRV(expr));
}

static void row_expr(struct sl_buf *out, const struct sl_type *from, const struct sl_type *to, sl_str expr, int depth)
{
    struct sl_buf member = SL_BUF_INIT;

    sl_buf_printf(out, "CASE WHEN " SL_STRF " IS NULL THEN NULL ELSE struct_pack(", SL_STRV(expr));
    for (size_t i = 0; i < to->nfields; i++) {
        const struct sl_field *have = NULL;

        for (size_t j = 0; j < from->nfields && !have; j++)
            if (from->fields[j].id == to->fields[i].id)
                have = &from->fields[j];
        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_ident(out, sl_str_c(to->fields[i].name));
        sl_buf_addc(out, " := ");
        sl_buf_reset(&member);
        if (have) {
            sl_buf_printf(&member, "(" SL_STRF ").", SL_STRV(expr));
            sl_buf_sql_ident(&member, sl_str_c(have->name));
            read_expr(out, have->type, to->fields[i].type, sl_buf_view(&member), depth);
        } else {
            cast_to(out, to->fields[i].type, SL_LIT("NULL"));
        }
    }
    sl_buf_addc(out, ") END");
    out->failed = out->failed || member.failed;
    sl_buf_release(&member);
}

static void list_expr(struct sl_buf *out, const struct sl_type *from, const struct sl_type *to, sl_str expr, int depth)
{
    char name[24];

    snprintf(name, sizeof name, "_e%d", depth);
    sl_buf_printf(out, "list_transform(" SL_STRF ", lambda %s: ", SL_STRV(expr), name);
    read_expr(out, from->element, to->element, sl_str_c(name), depth + 1);
    sl_buf_ch(out, ')');
}

static void map_expr(struct sl_buf *out, const struct sl_type *from, const struct sl_type *to, sl_str expr, int depth)
{
    char name[24], key[40], value[40];

    snprintf(name, sizeof name, "_e%d", depth);
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(value, sizeof value, "%s.value", name);
    sl_buf_printf(out, "map_from_entries(list_transform(map_entries(" SL_STRF "), lambda %s: struct_pack(key := ", SL_STRV(expr), name);
    read_expr(out, from->key, to->key, sl_str_c(key), depth + 1);
    sl_buf_addc(out, ", value := ");
    read_expr(out, from->value, to->value, sl_str_c(value), depth + 1);
    sl_buf_addc(out, ")))");
}

static void read_expr(struct sl_buf *out, const struct sl_type *from, const struct sl_type *to, sl_str expr, int depth)
{
    struct sl_buf inner = SL_BUF_INIT;

    if ((from->kind == SL_VARCHAR || from->kind == SL_CHAR) && to->kind == SL_BOOLEAN) {
        boolean_from_text(out, expr);
        return;
    }
    if (sl_type_same(from, to, true) || from->kind != to->kind ||
        (to->kind != SL_ROW && to->kind != SL_ARRAY && to->kind != SL_MAP)) {
        cast_to(out, to, expr);
        return;
    }
    if (to->kind == SL_ROW)
        row_expr(&inner, from, to, expr, depth);
    else if (to->kind == SL_ARRAY)
        list_expr(&inner, from, to, expr, depth);
    else
        map_expr(&inner, from, to, expr, depth);
    cast_to(out, to, sl_buf_view(&inner));
    out->failed = out->failed || inner.failed;
    sl_buf_release(&inner);
}

static bool in_file(const struct sl_data_file *f, const char *name)
{
    if (!f->has_write_cols)
        return true;
    for (size_t i = 0; i < f->nwrite_cols; i++)
        if (sl_str_eqc(f->write_cols[i], name))
            return true;
    return false;
}

static ptrdiff_t partition_position(const struct sl_schema *s, const char *name)
{
    for (size_t i = 0; i < s->npartition; i++)
        if (strcmp(s->partition_keys[i], name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static void file_column(struct sl_buf *out, const struct group *g, const char *name)
{
    size_t i = 0;

    while (i < g->nlayout && strcmp(g->layout[i], name) != 0)
        i++;
    if (i < g->nlayout)
        sl_buf_printf(out, "_c%zu", i);
    else
        sl_buf_sql_ident(out, sl_str_c(name));
}

static void column_expr(struct sl_buf *out, const struct group *g, const struct sl_field *want, const char *called)
{
    const struct sl_field *have = g ? sl_schema_field_by_id(g->schema, want->id) : NULL;
    ptrdiff_t key = g && g->constants && have ? partition_position(g->schema, have->name) : -1;
    struct sl_buf name = SL_BUF_INIT;

    if (key >= 0)
        sl_value_sql(&name, have->type, &g->first->partition[key]);
    else if (have && in_file(&g->first->entry->file, have->name))
        file_column(&name, g, have->name);
    else
        have = NULL;
    if (have && key < 0)
        read_expr(out, have->type, want->type, sl_buf_view(&name), 0);
    else
        cast_to(out, want->type, have ? sl_buf_view(&name) : SL_LIT("NULL"));
    sl_buf_addc(out, " AS ");
    sl_buf_sql_ident(out, sl_str_c(called));
    out->failed = out->failed || name.failed;
    sl_buf_release(&name);
}

static void add_columns(struct sl_buf *out, const struct grouping *g, const struct group *group)
{
    for (size_t i = 0; i < g->p->schema->nfields; i++) {
        const struct sl_field *f = &g->p->schema->fields[i];

        sl_buf_addc(out, i ? ", " : "");
        column_expr(out, group, f, g->p->names ? g->p->names[i] : f->name);
    }
}

/* ---- the whole ---- */

static int escape_paths(struct sl_plan *p, struct group *g, sl_err *err)
{
    struct sl_buf pattern = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < g->paths.n && rc == SL_OK; i++) {
        sl_buf_reset(&pattern);
        if (!sl_parquet_pattern(&pattern, g->paths.v[i]))
            continue;
        g->paths.v[i] = sl_arena_str(&p->io->arena, sl_buf_view(&pattern));
        if (pattern.failed || !g->paths.v[i].p)
            rc = sl_err_nomem(err);
    }
    sl_buf_release(&pattern);
    return rc;
}

static int add_list(struct grouping *g, struct group *group, struct sl_buf *out, sl_err *err)
{
    static atomic_uint counter;
    char variable[40];

    SL_TRY(escape_paths(g->p, group, err));
    if (group->paths.n > INLINE_FILES_MAX) {
        snprintf(variable, sizeof variable, "sluice_files_%u", atomic_fetch_add(&counter, 1) % VARIABLES);
        SL_TRY(sl_conn_set_list(g->conn, variable, group->paths.v, group->paths.n, err));
        sl_buf_printf(out, "getvariable('%s')", variable);
        return SL_OK;
    }
    sl_buf_ch(out, '[');
    for (size_t i = 0; i < group->paths.n; i++) {
        sl_buf_addc(out, i ? ", " : "");
        sl_buf_sql_string(out, group->paths.v[i]);
    }
    sl_buf_ch(out, ']');
    return SL_OK;
}

static int add_group(struct grouping *g, struct group *group, struct sl_buf *out, sl_err *err)
{
    bool vectors = group->first->dv != NULL;

    sl_buf_addc(out, "SELECT ");
    add_columns(out, g, group);
    if (g->positions)
        sl_buf_addc(out, ", __sl_file, file_row_number AS __sl_row");
    sl_buf_addc(out, " FROM read_parquet(");
    SL_TRY(add_list(g, group, out, err));
    sl_buf_addc(out, ", hive_partitioning = false");
    if (vectors || g->positions)
        sl_buf_addc(out, ", filename = '__sl_file', file_row_number = true");
    sl_buf_ch(out, ')');
    for (size_t i = 0; i < group->nlayout; i++)
        sl_buf_printf(out, "%s_c%zu", i ? ", " : " AS _f(", i);
    if (group->nlayout)
        sl_buf_ch(out, ')');
    if (vectors) {
        SL_TRY(sl_plan_filter(g->p, sl_conn_engine(g->conn), err));
        sl_buf_printf(out, " WHERE NOT sluice_deleted(%llu, __sl_file, file_row_number)", (unsigned long long)g->p->io->filter);
    }
    return SL_OK;
}

int sl_plan_sql(struct sl_plan *p, struct sl_conn *conn, bool positions, struct sl_buf *out, sl_err *err)
{
    struct grouping g = {.p = p, .conn = conn, .positions = positions};
    int rc;

    SL_GO(check_names(p->schema, err));
    SL_GO(group_files(&g, err));
    for (size_t i = 0; i < g.groups.n; i++) {
        if (i)
            sl_buf_addc(out, " UNION ALL ");
        SL_GO(add_group(&g, &g.groups.v[i], out, err));
    }
    if (g.groups.n == 0) {
        sl_buf_addc(out, "SELECT ");
        add_columns(out, &g, NULL);
        if (positions)
            sl_buf_addc(out, ", CAST(NULL AS VARCHAR) AS __sl_file, CAST(NULL AS BIGINT) AS __sl_row");
        sl_buf_addc(out, " WHERE false");
    }
    rc = sl_buf_ok(out, err);
done:
    grouping_release(&g);
    return rc;
}
