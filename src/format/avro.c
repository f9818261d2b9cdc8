/* avro.c - Avro object container files. */
#include "format/avro.h"

#include <limits.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/sys.h"

enum { DEPTH_MAX = 64, EXPANSION_MAX = 2000, BLOCK_BYTES_MAX = 1 << 30, SYNC_BYTES = 16 };

/* ---- schemas ---- */

struct parsing {
    struct sl_arena *a;
    struct sl_map *named; /* full or short name -> schema */
    int depth;
};

static int parse_schema(struct parsing *p, const json_t *j, const struct sl_avro_schema **out, sl_err *err);

static int primitive(const char *name)
{
    static const char *const names[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static int remember(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    const char *name = json_string_value(json_object_get(j, "name")), *space = json_string_value(json_object_get(j, "namespace"));
    struct sl_buf full = SL_BUF_INIT;
    void **slot;
    int rc = SL_OK;

    if (!name)
        return sl_err_set(err, SL_ECORRUPT, "an Avro schema has a type without a name");
    s->name = sl_arena_strdup(p->a, sl_str_c(name));
    slot = sl_map_at(p->named, sl_str_c(name));
    if (!s->name || !slot)
        return sl_err_nomem(err);
    *slot = s;
    if (space) {
        sl_buf_printf(&full, "%s.%s", space, name);
        slot = full.failed ? NULL : sl_map_at(p->named, sl_buf_view(&full));
        if (slot)
            *slot = s;
        else
            rc = sl_err_nomem(err);
    }
    sl_buf_release(&full);
    return rc;
}

static int parse_record(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    const json_t *fields = json_object_get(j, "fields");
    size_t n = json_array_size(fields);
    const struct sl_avro_schema **types = sl_arena_array(p->a, n + 1, sizeof *types);
    const char **names = sl_arena_array(p->a, n + 1, sizeof *names);

    SL_TRY(remember(p, j, s, err));
    if (!types || !names)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *f = json_array_get(fields, i);
        const char *name = json_string_value(json_object_get(f, "name"));

        if (!name)
            return sl_err_set(err, SL_ECORRUPT, "an Avro schema has a field without a name");
        names[i] = sl_arena_strdup(p->a, sl_str_c(name));
        if (!names[i])
            return sl_err_nomem(err);
        SL_TRY(parse_schema(p, json_object_get(f, "type"), &types[i], err));
    }
    s->types = types;
    s->names = names;
    s->n = n;
    return SL_OK;
}

static int parse_one(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    const struct sl_avro_schema **types = sl_arena_array(p->a, 1, sizeof *types);

    if (!types)
        return sl_err_nomem(err);
    s->types = types;
    s->n = 1;
    return parse_schema(p, j, &types[0], err);
}

static int parse_union(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    size_t n = json_array_size(j);
    const struct sl_avro_schema **types = sl_arena_array(p->a, n + 1, sizeof *types);

    if (!types)
        return sl_err_nomem(err);
    s->kind = SL_AVRO_UNION;
    s->types = types;
    s->n = n;
    for (size_t i = 0; i < n; i++)
        SL_TRY(parse_schema(p, json_array_get(j, i), &types[i], err));
    return SL_OK;
}

static int parse_enum(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    const json_t *symbols = json_object_get(j, "symbols");
    size_t n = json_array_size(symbols);
    const char **names = sl_arena_array(p->a, n + 1, sizeof *names);

    SL_TRY(remember(p, j, s, err));
    if (!names)
        return sl_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        names[i] = sl_arena_strdup(p->a, sl_str_c(json_string_value(json_array_get(symbols, i))));
        if (!names[i])
            return sl_err_nomem(err);
    }
    s->names = names;
    s->n = n;
    return SL_OK;
}

static int parse_object(struct parsing *p, const json_t *j, struct sl_avro_schema *s, sl_err *err)
{
    const char *type = json_string_value(json_object_get(j, "type")), *logical = json_string_value(json_object_get(j, "logicalType"));
    int64_t size;

    if (logical && !(s->logical = sl_arena_strdup(p->a, sl_str_c(logical))))
        return sl_err_nomem(err);
    if (!type)
        return sl_err_set(err, SL_ECORRUPT, "an Avro schema has a type that is none");
    if (primitive(type) >= 0) {
        s->kind = (enum sl_avro_kind)primitive(type);
        return SL_OK;
    }
    if (strcmp(type, "record") == 0) {
        s->kind = SL_AVRO_RECORD;
        return parse_record(p, j, s, err);
    }
    if (strcmp(type, "array") == 0) {
        s->kind = SL_AVRO_ARRAY;
        return parse_one(p, json_object_get(j, "items"), s, err);
    }
    if (strcmp(type, "map") == 0) {
        s->kind = SL_AVRO_MAP;
        return parse_one(p, json_object_get(j, "values"), s, err);
    }
    if (strcmp(type, "enum") == 0) {
        s->kind = SL_AVRO_ENUM;
        return parse_enum(p, j, s, err);
    }
    if (strcmp(type, "fixed") == 0) {
        s->kind = SL_AVRO_FIXED;
        SL_TRY(sl_json_i64_req(j, "size", &size, err));
        if (size < 0 || size > INT32_MAX)
            return sl_err_set(err, SL_ECORRUPT, "an Avro schema has a fixed type of %lld bytes", (long long)size);
        s->size = (size_t)size;
        return remember(p, j, s, err);
    }
    return sl_err_set(err, SL_ECORRUPT, "an Avro schema has the unknown type \"%s\"", type);
}

static int parse_schema(struct parsing *p, const json_t *j, const struct sl_avro_schema **out, sl_err *err)
{
    struct sl_avro_schema *s;
    int rc;

    if (json_is_string(j) && primitive(json_string_value(j)) < 0) {
        *out = sl_map_get(p->named, sl_str_c(json_string_value(j)));
        return *out ? SL_OK : sl_err_set(err, SL_ECORRUPT, "an Avro schema has the unknown type \"%s\"", json_string_value(j));
    }
    s = sl_arena_alloc(p->a, sizeof *s);
    if (!s)
        return sl_err_nomem(err);
    if (++p->depth > DEPTH_MAX)
        return sl_err_set(err, SL_ECORRUPT, "an Avro schema is nested too deeply");
    *out = s;
    if (json_is_string(j)) {
        s->kind = (enum sl_avro_kind)primitive(json_string_value(j));
        rc = SL_OK;
    } else if (json_is_array(j)) {
        rc = parse_union(p, j, s, err);
    } else if (json_is_object(j)) {
        /* {"type": {"type": "array", ...}} is met as well. */
        const json_t *inner = json_object_get(j, "type");
        rc = json_is_string(inner) ? parse_object(p, j, s, err) : parse_schema(p, inner, out, err);
    } else {
        rc = sl_err_set(err, SL_ECORRUPT, "an Avro schema has a type that is none");
    }
    p->depth--;
    return rc;
}

int sl_avro_schema_parse(struct sl_arena *a, sl_str json, const struct sl_avro_schema **out, sl_err *err)
{
    struct parsing p = {a, sl_map_new(), 0};
    json_t *j = NULL;
    int rc;

    if (!p.named)
        return sl_err_nomem(err);
    SL_GO(sl_json_parse(json, &j, err));
    SL_GO(parse_schema(&p, j, out, err));
done:
    json_decref(j);
    sl_map_free(p.named, NULL);
    return rc;
}

/* ---- skipping ---- */

static void skip(struct sl_cur *c, const struct sl_avro_schema *s, int depth);

static void skip_blocks(struct sl_cur *c, const struct sl_avro_schema *s, int depth)
{
    for (int64_t n; !c->bad && (n = sl_cur_zigzag(c)) != 0;) {
        if (n < 0) {
            int64_t bytes = sl_cur_zigzag(c);

            if (bytes < 0 || (uint64_t)bytes > sl_cur_left(c)) {
                c->bad = true;
                return;
            }
            (void)sl_cur_bytes(c, (size_t)bytes);
            continue;
        }
        /* Items without bytes could be counted for ever. */
        if ((uint64_t)n > sl_cur_left(c) + 1) {
            c->bad = true;
            return;
        }
        for (; n > 0 && !c->bad; n--) {
            if (s->kind == SL_AVRO_MAP)
                skip(c, &(struct sl_avro_schema){.kind = SL_AVRO_STRING}, depth);
            skip(c, s->types[0], depth);
        }
    }
}

static void skip(struct sl_cur *c, const struct sl_avro_schema *s, int depth)
{
    int64_t n;

    if (depth > DEPTH_MAX) {
        c->bad = true;
        return;
    }
    switch (s->kind) {
    case SL_AVRO_NULL:
        return;
    case SL_AVRO_BOOLEAN:
        (void)sl_cur_u8(c);
        return;
    case SL_AVRO_INT:
    case SL_AVRO_LONG:
    case SL_AVRO_ENUM:
        (void)sl_cur_zigzag(c);
        return;
    case SL_AVRO_FLOAT:
        (void)sl_cur_bytes(c, 4);
        return;
    case SL_AVRO_DOUBLE:
        (void)sl_cur_bytes(c, 8);
        return;
    case SL_AVRO_BYTES:
    case SL_AVRO_STRING:
        n = sl_cur_zigzag(c);
        if (n < 0 || (uint64_t)n > sl_cur_left(c))
            c->bad = true;
        else
            (void)sl_cur_bytes(c, (size_t)n);
        return;
    case SL_AVRO_FIXED:
        (void)sl_cur_bytes(c, s->size);
        return;
    case SL_AVRO_RECORD:
        for (size_t i = 0; i < s->n && !c->bad; i++)
            skip(c, s->types[i], depth + 1);
        return;
    case SL_AVRO_UNION:
        n = sl_cur_zigzag(c);
        if (n < 0 || (uint64_t)n >= s->n)
            c->bad = true;
        else
            skip(c, s->types[n], depth + 1);
        return;
    case SL_AVRO_ARRAY:
    case SL_AVRO_MAP:
        skip_blocks(c, s, depth + 1);
        return;
    }
}

void sl_avro_skip(struct sl_cur *c, const struct sl_avro_schema *s)
{
    skip(c, s, 0);
}

/* ---- reading a container ---- */

struct sl_avro_reader {
    struct sl_arena arena;
    struct sl_cur cur;
    struct sl_map *meta;     /* key -> sl_str in the arena */
    const struct sl_avro_schema *schema;
    enum sl_avro_codec codec;
    char sync[SYNC_BYTES];
    struct sl_buf block;
};

static sl_str get_bytes(struct sl_cur *c)
{
    int64_t n = sl_cur_zigzag(c);

    if (n < 0 || (uint64_t)n > sl_cur_left(c)) {
        c->bad = true;
        return (sl_str){"", 0};
    }
    return sl_cur_bytes(c, (size_t)n);
}

static int read_meta(struct sl_avro_reader *r, sl_err *err)
{
    for (int64_t n; !r->cur.bad && (n = sl_cur_zigzag(&r->cur)) != 0;) {
        if (n < 0) {
            (void)sl_cur_zigzag(&r->cur);
            if (n == INT64_MIN)
                break;
            n = -n;
        }
        for (; n > 0 && !r->cur.bad; n--) {
            sl_str key = get_bytes(&r->cur), value = get_bytes(&r->cur);
            sl_str *copy = sl_arena_alloc(&r->arena, sizeof *copy);
            void **slot = sl_map_at(r->meta, key);

            if (!copy || !slot)
                return sl_err_nomem(err);
            *copy = value;
            *slot = copy;
        }
    }
    return r->cur.bad ? sl_err_set(err, SL_ECORRUPT, "the header of an Avro file is damaged") : SL_OK;
}

static int read_codec(struct sl_avro_reader *r, sl_err *err)
{
    static const char *const names[] = {"null", "zstandard", "deflate", "snappy"};
    sl_str codec = sl_avro_reader_meta(r, "avro.codec");

    if (codec.n == 0)
        return SL_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (sl_str_eqc(codec, names[i])) {
            r->codec = (enum sl_avro_codec)i;
            return SL_OK;
        }
    }
    return sl_err_set(err, SL_EUNSUPPORTED, "an Avro file is compressed with \"" SL_STRF "\", which is not supported", SL_STRV(codec));
}

int sl_avro_open(sl_str bytes, struct sl_avro_reader **out, sl_err *err)
{
    struct sl_avro_reader *r = sl_calloc(1, sizeof *r);
    sl_str magic;
    int rc = SL_OK;

    *out = NULL;
    if (!r)
        return sl_err_nomem(err);
    r->cur = sl_cur_of(bytes);
    r->meta = sl_map_new();
    if (!r->meta)
        SL_GOTO_NOMEM(err);
    magic = sl_cur_bytes(&r->cur, 4);
    if (r->cur.bad || memcmp(magic.p, "Obj\1", 4) != 0) {
        rc = sl_str_starts(bytes, "ORC") ? sl_err_set(err, SL_EUNSUPPORTED, "it is an ORC file, and only Avro is supported here")
                                         : sl_err_set(err, SL_ECORRUPT, "it is not an Avro file");
        goto done;
    }
    SL_GO(read_meta(r, err));
    SL_GO(read_codec(r, err));
    sl_str sync = sl_cur_bytes(&r->cur, SYNC_BYTES);
    if (r->cur.bad) {
        rc = sl_err_set(err, SL_ECORRUPT, "the header of an Avro file is cut off");
        goto done;
    }
    memcpy(r->sync, sync.p, SYNC_BYTES);
    SL_GO(sl_avro_schema_parse(&r->arena, sl_avro_reader_meta(r, "avro.schema"), &r->schema, err));
    *out = r;
    r = NULL;
done:
    sl_avro_close(r);
    return rc;
}

void sl_avro_close(struct sl_avro_reader *r)
{
    if (!r)
        return;
    sl_map_free(r->meta, NULL);
    sl_arena_release(&r->arena);
    sl_buf_release(&r->block);
    sl_free(r);
}

const struct sl_avro_schema *sl_avro_reader_schema(const struct sl_avro_reader *r)
{
    return r->schema;
}

sl_str sl_avro_reader_meta(const struct sl_avro_reader *r, const char *key)
{
    const sl_str *v = sl_map_get(r->meta, sl_str_c(key));

    return v ? *v : (sl_str){"", 0};
}

static int damaged(sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "a compressed block is damaged");
}

static int too_big(sl_err *err)
{
    return sl_err_set(err, SL_ECORRUPT, "a compressed block is larger than it may be");
}

static size_t most(sl_str packed)
{
    size_t n = packed.n > BLOCK_BYTES_MAX / EXPANSION_MAX ? BLOCK_BYTES_MAX : packed.n * EXPANSION_MAX;

    return n < 65536 ? 65536 : n;
}

static int unpack_zstd(sl_str packed, struct sl_buf *out, sl_err *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed.p, packed.n, 0};
    size_t left = 1;
    int rc = SL_OK;

    if (!z)
        return sl_err_nomem(err);
    while (left && rc == SL_OK) {
        size_t step = out->n < 65536 ? 65536 : out->n;
        char *room = sl_buf_room(out, step);

        if (!room) {
            rc = sl_err_nomem(err);
            break;
        }
        ZSTD_outBuffer o = {room, step, 0};
        size_t before = in.pos;
        left = ZSTD_decompressStream(z, &o, &in);
        out->n += o.pos;
        if (ZSTD_isError(left) || (left && o.pos == 0 && in.pos == before))
            rc = damaged(err);
        else if (out->n > most(packed))
            rc = too_big(err);
    }
    if (rc == SL_OK && in.pos != in.size)
        rc = damaged(err);
    ZSTD_freeDStream(z);
    return rc;
}

static int unpack_deflate(sl_str packed, struct sl_buf *out, sl_err *err)
{
    z_stream z;
    int rc = SL_OK, code = Z_OK;

    memset(&z, 0, sizeof z);
    if (inflateInit2(&z, -15) != Z_OK)
        return sl_err_nomem(err);
    z.next_in = (Bytef *)(uintptr_t)packed.p;
    z.avail_in = (uInt)packed.n;
    while (code != Z_STREAM_END && rc == SL_OK) {
        size_t step = out->n < 65536 ? 65536 : out->n;
        char *room = sl_buf_room(out, step);

        if (!room) {
            rc = sl_err_nomem(err);
            break;
        }
        z.next_out = (Bytef *)room;
        z.avail_out = (uInt)step;
        code = inflate(&z, Z_NO_FLUSH);
        out->n += step - z.avail_out;
        if ((code != Z_OK && code != Z_STREAM_END) || (code == Z_OK && z.avail_out == step))
            rc = damaged(err);
        else if (out->n > most(packed))
            rc = too_big(err);
    }
    inflateEnd(&z);
    return rc;
}

static int unpack_snappy(sl_str packed, struct sl_buf *out, sl_err *err)
{
    size_t n;
    struct sl_cur crc = sl_cur_of(sl_str_sub(packed, packed.n < 4 ? 0 : packed.n - 4, packed.n));

    if (packed.n < 4 || snappy_uncompressed_length(packed.p, packed.n - 4, &n) != SNAPPY_OK)
        return damaged(err);
    if (n > most(packed))
        return too_big(err);
    char *room = sl_buf_room(out, n);
    if (!room)
        return sl_err_nomem(err);
    if (snappy_uncompress(packed.p, packed.n - 4, room, &n) != SNAPPY_OK)
        return damaged(err);
    out->n += n;
    return sl_crc32(0, sl_buf_view(out)) == sl_cur_u32be(&crc) ? SL_OK : sl_err_set(err, SL_ECORRUPT, "the checksum of a block does not match");
}

static int unpack(struct sl_avro_reader *r, sl_str packed, sl_str *plain, sl_err *err)
{
    int rc = SL_OK;

    sl_buf_reset(&r->block);
    if (r->codec == SL_AVRO_CODEC_NULL) {
        *plain = packed;
        return SL_OK;
    }
    if (r->codec == SL_AVRO_CODEC_ZSTD)
        rc = unpack_zstd(packed, &r->block, err);
    else if (r->codec == SL_AVRO_CODEC_DEFLATE)
        rc = unpack_deflate(packed, &r->block, err);
    else
        rc = unpack_snappy(packed, &r->block, err);
    *plain = sl_buf_view(&r->block);
    return rc;
}

int sl_avro_next_block(struct sl_avro_reader *r, int64_t *count, struct sl_cur *records, sl_err *err)
{
    size_t at = sl_cur_pos(&r->cur);
    sl_str packed, plain, sync;
    int rc;

    do {
        *count = 0;
        *records = sl_cur_of((sl_str){"", 0});
        if (sl_cur_left(&r->cur) == 0)
            return SL_OK;
        *count = sl_cur_zigzag(&r->cur);
        packed = get_bytes(&r->cur);
        sync = sl_cur_bytes(&r->cur, SYNC_BYTES);
        if (r->cur.bad || *count < 0)
            return sl_err_set(err, SL_ECORRUPT, "the block at offset %zu is cut off or damaged", at);
        if (memcmp(sync.p, r->sync, SYNC_BYTES) != 0)
            return sl_err_set(err, SL_ECORRUPT, "the block at offset %zu does not end with the file's sync marker", at);
    } while (*count == 0);
    rc = unpack(r, packed, &plain, err);
    if (rc != SL_OK) {
        sl_err_ctx(err, "block at offset %zu", at);
        return rc;
    }
    *records = sl_cur_of(plain);
    return SL_OK;
}

/* ---- writing a container ---- */

void sl_avro_put_long(struct sl_buf *out, int64_t v)
{
    uint64_t u = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);

    for (; u >= 0x80; u >>= 7)
        sl_buf_u8(out, (uint8_t)(u | 0x80));
    sl_buf_u8(out, (uint8_t)u);
}

void sl_avro_put_bytes(struct sl_buf *out, sl_str v)
{
    sl_avro_put_long(out, (int64_t)v.n);
    sl_buf_add(out, v);
}

void sl_avro_write_header(struct sl_buf *out, const char *schema_json, enum sl_avro_codec codec, const char sync[16])
{
    static const char *const names[] = {"null", "zstandard", "deflate", "snappy"};

    sl_buf_addb(out, "Obj\1", 4);
    sl_avro_put_long(out, 2);
    sl_avro_put_bytes(out, SL_LIT("avro.schema"));
    sl_avro_put_bytes(out, sl_str_c(schema_json));
    sl_avro_put_bytes(out, SL_LIT("avro.codec"));
    sl_avro_put_bytes(out, sl_str_c(names[codec]));
    sl_avro_put_long(out, 0);
    sl_buf_addb(out, sync, SYNC_BYTES);
}

static int pack(struct sl_buf *out, sl_str plain, enum sl_avro_codec codec, sl_err *err)
{
    if (codec == SL_AVRO_CODEC_NULL) {
        sl_buf_add(out, plain);
        return sl_buf_ok(out, err);
    }
    if (codec == SL_AVRO_CODEC_ZSTD) {
        size_t room = ZSTD_compressBound(plain.n);
        char *to = sl_buf_room(out, room);
        size_t n = to ? ZSTD_compress(to, room, plain.p, plain.n, 1) : 0;

        if (!to || ZSTD_isError(n))
            return sl_err_nomem(err);
        out->n += n;
        return SL_OK;
    }
    return sl_err_set(err, SL_EUNSUPPORTED, "Avro files are written with zstandard or without compression");
}

int sl_avro_write_block(struct sl_buf *out, int64_t count, sl_str records, enum sl_avro_codec codec, const char sync[16], sl_err *err)
{
    struct sl_buf packed = SL_BUF_INIT;
    int rc;

    SL_GO(pack(&packed, records, codec, err));
    sl_avro_put_long(out, count);
    sl_avro_put_bytes(out, sl_buf_view(&packed));
    sl_buf_addb(out, sync, SYNC_BYTES);
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&packed);
    return rc;
}
