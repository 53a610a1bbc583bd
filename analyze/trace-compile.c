/* trace-compile -- logs of torch.compile in, with GPU traces of the same program or without; where compile time went, every
 * graph break, recompiles, and what it all gained, out. */
#include <string.h>
#include "analyze/compile/compile.h"
#include "analyze/compile/finding_store.h"
#include "analyze/front/front.h"
#include "formats/base/input.h"
#include "formats/compile_log/compile_log.h"
#include "formats/compile_log/log_folder.h"
#include "render/compile/compile_formats.h"
#include "render/compile/compile_verdict.h"

enum { HEAD = 1 << 16 };

struct opts {
    struct gp_front_opts front; /* first */
    struct gp_opt_list modes, fail_on;
    const char *eager, *folder, *save, *against;
    bool code;
};

static const struct gp_option options[] = {
    {0, "eager", "TRACE", "a GPU trace of the program without torch.compile, to compare with", GP_OPT_STRING,
     offsetof(struct opts, eager)},
    {0, "mode", "NAME=TRACE", "a GPU trace of the program in another mode; may be repeated", GP_OPT_LIST,
     offsetof(struct opts, modes)},
    {0, "fail-on", "break|recompile|skip",
     "exit with 1 if there is a graph break, a recompile or a skipped CUDA graph; may be repeated",
     GP_OPT_LIST, offsetof(struct opts, fail_on)},
    {0, "baseline-dir", "DIR", "where --save and --against keep findings", GP_OPT_STRING,
     offsetof(struct opts, folder)},
    {0, "save", "NAME", "keep the findings as NAME", GP_OPT_STRING, offsetof(struct opts, save)},
    {0, "against", "NAME", "only findings that were not saved as NAME are new, and only those fail",
     GP_OPT_STRING, offsetof(struct opts, against)},
    {0, "code", NULL, "include the program's source lines and the generated code", GP_OPT_FLAG,
     offsetof(struct opts, code)},
    GP_OPTION_TOP("maximum number of rows per table, 0 for all (default: 25, HTML 200)"),
    GP_OPTION_STEP_MARKER,
    GP_OPTION_CLASSES,
    GP_OPTIONS_COMMON,
    {0},
};

/* A trace that is read once all logs are. */
struct trace {
    const char *path, *name; /* name: of --mode */
    enum gp_compile_role role;
};

struct job {
    struct gp_front *front;
    const struct opts *opts;
    struct gp_log_files files; /* of folders */
    GP_VEC(struct trace) traces;
    GP_VEC(char *) names; /* of modes */
    struct gp_finding_lines known;
    struct gp_compile_log log;
    struct gp_compile c;
};

/* ---- inputs ---- */

/* A log, or otherwise what gp_front_trace_input() reads. Among others an empty file is the log of a process that compiled
 * nothing. */
static int sort_input(struct job *j, const char *path, struct gp_err *err)
{
    size_t n;
    struct gp_input *in = gp_input_open(path, j->front->threads.each, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    if (!n && !j->files.at.n && j->front->n == 1) {
        gp_input_close(in);
        return gp_fail(err, GP_E_FORMAT, -1, "%s: the file is empty", path);
    }
    bool log = !n || gp_compile_log_sniff(head, n);
    if (log) {
        gp_compile_log_read(&j->log, in, path);
    } else if (!strcmp(path, "-")) { /* it cannot be opened again */
        struct gp_trace t;
        int failed = gp_front_trace_input(j->front, in, GP_COMPILE_NEED, &t, err);
        if (!failed) {
            failed = gp_compile_add_trace(&j->c, GP_COMPILE_RUN, NULL, &t, err);
            gp_trace_release(&t);
        }
        gp_input_close(in);
        return failed;
    } else {
        GP_VEC_PUSH(&j->traces, (struct trace){.path = path, .role = GP_COMPILE_RUN});
    }
    gp_input_close(in);
    return 0;
}

static int sort_operand(struct job *j, const char *path, struct gp_err *err)
{
    if (!strcmp(path, "-") || !gp_log_is_folder(path)) return sort_input(j, path, err);
    size_t from = j->files.at.n;
    int failed = gp_log_folder(path, &j->files, err);
    for (size_t i = from; i < j->files.at.n && !failed; i++) failed = sort_input(j, j->files.at.at[i], err);
    return failed;
}

/* "NAME=TRACE" */
static int add_mode(struct job *j, const char *text, struct gp_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return gp_fail(err, GP_E_USAGE, -1, "--mode: '%.100s' is not NAME=TRACE", text);
    char *name = gp_alloc((size_t)(equals - text) + 1);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    GP_VEC_PUSH(&j->names, name);
    GP_VEC_PUSH(&j->traces, (struct trace){.path = equals + 1, .name = name, .role = GP_COMPILE_MODE});
    return 0;
}

static int read_trace(struct job *j, const struct trace *one, struct gp_err *err)
{
    struct gp_trace t;
    struct gp_input *in = gp_input_open(one->path, j->front->threads.each, err);
    if (!in) return -1;
    int failed = gp_front_trace_input(j->front, in, GP_COMPILE_NEED, &t, err);
    gp_input_close(in);
    if (failed) return gp_err_context(err, "%s", one->path);
    if (!t.events[GP_GPU].n) failed = gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events", one->path);
    if (!failed) failed = gp_compile_add_trace(&j->c, one->role, one->name, &t, err);
    gp_trace_release(&t);
    return failed;
}

static int read_all(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    for (size_t i = 0; i < j->front->n; i++)
        if (sort_operand(j, j->front->paths[i], err)) return -1;
    if (o->eager) GP_VEC_PUSH(&j->traces, (struct trace){.path = o->eager, .role = GP_COMPILE_EAGER_TRACE});
    for (size_t i = 0; i < o->modes.n; i++)
        if (add_mode(j, o->modes.at[i], err)) return -1;
    for (size_t i = 0; i < j->traces.n; i++)
        if (read_trace(j, &j->traces.at[i], err)) return -1;
    return 0;
}

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
        return gp_fail(err, GP_E_USAGE, -1, "--%s: --baseline-dir must say where",
                       o->save ? "save" : "against");
    return 0;
}

/* ---- messages and the answer ---- */

static int report_quality(struct job *j, struct gp_err *err)
{
    struct gp_report r = {0};
    int failed = 0;
    gp_compile_quality(&r, &j->c);
    if (!j->opts->front.common.quiet && !gp_front_is_terminal(j->front))
        for (size_t i = 0; i < r.quality.n; i++) gp_cli_warn(j->front->tool, "%s", r.quality.at[i].text);
    if (j->opts->front.common.strict && r.quality.n)
        failed = gp_fail(err, GP_E_SYNTAX, -1, "%s", r.quality.at[0].text);
    gp_report_release(&r);
    return failed;
}

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_answer_format *format = gp_answer_format(gp_compile_formats, o->front.common.format);
    struct gp_buf typed = {0};
    gp_cli_put_given(&typed, j->front->tool, o, "eager mode against code step-marker classes");
    struct gp_compile_answer a = {.c = &j->c,
                                  .input = strcmp(j->front->paths[0], "-") != 0 ? j->front->paths[0] : NULL,
                                  .options = typed.n ? gp_buf_str(&typed) : NULL,
                                  .top = gp_answer_rows(format, o->front.top),
                                  .color = gp_front_color(j->front)};
    int failed = gp_answer_write(format, &a, o->front.common.output, err);
    gp_buf_release(&typed);
    return failed;
}

static int run(struct job *j, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (check_options(o, err) || (o->against && gp_findings_load(&j->known, o->folder, o->against, err)))
        return -1;
    j->log.keep_code = o->code;
    gp_compile_init(&j->c, &j->log,
                    &(struct gp_compile_opts){.step_marker = o->front.step_marker,
                                              .classes = j->front->classes,
                                              .against = o->against != NULL,
                                              .known = j->known.at.at,
                                              .n_known = j->known.at.n});
    if (read_all(j, err)) return -1;
    gp_compile_finish(&j->c);
    if (report_quality(j, err) || write_answer(j, err)) return -1;
    if (o->save && gp_findings_save(&j->c, o->folder, o->save, err)) return -1;
    for (size_t i = 0; i < o->fail_on.n; i++)
        if (gp_compile_findings(&j->c, (enum gp_compile_finding)finding_of(o->fail_on.at[i])))
            *status = GP_EXIT_FINDING;
    return 0;
}

static void release(struct job *j)
{
    gp_compile_release(&j->c);
    gp_compile_log_release(&j->log);
    gp_finding_lines_release(&j->known);
    gp_log_files_release(&j->files);
    for (size_t i = 0; i < j->names.n; i++) free(j->names.at[i]);
    GP_VEC_FREE(&j->names);
    GP_VEC_FREE(&j->traces);
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
        .format_name = gp_compile_format_name,
        .max_operands = -1,
        .stdin_default = true};
    struct opts o = {.front = {GP_FRONT_DEFAULTS}};
    struct gp_front f = {0};
    struct gp_err err = {0};
    int status = GP_EXIT_OK, failed = gp_cli_parse(&tool, argc, argv, &o);
    struct job j = {.front = &f, .opts = &o};
    if (failed) {
        status = tool.status;
    } else if (gp_front_open(&f, &tool, &o.front, &err) || run(&j, &status, &err)) {
        gp_cli_error(&tool, &err);
        status = GP_EXIT_ERROR;
    }
    release(&j);
    gp_front_close(&f);
    GP_VEC_FREE(&o.modes);
    GP_VEC_FREE(&o.fail_on);
    return status;
}
