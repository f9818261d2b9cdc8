/* hudi_log.c - from block to block of a log file, and what is damaged in between. */
#include "format/hudi_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 16384, ENTRIES_MAX = 1024, MAGIC_SIZE = 6, LENGTH_SIZE = 8, TRAILER_SIZE = 8, LEAST = 4 + 4 + 4 + 8 + 4 + TRAILER_SIZE };
#define HEADER_MAX ((int64_t)256 << 20)

static const char magic[MAGIC_SIZE] = {'#', 'H', 'U', 'D', 'I', '#'};

struct sl_hudi_log {
    struct sl_hudi_source source;
    int64_t offset;                /* the next block */
    char window[WINDOW];           /* bytes of the file from AT */
    int64_t at;
    size_t n;
};

static const char *const type_names[SL_HUDI_NBLOCK_TYPES] = {"COMMAND", "DELETE", "CORRUPT", "AVRO_DATA", "HFILE_DATA", "PARQUET_DATA", "CDC_DATA"};
static const char *const header_names[SL_HUDI_NHEADERS] = {
    "INSTANT_TIME", "TARGET_INSTANT_TIME", "SCHEMA", "COMMAND_BLOCK_TYPE", "COMPACTED_BLOCK_TIMES", "RECORD_POSITIONS",
    "BLOCK_IDENTIFIER", "IS_PARTIAL", "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
};

const char *sl_hudi_block_type_name(enum sl_hudi_block_type t)
{
    return (unsigned)t < SL_HUDI_NBLOCK_TYPES ? type_names[t] : "unknown";
}

const char *sl_hudi_header_name(int32_t id)
{
    return id >= 0 && id < SL_HUDI_NHEADERS ? header_names[id] : NULL;
}

static sl_str entry(const struct sl_hudi_entry *v, size_t n, int32_t id)
{
    for (size_t i = n; i > 0; i--)
        if (v[i - 1].id == id)
            return v[i - 1].value;
    return (sl_str){NULL, 0};
}

sl_str sl_hudi_header(const struct sl_hudi_block *b, int32_t id)
{
    return entry(b->header, b->nheader, id);
}

sl_str sl_hudi_footer(const struct sl_hudi_block *b, int32_t id)
{
    return entry(b->footer, b->nfooter, id);
}

static int read_memory(void *user, int64_t offset, size_t n, char *to, sl_err *err)
{
    const sl_str *bytes = user;

    if (offset < 0 || (uint64_t)offset > bytes->n || n > bytes->n - (size_t)offset)
        return sl_err_set(err, SL_EBUG, "a read of %zu bytes at %lld is outside of %zu bytes", n, (long long)offset, bytes->n);
    if (n)
        memcpy(to, bytes->p + offset, n);
    return SL_OK;
}

void sl_hudi_source_memory(const sl_str *bytes, struct sl_hudi_source *out)
{
    *out = (struct sl_hudi_source){(int64_t)bytes->n, read_memory, (void *)(uintptr_t)bytes};
}

int sl_hudi_log_open(const struct sl_hudi_source *source, struct sl_hudi_log **out, sl_err *err)
{
    struct sl_hudi_log *l = sl_calloc(1, sizeof *l);

    *out = l;
    if (!l)
        return sl_err_nomem(err);
    l->source = *source;
    return SL_OK;
}

void sl_hudi_log_close(struct sl_hudi_log *l)
{
    sl_free(l);
}

/* N bytes at OFFSET, which the caller knows to be within the file. Small pieces come through the window. */
static int fetch(struct sl_hudi_log *l, int64_t offset, size_t n, char *to, sl_err *err)
{
    if (n > WINDOW)
        return l->source.read(l->source.user, offset, n, to, err);
    if (offset < l->at || offset + (int64_t)n > l->at + (int64_t)l->n) {
        int64_t left = l->source.size - offset;
        size_t want = left < WINDOW ? (size_t)left : WINDOW;

        l->n = 0;
        SL_TRY(l->source.read(l->source.user, offset, want, l->window, err));
        l->at = offset;
        l->n = want;
    }
    memcpy(to, l->window + (offset - l->at), n);
    return SL_OK;
}

static uint64_t be(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

static int fetch_number(struct sl_hudi_log *l, int64_t offset, size_t n, uint64_t *out, sl_err *err)
{
    char b[8];
    /* Far words are read alone, so that the window stays where the header is. */
    bool near = offset >= l->at && offset + (int64_t)n <= l->at + (int64_t)l->n + WINDOW;

    SL_TRY(near ? fetch(l, offset, n, b, err) : l->source.read(l->source.user, offset, n, b, err));
    *out = be(b, n);
    return SL_OK;
}

/* Is there a magic at OFFSET, or less than one, as at the end of the file? */
static int is_border(struct sl_hudi_log *l, int64_t offset, bool *yes, sl_err *err)
{
    char b[MAGIC_SIZE];

    *yes = true;
    if (l->source.size - offset < MAGIC_SIZE)
        return SL_OK;
    SL_TRY(l->source.read(l->source.user, offset, MAGIC_SIZE, b, err));
    *yes = memcmp(b, magic, MAGIC_SIZE) == 0;
    return SL_OK;
}

/* ---- one block ---- */

/* What stands at an offset. */
struct attempt {
    struct sl_hudi_block *block;
    struct sl_arena *arena;
    int64_t end;        /* first byte of the trailer; parts must end before it */
    bool ok, whole;
    bool unsupported;   /* whole, but not to be read; WHY says it */
    char why[120];
};

static int no(struct attempt *a, bool whole, const char *fmt, ...) SL_PRINTF(3, 4);
static int no(struct attempt *a, bool whole, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(a->why, sizeof a->why, fmt, ap);
    va_end(ap);
    a->ok = false;
    a->whole = whole;
    return SL_OK;
}

/* The map at *AT, which is moved behind it. */
static int read_map(struct sl_hudi_log *l, struct attempt *a, const char *what, int64_t *at, const struct sl_hudi_entry **out, size_t *n, sl_err *err)
{
    struct sl_hudi_entry *v;
    uint64_t count, word;
    int64_t start = *at;

    if (a->end - *at < 4)
        return no(a, true, "the %s does not fit the block", what);
    SL_TRY(fetch_number(l, *at, 4, &count, err));
    *at += 4;
    if (count > ENTRIES_MAX || count > (uint64_t)(a->end - *at) / 8)
        return no(a, true, "the %s has %llu entries", what, (unsigned long long)count);
    v = sl_arena_array(a->arena, count ? count : 1, sizeof *v);
    if (!v)
        return sl_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (a->end - *at < 8)
            return no(a, true, "entry %zu of the %s does not fit the block", i, what);
        SL_TRY(fetch_number(l, *at, 8, &word, err));
        int64_t size = (int64_t)(word & 0xffffffff);
        *at += 8;
        if (size > a->end - *at)
            return no(a, true, "entry %zu of the %s does not fit the block", i, what);
        if (*at - start + size > HEADER_MAX)
            return no(a, true, "the %s has more than %lld bytes", what, (long long)HEADER_MAX);
        char *p = sl_arena_alloc(a->arena, (size_t)size + 1);
        if (!p)
            return sl_err_nomem(err);
        SL_TRY(size ? fetch(l, *at, (size_t)size, p, err) : SL_OK);
        v[i] = (struct sl_hudi_entry){(int32_t)(word >> 32), {p, (size_t)size}};
        *at += size;
    }
    *out = v;
    *n = count;
    return SL_OK;
}

static int read_parts(struct sl_hudi_log *l, struct attempt *a, sl_err *err)
{
    struct sl_hudi_block *b = a->block;
    int64_t at = b->offset + MAGIC_SIZE + LENGTH_SIZE;
    uint64_t word;

    SL_TRY(fetch_number(l, at, 8, &word, err));
    b->format = (int32_t)(word >> 32);
    b->type = (enum sl_hudi_block_type)(int32_t)(word & 0xffffffff);
    if (b->format != 1 || (uint32_t)(word & 0xffffffff) >= SL_HUDI_NBLOCK_TYPES) {
        a->unsupported = true;
        return b->format != 1 ? no(a, true, "log format version %d is not supported", (int)b->format)
                              : no(a, true, "a log block of type %d is not supported", (int)b->type);
    }
    at += 8;
    b->header_offset = at;
    SL_TRY(read_map(l, a, "header", &at, &b->header, &b->nheader, err));
    b->header_size = at - b->header_offset;
    if (!a->ok)
        return SL_OK;
    if (a->end - at < 8)
        return no(a, true, "the content's length does not fit the block");
    SL_TRY(fetch_number(l, at, 8, &word, err));
    at += 8;
    if (word > (uint64_t)(a->end - at))
        return no(a, true, "the content does not fit the block");
    b->content_offset = at;
    b->content_size = (int64_t)word;
    if ((b->type == SL_HUDI_BLOCK_AVRO || b->type == SL_HUDI_BLOCK_CDC) && b->content_size >= 8) {
        SL_TRY(fetch_number(l, at, 8, &word, err)); /* version, count */
        b->records = (int64_t)(word & 0xffffffff);
    }
    at += b->content_size;
    b->footer_offset = at;
    SL_TRY(read_map(l, a, "footer", &at, &b->footer, &b->nfooter, err));
    b->footer_size = at - b->footer_offset;
    if (!a->ok)
        return SL_OK;
    if (at != a->end)
        return no(a, true, "%lld bytes follow the footer", (long long)(a->end - at));
    return SL_OK;
}

/* Is there a whole block at OFFSET, where at least a magic has room? */
static int attempt(struct sl_hudi_log *l, int64_t offset, struct attempt *a, sl_err *err)
{
    int64_t left = l->source.size - offset;
    char head[MAGIC_SIZE + LENGTH_SIZE];
    uint64_t total;
    bool border;

    *a->block = (struct sl_hudi_block){.offset = offset, .records = -1};
    a->ok = true;
    a->unsupported = false;
    SL_TRY(fetch(l, offset, MAGIC_SIZE, head, err));
    if (memcmp(head, magic, MAGIC_SIZE) != 0)
        return no(a, false, "no magic \"#HUDI#\"");
    if (left < MAGIC_SIZE + LENGTH_SIZE)
        return no(a, false, "the block is cut off in its length");
    SL_TRY(fetch(l, offset, sizeof head, head, err));
    int64_t length = (int64_t)be(head + MAGIC_SIZE, LENGTH_SIZE);
    if (length < LEAST)
        return no(a, false, "the block's length is %lld", (long long)length);
    if (length > left - (int64_t)sizeof head)
        return no(a, false, "the block is cut off: its length is %lld and %lld bytes are left", (long long)length,
                  (long long)(left - (int64_t)sizeof head));
    a->block->size = (int64_t)sizeof head + length;
    a->end = offset + a->block->size - TRAILER_SIZE;
    SL_TRY(fetch_number(l, a->end, TRAILER_SIZE, &total, err));
    if (total != (uint64_t)length + MAGIC_SIZE) {
        SL_TRY(is_border(l, a->end + TRAILER_SIZE, &border, err));
        /* Zeros are what a file has that grew before its bytes came. */
        return no(a, border && total != 0, "the lengths %lld and %lld do not agree", (long long)length, (long long)total);
    }
    return read_parts(l, a, err);
}

/* ---- damage ---- */

/* The next magic at or after FROM, or the end of the file. */
static int find_magic(struct sl_hudi_log *l, int64_t from, int64_t *out, sl_err *err)
{
    char piece[WINDOW];

    while (l->source.size - from >= MAGIC_SIZE) {
        int64_t left = l->source.size - from;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;

        SL_TRY(fetch(l, from, n, piece, err));
        const char *hit = memmem(piece, n, magic, MAGIC_SIZE);
        if (hit) {
            *out = from + (hit - piece);
            return SL_OK;
        }
        from += (int64_t)n - MAGIC_SIZE + 1;
    }
    *out = l->source.size;
    return SL_OK;
}

/* Does the last word before END say that a block within [START, END) was written to its end? */
static int ends_whole(struct sl_hudi_log *l, int64_t start, int64_t end, bool *whole, sl_err *err)
{
    uint64_t total;

    *whole = false;
    if (end - start < MAGIC_SIZE + LENGTH_SIZE + LEAST)
        return SL_OK;
    SL_TRY(fetch_number(l, end - TRAILER_SIZE, TRAILER_SIZE, &total, err));
    if (total >= MAGIC_SIZE + LEAST && total <= (uint64_t)(end - TRAILER_SIZE - start))
        return is_border(l, end - TRAILER_SIZE - (int64_t)total, whole, err);
    return SL_OK;
}

/* From what A says does not stand at the offset up to the next whole block. */
static int skip_damage(struct sl_hudi_log *l, struct attempt *a, struct sl_hudi_damage *out, sl_err *err)
{
    struct sl_hudi_block other;
    struct attempt next = {.block = &other, .arena = a->arena};
    int64_t at = l->offset + 1;
    bool whole;

    *out = (struct sl_hudi_damage){.offset = l->offset, .whole = a->whole};
    memcpy(out->why, a->why, sizeof out->why);
    for (;; at++) {
        SL_TRY(find_magic(l, at, &at, err));
        if (l->source.size - at < MAGIC_SIZE)
            break;
        SL_TRY(attempt(l, at, &next, err));
        if (next.ok || next.unsupported)
            break;
        out->whole |= next.whole;
    }
    at = l->source.size - at < MAGIC_SIZE ? l->source.size : at;
    SL_TRY(ends_whole(l, l->offset, at, &whole, err));
    out->whole |= whole;
    out->length = at - l->offset;
    l->offset = at;
    return SL_OK;
}

int sl_hudi_log_next(struct sl_hudi_log *l, struct sl_arena *arena, enum sl_hudi_item *item, struct sl_hudi_block *block,
                     struct sl_hudi_damage *damage, sl_err *err)
{
    struct attempt a = {.block = block, .arena = arena};
    int64_t left = l->source.size - l->offset;

    *item = SL_HUDI_ITEM_END;
    if (left <= 0)
        return SL_OK;
    if (left < MAGIC_SIZE) {
        *item = SL_HUDI_ITEM_DAMAGE;
        *damage = (struct sl_hudi_damage){.offset = l->offset, .length = left, .why = "the block is cut off in its magic"};
        l->offset = l->source.size;
        return SL_OK;
    }
    SL_TRY(attempt(l, l->offset, &a, err));
    if (a.unsupported) {
        l->offset += block->size;
        return sl_err_set(err, SL_EUNSUPPORTED, "the log block at offset %lld: %s", (long long)block->offset, a.why);
    }
    if (!a.ok) {
        *item = SL_HUDI_ITEM_DAMAGE;
        return skip_damage(l, &a, damage, err);
    }
    *item = SL_HUDI_ITEM_BLOCK;
    l->offset += block->size;
    return SL_OK;
}
