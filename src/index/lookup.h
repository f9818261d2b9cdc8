/*
 * lookup.h - which of many keys stand in which of many sources: base files and blocks of logs.
 *
 * One way for all of them. First the ranges of all sources are asked, then the filters of those that are left, and only then sources are
 * opened for their exact keys, the cheap ones first. A source of which nothing is known (a block of another writer) goes straight to the
 * keys. Nothing here opens files: the caller gives what it knows of each source, and hands out keys when asked. Any thread.
 */
#ifndef SL_INDEX_LOOKUP_H
#define SL_INDEX_LOOKUP_H

#include "format/hudi_index.h"

struct sl_lookup_source {
    bool indexed;                 /* INDEX says something that may be trusted; else the keys decide */
    struct sl_hudi_index index;
    uint64_t cost;                /* about the bytes to read for its keys: cheap sources are opened first */
};

/* A key of source I; others than those wanted are passed over. */
typedef int sl_lookup_take_fn(void *to, sl_str key, sl_err *err);

struct sl_lookup {
    const sl_str *keys;           /* distinct, sorted bytewise, none empty */
    size_t nkeys;
    const struct sl_lookup_source *sources;
    size_t nsources;
    bool all;                     /* every source that holds a key; false: one is enough, which is what tagging needs (L4) */
    /* Call TAKE(TO, key) for each key of source I that is one of WANTED (sorted); it may be called for others too. */
    int (*read)(void *user, size_t i, const sl_str *wanted, size_t n, sl_lookup_take_fn *take, void *to, sl_err *err);
    /* Key K stands in source I. At most once for a pair. */
    int (*hit)(void *user, size_t k, size_t i, sl_err *err);
    void *user;                   /* of both */
};

/* Added to, so that the figures of several look-ups sum up. */
struct sl_lookup_stats {
    uint64_t sources;             /* asked */
    uint64_t by_range, by_filter; /* of them: not opened since no key is within the range; ... passes the filter */
    uint64_t known;               /* not opened since all its candidates were found elsewhere before */
    uint64_t opened;
    uint64_t unindexed;           /* of those opened: nothing was known of them */
    uint64_t tested;              /* pairs of key and filter */
    uint64_t passed;              /* of them */
    uint64_t false_positives;     /* pairs that passed, of sources that were opened, without the key in there */
};

int sl_lookup_run(const struct sl_lookup *l, struct sl_lookup_stats *stats, sl_err *err) SL_WUR;

#endif
