/* storm.cu -- what does a launch cost? Empty kernels, launched as fast as one thread can.
 *
 *     storm [LAUNCHES [REPEATS [graph]]]    (default 20000 launches, 5 repeats, after one that is not counted)
 *
 * Two ways: single launches, unless `graph` is given, and replays of a graph of 100 kernels. For each it prints the best and the
 * median repeat, in nanoseconds a kernel: `host` is the time the launching thread spends in the calls (the
 * queue is drained between batches, outside the clock, so that it never fills), `wall` is from the first call
 * until the GPU is done. Run it bare and under a collector: the difference is what the collector adds. */
#include <algorithm>
#include <cstring>
#include <vector>
#include "sample.h"

enum { BATCH = 500, NODES = 100, GRAPH_BATCH = 5 };

__global__ void empty() {}

struct timing {
    long long host_ns, wall_ns;
};

static void launch_batch(cudaStream_t stream, cudaGraphExec_t exec)
{
    if (exec)
        for (int i = 0; i < GRAPH_BATCH; i++) CHECK(cudaGraphLaunch(exec, stream));
    else
        for (int i = 0; i < BATCH; i++) empty<<<1, 32, 0, stream>>>();
}

/* COUNT kernels, in batches of 500. */
static timing repeat(cudaStream_t stream, cudaGraphExec_t exec, long count)
{
    timing t = {0, 0};
    for (long done = 0; done < count; done += BATCH) {
        long long begin = clock_ns();
        launch_batch(stream, exec);
        t.host_ns += clock_ns() - begin;
        CHECK(cudaStreamSynchronize(stream));
        t.wall_ns += clock_ns() - begin;
    }
    CHECK(cudaGetLastError());
    return t;
}

static double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

static void measure(const char *mode, cudaStream_t stream, cudaGraphExec_t exec, long count, long repeats)
{
    std::vector<double> host, wall;
    repeat(stream, exec, count);
    for (long r = 0; r < repeats; r++) {
        timing t = repeat(stream, exec, count);
        host.push_back((double)t.host_ns / count);
        wall.push_back((double)t.wall_ns / count);
    }
    std::printf("storm mode=%s host_best_ns=%.1f host_median_ns=%.1f wall_best_ns=%.1f wall_median_ns=%.1f\n",
                mode, *std::min_element(host.begin(), host.end()), median(host),
                *std::min_element(wall.begin(), wall.end()), median(wall));
}

int main(int argc, char **argv)
{
    long count = (operand(argc, argv, 1, 20000) + BATCH - 1) / BATCH * BATCH,
         repeats = operand(argc, argv, 2, 5);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; i++) empty<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    bool single = argc <= 3 || std::strcmp(argv[3], "graph");
    if (single) measure("launch", stream, NULL, count, repeats);
    measure("graph", stream, exec, count, repeats);
    std::printf("expect kernels=%ld graph_kernels=%ld memcpy=0 memset=0 graph_launches=%ld processes=1\n",
                (single + 1) * count * (repeats + 1), count * (repeats + 1), count / NODES * (repeats + 1));
    return 0;
}
