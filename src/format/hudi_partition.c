/* hudi_partition.c - paths of partitions, and the file that makes a folder one. */
#include <string.h>

#include "base/sys.h"
#include "format/format_priv.h"
#include "format/hudi_names.h"
#include "format/hudi_properties.h"

void sl_hudi_partition_level(struct sl_buf *out, sl_str field, sl_str value, bool hive, bool encode)
{
    if (hive) {
        sl_buf_add(out, field);
        sl_buf_ch(out, '=');
    }
    if (value.n == 0)
        sl_buf_addc(out, SL_HUDI_DEFAULT_PARTITION);
    else if (encode)
        sl_format_escape_path(out, value);
    else
        sl_buf_add(out, value);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX undone; what is no escape stays. */
static int unescape(struct sl_arena *a, sl_str s, sl_str *out, sl_err *err)
{
    char *p = sl_arena_strdup(a, s);
    size_t n = 0;

    if (!p)
        return sl_err_nomem(err);
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1, low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;

        if (low >= 0)
            i += 2;
        p[n++] = low >= 0 ? (char)(high * 16 + low) : s.p[i];
    }
    p[n] = '\0';
    *out = (sl_str){p, n};
    return SL_OK;
}

/* Level I of PATH; false if it does not have exactly N. */
static bool level_of(sl_str path, size_t i, size_t n, sl_str *out)
{
    size_t at = 0, level = 0;

    for (;; level++) {
        size_t end = at;

        while (end < path.n && path.p[end] != '/')
            end++;
        if (level == i)
            *out = sl_str_sub(path, at, end);
        if (end >= path.n)
            break;
        at = end + 1;
    }
    return level + 1 == n && i < n;
}

int sl_hudi_partition_value(struct sl_arena *a, sl_str path, size_t i, size_t nlevels, sl_str field, bool hive, bool encoded,
                            sl_str *value, bool *null_, sl_err *err)
{
    sl_str level;

    *null_ = false;
    if (!level_of(path, i, nlevels, &level))
        return sl_err_set(err, SL_ECORRUPT, "the partition path \"" SL_STRF "\" has not the %zu levels of the table", SL_STRV(path), nlevels);
    if (hive) {
        if (level.n <= field.n || level.p[field.n] != '=' || memcmp(level.p, field.p, field.n) != 0)
            return sl_err_set(err, SL_ECORRUPT, "level %zu of the partition path \"" SL_STRF "\" is not one of \"" SL_STRF "\"", i + 1,
                              SL_STRV(path), SL_STRV(field));
        level = sl_str_sub(level, field.n + 1, level.n);
    }
    *null_ = level.n == 0 || sl_str_eqc(level, SL_HUDI_DEFAULT_PARTITION);
    if (encoded)
        return unescape(a, level, value, err);
    *value = (sl_str){sl_arena_strdup(a, level), level.n};
    return value->p ? SL_OK : sl_err_nomem(err);
}

void sl_hudi_partition_file_put(struct sl_buf *out, int64_t instant, int depth, int64_t now_millis)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    sl_buf_addc(out, "#partition metadata\n");
    sl_hudi_date_comment(out, now_millis);
    sl_buf_printf(out, "commitTime=%s\npartitionDepth=%d\n", text, depth);
}

int sl_hudi_partition_file_parse(sl_str bytes, int64_t *instant, int64_t *depth, sl_err *err)
{
    struct sl_hudi_properties p = SL_HUDI_PROPERTIES_INIT;
    int rc;

    *instant = *depth = 0;
    SL_GO(sl_hudi_properties_parse(bytes, &p, err));
    if (!sl_hudi_instant_parse(sl_hudi_properties_get(&p, "commitTime"), instant) ||
        !sl_parse_i64(sl_hudi_properties_get(&p, "partitionDepth"), depth) || *depth < 0)
        rc = sl_err_set(err, SL_ECORRUPT, "\"" SL_HUDI_PARTITION_FILE "\" has no commitTime or no partitionDepth");
done:
    sl_hudi_properties_release(&p);
    return rc;
}
