/*
 * str.h - string views, owned growable bytes, and a reader over bytes that cannot run over the end.
 */
#ifndef SL_BASE_STR_H
#define SL_BASE_STR_H

#include <stdarg.h>
#include "base/err.h"
#include "sluice/sys.h"

/* ---- views ---- */
sl_str sl_str_c(const char *s);                  /* of a terminated string; NULL gives an empty view */
bool sl_str_eq(sl_str a, sl_str b);
bool sl_str_eqc(sl_str a, const char *b);
bool sl_str_ieqc(sl_str a, const char *b);       /* ASCII case folded */
int sl_str_cmp(sl_str a, sl_str b);              /* unsigned bytewise */
bool sl_str_starts(sl_str s, const char *prefix);
bool sl_str_ends(sl_str s, const char *suffix);
sl_str sl_str_sub(sl_str s, size_t from, size_t to); /* clamped */
sl_str sl_str_trim(sl_str s);                    /* ASCII white space on both sides */
ptrdiff_t sl_str_find(sl_str s, sl_str needle);  /* -1 if absent */
bool sl_utf8_valid(sl_str s, size_t *bad_at);    /* strict: no surrogates, no overlong forms */

/* ---- numbers: as sl_parse_i64, sl_parse_u64, sl_parse_bytes, sl_parse_millis of sluice/sys.h ---- */
bool sl_parse_f64(sl_str s, double *out);        /* locale independent; inf, -inf, nan accepted in any case */

/* ---- owned bytes ---- */
struct sl_buf {
    char *p;   /* owned; terminated when not NULL */
    size_t n;
    size_t cap;
    bool failed; /* an append ran out of memory; sticky until reset */
};
#define SL_BUF_INIT {NULL, 0, 0, false}

/* Appends do nothing once `failed`; check once at the end with sl_buf_ok. */
void sl_buf_add(struct sl_buf *b, sl_str s);
void sl_buf_addc(struct sl_buf *b, const char *s);
void sl_buf_addb(struct sl_buf *b, const void *p, size_t n);
void sl_buf_ch(struct sl_buf *b, char c);
void sl_buf_printf(struct sl_buf *b, const char *fmt, ...) SL_PRINTF(2, 3);
void sl_buf_vprintf(struct sl_buf *b, const char *fmt, va_list ap);
char *sl_buf_room(struct sl_buf *b, size_t n);   /* N writable bytes at the end, or NULL; then b->n += used */
void sl_buf_sql_ident(struct sl_buf *b, sl_str name);   /* "na""me" */
void sl_buf_sql_string(struct sl_buf *b, sl_str text);  /* 'te''xt' */
void sl_buf_u8(struct sl_buf *b, uint8_t v);
void sl_buf_u32be(struct sl_buf *b, uint32_t v);
void sl_buf_u32le(struct sl_buf *b, uint32_t v);
void sl_buf_u64le(struct sl_buf *b, uint64_t v);
void sl_buf_base64(struct sl_buf *b, sl_str bytes);     /* with padding */
bool sl_base64_decode(sl_str text, struct sl_buf *out); /* appends; false if TEXT is not exactly what sl_buf_base64 writes */
int sl_buf_ok(const struct sl_buf *b, sl_err *err);     /* SL_OK or SL_ENOMEM */
sl_str sl_buf_view(const struct sl_buf *b);
void sl_buf_reset(struct sl_buf *b);
void sl_buf_release(struct sl_buf *b);
char *sl_buf_take(struct sl_buf *b);             /* the bytes, terminated, now the caller's (sl_free); NULL if failed */

/* ---- reader: past the end gives zeros and sets `bad`; check once a record ---- */
struct sl_cur {
    const unsigned char *start, *p, *end;
    bool bad;
};
struct sl_cur sl_cur_of(sl_str s);
size_t sl_cur_left(const struct sl_cur *c);
size_t sl_cur_pos(const struct sl_cur *c);
uint8_t sl_cur_u8(struct sl_cur *c);
uint32_t sl_cur_u32be(struct sl_cur *c);
uint32_t sl_cur_u32le(struct sl_cur *c);
uint64_t sl_cur_u64le(struct sl_cur *c);
sl_str sl_cur_bytes(struct sl_cur *c, size_t n); /* a view into the input; empty and bad if short */
int64_t sl_cur_zigzag(struct sl_cur *c);         /* Avro long: zig-zag varint, at most 10 bytes */

/* ---- growable arrays: struct { T *v; size_t n, cap; }, all zero at first, sl_free(x.v) at the end ---- */
#define SL_VEC(T) struct { T *v; size_t n, cap; }
/* Room for one more; evaluates to a pointer to the new zeroed last element, NULL if out of memory. */
#define sl_vec_push(vec) ((sl_vec_grow((void **)&(vec)->v, &(vec)->n, &(vec)->cap, sizeof *(vec)->v)) ? &(vec)->v[(vec)->n - 1] : NULL)
bool sl_vec_grow(void **v, size_t *n, size_t *cap, size_t size);

/* ---- map from bytes to a pointer; copies the keys ---- */
struct sl_map; 
struct sl_map *sl_map_new(void);                              /* NULL if out of memory */
void sl_map_free(struct sl_map *m, void (*free_value)(void *)); /* NULLs are fine */
void **sl_map_at(struct sl_map *m, sl_str key);               /* slot, made with NULL in it if absent; NULL if out of memory */
void *sl_map_get(const struct sl_map *m, sl_str key);         /* NULL if absent */
bool sl_map_del(struct sl_map *m, sl_str key, void **old);
size_t sl_map_count(const struct sl_map *m);
/* Walk in no order: start with *it = 0; false at the end. */
bool sl_map_next(const struct sl_map *m, size_t *it, sl_str *key, void **value);

#endif
