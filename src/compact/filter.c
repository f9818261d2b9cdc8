/* filter.c - which partitions are wanted, by "key=value" texts. */
#include <string.h>

#include "compact/coordinator.h"

struct want {
    size_t key;             /* index among the partition keys */
    struct sl_value value;
};

struct sl_part_filter {
    const struct sl_append *table;
    struct sl_arena arena;
    struct want *wants;
    size_t nwants;
    struct sl_value *values; /* of the partition at hand */
};

static int find_key(const struct sl_schema *s, sl_str key, size_t *out, sl_err *err)
{
    for (size_t i = 0; i < s->npartition; i++)
        if (sl_str_eqc(key, s->partition_keys[i])) {
            *out = i;
            return SL_OK;
        }
    sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" is not a partition column", SL_STRV(key));
    if (s->npartition == 0)
        sl_err_hint(err, "the table has no partitions");
    else
        sl_err_hint(err, "the first one is \"%s\"", s->partition_keys[0]);
    return SL_EINPUT;
}

static int parse_want(struct sl_part_filter *f, sl_str text, struct want *w, sl_err *err)
{
    const char *null_name = sl_schema_option(f->table->schema, "partition.default-name");
    const char *eq = memchr(text.p, '=', text.n);

    if (!eq)
        return sl_err_set(err, SL_EINPUT, "a partition must be given as key=value, found \"" SL_STRF "\"", SL_STRV(text));
    sl_str key = {text.p, (size_t)(eq - text.p)}, value = sl_str_sub(text, key.n + 1, text.n);
    SL_TRY(find_key(f->table->schema, key, &w->key, err));
    const struct sl_type *type = f->table->partition_types[w->key];
    w->value = (struct sl_value){.kind = type->kind, .null = true};
    if (sl_str_eqc(value, null_name ? null_name : "__DEFAULT_PARTITION__"))
        return SL_OK;
    if (sl_value_from_text(&f->arena, type, value, &w->value))
        return SL_OK;
    return sl_err_set(err, SL_EINPUT, "\"" SL_STRF "\" is not a value of partition column \"" SL_STRF "\"", SL_STRV(value), SL_STRV(key));
}

int sl_part_filter_new(const struct sl_append *t, const sl_str *texts, size_t n, struct sl_part_filter **out, sl_err *err)
{
    struct sl_part_filter *f = NULL;
    int rc = SL_OK;

    *out = NULL;
    if (n == 0)
        return SL_OK;
    f = sl_calloc(1, sizeof *f);
    if (!f)
        return sl_err_nomem(err);
    f->table = t;
    f->nwants = n;
    f->wants = sl_arena_array(&f->arena, n, sizeof *f->wants);
    f->values = sl_arena_array(&f->arena, t->npartition + 1, sizeof *f->values);
    if (!f->wants || !f->values)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        SL_GO(parse_want(f, texts[i], &f->wants[i], err));
    *out = f;
    f = NULL;
done:
    sl_part_filter_free(f);
    return rc;
}

bool sl_part_filter_match(struct sl_part_filter *f, sl_str partition)
{
    sl_err ignored;

    if (!f || sl_append_partition(f->table, partition, f->values, &ignored) != SL_OK)
        return true;
    for (size_t i = 0; i < f->nwants; i++)
        if (!sl_value_eq(&f->wants[i].value, &f->values[f->wants[i].key]))
            return false;
    return true;
}

void sl_part_filter_free(struct sl_part_filter *f)
{
    if (!f)
        return;
    sl_arena_release(&f->arena);
    sl_free(f);
}
