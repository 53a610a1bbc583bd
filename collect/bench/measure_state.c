#include <math.h>
#include <stdio.h>
#include "collect/bench/measure.h"
#include "collect/bench/product.h"
#include "formats/base/clock.h"
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

/* RC is of a call of NVML's that wrote VALUE: not every device and not every user may have it. */
static void say_value(const char *name, int rc, unsigned value)
{
    if (!rc) gp_say_fact_u64(name, value);
}

static void say_clock(struct gp_gpu *g, const char *name, int clock)
{
    unsigned v = 0;
    if (!g->driver->nvml.nvmlDeviceGetClockInfo) return;
    int rc = g->driver->nvml.nvmlDeviceGetClockInfo(g->nvml, clock, &v);
    say_value(name, rc, v);
}

/* A number that NVML has of a device without further questions. */
static void say_number(struct gp_gpu *g, const char *name, int (*call)(void *device, unsigned *value))
{
    unsigned v = 0;
    int rc = call ? call(g->nvml, &v) : -1;
    say_value(name, rc, v);
}

static void say_state(struct gp_gpu *g)
{
    const struct gp_nvml *n = &g->driver->nvml;
    unsigned v = 0;
    if (!g->nvml) return;
    say_clock(g, "sm_mhz", GP_NVML_CLOCK_SM);
    say_clock(g, "memory_mhz", GP_NVML_CLOCK_MEMORY);
    say_number(g, "power_mw", n->nvmlDeviceGetPowerUsage);
    int rc =
        n->nvmlDeviceGetTemperature ? n->nvmlDeviceGetTemperature(g->nvml, GP_NVML_TEMPERATURE_GPU, &v) : -1;
    say_value("temperature_c", rc, v);
}

static void say_settings(struct gp_gpu *g)
{
    const struct gp_nvml *n = &g->driver->nvml;
    char text[96];
    int ecc = 0, pending_ecc = 0, rc;
    unsigned mig = 0, pending = 0;
    if (!g->nvml) return;
    if (n->nvmlSystemGetDriverVersion && !n->nvmlSystemGetDriverVersion(text, sizeof text))
        gp_say_fact("driver", text);
    say_number(g, "power_limit_mw", n->nvmlDeviceGetEnforcedPowerLimit);
    say_number(g, "default_power_limit_mw", n->nvmlDeviceGetPowerManagementDefaultLimit);
    rc = n->nvmlDeviceGetMigMode ? n->nvmlDeviceGetMigMode(g->nvml, &mig, &pending) : -1;
    say_value("mig", rc, mig);
    rc = n->nvmlDeviceGetEccMode ? n->nvmlDeviceGetEccMode(g->nvml, &ecc, &pending_ecc) : -1;
    say_value("ecc", rc, ecc != 0);
}

void gp_measure_conditions(struct gp_gpu *g)
{
    char text[32];
    gp_say_fact_u64("devices", (uint64_t)g->count);
    gp_say_fact("device", g->name);
    gp_say_fact("pci", g->pci);
    snprintf(text, sizeof text, "%d.%d", g->major, g->minor);
    gp_say_fact("compute_capability", text);
    gp_say_fact_u64("sms", (uint64_t)g->sms);
    if (g->l2_bytes) gp_say_fact_u64("l2_bytes", g->l2_bytes);
    if (g->users >= 0) gp_say_fact_u64("users", (uint64_t)g->users);
    say_settings(g);
    say_state(g);
}

enum { SIDE = 8192 };

/* N products that are queued, and not waited for. */
static int queue(struct gp_gpu *g, struct gp_product *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (gp_product_run(g, p)) return -1;
    return 0;
}

/* The fastest of the library's algorithms. */
static void choose(struct gp_gpu *g, struct gp_product *p)
{
    double ns, least = INFINITY;
    int best = 0;
    for (p->choice = 0; p->choice < p->nchoices; p->choice++) {
        if (gp_gpu_time(g, gp_product_run, p, 1, &ns) || gp_gpu_time(g, gp_product_run, p, 3, &ns) ||
            ns >= least)
            continue;
        least = ns;
        best = p->choice;
    }
    p->choice = best;
}

/* The same product for e->soak_ns, a tenth of a second at a time; of the last third, rates and the state of
 * the device, which is asked for while it works, are reported. The launcher takes their medians. */
static int soak(struct gp_gpu *g, struct gp_product *p, const struct gp_effort *e)
{
    choose(g, p);
    uint64_t n = gp_gpu_repeats(g, gp_product_run, p, 1e8, 10000);
    int64_t begin_ns = gp_now_ns();
    double passed = 0;
    if (!n) return -1;
    do {
        passed = (double)(gp_now_ns() - begin_ns);
        bool late = passed >= 2 * e->soak_ns / 3;
        double ns;
        if (queue(g, p, n)) return -1;
        if (late) say_state(g);
        if (gp_gpu_time(g, gp_product_run, p, n, &ns)) return -1;
        if (late) gp_say_figure("sustained_bf16", p->operations * (double)n / ns * 1e9);
    } while ((double)(gp_now_ns() - begin_ns) < e->soak_ns);
    return 0;
}

void gp_measure_soak(struct gp_gpu *g, const struct gp_effort *e)
{
    struct gp_product p;
    int failed = gp_product_open(&p, g, gp_product_type("bf16"), SIDE, SIDE, SIDE);
    if (!failed) {
        gp_say_fact("phase", "soak");
        failed = soak(g, &p, e);
        gp_product_close(&p);
    }
    gp_gpu_free_all(g);
    if (failed) gp_say_missing("sustained_bf16", g->err.msg);
}

/* ---- launches ---- */

/* Processors change their clock, so there are many rounds. */
enum { LAUNCHES = 1000, THREADS = 32, ROUNDS = 8 };

static int run_empty(struct gp_gpu *g, void *function)
{
    return gp_gpu_launch(g, function, 1, THREADS, NULL);
}

/* What a launch costs its thread, and how far apart empty kernels begin. The stream's queue takes 1,000 of
 * them. */
static int measure_launch(struct gp_gpu *g, void *empty, const struct gp_effort *e)
{
    for (int i = -1; i < ROUNDS * e->rounds; i++) { /* the first is to get warm */
        int64_t begin_ns = gp_now_ns();
        double interval;
        for (int k = 0; k < LAUNCHES; k++)
            if (run_empty(g, empty)) return -1;
        double host = (double)(gp_now_ns() - begin_ns);
        if (GP_GPU(g, cuStreamSynchronize, g->stream) ||
            gp_gpu_time(g, run_empty, empty, LAUNCHES, &interval))
            return -1;
        if (i < 0) continue;
        gp_say_figure("launch", host / LAUNCHES);
        gp_say_figure("launch_interval", interval / LAUNCHES);
    }
    return 0;
}

static int capture(struct gp_gpu *g, void *empty, void **exec)
{
    void *graph = NULL;
    int failed = GP_GPU(g, cuStreamBeginCapture_v2, g->stream, GP_CUDA_CAPTURE_LOCAL);
    for (int k = 0; !failed && k < LAUNCHES; k++) failed = run_empty(g, empty);
    if (!failed) failed = GP_GPU(g, cuStreamEndCapture, g->stream, &graph);
    if (!failed) failed = GP_GPU(g, cuGraphInstantiateWithFlags, exec, graph, 0);
    if (graph) (void)g->cuda->cuGraphDestroy(graph);
    return failed ? -1 : 0;
}

static int run_graph(struct gp_gpu *g, void *exec) { return GP_GPU(g, cuGraphLaunch, exec, g->stream); }

/* How far apart empty kernels of a graph begin: the graph's own launch is spread over 1,000 of them. */
static int measure_graph(struct gp_gpu *g, void *empty, const struct gp_effort *e)
{
    void *exec = NULL;
    int failed = capture(g, empty, &exec);
    for (int i = -1; !failed && i < e->rounds; i++) {
        double ns;
        failed = gp_gpu_time(g, run_graph, exec, 10, &ns);
        if (!failed && i >= 0) gp_say_figure("graph_kernel", ns / 10 / LAUNCHES);
    }
    if (exec) (void)g->cuda->cuGraphExecDestroy(exec);
    return failed ? -1 : 0;
}

void gp_measure_launches(struct gp_gpu *g, const struct gp_effort *e)
{
    struct gp_buf b = {0};
    gp_ptx_begin(&b);
    gp_ptx_empty(&b);
    void *empty = gp_gpu_load(g, gp_buf_str(&b)) ? NULL : gp_gpu_function(g, "empty");
    gp_buf_release(&b);
    if (!empty || measure_launch(g, empty, e)) gp_say_missing("launch", g->err.msg);
    if (!empty || measure_graph(g, empty, e)) gp_say_missing("graph_kernel", g->err.msg);
}
