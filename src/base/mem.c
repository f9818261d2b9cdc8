#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool sl_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

bool sl_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#ifdef SL_FAILPOINTS

static atomic_llong alloc_count;
static atomic_llong fail_at; /* the count at which an allocation fails; 0 = never */

__attribute__((constructor)) static void read_environment(void)
{
    const char *n = getenv("SLUICE_FAIL_ALLOC");

    if (n)
        sl_mem_fail_nth(strtoll(n, NULL, 10));
}

void sl_mem_fail_nth(int64_t n)
{
    atomic_store(&fail_at, n > 0 ? atomic_load(&alloc_count) + n : 0);
}

int64_t sl_mem_count(void)
{
    return atomic_load(&alloc_count);
}

static bool may_allocate(void)
{
    long long n = atomic_fetch_add(&alloc_count, 1) + 1;

    return n != atomic_load(&fail_at);
}

#else

void sl_mem_fail_nth(int64_t n)
{
    (void)n;
}

int64_t sl_mem_count(void)
{
    return 0;
}

static inline bool may_allocate(void)
{
    return true;
}

#endif

/* Zero bytes give a pointer too, so that NULL always means out of memory. */
void *sl_malloc(size_t n)
{
    return may_allocate() ? malloc(n ? n : 1) : NULL;
}

void *sl_calloc(size_t count, size_t size)
{
    size_t n;

    if (!sl_size_mul(count, size, &n) || !may_allocate())
        return NULL;
    return calloc(1, n ? n : 1);
}

void *sl_realloc(void *p, size_t n)
{
    return may_allocate() ? realloc(p, n ? n : 1) : NULL;
}

void *sl_reallocarray(void *p, size_t count, size_t size)
{
    size_t n;

    return sl_size_mul(count, size, &n) ? sl_realloc(p, n) : NULL;
}

void sl_free(void *p)
{
    free(p);
}

/* ---- pages ---- */

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 }; /* overruns of pages would not be seen */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

void *sl_pages_alloc(size_t n)
{
    if (SANITIZED)
        return sl_malloc(n);
    void *p = may_allocate() ? mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    return p == MAP_FAILED ? NULL : p;
}

void *sl_pages_resize(void *p, size_t old_n, size_t n)
{
    if (SANITIZED)
        return sl_realloc(p, n);
    void *q = may_allocate() ? mremap(p, old_n ? old_n : 1, n ? n : 1, MREMAP_MAYMOVE) : MAP_FAILED;
    return q == MAP_FAILED ? NULL : q;
}

void sl_pages_free(void *p, size_t n)
{
    if (SANITIZED)
        sl_free(p);
    else if (p)
        munmap(p, n ? n : 1);
}

char *sl_strndup(const char *p, size_t n)
{
    size_t size;
    char *copy = sl_size_add(n, 1, &size) ? sl_malloc(size) : NULL;

    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

char *sl_strdup(const char *s)
{
    return sl_strndup(s, strlen(s));
}

char *sl_str_dup(sl_str s)
{
    return sl_strndup(s.p, s.n);
}

char *sl_asprintf(const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;

    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return NULL;
    text = sl_malloc((size_t)n + 1);
    if (!text)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}

struct sl_arena_block {
    struct sl_arena_block *next; /* owned */
    size_t size, used;
    _Alignas(16) unsigned char bytes[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

static struct sl_arena_block *new_block(struct sl_arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST_BLOCK, total;

    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < need)
        size = need;
    if (!sl_size_add(size, sizeof(struct sl_arena_block), &total))
        return NULL;
    struct sl_arena_block *b = sl_malloc(total);
    if (!b)
        return NULL;
    b->size = size;
    b->used = 0;
    /* A block made for one big value goes behind the head, whose room is still of use. */
    if (a->head && need > LARGEST_STEP / 4) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        b->next = a->head;
        a->head = b;
    }
    return b;
}

void *sl_arena_alloc(struct sl_arena *a, size_t n)
{
    size_t need;
    struct sl_arena_block *b = a->head;

    if (!sl_size_add(n ? n : 1, 15, &need))
        return NULL;
    need &= ~(size_t)15;
    if (!b || b->size - b->used < need)
        b = new_block(a, need);
    if (!b)
        return NULL;
    void *p = b->bytes + b->used;
    b->used += need;
    a->used += need;
    memset(p, 0, need);
    return p;
}

void *sl_arena_array(struct sl_arena *a, size_t count, size_t size)
{
    size_t n;

    return sl_size_mul(count, size, &n) ? sl_arena_alloc(a, n) : NULL;
}

char *sl_arena_strdup(struct sl_arena *a, sl_str s)
{
    size_t size;
    char *p = sl_size_add(s.n, 1, &size) ? sl_arena_alloc(a, size) : NULL;

    if (p && s.n)
        memcpy(p, s.p, s.n);
    return p;
}

sl_str sl_arena_str(struct sl_arena *a, sl_str s)
{
    char *p = sl_arena_strdup(a, s);

    return (sl_str){p, p ? s.n : 0};
}

char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : sl_arena_alloc(a, (size_t)n + 1);
    if (!p)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void sl_arena_reset(struct sl_arena *a)
{
    struct sl_arena_block *keep = NULL;

    for (struct sl_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        if (!keep || b->size > keep->size) {
            sl_free(keep);
            keep = b;
        } else {
            sl_free(b);
        }
    }
    if (keep) {
        keep->next = NULL;
        keep->used = 0;
    }
    a->head = keep;
    a->used = 0;
}

void sl_arena_release(struct sl_arena *a)
{
    for (struct sl_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        sl_free(b);
    }
    a->head = NULL;
    a->used = 0;
}
