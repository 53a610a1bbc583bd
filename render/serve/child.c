#include "render/serve/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* glibc has no name for it before 2.32 */
#endif

enum { FIRST_FD = 3, MESSAGE_BYTES = 4096, NO_DESCRIPTORS = 126 };

struct gp_crew {
    struct gp_crew_opts limits;
    int tools_fd;
    char *scratch; /* a folder of ours with the names of files, as links to descriptors of children */
    int scratch_fd;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    pid_t *running; /* by place, 0: free */
    unsigned waiting;
    uint64_t jobs;
    bool stopped;
};

/* ---- the crew ---- */

static char *make_scratch(const char *place, struct gp_err *err)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s/gpuprof-serve-XXXXXX", place);
    gp_buf_putc(&b, 0);
    if (mkdtemp(b.data)) return b.data;
    gp_buf_release(&b);
    gp_fail(err, GP_E_IO, -1, "%s: no temporary folder: %s; set TMPDIR", place, strerror(errno));
    return NULL;
}

struct gp_crew *gp_crew_new(const struct gp_crew_opts *opts, struct gp_err *err)
{
    struct gp_crew *c = gp_zalloc(sizeof *c);
    c->limits = *opts;
    if (!c->limits.at_once) c->limits.at_once = 1;
    c->running = gp_zalloc(c->limits.at_once * sizeof *c->running);
    c->scratch_fd = -1;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->turn, NULL);
    c->tools_fd = open(opts->tools, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->tools_fd < 0) gp_fail(err, GP_E_IO, -1, "%s: %s", opts->tools, strerror(errno));
    else if ((c->scratch = make_scratch(opts->scratch, err)))
        c->scratch_fd = open(c->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->scratch_fd >= 0) return c;
    gp_crew_free(c);
    return NULL;
}

bool gp_crew_has(const struct gp_crew *c, const char *tool) { return !faccessat(c->tools_fd, tool, X_OK, 0); }

void gp_crew_stop(struct gp_crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->stopped = true;
    for (unsigned i = 0; i < c->limits.at_once; i++)
        if (c->running[i] > 0) kill(c->running[i], SIGKILL);
    pthread_cond_broadcast(&c->turn);
    pthread_mutex_unlock(&c->lock);
}

void gp_crew_free(struct gp_crew *c)
{
    if (!c) return;
    if (c->tools_fd >= 0) close(c->tools_fd);
    if (c->scratch_fd >= 0) close(c->scratch_fd);
    if (c->scratch) rmdir(c->scratch);
    free(c->scratch);
    free(c->running);
    pthread_cond_destroy(&c->turn);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the folder in which a child runs ---- */

/* A link NAME below FOLDER to the child's descriptor FD, with the folders on its way. */
static int put_link(int folder, const char *name, int fd)
{
    char target[40], part[NAME_MAX + 1];
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        size_t n = (size_t)(slash - name);
        memcpy(part, name, n < sizeof part ? n : 0);
        part[n < sizeof part ? n : 0] = 0;
        if (mkdirat(at, part, 0700) && errno != EEXIST) break;
        int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why = errno;
        close(at);
        errno = why;
        at = next;
    }
    int failed = at < 0 || (symlinkat(target, at, name) && errno != EEXIST), why = errno;
    if (at >= 0) close(at);
    errno = why;
    return failed ? -1 : 0;
}

static void remove_link(int folder, const char *name)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, name);
    gp_buf_putc(&b, 0);
    unlinkat(folder, b.data, 0);
    for (char *slash; (slash = strrchr(b.data, '/'));) {
        *slash = 0;
        if (unlinkat(folder, b.data, AT_REMOVEDIR)) break; /* another file's folder, too */
    }
    gp_buf_release(&b);
}

static bool is_full(int why) { return why == EMFILE || why == ENFILE; }

static int open_folder(struct gp_crew *c, struct gp_job *job, const char *name, struct gp_err *err)
{
    int fd = mkdirat(c->scratch_fd, name, 0700)
                 ? -1
                 : openat(c->scratch_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < job->nfiles; i++)
        if (put_link(fd, job->files[i].name, FIRST_FD + (int)i)) {
            int why = errno;
            close(fd);
            errno = why;
            fd = -1;
        }
    if (fd < 0) {
        job->no_descriptors = is_full(errno);
        gp_fail(err, GP_E_IO, -1, "%s: %s", c->scratch, strerror(errno));
    }
    return fd;
}

/* ---- the child ---- */

struct start {
    const struct gp_crew *crew;
    const struct gp_job *job;
    int folder, null, out, err; /* descriptors */
    char *argv[GP_CHILD_WORDS + 2 * GP_CHILD_FILES + 4];
    pid_t parent;
};

static void limit(int what, uint64_t most)
{
    struct rlimit l = {(rlim_t)most, (rlim_t)most};
    setrlimit(what, &l);
}

/* After fork() in a process with threads: only system calls. */
static _Noreturn void become(const struct start *s)
{
    const struct gp_crew_opts *l = &s->crew->limits;
    size_t n = s->job->nfiles;
    int copies[GP_CHILD_FILES], fd = FIRST_FD + (int)n;
    int tools = fcntl(s->crew->tools_fd, F_DUPFD, fd), out = fcntl(s->out, F_DUPFD, fd),
        err = fcntl(s->err, F_DUPFD, fd);
    for (size_t i = 0; i < n; i++)
        copies[i] = fcntl(s->job->files[i].fd, F_DUPFD, fd); /* out of each other's way */
    if (tools < 0 || out < 0 || err < 0 || (n && copies[n - 1] < 0)) _exit(NO_DESCRIPTORS);
    if (fchdir(s->folder) || dup2(s->null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    for (size_t i = 0; i < n; i++) {
        /* Each child has an open file of its own, so that nobody moves the position of another. */
        if (dup2(copies[i], FIRST_FD + (int)i) < 0) _exit(127);
    }
    fcntl(tools, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, FIRST_FD + (unsigned)n, (unsigned)tools - 1, 0);
    syscall(SYS_close_range, (unsigned)tools + 1, ~0U, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, l->output_bytes);
    limit(RLIMIT_NOFILE, FIRST_FD + GP_CHILD_FILES + 128);
    limit(RLIMIT_CPU, (uint64_t)(l->time_ns / 1000000000) * 8 + 1); /* of all threads together */
    if (l->memory_bytes) limit(RLIMIT_AS, l->memory_bytes);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setpriority(PRIO_PROCESS, 0, 5);
    syscall(SYS_execveat, tools, s->job->tool, s->argv, l->env, 0);
    _exit(127);
}

static void fill_words(struct start *s)
{
    const struct gp_job *job = s->job;
    size_t n = 0;
    s->argv[n++] = (char *)(uintptr_t)job->tool;
    for (size_t i = 0; i < job->noptions && i < GP_CHILD_WORDS; i++)
        s->argv[n++] = (char *)(uintptr_t)job->options[i];
    bool options = false;
    for (size_t i = 0; i < job->nfiles; i++) options |= job->files[i].before != NULL;
    if (!options) s->argv[n++] = (char *)(uintptr_t) "--";
    for (size_t i = 0; i < job->nfiles; i++) {
        if (job->files[i].before) s->argv[n++] = (char *)(uintptr_t)job->files[i].before;
        s->argv[n++] = (char *)(uintptr_t)job->files[i].name;
    }
    s->argv[n] = NULL;
}

static pid_t start(struct gp_crew *c, struct start *s, unsigned place)
{
    pthread_mutex_lock(&c->lock); /* after a stop nothing is started */
    pid_t pid = c->stopped ? -1 : fork();
    if (!pid) become(s);
    c->running[place] = pid > 0 ? pid : -1;
    pthread_mutex_unlock(&c->lock);
    return pid;
}

/* Wait for the child; true if it had to be ended because its time is over. */
static bool wait_for(struct gp_crew *c, pid_t pid, unsigned place, int *status)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int64_t end_ns = gp_now_ns() + c->limits.time_ns, left = c->limits.time_ns;
    bool late = false;
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    while (pidfd >= 0 && left > 0 && poll(&p, 1, (int)(left / 1000000 + 1)) < 0 && errno == EINTR)
        left = end_ns - gp_now_ns();
    if (pidfd >= 0 && !(p.revents & POLLIN)) {
        late = true;
        kill(pid, SIGKILL);
    }
    siginfo_t info; /* without reaping, so that its number is not given to another while it is in the list */
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    pthread_mutex_lock(&c->lock);
    c->running[place] = -1;
    pthread_mutex_unlock(&c->lock);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    if (pidfd >= 0) close(pidfd);
    return late;
}

/* The first line of the child's standard error, without its name. */
static void message_of(int fd, const char *tool, char *to, size_t most)
{
    ssize_t n = pread(fd, to, most - 1, 0);
    to[n > 0 ? n : 0] = 0;
    to[strcspn(to, "\n")] = 0;
    size_t name = strlen(tool);
    const char *text = to + name;
    if (gp_starts(to, tool) && gp_starts(text, ": ")) memmove(to, text + 2, strlen(text + 2) + 1);
    to[gp_utf8_fit_bytes(to, strlen(to), 300)] = 0;
}

static int status_of(struct gp_job *job, struct start *s, int status, bool late, bool stopped,
                     struct gp_err *err)
{
    char message[MESSAGE_BYTES];
    off_t n = lseek(s->out, 0, SEEK_END);
    job->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (stopped) gp_fail(err, GP_E_IO, -1, "the server is shutting down");
    else if (late) gp_fail(err, GP_E_LIMIT, -1, "%s took too long and was ended; see --time", job->tool);
    else if (!WIFEXITED(status) && WTERMSIG(status) == SIGXFSZ)
        gp_fail(err, GP_E_LIMIT, -1, "the answer of %s is too large", job->tool);
    else if (!WIFEXITED(status))
        gp_fail(err, GP_E_IO, -1, "%s was ended by signal %d", job->tool, WTERMSIG(status));
    else if (job->exit_status == 2 || job->exit_status > 3 || n <= 0) {
        message_of(s->err, job->tool, message, sizeof message);
        gp_fail(err, GP_E_FORMAT, -1, "%s",
                *message                             ? message
                : job->exit_status == NO_DESCRIPTORS ? "too many files are open"
                : job->exit_status == 127            ? "the tool cannot be started"
                                                     : "no answer");
        job->no_descriptors = job->exit_status == NO_DESCRIPTORS;
        return job->exit_status > 3 ? 502 : 422;
    } else return 0;
    return stopped ? 503 : late ? 504 : 502;
}

/* ---- turns ---- */

/* A free place; -1 with ERR filled if too many wait. */
static int get_place(struct gp_crew *c, uint64_t *number, struct gp_err *err)
{
    int place = -1;
    pthread_mutex_lock(&c->lock);
    if (c->waiting >= GP_CHILD_WAITING)
        gp_fail(err, GP_E_LIMIT, -1, "too many requests at once: try again later");
    else {
        c->waiting++;
        while (place < 0 && !c->stopped) {
            for (unsigned i = 0; i < c->limits.at_once && place < 0; i++)
                if (!c->running[i]) place = (int)i;
            if (place < 0) pthread_cond_wait(&c->turn, &c->lock);
        }
        c->waiting--;
        if (place < 0) gp_fail(err, GP_E_IO, -1, "the server is shutting down");
        else c->running[place] = -1; /* taken, but not to be ended */
        *number = c->jobs++;
    }
    pthread_mutex_unlock(&c->lock);
    return place;
}

static void give_place(struct gp_crew *c, int place)
{
    pthread_mutex_lock(&c->lock);
    c->running[place] = 0;
    pthread_cond_signal(&c->turn);
    pthread_mutex_unlock(&c->lock);
}

static int run_in(struct gp_crew *c, struct gp_job *job, int place, const char *name, struct gp_err *err)
{
    struct start s = {.crew = c, .job = job, .null = -1, .out = -1, .err = -1, .parent = getpid()};
    int result = 503, status = 0;
    s.folder = open_folder(c, job, name, err);
    if (s.folder >= 0) {
        s.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        s.out = gp_blob_fd();
        s.err = gp_blob_fd();
        fill_words(&s);
        pid_t pid = s.null >= 0 && s.out >= 0 && s.err >= 0 ? start(c, &s, (unsigned)place) : -1;
        if (pid < 0) {
            job->no_descriptors = is_full(errno);
            gp_fail(err, GP_E_IO, -1, "%s: cannot be started: %s", job->tool, strerror(errno));
        } else {
            bool late = wait_for(c, pid, (unsigned)place, &status);
            pthread_mutex_lock(&c->lock);
            bool stopped = c->stopped;
            pthread_mutex_unlock(&c->lock);
            result = status_of(job, &s, status, late, stopped, err);
        }
    }
    for (size_t i = 0; s.folder >= 0 && i < job->nfiles; i++) remove_link(s.folder, job->files[i].name);
    if (s.folder >= 0) close(s.folder);
    unlinkat(c->scratch_fd, name, AT_REMOVEDIR);
    if (!result) job->answer = gp_blob_take(s.out);
    else if (s.out >= 0) close(s.out);
    if (s.null >= 0) close(s.null);
    if (s.err >= 0) close(s.err);
    return result;
}

int gp_crew_run(struct gp_crew *c, struct gp_job *job, struct gp_err *err)
{
    uint64_t number = 0;
    char name[24];
    job->answer = NULL;
    job->exit_status = -1;
    job->no_descriptors = false;
    int place = get_place(c, &number, err);
    if (place < 0) return 503;
    snprintf(name, sizeof name, "%llu", (unsigned long long)number);
    int result = run_in(c, job, place, name, err);
    give_place(c, place);
    return result;
}
