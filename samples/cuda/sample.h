/* sample.h -- what the sample programs share: error checks, a clock, a kernel that takes a given time. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t status_ = (call);                                                                        \
        if (status_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

/* Keeps the GPU busy for about NS nanoseconds, on as many blocks as are launched. */
static __global__ void spin(long long ns)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

static inline long long clock_ns()
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The Nth operand as a positive number, or DEFAULT_VALUE. */
static inline long operand(int argc, char **argv, int n, long default_value)
{
    long value = argc > n ? std::strtol(argv[n], NULL, 10) : default_value;
    return value > 0 ? value : default_value;
}

#endif
