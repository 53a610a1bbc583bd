/* trace-compile -- logs of torch.compile in, with GPU traces of the same program or without; where compile
 * time went, every graph break, recompiles, and the gain of it all, out. */
#include <string.h>
#include "analyze/compile/compile.h"
#include "analyze/compile/finding_store.h"
#include "analyze/app/compile_inputs.h"
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/compile_log/compile_log.h"
#include "render/compile/compile_formats.h"

struct opts {
    struct gp_app_opts app; /* first */
    struct gp_opt_list modes, fail_on;
    const char *eager, *folder, *save, *against;
    bool code;
};

static const struct gp_option options[] = {
    {0, "eager", "TRACE", "a GPU trace of the program without torch.compile, to compare with", GP_OPT_STRING,
     offsetof(struct opts, eager)},
    {0, "other-mode", "NAME=TRACE", "a GPU trace of the program in another mode; may be repeated",
     GP_OPT_LIST, offsetof(struct opts, modes)},
    {0, "fail-on", "break|recompile|skip",
     "exit with 1 if there is a graph break, a recompile or a skipped CUDA graph; may be repeated",
     GP_OPT_LIST, offsetof(struct opts, fail_on)},
    {0, "baseline-dir", "DIR", "folder of the findings of --save and --against", GP_OPT_STRING,
     offsetof(struct opts, folder)},
    {0, "save", "NAME", "save the findings as NAME", GP_OPT_STRING, offsetof(struct opts, save)},
    {0, "against", "NAME", "report findings not saved as NAME as new; only new ones fail", GP_OPT_STRING,
     offsetof(struct opts, against)},
    {0, "code", NULL, "include the program's source lines and the generated code", GP_OPT_FLAG,
     offsetof(struct opts, code)},
    GP_OPTION_TOP("maximum number of rows per table, 0 for all (default: 25, HTML 200)"),
    GP_OPTION_STEP_MARKER,
    GP_OPTION_CLASSES,
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

static const struct gp_renamed renamed[] = {{"mode", "other-mode"}, {0}};

struct job {
    struct gp_app *app;
    const struct opts *opts;
    struct gp_compile_inputs in;
    struct gp_finding_lines known;
    struct gp_compile_log log;
    struct gp_compile c;
};

/* ---- options ---- */

static int finding_of(const char *word)
{
    static const char *const words[GP_FINDING_KINDS] = {"break", "recompile", "skip"};
    for (int i = 0; i < GP_FINDING_KINDS; i++)
        if (!strcmp(words[i], word)) return i;
    return -1;
}

static int check_options(const struct opts *o, struct gp_err *err)
{
    for (size_t i = 0; i < o->fail_on.n; i++)
        if (finding_of(o->fail_on.at[i]) < 0)
            return gp_fail(err, GP_E_USAGE, -1, "--fail-on: '%.100s' is not break, recompile or skip",
                           o->fail_on.at[i]);
    if ((o->save || o->against) && !o->folder)
        return gp_fail(err, GP_E_USAGE, -1, "--%s requires --baseline-dir", o->save ? "save" : "against");
    return 0;
}

/* ---- messages and the answer ---- */

static int report_quality(struct job *j, struct gp_err *err)
{
    struct gp_report r = {0};
    int failed = 0;
    gp_compile_quality(&r, &j->c);
    if (!j->opts->app.common.quiet && !gp_app_is_terminal(j->app))
        for (size_t i = 0; i < r.quality.n; i++) gp_cli_warn(j->app->tool, "%s", r.quality.at[i].text);
    if (j->opts->app.common.strict && r.quality.n)
        failed = gp_fail(err, GP_E_SYNTAX, -1, "%s", r.quality.at[0].text);
    gp_report_release(&r);
    return failed;
}

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_answer_format *format = gp_answer_format(gp_compile_formats, o->app.common.format);
    struct gp_buf typed = {0}, inputs = {0};
    gp_app_put_title(j->app, &inputs);
    gp_cli_put_given(&typed, j->app->tool, o, "eager mode against code step-marker classes");
    struct gp_compile_answer a = {.c = &j->c,
                                  .input = gp_buf_str(&inputs),
                                  .options = typed.n ? gp_buf_str(&typed) : NULL,
                                  .top = gp_answer_rows(format, o->app.top),
                                  .color = gp_app_color(j->app),
                                  .width = gp_app_width(j->app)};
    int failed = gp_app_answer(j->app, format, &a, err);
    gp_buf_release(&typed);
    gp_buf_release(&inputs);
    return failed;
}

static int run(struct job *j, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (check_options(o, err) || (o->against && gp_findings_load(&j->known, o->folder, o->against, err)))
        return -1;
    j->log.keep_code = o->code;
    gp_compile_init(&j->c, &j->log,
                    &(struct gp_compile_opts){.step_marker = o->app.step_marker,
                                              .classes = j->app->classes,
                                              .against = o->against != NULL,
                                              .known = j->known.at.at,
                                              .n_known = j->known.at.n});
    j->in = (struct gp_compile_inputs){.app = j->app, .log = &j->log, .c = &j->c};
    if (gp_compile_inputs_read(&j->in, o->eager, o->modes.at, o->modes.n, err)) return -1;
    gp_app_phase(j->app, "analysing");
    gp_compile_finish(&j->c);
    gp_app_phase(j->app, NULL);
    if (report_quality(j, err) || write_answer(j, err)) return -1;
    if (o->save && gp_findings_save(&j->c, o->folder, o->save, err)) return -1;
    for (size_t i = 0; i < o->fail_on.n; i++)
        if (gp_compile_findings(&j->c, (enum gp_compile_finding)finding_of(o->fail_on.at[i])))
            *status = GP_EXIT_FINDING;
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-compile",
        .summary = "report where compile time goes, every graph break, and what torch.compile gained",
        .operands = "[FILE|DIR...]",
        .example = "TORCH_TRACE=logs python3 train.py && trace-compile logs\n"
                   "trace-compile --eager eager.json.gz logs compiled.json.gz\n"
                   "trace-compile -f html -o compile.html logs text.log\n"
                   "trace-compile -q --baseline-dir ci --against main --fail-on break logs\n",
        .options = options,
        .renamed = renamed,
        .formats = gp_compile_formats,
        .max_operands = -1,
        .stdin_default = true};
    struct opts o = {.app = {GP_APP_DEFAULTS}};
    struct gp_app f = {0};
    struct gp_err err = {0};
    int status = GP_EXIT_OK, failed = gp_cli_parse(&tool, argc, argv, &o);
    struct job j = {.app = &f, .opts = &o};
    if (failed) {
        status = tool.status;
    } else if (gp_app_open(&f, &tool, &o.app, &err) || run(&j, &status, &err)) {
        gp_cli_error(&tool, &err);
        status = GP_EXIT_ERROR;
    }
    gp_compile_release(&j.c);
    gp_compile_log_release(&j.log);
    gp_finding_lines_release(&j.known);
    gp_compile_inputs_release(&j.in);
    gp_app_close(&f);
    GP_VEC_FREE(&o.modes);
    GP_VEC_FREE(&o.fail_on);
    return status;
}
