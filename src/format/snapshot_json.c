/* snapshot_json.c - snapshot-N and tag-NAME. */
#include <string.h>

#include "base/sys.h"
#include "format/format_priv.h"
#include "format/paimon.h"

static int text(struct sl_arena *a, const json_t *doc, const char *name, bool required, const char **out, sl_err *err)
{
    sl_str s = {NULL, 0};

    SL_TRY(required ? sl_json_str_req(doc, name, &s, err) : sl_json_str_opt(doc, name, &s, err));
    if (!s.p)
        return SL_OK;
    if (memchr(s.p, 0, s.n))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" has a zero byte in it", name);
    *out = sl_arena_strdup(a, s);
    return *out ? SL_OK : sl_err_nomem(err);
}

/* Names of files go into paths: nothing but a name is taken. */
static int file_name(struct sl_arena *a, const json_t *doc, const char *name, bool required, const char **out, sl_err *err)
{
    SL_TRY(text(a, doc, name, required, out, err));
    if (*out && !sl_format_is_name(sl_str_c(*out)))
        return sl_err_set(err, SL_ECORRUPT, "member \"%s\" must be the name of a file, found \"%.100s\"", name, *out);
    return SL_OK;
}

static int kind(const struct sl_snapshot *s, sl_err *err)
{
    static const char *const kinds[] = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(s->commit_kind, kinds[i]) == 0)
            return SL_OK;
    return sl_err_set(err, SL_EUNSUPPORTED, "the commit kind \"%.60s\" is not known", s->commit_kind);
}

static int tag_members(const json_t *doc, struct sl_snapshot *s, sl_err *err)
{
    json_t *when = sl_json_member(doc, "tagCreateTime"), *kept = sl_json_member(doc, "tagTimeRetained");
    int64_t part[7] = {0};
    size_t n = json_array_size(when);

    if (when) {
        for (size_t i = 0; i < n && i < 7; i++) {
            const json_t *p = json_array_get(when, i);

            part[i] = json_is_integer(p) ? json_integer_value(p) : -1;
        }
        if (n < 3 || n > 7 || part[0] < 0 || part[0] > 9999 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 ||
            part[3] < 0 || part[3] > 23 || part[4] < 0 || part[4] > 59 || part[5] < 0 || part[5] > 59 || part[6] < 0 ||
            part[6] > 999999999)
            return sl_err_set(err, SL_ECORRUPT, "member \"tagCreateTime\" is no time");
        s->tag_create_millis = sl_civil_to_days(part[0], (int)part[1], (int)part[2]) * 86400000 +
                               ((part[3] * 60 + part[4]) * 60 + part[5]) * 1000 + part[6] / 1000000;
    }
    if (kept) {
        s->tag_retained_seconds = json_number_value(kept);
        if (!json_is_number(kept) || !(s->tag_retained_seconds >= 0))
            return sl_err_set(err, SL_ECORRUPT, "member \"tagTimeRetained\" is no number of seconds");
    }
    return SL_OK;
}

static int decode(const json_t *doc, struct sl_snapshot *s, sl_err *err)
{
    struct sl_arena *a = &s->arena;
    int64_t version = 3;

    SL_TRY(sl_json_i64_req(doc, "id", &s->id, err));
    SL_TRY(sl_json_i64_opt(doc, "version", &version, err));
    if (version < 1 || version > 3)
        return sl_err_set(err, SL_EUNSUPPORTED, "snapshot version %lld is not supported (1 to 3 are)", (long long)version);
    SL_TRY(sl_json_i64_req(doc, "schemaId", &s->schema_id, err));
    SL_TRY(text(a, doc, "uuid", false, &s->uuid, err));
    SL_TRY(file_name(a, doc, "baseManifestList", true, &s->base_manifest_list, err));
    SL_TRY(file_name(a, doc, "deltaManifestList", true, &s->delta_manifest_list, err));
    SL_TRY(sl_json_i64_opt(doc, "baseManifestListSize", &s->base_manifest_list_size, err));
    SL_TRY(sl_json_i64_opt(doc, "deltaManifestListSize", &s->delta_manifest_list_size, err));
    SL_TRY(file_name(a, doc, "changelogManifestList", false, &s->changelog_manifest_list, err));
    SL_TRY(file_name(a, doc, "indexManifest", false, &s->index_manifest, err));
    SL_TRY(text(a, doc, "commitUser", true, &s->commit_user, err));
    SL_TRY(sl_json_i64_req(doc, "commitIdentifier", &s->commit_identifier, err));
    SL_TRY(text(a, doc, "commitKind", true, &s->commit_kind, err));
    SL_TRY(kind(s, err));
    SL_TRY(sl_json_i64_req(doc, "timeMillis", &s->time_millis, err));
    SL_TRY(sl_json_i64_req(doc, "totalRecordCount", &s->total_record_count, err));
    SL_TRY(sl_json_i64_req(doc, "deltaRecordCount", &s->delta_record_count, err));
    SL_TRY(sl_json_i64_opt(doc, "watermark", &s->watermark, err));
    SL_TRY(file_name(a, doc, "statistics", false, &s->statistics, err));
    SL_TRY(sl_json_i64_opt(doc, "nextRowId", &s->next_row_id, err));
    SL_TRY(text(a, doc, "operation", false, &s->operation, err));
    SL_TRY(sl_json_options(a, doc, "properties", &s->properties, &s->nproperties, err));
    if (s->id < 1 || s->schema_id < 0 || s->total_record_count < 0)
        return sl_err_set(err, SL_ECORRUPT, "an id or a count of the snapshot is negative");
    return tag_members(doc, s, err);
}

int sl_snapshot_decode(sl_str json, struct sl_snapshot *out, sl_err *err)
{
    json_t *doc = NULL;
    int rc;

    *out = (struct sl_snapshot){.base_manifest_list_size = -1, .delta_manifest_list_size = -1, .watermark = INT64_MIN,
                                .next_row_id = -1, .tag_create_millis = -1, .tag_retained_seconds = -1};
    SL_GO(sl_json_parse(json, &doc, err));
    SL_GO(decode(doc, out, err));
done:
    json_decref(doc);
    if (rc != SL_OK)
        sl_snapshot_release(out);
    return rc;
}

void sl_snapshot_release(struct sl_snapshot *s)
{
    sl_arena_release(&s->arena);
    *s = (struct sl_snapshot){0};
}

const char *sl_snapshot_property(const struct sl_snapshot *s, const char *key)
{
    for (size_t i = 0; i < s->nproperties; i++)
        if (strcmp(s->properties[i].key, key) == 0)
            return s->properties[i].value;
    return NULL;
}

static int put_text(json_t *doc, const char *name, const char *v)
{
    return v ? json_object_set_new(doc, name, json_string(v)) : 0;
}

static int put_number(json_t *doc, const char *name, int64_t v, int64_t absent)
{
    return v != absent ? json_object_set_new(doc, name, json_integer(v)) : 0;
}

static int put_tag(json_t *doc, const struct sl_snapshot *s)
{
    int64_t ms = s->tag_create_millis, days, y;
    int m, d, bad = 0;

    if (ms >= 0) {
        days = ms / 86400000;
        ms %= 86400000;
        sl_days_to_civil(days, &y, &m, &d);
        bad |= json_object_set_new(doc, "tagCreateTime",
                                   json_pack("[I,i,i,i,i,i,i]", (json_int_t)y, m, d, (int)(ms / 3600000), (int)(ms / 60000 % 60),
                                             (int)(ms / 1000 % 60), (int)(ms % 1000) * 1000000));
    }
    if (s->tag_retained_seconds >= 0)
        bad |= json_object_set_new(doc, "tagTimeRetained", json_real(s->tag_retained_seconds));
    return bad;
}

int sl_snapshot_encode(const struct sl_snapshot *s, struct sl_buf *out, sl_err *err)
{
    json_t *doc = json_object();
    int bad = json_object_set_new(doc, "version", json_integer(3));

    bad |= put_text(doc, "uuid", s->uuid);
    bad |= json_object_set_new(doc, "id", json_integer(s->id));
    bad |= json_object_set_new(doc, "schemaId", json_integer(s->schema_id));
    bad |= json_object_set_new(doc, "baseManifestList", json_string(s->base_manifest_list));
    bad |= put_number(doc, "baseManifestListSize", s->base_manifest_list_size, -1);
    bad |= json_object_set_new(doc, "deltaManifestList", json_string(s->delta_manifest_list));
    bad |= put_number(doc, "deltaManifestListSize", s->delta_manifest_list_size, -1);
    bad |= put_text(doc, "changelogManifestList", s->changelog_manifest_list);
    bad |= put_text(doc, "indexManifest", s->index_manifest);
    bad |= json_object_set_new(doc, "commitUser", json_string(s->commit_user));
    bad |= json_object_set_new(doc, "commitIdentifier", json_integer(s->commit_identifier));
    bad |= json_object_set_new(doc, "commitKind", json_string(s->commit_kind));
    bad |= json_object_set_new(doc, "timeMillis", json_integer(s->time_millis));
    bad |= json_object_set_new(doc, "totalRecordCount", json_integer(s->total_record_count));
    bad |= json_object_set_new(doc, "deltaRecordCount", json_integer(s->delta_record_count));
    bad |= put_number(doc, "watermark", s->watermark, INT64_MIN);
    bad |= put_text(doc, "statistics", s->statistics);
    if (s->nproperties)
        bad |= json_object_set_new(doc, "properties", sl_options_to_json(s->properties, s->nproperties));
    bad |= put_number(doc, "nextRowId", s->next_row_id, -1);
    bad |= put_text(doc, "operation", s->operation);
    bad |= put_tag(doc, s);
    if (!bad)
        sl_json_dump(out, doc, true);
    json_decref(doc);
    return bad ? sl_err_nomem(err) : sl_buf_ok(out, err);
}
