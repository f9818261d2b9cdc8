/*
 * json.h - JSON documents: jansson's trees with our errors. For metadata files, task lines and options;
 * rows of data have their own parser in ingest/.
 *
 * jansson keeps 64-bit integers exact, refuses duplicate members and deep nesting as asked here.
 */
#ifndef SL_BASE_JSON_H
#define SL_BASE_JSON_H

#include <jansson.h>
#include "base/str.h"

/* *OUT is the caller's (json_decref). Errors name line and column; code SL_ECORRUPT. Trailing bytes are refused. */
int sl_json_parse(sl_str text, json_t **out, sl_err *err) SL_WUR;
void sl_json_dump(struct sl_buf *out, const json_t *value, bool pretty); /* a failed buffer if out of memory */

/* Typed members. The _req forms fail with SL_ECORRUPT when absent, null or of another type;
 * the _opt forms leave *OUT alone when absent or null and fail on another type. Views are valid as long as OBJ. */
int sl_json_str_req(const json_t *obj, const char *name, sl_str *out, sl_err *err) SL_WUR;
int sl_json_i64_req(const json_t *obj, const char *name, int64_t *out, sl_err *err) SL_WUR;
int sl_json_str_opt(const json_t *obj, const char *name, sl_str *out, sl_err *err) SL_WUR;
int sl_json_i64_opt(const json_t *obj, const char *name, int64_t *out, sl_err *err) SL_WUR;
int sl_json_bool_opt(const json_t *obj, const char *name, bool *out, sl_err *err) SL_WUR;
json_t *sl_json_member(const json_t *obj, const char *name); /* borrowed; NULL if absent or null */

/* Adding to a tree, which takes VALUE over. *FAILED is set where VALUE is NULL or there is no memory: one look at the end is enough. */
void sl_json_put(bool *failed, json_t *object, const char *key, json_t *value);
void sl_json_push(bool *failed, json_t *array, json_t *value);

/* Writing without a tree: a string with its quotes and escapes. */
void sl_buf_json_string(struct sl_buf *b, sl_str s);

#endif
