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

static uint32_t checksum(sl_str min, sl_str max, sl_str filter_text)
{
    const sl_str zero = {"", 1};
    uint32_t crc = sl_crc32(sl_crc32(0, min), zero);

    return sl_crc32(sl_crc32(sl_crc32(crc, max), zero), filter_text);
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

/* The filter in base64: as it was built, or made again in ROOM. */
static sl_str text_of_filter(const struct sl_hudi_index *x, struct sl_buf *room)
{
    struct sl_buf bytes = SL_BUF_INIT;

    if (!x->has_filter || x->filter_text.p)
        return x->filter_text;
    sl_bloom_encode(&x->filter, &bytes);
    sl_buf_base64(room, sl_buf_view(&bytes));
    room->failed |= bytes.failed;
    sl_buf_release(&bytes);
    return sl_buf_view(room);
}

void sl_hudi_index_json(const struct sl_hudi_index *x, struct sl_buf *out)
{
    struct sl_buf room = SL_BUF_INIT;
    sl_str filter = text_of_filter(x, &room);

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
        sl_buf_add(out, filter);
        sl_buf_ch(out, '"');
    }
    sl_buf_printf(out, ",\"crc32\":\"%08x\"}", checksum(x->min, x->max, filter));
    out->failed |= room.failed;
    sl_buf_release(&room);
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

/* What the members say; p == NULL: absent. */
struct members {
    int64_t version, records;
    bool has_version, has_records;
    sl_str min, max, type, filter, crc;
};

/* TEXTS[k] of M has the name NAMES[k]. */
enum { NTEXTS = 5 };
static const char *const text_names[NTEXTS] = {SL_HUDI_KV_MIN, SL_HUDI_KV_MAX, SL_HUDI_KV_BLOOM_TYPE, SL_HUDI_KV_BLOOM, "crc32"};
static sl_str *text_member(struct members *m, int k)
{
    sl_str *const at[NTEXTS] = {&m->min, &m->max, &m->type, &m->filter, &m->crc};

    return at[k];
}

/* A string of plain ASCII without escapes, at *P; false for any other. */
static bool plain_string(const char **p, const char *end, sl_str *out)
{
    const char *start = *p + 1, *close = *p < end && **p == '"' ? memchr(start, '"', (size_t)(end - start)) : NULL;

    if (!close)
        return false;
    *out = (sl_str){start, (size_t)(close - start)};
    *p = close + 1;
    unsigned char seen = 0;
    bool plain = true;
    for (const char *c = start; c < close; c++) {
        seen |= (unsigned char)*c;
        plain &= *c != '\\' && (unsigned char)*c >= 0x20;
    }
    return plain && seen < 0x80;
}

static bool plain_number(const char **p, const char *end, int64_t *out)
{
    const char *start = *p;

    while (*p < end && **p >= '0' && **p <= '9')
        (*p)++;
    sl_str digits = {start, (size_t)(*p - start)};
    return digits.n && digits.n <= 18 && (digits.n == 1 || *start != '0') && sl_parse_i64(digits, out);
}

/* The JSON as it is written here, most of which is one long string; false: some other JSON, for the parser of all JSON. */
static bool scan(sl_str json, struct members *m)
{
    const char *p = json.p, *end = json.p + json.n;

    for (char before = '{'; p < end && *p == before; before = ',') {
        sl_str name;
        int k = 0;

        p++;
        if (!plain_string(&p, end, &name) || p == end || *p++ != ':')
            return false;
        bool version = sl_str_eqc(name, "sluice_log_index"), records = sl_str_eqc(name, "n");
        if (version || records) {
            bool *has = version ? &m->has_version : &m->has_records;

            if (*has || !plain_number(&p, end, version ? &m->version : &m->records))
                return false;
            *has = true;
            continue;
        }
        while (k < NTEXTS && !sl_str_eqc(name, text_names[k]))
            k++;
        if (k == NTEXTS || text_member(m, k)->p || !plain_string(&p, end, text_member(m, k)))
            return false;
    }
    return end - p == 1 && *p == '}';
}

static int read_document(const json_t *doc, struct members *m, sl_err *err)
{
    SL_TRY(sl_json_i64_req(doc, "sluice_log_index", &m->version, err));
    m->has_version = true;
    if (m->version != 1) /* the others may mean anything */
        return SL_OK;
    SL_TRY(sl_json_i64_req(doc, "n", &m->records, err));
    m->has_records = true;
    for (int k = 0; k < NTEXTS; k++)
        SL_TRY(sl_json_str_opt(doc, text_names[k], text_member(m, k), err));
    return SL_OK;
}

static int take_members(struct sl_arena *a, const struct members *m, struct sl_hudi_index *out, sl_err *err)
{
    char expect[9];

    if (!m->has_version)
        return damaged("\"sluice_log_index\" is missing", err);
    if (m->version != 1)
        return sl_err_set(err, SL_EUNSUPPORTED, "version %lld of the index is not supported", (long long)m->version);
    if (!m->has_records || m->records < 0 || !m->min.p != !m->max.p)
        return damaged("its count is missing or negative, or half of its range is missing", err);
    snprintf(expect, sizeof expect, "%08x", checksum(m->min, m->max, m->filter));
    if (!sl_str_eqc(m->crc, expect))
        return damaged("its checksum is wrong", err);
    out->records = m->records;
    if (m->min.p) {
        out->has_range = true;
        SL_TRY(take_text(a, m->min, &out->min, err));
        SL_TRY(take_text(a, m->max, &out->max, err));
    }
    return m->filter.p ? take_filter(a, m->type, m->filter, out, err) : SL_OK;
}

int sl_hudi_index_parse(struct sl_arena *a, sl_str json, struct sl_hudi_index *out, sl_err *err)
{
    struct members m = {0};
    json_t *doc = NULL;
    int rc;

    *out = (struct sl_hudi_index){.records = -1};
    if (json.n == 0 || json.p[0] != '{')
        return damaged("it is no JSON object", err);
    if (!scan(json, &m)) {
        m = (struct members){0};
        SL_GO(sl_json_parse(json, &doc, err));
        SL_GO(read_document(doc, &m, err));
    }
    rc = take_members(a, &m, out, err);
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
    struct sl_buf room = SL_BUF_INIT;
    sl_str filter;
    char count[24], crc[9];

    *n = 0;
    int rc = take_text(a, text_of_filter(x, &room), &filter, err);
    if (room.failed)
        rc = sl_err_nomem(err);
    sl_buf_release(&room);
    SL_TRY(rc);
    if (x->has_filter) {
        kv[(*n)++] = (struct sl_hudi_kv){SL_LIT(SL_HUDI_KV_BLOOM), filter};
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
    snprintf(crc, sizeof crc, "%08x", checksum(x->min, x->max, filter));
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
    snprintf(expect, sizeof expect, "%08x", checksum(out->min, out->max, filter));
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
