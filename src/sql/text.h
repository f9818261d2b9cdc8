/*
 * text.h - a statement with some places replaced, and the way back from its bytes to the user's.
 */
#ifndef SL_SQL_TEXT_H
#define SL_SQL_TEXT_H

#include "base/mem.h"
#include "base/str.h"

struct sl_edit {
    size_t from, to; /* bytes of the user's text that are replaced; from == to inserts */
    sl_str text;
    size_t order; /* of insertions at one place */
};

struct sl_edits {
    struct sl_edit *v;
    size_t n, cap;
    struct sl_arena *arena; /* of the texts; borrowed */
    bool failed;            /* out of memory */
};

/* Replaces [from, to) by TEXT, which is copied. Of edits that overlap, one that lies in another has
 * no effect. */
void sl_edit_add(struct sl_edits *e, size_t from, size_t to, sl_str text);
void sl_edit_addc(struct sl_edits *e, size_t from, size_t to, const char *text);
void sl_edits_release(struct sl_edits *e);

struct sl_segment {
    size_t at;   /* offset in the rendered text */
    size_t from; /* offset in the user's */
    bool copied; /* byte by byte from there; else all stands for FROM */
};

struct sl_sql_text {
    struct sl_buf buf; /* terminated */
    SL_VEC(struct sl_segment) map;
};
#define SL_SQL_TEXT_INIT                                                                           \
    {                                                                                              \
        SL_BUF_INIT,                                                                               \
        {                                                                                          \
            NULL, 0, 0                                                                             \
        }                                                                                          \
    }

/* [from, to) of TEXT with the edits that lie in it, appended to OUT. Sorts E. */
int sl_sql_render(sl_str text, size_t from, size_t to, struct sl_edits *e, struct sl_sql_text *out,
                  sl_err *err) SL_WUR;
/* Appends generated text that stands for the user's byte AT. */
int sl_sql_generate(struct sl_sql_text *out, size_t at, sl_str text, sl_err *err) SL_WUR;
void sl_sql_text_release(struct sl_sql_text *t);

/* The user's byte that byte AT of the rendered text stands for. */
size_t sl_sql_origin(const struct sl_sql_text *t, size_t at);
/* The error's offset, one in the rendered text, becomes one in the user's. Returns CODE. */
int sl_sql_map_error(const struct sl_sql_text *t, int code, sl_err *err);

#endif
