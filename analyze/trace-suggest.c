/* trace-suggest -- a trace in; what to do next, how much it would save, and why to believe it, out. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/names/classify.h"
#include "analyze/suggest/suggest.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "formats/ceilings_read.h"
#include "formats/reader.h"
#include "render/suggest/roofline_page.h"
#include "render/suggest/suggest_dot.h"
#include "render/suggest/suggest_html.h"
#include "render/suggest/suggest_json.h"
#include "render/suggest/suggest_text.h"

enum { MAX_SMALL_FILE = 1 << 20, TOP = 20 };

struct opts {
    struct gp_common_opts common;
    struct gp_opt_list rules;
    const char *step_marker, *classes, *ceilings, *fail_on, *expect, *roofline;
    int64_t min_saving_ns;
    uint64_t top;
    bool list_rules, three_regimes, allow_empty;
};

static const char *format_name(size_t i)
{
    static const char *const names[] = {"text", "json", "html", "dot", NULL};
    return names[i];
}

static const struct gp_option options[] = {
    {0, "rule", "NAME", "ask this rule only; may be repeated", GP_OPT_LIST, offsetof(struct opts, rules)},
    {0, "list-rules", NULL, "list the rules, what they need and when they speak, and exit", GP_OPT_FLAG,
     offsetof(struct opts, list_rules)},
    {0, "min-saving", "TIME", "leave out what saves less a step, such as 50us", GP_OPT_DURATION,
     offsetof(struct opts, min_saving_ns)},
    {0, "fail-on", "low|medium|high|critical",
     "exit with 1 when a suggestion has this priority or a higher one", GP_OPT_CHOICE,
     offsetof(struct opts, fail_on)},
    {0, "expect", "FILE", "write to FILE what a trace after the changes should show, for trace-diff --expect",
     GP_OPT_STRING, offsetof(struct opts, expect)},
    {0, "roofline", "FILE", "write to FILE how far kernels are from what the device can do, as SVG",
     GP_OPT_STRING, offsetof(struct opts, roofline)},
    {0, "step-marker", "REGEX", "ranges that are steps (default: found by themselves)", GP_OPT_STRING,
     offsetof(struct opts, step_marker)},
    {0, "classes", "FILE", "rules that say which kernels are of which class: lines of REGEX CLASS",
     GP_OPT_STRING, offsetof(struct opts, classes)},
    {0, "ceilings", "FILE",
     "what the device was measured to do, as JSON (default: the trace, or a data sheet)", GP_OPT_STRING,
     offsetof(struct opts, ceilings)},
    {0, "three-regimes", NULL, "tell overhead, memory and compute only", GP_OPT_FLAG,
     offsetof(struct opts, three_regimes)},
    {'n', "top", "N", "kernels of JSON's regimes, 0 for all (default: 20)", GP_OPT_UINT,
     offsetof(struct opts, top)},
    {0, "allow-empty", NULL, "a trace without GPU events is no error", GP_OPT_FLAG,
     offsetof(struct opts, allow_empty)},
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    const char *path;
    struct gp_classes classes;
    struct gp_ceilings ceilings;
    struct gp_suggest suggest;
};

/* ---- reading ---- */

static int read_classes(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    int failed = gp_input_all(j->opts->classes, MAX_SMALL_FILE, &text, err);
    if (!failed && gp_classes_parse(&j->classes, text.n ? text.data : "", text.n, err))
        failed = gp_err_context(err, "%s", j->opts->classes);
    gp_buf_release(&text);
    return failed;
}

/* What the file says, in the words of gp_ceilings. */
static int take_ceilings(struct gp_ceilings *c, const struct gp_ceilings_file *f, struct gp_err *err)
{
    c->memory = (struct gp_ceiling){f->memory_bytes_per_s, GP_CEILING_FILE};
    c->l2 = (struct gp_ceiling){f->l2_bytes_per_s, GP_CEILING_FILE};
    c->l2_bytes = f->l2_bytes;
    c->empty_ns = f->empty_kernel_ns;
    c->empty_source = GP_CEILING_FILE;
    for (size_t i = 0; i < f->n; i++) {
        enum gp_arith a = gp_arith_called(f->flops[i].type);
        if (a == GP_ARITH_NONE)
            return gp_fail(err, GP_E_SYNTAX, -1, "flops_per_s: no type \"%s\"", f->flops[i].type);
        c->flops[a] = (struct gp_ceiling){f->flops[i].per_s, GP_CEILING_FILE};
    }
    return 0;
}

static int read_ceilings(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    struct gp_ceilings_file f;
    int failed = gp_input_all(j->opts->ceilings, MAX_SMALL_FILE, &text, err);
    if (!failed &&
        (gp_ceilings_read(&f, text.n ? text.data : "", text.n, err) || take_ceilings(&j->ceilings, &f, err)))
        failed = gp_err_context(err, "%s", j->opts->ceilings);
    gp_buf_release(&text);
    return failed;
}

static int check_rules(const struct opts *o, struct gp_err *err)
{
    for (size_t i = 0; i < o->rules.n; i++)
        if (!gp_rule_find(o->rules.at[i]))
            return gp_fail(err, GP_E_USAGE, -1, "--rule: no rule \"%s\"; --list-rules has them",
                           o->rules.at[i]);
    return 0;
}

static int suggest(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_trace t;
    struct gp_progress progress;
    struct gp_suggest_opts so = {.classes = o->classes ? &j->classes : NULL,
                                 .step_marker = o->step_marker,
                                 .rules = o->rules.at,
                                 .n_rules = o->rules.n,
                                 .ceilings = o->ceilings ? &j->ceilings : NULL,
                                 .min_saving_ns = o->min_saving_ns};
    gp_cli_progress(j->tool, &o->common, &progress);
    struct gp_read_opts ro = {.need = GP_SUGGEST_NEED,
                              .threads = (int)o->common.threads,
                              .strict = o->common.strict,
                              .progress = gp_progress_bytes,
                              .progress_ctx = &progress};
    int failed = gp_trace_read(&t, j->path, &ro, err);
    gp_progress_end(&progress);
    if (failed) return -1;
    gp_suggest_init(&j->suggest, &so);
    if (!t.events[GP_GPU].n && !o->allow_empty)
        failed = gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events", j->path);
    if (!failed) failed = gp_suggest_run(&j->suggest, &t, err);
    gp_trace_release(&t);
    return failed;
}

/* On a terminal the text itself says it, in the lines above the answer. */
static void tell_notes(const struct job *j)
{
    struct gp_report r = {0};
    const struct opts *o = j->opts;
    if (o->common.quiet || (!strcmp(o->common.format, "text") && !o->common.output && isatty(STDOUT_FILENO)))
        return;
    gp_suggest_tell(&r, &j->suggest, o->three_regimes);
    for (size_t i = 0; i + j->suggest.notes.n < r.quality.n; i++)
        gp_cli_warn(j->tool, "%s", r.quality.at[i].text);
    gp_report_release(&r);
}

/* ---- writing ---- */

static int put_file(const char *path, const struct gp_buf *b, struct gp_err *err)
{
    struct gp_output *out = gp_output_open(path, err);
    if (!out) return -1;
    gp_output_write(out, b->data, b->n);
    return gp_output_close(out, true, err);
}

static void write_json(const struct job *j, struct gp_buf *b)
{
    gp_suggest_json_write(b, &j->suggest,
                          &(struct gp_suggest_json_opts){.version = GP_VERSION,
                                                         .top = (size_t)j->opts->top,
                                                         .three_regimes = j->opts->three_regimes});
}

/* The options that the answer depends on, as typed. */
static void put_options(const struct opts *o, struct gp_buf *b)
{
    for (size_t i = 0; i < o->rules.n; i++) gp_buf_printf(b, " --rule %s", o->rules.at[i]);
    if (o->min_saving_ns) gp_buf_printf(b, " --min-saving %lldns", (long long)o->min_saving_ns);
    if (o->step_marker) gp_buf_printf(b, " --step-marker %s", o->step_marker);
    if (o->classes) gp_buf_printf(b, " --classes %s", o->classes);
    if (o->ceilings) gp_buf_printf(b, " --ceilings %s", o->ceilings);
    if (o->three_regimes) gp_buf_puts(b, " --three-regimes");
    if (o->top != TOP) gp_buf_printf(b, " --top %llu", (unsigned long long)o->top);
}

/* NULL: standard input. */
static const char *input_of(const struct job *j)
{
    const char *slash = strrchr(j->path, '/'), *name = slash && slash[1] ? slash + 1 : j->path;
    return strcmp(name, "-") != 0 ? name : NULL;
}

static void write_page(const struct job *j, struct gp_buf *b)
{
    struct gp_buf json = {0}, typed = {0};
    write_json(j, &json);
    put_options(j->opts, &typed);
    gp_suggest_html_write(b, &j->suggest,
                          &(struct gp_suggest_html_opts){.input = input_of(j),
                                                         .options = gp_buf_str(&typed),
                                                         .three_regimes = j->opts->three_regimes,
                                                         .json = json.data,
                                                         .json_n = json.n});
    gp_buf_release(&json);
    gp_buf_release(&typed);
}

static int write_answer(const struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_buf b = {0};
    if (!strcmp(o->common.format, "json")) write_json(j, &b);
    else if (!strcmp(o->common.format, "html")) write_page(j, &b);
    else if (!strcmp(o->common.format, "dot")) gp_suggest_dot_write(&b, &j->suggest, NULL);
    else
        gp_suggest_text_write(&b, &j->suggest,
                              &(struct gp_suggest_text_opts){
                                  .color = gp_cli_color(&o->common, o->common.output ? -1 : STDOUT_FILENO),
                                  .verbose = o->common.verbose,
                                  .three_regimes = o->three_regimes});
    int failed = put_file(o->common.output, &b, err);
    b.n = 0;
    if (!failed && o->expect) {
        gp_suggest_expect_write(&b, &j->suggest);
        failed = put_file(o->expect, &b, err);
        b.n = 0;
    }
    if (!failed && o->roofline) {
        gp_roofline_svg(&b, &j->suggest.roofline, &j->suggest.strings, input_of(j));
        failed = put_file(o->roofline, &b, err);
    }
    gp_buf_release(&b);
    return failed;
}

static int list_rules(const struct opts *o, struct gp_err *err)
{
    struct gp_buf b = {0};
    for (size_t i = 0; gp_rules[i]; i++) {
        const struct gp_rule *r = gp_rules[i];
        gp_buf_printf(&b, "%s%s (%s)\n  looks for    %s\n  needs        %s\n  speaks from  %s\n",
                      i ? "\n" : "", r->name, gp_suggest_type_name(r->type), r->summary, r->needs,
                      r->threshold);
        if (*r->guard) gp_buf_printf(&b, "  silent when  %s\n", r->guard);
    }
    int failed = put_file(o->common.output, &b, err);
    gp_buf_release(&b);
    return failed;
}

/* ---- all of it ---- */

static enum gp_priority priority_of(const char *name)
{
    enum gp_priority p = GP_PRIORITY_LOW;
    while (p < GP_PRIORITY_CRITICAL && strcmp(gp_priority_name(p), name) != 0) p++;
    return p;
}

static int run(struct job *j, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (o->list_rules) return list_rules(o, err);
    if (check_rules(o, err) || (o->classes && read_classes(j, err)) ||
        (o->ceilings && read_ceilings(j, err)) || suggest(j, err))
        return -1;
    tell_notes(j);
    if (write_answer(j, err)) return -1;
    const struct gp_suggest *s = &j->suggest;
    if (o->fail_on && s->suggestions.n && s->suggestions.at[0].priority >= priority_of(o->fail_on))
        *status = GP_EXIT_FINDING;
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-suggest",
        .summary = "tell what to do next, how much it would save, and why to believe it",
        .operands = "[FILE]",
        .example = "trace-suggest trace.json.gz\n"
                   "gpuprof-collect ./app | trace-suggest -v\n"
                   "trace-suggest -f html -o suggestions.html app.trace\n"
                   "trace-suggest -f dot trace.json.gz | dot -Tsvg -o chains.svg\n"
                   "trace-suggest --rule cuda_graph --expect graph.json before.trace\n",
        .options = options,
        .format_name = format_name,
        .max_operands = 1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "text", .top = TOP};
    struct gp_err err = {0};
    int status = GP_EXIT_OK;
    if (gp_cli_parse(&tool, argc, argv, &o)) {
        GP_VEC_FREE(&o.rules);
        return tool.status;
    }
    struct job j = {.tool = &tool, .opts = &o, .path = tool.nargs ? tool.args[0] : "-"};
    if (run(&j, &status, &err)) {
        gp_cli_error(&tool, &err);
        status = GP_EXIT_ERROR;
    }
    gp_suggest_release(&j.suggest);
    gp_classes_release(&j.classes);
    GP_VEC_FREE(&o.rules);
    return status;
}
