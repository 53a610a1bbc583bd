/* gpuprof-collect -- runs a command and records its GPU work as a binary trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/live/meter.h"
#include "collect/launcher/collect.h"
#include "collect/launcher/launch.h"
#include "collect/launcher/collect_plan.h"
#include "formats/base/cli.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

static const struct gp_option options[] = {
    {'o', "output", "FILE",
     "write the trace to FILE; may contain %r, %p, %h (rank, pid, host): one file per process", GP_OPT_STRING,
     offsetof(struct gp_collect_opts, output)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct gp_collect_opts, quiet)},
    {'v', "verbose", NULL, "report more about what was collected", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, verbose)},
    {0, "api", "none|launch|sync|all",
     "API calls to record: launches and copies, also waits, or all (default: sync)", GP_OPT_CHOICE,
     offsetof(struct gp_collect_opts, api)},
    {0, "no-nvtx", NULL, "do not record NVTX ranges", GP_OPT_FLAG, offsetof(struct gp_collect_opts, no_nvtx)},
    {0, "pace", NULL,
     "begin to record when steps of the command have been timed without; of PyTorch, also those that no "
     "range marks",
     GP_OPT_FLAG, offsetof(struct gp_collect_opts, pace)},
    {0, "no-pace", NULL, "with --start, do not time steps before anything is recorded", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, no_pace)},
    {0, "no-clocks", NULL, "do not record clocks, power, heat and other processes of the GPUs", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, no_clocks)},
    {0, "graphs", "node|graph|auto[:RATE]",
     "record CUDA graphs node by node, whole, or whole above RATE nodes per second (default: auto:2000000)",
     GP_OPT_STRING, offsetof(struct gp_collect_opts, graphs)},
    {0, "memory", NULL, "record allocations and frees with sizes and addresses", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, memory)},
    {0, "stacks", "launch|native|sample|none",
     "record the stack of each launch, with native frames below Python's, of samples, or none (default: "
     "launch)",
     GP_OPT_CHOICE, offsetof(struct gp_collect_opts, stacks)},
    {0, "sample", "RATE", "sample the Python stacks of the command RATE times per second (default: 200)",
     GP_OPT_MAYBE, offsetof(struct gp_collect_opts, sample)},
    {0, "budget", "PERCENT", "leave out what would cost a process more than PERCENT of its time",
     GP_OPT_PERCENT, offsetof(struct gp_collect_opts, budget)},
    {0, "command", NULL, "store the command line in the trace, without known forms of secrets", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, command)},
    {0, "redact", NULL, "store hashes of the program's own texts: names of ranges, threads and so on",
     GP_OPT_FLAG, offsetof(struct gp_collect_opts, redact)},
    {0, "filter", "WHAT",
     "record only rank:LIST (0,2-3), kernel:PATTERN (*gemm*), or both with a space between them",
     GP_OPT_STRING, offsetof(struct gp_collect_opts, filter)},
    {0, "start", "WHEN",
     "start recording at: profiler, range:NAME[@N], launch:N, SIGUSR1, SIGUSR2, or a TIME after the start",
     GP_OPT_STRING, offsetof(struct gp_collect_opts, start)},
    {0, "stop", "WHEN", "stop recording at (default: the end of what --start names)", GP_OPT_STRING,
     offsetof(struct gp_collect_opts, stop)},
    {0, "duration", "TIME", "record each process for at most TIME, such as 10 (seconds) or 500ms",
     GP_OPT_SECONDS, offsetof(struct gp_collect_opts, duration_ns)},
    {0, "last", "TIME", "keep only the last TIME, until the command ends or --dump", GP_OPT_SECONDS,
     offsetof(struct gp_collect_opts, last_ns)},
    {0, "dump", "WHEN", "write what --last holds at any of: " GP_DUMP_WORDS, GP_OPT_STRING,
     offsetof(struct gp_collect_opts, dump)},
    {0, "dump-limit", "N", "write at most N times, signals not counted; 0: any number (default: 20)",
     GP_OPT_UINT, offsetof(struct gp_collect_opts, dump_limit)},
    {0, "metrics-file", "FILE", "write sums of the recording to FILE every 5 s, for Prometheus (OpenMetrics)",
     GP_OPT_STRING, offsetof(struct gp_collect_opts, metrics_file)},
    {0, "digest", "ADDRESS", "send digests to trace-fleet at HOST:PORT, or at a socket's path with a \"/\"",
     GP_OPT_STRING, offsetof(struct gp_collect_opts, digest)},
    {0, "digest-secret", "FILE", "with --digest: sign with the secret in FILE", GP_OPT_STRING,
     offsetof(struct gp_collect_opts, digest_secret)},
    {0, "serve", "SOCKET", "stream the last minute to trace-serve --live over SOCKET", GP_OPT_STRING,
     offsetof(struct gp_collect_opts, serve)},
    {0, "flush-interval", "TIME", "flush this often; a crash loses at most one interval (default: 100ms)",
     GP_OPT_SECONDS, offsetof(struct gp_collect_opts, flush_ns)},
    {0, "buffer-size", "SIZE", "size of one activity buffer (default: 8M)", GP_OPT_UINT,
     offsetof(struct gp_collect_opts, buffer_bytes)},
    {0, "hub", NULL,
     "run no command: serve programs that record themselves (gpuprof.h, gputrace) until standard input "
     "ends; print the address for " GP_ENV_SOCKET,
     GP_OPT_FLAG, offsetof(struct gp_collect_opts, hub)},
    {0, "pid", "PID", "run no command: record process PID, which runs already, for --duration or until ^C",
     GP_OPT_UINT, offsetof(struct gp_collect_opts, pid)},
    {0, "tree", NULL, "with --pid: record all processes below PID that use CUDA, and PID itself", GP_OPT_FLAG,
     offsetof(struct gp_collect_opts, tree)},
    {0, "list", NULL, "list processes that use a GPU and how --pid can reach each, instead of recording",
     GP_OPT_FLAG, offsetof(struct gp_collect_opts, list)},
    GP_COLLECT_METRICS_OPTIONS,
    {0},
};

/* What was measured here before gpuprof-measure was. */
static const char *const measuring[] = {"--calibrate", "--op",    "--compare", "--tolerance",
                                        "--device",    "--force", "--sizes",   "--dtype",
                                        "--format",    "-f",      NULL};

static const char name[] = "gpuprof-collect";

static void say(const char *message) { gp_cli_warn(&(struct gp_tool){.name = name}, "%s", message); }

static void stay_silent(const char *message) { (void)message; }

static void set_variable(const char *variable, const char *value)
{
    char *lost = gp_environment_set(variable, value);
    if (lost)
        gp_cli_warn(&(struct gp_tool){.name = name}, "%s: was '%s', which is replaced for this run", variable,
                    lost);
    free(lost);
}

/* Python processes of the command mark their steps: until they are recorded, or to the end. */
static int set_marks(const char *until, struct gp_err *err)
{
    struct gp_buf path = {0};
    const char *others = getenv("PYTHONPATH");
    int failed = gp_environment_package(&path, err);
    gp_buf_puts(&path, "/gputrace/_trial_site");
    if (others && *others) gp_buf_printf(&path, ":%s", others);
    if (!failed) setenv("PYTHONPATH", gp_buf_str(&path), 1);
    if (!failed) setenv("GPUPROF_PACE", until, 1);
    gp_buf_release(&path);
    return failed;
}

static int set_up(struct gp_collect *c, struct gp_err *err)
{
    struct gp_buf library = {0};
    int failed = gp_collect_plan(&c->plan, c->opts, err) || gp_environment_library(&library, err) ||
                 (c->opts->pace && set_marks("recorded", err)) || gp_collect_open(c, err);
    struct gp_err no_package = {0}; /* then without its marks */
    if (!failed && (c->plan.dump.step > 0 || c->plan.budget_ppm) && set_marks("end", &no_package)) failed = 0;
    snprintf(c->library, sizeof c->library, "%s", gp_buf_str(&library));
    if (!failed && !c->opts->hub && !c->opts->pid) {
        set_variable("CUDA_INJECTION64_PATH", gp_buf_str(&library));
        if (!c->opts->no_nvtx) set_variable("NVTX_INJECTION64_PATH", gp_buf_str(&library));
    }
    gp_buf_release(&library);
    return failed;
}

static void add_to_meter(void *ctx, uint32_t producer, int32_t rank, const struct gp_trace *t)
{
    gp_meter_add(ctx, producer, rank, t);
}

static void write_meter(void *ctx, uint64_t lost, struct gp_buf *to) { gp_meter_write(ctx, lost, to); }

static void report(const struct gp_about *about)
{
    struct gp_buf b = {0};
    gp_about_missing(about, say);
    gp_about_sum(&b, about);
    if (!about->opts->quiet) say(gp_buf_str(&b));
    gp_buf_release(&b);
}

/* Run gpuprof-measure, which lies beside this program, with the same arguments. Returns only if that
 * fails. */
static int measure(struct gp_tool *tool, char **argv)
{
    static const char other[] = "gpuprof-measure";
    struct gp_buf path = {0};
    struct gp_err err = {0};
    gp_cli_warn(tool, "%s is an option of %s, which runs instead", tool->alias, other);
    gp_environment_beside(&path, other);
    argv[0] = (char *)(uintptr_t)other;
    execv(gp_buf_str(&path), argv);
    gp_fail(&err, GP_E_IO, -1, "%s: %s", gp_buf_str(&path), strerror(errno));
    gp_cli_error(tool, &err);
    gp_buf_release(&path);
    return GP_LAUNCH_FAILED;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = name,
        .summary = "run a command and write what it does on the GPU as a binary trace to standard output",
        .operands = "[--] CMD [ARG...]",
        .example = "gpuprof-collect ./app | trace2flame > flame.svg\n"
                   "gpuprof-collect -o train.trace python3 train.py\n",
        .options = options,
        .max_operands = -1,
        .stop_at_operand = true,
        .error_status = GP_LAUNCH_FAILED,
        .aliases = measuring,
    };
    struct gp_collect_opts opts = {GP_COLLECT_DEFAULTS};
    struct gp_about about;
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &opts)) return tool.alias ? measure(&tool, argv) : tool.status;
    if (opts.list_metrics && !gp_collect_list(&opts, &err)) return 0;
    if (opts.list && !gp_collect_list_processes(&opts, &err)) return 0;
    if (!err.code && (opts.hub || opts.pid) && tool.nargs) {
        gp_fail(&err, GP_E_USAGE, -1, "%s does not run a command", opts.hub ? "--hub" : "--pid");
    } else if (!err.code && !tool.nargs && !opts.hub && !opts.pid) {
        gp_fail(&err, GP_E_USAGE, -1, "nothing to run: name a command");
    }
    struct gp_collect c = {
        .opts = &opts, .args = tool.args, .nargs = (size_t)tool.nargs, .say = opts.quiet ? stay_silent : say};
    if (err.code || set_up(&c, &err)) {
        gp_cli_error(&tool, &err);
        return GP_LAUNCH_FAILED;
    }
    struct gp_meter *meter = opts.metrics_file ? gp_meter_new() : NULL;
    if (meter) c.sums = (struct gp_collect_sums){add_to_meter, write_meter, meter};
    int failed = opts.hub ? gp_collect_serve(&c, &about, &err) : gp_collect_run(&c, &about, &err);
    gp_meter_free(meter);
    if (about.ended) report(&about);
    if (!failed) return c.launch.status;
    gp_cli_error(&tool, &err);
    return c.launch.status ? c.launch.status : GP_LAUNCH_FAILED;
}
