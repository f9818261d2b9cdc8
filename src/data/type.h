/*
 * type.h - column types, in Paimon's terms, and their spellings in schema JSON, in SQL and for the engine.
 *
 * Immutable once made; all memory comes from the arena given. Source: facts on schema-N (paimon-api
 * DataTypeJsonParser); the recogniser takes all spellings named there, the writer only the canonical one.
 */
#ifndef SL_DATA_TYPE_H
#define SL_DATA_TYPE_H

#include "base/json.h"
#include "base/mem.h"

enum sl_kind {
    SL_BOOLEAN, SL_TINYINT, SL_SMALLINT, SL_INT, SL_BIGINT, SL_FLOAT, SL_DOUBLE,
    SL_DECIMAL,                       /* precision 1-38, scale */
    SL_CHAR, SL_VARCHAR,              /* length in code points; STRING = VARCHAR of SL_LENGTH_MAX */
    SL_BINARY, SL_VARBINARY,          /* length in bytes; BYTES = VARBINARY of SL_LENGTH_MAX */
    SL_DATE, SL_TIME, SL_TIMESTAMP, SL_TIMESTAMP_LTZ, /* precision 0-9 */
    SL_ARRAY, SL_MAP, SL_ROW,
    SL_MULTISET, SL_VARIANT, SL_BLOB, SL_VECTOR, SL_GEOMETRY, SL_GEOGRAPHY, /* known by name, not readable or writable */
};
#define SL_LENGTH_MAX 2147483647

struct sl_type {
    enum sl_kind kind;
    bool nullable;
    int32_t precision, scale;
    int32_t length;
    const struct sl_type *element;    /* ARRAY, MULTISET, VECTOR */
    const struct sl_type *key, *value; /* MAP */
    const struct sl_field *fields;    /* ROW */
    size_t nfields;
    const char *raw;                  /* kinds without a meaning here (GEOMETRY(...)): the text to write back */
};

struct sl_field {
    int32_t id;
    const char *name;                 /* terminated UTF-8 */
    const struct sl_type *type;
    const char *comment;              /* NULL if none */
    const char *default_text;         /* NULL if none: the schema's defaultValue, used at write time only */
};

/* From the "type" member of a schema field: a string or an object. Unknown names are SL_EUNSUPPORTED. Depth at most 64. */
int sl_type_from_json(struct sl_arena *a, const json_t *j, const struct sl_type **out, sl_err *err) SL_WUR;
json_t *sl_type_to_json(const struct sl_type *t); /* canonical; new reference; NULL if out of memory */
/* The same for the array "fields" of a schema or a ROW. */
int sl_fields_from_json(struct sl_arena *a, const json_t *j, const struct sl_field **out, size_t *n, sl_err *err) SL_WUR;
json_t *sl_fields_to_json(const struct sl_field *f, size_t n);

/* From SQL text such as "DECIMAL(10, 2) NOT NULL", "ROW<a INT, b ARRAY<STRING>>", "MAP<STRING, INT>", and DuckDB's
 * "VARCHAR", "INT[]", "STRUCT(a INT)", "MAP(VARCHAR, INT)", "TIMESTAMPTZ". All of TEXT must be the type. Nested field ids are 0 until
 * the schema gives them. The error's offset is relative to TEXT. */
int sl_type_from_sql(struct sl_arena *a, sl_str text, const struct sl_type **out, sl_err *err) SL_WUR;
void sl_type_sql(struct sl_buf *out, const struct sl_type *t);    /* canonical text, with NOT NULL where it applies */

/* The type DuckDB holds values of T in: TIMESTAMP(0-6) -> TIMESTAMP, TIMESTAMP(7-9) -> TIMESTAMP_NS, LTZ -> TIMESTAMP WITH TIME ZONE, STRUCT(...), ... */
void sl_type_engine_sql(struct sl_buf *out, const struct sl_type *t);
/* The SQL expression that turns EXPR (of the engine type) into what the Parquet file must hold by the facts, section 7: TIMESTAMP_MS
 * for p <= 3, and so on, nested members too. */
void sl_type_parquet_expr(struct sl_buf *out, const struct sl_type *t, sl_str expr);
/* SL_EUNSUPPORTED, by column and type name, unless values can be read (written). TIMESTAMP(7-9) reads, but is not writable. */
int sl_type_check_readable(const char *column, const struct sl_type *t, sl_err *err) SL_WUR;
int sl_type_check_writable(const char *column, const struct sl_type *t, sl_err *err) SL_WUR;

bool sl_type_same(const struct sl_type *a, const struct sl_type *b, bool ignore_nullable);
bool sl_type_atomic(const struct sl_type *t);
/* May ALTER change a column of type FROM to TO without loss for any stored value (integers grow, FLOAT to DOUBLE, VARCHAR longer, DECIMAL
 * wider in both parts, ...)? */
bool sl_type_widens(const struct sl_type *from, const struct sl_type *to);

#endif
