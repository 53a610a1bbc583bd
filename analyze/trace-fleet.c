/* trace-fleet -- digests of running programs in; which rank or kernel is slow now, and why, out. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyze/app/app.h"
#include "analyze/live/watch.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/net/net.h"
#include "render/fleet/fleet.h"

struct opts {
    struct gp_common_opts common; /* first */
    const char *listen, *secret, *forward, *send, *record;
    int64_t duration_ns;
};

static const struct gp_option options[] = {
    {'l', "listen", "ADDRESS", "HOST:PORT, or a socket's path with a \"/\" (default: 127.0.0.1:7707)",
     GP_OPT_STRING, offsetof(struct opts, listen)},
    {0, "secret", "FILE", "accept only digests that are signed with the secret in FILE, and sign with it",
     GP_OPT_STRING, offsetof(struct opts, secret)},
    {0, "forward", "ADDRESS", "merge digests and pass them on to another trace-fleet", GP_OPT_STRING,
     offsetof(struct opts, forward)},
    {0, "record", "FILE", "also write the digests to FILE, which trace-fleet reads as an operand",
     GP_OPT_STRING, offsetof(struct opts, record)},
    {0, "send", "ADDRESS", "send digests of the recording on standard input to ADDRESS", GP_OPT_STRING,
     offsetof(struct opts, send)},
    {0, "duration", "TIME", "end after this long (default: at a signal)", GP_OPT_SECONDS,
     offsetof(struct opts, duration_ns)},
    GP_OPTIONS_OUTPUT,
    GP_OPTION_STRICT,
    {0},
};

static const struct gp_answer_format formats[] = {
    {.name = "text"}, {.name = "json"}, {.name = "openmetrics"}, {0}};

struct fleet {
    const struct gp_tool *tool;
    const struct opts *opts;
    struct gp_intake in;
    FILE *out;
    struct gp_buf lines; /* of files: written whole, at the end */
    int64_t written_ns;
    bool json, metrics;
};

static void on_event(void *ctx, const struct gp_watch_event *e)
{
    struct fleet *f = ctx;
    if (f->metrics) return;
    gp_watch_line(&f->lines, e, f->json);
    if (f->in.replay) return;
    fwrite(f->lines.data, 1, f->lines.n, f->out);
    fflush(f->out);
    f->lines.n = 0;
}

static int write_metrics(struct fleet *f, struct gp_err *err)
{
    struct gp_buf b = {0};
    struct gp_watch_state s = gp_watch_state(f->in.watch);
    gp_watch_openmetrics(&b, &s);
    return gp_answer_file(f->opts->common.output, &b, err);
}

static int serve_until(struct fleet *f, int fd, const sigset_t *stop, struct gp_err *err)
{
    int64_t begun_ns = gp_clock_ns(CLOCK_MONOTONIC), now_ns = begun_ns;
    const struct timespec none = {0};
    int failed = 0;
    while (!failed && sigtimedwait(stop, NULL, &none) < 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 200) > 0) gp_intake_receive(&f->in, fd);
        now_ns = gp_clock_ns(CLOCK_MONOTONIC);
        gp_watch_tick(f->in.watch, now_ns);
        if (f->metrics && f->opts->common.output && now_ns - f->written_ns > GP_WATCH_EVERY_NS) {
            f->written_ns = now_ns;
            failed = write_metrics(f, err);
        }
        if (f->opts->duration_ns && now_ns - begun_ns >= f->opts->duration_ns) break;
    }
    gp_intake_receive(&f->in, fd); /* messages before the signal */
    return failed;
}

/* What was there stays until it is certain that this run will write something. */
static int open_outputs(struct fleet *f, struct gp_err *err)
{
    bool lines = !f->metrics && !f->in.replay;
    if (lines && gp_intake_open(f->opts->common.output, &f->out, err)) return -1;
    return gp_intake_record(&f->in, f->opts->record, err);
}

static int serve(struct fleet *f, struct gp_err *err)
{
    const char *address = f->opts->listen ? f->opts->listen : "127.0.0.1:7707";
    bool remote;
    sigset_t stop;
    sigemptyset(&stop); /* before the socket exists, as its users may then end us by a signal */
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    int fd = gp_net_listen(address, &remote, err);
    if (fd < 0) return -1;
    int failed = remote && !f->opts->secret;
    if (failed) gp_fail(err, GP_E_USAGE, -1, "%s: others reach this address: --secret is needed", address);
    else failed = open_outputs(f, err);
    if (!failed) failed = serve_until(f, fd, &stop, err);
    gp_listen_end(fd, strchr(address, '/') ? address : NULL);
    return failed;
}

static int report_refused(const struct fleet *f, struct gp_err *err)
{
    static const char why[] = "damaged, or not signed with this secret";
    unsigned long long refused = f->in.refused, used = f->in.used, dropped = f->in.dropped,
                       forwarded = f->in.forwarded;
    if (f->in.replay && (!used || (refused && f->opts->common.strict)))
        return gp_fail(err, GP_E_FORMAT, -1, "%s: refused %llu of %llu messages: %s", f->tool->args[0],
                       refused, refused + used, why);
    if (f->opts->common.quiet) return 0;
    if (f->in.off)
        gp_cli_warn(f->tool, "refused %llu messages whose time differs from this clock by more than %d s",
                    (unsigned long long)f->in.off, GP_INTAKE_OFF_S);
    if (refused) gp_cli_warn(f->tool, "refused %llu of %llu messages: %s", refused, refused + used, why);
    if (dropped)
        gp_cli_warn(f->tool, "%s: dropped %llu of %llu merged digests", f->opts->forward, dropped, forwarded);
    return 0;
}

static int watch(struct fleet *f, struct gp_err *err)
{
    const struct opts *o = f->opts;
    int failed = o->forward && (f->in.forward = gp_net_connect(o->forward, err)) < 0 ? -1 : 0;
    f->in.replay = f->tool->nargs > 0;
    if (!failed && f->in.replay) failed = open_outputs(f, err);
    f->in.watch = o->forward ? gp_watch_new_merging(gp_intake_forward, &f->in) : gp_watch_new(on_event, f);
    for (int i = 0; i < f->tool->nargs && !failed; i++)
        failed = gp_digest_read(f->tool->args[i], gp_intake_message, &f->in, err);
    if (!failed && !f->in.replay) failed = serve(f, err);
    gp_watch_end(f->in.watch);
    if (!failed) failed = report_refused(f, err);
    if (!failed && f->metrics) failed = write_metrics(f, err);
    else if (!failed && f->in.replay) failed = gp_answer_file(o->common.output, &f->lines, err);
    failed = gp_intake_close(o->common.output, f->out, failed, err);
    failed = gp_intake_end(&f->in, o->record, failed, err);
    gp_buf_release(&f->lines);
    gp_watch_free(f->in.watch);
    if (f->in.forward >= 0) close(f->in.forward);
    return failed;
}

static int send_digests(const struct fleet *f, struct gp_err *err)
{
    struct gp_sender s;
    signal(SIGINT, SIG_IGN); /* the recording's end is ours */
    if (gp_sender_open(&s, f->opts->send, &f->in.key, err) && err->code == GP_E_USAGE) return -1;
    if (s.fd < 0) gp_cli_warn(f->tool, "%s; dropping digests until it appears", err->msg);
    *err = (struct gp_err){0};
    int failed = gp_sender_run(&s, STDIN_FILENO, err);
    if (!f->opts->common.quiet && (s.dropped || f->opts->common.verbose))
        gp_cli_warn(f->tool, "%s: sent %llu digests, dropped %llu", f->opts->send, (unsigned long long)s.sent,
                    (unsigned long long)s.dropped);
    if (!f->opts->common.quiet && s.unranked && f->opts->common.verbose)
        gp_cli_warn(f->tool, "no ranks are recorded: device numbers stand for them");
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-fleet",
        .summary = "report live which rank or kernel of a running job is slow, and why",
        .operands = "[FILE...]",
        .example = "trace-fleet --listen 10.0.0.1:7707 --secret job.secret\n"
                   "gpuprof-collect --digest 10.0.0.1:7707 -o app.trace ./app\n",
        .options = options,
        .formats = formats,
        .max_operands = -1,
    };
    struct opts o = {0};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct fleet f = {.tool = &tool, .opts = &o, .out = stdout, .in.forward = -1};
    f.json = !strcmp(o.common.format, "json");
    f.metrics = !strcmp(o.common.format, "openmetrics");
    signal(SIGPIPE, SIG_IGN);
    int failed = gp_digest_key_read(o.secret, &f.in.key, &err);
    if (!failed) failed = o.send ? send_digests(&f, &err) : watch(&f, &err);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
