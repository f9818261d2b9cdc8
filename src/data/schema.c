#include "data/schema.h"

#include <string.h>

void sl_schema_release(struct sl_schema *s)
{
    sl_arena_release(&s->arena);
    *s = (struct sl_schema){0};
}

ptrdiff_t sl_schema_index(const struct sl_schema *s, sl_str name)
{
    for (size_t i = 0; i < s->nfields; i++)
        if (sl_str_eqc(name, s->fields[i].name))
            return (ptrdiff_t)i;
    return -1;
}

bool sl_schema_folds(const struct sl_schema *s, size_t i)
{
    const sl_str name = sl_str_c(s->fields[i].name);

    for (size_t k = 0; k < s->nfields; k++) /* case is one bit of a letter, which most other names show at once */
        if (k != i && !((s->fields[k].name[0] ^ *name.p) & ~0x20) && sl_str_ieqc(name, s->fields[k].name))
            return true;
    return false;
}

const struct sl_field *sl_schema_field(const struct sl_schema *s, sl_str name)
{
    ptrdiff_t i = sl_schema_index(s, name);

    return i < 0 ? NULL : &s->fields[i];
}

const struct sl_field *sl_schema_field_by_id(const struct sl_schema *s, int32_t id)
{
    for (size_t i = 0; i < s->nfields; i++)
        if (s->fields[i].id == id)
            return &s->fields[i];
    return NULL;
}

const char *sl_schema_option(const struct sl_schema *s, const char *key)
{
    for (size_t i = 0; i < s->noptions; i++)
        if (strcmp(s->options[i].key, key) == 0)
            return s->options[i].value;
    return NULL;
}

static int wrong(const char *key, const char *value, const char *want, sl_err *err)
{
    return sl_err_set(err, SL_EINPUT, "option '%s' must be %s, found '%.200s'", key, want, value);
}

int sl_schema_option_bytes(const struct sl_schema *s, const char *key, uint64_t dflt, uint64_t *out, sl_err *err)
{
    const char *v = sl_schema_option(s, key);

    *out = dflt;
    return !v || sl_parse_bytes(sl_str_c(v), out) ? SL_OK : wrong(key, v, "a size such as 256 MB", err);
}

int sl_schema_option_millis(const struct sl_schema *s, const char *key, uint64_t dflt, uint64_t *out, sl_err *err)
{
    const char *v = sl_schema_option(s, key);
    uint64_t n;

    *out = dflt;
    if (!v)
        return SL_OK;
    if (sl_parse_u64(sl_str_c(v), &n)) { /* a bare number is milliseconds in Paimon's options */
        *out = n;
        return SL_OK;
    }
    return sl_parse_millis(sl_str_c(v), out) ? SL_OK : wrong(key, v, "a time span such as 10 min", err);
}

int sl_schema_option_i64(const struct sl_schema *s, const char *key, int64_t dflt, int64_t *out, sl_err *err)
{
    const char *v = sl_schema_option(s, key);

    *out = dflt;
    return !v || sl_parse_i64(sl_str_c(v), out) ? SL_OK : wrong(key, v, "a whole number", err);
}

int sl_schema_option_bool(const struct sl_schema *s, const char *key, bool dflt, bool *out, sl_err *err)
{
    const char *v = sl_schema_option(s, key);

    *out = dflt;
    if (!v)
        return SL_OK;
    if (sl_str_ieqc(sl_str_c(v), "true"))
        *out = true;
    else if (sl_str_ieqc(sl_str_c(v), "false"))
        *out = false;
    else
        return wrong(key, v, "true or false", err);
    return SL_OK;
}
