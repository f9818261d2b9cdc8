/* hudi_config.c - what hoodie.properties say about a table, and those of a new one. */
#include <stdio.h>
#include <string.h>

#include "format/hudi_properties.h"

#define PREFIX "hoodie.table."

static sl_str text_of(const struct sl_hudi_properties *p, const char *key, const char *if_absent)
{
    sl_str v = sl_hudi_properties_get(p, key);

    return v.n ? sl_str_trim(v) : sl_str_c(if_absent);
}

static bool flag_of(const struct sl_hudi_properties *p, const char *key, bool if_absent)
{
    sl_str v = sl_str_trim(sl_hudi_properties_get(p, key));

    return v.n ? sl_str_ieqc(v, "true") : if_absent;
}

/* A list of names between commas; CUT: without what follows ':' in each. */
static int list_of(struct sl_hudi_properties *p, const char *key, bool cut, const sl_str **out, size_t *n, sl_err *err)
{
    sl_str v = sl_hudi_properties_get(p, key);
    size_t commas = 0, at = 0;

    *n = 0;
    for (size_t i = 0; i < v.n; i++)
        commas += v.p[i] == ',';
    sl_str *list = sl_arena_array(&p->arena, commas + 1, sizeof *list);
    if (!list)
        return sl_err_nomem(err);
    *out = list;
    while (at < v.n) {
        const char *comma = memchr(v.p + at, ',', v.n - at);
        size_t end = comma ? (size_t)(comma - v.p) : v.n;
        sl_str item = sl_str_trim(sl_str_sub(v, at, end));
        const char *colon = cut && item.n ? memchr(item.p, ':', item.n) : NULL;

        if (colon)
            item.n = (size_t)(colon - item.p);
        if (item.n)
            list[(*n)++] = item;
        at = end + 1;
    }
    return SL_OK;
}

static int number_of(const struct sl_hudi_properties *p, const char *key, int64_t if_absent, int *out, sl_err *err)
{
    sl_str v = sl_str_trim(sl_hudi_properties_get(p, key));
    int64_t n = if_absent;

    if (v.n && (!sl_parse_i64(v, &n) || n < 0 || n > 1000000))
        return sl_err_set(err, SL_ECORRUPT, "hoodie.properties: \"%s\" is no number: \"" SL_STRF "\"", key, SL_STRV(v));
    *out = (int)n;
    return SL_OK;
}

static int check_version(struct sl_hudi_properties *p, struct sl_hudi_config *c, sl_err *err)
{
    SL_TRY(number_of(p, PREFIX "version", 0, &c->version, err));
    SL_TRY(number_of(p, "hoodie.timeline.layout.version", c->version >= 8 ? 2 : 1, &c->layout, err));
    if (c->version != 6 && c->version != 8 && c->version != 9) {
        sl_err_set(err, SL_EUNSUPPORTED, "Hudi table version %d is not supported%s", c->version,
                   c->version == 10 ? " (native logs)" : "");
        sl_err_hint(err, "versions 6, 8 and 9 can be read; older tables: let Hudi 0.14 or 0.15 upgrade them");
        return SL_EUNSUPPORTED;
    }
    if (c->layout != (c->version == 6 ? 1 : 2))
        return sl_err_set(err, SL_EUNSUPPORTED, "timeline layout %d is not supported in a Hudi table of version %d", c->layout, c->version);
    return SL_OK;
}

static int check_sum(struct sl_hudi_properties *p, const struct sl_hudi_config *c, sl_err *err)
{
    sl_str stored = sl_str_trim(sl_hudi_properties_get(p, PREFIX "checksum"));
    uint32_t sum = sl_hudi_checksum(c->database, c->name);
    uint64_t n;

    if (!sl_parse_u64(stored, &n) || n != sum)
        return sl_err_set(err, SL_ECORRUPT, "hoodie.properties: the checksum is \"" SL_STRF "\", but the names give %u", SL_STRV(stored), sum);
    return SL_OK;
}

static bool ends(sl_str s, const char *word)
{
    return sl_str_ends(s, word);
}

static enum sl_hudi_keygen keygen_of(const struct sl_hudi_properties *p, const struct sl_hudi_config *c)
{
    sl_str type = text_of(p, PREFIX "keygenerator.type", ""), class = text_of(p, PREFIX "keygenerator.class", "");

    if (sl_str_eqc(type, "SIMPLE") || sl_str_eqc(type, "SIMPLE_AVRO") || (!type.n && (ends(class, ".SimpleKeyGenerator") || ends(class, ".SimpleAvroKeyGenerator"))))
        return SL_HUDI_KEYGEN_SIMPLE;
    if (sl_str_eqc(type, "COMPLEX") || sl_str_eqc(type, "COMPLEX_AVRO") || (!type.n && (ends(class, ".ComplexKeyGenerator") || ends(class, ".ComplexAvroKeyGenerator"))))
        return SL_HUDI_KEYGEN_COMPLEX;
    if (sl_str_starts(type, "NON_PARTITION") || (!type.n && (ends(class, ".NonpartitionedKeyGenerator") || ends(class, ".NonpartitionedAvroKeyGenerator"))))
        return SL_HUDI_KEYGEN_NONPARTITIONED;
    if (sl_str_starts(type, "TIMESTAMP") || (!type.n && ends(class, "TimestampBasedKeyGenerator")) ||
        (!type.n && ends(class, "TimestampBasedAvroKeyGenerator")))
        return SL_HUDI_KEYGEN_TIMESTAMP;
    if (type.n || class.n)
        return SL_HUDI_KEYGEN_CUSTOM;
    return c->npartition == 0 ? SL_HUDI_KEYGEN_NONPARTITIONED
           : c->nkeys == 1 && c->npartition == 1 ? SL_HUDI_KEYGEN_SIMPLE : SL_HUDI_KEYGEN_COMPLEX;
}

/* The mode counts first (versions 8 and 9), then the payload, then the strategy, then whether there is an ordering field. */
static void merge_of(const struct sl_hudi_properties *p, struct sl_hudi_config *c)
{
    static const struct {
        const char *text;
        enum sl_hudi_merge merge;
    } known[] = {
        {"EVENT_TIME_ORDERING", SL_HUDI_EVENT_TIME},         {"COMMIT_TIME_ORDERING", SL_HUDI_COMMIT_TIME},
        {SL_HUDI_PAYLOAD_DEFAULT, SL_HUDI_EVENT_TIME},       {SL_HUDI_PAYLOAD_OVERWRITE, SL_HUDI_COMMIT_TIME},
        {SL_HUDI_STRATEGY_EVENT_TIME, SL_HUDI_EVENT_TIME},   {SL_HUDI_STRATEGY_COMMIT_TIME, SL_HUDI_COMMIT_TIME},
    };
    const char *const keys[] = {"hoodie.record.merge.mode", "hoodie.compaction.payload.class", "hoodie.record.merge.strategy.id",
                                "hoodie.compaction.record.merger.strategy"};

    c->payload = text_of(p, "hoodie.compaction.payload.class", "");
    c->merge = c->nordering ? SL_HUDI_EVENT_TIME : SL_HUDI_COMMIT_TIME;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        sl_str v = text_of(p, keys[i], "");

        if (v.n == 0)
            continue;
        c->merge_text = v;
        c->merge = SL_HUDI_MERGE_CUSTOM;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (sl_str_eqc(v, known[k].text))
                c->merge = known[k].merge;
        break;
    }
    if (c->merge == SL_HUDI_EVENT_TIME && c->nordering == 0)
        c->merge = SL_HUDI_COMMIT_TIME; /* nothing to order by */
}

static int read_fields(struct sl_hudi_properties *p, struct sl_hudi_config *c, sl_err *err)
{
    const char *ordering = sl_hudi_properties_get(p, PREFIX "ordering.fields").n ? PREFIX "ordering.fields" : PREFIX "precombine.field";

    SL_TRY(list_of(p, PREFIX "recordkey.fields", false, &c->key_fields, &c->nkeys, err));
    SL_TRY(list_of(p, PREFIX "partition.fields", true, &c->partition_fields, &c->npartition, err));
    SL_TRY(list_of(p, ordering, false, &c->ordering_fields, &c->nordering, err));
    c->keygen = keygen_of(p, c);
    merge_of(p, c);
    return SL_OK;
}

int sl_hudi_config_read(struct sl_hudi_properties *p, struct sl_hudi_config *c, sl_err *err)
{
    *c = (struct sl_hudi_config){0};
    c->name = text_of(p, PREFIX "name", "");
    c->database = text_of(p, "hoodie.database.name", "");
    if (c->name.n == 0)
        return sl_err_set(err, SL_ECORRUPT, "hoodie.properties: \"hoodie.table.name\" is missing");
    SL_TRY(check_version(p, c, err));
    SL_TRY(check_sum(p, c, err));
    sl_str type = text_of(p, PREFIX "type", "COPY_ON_WRITE");
    if (!sl_str_eqc(type, "MERGE_ON_READ") && !sl_str_eqc(type, "COPY_ON_WRITE"))
        return sl_err_set(err, SL_EUNSUPPORTED, "a Hudi table of type \"" SL_STRF "\" is not supported", SL_STRV(type));
    c->type = sl_str_eqc(type, "MERGE_ON_READ") ? SL_HUDI_MOR : SL_HUDI_COW;
    c->base_format = text_of(p, PREFIX "base.file.format", "PARQUET");
    if (!sl_str_ieqc(c->base_format, "PARQUET"))
        return sl_err_set(err, SL_EUNSUPPORTED, "base files of format \"" SL_STRF "\" are not supported, only PARQUET", SL_STRV(c->base_format));
    SL_TRY(read_fields(p, c, err));
    c->hive_style = flag_of(p, "hoodie.datasource.write.hive_style_partitioning", false);
    c->url_encode = flag_of(p, "hoodie.datasource.write.partitionpath.urlencode", false);
    c->drop_partition_columns = flag_of(p, "hoodie.datasource.write.drop.partition.columns", false);
    c->populate_meta = flag_of(p, "hoodie.populate.meta.fields", true);
    sl_str zone = text_of(p, PREFIX "timeline.timezone", "");
    c->timezone_set = zone.n > 0;
    c->timezone_utc = sl_str_ieqc(zone, "UTC");
    c->mdt_partitions = text_of(p, PREFIX "metadata.partitions", "");
    c->mdt_inflight = text_of(p, PREFIX "metadata.partitions.inflight", "");
    c->create_schema = text_of(p, PREFIX "create.schema", "");
    c->archive_folder = text_of(p, "hoodie.archivelog.folder", "archived");
    c->timeline_path = text_of(p, "hoodie.timeline.path", "timeline");
    c->history_path = text_of(p, "hoodie.timeline.history.path", "history");
    c->delete_field = text_of(p, "hoodie.payload.delete.field", "");
    c->delete_marker = text_of(p, "hoodie.payload.delete.marker", "");
    c->cdc = flag_of(p, PREFIX "cdc.enabled", false);
    return SL_OK;
}

/* ---- a new table ---- */

static int set(struct sl_hudi_properties *p, const char *key, sl_str value, sl_err *err)
{
    return sl_hudi_properties_set(p, sl_str_c(key), value, err);
}

static int set_list(struct sl_hudi_properties *p, const char *key, const sl_str *v, size_t n, sl_err *err)
{
    struct sl_buf b = SL_BUF_INIT;
    int rc = SL_OK;

    for (size_t i = 0; i < n; i++) {
        if (i)
            sl_buf_ch(&b, ',');
        sl_buf_add(&b, v[i]);
    }
    SL_GO(sl_buf_ok(&b, err));
    if (n)
        rc = set(p, key, sl_buf_view(&b), err);
done:
    sl_buf_release(&b);
    return rc;
}

static int set_all(const struct sl_hudi_new_table *t, struct sl_hudi_properties *p, sl_err *err)
{
    const char *keygen = t->npartition == 0 ? "NonpartitionedKeyGenerator"
                         : t->nkeys == 1 && t->npartition == 1 ? "SimpleKeyGenerator" : "ComplexKeyGenerator";
    bool ordered = t->ordering_field.n > 0;
    char class[80];

    snprintf(class, sizeof class, "org.apache.hudi.keygen.%s", keygen);
    SL_TRY(set(p, PREFIX "name", t->name, err));
    if (t->database.n)
        SL_TRY(set(p, "hoodie.database.name", t->database, err));
    SL_TRY(set(p, PREFIX "type", SL_LIT("MERGE_ON_READ"), err));
    SL_TRY(set(p, PREFIX "version", SL_LIT("6"), err));
    SL_TRY(set(p, "hoodie.timeline.layout.version", SL_LIT("1"), err));
    SL_TRY(set(p, "hoodie.archivelog.folder", SL_LIT("archived"), err));
    SL_TRY(set_list(p, PREFIX "recordkey.fields", t->key_fields, t->nkeys, err));
    SL_TRY(set_list(p, PREFIX "partition.fields", t->partition_fields, t->npartition, err));
    if (ordered)
        SL_TRY(set(p, PREFIX "precombine.field", t->ordering_field, err));
    SL_TRY(set(p, PREFIX "timeline.timezone", SL_LIT("UTC"), err));
    SL_TRY(set(p, "hoodie.compaction.payload.class", ordered ? SL_LIT(SL_HUDI_PAYLOAD_DEFAULT) : SL_LIT(SL_HUDI_PAYLOAD_OVERWRITE), err));
    SL_TRY(set(p, "hoodie.compaction.record.merger.strategy",
               ordered ? SL_LIT(SL_HUDI_STRATEGY_EVENT_TIME) : SL_LIT(SL_HUDI_STRATEGY_COMMIT_TIME), err));
    SL_TRY(set(p, PREFIX "keygenerator.class", sl_str_c(class), err));
    SL_TRY(set(p, "hoodie.datasource.write.hive_style_partitioning", t->hive_style ? SL_LIT("true") : SL_LIT("false"), err));
    SL_TRY(set(p, "hoodie.datasource.write.partitionpath.urlencode", t->url_encode ? SL_LIT("true") : SL_LIT("false"), err));
    SL_TRY(set(p, "hoodie.datasource.write.drop.partition.columns", SL_LIT("false"), err));
    SL_TRY(set(p, PREFIX "create.schema", t->create_schema, err));
    SL_TRY(set(p, "hoodie.populate.meta.fields", SL_LIT("true"), err));
    return set(p, PREFIX "base.file.format", SL_LIT("PARQUET"), err);
}

int sl_hudi_properties_new(const struct sl_hudi_new_table *t, struct sl_hudi_properties *out, sl_err *err)
{
    *out = (struct sl_hudi_properties)SL_HUDI_PROPERTIES_INIT;
    int rc = set_all(t, out, err);
    if (rc != SL_OK)
        sl_hudi_properties_release(out);
    return rc;
}
