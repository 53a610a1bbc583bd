#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "collect/counters/measured.h"
#include "collect/pm/pm_device.h"
#include "collect/pm/pm_process.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"

enum { TURN_MS = 50, SEVERAL_GPUS_SINCE = 26 /* cuptiGetVersion() of CUDA 12.8 */ };

struct child {
    const struct gp_pm_opts *opts;
    int out;
    bool reader_left;
    struct gp_perfworks api;
    struct gp_pm_calls calls;
    struct gp_pm_device devices[GP_PM_DEVICES];
    size_t n;
    struct gp_buf samples; /* of the device that is being decoded */
    size_t values;         /* of each of its samples */
};

static uint64_t monotonic(void) { return (uint64_t)gp_now_ns(); }

static void put(struct child *c, const void *data, size_t n)
{
    for (const char *at = data; n && !c->reader_left;) {
        ssize_t k = write(c->out, at, n);
        if (k < 0 && errno == EINTR) continue;
        c->reader_left = k <= 0;
        if (k > 0) at += k, n -= (size_t)k;
    }
}

static void send(struct child *c, enum gp_pm_kind kind, size_t device, const void *data, size_t n)
{
    struct gp_pm_frame f = {(uint32_t)kind, (uint32_t)device, (uint32_t)n, 0};
    put(c, &f, sizeof f);
    put(c, data, n);
}

static void say(struct child *c, const char *text) { send(c, GP_PM_SAY, 0, text, strlen(text)); }

/* ---- samples ---- */

static void take(void *ctx, int64_t start_ns, int64_t end_ns, const double *values)
{
    struct child *c = ctx;
    gp_buf_put(&c->samples, &start_ns, sizeof start_ns);
    gp_buf_put(&c->samples, &end_ns, sizeof end_ns);
    gp_buf_put(&c->samples, values, c->values * sizeof *values);
}

static void send_samples(struct child *c, size_t device)
{
    size_t each = 2 * sizeof(int64_t) + c->values * sizeof(double);
    size_t most = GP_PM_FRAME_MOST / each * each;
    for (size_t at = 0; at < c->samples.n; at += most)
        send(c, GP_PM_SAMPLES, device, c->samples.data + at,
             c->samples.n - at < most ? c->samples.n - at : most);
    c->samples.n = 0;
}

/* False: this device is not sampled any more. */
static bool decode(struct child *c, struct gp_pm_device *d)
{
    uint64_t lost = d->lost;
    c->values = d->plan.names.n;
    int code = gp_pm_device_take(d, take, c);
    send_samples(c, d->index);
    if (d->lost > lost) send(c, GP_PM_LOST, d->index, &(uint64_t){d->lost - lost}, sizeof lost);
    if (code) {
        char why[200] = "they came too fast, and sampling could not be restarted", text[300];
        if (code != GP_PM_ENDED) gp_perfworks_why(why, sizeof why, code, &c->api, d->chip);
        snprintf(text, sizeof text, "GPU %zu: no more counter samples: %s", d->index, why);
        say(c, text);
    }
    return !code;
}

/* ---- devices ---- */

static void describe(struct child *c, const struct gp_pm_device *d)
{
    struct gp_buf b = {0};
    for (size_t i = 0; i < d->plan.names.n; i++) {
        struct gp_measured_metric m = {.type = d->plan.types[i]};
        snprintf(m.name, sizeof m.name, "%.*s", (int)sizeof m.name - 1, d->plan.names.at[i]);
        snprintf(m.unit, sizeof m.unit, "%.*s", (int)sizeof m.unit - 1, d->plan.units[i]);
        gp_buf_put(&b, &m, sizeof m);
    }
    send(c, GP_PM_DEVICE, d->index, b.data, b.n);
    gp_buf_release(&b);
}

/* How many GPUs CUDA shows; -1 after a message if there are none. */
static int count_devices(struct child *c)
{
    int (*init)(unsigned) = NULL, (*count)(int *) = NULL, n = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *p;
    if (cuda && (p = dlsym(cuda, "cuInit"))) memcpy(&init, &p, sizeof p);
    if (cuda && (p = dlsym(cuda, "cuDeviceGetCount"))) memcpy(&count, &p, sizeof p);
    if (init && count && !init(0) && !count(&n) && n > 0) return n < GP_PM_DEVICES ? n : GP_PM_DEVICES;
    say(c, "cannot sample counters: no GPU, or no driver of CUDA");
    return -1;
}

static void open_devices(struct child *c)
{
    struct gp_err err = {0};
    uint32_t version = 0;
    int n = count_devices(c);
    if (n < 0) return;
    if (gp_perfworks_find(&c->api, c->opts->libcupti, &err) ||
        gp_pm_calls_open(&c->calls, c->api.library, &err)) {
        say(c, err.msg);
        return;
    }
    c->calls.version(&version);
    if (n > 1 && version < SEVERAL_GPUS_SINCE) { /* before, samples could be those of another GPU */
        say(c, "cannot sample counters of several GPUs: that needs CUDA 12.8 or later");
        return;
    }
    c->calls.set_clock(monotonic);
    for (int i = 0; i < n; i++) {
        struct gp_pm_device *d = &c->devices[c->n];
        if (gp_pm_device_open(d, &c->api, &c->calls, (size_t)i, c->opts->metrics, c->opts->period_ns, &err)) {
            say(c, err.msg);
            continue;
        }
        describe(c, d);
        c->n++;
    }
}

/* Until the launcher closes its end. */
static void sample(struct child *c, int control)
{
    struct pollfd end = {.fd = control, .events = POLLIN};
    while (c->n && !c->reader_left && !poll(&end, 1, TURN_MS))
        for (size_t i = 0; i < c->n; i++) {
            if (decode(c, &c->devices[i])) continue;
            gp_pm_device_close(&c->devices[i]);
            c->devices[i--] = c->devices[--c->n];
        }
    for (size_t i = 0; i < c->n; i++) {
        gp_pm_device_stop(&c->devices[i]);
        decode(c, &c->devices[i]);
        gp_pm_device_close(&c->devices[i]);
    }
}

_Noreturn void gp_pm_child_run(const struct gp_pm_opts *o, int out, int control)
{
    struct child c = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid(); /* the terminal interrupts the command only */
    signal(SIGPIPE, SIG_IGN);
    unsetenv("CUDA_INJECTION64_PATH"); /* this is not the program to be traced */
    unsetenv("NVTX_INJECTION64_PATH");
    c.opts = o;
    c.out = out;
    open_devices(&c);
    if (c.n) send(&c, GP_PM_READY, 0, NULL, 0);
    sample(&c, control);
    _exit(0);
}
