/* describe.c - the blocks of a log file, as JSON. */
#include <string.h>

#include "base/sys.h"
#include "format/hudi_index.h"
#include "format/hudi_log.h"
#include "table/log/inspect.h"

enum { TEXT_SHOWN = 400 };

struct describer {
    sl_str bytes;
    struct sl_arena arena;
    bool nomem;
};

static void set(struct describer *d, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        d->nomem = true;
}

/* Bytes that are no UTF-8 are shown escaped; long texts are cut. */
static json_t *text(sl_str s)
{
    struct sl_buf b = SL_BUF_INIT;
    size_t bad = 0;
    json_t *j;

    if (sl_utf8_valid(s, &bad) && s.n <= TEXT_SHOWN)
        return json_stringn(s.p ? s.p : "", s.n);
    for (size_t i = 0; i < s.n && i < TEXT_SHOWN; i++) {
        const unsigned char c = (unsigned char)s.p[i];

        if (c >= 0x20 && c < 0x7f)
            sl_buf_ch(&b, (char)c);
        else
            sl_buf_printf(&b, "\\x%02x", c);
    }
    if (s.n > TEXT_SHOWN)
        sl_buf_printf(&b, "... (%zu bytes)", s.n);
    j = b.p && !b.failed ? json_string(b.p) : s.n ? NULL : json_string("");
    sl_buf_release(&b);
    return j;
}

static json_t *index_of(struct describer *d, sl_str json)
{
    json_t *one = json_object();
    struct sl_hudi_index x;
    sl_err why = SL_ERR_INIT;

    if (sl_hudi_index_parse(&d->arena, json, &x, &why) != SL_OK) {
        set(d, one, "notUsed", text(sl_str_c(why.text)));
        return one;
    }
    set(d, one, "records", json_integer((json_int_t)x.records));
    if (x.has_range) {
        set(d, one, "min", text(x.min));
        set(d, one, "max", text(x.max));
    }
    if (x.has_filter) {
        set(d, one, "filterBits", json_integer((json_int_t)x.filter.bits * x.filter.nrows));
        set(d, one, "filterHashes", json_integer((json_int_t)x.filter.hashes));
        set(d, one, "falsePositives", json_real(sl_bloom_rate(&x.filter)));
    }
    return one;
}

/* Entry 3 of a data block holds the index, of a command block the command. */
static json_t *entries(struct describer *d, const struct sl_hudi_entry *v, size_t n, bool data)
{
    json_t *one = json_object();

    for (size_t i = 0; i < n; i++) {
        const char *name = sl_hudi_header_name(v[i].id);
        char number[24];

        snprintf(number, sizeof number, "%d", v[i].id);
        if (data && v[i].id == SL_HUDI_H_INDEX)
            set(d, one, "INDEX", index_of(d, v[i].value));
        else
            set(d, one, name ? name : number, text(v[i].value));
    }
    return one;
}

static void put_content(struct describer *d, const struct sl_hudi_block *b, json_t *one)
{
    const sl_str content = sl_str_sub(d->bytes, (size_t)b->content_offset, (size_t)(b->content_offset + b->content_size));
    struct sl_hudi_records records;
    struct sl_hudi_deletes deletes;
    struct sl_hudi_delete del;
    sl_err why = SL_ERR_INIT;
    int64_t n = 0;
    bool more = true;
    int rc = SL_OK;

    if (b->type == SL_HUDI_BLOCK_AVRO || b->type == SL_HUDI_BLOCK_CDC) {
        rc = sl_hudi_records_open(content, &records, &why);
        if (rc == SL_OK) {
            sl_str record;

            n = records.count;
            while (sl_hudi_records_next(&records, &record))
                ;
            rc = sl_hudi_records_end(&records, &why);
        }
    } else if (b->type == SL_HUDI_BLOCK_DELETE) {
        rc = sl_hudi_deletes_open(content, &deletes, &why);
        while (rc == SL_OK && more) {
            rc = sl_hudi_deletes_next(&deletes, &del, &more, &why);
            n += rc == SL_OK && more;
        }
    } else {
        return;
    }
    if (rc == SL_OK)
        set(d, one, "records", json_integer((json_int_t)n));
    else
        set(d, one, "contentDamaged", text(sl_str_c(why.text)));
}

static json_t *block(struct describer *d, const struct sl_hudi_block *b)
{
    const bool data = b->type == SL_HUDI_BLOCK_AVRO || b->type == SL_HUDI_BLOCK_PARQUET;
    json_t *one = json_object();

    set(d, one, "offset", json_integer((json_int_t)b->offset));
    set(d, one, "bytes", json_integer((json_int_t)b->size));
    set(d, one, "type", json_string(sl_hudi_block_type_name(b->type)));
    set(d, one, "header", entries(d, b->header, b->nheader, data));
    set(d, one, "contentOffset", json_integer((json_int_t)b->content_offset));
    set(d, one, "contentBytes", json_integer((json_int_t)b->content_size));
    put_content(d, b, one);
    set(d, one, "footer", entries(d, b->footer, b->nfooter, data));
    return one;
}

static json_t *damage(struct describer *d, const struct sl_hudi_damage *at)
{
    json_t *one = json_object();

    set(d, one, "offset", json_integer((json_int_t)at->offset));
    set(d, one, "bytes", json_integer((json_int_t)at->length));
    set(d, one, "damaged", text(sl_str_c(at->why)));
    set(d, one, "writtenToItsEnd", json_boolean(at->whole));
    return one;
}

int sl_log_describe(sl_str bytes, json_t **out, sl_err *err)
{
    struct describer d = {.bytes = bytes, .arena = SL_ARENA_INIT};
    struct sl_hudi_source source;
    struct sl_hudi_log *log = NULL;
    struct sl_hudi_block b = {0};
    struct sl_hudi_damage at = {0};
    enum sl_hudi_item item = SL_HUDI_ITEM_END;
    json_t *doc = json_object(), *list = json_array();
    sl_err why = SL_ERR_INIT;
    int rc = SL_OK;

    *out = NULL;
    if (!doc || !list) {
        json_decref(list);
        SL_GOTO_NOMEM(err);
    }
    set(&d, doc, "kind", json_string("log file"));
    set(&d, doc, "bytes", json_integer((json_int_t)bytes.n));
    set(&d, doc, "blocks", list);
    sl_hudi_source_memory(&d.bytes, &source);
    SL_GO(sl_hudi_log_open(&source, &log, err));
    for (;;) {
        sl_arena_reset(&d.arena);
        rc = sl_hudi_log_next(log, &d.arena, &item, &b, &at, &why);
        if (rc == SL_ENOMEM || rc == SL_ECANCELLED)
            SL_GO(sl_err_set(err, rc, "%s", why.text));
        if (rc != SL_OK || item == SL_HUDI_ITEM_END)
            break;
        if (json_array_append_new(list, item == SL_HUDI_ITEM_BLOCK ? block(&d, &b) : damage(&d, &at)) != 0)
            d.nomem = true;
    }
    if (rc != SL_OK) /* of another version: what follows cannot be told */
        set(&d, doc, "endsWith", text(sl_str_c(why.text)));
    rc = SL_OK;
    if (d.nomem)
        SL_GOTO_NOMEM(err);
    *out = doc;
    doc = NULL;
done:
    json_decref(doc);
    sl_hudi_log_close(log);
    sl_arena_release(&d.arena);
    return rc;
}
