/* gpuprof-collect -- runs a command and writes what it does on the GPU as a binary trace. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "collect/control.h"
#include "collect/hub.h"
#include "collect/launch.h"
#include "collect/recorder.h"
#include "collect/output.h"
#include "collect/wire.h"
#include "formats/base/buf.h"
#include "formats/base/amount.h"
#include "formats/base/cli.h"
#include "formats/base/json_write.h"
#include "formats/gpt/gpt_write.h"
#include "formats/trace.h"

enum { LOWEST_FD = 100, MIN_BUFFER = 64 << 10, MAX_BUFFER = 64 << 20, KEPT_BYTES = 256 << 20 };
static const int64_t ORPHANS_NS = 5000000000; /* how long processes that outlive the command are waited for */

struct opts {
    const char *output, *api, *graphs, *start, *stop, *dump, *filter;
    bool quiet, verbose, no_nvtx, memory;
    int64_t flush_ns, duration_ns, last_ns;
    uint64_t buffer_bytes;
};

static const struct gp_option options[] = {
    {'o', "output", "FILE", "write the trace to FILE; %r, %p and %h in it: one a process, by rank, pid, host",
     GP_OPT_STRING, offsetof(struct opts, output)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct opts, quiet)},
    {'v', "verbose", NULL, "say more about what was collected", GP_OPT_FLAG, offsetof(struct opts, verbose)},
    {0, "api", "none|launch|sync|all",
     "API calls to record: launches and copies, also waits, or all (default: sync)", GP_OPT_CHOICE,
     offsetof(struct opts, api)},
    {0, "no-nvtx", NULL, "do not record NVTX ranges", GP_OPT_FLAG, offsetof(struct opts, no_nvtx)},
    {0, "graphs", "node|graph|auto[:RATE]",
     "CUDA graphs node by node, as wholes, or as wholes from RATE nodes a second on (default: auto:2000000)",
     GP_OPT_STRING, offsetof(struct opts, graphs)},
    {0, "memory", NULL, "record allocations and frees with sizes and addresses", GP_OPT_FLAG,
     offsetof(struct opts, memory)},
    {0, "filter", "WHAT",
     "record only rank:LIST (0,2-3), kernel:PATTERN (*gemm*), or both with a space between", GP_OPT_STRING,
     offsetof(struct opts, filter)},
    {0, "start", "WHEN",
     "record from then on: profiler, range:NAME[@N], launch:N, SIGUSR1, SIGUSR2, or a time after the start",
     GP_OPT_STRING, offsetof(struct opts, start)},
    {0, "stop", "WHEN", "record until then; by default the end of what --start names", GP_OPT_STRING,
     offsetof(struct opts, stop)},
    {0, "duration", "DURATION", "record each process for so long at most", GP_OPT_DURATION,
     offsetof(struct opts, duration_ns)},
    {0, "last", "DURATION", "keep the last DURATION alone, until the command ends or --dump", GP_OPT_DURATION,
     offsetof(struct opts, last_ns)},
    {0, "dump", "WHEN",
     "write what --last has kept: at SIGUSR1 or SIGUSR2, or idle:DURATION, when no GPU work has ended for so "
     "long",
     GP_OPT_STRING, offsetof(struct opts, dump)},
    {0, "flush-interval", "DURATION",
     "flush this often; a crash loses at most what happened since (default: 100ms)", GP_OPT_DURATION,
     offsetof(struct opts, flush_ns)},
    {0, "buffer-size", "SIZE", "size of one activity buffer (default: 8M)", GP_OPT_UINT,
     offsetof(struct opts, buffer_bytes)},
    {0},
};

static struct gp_tool tool = {
    .name = "gpuprof-collect",
    .summary = "run a command and write what it does on the GPU as a binary trace to standard output",
    .operands = "[--] CMD [ARG...]",
    .example = "gpuprof-collect ./app | trace2flame > flame.svg\n"
               "gpuprof-collect -o train.trace python3 train.py\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .stop_at_operand = true,
    .error_status = GP_LAUNCH_FAILED,
};

struct collect {
    struct opts opts;
    uint32_t graphs; /* enum gp_graph_mode */
    uint64_t graph_rate;
    struct gp_launch launch;
    struct gp_control control;
    struct gp_filter filter;
    struct gp_outputs outs;
    struct gp_hub *hub;
    struct gp_recorder *recorder; /* NULL without --last */
    int64_t idle_ns;              /* --dump idle:... */
    int64_t idle_since_ns;        /* what was dumped for being idle since then */
    uint64_t dump_signal;         /* as a bit */
    bool pattern;                 /* a trace for each process */
    struct gp_err output_err;     /* why one of them could not be made */
    int trace_fd, listen_fd, wake[2];
    bool reader_left;
};

static int64_t now_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- set-up ---- */

/* The trace goes where our standard output goes, by a descriptor that the command does not inherit. */
static int take_stdout(struct collect *c, struct gp_err *err)
{
    if (c->opts.output && strcmp(c->opts.output, "-") != 0) {
        int pattern = gp_output_is_pattern(c->opts.output, err);
        c->pattern = pattern > 0;
        return pattern < 0 ? -1 : 0;
    }
    c->opts.output = NULL;
    if (isatty(STDOUT_FILENO))
        return gp_fail(err, GP_E_USAGE, -1, "standard output is a terminal: redirect it or use -o FILE");
    c->trace_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, LOWEST_FD);
    return c->trace_fd < 0 ? gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno)) : 0;
}

/* The injected library: from the environment, or in a library folder beside the one that this program is in.
 */
static int find_library(struct gp_buf *path, struct gp_err *err)
{
    static const char *const places[] = {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"};
    const char *chosen = getenv(GP_ENV_INJECT);
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    for (int i = 0; i < 2; i++) { /* off with the name, then with "bin" */
        char *slash = strrchr(self, '/');
        if (slash) *slash = 0;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path->n = 0;
        if (chosen && *chosen) gp_buf_puts(path, chosen);
        else gp_buf_printf(path, "%s/%s/libgpuprof-inject.so", self, places[i]);
        if (!access(gp_buf_str(path), R_OK)) return 0;
    }
    if (!chosen || !*chosen)
        return gp_fail(err, GP_E_IO, -1,
                       "%s/lib/libgpuprof-inject.so: not there: built without CUPTI's headers?", self);
    return gp_fail(err, GP_E_IO, -1, "%s: %s", chosen, strerror(errno));
}

static void set_variable(const char *name, const char *value)
{
    const char *old = getenv(name);
    if (old && *old && strcmp(old, value) != 0)
        gp_cli_warn(&tool, "%s: was '%s': that tool is replaced for this run", name, old);
    setenv(name, value, 1);
}

static int listen_for_processes(struct collect *c, struct gp_err *err)
{
    char name[96];
    uint64_t random = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &random, sizeof random) != (ssize_t)sizeof random)
        random = (uint64_t)now_ns(CLOCK_REALTIME);
    if (fd >= 0) close(fd);
    snprintf(name, sizeof name, "@gpuprof-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    c->listen_fd = gp_wire_listen(name, err);
    if (c->listen_fd < 0) return -1;
    setenv(GP_ENV_SOCKET, name, 1);
    return 0;
}

static enum gp_api_level api_level(const char *word)
{
    static const char *const words[] = {"none", "launch", "sync", "all"};
    for (unsigned i = 0; i < 4; i++)
        if (!strcmp(word, words[i])) return (enum gp_api_level)i;
    return GP_API_LEVEL_SYNC;
}

static int set_graphs(struct collect *c, struct gp_err *err)
{
    const char *text = c->opts.graphs;
    char *end;
    c->graphs = GP_GRAPHS_AUTO;
    c->graph_rate = 2000000;
    if (!text || !strcmp(text, "auto")) return 0;
    if (!strcmp(text, "node")) c->graphs = GP_GRAPHS_NODE;
    else if (!strcmp(text, "graph")) c->graphs = GP_GRAPHS_WHOLE;
    if (c->graphs != GP_GRAPHS_AUTO) return 0;
    if (!strncmp(text, "auto:", 5) && text[5] >= '0' && text[5] <= '9') {
        c->graph_rate = strtoull(text + 5, &end, 10);
        if (!*end && c->graph_rate) return 0;
    }
    return gp_fail(err, GP_E_USAGE, -1, "--graphs: '%s' is none of node, graph, auto and auto:RATE", text);
}

static int check_opts(const struct opts *o, struct gp_err *err)
{
    if (o->flush_ns < 1000000 || o->flush_ns > 60000000000)
        return gp_fail(err, GP_E_USAGE, -1, "--flush-interval: must be between 1ms and 60s");
    if (o->buffer_bytes < MIN_BUFFER || o->buffer_bytes > MAX_BUFFER)
        return gp_fail(err, GP_E_USAGE, -1, "--buffer-size: must be between 64K and 64M");
    return 0;
}

static int parse_trigger(const char *option, const char *text, struct gp_trigger *t, struct gp_err *err)
{
    struct gp_err ignored = {0};
    memset(t, 0, sizeof *t);
    if (!text || gp_trigger_parse(text, t)) return 0;
    t->when = GP_WHEN_TIME;
    if (!gp_parse_duration(text, &t->time_ns, &ignored) && t->time_ns > 0) return 0;
    return gp_fail(err, GP_E_USAGE, -1,
                   "%s: '%s' is none of profiler, range:NAME, launch:N, SIGUSR1, SIGUSR2 and a time", option,
                   text);
}

static int set_control(struct collect *c, struct gp_err *err)
{
    struct gp_trigger start, stop;
    if (parse_trigger("--start", c->opts.start, &start, err) ||
        parse_trigger("--stop", c->opts.stop, &stop, err))
        return -1;
    if (c->opts.duration_ns < 0 ||
        (c->opts.no_nvtx && (start.when == GP_WHEN_RANGE || stop.when == GP_WHEN_RANGE)))
        return gp_fail(err, GP_E_USAGE, -1,
                       c->opts.duration_ns < 0 ? "--duration: must not be negative"
                                               : "a range cannot start or stop with --no-nvtx");
    gp_control_init(&c->control, &start, &stop, c->opts.duration_ns);
    c->launch.kept = gp_control_signals(&c->control);
    return 0;
}

static int set_recorder(struct collect *c, struct gp_err *err)
{
    const char *dump = c->opts.dump;
    struct gp_trigger t;
    struct gp_err ignored = {0};
    if (c->opts.last_ns < 0) return gp_fail(err, GP_E_USAGE, -1, "--last: must not be negative");
    if (!dump) return 0;
    if (!c->opts.last_ns) return gp_fail(err, GP_E_USAGE, -1, "--dump needs --last");
    if (gp_trigger_parse(dump, &t) && t.when == GP_WHEN_SIGNAL) {
        c->dump_signal = UINT64_C(1) << t.signal;
        if (!(c->dump_signal & c->launch.kept)) {
            c->launch.kept |= c->dump_signal;
            return 0;
        }
        return gp_fail(err, GP_E_USAGE, -1, "--dump: %s starts or stops already", dump);
    }
    if (!strncmp(dump, "idle:", 5) && !gp_parse_duration(dump + 5, &c->idle_ns, &ignored) && c->idle_ns > 0)
        return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--dump: '%s' is none of SIGUSR1, SIGUSR2 and idle:DURATION", dump);
}

/* ---- the launcher's own part of the trace ---- */

static void to_outputs(void *ctx, const void *data, size_t n)
{
    struct collect *c = ctx;
    gp_outputs_put(&c->outs, data, n);
}

static void on_block(void *ctx, const void *data, size_t n)
{
    struct collect *c = ctx;
    if (c->recorder) gp_recorder_put(c->recorder, data, n, now_ns(CLOCK_MONOTONIC));
    else gp_outputs_put(&c->outs, data, n);
}

static bool is_full(void *ctx)
{
    const struct collect *c = ctx;
    return gp_outputs_full(&c->outs);
}

static void put_text(struct gp_buf *b, const char *text)
{
    gp_json_put_string(b, text, strlen(text));
}

static void set_meta(struct gp_trace *t, const char *key, struct gp_buf *json)
{
    gp_trace_set_meta(t, key, json->data, json->n);
    json->n = 0;
}

static void note_clock(struct gp_trace *t)
{
    struct gp_clock c = {now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_REALTIME), 0};
    GP_VEC_PUSH(&t->clocks, c);
}

static void begin_trace(const struct collect *c, struct gp_output *o)
{
    struct gp_buf b = {0};
    put_text(&b, "gpuprof-collect " GP_VERSION);
    set_meta(&o->trace, "collector", &b);
    gp_buf_putc(&b, '[');
    for (int i = 0; i < tool.nargs; i++) {
        if (i) gp_buf_putc(&b, ',');
        put_text(&b, tool.args[i]);
    }
    gp_buf_putc(&b, ']');
    set_meta(&o->trace, "command", &b);
    put_text(&b, c->opts.api);
    set_meta(&o->trace, "api_level", &b);
    gp_buf_put_i64(&b, c->opts.flush_ns);
    set_meta(&o->trace, "flush_interval_ns", &b);
    if (c->opts.start) {
        put_text(&b, c->opts.start);
        set_meta(&o->trace, "start", &b);
    }
    if (c->opts.stop) {
        put_text(&b, c->opts.stop);
        set_meta(&o->trace, "stop", &b);
    }
    if (c->opts.duration_ns) {
        gp_buf_put_i64(&b, c->opts.duration_ns);
        set_meta(&o->trace, "duration_ns", &b);
    }
    if (c->opts.filter) {
        put_text(&b, c->opts.filter);
        set_meta(&o->trace, "filter", &b);
    }
    if (c->opts.last_ns) {
        gp_buf_put_i64(&b, c->opts.last_ns);
        set_meta(&o->trace, "last_ns", &b);
    }
    gp_buf_put_i64(&b, now_ns(CLOCK_REALTIME));
    set_meta(&o->trace, "start_realtime_ns", &b);
    gp_buf_release(&b);
    note_clock(&o->trace);
    gp_gpt_begin(o->writer);
    gp_gpt_flush(o->writer, &o->trace);
}

static void note_loss(struct gp_output *o, const char *what, const char *why, uint64_t count)
{
    struct gp_loss l = {gp_intern_cstr(&o->trace.strings, what), gp_intern_cstr(&o->trace.strings, why),
                        count, UINT32_MAX};
    if (count) GP_VEC_PUSH(&o->trace.losses, l);
}

/* Processes that did not end in order: who, and how as far as we can know, which is for our own child alone. */
static void note_cuts(const struct collect *c, struct gp_output *o)
{
    struct gp_hub_cut cut;
    for (size_t i = 0; gp_hub_next_cut(c->hub, &i, &cut);) {
        if (o->process.producer && cut.pid != o->process.pid) continue;
        char how[40] = "was killed or ended by _exit", why[160];
        if (cut.pid == c->launch.pid && c->launch.signal)
            snprintf(how, sizeof how, "was ended by signal %d", c->launch.signal);
        else if (cut.pid == c->launch.pid && c->launch.ended) snprintf(how, sizeof how, "ended by _exit");
        snprintf(why, sizeof why,
                 "process %ld %s: %llu records salvaged, what was still in the driver is missing",
                 (long)cut.pid, how, (unsigned long long)cut.salvaged);
        note_loss(o, "ends of processes", why, 1);
    }
}

static void end_trace(const struct collect *c, struct gp_output *o, const struct gp_hub_totals *t)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%d", c->launch.status);
    set_meta(&o->trace, "exit_status", &b);
    if (c->launch.signal) {
        gp_buf_printf(&b, "%d", c->launch.signal);
        set_meta(&o->trace, "exit_signal", &b);
    }
    gp_buf_printf(&b, "%u", t->processes);
    set_meta(&o->trace, "traced_processes",
             &b); /* of the command, also where each has its own trace; so with the CPU */
    gp_buf_put_i64(&b, t->stats.cpu_ns);
    set_meta(&o->trace, "collector_cpu_ns", &b);
    gp_buf_put_i64(&b, now_ns(CLOCK_PROCESS_CPUTIME_ID));
    set_meta(&o->trace, "launcher_cpu_ns", &b);
    if (t->cut) {
        gp_buf_put_u64(&b, t->stats.salvaged);
        set_meta(&o->trace, "salvaged_records", &b);
    }
    gp_buf_release(&b);
    note_cuts(c, o);
    if (c->recorder)
        note_loss(o, "blocks of events", "--last keeps so much memory at most",
                  gp_recorder_crowded_out(c->recorder));
    note_clock(&o->trace);
    gp_gpt_end(o->writer, &o->trace);
}

/* A process has come: is it to be recorded, and in a trace of its own? */
static bool on_joined(void *ctx, const struct gp_hub_process *process)
{
    struct collect *c = ctx;
    struct gp_err err = {0};
    if (!gp_filter_rank(&c->filter, process->rank)) return false;
    if (!c->pattern) return true;
    struct gp_output *o = gp_outputs_add(&c->outs, c->opts.output, process, &err);
    if (o) begin_trace(c, o);
    else if (!c->output_err.code) c->output_err = err;
    return true;
}

/* ---- running ---- */

/* When no GPU work has come for so long, once for each such time; 0: never. */
static int64_t idle_due(const struct collect *c)
{
    int64_t last_ns = c->idle_ns ? gp_recorder_gpu_ns(c->recorder) : 0;
    return last_ns && last_ns != c->idle_since_ns ? last_ns + c->idle_ns : 0;
}

/* Write what the recorder has kept if it is time to. */
static void maybe_dump(struct collect *c)
{
    int64_t due_ns = idle_due(c);
    bool idle = due_ns && now_ns(CLOCK_MONOTONIC) >= due_ns, asked = c->launch.arrived & c->dump_signal;
    if (!idle && !asked) return;
    gp_recorder_dump(c->recorder);
    if (idle) c->idle_since_ns = gp_recorder_gpu_ns(c->recorder);
    if (!c->opts.quiet)
        fprintf(stderr, "gpuprof-collect: %s: what was kept is written\n",
                idle ? "no GPU work has ended for a while" : "asked by a signal");
}

static void sooner(int64_t *due_ns, int64_t other_ns)
{
    if (other_ns && (!*due_ns || other_ns < *due_ns)) *due_ns = other_ns;
}

/* One round: wait for something to happen, at most until DUE_NS (0: for ever). */
static void turn(struct collect *c, struct pollfd **fds, size_t *cap, int64_t due_ns)
{
    enum { OURS = 3 };
    size_t want = gp_hub_poll_size(c->hub) + OURS;
    if (*cap < want) {
        *cap = want * 2;
        *fds = gp_realloc(*fds, *cap * sizeof **fds);
    }
    struct pollfd *p = *fds;
    p[0] = (struct pollfd){.fd = c->launch.events_fd, .events = POLLIN};
    p[1] = (struct pollfd){.fd = c->wake[0], .events = POLLIN};
    p[2] = (struct pollfd){.fd = c->opts.output ? -1 : c->trace_fd,
                           .events = 0}; /* tells when the reader goes */
    if (c->reader_left) p[2].fd = -1;
    size_t n = gp_hub_poll_fds(c->hub, p + OURS, !gp_outputs_full(&c->outs));
    int timeout = -1;
    sooner(&due_ns, gp_control_due(&c->control));
    sooner(&due_ns, idle_due(c));
    if (due_ns) {
        int64_t left = due_ns - now_ns(CLOCK_MONOTONIC);
        timeout = left > 0 ? (int)(left / 1000000 + 1) : 0;
    }
    if (poll(p, (nfds_t)(n + OURS), timeout) < 0)
        return; /* a signal; what it is about comes through events_fd */
    if (p[0].revents) gp_launch_events(&c->launch);
    if (gp_control_turn(&c->control, c->launch.arrived, now_ns(CLOCK_MONOTONIC)))
        gp_hub_record(c->hub, c->control.gate.open);
    maybe_dump(c);
    c->launch.arrived = 0;
    if (p[1].revents) {
        char drop[256];
        ssize_t rc = read(c->wake[0], drop, sizeof drop);
        (void)rc;
    }
    if (p[2].revents & POLLERR || gp_outputs_failed(&c->outs) == EPIPE) c->reader_left = true;
    if (c->reader_left || gp_outputs_failed(&c->outs)) gp_hub_stop(c->hub);
    gp_hub_serve(c->hub, p + OURS, n);
}

static void run(struct collect *c)
{
    struct pollfd *fds = NULL;
    size_t cap = 0;
    while (!c->launch.ended) turn(c, &fds, &cap, 0);
    /* What the command left in the sockets, and processes that it left behind. */
    int64_t due_ns = now_ns(CLOCK_MONOTONIC) + ORPHANS_NS;
    turn(c, &fds, &cap, 1); /* lets in those that connected and ended at once */
    while (gp_hub_totals(c->hub).live && !c->launch.nudges) {
        if (gp_outputs_full(&c->outs))
            due_ns = now_ns(CLOCK_MONOTONIC) + ORPHANS_NS; /* the reader is what is slow */
        if (now_ns(CLOCK_MONOTONIC) > due_ns) break;
        turn(c, &fds, &cap, due_ns);
    }
    free(fds);
}

static void report(struct collect *c, const struct gp_hub_totals *t)
{
    const struct gp_wire_stats *s = &t->stats;
    if (t->err.code) gp_cli_warn(&tool, "a process runs untraced: %s", t->err.msg);
    if (c->opts.quiet) return;
    struct gp_buf b = {0};
    gp_buf_printf(&b, "gpuprof-collect: %llu kernels, %llu copies, %llu sets, %u %s, %llu lost",
                  (unsigned long long)s->kernels, (unsigned long long)s->copies, (unsigned long long)s->sets,
                  t->processes, t->processes == 1 ? "process" : "processes",
                  (unsigned long long)(s->dropped + s->bad_time));
    if (c->opts.verbose)
        gp_buf_printf(&b, " (%llu dropped, %llu without a time), %llu calls, %llu ranges",
                      (unsigned long long)s->dropped, (unsigned long long)s->bad_time,
                      (unsigned long long)s->calls, (unsigned long long)s->ranges);
    if (c->recorder) gp_buf_printf(&b, ", the last %g s kept", (double)c->opts.last_ns / 1e9);
    if (c->opts.memory) gp_buf_printf(&b, ", %llu allocations", (unsigned long long)s->allocations);
    if (t->cut) gp_buf_printf(&b, ", %u ended early", t->cut);
    if (t->cut && c->opts.verbose)
        gp_buf_printf(&b, " (%llu records salvaged)", (unsigned long long)s->salvaged);
    if (t->live) gp_buf_printf(&b, ", %u still running", t->live);
    if (c->reader_left) gp_buf_puts(&b, ", stopped when the reader went away");
    gp_buf_printf(&b, ", %llu clock inversions", (unsigned long long)s->inversions);
    if (s->inversions) gp_buf_printf(&b, " (max %lld ns)", (long long)s->worst_inversion_ns);
    gp_buf_printf(&b, ", collector CPU %.3f s in them and %.3f s beside\n", (double)s->cpu_ns / 1e9,
                  (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    fputs(gp_buf_str(&b), stderr);
    gp_buf_release(&b);
}

static int set_up(struct collect *c, struct gp_buf *library, struct gp_err *err)
{
    if (check_opts(&c->opts, err) || set_graphs(c, err) || set_control(c, err) || set_recorder(c, err) ||
        gp_filter_parse(&c->filter, c->opts.filter, err) || take_stdout(c, err) || find_library(library, err))
        return -1;
    if (pipe(c->wake)) return gp_fail(err, GP_E_IO, -1, "pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        fcntl(c->wake[i], F_SETFD, FD_CLOEXEC);
        fcntl(c->wake[i], F_SETFL, O_NONBLOCK);
    }
    if (listen_for_processes(c, err)) return -1;
    c->outs.wake_fd = c->wake[1];
    if (c->pattern) return 0;
    struct gp_buf path = {0};
    struct gp_hub_process nobody = {0, 0, -1};
    if (c->opts.output) gp_output_expand(&path, c->opts.output, &nobody);
    bool ok = gp_outputs_open(&c->outs, c->opts.output ? gp_buf_str(&path) : NULL, c->trace_fd, err) != NULL;
    gp_buf_release(&path);
    return ok ? 0 : -1;
}

/* The command line as execvp() wants it. */
static char **copy_args(void)
{
    char **argv = gp_zalloc(((size_t)tool.nargs + 1) * sizeof *argv);
    for (int i = 0; i < tool.nargs; i++) argv[i] = (char *)(uintptr_t)tool.args[i];
    return argv;
}

static int collect(struct collect *c, struct gp_err *err)
{
    struct gp_hub_opts h = {.welcome = {.api = api_level(c->opts.api),
                                        .buffer_bytes = (uint32_t)c->opts.buffer_bytes,
                                        .flush_ns = c->opts.flush_ns,
                                        .memory = c->opts.memory,
                                        .graphs = c->graphs,
                                        .graph_rate = c->graph_rate,
                                        .gate = c->control.gate},
                            .kernel = c->filter.kernel,
                            .on_block = on_block,
                            .on_joined = on_joined,
                            .is_full = is_full,
                            .ctx = c};
    c->hub = gp_hub_new(c->listen_fd, &h);
    if (c->opts.last_ns) c->recorder = gp_recorder_new(c->opts.last_ns, KEPT_BYTES, to_outputs, c);
    if (!c->pattern) begin_trace(c, c->outs.list.at[0]);
    char **argv = copy_args();
    int rc = gp_launch_start(&c->launch, argv, !c->opts.output, err);
    free(argv);
    gp_control_begin(&c->control, now_ns(CLOCK_MONOTONIC));
    if (!rc) run(c);
    struct gp_hub_totals totals = gp_hub_totals(c->hub);
    gp_hub_stop(c->hub);
    if (c->recorder) gp_recorder_end(c->recorder);
    for (size_t i = 0; i < c->outs.list.n; i++) end_trace(c, c->outs.list.at[i], &totals);
    if (!rc) report(c, &totals);
    gp_hub_free(c->hub);
    gp_recorder_free(c->recorder);
    struct gp_err write_err = {0};
    int closed = gp_outputs_close(&c->outs, !rc, &write_err);
    if (rc || (!closed && !c->output_err.code)) return rc;
    *err = c->output_err.code ? c->output_err : write_err;
    return -1;
}

int main(int argc, char **argv)
{
    struct collect c = {.opts = {.api = "sync", .flush_ns = 100000000, .buffer_bytes = 8 << 20},
                        .trace_fd = -1};
    struct gp_buf library = {0};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &c.opts)) return tool.status;
    if (set_up(&c, &library, &err)) {
        gp_buf_release(&library);
        gp_cli_error(&tool, &err);
        return GP_LAUNCH_FAILED;
    }
    set_variable("CUDA_INJECTION64_PATH", gp_buf_str(&library));
    if (!c.opts.no_nvtx) set_variable("NVTX_INJECTION64_PATH", gp_buf_str(&library));
    gp_buf_release(&library);
    if (collect(&c, &err)) {
        gp_cli_error(&tool, &err);
        return c.launch.status ? c.launch.status : GP_LAUNCH_FAILED;
    }
    return c.launch.status;
}
