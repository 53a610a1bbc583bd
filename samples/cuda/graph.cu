/* graph.cu -- a captured CUDA graph, replayed, between eager launches.
 *
 *     graph [NODES [REPLAYS]]        (default 20 kernel nodes, 10 replays)
 *
 * The graph holds NODES kernels in a chain, one set and one copy on the device. Before and after the replays
 * the same kernels run eagerly, once each. NVTX ranges tell the layers of the capture, four kernels each, and
 * the steps that replay it, which another thread does, from a clone of the graph. The last line on standard
 * output says what a trace of the run has to hold. */
#include <thread>
#include <nvtx3/nvToolsExt.h>
#include "sample.h"

enum { N = 1 << 16, BLOCK = 256, GRID = N / BLOCK, LAYER = 4 };

__global__ void increment(int *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void square(int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= x[i];
}

static void push(const char *name, int i)
{
    char text[32];
    std::snprintf(text, sizeof text, "%s %d", name, i);
    nvtxRangePushA(text);
}

static void chain(int *x, int nodes, cudaStream_t stream, bool layers)
{
    for (int i = 0; i < nodes; i++) {
        if (layers && i % LAYER == 0) push("layer", i / LAYER);
        if (i % 2) square<<<GRID, BLOCK, 0, stream>>>(x);
        else increment<<<GRID, BLOCK, 0, stream>>>(x);
        CHECK(cudaGetLastError());
        if (layers && (i % LAYER == LAYER - 1 || i == nodes - 1)) nvtxRangePop();
    }
}

static cudaGraph_t capture(int *x, int *kept, int nodes, cudaStream_t stream)
{
    cudaGraph_t graph;
    nvtxRangePushA("capture");
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    nvtxRangePushA("clear");
    CHECK(cudaMemsetAsync(x, 0, N * sizeof *x, stream));
    nvtxRangePop();
    chain(x, nodes, stream, true);
    CHECK(cudaMemcpyAsync(kept, x, N * sizeof *x, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    nvtxRangePop();
    return graph;
}

static void replay(cudaGraphExec_t exec, int replays, cudaStream_t stream)
{
    for (int i = 0; i < replays; i++) {
        push("step", i);
        CHECK(cudaGraphLaunch(exec, stream));
        nvtxRangePop();
    }
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    int nodes = (int)operand(argc, argv, 1, 20), replays = (int)operand(argc, argv, 2, 10);
    cudaStream_t stream;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    int *x, *kept;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, N * sizeof *x));
    CHECK(cudaMalloc(&kept, N * sizeof *kept));

    chain(x, nodes, stream, false);
    CHECK(cudaStreamSynchronize(stream));

    graph = capture(x, kept, nodes, stream);
    nvtxRangePushA("instantiate");
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    nvtxRangePop();
    std::thread(replay, exec, replays, stream).join();

    chain(x, nodes, stream, false);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));

    int layers = (nodes + LAYER - 1) / LAYER;
    std::printf("expect kernels=%d graph_kernels=%d memcpy=%d memcpy_bytes=%lld memset=%d memset_bytes=%lld "
                "graph_launches=%d ranges=%d uncaptured_graph_work=0 capture_paths=%d processes=1\n",
                nodes * (replays + 2), nodes * replays, replays,
                (long long)replays * N * (long long)sizeof *x, replays,
                (long long)replays * N * (long long)sizeof *x, replays, layers + replays + 3, layers + 2);
    return 0;
}
