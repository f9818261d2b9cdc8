/* path.c - folder names of partitions. */
#include "format/paimon.h"

#include <string.h>

#include "base/sys.h"

static void add_escaped(struct sl_buf *out, sl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char ch = (unsigned char)s.p[i];

        if (ch < 0x20 || ch == 0x7f || strchr("\"#%'*/:=?\\{}[]^", ch))
            sl_buf_printf(out, "%%%02X", ch);
        else
            sl_buf_ch(out, (char)ch);
    }
}

static bool is_blank(sl_str s)
{
    return sl_str_trim(s).n == 0;
}

static void civil(struct sl_buf *out, int64_t days)
{
    int64_t y;
    int m, d;

    sl_days_to_civil(days, &y, &m, &d);
    sl_buf_printf(out, "%04lld-%02d-%02d", (long long)y, m, d);
}

static void fraction(struct sl_buf *out, int64_t nanos, int digits)
{
    char text[16];

    snprintf(text, sizeof text, "%09lld", (long long)nanos);
    sl_buf_printf(out, ".%.*s", digits, text);
}

/* Java's LocalDateTime.toString: seconds only if needed, fraction in groups of three. */
static void java_time(struct sl_buf *out, int64_t second_of_day, int64_t nanos)
{
    sl_buf_printf(out, "%02d:%02d", (int)(second_of_day / 3600), (int)(second_of_day / 60 % 60));
    if (second_of_day % 60 || nanos)
        sl_buf_printf(out, ":%02d", (int)(second_of_day % 60));
    if (nanos)
        fraction(out, nanos, nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9);
}

static void timestamp(struct sl_buf *out, const struct sl_type *t, const struct sl_value *v, bool legacy)
{
    int64_t ms = v->u.t.ms, day = ms / 86400000, rest = ms % 86400000;

    if (rest < 0) {
        rest += 86400000;
        day--;
    }
    int64_t nanos = rest % 1000 * 1000000 + v->u.t.ns;
    civil(out, day);
    if (legacy) {
        sl_buf_ch(out, 'T');
        java_time(out, rest / 1000, nanos);
        return;
    }
    rest /= 1000;
    sl_buf_printf(out, " %02d:%02d:%02d", (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
    if (t->precision)
        fraction(out, nanos, (int)t->precision);
}

static int value_name(const struct sl_field *f, const struct sl_value *v, bool legacy, struct sl_buf *out, sl_err *err)
{
    switch (f->type->kind) {
    case SL_CHAR:
    case SL_VARCHAR:
        sl_buf_add(out, v->u.s);
        break;
    case SL_BOOLEAN:
        sl_buf_addc(out, v->u.b ? "true" : "false");
        break;
    case SL_TINYINT:
    case SL_SMALLINT:
    case SL_INT:
    case SL_BIGINT:
        sl_buf_printf(out, "%lld", (long long)v->u.i);
        break;
    case SL_DATE:
        if (legacy)
            sl_buf_printf(out, "%lld", (long long)v->u.i);
        else
            civil(out, v->u.i);
        break;
    case SL_TIMESTAMP:
    case SL_TIMESTAMP_LTZ:
        timestamp(out, f->type, v, legacy);
        break;
    case SL_DECIMAL:
        sl_value_text(out, f->type, v);
        break;
    default:
        return sl_err_set(err, SL_EUNSUPPORTED, "folders of partitions by column \"%s\" are not supported: readers disagree on its type", f->name);
    }
    return sl_buf_ok(out, err);
}

int sl_partition_path(const struct sl_schema *s, const struct sl_value *values, struct sl_buf *out, sl_err *err)
{
    const char *name = sl_schema_option(s, "partition.default-name");
    struct sl_buf text = SL_BUF_INIT;
    bool legacy;
    int rc;

    SL_GO(sl_schema_option_bool(s, "partition.legacy-name", true, &legacy, err));
    for (size_t i = 0; i < s->npartition; i++) {
        const struct sl_field *f = &s->fields[s->partition_index[i]];

        sl_buf_reset(&text);
        if (!values[i].null)
            SL_GO(value_name(f, &values[i], legacy, &text, err));
        if (values[i].null || is_blank(sl_buf_view(&text))) {
            sl_buf_reset(&text);
            sl_buf_addc(&text, name ? name : "__DEFAULT_PARTITION__");
        }
        if (i)
            sl_buf_ch(out, '/');
        add_escaped(out, sl_str_c(s->partition_keys[i]));
        sl_buf_ch(out, '=');
        add_escaped(out, sl_buf_view(&text));
    }
    SL_GO(sl_buf_ok(&text, err));
    rc = sl_buf_ok(out, err);
done:
    sl_buf_release(&text);
    return rc;
}
