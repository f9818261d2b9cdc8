/* Open addressing with linear probing over pointers to entries, so that slots given out stay where they are. */
#include "base/str.h"

#include <string.h>

#include "base/mem.h"
#include "base/sys.h"

struct entry {
    uint64_t hash;
    void *value; /* the caller's */
    size_t n;
    char key[];
};

struct sl_map {
    struct entry **v; /* owned; size is a power of two */
    size_t size, count;
};

struct sl_map *sl_map_new(void)
{
    return sl_calloc(1, sizeof(struct sl_map));
}

void sl_map_free(struct sl_map *m, void (*free_value)(void *))
{
    if (!m)
        return;
    for (size_t i = 0; i < m->size; i++) {
        if (m->v[i] && m->v[i]->value && free_value)
            free_value(m->v[i]->value);
        sl_free(m->v[i]);
    }
    sl_free(m->v);
    sl_free(m);
}

/* Where KEY stands or would stand. */
static size_t find(const struct sl_map *m, uint64_t hash, sl_str key)
{
    size_t i = hash & (m->size - 1);

    while (m->v[i] && !(m->v[i]->hash == hash && sl_str_eq((sl_str){m->v[i]->key, m->v[i]->n}, key)))
        i = (i + 1) & (m->size - 1);
    return i;
}

static bool grow(struct sl_map *m)
{
    struct sl_map bigger = {NULL, m->size ? m->size * 2 : 16, m->count};

    bigger.v = sl_calloc(bigger.size, sizeof *bigger.v);
    if (!bigger.v)
        return false;
    for (size_t i = 0; i < m->size; i++) {
        struct entry *e = m->v[i];

        if (e)
            bigger.v[find(&bigger, e->hash, (sl_str){e->key, e->n})] = e;
    }
    sl_free(m->v);
    *m = bigger;
    return true;
}

void **sl_map_at(struct sl_map *m, sl_str key)
{
    uint64_t hash = sl_hash64(key);
    size_t size;

    if ((m->count + 1) * 4 > m->size * 3 && !grow(m))
        return NULL;
    size_t i = find(m, hash, key);
    if (!m->v[i]) {
        struct entry *e = sl_size_add(sizeof *e, key.n, &size) ? sl_malloc(size) : NULL;

        if (!e)
            return NULL;
        e->hash = hash;
        e->value = NULL;
        e->n = key.n;
        if (key.n)
            memcpy(e->key, key.p, key.n);
        m->v[i] = e;
        m->count++;
    }
    return &m->v[i]->value;
}

void *sl_map_get(const struct sl_map *m, sl_str key)
{
    if (m->count == 0)
        return NULL;
    struct entry *e = m->v[find(m, sl_hash64(key), key)];
    return e ? e->value : NULL;
}

bool sl_map_del(struct sl_map *m, sl_str key, void **old)
{
    if (old)
        *old = NULL;
    if (m->count == 0)
        return false;
    size_t mask = m->size - 1, hole = find(m, sl_hash64(key), key);
    if (!m->v[hole])
        return false;
    if (old)
        *old = m->v[hole]->value;
    sl_free(m->v[hole]);
    m->v[hole] = NULL;
    m->count--;
    /* Entries behind the hole that were pushed past it move up, so that probing never meets a gap. */
    for (size_t i = (hole + 1) & mask; m->v[i]; i = (i + 1) & mask) {
        size_t home = m->v[i]->hash & mask;

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->v[hole] = m->v[i];
            m->v[i] = NULL;
            hole = i;
        }
    }
    return true;
}

size_t sl_map_count(const struct sl_map *m)
{
    return m->count;
}

bool sl_map_next(const struct sl_map *m, size_t *it, sl_str *key, void **value)
{
    while (*it < m->size) {
        const struct entry *e = m->v[(*it)++];

        if (!e)
            continue;
        if (key)
            *key = (sl_str){e->key, e->n};
        if (value)
            *value = e->value;
        return true;
    }
    return false;
}
