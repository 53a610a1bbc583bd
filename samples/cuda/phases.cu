/* phases.cu -- kernels in phases that a profiler can be told to start and stop at, and a few allocations.
 *
 *     phases
 *
 * 63 launches: 10; 20 between cudaProfilerStart() and cudaProfilerStop(); 5; 8 in a range "train", the last of them in a
 * range "inner" inside it; 3; 11 in another range "train"; 2 in a start/end range "span"; 4. 5 allocations: three of 1 MiB
 * on the device, one pinned, one from the memory pool; all of them are freed. */
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include "sample.h"

static cudaStream_t stream;

static void launch(int n)
{
    for (int i = 0; i < n; i++) spin<<<1, 32, 0, stream>>>(20000);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
}

static void allocate(void)
{
    const size_t bytes = 1 << 20;
    void *device[3], *host, *pooled;
    for (int i = 0; i < 3; i++) CHECK(cudaMalloc(&device[i], bytes));
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMallocAsync(&pooled, bytes, stream));
    CHECK(cudaFreeAsync(pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    for (int i = 0; i < 3; i++) CHECK(cudaFree(device[i]));
}

int main(void)
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(10);
    CHECK(cudaProfilerStart());
    launch(20);
    CHECK(cudaProfilerStop());
    launch(5);
    nvtxRangePushA("train");
    launch(7);
    nvtxRangePushA("inner");
    launch(1);
    nvtxRangePop();
    nvtxRangePop();
    launch(3);
    nvtxRangePushA("train");
    launch(11);
    nvtxRangePop();
    nvtxRangeId_t span = nvtxRangeStartA("span");
    launch(2);
    nvtxRangeEnd(span);
    allocate();
    launch(4);
    std::printf("expect kernels=63 memcpy=0 memset=0 ranges=4 processes=1\n");
    return 0;
}
