/* Functions of ours in SQL: any by sl_scalar_register, and sluice_partition and sluice_deleted. */
#include <string.h>

#include "engine/engine_priv.h"
#include "engine/rows.h"

/* ---- functions of value -> value ---- */

/* One overload; owned by DuckDB's catalog. */
struct function {
    struct sl_engine *engine;
    struct sl_scalar f;
    char *name;
};

static void function_free(void *user)
{
    struct function *fn = user;

    sl_free(fn->name);
    sl_free(fn);
}

static const struct sl_type *arg_type(const struct sl_scalar *f, size_t i)
{
    return i < f->nargs ? f->args[i] : f->varargs;
}

static int call(const struct function *fn, duckdb_data_chunk input, duckdb_vector output, sl_err *err)
{
    int rc = SL_OK;
    struct sl_arena arena = SL_ARENA_INIT;
    size_t nargs = duckdb_data_chunk_get_column_count(input), rows = duckdb_data_chunk_get_size(input);
    struct sl_vector *args = sl_arena_array(&arena, nargs ? nargs : 1, sizeof *args), out;

    if (!args)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < nargs; i++) {
        SL_GO(sl_engine__vector_init(&arena, &args[i], arg_type(&fn->f, i), err));
        sl_engine__vector_bind(&args[i], duckdb_data_chunk_get_vector(input, i), rows);
    }
    SL_GO(sl_engine__vector_init(&arena, &out, fn->f.ret, err));
    sl_engine__vector_bind(&out, output, rows);
    SL_GO(fn->f.fn(fn->f.self, args, nargs, rows, &out, err));
    rc = sl_engine__vector_finish(&out, err);
done:
    sl_arena_release(&arena);
    return rc;
}

static void fail(struct sl_engine *e, duckdb_function_info info, const sl_err *err)
{
    char text[sizeof err->text + 64];

    sl_engine__stash(e, err, text, sizeof text);
    duckdb_scalar_function_set_error(info, text);
}

static void scalar(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    const struct function *fn = duckdb_scalar_function_get_extra_info(info);
    sl_err err = SL_ERR_INIT;

    if (call(fn, input, output, &err) != SL_OK)
        fail(fn->engine, info, &err);
}

static int add_types(duckdb_scalar_function duck, const struct sl_scalar *f, sl_err *err)
{
    duckdb_logical_type t = NULL;

    for (size_t i = 0; i < f->nargs; i++) {
        SL_TRY(sl_engine__type(f->args[i], &t, err));
        duckdb_scalar_function_add_parameter(duck, t);
        duckdb_destroy_logical_type(&t);
    }
    if (f->varargs) {
        SL_TRY(sl_engine__type(f->varargs, &t, err));
        duckdb_scalar_function_set_varargs(duck, t);
        duckdb_destroy_logical_type(&t);
    }
    SL_TRY(sl_engine__type(f->ret, &t, err));
    duckdb_scalar_function_set_return_type(duck, t);
    duckdb_destroy_logical_type(&t);
    return SL_OK;
}

static int register_scalar(struct sl_engine *e, duckdb_connection c, const struct sl_scalar *f, sl_err *err)
{
    int rc = SL_OK;
    duckdb_scalar_function duck = duckdb_create_scalar_function();
    struct function *fn = sl_calloc(1, sizeof *fn);

    if (!duck || !fn || !(fn->name = sl_strdup(f->name)))
        SL_GOTO_NOMEM(err);
    fn->engine = e;
    fn->f = *f;
    fn->f.name = fn->name;
    duckdb_scalar_function_set_name(duck, fn->name);
    SL_GO(add_types(duck, f, err));
    duckdb_scalar_function_set_special_handling(duck); /* NULL arguments are ours to see */
    if (f->volatile_)
        duckdb_scalar_function_set_volatile(duck);
    duckdb_scalar_function_set_function(duck, scalar);
    duckdb_scalar_function_set_extra_info(duck, fn, function_free);
    fn = NULL;
    if (duckdb_register_scalar_function(c, duck) != DuckDBSuccess)
        rc = sl_err_set(err, SL_EBUG, "DuckDB does not take the function %s", f->name);
done:
    if (fn)
        function_free(fn);
    duckdb_destroy_scalar_function(&duck);
    return rc;
}

int sl_scalar_register(struct sl_engine *e, const struct sl_scalar *f, sl_err *err)
{
    duckdb_connection c = NULL;
    int rc;

    if (duckdb_connect(e->db, &c) != DuckDBSuccess)
        return sl_err_nomem(err);
    rc = register_scalar(e, c, f, err);
    duckdb_disconnect(&c);
    return rc;
}

/* ---- sluice_partition ---- */

struct sl_partitions {
    struct sl_engine *engine;
    uint64_t id;
    size_t nvalues;
    pthread_mutex_t lock;       /* all below */
    struct sl_map *map;         /* key of the tuple -> ordinal + 1 */
    struct sl_arena arena;
    SL_VEC(const sl_str *) tuples;
};

int sl_partitions_new(struct sl_engine *e, size_t nvalues, struct sl_partitions **out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_partitions *p = sl_calloc(1, sizeof *p);

    if (!p)
        return sl_err_nomem(err);
    p->engine = e;
    p->nvalues = nvalues;
    pthread_mutex_init(&p->lock, NULL);
    p->map = sl_map_new();
    if (!p->map)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_engine__register(e, SL_ENTRY_PARTITIONS, p, &p->id, err));
    *out = p;
    p = NULL;
done:
    sl_partitions_free(p);
    return rc;
}

void sl_partitions_free(struct sl_partitions *p)
{
    if (!p)
        return;
    if (p->id)
        sl_engine__unregister(p->engine, p->id);
    sl_map_free(p->map, NULL);
    sl_arena_release(&p->arena);
    sl_free(p->tuples.v);
    pthread_mutex_destroy(&p->lock);
    sl_free(p);
}

uint64_t sl_partitions_id(const struct sl_partitions *p)
{
    return p->id;
}

size_t sl_partitions_count(struct sl_partitions *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->tuples.n;
    pthread_mutex_unlock(&p->lock);
    return n;
}

const sl_str *sl_partitions_values(struct sl_partitions *p, size_t ordinal)
{
    pthread_mutex_lock(&p->lock);
    const sl_str *v = ordinal < p->tuples.n ? p->tuples.v[ordinal] : NULL;
    pthread_mutex_unlock(&p->lock);
    return v;
}

/* The tuple as bytes: for each value its length + 1 (0 = NULL), then its bytes. */
static void tuple_key(struct sl_buf *key, const struct sl_vector *args, size_t n, size_t row)
{
    sl_buf_reset(key);
    for (size_t i = 0; i < n; i++) {
        bool null = sl_vector_is_null(&args[i], row);
        sl_str s = null ? (sl_str){NULL, 0} : sl_vector_bytes(&args[i], row);

        sl_buf_u64le(key, null ? 0 : s.n + 1);
        sl_buf_add(key, s);
    }
}

/* Under the lock. */
static int add_tuple(struct sl_partitions *p, const struct sl_vector *args, size_t row, void **slot, sl_err *err)
{
    sl_str *values = sl_arena_array(&p->arena, p->nvalues ? p->nvalues : 1, sizeof *values);
    const sl_str **place;

    if (!values)
        return sl_err_nomem(err);
    for (size_t i = 0; i < p->nvalues; i++) {
        if (sl_vector_is_null(&args[i], row))
            continue;
        values[i] = sl_arena_str(&p->arena, sl_vector_bytes(&args[i], row));
        if (!values[i].p)
            return sl_err_nomem(err);
    }
    if (p->tuples.n >= INT32_MAX)
        return sl_err_set(err, SL_EINPUT, "more than %d partitions in one write", INT32_MAX);
    place = sl_vec_push(&p->tuples);
    if (!place)
        return sl_err_nomem(err);
    *place = values;
    *slot = (void *)(uintptr_t)p->tuples.n;
    return SL_OK;
}

static bool same_cell(const struct sl_vector *v, size_t a, size_t b)
{
    bool na = sl_vector_is_null(v, a), nb = sl_vector_is_null(v, b);

    return na || nb ? na == nb : sl_str_eq(sl_vector_bytes(v, a), sl_vector_bytes(v, b));
}

static bool same_tuple(const struct sl_vector *args, size_t n, size_t a, size_t b)
{
    for (size_t i = 0; i < n; i++)
        if (!same_cell(&args[i], a, b))
            return false;
    return true;
}

static int ordinals(struct sl_partitions *p, const struct sl_vector *args, size_t rows, int32_t *out, sl_err *err)
{
    int rc = SL_OK;
    struct sl_buf key = SL_BUF_INIT;

    pthread_mutex_lock(&p->lock);
    for (size_t row = 0; row < rows; row++) {
        void **slot;

        if (row && same_tuple(args, p->nvalues, row - 1, row)) { /* runs are what data in order has */
            out[row] = out[row - 1];
            continue;
        }
        tuple_key(&key, args, p->nvalues, row);
        SL_GO(sl_buf_ok(&key, err));
        slot = sl_map_at(p->map, sl_buf_view(&key));
        if (!slot)
            SL_GOTO_NOMEM(err);
        if (!*slot)
            SL_GO(add_tuple(p, args, row, slot, err));
        out[row] = (int32_t)((uintptr_t)*slot - 1);
    }
done:
    pthread_mutex_unlock(&p->lock);
    sl_buf_release(&key);
    return rc;
}

/* The id of a call stands in its first argument, the same in all rows. */
static int64_t id_of(const struct sl_vector *arg)
{
    return sl_vector_is_null(arg, 0) ? 0 : ((const int64_t *)arg->data)[0];
}

static int partition_fn(void *self, const struct sl_vector *args, size_t nargs, size_t rows, struct sl_vector *out, sl_err *err)
{
    struct sl_partitions *p;

    if (rows == 0)
        return SL_OK;
    p = sl_engine__find(self, SL_ENTRY_PARTITIONS, (uint64_t)id_of(&args[0]));
    if (!p)
        return sl_err_set(err, SL_ESQL, "sluice_partition: there are no partitions of number %lld", (long long)id_of(&args[0]));
    if (nargs - 1 != p->nvalues)
        return sl_err_set(err, SL_ESQL, "sluice_partition: %zu values where %zu are needed", nargs - 1, p->nvalues);
    return ordinals(p, args + 1, rows, out->data, err);
}

/* ---- sluice_deleted ---- */

int sl_row_filter_register(struct sl_engine *e, const struct sl_row_filter *f, uint64_t *id, sl_err *err)
{
    struct sl_row_filter *copy = sl_malloc(sizeof *copy);
    int rc;

    if (!copy)
        return sl_err_nomem(err);
    *copy = *f;
    rc = sl_engine__register(e, SL_ENTRY_FILTER, copy, id, err);
    if (rc)
        sl_free(copy);
    return rc;
}

void sl_row_filter_unregister(struct sl_engine *e, uint64_t id)
{
    sl_free(sl_engine__unregister(e, id));
}

static int deleted_fn(void *self, const struct sl_vector *args, size_t nargs, size_t rows, struct sl_vector *out, sl_err *err)
{
    const struct sl_row_filter *f;
    const int64_t *number = args[2].data;
    size_t from = 0;

    (void)nargs;
    if (rows == 0)
        return SL_OK;
    f = sl_engine__find(self, SL_ENTRY_FILTER, (uint64_t)id_of(&args[0]));
    if (!f)
        return sl_err_set(err, SL_ESQL, "sluice_deleted: there is no filter of number %lld", (long long)id_of(&args[0]));
    for (size_t row = 1; row <= rows; row++) {
        if (row < rows && same_cell(&args[1], row - 1, row))
            continue;
        if (sl_vector_is_null(&args[1], from))
            return sl_err_set(err, SL_ESQL, "sluice_deleted: the file name is NULL");
        SL_TRY(f->deleted(f->self, sl_vector_bytes(&args[1], from), number + from, row - from, (bool *)out->data + from, err));
        from = row;
    }
    return SL_OK;
}

int sl_engine__register_functions(struct sl_engine *e, duckdb_connection c, sl_err *err)
{
    static const struct sl_type bigint = {.kind = SL_BIGINT}, text = {.kind = SL_VARCHAR, .length = SL_LENGTH_MAX},
                                integer = {.kind = SL_INT}, boolean = {.kind = SL_BOOLEAN};
    struct sl_scalar partition = {.name = "sluice_partition", .args = {&bigint}, .nargs = 1, .varargs = &text, .ret = &integer,
                                  .self = e, .fn = partition_fn};
    struct sl_scalar deleted = {.name = "sluice_deleted", .args = {&bigint, &text, &bigint}, .nargs = 3, .ret = &boolean,
                                .self = e, .fn = deleted_fn};

    SL_TRY(register_scalar(e, c, &partition, err));
    return register_scalar(e, c, &deleted, err);
}
