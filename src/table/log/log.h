/*
 * log.h - an opened log table (Apache Hudi): its folder, its configuration, its columns.
 *
 * Opening reads hoodie.properties and the timeline, and takes the columns from the newest commit that says them. The object does not
 * change afterwards and may be used by any number of threads; what others commit later is seen by views (view.h), which list anew.
 */
#ifndef SL_TABLE_LOG_H
#define SL_TABLE_LOG_H

#include "data/schema.h"
#include "format/hudi_avro.h"
#include "format/hudi_names.h"
#include "format/hudi_properties.h"
#include "store/store.h"
#include "table/catalog.h"

#define SL_HUDI_DIR ".hoodie"
#define SL_HUDI_PROPERTIES_FILE ".hoodie/hoodie.properties"
#define SL_HUDI_PROPERTIES_BACKUP ".hoodie/hoodie.properties.backup"

/* The columns of a table at one time. */
struct sl_log_schema {
    struct sl_hudi_schema hudi;     /* parsed; its JSON is without the meta fields */
    struct sl_schema columns;       /* the same columns (ids are positions from 0), partition and primary keys; the table's properties as options */
};

struct sl_timeline;

struct sl_log {
    struct sl_store *store;         /* rooted at the table's folder; every path of a table is relative to it */
    char *path;                     /* absolute, for people and for DuckDB */
    char *label;                    /* "db.table", or the path if opened by path: for error texts */
    struct sl_hudi_properties properties;
    struct sl_hudi_config config;   /* views into the properties */
    char *instants;                 /* folder of the timeline: ".hoodie" or ".hoodie/timeline" */
    char *history;                  /* folder of what left it: ".hoodie/archived" or ".hoodie/timeline/history" */
    struct sl_log_schema *schema;   /* newest at open; no columns if the table says none yet */
    const struct sl_type **partition_types; /* config.npartition of them: of the columns, STRING where a column is not known */
    struct sl_timeline *timeline;   /* as it was when the table was opened */
};

int sl_log_open(struct sl_catalog *c, sl_str db, sl_str table, struct sl_log **out, sl_err *err) SL_WUR;
int sl_log_open_path(sl_str path, struct sl_log **out, sl_err *err) SL_WUR;
void sl_log_close(struct sl_log *t); /* NULL is fine */

/* May rows be read? SL_EUNSUPPORTED, naming what stands against it: merging by a class of the user, partition columns that are not in the
 * files, column types, no meta columns in a table with logs. Versions above 9 are refused by opening. */
int sl_log_check_read(const struct sl_log *t, sl_err *err) SL_WUR;
/* May rows be written, cleaned, compacted? SL_EUNSUPPORTED: other versions than 6, copy-on-write, a metadata table, CDC, several ordering
 * fields, key generators that make other keys than Sluice, an archived timeline is fine. Implies sl_log_check_read. */
int sl_log_check_write(const struct sl_log *t, sl_err *err) SL_WUR;

/* The columns that JSON, an Avro schema with or without the meta fields, says. "" gives none. *OUT is the caller's (sl_log_schema_free). */
int sl_log_schema_make(const struct sl_log *t, sl_str json, struct sl_log_schema **out, sl_err *err) SL_WUR;
void sl_log_schema_free(struct sl_log_schema *s); /* NULL is fine */

/* Option of the table: what hoodie.properties says, else DFLT. Own options ("sluice.…") stand there too. */
const char *sl_log_option(const struct sl_log *t, const char *key, const char *dflt);

/* Read a file of the table whole, at most MAX bytes; the error names its path. */
int sl_log_get(struct sl_log *t, const char *path, size_t max, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
