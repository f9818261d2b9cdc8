/* inspect.c - what a log table holds. */
#include "table/log/inspect.h"

#include <string.h>

#include "base/sys.h"
#include "table/log/view.h"

/* A failed json_* call gives NULL, which the setters refuse; the document then lacks a member, so it is checked at the end. */
struct inspection {
    struct sl_log *t;
    struct sl_view *v;
    bool nomem;
};

static json_t *text(sl_str s)
{
    json_t *j = json_stringn(s.p ? s.p : "", s.n);

    return j ? j : json_string("(not UTF-8)");
}

static json_t *instant(int64_t time)
{
    char digits[18];

    if (time <= 0)
        return json_null();
    sl_hudi_instant_text(time, digits);
    return json_string(digits);
}

static json_t *names(struct inspection *x, const sl_str *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        sl_json_push(&x->nomem, list, text(v[i]));
    return list;
}

/* ---- the table ---- */

static const char *merge_name(const struct sl_hudi_config *c)
{
    return c->merge == SL_HUDI_EVENT_TIME ? "event time" : c->merge == SL_HUDI_COMMIT_TIME ? "commit time" : "custom";
}

static json_t *columns(struct inspection *x)
{
    const struct sl_schema *s = &x->t->schema->columns;
    json_t *list = json_array();

    for (size_t i = 0; i < s->nfields; i++) {
        json_t *column = json_object();
        struct sl_buf type = SL_BUF_INIT;

        sl_type_sql(&type, s->fields[i].type);
        sl_json_put(&x->nomem, column, "name", text(sl_str_c(s->fields[i].name)));
        sl_json_put(&x->nomem, column, "type", text(sl_buf_view(&type)));
        sl_buf_release(&type);
        sl_json_push(&x->nomem, list, column);
    }
    return list;
}

/* What stands against reading or writing; null if nothing does. */
static json_t *refusal(int (*check)(const struct sl_log *t, sl_err *err), const struct sl_log *t)
{
    sl_err why = SL_ERR_INIT;

    return check(t, &why) == SL_OK ? json_null() : text(sl_str_c(why.text));
}

static void put_table(struct inspection *x, json_t *doc)
{
    const struct sl_hudi_config *c = &x->t->config;

    sl_json_put(&x->nomem, doc, "kind", json_string("log table"));
    sl_json_put(&x->nomem, doc, "path", text(sl_str_c(x->t->path)));
    sl_json_put(&x->nomem, doc, "name", text(c->name));
    sl_json_put(&x->nomem, doc, "type", json_string(c->type == SL_HUDI_MOR ? "MERGE_ON_READ" : "COPY_ON_WRITE"));
    sl_json_put(&x->nomem, doc, "version", json_integer(c->version));
    sl_json_put(&x->nomem, doc, "keyFields", names(x, c->key_fields, c->nkeys));
    sl_json_put(&x->nomem, doc, "partitionFields", names(x, c->partition_fields, c->npartition));
    sl_json_put(&x->nomem, doc, "orderingFields", names(x, c->ordering_fields, c->nordering));
    sl_json_put(&x->nomem, doc, "merge", json_string(merge_name(c)));
    sl_json_put(&x->nomem, doc, "columns", columns(x));
    sl_json_put(&x->nomem, doc, "notReadableSince", refusal(sl_log_check_read, x->t));
    sl_json_put(&x->nomem, doc, "notWritableSince", refusal(sl_log_check_write, x->t));
}

/* ---- the timeline ---- */

static void put_timeline(struct inspection *x, json_t *doc)
{
    static const char *const states[] = {"requested", "inflight", "completed"};
    const struct sl_timeline *tl = x->v->timeline;
    json_t *list = json_array();

    for (size_t i = 0; i < tl->n; i++) {
        const struct sl_instant *at = &tl->v[i];
        json_t *one = json_object();

        sl_json_put(&x->nomem, one, "instant", instant(at->time));
        sl_json_put(&x->nomem, one, "action", json_string(sl_hudi_action_name(at->planned)));
        sl_json_put(&x->nomem, one, "state", json_string(states[at->state]));
        sl_json_put(&x->nomem, one, "completion", at->state == SL_HUDI_COMPLETED ? instant(at->completion) : json_null());
        sl_json_push(&x->nomem, list, one);
    }
    sl_json_put(&x->nomem, doc, "timeline", list);
    sl_json_put(&x->nomem, doc, "olderInstantsArchived", json_boolean(tl->has_history));
}

/* ---- files ---- */

static json_t *file(struct inspection *x, const struct sl_log_file *f)
{
    json_t *one = json_object();

    sl_json_put(&x->nomem, one, "path", text(sl_str_c(f->path)));
    sl_json_put(&x->nomem, one, "bytes", json_integer((json_int_t)f->size));
    return one;
}

static json_t *slice(struct inspection *x, const struct sl_slice *s)
{
    json_t *one = json_object(), *logs = json_array();

    sl_json_put(&x->nomem, one, "partition", text(sl_str_c(s->partition->path)));
    sl_json_put(&x->nomem, one, "fileId", text(sl_str_c(s->file_id)));
    sl_json_put(&x->nomem, one, "instant", instant(s->instant));
    sl_json_put(&x->nomem, one, "base", s->base ? file(x, s->base) : json_null());
    for (size_t i = 0; i < s->nlogs; i++)
        sl_json_push(&x->nomem, logs, file(x, s->logs[i]));
    sl_json_put(&x->nomem, one, "logs", logs);
    sl_json_put(&x->nomem, one, "pendingCompaction", instant(s->pending));
    return one;
}

static json_t *partition(struct inspection *x, const struct sl_view_partition *p)
{
    json_t *one = json_object();
    size_t slices = 0, logs = 0, log_only = 0;
    uint64_t base_bytes = 0, log_bytes = 0;

    for (size_t i = 0; i < x->v->nslices; i++) {
        const struct sl_slice *s = &x->v->slices[i];

        if (s->partition != p)
            continue;
        slices++;
        logs += s->nlogs;
        log_only += s->base == NULL;
        base_bytes += s->base_bytes;
        log_bytes += s->log_bytes;
    }
    sl_json_put(&x->nomem, one, "path", text(sl_str_c(p->path)));
    sl_json_put(&x->nomem, one, "fileGroups", json_integer((json_int_t)slices));
    sl_json_put(&x->nomem, one, "logOnlyGroups", json_integer((json_int_t)log_only));
    sl_json_put(&x->nomem, one, "baseBytes", json_integer((json_int_t)base_bytes));
    sl_json_put(&x->nomem, one, "logs", json_integer((json_int_t)logs));
    sl_json_put(&x->nomem, one, "logBytes", json_integer((json_int_t)log_bytes));
    return one;
}

static json_t *stray(struct inspection *x, const struct sl_stray *s)
{
    static const char *const why[] = {"its instant is pending", "its instant was rolled back", "later than what is looked at"};
    json_t *one = file(x, s->file);

    sl_json_put(&x->nomem, one, "why", json_string(why[s->why]));
    return one;
}

static void put_files(struct inspection *x, json_t *doc, bool all)
{
    json_t *partitions = json_array(), *strays = json_array();
    size_t replaced = 0;

    for (size_t i = 0; i < x->v->npartitions; i++)
        sl_json_push(&x->nomem, partitions, partition(x, &x->v->partitions[i]));
    for (size_t i = 0; i < x->v->ngroups; i++)
        replaced += x->v->groups[i].replaced != 0;
    for (size_t i = 0; i < x->v->nstrays; i++)
        sl_json_push(&x->nomem, strays, stray(x, &x->v->strays[i]));
    sl_json_put(&x->nomem, doc, "partitions", partitions);
    sl_json_put(&x->nomem, doc, "fileGroups", json_integer((json_int_t)x->v->nslices));
    sl_json_put(&x->nomem, doc, "replacedGroups", json_integer((json_int_t)replaced));
    sl_json_put(&x->nomem, doc, "strayFiles", strays);
    if (all) {
        json_t *slices = json_array();

        for (size_t i = 0; i < x->v->nslices; i++)
            sl_json_push(&x->nomem, slices, slice(x, &x->v->slices[i]));
        sl_json_put(&x->nomem, doc, "slices", slices);
    }
}

int sl_log_inspect(struct sl_log *t, const struct sl_inspect_options *options, json_t **out, sl_err *err)
{
    struct inspection x = {.t = t};
    const struct sl_view_spec spec = {.as_of = options->snapshot};
    json_t *doc = json_object();
    const struct sl_instant *newest;
    int rc = SL_OK;

    *out = NULL;
    if (!doc)
        SL_GOTO_NOMEM(err);
    if (options->tag.n) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "log tables have no tags");
        goto done;
    }
    SL_GO(sl_view_open(t, &spec, &x.v, err));
    put_table(&x, doc);
    newest = sl_timeline_latest(x.v->timeline, x.v->as_of);
    sl_json_put(&x.nomem, doc, "instant", instant(newest ? newest->time : 0));
    put_timeline(&x, doc);
    put_files(&x, doc, options->files);
    if (x.nomem)
        SL_GOTO_NOMEM(err);
    *out = doc;
    doc = NULL;
done:
    json_decref(doc);
    sl_view_free(x.v);
    return rc;
}
