/*
 * hudi_avro.h - Avro schemas of Hudi tables, and rows of batches as Avro records.
 *
 * Source: facts on Hudi, sections 1.4, 1.5, 4.4; Avro 1.11 specification ("Schema Resolution").
 *
 *   Avro                                       type here
 *   boolean int long float double              BOOLEAN INT BIGINT FLOAT DOUBLE
 *   string, enum, uuid                         STRING
 *   bytes / fixed N                            BYTES / BINARY(N)
 *   decimal(p, s) of bytes or fixed            DECIMAL(p, s); written as fixed of the least number of bytes
 *   date                                       DATE
 *   time-millis, time-micros                   TIME(3), TIME(6)
 *   timestamp-millis, -micros                  TIMESTAMP_LTZ(3), (6)
 *   local-timestamp-millis, -micros            TIMESTAMP(3), (6)
 *   array, map (keys STRING NOT NULL), record  ARRAY, MAP, ROW
 *   [null, T] and [T, null]                    nullable T; other unions are not supported, by name
 *
 * New schemas write TIMESTAMP(p) and TIMESTAMP_LTZ(p) as timestamp-micros (decision L12), TINYINT and SMALLINT as int, TIME as time-micros.
 */
#ifndef SL_FORMAT_HUDI_AVRO_H
#define SL_FORMAT_HUDI_AVRO_H

#include "data/batch.h"
#include "data/value.h"
#include "format/avro.h"

/* The meta fields, in their order before the data columns. */
enum { SL_HUDI_META_COMMIT_TIME, SL_HUDI_META_SEQNO, SL_HUDI_META_KEY, SL_HUDI_META_PARTITION, SL_HUDI_META_FILE, SL_HUDI_NMETA };
extern const char *const sl_hudi_meta_fields[SL_HUDI_NMETA]; /* "_hoodie_commit_time", ... */
bool sl_hudi_is_meta(sl_str name);
/* Are the first three fields ["null", "string"] and the third _hoodie_record_key? Then sl_hudi_record_key finds it. */
bool sl_hudi_key_is_third(const struct sl_avro_schema *writer);

/* A column that had other names before (Avro "aliases"). */
struct sl_hudi_alias {
    const char *name, *old;
};

struct sl_hudi_schema {
    struct sl_arena arena;                /* owns everything below */
    sl_str json;                          /* as given */
    const char *name, *space;             /* of the record */
    const struct sl_avro_schema *avro;    /* all fields, the meta fields too */
    bool has_meta;
    const struct sl_field *fields;        /* data columns, without the meta fields; id = position, from 0 */
    size_t nfields;
    const struct sl_hudi_alias *aliases;  /* of top-level columns */
    size_t naliases;
};
#define SL_HUDI_SCHEMA_INIT {SL_ARENA_INIT, {NULL, 0}, NULL, NULL, NULL, false, NULL, 0, NULL, 0}
int sl_hudi_schema_parse(sl_str json, struct sl_hudi_schema *out, sl_err *err) SL_WUR;
void sl_hudi_schema_release(struct sl_hudi_schema *s);

/* Schema JSON of a table `name` with these columns: record `<name>_record`, namespace `hoodie.<name>`; all columns nullable, null first, default null.
 * META: with the five meta fields. SL_EUNSUPPORTED, by column, for types without a form in Avro. */
int sl_hudi_schema_encode(sl_str table, const struct sl_field *fields, size_t n, bool meta, struct sl_buf *out, sl_err *err) SL_WUR;
/* JSON, a schema without meta fields as commits hold it, with them added in front, and nothing else changed. */
int sl_hudi_schema_add_meta(sl_str json, struct sl_buf *out, sl_err *err) SL_WUR;
int sl_hudi_schema_drop_meta(sl_str json, struct sl_buf *out, sl_err *err) SL_WUR;

/* ---- records to rows ---- */

/* Decodes records of one writer schema into batches of the reader's columns: columns are found by name, then by alias; those that the
 * writer lacks are NULL; integers, floats, decimals, times and texts are widened; those not wanted are passed over without being decoded. One thread. */
struct sl_hudi_decoder;
struct sl_hudi_projection {
    const struct sl_field *cols;          /* columns of the batch; names of meta fields may stand there (STRING) */
    size_t ncols;
    const bool *wanted;                   /* NULL = all */
    const struct sl_hudi_alias *aliases;
    size_t naliases;
};
/* WRITER must outlive the decoder. SL_EUNSUPPORTED: a column whose type in WRITER does not widen to the reader's. */
int sl_hudi_decoder_new(const struct sl_avro_schema *writer, const struct sl_hudi_projection *p, struct sl_hudi_decoder **out, sl_err *err) SL_WUR;
void sl_hudi_decoder_free(struct sl_hudi_decoder *d);
/* Fills ROW of B; what follows the last wanted column is not looked at, and with all wanted RECORD must be used up. SL_ECORRUPT on damage. */
int sl_hudi_decoder_row(struct sl_hudi_decoder *d, sl_str record, struct sl_batch *b, size_t row, sl_err *err) SL_WUR;
/* Columns of atomic types into OUT[0..ncols): texts are views into RECORD (decimals of the reader's scale; times as in sl_value). Stops
 * after the last column that is wanted; the others' OUT is left alone. */
int sl_hudi_decoder_values(struct sl_hudi_decoder *d, sl_str record, struct sl_value *out, sl_err *err) SL_WUR;

/* ---- rows to records ---- */
struct sl_hudi_meta_values {
    sl_str v[SL_HUDI_NMETA];              /* p == NULL = null */
};
/* Encodes rows by a schema with meta fields: fields of it are found among COLS by name; one that is not there is written as null. One thread. */
struct sl_hudi_encoder;
int sl_hudi_encoder_new(const struct sl_avro_schema *schema, const struct sl_field *cols, size_t ncols, struct sl_hudi_encoder **out,
                        sl_err *err) SL_WUR;
void sl_hudi_encoder_free(struct sl_hudi_encoder *e);
/* Appends the record's bytes to OUT. SL_EINPUT, by column: NULL for a field that may not be null, a value that does not fit. */
int sl_hudi_encoder_row(struct sl_hudi_encoder *e, const struct sl_hudi_meta_values *meta, const struct sl_batch *b, size_t row,
                        struct sl_buf *out, sl_err *err) SL_WUR;

#endif
