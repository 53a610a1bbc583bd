/* ranges.cu -- NVTX ranges of every kind around kernels: the stacks of a flame graph.
 *
 *     ranges [STEPS]        (default 5)
 *
 * The main thread plays a training loop with nested push/pop ranges; a second thread loads data under a
 * domain of its own; one start/end range a step begins on the main thread and ends on the loader. The last
 * line on standard output says what a trace of the run has to hold. */
#include <thread>
#include <sys/syscall.h>
#include <unistd.h>
#include <nvtx3/nvToolsExt.h>
#include "sample.h"

enum { LAYERS = 3 };

/* Told apart by name in the trace; each runs for about as long as it is asked to. */
__global__ void gemm(long long ns)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

template <typename T> __global__ void relu(T *x)
{
    T v = x[threadIdx.x];
    x[threadIdx.x] = v > T(0) ? v : T(0);
}

struct counts {
    long kernels, memcpys, memsets, ranges;
};

static void layer(int i, bool backward, float *x, cudaStream_t stream, counts *c)
{
    char name[32];
    std::snprintf(name, sizeof name, "layer %d", i);
    nvtxRangePushA(name);
    if (backward) {
        gemm<<<8, 128, 0, stream>>>(30000);
        gemm<<<8, 128, 0, stream>>>(30000);
    } else {
        gemm<<<8, 128, 0, stream>>>(40000);
        relu<float><<<1, 128, 0, stream>>>(x);
    }
    CHECK(cudaGetLastError());
    nvtxRangePop();
    c->kernels += 2;
    c->ranges++;
}

static void phase(const char *name, bool backward, float *x, cudaStream_t stream, counts *c)
{
    nvtxRangePushA(name);
    for (int i = 0; i < LAYERS; i++) layer(backward ? LAYERS - 1 - i : i, backward, x, stream, c);
    nvtxRangePop();
    c->ranges++;
}

static void load(nvtxDomainHandle_t domain, nvtxRangeId_t handover, float *to, const float *from,
                 size_t bytes, cudaStream_t stream)
{
    nvtxEventAttributes_t attr = {};
    attr.version = NVTX_VERSION;
    attr.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attr.message.registered = nvtxDomainRegisterStringA(domain, "upload batch");
    nvtxDomainRangePushEx(domain, &attr);
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    nvtxDomainRangePop(domain);
    nvtxRangeEnd(handover);
}

int main(int argc, char **argv)
{
    const size_t bytes = 4 << 20;
    long steps = operand(argc, argv, 1, 5);
    counts c = {};
    cudaStream_t compute, copy;
    float *x, *batch;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main");
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMallocHost(&batch, bytes));

    for (long step = 0; step < steps; step++) {
        char name[32];
        std::snprintf(name, sizeof name, "step %ld", step);
        nvtxRangePushA(name);
        std::thread loader(load, domain, nvtxRangeStartA("hand over"), x, batch, bytes, copy);
        loader.join();
        phase("forward", false, x, compute, &c);
        phase("backward", true, x, compute, &c);
        nvtxRangePushA("optimizer");
        CHECK(cudaMemsetAsync(x, 0, bytes, compute));
        spin<<<16, 128, 0, compute>>>(50000);
        CHECK(cudaGetLastError());
        nvtxRangePop();
        CHECK(cudaStreamSynchronize(compute));
        nvtxRangePop();
        c.kernels++, c.memcpys++, c.memsets++;
        c.ranges += 4; /* step, optimizer, upload batch, hand over */
    }
    nvtxMarkA("done");
    std::printf("expect kernels=%ld memcpy=%ld memcpy_bytes=%lld memset=%ld memset_bytes=%lld ranges=%ld "
                "unranged_kernels=0 processes=1\n",
                c.kernels, c.memcpys, (long long)(c.memcpys * bytes), c.memsets,
                (long long)(c.memsets * bytes), c.ranges);
    return 0;
}
