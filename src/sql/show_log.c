/* show_log.c - SHOW of log tables: partitions with their file slices, instants. */
#include "sql/show_log.h"

#include "table/log/view.h"

static int show(struct sl_exec *r, const sl_str *cells, size_t n, sl_err *err)
{
    r->done.rows++;
    return sl_show_row(r->s, cells, n, err);
}

static bool matches(const struct sl_exec *r, const struct sl_log *t, const struct sl_view_partition *p,
                    struct sl_buf *text)
{
    for (size_t i = 0; i < r->st->pairs.n; i++) {
        const struct sl_pair *want = &r->st->pairs.v[i];

        for (size_t k = 0; k < t->config.npartition; k++) {
            if (!sl_str_eq(want->key.text, t->config.partition_fields[k]))
                continue;
            sl_buf_reset(text);
            if (p->known[k])
                sl_value_text(text, t->partition_types[k], &p->values[k]);
            if (want->null || !p->known[k] || !sl_str_eq(sl_buf_view(text), want->value.text))
                return false;
        }
    }
    return true;
}

static int show_partition(struct sl_exec *r, const struct sl_view *v,
                          const struct sl_view_partition *p, sl_err *err)
{
    unsigned long long slices = 0, logs = 0, bytes = 0;
    char text[3][24];

    for (size_t i = 0; i < v->nslices; i++) {
        if (v->slices[i].partition != p)
            continue;
        slices++;
        logs += v->slices[i].nlogs;
        bytes += v->slices[i].base_bytes + v->slices[i].log_bytes;
    }
    snprintf(text[0], sizeof text[0], "%llu", slices);
    snprintf(text[1], sizeof text[1], "%llu", logs);
    snprintf(text[2], sizeof text[2], "%llu", bytes);
    const sl_str cells[] = {sl_str_c(p->path), sl_str_c(text[0]), sl_str_c(text[1]),
                            sl_str_c(text[2])};
    return show(r, cells, 4, err);
}

int sl_show_log_partitions(struct sl_exec *r, struct sl_log *t, sl_err *err)
{
    static const char *const columns[] = {"partition", "file_slices", "logs", "bytes"};
    struct sl_buf text = SL_BUF_INIT;
    struct sl_view *v = NULL;
    int rc;

    SL_GO(sl_view_open(t, NULL, &v, err));
    SL_GO(sl_show_columns(r->s, columns, 4, err));
    for (size_t i = 0; i < v->npartitions; i++)
        if (matches(r, t, &v->partitions[i], &text))
            SL_GO(show_partition(r, v, &v->partitions[i], err));
done:
    sl_buf_release(&text);
    sl_view_free(v);
    return rc;
}

int sl_show_log_instants(struct sl_exec *r, struct sl_log *t, sl_err *err)
{
    static const char *const columns[] = {"instant", "action", "state", "completion"};
    static const char *const states[] = {"requested", "inflight", "completed"};

    SL_TRY(sl_show_columns(r->s, columns, 4, err));
    for (size_t i = 0; i < t->timeline->n; i++) {
        const struct sl_instant *at = &t->timeline->v[i];
        char instant[18], completion[18];

        sl_hudi_instant_text(at->time, instant);
        sl_hudi_instant_text(at->completion, completion);
        const sl_str cells[] = {sl_str_c(instant), sl_str_c(sl_hudi_action_name(at->action)),
                                sl_str_c(states[at->state]),
                                at->state == SL_HUDI_COMPLETED ? sl_str_c(completion)
                                                               : (sl_str){NULL, 0}};
        SL_TRY(show(r, cells, 4, err));
    }
    return SL_OK;
}
