/* launches.cu -- steps of a thousand tiny launches, timed on request: see programs.py, which has the other programs. */
#include <cstdio>
#include <cstring>
#include <ctime>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

__global__ void empty() {}

static long long clock_ns()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long step_ns(cudaStream_t stream)
{
    long long begin = clock_ns();
    for (int half = 0; half < 2; half++) { /* the queue of launches never fills */
        for (int k = 0; k < 500; k++) empty<<<1, 32, 0, stream>>>();
        cudaStreamSynchronize(stream);
    }
    return clock_ns() - begin;
}

int main()
{
    cudaStream_t stream;
    char order[16];
    long steps;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 20; i++) step_ns(stream);
    std::printf("ready %lld\n", step_ns(stream));
    std::fflush(stdout);
    while (std::scanf("%15s %ld", order, &steps) == 2) {
        bool window = !std::strcmp(order, "window");
        if (window) cudaProfilerStart();
        for (int i = 0; i < 2; i++) step_ns(stream);
        while (steps-- > 0) std::printf("%lld ", step_ns(stream));
        if (window) cudaProfilerStop();
        std::puts("");
        std::fflush(stdout);
    }
    return 0;
}
