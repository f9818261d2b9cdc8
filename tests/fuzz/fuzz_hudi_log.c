/* fuzz_hudi_log.c - any bytes as a log file: blocks and damage cover it without a gap, and contents are read or refused. */
#include <stdlib.h>
#include <string.h>

#include "format/hudi_avro.h"
#include "format/hudi_index.h"
#include "format/hudi_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read, or refused as damaged or not supported. */
static void expect(int rc)
{
    if (rc != SL_OK && rc != SL_ECORRUPT && rc != SL_EUNSUPPORTED)
        abort();
}

static void read_records(const struct sl_hudi_schema *s, sl_str content)
{
    struct sl_hudi_projection p = {.cols = s->fields, .ncols = s->nfields};
    struct sl_hudi_decoder *d = NULL;
    struct sl_hudi_records r;
    struct sl_batch *b = NULL;
    sl_str record, key;

    if (sl_hudi_records_open(content, &r, NULL) != SL_OK || sl_hudi_decoder_new(s->avro, &p, &d, NULL) != SL_OK)
        return;
    if (sl_batch_new(s->fields, s->nfields, &b, NULL) != SL_OK)
        abort();
    while (sl_hudi_records_next(&r, &record)) {
        int rc = sl_hudi_decoder_row(d, record, b, 0, NULL);

        if (rc != SL_OK && rc != SL_ECORRUPT)
            abort();
        if (sl_hudi_key_is_third(s->avro))
            (void)sl_hudi_record_key(record, &key);
        sl_batch_reset(b);
    }
    expect(sl_hudi_records_end(&r, NULL));
    sl_batch_free(b);
    sl_hudi_decoder_free(d);
}

static void read_block(const struct sl_hudi_block *b, sl_str content, struct sl_arena *a)
{
    struct sl_hudi_schema s;
    struct sl_hudi_index x;
    struct sl_hudi_deletes d;
    struct sl_hudi_delete one;
    bool more = true;

    expect(sl_hudi_index_parse(a, sl_hudi_header(b, SL_HUDI_H_INDEX), &x, NULL));
    if (b->type == SL_HUDI_BLOCK_DELETE && sl_hudi_deletes_open(content, &d, NULL) == SL_OK)
        while (more && sl_hudi_deletes_next(&d, &one, &more, NULL) == SL_OK)
            continue;
    if (b->type == SL_HUDI_BLOCK_AVRO && sl_hudi_schema_parse(sl_hudi_header(b, SL_HUDI_H_SCHEMA), &s, NULL) == SL_OK) {
        read_records(&s, content);
        sl_hudi_schema_release(&s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_str bytes = {(const char *)data, size};
    struct sl_hudi_source source;
    struct sl_arena a = SL_ARENA_INIT;
    struct sl_hudi_log *l;
    struct sl_hudi_block b;
    struct sl_hudi_damage d;
    enum sl_hudi_item item;
    int64_t at = 0;

    sl_hudi_source_memory(&bytes, &source);
    if (sl_hudi_log_open(&source, &l, NULL) != SL_OK)
        abort();
    for (;;) {
        int rc = sl_hudi_log_next(l, &a, &item, &b, &d, NULL);
        bool block = rc == SL_EUNSUPPORTED || item == SL_HUDI_ITEM_BLOCK;

        if (rc != SL_OK && rc != SL_EUNSUPPORTED)
            abort();
        if (rc == SL_OK && item == SL_HUDI_ITEM_END)
            break;
        if ((block ? b.offset : d.offset) != at || (block ? b.size : d.length) <= 0)
            abort();
        at += block ? b.size : d.length;
        if (rc == SL_OK && block)
            read_block(&b, sl_str_sub(bytes, (size_t)b.content_offset, (size_t)(b.content_offset + b.content_size)), &a);
        sl_arena_reset(&a);
    }
    if (at != (int64_t)size)
        abort();
    sl_hudi_log_close(l);
    sl_arena_release(&a);
    return 0;
}
