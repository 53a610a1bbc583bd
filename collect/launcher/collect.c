#include "collect/launcher/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "formats/base/clock.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/mem.h"

/* SETTLE_FLUSHES: until what led to a moment has been handed over and its calls have found their work */
enum { LOWEST_FD = 100, KEPT_BYTES = 256 << 20, SETTLE_FLUSHES = 3 };
static const int64_t METRICS_NS = 5000000000; /* how often --metrics-file is written */
static const int64_t LEAVE_NS = 30000000000;  /* how long processes may take to hand over the rest */
static const int64_t ORPHANS_NS = 5000000000; /* how long to wait for processes that outlive the command */

/* ---- set-up ---- */

/* The trace goes where our standard output goes, by a descriptor that the command does not inherit. */
static int take_stdout(struct gp_collect *c, struct gp_err *err)
{
    c->trace_fd = -1;
    if (c->plan.output) return 0;
    if (isatty(STDOUT_FILENO))
        return gp_fail(err, GP_E_USAGE, -1, "standard output is a terminal: redirect it or use -o FILE");
    c->trace_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, LOWEST_FD);
    return c->trace_fd < 0 ? gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno)) : 0;
}

static int make_wake(struct gp_collect *c, struct gp_err *err)
{
    if (pipe(c->wake)) return gp_fail(err, GP_E_IO, -1, "pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        fcntl(c->wake[i], F_SETFD, FD_CLOEXEC);
        fcntl(c->wake[i], F_SETFL, O_NONBLOCK);
    }
    c->outs.wake_fd = c->wake[1];
    return 0;
}

static int open_trace(struct gp_collect *c, struct gp_err *err)
{
    struct gp_buf path = {0};
    struct gp_hub_process nobody = {0, 0, -1};
    if (c->plan.pattern) return 0; /* one is made for each process */
    if (c->plan.output) gp_output_expand(&path, c->plan.output, &nobody);
    bool ok = gp_outputs_open(&c->outs, c->plan.output ? gp_buf_str(&path) : NULL, c->trace_fd, err) != NULL;
    gp_buf_release(&path);
    return ok ? 0 : -1;
}

/* Whoever started us waits for us, and must not have a child that it does not know; nor do we belong to its
 * terminal. */
static int go_to_background(struct gp_err *err)
{
    pid_t pid = fork();
    if (pid < 0) return gp_fail(err, GP_E_IO, -1, "--hub: %s", strerror(errno));
    if (pid > 0) _exit(0);
    setsid();
    return 0;
}

static void start_counters(struct gp_collect *c)
{
    const char *libcupti = getenv(GP_ENV_LIBCUPTI);
    struct gp_pm_opts o = {.period_ns = c->plan.counters_ns,
                           .metrics = c->plan.sampled,
                           .libcupti = libcupti && *libcupti ? libcupti : NULL};
    if (c->plan.counters_ns) c->pm = gp_pm_start(&o);
}

static int open_ends(struct gp_collect *c, struct gp_err *err)
{
    if (c->opts->serve && !(c->live = gp_live_open(c->opts->serve, err))) return -1;
    if (c->opts->digest &&
        !(c->digest_pipe = gp_digest_pipe_open(c->opts->digest, c->opts->digest_secret, err)))
        return -1;
    c->listen_fd = gp_environment_listen(err);
    return c->listen_fd < 0 ? -1 : c->opts->hub ? 0 : open_trace(c, err);
}

int gp_collect_open(struct gp_collect *c, struct gp_err *err)
{
    c->trace_fd = -1;
    if ((c->opts->hub ? go_to_background(err) : take_stdout(c, err)) || make_wake(c, err)) return -1;
    start_counters(c); /* before there is a thread */
    if (!open_ends(c, err)) return 0;
    gp_pm_free(c->pm);
    c->pm = NULL;
    return -1;
}

/* ---- where blocks go ---- */

static void to_outputs(void *ctx, const void *data, size_t n) { gp_outputs_put(ctx, data, n); }

static void to_recorder(void *ctx, const void *data, size_t n) { gp_recorder_put(ctx, data, n, gp_now_ns()); }

static void to_live(void *ctx, const void *data, size_t n) { gp_live_put(ctx, data, n, gp_now_ns()); }

static void to_digest_pipe(void *ctx, const void *data, size_t n) { gp_digest_pipe_put(ctx, data, n); }

static void add_sink(struct gp_collect *c, struct gp_block_sink sink) { c->sinks[c->nsinks++] = sink; }

static int on_block(void *ctx, const void *data, size_t n)
{
    const struct gp_collect *c = ctx;
    for (size_t i = 0; i < c->nsinks; i++)
        if (c->sinks[i].on_block) c->sinks[i].on_block(c->sinks[i].ctx, data, n);
    return 0;
}

static void on_events(void *ctx, uint32_t producer, int32_t rank, const struct gp_trace *t)
{
    const struct gp_collect *c = ctx;
    gp_clocks_saw(c->clocks, c->plan.pattern ? producer : 0, t);
    if (c->triggers) gp_triggers_events(c->triggers, producer, t);
    for (size_t i = 0; i < c->nsinks; i++)
        if (c->sinks[i].on_events) c->sinks[i].on_events(c->sinks[i].ctx, producer, rank, t);
}

static void on_note(void *ctx, uint32_t producer, int64_t tid, const struct gp_note *note)
{
    const struct gp_collect *c = ctx;
    gp_triggers_note(c->triggers, producer, tid, note);
}

static void on_reach(void *ctx, uint32_t producer, int64_t ns)
{
    const struct gp_collect *c = ctx;
    gp_triggers_reach(c->triggers, producer, ns);
}

static void on_sample(void *ctx, const struct gp_clock_sample *s, const struct gp_clock_device *device)
{
    const struct gp_collect *c = ctx;
    gp_triggers_sample(c->triggers, s, device->memory_bytes);
}

static bool is_full(void *ctx)
{
    const struct gp_collect *c = ctx;
    return gp_outputs_full(&c->outs);
}

/* A process has come: is it to be recorded, and in a trace of its own? */
static bool on_joined(void *ctx, const struct gp_hub_process *process)
{
    struct gp_collect *c = ctx;
    struct gp_err err = {0};
    if (!gp_filter_rank(&c->plan.filter, process->rank)) return false;
    gp_clocks_joined(c->clocks, process->pid);
    if (!c->plan.pattern) return true;
    struct gp_output *o = gp_outputs_add(&c->outs, c->plan.output, process, &err);
    if (o) gp_about_begin(o, c->opts, c->args, c->nargs);
    else if (!c->output_err.code) c->output_err = err;
    return true;
}

static void beside(void *ctx, const struct gp_trace *t, int64_t from_ns, int64_t to_ns,
                   int (*write)(void *to, const void *block, size_t n), void *to)
{
    const struct gp_collect *c = ctx;
    gp_clocks_beside(c->clocks, t, from_ns, to_ns, write, to);
}

/* ---- running ---- */

/* When no GPU work has come for so long, once for each such time; 0: never. */
static int64_t idle_due(const struct gp_collect *c)
{
    int64_t last_ns = c->plan.dump.idle_ns ? gp_recorder_gpu_ns(c->recorder) : 0;
    return last_ns && last_ns != c->idle_since_ns ? last_ns + c->plan.dump.idle_ns : 0;
}

/* Write the recorder's blocks, with a mark at AT_NS that says why, and say so. */
static void dump(struct gp_collect *c, uint32_t producer, int64_t at_ns, const char *why)
{
    char words[256];
    snprintf(words, sizeof words, "--dump: %s", why);
    bool there = gp_hub_mark(c->hub, c->plan.pattern ? 0 : producer, words, at_ns);
    if (producer && !there) return; /* it has ended, which explains the rest */
    gp_recorder_dump(c->recorder);
    snprintf(words, sizeof words, "--dump: wrote the kept events: %s", why);
    c->say(words);
}

/* ---- processes that run already ---- */

/* The end of the recording, not of the process, as far as we are asked. */
static const uint64_t ending = 1 << SIGINT | 1 << SIGQUIT | 1 << SIGTERM | 1 << SIGHUP;

static void say_not_recorded(const struct gp_collect *c, const struct gp_reach *r, const char *why)
{
    struct gp_buf b = {0};
    if (r && *r->name) gp_buf_printf(&b, "process %ld (%s) is not recorded: %s", (long)r->pid, r->name, why);
    else if (r) gp_buf_printf(&b, "process %ld is not recorded: %s", (long)r->pid, why);
    else gp_buf_printf(&b, "the process is not recorded: %s", why);
    c->say(gp_buf_str(&b));
    gp_buf_release(&b);
}

static void on_say(void *ctx, const char *text) { say_not_recorded(ctx, NULL, text); }

/* All are made ready, which takes time, before the first one begins. */
static int attach(struct gp_collect *c, struct gp_err *err)
{
    gp_reach_list list = {0};
    struct gp_reach r;
    bool any = false;
    if (c->opts->tree) {
        gp_reach_find(&list, (pid_t)c->opts->pid, c->library);
    } else {
        gp_reach(&r, (pid_t)c->opts->pid, c->library);
        GP_VEC_PUSH(&list, r);
    }
    for (size_t i = 0; i < list.n; i++)
        if (list.at[i].way == GP_REACH_PTRACE) gp_load_library(&list.at[i], c->library);
    for (size_t i = 0; i < list.n; i++) {
        int fd = gp_reach_connect(&list.at[i]);
        if (fd < 0) say_not_recorded(c, &list.at[i], list.at[i].why);
        else gp_hub_adopt(c->hub, fd);
        any |= fd >= 0;
    }
    GP_VEC_FREE(&list);
    if (any) return 0;
    c->launch.status = GP_LAUNCH_FAILED;
    return gp_fail(err, GP_E_IO, -1, "--pid: nothing can be recorded");
}

/* The processes are not ours to end: they are asked, hand over the rest, and go on. */
static void watch_attached(struct gp_collect *c, bool asked)
{
    int64_t now_ns = gp_now_ns(), duration_ns = c->opts->duration_ns;
    struct gp_hub_totals t = gp_hub_totals(c->hub);
    if (t.recorded > c->recorded) {
        c->say(duration_ns ? "recording" : "recording; ^C ends it");
        if (duration_ns && !c->leaving) c->until_ns = now_ns + duration_ns;
    }
    c->recorded = t.recorded;
    bool due = c->until_ns && now_ns >= c->until_ns;
    c->launch.ended = !t.live || (c->leaving && due);
    if (c->leaving || !(asked || due)) return;
    c->leaving = true;
    c->until_ns = now_ns + LEAVE_NS;
    gp_hub_record(c->hub, false, true);
}

/* Write the recorder's blocks if it is time to. */
static void maybe_dump(struct gp_collect *c)
{
    struct gp_dump d;
    int64_t now_ns = gp_now_ns(), due_ns = idle_due(c);
    if (c->launch.arrived & c->plan.dump.signal) dump(c, 0, now_ns, "signal received");
    if (due_ns && now_ns >= due_ns) {
        c->idle_since_ns = gp_recorder_gpu_ns(c->recorder);
        gp_triggers_fire(c->triggers, 0, now_ns, "no GPU work has ended for a while");
    }
    if (gp_triggers_turn(c->triggers, now_ns, &d)) dump(c, d.producer, d.at_ns, d.why);
}

/* Write the sums so far, whole or not at all; a file that cannot be written is reported once. */
static void write_metrics(struct gp_collect *c)
{
    struct gp_buf text = {0};
    struct gp_err err = {0};
    struct gp_wire_stats stats = gp_hub_totals(c->hub).stats;
    c->sums.write(c->sums.ctx, stats.dropped + stats.bad_time, &text);
    int failed = gp_answer_file(c->opts->metrics_file, &text, &err);
    gp_buf_release(&text);
    c->metrics_due_ns = failed ? INT64_MAX : gp_now_ns() + METRICS_NS;
    if (!failed) return;
    struct gp_buf words = {0};
    gp_buf_printf(&words, "--metrics-file: %s", err.msg);
    c->say(gp_buf_str(&words));
    gp_buf_release(&words);
}

static void sooner(int64_t *due_ns, int64_t other_ns)
{
    if (other_ns && (!*due_ns || other_ns < *due_ns)) *due_ns = other_ns;
}

enum {
    ENDED,
    WAKE,
    READER,
    DIGEST_PIPE,
    OURS
}; /* the first descriptors to wait for; those of the hub follow */

/* Fill FDS for poll(); returns the number of those of the hub. */
static size_t poll_fds(const struct gp_collect *c, struct pollfd *fds)
{
    bool watched = !c->plan.output && !c->opts->hub && !c->reader_left;
    fds[ENDED] = (struct pollfd){.fd = c->launch.events_fd, .events = POLLIN};
    fds[WAKE] = (struct pollfd){.fd = c->wake[0], .events = POLLIN};
    fds[READER] = (struct pollfd){.fd = watched ? c->trace_fd : -1}; /* an error when the reader exits */
    gp_digest_pipe_poll_fd(c->digest_pipe, &fds[DIGEST_PIPE]);
    return gp_hub_poll_fds(c->hub, fds + OURS, !gp_outputs_full(&c->outs));
}

/* Until DUE_NS (0: for ever) or whatever else is due before. */
static int timeout_ms(const struct gp_collect *c, int64_t due_ns)
{
    sooner(&due_ns, gp_control_due(&c->plan.control));
    sooner(&due_ns, idle_due(c));
    if (c->triggers) sooner(&due_ns, gp_now_ns() + c->opts->flush_ns);
    sooner(&due_ns, gp_hub_due(c->hub));
    sooner(&due_ns, c->until_ns);
    sooner(&due_ns, c->metrics_due_ns == INT64_MAX ? 0 : c->metrics_due_ns);
    sooner(&due_ns, gp_host_due(c->host));
    sooner(&due_ns, gp_pm_due(c->pm));
    sooner(&due_ns, gp_clocks_due(c->clocks));
    if (!due_ns) return -1;
    int64_t left = due_ns - gp_now_ns();
    return left > 0 ? (int)(left / 1000000 + 1) : 0;
}

/* Standard input is held open by whoever started us, and says nothing. */
static void hear_owner(struct gp_collect *c)
{
    char drop[64];
    ssize_t n = read(c->launch.events_fd, drop, sizeof drop);
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) return;
    c->launch.ended = true;
    c->launch.events_fd = -1;
}

/* --pace: it is known, or waited for long enough. */
static void look_for_pace(struct gp_collect *c)
{
    struct gp_control *k = &c->plan.control;
    if (!gp_control_awaits_pace(k)) return;
    if (gp_hub_has_pace(c->hub)) k->start_ns = gp_now_ns();
    else if (gp_now_ns() >= k->start_ns)
        c->say("--pace: no steps were seen, so recording begins without their times");
}

/* One round: wait for something to happen, at most until DUE_NS (0: for ever). */
static void turn(struct gp_collect *c, struct pollfd **fds, size_t *cap, int64_t due_ns)
{
    size_t want = gp_hub_poll_size(c->hub) + OURS + GP_LIVE_FDS;
    if (*cap < want) {
        *cap = want * 2;
        *fds = gp_realloc(*fds, *cap * sizeof **fds);
    }
    struct pollfd *p = *fds;
    size_t n = poll_fds(c, p), live = gp_live_poll_fds(c->live, p + OURS + n);
    if (poll(p, (nfds_t)(n + OURS + live), timeout_ms(c, due_ns)) < 0)
        return; /* a signal, which comes through events_fd */
    if (p[ENDED].revents && c->opts->hub) hear_owner(c);
    else if (p[ENDED].revents) gp_launch_events(&c->launch);
    bool asked = c->launch.arrived & ending;
    look_for_pace(c);
    if (gp_control_turn(&c->plan.control, c->launch.arrived, gp_now_ns()))
        gp_hub_record(c->hub, c->plan.control.capture.open, false);
    if (c->triggers) maybe_dump(c);
    if (c->sums.add && gp_now_ns() >= c->metrics_due_ns) write_metrics(c);
    gp_host_turn(c->host, gp_now_ns());
    gp_pm_turn(c->pm, gp_now_ns());
    gp_clocks_turn(c->clocks, gp_now_ns());
    c->launch.arrived = 0;
    if (p[DIGEST_PIPE].revents) gp_digest_pipe_turn(c->digest_pipe);
    if (p[WAKE].revents) {
        char drop[256];
        ssize_t rc = read(c->wake[0], drop, sizeof drop);
        (void)rc;
    }
    if (p[READER].revents & POLLERR || gp_outputs_failed(&c->outs) == EPIPE) c->reader_left = true;
    if (c->reader_left || gp_outputs_failed(&c->outs)) gp_hub_stop(c->hub);
    gp_hub_serve(c->hub, p + OURS, n);
    if (c->opts->pid) watch_attached(c, asked);
    gp_live_serve(c->live, p + OURS + n, live, gp_now_ns());
}

static void serve(struct gp_collect *c)
{
    struct pollfd *fds = NULL;
    size_t cap = 0;
    while (!c->launch.ended) turn(c, &fds, &cap, 0);
    /* What the command left in the sockets, and processes that it left behind. */
    int64_t due_ns = gp_now_ns() + ORPHANS_NS;
    turn(c, &fds, &cap, 1); /* lets in those that connected and ended at once */
    while (gp_hub_totals(c->hub).live && !c->launch.nudges) {
        if (gp_outputs_full(&c->outs)) due_ns = gp_now_ns() + ORPHANS_NS; /* the reader is slow */
        if (gp_now_ns() > due_ns) break;
        turn(c, &fds, &cap, due_ns);
    }
    free(fds);
}

/* ---- beginning and end ---- */

static uint32_t new_producer(void *ctx)
{
    struct gp_collect *c = ctx;
    return gp_hub_producer(c->hub);
}

static uint32_t clocks_producer(void *ctx, uint32_t owner)
{
    struct gp_collect *c = ctx;
    uint32_t producer = gp_hub_producer(c->hub);
    if (owner) gp_outputs_join(&c->outs, owner, producer);
    return producer;
}

static void make_clocks(struct gp_collect *c)
{
    struct gp_clocks_opts o = {.library = getenv(GP_ENV_LIBNVML),
                               .redact = c->opts->redact,
                               .apart = c->opts->hub,
                               .producer = clocks_producer,
                               .on_block = on_block,
                               .on_sample = c->triggers ? on_sample : NULL,
                               .ctx = c};
    if (!c->opts->no_clocks) c->clocks = gp_clocks_new(&o);
}

static struct gp_hub *new_hub(struct gp_collect *c)
{
    make_clocks(c);
    if (c->sums.add) c->metrics_due_ns = gp_now_ns() + METRICS_NS;
    if (c->live) add_sink(c, (struct gp_block_sink){.on_block = to_live, .ctx = c->live});
    if (c->digest_pipe)
        add_sink(c, (struct gp_block_sink){.on_block = to_digest_pipe, .ctx = c->digest_pipe});
    if (c->recorder) add_sink(c, (struct gp_block_sink){.on_block = to_recorder, .ctx = c->recorder});
    else add_sink(c, (struct gp_block_sink){.on_block = to_outputs, .ctx = &c->outs});
    if (c->sums.add) add_sink(c, (struct gp_block_sink){.on_events = c->sums.add, .ctx = c->sums.ctx});
    struct gp_hub_opts h = {.welcome = {.api = c->plan.api,
                                        .buffer_bytes = (uint32_t)c->opts->buffer_bytes,
                                        .flush_ns = c->opts->flush_ns,
                                        .memory = c->opts->memory,
                                        .graphs = c->plan.graphs,
                                        .graph_rate = c->plan.graph_rate,
                                        .budget_ppm = c->plan.budget_ppm,
                                        .stacks = c->plan.stacks,
                                        .pace = !c->opts->no_pace,
                                        .alone = c->opts->hub,
                                        .capture = c->plan.control.capture,
                                        .metrics = c->plan.metrics,
                                        .pc = c->plan.pc},
                            .kernel = c->plan.filter.kernel,
                            .redact = c->opts->redact,
                            .on_block = on_block,
                            .on_events = c->sums.add || c->clocks || c->triggers ? on_events : NULL,
                            .on_note = c->triggers ? on_note : NULL,
                            .on_reach = c->triggers ? on_reach : NULL,
                            .on_joined = on_joined,
                            .beside = c->clocks ? beside : NULL,
                            .on_say = on_say,
                            .is_full = is_full,
                            .ctx = c};
    return gp_hub_new(c->listen_fd, &h);
}

/* The samples of a process go into its trace, once it has one. */
static uint32_t sample_producer(void *ctx, int32_t pid)
{
    struct gp_collect *c = ctx;
    struct gp_output *o = gp_outputs_of(&c->outs, pid);
    if (!o) return 0;
    uint32_t producer = gp_hub_producer(c->hub);
    GP_VEC_PUSH(&o->more, producer);
    return producer;
}

static int start_host(struct gp_collect *c, struct gp_err *err)
{
    if (!c->plan.sample_ns) return 0;
    struct gp_sample_writer_opts o = {.period_ns = c->plan.sample_ns,
                                      .redact = c->opts->redact,
                                      .producer = sample_producer,
                                      .on_block = on_block,
                                      .ctx = c};
    c->host = gp_host_new(&o, c->opts->flush_ns);
    return gp_host_start(c->host, c->launch.pid, err);
}

/* Before the command: its first kernels are sampled, too. Without samples it runs all the same. */
static void await_counters(struct gp_collect *c)
{
    struct gp_buf why = {0};
    struct gp_pm_writer_opts to = {
        .period_ns = c->plan.counters_ns, .producer = new_producer, .on_block = on_block, .ctx = c};
    if (!c->plan.counters_ns) return;
    if (!gp_pm_await(c->pm, &to, &why)) {
        gp_pm_free(c->pm);
        c->pm = NULL;
    }
    if (why.n) c->say(gp_buf_str(&why));
    gp_buf_release(&why);
}

static int start(struct gp_collect *c, struct gp_err *err)
{
    char **argv = gp_zalloc((c->nargs + 1) * sizeof *argv); /* as execvp() wants it */
    for (size_t i = 0; i < c->nargs; i++) argv[i] = (char *)(uintptr_t)c->args[i];
    c->launch.kept = c->plan.signals | (c->opts->pid ? ending : 0);
    await_counters(c);
    int failed = c->opts->pid ? gp_launch_watch(&c->launch, err) || attach(c, err)
                              : gp_launch_start(&c->launch, argv, !c->plan.output, err);
    if (c->opts->pid) c->launch.pid = (pid_t)c->opts->pid;
    free(argv);
    gp_control_begin(&c->plan.control, gp_now_ns());
    struct gp_err no_samples = {0};
    if (!failed && start_host(c, &no_samples)) c->say(no_samples.msg);
    return failed;
}

/* Each traced process takes a descriptor: as many as we may have. The command has been started, and keeps its
 * own limit. */
static void raise_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max) return;
    l.rlim_cur = l.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &l)) return; /* then with those that there are */
}

static void end_counters(struct gp_collect *c, struct gp_about *about)
{
    if (!c->pm) return;
    gp_pm_end(c->pm);
    about->counters_sampled = true;
    about->counter_samples = gp_pm_samples(c->pm);
    if (*gp_pm_said(c->pm)) c->say(gp_pm_said(c->pm));
}

static void finish(struct gp_collect *c, struct gp_about *about)
{
    *about = (struct gp_about){.opts = c->opts,
                               .hub = c->hub,
                               .totals = gp_hub_totals(c->hub),
                               .kept = c->recorder != NULL,
                               .not_dumped = gp_triggers_passed(c->triggers),
                               .pid = c->launch.pid,
                               .began_ns = c->began_ns,
                               .status = c->launch.status,
                               .signal = c->launch.signal,
                               .ended = c->launch.ended,
                               .reader_left = c->reader_left};
    if (gp_control_awaits_pace(&c->plan.control))
        c->say("--pace: the command ended before its steps were timed, and nothing was recorded");
    gp_hub_stop(c->hub);
    if (c->sums.add && c->metrics_due_ns != INT64_MAX) write_metrics(c);
    gp_host_end(c->host);
    end_counters(c, about);
    gp_clocks_end(c->clocks);
    snprintf(about->no_clocks, sizeof about->no_clocks, "%s", gp_clocks_why(c->clocks));
    gp_digest_pipe_end(c->digest_pipe);
    about->digest_dropped = gp_digest_pipe_dropped(c->digest_pipe);
    about->sampled = c->host != NULL;
    if (c->host) about->samples = gp_host_counts(c->host);
    if (c->recorder) {
        gp_recorder_end(c->recorder);
        about->crowded_out = gp_recorder_crowded_out(c->recorder);
    }
    for (size_t i = 0; i < c->outs.list.n; i++) gp_about_end(c->outs.list.at[i], about);
    about->hub = NULL;
}

int gp_collect_run(struct gp_collect *c, struct gp_about *about, struct gp_err *err)
{
    struct gp_err write_err = {0};
    if (c->opts->last_ns) c->recorder = gp_recorder_new(c->opts->last_ns, KEPT_BYTES, to_outputs, &c->outs);
    if (c->opts->dump)
        c->triggers = gp_triggers_new(&c->plan.dump, c->opts->last_ns, SETTLE_FLUSHES * c->opts->flush_ns,
                                      c->opts->dump_limit);
    c->hub = new_hub(c);
    if (!c->plan.pattern) gp_about_begin(c->outs.list.at[0], c->opts, c->args, c->nargs);
    c->began_ns = gp_now_ns();
    int failed = start(c, err);
    if (!failed) raise_limit();
    if (!failed) serve(c);
    if (c->opts->pid && !gp_hub_totals(c->hub).recorded) c->launch.status = GP_LAUNCH_FAILED;
    finish(c, about);
    gp_host_free(c->host);
    gp_clocks_free(c->clocks);
    gp_pm_free(c->pm);
    gp_hub_free(c->hub);
    gp_digest_pipe_free(c->digest_pipe);
    gp_recorder_free(c->recorder);
    gp_triggers_free(c->triggers);
    gp_live_close(c->live);
    bool empty = !about->totals.processes && !about->samples.samples.whole &&
                 !about->samples.samples.partial && !about->counter_samples;
    about->old_kept = !failed && empty && gp_outputs_replace(&c->outs);
    int closed = gp_outputs_close(&c->outs, !failed && !about->old_kept, &write_err);
    if (failed || (!closed && !c->output_err.code)) return failed;
    *err = c->output_err.code ? c->output_err : write_err;
    return -1;
}

/* ---- without a recording ---- */

int gp_collect_list_processes(const struct gp_collect_opts *o, struct gp_err *err)
{
    static const char *const ways[] = {"not: ", "dormant", "ptrace"};
    struct gp_buf library = {0}, b = {0};
    gp_reach_list list = {0};
    if (gp_environment_library(&library, err)) return -1;
    gp_reach_find(&list, (pid_t)o->pid, gp_buf_str(&library));
    gp_buf_puts(&b, "    PID  COMMAND          REACHED BY\n");
    for (size_t i = 0; i < list.n; i++)
        gp_buf_printf(&b, "%7ld  %-15s  %s%s\n", (long)list.at[i].pid, list.at[i].name, ways[list.at[i].way],
                      list.at[i].why);
    GP_VEC_FREE(&list);
    gp_buf_release(&library);
    return gp_answer_file(o->output, &b, err);
}

/* ---- without a command ---- */

/* The only line on standard output. */
static int print_address(struct gp_err *err)
{
    const char *address = getenv(GP_ENV_SOCKET);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int failed = dprintf(STDOUT_FILENO, "%s\n", address) < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0;
    if (null >= 0) close(null);
    return failed ? gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno)) : 0;
}

int gp_collect_serve(struct gp_collect *c, struct gp_about *about, struct gp_err *err)
{
    struct pollfd *fds = NULL;
    size_t cap = 0;
    memset(about, 0, sizeof *about);
    signal(SIGPIPE, SIG_IGN);
    if (print_address(err)) return -1;
    c->launch.events_fd = STDIN_FILENO;
    c->hub = new_hub(c);
    raise_limit();
    while (!c->launch.ended || gp_hub_totals(c->hub).live) turn(c, &fds, &cap, 0);
    free(fds);
    gp_hub_stop(c->hub);
    if (c->sums.add && c->metrics_due_ns != INT64_MAX) write_metrics(c);
    gp_hub_free(c->hub);
    gp_clocks_free(c->clocks);
    struct gp_err ignored = {0};
    int closed = gp_outputs_close(&c->outs, true, &ignored); /* there are none */
    return closed;
}
