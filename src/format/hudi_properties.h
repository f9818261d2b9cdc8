/*
 * hudi_properties.h - hoodie.properties: Java properties, and what they say about a table.
 *
 * Keys that mean nothing here are kept, in their order. Source: facts on Hudi, section 3.7 (HoodieTableConfig).
 */
#ifndef SL_FORMAT_HUDI_PROPERTIES_H
#define SL_FORMAT_HUDI_PROPERTIES_H

#include "base/mem.h"
#include "base/str.h"

struct sl_hudi_kv {
    sl_str key, value; /* UTF-8, terminated */
};

/* All lines of a properties file in their order; a key that comes twice counts with its last value. */
struct sl_hudi_properties {
    struct sl_arena arena; /* owns all text */
    struct sl_hudi_kv *v;  /* owned */
    size_t n, cap;
};
#define SL_HUDI_PROPERTIES_INIT {SL_ARENA_INIT, NULL, 0, 0}
/* Java's syntax: '=', ':' or blanks between key and value, '#' and '!' comments, lines that go on after '\', \uXXXX. SL_ECORRUPT for a
 * zero byte, bytes that are neither ISO 8859-1 nor UTF-8 text, or a half escape. */
int sl_hudi_properties_parse(sl_str bytes, struct sl_hudi_properties *out, sl_err *err) SL_WUR;
void sl_hudi_properties_release(struct sl_hudi_properties *p);
sl_str sl_hudi_properties_get(const struct sl_hudi_properties *p, const char *key);      /* p == NULL if absent */
int sl_hudi_properties_set(struct sl_hudi_properties *p, sl_str key, sl_str value, sl_err *err) SL_WUR; /* adds or replaces; copies */
void sl_hudi_properties_unset(struct sl_hudi_properties *p, const char *key);
/* With two comment lines (the time NOW_MILLIS) and the checksum made new. */
int sl_hudi_properties_encode(const struct sl_hudi_properties *p, int64_t now_millis, struct sl_buf *out, sl_err *err) SL_WUR;
/* CRC-32 of "<database>.<name>"; the number of `hoodie.table.checksum`. */
uint32_t sl_hudi_checksum(sl_str database, sl_str table);

/* ---- what the keys mean ---- */
enum sl_hudi_table_type { SL_HUDI_COW, SL_HUDI_MOR };
enum sl_hudi_keygen { SL_HUDI_KEYGEN_SIMPLE, SL_HUDI_KEYGEN_COMPLEX, SL_HUDI_KEYGEN_NONPARTITIONED, SL_HUDI_KEYGEN_TIMESTAMP, SL_HUDI_KEYGEN_CUSTOM };
enum sl_hudi_merge { SL_HUDI_EVENT_TIME, SL_HUDI_COMMIT_TIME, SL_HUDI_MERGE_CUSTOM };

#define SL_HUDI_STRATEGY_EVENT_TIME "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
#define SL_HUDI_STRATEGY_COMMIT_TIME "ce9acb64-bde0-424c-9b91-f6ebba25356d"
#define SL_HUDI_PAYLOAD_DEFAULT "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
#define SL_HUDI_PAYLOAD_OVERWRITE "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"

struct sl_hudi_config { /* views into the properties, lists of its arena */
    sl_str name, database;
    enum sl_hudi_table_type type;
    int version;                    /* 6, 8, 9 */
    int layout;                     /* of the timeline: 1, 2 */
    const sl_str *key_fields;       /* record key, in order */
    size_t nkeys;
    const sl_str *partition_fields; /* names only: ":SIMPLE" of custom key generators is cut off */
    size_t npartition;
    const sl_str *ordering_fields;  /* 0 = none; more than one only in version 9 */
    size_t nordering;
    enum sl_hudi_keygen keygen;     /* as said, or as the numbers of fields say */
    enum sl_hudi_merge merge;       /* from mode, payload, strategy and ordering fields, facts 5.2; MERGE_CUSTOM: see merge_text */
    sl_str merge_text;              /* the payload class, mode or strategy that decided; for messages */
    sl_str payload;                 /* may be empty */
    bool hive_style, url_encode, drop_partition_columns, populate_meta;
    bool timezone_utc;              /* instants are UTC; false: the property is absent or LOCAL */
    bool timezone_set;
    sl_str mdt_partitions;          /* of the metadata table, comma-joined; empty = none */
    sl_str mdt_inflight;
    sl_str create_schema;           /* Avro JSON; may be empty */
    sl_str base_format;             /* "PARQUET" if absent */
    sl_str archive_folder;          /* "archived" if absent */
    sl_str timeline_path, history_path; /* layout 2: "timeline", "history" if absent */
    sl_str delete_field, delete_marker; /* hoodie.payload.delete.*; empty = none */
    bool cdc;
};
/* SL_EUNSUPPORTED, by name: table versions other than 6, 8, 9, a base format other than PARQUET, a layout that does not fit the
 * version. SL_ECORRUPT: no name, a checksum that is missing or wrong, a member that is no number. */
int sl_hudi_config_read(struct sl_hudi_properties *p, struct sl_hudi_config *out, sl_err *err) SL_WUR;

struct sl_hudi_new_table {
    sl_str name, database;
    const sl_str *key_fields, *partition_fields;
    size_t nkeys, npartition;
    sl_str ordering_field;          /* empty = commit time decides */
    sl_str create_schema;
    bool hive_style, url_encode;
};
/* The properties of a new table of version 6, facts 3.7. OUT must be empty. */
int sl_hudi_properties_new(const struct sl_hudi_new_table *t, struct sl_hudi_properties *out, sl_err *err) SL_WUR;

#endif
