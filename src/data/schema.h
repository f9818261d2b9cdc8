/*
 * schema.h - the columns, partition keys and options of a table at one schema id.
 */
#ifndef SL_DATA_SCHEMA_H
#define SL_DATA_SCHEMA_H

#include "data/type.h"

struct sl_option {
    const char *key, *value;
};

struct sl_schema {
    struct sl_arena arena;       /* owns everything below */
    int64_t id;
    int32_t version;             /* of the schema file: 1, 2, 3 */
    const struct sl_field *fields;
    size_t nfields;
    int32_t highest_field_id;
    const char *const *partition_keys;
    size_t npartition;
    const size_t *partition_index; /* of each partition key, its position in fields */
    const char *const *primary_keys;
    size_t nprimary;
    const struct sl_option *options;
    size_t noptions;
    const char *comment;         /* NULL if none */
    int64_t time_millis;
};

void sl_schema_release(struct sl_schema *s);
const struct sl_field *sl_schema_field(const struct sl_schema *s, sl_str name);     /* exact; NULL if absent */
const struct sl_field *sl_schema_field_by_id(const struct sl_schema *s, int32_t id); /* top level; NULL if absent */
/* Does a column of another index than I have the name of column I, if case does not count? Some engines tell no such names apart. */
bool sl_schema_folds(const struct sl_schema *s, size_t i);
ptrdiff_t sl_schema_index(const struct sl_schema *s, sl_str name);                   /* -1 if absent */
const char *sl_schema_option(const struct sl_schema *s, const char *key);            /* NULL if not set */

/* Options that Sluice understands, with the value as stored or the default of the facts (section 8). Wrong text is an error naming the option. */
int sl_schema_option_bytes(const struct sl_schema *s, const char *key, uint64_t dflt, uint64_t *out, sl_err *err) SL_WUR;
int sl_schema_option_millis(const struct sl_schema *s, const char *key, uint64_t dflt, uint64_t *out, sl_err *err) SL_WUR;
int sl_schema_option_i64(const struct sl_schema *s, const char *key, int64_t dflt, int64_t *out, sl_err *err) SL_WUR;
int sl_schema_option_bool(const struct sl_schema *s, const char *key, bool dflt, bool *out, sl_err *err) SL_WUR;

#endif
