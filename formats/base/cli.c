#include "formats/base/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "formats/base/num.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"

enum { HELP_WIDTH = 79, HELP_INDENT = 30, SUGGESTIONS = 160 };

/* ---- messages ---- */

static void print_line(const char *tool, const char *msg)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s: ", tool);
    gp_utf8_clean(&b, msg, strlen(msg)); /* names and paths may be anybody's */
    gp_buf_putc(&b, '\n');
    fwrite(b.data, 1, b.n, stderr);
    gp_buf_release(&b);
}

void gp_cli_error(const struct gp_tool *tool, const struct gp_err *err)
{
    print_line(tool->name, err->msg[0] ? err->msg : "failed");
}

int gp_cli_end(const struct gp_tool *tool, int failed, const struct gp_err *err, int status)
{
    if (failed) gp_cli_error(tool, err);
    return failed ? GP_EXIT_ERROR : status;
}

void gp_cli_warn(const struct gp_tool *tool, const char *fmt, ...)
{
    char msg[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    print_line(tool->name, msg);
}

void gp_cli_say(const void *tool, const char *text)
{
    print_line(((const struct gp_tool *)tool)->name, text);
}

static int misuse(struct gp_tool *tool, const char *fmt, ...) GP_PRINTF(2, 3);

static int misuse(struct gp_tool *tool, const char *fmt, ...)
{
    char msg[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    print_line(tool->name, msg);
    fprintf(stderr, "Try '%s --help' for more information.\n", tool->name);
    tool->status = tool->error_status ? tool->error_status : GP_EXIT_ERROR;
    return -1;
}

/* ---- help ---- */

static const struct gp_option always[] = {
    {'h', "help", NULL, "print this help and exit", GP_OPT_FLAG, 0},
    {'V', "version", NULL, "print the version and exit", GP_OPT_FLAG, 0},
    {0},
};

static void print_usage(const struct gp_tool *tool, FILE *to)
{
    fprintf(to, "usage: %s [OPTION]...%s%s\n", tool->name, tool->operands && *tool->operands ? " " : "",
            tool->operands ? tool->operands : "");
}

/* TEXT from column COLUMN on, broken at spaces, continued at column INDENT. */
static void print_wrapped(struct gp_buf *b, const char *text, int column, int indent)
{
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > HELP_WIDTH) {
            gp_buf_printf(b, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            gp_buf_putc(b, ' ');
            column++;
        }
        gp_buf_put(b, text, (size_t)word);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    gp_buf_putc(b, '\n');
}

static void print_option(struct gp_buf *b, const struct gp_tool *tool, const struct gp_option *option)
{
    struct gp_buf text = {0};
    struct gp_option plain = gp_option_plain(tool, option, &text), *o = &plain;
    size_t start = b->n;
    if (o->letter) gp_buf_printf(b, "  -%c, --%s", o->letter, o->name);
    else gp_buf_printf(b, "      --%s", o->name);
    if (o->arg) gp_buf_printf(b, o->kind == GP_OPT_MAYBE ? "[=%s]" : "=%s", o->arg);
    int column = (int)(b->n - start);
    if (column > HELP_INDENT - 2) {
        gp_buf_putc(b, '\n');
        column = 0;
    }
    gp_buf_printf(b, "%*s", HELP_INDENT - column, "");
    print_wrapped(b, o->help, HELP_INDENT, HELP_INDENT);
    gp_buf_release(&text);
}

static void print_help(const struct gp_tool *tool)
{
    struct gp_buf b = {0};
    print_usage(tool, stdout);
    if (tool->summary) print_wrapped(&b, tool->summary, 0, 0);
    gp_buf_puts(&b, "\noptions:\n");
    for (const struct gp_option *o = tool->options; o->name; o++) print_option(&b, tool, o);
    for (const struct gp_option *o = always; o->name; o++) print_option(&b, tool, o);
    if (tool->example && *tool->example)
        gp_buf_puts(&b, strchr(tool->example, '\n') == strrchr(tool->example, '\n') ? "\nexample:\n"
                                                                                    : "\nexamples:\n");
    for (const char *line = tool->example; line && *line;) {
        size_t n = strcspn(line, "\n");
        gp_buf_printf(&b, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    fwrite(b.data, 1, b.n, stdout);
    gp_buf_release(&b);
}

/* Close standard output and stop; a full disk is an error here, too. */
static int stop_after_printing(struct gp_tool *tool)
{
    tool->status = GP_EXIT_OK;
    if (fflush(stdout) || ferror(stdout)) {
        print_line(tool->name, "standard output: write failed");
        tool->status = tool->error_status ? tool->error_status : GP_EXIT_ERROR;
    }
    return -1;
}

static int help(struct gp_tool *tool)
{
    print_help(tool);
    return stop_after_printing(tool);
}

static int version(struct gp_tool *tool)
{
    printf("%s (gpuprof) %s\n", tool->name, GP_VERSION);
    return stop_after_printing(tool);
}

/* "--completion SHELL", for the installation; --help does not list it. */
static int completion(struct gp_tool *tool, const char *shell)
{
    struct gp_buf b = {0};
    if (gp_completion_put(&b, tool, always, shell))
        return misuse(tool, "--completion: '%s' is not one of bash|zsh|fish", shell);
    fwrite(b.data, 1, b.n, stdout);
    gp_buf_release(&b);
    return stop_after_printing(tool);
}

/* "--help-agent", which is not about this tool: only gpuprof(7) has it. */
static int help_agent(struct gp_tool *tool)
{
    fputs(gp_agent_page, stdout);
    return stop_after_printing(tool);
}

/* ---- parsing ---- */

/* Store VALUE, which must be one of the words that O allows. */
static int choose(const struct gp_tool *tool, const struct gp_option *o, const char *value, const char **at,
                  struct gp_err *err)
{
    struct gp_buf text = {0};
    const char *words = gp_option_plain(tool, o, &text).arg;
    bool good = gp_is_choice(words, value);
    if (good) *at = value;
    else gp_fail(err, GP_E_USAGE, -1, "'%s' is not one of %s", value, words);
    gp_buf_release(&text);
    return good ? 0 : -1;
}

static int parse_columns(const char *value, uint64_t *columns, struct gp_err *err)
{
    *columns = GP_COLUMNS_FULL;
    if (!strcmp(value, "full")) return 0;
    if (gp_parse_size(value, columns, err) || *columns < GP_COLUMNS_LEAST || *columns > GP_COLUMNS_FULL)
        return gp_fail(err, GP_E_USAGE, -1, "'%s' is not a width of %d columns or more, or \"full\"", value,
                       GP_COLUMNS_LEAST);
    return 0;
}

static int store(struct gp_tool *tool, const struct gp_option *o, const char *value, void *opts)
{
    void *at = (char *)opts + o->offset;
    struct gp_err err = {0};
    int bad = 0;
    switch (o->kind) {
    case GP_OPT_FLAG: *(bool *)at = true; break;
    case GP_OPT_STRING: *(const char **)at = value; break;
    case GP_OPT_UINT: bad = gp_parse_size(value, at, &err); break;
    case GP_OPT_DURATION: bad = gp_parse_duration(value, at, &err); break;
    case GP_OPT_SECONDS: bad = gp_parse_seconds(value, at, &err); break;
    case GP_OPT_COLUMNS: bad = parse_columns(value, at, &err); break;
    case GP_OPT_PERCENT: bad = gp_parse_percent(value, at, &err); break;
    case GP_OPT_PROBABILITY: bad = gp_parse_probability(value, at, &err); break;
    case GP_OPT_MAYBE:
        *(const char **)at = "";
        if (!value) break;
        if (!strchr(o->arg, '|')) {
            *(const char **)at = value;
            break;
        } /* fall through */
    case GP_OPT_CHOICE:
    case GP_OPT_FORMAT: bad = choose(tool, o, value, at, &err); break;
    case GP_OPT_LIST:
    case GP_OPT_FILES: GP_VEC_PUSH((struct gp_opt_list *)at, value); break;
    case GP_OPT_END: break;
    }
    if (bad) return misuse(tool, "--%s: %s", o->name, err.msg);
    tool->given |= UINT64_C(1) << (o - tool->options);
    return 0;
}

static const struct gp_option *next_option(const struct gp_tool *tool, size_t i, size_t *n_own)
{
    *n_own = 0;
    while (tool->options[*n_own].name) ++*n_own;
    if (i < *n_own) return &tool->options[i];
    i -= *n_own;
    return i < GP_COUNT(always) - 1 ? &always[i] : NULL;
}

/* How many letters must be put in, left out, changed or swapped with the next one to make A of the N bytes at
 * B; names of options are short, and of longer ones only the beginning counts. */
static size_t letters_apart(const char *a, const char *b, size_t n)
{
    enum { MOST = 40 };
    size_t rows[3][MOST + 1], len = strlen(a);
    if (len > MOST) len = MOST;
    if (n > MOST) n = MOST;
    for (size_t k = 0; k <= n; k++) rows[0][k] = k;
    for (size_t i = 1; i <= len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            row[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
            if (above[k] + 1 < row[k]) row[k] = above[k] + 1;
            if (row[k - 1] + 1 < row[k]) row[k] = row[k - 1] + 1;
            bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (swapped && before[k - 2] + 1 < row[k]) row[k] = before[k - 2] + 1;
        }
    }
    return rows[len % 3][n];
}

/* No option begins with the N bytes at NAME: name the one that may be meant, if one is close. */
static void unknown_option(struct gp_tool *tool, const char *name, size_t n)
{
    enum { CLOSE = 2, SHORTEST = 4 };
    const struct gp_option *o, *best = NULL;
    size_t least = n >= SHORTEST ? CLOSE + 1 : 0, n_own;
    for (size_t i = 0; (o = next_option(tool, i, &n_own)); i++) {
        size_t apart = letters_apart(o->name, name, n);
        if (apart < least) {
            least = apart;
            best = o;
        }
    }
    if (best) misuse(tool, "unknown option '--%.*s'; did you mean --%s?", (int)n, name, best->name);
    else misuse(tool, "unknown option '--%.*s'", (int)n, name);
}

/* Is this an option of another program, as typed? Remembers it. */
static bool is_alias(struct gp_tool *tool, const char *name, size_t n)
{
    for (const char *const *a = tool->aliases; a && *a && n && !tool->alias; a++)
        if (!strncmp(*a, name, n)) tool->alias = *a;
    return tool->alias != NULL;
}

/* The option whose long name is, or begins with, N bytes at NAME; NULL after a message, or with an alias. */
static const struct gp_option *find_long(struct gp_tool *tool, const char *name, size_t n)
{
    const struct gp_option *found = NULL, *o;
    struct gp_buf all = {0};
    int matches = 0;
    size_t n_own;
    for (const struct gp_renamed *r = tool->renamed; r && r->was; r++) {
        if (!gp_is(name, n, r->was)) continue;
        gp_cli_warn(tool, "--%s is now --%s; the former spelling goes with the next version", r->was, r->is);
        name = r->is;
        n = strlen(name);
    }
    for (size_t i = 0; (o = next_option(tool, i, &n_own)); i++) {
        if (strncmp(o->name, name, n)) continue;
        found = o;
        if (!o->name[n]) {
            matches = 1;
            break;
        }
        matches++;
        if (all.n < SUGGESTIONS) gp_buf_printf(&all, "%s--%s", all.n ? ", " : "", o->name);
    }
    if (matches == 0 && is_alias(tool, name - 2, n + 2)) return NULL;
    if (matches == 0 || n == 0) unknown_option(tool, name, n);
    else if (matches > 1) misuse(tool, "option '--%.*s' could be %s", (int)n, name, gp_buf_str(&all));
    gp_buf_release(&all);
    return matches == 1 && n > 0 ? found : NULL;
}

static const struct gp_option *find_letter(struct gp_tool *tool, char letter)
{
    const struct gp_option *o;
    size_t n_own;
    for (size_t i = 0; (o = next_option(tool, i, &n_own)); i++)
        if (o->letter == letter) return o;
    if (is_alias(tool, (const char[]){'-', letter, 0}, 3)) return NULL;
    misuse(tool, "unknown option '-%c'", letter);
    return NULL;
}

static int apply(struct gp_tool *tool, const struct gp_option *o, const char *value, void *opts)
{
    if (o == &always[0]) return help(tool);
    if (o == &always[1]) return version(tool);
    return store(tool, o, value, opts);
}

/* DASHES and NAME: the option as typed. */
static int needs_value(struct gp_tool *tool, const struct gp_option *o, const char *dashes, const char *name)
{
    struct gp_buf text = {0};
    misuse(tool, "option '%s%s' needs a value (%s)", dashes, name, gp_option_plain(tool, o, &text).arg);
    gp_buf_release(&text);
    return -1;
}

/* "--name", "--name=value", "--name value". *I moves past a value that is an argument of its own. *FILES
 * becomes the list that operands go to from here on, NULL for that of the tool. */
static int parse_long(struct gp_tool *tool, int argc, char **argv, int *i, void *opts,
                      struct gp_opt_list **files)
{
    const char *name = argv[*i] + 2;
    size_t n = strcspn(name, "=");
    const struct gp_option *o = find_long(tool, name, n);
    if (!o) return -1;
    const char *value = name[n] == '=' ? name + n + 1 : NULL;
    if (o->kind == GP_OPT_FLAG && value) return misuse(tool, "option '--%s' takes no value", o->name);
    if (o->kind != GP_OPT_FLAG && o->kind != GP_OPT_MAYBE && !value) {
        if (*i + 1 >= argc) return needs_value(tool, o, "--", o->name);
        value = argv[++*i];
    }
    if (o->kind == GP_OPT_FILES) *files = (struct gp_opt_list *)(void *)((char *)opts + o->offset);
    return apply(tool, o, value, opts);
}

/* "-q", "-qv", "-fsvg", "-f svg". */
static int parse_short(struct gp_tool *tool, int argc, char **argv, int *i, void *opts)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const struct gp_option *o = find_letter(tool, *p);
        if (!o) return -1;
        if (o->kind == GP_OPT_FLAG) {
            if (apply(tool, o, NULL, opts)) return -1;
            continue;
        }
        const char *value = p[1] ? p + 1 : NULL;
        if (!value) {
            if (*i + 1 >= argc) return needs_value(tool, o, "-", (const char[]){*p, '\0'});
            value = argv[++*i];
        }
        return apply(tool, o, value, opts);
    }
    return 0;
}

static bool is_given(const struct gp_tool *tool, const char *name)
{
    for (size_t i = 0; name && tool->options[i].name; i++)
        if (!strcmp(tool->options[i].name, name)) return tool->given >> i & 1;
    return false;
}

static int check_operands(struct gp_tool *tool)
{
    bool named = is_given(tool, tool->inputs_option);
    if (tool->nargs == 0 && tool->stdin_default && !named && isatty(STDIN_FILENO)) {
        print_usage(tool, stderr);
        return misuse(tool, "no input: name a file, or pipe one in");
    }
    if (tool->nargs < tool->min_operands)
        return misuse(tool, tool->nargs ? "too few operands: expected %s" : "nothing to work on: expected %s",
                      tool->operands);
    if (tool->max_operands >= 0 && tool->nargs > tool->max_operands)
        return misuse(tool, "unexpected operand '%s'", tool->args[tool->max_operands]);
    return 0;
}

static void set_defaults(const struct gp_tool *tool, void *opts)
{
    for (const struct gp_option *o = tool->options; o->name; o++)
        if (o->kind == GP_OPT_FORMAT)
            *(const char **)(void *)((char *)opts + o->offset) = tool->formats->name;
}

/* A file is of the format that its name says, unless an option says another. */
static void follow_name(const struct gp_tool *tool, void *opts)
{
    const char *path = NULL, **format = NULL, *ending;
    bool chosen = false;
    for (const struct gp_option *o = tool->options; o->name; o++) {
        const char **at = (const char **)(void *)((char *)opts + o->offset);
        if (o->kind == GP_OPT_STRING && !strcmp(o->name, "output")) path = *at;
        if (o->kind != GP_OPT_FORMAT) continue;
        format = at;
        chosen |= is_given(tool, o->name);
    }
    if (!path || !format) return;
    const struct gp_answer_format *named = gp_answer_named(tool->formats, path, &ending);
    if (named && !chosen) *format = named->name;
    if (ending && (!named || strcmp(named->name, *format) != 0) && !is_given(tool, "quiet"))
        gp_cli_warn(tool, "%s holds %s%s", path, *format,
                    chosen ? ", as --format says" : ": no format has names that end like that");
}

int gp_cli_parse(struct gp_tool *tool, int argc, char **argv, void *opts)
{
    /* Operands are gathered at the front of argv, in their order. */
    int n = 0;
    char **args = argv + (argc > 0);
    struct gp_opt_list *files = NULL;
    if (argc == 3 && !strcmp(argv[1], "--completion")) return completion(tool, argv[2]);
    if (argc == 2 && !strcmp(argv[1], "--help-agent")) return help_agent(tool);
    /* A limit on the size of files is a write error. Who runs a command does so itself: it would inherit
     * this. */
    if (!tool->stop_at_operand) signal(SIGXFSZ, SIG_IGN);
    set_defaults(tool, opts);
    for (int i = 1; i < argc; i++) {
        char *a = argv[i];
        bool ends = !strcmp(a, "--");
        if (ends || (tool->stop_at_operand && (a[0] != '-' || !a[1]))) {
            for (i += ends; i < argc; i++) args[n++] = argv[i];
            break;
        }
        if (a[0] != '-' || !a[1]) {
            if (files) GP_VEC_PUSH(files, a);
            else args[n++] = a;
            continue;
        }
        files = NULL;
        if (a[1] == '-' ? parse_long(tool, argc, argv, &i, opts, &files)
                        : parse_short(tool, argc, argv, &i, opts))
            return -1;
    }
    tool->args = (const char *const *)args;
    tool->nargs = n;
    follow_name(tool, opts);
    return check_operands(tool);
}

/* ---- options that were given ---- */

static void put_value(struct gp_buf *b, const struct gp_option *o, const void *at)
{
    const struct gp_opt_list *list = at;
    switch (o->kind) {
    case GP_OPT_STRING:
    case GP_OPT_CHOICE:
    case GP_OPT_FORMAT: gp_buf_printf(b, " --%s %s", o->name, *(const char *const *)at); break;
    case GP_OPT_MAYBE:
        gp_buf_printf(b, " --%s%s%s", o->name, **(const char *const *)at ? "=" : "",
                      *(const char *const *)at);
        break;
    case GP_OPT_COLUMNS:
    case GP_OPT_UINT: gp_buf_printf(b, " --%s %" PRIu64, o->name, *(const uint64_t *)at); break;
    case GP_OPT_DURATION:
    case GP_OPT_SECONDS: gp_buf_printf(b, " --%s %" PRId64 "ns", o->name, *(const int64_t *)at); break;
    case GP_OPT_PERCENT: gp_buf_printf(b, " --%s %g%%", o->name, *(const double *)at); break;
    case GP_OPT_PROBABILITY: gp_buf_printf(b, " --%s %g", o->name, *(const double *)at); break;
    case GP_OPT_LIST:
    case GP_OPT_FILES:
        for (size_t i = 0; i < list->n; i++) gp_buf_printf(b, " --%s %s", o->name, list->at[i]);
        break;
    case GP_OPT_FLAG:
    case GP_OPT_END: gp_buf_printf(b, " --%s", o->name); break;
    }
}

void gp_cli_put_given(struct gp_buf *b, const struct gp_tool *tool, const void *opts, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        for (const struct gp_option *o = tool->options; o->name; o++) {
            bool given = tool->given >> (o - tool->options) & 1;
            if (given && strlen(o->name) == n && !memcmp(o->name, names, n))
                put_value(b, o, (const char *)opts + o->offset);
        }
        names += n + (names[n] == ' ');
    }
}

/* ---- terminals ---- */

bool gp_cli_color(const struct gp_common_opts *c, int fd)
{
    if (c->color && !strcmp(c->color, "always")) return true;
    if (c->color && !strcmp(c->color, "never")) return false;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no && *no) || (term && !strcmp(term, "dumb"))) return false;
    return isatty(fd);
}

size_t gp_cli_width(uint64_t asked, int fd)
{
    struct winsize size;
    uint64_t columns = 0;
    struct gp_err ignored = {0};
    const char *set = getenv("COLUMNS");
    if (asked) return (size_t)asked;
    if (!isatty(fd)) return GP_COLUMNS_PLAIN;
    if (set && !parse_columns(set, &columns, &ignored)) return (size_t)columns;
    if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col) return GP_COLUMNS_PLAIN;
    return size.ws_col < GP_COLUMNS_LEAST ? GP_COLUMNS_LEAST : size.ws_col;
}

void gp_cli_progress(const struct gp_tool *tool, const struct gp_common_opts *c, struct gp_progress *p)
{
    *p = (struct gp_progress){.tool = tool->name};
    if (c->progress && !strcmp(c->progress, "always")) p->enabled = true;
    else if ((c->progress && !strcmp(c->progress, "never")) || c->quiet) p->enabled = false;
    else p->enabled = isatty(STDERR_FILENO);
}
