#include "render/measure/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"

/* ---- running gpuprof-bench ---- */

/* One process of gpuprof-bench. If it crashes, or is silent for too long and is killed, its last line says
 * so. */
struct bench {
    const char *args[8]; /* after the program's name; NULL ends them */
    /* while it runs */
    pid_t pid;
    int fd; /* -1: it has ended */
    struct gp_buf line;
    int64_t heard_ns; /* of its last output */
};

enum { TICK_MS = 500, LINE_MOST = 1 << 16 };
extern char **environ;

static int start(const char *program, struct bench *j, struct gp_err *err)
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
    j->heard_ns = gp_now_ns();
    if (!rc) return 0;
    close(ends[0]);
    return gp_fail(err, GP_E_IO, -1, "%s: %s", program, strerror(rc));
}

struct listener {
    void (*line)(void *context, size_t i, const char *text);
    void *context;
};

static void emit_line(const struct listener *h, struct bench *j, size_t i)
{
    h->line(h->context, i, gp_buf_str(&j->line));
    j->line.n = 0;
}

static void put_bytes(const struct listener *h, struct bench *j, size_t i, const char *data, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (data[k] == '\n') emit_line(h, j, i);
        else if (j->line.n < LINE_MOST) gp_buf_putc(&j->line, data[k]);
    }
}

static void read_job(const struct listener *h, struct bench *j, size_t i)
{
    char data[4096];
    ssize_t n = read(j->fd, data, sizeof data);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
        /* It has closed its output. A line that it did not finish is left out. */
        int status = 0;
        close(j->fd);
        j->fd = -1;
        while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) continue;
        j->line.n = 0;
        if (WIFSIGNALED(status)) {
            gp_buf_printf(&j->line, "missing program it was ended by signal %d (%s)", WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
            emit_line(h, j, i);
        }
        gp_buf_release(&j->line);
        return;
    }
    j->heard_ns = gp_now_ns();
    put_bytes(h, j, i, data, (size_t)n);
}

static void listen_to(const struct listener *h, struct bench *jobs, size_t n, int64_t quiet_ns)
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
            if (jobs[i].fd >= 0 && gp_now_ns() - jobs[i].heard_ns >= quiet_ns) {
                kill(jobs[i].pid, SIGKILL);
                jobs[i].line.n = 0;
                gp_buf_printf(&jobs[i].line, "missing answer none for %lld s: the driver or the device hangs",
                              (long long)(quiet_ns / 1000000000));
                emit_line(h, &jobs[i], i);
                jobs[i].heard_ns = INT64_MAX / 2; /* once */
            }
        }
    }
    free(fds);
}

/* Run N jobs to their end; LINE gets each complete line of job I, without the newline. A job that is silent
 * for QUIET_NS is killed. -1 with ERR if a program cannot be started; others are then ended. */
static int run_bench(const char *program, struct bench *jobs, size_t n, int64_t quiet_ns,
                     void (*line)(void *context, size_t i, const char *text), void *context,
                     struct gp_err *err)
{
    struct listener h = {line, context};
    int failed = 0;
    for (size_t i = 0; i < n; i++) jobs[i].fd = -1;
    for (size_t i = 0; !failed && i < n; i++) failed = start(program, &jobs[i], err);
    for (size_t i = 0; failed && i < n; i++)
        if (jobs[i].fd >= 0) kill(jobs[i].pid, SIGKILL);
    listen_to(&h, jobs, n, quiet_ns);
    return failed;
}

/* Where gpuprof-bench is: $GPUPROF_BENCH, or beside the library that is injected. -1 with ERR: nowhere. */
static int find_bench(struct gp_buf *path, struct gp_err *err)
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

#define QUIET_NS INT64_C(60000000000) /* no measurement takes that long */
enum { ID_BYTES = 12, LIST_BYTES = GP_CALIBRATE_DEVICES * ID_BYTES };

struct work {
    struct gp_calibration *c;
    const struct gp_calibrate_plan *plan;
    const char *program;
    size_t first;   /* device of the first job */
    uint64_t count; /* devices that the driver has */
};

static void take_line(void *context, size_t i, const char *text)
{
    struct work *w = context;
    gp_calibration_line(w->c, w->first + i, text);
}

/* WHAT on each device, all at once or one after the other. */
static int on_each(struct work *w, const char *what, bool together, struct gp_err *err)
{
    struct gp_calibration *c = w->c;
    struct bench *jobs = gp_zalloc(c->n * sizeof *jobs);
    char(*ids)[ID_BYTES] = gp_zalloc(c->n * sizeof *ids);
    int failed = 0;
    for (size_t i = 0; i < c->n; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", c->ids[i]);
        jobs[i] = (struct bench){.args = {what, ids[i], w->plan->full ? "full" : "quick"}};
    }
    for (size_t i = 0; !failed && i < (together ? 1 : c->n); i++) {
        w->first = together ? 0 : i;
        failed = run_bench(w->program, &jobs[w->first], together ? c->n : 1, QUIET_NS, take_line, w, err);
    }
    free(jobs);
    free(ids);
    return failed;
}

static int between_all(struct work *w, struct gp_err *err)
{
    char list[LIST_BYTES];
    size_t n = 0;
    if (w->c->n < 2) return 0;
    for (size_t i = 0; i < w->c->n; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", i ? "," : "", w->c->ids[i]);
    struct bench job = {.args = {"peers", list, w->plan->full ? "full" : "quick"}};
    w->first = 0;
    return run_bench(w->program, &job, 1, QUIET_NS, take_line, w, err);
}

/* ---- which devices ---- */

static void take_count(void *context, size_t i, const char *text)
{
    struct work *w = context;
    unsigned long long n;
    if (sscanf(text, "fact devices %llu", &n) == 1) w->count = n;
    else take_line(context, i, text);
}

/* The number of devices; problems are those of the first one, which is probed. */
static int count_devices(struct work *w, struct gp_err *err)
{
    struct gp_calibration probe = {0};
    struct bench job = {.args = {"probe", "0", "quick"}};
    struct work at = {.c = &probe, .program = w->program};
    gp_calibration_devices(&probe, &(int){0}, 1);
    int failed = run_bench(w->program, &job, 1, QUIET_NS, take_count, &at, err);
    if (!failed && !at.count)
        failed = gp_fail(err, GP_E_IO, -1, "no device can be measured: %s",
                         probe.devices[0].missing.n ? probe.devices[0].missing.at[0].why
                                                    : "the driver names none");
    w->count = at.count;
    gp_calibration_release(&probe);
    return failed;
}

static int choose_devices(struct work *w, struct gp_err *err)
{
    int ids[GP_CALIBRATE_DEVICES];
    size_t n = 0;
    const char *p = w->plan->devices;
    for (; !p && n < w->count && n < GP_CALIBRATE_DEVICES; n++) ids[n] = (int)n;
    while (p && *p) {
        char *end;
        unsigned long id = strtoul(p, &end, 10);
        if (end == p || *p < '0' || *p > '9' || (*end && *end != ',') || n == GP_CALIBRATE_DEVICES)
            return gp_fail(err, GP_E_USAGE, -1, "--device: '%s' is not a list of numbers, as in 0,2",
                           w->plan->devices);
        if (id >= w->count)
            return gp_fail(err, GP_E_USAGE, -1, "--device: there is no device %lu, only %llu, from number 0",
                           id, (unsigned long long)w->count);
        ids[n++] = (int)id;
        p = *end ? end + 1 : end;
    }
    if (w->plan->ops && n) n = 1;
    gp_calibration_devices(w->c, ids, n);
    return n ? 0 : gp_fail(err, GP_E_USAGE, -1, "--device: no device is named");
}

static int refuse_unfit(struct work *w, struct gp_err *err)
{
    char why[160];
    for (size_t i = 0; i < w->c->n; i++) {
        struct gp_figures *f = &w->c->devices[i];
        gp_figures_settle(f);
        if (!gp_figures_unfit(f, why, sizeof why)) continue;
        if (!w->plan->force)
            return gp_fail(err, GP_E_IO, -1,
                           "device %d, %s, is not measured: %s; use --force to measure it anyway",
                           w->c->ids[i], f->device, why);
    }
    return 0;
}

/* ---- measurements ---- */

static int measure_ceilings(struct work *w, void (*progress)(const char *message), struct gp_err *err)
{
    progress("measuring launches, memory and arithmetic");
    if (on_each(w, "figures", true, err)) return -1;
    if (w->plan->ops) return 0;
    progress("measuring copies between host and device");
    if (on_each(w, "link", false, err)) return -1;
    if (w->c->n > 1) progress("measuring copies between devices");
    if (between_all(w, err)) return -1;
    if (!w->plan->full) return 0;
    progress("measuring products under sustained load, for 10 s");
    return on_each(w, "soak", true, err);
}

static int measure_op(struct work *w, const char *name, const char *sizes,
                      void (*progress)(const char *message), struct gp_err *err)
{
    char id[ID_BYTES], message[96];
    struct bench job = {.args = {"op", id, w->plan->full ? "full" : "quick", name,
                                 w->plan->type ? w->plan->type : "fp32", sizes}};
    snprintf(id, sizeof id, "%d", w->c->ids[0]);
    snprintf(message, sizeof message, "measuring %s", name);
    progress(message);
    w->first = 0;
    return run_bench(w->program, &job, 1, QUIET_NS, take_line, w, err);
}

static int measure_ops(struct work *w, void (*progress)(const char *message), struct gp_err *err)
{
    uint64_t sizes[GP_SWEEP_SIZES];
    struct gp_buf list = {0};
    const char *text = w->plan->sizes ? w->plan->sizes : "1K:1G:x2";
    int n = gp_sweep_sizes(text, sizes, err), failed = n < 0;
    char *names = strdup(w->plan->ops), *rest = NULL;
    for (int i = 0; i < n; i++) gp_buf_printf(&list, "%s%llu", i ? "," : "", (unsigned long long)sizes[i]);
    for (char *name = names ? strtok_r(names, ",", &rest) : NULL; !failed && name;
         name = strtok_r(NULL, ",", &rest))
        failed = measure_op(w, name, gp_buf_str(&list), progress, err);
    gp_buf_release(&list);
    free(names);
    return failed ? -1 : 0;
}

static int measure(struct work *w, void (*progress)(const char *message), struct gp_err *err)
{
    if (count_devices(w, err) || choose_devices(w, err) || on_each(w, "probe", true, err) ||
        refuse_unfit(w, err) || measure_ceilings(w, progress, err) ||
        (w->plan->ops && measure_ops(w, progress, err)))
        return -1;
    gp_calibration_settle(w->c);
    if (gp_calibration_any(w->c)) return 0;
    const struct gp_figures *f = &w->c->devices[0];
    return gp_fail(err, GP_E_IO, -1, "nothing could be measured: %s",
                   f->missing.n ? f->missing.at[0].why : "no reason is known");
}

int gp_calibrate(struct gp_calibration *c, const struct gp_calibrate_plan *p,
                 void (*progress)(const char *message), struct gp_err *err)
{
    struct gp_buf program = {0};
    uint64_t sizes[GP_SWEEP_SIZES];
    struct work w = {.c = c, .plan = p};
    int failed =
        (p->ops && p->sizes && gp_sweep_sizes(p->sizes, sizes, err) < 0) || find_bench(&program, err);
    w.program = gp_buf_str(&program);
    c->full = p->full;
    if (!failed) failed = measure(&w, progress, err);
    gp_buf_release(&program);
    return failed ? -1 : 0;
}
