#include "collect/pm/pm_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/mem.h"
#include "formats/model/metric.h"

enum { PIPE_BYTES = 1 << 20, READ_BYTES = 1 << 18 };
static const int64_t TURN_NS = 250000000, READY_NS = 20000000000, END_NS = 5000000000;

struct gp_pm {
    pid_t pid;
    int in, control; /* -1: closed */
    bool ready, invalid;
    struct gp_buf bytes; /* that have come and are not a whole frame yet */
    struct gp_buf said;
    struct gp_pm_writer *writer;
    int64_t due_ns;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- frames ---- */

static bool take_samples(struct gp_pm *pm, const struct gp_pm_frame *f, const char *at)
{
    size_t n = gp_pm_writer_values(pm->writer, f->device), each = 2 * sizeof(int64_t) + n * sizeof(double);
    double values[GP_METRICS_MOST];
    int64_t times[2];
    if (!n || f->n % each) return false;
    for (const char *end = at + f->n; at < end; at += each) {
        memcpy(times, at, sizeof times);
        memcpy(values, at + sizeof times, n * sizeof *values);
        gp_pm_writer_put(pm->writer, f->device, times[0], times[1], values);
    }
    return true;
}

static bool take_device(struct gp_pm *pm, const struct gp_pm_frame *f, const char *at)
{
    struct gp_measured_metric metrics[GP_METRICS_MOST];
    size_t n = f->n / sizeof *metrics;
    if (!n || f->n % sizeof *metrics || n > GP_METRICS_MOST) return false;
    memcpy(metrics, at, f->n);
    for (size_t i = 0; i < n; i++)
        metrics[i].name[sizeof metrics[i].name - 1] = metrics[i].unit[sizeof metrics[i].unit - 1] = 0;
    gp_pm_writer_device(pm->writer, f->device, metrics, n);
    return true;
}

static bool take_frame(struct gp_pm *pm, const struct gp_pm_frame *f, const char *at)
{
    uint64_t lost;
    switch (f->kind) {
    case GP_PM_DEVICE: return take_device(pm, f, at);
    case GP_PM_READY: return pm->ready = true;
    case GP_PM_SAMPLES: return take_samples(pm, f, at);
    case GP_PM_LOST:
        if (f->n != sizeof lost) return false;
        memcpy(&lost, at, sizeof lost);
        gp_pm_writer_lost(pm->writer, f->device, lost);
        return true;
    case GP_PM_SAY:
        if (pm->said.n) gp_buf_puts(&pm->said, "; ");
        gp_buf_put(&pm->said, at, f->n);
        return true;
    }
    return false;
}

static void take_frames(struct gp_pm *pm)
{
    size_t at = 0;
    struct gp_pm_frame f;
    while (!pm->invalid && pm->bytes.n - at >= sizeof f) {
        memcpy(&f, pm->bytes.data + at, sizeof f);
        pm->invalid = f.n > GP_PM_FRAME_MOST || f.device >= GP_PM_DEVICES;
        if (pm->invalid || pm->bytes.n - at - sizeof f < f.n) break;
        pm->invalid = !take_frame(pm, &f, pm->bytes.data + at + sizeof f);
        at += sizeof f + f.n;
    }
    if (at) memmove(pm->bytes.data, pm->bytes.data + at, pm->bytes.n - at);
    pm->bytes.n -= at;
}

enum heard { HEARD, SILENT, GONE };

/* Take frames, waiting for them until DUE_NS. GONE: it has closed its end. */
static enum heard hear(struct gp_pm *pm, int64_t due_ns)
{
    struct pollfd p = {.fd = pm->in, .events = POLLIN};
    int64_t left_ms = (due_ns - gp_now_ns()) / 1000000;
    if (pm->in < 0) return GONE;
    if (poll(&p, 1, left_ms > 0 ? (int)left_ms + 1 : 0) <= 0) return SILENT;
    gp_buf_reserve(&pm->bytes, READ_BYTES);
    ssize_t n = read(pm->in, pm->bytes.data + pm->bytes.n, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return SILENT;
    if (n > 0) pm->bytes.n += (size_t)n;
    take_frames(pm);
    if (n > 0 && !pm->invalid) return HEARD;
    close_fd(&pm->in);
    return GONE;
}

/* ---- life ---- */

static bool start_child(struct gp_pm *pm, const struct gp_pm_opts *opts)
{
    int data[2], control[2];
    if (pipe(data)) return false;
    if (pipe(control)) {
        close(data[0]);
        close(data[1]);
        return false;
    }
    int all[] = {data[0], data[1], control[0], control[1]};
    for (int i = 0; i < 4; i++) fcntl(all[i], F_SETFD, FD_CLOEXEC);
    fcntl(data[0], F_SETFL, O_NONBLOCK);
    fcntl(data[1], F_SETPIPE_SZ, PIPE_BYTES);
    pm->pid = fork();
    if (!pm->pid) {
        close(data[0]);
        close(control[1]);
        gp_pm_child_run(opts, data[1], control[0]);
    }
    close(data[1]);
    close(control[0]);
    pm->in = data[0];
    pm->control = control[1];
    return pm->pid > 0;
}

struct gp_pm *gp_pm_start(const struct gp_pm_opts *opts)
{
    struct gp_pm *pm = gp_zalloc(sizeof *pm);
    pm->in = pm->control = -1;
    if (start_child(pm, opts)) return pm;
    gp_pm_free(pm);
    return NULL;
}

bool gp_pm_await(struct gp_pm *pm, const struct gp_pm_writer_opts *to, struct gp_buf *why)
{
    int64_t until_ns = gp_now_ns() + READY_NS;
    if (pm) {
        pm->writer = gp_pm_writer_new(to);
        while (!pm->ready && gp_now_ns() < until_ns && hear(pm, until_ns) != GONE) continue;
        gp_buf_put(why, pm->said.data, pm->said.n);
    }
    if (pm && pm->ready) {
        pm->said.n = 0;
        pm->due_ns = 1;
        return true;
    }
    if (!why->n)
        gp_buf_puts(why, pm && pm->in >= 0
                             ? "cannot sample counters: the sampling process is not ready after 20 s"
                             : "cannot sample counters: the sampling process has ended");
    return false;
}

int64_t gp_pm_due(const struct gp_pm *pm) { return pm && pm->in >= 0 ? pm->due_ns : 0; }

void gp_pm_turn(struct gp_pm *pm, int64_t now_ns)
{
    if (!pm || pm->in < 0 || now_ns < pm->due_ns) return;
    pm->due_ns = now_ns + TURN_NS;
    while (hear(pm, 0) == HEARD) continue;
    gp_pm_writer_flush(pm->writer, now_ns);
}

void gp_pm_end(struct gp_pm *pm)
{
    if (!pm) return;
    int64_t until_ns = gp_now_ns() + (pm->ready ? END_NS : 0);
    close_fd(&pm->control);
    while (gp_now_ns() < until_ns && hear(pm, until_ns) != GONE) continue;
    if (pm->pid > 0 && pm->in >= 0) kill(pm->pid, SIGKILL);
    close_fd(&pm->in);
    while (pm->pid > 0 && waitpid(pm->pid, NULL, 0) < 0 && errno == EINTR) continue;
    pm->pid = 0;
    if (pm->writer) gp_pm_writer_end(pm->writer);
}

uint64_t gp_pm_samples(const struct gp_pm *pm) { return gp_pm_writer_samples(pm->writer); }

const char *gp_pm_said(struct gp_pm *pm) { return gp_buf_str(&pm->said); }

void gp_pm_free(struct gp_pm *pm)
{
    if (!pm) return;
    if (pm->pid > 0) gp_pm_end(pm);
    gp_pm_writer_free(pm->writer);
    gp_buf_release(&pm->bytes);
    gp_buf_release(&pm->said);
    free(pm);
}
