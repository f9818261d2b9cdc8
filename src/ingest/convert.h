/*
 * convert.h - text of one value to the value, exactly or not at all.
 *
 * Shared by NDJSON and CSV. Every function wants the whole text to be the value; what would lose digits, overflow or
 * need a guess gives false, with *WHY (static text) telling what is expected. Nothing allocates, except where said.
 */
#ifndef SL_INGEST_CONVERT_H
#define SL_INGEST_CONVERT_H

#include "base/str.h"
#include "data/value.h"

/* Bytes behind a text that may be read (not used), so that words can be loaded. */
enum { SL_TEXT_SLACK = 16 };

/* A decimal number: sign, digits, optional fraction and exponent. JSON: no leading zeros, no '+', digits on both sides of the point. */
enum sl_number_form { SL_NUMBER_JSON, SL_NUMBER_LOOSE };

/* End of the number that starts at P; P itself if there is none. *WHOLE: it has neither fraction nor exponent. END bounds the search. */
const char *sl_number_end(const char *p, const char *end, enum sl_number_form form, bool *whole);

/* TEXT must be a number by sl_number_end. Exact: 1e2 and 1.0 are integers, 1.5 is none. */
bool sl_number_to_i64(sl_str text, int64_t min, int64_t max, int64_t *out, const char **why);
/* Unscaled value for DECIMAL(precision, scale). */
bool sl_number_to_decimal(sl_str text, int32_t precision, int32_t scale, sl_i128 *out, const char **why);
bool sl_number_to_double(sl_str text, double *out, const char **why);
bool sl_number_to_float(sl_str text, float *out, const char **why);

bool sl_text_to_date(sl_str text, int32_t *days, const char **why);
/* Microseconds of the day; at most PRECISION digits of the second's fraction that are not zero. */
bool sl_text_to_time(sl_str text, int32_t precision, int64_t *micros, const char **why);
/* ZONED: a zone is needed and applied; else none may be there. Micros since 1970, nanos if PRECISION > 6. */
bool sl_text_to_timestamp(sl_str text, bool zoned, int32_t precision, int64_t *out, const char **why);

/* Standard alphabet, padded. OUT is reset first. */
bool sl_text_from_base64(sl_str text, struct sl_buf *out, const char **why);

size_t sl_utf8_count(sl_str text); /* code points of valid UTF-8 */

#endif
