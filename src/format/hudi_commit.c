/* hudi_commit.c - commit metadata written as JSON, the form of version 6. */
#include "base/json.h"
#include "format/hudi_meta.h"

static void put_name(struct sl_buf *out, const char *name)
{
    sl_buf_printf(out, "\"%s\":", name);
}

static void put_text(struct sl_buf *out, const char *name, sl_str v)
{
    put_name(out, name);
    if (v.p)
        sl_buf_json_string(out, v);
    else
        sl_buf_addc(out, "null");
    sl_buf_ch(out, ',');
}

static void put_number(struct sl_buf *out, const char *name, int64_t v)
{
    sl_buf_printf(out, "\"%s\":%lld,", name, (long long)v);
}

static void put_texts(struct sl_buf *out, const sl_str *v, size_t n)
{
    sl_buf_ch(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            sl_buf_ch(out, ',');
        sl_buf_json_string(out, v[i]);
    }
    sl_buf_ch(out, ']');
}

/* Absent members of a log stat may not be null nor empty: readers take them for names. */
static void put_log(struct sl_buf *out, const struct sl_hudi_stat *s)
{
    put_number(out, "logVersion", s->log_version);
    put_number(out, "logOffset", s->log_offset);
    if (s->base_file.n)
        put_text(out, "baseFile", s->base_file);
    put_name(out, "logFiles");
    put_texts(out, s->log_files, s->nlog_files);
    sl_buf_addc(out, ",\"recordsStats\":{\"val\":null},");
}

static void put_stat(struct sl_buf *out, const struct sl_hudi_stat *s)
{
    sl_buf_ch(out, '{');
    put_text(out, "fileId", s->file_id);
    put_text(out, "path", s->path);
    sl_buf_addc(out, "\"cdcStats\":null,");
    put_text(out, "prevCommit", s->prev_commit);
    put_number(out, "numWrites", s->num_writes);
    put_number(out, "numDeletes", s->num_deletes);
    put_number(out, "numUpdateWrites", s->num_update_writes);
    put_number(out, "numInserts", s->num_inserts);
    put_number(out, "totalWriteBytes", s->total_write_bytes);
    put_number(out, "totalWriteErrors", s->total_write_errors);
    sl_buf_addc(out, "\"tempPath\":null,");
    put_text(out, "partitionPath", s->partition_path);
    put_number(out, "totalLogRecords", s->total_log_records);
    put_number(out, "totalLogFilesCompacted", s->total_log_files_compacted);
    put_number(out, "totalLogSizeCompacted", s->total_log_size_compacted);
    put_number(out, "totalUpdatedRecordsCompacted", s->total_updated_records_compacted);
    put_number(out, "totalLogBlocks", s->total_log_blocks);
    put_number(out, "totalCorruptLogBlock", s->total_corrupt_log_blocks);
    put_number(out, "totalRollbackBlocks", s->total_rollback_blocks);
    put_number(out, "fileSizeInBytes", s->file_size);
    sl_buf_addc(out, "\"minEventTime\":null,\"maxEventTime\":null,");
    if (s->log_version > 0)
        put_log(out, s);
    put_name(out, "runtimeStats");
    if (s->has_runtime)
        sl_buf_printf(out, "{\"totalScanTime\":%lld,\"totalUpsertTime\":%lld,\"totalCreateTime\":%lld}}", (long long)s->scan_millis,
                      (long long)s->upsert_millis, (long long)s->create_millis);
    else
        sl_buf_addc(out, "null}");
}

/* Was the partition of stat I met before? Its stats go together under one member. */
static bool met(const struct sl_hudi_commit *c, size_t i)
{
    if (i && sl_str_eq(c->stats[i].partition, c->stats[i - 1].partition))
        return true;
    for (size_t j = 0; j < i; j++)
        if (sl_str_eq(c->stats[j].partition, c->stats[i].partition))
            return true;
    return false;
}

static void put_stats(struct sl_buf *out, const struct sl_hudi_commit *c)
{
    bool first = true;

    sl_buf_addc(out, "{\"partitionToWriteStats\":{");
    for (size_t i = 0; i < c->nstats; i++) {
        if (met(c, i))
            continue;
        if (!first)
            sl_buf_ch(out, ',');
        first = false;
        sl_buf_json_string(out, c->stats[i].partition);
        sl_buf_addc(out, ":[");
        put_stat(out, &c->stats[i]);
        for (size_t j = i + 1; j < c->nstats; j++)
            if (sl_str_eq(c->stats[j].partition, c->stats[i].partition)) {
                sl_buf_ch(out, ',');
                put_stat(out, &c->stats[j]);
            }
        sl_buf_ch(out, ']');
    }
    sl_buf_addc(out, "},");
}

int sl_hudi_commit_encode(const struct sl_hudi_commit *c, struct sl_buf *out, sl_err *err)
{
    put_stats(out, c);
    sl_buf_printf(out, "\"compacted\":%s,\"extraMetadata\":{", c->compacted ? "true" : "false");
    for (size_t i = 0; i < c->nextra; i++) {
        if (i)
            sl_buf_ch(out, ',');
        sl_buf_json_string(out, c->extra[i].key);
        sl_buf_ch(out, ':');
        sl_buf_json_string(out, c->extra[i].value);
    }
    sl_buf_addc(out, "},\"operationType\":");
    sl_buf_json_string(out, c->operation.n ? c->operation : SL_LIT("UNKNOWN"));
    if (c->replace) {
        sl_buf_addc(out, ",\"partitionToReplaceFileIds\":{");
        for (size_t i = 0; i < c->nreplaced; i++) {
            if (i)
                sl_buf_ch(out, ',');
            sl_buf_json_string(out, c->replaced[i].partition);
            sl_buf_ch(out, ':');
            put_texts(out, c->replaced[i].file_ids, c->replaced[i].nfile_ids);
        }
        sl_buf_ch(out, '}');
    }
    sl_buf_ch(out, '}');
    return sl_buf_ok(out, err);
}
