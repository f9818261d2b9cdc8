/* append_priv.h - what the files of table/append share: the caches of an opened table. */
#ifndef SL_TABLE_APPEND_PRIV_H
#define SL_TABLE_APPEND_PRIV_H

#include <pthread.h>

#include "base/sys.h"
#include "table/append/append.h"

enum {
    SL_META_BYTES_MAX = 1 << 30,          /* of a manifest, a list, an index file */
    SL_SCHEMA_BYTES_MAX = 64 << 20,       /* of a schema or snapshot file */
    SL_MANIFEST_CACHE_BYTES = 64 << 20,   /* decoded manifests kept by an opened table */
};

struct sl_manifest;

struct sl_cached_manifest {
    char *name;                           /* owned */
    struct sl_manifest *manifest;         /* owned */
    size_t refs;
    uint64_t used_at;
};

struct sl_append_cache {
    pthread_mutex_t lock;
    SL_VEC(struct sl_schema *) schemas;   /* owned */
    SL_VEC(struct sl_cached_manifest) manifests;
    size_t manifest_bytes;
    uint64_t clock;
    atomic_bool shape_checked;            /* a written file looked as it should */
};

void sl_manifest_cache_release(struct sl_append_cache *c);

/* Read a file of the table; errors as of the store. */
int sl_append_get(struct sl_append *t, struct sl_buf *path, size_t max, struct sl_buf *out, sl_err *err) SL_WUR;

#endif
