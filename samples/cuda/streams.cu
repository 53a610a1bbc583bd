/* streams.cu -- several host threads, each with two streams, copying both ways while kernels run.
 *
 *     streams [THREADS [ROUNDS]]        (default 4 threads, 12 rounds)
 *
 * Every round of every thread: one set, one copy up and one down (both pinned and asynchronous, on different
 * streams), three kernels; every fourth round a pageable copy each way, which blocks the thread. The last
 * line on standard output says what a trace of the run has to hold. */
#include <thread>
#include <vector>
#include "sample.h"

namespace lab
{

__global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

template <typename T, int Radius> __global__ void stencil(T *to, const T *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < Radius || i + Radius >= n) return;
    T sum = 0;
    for (int k = -Radius; k <= Radius; k++) sum += from[i + k];
    to[i] = sum / (2 * Radius + 1);
}

__global__ void block_sum(float *to, const float *from, int n)
{
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) to[blockIdx.x] = part[0];
}

} // namespace lab

enum { N = 1 << 20, BLOCK = 256, GRID = (N + BLOCK - 1) / BLOCK, PAGEABLE = 200000 };

static void worker(int rounds)
{
    cudaStream_t compute, copy;
    cudaEvent_t uploaded;
    float *pinned, *from, *to;
    std::vector<float> pageable(PAGEABLE, 1.0f);
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
    CHECK(cudaMallocHost(&pinned, 2 * N * sizeof *pinned));
    CHECK(cudaMalloc(&from, N * sizeof *from));
    CHECK(cudaMalloc(&to, N * sizeof *to));
    for (int i = 0; i < N; i++) pinned[i] = 1.0f;

    for (int round = 0; round < rounds; round++) {
        CHECK(cudaMemsetAsync(to, 0, N * sizeof *to, compute));
        CHECK(cudaMemcpyAsync(from, pinned, N * sizeof *from, cudaMemcpyHostToDevice, copy));
        CHECK(cudaEventRecord(uploaded, copy));
        CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
        lab::scale<<<GRID, BLOCK, 0, compute>>>(from, 1.5f, N);
        lab::stencil<float, 4><<<GRID, BLOCK, 0, compute>>>(to, from, N);
        lab::block_sum<<<GRID, BLOCK, BLOCK * sizeof(float), compute>>>(from, to, N);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(pinned + N, to, N * sizeof *to, cudaMemcpyDeviceToHost, compute));
        if (round % 4 == 3) {
            CHECK(cudaStreamSynchronize(compute));
            CHECK(cudaMemcpy(from, pageable.data(), PAGEABLE * sizeof(float), cudaMemcpyHostToDevice));
            CHECK(cudaMemcpy(pageable.data(), to, PAGEABLE * sizeof(float), cudaMemcpyDeviceToHost));
        }
    }
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(copy));
    CHECK(cudaStreamDestroy(compute));
}

int main(int argc, char **argv)
{
    long threads = operand(argc, argv, 1, 4), rounds = operand(argc, argv, 2, 12);
    std::vector<std::thread> pool;
    for (long i = 0; i < threads; i++) pool.emplace_back(worker, (int)rounds);
    for (std::thread &t : pool) t.join();
    CHECK(cudaDeviceSynchronize());

    long all = threads * rounds, blocking = threads * (rounds / 4);
    std::printf("expect kernels=%ld memcpy=%ld memcpy_bytes=%lld memset=%ld memset_bytes=%lld processes=1\n",
                3 * all, 2 * all + 2 * blocking,
                (2LL * all * N + 2LL * blocking * PAGEABLE) * (long long)sizeof(float), all,
                (long long)all * N * (long long)sizeof(float));
    return 0;
}
