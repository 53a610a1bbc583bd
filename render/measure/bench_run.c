#include "render/measure/bench_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"

enum { TICK_MS = 500, LINE_MOST = 1 << 16 };
extern char **environ;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int start(const char *program, struct gp_bench_job *j, struct gp_err *err)
{
    const char *argv[10] = {program};
    int ends[2];
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; i < 8 && j->args[i]; i++) argv[i + 1] = j->args[i];
    if (pipe(ends)) return gp_fail(err, GP_E_IO, -1, "%s: %s", program, strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int rc = posix_spawn(&j->pid, program, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    j->fd = rc ? -1 : ends[0];
    j->heard_ns = now_ns();
    if (!rc) return 0;
    close(ends[0]);
    return gp_fail(err, GP_E_IO, -1, "%s: %s", program, strerror(rc));
}

struct hand {
    void (*line)(void *context, size_t i, const char *text);
    void *context;
};

static void hand_out(const struct hand *h, struct gp_bench_job *j, size_t i)
{
    h->line(h->context, i, gp_buf_str(&j->line));
    j->line.n = 0;
}

static void put_bytes(const struct hand *h, struct gp_bench_job *j, size_t i, const char *data, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (data[k] == '\n') hand_out(h, j, i);
        else if (j->line.n < LINE_MOST) gp_buf_putc(&j->line, data[k]);
    }
}

/* It has closed its output: what became of it. A line that it did not finish is left out. */
static void end_job(const struct hand *h, struct gp_bench_job *j, size_t i)
{
    int status = 0;
    close(j->fd);
    j->fd = -1;
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) continue;
    j->line.n = 0;
    if (WIFSIGNALED(status)) {
        gp_buf_printf(&j->line, "missing program it was ended by signal %d (%s)", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
        hand_out(h, j, i);
    }
    gp_buf_release(&j->line);
}

static void read_job(const struct hand *h, struct gp_bench_job *j, size_t i)
{
    char data[4096];
    ssize_t n = read(j->fd, data, sizeof data);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
        end_job(h, j, i);
        return;
    }
    j->heard_ns = now_ns();
    put_bytes(h, j, i, data, (size_t)n);
}

static void stop_silent(const struct hand *h, struct gp_bench_job *j, size_t i, int64_t quiet_ns)
{
    if (j->fd < 0 || now_ns() - j->heard_ns < quiet_ns) return;
    kill(j->pid, SIGKILL);
    j->line.n = 0;
    gp_buf_printf(&j->line, "missing answer none for %lld s: the driver or the device hangs",
                  (long long)(quiet_ns / 1000000000));
    hand_out(h, j, i);
    j->heard_ns = INT64_MAX / 2; /* once */
}

static void listen_to(const struct hand *h, struct gp_bench_job *jobs, size_t n, int64_t quiet_ns)
{
    struct pollfd *fds = gp_zalloc(n * sizeof *fds);
    for (;;) {
        size_t running = 0;
        for (size_t i = 0; i < n; i++) {
            fds[i] = (struct pollfd){.fd = jobs[i].fd, .events = POLLIN};
            running += jobs[i].fd >= 0;
        }
        if (!running) break;
        if (poll(fds, (nfds_t)n, TICK_MS) < 0 && errno != EINTR) break;
        for (size_t i = 0; i < n; i++) {
            if (jobs[i].fd >= 0 && fds[i].revents) read_job(h, &jobs[i], i);
            stop_silent(h, &jobs[i], i, quiet_ns);
        }
    }
    free(fds);
}

int gp_bench_run(const char *program, struct gp_bench_job *jobs, size_t n, int64_t quiet_ns,
                 void (*line)(void *context, size_t i, const char *text), void *context, struct gp_err *err)
{
    struct hand h = {line, context};
    int failed = 0;
    for (size_t i = 0; i < n; i++) jobs[i].fd = -1;
    for (size_t i = 0; !failed && i < n; i++) failed = start(program, &jobs[i], err);
    for (size_t i = 0; failed && i < n; i++)
        if (jobs[i].fd >= 0) kill(jobs[i].pid, SIGKILL);
    listen_to(&h, jobs, n, quiet_ns);
    return failed;
}

int gp_bench_find(struct gp_buf *path, struct gp_err *err)
{
    static const char *const places[] = {"lib/gpuprof-bench", "libexec/gpuprof/gpuprof-bench",
                                         "lib/gpuprof/gpuprof-bench"};
    const char *chosen = getenv("GPUPROF_BENCH");
    char self[PATH_MAX];
    if (chosen && *chosen) {
        gp_buf_puts(path, chosen);
        return 0;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    for (int i = 0; i < 2; i++) { /* off with the name, then with "bin" */
        char *slash = strrchr(self, '/');
        if (slash) *slash = 0;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path->n = 0;
        gp_buf_printf(path, "%s/%s", self, places[i]);
        if (!access(gp_buf_str(path), X_OK)) return 0;
    }
    return gp_fail(err, GP_E_IO, -1, "%s/%s: not found", self, places[0]);
}
