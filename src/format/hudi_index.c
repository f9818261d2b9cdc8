/* hudi_index.c - range and filter of a block's keys, as JSON and as key/value metadata. */
#include "format/hudi_index.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sys.h"

/* ---- order ---- */

/* Surrogates are below U+E000 in UTF-16 though their characters are above: F0 to F7 change places with EE and EF. */
static unsigned char shifted(unsigned char c)
{
    return c < 0xee || c > 0xf7 ? c : c >= 0xf0 ? (unsigned char)(c - 2) : (unsigned char)(c + 8);
}

int sl_hudi_key_cmp(sl_str a, sl_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;

    /* The first byte that differs decides: in UTF-8 only lead bytes EE, EF (U+E000 to U+FFFF) and F0 to F4 stand in another order. */
    for (size_t i = 0; i < n; i++) {
        unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];

        if (x != y)
            return (int)shifted(x) - (int)shifted(y);
    }
    return a.n < b.n ? -1 : a.n > b.n;
}

/* ---- building ---- */

int sl_hudi_index_build(struct sl_arena *a, const sl_str *keys, size_t n, double fpp, struct sl_hudi_index *out, sl_err *err)
{
    struct sl_buf bytes = SL_BUF_INIT, text = SL_BUF_INIT;
    int rc = SL_OK;

    *out = (struct sl_hudi_index){.records = (int64_t)n, .has_range = n > 0, .has_filter = n > 0 && fpp > 0};
    if (out->has_filter)
        SL_GO(sl_bloom_new(a, n, fpp, &out->filter, err));
    for (size_t i = 0; i < n; i++) {
        if (keys[i].n == 0)
            SL_GO(sl_err_set(err, SL_EINPUT, "record %zu has an empty key", i));
        if (i == 0 || sl_hudi_key_cmp(keys[i], out->min) < 0)
            out->min = keys[i];
        if (i == 0 || sl_hudi_key_cmp(keys[i], out->max) > 0)
            out->max = keys[i];
        if (out->has_filter)
            SL_GO(sl_bloom_add(&out->filter, keys[i], err));
    }
    if (out->has_range) {
        out->min = sl_arena_str(a, out->min);
        out->max = sl_arena_str(a, out->max);
        if (!out->min.p || !out->max.p)
            SL_GOTO_NOMEM(err);
    }
    if (out->has_filter) {
        sl_bloom_encode(&out->filter, &bytes);
        sl_buf_base64(&text, sl_buf_view(&bytes));
        SL_GO(sl_buf_ok(&bytes, err));
        SL_GO(sl_buf_ok(&text, err));
        out->filter_text = sl_arena_str(a, sl_buf_view(&text));
        if (!out->filter_text.p)
            SL_GOTO_NOMEM(err);
    }
done:
    sl_buf_release(&bytes);
    sl_buf_release(&text);
    return rc;
}

/* ---- asking ---- */

bool sl_hudi_index_inside(const struct sl_hudi_index *x, sl_str key)
{
    if (!x->has_range)
        return true;
    return (sl_hudi_key_cmp(key, x->min) >= 0 && sl_hudi_key_cmp(key, x->max) <= 0) ||
           (sl_str_cmp(key, x->min) >= 0 && sl_str_cmp(key, x->max) <= 0);
}

enum sl_hudi_hit sl_hudi_index_test(const struct sl_hudi_index *x, struct sl_bloom_key *key)
{
    if (!sl_hudi_index_inside(x, key->key))
        return SL_HUDI_OUTSIDE;
    return x->has_filter && !sl_bloom_may_hold(&x->filter, key) ? SL_HUDI_FILTERED : SL_HUDI_MAYBE;
}

/* ---- JSON ---- */

static uint32_t checksum(const struct sl_hudi_index *x)
{
    const sl_str zero = {"", 1};
    uint32_t crc = sl_crc32(sl_crc32(0, x->min), zero);

    return sl_crc32(sl_crc32(sl_crc32(crc, x->max), zero), x->filter_text);
}

/* A JSON string in ASCII alone. */
static void put_ascii(struct sl_buf *out, sl_str s)
{
    const unsigned char *p = (const unsigned char *)s.p, *end = s.n ? p + s.n : p;

    sl_buf_ch(out, '"');
    while (p < end) {
        uint32_t c = *p++;
        int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

        if (more)
            c &= 0x3fU >> more;
        for (; more > 0 && p < end; more--)
            c = c << 6 | (*p++ & 0x3fU);
        if (c == '"' || c == '\\')
            sl_buf_printf(out, "\\%c", (char)c);
        else if (c >= 0x20 && c < 0x7f)
            sl_buf_ch(out, (char)c);
        else if (c < 0x10000)
            sl_buf_printf(out, "\\u%04x", (unsigned)c);
        else
            sl_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
    }
    sl_buf_ch(out, '"');
}

void sl_hudi_index_json(const struct sl_hudi_index *x, struct sl_buf *out)
{
    sl_buf_printf(out, "{\"sluice_log_index\":1,\"n\":%lld", (long long)x->records);
    if (x->has_range) {
        sl_buf_addc(out, ",\"" SL_HUDI_KV_MIN "\":");
        put_ascii(out, x->min);
        sl_buf_addc(out, ",\"" SL_HUDI_KV_MAX "\":");
        put_ascii(out, x->max);
    }
    if (x->has_filter) {
        sl_buf_printf(out, ",\"" SL_HUDI_KV_BLOOM_TYPE "\":\"%s\",\"" SL_HUDI_KV_BLOOM "\":\"",
                      x->filter.kind == SL_BLOOM_SIMPLE ? "SIMPLE" : "DYNAMIC_V0");
        sl_buf_add(out, x->filter_text);
        sl_buf_ch(out, '"');
    }
    sl_buf_printf(out, ",\"crc32\":\"%08x\"}", checksum(x));
}

static int damaged(const char *what, sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "the index is damaged: %s", what);
}

static int take_text(struct sl_arena *a, sl_str s, sl_str *out, sl_err *err)
{
    *out = (sl_str){sl_arena_strdup(a, s), s.n};
    return out->p ? SL_OK : sl_err_nomem(err);
}

/* Base64 TEXT of a filter named TYPE ("" = SIMPLE). */
static int take_filter(struct sl_arena *a, sl_str type, sl_str text, struct sl_hudi_index *out, sl_err *err)
{
    enum sl_bloom_kind kind = sl_str_eqc(type, "DYNAMIC_V0") ? SL_BLOOM_DYNAMIC : SL_BLOOM_SIMPLE;
    struct sl_buf bytes = SL_BUF_INIT;
    sl_str copy;
    int rc;

    if (type.n && !sl_str_eqc(type, "SIMPLE") && kind == SL_BLOOM_SIMPLE)
        return sl_err_set(err, SL_EUNSUPPORTED, "a bloom filter of type \"" SL_STRF "\" is not supported", (int)(type.n < 40 ? type.n : 40), type.p);
    SL_TRY(take_text(a, text, &out->filter_text, err));
    if (!sl_base64_decode(text, &bytes)) {
        rc = bytes.failed ? sl_err_nomem(err) : damaged("the bloom filter is no base64", err);
        goto done;
    }
    copy = sl_arena_str(a, bytes.n ? sl_buf_view(&bytes) : (sl_str){"", 0});
    if (!copy.p)
        SL_GOTO_NOMEM(err);
    SL_GO(sl_bloom_parse(a, copy, kind, &out->filter, err));
    out->has_filter = true;
done:
    sl_buf_release(&bytes);
    return rc;
}

static int take_members(struct sl_arena *a, const json_t *doc, struct sl_hudi_index *out, sl_err *err)
{
    sl_str min = {NULL, 0}, max = {NULL, 0}, type = {NULL, 0}, filter = {NULL, 0}, crc;
    int64_t version;
    char expect[9];

    SL_TRY(sl_json_i64_req(doc, "sluice_log_index", &version, err));
    if (version != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %lld of the index is not supported", (long long)version);
    SL_TRY(sl_json_i64_req(doc, "n", &out->records, err));
    SL_TRY(sl_json_str_opt(doc, SL_HUDI_KV_MIN, &min, err));
    SL_TRY(sl_json_str_opt(doc, SL_HUDI_KV_MAX, &max, err));
    SL_TRY(sl_json_str_opt(doc, SL_HUDI_KV_BLOOM_TYPE, &type, err));
    SL_TRY(sl_json_str_opt(doc, SL_HUDI_KV_BLOOM, &filter, err));
    SL_TRY(sl_json_str_req(doc, "crc32", &crc, err));
    if (out->records < 0 || !min.p != !max.p)
        return damaged("its count is negative or half of its range is missing", err);
    if (min.p) {
        out->has_range = true;
        SL_TRY(take_text(a, min, &out->min, err));
        SL_TRY(take_text(a, max, &out->max, err));
    }
    if (filter.p)
        SL_TRY(take_filter(a, type, filter, out, err));
    snprintf(expect, sizeof expect, "%08x", checksum(out));
    return sl_str_eqc(crc, expect) ? SL_OK : damaged("its checksum is wrong", err);
}

int sl_hudi_index_parse(struct sl_arena *a, sl_str json, struct sl_hudi_index *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    *out = (struct sl_hudi_index){.records = -1};
    if (json.n == 0 || json.p[0] != '{')
        return damaged("it is no JSON object", err);
    SL_GO(sl_json_parse(json, &doc, err));
    rc = take_members(a, doc, out, err);
done:
    json_decref(doc);
    if (rc != SL_OK)
        *out = (struct sl_hudi_index){.records = -1};
    return rc;
}

/* ---- key/value metadata ---- */

static int put_kv(struct sl_arena *a, struct sl_hudi_kv *kv, size_t *n, const char *key, sl_str value, sl_err *err)
{
    sl_str copy;

    SL_TRY(take_text(a, value, &copy, err));
    kv[(*n)++] = (struct sl_hudi_kv){sl_str_c(key), copy};
    return SL_OK;
}

int sl_hudi_index_to_kv(struct sl_arena *a, const struct sl_hudi_index *x, bool block, struct sl_hudi_kv *kv, size_t *n, sl_err *err)
{
    char count[24], crc[9];

    *n = 0;
    if (x->has_filter) {
        SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_BLOOM, x->filter_text, err));
        SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_BLOOM_TYPE,
                      x->filter.kind == SL_BLOOM_SIMPLE ? SL_LIT("SIMPLE") : SL_LIT("DYNAMIC_V0"), err));
    }
    if (x->has_range) {
        SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_MIN, x->min, err));
        SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_MAX, x->max, err));
    }
    if (!block)
        return SL_OK;
    snprintf(count, sizeof count, "%lld", (long long)x->records);
    snprintf(crc, sizeof crc, "%08x", checksum(x));
    SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_INDEX, SL_LIT("1"), err));
    SL_TRY(put_kv(a, kv, n, SL_HUDI_KV_RECORDS, sl_str_c(count), err));
    return put_kv(a, kv, n, SL_HUDI_KV_CRC, sl_str_c(crc), err);
}

static sl_str kv_of(const struct sl_hudi_kv *kv, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (sl_str_eqc(kv[i].key, key))
            return kv[i].value;
    return (sl_str){NULL, 0};
}

static int from_kv(struct sl_arena *a, const struct sl_hudi_kv *kv, size_t n, struct sl_hudi_index *out, sl_err *err)
{
    sl_str filter = kv_of(kv, n, SL_HUDI_KV_BLOOM), min = kv_of(kv, n, SL_HUDI_KV_MIN), max = kv_of(kv, n, SL_HUDI_KV_MAX);
    sl_str index = kv_of(kv, n, SL_HUDI_KV_INDEX), crc = kv_of(kv, n, SL_HUDI_KV_CRC);
    char expect[9];

    if (!filter.p)
        filter = kv_of(kv, n, SL_HUDI_KV_BLOOM_OLD);
    if (min.p && max.p) {
        out->has_range = true;
        SL_TRY(take_text(a, min, &out->min, err));
        SL_TRY(take_text(a, max, &out->max, err));
    }
    if (filter.p)
        SL_TRY(take_filter(a, kv_of(kv, n, SL_HUDI_KV_BLOOM_TYPE), filter, out, err));
    if (!index.p)
        return SL_OK;
    if (!sl_str_eqc(index, "1"))
        return sl_err_set(err, SL_EUNSUPPORTED, "version \"" SL_STRF "\" of the index is not supported", (int)(index.n < 40 ? index.n : 40), index.p);
    if (!sl_parse_i64(kv_of(kv, n, SL_HUDI_KV_RECORDS), &out->records) || out->records < 0)
        return damaged("its count is missing", err);
    snprintf(expect, sizeof expect, "%08x", checksum(out));
    return !crc.p || sl_str_eqc(crc, expect) ? SL_OK : damaged("its checksum is wrong", err);
}

int sl_hudi_index_from_kv(struct sl_arena *a, const struct sl_hudi_kv *kv, size_t n, struct sl_hudi_index *out, sl_err *err)
{
    *out = (struct sl_hudi_index){.records = -1};
    int rc = from_kv(a, kv, n, out, err);
    if (rc != SL_OK)
        *out = (struct sl_hudi_index){.records = -1};
    return rc;
}
