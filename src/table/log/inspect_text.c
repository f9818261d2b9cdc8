/* inspect_text.c - the document of a log table as lines for people. */
#include <string.h>

#include "table/log/inspect.h"

enum { INSTANTS_SHOWN = 20 };

static const char *word(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

static long long number(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static void put_names(struct sl_buf *out, const json_t *list, const char *if_none)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        sl_buf_printf(out, "%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
    if (json_array_size(list) == 0)
        sl_buf_addc(out, if_none);
}

static void put_head(struct sl_buf *out, const json_t *d)
{
    const json_t *columns = json_object_get(d, "columns");

    sl_buf_printf(out, "log table %s (%s, version %lld)\n", word(d, "path"), word(d, "type"), number(d, "version"));
    sl_buf_addc(out, "key:          ");
    put_names(out, json_object_get(d, "keyFields"), "none");
    sl_buf_addc(out, "\npartitioned:  ");
    put_names(out, json_object_get(d, "partitionFields"), "no");
    sl_buf_printf(out, "\nmerged by:    %s", word(d, "merge"));
    if (json_array_size(json_object_get(d, "orderingFields")) > 0) {
        sl_buf_addc(out, ", ordering ");
        put_names(out, json_object_get(d, "orderingFields"), "");
    }
    sl_buf_printf(out, "\ninstant:      %s\n", *word(d, "instant") ? word(d, "instant") : "none");
    if (*word(d, "notReadableSince"))
        sl_buf_printf(out, "not readable: %s\n", word(d, "notReadableSince"));
    if (*word(d, "notWritableSince"))
        sl_buf_printf(out, "not writable: %s\n", word(d, "notWritableSince"));
    sl_buf_printf(out, "\ncolumns (%zu)\n", json_array_size(columns));
    for (size_t i = 0; i < json_array_size(columns); i++)
        sl_buf_printf(out, "  %s %s\n", word(json_array_get(columns, i), "name"), word(json_array_get(columns, i), "type"));
}

static void put_timeline(struct sl_buf *out, const json_t *d)
{
    const json_t *list = json_object_get(d, "timeline");
    const size_t n = json_array_size(list), from = n > INSTANTS_SHOWN ? n - INSTANTS_SHOWN : 0;

    sl_buf_printf(out, "\ninstants (%zu%s)\n", n, json_is_true(json_object_get(d, "olderInstantsArchived")) ? ", older ones are archived" : "");
    if (from)
        sl_buf_printf(out, "  ... %zu older ones\n", from);
    for (size_t i = from; i < n; i++) {
        const json_t *at = json_array_get(list, i);

        sl_buf_printf(out, "  %s %s %s\n", word(at, "instant"), word(at, "action"), word(at, "state"));
    }
}

static void put_partitions(struct sl_buf *out, const json_t *d)
{
    const json_t *list = json_object_get(d, "partitions");

    sl_buf_printf(out, "\npartitions (%zu), file groups %lld, replaced ones still on disk %lld\n", json_array_size(list), number(d, "fileGroups"),
                  number(d, "replacedGroups"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);

        sl_buf_printf(out, "  %s: %lld file groups (%lld of logs alone), %lld bytes of base files, %lld logs of %lld bytes\n",
                      *word(p, "path") ? word(p, "path") : "(not partitioned)", number(p, "fileGroups"), number(p, "logOnlyGroups"),
                      number(p, "baseBytes"), number(p, "logs"), number(p, "logBytes"));
    }
}

static void put_slices(struct sl_buf *out, const json_t *d)
{
    const json_t *list = json_object_get(d, "slices");

    if (!list)
        return;
    sl_buf_printf(out, "\nfile slices (%zu)\n", json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *s = json_array_get(list, i), *base = json_object_get(s, "base"), *logs = json_object_get(s, "logs");

        sl_buf_printf(out, "  %s at %s%s%s\n", word(s, "fileId"), word(s, "instant"),
                      *word(s, "pendingCompaction") ? ", being compacted at " : "", word(s, "pendingCompaction"));
        if (json_is_object(base))
            sl_buf_printf(out, "    %s, %lld bytes\n", word(base, "path"), number(base, "bytes"));
        for (size_t k = 0; k < json_array_size(logs); k++)
            sl_buf_printf(out, "    %s, %lld bytes\n", word(json_array_get(logs, k), "path"), number(json_array_get(logs, k), "bytes"));
    }
}

static void put_strays(struct sl_buf *out, const json_t *d)
{
    const json_t *list = json_object_get(d, "strayFiles");

    if (json_array_size(list) == 0)
        return;
    sl_buf_printf(out, "\nfiles that nothing reads (%zu)\n", json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        sl_buf_printf(out, "  %s: %s\n", word(json_array_get(list, i), "path"), word(json_array_get(list, i), "why"));
}

void sl_log_inspect_text(const json_t *document, struct sl_buf *out)
{
    put_head(out, document);
    put_timeline(out, document);
    put_partitions(out, document);
    put_slices(out, document);
    put_strays(out, document);
}
