#include "data/type.h"

#include <string.h>

#include "data/type_priv.h"

enum { DEPTH_MAX = 64 };

bool sl_type_atomic(const struct sl_type *t)
{
    return t->kind <= SL_TIMESTAMP_LTZ;
}

bool sl_type_same(const struct sl_type *a, const struct sl_type *b, bool ignore_nullable)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->precision != b->precision || a->scale != b->scale || a->length != b->length ||
        a->nfields != b->nfields || !a->raw != !b->raw || (a->raw && strcmp(a->raw, b->raw) != 0))
        return false;
    if (!ignore_nullable && a->nullable != b->nullable)
        return false;
    for (size_t i = 0; i < a->nfields; i++)
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
            !sl_type_same(a->fields[i].type, b->fields[i].type, ignore_nullable))
            return false;
    return sl_type_same(a->element, b->element, ignore_nullable) && sl_type_same(a->key, b->key, ignore_nullable) &&
           sl_type_same(a->value, b->value, ignore_nullable);
}

static int digits_of_integer(enum sl_kind kind)
{
    return kind == SL_TINYINT ? 3 : kind == SL_SMALLINT ? 5 : kind == SL_INT ? 10 : 19;
}

static bool is_integer(enum sl_kind kind)
{
    return kind >= SL_TINYINT && kind <= SL_BIGINT;
}

bool sl_type_widens(const struct sl_type *from, const struct sl_type *to)
{
    if (from->kind == to->kind) {
        switch (from->kind) {
        case SL_DECIMAL:
            return to->scale >= from->scale && to->precision - to->scale >= from->precision - from->scale;
        case SL_CHAR: /* the length of CHAR is exact */
            return to->length == from->length;
        case SL_BINARY:
            return to->length == from->length;
        case SL_VARCHAR:
        case SL_VARBINARY:
            return to->length >= from->length;
        case SL_TIME:
        case SL_TIMESTAMP:
        case SL_TIMESTAMP_LTZ:
            return to->precision >= from->precision;
        default:
            return sl_type_same(from, to, true);
        }
    }
    if (is_integer(from->kind)) {
        if (is_integer(to->kind))
            return to->kind > from->kind;
        if (to->kind == SL_DECIMAL)
            return to->precision - to->scale >= digits_of_integer(from->kind);
        return (to->kind == SL_DOUBLE && from->kind <= SL_INT) || (to->kind == SL_FLOAT && from->kind <= SL_SMALLINT);
    }
    if (from->kind == SL_FLOAT)
        return to->kind == SL_DOUBLE;
    if (from->kind == SL_CHAR)
        return to->kind == SL_VARCHAR && to->length >= from->length;
    if (from->kind == SL_BINARY)
        return to->kind == SL_VARBINARY && to->length >= from->length;
    return false;
}

static int refuse(const char *column, const struct sl_type *t, const char *what, sl_err *err)
{
    struct sl_buf text = SL_BUF_INIT;

    sl_type_sql(&text, t);
    sl_err_set(err, SL_EUNSUPPORTED, "column \"%s\" has type %s, which %s", column, text.p ? text.p : "?", what);
    sl_buf_release(&text);
    return SL_EUNSUPPORTED;
}

/* The first type within T for which BAD holds. */
static const struct sl_type *find_type(const struct sl_type *t, bool (*bad)(const struct sl_type *t))
{
    const struct sl_type *found = NULL;

    if (!t)
        return NULL;
    if (bad(t))
        return t;
    for (size_t i = 0; i < t->nfields && !found; i++)
        found = find_type(t->fields[i].type, bad);
    if (!found)
        found = find_type(t->element, bad);
    if (!found)
        found = find_type(t->key, bad);
    return found ? found : find_type(t->value, bad);
}

static bool unreadable(const struct sl_type *t)
{
    return t->kind >= SL_MULTISET;
}

/* TIME and LTZ(0-3) have no form in Parquet that both DuckDB writes and all readers have been seen to take. */
static bool unwritable(const struct sl_type *t)
{
    return unreadable(t) || t->kind == SL_TIME || (t->kind == SL_TIMESTAMP && t->precision > 6) ||
           (t->kind == SL_TIMESTAMP_LTZ && (t->precision > 6 || t->precision < 4));
}

int sl_type_check_readable(const char *column, const struct sl_type *t, sl_err *err)
{
    const struct sl_type *bad = find_type(t, unreadable);

    return bad ? refuse(column, bad, "cannot be read", err) : SL_OK;
}

int sl_type_check_writable(const char *column, const struct sl_type *t, sl_err *err)
{
    const struct sl_type *bad = find_type(t, unwritable);

    if (!bad)
        return SL_OK;
    refuse(column, bad, "cannot be written", err);
    if (bad->kind == SL_TIME)
        sl_err_hint(err, "store the time of day as STRING, or as INT milliseconds");
    else if (bad->kind == SL_TIMESTAMP)
        sl_err_hint(err, "use TIMESTAMP(6)");
    else if (bad->kind == SL_TIMESTAMP_LTZ)
        sl_err_hint(err, "use TIMESTAMP(6) WITH LOCAL TIME ZONE");
    return SL_EUNSUPPORTED;
}

/* ---- JSON ---- */

static int from_json(struct sl_arena *a, const json_t *j, int depth, const struct sl_type **out, sl_err *err);

static int member_type(struct sl_arena *a, const json_t *j, const char *name, int depth, const struct sl_type **out, sl_err *err)
{
    const json_t *m = sl_json_member(j, name);

    if (!m)
        return sl_err_set(err, SL_ECORRUPT, "a type has no member \"%s\"", name);
    return from_json(a, m, depth + 1, out, err);
}

static int fields_from_json(struct sl_arena *a, const json_t *j, int depth, const struct sl_field **out, size_t *n, sl_err *err)
{
    if (!json_is_array(j))
        return sl_err_set(err, SL_ECORRUPT, "member \"fields\" must be an array");
    struct sl_field *f = sl_arena_array(a, json_array_size(j), sizeof *f);
    if (!f)
        return sl_err_nomem(err);
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *o = json_array_get(j, i);
        sl_str name = {NULL, 0}, comment = name, dflt = name;
        int64_t id;

        SL_TRY(sl_json_str_req(o, "name", &name, err));
        SL_TRY(sl_json_i64_req(o, "id", &id, err));
        SL_TRY(sl_json_str_opt(o, "description", &comment, err));
        SL_TRY(sl_json_str_opt(o, "defaultValue", &dflt, err));
        if (id < 0 || id > INT32_MAX)
            return sl_err_set(err, SL_ECORRUPT, "the field id %lld is out of range", (long long)id);
        if (name.n == 0 || memchr(name.p, 0, name.n))
            return sl_err_set(err, SL_ECORRUPT, "the field of id %lld has an empty name or a zero byte in it", (long long)id);
        f[i].id = (int32_t)id;
        f[i].name = sl_arena_strdup(a, name);
        f[i].comment = comment.p ? sl_arena_strdup(a, comment) : NULL;
        f[i].default_text = dflt.p ? sl_arena_strdup(a, dflt) : NULL;
        if (!f[i].name || (comment.p && !f[i].comment) || (dflt.p && !f[i].default_text))
            return sl_err_nomem(err);
        int rc = member_type(a, o, "type", depth, &f[i].type, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "column \"%s\"", f[i].name);
            return rc;
        }
    }
    *out = f;
    *n = json_array_size(j);
    return SL_OK;
}

/* NAME and nullability of a nested type: the parser of text knows "ARRAY NOT NULL". */
static int object_from_json(struct sl_arena *a, const json_t *j, int depth, const struct sl_type **out, sl_err *err)
{
    static const struct {
        const char *name;
        enum sl_kind kind;
    } kinds[] = {{"ARRAY", SL_ARRAY}, {"MAP", SL_MAP}, {"ROW", SL_ROW}, {"MULTISET", SL_MULTISET}, {"VECTOR", SL_VECTOR}};
    struct sl_type *t = sl_arena_alloc(a, sizeof *t);
    int64_t length = 0;
    sl_str text;
    size_t i;

    if (!t)
        return sl_err_nomem(err);
    SL_TRY(sl_json_str_req(j, "type", &text, err));
    sl_str name = sl_str_trim(text);
    size_t end = 0;
    while (end < name.n && name.p[end] != ' ')
        end++;
    sl_str rest = sl_str_trim(sl_str_sub(name, end, name.n));
    name.n = end;
    t->nullable = !sl_str_ieqc(rest, "NOT NULL");
    for (i = 0; i < sizeof kinds / sizeof *kinds && !sl_str_ieqc(name, kinds[i].name); i++)
        ;
    if (i == sizeof kinds / sizeof *kinds || (t->nullable && rest.n && !sl_str_ieqc(rest, "NULL")))
        return sl_err_set(err, SL_EUNSUPPORTED, "the type \"" SL_STRF "\" is not known", (int)(text.n < 100 ? text.n : 100), text.p);
    t->kind = kinds[i].kind;
    if (t->kind == SL_MAP) {
        SL_TRY(member_type(a, j, "key", depth, &t->key, err));
        SL_TRY(member_type(a, j, "value", depth, &t->value, err));
    } else if (t->kind == SL_ROW) {
        SL_TRY(fields_from_json(a, sl_json_member(j, "fields"), depth, &t->fields, &t->nfields, err));
    } else {
        SL_TRY(member_type(a, j, "element", depth, &t->element, err));
    }
    if (t->kind == SL_VECTOR) {
        SL_TRY(sl_json_i64_req(j, "length", &length, err));
        if (length < 1 || length > SL_LENGTH_MAX)
            return sl_err_set(err, SL_ECORRUPT, "a VECTOR has the length %lld", (long long)length);
        t->length = (int32_t)length;
    }
    *out = t;
    return SL_OK;
}

static int from_json(struct sl_arena *a, const json_t *j, int depth, const struct sl_type **out, sl_err *err)
{
    if (depth > DEPTH_MAX)
        return sl_err_set(err, SL_ECORRUPT, "types are nested more than %d deep", DEPTH_MAX);
    if (json_is_string(j))
        return sl_type_from_paimon(a, (sl_str){json_string_value(j), json_string_length(j)}, depth, out, err);
    if (json_is_object(j))
        return object_from_json(a, j, depth, out, err);
    return sl_err_set(err, SL_ECORRUPT, "a type must be a string or an object");
}

int sl_type_from_json(struct sl_arena *a, const json_t *j, const struct sl_type **out, sl_err *err)
{
    return from_json(a, j, 0, out, err);
}

int sl_fields_from_json(struct sl_arena *a, const json_t *j, const struct sl_field **out, size_t *n, sl_err *err)
{
    return fields_from_json(a, j, 0, out, n, err);
}

json_t *sl_fields_to_json(const struct sl_field *f, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++) {
        json_t *o = json_object();
        int bad = json_object_set_new(o, "id", json_integer(f[i].id));

        bad |= json_object_set_new(o, "name", json_string(f[i].name));
        bad |= json_object_set_new(o, "type", sl_type_to_json(f[i].type));
        if (f[i].comment)
            bad |= json_object_set_new(o, "description", json_string(f[i].comment));
        if (f[i].default_text)
            bad |= json_object_set_new(o, "defaultValue", json_string(f[i].default_text));
        if (json_array_append_new(list, o) != 0 || bad) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *object_to_json(const struct sl_type *t, const char *name)
{
    char text[32];
    json_t *o = json_object();
    int bad;

    snprintf(text, sizeof text, "%s%s", name, t->nullable ? "" : " NOT NULL");
    bad = json_object_set_new(o, "type", json_string(text));
    if (t->kind == SL_MAP) {
        bad |= json_object_set_new(o, "key", sl_type_to_json(t->key));
        bad |= json_object_set_new(o, "value", sl_type_to_json(t->value));
    } else if (t->kind == SL_ROW) {
        bad |= json_object_set_new(o, "fields", sl_fields_to_json(t->fields, t->nfields));
    } else {
        bad |= json_object_set_new(o, "element", sl_type_to_json(t->element));
    }
    if (t->kind == SL_VECTOR)
        bad |= json_object_set_new(o, "length", json_integer(t->length));
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *sl_type_to_json(const struct sl_type *t)
{
    struct sl_buf text = SL_BUF_INIT;
    json_t *j;

    switch (t->kind) {
    case SL_ARRAY:
        return object_to_json(t, "ARRAY");
    case SL_MAP:
        return object_to_json(t, "MAP");
    case SL_ROW:
        return object_to_json(t, "ROW");
    case SL_MULTISET:
        return object_to_json(t, "MULTISET");
    case SL_VECTOR:
        return object_to_json(t, "VECTOR");
    default:
        sl_type_sql(&text, t);
        j = text.failed ? NULL : json_stringn(text.p, text.n);
        sl_buf_release(&text);
        return j;
    }
}

/* ---- SQL text ---- */

static void list_fields(struct sl_buf *out, const struct sl_type *t)
{
    for (size_t i = 0; i < t->nfields; i++) {
        sl_buf_addc(out, i ? ", `" : "`");
        for (const char *p = t->fields[i].name; *p; p++) {
            if (*p == '`')
                sl_buf_ch(out, '`');
            sl_buf_ch(out, *p);
        }
        sl_buf_addc(out, "` ");
        sl_type_sql(out, t->fields[i].type);
    }
}

void sl_type_sql(struct sl_buf *out, const struct sl_type *t)
{
    static const char *const names[] = {
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "CHAR", "VARCHAR", "BINARY",
        "VARBINARY", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP", "ARRAY", "MAP", "ROW", "MULTISET", "VARIANT", "BLOB",
        "VECTOR", "GEOMETRY", "GEOGRAPHY"};
    bool longest = t->length == SL_LENGTH_MAX;

    if (t->raw)
        sl_buf_addc(out, t->raw);
    else if (t->kind == SL_VARCHAR && longest)
        sl_buf_addc(out, "STRING");
    else if (t->kind == SL_VARBINARY && longest)
        sl_buf_addc(out, "BYTES");
    else
        sl_buf_addc(out, names[t->kind]);
    switch (t->kind) {
    case SL_DECIMAL:
        sl_buf_printf(out, "(%d, %d)", t->precision, t->scale);
        break;
    case SL_VARCHAR:
    case SL_VARBINARY:
        if (longest)
            break;
        /* fall through */
    case SL_CHAR:
    case SL_BINARY:
        sl_buf_printf(out, "(%d)", t->length);
        break;
    case SL_TIME:
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        sl_buf_printf(out, "(%d)%s", t->precision, t->kind == SL_TIMESTAMP_LTZ ? " WITH LOCAL TIME ZONE" : "");
        break;
    case SL_ARRAY:
    case SL_MULTISET:
    case SL_VECTOR:
        sl_buf_ch(out, '<');
        sl_type_sql(out, t->element);
        if (t->kind == SL_VECTOR)
            sl_buf_printf(out, ", %d", t->length);
        sl_buf_ch(out, '>');
        break;
    case SL_MAP:
        sl_buf_ch(out, '<');
        sl_type_sql(out, t->key);
        sl_buf_addc(out, ", ");
        sl_type_sql(out, t->value);
        sl_buf_ch(out, '>');
        break;
    case SL_ROW:
        sl_buf_ch(out, '<');
        list_fields(out, t);
        sl_buf_ch(out, '>');
        break;
    default:
        break;
    }
    if (!t->nullable)
        sl_buf_addc(out, " NOT NULL");
}

/* ---- the engine's types ---- */

static void engine_type(struct sl_buf *out, const struct sl_type *t, bool for_parquet)
{
    static const char *const names[] = {
        "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "", "VARCHAR", "VARCHAR", "BLOB", "BLOB",
        "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"};

    switch (t->kind) {
    case SL_DECIMAL:
        sl_buf_printf(out, "DECIMAL(%d,%d)", t->precision, t->scale);
        break;
    case SL_ARRAY:
        engine_type(out, t->element, for_parquet);
        sl_buf_addc(out, "[]");
        break;
    case SL_MAP:
        sl_buf_addc(out, "MAP(");
        engine_type(out, t->key, for_parquet);
        sl_buf_ch(out, ',');
        engine_type(out, t->value, for_parquet);
        sl_buf_ch(out, ')');
        break;
    case SL_ROW:
        sl_buf_addc(out, "STRUCT(");
        for (size_t i = 0; i < t->nfields; i++) {
            if (i)
                sl_buf_ch(out, ',');
            sl_buf_sql_ident(out, sl_str_c(t->fields[i].name));
            sl_buf_ch(out, ' ');
            engine_type(out, t->fields[i].type, for_parquet);
        }
        sl_buf_ch(out, ')');
        break;
    case SL_TIME:
        sl_buf_addc(out, for_parquet ? "INTEGER" : "TIME");
        break;
    case SL_TIMESTAMP:
        sl_buf_addc(out, t->precision > 6 ? "TIMESTAMP_NS" : t->precision <= 3 && for_parquet ? "TIMESTAMP_MS" : "TIMESTAMP");
        break;
    default: /* the kinds that cannot be read have no type there; the check before this names them */
        sl_buf_addc(out, t->kind < SL_ARRAY ? names[t->kind] : "VARCHAR");
    }
}

void sl_type_engine_sql(struct sl_buf *out, const struct sl_type *t)
{
    engine_type(out, t, false);
}

void sl_type_parquet_expr(struct sl_buf *out, const struct sl_type *t, sl_str expr)
{
    sl_buf_addc(out, "CAST(");
    if (t->kind == SL_TIME)
        sl_buf_printf(out, "(epoch_us(" SL_STRF ") // 1000)", SL_STRV(expr));
    else if (t->kind == SL_TIMESTAMP && (t->precision == 0 || t->precision == 3)) /* floor, before 1970 too */
        sl_buf_printf(out, "date_trunc('%s', " SL_STRF ")", t->precision ? "milliseconds" : "second", SL_STRV(expr));
    else
        sl_buf_add(out, expr);
    sl_buf_addc(out, " AS ");
    engine_type(out, t, true);
    sl_buf_ch(out, ')');
}
