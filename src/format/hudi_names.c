/* hudi_names.c - instants, timeline files, base and log files. */
#include "format/hudi_names.h"

#include <string.h>

#include "base/sys.h"

/* ---- instants ---- */

static bool digits(sl_str s, int64_t *out)
{
    int64_t v = 0;

    if (s.n == 0 || s.n > 18)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v * 10 + (s.p[i] - '0');
    }
    *out = v;
    return true;
}

bool sl_hudi_instant_parse(sl_str text, int64_t *out)
{
    int64_t v;

    if ((text.n != 17 && text.n != 14) || !digits(text, &v))
        return false;
    *out = text.n == 17 ? v : v * 1000 + 999;
    return true;
}

void sl_hudi_instant_text(int64_t instant, char out[18])
{
    uint64_t v = instant > 0 ? (uint64_t)instant : 0;

    for (int i = 16; i >= 0; i--, v /= 10)
        out[i] = (char)('0' + v % 10);
    out[17] = '\0';
}

int64_t sl_hudi_instant_of_millis(int64_t epoch_ms)
{
    int64_t days = epoch_ms / 86400000 - (epoch_ms % 86400000 < 0), ms = epoch_ms - days * 86400000, y;
    int m, d;

    sl_days_to_civil(days, &y, &m, &d);
    return (((((y * 100 + m) * 100 + d) * 100 + ms / 3600000) * 100 + ms / 60000 % 60) * 100 + ms / 1000 % 60) * 1000 + ms % 1000;
}

bool sl_hudi_instant_millis(int64_t instant, int64_t *epoch_ms)
{
    int64_t ms = instant % 1000, s = instant / 1000 % 100, minute = instant / 100000 % 100, h = instant / 10000000 % 100;
    int64_t d = instant / 1000000000 % 100, m = instant / 100000000000 % 100, y = instant / 10000000000000;

    if (instant < 0 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 || h > 23 || minute > 59 || s > 59)
        return false;
    int64_t days = sl_civil_to_days(y, (int)m, (int)d), back_y;
    int back_m, back_d;
    sl_days_to_civil(days, &back_y, &back_m, &back_d);
    *epoch_ms = days * 86400000 + h * 3600000 + minute * 60000 + s * 1000 + ms;
    return back_m == m && back_d == d; /* no 31st of a short month */
}

/* ---- files of the timeline ---- */

static const char *const actions[SL_HUDI_NACTIONS] = {
    [SL_HUDI_COMMIT] = "commit",       [SL_HUDI_DELTACOMMIT] = "deltacommit",     [SL_HUDI_COMPACTION] = "compaction",
    [SL_HUDI_LOGCOMPACTION] = "logcompaction", [SL_HUDI_REPLACECOMMIT] = "replacecommit", [SL_HUDI_CLUSTERING] = "clustering",
    [SL_HUDI_ROLLBACK] = "rollback",   [SL_HUDI_CLEAN] = "clean",                 [SL_HUDI_SAVEPOINT] = "savepoint",
    [SL_HUDI_RESTORE] = "restore",     [SL_HUDI_INDEXING] = "indexing",           [SL_HUDI_SCHEMACOMMIT] = "schemacommit",
};

const char *sl_hudi_action_name(enum sl_hudi_action a)
{
    return (unsigned)a < SL_HUDI_NACTIONS ? actions[a] : "?";
}

bool sl_hudi_action_parse(sl_str name, enum sl_hudi_action *out)
{
    for (int i = 0; i < SL_HUDI_NACTIONS; i++)
        if (sl_str_eqc(name, actions[i])) {
            *out = (enum sl_hudi_action)i;
            return true;
        }
    return false;
}

/* S up to the first C, which goes too; all of S if there is none. */
static sl_str cut(sl_str *s, char c)
{
    sl_str head = *s;
    const char *at = s->n ? memchr(s->p, c, s->n) : NULL;

    if (at) {
        head.n = (size_t)(at - s->p);
        *s = sl_str_sub(*s, head.n + 1, s->n);
    } else {
        *s = (sl_str){NULL, 0};
    }
    return head;
}

bool sl_hudi_timeline_parse(sl_str name, int layout, struct sl_hudi_timeline_name *out)
{
    sl_str rest = name, times = cut(&rest, '.'), action = cut(&rest, '.'), state = rest;

    *out = (struct sl_hudi_timeline_name){.state = SL_HUDI_COMPLETED};
    out->text = layout == 2 ? cut(&times, '_') : times;
    if (!sl_hudi_instant_parse(out->text, &out->instant))
        return false;
    if (state.p)
        out->state = sl_str_eqc(state, "requested") ? SL_HUDI_REQUESTED : SL_HUDI_INFLIGHT;
    if (state.p && out->state == SL_HUDI_INFLIGHT && !sl_str_eqc(state, "inflight"))
        return false;
    if (!state.p && sl_str_eqc(action, "inflight")) { /* of a commit, by its old name */
        out->state = SL_HUDI_INFLIGHT;
        action = SL_LIT("commit");
    }
    if (!sl_hudi_action_parse(action, &out->action))
        return false;
    if (layout != 2)
        return true;
    if (out->state == SL_HUDI_COMPLETED)
        return sl_hudi_instant_parse(times, &out->completion);
    return times.p == NULL;
}

enum sl_hudi_action sl_hudi_action_completed(enum sl_hudi_action a)
{
    return a == SL_HUDI_COMPACTION ? SL_HUDI_COMMIT : a == SL_HUDI_LOGCOMPACTION ? SL_HUDI_DELTACOMMIT
           : a == SL_HUDI_CLUSTERING ? SL_HUDI_REPLACECOMMIT : a;
}

void sl_hudi_timeline_put(struct sl_buf *out, int64_t instant, enum sl_hudi_action action, enum sl_hudi_state state)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    if (state == SL_HUDI_INFLIGHT && action == SL_HUDI_COMMIT)
        sl_buf_printf(out, "%s.inflight", text);
    else if (state == SL_HUDI_COMPLETED)
        sl_buf_printf(out, "%s.%s", text, sl_hudi_action_name(sl_hudi_action_completed(action)));
    else
        sl_buf_printf(out, "%s.%s.%s", text, sl_hudi_action_name(action), state == SL_HUDI_REQUESTED ? "requested" : "inflight");
}

/* ---- data files ---- */

bool sl_hudi_file_id_ok(sl_str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] == '_' || id.p[i] == '.' || id.p[i] == '/' || id.p[i] == '\0')
            return false;
    return id.n > 0;
}

static bool has_slash(sl_str name)
{
    return name.n && (memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n));
}

bool sl_hudi_base_parse(sl_str name, struct sl_hudi_base_name *out)
{
    sl_str rest = name;

    out->file_id = cut(&rest, '_');
    out->token = cut(&rest, '_');
    out->text = cut(&rest, '.');
    out->extension = rest;
    return !has_slash(name) && sl_hudi_file_id_ok(out->file_id) && out->token.n && rest.n && !memchr(rest.p, '.', rest.n) &&
           sl_hudi_instant_parse(out->text, &out->instant);
}

void sl_hudi_base_put(struct sl_buf *out, sl_str file_id, sl_str token, int64_t instant)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    sl_buf_printf(out, SL_STRF "_" SL_STRF "_%s.parquet", SL_STRV(file_id), SL_STRV(token), text);
}

static bool token_ok(sl_str token)
{
    int parts = 0;
    int64_t n;

    for (; token.p; parts++) {
        sl_str part = cut(&token, '-');

        if (!digits(part, &n))
            return false;
    }
    return parts == 3;
}

bool sl_hudi_log_parse(sl_str name, struct sl_hudi_log_name *out)
{
    sl_str rest = name;

    *out = (struct sl_hudi_log_name){0};
    if (name.n < 2 || name.p[0] != '.' || has_slash(name))
        return false;
    rest = sl_str_sub(name, 1, name.n);
    out->file_id = cut(&rest, '_');
    out->text = cut(&rest, '.');
    sl_str kind = cut(&rest, '.');
    if (rest.n > 4 && sl_str_ends(rest, ".cdc")) {
        out->cdc = true;
        rest.n -= 4;
    }
    sl_str version = cut(&rest, '_');
    out->token = rest.p ? rest : (sl_str){"", 0};
    return sl_hudi_file_id_ok(out->file_id) && sl_str_eqc(kind, "log") && sl_hudi_instant_parse(out->text, &out->instant) &&
           digits(version, &out->version) && (!rest.p || token_ok(rest));
}

void sl_hudi_log_put(struct sl_buf *out, sl_str file_id, int64_t instant, int64_t version, sl_str token)
{
    char text[18];

    sl_hudi_instant_text(instant, text);
    sl_buf_printf(out, "." SL_STRF "_%s.log.%lld_" SL_STRF, SL_STRV(file_id), text, (long long)version, SL_STRV(token));
}

int sl_hudi_log_cmp(const struct sl_hudi_log_name *a, const struct sl_hudi_log_name *b)
{
    if (a->instant != b->instant)
        return a->instant < b->instant ? -1 : 1;
    if (a->version != b->version)
        return a->version < b->version ? -1 : 1;
    int order = sl_str_cmp(a->token, b->token);
    return order ? order : (int)a->cdc - (int)b->cdc;
}

void sl_hudi_file_id_new(struct sl_buf *out)
{
    char uuid[37];

    sl_uuid(uuid);
    sl_buf_printf(out, "%s-0", uuid);
}
