/* managed.cu -- what a GPU's memory does by itself, events, pools, and a graph that is replayed fast.
 *
 *     managed                      events, unified memory and a pool
 *     managed graph [NODES [N]]    a graph of NODES kernels (200), replayed N times (5000)
 *
 * The first: 3 records of events, 2 waits for them by streams and 1 by the host. Of two managed buffers of 16 MiB that the
 * host has written, one is read by a kernel, which faults, the other is prefetched to the device; then the host reads the
 * first again. A pool is created, 3 times 1 MiB are allocated from it and freed, it is trimmed and destroyed. 2 kernels. */
#include <cstring>
#include "sample.h"

static const size_t BYTES = 16 << 20;

static __global__ void read_all(const unsigned char *p, size_t n, unsigned *sum)
{
    unsigned mine = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) mine += p[i];
    atomicAdd(sum, mine);
}

static void prefetch(void *p, size_t n, int device, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation to = {};
    to.type = cudaMemLocationTypeDevice;
    to.id = device;
    CHECK(cudaMemPrefetchAsync(p, n, to, 0, stream));
#else
    CHECK(cudaMemPrefetchAsync(p, n, device, stream));
#endif
}

static void events(cudaStream_t one, cudaStream_t two)
{
    cudaEvent_t e;
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CHECK(cudaEventRecord(e, one));
    CHECK(cudaStreamWaitEvent(two, e, 0));
    CHECK(cudaEventRecord(e, two));
    CHECK(cudaStreamWaitEvent(one, e, 0));
    CHECK(cudaEventRecord(e, one));
    CHECK(cudaEventSynchronize(e));
    CHECK(cudaEventDestroy(e));
}

static void unified(cudaStream_t stream)
{
    unsigned char *faulting, *fetched;
    unsigned *sum, total = 0;
    CHECK(cudaMallocManaged(&faulting, BYTES));
    CHECK(cudaMallocManaged(&fetched, BYTES));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    std::memset(faulting, 1, BYTES);
    std::memset(fetched, 1, BYTES);
    read_all<<<64, 256, 0, stream>>>(faulting, BYTES, sum);
    prefetch(fetched, BYTES, 0, stream);
    read_all<<<64, 256, 0, stream>>>(fetched, BYTES, sum);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < BYTES; i += 4096) total += faulting[i];
    if (total != BYTES / 4096) std::exit(1);
    CHECK(cudaFree(sum));
    CHECK(cudaFree(faulting));
    CHECK(cudaFree(fetched));
}

static void pools(cudaStream_t stream)
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool;
    void *p[3];
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    for (int i = 0; i < 3; i++) CHECK(cudaMallocFromPoolAsync(&p[i], 1 << 20, pool, stream));
    for (int i = 0; i < 3; i++) CHECK(cudaFreeAsync(p[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolDestroy(pool));
}

static void replay(cudaStream_t stream, long nodes, long times)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (long i = 0; i < nodes; i++) spin<<<1, 32, 0, stream>>>(0);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (long i = 0; i < times; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    std::printf("expect graph_launches=%ld replays=%ld replays_twice=0 processes=1\n", times, times);
}

int main(int argc, char **argv)
{
    cudaStream_t one, two;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    if (argc > 1 && !std::strcmp(argv[1], "graph")) {
        replay(one, operand(argc, argv, 2, 200), operand(argc, argv, 3, 5000));
        return 0;
    }
    events(one, two);
    unified(one);
    pools(one);
    std::printf("expect kernels=2 events=3 event_waits=3 unified_least=2 unified_bytes_least=%zu faults_least=1 pools_least=3 "
                "processes=1\n",
                2 * BYTES);
    return 0;
}
