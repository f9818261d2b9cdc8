/* verify_meta.c - what a snapshot or tag names: lists, manifests, index files, statistics; and its totals. */
#include "table/append/verify_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sys.h"

/* A file of FOLDER, whole in v->bytes. *OK false: it is missing or has another size, which has been reported. SIZE -1 = not known. */
static int read_file(struct sl_verify *v, const char *folder, sl_str name, int64_t size, enum sl_verify_kind missing,
                     enum sl_verify_kind damaged, bool *ok, sl_err *err)
{
    sl_err why = SL_ERR_INIT;
    int rc;

    *ok = false;
    SL_TRY(sl_verify__name(v, name, err));
    sl_buf_reset(&v->path);
    sl_buf_printf(&v->path, "%s/" SL_STRF, folder, SL_STRV(name));
    SL_TRY(sl_buf_ok(&v->path, err));
    rc = sl_store_get(v->t->store, sl_buf_view(&v->path), SL_MANIFEST_BYTES_MAX, &v->bytes, &why);
    if (rc == SL_ENOTFOUND)
        return sl_verify__found(v, missing, v->path.p, NULL, "the file is missing");
    if (rc != SL_OK && !sl_verify__is_finding(rc)) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc != SL_OK)
        return sl_verify__found(v, damaged, v->path.p, NULL, "%s", why.text);
    *ok = true;
    if (size >= 0 && (uint64_t)size != v->bytes.n) {
        *ok = false;
        return sl_verify__found(v, SL_VERIFY_SIZE_METADATA, v->path.p, NULL, "it has %zu bytes, where %lld are named",
                                v->bytes.n, (long long)size);
    }
    return SL_OK;
}

/* Decoding failed with WHY: a finding, or the end of the call. */
static int undecodable(struct sl_verify *v, enum sl_verify_kind kind, int rc, const sl_err *why, sl_err *err)
{
    if (sl_verify__is_finding(rc))
        return sl_verify__found(v, kind, v->path.p, NULL, "%s", why->text);
    if (err)
        *err = *why;
    return rc;
}

/* ---- manifests ---- */

struct decoding {
    struct sl_verify *v;
    struct vmanifest *m;
    const struct sl_manifest_meta *meta;
    uint64_t outside;          /* entries that the partition bounds leave out */
    char example[300];
};

static int find_file(struct sl_verify *v, const struct sl_manifest_entry *e, struct vfile **out, sl_err *err)
{
    sl_buf_reset(&v->identity);
    sl_entry_identity(&v->identity, e);
    SL_TRY(sl_buf_ok(&v->identity, err));
    void **slot = sl_map_at(v->files, sl_buf_view(&v->identity));
    if (!slot)
        return sl_err_nomem(err);
    struct vfile *f = *slot;
    bool is_add = e->kind == SL_FILE_ADD;
    if (!f) {
        f = sl_arena_alloc(&v->arena, sizeof *f);
        struct vfile **all = f ? sl_vec_push(&v->all) : NULL;
        if (!all)
            return sl_err_nomem(err);
        *all = f;
        *slot = f;
    }
    if (!f->path || (is_add && !f->has_add)) {
        struct sl_buf path = SL_BUF_INIT;
        int rc = sl_append_file_path(v->t, e, &path, &f->external, err);

        if (rc == SL_OK)
            rc = sl_buf_ok(&path, err);
        f->path = rc == SL_OK ? sl_arena_strdup(&v->arena, sl_buf_view(&path)) : NULL;
        sl_buf_release(&path);
        SL_TRY(rc);
        if (!f->path || !sl_entry_copy(&v->arena, e, &f->entry))
            return sl_err_nomem(err);
        f->has_add = is_add;
    }
    *out = f;
    return SL_OK;
}

/* A reader prunes by these bounds: they must hold every entry. */
static int check_bounds(struct decoding *d, const struct sl_manifest_entry *e, sl_err *err)
{
    struct sl_append *t = d->v->t;
    struct sl_value values[64];

    if (t->npartition == 0 || t->npartition > 64)
        return SL_OK;
    SL_TRY(sl_append_partition(t, e->partition, values, err));
    for (size_t i = 0; i < t->npartition; i++) {
        struct sl_col_stats c = {0};
        bool outside = false;

        if (!sl_stats_column(&d->meta->partition_stats, t->partition_types, t->npartition, i, &c))
            continue;
        if (values[i].null)
            outside = c.has_nulls && c.null_count == 0;
        else if (c.has_bounds)
            outside = sl_value_cmp(&values[i], &c.min) < 0 || sl_value_cmp(&values[i], &c.max) > 0;
        if (outside && d->outside++ == 0)
            snprintf(d->example, sizeof d->example, SL_STRF, SL_STRV(e->file.file_name));
    }
    return SL_OK;
}

static int note_entry(void *user, const struct sl_manifest_entry *e, sl_err *err)
{
    struct decoding *d = user;
    bool is_delete = e->kind == SL_FILE_DELETE;
    struct vfile *f = NULL;

    SL_TRY(find_file(d->v, e, &f, err));
    SL_TRY(sl_verify__name(d->v, e->file.file_name, err));
    for (size_t i = 0; i < e->file.nextra_files; i++)
        SL_TRY(sl_verify__name(d->v, e->file.extra_files[i], err));
    struct ventry *slot = sl_vec_push(&d->m->entries);
    if (!slot)
        return sl_err_nomem(err);
    slot->file = f;
    slot->is_delete = is_delete;
    *(is_delete ? &d->m->deletes : &d->m->adds) += 1;
    *(is_delete ? &d->m->rows_deleted : &d->m->rows_added) += e->file.row_count;
    return check_bounds(d, e, err);
}

static int decode_manifest(struct sl_verify *v, const struct sl_manifest_meta *meta, struct vmanifest *m, sl_err *err)
{
    struct decoding d = {.v = v, .m = m, .meta = meta};
    sl_err why = SL_ERR_INIT;
    bool ok;

    v->report->manifests++;
    SL_TRY(read_file(v, "manifest", meta->file_name, meta->file_size, SL_VERIFY_NO_MANIFEST, SL_VERIFY_BAD_MANIFEST, &ok, err));
    m->size = ok ? (int64_t)v->bytes.n : -1;
    if (!ok)
        return SL_OK;
    int rc = sl_manifest_decode(sl_buf_view(&v->bytes), true, note_entry, &d, &why);
    if (rc != SL_OK)
        return undecodable(v, SL_VERIFY_BAD_MANIFEST, rc, &why, err);
    m->ok = true;
    if (d.outside)
        return sl_verify__found(v, SL_VERIFY_PARTITION_BOUNDS, v->path.p, NULL, "its partition bounds leave out %llu of its entries, such as %s",
                                (unsigned long long)d.outside, d.example);
    return SL_OK;
}

static int check_manifest(struct sl_verify *v, const struct sl_manifest_meta *meta, struct vmanifest **out, sl_err *err)
{
    void **slot = sl_map_at(v->manifests, meta->file_name);
    char path[300];

    if (!slot)
        return sl_err_nomem(err);
    struct vmanifest *m = *slot;
    if (!m) {
        m = sl_arena_alloc(&v->arena, sizeof *m);
        if (!m)
            return sl_err_nomem(err);
        *slot = m;
        SL_TRY(decode_manifest(v, meta, m, err));
        SL_TRY(sl_cancel_check(err));
    } else if (m->size >= 0 && m->size != meta->file_size) {
        snprintf(path, sizeof path, "manifest/" SL_STRF, SL_STRV(meta->file_name));
        SL_TRY(sl_verify__found(v, SL_VERIFY_SIZE_METADATA, path, NULL, "it has %lld bytes, where %lld are named",
                                (long long)m->size, (long long)meta->file_size));
    }
    if (m->ok && (m->adds != meta->num_added_files || m->deletes != meta->num_deleted_files)) {
        snprintf(path, sizeof path, "manifest/" SL_STRF, SL_STRV(meta->file_name));
        SL_TRY(sl_verify__found(v, SL_VERIFY_COUNTS, path, NULL,
                                "it adds %lld files and deletes %lld, where its list says %lld and %lld", (long long)m->adds,
                                (long long)m->deletes, (long long)meta->num_added_files,
                                (long long)meta->num_deleted_files));
    }
    *out = m;
    return SL_OK;
}

/* ---- one root ---- */

struct rootcheck {
    struct sl_verify *v;
    const struct sl_root *root;
    struct sl_append *table;     /* of its branch; NULL if that cannot be opened */
    SL_VEC(struct vmanifest *) manifests;
    bool whole;                  /* everything could be read, so totals can be compared */
    int64_t delta_rows;
};

static int check_list(struct rootcheck *r, const char *name, int64_t size, bool delta, sl_err *err)
{
    struct sl_verify *v = r->v;
    struct sl_manifest_list list = {0};
    sl_err why = SL_ERR_INIT;
    bool ok;
    int rc;

    SL_GO(read_file(v, "manifest", sl_str_c(name), size, SL_VERIFY_NO_LIST, SL_VERIFY_BAD_LIST, &ok, err));
    rc = ok ? sl_manifest_list_decode(sl_buf_view(&v->bytes), &list, &why) : SL_OK;
    if (!ok || rc != SL_OK) {
        r->whole = false;
        rc = ok ? undecodable(v, SL_VERIFY_BAD_LIST, rc, &why, err) : SL_OK;
        goto done;
    }
    for (size_t i = 0; i < list.n; i++) {
        struct vmanifest *m = NULL;

        SL_GO(check_manifest(v, &list.v[i], &m, err));
        r->whole = r->whole && m->ok;
        struct vmanifest **slot = sl_vec_push(&r->manifests);
        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = m;
        if (delta)
            r->delta_rows += m->rows_added - m->rows_deleted;
    }
done:
    sl_manifest_list_release(&list);
    return rc;
}

static int add_file(struct rootcheck *r, struct vfile *f, int64_t *rows)
{
    struct sl_verify *v = r->v;

    if (f->added == v->root_number)
        return sl_verify__found(v, SL_VERIFY_ADDED_TWICE, f->path, NULL, "the same file is added twice");
    f->added = v->root_number;
    if (f->deleted == v->root_number)
        return SL_OK;
    *rows += f->entry.file.row_count;
    if (!f->live_in) {
        f->live_in = r->root;
        f->table = r->table;
    }
    return SL_OK;
}

/* A DELETE must find its ADD by identity. If the same file name is live by another identity, the delete has missed it. */
static int check_delete(struct rootcheck *r, const struct vfile *f, const struct sl_map *live_names, sl_err *err)
{
    (void)err;
    if (f->added == r->v->root_number)
        return SL_OK;
    if (sl_map_get(live_names, f->entry.file.file_name))
        return sl_verify__found(r->v, SL_VERIFY_DELETE_MISMATCH, f->path, NULL,
                                "the entry that deletes the file names it otherwise than the entry that adds it");
    return sl_verify__found(r->v, SL_VERIFY_DELETE_ALONE, f->path, NULL, "a file is deleted that was not added");
}

static int check_live(struct rootcheck *r, sl_err *err)
{
    struct sl_verify *v = r->v;
    struct sl_map *live_names = NULL;
    const struct sl_snapshot *s = &r->root->snapshot;
    bool lonely = false;
    int64_t rows = 0;
    int rc = SL_OK;

    for (size_t i = 0; i < r->manifests.n; i++)
        for (size_t j = 0; j < r->manifests.v[i]->entries.n; j++)
            if (r->manifests.v[i]->entries.v[j].is_delete)
                r->manifests.v[i]->entries.v[j].file->deleted = v->root_number;
    for (size_t i = 0; i < r->manifests.n; i++)
        for (size_t j = 0; j < r->manifests.v[i]->entries.n; j++)
            if (!r->manifests.v[i]->entries.v[j].is_delete)
                SL_GO(add_file(r, r->manifests.v[i]->entries.v[j].file, &rows));
    if (!r->whole)
        goto done;
    for (size_t i = 0; i < r->manifests.n; i++)
        for (size_t j = 0; j < r->manifests.v[i]->entries.n; j++)
            lonely = lonely || (r->manifests.v[i]->entries.v[j].is_delete &&
                                r->manifests.v[i]->entries.v[j].file->added != v->root_number);
    if (lonely) {
        live_names = sl_map_new();
        if (!live_names)
            SL_GOTO_NOMEM(err);
        for (size_t i = 0; i < v->all.n; i++) {
            struct vfile *f = v->all.v[i];
            void **slot;

            if (f->added != v->root_number || f->deleted == v->root_number)
                continue;
            slot = sl_map_at(live_names, f->entry.file.file_name);
            if (!slot)
                SL_GOTO_NOMEM(err);
            *slot = f;
        }
        for (size_t i = 0; i < r->manifests.n; i++)
            for (size_t j = 0; j < r->manifests.v[i]->entries.n; j++)
                if (r->manifests.v[i]->entries.v[j].is_delete)
                    SL_GO(check_delete(r, r->manifests.v[i]->entries.v[j].file, live_names, err));
    }
    if (rows != s->total_record_count)
        SL_GO(sl_verify__found(v, SL_VERIFY_TOTAL, r->root->path, NULL, "totalRecordCount is %lld, but its live files hold %lld rows",
                               (long long)s->total_record_count, (long long)rows));
    if (r->delta_rows != s->delta_record_count)
        SL_GO(sl_verify__found(v, SL_VERIFY_DELTA, r->root->path, NULL,
                               "deltaRecordCount is %lld, but the entries of its delta sum up to %lld rows",
                               (long long)s->delta_record_count, (long long)r->delta_rows));
done:
    sl_map_free(live_names, NULL);
    return rc;
}

/* ---- deletion vectors ---- */

static int check_vectors(struct rootcheck *r, const struct sl_index_entry *e, sl_err *err)
{
    struct sl_verify *v = r->v;

    for (size_t i = 0; i < e->ndvs; i++) {
        struct sl_dv *dv = NULL;
        sl_err why = SL_ERR_INIT;
        int rc = sl_dv_decode(sl_buf_view(&v->bytes), &e->dvs[i], &dv, &why);

        if (rc == SL_OK && e->dvs[i].cardinality >= 0 && (uint64_t)e->dvs[i].cardinality != sl_dv_cardinality(dv))
            rc = sl_err_set(&why, SL_ECORRUPT, "it deletes %llu rows, where %lld are named",
                            (unsigned long long)sl_dv_cardinality(dv), (long long)e->dvs[i].cardinality);
        sl_dv_free(dv);
        if (rc == SL_OK)
            continue;
        if (!sl_verify__is_finding(rc))
            return undecodable(v, SL_VERIFY_BAD_INDEX, rc, &why, err);
        SL_TRY(sl_verify__found(v, SL_VERIFY_BAD_INDEX, v->path.p, NULL, "the deletion vector of " SL_STRF ": %s",
                                SL_STRV(e->dvs[i].data_file), why.text));
    }
    return SL_OK;
}

static int index_path(struct sl_verify *v, const struct sl_index_entry *e, struct sl_buf *out, sl_err *err)
{
    const struct sl_manifest_entry as_file = {.partition = e->partition, .bucket = e->bucket,
                                              .file = {.file_name = e->file_name, .external_path = e->external_path}};
    bool in_data = false, external;

    sl_buf_reset(out);
    SL_TRY(sl_schema_option_bool(v->t->schema, "index-file-in-data-file-dir", false, &in_data, err));
    if (in_data || e->external_path.p)
        return sl_append_file_path(v->t, &as_file, out, &external, err);
    sl_buf_printf(out, "index/" SL_STRF, SL_STRV(e->file_name));
    return sl_buf_ok(out, err);
}

static int check_index_file(struct rootcheck *r, const struct sl_index_entry *e, sl_err *err)
{
    struct sl_verify *v = r->v;
    sl_err why = SL_ERR_INIT;

    SL_TRY(sl_verify__name(v, e->file_name, err));
    void **seen = sl_map_at(v->seen, e->file_name);
    if (!seen)
        return sl_err_nomem(err);
    if (*seen || e->external_path.p)
        return SL_OK;
    *seen = v;
    SL_TRY(index_path(v, e, &v->path, err));
    int rc = sl_store_get(v->t->store, sl_buf_view(&v->path), SL_MANIFEST_BYTES_MAX, &v->bytes, &why);
    if (rc == SL_ENOTFOUND)
        return sl_verify__found(v, SL_VERIFY_NO_INDEX, v->path.p, NULL, "the index file is missing");
    if (rc != SL_OK)
        return undecodable(v, SL_VERIFY_BAD_INDEX, rc, &why, err);
    if (v->bytes.n != (uint64_t)e->file_size)
        return sl_verify__found(v, SL_VERIFY_BAD_INDEX, v->path.p, NULL, "it has %zu bytes, where %lld are named", v->bytes.n,
                                (long long)e->file_size);
    return check_vectors(r, e, err);
}

/* A vector of a file that is not live does no harm; one vector too few does, but nothing tells of it. */
static int check_dv_files(struct rootcheck *r, const struct sl_index_manifest *index, sl_err *err)
{
    struct sl_verify *v = r->v;
    struct sl_map *live = sl_map_new();
    int rc = SL_OK;

    if (!live)
        return sl_err_nomem(err);
    for (size_t i = 0; i < v->all.n; i++) {
        if (v->all.v[i]->added != v->root_number || v->all.v[i]->deleted == v->root_number)
            continue;
        void **slot = sl_map_at(live, v->all.v[i]->entry.file.file_name);
        if (!slot)
            SL_GOTO_NOMEM(err);
        *slot = v->all.v[i];
    }
    for (size_t i = 0; i < index->n; i++)
        for (size_t j = 0; j < index->v[i].ndvs; j++)
            if (!sl_map_get(live, index->v[i].dvs[j].data_file))
                SL_GO(sl_verify__found(v, SL_VERIFY_DV_ALONE, r->root->snapshot.index_manifest, NULL,
                                       "a deletion vector is of " SL_STRF ", which is not live",
                                       SL_STRV(index->v[i].dvs[j].data_file)));
done:
    sl_map_free(live, NULL);
    return rc;
}

static int check_index(struct rootcheck *r, sl_err *err)
{
    struct sl_verify *v = r->v;
    struct sl_index_manifest index = {0};
    sl_err why = SL_ERR_INIT;
    bool ok;
    int rc;

    SL_GO(read_file(v, "manifest", sl_str_c(r->root->snapshot.index_manifest), -1, SL_VERIFY_NO_INDEX, SL_VERIFY_BAD_INDEX, &ok, err));
    if (!ok)
        goto done;
    rc = sl_index_manifest_decode(sl_buf_view(&v->bytes), &index, &why);
    if (rc != SL_OK) {
        rc = undecodable(v, SL_VERIFY_BAD_INDEX, rc, &why, err);
        goto done;
    }
    for (size_t i = 0; i < index.n; i++)
        SL_GO(check_index_file(r, &index.v[i], err));
    if (r->whole)
        SL_GO(check_dv_files(r, &index, err));
done:
    sl_index_manifest_release(&index);
    return rc;
}

static int check_statistics(struct rootcheck *r, sl_err *err)
{
    struct sl_verify *v = r->v;
    json_t *json = NULL;
    sl_err why = SL_ERR_INIT;
    bool ok;

    SL_TRY(read_file(v, "statistics", sl_str_c(r->root->snapshot.statistics), -1, SL_VERIFY_NO_STATISTICS, SL_VERIFY_NO_STATISTICS, &ok, err));
    int rc = ok ? sl_json_parse(sl_buf_view(&v->bytes), &json, &why) : SL_OK;
    json_decref(json);
    return rc == SL_OK ? SL_OK : undecodable(v, SL_VERIFY_NO_STATISTICS, rc, &why, err);
}

static struct sl_append *table_of(struct sl_verify *v, const char *branch)
{
    for (size_t i = 0; i < v->branches.n; i++)
        if (strcmp(v->branches.v[i], branch) == 0)
            return v->tables.v[i + 1];
    return v->tables.v[0];
}

static int check_root(struct rootcheck *r, sl_err *err)
{
    const struct sl_snapshot *s = &r->root->snapshot;
    const struct sl_schema *schema;
    sl_err why = SL_ERR_INIT;

    int rc = r->table ? sl_append_schema(r->table, s->schema_id, &schema, &why) : SL_OK;
    if (rc != SL_OK && !sl_verify__is_finding(rc)) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc != SL_OK)
        SL_TRY(sl_verify__found(r->v, SL_VERIFY_NO_SCHEMA, r->root->path, NULL, "schema %lld: %s", (long long)s->schema_id, why.text));
    SL_TRY(check_list(r, s->base_manifest_list, s->base_manifest_list_size, false, err));
    SL_TRY(check_list(r, s->delta_manifest_list, s->delta_manifest_list_size, true, err));
    SL_TRY(check_live(r, err));
    if (s->index_manifest)
        SL_TRY(check_index(r, err));
    return s->statistics ? check_statistics(r, err) : SL_OK;
}

static int check_roots(struct sl_verify *v, bool left_over, sl_err *err)
{
    for (size_t i = 0; i < v->roots.n; i++) {
        struct rootcheck r = {.v = v, .root = &v->roots.v[i], .whole = true};

        if (sl_verify__is_left_over(v, r.root) != left_over)
            continue;
        sl_verify__progress(v, "checking snapshots", i, v->roots.n);
        *(r.root->is_tag ? &v->report->tags : &v->report->snapshots) += 1;
        r.table = table_of(v, r.root->branch);
        v->root_number++;
        v->root = r.root;
        int rc = check_root(&r, err);
        v->root = NULL;
        sl_free(r.manifests.v);
        SL_TRY(rc);
    }
    return SL_OK;
}

/* Each file is checked for the first root that names it. So what an unfinished expiry left over comes last: of that, missing
 * files are no damage, and a file that others name as well must not pass as one of these. */
int sl_verify__roots(struct sl_verify *v, sl_err *err)
{
    SL_TRY(check_roots(v, false, err));
    return check_roots(v, true, err);
}
