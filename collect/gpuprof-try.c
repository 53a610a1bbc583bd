/* gpuprof-try -- runs a PyTorch program, makes changes go on and off in it, and reports what each saves. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/try/try.h"
#include "collect/launcher/launch.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "render/try/try_formats.h"

enum { NOT_MEASURED = 3, RESULT_MOST = 1 << 30 };

struct opts {
    struct gp_common_opts common; /* first */
    const char *changes, *marker;
    struct gp_opt_list set, env, other;
    double precision; /* percent */
    int64_t time_limit_ns;
    uint64_t max_steps, seed;
    bool show;
};

static const struct gp_option options[] = {
    {'o', "output", "FILE", "write to FILE instead of standard output", GP_OPT_STRING,
     offsetof(struct opts, common.output)},
    {'f', "format", NULL, "output format", GP_OPT_FORMAT, offsetof(struct opts, common.format)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct opts, common.quiet)},
    {0, "color", "auto|always|never", "colour messages and text (default: auto)", GP_OPT_CHOICE,
     offsetof(struct opts, common.color)},
    {0, "changes", "LIST|list",
     "try these changes, separated by commas, or list all there are (default: what trace-suggest finds)",
     GP_OPT_STRING, offsetof(struct opts, changes)},
    {0, "set", "NAME=ON // OFF", "try a change of your own: statements of Python that switch it on and off",
     GP_OPT_LIST, offsetof(struct opts, set)},
    {0, "env", "NAME=VALUE", "try a variable of the environment, by pairs of processes", GP_OPT_LIST,
     offsetof(struct opts, env)},
    {0, "other", "CMD", "try another command, by pairs of processes", GP_OPT_LIST,
     offsetof(struct opts, other)},
    {0, "precision", "PERCENT", "stop when the interval is narrower than PERCENT of the step (default: 1%)",
     GP_OPT_PERCENT, offsetof(struct opts, precision)},
    {0, "time-limit", "TIME", "measure each change for at most TIME (default: 30s)", GP_OPT_SECONDS,
     offsetof(struct opts, time_limit_ns)},
    {0, "max-steps", "N", "end the program after N steps", GP_OPT_UINT, offsetof(struct opts, max_steps)},
    {0, "step-marker", "REGEX", "a step ends with the range that matches REGEX (default: auto-detect)",
     GP_OPT_STRING, offsetof(struct opts, marker)},
    {0, "show", NULL, "run nothing: show FILE, an answer that -f json wrote", GP_OPT_FLAG,
     offsetof(struct opts, show)},
    {0, "seed", "N", "number that decides the order of on and off (default: 1)", GP_OPT_UINT,
     offsetof(struct opts, seed)},
    {0},
};

/* ---- the body, in Python ---- */

typedef GP_VEC(char *) arguments;

static void put(arguments *a, const char *name, const char *value)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s%s", name, value);
    GP_VEC_PUSH(a, strdup(gp_buf_str(&b)));
    gp_buf_release(&b);
}

static void put_number(arguments *a, const char *name, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", v);
    put(a, name, text);
}

static void put_list(arguments *a, const char *name, const struct gp_opt_list *list)
{
    for (size_t i = 0; i < list->n; i++) put(a, name, list->at[i]);
}

/* Run the program of these arguments, which are released; its exit status, or -1 with ERR. */
static int run(arguments *a, bool stdout_to_stderr, struct gp_err *err)
{
    struct gp_launch l = {0};
    GP_VEC_PUSH(a, NULL);
    int failed = gp_launch_start(&l, a->at, stdout_to_stderr, err);
    while (!failed && !l.ended) {
        struct pollfd p = {.fd = l.events_fd, .events = POLLIN};
        if (poll(&p, 1, -1) >= 0 || errno != EINTR) gp_launch_events(&l);
    }
    for (size_t i = 0; i < a->n; i++) free(a->at[i]);
    GP_VEC_FREE(a);
    return failed ? -1 : l.status;
}

static void put_interpreter(arguments *a, const char *package)
{
    put(a, "python3", "");
    put(a, "-c", "");
    put(a, "",
        "import sys; sys.path.append(sys.argv.pop(1)); from gputrace._trial_run import main; "
        "sys.exit(main(sys.argv[1:]))");
    put(a, "", package);
}

/* Print all changes; the status of this program. */
static int list(const char *package, struct gp_err *err)
{
    arguments a = {0};
    put_interpreter(&a, package);
    put(&a, "--list", "");
    int status = run(&a, false, err);
    return status < 0 ? GP_EXIT_ERROR : status;
}

static void put_options(arguments *a, const struct opts *o, const struct gp_tool *tool, const char *result)
{
    put(a, "--result=", result);
    if (o->changes) put(a, "--changes=", o->changes);
    put_list(a, "--set=", &o->set);
    put_list(a, "--env=", &o->env);
    put_list(a, "--other=", &o->other);
    put_number(a, "--precision=", o->precision / 100);
    put_number(a, "--time-limit-ns=", (double)o->time_limit_ns);
    if (o->max_steps) put_number(a, "--max-steps=", (double)o->max_steps);
    put_number(a, "--seed=", (double)o->seed);
    if (o->marker) put(a, "--step-marker=", o->marker);
    if (o->common.quiet) put(a, "--quiet", "");
    put(a, "--", "");
    for (int i = 0; i < tool->nargs; i++) put(a, "", tool->args[i]);
}

/* ---- the answer ---- */

static int answer(const struct gp_tool *tool, const struct opts *o, const char *result, struct gp_err *err)
{
    struct gp_try t = {0};
    struct gp_buf text = {0}, command = {0};
    const struct gp_answer_format *format = gp_answer_format(gp_try_formats, o->common.format);
    for (int i = 0; i < tool->nargs; i++) gp_buf_printf(&command, "%s%s", i ? " " : "", tool->args[i]);
    int failed = gp_input_all(result, NULL, RESULT_MOST, &text, err);
    if (!failed) failed = (o->show ? gp_try_load : gp_try_read)(&t, text.n ? text.data : "", text.n, err);
    if (failed && o->show && text.n) gp_err_context(err, "%s", result);
    if (!failed) {
        struct gp_try_answer a = {.t = &t,
                                  .command = gp_buf_str(&command),
                                  .color = gp_cli_color(&o->common, STDOUT_FILENO),
                                  .width = gp_cli_width(0, STDOUT_FILENO)};
        failed = gp_answer_write(format, &a, o->common.output, err);
    }
    int status = failed ? GP_EXIT_ERROR : gp_try_trusted(&t) ? GP_EXIT_OK : NOT_MEASURED;
    gp_try_release(&t);
    gp_buf_release(&text);
    gp_buf_release(&command);
    return status;
}

/* Run the command with trials; the status of this program. */
static int try_it(const struct gp_tool *tool, const struct opts *o, const char *package, struct gp_err *err)
{
    const char *folder = getenv("TMPDIR");
    struct gp_buf result = {0};
    arguments a = {0};
    int status = GP_EXIT_ERROR;
    gp_buf_printf(&result, "%s/gpuprof-try-XXXXXX", folder && *folder ? folder : "/tmp");
    (void)gp_buf_str(&result);
    int fd = mkstemp(result.data);
    if (fd < 0) {
        (void)gp_fail(err, GP_E_IO, -1, "%s: %s", gp_buf_str(&result), strerror(errno));
    } else {
        close(fd);
        put_interpreter(&a, package);
        put_options(&a, o, tool, gp_buf_str(&result));
        int ended = run(&a, !o->common.output || !strcmp(o->common.output, "-"), err);
        if (ended >= 0 && ended != GP_EXIT_ERROR) status = answer(tool, o, gp_buf_str(&result), err);
        unlink(gp_buf_str(&result));
    }
    gp_buf_release(&result);
    return status;
}

static int check(const struct gp_tool *tool, const struct opts *o, struct gp_err *err)
{
    if (o->show && tool->nargs != 1) return gp_fail(err, GP_E_USAGE, -1, "--show: name one file");
    if (!tool->nargs) return gp_fail(err, GP_E_USAGE, -1, "nothing to run: name a command");
    if (o->precision <= 0 || o->precision >= 100)
        return gp_fail(err, GP_E_USAGE, -1, "--precision: must be more than 0%% and less than 100%%");
    if (o->time_limit_ns <= 0) return gp_fail(err, GP_E_USAGE, -1, "--time-limit: must be longer than 0");
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "gpuprof-try",
        .summary = "make changes in a running PyTorch program and measure what each saves",
        .operands = "[--] CMD [ARG...]",
        .example = "gpuprof-try python3 train.py\n"
                   "gpuprof-try --changes=tf32,fused -f html -o try.html torchrun train.py\n"
                   "gpuprof-try --set 'amp=cfg.amp=1 // cfg.amp=0' python3 train.py\n",
        .options = options,
        .formats = gp_try_formats,
        .max_operands = -1,
        .stop_at_operand = true,
    };
    struct opts o = {.common = {.color = "auto"}, .precision = 1, .time_limit_ns = 30000000000, .seed = 1};
    struct gp_buf package = {0};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    bool only_list = o.changes && !strcmp(o.changes, "list");
    int status = GP_EXIT_ERROR;
    bool right = only_list || !check(&tool, &o, &err);
    if (right && o.show) status = answer(&tool, &o, tool.args[0], &err);
    else if (right && !gp_environment_package(&package, &err))
        status = only_list ? list(gp_buf_str(&package), &err) : try_it(&tool, &o, gp_buf_str(&package), &err);
    if (err.code) gp_cli_error(&tool, &err);
    gp_buf_release(&package);
    GP_RELEASE(gp_vec_free, &o.set, &o.env, &o.other);
    return status;
}
