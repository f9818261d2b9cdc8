/* format_priv.h - what the files of this folder share. */
#ifndef SL_FORMAT_FORMAT_PRIV_H
#define SL_FORMAT_FORMAT_PRIV_H

#include "format/avro_value.h"
#include "format/paimon.h"

/* May S be the name of one file: not empty, no '/', no zero byte, not "." or ".."? */
bool sl_format_is_name(sl_str s);
/* The characters that folders of partitions must not have as %XX. */
void sl_format_escape_path(struct sl_buf *out, sl_str s);

/* An object of texts; members that are null are left out. */
int sl_json_options(struct sl_arena *a, const json_t *doc, const char *member, const struct sl_option **out, size_t *n,
                    sl_err *err) SL_WUR;
json_t *sl_options_to_json(const struct sl_option *v, size_t n); /* new reference; NULL if out of memory */

/* The comment "#Mon Mar 31 03:06:44 UTC 2025" that Java puts into properties files. */
void sl_hudi_date_comment(struct sl_buf *out, int64_t now_millis);

/* Column I of a row of N columns; false if the row is damaged or has another number of columns. */
bool sl_binrow_column(sl_str row, const struct sl_type *const *types, size_t n, size_t i, struct sl_value *out);

/* ---- records of Avro files, read by a plan made once from the writer's schema ---- */
struct sl_plan_field {
    const struct sl_avro_schema *schema;
    int target; /* what the decoder does with it; -1 = skip */
};
/* One step a field of the record (or of ["null", record]) S, TARGETS[i] = name of target i. Fails if S is none or a name among the first
 * REQUIRED ones is missing. Memory from A. */
int sl_plan_record(struct sl_arena *a, const struct sl_avro_schema *s, const char *const *targets, size_t n, size_t required,
                   struct sl_plan_field **out, size_t *nfields, sl_err *err) SL_WUR;

struct sl_plan_stats {
    struct sl_plan_field *f;
    size_t n;
};
int sl_plan_stats(struct sl_arena *a, const struct sl_avro_schema *s, struct sl_plan_stats *out, sl_err *err) SL_WUR;
/* S is the field's schema. False: out of memory. */
bool sl_stats_read(struct sl_cur *c, const struct sl_avro_schema *s, const struct sl_plan_stats *plan, struct sl_arena *a,
                   struct sl_stats *out);
void sl_stats_put(struct sl_buf *out, const struct sl_stats *st);
/* An array of strings, or null (*PRESENT false). False: out of memory. */
bool sl_strings_read(struct sl_cur *c, const struct sl_avro_schema *s, struct sl_arena *a, const sl_str **out, size_t *n, bool *present);

#define SL_STATS_SCHEMA(name)                                                                                       \
    "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[{\"name\":\"_MIN_VALUES\",\"type\":\"bytes\"},"         \
    "{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"},{\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\"," \
    "\"items\":[\"null\",\"long\"]}],\"default\":null}]}"
#define SL_RECORD_SCHEMA(fields) \
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":[" fields "]}"
#define SL_FIELD_SCHEMA(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define SL_NULLABLE_SCHEMA(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "],\"default\":null}"

#endif
