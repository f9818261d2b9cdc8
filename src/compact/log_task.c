/* log_task.c - tasks and results of log tables as lines of JSON. */
#include "compact/log_task.h"

#include <string.h>

#include "base/json.h"
#include "base/sys.h"
#include "compact/task.h"

void sl_log_task_release(struct sl_log_task *t)
{
    sl_arena_release(&t->arena);
    *t = (struct sl_log_task){.arena = SL_ARENA_INIT};
}

void sl_log_result_release(struct sl_log_result *r)
{
    sl_log_task_release(&r->task);
    *r = (struct sl_log_result){.task = {.arena = SL_ARENA_INIT}};
}

/* ---- writing ---- */

static void put_text(struct sl_buf *out, const char *name, sl_str value)
{
    sl_buf_printf(out, ",\"%s\":", name);
    sl_buf_json_string(out, value);
}

static void put_instant(struct sl_buf *out, const char *name, int64_t instant)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    put_text(out, name, sl_str_c(text));
}

static void put_task(const struct sl_log_task *t, struct sl_buf *out)
{
    const struct sl_compaction_op *op = &t->op;
    char text[18];

    sl_hudi_instant_text(op->instant, text);
    sl_buf_printf(out, "{\"sluice\":\"" SL_TASK_KIND "\",\"version\":%d,\"id\":\"%s-" SL_STRF "\"", SL_TASK_VERSION, text, SL_STRV(op->file_id));
    put_text(out, "table", sl_str_c(t->table));
    sl_buf_printf(out, ",\"log\":{\"instant\":\"%s\"", text);
    put_text(out, "partition", op->partition);
    put_text(out, "fileId", op->file_id);
    put_instant(out, "baseInstant", op->base_instant);
    if (op->base.p)
        put_text(out, "base", op->base);
    sl_buf_addc(out, ",\"logs\":[");
    for (size_t i = 0; i < op->nlogs; i++) {
        sl_buf_addc(out, i ? "," : "");
        sl_buf_json_string(out, op->logs[i]);
    }
    sl_buf_addc(out, "]}}");
}

int sl_log_task_encode(const struct sl_log_task *t, struct sl_buf *out, sl_err *err)
{
    put_task(t, out);
    return sl_buf_ok(out, err);
}

/* The numbers of a result, by the names of their members. */
#define NUMBERS(m) {{"rows", &(m)->rows}, {"inserts", &(m)->inserts}, {"updates", &(m)->updates}, {"deletes", &(m)->deletes}, \
                    {"logRecords", &(m)->log_records}, {"logBlocks", &(m)->log_blocks}, {"logBytes", &(m)->log_bytes}, \
                    {"corruptBlocks", &(m)->corrupt_blocks}, {"rollbackBlocks", &(m)->rollback_blocks}}

int sl_log_result_encode(const struct sl_log_result *r, struct sl_buf *out, sl_err *err)
{
    const struct {
        const char *name;
        const int64_t *value;
    } numbers[] = NUMBERS(&r->made);

    sl_buf_printf(out, "{\"sluice\":\"" SL_RESULT_KIND "\",\"version\":%d,\"task\":", SL_TASK_VERSION);
    put_task(&r->task, out);
    sl_buf_printf(out, ",\"millis\":%lld", (long long)r->made.millis);
    if (r->error != SL_OK) {
        sl_buf_printf(out, ",\"error\":{\"code\":\"%s\"", sl_code_name(r->error));
        put_text(out, "text", sl_str_c(r->error_text));
        sl_buf_ch(out, '}');
    } else {
        sl_buf_addc(out, ",\"output\":{\"staged\":");
        sl_buf_json_string(out, sl_str_c(r->made.staged));
        put_text(out, "file", sl_str_c(r->made.name));
        sl_buf_printf(out, ",\"size\":%llu", (unsigned long long)r->made.size);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            sl_buf_printf(out, ",\"%s\":%lld", numbers[i].name, (long long)*numbers[i].value);
        sl_buf_ch(out, '}');
    }
    sl_buf_ch(out, '}');
    return sl_buf_ok(out, err);
}

/* ---- reading ---- */

bool sl_log_line(sl_str line)
{
    json_t *j = NULL;
    bool is = false;

    if (sl_json_parse(line, &j, NULL) == SL_OK && json_is_object(j)) {
        const json_t *task = sl_json_member(j, "task");

        is = sl_json_member(task ? task : j, "log") != NULL;
    }
    json_decref(j);
    return is;
}

static int get_text(const json_t *j, const char *name, struct sl_arena *a, sl_str *out, sl_err *err)
{
    sl_str s = {NULL, 0};

    SL_TRY(sl_json_str_req(j, name, &s, err));
    if (memchr(s.p, 0, s.n))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" holds a zero byte", name);
    out->p = sl_arena_strdup(a, s);
    out->n = s.n;
    return out->p ? SL_OK : sl_err_nomem(err);
}

static int get_instant(const json_t *j, const char *name, int64_t *out, sl_err *err)
{
    sl_str s = {NULL, 0};

    SL_TRY(sl_json_str_req(j, name, &s, err));
    return sl_hudi_instant_parse(s, out) ? SL_OK : sl_err_set(err, SL_ECORRUPT, "member \"%s\" is no instant", name);
}

static int get_logs(const json_t *j, struct sl_log_task *t, sl_err *err)
{
    const json_t *list = sl_json_member(j, "logs");
    struct sl_hudi_log_name name;
    sl_str *logs;

    if (!json_is_array(list))
        return sl_err_set(err, SL_ECORRUPT, "member \"logs\" must be an array");
    t->op.nlogs = json_array_size(list);
    logs = sl_arena_array(&t->arena, t->op.nlogs + 1, sizeof *logs);
    if (!logs)
        return sl_err_nomem(err);
    for (size_t i = 0; i < t->op.nlogs; i++) {
        const json_t *one = json_array_get(list, i);

        if (!json_is_string(one) || !sl_hudi_log_parse((sl_str){json_string_value(one), json_string_length(one)}, &name))
            return sl_err_set(err, SL_ECORRUPT, "member %zu of \"logs\" is no name of a log", i + 1);
        logs[i] = sl_arena_str(&t->arena, (sl_str){json_string_value(one), json_string_length(one)});
        if (!logs[i].p)
            return sl_err_nomem(err);
    }
    t->op.logs = logs;
    return SL_OK;
}

static int read_task(const json_t *j, struct sl_log_task *t, sl_err *err)
{
    const json_t *log = sl_json_member(j, "log");
    struct sl_hudi_base_name name;
    sl_str table = {NULL, 0};

    SL_TRY(sl_compact_check_kind(j, SL_TASK_KIND, err));
    SL_TRY(get_text(j, "table", &t->arena, &table, err));
    t->table = table.p;
    if (!json_is_object(log))
        return sl_err_set(err, SL_ECORRUPT, "member \"log\" must be an object");
    SL_TRY(get_instant(log, "instant", &t->op.instant, err));
    SL_TRY(get_instant(log, "baseInstant", &t->op.base_instant, err));
    SL_TRY(get_text(log, "partition", &t->arena, &t->op.partition, err));
    SL_TRY(get_text(log, "fileId", &t->arena, &t->op.file_id, err));
    if (!sl_hudi_file_id_ok(t->op.file_id))
        return sl_err_set(err, SL_ECORRUPT, "member \"fileId\" is no file id");
    if (sl_json_member(log, "base")) {
        SL_TRY(get_text(log, "base", &t->arena, &t->op.base, err));
        if (!sl_hudi_base_parse(t->op.base, &name))
            return sl_err_set(err, SL_ECORRUPT, "member \"base\" is no name of a base file");
    }
    return get_logs(log, t, err);
}

int sl_log_task_decode(sl_str line, struct sl_log_task *out, sl_err *err)
{
    json_t *j = NULL;
    int rc;

    *out = (struct sl_log_task){.arena = SL_ARENA_INIT};
    SL_GO(sl_json_parse(line, &j, err));
    rc = read_task(j, out, err);
done:
    json_decref(j);
    if (rc != SL_OK)
        sl_log_task_release(out);
    return rc;
}

static int read_error(const json_t *j, struct sl_log_result *r, sl_err *err)
{
    sl_str code = {NULL, 0}, text = {NULL, 0};

    SL_TRY(sl_json_str_req(j, "code", &code, err));
    SL_TRY(get_text(j, "text", &r->task.arena, &text, err));
    r->error = sl_compact_code(code);
    r->error_text = text.p;
    return SL_OK;
}

static int read_output(const json_t *j, struct sl_log_result *r, sl_err *err)
{
    const struct {
        const char *name;
        int64_t *value;
    } numbers[] = NUMBERS(&r->made);
    sl_str staged = {NULL, 0}, name = {NULL, 0};
    int64_t size = 0;

    SL_TRY(get_text(j, "staged", &r->task.arena, &staged, err));
    if (!sl_log_staged_ok(staged, r->task.op.instant))
        return sl_err_set(err, SL_ECORRUPT, "member \"staged\" is no name of a staged file");
    r->made.staged = staged.p;
    SL_TRY(get_text(j, "file", &r->task.arena, &name, err));
    if (!sl_log_made_name_ok(name, &r->task.op))
        return sl_err_set(err, SL_ECORRUPT, "member \"file\" is no name of the base file to be");
    r->made.name = name.p;
    SL_TRY(sl_json_i64_req(j, "size", &size, err));
    r->made.size = (uint64_t)size;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        SL_TRY(sl_json_i64_req(j, numbers[i].name, numbers[i].value, err));
    return SL_OK;
}

static int read_result(const json_t *j, struct sl_log_result *r, sl_err *err)
{
    const json_t *error = sl_json_member(j, "error"), *output = sl_json_member(j, "output");

    SL_TRY(sl_compact_check_kind(j, SL_RESULT_KIND, err));
    SL_TRY(read_task(sl_json_member(j, "task"), &r->task, err));
    SL_TRY(sl_json_i64_opt(j, "millis", &r->made.millis, err));
    if (error)
        return read_error(error, r, err);
    if (!json_is_object(output))
        return sl_err_set(err, SL_ECORRUPT, "a result needs a member \"output\" or \"error\"");
    return read_output(output, r, err);
}

int sl_log_result_decode(sl_str line, struct sl_log_result *out, sl_err *err)
{
    json_t *j = NULL;
    int rc;

    *out = (struct sl_log_result){.task = {.arena = SL_ARENA_INIT}};
    SL_GO(sl_json_parse(line, &j, err));
    rc = read_result(j, out, err);
done:
    json_decref(j);
    if (rc != SL_OK)
        sl_log_result_release(out);
    return rc;
}
