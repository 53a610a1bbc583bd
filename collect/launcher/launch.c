#include "collect/launcher/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/clock.h"
#include "collect/wire/wire.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

/* Handlers can reach the child and the pipe only through these; see launch.h about "one at a time". */
static volatile sig_atomic_t child_pid;
static volatile sig_atomic_t wake_fd = -1;
static volatile uint64_t kept_signals; /* set before handlers are installed */

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    bool sent_by_process = info->si_code <= 0; /* otherwise by the kernel, to the whole foreground group */
    bool ours = sig == SIGCHLD || kept_signals >> sig & 1;
    if (!ours && sent_by_process && child_pid > 0) kill((pid_t)child_pid, sig);
    char c = (char)sig;
    ssize_t rc = write((int)wake_fd, &c, 1);
    (void)rc;
    errno = saved;
}

static void set_handlers(void)
{
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    sigfillset(&sa.sa_mask);
    sigaction(SIGCHLD, &sa, NULL);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (kept_signals >> passed_on[i] & 1 ||
            (!sigaction(passed_on[i], NULL, &old) && old.sa_handler != SIG_IGN))
            sigaction(passed_on[i], &sa, NULL);
}

/* Signals of failed writes, which are errors to us; the command is to have them as we had. */
static const int of_writes[] = {SIGPIPE, SIGXFSZ};
struct ignored {
    struct sigaction before[sizeof of_writes / sizeof *of_writes];
};

/* In the child: become the command. Returns only with errno set. */
static void become(char *const argv[], bool stdout_to_stderr, const sigset_t *mask,
                   const struct ignored *ignored)
{
    if (stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
    for (size_t i = 0; i < sizeof of_writes / sizeof *of_writes; i++)
        sigaction(of_writes[i], &ignored->before[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
}

static int fail_start(struct gp_launch *l, int status, int error, const char *what, struct gp_err *err)
{
    l->status = status;
    l->ended = true;
    return gp_fail(err, GP_E_IO, -1, "%s: %s", what, strerror(error));
}

/* The child reports through FD why it could not become the command; end of file means that it could. */
static int await_exec(struct gp_launch *l, int fd, const char *name, struct gp_err *err)
{
    int error = 0;
    ssize_t n;
    do n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n != (ssize_t)sizeof error) return 0;
    while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR) continue;
    return fail_start(l, error == ENOENT ? GP_LAUNCH_NOT_FOUND : GP_LAUNCH_NOT_EXECUTABLE, error, name, err);
}

static int open_events(struct gp_launch *l, struct gp_err *err)
{
    int events[2];
    kept_signals = l->kept;
    memset(l, 0, sizeof *l);
    l->kept = kept_signals;
    if (pipe2(events, O_CLOEXEC | O_NONBLOCK)) return fail_start(l, GP_LAUNCH_FAILED, errno, "pipe", err);
    l->events_fd = events[0];
    wake_fd = events[1];
    return 0;
}

int gp_launch_watch(struct gp_launch *l, struct gp_err *err)
{
    if (open_events(l, err)) return -1;
    for (size_t i = 0; i < sizeof of_writes / sizeof *of_writes; i++) signal(of_writes[i], SIG_IGN);
    set_handlers();
    return 0;
}

int gp_launch_start(struct gp_launch *l, char *const argv[], bool stdout_to_stderr, struct gp_err *err)
{
    int exec_error[2];
    struct ignored ignored;
    sigset_t all, mask;
    if (open_events(l, err)) return -1;
    if (pipe2(exec_error, O_CLOEXEC)) return fail_start(l, GP_LAUNCH_FAILED, errno, "pipe", err);
    struct sigaction none = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof of_writes / sizeof *of_writes; i++)
        sigaction(of_writes[i], &none, &ignored.before[i]);
    sigfillset(&all); /* no signal may be lost between the fork and the handlers knowing the child */
    sigprocmask(SIG_BLOCK, &all, &mask);
    set_handlers();
    pid_t pid = fork();
    if (!pid) {
        become(argv, stdout_to_stderr, &mask, &ignored);
        int error = errno;
        ssize_t rc = write(exec_error[1], &error, sizeof error);
        (void)rc;
        _exit(GP_LAUNCH_NOT_FOUND);
    }
    l->pid = pid;
    if (pid > 0) child_pid = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(exec_error[1]);
    if (pid < 0) return fail_start(l, GP_LAUNCH_FAILED, errno, "fork", err);
    return await_exec(l, exec_error[0], argv[0], err);
}

void gp_launch_events(struct gp_launch *l)
{
    char c[64];
    ssize_t n = read(l->events_fd, c, sizeof c);
    for (ssize_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << c[i] & l->kept;
        l->arrived |= bit;
        l->nudges += l->ended && !bit && c[i] != SIGCHLD;
    }
    int status;
    if (l->ended || !child_pid || waitpid(l->pid, &status, WNOHANG) != l->pid) return;
    child_pid = 0; /* the number may be reused now */
    l->ended = true;
    l->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    l->status = l->signal ? 128 + l->signal : WEXITSTATUS(status);
}

/* ---- the environment of the command ---- */

/* The path of this program without its last PARTS. */
static void find_self(char self[PATH_MAX], int parts)
{
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    self[n > 0 ? n : 0] = 0;
    for (int i = 0; i < parts; i++) {
        char *slash = strrchr(self, '/');
        if (slash) *slash = 0;
    }
}

void gp_environment_beside(struct gp_buf *path, const char *program)
{
    char folder[PATH_MAX];
    find_self(folder, 1);
    gp_buf_printf(path, "%s/%s", folder, program);
}

int gp_environment_library(struct gp_buf *path, struct gp_err *err)
{
    static const char *const places[] = {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"};
    const char *chosen = getenv(GP_ENV_INJECT);
    char self[PATH_MAX];
    find_self(self, 2); /* its name and "bin" */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path->n = 0;
        if (chosen && *chosen) gp_buf_puts(path, chosen);
        else gp_buf_printf(path, "%s/%s/libgpuprof-inject.so", self, places[i]);
        if (!access(gp_buf_str(path), R_OK)) return 0;
    }
    if (!chosen || !*chosen)
        return gp_fail(err, GP_E_IO, -1,
                       "%s/lib/libgpuprof-inject.so: not found; was gpuprof built without CUPTI's headers?",
                       self);
    return gp_fail(err, GP_E_IO, -1, "%s: %s", chosen, strerror(errno));
}

int gp_environment_package(struct gp_buf *path, struct gp_err *err)
{
    static const char *const places[] = {"../python", "../lib/python3/dist-packages",
                                         "../" GP_LIBDIR "/python3/dist-packages", "../.."};
    for (size_t i = 0; i < GP_COUNT(places); i++) {
        struct gp_buf file = {0};
        path->n = 0;
        gp_environment_beside(path, places[i]);
        gp_buf_printf(&file, "%s/gputrace/_trial_run.py", gp_buf_str(path));
        bool there = !access(gp_buf_str(&file), R_OK);
        gp_buf_release(&file);
        if (there) return 0;
    }
    return gp_fail(err, GP_E_IO, -1, "the Python module gputrace was not found beside this program");
}

char *gp_environment_set(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *lost = old && *old && strcmp(old, value) != 0 ? strdup(old) : NULL;
    setenv(name, value, 1);
    return lost;
}

int gp_environment_listen(struct gp_err *err)
{
    char name[96];
    uint64_t random = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &random, sizeof random) != (ssize_t)sizeof random)
        random = (uint64_t)gp_clock_ns(CLOCK_REALTIME);
    if (fd >= 0) close(fd);
    snprintf(name, sizeof name, "@gpuprof-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    int listening = gp_wire_listen(name, err);
    if (listening >= 0) setenv(GP_ENV_SOCKET, name, 1);
    return listening;
}
