/*
 * plan_keys.c - reads that name record keys: only base files and blocks that may hold one of them are read, and all DELETE blocks of their slices
 * (decision L4).
 */
#include <string.h>

#include "table/log/plan_priv.h"

enum { KEYS_MAX = 1000 }; /* with more, the ranges rule out little */

/* ---- what is asked for ---- */

/* The values that a key field may have. */
struct wanted {
    const struct sl_type *type;
    SL_VEC(struct sl_value) v;
};

/* Adds the values of the column that satisfy PRED; false, and nothing added, if it does not say them. */
static int values_of(const struct sl_pred *pred, int32_t field_id, struct wanted *to, bool *said, sl_err *err)
{
    const size_t before = to->v.n;

    *said = false;
    if ((pred->op == SL_PRED_EQ || pred->op == SL_PRED_IN) && pred->field_id == field_id) {
        for (size_t i = 0; i < pred->nvalues; i++) {
            struct sl_value *slot = sl_vec_push(&to->v);

            if (!slot)
                return sl_err_nomem(err);
            *slot = pred->values[i];
        }
        to->type = pred->type;
        *said = pred->nvalues > 0;
        return SL_OK;
    }
    if (pred->op != SL_PRED_AND && pred->op != SL_PRED_OR)
        return SL_OK;
    /* Of AND one part is enough; of OR all must say it. */
    for (size_t i = 0; i < pred->nargs; i++) {
        SL_TRY(values_of(pred->args[i], field_id, to, said, err));
        if (*said == (pred->op == SL_PRED_AND))
            break;
    }
    if (!*said)
        to->v.n = before;
    return SL_OK;
}

/* The text of one value in a key; false if another writer may write it in another way. */
static bool put_value(struct sl_buf *out, const struct sl_type *type, const struct sl_value *v)
{
    switch (type->kind) {
    case SL_CHAR:
    case SL_VARCHAR:
        sl_buf_add(out, v->u.s);
        return v->u.s.n > 0;
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
        sl_buf_printf(out, "%lld", (long long)v->u.i);
        return true;
    default:
        return false;
    }
}

/* One key field is its value; several are "f:v,g:w". A single field of a COMPLEX generator is written in two ways, so it is not looked up. */
static bool known_form(const struct sl_hudi_config *c)
{
    if (c->nkeys == 1)
        return c->keygen == SL_HUDI_KEYGEN_SIMPLE || c->keygen == SL_HUDI_KEYGEN_NONPARTITIONED;
    return c->nkeys > 1 && (c->keygen == SL_HUDI_KEYGEN_COMPLEX || c->keygen == SL_HUDI_KEYGEN_NONPARTITIONED);
}

/* The key of combination NUMBER of the values. *OK false: it has no certain form. */
static int make_key(const struct sl_log_plan *p, const struct wanted *fields, size_t number, struct sl_buf *out, bool *ok, sl_err *err)
{
    const struct sl_hudi_config *c = &p->table->config;

    *ok = true;
    sl_buf_reset(out);
    for (size_t i = 0; i < c->nkeys && *ok; i++) {
        const struct sl_value *v = &fields[i].v.v[number % fields[i].v.n];

        number /= fields[i].v.n;
        if (c->nkeys > 1)
            sl_buf_printf(out, "%s" SL_STRF ":", i ? "," : "", SL_STRV(c->key_fields[i]));
        *ok = !v->null && put_value(out, fields[i].type, v);
    }
    return sl_buf_ok(out, err);
}

/* How many combinations the fields' values have; 0: not all fields are said, or there are too many. */
static int wanted_values(const struct sl_log_plan *p, const struct sl_pred *pred, struct wanted *fields, size_t *out, sl_err *err)
{
    const struct sl_hudi_config *c = &p->table->config;
    size_t n = 1;

    *out = 0;
    for (size_t i = 0; i < c->nkeys; i++) {
        const struct sl_field *f = sl_schema_field(&p->schema->columns, c->key_fields[i]);
        bool said = false;

        if (f)
            SL_TRY(values_of(pred, f->id, &fields[i], &said, err));
        if (!said || fields[i].v.n > KEYS_MAX || (n *= fields[i].v.n) > KEYS_MAX)
            return SL_OK;
    }
    *out = n;
    return SL_OK;
}

static int make_keys(struct sl_log_plan *p, const struct wanted *fields, size_t n, sl_err *err)
{
    sl_str *keys = sl_arena_array(&p->io->arena, n, sizeof *keys);
    struct sl_buf key = SL_BUF_INIT;
    bool ok = true;
    int rc = SL_OK;

    if (!keys)
        SL_GOTO_NOMEM(err);
    for (size_t i = 0; i < n && ok; i++) {
        SL_GO(make_key(p, fields, i, &key, &ok, err));
        keys[i] = sl_arena_str(&p->io->arena, sl_buf_view(&key));
        if (!keys[i].p)
            SL_GOTO_NOMEM(err);
    }
    if (ok) {
        p->keys = keys;
        p->nkeys = n;
    }
done:
    sl_buf_release(&key);
    return rc;
}

int sl_plan__find_keys(struct sl_log_plan *p, const struct sl_pred *pred, sl_err *err)
{
    const struct sl_hudi_config *c = &p->table->config;
    struct wanted *fields;
    size_t n;
    int rc;

    if (!known_form(c) || !c->populate_meta)
        return SL_OK;
    fields = sl_arena_array(&p->io->arena, c->nkeys, sizeof *fields);
    if (!fields)
        return sl_err_nomem(err);
    rc = wanted_values(p, pred, fields, &n, err);
    if (rc == SL_OK && n)
        rc = make_keys(p, fields, n, err);
    for (size_t i = 0; i < c->nkeys; i++)
        sl_free(fields[i].v.v);
    return rc;
}

/* ---- which sources may hold it ---- */

struct chooser {
    struct sl_log_plan *p;
    struct sl_bloom_key *keys;
    struct sl_key_sources *sources;
    size_t next;        /* source that comes now */
    size_t next_blocks; /* list of blocks that comes now */
};

static bool may_hold(struct chooser *ch, const struct sl_lookup_source *s)
{
    struct sl_lookup_stats *stats = &ch->p->lookup;
    bool inside = false;

    stats->sources++;
    for (size_t k = 0; s->indexed && k < ch->p->nkeys; k++) {
        const enum sl_hudi_hit hit = sl_hudi_index_test(&s->index, &ch->keys[k]);

        if (hit == SL_HUDI_MAYBE) {
            stats->opened++;
            return true;
        }
        inside = inside || hit == SL_HUDI_FILTERED;
    }
    if (s->indexed) {
        stats->by_range += !inside;
        stats->by_filter += inside;
        return false;
    }
    stats->unindexed++;
    stats->opened++;
    return true;
}

static int add_block(struct sl_blocks *to, const struct sl_block *b, sl_err *err)
{
    struct sl_block *slot = sl_vec_push(to);

    if (!slot)
        return sl_err_nomem(err);
    *slot = *b;
    return SL_OK;
}

/* Slice I, as it was before: which of its files and blocks stay. *KEEP false: none. */
static int choose_slice(struct chooser *ch, struct sl_slice *s, const struct sl_slice *was, struct sl_blocks *to, bool *keep, sl_err *err)
{
    struct sl_key_sources *ks = ch->sources;
    const struct sl_blocks *blocks = was->nlogs ? ks->blocks.v[ch->next_blocks++] : NULL;
    size_t deletes = 0;

    *keep = false;
    if (was->base) {
        if (may_hold(ch, &ks->known.v[ch->next++]))
            *keep = true;
        else
            s->base = NULL;
    }
    for (size_t i = 0; blocks && i < blocks->n; i++) {
        const struct sl_block *b = &blocks->v[i];
        bool data = false;

        if (ch->next < ks->v.n && ks->v.v[ch->next].block == b)
            data = may_hold(ch, &ks->known.v[ch->next++]) && b->type != SL_HUDI_BLOCK_DELETE;
        *keep = *keep || data;
        deletes += b->type == SL_HUDI_BLOCK_DELETE;
        if (data || b->type == SL_HUDI_BLOCK_DELETE)
            SL_TRY(add_block(to, b, err));
    }
    if (*keep)
        ch->p->delete_blocks += deletes;
    if (to->n == 0)
        s->nlogs = s->nbefore = 0;
    return SL_OK;
}

static int choose_all(struct chooser *ch, const struct sl_slice *was, sl_err *err)
{
    struct sl_log_plan *p = ch->p;
    struct sl_slice *copies = sl_arena_array(&p->io->arena, p->nslices + 1, sizeof *copies);
    const struct sl_slice **kept = sl_arena_array(&p->io->arena, p->nslices + 1, sizeof *kept);
    size_t n = 0;

    p->io->chosen = sl_arena_array(&p->io->arena, p->nslices + 1, sizeof *p->io->chosen);
    if (!copies || !kept || !p->io->chosen)
        return sl_err_nomem(err);
    for (size_t i = 0; i < p->nslices; i++) {
        struct sl_blocks blocks = SL_BLOCKS_INIT;
        bool keep;
        int rc;

        copies[i] = was[i];
        rc = choose_slice(ch, &copies[i], &was[i], &blocks, &keep, err);
        if (rc == SL_OK && keep) {
            p->io->chosen[n] = blocks;
            kept[n++] = &copies[i];
            p->io->nchosen = n;
            continue;
        }
        sl_blocks_release(&blocks);
        SL_TRY(rc);
    }
    p->slices = kept;
    p->nslices = n;
    return SL_OK;
}

int sl_plan__choose(struct sl_log_plan *p, struct sl_conn *conn, sl_err *err)
{
    struct chooser ch = {.p = p, .sources = &p->io->sources};
    struct sl_slice *all = sl_arena_array(&p->io->arena, p->nslices + 1, sizeof *all);

    ch.keys = sl_arena_array(&p->io->arena, p->nkeys, sizeof *ch.keys);
    p->io->only = sl_map_new();
    if (!all || !ch.keys || !p->io->only)
        return sl_err_nomem(err);
    for (size_t i = 0; i < p->nkeys; i++) {
        void **slot = sl_map_at(p->io->only, p->keys[i]);

        if (!slot)
            return sl_err_nomem(err);
        *slot = p;
        sl_bloom_key_init(&ch.keys[i], p->keys[i]);
    }
    for (size_t i = 0; i < p->nslices; i++)
        all[i] = *p->slices[i];
    SL_TRY(sl_key_sources_add(ch.sources, conn, p->view, all, p->nslices, NULL, NULL, err));
    return choose_all(&ch, all, err);
}
