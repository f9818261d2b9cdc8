/* DuckDB's errors, which come as JSON ('errors_as_json'), turned into ours. */
#include <string.h>

#include "base/json.h"
#include "engine/engine_priv.h"

#define MARK "sluice error "

void sl_engine__stash(struct sl_engine *e, const sl_err *err, char *text, size_t size)
{
    pthread_mutex_lock(&e->lock);
    uint64_t ticket = ++e->next_ticket;
    e->stash[ticket % STASH_SIZE] = (struct sl_stashed){ticket, *err};
    pthread_mutex_unlock(&e->lock);
    snprintf(text, size, MARK "%llu: %s", (unsigned long long)ticket, err->text);
}

/* An error of our own callbacks: the ticket leads to it. */
static bool unstash(struct sl_engine *e, const char *message, sl_err *err, int *code)
{
    const char *at = strstr(message, MARK);
    uint64_t ticket = 0;
    bool found = false;

    if (!at)
        return false;
    for (at += strlen(MARK); *at >= '0' && *at <= '9'; at++)
        ticket = ticket * 10 + (uint64_t)(*at - '0');
    pthread_mutex_lock(&e->lock);
    if (e->stash[ticket % STASH_SIZE].ticket == ticket && ticket) {
        found = true;
        *code = e->stash[ticket % STASH_SIZE].err.code;
        if (err)
            *err = e->stash[ticket % STASH_SIZE].err;
    }
    pthread_mutex_unlock(&e->lock);
    return found;
}

/* Does the text end in what the system said? The engine calls much of what is wrong inside a file "IO" as well. */
static bool names_errno(const char *text)
{
    enum { LAST_ERRNO = 133 };

    for (int e = 1; e <= LAST_ERRNO; e++) {
        const char *words = strerrordesc_np(e);

        if (words && strstr(text, words))
            return true;
    }
    return false;
}

static int code_of(const char *type, const char *text)
{
    static const struct {
        const char *type;
        int code;
    } table[] = {
        {"Parser", SL_ESQL}, {"Syntax", SL_ESQL}, {"Binder", SL_ESQL}, {"Catalog", SL_ESQL}, {"Expression", SL_ESQL},
        {"Parameter Not Resolved", SL_ESQL}, {"Parameter Not Allowed", SL_ESQL}, {"Settings", SL_ESQL},
        {"Invalid Configuration", SL_ESQL}, {"Planner", SL_ESQL}, {"Dependency", SL_ESQL},
        {"Conversion", SL_EINPUT}, {"Invalid Input", SL_EINPUT}, {"Out of Range", SL_EINPUT}, {"Constraint", SL_EINPUT},
        {"Divide by Zero", SL_EINPUT}, {"Mismatch Type", SL_EINPUT}, {"Invalid type", SL_EINPUT}, {"Decimal", SL_EINPUT},
        {"Object Size", SL_EINPUT}, {"Sequence", SL_EINPUT}, {"Index", SL_EINPUT},
        {"Out of Memory", SL_ENOMEM}, {"IO", SL_EIO}, {"HTTP", SL_EIO}, {"Network", SL_EIO}, {"INTERRUPT", SL_ECANCELLED},
        {"Not implemented", SL_EUNSUPPORTED}, {"Missing Extension", SL_EUNSUPPORTED},
        {"Extension Autoloading", SL_EUNSUPPORTED}, {"Permission", SL_EUNSUPPORTED},
        {"Serialization", SL_ECORRUPT}, {"INTERNAL", SL_EBUG}, {"FATAL", SL_EBUG},
    };

    if (strstr(text, "No space left on device") || strstr(text, "Disk quota exceeded") || strstr(text, "File too large"))
        return SL_ENOSPC;
    if (strstr(text, "No files found that match") || strstr(text, "No such file or directory"))
        return SL_ENOTFOUND;
    if (strstr(text, "Out of Memory") || strstr(text, "failed to allocate"))
        return SL_ENOMEM;
    if (strcmp(type, "IO") == 0 && !names_errno(text))
        return SL_ECORRUPT;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(type, table[i].type))
            return table[i].code;
    return SL_EFAIL;
}

/* The first line of TEXT without a closing full stop; REST gets what follows, in one line. */
static void split(const char *text, char *first, size_t first_size, char *rest, size_t rest_size)
{
    size_t n = strcspn(text, "\n"), k = 0;
    const char *p = text + n;

    while (n && (text[n - 1] == '.' || text[n - 1] == '!' || text[n - 1] == ' '))
        n--;
    snprintf(first, first_size, "%.*s", (int)(n < first_size ? n : first_size - 1), text);
    for (; *p && k + 1 < rest_size; p++) {
        char c = *p == '\n' || *p == '\t' ? ' ' : *p;

        if (c != ' ' || (k && rest[k - 1] != ' '))
            rest[k++] = c;
    }
    while (k && rest[k - 1] == ' ')
        k--;
    rest[k] = '\0';
}

static int set(const char *type, const char *text, int64_t offset, sl_err *err)
{
    char first[1200], rest[500];
    int code = code_of(type, text);

    split(text, first, sizeof first, rest, sizeof rest);
    if (code == SL_ECANCELLED)
        return sl_err_set(err, code, "interrupted");
    if (code == SL_EBUG || code == SL_EFAIL)
        sl_err_set(err, code, "DuckDB failed (%s): %s", type, first);
    else
        sl_err_set(err, code, "%s", first);
    if (code == SL_ENOMEM)
        sl_err_hint(err, "give more memory with --memory, or free space where DuckDB spills to");
    else if (rest[0])
        sl_err_hint(err, "%s", rest);
    if (err && code != SL_ENOMEM)
        err->offset = offset;
    return code;
}

int sl_engine__error(struct sl_engine *e, const char *message, size_t shift, sl_err *err)
{
    json_t *j = NULL;
    const char *brace, *type, *text, *position;
    int64_t offset = -1;
    int rc;

    if (!message)
        return sl_err_set(err, SL_EFAIL, "DuckDB failed without a message");
    if (unstash(e, message, err, &rc))
        return rc;
    brace = strchr(message, '{'); /* "Parser Error: {...}" or "{...}" */
    if (brace)
        j = json_loads(brace, JSON_DISABLE_EOF_CHECK, NULL); /* members may stand twice */
    if (j) {
        type = json_string_value(json_object_get(j, "exception_type"));
        text = json_string_value(json_object_get(j, "exception_message"));
        position = json_string_value(json_object_get(j, "position"));
        if (position && sl_parse_i64(sl_str_c(position), &offset))
            offset = offset >= (int64_t)shift ? offset - (int64_t)shift : -1;
        rc = set(type ? type : "?", text ? text : message, offset, err);
        json_decref(j);
        return rc;
    }
    text = strstr(message, " Error: ");
    if (text && text - message < 40) {
        char kind[48];

        snprintf(kind, sizeof kind, "%.*s", (int)(text - message), message);
        return set(kind, text + strlen(" Error: "), -1, err);
    }
    return set("?", message, -1, err);
}
