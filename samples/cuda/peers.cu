/* peers.cu -- every GPU of the machine, a thread for each, in one process; each copies to the next one.
 *
 *     peers [ROUNDS]        (default 10)
 *
 * Every round of every GPU: one set, two kernels, one copy to the GPU after it (the last one's goes to the first; on a
 * machine with one GPU it stays there). The last line says what a trace of the run has to hold. */
#include <thread>
#include <vector>
#include "sample.h"

enum { N = 1 << 18 };
static const size_t BYTES = N * sizeof(float);

__global__ void add(float *x, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) x[i] += by;
}

static void worker(int device, int next, float *mine, float *theirs, long rounds)
{
    cudaStream_t stream;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (long round = 0; round < rounds; round++) {
        CHECK(cudaMemsetAsync(mine, 0, BYTES, stream));
        add<<<N / 256, 256, 0, stream>>>(mine, 1);
        add<<<N / 256, 256, 0, stream>>>(mine, 2);
        CHECK(cudaMemcpyPeerAsync(theirs, next, mine, device, BYTES, stream));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    long rounds = operand(argc, argv, 1, 10);
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    std::vector<float *> from(devices), to(devices);
    for (int d = 0; d < devices; d++) {
        int reaches = 0, next = (d + 1) % devices;
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&from[d], BYTES));
        CHECK(cudaMalloc(&to[d], BYTES)); /* what the GPU before this one sends */
        if (next != d && !cudaDeviceCanAccessPeer(&reaches, d, next) && reaches)
            CHECK(cudaDeviceEnablePeerAccess(next, 0));
    }
    std::vector<std::thread> pool;
    for (int d = 0; d < devices; d++)
        pool.emplace_back(worker, d, (d + 1) % devices, from[d], to[(d + 1) % devices], rounds);
    for (std::thread &t : pool) t.join();
    long all = devices * rounds;
    std::printf("expect kernels=%ld memcpy=%ld memcpy_bytes=%lld memset=%ld memset_bytes=%lld processes=1 "
                "devices=%d\n",
                2 * all, all, (long long)all * (long long)BYTES, all, (long long)all * (long long)BYTES,
                devices);
    return 0;
}
