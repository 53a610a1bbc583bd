#include "render/mcp/mcp_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/json_scan.h"
#include "formats/base/vec.h"

enum { CHUNK = 1 << 16, OUT_MOST = 16 << 20, ERR_MOST = 1 << 16 }; /* kept of what a tool prints */

struct job {
    struct gp_mcp_call call;
    struct gp_mcp_result result;
    pid_t pid; /* 0: it waits */
    int fd[2]; /* its output and messages; -1: ended */
    int64_t end_ns;
    bool cancelled;
};

struct serve {
    const struct gp_mcp_serve_opts *o;
    GP_VEC(struct job) jobs; /* in the order in which they came */
    struct gp_buf line, reply;
    bool skipping, ended; /* a line is too long; the input is at its end */
};

/* ---- a call, in a process of its own ---- */

static void limit(int what, uint64_t most)
{
    struct rlimit l = {(rlim_t)most, (rlim_t)most};
    setrlimit(what, &l);
}

static _Noreturn void run(const struct serve *s, const struct job *j, int out, int err, pid_t parent)
{
    enum { FAILED = 127 };
    GP_VEC(char *) argv = {0};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        _exit(FAILED);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(FAILED);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    if (s->o->memory_bytes) limit(RLIMIT_AS, s->o->memory_bytes);
    signal(SIGPIPE, SIG_DFL);
    gp_input_confine(s->o->opener, s->o->ctx);
    for (char *w = j->call.words.data; w < j->call.words.data + j->call.words.n; w += strlen(w) + 1)
        GP_VEC_PUSH(&argv, w);
    GP_VEC_PUSH(&argv, NULL);
    int status = j->call.tool->main((int)argv.n - 1, argv.at);
    fflush(NULL);
    _exit(status);
}

static void close_pair(int fd[2])
{
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0) close(fd[i]);
}

static void start(struct serve *s, struct job *j)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    pid_t parent = getpid();
    bool piped = !pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC);
    j->pid = piped ? fork() : -1;
    if (!j->pid) run(s, j, out[1], err[1], parent);
    if (j->pid < 0) {
        j->result.killed = "the system has no room for another process";
        close_pair(out);
        close_pair(err);
        return;
    }
    close(out[1]);
    close(err[1]);
    j->fd[0] = out[0];
    j->fd[1] = err[0];
    j->end_ns = gp_now_ns() + s->o->time_ns;
}

/* ---- its end ---- */

static bool is_running(const struct job *j) { return j->fd[0] >= 0 || j->fd[1] >= 0; }

/* More of what it prints to stream WHICH. */
static void take_output(struct job *j, int which)
{
    char data[CHUNK];
    struct gp_buf *to = which ? &j->result.err : &j->result.out;
    size_t most = which ? ERR_MOST : OUT_MOST;
    ssize_t n = read(j->fd[which], data, sizeof data);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
        close(j->fd[which]);
        j->fd[which] = -1;
        return;
    }
    size_t keep = most - to->n < (size_t)n ? most - to->n : (size_t)n;
    gp_buf_put(to, data, keep);
    if (!which) j->result.dropped += (size_t)n - keep;
}

static void finish(struct serve *s, struct job *j)
{
    int status = 0;
    while (j->pid > 0 && waitpid(j->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status)) j->result.status = WEXITSTATUS(status);
    else if (!j->result.killed) j->result.killed = "it crashed, or needed more memory than --memory-limit";
    if (!j->cancelled) gp_mcp_answer(&j->call, &j->result, &s->reply);
    gp_mcp_call_release(&j->call);
    gp_buf_release(&j->result.out);
    gp_buf_release(&j->result.err);
}

static void end(struct job *j, const char *why)
{
    j->result.killed = why;
    if (j->pid > 0) kill(j->pid, SIGKILL);
}

/* Start what may start, and forget what has ended. */
static void advance(struct serve *s)
{
    size_t kept = 0, running = 0;
    GP_EACH(struct job, j, s->jobs) {
        if (!j->pid && !j->cancelled && running < s->o->jobs) start(s, j);
        if (is_running(j) && gp_now_ns() >= j->end_ns) end(j, "stopped: it takes longer than --timeout");
        running += is_running(j);
        if (is_running(j) || (!j->pid && !j->cancelled)) s->jobs.at[kept++] = *j;
        else finish(s, j);
    }
    s->jobs.n = kept;
}

/* ---- messages ---- */

static void cancel(struct serve *s, const struct gp_buf *id)
{
    GP_EACH(struct job, j, s->jobs) {
        if (j->call.id.n != id->n || memcmp(j->call.id.data, id->data, id->n)) continue;
        j->cancelled = true;
        end(j, "cancelled");
    }
}

static void take_line(struct serve *s, const char *line, size_t n)
{
    struct job j = {.fd = {-1, -1}};
    struct gp_buf padded = {0};
    gp_buf_put(&padded, line, n);
    memset(gp_buf_reserve(&padded, GP_JSON_PAD), 0, GP_JSON_PAD);
    enum gp_mcp_event event = gp_mcp_take(&s->o->mcp, padded.data, n, &j.call, &s->reply);
    gp_buf_release(&padded);
    if (event == GP_MCP_CANCEL) cancel(s, &j.call.id);
    if (event == GP_MCP_CALL && s->jobs.n < GP_MCP_WAITING) {
        GP_VEC_PUSH(&s->jobs, j);
        return;
    }
    if (event == GP_MCP_CALL) gp_mcp_fail(&s->reply, &j.call.id, GP_MCP_BUSY, "too many calls wait already");
    gp_mcp_call_release(&j.call);
}

static void take_bytes(struct serve *s, const char *data, size_t n)
{
    for (const char *end = data + n, *stop; data < end; data = stop + 1) {
        stop = memchr(data, '\n', (size_t)(end - data));
        size_t more = (size_t)((stop ? stop : end) - data);
        if (!s->skipping && s->line.n + more > GP_MCP_LINE) {
            gp_mcp_fail(&s->reply, NULL, GP_MCP_REQUEST, "a message is longer than 1 MiB");
            s->skipping = true;
        }
        if (!s->skipping) gp_buf_put(&s->line, data, more);
        if (!stop) return;
        if (!s->skipping) take_line(s, s->line.n ? s->line.data : "", s->line.n);
        s->line.n = 0;
        s->skipping = false;
    }
}

static int take_input(struct serve *s, struct gp_err *err)
{
    char data[CHUNK];
    ssize_t n = read(STDIN_FILENO, data, sizeof data);
    if (n < 0 && errno == EINTR) return 0;
    if (n < 0) return gp_fail(err, GP_E_IO, -1, "standard input: %s", strerror(errno));
    s->ended = !n;
    take_bytes(s, n ? data : "\n", n ? (size_t)n : 1);
    return 0;
}

static int send_reply(struct serve *s, struct gp_err *err)
{
    for (size_t at = 0; at < s->reply.n;) {
        ssize_t n = write(STDOUT_FILENO, s->reply.data + at, s->reply.n - at);
        if (n < 0 && errno != EINTR) return gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno));
        if (n > 0) at += (size_t)n;
    }
    s->reply.n = 0;
    return 0;
}

/* ---- all ---- */

/* Wait until something comes, or the time of a job is over. */
static int wait_and_take(struct serve *s, struct gp_err *err)
{
    struct pollfd p[1 + 2 * GP_MCP_WAITING];
    int64_t now = gp_now_ns(), most = INT64_MAX;
    p[0] = (struct pollfd){.fd = s->ended ? -1 : STDIN_FILENO, .events = POLLIN};
    size_t jobs = s->jobs.n; /* more may come */
    for (size_t i = 0; i < jobs; i++) {
        const struct job *j = &s->jobs.at[i];
        for (size_t k = 0; k < 2; k++) p[1 + 2 * i + k] = (struct pollfd){.fd = j->fd[k], .events = POLLIN};
        if (is_running(j) && j->end_ns - now < most) most = j->end_ns < now ? 0 : j->end_ns - now;
    }
    int ms = most == INT64_MAX ? -1 : most / 1000000 < 60000 ? (int)(most / 1000000 + 1) : 60000;
    if (poll(p, (nfds_t)(1 + 2 * jobs), ms) < 0)
        return errno == EINTR ? 0 : gp_fail(err, GP_E_IO, -1, "cannot wait: %s", strerror(errno));
    for (size_t i = 0; i < 2 * jobs; i++)
        if (p[1 + i].revents) take_output(&s->jobs.at[i / 2], i % 2);
    return p[0].revents ? take_input(s, err) : 0;
}

int gp_mcp_serve(const struct gp_mcp_serve_opts *o, struct gp_err *err)
{
    struct serve s = {.o = o};
    int failed = 0;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    while (!failed && !(s.ended && !s.jobs.n)) {
        failed = wait_and_take(&s, err);
        advance(&s);
        if (!failed) failed = send_reply(&s, err);
    }
    for (size_t i = 0; i < s.jobs.n; i++) {
        end(&s.jobs.at[i], "");
        s.jobs.at[i].cancelled = true;
        close_pair(s.jobs.at[i].fd);
        finish(&s, &s.jobs.at[i]);
    }
    GP_VEC_FREE(&s.jobs);
    gp_buf_release(&s.line);
    gp_buf_release(&s.reply);
    return failed;
}
