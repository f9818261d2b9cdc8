/* shell.c - the interactive shell: editing and history by libedit, statements until a ';'. */
#include "shell.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HISTORY_SIZE = 2000, WORDS_MAX = 400 };

struct shell {
    struct sl_session *session;
    struct cmd_result *out;
    EditLine *el;
    History *history;
    char *text; /* the statement so far */
    size_t n;
    char history_file[4096];
    char *words[WORDS_MAX]; /* completions */
    size_t nwords;
};

/* ---- signals: Ctrl-C ends the statement, never the shell ---- */

static void on_interrupt(int number)
{
    (void)number;
    sl_cancel();
}

static void catch_interrupt(struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_interrupt};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, before);
}

/* ---- prompt and completion ---- */

static struct shell *shell_of(EditLine *el)
{
    void *data = NULL;

    el_get(el, EL_CLIENTDATA, &data);
    return data;
}

static char *prompt(EditLine *el)
{
    static char first[] = "sluice> ", more[] = "   ...> ";

    return shell_of(el)->n > 0 ? more : first;
}

static void add_word(void *user, const char *word)
{
    struct shell *sh = user;

    if (sh->nwords < WORDS_MAX) {
        char *copy = strdup(word);

        if (copy)
            sh->words[sh->nwords++] = copy;
    }
}

static void clear_words(struct shell *sh)
{
    for (size_t i = 0; i < sh->nwords; i++)
        free(sh->words[i]);
    sh->nwords = 0;
}

/* How many bytes all words have in common. */
static size_t common(const struct shell *sh)
{
    size_t n = strlen(sh->words[0]);

    for (size_t i = 1; i < sh->nwords; i++) {
        size_t k = 0;

        while (k < n && sh->words[i][k] == sh->words[0][k])
            k++;
        n = k;
    }
    return n;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80);
}

static void list_words(const struct shell *sh)
{
    fputc('\n', stdout);
    for (size_t i = 0; i < sh->nwords; i++)
        printf("%s%s", sh->words[i], (i + 1) % 6 == 0 || i + 1 == sh->nwords ? "\n" : "  ");
    fflush(stdout);
}

static unsigned char complete(EditLine *el, int ch)
{
    struct shell *sh = shell_of(el);
    const LineInfo *line = el_line(el);
    const char *from = line->cursor;
    unsigned char answer = CC_ERROR;
    char *all;
    sl_err err = SL_ERR_INIT;

    (void)ch;
    while (from > line->buffer && is_word(from[-1]))
        from--;
    const size_t before = (size_t)(from - line->buffer), prefix = (size_t)(line->cursor - from);
    all = malloc(sh->n + (size_t)(line->lastchar - line->buffer) + 1);
    if (!all)
        return CC_ERROR;
    if (sh->n > 0)
        memcpy(all, sh->text, sh->n);
    memcpy(all + sh->n, line->buffer, (size_t)(line->lastchar - line->buffer));
    const sl_str text = {all, sh->n + (size_t)(line->lastchar - line->buffer)};
    const sl_str word = {all + sh->n + before, prefix};
    if (sl_session_completions(sh->session, text, word, add_word, sh, &err) == SL_OK &&
        sh->nwords > 0) {
        size_t n = common(sh);

        if (n > prefix || sh->nwords == 1) {
            sh->words[0][n] = '\0';
            el_deletestr(el, (int)prefix);
            el_insertstr(el, sh->words[0]);
            if (sh->nwords == 1)
                el_insertstr(el, " ");
            answer = CC_REFRESH;
        } else {
            list_words(sh);
            answer = CC_REDISPLAY;
        }
    }
    clear_words(sh);
    free(all);
    return answer;
}

/* ---- history ---- */

static void open_history(struct shell *sh)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    HistEvent event;

    sh->history = history_init();
    if (!sh->history)
        return;
    history(sh->history, &event, H_SETSIZE, HISTORY_SIZE);
    history(sh->history, &event, H_SETUNIQUE, 1);
    if (state)
        snprintf(sh->history_file, sizeof sh->history_file, "%s/sluice_history", state);
    else if (home)
        snprintf(sh->history_file, sizeof sh->history_file, "%s/.sluice_history", home);
    if (sh->history_file[0])
        history(sh->history, &event, H_LOAD, sh->history_file);
    el_set(sh->el, EL_HIST, history, sh->history);
}

static void close_history(struct shell *sh)
{
    HistEvent event;

    if (!sh->history)
        return;
    if (sh->history_file[0] && history(sh->history, &event, H_SAVE, sh->history_file) >= 0)
        chmod(sh->history_file, 0600);
    history_end(sh->history);
}

static void remember(struct shell *sh)
{
    HistEvent event;
    char *line = sh->history ? strdup(sh->text) : NULL;

    if (!line)
        return;
    for (char *p = line; *p; p++)
        if (*p == '\n' && p[1])
            *p = ' ';
    history(sh->history, &event, H_ENTER, line);
    free(line);
}

/* ---- lines ---- */

static void run_text(struct shell *sh, sl_str text)
{
    sl_err err = SL_ERR_INIT;
    int rc = cmd_sql_run(sh->session, sh->out, text, NULL, &err);

    if (rc != SL_OK) {
        err.code = rc;
        cmd_print_error(&err);
    }
    sl_cancel_reset();
    fflush(stdout);
}

static void print_help(void)
{
    printf("Statements end with ';' and may take several lines. Tab completes words, Ctrl-C ends\n"
           "what runs, Ctrl-D leaves.\n\n"
           "  .help            this text\n"
           "  .tables          the tables of the database\n"
           "  .quit            leave\n\n"
           "SHOW TABLES, DESCRIBE t, SHOW CREATE TABLE t, SELECT * FROM t$snapshots, EXPLAIN "
           "SELECT ...\n");
}

/* A command of the shell itself; *QUIT says it is over. False if LINE is none. */
static bool dot_command(struct shell *sh, const char *line, bool *quit)
{
    char word[32];

    if (sh->n > 0 || line[0] != '.' || sscanf(line, "%31s", word) != 1)
        return false;
    if (strcmp(word, ".quit") == 0 || strcmp(word, ".exit") == 0)
        *quit = true;
    else if (strcmp(word, ".help") == 0)
        print_help();
    else if (strcmp(word, ".tables") == 0)
        run_text(sh, (sl_str){"SHOW TABLES;", 12});
    else
        fprintf(stderr, "sluice: error: there is no command \"%s\"; .help lists them\n", word);
    return true;
}

static int add_line(struct shell *sh, const char *line, int n, sl_err *err)
{
    char *grown = realloc(sh->text, sh->n + (size_t)n + 1);

    if (!grown)
        return sl_err_set(err, SL_ENOMEM, "out of memory");
    memcpy(grown + sh->n, line, (size_t)n);
    sh->text = grown;
    sh->n += (size_t)n;
    sh->text[sh->n] = '\0';
    return SL_OK;
}

static int read_statements(struct shell *sh, sl_err *err)
{
    bool quit = false;

    while (!quit) {
        int n = 0;
        const char *line = el_gets(sh->el, &n);

        if (sl_cancelled()) { /* Ctrl-C at the prompt gives up what was typed */
            sl_cancel_reset();
            sh->n = 0;
            el_set(sh->el, EL_UNBUFFERED, 0);
            fputc('\n', stdout);
            continue;
        }
        if (!line || n <= 0)
            break;
        if (dot_command(sh, line, &quit))
            continue;
        int rc = add_line(sh, line, n, err);
        if (rc != SL_OK)
            return rc;
        if (!sl_sql_complete((sl_str){sh->text, sh->n}))
            continue;
        remember(sh);
        run_text(sh, (sl_str){sh->text, sh->n});
        sh->n = 0;
    }
    return SL_OK;
}

int cmd_shell(struct sl_session *s, struct cmd_result *out, sl_err *err)
{
    struct shell sh = {.session = s, .out = out};
    struct sigaction before;
    int rc;

    sh.el = el_init("sluice", stdin, stdout, stderr);
    if (!sh.el)
        return sl_err_set(err, SL_EIO, "the terminal can not be used");
    el_set(sh.el, EL_CLIENTDATA, &sh);
    el_set(sh.el, EL_PROMPT, prompt);
    el_set(sh.el, EL_EDITOR, "emacs");
    el_set(sh.el, EL_SIGNAL, 0);
    el_set(sh.el, EL_ADDFN, "sluice-complete", "complete a word", complete);
    el_set(sh.el, EL_BIND, "^I", "sluice-complete", NULL);
    open_history(&sh);
    el_source(sh.el, NULL);
    catch_interrupt(&before);
    printf("sluice %s; .help explains, .quit leaves\n", sl_version());
    rc = read_statements(&sh, err);
    fputc('\n', stdout);
    sigaction(SIGINT, &before, NULL);
    close_history(&sh);
    el_end(sh.el);
    free(sh.text);
    return rc;
}
