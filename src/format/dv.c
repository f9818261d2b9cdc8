/* dv.c - deletion vectors: bitmaps of deleted rows within an index file. */
#include <roaring/roaring.h>

#include "base/sys.h"
#include "format/format_priv.h"

#define MAGIC_32 1581511376u
#define MAGIC_64 1681511377u

struct part {
    uint32_t key; /* upper half of the row numbers */
    roaring_bitmap_t *rows;
};

struct sl_dv {
    struct part *parts;
    size_t n;
};

/* ---- checks of the portable form, since the library's own reader trusts what lies within a container ---- */

enum { COOKIE = 12346, COOKIE_RUNS = 12347, ARRAY_MAX = 4096, BITSET_BYTES = 8192 };

static uint32_t u16(struct sl_cur *c)
{
    uint32_t low = sl_cur_u8(c);

    return low | (uint32_t)sl_cur_u8(c) << 8;
}

static void check_runs(struct sl_cur *c)
{
    uint32_t n = u16(c), next = 0;

    for (uint32_t i = 0; i < n && !c->bad; i++) {
        uint32_t start = u16(c), more = u16(c);

        if ((i && start < next) || start + more > 0xffff)
            c->bad = true;
        next = start + more + 1;
        if (i + 1 < n && next > 0xffff)
            c->bad = true;
    }
    if (n == 0)
        c->bad = true;
}

static void check_array(struct sl_cur *c, uint32_t n)
{
    int64_t last = -1;

    for (uint32_t i = 0; i < n && !c->bad; i++) {
        int64_t v = u16(c);

        if (v <= last)
            c->bad = true;
        last = v;
    }
}

static void check_bitset(struct sl_cur *c, uint32_t n)
{
    uint32_t count = 0;

    for (int i = 0; i < BITSET_BYTES / 8 && !c->bad; i++)
        count += (uint32_t)__builtin_popcountll(sl_cur_u64le(c));
    if (count != n)
        c->bad = true;
}

/* Moves C over one bitmap; bad unless all of it is well formed. */
static void check_bitmap(struct sl_cur *c)
{
    uint32_t cookie = sl_cur_u32le(c), n;
    bool runs = (cookie & 0xffff) == COOKIE_RUNS;
    sl_str flags = {NULL, 0};

    if (!runs && cookie != COOKIE)
        c->bad = true;
    n = runs ? (cookie >> 16) + 1 : sl_cur_u32le(c);
    if (c->bad || n > 1 << 16) {
        c->bad = true;
        return;
    }
    if (runs)
        flags = sl_cur_bytes(c, (n + 7) / 8);
    struct sl_cur heads = sl_cur_of(sl_cur_bytes(c, (size_t)n * 4));
    if (!runs || n >= 4)
        (void)sl_cur_bytes(c, (size_t)n * 4); /* offsets: containers follow each other anyway */
    for (int64_t i = 0, last = -1; i < n && !c->bad; i++) {
        int64_t key = u16(&heads);
        uint32_t card = u16(&heads) + 1;

        if (key <= last)
            c->bad = true;
        last = key;
        if (runs && (unsigned char)flags.p[i / 8] >> i % 8 & 1)
            check_runs(c);
        else if (card <= ARRAY_MAX)
            check_array(c, card);
        else
            check_bitset(c, card);
    }
}

static int damaged(const struct sl_dv_range *range, const char *what, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "the deletion vector of \"" SL_STRF "\" at offset %lld is damaged: %s",
                      (int)(range->data_file.n < 200 ? range->data_file.n : 200), range->data_file.p ? range->data_file.p : "",
                      (long long)range->offset, what);
}

/* One bitmap from C into the next part. */
static int read_part(struct sl_cur *c, uint32_t key, struct sl_dv *dv, const struct sl_dv_range *range, sl_err *err)
{
    struct sl_cur end = *c;

    check_bitmap(&end);
    if (end.bad)
        return damaged(range, "a bitmap is not well formed", err);
    size_t n = (size_t)(end.p - c->p);
    roaring_bitmap_t *rows = roaring_bitmap_portable_deserialize_safe((const char *)c->p, n);
    if (!rows)
        return sl_err_nomem(err);
    dv->parts[dv->n++] = (struct part){key, rows};
    c->p = end.p;
    return SL_OK;
}

static int read_parts(struct sl_cur *c, bool wide, struct sl_dv *dv, const struct sl_dv_range *range, sl_err *err)
{
    uint64_t n = wide ? sl_cur_u64le(c) : 1;

    if (n > sl_cur_left(c) / 8)
        return damaged(range, "it is cut off", err);
    dv->parts = sl_calloc(n ? (size_t)n : 1, sizeof *dv->parts);
    if (!dv->parts)
        return sl_err_nomem(err);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t key = wide ? sl_cur_u32le(c) : 0;

        if (i && key <= dv->parts[i - 1].key)
            return damaged(range, "its bitmaps are out of order", err);
        SL_TRY(read_part(c, key, dv, range, err));
    }
    return sl_cur_left(c) ? damaged(range, "bytes are left over", err) : SL_OK;
}

/* The checked bytes of the vector behind the magic. */
static int find_body(sl_str index_file, const struct sl_dv_range *range, bool *wide, struct sl_cur *body, sl_err *err)
{
    if (index_file.n == 0 || index_file.p[0] != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "index file version %d is not supported (1 is)", index_file.n ? index_file.p[0] : 0);
    if (range->offset < 1 || (uint64_t)range->offset > index_file.n)
        return damaged(range, "it lies outside of the index file", err);
    struct sl_cur c = sl_cur_of(sl_str_sub(index_file, (size_t)range->offset, index_file.n));
    uint32_t size = sl_cur_u32be(&c);
    sl_str bytes = sl_cur_bytes(&c, size);
    uint32_t crc = sl_cur_u32be(&c);
    if (c.bad || size < 4)
        return damaged(range, "it lies outside of the index file", err);
    if (crc != sl_crc32(0, bytes))
        return damaged(range, "its checksum is wrong", err);
    struct sl_cur magic = sl_cur_of(bytes);
    *body = magic;
    *wide = sl_cur_u32le(&magic) == MAGIC_64;
    if (!*wide && sl_cur_u32be(body) != MAGIC_32)
        return damaged(range, "its magic number is not known", err);
    if (*wide)
        (void)sl_cur_u32le(body);
    if (range->length != (int64_t)size + (*wide ? 8 : 0))
        return damaged(range, "its length is not what the index manifest says", err);
    return SL_OK;
}

int sl_dv_decode(sl_str index_file, const struct sl_dv_range *range, struct sl_dv **out, sl_err *err)
{
    struct sl_dv *dv = NULL;
    struct sl_cur body;
    bool wide = false;
    int rc;

    *out = NULL;
    SL_GO(find_body(index_file, range, &wide, &body, err));
    dv = sl_calloc(1, sizeof *dv);
    if (!dv)
        SL_GOTO_NOMEM(err);
    SL_GO(read_parts(&body, wide, dv, range, err));
    if (range->cardinality >= 0 && (uint64_t)range->cardinality != sl_dv_cardinality(dv)) {
        rc = damaged(range, "it deletes another number of rows than the index manifest says", err);
        goto done;
    }
    *out = dv;
    dv = NULL;
done:
    sl_dv_free(dv);
    return rc;
}

bool sl_dv_contains(const struct sl_dv *dv, uint64_t row)
{
    for (size_t i = 0; i < dv->n; i++)
        if (dv->parts[i].key == row >> 32)
            return roaring_bitmap_contains(dv->parts[i].rows, (uint32_t)row);
    return false;
}

uint64_t sl_dv_cardinality(const struct sl_dv *dv)
{
    uint64_t n = 0;

    for (size_t i = 0; i < dv->n; i++)
        n += roaring_bitmap_get_cardinality(dv->parts[i].rows);
    return n;
}

void sl_dv_free(struct sl_dv *dv)
{
    if (!dv)
        return;
    for (size_t i = 0; i < dv->n; i++)
        roaring_bitmap_free(dv->parts[i].rows);
    sl_free(dv->parts);
    sl_free(dv);
}

static int encode_one(const struct sl_dv *dv, struct sl_buf *out, struct sl_dv_range *range, sl_err *err)
{
    roaring_bitmap_t *none = NULL;
    const roaring_bitmap_t *rows = dv->n ? dv->parts[0].rows : NULL;

    if (dv->n > 1 || (dv->n == 1 && dv->parts[0].key != 0))
        return sl_err_set(err, SL_EUNSUPPORTED, "a deletion vector of row numbers above 2^32 is not supported in writing");
    if (!rows && !(rows = none = roaring_bitmap_create()))
        return sl_err_nomem(err);
    size_t size = roaring_bitmap_portable_size_in_bytes(rows);
    range->offset = (int64_t)out->n;
    range->length = (int64_t)size + 4;
    range->cardinality = (int64_t)sl_dv_cardinality(dv);
    sl_buf_u32be(out, (uint32_t)size + 4);
    size_t start = out->n;
    sl_buf_u32be(out, MAGIC_32);
    char *room = sl_buf_room(out, size);
    if (room)
        out->n += roaring_bitmap_portable_serialize(rows, room);
    if (none)
        roaring_bitmap_free(none);
    if (!room)
        return sl_err_nomem(err);
    sl_buf_u32be(out, sl_crc32(0, sl_str_sub(sl_buf_view(out), start, out->n)));
    return out->n > INT32_MAX ? sl_err_set(err, SL_EUNSUPPORTED, "an index file larger than 2 GiB is not supported")
                              : sl_buf_ok(out, err);
}

int sl_dv_encode_file(const struct sl_dv *const *dvs, size_t n, struct sl_buf *out, struct sl_dv_range *ranges, sl_err *err)
{
    sl_buf_reset(out); /* offsets count from the start of the file */
    sl_buf_u8(out, 1);
    for (size_t i = 0; i < n; i++)
        SL_TRY(encode_one(dvs[i], out, &ranges[i], err));
    return sl_buf_ok(out, err);
}
