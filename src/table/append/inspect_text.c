/* inspect_text.c - the document of inspect as lines for people. */
#include "table/append/inspect.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

static int64_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *size_text(int64_t bytes, char out[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int unit = -1;

    while (v >= 1024 && unit < 5) {
        v /= 1024;
        unit++;
    }
    snprintf(out, 32, unit < 0 ? "%.0f %s" : "%.1f %s", v, unit < 0 ? "bytes" : units[unit]);
    return out;
}

static const char *time_text(int64_t millis, char out[32])
{
    time_t seconds = (time_t)(millis / 1000);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, 32, "%lld ms", (long long)millis);
    return out;
}

static void print_head(struct sl_buf *out, const json_t *doc)
{
    const json_t *schema = json_object_get(doc, "schema"), *value;
    const char *key;
    size_t i;

    if (*text_of(doc, "table"))
        sl_buf_printf(out, "%s%s%s\n", text_of(doc, "table"), *text_of(doc, "branch") ? ", branch " : "", text_of(doc, "branch"));
    sl_buf_printf(out, "%s\n\nColumns (schema %lld)\n", text_of(doc, "path"), (long long)number_of(schema, "id"));
    json_array_foreach (json_object_get(schema, "fields"), i, value)
        sl_buf_printf(out, "  %-24s %s%s%s\n", text_of(value, "name"), text_of(value, "type"),
                      *text_of(value, "comment") ? "  -- " : "", text_of(value, "comment"));
    if (json_array_size(json_object_get(schema, "partitionKeys"))) {
        sl_buf_addc(out, "Partitioned by");
        json_array_foreach (json_object_get(schema, "partitionKeys"), i, value)
            sl_buf_printf(out, "%s %s", i ? "," : "", json_string_value(value));
        sl_buf_ch(out, '\n');
    }
    sl_buf_addc(out, "Options\n");
    json_object_foreach ((json_t *)json_object_get(schema, "options"), key, value)
        sl_buf_printf(out, "  %s = %s\n", key, json_string_value(value));
}

static void print_snapshots(struct sl_buf *out, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "snapshots"), *s;
    char when[32];
    size_t i;

    sl_buf_addc(out, "\nSnapshots\n");
    if (json_array_size(list) == 0)
        sl_buf_addc(out, "  none\n");
    else
        sl_buf_printf(out, "  %8s  %-9s %-9s %-19s %14s %12s %8s %8s  %s\n", "id", "kind", "operation", "committed (UTC)",
                      "rows", "change", "files +", "files -", "user");
    json_array_foreach (list, i, s) {
        if (*text_of(s, "error")) {
            sl_buf_printf(out, "  %8lld  cannot be read: %s\n", (long long)number_of(s, "id"), text_of(s, "error"));
            continue;
        }
        sl_buf_printf(out, "  %8lld  %-9s %-9s %-19s %14lld %+12lld %8lld %8lld  %s\n", (long long)number_of(s, "id"),
                      text_of(s, "kind"), *text_of(s, "operation") ? text_of(s, "operation") : "-",
                      time_text(number_of(s, "timeMillis"), when), (long long)number_of(s, "totalRecordCount"),
                      (long long)number_of(s, "deltaRecordCount"), (long long)number_of(s, "filesAdded"),
                      (long long)number_of(s, "filesRemoved"), text_of(s, "user"));
    }
}

static void print_tags(struct sl_buf *out, const json_t *doc)
{
    const json_t *v;
    size_t i;

    if (json_array_size(json_object_get(doc, "tags")))
        sl_buf_addc(out, "\nTags\n");
    json_array_foreach (json_object_get(doc, "tags"), i, v)
        if (*text_of(v, "error"))
            sl_buf_printf(out, "  %-24s cannot be read: %s\n", text_of(v, "name"), text_of(v, "error"));
        else
            sl_buf_printf(out, "  %-24s snapshot %lld, %lld rows\n", text_of(v, "name"), (long long)number_of(v, "snapshot"),
                          (long long)number_of(v, "totalRecordCount"));
    if (json_array_size(json_object_get(doc, "branches")))
        sl_buf_addc(out, "\nBranches\n");
    json_array_foreach (json_object_get(doc, "branches"), i, v)
        sl_buf_printf(out, "  %s\n", json_string_value(v));
}

static void print_current(struct sl_buf *out, const json_t *doc)
{
    const json_t *c = json_object_get(doc, "current"), *value;
    char size[32], least[32], most[32];
    const char *key;

    if (!c)
        return;
    sl_buf_printf(out, "\nSnapshot %lld: %lld rows in %lld files, %s, %lld manifests\n", (long long)number_of(c, "id"),
                  (long long)number_of(c, "rows"), (long long)number_of(c, "files"), size_text(number_of(c, "bytes"), size),
                  (long long)number_of(c, "manifests"));
    if (number_of(c, "files"))
        sl_buf_printf(out, "  files from %s to %s, %s on average\n", size_text(number_of(c, "leastFileBytes"), least),
                      size_text(number_of(c, "greatestFileBytes"), most),
                      size_text(number_of(c, "bytes") / number_of(c, "files"), size));
    if (number_of(c, "deletionVectors"))
        sl_buf_printf(out, "  %lld rows deleted by deletion vectors of %lld files\n", (long long)number_of(c, "deletedRows"),
                      (long long)number_of(c, "deletionVectors"));
    json_object_foreach ((json_t *)json_object_get(c, "positions"), key, value)
        sl_buf_printf(out, "  stream %s is at %s\n", key, json_string_value(value));
}

static void print_partitions(struct sl_buf *out, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "partitions"), *p;
    char size[32];
    size_t i;

    if (json_array_size(list) == 0)
        return;
    sl_buf_printf(out, "\nPartitions (%zu)\n  %-32s %8s %14s %12s\n", json_array_size(list), "partition", "files", "rows", "size");
    json_array_foreach (list, i, p)
        sl_buf_printf(out, "  %-32s %8lld %14lld %12s\n", text_of(p, "partition"), (long long)number_of(p, "files"),
                      (long long)number_of(p, "rows"), size_text(number_of(p, "bytes"), size));
}

static void print_manifests(struct sl_buf *out, const json_t *doc)
{
    const json_t *m;
    char size[32];
    size_t i;

    if (!json_object_get(doc, "manifests"))
        return;
    sl_buf_printf(out, "\nManifests\n  %-52s %12s %8s %8s\n", "name", "size", "added", "deleted");
    json_array_foreach (json_object_get(doc, "manifests"), i, m)
        sl_buf_printf(out, "  %-52s %12s %8lld %8lld\n", text_of(m, "name"), size_text(number_of(m, "bytes"), size),
                      (long long)number_of(m, "added"), (long long)number_of(m, "deleted"));
}

/* Of a value of the statistics, as short text. */
static void print_value(struct sl_buf *out, const json_t *value)
{
    sl_str text = sl_str_c(json_string_value(value));
    size_t n = text.n;

    if (json_is_real(value)) {
        sl_buf_printf(out, "%.15g", json_real_value(value));
        return;
    }
    if (!json_is_string(value)) {
        sl_json_dump(out, value, false);
        return;
    }
    for (n = n > 40 ? 40 : n; n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xC0) == 0x80;)
        n--;
    sl_buf_add(out, sl_str_sub(text, 0, n));
    if (n < text.n)
        sl_buf_addc(out, "...");
}

static void print_files(struct sl_buf *out, const json_t *doc)
{
    const json_t *f, *column;
    const char *name;
    char size[32];
    size_t i;

    if (!json_object_get(doc, "files"))
        return;
    sl_buf_addc(out, "\nFiles\n");
    json_array_foreach (json_object_get(doc, "files"), i, f) {
        sl_buf_printf(out, "  %s\n    %lld rows, %s, schema %lld%s%s\n", text_of(f, "path"), (long long)number_of(f, "rows"),
                      size_text(number_of(f, "bytes"), size), (long long)number_of(f, "schemaId"),
                      *text_of(f, "source") ? ", by " : "", text_of(f, "source"));
        json_object_foreach ((json_t *)json_object_get(f, "stats"), name, column) {
            sl_buf_printf(out, "    %-24s", name);
            if (json_object_get(column, "min")) {
                sl_buf_addc(out, " from ");
                print_value(out, json_object_get(column, "min"));
                sl_buf_addc(out, " to ");
                print_value(out, json_object_get(column, "max"));
            }
            if (json_object_get(column, "nulls"))
                sl_buf_printf(out, ", %lld nulls", (long long)number_of(column, "nulls"));
            sl_buf_ch(out, '\n');
        }
    }
}

void sl_inspect_text(const json_t *document, struct sl_buf *out)
{
    print_head(out, document);
    print_snapshots(out, document);
    print_tags(out, document);
    print_current(out, document);
    print_partitions(out, document);
    print_manifests(out, document);
    print_files(out, document);
}
