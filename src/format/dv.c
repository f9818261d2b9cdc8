/* dv.c - deletion vectors in index files, in both bitmap forms. */
#include "format/paimon.h"

#include <roaring/roaring.h>
#include <string.h>

#include "base/sys.h"

enum { MAGIC_32 = 1581511376, MAGIC_64 = 1681511377 };

struct sl_dv {
    roaring_bitmap_t **v; /* of each high 32 bits; NULL where there are none */
    uint32_t *keys;
    size_t n;
};

void sl_dv_free(struct sl_dv *dv)
{
    if (!dv)
        return;
    for (size_t i = 0; i < dv->n; i++)
        if (dv->v[i])
            roaring_bitmap_free(dv->v[i]);
    sl_free(dv->v);
    sl_free(dv->keys);
    sl_free(dv);
}

static struct sl_dv *dv_new(size_t n)
{
    struct sl_dv *dv = sl_calloc(1, sizeof *dv);

    if (!dv)
        return NULL;
    dv->v = sl_calloc(n + 1, sizeof *dv->v);
    dv->keys = sl_calloc(n + 1, sizeof *dv->keys);
    if (!dv->v || !dv->keys) {
        sl_dv_free(dv);
        return NULL;
    }
    return dv;
}

static int add_bitmap(struct sl_dv *dv, struct sl_cur *c, uint32_t key, sl_err *err)
{
    size_t left = sl_cur_left(c);
    size_t n = roaring_bitmap_portable_deserialize_size((const char *)c->p, left);
    roaring_bitmap_t *b = n ? roaring_bitmap_portable_deserialize_safe((const char *)c->p, left) : NULL;

    if (!b)
        return sl_err_set(err, SL_ECORRUPT, "the bitmap of a deletion vector is damaged");
    dv->v[dv->n] = b;
    dv->keys[dv->n++] = key;
    (void)sl_cur_bytes(c, n);
    return SL_OK;
}

static int decode_32(struct sl_cur *c, struct sl_dv **out, sl_err *err)
{
    *out = dv_new(1);
    return *out ? add_bitmap(*out, c, 0, err) : sl_err_nomem(err);
}

static int decode_64(struct sl_cur *c, struct sl_dv **out, sl_err *err)
{
    uint64_t n = sl_cur_u64le(c);

    if (c->bad || n > sl_cur_left(c) / 4)
        return sl_err_set(err, SL_ECORRUPT, "a deletion vector names more bitmaps than it has bytes");
    *out = dv_new((size_t)n);
    if (!*out)
        return sl_err_nomem(err);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t key = sl_cur_u32le(c);

        SL_TRY(add_bitmap(*out, c, key, err));
    }
    return SL_OK;
}

int sl_dv_decode(sl_str file, const struct sl_dv_range *range, struct sl_dv **out, sl_err *err)
{
    struct sl_cur c, body;
    uint32_t size, magic;
    int rc;

    *out = NULL;
    if (file.n < 1 || file.p[0] != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "the index file is of a version other than 1");
    if (range->offset < 0 || (uint64_t)range->offset > file.n)
        return sl_err_set(err, SL_ECORRUPT, "a deletion vector lies outside of its index file");
    c = sl_cur_of(sl_str_sub(file, (size_t)range->offset, file.n));
    size = sl_cur_u32be(&c);
    if (c.bad || size < 4 || size > sl_cur_left(&c) || sl_cur_left(&c) - size < 4)
        return sl_err_set(err, SL_ECORRUPT, "the deletion vector at offset %lld is cut off", (long long)range->offset);
    sl_str bytes = sl_cur_bytes(&c, size);
    if (sl_crc32(0, bytes) != sl_cur_u32be(&c))
        return sl_err_set(err, SL_ECORRUPT, "the checksum of the deletion vector at offset %lld does not match", (long long)range->offset);
    body = sl_cur_of(bytes);
    magic = sl_cur_u32be(&body);
    if (magic == MAGIC_32 && range->length == (int64_t)size) {
        rc = decode_32(&body, out, err);
    } else if (__builtin_bswap32(magic) == MAGIC_64 && range->length == (int64_t)size + 8) {
        rc = decode_64(&body, out, err);
    } else {
        rc = sl_err_set(err, SL_ECORRUPT, "the deletion vector at offset %lld is of no known form", (long long)range->offset);
    }
    if (rc != SL_OK) {
        sl_dv_free(*out);
        *out = NULL;
    }
    return rc;
}

bool sl_dv_contains(const struct sl_dv *dv, uint64_t row)
{
    for (size_t i = 0; i < dv->n; i++)
        if (dv->keys[i] == (uint32_t)(row >> 32))
            return roaring_bitmap_contains(dv->v[i], (uint32_t)row);
    return false;
}

uint64_t sl_dv_cardinality(const struct sl_dv *dv)
{
    uint64_t n = 0;

    for (size_t i = 0; i < dv->n; i++)
        n += roaring_bitmap_get_cardinality(dv->v[i]);
    return n;
}
