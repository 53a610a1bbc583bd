#include "collect/bench/measure.h"
#include "collect/bench/ptx.h"
#include "collect/bench/say.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"

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

static int run_graph(struct gp_gpu *g, void *exec)
{
    return GP_GPU(g, cuGraphLaunch, exec, g->stream);
}

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
