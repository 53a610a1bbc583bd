
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/answer.h"

typedef void put_option(struct gp_buf *b, const struct gp_option *o);

/* The tool's own options and those that every tool has; both end in an option without a name. */
struct options {
    const struct gp_tool *tool;
    const struct gp_option *always;
};

static void put_plain(struct gp_buf *b, const struct options *all, const struct gp_option *o, put_option *put)
{
    struct gp_buf text = {0};
    struct gp_option plain = gp_option_plain(all->tool, o, &text);
    put(b, &plain);
    gp_buf_release(&text);
}

static void each_option(struct gp_buf *b, const struct options *all, put_option *put)
{
    for (const struct gp_option *o = all->tool->options; o->name; o++) put_plain(b, all, o, put);
    for (const struct gp_option *o = all->always; o->name; o++) put_plain(b, all, o, put);
}

/* "trace-hta" as a part of a function's name. */
static void put_identifier(struct gp_buf *b, const char *name)
{
    for (; *name; name++) gp_buf_putc(b, *name == '-' ? '_' : *name);
}

/* The words of "a|b|c", separated by blanks. */
static void put_words(struct gp_buf *b, const char *choices)
{
    for (; *choices; choices++) gp_buf_putc(b, *choices == '|' ? ' ' : *choices);
}

/* An optional value is typed, not completed. */
static bool takes_value(const struct gp_option *o) { return o->arg && o->kind != GP_OPT_MAYBE; }

static bool takes_file(const struct gp_option *o)
{
    return takes_value(o) && (strstr(o->arg, "FILE") || strstr(o->arg, "DIR") || o->kind == GP_OPT_FILES);
}

/* ---- bash ---- */

static void bash_name(struct gp_buf *b, const struct gp_option *o)
{
    gp_buf_printf(b, " --%s%s", o->name, takes_value(o) ? "=" : "");
}

/* What may follow an option that takes a value. */
static void bash_value(struct gp_buf *b, const struct gp_option *o)
{
    if (!takes_value(o)) return;
    gp_buf_printf(b, "    --%s", o->name);
    if (o->letter) gp_buf_printf(b, "|-%c", o->letter);
    gp_buf_puts(b, ") ");
    if (o->kind == GP_OPT_CHOICE) {
        gp_buf_puts(b, "COMPREPLY=($(compgen -W \"");
        put_words(b, o->arg);
        gp_buf_puts(b, "\" -- \"$cur\")); ");
    } else if (takes_file(o)) {
        gp_buf_puts(b, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
    }
    gp_buf_puts(b, "return ;;\n");
}

/* Bash splits words at "=", so "--format=sv" is three words. */
static void put_bash(struct gp_buf *b, const struct options *all)
{
    const struct gp_tool *tool = all->tool;
    gp_buf_puts(b, "_gpuprof_");
    put_identifier(b, tool->name);
    gp_buf_puts(b, "() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                   "    if [[ $cur == = ]]; then cur=; "
                   "elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                   "    COMPREPLY=()\n    case $prev in\n");
    each_option(b, all, bash_value);
    gp_buf_puts(b, "    esac\n    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"");
    size_t start = b->n;
    each_option(b, all, bash_name);
    memmove(b->data + start, b->data + start + 1, b->n - start - 1); /* the first blank */
    b->n--;
    gp_buf_printf(
        b,
        "\" -- \"$cur\"))\n        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n    else\n"
        "        COMPREPLY=($(compgen -%s -- \"$cur\"))\n    fi\n}\ncomplete -o filenames -F _gpuprof_",
        tool->stop_at_operand ? "fc" : "f");
    put_identifier(b, tool->name);
    gp_buf_printf(b, " %s\n", tool->name);
}

/* ---- zsh ---- */

/* TEXT inside '...[...]': brackets, colons and quotes are special there. */
static void put_zsh_text(struct gp_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            gp_buf_puts(b, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text)) gp_buf_putc(b, '\\');
        gp_buf_putc(b, *text);
    }
}

static void zsh_option(struct gp_buf *b, const struct gp_option *o)
{
    bool again = o->kind == GP_OPT_LIST || o->kind == GP_OPT_FILES;
    gp_buf_puts(b, " \\\n    ");
    if (again) gp_buf_puts(b, "'*'");
    else if (o->letter) gp_buf_printf(b, "'(-%c --%s)'", o->letter, o->name);
    if (o->letter)
        gp_buf_printf(b, "{-%c%s,--%s%s}'[", o->letter, takes_value(o) ? "+" : "", o->name,
                      takes_value(o) ? "=" : "");
    else gp_buf_printf(b, "'--%s%s[", o->name, takes_value(o) ? "=" : "");
    put_zsh_text(b, o->help);
    gp_buf_putc(b, ']');
    if (takes_value(o)) {
        gp_buf_putc(b, ':');
        put_zsh_text(b, o->kind == GP_OPT_CHOICE ? o->name : o->arg);
        gp_buf_putc(b, ':');
        if (o->kind == GP_OPT_CHOICE) {
            gp_buf_putc(b, '(');
            put_words(b, o->arg);
            gp_buf_putc(b, ')');
        } else if (takes_file(o)) {
            gp_buf_puts(b, "_files");
        }
    }
    gp_buf_putc(b, '\'');
}

static void put_zsh(struct gp_buf *b, const struct options *all)
{
    const struct gp_tool *tool = all->tool;
    gp_buf_printf(b, "#compdef %s\n_arguments -s -S", tool->name);
    each_option(b, all, zsh_option);
    gp_buf_puts(b, tool->stop_at_operand
                       ? " \\\n    '(-)1:command: _command_names -e' '*::arguments: _normal'\n"
                       : " \\\n    '*:file:_files'\n");
}

/* ---- fish ---- */

static void fish_option(struct gp_buf *b, const struct gp_option *o)
{
    gp_buf_puts(b, "complete -c $tool");
    if (o->letter) gp_buf_printf(b, " -s %c", o->letter);
    gp_buf_printf(b, " -l %s", o->name);
    if (o->kind == GP_OPT_CHOICE) {
        gp_buf_puts(b, " -x -a '");
        put_words(b, o->arg);
        gp_buf_putc(b, '\'');
    } else if (takes_value(o)) {
        gp_buf_puts(b, takes_file(o) ? " -r -F" : " -x");
    }
    gp_buf_puts(b, " -d '");
    for (const char *p = o->help; *p; p++) {
        if (*p == '\'' || *p == '\\') gp_buf_putc(b, '\\');
        gp_buf_putc(b, *p);
    }
    gp_buf_puts(b, "'\n");
}

static void put_fish(struct gp_buf *b, const struct options *all)
{
    const struct gp_tool *tool = all->tool;
    gp_buf_printf(b, "set -l tool %s\n", tool->name);
    if (tool->stop_at_operand) gp_buf_puts(b, "complete -c $tool -a '(__fish_complete_subcommand)'\n");
    each_option(b, all, fish_option);
}

/* ---- the table of shells ---- */

int gp_completion_put(struct gp_buf *b, const struct gp_tool *tool, const struct gp_option *always,
                      const char *shell)
{
    static const struct {
        const char *shell;
        void (*put)(struct gp_buf *b, const struct options *all);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; i < GP_COUNT(shells); i++) {
        if (strcmp(shell, shells[i].shell) != 0) continue;
        shells[i].put(b, &(struct options){tool, always});
        return 0;
    }
    return -1;
}

struct gp_option gp_option_plain(const struct gp_tool *tool, const struct gp_option *o, struct gp_buf *text)
{
    struct gp_option plain = *o;
    if (o->kind != GP_OPT_FORMAT) return plain;
    for (const struct gp_answer_format *f = tool->formats; f->name; f++)
        gp_buf_printf(text, "%s%s", f == tool->formats ? "" : "|", f->name);
    gp_buf_putc(text, '\0');
    size_t help = text->n;
    gp_buf_printf(text, "%s (default: %s)", o->help, tool->formats->name);
    plain.kind = GP_OPT_CHOICE;
    plain.arg = gp_buf_str(text);
    plain.help = plain.arg + help;
    return plain;
}
