/* hudi_describe_text.c - the description of a log file as lines. */
#include <string.h>

#include "format/hudi_describe.h"

static long long number(const json_t *o, const char *key)
{
    return (long long)json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

/* Control characters would move the terminal's cursor. */
static void put_plain(struct sl_buf *out, const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            sl_buf_printf(out, "\\x%02x", (unsigned char)*s);
        else
            sl_buf_ch(out, *s);
}

static void put_problem(struct sl_buf *out, const json_t *o, const char *before)
{
    if (*text(o, "problem")) {
        sl_buf_addc(out, before);
        put_plain(out, text(o, "problem"));
    }
}

static void put_schema(struct sl_buf *out, const json_t *s)
{
    const json_t *columns = json_object_get(s, "columns");

    sl_buf_printf(out, "%lld bytes", number(s, "bytes"));
    put_problem(out, s, ", ");
    if (!columns)
        return;
    sl_buf_printf(out, ", record %s%s:", text(s, "record"), json_is_true(json_object_get(s, "metaFields")) ? ", meta fields and" : "");
    for (size_t i = 0; i < json_array_size(columns); i++) {
        sl_buf_addc(out, i ? ", " : " ");
        put_plain(out, text(json_array_get(columns, i), "name"));
        sl_buf_printf(out, " %s", text(json_array_get(columns, i), "type"));
    }
}

static void put_map(struct sl_buf *out, const char *name, const json_t *map)
{
    const json_t *entries = json_object_get(map, "entries");

    sl_buf_printf(out, "  %-8s offset %lld, %lld bytes%s\n", name, number(map, "offset"), number(map, "bytes"),
                  json_object_size(entries) ? "" : ", empty");
    for (void *at = json_object_iter((json_t *)(uintptr_t)entries); at; at = json_object_iter_next((json_t *)(uintptr_t)entries, at)) {
        const json_t *v = json_object_iter_value(at);

        sl_buf_printf(out, "           %s ", json_object_iter_key(at));
        if (json_is_string(v))
            put_plain(out, json_string_value(v));
        else
            put_schema(out, v);
        sl_buf_ch(out, '\n');
    }
}

static void put_index(struct sl_buf *out, const json_t *x)
{
    const json_t *f = json_object_get(x, "filter");

    if (!x) {
        sl_buf_addc(out, "  index    none\n");
        return;
    }
    sl_buf_printf(out, "  index    in the %s", strcmp(text(x, "place"), "parquet") == 0 ? "Parquet footer" : text(x, "place"));
    if (json_object_get(x, "records"))
        sl_buf_printf(out, ": %lld records", number(x, "records"));
    if (json_object_get(x, "min")) {
        sl_buf_addc(out, ", keys \"");
        put_plain(out, text(x, "min"));
        sl_buf_addc(out, "\" to \"");
        put_plain(out, text(x, "max"));
        sl_buf_ch(out, '"');
    }
    if (f)
        sl_buf_printf(out, ", %s filter of %lld bytes (%lld bits, %lld hashes, %lld row%s), false-positive rate %.2g", text(f, "type"), number(f, "bytes"),
                      number(f, "bits"), number(f, "hashes"), number(f, "rows"), number(f, "rows") == 1 ? "" : "s",
                      json_real_value(json_object_get(f, "falsePositiveRate")));
    put_problem(out, x, json_object_get(x, "records") ? "; " : ": not used: ");
    sl_buf_ch(out, '\n');
}

static void put_content(struct sl_buf *out, const json_t *c)
{
    sl_buf_printf(out, "  content  offset %lld, %lld bytes", number(c, "offset"), number(c, "bytes"));
    if (json_object_get(c, "version"))
        sl_buf_printf(out, ", version %lld", number(c, "version"));
    if (json_object_get(c, "records"))
        sl_buf_printf(out, ", %lld records", number(c, "records"));
    if (json_object_get(c, "deletes"))
        sl_buf_printf(out, ", %lld deletes, %lld with an event time", number(c, "deletes"), number(c, "withEventTime"));
    put_problem(out, c, "; ");
    sl_buf_ch(out, '\n');
}

static void put_block(struct sl_buf *out, size_t n, const json_t *b)
{
    sl_buf_printf(out, "block %zu: offset %lld, %lld bytes, %s, log format %lld\n", n, number(b, "offset"), number(b, "bytes"), text(b, "type"),
                  number(b, "logFormat"));
    put_map(out, "header", json_object_get(b, "header"));
    if (strcmp(text(b, "type"), "AVRO_DATA") == 0 || strcmp(text(b, "type"), "PARQUET_DATA") == 0 || json_object_get(b, "index"))
        put_index(out, json_object_get(b, "index"));
    put_content(out, json_object_get(b, "content"));
    put_map(out, "footer", json_object_get(b, "footer"));
}

void sl_hudi_log_text(sl_str name, const json_t *doc, struct sl_buf *out)
{
    const json_t *items = json_object_get(doc, "items");
    size_t n = 0;

    sl_buf_printf(out, SL_STRF ": Hudi log, %lld bytes\n", SL_STRV(name), number(doc, "bytes"));
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *o = json_array_get(items, i);

        if (strcmp(text(o, "kind"), "block") == 0) {
            put_block(out, n++, o);
            continue;
        }
        if (strcmp(text(o, "kind"), "damage") == 0)
            sl_buf_printf(out, "damage: offset %lld, %lld bytes, %s", number(o, "offset"), number(o, "bytes"),
                          json_is_true(json_object_get(o, "wasWhole")) ? "of a block that was whole" : "cut off");
        else
            sl_buf_printf(out, "block %zu: offset %lld, %lld bytes, not supported", n++, number(o, "offset"), number(o, "bytes"));
        put_problem(out, o, ": ");
        sl_buf_ch(out, '\n');
    }
    if (json_array_size(items) == 0)
        sl_buf_addc(out, "no blocks\n");
}
