/* cli.h -- shared by the mains of all tools: one option table from which parsing, --help and the test
 * against the man page are made, the messages, and the exit status. Only files named like a tool include
 * this.
 *
 *     static const struct gp_option options[] = {
 *         GP_OPTIONS_COMMON,
 *         {0, "max-depth", "N", "draw at most N levels", GP_OPT_UINT, offsetof(struct opts, max_depth)},
 *         {0},
 *     };
 *     struct gp_tool tool = {.name = "trace2flame", .options = options, ...};
 *     if (gp_cli_parse(&tool, argc, argv, &opts)) return tool.status;
 */
#ifndef GP_BASE_CLI_H
#define GP_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/progress.h"
#include "formats/base/vec.h"

struct gp_answer_format;

enum { GP_EXIT_OK = 0, GP_EXIT_FINDING = 1, GP_EXIT_ERROR = 2, GP_EXIT_INCOMPARABLE = 3 };

enum gp_opt_kind {
    GP_OPT_END = 0,
    GP_OPT_FLAG,        /* bool, set to true */
    GP_OPT_STRING,      /* const char * into argv */
    GP_OPT_UINT,        /* uint64_t; "64M" and "2k" are accepted (powers of 1024 for K, M, G) */
    GP_OPT_DURATION,    /* int64_t ns; "10us", "1.5ms", "2s"; a bare number is an error */
    GP_OPT_SECONDS,     /* the same, but a bare number is in seconds */
    GP_OPT_COLUMNS,     /* uint64_t; a number, or "full": GP_COLUMNS_FULL */
    GP_OPT_PERCENT,     /* double, in percent; "5%" or "5" */
    GP_OPT_PROBABILITY, /* double, between 0 and 1 */
    GP_OPT_CHOICE,      /* const char *, one of the words in `arg`, separated by '|' */
    /* const char *, "" for "--name", the word of "--name=word"; if `arg` has '|', one of its words */
    GP_OPT_MAYBE,
    GP_OPT_FORMAT, /* const char *, the name of one of the tool's formats, the first unless given */
    GP_OPT_LIST,   /* struct gp_opt_list: each time it is given, one more */
    GP_OPT_FILES,  /* struct gp_opt_list: its value and all operands up to the next option */
};

/* Widths of text in columns: of what is not a terminal, the least that can be asked for, and one at which
 * nothing is cut. */
enum { GP_COLUMNS_PLAIN = 80, GP_COLUMNS_LEAST = 40, GP_COLUMNS_FULL = 1 << 20 };

/* Strings of argv; GP_VEC_FREE() when done. */
struct gp_opt_list {
    const char **at;
    size_t n, cap;
};

struct gp_option {
    char letter;      /* short form, 0 for none */
    const char *name; /* long form */
    const char *arg;  /* "N", "FILE", "a|b|c"; NULL for flags and formats */
    const char *help; /* one line, lower case; it names the default, unless that is a format */
    enum gp_opt_kind kind;
    size_t offset; /* of the member in the tool's options struct */
};

/* The options that every filter has; the first member of each tool's options struct. */
struct gp_common_opts {
    const char *output;   /* NULL: standard output */
    const char *format;   /* never NULL in a tool that has formats */
    const char *color;    /* "auto" */
    const char *progress; /* "auto" */
    bool quiet, verbose, strict;
    uint64_t threads; /* 0: as many as there are */
};

// clang-format off
/* `common` must be the name of the struct gp_common_opts member and the first. */
#define GP_OPTIONS_OUTPUT                                                                                    \
    {'o', "output", "FILE", "write to FILE, whose name chooses the format without -f", GP_OPT_STRING,        \
        offsetof(struct gp_common_opts, output)},                                                            \
    {'f', "format", NULL, "output format", GP_OPT_FORMAT, offsetof(struct gp_common_opts, format)},          \
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct gp_common_opts, quiet)},          \
    {'v', "verbose", NULL, "report more about the input and the work", GP_OPT_FLAG,                          \
        offsetof(struct gp_common_opts, verbose)},                                                           \
    {0, "color", "auto|always|never", "colour messages and text (default: auto)", GP_OPT_CHOICE,             \
        offsetof(struct gp_common_opts, color)}
#define GP_OPTION_STRICT                                                                                     \
    {0, "strict", NULL, "treat damaged input as an error", GP_OPT_FLAG,                                      \
        offsetof(struct gp_common_opts, strict)}
#define GP_OPTIONS_COMMON                                                                                    \
    GP_OPTIONS_OUTPUT,                                                                                       \
    {0, "progress", "auto|always|never", "show progress on standard error (default: auto)", GP_OPT_CHOICE,   \
        offsetof(struct gp_common_opts, progress)},                                                          \
    GP_OPTION_STRICT,                                                                                        \
    {0, "threads", "N", "use N threads (default: one per processor, at most 8)", GP_OPT_UINT,                \
        offsetof(struct gp_common_opts, threads)}
// clang-format on

/* The former spelling of an option, which works for one version more. */
struct gp_renamed {
    const char *was, *is; /* "steps", "step-marker" */
};

struct gp_tool {
    const char *name;     /* "trace2flame" */
    const char *summary;  /* one line for --help */
    const char *operands; /* "[FILE...]" */
    const char *example;  /* one or more command lines for --help, each ending in a newline */
    const struct gp_option *options;
    const struct gp_answer_format *formats; /* of its output, the default first, then {0}; NULL: none */
    int min_operands, max_operands;         /* max -1: any number */
    bool stdin_default;        /* no operand means standard input; a terminal there is then a usage error */
    const char *inputs_option; /* names inputs, too: where it is given, there may be no operands */
    bool stop_at_operand;      /* options end at the first operand (gpuprof-collect CMD ARG...) */
    int error_status;          /* status of a usage error; 0 means GP_EXIT_ERROR */
    const struct gp_renamed *renamed; /* {0} at the end; NULL: none */
    const char *const *aliases; /* "--name", "-x": options of another program, NULL at the end; NULL: none */
    /* filled by gp_cli_parse */
    const char *const *args; /* the operands */
    int nargs;
    uint64_t given;    /* bit I: the I-th of `options` was given */
    int status;        /* the result of main when gp_cli_parse says to stop */
    const char *alias; /* the one of `aliases` that was met: the other program is to be run instead */
};

/* Parse ARGV into OPTS (zeroed by the caller, defaults put in by the caller). -h/--help and -V/--version are
 * handled for every tool: printed to standard output; so is "--completion SHELL", a script that completes the
 * options (completion.h). 0: go on. -1: stop and return tool->status. Long options may be cut as long as they
 * are unique; "--name=value" and "--name value" both work; "--" ends options. Misuse prints one line and "Try
 * 'TOOL --help'" to standard error. A former spelling is accepted, with a line on standard error. An alias
 * ends parsing: -1 with tool->alias, and nothing is printed. */
GP_MUST_CHECK int gp_cli_parse(struct gp_tool *tool, int argc, char **argv, void *opts);

/* Append " --NAME VALUE" for each of NAMES, separated by spaces, that was given to TOOL, whose options struct
 * is OPTS: for reports that show which options their figures depend on. */
void gp_cli_put_given(struct gp_buf *b, const struct gp_tool *tool, const void *opts, const char *names);

/* What main returns: STATUS, or, where FAILED, the status of an error, which is printed. */
int gp_cli_end(const struct gp_tool *tool, int failed, const struct gp_err *err, int status);

/* "TOOL: MESSAGE" on standard error, one line. */
void gp_cli_error(const struct gp_tool *tool, const struct gp_err *err);
void gp_cli_warn(const struct gp_tool *tool, const char *fmt, ...) GP_PRINTF(2, 3);
/* The same as a callback for printers of lines; TOOL is a const struct gp_tool *. */
void gp_cli_say(const void *tool, const char *text);

/* Should coloured text go to the stream with descriptor FD? Obeys --color, NO_COLOR, TERM=dumb and
 * isatty(). */
bool gp_cli_color(const struct gp_common_opts *c, int fd);
/* How wide text that goes to the stream with descriptor FD is: ASKED unless that is 0; otherwise a terminal
 * has the columns of COLUMNS or its own, and anything else GP_COLUMNS_PLAIN. */
size_t gp_cli_width(uint64_t asked, int fd);
/* Set up progress reporting on standard error as --progress and --quiet say. */
void gp_cli_progress(const struct gp_tool *tool, const struct gp_common_opts *c, struct gp_progress *p);

/* What "--help-agent" prints, the same for every tool: formats/SKILL.md. */
extern const char gp_agent_page[];

/* ---- options as they are shown ----
 * An option as --help, messages and completions show it.
 *
 *     struct gp_buf text = {0};
 *     struct gp_option plain = gp_option_plain(&tool, &options[0], &text);
 *     printf("--%s=%s  %s", plain.name, plain.arg, plain.help);
 *     gp_buf_release(&text);
 */

/* O itself, or, where it chooses a format of TOOL, the choice between their names that it is, with the
 * default in its help. TEXT, which is empty, then holds its strings. */
struct gp_option gp_option_plain(const struct gp_tool *tool, const struct gp_option *o, struct gp_buf *text);

/* ---- completion scripts ----
 * Scripts that complete the options of a tool in a shell, made from the tool's option table.
 *
 *     gp_completion_put(&buf, &tool, always, "bash");
 */

/* ALWAYS: the options that every tool has, ended by one without a name. Add the script for SHELL ("bash",
 * "zsh" or "fish") to B. -1, and B untouched, for any other shell. */
GP_MUST_CHECK int gp_completion_put(struct gp_buf *b, const struct gp_tool *tool,
                                    const struct gp_option *always, const char *shell);

#endif
