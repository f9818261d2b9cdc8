/*
 * mem.h - the only door to malloc, and arenas.
 *
 * All functions return NULL when out of memory, which is an ordinary error. In test builds
 * SLUICE_FAIL_ALLOC=n in the environment (or sl_mem_fail_nth) makes the n-th allocation fail once.
 * Any thread; an arena is for one thread at a time.
 */
#ifndef SL_BASE_MEM_H
#define SL_BASE_MEM_H

#include "sluice/base.h"

void *sl_malloc(size_t n);
void *sl_calloc(size_t count, size_t size);     /* checks the product */
void *sl_realloc(void *p, size_t n);            /* on failure P stays valid */
void *sl_reallocarray(void *p, size_t count, size_t size);
char *sl_strdup(const char *s);
char *sl_strndup(const char *p, size_t n);      /* terminated copy of N bytes */
char *sl_str_dup(sl_str s);                     /* terminated copy */
char *sl_asprintf(const char *fmt, ...) SL_PRINTF(1, 2);

/* Memory of its own pages, for blocks of megabytes: it goes back to the system when it is freed, whichever thread that does, and growing it
 * copies nothing. N as at the last call. Not initialised for the caller: it reads as zeros where it was never written. */
void *sl_pages_alloc(size_t n);
void *sl_pages_resize(void *p, size_t old_n, size_t n); /* on failure P stays valid */
void sl_pages_free(void *p, size_t n);          /* NULL is fine */

void sl_mem_fail_nth(int64_t n);                /* tests: the n-th allocation from now fails once; 0 = off */
int64_t sl_mem_count(void);                     /* tests: allocations so far */

bool sl_size_add(size_t a, size_t b, size_t *out); /* false on overflow */
bool sl_size_mul(size_t a, size_t b, size_t *out);

/* Bump allocation with one lifetime. Zeroed memory, aligned to 16. */
struct sl_arena {
    struct sl_arena_block *head; /* owned */
    size_t used;                 /* bytes handed out, for budgets */
};
#define SL_ARENA_INIT {NULL, 0}

void *sl_arena_alloc(struct sl_arena *a, size_t n);
void *sl_arena_array(struct sl_arena *a, size_t count, size_t size);
char *sl_arena_strdup(struct sl_arena *a, sl_str s);          /* terminated */
sl_str sl_arena_str(struct sl_arena *a, sl_str s);            /* copy; p == NULL when out of memory */
char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...) SL_PRINTF(2, 3);
void sl_arena_reset(struct sl_arena *a);                      /* empty, keeps the largest block */
void sl_arena_release(struct sl_arena *a);

#endif
