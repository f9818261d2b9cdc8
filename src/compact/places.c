/* places.c - deletion vectors of a snapshot by their data files. */
#include "compact/coordinator.h"
#include "table/append/manifests.h"

struct place {
    const struct sl_index_entry *index;
    const struct sl_dv_range *range;
};

struct sl_dv_places {
    struct sl_index_manifest manifest;
    struct sl_map *by_file; /* to place, in V */
    SL_VEC(struct place) v;
    struct sl_buf key;
};

/* Partition, bucket, name: the file names of two partitions may be equal. */
static void make_key(struct sl_buf *out, sl_str partition, int32_t bucket, sl_str file_name)
{
    sl_buf_reset(out);
    sl_buf_u32le(out, (uint32_t)partition.n);
    sl_buf_add(out, partition);
    sl_buf_u32le(out, (uint32_t)bucket);
    sl_buf_add(out, file_name);
}

static int index_vectors(struct sl_dv_places *p, sl_err *err)
{
    for (size_t i = 0; i < p->manifest.n; i++)
        for (size_t k = 0; k < p->manifest.v[i].ndvs; k++) {
            struct place *place = sl_vec_push(&p->v);

            if (!place)
                return sl_err_nomem(err);
            *place = (struct place){&p->manifest.v[i], &p->manifest.v[i].dvs[k]};
        }
    for (size_t i = 0; i < p->v.n; i++) {
        const struct place *place = &p->v.v[i];

        make_key(&p->key, place->index->partition, place->index->bucket, place->range->data_file);
        SL_TRY(sl_buf_ok(&p->key, err));
        void **slot = sl_map_at(p->by_file, sl_buf_view(&p->key));
        if (!slot)
            return sl_err_nomem(err);
        *slot = &p->v.v[i];
    }
    return SL_OK;
}

int sl_dv_places_new(struct sl_append *t, const struct sl_snapshot *s, struct sl_dv_places **out, sl_err *err)
{
    struct sl_dv_places *p = sl_calloc(1, sizeof *p);
    int rc;

    *out = NULL;
    if (!p)
        return sl_err_nomem(err);
    p->by_file = sl_map_new();
    if (!p->by_file)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_snapshot_index(t, s, &p->manifest, err));
    SL_GO(index_vectors(p, err));
    *out = p;
    p = NULL;
done:
    sl_dv_places_free(p);
    return rc;
}

void sl_dv_places_free(struct sl_dv_places *p)
{
    if (!p)
        return;
    sl_map_free(p->by_file, NULL);
    sl_free(p->v.v);
    sl_buf_release(&p->key);
    sl_index_manifest_release(&p->manifest);
    sl_free(p);
}

int sl_dv_places_find(struct sl_dv_places *p, const struct sl_manifest_entry *e, struct sl_compact_dv *out, sl_err *err)
{
    *out = (struct sl_compact_dv){.cardinality = -1};
    if (p->v.n == 0)
        return SL_OK;
    make_key(&p->key, e->partition, e->bucket, e->file.file_name);
    SL_TRY(sl_buf_ok(&p->key, err));
    const struct place *place = sl_map_get(p->by_file, sl_buf_view(&p->key));
    if (place)
        *out = (struct sl_compact_dv){place->index->file_name, place->range->offset, place->range->length, place->range->cardinality};
    return SL_OK;
}
