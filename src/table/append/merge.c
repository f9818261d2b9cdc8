/*
 * merge.c - merging the manifests of a base list, so that a commit costs by what it adds.
 *
 * Manifests are merged in tiers by their number of entries, as log-structured trees do: 30 small ones of a tier at the end of the list
 * become one of the next. So each entry is rewritten a few times in the life of a table, not once in 30 commits. Manifests of a thousand
 * entries and more are left alone: a longer list costs less than a commit that has to wait for them. A full merge, which
 * also removes what deleted files leave behind, runs when that has grown to a fixed part of the whole.
 */
#include <string.h>

#include "table/append/append_priv.h"
#include "table/append/manifests.h"

enum {
    TIER_FACTOR = 30,
    MERGE_ENTRIES_MAX = 30000, /* more at once would keep the commit waiting */
    FULL_DELETES_MIN = 1000, /* below, a full merge is not worth it */
    FULL_DELETES_PART = 4,   /* full merge when one of so many entries is a DELETE */
};

static int64_t entry_count(const struct sl_manifest_meta *m)
{
    return m->num_added_files + m->num_deleted_files;
}

/* First manifest of the run at the end of LIST that is due to be merged; list->n if none is. */
static size_t due_run(const struct sl_manifest_list *list, size_t min_count, uint64_t target)
{
    for (int64_t limit = TIER_FACTOR; limit <= TIER_FACTOR * TIER_FACTOR; limit *= TIER_FACTOR) {
        size_t first = list->n;
        int64_t entries = 0;

        while (first > 0 && entry_count(&list->v[first - 1]) < limit && (uint64_t)list->v[first - 1].file_size < target &&
               entries < MERGE_ENTRIES_MAX)
            entries += entry_count(&list->v[--first]);
        if (list->n - first >= min_count)
            return first;
    }
    return list->n;
}

static bool full_is_due(const struct sl_manifest_list *list, uint64_t threshold)
{
    int64_t added = 0, deleted = 0;
    uint64_t bytes = 0;

    for (size_t i = 0; i < list->n; i++) {
        added += list->v[i].num_added_files;
        deleted += list->v[i].num_deleted_files;
        if (list->v[i].num_deleted_files)
            bytes += (uint64_t)list->v[i].file_size;
    }
    return bytes >= threshold || (deleted >= FULL_DELETES_MIN && deleted >= added / FULL_DELETES_PART);
}

struct merging {
    struct sl_append *t;
    const struct sl_manifest **manifests; /* referenced */
    size_t nmanifests;
    struct sl_map *at;                    /* identity -> index in entries, plus one */
    SL_VEC(const struct sl_manifest_entry *) entries; /* NULL: cancelled */
    struct sl_buf id;
};

static void merging_release(struct merging *m)
{
    for (size_t i = 0; i < m->nmanifests && m->manifests; i++)
        sl_manifest_unref(m->t, m->manifests[i]);
    sl_free(m->manifests);
    sl_map_free(m->at, NULL);
    sl_free(m->entries.v);
    sl_buf_release(&m->id);
}

/* An ADD and a later DELETE of one file cancel; a DELETE without its ADD stays. */
static int merge_entry(struct merging *m, const struct sl_manifest_entry *e, sl_err *err)
{
    const struct sl_manifest_entry **to;
    void **slot;

    sl_buf_reset(&m->id);
    sl_entry_identity(&m->id, e);
    SL_TRY(sl_buf_ok(&m->id, err));
    slot = sl_map_at(m->at, sl_buf_view(&m->id));
    if (!slot)
        return sl_err_nomem(err);
    if (e->kind == SL_FILE_DELETE && *slot) {
        m->entries.v[(uintptr_t)*slot - 1] = NULL;
        *slot = NULL;
        return SL_OK;
    }
    if (e->kind == SL_FILE_ADD && *slot)
        return sl_err_set(err, SL_ECORRUPT, "the manifests of the table %s add the file \"" SL_STRF "\" twice", m->t->label,
                          SL_STRV(e->file.file_name));
    to = sl_vec_push(&m->entries);
    if (!to)
        return sl_err_nomem(err);
    *to = e;
    if (e->kind == SL_FILE_ADD)
        *slot = (void *)(uintptr_t)m->entries.n;
    return SL_OK;
}

static int merge_entries(struct merging *m, const struct sl_manifest_meta *metas, size_t n, bool whole, sl_err *err)
{
    m->manifests = sl_calloc(n + 1, sizeof *m->manifests);
    m->at = sl_map_new();
    if (!m->manifests || !m->at)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        SL_TRY(sl_manifest_load(m->t, &metas[i], &m->manifests[i], err));
        m->nmanifests++;
        for (size_t j = 0; j < m->manifests[i]->n; j++)
            SL_TRY(merge_entry(m, &m->manifests[i]->v[j], err));
    }
    size_t kept = 0;
    for (size_t i = 0; i < m->entries.n; i++)
        if (m->entries.v[i] && !(whole && m->entries.v[i]->kind == SL_FILE_DELETE))
            m->entries.v[kept++] = m->entries.v[i];
    m->entries.n = kept;
    return SL_OK;
}

/* Replace list[first ..] by their merger. In a merge of the whole list a DELETE whose file is nowhere means nothing any more. */
static int merge_from(struct sl_append *t, struct sl_manifest_list *list, size_t first, struct sl_names *written, sl_err *err)
{
    struct merging m = {.t = t, .id = SL_BUF_INIT};
    int rc;

    SL_GO(merge_entries(&m, &list->v[first], list->n - first, first == 0, err));
    list->n = first;
    SL_GO(sl_manifests_write(t, m.entries.v, m.entries.n, list, err));
    for (size_t i = first; i < list->n; i++)
        SL_GO(sl_names_add(written, list->v[i].file_name, err));
done:
    merging_release(&m);
    return rc;
}

int sl_manifests_merge(struct sl_append *t, struct sl_manifest_list *list, bool force, struct sl_names *written, sl_err *err)
{
    uint64_t target, threshold;
    int64_t min_count;

    SL_TRY(sl_schema_option_bytes(t->schema, "manifest.target-file-size", 8 << 20, &target, err));
    SL_TRY(sl_schema_option_bytes(t->schema, "manifest.full-compaction-threshold-size", 16 << 20, &threshold, err));
    SL_TRY(sl_schema_option_i64(t->schema, "manifest.merge-min-count", 30, &min_count, err));
    if (list->n == 0)
        return SL_OK;
    if (force || full_is_due(list, threshold))
        return merge_from(t, list, 0, written, err);
    size_t first = due_run(list, min_count < 2 ? 2 : (size_t)min_count, target);
    return first < list->n ? merge_from(t, list, first, written, err) : SL_OK;
}
