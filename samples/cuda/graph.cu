/* graph.cu -- a captured CUDA graph, replayed, between eager launches.
 *
 *     graph [NODES [REPLAYS]]        (default 20 kernel nodes, 10 replays)
 *
 * The graph holds NODES kernels in a chain, one set and one copy on the device. Before and after the replays
 * the same kernels run eagerly, once each. The last line on standard output says what a trace of the run has
 * to hold. */
#include "sample.h"

enum { N = 1 << 16, BLOCK = 256, GRID = N / BLOCK };

__global__ void increment(int *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void square(int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= x[i];
}

static void chain(int *x, int nodes, cudaStream_t stream)
{
    for (int i = 0; i < nodes; i++) {
        if (i % 2) square<<<GRID, BLOCK, 0, stream>>>(x);
        else increment<<<GRID, BLOCK, 0, stream>>>(x);
        CHECK(cudaGetLastError());
    }
}

int main(int argc, char **argv)
{
    int nodes = (int)operand(argc, argv, 1, 20), replays = (int)operand(argc, argv, 2, 10);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *x, *kept;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, N * sizeof *x));
    CHECK(cudaMalloc(&kept, N * sizeof *kept));

    chain(x, nodes, stream);
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(x, 0, N * sizeof *x, stream));
    chain(x, nodes, stream);
    CHECK(cudaMemcpyAsync(kept, x, N * sizeof *x, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < replays; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    chain(x, nodes, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    std::printf("expect kernels=%d graph_kernels=%d memcpy=%d memcpy_bytes=%lld memset=%d memset_bytes=%lld "
                "graph_launches=%d processes=1\n",
                nodes * (replays + 2), nodes * replays, replays,
                (long long)replays * N * (long long)sizeof *x, replays,
                (long long)replays * N * (long long)sizeof *x, replays);
    return 0;
}
