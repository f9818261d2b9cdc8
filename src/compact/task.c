/* task.c - tasks and results as lines of JSON. */
#include "compact/task.h"

#include <string.h>

#include "base/sys.h"


void sl_compact_task_release(struct sl_compact_task *t)
{
    sl_arena_release(&t->arena);
    *t = (struct sl_compact_task){.arena = SL_ARENA_INIT};
}

void sl_compact_result_release(struct sl_compact_result *r)
{
    sl_compact_task_release(&r->task);
    sl_arena_release(&r->arena);
    *r = (struct sl_compact_result){.arena = SL_ARENA_INIT};
}

bool sl_compact_dv_same(const struct sl_compact_dv *a, const struct sl_compact_dv *b)
{
    if (!a->index_file.p || !b->index_file.p)
        return !a->index_file.p && !b->index_file.p;
    return sl_str_eq(a->index_file, b->index_file) && a->offset == b->offset && a->length == b->length;
}

int sl_compact_mark(struct sl_arena *a, const struct sl_snapshot *s, const char **out, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    int rc = SL_OK;

    if (s->uuid) {
        *out = sl_arena_strdup(a, sl_str_c(s->uuid));
        return *out ? SL_OK : sl_err_nomem(err);
    }
    SL_GO(sl_snapshot_encode(s, &b, err));
    *out = sl_arena_printf(a, "xxh64:%016llx", (unsigned long long)sl_hash64(sl_buf_view(&b)));
    if (!*out)
        rc = sl_err_nomem(err);
done:
    sl_buf_release(&b);
    return rc;
}

/* ---- writing ---- */

static bool put(json_t *obj, const char *name, json_t *value)
{
    return value && json_object_set_new(obj, name, value) == 0;
}

static json_t *base64_text(sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;
    json_t *out = NULL;

    sl_buf_base64(&b, s);
    if (!b.failed)
        out = json_stringn_nocheck(b.n ? b.p : "", b.n);
    sl_buf_release(&b);
    return out;
}

static json_t *dv_json(const struct sl_compact_dv *dv)
{
    json_t *j = json_object();

    if (j && put(j, "file", json_stringn_nocheck(dv->index_file.p, dv->index_file.n)) && put(j, "offset", json_integer(dv->offset)) &&
        put(j, "length", json_integer(dv->length)) && (dv->cardinality < 0 || put(j, "rows", json_integer(dv->cardinality))))
        return j;
    json_decref(j);
    return NULL;
}

static json_t *inputs_json(const struct sl_compact_task *t)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < t->ninputs; i++) {
        json_t *j = sl_entry_to_json(&t->inputs[i].entry, false);
        bool ok = j && (!t->inputs[i].dv.index_file.p || put(j, "dv", dv_json(&t->inputs[i].dv)));

        if (!ok || json_array_append(list, j) != 0) {
            json_decref(list);
            list = NULL;
        }
        json_decref(j);
    }
    return list;
}

static json_t *task_json(const struct sl_compact_task *t)
{
    json_t *j = json_object();

    if (j && put(j, "sluice", json_string(SL_TASK_KIND)) && put(j, "version", json_integer(SL_TASK_VERSION)) &&
        put(j, "id", json_string(t->id)) && put(j, "table", json_string_nocheck(t->table)) &&
        (!t->branch || put(j, "branch", json_string_nocheck(t->branch))) && put(j, "snapshot", json_integer(t->snapshot)) &&
        put(j, "mark", json_string_nocheck(t->mark)) && put(j, "schema", json_integer(t->schema_id)) &&
        put(j, "partition", base64_text(t->partition)) && put(j, "partitionText", json_string_nocheck(t->partition_text)) &&
        put(j, "targetBytes", json_integer((json_int_t)t->target_bytes)) && put(j, "inputs", inputs_json(t)))
        return j;
    json_decref(j);
    return NULL;
}

static int dump(json_t *j, struct sl_buf *out, sl_err *err)
{
    if (!j)
        return sl_err_nomem(err);
    sl_json_dump(out, j, false);
    json_decref(j);
    return sl_buf_ok(out, err);
}

int sl_compact_task_encode(const struct sl_compact_task *t, struct sl_buf *out, sl_err *err)
{
    return dump(task_json(t), out, err);
}

static json_t *outputs_json(const struct sl_compact_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < r->noutputs; i++)
        if (json_array_append_new(list, sl_entry_to_json(&r->outputs[i], true)) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *error_json(const struct sl_compact_result *r)
{
    json_t *j = json_object();

    if (j && put(j, "code", json_string(sl_code_name(r->error))) && put(j, "text", json_string_nocheck(r->error_text)))
        return j;
    json_decref(j);
    return NULL;
}

static json_t *result_json(const struct sl_compact_result *r)
{
    json_t *j = json_object();
    bool ok = j && put(j, "sluice", json_string(SL_RESULT_KIND)) && put(j, "version", json_integer(SL_TASK_VERSION)) &&
              put(j, "task", task_json(&r->task)) && put(j, "millis", json_integer(r->millis));

    if (ok && r->error != SL_OK)
        ok = put(j, "error", error_json(r));
    else if (ok)
        ok = put(j, "rowsDeleted", json_integer(r->rows_deleted)) && put(j, "outputs", outputs_json(r));
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

int sl_compact_result_encode(const struct sl_compact_result *r, struct sl_buf *out, sl_err *err)
{
    return dump(result_json(r), out, err);
}

/* ---- reading ---- */

static int get_text(const json_t *j, const char *name, struct sl_arena *a, const char **out, sl_err *err)
{
    sl_str s = {NULL, 0};

    SL_TRY(sl_json_str_req(j, name, &s, err));
    if (memchr(s.p, 0, s.n))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" holds a zero byte", name);
    *out = sl_arena_strdup(a, s);
    return *out ? SL_OK : sl_err_nomem(err);
}

static int get_partition(const json_t *j, struct sl_compact_task *t, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    sl_str s = {NULL, 0};
    uint32_t arity;
    int rc;

    SL_GO(sl_json_str_req(j, "partition", &s, err));
    if (!sl_base64_decode(s, &b) || (!b.failed && !sl_binrow_arity(sl_buf_view(&b), &arity)))
        SL_GO(sl_err_set(err, SL_ECORRUPT, "member \"partition\" is no row in base64"));
    SL_GO(sl_buf_ok(&b, err));
    t->partition = sl_arena_str(&t->arena, sl_buf_view(&b));
    rc = t->partition.p ? SL_OK : sl_err_nomem(err);
done:
    sl_buf_release(&b);
    return rc;
}

static int get_dv(const json_t *j, struct sl_arena *a, struct sl_compact_dv *dv, sl_err *err)
{
    const json_t *obj = sl_json_member(j, "dv");
    const char *file = NULL;

    dv->cardinality = -1;
    if (!obj)
        return SL_OK;
    SL_TRY(get_text(obj, "file", a, &file, err));
    dv->index_file = sl_str_c(file);
    SL_TRY(sl_json_i64_req(obj, "offset", &dv->offset, err));
    SL_TRY(sl_json_i64_req(obj, "length", &dv->length, err));
    SL_TRY(sl_json_i64_opt(obj, "rows", &dv->cardinality, err));
    if (dv->index_file.n == 0 || dv->offset < 0 || dv->length < 0 || dv->cardinality < -1)
        return sl_err_set(err, SL_ECORRUPT, "member \"dv\" is no place of a deletion vector");
    return SL_OK;
}

static int get_inputs(const json_t *j, struct sl_compact_task *t, sl_err *err)
{
    const json_t *list = sl_json_member(j, "inputs");

    if (!json_is_array(list) || json_array_size(list) == 0)
        return sl_err_set(err, SL_ECORRUPT, "member \"inputs\" must be an array of at least one file");
    t->ninputs = json_array_size(list);
    t->inputs = sl_arena_array(&t->arena, t->ninputs, sizeof *t->inputs);
    if (!t->inputs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->ninputs; i++) {
        const json_t *one = json_array_get(list, i);
        int rc = sl_entry_from_json(one, &t->arena, &t->inputs[i].entry, err);

        if (rc == SL_OK)
            rc = get_dv(one, &t->arena, &t->inputs[i].dv, err);
        if (rc != SL_OK) {
            sl_err_ctx(err, "input %zu", i + 1);
            return rc;
        }
        t->inputs[i].entry.partition = t->partition;
    }
    return SL_OK;
}

/* Taken twice, a file's rows would count twice; a commit takes each once. */
static int add_once(struct sl_map *seen, const struct sl_manifest_entry *e, sl_err *err)
{
    void **slot = sl_map_at(seen, e->file.file_name);

    if (!slot)
        return sl_err_nomem(err);
    if (*slot)
        return sl_err_set(err, SL_ECORRUPT, "the file \"" SL_STRF "\" is there twice", SL_STRV(e->file.file_name));
    *slot = (void *)e;
    return SL_OK;
}

static int check_once(const struct sl_compact_task *t, const struct sl_manifest_entry *outputs, size_t n, sl_err *err)
{
    struct sl_map *seen = sl_map_new();
    int rc = SL_OK;

    if (!seen)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->ninputs; i++)
        SL_GO(add_once(seen, &t->inputs[i].entry, err));
    for (size_t i = 0; i < n; i++)
        SL_GO(add_once(seen, &outputs[i], err));
done:
    sl_map_free(seen, NULL);
    return rc;
}

static int check_uuid(const char *id, sl_err *err)
{
    size_t n = strlen(id);
    bool ok = n == 36;

    for (size_t i = 0; ok && i < n; i++)
        ok = i == 8 || i == 13 || i == 18 || i == 23 ? id[i] == '-' : strchr("0123456789abcdefABCDEF", id[i]) != NULL;
    return ok ? SL_OK : sl_err_set(err, SL_ECORRUPT, "member \"id\" must be a uuid, found \"%.60s\"", id);
}

static int read_task(const json_t *j, struct sl_compact_task *t, sl_err *err)
{
    int64_t target = 0;

    SL_TRY(get_text(j, "id", &t->arena, &t->id, err));
    SL_TRY(check_uuid(t->id, err));
    SL_TRY(get_text(j, "table", &t->arena, &t->table, err));
    if (sl_json_member(j, "branch"))
        SL_TRY(get_text(j, "branch", &t->arena, &t->branch, err));
    SL_TRY(sl_json_i64_req(j, "snapshot", &t->snapshot, err));
    SL_TRY(get_text(j, "mark", &t->arena, &t->mark, err));
    SL_TRY(sl_json_i64_req(j, "schema", &t->schema_id, err));
    SL_TRY(get_partition(j, t, err));
    SL_TRY(get_text(j, "partitionText", &t->arena, &t->partition_text, err));
    SL_TRY(sl_json_i64_req(j, "targetBytes", &target, err));
    if (target < 1 || t->snapshot < 1 || t->schema_id < 0)
        return sl_err_set(err, SL_ECORRUPT, "\"targetBytes\", \"snapshot\" and \"schema\" must be positive");
    t->target_bytes = (uint64_t)target;
    SL_TRY(get_inputs(j, t, err));
    return check_once(t, NULL, 0, err);
}

int sl_compact_check_kind(const json_t *j, const char *kind, sl_err *err)
{
    sl_str found = {NULL, 0};
    int64_t version = 0;

    SL_TRY(sl_json_str_req(j, "sluice", &found, err));
    if (!sl_str_eqc(found, kind)) {
        sl_err_set(err, SL_ECORRUPT, "a %s is needed, found \"" SL_STRF "\"", kind, SL_STRV(sl_str_sub(found, 0, 60)));
        sl_err_hint(err, "\"sluice compact --plan\" writes tasks, \"--work\" turns tasks into results, \"--apply\" takes results");
        return SL_ECORRUPT;
    }
    SL_TRY(sl_json_i64_req(j, "version", &version, err));
    if (version != SL_TASK_VERSION)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %lld of a %s is not supported, only %d", (long long)version, kind,
                          SL_TASK_VERSION);
    return SL_OK;
}

int sl_compact_task_decode(sl_str line, struct sl_compact_task *out, sl_err *err)
{
    json_t *j = NULL;
    int rc;

    *out = (struct sl_compact_task){.arena = SL_ARENA_INIT};
    SL_GO(sl_json_parse(line, &j, err));
    SL_GO(sl_compact_check_kind(j, SL_TASK_KIND, err));
    SL_GO(read_task(j, out, err));
done:
    json_decref(j);
    if (rc != SL_OK)
        sl_compact_task_release(out);
    return rc;
}

static int get_outputs(const json_t *j, struct sl_compact_result *r, sl_err *err)
{
    const json_t *list = sl_json_member(j, "outputs");

    if (!json_is_array(list))
        return sl_err_set(err, SL_ECORRUPT, "member \"outputs\" must be an array");
    r->noutputs = json_array_size(list);
    r->outputs = sl_arena_array(&r->arena, r->noutputs ? r->noutputs : 1, sizeof *r->outputs);
    if (!r->outputs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < r->noutputs; i++) {
        int rc = sl_entry_from_json(json_array_get(list, i), &r->arena, &r->outputs[i], err);

        /* What is dropped is removed, so an output may only lie where this table's own files do. */
        if (rc == SL_OK && r->outputs[i].file.external_path.p)
            rc = sl_err_set(err, SL_EUNSUPPORTED, "an output with \"externalPath\" is not supported");
        if (rc != SL_OK) {
            sl_err_ctx(err, "output %zu", i + 1);
            return rc;
        }
        r->outputs[i].partition = r->task.partition;
    }
    return SL_OK;
}

/* Rows in, less the deleted ones, must be the rows out: else a commit would lose rows or make some up. */
static int check_rows(const struct sl_compact_result *r, sl_err *err)
{
    int64_t in = 0, out = 0;
    bool ok = r->rows_deleted >= 0;

    for (size_t i = 0; ok && i < r->task.ninputs; i++)
        ok = !__builtin_add_overflow(in, r->task.inputs[i].entry.file.row_count, &in);
    for (size_t i = 0; ok && i < r->noutputs; i++)
        ok = !__builtin_add_overflow(out, r->outputs[i].file.row_count, &out);
    if (ok && in - r->rows_deleted == out)
        return SL_OK;
    return sl_err_set(err, SL_ECORRUPT, "rows do not add up: %lld in the inputs, %lld deleted, %lld in the outputs", (long long)in,
                      (long long)r->rows_deleted, (long long)out);
}

int sl_compact_code(sl_str name)
{
    static const int codes[] = {
#define SL_ERROR(name, number, exit_status, text) number,
#include "sluice/errors.def"
#undef SL_ERROR
    };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] != SL_OK && sl_str_eqc(name, sl_code_name(codes[i])))
            return codes[i];
    return SL_EFAIL;
}

static int get_error(const json_t *obj, struct sl_compact_result *r, sl_err *err)
{
    sl_str code = {NULL, 0};

    SL_TRY(sl_json_str_req(obj, "code", &code, err));
    SL_TRY(get_text(obj, "text", &r->arena, &r->error_text, err));
    r->error = sl_compact_code(code);
    return SL_OK;
}

static int read_result(const json_t *j, struct sl_compact_result *r, sl_err *err)
{
    const json_t *task = sl_json_member(j, "task"), *error = sl_json_member(j, "error");
    int rc = sl_compact_check_kind(task, SL_TASK_KIND, err);

    if (rc == SL_OK)
        rc = read_task(task, &r->task, err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "member \"task\"");
        return rc;
    }
    SL_TRY(sl_json_i64_opt(j, "millis", &r->millis, err));
    if (error)
        return get_error(error, r, err);
    SL_TRY(sl_json_i64_req(j, "rowsDeleted", &r->rows_deleted, err));
    SL_TRY(get_outputs(j, r, err));
    SL_TRY(check_once(&r->task, r->outputs, r->noutputs, err));
    return check_rows(r, err);
}

int sl_compact_result_decode(sl_str line, struct sl_compact_result *out, sl_err *err)
{
    json_t *j = NULL;
    int rc;

    *out = (struct sl_compact_result){.arena = SL_ARENA_INIT};
    SL_GO(sl_json_parse(line, &j, err));
    SL_GO(sl_compact_check_kind(j, SL_RESULT_KIND, err));
    SL_GO(read_result(j, out, err));
done:
    json_decref(j);
    if (rc != SL_OK)
        sl_compact_result_release(out);
    return rc;
}
