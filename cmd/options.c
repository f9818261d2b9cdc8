#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

static sl_str view(const char *text)
{
    return (sl_str){text, strlen(text)};
}

const char *cmd_warehouse(const char *given)
{
    const char *env = getenv("SLUICE_WAREHOUSE");

    if (given && *given)
        return given;
    return env && *env ? env : "./warehouse";
}

/* ---- nearest name: the number of letters to change, add, drop or swap ---- */

enum { NAME_MAX_LENGTH = 40 };

static int distance(const char *a, const char *b)
{
    int rows[3][NAME_MAX_LENGTH + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
        return NAME_MAX_LENGTH;
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = before[j - 1] + (a[i - 1] != b[j - 1]);

            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_before[j - 2] + 1 < best)
                best = two_before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *cmd_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    int least = (int)strlen(text) / 3 + 1;

    for (; *names; names++) {
        int d = distance(text, *names);

        /* The start of a name is near as well: --part for --partition. */
        if (strlen(text) >= 3 && strncmp(text, *names, strlen(text)) == 0)
            d = 1;
        if (d <= least && (!nearest || d < least)) {
            nearest = *names;
            least = d;
        }
    }
    return nearest;
}

/* ---- help ---- */

static void print_lines(const char *text, const char *indent)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        printf("%s%.*s\n", n ? indent : "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* Prints words from column 0 of a field that starts at INDENT, breaking lines before 80 columns. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent;

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (column > indent && column + 1 + (int)n > 79) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)n, text);
        column += (int)n;
        if (text[n] == '\n') {
            printf("\n%*s", indent, "");
            column = indent;
        }
        text += n + (text[n] != '\0');
    }
    putchar('\n');
}

static void print_option(const struct cmd_option *o)
{
    enum { HELP_COLUMN = 30 };
    char left[80], letter[8] = "    ";

    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    if (strlen(left) + 2 > HELP_COLUMN)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(o->help, HELP_COLUMN);
}

void cmd_print_help(const struct cmd_spec *spec)
{
    static const struct cmd_option help = {"help", 'h', CMD_FLAG, NULL, NULL, "Show this text."};
    const char *line = spec->synopsis;

    for (const char *head = "Usage:"; *line || head[0] == 'U'; head = "      ") {
        size_t n = strcspn(line, "\n");

        printf("%s sluice %s%s%.*s\n", head, spec->name, n ? " " : "", (int)n, line);
        line += n + (line[n] == '\n');
    }
    printf("\n%s\n\nOptions:\n", spec->about);
    for (const struct cmd_option *o = spec->options; o->name; o++)
        print_option(o);
    print_option(&help);
    if (spec->examples) {
        printf("\nExamples:\n");
        print_lines(spec->examples, "  ");
    }
}

/* ---- parsing ---- */

static int bad_value(const struct cmd_option *o, const char *text, const char *want, sl_err *err)
{
    return sl_err_set(err, SL_EUSAGE, "option --%s: \"%s\" is not %s", o->name, text, want);
}

static int set_value(const struct cmd_option *o, const char *text, sl_err *err)
{
    struct cmd_list *list = o->value;

    switch (o->kind) {
    case CMD_FLAG:
        *(bool *)o->value = true;
        return SL_OK;
    case CMD_TEXT:
        *(const char **)o->value = text;
        return SL_OK;
    case CMD_LIST:
        if (list->n == CMD_LIST_MAX)
            return sl_err_set(err, SL_EUSAGE, "option --%s is given more than %d times", o->name, CMD_LIST_MAX);
        list->v[list->n++] = text;
        return SL_OK;
    case CMD_COUNT:
        if (sl_parse_u64(view(text), o->value) && *(uint64_t *)o->value > 0)
            return SL_OK;
        return bad_value(o, text, "a number from 1", err);
    case CMD_NUMBER:
        return sl_parse_i64(view(text), o->value) ? SL_OK : bad_value(o, text, "a whole number", err);
    case CMD_SIZE:
        return sl_parse_bytes(view(text), o->value) ? SL_OK : bad_value(o, text, "a size such as 64MB", err);
    case CMD_TIME:
        return sl_parse_millis(view(text), o->value) ? SL_OK : bad_value(o, text, "a time such as 10s", err);
    }
    return SL_EBUG;
}

static int unknown_option(const struct cmd_spec *spec, const char *name, sl_err *err)
{
    const char *names[128] = {"help"};
    size_t n = 1;

    for (const struct cmd_option *o = spec->options; o->name && n + 1 < sizeof names / sizeof *names; o++)
        names[n++] = o->name;
    const char *nearest = cmd_nearest(name, names);
    sl_err_set(err, SL_EUSAGE, "\"sluice %s\" has no option --%s", spec->name, name);
    if (nearest)
        sl_err_hint(err, "did you mean --%s?", nearest);
    else
        sl_err_hint(err, "\"sluice %s --help\" lists them", spec->name);
    return SL_EUSAGE;
}

static const struct cmd_option *find_option(const struct cmd_spec *spec, const char *name, size_t n, char letter)
{
    for (const struct cmd_option *o = spec->options; o->name; o++) {
        if (name && strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
        if (!name && o->letter == letter)
            return o;
    }
    return NULL;
}

struct parse {
    const struct cmd_spec *spec;
    int argc, at;
    char **argv;
};

static int need_value(struct parse *p, const struct cmd_option *o, sl_err *err)
{
    if (p->at + 1 >= p->argc)
        return sl_err_set(err, SL_EUSAGE, "option --%s needs a value: --%s %s", o->name, o->name, o->arg);
    return set_value(o, p->argv[++p->at], err);
}

static int parse_long(struct parse *p, const char *text, sl_err *err)
{
    size_t n = strcspn(text, "=");
    const struct cmd_option *o = find_option(p->spec, text, n, 0);
    char name[64];

    if (!o) {
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        return unknown_option(p->spec, name, err);
    }
    if (o->kind == CMD_FLAG && text[n] == '=')
        return sl_err_set(err, SL_EUSAGE, "option --%s takes no value", o->name);
    if (o->kind == CMD_FLAG)
        return set_value(o, NULL, err);
    return text[n] == '=' ? set_value(o, text + n + 1, err) : need_value(p, o, err);
}

/* -v, -vw DIR, -wDIR */
static int parse_letters(struct parse *p, const char *text, sl_err *err)
{
    for (; *text; text++) {
        const struct cmd_option *o = find_option(p->spec, NULL, 0, *text);

        if (!o) {
            sl_err_set(err, SL_EUSAGE, "\"sluice %s\" has no option -%c", p->spec->name, *text);
            sl_err_hint(err, "\"sluice %s --help\" lists them", p->spec->name);
            return SL_EUSAGE;
        }
        if (o->kind != CMD_FLAG)
            return text[1] ? set_value(o, text + 1, err) : need_value(p, o, err);
        int rc = set_value(o, NULL, err);
        if (rc != SL_OK)
            return rc;
    }
    return SL_OK;
}

int cmd_parse(const struct cmd_spec *spec, int argc, char **argv, int *operands, bool *help, sl_err *err)
{
    struct parse p = {spec, argc, 1, argv};
    bool only_operands = false;

    *operands = 0;
    *help = false;
    for (; p.at < argc; p.at++) {
        char *text = argv[p.at];
        int rc = SL_OK;

        if (only_operands || text[0] != '-' || text[1] == '\0') {
            argv[(*operands)++] = text;
        } else if (strcmp(text, "--") == 0) {
            only_operands = true;
        } else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            cmd_print_help(spec);
            *help = true;
            return SL_OK;
        } else if (text[1] == '-') {
            rc = parse_long(&p, text + 2, err);
        } else {
            rc = parse_letters(&p, text + 1, err);
        }
        if (rc != SL_OK)
            return rc;
    }
    return SL_OK;
}

int cmd_operands(const struct cmd_spec *spec, int count, int least, int most, sl_err *err)
{
    if (count >= least && (most < 0 || count <= most))
        return SL_OK;
    sl_err_set(err, SL_EUSAGE, "\"sluice %s\" was given too %s operands", spec->name, count < least ? "few" : "many");
    sl_err_hint(err, "sluice %s %.*s", spec->name, (int)strcspn(spec->synopsis, "\n"),
             spec->synopsis);
    return SL_EUSAGE;
}
