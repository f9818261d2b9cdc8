/* log_unit.h - log tables made by hand, byte by byte, for tests of what reads them. */
#ifndef SL_TESTS_LOG_UNIT_H
#define SL_TESTS_LOG_UNIT_H

#include "table_unit.h"

#include "format/hudi_log.h"
#include "table/log/plan.h"

#define SCHEMA                                                                                                              \
    "{\"type\":\"record\",\"name\":\"t_record\",\"namespace\":\"hoodie.t\",\"fields\":["                                     \
    "{\"name\":\"id\",\"type\":[\"null\",\"string\"],\"default\":null},{\"name\":\"ts\",\"type\":[\"null\",\"long\"],"        \
    "\"default\":null},{\"name\":\"v\",\"type\":[\"null\",\"long\"],\"default\":null}]}"
#define GROUP "11111111-2222-3333-4444-555555555555-0"
enum { NO_ORDERING = -1 };
#define T1 INT64_C(20260101000000001)
#define T2 INT64_C(20260101000000002)
#define T3 INT64_C(20260101000000003)
#define T4 INT64_C(20260101000000004)
#define T5 INT64_C(20260101000000005)

static struct sl_store *files; /* of the table */
static char *full_schema;      /* with the meta fields */

static inline void put_file(const char *path, sl_str bytes)
{
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_store_put(files, sl_str_c(path), bytes, &err), err);
}

/* A table of version 6 without partitions; PAYLOAD is the last part of its class. */
static inline void make_log_table(const char *payload)
{
    char text[3000], path[5000];
    struct sl_buf full = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    snprintf(path, sizeof path, "%s/default.db/t", warehouse);
    assert_ok(sl_store_open_local(sl_str_c(path), &files, &err), err);
    snprintf(text, sizeof text,
             "hoodie.table.name=t\nhoodie.database.name=default\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=6\n"
             "hoodie.timeline.layout.version=1\nhoodie.table.recordkey.fields=id\nhoodie.table.precombine.field=ts\n"
             "hoodie.table.timeline.timezone=UTC\nhoodie.compaction.payload.class=org.apache.hudi.common.model.%s\n"
             "hoodie.table.keygenerator.class=org.apache.hudi.keygen.NonpartitionedKeyGenerator\n"
             "hoodie.table.create.schema=%s\nhoodie.table.checksum=454464632\n",
             payload, SCHEMA);
    put_file(".hoodie/hoodie.properties", sl_str_c(text));
    put_file(".hoodie_partition_metadata", SL_LIT("commitTime=20260101000000001\npartitionDepth=0\n"));
    assert_ok(sl_hudi_schema_add_meta(SL_LIT(SCHEMA), &full, &err), err);
    full_schema = sl_buf_take(&full);
}

static inline void drop_log_table(void)
{
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_store_remove_tree(files, SL_LIT(".hoodie"), &err), err);
    sl_store_close(files);
    sl_free(full_schema);
    files = NULL;
}

/* Files of an instant up to STATE. */
static inline void put_instant(int64_t time, enum sl_hudi_action action, enum sl_hudi_state state, const char *metadata)
{
    for (int s = SL_HUDI_REQUESTED; s <= (int)state; s++) {
        struct sl_buf name = SL_BUF_INIT;

        sl_buf_addc(&name, ".hoodie/");
        sl_hudi_timeline_put(&name, time, s == SL_HUDI_COMPLETED ? sl_hudi_action_completed(action) : action, (enum sl_hudi_state)s);
        put_file(name.p, s == SL_HUDI_COMPLETED ? sl_str_c(metadata) : (sl_str){"", 0});
        sl_buf_release(&name);
    }
}

static inline void commit(int64_t time)
{
    put_instant(time, SL_HUDI_DELTACOMMIT, SL_HUDI_COMPLETED, "{\"partitionToWriteStats\":{},\"extraMetadata\":{},\"operationType\":\"UPSERT\"}");
}

/* ---- base files ---- */

static inline void put_base(struct sl_conn *conn, const char *file_id, int64_t time, const char *values)
{
    sl_err err = SL_ERR_INIT;
    struct sl_buf sql = SL_BUF_INIT;

    sl_buf_printf(&sql, "COPY (SELECT '%lld' AS _hoodie_commit_time, '' AS _hoodie_commit_seqno, id AS _hoodie_record_key, '' AS "
                        "_hoodie_partition_path, '' AS _hoodie_file_name, id, ts::BIGINT AS ts, v::BIGINT AS v FROM (VALUES %s) AS t(id, ts, v)) "
                        "TO '%s/%s_0-0-0_%lld.parquet' (FORMAT parquet)",
                  (long long)time, values, sl_store_root(files), file_id, (long long)time);
    assert_ok(sl_conn_exec(conn, sl_buf_view(&sql), &err), err);
    sl_buf_release(&sql);
}

/* ---- logs ---- */

static inline void put_text(struct sl_buf *b, const char *s)
{
    sl_avro_put_long(b, 1);
    sl_avro_put_bytes(b, sl_str_c(s));
}

struct row {
    const char *id;
    int64_t ts;      /* NO_ORDERING = null */
    int64_t v;
};

static inline void put_records(struct sl_buf *out, int64_t time, const struct row *rows, size_t n)
{
    struct sl_hudi_content c;
    sl_err err = SL_ERR_INIT;
    char digits[18];

    sl_hudi_instant_text(time, digits);
    sl_hudi_content_begin(&c, out);
    for (size_t i = 0; i < n; i++) {
        sl_hudi_content_record(&c);
        put_text(out, digits);
        put_text(out, "0_0");
        put_text(out, rows[i].id);
        put_text(out, "");
        put_text(out, GROUP);
        put_text(out, rows[i].id);
        sl_avro_put_long(out, rows[i].ts != NO_ORDERING);
        if (rows[i].ts != NO_ORDERING)
            sl_avro_put_long(out, rows[i].ts);
        sl_avro_put_long(out, 1);
        sl_avro_put_long(out, rows[i].v);
        assert_ok(sl_hudi_content_record_end(&c, &err), err);
    }
    assert_ok(sl_hudi_content_end(&c, &err), err);
}

static inline void add_block(struct sl_buf *log, enum sl_hudi_block_type type, int64_t time, int64_t target, sl_str content)
{
    const struct sl_hudi_block_out b = {.type = type, .instant = time, .target = target,
                                        .schema = type == SL_HUDI_BLOCK_COMMAND ? (sl_str){NULL, 0} : sl_str_c(full_schema)};
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_hudi_block_put(&b, content, log, &err), err);
}

static inline void add_rows(struct sl_buf *log, int64_t time, const struct row *rows, size_t n)
{
    struct sl_buf content = SL_BUF_INIT;

    put_records(&content, time, rows, n);
    add_block(log, SL_HUDI_BLOCK_AVRO, time, 0, sl_buf_view(&content));
    sl_buf_release(&content);
}
#define ADD_ROWS(log, time, ...) add_rows(log, time, (const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

static inline void add_delete(struct sl_buf *log, int64_t time, const char *key, int64_t ordering)
{
    struct sl_hudi_delete d = {.key = sl_str_c(key), .partition = {"", 0}};
    struct sl_buf content = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;

    d.ordering.kind = ordering == NO_ORDERING ? SL_HUDI_ORD_INT : SL_HUDI_ORD_LONG;
    d.ordering.i = ordering == NO_ORDERING ? 0 : ordering;
    assert_ok(sl_hudi_deletes_encode(&d, 1, &content, &err), err);
    add_block(log, SL_HUDI_BLOCK_DELETE, time, 0, sl_buf_view(&content));
    sl_buf_release(&content);
}

static inline void put_log(const char *file_id, int64_t slice, int64_t version, struct sl_buf *log)
{
    struct sl_buf name = SL_BUF_INIT;

    sl_hudi_log_put(&name, sl_str_c(file_id), slice, version, SL_LIT("0-0-0"));
    put_file(name.p, sl_buf_view(log));
    sl_buf_release(&name);
    sl_buf_release(log);
}

/* ---- reading ---- */

static inline struct sl_log *open_log(void)
{
    struct sl_log *t;
    sl_err err = SL_ERR_INIT;

    assert_ok(sl_log_open(sl_env_catalog(env), SL_LIT("default"), SL_LIT("t"), &t, &err), err);
    return t;
}

/* "id|ts|v" of each row, sorted by id, ' ' between; static memory. */
static inline const char *read_rows(const struct sl_log_selector *sel)
{
    static char text[65536];
    struct sl_conn *conn = open_conn();
    struct sl_log *t = open_log();
    struct sl_log_plan *p;
    struct sl_buf sql = SL_BUF_INIT;
    sl_err err = SL_ERR_INIT;
    char *s = NULL;

    assert_ok(sl_log_plan_columns(t, sel, false, &p, &err), err);
    assert_ok(sl_log_plan_files(p, NULL, &err), err);
    sl_buf_addc(&sql, "SELECT coalesce(string_agg(concat(id, '|', coalesce(ts::VARCHAR, 'null'), '|', v), ' ' ORDER BY id), '') FROM (");
    assert_ok(sl_log_plan_sql(p, conn, &sql, &err), err);
    sl_buf_ch(&sql, ')');
    assert_ok(sl_conn_query_str(conn, sl_buf_view(&sql), &s, &err), err);
    snprintf(text, sizeof text, "%s", s);
    sl_free(s);
    sl_buf_release(&sql);
    sl_log_plan_free(p);
    sl_log_close(t);
    sl_conn_close(conn);
    return text;
}

#endif
